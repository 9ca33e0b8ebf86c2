/* SPDX-License-Identifier: MIT
 * oom_request.h - what a failed request was. */
#ifndef AP_OOM_REQUEST_H
#define AP_OOM_REQUEST_H

#include "snapshot_part.h"

/** Live allocations that are like the request. */
struct ap_oom_alike {
    int64_t bytes;
    uint64_t count;
    bool known;
};

struct ap_oom_request {
    struct ap_oom_alike line, size; /* of the line that asked; of the size that was asked for, whoever made them */
    int64_t most_before_bytes;      /* the most that the line had got at once; known where line is */
    int64_t live_bytes;             /* of all that was in use; 0 = not known */
    int64_t request_bytes;          /* 0 = not known */
    int64_t logits_bytes;           /* it and live ones of as many values, where it has the shape of logits; else 0 */
    int64_t category_bytes[AP_OWNER_CATEGORY_COUNT_];
    enum ap_owner_category most; /* of them */
    bool in_first_update;        /* while the state of an optimizer was set up that no frame tells */
};

/** Adds shape, same_line, most_before_bytes, same_size, held_by, held_as, most_as, most_bytes and most_by: the request's
 *  size as a shape, who holds allocations like it, and what most of the memory is for. */
AP_MUST_CHECK enum ap_status ap_memory_put_oom_request(struct ap_snapshot_part *pass, struct ap_value *row,
                                                       const struct ap_oom *oom, struct ap_oom_request *ret_request,
                                                       struct ap_error *reterr);

#endif
