/* SPDX-License-Identifier: MIT
 * What is a change and what is noise, figures by their path, conditions, batch sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparing.h"
#include "condition.h"
#include "figure_path.h"
#include "rank_test.h"
#include "scaling.h"
#include "tap.h"
#include "tree.h"

#include "poison.h"

#define MS INT64_C(1000000)
#define MIB ((int64_t)1 << 20)

static struct ap_gate gate;

static bool is_near(double got, double want)
{
    return fabs(got - want) < 1e-6;
}

static void says(const struct ap_value *object, const char *path, const char *want, const char *claim)
{
    is_text(ap_value_text(ap_value_at(object, path)), want, claim);
}

/* ---- the rank test ---- */

static struct ap_rank_test test_of(const int64_t *before, size_t before_count, const int64_t *after, size_t after_count)
{
    int64_t a[200], b[200];
    struct ap_rank_test test = { .p_value = -1 };
    struct ap_error error;
    memcpy(a, before, before_count * sizeof(a[0]));
    memcpy(b, after, after_count * sizeof(b[0]));
    ok(ap_rank_test(&gate, a, before_count, b, after_count, &test, &error) == AP_OK, "tested");
    return test;
}

#define TEST(before, after) test_of(before, AP_COUNT_OF(before), after, AP_COUNT_OF(after))

/* The p-values are counted over all ways to choose the second sample. */
static void p_values_are_exact(void)
{
    static const int64_t low[] = { 1, 2, 3, 4 }, high[] = { 5, 6, 7, 8 }, mixed[] = { 2, 4, 6, 9 },
                         other[] = { 1, 3, 5, 7, 8 };
    static const int64_t three[] = { 1, 2, 3 }, later[] = { 4, 5, 6 }, same[] = { 7, 7, 7, 7 }, tied[] = { 1, 1, 2 },
                         ties[] = { 2, 3, 3 };
    ok(is_near(TEST(low, high).p_value, 2.0 / 70), "all of four below all of four: 2 of 70 ways");
    ok(is_near(TEST(low, high).least_p, 2.0 / 70), "and there is no less");
    ok(is_near(TEST(three, later).p_value, 0.1), "three and three reach 0.1 at best");
    ok(TEST(three, later).least_p > AP_STEP_LEVEL, "so they are too few");
    ok(is_near(TEST(mixed, other).p_value, 114.0 / 126), "U = 9, next to the middle");
    ok(is_near(TEST(same, same).p_value, 1), "all equal: no difference");
    ok(is_near(TEST(tied, ties).p_value, 0.2), "ties have mid-ranks: 4 of 20 ways are as far");
    is_int(TEST(low, high).shift, 4, "the shift is the median of all differences");
    is_int(TEST(high, low).shift, -4, "and turns around");
    ok(is_near(TEST(high, low).p_value, TEST(low, high).p_value), "p does not");
}

static void many_values_are_approximated(void)
{
    int64_t low[100], high[100];
    for (int64_t i = 0; i < 100; i++) {
        low[i] = i;
        high[i] = i + 20;
    }
    struct ap_rank_test test = TEST(low, high);
    ok(!test.exact && fabs(test.p_value - 1.0975218e-05) < 1e-11, "a shift of 20 in 100 is far beyond chance");
    is_int(test.shift, 20, "and is found");
    ok(TEST(low, low).p_value > 0.99, "no shift is none");
}

/* ---- figures by path ---- */

static void lists_are_folded_by_maximum(void)
{
    struct ap_model model;
    ap_model_init(&model, &gate);
    put_time(&model, "steps.p50_us", 5 * MS);
    struct ap_value *devices = put_list(&model, "memory.devices");
    for (int64_t i = 0; i < 3; i++) {
        struct ap_value *device = ap_add_object(&model, devices, NULL);
        if (i == 2)
            ap_add_null(&model, device, "peak_bytes");
        else
            ap_add_bytes(&model, device, "peak_bytes", (i + 1) * MIB);
        struct ap_value *inner = ap_add_list(&model, device, "sizes");
        ap_add_count(&model, inner, NULL, 10 * i);
    }
    is_int(ap_value_integer(ap_figure_fold(&model.root, AP_TEXT("steps.p50_us")), 0), 5 * MS, "a plain path");
    is_int(ap_value_integer(ap_figure_fold(&model.root, AP_TEXT("memory.devices.peak_bytes")), 0), 2 * MIB,
           "the largest of a list");
    is_int(ap_value_integer(ap_figure_fold(&model.root, AP_TEXT("memory.devices.sizes")), 0), 20, "also of lists in a list");
    ok(!ap_figure_fold(&model.root, AP_TEXT("memory.devices")) && !ap_figure_fold(&model.root, AP_TEXT("steps.p50")),
       "no figure, no value");
    ok(!ap_figure_fold(&model.root, AP_TEXT("")), "no path, no value");
    ap_model_release(&model);
}

/* ---- comparisons ---- */

/* How much steps vary: as the report says, and the largest part of a step that one is off by. */
static struct {
    double cv_ratio, part;
} vary = { 0.01, 0.02 };

/* Twelve steps of @step_ns, each a little off, with compute and idle. */
static void build_report(struct ap_model *model, int64_t step_ns, int64_t kernel_ns, unsigned seed)
{
    ap_model_init(model, &gate);
    put_count(model, "steps.count", 12);
    put_time(model, "steps.mean_us", step_ns);
    put_count(model, "steps.steady.count", 12);
    put_ratio(model, "steps.steady.cv_ratio", vary.cv_ratio);
    put_time(model, "trace.window_us", 12 * step_ns);
    struct ap_value *rows = put_list(model, "steps.rows"), *parts = put_list(model, "split.steps");
    ap_add_string(model, tree_place(model, "split"), "basis", "gpu");
    for (int64_t i = 0; i < 12; i++) {
        seed = seed * 1103515245u + 12345u;
        int64_t dur_ns = step_ns + (int64_t)(seed >> 16) * 1000 % (int64_t)((double)step_ns * vary.part);
        for (int of_split = 0; of_split < 2; of_split++) {
            struct ap_value *row = ap_add_object(model, of_split ? parts : rows, NULL);
            ap_add_bool(model, row, "steady", true);
            ap_add_time(model, row, "dur_us", dur_ns);
            if (!of_split)
                continue;
            ap_add_time(model, row, "compute_us", 12 * kernel_ns / 12);
            ap_add_time(model, row, "idle_us", dur_ns - kernel_ns);
        }
    }
    struct ap_value *kernels = put_list(model, "gpu.kernels");
    struct ap_value *kernel = ap_add_object(model, kernels, NULL);
    ap_add_string(model, kernel, "name", "gemm");
    ap_add_count(model, kernel, "count", 24);
    ap_add_time(model, kernel, "total_dur_us", 12 * kernel_ns);
    struct ap_value *finding = ap_add_object(model, put_list(model, "findings"), NULL);
    ap_add_string(model, finding, "rule_id", "slow");
    ap_add_string(model, finding, "severity", kernel_ns > 6 * MS ? "high" : "medium");
    struct ap_value *waiting = ap_add_object(model, tree_place(model, "findings"), NULL);
    ap_add_string(model, waiting, "rule_id", "waits");
    ap_add_string(model, waiting, "domain", "cpu");
    ap_add_string(model, waiting, "severity", "high");
    ap_add_time(model, waiting, "saves_us", 12 * (step_ns - kernel_ns));
    put_time(model, "gpu.kernel.total_dur_us", 12 * kernel_ns);
    put_ratio(model, "gpu.utilization_ratio", (double)kernel_ns / (double)step_ns);
    (void)put_list(model, "not_evaluated");
    put_bytes(model, "memory.summary.reserved_bytes", 100 * MIB + kernel_ns);
}

static enum ap_status compare_quietly(struct ap_model *after, const struct ap_model *before)
{
    struct ap_compare_run run = { "old.json", "report", &before->root };
    struct ap_compare_options options = { .before = &run, .before_count = 1, .after_path = "new.json" };
    struct ap_error error;
    return ap_compare(after, &options, &error);
}

static const struct ap_value *compare(struct ap_model *after, const struct ap_model *before)
{
    ok(compare_quietly(after, before) == AP_OK, "compared");
    return ap_value_member(&after->root, "comparison");
}

/* @after is the first of @count, with @count before. */
static const struct ap_value *compare_runs(struct ap_model *after, const struct ap_model *before, size_t count)
{
    struct ap_compare_run runs[2][8];
    struct ap_error error;
    for (size_t i = 0; i < count; i++) {
        runs[0][i] = (struct ap_compare_run){ "old.json", "report", &before[i].root };
        runs[1][i] = (struct ap_compare_run){ "new.json", "report", &after[i].root };
    }
    struct ap_compare_options options = {
        .before = runs[0], .before_count = count, .more = runs[1] + 1, .more_count = count - 1, .after_path = "new.json"
    };
    ok(ap_compare(after, &options, &error) == AP_OK, "compared");
    return ap_value_member(&after->root, "comparison");
}

static void noise_is_no_change(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 5 * MS, 77);
    const struct ap_value *comparison = compare(&after, &before);
    says(comparison, "steps.change", "no change", "other noise");
    says(comparison, "steps.test", "Mann-Whitney U, two-sided, exact", "the test is named");
    ok(!ap_value_first(ap_value_at(comparison, "kernels.rows")), "no kernel");
    ok(!ap_value_first(ap_value_at(comparison, "findings.rows")), "no finding");
    ap_model_release(&before);
    ap_model_release(&after);
}

static void put_host_operator(struct ap_model *model, const char *name, int64_t step_ns, int64_t count)
{
    struct ap_value *row = ap_add_object(model, put_list(model, "cpu.operators_by_self"), NULL);
    put_count(model, "cpu.operator_summary.names", 1);
    ap_add_string(model, row, "name", name);
    ap_add_time(model, row, "self_dur_us", 12 * step_ns);
    ap_add_count(model, row, "count", count);
}

static void figures_hidden_by_noise_are_not_alike(void)
{
    struct ap_model before, after;
    vary.cv_ratio = 0.3;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 6 * MS, 1);
    const struct ap_value *row = ap_value_first(ap_value_at(compare(&after, &before), "figures"));
    for (; row && !ap_text_is(ap_text_member(row, "metric"), "gpu.utilization_ratio");)
        row = row->next;
    says(row, "change", "too few values", "a sixth more, where twice the spread of the steps is 60 %");
    ap_model_release(&before);
    ap_model_release(&after);
    vary.cv_ratio = 0.01;
}

static void steps_that_vary_hide_a_change(void)
{
    struct ap_model before, after;
    vary.cv_ratio = 0.3;
    vary.part = 1;
    for (int64_t calls = 24; calls <= 48; calls += 24) {
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 11 * MS, 5 * MS, 2);
        put_host_operator(&before, "aten::sum", MS, 24);
        put_host_operator(&after, "aten::sum", MS / 5, calls);
        const struct ap_value *comparison = compare(&after, &before);
        says(comparison, "steps.change", "too few values", "medians are apart, and the test tells nothing");
        ok(ap_text_starts_with(ap_value_text(ap_value_at(comparison, "verdict.sentence")),
                               "Whether steps are slower cannot be"),
           "which is not that nothing changed");
        ok(!ap_value_first(ap_value_at(comparison, "host_operators.rows")) == (calls == 24),
           "an operator that is called as often may have been stalled");
        ap_model_release(&before);
        ap_model_release(&after);
    }
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 40 * MS, 5 * MS, 2);
    put_host_operator(&before, "aten::sum", 24 * MS, 24);
    put_host_operator(&after, "aten::sum", 50 * MS, 24);
    const struct ap_value *row = ap_value_first(ap_value_at(compare(&after, &before), "host_operators.rows"));
    says(row, "name", "aten::sum", "what is most of a change of the steps is told, however much they vary");
    vary.cv_ratio = 0.01;
    vary.part = 0.02;
    ap_model_release(&before);
    ap_model_release(&after);
}

static void a_single_pair_differs(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 12 * MS, 7 * MS, 2);
    const struct ap_value *comparison = compare(&after, &before);
    says(comparison, "steps.change", "differs", "steps: one run a side says no more");
    says(list_item(ap_value_at(comparison, "split.parts"), 0), "change", "differs", "compute");
    says(list_item(ap_value_at(comparison, "split.parts"), 1), "change", "no change", "not idle");
    const struct ap_value *kernel = ap_value_first(ap_value_at(comparison, "kernels.rows"));
    says(kernel, "change", "differs", "the kernel");
    is_int(ap_value_integer(ap_value_member(kernel, "delta_us"), 0), 2 * MS, "for each step");
    is_int(ap_value_integer(ap_value_member(kernel, "before_count"), 0), 2, "as are the counts");
    says(ap_value_first(ap_value_at(comparison, "findings.rows")), "change", "differs", "the finding");
    ok(ap_text_is(ap_value_text(ap_value_at(comparison, "largest.time.name")), "gemm"), "what changed most has a name");
    says(ap_value_first(ap_value_at(comparison, "memory")), "change", "worse", "memory by 2 MiB of 100");
    ap_model_release(&before);
    ap_model_release(&after);
}

#define RUNS 4

/* Runs of one program whose steps differ by @apart_ns from run to run. */
static void build_runs(struct ap_model *models, int64_t step_ns, int64_t kernel_ns, int64_t apart_ns)
{
    for (unsigned i = 0; i < RUNS; i++) {
        int64_t run_ns = step_ns + (int64_t)i * apart_ns;
        build_report(&models[i], run_ns, kernel_ns, i + 1);
        put_time(&models[i], "steps.steady.p50_us", run_ns);
    }
}

static void release_runs(struct ap_model *models)
{
    for (size_t i = 0; i < RUNS; i++)
        ap_model_release(&models[i]);
}

static bool sentence_has(const struct ap_value *comparison, const char *words);

static void runs_are_tested_where_there_are_several(void)
{
    struct ap_model before[RUNS], after[RUNS];
    build_runs(before, 10 * MS, 5 * MS, MS / 10);
    build_runs(after, 12 * MS, 7 * MS, MS / 10);
    const struct ap_value *comparison = compare_runs(after, before, RUNS);
    says(comparison, "steps.change", "worse", "four runs that are all longer than four others are slower");
    says(comparison, "runs.tested", "runs", "the values are runs");
    is_int(ap_value_integer(ap_value_at(comparison, "steps.after_count"), 0), RUNS, "as many as there are");
    says(ap_value_first(ap_value_at(comparison, "kernels.rows")), "change", "worse", "the kernel too");
    ok(sentence_has(comparison, "; 4 and 4 runs)") && !sentence_has(comparison, "chance"), "the lead names the runs");
    release_runs(before);
    release_runs(after);
    build_runs(before, 10 * MS, 5 * MS, MS);
    build_runs(after, 10 * MS + MS / 2, 5 * MS, MS);
    comparison = compare_runs(after, before, RUNS);
    says(comparison, "steps.change", "no change", "runs that lie among each other are not, however sure their steps are");
    release_runs(before);
    release_runs(after);
    build_runs(before, 10 * MS, 5 * MS, MS / 10);
    build_runs(after, 12 * MS, 7 * MS, MS / 10);
    comparison = compare_runs(after, before, 2);
    says(comparison, "steps.change", "differs", "two runs a side that stand apart differ");
    ok(sentence_has(comparison, "; so few does not tell this from chance between runs"), "and no more is said");
    release_runs(before);
    release_runs(after);
}

static void the_middle_run_stands_for_all(void)
{
    struct ap_model models[RUNS];
    struct ap_compare_run runs[3];
    build_runs(models, 10 * MS, 5 * MS, MS);
    const size_t order[] = { 2, 0, 1 };
    for (size_t i = 0; i < 3; i++)
        runs[i] = (struct ap_compare_run){ "run.json", "trace", &models[order[i]].root };
    is_int((int64_t)ap_compare_middle(runs, 3), 2, "by its steps, not by its place");
    is_int((int64_t)ap_compare_middle(runs, 2), 1, "of two the shorter");
    release_runs(models);
}

/* Rows of operators.top. */
struct op_row {
    const char *name, *caller, *frame, *family;
    int64_t device_ns, calls; /* of a step; 0 = not known */
};

static void put_operators(struct ap_model *model, const struct op_row *rows, size_t count)
{
    struct ap_value *list = put_list(model, "operators.top");
    put_count(model, "operators.names", (int64_t)count);
    put_time(model, "operators.device_us", 60 * MS);
    for (size_t i = 0; i < count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "name", rows[i].name);
        ap_add_string(model, row, "family", rows[i].family);
        ap_add_time(model, row, "device_self_us", 12 * rows[i].device_ns);
        ap_add_count(model, row, "count", 12 * rows[i].calls);
        ap_add_known_string(model, row, "caller", rows[i].caller != NULL, rows[i].caller);
        ap_add_known_string(model, row, "top_frame", rows[i].frame != NULL, rows[i].frame);
    }
}

static const struct ap_value *compare_operators(struct ap_model *models, const struct op_row *before, size_t before_count,
                                                const struct op_row *after, size_t after_count)
{
    build_report(&models[0], 10 * MS, 5 * MS, 1);
    build_report(&models[1], 10 * MS, 5 * MS, 1);
    put_operators(&models[0], before, before_count);
    put_operators(&models[1], after, after_count);
    return ap_value_at(compare(&models[1], &models[0]), "replaced");
}

static void work_under_another_name_is_paired(void)
{
    struct ap_model models[2];
    const struct op_row addmm[] = { { "aten::addmm", "aten::linear", NULL, "matrix multiplication", 2 * MS, 0 },
                                    { "aten::relu", NULL, NULL, "activation", MS, 0 } };
    const struct op_row mm[] = { { "aten::mm", "aten::linear", NULL, "matrix multiplication", 3 * MS, 0 },
                                 { "aten::copy_", "aten::linear", NULL, "copy", MS / 2, 0 },
                                 { "aten::relu", NULL, NULL, "activation", MS, 0 } };
    const struct ap_value *replaced = compare_operators(models, addmm, AP_COUNT_OF(addmm), mm, AP_COUNT_OF(mm));
    const struct ap_value *row = ap_value_first(replaced);
    is_int((int64_t)ap_value_count(replaced), 1, "one thing took another's place");
    says(row, "under", "aten::linear", "under the operator that called both");
    says(row, "by", "caller", "which is said");
    is_int(ap_value_integer(ap_value_member(row, "delta_us"), 0), MS + MS / 2, "with all that came in its place");
    ok(ap_text_is(ap_value_text(ap_value_first(ap_value_member(row, "after"))), "aten::mm"), "the largest comes first");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);

    const struct op_row plain[] = { { "aten::bmm", NULL, "net.py(12): attend", "matrix multiplication", 2 * MS, 0 },
                                    { "aten::softmax", NULL, "net.py(13): attend", "other", MS, 0 } };
    const struct op_row fused[] = { { "aten::flash", NULL, "net.py(14): attend", "attention", MS, 0 } };
    row = ap_value_first(compare_operators(models, plain, AP_COUNT_OF(plain), fused, AP_COUNT_OF(fused)));
    says(row, "by", "line", "fused and unfused stand in one file, though lines moved");
    is_int(ap_value_integer(ap_value_member(row, "before_us"), 0), 3 * MS, "all that the fused one replaces");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);

    const struct op_row compiled[] = { { "CompiledFunction", NULL, NULL, "other", 2 * MS, 0 } };
    row = ap_value_first(compare_operators(models, plain, AP_COUNT_OF(plain), compiled, AP_COUNT_OF(compiled)));
    says(row, "by", "compiled", "compiled code takes in what stood alone");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);

    const struct op_row beside[] = { { "CompiledFunction", NULL, NULL, "other", 2 * MS, 0 },
                                     { "record_param_comms", NULL, NULL, "communication", 3 * MS, 0 } };
    row = ap_value_first(compare_operators(models, plain, AP_COUNT_OF(plain), beside, AP_COUNT_OF(beside)));
    is_int(ap_value_integer(ap_value_member(row, "after_us"), 0), 2 * MS, "no collective");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);

    const struct op_row other[] = { { "aten::sort", NULL, "io.py(3): load", "sorting", 2 * MS, 0 } };
    ok(!ap_value_first(compare_operators(models, plain, AP_COUNT_OF(plain), other, AP_COUNT_OF(other))),
       "what has nothing in common is not paired");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);
}

/* What is called as often as before takes longer or shorter by chance, what others call now is work of theirs, and an
 * operator of no end of its own, such as a sum, is no other one in disguise. */
static void what_is_there_still_was_not_replaced(void)
{
    static const struct {
        struct op_row before, after[2];
        bool is_pair;
        const char *claim;
    } cases[] = {
        { { "aten::gelu", NULL, "net.py(12): mlp", "activation", 3 * MS, 8 },
          { { "aten::gelu", NULL, "net.py(12): mlp", "activation", MS, 8 },
            { "aten::isnan", NULL, "net.py(14): mlp", "other", 2 * MS, 8 } },
          false,
          "called as often" },
        { { "aten::gelu", NULL, "net.py(12): mlp", "activation", 3 * MS, 8 },
          { { "aten::gelu", NULL, "net.py(12): mlp", "activation", MS, 4 },
            { "aten::erf", NULL, "net.py(14): mlp", "other", 2 * MS, 4 } },
          true,
          "called half as often" },
        { { "aten::lu_factor", "aten::inv", NULL, "other", 3 * MS, 8 },
          { { "aten::empty", "aten::inv", NULL, "allocation and fill", MS, 8 }, { .name = NULL } },
          true,
          "of one caller" },
        { { "aten::clamp_min", NULL, NULL, "elementwise", 3 * MS, 8 },
          { { "aten::div", NULL, NULL, "elementwise", 2 * MS, 8 }, { .name = NULL } },
          false,
          "both elementwise" },
        { { "aten::_fused_adamw_", NULL, NULL, "optimizer", 3 * MS, 1 },
          { { "aten::addcdiv_", NULL, NULL, "optimizer", 2 * MS, 8 }, { .name = NULL } },
          true,
          "both of an optimizer" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model models[2];
        size_t count = cases[i].after[1].name ? 2 : 1;
        is_int((int64_t)ap_value_count(compare_operators(models, &cases[i].before, 1, cases[i].after, count)),
               cases[i].is_pair, cases[i].claim);
        ap_model_release(&models[0]);
        ap_model_release(&models[1]);
    }
}

/* An allocation that the same operator calls on one side, and another one on the other. */
static void work_of_another_caller_is_not_paired(void)
{
    static const char *const callers[] = { "aten::inv", "aten::to" };
    for (size_t i = 0; i < AP_COUNT_OF(callers); i++) {
        struct ap_model models[2];
        const struct op_row before[] = { { "aten::lu_factor", "aten::inv", NULL, "other", 3 * MS, 8 },
                                         { "aten::empty", "aten::inv", NULL, "allocation and fill", MS, 1 } };
        const struct op_row after[] = { { "aten::empty", callers[i], NULL, "allocation and fill", 2 * MS, 8 } };
        is_int((int64_t)ap_value_count(compare_operators(models, before, 2, after, 1)), i == 0, callers[i]);
        ap_model_release(&models[0]);
        ap_model_release(&models[1]);
    }
}

/* Without lines or callers: a softmax on one side, attention on the other. Products alone are no attention. */
static void fused_attention_is_paired_with_what_it_is_made_of(void)
{
    struct ap_model models[2];
    const struct op_row plain[] = { { "aten::bmm", NULL, NULL, "matrix multiplication", 2 * MS, 0 },
                                    { "aten::softmax", NULL, NULL, "softmax and loss", MS, 0 } };
    const struct op_row fused[] = { { "aten::_flash_attention_forward", NULL, NULL, "attention", MS, 0 } };
    const struct ap_value *row = ap_value_first(compare_operators(models, plain, 2, fused, 1));
    says(row, "by", "attention", "both are attention");
    is_int(ap_value_integer(ap_value_member(row, "before_us"), 0), 3 * MS, "products and softmax");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);
    ok(!ap_value_first(compare_operators(models, plain, 1, fused, 1)), "products may be anything");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);
}

/* Likewise a norm, and experts. Roots alone are no norm, and a norm that both sides have was not written out. */
static void fused_norms_and_experts_are_paired(void)
{
    static const struct {
        const char *name, *family, *piece, *other, *by;
    } cases[] = { { "_C::rms_norm", "normalisation", "aten::rsqrt", "aten::mul", "normalization" },
                  { "_C::rms_norm", "normalisation", "aten::exp", "aten::mul", NULL },
                  { "aten::relu", "activation", "aten::rsqrt", "aten::mul", NULL },
                  { "vllm::fused_experts", "other", "aten::mm", "aten::index_add_", "experts" },
                  { "aiter::ck_moe_stage1", "other", "aten::mm", "aten::index_add_", "experts" },
                  { "vllm::rotary", "other", "aten::mm", "aten::index_add_", NULL } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model models[2];
        const struct op_row fused[] = { { cases[i].name, NULL, NULL, cases[i].family, MS, 0 } };
        const struct op_row plain[] = { { cases[i].piece, NULL, NULL, "elementwise", MS / 1000, 0 },
                                        { cases[i].other, NULL, NULL, "elementwise arithmetic", 2 * MS, 0 },
                                        { "aten::copy_", NULL, NULL, "copy", MS, 0 } };
        const struct ap_value *row = ap_value_first(compare_operators(models, fused, 1, plain, 3));
        is_int(row != NULL, cases[i].by != NULL, cases[i].name);
        if (row && cases[i].by)
            says(row, "by", cases[i].by, "by what it computes");
        ap_model_release(&models[0]);
        ap_model_release(&models[1]);
    }
}

static void put_shape(struct ap_model *model, const char *types, int64_t device_ns)
{
    struct ap_value *row = ap_add_object(model, put_list(model, "operators.by_shape"), NULL);
    ap_add_string(model, row, "name", "aten::mm");
    ap_add_string(model, row, "types", types);
    ap_add_time(model, row, "device_self_us", 12 * device_ns);
    put_time(model, "operators.device_us", 60 * MS);
}

static void another_type_is_told(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 5 * MS, 1);
    put_shape(&before, "[\"\", \"c10::BFloat16\", \"Scalar\"]", 2 * MS);
    put_shape(&after, "[\"Scalar\", \"float\"]", 4 * MS);
    const struct ap_value *comparison = compare(&after, &before), *row = ap_value_first(ap_value_at(comparison, "types"));
    says(row, "before", "c10::BFloat16", "the first tensor's type, before");
    says(row, "after", "float", "and now");
    ok(sentence_has(comparison, "; aten::mm computes in float, in c10::BFloat16 before"), "in the lead too");
    ap_model_release(&before);
    ap_model_release(&after);
}

static bool sentence_has(const struct ap_value *comparison, const char *words)
{
    struct ap_text sentence = ap_value_text(ap_value_at(comparison, "verdict.sentence"));
    char text[1700];
    (void)snprintf(text, sizeof(text), "%.*s", (int)sentence.bytes, sentence.data);
    return strstr(text, words) != NULL;
}

/* Most of the time on the first ones. */
static void put_dims(struct ap_model *model, const char *first, const char *second)
{
    struct ap_value *list = put_list(model, "operators.by_shape");
    for (int i = 0; i < 2; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "name", "aten::mm");
        ap_add_string(model, row, "dims", i ? second : first);
        ap_add_time(model, row, "device_self_us", 12 * (i ? 1 : 3) * MS);
    }
    put_time(model, "operators.device_us", 60 * MS);
}

/* Of many shapes now one takes most, now another: that changes nothing. */
static void other_shapes_are_told(void)
{
    for (int common = 0; common < 2; common++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 10 * MS, 5 * MS, 1);
        put_dims(&before, "[[1025, 64], [64, 1025]]", "[[32, 32], [32, 32]]");
        put_dims(&after, "[[4096, 32], [32, 32]]", common ? "[[1025, 64], [64, 1025]]" : "[]");
        const struct ap_value *comparison = compare(&after, &before);
        is_u64(ap_value_count(ap_value_at(comparison, "shapes")), !common, "only where none is on both sides");
        is_int(sentence_has(comparison, "; aten::mm works on other shapes ([[4096, 32], [32, 32]] now, [[1025, 64], "
                                        "[64, 1025]] before)"),
               !common, "in the lead too");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Both products of a layer take as long, and which is first on a side is chance. */
static void shapes_are_paired_with_those_like_them(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 5 * MS, 1);
    for (int is_after = 0; is_after < 2; is_after++) {
        struct ap_value *list = put_list(is_after ? &after : &before, "operators.by_shape");
        for (int is_down = 0; is_down < 2; is_down++) {
            struct ap_value *row = ap_add_object(is_after ? &after : &before, list, NULL);
            char dims[64];
            (void)snprintf(dims, sizeof(dims), "[[%d, %d], [%d, %d]]", is_after ? 64 : 32, is_down ? 16 : 8,
                           is_down ? 16 : 8, is_down ? 8 : 16);
            ap_add_string(is_after ? &after : &before, row, "name", "aten::mm");
            ap_add_string(is_after ? &after : &before, row, "dims", dims);
            ap_add_time(is_after ? &after : &before, row, "device_self_us", 12 * (2 * MS + (is_down != is_after)));
        }
        put_time(is_after ? &after : &before, "operators.device_us", 60 * MS);
    }
    ok(sentence_has(compare(&after, &before), "; aten::mm works on other shapes ([[64, 16], [16, 8]] now, [[32, 16], "),
       "the product down with the product down");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* One shape of a product; of what lies alike on a side, another. */
static void put_layouts(struct ap_model *model, const char *dims, const char *layout)
{
    struct ap_value *list = put_list(model, "operators.by_shape");
    for (int i = 0; i < 2; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "name", "aten::mm");
        ap_add_string(model, row, "dims", i ? "[[8, 8], [8, 8]]" : dims);
        ap_add_known_string(model, row, "layout", i || layout, i ? "contiguous, contiguous" : layout);
        ap_add_time(model, row, "device_self_us", 12 * (i ? 1 : 3) * MS);
    }
    put_time(model, "operators.device_us", 60 * MS);
}

static void another_layout_is_told(void)
{
    static const struct {
        const char *dims, *before, *after;
        uint64_t told;
    } cases[] = {
        { "[[64, 32], [32, 16]]", "contiguous, transposed", "contiguous, contiguous", 1 },
        { "[[64, 32], [32, 16]]", "contiguous, transposed", "contiguous, transposed", 0 },
        { "[[64, 32], [32, 16]]", "contiguous, transposed", NULL, 0 }, /* not known, or not alike in all calls */
        { "[[96, 32], [32, 16]]", "contiguous, transposed", "contiguous, contiguous", 0 }, /* of other shapes */
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 10 * MS, 5 * MS, 1);
        put_layouts(&before, "[[64, 32], [32, 16]]", cases[i].before);
        put_layouts(&after, cases[i].dims, cases[i].after);
        const struct ap_value *comparison = compare(&after, &before);
        is_u64(ap_value_count(ap_value_at(comparison, "layouts")), cases[i].told, "tensors of one shape that lie otherwise");
        is_int(sentence_has(comparison, "; tensors of aten::mm lie otherwise in memory (contiguous, contiguous now, "
                                        "contiguous, transposed before)"),
               cases[i].told != 0, "in the lead too");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

static void shapes_are_told_from_where_they_differ(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 5 * MS, 1);
    put_dims(&before, "[[8, 16, 8192, 128], [8, 16, 8192, 128], [8, 16, 8192, 128], []]", "[]");
    put_dims(&after, "[[8, 16, 8192, 128], [8, 16, 8192, 128], [8, 16, 8192, 128], [8192, 8192]]", "[]");
    const struct ap_value *comparison = compare(&after, &before);
    ok(sentence_has(comparison, "; aten::mm works on other shapes (... [8192, 8192]] now, ... []] before)"),
       "the first tensors are the same");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* Each of three operators takes a seventh of the work: together they tell of another input. */
static void many_small_changes_of_shape_are_one(void)
{
    static const char *const names[] = { "aten::mm", "aten::bmm", "aten::add" };
    struct ap_model models[2];
    for (int after = 0; after < 2; after++) {
        build_report(&models[after], 10 * MS, 5 * MS, 1);
        struct ap_value *list = put_list(&models[after], "operators.by_shape");
        for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
            struct ap_value *row = ap_add_object(&models[after], list, NULL);
            ap_add_string(&models[after], row, "name", names[i]);
            ap_add_string(&models[after], row, "dims", after ? "[[16, 8], [8, 8]]" : "[[8, 8], [8, 8]]");
            ap_add_time(&models[after], row, "device_self_us", 12 * 700000);
        }
        put_time(&models[after], "operators.device_us", 60 * MS);
    }
    ok(sentence_has(compare(&models[1], &models[0]), " works on other shapes ([[16, 8], [8, 8]] now, "), "one is named");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);
}

static void put_call(struct ap_model *model, const char *kernel, int64_t count, int64_t kernels, int64_t total_ns)
{
    struct ap_value *row = ap_add_object(model, put_list(model, "compute.operators"), NULL);
    ap_add_string(model, row, "operator", "aten::mm");
    ap_add_string(model, row, "dims", "[[64, 64], [64, 64]]");
    ap_add_string(model, row, "types", "[\"float\", \"float\"]");
    ap_add_string(model, row, "kernel", kernel);
    ap_add_count(model, row, "count", count);
    ap_add_count(model, row, "kernels", kernels);
    ap_add_time(model, row, "total_dur_us", total_ns);
}

static void the_same_work_that_takes_longer_is_the_devices(void)
{
    static const struct {
        const char *kernel;
        int64_t count, kernels;
        bool is_same;
    } cases[] = { { "gemm", 24, 24, true },
                  { "gemm_without_tf32", 24, 24, false },
                  { "gemm", 48, 48, false },
                  { "gemm", 24, 72, false } }; /* with kernels around it that change the layout */
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 12 * MS, 7 * MS, 2);
        put_call(&before, "gemm", 24, 24, 12 * 4 * MS);
        put_call(&after, cases[i].kernel, cases[i].count, cases[i].kernels, 12 * 6 * MS);
        const struct ap_value *comparison = compare(&after, &before);
        is_int(sentence_has(comparison,
                            "; the same kernels on the same shapes, called as often, take 1.50 times as long (80 %"),
               cases[i].is_same, "one kernel, one shape, as many calls");
        is_int(ap_integer_at(comparison, "same_work.kinds", 0), cases[i].is_same, "of one operator");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Twice as slow a kernel for a shape that stayed is no other device. Where types, or the count of calls, are others, so is
 * the work. */
static void another_kernel_for_a_shape_is_told(void)
{
    static const struct {
        const char *kernel;
        int64_t count, ns;
        bool is_told;
    } cases[] = { { "gemm_64x64", 24, 6 * MS, true },
                  { "gemm_64x64", 24, 4 * MS + MS / 4, false }, /* it takes about as long */
                  { "gemm_64x64", 48, 6 * MS, false },
                  { "gemm", 24, 6 * MS, false } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 12 * MS, 7 * MS, 2);
        put_call(&before, "gemm", 24, 24, 12 * 4 * MS);
        put_call(&after, cases[i].kernel, cases[i].count, cases[i].count, 12 * cases[i].ns);
        is_int(sentence_has(compare(&after, &before),
                            "; another kernel serves aten::mm on the same shapes, called as often, and takes 1.50 times as "
                            "long (gemm_64x64 now, gemm before)"),
               cases[i].is_told, "a kernel of another name that takes longer");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Names that begin alike are shown from the argument on that differs. */
static void kernels_with_long_names_are_told_apart(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 12 * MS, 7 * MS, 2);
    put_call(&before, "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>(int)", 24, 24,
             12 * 4 * MS);
    put_call(&after, "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(int)", 24, 24, 12 * 6 * MS);
    ok(sentence_has(compare(&after, &before), "(...4, float>(int) now, ...8, c10::BFloat16>(int) before)"), "from there on");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* One kernel less, another one more, and all of them as long as before: nothing to call the largest change. */
static void a_kernel_that_another_takes_over_is_no_change(void)
{
    for (int64_t other_ms = 2; other_ms <= 6; other_ms += 4) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 10 * MS, 3 * MS, 1);
        put_operators(&before, NULL, 0);
        put_operators(&after, NULL, 0);
        for (int i = 0; i < 2; i++) {
            struct ap_model *model = i ? &after : &before;
            struct ap_value *row = ap_add_object(model, tree_place(model, "gpu.kernels"), NULL);
            ap_add_string(model, row, "name", "other");
            ap_add_count(model, row, "count", 24);
            ap_add_time(model, row, "total_dur_us", 12 * (i ? MS + other_ms * MS : MS));
            put_time(model, "gpu.kernel.total_dur_us", 12 * (i ? 4 * MS + other_ms * MS : 6 * MS));
        }
        is_int(ap_value_at(compare(&after, &before), "largest.time")->type != AP_VALUE_NULL, other_ms == 6,
               "a kernel that takes longer, and not in place of another");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* The candidate does what the baseline did, and copies beside: without steps the longer recording is the slower program. */
static void what_is_done_beside_the_same_calls_is_told(void)
{
    static const struct op_row rows[] = { { "aten::mm", NULL, NULL, "matrix multiplication", 4 * MS, 0 },
                                          { "aten::copy_", NULL, NULL, "copy", 2 * MS, 0 } };
    for (int more_calls = 0; more_calls < 2; more_calls++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 4 * MS, 1);
        build_report(&after, 12 * MS, 6 * MS, 2);
        put_call(&before, "gemm", 24, 24, 12 * 4 * MS);
        put_call(&after, "gemm", more_calls ? 36 : 24, more_calls ? 36 : 24, 12 * 4 * MS);
        put_operators(&before, rows, 1);
        put_operators(&after, rows, 2);
        put_count(&before, "cpu.operator_summary.events", 100);
        put_count(&after, "cpu.operator_summary.events", 150);
        tree_place(&before, "steps")->type = AP_VALUE_NULL;
        tree_place(&after, "steps")->type = AP_VALUE_NULL;
        const struct ap_value *comparison = compare(&after, &before);
        is_int(sentence_has(comparison, "; kernels take 24 ms more (+50.0 %)"), !more_calls, "how much longer");
        is_int(sentence_has(comparison, "; new on the device: aten::copy_ (24 ms)"), !more_calls, "by what");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

static void fewer_launches_are_told(void)
{
    for (int64_t calls = 12; calls <= 12 * 250; calls += 12 * 249) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 10 * MS, 5 * MS, 1);
        put_count(&before, "launches.calls", 12 * 300);
        put_count(&after, "launches.calls", calls);
        put_count(&after, "launches.graph_launches", calls == 12 ? 12 : 0);
        is_int(sentence_has(compare(&after, &before), "; calls that launch work: 1 a step (CUDA graphs now), 300 before"),
               calls == 12, "of graphs where one launches many kernels");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Whatever runs beside a product slows it: that the calls of one kernel took longer says nothing of the device where they
 * are the lesser part of what devices did. */
static void a_part_that_takes_longer_is_not_the_devices(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 8 * MS, 1);
    build_report(&after, 12 * MS, 10 * MS, 2);
    put_call(&before, "gemm", 24, 24, 12 * 4 * MS);
    put_call(&after, "gemm", 24, 24, 12 * 6 * MS);
    const struct ap_value *comparison = compare(&after, &before);
    ok(!sentence_has(comparison, "the same kernels on the same shapes"), "half of the time of kernels is not nearly all");
    ok(ap_value_at(comparison, "same_work")->type == AP_VALUE_NULL, "nor told as a figure");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* Two operators of @dims, and a @third if any. */
static void put_layers(struct ap_model *model, const char *dims, const char *other, const char *third)
{
    struct ap_value *list = put_list(model, "operators.by_shape");
    static const char *const names[] = { "aten::native_layer_norm", "aten::gelu", "aten::cudnn_convolution" };
    for (size_t i = 0; i < (third ? 3 : 2); i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "name", names[i]);
        ap_add_string(model, row, "dims", i == 2 ? third : i ? other : dims);
        ap_add_time(model, row, "device_self_us", 12 * 2 * MS);
    }
    put_time(model, "operators.device_us", 60 * MS);
}

static void a_step_of_a_larger_batch_is_told_for_as_much(void)
{
    static const struct {
        const char *before, *after, *other; /* of the second operator now; before, it was as the first one */
        int64_t step_ns;
        const char *told;
    } cases[] = {
        { "[[8, 64], [64]]", "[[16, 64], [64]]", "[[16, 64], [64]]", 12 * MS, "for as much, it takes 4" },
        { "[[8, 64], [64]]", "[[10, 64], [64]]", "[[10, 64], [64]]", 125 * MS / 10, ", no more than noise" },
        { "[[4, 3, 64, 64]]", "[[6, 3, 64, 64]]", "[[6, 3, 64, 64]]", 20 * MS, "for as much, it takes 3" },
        { "[[16, 64], [64]]", "[[8, 64], [64]]", "[[8, 64], [64]]", 9 * MS, " % more" },
        { "[[8, 64], [64]]", "[[16, 64], [64]]", "[[24, 64], [64]]", 12 * MS, NULL },   /* they contradict each other */
        { "[[8, 64], [64]]", "[[8, 128], [128]]", "[[8, 128], [128]]", 12 * MS, NULL }, /* wider layers: another model */
        { "[[8, 64], [64]]", "[[16, 64], []]", "[[16, 64], []]", 12 * MS, NULL },       /* another form */
        { "[[8, 64], [64]]", "[[16, 64], [64], [64]]", "[[16, 64], [64], [64]]", 12 * MS, NULL },
        { "[[8, 4, 1, 64], [8, 4, 60, 64]]", "[[8, 4, 1, 64], [8, 4, 90, 64]]", "[[8, 4, 1, 64], [8, 4, 90, 64]]", 12 * MS,
          NULL },
        { "[[8, 64], [64]]", "[[12345678901, 64], [64]]", "[[12345678901, 64], [64]]", 12 * MS, NULL },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, cases[i].step_ns, 6 * MS, 1);
        put_layers(&before, cases[i].before, cases[i].before, NULL);
        put_layers(&after, cases[i].after, cases[i].other, NULL);
        const struct ap_value *comparison = compare(&after, &before);
        is_int(sentence_has(comparison, "times as much (batch or length)"), cases[i].told != NULL, cases[i].after);
        ok(!cases[i].told || sentence_has(comparison, cases[i].told), "time for as much");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* A fifth less is no small change, though steps that vary by 15 % do not show it. */
static void uneven_steps_do_not_tell_what_as_much_takes(void)
{
    static const struct {
        int64_t step_ns;
        const char *told, *untold;
    } cases[] = {
        { 158 * MS / 10, "less, but steps vary so much that less than 30 % does not stand out", "no more than noise" },
        { 20 * MS, ", no more than noise", "stand out" },
        { 12 * MS, "for as much, it takes 40.", "stand out" },
    };
    vary.cv_ratio = 0.15;
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, cases[i].step_ns, 6 * MS, 1);
        put_layers(&before, "[[8, 64], [64]]", "[[8, 64], [64]]", NULL);
        put_layers(&after, "[[16, 64], [64]]", "[[16, 64], [64]]", NULL);
        const struct ap_value *comparison = compare(&after, &before);
        ok(sentence_has(comparison, cases[i].told) && !sentence_has(comparison, cases[i].untold), cases[i].told);
        ap_model_release(&before);
        ap_model_release(&after);
    }
    vary.cv_ratio = 0.01;
}

/* Twice the channels look as twice the batch to what goes over all elements; the weights of a layer tell them apart. */
static void twice_as_wide_is_not_twice_as_much(void)
{
    static const struct {
        const char *after, *layer;
        bool told;
    } cases[] = {
        { "[[8, 128, 56, 56], [128]]", "[[8, 128, 56, 56], [128, 128, 3, 3]]", false },
        { "[[16, 64, 56, 56], [64]]", "[[16, 64, 56, 56], [64, 64, 3, 3]]", true },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 20 * MS, 6 * MS, 1);
        put_layers(&before, "[[8, 64, 56, 56], [64]]", "[[8, 64, 56, 56], [64]]", "[[8, 64, 56, 56], [64, 64, 3, 3]]");
        put_layers(&after, cases[i].after, cases[i].after, cases[i].layer);
        is_int(sentence_has(compare(&after, &before), "times as much (batch or length)"), cases[i].told, cases[i].layer);
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Operators of the device are as they were: a kernel of another name took the place of one. */
static void another_name_is_no_new_work(void)
{
    struct ap_model models[2];
    for (int after = 0; after < 2; after++) {
        build_report(&models[after], 10 * MS, 5 * MS, 1);
        put_time(&models[after], "operators.device_us", 60 * MS);
        put_count(&models[after], "gpu.kernel.count", 24);
        struct ap_value *kernel = ap_add_object(&models[after], put_list(&models[after], "gpu.kernels"), NULL);
        ap_add_string(&models[after], kernel, "name", after ? "nvjet" : "cutlass");
        ap_add_count(&models[after], kernel, "count", 24);
        ap_add_time(&models[after], kernel, "total_dur_us", 24 * MS);
    }
    const struct ap_value *comparison = compare(&models[1], &models[0]);
    is_u64(ap_value_count(ap_value_at(comparison, "kernels.rows")), 2, "one is new, one is gone");
    ok(!ap_value_first(ap_value_at(comparison, "largest.time")), "and neither is what changed most");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);
}

/* Steps of the host vary by how far it is ahead: that is no noise of what the devices work. */
static void work_of_devices_is_not_as_noisy_as_the_host(void)
{
    struct ap_model models[2];
    vary.cv_ratio = 0.3;
    for (int after = 0; after < 2; after++) {
        build_report(&models[after], 4 * MS, 4 * MS, 1);
        put_time(&models[after], "gpu.window_us", 12 * (after ? 12 : 10) * MS);
    }
    vary.cv_ratio = 0.01;
    const struct ap_value *comparison = compare(&models[1], &models[0]);
    says(comparison, "verdict.change", "differs", "a fifth more");
    ok(sentence_has(comparison, "a step takes 12 ms, it took 10 ms before (+20.0 %)"), "by the devices");
    ap_model_release(&models[0]);
    ap_model_release(&models[1]);
}

/* A capture of graphs, or a start, is no run: nothing is slower or faster than that. */
static void recordings_of_no_run_are_not_compared(void)
{
    struct ap_model before, after;
    build_report(&before, 20 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 5 * MS, 1);
    struct ap_value *finding = ap_add_object(&before, put_list(&before, "findings"), NULL);
    ap_add_string(&before, finding, "rule_id", "graph-capture-only");
    const struct ap_value *comparison = compare(&after, &before);
    says(comparison, "verdict.change", "not comparable", "they are of different things");
    ok(sentence_has(comparison, "Different recordings (a run now, a capture of graphs before): not the same experiment"),
       "which is said first");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* The kernels take half as long again in the idle time of the same steps. */
static void hidden_kernels_are_no_gain(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 4 * MS, 1);
    build_report(&after, 10 * MS, 6 * MS, 77);
    const struct ap_value *comparison = compare(&after, &before);
    says(comparison, "steps.change", "no change", "steps are as they were");
    says(comparison, "device.change", "differs", "kernels are not");
    says(ap_value_first(ap_value_at(comparison, "figures")), "change", "changed", "a busier device is no gain then");
    says(ap_value_first(ap_value_at(comparison, "findings.rows")), "change", "changed", "nor is one that waits less");
    is_int(ap_value_integer(ap_value_at(comparison, "verdict.better_count"), -1), 0, "no finding is better");
    is_int(ap_value_integer(ap_value_at(comparison, "kernels.worse_count"), -1), 1, "kernels that are worse are counted");
    ok(sentence_has(comparison, "; kernels take 2 ms more a step (+50.0 %); longer: 1 kernel"), "and the lead says it");
    ap_model_release(&before);
    ap_model_release(&after);
    build_report(&before, 12 * MS, 4 * MS, 1);
    build_report(&after, 9 * MS, 6 * MS, 77);
    comparison = compare(&after, &before);
    says(ap_value_first(ap_value_at(comparison, "figures")), "change", "differs", "it may be one where steps are faster");
    says(ap_value_first(ap_value_at(comparison, "findings.rows")), "change", "differs", "and so may be less waiting");
    ap_model_release(&before);
    ap_model_release(&after);
}

static size_t count_changes(const struct ap_value *comparison, const char *path, const char *change)
{
    size_t count = 0;
    for (const struct ap_value *row = ap_value_first(ap_value_at(comparison, path)); row; row = row->next)
        count += ap_text_is(ap_value_text(ap_value_member(row, "change")), change);
    return count;
}

static int64_t sum_of_deltas(const struct ap_value *comparison, const char *path)
{
    int64_t sum = 0;
    for (const struct ap_value *row = ap_value_first(ap_value_at(comparison, path)); row; row = row->next)
        sum += ap_value_integer(ap_value_member(row, "delta_us"), 0);
    return sum;
}

/* A loop that never waits for the device is soon ahead of it: its steps last what the host needs. */
static void steps_of_a_host_that_is_ahead_tell_nothing(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 11 * MS, 5 * MS, 2);
    put_time(&before, "gpu.window_us", 12 * 45 * 2 * MS); /* 45 ms of work a step, by the utilization of a half */
    put_time(&after, "gpu.window_us", 12 * 11 * MS);
    const struct ap_value *comparison = compare(&after, &before);
    says(comparison, "verdict.change", "differs", "a tenth slower on the host is four times as fast");
    struct ap_text sentence = ap_value_text(ap_value_at(comparison, "verdict.sentence"));
    char text[600];
    (void)snprintf(text, sizeof(text), "%.*s", (int)sentence.bytes, sentence.data);
    ok(strstr(text, "takes 11 ms, it took 45 ms before (-75.6 %)") != NULL, "by the longer of host and device");
    says(comparison, "steps.change", "too few values", "steps of the host are no evidence");
    ap_model_release(&before);
    ap_model_release(&after);
}

static void put_ranks(struct ap_model *model, int64_t ranks, int64_t collectives)
{
    put_bool(model, "trace.by_pytorch", true);
    if (ranks)
        put_count(model, "trace.world_size", ranks);
    else
        put_null(model, "trace.world_size");
    put_count(model, "communication.count", collectives);
    put_count(model, "cpu.operator_summary.events", 100);
}

static void one_rank_of_many_is_not_compared_with_a_run_alone(void)
{
    for (int64_t collectives = 0; collectives < 2; collectives++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 14 * MS, 5 * MS, 2);
        put_ranks(&before, 0, collectives);
        put_ranks(&after, 8, 5);
        says(compare(&after, &before), "verdict.change", collectives ? "differs" : "not comparable",
             collectives ? "old recorders tell of no ranks: their collectives do" : "8 ranks now, none told before");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

static void put_run(struct ap_model *model, int64_t ranks, int64_t step_ns, int64_t loading_percent, const char *kind)
{
    ap_model_init(model, &gate);
    put_count(model, "cluster.rank_count", ranks);
    put_count(model, "cluster.steps.count", 5);
    put_time(model, "cluster.steps.p50_us", step_ns);
    put_time(model, "cluster.rank_time_us", ranks * 5 * step_ns);
    put_ratio(model, "cluster.time.compute_ratio", (double)(100 - loading_percent) / 100);
    put_ratio(model, "cluster.time.data_loading_ratio", (double)loading_percent / 100);
    put_text(model, "cluster.verdict.kind", kind);
    put_text(model, "cluster.verdict.sentence", *kind == 'b' ? "no rank is late" : "rank 2 is late by 3 ms");
    (void)put_list(model, "findings");
    (void)put_list(model, "not_evaluated");
}

/* Few long steps of many ranks are not in the median. That nobody could be called on one side is no news. */
static void few_long_steps_of_ranks_are_told(void)
{
    static const struct {
        bool whole;
        const char *told, *change;
    } cases[] = { { true,
                    "Some steps differ: the median step of all ranks takes 10 ms, it took 10 ms before, +0.0 %; but in the "
                    "mean a step takes 13 ms, it took 10 ms before, +30.0 %; of what ranks spend time on, compute changed "
                    "most: +3 ms a step in the mean; now: rank 2 is late by 3 ms",
                    "differs" },
                  { false, "Steps differ by no more than noise: the median step of all ranks", "no change" } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        put_run(&before, 4, 10 * MS, 0, "unknown");
        put_run(&after, 4, 13 * MS, 0, "straggler");
        put_time(&after, "cluster.steps.p50_us", 10 * MS);
        put_bool(&before, "cluster.steps.are_whole", cases[i].whole);
        put_bool(&after, "cluster.steps.are_whole", cases[i].whole);
        put_text(&before, "cluster.verdict.sentence", "no collective could be compared");
        const struct ap_value *comparison = compare(&after, &before);
        ok(sentence_has(comparison, cases[i].told), cases[i].told);
        says(comparison, "verdict.change", cases[i].change, "in one word");
        ok(!sentence_has(comparison, "; before: "), "and no verdict that is none");
        tree_place(&before, "cluster.steps.count")->as.integer = 0;
        ok(sentence_has(compare(&before, &after), "The ranks of one side, or of both, have no steps in common: "),
           "steps that one rank alone has are not compared");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Of many ranks: the steps that all have, what takes more of them, and who is late now. */
static void two_runs_of_many_ranks_are_compared(void)
{
    static const struct {
        int64_t ranks, step_ns, loading_percent;
        const char *kind, *told;
    } cases[] = { { 4, 13 * MS, 24, "straggler",
                    "Steps differ: the median step of all ranks takes 13 ms, it took 10 ms before, +30.0 %; of what ranks "
                    "spend time on, data loading changed most: +3.12 ms a step in the mean; now: rank 2 is late by 3 ms" },
                  { 4, 10 * MS + MS / 10, 0, "balanced",
                    "Steps differ by no more than noise: the median step of all ranks" },
                  { 3, 13 * MS, 0, "balanced", "Different numbers of ranks that are given (3 now, 4 before)" } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        put_run(&before, 4, 10 * MS, 0, "balanced");
        put_run(&after, cases[i].ranks, cases[i].step_ns, cases[i].loading_percent, cases[i].kind);
        const struct ap_value *comparison = compare(&after, &before);
        ok(sentence_has(comparison, cases[i].told), cases[i].kind);
        says(comparison, "verdict.change", i == 0 ? "differs" : i == 1 ? "no change" : "not comparable", "in one word");
        ok(!sentence_has(comparison, "layouts"), "and nothing of what no rank has");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

static void steps_of_another_kind_are_not_compared(void)
{
    static const char *const kinds[] = { "decode", "prefill", NULL };
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 14 * MS, 5 * MS, 2);
        put_text(&before, "engine.mostly", "decode");
        if (kinds[i])
            put_text(&after, "engine.mostly", kinds[i]);
        says(compare(&after, &before), "verdict.change", i == 1 ? "not comparable" : "differs",
             i == 1 ? "prompts now, answers before" : "the same, or not known");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Without steps: is the longer one longer because it holds more? */
static void the_length_of_a_recording_is_that_of_its_work(void)
{
    for (int64_t events = 100; events <= 200; events += 100) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 20 * MS, 15 * MS, 2);
        put_count(&before, "cpu.operator_summary.events", 100);
        put_count(&after, "cpu.operator_summary.events", events);
        tree_place(&before, "steps")->type = AP_VALUE_NULL;
        tree_place(&after, "steps")->type = AP_VALUE_NULL;
        const struct ap_value *largest = ap_value_at(compare(&after, &before), "largest.time");
        ok((largest->type != AP_VALUE_NULL) == (events == 100),
           events == 100 ? "as much work: a change" : "twice the work: none");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* A recording without steps against itself. */
static void kernels_that_take_as_long_are_told(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 5 * MS, 1);
    tree_place(&before, "steps")->type = AP_VALUE_NULL;
    tree_place(&after, "steps")->type = AP_VALUE_NULL;
    const struct ap_value *comparison = compare(&after, &before);
    ok(sentence_has(comparison, "cannot be told; kernels take about as long: "), "where steps tell nothing");
    ap_model_release(&before);
    ap_model_release(&after);
}

static void put_finding(struct ap_model *model, const char *rule, const char *domain, const char *severity, int64_t saves_ns)
{
    struct ap_value *finding = ap_add_object(model, tree_place(model, "findings"), NULL);
    ap_add_string(model, finding, "rule_id", rule);
    ap_add_string(model, finding, "title", rule);
    ap_add_string(model, finding, "domain", domain);
    ap_add_string(model, finding, "severity", severity);
    ap_add_string(model, finding, "bottleneck", "launch-bound");
    ap_add_time(model, finding, "saves_us", saves_ns);
}

/* Each line: a finding on one side alone; is it said? Of 12 steps of 10 ms. */
static void a_cause_that_is_new_or_gone_is_said(void)
{
    static const struct {
        const char *domain, *severity;
        int64_t saves_ns;
        bool said;
        const char *claim;
    } lines[] = {
        { "cpu", "high", 36 * MS, true, "a third of the step" },
        { "cpu", "low", 16 * MS, false, "not what is low and less than half of what changed" },
        { "cpu", "info", 36 * MS, false, "nor what only informs" },
        { "quality", "high", 36 * MS, false, "not what only the recording is blamed for" },
        { "cpu", "medium", 2 * MS, false, "not what is less than the noise" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(lines); i++) {
        struct ap_model with, without, other;
        build_report(&without, 10 * MS, 5 * MS, 1);
        build_report(&with, 13 * MS, 5 * MS, 2);
        put_finding(&with, "Reads", lines[i].domain, lines[i].severity, lines[i].saves_ns);
        is_int(sentence_has(compare(&with, &without), "; new: Reads"), lines[i].said, lines[i].claim);
        build_report(&other, 10 * MS, 5 * MS, 1);
        is_int(sentence_has(compare(&other, &with), "; gone: Reads"), lines[i].said, "and so where it is gone");
        ap_model_release(&with);
        ap_model_release(&without);
        ap_model_release(&other);
    }
}

/* Of shorter steps the rest is a larger share, and of longer ones a smaller. */
static void what_a_share_brings_is_not_said(void)
{
    struct ap_model longer, shorter;
    build_report(&longer, 13 * MS, 5 * MS, 1);
    build_report(&shorter, 10 * MS, 5 * MS, 2);
    put_finding(&shorter, "Short calls", "cpu", "medium", 36 * MS);
    ok(!sentence_has(compare(&shorter, &longer), "; new: "), "a finding that is new does not make steps shorter");
    ok(!sentence_has(compare(&longer, &shorter), "; gone: "), "nor longer, where it is gone");
    ap_model_release(&longer);
    build_report(&longer, 10 * MS, 5 * MS, 3);
    ok(!sentence_has(compare(&shorter, &longer), "; new: "), "of steps that are as long it may come and go by chance");
    ap_model_release(&longer);
    ap_model_release(&shorter);
}

/* Of 3 ms a step one is compute, and no cause has the rest. */
static void less_than_half_is_not_most(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 9 * MS, 1);
    build_report(&after, 13 * MS, 10 * MS, 2);
    ok(sentence_has(compare(&after, &before), "; the largest part of it in "), "a third is not most of it");
    ap_model_release(&before);
    ap_model_release(&after);
}

static void parts_are_told_in_words(void)
{
    char text[60];
    ap_add_part_name(AP_TEXT("exposed_communication"), text, sizeof(text));
    ok(!strcmp(text, "exposed communication"), text);
}

static void rules_for_one_thing_take_turns(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 13 * MS, 5 * MS, 2);
    put_finding(&before, "Tiny kernels", "cpu", "high", 36 * MS);
    put_finding(&after, "Waits for the host", "cpu", "high", 36 * MS);
    const struct ap_value *comparison = compare(&after, &before);
    ok(!sentence_has(comparison, "; new: ") && !sentence_has(comparison, "; gone: "), "of two alike neither is news");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* Rules for one thing of which one tells of more than the other did; a finding of little weight that is most of what
 * changed, or too little of it; one that both sides have, and grew. */
static void what_explains_the_step_is_news(void)
{
    static const struct {
        const char *before, *after, *severity, *told;
        int64_t before_ns, after_ns;
    } cases[] = { { "Tiny kernels", "Loops", "medium", "; new: Loops", 10 * MS, 36 * MS },
                  { "Tiny kernels", "Loops", "medium", NULL, 33 * MS, 36 * MS },
                  { NULL, "Recomputed", "low", "; new: Recomputed", 0, 20 * MS },
                  { NULL, "Recomputed", "low", NULL, 0, 16 * MS },
                  { "Epochs", "Epochs", "high", "; more than before: Epochs (at most 3 ms a step, 500 us before)", 6 * MS,
                    36 * MS },
                  { "Epochs", "Epochs", "high", NULL, 26 * MS, 36 * MS } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 13 * MS, 8 * MS, 2);
        put_finding(&after, cases[i].after, "gpu", cases[i].severity, cases[i].after_ns);
        if (cases[i].before)
            put_finding(&before, cases[i].before, "gpu", "high", cases[i].before_ns);
        const struct ap_value *comparison = compare(&after, &before);
        bool said = sentence_has(comparison, "; new: ") || sentence_has(comparison, "; more than before: ");
        ok(cases[i].told ? sentence_has(comparison, cases[i].told) : !said, "what is most of the change is told");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Of a step that does more others take more of its cores: no news, as it is where the step does what it did. */
static void load_of_more_work_is_no_news(void)
{
    static const int64_t events[] = { 100, 150 };
    for (size_t i = 0; i < 2 * AP_COUNT_OF(events); i++) {
        struct ap_model before, after;
        bool grew = i >= AP_COUNT_OF(events);
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 13 * MS, 8 * MS, 2);
        put_count(&before, "cpu.operator_summary.events", 12 * events[0]);
        put_count(&after, "cpu.operator_summary.events", 12 * events[i % 2]);
        put_finding(&after, "threads-off-core", "gpu", "high", 36 * MS);
        if (grew)
            put_finding(&before, "threads-off-core", "gpu", "high", 6 * MS);
        is_int(sentence_has(compare(&after, &before), grew ? "; more than before: threads" : "; new: threads"), i % 2 == 0,
               grew ? "cores that are taken for longer" : "or now alone");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

static void the_sides_can_be_exchanged(void)
{
    static const char *const lists[] = { "split.parts", "kernels.rows", "figures", "memory", "findings.rows" };
    size_t odd = 0, self = 0;
    for (unsigned seed = 1; seed < 200; seed++) {
        struct ap_model x, y, back, again;
        int64_t step = (int64_t)(8 + seed % 7) * MS, kernel = (int64_t)(3 + seed % 5) * MS;
        build_report(&x, 10 * MS, 5 * MS, seed);
        build_report(&y, step, kernel, seed + 1000);
        build_report(&back, 10 * MS, 5 * MS, seed);
        build_report(&again, step, kernel, seed + 1000);
        if (compare_quietly(&y, &x) != AP_OK || compare_quietly(&back, &again) != AP_OK ||
            compare_quietly(&x, &back) != AP_OK) {
            odd++;
            continue;
        }
        const struct ap_value *there = ap_value_member(&y.root, "comparison"),
                              *here = ap_value_member(&back.root, "comparison");
        for (size_t i = 0; i < AP_COUNT_OF(lists); i++) {
            odd += count_changes(there, lists[i], "differs") != count_changes(here, lists[i], "differs");
            odd += count_changes(there, lists[i], "worse") != count_changes(here, lists[i], "better");
            odd += count_changes(there, lists[i], "better") != count_changes(here, lists[i], "worse");
            odd += sum_of_deltas(there, lists[i]) != -sum_of_deltas(here, lists[i]);
            const struct ap_value *same = ap_value_member(&x.root, "comparison");
            self += count_changes(same, lists[i], "worse") + count_changes(same, lists[i], "better") +
                    count_changes(same, lists[i], "differs");
            self += sum_of_deltas(same, lists[i]) != 0;
        }
        ap_model_release(&x);
        ap_model_release(&y);
        ap_model_release(&back);
        ap_model_release(&again);
    }
    is_int((int64_t)odd, 0, "what is worse one way is better the other, by as much");
    is_int((int64_t)self, 0, "nothing differs from itself");
}

static void a_name_below_the_list_is_a_bound(void)
{
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 10 * MS, 5 * MS, 1);
    struct ap_value *row = ap_add_object(&after, tree_place(&after, "gpu.kernels"), NULL);
    ap_add_string(&after, row, "name", "new");
    ap_add_time(&after, row, "total_dur_us", 12 * 8 * MS);
    const struct ap_value *kernel = ap_value_first(ap_value_at(compare(&after, &before), "kernels.rows"));
    says(kernel, "name", "new", "it was not in the list");
    is_int(ap_value_integer(ap_value_member(kernel, "delta_us"), 0), 3 * MS, "where the last had 5 ms: 3 ms more at least");
    is_int(ap_value_integer(ap_value_member(kernel, "delta_is_least"), 0), 1, "which is said");
    ap_model_release(&before);
    ap_model_release(&after);
}

static void empty_reports_compare(void)
{
    struct ap_model before, after;
    ap_model_init(&before, &gate);
    ap_model_init(&after, &gate);
    const struct ap_value *comparison = compare(&after, &before);
    says(comparison, "verdict.change", "not known on one side", "nothing is known");
    is_int(ap_value_member(comparison, "steps")->type, AP_VALUE_NULL, "no steps");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* ---- conditions ---- */

static enum ap_status parse(const char *text, bool has_baseline, struct ap_conditions *conditions, struct ap_error *error)
{
    *error = (struct ap_error){ .message = "" };
    return ap_conditions_parse(&text, 1, has_baseline, conditions, error);
}

static void conditions_are_read(void)
{
    static const struct {
        const char *text;
        double number;
    } good[] = { { "steps.p50_us > 150ms", 150e6 },
                 { "steps.p50_us>1.5 s", 1.5e9 },
                 { "  steps.p50_us  <=  7 ns ", 7 },
                 { "steps.p50_us > +5%", 0.05 },
                 { "steps.p50_us < -5 %", -0.05 },
                 { "steps.p50_us > +10us", 1e4 },
                 { "memory.summary.reserved_bytes > 40GiB", 40.0 * 1073741824 },
                 { "memory.summary.reserved_bytes > 40Gi", 40.0 * 1073741824 },
                 { "memory.summary.reserved_bytes > 40G", 40e9 },
                 { "memory.summary.reserved_bytes >= 3KB", 3000 },
                 { "memory.summary.reserved_bytes > 12", 12 },
                 { "memory.summary.reserved_bytes > 12B", 12 },
                 { "gpu.utilization_ratio < 80%", 0.8 },
                 { "gpu.utilization_ratio < 0.8", 0.8 },
                 { "steps.count < 3K", 3000 } };
    struct ap_conditions conditions;
    struct ap_error error;
    for (size_t i = 0; i < AP_COUNT_OF(good); i++)
        ok(parse(good[i].text, true, &conditions, &error) == AP_OK && conditions.count == 1 &&
               is_near(conditions.conditions[0].figure.limit, good[i].number),
           good[i].text);
    ok(parse("high, steps.p50_us > 1s,critical", false, &conditions, &error) == AP_OK && conditions.count == 3,
       "several with commas");
}

static void mistakes_are_told(void)
{
    static const struct {
        const char *text, *told;
    } bad[] = { { "", "a severity" },
                { "high,", "a severity" },
                { "info", "no severity" },
                { "steps.p50", "steps.p50_us" },
                { "steps.p50_us", "<, <=" },
                { "steps.p50_us = 5ms", "<, <=" },
                { "steps.p50_us > ", "the condition ends where a time such as" },
                { "steps.p50_us > x", "15 digits" },
                { "steps.p50_us > 1e3us", "a time such as 10 us, 1.5 ms or 2 s was expected, not \"e3us\"" },
                { "steps.p50_us > .5s", "15 digits" },
                { "steps.p50_us > 5.s", "15 digits" },
                { "steps.p50_us > 1234567890123456s", "15 digits" },
                { "steps.p50_us > 5", "a time such as" },
                { "steps.p50_us > 5%", "a time such as" },
                { "steps.p50_us > 5ms and", "character 20: met \"and\" where the end of the condition" },
                { "steps.p50_us > +5%", "change from the baseline" },
                { "steps.p50_us > - 5%", "change from the baseline" },
                { "memory.summary.reserved_bytes > 5k", "a size such as" },
                { "memory.summary.reserved_bytes > 5%", "a size such as" },
                { "gpu.utilization_ratio > 5ms", "a share such as" },
                { "steps.count > 5GiBB", "a number without unit was expected" },
                { "steps.count > 5ms", "a number without unit was expected" },
                { "verdict.bound > 5", "no figure is called \"verdict.bound\", and no severity" },
                { "step.p50_us > 5ms", "did you mean steps.p50_us" } };
    struct ap_conditions conditions;
    struct ap_error error;
    for (size_t i = 0; i < AP_COUNT_OF(bad); i++)
        ok(parse(bad[i].text, false, &conditions, &error) == AP_ERROR_USAGE && strstr(error.message, bad[i].told),
           bad[i].text);
    ok(parse("steps.p50_us > +5%", false, &conditions, &error) == AP_ERROR_USAGE && error.setting == AP_SETTING_FAIL_ON &&
           error.advice == AP_ADVICE_GIVE_BASELINE,
       "a change from nothing is about the condition, and a baseline helps");
    ok(parse("verdict.bound > 5", false, &conditions, &error) == AP_ERROR_USAGE && error.advice == AP_ADVICE_LIST_FIGURES,
       "for a name that is none there is a list");
    const char *many[AP_CONDITIONS_MAX + 1];
    for (size_t i = 0; i < AP_COUNT_OF(many); i++)
        many[i] = "high";
    ok(ap_conditions_parse(many, AP_COUNT_OF(many), false, &conditions, &error) == AP_ERROR_USAGE, "there is a most");
    char longest[20000];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ok(parse(longest, false, &conditions, &error) == AP_ERROR_USAGE, "a long name is cut in the message");
}

/* 't', 'f' or '?' for one condition. */
static char judge(const char *text, int64_t before_ns, int64_t after_ns)
{
    struct ap_model before, after;
    struct ap_conditions conditions;
    struct ap_error error;
    ap_model_init(&before, &gate);
    ap_model_init(&after, &gate);
    if (before_ns >= 0)
        put_time(&before, "steps.p50_us", before_ns);
    if (after_ns >= 0)
        put_time(&after, "steps.p50_us", after_ns);
    struct ap_value *finding = ap_add_object(&after, put_list(&after, "findings"), NULL);
    ap_add_string(&after, finding, "severity", "high");
    ok(parse(text, true, &conditions, &error) == AP_OK, text);
    ap_conditions_judge(&conditions, &after, &before.root);
    const struct ap_value *row = ap_value_first(ap_value_member(&after.root, "conditions"));
    ok(ap_value_text(ap_value_member(row, "text")).bytes > 0, "with a sentence");
    const struct ap_value *held = ap_value_member(row, "held");
    char result = held->type != AP_VALUE_BOOL ? '?' : held->as.integer ? 't' : 'f';
    ap_model_release(&before);
    ap_model_release(&after);
    return result;
}

static void conditions_are_judged(void)
{
    ok(judge("steps.p50_us > 100ms", -1, 101 * MS) == 't' && judge("steps.p50_us > 100ms", -1, 100 * MS) == 'f', "a limit");
    ok(judge("steps.p50_us >= 100ms", -1, 100 * MS) == 't', "reached");
    ok(judge("steps.p50_us > +5%", 100 * MS, 106 * MS) == 't' && judge("steps.p50_us > +5%", 100 * MS, 105 * MS) == 'f',
       "per cent more");
    ok(judge("steps.p50_us < -5%", 100 * MS, 94 * MS) == 't' && judge("steps.p50_us < -5%", 100 * MS, 96 * MS) == 'f',
       "per cent less");
    ok(judge("steps.p50_us > +5ms", 100 * MS, 106 * MS) == 't' && judge("steps.p50_us > +5ms", 100 * MS, 105 * MS) == 'f',
       "so much more");
    ok(judge("steps.p50_us > +5%", 0, 1) == 't' && judge("steps.p50_us > +5%", 0, 0) == 'f', "more than nothing");
    ok(judge("steps.p50_us > 1ms", -1, -1) == '?', "not known in this report");
    ok(judge("steps.p50_us > +5%", -1, 5 * MS) == '?', "not known in the baseline");
    ok(judge("steps.p50_us > 999999999999s", -1, INT64_MAX) == 'f', "far away");
    ok(judge("medium", -1, -1) == 't' && judge("critical", -1, -1) == 'f', "severities");
}

/* The sentence of one condition about @figure, where the comparison calls its change @change. */
static void told(const char *text, int64_t before_ns, int64_t after_ns, const char *change, double p_value, char *ret,
                 size_t bytes)
{
    struct ap_model before, after;
    struct ap_conditions conditions;
    struct ap_error error;
    ap_model_init(&before, &gate);
    ap_model_init(&after, &gate);
    put_time(&before, "steps.p50_us", before_ns);
    put_time(&after, "steps.p50_us", after_ns);
    put_ratio(&after, "comparison.steps.level", AP_STEP_LEVEL);
    if (p_value >= 0)
        put_ratio(&after, "comparison.steps.p_value", p_value);
    put_text(&after, "comparison.steps.change", change);
    ok(parse(text, true, &conditions, &error) == AP_OK, text);
    ap_conditions_judge(&conditions, &after, &before.root);
    const struct ap_value *row = ap_value_first(ap_value_member(&after.root, "conditions"));
    struct ap_text sentence = ap_value_text(ap_value_member(row, "text"));
    (void)snprintf(ret, bytes, "%.*s", (int)sentence.bytes, sentence.data);
    ap_model_release(&before);
    ap_model_release(&after);
}

static void noise_is_told_with_a_condition(void)
{
    char text[800];
    told("steps.p50_us > +0.1%", 179500000, 179900000, "no change", 0.82, text, sizeof(text));
    ok(strstr(text, "is 179900.000 us, it was 179500.000 us (+0.2 %); the condition is > 179679.500 us; "),
       "enough digits to tell them apart");
    ok(strstr(text, "; within the noise (p ="), "a change within the noise");
    told("steps.p50_us > +5%", 100 * MS, 120 * MS, "worse", 0.0002, text, sizeof(text));
    ok(strstr(text, "is 120 ms, it was 100 ms (+20.0 %); the condition is > 105 ms; beyond the noise (p ="),
       "one beyond it");
    told("steps.p50_us > +0.5%", 100 * MS, 101 * MS, "no change", 0.0002, text, sizeof(text));
    ok(strstr(text, "; too small to be called a change (p ="), "one that is small and sure");
    told("steps.p50_us > +5%", 100 * MS, 120 * MS, "too few values", -1, text, sizeof(text));
    ok(strstr(text, "; too few steps to tell it from noise"), "one that cannot be told");
    told("steps.p50_us > 5ms", 100 * MS, 120 * MS, "worse", 0.0002, text, sizeof(text));
    ok(!strstr(text, "noise"), "a limit has nothing to do with it");
}

/* ---- batch sizes ---- */

static void lines_are_fitted(void)
{
    struct ap_model model;
    struct ap_scaling_point points[4];
    for (size_t i = 0; i < 4; i++) {
        uint64_t batch = (uint64_t)64 >> i;
        points[i] = (struct ap_scaling_point){ .path = "t.json",
                                               .batch = batch,
                                               .step_ns = 10 * MS + (int64_t)batch * MS,
                                               .peak_bytes = { -1, 100 * MIB + (int64_t)batch * 10 * MIB, 5 },
                                               .capacity_bytes = 10000 * MIB };
    }
    ap_model_init(&model, &gate);
    ap_scaling_add(points, 4, &model);
    const struct ap_value *series = ap_value_member(&model.root, "series");
    is_int(ap_value_integer(ap_value_member(list_item(ap_value_member(series, "points"), 0), "batch"), 0), 8,
           "in order of size");
    is_int(ap_value_integer(ap_value_at(series, "latency.fixed_us"), 0), 10 * MS, "what a batch costs");
    is_int(ap_value_integer(ap_value_at(series, "latency.per_sample_us"), 0), MS, "what a sample adds");
    is_int(ap_value_integer(ap_value_at(series, "memory.fixed_bytes"), 0), 100 * MIB, "memory whatever the batch");
    is_int(ap_value_integer(ap_value_at(series, "memory.per_sample_bytes"), 0), 10 * MIB, "and of a sample");
    is_int(ap_value_integer(ap_value_at(series, "memory.largest_batch"), 0), 890, "(9000 - 100) / 10");
    is_int(ap_value_integer(ap_value_at(series, "knee.batch"), 0), 64, "32 has 88 % of the best only");
    says(series, "memory_metric", "trace_memory.devices.peak_allocated_bytes", "memory that all runs know");
    ap_model_release(&model);
}

static void sizes_without_a_line(void)
{
    struct ap_model model;
    struct ap_scaling_point points[2] = {
        { .path = "a", .batch = 8, .step_ns = -1, .peak_bytes = { -1, -1, -1 }, .capacity_bytes = -1 },
        { .path = "b", .batch = 8, .step_ns = -1, .peak_bytes = { -1, -1, -1 }, .capacity_bytes = -1 }
    };
    ap_model_init(&model, &gate);
    ap_scaling_add(points, 2, &model);
    const struct ap_value *series = ap_value_member(&model.root, "series");
    ok(ap_value_member(series, "latency")->type == AP_VALUE_NULL &&
           ap_value_member(series, "memory")->type == AP_VALUE_NULL &&
           ap_value_member(series, "knee")->type == AP_VALUE_NULL,
       "nothing is known, nothing is said");
    ap_model_release(&model);
}

static bool is_noted(const struct ap_value *series, const char *words)
{
    for (const struct ap_value *note = ap_value_first(ap_value_member(series, "notes")); note; note = note->next)
        if (ap_text_starts_with(ap_value_text(note), words))
            return true;
    return false;
}

/* Time and memory of a batch of n go with n^2, or with 1 / n: no line with positive terms follows them. */
static struct ap_model series_of(const uint64_t *batches, size_t count, bool rises)
{
    struct ap_scaling_point points[4];
    struct ap_model model;
    for (size_t i = 0; i < count; i++) {
        int64_t batch = (int64_t)batches[i], size = rises ? batch * batch : 1000 / batch;
        points[i] = (struct ap_scaling_point){ .path = "t.json",
                                               .batch = batches[i],
                                               .cut = i == 0,
                                               .step_ns = size * MS,
                                               .peak_bytes = { size * MIB, -1, -1 },
                                               .capacity_bytes = 10000 * MIB };
    }
    ap_model_init(&model, &gate);
    ap_scaling_add(points, count, &model);
    return model;
}

static void no_line_where_none_fits(void)
{
    static const uint64_t sizes[] = { 8, 16, 32 }, equal[] = { 8, 8, 8 };
    for (int rises = 0; rises < 2; rises++) {
        struct ap_model model = series_of(sizes, 3, rises);
        const struct ap_value *series = ap_value_member(&model.root, "series");
        ok(ap_value_member(series, "latency")->type == AP_VALUE_NULL &&
               ap_value_member(series, "memory")->type == AP_VALUE_NULL,
           "no line has a negative term");
        ok(is_noted(series, rises ? "A line through the times would begin below 0" : "The time of a batch falls"),
           "why is said");
        ok(is_noted(series, rises ? "A line through the peaks would begin below 0" : "Memory does not grow"),
           "of memory, too");
        ok(is_noted(series, "A trace is cut"), "as is that a trace is cut");
        ap_model_release(&model);
    }
    struct ap_model model = series_of(equal, 3, true);
    const struct ap_value *series = ap_value_member(&model.root, "series");
    ok(ap_value_member(series, "latency")->type == AP_VALUE_NULL &&
           ap_value_member(series, "memory")->type == AP_VALUE_NULL &&
           ap_value_member(series, "knee")->type == AP_VALUE_NULL,
       "one size alone says nothing");
    ok(is_noted(series, "All runs have batches of one size") && !is_noted(series, "Throughput still rises") &&
           !is_noted(series, "Assumed"),
       "which is said, and nothing else");
    is_int((int64_t)ap_value_count(ap_value_member(series, "points")), 3, "the runs are listed");
    ap_model_release(&model);
}

static bool guess(const char *dims, const char *name, uint64_t *batch)
{
    struct ap_model model;
    ap_model_init(&model, &gate);
    struct ap_value *row = ap_add_object(&model, put_list(&model, "operators.by_shape"), NULL);
    ap_add_string(&model, row, "name", name);
    ap_add_string(&model, row, "dims", dims);
    ap_add_time(&model, row, "device_self_us", 5);
    bool found = ap_scaling_guess(&model.root, batch);
    ap_model_release(&model);
    return found;
}

static void batches_are_guessed(void)
{
    uint64_t batch = 0;
    ok(guess("[[32, 3, 224, 224], [64, 3, 7, 7]]", "aten::conv2d", &batch) && batch == 32, "the input of a convolution");
    ok(guess("[[], [64, 256], [256, 10]]", "aten::addmm", &batch) && batch == 64, "behind an empty one");
    ok(guess("[[1000], [16, 256]]", "aten::linear", &batch) && batch == 16, "behind a bias");
    ok(!guess("[[32, 3]]", "aten::add_", &batch), "not of an optimizer");
    ok(!guess("[[32]]", "aten::conv2d", &batch) && !guess("", "aten::conv2d", &batch) &&
           !guess("[[[[", "aten::conv2d", &batch) && !guess("[[99999999999999999999999, 5]]", "aten::conv2d", &batch) &&
           !guess("[[0, 5]]", "aten::conv2d", &batch),
       "no batch in these");
}

/* A list to add to. */
static struct ap_value *list_at(struct ap_model *model, const char *path)
{
    struct ap_value *list = tree_place(model, path);
    return list->type == AP_VALUE_LIST ? list : put_list(model, path);
}

/* ---- collectives ---- */

struct collective_row {
    int64_t count, total_ns, bare_ns, bytes; /* of a step */
};

static void put_collective(struct ap_model *model, const char *operation, const struct collective_row *of)
{
    struct ap_value *row = ap_add_object(model, put_list(model, "communication.by_operation"), NULL);
    ap_add_string(model, row, "operation", operation);
    ap_add_count(model, row, "count", 12 * of->count);
    ap_add_time(model, row, "total_dur_us", 12 * of->total_ns);
    ap_add_time(model, row, "exposed_us", 12 * of->bare_ns);
    ap_add_bytes(model, row, "bytes", 12 * of->bytes);
    put_count(model, "communication.count", 12 * of->count);
    put_time(model, "operators.device_us", 60 * MS);
}

static void a_collective_that_steps_follow_is_told(void)
{
    static const char link[] =
        "; allreduce takes 4 ms a step, 2 ms before (the link, or the wait for a rank that comes later",
                      calls[] = "; allreduce takes 4 ms a step, 2 ms before, in 40 calls, 2 before",
                      larger[] = "; allreduce takes 4 ms a step, 2 ms before, and moves 2 times as many bytes",
                      shorter[] = "; allreduce takes 3 ms a step without a kernel beside it, 500 us before: less runs "
                                  "beside it",
                      bare[] =
                          "; allreduce takes 2 ms a step without a kernel beside it, 500 us before, and as long as before "
                          "in all: less runs beside it";
    static const struct {
        struct collective_row after;
        int64_t step_ns;
        const char *told, *largest;
    } cases[] = {
        { { 2, 4 * MS, 2 * MS, 1000 }, 12 * MS, link, "allreduce" },
        { { 2, 4 * MS, 2 * MS, 2000 }, 12 * MS, larger, "allreduce" }, /* a larger model, or another type */
        { { 40, 4 * MS, 2 * MS, 1000 }, 12 * MS, calls, "allreduce" },
        { { 2, 2 * MS, 2 * MS, 1000 }, 12 * MS, bare, "allreduce without a kernel beside it" },
        { { 2, 3 * MS, 3 * MS, 1000 }, 12 * MS, shorter, "allreduce without a kernel beside it" },
        { { 2, 2 * MS, 2 * MS, 1000 }, 10 * MS, NULL, NULL }, /* steps are as long as they were */
        { { 2, 2 * MS, 0, 1000 }, 12 * MS, NULL, NULL },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, cases[i].step_ns, 5 * MS, 2);
        put_collective(&before, "allreduce",
                       &(struct collective_row){ 2, cases[i].told == shorter ? 5 * MS : 2 * MS, MS / 2, 1000 });
        put_collective(&after, "allreduce", &cases[i].after);
        const struct ap_value *comparison = compare(&after, &before);
        is_int(sentence_has(comparison, "; allreduce takes"), cases[i].told != NULL, "told where steps follow");
        ok(!cases[i].told || sentence_has(comparison, cases[i].told), "what of it changed");
        ok(!cases[i].told || ap_text_is(ap_text_at(comparison, "largest.time.name"), cases[i].largest), "and most of all");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* ---- families of kernels ---- */

static void put_family(struct ap_model *model, const char *name, const char *family, int64_t count, int64_t step_ns)
{
    struct ap_value *row = ap_add_object(model, list_at(model, "gpu.subfamilies"), NULL);
    ap_add_string(model, row, "subfamily", name);
    ap_add_string(model, row, "family", family);
    ap_add_count(model, row, "count", 12 * count);
    ap_add_time(model, row, "total_dur_us", 12 * step_ns);
}

static void put_families(struct ap_model *model, const char *kernel, int64_t gemm_ns, int64_t elementwise_ns, int64_t count,
                         int64_t flops)
{
    struct ap_value *row = ap_add_object(model, put_list(model, "gpu.kernels"), NULL);
    ap_add_string(model, row, "name", kernel);
    ap_add_count(model, row, "count", 12 * 4);
    ap_add_time(model, row, "total_dur_us", 12 * gemm_ns);
    put_count(model, "gpu.kernel.count", 12 * 4);
    put_family(model, "gemm", "GEMM", 4, gemm_ns);
    put_family(model, "elementwise", "elementwise", count, elementwise_ns);
    put_family(model, "collective", "communication", 1, 3 * MS);
    put_time(model, "gpu.kernel.total_dur_us", 12 * (gemm_ns + elementwise_ns + 3 * MS));
    put_count(model, "compute.flops", flops);
    put_count(model, "compute.bytes", 1000);
}

/* A lower clock slows kernels of all kinds, and collectives wait as they did. */
static void kernels_of_all_kinds_that_take_longer_are_the_devices(void)
{
    static const struct {
        int64_t gemm_ns, elementwise_ns, count, flops;
        const char *kernel;
        bool is_same;
    } cases[] = {
        { 6 * MS, 3 * MS, 8, 1000, "gemm_tf32", true },
        { 6 * MS, 2 * MS, 8, 1000, "gemm_tf32", false },  /* one kind alone */
        { 6 * MS, 3 * MS, 16, 1000, "gemm_tf32", false }, /* more kernels */
        { 6 * MS, 3 * MS, 8, 1500, "gemm_tf32", false },  /* more work in each */
        { 6 * MS, 3 * MS, 8, 0, "gemm_tf32", false },     /* not known */
        { 6 * MS, 3 * MS, 8, 1000, "gemm_fp32", false },  /* other kernels */
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 13 * MS, 8 * MS, 2);
        put_families(&before, "gemm_tf32", 4 * MS, 2 * MS, 8, 1000);
        put_families(&after, cases[i].kernel, cases[i].gemm_ns, cases[i].elementwise_ns, cases[i].count, cases[i].flops);
        is_int(sentence_has(compare(&after, &before), "called as often, take 1.50 times as long (100 %"), cases[i].is_same,
               "all kinds, as many kernels, as much work");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Where nearly all is of one kind, what slows that kind is not seen to slow all. */
static void one_kind_that_is_nearly_all_is_not_the_devices(void)
{
    for (int64_t slower = 0; slower <= 1; slower++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 13 * MS, 8 * MS, 2);
        put_families(&before, "gemm_tf32", 38 * MS / 10, 2 * MS / 10, 8, 1000);
        put_families(&after, "gemm_tf32", 57 * MS / 10, (2 + slower) * MS / 10, 8, 1000);
        is_int(ap_value_at(compare(&after, &before), "same_work")->type != AP_VALUE_NULL, slower, "the others too");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* ---- work in other pieces ---- */

static void put_counts(struct ap_model *model, int64_t more_calls, int64_t each_ns)
{
    static const char *const names[] = { "aten::addmm", "aten::gelu", "aten::view", "aten::add" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        struct ap_value *row = ap_add_object(model, list_at(model, "cpu.operators_by_self"), NULL);
        ap_add_string(model, row, "name", names[i]);
        ap_add_count(model, row, "count", 4 * more_calls);
        ap_add_time(model, row, "self_dur_us", 4 * more_calls * each_ns);
    }
}

static void work_in_other_pieces_is_told(void)
{
    static const char cut[] =
        "; aten::addmm is called 16 times as often, and takes 0.1 times as long each, as most operators "
        "do: work in smaller pieces, or more of it and faster",
                      joined[] = "; aten::addmm is called 0.0625 times as often, and takes 10 times as long each, as most "
                                 "operators do: work put together";
    static const struct {
        int64_t more_calls, each_ns;
        bool told;
    } cases[] = {
        { 16, MS, true },
        { 16, 10 * MS, false }, /* a longer recording */
        { 2, MS, false },       /* each is faster, and there are hardly more */
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after, again;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 20 * MS, 5 * MS, 2);
        build_report(&again, 10 * MS, 5 * MS, 1);
        put_counts(&before, 1, 10 * MS);
        put_counts(&after, cases[i].more_calls, cases[i].each_ns);
        put_counts(&again, 1, 10 * MS);
        tree_place(&before, "steps")->type = AP_VALUE_NULL;
        tree_place(&after, "steps")->type = AP_VALUE_NULL;
        tree_place(&again, "steps")->type = AP_VALUE_NULL;
        is_int(sentence_has(compare(&after, &before), cut), cases[i].told, "more calls, shorter each");
        is_int(sentence_has(compare(&again, &after), joined), cases[i].told, "and the other way round");
        ap_model_release(&before);
        ap_model_release(&after);
        ap_model_release(&again);
    }
}

/* As many calls of a batch that is cut into micro-batches: a step holds what it held. */
static void put_calls(struct ap_model *model, int64_t addmm, int64_t add, int64_t events)
{
    static const char *const names[] = { "aten::addmm", "aten::add" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        struct ap_value *row = ap_add_object(model, list_at(model, "cpu.operators_by_self"), NULL);
        ap_add_string(model, row, "name", names[i]);
        ap_add_count(model, row, "count", 12 * (i ? add : addmm));
        ap_add_time(model, row, "self_dur_us", 12 * (i ? MS / 10 : MS));
    }
    put_count(model, "cpu.operator_summary.events", 12 * events);
    put_bool(model, "trace.recorded.shapes", true);
}

/* Counts tell what times hide behind what else the machine does. */
static void more_calls_of_operators_are_told(void)
{
    static const char alike[] =
        "; a step calls operators 150 times, 100 before, aten::addmm 30 times, 20 before: more of the "
        "same work (layers, passes)",
                      some[] = "; a step calls operators 150 times, 100 before, aten::add 90 times, 40 before",
                      once[] = "; a step calls operators 80 times, 100 before, aten::addmm 1 time, 20 before",
                      few[] = "; a step calls operators 107 times, 100 before, aten::add 47 times, 40 before",
                      equal[] = "; a step calls the same operators on the same shapes as often as before";
    static const struct {
        int64_t addmm, add, events, step_ns;
        const char *told;
    } cases[] = { { 30, 60, 150, 10 * MS, alike }, { 20, 90, 150, 10 * MS, some }, { 20, 47, 107, 10 * MS, few },
                  { 1, 40, 80, 10 * MS, once },    { 20, 40, 101, 10 * MS, NULL }, { 20, 40, 100, 12 * MS, equal },
                  { 21, 39, 100, 12 * MS, NULL } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, cases[i].step_ns, 5 * MS, 1);
        put_calls(&before, 20, 40, 100);
        put_calls(&after, cases[i].addmm, cases[i].add, cases[i].events);
        const struct ap_value *comparison = compare(&after, &before);
        ok(cases[i].told ? sentence_has(comparison, cases[i].told) : !sentence_has(comparison, "a step calls"),
           "calls of a step");
        ok(cases[i].told == alike || !sentence_has(comparison, "of the same work (layers"), "of nearly all, or of some");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

static void micro_batches_are_as_much_in_all(void)
{
    static const struct {
        int64_t calls;
        const char *told;
    } cases[] = { { 4, "; by its shapes a step holds as much, in 4 times as many calls on 0.25 times as much each" },
                  { 1, "; by its shapes a step holds 0.25 times as much (batch or length)" } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 14 * MS, 5 * MS, 2);
        put_layers(&before, "[[16, 64], [64]]", "[[16, 64], [64]]", NULL);
        put_layers(&after, "[[4, 64], [64]]", "[[4, 64], [64]]", NULL);
        for (int side = 0; side < 2; side++)
            for (struct ap_value *row = tree_place(side ? &after : &before, "operators.by_shape")->as.children.first; row;
                 row = row->next)
                ap_add_count(side ? &after : &before, row, "count", 12 * (side ? cases[i].calls : 1));
        ok(sentence_has(compare(&after, &before), cases[i].told), cases[i].told);
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* Without marks of steps: as many calls of most operators are as many rounds. */
static void as_many_calls_are_as_much_work(void)
{
    for (int64_t more = 1; more <= 2; more++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 20 * MS, 15 * MS, 2);
        put_count(&before, "cpu.operator_summary.events", 100);
        put_count(&after, "cpu.operator_summary.events", 200);
        put_counts(&before, 1, MS);
        put_counts(&after, more, MS);
        tree_place(&before, "steps")->type = AP_VALUE_NULL;
        tree_place(&after, "steps")->type = AP_VALUE_NULL;
        is_int(ap_value_at(compare(&after, &before), "largest.time")->type != AP_VALUE_NULL, more == 1,
               "what else is done is a change");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* What both recorded of a start is as many, and the loop behind it goes round more often. */
static void a_start_and_a_longer_loop_are_not_as_much_work(void)
{
    static const char *const start[] = { "aten::uniform_", "aten::normal_", "aten::zero_", "aten::erfinv_", "aten::div_" };
    struct ap_model before, after;
    build_report(&before, 10 * MS, 5 * MS, 1);
    build_report(&after, 20 * MS, 15 * MS, 2);
    for (int side = 0; side < 2; side++) {
        struct ap_model *model = side ? &after : &before;
        put_count(model, "cpu.operator_summary.events", side ? 200 : 100);
        put_counts(model, side ? 3 : 1, MS);
        for (size_t i = 0; i < AP_COUNT_OF(start); i++) {
            struct ap_value *row = ap_add_object(model, list_at(model, "cpu.operators_by_self"), NULL);
            ap_add_string(model, row, "name", start[i]);
            ap_add_count(model, row, "count", 12);
            ap_add_time(model, row, "self_dur_us", MS);
        }
        tree_place(model, "steps")->type = AP_VALUE_NULL;
    }
    ok(ap_value_at(compare(&after, &before), "largest.time")->type == AP_VALUE_NULL, "a longer recording");
    ap_model_release(&before);
    ap_model_release(&after);
}

/* Two ranks of one run: who waits less in collectives comes later. */
static void of_two_ranks_the_later_one_is_told(void)
{
    static const struct {
        int64_t ranks, step_ns, wait_ns, bytes;
        bool together, told;
    } cases[] = {
        { 4, 10 * MS, MS, 1000, true, true },   { 4, 10 * MS, 3 * MS - MS / 10, 1000, true, false }, /* about as much */
        { 4, 14 * MS, MS, 1000, true, false },  /* steps of another length */
        { 4, 10 * MS, MS, 300, true, false },   /* another stage */
        { 8, 10 * MS, MS, 1000, false, false }, /* of another run */
        { 4, 10 * MS, MS, 1000, false, false }, /* the last one: which rank the one before is was not recorded */
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, cases[i].step_ns, 5 * MS, 2);
        put_ranks(&before, 4, 12);
        put_ranks(&after, cases[i].ranks, 12);
        put_collective(&before, "allreduce", &(struct collective_row){ 2, 3 * MS, 0, 1000 });
        put_collective(&after, "allreduce", &(struct collective_row){ 2, cases[i].wait_ns, 0, cases[i].bytes });
        if (i + 1 < AP_COUNT_OF(cases))
            put_count(&before, "trace.rank", 0);
        put_count(&after, "trace.rank", 3);
        put_time(&before, "communication.total_dur_us", 12 * 3 * MS);
        put_time(&after, "communication.total_dur_us", 12 * cases[i].wait_ns);
        const struct ap_value *comparison = compare(&after, &before);
        is_int(sentence_has(comparison, "give both files together"), cases[i].together, "as many ranks");
        is_int(sentence_has(comparison,
                            "rank 3 spends 20.0 % less of a step in collectives than rank 0: then rank 0 waits for it"),
               cases[i].told, "who is late");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* On a busy machine everything takes longer, for as much work. */
static void operators_that_all_take_longer_are_the_machines(void)
{
    static const struct {
        int64_t calls, each_ns, flops, before_ns;
        bool is_same;
    } cases[] = {
        { 1, 2 * MS, 1000, MS, true },  { 2, 2 * MS, 1000, MS, false },
        { 1, 2 * MS, 2000, MS, false }, { 1, MS + MS / 20, 1000, MS, false }, /* hardly longer */
        { 1, 8000, 1000, 4000, false }, /* short calls: gradients, or what recording costs */
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 20 * MS, 5 * MS, 2);
        for (int side = 0; side < 2; side++) {
            struct ap_model *model = side ? &after : &before;
            put_counts(model, side ? cases[i].calls : 1, side ? cases[i].each_ns : cases[i].before_ns);
            put_count(model, "compute.flops", side ? cases[i].flops : 1000);
            put_count(model, "compute.bytes", 1000);
            put_time(model, "gpu.kernel.total_dur_us", 0);
        }
        const struct ap_value *comparison = compare(&after, &before);
        is_int(sentence_has(comparison,
                            "; the same operators on the same shapes, called as often, take 2.00 times as long (100 %"),
               cases[i].is_same, "all operators, as many calls, as much work");
        is_int(ap_value_at(comparison, "same_work")->type != AP_VALUE_NULL, cases[i].is_same, "and as a figure");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* ---- what medians do not show ---- */

/* Steps of 10 ms, some of them @times as long, which begin @apart_ns after the last one's end. */
static void put_steps(struct ap_model *model, int64_t long_count, int64_t times, int64_t apart_ns)
{
    int64_t at_ns = 0, i = 0;
    for (struct ap_value *row = tree_place(model, "steps.rows")->as.children.first; row; row = row->next, i++) {
        struct ap_value *dur = row->as.children.first->next; /* behind "steady" */
        dur->as.integer = i < long_count ? times * dur->as.integer : dur->as.integer;
        ap_add_time(model, row, "start_us", at_ns);
        at_ns += dur->as.integer + apart_ns;
    }
}

static void what_medians_hide_is_told(void)
{
    static const struct {
        int64_t long_count, times, apart_ns;
        const char *told;
    } cases[] = {
        { 3, 4, 0, "before: 3 of 12 are much longer" },
        { 0, 1, 9 * MS, " before: what changed lies between them" },
        { 1, 2, 0, NULL }, /* one step, a little longer */
        { 0, 1, MS / 2, NULL },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 10 * MS, 5 * MS, 2);
        put_steps(&before, 0, 1, 0);
        put_steps(&after, cases[i].long_count, cases[i].times, cases[i].apart_ns);
        const struct ap_value *comparison = compare(&after, &before);
        ok(!cases[i].told || sentence_has(comparison, cases[i].told), "what the medians do not show");
        is_int(sentence_has(comparison, "much longer") || sentence_has(comparison, "between them"), cases[i].told != NULL,
               "and nothing else");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

/* The host waits for kernels in whatever call it is: that this call takes longer is no cause. */
static void waiting_for_slower_kernels_is_no_new_cause(void)
{
    for (int64_t kernels = 5; kernels <= 8; kernels += 3) {
        struct ap_model before, after;
        build_report(&before, 10 * MS, 5 * MS, 1);
        build_report(&after, 13 * MS, kernels * MS, 2);
        put_finding(&after, "Copies", "cpu", "high", 36 * MS);
        is_int(sentence_has(compare(&after, &before), "; new: Copies"), kernels == 5, "new only where kernels did not grow");
        ap_model_release(&before);
        ap_model_release(&after);
    }
}

int main(void)
{
    ap_gate_init(&gate, 0);
    p_values_are_exact();
    many_values_are_approximated();
    lists_are_folded_by_maximum();
    noise_is_no_change();
    figures_hidden_by_noise_are_not_alike();
    steps_that_vary_hide_a_change();
    a_single_pair_differs();
    runs_are_tested_where_there_are_several();
    the_middle_run_stands_for_all();
    work_under_another_name_is_paired();
    what_is_there_still_was_not_replaced();
    work_of_another_caller_is_not_paired();
    fused_attention_is_paired_with_what_it_is_made_of();
    fused_norms_and_experts_are_paired();
    another_type_is_told();
    other_shapes_are_told();
    another_layout_is_told();
    shapes_are_paired_with_those_like_them();
    shapes_are_told_from_where_they_differ();
    many_small_changes_of_shape_are_one();
    the_same_work_that_takes_longer_is_the_devices();
    another_kernel_for_a_shape_is_told();
    kernels_with_long_names_are_told_apart();
    a_kernel_that_another_takes_over_is_no_change();
    what_is_done_beside_the_same_calls_is_told();
    fewer_launches_are_told();
    a_part_that_takes_longer_is_not_the_devices();
    a_step_of_a_larger_batch_is_told_for_as_much();
    uneven_steps_do_not_tell_what_as_much_takes();
    twice_as_wide_is_not_twice_as_much();
    another_name_is_no_new_work();
    work_of_devices_is_not_as_noisy_as_the_host();
    recordings_of_no_run_are_not_compared();
    hidden_kernels_are_no_gain();
    steps_of_a_host_that_is_ahead_tell_nothing();
    one_rank_of_many_is_not_compared_with_a_run_alone();
    two_runs_of_many_ranks_are_compared();
    few_long_steps_of_ranks_are_told();
    steps_of_another_kind_are_not_compared();
    the_length_of_a_recording_is_that_of_its_work();
    kernels_that_take_as_long_are_told();
    a_cause_that_is_new_or_gone_is_said();
    what_a_share_brings_is_not_said();
    less_than_half_is_not_most();
    parts_are_told_in_words();
    rules_for_one_thing_take_turns();
    what_explains_the_step_is_news();
    load_of_more_work_is_no_news();
    the_sides_can_be_exchanged();
    a_name_below_the_list_is_a_bound();
    empty_reports_compare();
    conditions_are_read();
    mistakes_are_told();
    conditions_are_judged();
    noise_is_told_with_a_condition();
    lines_are_fitted();
    sizes_without_a_line();
    no_line_where_none_fits();
    batches_are_guessed();
    a_collective_that_steps_follow_is_told();
    kernels_of_all_kinds_that_take_longer_are_the_devices();
    one_kind_that_is_nearly_all_is_not_the_devices();
    work_in_other_pieces_is_told();
    more_calls_of_operators_are_told();
    micro_batches_are_as_much_in_all();
    as_many_calls_are_as_much_work();
    a_start_and_a_longer_loop_are_not_as_much_work();
    operators_that_all_take_longer_are_the_machines();
    of_two_ranks_the_later_one_is_told();
    what_medians_hide_is_told();
    waiting_for_slower_kernels_is_no_new_cause();
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory was given back");
    return done();
}
