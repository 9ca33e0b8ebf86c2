/* SPDX-License-Identifier: MIT */
#include "key_table.h"

#include <string.h>

#include "poison.h"

#define SPREAD 64 /* bits for each key, at most: the set then takes no more than the hash table */

enum ap_status ap_key_table_init(struct ap_key_table *table, struct ap_gate *gate, size_t count, uint32_t lowest,
                                 uint32_t highest, struct ap_error *reterr)
{
    *table = (struct ap_key_table){ .gate = gate, .lowest = lowest, .keys.gate = gate, .map.gate = gate };
    if (lowest > highest)
        return ap_id_map_init(&table->map, gate, 0, reterr);
    if (highest - lowest >= count * SPREAD)
        return ap_id_map_init(&table->map, gate, count, reterr);
    return ap_row_set_init(&table->keys, gate, (size_t)(highest - lowest) + 1, reterr);
}

void ap_key_table_release(struct ap_key_table *table)
{
    AP_FREE(table->gate, table->values, table->keys.count);
    ap_row_set_release(&table->keys);
    ap_id_map_release(&table->map);
}

void ap_key_table_add(struct ap_key_table *table, uint32_t key)
{
    if (table->keys.word_count)
        (void)ap_row_set_add(&table->keys, key - table->lowest);
    else
        (void)ap_id_map_add(&table->map, key);
}

enum ap_status ap_key_table_finish(struct ap_key_table *table, struct ap_error *reterr)
{
    ap_row_set_finish(&table->keys);
    if (!table->keys.count)
        return AP_OK;
    AP_TRY(AP_ALLOC(table->gate, table->values, table->keys.count, reterr));
    memset(table->values, 0xff, table->keys.count * sizeof(table->values[0])); /* AP_ID_NONE */
    return AP_OK;
}
