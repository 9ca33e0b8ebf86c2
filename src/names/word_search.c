/* SPDX-License-Identifier: MIT */
#include "word_search.h"

#include <string.h>

#include "poison.h"

#define STATE_NOTHING 0
#define STATE_START 1 /* what "^" stands for */

/* The state with this letter more; 0 where there is none. */
static uint16_t longer(const struct ap_word_search *search, uint16_t state, char letter)
{
    if (state == STATE_NOTHING)
        return search->first[(unsigned char)letter];
    uint16_t child = search->states[state].child;
    while (child && search->states[child].letter != letter)
        child = search->states[child].sibling;
    return child;
}

/* Where no word goes on with the letter, on from the longest end of what was read that begins a word. */
static uint16_t step(const struct ap_word_search *search, uint16_t state, char letter)
{
    uint16_t next;
    while (!(next = longer(search, state, letter)) && state)
        state = search->states[state].shorter;
    return next;
}

static uint16_t add_state(struct ap_word_search *search, uint16_t state, char letter)
{
    uint16_t added = (uint16_t)search->state_count++;
    search->states[added] = (struct ap_word_state){ AP_WORD_NONE, AP_WORD_NONE, 0, search->states[state].child, 0, letter };
    search->states[state].child = added;
    if (state == STATE_NOTHING)
        search->first[(unsigned char)letter] = added;
    return added;
}

static uint16_t earlier(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static void add_word(struct ap_word_search *search, struct ap_text word, uint16_t rule, bool head_only)
{
    bool at_start = word.data[0] == '^';
    uint16_t state = at_start ? STATE_START : STATE_NOTHING;
    for (size_t i = at_start; i < word.bytes; i++) {
        uint16_t next = longer(search, state, word.data[i]);
        state = next ? next : add_state(search, state, word.data[i]);
    }
    struct ap_word_state *end = &search->states[state];
    end->head = earlier(end->head, rule);
    if (!head_only)
        end->whole = earlier(end->whole, rule);
}

static void add_words(struct ap_word_search *search, const struct ap_word_rule *rules, size_t rule_count)
{
    for (size_t i = 0; i < rule_count; i++) {
        for (const char *at = rules[i].words; *at;) {
            size_t bytes = strcspn(at, "|");
            add_word(search, (struct ap_text){ at, bytes }, (uint16_t)i, rules[i].head_only);
            at += bytes;
            at += *at == '|';
        }
    }
}

/* Which shorter state each has, and the rules that end there too. States are visited in the order of their depth, so that
 * the shorter one is complete already. @queue has room for all states. */
static void join_ends(struct ap_word_search *search, uint16_t *queue)
{
    struct ap_word_state *states = search->states;
    size_t first = 0, last = 0;
    queue[last++] = STATE_NOTHING;
    queue[last++] = STATE_START;
    for (; first < last; first++) {
        uint16_t parent = queue[first];
        for (uint16_t child = states[parent].child; child; child = states[child].sibling) {
            struct ap_word_state *state = &states[child];
            state->shorter = parent ? step(search, states[parent].shorter, state->letter) : STATE_NOTHING;
            state->head = earlier(state->head, states[state->shorter].head);
            state->whole = earlier(state->whole, states[state->shorter].whole);
            queue[last++] = child;
        }
    }
}

enum ap_status ap_word_search_init(struct ap_word_search *search, struct ap_gate *gate, const struct ap_word_rule *rules,
                                   size_t rule_count, struct ap_error *reterr)
{
    *search = (struct ap_word_search){ .gate = gate, .state_capacity = STATE_START + 1 };
    for (size_t i = 0; i < rule_count; i++)
        search->state_capacity += strlen(rules[i].words);
    uint16_t *queue = NULL;
    enum ap_status status = AP_ALLOC(gate, search->states, search->state_capacity, reterr);
    AP_AND_THEN(status, AP_ALLOC(gate, queue, search->state_capacity, reterr));
    if (status == AP_OK) {
        for (; search->state_count <= STATE_START; search->state_count++)
            search->states[search->state_count] = (struct ap_word_state){ .head = AP_WORD_NONE, .whole = AP_WORD_NONE };
        add_words(search, rules, rule_count);
        join_ends(search, queue);
    }
    AP_FREE(gate, queue, search->state_capacity);
    return status;
}

void ap_word_search_release(struct ap_word_search *search)
{
    AP_FREE(search->gate, search->states, search->state_capacity);
    *search = (struct ap_word_search){ .gate = search->gate };
}

struct ap_word_cursor ap_word_cursor_start(const struct ap_word_search *search)
{
    return (struct ap_word_cursor){ search, STATE_START, AP_WORD_NONE, true };
}

void ap_word_cursor_read(struct ap_word_cursor *cursor, char letter)
{
    cursor->state = step(cursor->search, cursor->state, ap_folded(letter));
    const struct ap_word_state *state = &cursor->search->states[cursor->state];
    cursor->first = earlier(cursor->first, cursor->in_head ? state->head : state->whole);
}
