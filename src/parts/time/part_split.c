/* SPDX-License-Identifier: MIT
 * part_split.c - what the time of the window and of each step went into, and the gaps in which no device worked. */
#include <stdio.h>
#include <string.h>

#include "host_chain.h"
#include "part.h"
#include "sort.h"

#include "poison.h"

/* Work that follows on other work within less than this waited for nothing. */
#define LISTED_GAP_NS 1000

static const char *const class_keys[AP_SPLIT_CLASS_COUNT_][2] = {
    [AP_SPLIT_compute] = { "compute_us", "compute_ratio" },
    [AP_SPLIT_memset] = { "memset_us", "memset_ratio" },
    [AP_SPLIT_communication] = { "exposed_communication_us", "exposed_communication_ratio" },
    [AP_SPLIT_memcpy] = { "exposed_memcpy_us", "exposed_memcpy_ratio" },
};

static void add_classes(const struct ap_split_part *part, bool has_gpu, struct ap_model *model, struct ap_value *to)
{
    int64_t idle_ns = ap_split_idle_ns(part);
    double known_ns = has_gpu ? (double)part->dur_ns : 0;
    for (int i = 0; i < AP_SPLIT_CLASS_COUNT_; i++) {
        ap_add_known_time(model, to, class_keys[i][0], has_gpu, part->class_ns[i]);
        ap_add_quotient(model, to, class_keys[i][1], (double)part->class_ns[i], known_ns);
    }
    ap_add_known_time(model, to, "idle_us", has_gpu, idle_ns);
    ap_add_quotient(model, to, "idle_ratio", (double)idle_ns, known_ns);
}

static const char *const cause_keys[AP_IDLE_CAUSE_COUNT_][2] = {
#define AP_IDLE_CAUSE(id, sentence) { #id "_us", #id "_ratio" },
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
};

static void add_causes(const struct ap_split_part *part, struct ap_model *model, struct ap_value *to, const char *key)
{
    struct ap_value *causes = ap_add_object(model, to, key);
    for (int i = 0; i < AP_IDLE_CAUSE_COUNT_; i++) {
        ap_add_time(model, causes, cause_keys[i][0], part->cause_ns[i]);
        ap_add_quotient(model, causes, cause_keys[i][1], (double)part->cause_ns[i], (double)part->dur_ns);
    }
}

/* With GPU rows the causes divide the idle time, without any they divide all of it. */
static void add_part(const struct ap_split_part *part, bool has_gpu, struct ap_model *model, struct ap_value *to)
{
    ap_add_time(model, to, "dur_us", part->dur_ns);
    add_classes(part, has_gpu, model, to);
    add_causes(part, model, to, has_gpu ? "idle_causes" : "host_states");
    ap_add_null(model, to, has_gpu ? "host_states" : "idle_causes");
}

static void add_steps(struct ap_part_context *context, struct ap_model *model, struct ap_value *split)
{
    struct ap_value *list = ap_add_list(model, split, "steps");
    uint64_t limit = context->options->top_n ? context->options->top_n : context->facts->split.step_count;
    for (size_t i = 0; i < context->facts->split.step_count && i < limit; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", ap_row_name(context->trace, context->facts->steps.steps[i].row));
        ap_add_time(model, row, "start_us", context->facts->steps.steps[i].start_ns);
        ap_add_track(context->trace, context->trace->events.track[context->facts->steps.steps[i].row], model, row);
        ap_add_bool(model, row, "steady", ap_step_is_steady(&context->facts->steps.steps[i]));
        add_part(&context->facts->split.steps[i], context->facts->split.has_gpu, model, row);
    }
}

/* The host's own work is what the verdict sums up as the host. */
static void keep_times(const struct ap_split *split, struct ap_model *model)
{
    static const bool of_host[AP_IDLE_CAUSE_COUNT_] = {
        [AP_IDLE_host_python] = true,   [AP_IDLE_host_autograd] = true, [AP_IDLE_host_optimizer] = true,
        [AP_IDLE_host_operator] = true, [AP_IDLE_untraced] = true,
    };
    struct ap_stretches host = { .list = NULL };
    bool recurs = ap_split_judged(split)->recurring_call_ns > 0;
    for (int i = 0; split->has_gpu && i < AP_IDLE_CAUSE_COUNT_; i++) {
        char path[96];
        struct ap_stretches gaps = { .list = NULL };
        (void)snprintf(path, sizeof(path), "split.judged.idle_causes.%s_us", ap_idle_cause_name((enum ap_idle_cause)i));
        ap_stretches_add_all(&gaps, model->arena.gate, &split->of_cause[i]);
        if (of_host[i] || (recurs && i == AP_IDLE_driver_call))
            ap_stretches_add_all(&host, model->arena.gate, &gaps);
        ap_model_keep_time(model, path, &gaps);
    }
    if (split->has_gpu)
        ap_model_keep_time(model, "verdict.host", &host);
}

/* A cause that is there in each step idles devices in the judged part as everywhere; what only the start has is none of
 * it, nor what nobody recorded. */
static void add_like_this(const struct ap_part_context *context, const struct ap_split_part *judged, struct ap_model *model,
                          struct ap_value *to)
{
    int64_t lost_ns = judged->cause_ns[AP_IDLE_not_recorded], known_ns = judged->dur_ns - lost_ns;
    double ratio = known_ns > 0 ? (double)(ap_split_idle_ns(judged) - lost_ns) / (double)known_ns : 0;
    bool is_known = context->facts->split.has_gpu && judged->dur_ns > 0 && context->facts->window_ns >= lost_ns;
    ap_add_known_time(model, to, "like_this_idle_us", is_known, ap_share_of(context->facts->window_ns - lost_ns, ratio));
}

static void add_split(struct ap_part_context *context, struct ap_model *model, struct ap_value *root)
{
    const struct ap_split *split = &context->facts->split;
    const struct ap_split_part *judged = ap_split_judged(split);
    struct ap_value *to = ap_add_object(model, root, "split");
    ap_add_string(model, to, "basis", split->has_gpu ? "gpu" : "host");
    struct ap_value *window = ap_add_object(model, to, "window");
    ap_add_time(model, window, "start_us", split->start_ns);
    add_part(&split->window, split->has_gpu, model, window);
    if (split->steady_count) {
        struct ap_value *steady = ap_add_object(model, to, "steady");
        ap_add_count(model, steady, "steps", (int64_t)split->steady_count);
        add_part(&split->steady, split->has_gpu, model, steady);
    } else {
        ap_add_null(model, to, "steady");
    }
    struct ap_value *part = ap_add_object(model, to, "judged");
    ap_add_string(model, part, "part", judged == &split->steady ? "steady steps" : "window");
    add_part(judged, split->has_gpu, model, part);
    add_like_this(context, judged, model, part);
    add_steps(context, model, to);
    keep_times(split, model);
}

/* ---- gaps ---- */

static void add_gap_sum(int64_t of_ns, const struct ap_gap_sum *sum, const char *key, struct ap_model *model,
                        struct ap_value *idle)
{
    struct ap_value *to = ap_add_object(model, idle, key);
    ap_add_count(model, to, "count", (int64_t)sum->count);
    ap_add_time(model, to, "dur_us", sum->dur_ns);
    ap_add_quotient(model, to, "window_ratio", (double)sum->dur_ns, (double)of_ns);
}

static int64_t gap_ns(const struct ap_gap_detail *gap)
{
    return gap->end_ns - gap->start_ns;
}

static void add_gap(struct ap_part_context *context, const struct ap_gap_detail *gap, struct ap_model *model,
                    struct ap_value *list)
{
    enum ap_idle_cause cause = ap_split_top_cause(gap->cause_ns);
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_time(model, row, "start_us", gap->start_ns);
    ap_add_time(model, row, "dur_us", gap_ns(gap));
    ap_add_track(context->trace, gap->track, model, row);
    ap_add_string(model, row, "cause", ap_idle_cause_name(cause));
    ap_add_time(model, row, "cause_us", gap->cause_ns[cause]);
    ap_add_name(context->trace, model, row, "host_row", ap_row_name_id(context->trace, gap->host_row[cause]));
    int64_t host_ns = gap->host_row_ns[cause];
    ap_add_known_time(model, row, "host_row_us", gap->host_row[cause] != AP_NO_ROW,
                      host_ns < gap->cause_ns[cause] ? host_ns : gap->cause_ns[cause]);
    ap_add_name(context->trace, model, row, "next", ap_row_name_id(context->trace, gap->next));
}

/* Between two launches of eager code the host is in Python for tens of microseconds. Where it stays for half a millisecond
 * in one gap it does something else there than to launch, and cheaper launches would not help. */
#define PAUSE_NS 500000

/* Compiled code checks its arguments, hundreds of them one by one, and launches: that is no Python of the program. */
static bool is_in_compiled(const struct ap_part_context *context, const struct ap_gap_detail *gap)
{
    const struct ap_trace *trace = context->trace;
    const struct ap_row_order *order = &context->facts->order;
    uint32_t track = context->facts->main_track;
    int64_t middle_ns = gap->start_ns + gap_ns(gap) / 2;
    if (track >= order->track_count)
        return false;
    size_t first = order->track_start[track], count = order->track_start[track + 1] - first, before = 0;
    AP_BISECT(before, count, at, trace->events.start_ns[order->rows[first + at]] <= middle_ns);
    uint32_t row = before ? order->rows[first + before - 1] : AP_NO_ROW;
    for (int depth = 0; row != AP_NO_ROW && depth < AP_NESTING_MAX;
         depth++, row = ap_host_parent(&context->facts->tree, row))
        if (ap_row_end_ns(trace, row) > middle_ns &&
            ap_text_starts_with(ap_strpool_text(&trace->strings, (struct ap_str){ trace->events.name[row] }),
                                "Torch-Compiled Region"))
            return true;
    return false;
}

/* Does the operator that the host was in longest launch nothing? Then it computes on the host, or, of torch.distributed,
 * waits for other ranks; else it launches slowly. */
#define LOOKED_AT_MAX 10000
#define COMPUTES_NS 100000 /* views and the like take microseconds, however many there are */
static bool computes_on_host(const struct ap_part_context *context, const struct ap_gap_detail *gap)
{
    const struct ap_trace *trace = context->trace;
    const struct ap_row_order *order = &context->facts->order;
    uint32_t row = gap->host_row[AP_IDLE_host_operator];
    if (row == AP_NO_ROW || trace->events.dur_ns[row] < COMPUTES_NS ||
        ap_text_contains_folded(ap_row_name(trace, row), "c10d"))
        return false;
    uint32_t track = trace->events.track[row];
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    size_t first = order->track_start[track], count = order->track_start[track + 1] - first, before = 0;
    AP_BISECT(before, count, at, trace->events.start_ns[order->rows[first + at]] < start_ns);
    for (size_t i = before; i < count && i < before + LOOKED_AT_MAX; i++) {
        if (trace->events.start_ns[order->rows[first + i]] >= end_ns)
            return true;
        if (ap_row_is_of(trace, order->rows[first + i], 1u << AP_KIND_runtime))
            return false;
    }
    return before + LOOKED_AT_MAX > count;
}

/* Steps that are judged may begin before the first row of the devices: what the host did there is a pause, too. */
static bool is_pause(const struct ap_part_context *context, const struct ap_gap_detail *gap, enum ap_idle_cause cause)
{
    const struct ap_split *split = &context->facts->split;
    bool in_window = gap->start_ns >= split->start_ns && gap->end_ns <= split->end_ns;
    return gap->cause_ns[cause] >= PAUSE_NS && ap_split_top_cause(gap->cause_ns) == cause &&
           (in_window || ap_split_judged(split) == &split->steady) && !is_in_compiled(context, gap) &&
           (cause != AP_IDLE_host_operator || computes_on_host(context, gap));
}

static void add_pauses(const struct ap_part_context *context, enum ap_idle_cause cause, const char *path,
                       struct ap_model *model, struct ap_value *idle)
{
    const struct ap_split *split = &context->facts->split;
    struct ap_gap_sum sum = { .count = 0 };
    struct ap_stretches time = { .list = NULL };
    for (size_t i = 0; i < split->detail_count; i++) {
        const struct ap_gap_detail *gap = &split->details[i];
        if (!is_pause(context, gap, cause))
            continue;
        sum.count++;
        sum.dur_ns += gap->cause_ns[cause];
        ap_stretches_add(&time, model->arena.gate, gap->start_ns, gap->end_ns);
    }
    int64_t judged_ns = ap_split_judged(split)->dur_ns, window_ns = split->window.dur_ns;
    add_gap_sum(judged_ns > window_ns ? judged_ns : window_ns, &sum, strrchr(path, '.') + 1, model, idle);
    ap_model_keep_time(model, path, &time);
}

/* What the host was in in the pauses, by name. */
struct paused {
    uint32_t name, row; /* the first one */
    int64_t count, dur_ns;
};

static inline bool is_named_before(const void *context, uint32_t a, uint32_t b)
{
    const struct paused *paused = context;
    AP_SMALLER_FIRST(paused[a].name, paused[b].name);
    return a < b;
}

static bool is_longer(const void *context, uint32_t a, uint32_t b)
{
    const struct paused *paused = context;
    AP_LARGER_FIRST(paused[a].dur_ns, paused[b].dur_ns);
    return a < b;
}

/* All functions that the host was in for long, of each pause in Python: one that prepares an input is made of several. Of an
 * operator, which must launch nothing, the longest. */
static size_t list_pauses(const struct ap_part_context *context, enum ap_idle_cause cause, struct paused *paused)
{
    const struct ap_split *split = &context->facts->split;
    bool python = cause == AP_IDLE_host_python, is_in_pause = false;
    size_t kept = 0, count = python ? split->named_count : split->detail_count, last = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t detail = python ? split->named[i].detail : i;
        const struct ap_gap_detail *gap = &split->details[detail];
        uint32_t row = python ? split->named[i].row : gap->host_row[cause];
        int64_t host_ns = python ? split->named[i].dur_ns : gap->host_row_ns[cause], cause_ns = gap->cause_ns[cause];
        is_in_pause = detail == last ? is_in_pause : is_pause(context, gap, cause);
        last = detail;
        if (is_in_pause && row != AP_NO_ROW)
            paused[kept++] =
                (struct paused){ ap_row_name_id(context->trace, row), row, 1, host_ns < cause_ns ? host_ns : cause_ns };
    }
    return kept;
}

/* Those of one name are summed up in the first of them. */
static enum ap_status name_pauses(const struct ap_part_context *context, enum ap_idle_cause cause, struct paused *paused,
                                  size_t *ret_count, struct ap_error *reterr)
{
    uint32_t *order, count = (uint32_t)list_pauses(context, cause, paused), kept = 0;
    AP_TRY(AP_ALLOC(context->gate, order, count + 1, reterr));
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    enum ap_status status = ap_sort_list(context->gate, order, count, is_named_before, paused, reterr);
    for (uint32_t i = 0, first = 0; i < count && status == AP_OK; i++) {
        first = i && paused[order[i]].name == paused[order[first]].name ? first : i;
        if (first == i)
            continue;
        paused[order[first]].count++;
        paused[order[first]].dur_ns += paused[order[i]].dur_ns;
        paused[order[i]].count = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        if (paused[i].count)
            paused[kept++] = paused[i];
    AP_FREE(context->gate, order, count + 1);
    *ret_count = kept;
    return status;
}

/* The program's line that calls the operator. */
static enum ap_status add_line(struct ap_part_context *context, uint32_t row, struct ap_model *model, struct ap_value *to,
                               struct ap_error *reterr)
{
    struct ap_host_chains chains;
    enum ap_status status = ap_host_chains_init(&chains, context->trace, &context->facts->tree, context->gate, reterr);
    uint32_t line = status == AP_OK ? ap_host_chain_of(&chains, row).line : AP_NO_ROW;
    ap_add_name(context->trace, model, to, "line", line == AP_NO_ROW ? 0 : ap_row_name_id(context->trace, line));
    ap_host_chains_release(&chains);
    return status;
}

static enum ap_status add_paused_in(struct ap_part_context *context, enum ap_idle_cause cause, struct ap_model *model,
                                    struct ap_value *list, struct ap_error *reterr)
{
    const struct ap_split *split = &context->facts->split;
    size_t all = split->detail_count + split->named_count + 1, count = 0, shown = 0;
    struct paused *paused;
    uint32_t *order = NULL;
    AP_TRY(AP_ALLOC(context->gate, paused, all, reterr));
    enum ap_status status = name_pauses(context, cause, paused, &count, reterr);
    AP_AND_THEN(status, ap_top_indices(context->gate, (uint32_t)count, (size_t)context->options->top_n, is_longer, paused,
                                       &order, &shown, reterr));
    for (size_t i = 0; i < shown && status == AP_OK; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_name(context->trace, model, row, "name", paused[order[i]].name);
        if (cause == AP_IDLE_host_operator)
            AP_AND_THEN(status, add_line(context, paused[order[i]].row, model, row, reterr));
        ap_add_count(model, row, "count", paused[order[i]].count);
        ap_add_time(model, row, "dur_us", paused[order[i]].dur_ns);
    }
    if (status == AP_OK)
        AP_FREE(context->gate, order, shown);
    AP_FREE(context->gate, paused, all);
    return status;
}

static enum ap_status add_idle(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                               struct ap_error *reterr)
{
    const struct ap_split *split = &context->facts->split;
    if (!split->has_gpu) {
        ap_add_null(model, root, "idle");
        return AP_OK;
    }
    struct ap_value *idle = ap_add_object(model, root, "idle");
    ap_add_count(model, idle, "gap_count", (int64_t)split->gap_sums[AP_GAPS_ALL].count);
    ap_add_time(model, idle, "dur_us", ap_split_idle_ns(&split->window));
    ap_add_time(model, idle, "longest_us", split->detail_count ? gap_ns(&split->details[0]) : 0);
    add_gap_sum(split->window.dur_ns, &split->gap_sums[AP_GAPS_OVER_10_US], "over_10us", model, idle);
    add_gap_sum(split->window.dur_ns, &split->gap_sums[AP_GAPS_OVER_100_US], "over_100us", model, idle);
    add_gap_sum(split->window.dur_ns, &split->gap_sums[AP_GAPS_OVER_1_MS], "over_1ms", model, idle);
    add_pauses(context, AP_IDLE_host_python, "idle.python_pauses", model, idle);
    AP_TRY(add_paused_in(context, AP_IDLE_host_python, model, ap_add_list(model, idle, "paused_in"), reterr));
    add_pauses(context, AP_IDLE_host_operator, "idle.operator_pauses", model, idle);
    AP_TRY(add_paused_in(context, AP_IDLE_host_operator, model, ap_add_list(model, idle, "computed_on_host"), reterr));
    add_pauses(context, AP_IDLE_untraced, "idle.unrecorded_pauses", model, idle);
    struct ap_value *list = ap_add_list(model, idle, "gaps");
    uint64_t limit = context->options->top_n ? context->options->top_n : split->detail_count;
    for (size_t i = 0; i < split->detail_count && i < limit && gap_ns(&split->details[i]) >= LISTED_GAP_NS; i++)
        add_gap(context, &split->details[i], model, list);
    return AP_OK;
}

enum ap_status ap_part_split(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                             struct ap_error *reterr)
{
    if (!ap_split_judged(&context->facts->split)->dur_ns) {
        ap_add_null(model, root, "split");
        ap_add_null(model, root, "idle");
        return AP_OK;
    }
    add_split(context, model, root);
    return add_idle(context, model, root, reterr);
}
