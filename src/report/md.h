/* SPDX-License-Identifier: MIT
 * md.h - what the files of the Markdown writer share: safe text, figures, tables. Private to src/report. */
#ifndef AP_MD_H
#define AP_MD_H

#include "model_build.h"
#include "out.h"

struct html;

struct md {
    struct ap_out out;
    const struct ap_model *model;
    struct html *html; /* where tables go instead; NULL = this is the Markdown report */
    const struct ap_value *beside; /* where the next look-up of a row's key in another object begins */
};

/* ---- md_text.c: text. Nothing else in the writer may print text that is not a literal of ours. ---- */

/** A name of the input: inside code spans, cut at a hundred characters with an ellipsis (the JSON has it whole). */
void ap_md_name(struct md *md, struct ap_text name);
/** The same without cutting: for paths. */
void ap_md_whole_name(struct md *md, struct ap_text name);
/** Sentences of ours with words of the input in them: `code` stays code, words that some dialect would turn into a
 *  link, mention or formula become code, all other markup is written as text. */
void ap_md_prose(struct md *md, struct ap_text text);

/* ---- md_figure.c: numbers ---- */

enum md_form {
    MD_NAME,   /* text: a name of the input */
    MD_PROSE,  /* text: a sentence */
    MD_ID,     /* a number that counts nothing (thread, address): as it is, as code */
    MD_FIGURE, /* a number, unit in the column's title */
    MD_FULL    /* a number with its unit, and rounded to something handy where it is long */
};

/** One value. @name tells the kind of number where the type does not (see ap_md_suffix); may be empty. */
void ap_md_value(struct md *md, const struct ap_value *value, struct ap_text name, enum md_form form);
/** A time or a size rounded as the findings' sentences have it: 1.03 s, 20 MiB; "–" for anything else. */
void ap_md_rounded(struct md *md, const struct ap_value *value);
/** A count with thousands separated. */
void ap_md_integer(struct md *md, int64_t number);

/* ---- md_table.c: tables ---- */

struct md_column {
    const char *key;   /* member of the row, or the path of one; NULL: the row itself; "*": the row's own key */
    const char *title; /* with the unit */
    enum md_form form;
    const char *from;  /* path of an object to look the row's key up in, instead of the row; NULL = the row */
    const char *unit;  /* name that tells the suffix, where the key does not; NULL = the key */
};

struct md_table {
    const char *path;   /* of a list or of an object whose keys name the rows */
    const char *remark; /* after "Rows of `path`", with its comma; NULL = none */
    const char *nonzero; /* rows whose count under this key is 0 are left out; NULL = none */
    size_t limit;       /* rows at most, where --top-n does not bound the list; 0 = all. What is left out is said */
    const struct md_column *columns;
    size_t column_count;
};

#define MD_COLUMN(its_key, its_title, its_form) { .key = its_key, .title = its_title, .form = its_form }
#define MD_COLUMNS(array) .columns = (array), .column_count = AP_COUNT_OF(array)

/** False, and nothing is written, where the path is no list or object or has no rows. Columns whose key no row has are
 *  left out. @title becomes a third-level heading. */
bool ap_md_table(struct md *md, const char *title, const struct md_table *table);

#define MD_MAX_COLUMNS 16

/* What the writers of tables share. */
const struct ap_value *ap_md_cell(struct md *md, const struct md_column *column, const struct ap_value *row);
bool ap_md_is_row_key(const struct md_column *column);
bool ap_md_is_text(const struct md_column *column);
bool ap_md_column_is_used(struct md *md, const struct md_column *column, const struct ap_value *rows);
bool ap_md_row_is_shown(const struct md_table *table, const struct ap_value *row);
size_t ap_md_count_shown(const struct md_table *table, const struct ap_value *rows);

struct md_figure {
    const char *path, *title;
};

/** Table of single values; those the tree does not have are left out, null ones say "not recorded". False, and nothing
 *  is written, where the tree has none of them. */
bool ap_md_figures(struct md *md, const char *title, const struct md_figure *figures, size_t count);

/* ---- shortcuts ---- */

void ap_md_string(struct md *md, const char *literal);
const struct ap_value *ap_md_at(const struct md *md, const char *path);
/** There, and not null. */
bool ap_md_known(const struct md *md, const char *path);
/** A bool that is there and false. */
bool ap_md_false(const struct md *md, const char *path);

/* ---- md_memory.c ---- */

/** Totals, pools, replay, post-mortem, segments, blocks: within the memory section. */
void ap_md_memory_use(struct md *md);
void ap_md_memory_owners(struct md *md);
/** A sentence for the verdict: how much was in use at the peak, for what, and who holds most. */
void ap_md_memory_bound(struct md *md);
/** Leaks, churn, fragmentation: within the memory section. */
void ap_md_memory_health(struct md *md);

/* ---- the sections, in md_sections.c and files of their own ---- */

void ap_md_alerts(struct md *md);
void ap_md_verdict(struct md *md);
/** What bounds the run, and the symptoms: part of the verdict. */
void ap_md_bound(struct md *md);
void ap_md_comparison(struct md *md);
void ap_md_series(struct md *md);
void ap_md_conditions(struct md *md);
void ap_md_findings(struct md *md);
void ap_md_not_evaluated(struct md *md);
void ap_md_warnings(struct md *md);
void ap_md_capture(struct md *md);

/** All that stands behind the findings, how to read it last. */
void ap_md_all_sections(struct md *md);
void ap_md_summary(struct md *md);
void ap_md_split(struct md *md);
void ap_md_data_loading(struct md *md);
void ap_md_cpu(struct md *md);
void ap_md_steps(struct md *md);
void ap_md_operators(struct md *md);
void ap_md_gpu(struct md *md);
void ap_md_critical_path(struct md *md);
void ap_md_communication(struct md *md);
void ap_md_compile(struct md *md);
void ap_md_accelerator(struct md *md);
void ap_md_launches(struct md *md);
void ap_md_syncs(struct md *md);
void ap_md_copies(struct md *md);
void ap_md_trace_memory(struct md *md);
void ap_md_joined(struct md *md);
void ap_md_memory(struct md *md);
void ap_md_trace(struct md *md);

#endif
