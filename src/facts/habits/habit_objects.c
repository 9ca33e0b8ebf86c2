/* SPDX-License-Identifier: MIT
 * Python objects that become tensors: lists of numbers; and those that ranks hand each other, pickled, their sizes by one
 * collective, their bytes by a second one. */
#include "habit_items.h"

#include "poison.h"

#define LONGEST_PICKLE_NS INT64_C(5000000) /* without an operator: a longer gap has another cause */
#define MOST_BETWEEN 12              /* operators from the sizes to the bytes: the largest is asked, and room is made */
#define MOST_SIZES 1024              /* one of each rank */
#define LEAST_LIST_NS INT64_C(50000) /* between making room and the tensor: a number alone takes less */
#define LIST_SAVES 0.95              /* of it: an array is copied whole, measured 100 times as fast */

/* What tells of pickles in the operators around: their storage, and tensors of as many bytes. */
struct signs {
    double bytes; /* that are sent; 0 = not known */
    bool storage, of_bytes;
};

static double elements_of_first(const struct ap_tensor_list *list)
{
    return ap_tensor_elements(&list->tensors[0], 0, list->tensors[0].count);
}

/* Makes room, hands on pieces of it, or reckons with sizes. */
static bool is_light(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, rows->items[at].row);
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (AP_HAS(words, HEAVY))
        return false;
    if (words & (AP_BIT(NO_WORK) | AP_BIT(OF_CONSTANT_ALONE) | AP_BIT(CONSTANT) | AP_BIT(SCALAR) | AP_BIT(PIECE) |
                 AP_BIT(VIEW) | AP_BIT(COPY)))
        return true;
    if (!op || !op->signature.id || !(words & (AP_BIT(GATHER) | AP_BIT(BY_ELEMENT))))
        return ap_habit_is_named(rows, at, AP_TEXT("aten::chunk"));
    return !ap_habit_read_tensors(rows, at, &list) || elements_of_first(&list) <= 1;
}

static bool is_collective(const struct ap_habit_rows *rows, size_t at)
{
    return AP_HAS(ap_item_words(rows, &rows->items[at]), COLLECTIVE);
}

static void look_for_signs(const struct ap_habit_rows *rows, size_t at, struct signs *signs)
{
    struct ap_tensor_list list;
    if (ap_habit_is_named(rows, at, AP_TEXT("aten::set_")))
        signs->storage = true;
    else if (signs->bytes > 0 && !signs->of_bytes && ap_habit_read_tensors(rows, at, &list))
        signs->of_bytes = list.tensors[0].element == AP_ELEMENT_uint8 && elements_of_first(&list) == signs->bytes;
}

/* A few numbers before it; where no sizes were recorded, that room is made for it tells as well. */
static bool is_behind_sizes(const struct ap_habit_rows *rows, size_t sizes, size_t bytes, bool made_room,
                            struct signs *ret_signs)
{
    struct ap_tensor_list list;
    *ret_signs = (struct signs){ .of_bytes = made_room };
    if (!ap_habit_read_tensors(rows, bytes, &list))
        return made_room;
    enum ap_element element = list.tensors[0].element;
    *ret_signs = (struct signs){ .bytes = elements_of_first(&list), .of_bytes = element == AP_ELEMENT_uint8 };
    return (ret_signs->of_bytes || element == AP_ELEMENT_unknown) && ap_habit_read_tensors(rows, sizes, &list) &&
           list.tensors[0].element != AP_ELEMENT_uint8 && elements_of_first(&list) <= MOST_SIZES;
}

/* The collective of the bytes behind that of their sizes; 0 = none. */
static size_t bytes_behind(const struct ap_habit_rows *rows, size_t sizes, struct signs *ret_signs)
{
    bool made_room = false;
    for (size_t at = sizes + 1; at <= sizes + MOST_BETWEEN && ap_habit_is_of_step(rows, sizes, at); at++) {
        if (is_collective(rows, at))
            return is_behind_sizes(rows, sizes, at, made_room, ret_signs) ? at : 0;
        made_room |= ap_habit_is_named(rows, at, AP_TEXT("aten::resize_"));
        if (!is_light(rows, at) && !(ap_item_words(rows, &rows->items[at]) & (AP_BIT(REDUCTION) | AP_BIT(ORDERED))))
            return 0;
    }
    return 0;
}

/* The last operator behind, up to which objects are made of the bytes. */
static size_t last_behind(const struct ap_habit_rows *rows, size_t bytes, struct signs *signs)
{
    size_t last = bytes;
    while (ap_habit_is_of_step(rows, bytes, last + 1) && is_light(rows, last + 1) &&
           (last == bytes || ap_habit_gap_before(rows, last + 1) <= LONGEST_PICKLE_NS))
        look_for_signs(rows, ++last, signs);
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
        struct signs signs;
        size_t bytes = is_collective(rows, at) ? bytes_behind(rows, at, &signs) : 0, first = at;
        if (!bytes)
            continue;
        while (first > done && ap_habit_is_of_step(rows, at, first - 1) && is_light(rows, first - 1) &&
               ap_habit_gap_before(rows, first) <= LONGEST_PICKLE_NS)
            look_for_signs(rows, --first, &signs);
        size_t last = last_behind(rows, bytes, &signs);
        if (!signs.storage || !signs.of_bytes)
            continue;
        add_objects(rows, first, bytes, last);
        at = last;
        done = last + 1;
    }
}

/* torch.tensor() makes room, goes over the list within Python's objects, and hands on what became of it; nothing else has
 * these operators right behind each other. */
static bool is_of_list(const struct ap_habit_rows *rows, size_t room)
{
    static const char *const parts[] = { "aten::empty", "aten::to", "aten::lift_fresh", "aten::detach_" };
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        if (!ap_habit_is_of_step(rows, room, room + i) ||
            !ap_text_is(ap_row_name(rows->trace, rows->items[room + i].row), parts[i]))
            return false;
    return ap_habit_gap_before(rows, room + 1) >= LEAST_LIST_NS;
}

void ap_habit_find_lists(struct ap_habit_rows *rows)
{
    for (size_t at = 0; at + 1 < rows->item_count; at++) {
        if (!is_of_list(rows, at))
            continue;
        int64_t dur_ns = ap_item_start_ns(rows, &rows->items[at + 1]) - ap_item_start_ns(rows, &rows->items[at]);
        struct ap_habit *habit =
            ap_habit_add(rows->habits, AP_HABIT_list_copied, rows->items[at].row, dur_ns, ap_share_of(dur_ns, LIST_SAVES));
        if (habit)
            habit->names[0] = ap_habit_name_at(rows, at + 2);
    }
}
