/* SPDX-License-Identifier: MIT
 * sections.h - what the report says, in which order: each section in a file of its topic. They know the model and no
 * markup. */
#ifndef AP_SECTIONS_H
#define AP_SECTIONS_H

#include "document.h"
#include "finding_level.h"

/** All that stands behind the findings, how to read it last. */
void ap_all_sections(struct doc *doc);

/* ---- what the back ends place themselves ---- */

/** What makes figures doubtful: a cut or broken input, errors among the warnings. */
void ap_part_alerts(struct doc *doc);
/** A paragraph for the verdict: how much was in use at the peak, for what, and who holds most. */
void ap_part_memory_bound(struct doc *doc);
/** Sections that are more than rows of data. */
void ap_section_verdict(struct doc *doc);
void ap_section_conditions(struct doc *doc);
void ap_section_comparison(struct doc *doc);
void ap_section_series(struct doc *doc);
void ap_section_findings(struct doc *doc);

/* ---- the others, in the order of section_list.c: data where that suffices ---- */

extern const struct doc_section ap_section_cluster, ap_section_cluster_memory, ap_section_hang, ap_section_summary,
    ap_section_split, ap_section_steps, ap_section_data_loading, ap_section_critical_path, ap_section_operators,
    ap_section_compute, ap_section_engine, ap_section_replay, ap_section_cpu, ap_section_gpu, ap_section_launches,
    ap_section_syncs, ap_section_copies, ap_section_communication, ap_section_accelerator, ap_section_trace_memory,
    ap_section_memory, ap_section_joined, ap_section_input, ap_section_warnings, ap_section_onnxruntime, ap_section_tensorrt,
    ap_section_compile_log, ap_section_host_alone;
/** Sections of this list that are more than rows of data. */
void ap_section_compile(struct doc *doc);
void ap_section_prediction(struct doc *doc);
void ap_section_not_evaluated(struct doc *doc);
void ap_section_capture(struct doc *doc);

/* ---- what sections share ---- */

/** Owners, within the memory section. */
void ap_part_memory_owners(struct doc *doc);
/** "Critical", or "low". */
void ap_part_level(struct doc *doc, struct ap_text level, bool capital);
/** @before and "1.03 s and 20 MiB"; nothing where that is not known, or nothing. */
void ap_part_savings(struct doc *doc, const struct ap_value *finding, const char *before);

#endif
