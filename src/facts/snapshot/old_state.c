/* SPDX-License-Identifier: MIT
 * old_state.c - state of an optimizer that was made before another one of the same weights. */
#include "avoidable_search.h"

#include "periods.h"
#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

#define STATES_OF_ADAM 2u
#define STATE_MATCHED 0.9 /* of the bytes of the weights, and of what is made again */

/* In which pass; UINT32_MAX for what is no state that an optimizer set up in the history. */
static uint32_t state_of_pass(const struct ap_avoidable_search *search, const struct ap_owned *owned)
{
    const struct ap_pass *pass = owned->evidence == AP_EVIDENCE_STATE_INIT && owned->alloc != AP_NO_ENTRY
                                     ? ap_search_pass(search, owned->alloc)
                                     : NULL;
    return pass ? (uint32_t)(pass - search->passes) : UINT32_MAX;
}

static int by_alloc(const void *left, const void *right)
{
    const struct ap_owned *a = left, *b = right;
    AP_BY_SMALLER(a->alloc, b->alloc);
    return 0;
}

/* State of each pass but the @last one could go as soon as the next of them makes its own. */
static enum ap_status cut_old_state(struct ap_avoidable_search *search, struct ap_owned *list, uint32_t count, uint32_t last,
                                    struct ap_avoidable *to, struct ap_error *reterr)
{
    uint32_t of = last, first = AP_NO_ENTRY, again = AP_NO_ENTRY;
    ap_sort(list, count, sizeof(*list), by_alloc);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t pass = state_of_pass(search, &list[i]);
        if (pass == UINT32_MAX)
            continue;
        again = pass != of ? first : again;
        of = pass;
        first = list[i].alloc;
        if (pass == last)
            continue;
        ap_avoidable_add(search, to, &list[i]);
        AP_TRY(ap_search_cut(search, again, list[i].end == AP_NO_ENTRY ? ap_search_end(search) : list[i].end, list[i].bytes,
                             reterr));
    }
    return AP_OK;
}

struct weights {
    int64_t *sizes; /* ascending */
    uint32_t count;
    double bytes;
};

static uint32_t count_of_size(const struct weights *weights, int64_t bytes)
{
    size_t from = 0, to = 0;
    AP_BISECT(from, weights->count, at, weights->sizes[at] < bytes);
    AP_BISECT(to, weights->count, at, weights->sizes[at] <= bytes);
    return (uint32_t)(to - from);
}

/* Of one weight; as many as Adam's where no frame tells. */
static uint32_t most_states(const struct ap_avoidable_search *search, const struct ap_owned *owned)
{
    static const char *const single[] = { "/sgd.py", "/lion.py", "muon.py" };
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    uint32_t count = 0;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, snapshot->actions.stack[owned->alloc], &count);
    for (uint32_t i = 0; i < count; i++)
        for (size_t j = 0; j < AP_COUNT_OF(single); j++)
            if (ap_text_contains(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].filename),
                                 ap_text_of(single[j])))
                return 1;
    return STATES_OF_ADAM;
}

/* For all weights of the size, in 16 bits or 32: two models take turns, each with an optimizer of its own. */
static bool has_weights_for(const struct weights *weights, int64_t bytes, uint32_t states, uint32_t most)
{
    uint32_t count = count_of_size(weights, bytes) + (bytes % 2 ? 0 : count_of_size(weights, bytes / 2));
    return states <= most * count;
}

/* What one line holds, in order of sizes. Groups of layers that join the optimizer one by one are a part of the weights. */
static enum ap_status take_old_state(struct ap_avoidable_search *search, struct ap_owned *list, uint32_t count,
                                     const struct weights *weights, struct ap_avoidable *to, struct ap_error *reterr)
{
    const struct ap_owned *one = NULL;
    uint32_t last = 0;
    double made_bytes = 0, matched_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pass = state_of_pass(search, &list[i]);
        last = pass != UINT32_MAX && pass > last ? pass : last;
        one = pass != UINT32_MAX ? &list[i] : one;
    }
    uint32_t most = one ? most_states(search, one) : 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        uint32_t made = 0, old = 0;
        for (end = i; end < count && list[end].bytes == list[i].bytes; end++) {
            uint32_t pass = state_of_pass(search, &list[end]);
            made += pass == last;
            old += pass < last;
        }
        made_bytes += (double)made * (double)list[i].bytes;
        if (made && old && old % made == 0 && !has_weights_for(weights, list[i].bytes, made + old, most))
            matched_bytes += (double)made * (double)list[i].bytes;
    }
    if (!weights->count || matched_bytes < STATE_MATCHED * weights->bytes || matched_bytes < STATE_MATCHED * made_bytes)
        return AP_OK;
    return cut_old_state(search, list, count, last, to, reterr);
}

/* Sorts the list: what one line holds lies behind each other. */
static enum ap_status find_old_state_in(struct ap_avoidable_search *search, struct ap_owned *list, uint32_t count,
                                        struct ap_avoidable *to, struct ap_error *reterr)
{
    struct weights weights = { .count = 0 };
    AP_TRY(AP_ALLOC(search->owners->gate, weights.sizes, count, reterr));
    ap_sort(list, count, sizeof(*list), ap_owned_by_stack_size_alloc);
    for (uint32_t i = 0; i < count; i++)
        if (ap_owned_category(&list[i]) == AP_OWNER_PARAMETERS) {
            weights.sizes[weights.count++] = list[i].bytes;
            weights.bytes += (double)list[i].bytes;
        }
    ap_sort(weights.sizes, weights.count, sizeof(*weights.sizes), ap_by_int64);
    enum ap_status status = AP_OK;
    for (uint32_t i = 0, end; i < count && status == AP_OK; i = end) {
        for (end = i + 1; end < count && list[end].stack == list[i].stack;)
            end++;
        if (list[i].stack)
            status = take_old_state(search, &list[i], end - i, &weights, to, reterr);
    }
    AP_FREE(search->owners->gate, weights.sizes, count);
    return status;
}

/* A warm-up and a loop may call the same step: state is told apart by the line of the user's that called for it. */
enum ap_status ap_search_old_state(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    struct ap_gate *gate = search->owners->gate;
    struct ap_origin_groups groups;
    struct ap_owned *list = NULL;
    uint32_t count = search->owned->count;
    if (!count)
        return AP_OK;
    ap_origin_groups_init(&groups, snapshot);
    enum ap_status status = ap_origin_groups_by_line(&groups, snapshot, reterr);
    AP_AND_THEN(status, AP_ALLOC(gate, list, count, reterr));
    for (uint32_t i = 0; i < count && status == AP_OK; i++) {
        list[i] = search->owned->list[i];
        list[i].stack = groups.lines[list[i].stack];
    }
    AP_AND_THEN(status, find_old_state_in(search, list, count, to, reterr));
    AP_FREE(gate, list, count);
    ap_origin_groups_release(&groups);
    return status;
}
