/* SPDX-License-Identifier: MIT
 * md_brief.h - which parts of the whole report its short form has, and how many rows of each. */
#ifndef AP_MD_BRIEF_H
#define AP_MD_BRIEF_H

#include <stdbool.h>
#include <stddef.h>

#include "base.h"

/** A short report has no more lines than this, where its forms allow. */
#define AP_MD_BRIEF_LINES 250
#define AP_MD_BRIEF_SECTIONS 64

/** A form of the short report; AP_BRIEF_LEVEL of md_brief.def. */
struct ap_md_form {
    size_t findings; /* told whole, the others in a line each */
    size_t percent;  /* of the rows that md_brief.def allows */
    int weight;      /* parts of less are left out */
};

/** The forms, from the longest to the shortest; NULL behind the last. */
const struct ap_md_form *ap_md_form(size_t i);

/** A part of a section in a form. */
struct ap_md_part {
    bool is_kept;
    size_t rows, items; /* of each table and list; 0 = all. Of lists, which are sentences, the shorter forms keep no less */
};

/** @heading: with what stands before the first one = "". */
struct ap_md_part ap_md_brief_part(const struct ap_md_form *form, const char *section, struct ap_text heading);

#endif
