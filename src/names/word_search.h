/* SPDX-License-Identifier: MIT
 * word_search.h - many words sought in one text at once (Aho and Corasick): a step in their tree for each byte, however many
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

/** What was read of words: a node of their tree. State 0 is nothing, state 1 the start of the text. */
struct ap_word_state {
    uint16_t head, whole;    /* the first rule of which a word ends here: of all rules, of those for the whole text */
    uint16_t child, sibling; /* states with a letter more, and another letter in place of the last; 0 = none */
    uint16_t shorter;        /* the longest end of this that begins a word, too */
    char letter;             /* the last one, small */
};

struct ap_word_search {
    struct ap_gate *gate;
    size_t state_count, state_capacity;
    struct ap_word_state *states;
    uint16_t first[256]; /* states of one letter, by that, since most steps begin there */
};

/** @rules: the first one that matches decides. */
AP_MUST_CHECK enum ap_status ap_word_search_init(struct ap_word_search *search, struct ap_gate *gate,
                                                 const struct ap_word_rule *rules, size_t rule_count,
                                                 struct ap_error *reterr);
void ap_word_search_release(struct ap_word_search *search);

/** One text being read. */
struct ap_word_cursor {
    const struct ap_word_search *search;
    uint16_t state, first; /* first: rule found so far, or AP_WORD_NONE */
    bool in_head;
};

/** Before the first letter of a text; the head of the text comes first. */
struct ap_word_cursor ap_word_cursor_start(const struct ap_word_search *search);

/** The next letter of the text, in any case. */
void ap_word_cursor_read(struct ap_word_cursor *cursor, char letter);

#endif
