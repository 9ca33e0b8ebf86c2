/* SPDX-License-Identifier: MIT
 * op_cost_internal.h - the formulas of op_formula.def. Each is handed inputs with one tensor at least and a cost that knows
 * nothing but its kind and the type of the first tensor. */
#ifndef AP_OP_COST_INTERNAL_H
#define AP_OP_COST_INTERNAL_H

#include "op_cost.h"

/** Of one tensor, what a broadcast repeats once; -1 where its type is not known. */
double ap_cost_bytes(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor);
double ap_cost_elements(const struct ap_tensor_dims *tensor);
/** Adds; negative, which is not known, where one of them is: false then. */
bool ap_cost_sum(double *sum, double more);

typedef void ap_cost_formula(const struct ap_op_inputs *inputs, struct ap_call_cost *cost);

/* cost_of_products.c */
ap_cost_formula ap_cost_of_mm, ap_cost_of_addmm, ap_cost_of_addmv, ap_cost_of_grouped_mm, ap_cost_of_linear,
    ap_cost_of_matmul, ap_cost_of_own_product;
ap_cost_formula ap_cost_of_experts, ap_cost_of_mv, ap_cost_of_recurrent, ap_cost_of_recurrent_backward;
/* cost_of_convolutions.c */
ap_cost_formula ap_cost_of_convolution, ap_cost_of_conv, ap_cost_of_conv_transpose, ap_cost_of_library_conv;
ap_cost_formula ap_cost_of_cudnn_conv, ap_cost_of_depthwise_conv, ap_cost_of_library_conv_transpose;
ap_cost_formula ap_cost_of_convolution_backward, ap_cost_of_cudnn_backward_input;
/* cost_of_attention.c */
ap_cost_formula ap_cost_of_sdpa_flash, ap_cost_of_sdpa_biased, ap_cost_of_sdpa, ap_cost_of_flash_forward;
ap_cost_formula ap_cost_of_flash_library, ap_cost_of_efficient_forward, ap_cost_of_sdpa_backward;
ap_cost_formula ap_cost_of_sdpa_biased_backward, ap_cost_of_efficient_backward;
ap_cost_formula ap_cost_of_sdpa_cudnn_backward, ap_cost_of_sdpa_cpu_backward, ap_cost_of_flash_backward;
ap_cost_formula ap_cost_of_flash_library_backward, ap_cost_of_flash_packed, ap_cost_of_flash_packed_backward;
ap_cost_formula ap_cost_of_engine_attention, ap_cost_of_flash_three;

#endif
