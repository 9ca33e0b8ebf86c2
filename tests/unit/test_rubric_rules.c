/* SPDX-License-Identifier: MIT
 * The rules that ship: each fires on figures just beyond its thresholds and is silent just beside them. The figures are
 * made from the document itself, so a new rule is tested without a line here; test_rubric_figures.c has figures that do not
 * follow the document. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rule_model.h"
#include "tap.h"

#include "poison.h"

static struct ap_gate gate;
static struct ap_rubric *rubric;

/* ---- figures for a condition ---- */

static double step_of(const struct ap_figure_info *figure, double limit)
{
    return figure->unit == AP_UNIT_ratio || figure->unit == AP_UNIT_number ? fabs(limit) * 1e-9 + 1e-12 : 1;
}

/* Give the figure of @comparison a value right at the edge, on the side where the comparison holds, or on the other one. */
static void put_edge(struct ap_model *model, const struct ap_comparison *comparison, bool holding)
{
    struct ap_value limit = { .type = AP_VALUE_NULL };
    double edge = 0, other;
    (void)ap_comparison_limit(comparison, &model->root, &limit);
    if (ap_value_number(&limit, &edge) && comparison->other &&
        ap_value_number(ap_figure_value(&model->root, comparison->other), &other))
        edge = other * comparison->limit;
    double beyond = edge + step_of(comparison->figure, edge), before = edge - step_of(comparison->figure, edge);
    switch (comparison->test) {
    case AP_TEST_less: put_figure(model, comparison->figure, holding ? before : edge); break;
    case AP_TEST_less_equal: put_figure(model, comparison->figure, holding ? edge : beyond); break;
    case AP_TEST_greater: put_figure(model, comparison->figure, holding ? beyond : edge); break;
    case AP_TEST_greater_equal: put_figure(model, comparison->figure, holding ? edge : before); break;
    case AP_TEST_equal: put_figure(model, comparison->figure, holding ? edge : beyond); break;
    case AP_TEST_not_equal: put_figure(model, comparison->figure, holding ? beyond : edge); break;
    case AP_TEST_is_true: put_figure(model, comparison->figure, holding); break;
    case AP_TEST_is_false: put_figure(model, comparison->figure, !holding); break;
    case AP_TEST_is_known:
    case AP_TEST_is_unknown:
        if (holding == (comparison->test == AP_TEST_is_known))
            put_figure(model, comparison->figure, 0);
        else
            put_null(model, ap_figure_text(comparison->figure->path));
        break;
    default: ok(false, "rules have no other tests"); break;
    }
}

/* What other figures are compared with has to be there first, of different sizes. */
static void put_others(struct ap_model *model, const struct ap_expr *expr)
{
    for (size_t i = 0; i < expr->comparison_count; i++)
        if (expr->comparisons[i].other)
            put_figure(model, expr->comparisons[i].other, 1e10 / (double)(i + 1));
}

/* All comparisons of @rule hold, but number @but; -1: all hold; -2: none does. */
static void put_rule(struct ap_model *model, const struct ap_rule *rule, int but)
{
    ap_model_init(model, &gate);
    put_artifacts(model);
    put_others(model, &rule->when);
    for (int i = 0; i < (int)rule->when.comparison_count; i++)
        if (i != but && but != -2 && ap_comparison_test(&rule->when.comparisons[i], &model->root) != AP_TRUE)
            put_edge(model, &rule->when.comparisons[i], true);
    for (int i = 0; i < (int)rule->when.comparison_count; i++)
        if (i == but || but == -2)
            put_edge(model, &rule->when.comparisons[i], false);
}

static void claim(bool holds, const struct ap_rule *rule, const char *what)
{
    char text[200];
    (void)snprintf(text, sizeof(text), "%s: %s", rule->id.data, what);
    ok(holds, text);
}

static bool needs_are_met(const struct ap_model *model, const struct ap_rule *rule)
{
    for (size_t i = 0; i < ap_artifact_count(); i++)
        if (rule->needs & UINT32_C(1) << i && !ap_artifact_is_there(&model->root, i))
            return false;
    return true;
}

/* Whether the rule fires where its comparisons have these values, judged here once more without the rubric's own code. */
static bool expected(const struct ap_model *model, const struct ap_rule *rule)
{
    bool stack[2 * AP_EXPR_MAX];
    size_t used = 0, next = 0;
    for (size_t i = 0; i < rule->when.step_count; i++) {
        if (rule->when.steps[i] == AP_STEP_compare) {
            stack[used++] = ap_comparison_test(&rule->when.comparisons[next++], &model->root) == AP_TRUE;
            continue;
        }
        used--;
        stack[used - 1] =
            rule->when.steps[i] == AP_STEP_and ? stack[used - 1] && stack[used] : stack[used - 1] || stack[used];
    }
    return stack[0] && needs_are_met(model, rule);
}

static void a_rule_fires_beyond_its_thresholds_and_not_beside_them(const struct ap_rule *rule)
{
    struct ap_model model;
    bool evaluated = false;
    put_rule(&model, rule, -1);
    claim(fires(&model, rule, &evaluated), rule, "fires just beyond its thresholds");
    ap_model_release(&model);
    put_rule(&model, rule, -2);
    claim(!fires(&model, rule, &evaluated), rule, "is silent just beside them");
    ap_model_release(&model);
    for (int i = 0; i < (int)rule->when.comparison_count && rule->when.comparison_count > 1; i++) {
        put_rule(&model, rule, i);
        bool want = expected(&model, rule);
        claim(fires(&model, rule, &evaluated) == want, rule,
              want ? "another branch still holds" : "one failing comparison is enough");
        ap_model_release(&model);
    }
}

/* Rules about a run of many ranks and about a hang are asked nothing in a report about something else. */
static bool is_apart(const struct ap_rule *rule)
{
    const char *path = rule->when.comparison_count ? ap_figure_text(rule->when.comparisons[0].figure->path) : "";
    return ap_rule_is_about_comparison(rule) || ap_rule_is_of_profile(rule) || strncmp(path, "cluster.", 8) == 0 ||
           strncmp(path, "hang.", 5) == 0;
}

static void a_rule_without_its_inputs_asks_for_them(const struct ap_rule *rule)
{
    struct ap_model model;
    bool evaluated = false;
    ap_model_init(&model, &gate);
    bool fired = fires(&model, rule, &evaluated);
    const struct ap_value *first = ap_value_first(ap_value_at(&model.root, "not_evaluated"));
    bool asks = ap_value_count(ap_value_member(first, "missing")) > 0;
    claim(!fired && asks != is_apart(rule) && (!asks || !evaluated), rule,
          "asks for its inputs when there are none, but for those of a question of its own");
    ap_model_release(&model);
}

static bool names_a_figure(struct ap_text text)
{
    for (size_t i = 0; i < ap_figure_count; i++) {
        size_t bytes = strlen(ap_figure_text(ap_figures[i].path));
        for (size_t at = 0; ap_figures[i].words && at + bytes + 2 <= text.bytes; at++)
            if (text.data[at] == '`' && text.data[at + bytes + 1] == '`' &&
                memcmp(text.data + at + 1, ap_figure_text(ap_figures[i].path), bytes) == 0)
                return true;
    }
    return false;
}

static void a_rule_is_complete(const struct ap_rule *rule)
{
    claim(names_a_figure(rule->texts[AP_TEXT_validation]), rule, "the validation names a figure");
    if (rule->severity > AP_SEVERITY_info)
        claim(strchr(rule->texts[AP_TEXT_observation].data, '{') != NULL, rule, "the observation tells a measured value");
    bool recording = strcmp(rule->bottleneck, "trace-quality") == 0;
    claim(recording == (rule->domain == AP_DOMAIN_quality), rule,
          "rules about the recording are of domain quality, and no others");
    bool own = true;
    for (const struct ap_rule *other = rubric->first; other; other = other->next)
        own = own && (other == rule || !ap_text_equal(other->texts[AP_TEXT_trade_off], rule->texts[AP_TEXT_trade_off]));
    claim(own, rule, "the trade-off is that of its own action");
}

/* ---- figures of real recordings: the first finding has to be the right one ---- */

struct figure {
    const char *path;
    double number;
};

static void put_figures(struct ap_model *model, const struct figure *figures, size_t count)
{
    ap_model_init(model, &gate);
    put_bool(model, "trace.complete", true);
    put_bool(model, "trace.recorded.gpu", true);
    put_bool(model, "trace.recorded.runtime", true);
    put_bool(model, "trace.recorded.accelerator", false);
    put_bool(model, "memory.recorded.blocks", true);
    put_count(model, "cpu.operator_summary.events", 10000);
    for (size_t i = 0; i < count; i++)
        put_figure(model, ap_figure_find(ap_text_of(figures[i].path)), figures[i].number);
}

static void first_finding_is(const struct figure *figures, size_t count, const char *want, const char *not_at_all)
{
    struct ap_model model;
    struct ap_error error;
    put_figures(&model, figures, count);
    is_int(ap_rubric_apply(rubric, NULL, &model, &error), AP_OK, "the rubric is applied");
    const struct ap_value *findings = ap_value_at(&model.root, "findings");
    is_text(ap_value_text(ap_value_member(ap_value_first(findings), "rule_id")), want, want);
    bool met = false;
    for (const struct ap_value *it = ap_value_first(findings); it; it = it->next)
        met = met || ap_text_is(ap_value_text(ap_value_member(it, "rule_id")), not_at_all);
    ok(!met, not_at_all);
    ap_model_release(&model);
}

#define FIRST(figures, want, not_at_all) first_finding_is(figures, AP_COUNT_OF(figures), want, not_at_all)

static void a_loader_in_the_process_comes_before_the_convolutions(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 1049.4e6 },
        { "gpu.window_us", 1040e6 },
        { "gpu.busy_us", 630e6 },
        { "gpu.idle_us", 410e6 },
        { "gpu.utilization_ratio", 0.606 },
        { "gpu.kernel.count", 8772 },
        { "gpu.kernel.short_ratio", 0.62 },
        { "gpu.kernel.top_share_ratio", 0.45 },
        { "gpu.kernel.top_total_dur_us", 280e6 },
        { "gpu.communication.exposed_ratio", 0 },
        { "cpu.signals.dataloader.window_share_ratio", 0.396 },
        { "cpu.signals.dataloader.total_dur_us", 415.8e6 },
        { "cpu.signals.dataloader_single.window_share_ratio", 0.396 },
        { "cpu.signals.dataloader_single.total_dur_us", 415.8e6 },
        { "data_loading.spared_us", 412e6 },
        { "cpu.signals.graph_launch.count", 0 },
        { "steps.count", 6 },
    };
    FIRST(figures, "dataloader-in-process", "gpu-underused");
}

static void communication_that_hides_nothing_comes_first_at_full_utilization(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 86.6e6 },
        { "gpu.window_us", 86.6e6 },
        { "gpu.busy_us", 84e6 },
        { "gpu.idle_us", 2.6e6 },
        { "gpu.utilization_ratio", 0.97 },
        { "gpu.communication.exposed_ratio", 0.64 },
        { "gpu.communication.exposed_us", 55.6e6 },
        { "gpu.kernel.count", 2995 },
        { "gpu.kernel.short_ratio", 0.78 },
        { "steps.count", 3 },
        { "cpu.signals.synchronize.per_step", 1 },
        { "cpu.signals.synchronize.window_share_ratio", 0.44 },
        { "cpu.signals.synchronize.total_dur_us", 37.9e6 },
        { "cpu.signals.graph_launch.count", 0 },
    };
    FIRST(figures, "exposed-communication", "explicit-sync");
}

static void a_starved_gpu_is_not_called_communication_bound(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 667e6 },
        { "gpu.window_us", 660.6e6 },
        { "gpu.busy_us", 157.5e6 },
        { "gpu.idle_us", 503.1e6 },
        { "gpu.utilization_ratio", 0.238 },
        { "split.judged.idle_causes.not_recorded_ratio", 0 },
        { "gpu.communication.exposed_ratio", 0.06 },
        { "gpu.communication.exposed_us", 39.6e6 },
        { "gpu.kernel.count", 2700 },
        { "gpu.kernel.short_ratio", 0.4 },
        { "gpu.kernel.top_share_ratio", 0.28 },
        { "verdict.host.judged_ratio", 0.03 },
        { "steps.count", 3 },
        { "cpu.signals.graph_launch.count", 0 },
    };
    FIRST(figures, "gpu-underused", "exposed-communication");
}

static void tiny_kernels_of_a_slow_host_are_called_host_bound(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 84.5e6 },
        { "gpu.window_us", 84.5e6 },
        { "gpu.busy_us", 11.6e6 },
        { "gpu.idle_us", 72.9e6 },
        { "gpu.utilization_ratio", 0.137 },
        { "gpu.communication.exposed_ratio", 0.025 },
        { "gpu.kernel.count", 768 },
        { "gpu.kernel.short_ratio", 0.76 },
        { "cpu.signals.graph_launch.count", 0 },
        { "gpu.memcpy.device_ratio", 0.067 },
        { "gpu.memcpy.device_dur_us", 0.78e6 },
        { "cpu.signals.compiled_region.count", 0 },
    };
    FIRST(figures, "host-bound-small-ops", "gpu-underused");
}

static void a_trace_of_the_start_is_told_to_be_one(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 43425e6 },
        { "gpu.window_us", 12920e6 },
        { "gpu.busy_us", 66e6 },
        { "gpu.idle_us", 12854e6 },
        { "gpu.utilization_ratio", 0.005 },
        { "cpu.signals.device_malloc.window_share_ratio", 0.18 },
        { "cpu.signals.device_malloc.total_dur_us", 7966e6 },
        { "gpu.kernel.count", 79 },
        { "gpu.kernel.short_ratio", 0.5 },
        { "cpu.signals.copy.window_share_ratio", 0.69 },
        { "cpu.signals.copy.total_dur_us", 30000e6 },
    };
    FIRST(figures, "cold-start-only", "gpu-underused");
    FIRST(figures, "cold-start-only", "copy-as-symptom");
}

static void a_copy_that_waits_for_a_busy_gpu_costs_nothing(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 383e6 },
        { "gpu.window_us", 382e6 },
        { "gpu.busy_us", 378e6 },
        { "gpu.idle_us", 4e6 },
        { "gpu.utilization_ratio", 0.99 },
        { "cpu.signals.copy.window_share_ratio", 0.348 },
        { "cpu.signals.copy.total_dur_us", 133e6 },
        { "copies.htod_pageable.bytes", 38e6 },
        { "gpu.memcpy.pageable_dur_us", 3.46e6 },
        { "copies.htod_pageable.dur_us", 3.46e6 },
    };
    FIRST(figures, "pageable-copies", "copy-as-symptom");
}

static void a_copy_that_blocks_while_the_gpu_idles_is_the_cause(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 474e6 },
        { "gpu.window_us", 473.7e6 },
        { "gpu.busy_us", 9.8e6 },
        { "gpu.idle_us", 464e6 },
        { "gpu.utilization_ratio", 0.021 },
        { "cpu.signals.copy.window_share_ratio", 0.977 },
        { "cpu.signals.copy.total_dur_us", 463e6 },
        { "cpu.signals.graph_launch.count", 1 },
    };
    FIRST(figures, "copy-as-symptom", "graph-gaps");
}

static void waiting_for_a_large_copy_is_told_once(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 340e6 },
        { "gpu.window_us", 340e6 },
        { "gpu.busy_us", 308e6 },
        { "gpu.idle_us", 32e6 },
        { "gpu.memcpy.dtoh_bytes", 335e6 },
        { "gpu.memcpy.dtoh_dur_us", 259e6 },
        { "gpu.memcpy.dtoh_held_us", 287e6 },
        { "sync.idle_us", 27.5e6 },
        { "sync.idle_share_ratio", 0.08 },
        { "sync.costly_count", 5 },
    };
    FIRST(figures, "large-results-to-host", "device-ran-dry");
}

static void weights_that_are_unpacked_are_told_once(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 36e6 },
        { "trace.recorded.shapes", 1 },
        { "habits.weight_made.cost_ratio", 0.58 },
        { "habits.weight_made.gain_us", 18.6e6 },
        { "compute.dequantized.kernel_ratio", 0.45 },
        { "compute.dequantized.total_dur_us", 14.4e6 },
    };
    FIRST(figures, "weights-made-anew", "dequantized-weights");
}

static void waiting_for_gloo_is_not_called_python_time(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 1285e6 },
        { "trace.recorded.gpu", 0 },
        { "trace.recorded.runtime", 0 },
        { "cpu.signals.gloo.window_share_ratio", 1.66 },
        { "cpu.signals.gloo.total_dur_us", 2135e6 },
        { "cpu.thread_summary.idle_us", 1110e6 },
        { "cpu.thread_summary.long_gaps_us", 1000e6 },
        { "steps.count", 5 },
    };
    FIRST(figures, "cpu-communication", "time-outside-operators");
}

static void full_memory_is_not_called_slack(void)
{
    static const struct figure figures[] = {
        { "memory.recorded.history", 1 },
        { "memory.history.oom_count", 1 },
        { "memory.oom_summary.count", 1 },
        { "memory.oom_summary.truly_full_count", 1 },
        { "memory.oom_summary.one_huge_request_count", 0 },
        { "memory.oom_summary.external_fragmentation_count", 0 },
        { "memory.oom_summary.private_pools_count", 0 },
        { "memory.oom_summary.other_users_count", 0 },
        { "memory.summary.reserved_bytes", 40e9 },
        { "memory.state.slack_bytes", 16e9 },
        { "memory.state.slack_ratio", 0.4 },
        { "memory.state.wholly_free_segment_bytes", 0 },
        { "memory.fragmentation.stranded_bytes", 16e9 },
        { "memory.fragmentation.stranded_ratio", 0.4 },
    };
    FIRST(figures, "oom-truly-full", "memory-slack");
    FIRST(figures, "oom-truly-full", "stranded-memory");
    FIRST(figures, "oom-truly-full", "oom-recorded");
}

static void cache_that_each_step_fills_is_not_called_slack(void)
{
    static const struct figure figures[] = {
        { "memory.recorded.history", 1 },
        { "memory.summary.reserved_bytes", 10e9 },
        { "memory.state.slack_bytes", 7e9 },
        { "memory.state.slack_ratio", 0.7 },
        { "memory.state.wholly_free_segment_bytes", 6e9 },
        { "memory.state.private_pool_bytes", 0 },
        { "memory.peak.requested_bytes", 9.5e9 },
        { "memory.spike.usual_peak_bytes", 9.5e9 },
        { "memory.fragmentation.stranded_bytes", 2.5e9 },
        { "memory.fragmentation.stranded_ratio", 0.25 },
        { "memory.leaks.leaking", 1 },
        { "memory.leaks.periods", 8 },
        { "memory.leaks.sure", 1 },
        { "memory.leaks.held_bytes", 122880 },
    };
    FIRST(figures, "memory-leak", "memory-slack");
    FIRST(figures, "memory-leak", "stranded-memory");
    struct ap_model model;
    struct ap_error error;
    put_figures(&model, figures, AP_COUNT_OF(figures));
    is_int(ap_rubric_apply(rubric, NULL, &model, &error), AP_OK, "the rubric is applied");
    is_text(ap_value_text(ap_value_member(ap_value_first(ap_value_at(&model.root, "findings")), "severity")), "info",
            "a list of numbers is a remark");
    ap_model_release(&model);
}

/* What alone had let the request pass is high, where the run ends there; behind a failure that it goes on from it is not. */
static void what_a_caught_failure_had_to_spare_is_no_high_finding(void)
{
    static const struct figure wide[] = {
        { "memory.avoidable.logits.saved_ratio", 0.25 }, { "memory.avoidable.logits.saved_bytes", 3e9 },
        { "memory.oom_summary.truly_full_count", 1 },    { "memory.oom_summary.requested_bytes", 2e9 },
        { "memory.avoidable.scores.saved_ratio", 0.25 }, { "memory.avoidable.scores.saved_bytes", 3e9 },
    };
    static const char *const rules[] = { "logits-at-peak", "attention-scores" };
    for (size_t i = 0; i < 2 * AP_COUNT_OF(rules); i++) {
        bool goes_on = i % 2, evaluated;
        struct ap_model model;
        put_figures(&model, wide, AP_COUNT_OF(wide));
        put_artifacts(&model);
        put_count(&model, "memory.oom_summary.passes_behind", goes_on ? 2 : 1);
        ok(fires(&model, ap_rubric_find(rubric, ap_text_of(rules[i / 2])), &evaluated), "a finding");
        is_text(ap_value_text(ap_value_member(ap_value_first(ap_value_at(&model.root, "findings")), "severity")),
                goes_on ? "low" : "high", rules[i / 2]);
        ap_model_release(&model);
    }
}

/* What grew by less than lay free in pieces is not what failed the request; by more, it filled the device. */
static void a_failure_in_pieces_comes_before_what_grew_by_less(void)
{
    for (int more = 0; more < 2; more++) {
        const struct figure figures[] = {
            { "memory.recorded.history", 1 },
            { "memory.oom_summary.count", 1 },
            { "memory.oom_summary.external_fragmentation_count", 1 },
            { "memory.oom_summary.requested_bytes", 3e8 },
            { "memory.oom_summary.inactive_bytes", 1e9 },
            { "memory.summary.reserved_bytes", 9e9 },
            { "memory.peak.requested_bytes", 8.8e9 },
            { "memory.leaks.leaking", 1 },
            { "memory.leaks.periods", 10 },
            { "memory.leaks.sure", 1 },
            { "memory.leaks.held_bytes", more ? 1.1e9 : 9e8 },
            { "memory.leaks.leaking_ratio", 0.03 },
        };
        FIRST(figures, more ? "memory-leak" : "oom-fragmented", "memory-slack");
    }
}

/* Simulations have no layers; equations of derivatives, and learning to learn, are made of gradients of gradients. */
static void what_a_method_is_made_of_is_a_remark(void)
{
    static const struct figure plain[] = {
        { "trace.window_us", 1000e6 },
        { "habits.double_work.window_share_ratio", 0.25 },
        { "habits.double_work.saves_us", 140e6 },
        { "habits.model_layer.count", 4 },
        { "habits.second_order.window_share_ratio", 0.25 },
        { "habits.second_order.total_us", 250e6 },
        { "habits.second_order.saves_us", 250e6 },
        { "cpu.operator_summary.self_dur_us", 900e6 },
    };
    static const struct {
        const char *rule, *severity;
        struct figure other;
    } cases[] = {
        { "double-precision", "medium", { "habits.model_layer.count", 1 } },
        { "double-precision", "info", { "habits.model_layer.count", 0 } },
        { "double-precision", "info", { "habits.second_order.window_share_ratio", 0.6 } },
        { "second-order", "low", { "habits.second_order.total_us", 400e6 } },
        { "second-order", "info", { "habits.second_order.total_us", 500e6 } },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model model;
        bool evaluated;
        put_figures(&model, plain, AP_COUNT_OF(plain));
        put_artifacts(&model);
        put_bool(&model, "trace.recorded.gpu", false);
        put_bool(&model, "trace.recorded.runtime", false);
        put_figure(&model, ap_figure_find(ap_text_of(cases[i].other.path)), cases[i].other.number);
        ok(fires(&model, ap_rubric_find(rubric, ap_text_of(cases[i].rule)), &evaluated), "a finding");
        is_text(ap_value_text(ap_value_member(ap_value_first(ap_value_at(&model.root, "findings")), "severity")),
                cases[i].severity, cases[i].rule);
        ap_model_release(&model);
    }
}

/* Full once while it warms up and once behind that, a run may go on evenly; full again and again it does not. */
static void retries_that_go_on_are_high(void)
{
    for (int steady = 1; steady <= 2; steady++) {
        const struct figure figures[] = { { "memory.churn.retry_bursts", 2 },
                                          { "memory.churn.retry_bursts_steady", steady } };
        struct ap_model model;
        bool evaluated;
        put_figures(&model, figures, AP_COUNT_OF(figures));
        put_artifacts(&model);
        ok(fires(&model, ap_rubric_find(rubric, AP_TEXT("cache-retries")), &evaluated), "a finding");
        is_text(ap_value_text(ap_value_member(ap_value_first(ap_value_at(&model.root, "findings")), "severity")),
                steady > 1 ? "high" : "medium", "by those in steady state");
        ap_model_release(&model);
    }
}

static void a_clean_run_gets_no_advice(void)
{
    static const struct figure figures[] = {
        { "trace.window_us", 1000e6 },
        { "gpu.window_us", 1000e6 },
        { "gpu.busy_us", 950e6 },
        { "gpu.idle_us", 50e6 },
        { "gpu.utilization_ratio", 0.95 },
        { "gpu.communication.exposed_ratio", 0.02 },
        { "gpu.kernel.count", 5000 },
        { "gpu.kernel.short_ratio", 0.2 },
        { "gpu.kernel.top_share_ratio", 0.2 },
        { "steps.count", 5 },
        { "steps.steady.cv_ratio", 0.02 },
        { "steps.cold_start_ratio", 1.01 },
        { "memory.summary.reserved_bytes", 8e9 },
        { "memory.state.slack_ratio", 0.1 },
        { "trace.recorded.stacks", 1 },
        { "trace.recorded.shapes", 1 },
    };
    struct ap_model model;
    struct ap_error error;
    put_figures(&model, figures, AP_COUNT_OF(figures));
    is_int(ap_rubric_apply(rubric, NULL, &model, &error), AP_OK, "the rubric is applied");
    for (const struct ap_value *it = ap_value_first(ap_value_at(&model.root, "findings")); it; it = it->next)
        is_text(ap_value_text(ap_value_member(it, "severity")), "info", "nothing above info on a clean run");
    ap_model_release(&model);
}

/* ---- tables ---- */

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void units_of_figures_stand_in_their_names(void)
{
    for (size_t i = 0; i < ap_figure_count; i++) {
        const char *path = ap_figure_text(ap_figures[i].path);
        if (!ap_figures[i].words)
            continue;
        /* a distribution of times carries the unit itself: queue_delay_us.p50 */
        enum ap_unit unit = ends_with(path, "_us") || strstr(path, "_us.") ? AP_UNIT_time
                            : ends_with(path, "_ratio")                    ? AP_UNIT_ratio
                                                                           : AP_UNIT_count;
        bool other = ap_figures[i].unit != AP_UNIT_time && ap_figures[i].unit != AP_UNIT_ratio;
        ok(ap_figures[i].unit == unit || (unit == AP_UNIT_count && other), path);
    }
}

static void every_figure_has_an_artifact_to_ask_for(void)
{
    struct ap_model model;
    ap_model_init(&model, &gate);
    for (size_t i = 0; i < ap_figure_count; i++) {
        size_t artifact;
        if (ap_figures[i].words)
            ok(ap_artifact_behind(&model.root, ap_figure_text(ap_figures[i].path), &artifact),
               ap_figure_text(ap_figures[i].path));
    }
    ap_model_release(&model);
}

/* The document lists the artifacts for people: none may be forgotten there. */
static void the_document_names_every_artifact(void)
{
    struct ap_text text = ap_rubric_builtin();
    for (size_t i = 0; i < ap_artifact_count(); i++) {
        char code[40];
        (void)snprintf(code, sizeof(code), "`%s`", ap_artifact_id(i));
        ok(ap_text_contains_folded(text, code), code);
    }
}

/* ---- the rules that were compiled in ---- */

static bool is_same_value(const struct ap_value *a, const struct ap_value *b)
{
    bool same = a->type == b->type && ap_text_equal(a->key, b->key) && ap_text_equal(ap_value_text(a), ap_value_text(b)) &&
                ap_value_integer(a, -1) == ap_value_integer(b, -1);
    const struct ap_value *one = ap_value_first(a), *other = ap_value_first(b);
    for (; same && one && other; one = one->next, other = other->next)
        same = is_same_value(one, other);
    return same && !one && !other;
}

/* All that --explain tells of it. */
static bool is_explained_alike(const struct ap_rubric *other, struct ap_text id)
{
    struct ap_model one, two;
    struct ap_error error;
    ap_model_init(&one, &gate);
    ap_model_init(&two, &gate);
    bool same = ap_rubric_explain(rubric, id, NULL, &one, &one.root, &error) == AP_OK &&
                ap_rubric_explain(other, id, NULL, &two, &two.root, &error) == AP_OK && is_same_value(&one.root, &two.root);
    ap_model_release(&one);
    ap_model_release(&two);
    return same;
}

static bool is_same_comparison(const struct ap_comparison *a, const struct ap_comparison *b)
{
    return ap_text_equal(a->path, b->path) && ap_text_equal(a->other_path, b->other_path) && a->figure == b->figure &&
           a->other == b->other && a->test == b->test && a->has_limit == b->has_limit && a->is_change == b->is_change &&
           a->in_percent == b->in_percent && !(a->limit < b->limit || a->limit > b->limit) &&
           ap_text_equal(a->text, b->text);
}

static bool is_same_expr(const struct ap_expr *a, const struct ap_expr *b)
{
    bool same = a->comparison_count == b->comparison_count && a->step_count == b->step_count &&
                memcmp(a->steps, b->steps, a->step_count) == 0;
    for (size_t i = 0; same && i < a->comparison_count; i++)
        same = is_same_comparison(&a->comparisons[i], &b->comparisons[i]);
    return same;
}

static bool has_same_lists(const struct ap_rule *a, const struct ap_rule *b)
{
    bool same = a->severity_clause_count == b->severity_clause_count && a->place_count == b->place_count &&
                a->confidence_clause_count == b->confidence_clause_count && a->rank_by_count == b->rank_by_count &&
                a->suppressed_by_count == b->suppressed_by_count && a->rests_on_count == b->rests_on_count;
    for (size_t i = 0; same && i < a->severity_clause_count; i++)
        same = a->severity_clauses[i].severity == b->severity_clauses[i].severity &&
               is_same_expr(&a->severity_clauses[i].when, &b->severity_clauses[i].when);
    for (size_t i = 0; same && i < a->confidence_clause_count; i++)
        same = a->confidence_clauses[i].one_lower == b->confidence_clauses[i].one_lower &&
               a->confidence_clauses[i].confidence == b->confidence_clauses[i].confidence &&
               a->confidence_clauses[i].with == b->confidence_clauses[i].with &&
               a->confidence_clauses[i].artifact == b->confidence_clauses[i].artifact;
    for (size_t i = 0; same && i < a->place_count; i++)
        same = ap_text_equal(a->places[i].path, b->places[i].path) && ap_text_equal(a->places[i].key, b->places[i].key) &&
               ap_text_equal(a->places[i].value, b->places[i].value);
    for (size_t i = 0; same && i < a->suppressed_by_count; i++)
        same = ap_text_equal(a->suppressed_by[i]->id, b->suppressed_by[i]->id);
    for (size_t i = 0; same && i < a->rank_by_count; i++)
        same = a->rank_by[i] == b->rank_by[i];
    for (size_t i = 0; same && i < a->rests_on_count; i++)
        same = ap_text_equal(a->rests_on[i], b->rests_on[i]);
    return same;
}

/* And what it does not tell. */
static bool is_same_rule(const struct ap_rule *a, const struct ap_rule *b)
{
    bool same = a->line == b->line && ap_text_equal(a->id, b->id) && ap_text_equal(a->title, b->title) &&
                ap_text_equal(a->source, b->source) && ap_text_equal(a->change, b->change) && a->needs == b->needs &&
                a->missing == b->missing && a->severity == b->severity && a->confidence == b->confidence &&
                a->domain == b->domain && a->phases == b->phases && ap_text_equal(a->due_to, b->due_to) &&
                a->suppresses_all == b->suppresses_all && a->not_among_ranks == b->not_among_ranks &&
                a->among_ranks == b->among_ranks && a->hardware.platform == b->hardware.platform &&
                is_same_expr(&a->when, &b->when) && has_same_lists(a, b);
    for (int i = 0; i < AP_TEXT_COUNT_; i++)
        same = same && ap_text_equal(a->texts[i], b->texts[i]);
    return same;
}

/* write_rules wrote them when the program was built. */
static void what_was_compiled_in_is_what_the_document_says(void)
{
    struct ap_rubric *builtin = NULL;
    struct ap_error error;
    if (!ok(ap_rubric_read_builtin(&gate, &builtin, &error) == AP_OK, "the rules that were compiled in are read")) {
        note(error.message);
        return;
    }
    is_u64(ap_rubric_rule_count(builtin), ap_rubric_rule_count(rubric), "as many as the document has");
    const struct ap_rule *other = builtin->first;
    for (const struct ap_rule *rule = rubric->first; rule && other; rule = rule->next, other = other->next)
        if (!ok(is_same_rule(rule, other) && is_explained_alike(builtin, rule->id) &&
                    ap_rubric_find(builtin, rule->id) == other,
                "it is that of the document"))
            tap_show("rule", rule->id.data, rule->id.bytes);
    ap_rubric_free(builtin);
}

int main(void)
{
    struct ap_error error;
    struct ap_text builtin = ap_rubric_builtin();
    ap_gate_init(&gate, 0);
    if (ap_rubric_parse(&gate, builtin.data, builtin.bytes, "references/interpretation.md", &rubric, &error) != AP_OK) {
        note(error.message);
        ok(false, "the document that ships is read");
        return done();
    }
    ok(ap_rubric_rule_count(rubric) >= 24, "it has rules");
    for (const struct ap_rule *rule = rubric->first; rule; rule = rule->next) {
        a_rule_fires_beyond_its_thresholds_and_not_beside_them(rule);
        if (!ap_text_is(rule->id, "missing-snapshot") && rule->when.comparisons[0].test != AP_TEST_is_unknown)
            a_rule_without_its_inputs_asks_for_them(rule);
        a_rule_is_complete(rule);
    }
    a_loader_in_the_process_comes_before_the_convolutions();
    communication_that_hides_nothing_comes_first_at_full_utilization();
    a_starved_gpu_is_not_called_communication_bound();
    tiny_kernels_of_a_slow_host_are_called_host_bound();
    a_trace_of_the_start_is_told_to_be_one();
    a_copy_that_waits_for_a_busy_gpu_costs_nothing();
    a_copy_that_blocks_while_the_gpu_idles_is_the_cause();
    waiting_for_a_large_copy_is_told_once();
    weights_that_are_unpacked_are_told_once();
    waiting_for_gloo_is_not_called_python_time();
    full_memory_is_not_called_slack();
    cache_that_each_step_fills_is_not_called_slack();
    what_a_caught_failure_had_to_spare_is_no_high_finding();
    a_failure_in_pieces_comes_before_what_grew_by_less();
    what_a_method_is_made_of_is_a_remark();
    retries_that_go_on_are_high();
    a_clean_run_gets_no_advice();
    units_of_figures_stand_in_their_names();
    every_figure_has_an_artifact_to_ask_for();
    the_document_names_every_artifact();
    what_was_compiled_in_is_what_the_document_says();
    ap_rubric_free(rubric);
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory went back");
    return done();
}
