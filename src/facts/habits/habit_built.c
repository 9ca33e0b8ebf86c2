/* SPDX-License-Identifier: MIT
 * Models that are built again and again to answer: weights are drawn, perhaps read from a file and copied over what was
 * drawn, and then a layer uses them. */
#include "habit_items.h"

#include "poison.h"

#define MOST_DRAWN 64 /* weights of one model that are remembered */
#define LEAST_BUILT 2 /* the first model has to be built */

/* What was drawn since the last layer. */
struct drawn {
    struct ap_tensor_dims weights[MOST_DRAWN];
    size_t count, first; /* first: item */
};

static bool draws_weight(const struct ap_habit_rows *rows, size_t at, struct ap_tensor_list *list)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return (ap_text_is(name, "aten::uniform_") || ap_text_is(name, "aten::normal_")) &&
           ap_habit_read_tensors(rows, at, list) && list->tensors[0].count > 1;
}

static void note_drawn(struct drawn *drawn, size_t at, const struct ap_tensor_dims *weight)
{
    if (!drawn->count)
        drawn->first = at;
    if (drawn->count < MOST_DRAWN)
        drawn->weights[drawn->count++] = *weight;
}

/* The layer's weight is one of those: noise that a model begins with is none. */
static bool uses_drawn(const struct ap_habit_rows *rows, size_t at, const struct drawn *drawn)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), WEIGHTED) || !ap_habit_read_tensors(rows, at, &list) ||
        list.count < 2)
        return false;
    for (size_t i = 0; i < drawn->count; i++)
        if (ap_tensor_equal(&drawn->weights[i], &list.tensors[1]))
            return true;
    return false;
}

/* Each layer ends what was drawn before it. */
static uint64_t go_over(struct ap_habit_rows *rows, bool adds)
{
    struct drawn drawn = { .count = 0 };
    struct ap_tensor_list list;
    uint64_t built = 0;
    for (size_t at = 0; at < rows->item_count; at++) {
        if (draws_weight(rows, at, &list))
            note_drawn(&drawn, at, &list.tensors[0]);
        if (!drawn.count || !AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY))
            continue;
        if (uses_drawn(rows, at, &drawn)) {
            int64_t dur_ns = ap_item_start_ns(rows, &rows->items[at]) - ap_item_start_ns(rows, &rows->items[drawn.first]);
            built++;
            if (adds) {
                (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_model_built, rows->items[drawn.first].row, dur_ns,
                                             dur_ns);
                ap_habit_add_time(rows->habits, AP_HABIT_model_built, ap_item_start_ns(rows, &rows->items[drawn.first]),
                                  ap_item_start_ns(rows, &rows->items[at]));
            }
        }
        drawn.count = 0;
    }
    return built;
}

void ap_habit_find_built(struct ap_habit_rows *rows)
{
    if (go_over(rows, false) >= LEAST_BUILT)
        (void)go_over(rows, true);
}
