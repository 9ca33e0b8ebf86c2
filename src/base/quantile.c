/* SPDX-License-Identifier: MIT */
#include "quantile.h"

#include "poison.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* Hoare's partition: returns j with low <= j < high, values[low..j] <= pivot <= values[j+1..high]. The pivot must not be
 * the last element, or j could be high. */
static size_t partition(int64_t *values, size_t low, size_t high, int64_t pivot)
{
    size_t i = low, j = high;
    for (;;) {
        while (values[i] < pivot)
            i++;
        while (values[j] > pivot)
            j--;
        if (i >= j)
            return j;
        swap(&values[i++], &values[j--]);
    }
}

/* Afterwards values[rank] is what sorting would put there and nothing after it is smaller. The pivot moves about, so
 * that no order of input is quadratic by design. */
static int64_t select_rank(int64_t *values, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;
    uint64_t random = 0x9e3779b97f4a7c15u ^ count;
    while (low < high) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        swap(&values[low], &values[low + (size_t)(random >> 33) % (high - low)]);
        size_t split = partition(values, low, high, values[low]);
        if (rank <= split)
            high = split;
        else
            low = split + 1;
    }
    return values[rank];
}

int64_t ap_quantile(int64_t *values, size_t count, unsigned percent)
{
    size_t scaled = (count - 1) * percent, rank = scaled / 100, part = scaled % 100;
    int64_t lower = select_rank(values, count, rank);
    if (part == 0)
        return lower;
    int64_t upper = values[rank + 1];
    for (size_t i = rank + 2; i < count; i++)
        if (values[i] < upper)
            upper = values[i];
    uint64_t span = (uint64_t)upper - (uint64_t)lower;
    uint64_t whole = span / 100 * part, rest = (span % 100 * part + 50) / 100;
    return (int64_t)((uint64_t)lower + whole + rest);
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
