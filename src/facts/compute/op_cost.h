/* SPDX-License-Identifier: MIT
 * op_cost.h - the arithmetic of one call of an operator and the least bytes that it has to move, from its shapes: inputs
 * read once, output written once. A multiplication with its addition is two operations. */
#ifndef AP_OP_COST_H
#define AP_OP_COST_H

#include "op_formula.h"
#include "op_inputs.h"

struct ap_call_cost {
    enum ap_work_kind kind;
    double flops, bytes;     /* negative = not known */
    enum ap_element element; /* of the larger operand of products; of the first tensor else */
    double batch, m, n, k;   /* products of matrices: rows, columns, inner size; all 0 else */
    double weight_bytes;     /* of those, what the second matrix holds; of experts: of those that are met */
    double parameters;       /* elements of weights that a model holds: of products, convolutions, norms, tables; 0 else */
    double head_size, queries, keys;       /* attention; of packed sequences the longest; 0: not told */
    double pair_flops;                     /* attention: of a query and a key that meet; 0 else */
    double flops_least, flops_most;        /* attention over packed sequences, whose lengths are not told; 0 else */
    double tokens, query_bytes, key_bytes; /* of an engine's attention, whose step tells the lengths: of all queries, in and
                                              out, and of one key and value; 0 else */
    double groups, channels_per_group;     /* convolutions: input channels of a group; 0 else */
    double out_channels, places;           /* convolutions forward: places of the output, of all images; 0 else */
    double row_elements; /* of what is summed up or normalized together; 0 = not known, or it is no such work */
    double tokens_per_expert, experts; /* mixtures of experts; 0 else */
    double elements;                   /* of the first tensor; 0 = not known */
    bool is_transposed, is_backward;   /* convolutions */
    bool is_strided;                   /* an input of elementwise work lies apart in memory */
    bool is_mixed_layout;              /* its inputs lie along different dimensions */
    bool is_channels_first;            /* the image of a convolution, norm or pool lies so in memory */
    bool is_training;                  /* a batch norm that takes means of the batch, and keeps running ones */
    bool is_scattered;                 /* an index tells where it reads or writes */
    bool meets_doubles;                /* tensors of 64-bit floats and of floats of fewer bits in one call */
    bool narrows;                      /* copies wider floats into 8 bits */
    bool shortens;                     /* copies 32-bit floats into 16 bits */
    bool unpacks;                      /* copies 8 bits into floats of 16 */
    bool repeats;                      /* copies a tensor that is spread out, each element several times */
    double moved_elements;             /* read and written, where only the kernel tells how long each is; 0 else */
    double mask_bytes;                 /* attention: of a mask that is handed in as a tensor; 0 else */
    double passes;                     /* that good kernels sort with: over the least bytes; 0 = they do not sort */
};

/** @formula: not AP_FORMULA_none. What the shapes do not tell is negative or 0. */
void ap_op_cost_of(enum ap_op_formula formula, const struct ap_op_inputs *inputs, struct ap_call_cost *ret_cost);

#endif
