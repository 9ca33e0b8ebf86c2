/* SPDX-License-Identifier: MIT
 * What is computed of a counter or another constant alone: a filter, a window, a table of positions. Sizes tell, as no other
 * tensor of sizes of its own goes in. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_FIXED 6 /* operators: fewer are an index, or a mask that is cheap */
#define MOST_FIXED 64
#define MOST_SIZES 16  /* different ones of what they make */
#define LOOKED_BACK 32 /* operators before them, which no tensor of the same sizes goes into */
#define LEAST_FIXED_ELEMENTS 1024

struct fixed {
    struct ap_tensor_dims made[MOST_SIZES];
    bool of_two[MOST_SIZES]; /* made of two of other sizes: data hardly has these */
    int count;
    bool is_open; /* the sizes of what the last operator made are not known: a counter */
};

/* Without dimensions of 1, which views add and broadcasting takes. */
static struct ap_tensor_dims without_ones(const struct ap_tensor_dims *tensor)
{
    struct ap_tensor_dims less = { .count = 0 };
    for (int i = 0; i < tensor->count; i++)
        if (tensor->dims[i] != 1)
            less.dims[less.count++] = tensor->dims[i];
    return less;
}

/* Its number; that of the next one to be made where it is none. */
static int number_of(const struct fixed *fixed, const struct ap_tensor_dims *less)
{
    int number = 0;
    while (number < fixed->count && !ap_tensor_equal(&fixed->made[number], less))
        number++;
    return number;
}

static void note_made(struct fixed *fixed, const struct ap_tensor_dims *tensor)
{
    struct ap_tensor_dims less = without_ones(tensor);
    int number = number_of(fixed, &less);
    if (number < fixed->count || number == MOST_SIZES)
        return;
    fixed->of_two[number] = fixed->count > 1;
    fixed->made[number] = less;
    fixed->count++;
}

/* Is all that goes in made of the counter? Two as long as the counter itself may be one, and data. */
static bool is_all_made(const struct fixed *fixed, const struct ap_tensor_list *list)
{
    int before = MOST_SIZES;
    for (int i = 0; i < list->count; i++) {
        struct ap_tensor_dims less = without_ones(&list->tensors[i]);
        int number = number_of(fixed, &less);
        if (number == fixed->count || (number == before && !fixed->of_two[number]))
            return false;
        before = number;
    }
    return !list->leaves_out;
}

/* What two are broadcast to, where one dimension of each pair is 1 or both are equal. */
static struct ap_tensor_dims broadcast(const struct ap_tensor_list *list)
{
    struct ap_tensor_dims all = list->tensors[0];
    for (int k = 1; k < list->count; k++) {
        const struct ap_tensor_dims *longer = list->tensors[k].count > all.count ? &list->tensors[k] : &all;
        const struct ap_tensor_dims *shorter = longer == &all ? &list->tensors[k] : &all;
        struct ap_tensor_dims both = *longer;
        int more = longer->count - shorter->count;
        for (int i = 0; i < shorter->count; i++)
            both.dims[more + i] = longer->dims[more + i] == 1 ? shorter->dims[i] : longer->dims[more + i];
        all = both;
    }
    return all;
}

static bool is_counter(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return ap_text_is(name, "aten::arange") || ap_text_is(name, "aten::linspace");
}

/* Each element by itself, or another view of them; makes no node. */
static bool may_go_on(const struct ap_habit_rows *rows, size_t at)
{
    return ap_item_words(rows, &rows->items[at]) & (AP_BIT(CONSTANT) | AP_BIT(OF_CONSTANT) | AP_BIT(BY_ELEMENT)) &&
           !ap_habit_makes_node(rows, at);
}

/* A tensor without dimensions may be of data; plain numbers go in as ones of 64 bits. */
static bool has_lone_number(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_list *list)
{
    struct ap_text dims, types, name = AP_TEXT("\"float\"");
    int count = 0;
    ap_trace_signature(rows->trace, ap_row_op(rows->trace, rows->items[at].row)->signature, &dims, &types);
    for (; types.bytes >= name.bytes; types.data++, types.bytes--)
        count += ap_text_starts_with(types, "\"float\"");
    for (int i = 0; i < list->count; i++)
        count -= list->tensors[i].element == AP_ELEMENT_fp32;
    return count > 0;
}

/* Is the operator of what was made alone? What it makes is noted. */
static bool goes_on(const struct ap_habit_rows *rows, struct fixed *fixed, size_t at)
{
    struct ap_tensor_list list;
    if (!may_go_on(rows, at))
        return false;
    if (!ap_habit_read_tensors(rows, at, &list)) {
        fixed->is_open |= is_counter(rows, at);
        return is_counter(rows, at) || !AP_HAS(ap_item_words(rows, &rows->items[at]), CONSTANT);
    }
    struct ap_tensor_dims first = without_ones(&list.tensors[0]);
    if (fixed->is_open && list.count == 1 && first.count == 1)
        note_made(fixed, &first);
    fixed->is_open = false;
    if (!is_all_made(fixed, &list) || has_lone_number(rows, at, &list))
        return false;
    struct ap_tensor_dims all = broadcast(&list);
    note_made(fixed, &all);
    return true;
}

/* Tensors of as many elements that were there before may be what goes in. */
static bool was_there(const struct ap_habit_rows *rows, size_t start, const struct ap_tensor_dims *tensor)
{
    struct ap_tensor_list list;
    for (size_t back = start; back-- > 0 && start - back <= LOOKED_BACK && ap_habit_is_of_step(rows, start, back);) {
        bool reads = ap_habit_read_tensors(rows, back, &list);
        for (int i = 0; reads && i < list.count; i++) {
            struct ap_tensor_dims less = without_ones(&list.tensors[i]);
            if (ap_tensor_equal(&less, tensor))
                return true;
        }
    }
    return false;
}

size_t ap_habit_end_of_fixed(const struct ap_habit_rows *rows, size_t start)
{
    struct fixed fixed = { .is_open = true };
    size_t end = start + 1;
    double largest = 0;
    if (!is_counter(rows, start))
        return start;
    while (end < start + MOST_FIXED && ap_habit_is_of_step(rows, start, end) && goes_on(rows, &fixed, end))
        end++;
    for (int i = 0; i < fixed.count; i++) {
        double elements = ap_tensor_elements(&fixed.made[i], 0, fixed.made[i].count);
        largest = elements > largest ? elements : largest;
        if (was_there(rows, start, &fixed.made[i]))
            return start;
    }
    return end - start >= LEAST_FIXED && largest >= LEAST_FIXED_ELEMENTS ? end : start;
}
