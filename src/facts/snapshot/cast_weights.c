/* SPDX-License-Identifier: MIT
 * cast_weights.c - weights of which a forward that is not trained makes copies of half their size, again and again: they are
 * held in more bits than they are used in. */
#include "peak_causes.h"

#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

#define LEAST_BYTES ((int64_t)1 << 20)
#define LEAST_SIZES 3u    /* one or two are as large as an activation by chance */
#define SHARE_CAST 0.8    /* of the weights, by sizes alone */
#define SHARE_NAMED 0.4   /* where frames of C++ name the cast: tables of embeddings are not cast */
#define MOST_ENTRIES 256u /* from the cast to its end: the layer that takes it */

struct weight_size {
    int64_t bytes, all_bytes; /* of one; of all of that size */
    bool cast, named;
};

struct sizes {
    struct weight_size *list;
    uint32_t count;
};

static int by_bytes(const void *left, const void *right)
{
    const struct weight_size *a = left, *b = right;
    AP_BY_SMALLER(a->bytes, b->bytes);
    return 0;
}

static void list_weights(const struct ap_owned_device *owned, struct sizes *to)
{
    uint32_t merged = 0;
    bool overflowed = false;
    for (uint32_t i = 0; i < owned->count; i++) {
        int64_t bytes = owned->list[i].bytes;
        if (ap_owned_category(&owned->list[i]) == AP_OWNER_PARAMETERS)
            to->list[to->count++] = (struct weight_size){ bytes, bytes, false, false };
    }
    ap_sort(to->list, to->count, sizeof(*to->list), by_bytes);
    for (uint32_t i = 0; i < to->count; i++)
        if (merged && to->list[merged - 1].bytes == to->list[i].bytes)
            to->list[merged - 1].all_bytes = ap_add_sat(to->list[merged - 1].all_bytes, to->list[i].all_bytes, &overflowed);
        else
            to->list[merged++] = to->list[i];
    to->count = merged;
}

enum cast { CAST_NOT_LOOKED, CAST_NO, CAST_MAYBE, CAST_NAMED };

/* What is cast is taken by a product of the same line, which makes its output next. */
static bool is_taken_next(const struct ap_owners *owners, uint32_t alloc, uint32_t end)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    for (uint32_t i = alloc + 1; i < end; i++)
        if (actions->name[i].id == AP_ACTION_ALLOC)
            return actions->stack[i] == actions->stack[alloc];
    return false;
}

/* Frames of C++ say what was called, where they are recorded. */
static enum cast cast_of_stack(const struct ap_owners *owners, uint32_t stack)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    enum cast kind = CAST_MAYBE;
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct ap_text name = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].name);
        if (ap_text_contains(name, AP_TEXT("::_to_copy")) || ap_text_contains(name, AP_TEXT("cached_cast")))
            return CAST_NAMED;
        kind = ap_text_contains(name, AP_TEXT("at::")) ? CAST_NO : kind;
    }
    return kind;
}

static void look(const struct ap_owners *owners, const struct ap_lifetime *life, int64_t bytes, uint8_t *kinds,
                 struct sizes *sizes)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    uint32_t end = life->free_requested != AP_NO_ENTRY ? life->free_requested : life->free_completed;
    if (life->alloc == AP_NO_ENTRY || end == AP_NO_ENTRY || end - life->alloc > MOST_ENTRIES || bytes < LEAST_BYTES / 2 ||
        owners->work[life->alloc] != AP_WORK_FORWARD)
        return;
    size_t at = 0;
    AP_BISECT(at, sizes->count, i, sizes->list[i].bytes / 2 < bytes);
    if (at == sizes->count || sizes->list[at].bytes % 2 || sizes->list[at].bytes / 2 != bytes)
        return;
    uint32_t stack = actions->stack[life->alloc];
    if (kinds[stack] == CAST_NOT_LOOKED)
        kinds[stack] = (uint8_t)cast_of_stack(owners, stack);
    bool named = kinds[stack] == CAST_NAMED;
    bool maybe = kinds[stack] == CAST_MAYBE && is_taken_next(owners, life->alloc, end);
    sizes->list[at].cast = sizes->list[at].cast || named || maybe;
    sizes->list[at].named = sizes->list[at].named || named;
}

/* The half of those that are cast; 0 where too few are. */
static int64_t half_of(const struct sizes *sizes)
{
    double all = 0;
    int64_t cast_bytes = 0, named_bytes = 0;
    uint32_t count = 0;
    bool overflowed = false;
    for (uint32_t i = 0; i < sizes->count; i++) {
        const struct weight_size *size = &sizes->list[i];
        all += (double)size->all_bytes;
        cast_bytes = ap_add_sat(cast_bytes, size->cast ? size->all_bytes : 0, &overflowed);
        named_bytes = ap_add_sat(named_bytes, size->named ? size->all_bytes : 0, &overflowed);
        count += size->cast;
    }
    bool most = (double)cast_bytes > SHARE_CAST * all || (double)named_bytes > SHARE_NAMED * all;
    return count >= LEAST_SIZES && most ? cast_bytes / 2 : 0;
}

/* What is trained, be it before the history, has a good reason to be held in 32 bits. */
static bool is_trained(const struct ap_owners *owners, const struct ap_owned_device *owned)
{
    bool trained = owners->has_backward;
    for (uint32_t i = 0; i < owners->replay->snapshot->actions.count && !trained; i++)
        trained = owners->work[i] == AP_WORK_OPTIMIZER;
    for (uint32_t i = 0; i < owned->count && !trained; i++) {
        enum ap_owner_category category = ap_owned_category(&owned->list[i]);
        trained = category == AP_OWNER_OPTIMIZER_STATE || category == AP_OWNER_GRADIENTS;
    }
    return trained;
}

enum ap_status ap_peak_find_cast(const struct ap_owners *owners, const struct ap_owned_device *owned, int64_t *ret_bytes,
                                 struct ap_error *reterr)
{
    const struct ap_replay *replay = owners->replay;
    struct sizes sizes = { .count = 0 };
    uint8_t *kinds;
    size_t stacks = (size_t)replay->snapshot->stacks.stack_count + 1;
    *ret_bytes = 0;
    if (!owned->has_history || !owned->count || is_trained(owners, owned))
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(owners->gate, kinds, stacks, reterr));
    enum ap_status status = AP_ALLOC(owners->gate, sizes.list, owned->count, reterr);
    if (status == AP_OK) {
        const struct ap_replay_device *of = &replay->devices[owned->device];
        list_weights(owned, &sizes);
        for (uint32_t i = of->first_lifetime; i < of->first_lifetime + of->lifetime_count && sizes.count; i++)
            look(owners, &replay->lifetimes[i], ap_replay_lifetime_bytes(replay, i), kinds, &sizes);
        *ret_bytes = half_of(&sizes);
        AP_FREE(owners->gate, sizes.list, owned->count);
    }
    AP_FREE(owners->gate, kinds, stacks);
    return status;
}
