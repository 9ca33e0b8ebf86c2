/* SPDX-License-Identifier: MIT
 * key_table.h - from the keys that rows of work have to rows, where all keys are known before the first one is asked for.
 * Writers count such numbers up, so that they mostly lie close together: then they are a set of bits, else in a hash table.
 */
#ifndef AP_KEY_TABLE_H
#define AP_KEY_TABLE_H

#include "id_map.h"
#include "row_set.h"

struct ap_key_table {
    struct ap_gate *gate;
    uint32_t lowest;
    struct ap_row_set keys; /* less @lowest; empty where the hash table serves */
    uint32_t *values;       /* by number of the key */
    struct ap_id_map map;
};

/** For at most @count different keys from @lowest to @highest; @lowest above @highest: none. May be released after a failure
 *  too. */
AP_MUST_CHECK enum ap_status ap_key_table_init(struct ap_key_table *table, struct ap_gate *gate, size_t count,
                                               uint32_t lowest, uint32_t highest, struct ap_error *reterr);
void ap_key_table_release(struct ap_key_table *table);

/** A key of these, not 0. */
void ap_key_table_add(struct ap_key_table *table, uint32_t key);
/** After the last one: each gets the value AP_ID_NONE. */
AP_MUST_CHECK enum ap_status ap_key_table_finish(struct ap_key_table *table, struct ap_error *reterr);

/** Where the value of the key stands; NULL where it was not added. */
static inline uint32_t *ap_key_table_find(const struct ap_key_table *table, uint32_t key)
{
    if (!table->keys.word_count)
        return ap_id_map_find(&table->map, key);
    if (key < table->lowest || (key - table->lowest) / 64 >= table->keys.word_count)
        return NULL;
    uint32_t number = ap_row_set_number(&table->keys, key - table->lowest);
    return number == AP_ROW_SET_NONE ? NULL : &table->values[number];
}

#endif
