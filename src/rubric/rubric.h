/* SPDX-License-Identifier: MIT
 * rubric.h - the diagnosis: reads the rules of references/interpretation.md and applies them to a report's tree.
 * The document is for people and for this program alike; its first chapters define the language of its rules.
 * Knows the model and Markdown, nothing of traces or snapshots. */
#ifndef AP_RUBRIC_H
#define AP_RUBRIC_H

#include "mem.h"
#include "model_build.h"

/** Longest document that is read. libcmark takes its memory beside the gate, so what it sees is limited. */
#define AP_RUBRIC_MAX_BYTES ((size_t)1 << 20)
/** Longest line of a document. */
#define AP_RUBRIC_MAX_LINE_BYTES ((size_t)4096)

struct ap_rubric;

/** The document that was compiled in: references/interpretation.md. */
struct ap_text ap_rubric_builtin(void);

/** Read a document. A mistake in it is AP_ERROR_USAGE with "NAME:LINE: what is wrong and what was expected" in
 *  reterr->message; @text is not needed afterwards. */
AP_MUST_CHECK enum ap_status ap_rubric_parse(struct ap_gate *gate, const char *text, size_t bytes,
                                             const char *name_for_errors, struct ap_rubric **ret_rubric,
                                             struct ap_error *reterr);
/** The rules of ap_rubric_builtin(): what ap_rubric_parse makes of it, without reading it. */
AP_MUST_CHECK enum ap_status ap_rubric_read_builtin(struct ap_gate *gate, struct ap_rubric **ret_rubric,
                                                    struct ap_error *reterr);
/** NULL is fine. */
void ap_rubric_free(struct ap_rubric *rubric);

/** Rules, whether they can be judged or not. */
size_t ap_rubric_rule_count(const struct ap_rubric *rubric);

/** What a change, as rules write it, gains of a step and of the whole window by a replay; below 0 where they would be
 *  longer. *ret_known: false where that is not predicted. */
typedef enum ap_status ap_gain_fn(void *context, struct ap_text change, bool *ret_known, double *ret_step_ratio,
                                  int64_t *ret_window_ns, struct ap_error *reterr);

/** How much of the rows that a change, as rules write it, is about a phase launched. *ret_known: false where it is about
 *  others than rows of devices, or none. */
typedef enum ap_status ap_phase_share_fn(void *context, struct ap_text change, struct ap_text phase, bool *ret_known,
                                         double *ret_ratio, struct ap_error *reterr);

/** What a user asked the judgment to be about. {0} = everything. */
struct ap_judge_options {
    const char *focus; /* a domain: cpu, gpu, memory, io; findings of it and those on the quality of the recording */
    const char *phase; /* a part of the step: findings about it, and those about no part in particular */
    bool compared;     /* the rules about what changed since a baseline, alone: "comparison" is in the tree by now */
    struct ap_text more_options; /* of the command that verifies a change: begins with a space, quoted for a shell */
    ap_gain_fn *gain;            /* NULL = nothing is predicted, and findings rank by their bounds alone */
    void *gain_context;
    ap_phase_share_fn *phase_share; /* NULL = not known */
    void *phase_context;
};

/** Domains that a user can name; "quality" is none of them. */
bool ap_is_focus(struct ap_text name);
/** Names of phases that rules can be about. */
bool ap_is_phase(struct ap_text name);
/** "forward, backward, ...", for messages. */
const char *ap_rubric_phase_names(void);

/** Judge the tree and append the lists "findings", in order of rank, and "not_evaluated", in document order, to its
 *  root. Both are empty lists where there is nothing to say. "findings_left_out" is the number of findings that the
 *  options keep out. @options may be NULL. Of rules about what changed the findings stand before the others. */
AP_MUST_CHECK enum ap_status ap_rubric_apply(const struct ap_rubric *rubric, const struct ap_judge_options *options,
                                             struct ap_model *model, struct ap_error *reterr);

/* ---- rule_explain.c: what the rules are, for people who ask ---- */

/** Append an object for each rule to @list: id, title, severity, confidence, domain, bottleneck, hardware, when. */
AP_MUST_CHECK enum ap_status ap_rubric_list(const struct ap_rubric *rubric, struct ap_model *model, struct ap_value *list,
                                            struct ap_error *reterr);
/** Append to @to all that the rule tells: the same, inputs with their thresholds (and values, where @root is not NULL), what
 * would explain it away, an example, and its text as the document has it. AP_END where there is no such rule. */
AP_MUST_CHECK enum ap_status ap_rubric_explain(const struct ap_rubric *rubric, struct ap_text id,
                                               const struct ap_value *root, struct ap_model *model, struct ap_value *to,
                                               struct ap_error *reterr);
/** Append the ids of the rules whose condition names the figure to @list. */
void ap_rubric_add_users(const struct ap_rubric *rubric, struct ap_text figure, struct ap_model *model,
                         struct ap_value *list);

#endif
