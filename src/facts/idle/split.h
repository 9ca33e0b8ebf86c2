/* SPDX-License-Identifier: MIT
 * split.h - where the time of the run goes, exclusively: each instant of a step, and of the whole window, belongs to one
 * of compute, memset, communication, memcpy (the first of them that is running) or is idle; each idle instant has one
 * cause. Without GPU rows the same causes divide the host's time. */
#ifndef AP_SPLIT_H
#define AP_SPLIT_H

#include "captures.h"
#include "host_state.h"
#include "kernel_family.h"
#include "links.h"
#include "off_core.h"
#include "steps.h"
#include "stretches.h"
#include "time_bins.h"

enum ap_split_class { AP_SPLIT_compute, AP_SPLIT_memset, AP_SPLIT_communication, AP_SPLIT_memcpy, AP_SPLIT_CLASS_COUNT_ };

struct ap_split_part {
    int64_t dur_ns;
    int64_t class_ns[AP_SPLIT_CLASS_COUNT_];
    int64_t cause_ns[AP_IDLE_CAUSE_COUNT_]; /* sum to dur_ns less the classes */
    int64_t recurring_call_ns;       /* of driver calls: what each step has again, or each part of a window without steps */
    int64_t recurring_allocation_ns; /* likewise of taking memory from the driver and giving it back */
    int64_t recording_ns;            /* of what the host did by itself, and of launches, what recording cost: an estimate */
    int64_t off_core_ns;             /* of that, in which the thread did not run */
    int64_t uneven_ns;               /* of the rest of that, what only some of the steps have that have the same rows */
};

/** Of the longest gaps in the window. */
struct ap_gap_detail {
    int64_t start_ns, end_ns;
    uint32_t track; /* the thread that made the call; the main thread where it is not known */
    uint32_t next;  /* the row of work that ended it; AP_NO_ROW = none */
    int64_t cause_ns[AP_IDLE_CAUSE_COUNT_];
    uint32_t host_row[AP_IDLE_CAUSE_COUNT_];   /* by cause, a row of the name that the host was in for most of it;
                                                * AP_NO_ROW = nothing recorded */
    int64_t host_row_ns[AP_IDLE_CAUSE_COUNT_]; /* all rows of that name; of a wait, how long it blocked */
};

/** What the host was in for AP_NAMED_NS or more of one of these gaps. */
struct ap_gap_name {
    uint32_t detail, row; /* which gap; a row of the name */
    int64_t dur_ns;       /* all rows of that name */
};
#define AP_NAMED_NS 100000

/** Of the gaps in the window that are longer than some time. */
struct ap_gap_sum {
    uint64_t count;
    int64_t dur_ns;
};
enum { AP_GAPS_ALL, AP_GAPS_OVER_10_US, AP_GAPS_OVER_100_US, AP_GAPS_OVER_1_MS, AP_GAPS_COUNT_ };

/** A part of a gap, and what it is due to. */
struct ap_idle_piece {
    int64_t start_ns, end_ns;
    uint32_t row; /* what the host did; AP_NO_ROW = nothing recorded */
    uint8_t cause;
    uint8_t host; /* what the host did by itself: behind a wait the device has run dry, and the host may be elsewhere */
};

/** All of them, in no order; for who wants to divide the time between moments of its own. */
struct ap_idle_pieces {
    struct ap_gate *gate;
    struct ap_idle_piece *list;
    size_t count, capacity;
    bool is_short; /* of memory: not all are there */
};

struct ap_split {
    struct ap_gate *gate;
    bool has_gpu;
    bool knows_recording;     /* the rows tell what recording costs, if it was PyTorch's profiler */
    int64_t start_ns, end_ns; /* of the window: first start to last end of GPU rows, else of all rows */
    struct ap_off_core off_core;
    struct ap_captures captures;
    struct ap_split_part window;
    struct ap_split_part *steps; /* one for each of ap_steps */
    size_t step_count;
    struct ap_split_part steady; /* sum over the steady steps */
    size_t steady_count;
    int64_t between_ns; /* time between a steady step and the next one, where that is steady too */
    struct ap_gap_sum gap_sums[AP_GAPS_COUNT_];
    struct ap_gap_detail *details; /* longest gap first */
    size_t detail_count;
    struct ap_gap_name *named; /* of those in which it was in Python between operators, by gap in the order of time */
    size_t named_count;
    struct ap_stretches of_cause[AP_IDLE_CAUSE_COUNT_]; /* the gaps of devices, by cause; of a run without: none */
    struct ap_time_bins *bins;                          /* the caller's; NULL = nobody wants them */
    struct ap_idle_pieces *pieces;                      /* likewise */
};

/** @main_track: the thread that drives the run; AP_NO_ROW where the trace has no host rows. @bins: filled where not NULL,
 *  from the first to the last end of the window and the steps. @pieces, likewise, gets the parts of all gaps. */
AP_MUST_CHECK enum ap_status ap_split_init(struct ap_split *split, const struct ap_trace *trace,
                                           const struct ap_row_order *order, const struct ap_host_tree *tree,
                                           const struct ap_links *links, const struct ap_steps *steps,
                                           const struct ap_kernel_families *families, uint32_t main_track,
                                           struct ap_time_bins *bins, struct ap_idle_pieces *pieces, struct ap_gate *gate,
                                           struct ap_error *reterr);
void ap_split_release(struct ap_split *split);

/** Much of the time lies between the steady steps: they are not all that the loop does. */
bool ap_split_leaves_out(const struct ap_split *split);
/** What verdict and rules go by: the steady steps, where they are at least half of the window and follow one another without
 *  much time between them, else the window. */
const struct ap_split_part *ap_split_judged(const struct ap_split *split);
/** Time in which none of the classes of GPU work ran. */
int64_t ap_split_idle_ns(const struct ap_split_part *part);
/** The cause with the most time in it; the first of equals. */
enum ap_idle_cause ap_split_top_cause(const int64_t *cause_ns);

#endif
