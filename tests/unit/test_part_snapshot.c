/* SPDX-License-Identifier: MIT
 * The memory pass, from snapshots built by hand to the values of the report. */
#include <string.h>

#include "catalogue.h"
#include "snapshot_bench.h"

#define MiB ((int64_t)1 << 20)

static void block(struct bench *bench, int64_t size_bytes, int64_t requested_bytes, enum ap_block_state state)
{
    const struct ap_block made = {
        .size_bytes = size_bytes, .requested_bytes = requested_bytes, .state = (uint8_t)state, .has = AP_BLOCK_HAS_REQUESTED
    };
    keep(bench, ap_snapshot_add_block(bench->snapshot, &made, &bench->error));
}

#define ALL_SIZES (AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_ALLOCATED | AP_SEGMENT_HAS_ACTIVE | AP_SEGMENT_HAS_REQUESTED)
#define ALL_FIELDS                                                                                              \
    (ALL_SIZES | AP_SEGMENT_HAS_DEVICE | AP_SEGMENT_HAS_ADDRESS | AP_SEGMENT_HAS_TYPE | AP_SEGMENT_HAS_BLOCKS | \
     AP_SEGMENT_HAS_POOL)

/* Sizes: total, allocated, active, requested. */
static struct ap_segment segment_of(uint64_t address, const int64_t sizes[4])
{
    return (struct ap_segment){ .address = address,
                                .total_bytes = sizes[0],
                                .allocated_bytes = sizes[1],
                                .active_bytes = sizes[2],
                                .requested_bytes = sizes[3],
                                .type = { AP_TYPE_LARGE },
                                .has = ALL_FIELDS };
}

static void add(struct bench *bench, struct ap_segment segment)
{
    keep(bench, ap_snapshot_add_segment(bench->snapshot, &segment, &bench->error));
}

static struct ap_str named(struct bench *bench, const char *name)
{
    struct ap_str str = { 0 };
    keep(bench, ap_strpool_intern(&bench->snapshot->strings, name, strlen(name), &str, &bench->error));
    return str;
}

static void device_history(struct bench *bench)
{
    keep(bench, ap_snapshot_add_history(bench->snapshot, &bench->error));
}

/* @time_us -1 = not recorded */
static void action(struct bench *bench, uint32_t name, uint64_t address, int64_t size_bytes, int64_t time_us)
{
    const struct ap_action made = { .name = { name },
                                    .address = address,
                                    .size_bytes = size_bytes,
                                    .time_ns = time_us * 1000,
                                    .has = (uint8_t)(AP_ACTION_HAS_ADDRESS | AP_ACTION_HAS_SIZE |
                                                     (time_us >= 0 ? AP_ACTION_HAS_TIME : 0)) };
    keep(bench, ap_snapshot_add_action(bench->snapshot, &made, &bench->error));
}

static double number(const struct bench *bench, const char *path)
{
    double value = -12345;
    (void)ap_value_number(at(bench, path), &value);
    return value;
}

static const struct ap_value *item(const struct bench *bench, const char *path, unsigned index)
{
    const struct ap_value *value = ap_value_first(at(bench, path));
    while (value && index--)
        value = value->next;
    return value;
}

/* ------------------------------------------------------------------------------------------------------------ state */

/* 64 MiB partly used (32 live, 8 waiting, 16 + 8 free), 20 MiB wholly free, 2 MiB small on another device. */
static void build_three_segments(struct bench *bench)
{
    begin_with(bench, AP_SNAPSHOT_HAS_SEGMENTS);
    block(bench, 32 * MiB, 31 * MiB, AP_BLOCK_ALLOCATED);
    block(bench, 16 * MiB, 0, AP_BLOCK_INACTIVE);
    block(bench, 8 * MiB, 8 * MiB, AP_BLOCK_PENDING);
    block(bench, 8 * MiB, 5, AP_BLOCK_INACTIVE);
    add(bench, segment_of(1000, (int64_t[]){ 64 * MiB, 32 * MiB, 40 * MiB, 39 * MiB }));
    block(bench, 20 * MiB, 0, AP_BLOCK_INACTIVE);
    struct ap_segment private_segment = segment_of(500, (int64_t[]){ 20 * MiB, 0, 0, 0 });
    private_segment.pool[1] = 7;
    add(bench, private_segment);
    block(bench, 2 * MiB, 2 * MiB, AP_BLOCK_ALLOCATED);
    struct ap_segment small = segment_of(2000, (int64_t[]){ 2 * MiB, 2 * MiB, 2 * MiB, 2 * MiB });
    small.type.id = AP_TYPE_SMALL;
    small.device = 1;
    add(bench, small);
}

static void summary_is_the_sum_of_fields(void)
{
    struct bench bench;
    build_three_segments(&bench);
    pass(&bench, 0);
    ok(bench.status == AP_OK, "the pass runs");
    is_text(ap_value_text(at(&bench, "memory.path")), "dir/s.json", "the path stands as given");
    is_int(whole(&bench, "memory.summary.segments"), 3, "segments");
    is_int(whole(&bench, "memory.summary.reserved_bytes"), 86 * MiB, "reserved");
    is_int(whole(&bench, "memory.summary.allocated_bytes"), 34 * MiB, "allocated");
    is_int(whole(&bench, "memory.summary.active_bytes"), 42 * MiB, "active");
    is_int(whole(&bench, "memory.summary.requested_bytes"), 41 * MiB, "requested");
    ok(number(&bench, "memory.summary.reserved_vs_allocated_ratio") == 86.0 / 34.0, "reserved over allocated");
    ok(number(&bench, "memory.summary.allocated_vs_requested_ratio") == 34.0 / 41.0, "allocated over requested");
    is_int(whole(&bench, "memory.segment_types.large.segments"), 2, "two large segments");
    is_int(whole(&bench, "memory.segment_types.small.reserved_bytes"), 2 * MiB, "the small pool");
    is_text(item(&bench, "memory.segment_types", 0)->key, "large", "the type with most reserved bytes is first");
    ok(is_null(&bench, "memory.trace_actions.span_us"), "no history: no span");
    is_int((int64_t)ap_value_count(at(&bench, "memory.trace_actions.counts")), 0, "and no counts");
    is_int(whole(&bench, "memory.annotations.count"), 0, "no annotations");
    end(&bench);
}

static void parts_of_the_state_add_up(void)
{
    struct bench bench;
    build_three_segments(&bench);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.state.slack_bytes"), 52 * MiB, "slack = reserved less allocated");
    ok(number(&bench, "memory.state.slack_ratio") == 52.0 / 86.0, "its ratio");
    is_int(whole(&bench, "memory.state.inactive_bytes"), 44 * MiB, "all inactive blocks");
    is_int(whole(&bench, "memory.state.inactive_split_bytes"), 24 * MiB, "those in partly used segments");
    is_int(whole(&bench, "memory.state.wholly_free_segment_bytes"), 20 * MiB, "and the wholly free segment");
    ok(number(&bench, "memory.state.inactive_split_ratio") == 24.0 / 86.0, "ratio over reserved");
    is_int(whole(&bench, "memory.state.pending_free_bytes"), 8 * MiB, "waiting for a stream");
    ok(number(&bench, "memory.state.pending_free_ratio") == 8.0 / 42.0, "ratio over active");
    is_int(whole(&bench, "memory.state.largest_inactive_block_bytes"), 20 * MiB, "the largest inactive block");
    ok(number(&bench, "memory.state.external_fragmentation_ratio") == 1 - 16.0 / 24.0,
       "fragmentation looks at partly used segments only");
    is_int(whole(&bench, "memory.state.rounding_bytes"), -7 * MiB,
           "allocated less requested, where pending blocks are in the latter only");
    ok(number(&bench, "memory.state.small_segment_ratio") == 2.0 / 86.0, "the small pool's share");
    is_int(whole(&bench, "memory.state.private_pool_bytes"), 20 * MiB, "a private pool");
    is_int(whole(&bench, "memory.state.devices"), 2, "two devices");
    is_int((int64_t)ap_value_count(at(&bench, "memory.by_device")), 2, "one row each");
    is_int(ap_value_integer(ap_value_member(item(&bench, "memory.by_device", 0), "inactive_bytes"), -1), 44 * MiB,
           "all inactive bytes are on the first");
    is_int(ap_value_integer(ap_value_member(item(&bench, "memory.by_device", 1), "reserved_bytes"), -1), 2 * MiB,
           "the second has the small segment");
    is_u64(bench.notes.notes[AP_COUNTER_segment_sums].count, 0, "blocks and fields agree");
    ok(whole(&bench, "memory.recorded.requested_sizes") == 1 && whole(&bench, "memory.recorded.blocks") == 1,
       "sizes and blocks were recorded");
    end(&bench);
}

static void nothing_reserved(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    pass(&bench, 20);
    is_int(whole(&bench, "memory.summary.segments"), 0, "no segments");
    is_int(whole(&bench, "memory.summary.reserved_bytes"), 0, "nothing reserved");
    ok(is_null(&bench, "memory.summary.reserved_vs_allocated_ratio"), "a denominator of 0 gives null");
    is_int(whole(&bench, "memory.state.inactive_bytes"), 0, "nothing inactive");
    ok(number(&bench, "memory.state.external_fragmentation_ratio") == 0, "nothing fragmented");
    ok(is_null(&bench, "memory.state.slack_ratio"), "no slack ratio");
    is_int(whole(&bench, "memory.state.devices"), 0, "no devices");
    ok(is_null(&bench, "memory.settings"), "no settings");
    end(&bench);
}

static void not_recorded_is_null(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_HISTORY);
    device_history(&bench);
    action(&bench, AP_ACTION_SNAPSHOT, 0, 5, -1);
    pass(&bench, 0);
    ok(is_null(&bench, "memory.summary.segments"), "segments that are missing are null, not 0");
    ok(is_null(&bench, "memory.summary.reserved_bytes"), "so are their bytes");
    ok(is_null(&bench, "memory.state.slack_bytes") && is_null(&bench, "memory.state.inactive_bytes"), "and the state");
    is_int(whole(&bench, "memory.history.entries"), 1, "a ring of one has one entry");
    is_int(whole(&bench, "memory.recorded.history"), 0, "which is no history");
    ok(is_null(&bench, "memory.history.alloc_count") && is_null(&bench, "memory.history.oom_count"),
       "it says nothing about allocations");
    is_int(whole(&bench, "memory.trace_actions.counts.snapshot"), 1, "but it is counted");
    end(&bench);

    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS); /* an old list: no requested sizes, no blocks, no types, no pools */
    struct ap_segment old = segment_of(8, (int64_t[]){ 1024, 512, 512, 0 });
    old.has = AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_ALLOCATED | AP_SEGMENT_HAS_ACTIVE;
    old.type.id = AP_NAME_UNKNOWN;
    add(&bench, old);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.summary.requested_bytes"), 0, "the summary counts a missing size as 0");
    is_int(whole(&bench, "memory.recorded.requested_sizes"), 0, "and says beside that it was not recorded");
    ok(is_null(&bench, "memory.state.rounding_bytes"), "rounding is unknown");
    ok(is_null(&bench, "memory.state.inactive_bytes") && is_null(&bench, "memory.state.external_fragmentation_ratio"),
       "without blocks free memory is unknown");
    ok(is_null(&bench, "memory.state.small_segment_ratio") && is_null(&bench, "memory.state.private_pool_bytes"),
       "pools are unknown");
    is_int(whole(&bench, "memory.state.slack_bytes"), 512, "slack is known");
    is_int(whole(&bench, "memory.segment_types.unknown.segments"), 1, "the type is unknown");
    ok(item(&bench, "memory.by_device", 0) &&
           ap_value_member(item(&bench, "memory.by_device", 0), "device")->type == AP_VALUE_NULL,
       "so is the device");
    is_u64(bench.notes.notes[AP_COUNTER_blocks_missing].count, 0, "a writer that never writes blocks is not odd");
    end(&bench);
}

static void what_is_cached_was_rounded_too(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    block(&bench, 600, 500, AP_BLOCK_ALLOCATED);
    struct ap_segment used = segment_of(8, (int64_t[]){ 600, 0, 0, 0 });
    used.has = AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_BLOCKS;
    add(&bench, used);
    block(&bench, 1200, 0, AP_BLOCK_INACTIVE);
    struct ap_segment cached = segment_of(8, (int64_t[]){ 1200, 0, 0, 0 });
    cached.has = AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_BLOCKS;
    add(&bench, cached);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.state.rounding_bytes"), 100, "of what is in use");
    is_int(whole(&bench, "memory.state.rounding_reserved_bytes"), 100 + 200, "a sixth of what is cached");
    end(&bench);
}

static void use_is_taken_from_blocks(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    block(&bench, 600, 500, AP_BLOCK_ALLOCATED);
    block(&bench, 424, 0, AP_BLOCK_INACTIVE);
    struct ap_segment segment = segment_of(8, (int64_t[]){ 1024, 0, 0, 0 });
    segment.has = AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_BLOCKS;
    add(&bench, segment);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.summary.allocated_bytes"), 0, "the summary keeps to the fields");
    is_int(whole(&bench, "memory.state.slack_bytes"), 424, "slack is taken from the blocks");
    is_int(whole(&bench, "memory.state.rounding_bytes"), 100, "so is rounding");
    is_int(whole(&bench, "memory.recorded.requested_sizes"), 1, "requested sizes stand in the blocks");
    end(&bench);
}

static void contradictions_are_noted(void)
{
    static const struct {
        const char *what;
        int64_t sizes[4];
        uint64_t noted;
    } cases[] = {
        { "fields that agree with the blocks", { 1024, 600, 600, 500 }, 0 },
        { "another total", { 2048, 600, 600, 500 }, 1 },
        { "another allocated size", { 1024, 512, 600, 500 }, 1 },
        { "another active size", { 1024, 600, 512, 500 }, 1 },
        { "another requested size", { 1024, 600, 600, 499 }, 1 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct bench bench;
        begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
        block(&bench, 600, 500, AP_BLOCK_ALLOCATED);
        block(&bench, 424, 0, AP_BLOCK_INACTIVE);
        add(&bench, segment_of(8, cases[i].sizes));
        pass(&bench, 0);
        is_u64(bench.notes.notes[AP_COUNTER_segment_sums].count, cases[i].noted, cases[i].what);
        end(&bench);
    }
}

static void blocks_missing_in_one_segment(void)
{
    struct bench bench;
    build_three_segments(&bench);
    struct ap_segment bare = segment_of(9, (int64_t[]){ MiB, MiB, MiB, MiB });
    bare.has = (uint16_t)(ALL_FIELDS & ~AP_SEGMENT_HAS_BLOCKS);
    bare.offset_bytes = 77;
    add(&bench, bare);
    pass(&bench, 0);
    is_u64(bench.notes.notes[AP_COUNTER_blocks_missing].count, 1, "a segment without blocks among others is odd");
    is_u64(bench.notes.notes[AP_COUNTER_blocks_missing].first_offset_bytes, 77, "its byte is told");
    is_int(whole(&bench, "memory.state.inactive_bytes"), 44 * MiB, "the others are summed");
    end(&bench);
}

static void sums_stop_at_the_end(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    for (int i = 0; i < 3; i++)
        add(&bench, segment_of(8, (int64_t[]){ INT64_MAX, INT64_MIN, -1, 5 }));
    pass(&bench, 0);
    is_int(whole(&bench, "memory.summary.reserved_bytes"), INT64_MAX, "a sum stops at 2^63-1");
    is_int(whole(&bench, "memory.summary.allocated_bytes"), INT64_MIN, "or at -2^63");
    is_u64(bench.notes.notes[AP_COUNTER_size_overflow].count, 1, "and that is noted");
    end(&bench);
}

/* ------------------------------------------------------------------------------------------------------------ lists */

static int64_t row(const struct bench *bench, unsigned index, const char *key)
{
    return ap_value_integer(ap_value_member(item(bench, "memory.largest_segments", index), key), -1);
}

static void largest_segments_are_ranked(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    add(&bench, segment_of(40, (int64_t[]){ 100, 90, 0, 0 }));
    add(&bench, segment_of(30, (int64_t[]){ 100, 10, 0, 0 }));
    add(&bench, segment_of(20, (int64_t[]){ 100, 90, 0, 0 }));
    add(&bench, segment_of(10, (int64_t[]){ 200, 300, 0, 0 }));
    struct ap_segment odd = segment_of(0, (int64_t[]){ 50, 0, 0, 0 });
    odd.has = (uint16_t)(ALL_FIELDS & ~(AP_SEGMENT_HAS_ADDRESS | AP_SEGMENT_HAS_DEVICE));
    odd.odd_device = named(&bench, "cuda:0");
    add(&bench, odd);
    add(&bench, segment_of(UINT64_MAX, (int64_t[]){ 40, 0, 0, 0 }));
    pass(&bench, 0);
    is_int(row(&bench, 0, "address"), 10, "most reserved first");
    is_int(row(&bench, 0, "slack"), 0, "slack is never negative");
    is_int(row(&bench, 1, "address"), 30, "then most slack");
    is_int(row(&bench, 1, "slack"), 90, "which is reserved less allocated");
    is_int(row(&bench, 2, "address"), 20, "then the lower address");
    const struct ap_value *fifth = item(&bench, "memory.largest_segments", 4);
    is_text(ap_value_text(ap_value_member(fifth, "device")), "cuda:0", "an odd device is shown as written");
    ok(ap_value_member(fifth, "address")->type == AP_VALUE_NULL, "an address that is missing is null");
    const struct ap_value *sixth = item(&bench, "memory.largest_segments", 5);
    is_text(ap_value_text(ap_value_member(sixth, "address")), "18446744073709551615", "2^64-1 keeps every digit");
    end(&bench);
    build_three_segments(&bench);
    pass(&bench, 2);
    is_int((int64_t)ap_value_count(at(&bench, "memory.largest_segments")), 2, "--top-n bounds the list");
    end(&bench);
}

static void names_are_ranked(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_HISTORY | AP_SNAPSHOT_HAS_ANNOTATIONS);
    device_history(&bench);
    uint32_t rewind = named(&bench, "rewind").id;
    action(&bench, AP_ACTION_OOM, 1, 1, 2000000);
    action(&bench, rewind, 1, 1, 1000000);
    action(&bench, AP_ACTION_ALLOC, 1, 1, 3000000);
    action(&bench, rewind, 1, 1, -1);
    for (int i = 0; i < 25; i++) {
        char name[8] = { 'n', (char)('a' + i / 2) };
        const struct ap_annotation made = { .name = named(&bench, name) };
        keep(&bench, ap_snapshot_add_annotation(bench.snapshot, &made, &bench.error));
    }
    bench.snapshot->odd_annotations = 2;
    pass(&bench, 0);
    is_text(item(&bench, "memory.trace_actions.counts", 0)->key, "rewind", "the most frequent action is first");
    is_text(item(&bench, "memory.trace_actions.counts", 1)->key, "alloc", "then by name");
    is_text(item(&bench, "memory.trace_actions.counts", 2)->key, "oom", "to the last one");
    is_int(whole(&bench, "memory.trace_actions.first_time_us"), 1000000000, "first time, in ns");
    is_int(whole(&bench, "memory.trace_actions.last_time_us"), 3000000000, "last time");
    is_int(whole(&bench, "memory.trace_actions.span_us"), 2000000000, "span");
    ok(number(&bench, "memory.history.rates.rewind") == 1.0, "two entries in two seconds");
    is_int(whole(&bench, "memory.annotations.count"), 27, "all annotations are counted");
    is_int((int64_t)ap_value_count(at(&bench, "memory.annotations.top_names")), 10, "ten names are shown");
    is_text(item(&bench, "memory.annotations.top_names", 9)->key, "nj", "ties go by name");
    end(&bench);
}

/* ---------------------------------------------------------------------------------------------------------- history */

static void history_counts(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_HISTORY);
    device_history(&bench);
    action(&bench, AP_ACTION_FREE_COMPLETED, 7, 10, 0); /* requested before the history began */
    action(&bench, AP_ACTION_SEGMENT_ALLOC, 1, 100, 100);
    action(&bench, AP_ACTION_ALLOC, 1, 10, 200);
    action(&bench, AP_ACTION_ALLOC, 2, 30, 300);
    action(&bench, AP_ACTION_FREE_REQUESTED, 1, 10, 400);
    action(&bench, AP_ACTION_SEGMENT_MAP, 1, 10, 450);
    action(&bench, AP_ACTION_FREE_COMPLETED, 1, 10, 500);
    action(&bench, AP_ACTION_FREE_COMPLETED, 1, 10, 500); /* a second one, never requested */
    /* second half */
    action(&bench, AP_ACTION_SEGMENT_FREE, 1, 100, 600);
    action(&bench, AP_ACTION_SEGMENT_FREE, 2, 100, 600);
    action(&bench, AP_ACTION_SEGMENT_ALLOC, 3, 100, 600); /* a retry */
    action(&bench, AP_ACTION_SEGMENT_FREE, 1, 100, 700);
    action(&bench, AP_ACTION_SEGMENT_ALLOC, 1, 100, 700); /* one free alone is none */
    action(&bench, AP_ACTION_SEGMENT_UNMAP, 1, 10, 800);
    action(&bench, AP_ACTION_FREE_REQUESTED, 2, 30, 900);
    action(&bench, AP_ACTION_ALLOC, 5, 2, 1000000);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.recorded.history"), 1, "there is a history");
    is_int(whole(&bench, "memory.history.entries"), 16, "entries");
    is_int(whole(&bench, "memory.history.span_us"), 1000000000, "span");
    is_int(whole(&bench, "memory.history.alloc_count"), 3, "allocs");
    is_int(whole(&bench, "memory.history.allocated_bytes_sum"), 42, "their bytes");
    is_int(whole(&bench, "memory.history.free_count"), 4, "frees: requested, or completed without a request");
    is_int(whole(&bench, "memory.history.segment_alloc_count"), 4, "segment_alloc and segment_map");
    is_int(whole(&bench, "memory.history.segment_free_count"), 4, "segment_free and segment_unmap");
    is_int(whole(&bench, "memory.history.steady_segment_alloc_count"), 2, "segment_alloc in the second half");
    is_int(whole(&bench, "memory.history.steady_segment_free_count"), 3, "segment_free in the second half");
    is_int(whole(&bench, "memory.history.retry_count"), 1, "two frees right before an alloc are a retry");
    is_int(whole(&bench, "memory.history.oom_count"), 0, "no oom");
    ok(is_null(&bench, "memory.history.oom_request_bytes"), "so no request");
    ok(number(&bench, "memory.history.allocs_per_s") == 3.0, "allocs a second");
    ok(number(&bench, "memory.history.segment_ops_per_s") == 8.0, "segment operations a second");
    end(&bench);
}

static void last_oom_counts(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_HISTORY);
    device_history(&bench);
    action(&bench, AP_ACTION_SEGMENT_FREE, 1, 1, 1);
    action(&bench, AP_ACTION_SEGMENT_FREE, 2, 1, 1);
    action(&bench, AP_ACTION_OOM, 300, 900, 50);
    device_history(&bench);
    action(&bench, AP_ACTION_OOM, 100, 700, 20);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.history.oom_count"), 2, "two devices ran out");
    is_int(whole(&bench, "memory.history.oom_request_bytes"), 900, "the last one by time is shown");
    is_int(whole(&bench, "memory.history.oom_device_free_bytes"), 300, "with what was free then");
    is_int(whole(&bench, "memory.history.retry_count"), 1, "frees before an oom are a retry too");
    end(&bench);
}

static void no_times_no_rates(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_HISTORY);
    device_history(&bench);
    action(&bench, AP_ACTION_ALLOC, 1, 1, -1);
    action(&bench, AP_ACTION_ALLOC, 2, 1, -1);
    pass(&bench, 0);
    ok(is_null(&bench, "memory.history.span_us") && is_null(&bench, "memory.history.allocs_per_s"),
       "without times there are no rates");
    is_int((int64_t)ap_value_count(at(&bench, "memory.history.rates")), 0, "of no action");
    is_int(whole(&bench, "memory.history.alloc_count"), 2, "but counts");
    end(&bench);
}

static void many_addresses_wait(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_HISTORY);
    device_history(&bench);
    for (uint64_t i = 0; i < 5000; i++)
        action(&bench, AP_ACTION_FREE_REQUESTED, i * 512, 1, 1);
    for (uint64_t i = 0; i < 6000; i++)
        action(&bench, AP_ACTION_FREE_COMPLETED, i * 512, 1, 1);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.history.free_count"), 6000, "each address is freed once, requested or not");
    end(&bench);
}

static void settings_are_shown(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_SETTINGS);
    bench.snapshot->settings = (struct ap_allocator_settings){
        .conf = named(&bench, "max_split_size_mb:128"),
        .max_split_bytes = 128 * MiB,
        .has = AP_SETTING_HAS_MAX_SPLIT | AP_SETTING_HAS_EXPANDABLE,
    };
    pass(&bench, 0);
    is_text(ap_value_text(at(&bench, "memory.settings.conf")), "max_split_size_mb:128", "the setting as text");
    is_int(whole(&bench, "memory.settings.max_split_size_set"), 1, "it is limited");
    is_int(whole(&bench, "memory.settings.max_split_size_bytes"), 128 * MiB, "to so many bytes");
    is_int(whole(&bench, "memory.settings.expandable_segments"), 0, "expandable_segments is off");
    ok(is_null(&bench, "memory.settings.garbage_collection_threshold"), "what was not written is null");
    end(&bench);
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_SETTINGS);
    bench.snapshot->settings.has = AP_SETTING_HAS_MAX_SPLIT;
    pass(&bench, 0);
    is_int(whole(&bench, "memory.settings.max_split_size_set"), 0, "-1 is no limit");
    ok(is_null(&bench, "memory.settings.max_split_size_bytes"), "and has no bytes");
    end(&bench);
}

/* ----------------------------------------------------------------------------------------------------- completeness */

static void every_figure_is_there(void)
{
    struct bench bench;
    build_three_segments(&bench);
    bench.snapshot->has |= AP_SNAPSHOT_HAS_SETTINGS;
    pass(&bench, 0);
    size_t missing = 0;
    for (size_t i = 0; i < ap_figure_count; i++)
        if (ap_figures[i].words && strncmp(ap_figure_text(ap_figures[i].path), "memory.", 7) == 0 &&
            !at(&bench, ap_figure_text(ap_figures[i].path)) && !missing++)
            note(ap_figure_text(ap_figures[i].path));
    is_u64(missing, 0, "every figure that rules may name and that begins with memory. stands in the report");
    end(&bench);
}

static void memory_may_end_anywhere(void)
{
    size_t leaks = 0, wrong = 0;
    int64_t requests = 0;
    for (; requests < 100000; requests++) {
        struct bench bench;
        build_three_segments(&bench);
        bench.snapshot->has |= AP_SNAPSHOT_HAS_HISTORY;
        device_history(&bench);
        action(&bench, AP_ACTION_FREE_REQUESTED, 1, 1, 1);
        atomic_store(&bench.gate.fail_after, requests);
        pass(&bench, 0);
        enum ap_status status = bench.status;
        leaks += !release(&bench);
        if (status == AP_OK)
            break;
        wrong += status != AP_ERROR_MEMORY;
    }
    ok(requests > 2 && requests < 100000, "the pass asks for memory a few times");
    is_u64(wrong, 0, "each refusal is an out-of-memory error");
    is_u64(leaks, 0, "and leaves nothing behind");
}

int main(void)
{
    summary_is_the_sum_of_fields();
    parts_of_the_state_add_up();
    nothing_reserved();
    not_recorded_is_null();
    use_is_taken_from_blocks();
    what_is_cached_was_rounded_too();
    contradictions_are_noted();
    blocks_missing_in_one_segment();
    sums_stop_at_the_end();
    largest_segments_are_ranked();
    names_are_ranked();
    history_counts();
    last_oom_counts();
    no_times_no_rates();
    many_addresses_wait();
    settings_are_shown();
    every_figure_is_there();
    memory_may_end_anywhere();
    return done();
}
