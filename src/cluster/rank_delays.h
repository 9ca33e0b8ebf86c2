/* SPDX-License-Identifier: MIT
 * rank_delays.h - who came late, who waited, and whose delay it was in the end. From durations, and so without clocks;
 * where only a root is waited for, clocks tell which one it was. */
#ifndef AP_RANK_DELAYS_H
#define AP_RANK_DELAYS_H

#include "rank_clocks.h"

/** Lines before late collectives that are kept of a rank. */
#define AP_LATE_FRAMES 4

/** Of one rank, over the steps that are compared. */
struct ap_rank_delay {
    int64_t late_ns;      /* its own lateness: beyond what it had waited for others */
    int64_t inherited_ns; /* lateness that came from ranks that it had waited for */
    int64_t before_ns;    /* lateness that it brought into its first collective: from before the window, or of its start */
    int64_t
        transfer_ns;   /* of late_ns: not explained by what it did, the collective before took longer than that of others */
    int64_t waited_ns; /* for others, as far as nothing else hid it */
    int64_t caused_ns; /* waiting of others that it is the root of */
    int64_t cause_ns[AP_SPENT_COUNT_];    /* late_ns by what it did more of than others */
    uint32_t last_count, matched_count;   /* collectives in which it came last; all of them */
    uint32_t awaited_count, rooted_count; /* of those with a root: in which the others waited for it; all of them */
    struct ap_late_frame {
        struct ap_str frame; /* what the host did longest before a collective */
        int64_t late_ns;     /* own lateness in those, less that in others since the list was full */
    } frames[AP_LATE_FRAMES];
};

struct ap_delays {
    struct ap_gate *gate;
    const struct ap_matching *matching;
    const struct ap_clocks *clocks;
    size_t rank_count, step_count;
    struct ap_rank_delay *ranks; /* by number in the view */
    int64_t *late_ns;            /* by step, then rank: own lateness */
    uint32_t *role;              /* by rank: ranks of one role do the same */
    uint32_t *order;             /* matches, in an order in which those of each rank come as they came */
    int64_t *last_rank;          /* by match: number in the view of who came last; -1 = not judged */
    int64_t waited_ns;           /* all ranks */
    uint64_t judged_count;       /* matches whose waiting was found */
    bool by_time;                /* ranks began collectives in different orders: the rest was ordered by time */
};

/* Inside the room: a part of ap_delays_init(), in own_delays.c. */

/** Takes from the lateness of ranks, step by step, what is not their own but comes with their role. */
AP_MUST_CHECK enum ap_status ap_own_delays_find(struct ap_delays *delays, struct ap_error *reterr);

/** Finds the delays of what was matched. Release @delays after a failure too. */
AP_MUST_CHECK enum ap_status ap_delays_init(struct ap_delays *delays, const struct ap_matching *matching,
                                            const struct ap_clocks *clocks, struct ap_error *reterr);
void ap_delays_release(struct ap_delays *delays);

/** Is it the one that others of its group wait for by the program's design, such as who reads the batch for all? */
static inline bool ap_delay_is_root(const struct ap_rank_delay *delay)
{
    return delay->awaited_count > delay->rooted_count / 2;
}

/** The line that stands before most of its lateness; absent = none was recorded. */
static inline struct ap_str ap_delay_frame(const struct ap_rank_delay *delay)
{
    size_t most = 0;
    for (size_t i = 1; i < AP_LATE_FRAMES; i++)
        most = delay->frames[i].late_ns > delay->frames[most].late_ns ? i : most;
    return delay->frames[most].frame;
}

/** Own lateness of a rank in the step with this number, from view->first_step on. */
static inline int64_t ap_delay_in_step(const struct ap_delays *delays, size_t step, size_t rank)
{
    return delays->late_ns[step * delays->rank_count + rank];
}

#endif
