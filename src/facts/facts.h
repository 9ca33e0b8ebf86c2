/* SPDX-License-Identifier: MIT
 * facts.h - what is true about a trace, found once: the parts of the report are written from it, and a question that is
 * asked later finds it here. Adds nothing to the report.
 *
 *     order ─┬─ tree ─┬─ links ──┬─ split, path
 *            ├─ steps ┴─ phases  │
 *     names ─┴─ self times ── main track
 *
 * To add a fact: its member and its name here, its line in the table of facts.c, its line in ap_facts_release. */
#ifndef AP_FACTS_H
#define AP_FACTS_H

#include "call_kind.h"
#include "critical_path.h"
#include "graph_runs.h"
#include "kernel_family.h"
#include "links.h"
#include "op_family.h"
#include "op_stats.h"
#include "phase.h"
#include "row_order.h"
#include "split.h"
#include "steps.h"

struct ap_facts {
    const struct ap_trace *trace;
    struct ap_gate *gate;
    int64_t window_ns; /* of all rows but the profiler's own span; -1 = no row is placed in time */
    struct ap_row_order order;
    struct ap_op_stats ops;
    struct ap_op_families op_families;
    struct ap_call_kinds calls;
    struct ap_kernel_families families;
    struct ap_host_tree tree;
    struct ap_links links;
    const struct ap_graph_mapping *mapping; /* the caller's; NULL = none was given */
    struct ap_graph_runs graphs;
    struct ap_steps steps;
    uint32_t main_track; /* the thread that drives the run: of the steps, else the busiest; AP_NO_ROW = no host rows */
    struct ap_phases phases;
    struct ap_split split;
    struct ap_time_bins *bins;          /* filled with the split; NULL = nobody wants them */
    struct ap_idle_pieces *idle_pieces; /* the caller's, likewise */
    struct ap_path_index path_index;    /* what the critical path and a replay ask of the trace; empty without a window */
    struct ap_critical_path path;
    bool keeps_path; /* its pieces are wanted behind the analysis, too, for tracks */
};

enum ap_fact {
    AP_FACT_order,
    AP_FACT_names, /* ops but for self and busy times; op_families, calls, families */
    AP_FACT_tree,
    AP_FACT_links,
    AP_FACT_graphs,
    AP_FACT_self_times, /* the rest of ops */
    AP_FACT_steps,
    AP_FACT_main_track,
    AP_FACT_phases,
    AP_FACT_split,
    AP_FACT_path_index,
    AP_FACT_path,
    AP_FACT_COUNT_
};

#define AP_FACT(name) (1u << AP_FACT_##name)
/** Sets of facts: all, and those that are found early. */
#define AP_FACTS_ALL ((1u << AP_FACT_COUNT_) - 1)
#define AP_FACTS_EARLY (AP_FACTS_ALL & ~AP_FACT(split) & ~AP_FACT(path_index) & ~AP_FACT(path))

/** How one is found. It reads the facts that it needs and fills its own member, so those that do not need each other may be
 *  found side by side. */
struct ap_fact_entry {
    enum ap_status (*find)(struct ap_facts *facts, struct ap_error *reterr);
    unsigned cost;  /* of a large trace, in ms for a million rows */
    unsigned needs; /* set of facts */
};

/** By enum ap_fact; a fact stands behind those that it needs. */
extern const struct ap_fact_entry ap_fact_entries[AP_FACT_COUNT_];

/** No fact is found yet. The trace is borrowed, and used up: what reading needed and analysis does not is given back.
 *  @with_bins: the split is wanted in bins of time as well. Release @facts after a failure too. */
AP_MUST_CHECK enum ap_status ap_facts_init(struct ap_facts *facts, struct ap_trace *trace, bool with_bins,
                                           struct ap_error *reterr);
/** Gives the pieces of the critical path back: behind the analysis only tracks go by them. */
void ap_facts_forget_path(struct ap_facts *facts);
/** Zeroed facts are fine. */
void ap_facts_release(struct ap_facts *facts);

#endif
