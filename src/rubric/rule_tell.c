/* SPDX-License-Identifier: MIT
 * What a rule has to say of a run: a finding, or what it lacks to tell. */
#include <stdio.h>
#include <string.h>

#include "rule_judge.h"
#include "value_text.h"

#include "poison.h"

/* Of a part of something that is not there at all, the whole is what to ask for. */
uint32_t ap_judge_absent(const struct ap_judge *judge, uint32_t artifacts)
{
    uint32_t absent = 0;
    for (size_t i = 0; i < ap_artifact_count(); i++)
        if (artifacts >> i & 1 && judge->lacks[i] < AP_ARTIFACT_MAX)
            absent |= UINT32_C(1) << judge->lacks[i];
    return absent;
}

static void add_requests(struct ap_judge *judge, struct ap_value *list, uint32_t artifacts)
{
    for (size_t i = 0; i < ap_artifact_count(); i++)
        if (artifacts & UINT32_C(1) << i) {
            const char *own = ap_program_advice(judge->root, ap_artifact_id(i));
            ap_add_string(judge->model, list, NULL, own ? own : ap_artifact_request(i));
        }
}

/* The figure, or the part of the report that it would stand in where there is none. */
static void add_unknown_figure(struct ap_judge *judge, struct ap_value *list, const struct ap_figure_info *figure)
{
    char text[400];
    const char *path = ap_figure_text(figure->path);
    struct ap_text part = { path, strcspn(path, ".") };
    const struct ap_value *found = ap_value_member_of(judge->root, part), *said = ap_value_first(list);
    if (!found || found->type == AP_VALUE_NULL)
        (void)snprintf(text, sizeof(text), "`%.*s`, of which this input has nothing", (int)part.bytes, part.data);
    else
        (void)snprintf(text, sizeof(text), "a value of `%s` (%s), which this input does not give", path,
                       ap_figure_text(figure->words));
    while (said && !ap_text_is(ap_value_text(said), text))
        said = said->next;
    if (!said)
        ap_add_string(judge->model, list, NULL, text);
}

static void note_unknown(struct ap_judge *judge, const struct ap_figure_info *figure, struct ap_value *list,
                         uint32_t *artifacts)
{
    size_t artifact;
    if (!figure || ap_figure_value(judge->root, figure))
        return;
    if (ap_artifact_behind(judge->root, ap_figure_text(figure->path), &artifact))
        *artifacts |= UINT32_C(1) << artifact;
    else
        add_unknown_figure(judge, list, figure);
}

void ap_judge_not_evaluated(struct ap_judge *judge, const struct ap_rule *rule, uint32_t absent)
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

/* Figures of rules are of the run: where the report is about a phase, it says what that is. Remarks on the recording have
 * none of a part. */
static enum ap_status add_phase(struct ap_judge *judge, const struct ap_fired *fired)
{
    char text[240], time[AP_VALUE_TEXT_BYTES], part[AP_VALUE_TEXT_BYTES];
    struct ap_value phase = { .type = AP_VALUE_TIME_NS, .as.integer = ap_judge_phase_ns(judge, fired->rule) };
    struct ap_value in_phase = { .type = AP_VALUE_RATIO, .as.number = fired->in_phase };
    bool of_devices = fired->rule->domain == AP_DOMAIN_gpu;
    if (phase.as.integer < 0 || (fired->rule->domain == AP_DOMAIN_quality && !ap_rule_ranks_by_time(fired->rule)))
        return AP_OK;
    (void)ap_format_value(&phase, time, sizeof(time));
    (void)snprintf(text, sizeof(text),
                   " These figures, and what is predicted, are of the whole run; %s for the phase %.40s for %s of it.",
                   of_devices ? "devices work" : "host or devices work", judge->options->phase, time);
    AP_TRY(ap_text_buffer_add(&judge->text, ap_text_of(text), judge->reterr));
    if (fired->in_phase < 0)
        return AP_OK;
    (void)ap_format_value(&in_phase, part, sizeof(part));
    (void)snprintf(text, sizeof(text),
                   " That phase has %s of the device time that this is about: so much of the saving is told.", part);
    return ap_text_buffer_add(&judge->text, ap_text_of(text), judge->reterr);
}

static enum ap_status add_filled(struct ap_judge *judge, struct ap_value *finding, const struct ap_fired *fired,
                                 enum ap_rule_text which)
{
    const struct ap_rule *rule = fired->rule;
    judge->text.used = 0;
    AP_TRY(ap_rule_text_fill(rule, rule->texts[which], judge->root, &judge->text, judge->reterr));
    if (which == AP_TEXT_observation && ap_rule_is_about_the_trace(rule))
        AP_TRY(add_phase(judge, fired));
    if (which == AP_TEXT_observation && rule->source.bytes) {
        AP_TRY(ap_text_buffer_add(&judge->text, AP_TEXT(" Threshold: "), judge->reterr));
        AP_TRY(ap_rule_text_fill(rule, rule->source, judge->root, &judge->text, judge->reterr));
        AP_TRY(ap_text_buffer_add(&judge->text, AP_TEXT("."), judge->reterr));
    }
    ap_add_text(judge->model, finding, ap_rule_text_keys[which], (struct ap_text){ judge->text.data, judge->text.used });
    return AP_OK;
}

/* Of several limits to the same side of one figure only the farthest says anything. */
static bool says_less(const struct ap_judge *judge, const struct ap_expr *when, size_t index)
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
static void add_evidence(struct ap_judge *judge, struct ap_value *finding, const struct ap_rule *rule)
{
    struct ap_value *list = ap_add_list(judge->model, finding, "evidence");
    for (size_t i = 0; i < rule->when.comparison_count; i++) {
        const struct ap_comparison *comparison = &rule->when.comparisons[i];
        struct ap_value limit;
        if (ap_comparison_test(comparison, judge->root) != AP_TRUE || says_less(judge, &rule->when, i))
            continue;
        bool has_limit = ap_comparison_limit(comparison, judge->root, &limit);
        struct ap_value *row = ap_add_object(judge->model, list, NULL);
        ap_add_string(judge->model, row, "metric", ap_figure_text(comparison->figure->path));
        ap_add_string(judge->model, row, "op", ap_test_name(comparison->test));
        ap_add_figure(judge->model, row, "value", ap_figure_value(judge->root, comparison->figure));
        ap_add_figure(judge->model, row, "threshold", has_limit ? &limit : NULL);
    }
}

/* By so much more a replay has to gain than the bound before that is told. */
#define NOTICEABLY 1.01

/* Amdahl: what share of the whole would go, and how much faster the rest alone is. Another recording makes no run faster. */
static void add_gain(struct ap_judge *judge, struct ap_value *finding, const struct ap_fired *fired)
{
    struct ap_value *gain = ap_add_object(judge->model, finding, "gain");
    bool time = ap_rule_ranks_by_time(fired->rule), is_gain = fired->share >= 0 && !ap_rule_is_of_recording(fired->rule);
    double share = 0;
    ap_add_bool(judge->model, gain, "by_replay", (double)fired->told > NOTICEABLY * (double)fired->saving);
    if (!is_gain) {
        ap_add_null(judge->model, gain, "whole");
        ap_add_null(judge->model, gain, "share_ratio");
    } else {
        const char *whole = ap_fired_told_whole(judge, fired);
        share = (double)fired->told / (double)ap_value_integer(ap_value_at(judge->root, whole), 1);
        ap_add_string(judge->model, gain, "whole", whole);
        ap_add_ratio(judge->model, gain, "share_ratio", share);
    }
    bool speeds_up = time && is_gain && fired->rule->domain != AP_DOMAIN_quality;
    ap_add_quotient(judge->model, gain, "speedup_bound_ratio", 1, speeds_up ? 1 - share : 0);
}

static uint32_t wished_by(const struct ap_rule *rule)
{
    uint32_t wished = rule->missing;
    for (size_t i = 0; i < rule->confidence_clause_count; i++)
        if (!rule->confidence_clauses[i].with)
            wished |= UINT32_C(1) << rule->confidence_clauses[i].artifact;
    return wished;
}

static void add_phases(struct ap_judge *judge, struct ap_value *list, const struct ap_rule *rule)
{
    for (size_t i = 0; i < AP_PHASE_COUNT; i++)
        if (rule->phases & UINT32_C(1) << i)
            ap_add_string(judge->model, list, NULL, ap_phases[i]);
}

static enum ap_status add_threshold_source(struct ap_judge *judge, struct ap_value *finding, const struct ap_rule *rule)
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

enum ap_status ap_judge_tell(struct ap_judge *judge, struct ap_value *findings, const struct ap_fired *fired)
{
    struct ap_model *model = judge->model;
    const struct ap_rule *rule = fired->rule;
    bool time = ap_rule_ranks_by_time(rule);
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
        AP_TRY(add_filled(judge, finding, fired, (enum ap_rule_text)i));
    ap_add_known_time(model, finding, "saves_us", fired->has_saving && time && !ap_rule_is_of_recording(rule), fired->told);
    ap_add_known_bytes(model, finding, "saves_bytes", fired->has_saving && !time, fired->told);
    add_gain(judge, finding, fired);
    add_evidence(judge, finding, rule);
    AP_TRY(add_threshold_source(judge, finding, rule));
    ap_rule_add_places(rule, model, finding);
    AP_TRY(ap_rule_add_causes(rule, model, finding, judge->reterr));
    add_requests(judge, ap_add_list(model, finding, "missing"), ap_judge_absent(judge, wished_by(rule)));
    ap_rule_add_command(rule, judge->options, model, finding);
    ap_rule_add_change(rule, judge->root, fired->has_saving && time ? (int64_t)fired->saving : 0, model, finding);
    if (judge->options->compared)
        ap_add_null(model, finding, "prediction"); /* what changed since another run is no cause */
    return AP_OK;
}
