/* SPDX-License-Identifier: MIT */
#include "picture_rows.h"
#include "sort.h"

#include "poison.h"

#define LEAST_PART 20 /* a gap that is less than one in so many of what is shown is not what to look at */

static bool shorter_step(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_steps *steps = context;
    const struct ap_step *x = &steps->steps[a], *y = &steps->steps[b];
    if (ap_step_is_steady(x) != ap_step_is_steady(y))
        return ap_step_is_steady(x);
    int64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;
    return x_ns != y_ns ? x_ns < y_ns : a < b;
}

/* The median of the steady ones, of all where none is steady. */
static enum ap_status median_step(const struct ap_part_context *context, const struct ap_step **ret_step,
                                  struct ap_error *reterr)
{
    const struct ap_steps *steps = &context->facts->steps;
    uint32_t *order;
    size_t count, steady = 0;
    *ret_step = NULL;
    for (size_t i = 0; i < steps->count; i++)
        steady += ap_step_is_steady(&steps->steps[i]);
    AP_TRY(ap_top_indices(context->gate, (uint32_t)steps->count, 0, shorter_step, steps, &order, &count, reterr));
    if (count)
        *ret_step = &steps->steps[order[((steady ? steady : count) - 1) / 2]];
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

const struct ap_value *ap_picture_place(const struct ap_value *finding)
{
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    const struct ap_value *start = ap_value_member(place, "start_us"), *dur = ap_value_member(place, "dur_us");
    bool placed = start && start->type == AP_VALUE_TIME_NS && dur && dur->type == AP_VALUE_TIME_NS && dur->as.integer > 0;
    return placed && !ap_text_is(ap_value_text(ap_value_member(finding, "severity")), "info") ? place : NULL;
}

/* What the weightiest finding points at, where that is within the recording. */
static void find_place(const struct ap_trace *trace, const struct ap_model *model, struct ap_picture_view *view)
{
    const struct ap_value *finding = ap_value_first(ap_value_member(&model->root, "findings"));
    while (finding && ap_text_is(ap_value_text(ap_value_member(finding, "severity")), "info"))
        finding = finding->next;
    const struct ap_value *place = ap_picture_place(finding);
    int64_t start_ns = ap_value_integer(ap_value_member(place, "start_us"), 0);
    int64_t dur_ns = ap_value_integer(ap_value_member(place, "dur_us"), 0);
    if (!place || start_ns < trace->window_start_ns || start_ns > trace->window_end_ns ||
        dur_ns > trace->window_end_ns - start_ns)
        return;
    view->finding = finding;
    view->place = place;
}

/* The step in which most of the place lies; NULL where it lies in none, or is longer than it. */
static const struct ap_step *step_of(const struct ap_steps *steps, const struct ap_value *place)
{
    int64_t start_ns = ap_value_integer(ap_value_member(place, "start_us"), 0);
    int64_t dur_ns = ap_value_integer(ap_value_member(place, "dur_us"), 0), middle_ns = start_ns + dur_ns / 2;
    for (size_t i = 0; place && i < steps->count; i++)
        if (steps->steps[i].start_ns <= middle_ns && middle_ns < steps->steps[i].end_ns)
            return dur_ns <= steps->steps[i].end_ns - steps->steps[i].start_ns ? &steps->steps[i] : NULL;
    return NULL;
}

/* The longest of those that touch what is shown; they are in order of length. */
static const struct ap_gap_detail *longest_gap(const struct ap_split *split, const struct ap_picture_view *view)
{
    for (size_t i = 0; split->has_gpu && i < split->detail_count; i++) {
        const struct ap_gap_detail *gap = &split->details[i];
        if (gap->start_ns < view->end_ns && gap->end_ns > view->start_ns)
            return gap->end_ns - gap->start_ns >= (view->end_ns - view->start_ns) / LEAST_PART ? gap : NULL;
    }
    return NULL;
}

enum ap_status ap_picture_view_choose(const struct ap_part_context *context, const struct ap_model *model,
                                      struct ap_picture_view *ret_view, struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    struct ap_picture_view view = { .start_ns = trace->window_start_ns,
                                    .end_ns = trace->window_end_ns,
                                    .step_row = AP_NO_ROW };
    const struct ap_step *median, *step;
    AP_TRY(median_step(context, &median, reterr));
    find_place(trace, model, &view);
    step = step_of(&context->facts->steps, view.place);
    view.about = step ? "the step that the first finding points into" : median ? "the median step" : "the whole recording";
    step = step ? step : median;
    if (step && step->end_ns > step->start_ns) {
        view.start_ns = step->start_ns;
        view.end_ns = step->end_ns;
        view.step_row = step->row;
    }
    int64_t place_ns = ap_value_integer(ap_value_member(view.place, "start_us"), 0);
    if (place_ns >= view.end_ns || place_ns + ap_value_integer(ap_value_member(view.place, "dur_us"), 0) <= view.start_ns)
        view.finding = view.place = NULL; /* the reader goes there by choosing it */
    view.gap = longest_gap(&context->facts->split, &view);
    *ret_view = view;
    return AP_OK;
}
