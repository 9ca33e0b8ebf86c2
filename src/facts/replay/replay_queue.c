/* SPDX-License-Identifier: MIT
 * replay_queue.c - launches that found the queue of their stream full. Such a call returns when the device has begun what
 * lets a place go: it takes long for that alone, and not where the device is faster.
 *
 *   host    |launch|launch|launch......|launch......|      at most so many launches are ahead of the device
 *   stream     [kernel ][kernel ][kernel  ][kernel  ]
 *
 * How many places a queue has is told by the recording: the most launches that were ahead at the end of any call. It was
 * full where calls near that depth take much longer than the others do. */
#include "quantile.h"
#include "replay_build.h"
#include "sort.h"

#include "poison.h"

#define LEAST_DEPTH 64       /* a queue of fewer places is none: that depth comes by chance */
#define NEAR_FULL_PERCENT 75 /* calls at so much of the greatest depth may have found it full: they did ... */
#define LONG_CALL 3          /* ... where they take so many times the usual, */
#define LEAST_CALLS 16       /* and that is no chance: so many do, and a quarter of those at that depth */

struct ahead {
    uint32_t work;  /* of the launch; of a graph the first */
    uint32_t depth; /* launches that stood before it when the call returned; 0 = none, or it had begun by then */
};

/* What was launched on one stream, in the order of the stream. */
struct stream {
    const struct ap_replay_build *build;
    struct ahead *list;
    size_t count, capacity;
    uint32_t most; /* the greatest depth */
};

static uint32_t launch_of(const struct ap_replay_build *build, uint32_t work)
{
    return ap_path_work(build->index, work).launch;
}

static enum ap_status list_launches(struct stream *stream, size_t first, size_t end, struct ap_error *reterr)
{
    const struct ap_replay_build *build = stream->build;
    uint32_t last = AP_NO_ROW;
    stream->count = 0;
    for (uint32_t work = (uint32_t)first; work < end; work++) {
        uint32_t launch = launch_of(build, work);
        if (!ap_replay_is_launched(build, work) || launch == last)
            continue;
        AP_TRY_ADD(build->gate, stream->list, stream->count, stream->capacity, reterr, (struct ahead){ work, 0 });
        last = launch;
    }
    return AP_OK;
}

static void find_depths(struct stream *stream)
{
    const struct ap_replay_build *build = stream->build;
    size_t begun = 0;
    stream->most = 0;
    for (size_t i = 0; i < stream->count; i++) {
        struct ahead *ahead = &stream->list[i];
        int64_t end_ns = ap_row_end_ns(build->trace, launch_of(build, ahead->work));
        AP_SEEK(begun, stream->count, at, ap_work_start_ns(build->index, stream->list[at].work) <= end_ns);
        ahead->depth = begun < i ? (uint32_t)(i - begun) : 0;
        stream->most = ahead->depth > stream->most ? ahead->depth : stream->most;
    }
}

static bool is_near_full(const struct stream *stream, size_t at)
{
    return stream->list[at].depth >= (uint64_t)stream->most * NEAR_FULL_PERCENT / 100;
}

static int64_t call_ns(const struct stream *stream, size_t at)
{
    return stream->build->trace->events.dur_ns[launch_of(stream->build, stream->list[at].work)];
}

/* Of those far from a full queue the median; where all are near one, of the shortest tenth. @calls_ns has room for all. */
static int64_t usual_call_ns(const struct stream *stream, int64_t *calls_ns)
{
    size_t far = 0;
    for (size_t i = 0; i < stream->count; i++)
        if (!is_near_full(stream, i))
            calls_ns[far++] = call_ns(stream, i);
    if (far >= LEAST_CALLS)
        return ap_quantile(calls_ns, far, 50);
    for (size_t i = 0; i < stream->count; i++)
        calls_ns[i] = call_ns(stream, i);
    return ap_quantile(calls_ns, stream->count, 10);
}

static bool waited(const struct stream *stream, size_t at, int64_t usual_ns)
{
    return is_near_full(stream, at) && call_ns(stream, at) / LONG_CALL >= usual_ns;
}

static bool was_full(const struct stream *stream, int64_t usual_ns)
{
    size_t near = 0, calls = 0;
    for (size_t i = 0; i < stream->count; i++) {
        near += is_near_full(stream, i);
        calls += waited(stream, i, usual_ns);
    }
    return calls >= LEAST_CALLS && calls >= near / 4;
}

static enum ap_status add_returns(struct stream *stream, struct ap_replay_build *build, int64_t usual_ns,
                                  struct ap_error *reterr)
{
    for (size_t i = 0; i < stream->count; i++) {
        const struct ahead *ahead = &stream->list[i];
        size_t begun = i - ahead->depth;
        if (!waited(stream, i, usual_ns) || !begun)
            continue;
        struct ap_return back = { launch_of(build, ahead->work), stream->list[begun - 1].work, AP_NO_TASK, usual_ns };
        AP_TRY_ADD(build->gate, build->returns, build->return_count, build->return_capacity, reterr, back);
    }
    return AP_OK;
}

/* Of most recordings no stream has so many launches, or none is so far ahead. */
static enum ap_status find_in_stream(struct stream *stream, struct ap_replay_build *build, size_t first, size_t end,
                                     struct ap_error *reterr)
{
    int64_t *calls_ns;
    AP_TRY(list_launches(stream, first, end, reterr));
    find_depths(stream);
    if (stream->most < LEAST_DEPTH)
        return AP_OK;
    AP_TRY(AP_ALLOC(build->gate, calls_ns, stream->count, reterr));
    int64_t usual_ns = usual_call_ns(stream, calls_ns);
    AP_FREE(build->gate, calls_ns, stream->count);
    return usual_ns > 0 && was_full(stream, usual_ns) ? add_returns(stream, build, usual_ns, reterr) : AP_OK;
}

enum ap_status ap_replay_find_returns(struct ap_replay_build *build, struct ap_error *reterr)
{
    const struct ap_path_index *index = build->index;
    struct stream stream = { .build = build };
    enum ap_status status = AP_OK;
    if (index->work_count < LEAST_DEPTH)
        return AP_OK;
    for (size_t track = 0; track < index->track_count && status == AP_OK; track++)
        status = find_in_stream(&stream, build, index->first_work[track], index->first_work[track + 1], reterr);
    AP_FREE(build->gate, stream.list, stream.capacity);
    return status;
}

enum ap_status ap_replay_link_returns(struct ap_replay_build *build, struct ap_error *reterr)
{
    struct ap_task *tasks = build->graph->tasks;
    for (size_t i = 0; i < build->return_count; i++) {
        const struct ap_return *back = &build->returns[i];
        if (back->task == AP_NO_TASK)
            continue;
        int64_t lag_ns = tasks[back->task].start_ns - ap_work_start_ns(build->index, back->started);
        ap_replay_limit_work(build->graph, &tasks[back->task - 1], back->usual_ns);
        AP_TRY(ap_replay_add_edge(build, ap_replay_task_of_work(build, back->started), back->task, AP_REPLAY_EDGE_queue,
                                  lag_ns, reterr));
    }
    return AP_OK;
}
