/* SPDX-License-Identifier: MIT
 * run_verdict.h - who the stragglers are, and why. What is small is no finding: a rank counts as late where it loses at
 * least 1 % of the step and 100 us in at least four steps of five, and where that is rare among the ranks of its role.
 * Who is late in fewer steps, or in one, is told where it is that much, three times over, in the mean of all steps. */
#ifndef AP_RUN_VERDICT_H
#define AP_RUN_VERDICT_H

#include "work_apart.h"

enum ap_late_kind {
#define AP_LATE(id, meaning) AP_LATE_##id,
#include "late_kind.def"
#undef AP_LATE
    AP_LATE_COUNT_
};

/** The id in late_kind.def, a key of the report; its words there. */
const char *ap_late_name(enum ap_late_kind kind);
const char *ap_late_meaning(enum ap_late_kind kind);

/** No rank, and no kind. */
#define AP_NO_RANK UINT32_MAX
#define AP_LATE_NONE AP_LATE_COUNT_

struct ap_late_group {
    uint32_t worst; /* the rank with the most lateness; AP_NO_RANK = there is none */
    size_t rank_count;
    int64_t late_ns;   /* of the worst, in a step of the middle; of kinds that move on: the latest of each step, likewise */
    int64_t waited_ns; /* of others, because of them */
    int64_t lost_ns;   /* that, and their own lateness, by which their own steps are longer, too */
    double share;      /* of the judged steps in which it is late */
    struct ap_work_apart apart; /* of the worst */
};

/** A group whose transfers take longer than those of its like. */
struct ap_slow_link {
    struct ap_str group; /* absent = there is none, or it is of two ranks: */
    bool is_pair;
    uint32_t ranks[2]; /* numbers in the view */
    uint8_t operation;
    int64_t bytes, dur_ns, usual_ns; /* of a transfer: the shortest duration, medians */
    int64_t excess_ns;               /* all of them together, each once */
    size_t like_count;               /* groups that are alike */
};

/** Is there one? */
static inline bool ap_has_slow_link(const struct ap_slow_link *link)
{
    return link->group.id || link->is_pair;
}

struct ap_run_verdict {
    struct ap_gate *gate;
    const struct ap_delays *delays;
    int64_t floor_ns;         /* lateness in a step that is no finding */
    size_t judged_steps;      /* without the first one, which began before the window */
    uint8_t *kinds;           /* by rank: enum ap_late_kind; AP_LATE_NONE = not late */
    int64_t *typical_late_ns; /* by rank: in a step of the middle; of who pauses now and then, in the mean of the steps */
    int64_t *caused_ns;       /* by rank: waiting of others because of it */
    struct ap_late_group late[AP_LATE_COUNT_];
    struct ap_slow_link link;   /* the worst */
    struct ap_slow_link *links; /* one of each group, the worst first */
    size_t link_count, link_capacity;
    size_t unexplained_count; /* ranks that are late without having done anything for it, and are not named */
    int64_t
        absent_ns; /* collectives went on so long after all that are given had come, in groups with ranks that are absent */
    uint64_t absent_count; /* such collectives */
    bool absent_is_late;   /* beyond the floor */
    uint32_t most_last;    /* the rank that came last most often; AP_NO_RANK = none */
};

/** Judges delays. Release @verdict after a failure too. */
AP_MUST_CHECK enum ap_status ap_run_verdict_init(struct ap_run_verdict *verdict, const struct ap_delays *delays,
                                                 struct ap_error *reterr);
void ap_run_verdict_release(struct ap_run_verdict *verdict);

#endif
