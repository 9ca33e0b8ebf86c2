/* SPDX-License-Identifier: MIT
 * batch_guess.c - the batch size out of recorded shapes. */
#include <string.h>

#include "scaling.h"

#include "poison.h"

/* Sizes that are told apart; a batch size is one of the first few by time. */
#define MAX_SIZES 64

/* Operators whose first input of two or more dimensions has the batch in front. */
static const char *const layers[] = {
    "conv",     "linear",   "addmm",   "batch_norm",    "layer_norm", "native_group_norm", "embedding",
    "max_pool", "avg_pool", "softmax", "cross_entropy", "nll_loss",   "attention"
};

struct votes {
    uint64_t sizes[MAX_SIZES];
    double time[MAX_SIZES], total;
    size_t count;
};

static bool is_layer(struct ap_text name)
{
    for (size_t i = 0; i < AP_COUNT_OF(layers); i++)
        if (ap_text_contains_folded(name, layers[i]))
            return true;
    return false;
}

/* "[[], [32, 64, 56, 56], ...]": 32, the first number that another one follows within its brackets. */
static bool leading_dimension(struct ap_text dims, uint64_t *ret_size)
{
    for (size_t i = 1; i < dims.bytes; i++) {
        uint64_t size = 0;
        size_t at = i;
        while (at < dims.bytes && ap_is_digit(dims.data[at]) && at - i < 12)
            size = size * 10 + (uint64_t)(dims.data[at++] - '0');
        if (dims.data[i - 1] == '[' && at > i && at < dims.bytes && dims.data[at] == ',' && size) {
            *ret_size = size;
            return true;
        }
    }
    return false;
}

static void vote(struct votes *votes, uint64_t size, double time)
{
    size_t i = 0;
    while (i < votes->count && votes->sizes[i] != size)
        i++;
    if (i == MAX_SIZES)
        return;
    votes->count += i == votes->count;
    votes->sizes[i] = size;
    votes->time[i] += time;
}

bool ap_scaling_guess(const struct ap_value *root, uint64_t *ret_batch)
{
    struct votes votes = { .count = 0 };
    size_t best = 0;
    const struct ap_value *row = ap_value_first(ap_value_at(root, "operators.by_shape"));
    for (; row; row = row->next) {
        uint64_t size;
        if (!is_layer(ap_text_member(row, "name")) || !leading_dimension(ap_text_member(row, "dims"), &size))
            continue;
        double time =
            (double)ap_integer_member(row, "device_self_us", 0) + (double)ap_integer_member(row, "host_self_us", 0);
        votes.total += time;
        vote(&votes, size, time);
    }
    for (size_t i = 1; i < votes.count; i++)
        best = votes.time[i] > votes.time[best] ? i : best;
    if (!votes.count || votes.time[best] * 2 <= votes.total)
        return false;
    *ret_batch = votes.sizes[best];
    return true;
}
