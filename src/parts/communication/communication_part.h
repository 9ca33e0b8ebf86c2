/* SPDX-License-Identifier: MIT
 * communication_part.h - inside the part "communication": collectives by kind, as they are listed, and by process group. */
#ifndef AP_COMMUNICATION_PART_H
#define AP_COMMUNICATION_PART_H

#include "collective_rows.h"
#include "part.h"

/** Collectives of one kind, as it is listed: those that differ in what is not shown are one. */
struct ap_listed_kind {
    const struct ap_collective_kind *is; /* that of its first row */
    size_t place, count;                 /* of its durations */
    int64_t total_ns, min_ns, max_ns, p50_ns, exposed_ns, overlap_ns;
    int64_t fair_ns;  /* how long one of them takes at most where nothing holds it up; -1 = nothing tells */
    int64_t slow_ns;  /* what those of at least twice that take beyond it */
    uint32_t slowest; /* index into the rows */
};

/** All collectives of a process group. */
struct ap_listed_group {
    const struct ap_collective *told; /* by its first collective */
    int64_t count, total_ns;
};

struct ap_communication {
    const struct ap_trace *trace;
    struct ap_gate *gate;
    struct ap_collective_rows collectives;
    uint32_t *numbers; /* by id of a row's kind, less 1: the group, later the kind as it is listed */
    int64_t *scratch;  /* durations by kind, later bytes of all-reduces */
    struct ap_listed_kind *kinds;
    size_t kind_count, kind_capacity;
    struct ap_listed_group *groups;
    size_t group_count, group_capacity;
    bool overflowed;
};

static inline const struct ap_collective_kind *ap_kind_at(const struct ap_communication *report, size_t index)
{
    return ap_collective_kind(&report->collectives, &report->collectives.rows[index]);
}

static inline const struct ap_collective *ap_told_of(const struct ap_communication *report,
                                                     const struct ap_collective_kind *kind)
{
    return ap_trace_collective_of(report->trace, kind->what);
}

static inline int64_t ap_collective_dur_ns(const struct ap_communication *report, size_t index)
{
    return report->trace->events.dur_ns[report->collectives.rows[index].row];
}

/** 0 where they are alike in all but their size. */
int ap_compare_siblings(const struct ap_communication *report, const struct ap_collective_kind *x,
                        const struct ap_collective_kind *y);
/** Finds kinds and groups of its collectives. */
AP_MUST_CHECK enum ap_status ap_communication_sort_out(struct ap_communication *report, struct ap_error *reterr);
void ap_communication_release(struct ap_communication *report);

#endif
