/* SPDX-License-Identifier: MIT
 * Queues of one length that are copied whole to move them on by a little: the last frames of a stream, keys to compare with.
 * What is put behind may come before what is cut off in front or after it; or all is shifted by roll, and the end is
 * written over. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_QUEUE (64 * 1024) /* elements */
#define MOST_MOVED 0.1          /* of them, in one call */
#define CUT_WITHIN 4            /* items before the concatenation, with what brings the little into its form */
#define WRITTEN_WITHIN 4        /* items behind the shift */

static double elements_of(const struct ap_tensor_dims *tensor)
{
    return ap_tensor_elements(tensor, 0, tensor->count);
}

static bool has_name(const struct ap_habit_rows *rows, size_t at, const char *name)
{
    return ap_text_is(ap_row_name(rows->trace, rows->items[at].row), name);
}

/* What is moved on, with the little that is put to it. */
struct queue {
    struct ap_tensor_dims whole; /* with the little */
    double of_large, of_small;
};

/* A large tensor and a small one are put together, along one dimension. */
static bool read_joined(const struct ap_habit_rows *rows, size_t at, struct queue *ret_queue)
{
    struct ap_tensor_list list;
    if (!has_name(rows, at, "aten::cat") || !ap_habit_read_tensors(rows, at, &list) || list.count != 2 ||
        list.tensors[1].input || list.tensors[0].count != list.tensors[1].count)
        return false;
    const struct ap_tensor_dims *one = &list.tensors[0], *other = &list.tensors[1];
    double of_one = elements_of(one), of_other = elements_of(other);
    int along = -1, differ = 0;
    for (int i = 0; i < one->count; i++)
        if (one->dims[i] != other->dims[i]) {
            along = i;
            differ++;
        }
    *ret_queue = (struct queue){ .whole = *one,
                                 .of_large = of_one > of_other ? of_one : of_other,
                                 .of_small = of_one > of_other ? of_other : of_one };
    if (differ != 1)
        return false;
    ret_queue->whole.dims[along] += other->dims[along];
    return ret_queue->of_large >= LEAST_QUEUE && ret_queue->of_small <= MOST_MOVED * ret_queue->of_large;
}

static void add_move(struct ap_habit_rows *rows, size_t at, size_t last, const struct queue *queue)
{
    int64_t dur_ns = rows->trace->events.dur_ns[rows->items[at].row];
    int64_t total_ns = dur_ns + ap_habit_given_back_ns(rows, last, dur_ns); /* what it replaces */
    struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_growing_cat, rows->items[at].row, total_ns,
                                          ap_share_of(total_ns, queue->of_large / (queue->of_large + queue->of_small)));
    if (habit)
        habit->signature = ap_row_op(rows->trace, rows->items[at].row)->signature.id;
}

/* Does it begin with a tensor of these sizes? */
static bool begins_with(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *tensor)
{
    struct ap_tensor_list list;
    return ap_habit_read_tensors(rows, at, &list) && ap_tensor_equal(&list.tensors[0], tensor);
}

/* Looks at the tensor and makes none like it: a piece is taken, a sum, or a product of another width. */
static bool only_reads(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *whole)
{
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (AP_HAS(words, HEAVY))
        return ap_habit_read_tensors(rows, at, &list) && list.count > 1 && list.tensors[1].count == 2 &&
               list.tensors[1].dims[0] != list.tensors[1].dims[1] && whole->count > 1;
    return words & (AP_BIT(PIECE) | AP_BIT(VIEW) | AP_BIT(REDUCTION));
}

/* Is what is cut the result of the last such concatenation? It is where nothing behind that made a tensor of its sizes: a
 * layer that shifts its input by a position is handed another one each time. */
static bool is_same_queue(struct ap_habit_rows *rows, size_t at, size_t cut, const struct queue *queue)
{
    for (size_t back = cut; back-- > 0 && rows->looks_left; rows->looks_left--) {
        if (ap_habit_is_same(rows, at, back))
            return true;
        if (!ap_habit_is_call(rows, &rows->items[back]) ||
            (begins_with(rows, back, &queue->whole) && !only_reads(rows, back, &queue->whole)))
            return false;
    }
    return false;
}

static bool is_cut_before(struct ap_habit_rows *rows, size_t at, const struct queue *queue)
{
    for (size_t back = at; back-- > 0 && at - back <= CUT_WITHIN && ap_habit_is_of_step(rows, at, back);)
        if (has_name(rows, back, "aten::slice") && begins_with(rows, back, &queue->whole))
            return is_same_queue(rows, at, back, queue);
    return false;
}

static bool is_cut_behind(const struct ap_habit_rows *rows, size_t at, const struct queue *queue)
{
    return ap_habit_is_of_step(rows, at, at + 1) && AP_HAS(ap_item_words(rows, &rows->items[at + 1]), PIECE) &&
           begins_with(rows, at + 1, &queue->whole);
}

/* All is shifted by roll, and right behind it a little of what that made is written. */
static void look_at_roll(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list, written;
    if (!ap_habit_read_tensors(rows, at, &list) || elements_of(&list.tensors[0]) < LEAST_QUEUE)
        return;
    struct queue queue = { .whole = list.tensors[0], .of_large = elements_of(&list.tensors[0]) };
    bool takes_piece = false;
    for (size_t next = at + 1; next <= at + WRITTEN_WITHIN && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        takes_piece |= AP_HAS(words, PIECE) && begins_with(rows, next, &queue.whole);
        if (!AP_HAS(words, FILLS))
            continue;
        if (takes_piece && ap_habit_read_tensors(rows, next, &written) &&
            elements_of(&written.tensors[0]) <= MOST_MOVED * queue.of_large)
            add_move(rows, at, at, &queue);
        return;
    }
}

void ap_habit_find_queues(struct ap_habit_rows *rows)
{
    struct queue queue;
    bool trains = rows->facts->phases.has_backward;
    ap_habit_begin_search(rows);
    for (size_t at = 0; at < rows->item_count; at++) {
        if (has_name(rows, at, "aten::roll"))
            look_at_roll(rows, at);
        if (!read_joined(rows, at, &queue))
            continue;
        if (is_cut_behind(rows, at, &queue))
            add_move(rows, at, at + 1, &queue);
        else if (!trains && is_cut_before(rows, at, &queue))
            add_move(rows, at, at, &queue);
    }
}
