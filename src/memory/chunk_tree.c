/* SPDX-License-Identifier: MIT */
#include "chunk_tree.h"

#include "poison.h"

static bool comes_before(const struct ap_chunk *a, const struct ap_chunk *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}

/* Under the key of the run the tree is as if it were built in random order, whatever order the file chose. */
static uint64_t priority(const struct ap_hash_key *key, uint32_t index)
{
    return ap_hash_number(key, index);
}

void ap_chunk_tree_insert(const struct ap_hash_key *key, struct ap_chunk *chunks, uint32_t *root, uint32_t index)
{
    uint32_t *link = root, rest;
    struct ap_chunk *fresh = &chunks[index];
    const uint64_t own_priority = priority(key, index);
    while (*link != AP_NO_CHUNK && priority(key, *link) > own_priority)
        link = comes_before(&chunks[*link], fresh) ? &chunks[*link].larger : &chunks[*link].smaller;
    rest = *link;
    *link = index;
    uint32_t *low = &fresh->smaller, *high = &fresh->larger;
    while (rest != AP_NO_CHUNK) { /* what was below it is cut in two */
        uint32_t **side = comes_before(&chunks[rest], fresh) ? &low : &high;
        **side = rest;
        *side = side == &low ? &chunks[rest].larger : &chunks[rest].smaller;
        rest = **side;
    }
    *low = *high = AP_NO_CHUNK;
}

void ap_chunk_tree_remove(const struct ap_hash_key *key, struct ap_chunk *chunks, uint32_t *root, uint32_t index)
{
    uint32_t *link = root;
    while (*link != index)
        link = comes_before(&chunks[*link], &chunks[index]) ? &chunks[*link].larger : &chunks[*link].smaller;
    uint32_t low = chunks[index].smaller, high = chunks[index].larger;
    while (low != AP_NO_CHUNK && high != AP_NO_CHUNK) {
        if (priority(key, low) > priority(key, high)) {
            *link = low;
            link = &chunks[low].larger;
            low = *link;
        } else {
            *link = high;
            link = &chunks[high].smaller;
            high = *link;
        }
    }
    *link = low != AP_NO_CHUNK ? low : high;
}

uint32_t ap_chunk_tree_find(const struct ap_chunk *chunks, uint32_t root, int64_t bytes)
{
    uint32_t best = AP_NO_CHUNK;
    for (uint32_t at = root; at != AP_NO_CHUNK;) {
        bool enough = chunks[at].bytes >= bytes;
        if (enough)
            best = at;
        at = enough ? chunks[at].smaller : chunks[at].larger;
    }
    return best;
}
