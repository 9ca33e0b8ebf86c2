/* SPDX-License-Identifier: MIT
 * rubric_source.h - the rules of references/interpretation.md as their parts, put there by tools/make_rubric.py at build
 * time. */
#ifndef AP_RUBRIC_SOURCE_H
#define AP_RUBRIC_SOURCE_H

#include <stddef.h>

struct ap_rule_source {
    int line, block_line; /* of the heading; of the first line of the block, behind its fence */
    const char *id, *title, *block;
    const char *texts[5]; /* as in enum ap_rule_text */
};

extern const struct ap_rule_source ap_rule_sources[];
extern const size_t ap_rule_source_count;

#endif
