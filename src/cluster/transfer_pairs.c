/* SPDX-License-Identifier: MIT
 * transfer_pairs.c - sends and receives of two ranks matched: the k-th send of a step from one rank to another is the k-th
 * receive of that step there. Whoever came first waits, so that the shorter of the two is the transfer. */
#include "transfer_times.h"

#include "rank_group.h"
#include "sort.h"

#include "poison.h"

/* One side of a transfer. */
struct side {
    uint32_t from, to; /* numbers in the view */
    uint32_t group;
    bool receives;
    int64_t step, start_ns, dur_ns, bytes;
};

struct sides {
    struct side *list;
    size_t count, capacity;
};

/* The rank that a peer is: itself where it is one of the group, else the one at that place in it. -1 = cannot be told. */
static int64_t rank_of_peer(struct ap_text group, int64_t peer)
{
    int64_t first, last, stride, place = 0, by_place = -1;
    for (size_t at = 0; ap_group_next(group, &at, &first, &last, &stride);) {
        int64_t count = (last - first) / stride + 1;
        if (peer >= first && peer <= last && (peer - first) % stride == 0)
            return peer;
        if (peer >= place && peer < place + count)
            by_place = first + (peer - place) * stride;
        place += count;
    }
    return place ? by_place : peer;
}

/* The number in the view, which is in order of ranks. */
static bool find_rank(const struct ap_run_view *view, int64_t rank, uint32_t *ret_number)
{
    size_t number = 0;
    AP_BISECT(number, view->count, at, ap_view_rank(view, at)->rank < rank);
    *ret_number = (uint32_t)number;
    return number < view->count && ap_view_rank(view, number)->rank == rank;
}

static enum ap_status add_side(struct sides *sides, const struct ap_run_view *view, uint32_t rank,
                               const struct ap_rank_collective *row, struct ap_error *reterr)
{
    bool receives = row->operation == AP_COLLECTIVE_recv;
    uint32_t peer;
    if (row->peer < 0 || (!receives && row->operation != AP_COLLECTIVE_send) || !ap_view_has_step(view, row->step) ||
        !find_rank(view, rank_of_peer(ap_rank_text(view->set, row->group), row->peer), &peer) || peer == rank)
        return AP_OK;
    AP_TRY_ADD(view->gate, sides->list, sides->count, sides->capacity, reterr,
               (struct side){ receives ? peer : rank, receives ? rank : peer, row->group.id, receives, row->step,
                              row->start_ns, row->dur_ns, row->bytes });
    return AP_OK;
}

static int by_way(const void *left, const void *right)
{
    const struct side *a = left, *b = right;
    AP_BY_SMALLER(a->from, b->from);
    AP_BY_SMALLER(a->to, b->to);
    AP_BY_SMALLER(a->group, b->group);
    AP_BY_SMALLER(a->step, b->step);
    AP_BY_SMALLER(a->receives, b->receives);
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    return 0;
}

static bool same_way(const struct side *a, const struct side *b)
{
    return a->from == b->from && a->to == b->to && a->group == b->group && a->step == b->step;
}

/* @list: of one way and step, the sends first. */
static enum ap_status pair_up(struct ap_transfer_pairs *pairs, const struct side *list, size_t count, struct ap_gate *gate,
                              struct ap_error *reterr)
{
    size_t half = count / 2;
    if (count % 2 || list[half].receives == list[half - 1].receives || list[0].receives)
        return AP_OK;
    for (size_t i = 0; i < half; i++) {
        const struct side *send = &list[i], *receive = &list[half + i];
        AP_TRY_ADD(gate, pairs->list, pairs->count, pairs->capacity, reterr,
                   (struct ap_transfer_pair){ { send->from, send->to },
                                              send->bytes > receive->bytes ? send->bytes : receive->bytes,
                                              send->dur_ns < receive->dur_ns ? send->dur_ns : receive->dur_ns });
    }
    return AP_OK;
}

enum ap_status ap_transfer_pairs_find(struct ap_transfer_pairs *pairs, const struct ap_matching *matching,
                                      struct ap_error *reterr)
{
    const struct ap_run_view *view = matching->view;
    struct sides sides = { .count = 0 };
    enum ap_status status = AP_OK;
    *pairs = (struct ap_transfer_pairs){ .count = 0 };
    for (uint32_t rank = 0; matching->transfer_count && rank < view->count; rank++)
        for (size_t i = 0; i < ap_view_rank(view, rank)->collective_count && status == AP_OK; i++)
            status = add_side(&sides, view, rank, &ap_view_rank(view, rank)->collectives[i], reterr);
    ap_sort(sides.list, sides.count, sizeof(sides.list[0]), by_way);
    for (size_t at = 0, end; at < sides.count && status == AP_OK; at = end) {
        for (end = at; end < sides.count && same_way(&sides.list[at], &sides.list[end]);)
            end++;
        if (end - at >= 2)
            status = pair_up(pairs, sides.list + at, end - at, view->gate, reterr);
    }
    AP_FREE(view->gate, sides.list, sides.capacity);
    return status;
}
