/* SPDX-License-Identifier: MIT */
#include "strpool.h"

#include <string.h>

#include "same_bytes.h"

#include "poison.h"

/* Most texts come again soon: then neither hash nor table is asked. A text has one place here, by its first and last bytes:
 * whatever a file holds, at worst this costs a comparison each. */
#define RECENT_COUNT 1024
struct ap_recent_text {
    uint64_t head, tail;
    uint32_t bytes, start, id; /* id 0 = nothing */
};

void ap_strpool_init(struct ap_strpool *pool, struct ap_gate *gate)
{
    *pool = (struct ap_strpool){ .gate = gate };
}

void ap_strpool_release(struct ap_strpool *pool)
{
    ap_mem_free(pool->gate, pool->bytes, pool->bytes_capacity);
    AP_FREE(pool->gate, pool->starts, pool->starts_capacity);
    AP_FREE(pool->gate, pool->hashes, pool->hashes_capacity);
    AP_FREE(pool->gate, pool->slots, pool->slot_count);
    AP_FREE(pool->gate, pool->recent, pool->recent ? RECENT_COUNT : 0);
    *pool = (struct ap_strpool){ .gate = pool->gate };
}

void ap_strpool_freeze(struct ap_strpool *pool)
{
    AP_FREE(pool->gate, pool->hashes, pool->hashes_capacity);
    AP_FREE(pool->gate, pool->slots, pool->slot_count);
    AP_FREE(pool->gate, pool->recent, pool->recent ? RECENT_COUNT : 0);
    pool->recent = NULL;
    pool->hashes = pool->slots = NULL;
    pool->hashes_capacity = pool->slot_count = 0;
}

static void place(struct ap_strpool *pool, uint32_t id, uint32_t hash)
{
    size_t mask = pool->slot_count - 1;
    size_t slot = hash & mask;
    while (pool->slots[slot])
        slot = (slot + 1) & mask;
    pool->slots[slot] = id;
}

/* Made anew from the hashes, so that two of them are never there. */
static enum ap_status grow_slots(struct ap_strpool *pool, struct ap_error *reterr)
{
    size_t slot_count = pool->slot_count ? pool->slot_count * 2 : 1024;
    if (!pool->recent)
        AP_TRY(AP_ALLOC_CLEARED(pool->gate, pool->recent, RECENT_COUNT, reterr));
    AP_FREE(pool->gate, pool->slots, pool->slot_count);
    pool->slots = NULL;
    pool->slot_count = 0;
    AP_TRY(AP_ALLOC_CLEARED(pool->gate, pool->slots, slot_count, reterr));
    pool->slot_count = slot_count;
    for (uint32_t id = 1; id <= pool->count; id++)
        place(pool, id, pool->hashes[id]);
    return AP_OK;
}

static enum ap_status reserve(struct ap_strpool *pool, size_t more_bytes, struct ap_error *reterr)
{
    if (pool->bytes_used + more_bytes > UINT32_MAX || pool->count >= UINT32_MAX - 2)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4 GiB of distinct names or stacks: record a shorter run");
    AP_TRY(AP_RESERVE(pool->gate, pool->bytes, pool->bytes_capacity, pool->bytes_used + more_bytes + 1, reterr));
    AP_TRY(AP_RESERVE(pool->gate, pool->starts, pool->starts_capacity, pool->count + 3, reterr));
    AP_TRY(AP_RESERVE(pool->gate, pool->hashes, pool->hashes_capacity, pool->count + 2, reterr));
    if (pool->count + 1 > pool->slot_count / 8 * 5)
        AP_TRY(grow_slots(pool, reterr));
    return AP_OK;
}

/* 0 where the text is new. */
static uint32_t find(const struct ap_strpool *pool, const char *data, size_t bytes, uint32_t hash)
{
    if (AP_UNLIKELY(!pool->slot_count))
        return 0;
    size_t mask = pool->slot_count - 1;
    for (size_t slot = hash & mask; pool->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t id = pool->slots[slot];
        size_t start = pool->starts[id];
        if (pool->hashes[id] == hash && pool->starts[id + 1] - start == bytes &&
            ap_same_bytes(pool->bytes + start, data, bytes))
            return id;
    }
    return 0;
}

static enum ap_status add(struct ap_strpool *pool, const char *data, size_t bytes, uint32_t hash, uint32_t *ret_id,
                          struct ap_error *reterr)
{
    AP_TRY(reserve(pool, bytes, reterr));
    uint32_t id = (uint32_t)++pool->count;
    if (bytes)
        memcpy(pool->bytes + pool->bytes_used, data, bytes);
    pool->starts[id] = (uint32_t)pool->bytes_used;
    pool->bytes_used += bytes;
    pool->starts[id + 1] = (uint32_t)pool->bytes_used;
    pool->hashes[id] = hash;
    place(pool, id, hash);
    *ret_id = id;
    return AP_OK;
}

static enum ap_status find_or_add(struct ap_strpool *pool, const char *data, size_t bytes, uint32_t *ret_id,
                                  struct ap_error *reterr)
{
    uint32_t hash = (uint32_t)ap_hash_bytes(&pool->gate->hash_key, data, bytes);
    *ret_id = find(pool, data, bytes, hash);
    return *ret_id ? AP_OK : add(pool, data, bytes, hash, ret_id, reterr);
}

enum ap_status ap_strpool_intern(struct ap_strpool *pool, const char *data, size_t bytes, struct ap_str *ret_str,
                                 struct ap_error *reterr)
{
    if (AP_UNLIKELY(bytes < 4 || !pool->recent))
        return find_or_add(pool, data ? data : "", bytes, &ret_str->id, reterr); /* empty texts come without data */
    uint64_t head, tail;
    ap_ends_of(data, bytes, &head, &tail);
    size_t at = ((head * UINT64_C(0x9e3779b97f4a7c15)) ^ ((tail + bytes) * UINT64_C(0xd6e8feb86659fd93))) >> 54;
    struct ap_recent_text *recent = &pool->recent[at % RECENT_COUNT];
    if (AP_LIKELY(recent->id && recent->head == head && recent->tail == tail && recent->bytes == bytes &&
                  (bytes <= 16 || memcmp(pool->bytes + recent->start + 8, data + 8, bytes - 16) == 0))) {
        ret_str->id = recent->id;
        return AP_OK;
    }
    AP_TRY(find_or_add(pool, data, bytes, &ret_str->id, reterr));
    *recent = (struct ap_recent_text){ head, tail, (uint32_t)bytes, pool->starts[ret_str->id], ret_str->id };
    return AP_OK;
}

uint32_t ap_strpool_count(const struct ap_strpool *pool)
{
    return (uint32_t)pool->count;
}
