/* SPDX-License-Identifier: MIT
 * part.h - what a part of the report is, and what all parts are handed. A part writes its key of the report from the facts
 * about the trace; parts never see each other. To add one: a function of type ap_part in parts/TOPIC/part_NAME.c, declared
 * here, its line in the table of analyze.c. */
#ifndef AP_PART_H
#define AP_PART_H

#include "facts.h"
#include "model_build.h"

struct ap_gpu_peaks;   /* known to the room of compute */
struct ap_memory_join; /* known to the room that joins a trace and a snapshot */

struct ap_part_options {
    const char *path;    /* stands in the report as it is */
    uint64_t top_n;      /* bound of lists; 0 = all */
    uint64_t bytes_read; /* of the decompressed input */
    bool compressed;
    const char *phase;                 /* what the report is to be about: one of the names of phases, or NULL for all */
    const struct ap_gpu_peaks *peaks;  /* what GPUs can do; NULL = as the built-in table says */
    const struct ap_memory_join *join; /* of the snapshot of the same run; NULL = none was given */
};

struct ap_part_context {
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    const struct ap_part_options *options;
    struct ap_notes *notes;
    struct ap_gate *gate;
    bool overflowed; /* a sum went beyond the ends of int64 */
};

/** Adds its part to @parent. */
typedef enum ap_status ap_part(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                               struct ap_error *reterr);

/* By file part_<name>.c, and what each adds. */
ap_part ap_part_accelerator;   /* accelerator */
ap_part ap_part_communication; /* communication */
ap_part ap_part_compile;       /* compile */
ap_part ap_part_compute;       /* compute */
ap_part ap_part_copies;        /* copies */
ap_part ap_part_cpu;           /* cpu */
ap_part ap_part_critical_path; /* critical_path */
ap_part ap_part_data_loading;  /* data_loading */
ap_part ap_part_document;      /* trace */
ap_part ap_part_engine;        /* engine */
ap_part ap_part_gpu;           /* gpu */
ap_part ap_part_host_work;     /* operators, modules, frames, autograd, drilldown, habits */
ap_part ap_part_joined;        /* joined */
ap_part ap_part_launches;      /* links, launches */
ap_part ap_part_phases;        /* phases */
ap_part ap_part_pictures;      /* pictures: after all others that it draws */
ap_part ap_part_replay;        /* graphs, repeats */
ap_part ap_part_runtime;       /* runtime */
ap_part ap_part_split;         /* split, idle */
ap_part ap_part_steps;         /* steps */
ap_part ap_part_syncs;         /* sync */
ap_part ap_part_trace_memory;  /* trace_memory */
ap_part ap_part_verdict;       /* verdict, symptoms: reads what the parts before it added */

static inline void ap_note_overflow(struct ap_part_context *context, bool overflowed)
{
    if (overflowed)
        context->overflowed = true;
}

/** The text of an id of trace->strings; null for id 0. */
static inline void ap_add_name(const struct ap_trace *trace, struct ap_model *model, struct ap_value *to, const char *key,
                               uint32_t id)
{
    ap_add_known_text(model, to, key, id, ap_trace_text(trace, id));
}

/** The texts of up to @count ids of trace->strings, up to an id 0: "aten::index, aten::sum"; null for none. */
void ap_add_names(const struct ap_trace *trace, struct ap_model *model, struct ap_value *to, const char *key,
                  const uint32_t *ids, size_t count);

/** Where the row stands, so that it can be found in a viewer: start_us as written in the file, dur_us, pid, tid. */
void ap_add_place(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *to);
/** pid and tid of a track; both null for AP_NO_ROW. */
void ap_add_track(const struct ap_trace *trace, uint32_t track, struct ap_model *model, struct ap_value *to);

#endif
