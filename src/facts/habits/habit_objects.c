/* SPDX-License-Identifier: MIT
 * Python objects that ranks hand each other: pickled, their sizes by one collective, their bytes by a second one. */
#include "habit_items.h"

#include "poison.h"

#define LONGEST_PICKLE_NS INT64_C(5000000) /* without an operator: a longer gap has another cause */
#define MOST_BETWEEN 8  /* operators from the sizes to the bytes: the largest is asked, and room is made */
#define MOST_SIZES 1024 /* one of each rank */

/* Makes room, or hands on pieces of it. */
static bool is_light(const struct ap_habit_rows *rows, size_t at)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return (!AP_HAS(words, HEAVY) && (words & (AP_BIT(NO_WORK) | AP_BIT(OF_CONSTANT_ALONE) | AP_BIT(CONSTANT) |
                                               AP_BIT(SCALAR) | AP_BIT(PIECE) | AP_BIT(VIEW) | AP_BIT(COPY)))) ||
           ap_text_is(name, "aten::chunk");
}

static bool is_storage(const struct ap_habit_rows *rows, size_t at)
{
    return ap_text_is(ap_row_name(rows->trace, rows->items[at].row), "aten::set_");
}

static bool is_collective(const struct ap_habit_rows *rows, size_t at)
{
    return AP_HAS(ap_item_words(rows, &rows->items[at]), COLLECTIVE);
}

/* Bytes, and before them a few numbers; where no sizes were recorded, @made_room tells. */
static bool is_of_bytes(const struct ap_habit_rows *rows, size_t sizes, size_t bytes, bool made_room)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, bytes, &list))
        return made_room;
    if (list.tensors[0].element != AP_ELEMENT_uint8 || !ap_habit_read_tensors(rows, sizes, &list))
        return false;
    return list.tensors[0].element != AP_ELEMENT_uint8 &&
           ap_tensor_elements(&list.tensors[0], 0, list.tensors[0].count) <= MOST_SIZES;
}

/* The collective of the bytes behind that of their sizes; 0 = none. */
static size_t bytes_behind(const struct ap_habit_rows *rows, size_t sizes)
{
    bool made_room = false;
    for (size_t at = sizes + 1; at <= sizes + MOST_BETWEEN && ap_habit_is_of_step(rows, sizes, at); at++) {
        if (is_collective(rows, at))
            return is_of_bytes(rows, sizes, at, made_room) ? at : 0;
        made_room |= ap_text_is(ap_row_name(rows->trace, rows->items[at].row), "aten::resize_");
        if (!is_light(rows, at) && !AP_HAS(ap_item_words(rows, &rows->items[at]), REDUCTION))
            return 0;
    }
    return 0;
}

/* The last operator behind, up to which objects are made of the bytes. */
static size_t last_behind(const struct ap_habit_rows *rows, size_t bytes, bool *has_storage)
{
    size_t last = bytes;
    while (ap_habit_is_of_step(rows, bytes, last + 1) && is_light(rows, last + 1) &&
           (last == bytes || ap_habit_gap_before(rows, last + 1) <= LONGEST_PICKLE_NS)) {
        last++;
        *has_storage |= is_storage(rows, last);
    }
    return last;
}

static void add_objects(struct ap_habit_rows *rows, size_t first, size_t bytes, size_t last)
{
    int64_t gap_ns = first ? ap_habit_gap_before(rows, first) : 0;
    int64_t from_ns = ap_item_start_ns(rows, &rows->items[first]) - (gap_ns > 0 && gap_ns <= LONGEST_PICKLE_NS ? gap_ns : 0);
    int64_t to_ns = ap_item_end_ns(rows, &rows->items[last]);
    int64_t sent_ns = last > bytes ? ap_item_start_ns(rows, &rows->items[bytes + 1]) : to_ns;
    int64_t sends_ns = sent_ns - ap_item_start_ns(rows, &rows->items[bytes]);
    struct ap_habit *habit = ap_habit_add_in_pieces(rows->habits, AP_HABIT_object_collective, rows->items[bytes].row,
                                                    to_ns - from_ns, to_ns - from_ns - sends_ns);
    if (habit)
        habit->signature = ap_row_op(rows->trace, rows->items[bytes].row)
                               ? ap_row_op(rows->trace, rows->items[bytes].row)->signature.id
                               : 0;
}

/* Bytes of a program's own format are no objects: only the pickles of PyTorch become a tensor by way of their storage. */
void ap_habit_find_objects(struct ap_habit_rows *rows)
{
    for (size_t at = 0, done = 0; at < rows->item_count; at++) {
        size_t bytes = is_collective(rows, at) ? bytes_behind(rows, at) : 0, first = at;
        bool has_storage = false;
        if (!bytes)
            continue;
        while (first > done && ap_habit_is_of_step(rows, at, first - 1) && is_light(rows, first - 1) &&
               ap_habit_gap_before(rows, first) <= LONGEST_PICKLE_NS) {
            first--;
            has_storage |= is_storage(rows, first);
        }
        size_t last = last_behind(rows, bytes, &has_storage);
        if (has_storage)
            add_objects(rows, first, bytes, last);
        at = last;
        done = last + 1;
    }
}
