/* SPDX-License-Identifier: MIT
 * How much a finding counts: what it could save, its severity, its confidence and what it is ranked by. Described in
 * references/interpretation.md, "How findings are ranked"; change both together. */
#include <stdio.h>
#include <string.h>

#include "rule_judge.h"

#include "poison.h"

#define SHARE_THAT_RAISES 0.30
/* no severity without the share that it stands for, whatever the rule is */
#define LEAST_OF_LOW 0.001
#define LEAST_OF_MEDIUM 0.02
#define LEAST_OF_HIGH 0.10
#define LEAST_OF_CRITICAL 0.20
/* a device whose rows are behind the cut, or missing, looks idle */
#define MOST_OF_DOUBTFUL_IDLE_TIME AP_SEVERITY_medium
#define WEIGHT_OF_RECORDING 0.2 /* another recording speeds nothing up, either */
#define BOUND_OVER_PREDICTION 2
#define WEIGHT_OF_BYTES 0.2 /* free memory speeds nothing up by itself */

enum whole {
#define AP_GAIN_WHOLE(id, path, words) WHOLE_##id,
#include "gain_whole.def"
#undef AP_GAIN_WHOLE
};

static const char *const whole_paths[] = {
#define AP_GAIN_WHOLE(id, path, words) path,
#include "gain_whole.def"
#undef AP_GAIN_WHOLE
};

bool ap_rule_is_about_the_trace(const struct ap_rule *rule)
{
    for (size_t i = 0; i < rule->when.comparison_count; i++)
        if (strncmp(ap_figure_text(rule->when.comparisons[i].figure->path), "memory.", 7) != 0)
            return true;
    return false;
}

static bool trace_was_cut(const struct ap_judge *judge)
{
    return ap_value_integer(ap_value_at(judge->root, "trace.complete"), 1) == 0;
}

/* Where no row tells which call launched what, work of an idle device may stand in a queue. */
static bool lacks_links(const struct ap_judge *judge)
{
    return ap_value_integer(ap_value_at(judge->root, "links.device_rows"), 0) > 0 &&
           ap_value_integer(ap_value_at(judge->root, "links.launched_count"), 1) == 0;
}

/* The verdict is unsure of what the devices waited for: so is who goes by that. */
static bool doubts_idle_time(const struct ap_judge *judge)
{
    return trace_was_cut(judge) || lacks_links(judge) ||
           ap_text_is(ap_value_text(ap_value_at(judge->root, "verdict.confidence")), "low");
}

/* Does the rule hold because a device does little? Rows that are missing look like that. */
static bool rests_on_idle_time(const struct ap_rule *rule)
{
    for (size_t i = 0; i < rule->when.comparison_count; i++) {
        const struct ap_comparison *comparison = &rule->when.comparisons[i];
        const char *path = ap_figure_text(comparison->figure->path);
        bool few = comparison->test == AP_TEST_less || comparison->test == AP_TEST_less_equal;
        if ((strstr(path, "idle") && strncmp(path, "cpu.", 4) != 0) || strncmp(path, "verdict.host.", 13) == 0 ||
            strncmp(path, "verdict.parts.", 14) == 0 || (few && strcmp(path, "gpu.utilization_ratio") == 0))
            return true;
    }
    return false;
}

/* What a finding rests on is a figure of its own confidence: the finding is no surer. */
static int confidence_of_facts(const struct ap_judge *judge, const struct ap_rule *rule, int confidence)
{
    for (size_t i = 0; i < rule->rests_on_count; i++) {
        struct ap_text text = ap_value_text(ap_value_below(judge->root, rule->rests_on[i]));
        for (int level = AP_CONFIDENCE_low; level < confidence; level++)
            if (ap_text_is(text, ap_confidence_names[level]))
                confidence = level;
    }
    return confidence;
}

static int confidence_of(const struct ap_judge *judge, const struct ap_rule *rule, int severity)
{
    int confidence = (int)rule->confidence;
    for (size_t i = 0; i < rule->confidence_clause_count; i++) {
        const struct ap_confidence_clause *clause = &rule->confidence_clauses[i];
        if (ap_artifact_is_there(judge->root, clause->artifact) != clause->with)
            continue;
        confidence = clause->one_lower ? confidence - 1 : (int)clause->confidence;
    }
    confidence = confidence_of_facts(judge, rule, confidence);
    /* what a cut trace says of itself is sure, what its figures say is not */
    if (severity > AP_SEVERITY_info && ap_rule_is_about_the_trace(rule) && trace_was_cut(judge))
        confidence -= rests_on_idle_time(rule) ? 2 : 1;
    else if (severity > AP_SEVERITY_info && doubts_idle_time(judge) && rests_on_idle_time(rule))
        confidence--;
    return confidence < AP_CONFIDENCE_low ? AP_CONFIDENCE_low : confidence;
}

bool ap_rule_ranks_by_time(const struct ap_rule *rule)
{
    return rule->rank_by_count && rule->rank_by[0]->unit == AP_UNIT_time;
}

/* Of the phase that the report is to be about: no more is to be had there, of kernels no more than the device works for it.
 * -1 = of none, or its time is not known. */
int64_t ap_judge_phase_ns(const struct ap_judge *judge, const struct ap_rule *rule)
{
    char path[80];
    if (!judge->options->phase)
        return -1;
    (void)snprintf(path, sizeof(path), "phases.%.40s.%s", judge->options->phase,
                   rule->domain == AP_DOMAIN_gpu ? "device_busy_us" : "longer_us");
    return ap_value_integer(ap_value_at(judge->root, path), -1);
}

static const char *whole_of(const struct ap_judge *judge, const struct ap_rule *rule)
{
    if (!ap_rule_ranks_by_time(rule))
        return whole_paths[WHOLE_BYTES];
    if (ap_rule_is_of_profile(rule))
        return whole_paths[WHOLE_TIME_OF_PROFILE];
    return whole_paths[ap_value_member(judge->root, "cluster") ? WHOLE_TIME_OF_RUN : WHOLE_TIME];
}

/* The smallest bound: sums over threads and devices may be longer than the run, and nothing saves more than that. */
static void set_saving(const struct ap_judge *judge, struct ap_fired *fired)
{
    const struct ap_rule *rule = fired->rule;
    int64_t whole = ap_value_integer(ap_value_at(judge->root, whole_of(judge, rule)), -1);
    fired->share = -1;
    for (size_t i = 0; i < rule->rank_by_count; i++) {
        const struct ap_value *value = ap_figure_value(judge->root, rule->rank_by[i]);
        int64_t bound = ap_value_integer(value, -1);
        if (bound < 0)
            continue;
        fired->saving = fired->has_saving && fired->saving < bound ? fired->saving : bound;
        fired->has_saving = true;
    }
    fired->told = fired->saving;
    if (!fired->has_saving || whole < 0)
        return;
    int64_t part = ap_rule_ranks_by_time(rule) ? ap_judge_phase_ns(judge, rule) : -1;
    if (part >= 0 && fired->in_phase >= 0)
        fired->saving = (int64_t)((double)fired->saving * fired->in_phase);
    if (part >= 0 && fired->saving > part)
        fired->saving = part;
    if (fired->saving > whole)
        fired->saving = whole;
    fired->told = fired->saving;
    if (whole > 0)
        fired->share = (double)fired->saving / (double)whole;
}

/* That another recording would tell more. */
bool ap_rule_is_of_recording(const struct ap_rule *rule)
{
    return rule->domain == AP_DOMAIN_quality && rule->severity <= AP_SEVERITY_low;
}

static void limit_severity(struct ap_fired *fired, double share)
{
    int most = share >= LEAST_OF_CRITICAL ? AP_SEVERITY_critical
               : share >= LEAST_OF_HIGH   ? AP_SEVERITY_high
               : share >= LEAST_OF_MEDIUM ? AP_SEVERITY_medium
                                          : AP_SEVERITY_low;
    fired->severity = fired->severity < most ? fired->severity : most;
}

static void set_severity_by_share(const struct ap_judge *judge, struct ap_fired *fired)
{
    bool sure = confidence_of_facts(judge, fired->rule, AP_CONFIDENCE_high) > AP_CONFIDENCE_low;
    if (fired->severity == AP_SEVERITY_info || fired->share < 0 || !ap_rule_ranks_by_time(fired->rule))
        return;
    if (!fired->saving || fired->share < LEAST_OF_LOW) {
        fired->severity = AP_SEVERITY_info; /* true, but beside the point in this run */
        return;
    }
    sure = sure && !ap_rule_is_of_recording(fired->rule);
    if (sure && fired->share >= SHARE_THAT_RAISES && fired->severity < AP_SEVERITY_critical)
        fired->severity++;
    limit_severity(fired, fired->share);
}

static void set_severity(const struct ap_judge *judge, struct ap_fired *fired)
{
    const struct ap_rule *rule = fired->rule;
    fired->severity = (int)rule->severity;
    for (size_t i = 0; i < rule->severity_clause_count; i++)
        if (ap_expr_evaluate(&rule->severity_clauses[i].when, judge->root) == AP_TRUE)
            fired->severity = (int)rule->severity_clauses[i].severity;
    set_severity_by_share(judge, fired);
    if (fired->severity > MOST_OF_DOUBTFUL_IDLE_TIME && doubts_idle_time(judge) && rests_on_idle_time(rule))
        fired->severity = MOST_OF_DOUBTFUL_IDLE_TIME;
}

/* A finding without a figure stands where its severity puts it; one of bytes no lower, and not among the next higher ones:
 * what a job needs to hold is often more than what it wastes. */
static void set_weight(struct ap_fired *fired)
{
    static const double by_severity[] = { 0, 0, LEAST_OF_MEDIUM, LEAST_OF_HIGH, 1, 1 };
    double least = by_severity[fired->severity], most = by_severity[fired->severity + 1];
    double bytes = fired->share * WEIGHT_OF_BYTES;
    if (fired->share >= 0 && ap_rule_ranks_by_time(fired->rule))
        fired->weight = ap_rule_is_of_recording(fired->rule) ? fired->share * WEIGHT_OF_RECORDING : fired->share;
    else
        fired->weight = fired->share < 0 || bytes < least ? least : bytes > most ? most : bytes;
}

/* Figures of the part that the verdict goes by are told as shares of that part, so that the two say the same. */
const char *ap_fired_told_whole(const struct ap_judge *judge, const struct ap_fired *fired)
{
    const char *path = fired->rule->rank_by_count ? ap_figure_text(fired->rule->rank_by[0]->path) : "";
    bool is_judged = strncmp(path, "verdict.", 8) == 0 || strncmp(path, "split.judged.", 13) == 0;
    int64_t judged_ns = ap_value_integer(ap_value_at(judge->root, whole_paths[WHOLE_JUDGED]), 0);
    return is_judged && judged_ns > 0 && judged_ns >= fired->told ? whole_paths[WHOLE_JUDGED] : whole_of(judge, fired->rule);
}

void ap_fired_weigh(const struct ap_judge *judge, struct ap_fired *fired)
{
    set_saving(judge, fired);
    set_severity(judge, fired);
    fired->confidence = confidence_of(judge, fired->rule, fired->severity);
    set_weight(fired);
}

/* What is to be hidden may be longer than all that could hide it. The replay then gains little by that, but the run is
 * bound by communication all the same: less of it, or more work for each of it, is what helps. */
static bool is_bound_by_communication(const struct ap_judge *judge, const struct ap_rule *rule)
{
    struct ap_text bound = ap_value_text(ap_value_at(judge->root, "verdict.bound"));
    return ap_text_is(bound, "communication-bound") && strcmp(rule->bottleneck, "communication") == 0;
}

/* The replay is of the recorded host. Where the device waits for it because it is recorded, or had to share its cores, what
 * kernels cost is hidden there, and is not when nothing is recorded. */
static bool hides_kernels(const struct ap_judge *judge, const struct ap_rule *rule)
{
    int64_t waits_ns = ap_value_integer(ap_value_at(judge->root, "verdict.host.dur_us"), 0);
    int64_t own_ns = ap_value_integer(ap_value_at(judge->root, "verdict.host.own_us"), waits_ns);
    struct ap_text bound = ap_value_text(ap_value_at(judge->root, "verdict.bound")); /* else it waits for something else */
    return rule->domain == AP_DOMAIN_gpu && own_ns < waits_ns / 2 &&
           (ap_text_is(bound, "CPU-bound") || ap_text_is(bound, "GPU-bound"));
}

/* Of all steps or of the window, which may be longer, and end with what no step waits for: the larger. */
static int64_t gained_ns(const struct ap_judge *judge, const struct ap_gain *gain)
{
    int64_t window_ns = ap_value_integer(ap_value_at(judge->root, whole_paths[WHOLE_TIME]), 0);
    int64_t steps_ns = ap_value_integer(ap_value_at(judge->root, "steps.total_us"), window_ns);
    int64_t by_steps_ns = (int64_t)(gain->step_ratio * (double)(steps_ns < window_ns ? steps_ns : window_ns));
    return by_steps_ns > gain->window_ns ? by_steps_ns : gain->window_ns;
}

/* A replay knows what else limits the run, a bound does not: one that is more than twice of what is predicted counts for
 * that. Nearer than this the two are as good as each other. A bound of what waited just then lacks what a host that gets
 * ahead spares later; what a replay gains twice as much by is another cause. */
enum ap_status ap_fired_weigh_by_gain(struct ap_judge *judge, struct ap_fired *fired)
{
    struct ap_gain gain;
    if (fired->share < 0 || !ap_rule_ranks_by_time(fired->rule) || fired->severity == AP_SEVERITY_info ||
        is_bound_by_communication(judge, fired->rule) || hides_kernels(judge, fired->rule))
        return AP_OK;
    AP_TRY(ap_rule_gain(fired->rule, judge->root, fired->saving, judge->options, &gain, judge->reterr));
    if (gain.known && fired->weight > BOUND_OVER_PREDICTION * gain.step_ratio) {
        fired->weight = gain.step_ratio > 0 ? BOUND_OVER_PREDICTION * gain.step_ratio : 0;
        /* no lower: the recorder slows the host that is replayed, and what it hides may come to light without it */
        limit_severity(fired, fired->weight > LEAST_OF_MEDIUM ? fired->weight : LEAST_OF_MEDIUM);
    }
    int64_t replayed_ns = gain.known ? gained_ns(judge, &gain) : 0; /* of the run, not of a phase */
    if (!judge->options->phase && replayed_ns > fired->saving && replayed_ns <= BOUND_OVER_PREDICTION * fired->saving)
        fired->told = replayed_ns;
    return AP_OK;
}
