/* SPDX-License-Identifier: MIT
 * The replay of histories: hand-made ones with a known answer, and those of a model of the allocator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_model.h"
#include "oom.h"
#include "tap.h"

#define MiB ((int64_t)1 << 20)
#define GiB ((int64_t)1 << 30)

struct bench {
    struct ap_gate gate;
    struct ap_error error;
    struct ap_snapshot *snapshot;
    struct ap_replay *replay;
    bool overflowed;
    enum ap_status status;
};

static void keep(struct bench *bench, enum ap_status status)
{
    if (bench->status == AP_OK)
        bench->status = status;
}

static void begin(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    ap_gate_init(&bench->gate, 0);
    keep(bench, ap_snapshot_new(&bench->gate, &bench->snapshot, &bench->error));
    bench->snapshot->has = AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_HISTORY;
}

static void block(struct bench *bench, uint64_t address, int64_t size_bytes, int64_t requested_bytes,
                  enum ap_block_state state)
{
    const struct ap_block made = { .address = address,
                                   .size_bytes = size_bytes,
                                   .requested_bytes = requested_bytes,
                                   .state = (uint8_t)state,
                                   .has = AP_BLOCK_HAS_ADDRESS | AP_BLOCK_HAS_REQUESTED };
    keep(bench, ap_snapshot_add_block(bench->snapshot, &made, &bench->error));
}

/* The blocks added before are its. */
static void segment_in(struct bench *bench, int32_t device, uint64_t address, int64_t bytes, int64_t pool)
{
    const uint16_t has = AP_SEGMENT_HAS_DEVICE | AP_SEGMENT_HAS_ADDRESS | AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_POOL |
                         AP_SEGMENT_HAS_STREAM | AP_SEGMENT_HAS_TYPE | AP_SEGMENT_HAS_BLOCKS;
    const struct ap_segment made = { .address = address,
                                     .total_bytes = bytes,
                                     .device = device,
                                     .pool = { 0, pool },
                                     .type = { AP_TYPE_LARGE },
                                     .has = has };
    keep(bench, ap_snapshot_add_segment(bench->snapshot, &made, &bench->error));
}

static void segment(struct bench *bench, uint64_t address, int64_t bytes)
{
    segment_in(bench, 0, address, bytes, 0);
}

static void device_history(struct bench *bench)
{
    keep(bench, ap_snapshot_add_history(bench->snapshot, &bench->error));
}

static void entry(struct bench *bench, uint32_t name, uint64_t address, int64_t size_bytes)
{
    const struct ap_action made = {
        .name = { name }, .address = address, .size_bytes = size_bytes, .has = AP_ACTION_HAS_ADDRESS | AP_ACTION_HAS_SIZE
    };
    keep(bench, ap_snapshot_add_action(bench->snapshot, &made, &bench->error));
}

static const struct ap_replay_device *play(struct bench *bench)
{
    static const struct ap_replay_device nothing = { .entry_count = 0 };
    if (bench->status == AP_OK)
        keep(bench, ap_replay_new(bench->snapshot, &bench->gate, &bench->overflowed, &bench->replay, &bench->error));
    return bench->status == AP_OK && bench->replay->device_count ? &bench->replay->devices[0] : &nothing;
}

static void end(struct bench *bench)
{
    ap_replay_free(bench->replay);
    ap_snapshot_free(bench->snapshot);
    ok(bench->status == AP_OK && atomic_load(&bench->gate.used_bytes) == 0, "all went well and all memory is given back");
}

/* ----------------------------------------------------------------------------------------------------------- curves */

static void from_an_empty_state(void)
{
    struct bench bench;
    begin(&bench);
    block(&bench, 1000, 1024, 600, AP_BLOCK_ALLOCATED);
    block(&bench, 2024, 1024, 0, AP_BLOCK_INACTIVE);
    segment(&bench, 1000, 2048);
    device_history(&bench);
    entry(&bench, AP_ACTION_SEGMENT_ALLOC, 1000, 2048);
    entry(&bench, AP_ACTION_ALLOC, 1000, 600);
    entry(&bench, AP_ACTION_ALLOC, 2024, 700);
    entry(&bench, AP_ACTION_FREE_REQUESTED, 2024, 700);
    entry(&bench, AP_ACTION_FREE_COMPLETED, 2024, 700);
    const struct ap_replay_device *device = play(&bench);
    is_int(device->requested.start_bytes, 0, "nothing is live at the start");
    is_int(device->begin, AP_BEGIN_EMPTY, "which is said");
    is_int(device->requested.peak_bytes, 1300, "both tensors at the peak");
    is_int(device->requested.peak_position, 3, "after the third entry");
    is_int(device->requested.end_bytes, 600, "one is left");
    is_int(device->reserved.start_bytes, 0, "nothing is reserved at the start");
    is_int(device->reserved.peak_bytes, 2048, "the segment");
    is_u64(device->inconsistencies, 0, "all fits");
    ok(!device->ring_was_full && !device->below_zero && !device->above_reserved, "no doubts");
    is_int(device->lifetime_count, 2, "two lifetimes");
    end(&bench);
}

static void in_mid_run_with_a_hidden_peak(void)
{
    struct bench bench;
    uint32_t *list = NULL, count = 0;
    begin(&bench);
    block(&bench, 1000, 512, 500, AP_BLOCK_ALLOCATED);
    block(&bench, 1512, 1536, 0, AP_BLOCK_INACTIVE);
    segment(&bench, 1000, 2048);
    device_history(&bench);
    entry(&bench, AP_ACTION_FREE_REQUESTED, 1512, 900); /* it lived before and is gone */
    entry(&bench, AP_ACTION_FREE_COMPLETED, 1512, 900);
    entry(&bench, AP_ACTION_ALLOC, 2024, 300);
    entry(&bench, AP_ACTION_FREE_REQUESTED, 2024, 300);
    entry(&bench, AP_ACTION_FREE_COMPLETED, 2024, 300);
    const struct ap_replay_device *device = play(&bench);
    is_int(device->requested.start_bytes, 1400, "what lived before counts");
    is_int(device->requested.peak_bytes, 1400, "the peak is the start");
    is_int(device->requested.peak_position, 0, "before the first entry");
    is_int(device->begin, AP_BEGIN_MID_RUN, "it begins in mid-run");
    ok(device->ring_was_full, "a free of an unknown first: the ring was full");
    is_int(device->lived_before, 2, "two lived before");
    keep(&bench, ap_replay_live_at(bench.replay, 0, 0, AP_LIVE_REQUESTED, &list, &count, &bench.error));
    is_int(count, 2, "both are live at the start");
    ap_mem_free(&bench.gate, list, count * sizeof(*list));
    keep(&bench, ap_replay_live_at(bench.replay, 0, 1, AP_LIVE_REQUESTED, &list, &count, &bench.error));
    is_int(count, 1, "one behind the first entry");
    ap_mem_free(&bench.gate, list, count * sizeof(*list));
    keep(&bench, ap_replay_live_at(bench.replay, 0, 1, AP_LIVE_ACTIVE, &list, &count, &bench.error));
    is_int(count, 2, "where the other one still waits for a stream");
    ap_mem_free(&bench.gate, list, count * sizeof(*list));
    end(&bench);
}

static void one_kind_of_free_alone(void)
{
    static const uint32_t kinds[] = { AP_ACTION_FREE_COMPLETED, AP_ACTION_FREE_REQUESTED };
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++) {
        struct bench bench;
        begin(&bench);
        segment(&bench, 1000, 4096);
        device_history(&bench);
        entry(&bench, AP_ACTION_ALLOC, 1000, 600);
        entry(&bench, kinds[i], 1000, 600);
        entry(&bench, AP_ACTION_ALLOC, 1000, 800); /* the address again */
        entry(&bench, kinds[i], 1000, 800);
        const struct ap_replay_device *device = play(&bench);
        is_int(device->requested.start_bytes, 0, "start");
        is_int(device->requested.peak_bytes, 800, "the curve falls at the free that is there");
        is_int(device->active.peak_bytes, 800, "so does the active one");
        is_u64(device->inconsistencies, 0, "that is no contradiction");
        end(&bench);
    }
}

static void a_block_that_waits_at_the_end(void)
{
    struct bench bench;
    begin(&bench);
    block(&bench, 1000, 1024, 600, AP_BLOCK_PENDING);
    block(&bench, 2024, 1024, 1000, AP_BLOCK_PENDING); /* requested before the history */
    segment(&bench, 1000, 2048);
    device_history(&bench);
    entry(&bench, AP_ACTION_ALLOC, 1000, 600);
    entry(&bench, AP_ACTION_FREE_REQUESTED, 1000, 600);
    const struct ap_replay_device *device = play(&bench);
    is_u64(device->inconsistencies, 0, "a request without completion fits a block that waits");
    is_int(device->active.end_bytes, 1600, "both are active at the end");
    is_int(device->active.start_bytes, 1000, "one at the start");
    is_int(device->live_end_bytes, 0, "none is in use");
    is_int(device->offset_bytes, 1600, "so all of the requested curve is too high by both");
    ok(!ap_replay_is_live(bench.replay, 0, 0, 2, AP_LIVE_REQUESTED), "the first is not in use at the end");
    ok(ap_replay_is_live(bench.replay, 0, 0, 2, AP_LIVE_ACTIVE), "but active");
    ok(!ap_replay_is_live(bench.replay, 0, 1, 0, AP_LIVE_REQUESTED), "the second was given back before the start");
    end(&bench);
}

static void contradictions_are_counted(void)
{
    struct bench bench;
    begin(&bench);
    block(&bench, 1000, 1024, 600, AP_BLOCK_ALLOCATED);
    segment(&bench, 1000, 1024);
    device_history(&bench);
    entry(&bench, AP_ACTION_ALLOC, 1000, 599); /* its free says 600 */
    entry(&bench, AP_ACTION_ALLOC, 5000, 10);  /* never seen again */
    entry(&bench, AP_ACTION_ALLOC, 6000, 20);
    entry(&bench, AP_ACTION_FREE_REQUESTED, 6000, 20);
    entry(&bench, AP_ACTION_FREE_COMPLETED, 6000, 21);  /* another size */
    entry(&bench, AP_ACTION_FREE_REQUESTED, 1000, 600); /* live at the end all the same */
    const struct ap_replay_device *device = play(&bench);
    is_u64(device->odd[AP_REPLAY_ALLOC_LOST], 1, "an alloc without end");
    is_u64(device->odd[AP_REPLAY_FREE_OF_LIVE], 1, "a free of what is live");
    is_u64(device->odd[AP_REPLAY_SIZE_DIFFERS], 2, "two sizes of one allocation, twice");
    is_u64(device->inconsistencies, 4, "together");
    end(&bench);
}

static void one_entry_makes_no_claim(void)
{
    struct bench bench;
    begin(&bench);
    block(&bench, 1000, 1024, 600, AP_BLOCK_ALLOCATED);
    segment(&bench, 1000, 1024);
    device_history(&bench);
    entry(&bench, AP_ACTION_SNAPSHOT, 0, 1024);
    device_history(&bench);
    const struct ap_replay_device *device = play(&bench);
    is_int(device->begin, AP_BEGIN_SINGLE, "one entry is a ring of one");
    is_int(device->requested.start_bytes, 600, "what is live was live");
    is_int(device[1].begin, AP_BEGIN_NOTHING, "no entries is no history");
    end(&bench);
}

static void devices_do_not_mix(void)
{
    struct bench bench;
    begin(&bench);
    block(&bench, 1000, 1024, 600, AP_BLOCK_ALLOCATED);
    segment_in(&bench, 1, 1000, 1024, 0);
    block(&bench, 1000, 2048, 2000, AP_BLOCK_ALLOCATED);
    segment_in(&bench, 0, 1000, 2048, 0);
    device_history(&bench);
    entry(&bench, AP_ACTION_ALLOC, 1000, 2000);
    entry(&bench, AP_ACTION_SNAPSHOT, 0, 2048);
    device_history(&bench);
    entry(&bench, AP_ACTION_SEGMENT_MAP, 1000, 1024);
    entry(&bench, AP_ACTION_ALLOC, 1000, 600);
    const struct ap_replay_device *device = play(&bench);
    is_int(device[0].requested.end_bytes, 2000, "the first device's bytes");
    is_int(device[1].requested.end_bytes, 600, "the second one's");
    is_u64(device[0].inconsistencies + device[1].inconsistencies, 0, "one address on two devices is no contradiction");
    is_int(device[1].reserved.start_bytes, 0, "segment_map is undone");
    is_int(device[0].reserved.start_bytes, 2048, "on its own device");
    struct ap_allocation allocation;
    ap_replay_allocation(bench.replay, device[1].first_lifetime, &allocation);
    is_int(allocation.device, 1, "a lifetime knows its device");
    is_int(allocation.requested_bytes, 600, "its bytes");
    is_int(allocation.block_bytes, 1024, "its block");
    is_int(allocation.alloc, 3, "its entry");
    end(&bench);
}

static void hostile_sizes_saturate(void)
{
    struct bench bench;
    begin(&bench);
    segment(&bench, 1000, INT64_MAX);
    device_history(&bench);
    entry(&bench, AP_ACTION_ALLOC, 1, INT64_MAX);
    entry(&bench, AP_ACTION_ALLOC, 2, INT64_MAX);
    entry(&bench, AP_ACTION_FREE_REQUESTED, UINT64_MAX, INT64_MIN);
    entry(&bench, AP_ACTION_SEGMENT_FREE, UINT64_MAX - 1, INT64_MAX);
    entry(&bench, AP_ACTION_OOM, UINT64_MAX, INT64_MAX);
    (void)play(&bench);
    ok(bench.overflowed, "an overflow is said");
    struct ap_oom oom;
    enum ap_status status = ap_oom_examine(bench.replay, 0, 4, 0, &oom, &bench.error);
    is_int(status, AP_OK, "an absurd oom is examined");
    if (status == AP_OK)
        ap_oom_release(&oom);
    end(&bench);
}

/* ----------------------------------------------------------------------------------------------------- the model */

static bool same_space(struct bench *bench, const struct allocator_model *model, uint32_t position)
{
    const struct model_figures *expected = &model->figures[position];
    struct ap_space space;
    int64_t active_bytes = 0, inactive_bytes = 0, largest_bytes = 0, reserved_bytes = 0;
    if (ap_space_at(bench->replay, 0, position, &space, &bench->error) != AP_OK)
        return false;
    for (uint32_t i = 0; i < space.segment_count; i++) {
        const struct ap_space_segment *of = &space.segments[i];
        reserved_bytes += (int64_t)(of->end - of->address);
        for (int64_t j = -1; j < (int64_t)of->used_count; j++) {
            int64_t hole_bytes = (int64_t)ap_space_hole(&space, of, j);
            const struct ap_space_block *used = j < 0 ? NULL : &space.used[of->first_used + j];
            active_bytes += used ? (int64_t)(used->end - used->address) : 0;
            inactive_bytes += hole_bytes;
            largest_bytes = hole_bytes > largest_bytes ? hole_bytes : largest_bytes;
        }
    }
    /* What was not split off a block that is gone cannot be told from the free block behind it. */
    int64_t over_bytes = inactive_bytes - expected->inactive_bytes, gone = 0;
    for (uint32_t i = 0; i < space.used_count; i++)
        gone += bench->replay->lifetimes[space.used[i].lifetime].block == AP_NO_ENTRY;
    bool same = space.stray_count == 0 && reserved_bytes == expected->reserved_bytes &&
                active_bytes + inactive_bytes == reserved_bytes && over_bytes >= 0 && over_bytes <= gone * MiB &&
                largest_bytes >= expected->largest_hole_bytes && largest_bytes - expected->largest_hole_bytes <= MiB;
    ap_space_release(&space);
    return same;
}

static int64_t live_bytes(struct bench *bench, uint32_t position, enum ap_live which)
{
    uint32_t *list = NULL, count = 0;
    int64_t bytes = 0;
    keep(bench, ap_replay_live_at(bench->replay, 0, position, which, &list, &count, &bench->error));
    for (uint32_t i = 0; list && i < count; i++)
        bytes += ap_replay_lifetime_bytes(bench->replay, list[i]);
    ap_mem_free(&bench->gate, list, count * sizeof(*list));
    return bytes;
}

struct peak {
    int64_t bytes;
    uint32_t position;
};

static void raise_peak(struct peak *peak, int64_t bytes, uint32_t position)
{
    if (position == 0 || bytes > peak->bytes)
        *peak = (struct peak){ bytes, position };
}

static bool same_curve(const struct ap_curve *curve, const struct peak *peak, int64_t start_bytes, int64_t end_bytes)
{
    return curve->start_bytes == start_bytes && curve->peak_bytes == peak->bytes && curve->peak_position == peak->position &&
           curve->end_bytes == end_bytes;
}

/* What waits at the end counts in requested_size, on which the requested curve ends: all of it is higher by that. */
static bool same_curves(const struct ap_replay_device *device, const struct allocator_model *model)
{
    const struct model_figures *first = &model->figures[0], *last = &model->figures[model->entry_count];
    int64_t waiting_bytes = last->active_requested_bytes - last->requested_bytes;
    struct peak requested = { 0 }, active = { 0 }, reserved = { 0 };
    for (uint32_t i = 0; i <= model->entry_count; i++) {
        raise_peak(&requested, model->figures[i].requested_bytes + waiting_bytes, i);
        raise_peak(&active, model->figures[i].active_requested_bytes, i);
        raise_peak(&reserved, model->figures[i].reserved_bytes, i);
    }
    return same_curve(&device->requested, &requested, first->requested_bytes + waiting_bytes,
                      last->requested_bytes + waiting_bytes) &&
           same_curve(&device->active, &active, first->active_requested_bytes, last->active_requested_bytes) &&
           same_curve(&device->reserved, &reserved, first->reserved_bytes, last->reserved_bytes) &&
           device->live_end_bytes == last->requested_bytes;
}

static bool curve_keeps_extremes(struct bench *bench, const struct ap_replay_device *device)
{
    struct ap_curve_point *points = NULL;
    uint32_t count = 0, capacity = 0;
    bool requested = false, reserved = false, ordered = true;
    keep(bench, ap_replay_curve(bench->replay, 0, 40, &points, &count, &capacity, &bench->error));
    for (uint32_t i = 0; points && i < count; i++) {
        requested = requested || points[i].requested_bytes == device->requested.peak_bytes;
        reserved = reserved || points[i].reserved_bytes == device->reserved.peak_bytes;
        ordered = ordered && (i == 0 || points[i].position > points[i - 1].position);
    }
    bool ends = points && points[0].position == 0 && points[count - 1].position == device->entry_count &&
                points[count - 1].requested_bytes == device->requested.end_bytes;
    ap_mem_free(&bench->gate, points, capacity * sizeof(*points));
    return requested && reserved && ordered && ends && count <= 44;
}

static bool same_sets(struct bench *bench, const struct allocator_model *model, struct random *random)
{
    for (int i = 0; i < 10; i++) {
        uint32_t position = i ? (uint32_t)random_below(random, model->entry_count + 1) : model->entry_count;
        if (live_bytes(bench, position, AP_LIVE_REQUESTED) != model->figures[position].requested_bytes ||
            live_bytes(bench, position, AP_LIVE_ACTIVE) != model->figures[position].active_requested_bytes ||
            !same_space(bench, model, position))
            return false;
    }
    return true;
}

static void random_histories(void)
{
    int curves = 0, sets = 0, consistent = 0, thinned = 0, given_back = 0, begins = 0;
    const int runs = 150;
    for (int run = 0; run < runs; run++) {
        struct random random = { .state = (uint64_t)run };
        struct allocator_model *model = calloc(1, sizeof(*model));
        struct bench bench;
        size_t before = run % 3 ? random_below(&random, 400) : 0, steps = 1 + random_below(&random, 900);
        model->next_address = (uint64_t)1 << 40;
        for (size_t i = 0; i < before; i++)
            model_step(model, &random);
        model_record(model);
        for (size_t i = 0; i < steps || model->entry_count < 2; i++)
            model_step(model, &random);
        model_complete_unseen(model);
        begin(&bench);
        keep(&bench, model_snapshot(model, bench.snapshot, &bench.error));
        const struct ap_replay_device *device = play(&bench);
        curves += same_curves(device, model);
        consistent += device->inconsistencies == 0 && !device->below_zero;
        begins +=
            device->begin == (model->figures[0].active_bytes ? AP_BEGIN_MID_RUN : AP_BEGIN_EMPTY) && !device->above_reserved;
        sets += same_sets(&bench, model, &random);
        thinned += curve_keeps_extremes(&bench, device);
        ap_replay_free(bench.replay);
        ap_snapshot_free(bench.snapshot);
        given_back += bench.status == AP_OK && atomic_load(&bench.gate.used_bytes) == 0;
        free(model);
    }
    is_int(consistent, runs, "no contradiction in the allocator's own histories");
    is_int(curves, runs, "start, peak, its moment and end of all curves are the allocator's");
    is_int(sets, runs, "so are the live sets and the holes between them, at any position");
    is_int(begins, runs, "so is the way the history begins");
    is_int(thinned, runs, "a thinned curve keeps its ends and its peaks");
    is_int(given_back, runs, "all memory is given back");
}

/* -------------------------------------------------------------------------------------------------------- post-mortem */

/* 8 blocks of @used_bytes, each with a hole of @hole_bytes behind it, in one segment at 16 MiB. */
static void holes(struct bench *bench, int64_t used_bytes, int64_t hole_bytes, int64_t pool)
{
    uint64_t address = (uint64_t)(16 + pool * 100000) * 1048576;
    uint64_t at = address;
    for (int i = 0; i < 8; i++) {
        block(bench, at, used_bytes, used_bytes, AP_BLOCK_ALLOCATED);
        at += (uint64_t)used_bytes;
        if (hole_bytes)
            block(bench, at, hole_bytes, 0, AP_BLOCK_INACTIVE);
        at += (uint64_t)hole_bytes;
    }
    segment_in(bench, 0, address, 8 * (used_bytes + hole_bytes), pool);
}

static struct ap_oom examine(struct bench *bench, int64_t request_bytes, int64_t free_bytes, int64_t total_bytes)
{
    struct ap_oom oom = { .verdict = AP_OOM_UNKNOWN };
    device_history(bench);
    entry(bench, AP_ACTION_SNAPSHOT, 0, 0);
    entry(bench, AP_ACTION_OOM, (uint64_t)free_bytes, request_bytes);
    (void)play(bench);
    if (bench->status == AP_OK)
        keep(bench, ap_oom_examine(bench->replay, 0, 1, total_bytes, &oom, &bench->error));
    return oom;
}

static void truly_full(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 1 * GiB, 0, 0);
    struct ap_oom oom = examine(&bench, 512 * MiB, 256 * MiB, 0);
    is_int(oom.verdict, AP_OOM_TRULY_FULL, "all is in use");
    is_int(oom.capacity_bytes, 8 * GiB + 256 * MiB, "the capacity is what is reserved and what is free");
    ok(!oom.capacity_is_total && oom.consistent, "which is a lower bound");
    is_int(oom.release, AP_RELEASE_ONE_HOLE, "a hole is made");
    is_int(oom.released_count, 1, "by one block");
    is_int(oom.released_bytes, 1 * GiB, "of 1 GiB");
    ap_oom_release(&oom);
    end(&bench);
}

static void external_fragmentation(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 100 * MiB, 60 * MiB, 0);
    struct ap_oom oom = examine(&bench, 200 * MiB, 10 * MiB, 0);
    is_int(oom.verdict, AP_OOM_EXTERNAL_FRAGMENTATION, "480 MiB are free, in pieces of 60");
    is_int(oom.usable_bytes, 480 * MiB, "that many");
    is_int(oom.largest_hole_bytes, 60 * MiB, "the largest piece");
    is_int(oom.released_count, 1, "one block between two holes makes one of 220 MiB");
    is_int(oom.release, AP_RELEASE_ONE_HOLE, "in one segment");
    ap_oom_release(&oom);
    end(&bench);
}

static void full_and_in_pieces(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 1 * GiB, 20 * MiB, 0);
    struct ap_oom oom = examine(&bench, 100 * MiB, 10 * MiB, 0);
    is_int(oom.verdict, AP_OOM_TRULY_FULL, "98 % in use");
    ok(oom.signs[AP_OOM_EXTERNAL_FRAGMENTATION], "though 160 MiB are free, in pieces of 20");
    ap_oom_release(&oom);
    end(&bench);
}

/* 87 % are in use, and 95 % would be with the request, which fits into the pieces once: more than the history ever held, or
 * a step before held as much. */
static void fuller_than_ever(void)
{
    for (int before = 0; before < 2; before++) {
        struct bench bench;
        struct ap_oom oom = { .verdict = AP_OOM_UNKNOWN };
        begin(&bench);
        holes(&bench, 100 * MiB, 15 * MiB, 0);
        device_history(&bench);
        if (before) {
            entry(&bench, AP_ACTION_ALLOC, 1 << 20, 900 * MiB);
            entry(&bench, AP_ACTION_FREE_REQUESTED, 1 << 20, 900 * MiB);
            entry(&bench, AP_ACTION_FREE_COMPLETED, 1 << 20, 900 * MiB);
        }
        for (uint64_t i = 0; i < 8; i++)
            entry(&bench, AP_ACTION_ALLOC, (16 + 115 * i) * 1048576, 100 * MiB);
        entry(&bench, AP_ACTION_OOM, 2 * 1048576, 75 * MiB);
        (void)play(&bench);
        uint32_t last = before ? 11 : 8;
        if (bench.status == AP_OK)
            keep(&bench, ap_oom_examine(bench.replay, 0, last, 0, &oom, &bench.error));
        is_int(oom.usable_bytes, 120 * MiB, "as many bytes are free as are asked for, in pieces");
        is_int(oom.verdict, before ? AP_OOM_EXTERNAL_FRAGMENTATION : AP_OOM_TRULY_FULL,
               before ? "a step before had room" : "no step had as much");
        ap_oom_release(&oom);
        end(&bench);
    }
}

static void one_huge_request(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 100 * MiB, 0, 0);
    struct ap_oom oom = examine(&bench, 1000 * MiB, 700 * MiB, 0);
    is_int(oom.verdict, AP_OOM_ONE_HUGE_REQUEST, "1000 of 1500 MiB");
    ok(oom.signs[AP_OOM_TRULY_FULL], "so much is nowhere free");
    is_int(oom.release, AP_RELEASE_SEGMENTS, "only the whole segment would do");
    is_int(oom.released_count, 8, "all its blocks");
    ap_oom_release(&oom);
    end(&bench);
}

static void one_huge_request_that_the_pieces_would_hold(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 64 * MiB, 64 * MiB, 0);
    struct ap_oom oom = examine(&bench, 512 * MiB, 0, 0);
    is_int(oom.verdict, AP_OOM_EXTERNAL_FRAGMENTATION, "512 MiB are free, in pieces of 64");
    ok(oom.signs[AP_OOM_ONE_HUGE_REQUEST], "though it is half of all");
    ap_oom_release(&oom);
    end(&bench);
}

static void private_pools(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 500 * MiB, 0, 0);
    holes(&bench, 100 * MiB, 100 * MiB, 3);
    struct ap_oom oom = examine(&bench, 400 * MiB, 100 * MiB, 0);
    is_int(oom.verdict, AP_OOM_PRIVATE_POOLS, "800 MiB are free in a private pool");
    is_int(oom.elsewhere_bytes, 800 * MiB, "that many");
    is_int(oom.usable_bytes, 0, "none of them usable");
    ap_oom_release(&oom);
    end(&bench);
}

static void other_users(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 1 * GiB, 0, 0);
    struct ap_oom oom = examine(&bench, 1 * GiB, 512 * MiB, 40 * GiB);
    is_int(oom.verdict, AP_OOM_OTHER_USERS, "31.5 of 40 GiB belong to others");
    ok(oom.capacity_is_total && oom.signs[AP_OOM_TRULY_FULL], "what is ours is full");
    ap_oom_release(&oom);
    end(&bench);
    begin(&bench);
    holes(&bench, 128 * MiB, 0, 0);
    oom = examine(&bench, 600 * MiB, 512 * MiB, 0);
    is_int(oom.verdict, AP_OOM_TRULY_FULL, "a device that no total tells may be as small as it looks");
    ap_oom_release(&oom);
    end(&bench);
}

/* The allocator alone once had 12 GiB, and 3 of them went back: of what it has and what is free the device is short. */
static void others_take_what_was_ours(void)
{
    for (int taken = 0; taken < 2; taken++) {
        struct bench bench;
        struct ap_oom oom = { .verdict = AP_OOM_UNKNOWN };
        begin(&bench);
        holes(&bench, 768 * MiB, taken ? 256 * MiB : 0, 0); /* some pieces do not change it */
        device_history(&bench);
        entry(&bench, AP_ACTION_SEGMENT_FREE, 0x900000000000, taken ? 4 * GiB : 6 * GiB);
        entry(&bench, AP_ACTION_OOM, taken ? 64 * MiB : 4900 * MiB, taken ? 1 * GiB : 5000 * MiB);
        (void)play(&bench);
        if (bench.status == AP_OK)
            keep(&bench, ap_oom_examine(bench.replay, 0, 1, 0, &oom, &bench.error));
        is_int(oom.once_reserved_bytes, 12 * GiB, "what it had");
        is_int(oom.verdict, taken ? AP_OOM_OTHER_USERS : AP_OOM_TRULY_FULL, taken ? "others took it" : "it is still there");
        ap_oom_release(&oom);
        end(&bench);
    }
}

/* 8 GiB in use and 2 GiB in pieces: of a device of 40 GiB others have most, of one of 13 GiB they have little. */
static void others_leave_pieces(void)
{
    static const struct {
        int64_t total_bytes;
        enum ap_oom_verdict verdict;
    } devices[] = { { 40 * GiB, AP_OOM_OTHER_USERS }, { 13 * GiB, AP_OOM_EXTERNAL_FRAGMENTATION } };
    for (size_t i = 0; i < AP_COUNT_OF(devices); i++) {
        struct bench bench;
        begin(&bench);
        holes(&bench, 1 * GiB, 256 * MiB, 0);
        struct ap_oom oom = examine(&bench, 1 * GiB, 128 * MiB, devices[i].total_bytes);
        is_int(oom.verdict, devices[i].verdict, "what explains most of it");
        ok(oom.signs[AP_OOM_EXTERNAL_FRAGMENTATION] && oom.signs[AP_OOM_OTHER_USERS], "both are seen");
        ap_oom_release(&oom);
        end(&bench);
    }
}

static void a_limit_below_the_device(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 1 * GiB, 0, 0);
    struct ap_oom oom = examine(&bench, 1 * GiB, 30 * GiB, 0);
    is_int(oom.verdict, AP_OOM_TRULY_FULL, "the device had enough free, what the process may have is full");
    ok(oom.limited && oom.capacity_bytes == 8 * GiB, "which is about what it holds");
    is_int(oom.release, AP_RELEASE_ONE_HOLE, "one of its own had to be released");
    ap_oom_release(&oom);
    end(&bench);
}

/* 1 GiB is free in pieces, and 1.25 are asked for: where another GiB was its own before, that was to be had. */
static void what_it_had_below_a_limit(void)
{
    for (int had = 0; had < 2; had++) {
        struct bench bench;
        struct ap_oom oom = { .verdict = AP_OOM_UNKNOWN };
        begin(&bench);
        holes(&bench, 768 * MiB, 128 * MiB, 0);
        device_history(&bench);
        entry(&bench, had ? AP_ACTION_SEGMENT_FREE : AP_ACTION_SNAPSHOT, 0x900000000000, 1 * GiB);
        entry(&bench, AP_ACTION_OOM, 30 * GiB, 1280 * MiB);
        (void)play(&bench);
        if (bench.status == AP_OK)
            keep(&bench, ap_oom_examine(bench.replay, 0, 1, 0, &oom, &bench.error));
        is_int(oom.verdict, had ? AP_OOM_EXTERNAL_FRAGMENTATION : AP_OOM_TRULY_FULL, had ? "in pieces" : "more than it had");
        ap_oom_release(&oom);
        end(&bench);
    }
}

static void in_pieces_below_a_limit(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 1 * GiB, 256 * MiB, 0);
    struct ap_oom oom = examine(&bench, 1 * GiB, 30 * GiB, 40 * GiB + 128 * MiB);
    is_int(oom.verdict, AP_OOM_EXTERNAL_FRAGMENTATION, "as much was free in pieces");
    ok(oom.limited, "and nothing more was to be had");
    ap_oom_release(&oom);
    end(&bench);
}

/* The state at the failure, not the one at the end. */
static void what_was_freed_later_was_live(void)
{
    struct bench bench;
    struct ap_oom oom = { .verdict = AP_OOM_UNKNOWN };
    begin(&bench);
    block(&bench, 1048576, 10 * MiB, 0, AP_BLOCK_INACTIVE);
    segment(&bench, 1048576, 10 * MiB);
    device_history(&bench);
    entry(&bench, AP_ACTION_OOM, 2 * MiB, 30 * MiB);
    entry(&bench, AP_ACTION_FREE_REQUESTED, 1048576, 10 * MiB);
    entry(&bench, AP_ACTION_FREE_COMPLETED, 1048576, 10 * MiB);
    entry(&bench, AP_ACTION_FREE_REQUESTED, (uint64_t)1 << 33, 90 * MiB);
    entry(&bench, AP_ACTION_FREE_COMPLETED, (uint64_t)1 << 33, 90 * MiB);
    entry(&bench, AP_ACTION_SEGMENT_FREE, (uint64_t)1 << 33, 90 * MiB);
    (void)play(&bench);
    keep(&bench, ap_oom_examine(bench.replay, 0, 0, 0, &oom, &bench.error));
    is_int(oom.reserved_bytes, 100 * MiB, "the segment that went was there");
    is_int(oom.active_bytes, 100 * MiB, "so were the blocks");
    is_int(oom.verdict, AP_OOM_TRULY_FULL, "all was in use");
    ok(oom.consistent, "all of it is accounted for");
    is_int(oom.released_count, 1, "one would have been enough");
    is_int(oom.released_bytes, 90 * MiB, "the large one");
    ap_oom_release(&oom);
    end(&bench);
}

/* An expandable segment of pages of 20 MiB, which grew, shrank in the middle and was filled. */
static void expandable_segments(void)
{
    const uint64_t base = (uint64_t)1 << 30, page = 20u << 20;
    static const struct {
        uint32_t position, segments;
        int64_t reserved_pages;
    } wanted[] = { { 0, 0, 0 }, { 1, 1, 2 }, { 2, 1, 4 }, { 3, 2, 3 }, { 4, 1, 2 }, { 5, 2, 3 } };
    struct bench bench;
    begin(&bench);
    segment(&bench, base, (int64_t)page);
    bench.snapshot->segments[0].expandable = true;
    segment(&bench, base + 2 * page, (int64_t)page);
    bench.snapshot->segments[1].expandable = true;
    segment(&bench, base + 3 * page, (int64_t)page);
    bench.snapshot->segments[2].expandable = true;
    device_history(&bench);
    entry(&bench, AP_ACTION_SEGMENT_MAP, base, 2 * (int64_t)page);
    entry(&bench, AP_ACTION_SEGMENT_MAP, base + 2 * page, 2 * (int64_t)page);
    entry(&bench, AP_ACTION_SEGMENT_UNMAP, base + page, (int64_t)page);
    entry(&bench, AP_ACTION_SEGMENT_UNMAP, base, (int64_t)page);
    entry(&bench, AP_ACTION_SEGMENT_MAP, base, (int64_t)page);
    const struct ap_replay_device *device = play(&bench);
    is_int(device->reserved.start_bytes, 0, "nothing is mapped at the start");
    is_int(device->reserved.peak_bytes, 4 * (int64_t)page, "four pages at the peak");
    for (size_t i = 0; i < AP_COUNT_OF(wanted); i++) {
        struct ap_space space;
        int64_t bytes = 0;
        keep(&bench, ap_space_at(bench.replay, 0, wanted[i].position, &space, &bench.error));
        if (bench.status != AP_OK)
            break;
        for (uint32_t j = 0; j < space.segment_count; j++)
            bytes += (int64_t)(space.segments[j].end - space.segments[j].address);
        is_int(space.segment_count, wanted[i].segments, "mapped ranges that touch are one");
        is_int(bytes, wanted[i].reserved_pages * (int64_t)page, "of so many pages");
        ap_space_release(&space);
    }
    end(&bench);
}

/* ------------------------------------------------------------------------------------------------------------ memory */

static enum ap_status examine_all(const struct ap_snapshot *snapshot, struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_replay *replay;
    struct ap_oom oom;
    bool overflowed = false;
    AP_TRY(ap_replay_new(snapshot, gate, &overflowed, &replay, reterr));
    enum ap_status status = ap_oom_examine(replay, 0, 1, 0, &oom, reterr);
    if (status == AP_OK)
        ap_oom_release(&oom);
    ap_replay_free(replay);
    return status;
}

static void every_refused_allocation_is_survived(void)
{
    struct bench bench;
    begin(&bench);
    holes(&bench, 100 * MiB, 60 * MiB, 0);
    struct ap_oom oom = examine(&bench, 200 * MiB, 10 * MiB, 0);
    ap_oom_release(&oom);
    ap_replay_free(bench.replay);
    bench.replay = NULL;
    uint64_t before_bytes = atomic_load(&bench.gate.used_bytes);
    enum ap_status status = AP_ERROR_MEMORY;
    int64_t refused = 0;
    bool clean = true;
    for (; status == AP_ERROR_MEMORY && refused < 1000; refused++) {
        atomic_store(&bench.gate.fail_after, refused);
        status = examine_all(bench.snapshot, &bench.gate, &bench.error);
        atomic_store(&bench.gate.fail_after, -1);
        clean = clean && atomic_load(&bench.gate.used_bytes) == before_bytes;
    }
    is_int(status, AP_OK, "in the end it passes");
    ok(clean && refused > 5, "and each failure before gave everything back");
    end(&bench);
}

int main(void)
{
    from_an_empty_state();
    in_mid_run_with_a_hidden_peak();
    one_kind_of_free_alone();
    a_block_that_waits_at_the_end();
    contradictions_are_counted();
    one_entry_makes_no_claim();
    devices_do_not_mix();
    hostile_sizes_saturate();
    random_histories();
    truly_full();
    full_and_in_pieces();
    external_fragmentation();
    fuller_than_ever();
    one_huge_request();
    one_huge_request_that_the_pieces_would_hold();
    private_pools();
    other_users();
    others_take_what_was_ours();
    others_leave_pieces();
    a_limit_below_the_device();
    what_it_had_below_a_limit();
    in_pieces_below_a_limit();
    what_was_freed_later_was_live();
    expandable_segments();
    every_refused_allocation_is_survived();
    return done();
}
