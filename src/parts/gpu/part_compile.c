/* SPDX-License-Identifier: MIT
 * part_compile.c - torch.compile: what ran compiled, what broke or was compiled again, what that cost. */
#include "compiled_regions.h"
#include "part.h"
#include "row_set.h"
#include "sort.h"

#include "poison.h"

struct region_sum {
    uint32_t name, longest; /* row */
    int64_t count, total_ns, device_ns;
};

struct report {
    const struct ap_trace *trace;
    struct ap_gate *gate;
    struct ap_compiled compiled;
    struct region_sum *sums;
    size_t sum_count, sum_capacity;
    bool overflowed;
};

/* ---- versions of frames ---- */

static bool version_before(const void *context, uint32_t a, uint32_t b)
{
    const struct report *report = context;
    const struct ap_compiled_region *x = &report->compiled.regions[a], *y = &report->compiled.regions[b];
    if (x->has_number != y->has_number)
        return x->has_number;
    if (x->has_number && x->frame != y->frame)
        return x->frame < y->frame;
    if (x->has_number && x->version != y->version)
        return x->version < y->version;
    int64_t x_ns = report->trace->events.start_ns[x->row], y_ns = report->trace->events.start_ns[y->row];
    return x_ns != y_ns ? x_ns < y_ns : a < b;
}

struct versions {
    int64_t frames, recompiled_frames, new_in_window;
};

/* A version is new where it is first seen after an older one of its frame. */
static struct versions count_versions(const struct report *report, const uint32_t *order, size_t count)
{
    struct versions versions = { 0, 0, 0 };
    const struct ap_compiled_region *last = NULL;
    int64_t first_seen_ns = 0; /* of the frame's older versions */
    bool recompiled = false;
    for (size_t i = 0; i < count; i++) {
        const struct ap_compiled_region *region = &report->compiled.regions[order[i]];
        int64_t start_ns = report->trace->events.start_ns[region->row];
        if (!region->has_number)
            break;
        if (!last || last->frame != region->frame) {
            versions.frames++;
            first_seen_ns = start_ns;
            recompiled = false;
        } else if (last->version != region->version) {
            versions.new_in_window += start_ns > first_seen_ns;
            first_seen_ns = start_ns < first_seen_ns ? start_ns : first_seen_ns;
        }
        versions.recompiled_frames += !recompiled && region->version;
        recompiled |= region->version != 0;
        last = region;
    }
    return versions;
}

static enum ap_status find_versions(const struct report *report, struct versions *ret_versions, struct ap_error *reterr)
{
    uint32_t *order;
    size_t count;
    AP_TRY(
        ap_top_indices(report->gate, (uint32_t)report->compiled.count, 0, version_before, report, &order, &count, reterr));
    *ret_versions = count_versions(report, order, count);
    AP_FREE(report->gate, order, count);
    return AP_OK;
}

/* ---- regions by name ---- */

static bool name_before(const void *context, uint32_t a, uint32_t b)
{
    const struct report *report = context;
    uint32_t x = report->trace->events.name[report->compiled.regions[a].row];
    uint32_t y = report->trace->events.name[report->compiled.regions[b].row];
    return x != y ? x < y : a < b;
}

static bool longer(const void *context, uint32_t a, uint32_t b)
{
    const struct report *report = context;
    const struct region_sum *x = &report->sums[a], *y = &report->sums[b];
    AP_LARGER_FIRST(x->total_ns, y->total_ns);
    int order = ap_trace_compare_texts(report->trace, x->name, y->name);
    return order ? order < 0 : a < b;
}

static enum ap_status sum_names(struct report *report, const uint32_t *order, size_t count, struct ap_error *reterr)
{
    for (size_t i = 0; i < count; i++) {
        const struct ap_compiled_region *region = &report->compiled.regions[order[i]];
        uint32_t name = report->trace->events.name[region->row];
        int64_t dur_ns = report->trace->events.dur_ns[region->row];
        if (!report->sum_count || report->sums[report->sum_count - 1].name != name) {
            AP_TRY_ADD(report->gate, report->sums, report->sum_count, report->sum_capacity, reterr,
                       (struct region_sum){ .name = name, .longest = region->row });
        }
        struct region_sum *sum = &report->sums[report->sum_count - 1];
        sum->count++;
        sum->total_ns = ap_add_sat(sum->total_ns, dur_ns, &report->overflowed);
        sum->device_ns = ap_add_sat(sum->device_ns, region->device_ns, &report->overflowed);
        sum->longest = dur_ns > report->trace->events.dur_ns[sum->longest] ? region->row : sum->longest;
    }
    return AP_OK;
}

static enum ap_status add_regions(struct report *report, uint64_t top_n, struct ap_model *model, struct ap_value *to,
                                  struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "top_regions");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(report->gate, (uint32_t)report->compiled.count, 0, name_before, report, &order, &count, reterr));
    enum ap_status status = sum_names(report, order, count, reterr);
    AP_FREE(report->gate, order, count);
    AP_TRY(status);
    AP_TRY(ap_top_indices(report->gate, (uint32_t)report->sum_count, top_n, longer, report, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct region_sum *sum = &report->sums[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", ap_trace_text(report->trace, sum->name));
        ap_add_count(model, row, "count", sum->count);
        ap_add_time(model, row, "total_dur_us", sum->total_ns);
        ap_add_time(model, row, "device_us", sum->device_ns);
        ap_add_place(report->trace, sum->longest, model, row);
    }
    AP_FREE(report->gate, order, count);
    return AP_OK;
}

/* ---- figures ---- */

/* A share is not known where nothing of the kind was recorded. */
static void add_window_share(const struct ap_part_context *context, struct ap_model *model, struct ap_value *to,
                             const char *key, int64_t ns, uint64_t rows)
{
    ap_add_quotient(model, to, key, (double)ns,
                    rows && context->facts->window_ns > 0 ? (double)context->facts->window_ns : 0);
}

/* Graphs may be longer than the regions that they stand in only in broken traces. */
static int64_t outside_graphs_ns(const struct ap_compiled *compiled)
{
    int64_t ns = compiled->graph_count ? compiled->outside_ns : compiled->eager_ns;
    return ns > 0 ? ns : 0;
}

static void add_figures(const struct ap_part_context *context, const struct ap_compiled *compiled,
                        const struct versions *versions, struct ap_model *model, struct ap_value *to)
{
    ap_add_count(model, to, "regions", (int64_t)compiled->count);
    ap_add_number_per(model, to, "regions_per_step", (double)(compiled->count), (double)context->facts->steps.count);
    ap_add_count(model, to, "distinct_frames", versions->frames);
    ap_add_count(model, to, "recompiled_frames", versions->recompiled_frames);
    ap_add_count(model, to, "recompiles_in_window", versions->new_in_window);
    ap_add_count(model, to, "jit_again", (int64_t)compiled->jit_again_count);
    ap_add_count(model, to, "graph_breaks", (int64_t)compiled->break_count);
    ap_add_number_per(model, to, "graph_breaks_per_step", (double)(compiled->break_count),
                      (double)context->facts->steps.count);
    ap_add_time(model, to, "eager_between_us", compiled->eager_ns);
    ap_add_time(model, to, "outside_graphs_us", outside_graphs_ns(compiled));
    ap_add_count(model, to, "fx_graph_calls", (int64_t)compiled->graph_count);
    ap_add_count(model, to, "distinct_fx_graphs", (int64_t)compiled->distinct_graph_count);
    ap_add_count(model, to, "triton_kernels", (int64_t)compiled->triton_count);
    ap_add_time(model, to, "triton_dur_us", compiled->triton_ns);
    ap_add_quotient(model, to, "triton_time_ratio", (double)compiled->triton_ns,
                    compiled->kernel_ns > 0 ? (double)compiled->kernel_ns : 0);
    ap_add_count(model, to, "compile_rows", (int64_t)compiled->build_count);
    ap_add_time(model, to, "compile_us", compiled->build_ns);
    add_window_share(context, model, to, "compile_share_ratio", compiled->build_ns,
                     compiled->build_count + compiled->count + compiled->graph_count);
    ap_add_count(model, to, "guard_checks", (int64_t)compiled->guard_count);
    ap_add_time(model, to, "guard_us", compiled->guard_ns);
    add_window_share(context, model, to, "guard_share_ratio", compiled->guard_ns, compiled->guard_count);
    const struct ap_captures *captures = &context->facts->split.captures;
    ap_add_count(model, to, "graph_captures", (int64_t)captures->count);
    ap_add_time(model, to, "graph_capture_us", captures->total_ns);
}

/* ---- graphs that are captured again and again ---- */

static bool begins_capture(const struct ap_part_context *context, uint32_t row)
{
    return ap_text_contains_folded(ap_row_name(context->trace, row), "streambegincapture");
}

static bool replays_graph(const struct ap_part_context *context, uint32_t row)
{
    return ap_call_kind_of(&context->facts->calls, context->trace, row) == AP_CALL_graph_launch;
}

/* One piece of a program or one size after the other is captured and replayed, and from then on there are but replays. */
static bool is_start_of_graphs(const struct ap_part_context *context, size_t track)
{
    const struct ap_row_order *order = &context->facts->order;
    uint64_t before = 0, behind = 0; /* the last capture */
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = order->rows[i];
        if (!ap_row_is_of(context->trace, row, 1u << AP_KIND_runtime))
            continue;
        if (replays_graph(context, row)) {
            behind++;
        } else if (begins_capture(context, row)) {
            before += behind;
            behind = 0;
        }
    }
    return behind > before;
}

/* Captures behind replays, which are kept for no later call, each from the replay before it to the first one behind it. The
 * time of one that begins the recording is added too, where others follow. */
static int64_t find_captures_again(const struct ap_part_context *context, size_t track, struct ap_stretches *again)
{
    const struct ap_trace *trace = context->trace;
    const struct ap_row_order *order = &context->facts->order;
    int64_t replayed_ns = AP_START_UNKNOWN, from_ns = AP_START_UNKNOWN, count = 0;
    bool has_replayed = false;
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = order->rows[i];
        if (!ap_row_is_of(trace, row, 1u << AP_KIND_runtime))
            continue;
        if (replayed_ns == AP_START_UNKNOWN)
            replayed_ns = trace->events.start_ns[row];
        if (replays_graph(context, row)) {
            if (from_ns != AP_START_UNKNOWN)
                ap_stretches_add(again, context->gate, from_ns, trace->events.start_ns[row]);
            count += from_ns != AP_START_UNKNOWN && has_replayed;
            from_ns = AP_START_UNKNOWN;
            has_replayed = true;
            replayed_ns = ap_row_end_ns(trace, row);
        } else if (begins_capture(context, row)) {
            from_ns = replayed_ns;
        }
    }
    return count;
}

static enum ap_status add_captures_again(const struct ap_part_context *context, struct ap_model *model, struct ap_value *to,
                                         struct ap_error *reterr)
{
    struct ap_stretches again = { .list = NULL }, idle = { .list = NULL };
    int64_t count = 0;
    for (size_t track = 0; context->facts->split.captures.count && track < context->facts->order.track_count; track++)
        count += is_start_of_graphs(context, track) ? 0 : find_captures_again(context, track, &again);
    for (int cause = 0; count && cause < AP_IDLE_CAUSE_COUNT_; cause++)
        if (cause != AP_IDLE_not_recorded)
            ap_stretches_add_all(&idle, context->gate, &context->facts->split.of_cause[cause]);
    bool failed = again.failed || idle.failed;
    ap_add_count(model, to, "captures_again", count);
    ap_add_time(model, to, "captures_again_idle_us", failed || !count ? 0 : ap_stretches_overlap_ns(&again, &idle));
    ap_stretches_release(&again, context->gate);
    ap_stretches_release(&idle, context->gate);
    return failed ? ap_fail_memory(context->gate, reterr) : AP_OK;
}

/* ---- launches ---- */

static bool is_launch(const struct ap_part_context *context, uint32_t row)
{
    if (!ap_row_is_of(context->trace, row, 1u << AP_KIND_runtime))
        return false;
    enum ap_call_kind kind = ap_call_kind_of(&context->facts->calls, context->trace, row);
    return kind == AP_CALL_launch || kind == AP_CALL_graph_launch;
}

/* What is launched while a graph is captured does not run. */
static enum ap_status add_launches(struct ap_part_context *context, struct ap_model *model, struct ap_value *to,
                                   struct ap_error *reterr)
{
    const struct ap_links *links = &context->facts->links;
    struct ap_row_set launches;
    int64_t count = 0, without = 0;
    enum ap_status status = ap_row_set_init(&launches, context->gate, context->trace->events.count, reterr);
    for (size_t i = 0; i < links->count && status == AP_OK; i++)
        if (ap_launch_at(links, i) != AP_NO_ROW)
            (void)ap_row_set_add(&launches, ap_launch_at(links, i));
    for (uint32_t row = 0; row < context->trace->events.count && status == AP_OK; row++) {
        if (!is_launch(context, row))
            continue;
        count++;
        without += !ap_row_set_has(&launches, row);
    }
    ap_row_set_release(&launches);
    ap_add_count(model, to, "launches_without_work", without);
    ap_add_quotient(model, to, "launches_without_work_ratio", (double)without, (double)count);
    return status;
}

static enum ap_status add_all(struct ap_part_context *context, struct report *report, struct ap_model *model,
                              struct ap_value *parent, struct ap_error *reterr)
{
    struct versions versions;
    AP_TRY(find_versions(report, &versions, reterr));
    struct ap_value *to = ap_add_object(model, parent, "compile");
    add_figures(context, &report->compiled, &versions, model, to);
    AP_TRY(add_captures_again(context, model, to, reterr));
    AP_TRY(add_launches(context, model, to, reterr));
    return add_regions(report, context->options->top_n, model, to, reterr);
}

enum ap_status ap_part_compile(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                               struct ap_error *reterr)
{
    struct report report = { .trace = context->trace, .gate = context->gate, .compiled.gate = context->gate };
    enum ap_status status = ap_compiled_init(&report.compiled, context->trace, &context->facts->order, &context->facts->tree,
                                             &context->facts->links, context->gate, reterr);
    AP_AND_THEN(status, add_all(context, &report, model, parent, reterr));
    ap_note_overflow(context, report.overflowed || report.compiled.overflowed);
    AP_FREE(report.gate, report.sums, report.sum_capacity);
    ap_compiled_release(&report.compiled);
    return status;
}
