/* SPDX-License-Identifier: MIT
 * html.h - what the files of the HTML writer share: safe text, prose, tables, room. Private to src/report.
 *
 * The sections of the Markdown writer are written here as well: what they say goes through libcmark, what they show in
 * tables is written from the model. So the two reports cannot differ in what they tell. */
#ifndef AP_HTML_H
#define AP_HTML_H

#include "md.h"

/** Markdown between two tables; longer prose is cut. */
#define HTML_PROSE_BYTES 16384
/** The whole file is smaller than this, whatever the input. */
#define HTML_MAX_BYTES 1500000

struct html {
    struct md md; /* sections write into it; md.html leads back */
    struct ap_out out;
    const struct ap_model *model;
    struct ap_gate *gate;
    struct ap_sink sink;
    uint64_t sunk_bytes;  /* given to the sink */
    uint64_t limit_bytes; /* lists end where the file would become longer; see ap_html_limit */
    char *prose;          /* Markdown that is not rendered yet */
    size_t prose_bytes;
    char *line; /* what is rendered in line, with a byte before it */
    bool prose_was_cut;
    bool section_is_open;
    bool opens_sections; /* those that begin now are not folded */
};

/** A writer of nothing yet; ap_out_finish(&html->out) before ap_html_free. */
AP_MUST_CHECK enum ap_status ap_html_new(const struct ap_model *model, struct ap_sink sink, struct html **ret_html,
                                         struct ap_error *reterr);
void ap_html_free(struct html *html);

/* ---- html_text.c: text. Nothing else in the writer may print text that is not a literal of ours. ---- */

void ap_html_string(struct html *html, const char *literal);
void ap_html_format(struct html *html, const char *format, ...) AP_PRINTF(2, 3);
/** Text of the input between tags or in a quoted attribute: never ends either, hides nothing; cut with an ellipsis behind
 *  @most code points. */
void ap_html_text(struct html *html, struct ap_text text, size_t most);
/** A name of the input as code. */
void ap_html_name(struct html *html, struct ap_text name);
/** What of a name stands where room is for little: of a path its last part, with the function behind it. */
struct ap_text ap_html_label(struct ap_text name);
/** With one decimal, whatever the locale. */
void ap_html_number(struct html *html, double number);
/** One value as it reads well: 1.25 ms, 3.4 GiB, 39.6 %; a dash where it is not known. Texts as ap_html_text. */
void ap_html_value(struct html *html, const struct ap_value *value);
/** The same for a value whose @metric, not its key, tells a share from a quotient. */
void ap_html_measure(struct html *html, const struct ap_value *value, struct ap_text metric);
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

/* ---- html_flow.c: Markdown of the sections ---- */

/** Render what the sections have written since. */
void ap_html_flow(struct html *html);
/** The same as the content of one line: a heading, a cell. */
void ap_html_flow_inline(struct html *html);
void ap_html_flow_end(struct html *html);
/** A sentence with `code` in it, in line. */
void ap_html_prose(struct html *html, struct ap_text text);
/** An ap_sink for md.out. */
enum ap_status ap_html_take_prose(void *html, const char *data, size_t bytes, struct ap_error *reterr);

/* ---- html_table.c: the same tables as in Markdown ---- */

bool ap_html_table(struct html *html, const char *title, const struct md_table *table);
bool ap_html_figures(struct html *html, const char *title, const struct md_figure *figures, size_t count);

/* ---- the parts, each in a file html_<name>.c ---- */

void ap_html_findings(struct html *html);
void ap_html_pictures(struct html *html);

/* ---- shortcuts ---- */

/** Sum and difference that stop at the ends of int64: a model may hold anything. */
int64_t ap_html_sum(int64_t a, int64_t b);
int64_t ap_html_less(int64_t a, int64_t b);

const struct ap_value *ap_html_at(const struct html *html, const char *path);
bool ap_html_known(const struct html *html, const char *path);

#endif
