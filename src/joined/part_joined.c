/* SPDX-License-Identifier: MIT
 * part_joined.c - snapshot and trace of one run on one axis of time: in which step, phase and module the memory peaked and
 * requests failed, and what each phase and step added. */
#include "join_curve.h"
#include "join_place.h"

#include "poison.h"

#define MOMENTS (AP_JOIN_MOMENTS + 2)

struct joining {
    const struct ap_part_context *context;
    const struct ap_memory_join *join;
    struct ap_model *model;
    struct ap_user_frames frames;
    struct ap_join_curve curve;
    struct ap_join_place places[MOMENTS]; /* of the peak, the one within, then the failures, oldest first */
    struct ap_join_moment moments[MOMENTS];
    size_t moment_count;
};

/* ---------------------------------------------------------------------------------------------------------- how it was done
 */

static const char *reason_of(const struct ap_memory_join *join)
{
    switch (join->state) {
    case AP_JOIN_NO_HISTORY: return "the snapshot holds no history that can be replayed";
    case AP_JOIN_NO_HISTORY_CLOCK: return "the entries of the snapshot's history have no times";
    case AP_JOIN_NO_TRACE_CLOCK: return "the times of the trace count from an unknown moment";
    case AP_JOIN_APART: return "trace and history cover different times";
    case AP_JOIN_OTHER_RUN: return "trace and history allocate at different addresses: they are not of one process";
    case AP_JOIN_OTHER_DEVICE: return "the snapshot holds memory of other devices than those that work in the trace";
    case AP_JOIN_TOO_LARGE: return "the snapshot held more memory than the device of the trace has";
    case AP_JOIN_OTHER_BYTES:
        return "the trace tells of more reserved memory, while both recorded, than the history ever held";
    case AP_JOIN_JOINED: break;
    }
    return join->offset_known ? "both clocks count from the Unix epoch; allocations that stand in both tell the offset"
                              : "both clocks count from the Unix epoch; nothing in both tells whether they agree";
}

static const char *confidence_of(const struct ap_memory_join *join)
{
    if (join->state != AP_JOIN_JOINED)
        return "none";
    if (join->doubtful)
        return "low";
    return join->offset_known ? "high" : "medium";
}

static void add_method(const struct joining *joining, struct ap_value *to)
{
    const struct ap_memory_join *join = joining->join;
    struct ap_model *model = joining->model;
    bool joined = join->state == AP_JOIN_JOINED, any = join->state != AP_JOIN_NO_HISTORY;
    bool other = ap_join_is_of_another_run(join->state);
    int64_t capacity = any && !other ? ap_memory_join_capacity(join, join->device) : 0, held = join->peak_reserved_bytes;
    ap_add_string(model, to, "method",
                  !joined              ? "none"
                  : join->offset_known ? "epoch clocks, offset measured"
                                       : "epoch clocks");
    ap_add_string(model, to, "confidence", confidence_of(join));
    ap_add_string(model, to, "reason", reason_of(join));
    /* a history of one moment within the trace covers no time, and is no other run's for that */
    bool apart = (join->state == AP_JOIN_APART && join->start_ns > join->end_ns) || other;
    ap_add_known_bool(model, to, "belong", joined || apart, joined);
    ap_add_known_time(model, to, "overlap_us", joined || join->state == AP_JOIN_APART,
                      joined ? join->end_ns - join->start_ns : 0);
    ap_add_known_time(model, to, "history_us", joined, join->history_ns);
    ap_add_known_time(model, to, "offset_us", joined && join->offset_known, join->offset_ns);
    ap_add_known_count(model, to, "compared_allocations", join->compared > 0, (int64_t)join->compared);
    ap_add_known_count(model, to, "matched_allocations", join->compared > 0, (int64_t)join->matched);
    ap_add_known_bool(model, to, "exact", joined, join->exact);
    ap_add_known_count(model, to, "device", any, (int64_t)join->device);
    ap_add_known_bytes(model, to, "capacity_bytes", capacity > 0, capacity);
    ap_add_quotient(model, to, "peak_capacity_ratio", (double)held, held >= 0 && capacity > 0 ? (double)capacity : 0);
}

/* ------------------------------------------------------------------------------------------------------------- moments */

static bool is_within(const struct ap_memory_join *join, const struct ap_join_moment *moment)
{
    return moment->known && moment->time_ns >= join->start_ns && moment->time_ns <= join->end_ns;
}

static void find_places(struct joining *joining)
{
    const struct ap_memory_join *join = joining->join;
    uint32_t shown = join->failure_count < AP_JOIN_MOMENTS ? join->failure_count : AP_JOIN_MOMENTS;
    joining->moments[joining->moment_count++] = join->peak;
    joining->moments[joining->moment_count++] = join->peak_within;
    for (uint32_t i = join->failure_count - shown; i < join->failure_count; i++)
        joining->moments[joining->moment_count++] = join->failures[i % AP_JOIN_MOMENTS];
    for (size_t i = 0; i < joining->moment_count; i++)
        joining->places[i].time_ns = joining->moments[i].time_ns;
    ap_join_places_find(joining->context, joining->places, joining->moment_count);
}

static void add_moment(struct joining *joining, size_t i, struct ap_value *to)
{
    const struct ap_join_moment *moment = &joining->moments[i];
    struct ap_model *model = joining->model;
    bool within = is_within(joining->join, moment);
    ap_add_count(model, to, "device", moment->device);
    ap_add_known_bytes(model, to, "requested_bytes", moment->bytes >= 0, moment->bytes);
    ap_add_known_time(model, to, "at_us", moment->known, moment->time_ns);
    ap_add_bool(model, to, "in_trace", within);
    if (within)
        ap_add_join_place(joining->context, &joining->frames, &joining->places[i], model, to);
    else
        ap_add_no_join_place(model, to);
}

/* Of the peak: is it reached while activations pile up? */
static void add_peak_in_forward(const struct joining *joining, struct ap_value *to)
{
    uint32_t row = joining->places[0].row;
    if (!is_within(joining->join, &joining->moments[0]) || row == AP_NO_ROW)
        ap_add_null(joining->model, to, "peak_in_forward");
    else
        ap_add_bool(joining->model, to, "peak_in_forward",
                    ap_phase_of_row(&joining->context->facts->phases, row) == AP_PHASE_forward);
}

static void add_moments(struct joining *joining, struct ap_value *to)
{
    uint64_t top_n = joining->context->options->top_n, shown = 0;
    add_moment(joining, 0, ap_add_object(joining->model, to, "peak"));
    if (joining->join->peak_within.known)
        add_moment(joining, 1, ap_add_object(joining->model, to, "peak_in_trace"));
    else
        ap_add_null(joining->model, to, "peak_in_trace");
    add_peak_in_forward(joining, to);
    struct ap_value *list = ap_add_list(joining->model, to, "oom");
    for (size_t i = 2; i < joining->moment_count && (!top_n || shown < top_n); i++, shown++)
        add_moment(joining, i, ap_add_object(joining->model, list, NULL));
}

/* ----------------------------------------------------------------------------------------------------- phases and steps */

static void add_phases(const struct joining *joining, struct ap_value *to)
{
    struct ap_model *model = joining->model;
    struct ap_value *list = ap_add_list(model, to, "phases");
    for (int i = 0; i < AP_PHASE_COUNT_; i++) {
        const struct ap_join_phase *phase = &joining->curve.phases[i];
        if (!phase->count)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "phase", ap_phase_name((enum ap_phase)i));
        ap_add_count(model, row, "count", (int64_t)phase->count);
        ap_add_bytes(model, row, "peak_requested_bytes", phase->peak_bytes);
        ap_add_time(model, row, "peak_at_us", phase->peak_ns);
        ap_add_bytes(model, row, "delta_bytes", phase->delta_bytes);
    }
}

static void add_steps(const struct joining *joining, struct ap_value *to)
{
    const struct ap_steps *steps = &joining->context->facts->steps;
    struct ap_model *model = joining->model;
    struct ap_value *list = ap_add_list(model, to, "steps");
    uint64_t top_n = joining->context->options->top_n, shown = 0;
    for (size_t i = 0; i < joining->curve.step_count && (!top_n || shown < top_n); i++) {
        const struct ap_join_step *step = &joining->curve.steps[i];
        if (!step->begun)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_count(model, row, "step", (int64_t)i);
        ap_add_bool(model, row, "whole", step->whole);
        ap_add_bytes(model, row, "start_requested_bytes", step->start_bytes);
        ap_add_bytes(model, row, "peak_requested_bytes", step->peak_bytes);
        ap_add_bytes(model, row, "end_requested_bytes", step->end_bytes);
        ap_add_time(model, row, "peak_at_us", step->peak_ns);
        ap_add_string(model, row, "peak_phase", ap_phase_name(step->peak_phase));
        ap_add_time(model, row, "start_us", steps->steps[i].start_ns);
        ap_add_time(model, row, "dur_us", steps->steps[i].end_ns - steps->steps[i].start_ns);
        ap_add_track(joining->context->trace, joining->context->trace->events.track[steps->steps[i].row], model, row);
        shown++;
    }
}

static void add_nothing(struct ap_model *model, struct ap_value *to)
{
    ap_add_null(model, to, "peak");
    ap_add_null(model, to, "peak_in_trace");
    ap_add_null(model, to, "peak_in_forward");
    (void)ap_add_list(model, to, "oom");
    (void)ap_add_list(model, to, "phases");
    (void)ap_add_list(model, to, "steps");
}

static enum ap_status report(struct joining *joining, struct ap_value *to, struct ap_error *reterr)
{
    AP_TRY(ap_user_frames_init(&joining->frames, joining->context->trace, joining->context->gate, reterr));
    AP_TRY(ap_join_curve_init(&joining->curve, joining->context, joining->join, reterr));
    find_places(joining);
    add_moments(joining, to);
    add_phases(joining, to);
    add_steps(joining, to);
    return AP_OK;
}

enum ap_status ap_part_joined(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                              struct ap_error *reterr)
{
    struct joining joining = { .context = context, .join = context->options->join, .model = model };
    enum ap_status status = AP_OK;
    if (!joining.join) {
        ap_add_null(model, root, "joined");
        return AP_OK;
    }
    joining.frames.gate = joining.frames.library.gate = joining.curve.gate = context->gate;
    struct ap_value *to = ap_add_object(model, root, "joined");
    add_method(&joining, to);
    if (joining.join->state == AP_JOIN_JOINED)
        status = report(&joining, to, reterr);
    else
        add_nothing(model, to);
    ap_join_curve_release(&joining.curve);
    ap_user_frames_release(&joining.frames);
    return status;
}
