/* SPDX-License-Identifier: MIT
 * rubric_unmade.c - instead of rubric_builtin.c where what is built cannot be run while building: the rules that were
 * compiled in are read in each run. */
#include "rubric_text.h"
#include "rule.h"

#include "poison.h"

struct ap_text ap_rubric_builtin(void)
{
    return (struct ap_text){ (const char *)ap_rubric_text, ap_rubric_text_bytes };
}

enum ap_status ap_rubric_read_builtin(struct ap_gate *gate, struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    struct ap_text text = ap_rubric_builtin();
    return ap_rubric_parse(gate, text.data, text.bytes, "built-in rubric", ret_rubric, reterr);
}
