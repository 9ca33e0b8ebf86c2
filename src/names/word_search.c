/* SPDX-License-Identifier: MIT */
#include "word_search.h"

#include <string.h>

#include "poison.h"

#define CLASS_OTHER 0
#define CLASS_START 1 /* stands for "^", which no byte of a text is taken for */

static void classify_letters(struct ap_word_search *search, const struct ap_word_rule *rules, size_t rule_count)
{
    search->class_count = CLASS_START + 1;
    for (size_t i = 0; i < rule_count; i++) {
        for (const char *at = rules[i].words; *at; at++) {
            uint8_t letter = (uint8_t)*at;
            search->state_capacity++;
            if (letter == '|' || letter == '^' || search->class_of[letter])
                continue;
            search->class_of[letter] = (uint8_t)search->class_count++;
        }
    }
    search->state_capacity++; /* the root */
    for (unsigned letter = 'A'; letter <= 'Z'; letter++)
        search->class_of[letter] = search->class_of[letter - 'A' + 'a'];
}

static uint16_t earlier(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static void add_word(struct ap_word_search *search, const char *word, size_t bytes, uint16_t rule, bool head_only)
{
    size_t state = 0;
    for (size_t i = 0; i < bytes; i++) {
        unsigned letter = word[i] == '^' ? CLASS_START : search->class_of[(uint8_t)word[i]];
        uint16_t *next = &search->next[state * search->class_count + letter];
        if (!*next)
            *next = (uint16_t)search->state_count++;
        state = *next;
    }
    struct ap_word_hit *hit = &search->hits[state];
    hit->head = earlier(hit->head, rule);
    if (!head_only)
        hit->whole = earlier(hit->whole, rule);
}

static void add_words(struct ap_word_search *search, const struct ap_word_rule *rules, size_t rule_count)
{
    search->state_count = 1;
    for (size_t i = 0; i < rule_count; i++) {
        for (const char *at = rules[i].words; *at;) {
            size_t bytes = strcspn(at, "|");
            add_word(search, at, bytes, (uint16_t)i, rules[i].head_only);
            at += bytes;
            at += *at == '|';
        }
    }
}

/* Where no word goes on, go on from the longest end of what was read that begins a word. States are visited in order of
 * their depth, so that end is complete already. @queue and @fallback have room for all states. */
static void join_ends(struct ap_word_search *search, uint16_t *queue, uint16_t *fallback)
{
    size_t first = 0, last = 0, classes = search->class_count;
    fallback[0] = 0;
    queue[last++] = 0;
    while (first < last) {
        size_t state = queue[first++];
        const uint16_t *below = &search->next[fallback[state] * classes];
        for (size_t letter = 0; letter < classes; letter++) {
            uint16_t *next = &search->next[state * classes + letter];
            if (!*next) {
                *next = state ? below[letter] : 0;
                continue;
            }
            fallback[*next] = state ? below[letter] : 0;
            struct ap_word_hit *hit = &search->hits[*next], end = search->hits[fallback[*next]];
            hit->head = earlier(hit->head, end.head);
            hit->whole = earlier(hit->whole, end.whole);
            queue[last++] = *next;
        }
    }
}

enum ap_status ap_word_search_init(struct ap_word_search *search, struct ap_gate *gate, const struct ap_word_rule *rules,
                                   size_t rule_count, struct ap_error *reterr)
{
    *search = (struct ap_word_search){ .gate = gate };
    classify_letters(search, rules, rule_count);
    size_t next_bytes = search->state_capacity * search->class_count * sizeof(search->next[0]);
    size_t hit_bytes = search->state_capacity * sizeof(search->hits[0]);
    size_t queue_bytes = 2 * search->state_capacity * sizeof(uint16_t);
    search->next = ap_mem_cleared(gate, next_bytes);
    search->hits = ap_mem_resize(gate, NULL, 0, hit_bytes);
    uint16_t *queue = ap_mem_resize(gate, NULL, 0, queue_bytes);
    bool whole = search->next && search->hits && queue;
    if (whole) {
        memset(search->hits, 0xff, hit_bytes);
        add_words(search, rules, rule_count);
        join_ends(search, queue, queue + search->state_capacity);
    }
    ap_mem_free(gate, queue, queue_bytes);
    return whole ? AP_OK : ap_fail_memory(gate, reterr);
}

void ap_word_search_release(struct ap_word_search *search)
{
    AP_FREE(search->gate, search->next, search->state_capacity * search->class_count);
    AP_FREE(search->gate, search->hits, search->state_capacity);
    *search = (struct ap_word_search){ .gate = search->gate };
}

struct ap_word_cursor ap_word_cursor_start(const struct ap_word_search *search)
{
    return (struct ap_word_cursor){ search, search->next[CLASS_START], AP_WORD_NONE, true };
}
