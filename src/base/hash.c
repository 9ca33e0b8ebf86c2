/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* getentropy */
#include "hash.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "poison.h"

#define WORD 8
#define BLOCK_BYTES (AP_HASH_BLOCK_WORDS * WORD)
#define PRIME ((UINT64_C(1) << 61) - 1)

_Static_assert(sizeof(struct ap_hash_key) <= 256, "getentropy gives no more at once");

/* Where the system has no random numbers, time and place in memory are all that a file cannot know. */
static void draw_without_system(struct ap_hash_key *key)
{
    uint64_t state = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)key << 20, words[sizeof(*key) / WORD];
    for (size_t i = 0; i < AP_COUNT_OF(words); i++)
        words[i] = ap_hash_scatter(ap_hash_scatter(state += UINT64_C(0x9e3779b97f4a7c15)));
    memcpy(key, words, sizeof(*key));
}

void ap_hash_key_draw(struct ap_hash_key *key)
{
    if (getentropy(key, sizeof(*key)) != 0)
        draw_without_system(key);
    key->point %= PRIME;
}

static uint64_t load64(const char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

static uint64_t load32(const char *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

static struct ap_wide add_pair(struct ap_wide sum, const uint64_t *keys, uint64_t a, uint64_t b)
{
    return ap_wide_sum(sum, ap_wide_product(a + keys[0], b + keys[1]));
}

static struct ap_wide sum_short(const uint64_t *keys, const char *data, size_t bytes)
{
    const struct ap_wide none = { 0, 0 };
    if (bytes >= WORD)
        return add_pair(none, keys, load64(data), load64(data + bytes - WORD));
    if (bytes >= WORD / 2)
        return add_pair(none, keys, load32(data), load32(data + bytes - WORD / 2));
    if (bytes)
        return add_pair(
            none, keys,
            (uint64_t)(uint8_t)data[0] << 16 | (uint64_t)(uint8_t)data[bytes / 2] << 8 | (uint8_t)data[bytes - 1], 0);
    return none;
}

/* At most a block; before @data may stand what the last words reach back into. @whole_bytes: of the whole text. */
static struct ap_wide sum_block(const uint64_t *keys, const char *data, size_t bytes, size_t whole_bytes)
{
    struct ap_wide sum = { 0, 0 };
    size_t at = 0;
    if (whole_bytes < 2 * WORD)
        return sum_short(keys, data, bytes);
    for (; at + 2 * WORD <= bytes; at += 2 * WORD)
        sum = add_pair(sum, keys + at / WORD, load64(data + at), load64(data + at + WORD));
    if (at < bytes)
        sum = add_pair(sum, keys + at / WORD, load64(data + bytes - 2 * WORD), load64(data + bytes - WORD));
    return sum;
}

/* (@value * point + @coefficient) modulo the prime, all below it. */
static uint64_t next_value(uint64_t value, uint64_t point, uint64_t coefficient)
{
    struct ap_wide product = ap_wide_product(value, point);
    uint64_t sum = (product.low & PRIME) + (product.low >> 61 | product.high << 3) + coefficient;
    sum = (sum & PRIME) + (sum >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t add_block(uint64_t value, uint64_t point, struct ap_wide sum)
{
    const uint64_t lowest = (UINT64_C(1) << 48) - 1;
    value = next_value(value, point, sum.low & lowest);
    value = next_value(value, point, (sum.low >> 48 | sum.high << 16) & lowest);
    return next_value(value, point, sum.high >> 32);
}

uint64_t ap_hash_bytes(const struct ap_hash_key *key, const void *data, size_t bytes)
{
    const char *text = data;
    uint64_t value = 0;
    size_t at = 0;
    for (; bytes - at > BLOCK_BYTES; at += BLOCK_BYTES)
        value = add_block(value, key->point, sum_block(key->words, text + at, BLOCK_BYTES, bytes));
    struct ap_wide last = sum_block(key->words, at ? text + at : text, bytes - at, bytes);
    struct ap_wide sum = ap_hash_add(ap_hash_add(key->plus, key->times[0], last.low), key->times[1], last.high);
    sum = ap_hash_add(sum, key->times[2], bytes);
    if (at)
        sum = ap_hash_add(sum, key->times[3], value);
    return ap_hash_scatter(sum.high);
}
