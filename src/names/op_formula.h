/* SPDX-License-Identifier: MIT
 * op_formula.h - which formula counts the work of an operator, by its name. */
#ifndef AP_OP_FORMULA_H
#define AP_OP_FORMULA_H

#include "name_pattern.h"

enum ap_op_formula {
    AP_FORMULA_none,
#define AP_OP_FORMULA(formula, kind, names) AP_FORMULA_##formula,
#include "op_formula.def"
    AP_FORMULA_COUNT_
};

/** Kinds of work: what good kernels reach differs between them. */
enum ap_work_kind {
    AP_WORK_gemm,
    AP_WORK_convolution,
    AP_WORK_attention,
    AP_WORK_moe,
    AP_WORK_elementwise,
    AP_WORK_copy,
    AP_WORK_softmax,
    AP_WORK_normalization,
    AP_WORK_reduction,
    AP_WORK_index,
    AP_WORK_KIND_COUNT_
};

/** AP_FORMULA_none for an operator that is not in the table. */
enum ap_op_formula ap_op_formula_of(struct ap_text name);
/** The same for all names of a trace: the table is taken apart once. */
AP_MUST_CHECK enum ap_status ap_op_formulas_init(struct ap_name_patterns *set, struct ap_gate *gate,
                                                 struct ap_error *reterr);
enum ap_op_formula ap_op_formulas_find(const struct ap_name_patterns *set, struct ap_text name);
/** Not of AP_FORMULA_none. */
enum ap_work_kind ap_op_formula_kind(enum ap_op_formula formula);
/** As it stands in reports: "GEMM". */
const char *ap_work_kind_name(enum ap_work_kind kind);
/** Does it multiply matrices, convolve or attend: work that tensor cores do? */
bool ap_work_kind_multiplies(enum ap_work_kind kind);

#endif
