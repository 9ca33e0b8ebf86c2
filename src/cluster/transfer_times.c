/* SPDX-License-Identifier: MIT */
#include "transfer_times.h"

#include "sort.h"

#include "poison.h"

#define SLOW_LINK_TIMES 1.5   /* as long as its like */
#define SLOW_LINK_LEAST 3     /* transfers of a group, of one size */
#define ABSENT_LEAST_NS 20000 /* transfers differ by a little each time, and many little ones would add up: */
#define ABSENT_PART 4         /* of what the transfer takes at most */
#define PAIRS_LEAST 3         /* of ranks that are compared */

/* A judged match: how long the transfer was at most. */
struct transfer {
    int64_t bytes, dur_ns, size;
    int64_t like_bytes; /* equal for transfers that should take as long */
    uint32_t group;
    uint8_t operation;
    bool on_host, is_whole;              /* all ranks of the group are given */
    const struct ap_transfer_pair *pair; /* of two ranks; else NULL */
};

struct transfers {
    struct transfer *list;
    size_t count, capacity;
};

/* The parts of an uneven exchange are of other sizes each time: those within an eighth of an octave count as one. */
static int64_t about(int64_t bytes)
{
    int shift = 0;
    while (bytes >> shift >= 16)
        shift++;
    return bytes > 0 ? bytes >> shift << shift : bytes;
}

static enum ap_status list_transfers(struct transfers *transfers, const struct ap_run_verdict *verdict,
                                     struct ap_error *reterr)
{
    const struct ap_matching *matching = verdict->delays->matching;
    for (size_t i = 0; i < matching->count; i++) {
        const struct ap_match *match = &matching->matches[i];
        struct transfer transfer = { .bytes = match->bytes,
                                     .dur_ns = INT64_MAX,
                                     .size = match->size,
                                     .group = match->group.id,
                                     .operation = match->operation,
                                     .on_host = match->on_host,
                                     .is_whole = match->size <= (int64_t)match->count };
        if (!match->ends_together)
            continue;
        transfer.like_bytes = match->operation == AP_COLLECTIVE_alltoall ? about(match->bytes) : match->bytes;
        for (size_t j = 0; j < match->count; j++) {
            int64_t dur_ns = ap_match_row(matching, match->first + j)->dur_ns;
            transfer.dur_ns = dur_ns < transfer.dur_ns ? dur_ns : transfer.dur_ns;
        }
        AP_TRY_ADD(verdict->gate, transfers->list, transfers->count, transfers->capacity, reterr, transfer);
    }
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- absent */

static int by_group(const void *left, const void *right)
{
    const struct transfer *a = left, *b = right;
    AP_BY_SMALLER(a->group, b->group);
    AP_BY_SMALLER(a->on_host, b->on_host);
    AP_BY_SMALLER(a->operation, b->operation);
    AP_BY_SMALLER(a->bytes, b->bytes);
    AP_BY_SMALLER(a->dur_ns, b->dur_ns);
    return 0;
}

static bool same_group(const struct transfer *a, const struct transfer *b)
{
    return a->group == b->group && a->on_host == b->on_host && a->operation == b->operation;
}

/* What goes beyond the time of a transfer is waiting for somebody who is not there. Collectives on the host tell nothing of
 * that: they take as long as the cores that they share let them. @list: of one group and operation, by bytes. */
static void judge_absent(struct ap_run_verdict *verdict, const struct transfer *list, size_t count,
                         struct ap_collective_time *times)
{
    bool overflowed = false;
    for (size_t i = 0; i < count; i++)
        times[i] = (struct ap_collective_time){ .bytes = list[i].bytes, .dur_ns = list[i].dur_ns };
    ap_collective_find_bounds(times, count);
    for (size_t i = 0; i < count; i++) {
        int64_t bound_ns = times[i].bound_ns, beyond_ns = list[i].dur_ns - bound_ns;
        if (list[i].is_whole)
            continue;
        bool is_noise = beyond_ns < ABSENT_LEAST_NS || beyond_ns < bound_ns / ABSENT_PART;
        verdict->absent_count++;
        verdict->absent_ns = ap_add_sat(verdict->absent_ns, is_noise ? 0 : beyond_ns, &overflowed);
    }
}

static enum ap_status find_absent(struct ap_run_verdict *verdict, struct transfers *transfers, struct ap_error *reterr)
{
    struct ap_collective_time *times;
    size_t steps = verdict->delays->step_count ? verdict->delays->step_count : 1;
    if (!transfers->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(verdict->gate, times, transfers->count, reterr));
    ap_sort(transfers->list, transfers->count, sizeof(transfers->list[0]), by_group);
    for (size_t at = 0, end; at < transfers->count; at = end) {
        for (end = at; end < transfers->count && same_group(&transfers->list[at], &transfers->list[end]);)
            end++;
        if (!transfers->list[at].on_host)
            judge_absent(verdict, transfers->list + at, end - at, times);
    }
    AP_FREE(verdict->gate, times, transfers->count);
    verdict->absent_is_late = verdict->absent_ns / (int64_t)steps >= verdict->floor_ns;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- links */

static int by_like(const void *left, const void *right)
{
    const struct transfer *a = left, *b = right;
    AP_BY_SMALLER(a->on_host, b->on_host);
    AP_BY_SMALLER(a->operation, b->operation);
    AP_BY_SMALLER(a->size, b->size);
    AP_BY_SMALLER(a->like_bytes, b->like_bytes);
    AP_BY_SMALLER(a->group, b->group);
    AP_BY_SMALLER(a->dur_ns, b->dur_ns);
    return 0;
}

static bool are_alike(const struct transfer *a, const struct transfer *b)
{
    return a->on_host == b->on_host && a->operation == b->operation && a->size == b->size && a->like_bytes == b->like_bytes;
}

/* The median of each group of the list, which is of one kind and size. */
static size_t list_medians(const struct transfer *list, size_t count, int64_t *medians_ns)
{
    size_t groups = 0;
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at; end < count && list[end].group == list[at].group;)
            end++;
        medians_ns[groups++] = list[at + (end - at - 1) / 2].dur_ns;
    }
    return groups;
}

static enum ap_status judge_link(struct ap_run_verdict *verdict, const struct transfer *list, size_t count, int64_t usual_ns,
                                 size_t like_count, struct ap_error *reterr)
{
    struct ap_slow_link link = { .group = { list[0].group },
                                 .operation = list[0].operation,
                                 .bytes = list[0].bytes,
                                 .dur_ns = list[(count - 1) / 2].dur_ns,
                                 .usual_ns = usual_ns,
                                 .like_count = like_count };
    bool overflowed = false;
    if (list[0].pair) {
        link.is_pair = true;
        bool up = list[0].pair->ranks[0] < list[0].pair->ranks[1];
        link.ranks[0] = list[0].pair->ranks[up ? 0 : 1];
        link.ranks[1] = list[0].pair->ranks[up ? 1 : 0];
        link.group.id = 0;
    }
    if (count < SLOW_LINK_LEAST || (double)link.dur_ns < SLOW_LINK_TIMES * (double)usual_ns || !list[0].is_whole)
        return AP_OK;
    for (size_t i = 0; i < count; i++)
        link.excess_ns = ap_add_sat(link.excess_ns, list[i].dur_ns > usual_ns ? list[i].dur_ns - usual_ns : 0, &overflowed);
    size_t steps = verdict->delays->step_count ? verdict->delays->step_count : 1;
    if (link.excess_ns / (int64_t)steps >= verdict->floor_ns)
        AP_TRY_ADD(verdict->gate, verdict->links, verdict->link_count, verdict->link_capacity, reterr, link);
    return AP_OK;
}

static enum ap_status find_links(struct ap_run_verdict *verdict, struct transfers *transfers, struct ap_error *reterr)
{
    int64_t *medians_ns;
    enum ap_status status = AP_OK;
    if (!transfers->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(verdict->gate, medians_ns, transfers->count, reterr));
    ap_sort(transfers->list, transfers->count, sizeof(transfers->list[0]), by_like);
    for (size_t at = 0, end; at < transfers->count && status == AP_OK; at = end) {
        for (end = at; end < transfers->count && are_alike(&transfers->list[at], &transfers->list[end]);)
            end++;
        size_t groups = list_medians(transfers->list + at, end - at, medians_ns);
        ap_sort(medians_ns, groups, sizeof(medians_ns[0]), ap_by_int64);
        int64_t usual_ns = medians_ns[(groups - 1) / 2];
        bool enough = transfers->list[at].pair ? groups >= PAIRS_LEAST : groups > 1;
        for (size_t from = at, to; from < end && enough && status == AP_OK; from = to) {
            for (to = from; to < end && transfers->list[to].group == transfers->list[from].group;)
                to++;
            status = judge_link(verdict, transfers->list + from, to - from, usual_ns, groups, reterr);
        }
    }
    AP_FREE(verdict->gate, medians_ns, transfers->count);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- pairs */

/* Ranks of one host are joined by other links than those of two: only where hosts are told, pairs of a kind are known. */
static int64_t kind_of_pair(const struct ap_run_view *view, const struct ap_transfer_pair *pair)
{
    uint32_t a = ap_view_rank(view, pair->ranks[0])->host.id, b = ap_view_rank(view, pair->ranks[1])->host.id;
    return !a || !b ? 0 : a == b ? 1 : 2;
}

static int by_ranks(const void *left, const void *right)
{
    const struct ap_transfer_pair *a = left, *b = right;
    AP_BY_SMALLER(a->ranks[0], b->ranks[0]);
    AP_BY_SMALLER(a->ranks[1], b->ranks[1]);
    return 0;
}

/* Pairs take the place of groups: each has a number, and another one the other way, which may be the slow one. */
static enum ap_status list_pairs(struct transfers *transfers, const struct ap_run_verdict *verdict,
                                 const struct ap_transfer_pairs *pairs, struct ap_error *reterr)
{
    uint32_t number = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const struct ap_transfer_pair *pair = &pairs->list[i];
        int64_t kind = kind_of_pair(verdict->delays->matching->view, pair);
        number += i == 0 || by_ranks(pair, pair - 1) != 0;
        if (!kind)
            continue;
        AP_TRY_ADD(verdict->gate, transfers->list, transfers->count, transfers->capacity, reterr,
                   (struct transfer){ .bytes = pair->bytes,
                                      .like_bytes = pair->bytes,
                                      .dur_ns = pair->dur_ns,
                                      .size = -kind,
                                      .group = number,
                                      .operation = AP_COLLECTIVE_sendrecv,
                                      .is_whole = true,
                                      .pair = pair });
    }
    return AP_OK;
}

static enum ap_status find_pairs(struct ap_run_verdict *verdict, struct ap_error *reterr)
{
    struct ap_transfer_pairs pairs;
    struct transfers transfers = { .count = 0 };
    enum ap_status status = ap_transfer_pairs_find(&pairs, verdict->delays->matching, reterr);
    ap_sort(pairs.list, pairs.count, sizeof(pairs.list[0]), by_ranks);
    AP_AND_THEN(status, list_pairs(&transfers, verdict, &pairs, reterr));
    AP_AND_THEN(status, find_links(verdict, &transfers, reterr));
    AP_FREE(verdict->gate, transfers.list, transfers.capacity);
    AP_FREE(verdict->gate, pairs.list, pairs.capacity);
    return status;
}

static int by_members(const void *left, const void *right)
{
    const struct ap_slow_link *a = left, *b = right;
    AP_BY_SMALLER(a->group.id, b->group.id);
    AP_BY_SMALLER(a->ranks[0], b->ranks[0]);
    AP_BY_SMALLER(a->ranks[1], b->ranks[1]);
    AP_BY_LARGER(a->excess_ns, b->excess_ns);
    AP_BY_SMALLER(a->operation, b->operation);
    return 0;
}

static int by_excess(const void *left, const void *right)
{
    const struct ap_slow_link *a = left, *b = right;
    AP_BY_LARGER(a->excess_ns, b->excess_ns);
    return by_members(left, right);
}

/* Of a group the kind of transfers that lost most. */
static void rank_links(struct ap_run_verdict *verdict)
{
    struct ap_slow_link *links = verdict->links;
    size_t kept = 0;
    ap_sort(links, verdict->link_count, sizeof(links[0]), by_members);
    for (size_t i = 0; i < verdict->link_count; i++)
        if (!kept || links[kept - 1].group.id != links[i].group.id || links[kept - 1].ranks[0] != links[i].ranks[0] ||
            links[kept - 1].ranks[1] != links[i].ranks[1])
            links[kept++] = links[i];
    verdict->link_count = kept;
    ap_sort(links, kept, sizeof(links[0]), by_excess);
    if (kept)
        verdict->link = links[0];
}

enum ap_status ap_transfers_judge(struct ap_run_verdict *verdict, struct ap_error *reterr)
{
    struct transfers transfers = { .count = 0 };
    enum ap_status status = list_transfers(&transfers, verdict, reterr);
    AP_AND_THEN(status, find_absent(verdict, &transfers, reterr));
    AP_AND_THEN(status, find_links(verdict, &transfers, reterr));
    AP_AND_THEN(status, find_pairs(verdict, reterr));
    rank_links(verdict);
    AP_FREE(verdict->gate, transfers.list, transfers.capacity);
    return status;
}
