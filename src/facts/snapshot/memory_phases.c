/* SPDX-License-Identifier: MIT */
#include "memory_phases.h"

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

static enum ap_status add_phase(struct ap_memory_phases *phases, const struct ap_replay *replay, uint32_t device,
                                const struct mark *start, const struct mark *end, struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    if (!has_usable_times(of))
        return AP_OK;
    AP_TRY_ADD(phases->gate, phases->list, phases->count, phases->capacity, reterr,
               (struct ap_memory_phase){
                   .start_ns = start->time_ns,
                   .end_ns = end->time_ns,
                   .name = start->name,
                   .device = device,
                   .from = position_at(replay, of, start->time_ns, false),
                   .to = position_at(replay, of, end->time_ns, true),
               });
    return AP_OK;
}

static enum ap_status add_pair(struct ap_memory_phases *phases, const struct ap_replay *replay, const struct mark *start,
                               const struct mark *end, struct ap_error *reterr)
{
    uint32_t first = start->device < 0 ? 0 : (uint32_t)start->device;
    uint32_t last = start->device < 0 ? replay->device_count : first + 1;
    if (start->device < 0 && last > AP_MOST_OWNED_DEVICES)
        last = AP_MOST_OWNED_DEVICES;
    for (uint32_t device = first; device < last && device < replay->device_count; device++)
        AP_TRY(add_phase(phases, replay, device, start, end, reterr));
    return AP_OK;
}

/* Marks of one name and device stand together; of them the open ones are kept at the front, in @marks itself. */
static enum ap_status match(struct ap_memory_phases *phases, const struct ap_replay *replay, struct mark *marks,
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
            AP_TRY(add_pair(phases, replay, &marks[first + --open], &mark, reterr));
    }
    return AP_OK;
}

static enum ap_status pair_up(struct ap_memory_phases *phases, const struct ap_replay *replay, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    size_t most = snapshot->annotation_count, count = 0;
    if (!most)
        return AP_OK;
    struct mark *marks;
    AP_TRY(AP_ALLOC(phases->gate, marks, most, reterr));
    for (uint32_t i = 0; i < snapshot->annotation_count; i++) {
        const struct ap_annotation *annotation = &snapshot->annotations[i];
        bool start = is_stage(snapshot, annotation, "START");
        if (start || is_stage(snapshot, annotation, "END"))
            marks[count++] = (struct mark){ annotation->time_ns, annotation->name.id, i, annotation->device, start };
    }
    ap_sort(marks, count, sizeof(*marks), by_device_name_time);
    enum ap_status status = match(phases, replay, marks, count, reterr);
    AP_FREE(phases->gate, marks, most);
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
    uint32_t position, phase;
    bool end;
};

static int by_position(const void *left, const void *right)
{
    const struct visit *a = left, *b = right;
    AP_BY_SMALLER(a->position, b->position);
    if (a->end != b->end)
        return a->end ? 1 : -1;
    return a->phase < b->phase ? -1 : a->phase > b->phase;
}

static enum ap_status visit_all(struct ap_memory_phases *phases, struct curve_walk *walk, const struct visit *visits,
                                size_t count, struct ap_error *reterr)
{
    AP_TRY(note_high(walk, reterr));
    for (size_t i = 0; i < count; i++) {
        struct ap_memory_phase *phase = &phases->list[visits[i].phase];
        AP_TRY(walk_to(walk, visits[i].position, reterr));
        if (!visits[i].end) {
            phase->start_bytes = walk->now_bytes;
        } else {
            phase->end_bytes = walk->now_bytes;
            phase->peak_bytes = peak_since(walk, phase->from);
        }
    }
    return AP_OK;
}

static enum ap_status measure(struct ap_memory_phases *phases, const struct ap_replay *replay, size_t first, size_t count,
                              struct ap_error *reterr)
{
    const struct ap_replay_device *device = &replay->devices[phases->list[first].device];
    struct curve_walk walk = {
        .gate = phases->gate, .replay = replay, .device = device, .now_bytes = device->requested.start_bytes
    };
    struct visit *visits;
    AP_TRY(AP_ALLOC(phases->gate, visits, 2 * count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_memory_phase *phase = &phases->list[first + i];
        visits[2 * i] = (struct visit){ phase->from, (uint32_t)(first + i), false };
        visits[2 * i + 1] = (struct visit){ phase->to > phase->from ? phase->to : phase->from, (uint32_t)(first + i), true };
    }
    ap_sort(visits, 2 * count, sizeof(*visits), by_position);
    enum ap_status status = visit_all(phases, &walk, visits, 2 * count, reterr);
    AP_FREE(phases->gate, visits, 2 * count);
    AP_FREE(phases->gate, walk.highs, walk.capacity);
    return status;
}

static int by_device_name_start(const void *left, const void *right)
{
    const struct ap_memory_phase *a = left, *b = right;
    AP_BY_SMALLER(a->device, b->device);
    AP_BY_SMALLER(a->name, b->name);
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static enum ap_status fill(struct ap_memory_phases *phases, const struct ap_replay *replay, struct ap_error *reterr)
{
    AP_TRY(pair_up(phases, replay, reterr));
    ap_sort(phases->list, phases->count, sizeof(*phases->list), by_device_name_start);
    for (size_t first = 0, end; first < phases->count; first = end) {
        for (end = first + 1; end < phases->count && phases->list[end].device == phases->list[first].device;)
            end++;
        AP_TRY(measure(phases, replay, first, end - first, reterr));
    }
    return AP_OK;
}

enum ap_status ap_memory_phases_init(struct ap_memory_phases *phases, const struct ap_replay *replay, struct ap_gate *gate,
                                     struct ap_error *reterr)
{
    *phases = (struct ap_memory_phases){ .gate = gate };
    enum ap_status status = fill(phases, replay, reterr);
    if (status != AP_OK)
        ap_memory_phases_release(phases);
    return status;
}

void ap_memory_phases_release(struct ap_memory_phases *phases)
{
    AP_FREE(phases->gate, phases->list, phases->capacity);
    *phases = (struct ap_memory_phases){ .gate = phases->gate };
}

const struct ap_memory_phase *ap_memory_phase_at(const struct ap_memory_phases *phases, uint32_t device, int64_t time_ns)
{
    const struct ap_memory_phase *best = NULL;
    for (size_t i = 0; i < phases->count; i++) {
        const struct ap_memory_phase *phase = &phases->list[i];
        if (phase->device == device && phase->start_ns <= time_ns && phase->end_ns >= time_ns &&
            (!best || phase->start_ns > best->start_ns ||
             (phase->start_ns == best->start_ns && phase->end_ns < best->end_ns)))
            best = phase;
    }
    return best;
}
