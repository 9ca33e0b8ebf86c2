/* SPDX-License-Identifier: MIT
 * Like layers side by side: heads, and a mixture of experts that runs each of them on all tokens, though a few were chosen
 * for each token. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_HEADS 4  /* of attention */
#define LEAST_LAYERS 8 /* of other passes whose results are put together */
#define LEAST_EXPERTS 4
#define MOST_EXPERTS 1024
#define CHOSEN_ITEMS 24 /* operators behind the choice, one of which is called with what was chosen */
#define EXPERT_ITEMS 64 /* operators of one expert */

/* ---- heads ---- */

/* Scores, their softmax, and what it weighs; a pass may begin anywhere. */
bool ap_habit_attends(const struct ap_habit_rows *rows, size_t start, size_t period)
{
    size_t products = 0, weighs = 0;
    for (size_t i = start; i < start + period; i++) {
        uint64_t words = ap_item_words(rows, &rows->items[i]);
        products += AP_HAS(words, HEAVY) && !AP_HAS(words, FORWARD);
        weighs += ap_text_is(ap_trace_text(rows->trace, rows->items[i].name), "aten::softmax");
    }
    return weighs == 1 && products == 2;
}

/* The last size of what the operator makes; 0 = not known. */
static int64_t width_made(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (!AP_HAS(words, HEAVY) || !ap_habit_read_tensors(rows, at, &list) || list.count < 2)
        return 0;
    const struct ap_tensor_dims *second = &list.tensors[1];
    return AP_HAS(words, WEIGHTED) ? second->count == 2 ? second->dims[0] : 0 : second->dims[second->count - 1];
}

/* Of the last pass before @end: the first layer of it. */
static size_t first_layer(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    while (start < end && !AP_HAS(ap_item_words(rows, &rows->items[start]), MODEL))
        start++;
    return start;
}

/* Heads, experts, rows: each pass begins with a tensor of the same sizes and makes one of another width, so none goes on
 * with what the one before has made; right behind the last one all results are put together. */
bool ap_habit_are_side_by_side(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period)
{
    struct ap_tensor_list one, other;
    size_t least = ap_habit_attends(rows, start, period) ? LEAST_HEADS : LEAST_LAYERS;
    size_t layer = first_layer(rows, end - period, end), before = layer - period, last = end;
    if (end >= rows->item_count || (end - start) / period < least || layer == end || before < start ||
        !AP_HAS(ap_item_words(rows, &rows->items[end]), GATHER) || rows->items[end].step != rows->items[start].step ||
        !ap_habit_is_same(rows, layer, before) || !ap_habit_read_tensors(rows, layer, &one) ||
        !ap_habit_read_tensors(rows, layer - (end - start) / period * period + period, &other) ||
        !ap_tensor_equal(&one.tensors[0], &other.tensors[0]))
        return false;
    while (last > layer && !AP_HAS(ap_item_words(rows, &rows->items[last - 1]), HEAVY))
        last--;
    int64_t width = last > layer ? width_made(rows, last - 1) : 0;
    return width && one.tensors[0].count && width != one.tensors[0].dims[one.tensors[0].count - 1];
}

/* ---- experts ---- */

struct choice {
    double tokens;
    int64_t experts, chosen; /* how many there are; how many of them are chosen for each token */
};

/* What was chosen is told by the first operator that is called with its numbers. */
static bool read_choice(struct ap_habit_rows *rows, size_t at, struct choice *ret_choice)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list))
        return false;
    const struct ap_tensor_dims scores = list.tensors[0];
    *ret_choice = (struct choice){ .tokens = ap_tensor_elements(&scores, 0, scores.count - 1),
                                   .experts = scores.dims[scores.count - 1] };
    if (ret_choice->experts < LEAST_EXPERTS || ret_choice->experts > MOST_EXPERTS || ret_choice->tokens < 2)
        return false;
    size_t most = (size_t)ret_choice->experts * EXPERT_ITEMS;
    for (size_t next = at + 1; next <= at + most && ap_habit_is_of_step(rows, at, next); next++) {
        bool has_sizes = ap_habit_read_tensors(rows, next, &list);
        if (AP_HAS(ap_item_words(rows, &rows->items[next]), TOP))
            return false;
        for (int i = 0; has_sizes && i < list.count; i++) {
            const struct ap_tensor_dims *tensor = &list.tensors[i];
            ret_choice->chosen = tensor->dims[tensor->count - 1];
            if (tensor->element == AP_ELEMENT_int64 && ret_choice->chosen < ret_choice->experts &&
                ap_tensor_elements(tensor, 0, tensor->count - 1) == ret_choice->tokens)
                return true;
        }
    }
    return false;
}

/* A layer that is called with all tokens. */
static bool is_of_all(struct ap_habit_rows *rows, size_t at, const struct choice *choice)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) || !ap_habit_read_tensors(rows, at, &list) || list.count < 2)
        return false;
    const struct ap_tensor_dims *x = &list.tensors[0];
    return x->count >= 2 && ap_tensor_elements(x, 0, x->count - 1) == choice->tokens;
}

/* The same layer as often as there are experts, each time with all tokens: what was not chosen is multiplied by zero. */
static enum ap_status look_at_choice(struct ap_habit_rows *rows, size_t at, size_t *ret_behind, struct ap_error *reterr)
{
    struct choice choice;
    size_t first = 0, last = 0, count = 0;
    if (!read_choice(rows, at, &choice))
        return AP_OK;
    size_t most = (size_t)choice.experts * EXPERT_ITEMS;
    for (size_t next = at + 1; next <= at + most && ap_habit_is_of_step(rows, at, next); next++) {
        if (AP_HAS(ap_item_words(rows, &rows->items[next]), TOP))
            break; /* the choice of the next layer */
        if (count ? !ap_habit_is_same(rows, first, next) : !is_of_all(rows, next, &choice))
            continue;
        first = count ? first : next;
        last = next;
        count++;
    }
    *ret_behind = last > at ? last : at + 1;
    if (count < (size_t)choice.experts || count % (size_t)choice.experts)
        return AP_OK;
    size_t end = last;
    for (size_t next = last + 1; next <= last + (last - first) / (count - 1) && ap_habit_is_of_step(rows, at, next); next++)
        end = is_of_all(rows, next, &choice) ? next : end;
    return ap_habit_add_stretch(rows, AP_HABIT_unused_expert, first, end, (double)choice.chosen / (double)choice.experts,
                                reterr);
}

enum ap_status ap_habit_find_experts(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    for (size_t at = 0, behind = 0; at < rows->item_count; at++)
        if (at >= behind && AP_HAS(ap_item_words(rows, &rows->items[at]), TOP))
            AP_TRY(look_at_choice(rows, at, &behind, reterr));
    return AP_OK;
}
