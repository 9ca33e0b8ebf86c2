/* SPDX-License-Identifier: MIT
 * replay_waits.c - which work of a stream waits for another stream, where no rows of the category cuda_sync say so. The call
 * that makes a stream wait is in the trace, without its streams; what is launched next by its thread is what waits, and the
 * last that was launched to any other stream is what it waits for.
 *
 *   host      |kernel a|  |wait event|  |kernel b|        b waits for a
 *   stream 7  ...[  a  ]
 *   stream 20           .[  b  ]
 *
 * That is a guess. It counts where it holds for each such call of a stream, and these are a few: then it is believed also
 * where work came late enough for other reasons, so that it does not come sooner when these go. */
#include "replay_build.h"
#include "sort.h"

#include "poison.h"

#define LEAST_WAITS 4 /* of a stream; fewer may fit by chance */

/* Calls that make a stream wait, and launches, in order of time. */
struct moment {
    int64_t ns;
    uint32_t track; /* of the host */
    uint32_t work;  /* AP_NO_WORK = a call that makes a stream wait */
};

struct sweep {
    const struct ap_replay_build *build;
    struct moment *moments;
    size_t count, capacity;
    uint32_t last, last_elsewhere; /* work that was launched last, and last to any other stream than that */
    struct pending {
        uint32_t last, last_elsewhere; /* when the call was made; AP_NO_WORK = there was none since the last launch */
    } * pending;                       /* by track of the host */
    uint32_t *fitting;                 /* by track of the device; UINT32_MAX = one does not fit */
};

static uint32_t stream_of(const struct sweep *sweep, uint32_t work)
{
    return sweep->build->trace->events.track[ap_path_work(sweep->build->index, work).row];
}

static enum ap_status list_calls(struct sweep *sweep, struct ap_error *reterr)
{
    const struct ap_trace *trace = sweep->build->trace;
    const struct ap_row_order *order = sweep->build->order;
    for (size_t i = 0; i < order->count; i++) {
        uint32_t row = order->rows[i];
        if (ap_row_is_of(trace, row, 1u << AP_KIND_runtime) && trace->events.start_ns[row] != AP_START_UNKNOWN &&
            ap_text_contains(ap_row_name(trace, row), AP_TEXT("StreamWaitEvent")))
            AP_TRY_ADD(sweep->build->gate, sweep->moments, sweep->count, sweep->capacity, reterr,
                       (struct moment){ trace->events.start_ns[row], trace->events.track[row], AP_NO_WORK });
    }
    return AP_OK;
}

static enum ap_status list_launches(struct sweep *sweep, struct ap_error *reterr)
{
    const struct ap_replay_build *build = sweep->build;
    for (uint32_t work = 0; work < build->index->work_count; work++) {
        uint32_t launch = ap_path_work(build->index, work).launch;
        if (ap_replay_is_launched(build, work))
            AP_TRY_ADD(build->gate, sweep->moments, sweep->count, sweep->capacity, reterr,
                       (struct moment){ build->trace->events.start_ns[launch], build->trace->events.track[launch], work });
    }
    return AP_OK;
}

static bool moment_before(const void *context, uint32_t a, uint32_t b)
{
    const struct moment *x = (const struct moment *)context + a, *y = (const struct moment *)context + b;
    AP_SMALLER_FIRST(x->ns, y->ns);
    AP_SMALLER_FIRST(x->work, y->work);
    return a < b;
}

static void note_launch(struct sweep *sweep, uint32_t work)
{
    if (sweep->last != AP_NO_WORK && stream_of(sweep, sweep->last) != stream_of(sweep, work))
        sweep->last_elsewhere = sweep->last;
    sweep->last = work;
}

/* The work waits, as far as the call before it can be told apart. */
static void guess(struct sweep *sweep, const struct moment *launch, uint32_t *awaited)
{
    const struct ap_path_index *index = sweep->build->index;
    struct pending *pending = &sweep->pending[launch->track];
    uint32_t stream = stream_of(sweep, launch->work), *fitting = &sweep->fitting[stream], other = pending->last;
    if (other != AP_NO_WORK && stream_of(sweep, other) == stream)
        other = pending->last_elsewhere;
    *pending = (struct pending){ AP_NO_WORK, AP_NO_WORK };
    if (other == AP_NO_WORK || *fitting == UINT32_MAX)
        return;
    awaited[launch->work] = other;
    *fitting = ap_work_end_ns(index, other) <= ap_work_start_ns(index, launch->work) ? *fitting + 1 : UINT32_MAX;
}

static void sweep_moments(struct sweep *sweep, const uint32_t *order, uint32_t *awaited)
{
    for (size_t i = 0; i < sweep->count; i++) {
        const struct moment *moment = &sweep->moments[order[i]];
        if (moment->work == AP_NO_WORK) {
            sweep->pending[moment->track] = (struct pending){ sweep->last, sweep->last_elsewhere };
            continue;
        }
        guess(sweep, moment, awaited);
        note_launch(sweep, moment->work);
    }
    for (uint32_t work = 0; work < sweep->build->index->work_count; work++) {
        uint32_t fitting = sweep->fitting[stream_of(sweep, work)];
        if (fitting == UINT32_MAX || fitting < LEAST_WAITS)
            awaited[work] = AP_NO_WORK;
    }
}

static enum ap_status find_in(struct sweep *sweep, uint32_t *awaited, struct ap_error *reterr)
{
    struct ap_gate *gate = sweep->build->gate;
    size_t tracks = sweep->build->index->track_count, ordered;
    uint32_t *order;
    AP_TRY(list_launches(sweep, reterr));
    AP_TRY(AP_ALLOC(gate, sweep->pending, tracks, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, sweep->fitting, tracks, reterr));
    for (size_t i = 0; i < tracks; i++)
        sweep->pending[i] = (struct pending){ AP_NO_WORK, AP_NO_WORK };
    AP_TRY(ap_top_indices(gate, (uint32_t)sweep->count, 0, moment_before, sweep->moments, &order, &ordered, reterr));
    sweep_moments(sweep, order, awaited);
    AP_FREE(gate, order, ordered);
    return AP_OK;
}

enum ap_status ap_replay_find_waits(struct ap_replay_build *build, struct ap_error *reterr)
{
    struct sweep sweep = { .build = build, .last = AP_NO_WORK, .last_elsewhere = AP_NO_WORK };
    size_t works = build->index->work_count;
    if (build->index->has_sync_rows || !works)
        return AP_OK;
    enum ap_status status = list_calls(&sweep, reterr);
    if (status == AP_OK && sweep.count) {
        status = AP_ALLOC(build->gate, build->told_wait, works, reterr);
        for (size_t i = 0; i < works && status == AP_OK; i++)
            build->told_wait[i] = AP_NO_WORK;
        AP_AND_THEN(status, find_in(&sweep, build->told_wait, reterr));
    }
    AP_FREE(build->gate, sweep.pending, build->index->track_count);
    AP_FREE(build->gate, sweep.fitting, build->index->track_count);
    AP_FREE(build->gate, sweep.moments, sweep.capacity);
    return status;
}
