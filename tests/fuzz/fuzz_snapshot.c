/* SPDX-License-Identifier: MIT
 * Any bytes as a snapshot: reader and pass, to the model. The first byte chooses piece size and salvage. */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "memory_join.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool promise)
{
    if (!promise)
        abort();
}

/* What a snapshot promises, whatever the bytes were. */
static void check_snapshot(const struct ap_snapshot *snapshot, const struct ap_notes *notes, bool salvage)
{
    uint64_t blocks = 0, actions = 0;
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        check(snapshot->segments[i].first_block == blocks);
        check(snapshot->segments[i].type.id <= ap_strpool_count(&snapshot->strings));
        blocks += snapshot->segments[i].block_count;
    }
    check(blocks == snapshot->block_count);
    for (uint32_t i = 0; i < snapshot->history_count; i++) {
        check(snapshot->histories[i].first_action == actions);
        actions += snapshot->histories[i].action_count;
    }
    check(actions == snapshot->actions.count);
    bool cut = notes->notes[AP_COUNTER_cut].count, salvaged = notes->notes[AP_COUNTER_salvaged].count;
    check(snapshot->complete == !(cut || salvaged));
    check(salvage || !salvaged);
}

static void check_model(const struct ap_snapshot *snapshot, const struct ap_model *model)
{
    const struct ap_value *memory = ap_value_member(&model->root, "memory");
    const struct ap_value *state = ap_value_member(memory, "state");
    int64_t inactive = ap_value_integer(ap_value_member(state, "inactive_bytes"), 0);
    int64_t split = ap_value_integer(ap_value_member(state, "inactive_split_bytes"), 0);
    int64_t wholly_free = ap_value_integer(ap_value_member(state, "wholly_free_segment_bytes"), 0);
    bool overflowed = false;
    int64_t sum = ap_add_sat(split, wholly_free, &overflowed);
    const int64_t large = INT64_MAX / 2;
    if (inactive < large && inactive > -large && split < large && split > -large)
        check(overflowed || sum == inactive || wholly_free >= large || wholly_free <= -large);
    uint64_t actions = 0;
    for (const struct ap_value *action = ap_value_first(ap_value_at(memory, "trace_actions.counts")); action;
         action = action->next)
        actions += (uint64_t)action->as.integer;
    check(actions == snapshot->actions.count);
    check(ap_value_count(ap_value_member(memory, "largest_segments")) == snapshot->segment_count);
}

/* A lifetime's entries are its device's, and say that they belong to it. */
static void check_entry(const struct ap_replay *replay, uint32_t device, uint32_t lifetime, uint32_t entry)
{
    if (entry == AP_NO_ENTRY)
        return;
    check(entry - replay->devices[device].first_entry < replay->devices[device].entry_count);
    check(replay->lifetime_of[entry] == lifetime);
}

static void check_device(const struct ap_replay *replay, uint32_t index, bool overflowed)
{
    const struct ap_replay_device *device = &replay->devices[index];
    struct ap_curve_point *points = NULL;
    struct ap_error error;
    uint32_t count = 0, capacity = 0;
    for (uint32_t i = device->first_lifetime; i < device->first_lifetime + device->lifetime_count; i++) {
        struct ap_allocation allocation;
        check_entry(replay, index, i, replay->lifetimes[i].alloc);
        check_entry(replay, index, i, replay->lifetimes[i].free_requested);
        check_entry(replay, index, i, replay->lifetimes[i].free_completed);
        ap_replay_allocation(replay, i, &allocation);
        check(allocation.device == index);
    }
    check(overflowed || (device->requested.peak_bytes >= device->requested.start_bytes &&
                         device->requested.peak_bytes >= device->requested.end_bytes));
    if (ap_replay_curve(replay, index, 9, &points, &count, &capacity, &error) != AP_OK)
        return;
    check(count && count <= capacity && points[count - 1].position == device->entry_count);
    check(overflowed || points[count - 1].requested_bytes == device->requested.end_bytes);
    ap_mem_free(replay->gate, points, capacity * sizeof(*points));
}

static void check_replay(const struct ap_snapshot *snapshot)
{
    struct ap_replay *replay;
    struct ap_error error;
    bool overflowed = false;
    if (ap_replay_new(snapshot, snapshot->gate, &overflowed, &replay, &error) != AP_OK)
        return;
    for (uint32_t i = 0; i < replay->device_count; i++)
        check_device(replay, i, overflowed);
    ap_replay_free(replay);
}

static void run(const uint8_t *text, size_t bytes, size_t piece_bytes, bool salvage)
{
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_error error;
    struct ap_json_reader *json = NULL;
    struct ap_snapshot *snapshot = NULL;
    struct feed feed = feed_of(text, bytes, piece_bytes);
    const struct ap_json_limits limits = { .window_bytes = piece_bytes, .token_bytes = 1 << 16 };
    const struct ap_snapshot_options options = { .salvage = salvage };
    memset(&notes, 0, sizeof(notes));
    ap_gate_init(&gate, (uint64_t)64 << 20);
    if (ap_json_reader_new(&gate, feed_source(&feed), &notes, &limits, &json, &error) != AP_OK)
        return;
    if (ap_snapshot_read(json, &gate, &notes, &options, &snapshot, &error) == AP_OK) {
        struct ap_model model;
        check_snapshot(snapshot, &notes, salvage);
        check_replay(snapshot);
        ap_model_init(&model, &gate);
        if (ap_join_part_snapshot(snapshot, "fuzz", 0, true, NULL, &notes, &model, &error) == AP_OK)
            check_model(snapshot, &model);
        ap_model_release(&model);
    }
    ap_snapshot_free(snapshot);
    ap_json_reader_free(json);
    check(atomic_load(&gate.used_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 4096, 1, 2, 3, 7, 16, 64, 1000 };
    if (size == 0)
        return 0;
    run(data + 1, size - 1, pieces[data[0] & 7], data[0] & 8);
    return 0;
}
