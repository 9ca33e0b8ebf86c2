/* SPDX-License-Identifier: MIT */
#include "chunk_tree.h"

#include "poison.h"

static bool comes_before(const struct ap_chunk *a, const struct ap_chunk *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}

/* Scatters the indices, so that the tree is as if it were built in random order. */
static uint32_t priority(uint32_t index)
{
    uint32_t x = index * 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

void ap_chunk_tree_insert(struct ap_chunk *chunks, uint32_t *root, uint32_t index)
{
    uint32_t *link = root, rest;
    struct ap_chunk *fresh = &chunks[index];
    while (*link != AP_NO_CHUNK && priority(*link) > priority(index))
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

void ap_chunk_tree_remove(struct ap_chunk *chunks, uint32_t *root, uint32_t index)
{
    uint32_t *link = root;
    while (*link != index)
        link = comes_before(&chunks[*link], &chunks[index]) ? &chunks[*link].larger : &chunks[*link].smaller;
    uint32_t low = chunks[index].smaller, high = chunks[index].larger;
    while (low != AP_NO_CHUNK && high != AP_NO_CHUNK) {
        if (priority(low) > priority(high)) {
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
