/* SPDX-License-Identifier: MIT
 * passes.h - inside the analyze stage: what the passes share. To add one: a function of type ap_pass in a file
 * pass_<name>.c, its entry in analyze.c, its figures in metrics.def. */
#ifndef AP_PASSES_H
#define AP_PASSES_H

#include <stdatomic.h>

#include "analyze.h"
#include "critical_path.h"
#include "kernel_family.h"
#include "links.h"
#include "op_family.h"
#include "op_stats.h"
#include "phase.h"
#include "row_order.h"
#include "split.h"
#include "steps.h"

struct ap_pass_context {
    const struct ap_trace *trace;
    const struct ap_analyze_options *options;
    struct ap_notes *notes;
    struct ap_gate *gate;
    struct ap_row_order order;
    struct ap_host_tree tree;
    struct ap_links links;
    struct ap_kernel_families families;
    struct ap_op_stats ops;
    struct ap_critical_path critical_path; /* filled by pass_critical_path */
    struct ap_op_families op_families;
    struct ap_phases phases;
    int64_t window_ns;        /* of all rows but the profiler's own span; -1 = no row is placed in time */
    struct ap_steps steps;    /* found before the passes */
    uint64_t step_count;      /* steps.count */
    uint32_t main_track;      /* the thread that drives the run: of the steps, else the busiest; AP_NO_ROW = no host rows */
    struct ap_split split;
    _Atomic bool overflowed;  /* a sum went beyond the ends of int64 */
};

/** Adds its part to the root. */
typedef enum ap_status ap_pass(struct ap_pass_context *context, struct ap_model *model, struct ap_value *parent,
                               struct ap_error *reterr);

ap_pass ap_pass_ops;      /* cpu.summary, top_ops, operators, operator_summary, families */
ap_pass ap_pass_threads;  /* cpu.top_threads, threads, thread_summary */
ap_pass ap_pass_signals;  /* cpu.signals */
ap_pass ap_pass_document; /* trace */
ap_pass ap_pass_steps;    /* steps */
ap_pass ap_pass_split;    /* split, idle */
ap_pass ap_pass_data_loading;
ap_pass ap_pass_verdict;  /* verdict, symptoms: reads what the passes before it added */
ap_pass ap_pass_gpu;      /* gpu */
ap_pass ap_pass_critical_path; /* critical_path */
ap_pass ap_pass_communication; /* communication */
ap_pass ap_pass_compile;  /* compile */
ap_pass ap_pass_accelerator; /* accelerator */

static inline void ap_note_overflow(struct ap_pass_context *context, bool overflowed)
{
    if (overflowed)
        context->overflowed = true;
}

/** What verdict and rules go by: the steady steps, where they are at least half of the window, else the window. */
const struct ap_split_part *ap_split_judged(const struct ap_split *split);
ap_pass ap_pass_launches; /* links, launches */
ap_pass ap_pass_runtime;  /* runtime */
ap_pass ap_pass_syncs;    /* sync */
ap_pass ap_pass_copies;   /* copies */
ap_pass ap_pass_phases;   /* phases */
ap_pass ap_pass_host_work; /* operators, modules, frames, autograd, drilldown */

static inline struct ap_text ap_row_name(const struct ap_trace *trace, uint32_t row)
{
    return ap_strpool_text(&trace->strings, (struct ap_str){ trace->events.name[row] });
}

/** Where the row stands, so that it can be found in a viewer: start_us as written in the file, dur_us, pid, tid. */
void ap_add_place(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *to);
/** pid and tid of a track. */
void ap_add_track(const struct ap_trace *trace, uint32_t track, struct ap_model *model, struct ap_value *to);

/** How the durations of some names are spread, found for all of them in one go over the rows. */
struct ap_name_spreads {
    struct ap_gate *gate;
    size_t count, capacity;
    struct ap_name_spread {
        uint32_t name;
        int64_t min_ns, max_ns, p50_ns, p99_ns;
    } *spreads; /* by name id */
};

/** @names: row name ids, in any order, also twice; rows are chosen by (tag & mask) == wanted. */
AP_MUST_CHECK enum ap_status ap_name_spreads_init(struct ap_name_spreads *spreads, const struct ap_trace *trace,
                                                  struct ap_gate *gate, const uint32_t *names, size_t name_count,
                                                  uint8_t mask, uint8_t wanted, struct ap_error *reterr);
void ap_name_spreads_release(struct ap_name_spreads *spreads);
/** That of a name which was among those given. */
const struct ap_name_spread *ap_name_spreads_find(const struct ap_name_spreads *spreads, uint32_t name);
/** Adds max_dur_us (0 at least, as the original script starts there), min_dur_us, p50_us and p99_us of the name to @row. */
void ap_name_spreads_add(const struct ap_name_spreads *spreads, uint32_t name, struct ap_model *model,
                         struct ap_value *row);

/** total / count, rounded to whole ns, half away from zero; 0 for no rows. */
int64_t ap_mean_ns(int64_t total_ns, uint64_t count);

#endif
