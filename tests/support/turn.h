/* SPDX-License-Identifier: MIT
 * turn.h - the checks of a fuzz target that take turns: a fuzzer makes one of them for an input, which its bytes choose, and
 * so sees several times as many inputs; a replay makes all of them for each.
 *
 *     if (is_turn(data, bytes, 0, 2))
 *         check_one(data, bytes);
 *     if (is_turn(data, bytes, 1, 2))
 *         check_other(data, bytes); */
#ifndef AP_TURN_H
#define AP_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool is_turn(const uint8_t *data, size_t bytes, unsigned check, unsigned check_count)
{
#ifdef AP_FUZZ_TURNS
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * UINT64_C(0x100000001b3);
    return (sum >> 32) % check_count == check;
#else
    (void)data;
    (void)bytes;
    (void)check;
    (void)check_count;
    return true;
#endif
}

#endif
