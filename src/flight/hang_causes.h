/* SPDX-License-Identifier: MIT
 * hang_causes.h - what the dumps of a run come to: causes, what is surest first. */
#ifndef AP_HANG_CAUSES_H
#define AP_HANG_CAUSES_H

#include "flight_mismatch.h"
#include "flight_timing.h"
#include "flight_waits.h"
#include "severity.h"

enum ap_hang {
#define AP_HANG(id, key, counted, what, action) AP_HANG_##id,
#include "hang_verdict.def"
#undef AP_HANG
    AP_HANG_COUNT_
};

struct ap_hang_info {
    const char *id, *what, *action;
};
extern const struct ap_hang_info ap_hang_infos[AP_HANG_COUNT_];

struct ap_hang_cause {
    enum ap_hang verdict;
    enum ap_confidence confidence;
    uint32_t group;              /* AP_FLIGHT_NONE = of no single one */
    int64_t sequence;            /* -1 = of none */
    uint32_t entry, other_entry; /* what is called there; of a mismatch, what the odd rank called. AP_FLIGHT_NONE = none */
    uint32_t first_rank, rank_count; /* who is concerned: of causes->ranks */
    uint32_t waiting_count;          /* how many wait in the group */
    bool names_all;                  /* no majority tells who of them is the odd one */
    bool is_older;                   /* of dump_skew: the dumps of these ranks were written before others went on */
    bool may_run;                    /* a dump was written so soon after its last call that the job may still have run */
    uint8_t alike;                   /* of group_order: enum ap_alike of the group by which the ranks are the odd ones */
    bool may_lack_members;           /* the dumps do not tell who is in the group, and have more ranks than called in it */
};

/** All that was found in the dumps of a run. */
struct ap_flight_findings {
    const struct ap_flight *flight;
    const struct ap_flight_groups *groups;
    const struct ap_flight_mismatches *mismatches;
    const struct ap_flight_pairs *pairs;
    const struct ap_flight_waits *waits;
    const struct ap_flight_timing *timing;
};

struct ap_hang_causes {
    struct ap_gate *gate;
    struct ap_hang_cause *list;
    uint32_t *ranks; /* numbers of ranks, ascending within a cause */
    uint32_t count, rank_count;
    size_t capacity, rank_capacity;
    uint64_t counts[AP_HANG_COUNT_]; /* of ranks where it is about ranks, else of places */
};

/** @causes may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_hang_causes_init(struct ap_hang_causes *causes, const struct ap_flight_findings *findings,
                                                 struct ap_error *reterr);
void ap_hang_causes_release(struct ap_hang_causes *causes);

#endif
