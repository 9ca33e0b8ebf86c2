/* SPDX-License-Identifier: MIT */
#include "rubric.h"
#include "rubric_text.h"

#include "poison.h"

struct ap_text ap_rubric_builtin(void)
{
    return (struct ap_text){ (const char *)ap_rubric_text, ap_rubric_text_bytes };
}
