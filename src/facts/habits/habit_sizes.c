/* SPDX-License-Identifier: MIT
 * Work on more elements than the result needs: all pairs of rows in one tensor, and sorts of which a part is used. */
#include <string.h>

#include "habit_items.h"
#include "tensor_dims.h"

#include "poison.h"

#define LEAST_PAIRS (64 * 1024) /* elements of all pairs: less costs nothing */
#define LEAST_GROWTH 8          /* so many times more than the larger of the two has */
#define PAIR_ITEMS 6            /* operators until the pairs are summed up */
#define SORT_ITEMS 48           /* operators behind a sort that may use what it made */
#define PAIRS_KEEP 0.1          /* of it, which a product of matrices takes, measured with small layers on the CPU */
#define SORT_KEEPS 0.05         /* likewise topk */

static bool read_tensors(const struct ap_habit_rows *rows, size_t at, struct ap_tensor_list *ret_list)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, rows->items[at].row);
    struct ap_text dims, types;
    if (!ap_habit_is_operator(rows, rows->items[at].row) || !op || !op->signature.id)
        return false;
    ap_trace_signature(rows->trace, op->signature, &dims, &types);
    ap_tensor_list_read(ret_list, dims, types);
    return ret_list->count != 0;
}

static bool has_tensor(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *tensor)
{
    struct ap_tensor_list list;
    if (!read_tensors(rows, at, &list))
        return false;
    for (int i = 0; i < list.count; i++)
        if (ap_tensor_equal(&list.tensors[i], tensor))
            return true;
    return false;
}

static bool is_of_step(const struct ap_habit_rows *rows, size_t at, size_t other)
{
    return other < rows->item_count && rows->items[at].step == rows->items[other].step &&
           ap_habit_is_call(&rows->items[other]);
}

/* Each of the two is repeated along a dimension that the other one has. */
static bool read_pairs(const struct ap_tensor_list *list, struct ap_tensor_dims *ret_pairs)
{
    const struct ap_tensor_dims *a = &list->tensors[0], *b = &list->tensors[1];
    bool of_a = false, of_b = false;
    if (list->count != 2 || a->count != b->count)
        return false;
    *ret_pairs = *a;
    for (int i = 0; i < a->count; i++) {
        of_a |= a->dims[i] > 1 && b->dims[i] == 1;
        of_b |= b->dims[i] > 1 && a->dims[i] == 1;
        ret_pairs->dims[i] = a->dims[i] > b->dims[i] ? a->dims[i] : b->dims[i];
    }
    double larger = ap_tensor_elements(a, 0, a->count), other = ap_tensor_elements(b, 0, b->count);
    double all = ap_tensor_elements(ret_pairs, 0, a->count);
    larger = other > larger ? other : larger;
    return of_a && of_b && all >= LEAST_PAIRS && all >= LEAST_GROWTH * larger;
}

/* From the operator that makes the pairs to the one that sums them up. */
static enum ap_status look_at_pairs(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    struct ap_tensor_dims pairs;
    struct ap_habit_loop *loop;
    size_t end = at + 1;
    if (!read_tensors(rows, at, &list) || !read_pairs(&list, &pairs))
        return AP_OK;
    while (end < at + PAIR_ITEMS && is_of_step(rows, at, end) && has_tensor(rows, end, &pairs) &&
           !(rows->items[end].words & (AP_BIT(REDUCTION) | AP_BIT(HEAVY) | AP_BIT(MODEL))))
        end++;
    if (!is_of_step(rows, at, end) || !AP_HAS(rows->items[end].words, REDUCTION) || !has_tensor(rows, end, &pairs))
        return AP_OK;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){ .id = AP_HABIT_all_pairs,
                                    .row = rows->items[at].row,
                                    .end_ns = rows->items[end].end_ns,
                                    .total_ns = rows->items[end].end_ns - rows->items[at].start_ns,
                                    .first = rows->items[at].sequence,
                                    .last = rows->items[end].sequence,
                                    .keeps = PAIRS_KEEP };
    ap_habit_take_names(rows->items + at, end + 1 - at, loop->names);
    return AP_OK;
}

/* A part of what was sorted is taken, and nothing else looks at as many elements. */
static void look_at_sort(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    bool takes_part = false;
    if (!read_tensors(rows, at, &list))
        return;
    for (size_t next = at + 1; next < at + SORT_ITEMS && is_of_step(rows, at, next); next++) {
        if (!has_tensor(rows, next, &list.tensors[0]))
            continue;
        if (!AP_HAS(rows->items[next].words, PIECE) || AP_HAS(rows->items[next].words, SORT))
            return;
        takes_part = true;
    }
    int64_t dur_ns = rows->items[at].end_ns - rows->items[at].start_ns;
    struct ap_habit *habit = takes_part ? ap_habit_add(rows->habits, AP_HABIT_whole_sort, rows->items[at].row, dur_ns,
                                                       (int64_t)((double)dur_ns * (1 - SORT_KEEPS)))
                                        : NULL;
    if (habit)
        habit->signature = ap_row_op(rows->trace, rows->items[at].row)->signature.id;
}

enum ap_status ap_habit_find_sizes(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    for (size_t at = 0; at < rows->item_count; at++) {
        if (AP_HAS(rows->items[at].words, PAIRED))
            AP_TRY(look_at_pairs(rows, at, reterr));
        if (AP_HAS(rows->items[at].words, SORT))
            look_at_sort(rows, at);
    }
    return AP_OK;
}
