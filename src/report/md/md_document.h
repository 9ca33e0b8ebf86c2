/* SPDX-License-Identifier: MIT
 * md_document.h - a document in CommonMark with GitHub's tables. */
#ifndef AP_MD_DOCUMENT_H
#define AP_MD_DOCUMENT_H

#include "document.h"
#include "out.h"

/* ---- the short form: which parts of the whole report it has, and how many rows of each ---- */

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

/** What the short form leaves out of a section. */
struct md_section {
    const char *title;
    uint64_t lines; /* left out */
    bool is_shown;  /* some of it is written */
};

struct md {
    struct doc doc;
    const struct ap_value *top; /* of doc */
    struct ap_out out;
    bool cell_is_empty; /* nothing stands in the cell that is open */
    /* ---- the short form ---- */
    const struct ap_md_form *form; /* NULL = the whole report */
    struct doc_brief brief;
    struct ap_out left_out;  /* where all goes that the form leaves out: its lines are counted */
    uint64_t lines_left_out; /* in all */
    uint64_t lines_told;     /* of them: before the section that is open */
    struct md_section sections[AP_MD_BRIEF_SECTIONS];
    size_t section_count;
    struct ap_md_part part; /* below the heading that was written last */
    uint64_t *only_lines;   /* NULL, or nobody reads what is written: whether it has more lines than a short report may have
                               is all that is asked, and they go there */
    size_t rows, most_rows; /* of the table or list that is open */
    bool heading_begins, row_is_left_out;
};

/** Markdown of @model to @sink, in @form; what is written is complete once ap_md_finish() said so. */
void ap_md_init(struct md *md, const struct ap_model *model, const struct ap_md_form *form, struct ap_sink sink);
/** A sink that keeps nothing. @self: a uint64_t, to which the lines are added. */
enum ap_status ap_md_count_lines(void *self, const char *data, size_t bytes, struct ap_error *reterr);
/** Says what the form left out, and ends. */
AP_MUST_CHECK enum ap_status ap_md_finish(struct md *md, struct ap_error *reterr);

#endif
