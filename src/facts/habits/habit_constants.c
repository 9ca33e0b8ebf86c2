/* SPDX-License-Identifier: MIT
 * Masks, indices and other constants that are made anew. */
#include <string.h>

#include "habit_items.h"
#include "tensor_dims.h"

#include "poison.h"

#define LONG_MASK 512  /* attention over fewer positions is not where the time is; our choice */
#define MASK_INPUT 3   /* of scaled_dot_product_attention, as its inputs are counted */
#define LEAST_STEPS 3  /* in which a constant of one a step is the same */
#define LEAST_ROUND 4  /* operators: fewer may be parts of one constant */
#define LEAST_ROUNDS 3 /* that are equal to the next one */
#define MOST_TRIES 8
#define MOST_MAYBE 3 /* operators in a row that may be of the constant or of data */

/* Goes on with a constant: an operator of such work that makes no node (where nodes are counted). */
static bool is_of_constant(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_habit_item *item = &rows->items[at];
    if (AP_HAS(ap_item_words(rows, item), CONSTANT))
        return true;
    if (!ap_habit_is_call(rows, item))
        return false;
    return ap_item_sequence(rows, item) ? AP_HAS(ap_item_words(rows, item), OF_CONSTANT) &&
                                              ap_habit_sequence_after(rows, at) == ap_item_sequence(rows, item)
                                        : AP_HAS(ap_item_words(rows, item), OF_CONSTANT_ALONE);
}

/* Where the constant that is made of @at goes on: past work that data is computed with too, where more of it follows. */
static size_t go_on(const struct ap_habit_rows *rows, size_t at)
{
    for (size_t next = at + 1; next < rows->item_count && next <= at + MOST_MAYBE + 1; next++) {
        if (rows->items[next].step != rows->items[at].step)
            break;
        if (is_of_constant(rows, next))
            return next;
        if (!AP_HAS(ap_item_words(rows, &rows->items[next]), MAYBE_CONSTANT) || ap_item_sequence(rows, &rows->items[next]))
            break;
    }
    return at;
}

/* Of names, or of sizes, with the numbers that a counter begins and ends at. */
static uint64_t key_of(const struct ap_habit_rows *rows, size_t start, size_t end, bool of_sizes)
{
    uint64_t key = 0;
    for (size_t i = start; i < end; i++) {
        const struct ap_op_detail *op = ap_row_op(rows->trace, rows->items[i].row);
        key = key * UINT64_C(0x9E3779B97F4A7C15) + (!of_sizes ? ap_habit_name_at(rows, i) : op ? op->signature.id : 0);
        if (of_sizes && op)
            key = key * UINT64_C(0x9E3779B97F4A7C15) + ap_op_arguments(rows->trace, op).id;
    }
    return key;
}

static void note_constant(struct ap_habit_rows *rows, size_t start, size_t end, bool is_fixed)
{
    uint64_t key = key_of(rows, start, end, false), sizes = key_of(rows, start, end, true);
    uint64_t words = 0;
    int64_t dur_ns = ap_item_end_ns(rows, &rows->items[end - 1]) - ap_item_start_ns(rows, &rows->items[start]);
    for (size_t i = start; i < end; i++)
        words |= ap_item_words(rows, &rows->items[i]);
    size_t group = 0;
    while (group < rows->constant_count && rows->constants[group].key != key)
        group++;
    if (group == AP_HABIT_CONSTANTS_MAX)
        return;
    struct ap_habit_constants *constants = &rows->constants[group];
    if (group == rows->constant_count) {
        *constants = (struct ap_habit_constants){
            .key = key, .sizes = sizes, .words = words, .is_fixed = true, .row = rows->items[start].row
        };
        rows->constant_count++;
    }
    constants->is_fixed &= is_fixed && constants->sizes == sizes;
    constants->count++;
    constants->step_count += ap_per_step_has(&rows->habits->per_step, ap_item_start_ns(rows, &rows->items[start]));
    constants->total_ns = ap_add_sat(constants->total_ns, dur_ns, &rows->habits->overflowed);
    if (dur_ns <= constants->longest_ns && constants->count > 1)
        return;
    constants->longest_ns = dur_ns;
    constants->row = rows->items[start].row;
    ap_habit_take_names(rows, rows->items + start, end - start, constants->names);
}

static bool is_again(const struct ap_habit_rows *rows, size_t start, size_t period, size_t end)
{
    for (size_t i = start; i < start + LEAST_ROUNDS * period; i++)
        if (i + period < end && ap_habit_name_at(rows, i) != ap_habit_name_at(rows, i + period))
            return false;
    return true;
}

/* How many operators make one of several constants that follow each other, as anchors of each size do; all where it is one.
 * The first rounds tell, and few periods are tried. */
static size_t round_of(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    for (size_t period = LEAST_ROUND, tries = 0; start + (LEAST_ROUNDS + 1) * period <= end && tries < MOST_TRIES;
         period++) {
        if (ap_habit_name_at(rows, start + period) != ap_habit_name_at(rows, start))
            continue;
        tries++;
        if (is_again(rows, start, period, end))
            return period;
    }
    return end - start;
}

/* What puts the rounds together behind the last one goes uncounted. */
static void note_rounds(struct ap_habit_rows *rows, size_t start, size_t end, bool is_fixed)
{
    for (size_t round = is_fixed ? end - start : round_of(rows, start, end); end - start >= round; start += round)
        note_constant(rows, start, start + round, is_fixed);
}

void ap_habit_find_constants(struct ap_habit_rows *rows)
{
    for (size_t i = 0; i < rows->item_count; i++) {
        size_t start = i;
        if (!AP_HAS(ap_item_words(rows, &rows->items[i]), CONSTANT))
            continue;
        for (size_t next = go_on(rows, i); next != i; next = go_on(rows, i))
            i = next;
        size_t end = ap_habit_end_of_fixed(rows, start);
        bool is_fixed = end > i;
        i = is_fixed ? end - 1 : i;
        note_rounds(rows, start, i + 1, is_fixed);
    }
}

/* One mask for all rows and heads, of as many positions as the queries and the keys have: it hides what comes later, or what
 * is far off, and no padding. */
static bool is_square_mask(const struct ap_tensor_list *list)
{
    const struct ap_tensor_dims *mask = &list->tensors[list->count - 1], *query = &list->tensors[0],
                                *key = &list->tensors[1];
    if (list->count < 4 || mask->count < 2 || query->count < 3 || key->count < 3)
        return false;
    int64_t length = mask->dims[mask->count - 1];
    for (int i = 0; i + 2 < mask->count; i++)
        if (mask->dims[i] != 1)
            return false;
    return length >= LONG_MASK && mask->dims[mask->count - 2] == length && query->dims[query->count - 2] == length &&
           key->dims[key->count - 2] == length;
}

/* Attention that is handed a mask goes over all pairs of positions: half of them are masked where it is a causal one. */
static enum ap_status look_at_attention(struct ap_habit_rows *rows, const struct ap_habit_item *item,
                                        struct ap_error *reterr)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, item->row);
    struct ap_tensor_list list;
    struct ap_text dims, types;
    struct ap_habit_loop *loop;
    if (!op || !op->signature.id)
        return AP_OK;
    ap_trace_signature(rows->trace, op->signature, &dims, &types);
    ap_tensor_list_read(&list, dims, types);
    if (!list.count || list.tensors[list.count - 1].input != MASK_INPUT)
        return AP_OK;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){ .id = is_square_mask(&list) ? AP_HABIT_square_mask : AP_HABIT_masked_attention,
                                    .row = item->row,
                                    .end_ns = ap_item_end_ns(rows, item),
                                    .total_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item),
                                    .first = ap_item_sequence(rows, item),
                                    .last = ap_habit_last_sequence(rows, (size_t)(item - rows->items)),
                                    .keeps = 0.5,
                                    .names = { ap_habit_name_of(rows, item) } };
    return AP_OK;
}

/* Of attention that is written out. */
struct weights {
    struct ap_tensor_dims sizes;
    bool are_made, have_weighed;
};

/* Behind the product in which they weigh something, and before that of the next scores, a mean over heads may be made by a
 * layer that hands weights out, whether they are wanted or not; anything else wants them. */
static bool uses_weights(const struct ap_habit_rows *rows, size_t at, struct weights *weights)
{
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    bool is_product = AP_HAS(words, HEAVY) && !AP_HAS(words, FORWARD);
    if (ap_habit_is_named(rows, at, AP_TEXT("aten::softmax"))) {
        weights->are_made = ap_habit_read_tensors(rows, at, &list) && list.tensors[0].count >= 3;
        weights->have_weighed = false;
        if (weights->are_made)
            weights->sizes = list.tensors[0];
        return false;
    }
    bool takes = weights->are_made && ap_habit_has_tensor(rows, at, &weights->sizes);
    weights->are_made &= !is_product || takes;
    weights->have_weighed |= is_product && takes;
    return takes && weights->have_weighed && !is_product && !(words & (AP_BIT(VIEW) | AP_BIT(NO_WORK))) &&
           !ap_habit_is_named(rows, at, AP_TEXT("aten::mean"));
}

static void find_used_weights(struct ap_habit_rows *rows)
{
    struct weights weights = { .are_made = false };
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        weights.are_made &= ap_habit_is_call(rows, item) && (!i || item->step == rows->items[i - 1].step);
        if (!ap_habit_is_call(rows, item) || !uses_weights(rows, i, &weights))
            continue;
        (void)ap_habit_add(rows->habits, AP_HABIT_used_weights, item->row,
                           ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item), 0);
        weights.are_made = false;
    }
}

enum ap_status ap_habit_find_attention(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    find_used_weights(rows);
    for (size_t i = 0; i < rows->item_count; i++)
        if (AP_HAS(ap_item_words(rows, &rows->items[i]), ATTENTION))
            AP_TRY(look_at_attention(rows, &rows->items[i], reterr));
    return AP_OK;
}

/* Is a triangle made, or are positions compared: of a causal mask? */
static bool is_causal(const struct ap_habit_constants *group)
{
    return AP_HAS(group->words, TRIANGLE) || (AP_HAS(group->words, POSITIONS) && AP_HAS(group->words, ORDERED));
}

/* Several times a step, so on no layer; or of itself alone, and of the same sizes in each step. */
static bool could_be_kept(const struct ap_habit_constants *group, uint64_t steps)
{
    return group->count >= 2 * steps || (group->is_fixed && steps >= LEAST_STEPS && group->count >= steps);
}

/* Of masks that are causal, attention without one is quicker too. */
void ap_habit_add_constants(struct ap_habit_rows *rows)
{
    uint64_t steps = rows->facts->steps.count ? rows->facts->steps.count : 1;
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_constants];
    bool has_causal = false;
    for (size_t i = 0; i < rows->constant_count; i++) {
        const struct ap_habit_constants *group = &rows->constants[i];
        if (!could_be_kept(group, steps))
            continue;
        has_causal |= is_causal(group);
        double share = group->is_fixed ? 1 : 1 - 1 / (double)group->count; /* the first may be made before the loop */
        habit->count += group->count;
        habit->step_count += group->step_count;
        habit->total_ns = ap_add_sat(habit->total_ns, group->total_ns, &rows->habits->overflowed);
        habit->saves_ns = ap_add_sat(habit->saves_ns, ap_share_of(group->total_ns, share), &rows->habits->overflowed);
        if (habit->row != AP_NO_ROW && habit->longest_ns >= group->total_ns)
            continue;
        habit->longest_ns = group->total_ns;
        habit->row = group->row;
        memcpy(habit->names, group->names, sizeof(habit->names));
    }
    for (int i = 0; i < 2 && has_causal; i++) {
        int64_t saves_ns = rows->habits->of[i ? AP_HABIT_square_mask : AP_HABIT_masked_attention].saves_ns;
        habit->saves_ns = ap_add_sat(habit->saves_ns, saves_ns, &rows->habits->overflowed);
    }
}
