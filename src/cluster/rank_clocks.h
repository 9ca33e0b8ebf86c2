/* SPDX-License-Identifier: MIT
 * rank_clocks.h - how far the clocks of the hosts are apart: one offset for each host, from the ends of collectives that
 * nobody
 * leaves before all have come. Medians for pairs of hosts, then weighted least squares over the graph of pairs; alternating
 * medians stall where groups lie inside one host. Where the window is long, a line is fitted for each pair, and likewise
 * solved for how much faster each clock runs. A rank whose host is not known counts as a host of its own. */
#ifndef AP_RANK_CLOCKS_H
#define AP_RANK_CLOCKS_H

#include "rank_matching.h"

struct ap_clock {
    struct ap_str host; /* absent = of one rank */
    uint32_t rank;      /* the first rank with this clock, by number in the view */
    uint32_t rank_count;
    uint32_t component; /* clocks of different components share no collective: nothing is known between them */
    int64_t offset_ns;  /* what it shows beyond the clock of the component's first one, in the middle of the window */
    int64_t error_ns;   /* how far that may be wrong; the first one has none */
    bool has_drift;     /* the window is long enough to tell: */
    double drift_ratio; /* how much faster it runs than the component's first one; 0 where that is not beyond its error */
    double drift_error_ratio;
};

struct ap_clocks {
    struct ap_gate *gate;
    const struct ap_matching *matching;
    struct ap_clock *clocks; /* by their first rank */
    size_t count;
    uint32_t *of_rank; /* by number in the view */
    size_t component_count;
    size_t pair_count;          /* of hosts that were compared */
    int64_t middle_ns, half_ns; /* of the window, and half of its length */
};

/** Finds the offsets. Release @clocks after a failure too. */
AP_MUST_CHECK enum ap_status ap_clocks_init(struct ap_clocks *clocks, const struct ap_matching *matching,
                                            struct ap_error *reterr);
void ap_clocks_release(struct ap_clocks *clocks);

/** An instant of a rank by the clock of its component's first host. @rank: number in the view. */
int64_t ap_clocks_common_ns(const struct ap_clocks *clocks, uint32_t rank, int64_t at_ns);
/** How far the difference of two such instants may be wrong; -1 = nothing is known between the clocks of these ranks. */
int64_t ap_clocks_error_ns(const struct ap_clocks *clocks, uint32_t rank, uint32_t other);

#endif
