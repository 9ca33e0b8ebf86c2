/* SPDX-License-Identifier: MIT */
#include "launch_queue.h"

#include <string.h>

#include "sort.h"

#include "poison.h"

/* Places in links->row, stream by stream. */
struct entries {
    const struct ap_trace *trace;
    const struct ap_links *links;
    uint32_t *stream_start; /* by track, and the end: there are fewer than 2^32 rows */
    size_t stream_count;
    uint32_t *by_call, *by_start; /* in order of the calls; of the starts on the device. One block, with a spare part */
    size_t capacity;
};

static int64_t call_ns(const struct entries *entries, uint32_t place)
{
    return entries->trace->events.start_ns[ap_launch_at(entries->links, place)];
}

static int64_t start_ns(const struct entries *entries, uint32_t place)
{
    return entries->trace->events.start_ns[entries->links->row[place]];
}

/* A start before its call comes of two clocks that differ: such a pair never waited. */
static bool waits(const struct entries *entries, uint32_t place)
{
    return ap_launch_at(entries->links, place) != AP_NO_ROW && start_ns(entries, place) >= call_ns(entries, place);
}

static uint32_t track_of(const struct entries *entries, uint32_t place)
{
    return entries->trace->events.track[entries->links->row[place]];
}

static bool call_before(const void *context, uint32_t a, uint32_t b)
{
    const struct entries *entries = context;
    int64_t x = call_ns(entries, a), y = call_ns(entries, b);
    AP_SMALLER_FIRST(x, y);
    uint32_t call_x = ap_launch_at(entries->links, a), call_y = ap_launch_at(entries->links, b);
    return call_x != call_y ? call_x < call_y : a < b;
}

static bool place_before(const void *context, uint32_t a, uint32_t b)
{
    (void)context;
    return a < b;
}

static void split_by_stream(struct entries *entries)
{
    for (uint32_t place = 0; place < entries->links->count; place++)
        if (waits(entries, place))
            entries->stream_start[track_of(entries, place) + 1]++;
    for (size_t i = 0; i < entries->stream_count; i++)
        entries->stream_start[i + 1] += entries->stream_start[i];
    for (uint32_t place = 0; place < entries->links->count; place++)
        if (waits(entries, place))
            entries->by_call[entries->stream_start[track_of(entries, place)]++] = place;
    memmove(entries->stream_start + 1, entries->stream_start, entries->stream_count * sizeof(entries->stream_start[0]));
    entries->stream_start[0] = 0;
}

/* Sorts one stream; returns how many entries it has once the further rows of each call are left out. */
static size_t sort_stream(struct entries *entries, size_t start, size_t count)
{
    uint32_t *calls = entries->by_call + start, *starts = entries->by_start + start;
    size_t kept = 0;
    ap_sort_indices(calls, count, starts, call_before, entries);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ap_launch_at(entries->links, calls[i]) != ap_launch_at(entries->links, calls[i - 1]))
            calls[kept++] = calls[i];
    memcpy(starts, calls, kept * sizeof(starts[0]));
    ap_sort_indices(starts, kept, entries->by_start + entries->capacity, place_before, NULL);
    return kept;
}

/* ---- the length over time ---- */

struct walk {
    struct ap_stream_queue *stream;
    struct ap_launch_queues *points; /* NULL = not wanted */
    int64_t now_ns, length;
};

static void go_on(struct walk *walk, int64_t to_ns)
{
    int64_t span_ns = to_ns - walk->now_ns;
    walk->stream->length_ns += (double)walk->length * (double)span_ns;
    walk->stream->at_limit_ns += walk->length >= AP_QUEUE_LIMIT ? span_ns : 0;
    walk->stream->empty_ns += walk->length == 0 ? span_ns : 0;
    if (walk->points) {
        size_t last = (size_t)((to_ns - walk->stream->start_ns) / walk->points->point_ns);
        for (size_t i = (size_t)((walk->now_ns - walk->stream->start_ns) / walk->points->point_ns);
             i <= last && i < AP_QUEUE_POINTS; i++)
            if (walk->length > walk->points->points[i])
                walk->points->points[i] = walk->length;
    }
    walk->now_ns = to_ns;
}

static void walk_stream(const struct entries *entries, size_t first, size_t count, struct ap_stream_queue *stream,
                        struct ap_launch_queues *points)
{
    const uint32_t *calls = entries->by_call + first, *starts = entries->by_start + first;
    struct walk walk = { stream, points, stream->start_ns, 0 };
    for (size_t call = 0, start = 0; start < count;) {
        bool is_call = call < count && call_ns(entries, calls[call]) <= start_ns(entries, starts[start]);
        go_on(&walk, is_call ? call_ns(entries, calls[call]) : start_ns(entries, starts[start]));
        walk.length += is_call ? 1 : -1;
        call += is_call;
        start += !is_call;
        if (walk.length > stream->max_length)
            stream->max_length = walk.length;
    }
}

static enum ap_status measure(struct ap_launch_queues *queues, struct entries *entries, struct ap_error *reterr)
{
    for (size_t track = 0; track < entries->stream_count; track++) {
        size_t first = entries->stream_start[track], count = entries->stream_start[track + 1] - first;
        if (!count)
            continue;
        AP_TRY(AP_RESERVE(queues->gate, queues->streams, queues->capacity, queues->count + 1, reterr));
        count = sort_stream(entries, first, count);
        struct ap_stream_queue *stream = &queues->streams[queues->count++];
        *stream = (struct ap_stream_queue){ .track = (uint32_t)track, .launches = count };
        stream->start_ns = call_ns(entries, entries->by_call[first]);
        stream->end_ns = start_ns(entries, entries->by_start[first + count - 1]);
        walk_stream(entries, first, count, stream, NULL);
        if (count > queues->streams[queues->busiest].launches)
            queues->busiest = queues->count - 1;
    }
    return AP_OK;
}

static void take_points(struct ap_launch_queues *queues, const struct entries *entries)
{
    if (!queues->count)
        return;
    struct ap_stream_queue again = queues->streams[queues->busiest];
    int64_t span_ns = again.end_ns - again.start_ns;
    queues->point_ns = span_ns / AP_QUEUE_POINTS + 1;
    queues->point_count = (size_t)(span_ns / queues->point_ns) + 1;
    walk_stream(entries, entries->stream_start[again.track], again.launches, &again, queues);
}

static enum ap_status fill(struct ap_launch_queues *queues, struct entries *entries, struct ap_error *reterr)
{
    size_t starts = entries->stream_count + 1;
    entries->capacity = entries->links->linked_count;
    enum ap_status status = AP_ALLOC_CLEARED(queues->gate, entries->stream_start, starts, reterr);
    AP_AND_THEN(status, AP_ALLOC(queues->gate, entries->by_call, 3 * entries->capacity, reterr));
    if (status == AP_OK) {
        entries->by_start = entries->by_call + entries->capacity;
        split_by_stream(entries);
        status = measure(queues, entries, reterr);
        if (status == AP_OK)
            take_points(queues, entries);
    }
    AP_FREE(queues->gate, entries->stream_start, starts);
    AP_FREE(queues->gate, entries->by_call, 3 * entries->capacity);
    return status;
}

enum ap_status ap_launch_queues_init(struct ap_launch_queues *queues, const struct ap_trace *trace,
                                     const struct ap_links *links, struct ap_gate *gate, struct ap_error *reterr)
{
    struct entries entries = { .trace = trace, .links = links, .stream_count = trace->track_count };
    *queues = (struct ap_launch_queues){ .gate = gate };
    return links->linked_count ? fill(queues, &entries, reterr) : AP_OK;
}

void ap_launch_queues_release(struct ap_launch_queues *queues)
{
    AP_FREE(queues->gate, queues->streams, queues->capacity);
    *queues = (struct ap_launch_queues){ .gate = queues->gate };
}
