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

/* In one collective clock b ended by diff_ns later than clock a. */
struct sample {
    uint32_t a, b;
    int64_t diff_ns;
};

struct pair {
    uint32_t a, b;
    double diff_ns, weight, error_ns;
};

struct solving {
    struct ap_clocks *clocks;
    struct sample *samples;
    size_t sample_count, sample_capacity;
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    double *vectors; /* four of clocks->count */
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
    struct sample sample = { low->clock, high->clock, high->end_ns - low->end_ns };
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

/* @samples: of one pair, by difference; they are used up. */
static struct pair pair_of(struct sample *samples, size_t count)
{
    struct pair pair = { .a = samples[0].a, .b = samples[0].b };
    int64_t middle_ns = samples[(count - 1) / 2].diff_ns;
    for (size_t i = 0; i < count; i++)
        samples[i].diff_ns =
            samples[i].diff_ns > middle_ns ? samples[i].diff_ns - middle_ns : middle_ns - samples[i].diff_ns;
    ap_sort(samples, count, sizeof(samples[0]), by_diff);
    double spread_ns = (double)samples[(count - 1) / 2].diff_ns;
    spread_ns = spread_ns > FLOOR_SPREAD_NS ? spread_ns : FLOOR_SPREAD_NS;
    pair.diff_ns = (double)middle_ns;
    pair.weight = (double)count / (spread_ns * spread_ns);
    pair.error_ns = 1.4826 * spread_ns / sqrt((double)count);
    return pair;
}

static enum ap_status make_pairs(struct solving *solving, struct ap_error *reterr)
{
    struct sample *samples = solving->samples;
    ap_sort(samples, solving->sample_count, sizeof(samples[0]), by_pair);
    for (size_t at = 0, end; at < solving->sample_count; at = end) {
        for (end = at; end < solving->sample_count && samples[end].a == samples[at].a && samples[end].b == samples[at].b;)
            end++;
        if (end - at < LEAST_SAMPLES)
            continue;
        struct pair pair = pair_of(samples + at, end - at);
        AP_TRY_ADD(solving->clocks->gate, solving->pairs, solving->pair_count, solving->pair_capacity, reterr, pair);
    }
    return AP_OK;
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

/* Conjugate gradients: exact in a few rounds for the few clocks of a run. */
static void solve(struct solving *solving)
{
    struct ap_clocks *clocks = solving->clocks;
    size_t count = clocks->count;
    double *offsets = solving->vectors, *rest = offsets + count, *direction = rest + count, *applied = direction + count;
    for (size_t i = 0; i < count; i++)
        offsets[i] = rest[i] = 0;
    for (size_t i = 0; i < solving->pair_count; i++) {
        const struct pair *pair = &solving->pairs[i];
        rest[pair->b] += pair->weight * pair->diff_ns;
        rest[pair->a] -= pair->weight * pair->diff_ns;
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
    for (size_t i = 0; i < count; i++)
        clocks->clocks[i].offset_ns = isfinite(offsets[i]) && fabs(offsets[i]) < 9e18 ? (int64_t)offsets[i] : 0;
}

/* From the fixed clock outward, pair by pair: errors of independent pairs add up in squares. Pairs stand by their
   clocks, so a few
 * passes reach all of a shallow graph. */
static void find_errors(struct solving *solving)
{
    struct ap_clocks *clocks = solving->clocks;
    double *errors = solving->vectors;
    bool changed = true;
    for (uint32_t i = 0; i < clocks->count; i++)
        errors[i] = is_fixed(clocks, i) ? 0 : -1;
    for (int pass = 0; pass < ROUNDS_MAX && changed; pass++) {
        changed = false;
        for (size_t i = 0; i < solving->pair_count; i++) {
            const struct pair *pair = &solving->pairs[i];
            const uint32_t ends[] = { pair->a, pair->b };
            for (int j = 0; j < 2; j++) {
                double from = errors[ends[j]], *to = &errors[ends[1 - j]];
                double through = from < 0 ? -1 : sqrt(from * from + pair->error_ns * pair->error_ns);
                if (through < 0 || (*to >= 0 && *to <= through))
                    continue;
                *to = through;
                changed = true;
            }
        }
    }
    for (uint32_t i = 0; i < clocks->count; i++)
        clocks->clocks[i].error_ns = is_fixed(clocks, i) || errors[i] < 0 ? 0 : (int64_t)(errors[i] + FLOOR_ERROR_NS);
}

/* ------------------------------------------------------------------------------------------------------------- all */

static enum ap_status find_offsets(struct solving *solving, struct ap_error *reterr)
{
    struct ap_clocks *clocks = solving->clocks;
    AP_TRY(take_matches(solving, reterr));
    AP_TRY(make_pairs(solving, reterr));
    AP_TRY(AP_ALLOC(clocks->gate, solving->scratch, clocks->count, reterr));
    AP_TRY(AP_ALLOC(clocks->gate, solving->vectors, 4 * clocks->count, reterr));
    find_components(solving);
    solve(solving);
    find_errors(solving);
    clocks->pair_count = solving->pair_count;
    return AP_OK;
}

int64_t ap_clocks_common_ns(const struct ap_clocks *clocks, uint32_t rank, int64_t at_ns)
{
    bool overflowed = false;
    return ap_add_sat(at_ns, -clocks->clocks[clocks->of_rank[rank]].offset_ns, &overflowed);
}

int64_t ap_clocks_error_ns(const struct ap_clocks *clocks, uint32_t rank, uint32_t other)
{
    const struct ap_clock *a = &clocks->clocks[clocks->of_rank[rank]], *b = &clocks->clocks[clocks->of_rank[other]];
    if (a == b)
        return 0;
    return a->component == b->component ? a->error_ns + b->error_ns : -1;
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
