/* SPDX-License-Identifier: MIT
 * sort_collectives.c - there may be millions of collectives, and of few kinds: kinds are sorted, collectives counted. */
#include "communication_part.h"
#include "quantile.h"
#include "sort.h"

#include "poison.h"

#define NO_GROUP UINT32_MAX

/* ---- order ---- */

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static const struct ap_collective_kind *kind_numbered(const struct ap_communication *report, uint32_t number)
{
    const void *kind = ap_strpool_text(&report->collectives.kinds, (struct ap_str){ number + 1 }).data;
    return kind;
}

static int compare_groups(const struct ap_collective *a, const struct ap_collective *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    int order = compare(a->group_name.id, b->group_name.id);
    order = order ? order : compare(a->group_ranks.id, b->group_ranks.id);
    return order ? order : compare(a->group_size, b->group_size);
}

int ap_compare_siblings(const struct ap_communication *report, const struct ap_collective_kind *x,
                        const struct ap_collective_kind *y)
{
    int order = compare(x->operation, y->operation);
    order = order ? order : compare(x->name, y->name);
    order = order ? order : compare_groups(ap_told_of(report, x), ap_told_of(report, y));
    return order ? order : compare(x->dtype, y->dtype);
}

static int compare_kinds(const struct ap_communication *report, uint32_t a, uint32_t b)
{
    const struct ap_collective_kind *x = kind_numbered(report, a), *y = kind_numbered(report, b);
    int order = ap_compare_siblings(report, x, y);
    return order ? order : compare(x->bytes, y->bytes);
}

static bool kind_before(const void *context, uint32_t a, uint32_t b)
{
    int order = compare_kinds(context, a, b);
    return order ? order < 0 : a < b;
}

static bool group_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_communication *report = context;
    int order = compare_groups(ap_told_of(report, kind_numbered(report, a)), ap_told_of(report, kind_numbered(report, b)));
    return order ? order < 0 : a < b;
}

/* ---- kinds and groups ---- */

/* @order: kinds of rows by group. */
static enum ap_status find_groups(struct ap_communication *report, const uint32_t *order, struct ap_error *reterr)
{
    for (size_t i = 0; i < ap_strpool_count(&report->collectives.kinds); i++) {
        const struct ap_collective *told = ap_told_of(report, kind_numbered(report, order[i]));
        if (told && (!report->group_count || compare_groups(report->groups[report->group_count - 1].told, told) != 0))
            AP_TRY_ADD(report->gate, report->groups, report->group_count, report->group_capacity, reterr,
                       (struct ap_listed_group){ .told = told });
        report->numbers[order[i]] = told ? (uint32_t)report->group_count - 1 : NO_GROUP;
    }
    for (size_t i = 0; i < report->collectives.count; i++) {
        uint32_t number = report->numbers[report->collectives.rows[i].kind.id - 1];
        if (number == NO_GROUP)
            continue;
        report->groups[number].count++;
        report->groups[number].total_ns =
            ap_add_sat(report->groups[number].total_ns, ap_collective_dur_ns(report, i), &report->overflowed);
    }
    return AP_OK;
}

/* @order: kinds of rows as they are listed. */
static enum ap_status list_kinds(struct ap_communication *report, const uint32_t *order, struct ap_error *reterr)
{
    for (size_t i = 0; i < ap_strpool_count(&report->collectives.kinds); i++) {
        if (i == 0 || compare_kinds(report, order[i - 1], order[i]) != 0)
            AP_TRY_ADD(report->gate, report->kinds, report->kind_count, report->kind_capacity, reterr,
                       ((struct ap_listed_kind){
                           .is = kind_numbered(report, order[i]), .max_ns = -1, .min_ns = INT64_MAX, .fair_ns = -1 }));
        struct ap_listed_kind *kind = &report->kinds[report->kind_count - 1];
        const struct ap_collective_cover *cover = &report->collectives.covers[order[i]];
        kind->exposed_ns = ap_add_sat(kind->exposed_ns, cover->exposed_ns, &report->overflowed);
        kind->overlap_ns = ap_add_sat(kind->overlap_ns, cover->overlap_ns, &report->overflowed);
        report->numbers[order[i]] = (uint32_t)report->kind_count - 1;
    }
    return AP_OK;
}

static struct ap_listed_kind *listed_kind(const struct ap_communication *report, size_t index)
{
    return &report->kinds[report->numbers[report->collectives.rows[index].kind.id - 1]];
}

static void add_to_kind(struct ap_communication *report, struct ap_listed_kind *kind, uint32_t index)
{
    int64_t dur = ap_collective_dur_ns(report, index);
    kind->count++;
    kind->total_ns = ap_add_sat(kind->total_ns, dur, &report->overflowed);
    kind->min_ns = dur < kind->min_ns ? dur : kind->min_ns;
    if (dur > kind->max_ns) {
        kind->max_ns = dur;
        kind->slowest = index;
    }
}

/* Durations by kind, side by side: by counting. */
static void find_times(struct ap_communication *report)
{
    size_t place = 0;
    for (size_t i = 0; i < report->collectives.count; i++)
        add_to_kind(report, listed_kind(report, i), (uint32_t)i);
    for (size_t k = 0; k < report->kind_count; k++) {
        place += report->kinds[k].count;
        report->kinds[k].place = place;
    }
    for (size_t i = report->collectives.count; i-- > 0;)
        report->scratch[--listed_kind(report, i)->place] = ap_collective_dur_ns(report, i);
    for (size_t k = 0; k < report->kind_count; k++)
        report->kinds[k].p50_ns = ap_quantile(report->scratch + report->kinds[k].place, report->kinds[k].count, 50);
}

static enum ap_status sort_kinds(struct ap_communication *report, uint32_t *order, struct ap_error *reterr)
{
    size_t count = ap_strpool_count(&report->collectives.kinds);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    AP_TRY(ap_sort_list(report->gate, order, count, group_before, report, reterr));
    AP_TRY(find_groups(report, order, reterr));
    AP_TRY(ap_sort_list(report->gate, order, count, kind_before, report, reterr));
    return list_kinds(report, order, reterr);
}

enum ap_status ap_communication_sort_out(struct ap_communication *report, struct ap_error *reterr)
{
    size_t count = ap_strpool_count(&report->collectives.kinds);
    uint32_t *order;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(report->gate, report->numbers, count, reterr));
    AP_TRY(AP_ALLOC(report->gate, order, count, reterr));
    enum ap_status status = sort_kinds(report, order, reterr);
    AP_FREE(report->gate, order, count);
    AP_AND_THEN(status, AP_ALLOC(report->gate, report->scratch, report->collectives.count, reterr));
    if (status == AP_OK)
        find_times(report);
    return status;
}

void ap_communication_release(struct ap_communication *report)
{
    AP_FREE(report->gate, report->numbers, ap_strpool_count(&report->collectives.kinds));
    AP_FREE(report->gate, report->scratch, report->collectives.count);
    AP_FREE(report->gate, report->kinds, report->kind_capacity);
    AP_FREE(report->gate, report->groups, report->group_capacity);
    ap_collective_rows_release(&report->collectives);
}
