/* SPDX-License-Identifier: MIT
 * catalogue.h - every figure that a report can have: its name, unit and meaning, which way is better, who may name it.
 * The table is made from catalogue.def. */
#ifndef AP_CATALOGUE_H
#define AP_CATALOGUE_H

#include "base.h"

enum ap_unit { AP_UNIT_count, AP_UNIT_bytes, AP_UNIT_time, AP_UNIT_ratio, AP_UNIT_number, AP_UNIT_bool };
enum ap_better { AP_BETTER_lower, AP_BETTER_higher, AP_BETTER_neither };
/** The list of a comparison in which a figure stands. */
enum ap_compared { AP_COMPARED_none, AP_COMPARED_figures, AP_COMPARED_memory };

/** One row. Its texts are told by where they begin in ap_figure_texts: thousands of pointers would have to be set right
 * whenever the program starts. */
struct ap_figure_info {
    uint32_t path;    /* keys in the JSON report, without places in lists; "*" stands for any key */
    uint32_t meaning; /* sentences */
    uint32_t words;   /* in which rules speak of it; 0: they may not name it */
    uint32_t title;   /* for tables; 0: none is told */
    enum ap_unit unit;
    enum ap_better better;
    enum ap_compared compared;
    bool is_number; /* what conditions can name: neither a yes or no, nor what only names something */
    bool is_member; /* its row is one with "*" as well, under which lists tell it */
};

/** What a key is in, wherever it stands. */
struct ap_key_info {
    const char *key;
    enum ap_unit unit; /* AP_UNIT_count: of what has no fraction */
    const char *sign;  /* "times" of a ratio that is no share, "GB/s", "/s", "/step" of a number; NULL: none */
};

extern const struct ap_key_info ap_keys[]; /* those of numbers, in order of memcmp */
extern const size_t ap_key_count;
extern const char ap_figure_texts[];
extern const struct ap_figure_info ap_figures[]; /* in order of memcmp of the paths */
extern const size_t ap_figure_count;
/** Where a path stands: its figure plus 1, from the slot of its hash on; 0 = none. */
extern const uint16_t ap_figure_slots[];
extern const size_t ap_figure_slot_count;   /* a power of two */
extern const uint16_t ap_pattern_figures[]; /* those with a "*" */
extern const size_t ap_pattern_figure_count;
/** Those that comparisons look at, in the order in which they tell them. */
extern const struct ap_figure_info *const ap_compared_figures[];
extern const size_t ap_compared_figure_count;

static inline const char *ap_figure_text(uint32_t text)
{
    return ap_figure_texts + text;
}

/** Key by key; a "*" of the pattern is any key. */
bool ap_catalogue_matches(struct ap_text path, const char *pattern);
/** The row of @path, or of the pattern that it matches; NULL where no report has it. */
const struct ap_figure_info *ap_catalogue_find(struct ap_text path);
/** The last key of @path; NULL where it is none of a number. */
const struct ap_key_info *ap_catalogue_key(struct ap_text path);
/** Its sign; "" where it has none. */
const char *ap_catalogue_sign(struct ap_text path);
/** Can a condition name it? */
bool ap_catalogue_has_number(struct ap_text path);
/** AP_UNIT_number for what is not known. */
enum ap_unit ap_catalogue_unit(struct ap_text path);
/** The same of its last key alone: of a column of any table. */
enum ap_unit ap_catalogue_key_unit(struct ap_text path);

#endif
