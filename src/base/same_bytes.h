/* SPDX-License-Identifier: MIT
 * same_bytes.h - are two short texts the same? Without a call, which costs more than comparing them does. */
#ifndef AP_SAME_BYTES_H
#define AP_SAME_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t ap_word_at(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    return word;
}

static inline uint64_t ap_half_word_at(const char *text)
{
    uint32_t word;
    memcpy(&word, text, sizeof(word));
    return word;
}

/** The first and the last 8 bytes of a text of 4 at least, which overlap where it is shorter than 16 (of less than 8: the
 *  first and the last 4). With its length they tell a text of at most 16 bytes. */
static inline void ap_ends_of(const char *text, size_t bytes, uint64_t *ret_head, uint64_t *ret_tail)
{
    *ret_head = bytes >= 8 ? ap_word_at(text) : ap_half_word_at(text);
    *ret_tail = bytes >= 8 ? ap_word_at(text + bytes - 8) : ap_half_word_at(text + bytes - 4);
}

/** A text of 1 to 8 bytes, with 8 readable at @text: with its length it tells it. */
static inline uint64_t ap_short_text(const char *text, size_t bytes)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return ap_word_at(text) << (64 - 8 * bytes);
#else
    return ap_word_at(text) >> (64 - 8 * bytes);
#endif
}

/** Equal, both of @bytes? */
static inline bool ap_same_bytes(const char *a, const char *b, size_t bytes)
{
    uint64_t head_a, tail_a, head_b, tail_b;
    if (bytes > 16)
        return memcmp(a, b, bytes) == 0;
    if (bytes < 4)
        return !bytes || (a[0] == b[0] && a[bytes / 2] == b[bytes / 2] && a[bytes - 1] == b[bytes - 1]);
    ap_ends_of(a, bytes, &head_a, &tail_a);
    ap_ends_of(b, bytes, &head_b, &tail_b);
    return head_a == head_b && tail_a == tail_b;
}

#endif
