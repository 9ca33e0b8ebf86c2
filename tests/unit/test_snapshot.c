/* SPDX-License-Identifier: MIT
 * The snapshot reader, from JSON text to what a snapshot holds. */
#include <string.h>

#include "feed.h"
#include "snapshot.h"
#include "tap.h"

/* One reading of one text, and what came of it. */
struct run {
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_error error;
    struct ap_snapshot *snapshot;
    enum ap_status status;
};

enum salvage { STRICT, SALVAGE };

static void run_bytes(struct run *run, const char *text, size_t bytes, size_t piece_bytes, enum salvage salvage,
                      int64_t fail_after)
{
    struct feed feed = feed_of(text, bytes, piece_bytes);
    struct ap_json_limits limits = { .window_bytes = piece_bytes };
    struct ap_snapshot_options options = { .salvage = salvage == SALVAGE };
    struct ap_json_reader *json = NULL;
    memset(run, 0, sizeof(*run));
    ap_gate_init(&run->gate, 0);
    atomic_store(&run->gate.fail_after, fail_after);
    run->status = ap_json_reader_new(&run->gate, feed_source(&feed), &run->notes, &limits, &json, &run->error);
    if (run->status == AP_OK)
        run->status = ap_snapshot_read(json, &run->gate, &run->notes, &options, &run->snapshot, &run->error);
    ap_json_reader_free(json);
}

static void run_text(struct run *run, const char *text)
{
    run_bytes(run, text, strlen(text), 0, STRICT, -1);
}

/* False where something was not given back. */
static bool end_run(struct run *run)
{
    ap_snapshot_free(run->snapshot);
    run->snapshot = NULL;
    return atomic_load(&run->gate.used_bytes) == 0;
}

static uint64_t count_of(const struct run *run, enum ap_counter counter)
{
    return run->notes.notes[counter].count;
}

static uint64_t notes_total(const struct run *run)
{
    uint64_t total = 0;
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        total += run->notes.notes[i].count;
    return total;
}

static struct ap_text name_of(const struct run *run, struct ap_str str)
{
    return ap_strpool_text(&run->snapshot->strings, str);
}

/* -------------------------------------------------------------------------------------------------------- documents */

#define FRAMES "[{\"filename\": \"train.py\", \"line\": 7, \"name\": \"step \\\"a\\\"\"}]"

static const char modern[] =
    "{\"segments\": [{\"device\": 0, \"address\": 139818365353984, \"total_size\": 20971520, \"allocated_size\": 4096, "
    "\"active_size\": 8192, \"requested_size\": 8000, \"stream\": 94000000000000, \"segment_type\": \"large\", "
    "\"segment_pool_id\": [0, 1], \"is_expandable\": true, \"frames\": [], \"blocks\": ["
    "{\"address\": 139818365353984, \"size\": 4096, \"requested_size\": 4000, \"state\": \"active_allocated\", "
    "\"frames\": " FRAMES "}, "
    "{\"address\": 139818365358080, \"size\": 4096, \"requested_size\": 4000, \"state\": \"active_pending_free\", "
    "\"frames\": []}, "
    "{\"address\": 139818365362176, \"size\": 20963328, \"requested_size\": 0, \"state\": \"inactive\", \"frames\": []}]}], "
    "\"device_traces\": [["
    "{\"action\": \"segment_alloc\", \"addr\": 139818365353984, \"size\": 20971520, \"stream\": 0, \"time_us\": "
    "1753000000000000}, "
    "{\"action\": \"alloc\", \"addr\": 139818365353984, \"size\": 4000, \"stream\": 0, \"time_us\": 1753000000000010, "
    "\"frames\": " FRAMES ", \"compile_context\": \"N/A\", \"pool_id\": [0, 0]}, "
    "{\"action\": \"oom\", \"device_free\": 12345, \"size\": 99999, \"stream\": 0, \"time_us\": 1753000000000020}], []], "
    "\"allocator_settings\": {\"PYTORCH_CUDA_ALLOC_CONF\": \"expandable_segments:True\", \"max_split_size\": -1, "
    "\"garbage_collection_threshold\": 0.85, \"expandable_segments\": true, \"roundup_power2_divisions\": {\"1\": 0}}, "
    "\"external_annotations\": [{\"name\": \"ProfilerStep#1\", \"stage\": \"START\", \"device\": 0, \"time_us\": "
    "1753000000000001}, "
    "{\"name\": \"ProfilerStep#1\", \"stage\": \"END\", \"device\": 0, \"time_us\": 1753000000000019}], "
    "\"stats\": {\"a\": [1, {}]}}";

static void modern_segments(void)
{
    struct run run;
    run_text(&run, modern);
    if (!ok(run.status == AP_OK, "today's snapshot is read")) {
        note(run.error.message);
        return;
    }
    const struct ap_snapshot *snapshot = run.snapshot;
    is_u64(notes_total(&run), 0, "a clean file has no notes");
    is_int(snapshot->format, AP_SNAPSHOT_OBJECT, "it is the object form");
    ok(snapshot->complete, "it is complete");
    is_u64(snapshot->bytes_read, sizeof(modern) - 1, "every byte was read");
    is_u64(snapshot->has,
           AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_HISTORY | AP_SNAPSHOT_HAS_SETTINGS | AP_SNAPSHOT_HAS_ANNOTATIONS |
               AP_SNAPSHOT_HAS_STACKS,
           "all parts are there");
    is_int(snapshot->segment_count, 1, "one segment");
    const struct ap_segment *segment = &snapshot->segments[0];
    is_u64(segment->has, 0x7ff, "the segment has all its fields");
    is_int(segment->device, 0, "its device");
    is_u64(segment->address, 139818365353984u, "its address");
    is_int(segment->total_bytes, 20971520, "total_size");
    is_int(segment->allocated_bytes, 4096, "allocated_size");
    is_int(segment->active_bytes, 8192, "active_size");
    is_int(segment->requested_bytes, 8000, "requested_size");
    is_u64(segment->stream, 94000000000000u, "a stream is a pointer");
    is_int(segment->type.id, AP_TYPE_LARGE, "its type");
    is_int(segment->pool[0], 0, "pool, first half");
    is_int(segment->pool[1], 1, "pool, second half");
    ok(segment->expandable, "it is expandable");
    is_int(segment->block_count, 3, "three blocks");
    is_int(snapshot->blocks[0].state, AP_BLOCK_ALLOCATED, "active_allocated");
    is_int(snapshot->blocks[1].state, AP_BLOCK_PENDING, "active_pending_free");
    is_int(snapshot->blocks[2].state, AP_BLOCK_INACTIVE, "inactive");
    is_u64(snapshot->blocks[2].address, 139818365362176u, "a block's address");
    is_int(snapshot->blocks[1].requested_bytes, 4000, "a block's requested_size");
    ok(end_run(&run), "all memory is given back");
}

static void modern_history(void)
{
    struct run run;
    run_text(&run, modern);
    if (run.status != AP_OK)
        return;
    const struct ap_snapshot *snapshot = run.snapshot;
    const struct ap_actions *actions = &snapshot->actions;
    is_int(snapshot->history_count, 2, "two devices");
    is_int(snapshot->histories[0].action_count, 3, "three entries on the first");
    is_int(snapshot->histories[1].action_count, 0, "none on the second");
    is_int(actions->name[0].id, AP_ACTION_SEGMENT_ALLOC, "segment_alloc");
    is_int(actions->name[1].id, AP_ACTION_ALLOC, "alloc");
    is_int(actions->size_bytes[1], 4000, "size");
    is_u64(actions->address[1], 139818365353984u, "addr");
    is_int(actions->time_ns[1], 1753000000000010000, "time_us, as nanoseconds");
    is_int(actions->name[2].id, AP_ACTION_OOM, "oom");
    is_u64(actions->address[2], 12345, "an oom's device_free stands in the address column");
    is_int(actions->has[2], AP_ACTION_HAS_TIME | AP_ACTION_HAS_SIZE | AP_ACTION_HAS_ADDRESS, "it has all three");
    is_int(snapshot->annotation_count, 2, "two annotations");
    is_text(name_of(&run, snapshot->annotations[0].name), "ProfilerStep#1", "an annotation's name");
    is_text(name_of(&run, snapshot->annotations[1].stage), "END", "its stage");
    is_int(snapshot->annotations[1].time_ns, 1753000000000019000, "its time");
    is_text(name_of(&run, snapshot->settings.conf), "expandable_segments:True", "the settings as text");
    ok(snapshot->settings.expandable_segments, "expandable_segments");
    is_int(snapshot->settings.max_split_bytes, -1, "no limit on splitting");
    ok(snapshot->settings.gc_threshold_ratio == 0.85, "garbage_collection_threshold");
    ok(end_run(&run), "all memory is given back");
}

static void modern_stacks(void)
{
    struct run run;
    uint32_t count;
    run_text(&run, modern);
    if (run.status != AP_OK)
        return;
    const struct ap_snapshot *snapshot = run.snapshot;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, snapshot->blocks[0].stack, &count);
    is_int(count, 1, "a block's stack has a frame");
    is_text(name_of(&run, snapshot->stacks.frames[frames ? *frames : 0].name), "step \"a\"", "its name is decoded");
    is_int(snapshot->stacks.frames[0].line, 7, "its line");
    is_int(snapshot->actions.stack[1], snapshot->blocks[0].stack, "the entry has the same stack");
    is_int(snapshot->blocks[1].stack, 0, "an empty list is no stack");
    is_int(snapshot->actions.stack[0], 0, "neither is none");
    const struct ap_origin *origin = &snapshot->origins[snapshot->actions.origin[1]];
    is_u64(origin->has, AP_ORIGIN_HAS_STREAM | AP_ORIGIN_HAS_POOL, "the entry tells its stream and pool");
    is_text(name_of(&run, origin->compile_context), "N/A", "and its compile context");
    is_int(origin->user_metadata.id, 0, "but no metadata");
    is_int(snapshot->actions.origin[0], snapshot->actions.origin[2], "equal origins are one");
    ok(end_run(&run), "all memory is given back");
}

static void keys_in_any_order(void)
{
    struct run run;
    run_text(&run, "{\"device_traces\": [[{\"time_us\": 5, \"size\": 1, \"addr\": 2, \"action\": \"alloc\"}]],"
                   "\"segments\": [{\"blocks\": [{\"state\": \"inactive\", \"size\": 512}, {\"size\": 1, \"state\": "
                   "\"inactive\"}], \"new_key\": {\"x\": []}, \"segment_type\": \"small\", \"total_size\": 513, "
                   "\"active_size\": 0, \"allocated_size\": 0, \"address\": 1000, \"device\": 3}]}");
    if (!ok(run.status == AP_OK, "keys may stand in any order"))
        return;
    is_u64(notes_total(&run), 0, "without a note");
    is_int(run.snapshot->segments[0].device, 3, "device behind the blocks");
    is_u64(run.snapshot->blocks[1].address, 1512, "addresses are computed once the segment's is known");
    is_int(run.snapshot->actions.time_ns[0], 5000, "time before action");
    ok(end_run(&run), "all memory is given back");
}

static void list_of_segments(void)
{
    struct run run;
    run_text(&run, "[{\"device\": 0, \"address\": 4096, \"total_size\": 1024, \"allocated_size\": 512, \"active_size\": "
                   "512, \"stream\": 0, \"segment_type\": \"small\", \"blocks\": [{\"size\": 512, \"state\": "
                   "\"active_allocated\"}, {\"size\": 512, \"state\": \"inactive\"}]}]");
    if (!ok(run.status == AP_OK, "the bare list of memory_snapshot() is read"))
        return;
    is_u64(notes_total(&run), 0, "without a note");
    is_int(run.snapshot->format, AP_SNAPSHOT_SEGMENT_LIST, "and known as such");
    is_u64(run.snapshot->has, AP_SNAPSHOT_HAS_SEGMENTS, "it has segments and nothing else");
    ok(!(run.snapshot->segments[0].has & AP_SEGMENT_HAS_REQUESTED), "requested_size was not recorded");
    is_u64(run.snapshot->blocks[1].address, 4608, "a block's address is computed");
    ok(end_run(&run), "all memory is given back");
    run_text(&run, "[]");
    ok(run.status == AP_OK && run.snapshot->segment_count == 0, "a list of no segments is a snapshot");
    end_run(&run);
    run_text(&run, " {\"segments\": []} \n");
    ok(run.status == AP_OK && run.snapshot->has == AP_SNAPSHOT_HAS_SEGMENTS, "an object with no segments too");
    end_run(&run);
    run_text(&run, "{\"device_traces\": []}");
    ok(run.status == AP_OK && run.snapshot->has == AP_SNAPSHOT_HAS_HISTORY, "history without segments too");
    end_run(&run);
}

static void shape_of_2023(void)
{
    struct run run;
    run_text(&run,
             "{\"segments\": [{\"device\": 0, \"address\": 1048576, \"total_size\": 2048, \"allocated_size\": 1536, "
             "\"active_size\": 1536, \"stream\": 0, \"segment_type\": \"small\", \"blocks\": [{\"size\": 512, "
             "\"state\": \"active_allocated\", \"history\": [{\"addr\": 1048576, \"real_size\": 400, \"frames\": " FRAMES
             "}, {\"real_size\": 7}]}, {\"size\": 1024, \"requested_size\": 1000, \"history\": "
             "[{\"real_size\": 5}], \"state\": \"active_awaiting_free\"}, {\"size\": 512, \"state\": \"inactive\"}]}],"
             "\"device_traces\": [[{\"action\": \"snapshot\", \"addr\": 0, \"size\": 1536, \"stream\": 0}]]}");
    if (!ok(run.status == AP_OK, "the shape of 2023 is read"))
        return;
    const struct ap_block *blocks = run.snapshot->blocks;
    is_u64(notes_total(&run), 0, "without a note");
    is_int(blocks[0].requested_bytes, 400, "the latest real_size stands for requested_size");
    is_int(blocks[1].requested_bytes, 1000, "but not where there is one");
    is_int(blocks[1].state, AP_BLOCK_PENDING, "active_awaiting_free");
    is_u64(blocks[1].address, 1049088, "the second address is computed");
    is_u64(blocks[2].address, 1050112, "the third too");
    ok(!(blocks[2].has & AP_BLOCK_HAS_REQUESTED), "nothing was requested of a free block");
    ok(run.snapshot->has & AP_SNAPSHOT_HAS_STACKS, "stacks within a block's history are seen");
    is_int(blocks[0].stack, 1, "the latest one is the block's");
    is_int(blocks[1].stack, 0, "another block has none");
    ok(!(run.snapshot->actions.has[0] & AP_ACTION_HAS_TIME), "an entry without time");
    ok(end_run(&run), "all memory is given back");
}

/* --------------------------------------------------------------------------------------------------------- oddities */

/* The segment with one member replaced or added; the member is @field. */
static void run_segment(struct run *run, const char *fields)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "{\"segments\": [{%s}]}", fields);
    run_text(run, text);
}

static void sizes_written_strangely(void)
{
    static const struct {
        const char *number;
        int64_t want;
        enum ap_counter counter; /* AP_COUNTER_COUNT_ = none */
    } cases[] = {
        { "1e6", 1000000, AP_COUNTER_COUNT_ },
        { "512.0", 512, AP_COUNTER_COUNT_ },
        { "5.12E+2", 512, AP_COUNTER_COUNT_ },
        { "0", 0, AP_COUNTER_COUNT_ },
        { "-0", 0, AP_COUNTER_COUNT_ },
        { "9223372036854775807", INT64_MAX, AP_COUNTER_COUNT_ },
        { "9223372036854775808", 0, AP_COUNTER_size_not_number },
        { "1e400", 0, AP_COUNTER_size_not_number },
        { "0.5", 0, AP_COUNTER_size_not_number },
        { "\"512\"", 0, AP_COUNTER_size_not_number },
        { "null", 0, AP_COUNTER_size_not_number },
        { "true", 0, AP_COUNTER_size_not_number },
        { "NaN", 0, AP_COUNTER_size_not_number },
        { "[1]", 0, AP_COUNTER_size_not_number },
        { "{\"a\": 1}", 0, AP_COUNTER_size_not_number },
        { "-512", -512, AP_COUNTER_size_negative },
        { "-9223372036854775807", -INT64_MAX, AP_COUNTER_size_negative },
        { "-9223372036854775808", 0, AP_COUNTER_size_not_number },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct run run;
        char fields[256];
        (void)snprintf(fields, sizeof(fields),
                       "\"total_size\": %s, \"allocated_size\": 0, \"active_size\": 0, \"segment_type\": \"x\"",
                       cases[i].number);
        run_segment(&run, fields);
        if (!ok(run.status == AP_OK, cases[i].number))
            continue;
        is_int(run.snapshot->segments[0].total_bytes, cases[i].want, "its size");
        if (cases[i].counter == AP_COUNTER_COUNT_)
            is_u64(notes_total(&run), 0, "nothing odd about it");
        else
            is_u64(count_of(&run, cases[i].counter), 1, "it is counted");
        is_u64(count_of(&run, AP_COUNTER_size_missing), 0, "it is not missing");
        ok(end_run(&run), "all memory is given back");
    }
}

static void missing_and_odd_fields(void)
{
    struct run run;
    run_segment(&run, "");
    ok(run.status == AP_OK && run.snapshot->segment_count == 1, "a segment may lack everything");
    is_u64(count_of(&run, AP_COUNTER_size_missing), 1, "its size is counted as missing");
    is_u64(count_of(&run, AP_COUNTER_use_missing), 1, "so is its use");
    is_u64(count_of(&run, AP_COUNTER_segment_type_missing), 1, "and its type");
    is_int(run.snapshot->segments[0].type.id, AP_NAME_UNKNOWN, "its type is unknown");
    is_u64(run.notes.notes[AP_COUNTER_size_missing].first_offset_bytes, 14, "the note tells its byte");
    end_run(&run);
    run_segment(&run, "\"total_size\": 1, \"allocated_size\": 1, \"active_size\": 1, \"device\": \"cuda:0\", \"address\": "
                      "\"0x7f\", \"segment_type\": null, \"stream\": \"s\", \"segment_pool_id\": [0], \"is_expandable\": 1, "
                      "\"blocks\": {}");
    is_u64(count_of(&run, AP_COUNTER_segment_place), 2, "a device and an address that are no numbers");
    is_u64(count_of(&run, AP_COUNTER_member_type), 4, "stream, pool, flag and blocks of a wrong type");
    const struct ap_segment *segment = &run.snapshot->segments[0];
    is_text(name_of(&run, segment->odd_device), "cuda:0", "the device is kept as written");
    is_text(name_of(&run, segment->odd_address), "0x7f", "the address too");
    is_text(name_of(&run, segment->type), "None", "a type of null shows as Python shows it");
    is_u64(segment->has, AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_ALLOCATED | AP_SEGMENT_HAS_ACTIVE, "only sizes are known");
    end_run(&run);
    run_segment(&run, "\"address\": 18446744073709551615, \"total_size\": 0, \"blocks\": [7, {}, {\"size\": 8, \"state\": "
                      "\"half_open\"}, {\"size\": 8, \"state\": 5, \"address\": []}]");
    is_u64(run.snapshot->segments[0].address, UINT64_MAX, "an address of 2^64-1 keeps every digit");
    is_u64(count_of(&run, AP_COUNTER_block_not_object), 1, "a block that is no object");
    is_u64(count_of(&run, AP_COUNTER_block_size_missing), 1, "a block without size");
    is_u64(count_of(&run, AP_COUNTER_block_state_unknown), 3, "states that are not known");
    is_u64(count_of(&run, AP_COUNTER_member_type), 1, "a block's address that is no number");
    ok(end_run(&run), "all memory is given back");
}

static void odd_entries(void)
{
    static const struct {
        const char *entry, *name;
    } names[] = {
        { "{\"size\": 1}", "unknown" },
        { "{\"action\": \"rewind\"}", "rewind" },
        { "{\"action\": \"a\\u0041\\n\"}", "aA\n" },
        { "{\"action\": 5}", "5" },
        { "{\"action\": 1.50}", "1.50" },
        { "{\"action\": null}", "None" },
        { "{\"action\": true}", "True" },
        { "{\"action\": false}", "False" },
        { "{\"action\": \"\"}", "" },
        { "{\"action\": [1]}", "unknown" },
        { "{\"action\": \"alloc\", \"size\": 1}", "alloc" },
    };
    char text[1024] = "{\"device_traces\": [[";
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? ", " : "", names[i].entry);
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                   "], 7, [{\"action\": \"alloc\", \"addr\": \"x\", \"size\": \"4\", \"time_us\": \"soon\"}, 17, null, "
                   "{\"action\": \"alloc\"}, {\"action\": \"oom\", \"size\": 1, \"time_us\": 1.5}]]}");
    struct run run;
    run_text(&run, text);
    if (!ok(run.status == AP_OK, "odd entries are survived")) {
        note(run.error.message);
        return;
    }
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        is_text(name_of(&run, run.snapshot->actions.name[i]), names[i].name, names[i].entry);
    is_int(run.snapshot->history_count, 3, "what is no list takes a device's place");
    is_int(run.snapshot->histories[2].first_action, AP_COUNT_OF(names), "so that the next one keeps its number");
    is_u64(count_of(&run, AP_COUNTER_action_missing), 1, "action missing");
    is_u64(count_of(&run, AP_COUNTER_action_unknown), 8, "actions unknown");
    is_u64(count_of(&run, AP_COUNTER_entry_not_object), 2, "entries that are no objects");
    is_u64(count_of(&run, AP_COUNTER_entry_size_missing), 1, "a size missing where one is needed");
    is_u64(count_of(&run, AP_COUNTER_size_not_number), 1, "a size that is text");
    is_u64(count_of(&run, AP_COUNTER_time_us_not_number), 1, "a time that is text");
    is_u64(count_of(&run, AP_COUNTER_member_type), 3,
           "a device that is no list, an action that is one, an addr that is text");
    is_int(run.snapshot->actions.time_ns[run.snapshot->actions.count - 1], 1500, "a time with decimals is exact");
    ok(end_run(&run), "all memory is given back");
}

static void odd_other_parts(void)
{
    struct run run;
    run_text(&run, "{\"segments\": [1, \"x\", {\"total_size\": 1}], \"allocator_settings\": \"none\", "
                   "\"external_annotations\": [{\"stage\": \"START\"}, 5, {\"name\": 7, \"time_us\": \"late\"}]}");
    if (!ok(run.status == AP_OK, "odd parts are survived"))
        return;
    is_u64(count_of(&run, AP_COUNTER_segment_not_object), 2, "segments that are no objects");
    is_int(run.snapshot->segment_count, 1, "are no segments");
    ok(!(run.snapshot->has & AP_SNAPSHOT_HAS_SETTINGS), "settings that are text are no settings");
    is_int(run.snapshot->annotation_count, 2, "two annotations");
    is_u64(run.snapshot->odd_annotations, 1, "and one that is no object");
    is_int(run.snapshot->annotations[0].name.id, AP_NAME_UNKNOWN, "a missing name is unknown");
    is_text(name_of(&run, run.snapshot->annotations[1].name), "7", "a number as name stands as written");
    is_u64(count_of(&run, AP_COUNTER_time_us_not_number), 1, "its time is counted");
    ok(end_run(&run), "all memory is given back");
    run_text(&run, "{\"segments\": [], \"allocator_settings\": {\"max_split_size\": 18446744073709551615, "
                   "\"garbage_collection_threshold\": \"x\", \"PYTORCH_CUDA_ALLOC_CONF\": \"\", \"PYTORCH_ALLOC_CONF\": "
                   "\"backend:native\"}}");
    is_int(run.snapshot->settings.max_split_bytes, -1, "SIZE_MAX means without limit");
    is_text(name_of(&run, run.snapshot->settings.conf), "backend:native", "the variable's new name is read too");
    is_u64(run.snapshot->settings.has, AP_SETTING_HAS_MAX_SPLIT, "what is missing is not recorded");
    ok(end_run(&run), "all memory is given back");
}

static void last_duplicate_wins(void)
{
    struct run run;
    run_text(&run, "{\"segments\": [{\"total_size\": 1}, {\"total_size\": 2}], \"segments\": [{\"total_size\": 3, "
                   "\"total_size\": 4, \"blocks\": [{\"size\": 9}], \"blocks\": [{\"size\": 8, \"size\": 4}]}], "
                   "\"device_traces\": [[{\"action\": \"alloc\", \"size\": 1}]], \"device_traces\": [[], [{\"action\": "
                   "\"oom\", \"size\": 1, \"size\": 2}]]}");
    if (!ok(run.status == AP_OK, "duplicate keys are survived"))
        return;
    is_int(run.snapshot->segment_count, 1, "the last list of segments counts");
    is_int(run.snapshot->segments[0].total_bytes, 4, "the last size counts");
    is_int(run.snapshot->segments[0].block_count, 1, "the last list of blocks counts");
    is_int(run.snapshot->blocks[0].size_bytes, 4, "the last size of a block counts");
    is_int(run.snapshot->actions.count, 1, "the last history counts");
    is_int(run.snapshot->histories[1].action_count, 1, "with its devices");
    is_int(run.snapshot->actions.size_bytes[0], 2, "the last size of an entry counts");
    is_u64(count_of(&run, AP_COUNTER_duplicate_key), 6, "each duplicate is counted");
    ok(end_run(&run), "all memory is given back");
}

/* -------------------------------------------------------------------------------------------- other documents, cuts */

static void other_documents_are_named(void)
{
    enum { TRACE_COUNT = 4 }; /* the first cases */
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\"}]}", "profiler trace" },
        { "{\"schemaVersion\": 1, \"traceEvents\": [{", "profiler trace" },
        { "[{\"ph\": \"X\", \"name\": \"a\"}, {\"ph\": \"X\"}]", "a trace (a bare list of events)" },
        { "[{\"name\": \"a\", \"ph\": \"X\", \"ts\"", "a trace (a bare list of events)" },
        { "{\"schema\": \"1.0.1\", \"pid\": 5, \"nodes\": [{\"id\": 1}]}", "execution trace" },
        { "[[1, 0, 512, 3], [2, 0, 512, 3]]", "export_memory_timeline" },
        { "[[1, 2, 3], [[1, 2], [3, 4]]]", "export_memory_timeline" },
        { "{\"Layers\": [\"a\"], \"Bindings\": []}", "TensorRT" },
        { "[{\"count\": 3}, {\"name\": \"x\", \"timeMs\": 1, \"averageMs\": 0.1}]", "trtexec" },
        { "[{\"startEnqMs\": 1, \"latencyMs\": 0.1}]", "trtexec" },
        { "{\"allocated_bytes.all.current\": 5}", "memory_stats" },
        { "{\"schema_version\": \"1.0\", \"generator\": {}, \"memory\": {}}", "a report of analyze_profile" },
        { "{}", "neither a list \"segments\"" },
        { "{\"segments\": 5}", "segments is not a list" },
        { "{\"a\": {\"segments\": []}}", "neither a list \"segments\"" },
        { "[{}]", "does not hold segments" },
        { "[{\"a\": 1}, {\"b\": 2}]", "does not hold segments" },
        { "[1, 2]", "does not hold segments" },
        { "[[{\"action\": \"alloc\"}]]", "does not hold segments" },
        { "\"text\"", "a single JSON value" },
        { "12", "a single JSON value" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++)
        for (int salvage = 0; salvage < 2; salvage++) {
            struct run run;
            run_bytes(&run, cases[i].text, strlen(cases[i].text), 0, salvage ? SALVAGE : STRICT, -1);
            ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, cases[i].says), cases[i].text);
            if (!strstr(run.error.message, cases[i].says))
                note(run.error.message);
            is_int(run.error.advice, i < TRACE_COUNT ? AP_ADVICE_AS_TRACE : AP_ADVICE_NONE,
                   "only a trace may be given as one");
            ok(end_run(&run), "all memory is given back");
        }
}

static void snapshot_keys_win_over_others(void)
{
    struct run run;
    run_text(&run, "{\"segments\": [], \"traceEvents\": [], \"nodes\": 1, \"schema\": 2}");
    ok(run.status == AP_OK, "an object with segments is a snapshot, whatever else it holds");
    end_run(&run);
}

/* Every promise about a cut at one byte. */
static bool cut_is_right(const char *text, size_t bytes, size_t segments_end, size_t piece_bytes)
{
    struct run run;
    bool right, whole = bytes >= segments_end;
    run_bytes(&run, text, bytes, piece_bytes, STRICT, -1);
    if (whole) {
        right = run.status == AP_OK && !run.snapshot->complete && count_of(&run, AP_COUNTER_cut) == 1 &&
                run.snapshot->segment_count == 1 && run.snapshot->block_count == 3 &&
                run.notes.notes[AP_COUNTER_cut].first_offset_bytes <= bytes;
    } else {
        right = run.status == AP_ERROR_INPUT && run.error.message[0];
    }
    right = end_run(&run) && right;
    run_bytes(&run, text, bytes, piece_bytes, SALVAGE, -1);
    if (run.status == AP_OK)
        right = right && !run.snapshot->complete && count_of(&run, AP_COUNTER_cut) == 1 &&
                run.snapshot->segment_count + run.snapshot->actions.count > 0;
    else
        right = right && run.status == AP_ERROR_INPUT && !whole;
    return end_run(&run) && right;
}

static void cut_at_every_byte(void)
{
    const size_t end = (size_t)(strstr(modern, ", \"device_traces\"") - modern);
    size_t wrong = 0, first_wrong = 0;
    for (size_t piece_bytes = 0; piece_bytes <= 7; piece_bytes += 7)
        for (size_t bytes = 0; bytes < sizeof(modern) - 1; bytes++)
            if (!cut_is_right(modern, bytes, end, piece_bytes) && !wrong++)
                first_wrong = bytes;
    is_u64(wrong, 0, "a cut at any byte is refused within the segments, reported behind them");
    if (wrong)
        is_u64(first_wrong, 0, "first byte that went wrong");
}

static void salvage_keeps_whole_parts(void)
{
    struct run run;
    const char *list =
        "[{\"total_size\": 1, \"blocks\": [{\"size\": 1}]}, {\"total_size\": 2, \"blocks\": [{\"size\": 1}, {\"si";
    run_bytes(&run, list, strlen(list), 0, STRICT, -1);
    ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "within its segments"), "a cut list is refused");
    ok(strstr(run.error.message, "1 segments") && run.error.advice == AP_ADVICE_SALVAGE, "saying what could be salvaged");
    end_run(&run);
    run_bytes(&run, list, strlen(list), 0, SALVAGE, -1);
    if (ok(run.status == AP_OK, "and read with --salvage")) {
        is_int(run.snapshot->segment_count, 1, "the whole segment is kept");
        is_int(run.snapshot->block_count, 1, "without the blocks of the other");
        ok(strstr(run.notes.notes[AP_COUNTER_cut].detail, "totals are wrong"), "the note says that totals are wrong");
    }
    ok(end_run(&run), "all memory is given back");
    const char *broken =
        "{\"segments\": [{\"total_size\": 1}], \"device_traces\": [[{\"action\": \"alloc\", \"size\": 1}, }";
    run_bytes(&run, broken, strlen(broken), 0, STRICT, -1);
    ok(run.status == AP_ERROR_INPUT && run.error.has_offset, "broken JSON is refused with its byte");
    is_u64(run.error.offset_bytes, strlen(broken) - 1, "the broken one");
    end_run(&run);
    run_bytes(&run, broken, strlen(broken), 0, SALVAGE, -1);
    ok(run.status == AP_OK && count_of(&run, AP_COUNTER_salvaged) == 1, "and salvaged up to there");
    ok(run.snapshot && run.snapshot->actions.count == 1 && !run.snapshot->complete, "with the entries before it");
    ok(end_run(&run), "all memory is given back");
    run_bytes(&run, "{\"segments\": []} x", 18, 0, STRICT, -1);
    ok(run.status == AP_ERROR_INPUT, "text behind the document is refused");
    end_run(&run);
    run_bytes(&run, "{\"segments\" []}", 15, 0, SALVAGE, -1);
    ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "JSON"), "where nothing was read the JSON error stands");
    end_run(&run);
}

static void container_cut_behind_the_document(void)
{
    struct run run;
    struct feed feed = feed_of(modern, sizeof(modern) - 1, 100);
    struct ap_json_reader *json = NULL;
    memset(&run, 0, sizeof(run));
    feed.at_end = AP_ERROR_CUT;
    ap_gate_init(&run.gate, 0);
    run.status = ap_json_reader_new(&run.gate, feed_source(&feed), &run.notes, NULL, &json, &run.error);
    if (run.status == AP_OK)
        run.status = ap_snapshot_read(json, &run.gate, &run.notes, NULL, &run.snapshot, &run.error);
    ap_json_reader_free(json);
    ok(run.status == AP_OK && !run.snapshot->complete, "a missing gzip trailer behind a whole document is a cut");
    is_u64(count_of(&run, AP_COUNTER_cut), 1, "and noted");
    ok(end_run(&run), "all memory is given back");
}

/* --------------------------------------------------------------------------------------------------- window, memory */

static bool same_snapshot(const struct ap_snapshot *a, const struct ap_snapshot *b)
{
    return a->segment_count == b->segment_count && a->block_count == b->block_count &&
           a->actions.count == b->actions.count && a->has == b->has && a->bytes_read == b->bytes_read &&
           a->annotation_count == b->annotation_count && a->strings.bytes_used == b->strings.bytes_used &&
           memcmp(a->strings.bytes, b->strings.bytes, a->strings.bytes_used) == 0 &&
           a->stacks.stack_count == b->stacks.stack_count && a->stacks.frame_count == b->stacks.frame_count &&
           ap_strpool_count(&a->origin_pool) == ap_strpool_count(&b->origin_pool) &&
           memcmp(a->actions.stack, b->actions.stack, a->actions.count * sizeof(uint32_t)) == 0 &&
           memcmp(a->actions.size_bytes, b->actions.size_bytes, a->actions.count * sizeof(int64_t)) == 0 &&
           memcmp(a->actions.time_ns, b->actions.time_ns, a->actions.count * sizeof(int64_t)) == 0;
}

static void any_piece_size_reads_the_same(void)
{
    static const size_t pieces[] = { 1, 2, 3, 7, 64, 1000 };
    struct run whole, run;
    run_text(&whole, modern);
    for (size_t i = 0; i < AP_COUNT_OF(pieces); i++) {
        run_bytes(&run, modern, sizeof(modern) - 1, pieces[i], STRICT, -1);
        ok(run.status == AP_OK && same_snapshot(whole.snapshot, run.snapshot), "pieces of any size read the same");
        end_run(&run);
    }
    end_run(&whole);
}

static void memory_may_end_anywhere(void)
{
    size_t leaks = 0, wrong = 0;
    int64_t requests = 0;
    for (;; requests++) {
        struct run run;
        run_bytes(&run, modern, sizeof(modern) - 1, 16, STRICT, requests);
        enum ap_status status = run.status;
        leaks += !end_run(&run);
        if (status == AP_OK)
            break;
        wrong += status != AP_ERROR_MEMORY;
        if (requests > 100000)
            break;
    }
    ok(requests > 10 && requests < 1000, "the reader asks for memory a few dozen times");
    is_u64(wrong, 0, "each refusal is an out-of-memory error");
    is_u64(leaks, 0, "and leaves nothing behind");
}

static void deep_values_are_skipped(void)
{
    static char text[60000];
    int depth = 9000;
    size_t at = (size_t)snprintf(text, sizeof(text), "{\"segments\": [], \"later\": ");
    memset(text + at, '[', (size_t)depth);
    memset(text + at + (size_t)depth, ']', (size_t)depth);
    (void)snprintf(text + at + 2 * (size_t)depth, sizeof(text) - at - 2 * (size_t)depth, "}");
    struct run run;
    run_text(&run, text);
    ok(run.status == AP_OK, "a key of tomorrow may nest 9,000 levels");
    end_run(&run);
    depth = 20000;
    memset(text + at, '[', (size_t)depth);
    memset(text + at + (size_t)depth, ']', (size_t)depth);
    run_bytes(&run, text, at + 2 * (size_t)depth, 0, SALVAGE, -1);
    ok(run.status == AP_ERROR_LIMIT, "20,000 levels are over the limit, salvage or not");
    ok(end_run(&run), "all memory is given back");
}

int main(void)
{
    modern_segments();
    modern_history();
    modern_stacks();
    keys_in_any_order();
    list_of_segments();
    shape_of_2023();
    sizes_written_strangely();
    missing_and_odd_fields();
    odd_entries();
    odd_other_parts();
    last_duplicate_wins();
    other_documents_are_named();
    snapshot_keys_win_over_others();
    cut_at_every_byte();
    salvage_keeps_whole_parts();
    container_cut_behind_the_document();
    any_piece_size_reads_the_same();
    memory_may_end_anywhere();
    deep_values_are_skipped();
    return done();
}
