/* SPDX-License-Identifier: MIT
 * left_over.c - how they are packed. */
#include "left_over.h"

#include <string.h>

#include "poison.h"

/* There is room for AP_LEFT_WORDS_MAX. */
static void pack(struct ap_left_over *left, uint64_t behind_ns, uint64_t length_ns)
{
    uint32_t *to = left->words + left->count;
    bool is_far = behind_ns >= AP_LEFT_IS_FAR || length_ns > UINT32_MAX;
    if (is_far) {
        to[0] = AP_LEFT_IS_FAR;
        memcpy(to + 1, &behind_ns, sizeof(behind_ns));
        memcpy(to + 3, &length_ns, sizeof(length_ns));
    } else {
        to[0] = (uint32_t)behind_ns;
        to[1] = (uint32_t)length_ns;
    }
    left->count += is_far ? AP_LEFT_WORDS_MAX : 2;
}

enum ap_status ap_left_over_add(struct ap_left_over *left, struct ap_gate *gate, int64_t start_ns, int64_t end_ns,
                                struct ap_error *reterr)
{
    if (left->end_ns > left->start_ns && left->end_ns != start_ns) {
        AP_TRY(AP_RESERVE(gate, left->words, left->capacity, left->count + AP_LEFT_WORDS_MAX, reterr));
        pack(left, (uint64_t)left->start_ns - (uint64_t)left->packed_to_ns,
             (uint64_t)left->end_ns - (uint64_t)left->start_ns);
        left->packed_to_ns = left->end_ns;
        left->start_ns = start_ns;
    } else if (left->end_ns == left->start_ns) {
        left->start_ns = start_ns;
    }
    left->end_ns = end_ns;
    return AP_OK;
}

void ap_left_over_release(struct ap_left_over *left, struct ap_gate *gate)
{
    AP_FREE(gate, left->words, left->capacity);
}
