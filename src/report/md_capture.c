/* SPDX-License-Identifier: MIT
 * md_capture.c - what to record next time, and the code that records it. */
#include "md.h"

#include "poison.h"

static void write_code(struct md *md, const char *path, const char *sentence)
{
    if (!ap_md_known(md, path))
        return;
    ap_md_string(md, sentence);
    ap_md_string(md, "\n\n```python\n");
    ap_out_text(&md->out, ap_value_text(ap_md_at(md, path))); /* of our own writing, without names of the input */
    ap_md_string(md, "```\n");
}

static void write_reason(struct md *md, const struct ap_value *reason)
{
    size_t rules = ap_value_count(ap_value_member(reason, "rules"));
    ap_md_string(md, "- ");
    ap_md_name(md, ap_value_text(ap_value_member(reason, "option")));
    ap_md_string(md, ": ");
    ap_md_prose(md, ap_value_text(ap_value_member(reason, "text")));
    if (rules) {
        ap_md_string(md, "; ");
        ap_md_integer(md, (int64_t)rules);
        ap_md_string(md, rules == 1 ? " rule asks for it" : " rules ask for it");
    }
    ap_md_string(md, ".\n");
}

void ap_md_capture(struct md *md)
{
    const struct ap_value *reason = ap_value_first(ap_md_at(md, "capture.reasons"));
    if (!reason)
        return;
    ap_md_string(md, "\n## What to record next time\n\n");
    for (; reason; reason = reason->next)
        write_reason(md, reason);
    write_code(md, "capture.trace_snippet", ap_md_known(md, "trace") ? "\nA trace that has what is missing in this one:" : "\nA trace:");
    write_code(md, "capture.snapshot_snippet", "\nThe memory snapshot, in a run of its own:");
}
