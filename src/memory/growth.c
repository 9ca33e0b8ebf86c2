/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include <string.h>

#include "frame_kind.h"
#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

#define LEAST_RISES 3u
#define LATER_SHARE 0.25 /* of the growth, in the later half; a straight line has 0.5 */
#define FALL_SHARE 0.25  /* of the rises */
#define LEAST_FIT 0.6
#define FREED_SHARE 0.7
#define FRESH_SHARE 0.5    /* of what is live at the last point */
#define CAPTURE_ENTRIES 64 /* what a graph reads is made so shortly before its capture */
#define LOOP_SHARE 0.75    /* of the periods */
#define WARM_UP_SHARE 0.01 /* of the most in use: less is no growth worth a name */

/* ---------------------------------------------------------------------------------------------------- comparable points */

struct walk {
    const struct ap_replay *replay;
    uint32_t device;
    int64_t bytes; /* requested, at the position */
    int64_t allocated_bytes;
    uint32_t position;
    bool overflowed;
};

static void walk_on(struct walk *walk)
{
    uint32_t entry = walk->replay->devices[walk->device].first_entry + walk->position++;
    struct ap_replay_step step;
    ap_replay_step(walk->replay, entry, &step);
    walk->bytes = ap_add_sat(walk->bytes, step.requested_bytes, &walk->overflowed);
    if (step.requested_bytes > 0)
        walk->allocated_bytes = ap_add_sat(walk->allocated_bytes, step.requested_bytes, &walk->overflowed);
}

/* The bound itself belongs to the period before it and to the one behind it: what a step leaves is least right there. */
static void find_points(struct ap_growth *growth, struct walk *walk, int64_t *ret_allocated_bytes)
{
    const struct ap_periods *periods = &growth->periods;
    uint32_t count = ap_period_count(periods);
    growth->periods_per_point = (count + AP_GROWTH_POINTS - 1) / AP_GROWTH_POINTS;
    growth->point_count = count / growth->periods_per_point;
    while (walk->position < periods->bounds[0])
        walk_on(walk);
    walk->allocated_bytes = 0;
    for (uint32_t i = 0; i < growth->point_count; i++) {
        struct ap_growth_point *point = &growth->points[i];
        uint32_t end = periods->bounds[(i + 1) * growth->periods_per_point];
        *point = (struct ap_growth_point){ walk->position, walk->bytes, walk->bytes };
        while (walk->position < end) {
            walk_on(walk);
            if (walk->bytes < point->bytes) {
                point->bytes = walk->bytes;
                point->position = walk->position;
            }
            if (walk->bytes > point->most_bytes)
                point->most_bytes = walk->bytes;
        }
    }
    *ret_allocated_bytes = walk->allocated_bytes;
}

/* ------------------------------------------------------------------------------------------------- one row of values */

static int by_number(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Theil-Sen: a few odd points do not move it. */
static double median_slope(const int64_t *values, uint32_t count)
{
    double slopes[AP_GROWTH_POINTS * (AP_GROWTH_POINTS - 1) / 2];
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            slopes[used++] = ((double)values[j] - (double)values[i]) / (double)(j - i);
    if (!used)
        return 0;
    ap_sort(slopes, used, sizeof(*slopes), by_number);
    return used % 2 ? slopes[used / 2] : slopes[used / 2 - 1] / 2 + slopes[used / 2] / 2;
}

/* r^2 of a straight line: 1 = all points are on it; 0 where nothing varies. */
static double line_fit(const int64_t *values, uint32_t count)
{
    double mean = 0, mean_at = ((double)count - 1) / 2, both = 0, squares = 0, squares_at = 0;
    for (uint32_t i = 0; i < count; i++)
        mean += (double)values[i] / (double)count;
    for (uint32_t i = 0; i < count; i++) {
        double at = (double)i - mean_at, value = (double)values[i] - mean;
        both += at * value;
        squares += value * value;
        squares_at += at * at;
    }
    return squares > 0 && squares_at > 0 ? both * both / (squares * squares_at) : 0;
}

static double later_growth(const int64_t *values, uint32_t count)
{
    return (double)values[count - 1] - (double)values[(count - 1) / 2];
}

static bool grows_on(const int64_t *values, uint32_t count)
{
    double rise = 0, fall = 0, growth = (double)values[count - 1] - (double)values[0];
    uint32_t rises = 0, last_rise = 0, longest_pause = 1;
    for (uint32_t i = 1; i < count; i++) {
        double change = (double)values[i] - (double)values[i - 1];
        if (change <= 0) {
            fall -= change;
            continue;
        }
        rise += change;
        rises++;
        longest_pause = i - last_rise > longest_pause ? i - last_rise : longest_pause;
        last_rise = i;
    }
    /* A pause at the end as long as the longest one is still one step short of the next rise. */
    return growth > 0 && rises >= LEAST_RISES && fall <= FALL_SHARE * rise && count - 1 - last_rise < longest_pause &&
           later_growth(values, count) >= LATER_SHARE * growth && line_fit(values, count) >= LEAST_FIT;
}

/* ---------------------------------------------------------------------------------------------------------- by origin */

/* What of a lifetime matters here. */
struct stay {
    uint32_t first_point, end_point; /* live at the points first..end-1 */
    bool at_end;                     /* live at the end of the history */
    uint32_t stack, alloc, end;      /* the end: AP_NO_ENTRY = none */
    int64_t bytes;
};

/* Points before @position: those that lie at or behind an entry have positions greater than it. */
static uint32_t points_until(const struct ap_growth *growth, uint32_t entry)
{
    size_t low = 0;
    AP_BISECT(low, growth->point_count, at, growth->points[at].position <= entry);
    return (uint32_t)low;
}

/* What a captured graph keeps in a pool of its own is there for its replays: captures grow by design. */
static bool is_private(const struct ap_snapshot *snapshot, uint32_t segment)
{
    return snapshot->segments[segment].pool[0] || snapshot->segments[segment].pool[1];
}

static int by_entry(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    AP_BY_SMALLER(a, b);
    return 0;
}

static enum ap_status list_captures(struct ap_growth *growth, const struct ap_replay *replay,
                                    const struct ap_replay_device *of, struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC(growth->gate, growth->captures, of->lifetime_count, reterr));
    for (uint32_t i = of->first_lifetime; i < of->first_lifetime + of->lifetime_count; i++) {
        const struct ap_lifetime *life = &replay->lifetimes[i];
        if (life->block != AP_NO_ENTRY && life->alloc != AP_NO_ENTRY &&
            is_private(replay->snapshot, replay->block_segment[life->block]))
            growth->captures[growth->capture_count++] = life->alloc;
    }
    ap_sort(growth->captures, growth->capture_count, sizeof(*growth->captures), by_entry);
    return AP_OK;
}

/* Made right before a capture: what the graph reads, which each replay is handed. */
static bool is_of_capture(const struct ap_growth *growth, uint32_t alloc)
{
    size_t at = 0;
    AP_BISECT(at, growth->capture_count, i, growth->captures[i] < alloc);
    return alloc != AP_NO_ENTRY && at < growth->capture_count && growth->captures[at] - alloc <= CAPTURE_ENTRIES;
}

/* False where it is live at no point, nor at the end; or a captured graph's. */
static bool stay_of(const struct ap_growth *growth, const struct ap_replay *replay, const struct ap_replay_device *of,
                    const struct ap_lifetime *lifetime, struct stay *ret_stay)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    uint32_t end = lifetime->free_requested != AP_NO_ENTRY ? lifetime->free_requested : lifetime->free_completed;
    bool at_end = lifetime->block != AP_NO_ENTRY;
    if (end == AP_NO_ENTRY && (!at_end || snapshot->blocks[lifetime->block].state == AP_BLOCK_PENDING))
        return false; /* lost, or given back before the history */
    if (at_end && (is_private(snapshot, replay->block_segment[lifetime->block]) || is_of_capture(growth, lifetime->alloc)))
        return false;
    ret_stay->alloc = lifetime->alloc;
    ret_stay->end = end;
    ret_stay->first_point = lifetime->alloc == AP_NO_ENTRY ? 0 : points_until(growth, lifetime->alloc - of->first_entry);
    ret_stay->end_point = end == AP_NO_ENTRY ? growth->point_count : points_until(growth, end - of->first_entry);
    ret_stay->at_end = end == AP_NO_ENTRY;
    if (ret_stay->first_point >= ret_stay->end_point && !ret_stay->at_end)
        return false;
    ret_stay->stack = lifetime->alloc == AP_NO_ENTRY ? 0 : snapshot->actions.stack[lifetime->alloc];
    if (!ret_stay->stack && at_end)
        ret_stay->stack = snapshot->blocks[lifetime->block].stack;
    ret_stay->bytes = ap_replay_lifetime_bytes(replay, (uint32_t)(lifetime - replay->lifetimes));
    return ret_stay->bytes > 0;
}

/* Bytes live at the first, the middle and the last point. */
struct sums {
    int64_t first_bytes, middle_bytes, last_bytes;
    uint32_t candidate; /* its row of the matrix, or UINT32_MAX */
};

/* What without a stack counts as one origin. */
enum alike {
    ALIKE_IN_SIZE,
    ALIKE_ALL,      /* whatever the size */
    ALIKE_ALL_LATER /* the same, but for what the first period brought: a start, most of all optimizer state */
};

struct origins {
    struct ap_origin_groups groups;
    struct sums *sums;
    size_t capacity;
    uint32_t count;
    enum alike alike;
    bool overflowed;
};

struct way {
    enum alike alike;
    bool by_line;
};

static enum ap_status sums_of(struct origins *origins, const struct stay *stay, struct sums **ret_sums,
                              struct ap_error *reterr)
{
    uint32_t group;
    AP_TRY(
        ap_origin_group(&origins->groups, stay->stack, origins->alike == ALIKE_IN_SIZE ? stay->bytes : 0, &group, reterr));
    if (group >= origins->count) {
        AP_TRY(AP_RESERVE(origins->groups.gate, origins->sums, origins->capacity, (size_t)group + 1, reterr));
        for (; origins->count <= group; origins->count++)
            origins->sums[origins->count] = (struct sums){ 0, 0, 0, UINT32_MAX };
    }
    *ret_sums = &origins->sums[group];
    return AP_OK;
}

static void add(int64_t *sum, bool live, int64_t bytes, bool *overflowed)
{
    if (live)
        *sum = ap_add_sat(*sum, bytes, overflowed);
}

static enum ap_status sum_up(struct origins *origins, const struct ap_growth *growth, const struct ap_replay *replay,
                             const struct ap_replay_device *of, struct ap_error *reterr)
{
    uint32_t last = growth->point_count - 1, middle = last / 2;
    for (uint32_t i = 0; i < of->lifetime_count; i++) {
        struct stay stay;
        struct sums *sums;
        if (!stay_of(growth, replay, of, &replay->lifetimes[of->first_lifetime + i], &stay) ||
            (origins->alike == ALIKE_ALL_LATER && stay.first_point == 1 && !stay.stack))
            continue;
        AP_TRY(sums_of(origins, &stay, &sums, reterr));
        add(&sums->first_bytes, stay.first_point == 0, stay.bytes, &origins->overflowed);
        add(&sums->middle_bytes, stay.first_point <= middle && stay.end_point > middle, stay.bytes, &origins->overflowed);
        add(&sums->last_bytes, stay.first_point <= last && stay.end_point > last, stay.bytes, &origins->overflowed);
    }
    return AP_OK;
}

/* Grown by how much, where it also grew in the later half; else 0. */
static double growth_of(const struct sums *sums)
{
    double growth = (double)sums->last_bytes - (double)sums->first_bytes;
    return growth > 0 && sums->last_bytes > sums->middle_bytes ? growth : 0;
}

/* The groups that grew most, in descending order; ties by group. */
static uint32_t choose_candidates(struct origins *origins, uint32_t *ret_groups)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < origins->count; i++) {
        double growth = growth_of(&origins->sums[i]);
        if (growth <= 0)
            continue;
        uint32_t at = count;
        while (at > 0 && growth_of(&origins->sums[ret_groups[at - 1]]) < growth)
            at--;
        if (at == AP_GROWTH_STACKS)
            continue;
        count += count < AP_GROWTH_STACKS;
        memmove(ret_groups + at + 1, ret_groups + at, (count - 1 - at) * sizeof(*ret_groups));
        ret_groups[at] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        origins->sums[ret_groups[i]].candidate = i;
    return count;
}

struct candidate {
    int64_t bytes[AP_GROWTH_POINTS], counts[AP_GROWTH_POINTS];
    int64_t end_bytes, old_bytes, fresh_bytes; /* at the end; of these, at the first point; at the last, of its period */
    uint32_t first_entry, last_entry;
    struct ap_queue_order order;
};

static enum ap_status fill_matrix(struct candidate *candidates, struct origins *origins, const struct ap_growth *growth,
                                  const struct ap_replay *replay, const struct ap_replay_device *of, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < of->lifetime_count; i++) {
        struct stay stay;
        struct sums *sums;
        if (!stay_of(growth, replay, of, &replay->lifetimes[of->first_lifetime + i], &stay) ||
            (origins->alike == ALIKE_ALL_LATER && stay.first_point == 1 && !stay.stack))
            continue;
        AP_TRY(sums_of(origins, &stay, &sums, reterr));
        if (sums->candidate == UINT32_MAX)
            continue;
        struct candidate *to = &candidates[sums->candidate];
        for (uint32_t point = stay.first_point; point < stay.end_point; point++) {
            add(&to->bytes[point], true, stay.bytes, &origins->overflowed);
            to->counts[point]++;
        }
        ap_queue_order_add(&to->order, stay.alloc, stay.stack ? stay.end : AP_NO_ENTRY);
        add(&to->end_bytes, stay.at_end, stay.bytes, &origins->overflowed);
        add(&to->old_bytes, stay.at_end && stay.first_point == 0, stay.bytes, &origins->overflowed);
        add(&to->fresh_bytes, stay.first_point + 1 == growth->point_count && stay.end_point == growth->point_count,
            stay.bytes, &origins->overflowed);
        if (stay.first_point == 0 || stay.first_point >= growth->point_count || stay.end_point < growth->point_count)
            continue;
        to->first_entry = to->first_entry == AP_NO_ENTRY || stay.alloc < to->first_entry ? stay.alloc : to->first_entry;
        to->last_entry = to->last_entry == AP_NO_ENTRY || stay.alloc > to->last_entry ? stay.alloc : to->last_entry;
    }
    return AP_OK;
}

static struct ap_growth_stack describe(const struct candidate *candidate, const struct origins *origins, uint32_t group,
                                       const struct ap_growth *growth)
{
    uint32_t last = growth->point_count - 1, stacks = origins->groups.stack_count;
    return (struct ap_growth_stack){
        .stack = group <= stacks ? group : 0,
        .size_bytes = group <= stacks ? 0 : origins->groups.sizes[group - stacks - 1],
        .first_bytes = candidate->bytes[0],
        .last_bytes = candidate->bytes[last],
        .later_bytes = candidate->bytes[last] - candidate->bytes[last / 2], /* neither is negative */
        .end_bytes = candidate->end_bytes,
        .first_count = candidate->counts[0],
        .last_count = candidate->counts[last],
        .bytes_per_period = median_slope(candidate->bytes, last + 1) / (double)growth->periods_per_point,
        .fit_ratio = line_fit(candidate->bytes, last + 1),
        .first_entry = candidate->first_entry,
        .last_entry = candidate->last_entry,
    };
}

/* What has no stack is not all of one origin: weights, and state that a first step sets up, count with what goes on growing,
 * which is what the periods add, @less fewer than there are points. */
static int64_t most_leaked(const struct ap_growth *growth, const struct ap_growth_stack *stack, int64_t bytes, int less)
{
    double added = stack->bytes_per_period * (double)growth->periods_per_point * ((double)growth->point_count - less);
    return stack->stack || added <= 0 || added >= (double)bytes ? bytes : (int64_t)added;
}

/* Many, and hardly one that is old: the caches of several requests, each longer with every word. */
static bool is_made_anew(const struct candidate *of, uint32_t last)
{
    return of->counts[last] > 1 && (double)of->fresh_bytes > FRESH_SHARE * (double)of->bytes[last];
}

static enum ap_status keep_growing(struct ap_growth *growth, const struct candidate *candidates, uint32_t count,
                                   const struct origins *origins, const uint32_t *groups, struct ap_error *reterr)
{
    bool overflowed = false;
    AP_TRY(AP_ALLOC(growth->gate, growth->stacks, AP_GROWTH_STACKS, reterr));
    for (uint32_t i = 0; i < count; i++) {
        const struct candidate *of = &candidates[i];
        /* As many as before, and larger: one thing that is made anew each time, such as a cache of what was decoded. */
        bool more = of->counts[growth->point_count - 1] > of->counts[of->counts[0] ? 0 : 1]; /* first made */
        if (groups[i] > origins->groups.stack_count && origins->alike != ALIKE_IN_SIZE)
            more = grows_on(of->counts, growth->point_count); /* much else is counted with it */
        if (!more || ap_queue_order_holds(&of->order) || is_made_anew(of, growth->point_count - 1) ||
            !grows_on(of->bytes, growth->point_count))
            continue;
        struct ap_growth_stack stack = describe(&candidates[i], origins, groups[i], growth);
        growth->stacks[growth->stack_count++] = stack;
        growth->leaking_bytes = ap_add_sat(
            growth->leaking_bytes, most_leaked(growth, &stack, stack.last_bytes - stack.first_bytes, 1), &overflowed);
        growth->leaking_bytes_per_period += stack.bytes_per_period;
        /* The history begins and ends somewhere within a period. */
        int64_t fresh_bytes = of->end_bytes - (stack.stack ? 0 : of->old_bytes); /* those are as large by chance */
        int64_t held_bytes = most_leaked(growth, &stack, fresh_bytes, -1);
        growth->held_bytes = ap_add_sat(growth->held_bytes, held_bytes, &overflowed);
    }
    return AP_OK;
}

static enum ap_status find_stacks_in(struct ap_growth *growth, struct origins *origins, const struct ap_replay *replay,
                                     const struct ap_replay_device *of, struct ap_error *reterr)
{
    uint32_t groups[AP_GROWTH_STACKS + 1], count;
    AP_TRY(sum_up(origins, growth, replay, of, reterr));
    count = choose_candidates(origins, groups);
    if (!count)
        return AP_OK;
    struct candidate *candidates;
    AP_TRY(AP_ALLOC_CLEARED(growth->gate, candidates, count, reterr));
    for (uint32_t i = 0; i < count; i++)
        candidates[i].first_entry = candidates[i].last_entry = AP_NO_ENTRY;
    enum ap_status status = fill_matrix(candidates, origins, growth, replay, of, reterr);
    AP_AND_THEN(status, keep_growing(growth, candidates, count, origins, groups, reterr));
    AP_FREE(growth->gate, candidates, count);
    return status;
}

static enum ap_status find_stacks_by(struct ap_growth *growth, struct way way, const struct ap_replay *replay,
                                     const struct ap_replay_device *of, bool *ret_sizes, struct ap_error *reterr)
{
    struct origins origins = { .alike = way.alike };
    enum ap_status status = AP_OK;
    ap_origin_groups_init(&origins.groups, replay->snapshot);
    if (way.by_line)
        status = ap_origin_groups_by_line(&origins.groups, replay->snapshot, reterr);
    AP_AND_THEN(status, find_stacks_in(growth, &origins, replay, of, reterr));
    *ret_sizes = origins.count > origins.groups.stack_count + 1;
    AP_FREE(growth->gate, origins.sums, origins.capacity);
    ap_origin_groups_release(&origins.groups);
    return status;
}

/* @growth as if its stacks were the other ones, where these explain more. */
static enum ap_status try_way(struct ap_growth *growth, struct way way, const struct ap_replay *replay,
                              const struct ap_replay_device *of, struct ap_error *reterr)
{
    struct ap_growth other = *growth;
    bool sizes;
    other.stacks = NULL;
    other.stack_count = 0;
    other.leaking_bytes = other.held_bytes = 0;
    other.leaking_bytes_per_period = 0;
    enum ap_status status = find_stacks_by(&other, way, replay, of, &sizes, reterr);
    bool better =
        status == AP_OK && (other.leaking_bytes > growth->leaking_bytes ||
                            (other.leaking_bytes == growth->leaking_bytes && other.held_bytes > growth->held_bytes));
    ap_mem_free(growth->gate, better ? growth->stacks : other.stacks, AP_GROWTH_STACKS * sizeof(*growth->stacks));
    if (better)
        *growth = other;
    return status;
}

/* Is a module called again and again, and something grows with it? Then the outermost frames, as far as the growing stacks
 * have them in common, do not reach into its call, and those of some go on into it. Without a stack nobody knows. */
static bool loops_over_calls(const struct ap_growth *growth, const struct ap_snapshot *snapshot)
{
    uint32_t first_count, count, shared;
    if (!growth->stack_count)
        return false;
    const uint32_t *first = ap_stack_frames(&snapshot->stacks, growth->stacks[0].stack, &first_count);
    bool any = ap_frames_have_call(snapshot, first, first_count);
    shared = first_count;
    for (uint32_t i = 1; i < growth->stack_count; i++) {
        const uint32_t *frames = ap_stack_frames(&snapshot->stacks, growth->stacks[i].stack, &count);
        uint32_t same = 0;
        while (same < shared && same < count && first[first_count - 1 - same] == frames[count - 1 - same])
            same++;
        if (!count)
            return false;
        any = any || ap_frames_have_call(snapshot, frames, count);
        shared = same;
    }
    return any && !ap_frames_have_call(snapshot, first + (first_count - shared), shared);
}

/* Do the functions that call a module allocate outside of it, too, in most periods? Then each has a call of its own, with an
 * input that was made for it; the layers of one forward pass have none. */
static enum ap_status works_between_calls(const struct ap_growth *growth, const struct ap_replay *replay,
                                          const struct ap_replay_device *of, bool *ret_works, struct ap_error *reterr)
{
    enum { NOT_LOOKED, INSIDE, BESIDE };
    const struct ap_actions *actions = &replay->snapshot->actions;
    const struct ap_periods *periods = &growth->periods;
    size_t stacks = (size_t)replay->snapshot->stacks.stack_count + 1;
    uint32_t with = 0, count = ap_period_count(periods);
    uint8_t *looked;
    AP_TRY(AP_ALLOC_CLEARED(growth->gate, looked, stacks, reterr));
    for (uint32_t i = 0; i < count && growth->stack_count; i++) {
        bool beside = false;
        for (uint32_t at = of->first_entry + periods->bounds[i]; at < of->first_entry + periods->bounds[i + 1] && !beside;
             at++) {
            uint32_t stack = actions->name[at].id == AP_ACTION_ALLOC ? actions->stack[at] : 0;
            if (looked[stack] == NOT_LOOKED)
                looked[stack] = ap_stack_is_beside_calls(replay->snapshot, stack, growth->stacks[0].stack) ? BESIDE : INSIDE;
            beside = looked[stack] == BESIDE;
        }
        with += beside;
    }
    AP_FREE(growth->gate, looked, stacks);
    *ret_works = growth->stack_count && with >= LOOP_SHARE * count;
    return AP_OK;
}

/* Without stacks a size stands for an origin. What is kept of batches that all differ has no size of its own: where the
 * sizes explain less than half of the growth, all that came without a stack is looked at as one.
 * @ret_loops: the stacks that grow, each for itself, are of calls of a module in a loop. */
static enum ap_status find_stacks(struct ap_growth *growth, const struct ap_replay *replay,
                                  const struct ap_replay_device *of, bool *ret_loops, struct ap_error *reterr)
{
    bool sizes;
    AP_TRY(find_stacks_by(growth, (struct way){ ALIKE_IN_SIZE, false }, replay, of, &sizes, reterr));
    *ret_loops = loops_over_calls(growth, replay->snapshot);
    AP_TRY(try_way(growth, (struct way){ ALIKE_IN_SIZE, true }, replay, of, reterr));
    for (enum alike alike = ALIKE_ALL; sizes && alike <= ALIKE_ALL_LATER; alike++)
        for (int by_line = 0; by_line < 2; by_line++)
            if (growth->leaking_bytes < growth->net_bytes / 2)
                AP_TRY(try_way(growth, (struct way){ alike, by_line }, replay, of, reterr));
    *ret_loops = *ret_loops || loops_over_calls(growth, replay->snapshot);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- verdict */

static enum ap_growth_verdict judge(const struct ap_growth *growth, bool loops, const int64_t *values, int64_t most_bytes,
                                    int64_t allocated_bytes)
{
    double net = (double)growth->net_bytes, later = later_growth(values, growth->point_count), leaking_later = 0;
    for (uint32_t i = 0; i < growth->stack_count; i++)
        leaking_later += (double)growth->stacks[i].later_bytes;
    /* Parts that are merely equal may be those of one start: there something else grows more than what looks like a leak. */
    bool guessed = growth->periods.source == AP_PERIODS_EQUAL_PARTS;
    if (growth->stack_count && guessed && leaking_later < later / 2)
        return AP_GROWTH_FILLING;
    if (growth->stack_count && later >= leaking_later / 2) {
        bool told = growth->periods.source == AP_PERIODS_ANNOTATIONS;
        double kept = (double)growth->leaking_bytes;
        bool leaks = told || loops || kept <= (1 - FREED_SHARE) * (double)allocated_bytes;
        return leaks ? AP_GROWTH_LEAK : AP_GROWTH_FILLING;
    }
    if (net > WARM_UP_SHARE * (double)most_bytes && later < LATER_SHARE * net)
        return AP_GROWTH_LEVELS_OFF;
    return AP_GROWTH_NONE;
}

static enum ap_status fill(struct ap_growth *growth, const struct ap_replay *replay, uint32_t device,
                           struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    struct walk walk = { .replay = replay, .device = device, .bytes = of->requested.start_bytes };
    int64_t allocated_bytes, values[AP_GROWTH_POINTS];
    bool loops = false, between;
    if (!ap_period_count(&growth->periods) || !of->requested.known)
        return AP_OK;
    find_points(growth, &walk, &allocated_bytes);
    for (uint32_t i = 0; i < growth->point_count; i++)
        values[i] = growth->points[i].bytes;
    growth->net_bytes = ap_subtract_sat(values[growth->point_count - 1], values[0], &walk.overflowed);
    growth->bytes_per_period = median_slope(values, growth->point_count) / (double)growth->periods_per_point;
    growth->fit_ratio = line_fit(values, growth->point_count);
    AP_TRY(list_captures(growth, replay, of, reterr));
    enum ap_status status = find_stacks(growth, replay, of, &loops, reterr);
    AP_FREE(growth->gate, growth->captures, of->lifetime_count);
    growth->captures = NULL;
    AP_TRY(status);
    AP_TRY(works_between_calls(growth, replay, of, &between, reterr));
    loops = loops || between;
    growth->verdict = judge(growth, loops, values, of->requested.peak_bytes, allocated_bytes);
    return AP_OK;
}

enum ap_status ap_growth_find(const struct ap_replay *replay, uint32_t device, struct ap_growth *ret_growth,
                              struct ap_error *reterr)
{
    struct ap_periods periods;
    AP_TRY(ap_periods_find(replay, device, &periods, reterr));
    return ap_growth_find_in(replay, device, &periods, ret_growth, reterr);
}

enum ap_status ap_growth_find_in(const struct ap_replay *replay, uint32_t device, struct ap_periods *periods,
                                 struct ap_growth *ret_growth, struct ap_error *reterr)
{
    struct ap_growth growth = { .gate = replay->gate, .periods = *periods };
    enum ap_status status = fill(&growth, replay, device, reterr);
    if (status != AP_OK) {
        ap_growth_release(&growth);
        return status;
    }
    *ret_growth = growth;
    return AP_OK;
}

void ap_growth_release(struct ap_growth *growth)
{
    AP_FREE(growth->gate, growth->stacks, AP_GROWTH_STACKS);
    growth->stacks = NULL;
    ap_periods_release(&growth->periods);
}
