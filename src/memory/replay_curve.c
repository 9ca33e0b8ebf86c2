/* SPDX-License-Identifier: MIT
 * The curves of a replay in few points, none of the extremes lost. */
#include "replay.h"

#include "poison.h"

/* One stretch of the history: of its points, those that stand out. */
struct stretch {
    struct ap_curve_point low, high, reserved;
    bool any;
};

static void take_point(struct stretch *stretch, const struct ap_curve_point *point)
{
    if (!stretch->any)
        *stretch = (struct stretch){ *point, *point, *point, true };
    if (point->requested_bytes < stretch->low.requested_bytes)
        stretch->low = *point;
    if (point->requested_bytes > stretch->high.requested_bytes)
        stretch->high = *point;
    if (point->reserved_bytes > stretch->reserved.reserved_bytes)
        stretch->reserved = *point;
}

static void add_point(struct ap_curve_point *points, uint32_t *count, const struct ap_curve_point *point)
{
    if (*count && points[*count - 1].position >= point->position)
        return; /* the same one stands out twice */
    points[(*count)++] = *point;
}

static void end_stretch(struct stretch *stretch, struct ap_curve_point *points, uint32_t *count)
{
    const struct ap_curve_point *order[] = { &stretch->low, &stretch->high, &stretch->reserved }, *swap;
    if (!stretch->any)
        return;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j + 1 < 3; j++)
            if (order[j]->position > order[j + 1]->position) {
                swap = order[j];
                order[j] = order[j + 1];
                order[j + 1] = swap;
            }
    for (unsigned i = 0; i < 3; i++)
        add_point(points, count, order[i]);
    stretch->any = false;
}

static void add(int64_t *sum, int64_t bytes)
{
    bool overflowed = false;
    *sum = ap_add_sat(*sum, bytes, &overflowed);
}

static void move_point(const struct ap_replay *replay, const struct ap_replay_device *device, struct ap_curve_point *point)
{
    const struct ap_actions *actions = &replay->snapshot->actions;
    uint32_t entry = device->first_entry + point->position++;
    struct ap_replay_step step;
    ap_replay_step(replay, entry, &step);
    add(&point->requested_bytes, step.requested_bytes);
    add(&point->active_bytes, step.active_bytes);
    add(&point->reserved_bytes, step.reserved_bytes);
    point->time_ns = actions->time_ns[entry];
    point->has_time = actions->has[entry] & AP_ACTION_HAS_TIME;
}

enum ap_status ap_replay_curve(const struct ap_replay *replay, uint32_t device_index, uint32_t wanted,
                               struct ap_curve_point **ret_points, uint32_t *ret_count, uint32_t *ret_capacity,
                               struct ap_error *reterr)
{
    const struct ap_replay_device *device = &replay->devices[device_index];
    const struct ap_actions *actions = &replay->snapshot->actions;
    uint32_t stretches = (wanted < 8 ? 8 : wanted) / 3, count = 0;
    if (stretches > device->entry_count)
        stretches = device->entry_count;
    uint32_t capacity = stretches * 3 + 2;
    struct ap_curve_point *points;
    AP_TRY(AP_ALLOC(replay->gate, points, capacity, reterr));
    struct ap_curve_point point = { .requested_bytes = device->requested.start_bytes,
                                    .active_bytes = device->active.start_bytes,
                                    .reserved_bytes = device->reserved.start_bytes };
    if (device->entry_count) {
        point.time_ns = actions->time_ns[device->first_entry];
        point.has_time = actions->has[device->first_entry] & AP_ACTION_HAS_TIME;
    }
    struct stretch stretch = { .any = false };
    points[count++] = point;
    for (uint32_t i = 0; i < stretches; i++) {
        uint32_t end = (uint32_t)((uint64_t)device->entry_count * (i + 1) / stretches);
        while (point.position < end) {
            move_point(replay, device, &point);
            take_point(&stretch, &point);
        }
        end_stretch(&stretch, points, &count);
    }
    add_point(points, &count, &point);
    *ret_points = points;
    *ret_count = count;
    *ret_capacity = capacity;
    return AP_OK;
}
