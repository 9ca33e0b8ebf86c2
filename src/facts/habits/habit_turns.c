/* SPDX-License-Identifier: MIT
 * Passes of one model in turn, whose results are then put together: beams, texts that are embedded one by one. Names alone
 * tell them, so they are looked for where texts go in, which only the beginning of a model looks up. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_TURNS 4
#define LEAST_LAYERS 2
#define LEAST_OPERATORS 17 /* of a pass: shorter ones are loops over operators */
#define MOST_OPERATORS 4096
#define MOST_TO_RESULT 3 /* views of a result before it is kept */

static bool is_alike(const struct ap_habit_rows *rows, size_t at, size_t other)
{
    return rows->items[at].name == rows->items[other].name && ap_habit_is_of_step(rows, at, other);
}

/* An answer, with which no further pass goes on: probabilities, a position or a mean of what a pass has made. */
static bool is_answer(const struct ap_habit_rows *rows, size_t last)
{
    for (size_t at = last; at + MOST_TO_RESULT > last; at--) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
        if (words & (AP_BIT(PIECE) | AP_BIT(REDUCTION)) || ap_text_ends_with(name, "softmax"))
            return true;
        if (!AP_HAS(words, VIEW) || AP_HAS(words, HEAVY) || !at)
            return false;
    }
    return false;
}

/* Looks texts up and has layers, and chooses nothing. */
static bool is_whole_pass(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    uint64_t layers = 0;
    bool looks_up = false;
    for (size_t at = start; at < end; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        looks_up |= ap_text_is(ap_row_name(rows->trace, rows->items[at].row), "aten::embedding");
        layers += AP_HAS(words, HEAVY);
        if (words & (AP_BIT(CHOSEN) | AP_BIT(TOP) | AP_BIT(SCALAR)))
            return false;
    }
    return looks_up && layers >= LEAST_LAYERS;
}

/* Items before @end that have the names of those @period before them. */
static size_t count_alike(struct ap_habit_rows *rows, size_t end, size_t period)
{
    size_t count = 0;
    while (count + period < end && rows->looks_left && is_alike(rows, end - 1 - count, end - 1 - count - period)) {
        rows->looks_left--;
        count++;
    }
    return count;
}

static void add_turns(struct ap_habit_rows *rows, size_t start, size_t end, size_t turns)
{
    int64_t short_ns = 0;
    for (size_t at = start; at < end; at++)
        short_ns += ap_item_dispatch_ns(rows, &rows->items[at]) + (at > start ? ap_habit_lead_ns(rows, at) : 0);
    struct ap_habit *habit = ap_habit_add_in_pieces(rows->habits, AP_HABIT_pass_in_turn, rows->items[start].row, short_ns,
                                                    ap_share_of(short_ns, 1 - 1 / (double)turns));
    if (habit)
        ap_habit_take_names(rows->items + start, (end - start) / turns, habit->names);
    ap_habit_add_time(rows->habits, AP_HABIT_pass_in_turn, ap_item_start_ns(rows, &rows->items[start]),
                      ap_item_end_ns(rows, &rows->items[end - 1]));
}

/* @end: where results are put together. */
static void look_before(struct ap_habit_rows *rows, size_t end)
{
    for (size_t period = LEAST_OPERATORS; period < end && period <= MOST_OPERATORS && rows->looks_left; period++) {
        rows->looks_left--;
        if (!is_alike(rows, end - 1, end - 1 - period))
            continue;
        size_t turns = count_alike(rows, end, period) / period + 1;
        if (turns < LEAST_TURNS)
            continue;
        if (is_whole_pass(rows, end - period, end))
            add_turns(rows, end - turns * period, end, turns);
        return;
    }
}

void ap_habit_find_turns(struct ap_habit_rows *rows)
{
    ap_habit_begin_search(rows);
    for (size_t at = 1; at < rows->item_count; at++)
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), GATHER) && ap_habit_is_of_step(rows, at, at - 1) &&
            is_answer(rows, at - 1))
            look_before(rows, at);
}
