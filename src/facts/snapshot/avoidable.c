/* SPDX-License-Identifier: MIT */
#include "avoidable_search.h"

#include "periods.h"
#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

#define BATCHES_KEPT 2u  /* one in work and one on its way */
#define LEAST_BATCHES 4u /* at the peak, of one stack and size */
#define LEAST_ALIKE 32u  /* entries between two frees of batches: those of one pass are freed at once */
#define LEAST_BATCH_BYTES 1024
#define MOST_OUTPUTS 64u /* of one stack and size: more are the layers of a model, or rows */

static bool uses_forward(const struct ap_avoidable_search *search, uint32_t entry)
{
    enum ap_work work = ap_search_work(search, entry);
    return ap_search_allocates(search, entry) && (work == AP_WORK_BACKWARD || work == AP_WORK_OPTIMIZER);
}

/* A pass begins behind the last backward or optimizer work before its forward. */
static enum ap_status find_passes(struct ap_avoidable_search *search, struct ap_error *reterr)
{
    uint32_t start = search->of->first_entry;
    bool forward = false;
    for (uint32_t i = start; i < ap_search_end(search); i++) {
        search->last_alloc = ap_search_allocates(search, i) ? i : search->last_alloc;
        if (ap_search_is_forward(search, i) && !forward) {
            AP_TRY(ap_mem_reserve(search->owners->gate, (void **)&search->passes, &search->pass_capacity,
                                  (size_t)search->pass_count + 1, sizeof(*search->passes), reterr));
            search->passes[search->pass_count++] =
                (struct ap_pass){ .start = start, .forward = i, .use = ap_search_end(search), .done = AP_NO_ENTRY };
            forward = true;
        }
        if (ap_search_is_forward(search, i))
            search->passes[search->pass_count - 1].count++;
        if (!uses_forward(search, i))
            continue;
        if (forward)
            search->passes[search->pass_count - 1].use = i;
        if (search->pass_count && ap_search_work(search, i) == AP_WORK_BACKWARD)
            search->passes[search->pass_count - 1].done = i;
        forward = false;
        start = i + 1;
    }
    return AP_OK;
}

/* The last pass that begins at or before an entry; NULL where none does. */
const struct ap_pass *ap_search_pass(const struct ap_avoidable_search *search, uint32_t entry)
{
    size_t behind = 0;
    AP_BISECT(behind, search->pass_count, at, search->passes[at].start <= entry);
    return behind ? &search->passes[behind - 1] : NULL;
}

/* ------------------------------------------------------------------------------------------------- what the peak loses */

enum ap_status ap_search_cut(struct ap_avoidable_search *search, uint32_t from_entry, uint32_t end_entry, int64_t bytes,
                             struct ap_error *reterr)
{
    uint32_t first = search->of->first_entry;
    bool before = from_entry == AP_NO_ENTRY;
    if (end_entry == AP_NO_ENTRY || (!before && end_entry <= from_entry))
        return AP_OK;
    AP_TRY(ap_mem_reserve(search->owners->gate, (void **)&search->cuts, &search->capacity, search->count + 2,
                          sizeof(*search->cuts), reterr));
    search->cuts[search->count++] = (struct ap_cut){ before ? 0 : from_entry - first + 1, end_entry - first, bytes };
    return AP_OK;
}

struct turn {
    uint32_t position;
    int64_t bytes;
};

static int by_position(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    return a->position < b->position ? -1 : a->position > b->position;
}

static int64_t highest_without(const struct ap_avoidable_search *search, const struct turn *turns, size_t count)
{
    int64_t level = search->of->requested.start_bytes, highest;
    bool overflowed = false;
    size_t at = 0;
    for (; at < count && !turns[at].position; at++)
        level = ap_add_sat(level, turns[at].bytes, &overflowed);
    highest = level;
    for (uint32_t i = 0; i < search->of->entry_count; i++) {
        struct ap_replay_step step;
        ap_replay_step(search->owners->replay, search->of->first_entry + i, &step);
        level = ap_add_sat(level, step.requested_bytes, &overflowed);
        for (; at < count && turns[at].position <= i + 1; at++)
            level = ap_add_sat(level, turns[at].bytes, &overflowed);
        highest = level > highest ? level : highest;
    }
    return highest;
}

static enum ap_status peak_falls_by(const struct ap_avoidable_search *search, int64_t *ret_bytes, struct ap_error *reterr)
{
    size_t bytes = 2 * search->count * sizeof(struct turn);
    bool overflowed = false;
    *ret_bytes = 0;
    if (!search->count)
        return AP_OK;
    struct turn *turns = ap_mem_resize(search->owners->gate, NULL, 0, bytes);
    if (!turns)
        return ap_fail_memory(search->owners->gate, reterr);
    for (size_t i = 0; i < search->count; i++) {
        turns[2 * i] = (struct turn){ search->cuts[i].from, -search->cuts[i].bytes };
        turns[2 * i + 1] = (struct turn){ search->cuts[i].to + 1, search->cuts[i].bytes };
    }
    ap_sort(turns, 2 * search->count, sizeof(*turns), by_position);
    int64_t highest = highest_without(search, turns, 2 * search->count);
    ap_mem_free(search->owners->gate, turns, bytes);
    int64_t falls = ap_subtract_sat(search->of->requested.peak_bytes, highest, &overflowed);
    *ret_bytes = falls > 0 ? falls : 0;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- gradients */

/* Where a gradient of a pass before is freed in the forward of a later one, that one's start. A gradient to which the next
 * backward pass would add is needed: it is not freed before that. */
static bool old_gradient(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end, uint32_t *ret_start)
{
    const struct ap_pass *pass = end == AP_NO_ENTRY ? NULL : ap_search_pass(search, end);
    if (!pass || end >= pass->use || (alloc != AP_NO_ENTRY && alloc >= pass->start))
        return false;
    *ret_start = pass->start;
    if (alloc == AP_NO_ENTRY)
        return ap_search_work(search, end) == AP_WORK_ZERO_GRAD;
    return ap_search_work(search, alloc) == AP_WORK_BACKWARD &&
           (ap_search_work(search, end) == AP_WORK_ZERO_GRAD || ap_search_work(search, end) == AP_WORK_OTHER);
}

static enum ap_status find_old_gradients(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                         struct ap_error *reterr)
{
    const struct ap_replay *replay = search->owners->replay;
    uint32_t start;
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        if (ap_owned_category(owned) == AP_OWNER_GRADIENTS && old_gradient(search, owned->alloc, owned->end, &start) &&
            start <= search->peak)
            ap_avoidable_add_freed(search, to, owned);
    }
    for (uint32_t i = 0; i < search->of->lifetime_count && to->count; i++) {
        uint32_t lifetime = search->of->first_lifetime + i;
        const struct ap_lifetime *life = &replay->lifetimes[lifetime];
        uint32_t end = ap_search_life_end(life);
        if (old_gradient(search, life->alloc, end, &start))
            AP_TRY(ap_search_cut(search, start, end, ap_replay_lifetime_bytes(replay, lifetime), reterr));
    }
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------- what is alike */

int ap_owned_by_stack_size_alloc(const void *left, const void *right)
{
    const struct ap_owned *a = left, *b = right;
    uint32_t a_alloc = a->alloc + 1, b_alloc = b->alloc + 1; /* those from before the history first */
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a_alloc != b_alloc)
        return a_alloc < b_alloc ? -1 : 1;
    return a->lifetime < b->lifetime ? -1 : a->lifetime > b->lifetime;
}

static bool is_alike(const struct ap_owned *a, const struct ap_owned *b)
{
    return a->stack && a->stack == b->stack && a->bytes == b->bytes;
}

/* ------------------------------------------------------------------------------------------------------------- batches */

static int by_stack_size_then_alloc(const void *left, const void *right)
{
    const struct ap_stay *a = left, *b = right;
    AP_BY_SMALLER(a->stack, b->stack);
    AP_BY_SMALLER(a->bytes, b->bytes);
    AP_BY_SMALLER(a->alloc, b->alloc);
    return 0;
}

/* All allocations of the history, those that are alike beside each other; once, when it is first asked for. */
static enum ap_status list_stays(struct ap_avoidable_search *search, struct ap_error *reterr)
{
    const struct ap_replay *replay = search->owners->replay;
    const struct ap_actions *actions = &replay->snapshot->actions;
    if (search->stays || !search->of->lifetime_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(search->owners->gate, search->stays, search->of->lifetime_count, reterr));
    for (uint32_t i = 0; i < search->of->lifetime_count; i++) {
        const struct ap_lifetime *life = &replay->lifetimes[search->of->first_lifetime + i];
        if (life->alloc != AP_NO_ENTRY)
            search->stays[search->stay_count++] =
                (struct ap_stay){ actions->size_bytes[life->alloc], actions->stack[life->alloc], life->alloc,
                                  ap_search_life_end(life) };
    }
    ap_sort(search->stays, search->stay_count, sizeof(*search->stays), by_stack_size_then_alloc);
    return AP_OK;
}

enum ap_status ap_search_alike(struct ap_avoidable_search *search, const struct ap_owned *like,
                               const struct ap_stay **ret_list, uint32_t *ret_count, struct ap_error *reterr)
{
    const struct ap_stay first = { like->bytes, like->stack, 0, 0 };
    size_t low = 0, end;
    AP_TRY(list_stays(search, reterr));
    AP_BISECT(low, search->stay_count, at, by_stack_size_then_alloc(&search->stays[at], &first) < 0);
    for (end = low;
         end < search->stay_count && search->stays[end].stack == like->stack && search->stays[end].bytes == like->bytes;)
        end++;
    *ret_list = search->stays ? search->stays + low : NULL;
    *ret_count = (uint32_t)(end - low);
    return AP_OK;
}

/* First in, first out, and one at a time: the layers of a pass are freed in the other order, a data set never. What goes
 * behind the last allocation goes with all the rest, as when the loop's function returns. */
static bool is_a_queue(const struct ap_avoidable_search *search, const struct ap_stay *list, uint32_t count)
{
    uint32_t freed = 0, apart = 0;
    for (uint32_t i = 0; i < count && list[i].end != AP_NO_ENTRY; i++) {
        bool is_apart = i && list[i].end - list[i - 1].end >= LEAST_ALIKE;
        if (i && list[i].end < list[i - 1].end)
            return false;
        if (i && !is_apart && list[i].end > search->last_alloc)
            break;
        apart += is_apart;
        freed++;
    }
    return freed >= LEAST_BATCHES && apart * 2 >= freed;
}

static enum ap_status cut_queue(struct ap_avoidable_search *search, const struct ap_owned *like, bool *ret_found,
                                struct ap_error *reterr)
{
    const struct ap_stay *list = NULL;
    uint32_t count = 0;
    AP_TRY(ap_search_alike(search, like, &list, &count, reterr));
    enum ap_status status = AP_OK;
    *ret_found = is_a_queue(search, list, count);
    for (uint32_t i = BATCHES_KEPT; i < count && *ret_found && status == AP_OK; i++) {
        uint32_t needed = list[i - BATCHES_KEPT].end;
        status = ap_search_cut(search, list[i].alloc, needed == AP_NO_ENTRY ? ap_search_end(search) : needed, like->bytes,
                               reterr);
    }
    return status;
}

/* A buffer or cache drops its oldest as well, and holds what it does to use it again. */
static bool may_be_a_batch(const struct ap_avoidable_search *search, const struct ap_owned *owned)
{
    enum ap_owner_category category = ap_owned_category(owned);
    return owned->stack && owned->alloc != AP_NO_ENTRY && owned->bytes >= LEAST_BATCH_BYTES &&
           ap_search_work(search, owned->alloc) == AP_WORK_OTHER &&
           search->owners->stacks[owned->stack].sign != AP_SIGN_BUFFER &&
           (category == AP_OWNER_INPUTS || category == AP_OWNER_KEPT || category == AP_OWNER_UNKNOWN ||
            category == AP_OWNER_ACTIVATIONS);
}

static enum ap_status find_batches(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    const struct ap_owned *list = search->owned->list;
    for (uint32_t i = 0, end; i < search->owned->count; i = end) {
        bool found = false;
        for (end = i + 1; end < search->owned->count && is_alike(&list[i], &list[end]);)
            end++;
        if (end - i < LEAST_BATCHES || !may_be_a_batch(search, &list[i]))
            continue;
        AP_TRY(cut_queue(search, &list[i], &found, reterr));
        for (uint32_t j = i; j < end && found; j++)
            ap_avoidable_add(search, to, &list[j]);
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- outputs
 */

/* Made in a forward, given back in the pass behind it, or between that and the next forward: that one's start. */
static bool outlives_its_pass(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end, uint32_t *ret_start)
{
    const struct ap_pass *of = alloc == AP_NO_ENTRY ? NULL : ap_search_pass(search, alloc);
    if (!of || end == AP_NO_ENTRY || !ap_search_is_forward(search, alloc))
        return false;
    const struct ap_pass *last = search->passes + search->pass_count;
    if (of + 1 >= last)
        return false;
    *ret_start = of[1].start;
    return end >= of[1].start && (of + 2 >= last || end < of[2].forward);
}

/* Its like is made again while it is there. */
static bool is_previous_output(const struct ap_avoidable_search *search, const struct ap_owned *list, uint32_t count,
                               uint32_t at)
{
    uint32_t start, again = 0;
    if (ap_owned_category(&list[at]) == AP_OWNER_KV_CACHE ||
        !outlives_its_pass(search, list[at].alloc, list[at].end, &start) || start > search->peak)
        return false;
    for (uint32_t i = 0; i < count; i++)
        again += list[i].alloc != AP_NO_ENTRY && list[i].alloc >= start;
    return again > 0;
}

static enum ap_status cut_outputs(struct ap_avoidable_search *search, const struct ap_owned *like, struct ap_error *reterr)
{
    const struct ap_stay *list = NULL;
    uint32_t count = 0, start;
    AP_TRY(ap_search_alike(search, like, &list, &count, reterr));
    enum ap_status status = AP_OK;
    for (uint32_t i = 0; i < count && status == AP_OK; i++)
        if (outlives_its_pass(search, list[i].alloc, list[i].end, &start))
            status = ap_search_cut(search, start, list[i].end, like->bytes, reterr);
    return status;
}

static enum ap_status find_previous_outputs(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                            struct ap_error *reterr)
{
    const struct ap_owned *list = search->owned->list;
    for (uint32_t i = 0, end; i < search->owned->count; i = end) {
        uint32_t found = 0;
        for (end = i + 1; end < search->owned->count && is_alike(&list[i], &list[end]);)
            end++;
        for (uint32_t j = 0; j < end - i && end - i <= MOST_OUTPUTS; j++) {
            if (!is_previous_output(search, &list[i], end - i, j))
                continue;
            ap_avoidable_add(search, to, &list[i + j]);
            found++;
        }
        if (found)
            AP_TRY(cut_outputs(search, &list[i], reterr));
    }
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- activations */

/* Where no frames of Python tell the forward. */
static bool taken_by_backward(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end)
{
    return ap_search_work(search, alloc) == AP_WORK_OTHER && end != AP_NO_ENTRY &&
           ap_search_work(search, end) == AP_WORK_BACKWARD;
}

/* What another part of the step needs stays: the peak falls to that at most. */
static enum ap_status find_activations(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    const struct ap_replay *replay = search->owners->replay;
    for (uint32_t i = 0; i < search->owned->count; i++)
        if (ap_owned_category(&search->owned->list[i]) == AP_OWNER_ACTIVATIONS)
            ap_avoidable_add(search, to, &search->owned->list[i]);
    for (uint32_t i = 0; i < search->of->lifetime_count && to->count; i++) {
        uint32_t lifetime = search->of->first_lifetime + i;
        const struct ap_lifetime *life = &replay->lifetimes[lifetime];
        uint32_t end = ap_search_life_end(life);
        if (life->alloc != AP_NO_ENTRY &&
            (ap_search_is_forward(search, life->alloc) || taken_by_backward(search, life->alloc, end)))
            AP_TRY(ap_search_cut(search, life->alloc, end == AP_NO_ENTRY ? ap_search_end(search) : end,
                                 ap_replay_lifetime_bytes(replay, lifetime), reterr));
    }
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------- temporaries of the step */

/* The highest point of all that lies outside of optimizers' steps. */
static int64_t highest_outside(const struct ap_avoidable_search *search)
{
    int64_t level = search->of->requested.start_bytes, highest = level;
    bool inside = false, overflowed = false;
    for (uint32_t i = 0; i < search->of->entry_count; i++) {
        uint32_t entry = search->of->first_entry + i;
        struct ap_replay_step step;
        ap_replay_step(search->owners->replay, entry, &step);
        level = ap_add_sat(level, step.requested_bytes, &overflowed);
        if (ap_search_allocates(search, entry))
            inside = ap_search_work(search, entry) == AP_WORK_OPTIMIZER;
        if ((!inside || i + 1 == search->of->entry_count) && level > highest)
            highest = level;
    }
    return highest;
}

static void find_step_temporaries(const struct ap_avoidable_search *search, struct ap_avoidable *to)
{
    bool overflowed = false;
    if (!ap_search_allocates(search, search->peak) || ap_search_work(search, search->peak) != AP_WORK_OPTIMIZER)
        return;
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        if (owned->alloc != AP_NO_ENTRY && ap_owned_category(owned) == AP_OWNER_TEMPORARIES &&
            ap_search_work(search, owned->alloc) == AP_WORK_OPTIMIZER)
            ap_avoidable_add(search, to, owned);
    }
    int64_t saved = ap_subtract_sat(search->of->requested.peak_bytes, highest_outside(search), &overflowed);
    to->saved_bytes = saved > 0 && to->held_bytes > 0 ? saved : 0;
}

/* ----------------------------------------------------------------------------------------------------------------- all */

typedef enum ap_status find_kind(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr);

static enum ap_status find_all(struct ap_avoidable_search *search, struct ap_avoidable *kinds, struct ap_error *reterr)
{
    static find_kind *const ways[] = {
        [AP_AVOIDABLE_OLD_GRADIENTS] = find_old_gradients,  [AP_AVOIDABLE_PREVIOUS_OUTPUTS] = find_previous_outputs,
        [AP_AVOIDABLE_BATCHES_AHEAD] = find_batches,        [AP_AVOIDABLE_UNUSED_GRAPHS] = ap_search_unused_graphs,
        [AP_AVOIDABLE_FAILED_STEP] = ap_search_failed_step, [AP_AVOIDABLE_REGROWN] = ap_search_regrown,
        [AP_AVOIDABLE_OLD_STATE] = ap_search_old_state,     [AP_AVOIDABLE_ACTIVATIONS] = find_activations,
        [AP_AVOIDABLE_UNCHECKED] = ap_search_unchecked,     [AP_AVOIDABLE_LOGITS] = ap_search_logits,
        [AP_AVOIDABLE_SCORES] = ap_search_scores,           [AP_AVOIDABLE_LARGE] = ap_search_large
    };
    AP_TRY(find_passes(search, reterr));
    for (size_t i = 0; i < AP_COUNT_OF(ways); i++) {
        search->count = 0;
        AP_TRY(ways[i](search, &kinds[i], reterr));
        AP_TRY(peak_falls_by(search, &kinds[i].saved_bytes, reterr));
    }
    AP_TRY(ap_avoidable_count_calls(search, &kinds[AP_AVOIDABLE_ACTIVATIONS], reterr));
    /* Temporaries of forward passes went with them, and weights as large as logits. */
    for (size_t i = 0; i < AP_AVOIDABLE_KIND_COUNT_; i++)
        if (kinds[i].saved_bytes > kinds[i].held_bytes)
            kinds[i].saved_bytes = kinds[i].held_bytes;
    find_step_temporaries(search, &kinds[AP_AVOIDABLE_STEP_TEMPORARIES]);
    return AP_OK;
}

enum ap_status ap_avoidable_find(const struct ap_owners *owners, struct ap_owned_device *owned,
                                 struct ap_avoidable ret_kinds[AP_AVOIDABLE_KIND_COUNT_], struct ap_error *reterr)
{
    for (size_t i = 0; i < AP_AVOIDABLE_KIND_COUNT_; i++)
        ret_kinds[i] = (struct ap_avoidable){ .held_bytes = 0 };
    if (!owned->has_history || !owned->at_peak || !owned->position || !owned->count)
        return AP_OK;
    struct ap_avoidable_search search = { .owners = owners, .of = &owners->replay->devices[owned->device], .owned = owned };
    search.peak = search.of->first_entry + owned->position - 1;
    ap_sort(owned->list, owned->count, sizeof(*owned->list), ap_owned_by_stack_size_alloc);
    size_t stacks = (size_t)owners->replay->snapshot->stacks.stack_count + 1;
    enum ap_status status = AP_ALLOC_CLEARED(owners->gate, search.callers, stacks, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(owners->gate, search.results, stacks, reterr));
    AP_AND_THEN(status, find_all(&search, ret_kinds, reterr));
    AP_FREE(owners->gate, search.results, stacks);
    AP_FREE(owners->gate, search.callers, stacks);
    AP_FREE(owners->gate, search.stays, search.of->lifetime_count);
    ap_mem_free(owners->gate, search.cuts, search.capacity * sizeof(*search.cuts));
    ap_mem_free(owners->gate, search.passes, search.pass_capacity * sizeof(*search.passes));
    return status;
}
