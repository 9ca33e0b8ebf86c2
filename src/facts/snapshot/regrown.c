/* SPDX-License-Identifier: MIT
 * regrown.c - results that are joined to what is there already, as by cat, again and again: each time both are there. */
#include "avoidable_search.h"

#include "snapshot_state.h"

#include "poison.h"

#define LEAST_GENERATIONS 4u
#define MOST_BEFORE 64u /* entries in which the piece was made that is joined on */

/* What one stack made last. */
struct chain {
    uint32_t alloc; /* entry */
    uint32_t generations;
};

static uint32_t end_of(const struct ap_avoidable_search *search, uint32_t entry)
{
    const struct ap_replay *replay = search->owners->replay;
    uint32_t lifetime = replay->lifetime_of[entry];
    return lifetime == AP_NO_LIFETIME ? AP_NO_ENTRY : ap_search_life_end(&replay->lifetimes[lifetime]);
}

/* Outside of passes: a cache in a model is told otherwise. */
static bool may_join(const struct ap_avoidable_search *search, uint32_t entry)
{
    return ap_search_allocates(search, entry) && search->owners->replay->snapshot->actions.stack[entry] &&
           ap_search_work(search, entry) == AP_WORK_OTHER;
}

/* Is there something made since the old one that is as large as what the new one has more? */
static bool has_piece(const struct ap_avoidable_search *search, uint32_t old, uint32_t entry)
{
    const int64_t *bytes = search->owners->replay->snapshot->actions.size_bytes;
    uint32_t from = entry - old > MOST_BEFORE ? entry - MOST_BEFORE : old + 1;
    for (uint32_t i = from; i < entry; i++)
        if (ap_search_allocates(search, i) && bytes[i] == bytes[entry] - bytes[old] && end_of(search, i) > entry)
            return true;
    return false;
}

/* The old one goes when the new one is there: nothing is made between the two. */
static bool takes_place_of(const struct ap_avoidable_search *search, uint32_t old, uint32_t entry)
{
    const int64_t *bytes = search->owners->replay->snapshot->actions.size_bytes;
    uint32_t end = end_of(search, old);
    if (bytes[entry] <= bytes[old] || end == AP_NO_ENTRY || end < entry)
        return false;
    for (uint32_t i = entry + 1; i < end; i++)
        if (ap_search_allocates(search, i))
            return false;
    return has_piece(search, old, entry);
}

static enum ap_status follow(struct ap_avoidable_search *search, struct chain *chains, struct ap_error *reterr)
{
    const struct ap_actions *actions = &search->owners->replay->snapshot->actions;
    for (uint32_t i = search->of->first_entry; i < ap_search_end(search); i++) {
        if (!may_join(search, i))
            continue;
        struct chain *chain = &chains[actions->stack[i]];
        bool next = chain->generations && takes_place_of(search, chain->alloc, i);
        uint32_t old = chain->alloc;
        chain->generations = next ? chain->generations + 1 : 1;
        chain->alloc = i;
        if (chain->generations > LEAST_GENERATIONS)
            AP_TRY(ap_search_cut(search, i, end_of(search, old), actions->size_bytes[old], reterr));
    }
    return AP_OK;
}

enum ap_status ap_search_regrown(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    struct ap_gate *gate = search->owners->gate;
    size_t stacks = (size_t)search->owners->replay->snapshot->stacks.stack_count + 1;
    struct chain *chains;
    AP_TRY(AP_ALLOC_CLEARED(gate, chains, stacks, reterr));
    enum ap_status status = follow(search, chains, reterr);
    for (uint32_t i = 0; i < search->owned->count && search->count && status == AP_OK; i++)
        if (chains[search->owned->list[i].stack].generations > LEAST_GENERATIONS)
            ap_avoidable_add(search, to, &search->owned->list[i]);
    AP_FREE(gate, chains, stacks);
    return status;
}
