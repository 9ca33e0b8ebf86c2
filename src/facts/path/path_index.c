/* SPDX-License-Identifier: MIT */
#include "path_index.h"

#include <string.h>

#include "key_table.h"
#include "sort.h"

#include "poison.h"

/* --------------------------------------------------------------------------------------------------------- names */

static bool is_gpu_call(struct ap_text name)
{
    static const char *const prefixes[] = { "cu", "hip", "ze", "ur" };
    for (size_t i = 0; i < AP_COUNT_OF(prefixes); i++)
        if (ap_text_starts_with(name, prefixes[i]))
            return true;
    return false;
}

static uint8_t name_meaning(struct ap_text name)
{
    if (ap_text_starts_with(name, "ProfilerStep"))
        return AP_PATH_NAME_CONTAINER;
    if (ap_text_starts_with(name, "enumerate(DataLoader)"))
        return AP_PATH_NAME_LOADER;
    if (ap_text_starts_with(name, "autograd::engine::"))
        return AP_PATH_NAME_BACKWARD;
    if (!is_gpu_call(name))
        return 0;
    if (ap_text_contains_folded(name, "synchronize"))
        return AP_PATH_NAME_WAIT;
    bool polls = ap_text_contains_folded(name, "eventquery") || ap_text_contains_folded(name, "streamquery");
    return polls ? AP_PATH_NAME_POLL : 0;
}

static enum ap_status list_names(struct ap_path_index *index, struct ap_error *reterr)
{
    size_t count = ap_trace_id_count(index->trace);
    AP_TRY(AP_ALLOC(index->gate, index->names, count, reterr));
    index->names[0] = 0;
    for (uint32_t id = 1; id < count; id++)
        index->names[id] = name_meaning(ap_trace_text(index->trace, id));
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- work */

/* So stands the work of one stream, and of several where the tracks come in the order of the devices. */
static bool is_by_track(const struct ap_links *links, const uint32_t *track)
{
    for (size_t i = 1; i < links->count; i++)
        if (track[links->row[i - 1]] > track[links->row[i]])
            return false;
    return true;
}

static enum ap_status list_work(struct ap_path_index *index, const struct ap_links *links, struct ap_error *reterr)
{
    if (!links->count)
        return AP_OK;
    size_t first_bytes = (index->track_count + 1) * sizeof(index->first_work[0]);
    index->first_work = ap_mem_cleared(index->gate, first_bytes);
    if (!index->first_work)
        return ap_fail_memory(index->gate, reterr);
    index->links = links;
    index->work_count = links->count;
    index->launched_count = links->linked_count;
    const uint32_t *track = index->trace->events.track;
    for (size_t i = 0; i < links->count; i++)
        index->first_work[track[links->row[i]] + 1]++;
    for (size_t i = 0; i < index->track_count; i++)
        index->first_work[i + 1] += index->first_work[i];
    if (is_by_track(links, track))
        return AP_OK;
    AP_TRY(AP_ALLOC(index->gate, index->work, links->count, reterr));
    /* A track is of one device, so that the links, by device and start, fill each one in order of time. After this
     * first_work[i] is where track i ends. */
    for (size_t i = 0; i < links->count; i++)
        index->work[index->first_work[track[links->row[i]]]++] = (uint32_t)i;
    memmove(index->first_work + 1, index->first_work, first_bytes - sizeof(index->first_work[0]));
    index->first_work[0] = 0;
    return AP_OK;
}

static inline bool work_ends_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_path_index *index = context;
    int64_t end_a_ns = ap_work_end_ns(index, a), end_b_ns = ap_work_end_ns(index, b);
    return end_a_ns != end_b_ns ? end_a_ns < end_b_ns : a < b;
}

static inline bool activity_ends_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_trace *trace = context;
    int64_t end_a_ns = ap_row_end_ns(trace, a), end_b_ns = ap_row_end_ns(trace, b);
    return end_a_ns != end_b_ns ? end_a_ns < end_b_ns : a < b;
}

static bool is_by_end(const uint32_t *from, size_t count, bool work, const void *context)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t before = from ? from[i - 1] : i - 1, at = from ? from[i] : i;
        if (!(work ? work_ends_before(context, before, at) : activity_ends_before(context, before, at)))
            return false;
    }
    return true;
}

/* The numbers 0 .. count - 1, or copies of @from, in the order of their ends; NULL where they stand in it. */
static enum ap_status list_by_end(struct ap_gate *gate, const uint32_t *from, size_t count, bool work, const void *context,
                                  uint32_t **ret_list, struct ap_error *reterr)
{
    uint32_t *list;
    if (is_by_end(from, count, work, context))
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, list, count, reterr));
    for (size_t i = 0; i < count; i++)
        list[i] = from ? from[i] : (uint32_t)i;
    enum ap_status status = work ? ap_sort_list(gate, list, count, work_ends_before, context, reterr)
                                 : ap_sort_list(gate, list, count, activity_ends_before, context, reterr);
    if (status == AP_OK)
        *ret_list = list;
    else
        AP_FREE(gate, list, count);
    return status;
}

uint32_t ap_path_work_ended(const struct ap_path_index *index, int64_t ns)
{
    size_t low = 0;
    AP_BISECT(low, index->work_count, at, ap_work_end_ns(index, ap_path_work_by_end(index, at)) <= ns);
    return low ? ap_path_work_by_end(index, low - 1) : AP_NO_WORK;
}

/* ---------------------------------------------------------------------------------------------------- host rows */

/* Of so many tracks it is known where the rows of each begin; of more, where there are so many rows for each. */
#define TRACKS_FEW 4096
#define ROWS_MANY 16

static void rows_release(struct ap_path_rows *rows, const struct ap_path_index *index)
{
    AP_FREE(index->gate, rows->rows, rows->capacity);
    AP_FREE(index->gate, rows->first, index->track_count + 1);
    AP_FREE(index->gate, rows->asked, index->track_count + 1);
    *rows = (struct ap_path_rows){ .rows = NULL };
}

static enum ap_status rows_add(struct ap_path_rows *rows, struct ap_gate *gate, uint32_t row, struct ap_error *reterr)
{
    AP_TRY_ADD(gate, rows->rows, rows->count, rows->capacity, reterr, row);
    return AP_OK;
}

static enum ap_status rows_finish(struct ap_path_rows *rows, const struct ap_path_index *index, struct ap_error *reterr)
{
    const uint32_t *track = index->trace->events.track;
    if (!rows->count || (index->track_count > TRACKS_FEW && rows->count / ROWS_MANY < index->track_count))
        return AP_OK;
    AP_TRY(AP_ALLOC(index->gate, rows->first, index->track_count + 1, reterr));
    AP_TRY(AP_ALLOC(index->gate, rows->asked, index->track_count + 1, reterr));
    for (size_t i = 0, at = 0; i <= index->track_count; i++) {
        rows->first[i] = (uint32_t)at; /* there are fewer than 2^32 rows in all */
        while (at < rows->count && track[rows->rows[at]] == i)
            at++;
        rows->asked[i] = (uint32_t)at;
    }
    return AP_OK;
}

static size_t search(const struct ap_path_index *index, const struct ap_path_rows *rows, size_t track, int64_t ns)
{
    const struct ap_events *events = &index->trace->events;
    size_t low = 0;
    AP_BISECT(low, rows->count, at,
              events->track[rows->rows[at]] < track ||
                  (events->track[rows->rows[at]] == track && events->start_ns[rows->rows[at]] < ns));
    return low;
}

size_t ap_path_first(const struct ap_path_index *index, const struct ap_path_rows *rows, size_t track)
{
    return rows->first ? rows->first[track] : search(index, rows, track, INT64_MIN);
}

size_t ap_path_last_before(const struct ap_path_index *index, const struct ap_path_rows *rows, uint32_t track, int64_t ns)
{
    const struct ap_events *events = &index->trace->events;
    if (!rows->first) {
        size_t end = search(index, rows, track, ns);
        return end && events->track[rows->rows[end - 1]] == track ? end : 0;
    }
    size_t first = rows->first[track], end = rows->asked[track];
    while (end > first && events->start_ns[rows->rows[end - 1]] >= ns)
        end--;
    rows->asked[track] = (uint32_t)end;
    return end > first ? end : 0;
}

/* A copy that ended within the call that made it: that waited for it. A call that copies from pageable memory comes back
 * when the last piece is handed over, which is a little before the copy ends. */
static bool is_awaited_copy(const struct ap_path_index *index, uint32_t work)
{
    uint32_t launch = ap_path_work(index, work).launch, row = ap_path_work(index, work).row;
    if (launch == AP_NO_ROW || !ap_row_is_of(index->trace, row, 1u << AP_KIND_memcpy))
        return false;
    int64_t start_ns = ap_work_start_ns(index, work), end_ns = ap_work_end_ns(index, work);
    int64_t back_ns = ap_row_end_ns(index->trace, launch);
    return back_ns >= end_ns || (back_ns >= start_ns + (end_ns - start_ns) / 2 &&
                                 ap_text_contains_folded(ap_row_name(index->trace, row), "pageable"));
}

/* By call + 1: the last one of it. */
static enum ap_status find_copies(const struct ap_path_index *index, struct ap_key_table *copies, struct ap_error *reterr)
{
    size_t count = 0;
    for (uint32_t i = 0; i < index->work_count; i++)
        count += is_awaited_copy(index, i);
    AP_TRY(ap_key_table_init(copies, index->gate, count, 1, (uint32_t)index->trace->events.count, reterr));
    for (uint32_t i = 0; i < index->work_count && count; i++)
        if (is_awaited_copy(index, i))
            ap_key_table_add(copies, ap_path_work(index, i).launch + 1);
    AP_TRY(ap_key_table_finish(copies, reterr));
    for (uint32_t i = 0; i < index->work_count && count; i++)
        if (is_awaited_copy(index, i))
            *ap_key_table_find(copies, ap_path_work(index, i).launch + 1) = i;
    return AP_OK;
}

static enum ap_status add_blocking(struct ap_path_index *index, uint32_t row, const struct ap_key_table *copies,
                                   struct ap_error *reterr)
{
    uint32_t copy = AP_NO_WORK;
    if (!(index->names[index->trace->events.name[row]] & AP_PATH_NAME_WAIT)) {
        const uint32_t *found = ap_key_table_find(copies, row + 1);
        if (!found)
            return AP_OK;
        copy = *found;
    }
    AP_TRY(AP_RESERVE(index->gate, index->blocking_copy, index->blocking_copy_capacity, index->blocking.count + 1, reterr));
    index->blocking_copy[index->blocking.count] = copy;
    return rows_add(&index->blocking, index->gate, row, reterr);
}

/* Nodes of the autograd engine, by start. */
struct backward_rows {
    uint32_t *rows;
    size_t count, capacity;
};

static inline bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    return events->start_ns[a] != events->start_ns[b] ? events->start_ns[a] < events->start_ns[b] : a < b;
}

static bool any_name_is_backward(const struct ap_path_index *index)
{
    size_t id = ap_trace_id_count(index->trace);
    while (id && !(index->names[id - 1] & AP_PATH_NAME_BACKWARD))
        id--;
    return id;
}

static enum ap_status list_backward(struct ap_path_index *index, const struct ap_row_order *order,
                                    struct backward_rows *backward, struct ap_error *reterr)
{
    const struct ap_trace *trace = index->trace;
    if (!any_name_is_backward(index))
        return AP_OK;
    for (struct ap_placed_rows at = ap_placed_rows(order, trace, 1u << AP_KIND_operator); ap_placed_rows_next(&at);) {
        if (!(index->names[trace->events.name[at.row]] & AP_PATH_NAME_BACKWARD))
            continue;
        AP_TRY_ADD(index->gate, backward->rows, backward->count, backward->capacity, reterr, at.row);
        ap_row_set_add(&index->backward, trace->events.track[at.row]);
    }
    return ap_sort_list(index->gate, backward->rows, backward->count, starts_before, &trace->events, reterr);
}

struct thread_scan {
    int64_t activity_ns, presence_ns; /* covered up to here */
    size_t next_backward;
};

/* Does the row span a node that the autograd engine runs on another thread? Rows come in order of their starts. */
static bool calls_backward(const struct ap_path_index *index, const struct backward_rows *backward, struct thread_scan *scan,
                           uint32_t row)
{
    const struct ap_events *events = &index->trace->events;
    AP_SEEK(scan->next_backward, backward->count, at, events->start_ns[backward->rows[at]] < events->start_ns[row]);
    if (scan->next_backward == backward->count)
        return false;
    uint32_t next = backward->rows[scan->next_backward];
    return events->track[next] != events->track[row] && events->start_ns[next] < ap_row_end_ns(index->trace, row);
}

static bool is_presence(const struct ap_path_index *index, const struct backward_rows *backward, struct thread_scan *scan,
                        uint32_t row)
{
    if (ap_row_is_of(index->trace, row, 1u << AP_KIND_annotation | 1u << AP_KIND_python))
        return true;
    return backward->count && ap_row_is_of(index->trace, row, 1u << AP_KIND_operator) &&
           ap_row_end_ns(index->trace, row) > scan->activity_ns && calls_backward(index, backward, scan, row);
}

static inline enum ap_status take_host_row(struct ap_path_index *index, uint32_t row, const struct backward_rows *backward,
                                           struct thread_scan *scan, const struct ap_key_table *copies,
                                           struct ap_error *reterr)
{
    const struct ap_trace *trace = index->trace;
    if (index->names[trace->events.name[row]] & (AP_PATH_NAME_CONTAINER | AP_PATH_NAME_POLL) || !trace->events.dur_ns[row])
        return AP_OK;
    if (ap_row_is_of(trace, row, 1u << AP_KIND_runtime))
        AP_TRY(add_blocking(index, row, copies, reterr));
    bool present = is_presence(index, backward, scan, row);
    int64_t end_ns = ap_row_end_ns(trace, row), *covered_ns = present ? &scan->presence_ns : &scan->activity_ns;
    if (end_ns <= *covered_ns)
        return AP_OK;
    *covered_ns = end_ns;
    return rows_add(present ? &index->presence : &index->activity, index->gate, row, reterr);
}

static enum ap_status scan_threads(struct ap_path_index *index, const struct ap_row_order *order,
                                   const struct backward_rows *backward, const struct ap_key_table *copies,
                                   struct ap_error *reterr)
{
    for (size_t track = 0; track < index->track_count; track++) {
        struct thread_scan scan = { INT64_MIN, INT64_MIN, 0 };
        bool is_thread = ap_track_may_hold(order, track, AP_HOST_KINDS);
        for (size_t i = order->track_start[track]; is_thread && i < order->track_start[track + 1]; i++)
            if (ap_row_is_of(index->trace, order->rows[i], AP_HOST_KINDS))
                AP_TRY(take_host_row(index, order->rows[i], backward, &scan, copies, reterr));
    }
    AP_TRY(rows_finish(&index->activity, index, reterr));
    AP_TRY(rows_finish(&index->presence, index, reterr));
    return rows_finish(&index->blocking, index, reterr);
}

static enum ap_status list_host_rows(struct ap_path_index *index, const struct ap_row_order *order, struct ap_error *reterr)
{
    struct ap_key_table copies = { .gate = index->gate, .keys.gate = index->gate, .map.gate = index->gate };
    struct backward_rows backward = { NULL, 0, 0 };
    AP_TRY(ap_row_set_init(&index->backward, index->gate, index->track_count, reterr));
    enum ap_status status = find_copies(index, &copies, reterr);
    AP_AND_THEN(status, list_backward(index, order, &backward, reterr));
    AP_AND_THEN(status, scan_threads(index, order, &backward, &copies, reterr));
    AP_FREE(index->gate, backward.rows, backward.capacity);
    ap_key_table_release(&copies);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- whole */

enum ap_status ap_path_index_init(struct ap_path_index *index, const struct ap_trace *trace,
                                  const struct ap_row_order *order, const struct ap_links *links, struct ap_gate *gate,
                                  struct ap_error *reterr)
{
    *index =
        (struct ap_path_index){ .gate = gate, .trace = trace, .track_count = order->track_count, .backward.gate = gate };
    AP_TRY(list_names(index, reterr));
    AP_TRY(list_work(index, links, reterr));
    AP_TRY(list_by_end(gate, NULL, index->work_count, true, index, &index->work_by_end, reterr));
    AP_TRY(list_host_rows(index, order, reterr));
    AP_TRY(list_by_end(gate, index->activity.rows, index->activity.count, false, trace, &index->activity_by_end, reterr));
    return ap_path_waits_init(index, reterr);
}

void ap_path_index_forget_walk(struct ap_path_index *index)
{
    AP_FREE(index->gate, index->activity_by_end, index->activity.count);
    index->activity_by_end = NULL;
    rows_release(&index->presence, index);
}

void ap_path_index_release(struct ap_path_index *index)
{
    struct ap_gate *gate = index->gate;
    ap_mem_free(gate, index->names, ap_trace_id_count(index->trace));
    AP_FREE(gate, index->work, index->work_count);
    AP_FREE(gate, index->first_work, index->track_count + 1);
    AP_FREE(gate, index->work_by_end, index->work_count);
    AP_FREE(gate, index->activity_by_end, index->activity.count);
    ap_row_set_release(&index->backward);
    rows_release(&index->activity, index);
    rows_release(&index->presence, index);
    rows_release(&index->blocking, index);
    AP_FREE(gate, index->blocking_copy, index->blocking_copy_capacity);
    AP_FREE(gate, index->syncs, index->sync_count);
    AP_FREE(gate, index->waits, index->wait_count);
    *index = (struct ap_path_index){ .gate = gate };
}
