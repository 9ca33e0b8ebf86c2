/* SPDX-License-Identifier: MIT */
#include "join_curve.h"

#include <string.h>

#include "snapshot_state.h"

#include "poison.h"

#define TRACKS 8 /* the main thread and those of autograd, one a device: more are left out */

struct cursor {
    size_t at, end; /* in order->rows */
};

struct sweep {
    struct ap_join_curve *curve;
    const struct ap_part_context *context;
    const struct ap_memory_join *join;
    struct cursor cursors[TRACKS];
    size_t cursor_count;
    size_t point;          /* the next one */
    int64_t now_ns, bytes; /* how far the curve was followed, and its level there */
    enum ap_phase phase;
    int64_t phase_start_bytes;
    size_t step; /* the one that now_ns is in or before */
    bool in_step;
};

/* ---------------------------------------------------------------------------------------------------------- the pieces */

static void note_level(struct sweep *sweep, int64_t bytes, int64_t at_ns)
{
    struct ap_join_phase *phase = &sweep->curve->phases[sweep->phase];
    if (!phase->count || bytes > phase->peak_bytes) {
        phase->peak_bytes = bytes;
        phase->peak_ns = at_ns;
    }
    if (!sweep->in_step || sweep->step >= sweep->curve->step_count)
        return;
    struct ap_join_step *step = &sweep->curve->steps[sweep->step];
    if (!step->begun || bytes > step->peak_bytes) {
        step->peak_bytes = bytes;
        step->peak_ns = at_ns;
        step->peak_phase = sweep->phase;
    }
}

static void begin_phase(struct sweep *sweep, enum ap_phase phase)
{
    sweep->phase = phase;
    sweep->phase_start_bytes = sweep->bytes;
    note_level(sweep, sweep->bytes, sweep->now_ns);
    sweep->curve->phases[phase].count++;
}

static void end_phase(struct sweep *sweep)
{
    bool overflowed = false;
    struct ap_join_phase *phase = &sweep->curve->phases[sweep->phase];
    int64_t rise = ap_subtract_sat(sweep->bytes, sweep->phase_start_bytes, &overflowed);
    phase->delta_bytes = ap_add_sat(phase->delta_bytes, rise, &overflowed);
}

static void begin_step(struct sweep *sweep, bool whole)
{
    sweep->in_step = true;
    if (sweep->step >= sweep->curve->step_count)
        return;
    struct ap_join_step *step = &sweep->curve->steps[sweep->step];
    *step = (struct ap_join_step){ .start_bytes = sweep->bytes, .end_bytes = sweep->bytes, .whole = whole };
    note_level(sweep, sweep->bytes, sweep->now_ns);
    step->begun = true;
}

static void end_step(struct sweep *sweep, bool whole)
{
    if (sweep->step < sweep->curve->step_count) {
        struct ap_join_step *step = &sweep->curve->steps[sweep->step];
        step->end_bytes = sweep->bytes;
        step->whole = step->whole && whole;
    }
    sweep->in_step = false;
    sweep->step++;
}

/* Points before @to_ns belong to what is open now. */
static void follow_curve(struct sweep *sweep, int64_t to_ns)
{
    const struct ap_memory_join *join = sweep->join;
    for (; sweep->point < join->point_count && join->points[sweep->point].time_ns < to_ns; sweep->point++) {
        const struct ap_join_point *point = &join->points[sweep->point];
        note_level(sweep, point->high_bytes, point->time_ns);
        sweep->bytes = point->last_bytes;
    }
    sweep->now_ns = to_ns;
}

static void change_phase(struct sweep *sweep, enum ap_phase phase)
{
    if (phase == sweep->phase)
        return;
    end_phase(sweep);
    begin_phase(sweep, phase);
}

/* Steps that begin or end up to @to_ns; between them no phase is known until a row tells one. */
static void follow(struct sweep *sweep, int64_t to_ns)
{
    const struct ap_steps *steps = &sweep->context->facts->steps;
    while (sweep->step < steps->count) {
        const struct ap_step *step = &steps->steps[sweep->step];
        int64_t next_ns = sweep->in_step ? step->end_ns : step->start_ns;
        if (next_ns > to_ns)
            break;
        follow_curve(sweep, next_ns > sweep->now_ns ? next_ns : sweep->now_ns);
        if (sweep->in_step)
            end_step(sweep, true);
        else
            begin_step(sweep, next_ns >= sweep->join->start_ns);
        change_phase(sweep, AP_PHASE_other);
    }
    follow_curve(sweep, to_ns);
}

/* ------------------------------------------------------------------------------------------------------------ the rows */

static bool is_host_row(const struct sweep *sweep, size_t at)
{
    return ap_row_is_of(sweep->context->trace, sweep->context->facts->order.rows[at], AP_HOST_KINDS);
}

static void add_track(struct sweep *sweep, uint32_t track)
{
    const struct ap_row_order *order = &sweep->context->facts->order;
    if (sweep->cursor_count < TRACKS)
        sweep->cursors[sweep->cursor_count++] = (struct cursor){ order->track_start[track], order->track_start[track + 1] };
}

static void choose_tracks(struct sweep *sweep)
{
    const struct ap_part_context *context = sweep->context;
    if (context->facts->main_track != AP_NO_ROW)
        add_track(sweep, context->facts->main_track);
    const struct ap_row_set *backward = &context->facts->phases.backward_tracks;
    for (uint32_t track = ap_row_set_next(backward, 0); track != AP_ROW_SET_NONE;
         track = ap_row_set_next(backward, track + 1))
        if (track != context->facts->main_track)
            add_track(sweep, track);
}

/* The next row of all threads by start; AP_NO_ROW at the end. */
static uint32_t next_row(struct sweep *sweep)
{
    const struct ap_row_order *order = &sweep->context->facts->order;
    const int64_t *start_ns = sweep->context->trace->events.start_ns;
    struct cursor *first = NULL;
    for (size_t i = 0; i < sweep->cursor_count; i++) {
        struct cursor *cursor = &sweep->cursors[i];
        while (cursor->at < cursor->end && !is_host_row(sweep, cursor->at))
            cursor->at++;
        if (cursor->at < cursor->end && (!first || start_ns[order->rows[cursor->at]] < start_ns[order->rows[first->at]]))
            first = cursor;
    }
    return first ? order->rows[first->at++] : AP_NO_ROW;
}

static bool tells_phase(enum ap_phase phase)
{
    return phase != AP_PHASE_other && phase != AP_PHASE_unknown && phase != AP_PHASE_communication;
}

static void take_row(struct sweep *sweep, uint32_t row)
{
    int64_t start_ns = sweep->context->trace->events.start_ns[row];
    enum ap_phase phase = ap_phase_of_row(&sweep->context->facts->phases, row);
    if (!tells_phase(phase))
        return;
    if (start_ns <= sweep->join->start_ns) { /* what is open when both begin */
        if (ap_row_end_ns(sweep->context->trace, row) > sweep->join->start_ns)
            change_phase(sweep, phase);
        return;
    }
    follow(sweep, start_ns);
    change_phase(sweep, phase);
}

enum ap_status ap_join_curve_init(struct ap_join_curve *curve, const struct ap_part_context *context,
                                  const struct ap_memory_join *join, struct ap_error *reterr)
{
    struct sweep sweep = { .curve = curve,
                           .context = context,
                           .join = join,
                           .now_ns = join->start_ns,
                           .bytes = join->start_bytes,
                           .phase = AP_PHASE_other };
    const struct ap_steps *steps = &context->facts->steps;
    *curve = (struct ap_join_curve){ .gate = context->gate };
    curve->step_count = steps->count < AP_JOIN_STEPS ? steps->count : AP_JOIN_STEPS;
    if (curve->step_count) {
        curve->steps = ap_mem_resize(curve->gate, NULL, 0, curve->step_count * sizeof(curve->steps[0]));
        if (!curve->steps) {
            curve->step_count = 0;
            return ap_fail_memory(curve->gate, reterr);
        }
        memset(curve->steps, 0, curve->step_count * sizeof(curve->steps[0]));
    }
    while (sweep.step < steps->count && steps->steps[sweep.step].end_ns <= join->start_ns)
        sweep.step++;
    begin_phase(&sweep, AP_PHASE_other);
    follow(&sweep, join->start_ns);
    choose_tracks(&sweep);
    for (uint32_t row = next_row(&sweep); row != AP_NO_ROW; row = next_row(&sweep)) {
        if (context->trace->events.start_ns[row] >= join->end_ns)
            break;
        take_row(&sweep, row);
    }
    follow(&sweep, join->end_ns);
    follow_curve(&sweep, INT64_MAX); /* entries at the very end */
    end_phase(&sweep);
    if (sweep.in_step)
        end_step(&sweep, false);
    return AP_OK;
}

void ap_join_curve_release(struct ap_join_curve *curve)
{
    AP_FREE(curve->gate, curve->steps, curve->step_count);
    curve->steps = NULL;
    curve->step_count = 0;
}
