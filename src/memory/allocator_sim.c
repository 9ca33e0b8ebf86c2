/* SPDX-License-Identifier: MIT */
#include "allocator_sim.h"

#include <string.h>

#include "address_space.h"
#include "sim_chunks.h"
#include "sort.h"

#include "poison.h"

#define MIB ((int64_t)1 << 20)
#define ROUNDING_BYTES ((int64_t)512)
#define SMALL_BYTES MIB /* requests up to this are the small pool's; so is a remainder that is not split off */
#define SMALL_SEGMENT_BYTES (2 * MIB)
#define LARGE_SEGMENT_BYTES (20 * MIB)
#define OWN_SEGMENT_BYTES (10 * MIB)  /* requests from here on get a segment of their size */
#define MOST_BYTES ((int64_t)1 << 44) /* of one request, and of all: more is no GPU's */
#define WORK_PER_ENTRY 32u            /* chunks looked at, one by one, while the cache is given up */

/* --------------------------------------------------------------------------------------------------- rules of the allocator
 */

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static int64_t rounded(const struct ap_sim_rules *rules, int64_t bytes)
{
    int64_t divisions = rules->round_divisions, power = 1;
    if (divisions <= 1 || bytes <= ROUNDING_BYTES * divisions)
        return round_up(bytes > 0 ? bytes : 1, ROUNDING_BYTES);
    while (power <= bytes / 2)
        power *= 2;
    return round_up(bytes, power / divisions > 0 ? power / divisions : 1);
}

static int64_t segment_bytes(int64_t bytes)
{
    if (bytes <= SMALL_BYTES)
        return SMALL_SEGMENT_BYTES;
    return bytes < OWN_SEGMENT_BYTES ? LARGE_SEGMENT_BYTES : round_up(bytes, SMALL_SEGMENT_BYTES);
}

static int64_t page_bytes(const struct ap_sim_pool *pool)
{
    return pool->small ? SMALL_SEGMENT_BYTES : LARGE_SEGMENT_BYTES;
}

static bool is_oversize(const struct ap_sim_rules *rules, int64_t bytes)
{
    return rules->max_split_bytes >= 0 && bytes >= rules->max_split_bytes;
}

static bool splits(const struct ap_sim *sim, const struct ap_sim_pool *pool, int64_t bytes, int64_t rest_bytes)
{
    if (pool->small || sim->rules->expandable)
        return rest_bytes >= ROUNDING_BYTES;
    return !is_oversize(sim->rules, bytes) && rest_bytes > SMALL_BYTES;
}

static uint32_t find_free(const struct ap_sim *sim, const struct ap_sim_pool *pool, int64_t bytes)
{
    uint32_t index = ap_chunk_tree_find(sim->chunks, pool->free_root, bytes);
    if (index == AP_NO_CHUNK || pool->small)
        return index;
    if (!is_oversize(sim->rules, bytes))
        return is_oversize(sim->rules, sim->chunks[index].bytes) ? AP_NO_CHUNK : index;
    return sim->chunks[index].bytes >= bytes + LARGE_SEGMENT_BYTES ? AP_NO_CHUNK : index;
}

/* --------------------------------------------------------------------------------------------------------- giving memory
 * back */

static bool too_much_work(struct ap_sim *sim)
{
    if (sim->work == 0)
        sim->gave_up = true;
    else
        sim->work--;
    return sim->gave_up;
}

static void release_segment(struct ap_sim *sim, uint32_t index)
{
    ap_sim_unfile(sim, index);
    sim->reserved_bytes -= sim->chunks[index].bytes;
    ap_sim_drop_chunk(sim, index);
}

/* The oldest wholly free segments, until @bytes are given back. */
static void release_oldest(struct ap_sim *sim, int64_t bytes, bool large_only)
{
    int64_t target = sim->reserved_bytes - bytes;
    for (uint32_t index = sim->oldest; index != AP_NO_CHUNK && sim->reserved_bytes > target && !too_much_work(sim);) {
        uint32_t younger = sim->chunks[index].younger;
        if (!large_only || !sim->pools[sim->chunks[index].pool].small)
            release_segment(sim, index);
        index = younger;
    }
}

/* Whole pages of a free chunk are unmapped; *@ret_next is the chunk to go on with. */
static enum ap_status unmap_pages(struct ap_sim *sim, uint32_t index, uint32_t *ret_next, struct ap_error *reterr)
{
    const struct ap_chunk chunk = sim->chunks[index];
    struct ap_sim_pool *pool = &sim->pools[chunk.pool];
    int64_t page = page_bytes(pool), begin = (int64_t)(chunk.address - pool->base), end = begin + chunk.bytes;
    int64_t from = round_up(begin, page), to = end / page * page;
    uint32_t rest;
    *ret_next = chunk.behind;
    if (from >= to)
        return AP_OK;
    ap_sim_unfile(sim, index);
    if (to < end) {
        AP_TRY(ap_sim_cut(sim, index, to - begin, AP_CHUNK_FREE, &rest, reterr));
        ap_sim_file(sim, rest);
    }
    if (from > begin) {
        AP_TRY(ap_sim_cut(sim, index, from - begin, AP_CHUNK_UNMAPPED, &rest, reterr));
        ap_sim_file(sim, index);
        index = rest;
    }
    sim->chunks[index].state = AP_CHUNK_UNMAPPED;
    sim->reserved_bytes -= to - from;
    ap_sim_settle(sim, index, &index);
    *ret_next = sim->chunks[index].behind; /* what was behind it may have been taken in */
    return AP_OK;
}

/* Nothing mapped is behind the last chunk. */
static void trim_row(struct ap_sim *sim, struct ap_sim_pool *pool)
{
    uint32_t last = pool->last;
    if (last == AP_NO_CHUNK || sim->chunks[last].state != AP_CHUNK_UNMAPPED)
        return;
    ap_sim_unfile(sim, last);
    ap_sim_drop_chunk(sim, last);
}

static enum ap_status give_up_cache(struct ap_sim *sim, struct ap_error *reterr)
{
    release_oldest(sim, INT64_MAX / 2, false);
    for (uint32_t i = 0; i < sim->pool_count; i++) {
        struct ap_sim_pool *pool = &sim->pools[i];
        for (uint32_t index = pool->first, next; index != AP_NO_CHUNK && !too_much_work(sim); index = next) {
            next = sim->chunks[index].behind;
            if (sim->chunks[index].state == AP_CHUNK_FREE)
                AP_TRY(unmap_pages(sim, index, &next, reterr));
        }
        trim_row(sim, pool);
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------- taking memory */

static void add_reserved(struct ap_sim *sim, int64_t bytes)
{
    sim->reserved_bytes += bytes; /* both are bounded by MOST_BYTES */
    sim->gave_up = sim->gave_up || sim->reserved_bytes > MOST_BYTES;
    sim->result.segment_allocs++;
}

static bool is_paged(const struct ap_sim *sim, const struct ap_sim_pool *pool)
{
    return sim->rules->expandable && pool->id[0] == 0 && pool->id[1] == 0;
}

/* What a new piece of memory for @bytes takes from the device. */
static int64_t needed_bytes(const struct ap_sim *sim, const struct ap_sim_pool *pool, int64_t bytes)
{
    if (!is_paged(sim, pool))
        return segment_bytes(bytes);
    int64_t pages = round_up(bytes, page_bytes(pool));
    uint32_t last = pool->last;
    if (last == AP_NO_CHUNK || sim->chunks[last].state != AP_CHUNK_FREE ||
        ap_chunk_tree_find(sim->chunks, pool->unmapped_root, pages) != AP_NO_CHUNK)
        return pages;
    return round_up(bytes - sim->chunks[last].bytes, page_bytes(pool));
}

static enum ap_status map_hole(struct ap_sim *sim, uint32_t hole, int64_t bytes, uint32_t *ret_index,
                               struct ap_error *reterr)
{
    uint32_t rest;
    ap_sim_unfile(sim, hole);
    if (sim->chunks[hole].bytes > bytes) {
        AP_TRY(ap_sim_cut(sim, hole, bytes, AP_CHUNK_UNMAPPED, &rest, reterr));
        ap_sim_file(sim, rest);
    }
    sim->chunks[hole].state = AP_CHUNK_FREE;
    ap_sim_settle(sim, hole, ret_index);
    return AP_OK;
}

static enum ap_status map_behind(struct ap_sim *sim, uint32_t pool_index, int64_t bytes, uint32_t *ret_index,
                                 struct ap_error *reterr)
{
    struct ap_sim_pool *pool = &sim->pools[pool_index];
    uint32_t last = pool->last, fresh;
    uint64_t address = last == AP_NO_CHUNK ? pool->base : sim->chunks[last].address + (uint64_t)sim->chunks[last].bytes;
    AP_TRY(ap_sim_new_chunk(sim, pool_index, address, bytes, &fresh, reterr));
    sim->chunks[fresh].paged = true;
    sim->chunks[fresh].state = AP_CHUNK_FREE;
    if (last != AP_NO_CHUNK)
        ap_sim_link_behind(sim, last, fresh);
    else
        pool->first = pool->last = fresh;
    ap_sim_settle(sim, fresh, ret_index);
    return AP_OK;
}

static enum ap_status reserve_more(struct ap_sim *sim, uint32_t pool_index, int64_t bytes, int64_t needed,
                                   uint32_t *ret_index, struct ap_error *reterr)
{
    struct ap_sim_pool *pool = &sim->pools[pool_index];
    add_reserved(sim, needed);
    if (is_paged(sim, pool)) {
        int64_t pages = round_up(bytes, page_bytes(pool));
        uint32_t hole = ap_chunk_tree_find(sim->chunks, pool->unmapped_root, pages);
        if (hole != AP_NO_CHUNK)
            return map_hole(sim, hole, pages, ret_index, reterr);
        return map_behind(sim, pool_index, needed, ret_index, reterr);
    }
    AP_TRY(ap_sim_new_chunk(sim, pool_index, sim->next_address, needed, ret_index, reterr));
    sim->next_address += (uint64_t)needed;
    sim->gave_up = sim->gave_up || sim->next_address > (uint64_t)INT64_MAX;
    sim->chunks[*ret_index].state = AP_CHUNK_FREE;
    ap_sim_file(sim, *ret_index);
    return AP_OK;
}

/* No free chunk serves: collect, ask the device, give up the cache where it is full. */
static enum ap_status miss(struct ap_sim *sim, uint32_t pool_index, int64_t bytes, uint32_t *ret_index,
                           struct ap_error *reterr)
{
    const struct ap_sim_rules *rules = sim->rules;
    const struct ap_sim_pool *pool = &sim->pools[pool_index];
    double goal = rules->gc_threshold_ratio * (double)rules->capacity_bytes;
    if (goal > 0 && (double)sim->reserved_bytes > goal)
        release_oldest(sim, sim->reserved_bytes - (int64_t)goal, true);
    int64_t needed = needed_bytes(sim, pool, bytes);
    if (rules->capacity_bytes && sim->reserved_bytes + needed > rules->capacity_bytes) {
        AP_TRY(give_up_cache(sim, reterr));
        needed = needed_bytes(sim, pool, bytes);
        sim->result.failed += sim->reserved_bytes + needed > rules->capacity_bytes;
    }
    return reserve_more(sim, pool_index, bytes, needed, ret_index, reterr);
}

static enum ap_status take(struct ap_sim *sim, uint32_t pool_index, int64_t bytes, uint32_t *ret_index,
                           struct ap_error *reterr)
{
    const struct ap_sim_pool *pool = &sim->pools[pool_index];
    uint32_t index = find_free(sim, pool, bytes), rest;
    if (index == AP_NO_CHUNK)
        AP_TRY(miss(sim, pool_index, bytes, &index, reterr));
    ap_sim_unfile(sim, index);
    if (splits(sim, pool, bytes, sim->chunks[index].bytes - bytes)) {
        AP_TRY(ap_sim_cut(sim, index, bytes, AP_CHUNK_FREE, &rest, reterr));
        ap_sim_file(sim, rest);
    }
    sim->chunks[index].state = AP_CHUNK_USED;
    *ret_index = index;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------- the history */

static uint32_t pool_of(struct ap_sim *sim, uint64_t stream, const int64_t id[2], bool small, bool apart)
{
    for (uint32_t i = 0; i < sim->pool_count; i++) {
        const struct ap_sim_pool *pool = &sim->pools[i];
        if (pool->stream == stream && pool->id[0] == id[0] && pool->id[1] == id[1] && pool->small == small &&
            pool->apart == apart)
            return i;
    }
    if (sim->pool_count == AP_SIM_MOST_POOLS) {
        sim->gave_up = true;
        return 0;
    }
    sim->pools[sim->pool_count] = (struct ap_sim_pool){
        .stream = stream,
        .base = (uint64_t)(sim->pool_count + 1) << 50,
        .id = { id[0], id[1] },
        .small = small,
        .apart = apart,
        .free_root = AP_NO_CHUNK,
        .unmapped_root = AP_NO_CHUNK,
        .first = AP_NO_CHUNK,
        .last = AP_NO_CHUNK,
    };
    return sim->pool_count++;
}

static bool lives_long(const struct ap_sim *sim, const struct ap_lifetime *lifetime)
{
    uint32_t end = lifetime->free_requested != AP_NO_ENTRY ? lifetime->free_requested : lifetime->free_completed;
    uint32_t begin = lifetime->alloc == AP_NO_ENTRY ? sim->of->first_entry : lifetime->alloc;
    return end == AP_NO_ENTRY || end - begin >= sim->of->entry_count / 2;
}

/* Histories hardly tell the pool of what was freed; but what lay in a segment that is a private pool's at the end was that
 * pool's, which keeps its segments as long as its graph lives. */
static const int64_t *pool_id_of(const struct ap_sim *sim, const struct ap_allocation *allocation)
{
    size_t low = 0;
    AP_BISECT(low, sim->owned_count, at, sim->owned[at].end <= allocation->address);
    bool inside = low < sim->owned_count && sim->owned[low].address <= allocation->address;
    return inside && allocation->has_address && !allocation->has_pool ? sim->owned[low].id : allocation->pool;
}

static enum ap_status allocate(struct ap_sim *sim, uint32_t lifetime, struct ap_error *reterr)
{
    struct ap_allocation allocation;
    ap_replay_allocation(sim->replay, lifetime, &allocation);
    int64_t wanted = allocation.has_requested ? allocation.requested_bytes : allocation.block_bytes;
    if (wanted > MOST_BYTES || wanted < 0) {
        sim->gave_up = true;
        return AP_OK;
    }
    int64_t bytes = rounded(sim->rules, wanted);
    bool apart = sim->rules->long_lived_apart && lives_long(sim, &sim->replay->lifetimes[lifetime]);
    uint32_t pool = pool_of(sim, allocation.stream, pool_id_of(sim, &allocation), bytes <= SMALL_BYTES, apart);
    if (sim->gave_up)
        return AP_OK;
    return take(sim, pool, bytes, &sim->chunk_of[lifetime - sim->of->first_lifetime], reterr);
}

static void release(struct ap_sim *sim, uint32_t lifetime)
{
    uint32_t *chunk = &sim->chunk_of[lifetime - sim->of->first_lifetime], index;
    if (*chunk == AP_NO_CHUNK)
        return;
    sim->chunks[*chunk].state = AP_CHUNK_FREE;
    ap_sim_settle(sim, *chunk, &index);
    *chunk = AP_NO_CHUNK;
}

/* The entry at which its bytes can be used again; AP_NO_ENTRY where they cannot. */
static uint32_t end_of(const struct ap_replay *replay, const struct ap_lifetime *lifetime)
{
    bool waits = lifetime->block != AP_NO_ENTRY && replay->snapshot->blocks[lifetime->block].state == AP_BLOCK_PENDING;
    return lifetime->free_completed != AP_NO_ENTRY || waits ? lifetime->free_completed : lifetime->free_requested;
}

/* Would the request have passed? */
static enum ap_status try_request(struct ap_sim *sim, uint32_t entry, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = sim->replay->snapshot;
    const struct ap_origin *origin = &snapshot->origins[snapshot->actions.origin[entry]];
    int64_t wanted = snapshot->actions.size_bytes[entry];
    sim->result.oom_count++;
    if (wanted <= 0 || wanted > MOST_BYTES)
        return AP_OK;
    int64_t bytes = rounded(sim->rules, wanted);
    uint32_t pool_index = pool_of(sim, origin->stream, origin->pool, bytes <= SMALL_BYTES, false);
    const struct ap_sim_pool *pool = &sim->pools[pool_index];
    if (sim->gave_up)
        return AP_OK;
    bool passes = find_free(sim, pool, bytes) != AP_NO_CHUNK;
    if (!passes && sim->rules->capacity_bytes) {
        AP_TRY(give_up_cache(sim, reterr));
        passes = needed_bytes(sim, pool, bytes) <= sim->rules->capacity_bytes - sim->reserved_bytes;
    }
    sim->result.oom_passed += passes;
    return AP_OK;
}

static enum ap_status follow_burst(struct ap_sim *sim, const struct ap_burst *burst, struct ap_error *reterr)
{
    if (burst->cause == AP_BURST_EMPTY_CACHE || (burst->cause == AP_BURST_RETRY && sim->rules->repeat_retries))
        return give_up_cache(sim, reterr);
    if (burst->cause == AP_BURST_COLLECTED && sim->rules->repeat_retries)
        release_oldest(sim, burst->bytes, true);
    return AP_OK;
}

static enum ap_status follow_entry(struct ap_sim *sim, uint32_t entry, struct ap_error *reterr)
{
    uint32_t name = sim->replay->snapshot->actions.name[entry].id, lifetime = sim->replay->lifetime_of[entry];
    if (name == AP_ACTION_OOM)
        return try_request(sim, entry, reterr);
    if (lifetime == AP_NO_LIFETIME)
        return AP_OK;
    if (name == AP_ACTION_ALLOC)
        return allocate(sim, lifetime, reterr);
    if (end_of(sim->replay, &sim->replay->lifetimes[lifetime]) == entry)
        release(sim, lifetime);
    return AP_OK;
}

static void note_peak(struct ap_sim *sim)
{
    if (sim->reserved_bytes > sim->result.peak_reserved_bytes)
        sim->result.peak_reserved_bytes = sim->reserved_bytes;
}

static enum ap_status follow_with(struct ap_sim *sim, struct ap_bursts *bursts, struct ap_error *reterr)
{
    struct ap_burst burst;
    bool more = ap_bursts_next(bursts, &burst);
    for (uint32_t i = 0; i < sim->of->entry_count && !sim->gave_up; i++) {
        if (more && burst.first_entry == sim->of->first_entry + i) {
            AP_TRY(follow_burst(sim, &burst, reterr));
            more = ap_bursts_next(bursts, &burst);
        }
        AP_TRY(follow_entry(sim, sim->of->first_entry + i, reterr));
        note_peak(sim);
    }
    return AP_OK;
}

static enum ap_status follow(struct ap_sim *sim, uint32_t device, struct ap_error *reterr)
{
    struct ap_bursts bursts;
    AP_TRY(ap_bursts_init(&bursts, sim->replay, device, reterr));
    enum ap_status status = follow_with(sim, &bursts, reterr);
    ap_bursts_release(&bursts);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- how it begins */

/* One stretch of a segment as it was. */
static enum ap_status lay(struct ap_sim *sim, uint32_t pool_index, uint64_t from, uint64_t to, enum ap_chunk_state state,
                          uint32_t *last, bool paged, struct ap_error *reterr)
{
    uint32_t index;
    if (from >= to)
        return AP_OK;
    int64_t bytes = to - from > (uint64_t)MOST_BYTES ? MOST_BYTES : (int64_t)(to - from);
    AP_TRY(ap_sim_new_chunk(sim, pool_index, from, bytes, &index, reterr));
    sim->chunks[index].paged = paged;
    sim->chunks[index].state = (uint8_t)state;
    if (*last != AP_NO_CHUNK)
        ap_sim_link_behind(sim, *last, index);
    else if (paged)
        sim->pools[pool_index].first = sim->pools[pool_index].last = index;
    *last = index;
    return AP_OK;
}

static enum ap_status lay_segment(struct ap_sim *sim, const struct ap_space *space, const struct ap_space_segment *segment,
                                  struct ap_error *reterr)
{
    uint32_t pool_index = pool_of(sim, segment->stream, segment->pool, segment->small, false), last = AP_NO_CHUNK;
    struct ap_sim_pool *pool = &sim->pools[pool_index];
    uint64_t at = segment->address;
    bool paged = segment->expandable && is_paged(sim, pool);
    if (sim->gave_up || segment->end - segment->address > (uint64_t)MOST_BYTES) {
        sim->gave_up = true;
        return AP_OK;
    }
    if (paged && pool->last == AP_NO_CHUNK) {
        pool->base = segment->address;
    } else if (paged) {
        last = pool->last;
        AP_TRY(lay(sim, pool_index, sim->chunks[last].address + (uint64_t)sim->chunks[last].bytes, segment->address,
                   AP_CHUNK_UNMAPPED, &last, true, reterr));
    }
    for (uint32_t i = 0; i < segment->used_count; i++) {
        const struct ap_space_block *block = &space->used[segment->first_used + i];
        AP_TRY(lay(sim, pool_index, at, block->address, AP_CHUNK_FREE, &last, paged, reterr));
        AP_TRY(lay(sim, pool_index, block->address, block->end, AP_CHUNK_USED, &last, paged, reterr));
        sim->chunk_of[block->lifetime - sim->of->first_lifetime] = last;
        at = block->end;
    }
    AP_TRY(lay(sim, pool_index, at, segment->end, AP_CHUNK_FREE, &last, paged, reterr));
    add_reserved(sim, (int64_t)(segment->end - segment->address));
    return AP_OK;
}

static enum ap_status lay_space(struct ap_sim *sim, const struct ap_space *space, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < space->segment_count && !sim->gave_up; i++)
        AP_TRY(lay_segment(sim, space, &space->segments[i], reterr));
    for (uint32_t i = 0; i < sim->chunk_count && !sim->gave_up; i++)
        if (sim->chunks[i].state != AP_CHUNK_USED)
            ap_sim_file(sim, i);
    return AP_OK;
}

static enum ap_status pack_space(struct ap_sim *sim, const struct ap_space *space, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < space->used_count && !sim->gave_up; i++)
        AP_TRY(allocate(sim, space->used[i].lifetime, reterr));
    return AP_OK;
}

static enum ap_status note_owned(struct ap_sim *sim, uint32_t device, struct ap_error *reterr)
{
    struct ap_space space;
    AP_TRY(ap_space_at(sim->replay, device, sim->of->entry_count, &space, reterr));
    sim->owned_capacity = (size_t)space.segment_count + 1;
    enum ap_status status = AP_ALLOC(sim->replay->gate, sim->owned, sim->owned_capacity, reterr);
    for (uint32_t i = 0; i < space.segment_count && status == AP_OK; i++) {
        const struct ap_space_segment *segment = &space.segments[i];
        if (segment->pool[0] || segment->pool[1])
            sim->owned[sim->owned_count++] =
                (struct ap_sim_owned){ segment->address, segment->end, { segment->pool[0], segment->pool[1] } };
    }
    ap_space_release(&space);
    return status;
}

static enum ap_status begin(struct ap_sim *sim, uint32_t device, struct ap_error *reterr)
{
    struct ap_space space;
    AP_TRY(ap_space_at(sim->replay, device, 0, &space, reterr));
    if (space.segment_count && space.segments[space.segment_count - 1].end < UINT64_MAX / 4)
        sim->next_address = space.segments[space.segment_count - 1].end + (UINT64_C(1) << 40);
    else
        sim->gave_up = space.segment_count > 0;
    enum ap_status status = AP_OK;
    if (!sim->gave_up)
        status = sim->rules->packed ? pack_space(sim, &space, reterr) : lay_space(sim, &space, reterr);
    ap_space_release(&space);
    sim->result.segment_allocs = sim->result.failed = 0;
    note_peak(sim);
    return status;
}

enum ap_status ap_sim_run(const struct ap_replay *replay, uint32_t device, const struct ap_sim_rules *rules,
                          struct ap_sim_result *ret_result, struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    struct ap_sim sim = { .replay = replay,
                          .of = of,
                          .rules = rules,
                          .spare = AP_NO_CHUNK,
                          .oldest = AP_NO_CHUNK,
                          .youngest = AP_NO_CHUNK,
                          .next_address = UINT64_C(1) << 40,
                          .work = (uint64_t)of->entry_count * WORK_PER_ENTRY + 100000 };
    AP_TRY(AP_ALLOC(replay->gate, sim.chunk_of, (size_t)of->lifetime_count + 1, reterr));
    memset(sim.chunk_of, 0xff, ((size_t)of->lifetime_count + 1) * sizeof(sim.chunk_of[0])); /* AP_NO_CHUNK */
    enum ap_status status = note_owned(&sim, device, reterr);
    AP_AND_THEN(status, begin(&sim, device, reterr));
    if (status == AP_OK && !sim.gave_up)
        status = follow(&sim, device, reterr);
    AP_FREE(replay->gate, sim.chunk_of, (size_t)of->lifetime_count + 1);
    AP_FREE(replay->gate, sim.owned, sim.owned_capacity);
    AP_FREE(replay->gate, sim.chunks, sim.chunk_capacity);
    AP_TRY(status);
    *ret_result = sim.result;
    ret_result->finished = !sim.gave_up;
    ret_result->end_reserved_bytes = sim.reserved_bytes;
    return AP_OK;
}
