/* SPDX-License-Identifier: MIT
 * hash.h - the one hash of all tables over input, under a key that each run draws anew.
 *
 * What a file can do: choose all texts and numbers, knowing this code, before the key is drawn. So two of them must meet
 * only by chance, whatever they are; the mean is taken over keys. That holds, and whoever changes this file owes the
 * same proof:
 *
 * - Numbers: high half of (times[0] * a + times[1] * b + ... + plus) modulo 2^128, with whole random 128-bit keys. This
 *   is Dietzfelbinger's strongly universal hash: the results of two different inputs are independent and each of the 2^64
 *   values is as likely as any other. The last step is a bijection and takes nothing away.
 * - A block of up to 128 bytes: the sum of (word + key) * (word + key) over pairs of its words, modulo 2^128: NH of
 *   Black, Halevi, Krawczyk, Krovetz and Rogaway (UMAC). Different blocks of equal length meet in 1 of 2^64 keys. Each
 *   product has keys of its own that are added, so no word can make it forget the seed of the others: where one factor is
 *   0, which a file cannot steer, the other products still stand. Words at the end overlap; with the length, which goes
 *   into the last step, they tell the text.
 * - A longer text: the sums of its blocks are coefficients, of less than 61 bits each, of a polynomial at a random point
 *   modulo 2^61 - 1. Of n blocks two texts meet at 3 n points at most of 2^61.
 *
 * Hence at most (3 n + 3) / 2^61 for any two inputs, in all 64 bits; and any bits of a result serve as a slot. */
#ifndef AP_HASH_H
#define AP_HASH_H

#include "base.h"

#define AP_HASH_BLOCK_WORDS 16

/** 128 bits. */
struct ap_wide {
    uint64_t low, high;
};

struct ap_hash_key {
    uint64_t words[AP_HASH_BLOCK_WORDS];
    uint64_t point; /* below 2^61 - 1 */
    struct ap_wide times[4], plus;
};

/** A fresh key from the system's random numbers. */
void ap_hash_key_draw(struct ap_hash_key *key);

static inline struct ap_wide ap_wide_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (struct ap_wide){ (uint64_t)product, (uint64_t)(product >> 64) };
#else
    uint64_t low = (a & 0xffffffffu) * (b & 0xffffffffu), high = (a >> 32) * (b >> 32);
    uint64_t one = (a >> 32) * (b & 0xffffffffu), other = (a & 0xffffffffu) * (b >> 32);
    uint64_t middle = (low >> 32) + (one & 0xffffffffu) + (other & 0xffffffffu);
    return (struct ap_wide){ middle << 32 | (low & 0xffffffffu), high + (one >> 32) + (other >> 32) + (middle >> 32) };
#endif
}

static inline struct ap_wide ap_wide_sum(struct ap_wide a, struct ap_wide b)
{
    uint64_t low = a.low + b.low;
    return (struct ap_wide){ low, a.high + b.high + (low < a.low) };
}

/** @sum + @times * @value */
static inline struct ap_wide ap_hash_add(struct ap_wide sum, struct ap_wide times, uint64_t value)
{
    sum = ap_wide_sum(sum, ap_wide_product(times.low, value));
    sum.high += times.high * value;
    return sum;
}

/** A bijection, so that numbers in a row do not come to lie in rows. */
static inline uint64_t ap_hash_scatter(uint64_t value)
{
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 29;
}

static inline uint64_t ap_hash_number(const struct ap_hash_key *key, uint64_t a)
{
    return ap_hash_scatter(ap_hash_add(key->plus, key->times[0], a).high);
}

static inline uint64_t ap_hash_pair(const struct ap_hash_key *key, uint64_t a, uint64_t b)
{
    return ap_hash_scatter(ap_hash_add(ap_hash_add(key->plus, key->times[0], a), key->times[1], b).high);
}

/** @data may be NULL where @bytes is 0. */
uint64_t ap_hash_bytes(const struct ap_hash_key *key, const void *data, size_t bytes);

#endif
