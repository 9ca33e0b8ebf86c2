/* SPDX-License-Identifier: MIT */
#include "memory_ranges.h"

#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

/* ----------------------------------------------------------------------------------------------------------- matching */

static bool is_stage(const struct ap_snapshot *snapshot, const struct ap_annotation *annotation, const char *stage)
{
    return annotation->has_time && ap_text_is(ap_strpool_text(&snapshot->strings, annotation->stage), stage);
}

struct mark {
    int64_t time_ns;
    uint32_t name, index;
    int32_t device;
    bool start;
};

static int by_device_name_time(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    AP_BY_SMALLER(a->device, b->device);
    AP_BY_SMALLER(a->name, b->name);
    AP_BY_SMALLER(a->time_ns, b->time_ns);
    return a->index < b->index ? -1 : a->index > b->index;
}

static bool has_usable_times(const struct ap_replay_device *device)
{
    return device->entry_count > 0 && device->has_times && !device->times_backwards;
}

/* Entries of the device before a time, or up to and with it. */
static uint32_t position_at(const struct ap_replay *replay, const struct ap_replay_device *device, int64_t time_ns,
                            bool with)
{
    const int64_t *times = replay->snapshot->actions.time_ns + device->first_entry;
    size_t low = 0;
    AP_BISECT(low, device->entry_count, at, times[at] < time_ns || (with && times[at] == time_ns));
    return (uint32_t)low;
}

static enum ap_status add_range(struct ap_memory_ranges *ranges, const struct ap_replay *replay, uint32_t device,
                                const struct mark *start, const struct mark *end, struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    if (!has_usable_times(of))
        return AP_OK;
    AP_TRY_ADD(ranges->gate, ranges->list, ranges->count, ranges->capacity, reterr,
               (struct ap_memory_range){
                   .start_ns = start->time_ns,
                   .end_ns = end->time_ns,
                   .name = start->name,
                   .device = device,
                   .from = position_at(replay, of, start->time_ns, false),
                   .to = position_at(replay, of, end->time_ns, true),
               });
    return AP_OK;
}

static enum ap_status add_pair(struct ap_memory_ranges *ranges, const struct ap_replay *replay, const struct mark *start,
                               const struct mark *end, struct ap_error *reterr)
{
    uint32_t first = start->device < 0 ? 0 : (uint32_t)start->device;
    uint32_t last = start->device < 0 ? replay->device_count : first + 1;
    if (start->device < 0 && last > AP_MOST_OWNED_DEVICES)
        last = AP_MOST_OWNED_DEVICES;
    for (uint32_t device = first; device < last && device < replay->device_count; device++)
        AP_TRY(add_range(ranges, replay, device, start, end, reterr));
    return AP_OK;
}

/* Marks of one name and device stand together; of them the open ones are kept at the front, in @marks itself. */
static enum ap_status match(struct ap_memory_ranges *ranges, const struct ap_replay *replay, struct mark *marks,
                            size_t count, struct ap_error *reterr)
{
    size_t open = 0, first = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > first && (marks[i].name != marks[first].name || marks[i].device != marks[first].device)) {
            first = i;
            open = 0;
        }
        struct mark mark = marks[i];
        if (mark.start)
            marks[first + open++] = mark;
        else if (open)
            AP_TRY(add_pair(ranges, replay, &marks[first + --open], &mark, reterr));
    }
    return AP_OK;
}

static enum ap_status pair_up(struct ap_memory_ranges *ranges, const struct ap_replay *replay, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    size_t most = snapshot->annotation_count, count = 0;
    if (!most)
        return AP_OK;
    struct mark *marks;
    AP_TRY(AP_ALLOC(ranges->gate, marks, most, reterr));
    for (uint32_t i = 0; i < snapshot->annotation_count; i++) {
        const struct ap_annotation *annotation = &snapshot->annotations[i];
        bool start = is_stage(snapshot, annotation, "START");
        if (start || is_stage(snapshot, annotation, "END"))
            marks[count++] = (struct mark){ annotation->time_ns, annotation->name.id, i, annotation->device, start };
    }
    ap_sort(marks, count, sizeof(*marks), by_device_name_time);
    enum ap_status status = match(ranges, replay, marks, count, reterr);
    AP_FREE(ranges->gate, marks, most);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- measuring */

/* The curve of a device up to some position, and of it the points that no later one reaches: a peak since any earlier
 * position is the first of these from there on. */
struct curve_walk {
    struct ap_gate *gate;
    const struct ap_replay *replay;
    const struct ap_replay_device *device;
    uint32_t position;
    int64_t now_bytes;
    struct high {
        int64_t bytes;
        uint32_t position;
    } * highs;
    size_t count, capacity;
};

static enum ap_status note_high(struct curve_walk *walk, struct ap_error *reterr)
{
    while (walk->count && walk->highs[walk->count - 1].bytes <= walk->now_bytes)
        walk->count--;
    AP_TRY_ADD(walk->gate, walk->highs, walk->count, walk->capacity, reterr,
               (struct high){ walk->now_bytes, walk->position });
    return AP_OK;
}

static enum ap_status walk_to(struct curve_walk *walk, uint32_t position, struct ap_error *reterr)
{
    bool overflowed = false;
    while (walk->position < position) {
        struct ap_replay_step step;
        ap_replay_step(walk->replay, walk->device->first_entry + walk->position++, &step);
        walk->now_bytes = ap_add_sat(walk->now_bytes, step.requested_bytes, &overflowed);
        AP_TRY(note_high(walk, reterr));
    }
    return AP_OK;
}

static int64_t peak_since(const struct curve_walk *walk, uint32_t position)
{
    size_t low = 0;
    AP_BISECT(low, walk->count - 1, at, walk->highs[at].position < position);
    return walk->highs[low].bytes;
}

struct visit {
    uint32_t position, range;
    bool end;
};

static int by_position(const void *left, const void *right)
{
    const struct visit *a = left, *b = right;
    AP_BY_SMALLER(a->position, b->position);
    if (a->end != b->end)
        return a->end ? 1 : -1;
    return a->range < b->range ? -1 : a->range > b->range;
}

static enum ap_status visit_all(struct ap_memory_ranges *ranges, struct curve_walk *walk, const struct visit *visits,
                                size_t count, struct ap_error *reterr)
{
    AP_TRY(note_high(walk, reterr));
    for (size_t i = 0; i < count; i++) {
        struct ap_memory_range *range = &ranges->list[visits[i].range];
        AP_TRY(walk_to(walk, visits[i].position, reterr));
        if (!visits[i].end) {
            range->start_bytes = walk->now_bytes;
        } else {
            range->end_bytes = walk->now_bytes;
            range->peak_bytes = peak_since(walk, range->from);
        }
    }
    return AP_OK;
}

static enum ap_status measure(struct ap_memory_ranges *ranges, const struct ap_replay *replay, size_t first, size_t count,
                              struct ap_error *reterr)
{
    const struct ap_replay_device *device = &replay->devices[ranges->list[first].device];
    struct curve_walk walk = {
        .gate = ranges->gate, .replay = replay, .device = device, .now_bytes = device->requested.start_bytes
    };
    struct visit *visits;
    AP_TRY(AP_ALLOC(ranges->gate, visits, 2 * count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_memory_range *range = &ranges->list[first + i];
        visits[2 * i] = (struct visit){ range->from, (uint32_t)(first + i), false };
        visits[2 * i + 1] = (struct visit){ range->to > range->from ? range->to : range->from, (uint32_t)(first + i), true };
    }
    ap_sort(visits, 2 * count, sizeof(*visits), by_position);
    enum ap_status status = visit_all(ranges, &walk, visits, 2 * count, reterr);
    AP_FREE(ranges->gate, visits, 2 * count);
    AP_FREE(ranges->gate, walk.highs, walk.capacity);
    return status;
}

static int by_device_name_start(const void *left, const void *right)
{
    const struct ap_memory_range *a = left, *b = right;
    AP_BY_SMALLER(a->device, b->device);
    AP_BY_SMALLER(a->name, b->name);
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static enum ap_status fill(struct ap_memory_ranges *ranges, const struct ap_replay *replay, struct ap_error *reterr)
{
    AP_TRY(pair_up(ranges, replay, reterr));
    ap_sort(ranges->list, ranges->count, sizeof(*ranges->list), by_device_name_start);
    for (size_t first = 0, end; first < ranges->count; first = end) {
        for (end = first + 1; end < ranges->count && ranges->list[end].device == ranges->list[first].device;)
            end++;
        AP_TRY(measure(ranges, replay, first, end - first, reterr));
    }
    return AP_OK;
}

enum ap_status ap_memory_ranges_init(struct ap_memory_ranges *ranges, const struct ap_replay *replay, struct ap_gate *gate,
                                     struct ap_error *reterr)
{
    *ranges = (struct ap_memory_ranges){ .gate = gate };
    enum ap_status status = fill(ranges, replay, reterr);
    if (status != AP_OK)
        ap_memory_ranges_release(ranges);
    return status;
}

void ap_memory_ranges_release(struct ap_memory_ranges *ranges)
{
    AP_FREE(ranges->gate, ranges->list, ranges->capacity);
    *ranges = (struct ap_memory_ranges){ .gate = ranges->gate };
}

const struct ap_memory_range *ap_memory_range_at(const struct ap_memory_ranges *ranges, uint32_t device, int64_t time_ns)
{
    const struct ap_memory_range *best = NULL;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct ap_memory_range *range = &ranges->list[i];
        if (range->device == device && range->start_ns <= time_ns && range->end_ns >= time_ns &&
            (!best || range->start_ns > best->start_ns ||
             (range->start_ns == best->start_ns && range->end_ns < best->end_ns)))
            best = range;
    }
    return best;
}
