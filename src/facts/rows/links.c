/* SPDX-License-Identifier: MIT */
#include "links.h"

#include <string.h>

#include "key_table.h"
#include "rows_of.h"

#include "poison.h"

/* ------------------------------------------------------------------------------------------------------- launches */

/* What links a row of work to a row of the host; 0 = nothing. */
typedef ap_link_key key_of_work(const struct ap_trace *trace, const struct ap_links *links, size_t place);

static ap_link_key work_correlation(const struct ap_trace *trace, const struct ap_links *links, size_t place)
{
    const struct ap_work_detail *work = ap_row_work(trace, links->row[place]);
    return work ? work->correlation : 0;
}

static ap_link_key work_external_id(const struct ap_trace *trace, const struct ap_links *links, size_t place)
{
    const struct ap_work_detail *work = ap_row_work(trace, links->row[place]);
    return work ? work->external_id : 0;
}

/* The keys that rows of work have. */
static enum ap_status collect_keys(struct ap_key_table *keys, const struct ap_links *links, const struct ap_trace *trace,
                                   key_of_work *key_of, struct ap_error *reterr)
{
    uint32_t lowest = UINT32_MAX, highest = 0;
    for (size_t i = 0; i < links->count; i++) {
        ap_link_key key = key_of(trace, links, i);
        lowest = key && key < lowest ? key : lowest;
        highest = key > highest ? key : highest;
    }
    AP_TRY(ap_key_table_init(keys, links->gate, links->count, lowest, highest, reterr));
    for (size_t i = 0; i < links->count; i++) {
        ap_link_key key = key_of(trace, links, i);
        if (key)
            ap_key_table_add(keys, key);
    }
    return ap_key_table_finish(keys, reterr);
}

/* What a call shares with the work that it launched. */
static ap_link_key call_key(const struct ap_trace *trace, uint32_t row, bool by_external_id)
{
    const struct ap_call_detail *call = ap_row_call(trace, row);
    return !call ? 0 : by_external_id ? call->external_id : call->correlation;
}

/* Calls that are not placed in time launch nothing that could be judged. True where no two share a key. */
static bool find_calls(struct ap_key_table *calls, const struct ap_trace *trace, bool by_external_id)
{
    bool alone = true;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        if (trace->events.start_ns[at.row] == AP_START_UNKNOWN || trace->events.dur_ns[at.row] < 0)
            continue;
        ap_link_key key = call_key(trace, at.row, by_external_id);
        uint32_t *launch = key ? ap_key_table_find(calls, key) : NULL;
        alone = alone && !(launch && *launch != AP_ID_NONE);
        if (launch && *launch == AP_ID_NONE)
            *launch = at.row;
    }
    return alone;
}

static bool has_correlations(const struct ap_links *links, const struct ap_trace *trace)
{
    for (size_t i = 0; i < links->count; i++)
        if (work_correlation(trace, links, i))
            return true;
    return false;
}

/* A column in which nothing is known yet. */
static enum ap_status new_column(const struct ap_links *links, uint32_t **ret_column, struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC(links->gate, *ret_column, links->count, reterr));
    memset(*ret_column, 0xff, links->count * sizeof(**ret_column));
    return AP_OK;
}

/* Without any correlation a call and its work may share their External id: the call's own number where no two calls have the
 * same, else that of the operator around them. */
static enum ap_status link_launches(struct ap_links *links, const struct ap_trace *trace, struct ap_error *reterr)
{
    struct ap_key_table calls;
    if (!ap_has_rows_of(trace, 1u << AP_KIND_runtime))
        return AP_OK;
    bool by_external_id = !has_correlations(links, trace);
    key_of_work *key_of = by_external_id ? work_external_id : work_correlation;
    enum ap_status status = collect_keys(&calls, links, trace, key_of, reterr);
    bool are_told = status == AP_OK && (find_calls(&calls, trace, by_external_id) || !by_external_id);
    if (are_told)
        status = new_column(links, &links->launch, reterr);
    for (size_t i = 0; i < links->count && links->launch; i++) {
        ap_link_key key = key_of(trace, links, i);
        if (key)
            links->launch[i] = *ap_key_table_find(&calls, key);
        links->linked_count += links->launch[i] != AP_NO_ROW;
    }
    links->external_id_is_of_call = by_external_id && links->linked_count;
    ap_key_table_release(&calls);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ operators */

/* The id of the operator that was open at the launch: the call tells it, else the row of work. */
static ap_link_key op_id(const struct ap_trace *trace, const struct ap_links *links, size_t place)
{
    uint32_t launch = ap_launch_at(links, place);
    const struct ap_call_detail *call = launch == AP_NO_ROW ? NULL : ap_row_call(trace, launch);
    if (call && call->external_id)
        return call->external_id;
    const struct ap_work_detail *work = ap_row_work(trace, links->row[place]);
    return work ? work->external_id : 0;
}

static void find_ops(struct ap_key_table *ops, const struct ap_trace *trace)
{
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_operator | 1u << AP_KIND_annotation);
         ap_rows_of_next(&at);) {
        if (trace->events.start_ns[at.row] == AP_START_UNKNOWN || trace->events.dur_ns[at.row] < 0)
            continue;
        const struct ap_op_detail *op = ap_row_op(trace, at.row);
        uint32_t *found = op && op->external_id ? ap_key_table_find(ops, op->external_id) : NULL;
        if (found && *found == AP_ID_NONE)
            *found = at.row;
    }
}

static enum ap_status link_ops_by_id(struct ap_links *links, const struct ap_trace *trace, struct ap_error *reterr)
{
    struct ap_key_table ops;
    if (ap_external_id_is_correlation(trace) || links->external_id_is_of_call)
        return AP_OK;
    enum ap_status status = collect_keys(&ops, links, trace, op_id, reterr);
    if (status == AP_OK)
        find_ops(&ops, trace);
    for (size_t i = 0; i < links->count && status == AP_OK; i++) {
        ap_link_key id = op_id(trace, links, i);
        if (id)
            links->op[i] = *ap_key_table_find(&ops, id);
        links->by_external_id_count += links->op[i] != AP_NO_ROW;
    }
    ap_key_table_release(&ops);
    return status;
}

static void link_ops_by_time(struct ap_links *links, const struct ap_trace *trace, const struct ap_host_tree *tree)
{
    for (size_t i = 0; i < links->count && links->launch; i++) {
        if (links->op[i] != AP_NO_ROW || links->launch[i] == AP_NO_ROW)
            continue;
        links->op[i] = ap_host_around(tree, trace, links->launch[i], 1u << AP_KIND_operator | 1u << AP_KIND_annotation);
        links->by_time_count += links->op[i] != AP_NO_ROW;
    }
}

/* An annotation may be what was open innermost; the operator around it says more. */
static void prefer_operators(struct ap_links *links, const struct ap_trace *trace, const struct ap_host_tree *tree)
{
    for (size_t i = 0; i < links->count; i++) {
        if (links->op[i] == AP_NO_ROW || ap_row_is_of(trace, links->op[i], 1u << AP_KIND_operator))
            continue;
        uint32_t op = ap_host_around(tree, trace, links->op[i], 1u << AP_KIND_operator);
        links->op[i] = op == AP_NO_ROW ? links->op[i] : op;
    }
}

static void sum_times(struct ap_links *links, const struct ap_trace *trace)
{
    bool overflowed = false; /* the sum of all rows was checked when they were read */
    for (size_t i = 0; i < links->count; i++) {
        uint32_t launch = ap_launch_at(links, i), op = ap_op_at(links, i);
        int64_t dur_ns = trace->events.dur_ns[links->row[i]];
        links->total_dur_ns = ap_add_sat(links->total_dur_ns, dur_ns, &overflowed);
        if (launch != AP_NO_ROW) {
            links->launched_dur_ns = ap_add_sat(links->launched_dur_ns, dur_ns, &overflowed);
            links->early_count += trace->events.start_ns[links->row[i]] < trace->events.start_ns[launch];
        }
        if (op != AP_NO_ROW && ap_row_is_of(trace, op, 1u << AP_KIND_operator)) {
            links->op_count++;
            links->op_dur_ns = ap_add_sat(links->op_dur_ns, dur_ns, &overflowed);
        }
    }
}

enum ap_status ap_links_init(struct ap_links *links, const struct ap_trace *trace, const struct ap_row_order *order,
                             const struct ap_host_tree *tree, struct ap_gate *gate, struct ap_error *reterr)
{
    *links = (struct ap_links){ .gate = gate };
    AP_TRY(ap_rows_by_start(order, trace, AP_GPU_KINDS, AP_ROWS_BY_DEVICE, &links->row, &links->count, reterr));
    if (!links->count)
        return AP_OK;
    AP_TRY(link_launches(links, trace, reterr));
    if (ap_has_rows_of(trace, 1u << AP_KIND_operator | 1u << AP_KIND_annotation)) {
        AP_TRY(new_column(links, &links->op, reterr));
        AP_TRY(link_ops_by_id(links, trace, reterr));
        link_ops_by_time(links, trace, tree);
        prefer_operators(links, trace, tree);
    }
    sum_times(links, trace);
    return AP_OK;
}

int64_t ap_links_window_ns(const struct ap_links *links, const struct ap_trace *trace)
{
    bool overflowed = false;
    int64_t sum_ns = 0;
    for (size_t first = 0, i; first < links->count; first = i) {
        int64_t end_ns = INT64_MIN, device = ap_row_device(trace, links->row[first]);
        for (i = first; i < links->count && ap_row_device(trace, links->row[i]) == device; i++)
            if (ap_row_end_ns(trace, links->row[i]) > end_ns)
                end_ns = ap_row_end_ns(trace, links->row[i]);
        sum_ns = ap_add_sat(sum_ns, end_ns - trace->events.start_ns[links->row[first]], &overflowed);
    }
    return sum_ns;
}

void ap_links_release(struct ap_links *links)
{
    AP_FREE(links->gate, links->row, links->count);
    AP_FREE(links->gate, links->launch, links->count);
    AP_FREE(links->gate, links->op, links->count);
    *links = (struct ap_links){ .gate = links->gate };
}
