/* SPDX-License-Identifier: MIT
 * json_scan.h - inside the json stage: work on text that lies in memory, between a cursor and scan.end.
 * The byte at scan.end is a NUL that belongs to the buffer, not to the text, and 64 readable bytes follow it, so that
 * loops stop there without asking and wide loads may run over. Every function returns one of three answers; after
 * AP_SCAN_MORE the caller brings more text and begins the token again. */
#ifndef AP_JSON_SCAN_H
#define AP_JSON_SCAN_H

#include "json_reader.h"

#define AP_SCAN_SLACK_BYTES 64

struct ap_element_reader;

enum ap_scan_result { AP_SCAN_OK, AP_SCAN_MORE, AP_SCAN_BAD };

enum ap_scan_odd {
    AP_ODD_NONFINITE,
    AP_ODD_BAD_UTF8,
    AP_ODD_RAW_CONTROL,
    AP_ODD_DUPLICATE,
    AP_ODD_QUOTE,
    AP_ODD_NOT_AVAILABLE,
    AP_ODD_PYTHON_WORD,
    AP_ODD_BACKSLASH,
    AP_ODD_PATH_END,
    AP_ODD_MEMBER_TYPE, /* a member of which members are wanted is no object */
    AP_ODD_COUNT_
};

/** As far as a backslash looks back for the drive of a Windows path, within its string. Who goes on in the middle of a
 *  string keeps so much of it in front. */
#define AP_SCAN_LOOK_BACK_BYTES 260

/** Oddities of a token that is not known to be complete yet: they go to the notes once it is. */
struct ap_scan_odds {
    uint32_t count[AP_ODD_COUNT_];
    const uint8_t *first[AP_ODD_COUNT_];
    bool any;
};

/** What one saw that looked from a backslash on; both NULL = nothing. It holds as long as the text does not move. */
struct ap_look {
    const uint8_t *from, *to;
};

struct ap_scan {
    const struct ap_scan_ops *ops;
    const uint8_t *end;
    bool at_eof;          /* nothing follows scan.end: a number may touch it */
    const uint8_t *at;    /* after BAD: the offending byte; after MORE: where text is missing */
    const char *expected; /* after BAD: what would have been right */
    bool paths_end;       /* within a Windows path a backslash before a quote may stand for itself, and the quote end it */
    struct ap_look to_colon, to_start, to_ending; /* for paths of Windows */
    struct ap_scan_odds odds;
};

static inline void ap_scan_forget_looks(struct ap_scan *scan)
{
    scan->to_colon = scan->to_start = scan->to_ending = (struct ap_look){ NULL, NULL };
}

/** Places in the grammar at which skipping can pause. */
enum ap_skip_label {
    AP_SKIP_VALUE,
    AP_SKIP_FIRST_ELEMENT,
    AP_SKIP_KEY,
    AP_SKIP_FIRST_KEY,
    AP_SKIP_IN_KEY,
    AP_SKIP_COLON,
    AP_SKIP_IN_STRING,
    AP_SKIP_AFTER
};

/** Where a value that is being skipped stands between two calls. */
struct ap_skip {
    uint32_t depth, depth_limit;
    uint8_t *is_object; /* one bit a level, depth_limit bits; between depth and label, which would else be read as one word
                         * that the processor has to wait for, as it was written in two */
    uint8_t label;      /* enum ap_skip_label */
    bool too_deep;      /* after BAD */
};

/* Flags of a string. */
#define AP_STRING_DECODE 1u /* holds escapes or broken UTF-8: differs from its raw text */

/** One instruction set's way of doing the work that is done per byte. */
struct ap_scan_ops {
    const char *name;
    /** First byte at or after @p that is not JSON white space. */
    const uint8_t *(*space)(const uint8_t *p);
    /** @p stands behind the opening quote: on OK *@p stands on the closing one. On MORE *@p stands where work can be
     *  taken up again, at a place between characters. */
    enum ap_scan_result (*string)(struct ap_scan *scan, const uint8_t **p, unsigned *flags);
    enum ap_scan_result (*number)(struct ap_scan *scan, const uint8_t **p);
    /** Skip one value, or what is left of it; on MORE *@p stands where the next call must go on. */
    enum ap_scan_result (*skip)(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p);
    /** One element with learned layout; see json_element.h. On OK alone *@p goes from its brace behind it. */
    enum ap_scan_result (*element)(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p);
};

#define REPEAT_8(c) c, c, c, c, c, c, c, c
#define REPEAT_32(c) REPEAT_8(c), REPEAT_8(c), REPEAT_8(c), REPEAT_8(c)

/** What text is compared with. Told elsewhere: compilers would make constants that they can see anew for each value. */
struct ap_scan_constants {
    uint8_t quotes[32], backslashes[32], last_controls[32], zeros[32], nines[32];
};
extern const struct ap_scan_constants ap_scan_constants;

/** The widest set this processor has; never NULL. */
const struct ap_scan_ops *ap_scan_best(void);
/** All sets this processor can run, for tests: count, or the @index-th. */
unsigned ap_scan_count(void);
const struct ap_scan_ops *ap_scan_at(unsigned index);

/** The rest of a string from a byte that needs care (quote, backslash, control, non-ASCII) on, up to the next plain byte
 *  or the closing quote (then *done). */
enum ap_scan_result ap_scan_string_special(struct ap_scan *scan, const uint8_t **p, unsigned *flags, bool *done);
/** true, false, null, the non-finite numbers and what else stands for them. */
enum ap_scan_result ap_scan_literal(struct ap_scan *scan, const uint8_t **p, enum ap_json_kind *ret_kind);

/** What a scan of a number has read at @p: Windows writes 1.#INF and the like where there is none. */
static inline enum ap_json_kind ap_scan_number_kind(const uint8_t *p)
{
    p += *p == '-';
    return p[1] == '.' && p[2] == '#' ? AP_JSON_NONFINITE : AP_JSON_NUMBER;
}

static inline enum ap_scan_result ap_scan_bad(struct ap_scan *scan, const uint8_t *at, const char *expected)
{
    scan->at = at;
    scan->expected = expected;
    return at >= scan->end ? AP_SCAN_MORE : AP_SCAN_BAD;
}

static inline void ap_scan_odd(struct ap_scan *scan, enum ap_scan_odd odd, const uint8_t *at)
{
    if (!scan->odds.count[odd]++)
        scan->odds.first[odd] = at;
    scan->odds.any = true;
}

#endif
