/* SPDX-License-Identifier: MIT
 * kernel_period.c - four kernels in a row are mostly met again one period later. So how far back they stood last is counted,
 * and only the few distances that are met most are tried: each by one pass that compares the sequence with itself, moved by
 * the distance. */
#include "kernel_period.h"

#include "pair_map.h"

#include "poison.h"

#define TRIED 8
#define NEARLY 0.95 /* of what the best distance covers: then the shorter one is the period, the other a multiple of it */

struct finding {
    const uint32_t *names;
    size_t count;
    struct ap_gate *gate;
    uint32_t *numbers; /* by place: of the four kernels from there on */
    uint32_t *last;    /* by number: place + 1 */
    uint32_t *votes;   /* by distance */
};

/* Of each place but the last ones the number of the pair of what stands there and so much farther. */
static enum ap_status number_pairs(struct finding *finding, const uint32_t *of, size_t farther, size_t count,
                                   struct ap_error *reterr)
{
    struct ap_pair_map pairs = { .gate = finding->gate };
    enum ap_status status = AP_OK;
    for (size_t i = 0; status == AP_OK && i < count; i++)
        status = ap_pair_map_add(&pairs, of[i], of[i + farther], &finding->numbers[i], reterr);
    ap_pair_map_release(&pairs);
    return status;
}

/* Pairs are numbered, then pairs of those. */
static enum ap_status number_fours(struct finding *finding, struct ap_error *reterr)
{
    AP_TRY(number_pairs(finding, finding->names, 1, finding->count - 1, reterr));
    return number_pairs(finding, finding->numbers, 2, finding->count - 3, reterr);
}

static void count_distances(struct finding *finding)
{
    for (size_t i = 0; i + 3 < finding->count; i++) {
        uint32_t *last = &finding->last[finding->numbers[i]];
        if (*last)
            finding->votes[i + 1 - *last]++;
        *last = (uint32_t)i + 1;
    }
}

static struct ap_kernel_period try_distance(const struct finding *finding, size_t distance)
{
    struct ap_kernel_period period = { .length = distance };
    size_t same = 0, longest = 0;
    for (size_t i = distance; i <= finding->count; i++) {
        if (i < finding->count && finding->names[i] == finding->names[i - distance]) {
            same++;
            continue;
        }
        if (same >= distance)
            period.covered += same + distance;
        if (same >= distance && same > longest) {
            longest = same;
            period.first = i - same - distance;
        }
        same = 0;
    }
    period.repeats = longest ? longest / distance + 1 : 0;
    return period;
}

static size_t most_voted(const struct finding *finding, size_t least)
{
    size_t best = 0;
    for (size_t distance = least; distance < finding->count; distance++)
        if (finding->votes[distance] && (!best || finding->votes[distance] > finding->votes[best]))
            best = distance;
    return best;
}

static bool is_better(const struct ap_kernel_period *a, const struct ap_kernel_period *b)
{
    if (a->length < b->length)
        return (double)a->covered >= NEARLY * (double)b->covered;
    return NEARLY * (double)a->covered > (double)b->covered;
}

static enum ap_status find(struct finding *finding, size_t least, struct ap_kernel_period *ret_period,
                           struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC(finding->gate, finding->numbers, finding->count, reterr));
    AP_TRY(number_fours(finding, reterr));
    AP_TRY(AP_ALLOC_CLEARED(finding->gate, finding->last, finding->count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(finding->gate, finding->votes, finding->count, reterr));
    count_distances(finding);
    for (int i = 0; i < TRIED; i++) {
        size_t distance = most_voted(finding, least);
        if (!distance)
            break;
        struct ap_kernel_period period = try_distance(finding, distance);
        if (period.repeats && (!ret_period->length || is_better(&period, ret_period)))
            *ret_period = period;
        finding->votes[distance] = 0;
    }
    return AP_OK;
}

enum ap_status ap_kernel_period_find(const uint32_t *names, size_t count, size_t least, struct ap_gate *gate,
                                     struct ap_kernel_period *ret_period, struct ap_error *reterr)
{
    struct finding finding = { .names = names, .count = count, .gate = gate };
    *ret_period = (struct ap_kernel_period){ .length = 0 };
    if (count < 2 * least || count < 8 || count >= UINT32_MAX)
        return AP_OK;
    enum ap_status status = find(&finding, least, ret_period, reterr);
    AP_FREE(gate, finding.numbers, count);
    AP_FREE(gate, finding.last, count);
    AP_FREE(gate, finding.votes, count);
    return status;
}
