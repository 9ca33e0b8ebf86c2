/* SPDX-License-Identifier: MIT
 * rule_judge.h - rules that hold in a run, on their way to findings. Private to src/rubric. */
#ifndef AP_RULE_JUDGE_H
#define AP_RULE_JUDGE_H

#include "rule.h"

/** A rule that holds. */
struct ap_fired {
    const struct ap_rule *rule;
    int severity, confidence;
    bool has_saving;
    int64_t saving;  /* ns or bytes */
    int64_t told;    /* that, or what a replay gains where it is more */
    double share;    /* of the trace window or of the reserved bytes; negative = not known */
    double weight;   /* what it is ranked by */
    double in_phase; /* how much of what it is about the phase has that the report is about; negative = not known */
    bool hidden;
};

/** One run of all rules over a report. */
struct ap_judge {
    const struct ap_rubric *rubric;
    const struct ap_judge_options *options;
    struct ap_model *model;
    const struct ap_value *root;
    struct ap_text_buffer text;
    struct ap_fired *fired;
    size_t fired_count, fired_capacity, left_out_count;
    struct ap_value *not_evaluated;
    unsigned families;    /* of the report, of rules that are about something else than a trace or a snapshot: a set */
    bool has_other_rules; /* those of no family are judged, too */
    bool is_compared;     /* with a baseline */
    uint8_t lacks[AP_ARTIFACT_MAX]; /* what to ask for where the artifact is not there; AP_ARTIFACT_MAX: it is there */
    struct ap_error *reterr;
};

/* ---- rule_weight.c ---- */

/** Does its condition name anything but a snapshot? */
bool ap_rule_is_about_the_trace(const struct ap_rule *rule);
/** Is what it could save time, and not bytes? */
bool ap_rule_ranks_by_time(const struct ap_rule *rule);
/** Does it say that another recording would tell more? */
bool ap_rule_is_of_recording(const struct ap_rule *rule);
/** Time of the phase that the report is to be about, in ns: no more is to be had there, of kernels no more than the device
 * works for it. -1 = it is about none, or its time is not known. */
int64_t ap_judge_phase_ns(const struct ap_judge *judge, const struct ap_rule *rule);
/** The path of the figure that the gain is told as a share of. */
const char *ap_fired_told_whole(const struct ap_judge *judge, const struct ap_fired *fired);
/** Fills in saving, severity, confidence and weight. */
void ap_fired_weigh(const struct ap_judge *judge, struct ap_fired *fired);
/** Corrects the weight and what is told by what a replay gains. */
AP_MUST_CHECK enum ap_status ap_fired_weigh_by_gain(struct ap_judge *judge, struct ap_fired *fired);

/* ---- rule_tell.c ---- */

/** Those of @artifacts that this run lacks; of a part of something that is not there at all, the whole. */
uint32_t ap_judge_absent(const struct ap_judge *judge, uint32_t artifacts);
/** Says what the rule lacks: @absent, else the figures of its condition that are not known. */
void ap_judge_not_evaluated(struct ap_judge *judge, const struct ap_rule *rule, uint32_t absent);
/** Adds the finding to @findings. */
AP_MUST_CHECK enum ap_status ap_judge_tell(struct ap_judge *judge, struct ap_value *findings, const struct ap_fired *fired);

#endif
