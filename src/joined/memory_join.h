/* SPDX-License-Identifier: MIT
 * memory_join.h - what a snapshot hands to the analysis of a trace of the same run: its times on the trace's axis.
 *
 * Both clocks count from the Unix epoch: a history's time_us does, a trace's ts does after baseTimeNanoseconds is added
 * (writers before 2024-05: by itself). That they are of one run is checked where the trace has [memory] instants: the same
 * addresses must have been handed out at the same times, and the median difference is the offset between the clocks.
 *
 *     trace     |-------[ step 0 ][ step 1 ][ step 2 ]-------|
 *     history        |----^--------------^-------------|            the overlap is judged, nothing else
 *
 * Order of use: ap_memory_join_init() with the trace as read, ap_join_part_snapshot() while the snapshot is there, then the
 * trace's analysis reads it. Times after taking are those of the trace's rows. */
#ifndef AP_MEMORY_JOIN_H
#define AP_MEMORY_JOIN_H

#include "model_build.h"
#include "replay.h"
#include "trace.h"

/** More entries than this within the trace are put together. */
#define AP_JOIN_POINTS (1u << 18)
#define AP_JOIN_MOMENTS 32

enum ap_join_state {
    AP_JOIN_JOINED,
    AP_JOIN_NO_HISTORY,       /* nothing was recorded, or no sizes to anchor it */
    AP_JOIN_NO_HISTORY_CLOCK, /* its entries have no times */
    AP_JOIN_NO_TRACE_CLOCK,   /* its times count from an unknown moment */
    AP_JOIN_APART,            /* the two cover different times */
    AP_JOIN_OTHER_RUN,        /* they cover the same time, but allocate at different addresses */
    AP_JOIN_OTHER_DEVICE,     /* the trace has work of other devices than those whose memory the snapshot holds */
    AP_JOIN_TOO_LARGE,        /* the snapshot held more than the device of the trace has */
    AP_JOIN_OTHER_BYTES       /* the trace tells of more reserved memory than the history ever held meanwhile */
};

/** One entry of the history, or several in a row. */
struct ap_join_point {
    int64_t time_ns;    /* of the first of them */
    int64_t last_bytes; /* requested, behind the last of them */
    int64_t high_bytes; /* most behind any of them */
};

struct ap_join_moment {
    int64_t time_ns, bytes;
    uint32_t device;
    bool known;
};

struct ap_memory_join {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    bool has_base;
    int64_t base_ns; /* what makes a time of the trace one since the epoch */
    enum ap_join_state state;
    uint32_t device;          /* the one with the highest peak: the points are of its curve */
    int64_t start_ns, end_ns; /* what both cover */
    bool offset_known;
    int64_t offset_ns;                       /* the trace's clock less the snapshot's; history times are moved by it */
    uint64_t compared, matched;              /* allocations of the history within the instants, those found among them */
    bool exact;                              /* a point for each entry */
    bool doubtful;                           /* the replay contradicts itself, or times run backwards */
    int64_t history_ns;                      /* first to last entry */
    int64_t peak_reserved_bytes;             /* of the device; -1 = not known */
    struct ap_join_moment peak, peak_within; /* of the whole history, and of what both cover */
    struct ap_join_moment failures[AP_JOIN_MOMENTS]; /* the last ones; bytes = what was asked for, -1 = not told */
    uint32_t failure_count;
    int64_t start_bytes; /* level before the first point */
    struct ap_join_point *points;
    size_t point_count, point_capacity;
};

/** @join may be released after a failure too. */
void ap_memory_join_init(struct ap_memory_join *join, const struct ap_trace *trace, struct ap_gate *gate);
void ap_memory_join_release(struct ap_memory_join *join);

/** They are not of one process, whatever the clocks say. */
static inline bool ap_join_is_of_another_run(enum ap_join_state state)
{
    return state >= AP_JOIN_OTHER_RUN;
}

/** The memory of a device as the trace's header tells it; 0 = not told. */
int64_t ap_memory_join_capacity(const struct ap_memory_join *join, uint32_t device);

/** Append "memory" of @snapshot to @model, as ap_part_snapshot() does; with the trace of the same run at hand its header
 * tells the memory of the devices, and *@join takes what the trace's analysis needs of the history. @join NULL = no trace.
 * @for_pictures: with what only they need. */
AP_MUST_CHECK enum ap_status ap_join_part_snapshot(const struct ap_snapshot *snapshot, const char *path, uint64_t top_n,
                                                   bool for_pictures, struct ap_memory_join *join, struct ap_notes *notes,
                                                   struct ap_model *model, struct ap_error *reterr);

#endif
