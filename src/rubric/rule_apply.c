/* SPDX-License-Identifier: MIT
 * Rules against a tree: which hold, what each could save, in which order they are told. The order and the adjustments are
 * described in references/interpretation.md, "How findings are ranked"; change both together. */
#include <stdio.h>
#include <string.h>

#include "fine.h"
#include "rule.h"
#include "sort.h"
#include "value_text.h"

#include "poison.h"

#define SHARE_THAT_RAISES 0.30
#define SHARE_THAT_LOWERS 0.02
#define SHARE_OF_LITTLE 0.005 /* whatever the rule is */
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

struct fired {
    const struct ap_rule *rule;
    int severity, confidence;
    bool has_saving;
    int64_t saving; /* ns or bytes */
    int64_t told;   /* that, or what a replay gains where it is more */
    double share;   /* of the trace window or of the reserved bytes; negative = not known */
    double weight;  /* what it is ranked by */
    bool hidden;
};

struct judge {
    const struct ap_rubric *rubric;
    const struct ap_judge_options *options;
    struct ap_model *model;
    const struct ap_value *root;
    struct ap_text_buffer text;
    struct fired *fired;
    size_t fired_count, fired_capacity, left_out_count;
    struct ap_value *not_evaluated;
    struct ap_error *reterr;
};

/* ---- what a rule lacks ---- */

/* Of a part of something that is not there at all, the whole is what to ask for. */
static uint32_t absent_of(const struct judge *judge, uint32_t artifacts)
{
    uint32_t absent = 0;
    for (size_t i = 0; i < ap_artifact_count(); i++)
        if (artifacts & UINT32_C(1) << i && !ap_artifact_is_there(judge->root, i))
            absent |= UINT32_C(1) << ap_artifact_whole(judge->root, i);
    return absent;
}

static void add_requests(struct judge *judge, struct ap_value *list, uint32_t artifacts)
{
    for (size_t i = 0; i < ap_artifact_count(); i++)
        if (artifacts & UINT32_C(1) << i) {
            const char *own = ap_program_advice(judge->root, ap_artifact_id(i));
            ap_add_string(judge->model, list, NULL, own ? own : ap_artifact_request(i));
        }
}

/* The figure, or the part of the report that it would stand in where there is none. */
static void add_unknown_figure(struct judge *judge, struct ap_value *list, const struct ap_figure_info *figure)
{
    char text[400];
    struct ap_text part = { figure->path, strcspn(figure->path, ".") };
    const struct ap_value *found = ap_value_member_of(judge->root, part), *said = ap_value_first(list);
    if (!found || found->type == AP_VALUE_NULL)
        (void)snprintf(text, sizeof(text), "`%.*s`, of which this input has nothing", (int)part.bytes, part.data);
    else
        (void)snprintf(text, sizeof(text), "a value of `%s` (%s), which this input does not give", figure->path,
                       figure->words);
    while (said && !ap_text_is(ap_value_text(said), text))
        said = said->next;
    if (!said)
        ap_add_string(judge->model, list, NULL, text);
}

static void note_unknown(struct judge *judge, const struct ap_figure_info *figure, struct ap_value *list,
                         uint32_t *artifacts)
{
    size_t artifact;
    if (!figure || ap_figure_value(judge->root, figure))
        return;
    if (ap_artifact_behind(judge->root, figure->path, &artifact))
        *artifacts |= UINT32_C(1) << artifact;
    else
        add_unknown_figure(judge, list, figure);
}

static void not_evaluated(struct judge *judge, const struct ap_rule *rule, uint32_t absent)
{
    struct ap_value *entry = ap_add_object(judge->model, judge->not_evaluated, NULL);
    ap_add_text(judge->model, entry, "rule_id", rule->id);
    struct ap_value *list = ap_add_list(judge->model, entry, "missing");
    for (size_t i = 0; !absent && i < rule->when.comparison_count; i++)
        if (ap_comparison_test(&rule->when.comparisons[i], judge->root) == AP_UNKNOWN) {
            uint32_t behind = 0;
            note_unknown(judge, rule->when.comparisons[i].figure, list, &behind);
            note_unknown(judge, rule->when.comparisons[i].other, list, &behind);
            absent |= behind;
        }
    add_requests(judge, list, absent);
}

/* ---- severity, confidence, saving ---- */

static bool is_about_the_trace(const struct ap_rule *rule)
{
    for (size_t i = 0; i < rule->when.comparison_count; i++)
        if (strncmp(rule->when.comparisons[i].figure->path, "memory.", 7) != 0)
            return true;
    return false;
}

static bool trace_was_cut(const struct judge *judge)
{
    return ap_value_integer(ap_value_at(judge->root, "trace.complete"), 1) == 0;
}

/* Where no row tells which call launched what, work of an idle device may stand in a queue. */
static bool lacks_links(const struct judge *judge)
{
    return ap_value_integer(ap_value_at(judge->root, "links.device_rows"), 0) > 0 &&
           ap_value_integer(ap_value_at(judge->root, "links.launched_count"), 1) == 0;
}

/* The verdict is unsure of what the devices waited for: so is who goes by that. */
static bool doubts_idle_time(const struct judge *judge)
{
    return trace_was_cut(judge) || lacks_links(judge) ||
           ap_text_is(ap_value_text(ap_value_at(judge->root, "verdict.confidence")), "low");
}

/* Does the rule hold because a device does little? Rows that are missing look like that. */
static bool rests_on_idle_time(const struct ap_rule *rule)
{
    for (size_t i = 0; i < rule->when.comparison_count; i++) {
        const struct ap_comparison *comparison = &rule->when.comparisons[i];
        const char *path = comparison->figure->path;
        bool few = comparison->test == AP_TEST_less || comparison->test == AP_TEST_less_equal;
        if ((strstr(path, "idle") && strncmp(path, "cpu.", 4) != 0) || strncmp(path, "verdict.host.", 13) == 0 ||
            strncmp(path, "verdict.parts.", 14) == 0 || (few && strcmp(path, "gpu.utilization_ratio") == 0))
            return true;
    }
    return false;
}

/* What a finding rests on is a figure of its own confidence: the finding is no surer. */
static int confidence_of_facts(const struct judge *judge, const struct ap_rule *rule, int confidence)
{
    for (size_t i = 0; i < rule->rests_on_count; i++) {
        struct ap_text text = ap_value_text(ap_value_below(judge->root, rule->rests_on[i]));
        for (int level = AP_CONFIDENCE_low; level < confidence; level++)
            if (ap_text_is(text, ap_confidence_names[level]))
                confidence = level;
    }
    return confidence;
}

static int confidence_of(const struct judge *judge, const struct ap_rule *rule, int severity)
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
    if (severity > AP_SEVERITY_info && is_about_the_trace(rule) && trace_was_cut(judge))
        confidence -= rests_on_idle_time(rule) ? 2 : 1;
    else if (severity > AP_SEVERITY_info && doubts_idle_time(judge) && rests_on_idle_time(rule))
        confidence--;
    return confidence < AP_CONFIDENCE_low ? AP_CONFIDENCE_low : confidence;
}

static bool ranks_by_time(const struct ap_rule *rule)
{
    return rule->rank_by_count && rule->rank_by[0]->unit == AP_UNIT_time;
}

/* Of the phase that the report is to be about: no more is to be had there, of kernels no more than the device works for it.
 * -1 = of none, or its time is not known. */
static int64_t phase_ns(const struct judge *judge, const struct ap_rule *rule)
{
    char path[80];
    if (!judge->options->phase)
        return -1;
    (void)snprintf(path, sizeof(path), "phases.%.40s.%s", judge->options->phase,
                   rule->domain == AP_DOMAIN_gpu ? "device_busy_us" : "longer_us");
    return ap_value_integer(ap_value_at(judge->root, path), -1);
}

/* The families of rules that are about something else than a trace or a snapshot: the key that has to be there. */
static const char *const families[] = { "cluster", "hang", "onnxruntime", "tensorrt", "compile_log" };
enum { PROFILES_FROM = 2 };

/* Which the rule is of, by the first figure that it names; -1 = none. */
static int family_of(const struct ap_rule *rule)
{
    const char *path = rule->when.comparison_count ? rule->when.comparisons[0].figure->path : "";
    for (size_t i = 0; i < AP_COUNT_OF(families); i++) {
        size_t bytes = strlen(families[i]);
        if (strncmp(path, families[i], bytes) == 0 && path[bytes] == '.')
            return (int)i;
    }
    return -1;
}

bool ap_rule_is_of_profile(const struct ap_rule *rule)
{
    return family_of(rule) >= PROFILES_FROM;
}

static const char *whole_of(const struct judge *judge, const struct ap_rule *rule)
{
    if (!ranks_by_time(rule))
        return whole_paths[WHOLE_BYTES];
    if (ap_rule_is_of_profile(rule))
        return whole_paths[WHOLE_TIME_OF_PROFILE];
    return whole_paths[ap_value_member(judge->root, "cluster") ? WHOLE_TIME_OF_RUN : WHOLE_TIME];
}

/* The smallest bound: sums over threads and devices may be longer than the run, and nothing saves more than that. */
static void set_saving(const struct judge *judge, struct fired *fired)
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
    int64_t part = ranks_by_time(rule) ? phase_ns(judge, rule) : -1;
    if (part >= 0 && fired->saving > part)
        fired->saving = part;
    if (fired->saving > whole)
        fired->saving = whole;
    fired->told = fired->saving;
    if (whole > 0)
        fired->share = (double)fired->saving / (double)whole;
}

/* That another recording would tell more. */
static bool is_of_recording(const struct ap_rule *rule)
{
    return rule->domain == AP_DOMAIN_quality && rule->severity <= AP_SEVERITY_low;
}

static void set_severity_by_share(const struct judge *judge, struct fired *fired)
{
    bool sure = confidence_of_facts(judge, fired->rule, AP_CONFIDENCE_high) > AP_CONFIDENCE_low;
    if (fired->severity == AP_SEVERITY_info || fired->share < 0 || !ranks_by_time(fired->rule))
        return;
    if (!fired->saving) {
        fired->severity = AP_SEVERITY_info; /* true, but beside the point in this run */
        return;
    }
    sure = sure && !is_of_recording(fired->rule);
    if (sure && fired->share >= SHARE_THAT_RAISES && fired->severity < AP_SEVERITY_critical)
        fired->severity++;
    else if (fired->share < SHARE_OF_LITTLE && fired->severity > AP_SEVERITY_low)
        fired->severity = AP_SEVERITY_low;
    else if (fired->share < SHARE_THAT_LOWERS && fired->severity > AP_SEVERITY_low)
        fired->severity--;
}

static void set_severity(const struct judge *judge, struct fired *fired)
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
static void set_weight(struct fired *fired)
{
    static const double by_severity[] = { 0, 0, 0.02, 0.10, 1, 1 };
    double least = by_severity[fired->severity], most = by_severity[fired->severity + 1];
    double bytes = fired->share * WEIGHT_OF_BYTES;
    if (fired->share >= 0 && ranks_by_time(fired->rule))
        fired->weight = is_of_recording(fired->rule) ? fired->share * WEIGHT_OF_RECORDING : fired->share;
    else
        fired->weight = fired->share < 0 || bytes < least ? least : bytes > most ? most : bytes;
}

/* ---- judging ---- */

static enum ap_status fire(struct judge *judge, const struct ap_rule *rule)
{
    AP_TRY(AP_RESERVE(judge->text.gate, judge->fired, judge->fired_capacity, judge->fired_count + 1, judge->reterr));
    struct fired *fired = &judge->fired[judge->fired_count++];
    *fired = (struct fired){ .rule = rule };
    set_saving(judge, fired);
    set_severity(judge, fired);
    fired->confidence = confidence_of(judge, rule, fired->severity);
    set_weight(fired);
    return AP_OK;
}

/* Rules of a family are judged where the report tells of it; the others, unless it tells of families alone. */
static bool is_of_family(const struct judge *judge, const struct ap_rule *rule)
{
    int family = family_of(rule);
    bool of_other = false;
    if (family >= 0)
        return ap_value_member(judge->root, families[family]) != NULL;
    for (size_t i = 0; i < AP_COUNT_OF(families); i++)
        of_other = of_other || ap_value_member(judge->root, families[i]);
    return !of_other || ap_value_first(ap_value_member(judge->root, "trace")) ||
           ap_value_first(ap_value_member(judge->root, "memory"));
}

static enum ap_status judge_rule(struct judge *judge, const struct ap_rule *rule)
{
    if (!is_of_family(judge, rule))
        return AP_OK;
    bool compared = ap_value_first(ap_value_at(judge->root, "comparison")) != NULL;
    if ((ap_rule_is_about_comparison(rule) ? !compared : judge->options->compared) ||
        !ap_hardware_fits(&rule->hardware, judge->root))
        return AP_OK;
    uint32_t absent = absent_of(judge, rule->needs);
    enum ap_truth truth = absent ? AP_UNKNOWN : ap_expr_evaluate(&rule->when, judge->root);
    if (truth == AP_TRUE)
        return fire(judge, rule);
    if (truth == AP_UNKNOWN && !judge->options->compared)
        not_evaluated(judge, rule, absent);
    return AP_OK;
}

/* A remark, or one on the recording, explains what rows that are missing look like, wherever they would lie. */
static bool is_about_time(const struct fired *cause)
{
    return cause->rule->severity > AP_SEVERITY_info && cause->rule->domain != AP_DOMAIN_quality;
}

/* Where the rows lie that the finding stands on; NULL where that is not known. */
static struct ap_stretches *time_of(const struct judge *judge, const struct fired *fired)
{
    for (size_t i = 0; i < fired->rule->rank_by_count; i++) {
        struct ap_stretches *time = ap_model_time_of(judge->model, fired->rule->rank_by[i]->path);
        if (time && time->count)
            return time;
    }
    return NULL;
}

/* Does the finding @cause explain enough of @symptom, by size alone? At least half of what the symptom could save. */
static bool explains(const struct fired *cause, const struct fired *symptom)
{
    if (!cause->has_saving || !symptom->has_saving || ranks_by_time(cause->rule) != ranks_by_time(symptom->rule))
        return true;
    return cause->saving >= symptom->saving - symptom->saving / 2;
}

/* Where the recording is of something else than the run, what else is read from it is no advice. */
static bool hides_all(const struct judge *judge)
{
    for (size_t i = 0; i < judge->fired_count; i++)
        if (judge->fired[i].rule->suppresses_all)
            return true;
    return false;
}

static void hide_advice(struct judge *judge)
{
    for (size_t i = 0; i < judge->fired_count; i++)
        if (is_about_the_trace(judge->fired[i].rule) && !judge->fired[i].rule->suppresses_all &&
            (judge->fired[i].severity > AP_SEVERITY_info || judge->fired[i].rule->domain != AP_DOMAIN_quality))
            judge->fired[i].hidden = true;
}

static bool is_suppressed_by(const struct fired *symptom, const struct fired *cause)
{
    for (size_t i = 0; i < symptom->rule->suppressed_by_count; i++)
        if (symptom->rule->suppressed_by[i] == cause->rule)
            return true;
    return false;
}

/* By time, where it is known for both: causes that lie elsewhere explain nothing, however large they are; several of them
 * explain together what they cover. */
static enum ap_status hide_symptom(struct judge *judge, size_t number)
{
    struct fired *symptom = &judge->fired[number];
    struct ap_stretches *own = time_of(judge, symptom), causes = { .list = NULL };
    struct ap_gate *gate = judge->text.gate;
    for (size_t i = 0; i < number; i++) {
        const struct fired *cause = &judge->fired[i];
        bool is_cause = is_suppressed_by(symptom, cause);
        struct ap_stretches *time = is_cause && is_about_time(cause) ? time_of(judge, cause) : NULL;
        if (own && time)
            ap_stretches_add_all(&causes, gate, time);
        else if (is_cause && explains(cause, symptom))
            symptom->hidden = true;
    }
    bool failed = causes.failed, too_many = causes.unknown;
    if (own && !failed && !symptom->hidden)
        symptom->hidden = too_many || ap_stretches_overlap_ns(&causes, own) >= (ap_stretches_length_ns(own) + 1) / 2;
    ap_stretches_release(&causes, gate);
    return failed ? ap_fail_memory(gate, judge->reterr) : AP_OK;
}

static enum ap_status hide_symptoms(struct judge *judge)
{
    if (hides_all(judge))
        hide_advice(judge);
    for (size_t i = 0; i < judge->fired_count; i++)
        AP_TRY(hide_symptom(judge, i));
    return AP_OK;
}

static int by_rank(const void *left, const void *right)
{
    const struct fired *a = left, *b = right;
    bool a_info = a->severity == AP_SEVERITY_info, b_info = b->severity == AP_SEVERITY_info;
    if (a_info != b_info)
        return a_info ? 1 : -1;
    AP_BY_LARGER(a->weight, b->weight);
    AP_BY_LARGER(a->severity, b->severity);
    return ap_text_compare(a->rule->id, b->rule->id);
}

/* ---- telling ---- */

/* Figures of rules are of the run: where the report is about a phase, it says what that is. */
static enum ap_status add_phase(struct judge *judge, const struct ap_rule *rule)
{
    char text[200], time[AP_VALUE_TEXT_BYTES];
    struct ap_value phase = { .type = AP_VALUE_TIME_NS, .as.integer = phase_ns(judge, rule) };
    if (phase.as.integer < 0)
        return AP_OK;
    (void)ap_format_value(&phase, time, sizeof(time));
    (void)snprintf(text, sizeof(text), " These figures are of the whole run; %s for the phase %.40s for %s of it.",
                   rule->domain == AP_DOMAIN_gpu ? "devices work" : "host or devices work", judge->options->phase, time);
    return ap_text_buffer_add(&judge->text, ap_text_of(text), judge->reterr);
}

static enum ap_status add_filled(struct judge *judge, struct ap_value *finding, const struct ap_rule *rule,
                                 enum ap_rule_text which)
{
    judge->text.used = 0;
    AP_TRY(ap_rule_text_fill(rule, rule->texts[which], judge->root, &judge->text, judge->reterr));
    if (which == AP_TEXT_observation && is_about_the_trace(rule))
        AP_TRY(add_phase(judge, rule));
    if (which == AP_TEXT_observation && rule->source.bytes) {
        AP_TRY(ap_text_buffer_add(&judge->text, AP_TEXT(" Threshold: "), judge->reterr));
        AP_TRY(ap_rule_text_fill(rule, rule->source, judge->root, &judge->text, judge->reterr));
        AP_TRY(ap_text_buffer_add(&judge->text, AP_TEXT("."), judge->reterr));
    }
    ap_add_text(judge->model, finding, ap_rule_text_keys[which], (struct ap_text){ judge->text.data, judge->text.used });
    return AP_OK;
}

/* Of several limits to the same side of one figure only the farthest says anything. */
static bool says_less(const struct judge *judge, const struct ap_expr *when, size_t index)
{
    const struct ap_comparison *comparison = &when->comparisons[index];
    double limit, other_limit;
    if (!(AP_TESTS_OF_ORDER >> comparison->test & 1) || !ap_comparison_number(comparison, judge->root, &limit))
        return false;
    for (size_t i = 0; i < when->comparison_count; i++) {
        const struct ap_comparison *other = &when->comparisons[i];
        if (i != index && other->figure == comparison->figure && other->test == comparison->test &&
            ap_comparison_test(other, judge->root) == AP_TRUE && ap_comparison_number(other, judge->root, &other_limit) &&
            (other_limit == limit ? i < index : ap_test_holds(comparison->test, other_limit, limit)))
            return true;
    }
    return false;
}

/* The comparisons of the condition that hold, as they stand there: one figure may stand between two. */
static void add_evidence(struct judge *judge, struct ap_value *finding, const struct ap_rule *rule)
{
    struct ap_value *list = ap_add_list(judge->model, finding, "evidence");
    for (size_t i = 0; i < rule->when.comparison_count; i++) {
        const struct ap_comparison *comparison = &rule->when.comparisons[i];
        struct ap_value limit;
        if (ap_comparison_test(comparison, judge->root) != AP_TRUE || says_less(judge, &rule->when, i))
            continue;
        bool has_limit = ap_comparison_limit(comparison, judge->root, &limit);
        struct ap_value *row = ap_add_object(judge->model, list, NULL);
        ap_add_string(judge->model, row, "metric", comparison->figure->path);
        ap_add_string(judge->model, row, "op", ap_test_name(comparison->test));
        ap_add_figure(judge->model, row, "value", ap_figure_value(judge->root, comparison->figure));
        ap_add_figure(judge->model, row, "threshold", has_limit ? &limit : NULL);
    }
}

/* Figures of the part that the verdict goes by are told as shares of that part, so that the two say the same. */
static const char *told_whole_of(const struct judge *judge, const struct fired *fired)
{
    const char *path = fired->rule->rank_by_count ? fired->rule->rank_by[0]->path : "";
    bool is_judged = strncmp(path, "verdict.", 8) == 0 || strncmp(path, "split.judged.", 13) == 0;
    int64_t judged_ns = ap_value_integer(ap_value_at(judge->root, whole_paths[WHOLE_JUDGED]), 0);
    return is_judged && judged_ns > 0 && judged_ns >= fired->told ? whole_paths[WHOLE_JUDGED] : whole_of(judge, fired->rule);
}

/* Amdahl: what share of the whole would go, and how much faster the rest alone is. Another recording makes no run faster. */
static void add_gain(struct judge *judge, struct ap_value *finding, const struct fired *fired)
{
    struct ap_value *gain = ap_add_object(judge->model, finding, "gain");
    bool time = ranks_by_time(fired->rule), is_gain = fired->share >= 0 && !is_of_recording(fired->rule);
    double share = 0;
    if (!is_gain) {
        ap_add_null(judge->model, gain, "whole");
        ap_add_null(judge->model, gain, "share_ratio");
    } else {
        const char *whole = told_whole_of(judge, fired);
        share = (double)fired->told / (double)ap_value_integer(ap_value_at(judge->root, whole), 1);
        ap_add_string(judge->model, gain, "whole", whole);
        ap_add_ratio(judge->model, gain, "share_ratio", share);
    }
    ap_add_quotient(judge->model, gain, "speedup_bound_ratio", 1, time && is_gain ? 1 - share : 0);
}

static uint32_t wished_by(const struct ap_rule *rule)
{
    uint32_t wished = rule->missing;
    for (size_t i = 0; i < rule->confidence_clause_count; i++)
        if (!rule->confidence_clauses[i].with)
            wished |= UINT32_C(1) << rule->confidence_clauses[i].artifact;
    return wished;
}

static void add_phases(struct judge *judge, struct ap_value *list, const struct ap_rule *rule)
{
    for (size_t i = 0; i < AP_PHASE_COUNT; i++)
        if (rule->phases & UINT32_C(1) << i)
            ap_add_string(judge->model, list, NULL, ap_phases[i]);
}

static enum ap_status add_threshold_source(struct judge *judge, struct ap_value *finding, const struct ap_rule *rule)
{
    if (!rule->source.bytes) {
        ap_add_null(judge->model, finding, "threshold_source");
        return AP_OK;
    }
    judge->text.used = 0;
    AP_TRY(ap_rule_text_fill(rule, rule->source, judge->root, &judge->text, judge->reterr));
    ap_add_text(judge->model, finding, "threshold_source", (struct ap_text){ judge->text.data, judge->text.used });
    return AP_OK;
}

static enum ap_status add_finding(struct judge *judge, struct ap_value *findings, const struct fired *fired)
{
    struct ap_model *model = judge->model;
    const struct ap_rule *rule = fired->rule;
    bool time = ranks_by_time(rule);
    struct ap_value *finding = ap_add_object(model, findings, NULL);
    ap_add_text(model, finding, "rule_id", rule->id);
    ap_add_text(model, finding, "title", rule->title);
    ap_add_string(model, finding, "severity", ap_severity_names[fired->severity]);
    ap_add_string(model, finding, "confidence", ap_confidence_names[fired->confidence]);
    ap_add_string(model, finding, "bottleneck", rule->bottleneck);
    ap_add_string(model, finding, "hardware", rule->hardware.name);
    ap_add_string(model, finding, "domain", ap_domain_names[rule->domain]);
    add_phases(judge, ap_add_list(model, finding, "phases"), rule);
    for (int i = 0; i < AP_TEXT_COUNT_; i++)
        AP_TRY(add_filled(judge, finding, rule, (enum ap_rule_text)i));
    ap_add_known_time(model, finding, "saves_us", fired->has_saving && time && !is_of_recording(rule), fired->told);
    ap_add_known_bytes(model, finding, "saves_bytes", fired->has_saving && !time, fired->told);
    add_gain(judge, finding, fired);
    add_evidence(judge, finding, rule);
    AP_TRY(add_threshold_source(judge, finding, rule));
    ap_rule_add_places(rule, model, finding);
    AP_TRY(ap_rule_add_causes(rule, model, finding, judge->reterr));
    add_requests(judge, ap_add_list(model, finding, "missing"), absent_of(judge, wished_by(rule)));
    ap_rule_add_command(rule, judge->options, model, finding);
    ap_rule_add_change(rule, judge->root, fired->has_saving && time ? (int64_t)fired->saving : 0, model, finding);
    if (judge->options->compared)
        ap_add_null(model, finding, "prediction"); /* what changed since another run is no cause */
    return AP_OK;
}

/* What is to be hidden may be longer than all that could hide it. The replay then gains little by that, but the run is
 * bound by communication all the same: less of it, or more work for each of it, is what helps. */
static bool is_bound_by_communication(const struct judge *judge, const struct ap_rule *rule)
{
    struct ap_text bound = ap_value_text(ap_value_at(judge->root, "verdict.bound"));
    return ap_text_is(bound, "communication-bound") && strcmp(rule->bottleneck, "communication") == 0;
}

/* What a gain is a share of: the steps, else the window. */
static int64_t replayed_ns(const struct judge *judge)
{
    int64_t window_ns = ap_value_integer(ap_value_at(judge->root, whole_paths[WHOLE_TIME]), 0);
    int64_t steps_ns = ap_value_integer(ap_value_at(judge->root, "steps.total_us"), window_ns);
    return steps_ns < window_ns ? steps_ns : window_ns;
}

/* A replay knows what else limits the run, a bound does not: one that is more than twice of what is predicted counts for
 * that. Nearer than this the two are as good as each other. A bound of what waited just then lacks what a host that gets
 * ahead spares later; what a replay gains twice as much by is another cause. */
static enum ap_status weigh_by_gain(struct judge *judge, struct fired *fired)
{
    bool known;
    double gain;
    if (fired->share < 0 || !ranks_by_time(fired->rule) || fired->severity == AP_SEVERITY_info ||
        is_bound_by_communication(judge, fired->rule))
        return AP_OK;
    AP_TRY(ap_rule_gain(fired->rule, judge->root, fired->saving, judge->options, &known, &gain, judge->reterr));
    if (known && fired->weight > BOUND_OVER_PREDICTION * gain)
        fired->weight = gain > 0 ? BOUND_OVER_PREDICTION * gain : 0;
    int64_t gained_ns = known && !judge->options->phase ? (int64_t)(gain * (double)replayed_ns(judge)) : 0;
    if (gained_ns > fired->saving && gained_ns <= BOUND_OVER_PREDICTION * fired->saving)
        fired->told = gained_ns;
    return AP_OK;
}

static enum ap_status rank(struct judge *judge)
{
    ap_sort(judge->fired, judge->fired_count, sizeof(*judge->fired), by_rank);
    for (size_t i = 0; i < judge->fired_count; i++)
        if (!judge->fired[i].hidden && ap_rule_is_wanted(judge->fired[i].rule, judge->options))
            AP_TRY(weigh_by_gain(judge, &judge->fired[i]));
    ap_sort(judge->fired, judge->fired_count, sizeof(*judge->fired), by_rank);
    return AP_OK;
}

static enum ap_status tell(struct judge *judge, struct ap_value *findings)
{
    AP_TRY(hide_symptoms(judge));
    AP_TRY(rank(judge));
    for (size_t i = 0; i < judge->fired_count; i++) {
        if (judge->fired[i].hidden)
            continue;
        if (ap_rule_is_wanted(judge->fired[i].rule, judge->options))
            AP_TRY(add_finding(judge, findings, &judge->fired[i]));
        else
            judge->left_out_count++;
    }
    return AP_OK;
}

static enum ap_status judge_all(struct judge *judge, struct ap_value *findings)
{
    for (const struct ap_rule *rule = judge->rubric->first; rule; rule = rule->next)
        AP_TRY(judge_rule(judge, rule));
    AP_TRY(tell(judge, findings));
    if (!judge->options->compared)
        ap_add_count(judge->model, &judge->model->root, "findings_left_out", (int64_t)judge->left_out_count);
    if (!judge->options->compared)
        AP_TRY(ap_fine_add(judge->options, judge->model, judge->reterr));
    return ap_model_status(judge->model, judge->reterr);
}

static struct ap_value *findings_of(struct ap_model *model)
{
    struct ap_value *value = model->root.as.children.first;
    while (value && !ap_text_is(value->key, "findings"))
        value = value->next;
    return value;
}

/* What changed was asked for: the findings behind @last, which tell it, come first. */
static void move_to_front(struct ap_value *findings, struct ap_value *last)
{
    struct ap_value *added = last ? last->next : NULL;
    if (!added)
        return;
    last->next = NULL;
    findings->as.children.last->next = findings->as.children.first;
    findings->as.children.first = added;
    findings->as.children.last = last;
}

enum ap_status ap_rubric_apply(const struct ap_rubric *rubric, const struct ap_judge_options *options,
                               struct ap_model *model, struct ap_error *reterr)
{
    static const struct ap_judge_options everything = { .focus = NULL };
    bool compared = options && options->compared;
    struct ap_value *findings = compared ? findings_of(model) : ap_add_list(model, &model->root, "findings");
    struct judge judge = {
        .rubric = rubric,
        .options = options ? options : &everything,
        .model = model,
        .root = &model->root,
        .text = { .gate = model->arena.gate },
        .not_evaluated = compared ? NULL : ap_add_list(model, &model->root, "not_evaluated"),
        .reterr = reterr,
    };
    AP_TRY(ap_model_status(model, reterr));
    struct ap_value *last = findings->as.children.last;
    enum ap_status status = judge_all(&judge, findings);
    move_to_front(findings, last);
    ap_text_buffer_release(&judge.text);
    AP_FREE(model->arena.gate, judge.fired, judge.fired_capacity);
    return status;
}
