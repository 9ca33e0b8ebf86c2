/* SPDX-License-Identifier: MIT */
#include "memory_join.h"

#include "clock_check.h"
#include "join_contradiction.h"
#include "decimal.h"
#include "part_snapshot.h"
#include "snapshot_state.h"

#include "poison.h"

/* 2001-09-09: a time of day; no machine is up for so long that its other clocks show it. */
#define EPOCH_LIKE_NS INT64_C(1000000000000000000)

void ap_memory_join_init(struct ap_memory_join *join, const struct ap_trace *trace, struct ap_gate *gate)
{
    struct ap_text base = ap_strpool_text(&trace->strings, trace->base_time_ns);
    uint64_t base_ns = 0;
    *join = (struct ap_memory_join){ .gate = gate, .trace = trace, .state = AP_JOIN_NO_HISTORY, .peak_reserved_bytes = -1 };
    if (!trace->has_window)
        return;
    if (trace->window_start_ns >= EPOCH_LIKE_NS) {
        join->has_base = true;
    } else if (trace->base_time_ns.id && ap_decimal_to_u64(base.data, base.bytes, &base_ns)) {
        join->has_base = base_ns >= (uint64_t)EPOCH_LIKE_NS && base_ns <= (uint64_t)AP_MAX_TIME_NS / 2;
        join->base_ns = join->has_base ? (int64_t)base_ns : 0;
    }
}

void ap_memory_join_release(struct ap_memory_join *join)
{
    AP_FREE(join->gate, join->points, join->point_capacity);
    join->points = NULL;
    join->point_count = join->point_capacity = 0;
}

int64_t ap_memory_join_capacity(const struct ap_memory_join *join, uint32_t device)
{
    for (size_t i = 0; i < join->trace->device_count; i++)
        if (join->trace->devices[i].id == (int64_t)device && join->trace->devices[i].memory_bytes > 0)
            return join->trace->devices[i].memory_bytes;
    return 0;
}

/* ---------------------------------------------------------------------------------------------------- the history's side */

static bool has_claims(const struct ap_replay_device *device)
{
    return (device->begin == AP_BEGIN_EMPTY || device->begin == AP_BEGIN_MID_RUN) && device->requested.known;
}

static bool choose_device(struct ap_memory_join *join, const struct ap_replay *replay)
{
    bool found = false;
    for (uint32_t i = 0; i < replay->device_count; i++) {
        if (!has_claims(&replay->devices[i]) ||
            (found && replay->devices[i].requested.peak_bytes <= replay->devices[join->device].requested.peak_bytes))
            continue;
        join->device = i;
        found = true;
    }
    return found;
}

/* The trace's time of an entry: what is outside of all reason stays there without an overflow. */
static int64_t time_of(const struct ap_memory_join *join, const struct ap_snapshot *snapshot, uint32_t entry)
{
    bool overflowed = false;
    int64_t moved_ns = ap_add_sat(snapshot->actions.time_ns[entry], join->offset_ns, &overflowed);
    return ap_subtract_sat(moved_ns, join->base_ns, &overflowed);
}

static void take_span(struct ap_memory_join *join, const struct ap_replay *replay)
{
    const struct ap_replay_device *device = &replay->devices[join->device];
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    bool overflowed = false;
    for (uint32_t i = 0; i < device->entry_count; i++) {
        int64_t time_ns = time_of(join, replay->snapshot, device->first_entry + i);
        first_ns = time_ns < first_ns ? time_ns : first_ns;
        last_ns = time_ns > last_ns ? time_ns : last_ns;
    }
    join->history_ns = ap_subtract_sat(last_ns, first_ns, &overflowed);
    join->start_ns = first_ns > join->trace->window_start_ns ? first_ns : join->trace->window_start_ns;
    join->end_ns = last_ns < join->trace->window_end_ns ? last_ns : join->trace->window_end_ns;
}

static void take_moments(struct ap_memory_join *join, const struct ap_replay *replay)
{
    const struct ap_actions *actions = &replay->snapshot->actions;
    const struct ap_replay_device *device = &replay->devices[join->device];
    const struct ap_curve *curve = &device->requested;
    join->peak = (struct ap_join_moment){ .bytes = curve->peak_bytes, .device = join->device };
    if (curve->peak_position) {
        join->peak.time_ns = time_of(join, replay->snapshot, device->first_entry + curve->peak_position - 1);
        join->peak.known = true;
    }
    for (uint32_t i = 0; i < replay->device_count; i++)
        for (uint32_t entry = replay->devices[i].first_entry;
             entry < replay->devices[i].first_entry + replay->devices[i].entry_count; entry++) {
            if (actions->name[entry].id != AP_ACTION_OOM || !(actions->has[entry] & AP_ACTION_HAS_TIME))
                continue;
            bool told = (actions->has[entry] & AP_ACTION_HAS_SIZE) && actions->size_bytes[entry] >= 0;
            join->failures[join->failure_count++ % AP_JOIN_MOMENTS] =
                (struct ap_join_moment){ time_of(join, replay->snapshot, entry), told ? actions->size_bytes[entry] : -1, i,
                                         true };
        }
}

/* ------------------------------------------------------------------------------------------------------------ the curve */

static uint32_t count_within(const struct ap_memory_join *join, const struct ap_replay *replay)
{
    const struct ap_replay_device *device = &replay->devices[join->device];
    uint32_t count = 0;
    for (uint32_t i = 0; i < device->entry_count; i++) {
        int64_t time_ns = time_of(join, replay->snapshot, device->first_entry + i);
        count += time_ns >= join->start_ns && time_ns <= join->end_ns;
    }
    return count;
}

static void take_entry(struct ap_memory_join *join, int64_t time_ns, int64_t bytes, bool begins)
{
    if (begins)
        join->points[join->point_count++] = (struct ap_join_point){ time_ns, bytes, bytes };
    struct ap_join_point *point = &join->points[join->point_count - 1];
    point->last_bytes = bytes;
    point->high_bytes = bytes > point->high_bytes ? bytes : point->high_bytes;
    if (!join->peak_within.known || bytes > join->peak_within.bytes)
        join->peak_within = (struct ap_join_moment){ time_ns, bytes, join->device, true };
}

/* Times that run backwards count as the latest before them, so that the points are in order. */
static enum ap_status take_curve(struct ap_memory_join *join, const struct ap_replay *replay, struct ap_error *reterr)
{
    const struct ap_replay_device *device = &replay->devices[join->device];
    uint32_t count = count_within(join, replay), together = count / AP_JOIN_POINTS + 1, taken = 0;
    int64_t bytes = device->requested.start_bytes, latest_ns = INT64_MIN;
    bool overflowed = false;
    join->exact = together == 1;
    AP_TRY(AP_RESERVE(join->gate, join->points, join->point_capacity, (size_t)count / together + 1, reterr));
    join->start_bytes = bytes;
    for (uint32_t i = 0; i < device->entry_count; i++) {
        struct ap_replay_step step;
        int64_t time_ns = time_of(join, replay->snapshot, device->first_entry + i);
        ap_replay_step(replay, device->first_entry + i, &step);
        bytes = ap_add_sat(bytes, step.requested_bytes, &overflowed);
        bool within = time_ns >= join->start_ns && time_ns <= join->end_ns;
        latest_ns = within && time_ns > latest_ns ? time_ns : latest_ns;
        if (within)
            take_entry(join, latest_ns, bytes, taken++ % together == 0);
        else if (!join->point_count)
            join->start_bytes = bytes;
    }
    return AP_OK;
}

static enum ap_status judge_clocks(struct ap_memory_join *join, const struct ap_replay *replay, struct ap_error *reterr)
{
    struct ap_clock_check check;
    AP_TRY(ap_clock_check(join->trace, replay, join->device, join->base_ns, join->gate, &check, reterr));
    join->compared = check.compared;
    join->matched = check.matched;
    join->offset_known = check.verdict == AP_CLOCKS_AGREE;
    join->offset_ns = join->offset_known ? check.offset_ns : 0;
    if (check.verdict == AP_CLOCKS_CONTRADICT)
        join->state = AP_JOIN_OTHER_RUN;
    return AP_OK;
}

/* Have trace and snapshot a stretch in common? */
static bool overlaps(struct ap_memory_join *join, const struct ap_replay *replay)
{
    take_span(join, replay);
    if (join->start_ns >= join->end_ns)
        join->state = AP_JOIN_APART;
    return join->state == AP_JOIN_JOINED;
}

/* Fills in the rest. */
static enum ap_status take_snapshot(struct ap_memory_join *join, const struct ap_replay *replay, struct ap_error *reterr)
{
    if (ap_join_is_of_another_run(join->state) || !choose_device(join, replay))
        return AP_OK;
    const struct ap_replay_device *device = &replay->devices[join->device];
    if (device->reserved.known)
        join->peak_reserved_bytes = device->reserved.peak_bytes;
    join->doubtful = device->below_zero || device->above_reserved || device->times_backwards;
    join->state = !device->has_times ? AP_JOIN_NO_HISTORY_CLOCK : !join->has_base ? AP_JOIN_NO_TRACE_CLOCK : AP_JOIN_JOINED;
    if (join->state != AP_JOIN_JOINED || !overlaps(join, replay))
        return AP_OK;
    if (ap_join_bytes_contradict(join, replay))
        join->state = AP_JOIN_OTHER_BYTES;
    else
        AP_TRY(judge_clocks(join, replay, reterr));
    if (join->state != AP_JOIN_JOINED || !overlaps(join, replay)) /* again: the times have moved by the offset */
        return AP_OK;
    take_moments(join, replay);
    return take_curve(join, replay, reterr);
}

static int64_t device_bytes(const void *self, uint32_t device)
{
    return ap_memory_join_capacity(self, device);
}

enum ap_status ap_join_part_snapshot(const struct ap_snapshot *snapshot, const char *path, uint64_t top_n, bool for_pictures,
                                     struct ap_memory_join *join, struct ap_notes *notes, struct ap_model *model,
                                     struct ap_error *reterr)
{
    bool overflowed = false;
    struct ap_replay *replay;
    AP_TRY(ap_replay_new(snapshot, snapshot->gate, &overflowed, &replay, reterr));
    if (join)
        ap_join_find_contradiction(join, replay);
    bool of_one_device = join && !ap_join_is_of_another_run(join->state);
    const struct ap_snapshot_part_options options = { .path = path,
                                                      .top_n = top_n,
                                                      .for_pictures = for_pictures,
                                                      .device_bytes = of_one_device ? device_bytes : NULL,
                                                      .device_bytes_self = join };
    enum ap_status status = ap_part_snapshot(snapshot, replay, overflowed, &options, notes, model, reterr);
    if (status == AP_OK && join)
        status = take_snapshot(join, replay, reterr);
    ap_replay_free(replay);
    return status;
}
