/* SPDX-License-Identifier: MIT */
#include "causes.h"

#include "sort.h"

#include "poison.h"

#define FOLD_LEAST 4096 /* of fewer the list may as well stand as it is */

static int compare_keys(const struct ap_cause *a, const struct ap_cause *b)
{
    const uint32_t x[] = { a->kind, a->call, a->op, a->leaf, a->line };
    const uint32_t y[] = { b->kind, b->call, b->op, b->leaf, b->line };
    for (size_t i = 0; i < AP_COUNT_OF(x); i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool key_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_cause *causes = context;
    int order = compare_keys(&causes[a], &causes[b]);
    return order ? order < 0 : a < b;
}

static void merge(struct ap_cause *sum, const struct ap_cause *one, bool *overflowed)
{
    sum->count += one->count;
    sum->weight_ns = ap_add_sat(sum->weight_ns, one->weight_ns, overflowed);
    sum->time_ns = ap_add_sat(sum->time_ns, one->time_ns, overflowed);
    sum->host_ns = ap_add_sat(sum->host_ns, one->host_ns, overflowed);
    sum->bytes = ap_add_sat(sum->bytes, one->bytes, overflowed);
    sum->bytes_known &= one->bytes_known;
    if (one->row_weight_ns > sum->row_weight_ns || (one->row_weight_ns == sum->row_weight_ns && one->row < sum->row)) {
        sum->row_weight_ns = one->row_weight_ns;
        sum->row = one->row;
    }
}

enum ap_status ap_causes_sum(struct ap_cause *causes, size_t *count, struct ap_gate *gate, bool *overflowed,
                             struct ap_error *reterr)
{
    if (!*count)
        return AP_OK;
    size_t all = *count, sums = 0;
    uint32_t *order, *into;
    AP_TRY(AP_ALLOC(gate, order, 2 * all, reterr));
    into = order + *count;
    for (uint32_t i = 0; i < *count; i++)
        order[i] = i;
    ap_sort_indices(order, *count, into, key_before, causes);
    for (size_t i = 0; i < *count; i++) { /* each joins the first of its kind in the list, which then moves down */
        bool fresh = i == 0 || compare_keys(&causes[order[i]], &causes[order[i - 1]]) != 0;
        into[order[i]] = fresh ? order[i] : into[order[i - 1]];
    }
    for (uint32_t i = 0; i < *count; i++)
        if (into[i] != i)
            merge(&causes[into[i]], &causes[i], overflowed);
    for (uint32_t i = 0; i < *count; i++)
        if (into[i] == i)
            causes[sums++] = causes[i];
    *count = sums;
    AP_FREE(gate, order, 2 * all);
    return AP_OK;
}

enum ap_status ap_causes_add(struct ap_cause_sums *sums, const struct ap_cause *cause, struct ap_gate *gate,
                             bool *overflowed, struct ap_error *reterr)
{
    if (sums->count == sums->capacity && sums->count >= FOLD_LEAST) {
        AP_TRY(ap_causes_sum(sums->list, &sums->count, gate, overflowed, reterr));
        if (sums->count > sums->capacity / 2) /* hardly any were alike: so that it is not tried again soon */
            AP_TRY(AP_RESERVE(gate, sums->list, sums->capacity, sums->capacity + 1, reterr));
    }
    AP_TRY_ADD(gate, sums->list, sums->count, sums->capacity, reterr, *cause);
    return AP_OK;
}

void ap_causes_release(struct ap_cause_sums *sums, struct ap_gate *gate)
{
    AP_FREE(gate, sums->list, sums->capacity);
    *sums = (struct ap_cause_sums){ .list = NULL };
}

static bool weighs_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_cause *x = (const struct ap_cause *)context + a, *y = (const struct ap_cause *)context + b;
    AP_LARGER_FIRST(x->weight_ns, y->weight_ns);
    AP_LARGER_FIRST(x->time_ns, y->time_ns);
    AP_LARGER_FIRST(x->host_ns, y->host_ns);
    AP_LARGER_FIRST(x->count, y->count);
    return x->row != y->row ? x->row < y->row : a < b;
}

enum ap_status ap_causes_rank(const struct ap_cause *causes, size_t count, uint64_t limit, struct ap_gate *gate,
                              uint32_t **ret_list, size_t *ret_count, struct ap_error *reterr)
{
    return ap_top_indices(gate, (uint32_t)count, limit, weighs_before, causes, ret_list, ret_count, reterr);
}
