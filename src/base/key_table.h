/* SPDX-License-Identifier: MIT
 * key_table.h - from the keys that rows of work have to rows, where all keys are known before the first one is asked for.
 * Writers count such numbers up, so that they mostly lie close together: then each is a bit, and its value stands at the
 * number of bits before it; else they are in a hash table. */
#ifndef AP_KEY_TABLE_H
#define AP_KEY_TABLE_H

#include "id_map.h"

struct ap_key_table {
    struct ap_gate *gate;
    uint32_t lowest;
    uint64_t *bits;    /* of the keys from @lowest on; NULL = the hash table serves */
    uint32_t *before;  /* by word of bits: keys before it */
    size_t word_count;
    uint32_t *values;  /* by number of the key */
    size_t key_count;
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
    if (!table->bits)
        return ap_id_map_find(&table->map, key);
    size_t at = (size_t)key - table->lowest, word = at / 64;
    if (key < table->lowest || word >= table->word_count || !(table->bits[word] >> at % 64 & 1))
        return NULL;
    uint64_t below = table->bits[word] & ((UINT64_C(1) << at % 64) - 1);
    return &table->values[table->before[word] + (uint32_t)__builtin_popcountll(below)];
}

#endif
