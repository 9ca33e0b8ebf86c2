/* SPDX-License-Identifier: MIT
 * request_shape.h - what a number of bytes may be as a tensor. Only the number is recorded, and nearly every number factors
 * in many ways: so only what a second allocation confirms is told. */
#ifndef AP_REQUEST_SHAPE_H
#define AP_REQUEST_SHAPE_H

#include "allocation_owner.h"

/** Rows of logits: @rows x @words values of @value_bytes. */
struct ap_request_shape {
    int64_t rows, words;
    uint32_t value_bytes;
    bool may_be_half; /* twice the rows of values of half the bytes are as many bytes */
};

/** Is a request of so many bytes one row for each token of a batch, with a value for each word of a vocabulary? So it is
 *  where just one usual vocabulary (vocabulary_size.def) divides it and also an allocation of @list that is no activation,
 *  as an embedding or the last layer's weight would be; of several, the one whose weight has rows as wide as vectors of
 *  @list. False where nothing or more than one thing fits. */
bool ap_request_shape_find(int64_t request_bytes, const struct ap_owned *list, uint32_t count,
                           struct ap_request_shape *ret_shape);

#endif
