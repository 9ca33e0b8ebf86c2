/* SPDX-License-Identifier: MIT
 * op_inputs.h - what an operator was called with: its tensors with their sizes, types and places in memory, and its other
 * arguments, by number. All of it may be missing or nonsense. */
#ifndef AP_OP_INPUTS_H
#define AP_OP_INPUTS_H

#include "tensor_dims.h"

struct ap_op_inputs {
    struct ap_tensor_list tensors, strides; /* strides: their sizes are steps, in elements */
    struct ap_text concrete;                /* "Concrete Inputs" as written */
};

/** Any texts are fine. */
void ap_op_inputs_read(struct ap_op_inputs *inputs, struct ap_text dims, struct ap_text types, struct ap_text strides,
                       struct ap_text concrete);

/** The tensor, or the first one of the list, at this number; NULL where there is none. */
const struct ap_tensor_dims *ap_op_input(const struct ap_op_inputs *inputs, int number);

/** An argument that is no tensor, without quotation marks; empty where it is not told. */
struct ap_text ap_op_argument(const struct ap_op_inputs *inputs, int number);
/** False where it is not told. */
bool ap_op_flag(const struct ap_op_inputs *inputs, int number);
/** -1 where it is not told or no number. */
int64_t ap_op_integer(const struct ap_op_inputs *inputs, int number);
/** The numbers of "[1, 1]" or "(1,1)"; @limit at most. Returns how many; 0 where it is not told. */
int ap_op_integers(const struct ap_op_inputs *inputs, int number, int64_t *ret_integers, int limit);

/** Different elements in memory: what a broadcast repeats counts once. */
double ap_op_distinct(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor);
/** Do its neighbors lie apart in memory, with room between them that is not read? False where the steps are not known. */
bool ap_op_is_strided(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor);
/** How far neighbors along the dimension lie apart, in elements; 0 = not known. */
int64_t ap_op_step(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor, int dimension);
/** Do the channels of an image, its second dimension, lie apart and its rows together? False where the steps are not known,
 *  and of one channel, which lies either way. */
bool ap_op_is_channels_first(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *image);
/** Is its last dimension the one along which it lies in memory? True where the steps are not known. */
bool ap_op_is_row_major(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor);

#endif
