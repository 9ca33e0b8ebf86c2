/* SPDX-License-Identifier: MIT
 * peak_causes.h - of what is in use at the peak, the parts that rules ask about. */
#ifndef AP_PEAK_CAUSES_H
#define AP_PEAK_CAUSES_H

#include "allocation_owner.h"

struct ap_peak_causes {
    int64_t buffers_bytes;         /* kept: zeros of a constructor, or of no pass or module, where no backward pass runs */
    int64_t recomputed_bytes;      /* activations that a forward made within the backward pass, as checkpoints do */
    int64_t gathered_bytes;        /* weights whose shards were gathered */
    int64_t gathered_pass_bytes;   /* all that the history gathers, over its backward passes */
    int64_t workspace_bytes;       /* of cuBLAS and cuDNN */
    int64_t table_gradients_bytes; /* dense ones of embeddings */
    int64_t frozen_bytes;          /* weights that get no gradient, where few others do */
    int64_t cast_bytes;            /* of weights, what is more than the casts take that forward passes make */
    int64_t cache_bytes;           /* of keys and values */
    uint64_t cache_count;          /* allocations of that */
    uint64_t cache_replaced_count; /* of all in the history those that a new one replaced */
};

/** Of a device that ap_owned_take listed. */
AP_MUST_CHECK enum ap_status ap_peak_causes_find(const struct ap_owners *owners, const struct ap_owned_device *owned,
                                                 struct ap_peak_causes *ret_causes, struct ap_error *reterr);

/** cast_bytes of these. */
AP_MUST_CHECK enum ap_status ap_peak_find_cast(const struct ap_owners *owners, const struct ap_owned_device *owned,
                                               int64_t *ret_bytes, struct ap_error *reterr);

#endif
