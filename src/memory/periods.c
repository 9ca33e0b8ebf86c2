/* SPDX-License-Identifier: MIT */
#include "periods.h"

#include <string.h>

#include "frame_kind.h"
#include "sort.h"

#include "poison.h"

#define EQUAL_PARTS 8u
#define MOST_ODD 10u     /* one distance in so many */
#define LEAST_ALLOCS 64u /* of a history that is cut in equal parts */

enum { OF_ENGINE = 1, OF_LIBRARY, OF_USER }; /* of C and C++, of Python, of the user */

/* ----------------------------------------------------------------------------------------------------------- groups */

void ap_origin_groups_init(struct ap_origin_groups *groups, const struct ap_snapshot *snapshot)
{
    *groups = (struct ap_origin_groups){ .gate = snapshot->gate, .stack_count = snapshot->stacks.stack_count };
    ap_address_map_init(&groups->by_size, snapshot->gate);
}

void ap_origin_groups_release(struct ap_origin_groups *groups)
{
    ap_address_map_release(&groups->by_size);
    AP_FREE(groups->gate, groups->sizes, groups->size_capacity);
    groups->sizes = NULL;
    AP_FREE(groups->gate, groups->lines, (size_t)groups->stack_count + 1);
    groups->lines = NULL;
}

static uint8_t kind_of(const struct ap_snapshot *snapshot, uint32_t frame)
{
    struct ap_text file = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frame].filename);
    if (!ap_frame_is_library(file))
        return OF_USER;
    return ap_text_ends_with(file, ".py") ? OF_LIBRARY : OF_ENGINE;
}

/* What the user's innermost line called in Python, and that line, to @line; the whole stack where no frame is the user's.
 * Frames of C++ differ from call to call: the interpreter runs the same code in several ways. */
static uint32_t line_of(const struct ap_snapshot *snapshot, uint32_t stack, uint8_t *kinds, uint32_t *line)
{
    uint32_t count, kept = 0;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *kind = &kinds[frames[i]];
        if (!*kind)
            *kind = kind_of(snapshot, frames[i]);
        if (*kind != OF_ENGINE)
            line[kept++] = frames[i];
        if (*kind == OF_USER)
            return kept;
    }
    if (count)
        memcpy(line, frames, (size_t)count * sizeof(*line));
    return count;
}

/* What telling lines needs: by frame its kind, 0 = not looked at; by line the first stack; room for one. */
struct line_search {
    uint8_t *kinds;
    uint32_t *first, *line;
    struct ap_strpool known;
};

static enum ap_status find_lines(struct ap_origin_groups *groups, const struct ap_snapshot *snapshot,
                                 struct line_search *search, struct ap_error *reterr)
{
    for (uint32_t i = 1; i <= groups->stack_count; i++) {
        struct ap_str line;
        size_t bytes = (size_t)line_of(snapshot, i, search->kinds, search->line) * sizeof(*search->line);
        AP_TRY(ap_strpool_intern(&search->known, (const char *)search->line, bytes, &line, reterr));
        search->first[line.id] = search->first[line.id] ? search->first[line.id] : i;
        groups->lines[i] = search->first[line.id];
    }
    return AP_OK;
}

enum ap_status ap_origin_groups_by_line(struct ap_origin_groups *groups, const struct ap_snapshot *snapshot,
                                        struct ap_error *reterr)
{
    size_t frame_count = (size_t)snapshot->stacks.frame_count + 1, stack_count = (size_t)groups->stack_count + 1;
    struct line_search search = { .kinds = NULL };
    uint32_t longest = 1;
    for (uint32_t i = 1, count; i < stack_count; i++) {
        (void)ap_stack_frames(&snapshot->stacks, i, &count);
        longest = count > longest ? count : longest;
    }
    ap_strpool_init(&search.known, groups->gate);
    enum ap_status status = AP_ALLOC_CLEARED(groups->gate, groups->lines, stack_count, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(groups->gate, search.first, stack_count, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(groups->gate, search.kinds, frame_count, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(groups->gate, search.line, longest, reterr));
    AP_AND_THEN(status, find_lines(groups, snapshot, &search, reterr));
    AP_FREE(groups->gate, search.line, longest);
    AP_FREE(groups->gate, search.kinds, frame_count);
    AP_FREE(groups->gate, search.first, stack_count);
    ap_strpool_release(&search.known);
    return status;
}

enum ap_status ap_origin_group(struct ap_origin_groups *groups, uint32_t stack, int64_t size_bytes, uint32_t *ret_group,
                               struct ap_error *reterr)
{
    uint32_t index;
    if (stack) {
        *ret_group = groups->lines ? groups->lines[stack] : stack;
        return AP_OK;
    }
    index = ap_address_map_find(&groups->by_size, (uint64_t)size_bytes);
    if (index == AP_NOT_MAPPED) {
        index = groups->size_count;
        AP_TRY(AP_RESERVE(groups->gate, groups->sizes, groups->size_capacity, (size_t)index + 1, reterr));
        AP_TRY(ap_address_map_set(&groups->by_size, (uint64_t)size_bytes, index, reterr));
        groups->sizes[index] = size_bytes;
        groups->size_count++;
    }
    *ret_group = groups->stack_count + 1 + index;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ annotations */

enum ap_status ap_periods_add(struct ap_periods *periods, uint32_t position, struct ap_error *reterr)
{
    if (periods->bound_count && periods->bounds[periods->bound_count - 1] >= position)
        return AP_OK;
    AP_TRY_ADD(periods->gate, periods->bounds, periods->bound_count, periods->capacity, reterr, position);
    return AP_OK;
}

/* What a name says of the range: 0 = nothing; the least other one is the best. */
static unsigned rank_of_name(struct ap_text name)
{
    if (ap_text_starts_with(name, "ProfilerStep#"))
        return 1;
    if (ap_text_starts_with(name, "Optimizer.step"))
        return 2;
    if (ap_text_contains_folded(name, "step") || ap_text_contains_folded(name, "iteration"))
        return 3;
    return 0;
}

/* Is it the beginning of a range of this device? Not of one that began before its history: how long before is not known.
 * One behind the last entry ends the period before it. */
static bool begins_here(const struct ap_snapshot *snapshot, const struct ap_annotation *annotation, uint32_t device,
                        int64_t first_ns)
{
    bool of_device = annotation->device < 0 || (uint32_t)annotation->device == device;
    return of_device && annotation->has_time && annotation->time_ns >= first_ns &&
           ap_text_is(ap_strpool_text(&snapshot->strings, annotation->stage), "START");
}

/* ids: those of the names; counts[id] of ranges. Of ProfilerStep#N every number is its own name: they count as one. */
static unsigned choose_name(const struct ap_snapshot *snapshot, const uint32_t *counts, struct ap_str *ret_name)
{
    uint32_t names = (uint32_t)ap_strpool_count(&snapshot->strings), profiler_steps = 0, least = UINT32_MAX;
    unsigned best = 0;
    for (uint32_t id = 1; id <= names; id++) {
        unsigned rank = counts[id] ? rank_of_name(ap_strpool_text(&snapshot->strings, (struct ap_str){ id })) : 0;
        if (rank == 1) {
            profiler_steps += counts[id];
            ret_name->id = profiler_steps > AP_LEAST_PERIODS ? id : ret_name->id;
            best = profiler_steps > AP_LEAST_PERIODS ? 1 : best;
        } else if (rank && counts[id] > AP_LEAST_PERIODS && best != 1 &&
                   (!best || rank < best || (rank == best && counts[id] < least))) {
            best = rank;
            least = counts[id];
            ret_name->id = id;
        }
    }
    return best;
}

static enum ap_status bounds_at(struct ap_periods *periods, const struct ap_replay *replay,
                                const struct ap_replay_device *of, const int64_t *times_ns, uint32_t count,
                                struct ap_error *reterr)
{
    const int64_t *entry_ns = replay->snapshot->actions.time_ns + of->first_entry;
    uint32_t position = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (position < of->entry_count && entry_ns[position] < times_ns[i])
            position++;
        AP_TRY(ap_periods_add(periods, position, reterr));
    }
    return AP_OK;
}

/* The beginnings of ranges of this name, or of any ProfilerStep#N, in order. */
static uint32_t beginnings(const struct ap_snapshot *snapshot, uint32_t device, struct ap_str name, int64_t first_ns,
                           int64_t *ret_times_ns)
{
    bool steps = rank_of_name(ap_strpool_text(&snapshot->strings, name)) == 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < snapshot->annotation_count; i++) {
        const struct ap_annotation *annotation = &snapshot->annotations[i];
        bool same = annotation->name.id == name.id ||
                    (steps && rank_of_name(ap_strpool_text(&snapshot->strings, annotation->name)) == 1);
        if (same && begins_here(snapshot, annotation, device, first_ns))
            ret_times_ns[count++] = annotation->time_ns;
    }
    ap_sort(ret_times_ns, count, sizeof(*ret_times_ns), ap_by_int64);
    return count;
}

/* A profiler marks the steps that it records. Where each of them holds as many beginnings of another range, these tell the
 * steps before and behind as well: leaves of @times_ns the first of each step, and returns how many; 0 = they do not. */
static uint32_t first_of_steps(const int64_t *steps_ns, uint32_t step_count, int64_t *times_ns, uint32_t count)
{
    uint32_t before = 0, each = 0, at, kept = 0;
    while (before < count && times_ns[before] < steps_ns[0])
        before++;
    at = before;
    for (uint32_t i = 0; i + 1 < step_count; i++) {
        uint32_t from = at;
        while (at < count && times_ns[at] < steps_ns[i + 1])
            at++;
        if (at == from || (i && at - from != each))
            return 0;
        each = at - from;
    }
    for (uint32_t i = each ? before % each : count; i < count; i += each)
        times_ns[kept++] = times_ns[i];
    return kept > step_count ? kept : 0;
}

/* What annotations tell of steps; lists with room for all of them. */
struct told {
    int64_t *times_ns, *others_ns;
    uint32_t *counts; /* of ranges, by name */
    uint32_t count;
    int64_t first_ns;
};

static void choose_times(struct told *told, const struct ap_snapshot *snapshot, uint32_t device, struct ap_str *ret_name)
{
    struct ap_str other = { 0 };
    uint32_t names = (uint32_t)ap_strpool_count(&snapshot->strings), count;
    unsigned rank = choose_name(snapshot, told->counts, ret_name);
    if (rank)
        told->count = beginnings(snapshot, device, *ret_name, told->first_ns, told->times_ns);
    for (uint32_t id = 1; id <= names && rank == 1; id++)
        if (rank_of_name(ap_strpool_text(&snapshot->strings, (struct ap_str){ id })) == 1)
            told->counts[id] = 0;
    if (rank != 1 || choose_name(snapshot, told->counts, &other) != 2)
        return;
    count = beginnings(snapshot, device, other, told->first_ns, told->others_ns);
    count = first_of_steps(told->times_ns, told->count, told->others_ns, count);
    if (!count)
        return;
    memcpy(told->times_ns, told->others_ns, count * sizeof(*told->times_ns));
    told->count = count;
    *ret_name = other;
}

static enum ap_status from_annotations(struct ap_periods *periods, const struct ap_replay *replay, uint32_t device,
                                       struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    const struct ap_replay_device *of = &replay->devices[device];
    size_t names = ap_strpool_count(&snapshot->strings), annotations = snapshot->annotation_count;
    if (!annotations || !of->has_times || of->times_backwards)
        return AP_OK;
    struct told told = { .first_ns = snapshot->actions.time_ns[of->first_entry] };
    size_t bytes = annotations * 2 * sizeof(int64_t) + (names + 1) * sizeof(uint32_t);
    told.times_ns = ap_mem_resize(periods->gate, NULL, 0, bytes);
    if (!told.times_ns)
        return ap_fail_memory(periods->gate, reterr);
    told.others_ns = told.times_ns + annotations;
    told.counts = (uint32_t *)(void *)(told.others_ns + annotations);
    memset(told.counts, 0, (names + 1) * sizeof(*told.counts));
    for (size_t i = 0; i < annotations; i++)
        if (begins_here(snapshot, &snapshot->annotations[i], device, told.first_ns))
            told.counts[snapshot->annotations[i].name.id]++;
    choose_times(&told, snapshot, device, &periods->name);
    enum ap_status status = bounds_at(periods, replay, of, told.times_ns, told.count, reterr);
    ap_mem_free(periods->gate, told.times_ns, bytes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- repetition */

struct rhythm {
    uint32_t count, first, last, shortest, longest; /* entries of the device */
    uint32_t before, odd;                           /* in the second walk: the beat before; distances far from the mean */
};

struct rhythms {
    struct rhythm *list;
    size_t capacity;
    uint32_t count;
    struct ap_origin_groups groups;
};

static enum ap_status group_of_entry(struct rhythms *rhythms, const struct ap_actions *actions, uint32_t entry,
                                     uint32_t *ret_group, struct ap_error *reterr)
{
    AP_TRY(ap_origin_group(&rhythms->groups, actions->stack[entry], actions->size_bytes[entry], ret_group, reterr));
    if (*ret_group < rhythms->count)
        return AP_OK;
    AP_TRY(AP_RESERVE(rhythms->groups.gate, rhythms->list, rhythms->capacity, (size_t)*ret_group + 1, reterr));
    memset(rhythms->list + rhythms->count, 0, (*ret_group + 1 - rhythms->count) * sizeof(*rhythms->list));
    rhythms->count = *ret_group + 1;
    return AP_OK;
}

static void beat(struct rhythm *rhythm, uint32_t entry)
{
    uint32_t gap = entry - rhythm->last;
    if (!rhythm->count++) {
        rhythm->first = rhythm->last = entry;
        return;
    }
    if (rhythm->count == 2 || gap < rhythm->shortest)
        rhythm->shortest = gap;
    if (gap > rhythm->longest)
        rhythm->longest = gap;
    rhythm->last = entry;
}

static uint32_t mean_gap(const struct rhythm *rhythm)
{
    return (rhythm->last - rhythm->first) / (rhythm->count - 1);
}

/* Distances of less than two thirds of the mean, or more than one and a half. */
static void beat_again(struct rhythm *rhythm, uint32_t entry)
{
    uint64_t gap = entry - rhythm->before, mean = rhythm->count > 1 ? mean_gap(rhythm) : 0;
    rhythm->odd += entry != rhythm->first && (gap * 3 < mean * 2 || gap * 2 > mean * 3);
    rhythm->before = entry;
}

/* Often enough, no distance more than twice another, and over most of the history. Where @but_few, a few may differ, as the
 * first word of a request does. */
static bool is_even(const struct rhythm *rhythm, uint32_t entries, bool but_few)
{
    return rhythm->count > AP_LEAST_PERIODS &&
           (but_few ? rhythm->odd * MOST_ODD < rhythm->count : rhythm->longest / 2 <= rhythm->shortest) &&
           rhythm->last - rhythm->first + (rhythm->last - rhythm->first) / (rhythm->count - 1) >= entries / 10 * 6;
}

typedef void take_beat(struct rhythm *rhythm, uint32_t entry);

static enum ap_status walk_beats(struct rhythms *rhythms, const struct ap_snapshot *snapshot,
                                 const struct ap_replay_device *of, take_beat *take, struct ap_error *reterr)
{
    uint32_t group;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        if (snapshot->actions.name[of->first_entry + i].id != AP_ACTION_ALLOC)
            continue;
        AP_TRY(group_of_entry(rhythms, &snapshot->actions, of->first_entry + i, &group, reterr));
        take(&rhythms->list[group], i);
    }
    return AP_OK;
}

static uint32_t longest_of_even(const struct rhythms *rhythms, uint32_t entries, bool but_few)
{
    uint32_t longest = 0, best = UINT32_MAX;
    for (uint32_t i = 0; i < rhythms->count; i++) {
        if (!is_even(&rhythms->list[i], entries, but_few) || mean_gap(&rhythms->list[i]) <= longest)
            continue;
        longest = mean_gap(&rhythms->list[i]);
        best = i;
    }
    return best;
}

static enum ap_status measure(struct rhythms *rhythms, const struct ap_snapshot *snapshot, const struct ap_replay_device *of,
                              uint32_t *ret_best, bool *ret_uneven, struct ap_error *reterr)
{
    AP_TRY(walk_beats(rhythms, snapshot, of, beat, reterr));
    *ret_best = longest_of_even(rhythms, of->entry_count, false);
    *ret_uneven = *ret_best == UINT32_MAX;
    if (!*ret_uneven)
        return AP_OK;
    AP_TRY(walk_beats(rhythms, snapshot, of, beat_again, reterr));
    *ret_best = longest_of_even(rhythms, of->entry_count, true);
    return AP_OK;
}

static enum ap_status bounds_of_group(struct ap_periods *periods, struct rhythms *rhythms,
                                      const struct ap_snapshot *snapshot, const struct ap_replay_device *of, uint32_t best,
                                      struct ap_error *reterr)
{
    uint32_t group;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        if (snapshot->actions.name[of->first_entry + i].id != AP_ACTION_ALLOC)
            continue;
        AP_TRY(group_of_entry(rhythms, &snapshot->actions, of->first_entry + i, &group, reterr));
        if (group == best)
            AP_TRY(ap_periods_add(periods, i, reterr));
    }
    periods->stack = best <= rhythms->groups.stack_count ? best : 0;
    return AP_OK;
}

static enum ap_status from_repetition(struct ap_periods *periods, const struct ap_replay *replay, uint32_t device,
                                      struct ap_error *reterr)
{
    struct rhythms rhythms = { .count = 0 };
    const struct ap_replay_device *of = &replay->devices[device];
    uint32_t best;
    ap_origin_groups_init(&rhythms.groups, replay->snapshot);
    enum ap_status status = measure(&rhythms, replay->snapshot, of, &best, &periods->uneven, reterr);
    if (status == AP_OK && best == UINT32_MAX) {
        rhythms.count = 0;
        status = ap_origin_groups_by_line(&rhythms.groups, replay->snapshot, reterr);
        AP_AND_THEN(status, measure(&rhythms, replay->snapshot, of, &best, &periods->uneven, reterr));
    }
    if (status == AP_OK && best != UINT32_MAX)
        status = bounds_of_group(periods, &rhythms, replay->snapshot, of, best, reterr);
    AP_FREE(periods->gate, rhythms.list, rhythms.capacity);
    ap_origin_groups_release(&rhythms.groups);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ equal parts */

static enum ap_status from_parts(struct ap_periods *periods, const struct ap_replay *replay, uint32_t device,
                                 struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    const struct ap_str *names = replay->snapshot->actions.name + of->first_entry;
    uint64_t allocs = 0, passed = 0, part = 0;
    for (uint32_t i = 0; i < of->entry_count; i++)
        allocs += names[i].id == AP_ACTION_ALLOC;
    if (allocs < LEAST_ALLOCS)
        return AP_OK;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        if (names[i].id != AP_ACTION_ALLOC)
            continue;
        if (passed * EQUAL_PARTS >= allocs * part) {
            AP_TRY(ap_periods_add(periods, i, reterr));
            part++;
        }
        passed++;
    }
    return ap_periods_add(periods, of->entry_count, reterr);
}

/* -------------------------------------------------------------------------------------------------------------- all */

typedef enum ap_status find_bounds(struct ap_periods *periods, const struct ap_replay *replay, uint32_t device,
                                   struct ap_error *reterr);

enum ap_status ap_periods_find(const struct ap_replay *replay, uint32_t device, struct ap_periods *ret_periods,
                               struct ap_error *reterr)
{
    static const struct {
        find_bounds *find;
        enum ap_period_source source;
    } ways[] = { { from_annotations, AP_PERIODS_ANNOTATIONS },
                 { from_repetition, AP_PERIODS_REPETITION },
                 { from_parts, AP_PERIODS_EQUAL_PARTS } };
    struct ap_periods periods = { .gate = replay->gate };
    for (size_t i = 0; i < AP_COUNT_OF(ways) && replay->devices[device].entry_count > 1; i++) {
        periods.bound_count = 0;
        periods.stack = 0;
        periods.uneven = false;
        periods.name = (struct ap_str){ 0 };
        enum ap_status status = ways[i].find(&periods, replay, device, reterr);
        if (status != AP_OK) {
            ap_periods_release(&periods);
            return status;
        }
        if (ap_period_count(&periods) < AP_LEAST_PERIODS)
            continue;
        periods.source = ways[i].source;
        break;
    }
    if (periods.source == AP_PERIODS_NONE)
        periods.bound_count = 0;
    *ret_periods = periods;
    return AP_OK;
}

void ap_periods_release(struct ap_periods *periods)
{
    AP_FREE(periods->gate, periods->bounds, periods->capacity);
    periods->bounds = NULL;
    periods->bound_count = 0;
}
