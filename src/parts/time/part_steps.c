/* SPDX-License-Identifier: MIT
 * part_steps.c - the baseline: how long steps take, which of them count, and how far that can be trusted. */
#include <math.h>
#include <stdio.h>

#include "part.h"
#include "quantile.h"
#include "step_warmup.h"
#include "stretches.h"

#include "poison.h"

#define STEADY_NEEDED 3
#define LONGER_THAN_MEDIAN 1.2 /* so much longer a step stands out */

/* A percentile is given from as many steps on as it needs to differ from an end of the range. */
static const struct {
    const char *key, *name;
    unsigned percent, needed;
} percentiles[] = {
    { "p50_us", "p50", 50, 2 }, { "p90_us", "p90", 90, 10 }, { "p95_us", "p95", 95, 20 }, { "p99_us", "p99", 99, 100 }
};

/* ---- a set of durations ---- */

struct durations {
    int64_t *dur_ns; /* in order of time until the percentiles are asked for */
    size_t count;
    int64_t total_ns;
};

static void add_spread(struct ap_model *model, struct ap_value *parent, const struct durations *durations)
{
    double mean_ns = (double)durations->total_ns / (double)durations->count, squares = 0;
    int64_t min_ns = durations->dur_ns[0], max_ns = durations->dur_ns[0];
    for (size_t i = 0; i < durations->count; i++) {
        int64_t dur_ns = durations->dur_ns[i];
        double off_ns = (double)dur_ns - mean_ns;
        squares += off_ns * off_ns;
        min_ns = dur_ns < min_ns ? dur_ns : min_ns;
        max_ns = dur_ns > max_ns ? dur_ns : max_ns;
    }
    double std_ns = sqrt(squares / (double)durations->count);
    ap_add_time(model, parent, "mean_us", ap_mean(durations->total_ns, durations->count));
    bool vary = durations->count > 1; /* one alone has no spread */
    ap_add_known_time(model, parent, "std_us", vary, (int64_t)llround(std_ns));
    ap_add_quotient(model, parent, "cv_ratio", std_ns, vary ? mean_ns : 0);
    ap_add_time(model, parent, "min_us", min_ns);
    ap_add_time(model, parent, "max_us", max_ns);
}

/* Of all steps, or of the steady ones: a step that the recording cuts off is no measure. */
static void add_first(const struct ap_steps *steps, struct ap_model *model, struct ap_value *parent,
                      const struct durations *durations, bool with_excess)
{
    size_t count = durations->count - (with_excess && steps->steps[steps->count - 1].cut);
    if (count < 2 || (with_excess && steps->steps[0].cut)) {
        ap_add_null(model, parent, "cold_start_ratio");
        if (with_excess)
            ap_add_null(model, parent, "first_excess_us");
        return;
    }
    int64_t first_ns = durations->dur_ns[0], median_ns = ap_quantile(durations->dur_ns + 1, count - 1, 50);
    ap_add_quotient(model, parent, "cold_start_ratio", (double)first_ns, (double)median_ns);
    if (with_excess)
        ap_add_time(model, parent, "first_excess_us", first_ns > median_ns ? first_ns - median_ns : 0);
}

static void add_percentile_note(struct ap_model *model, struct ap_value *parent, size_t count)
{
    char text[160];
    int used = snprintf(text, sizeof(text), "too few steps (%zu) for", count);
    bool any = false;
    for (size_t i = 0; i < AP_COUNT_OF(percentiles) && used > 0 && (size_t)used < sizeof(text); i++)
        if (count < percentiles[i].needed) {
            used += snprintf(text + used, sizeof(text) - (size_t)used, "%s %s (needs %u)", any ? "," : "",
                             percentiles[i].name, percentiles[i].needed);
            any = true;
        }
    ap_add_known_string(model, parent, "percentile_note", any, text);
}

static void add_percentiles(struct ap_model *model, struct ap_value *parent, const struct durations *durations)
{
    for (size_t i = 0; i < AP_COUNT_OF(percentiles); i++) {
        if (durations->count < percentiles[i].needed)
            ap_add_null(model, parent, percentiles[i].key);
        else
            ap_add_time(model, parent, percentiles[i].key,
                        ap_quantile(durations->dur_ns, durations->count, percentiles[i].percent));
    }
    add_percentile_note(model, parent, durations->count);
}

static void add_source(struct ap_model *model, struct ap_value *parent, const struct ap_steps *steps)
{
    char text[AP_STEP_FAMILY_BYTES + 40];
    (void)snprintf(text, sizeof(text), "%s%s%s", steps->source, steps->family[0] ? " " : "", steps->family);
    ap_add_text(model, parent, "source", ap_text_of(text));
}

static void add_durations(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                          const struct durations *durations, bool with_excess)
{
    add_source(model, parent, &context->facts->steps);
    ap_add_count(model, parent, "count", (int64_t)durations->count);
    ap_add_time(model, parent, "total_us", durations->total_ns);
    add_spread(model, parent, durations);
    add_first(&context->facts->steps, model, parent, durations, with_excess);
    add_percentiles(model, parent, durations);
}

/* ---- all steps, and the steady ones ---- */

static void take_durations(struct ap_part_context *context, bool steady_only, struct durations *durations)
{
    const struct ap_steps *steps = &context->facts->steps;
    bool overflowed = false;
    durations->count = 0;
    durations->total_ns = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (steady_only && !ap_step_is_steady(&steps->steps[i]))
            continue;
        int64_t dur_ns = ap_step_dur_ns(steps, context->trace, i);
        durations->dur_ns[durations->count++] = dur_ns;
        durations->total_ns = ap_add_sat(durations->total_ns, dur_ns, &overflowed);
    }
    ap_note_overflow(context, overflowed);
}

static void add_named_place(const struct ap_part_context *context, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_steps *steps = &context->facts->steps;
    uint32_t row = steps->steps[index].row;
    ap_add_text(model, to, "name", ap_row_name(context->trace, row));
    ap_add_time(model, to, "start_us", context->trace->events.start_ns[row]);
    ap_add_time(model, to, "dur_us", ap_step_dur_ns(steps, context->trace, index));
    ap_add_track(context->trace, context->trace->events.track[row], model, to);
}

static size_t longest_steady(const struct ap_part_context *context)
{
    const struct ap_steps *steps = &context->facts->steps;
    size_t longest = 0;
    int64_t longest_ns = -1;
    for (size_t i = 0; i < steps->count; i++) {
        int64_t dur_ns = ap_step_is_steady(&steps->steps[i]) ? ap_step_dur_ns(steps, context->trace, i) : -1;
        longest = dur_ns > longest_ns ? i : longest;
        longest_ns = dur_ns > longest_ns ? dur_ns : longest_ns;
    }
    return longest;
}

/* Where the steady steps lie that take much longer than their median. */
static void keep_longer(struct ap_part_context *context, int64_t median_ns, struct ap_model *model)
{
    const struct ap_steps *steps = &context->facts->steps;
    struct ap_stretches longer = { .list = NULL };
    for (size_t i = 0; i < steps->count; i++) {
        int64_t dur_ns = ap_step_is_steady(&steps->steps[i]) ? ap_step_dur_ns(steps, context->trace, i) : 0;
        int64_t start_ns = context->trace->events.start_ns[steps->steps[i].row];
        if ((double)dur_ns > LONGER_THAN_MEDIAN * (double)median_ns)
            ap_stretches_add(&longer, context->gate, start_ns, ap_add_sat(start_ns, dur_ns, &context->overflowed));
    }
    ap_model_keep_time(model, "steps.steady", &longer);
}

/* The median of the steady steps even where it is the only one; -1 = there is none. */
static int64_t add_steady(struct ap_part_context *context, struct ap_model *model, struct ap_value *steps,
                          struct durations *durations)
{
    take_durations(context, true, durations);
    if (!durations->count) {
        ap_add_null(model, steps, "steady");
        return -1;
    }
    struct ap_value *steady = ap_add_object(model, steps, "steady");
    add_durations(context, model, steady, durations, false);
    add_named_place(context, longest_steady(context), model, ap_add_object(model, steady, "longest"));
    int64_t median_ns = ap_quantile(durations->dur_ns, durations->count, 50);
    keep_longer(context, median_ns, model);
    return median_ns;
}

/* ---- how far to trust them ---- */

/* Of "ProfilerStep#12"; the first two of a run are 0 and 1. */
static bool is_first_of_run(struct ap_text name)
{
    size_t digits = name.bytes;
    while (digits && ap_is_digit(name.data[digits - 1]))
        digits--;
    return name.bytes == digits + 1 && (name.data[digits] == '0' || name.data[digits] == '1');
}

static void add_quality(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                        size_t steady_count)
{
    const struct ap_steps *steps = &context->facts->steps;
    const struct ap_step *first = &steps->steps[0], *last = &steps->steps[steps->count - 1];
    bool is_profiler = ap_text_is(ap_text_of(steps->source), "ProfilerStep");
    bool starts_run = is_profiler && is_first_of_run(ap_row_name(context->trace, first->row));
    struct ap_value *quality = ap_add_object(model, parent, "quality");
    ap_add_known_bool(model, quality, "starts_with_first_step", is_profiler, starts_run);
    ap_add_bool(model, quality, "first_step_cut", first->cut && steps->count > 1);
    ap_add_bool(model, quality, "last_step_cut", last->cut);
    ap_add_bool(model, quality, "too_short", steady_count < STEADY_NEEDED);
    ap_add_count(model, quality, "overlapping_count", (int64_t)steps->overlapping_count);
    const struct {
        bool holds;
        const char *text;
    } notes[] = {
        { !is_profiler, "The trace has no ProfilerStep marks; what stands in for a step may be less or more than one." },
        { starts_run, "The recording begins with the first steps of the run: start-up work may be in them." },
        { first->cut && steps->count > 1, "The recording begins within the first step." },
        { last->cut, "The last step is cut: the recording ends within it." },
        { steady_count < STEADY_NEEDED, "Fewer than 3 steady steps: averages say little." },
        { steps->overlapping_count > 0, "Marks that overlap others (nested, or of another thread) are left out." },
    };
    struct ap_value *list = ap_add_list(model, quality, "notes");
    for (size_t i = 0; i < AP_COUNT_OF(notes); i++)
        if (notes[i].holds)
            ap_add_string(model, list, NULL, notes[i].text);
}

static void add_rows(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent)
{
    const struct ap_steps *steps = &context->facts->steps;
    struct ap_value *list = ap_add_list(model, parent, "rows");
    uint64_t limit = context->options->top_n ? context->options->top_n : steps->count;
    for (size_t i = 0; i < steps->count && i < limit; i++) {
        const struct ap_step *step = &steps->steps[i];
        struct ap_value *row = ap_add_object(model, list, NULL);
        add_named_place(context, i, model, row);
        ap_add_bool(model, row, "cold", step->cold);
        ap_add_bool(model, row, "cut", step->cut);
        ap_add_bool(model, row, "steady", ap_step_is_steady(step));
    }
}

enum ap_status ap_part_steps(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                             struct ap_error *reterr)
{
    size_t step_count = context->facts->steps.count;
    if (!step_count) {
        ap_add_null(model, root, "steps");
        return AP_OK;
    }
    struct durations durations = { NULL, 0, 0 };
    AP_TRY(AP_ALLOC(context->gate, durations.dur_ns, step_count, reterr));
    struct ap_value *steps = ap_add_object(model, root, "steps");
    take_durations(context, false, &durations);
    add_durations(context, model, steps, &durations, true);
    int64_t median_ns = add_steady(context, model, steps, &durations);
    enum ap_status status = ap_step_warmup_add(context, median_ns, model, steps, reterr);
    add_quality(context, model, steps, durations.count);
    add_rows(context, model, steps);
    AP_FREE(context->gate, durations.dur_ns, step_count);
    return status;
}
