/* SPDX-License-Identifier: MIT
 * Rules against a tree: which hold, which of them others explain, in which order they are told. */
#include <string.h>

#include "fine.h"
#include "rule_judge.h"
#include "sort.h"

#include "poison.h"

#define PART_OF_CAUSES (1.0 / 6) /* of that weight, from which on a cause stands before it */
#define BEHIND_CAUSE 0.999       /* of the cause's weight: next behind it */

/* ---- judging ---- */

/* The families of rules that are about something else than a trace or a snapshot: the key that has to be there. */
static const char *const families[] = { "cluster", "hang", "onnxruntime", "tensorrt", "compile_log" };
enum { PROFILES_FROM = 2 };

/* Which the rule is of, by the first figure that it names; -1 = none. */
static int family_of(const struct ap_rule *rule)
{
    const char *path = rule->when.comparison_count ? ap_figure_text(rule->when.comparisons[0].figure->path) : "";
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

static enum ap_status fire(struct ap_judge *judge, const struct ap_rule *rule)
{
    AP_TRY(AP_RESERVE(judge->text.gate, judge->fired, judge->fired_capacity, judge->fired_count + 1, judge->reterr));
    struct ap_fired *fired = &judge->fired[judge->fired_count++];
    *fired = (struct ap_fired){ .rule = rule, .in_phase = -1 };
    bool known;
    double in_phase = 0;
    AP_TRY(ap_rule_phase_share(rule, judge->root, judge->options, &known, &in_phase, judge->reterr));
    if (known)
        fired->in_phase = in_phase;
    ap_fired_weigh(judge, fired);
    return AP_OK;
}

/* Rules of a family are judged where the report tells of it; the others, unless it tells of families alone. */
static bool is_of_family(const struct ap_judge *judge, const struct ap_rule *rule)
{
    int family = family_of(rule);
    return family < 0 ? judge->has_other_rules : judge->families >> family & 1;
}

/* What does not change while rules are judged. */
static void look_at_report(struct ap_judge *judge)
{
    const struct ap_value *root = judge->root;
    for (size_t i = 0; i < AP_COUNT_OF(families); i++)
        judge->families |= ap_value_member(root, families[i]) ? 1u << i : 0;
    judge->has_other_rules = !judge->families || ap_value_first(ap_value_member(root, "trace")) ||
                             ap_value_first(ap_value_member(root, "memory"));
    judge->is_compared = ap_value_first(ap_value_at(root, "comparison")) != NULL;
    for (size_t i = 0; i < ap_artifact_count(); i++)
        judge->lacks[i] = (uint8_t)(ap_artifact_is_there(root, i) ? AP_ARTIFACT_MAX : ap_artifact_whole(root, i));
}

static enum ap_status judge_rule(struct ap_judge *judge, const struct ap_rule *rule)
{
    if (!is_of_family(judge, rule))
        return AP_OK;
    if ((ap_rule_is_about_comparison(rule) ? !judge->is_compared : judge->options->compared) ||
        !ap_hardware_fits(&rule->hardware, judge->root))
        return AP_OK;
    uint32_t absent = ap_judge_absent(judge, rule->needs);
    enum ap_truth truth = absent ? AP_UNKNOWN : ap_expr_evaluate(&rule->when, judge->root);
    if (truth == AP_TRUE)
        return fire(judge, rule);
    if (truth == AP_UNKNOWN && !judge->options->compared)
        ap_judge_not_evaluated(judge, rule, absent);
    return AP_OK;
}

/* A remark, or one on the recording, explains what rows that are missing look like, wherever they would lie. */
static bool is_about_time(const struct ap_fired *cause)
{
    return cause->rule->severity > AP_SEVERITY_info && cause->rule->domain != AP_DOMAIN_quality;
}

/* Where the rows lie that the finding stands on; NULL where that is not known. A rule that ranks by nothing stands on the
 * first figure of its condition. */
static struct ap_stretches *time_of(const struct ap_judge *judge, const struct ap_fired *fired)
{
    if (!fired->rule->rank_by_count) {
        const char *path =
            fired->rule->when.comparison_count ? ap_figure_text(fired->rule->when.comparisons[0].figure->path) : "";
        struct ap_stretches *time = ap_model_time_of(judge->model, path);
        return time && time->count ? time : NULL;
    }
    for (size_t i = 0; i < fired->rule->rank_by_count; i++) {
        struct ap_stretches *time = ap_model_time_of(judge->model, ap_figure_text(fired->rule->rank_by[i]->path));
        if (time && time->count)
            return time;
    }
    return NULL;
}

/* Does the finding @cause explain enough of @symptom, by size alone? At least half of what the symptom could save. */
static bool explains(const struct ap_fired *cause, const struct ap_fired *symptom)
{
    if (!cause->has_saving || !symptom->has_saving ||
        ap_rule_ranks_by_time(cause->rule) != ap_rule_ranks_by_time(symptom->rule))
        return true;
    return cause->saving >= symptom->saving - symptom->saving / 2;
}

/* Where the recording is of something else than the run, what else is read from it is no advice. */
static bool hides_all(const struct ap_judge *judge)
{
    for (size_t i = 0; i < judge->fired_count; i++)
        if (judge->fired[i].rule->suppresses_all)
            return true;
    return false;
}

static void hide_advice(struct ap_judge *judge)
{
    for (size_t i = 0; i < judge->fired_count; i++)
        if (ap_rule_is_about_the_trace(judge->fired[i].rule) && !judge->fired[i].rule->suppresses_all &&
            (judge->fired[i].severity > AP_SEVERITY_info || judge->fired[i].rule->domain != AP_DOMAIN_quality))
            judge->fired[i].hidden = true;
}

static bool is_suppressed_by(const struct ap_fired *symptom, const struct ap_fired *cause)
{
    for (size_t i = 0; i < symptom->rule->suppressed_by_count; i++)
        if (symptom->rule->suppressed_by[i] == cause->rule)
            return true;
    return false;
}

/* By time, where it is known for both: causes that lie elsewhere explain nothing, however large they are; several of them
 * explain together what they cover. */
static enum ap_status hide_symptom(struct ap_judge *judge, size_t number)
{
    struct ap_fired *symptom = &judge->fired[number];
    struct ap_stretches *own = time_of(judge, symptom), causes = { .list = NULL };
    struct ap_gate *gate = judge->text.gate;
    for (size_t i = 0; i < number; i++) {
        const struct ap_fired *cause = &judge->fired[i];
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

static enum ap_status hide_symptoms(struct ap_judge *judge)
{
    if (hides_all(judge))
        hide_advice(judge);
    for (size_t i = 0; i < judge->fired_count; i++)
        AP_TRY(hide_symptom(judge, i));
    return AP_OK;
}

/* Bytes weigh no more than a limit of their severity, and time nothing where a replay gains none, so that many weigh the
 * same. Of bytes, what is held for a good reason stands behind what is saved. */
static double saved_share(const struct ap_fired *fired)
{
    const char *path = fired->rule->rank_by_count ? ap_figure_text(fired->rule->rank_by[0]->path) : "";
    return ap_rule_ranks_by_time(fired->rule) || strstr(path, "saved_bytes") ? fired->share : 0;
}

static int by_rank(const void *left, const void *right)
{
    const struct ap_fired *a = left, *b = right;
    bool a_info = a->severity == AP_SEVERITY_info, b_info = b->severity == AP_SEVERITY_info;
    if (a_info != b_info)
        return a_info ? 1 : -1;
    AP_BY_LARGER(a->weight, b->weight);
    AP_BY_LARGER(a->severity, b->severity);
    AP_BY_LARGER(saved_share(a), saved_share(b));
    return ap_text_compare(a->rule->id, b->rule->id);
}

static bool ranks_by(const struct ap_rule *rule, const char *path)
{
    return rule->rank_by_count && strncmp(ap_figure_text(rule->rank_by[0]->path), path, strlen(path)) == 0;
}

/* That the host is waited for is the sum of all that it does, time outside of operators that of all that Python does there.
 * The least severity of a cause that comes before that; info where the finding is no such sum. */
static int least_of_causes(const struct ap_rule *rule)
{
    if (ranks_by(rule, "verdict.host."))
        return AP_SEVERITY_medium;
    return ranks_by(rule, "cpu.thread_summary.long_gaps_us") ? AP_SEVERITY_low : AP_SEVERITY_info;
}

/* Half of its time, where that is known for both. */
static bool lies_within(const struct ap_judge *judge, const struct ap_fired *cause, const struct ap_fired *symptom)
{
    struct ap_stretches *own = time_of(judge, cause), *whole = time_of(judge, symptom);
    return !own || !whole || ap_stretches_overlap_ns(own, whole) >= (ap_stretches_length_ns(own) + 1) / 2;
}

/* What is not a cause of it, and weighs more than its cause, would come first then: beside a verdict about the host. */
static bool has_other_between(const struct ap_judge *judge, const struct ap_fired *symptom, double cause_weight)
{
    for (size_t i = 0; i < judge->fired_count; i++) {
        const struct ap_fired *other = &judge->fired[i];
        if (!other->hidden && other->weight > cause_weight && other->weight < symptom->weight &&
            other->severity >= AP_SEVERITY_medium && is_about_time(other) && !is_suppressed_by(symptom, other))
            return true;
    }
    return false;
}

/* Of that a cause that is named and weighs a good part of it comes first: it tells what to change. */
static void put_behind_causes(struct ap_judge *judge)
{
    for (size_t i = 0; i < judge->fired_count; i++) {
        struct ap_fired *symptom = &judge->fired[i];
        int least = least_of_causes(symptom->rule);
        double largest = symptom->weight * PART_OF_CAUSES;
        bool has_cause = false;
        for (size_t j = 0; j < judge->fired_count && !symptom->hidden && least > AP_SEVERITY_info; j++) {
            const struct ap_fired *cause = &judge->fired[j];
            if (cause->hidden || cause->severity < least || !is_about_time(cause) || !cause->has_saving ||
                cause->weight < largest || !is_suppressed_by(symptom, cause) || !lies_within(judge, cause, symptom))
                continue;
            largest = cause->weight;
            has_cause = true;
        }
        if (has_cause && largest <= symptom->weight && !has_other_between(judge, symptom, largest))
            symptom->weight = largest * BEHIND_CAUSE;
    }
}

/* Where the rows that it is about are known, none of them is of another phase than the one that was asked for. */
static bool is_wanted(const struct ap_judge *judge, const struct ap_fired *fired)
{
    return ap_rule_is_wanted(fired->rule, judge->options) && fired->in_phase != 0;
}

static enum ap_status rank(struct ap_judge *judge)
{
    ap_sort(judge->fired, judge->fired_count, sizeof(*judge->fired), by_rank);
    for (size_t i = 0; i < judge->fired_count; i++)
        if (!judge->fired[i].hidden && is_wanted(judge, &judge->fired[i]))
            AP_TRY(ap_fired_weigh_by_gain(judge, &judge->fired[i]));
    put_behind_causes(judge);
    ap_sort(judge->fired, judge->fired_count, sizeof(*judge->fired), by_rank);
    return AP_OK;
}

static enum ap_status tell(struct ap_judge *judge, struct ap_value *findings)
{
    AP_TRY(hide_symptoms(judge));
    AP_TRY(rank(judge));
    for (size_t i = 0; i < judge->fired_count; i++) {
        if (judge->fired[i].hidden)
            continue;
        if (is_wanted(judge, &judge->fired[i]))
            AP_TRY(ap_judge_tell(judge, findings, &judge->fired[i]));
        else
            judge->left_out_count++;
    }
    return AP_OK;
}

static enum ap_status judge_all(struct ap_judge *judge, struct ap_value *findings)
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
    struct ap_judge judge = {
        .rubric = rubric,
        .options = options ? options : &everything,
        .model = model,
        .root = &model->root,
        .text = { .gate = model->arena.gate },
        .not_evaluated = compared ? NULL : ap_add_list(model, &model->root, "not_evaluated"),
        .reterr = reterr,
    };
    AP_TRY(ap_model_status(model, reterr));
    look_at_report(&judge);
    struct ap_value *last = findings->as.children.last;
    enum ap_status status = judge_all(&judge, findings);
    move_to_front(findings, last);
    ap_text_buffer_release(&judge.text);
    AP_FREE(model->arena.gate, judge.fired, judge.fired_capacity);
    return status;
}
