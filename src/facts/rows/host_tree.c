/* SPDX-License-Identifier: MIT */
#include "host_tree.h"

#include <string.h>

#include "rows_of.h"

#include "poison.h"

/* When the open rows end, outermost first, and the innermost Python function among them. What is nested deeper than there is
 * room for ends when it says so. */
struct open_rows {
    struct open_row {
        int64_t end_ns, function_end_ns;
    } rows[AP_NESTING_MAX];
    size_t depth;
};

static int64_t end_of_open(const struct open_rows *open, const struct ap_trace *trace, uint32_t row)
{
    return open->depth <= AP_NESTING_MAX ? open->rows[open->depth - 1].end_ns : ap_row_end_ns(trace, row);
}

/* No call outlives its caller: a Python function that does has returned, which the tracer of PyTorch misses of some that are
 * built in, and writes that they last to the end of the recording. */
static void open_row(struct open_rows *open, const struct ap_trace *trace, uint32_t row)
{
    if (open->depth < AP_NESTING_MAX) {
        int64_t function_ns = open->depth ? open->rows[open->depth - 1].function_end_ns : INT64_MAX;
        bool is_function = ap_row_is_of(trace, row, 1u << AP_KIND_python);
        int64_t end_ns = ap_row_end_ns(trace, row);
        if (function_ns <= trace->events.start_ns[row])
            function_ns = INT64_MAX; /* it has returned, and left a range open */
        end_ns = is_function && end_ns > function_ns ? function_ns : end_ns;
        open->rows[open->depth] = (struct open_row){ end_ns, is_function ? end_ns : function_ns };
    }
    open->depth++;
}

/* There is room for parents from the first row on that has one. */
static enum ap_status link_row(struct ap_host_tree *tree, const struct ap_trace *trace, uint32_t row, uint32_t parent,
                               struct ap_error *reterr)
{
    if (AP_UNLIKELY(!tree->parent)) {
        AP_TRY(AP_ALLOC(tree->gate, tree->parent, trace->events.count, reterr));
        tree->count = trace->events.count;
        memset(tree->parent, 0xff, tree->count * sizeof(tree->parent[0]));
    }
    tree->parent[row] = parent;
    return AP_OK;
}

/* The parents serve as the stack: what is closed is left by walking up. */
static enum ap_status link_thread(struct ap_host_tree *tree, const struct ap_trace *trace, const uint32_t *rows,
                                  size_t count, struct ap_error *reterr)
{
    uint32_t last = AP_NO_ROW;
    struct open_rows open;
    open.depth = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        if (!ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        for (; last != AP_NO_ROW && end_of_open(&open, trace, last) <= trace->events.start_ns[row]; open.depth--)
            last = ap_host_parent(tree, last);
        if (last != AP_NO_ROW)
            AP_TRY(link_row(tree, trace, row, last, reterr));
        open_row(&open, trace, row);
        last = row;
    }
    return AP_OK;
}

enum ap_status ap_host_tree_init(struct ap_host_tree *tree, const struct ap_trace *trace, const struct ap_row_order *order,
                                 struct ap_gate *gate, struct ap_error *reterr)
{
    *tree = (struct ap_host_tree){ .gate = gate };
    if (!ap_has_rows_of(trace, AP_HOST_KINDS))
        return AP_OK;
    for (size_t track = 0; track < order->track_count; track++)
        if (ap_track_may_hold(order, track, AP_HOST_KINDS))
            AP_TRY(link_thread(tree, trace, order->rows + order->track_start[track],
                               order->track_start[track + 1] - order->track_start[track], reterr));
    return AP_OK;
}

void ap_host_tree_release(struct ap_host_tree *tree)
{
    AP_FREE(tree->gate, tree->parent, tree->count);
    *tree = (struct ap_host_tree){ .gate = tree->gate };
}

uint32_t ap_host_around(const struct ap_host_tree *tree, const struct ap_trace *trace, uint32_t row, uint32_t kinds)
{
    if (row == AP_NO_ROW)
        return AP_NO_ROW;
    int64_t start_ns = trace->events.start_ns[row];
    uint32_t around = ap_host_parent(tree, row);
    for (int i = 0; i < AP_NESTING_MAX && around != AP_NO_ROW; i++) {
        if (ap_row_is_of(trace, around, kinds) && ap_row_end_ns(trace, around) > start_ns)
            return around;
        around = ap_host_parent(tree, around);
    }
    return AP_NO_ROW;
}

uint32_t ap_host_container(const struct ap_host_tree *tree, const struct ap_trace *trace, uint32_t row)
{
    int64_t end_ns = ap_row_end_ns(trace, row), most_ns = trace->events.dur_ns[row] / 2;
    uint32_t around = ap_host_parent(tree, row);
    for (int i = 0; i < AP_NESTING_MAX && around != AP_NO_ROW && end_ns - ap_row_end_ns(trace, around) > most_ns; i++)
        around = ap_host_parent(tree, around);
    return around;
}
