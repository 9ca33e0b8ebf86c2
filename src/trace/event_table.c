/* SPDX-License-Identifier: MIT
 * event_table.c - growing the trace's columns and tables. */
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
    ap_trace_release_details(trace);
    ap_trace_release_tracks(trace);
    AP_FREE(gate, trace->categories, trace->category_capacity);
    AP_FREE(gate, trace->devices, trace->device_capacity);
    AP_FREE(gate, trace->groups, trace->group_capacity);
    AP_FREE(gate, trace->process_ranks, trace->process_rank_capacity);
    AP_FREE(gate, trace, 1);
}

void ap_trace_freeze(struct ap_trace *trace)
{
    ap_trace_freeze_tracks(trace);
    ap_strpool_freeze(&trace->strings);
    ap_strpool_freeze(&trace->category_names);
    ap_strpool_freeze(&trace->signatures);
    ap_strpool_freeze(&trace->collective_kinds);
    ap_strpool_freeze(&trace->odd_keys);
}

void ap_trace_forget_events(struct ap_trace *trace)
{
    trace->events.count = 0;
    trace->op_detail_count = trace->op_argument_count = trace->forward_thread_count = 0;
    trace->call_detail_count = trace->work_detail_count = 0;
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

/* How many there are: the last one is made with the first detail. */
static size_t list_columns(struct ap_events *events, struct column ret_columns[COLUMN_COUNT])
{
    const struct column columns[COLUMN_COUNT] = {
        { (void **)&events->start_ns, sizeof(events->start_ns[0]) }, { (void **)&events->dur_ns, sizeof(events->dur_ns[0]) },
        { (void **)&events->name, sizeof(events->name[0]) },         { (void **)&events->track, sizeof(events->track[0]) },
        { (void **)&events->tag, sizeof(events->tag[0]) },           { (void **)&events->detail, sizeof(events->detail[0]) },
    };
    memcpy(ret_columns, columns, sizeof(columns));
    return COLUMN_COUNT - !events->detail;
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
    size_t count = list_columns(events, columns);
    for (size_t i = 0; i < count; i++) {
        if (grow_column(gate, columns[i].column, columns[i].bytes, from, to))
            continue;
        /* Back to one common size; giving memory back may be refused in tests, so the columns are then dropped. */
        for (size_t k = 0; k < count; k++)
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
    size_t count = list_columns(events, columns);
    for (size_t i = 0; i < count; i++)
        ap_mem_take_pages(*columns[i].column, events->capacity * columns[i].bytes, from * columns[i].bytes,
                          events->ready * columns[i].bytes);
    return AP_OK;
}

enum ap_status ap_trace_need_details(struct ap_trace *trace, struct ap_error *reterr)
{
    struct ap_events *events = &trace->events;
    if (events->detail || !events->capacity)
        return AP_OK;
    events->detail = ap_mem_resize(trace->gate, NULL, 0, events->capacity * sizeof(events->detail[0])); /* not all is used */
    if (!events->detail)
        return ap_fail_memory(trace->gate, reterr);
    memset(events->detail, 0, events->count * sizeof(events->detail[0]));
    return AP_OK;
}

enum ap_status ap_trace_add_row(struct ap_trace *trace, int64_t start_ns, int64_t dur_ns, struct ap_str name, uint32_t track,
                                uint8_t tag, struct ap_error *reterr)
{
    return ap_trace_put_row(trace, start_ns, dur_ns, name, track, tag, reterr);
}
