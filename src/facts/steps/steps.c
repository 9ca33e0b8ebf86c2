/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include <string.h>

#include "quantile.h"
#include "sort.h"
#include "step_source.h"

#include "poison.h"

/* ---- the list ---- */

/* Steps do not overlap: a row of which an earlier one covers more than half is left out (nested, or the step of another
 * thread); one that begins a little too early, as times that were rounded apart have it, loses that part. */
static void add_row(struct ap_steps *steps, const struct ap_trace *trace, uint32_t row)
{
    int64_t start_ns = trace->events.start_ns[row], dur_ns = trace->events.dur_ns[row], end_ns = start_ns + dur_ns;
    if (steps->count && start_ns < steps->steps[steps->count - 1].end_ns) {
        int64_t covered_ns = steps->steps[steps->count - 1].end_ns - start_ns;
        if (covered_ns > dur_ns / 2) {
            steps->overlapping_count++;
            return;
        }
        start_ns += covered_ns;
    }
    steps->steps[steps->count++] = (struct ap_step){ .start_ns = start_ns, .end_ns = end_ns, .row = row };
}

static void add_periods(struct ap_steps *steps, const struct ap_trace *trace, const struct ap_step_source *source)
{
    for (size_t i = 0; i + 1 < source->count; i++)
        steps->steps[steps->count++] = (struct ap_step){ .start_ns = trace->events.start_ns[source->rows[i]],
                                                         .end_ns = trace->events.start_ns[source->rows[i + 1]],
                                                         .row = source->rows[i] };
}

/* ---- cut and cold ones ---- */

struct marking {
    struct ap_steps *steps;
    const struct ap_trace *trace;
    int64_t *scratch_ns; /* room for one figure for each step */
};

static int64_t dur_of(const struct marking *marking, size_t index)
{
    return ap_step_dur_ns(marking->steps, marking->trace, index);
}

/* Of the steps from @first on that are not cut; -1 = there are none. */
static int64_t median_of(struct marking *marking, size_t first)
{
    size_t count = 0;
    for (size_t i = first; i < marking->steps->count; i++)
        if (!marking->steps->steps[i].cut)
            marking->scratch_ns[count++] = dur_of(marking, i);
    return count ? ap_quantile(marking->scratch_ns, count, 50) : -1;
}

/* Of all but one that are not cut; -1 = there are none. A median would call a short step of a loop with long and short
 * ones cut. */
static int64_t shortest_but(const struct marking *marking, size_t but)
{
    int64_t shortest_ns = -1;
    for (size_t i = 0; i < marking->steps->count; i++)
        if (i != but && !marking->steps->steps[i].cut && (shortest_ns < 0 || dur_of(marking, i) < shortest_ns))
            shortest_ns = dur_of(marking, i);
    return shortest_ns;
}

static bool begins_operator(const struct marking *marking, const struct ap_step *step)
{
    const struct ap_events *events = &marking->trace->events;
    for (size_t row = 0; row < events->count; row++)
        if (ap_row_kind(events->tag[row]) == AP_KIND_operator && row != step->row &&
            events->start_ns[row] >= step->start_ns && events->start_ns[row] < step->end_ns)
            return true;
    return false;
}

static bool is_last_cut(const struct marking *marking)
{
    const struct ap_steps *steps = marking->steps;
    size_t last = steps->count - 1;
    if (!marking->trace->complete)
        return true;
    if (steps->periods || steps->count == 1)
        return false;
    if (steps->count == 2) /* the first one may as well be long */
        return begins_operator(marking, &steps->steps[0]) && !begins_operator(marking, &steps->steps[1]);
    return dur_of(marking, last) < shortest_but(marking, last) / 2;
}

/* A first step begins with the recording where less than a twentieth of a step lies before it. */
static bool is_first_cut(const struct marking *marking)
{
    const struct ap_steps *steps = marking->steps;
    if (steps->periods || steps->count < 3 || !marking->trace->has_window)
        return false;
    int64_t shortest_ns = shortest_but(marking, 0);
    return dur_of(marking, 0) < shortest_ns / 2 &&
           steps->steps[0].start_ns - marking->trace->window_start_ns <= shortest_ns / 20;
}

/* In a stretch of a longer recording those at its edges go on outside. */
static void mark_cut_by_slice(const struct marking *marking)
{
    const struct ap_trace *trace = marking->trace;
    for (size_t i = 0; trace->is_slice && i < marking->steps->count; i++) {
        struct ap_step *step = &marking->steps->steps[i];
        step->cut |= step->start_ns <= trace->slice_start_ns || step->end_ns >= trace->slice_end_ns;
    }
}

static bool is_long(int64_t dur_ns, int64_t median_ns)
{
    return median_ns >= 0 && (double)dur_ns > 1.5 * (double)median_ns;
}

/* Where a third of the steps of the second half is about as long as the first one, the loop has long and short ones. */
static bool comes_again(const struct marking *marking)
{
    const struct ap_steps *steps = marking->steps;
    size_t all = 0, as_long = 0;
    for (size_t i = (steps->count + 1) / 2; i < steps->count; i++) {
        if (steps->steps[i].cut)
            continue;
        all++;
        as_long += (double)dur_of(marking, i) > 0.8 * (double)dur_of(marking, 0);
    }
    return as_long && 3 * as_long >= all;
}

/* Those right behind a cold one are held against the second half of the steps, which has settled if any has. */
static void mark_cold(struct marking *marking)
{
    struct ap_steps *steps = marking->steps;
    if (steps->count < 3 || steps->steps[0].cut || !is_long(dur_of(marking, 0), median_of(marking, 1)) ||
        comes_again(marking))
        return;
    int64_t settled_ns = median_of(marking, (steps->count + 1) / 2);
    steps->steps[0].cold = true;
    for (size_t i = 1; i < steps->count / 2 && is_long(dur_of(marking, i), settled_ns); i++)
        steps->steps[i].cold = true;
}

static enum ap_status mark_steps(struct ap_steps *steps, const struct ap_trace *trace, struct ap_error *reterr)
{
    struct marking marking = { steps, trace, NULL };
    AP_TRY(AP_ALLOC(steps->gate, marking.scratch_ns, steps->count, reterr));
    steps->steps[steps->count - 1].cut = is_last_cut(&marking);
    if (is_first_cut(&marking))
        steps->steps[0].cut = true;
    mark_cut_by_slice(&marking);
    mark_cold(&marking);
    AP_FREE(steps->gate, marking.scratch_ns, steps->count);
    return AP_OK;
}

static enum ap_status fill(struct ap_steps *steps, const struct ap_trace *trace, const struct ap_step_source *source,
                           struct ap_error *reterr)
{
    if (!source->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(steps->gate, steps->steps, source->count, reterr));
    steps->capacity = source->count;
    steps->source = source->source;
    steps->periods = source->periods;
    memcpy(steps->family, source->family, sizeof(steps->family));
    if (source->periods)
        add_periods(steps, trace, source);
    for (size_t i = 0; i < source->count && !source->periods; i++)
        add_row(steps, trace, source->rows[i]);
    return mark_steps(steps, trace, reterr);
}

enum ap_status ap_steps_init(struct ap_steps *steps, const struct ap_trace *trace, const struct ap_row_order *order,
                             struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_step_source source;
    *steps = (struct ap_steps){ .gate = gate };
    enum ap_status status = ap_step_source_init(&source, trace, order, gate, reterr);
    AP_AND_THEN(status, fill(steps, trace, &source, reterr));
    ap_step_source_release(&source);
    return status;
}

void ap_steps_release(struct ap_steps *steps)
{
    AP_FREE(steps->gate, steps->steps, steps->capacity);
    steps->steps = NULL;
    steps->count = steps->capacity = 0;
    steps->source = NULL;
}

size_t ap_step_after(const struct ap_steps *steps, int64_t at_ns)
{
    size_t low = 0;
    AP_BISECT(low, steps->count, at, steps->steps[at].end_ns <= at_ns);
    return low;
}

size_t ap_step_at(const struct ap_steps *steps, int64_t at_ns)
{
    size_t after = ap_step_after(steps, at_ns);
    return after < steps->count && steps->steps[after].start_ns <= at_ns ? after : steps->count;
}
