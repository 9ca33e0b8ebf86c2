/* SPDX-License-Identifier: MIT
 * word_search.h - many words sought in one text at once (Aho and Corasick): a step of a table for each byte, however many
 * words there are, so that long hostile names cost no more than their length. Knows nothing of kernels. */
#ifndef AP_WORD_SEARCH_H
#define AP_WORD_SEARCH_H

#include "mem.h"

#define AP_WORD_NONE UINT16_MAX

/** Words in lower case, separated by '|'; "^word" only at the start of the text. */
struct ap_word_rule {
    const char *words;
    bool head_only; /* found in the head of the text only, not behind it */
};

struct ap_word_search {
    struct ap_gate *gate;
    uint8_t class_of[256]; /* of a byte, in any case; 0 = stands in no word */
    unsigned class_count;
    size_t state_count, state_capacity;
    uint16_t *next; /* [state * class_count + class] */
    struct ap_word_hit {
        uint16_t head, whole; /* the first rule of which a word ends here: of all rules, of those for the whole text */
    } * hits;                 /* by state */
};

/** @rules: the first one that matches decides. */
AP_MUST_CHECK enum ap_status ap_word_search_init(struct ap_word_search *search, struct ap_gate *gate,
                                                 const struct ap_word_rule *rules, size_t rule_count,
                                                 struct ap_error *reterr);
void ap_word_search_release(struct ap_word_search *search);

/** One text being read. */
struct ap_word_cursor {
    const struct ap_word_search *search;
    size_t state;
    uint16_t first; /* rule found so far, or AP_WORD_NONE */
    bool in_head;
};

/** Before the first letter of a text; the head of the text comes first. */
struct ap_word_cursor ap_word_cursor_start(const struct ap_word_search *search);

static inline void ap_word_cursor_read(struct ap_word_cursor *cursor, char letter)
{
    const struct ap_word_search *search = cursor->search;
    cursor->state = search->next[cursor->state * search->class_count + search->class_of[(uint8_t)letter]];
    const struct ap_word_hit *hit = &search->hits[cursor->state];
    uint16_t found = cursor->in_head ? hit->head : hit->whole;
    if (found < cursor->first)
        cursor->first = found;
}

#endif
