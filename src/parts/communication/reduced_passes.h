/* SPDX-License-Identifier: MIT
 * reduced_passes.h - passes of DistributedDataParallel, and which of them reduce their gradients. */
#ifndef AP_REDUCED_PASSES_H
#define AP_REDUCED_PASSES_H

#include "collective_rows.h"
#include "part.h"

struct ap_ddp_passes {
    int64_t count, reduced_count; /* rows of its forward; those behind which gradients were reduced before the next one */
    int64_t surplus_ns;           /* what the all-reduces beyond one pass for each step of an optimizer take: on devices
                                   * while nothing computes */
};

/** Does the trace have such passes? */
bool ap_has_ddp_passes(const struct ap_trace *trace);

/** Of @collectives, which have their rows' own if there are such passes, all-reduces of @least_bytes and more are of
 *  gradients. */
AP_MUST_CHECK enum ap_status ap_find_ddp_passes(const struct ap_part_context *context,
                                                const struct ap_collective_rows *collectives, int64_t least_bytes,
                                                struct ap_ddp_passes *ret_passes, struct ap_error *reterr);

#endif
