/* SPDX-License-Identifier: MIT */
#include "analyze.h"

#include "passes.h"

#include "poison.h"

/* Parts of the object "cpu", then parts of the root, in the order of the report. */
static ap_pass *const cpu_passes[] = { ap_pass_ops, ap_pass_threads, ap_pass_signals };
static ap_pass *const root_passes[] = { ap_pass_document, ap_pass_steps, ap_pass_gpu };

static enum ap_status run_passes(struct ap_pass_context *context, struct ap_model *model, struct ap_error *reterr)
{
    AP_TRY(ap_row_order_init(&context->order, context->trace, context->gate, reterr));
    AP_TRY(ap_host_tree_init(&context->tree, context->trace, &context->order, context->gate, reterr));
    AP_TRY(ap_links_init(&context->links, context->trace, &context->order, &context->tree, context->gate, reterr));
    AP_TRY(ap_op_stats_init(&context->ops, context->trace, &context->order, context->gate, reterr));
    AP_TRY(ap_count_steps(context, reterr));
    struct ap_value *cpu = ap_add_object(model, &model->root, "cpu");
    ap_add_string(model, cpu, "path", context->options->path);
    for (size_t i = 0; i < AP_COUNT_OF(cpu_passes); i++)
        AP_TRY(cpu_passes[i](context, model, cpu, reterr));
    for (size_t i = 0; i < AP_COUNT_OF(root_passes); i++)
        AP_TRY(root_passes[i](context, model, &model->root, reterr));
    return ap_model_status(model, reterr);
}

static void note_findings_on_the_way(const struct ap_pass_context *context)
{
    ap_note_many(context->notes, AP_COUNTER_straddle, context->ops.straddle_count);
    ap_note_many(context->notes, AP_COUNTER_self_time, context->ops.mismatch_count);
    ap_note_many(context->notes, AP_COUNTER_time_overflow, context->ops.overflowed);
}

enum ap_status ap_analyze_trace(struct ap_trace *trace, const struct ap_analyze_options *options, struct ap_notes *notes,
                                struct ap_model *model, struct ap_error *reterr)
{
    struct ap_pass_context context = { .trace = trace, .options = options, .notes = notes, .gate = trace->gate };
    context.order.gate = context.tree.gate = context.links.gate = context.ops.gate = trace->gate;
    context.window_ns = trace->has_window ? trace->window_end_ns - trace->window_start_ns : -1;
    ap_strpool_freeze(&trace->strings);
    ap_strpool_freeze(&trace->signatures);
    ap_strpool_freeze(&trace->odd_keys);
    enum ap_status status = run_passes(&context, model, reterr);
    if (status == AP_OK)
        note_findings_on_the_way(&context);
    ap_op_stats_release(&context.ops);
    ap_links_release(&context.links);
    ap_host_tree_release(&context.tree);
    ap_row_order_release(&context.order);
    return status;
}
