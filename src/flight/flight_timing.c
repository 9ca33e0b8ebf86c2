/* SPDX-License-Identifier: MIT */
#include "flight_timing.h"

#include <stdlib.h>

#include "quantile.h"
#include "sort.h"

#include "poison.h"

/* ------------------------------------------------------------------------------------------------------------- lags */

/* Columns by entry; -1 = not shared with another rank. */
static void find_lags_of_run(const struct ap_flight_order *order, const struct ap_flight_run *run, int64_t *lags,
                             struct ap_flight_lag *of_dumps)
{
    const struct ap_flight_entries *entries = &order->groups->flight->entries;
    struct ap_flight_slot slot;
    int64_t first_ns = INT64_MAX, last_ns = 0;
    uint32_t slots = 0, last_dump = 0;
    for (uint32_t at = run->first; ap_flight_next_slot(order, run, &at, &slot); slots++) {
        int64_t created_ns = entries->created_ns[order->entries[slot.first]];
        if (!created_ns)
            return;
        first_ns = created_ns < first_ns ? created_ns : first_ns;
        if (created_ns > last_ns) {
            last_ns = created_ns;
            last_dump = slot.dump;
        }
    }
    if (slots < 2)
        return;
    of_dumps[last_dump].last_count++;
    for (uint32_t at = run->first; ap_flight_next_slot(order, run, &at, &slot);)
        lags[order->entries[slot.first]] = entries->created_ns[order->entries[slot.first]] - first_ns;
}

/* Entries of a dump do not always stand together: they are counted into places first. */
static enum ap_status take_lags(struct ap_flight_timing *timing, const struct ap_flight_entries *entries,
                                const int64_t *lags, struct ap_error *reterr)
{
    size_t room = (size_t)timing->dump_count + 1;
    uint32_t *starts;
    int64_t *sorted;
    AP_TRY(AP_ALLOC_CLEARED(timing->gate, starts, room, reterr));
    enum ap_status status = AP_ALLOC(timing->gate, sorted, (size_t)entries->count + 1, reterr);
    for (uint32_t i = 0; i < entries->count && status == AP_OK; i++)
        timing->lags[entries->dump[i]].count += lags[i] >= 0;
    for (uint32_t i = 1; i < timing->dump_count; i++)
        starts[i] = starts[i - 1] + (uint32_t)timing->lags[i - 1].count;
    for (uint32_t i = 0; i < entries->count && status == AP_OK; i++)
        if (lags[i] >= 0)
            sorted[starts[entries->dump[i]]++] = lags[i];
    for (uint32_t i = 0, at = 0; i < timing->dump_count && status == AP_OK; i++) {
        struct ap_flight_lag *lag = &timing->lags[i];
        if (!lag->count)
            continue;
        lag->median_ns = ap_quantile(sorted + at, lag->count, 50);
        lag->max_ns = ap_quantile(sorted + at, lag->count, 100);
        at += (uint32_t)lag->count;
    }
    if (status == AP_OK)
        AP_FREE(timing->gate, sorted, (size_t)entries->count + 1);
    AP_FREE(timing->gate, starts, room);
    return status;
}

static enum ap_status find_lags(struct ap_flight_timing *timing, const struct ap_flight_order *order,
                                struct ap_error *reterr)
{
    const struct ap_flight_entries *entries = &order->groups->flight->entries;
    struct ap_flight_run run;
    int64_t *lags;
    AP_TRY(AP_ALLOC(timing->gate, lags, (size_t)entries->count + 1, reterr));
    for (uint32_t i = 0; i < entries->count; i++)
        lags[i] = -1;
    for (uint32_t group = 0; group < order->groups->group_count; group++)
        for (uint32_t at = order->group_starts[group]; ap_flight_next_run(order, group, &at, &run);)
            find_lags_of_run(order, &run, lags, timing->lags);
    enum ap_status status = take_lags(timing, entries, lags, reterr);
    AP_FREE(timing->gate, lags, (size_t)entries->count + 1);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- durations */

static uint32_t group_of(const struct ap_flight_groups *groups, uint32_t entry)
{
    return groups->seats[groups->entry_seats[entry]].group;
}

static bool are_alike(const struct ap_flight_groups *groups, uint32_t a, uint32_t b)
{
    const struct ap_flight_entries *entries = &groups->flight->entries;
    return group_of(groups, a) == group_of(groups, b) && entries->operation[a].id == entries->operation[b].id &&
           entries->input_count[a] == entries->input_count[b];
}

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_flight_groups *groups = context;
    const struct ap_flight_entries *entries = &groups->flight->entries;
    AP_SMALLER_FIRST(group_of(groups, a), group_of(groups, b));
    AP_SMALLER_FIRST(entries->operation[a].id, entries->operation[b].id);
    AP_SMALLER_FIRST(entries->input_count[a], entries->input_count[b]);
    AP_SMALLER_FIRST(entries->duration_ns[a], entries->duration_ns[b]);
    return a < b;
}

/* Of the longest: for whom it was the shortest. */
static uint32_t last_of(const struct ap_flight_order *order, uint32_t group, uint32_t entry)
{
    const struct ap_flight_groups *groups = order->groups;
    const struct ap_flight_entries *entries = &groups->flight->entries;
    const struct ap_flight_group *it = &groups->groups[group];
    int64_t least_ns = entries->duration_ns[entry];
    uint32_t last = AP_FLIGHT_NONE;
    for (uint32_t i = it->first_seat; i < it->first_seat + it->seat_count; i++) {
        struct ap_flight_slot slot;
        if (!ap_flight_find_slot(order, group, entries->sequence[entry], groups->seats[i].dump, &slot))
            continue;
        int64_t duration_ns = entries->duration_ns[order->entries[slot.first]];
        if (duration_ns >= 0 && duration_ns < least_ns) {
            least_ns = duration_ns;
            last = slot.dump;
        }
    }
    return last;
}

static enum ap_status add_alike(struct ap_flight_timing *timing, const struct ap_flight_order *order, const uint32_t *alike,
                                uint32_t count, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = order->groups;
    const struct ap_flight_entries *entries = &groups->flight->entries;
    uint32_t longest = alike[count - 1];
    struct ap_flight_duration duration = {
        .group = group_of(groups, longest),
        .entry = longest,
        .count = count,
        .median_ns = entries->duration_ns[alike[count / 2]],
        .max_ns = entries->duration_ns[longest],
        .max_sequence = entries->sequence[longest],
        .max_dump = entries->dump[longest],
        .last_dump = AP_FLIGHT_NONE,
    };
    for (uint32_t i = count; i-- > 0 && count >= AP_FLIGHT_OUTLIER_TIMES;) {
        int64_t its_ns = entries->duration_ns[alike[i]];
        if (its_ns < AP_FLIGHT_OUTLIER_NS || its_ns / AP_FLIGHT_OUTLIER_FACTOR < duration.median_ns)
            break;
        duration.outlier_count++;
    }
    if (duration.outlier_count && !(entries->flags[longest] & AP_FLIGHT_IS_P2P))
        duration.last_dump = last_of(order, duration.group, longest);
    timing->outlier_count += duration.outlier_count;
    AP_TRY_ADD(timing->gate, timing->durations, timing->duration_count, timing->duration_capacity, reterr, duration);
    return AP_OK;
}

static int by_outliers(const void *left, const void *right)
{
    const struct ap_flight_duration *a = left, *b = right;
    AP_BY_LARGER(a->outlier_count > 0, b->outlier_count > 0);
    AP_BY_LARGER(a->max_ns, b->max_ns);
    AP_BY_SMALLER(a->entry, b->entry);
    return 0;
}

static enum ap_status find_durations(struct ap_flight_timing *timing, const struct ap_flight_order *order,
                                     struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = order->groups;
    const struct ap_flight_entries *entries = &groups->flight->entries;
    uint32_t *timed, count = 0;
    AP_TRY(AP_ALLOC(timing->gate, timed, (size_t)entries->count + 1, reterr));
    for (uint32_t i = 0; i < entries->count; i++)
        if (entries->duration_ns[i] >= 0)
            timed[count++] = i;
    timing->timed_count = count;
    enum ap_status status = ap_sort_list(timing->gate, timed, count, comes_before, groups, reterr);
    for (uint32_t start = 0, end; start < count && status == AP_OK; start = end) {
        for (end = start + 1; end < count && are_alike(groups, timed[start], timed[end]);)
            end++;
        status = add_alike(timing, order, timed + start, end - start, reterr);
    }
    AP_FREE(timing->gate, timed, (size_t)entries->count + 1);
    ap_sort(timing->durations, timing->duration_count, sizeof(timing->durations[0]), by_outliers);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- silence */

#define SILENCES 3 /* a rank that others wait for has been silent for longer than usual */

struct activity {
    int64_t created_ns, newest_ns, silence_ns; /* the last call, what was noticed last, the longest time between two calls */
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The clock that stamps a file is that of the calls in it. A file that was copied may be younger: then nothing is said. */
static enum ap_status find_running(struct ap_flight_timing *timing, const struct ap_flight *flight, struct ap_error *reterr)
{
    const struct ap_flight_entries *entries = &flight->entries;
    struct activity *list;
    AP_TRY(AP_ALLOC_CLEARED(timing->gate, list, (size_t)timing->dump_count + 1, reterr));
    for (uint32_t i = 0; i < entries->count; i++) {
        struct activity *it = &list[entries->dump[i]];
        int64_t created_ns = entries->created_ns[i];
        if (it->created_ns && created_ns)
            it->silence_ns = later(it->silence_ns, created_ns - it->created_ns);
        it->created_ns = later(it->created_ns, created_ns);
        it->newest_ns = later(it->newest_ns, later(created_ns, later(entries->started_ns[i], entries->completed_ns[i])));
    }
    for (uint32_t i = 0; i < timing->dump_count; i++) {
        int64_t written_ns = flight->dumps[i].written_ns, since_ns = llabs(written_ns - list[i].newest_ns);
        timing->may_run[i] = written_ns && list[i].newest_ns && since_ns / SILENCES <= list[i].silence_ns;
    }
    AP_FREE(timing->gate, list, (size_t)timing->dump_count + 1);
    return AP_OK;
}

enum ap_status ap_flight_timing_init(struct ap_flight_timing *timing, const struct ap_flight_order *order,
                                     struct ap_error *reterr)
{
    uint32_t dumps = order->groups->flight->dump_count;
    *timing = (struct ap_flight_timing){ .gate = order->gate, .dump_count = dumps };
    AP_TRY(AP_ALLOC_CLEARED(timing->gate, timing->lags, (size_t)dumps + 1, reterr));
    AP_TRY(AP_ALLOC_CLEARED(timing->gate, timing->may_run, (size_t)dumps + 1, reterr));
    AP_TRY(find_running(timing, order->groups->flight, reterr));
    AP_TRY(find_lags(timing, order, reterr));
    return find_durations(timing, order, reterr);
}

void ap_flight_timing_release(struct ap_flight_timing *timing)
{
    AP_FREE(timing->gate, timing->lags, (size_t)timing->dump_count + 1);
    AP_FREE(timing->gate, timing->may_run, (size_t)timing->dump_count + 1);
    AP_FREE(timing->gate, timing->durations, timing->duration_capacity);
}
