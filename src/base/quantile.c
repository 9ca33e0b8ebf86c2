/* SPDX-License-Identifier: MIT */
#include "quantile.h"

#include "poison.h"

/* Moves what is below the bound to the front of [low, high); returns where that part ends. Without a branch on the values,
 * which would be guessed wrong half of the time. */
static size_t part_below(int64_t *values, size_t low, size_t high, int64_t bound)
{
    size_t end = low;
    for (size_t i = low; i < high; i++) {
        int64_t value = values[i];
        values[i] = values[end];
        values[end] = value;
        end += value < bound;
    }
    return end;
}

static size_t part_up_to(int64_t *values, size_t low, size_t high, int64_t bound)
{
    return bound == INT64_MAX ? high : part_below(values, low, high, bound + 1);
}

#define SAMPLE_COUNT 31
#define SAMPLED_FROM 500 /* fewer values do not repay the sample */

/* A value near the one wanted: that of the same rank in a sample, which moves about, so that no order of input is quadratic
 * by design. */
static int64_t choose_pivot(const int64_t *values, size_t low, size_t high, size_t rank, uint64_t *random)
{
    int64_t sample[SAMPLE_COUNT];
    size_t count = high - low < SAMPLED_FROM ? 1 : SAMPLE_COUNT;
    for (size_t i = 0; i < count; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        int64_t value = values[low + (size_t)(*random >> 33) % (high - low)];
        size_t at = i;
        for (; at && sample[at - 1] > value; at--)
            sample[at] = sample[at - 1];
        sample[at] = value;
    }
    return sample[(size_t)((double)(rank - low) / (double)(high - low) * (double)count)];
}

/* Of [low, count): afterwards values[rank] is what sorting would put there, nothing before it is larger and nothing after
 * it is smaller. */
static int64_t select_rank(int64_t *values, size_t low, size_t count, size_t rank)
{
    size_t high = count;
    uint64_t random = 0x9e3779b97f4a7c15u ^ count;
    while (high - low > 1) {
        int64_t pivot = choose_pivot(values, low, high, rank, &random);
        size_t below = part_below(values, low, high, pivot);
        if (rank < below) {
            high = below;
            continue;
        }
        low = part_up_to(values, below, high, pivot);
        if (rank < low)
            return pivot; /* one of those that equal it */
    }
    return values[rank];
}

/* The ranks from @low on are not in order yet; what stands before them is not larger. Returns the rank up to which order
 * is found. */
static size_t find_quantile(int64_t *values, size_t low, size_t count, unsigned percent, int64_t *ret_value)
{
    size_t scaled = (count - 1) * percent, rank = scaled / 100, part = scaled % 100;
    int64_t lower = select_rank(values, low, count, rank);
    *ret_value = lower;
    if (part == 0)
        return rank;
    int64_t upper = values[rank + 1];
    for (size_t i = rank + 2; i < count; i++)
        upper = values[i] < upper ? values[i] : upper;
    uint64_t span = (uint64_t)upper - (uint64_t)lower;
    uint64_t whole = span / 100 * part, rest = (span % 100 * part + 50) / 100;
    *ret_value = (int64_t)((uint64_t)lower + whole + rest);
    return rank;
}

int64_t ap_quantile(int64_t *values, size_t count, unsigned percent)
{
    int64_t value;
    (void)find_quantile(values, 0, count, percent, &value);
    return value;
}

void ap_quantiles(int64_t *values, size_t count, const unsigned *percents, size_t percent_count, int64_t *ret_values)
{
    size_t low = 0;
    for (size_t i = 0; i < percent_count; i++)
        low = find_quantile(values, low, count, percents[i], &ret_values[i]);
}

int64_t ap_mean(int64_t total, uint64_t count)
{
    if (!count)
        return 0;
    int64_t divisor = (int64_t)count, quotient = total / divisor, rest = total % divisor;
    if (rest < 0)
        return -rest * 2 >= divisor ? quotient - 1 : quotient;
    return rest >= divisor - rest ? quotient + 1 : quotient;
}
