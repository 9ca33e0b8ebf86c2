/* SPDX-License-Identifier: MIT
 * tensor_layout.h - how the tensors of a call lie in memory, in words. */
#ifndef AP_TENSOR_LAYOUT_H
#define AP_TENSOR_LAYOUT_H

#include "base.h"

#define AP_LAYOUT_TEXT_BYTES 256

/** "contiguous, transposed": of each tensor of two dimensions or more, in the order of "Input Dims" and by "Input Strides".
 *  Empty where there is none, or where one of them is not known. Any texts are fine. */
struct ap_text ap_layout_text(struct ap_text dims, struct ap_text strides, char to[AP_LAYOUT_TEXT_BYTES]);

#endif
