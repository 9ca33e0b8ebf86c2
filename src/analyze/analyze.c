/* SPDX-License-Identifier: MIT */
#include "analyze.h"

#include "overlay_spans.h"
#include "pass_runner.h"

#include "poison.h"

/* ---- what the passes share ---- */

static enum ap_status prepare_order(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                    struct ap_error *reterr)
{
    (void)model;
    (void)root;
    return ap_row_order_init(&context->order, context->trace, context->gate, reterr);
}

static enum ap_status prepare_operators(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                        struct ap_error *reterr)
{
    (void)model;
    (void)root;
    AP_TRY(ap_op_stats_init(&context->ops, context->trace, context->gate, reterr));
    AP_TRY(ap_op_families_init(&context->op_families, context->trace, context->gate, context->ops.operators.count, reterr));
    AP_TRY(ap_call_kinds_init(&context->calls, context->trace, context->gate, reterr));
    return ap_kernel_families_init(&context->families, context->trace, context->gate, reterr);
}

static enum ap_status prepare_self_times(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                         struct ap_error *reterr)
{
    (void)model;
    (void)root;
    return ap_op_stats_nest(&context->ops, context->trace, &context->order, reterr);
}

static enum ap_status prepare_tree(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                   struct ap_error *reterr)
{
    (void)model;
    (void)root;
    return ap_host_tree_init(&context->tree, context->trace, &context->order, context->gate, reterr);
}

static enum ap_status prepare_links(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                    struct ap_error *reterr)
{
    (void)model;
    (void)root;
    return ap_links_init(&context->links, context->trace, &context->order, &context->tree, context->gate, reterr);
}

static enum ap_status prepare_steps(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                    struct ap_error *reterr)
{
    (void)model;
    (void)root;
    AP_TRY(ap_steps_init(&context->steps, context->trace, &context->order, context->gate, reterr));
    context->step_count = context->steps.count;
    return AP_OK;
}

static enum ap_status prepare_phases(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                     struct ap_error *reterr)
{
    (void)model;
    (void)root;
    return ap_phases_init(&context->phases, context->trace, &context->order, &context->tree, &context->steps,
                          &context->families, context->gate, reterr);
}

/* The engine of the backward pass works for another thread. */
static bool is_driven(const struct ap_trace *trace, uint32_t track)
{
    return ap_text_contains_folded(ap_strpool_text(&trace->strings, trace->tracks[track].label), "autograd");
}

/* The thread that drives the run: the one that the steps are marked on, else the one with most operator time, else the one
 * with most host rows. */
static uint32_t find_main_track(const struct ap_pass_context *context)
{
    uint32_t main_track = AP_NO_ROW;
    size_t most_rows = 0;
    int64_t most_ns = -1;
    if (context->steps.count)
        return context->trace->events.track[context->steps.steps[0].row];
    for (uint32_t track = 0; track < context->order.track_count; track++) {
        size_t rows = 0;
        for (size_t i = context->order.track_start[track]; i < context->order.track_start[track + 1]; i++)
            rows += ap_row_is_of(context->trace, context->order.rows[i], AP_HOST_KINDS);
        int64_t busy_ns = is_driven(context->trace, track) ? 0 : context->ops.threads[track].busy_ns;
        if (rows && (busy_ns > most_ns || (busy_ns == most_ns && rows > most_rows))) {
            main_track = track;
            most_ns = busy_ns;
            most_rows = rows;
        }
    }
    return main_track;
}

static enum ap_status prepare_main_track(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                         struct ap_error *reterr)
{
    (void)model;
    (void)root;
    (void)reterr;
    context->main_track = find_main_track(context);
    return AP_OK;
}

/* ---- parts of the report that are more than one pass ---- */

static enum ap_status add_cpu(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                              struct ap_error *reterr)
{
    struct ap_value *cpu = ap_add_object(model, root, "cpu");
    ap_add_string(model, cpu, "path", context->options->path);
    AP_TRY(ap_pass_ops(context, model, cpu, reterr));
    AP_TRY(ap_pass_threads(context, model, cpu, reterr));
    return ap_pass_signals(context, model, cpu, reterr);
}

static enum ap_status add_split(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                struct ap_error *reterr)
{
    AP_TRY(ap_split_init(&context->split, context->trace, &context->order, &context->tree, &context->links,
                         &context->steps, &context->families, context->main_track, context->bins, context->gate, reterr));
    AP_TRY(ap_pass_split(context, model, root, reterr));
    return ap_pass_data_loading(context, model, root, reterr);
}

/* ---- all of them ---- */

/* What a pass gives to others: the member of the context with nearly this name. */
enum {
    ORDER = 1,
    OPERATORS = 2, /* ops but for self and busy times; families, op_families, calls */
    SELF_TIMES = 4,
    TREE = 8,
    LINKS = 16,
    STEPS = 32,
    MAIN_TRACK = 64,
    PHASES = 128,
    EVERYTHING = 255
};

/* In the order of the report. To add a pass: its line here, with EVERYTHING where it need not begin early. A pass that
 * others need: a name above for what it gives, in EVERYTHING too, and its line before theirs. */
static const struct ap_pass_entry passes[] = {
    { prepare_order, 17, 0, ORDER },
    { prepare_operators, 6, 0, OPERATORS },
    { prepare_tree, 5, ORDER, TREE },
    { prepare_links, 16, ORDER | TREE, LINKS },
    { prepare_self_times, 13, ORDER | OPERATORS, SELF_TIMES },
    { prepare_steps, 2, ORDER, STEPS },
    { prepare_main_track, 0, ORDER | SELF_TIMES | STEPS, MAIN_TRACK },
    { prepare_phases, 8, ORDER | OPERATORS | TREE | STEPS, PHASES },
    { add_cpu, 15, EVERYTHING, 0 },
    { ap_pass_document, 0, EVERYTHING, 0 },
    { ap_pass_steps, 0, EVERYTHING, 0 },
    { add_split, 50, EVERYTHING & ~PHASES, 0 }, /* needs most memory: it begins while little else is there */
    { ap_pass_phases, 8, EVERYTHING, 0 },
    { ap_pass_host_work, 35, EVERYTHING, 0 },
    { ap_pass_gpu, 25, EVERYTHING, 0 },
    { ap_pass_launches, 10, EVERYTHING, 0 },
    { ap_pass_runtime, 7, OPERATORS, 0 }, /* while the order is found */
    { ap_pass_syncs, 14, EVERYTHING, 0 },
    { ap_pass_copies, 15, EVERYTHING, 0 },
    { ap_pass_trace_memory, 5, EVERYTHING, 0 },
    { ap_pass_joined, 3, EVERYTHING, 0 },
    { ap_pass_communication, 7, EVERYTHING, 0 },
    { ap_pass_compile, 5, EVERYTHING, 0 },
    { ap_pass_accelerator, 1, EVERYTHING, 0 },
    { ap_pass_critical_path, 45, EVERYTHING & ~PHASES, 0 },
};
_Static_assert(AP_COUNT_OF(passes) <= AP_PASS_ENTRY_MAX, "the runner has room for all");

static enum ap_status add_spans(const struct ap_pass_context *context, struct ap_error *reterr)
{
    struct ap_overlay *overlay = context->options->overlay;
    if (!overlay)
        return AP_OK;
    ap_overlay_learn_trace(overlay, context->trace);
    AP_TRY(ap_overlay_add_steps(overlay, context->trace, &context->steps, reterr));
    AP_TRY(ap_overlay_add_idle(overlay, context->trace, &context->split, reterr));
    return ap_overlay_add_path(overlay, context->trace, &context->order, &context->critical_path, reterr);
}

static enum ap_status run_passes(struct ap_pass_context *context, struct ap_model *model, struct ap_error *reterr)
{
    AP_TRY(ap_run_passes(context, passes, AP_COUNT_OF(passes), model, reterr));
    AP_TRY(ap_pass_verdict(context, model, &model->root, reterr)); /* reads what the others added */
    AP_TRY(add_spans(context, reterr));
    return ap_model_status(model, reterr);
}

static void note_findings_on_the_way(const struct ap_pass_context *context)
{
    ap_note_many(context->notes, AP_COUNTER_straddle, context->ops.straddle_count);
    ap_note_many(context->notes, AP_COUNTER_self_time, context->ops.mismatch_count);
    ap_note_many(context->notes, AP_COUNTER_time_overflow, context->ops.overflowed || context->overflowed);
}

/* What pictures show depends on what is found, so the findings come first. */
static enum ap_status run_and_draw(struct ap_pass_context *context, struct ap_model *model, struct ap_error *reterr)
{
    const struct ap_analyze_options *options = context->options;
    AP_TRY(run_passes(context, model, reterr));
    note_findings_on_the_way(context);
    if (!context->bins)
        return AP_OK;
    if (options->judge)
        AP_TRY(options->judge(options->judge_self, reterr));
    AP_TRY(ap_pass_pictures(context, model, &model->root, reterr));
    return ap_model_status(model, reterr);
}

static enum ap_status run(struct ap_pass_context *context, struct ap_model *model, struct ap_error *reterr)
{
    if (!context->options->with_pictures)
        return run_and_draw(context, model, reterr);
    context->bins = ap_mem_cleared(context->gate, sizeof(*context->bins));
    if (!context->bins)
        return ap_fail_memory(context->gate, reterr);
    enum ap_status status = run_and_draw(context, model, reterr);
    ap_mem_free(context->gate, context->bins, sizeof(*context->bins));
    context->bins = NULL;
    return status;
}

enum ap_status ap_analyze_trace(struct ap_trace *trace, const struct ap_analyze_options *options, struct ap_notes *notes,
                                struct ap_model *model, struct ap_error *reterr)
{
    struct ap_pass_context context = { .trace = trace, .options = options, .notes = notes, .gate = trace->gate };
    context.calls.gate = trace->gate;
    context.critical_path.gate = trace->gate;
    context.families.gate = trace->gate;
    context.links.gate = trace->gate;
    context.op_families.gate = trace->gate;
    context.ops.gate = trace->gate;
    context.order.gate = trace->gate;
    context.phases.gate = trace->gate;
    context.split.gate = trace->gate;
    context.steps.gate = trace->gate;
    context.tree.gate = trace->gate;
    context.window_ns = trace->has_window ? trace->window_end_ns - trace->window_start_ns : -1;
    ap_strpool_freeze(&trace->strings);
    ap_strpool_freeze(&trace->signatures);
    ap_strpool_freeze(&trace->odd_keys);
    enum ap_status status = run(&context, model, reterr);
    ap_phases_release(&context.phases);
    ap_op_families_release(&context.op_families);
    ap_call_kinds_release(&context.calls);
    ap_critical_path_release(&context.critical_path);
    ap_split_release(&context.split);
    ap_kernel_families_release(&context.families);
    ap_steps_release(&context.steps);
    ap_op_stats_release(&context.ops);
    ap_links_release(&context.links);
    ap_host_tree_release(&context.tree);
    ap_row_order_release(&context.order);
    return status;
}

void ap_analyze_no_trace(struct ap_model *model)
{
    static const char *const parts[] = {
        "cpu",
        "trace",
        "steps",
        "split",
        "idle",
        "data_loading",
        "phases",
        "operators",
        "modules",
        "frames",
        "autograd",
        "drilldown",
        "gpu",
        "links",
        "launches",
        "runtime",
        "sync",
        "copies",
        "trace_memory",
        "joined",
        "communication",
        "compile",
        "accelerator",
        "critical_path",
        "verdict",
        "symptoms",
    };
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        ap_add_null(model, &model->root, parts[i]);
}
