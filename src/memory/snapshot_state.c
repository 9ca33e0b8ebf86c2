/* SPDX-License-Identifier: MIT */
#include "snapshot_state.h"

#include "poison.h"

static void add(int64_t *sum, int64_t bytes, bool *overflowed)
{
    *sum = ap_add_sat(*sum, bytes, overflowed);
}

int64_t ap_subtract_sat(int64_t a, int64_t b, bool *overflowed)
{
    int64_t difference;
    if (AP_LIKELY(!__builtin_sub_overflow(a, b, &difference)))
        return difference;
    *overflowed = true;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

void ap_field_sums_add(struct ap_field_sums *sums, const struct ap_segment *segment, bool *overflowed)
{
    sums->segments++;
    add(&sums->reserved_bytes, segment->total_bytes, overflowed);
    add(&sums->allocated_bytes, segment->allocated_bytes, overflowed);
    add(&sums->active_bytes, segment->active_bytes, overflowed);
    add(&sums->requested_bytes, segment->requested_bytes, overflowed);
}

static void add_free_memory(struct ap_memory_state *state, const struct ap_block_sums *sums, bool *overflowed)
{
    add(&state->inactive_bytes, sums->inactive_bytes, overflowed);
    add(&state->pending_bytes, sums->pending_bytes, overflowed);
    if (sums->largest_inactive_bytes > state->largest_inactive_bytes)
        state->largest_inactive_bytes = sums->largest_inactive_bytes;
    if (sums->all_inactive) {
        add(&state->wholly_free_bytes, sums->inactive_bytes, overflowed);
        return;
    }
    add(&state->inactive_split_bytes, sums->inactive_bytes, overflowed);
    if (sums->largest_inactive_bytes > state->largest_split_bytes)
        state->largest_split_bytes = sums->largest_inactive_bytes;
}

static void add_rounding(struct ap_memory_state *state, const struct ap_segment *segment, const struct ap_block_sums *sums,
                         int64_t allocated_bytes, bool *overflowed)
{
    bool has_requested = segment->has & AP_SEGMENT_HAS_REQUESTED;
    if (!has_requested && !(sums->requested_known && sums->states_known))
        return;
    int64_t requested_bytes = has_requested ? segment->requested_bytes : sums->requested_bytes;
    state->requested_known++;
    add(&state->rounded_allocated_bytes, allocated_bytes, overflowed);
    add(&state->rounding_bytes, ap_subtract_sat(allocated_bytes, requested_bytes, overflowed), overflowed);
}

static void add_use(struct ap_memory_state *state, const struct ap_segment *segment, const struct ap_block_sums *sums,
                    bool *overflowed)
{
    bool has_allocated = segment->has & AP_SEGMENT_HAS_ALLOCATED, has_active = segment->has & AP_SEGMENT_HAS_ACTIVE;
    bool from_blocks = (segment->has & AP_SEGMENT_HAS_BLOCKS) && sums->states_known;
    if (!(has_allocated && has_active) && !from_blocks) {
        state->use_unknown++;
        return;
    }
    int64_t allocated_bytes = has_allocated ? segment->allocated_bytes : sums->allocated_bytes;
    add(&state->allocated_bytes, allocated_bytes, overflowed);
    add(&state->active_bytes, has_active ? segment->active_bytes : sums->active_bytes, overflowed);
    add_rounding(state, segment, sums, allocated_bytes, overflowed);
}

void ap_memory_state_add(struct ap_memory_state *state, const struct ap_segment *segment, const struct ap_block_sums *sums,
                         bool *overflowed)
{
    ap_field_sums_add(&state->fields, segment, overflowed);
    add_use(state, segment, sums, overflowed);
    if (segment->has & AP_SEGMENT_HAS_BLOCKS) {
        state->with_blocks++;
        add_free_memory(state, sums, overflowed);
    }
    if (segment->has & AP_SEGMENT_HAS_TYPE)
        state->with_type++;
    if (segment->type.id == AP_TYPE_SMALL)
        add(&state->small_bytes, segment->total_bytes, overflowed);
    if (segment->has & AP_SEGMENT_HAS_POOL) {
        state->with_pool++;
        if (segment->pool[0] || segment->pool[1])
            add(&state->private_bytes, segment->total_bytes, overflowed);
    }
}

bool ap_memory_state_has_blocks(const struct ap_memory_state *state)
{
    return state->with_blocks || !state->fields.segments;
}

double ap_memory_state_fragmentation(const struct ap_memory_state *state)
{
    if (state->inactive_split_bytes <= 0)
        return 0;
    return 1 - (double)state->largest_split_bytes / (double)state->inactive_split_bytes;
}
