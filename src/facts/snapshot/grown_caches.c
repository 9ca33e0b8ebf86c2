/* SPDX-License-Identifier: MIT
 * grown_caches.c - caches of keys and values that cat makes anew for each token: no frame tells them, their sizes do. */
#include "allocation_owner.h"

#include "frame_kind.h"
#include "snapshot_state.h"

#include "poison.h"

#define LEAST_GENERATIONS 4u
#define LEAST_PIECES 2u  /* of each: keys and values, or the layers of one line */
#define MOST_OF_WHOLE 4u /* a token is a small part of the whole */

/* What one stack made last: pieces of one size are a generation, and the next is larger by a step. */
struct series {
    int64_t bytes, step_bytes;
    uint32_t pieces, made; /* of the generation before; of this one */
    uint32_t first_end;    /* the entry that frees the first of this generation to go; AP_NO_ENTRY = none */
    uint32_t old_end;      /* the same of the generation before */
    uint32_t generations;  /* that followed each other so, up to this one */
    uint32_t remade;       /* pieces beside which an old one was */
    bool grows;
};

static uint32_t end_of(const struct ap_replay *replay, uint32_t entry)
{
    uint32_t lifetime = replay->lifetime_of[entry];
    if (lifetime == AP_NO_LIFETIME)
        return AP_NO_ENTRY;
    const struct ap_lifetime *life = &replay->lifetimes[lifetime];
    return life->free_requested != AP_NO_ENTRY ? life->free_requested : life->free_completed;
}

/* The old pieces are all there when the first of the new ones is made, and those before them are not: results that are kept
 * of longer and longer inputs all stay. */
static void next_generation(struct series *of, uint32_t entry, int64_t bytes)
{
    int64_t step_bytes = bytes - of->bytes;
    bool small = step_bytes > 0 && step_bytes <= of->bytes / (int64_t)MOST_OF_WHOLE;
    bool beside = of->made >= LEAST_PIECES && (of->first_end == AP_NO_ENTRY || of->first_end > entry);
    bool follows = of->generations > 1 && step_bytes == of->step_bytes && of->made == of->pieces && of->old_end < entry;
    of->generations = !small || !beside ? 1 : follows ? of->generations + 1 : 2;
    of->grows = of->grows || of->generations > LEAST_GENERATIONS;
    of->step_bytes = step_bytes;
    of->pieces = of->made;
    of->bytes = bytes;
    of->made = 0;
    of->old_end = of->first_end;
    of->first_end = AP_NO_ENTRY;
}

static void take(struct series *of, uint32_t entry, int64_t bytes, uint32_t end)
{
    if (bytes != of->bytes)
        next_generation(of, entry, bytes);
    of->made++;
    of->remade += of->generations > 1;
    of->first_end = end < of->first_end ? end : of->first_end; /* AP_NO_ENTRY is the largest */
}

/* What grows outside of a model, such as a buffer of samples, is no cache of one. */
static bool is_untold_in_model(const struct ap_owners *owners, uint32_t stack)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    return owners->stacks[stack].sign == AP_SIGN_FORWARD ||
           (owners->stacks[stack].sign == AP_SIGN_NONE && ap_frames_have_call(snapshot, frames, count));
}

enum ap_status ap_owners_find_grown(struct ap_owners *owners, struct ap_error *reterr)
{
    const struct ap_replay *replay = owners->replay;
    const struct ap_actions *actions = &replay->snapshot->actions;
    size_t stacks = (size_t)replay->snapshot->stacks.stack_count + 1;
    struct series *series;
    AP_TRY(AP_ALLOC_CLEARED(owners->gate, series, stacks, reterr));
    for (uint32_t i = 0; i < actions->count; i++)
        if (actions->name[i].id == AP_ACTION_ALLOC && actions->stack[i])
            take(&series[actions->stack[i]], i, actions->size_bytes[i], end_of(replay, i));
    for (size_t i = 1; i < stacks; i++) {
        owners->stacks[i].grown = series[i].grows && is_untold_in_model(owners, (uint32_t)i);
        owners->remade_count += owners->stacks[i].grown ? series[i].remade : 0;
    }
    AP_FREE(owners->gate, series, stacks);
    return AP_OK;
}
