/* SPDX-License-Identifier: MIT
 * What the report tells of pools, segments, the replay and failed allocations: from a snapshot's text to its values. */
#include <stdio.h>
#include <string.h>

#include "feed.h"
#include "memory_join.h"
#include "request_shape.h"
#include "tap.h"

struct run {
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_error error;
    struct ap_snapshot *snapshot;
    struct ap_model model;
    enum ap_status status;
};

static void run_text(struct run *run, const char *text, uint64_t top_n, int64_t fail_after)
{
    struct feed feed = feed_of(text, strlen(text), 0);
    struct ap_json_limits limits = { .window_bytes = 0 };
    struct ap_snapshot_options options = { .salvage = false };
    struct ap_json_reader *json = NULL;
    memset(run, 0, sizeof(*run));
    ap_gate_init(&run->gate, 0);
    ap_model_init(&run->model, &run->gate);
    run->status = ap_json_reader_new(&run->gate, feed_source(&feed), &run->notes, &limits, &json, &run->error);
    if (run->status == AP_OK)
        run->status = ap_snapshot_read(json, &run->gate, &run->notes, &options, &run->snapshot, &run->error);
    ap_json_reader_free(json);
    atomic_store(&run->gate.fail_after, fail_after);
    if (run->status == AP_OK)
        run->status =
            ap_join_part_snapshot(run->snapshot, "s.json", top_n, true, NULL, &run->notes, &run->model, &run->error);
    atomic_store(&run->gate.fail_after, -1);
}

/* False where something was not given back. */
static bool end_run(struct run *run)
{
    ap_model_release(&run->model);
    ap_snapshot_free(run->snapshot);
    return atomic_load(&run->gate.used_bytes) == 0;
}

static const struct ap_value *row(const struct run *run, const char *path, unsigned index)
{
    const struct ap_value *value = ap_value_first(ap_value_at(&run->model.root, path));
    while (value && index--)
        value = value->next;
    return value;
}

static int64_t whole(const struct ap_value *object, const char *key)
{
    return ap_value_integer(ap_value_at(object, key), INT64_MIN);
}

static void is_string(const struct ap_value *object, const char *key, const char *wanted)
{
    struct ap_text text = ap_value_text(ap_value_at(object, key));
    if (!ok(ap_text_is(text, wanted), wanted))
        note(key);
}

#define FRAMES(line)                                                           \
    "\"frames\": [{\"filename\": \"??\", \"line\": 0, \"name\": \"malloc\"}, " \
    "{\"filename\": \"train.py\", \"line\": " line ", \"name\": \"step\"}]"

/* Device 0: 40 MiB in the default pool, of which 10 + 9 are in use and 1 waits, and 20 free in two pieces; 20 MiB wholly
 * free in a private pool and on another stream. The 9 were allocated within the history, and 25 were asked for. */
static const char snapshot[] =
    "{\"segments\": ["
    "{\"device\": 0, \"address\": 1048576, \"total_size\": 41943040, \"allocated_size\": 19922944, \"active_size\": "
    "20971520, "
    "\"requested_size\": 20971000, \"stream\": 0, \"segment_type\": \"large\", \"segment_pool_id\": [0, 0], \"blocks\": ["
    "{\"address\": 1048576, \"size\": 10485760, \"requested_size\": 10485760, \"state\": \"active_allocated\", " FRAMES(
        "1") "}, "
             "{\"address\": 11534336, \"size\": 10485760, \"requested_size\": 0, \"state\": \"inactive\"}, "
             "{\"address\": 22020096, \"size\": 9437184, \"requested_size\": 9436664, \"state\": \"active_allocated\"}, "
             "{\"address\": 31457280, \"size\": 1048576, \"requested_size\": 1048576, \"state\": \"active_pending_free\"}, "
             "{\"address\": 32505856, \"size\": 10485760, \"requested_size\": 0, \"state\": \"inactive\"}]}, "
             "{\"device\": 0, \"address\": 104857600, \"total_size\": 20971520, \"allocated_size\": 0, \"active_size\": 0, "
             "\"requested_size\": 0, \"stream\": 7, \"segment_type\": \"large\", \"segment_pool_id\": [0, 2], \"blocks\": ["
             "{\"address\": 104857600, \"size\": 20971520, \"requested_size\": 0, \"state\": \"inactive\"}]}], "
             "\"device_traces\": [["
             "{\"action\": \"alloc\", \"addr\": 31457280, \"size\": 1048576, \"stream\": 0, \"time_us\": 10}, "
             "{\"action\": \"alloc\", \"addr\": 22020096, \"size\": 9436664, \"stream\": 0, \"time_us\": 20, " FRAMES(
                 "2") "}, "
                      "{\"action\": \"free_requested\", \"addr\": 31457280, \"size\": 1048576, \"stream\": 0, \"time_us\": "
                      "30}, "
                      "{\"action\": \"oom\", \"size\": 26214400, \"device_free\": 2097152, \"stream\": 0, \"time_us\": "
                      "40, " FRAMES("3") "}], []]}";

static void parts_add_up(void)
{
    struct run run;
    run_text(&run, snapshot, 0, -1);
    is_int(run.status, AP_OK, "the snapshot is reported");
    const struct ap_value *totals = ap_value_at(&run.model.root, "memory.totals");
    is_int(whole(totals, "reserved_bytes"), 62914560, "reserved");
    is_int(whole(totals, "inactive_split_bytes"), 20971520, "two free pieces in a partly used segment");
    is_int(whole(totals, "wholly_free_segment_bytes"), 20971520, "a wholly free segment");
    is_int(whole(totals, "pending_free_bytes"), 1048576, "one block waits");
    is_int(whole(totals, "unexplained_bytes"), 0, "allocated, pending and inactive are all that is reserved");
    is_int(whole(totals, "largest_free_block_bytes"), 20971520, "the largest free block");
    const struct ap_value *pool = row(&run, "memory.pools", 0), *other = row(&run, "memory.pools", 1);
    is_string(pool, "pool", "default");
    is_string(other, "pool", "private");
    is_int(whole(pool, "reserved_bytes") + whole(other, "reserved_bytes"), 62914560, "pools add up");
    is_int(whole(row(&run, "memory.streams", 1), "stream"), 7, "the other stream");
    is_int(whole(ap_value_at(&run.model.root, "memory"), "stream_count"), 2, "of two");
    is_int(whole(row(&run, "memory.by_device", 0), "pending_free_bytes"), 1048576, "a device has its parts too");
    ok(end_run(&run), "all memory is given back");
}

static void pins_are_named(void)
{
    struct run run;
    run_text(&run, snapshot, 1, -1);
    const struct ap_value *segment = row(&run, "memory.segments", 0);
    const struct ap_value *pins = ap_value_member(segment, "pinned_by");
    is_int(whole(segment, "address"), 1048576, "the segment with stranded bytes comes first");
    is_int((int64_t)ap_value_count(pins), 3, "three blocks pin it");
    const struct ap_value *pin = ap_value_first(pins);
    is_int(whole(pin, "size_bytes"), 10485760, "the largest first");
    ok(ap_value_member(pin, "age_entries")->type == AP_VALUE_NULL, "it is older than the history");
    is_string(pin, "frame", "train.py:1 step");
    is_int(whole(pin->next, "age_entries"), 3, "the next one was allocated three entries ago");
    is_string(pin->next, "frame", "train.py:2 step");
    is_int((int64_t)ap_value_count(ap_value_at(&run.model.root, "memory.segments")), 1, "--top-n bounds the list");
    ok(end_run(&run), "all memory is given back");
}

static void a_picture_is_made_of_runs(void)
{
    struct run run;
    run_text(&run, snapshot, 1, -1);
    const struct ap_value *first = row(&run, "memory.segment_map.segments", 0), *runs = ap_value_member(first, "runs");
    const struct ap_value *pending = ap_value_first(runs)->next->next->next;
    is_int(whole(first, "address"), 1048576, "the largest segment");
    is_int(ap_value_count(ap_value_at(&run.model.root, "memory.segment_map.segments")), 2,
           "all segments, whatever --top-n is");
    is_int(ap_value_count(runs), 5, "a run for each state");
    is_int(whole(ap_value_first(runs), "allocated_bytes"), 10485760, "the first is in use");
    is_int(whole(pending, "pending_free_bytes"), 1048576, "the fourth waits");
    is_int(whole(pending, "allocated_bytes"), 0, "and is not in use");
    ok(end_run(&run), "all memory went back");
}

/* 4,000 blocks of 512 bytes, every other one in use. */
static void a_picture_of_many_blocks_is_coarse(void)
{
    static char text[600000];
    struct run run;
    size_t used = (size_t)snprintf(text, sizeof(text),
                                   "{\"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": 2048000, "
                                   "\"allocated_size\": 1024000, \"active_size\": 1024000, \"blocks\": [");
    for (int i = 0; i < 4000; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s{\"address\": %d, \"size\": 512, \"state\": \"%s\"}",
                                 i ? ", " : "", 4096 + 512 * i, i % 2 ? "inactive" : "active_allocated");
    (void)snprintf(text + used, sizeof(text) - used, "]}], \"device_traces\": []}");
    run_text(&run, text, 0, -1);
    int64_t count = 0, bytes = 0, allocated_bytes = 0, blocks = 0;
    for (const struct ap_value *of = ap_value_first(ap_value_member(row(&run, "memory.segment_map.segments", 0), "runs"));
         of; of = of->next, count++) {
        bytes += whole(of, "bytes");
        allocated_bytes += whole(of, "allocated_bytes");
        blocks += whole(of, "blocks");
    }
    ok(count > 256 && count <= 512, "not more runs than can be drawn");
    is_int(bytes, 2048000, "they cover the segment");
    is_int(allocated_bytes, 1024000, "and say what of it is in use");
    is_int(blocks, 4000, "all blocks are in one");
    ok(end_run(&run), "all memory went back");
}

static void replay_is_reported(void)
{
    struct run run;
    run_text(&run, snapshot, 0, -1);
    const struct ap_value *device = row(&run, "memory.replay.devices", 0);
    is_int(whole(device, "entries"), 4, "all entries count");
    is_int(whole(device, "start_requested_bytes"), 11534336,
           "10 MiB before, and what the segments count of the block that waits");
    is_int(whole(device, "peak_requested_bytes"), 22019576, "the peak");
    is_int(whole(device, "peak_entry"), 1, "at the second entry");
    is_int(whole(device, "end_requested_bytes"), 20971000, "the end is the segments' word");
    is_int(whole(device, "inconsistencies"), 0, "nothing contradicts");
    is_string(device, "begins", "mid-run");
    is_string(device, "confidence", "high");
    is_string(row(&run, "memory.replay.devices", 1), "begins", "no history");
    ok(ap_value_member(row(&run, "memory.replay.devices", 1), "peak_requested_bytes")->type == AP_VALUE_NULL,
       "without a history there is no peak");
    ok(end_run(&run), "all memory is given back");
}

static void ooms_are_examined(void)
{
    struct run run;
    run_text(&run, snapshot, 0, -1);
    const struct ap_value *oom = row(&run, "memory.oom", 0);
    is_int(whole(oom, "requested_bytes"), 26214400, "25 MiB were asked for");
    is_int(whole(oom, "usable_inactive_bytes"), 20971520, "20 are free in the right pool");
    is_int(whole(oom, "other_pool_inactive_bytes"), 20971520, "20 in another");
    is_string(oom, "verdict", "private_pools");
    is_string(oom, "frame", "train.py:3 step");
    const struct ap_value *filled = ap_value_first(ap_value_member(oom, "filled_by"));
    is_string(filled, "frame", "train.py:1 step");
    is_int(whole(filled, "requested_bytes"), 10485760, "who holds most");
    is_string(oom, "release.way", "one hole");
    is_int(whole(oom, "release.allocations"), 2, "9 MiB and what waits stand between two holes");
    ok(end_run(&run), "all memory is given back");
}

#define ENTRY(action, size, line)                                           \
    "{\"action\": \"" action "\", \"addr\": 17465344, \"size\": " size ", " \
    "\"device_free\": 2097152, \"stream\": 0, " FRAMES(line) "}"

/* An embedding of 50,257 words by 64 in 2 bytes, made before the history; logits of 256 and of 512 rows in 4 bytes, both of
 * line 5, of which the first is gone; 512 rows that fail there, and once more at line 6. */
static const char logits[] =
    "{\"segments\": ["
    "{\"device\": 0, \"address\": 1048576, \"total_size\": 119343104, \"allocated_size\": 119343104, "
    "\"active_size\": 119343104, \"requested_size\": 109359232, \"stream\": 0, \"segment_type\": \"large\", \"blocks\": ["
    "{\"address\": 1048576, \"size\": 16416768, \"requested_size\": 6432896, \"state\": \"active_allocated\"}, "
    "{\"address\": 17465344, \"size\": 102926336, \"requested_size\": 102926336, "
    "\"state\": \"active_allocated\", " FRAMES("5") "}]}], \"device_traces\": [["       /**/
    ENTRY("alloc", "51463168", "5") ", " ENTRY("free_requested", "51463168", "5") ", "  /**/
    ENTRY("free_completed", "51463168", "5") ", " ENTRY("alloc", "102926336", "5") ", " /**/
    ENTRY("oom", "102926336", "5") ", " ENTRY("oom", "102926336", "6") "]]}";

static void the_request_is_told(void)
{
    struct run run;
    run_text(&run, logits, 0, -1);
    const struct ap_value *first = row(&run, "memory.oom", 0), *last = row(&run, "memory.oom", 1);
    is_string(last, "shape", "512 rows of 50257 values of 4 bytes, or 1024 of 2");
    ok(!ap_value_member(first, "is_last")->as.integer && ap_value_member(last, "is_last")->as.integer, "the last one is");
    is_int(whole(first, "same_line.allocations"), 1, "the line that asked holds one already");
    is_int(whole(first, "same_line.requested_bytes"), 102926336, "of that size");
    is_int(whole(first, "most_before_bytes"), 102926336, "which is the largest that it got");
    is_int(whole(last, "same_line.allocations"), 0, "another line holds none");
    is_int(whole(last, "most_before_bytes"), 0, "and never got any");
    is_int(whole(last, "same_size.allocations"), 1, "one is alive that is as large");
    is_string(last, "held_by", "train.py:5 step");
    const struct ap_value *summary = ap_value_at(&run.model.root, "memory.oom_summary");
    is_int(whole(summary, "same_size_bytes"), 102926336, "the summary tells of the last one");
    is_int(whole(summary, "same_line_count"), 0, "and of its line");
    double share = ap_value_member(summary, "logits_ratio")->as.number;
    ok(share > 0.969 && share < 0.970, "it and what is as large are all but the embedding");
    ok(end_run(&run), "all memory is given back");
    run_text(&run, snapshot, 0, -1);
    ok(ap_value_at(ap_value_first(ap_value_at(&run.model.root, "memory.oom")), "shape")->type == AP_VALUE_NULL,
       "25 MiB are not told as a shape");
    ok(ap_value_at(&run.model.root, "memory.oom_summary.logits_ratio")->as.number == 0, "nor as logits");
    is_string(row(&run, "memory.oom", 0), "held_by", "");
    ok(end_run(&run), "all memory is given back");
}

static struct ap_owned of_bytes(int64_t bytes, enum ap_owner_evidence evidence)
{
    return (struct ap_owned){ .bytes = bytes, .evidence = (uint8_t)evidence };
}

/* A copy, and the loss of it: one line of the user's that asks by two stacks. */
static const char copies[] = /**/
    "{\"segments\": ["
    "{\"device\": 0, \"address\": 1048576, \"total_size\": 104857600, \"allocated_size\": 104857600, "
    "\"active_size\": 104857600, \"requested_size\": 104857600, \"stream\": 0, \"segment_type\": \"large\", \"blocks\": ["
    "{\"address\": 1048576, \"size\": 104857600, \"requested_size\": 104857600, \"state\": \"active_allocated\", "
    "\"frames\": [{\"filename\": \"/u/train.py\", \"line\": 5, \"name\": \"step\"}]}]}], \"device_traces\": [["
    "{\"action\": \"alloc\", \"addr\": 1048576, \"size\": 104857600, \"stream\": 0, "
    "\"frames\": [{\"filename\": \"/u/train.py\", \"line\": 5, \"name\": \"step\"}]}, "
    "{\"action\": \"oom\", \"size\": 104857600, \"device_free\": 2097152, \"stream\": 0, \"frames\": ["
    "{\"filename\": \"/site-packages/torch/nn/functional.py\", \"line\": 1, \"name\": \"cross_entropy\"}, "
    "{\"filename\": \"/u/train.py\", \"line\": 5, \"name\": \"step\"}]}]]}";

static void a_line_may_ask_by_several_stacks(void)
{
    struct run run;
    run_text(&run, copies, 0, -1);
    const struct ap_value *oom = row(&run, "memory.oom", 0);
    is_string(oom, "frame", "/u/train.py:5 step");
    is_int(whole(oom, "same_line.requested_bytes"), 104857600, "what the line holds already");
    is_int(whole(oom, "most_before_bytes"), 104857600, "and the most that it got");
    ok(end_run(&run), "all memory is given back");
}

static void shapes_need_a_second_witness(void)
{
    const int64_t logits_bytes = (int64_t)4096 * 128256 * 4, width = 4096;
    struct ap_owned list[6] = { of_bytes(logits_bytes, AP_EVIDENCE_FORWARD_SAVED) };
    struct ap_request_shape shape;
    ok(!ap_request_shape_find(logits_bytes, list, 1, &shape), "an activation of the size is none");
    list[0] = of_bytes(width * 128256 * 2, AP_EVIDENCE_BEFORE_KEPT);
    ok(!ap_request_shape_find(logits_bytes, list, 1, &shape), "a weight is none where two vocabularies fit it");
    for (int i = 1; i < 6; i++)
        list[i] = of_bytes(width * 2, AP_EVIDENCE_BEFORE_KEPT);
    ok(ap_request_shape_find(logits_bytes, list, 6, &shape) && shape.words == 128256 && shape.rows == 4096,
       "vectors of its width settle that");
    const int64_t others_bytes = (int64_t)16680 * 4000 * 2; /* by chance 2085 rows of 32,000 */
    list[0] = of_bytes((int64_t)1024 * 4000 * 2, AP_EVIDENCE_BEFORE_KEPT);
    ok(!ap_request_shape_find(others_bytes, list, 6, &shape), "a round number fits by chance");
    list[0] = of_bytes(width * 32000 * 2, AP_EVIDENCE_BEFORE_KEPT);
    ok(ap_request_shape_find(others_bytes, list, 6, &shape) && shape.words == 32000, "and is told where vectors confirm it");
    list[0] = of_bytes(width * 128256 * 2, AP_EVIDENCE_BEFORE_KEPT);
    ok(!ap_request_shape_find(logits_bytes + 512, list, 6, &shape), "what does not factor has no shape");
    ok(!ap_request_shape_find(INT64_MIN, list, 6, &shape) && !ap_request_shape_find(INT64_MAX, list, 6, &shape),
       "sizes may be anything");
}

static void memory_may_end_anywhere(void)
{
    size_t leaks = 0, wrong = 0;
    int64_t requests = 0;
    for (; requests < 10000; requests++) {
        struct run run;
        run_text(&run, snapshot, 0, requests);
        enum ap_status status = run.status;
        leaks += !end_run(&run);
        if (status == AP_OK)
            break;
        wrong += status != AP_ERROR_MEMORY;
    }
    ok(requests > 15 && requests < 10000, "the pass asks for memory some times");
    is_u64(wrong, 0, "each refusal is an out-of-memory error");
    is_u64(leaks, 0, "and leaves nothing behind");
}

int main(void)
{
    parts_add_up();
    pins_are_named();
    a_picture_is_made_of_runs();
    a_picture_of_many_blocks_is_coarse();
    replay_is_reported();
    ooms_are_examined();
    the_request_is_told();
    a_line_may_ask_by_several_stacks();
    shapes_need_a_second_witness();
    memory_may_end_anywhere();
    return done();
}
