/* SPDX-License-Identifier: MIT
 * early_gradients.h - gradients that a forward pass was run with, for nothing. */
#ifndef AP_EARLY_GRADIENTS_H
#define AP_EARLY_GRADIENTS_H

#include "allocation_owner.h"
#include "memory_ranges.h"

/** Bytes of gradients at the peak of @device that were there before the last of the activations beside them. 0 where they
 *  are needed: the peak is in an optimizer's step, or the history tells of optimizers but of none between the backward pass
 *  before and this forward pass, so that gradients of several passes are added up. */
int64_t ap_early_gradients(const struct ap_owners *owners, const struct ap_memory_ranges *ranges,
                           const struct ap_owned_device *device, bool *overflowed);

#endif
