/* SPDX-License-Identifier: MIT */
#include "rank_matching.h"

#include "collective.h"
#include "pair_map.h"
#include "rank_group.h"
#include "sort.h"

#include "poison.h"

/* A collective with what makes it one with others. */
struct entry {
    int64_t number; /* Seq; without one the step */
    uint32_t group;
    uint32_t kind;  /* on the host?, operation: the latter without Seq alone */
    uint32_t order; /* within group, step and operation; 0 with Seq */
    bool by_number;
    struct ap_match_member member;
};

struct entries {
    struct entry *list;
    size_t count, capacity;
};

static bool is_transfer(uint8_t operation)
{
    return operation == AP_COLLECTIVE_send || operation == AP_COLLECTIVE_recv || operation == AP_COLLECTIVE_sendrecv;
}

static bool has_root(uint8_t operation)
{
    return operation == AP_COLLECTIVE_broadcast || operation == AP_COLLECTIVE_reduce || operation == AP_COLLECTIVE_gather ||
           operation == AP_COLLECTIVE_scatter;
}

/* --------------------------------------------------------------------------------------------------------- entries */

/* Counters by group, operation and step of one rank. */
struct orders {
    struct ap_gate *gate;
    struct ap_pair_map groups, steps;
    uint32_t *counts;
    size_t capacity;
};

static enum ap_status next_order(struct orders *orders, const struct ap_rank_collective *row, uint32_t *ret_order,
                                 struct ap_error *reterr)
{
    uint32_t group, number, before = orders->steps.count;
    uint32_t step = (uint32_t)((uint64_t)row->step ^ (uint64_t)row->step >> 32);
    AP_TRY(ap_pair_map_add(&orders->groups, row->group.id, (uint32_t)row->operation << 1 | row->on_host, &group, reterr));
    AP_TRY(ap_pair_map_add(&orders->steps, group, step, &number, reterr));
    if (number == before) {
        AP_TRY(AP_RESERVE(orders->gate, orders->counts, orders->capacity, (size_t)number + 1, reterr));
        orders->counts[number] = 0;
    }
    *ret_order = orders->counts[number]++;
    return AP_OK;
}

static void count_transfer(struct ap_matching *matching, const struct ap_rank_collective *row)
{
    bool overflowed = false;
    if (!ap_view_has_step(matching->view, row->step))
        return;
    matching->transfer_count++;
    matching->transfer_exposed_ns = ap_add_sat(matching->transfer_exposed_ns, row->exposed_ns, &overflowed);
}

static enum ap_status add_entry(struct ap_matching *matching, struct entries *entries, struct orders *orders,
                                struct ap_match_member member, struct ap_error *reterr)
{
    const struct ap_rank_collective *row = &ap_view_rank(matching->view, member.rank)->collectives[member.collective];
    struct entry entry = { .group = row->group.id, .kind = row->on_host, .member = member };
    matching->recorded_count++;
    if (is_transfer(row->operation)) {
        matching->unmatched[AP_UNMATCHED_transfers]++;
        count_transfer(matching, row);
        return AP_OK;
    }
    if (!ap_view_has_step(matching->view, row->step)) {
        matching->unmatched[AP_UNMATCHED_steps]++;
        return AP_OK;
    }
    entry.by_number = row->sequence >= 0 && row->group.id;
    entry.number = entry.by_number ? row->sequence : row->step;
    if (!entry.by_number) {
        entry.kind |= (uint32_t)row->operation << 1;
        AP_TRY(next_order(orders, row, &entry.order, reterr));
    }
    AP_TRY_ADD(matching->gate, entries->list, entries->count, entries->capacity, reterr, entry);
    return AP_OK;
}

static enum ap_status list_rank(struct ap_matching *matching, struct entries *entries, uint32_t rank,
                                struct ap_error *reterr)
{
    struct orders orders = { .gate = matching->gate,
                             .groups = { .gate = matching->gate },
                             .steps = { .gate = matching->gate } };
    enum ap_status status = AP_OK;
    size_t count = ap_view_rank(matching->view, rank)->collective_count;
    for (uint32_t i = 0; i < count && status == AP_OK; i++)
        status = add_entry(matching, entries, &orders, (struct ap_match_member){ rank, i }, reterr);
    ap_pair_map_release(&orders.groups);
    ap_pair_map_release(&orders.steps);
    AP_FREE(matching->gate, orders.counts, orders.capacity);
    return status;
}

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    AP_BY_SMALLER(a->group, b->group);
    AP_BY_SMALLER(a->by_number, b->by_number);
    AP_BY_SMALLER(a->kind, b->kind);
    AP_BY_SMALLER(a->number, b->number);
    AP_BY_SMALLER(a->order, b->order);
    AP_BY_SMALLER(a->member.rank, b->member.rank);
    AP_BY_SMALLER(a->member.collective, b->member.collective);
    return 0;
}

static bool same_collective(const struct entry *a, const struct entry *b)
{
    return a->group == b->group && a->by_number == b->by_number && a->kind == b->kind && a->number == b->number &&
           a->order == b->order;
}

static bool same_series(const struct entry *a, const struct entry *b)
{
    return !a->by_number && !b->by_number && a->group == b->group && a->kind == b->kind && a->number == b->number;
}

/* --------------------------------------------------------------------------------------------------------- matches */

static const struct ap_rank_collective *row_of(const struct ap_matching *matching, const struct entry *entry)
{
    return &ap_view_rank(matching->view, entry->member.rank)->collectives[entry->member.collective];
}

/* Of one number, and yet not one: what ranks did in another order, or a number that began anew. */
static bool disagree(const struct ap_matching *matching, const struct entry *entries, size_t count)
{
    const struct ap_rank_collective *first = row_of(matching, &entries[0]);
    for (size_t i = 1; i < count; i++) {
        const struct ap_rank_collective *row = row_of(matching, &entries[i]);
        bool even = row->operation == AP_COLLECTIVE_allreduce || row->operation == AP_COLLECTIVE_reducescatter;
        if (row->operation != first->operation || entries[i].member.rank == entries[i - 1].member.rank ||
            (even && entries[i].by_number && row->bytes != first->bytes))
            return true;
    }
    return false;
}

static enum ap_status add_match(struct ap_matching *matching, const struct entry *entries, size_t count,
                                struct ap_error *reterr)
{
    const struct ap_rank_collective *row = row_of(matching, &entries[0]);
    struct ap_match match = { .first = (uint32_t)matching->member_count,
                              .count = (uint32_t)count,
                              .step = row->step,
                              .bytes = -1,
                              .size = ap_group_size(ap_rank_text(matching->view->set, row->group)),
                              .group = row->group,
                              .operation = row->operation,
                              .on_host = row->on_host,
                              .ends_together = ap_collective_ends_together((enum ap_collective_operation)row->operation),
                              .has_root = has_root(row->operation) };
    if (!match.size && !row->group.id && matching->view->world_size > 0)
        match.size = matching->view->world_size;
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = row_of(matching, &entries[i])->bytes;
        match.bytes = bytes > match.bytes ? bytes : match.bytes;
        matching->by_number_count += entries[i].by_number;
        AP_TRY_ADD(matching->gate, matching->members, matching->member_count, matching->member_capacity, reterr,
                   entries[i].member);
    }
    AP_TRY_ADD(matching->gate, matching->matches, matching->count, matching->capacity, reterr, match);
    return AP_OK;
}

static enum ap_status take_collective(struct ap_matching *matching, const struct entry *entries, size_t count,
                                      struct ap_error *reterr)
{
    if (count < 2) {
        matching->unmatched[AP_UNMATCHED_alone] += count;
        return AP_OK;
    }
    int64_t size = ap_group_size(ap_rank_text(matching->view->set, row_of(matching, entries)->group));
    bool several = size && count > (size_t)size; /* groups, of which no trace tells who is in which */
    if (several || disagree(matching, entries, count)) {
        matching->unmatched[several ? AP_UNMATCHED_groups : AP_UNMATCHED_differ] += count;
        return AP_OK;
    }
    return add_match(matching, entries, count, reterr);
}

/* Without numbers the order within a step counts: one that is lost on a rank would shift all that follow. */
static enum ap_status take_series(struct ap_matching *matching, const struct entry *entries, size_t count,
                                  struct ap_error *reterr)
{
    size_t first_count = 0, end;
    while (first_count < count && same_collective(&entries[0], &entries[first_count]))
        first_count++;
    for (size_t at = 0; at < count; at = end) {
        for (end = at; end < count && same_collective(&entries[at], &entries[end]);)
            end++;
        if (end - at == first_count)
            continue;
        matching->unmatched[AP_UNMATCHED_counts] += count;
        return AP_OK;
    }
    for (size_t at = 0; at < count; at += first_count)
        AP_TRY(take_collective(matching, entries + at, first_count, reterr));
    return AP_OK;
}

static enum ap_status take_all(struct ap_matching *matching, const struct entries *entries, struct ap_error *reterr)
{
    for (size_t at = 0, end; at < entries->count; at = end) {
        const struct entry *first = &entries->list[at];
        for (end = at + 1; end < entries->count && (first->by_number ? same_collective(first, &entries->list[end])
                                                                     : same_series(first, &entries->list[end]));)
            end++;
        AP_TRY(first->by_number ? take_collective(matching, first, end - at, reterr)
                                : take_series(matching, first, end - at, reterr));
    }
    return AP_OK;
}

enum ap_status ap_matching_init(struct ap_matching *matching, const struct ap_run_view *view, struct ap_error *reterr)
{
    struct entries entries = { .count = 0 };
    enum ap_status status = AP_OK;
    *matching = (struct ap_matching){ .gate = view->gate, .view = view };
    for (uint32_t i = 0; i < view->count && status == AP_OK; i++)
        status = list_rank(matching, &entries, i, reterr);
    ap_sort(entries.list, entries.count, sizeof(entries.list[0]), by_key);
    AP_AND_THEN(status, take_all(matching, &entries, reterr));
    AP_AND_THEN(status, ap_match_groups_check(matching, reterr));
    AP_FREE(matching->gate, entries.list, entries.capacity);
    return status;
}

void ap_matching_release(struct ap_matching *matching)
{
    AP_FREE(matching->gate, matching->members, matching->member_capacity);
    AP_FREE(matching->gate, matching->matches, matching->capacity);
    *matching = (struct ap_matching){ .gate = matching->gate };
}
