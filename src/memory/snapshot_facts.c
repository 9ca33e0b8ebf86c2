/* SPDX-License-Identifier: MIT */
#include "snapshot_facts.h"

#include <string.h>

#include "address_map.h"

#include "poison.h"

/* ----------------------------------------------------------------------------------------------------------- blocks */

static void add_block(const struct ap_block *block, struct ap_block_sums *sums, bool *overflowed)
{
    sums->total_bytes = ap_add_sat(sums->total_bytes, block->size_bytes, overflowed);
    if (block->state == AP_BLOCK_INACTIVE) {
        sums->inactive_bytes = ap_add_sat(sums->inactive_bytes, block->size_bytes, overflowed);
        if (block->size_bytes > sums->largest_inactive_bytes)
            sums->largest_inactive_bytes = block->size_bytes;
        return;
    }
    sums->all_inactive = false;
    if (block->state == AP_BLOCK_UNKNOWN) {
        sums->states_known = false;
        return;
    }
    if (block->state == AP_BLOCK_ALLOCATED)
        sums->allocated_bytes = ap_add_sat(sums->allocated_bytes, block->size_bytes, overflowed);
    else
        sums->pending_bytes = ap_add_sat(sums->pending_bytes, block->size_bytes, overflowed);
    sums->active_bytes = ap_add_sat(sums->active_bytes, block->size_bytes, overflowed);
    sums->requested_bytes = ap_add_sat(sums->requested_bytes, block->requested_bytes, overflowed);
    if (!(block->has & AP_BLOCK_HAS_REQUESTED))
        sums->requested_known = false;
}

void ap_block_sums(const struct ap_snapshot *snapshot, const struct ap_segment *segment, struct ap_block_sums *ret_sums,
                   bool *overflowed)
{
    *ret_sums = (struct ap_block_sums){
        .all_inactive = segment->block_count > 0,
        .states_known = true,
        .requested_known = (segment->has & AP_SEGMENT_HAS_BLOCKS) != 0,
    };
    for (uint32_t i = 0; i < segment->block_count; i++)
        add_block(&snapshot->blocks[segment->first_block + i], ret_sums, overflowed);
}

static bool differs(const struct ap_segment *segment, uint16_t which, int64_t field_bytes, int64_t sum_bytes)
{
    return (segment->has & which) && field_bytes != sum_bytes;
}

bool ap_segment_contradicts(const struct ap_segment *segment, const struct ap_block_sums *sums)
{
    const uint16_t in_use = AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_ALLOCATED;
    if ((segment->has & in_use) == in_use && segment->allocated_bytes > segment->total_bytes)
        return true;
    if (!(segment->has & AP_SEGMENT_HAS_BLOCKS))
        return false;
    if (differs(segment, AP_SEGMENT_HAS_TOTAL, segment->total_bytes, sums->total_bytes))
        return true;
    if (!sums->states_known)
        return false;
    return differs(segment, AP_SEGMENT_HAS_ALLOCATED, segment->allocated_bytes, sums->allocated_bytes) ||
           differs(segment, AP_SEGMENT_HAS_ACTIVE, segment->active_bytes, sums->active_bytes) ||
           (sums->requested_known &&
            differs(segment, AP_SEGMENT_HAS_REQUESTED, segment->requested_bytes, sums->requested_bytes));
}

/* ---------------------------------------------------------------------------------------------------------- history */

/* Frees that were requested and are not completed yet, by address. */
static enum ap_status open_free(struct ap_address_map *frees, uint64_t address, struct ap_error *reterr)
{
    uint32_t open = ap_address_map_find(frees, address);
    return ap_address_map_set(frees, address, open == AP_NOT_MAPPED ? 1 : open + 1, reterr);
}

/* True where the free had been requested. */
static enum ap_status close_free(struct ap_address_map *frees, uint64_t address, bool *ret_was_open, struct ap_error *reterr)
{
    uint32_t open = ap_address_map_take(frees, address);
    *ret_was_open = open != AP_NOT_MAPPED;
    return *ret_was_open && open > 1 ? ap_address_map_set(frees, address, open - 1, reterr) : AP_OK;
}

/* What is carried from one entry of a device to the next. */
struct walk {
    const struct ap_snapshot *snapshot;
    struct ap_history_facts *facts;
    struct ap_address_map frees;
    uint32_t segment_free_run;
    bool has_oom, oom_has_time;
    int64_t oom_time_ns;
    bool *overflowed;
};

static void take_oom(struct walk *walk, uint32_t at)
{
    const struct ap_actions *actions = &walk->snapshot->actions;
    struct ap_history_facts *facts = walk->facts;
    bool has_time = actions->has[at] & AP_ACTION_HAS_TIME;
    facts->oom_count++;
    if (walk->has_oom && walk->oom_has_time && has_time && actions->time_ns[at] < walk->oom_time_ns)
        return;
    walk->has_oom = true;
    walk->oom_has_time = has_time;
    walk->oom_time_ns = actions->time_ns[at];
    facts->has_oom_request = actions->has[at] & AP_ACTION_HAS_SIZE;
    facts->oom_request_bytes = actions->size_bytes[at];
    facts->has_oom_device_free = actions->has[at] & AP_ACTION_HAS_ADDRESS;
    facts->oom_device_free_bytes = actions->address[at];
}

static void take_time(struct ap_history_facts *facts, int64_t time_ns)
{
    if (!facts->has_times || time_ns < facts->first_ns)
        facts->first_ns = time_ns;
    if (!facts->has_times || time_ns > facts->last_ns)
        facts->last_ns = time_ns;
    facts->has_times = true;
}

static enum ap_status take_entry(struct walk *walk, uint32_t at, bool steady, struct ap_error *reterr)
{
    const struct ap_actions *actions = &walk->snapshot->actions;
    struct ap_history_facts *facts = walk->facts;
    uint32_t name = actions->name[at].id;
    bool was_open;
    if (actions->has[at] & AP_ACTION_HAS_TIME)
        take_time(facts, actions->time_ns[at]);
    if ((name == AP_ACTION_SEGMENT_ALLOC || name == AP_ACTION_OOM) && walk->segment_free_run >= 2)
        facts->retry_count++;
    walk->segment_free_run = name == AP_ACTION_SEGMENT_FREE ? walk->segment_free_run + 1 : 0;
    switch (name) {
    case AP_ACTION_ALLOC:
        facts->alloc_count++;
        facts->allocated_bytes_sum = ap_add_sat(facts->allocated_bytes_sum, actions->size_bytes[at], walk->overflowed);
        break;
    case AP_ACTION_FREE_REQUESTED: facts->free_count++; return open_free(&walk->frees, actions->address[at], reterr);
    case AP_ACTION_FREE_COMPLETED:
        AP_TRY(close_free(&walk->frees, actions->address[at], &was_open, reterr));
        facts->free_count += !was_open;
        break;
    case AP_ACTION_SEGMENT_ALLOC:
        facts->steady_segment_alloc_count += steady;
        facts->segment_alloc_count++;
        break;
    case AP_ACTION_SEGMENT_FREE:
        facts->steady_segment_free_count += steady;
        facts->segment_free_count++;
        break;
    case AP_ACTION_SEGMENT_MAP: facts->segment_alloc_count++; break;
    case AP_ACTION_SEGMENT_UNMAP: facts->segment_free_count++; break;
    case AP_ACTION_OOM: take_oom(walk, at); break;
    default: break;
    }
    return AP_OK;
}

static enum ap_status walk_history(struct walk *walk, const struct ap_history *history, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    ap_address_map_init(&walk->frees, walk->snapshot->gate);
    walk->segment_free_run = 0;
    for (uint32_t i = 0; i < history->action_count && status == AP_OK; i++)
        status = take_entry(walk, history->first_action + i, i >= history->action_count - history->action_count / 2, reterr);
    ap_address_map_release(&walk->frees);
    return status;
}

enum ap_status ap_history_facts(const struct ap_snapshot *snapshot, struct ap_history_facts *ret_facts, bool *overflowed,
                                struct ap_error *reterr)
{
    struct ap_history_facts facts = { .entries = snapshot->actions.count };
    struct walk walk = { .snapshot = snapshot, .facts = &facts, .overflowed = overflowed };
    for (uint32_t i = 0; i < snapshot->history_count; i++) {
        AP_TRY(walk_history(&walk, &snapshot->histories[i], reterr));
        facts.recorded = facts.recorded || snapshot->histories[i].action_count > 1;
    }
    *ret_facts = facts;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ names */

static void clear_counts(const struct ap_snapshot *snapshot, uint64_t *counts)
{
    memset(counts, 0, ((size_t)ap_strpool_count(&snapshot->strings) + 1) * sizeof(*counts));
}

void ap_count_actions(const struct ap_snapshot *snapshot, uint64_t *counts)
{
    clear_counts(snapshot, counts);
    for (uint32_t i = 0; i < snapshot->actions.count; i++)
        counts[snapshot->actions.name[i].id]++;
}

void ap_count_annotations(const struct ap_snapshot *snapshot, uint64_t *counts)
{
    clear_counts(snapshot, counts);
    for (uint32_t i = 0; i < snapshot->annotation_count; i++)
        counts[snapshot->annotations[i].name.id]++;
}
