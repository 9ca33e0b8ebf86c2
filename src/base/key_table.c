/* SPDX-License-Identifier: MIT */
#include "key_table.h"

#include <string.h>

#include "poison.h"

#define SPREAD 64 /* bits for each key, at most: with the counts no more than the hash table takes */

enum ap_status ap_key_table_init(struct ap_key_table *table, struct ap_gate *gate, size_t count, uint32_t lowest,
                                 uint32_t highest, struct ap_error *reterr)
{
    *table = (struct ap_key_table){ .gate = gate, .lowest = lowest, .map.gate = gate };
    if (lowest > highest || highest - lowest >= count * SPREAD)
        return ap_id_map_init(&table->map, gate, count, reterr);
    table->word_count = (size_t)(highest - lowest) / 64 + 1;
    table->bits = ap_mem_cleared(gate, table->word_count * sizeof(table->bits[0]));
    table->before = ap_mem_resize(gate, NULL, 0, table->word_count * sizeof(table->before[0]));
    return table->bits && table->before ? AP_OK : ap_fail_memory(gate, reterr);
}

void ap_key_table_release(struct ap_key_table *table)
{
    ap_mem_free(table->gate, table->bits, table->word_count * sizeof(table->bits[0]));
    ap_mem_free(table->gate, table->before, table->word_count * sizeof(table->before[0]));
    ap_mem_free(table->gate, table->values, table->key_count * sizeof(table->values[0]));
    ap_id_map_release(&table->map);
    *table = (struct ap_key_table){ .gate = table->gate };
}

void ap_key_table_add(struct ap_key_table *table, uint32_t key)
{
    if (table->bits)
        table->bits[(key - table->lowest) / 64] |= UINT64_C(1) << (key - table->lowest) % 64;
    else
        (void)ap_id_map_add(&table->map, key);
}

enum ap_status ap_key_table_finish(struct ap_key_table *table, struct ap_error *reterr)
{
    uint32_t count = 0;
    for (size_t word = 0; word < table->word_count; word++) {
        table->before[word] = count;
        count += (uint32_t)__builtin_popcountll(table->bits[word]);
    }
    if (!count)
        return AP_OK;
    table->values = ap_mem_resize(table->gate, NULL, 0, count * sizeof(table->values[0]));
    if (!table->values)
        return ap_fail_memory(table->gate, reterr);
    table->key_count = count;
    memset(table->values, 0xff, count * sizeof(table->values[0])); /* AP_ID_NONE */
    return AP_OK;
}
