/* SPDX-License-Identifier: MIT
 * rubric_builtin.c - the rules that were compiled in: they were read when the program was built. */
#include "rubric_text.h"
#include "rule.h"

#include "poison.h"

struct ap_text ap_rubric_builtin(void)
{
    return (struct ap_text){ (const char *)ap_rubric_text, ap_rubric_text_bytes };
}

enum ap_status ap_rubric_read_builtin(struct ap_gate *gate, struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    struct ap_rubric *rubric;
    AP_TRY(ap_rubric_new(gate, &rubric, reterr));
    struct ap_arena arena = rubric->arena;
    *rubric = ap_rubric_made;
    rubric->arena = arena;
    rubric->document = ap_rubric_builtin();
    *ret_rubric = rubric;
    return AP_OK;
}
