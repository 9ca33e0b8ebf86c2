/* SPDX-License-Identifier: MIT */
#include "host_tree.h"

#include <string.h>

#include "poison.h"

/* The parents serve as the stack: what is closed is left by walking up. */
static void link_thread(struct ap_host_tree *tree, const struct ap_trace *trace, const uint32_t *rows, size_t count)
{
    uint32_t open = AP_NO_ROW;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        if (!ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        while (open != AP_NO_ROW && ap_row_end_ns(trace, open) <= trace->events.start_ns[row])
            open = tree->parent[open];
        tree->parent[row] = open;
        open = row;
    }
}

enum ap_status ap_host_tree_init(struct ap_host_tree *tree, const struct ap_trace *trace, const struct ap_row_order *order,
                                 struct ap_gate *gate, struct ap_error *reterr)
{
    *tree = (struct ap_host_tree){ .gate = gate };
    if (!trace->events.count)
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, tree->parent, trace->events.count, reterr));
    tree->count = trace->events.count;
    memset(tree->parent, 0xff, trace->events.count * sizeof(tree->parent[0]));
    for (size_t track = 0; track < order->track_count; track++)
        if (order->track_start[track] < order->track_start[track + 1])
            link_thread(tree, trace, order->rows + order->track_start[track],
                        order->track_start[track + 1] - order->track_start[track]);
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
    uint32_t around = tree->parent[row];
    for (int i = 0; i < AP_NESTING_MAX && around != AP_NO_ROW; i++) {
        if (ap_row_is_of(trace, around, kinds) && ap_row_end_ns(trace, around) > start_ns)
            return around;
        around = tree->parent[around];
    }
    return AP_NO_ROW;
}

uint32_t ap_host_container(const struct ap_host_tree *tree, const struct ap_trace *trace, uint32_t row)
{
    int64_t end_ns = ap_row_end_ns(trace, row), most_ns = trace->events.dur_ns[row] / 2;
    uint32_t around = tree->parent[row];
    for (int i = 0; i < AP_NESTING_MAX && around != AP_NO_ROW && end_ns - ap_row_end_ns(trace, around) > most_ns; i++)
        around = tree->parent[around];
    return around;
}
