/* SPDX-License-Identifier: MIT
 * json_layout.h - inside the json stage: the learned layout of elements. */
#ifndef AP_JSON_LAYOUT_H
#define AP_JSON_LAYOUT_H

#include <string.h>

#include "json_element.h"
#include "json_names.h"
#include "json_scan.h"

#define AP_GAP_MAX_BYTES 64
#define AP_GAP_FOLLOWERS 6
#ifndef AP_GAP_MAX_COUNT /* smaller tables for fuzzers, whose texts are short */
#define AP_GAP_MAX_COUNT 1024
#define AP_CONTAINERS_BITS 11
#endif
#define AP_GAP_SLOTS (2 * AP_GAP_MAX_COUNT)

enum ap_gap_action {
    AP_GAP_STRING, /* the gap ends with the opening quote of a string */
    AP_GAP_OTHER,  /* the gap ends before the first byte of another value */
    AP_GAP_END,    /* the gap ends with the element's closing brace */
    AP_GAP_NEVER   /* a gap that fits nothing: where no follower is known */
};

/** The text between two values, and what reading it means. Each follows one other, so that what was read of the element
 *  before it is known with it. */
struct ap_gap {
    uint8_t text[AP_GAP_MAX_BYTES];
    /* How the value behind it was laid out last time: guessing right lets the processor go on with the next gap before it
     * has found the end of this value. */
    struct ap_guess {
        uint8_t shape[32]; /* a number and the byte behind it, as shape_of() tells digits from all else */
        uint32_t upto;     /* one bit for each of these bytes */
        uint8_t bytes;     /* of the value; AP_NO_GUESS */
        uint8_t first;     /* 0, or '0': a number of several digits that begins so is none */
    } guess;
    uint8_t bytes;
    uint8_t action;
    uint8_t way;        /* likewise, but for AP_GAP_END of one with repeated keys: what is rare is asked for there alone */
    uint8_t level;      /* after it: 0 = in the element, 1 = in a member object that is entered */
    uint8_t field;      /* whose value follows, or the place for unwanted ones */
    uint8_t parent;     /* after it, at level 1: a field of the member object; gaps in different ones differ */
    uint8_t fields_end; /* of the fields up to it, its own included, the last one, plus one */
    bool enters : 1;    /* it opens a member object: level 1 starts without keys */
    bool learnable : 1; /* its bytes alone say all: nothing odd was counted in it */
    uint64_t needed;    /* one bit for each byte of text */
    uint64_t seen;      /* keys read up to its end, one bit each: AP_ELEMENT_KEYS bits of the element, then of the member
                        * object that was entered last */
    uint64_t repeated;  /* those of them in it that had been read before it */
    const struct ap_gap *before;                /* the gap that it follows: each way through an element has its own */
    struct ap_gap *followers[AP_GAP_FOLLOWERS]; /* gaps that came after the next value, the last one first; then never */
};
/** No line of the cache is shared by two of them. */
_Static_assert(sizeof(void *) != 8 || sizeof(struct ap_gap) == 3 * 64, "no line of the cache is shared by two gaps");
#define AP_NO_GUESS 255
#define AP_NO_SHAPE ('0' - 1) /* shape_of() gives it for no text */

#define AP_LINE_BYTES 64 /* of the cache; gaps and containers begin with one */

/** The text of an array or object that was read whole, and nothing odd in it: where it comes again, it need not be read. */
struct ap_known_container {
    uint8_t text[AP_LINE_BYTES - 1];
    uint8_t bytes; /* 0 = no text */
};
#define AP_CONTAINERS_KNOWN (1 << AP_CONTAINERS_BITS)

/** Text that elements begin with again and again: up to a value that differs, with those before it of fields that repeat. */
struct ap_known_start {
    struct ap_gap *gap; /* its text; NULL = none */
    uint8_t value_count;
    struct ap_start_value {
        uint8_t field, at, bytes; /* at: from the byte behind the opening brace */
    } values[2];
};
#define AP_STARTS_KNOWN 64
#define AP_START_TRIES 4096 /* elements that may be asked for a start to learn */

struct ap_element_reader {
    struct ap_json_reader *json;
    const struct ap_json_field *fields;
    unsigned field_count;
    struct ap_json_span *spans;      /* of the element being read; one more than fields, for values that nobody wants */
    const struct ap_json_span *used; /* the spans of the element before, where those from used_end on are still clear */
    unsigned used_end;
    uint64_t between[2], between_mask[2]; /* the text from one element to the next, its opening brace included */
    uint8_t between_bytes;
    void *gaps_room, *containers_room;
    struct ap_gap *gaps; /* AP_GAP_MAX_COUNT; the first one is the opening brace */
    unsigned gap_count;
    uint16_t gap_slots[AP_GAP_SLOTS]; /* open addressing: numbers of gaps, by their text and the gap before; 0 = free */
    struct ap_gap never;
    unsigned resets;                               /* how often the table was full */
    struct ap_known_container *containers;         /* each at one of two places, which its first bytes tell */
    struct ap_known_start starts[AP_STARTS_KNOWN]; /* each at one place, which its values tell */
    uint8_t start_first_at, start_last_at;         /* where the first of these values begins, and the last one */
    uint16_t start_tries;
    uint8_t *skip_bits; /* nesting of skipped values */
    uint32_t skip_depth_limit;
    bool too_deep;
    char *key; /* a key with escapes, decoded */
    size_t key_capacity;
    struct ap_gap parsed_gaps[2], *parsed; /* gaps that are not learned; the one that was parsed last */
    struct ap_names names;
    char *decoded; /* for ap_element_text */
    size_t decoded_bytes;
    bool last_was_object, any_object; /* of the array being read */
    bool at_boundary;                 /* reading stands between two elements */
    const uint8_t *ahead_at;          /* between two elements, the later of which were read ahead; NULL = nowhere */
};

/** Does the text between two elements that is usual stand at @at? 16 bytes are readable there. */
static inline bool ap_layout_is_between(const struct ap_element_reader *element, const uint8_t *at)
{
    uint64_t text[2];
    memcpy(text, at, sizeof(text));
    return element->between_bytes && ((text[0] ^ element->between[0]) & element->between_mask[0]) == 0 &&
           ((text[1] ^ element->between[1]) & element->between_mask[1]) == 0;
}

/** The place of the start at @at, whose first AP_GAP_MAX_BYTES bytes are readable. */
static inline struct ap_known_start *ap_layout_start(struct ap_element_reader *element, const uint8_t *at)
{
    _Static_assert(AP_STARTS_KNOWN == 1 << (64 - 58), "a place is 6 bits");
    uint64_t last;
    memcpy(&last, at + element->start_last_at, sizeof(last));
    last ^= (uint64_t)at[element->start_first_at] << 29;
    return &element->starts[last * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

/** Remember how the element began whose opening brace stands before @at and which was read whole. */
void ap_layout_learn_start(struct ap_element_reader *element, const uint8_t *at);
/** The empty table. */
void ap_layout_init(struct ap_element_reader *element);
/** Parse the gap at *p, which follows @before, by the grammar into element->parsed; *p then stands behind it. */
enum ap_scan_result ap_layout_parse_gap(struct ap_scan *scan, struct ap_element_reader *element, const struct ap_gap *before,
                                        const uint8_t **p);
/** Remember element->parsed as following @before where it fits; NULL where it does not. */
struct ap_gap *ap_layout_learn(struct ap_element_reader *element, struct ap_gap *before, const uint8_t *text, size_t bytes);
/** A string of a field that may hold unescaped quotes ended too early: find its true end. */
enum ap_scan_result ap_layout_recover_quote(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t *start,
                                            const uint8_t **p);
/** Members of the element stand twice, one bit of @keys each, and the last one counts: forget what was taken from within
 *  those that were entered. */
void ap_layout_forget_members(struct ap_element_reader *element, uint64_t keys);

#endif
