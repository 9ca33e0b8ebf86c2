/* SPDX-License-Identifier: MIT
 * section_capture.c - what to record next time, and the code that records it. */
#include "sections.h"

#include "poison.h"

static void write_reasons(struct doc *doc)
{
    ap_doc_begin(doc, DOC_LIST);
    for (const struct ap_value *reason = ap_value_first(ap_doc_at(doc, "capture.reasons")); reason; reason = reason->next) {
        ap_doc_item(doc, reason, "{n option}: {p text}.");
    }
    ap_doc_end(doc, DOC_LIST);
}

static void write_code(struct doc *doc, const char *path, const char *sentence)
{
    if (!ap_doc_known(doc, path))
        return;
    if (!doc->brief)
        ap_doc_paragraph(doc, NULL, sentence);
    doc->backend->code(doc, "python", ap_doc_text_at(doc, path));
}

void ap_section_capture(struct doc *doc)
{
    if (!ap_value_first(ap_doc_at(doc, "capture.reasons")))
        return;
    doc->backend->section(doc, "What to record next time");
    write_reasons(doc);
    write_code(doc, "capture.trace_snippet",
               ap_doc_known(doc, "trace") ? "A trace that has what is missing in this one:" : "A trace:");
    write_code(doc, "capture.snapshot_snippet", "The memory snapshot, in a run of its own:");
}
