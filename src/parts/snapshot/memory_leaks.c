/* SPDX-License-Identifier: MIT
 * What grows from period to period, on the device where most does. */
#include <math.h>

#include "churn.h"
#include "frame_kind.h"
#include "growth.h"
#include "period_work.h"
#include "snapshot_part.h"
#include "stack_frames.h"
#include "sort.h"

#include "poison.h"

#define STATE_SHARE 0.9           /* of what grows */
#define MOST_STATE_OF_WEIGHTS 4.0 /* two numbers of 32 bits for each weight of 16 */

static const char *verdict_name(enum ap_growth_verdict verdict)
{
    static const char *const names[] = {
        [AP_GROWTH_UNKNOWN] = "unknown",       [AP_GROWTH_NONE] = "no growth", [AP_GROWTH_LEVELS_OFF] = "levels off",
        [AP_GROWTH_FILLING] = "only fills up", [AP_GROWTH_LEAK] = "leak",
    };
    return names[verdict];
}

const char *ap_memory_period_source(enum ap_period_source source)
{
    static const char *const names[] = {
        [AP_PERIODS_NONE] = "none",
        [AP_PERIODS_ANNOTATIONS] = "annotations",
        [AP_PERIODS_REPETITION] = "repetition",
        [AP_PERIODS_EQUAL_PARTS] = "equal parts",
        [AP_PERIODS_PASSES] = "passes",
        [AP_PERIODS_LONGER_ROUNDS] = "longer rounds",
    };
    return names[source];
}

struct found {
    struct ap_growth growth;
    enum ap_period_proof proof;
    uint32_t device; /* UINT32_MAX = none has a history */
};

static bool is_worse(const struct ap_growth *growth, const struct ap_growth *than)
{
    if (growth->verdict != than->verdict)
        return growth->verdict > than->verdict;
    return growth->leaking_bytes > than->leaking_bytes;
}

/* Layers that join the optimizer one by one bring its state with them, and that ends with the weights: nothing else grows,
 * and the weights may have as much. */
static enum ap_status only_sets_up(const struct ap_snapshot_part *pass, uint32_t device, const struct ap_growth *growth,
                                   bool *ret_sets_up, struct ap_error *reterr)
{
    double set_up_bytes = 0, weight_bytes = 0, state_bytes = 0;
    struct ap_owned_device end;
    *ret_sets_up = false;
    for (uint32_t i = 0; i < growth->stack_count; i++)
        if (pass->owners->stacks[growth->stacks[i].stack].sign == AP_SIGN_STATE_INIT)
            set_up_bytes += (double)growth->stacks[i].last_bytes - (double)growth->stacks[i].first_bytes;
    if (set_up_bytes < STATE_SHARE * (double)growth->leaking_bytes)
        return AP_OK;
    AP_TRY(ap_owned_take_at(pass->owners, device, pass->replay->devices[device].entry_count, &end, reterr));
    for (uint32_t i = 0; i < end.count; i++) {
        enum ap_owner_category category = ap_owned_category(&end.list[i]);
        weight_bytes += category == AP_OWNER_PARAMETERS ? (double)end.list[i].bytes : 0;
        state_bytes += category == AP_OWNER_OPTIMIZER_STATE ? (double)end.list[i].bytes : 0;
    }
    ap_owned_release(pass->owners, &end);
    *ret_sets_up = state_bytes <= MOST_STATE_OF_WEIGHTS * weight_bytes;
    return AP_OK;
}

typedef enum ap_status find_periods_function(const struct ap_owners *owners, uint32_t device, struct ap_periods *ret_periods,
                                             struct ap_error *reterr);

/* Where steps become longer nothing comes at even distances, but passes tell them, or, where no stack tells passes, that
 * they do. Only a leak is told of them, and only while it is there: what the steps within a step keep goes with the outer
 * one. */
static enum ap_status try_uneven(const struct ap_snapshot_part *pass, uint32_t device, find_periods_function *find,
                                 struct found *found, struct ap_error *reterr)
{
    struct ap_growth growth;
    struct ap_periods periods;
    AP_TRY(find(pass->owners, device, &periods, reterr));
    AP_TRY(ap_growth_find_in(pass->replay, device, &periods, &growth, reterr));
    bool leaks = growth.verdict == AP_GROWTH_LEAK && growth.held_bytes >= growth.leaking_bytes / 2;
    if (leaks) {
        ap_growth_release(&found->growth);
        found->growth = growth;
        found->proof = AP_PERIODS_STEPS;
    } else {
        ap_growth_release(&growth);
    }
    return AP_OK;
}

/* Of periods that are no steps nothing is said; of those that may be, no leak. That little is freed holds of any. */
static enum ap_status find_growth(const struct ap_snapshot_part *pass, uint32_t device, struct found *ret_found,
                                  struct ap_error *reterr)
{
    struct found found = { .device = device };
    AP_TRY(ap_growth_find(pass->replay, device, &found.growth, reterr));
    bool sets_up = false;
    enum ap_status status = ap_periods_prove(pass->owners, device, &found.growth.periods, &found.proof, reterr);
    if (status == AP_OK && (found.proof == AP_PERIODS_NO_STEPS || found.growth.periods.source == AP_PERIODS_EQUAL_PARTS))
        status = try_uneven(pass, device, ap_periods_of_passes, &found, reterr);
    else if (found.proof == AP_PERIODS_TRAINING && found.growth.verdict == AP_GROWTH_FILLING)
        found.growth.verdict = AP_GROWTH_LEAK; /* their own work shows that they are no layers whose activations pile up */
    if (status == AP_OK && found.proof < AP_PERIODS_STEPS && !pass->snapshot->stacks.stack_count)
        status = try_uneven(pass, device, ap_periods_that_lengthen, &found, reterr);
    if (status == AP_OK && found.growth.verdict == AP_GROWTH_LEAK)
        status = only_sets_up(pass, device, &found.growth, &sets_up, reterr);
    if (status != AP_OK) {
        ap_growth_release(&found.growth);
        return status;
    }
    found.growth.verdict = sets_up ? AP_GROWTH_LEVELS_OFF : found.growth.verdict;
    enum ap_growth_verdict verdict = found.growth.verdict;
    bool unproved = found.proof == AP_PERIODS_NO_STEPS || (found.proof == AP_PERIODS_UNSURE && verdict == AP_GROWTH_LEAK);
    found.growth.verdict = unproved && verdict != AP_GROWTH_FILLING ? AP_GROWTH_UNKNOWN : verdict;
    *ret_found = found;
    return AP_OK;
}

static enum ap_status find_worst(const struct ap_snapshot_part *pass, struct found *ret_found, struct ap_error *reterr)
{
    const struct ap_replay *replay = pass->replay;
    for (uint32_t device = 0; device < replay->device_count; device++) {
        struct found found;
        if (replay->devices[device].entry_count < 2)
            continue;
        enum ap_status status = find_growth(pass, device, &found, reterr);
        if (status != AP_OK) {
            ap_growth_release(&ret_found->growth);
            return status;
        }
        bool better = ret_found->device == UINT32_MAX || is_worse(&found.growth, &ret_found->growth);
        ap_growth_release(better ? &ret_found->growth : &found.growth);
        if (better)
            *ret_found = found;
    }
    return AP_OK;
}

static void put_entry_time(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, uint32_t entry)
{
    const struct ap_actions *actions = &pass->snapshot->actions;
    bool known = entry != AP_NO_ENTRY && (actions->has[entry] & AP_ACTION_HAS_TIME);
    ap_put_time(pass, to, key, known, known ? actions->time_ns[entry] : 0);
}

static bool is_of_package(const struct ap_snapshot *snapshot, uint32_t frame)
{
    return ap_frame_is_package(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frame].filename));
}

/* A model out of a package allocates at a line that the user never saw: which line of the user's called it says more. */
static enum ap_status put_caller(struct ap_snapshot_part *pass, struct ap_value *row, uint32_t stack,
                                 struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    uint32_t count, user = ap_stack_user_frame(snapshot, stack), caller = ap_stack_calling_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    if (user >= count || caller >= count || !is_of_package(snapshot, frames[user]) ||
        is_of_package(snapshot, frames[caller])) {
        ap_add_null(pass->model, row, "caller");
        return AP_OK;
    }
    struct ap_text text;
    AP_TRY(ap_memory_frame_text(snapshot, &pass->scratch, frames[caller], &text, reterr));
    ap_add_text(pass->model, row, "caller", text);
    return AP_OK;
}

static enum ap_status put_stack(struct ap_snapshot_part *pass, struct ap_value *list, const struct ap_growth_stack *stack,
                                struct ap_error *reterr)
{
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    AP_TRY(put_caller(pass, row, stack->stack, reterr));
    AP_TRY(ap_memory_put_frame(pass, row, "frame", stack->stack, reterr));
    AP_TRY(ap_memory_put_frames(pass, row, stack->stack, reterr));
    ap_put_bytes(pass, row, "size_bytes", !stack->stack && stack->size_bytes, stack->size_bytes);
    ap_add_bytes(pass->model, row, "growth_bytes", stack->last_bytes - stack->first_bytes);
    ap_add_count(pass->model, row, "count_growth", stack->last_count - stack->first_count);
    ap_add_bytes(pass->model, row, "live_bytes", stack->last_bytes);
    ap_add_number(pass->model, row, "bytes_per_period", stack->bytes_per_period);
    put_entry_time(pass, row, "first_seen_us", stack->first_entry);
    put_entry_time(pass, row, "last_seen_us", stack->last_entry);
    ap_add_ratio(pass->model, row, "fit_ratio", stack->fit_ratio);
    return AP_OK;
}

static void put_points(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_growth *growth, uint32_t device)
{
    struct ap_value *list = ap_add_list(pass->model, to, "points");
    const struct ap_replay_device *of = device == UINT32_MAX ? NULL : &pass->replay->devices[device];
    for (uint32_t i = 0; i < growth->point_count; i++) {
        const struct ap_growth_point *point = &growth->points[i];
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        uint32_t last = point->position ? point->position - 1 : 0;
        ap_add_count(pass->model, row, "position", point->position);
        put_entry_time(pass, row, "time_us", of->first_entry + last);
        ap_add_bytes(pass->model, row, "least_requested_bytes", point->bytes);
        ap_add_bytes(pass->model, row, "most_requested_bytes", point->most_bytes);
    }
}

/* How sure the verdict is: told by the program itself, over many periods, on a straight line. */
static const char *confidence(const struct ap_growth *growth, const struct ap_replay_device *of)
{
    bool clear = growth->fit_ratio >= 0.9 || growth->verdict != AP_GROWTH_LEAK;
    if (growth->verdict == AP_GROWTH_UNKNOWN || of->below_zero)
        return "none";
    if (growth->periods.source == AP_PERIODS_EQUAL_PARTS || growth->verdict == AP_GROWTH_FILLING)
        return "low";
    return growth->periods.source == AP_PERIODS_ANNOTATIONS && clear && growth->point_count >= 8 ? "high" : "medium";
}

/* Where a request failed, it was full already. */
static bool has_failed(const struct ap_snapshot_part *pass, uint32_t device)
{
    const struct ap_replay_device *of = &pass->replay->devices[device];
    for (uint32_t i = of->first_entry; i < of->first_entry + of->entry_count; i++)
        if (pass->snapshot->actions.name[i].id == AP_ACTION_OOM)
            return true;
    return false;
}

/* The share of the growth that the loop's own lines make, outside of any pass: a buffer or a queue may only be filling; and
 * the share of what fills one by its name. */
static void put_outside(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_growth *growth)
{
    double outside_bytes = 0, buffer_bytes = 0, all_bytes = 0;
    bool known = growth->verdict == AP_GROWTH_LEAK;
    for (uint32_t i = 0; i < growth->stack_count; i++) {
        const struct ap_growth_stack *stack = &growth->stacks[i];
        double bytes = (double)stack->last_bytes - (double)stack->first_bytes;
        all_bytes += bytes;
        outside_bytes += pass->owners->stacks[stack->stack].work == AP_WORK_OTHER ? bytes : 0;
        buffer_bytes += pass->owners->stacks[stack->stack].sign == AP_SIGN_BUFFER ? bytes : 0;
        known = known && stack->stack;
    }
    ap_add_quotient(pass->model, to, "outside_ratio", outside_bytes, known ? all_bytes : 0);
    ap_add_ratio(pass->model, to, "buffer_ratio", buffer_bytes > 0 && all_bytes > 0 ? fmin(buffer_bytes / all_bytes, 1) : 0);
}

static void put_until_full(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_growth *growth,
                           uint32_t device)
{
    int64_t capacity_bytes = device == UINT32_MAX ? 0 : ap_memory_device_bytes(pass, device);
    bool leaks = growth->verdict == AP_GROWTH_LEAK && growth->leaking_bytes_per_period > 0 && !has_failed(pass, device);
    bool known = capacity_bytes > 0 || (device != UINT32_MAX && ap_capacity_at_oom(pass->replay, device, &capacity_bytes));
    ap_put_bytes(pass, to, "capacity_bytes", known, capacity_bytes);
    double room = leaks ? (double)capacity_bytes - (double)growth->points[growth->point_count - 1].most_bytes : 0;
    ap_add_known_number(pass->model, to, "periods_until_full", leaks && known,
                        leaks && room > 0 ? room / growth->leaking_bytes_per_period : 0);
}

static void put_periods(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_growth *growth, bool known)
{
    const struct ap_strpool *strings = &pass->snapshot->strings;
    uint32_t count = ap_period_count(&growth->periods);
    ap_put_count(pass, to, "periods", known && count, count);
    ap_add_string(pass->model, to, "period_source", ap_memory_period_source(growth->periods.source));
    ap_add_known_text(pass->model, to, "period_name",
                      growth->periods.name.id && growth->periods.source == AP_PERIODS_ANNOTATIONS,
                      ap_strpool_text(strings, growth->periods.name));
}

static enum ap_status put_growth(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_growth *growth,
                                 uint32_t device, struct ap_error *reterr)
{
    static const struct ap_replay_device none = { .entry_count = 0 };
    const struct ap_replay_device *of = device == UINT32_MAX ? &none : &pass->replay->devices[device];
    bool known = growth->verdict != AP_GROWTH_UNKNOWN;
    ap_put_count(pass, to, "device", device != UINT32_MAX, device);
    put_periods(pass, to, growth, device != UINT32_MAX);
    ap_add_string(pass->model, to, "verdict", verdict_name(growth->verdict));
    ap_put_bool(pass, to, "leaking", known, growth->verdict == AP_GROWTH_LEAK);
    ap_add_string(pass->model, to, "confidence", confidence(growth, of));
    ap_add_bool(pass->model, to, "sure", known && confidence(growth, of)[0] != 'l' && !of->below_zero);
    ap_put_bytes(pass, to, "net_growth_bytes", known, growth->net_bytes);
    ap_add_known_number(pass->model, to, "growth_bytes_per_period", known, growth->bytes_per_period);
    ap_put_bytes(pass, to, "leaking_bytes", known, growth->verdict == AP_GROWTH_LEAK ? growth->leaking_bytes : 0);
    ap_put_bytes(pass, to, "held_bytes", known, growth->verdict == AP_GROWTH_LEAK ? growth->held_bytes : 0);
    ap_add_known_number(pass->model, to, "leaking_bytes_per_period", known,
                        growth->verdict == AP_GROWTH_LEAK ? growth->leaking_bytes_per_period : 0);
    if (known)
        ap_add_quotient(pass->model, to, "leaking_ratio",
                        growth->verdict == AP_GROWTH_LEAK ? (double)growth->leaking_bytes : 0,
                        (double)of->requested.peak_bytes);
    else
        ap_add_null(pass->model, to, "leaking_ratio");
    ap_add_known_number(pass->model, to, "fit_ratio", known, growth->fit_ratio);
    put_outside(pass, to, growth);
    put_until_full(pass, to, growth, device);
    put_points(pass, to, growth, device);
    struct ap_value *list = ap_add_list(pass->model, to, "stacks");
    for (uint32_t i = 0; i < growth->stack_count && (!pass->top_n || i < pass->top_n); i++)
        AP_TRY(put_stack(pass, list, &growth->stacks[i], reterr));
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ a spike */

/* Of one device: what no usual period fills, and where none is known, nothing in the history. */
static void put_unfilled(struct ap_snapshot_part *pass, struct ap_value *to, bool usual, int64_t filled_bytes)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    const struct ap_replay_device *device = pass->replay->devices;
    int64_t reserved_bytes = 0;
    bool known = pass->replay->device_count == 1 && snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS;
    known = known && (usual || (device->entry_count > 1 && device->requested.known));
    if (known && !usual)
        filled_bytes = device->requested.peak_bytes;
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        reserved_bytes = ap_add_sat(reserved_bytes, snapshot->segments[i].total_bytes, &pass->overflowed);
    int64_t bytes = ap_subtract_sat(reserved_bytes, filled_bytes, &pass->overflowed);
    ap_put_bytes(pass, to, "unfilled_bytes", known, bytes > 0 ? bytes : 0);
}

/* By how much more than usual is held throughout the period of the peak: what a buffer that fills keeps is no moment. */
static int64_t held_at_peak(const struct ap_growth *growth, bool *overflowed)
{
    int64_t least_bytes[AP_GROWTH_POINTS];
    uint32_t at = 0, count = growth->point_count;
    for (uint32_t i = 0; i < count; i++) {
        least_bytes[i] = growth->points[i].bytes;
        at = growth->points[i].most_bytes > growth->points[at].most_bytes ? i : at;
    }
    ap_sort(least_bytes, count, sizeof(least_bytes[0]), ap_by_int64);
    int64_t more_bytes = ap_subtract_sat(growth->points[at].bytes, least_bytes[count / 2], overflowed);
    return more_bytes > 0 ? more_bytes : 0;
}

/* What most periods need at most, and how far the peak of the whole history stands above it and above what is held then. */
static void put_spike(struct ap_snapshot_part *pass, struct ap_value *memory, const struct found *found)
{
    const struct ap_growth *growth = &found->growth;
    struct ap_value *to = ap_add_object(pass->model, memory, "spike");
    int64_t most_bytes[AP_GROWTH_POINTS], usual_bytes = 0, peak_bytes = 0;
    bool level = growth->verdict == AP_GROWTH_NONE || growth->verdict == AP_GROWTH_LEVELS_OFF;
    /* Where it grows on and on, nothing is usual; what breaks a rhythm is no moment of its periods. */
    bool known = level && growth->point_count && found->proof >= AP_PERIODS_STEPS && !growth->periods.uneven;
    for (uint32_t i = 0; i < growth->point_count; i++)
        most_bytes[i] = growth->points[i].most_bytes;
    if (known) {
        ap_sort(most_bytes, growth->point_count, sizeof(most_bytes[0]), ap_by_int64);
        usual_bytes = most_bytes[growth->point_count / 2];
        peak_bytes = pass->replay->devices[found->device].requested.peak_bytes;
    }
    int64_t above_bytes = ap_subtract_sat(peak_bytes, usual_bytes, &pass->overflowed);
    int64_t held_bytes = known ? held_at_peak(growth, &pass->overflowed) : 0;
    above_bytes = held_bytes < above_bytes ? above_bytes - held_bytes : 0;
    ap_put_bytes(pass, to, "usual_peak_bytes", known, usual_bytes);
    ap_put_bytes(pass, to, "above_usual_bytes", known, above_bytes);
    ap_add_quotient(pass->model, to, "above_usual_ratio", (double)above_bytes, known ? (double)peak_bytes : 0);
    put_unfilled(pass, to, known, usual_bytes);
}

enum ap_status ap_memory_put_leaks(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    struct found found = { .growth = { .gate = pass->scratch.gate }, .device = UINT32_MAX };
    found.growth.periods.gate = pass->scratch.gate;
    AP_TRY(find_worst(pass, &found, reterr));
    enum ap_status status =
        put_growth(pass, ap_add_object(pass->model, memory, "leaks"), &found.growth, found.device, reterr);
    put_spike(pass, memory, &found);
    ap_growth_release(&found.growth);
    return status;
}
