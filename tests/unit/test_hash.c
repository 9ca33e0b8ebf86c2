/* SPDX-License-Identifier: MIT
 * Chosen inputs against the hash of all tables, in counted probes: what collides under a known key, not under another. */
#include "address_map.h"
#include "chunk_tree.h"
#include "id_map.h"
#include "pair_map.h"
#include "strpool.h"
#include "tap.h"

#include <stdlib.h>

#define COUNT 4000
#define FEW_PROBES (4 * COUNT) /* a table that is 5/8 full takes less than one each */

static void put_word(char *to, uint64_t word)
{
    memcpy(to, &word, sizeof(word));
}

/* Steps beyond the first slot, over all texts of the pool. */
static uint64_t probes(const struct ap_strpool *pool)
{
    uint64_t sum = 0;
    size_t mask = pool->slot_count - 1;
    for (size_t slot = 0; slot < pool->slot_count; slot++)
        if (pool->slots[slot])
            sum += (slot - pool->hashes[pool->slots[slot]]) & mask;
    return sum;
}

/* Texts of two words (or of a long text's first block), of which one makes a product 0 under @against, the other counts
 * up; probes in a pool with the key of @gate. */
static uint64_t probes_of_chosen(struct ap_gate *gate, const struct ap_hash_key *against, size_t bytes, size_t zero_word)
{
    struct ap_strpool pool;
    struct ap_str str;
    char text[400];
    ap_strpool_init(&pool, gate);
    memset(text, 'x', sizeof(text));
    for (uint64_t i = 0; i < COUNT; i++) {
        put_word(text + 8 * zero_word, 0 - against->words[zero_word]);
        put_word(text + 8 * (zero_word ^ 1), i);
        if (ap_strpool_intern(&pool, text, bytes, &str, NULL) != AP_OK)
            abort();
    }
    uint64_t found = ap_strpool_count(&pool) == COUNT ? probes(&pool) : UINT64_MAX;
    ap_strpool_release(&pool);
    return found;
}

static void texts_chosen_against_one_key_do_not_collide_under_another(void)
{
    const size_t bytes[] = { 16, 32, 40, 128, 144, 400 };
    struct ap_gate known, other;
    ap_gate_init(&known, 0);
    ap_gate_init(&other, 0);
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        for (size_t word = 0; word < 2; word++) {
            ok(probes_of_chosen(&known, &known.hash_key, bytes[i], word) > (uint64_t)COUNT * COUNT / 4,
               "who knows the key makes texts collide: the attack is one");
            ok(probes_of_chosen(&other, &known.hash_key, bytes[i], word) < FEW_PROBES, "under another key it is none");
        }
    const struct ap_hash_key zeros = { .point = 0 };
    ok(probes_of_chosen(&other, &zeros, 16, 0) < FEW_PROBES, "nor are zeros special");
}

/* Texts of all lengths and places of one odd byte are told apart. */
static void every_byte_and_the_length_count(void)
{
    struct ap_gate gate;
    char text[300] = { 0 };
    int same = 0;
    ap_gate_init(&gate, 0);
    for (size_t bytes = 1; bytes < sizeof(text); bytes++) {
        uint64_t zeros = ap_hash_bytes(&gate.hash_key, text, bytes);
        same += zeros == ap_hash_bytes(&gate.hash_key, text, bytes - 1);
        for (size_t at = 0; at < bytes; at++) {
            text[at] = 1;
            same += zeros == ap_hash_bytes(&gate.hash_key, text, bytes);
            text[at] = 0;
        }
    }
    is_int(same, 0, "a byte more, or another one, is another hash");
    ok(ap_hash_bytes(&gate.hash_key, NULL, 0) == ap_hash_bytes(&gate.hash_key, "", 0), "nothing is the empty text");
}

static uint64_t probes_of_addresses(struct ap_gate *gate, unsigned shift)
{
    struct ap_address_map map;
    uint64_t sum = 0;
    ap_address_map_init(&map, gate);
    for (uint64_t i = 0; i < COUNT; i++)
        if (ap_address_map_set(&map, (i << shift) + 512, (uint32_t)i, NULL) != AP_OK)
            abort();
    for (size_t at = 0; at < map.slot_count; at++)
        if (map.slots[at].value != AP_NOT_MAPPED)
            sum += (at - (size_t)ap_hash_number(&gate->hash_key, map.slots[at].address)) & (map.slot_count - 1);
    ap_address_map_release(&map);
    return sum;
}

static void addresses_that_differ_in_few_bits_do_not_collide(void)
{
    struct ap_gate gate;
    int slow = 0;
    ap_gate_init(&gate, 0);
    for (unsigned shift = 0; shift <= 52; shift += 4)
        slow += probes_of_addresses(&gate, shift) >= FEW_PROBES;
    is_int(slow, 0, "wherever the bits stand in which they differ");
}

static uint32_t depth(const struct ap_chunk *chunks, uint32_t at)
{
    if (at == AP_NO_CHUNK)
        return 0;
    uint32_t low = depth(chunks, chunks[at].smaller), high = depth(chunks, chunks[at].larger);
    return 1 + (low > high ? low : high);
}

struct ranked {
    uint64_t priority;
    uint32_t index;
};

static int by_priority(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->priority > y->priority) - (x->priority < y->priority);
}

/* Depth of a tree under the key of @gate, its sizes in the order of the priorities under @against. */
static uint32_t depth_of_chosen(const struct ap_hash_key *key, const struct ap_hash_key *against)
{
    static struct ap_chunk chunks[COUNT];
    static struct ranked ranked[COUNT];
    uint32_t root = AP_NO_CHUNK;
    for (uint32_t i = 0; i < COUNT; i++)
        ranked[i] = (struct ranked){ ap_hash_number(against, i), i };
    qsort(ranked, COUNT, sizeof(ranked[0]), by_priority);
    for (uint32_t i = 0; i < COUNT; i++)
        chunks[ranked[i].index] = (struct ap_chunk){ .bytes = i + 1 };
    for (uint32_t i = 0; i < COUNT; i++)
        ap_chunk_tree_insert(key, chunks, &root, i);
    return depth(chunks, root);
}

static void sizes_chosen_against_one_key_leave_trees_low(void)
{
    struct ap_gate known, other;
    ap_gate_init(&known, 0);
    ap_gate_init(&other, 0);
    ok(depth_of_chosen(&known.hash_key, &known.hash_key) == COUNT, "who knows the key makes a list of the tree");
    ok(depth_of_chosen(&other.hash_key, &known.hash_key) < 80, "under another key it stays low");
}

/* Of slots in a row that are taken: so many steps may a search take. */
struct run {
    size_t now, longest;
};

static void see_slot(struct run *run, bool taken)
{
    run->now = taken ? run->now + 1 : 0;
    run->longest = run->now > run->longest ? run->now : run->longest;
}

static size_t longest_run_of_ids(unsigned shift)
{
    struct ap_gate gate;
    struct ap_id_map map;
    struct run run = { 0 };
    ap_gate_init(&gate, 0);
    if (ap_id_map_init(&map, &gate, COUNT, NULL) != AP_OK)
        abort();
    for (uint32_t i = 1; i <= COUNT; i++)
        *ap_id_map_add(&map, i << shift) = i;
    for (size_t slot = 0; slot < map.slot_count; slot++)
        see_slot(&run, map.slots[slot].key != 0);
    ap_id_map_release(&map);
    return run.longest;
}

/* Pairs i * @a, i * @b. */
static size_t longest_run_of_pairs(uint32_t a, uint32_t b)
{
    struct ap_gate gate;
    struct run run = { 0 };
    ap_gate_init(&gate, 0);
    struct ap_pair_map map = { .gate = &gate };
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t number;
        if (ap_pair_map_add(&map, i * a, i * b, &number, NULL) != AP_OK || number != i)
            abort();
    }
    for (size_t slot = 0; slot < map.slot_count; slot++)
        see_slot(&run, map.slots[slot] != AP_PAIR_NONE);
    ap_pair_map_release(&map);
    return run.longest;
}

static void numbers_that_share_their_bits_do_not_collide(void)
{
    for (unsigned shift = 6; shift <= 20; shift += 7)
        ok(longest_run_of_ids(shift) < COUNT / 4, "ids that differ in some bits alone");
    static const uint32_t steps[][2] = { { 1, 0 }, { 0, 1 },       { 1, UINT32_MAX }, { 1, 1 },
                                         { 1, 2 }, { 1 << 20, 0 }, { 0, 1 << 20 },    { 1 << 16, 1 << 16 } };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        ok(longest_run_of_pairs(steps[i][0], steps[i][1]) < COUNT / 4, "pairs of which sum, difference or one part stays");
}

int main(void)
{
    texts_chosen_against_one_key_do_not_collide_under_another();
    every_byte_and_the_length_count();
    addresses_that_differ_in_few_bits_do_not_collide();
    sizes_chosen_against_one_key_leave_trees_low();
    numbers_that_share_their_bits_do_not_collide();
    return done();
}
