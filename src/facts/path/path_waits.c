/* SPDX-License-Identifier: MIT
 * path_waits.c - who waited for whom on the GPU: as recorded in rows of the category cuda_sync, else as told by times. */
#include <string.h>

#include "decimal.h"
#include "id_map.h"
#include "path_index.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

#define UNKNOWN_TRACK UINT32_MAX

static size_t count_sync_rows(const struct ap_trace *trace)
{
    size_t count = 0;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_gpu_sync); ap_rows_of_next(&at);)
        count += ap_row_sync(trace, at.row) != NULL;
    return count;
}

/* Streams stand in the trace as tracks of GPU work: process = device, thread = stream. */
struct stream_key {
    uint32_t pid;
    int64_t stream;
    uint32_t track;
};

struct stream_keys {
    struct stream_key *keys;
    size_t count;
};

static inline bool stream_before(const struct stream_key *a, const struct stream_key *b)
{
    if (a->pid != b->pid)
        return a->pid < b->pid;
    return a->stream != b->stream ? a->stream < b->stream : a->track < b->track;
}

static bool track_before(const void *context, uint32_t a, uint32_t b)
{
    const struct stream_key *keys = context;
    return stream_before(&keys[a], &keys[b]);
}

static size_t list_stream_keys(const struct ap_path_index *index, struct stream_key *keys)
{
    size_t count = 0;
    for (uint32_t track = 0; track < index->track_count; track++) {
        struct ap_text tid = ap_trace_id_text(index->trace, index->trace->tracks[track].tid);
        int64_t stream;
        if (index->first_work[track] < index->first_work[track + 1] && ap_decimal_to_integer(tid.data, tid.bytes, &stream))
            keys[count++] = (struct stream_key){ index->trace->tracks[track].pid.id, stream, track };
    }
    return count;
}

static uint32_t find_stream(const struct stream_keys *streams, const uint32_t *order, uint32_t pid, int64_t stream)
{
    struct stream_key wanted = { pid, stream, 0 };
    size_t low = 0;
    AP_BISECT(low, streams->count, at, stream_before(&streams->keys[order[at]], &wanted));
    if (low == streams->count)
        return UNKNOWN_TRACK;
    const struct stream_key *found = &streams->keys[order[low]];
    return found->pid == pid && found->stream == stream ? found->track : UNKNOWN_TRACK;
}

static void fill_syncs(struct ap_path_index *index, const struct stream_keys *streams, const uint32_t *order)
{
    const struct ap_trace *trace = index->trace;
    size_t filled = 0;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_gpu_sync); ap_rows_of_next(&at);) {
        const struct ap_sync_detail *sync = ap_row_sync(trace, at.row);
        if (!sync)
            continue;
        uint32_t pid = trace->tracks[trace->events.track[at.row]].pid.id;
        index->syncs[filled++] = (struct ap_path_sync){
            .call = AP_NO_ROW,
            .record_call = AP_NO_ROW,
            .row = at.row,
            .stream = find_stream(streams, order, pid, sync->stream),
            .wait_on = find_stream(streams, order, pid, sync->wait_on_stream),
        };
    }
}

static enum ap_status find_streams(struct ap_path_index *index, struct ap_error *reterr)
{
    struct stream_keys streams = { NULL, 0 };
    uint32_t *order = NULL;
    size_t ordered = 0;
    AP_TRY(AP_ALLOC(index->gate, streams.keys, index->track_count, reterr));
    streams.count = list_stream_keys(index, streams.keys);
    enum ap_status status =
        ap_top_indices(index->gate, (uint32_t)streams.count, 0, track_before, streams.keys, &order, &ordered, reterr);
    if (status == AP_OK) {
        fill_syncs(index, &streams, order);
        AP_FREE(index->gate, order, ordered);
    }
    AP_FREE(index->gate, streams.keys, index->track_count);
    return status;
}

/* The first call with each correlation that a wait names. */
static enum ap_status find_sync_calls(struct ap_path_index *index, struct ap_error *reterr)
{
    const struct ap_trace *trace = index->trace;
    struct ap_id_map calls;
    AP_TRY(ap_id_map_init(&calls, index->gate, index->sync_count * 2, reterr));
    for (size_t i = 0; i < index->sync_count; i++) {
        const struct ap_sync_detail *sync = ap_row_sync(trace, index->syncs[i].row);
        if (sync->correlation)
            (void)ap_id_map_add(&calls, sync->correlation);
        if (sync->record_correlation)
            (void)ap_id_map_add(&calls, sync->record_correlation);
    }
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        if (trace->events.start_ns[at.row] == AP_START_UNKNOWN)
            continue;
        const struct ap_call_detail *call = ap_row_call(trace, at.row);
        uint32_t *found = call && call->correlation ? ap_id_map_find(&calls, call->correlation) : NULL;
        if (found && *found == AP_ID_NONE)
            *found = at.row;
    }
    for (size_t i = 0; i < index->sync_count; i++) {
        const struct ap_sync_detail *sync = ap_row_sync(trace, index->syncs[i].row);
        if (sync->correlation)
            index->syncs[i].call = *ap_id_map_find(&calls, sync->correlation);
        if (sync->record_correlation)
            index->syncs[i].record_call = *ap_id_map_find(&calls, sync->record_correlation);
    }
    ap_id_map_release(&calls);
    return AP_OK;
}

static bool call_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_path_sync *syncs = context;
    return syncs[a].call != syncs[b].call ? syncs[a].call < syncs[b].call : a < b;
}

static bool wait_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_path_wait *waits = context;
    return waits[a].work != waits[b].work ? waits[a].work < waits[b].work : a < b;
}

/* Puts an array in the order that ap_top_indices tells, through a copy. */
static enum ap_status reorder(struct ap_gate *gate, void **array, size_t count, size_t element_bytes, ap_before *before,
                              struct ap_error *reterr)
{
    uint32_t *order;
    size_t ordered;
    if (!count)
        return AP_OK;
    AP_TRY(ap_top_indices(gate, (uint32_t)count, 0, before, *array, &order, &ordered, reterr));
    char *copy = ap_mem_resize(gate, NULL, 0, count * element_bytes);
    for (size_t i = 0; i < count && copy; i++)
        memcpy(copy + i * element_bytes, (const char *)*array + order[i] * element_bytes, element_bytes);
    AP_FREE(gate, order, ordered);
    if (!copy)
        return ap_fail_memory(gate, reterr);
    ap_mem_free(gate, *array, count * element_bytes);
    *array = copy;
    return AP_OK;
}

/* Work that was not launched in the trace came before all that was. */
static int64_t launch_ns(const struct ap_path_index *index, size_t work)
{
    uint32_t launch = ap_path_work(index, work).launch;
    return launch == AP_NO_ROW ? INT64_MIN : index->trace->events.start_ns[launch];
}

/* The first work of the stream that was launched at @ns or later; the end of the stream where there is none. */
static size_t launched_from(const struct ap_path_index *index, uint32_t stream, int64_t ns)
{
    size_t low = index->first_work[stream];
    AP_BISECT(low, index->first_work[stream + 1], at, launch_ns(index, at) < ns);
    return low;
}

/* What the stream had got when the event was recorded: its last work before. */
static uint32_t recorded_work(const struct ap_path_index *index, const struct ap_path_sync *sync)
{
    if (sync->record_call == AP_NO_ROW || sync->wait_on == UNKNOWN_TRACK)
        return AP_NO_WORK;
    size_t next = launched_from(index, sync->wait_on, index->trace->events.start_ns[sync->record_call]);
    return next > index->first_work[sync->wait_on] ? (uint32_t)(next - 1) : AP_NO_WORK;
}

static enum ap_status list_waits(struct ap_path_index *index, struct ap_error *reterr)
{
    size_t count = 0;
    AP_TRY(AP_ALLOC(index->gate, index->waits, index->sync_count, reterr));
    index->wait_count = index->sync_count;
    for (size_t i = 0; i < index->sync_count; i++) {
        const struct ap_path_sync *sync = &index->syncs[i];
        uint32_t awaited = recorded_work(index, sync);
        size_t work = SIZE_MAX;
        /* A call that blocks the host is in index->blocking; what remains blocks a stream. */
        if (awaited != AP_NO_WORK && sync->stream != UNKNOWN_TRACK && sync->call != AP_NO_ROW &&
            !(index->names[index->trace->events.name[sync->call]] & AP_PATH_NAME_WAIT))
            work = launched_from(index, sync->stream, index->trace->events.start_ns[sync->call]);
        if (work != SIZE_MAX && work < index->first_work[sync->stream + 1])
            index->waits[count++] = (struct ap_path_wait){ (uint32_t)work, awaited };
    }
    for (size_t i = count; i < index->wait_count; i++)
        index->waits[i] = (struct ap_path_wait){ AP_NO_WORK, AP_NO_WORK };
    return reorder(index->gate, (void **)&index->waits, index->wait_count, sizeof(index->waits[0]), wait_before, reterr);
}

enum ap_status ap_path_waits_init(struct ap_path_index *index, struct ap_error *reterr)
{
    size_t count = ap_trace_has_kind(index->trace, AP_KIND_gpu_sync) ? count_sync_rows(index->trace) : 0;
    if (!count || !index->work_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(index->gate, index->syncs, count, reterr));
    index->sync_count = count;
    index->has_sync_rows = true;
    AP_TRY(find_streams(index, reterr));
    AP_TRY(find_sync_calls(index, reterr));
    AP_TRY(list_waits(index, reterr));
    return reorder(index->gate, (void **)&index->syncs, count, sizeof(index->syncs[0]), call_before, reterr);
}

static const struct ap_path_sync *sync_of_call(const struct ap_path_index *index, uint32_t call)
{
    size_t low = 0;
    AP_BISECT(low, index->sync_count, at, index->syncs[at].call < call);
    return low < index->sync_count && index->syncs[low].call == call ? &index->syncs[low] : NULL;
}

/* The last work of a stream that ended by @ns. A stream works one by one, so that its ends are in order as well; where a
 * file says otherwise, some work that ended by then may be passed over. */
static uint32_t stream_work_ended(const struct ap_path_index *index, uint32_t stream, int64_t ns)
{
    size_t low = index->first_work[stream];
    AP_BISECT(low, index->first_work[stream + 1], at, ap_work_end_ns(index, (uint32_t)at) <= ns);
    return low > index->first_work[stream] ? (uint32_t)(low - 1) : AP_NO_WORK;
}

uint32_t ap_path_awaited(const struct ap_path_index *index, size_t blocking, int64_t ns)
{
    uint32_t call = index->blocking.rows[blocking], awaited = index->blocking_copy[blocking];
    if (awaited == AP_NO_WORK) {
        const struct ap_path_sync *sync = sync_of_call(index, call);
        uint32_t recorded = sync ? recorded_work(index, sync) : AP_NO_WORK;
        if (recorded != AP_NO_WORK)
            awaited = recorded;
        else if (sync && sync->stream != UNKNOWN_TRACK)
            awaited = stream_work_ended(index, sync->stream, ns);
        else
            awaited = ap_path_work_ended(index, ns);
    }
    if (awaited == AP_NO_WORK || ap_work_end_ns(index, awaited) > ns ||
        ap_work_end_ns(index, awaited) <= index->trace->events.start_ns[call] || ap_work_start_ns(index, awaited) >= ns)
        return AP_NO_WORK;
    return awaited;
}
