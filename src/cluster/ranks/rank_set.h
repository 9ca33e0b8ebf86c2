/* SPDX-License-Identifier: MIT
 * rank_set.h - what stays of ranks when their traces are gone: whole numbers and names. A set of summaries is kept in one
 * order without equals, so that the union of sets does not depend on the order in which they were joined. */
#ifndef AP_RANK_SET_H
#define AP_RANK_SET_H

#include "collective.h"
#include "memory_set.h"
#include "strpool.h"

enum ap_spent {
#define AP_SPENT(id, meaning) AP_SPENT_##id,
#include "rank_spent.def"
#undef AP_SPENT
    AP_SPENT_COUNT_
};

struct ap_rank_step {
    int64_t number; /* that its mark tells, else its place in the recording */
    int64_t start_ns, end_ns;
    int64_t spent_ns[AP_SPENT_COUNT_];
    int64_t kernel_ns, kernel_count; /* of compute, launched in it; without a device those of operators that call no other */
    int64_t work;                    /* equal for equal calls of equal shapes: a sum of hashes */
    bool is_partial;                 /* the recording begins or ends within it */
};

/** How many classes of the time before a collective are kept: those with most. */
#define AP_RANK_BEFORE 5

struct ap_rank_collective {
    int64_t start_ns, dur_ns;
    int64_t
        exposed_ns;   /* at its end, since the last other kernel of the device, back to the start of the first of those that
                           followed each other at once: so long the rank had nothing but them. 0 where another follows */
    int64_t sequence; /* -1 = not told */
    int64_t bytes;    /* as bandwidths are counted; -1 = unknown */
    int64_t step;     /* number of the step that it was launched in; -1 = none */
    int64_t peer;     /* of a send or receive: a rank, or its place in the group; -1 = not told */
    struct ap_str group; /* its ranks as text; absent = not told */
    struct ap_str frame; /* what the host did longest while the device was idle before it; absent = nothing recorded */
    uint32_t before_us[AP_RANK_BEFORE]; /* since the collective before it, by class; 0 = unused */
    uint8_t before[AP_RANK_BEFORE];
    uint8_t operation; /* enum ap_collective_operation */
    bool on_host;
};

/** What is called on every rank alike, and so can be compared. */
enum ap_rank_call_kind {
    AP_RANK_CALL_kernel,
    AP_RANK_CALL_copy,     /* from or to the device */
    AP_RANK_CALL_operator, /* of the host, those that call no other */
    AP_RANK_CALL_COUNT_
};

/** Calls of one name and shape, or one size, of those that took most time. */
struct ap_rank_call {
    int64_t key; /* equal for equal kind, name and shapes, on all ranks */
    int64_t count, total_ns;
    int64_t least_ns; /* the shortest: what waits for a core takes longer now and then, what has more to do always does */
    struct ap_str name;
    uint8_t kind;   /* enum ap_rank_call_kind */
    bool is_shaped; /* the trace tells shapes or sizes, and the key holds them */
};

/** One window of one rank. Times are nanoseconds since 1970 by the clock of its host, or since whatever the trace counts. */
struct ap_rank_summary {
    int64_t rank;
    int64_t world_size; /* -1 = not told */
    struct ap_str path, host, device, backend;
    struct ap_str last_frame; /* what the host did longest behind the last collective, while the device was idle */
    int64_t start_ns, end_ns; /* of all rows */
    int64_t rows;
    bool has_device, is_cut;
    int64_t lost_count;                                                /* of what the figures lack beside that */
    int64_t spent_ns[AP_SPENT_COUNT_];                                 /* from the first to the last row */
    int64_t peak_allocated_bytes, peak_reserved_bytes, capacity_bytes; /* -1 = not told */
    int64_t out_of_memory_count;
    struct ap_rank_step *steps;
    size_t step_count, step_capacity;
    struct ap_rank_collective *collectives; /* by start */
    size_t collective_count, collective_capacity;
    struct ap_rank_call *calls; /* by key */
    size_t call_count, call_capacity;
};

struct ap_rank_set {
    struct ap_gate *gate;
    struct ap_strpool names;
    struct ap_rank_summary *ranks; /* in order once ap_rank_set_finish() has run */
    size_t count, capacity;
    size_t duplicate_count;      /* summaries that were there already */
    struct ap_memory_set memory; /* of snapshots; its names are its own */
};

/** An empty set; memory is taken when something is added. */
void ap_rank_set_init(struct ap_rank_set *set, struct ap_gate *gate);
void ap_rank_set_release(struct ap_rank_set *set);
/** Frees the lists of a summary that is in no set. */
void ap_rank_summary_release(struct ap_rank_summary *summary, struct ap_gate *gate);
/** The names of a summary, one for each @index from 0 on; NULL behind the last. */
struct ap_str *ap_rank_name(struct ap_rank_summary *summary, size_t index);
/** Moves the summaries of @from, which is empty afterwards, to @set. */
AP_MUST_CHECK enum ap_status ap_rank_set_join(struct ap_rank_set *set, struct ap_rank_set *from, struct ap_error *reterr);
/** Puts the summaries in order, by rank, then time, drops those that say the same as another, and numbers the names anew. */
AP_MUST_CHECK enum ap_status ap_rank_set_finish(struct ap_rank_set *set, struct ap_error *reterr);

/** Between two collectives of which the second had been waiting for the first. */
#define AP_RANK_QUEUED_NS 10000

/** Did the collective begin because the one before it ended? Its rank may have come to it earlier. */
static inline bool ap_rank_is_queued(const struct ap_rank_summary *rank, size_t collective)
{
    const struct ap_rank_collective *it = &rank->collectives[collective];
    return collective > 0 && it->start_ns - AP_RANK_QUEUED_NS <= it[-1].start_ns + it[-1].dur_ns;
}

static inline struct ap_text ap_rank_text(const struct ap_rank_set *set, struct ap_str name)
{
    return ap_strpool_text(&set->names, name);
}

#endif
