/* SPDX-License-Identifier: MIT */
#include "strpool.h"

#include <string.h>

#include "poison.h"

static uint64_t load64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof(value));
    return value;
}

static uint64_t load32(const char *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof(value));
    return value;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t high = (a >> 32) * (b >> 32), low = (a & 0xffffffffu) * (b & 0xffffffffu);
    uint64_t middle = (a >> 32) * (b & 0xffffffffu) + (a & 0xffffffffu) * (b >> 32);
    return high ^ low ^ (middle << 32) ^ (middle >> 32);
#endif
}

/* Multiply-and-fold over 16 bytes a step, seeded per run so that a file cannot be made to collide. */
static uint32_t hash_text(const char *data, size_t bytes, uint64_t seed)
{
    const uint64_t k0 = 0xa0761d6478bd642fu, k1 = 0xe7037ed1a0b428dbu;
    uint64_t state = seed ^ mix(bytes ^ k0, seed ^ k1);
    size_t at = 0;
    for (; at + 16 <= bytes; at += 16)
        state = mix(load64(data + at) ^ k0 ^ state, load64(data + at + 8) ^ k1);
    /* The rest by words that overlap what was taken already. */
    uint64_t a = 0, b = 0;
    if (bytes >= 8) {
        a = bytes - at >= 8 ? load64(data + at) : 0;
        b = load64(data + bytes - 8);
    } else if (bytes >= 4) {
        a = load32(data);
        b = load32(data + bytes - 4);
    } else if (bytes) {
        a = (uint64_t)(uint8_t)data[0] << 16 | (uint64_t)(uint8_t)data[bytes / 2] << 8 | (uint8_t)data[bytes - 1];
    }
    state = mix(a ^ k0 ^ state, b ^ k1 ^ seed);
    return (uint32_t)(state ^ (state >> 32));
}

void ap_strpool_init(struct ap_strpool *pool, struct ap_gate *gate)
{
    *pool = (struct ap_strpool){ .gate = gate };
}

void ap_strpool_release(struct ap_strpool *pool)
{
    ap_mem_free(pool->gate, pool->bytes, pool->bytes_capacity);
    ap_mem_free(pool->gate, pool->starts, pool->starts_capacity * sizeof(uint32_t));
    ap_mem_free(pool->gate, pool->hashes, pool->hashes_capacity * sizeof(uint32_t));
    ap_mem_free(pool->gate, pool->slots, pool->slot_count * sizeof(uint32_t));
    *pool = (struct ap_strpool){ .gate = pool->gate };
}

void ap_strpool_freeze(struct ap_strpool *pool)
{
    ap_mem_free(pool->gate, pool->hashes, pool->hashes_capacity * sizeof(uint32_t));
    ap_mem_free(pool->gate, pool->slots, pool->slot_count * sizeof(uint32_t));
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

static enum ap_status grow_slots(struct ap_strpool *pool, struct ap_error *reterr)
{
    size_t slot_count = pool->slot_count ? pool->slot_count * 2 : 1024;
    uint32_t *slots = ap_mem_cleared(pool->gate, slot_count * sizeof(uint32_t));
    if (!slots)
        return ap_fail_memory(pool->gate, reterr);
    ap_mem_free(pool->gate, pool->slots, pool->slot_count * sizeof(uint32_t));
    pool->slots = slots;
    pool->slot_count = slot_count;
    for (uint32_t id = 1; id <= pool->count; id++)
        place(pool, id, pool->hashes[id]);
    return AP_OK;
}

static enum ap_status reserve(struct ap_strpool *pool, size_t more_bytes, struct ap_error *reterr)
{
    if (pool->bytes_used + more_bytes > UINT32_MAX || pool->count >= UINT32_MAX - 2)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4 GiB of distinct names: record a shorter trace");
    AP_TRY(AP_RESERVE(pool->gate, pool->bytes, pool->bytes_capacity, pool->bytes_used + more_bytes + 1, reterr));
    AP_TRY(AP_RESERVE(pool->gate, pool->starts, pool->starts_capacity, pool->count + 3, reterr));
    AP_TRY(AP_RESERVE(pool->gate, pool->hashes, pool->hashes_capacity, pool->count + 2, reterr));
    if (pool->count + 1 > pool->slot_count / 8 * 5)
        AP_TRY(grow_slots(pool, reterr));
    return AP_OK;
}

enum ap_status ap_strpool_intern(struct ap_strpool *pool, const char *data, size_t bytes, struct ap_str *ret_str,
                                 struct ap_error *reterr)
{
    data = data ? data : ""; /* empty texts come without one */
    uint32_t hash = hash_text(data, bytes, pool->gate->hash_seed);
    if (AP_LIKELY(pool->slot_count)) {
        size_t mask = pool->slot_count - 1;
        for (size_t slot = hash & mask; pool->slots[slot]; slot = (slot + 1) & mask) {
            uint32_t id = pool->slots[slot];
            size_t start = pool->starts[id];
            if (pool->hashes[id] == hash && pool->starts[id + 1] - start == bytes &&
                memcmp(pool->bytes + start, data, bytes) == 0) {
                ret_str->id = id;
                return AP_OK;
            }
        }
    }
    AP_TRY(reserve(pool, bytes, reterr));
    uint32_t id = (uint32_t)++pool->count;
    if (bytes)
        memcpy(pool->bytes + pool->bytes_used, data, bytes);
    pool->starts[id] = (uint32_t)pool->bytes_used;
    pool->bytes_used += bytes;
    pool->starts[id + 1] = (uint32_t)pool->bytes_used;
    pool->hashes[id] = hash;
    place(pool, id, hash);
    ret_str->id = id;
    return AP_OK;
}

struct ap_text ap_strpool_text(const struct ap_strpool *pool, struct ap_str str)
{
    if (!str.id)
        return (struct ap_text){ "", 0 };
    return (struct ap_text){ pool->bytes + pool->starts[str.id], pool->starts[str.id + 1] - pool->starts[str.id] };
}

uint32_t ap_strpool_count(const struct ap_strpool *pool)
{
    return (uint32_t)pool->count;
}
