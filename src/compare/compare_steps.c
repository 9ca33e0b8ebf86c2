/* SPDX-License-Identifier: MIT
 * compare_steps.c - steps and the parts of the time. Their durations are samples, so a test can tell a change from noise. */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comparing.h"
#include "option_names.h"
#include "quantile.h"
#include "rank_test.h"
#include "value_text.h"

#include "poison.h"

/* A column of the rows of steady steps, in nanoseconds. */
struct sample {
    int64_t *values;
    size_t count, room;
};

static bool is_steady(const struct ap_value *row)
{
    return ap_integer_member(row, "steady", 0) == 1;
}

/* @path below a row. Rows without a time there are left out. */
static void fill_from_steps(struct sample *sample, const struct ap_value *rows, const char *path)
{
    sample->count = 0;
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        const struct ap_value *value = is_steady(row) ? ap_value_at(row, path) : NULL;
        if (value && value->type == AP_VALUE_TIME_NS && value->as.integer >= 0)
            sample->values[sample->count++] = value->as.integer;
    }
}

/* Of each run the mean over its steps, and of the whole step the median. */
static void fill_from_runs(struct sample *sample, const struct ap_side *side, const char *rows, const char *path)
{
    sample->count = 0;
    for (size_t i = 0; i < side->count; i++) {
        bool overflowed = false;
        int64_t total_ns = 0, steps = 0, value_ns = ap_run_step_ns(side->runs[i].root);
        const struct ap_value *row = ap_value_first(ap_value_at(side->runs[i].root, rows));
        for (; row; row = row->next) {
            int64_t ns = is_steady(row) ? ap_integer_at(row, path, -1) : -1;
            total_ns = ap_add_sat(total_ns, ns >= 0 ? ns : 0, &overflowed);
            steps += ns >= 0;
        }
        if (strcmp(path, "dur_us") != 0)
            value_ns = steps ? ap_mean(total_ns, (uint64_t)steps) : -1;
        if (value_ns >= 0)
            sample->values[sample->count++] = value_ns;
    }
}

static bool get_sample(struct sample *sample, struct ap_gate *gate, const struct ap_value *rows, size_t run_count)
{
    size_t row_count = ap_value_count(rows);
    sample->room = row_count > run_count ? row_count : run_count;
    sample->values = sample->room ? ap_mem_resize(gate, NULL, 0, sample->room * sizeof(sample->values[0])) : NULL;
    return sample->values || !sample->room;
}

static void release_sample(struct sample *sample, struct ap_gate *gate)
{
    AP_FREE(gate, sample->values, sample->room);
}

/* Both sides of one column. */
struct samples {
    const char *rows; /* path of the list of steps */
    const struct ap_value *before_rows, *after_rows;
    struct sample before, after;
};

static enum ap_status open_samples(struct ap_comparing *comparing, const char *rows, struct samples *samples,
                                   struct ap_error *reterr)
{
    *samples = (struct samples){ .rows = rows,
                                 .before_rows = ap_value_at(comparing->before, rows),
                                 .after_rows = ap_value_at(comparing->after, rows) };
    if (get_sample(&samples->before, comparing->gate, samples->before_rows, comparing->sides[0].count) &&
        get_sample(&samples->after, comparing->gate, samples->after_rows, comparing->sides[1].count))
        return AP_OK;
    release_sample(&samples->before, comparing->gate);
    return ap_fail_memory(comparing->gate, reterr);
}

static void close_samples(struct ap_comparing *comparing, struct samples *samples)
{
    release_sample(&samples->before, comparing->gate);
    release_sample(&samples->after, comparing->gate);
}

static void fill_samples(const struct ap_comparing *comparing, struct samples *samples, const char *path)
{
    if (comparing->several) {
        fill_from_runs(&samples->before, &comparing->sides[0], samples->rows, path);
        fill_from_runs(&samples->after, &comparing->sides[1], samples->rows, path);
        return;
    }
    fill_from_steps(&samples->before, samples->before_rows, path);
    fill_from_steps(&samples->after, samples->after_rows, path);
}

static int64_t mean_of(const struct sample *sample)
{
    bool overflowed = false;
    int64_t total = 0;
    for (size_t i = 0; i < sample->count; i++)
        total = ap_add_sat(total, sample->values[i], &overflowed);
    return ap_mean(total, sample->count);
}

/* Are there values on both sides? Fills *test then. */
static enum ap_status test_samples(struct ap_comparing *comparing, struct samples *samples, struct ap_rank_test *test,
                                   struct ap_error *reterr)
{
    *test = (struct ap_rank_test){
        .before_count = samples->before.count, .after_count = samples->after.count, .p_value = 1, .least_p = 1
    };
    if (!samples->before.count || !samples->after.count)
        return AP_OK;
    return ap_rank_test(comparing->gate, samples->before.values, samples->before.count, samples->after.values,
                        samples->after.count, test, reterr);
}

static void find_ends(const struct sample *sample, int64_t *ret_least, int64_t *ret_most)
{
    *ret_least = *ret_most = sample->values[0];
    for (size_t i = 1; i < sample->count; i++) {
        *ret_least = sample->values[i] < *ret_least ? sample->values[i] : *ret_least;
        *ret_most = sample->values[i] > *ret_most ? sample->values[i] : *ret_most;
    }
}

/* All values of one side lie above all of the other, and there are enough to say so: the fewer, the further. A run is worth
 * more than a step. */
static bool stand_apart(const struct ap_comparing *comparing, const struct samples *samples)
{
    int64_t before_least, before_most, after_least, after_most;
    size_t fewer = samples->before.count < samples->after.count ? samples->before.count : samples->after.count;
    if (fewer < (comparing->several ? 1 : AP_APART_FAR_COUNT))
        return false;
    find_ends(&samples->before, &before_least, &before_most);
    find_ends(&samples->after, &after_least, &after_most);
    double times = comparing->several || fewer >= AP_APART_LEAST_COUNT ? 1 : AP_APART_FAR_TIMES;
    return (double)after_least > times * (double)before_most || (double)before_least > times * (double)after_most;
}

/* @whole: of the step, by which noise is counted where there are too few values for the test. */
static enum ap_change judge(const struct ap_comparing *comparing, const struct samples *samples,
                            const struct ap_rank_test *test, double level, double least, double whole)
{
    double size = test->shift < 0 ? -(double)test->shift : (double)test->shift;
    if (!test->before_count || !test->after_count)
        return AP_CHANGE_unknown;
    if (test->least_p > level && size > 0 && (!stand_apart(comparing, samples) || size < comparing->noise_ratio * whole))
        return AP_CHANGE_unclear;
    if (test->least_p > level && size > 0)
        return ap_change_of((double)test->shift, AP_BETTER_lower);
    if (test->p_value > level || size < least || size == 0)
        return AP_CHANGE_none;
    return ap_change_of((double)test->shift, AP_BETTER_lower);
}

/* ---- steps ---- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool tells_all(const struct ap_value *root, const struct sample *sample)
{
    return ap_integer_at(root, "steps.steady.count", 0) <= (int64_t)sample->count;
}

static void add_test(struct ap_comparing *comparing, struct ap_value *to, const struct ap_rank_test *test, double level)
{
    bool tested = test->least_p <= level;
    ap_add_known_string(comparing->model, to, "test", tested, ap_rank_test_name(test->exact));
    ap_add_ratio(comparing->model, to, "level", level);
}

static void add_p_value(struct ap_comparing *comparing, struct ap_value *to, const struct ap_rank_test *test, double level)
{
    ap_add_known_number(comparing->model, to, "p_value", test->least_p <= level, test->p_value);
}

static void add_step_note(struct ap_comparing *comparing, struct ap_value *steps, const struct samples *samples,
                          const struct ap_rank_test *test)
{
    char text[400];
    bool all = tells_all(comparing->before, &samples->before) && tells_all(comparing->after, &samples->after);
    if (comparing->behind) {
        ap_add_string(comparing->model, steps, "note",
                      "steps of the host, which end before the devices have done their work: no change is told by them");
    } else if (test->least_p > AP_STEP_LEVEL) {
        (void)snprintf(
            text, sizeof(text),
            "too few %s for the test: %zu before and %zu now, and no outcome could reach p = 0.05 (4 and 4 "
            "can, or 3 and 5)%s%s",
            comparing->several ? "runs" : "steady steps", test->before_count, test->after_count,
            comparing->step_change == AP_CHANGE_unclear
                ? ""
                : "; it is called a change because the two sides do not overlap and differ by more than the noise",
            all || comparing->several ? ""
                                      : "; the reports list fewer steps than there were: " AP_OPTION_TOP_N " 0 lists all");
        ap_add_string(comparing->model, steps, "note", text);
    } else if (!all && !comparing->several) {
        ap_add_string(comparing->model, steps, "note",
                      "the test is of the steps that the reports list, not of all: " AP_OPTION_TOP_N " 0 lists all of them");
    } else if (comparing->step_change == AP_CHANGE_unclear) {
        ap_add_string(comparing->model, steps, "note",
                      "the medians differ, and the steps vary so much that the test does not tell this from chance");
    } else {
        ap_add_null(comparing->model, steps, "note");
    }
}

bool ap_explains_step(const struct ap_comparing *comparing, double delta_ns)
{
    double step_ns = comparing->step_delta_ns;
    return comparing->per_step && step_ns != 0 &&
           (step_ns > 0 ? delta_ns : -delta_ns) >= (step_ns > 0 ? step_ns : -step_ns) / 2;
}

double ap_stall_ns(const struct ap_comparing *comparing)
{
    double before = (double)ap_integer_at(comparing->before, "steps.steady.count", 0),
           after = (double)ap_integer_at(comparing->after, "steps.steady.count", 0);
    double fewer = before < after ? before : after;
    bool is_known = !comparing->several && fewer > 0;
    return is_known ? comparing->noise_ratio / AP_NOISE_SPREADS * comparing->whole_ns / sqrt(fewer) : 0;
}

/* ---- what the median does not see ---- */

#define LONG_STEP_TIMES 1.5  /* of the median, from where on a step is one of the long ones */
#define MEAN_LEAST_RATIO 0.2 /* of the longer mean: less may be one step by chance */
#define PERIOD_LEAST_COUNT 3 /* steps that begin one after the other */

static int64_t count_long(const struct sample *sample)
{
    int64_t p50_ns = ap_quantile(sample->values, sample->count, 50), count = 0;
    for (size_t i = 0; i < sample->count; i++)
        count += (double)sample->values[i] > LONG_STEP_TIMES * (double)p50_ns;
    return count;
}

/* Steps of which few are long change the mean alone. */
static void add_long(struct ap_comparing *comparing, struct ap_value *steps, const struct samples *samples)
{
    int64_t before_ns = mean_of(&samples->before), after_ns = mean_of(&samples->after);
    const struct sample *longer = after_ns > before_ns ? &samples->after : &samples->before;
    bool is_known = !comparing->several &&
                    (comparing->step_change == AP_CHANGE_none || comparing->step_change == AP_CHANGE_unclear) &&
                    ap_relative_difference((double)before_ns, (double)after_ns) >= MEAN_LEAST_RATIO;
    int64_t count = is_known ? count_long(longer) : 0;
    ap_add_known_count(comparing->model, steps, "long_count", count > 0, count);
}

/* From the start of one step to that of the next, in the middle of all; -1 = too few. */
static int64_t period_ns(struct sample *sample, const struct ap_value *rows)
{
    const struct ap_value *row = ap_value_first(rows);
    sample->count = 0;
    for (; row && row->next; row = row->next) {
        int64_t ns = ap_integer_member(row->next, "start_us", 0) - ap_integer_member(row, "start_us", 0);
        if (ns > 0 && is_steady(row))
            sample->values[sample->count++] = ns;
    }
    return sample->count + 1 >= PERIOD_LEAST_COUNT ? ap_quantile(sample->values, sample->count, 50) : -1;
}

/* Marks of steps may leave out what changed: what stands between them. */
static void add_periods(struct ap_comparing *comparing, struct ap_value *steps, struct samples *samples)
{
    int64_t before_ns = comparing->several ? -1 : period_ns(&samples->before, samples->before_rows),
            after_ns = comparing->several ? -1 : period_ns(&samples->after, samples->after_rows);
    ap_add_known_time(comparing->model, steps, "before_period_us", before_ns >= 0, before_ns);
    ap_add_known_time(comparing->model, steps, "after_period_us", after_ns >= 0, after_ns);
}

/* ---- the test ---- */

static void judge_steps(struct ap_comparing *comparing, struct samples *samples, const struct ap_rank_test *test,
                        int64_t before_p50_ns, int64_t after_p50_ns)
{
    double longer_ns = larger((double)before_p50_ns, (double)after_p50_ns);
    comparing->step_change = judge(comparing, samples, test, AP_STEP_LEVEL, AP_STEP_LEAST_RATIO * longer_ns, longer_ns);
    if (test->least_p > AP_STEP_LEVEL && comparing->step_change == AP_CHANGE_none)
        comparing->step_change = AP_CHANGE_unclear;
    if (comparing->step_change == AP_CHANGE_none &&
        ap_relative_difference((double)before_p50_ns, (double)after_p50_ns) >= AP_NOISE_LEAST_RATIO)
        comparing->step_change = AP_CHANGE_unclear;
    if (comparing->step_change == AP_CHANGE_worse || comparing->step_change == AP_CHANGE_better)
        comparing->step_delta_ns = (double)after_p50_ns - (double)before_p50_ns;
    if (!comparing->alike && (comparing->step_change == AP_CHANGE_worse || comparing->step_change == AP_CHANGE_better))
        comparing->step_change = AP_CHANGE_other;
    if (comparing->behind)
        comparing->step_change = AP_CHANGE_unclear;
}

static enum ap_status add_steps(struct ap_comparing *comparing, struct samples *samples, struct ap_error *reterr)
{
    struct ap_model *model = comparing->model;
    struct ap_rank_test test;
    fill_samples(comparing, samples, "dur_us");
    if (!samples->before.count || !samples->after.count) {
        ap_add_null(model, comparing->comparison, "steps");
        return AP_OK;
    }
    int64_t before_ns = mean_of(&samples->before), after_ns = mean_of(&samples->after);
    AP_TRY(test_samples(comparing, samples, &test, reterr));
    int64_t before_p50_ns = ap_quantile(samples->before.values, samples->before.count, 50);
    int64_t after_p50_ns = ap_quantile(samples->after.values, samples->after.count, 50);
    judge_steps(comparing, samples, &test, before_p50_ns, after_p50_ns);
    struct ap_value *steps = ap_add_object(model, comparing->comparison, "steps");
    ap_add_count(model, steps, "before_count", (int64_t)test.before_count);
    ap_add_count(model, steps, "after_count", (int64_t)test.after_count);
    ap_add_time(model, steps, "before_mean_us", before_ns);
    ap_add_time(model, steps, "after_mean_us", after_ns);
    ap_add_time(model, steps, "before_p50_us", before_p50_ns);
    ap_add_time(model, steps, "after_p50_us", after_p50_ns);
    ap_add_time(model, steps, "delta_us", after_p50_ns - before_p50_ns);
    ap_add_quotient(model, steps, "delta_ratio", (double)(after_p50_ns - before_p50_ns), (double)before_p50_ns);
    ap_add_time(model, steps, "shift_us", test.shift);
    add_test(comparing, steps, &test, AP_STEP_LEVEL);
    add_p_value(comparing, steps, &test, AP_STEP_LEVEL);
    ap_add_ratio(model, steps, "least_ratio", AP_STEP_LEAST_RATIO);
    ap_add_string(model, steps, "change", ap_change_name(ap_change_said(comparing, comparing->step_change)));
    add_step_note(comparing, steps, samples, &test);
    add_long(comparing, steps, samples);
    add_periods(comparing, steps, samples);
    return AP_OK;
}

/* ---- parts of the time ---- */

/* Where the parts stand in a row, and in the judged part of the split: "", "idle_causes." */
static const char *const places[] = { "", "idle_causes", "host_states" };

struct part {
    char path[100]; /* "idle_causes.data_loading_us" */
    struct ap_text name;
};

/* False where @key is not the time of a part. */
static bool set_part(struct part *part, const char *place, struct ap_text key)
{
    static const char end[] = "_us";
    size_t tail = sizeof(end) - 1;
    if (key.bytes <= tail || memcmp(key.data + key.bytes - tail, end, tail) != 0 || key.bytes > 60 ||
        memchr(key.data, '.', key.bytes) || ap_text_is(key, "start_us") || ap_text_is(key, "dur_us"))
        return false;
    int used = snprintf(part->path, sizeof(part->path), "%s%s%.*s", place, *place ? "." : "", (int)key.bytes, key.data);
    part->name = (struct ap_text){ part->path, (size_t)used - tail };
    return true;
}

static enum ap_status add_part(struct ap_comparing *comparing, struct ap_value *parts, struct samples *samples,
                               const struct part *part, struct ap_error *reterr)
{
    struct ap_model *model = comparing->model;
    struct ap_rank_test test;
    fill_samples(comparing, samples, part->path);
    if (!samples->before.count || !samples->after.count)
        return AP_OK;
    int64_t before_ns = mean_of(&samples->before), after_ns = mean_of(&samples->after);
    if (!before_ns && !after_ns)
        return AP_OK;
    AP_TRY(test_samples(comparing, samples, &test, reterr));
    enum ap_change change =
        judge(comparing, samples, &test, AP_PART_LEVEL, AP_PART_LEAST_RATIO * comparing->whole_ns, comparing->whole_ns);
    struct ap_value *row = ap_add_object(model, parts, NULL);
    ap_add_text(model, row, "part", part->name);
    ap_add_time(model, row, "before_us", before_ns);
    ap_add_time(model, row, "after_us", after_ns);
    ap_add_time(model, row, "delta_us", after_ns - before_ns);
    ap_add_quotient(model, row, "delta_ratio", (double)(after_ns - before_ns), (double)before_ns);
    ap_add_quotient(model, row, "step_share_ratio", (double)(after_ns - before_ns), comparing->whole_ns);
    add_p_value(comparing, row, &test, AP_PART_LEVEL);
    ap_add_string(model, row, "change", ap_change_name(ap_change_said(comparing, change)));
    return AP_OK;
}

/* All rows of one report have the same parts, so the first ones name them: those that both have. */
static bool is_in_both(const struct samples *samples, const char *path, const struct ap_value *value)
{
    const struct ap_value *before = ap_value_at(ap_value_first(samples->before_rows), path);
    return ap_value_at(ap_value_first(samples->after_rows), path) == value && value->type == AP_VALUE_TIME_NS && before &&
           before->type == AP_VALUE_TIME_NS;
}

static enum ap_status add_parts(struct ap_comparing *comparing, struct ap_value *parts, struct samples *samples,
                                struct ap_error *reterr)
{
    const struct ap_value *first = ap_value_first(samples->after_rows);
    for (size_t i = 0; i < AP_COUNT_OF(places); i++) {
        const struct ap_value *at = ap_value_first(ap_value_at(first, places[i]));
        for (; at; at = at->next) {
            struct part part;
            if (set_part(&part, places[i], at->key) && is_in_both(samples, part.path, at))
                AP_TRY(add_part(comparing, parts, samples, &part, reterr));
        }
    }
    return AP_OK;
}

static bool has_one_basis(const struct ap_comparing *comparing)
{
    return ap_text_equal(ap_text_at(comparing->before, "split.basis"), ap_text_at(comparing->after, "split.basis"));
}

static enum ap_status add_split(struct ap_comparing *comparing, struct samples *samples, struct ap_error *reterr)
{
    struct ap_model *model = comparing->model;
    struct ap_rank_test test = { .least_p = 1 };
    fill_samples(comparing, samples, "dur_us");
    if (!samples->before.count || !samples->after.count || !has_one_basis(comparing)) {
        ap_add_null(model, comparing->comparison, "split");
        return AP_OK;
    }
    AP_TRY(test_samples(comparing, samples, &test, reterr));
    struct ap_value *split = ap_add_object(model, comparing->comparison, "split");
    ap_add_text(model, split, "basis", ap_text_at(comparing->after, "split.basis"));
    ap_add_count(model, split, "before_count", (int64_t)test.before_count);
    ap_add_count(model, split, "after_count", (int64_t)test.after_count);
    add_test(comparing, split, &test, AP_PART_LEVEL);
    ap_add_ratio(model, split, "least_step_ratio", AP_PART_LEAST_RATIO);
    return add_parts(comparing, ap_add_list(model, split, "parts"), samples, reterr);
}

enum ap_status ap_compare_steps(struct ap_comparing *comparing, struct ap_error *reterr)
{
    struct samples samples;
    AP_TRY(open_samples(comparing, "steps.rows", &samples, reterr));
    enum ap_status status = add_steps(comparing, &samples, reterr);
    close_samples(comparing, &samples);
    AP_AND_THEN(status, open_samples(comparing, "split.steps", &samples, reterr));
    if (status != AP_OK)
        return status;
    status = add_split(comparing, &samples, reterr);
    close_samples(comparing, &samples);
    return status;
}

/* ---- in a sentence ---- */

const struct ap_value *ap_largest_part(const struct ap_comparing *comparing)
{
    const char *wanted = ap_change_name(ap_change_said(comparing, comparing->step_change));
    double step_ns = (double)ap_integer_at(comparing->comparison, "steps.delta_us", 0);
    const struct ap_value *largest = NULL, *part = ap_value_first(ap_value_at(comparing->comparison, "split.parts"));
    for (; part; part = part->next) {
        if (!ap_text_is(ap_text_member(part, "change"), wanted) ||
            (ap_integer_member(part, "delta_us", 0) > 0) != (step_ns > 0) ||
            ap_text_is(ap_text_member(part, "part"), "idle"))
            continue;
        if (!largest || llabs(ap_integer_member(part, "delta_us", 0)) > llabs(ap_integer_member(largest, "delta_us", 0)))
            largest = part;
    }
    return comparing->step_change == AP_CHANGE_worse || comparing->step_change == AP_CHANGE_better ? largest : NULL;
}

void ap_add_long_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *steps = ap_value_member(comparing->comparison, "steps");
    int64_t count = ap_integer_member(steps, "long_count", 0), before_ns = ap_integer_member(steps, "before_mean_us", 0),
            after_ns = ap_integer_member(steps, "after_mean_us", 0);
    const char *all = after_ns > before_ns ? "after_count" : "before_count";
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    if (count <= 0)
        return;
    (void)ap_format_value(ap_value_member(steps, "before_mean_us"), before, sizeof(before));
    (void)ap_format_value(ap_value_member(steps, "after_mean_us"), after, sizeof(after));
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used,
                   "; in the mean a step takes %s, it took %s before: %lld of %lld %s much longer", after, before,
                   (long long)count, (long long)ap_integer_member(steps, all, 0), after_ns > before_ns ? "are" : "were");
}

/* Steps that begin further apart than they did, and are as long. */
void ap_add_period_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *steps = ap_value_member(comparing->comparison, "steps");
    double before_ns = (double)ap_integer_member(steps, "before_period_us", -1),
           after_ns = (double)ap_integer_member(steps, "after_period_us", -1);
    double delta_ns = fabs(after_ns - before_ns), inside_ns = fabs((double)ap_integer_member(steps, "delta_us", 0));
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    if (before_ns < 0 || after_ns < 0 || comparing->behind ||
        ap_relative_difference(before_ns, after_ns) < larger(comparing->noise_ratio, AP_NOISE_UNKNOWN_RATIO) ||
        delta_ns < 2 * inside_ns)
        return;
    (void)ap_format_value(ap_value_member(steps, "before_period_us"), before, sizeof(before));
    (void)ap_format_value(ap_value_member(steps, "after_period_us"), after, sizeof(after));
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, "; but steps begin %s apart, %s before: what changed lies between them", after,
                   before);
}

static const char *const causes[][2] = {
#define AP_IDLE_CAUSE(id, sentence) { #id, sentence },
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
};

/* "idle time in which the host ran Python between operators", "compute" */
void ap_add_part_name(struct ap_text part, char *text, size_t bytes)
{
    static const char *const words[][2] = { { "idle_causes.", "idle time" }, { "host_states.", "time" } };
    for (size_t place = 0; place < AP_COUNT_OF(words); place++)
        for (size_t i = 0; i < AP_COUNT_OF(causes); i++) {
            char name[60];
            (void)snprintf(name, sizeof(name), "%s%s", words[place][0], causes[i][0]);
            if (!ap_text_is(part, name))
                continue;
            (void)snprintf(text, bytes, "%s in which %.*s", words[place][1], (int)strcspn(causes[i][1], ":"), causes[i][1]);
            return;
        }
    (void)snprintf(text, bytes, "%.*s", (int)part.bytes, part.data);
    for (char *at = strchr(text, '_'); at; at = strchr(at, '_'))
        *at = ' ';
}

void ap_add_part_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    char delta[AP_VALUE_TEXT_BYTES];
    const struct ap_value *part = ap_largest_part(comparing);
    if (!part)
        return;
    double whole_ns = (double)ap_integer_at(comparing->comparison, "steps.delta_us", 0);
    bool most = 2 * fabs((double)ap_integer_member(part, "delta_us", 0)) >= fabs(whole_ns);
    (void)ap_format_value(ap_value_member(part, "delta_us"), delta, sizeof(delta));
    (void)snprintf(text + strlen(text), bytes - strlen(text), "; %s of it in ", most ? "most" : "the largest part");
    ap_add_part_name(ap_text_member(part, "part"), text + strlen(text), bytes - strlen(text));
    (void)snprintf(text + strlen(text), bytes - strlen(text), ", %s%s a step",
                   ap_integer_member(part, "delta_us", 0) > 0 ? "+" : "", delta);
}
