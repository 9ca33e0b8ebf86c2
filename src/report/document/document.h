/* SPDX-License-Identifier: MIT
 * document.h - what a report for people is made of: sections with headings, paragraphs, lists, tables, code. The sections
 * say what they have to say through it and know no markup; a back end writes it down, and is the one place of its format
 * where text of the input is made inert.
 *
 * Words of ours are literals with `code`, **strong** and *stressed* words, and links [words](#place). Templates are literals
 * with values of the model in them:
 *   {f path}  a figure, its unit told elsewhere     {F path}  with its unit, exact and rounded
 *   {r path}  rounded: 1.03 s, 20 MiB               {i path}  a number that counts nothing: a thread, an address
 *   {n path}  a name of the input, cut where long   {w path}  the same whole
 *   {p path}  a sentence                            {t path}  a point in time as the trace has it
 *   {c path}  a count as it is
 *   [...]     left out where a value in it is not known; not nested */
#ifndef AP_DOCUMENT_H
#define AP_DOCUMENT_H

#include "model_build.h"

struct doc;

enum doc_block {
    DOC_HEADING,   /* below that of the section */
    DOC_PARAGRAPH, /* also behind a list or a table */
    DOC_ALERT,
    DOC_LIST, /* of items; the number of one is how deep it is indented */
    DOC_NUMBERED_LIST,
    DOC_ITEM,
    DOC_NUMBERED_ITEM,
    DOC_ROW, /* of a grid; of cells */
    DOC_CELL
};

enum doc_text {
    DOC_NAME,       /* of the input: as code, cut at a hundred characters */
    DOC_WHOLE_NAME, /* the same without cutting: for paths */
    DOC_PROSE,      /* sentences of ours with words of the input in them: `code` stays code, words that stand for something
                       else than themselves in some format become code */
    DOC_FIGURE      /* what ap_figure_format made of a number */
};

enum doc_form {
    FORM_NAME,   /* text: a name of the input */
    FORM_PROSE,  /* text: a sentence */
    FORM_ID,     /* a number that counts nothing (thread, address): as it is, as code */
    FORM_NUMBER, /* a number, unit in the column's title */
    FORM_FULL    /* a number with its unit, and rounded to something handy where it is long */
};

struct doc_column {
    const char *key;   /* member of the row, or the path of one; NULL: the row itself; "*": the row's own key */
    const char *title; /* with the unit */
    enum doc_form form;
    const char *from; /* path of an object to look the row's key up in, instead of the row; NULL = the row */
};

#define DOC_MAX_COLUMNS 16

#define NAME(its_key, its_title)                              \
    {                                                         \
        .key = its_key, .title = its_title, .form = FORM_NAME \
    }
#define PROSE(its_key, its_title)                              \
    {                                                          \
        .key = its_key, .title = its_title, .form = FORM_PROSE \
    }
#define ID(its_key, its_title)                              \
    {                                                       \
        .key = its_key, .title = its_title, .form = FORM_ID \
    }
#define NUMBER(its_key, its_title)                              \
    {                                                           \
        .key = its_key, .title = its_title, .form = FORM_NUMBER \
    }
#define FULL(its_key, its_title)                              \
    {                                                         \
        .key = its_key, .title = its_title, .form = FORM_FULL \
    }

/** Rows of the model as a table. Columns whose key no row has are left out. */
struct doc_rows {
    const char *path;    /* of a list or of an object whose keys name the rows */
    const char *remark;  /* after "Rows of `path`", with its comma; NULL = none */
    const char *nonzero; /* rows whose count under this key is 0 are left out; NULL = none */
    size_t limit;        /* rows at most, where --top-n does not bound the list; 0 = all. What is left out is said */
    const struct doc_column *columns;
    size_t column_count;
};

/** A figure with what it is called where that is not the title of the catalogue. */
struct doc_figure {
    const char *path, *title;
};

#define FIGURE(its_path) \
    {                    \
        .path = its_path \
    }

/** What a format has to know. Blocks end in the order in which they began; lists may stay empty. */
struct doc_backend {
    void (*section)(struct doc *doc, const char *title);
    void (*begin)(struct doc *doc, enum doc_block block, int64_t number);
    void (*end)(struct doc *doc, enum doc_block block);
    /** Is nothing of the text within this block read? Then it need not be made. NULL: it always is. */
    bool (*is_unread)(struct doc *doc);
    void (*say)(struct doc *doc, struct ap_text literal);
    void (*name)(struct doc *doc, struct ap_text name, bool is_cut);
    void (*prose)(struct doc *doc, struct ap_text text);
    void (*figure)(struct doc *doc, struct ap_text text);
    void (*code)(struct doc *doc, const char *language, struct ap_text text);
    /** A table that is written cell by cell: columns with a title and a form alone, at most DOC_MAX_COLUMNS. */
    void (*grid)(struct doc *doc, const struct doc_column *columns, size_t count);
    void (*grid_end)(struct doc *doc);
    /** Tables of the model, a row after the other as long as there is room; NULL: there always is. */
    bool (*has_room)(struct doc *doc);
    void (*figures)(struct doc *doc); /* ends as a grid does */
    void (*figure_row)(struct doc *doc, const char *title, const char *path, const struct ap_value *value);
    /** @shown: of the rows. */
    void (*rows)(struct doc *doc, const struct doc_rows *rows, const bool *used, size_t shown);
    void (*row)(struct doc *doc, const struct doc_rows *rows, const bool *used, const struct ap_value *row);
    void (*rows_end)(struct doc *doc, const struct doc_rows *rows, size_t written, size_t shown);
    size_t most_rows; /* of a table; 0 = all */
};

/** A short form of the document. */
struct doc_brief {
    size_t findings;  /* that are told whole; the others get a line each */
    bool is_too_long; /* what was written so far is more than may be: nobody reads what follows */
};

/** The first member of what a back end needs. */
struct doc {
    const struct doc_backend *backend;
    const struct ap_model *model;
    const struct doc_brief *brief; /* NULL = all is told, code too */
    const struct ap_value *beside; /* where the next look-up of a row's key in another object begins */
    const struct ap_value **top;   /* the member of the report that was looked into last, where the next look-up begins */
};

/* ---- the model ---- */

/** What stands at @path of the report; NULL where nothing does. */
const struct ap_value *ap_doc_at(const struct doc *doc, const char *path);
/** There, and not null. */
bool ap_doc_known(const struct doc *doc, const char *path);
/** Is the report about files of other profilers, without a trace and a snapshot? */
bool ap_doc_is_of_profile(const struct doc *doc);
/** A bool that is there and false. */
bool ap_doc_false(const struct doc *doc, const char *path);
/** A count that is there and above 0, or a bool that is true. */
bool ap_doc_true(const struct doc *doc, const char *path);
/** The text at @path; empty where there is none. */
struct ap_text ap_doc_text_at(const struct doc *doc, const char *path);

/* ---- within a block ---- */

/** Words of ours, as they are. */
void ap_doc_say(struct doc *doc, const char *literal);
/** Words of an input: the back end escapes them as @kind asks. */
void ap_doc_text(struct doc *doc, enum doc_text kind, struct ap_text text);
/** A template about @of; NULL = the whole model. */
void ap_doc_tell(struct doc *doc, const struct ap_value *of, const char *template);
/** One value. @name: its key, or a path to it, which the catalogue knows; may be empty. */
void ap_doc_value(struct doc *doc, const struct ap_value *value, struct ap_text name, enum doc_form form);
/** A time or a size rounded as the findings' sentences have it: 1.03 s, 20 MiB; a dash for anything else. */
void ap_doc_rounded(struct doc *doc, const struct ap_value *value);
/** A count with thousands separated. */
void ap_doc_integer(struct doc *doc, int64_t number);

#define DOC_PATH_BYTES 100
/** The path of "{f path}", and where it goes on behind it. */
const char *ap_template_path(const char *placeholder, char path[DOC_PATH_BYTES]);

/* ---- blocks ---- */

/** Opens a block; end it with ap_doc_end() of the same kind. */
void ap_doc_begin(struct doc *doc, enum doc_block block);
/** An item: how deep it is indented, or its number. */
void ap_doc_begin_at(struct doc *doc, enum doc_block block, int64_t number);
/** Closes the block that was opened last. */
void ap_doc_end(struct doc *doc, enum doc_block block);
void ap_doc_heading(struct doc *doc, const char *literal);
/** A block of a template. */
void ap_doc_paragraph(struct doc *doc, const struct ap_value *of, const char *template);
void ap_doc_item(struct doc *doc, const struct ap_value *of, const char *template);
void ap_doc_prose_item(struct doc *doc, struct ap_text text);
void ap_doc_cell(struct doc *doc, const struct ap_value *of, const char *template);

/* ---- sections as data ---- */

/** A part of a section: of what it has, each is written, in the order of the members. */
struct doc_part {
    const char *only_if; /* a path: else the part is left out; NULL = never is */
    const char *says;    /* a paragraph: a template */
    const char *title;   /* of the table */
    const struct doc_figure *figures;
    size_t figure_count;
    bool skips_nothing; /* leave figures out that stand beside a count of 0, in an object below the topic's */
    struct doc_rows rows;
    const char *behind; /* a paragraph behind rows, where there are any */
    void (*write)(struct doc *doc);
};

#define COUNTED(array) (array), AP_COUNT_OF(array)
#define SAYS(template)   \
    {                    \
        .says = template \
    }
#define FIGURES(its_title, array)                                                \
    {                                                                            \
        .title = its_title, .figures = array, .figure_count = AP_COUNT_OF(array) \
    }
#define ROWS(its_title, ...)                        \
    {                                               \
        .title = its_title, .rows = { __VA_ARGS__ } \
    }
/* Within ROWS, outside of functions. */
#define COLUMNS(...)                                       \
    .columns = (const struct doc_column[]){ __VA_ARGS__ }, \
    .column_count = sizeof((const struct doc_column[]){ __VA_ARGS__ }) / sizeof(struct doc_column)
#define CALL(function)    \
    {                     \
        .write = function \
    }

struct doc_section {
    const char *title;
    const char *if_any[3];         /* paths: left out where none is known; none given = never is */
    const char *needs, *otherwise; /* a path: where it is not known, this paragraph is all; NULL = nothing */
    const struct doc_part *parts;
    size_t part_count;
};

/** The section with its heading and parts, or what it says instead; nothing where @section says to leave it out. */
void ap_doc_section(struct doc *doc, const struct doc_section *section);
/** Parts of a section; true where a table of one was not empty. */
bool ap_doc_parts(struct doc *doc, const struct doc_part *parts, size_t count);

/* ---- tables: document_rows.c ---- */

/** Tables of the model; false, and nothing is written, where they would be empty. @title: a heading; may be NULL.
 *  @skips_nothing: as in a part. */
bool ap_doc_figures(struct doc *doc, const char *title, const struct doc_figure *figures, size_t count, bool skips_nothing);
bool ap_doc_rows(struct doc *doc, const char *title, const struct doc_rows *rows);

/** The value of a cell; NULL where the row has none. */
const struct ap_value *ap_doc_row_value(struct doc *doc, const struct doc_column *column, const struct ap_value *row);
/** Does the column tell the key under which the row stands, in an object of rows? */
bool ap_doc_is_row_key(const struct doc_column *column);
/** Is it a column of words, and not of numbers? */
bool ap_doc_is_text(const struct doc_column *column);

#endif
