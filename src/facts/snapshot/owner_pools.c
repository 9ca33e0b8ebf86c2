/* SPDX-License-Identifier: MIT
 * owner_pools.c - the cache of keys and values that an engine makes at its start: behind the weights, by one line, as many
 * large pieces of one size as the model has layers, or twice as many. */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

#define LEAST_PIECE_BYTES ((int64_t)16 << 20)
#define LEAST_WEIGHT_BYTES ((int64_t)1 << 20)
#define LEAST_LAYERS 4u
#define SHARE_MATCHED 0.9

struct sized {
    int64_t bytes;
    uint32_t stack, index; /* in the list */
};

static int by_stack_then_bytes(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    AP_BY_SMALLER(a->stack, b->stack);
    AP_BY_SMALLER(a->bytes, b->bytes);
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Weights as modules have them, by whatever stack; @ret_behind the entry behind the last of them. */
static uint32_t list_weights(const struct ap_owned_device *device, struct sized *to, uint32_t *ret_behind)
{
    uint32_t count = 0;
    *ret_behind = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        if (owned->evidence != AP_EVIDENCE_MODULE)
            continue;
        if (owned->bytes >= LEAST_WEIGHT_BYTES)
            to[count++] = (struct sized){ owned->bytes, 0, i };
        if (owned->alloc != AP_NO_ENTRY && owned->alloc >= *ret_behind)
            *ret_behind = owned->alloc + 1;
    }
    ap_sort(to, count, sizeof(*to), by_stack_then_bytes);
    return count;
}

static bool may_be_piece(const struct ap_owned *owned, uint32_t behind)
{
    bool made = owned->evidence == AP_EVIDENCE_INIT_KEPT || owned->evidence == AP_EVIDENCE_ZEROS_KEPT ||
                owned->evidence == AP_EVIDENCE_NO_FRAME_SAYS;
    return made && owned->stack && owned->end == AP_NO_ENTRY && owned->bytes >= LEAST_PIECE_BYTES &&
           owned->alloc != AP_NO_ENTRY && owned->alloc >= behind;
}

static uint32_t list_pieces(const struct ap_owned_device *device, uint32_t behind, struct sized *to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < device->count; i++)
        if (may_be_piece(&device->list[i], behind))
            to[count++] = (struct sized){ device->list[i].bytes, device->list[i].stack, i };
    ap_sort(to, count, sizeof(*to), by_stack_then_bytes);
    return count;
}

/* Each layer has as many weights of a size: do nearly all that repeat, repeat so? */
static bool has_layers(const struct sized *weights, uint32_t count, uint32_t layers)
{
    double repeated = 0, matched = 0;
    for (uint32_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && weights[i + same].bytes == weights[i].bytes;)
            same++;
        double bytes = (double)weights[i].bytes * same;
        repeated += same >= LEAST_LAYERS ? bytes : 0;
        matched += same >= LEAST_LAYERS && same % layers == 0 ? bytes : 0;
    }
    return layers >= LEAST_LAYERS && matched > 0 && matched >= SHARE_MATCHED * repeated;
}

static void settle(struct ap_owned_device *device, const struct sized *weights, uint32_t weight_count,
                   const struct sized *pieces, uint32_t piece_count)
{
    for (uint32_t i = 0, end; i < piece_count; i = end) {
        for (end = i + 1; end < piece_count && pieces[end].stack == pieces[i].stack;)
            end++;
        uint32_t count = end - i;
        bool alike = pieces[i].bytes == pieces[end - 1].bytes;
        bool both = count % 2 == 0 && has_layers(weights, weight_count, count / 2); /* keys and values apart */
        if (count < LEAST_LAYERS || !alike || !(both || has_layers(weights, weight_count, count)))
            continue;
        for (uint32_t j = i; j < end; j++)
            device->list[pieces[j].index].evidence = AP_EVIDENCE_KV_POOL;
    }
}

enum ap_status ap_owned_settle_pools(const struct ap_owners *owners, struct ap_owned_device *device, struct ap_error *reterr)
{
    struct sized *sizes;
    uint32_t behind;
    if (!device->count || owners->has_backward)
        return AP_OK;
    AP_TRY(AP_ALLOC(owners->gate, sizes, 2 * (size_t)device->count, reterr));
    uint32_t weights = list_weights(device, sizes, &behind);
    uint32_t pieces = list_pieces(device, behind, sizes + device->count);
    settle(device, sizes, weights, sizes + device->count, pieces);
    AP_FREE(owners->gate, sizes, 2 * (size_t)device->count);
    return AP_OK;
}
