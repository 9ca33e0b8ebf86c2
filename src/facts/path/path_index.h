/* SPDX-License-Identifier: MIT
 * path_index.h - what the walk along the critical path asks of a trace, each in logarithmic time: what ran on a stream,
 * what ended last before some time, which call blocked on what. */
#ifndef AP_PATH_INDEX_H
#define AP_PATH_INDEX_H

#include "links.h"
#include "row_set.h"

#define AP_NO_WORK UINT32_MAX

/* What a name means to the walk. */
#define AP_PATH_NAME_CONTAINER 1u /* spans a step and says nothing of what was done in it */
#define AP_PATH_NAME_LOADER 2u
#define AP_PATH_NAME_POLL 4u      /* asks whether work is done and does not wait; watchdog threads do nothing else */
#define AP_PATH_NAME_WAIT 8u      /* returns when GPU work is done */
#define AP_PATH_NAME_BACKWARD 16u /* node of the autograd engine: its thread works for the one that called backward */

/** Rows by track, then start; ask with ap_path_first() and ap_path_last_before(). */
struct ap_path_rows {
    uint32_t *rows;
    uint32_t *first; /* by track; NULL, as asked, where there are few rows for each of many tracks: they are searched then */
    uint32_t *asked; /* by track: the end of the rows that may start before what is asked for next */
    size_t count, capacity;
};

struct ap_path_index {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    uint8_t *names; /* by name id: what it means */
    const struct ap_links *links;
    uint32_t *work;        /* GPU work by track, then start: places in links->row; NULL where it stands there so */
    uint32_t *first_work;  /* by track; NULL where there is no work */
    uint32_t *work_by_end; /* of all streams; NULL = in the order of work */
    size_t work_count, track_count;
    uint64_t launched_count;
    struct ap_path_rows activity; /* operators and calls with no other one around, in order of time: no poll, no
                                         container, none without duration */
    uint32_t *activity_by_end;    /* of all threads; NULL = in the order of activity */
    struct ap_path_rows presence; /* likewise annotations, Python frames and operators that another thread works for */
    struct ap_row_set backward;   /* tracks whose thread works for the autograd engine */
    struct ap_path_rows blocking; /* calls that may have waited for GPU work */
    uint32_t *blocking_copy;      /* for each: the copy that it made and waited for; AP_NO_WORK = none */
    size_t blocking_copy_capacity;
    bool has_sync_rows;
    struct ap_path_sync {
        uint32_t call, record_call; /* rows; AP_NO_ROW = not in the trace */
        uint32_t row;
        uint32_t stream, wait_on; /* tracks; UINT32_MAX = unknown */
    } * syncs;                    /* by call */
    size_t sync_count;
    struct ap_path_wait {
        uint32_t work, awaited; /* indices of work */
    } * waits;                  /* by work */
    size_t wait_count;
};

/** Indexes the rows that the walk asks about; borrows the trace. @index may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_path_index_init(struct ap_path_index *index, const struct ap_trace *trace,
                                                const struct ap_row_order *order, const struct ap_links *links,
                                                struct ap_gate *gate, struct ap_error *reterr);
void ap_path_index_release(struct ap_path_index *index);
/** Gives back what only the walk along the critical path asks for: activity_by_end, presence. */
void ap_path_index_forget_walk(struct ap_path_index *index);
/** The part of it that recorded waits fill; the rest must stand. */
AP_MUST_CHECK enum ap_status ap_path_waits_init(struct ap_path_index *index, struct ap_error *reterr);

/** Where the rows of the track begin; those of the last one end at that of the number of tracks. */
size_t ap_path_first(const struct ap_path_index *index, const struct ap_path_rows *rows, size_t track);
/** Behind the last row of the track that starts before @ns, which does not grow from call to call; 0 = there is none. */
size_t ap_path_last_before(const struct ap_path_index *index, const struct ap_path_rows *rows, uint32_t track, int64_t ns);
/** The work of any stream that ended last, not after @ns; AP_NO_WORK where there is none. */
uint32_t ap_path_work_ended(const struct ap_path_index *index, int64_t ns);
/** The GPU work that the blocking call number @blocking waited for, ended by @ns; AP_NO_WORK where it found none running. */
uint32_t ap_path_awaited(const struct ap_path_index *index, size_t blocking, int64_t ns);

static inline struct ap_device_row ap_path_work(const struct ap_path_index *index, size_t work)
{
    return ap_device_row_at(index->links, index->work ? index->work[work] : work);
}

static inline uint32_t ap_path_work_by_end(const struct ap_path_index *index, size_t at)
{
    return index->work_by_end ? index->work_by_end[at] : (uint32_t)at;
}

static inline int64_t ap_work_start_ns(const struct ap_path_index *index, uint32_t work)
{
    return index->trace->events.start_ns[ap_path_work(index, work).row];
}

static inline int64_t ap_work_end_ns(const struct ap_path_index *index, uint32_t work)
{
    return ap_row_end_ns(index->trace, ap_path_work(index, work).row);
}

/** The work before it on its stream, or AP_NO_WORK. */
static inline uint32_t ap_path_previous_on_stream(const struct ap_path_index *index, uint32_t work)
{
    uint32_t track = index->trace->events.track[ap_path_work(index, work).row];
    return work > index->first_work[track] ? work - 1 : AP_NO_WORK;
}

#endif
