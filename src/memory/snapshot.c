/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <string.h>

#include "poison.h"

static const char *const born_names[] = {
    [AP_ACTION_ALLOC] = "alloc",
    [AP_ACTION_FREE_REQUESTED] = "free_requested",
    [AP_ACTION_FREE_COMPLETED] = "free_completed",
    [AP_ACTION_SEGMENT_ALLOC] = "segment_alloc",
    [AP_ACTION_SEGMENT_FREE] = "segment_free",
    [AP_ACTION_SEGMENT_MAP] = "segment_map",
    [AP_ACTION_SEGMENT_UNMAP] = "segment_unmap",
    [AP_ACTION_SNAPSHOT] = "snapshot",
    [AP_ACTION_OOM] = "oom",
    [AP_ACTION_USER_DEFINED] = "user_defined",
    [AP_NAME_UNKNOWN] = "unknown",
    [AP_TYPE_SMALL] = "small",
    [AP_TYPE_LARGE] = "large",
};

/* Ids count up from 1 in order of first sight: interning in the order of the enumeration makes the two one. */
static enum ap_status intern_born_names(struct ap_strpool *pool, struct ap_error *reterr)
{
    for (unsigned i = 1; i < AP_COUNT_OF(born_names); i++) {
        struct ap_str str;
        AP_TRY(ap_strpool_intern(pool, born_names[i], strlen(born_names[i]), &str, reterr));
    }
    return AP_OK;
}

enum ap_status ap_snapshot_new(struct ap_gate *gate, struct ap_snapshot **ret_snapshot, struct ap_error *reterr)
{
    struct ap_snapshot *snapshot;
    uint32_t first;
    AP_TRY(AP_ALLOC(gate, snapshot, 1, reterr));
    *snapshot = (struct ap_snapshot){ .gate = gate, .complete = true };
    snapshot->settings.max_split_bytes = -1;
    ap_strpool_init(&snapshot->strings, gate);
    ap_stacks_init(&snapshot->stacks, gate);
    ap_strpool_init(&snapshot->origin_pool, gate);
    enum ap_status status = intern_born_names(&snapshot->strings, reterr);
    AP_AND_THEN(status, ap_snapshot_intern_origin(snapshot, &(struct ap_origin){ .has = 0 }, &first, reterr));
    if (status != AP_OK) {
        ap_snapshot_free(snapshot);
        return status;
    }
    *ret_snapshot = snapshot;
    return AP_OK;
}

static void release_actions(struct ap_gate *gate, struct ap_actions *actions)
{
    AP_FREE(gate, actions->name, actions->capacity[0]);
    AP_FREE(gate, actions->address, actions->capacity[1]);
    AP_FREE(gate, actions->size_bytes, actions->capacity[2]);
    AP_FREE(gate, actions->time_ns, actions->capacity[3]);
    AP_FREE(gate, actions->has, actions->capacity[4]);
    AP_FREE(gate, actions->stack, actions->capacity[5]);
    AP_FREE(gate, actions->origin, actions->capacity[6]);
}

void ap_snapshot_free(struct ap_snapshot *snapshot)
{
    if (!snapshot)
        return;
    struct ap_gate *gate = snapshot->gate;
    ap_strpool_release(&snapshot->strings);
    ap_stacks_release(&snapshot->stacks);
    ap_strpool_release(&snapshot->origin_pool);
    AP_FREE(gate, snapshot->segments, snapshot->segment_capacity);
    AP_FREE(gate, snapshot->blocks, snapshot->block_capacity);
    AP_FREE(gate, snapshot->histories, snapshot->history_capacity);
    AP_FREE(gate, snapshot->annotations, snapshot->annotation_capacity);
    release_actions(gate, &snapshot->actions);
    AP_FREE(gate, snapshot, 1);
}

void ap_snapshot_freeze(struct ap_snapshot *snapshot)
{
    ap_strpool_freeze(&snapshot->strings);
    ap_stacks_freeze(&snapshot->stacks);
    ap_strpool_freeze(&snapshot->origin_pool);
}

static enum ap_status check_room(uint32_t count, const char *what, struct ap_error *reterr)
{
    if (AP_LIKELY(count < UINT32_MAX - 1))
        return AP_OK;
    return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4 billion %s: record a shorter history", what);
}

/* Blocks without an address (files of 2023 and before) lie one behind the other from the segment's address on. */
static void compute_addresses(struct ap_snapshot *snapshot, const struct ap_segment *segment)
{
    uint64_t next = segment->address;
    bool known = segment->has & AP_SEGMENT_HAS_ADDRESS;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        struct ap_block *block = &snapshot->blocks[segment->first_block + i];
        if (block->has & AP_BLOCK_HAS_ADDRESS) {
            next = block->address;
            known = true;
        } else if (known) {
            block->address = next;
            block->has |= AP_BLOCK_HAS_ADDRESS;
        }
        next += block->size_bytes > 0 ? (uint64_t)block->size_bytes : 0;
    }
}

enum ap_status ap_snapshot_add_segment(struct ap_snapshot *snapshot, const struct ap_segment *segment,
                                       struct ap_error *reterr)
{
    AP_TRY(check_room(snapshot->segment_count, "segments", reterr));
    AP_TRY(AP_RESERVE(snapshot->gate, snapshot->segments, snapshot->segment_capacity, (size_t)snapshot->segment_count + 1,
                      reterr));
    const struct ap_segment *last = snapshot->segment_count ? &snapshot->segments[snapshot->segment_count - 1] : NULL;
    struct ap_segment *to = &snapshot->segments[snapshot->segment_count];
    uint32_t first_block = last ? last->first_block + last->block_count : 0;
    *to = *segment;
    to->first_block = first_block;
    to->block_count = snapshot->block_count - first_block;
    compute_addresses(snapshot, to);
    snapshot->segment_count++;
    return AP_OK;
}

enum ap_status ap_snapshot_add_block(struct ap_snapshot *snapshot, const struct ap_block *block, struct ap_error *reterr)
{
    AP_TRY(check_room(snapshot->block_count, "blocks", reterr));
    AP_TRY_ADD(snapshot->gate, snapshot->blocks, snapshot->block_count, snapshot->block_capacity, reterr, *block);
    return AP_OK;
}

enum ap_status ap_snapshot_add_history(struct ap_snapshot *snapshot, struct ap_error *reterr)
{
    AP_TRY(check_room(snapshot->history_count, "devices", reterr));
    AP_TRY_ADD(snapshot->gate, snapshot->histories, snapshot->history_count, snapshot->history_capacity, reterr,
               (struct ap_history){ .first_action = snapshot->actions.count });
    return AP_OK;
}

/* The columns grow in step; a failure in the middle leaves each with the capacity that it has. */
static enum ap_status grow_actions(struct ap_gate *gate, struct ap_actions *actions, struct ap_error *reterr)
{
    size_t needed = (size_t)actions->count + 1;
    AP_TRY(check_room(actions->count, "history entries", reterr));
    AP_TRY(AP_RESERVE(gate, actions->name, actions->capacity[0], needed, reterr));
    AP_TRY(AP_RESERVE(gate, actions->address, actions->capacity[1], needed, reterr));
    AP_TRY(AP_RESERVE(gate, actions->size_bytes, actions->capacity[2], needed, reterr));
    AP_TRY(AP_RESERVE(gate, actions->time_ns, actions->capacity[3], needed, reterr));
    AP_TRY(AP_RESERVE(gate, actions->stack, actions->capacity[5], needed, reterr));
    AP_TRY(AP_RESERVE(gate, actions->origin, actions->capacity[6], needed, reterr));
    return AP_RESERVE(gate, actions->has, actions->capacity[4], needed, reterr);
}

enum ap_status ap_snapshot_add_action(struct ap_snapshot *snapshot, const struct ap_action *action, struct ap_error *reterr)
{
    struct ap_actions *actions = &snapshot->actions;
    if (AP_UNLIKELY(actions->count >= actions->capacity[4]))
        AP_TRY(grow_actions(snapshot->gate, actions, reterr));
    uint32_t at = actions->count++;
    actions->name[at] = action->name;
    actions->address[at] = action->address;
    actions->size_bytes[at] = action->size_bytes;
    actions->time_ns[at] = action->time_ns;
    actions->stack[at] = action->stack;
    actions->origin[at] = action->origin;
    actions->has[at] = action->has;
    snapshot->histories[snapshot->history_count - 1].action_count++;
    return AP_OK;
}

enum ap_status ap_snapshot_intern_origin(struct ap_snapshot *snapshot, const struct ap_origin *origin, uint32_t *ret_index,
                                         struct ap_error *reterr)
{
    struct ap_origin key;
    struct ap_str id;
    memset(&key, 0, sizeof(key)); /* the padding too: equal origins have equal bytes */
    key.stream = origin->stream;
    memcpy(key.pool, origin->pool, sizeof(key.pool));
    key.compile_context = origin->compile_context;
    key.user_metadata = origin->user_metadata;
    key.has = origin->has;
    AP_TRY(ap_strpool_intern(&snapshot->origin_pool, (const char *)&key, sizeof(key), &id, reterr));
    snapshot->origins = (const void *)snapshot->origin_pool.bytes;
    *ret_index = id.id - 1;
    return AP_OK;
}

enum ap_status ap_snapshot_add_annotation(struct ap_snapshot *snapshot, const struct ap_annotation *annotation,
                                          struct ap_error *reterr)
{
    AP_TRY(check_room(snapshot->annotation_count, "annotations", reterr));
    AP_TRY_ADD(snapshot->gate, snapshot->annotations, snapshot->annotation_count, snapshot->annotation_capacity, reterr,
               *annotation);
    return AP_OK;
}
