/* SPDX-License-Identifier: MIT */
#include "match_order.h"

#include "sort.h"

#include "poison.h"

struct ordering {
    const struct ap_matching *matching;
    struct ap_gate *gate;
    size_t rank_count;
    uint32_t *starts;  /* by rank and one more: where its members begin in by_rank */
    uint32_t *by_rank; /* matches of each rank, as it came to them */
    uint32_t *at;      /* by rank: the one that it stands at */
    uint32_t *arrived; /* by match: ranks that stand at it */
    uint32_t *order;
    size_t ready, ordered; /* order[ordered .. ready) can be gone through */
};

/* Members of a match stand by rank, so each rank's matches are put down in the order of matches, and sorted then. */
struct place {
    uint32_t collective, match;
};

static int by_collective(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    AP_BY_SMALLER(a->collective, b->collective);
    AP_BY_SMALLER(a->match, b->match);
    return 0;
}

static void count_members(struct ordering *ordering)
{
    const struct ap_matching *matching = ordering->matching;
    for (size_t i = 0; i < matching->member_count; i++)
        ordering->starts[matching->members[i].rank + 1]++;
    for (size_t rank = 0; rank < ordering->rank_count; rank++) {
        ordering->starts[rank + 1] += ordering->starts[rank];
        ordering->at[rank] = ordering->starts[rank];
    }
}

static void place_members(struct ordering *ordering, struct place *places)
{
    const struct ap_matching *matching = ordering->matching;
    for (uint32_t i = 0; i < matching->count; i++)
        for (size_t j = 0; j < matching->matches[i].count; j++) {
            const struct ap_match_member *member = &matching->members[matching->matches[i].first + j];
            places[ordering->at[member->rank]++] = (struct place){ member->collective, i };
        }
    for (size_t rank = 0; rank < ordering->rank_count; rank++) {
        size_t start = ordering->starts[rank], count = ordering->starts[rank + 1] - start;
        ap_sort(places + start, count, sizeof(places[0]), by_collective);
        for (size_t i = start; i < start + count; i++)
            ordering->by_rank[i] = places[i].match;
        ordering->at[rank] = (uint32_t)start;
    }
}

/* A rank steps on to its next match, which may be complete then. */
static void arrive(struct ordering *ordering, size_t rank)
{
    uint32_t at = ordering->at[rank];
    if (at == ordering->starts[rank + 1])
        return;
    uint32_t match = ordering->by_rank[at];
    ordering->at[rank]++;
    if (++ordering->arrived[match] == ordering->matching->matches[match].count)
        ordering->order[ordering->ready++] = match;
}

static void go_through(struct ordering *ordering)
{
    const struct ap_matching *matching = ordering->matching;
    for (size_t rank = 0; rank < ordering->rank_count; rank++)
        arrive(ordering, rank);
    while (ordering->ordered < ordering->ready) {
        const struct ap_match *match = &matching->matches[ordering->order[ordering->ordered++]];
        for (size_t i = 0; i < match->count; i++)
            arrive(ordering, matching->members[match->first + i].rank);
    }
}

static int64_t first_start_ns(const struct ap_matching *matching, uint32_t match)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < matching->matches[match].count; i++) {
        int64_t start_ns = ap_match_row(matching, matching->matches[match].first + i)->start_ns;
        first_ns = start_ns < first_ns ? start_ns : first_ns;
    }
    return first_ns;
}

struct timed {
    int64_t start_ns;
    uint32_t match;
};

static int by_start(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->match, b->match);
    return 0;
}

static enum ap_status order_rest(struct ordering *ordering, struct ap_error *reterr)
{
    const struct ap_matching *matching = ordering->matching;
    size_t count = 0, room = matching->count - ordering->ready;
    struct timed *rest;
    AP_TRY(AP_ALLOC(ordering->gate, rest, room, reterr));
    for (uint32_t i = 0; i < matching->count; i++)
        if (ordering->arrived[i] < matching->matches[i].count)
            rest[count++] = (struct timed){ first_start_ns(matching, i), i };
    ap_sort(rest, count, sizeof(rest[0]), by_start);
    for (size_t i = 0; i < count; i++)
        ordering->order[ordering->ready++] = rest[i].match;
    AP_FREE(ordering->gate, rest, room);
    return AP_OK;
}

static enum ap_status prepare(struct ordering *ordering, struct ap_error *reterr)
{
    const struct ap_matching *matching = ordering->matching;
    struct place *places;
    AP_TRY(AP_ALLOC_CLEARED(ordering->gate, ordering->starts, ordering->rank_count + 1, reterr));
    AP_TRY(AP_ALLOC(ordering->gate, ordering->by_rank, matching->member_count, reterr));
    AP_TRY(AP_ALLOC(ordering->gate, ordering->at, ordering->rank_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(ordering->gate, ordering->arrived, matching->count, reterr));
    AP_TRY(AP_ALLOC(ordering->gate, places, matching->member_count, reterr));
    count_members(ordering);
    place_members(ordering, places);
    AP_FREE(ordering->gate, places, matching->member_count);
    return AP_OK;
}

enum ap_status ap_match_order(const struct ap_matching *matching, uint32_t *order, bool *ret_by_time,
                              struct ap_error *reterr)
{
    struct ordering ordering = {
        .matching = matching, .gate = matching->gate, .rank_count = matching->view->count, .order = order
    };
    *ret_by_time = false;
    if (!matching->count)
        return AP_OK;
    enum ap_status status = prepare(&ordering, reterr);
    if (status == AP_OK)
        go_through(&ordering);
    if (status == AP_OK && ordering.ready < matching->count) {
        *ret_by_time = true;
        status = order_rest(&ordering, reterr);
    }
    AP_FREE(ordering.gate, ordering.starts, ordering.rank_count + 1);
    AP_FREE(ordering.gate, ordering.by_rank, matching->member_count);
    AP_FREE(ordering.gate, ordering.at, ordering.rank_count);
    AP_FREE(ordering.gate, ordering.arrived, matching->count);
    return status;
}
