/* SPDX-License-Identifier: MIT */
#include "siphash.h"

#include "poison.h"

static uint64_t rotated(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void round_of(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] = rotated(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[2] = rotated(v[2], 32);
}

static void take_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    round_of(v);
    round_of(v);
    v[0] ^= word;
}

/* Little-endian, so that a key gives the same on every machine. */
static uint64_t word_of(const char *data, size_t bytes)
{
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++)
        word |= (uint64_t)(uint8_t)data[i] << 8 * i;
    return word;
}

uint64_t ap_siphash(const uint64_t key[2], struct ap_text text)
{
    uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                      key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573) };
    size_t whole = text.bytes / 8 * 8;
    for (size_t at = 0; at < whole; at += 8)
        take_word(v, word_of(text.data + at, 8));
    take_word(v, word_of(text.data + whole, text.bytes - whole) | (uint64_t)text.bytes << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        round_of(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void ap_siphash_key(struct ap_text secret, uint64_t ret_key[2])
{
    static const uint64_t of_words[2][2] = { { 0, 0 }, { 1, 0 } };
    ret_key[0] = ap_siphash(of_words[0], secret);
    ret_key[1] = ap_siphash(of_words[1], secret);
}
