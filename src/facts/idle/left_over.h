/* SPDX-License-Identifier: MIT
 * left_over.h - inside the split: stretches of a gap about which one thread recorded nothing, for the next one to be asked.
 * There may be as many as rows, so they are packed in eight bytes each. */
#ifndef AP_LEFT_OVER_H
#define AP_LEFT_OVER_H

#include <string.h>

#include "mem.h"

/* Each is how far it lies behind the one before and how long it is, in 32 bits each where they have room. */
#define AP_LEFT_IS_FAR UINT32_MAX /* instead of the first number: both follow in 64 bits each */
#define AP_LEFT_WORDS_MAX 5

struct ap_left_over {
    uint32_t *words;
    size_t count, capacity;
    int64_t from_ns, packed_to_ns;
    int64_t start_ns, end_ns; /* the last one, which may grow yet; none where they are equal */
};

/** Where a walk over them is. */
struct ap_left_over_walk {
    size_t at;
    int64_t to_ns;
};

/** None are left over of what begins at @from_ns. */
static inline void ap_left_over_begin(struct ap_left_over *left, int64_t from_ns)
{
    left->count = 0;
    left->from_ns = left->packed_to_ns = left->start_ns = left->end_ns = from_ns;
}

/** In order of time and apart, but that one may begin where the last one ends: then they are one. */
AP_MUST_CHECK enum ap_status ap_left_over_add(struct ap_left_over *left, struct ap_gate *gate, int64_t start_ns,
                                              int64_t end_ns, struct ap_error *reterr);
static inline struct ap_left_over_walk ap_left_over_walk_of(const struct ap_left_over *left)
{
    return (struct ap_left_over_walk){ 0, left->from_ns };
}

/** False behind the last one. */
static inline bool ap_left_over_next(const struct ap_left_over *left, struct ap_left_over_walk *walk, int64_t *ret_start_ns,
                                     int64_t *ret_end_ns)
{
    if (walk->at >= left->count) { /* the one that is not packed */
        *ret_start_ns = left->start_ns;
        *ret_end_ns = left->end_ns;
        return walk->at++ == left->count && left->end_ns > left->start_ns;
    }
    const uint32_t *from = left->words + walk->at;
    uint64_t behind_ns = from[0], length_ns = from[1];
    if (from[0] == AP_LEFT_IS_FAR) {
        memcpy(&behind_ns, from + 1, sizeof(behind_ns));
        memcpy(&length_ns, from + 3, sizeof(length_ns));
    }
    walk->at += from[0] == AP_LEFT_IS_FAR ? AP_LEFT_WORDS_MAX : 2;
    *ret_start_ns = (int64_t)((uint64_t)walk->to_ns + behind_ns);
    *ret_end_ns = walk->to_ns = (int64_t)((uint64_t)*ret_start_ns + length_ns);
    return true;
}
void ap_left_over_release(struct ap_left_over *left, struct ap_gate *gate);

#endif
