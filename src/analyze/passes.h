/* SPDX-License-Identifier: MIT
 * passes.h - inside the analyze stage: what the passes share. To add one: a function of type ap_pass in a file
 * pass_<name>.c, its entry in analyze.c, its figures in metrics.def. */
#ifndef AP_PASSES_H
#define AP_PASSES_H

#include <stdatomic.h>

#include "analyze.h"
#include "call_kind.h"
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
    struct ap_call_kinds calls;
    struct ap_phases phases;
    int64_t window_ns;        /* of all rows but the profiler's own span; -1 = no row is placed in time */
    struct ap_steps steps;    /* found before the passes */
    uint64_t step_count;      /* steps.count */
    uint32_t main_track;      /* the thread that drives the run: of the steps, else the busiest; AP_NO_ROW = no host rows */
    struct ap_split split;
    struct ap_time_bins *bins; /* filled with the split; NULL = no pictures are wanted */
    _Atomic bool overflowed;  /* a sum went beyond the ends of int64 */
};

/** Adds its part to the root. */
typedef enum ap_status ap_pass(struct ap_pass_context *context, struct ap_model *model, struct ap_value *parent,
                               struct ap_error *reterr);

/* By file pass_<name>.c, and what each adds. */
ap_pass ap_pass_accelerator;   /* accelerator */
ap_pass ap_pass_communication; /* communication */
ap_pass ap_pass_compile;       /* compile */
ap_pass ap_pass_copies;        /* copies */
ap_pass ap_pass_critical_path; /* critical_path */
ap_pass ap_pass_data_loading;  /* data_loading */
ap_pass ap_pass_document;      /* trace */
ap_pass ap_pass_gpu;           /* gpu */
ap_pass ap_pass_host_work;     /* operators, modules, frames, autograd, drilldown */
ap_pass ap_pass_joined;        /* joined */
ap_pass ap_pass_launches;      /* links, launches */
ap_pass ap_pass_ops;           /* cpu.summary, top_ops, operators, operator_summary, families */
ap_pass ap_pass_phases;        /* phases */
ap_pass ap_pass_pictures;      /* pictures: after all others that it draws */
ap_pass ap_pass_runtime;       /* runtime */
ap_pass ap_pass_signals;       /* cpu.signals */
ap_pass ap_pass_split;         /* split, idle */
ap_pass ap_pass_steps;         /* steps */
ap_pass ap_pass_syncs;         /* sync */
ap_pass ap_pass_threads;       /* cpu.top_threads, threads, thread_summary */
ap_pass ap_pass_trace_memory;  /* trace_memory */
ap_pass ap_pass_verdict;       /* verdict, symptoms: reads what the passes before it added */

static inline void ap_note_overflow(struct ap_pass_context *context, bool overflowed)
{
    if (overflowed)
        context->overflowed = true;
}

/** The text of an id of trace->strings; null for id 0. */
static inline void ap_add_name(const struct ap_trace *trace, struct ap_model *model, struct ap_value *to,
                               const char *key, uint32_t id)
{
    ap_add_known_text(model, to, key, id, ap_trace_text(trace, id));
}

/** Where the row stands, so that it can be found in a viewer: start_us as written in the file, dur_us, pid, tid. */
void ap_add_place(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *to);
/** pid and tid of a track; both null for AP_NO_ROW. */
void ap_add_track(const struct ap_trace *trace, uint32_t track, struct ap_model *model, struct ap_value *to);

#endif
