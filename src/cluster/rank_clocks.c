/* SPDX-License-Identifier: MIT */
#include "rank_clocks.h"

#include <math.h>

#include "id_map.h"
#include "quantile.h"
#include "sort.h"

#include "poison.h"

#define LEAST_SAMPLES 5        /* for a pair to be believed */
#define FLOOR_SPREAD_NS 500.0  /* no pair is more exact than that, whatever it says */
#define FLOOR_ERROR_NS 20000.0 /* between hosts: rings end one rank after the other */
#define PARTNERS 4             /* of each host in each collective: 1, 2, 4 and 8 places on */
#define ROUNDS_MAX 200         /* of the solver: graphs of hosts are shallow */
#define SAMPLES_MAX (UINT32_C(1) << 22)
#define DRIFT_SAMPLES 9          /* of a pair, for a line through them */
#define DRIFT_LEAST_NS 200000000 /* of a window in which clocks of tens of ppm drift apart by more than ends stray */
#define UNTOLD_DRIFT 2e-5        /* what an ordinary clock may drift by where it cannot be told */
#define DRIFT_WORST 5e-5         /* an error beyond what clocks drift by tells nothing */
#define DRIFT_ERRORS 3           /* times its error: from here on a drift is one */

/* In one collective clock b ended by diff_ns later than clock a. */
struct sample {
    uint32_t a, b;
    int64_t diff_ns, at_ns;
};

struct pair {
    uint32_t a, b;
    size_t first, count;         /* of samples */
    double value, weight, error; /* of what is solved for: the difference in ns, or of how fast the clocks run */
};

struct solving {
    struct ap_clocks *clocks;
    struct sample *samples;
    size_t sample_count, sample_capacity;
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    double *vectors;   /* four of clocks->count */
    double *distances; /* of the samples of one pair */
    size_t widest;     /* samples of a pair */
    uint32_t *scratch;
};

/* --------------------------------------------------------------------------------------------------------- clocks */

static enum ap_status list_clocks(struct ap_clocks *clocks, struct ap_error *reterr)
{
    const struct ap_run_view *view = clocks->matching->view;
    struct ap_id_map by_host;
    AP_TRY(AP_ALLOC(clocks->gate, clocks->of_rank, view->count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(clocks->gate, clocks->clocks, view->count, reterr));
    AP_TRY(ap_id_map_init(&by_host, clocks->gate, view->count, reterr));
    for (uint32_t i = 0; i < view->count; i++) {
        struct ap_str host = ap_view_rank(view, i)->host;
        uint32_t *place = host.id ? ap_id_map_add(&by_host, host.id) : NULL;
        uint32_t clock = place && *place != AP_ID_NONE ? *place : (uint32_t)clocks->count;
        if (clock == clocks->count)
            clocks->clocks[clocks->count++] = (struct ap_clock){ .host = host, .rank = i };
        if (place)
            *place = clock;
        clocks->of_rank[i] = clock;
        clocks->clocks[clock].rank_count++;
    }
    ap_id_map_release(&by_host);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------------- samples */

struct ending {
    uint32_t clock;
    int64_t end_ns;
};

static int by_clock(const void *left, const void *right)
{
    const struct ending *a = left, *b = right;
    AP_BY_SMALLER(a->clock, b->clock);
    AP_BY_SMALLER(a->end_ns, b->end_ns);
    return 0;
}

/* The middle end of each clock, in place; how many there are. */
static size_t fold_by_clock(struct ending *endings, size_t count)
{
    size_t kept = 0;
    ap_sort(endings, count, sizeof(endings[0]), by_clock);
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at; end < count && endings[end].clock == endings[at].clock;)
            end++;
        endings[kept++] = endings[at + (end - at - 1) / 2];
    }
    return kept;
}

static enum ap_status add_sample(struct solving *solving, const struct ending *a, const struct ending *b,
                                 struct ap_error *reterr)
{
    bool turned = a->clock > b->clock;
    const struct ending *low = turned ? b : a, *high = turned ? a : b;
    if (low->clock == high->clock || solving->sample_count >= SAMPLES_MAX)
        return AP_OK;
    struct sample sample = { low->clock, high->clock, high->end_ns - low->end_ns, low->end_ns };
    AP_TRY_ADD(solving->clocks->gate, solving->samples, solving->sample_count, solving->sample_capacity, reterr, sample);
    return AP_OK;
}

static enum ap_status take_match(struct solving *solving, const struct ap_match *match, struct ending *endings,
                                 struct ap_error *reterr)
{
    const struct ap_matching *matching = solving->clocks->matching;
    for (size_t i = 0; i < match->count; i++) {
        const struct ap_rank_collective *row = ap_match_row(matching, match->first + i);
        uint32_t rank = matching->members[match->first + i].rank;
        endings[i] = (struct ending){ solving->clocks->of_rank[rank], row->start_ns + row->dur_ns };
    }
    size_t count = fold_by_clock(endings, match->count);
    for (size_t partner = 0; partner < PARTNERS; partner++)
        for (size_t i = 0, apart = (size_t)1 << partner; i < count && apart < count; i++)
            AP_TRY(add_sample(solving, &endings[i], &endings[(i + apart) % count], reterr));
    return AP_OK;
}

static enum ap_status take_matches(struct solving *solving, struct ap_error *reterr)
{
    const struct ap_matching *matching = solving->clocks->matching;
    size_t widest = 0;
    struct ending *endings;
    for (size_t i = 0; i < matching->count; i++)
        widest = matching->matches[i].count > widest ? matching->matches[i].count : widest;
    if (!widest)
        return AP_OK;
    AP_TRY(AP_ALLOC(matching->gate, endings, widest, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < matching->count && status == AP_OK; i++)
        if (matching->matches[i].ends_together && matching->matches[i].operation != AP_COLLECTIVE_alltoall)
            status = take_match(solving, &matching->matches[i], endings, reterr);
    AP_FREE(matching->gate, endings, widest);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- pairs */

static int by_pair(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    AP_BY_SMALLER(a->a, b->a);
    AP_BY_SMALLER(a->b, b->b);
    AP_BY_SMALLER(a->diff_ns, b->diff_ns);
    return 0;
}

static int by_diff(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    AP_BY_SMALLER(a->diff_ns, b->diff_ns);
    return 0;
}

static int by_size(const void *left, const void *right)
{
    const double *a = left, *b = right;
    AP_BY_SMALLER(*a, *b);
    return 0;
}

/* Of samples that stand by difference. */
static int64_t middle_diff(const struct sample *samples, size_t count)
{
    return samples[(count - 1) / 2].diff_ns;
}

static int by_time(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    AP_BY_SMALLER(a->at_ns, b->at_ns);
    AP_BY_SMALLER(a->diff_ns, b->diff_ns);
    return 0;
}

/* How far the samples of a pair lie from what was found, in the middle, divided by the root of their number. */
static void set_error(struct solving *solving, struct pair *pair)
{
    struct sample *samples = solving->samples + pair->first;
    int64_t middle_ns = (int64_t)pair->value;
    double *distances = solving->distances;
    for (size_t i = 0; i < pair->count; i++)
        distances[i] = fabs((double)(samples[i].diff_ns - middle_ns));
    ap_sort(distances, pair->count, sizeof(distances[0]), by_size);
    double spread_ns = distances[(pair->count - 1) / 2];
    spread_ns = spread_ns > FLOOR_SPREAD_NS ? spread_ns : FLOOR_SPREAD_NS;
    pair->weight = (double)pair->count / (spread_ns * spread_ns);
    pair->error = 1.4826 * spread_ns / sqrt((double)pair->count);
}

static enum ap_status list_pairs(struct solving *solving, struct ap_error *reterr)
{
    struct sample *samples = solving->samples;
    ap_sort(samples, solving->sample_count, sizeof(samples[0]), by_pair);
    for (size_t at = 0, end; at < solving->sample_count; at = end) {
        for (end = at; end < solving->sample_count && samples[end].a == samples[at].a && samples[end].b == samples[at].b;)
            end++;
        if (end - at < LEAST_SAMPLES)
            continue;
        struct pair pair = { .a = samples[at].a, .b = samples[at].b, .first = at, .count = end - at };
        solving->widest = pair.count > solving->widest ? pair.count : solving->widest;
        AP_TRY_ADD(solving->clocks->gate, solving->pairs, solving->pair_count, solving->pair_capacity, reterr, pair);
    }
    return AP_OK;
}

/* Differences as they are in the middle of the window, where clocks drift by what was found. */
static void set_diffs(struct solving *solving)
{
    const struct ap_clocks *clocks = solving->clocks;
    for (size_t i = 0; i < solving->pair_count; i++) {
        struct pair *pair = &solving->pairs[i];
        struct sample *samples = solving->samples + pair->first;
        double drift = clocks->clocks[pair->b].drift_ratio - clocks->clocks[pair->a].drift_ratio;
        for (size_t j = 0; j < pair->count && drift != 0; j++)
            samples[j].diff_ns -= (int64_t)(drift * (double)(samples[j].at_ns - clocks->middle_ns));
        ap_sort(samples, pair->count, sizeof(samples[0]), by_diff);
        pair->value = (double)middle_diff(samples, pair->count);
        set_error(solving, pair);
    }
}

static double distance(const struct sample *sample, const struct sample *from, double slope)
{
    return fabs((double)(sample->diff_ns - from->diff_ns) - slope * (double)(sample->at_ns - from->at_ns));
}

/* A line through the middles of the first and of the last third of the samples: outliers do not bend it. */
static void set_drift(struct solving *solving, struct pair *pair)
{
    struct sample *samples = solving->samples + pair->first;
    size_t third = pair->count / 3;
    pair->value = pair->weight = 0;
    pair->error = -1;
    if (pair->count < DRIFT_SAMPLES)
        return;
    ap_sort(samples, pair->count, sizeof(samples[0]), by_time);
    struct sample *last = samples + pair->count - third;
    if (last->at_ns - samples[third - 1].at_ns < DRIFT_LEAST_NS / 4)
        return;
    ap_sort(samples, third, sizeof(samples[0]), by_diff);
    ap_sort(last, third, sizeof(samples[0]), by_diff);
    struct sample from = samples[(third - 1) / 2], to = last[(third - 1) / 2];
    double apart_ns = (double)(to.at_ns - from.at_ns), slope = (double)(to.diff_ns - from.diff_ns) / apart_ns;
    for (size_t i = 0; i < third; i++) {
        solving->distances[i] = distance(&samples[i], &from, slope);
        solving->distances[third + i] = distance(&last[i], &from, slope);
    }
    ap_sort(solving->distances, 2 * third, sizeof(solving->distances[0]), by_size);
    double spread_ns = solving->distances[third] > FLOOR_SPREAD_NS ? solving->distances[third] : FLOOR_SPREAD_NS;
    /* A median strays by a quarter more than a mean, and there are two of them. */
    pair->error = 1.25 * 1.4826 * spread_ns * sqrt(2.0 / (double)third) / apart_ns;
    pair->value = slope;
    pair->weight = 1 / (pair->error * pair->error);
}

/* ----------------------------------------------------------------------------------------------------- components */

static uint32_t root_of(uint32_t *parents, uint32_t clock)
{
    while (parents[clock] != clock) {
        parents[clock] = parents[parents[clock]];
        clock = parents[clock];
    }
    return clock;
}

/* The root of a component is its first clock. */
static void find_components(struct solving *solving)
{
    struct ap_clocks *clocks = solving->clocks;
    uint32_t *parents = solving->scratch;
    for (uint32_t i = 0; i < clocks->count; i++)
        parents[i] = i;
    for (size_t i = 0; i < solving->pair_count; i++) {
        uint32_t a = root_of(parents, solving->pairs[i].a), b = root_of(parents, solving->pairs[i].b);
        parents[a > b ? a : b] = a > b ? b : a;
    }
    for (uint32_t i = 0; i < clocks->count; i++) {
        clocks->clocks[i].component = root_of(parents, i);
        clocks->component_count += clocks->clocks[i].component == i;
    }
}

/* ---------------------------------------------------------------------------------------------------------- solver */

static bool is_fixed(const struct ap_clocks *clocks, uint32_t clock)
{
    return clocks->clocks[clock].component == clock;
}

/* The weighted graph applied to @from; clocks that are fixed stay at 0. */
static void apply(const struct solving *solving, const double *from, double *to)
{
    const struct ap_clocks *clocks = solving->clocks;
    for (size_t i = 0; i < clocks->count; i++)
        to[i] = 0;
    for (size_t i = 0; i < solving->pair_count; i++) {
        const struct pair *pair = &solving->pairs[i];
        double pull = pair->weight * (from[pair->b] - from[pair->a]);
        to[pair->b] += pull;
        to[pair->a] -= pull;
    }
    for (uint32_t i = 0; i < clocks->count; i++)
        to[i] = is_fixed(clocks, i) ? 0 : to[i];
}

static double product(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Conjugate gradients: exact in a few rounds for the few clocks of a run. The first of the vectors is what is found. */
static void solve(struct solving *solving)
{
    struct ap_clocks *clocks = solving->clocks;
    size_t count = clocks->count;
    double *offsets = solving->vectors, *rest = offsets + count, *direction = rest + count, *applied = direction + count;
    for (size_t i = 0; i < count; i++)
        offsets[i] = rest[i] = 0;
    for (size_t i = 0; i < solving->pair_count; i++) {
        const struct pair *pair = &solving->pairs[i];
        rest[pair->b] += pair->weight * pair->value;
        rest[pair->a] -= pair->weight * pair->value;
    }
    for (uint32_t i = 0; i < count; i++)
        direction[i] = rest[i] = is_fixed(clocks, i) ? 0 : rest[i];
    double left = product(rest, rest, count), enough = left * 1e-18;
    for (int round = 0; round < ROUNDS_MAX && left > enough; round++) {
        apply(solving, direction, applied);
        double bend = product(direction, applied, count);
        if (!(bend > 0))
            break;
        double step = left / bend;
        for (size_t i = 0; i < count; i++) {
            offsets[i] += step * direction[i];
            rest[i] -= step * applied[i];
        }
        double now = product(rest, rest, count);
        for (size_t i = 0; i < count; i++)
            direction[i] = rest[i] + now / left * direction[i];
        left = now;
    }
}

/* From the fixed clock outward, pair by pair: errors of independent pairs add up in squares. Pairs stand by their
   clocks, so a few
 * passes reach all of a shallow graph. */
static void find_errors(struct solving *solving)
{
    struct ap_clocks *clocks = solving->clocks;
    double *errors = solving->vectors + clocks->count;
    bool changed = true;
    for (uint32_t i = 0; i < clocks->count; i++)
        errors[i] = is_fixed(clocks, i) ? 0 : -1;
    for (int pass = 0; pass < ROUNDS_MAX && changed; pass++) {
        changed = false;
        for (size_t i = 0; i < solving->pair_count; i++) {
            const struct pair *pair = &solving->pairs[i];
            const uint32_t ends[] = { pair->a, pair->b };
            if (pair->error < 0)
                continue;
            for (int j = 0; j < 2; j++) {
                double from = errors[ends[j]], *to = &errors[ends[1 - j]];
                double through = from < 0 ? -1 : sqrt(from * from + pair->error * pair->error);
                if (through < 0 || (*to >= 0 && *to <= through))
                    continue;
                *to = through;
                changed = true;
            }
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- clocks */

static void find_drifts(struct solving *solving)
{
    struct ap_clocks *clocks = solving->clocks;
    const double *drifts = solving->vectors, *errors = drifts + clocks->count;
    if (2 * clocks->half_ns < DRIFT_LEAST_NS)
        return;
    for (size_t i = 0; i < solving->pair_count; i++)
        set_drift(solving, &solving->pairs[i]);
    solve(solving);
    find_errors(solving);
    for (uint32_t i = 0; i < clocks->count; i++) {
        struct ap_clock *clock = &clocks->clocks[i];
        if (is_fixed(clocks, i) || errors[i] < 0 || errors[i] > DRIFT_WORST || !isfinite(drifts[i]))
            continue;
        clock->has_drift = true;
        clock->drift_error_ratio = errors[i];
        clock->drift_ratio = fabs(drifts[i]) >= DRIFT_ERRORS * errors[i] ? drifts[i] : 0;
    }
}

static void find_differences(struct solving *solving)
{
    struct ap_clocks *clocks = solving->clocks;
    const double *offsets = solving->vectors, *errors = offsets + clocks->count;
    set_diffs(solving);
    solve(solving);
    find_errors(solving);
    for (uint32_t i = 0; i < clocks->count; i++) {
        clocks->clocks[i].offset_ns = isfinite(offsets[i]) && fabs(offsets[i]) < 9e18 ? (int64_t)offsets[i] : 0;
        double untold_ns = clocks->clocks[i].has_drift ? 0 : UNTOLD_DRIFT * (double)clocks->half_ns;
        clocks->clocks[i].error_ns =
            is_fixed(clocks, i) || errors[i] < 0 ? 0 : (int64_t)(errors[i] + FLOOR_ERROR_NS + untold_ns);
    }
}

/* Of the steps that are compared, by the first rank; without steps, of what it recorded. */
static void find_middle(struct ap_clocks *clocks)
{
    const struct ap_run_view *view = clocks->matching->view;
    const struct ap_rank_summary *rank = ap_view_rank(view, 0);
    const struct ap_rank_step *first = view->has_steps ? ap_view_step(rank, view->first_step) : NULL;
    const struct ap_rank_step *last = view->has_steps ? ap_view_step(rank, view->last_step) : NULL;
    int64_t start_ns = first ? first->start_ns : rank->start_ns, end_ns = last ? last->end_ns : rank->end_ns;
    clocks->half_ns = end_ns / 2 - start_ns / 2;
    clocks->middle_ns = start_ns + clocks->half_ns;
}

/* ------------------------------------------------------------------------------------------------------------- all */

static enum ap_status find_offsets(struct solving *solving, struct ap_error *reterr)
{
    struct ap_clocks *clocks = solving->clocks;
    AP_TRY(take_matches(solving, reterr));
    AP_TRY(list_pairs(solving, reterr));
    if (solving->widest)
        AP_TRY(AP_ALLOC(clocks->gate, solving->distances, solving->widest, reterr));
    AP_TRY(AP_ALLOC(clocks->gate, solving->scratch, clocks->count, reterr));
    AP_TRY(AP_ALLOC(clocks->gate, solving->vectors, 4 * clocks->count, reterr));
    find_components(solving);
    find_middle(clocks);
    find_drifts(solving);
    find_differences(solving);
    clocks->pair_count = solving->pair_count;
    return AP_OK;
}

int64_t ap_clocks_common_ns(const struct ap_clocks *clocks, uint32_t rank, int64_t at_ns)
{
    bool overflowed = false;
    const struct ap_clock *clock = &clocks->clocks[clocks->of_rank[rank]];
    double drifted_ns = clock->drift_ratio * ((double)at_ns - (double)clocks->middle_ns);
    return ap_add_sat(at_ns, -ap_add_sat(clock->offset_ns, (int64_t)drifted_ns, &overflowed), &overflowed);
}

int64_t ap_clocks_error_ns(const struct ap_clocks *clocks, uint32_t rank, uint32_t other)
{
    const struct ap_clock *a = &clocks->clocks[clocks->of_rank[rank]], *b = &clocks->clocks[clocks->of_rank[other]];
    if (a == b)
        return 0;
    double drifted_ns = (a->drift_error_ratio + b->drift_error_ratio) * (double)clocks->half_ns;
    return a->component == b->component ? a->error_ns + b->error_ns + (int64_t)drifted_ns : -1;
}

enum ap_status ap_clocks_init(struct ap_clocks *clocks, const struct ap_matching *matching, struct ap_error *reterr)
{
    *clocks = (struct ap_clocks){ .gate = matching->gate, .matching = matching };
    struct solving solving = { .clocks = clocks };
    if (!matching->view->count)
        return AP_OK;
    AP_TRY(list_clocks(clocks, reterr));
    enum ap_status status = find_offsets(&solving, reterr);
    AP_FREE(clocks->gate, solving.samples, solving.sample_capacity);
    AP_FREE(clocks->gate, solving.pairs, solving.pair_capacity);
    AP_FREE(clocks->gate, solving.scratch, clocks->count);
    AP_FREE(clocks->gate, solving.distances, solving.widest);
    AP_FREE(clocks->gate, solving.vectors, 4 * clocks->count);
    return status;
}

void ap_clocks_release(struct ap_clocks *clocks)
{
    if (!clocks->matching)
        return;
    AP_FREE(clocks->gate, clocks->clocks, clocks->matching->view->count);
    AP_FREE(clocks->gate, clocks->of_rank, clocks->matching->view->count);
    *clocks = (struct ap_clocks){ .gate = clocks->gate };
}
