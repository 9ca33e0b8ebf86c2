/* SPDX-License-Identifier: MIT
 * test_record.c - a program that records itself: figures by hand, with a clock that is set by hand, and what our own reader
 * makes of the exports: no warning, and the same figures. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze_profile/record.h"
#include "tap.h"

#define EPOCH_NS INT64_C(1790000000000000000)

static int64_t now_ns;

static int64_t set_clock(void *self)
{
    (void)self;
    return now_ns;
}

static struct ap_recorder *recorder_with(uint64_t max_events, int64_t fail_after)
{
    struct ap_recorder_options options = { .max_events = max_events, .clock_ns = set_clock, .fail_after = fail_after };
    struct ap_recorder *recorder = NULL;
    struct ap_error error;
    now_ns = EPOCH_NS;
    return ap_recorder_new(&options, &recorder, &error) == AP_OK ? recorder : NULL;
}

static void scope_of(struct ap_recorder *recorder, enum ap_record_category category, const char *name, int64_t dur_ns)
{
    AP_SCOPE(recorder, category, name);
    now_ns += dur_ns;
}

/* ------------------------------------------------------------------------------------------------------ statistics */

static void statistics_by_hand(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    struct ap_hotspot spots[8];
    struct ap_error error;
    size_t count = 0;
    char forward[] = "forward"; /* the same text at another address */
    scope_of(recorder, AP_RECORD_COMPUTE, "forward", 1000);
    scope_of(recorder, AP_RECORD_COMPUTE, forward, 3001);
    scope_of(recorder, AP_RECORD_CUSTOM, "forward", 10);
    {
        AP_NAMED_SCOPE(outer, recorder, AP_RECORD_COMPUTE, "outer");
        ap_scope_add_flops(&outer, 2e6);
        ap_scope_add_flops(&outer, 5e5);
        scope_of(recorder, AP_RECORD_MEMORY, "inner", 500);
        ap_record_allocation(recorder, AP_DEVICE_HOST, (void *)0x1000, 100, NULL);
        now_ns += 20;
    }
    ap_record_operation(recorder, &(struct ap_operation){ .name = "gemm",
                                                          .start_ns = EPOCH_NS,
                                                          .duration_ns = 9000,
                                                          .flops = 1e9,
                                                          .memory_bytes = -7,
                                                          .device = AP_DEVICE_HOST });
    ap_record_operation(recorder,
                        &(struct ap_operation){ .name = "gemm", .start_ns = EPOCH_NS, .duration_ns = -5, .device = 1 });
    ok(ap_recorder_hotspots(recorder, spots, 8, &count, &error) == AP_OK, "hotspots");
    is_u64(count, 6, "one for each name, category and device");
    is_str(spots[0].name, "gemm", "the longest total first");
    is_int(spots[0].total_ns, 9000, "an operation's duration as it was told");
    is_int(spots[0].memory_bytes, -7, "and its memory");
    ok(spots[0].flops == 1e9, "and its FLOPs");
    is_str(spots[1].name, "forward", "texts count, not addresses");
    is_u64(spots[1].count, 2, "count");
    is_int(spots[1].total_ns, 4001, "total");
    is_int(spots[1].mean_ns, 2001, "mean, rounded");
    is_int(spots[1].min_ns, 1000, "min");
    is_int(spots[1].max_ns, 3001, "max");
    is_str(spots[2].name, "outer", "durations with what ran inside");
    is_int(spots[2].total_ns, 520, "of both");
    is_int(spots[2].memory_bytes, 100, "memory allocated while it was open");
    ok(spots[2].flops == 2.5e6, "FLOPs add up");
    is_int(spots[5].device, 1, "a GPU's apart");
    is_int(spots[5].total_ns, 0, "a negative duration is 0");
    ok(ap_recorder_hotspots(recorder, spots, 1, &count, &error) == AP_OK && count == 6 && strcmp(spots[0].name, "gemm") == 0,
       "the top one of six");
    ok(ap_recorder_statistics(recorder, "forward", &spots[0], &error) == AP_OK && spots[0].category == AP_RECORD_COMPUTE,
       "by name");
    ok(ap_recorder_statistics(recorder, "backward", &spots[0], &error) == AP_END, "a name that never was");
    ap_recorder_free(recorder);
}

static void nothing_while_off(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    struct ap_recorder_counts counts;
    struct ap_scope scope;
    ap_scope_begin(&scope, recorder, AP_RECORD_COMPUTE, "begun while on");
    ap_recorder_stop(recorder);
    ap_scope_end(&scope);
    scope_of(recorder, AP_RECORD_COMPUTE, "off", 10);
    ap_record_instant(recorder, AP_RECORD_CUSTOM, "off");
    ap_record_step(recorder);
    ap_record_operation(recorder, &(struct ap_operation){ .name = "off" });
    ap_record_allocation(recorder, 0, (void *)0x1000, 1, NULL);
    ap_recorder_count(recorder, &counts);
    is_u64(counts.events, 1, "off: only the scope that was open");
    is_u64(counts.memory_events + counts.steps + counts.events_dropped, 0, "and nothing else");
    ap_recorder_start(recorder);
    scope_of(recorder, AP_RECORD_COMPUTE, "on again", 10);
    ap_recorder_count(recorder, &counts);
    is_u64(counts.events, 2, "on again");
    ap_recorder_free(recorder);
    ap_recorder_free(NULL);
}

static void the_limit_holds(void)
{
    struct ap_recorder *recorder = recorder_with(100, 0);
    struct ap_recorder_counts counts;
    struct ap_memory_use use;
    for (int i = 0; i < 250; i++)
        scope_of(recorder, AP_RECORD_COMPUTE, "many", 1);
    for (uintptr_t i = 1; i <= 150; i++)
        ap_record_allocation(recorder, 0, (void *)(i * 4096), 10, NULL);
    ap_recorder_count(recorder, &counts);
    is_u64(counts.events, 100, "as many events as allowed");
    is_u64(counts.events_dropped, 150, "the others are counted");
    is_u64(counts.memory_events, 100, "and as many memory events");
    is_u64(counts.allocations_dropped, 50, "allocations beyond the limit are not tracked, but counted");
    for (uintptr_t i = 1; i <= 100; i++)
        ap_record_release(recorder, 0, (void *)(i * 4096));
    ap_recorder_memory(recorder, 0, &use);
    ap_recorder_count(recorder, &counts);
    is_int(use.current_bytes, 0, "current is right though the oldest events are gone");
    is_int(use.peak_bytes, 1000, "and the peak");
    is_u64(counts.memory_events_dropped, 100, "which are counted");
    ap_recorder_free(recorder);
}

static void deep_nesting(struct ap_recorder *recorder, int levels)
{
    AP_SCOPE(recorder, AP_RECORD_COMPUTE, "level");
    now_ns++;
    if (levels > 1)
        deep_nesting(recorder, levels - 1);
    else
        ap_record_allocation(recorder, 0, (void *)0x10, 1, "deep");
}

static void deep_scopes(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    struct ap_hotspot spot;
    struct ap_error error;
    deep_nesting(recorder, 100);
    ok(ap_recorder_statistics(recorder, "level", &spot, &error) == AP_OK && spot.count == 100 && spot.total_ns == 5050,
       "scopes nest as deep as they like");
    ap_recorder_free(recorder);
}

/* ---------------------------------------------------------------------------------------------------------- memory */

static void memory_by_hand(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    struct ap_memory_use use;
    struct ap_memory_point points[3];
    size_t count;
    ap_record_allocation(recorder, 0, (void *)0x1000, 100, "weights");
    now_ns += 10;
    ap_record_allocation(recorder, 0, (void *)0x2000, 50, NULL);
    ap_record_allocation(recorder, AP_DEVICE_HOST, (void *)0x1000, 7, NULL);
    now_ns += 10;
    ap_record_release(recorder, 0, (void *)0x1000);
    ap_record_release(recorder, 0, (void *)0x1000);
    ap_record_allocation(recorder, 0, (void *)0x2000, 30, "again");
    ap_recorder_memory(recorder, 0, &use);
    is_int(use.current_bytes, 30, "current");
    is_int(use.peak_bytes, 150, "peak");
    is_int(use.peak_ns, EPOCH_NS + 10, "when");
    is_u64(use.allocation_count, 3, "allocations");
    is_u64(use.release_count, 1, "releases");
    is_u64(use.unmatched_count, 1, "a release of nothing");
    is_u64(use.lost_count, 1, "an address in use that is handed out again");
    ap_recorder_timeline(recorder, 0, points, 3, &count);
    is_u64(count, 5, "the timeline has the lost release too");
    is_int(points[0].change_bytes, -100, "the newest points");
    is_int(points[1].current_bytes, 0, "what is in use behind each");
    ok(points[2].tag && strcmp(points[2].tag, "again") == 0 && points[2].address == 0x2000, "tag and address");
    ap_recorder_memory(recorder, AP_DEVICE_HOST, &use);
    is_int(use.current_bytes, 7, "devices apart, though the address is the same");
    ap_recorder_memory(recorder, 5, &use);
    is_int(use.peak_bytes, 0, "a device that never was");
    ap_recorder_free(recorder);
}

/* The table of what is in use against a plain array. */
static void many_allocations(void)
{
    struct ap_recorder *recorder = recorder_with(100000, 0);
    static uint32_t size_of[4096];
    uint32_t random = 1;
    int64_t in_use = 0, peak = 0;
    for (int i = 0; i < 60000; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t at = random >> 20;
        void *address = (void *)((uintptr_t)at * 64 + 64);
        if (size_of[at]) {
            ap_record_release(recorder, 0, address);
            in_use -= size_of[at];
            size_of[at] = 0;
        } else {
            size_of[at] = (random & 0xfff) + 1;
            ap_record_allocation(recorder, 0, address, size_of[at], NULL);
            in_use += size_of[at];
            peak = in_use > peak ? in_use : peak;
        }
    }
    struct ap_memory_use use;
    ap_recorder_memory(recorder, 0, &use);
    is_int(use.current_bytes, in_use, "60,000 allocations and releases: current");
    is_int(use.peak_bytes, peak, "peak");
    is_u64(use.unmatched_count + use.lost_count, 0, "all matched");
    ap_recorder_free(recorder);
}

/* ---------------------------------------------------------------------------------------------------------- export */

static void a_small_run(struct ap_recorder *recorder)
{
    struct ap_error error;
    ap_recorder_name_thread(recorder, "main \"loop\"");
    ok(ap_recorder_set_metadata(recorder, "model", "first", &error) == AP_OK, "metadata");
    ok(ap_recorder_set_metadata(recorder, "model",
                                "sm\xff"
                                "all\n",
                                &error) == AP_OK,
       "replaced");
    ok(ap_recorder_set_metadata(recorder, "traceEvents", "x", &error) == AP_ERROR_USAGE, "a key of the form is refused");
    ok(ap_recorder_set_rank(recorder, 2, 2, "sockets", &error) == AP_ERROR_USAGE, "ranks count from 0");
    ok(ap_recorder_set_rank(recorder, 1, 4, "sockets", &error) == AP_OK, "a rank");
    ap_record_allocation(recorder, 0, (void *)0x7f0000000000, 1 << 20, "weights");
    for (int i = 0; i < 5; i++) {
        ap_record_step(recorder);
        scope_of(recorder, AP_RECORD_DATA_LOADING, "read", 3000000);
        {
            AP_NAMED_SCOPE(forward, recorder, AP_RECORD_COMPUTE, "forward");
            ap_scope_add_flops(&forward, 1e9);
            scope_of(recorder, AP_RECORD_COMPUTE, "mm", 1500001);
            ap_record_allocation(recorder, 0, (void *)0x7f0000200000, 4096, "activations");
            ap_record_allocation(recorder, AP_DEVICE_HOST, (void *)0x5000, 100, NULL);
        }
        ap_record_instant(recorder, AP_RECORD_CUSTOM, "here");
        scope_of(recorder, AP_RECORD_SYNCHRONISATION, "barrier", 200000);
        scope_of(recorder, AP_RECORD_COMMUNICATION, "all_reduce", 100000);
        scope_of(recorder, AP_RECORD_COMMUNICATION, "gloo:broadcast", 100000);
        scope_of(recorder, AP_RECORD_CUSTOM, "log \x01\"\\ \xc3\xa4\xff", 1000);
        scope_of(recorder, AP_RECORD_CUSTOM, NULL, 10);
        ap_record_release(recorder, 0, (void *)0x7f0000200000);
        ap_record_release(recorder, AP_DEVICE_HOST, (void *)0x5000);
    }
    ap_record_step_end(recorder);
    const enum ap_record_category all[] = { AP_RECORD_COMPUTE,         AP_RECORD_MEMORY,        AP_RECORD_DATA_LOADING,
                                            AP_RECORD_SYNCHRONISATION, AP_RECORD_COMMUNICATION, AP_RECORD_CUSTOM };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ap_record_operation(recorder,
                            &(struct ap_operation){ "gpu work", all[i], EPOCH_NS + (int64_t)i * 1000, 900, 64, 10, 0, 7 });
    ap_record_operation(recorder, &(struct ap_operation){ "Memset", AP_RECORD_MEMORY, EPOCH_NS + 8000, 900, 64, 0, 0, 9 });
    ap_recorder_stop(recorder);
}

/* What the program says of the exports; NULL where it refuses them, which only @refusal allows. */
static struct ap_report *report_or(struct ap_recorder *recorder, bool with_trace, bool with_snapshot, const char *refusal)
{
    char trace[] = "/tmp/record_trace_XXXXXX", snapshot[] = "/tmp/record_snapshot_XXXXXX";
    struct ap_report *report = NULL;
    struct ap_error error = { .message = "" };
    int files[2] = { mkstemp(trace), mkstemp(snapshot) };
    ok(files[0] >= 0 && files[1] >= 0, "two temporary files");
    (void)close(files[0]);
    (void)close(files[1]);
    enum ap_status status = ap_recorder_save_trace(recorder, trace, &error);
    if (status == AP_OK)
        status = ap_recorder_save_snapshot(recorder, snapshot, &error);
    struct ap_request request = { .cpu_trace_path = with_trace ? trace : NULL,
                                  .memory_json_path = with_snapshot ? snapshot : NULL,
                                  .strict = true };
    if (status == AP_OK)
        status = ap_report_new(&request, &report, NULL, &error);
    is_str(status == AP_OK ? "" : error.message, refusal, "written and read again");
    (void)unlink(trace);
    (void)unlink(snapshot);
    return report;
}

static struct ap_report *report_of(struct ap_recorder *recorder, bool with_trace, bool with_snapshot)
{
    return report_or(recorder, with_trace, with_snapshot, "");
}

static int64_t whole(const struct ap_report *report, const char *path)
{
    return ap_value_integer(ap_value_at(ap_report_root(report), path), -1);
}

static const struct ap_value *named(const struct ap_report *report, const char *list, const char *name)
{
    const struct ap_value *row = ap_value_first(ap_value_at(ap_report_root(report), list));
    for (; row; row = row->next) {
        struct ap_text text = ap_value_text(ap_value_member(row, "name"));
        if (text.bytes == strlen(name) && memcmp(text.data, name, text.bytes) == 0)
            return row;
    }
    return NULL;
}

static void same_as_recorded(struct ap_recorder *recorder, const struct ap_report *report, const char *name,
                             const char *in_trace)
{
    struct ap_hotspot spot;
    struct ap_error error;
    const struct ap_value *row = named(report, "cpu.operators", in_trace);
    row = row ? row : named(report, "cpu.top_ops", in_trace);
    ok(ap_recorder_statistics(recorder, name, &spot, &error) == AP_OK && row, in_trace);
    is_int(ap_value_integer(ap_value_member(row, "count"), -1), (int64_t)spot.count, "its count");
    is_int(ap_value_integer(ap_value_member(row, "total_dur_us"), -1), spot.total_ns, "its total");
    is_int(ap_value_integer(ap_value_member(row, "max_dur_us"), -1), spot.max_ns, "its longest");
    is_int(ap_value_integer(ap_value_member(row, "min_dur_us"), -1), spot.min_ns, "its shortest");
}

static void exports_are_read(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    a_small_run(recorder);
    struct ap_report *report = report_of(recorder, true, true);
    if (!report)
        return;
    const struct ap_value *root = ap_report_root(report);
    is_u64(ap_value_count(ap_value_member(root, "warnings")), 0, "without a warning");
    is_int(whole(report, "steps.count"), 5, "steps");
    is_int(whole(report, "trace.rank"), 1, "the rank");
    is_int(whole(report, "cpu.signals.host_collective.count"), 5, "communication without a library");
    is_int(whole(report, "cpu.signals.gloo.total_dur_us"), 500000, "and with one");
    is_int(whole(report, "cpu.signals.host_wait.total_dur_us"), 1000000, "waits");
    is_int(whole(report, "data_loading.total_dur_us"), 15000000, "data loading is told by its name");
    is_int(whole(report, "data_loading.count"), 5, "and counted");
    same_as_recorded(recorder, report, "forward", "forward");
    same_as_recorded(recorder, report, "mm", "mm");
    is_int(whole(report, "gpu.kernel.count"), 2, "compute and communication on a GPU are kernels");
    is_int(whole(report, "gpu.memcpy.bytes"), 64, "memory is a copy");
    is_int(whole(report, "memory.summary.allocated_bytes"), 1 << 20, "memory in use at the end");
    is_int(whole(report, "memory.summary.reserved_bytes"), (1 << 20) + 4096 + 100, "reserved is the peak, of each device");
    is_text(ap_value_text(ap_value_at(root, "joined.method")), "epoch clocks", "trace and snapshot are of one run");
    ap_report_free(report);
    ap_recorder_free(recorder);
}

static void an_empty_recording(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    struct ap_report *report =
        report_or(recorder, true, false,
                  "the trace has no events: nothing was recorded, or nothing was exported (no-events, 1 times)");
    ok(report == NULL, "a strict reader takes no trace without events");
    report = report_or(recorder, false, true,
                       "the snapshot has no segments: what was reserved and in use when it was taken is not known, or was "
                       "nothing (no-segments, 1 times)");
    ok(report == NULL, "nor a snapshot without memory");
    ap_recorder_free(recorder);
}

static void a_full_ring_is_read(void)
{
    struct ap_recorder *recorder = recorder_with(64, 0);
    for (uintptr_t i = 1; i <= 300; i++) {
        now_ns += 1000;
        ap_record_allocation(recorder, 2, (void *)(i * 4096), 512, "kept");
        if (i % 10)
            ap_record_release(recorder, 2, (void *)(i * 4096));
    }
    struct ap_report *report = report_of(recorder, false, true);
    if (report) {
        is_int(whole(report, "memory.summary.allocated_bytes"), 512 * 30, "a history that begins late: its end is right");
        is_u64(ap_value_count(ap_value_member(ap_report_root(report), "warnings")), 0, "and it contradicts nothing");
    }
    ap_report_free(report);
    ap_recorder_free(recorder);
}

/* -------------------------------------------------------------------------------------------------- texts and files */

static enum ap_status refuse(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)self, (void)data, (void)bytes;
    reterr->status = AP_ERROR_OUTPUT;
    (void)snprintf(reterr->message, sizeof(reterr->message), "refused");
    return AP_ERROR_OUTPUT;
}

static void names_of_any_length(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    static char name[3000];
    for (size_t i = 0; i + 3 < sizeof(name); i += 3)
        memcpy(name + i, "\xe2\x82\xac", 3); /* an euro sign: is not cut in the middle without being noticed */
    now_ns += 1000;
    scope_of(recorder, AP_RECORD_COMPUTE, name, 1000);
    scope_of(recorder, AP_RECORD_DATA_LOADING, name, 1000);
    ap_record_allocation(recorder, 0, (void *)0x1000, 8, name);
    scope_of(recorder, AP_RECORD_DATA_LOADING, "", 1000);
    struct ap_report *report = report_of(recorder, true, true);
    if (report)
        is_u64(ap_value_count(ap_value_member(ap_report_root(report), "warnings")), 0,
               "a name of 3,000 bytes, and none of 0");
    ok(named(report, "cpu.operators", name) != NULL, "stands whole in the trace");
    ap_report_free(report);
    ap_recorder_free(recorder);
}

static void two_recorders_on_one_thread(void)
{
    struct ap_recorder *recorders[] = { recorder_with(0, 0), recorder_with(0, 0) };
    struct ap_recorder_counts counts[2];
    struct ap_scope outer;
    ap_scope_begin(&outer, recorders[0], AP_RECORD_COMPUTE, "outer");
    for (int i = 0; i < 100; i++)
        scope_of(recorders[i % 2], AP_RECORD_COMPUTE, "turns", 1);
    ap_scope_end(&outer);
    ap_recorder_count(recorders[0], &counts[0]);
    ap_recorder_count(recorders[1], &counts[1]);
    is_u64(counts[0].events, 51, "two recorders on one thread: each has its own events");
    is_u64(counts[1].events, 50, "and the other one too");
    is_u64(counts[0].threads + counts[1].threads, 2, "the thread once in each");
    ap_recorder_free(recorders[0]);
    scope_of(recorders[1], AP_RECORD_COMPUTE, "after the other is gone", 1);
    ap_recorder_count(recorders[1], &counts[1]);
    is_u64(counts[1].events, 51, "one goes on where the other is freed");
    ap_recorder_free(recorders[1]);
}

static void texts_and_files(void)
{
    struct ap_recorder *recorder = recorder_with(0, 0);
    struct ap_error error;
    char name[] = "temporary";
    const char *kept = ap_recorder_keep_text(recorder, name);
    name[0] = 'T';
    is_str(kept, "temporary", "a kept text is a copy");
    ok(kept == ap_recorder_keep_text(recorder, "temporary"), "equal texts are one");
    a_small_run(recorder);
    ok(ap_recorder_write_trace(recorder, refuse, NULL, &error) == AP_ERROR_OUTPUT, "a failing writer ends the trace");
    ok(ap_recorder_write_snapshot(recorder, refuse, NULL, &error) == AP_ERROR_OUTPUT, "and the snapshot");
    ok(ap_recorder_save_trace(recorder, "/nowhere/at/all", &error) == AP_ERROR_OUTPUT && strstr(error.message, "/nowhere"),
       "a file that cannot be written is named");
    ap_recorder_free(recorder);
}

/* --------------------------------------------------------------------------------------------------------- threads */

#define THREADS 4
#define ROUNDS 3000

static void *record_much(void *self)
{
    struct ap_recorder *recorder = self;
    ap_recorder_name_thread(recorder, "worker");
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        AP_SCOPE(recorder, AP_RECORD_COMPUTE, "work");
        void *address = (char *)&i + i % 16;
        ap_record_allocation(recorder, AP_DEVICE_HOST, address, 16, "scratch");
        ap_record_release(recorder, AP_DEVICE_HOST, address);
        if (i % 64 == 0)
            ap_record_instant(recorder, AP_RECORD_CUSTOM, ap_recorder_keep_text(recorder, "mark"));
    }
    return NULL;
}

static enum ap_status drop(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)data, (void)reterr;
    *(size_t *)self += bytes;
    return AP_OK;
}

static void threads_record_while_others_read(void)
{
    struct ap_recorder *recorder;
    struct ap_error error;
    struct ap_hotspot spot;
    pthread_t threads[THREADS];
    int started = 0;
    if (ap_recorder_new(&(struct ap_recorder_options){ .process_name = "threads" }, &recorder, &error) != AP_OK)
        return;
    while (started < THREADS && pthread_create(&threads[started], NULL, record_much, recorder) == 0)
        started++;
    size_t bytes = 0, reads = 0;
    for (int i = 0; i < 20; i++) {
        ap_record_step(recorder);
        enum ap_status status = ap_recorder_statistics(recorder, "work", &spot, &error);
        reads += (status == AP_OK || status == AP_END) && ap_recorder_write_trace(recorder, drop, &bytes, &error) == AP_OK &&
                 ap_recorder_write_snapshot(recorder, drop, &bytes, &error) == AP_OK;
    }
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    ap_record_step_end(recorder);
    ap_recorder_stop(recorder);
    is_u64(reads, 20, "statistics, trace and snapshot while threads record");
    ok(ap_recorder_statistics(recorder, "work", &spot, &error) == AP_OK, "statistics of all threads");
    is_u64(spot.count, (uint64_t)started * ROUNDS, "each scope once");
    ok(spot.min_ns >= 0 && spot.min_ns <= spot.mean_ns && spot.mean_ns <= spot.max_ns, "min, mean, max");
    struct ap_memory_use use;
    ap_recorder_memory(recorder, AP_DEVICE_HOST, &use);
    is_int(use.current_bytes, 0, "all memory given back");
    struct ap_report *report = report_of(recorder, true, true);
    if (report)
        is_u64(ap_value_count(ap_value_member(ap_report_root(report), "warnings")), 0,
               "read without a warning, real clock too");
    ap_report_free(report);
    ap_recorder_free(recorder);
}

static void the_real_clock(void)
{
    struct ap_recorder *recorder;
    struct ap_error error;
    struct ap_hotspot spot;
    if (ap_recorder_new(&(struct ap_recorder_options){ .start_off = true }, &recorder, &error) != AP_OK)
        return;
    ap_recorder_start(recorder);
    int64_t begun_ns = ap_recorder_now_ns(recorder);
    {
        AP_SCOPE(recorder, AP_RECORD_SYNCHRONISATION, "sleep");
        struct timespec wait = { 0, 20000000 };
        (void)nanosleep(&wait, NULL);
    }
    int64_t waited_ns = ap_recorder_now_ns(recorder) - begun_ns;
    ok(ap_recorder_statistics(recorder, "sleep", &spot, &error) == AP_OK && spot.total_ns >= 19990000 &&
           spot.total_ns <= waited_ns + 20000,
       "a scope lasts as long as the system's clock says");
    ap_recorder_free(recorder);
}

/* ------------------------------------------------------------------------------------------------ memory that ends */

static bool record_little(struct ap_recorder *recorder)
{
    struct ap_error error = { .message = "" };
    struct ap_hotspot spots[4];
    size_t count, bytes = 0;
    bool all = ap_recorder_keep_text(recorder, "kept") != NULL;
    enum ap_status status = ap_recorder_set_metadata(recorder, "key", "value", &error);
    ap_recorder_name_thread(recorder, "named");
    ap_record_step(recorder);
    scope_of(recorder, AP_RECORD_COMPUTE, "work", 10);
    ap_record_operation(recorder, &(struct ap_operation){ .name = "kernel", .device = 0, .duration_ns = 5 });
    {
        AP_SCOPE(recorder, AP_RECORD_COMPUTE, "holder");
        ap_record_allocation(recorder, 0, (void *)0x1000, 10, "tag");
    }
    ap_record_release(recorder, 0, (void *)0x1000);
    ap_record_step_end(recorder);
    enum ap_status later[] = {
        ap_recorder_hotspots(recorder, spots, 4, &count, &error),
        ap_recorder_write_trace(recorder, drop, &bytes, &error),
        ap_recorder_write_snapshot(recorder, drop, &bytes, &error),
    };
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        ok(later[i] == AP_OK || (later[i] == AP_ERROR_MEMORY && strstr(error.message, "memory")), "a clean error");
        all = all && later[i] == AP_OK;
    }
    struct ap_recorder_counts counts;
    ap_recorder_count(recorder, &counts);
    return all && status == AP_OK && !counts.events_dropped && !counts.allocations_dropped && !counts.memory_events_dropped;
}

static void every_allocation_fails_once(void)
{
    int64_t fail_after = 1;
    bool all = false;
    for (; !all && fail_after < 500; fail_after++) {
        struct ap_recorder *recorder = recorder_with(0, fail_after);
        all = recorder && record_little(recorder);
        ap_recorder_free(recorder);
    }
    ok(all, "once memory suffices, everything is recorded");
    ok(fail_after > 15, "there were allocations to fail");
}

int main(void)
{
    statistics_by_hand();
    nothing_while_off();
    the_limit_holds();
    deep_scopes();
    memory_by_hand();
    many_allocations();
    exports_are_read();
    an_empty_recording();
    a_full_ring_is_read();
    names_of_any_length();
    two_recorders_on_one_thread();
    texts_and_files();
    threads_record_while_others_read();
    the_real_clock();
    every_allocation_fails_once();
    return done();
}
