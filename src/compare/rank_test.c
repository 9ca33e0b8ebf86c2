/* SPDX-License-Identifier: MIT */
#include "rank_test.h"

#include <math.h>

#include "quantile.h"
#include "sort.h"

#include "poison.h"

/* Samples beyond this many pairs are thinned for the shift: the median of a million differences is as good as that of more.
 */
#define MAX_SIDE 1000

struct ranked {
    int64_t value;
    bool is_after;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

struct ranks {
    struct ranked *all;
    size_t count;
    uint32_t *doubled;  /* twice the mid-rank of each, so that it is whole */
    double ties;        /* sum of t^3 - t over groups of equal values */
    uint64_t after_sum; /* of the doubled ranks of the second sample */
};

static void rank(struct ranks *ranks)
{
    ap_sort(ranks->all, ranks->count, sizeof(ranks->all[0]), by_value);
    for (size_t i = 0, end; i < ranks->count; i = end) {
        for (end = i + 1; end < ranks->count && ranks->all[end].value == ranks->all[i].value;)
            end++;
        double size = (double)(end - i);
        ranks->ties += size * size * size - size;
        for (size_t j = i; j < end; j++) {
            ranks->doubled[j] = (uint32_t)(i + end + 1); /* ranks i+1 .. end */
            ranks->after_sum += ranks->all[j].is_after ? ranks->doubled[j] : 0;
        }
    }
}

/* How far a sum of doubled ranks is from its mean, which is count of the sample times (N + 1). */
static uint64_t distance(uint64_t sum, size_t sample, size_t all)
{
    uint64_t mean = (uint64_t)sample * (all + 1);
    return sum > mean ? sum - mean : mean - sum;
}

/* Ways to choose @sample of the ranks, by their sum: all of them are equally likely where the samples do not differ. */
static enum ap_status count_sums(struct ap_gate *gate, const struct ranks *ranks, size_t sample, struct ap_rank_test *test,
                                 struct ap_error *reterr)
{
    size_t all = ranks->count, sums = all * (all + 1) + 1, cells = (sample + 1) * sums;
    double *ways;
    AP_TRY(AP_ALLOC_CLEARED(gate, ways, cells, reterr));
    ways[0] = 1;
    for (size_t i = 0; i < all; i++)
        for (size_t chosen = (i < sample ? i + 1 : sample); chosen > 0; chosen--)
            for (size_t sum = sums - 1; sum >= ranks->doubled[i]; sum--)
                ways[chosen * sums + sum] += ways[(chosen - 1) * sums + sum - ranks->doubled[i]];
    uint64_t met = distance(ranks->after_sum, sample, all), farthest = 0;
    double total = 0, as_far = 0;
    for (size_t sum = 0; sum < sums; sum++) {
        double here = ways[sample * sums + sum];
        total += here;
        as_far += distance(sum, sample, all) >= met ? here : 0;
        if (here > 0 && distance(sum, sample, all) > farthest)
            farthest = distance(sum, sample, all);
    }
    double at_end = 0;
    for (size_t sum = 0; sum < sums; sum++)
        at_end += distance(sum, sample, all) >= farthest ? ways[sample * sums + sum] : 0;
    test->p_value = as_far / total;
    test->least_p = at_end / total;
    AP_FREE(gate, ways, cells);
    return AP_OK;
}

static double two_sided(double off, double deviation)
{
    return deviation > 0 ? erfc((off > 0.5 ? off - 0.5 : 0) / deviation / sqrt(2)) : 1;
}

/* With correction for ties and for continuity. */
static void approximate(const struct ranks *ranks, struct ap_rank_test *test)
{
    double n = (double)test->after_count, m = (double)test->before_count, all = n + m;
    double variance = n * m / 12 * (all + 1 - ranks->ties / (all * (all - 1)));
    double deviation = sqrt(variance > 0 ? variance : 0);
    test->p_value = two_sided((double)distance(ranks->after_sum, test->after_count, ranks->count) / 2, deviation);
    test->least_p = two_sided(n * m / 2, deviation);
}

/* @from in order, thinned to at most MAX_SIDE values that keep its shape. */
static size_t thin(int64_t *values, size_t count)
{
    ap_sort(values, count, sizeof(values[0]), ap_by_int64);
    if (count <= MAX_SIDE)
        return count;
    for (size_t i = 0; i < MAX_SIDE; i++)
        values[i] = values[(size_t)(((double)i + 0.5) / MAX_SIDE * (double)count)];
    return MAX_SIDE;
}

static enum ap_status find_shift(struct ap_gate *gate, int64_t *before, size_t before_count, int64_t *after,
                                 size_t after_count, int64_t *ret_shift, struct ap_error *reterr)
{
    before_count = thin(before, before_count);
    after_count = thin(after, after_count);
    size_t pairs = before_count * after_count;
    int64_t *shifts;
    AP_TRY(AP_ALLOC(gate, shifts, pairs, reterr));
    for (size_t i = 0; i < before_count; i++)
        for (size_t j = 0; j < after_count; j++)
            shifts[i * after_count + j] = after[j] - before[i];
    *ret_shift = ap_quantile(shifts, pairs, 50);
    AP_FREE(gate, shifts, pairs);
    return AP_OK;
}

static enum ap_status test_ranks(struct ap_gate *gate, struct ranks *ranks, struct ap_rank_test *test,
                                 struct ap_error *reterr)
{
    rank(ranks);
    test->exact = ranks->count <= AP_RANK_EXACT_MAX;
    if (test->exact)
        return count_sums(gate, ranks, test->after_count, test, reterr);
    approximate(ranks, test);
    return AP_OK;
}

enum ap_status ap_rank_test(struct ap_gate *gate, int64_t *before, size_t before_count, int64_t *after, size_t after_count,
                            struct ap_rank_test *ret_test, struct ap_error *reterr)
{
    struct ap_rank_test test = { .before_count = before_count, .after_count = after_count };
    struct ranks ranks = { .count = before_count + after_count };
    ranks.all = ap_mem_cleared(gate, ranks.count * sizeof(ranks.all[0]));
    ranks.doubled = ranks.all ? ap_mem_cleared(gate, ranks.count * sizeof(ranks.doubled[0])) : NULL;
    enum ap_status status = ranks.doubled ? AP_OK : ap_fail_memory(gate, reterr);
    if (status == AP_OK) {
        for (size_t i = 0; i < ranks.count; i++)
            ranks.all[i] =
                i < before_count ? (struct ranked){ before[i], false } : (struct ranked){ after[i - before_count], true };
        status = test_ranks(gate, &ranks, &test, reterr);
    }
    ap_mem_free(gate, ranks.doubled, ranks.doubled ? ranks.count * sizeof(ranks.doubled[0]) : 0);
    ap_mem_free(gate, ranks.all, ranks.all ? ranks.count * sizeof(ranks.all[0]) : 0);
    AP_AND_THEN(status, find_shift(gate, before, before_count, after, after_count, &test.shift, reterr));
    if (status == AP_OK)
        *ret_test = test;
    return status;
}

const char *ap_rank_test_name(bool exact)
{
    return exact ? "Mann-Whitney U, two-sided, exact" : "Mann-Whitney U, two-sided, normal approximation";
}
