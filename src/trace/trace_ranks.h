/* SPDX-License-Identifier: MIT
 * trace_ranks.h - a file into which the traces of several ranks were merged, taken apart again. Tools that merge give
 * each rank processes of its own, and tell its number in their names ("RANK 3 - GPU"), in their ids ("[TP-3] 1234") or as
 * a member of each event. A trace of one rank tells none of these. */
#ifndef AP_TRACE_RANKS_H
#define AP_TRACE_RANKS_H

#include "trace.h"

/** Indices of a table by rank, in the order of the table within each. */
struct ap_rank_buckets {
    uint32_t *indices;
    size_t *starts; /* by number of the rank, and the end */
    size_t count;   /* room in indices */
};

struct ap_trace_ranks {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    int64_t *ranks;     /* from the lowest */
    size_t count;       /* 0 = the trace is that of one rank */
    uint32_t *of_track; /* number of its rank; UINT32_MAX = told of none */
    struct ap_rank_buckets rows, memory_instants;
    struct ap_part_id {
        uint32_t part, id;
    } * strings, *track_ids, *signatures, *tracks; /* from numbers of the whole to those of the part that is made */
    size_t string_count, track_id_count, signature_count;
};

/** Finds the ranks. They take no memory where the trace is of one. Release @ranks after a failure too. */
AP_MUST_CHECK enum ap_status ap_trace_ranks_init(struct ap_trace_ranks *ranks, const struct ap_trace *trace,
                                                 struct ap_error *reterr);
void ap_trace_ranks_release(struct ap_trace_ranks *ranks);
/** The trace of the rank with this number, free it with ap_trace_free. What the file says of itself as a whole, such as a
 *  host or a list of groups, is of one rank or another and is left out. */
AP_MUST_CHECK enum ap_status ap_trace_of_rank(struct ap_trace_ranks *ranks, size_t number, struct ap_trace **ret_part,
                                              struct ap_error *reterr);

/** The number behind the word "rank" in the name of a process; -1 where there is none. */
int64_t ap_rank_in_name(struct ap_text name);
/** Notes that the process with this id is of a rank. */
AP_MUST_CHECK enum ap_status ap_trace_note_rank(struct ap_trace *trace, struct ap_text pid, int64_t rank,
                                                struct ap_error *reterr);

#endif
