/* SPDX-License-Identifier: MIT
 * md_conditions.c - what --fail-on asked for, and what of it holds. */
#include "md.h"

#include "poison.h"

static const char *outcome(const struct ap_value *held)
{
    if (!held || held->type != AP_VALUE_BOOL)
        return "not known";
    return held->as.integer ? "**fails**" : "passes";
}

void ap_md_conditions(struct md *md)
{
    const struct ap_value *row = ap_value_first(ap_md_at(md, "conditions"));
    if (!row)
        return;
    ap_md_string(md, "\n## Conditions\n\n");
    for (; row; row = row->next) {
        ap_md_string(md, "- ");
        ap_md_name(md, ap_value_text(ap_value_member(row, "condition")));
        ap_out_char(&md->out, ' ');
        ap_md_string(md, outcome(ap_value_member(row, "held")));
        ap_md_string(md, ": ");
        ap_md_prose(md, ap_value_text(ap_value_member(row, "text")));
        ap_out_char(&md->out, '\n');
    }
}
