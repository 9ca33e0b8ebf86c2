/* SPDX-License-Identifier: MIT
 * event_table.c - growing the trace's columns and tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace_internal.h"

#include "poison.h"

enum ap_status ap_trace_new(struct ap_gate *gate, struct ap_trace **ret_trace, struct ap_error *reterr)
{
    struct ap_trace *trace;
    AP_TRY(AP_ALLOC(gate, trace, 1, reterr));
    *trace = (struct ap_trace){ .gate = gate, .rank = -1, .world_size = -1, .complete = true };
    ap_strpool_init(&trace->strings, gate);
    ap_strpool_init(&trace->category_names, gate);
    ap_strpool_init(&trace->track_ids, gate);
    ap_strpool_init(&trace->track_names, gate);
    ap_strpool_init(&trace->signatures, gate);
    ap_strpool_init(&trace->collective_kinds, gate);
    ap_strpool_init(&trace->odd_keys, gate);
    *ret_trace = trace;
    return AP_OK;
}

static void release_rows(struct ap_trace *trace)
{
    struct ap_events *events = &trace->events;
    struct ap_gate *gate = trace->gate;
    AP_FREE(gate, events->start_ns, events->capacity);
    AP_FREE(gate, events->dur_ns, events->capacity);
    AP_FREE(gate, events->name, events->capacity);
    AP_FREE(gate, events->track, events->capacity);
    AP_FREE(gate, events->detail, events->capacity);
    AP_FREE(gate, events->tag, events->capacity);
}

void ap_trace_free(struct ap_trace *trace)
{
    if (!trace)
        return;
    struct ap_gate *gate = trace->gate;
    release_rows(trace);
    ap_strpool_release(&trace->strings);
    ap_strpool_release(&trace->category_names);
    ap_strpool_release(&trace->track_ids);
    ap_strpool_release(&trace->track_names);
    ap_trace_release_details(trace);
    AP_FREE(gate, trace->tracks, trace->track_capacity);
    AP_FREE(gate, trace->track_labels, trace->track_label_capacity);
    AP_FREE(gate, trace->categories, trace->category_capacity);
    ap_mem_free(gate, trace->ids, trace->ids_capacity);
    AP_FREE(gate, trace->devices, trace->device_capacity);
    AP_FREE(gate, trace->groups, trace->group_capacity);
    AP_FREE(gate, trace->process_ranks, trace->process_rank_capacity);
    AP_FREE(gate, trace, 1);
}

void ap_trace_freeze(struct ap_trace *trace)
{
    ap_strpool_release(&trace->track_names);
    ap_strpool_freeze(&trace->track_ids);
    ap_strpool_freeze(&trace->strings);
    ap_strpool_freeze(&trace->category_names);
    ap_strpool_freeze(&trace->signatures);
    ap_strpool_freeze(&trace->collective_kinds);
    ap_strpool_freeze(&trace->odd_keys);
}

void ap_trace_forget_events(struct ap_trace *trace)
{
    trace->events.count = 0;
    trace->op_detail_count = trace->call_detail_count = trace->work_detail_count = 0;
    trace->sync_detail_count = trace->collective_count = trace->collective_sequence_count = 0;
    trace->launched_name_count = trace->memory_instant_count = 0;
    trace->calls_with_external_id = trace->calls_named_by_correlation = 0;
    trace->event_count = trace->object_count = 0;
    trace->memory_event_count = trace->out_of_memory_count = trace->shape_row_count = 0;
    trace->process_rank_count = 0;
    trace->has_window = trace->has_window_all = false;
    memset(trace->ph_counts, 0, sizeof(trace->ph_counts));
    for (size_t i = 0; i < trace->category_count; i++)
        trace->categories[i].event_count = trace->categories[i].row_count = 0, trace->categories[i].total_dur_ns = 0;
    for (size_t i = 0; i < trace->track_count; i++)
        trace->tracks[i].open_begin = 0;
}

/* Pages of so many rows are taken at a time: a call a column, in place of an interrupt a page. */
#define ROWS_READY ((size_t)4096)

/* One column to a new size; the others keep theirs until all have grown, so each is resized with its own old size. */
static bool grow_column(struct ap_gate *gate, void **column, size_t element_bytes, size_t from, size_t to)
{
    void *grown = ap_mem_resize(gate, *column, from * element_bytes, to * element_bytes);
    if (grown)
        *column = grown;
    return grown != NULL;
}

#define COLUMN_COUNT 6

struct column {
    void **column;
    size_t bytes; /* of a row */
};

static void list_columns(struct ap_events *events, struct column ret_columns[COLUMN_COUNT])
{
    const struct column columns[COLUMN_COUNT] = {
        { (void **)&events->start_ns, sizeof(events->start_ns[0]) }, { (void **)&events->dur_ns, sizeof(events->dur_ns[0]) },
        { (void **)&events->name, sizeof(events->name[0]) },         { (void **)&events->track, sizeof(events->track[0]) },
        { (void **)&events->detail, sizeof(events->detail[0]) },     { (void **)&events->tag, sizeof(events->tag[0]) },
    };
    memcpy(ret_columns, columns, sizeof(columns));
}

/* Room for half as many rows again. */
static enum ap_status grow_rows(struct ap_trace *trace, struct ap_error *reterr)
{
    struct ap_events *events = &trace->events;
    struct ap_gate *gate = trace->gate;
    struct column columns[COLUMN_COUNT];
    size_t from = events->capacity, to = from ? from + from / 2 : 4096;
    if (to > UINT32_MAX - 1)
        to = UINT32_MAX - 1;
    if (to <= from)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4,294,967,294 duration events: record a shorter trace");
    list_columns(events, columns);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (grow_column(gate, columns[i].column, columns[i].bytes, from, to))
            continue;
        /* Back to one common size; giving memory back may be refused in tests, so the columns are then dropped. */
        for (size_t k = 0; k < COLUMN_COUNT; k++)
            ap_mem_free(gate, *columns[k].column, (k < i ? to : from) * columns[k].bytes);
        *events = (struct ap_events){ .count = 0 };
        return ap_fail_memory(gate, reterr);
    }
    events->capacity = to;
    return AP_OK;
}

enum ap_status ap_trace_ready_rows(struct ap_trace *trace, size_t more, struct ap_error *reterr)
{
    struct ap_events *events = &trace->events;
    while (events->capacity - events->count < more)
        AP_TRY(grow_rows(trace, reterr));
    size_t wanted = events->count + more;
    if (wanted <= events->ready)
        return AP_OK;
    struct column columns[COLUMN_COUNT];
    size_t from = events->ready, to = wanted - wanted % ROWS_READY + ROWS_READY;
    events->ready = to < events->capacity ? to : events->capacity;
    list_columns(events, columns);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        ap_mem_take_pages(*columns[i].column, events->capacity * columns[i].bytes, from * columns[i].bytes,
                          events->ready * columns[i].bytes);
    return AP_OK;
}

enum ap_status ap_trace_add_row(struct ap_trace *trace, int64_t start_ns, int64_t dur_ns, struct ap_str name, uint32_t track,
                                uint8_t tag, struct ap_error *reterr)
{
    return ap_trace_put_row(trace, start_ns, dur_ns, name, track, tag, reterr);
}

static enum ap_status add_track(struct ap_trace *trace, struct ap_text pid, bool pid_is_text, struct ap_text tid,
                                bool tid_is_text, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(trace->gate, trace->tracks, trace->track_capacity, trace->track_count + 1, reterr));
    struct ap_track track = { .pid_is_text = pid_is_text, .tid_is_text = tid_is_text, .device = -1 };
    if (pid.data)
        AP_TRY(ap_strpool_intern(&trace->track_ids, pid.data, pid.bytes, &track.pid, reterr));
    if (tid.data)
        AP_TRY(ap_strpool_intern(&trace->track_ids, tid.data, tid.bytes, &track.tid, reterr));
    trace->tracks[trace->track_count++] = track;
    return AP_OK;
}

/* A track is found by both ids with a byte between that separates them. */
static enum ap_status join_ids(struct ap_trace *trace, struct ap_text pid, struct ap_text tid, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(trace->gate, trace->ids, trace->ids_capacity, pid.bytes + tid.bytes + 1, reterr));
    if (pid.bytes)
        memcpy(trace->ids, pid.data, pid.bytes);
    trace->ids[pid.bytes] = '\x1f';
    if (tid.bytes)
        memcpy(trace->ids + pid.bytes + 1, tid.data, tid.bytes);
    return AP_OK;
}

enum ap_status ap_trace_track(struct ap_trace *trace, struct ap_text pid, bool pid_is_text, struct ap_text tid,
                              bool tid_is_text, uint32_t *ret_track, struct ap_error *reterr)
{
    struct ap_str joined;
    size_t joined_bytes = pid.bytes + tid.bytes + 1;
    AP_TRY(join_ids(trace, pid, tid, reterr));
    AP_TRY(ap_strpool_intern(&trace->track_names, trace->ids, joined_bytes, &joined, reterr));
    if (joined.id > trace->track_count)
        AP_TRY(add_track(trace, pid, pid_is_text, tid, tid_is_text, reterr));
    *ret_track = joined.id - 1;
    return AP_OK;
}

/* To the label @to of another track, as the first may still get another name; 0 = that has none yet. */
static enum ap_status copy_label(struct ap_trace *trace, uint32_t *label, uint32_t to, struct ap_error *reterr)
{
    if (!*label)
        return AP_OK;
    if (!to) {
        AP_TRY(
            AP_RESERVE(trace->gate, trace->track_labels, trace->track_label_capacity, trace->track_label_count + 1, reterr));
        to = (uint32_t)++trace->track_label_count;
    }
    trace->track_labels[to - 1] = trace->track_labels[*label - 1];
    *label = to;
    return AP_OK;
}

/* No exporter writes two devices under one pid and tid; files that were put together from several may. */
static enum ap_status other_device(struct ap_trace *trace, int64_t device, uint32_t *track, struct ap_error *reterr)
{
    char tid_and_device[64];
    struct ap_track first = trace->tracks[*track];
    struct ap_text pid = ap_trace_id_text(trace, first.pid);
    int bytes = snprintf(tid_and_device, sizeof(tid_and_device), "\x1f%" PRIu32 "\x1f%" PRId64, *track, device);
    AP_TRY(ap_trace_track(trace, pid, first.pid_is_text, (struct ap_text){ tid_and_device, (size_t)bytes }, false, track,
                          reterr));
    AP_TRY(copy_label(trace, &first.label, trace->tracks[*track].label, reterr));
    first.device = device;
    first.open_begin = 0;
    trace->tracks[*track] = first;
    trace->tracks_split = true;
    return AP_OK;
}

enum ap_status ap_trace_device_track(struct ap_trace *trace, int64_t device, uint32_t *track, struct ap_error *reterr)
{
    if (AP_LIKELY(trace->tracks[*track].device == device))
        return AP_OK;
    if (trace->tracks[*track].device >= 0)
        return other_device(trace, device, track, reterr);
    trace->tracks[*track].device = device;
    return AP_OK;
}
