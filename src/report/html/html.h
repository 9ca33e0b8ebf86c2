/* SPDX-License-Identifier: MIT
 * html.h - a document in HTML: safe text, room, the back end of the sections. Private to src/report. */
#ifndef AP_HTML_H
#define AP_HTML_H

#include "document.h"
#include "out.h"

/** The whole file is smaller than this, whatever the input. */
#define HTML_MAX_BYTES 1500000
/** Of it for the script, the foot, and what is written without a look at the room. */
#define HTML_END_BYTES 50000

#define HTML_MAX_DEPTH 12
#define HTML_MAX_PARTS 96
#define HTML_ID_BYTES 24

/* What stands where: gathered by a writing that goes nowhere, so that what is above links only to what will be below. */
struct html_part {
    char id[HTML_ID_BYTES]; /* of a picture; that of a section is made of its title */
    const char *title;      /* a literal of ours */
    double height;          /* of the drawing, in its units; 0 = a section */
};
struct html_contents {
    struct html_part parts[HTML_MAX_PARTS];
    size_t count;
};

struct html {
    struct doc doc;             /* sections write into it */
    const struct ap_value *top; /* of doc */
    struct ap_out out;
    const struct ap_model *model;
    struct ap_gate *gate;
    struct ap_sink sink;
    uint64_t sunk_bytes;  /* given to the sink */
    uint64_t limit_bytes; /* lists end where the file would become longer; see ap_html_limit */
    bool section_is_open;
    bool opens_sections; /* those that begin now are not folded */
    bool skips, was_cut; /* no room: the block is left out; any was in this section */
    bool is_code, is_strong, is_stressed;
    const char *list_tag;
    int64_t depths[HTML_MAX_DEPTH]; /* of the items that are open */
    size_t item_count;
    const struct doc_column *grid_column; /* of the next cell */
    const struct doc_column *grid;
    struct html_contents *gathers;        /* NULL = this writing is for readers */
    const struct html_contents *contents; /* NULL = not known: nothing is linked */
    char figure_id[HTML_ID_BYTES];        /* of the one that is open */
};

/** A writer of nothing yet; ap_out_finish(&html->out) at the end. */
void ap_html_init(struct html *html, const struct ap_model *model, struct ap_sink sink);

/* ---- html_text.c: text. Nothing else in the writer may print text that is not a literal of ours. ---- */

/** Markup of ours, as it is: never a text of the input. */
void ap_html_string(struct html *html, const char *literal);
/** Formatted markup of ours, of numbers and words of ours alone. */
void ap_html_format(struct html *html, const char *format, ...) AP_PRINTF(2, 3);
/** Text of the input between tags or in a quoted attribute: never ends either, hides nothing; cut with an ellipsis behind
 *  @most code points. */
void ap_html_text(struct html *html, struct ap_text text, size_t most);
/** A name of the input as code. */
void ap_html_name(struct html *html, struct ap_text name);
/** Text between tags as the sections have it, whole: apostrophes stay. Nothing where there is no room. */
void ap_html_plain(struct html *html, struct ap_text text);
/** The same as code; @cut: with an ellipsis. */
void ap_html_code(struct html *html, struct ap_text text, bool cut);
/** A sentence with `code` in it. */
void ap_html_prose(struct html *html, struct ap_text text);
/** With one decimal, whatever the locale. */
void ap_html_number(struct html *html, double number);
/** One value as it reads well: 1.25 ms, 3.4 GiB, 39.6 %; a dash where it is not known. Texts as ap_html_text. */
void ap_html_value(struct html *html, const struct ap_value *value);
/** The same for a value whose @figure, not its key, tells a share from a quotient. */
void ap_html_measure(struct html *html, const struct ap_value *value, struct ap_text figure);
/** Markup of ours with values of @of in it, NULL = of the model:
 *    {v path}  a value as it reads well      {n path}  a name as code    {t path}  text
 *    {p path}  a sentence                    {c path}  a table's cell, to be sorted by */
void ap_html_tell(struct html *html, const struct ap_value *of, const char *template);
void ap_html_count(struct html *html, int64_t count);
void ap_html_time(struct html *html, int64_t ns);
void ap_html_bytes(struct html *html, int64_t bytes);
void ap_html_share(struct html *html, double ratio);
/** Ids and links are made of what stands here alone. @text: a literal of ours. */
void ap_html_slug(struct html *html, struct ap_text text);

/** Room for @bytes more below the limit. */
bool ap_html_has_room(const struct html *html, uint64_t bytes);
/** What follows may make the file @bytes longer, within the limit of the whole. */
void ap_html_limit(struct html *html, uint64_t bytes);

/* ---- html_document.c ---- */

/** End the section that is open. */
void ap_html_section_end(struct html *html);

/* ---- html_contents.c ---- */

/** Note what begins here, in a writing that gathers; else nothing. @id: of a picture, "" = a section. */
void ap_html_gather(struct html *html, const char *id, const char *title);
/** The drawing of the picture noted last is as high as this. */
void ap_html_gather_height(struct html *html, double height);
/** The picture of that id; NULL where the page has none. */
const struct html_part *ap_html_find_picture(const struct html *html, const char *id);
/** The figures that stand beside the title of a section that is closed. */
void ap_html_section_figures(struct html *html, const char *title);

/* ---- html_table.c: tables of the model, with figures that read well ---- */

/** Those of struct doc_backend. */
bool ap_html_has_room_for_row(struct doc *doc);
void ap_html_figures(struct doc *doc);
void ap_html_figure_row(struct doc *doc, const char *title, const char *path, const struct ap_value *value);
void ap_html_rows(struct doc *doc, const struct doc_rows *table, const bool *used, size_t shown);
void ap_html_row(struct doc *doc, const struct doc_rows *table, const bool *used, const struct ap_value *row);
void ap_html_rows_end(struct doc *doc, const struct doc_rows *table, size_t written, size_t shown);

/* ---- shortcuts ---- */

/** Sum and difference that stop at the ends of int64: a model may hold anything. */
int64_t ap_html_sum(int64_t a, int64_t b);
int64_t ap_html_less(int64_t a, int64_t b);

/** The value at a path of the report; NULL where there is none. */
const struct ap_value *ap_html_at(const struct html *html, const char *path);
/** Is a value there, and not null? */
bool ap_html_known(const struct html *html, const char *path);

#endif
