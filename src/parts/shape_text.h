/* SPDX-License-Identifier: MIT
 * shape_text.h - what "Input Dims" and "Input type" of an operator say, as the trace writes them. */
#ifndef AP_SHAPE_TEXT_H
#define AP_SHAPE_TEXT_H

#include "model_build.h"

/** Is this a matrix multiplication of 8 or 16 bits whose rows in memory cannot all begin at a multiple of 16 bytes? True
 * where the last size of its second matrix, or (with @inner too) of its first, times the size of an element is no multiple
 * of 16 bytes. Of other operators, types and texts nothing is said: false. */
bool ap_shape_is_unaligned(struct ap_text operator_name, struct ap_text dims, struct ap_text types, bool inner);

/** The text on one line, at most some 200 bytes of it: lists of tensors make long ones, and some exporters write one number
 * a line. */
void ap_add_shape_text(struct ap_model *model, struct ap_value *row, const char *key, struct ap_text text);

#endif
