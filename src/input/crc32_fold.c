/* SPDX-License-Identifier: MIT
 * crc32_fold.c - gzip's checksum with the processor's carry-less product, for zlib's is a fifth of what inflating costs.
 *
 * A text is a polynomial over two elements, and its checksum the rest modulo gzip's P. 128 bits of it that stand n bits
 * before others can be replaced by what has the same rest: high half * (x^(n + 64) mod P) + low half * (x^n mod P), added to
 * those others. So 64 bytes at a time melt into the next 64, then into 16, of which zlib takes the rest. All bits are
 * reflected, as gzip has them, which turns the exponents into n + 32 and n - 32 below. */
#include "crc32_fold.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <zlib.h>

#include "poison.h"

static uint32_t crc32_plain(uint32_t crc, const uint8_t *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}

#if defined(__x86_64__)

#define FOLD __attribute__((target("pclmul,sse4.1")))
#define FOLD_MIN_BYTES 256

/* x^(n + 32) and x^(n - 32) modulo P, for 64 bytes and for 16. */
static const uint64_t over_64[2] = { UINT64_C(0x154442bd4), UINT64_C(0x1c6e41596) };
static const uint64_t over_16[2] = { UINT64_C(0x1751997d0), UINT64_C(0x0ccaa009e) };

FOLD static inline __m128i load(const uint8_t *data)
{
    return _mm_loadu_si128((const __m128i *)(const void *)data);
}

FOLD static inline __m128i fold(__m128i value, __m128i by, __m128i onto)
{
    __m128i low = _mm_clmulepi64_si128(value, by, 0x00), high = _mm_clmulepi64_si128(value, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

FOLD static uint32_t crc32_folded(uint32_t crc, const uint8_t *data, size_t bytes)
{
    __m128i far = load((const uint8_t *)over_64), near = load((const uint8_t *)over_16), lanes[4];
    uint8_t rest[16];
    for (size_t i = 0; i < 4; i++)
        lanes[i] = load(data + 16 * i);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)~crc));
    for (data += 64, bytes -= 64; bytes >= 64; data += 64, bytes -= 64)
        for (size_t i = 0; i < 4; i++)
            lanes[i] = fold(lanes[i], far, load(data + 16 * i));
    for (size_t i = 1; i < 4; i++)
        lanes[i] = fold(lanes[i - 1], near, lanes[i]);
    for (; bytes >= 16; data += 16, bytes -= 16)
        lanes[3] = fold(lanes[3], near, load(data));
    _mm_storeu_si128((__m128i *)(void *)rest, lanes[3]);
    return crc32_plain(crc32_plain(UINT32_MAX, rest, sizeof(rest)), data, bytes);
}

uint32_t ap_crc32(uint32_t crc, const uint8_t *data, size_t bytes)
{
    if (bytes >= FOLD_MIN_BYTES && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
        return crc32_folded(crc, data, bytes);
    return crc32_plain(crc, data, bytes);
}

#else

uint32_t ap_crc32(uint32_t crc, const uint8_t *data, size_t bytes)
{
    return crc32_plain(crc, data, bytes);
}

#endif
