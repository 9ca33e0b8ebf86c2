/* SPDX-License-Identifier: MIT
 * section_conditions.c - what --fail-on asked for, and what of it holds. */
#include "sections.h"

#include "poison.h"

static const char *template_of(const struct ap_value *held)
{
    if (!held || held->type != AP_VALUE_BOOL)
        return "{n condition} not known: {p text}";
    return held->as.integer ? "{n condition} **fails**: {p text}" : "{n condition} passes: {p text}";
}

void ap_section_conditions(struct doc *doc)
{
    const struct ap_value *row = ap_value_first(ap_doc_at(doc, "conditions"));
    if (!row)
        return;
    doc->backend->section(doc, "Conditions");
    ap_doc_begin(doc, DOC_LIST);
    for (; row; row = row->next)
        ap_doc_item(doc, row, template_of(ap_value_member(row, "held")));
    ap_doc_end(doc, DOC_LIST);
}
