/* SPDX-License-Identifier: MIT
 * random.h - numbers that look random and are the same in every run. */
#ifndef AP_RANDOM_H
#define AP_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* splitmix64 */
static inline uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/** 0..@below-1; @below must not be 0. */
static inline size_t random_below(struct random *random, size_t below)
{
    return (size_t)(random_next(random) % below);
}

/** True once in @in times. */
static inline int random_once_in(struct random *random, size_t in)
{
    return random_below(random, in) == 0;
}

#endif
