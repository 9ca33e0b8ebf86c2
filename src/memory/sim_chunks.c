/* SPDX-License-Identifier: MIT */
#include "sim_chunks.h"

#include "poison.h"

enum ap_status ap_sim_new_chunk(struct ap_sim *sim, uint32_t pool, uint64_t address, int64_t bytes, uint32_t *ret_index,
                                struct ap_error *reterr)
{
    uint32_t index = sim->spare;
    if (index != AP_NO_CHUNK) {
        sim->spare = sim->chunks[index].behind;
    } else {
        index = sim->chunk_count;
        AP_TRY(AP_RESERVE(sim->replay->gate, sim->chunks, sim->chunk_capacity, (size_t)index + 1, reterr));
        sim->chunk_count++;
    }
    sim->chunks[index] = (struct ap_chunk){
        .address = address, .bytes = bytes, .before = AP_NO_CHUNK, .behind = AP_NO_CHUNK, .pool = (uint16_t)pool
    };
    *ret_index = index;
    return AP_OK;
}

void ap_sim_link_behind(struct ap_sim *sim, uint32_t index, uint32_t fresh)
{
    struct ap_chunk *chunk = &sim->chunks[index];
    sim->chunks[fresh].before = index;
    sim->chunks[fresh].behind = chunk->behind;
    sim->chunks[fresh].paged = chunk->paged;
    if (chunk->behind != AP_NO_CHUNK)
        sim->chunks[chunk->behind].before = fresh;
    else if (chunk->paged)
        sim->pools[chunk->pool].last = fresh;
    chunk->behind = fresh;
}

void ap_sim_drop_chunk(struct ap_sim *sim, uint32_t index)
{
    struct ap_chunk *chunk = &sim->chunks[index];
    if (chunk->before != AP_NO_CHUNK)
        sim->chunks[chunk->before].behind = chunk->behind;
    else if (chunk->paged)
        sim->pools[chunk->pool].first = chunk->behind;
    if (chunk->behind != AP_NO_CHUNK)
        sim->chunks[chunk->behind].before = chunk->before;
    else if (chunk->paged)
        sim->pools[chunk->pool].last = chunk->before;
    chunk->behind = sim->spare;
    sim->spare = index;
}

static uint32_t *tree_of(struct ap_sim *sim, const struct ap_chunk *chunk)
{
    struct ap_sim_pool *pool = &sim->pools[chunk->pool];
    return chunk->state == AP_CHUNK_UNMAPPED ? &pool->unmapped_root : &pool->free_root;
}

static void remember_cached(struct ap_sim *sim, uint32_t index)
{
    struct ap_chunk *chunk = &sim->chunks[index];
    chunk->cached = true;
    chunk->older = sim->youngest;
    chunk->younger = AP_NO_CHUNK;
    if (sim->youngest != AP_NO_CHUNK)
        sim->chunks[sim->youngest].younger = index;
    else
        sim->oldest = index;
    sim->youngest = index;
}

static void forget_cached(struct ap_sim *sim, uint32_t index)
{
    struct ap_chunk *chunk = &sim->chunks[index];
    chunk->cached = false;
    if (chunk->older != AP_NO_CHUNK)
        sim->chunks[chunk->older].younger = chunk->younger;
    else
        sim->oldest = chunk->younger;
    if (chunk->younger != AP_NO_CHUNK)
        sim->chunks[chunk->younger].older = chunk->older;
    else
        sim->youngest = chunk->older;
}

void ap_sim_file(struct ap_sim *sim, uint32_t index)
{
    struct ap_chunk *chunk = &sim->chunks[index];
    ap_chunk_tree_insert(&sim->replay->gate->hash_key, sim->chunks, tree_of(sim, chunk), index);
    if (chunk->state == AP_CHUNK_FREE && !chunk->paged && chunk->before == AP_NO_CHUNK && chunk->behind == AP_NO_CHUNK)
        remember_cached(sim, index);
}

void ap_sim_unfile(struct ap_sim *sim, uint32_t index)
{
    ap_chunk_tree_remove(&sim->replay->gate->hash_key, sim->chunks, tree_of(sim, &sim->chunks[index]), index);
    if (sim->chunks[index].cached)
        forget_cached(sim, index);
}

void ap_sim_settle(struct ap_sim *sim, uint32_t index, uint32_t *ret_index)
{
    uint32_t behind = sim->chunks[index].behind, before = sim->chunks[index].before;
    if (behind != AP_NO_CHUNK && sim->chunks[behind].state == sim->chunks[index].state) {
        ap_sim_unfile(sim, behind);
        sim->chunks[index].bytes += sim->chunks[behind].bytes;
        ap_sim_drop_chunk(sim, behind);
    }
    if (before != AP_NO_CHUNK && sim->chunks[before].state == sim->chunks[index].state) {
        ap_sim_unfile(sim, before);
        sim->chunks[before].bytes += sim->chunks[index].bytes;
        ap_sim_drop_chunk(sim, index);
        index = before;
    }
    ap_sim_file(sim, index);
    *ret_index = index;
}

enum ap_status ap_sim_cut(struct ap_sim *sim, uint32_t index, int64_t bytes, enum ap_chunk_state rest_state,
                          uint32_t *ret_rest, struct ap_error *reterr)
{
    const struct ap_chunk chunk = sim->chunks[index];
    AP_TRY(ap_sim_new_chunk(sim, chunk.pool, chunk.address + (uint64_t)bytes, chunk.bytes - bytes, ret_rest, reterr));
    ap_sim_link_behind(sim, index, *ret_rest);
    sim->chunks[*ret_rest].state = (uint8_t)rest_state;
    sim->chunks[index].bytes = bytes;
    return AP_OK;
}
