/* SPDX-License-Identifier: MIT
 * report_state.h - what a report is made of; for report_api.c and questions.c. */
#ifndef AP_REPORT_STATE_H
#define AP_REPORT_STATE_H

#include "analyze.h"
#include "condition.h"
#include "model_build.h"
#include "overlay.h"
#include "text_file.h"
#include "peak_stacks.h"
#include "query.h"
#include "rank_set.h"
#include "run_files.h"
#include "series.h"
#include "snapshot.h"
#include "trace.h"
#include "trace_copy.h"

struct ap_report {
    struct ap_gate gate;
    struct ap_model model;
    struct ap_notes trace_notes, memory_notes, hang_notes, profile_notes;
    struct ap_overlay overlay;
    bool has_overlay, strict, redact;
    const char *trace_path; /* that was analyzed; of the request, or of run_files */
    bool is_run;            /* of many ranks: */
    bool has_profiles;      /* of another profiler, among run_files */
    struct ap_run_files run_files;
    struct ap_rank_set rank_set;
    struct ap_copy_slice window; /* of the trace */
    struct ap_conditions conditions;
    struct ap_series series;
    struct ap_snapshot *snapshot; /* kept for the folded stacks and for questions */
    bool has_peak_stacks;
    struct ap_peak_stacks peak_stacks;
    bool keeps_rows;
    enum ap_words words;    /* of answers */
    struct ap_trace *trace; /* this and the facts about it are kept for questions alone */
    struct ap_facts facts;
    struct ap_graph_mapping mapping; /* of the graphs in the trace */
    struct ap_peaks_file peaks;
    struct ap_query query;
};

#endif
