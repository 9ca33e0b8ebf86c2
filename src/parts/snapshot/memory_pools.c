/* SPDX-License-Identifier: MIT
 * What each pool and each stream holds, and how large the blocks are. */
#include "snapshot_part.h"
#include "sort.h"

#include "poison.h"

void ap_memory_put_parts(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_memory_state *state)
{
    bool *over = &pass->overflowed, known = pass->snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS;
    bool used = known && !state->use_unknown, blocks = known && ap_memory_state_has_blocks(state);
    bool requested = used && state->requested_known == state->fields.segments;
    int64_t requested_bytes = ap_subtract_sat(state->rounded_allocated_bytes, state->rounding_bytes, over);
    int64_t parts = ap_add_sat(ap_add_sat(state->allocated_bytes, state->pending_bytes, over), state->inactive_bytes, over);
    int64_t unexplained_bytes = ap_subtract_sat(state->fields.reserved_bytes, parts, over); /* may be one free piece */
    ap_put_bytes(pass, to, "reserved_bytes", known, state->fields.reserved_bytes);
    ap_put_bytes(pass, to, "allocated_bytes", used, state->allocated_bytes);
    ap_put_bytes(pass, to, "active_bytes", used, state->active_bytes);
    ap_put_bytes(pass, to, "requested_bytes", requested, requested_bytes);
    ap_put_bytes(pass, to, "inactive_bytes", blocks, state->inactive_bytes);
    ap_put_bytes(pass, to, "inactive_split_bytes", blocks, state->inactive_split_bytes);
    ap_put_bytes(pass, to, "wholly_free_segment_bytes", blocks, state->wholly_free_bytes);
    ap_put_bytes(pass, to, "pending_free_bytes", blocks, state->pending_bytes);
    ap_put_bytes(pass, to, "rounding_bytes", requested, state->rounding_bytes);
    ap_put_bytes(pass, to, "largest_free_block_bytes", blocks && unexplained_bytes <= state->largest_inactive_bytes,
                 state->largest_inactive_bytes);
    ap_put_bytes(pass, to, "unexplained_bytes", used && blocks, unexplained_bytes);
}

/* ---------------------------------------------------------------------------------------------------------- groups */

/* What segments have in common: members that do not count are the same in all. */
struct group {
    int64_t device; /* INT64_MAX = not told */
    int64_t pool[2];
    uint64_t stream;
    uint32_t type;
    bool has_pool, has_stream;
    struct ap_memory_state state;
};

static struct group key_of(const struct ap_segment *segment, bool by_stream)
{
    struct group key = { .device = segment->has & AP_SEGMENT_HAS_DEVICE ? segment->device : INT64_MAX };
    if (by_stream) {
        key.has_stream = segment->has & AP_SEGMENT_HAS_STREAM;
        key.stream = segment->stream;
        return key;
    }
    key.has_pool = segment->has & AP_SEGMENT_HAS_POOL;
    key.pool[0] = segment->pool[0];
    key.pool[1] = segment->pool[1];
    key.type = segment->type.id;
    return key;
}

static int order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* The default pool (and where no pool is told) before private ones, small before large. */
static int compare_keys(const struct group *a, const struct group *b)
{
    int result = order(a->device, b->device);
    result = result ? result : order(a->has_pool, b->has_pool);
    result = result ? result : order(a->pool[0], b->pool[0]);
    result = result ? result : order(a->pool[1], b->pool[1]);
    result = result ? result : order(a->type, b->type);
    result = result ? result : order(a->has_stream, b->has_stream);
    return result ? result : a->stream < b->stream ? -1 : a->stream > b->stream;
}

static int by_key(const void *left, const void *right)
{
    return compare_keys(left, right);
}

static int by_reserved_then_key(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    AP_BY_LARGER(a->state.fields.reserved_bytes, b->state.fields.reserved_bytes);
    return compare_keys(a, b);
}

static void add_segment(struct ap_snapshot_part *pass, const struct ap_segment *segment, struct ap_memory_state *state)
{
    struct ap_block_sums sums;
    ap_block_sums(pass->snapshot, segment, &sums, &pass->overflowed);
    ap_memory_state_add(state, segment, &sums, &pass->overflowed);
}

/* One group for each different key, by key. */
static struct group *list_groups(struct ap_snapshot_part *pass, bool by_stream, size_t *ret_count)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    size_t count = 0;
    struct group *groups = ap_memory_scratch(pass, snapshot->segment_count, sizeof(*groups));
    if (!groups)
        return NULL;
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        struct group key = key_of(&snapshot->segments[i], by_stream);
        if (!count || compare_keys(&groups[count - 1], &key) != 0)
            groups[count++] = key;
    }
    ap_sort(groups, count, sizeof(*groups), by_key);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || compare_keys(&groups[kept - 1], &groups[i]) != 0)
            groups[kept++] = groups[i];
    *ret_count = kept;
    return groups;
}

static enum ap_status sum_groups(struct ap_snapshot_part *pass, bool by_stream, struct group **ret_groups, size_t *ret_count,
                                 struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct group *groups = list_groups(pass, by_stream, ret_count), *last = NULL;
    if (!groups)
        return ap_fail_memory(pass->scratch.gate, reterr);
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        struct group key = key_of(&snapshot->segments[i], by_stream);
        if (!last || compare_keys(last, &key) != 0)
            last = bsearch(&key, groups, *ret_count, sizeof(*groups), by_key);
        if (last)
            add_segment(pass, &snapshot->segments[i], &last->state);
    }
    ap_sort(groups, *ret_count, sizeof(*groups), by_reserved_then_key);
    *ret_groups = groups;
    return AP_OK;
}

void ap_memory_put_pool_id(struct ap_snapshot_part *pass, struct ap_value *to, bool known, const int64_t *pool)
{
    if (!known) {
        ap_add_null(pass->model, to, "pool_id");
        return;
    }
    struct ap_value *list = ap_add_list(pass->model, to, "pool_id");
    ap_add_count(pass->model, list, NULL, pool[0]);
    ap_add_count(pass->model, list, NULL, pool[1]);
}

static void put_pool(struct ap_snapshot_part *pass, struct ap_value *row, const struct group *group)
{
    bool private_pool = group->pool[0] || group->pool[1];
    ap_put_count(pass, row, "device", group->device != INT64_MAX, (uint64_t)group->device);
    ap_add_known_string(pass->model, row, "pool", group->has_pool, private_pool ? "private" : "default");
    ap_memory_put_pool_id(pass, row, group->has_pool, group->pool);
    ap_add_text(pass->model, row, "segment_type", ap_strpool_text(&pass->snapshot->strings, (struct ap_str){ group->type }));
}

/* On the device that has most of them; each may have small and large segments. -1 = some segment does not tell its pool.
 * Leaves the groups in order of their keys. */
static int64_t most_private_pools(struct group *groups, size_t count, int64_t *ret_largest_bytes)
{
    int64_t most = count ? 0 : -1, here = 0, bytes = 0;
    bool overflowed = false;
    *ret_largest_bytes = 0;
    ap_sort(groups, count, sizeof(*groups), by_key);
    for (size_t i = 0; i < count; i++) {
        if (!groups[i].has_pool)
            return -1;
        const struct group *at = &groups[i], *before = i && groups[i - 1].device == at->device ? at - 1 : NULL;
        bool again = before && before->pool[0] == at->pool[0] && before->pool[1] == at->pool[1];
        bool private_pool = at->pool[0] || at->pool[1];
        here = (before ? here : 0) + (private_pool && !again);
        most = here > most ? here : most;
        bytes = ap_add_sat(again ? bytes : 0, private_pool ? at->state.fields.reserved_bytes : 0, &overflowed);
        *ret_largest_bytes = bytes > *ret_largest_bytes ? bytes : *ret_largest_bytes;
    }
    return most;
}

static enum ap_status put_groups(struct ap_snapshot_part *pass, struct ap_value *memory, bool by_stream,
                                 struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(pass->model, memory, by_stream ? "streams" : "pools");
    struct group *groups;
    size_t count;
    AP_TRY(sum_groups(pass, by_stream, &groups, &count, reterr));
    for (size_t i = 0; i < count && (!pass->top_n || i < pass->top_n); i++) {
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        if (by_stream) {
            ap_put_count(pass, row, "device", groups[i].device != INT64_MAX, (uint64_t)groups[i].device);
            ap_memory_put_address(pass, row, "stream", groups[i].has_stream, groups[i].stream);
        } else {
            put_pool(pass, row, &groups[i]);
        }
        ap_add_count(pass->model, row, "segments", (int64_t)groups[i].state.fields.segments);
        ap_memory_put_parts(pass, row, &groups[i].state);
    }
    ap_add_count(pass->model, memory, by_stream ? "stream_count" : "pool_count", (int64_t)count);
    if (by_stream)
        return AP_OK;
    int64_t largest_bytes, pools = most_private_pools(groups, count, &largest_bytes);
    ap_add_known_count(pass->model, memory, "private_pool_count", pools >= 0, pools);
    ap_put_bytes(pass, memory, "largest_private_pool_bytes", pools >= 0, largest_bytes);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------------- histogram */

struct size_class {
    uint64_t allocated_count, pending_count, inactive_count;
    int64_t allocated_bytes, pending_bytes, inactive_bytes;
};

#define SIZE_CLASSES 64 /* by the power of two that the size is at least; 0 bytes and less in the first */

static unsigned class_of(int64_t bytes)
{
    return bytes > 1 ? 63 - (unsigned)__builtin_clzll((unsigned long long)bytes) : 0;
}

static void put_classes(struct ap_snapshot_part *pass, struct ap_value *memory)
{
    struct size_class classes[SIZE_CLASSES] = { { .allocated_count = 0 } };
    struct ap_value *list = ap_add_list(pass->model, memory, "block_sizes");
    for (uint32_t i = 0; i < pass->snapshot->block_count; i++) {
        const struct ap_block *block = &pass->snapshot->blocks[i];
        struct size_class *to = &classes[class_of(block->size_bytes)];
        bool pending = block->state == AP_BLOCK_PENDING, inactive = block->state == AP_BLOCK_INACTIVE;
        uint64_t *count = inactive ? &to->inactive_count : pending ? &to->pending_count : &to->allocated_count;
        int64_t *bytes = inactive ? &to->inactive_bytes : pending ? &to->pending_bytes : &to->allocated_bytes;
        if (block->state == AP_BLOCK_UNKNOWN)
            continue;
        (*count)++;
        *bytes = ap_add_sat(*bytes, block->size_bytes, &pass->overflowed);
    }
    for (unsigned i = 0; i < SIZE_CLASSES; i++) {
        const struct size_class *class = &classes[i];
        if (!class->allocated_count && !class->pending_count && !class->inactive_count)
            continue;
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        ap_add_bytes(pass->model, row, "from_bytes", i ? (int64_t)1 << i : 0);
        ap_put_bytes(pass, row, "below_bytes", i < 62, (int64_t)2 << (i < 62 ? i : 0));
        ap_add_count(pass->model, row, "allocated_count", (int64_t) class->allocated_count);
        ap_add_bytes(pass->model, row, "allocated_bytes", class->allocated_bytes);
        ap_add_count(pass->model, row, "pending_free_count", (int64_t) class->pending_count);
        ap_add_bytes(pass->model, row, "pending_free_bytes", class->pending_bytes);
        ap_add_count(pass->model, row, "inactive_count", (int64_t) class->inactive_count);
        ap_add_bytes(pass->model, row, "inactive_bytes", class->inactive_bytes);
    }
}

enum ap_status ap_memory_put_pools(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    AP_TRY(put_groups(pass, memory, false, reterr));
    AP_TRY(put_groups(pass, memory, true, reterr));
    put_classes(pass, memory);
    return AP_OK;
}
