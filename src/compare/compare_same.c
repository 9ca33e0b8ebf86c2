/* SPDX-License-Identifier: MIT
 * compare_same.c - the same operators on the same shapes, by the same kernels, called as often: where nearly all of them
 * take longer on the device, the device is another one to them (its clock, its power limit, who else uses it), and what
 * changed is not what the program computes. */
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "sort.h"

#include "poison.h"

#define AS_OFTEN_RATIO 0.02  /* counts per step that differ by less are the same */
#define NEARLY_ALL_RATIO 0.6 /* of the time of kernels: those that memory bounds do not follow the clock */

struct call {
    struct ap_text operator, dims, types, kernel;
    double count, ns; /* of a step, where both sides have steps */
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
            (double)ap_integer_member(row, "total_dur_us", 0) / parts,
        };
    ap_sort(*ret_calls, *ret_count, sizeof((*ret_calls)[0]), by_key);
    return AP_OK;
}

/* Those that take longer, or those that take less time. */
struct sums {
    double before_ns, after_ns;
};

static void add_up(const struct call *before, size_t before_count, const struct call *after, size_t after_count,
                   struct sums sums[2])
{
    for (size_t i = 0, j = 0; i < before_count && j < after_count;) {
        int order = by_key(&before[i], &after[j]);
        if (order == 0 && ap_relative_difference(before[i].count, after[j].count) <= AS_OFTEN_RATIO &&
            ap_relative_difference(before[i].ns, after[j].ns) >= AP_NOISE_LEAST_RATIO) {
            struct sums *to = &sums[after[j].ns > before[i].ns];
            to->before_ns += before[i].ns;
            to->after_ns += after[j].ns;
        }
        i += order <= 0;
        j += order >= 0;
    }
}

static void add_same(struct ap_comparing *comparing, const struct sums *sums)
{
    struct ap_model *model = comparing->model;
    double all_ns = (double)ap_integer_at(comparing->comparison, "device.before_us", 0);
    if (all_ns <= 0 || sums->before_ns <= 0 || sums->before_ns < NEARLY_ALL_RATIO * all_ns) {
        ap_add_null(model, comparing->comparison, "same_work");
        return;
    }
    struct ap_value *same = ap_add_object(model, comparing->comparison, "same_work");
    ap_add_time(model, same, "before_us", (int64_t)sums->before_ns);
    ap_add_time(model, same, "after_us", (int64_t)sums->after_ns);
    ap_add_quotient(model, same, "share_ratio", sums->before_ns, all_ns);
    ap_add_quotient(model, same, "times", sums->after_ns, sums->before_ns);
}

enum ap_status ap_compare_same(struct ap_comparing *comparing, struct ap_error *reterr)
{
    struct call *before = NULL, *after = NULL;
    size_t before_count = 0, after_count = 0;
    struct sums sums[2] = { { 0, 0 }, { 0, 0 } };
    enum ap_status status =
        open_calls(comparing, comparing->before, comparing->before_parts, &before, &before_count, reterr);
    AP_AND_THEN(status, open_calls(comparing, comparing->after, comparing->after_parts, &after, &after_count, reterr));
    if (status == AP_OK) {
        add_up(before, before_count, after, after_count, sums);
        add_same(comparing, sums[1].before_ns > sums[0].before_ns ? &sums[1] : &sums[0]);
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
    size_t used = strlen(text);
    (void)snprintf(
        text + used, bytes - used,
        "; the same kernels on the same shapes, called as often, take %.2f times as long (%.0f %% of the kernels' "
        "time): look at the device first (clock, power limit, other processes), then at the program",
        times, 100 * share);
}
