/* SPDX-License-Identifier: MIT */
#include "trace_view.h"

#include <stdio.h>

#include "passes.h"

#include "poison.h"

static enum ap_status fill(struct ap_trace_view *view, struct ap_error *reterr)
{
    const struct ap_trace *trace = view->trace;
    AP_TRY(ap_row_order_init(&view->order, trace, view->gate, reterr));
    AP_TRY(ap_host_tree_init(&view->tree, trace, &view->order, view->gate, reterr));
    AP_TRY(ap_links_init(&view->links, trace, &view->order, &view->tree, view->gate, reterr));
    AP_TRY(ap_steps_init(&view->steps, trace, &view->order, view->gate, reterr));
    AP_TRY(ap_kernel_families_init(&view->families, trace, view->gate, reterr));
    AP_TRY(ap_phases_init(&view->phases, trace, &view->order, &view->tree, &view->steps, &view->families, view->gate, reterr));
    return ap_host_chains_init(&view->chains, trace, &view->tree, view->gate, reterr);
}

enum ap_status ap_trace_view_init(struct ap_trace_view *view, const struct ap_trace *trace, struct ap_gate *gate,
                                  struct ap_error *reterr)
{
    *view = (struct ap_trace_view){ .gate = gate, .trace = trace, .order.gate = gate, .tree.gate = gate, .links.gate = gate,
                                    .steps.gate = gate, .families.gate = gate, .phases.gate = gate, .chains.frames.gate = gate };
    enum ap_status status = fill(view, reterr);
    if (status != AP_OK)
        ap_trace_view_release(view);
    return status;
}

void ap_trace_view_release(struct ap_trace_view *view)
{
    if (!view->trace)
        return;
    ap_host_chains_release(&view->chains);
    ap_phases_release(&view->phases);
    ap_kernel_families_release(&view->families);
    ap_steps_release(&view->steps);
    ap_links_release(&view->links);
    ap_host_tree_release(&view->tree);
    ap_row_order_release(&view->order);
    *view = (struct ap_trace_view){ .gate = view->gate };
}

void ap_row_id_format(uint32_t row, char to[AP_ROW_ID_BYTES])
{
    (void)snprintf(to, AP_ROW_ID_BYTES, "row:%lu", (unsigned long)row);
}

void ap_add_row_id(struct ap_model *model, struct ap_value *to, const char *key, uint32_t row)
{
    char id[AP_ROW_ID_BYTES];
    ap_row_id_format(row, id);
    ap_add_known_string(model, to, key, row != AP_NO_ROW, id);
}

void ap_add_row_name(const struct ap_trace_view *view, struct ap_model *model, struct ap_value *to, const char *key, uint32_t row)
{
    ap_add_name(view->trace, model, to, key, ap_row_name_id(view->trace, row));
}

void ap_add_step_of(const struct ap_trace_view *view, struct ap_model *model, struct ap_value *to, int64_t at_ns)
{
    size_t step = at_ns == AP_START_UNKNOWN ? view->steps.count : ap_step_at(&view->steps, at_ns);
    ap_add_known_count(model, to, "step", step < view->steps.count, (int64_t)step);
}
