/* SPDX-License-Identifier: MIT
 * compare_same.c - the same work, and as many times of it. The same operators on the same shapes, by the same kernels,
 * called as often: where nearly all of them take longer on the device, the device is another one to them (its clock, its
 * power limit, who else uses it), and what changed is not what the program computes. Operators whose tensors have more
 * rows, all by one factor, and as many features: a step holds so many times as much, and one that takes longer may be the
 * faster one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "sort.h"

#include "poison.h"

#define AS_OFTEN_RATIO 0.02     /* counts per step that differ by less are the same */
#define NEARLY_ALL_RATIO 0.6    /* of the time of kernels: those that memory bounds do not follow the clock */
#define FAMILIES_RATIO 0.9      /* of families, which say less of each kernel: all but a few */
#define AS_MUCH_RATIO 0.01      /* operations and bytes of a step that differ by less are as many */
#define MACHINE_LEAST_RATIO 0.1 /* of an operator on the CPU: less is a busy core */
#define SHORT_CALL_NS 10e3      /* of an operator on the CPU: mostly what calling takes */
#define REST_LEAST_RATIO 0.02   /* beside the largest family or operator: less is too little to see that all take longer */
#define LEAST_OPERATORS 2
#define LEAST_TIME_RATIO 0.1 /* of what devices or steps take on both sides */
#define MOST_DIGITS 9        /* products of two such numbers fit */

struct call {
    struct ap_text operator, dims, types, kernel;
    double count, kernels, ns; /* of a step, where both sides have steps */
};

static int by_key(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    int order = ap_text_compare(x->operator, y->operator);
    order = order ? order : ap_text_compare(x->dims, y->dims);
    order = order ? order : ap_text_compare(x->types, y->types);
    return order ? order : ap_text_compare(x->kernel, y->kernel);
}

static enum ap_status open_calls(struct ap_comparing *comparing, const struct ap_value *root, double parts,
                                 struct call **ret_calls, size_t *ret_count, struct ap_error *reterr)
{
    const struct ap_value *rows = ap_value_at(root, "compute.operators");
    size_t at = 0;
    *ret_count = ap_value_count(rows);
    if (!*ret_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(comparing->gate, *ret_calls, *ret_count, reterr));
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next)
        (*ret_calls)[at++] = (struct call){
            ap_text_member(row, "operator"),
            ap_text_member(row, "dims"),
            ap_text_member(row, "types"),
            ap_text_member(row, "kernel"),
            (double)ap_integer_member(row, "count", 0) / parts,
            (double)ap_integer_member(row, "kernels", 0) / parts,
            (double)ap_integer_member(row, "total_dur_us", 0) / parts,
        };
    ap_sort(*ret_calls, *ret_count, sizeof((*ret_calls)[0]), by_key);
    return AP_OK;
}

/* As many calls, of as many kernels each: an operator that turns its tensors round first launches more for it. */
static bool is_as_often(const struct call *before, const struct call *after)
{
    return ap_relative_difference(before->count, after->count) <= AS_OFTEN_RATIO &&
           ap_relative_difference(before->kernels, after->kernels) <= AS_OFTEN_RATIO;
}

/* Those that take longer, or those that take less time. */
struct sums {
    double before_ns, after_ns;
    double largest_ns; /* of them, before */
    int64_t kinds;     /* operators, or families */
};

static struct sums *add_to(struct sums sums[2], double before_ns, double after_ns)
{
    struct sums *to = &sums[after_ns > before_ns];
    to->kinds++;
    to->before_ns += before_ns;
    to->after_ns += after_ns;
    to->largest_ns = fmax(to->largest_ns, before_ns);
    return to;
}

static void add_up(const struct call *before, size_t before_count, const struct call *after, size_t after_count,
                   struct sums sums[2])
{
    struct ap_text last[2] = { AP_TEXT(""), AP_TEXT("") };
    for (size_t i = 0, j = 0; i < before_count && j < after_count;) {
        int order = by_key(&before[i], &after[j]);
        if (order == 0 && is_as_often(&before[i], &after[j]) &&
            ap_relative_difference(before[i].ns, after[j].ns) >= AP_NOISE_LEAST_RATIO) {
            struct sums *to = add_to(sums, before[i].ns, after[j].ns);
            to->kinds -= ap_text_equal(last[to - sums], before[i].operator); /* they are in order */
            last[to - sums] = before[i].operator;
        }
        i += order <= 0;
        j += order >= 0;
    }
}

/* ---- families of kernels ---- */

static double number_at(const struct ap_value *root, const char *path)
{
    double number = 0;
    (void)ap_value_number(ap_value_at(root, path), &number);
    return number;
}

/* Shapes tell as much arithmetic and as many bytes for a step of either side, and types are the same. */
static bool is_as_much(const struct ap_comparing *comparing)
{
    static const char *const figures[] = { "compute.flops", "compute.bytes" };
    bool as_much = !ap_value_first(ap_value_member(comparing->comparison, "types"));
    for (size_t i = 0; i < AP_COUNT_OF(figures); i++) {
        double before = number_at(comparing->before, figures[i]) / comparing->before_parts,
               after = number_at(comparing->after, figures[i]) / comparing->after_parts;
        as_much = as_much && before > 0 && ap_relative_difference(before, after) < AS_MUCH_RATIO;
    }
    return as_much;
}

static const struct ap_value *find_family(const struct ap_value *root, struct ap_text name)
{
    const struct ap_value *row = ap_value_first(ap_value_at(root, "gpu.subfamilies"));
    while (row && !ap_text_equal(ap_text_member(row, "subfamily"), name))
        row = row->next;
    return row;
}

static bool is_communication(const struct ap_value *family)
{
    return ap_text_is(ap_text_member(family, "family"), "communication");
}

static double kernels_ns(const struct ap_value *root, double parts)
{
    return (double)ap_integer_at(root, "gpu.kernel.total_dur_us", 0) / parts;
}

/* Time of kernels of a step but that of collectives, which wait. */
static double own_ns(const struct ap_value *root, double parts)
{
    double ns = kernels_ns(root, parts);
    for (const struct ap_value *row = ap_value_first(ap_value_at(root, "gpu.subfamilies")); row; row = row->next)
        ns -= is_communication(row) ? (double)ap_integer_member(row, "total_dur_us", 0) / parts : 0;
    return ns;
}

/* Kernels of other names compute in another way (other types inside, another algorithm), which is not the device. */
static bool kernels_are_the_same(const struct ap_comparing *comparing, double all_ns)
{
    double gone_ns = 0;
    for (const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, "kernels.rows")); row;
         row = row->next)
        gone_ns += ap_text_is(ap_text_member(row, "change"), "gone") ? (double)ap_integer_member(row, "before_us", 0) : 0;
    return gone_ns <= (1 - FAMILIES_RATIO) * all_ns;
}

/* A list of operators is cut, families of kernels are not: where a step computes as much, as many kernels of nearly every
 * family that all take longer are the same work. There are some twenty families at most. */
static void add_up_families(const struct ap_comparing *comparing, struct sums sums[2])
{
    for (const struct ap_value *before = ap_value_first(ap_value_at(comparing->before, "gpu.subfamilies")); before;
         before = before->next) {
        const struct ap_value *after = find_family(comparing->after, ap_text_member(before, "subfamily"));
        double before_ns = (double)ap_integer_member(before, "total_dur_us", 0) / comparing->before_parts,
               after_ns = (double)ap_integer_member(after, "total_dur_us", 0) / comparing->after_parts,
               before_count = (double)ap_integer_member(before, "count", 0) / comparing->before_parts,
               after_count = (double)ap_integer_member(after, "count", 0) / comparing->after_parts;
        if (is_communication(before) || ap_relative_difference(before_count, after_count) > AS_OFTEN_RATIO ||
            ap_relative_difference(before_ns, after_ns) < AP_NOISE_LEAST_RATIO)
            continue;
        (void)add_to(sums, before_ns, after_ns);
    }
}

/* ---- operators of a run on the CPU ---- */

/* Calls take longer with gradients, too, or where stacks are recorded: of short ones that is most of their time. */
static bool is_short(double ns, double count)
{
    return ns < SHORT_CALL_NS * count;
}

/* As add_up_families(), of the operators with most time: those that both sides list. Their time before. */
static double add_up_operators(const struct ap_comparing *comparing, struct sums sums[2])
{
    static const char operators[] = "cpu.operators_by_self";
    const struct ap_value *after_list = ap_value_at(comparing->after, operators);
    double all_ns = 0;
    const struct ap_value *before = ap_value_first(ap_value_at(comparing->before, operators));
    for (size_t listed = 0; before && listed < AP_FOUND_MOST; before = before->next, listed++) {
        const struct ap_value *after = ap_find_row(after_list, ap_text_member(before, "name"));
        double before_ns = (double)ap_integer_member(before, "self_dur_us", 0) / comparing->before_parts,
               after_ns = (double)ap_integer_member(after, "self_dur_us", 0) / comparing->after_parts,
               before_count = (double)ap_integer_member(before, "count", 0) / comparing->before_parts,
               after_count = (double)ap_integer_member(after, "count", 0) / comparing->after_parts;
        all_ns += before_ns;
        if (!after || is_short(before_ns, before_count) || is_short(after_ns, after_count) ||
            ap_relative_difference(before_count, after_count) > AS_OFTEN_RATIO ||
            ap_relative_difference(before_ns, after_ns) < MACHINE_LEAST_RATIO)
            continue;
        (void)add_to(sums, before_ns, after_ns);
    }
    return all_ns;
}

/* ---- the same calls ---- */

static bool is_same_call(const struct call *x, const struct call *y)
{
    return ap_text_equal(x->operator, y->operator) && ap_text_equal(x->dims, y->dims) && ap_text_equal(x->types, y->types);
}

/* One row of its operator, shapes and types: else which of several kernels serves which call is not told. */
static bool is_only_one(const struct call *calls, size_t count, size_t at)
{
    return !(at && is_same_call(&calls[at], &calls[at - 1])) &&
           !(at + 1 < count && is_same_call(&calls[at], &calls[at + 1]));
}

static void take_other_kernel(struct ap_comparing *comparing, const struct call *before, const struct call *after,
                              double *largest_ns)
{
    double delta_ns = fabs(after->ns - before->ns);
    if (ap_text_equal(before->kernel, after->kernel) || !before->kernel.bytes || !after->kernel.bytes ||
        delta_ns <= *largest_ns || ap_relative_difference(before->ns, after->ns) < AP_NOISE_UNKNOWN_RATIO)
        return;
    *largest_ns = delta_ns;
    comparing->other_kernel =
        (struct ap_other_kernel){ before->operator, before->kernel, after->kernel, after->ns / before->ns };
}

static void match_calls(struct ap_comparing *comparing, const struct call *before, size_t before_count,
                        const struct call *after, size_t after_count)
{
    double before_ns = 0, after_ns = 0, all_before_ns = kernels_ns(comparing->before, comparing->before_parts),
           all_after_ns = kernels_ns(comparing->after, comparing->after_parts);
    double largest_ns = LEAST_TIME_RATIO * all_before_ns;
    for (size_t i = 0, j = 0; i < before_count && j < after_count && all_before_ns > 0 && all_after_ns > 0;) {
        bool is_same = is_same_call(&before[i], &after[j]);
        if (is_same && is_only_one(before, before_count, i) && is_only_one(after, after_count, j) &&
            ap_relative_difference(before[i].count, after[j].count) <= AS_OFTEN_RATIO && before[i].ns > 0) {
            before_ns += before[i].ns;
            after_ns += after[j].ns;
            take_other_kernel(comparing, &before[i], &after[j], &largest_ns);
        }
        int order = is_same ? 0 : by_key(&before[i], &after[j]);
        i += order <= 0;
        j += order >= 0;
    }
    if (all_before_ns > 0 && all_after_ns > 0)
        comparing->same_calls_ratio = fmax(before_ns / all_before_ns, after_ns / all_after_ns);
}

enum ap_status ap_find_same_calls(struct ap_comparing *comparing, struct ap_error *reterr)
{
    struct call *before = NULL, *after = NULL;
    size_t before_count = 0, after_count = 0;
    enum ap_status status =
        open_calls(comparing, comparing->before, comparing->before_parts, &before, &before_count, reterr);
    AP_AND_THEN(status, open_calls(comparing, comparing->after, comparing->after_parts, &after, &after_count, reterr));
    if (status == AP_OK)
        match_calls(comparing, before, before_count, after, after_count);
    AP_FREE(comparing->gate, before, before_count);
    AP_FREE(comparing->gate, after, after_count);
    return status;
}

/* ---- the same work ---- */

static const struct sums *larger_of(const struct sums sums[2])
{
    return sums[1].before_ns > sums[0].before_ns ? &sums[1] : &sums[0];
}

/* All but a few, and of those beside the largest most: one alone that takes longer is no slower device. */
static bool is_all(const struct sums *sums, double all_ns)
{
    double rest_ns = all_ns - sums->largest_ns;
    return sums->before_ns > FAMILIES_RATIO * all_ns && rest_ns > REST_LEAST_RATIO * all_ns &&
           sums->before_ns - sums->largest_ns > NEARLY_ALL_RATIO * rest_ns;
}

static void add_same(struct ap_comparing *comparing, const char *of, const struct sums *sums, double all_ns)
{
    struct ap_model *model = comparing->model;
    struct ap_value *same = ap_add_object(model, comparing->comparison, "same_work");
    ap_add_string(model, same, "of", of);
    ap_add_time(model, same, "before_us", (int64_t)sums->before_ns);
    ap_add_time(model, same, "after_us", (int64_t)sums->after_ns);
    ap_add_quotient(model, same, "share_ratio", sums->before_ns, all_ns);
    ap_add_quotient(model, same, "times", sums->after_ns, sums->before_ns);
    ap_add_count(model, same, "kinds", sums->kinds);
    double more_ns = (sums->after_ns - sums->before_ns) * comparing->after_parts;
    ap_add_time(model, same, "more_us", more_ns > 0 ? (int64_t)more_ns : 0);
}

/* Of a run on the CPU only what steps follow. */
static bool judge_operators(struct ap_comparing *comparing)
{
    struct sums sums[2] = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };
    double all_ns = add_up_operators(comparing, sums);
    const struct sums *larger = larger_of(sums);
    if (!is_all(larger, all_ns) || comparing->step_delta_ns == 0 || (larger == &sums[1]) != (comparing->step_delta_ns > 0))
        return false;
    add_same(comparing, "operators", larger, all_ns);
    return true;
}

static void judge_same(struct ap_comparing *comparing, const struct sums *operators)
{
    double all_ns = own_ns(comparing->before, comparing->before_parts),
           kernels = all_ns + kernels_ns(comparing->after, comparing->after_parts);
    struct sums families[2] = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };
    bool as_much = is_as_much(comparing);
    if (as_much)
        add_up_families(comparing, families);
    if (all_ns > 0 && operators->before_ns > NEARLY_ALL_RATIO * all_ns)
        add_same(comparing, "kernels", operators, all_ns);
    else if (all_ns > 0 && is_all(larger_of(families), all_ns) && kernels_are_the_same(comparing, all_ns))
        add_same(comparing, "kernels", larger_of(families), all_ns);
    else if (kernels > 0 || !as_much || !judge_operators(comparing))
        ap_add_null(comparing->model, comparing->comparison, "same_work");
}

enum ap_status ap_compare_same(struct ap_comparing *comparing, struct ap_error *reterr)
{
    struct call *before = NULL, *after = NULL;
    size_t before_count = 0, after_count = 0;
    struct sums sums[2] = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };
    enum ap_status status =
        open_calls(comparing, comparing->before, comparing->before_parts, &before, &before_count, reterr);
    AP_AND_THEN(status, open_calls(comparing, comparing->after, comparing->after_parts, &after, &after_count, reterr));
    if (status == AP_OK) {
        add_up(before, before_count, after, after_count, sums);
        judge_same(comparing, larger_of(sums));
    }
    AP_FREE(comparing->gate, before, before_count);
    AP_FREE(comparing->gate, after, after_count);
    return status;
}

void ap_add_same_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *same = ap_value_member(comparing->comparison, "same_work");
    double times = 0, share = 0;
    if (!ap_value_number(ap_value_member(same, "times"), &times) ||
        !ap_value_number(ap_value_member(same, "share_ratio"), &share))
        return;
    bool on_device = ap_text_is(ap_text_member(same, "of"), "kernels");
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used,
                   "; the same %s on the same shapes, called as often, take %.2f times as long (%.0f %% of %s): look at the "
                   "%s first (clock, power limit, %s), then at the program",
                   on_device ? "kernels" : "operators", times, 100 * share,
                   on_device ? "the kernels' time but collectives" : "the operators' time", on_device ? "device" : "machine",
                   on_device ? "other processes" : "other processes, cores, threads");
}

/* ---- more of it ---- */

/* after / before of all sizes that differ; before is 0 where none does. */
struct factor {
    int64_t before, after;
    int64_t last_before, last_after; /* of the tensor at hand; 0 = none yet */
    bool is_square;                  /* two sizes of one tensor differ by one factor: wider layers, larger images */
};

static bool read_size(struct ap_text text, size_t *at, int64_t *ret_size)
{
    size_t from = *at;
    for (*ret_size = 0; *at < text.bytes && ap_is_digit(text.data[*at]) && *at - from < MOST_DIGITS; ++*at)
        *ret_size = 10 * *ret_size + (text.data[*at] - '0');
    return *at > from;
}

static bool is_at(struct ap_text text, size_t at, char c)
{
    return at < text.bytes && text.data[at] == c;
}

/* False where a size differs by another factor than those before it, or as the features of a tensor of several dimensions
 * do: its last size is that of a layer, which a larger batch leaves as it is. */
static bool take_sizes(struct factor *factor, int64_t before, int64_t after, bool is_features)
{
    if (before == after)
        return true;
    if (!before || !after)
        return false;
    factor->is_square = factor->last_before && factor->last_before * after == factor->last_after * before;
    factor->last_before = before;
    factor->last_after = after;
    if (is_features || factor->is_square)
        return false;
    if (!factor->before) {
        factor->before = before;
        factor->after = after;
    }
    return factor->before * after == factor->after * before;
}

/* The first tensor is the one that is worked on: keys and values of a cache grow while a step stays as it is. */
static bool find_factor(struct ap_text before, struct ap_text after, struct factor *ret_factor)
{
    size_t i = 0, j = 0;
    *ret_factor = (struct factor){ 0 };
    while (i < before.bytes && j < after.bytes) {
        int64_t old, new;
        bool is_first = i && before.data[i - 1] == '[';
        ret_factor->last_before = is_first ? 0 : ret_factor->last_before;
        if (read_size(before, &i, &old)) {
            if (!read_size(after, &j, &new) ||
                !take_sizes(ret_factor, old, new, !is_first && is_at(before, i, ']') && is_at(after, j, ']')))
                return false;
        } else if (before.data[i++] != after.data[j++] || (before.data[i - 1] == ']' && !ret_factor->before))
            return false;
    }
    return i == before.bytes && j == after.bytes && ret_factor->before;
}

/* How many times as much a call works on, and how many times as many calls there are. */
struct times {
    double sizes, calls;
};

/* What several operators agree on, and none contradicts; false = nothing. */
static bool find_times(const struct ap_comparing *comparing, double all_ns, struct times *ret_times)
{
    struct factor agreed = { 0 }, factor;
    double ns = 0, square_ns = 0;
    size_t count = 0;
    *ret_times = (struct times){ 0, 0 };
    for (const struct ap_value *row = ap_value_first(ap_value_member(comparing->comparison, "shapes")); row;
         row = row->next) {
        double row_ns = (double)ap_integer_member(row, "before_us", 0) + (double)ap_integer_member(row, "after_us", 0);
        double told = number_at(row, "calls_times"), calls = told > 0 ? told : 1;
        bool found = find_factor(ap_text_member(row, "before"), ap_text_member(row, "after"), &factor);
        square_ns += factor.is_square ? row_ns : 0;
        if (!found)
            continue;
        agreed = agreed.before ? agreed : factor;
        ret_times->calls = count ? ret_times->calls : calls;
        if (agreed.before * factor.after != agreed.after * factor.before ||
            ap_relative_difference(calls, ret_times->calls) > AS_OFTEN_RATIO)
            return false;
        ns += row_ns;
        count++;
    }
    if (square_ns > LEAST_TIME_RATIO * all_ns || count < LEAST_OPERATORS || ns <= LEAST_TIME_RATIO * all_ns)
        return false;
    ret_times->sizes = (double)agreed.after / (double)agreed.before;
    return true;
}

/* Where the change does not stand out. How much steps of the host vary says nothing of devices that are behind. */
static void add_noise_of(const struct ap_comparing *comparing, double change, char *text, size_t bytes)
{
    double noise_ratio = comparing->noise_ratio;
    if (comparing->behind && noise_ratio > AP_NOISE_UNKNOWN_RATIO)
        noise_ratio = AP_NOISE_UNKNOWN_RATIO;
    if (fabs(change) < AP_NOISE_LEAST_RATIO)
        (void)snprintf(text, bytes, ", no more than noise");
    else if (fabs(change) < noise_ratio)
        (void)snprintf(text, bytes,
                       ", but steps vary so much that less than %.0f %% does not stand out: record more of them",
                       100 * noise_ratio);
}

void ap_add_sizes_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    bool behind = comparing->behind;
    double before_ns =
               behind ? comparing->before_step_ns : (double)ap_integer_at(comparing->comparison, "steps.before_p50_us", 0),
           after_ns =
               behind ? comparing->after_step_ns : (double)ap_integer_at(comparing->comparison, "steps.after_p50_us", 0);
    struct times times;
    if (before_ns <= 0 || after_ns <= 0 || !comparing->alike || !find_times(comparing, before_ns + after_ns, &times))
        return;
    double as_much = times.sizes * times.calls, change = after_ns / as_much / before_ns - 1;
    bool is_split = ap_relative_difference(as_much, 1) <= AS_OFTEN_RATIO;
    size_t used = strlen(text);
    if (is_split)
        (void)snprintf(text + used, bytes - used,
                       "; by its shapes a step holds as much, in %.4g times as many calls on %.4g times as much each",
                       times.calls, times.sizes);
    else
        (void)snprintf(text + used, bytes - used,
                       "; by its shapes a step holds %.4g times as much (batch or length): for as much, it takes %.1f %% %s",
                       as_much, 100 * fabs(change), change < 0 ? "less" : "more");
    used = strlen(text);
    if (!is_split)
        add_noise_of(comparing, change, text + used, bytes - used);
}
