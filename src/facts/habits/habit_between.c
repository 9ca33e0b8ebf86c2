/* SPDX-License-Identifier: MIT
 * Work on single tensors around the step of the optimizer: on gradients between the backward pass and it - quantiles, sorts,
 * noise, statistics - and on weights between it and the next forward pass, as averages written out. And what is read of
 * results between the layers that made them and the next ones. */
#include "habit_items.h"

#include "poison.h"

#define NAMES_MAX 16
#define AVERAGE_KEEPS 0.25 /* of several passes over old and new weights: one that reads both and writes one */
#define LEAST_PASSES 2     /* over each weight */
#define LEAST_READ 16      /* layers of one forward pass */

/* What clipping by a norm or a value does, which any job may need, or one sum: decay by hand, the way back of SAM. */
static bool is_needed(struct ap_habit_rows *rows, size_t at)
{
    static const char *const names[] = { "aten::mul",   "aten::mul_", "aten::div_", "aten::clamp_",
                                         "aten::clamp", "aten::add_", "aten::sub_" };
    if (AP_HAS(ap_item_words(rows, &rows->items[at]), NORM))
        return true;
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(ap_row_name(rows->trace, rows->items[at].row), names[i]))
            return true;
    return false;
}

/* Of all tensors at once, as clipping and averages are best written. */
static bool is_on_list(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return ap_text_starts_with(name, "aten::_foreach_") || ap_text_starts_with(name, "aten::_amp_foreach_");
}

/* Computes with a tensor of a trained size, or with what was made of it element by element: @elements are those of the last
 * such tensor. */
static bool is_on_tensor(const struct ap_habit_rows *rows, size_t at, double *elements)
{
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (!ap_habit_is_call(rows, &rows->items[at]) || words & (AP_BIT(NO_WORK) | AP_BIT(VIEW) | AP_BIT(COLLECTIVE)) ||
        is_on_list(rows, at) || !ap_habit_read_tensors(rows, at, &list))
        return false;
    double own = ap_tensor_elements(&list.tensors[0], 0, list.tensors[0].count);
    if (ap_habit_is_trained(rows, at, 0))
        *elements = own;
    return own > 1 && own == *elements;
}

/* With the way of Python to it from the one before, which one call for all tensors does not have. */
static void add_item(struct ap_habit_rows *rows, enum ap_habit_id id, size_t from, size_t at, double keeps)
{
    int64_t dur_ns = rows->trace->events.dur_ns[rows->items[at].row] + (at > from ? ap_habit_lead_ns(rows, at) : 0);
    struct ap_habit *habit = ap_habit_add(rows->habits, id, rows->items[at].row, dur_ns, ap_share_of(dur_ns, 1 - keeps));
    if (habit)
        habit->signature = ap_row_op(rows->trace, rows->items[at].row)->signature.id;
}

static void add_gradients(struct ap_habit_rows *rows, size_t from, size_t to)
{
    double elements = 0;
    for (size_t at = from; at < to; at++)
        if (is_on_tensor(rows, at, &elements) && !is_needed(rows, at))
            add_item(rows, AP_HABIT_gradient_work, from, at, 0);
}

/* Operators on weights, over those of the name that comes most often. */
static double passes(const struct ap_habit_rows *rows, size_t from, size_t to)
{
    struct {
        uint32_t name;
        uint64_t count;
    } names[NAMES_MAX];
    size_t name_count = 0, i;
    uint64_t all = 0, most = 1;
    double elements = 0;
    for (size_t at = from; at < to; at++) {
        if (!is_on_tensor(rows, at, &elements) || ap_habit_makes_node(rows, at))
            continue;
        for (i = 0; i < name_count && names[i].name != ap_habit_name_at(rows, at);)
            i++;
        if (i == NAMES_MAX)
            continue;
        if (i == name_count)
            names[name_count++].count = 0;
        names[i].name = ap_habit_name_at(rows, at);
        most = ++names[i].count > most ? names[i].count : most;
        all++;
    }
    return (double)all / (double)most;
}

/* Copies alone, or an average by one operator, have no shorter form. What makes nodes makes the weight of the next pass. */
static void add_weights(struct ap_habit_rows *rows, size_t from, size_t to)
{
    double elements = 0;
    if (passes(rows, from, to) < LEAST_PASSES)
        return;
    for (size_t at = from; at < to; at++)
        if (is_on_tensor(rows, at, &elements) && !ap_habit_makes_node(rows, at))
            add_item(rows, AP_HABIT_weight_work, from, at, AVERAGE_KEEPS);
}

void ap_habit_find_work_between(struct ap_habit_rows *rows)
{
    size_t node = SIZE_MAX, step = SIZE_MAX; /* behind the last of each; SIZE_MAX = something else came since */
    for (size_t at = 0; at < rows->item_count; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        bool is_next = words & (AP_BIT(NODE) | AP_BIT(OPTIMIZER) | AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(LOADER));
        if (AP_HAS(words, OPTIMIZER) && node != SIZE_MAX)
            add_gradients(rows, node, at);
        if (is_next && step != SIZE_MAX)
            add_weights(rows, step, at);
        node = AP_HAS(words, NODE) ? at + 1 : is_next ? SIZE_MAX : node;
        step = AP_HAS(words, OPTIMIZER) ? at + 1 : is_next ? SIZE_MAX : step;
    }
    if (step != SIZE_MAX)
        add_weights(rows, step, rows->item_count);
}

/* Behind a layer, from @first on: the last operator that reads a value of what is computed of its result and needs no
 * gradient; @first where none does. A choice is what the program goes on with. */
static size_t last_read(const struct ap_habit_rows *rows, size_t first, size_t *ret_end)
{
    uint64_t any = 0;
    size_t last = first, end = first + 1;
    for (; ap_habit_is_of_step(rows, first, end) && !ap_habit_makes_node(rows, end); end++) {
        uint64_t words = ap_item_words(rows, &rows->items[end]);
        any |= words;
        last = AP_HAS(words, SCALAR) ? end : last;
    }
    *ret_end = end;
    return any & (AP_BIT(CHOSEN) | AP_BIT(TOP) | AP_BIT(DRAW)) || !(any & (AP_BIT(REDUCTION) | AP_BIT(NORM))) ? first : last;
}

/* Of the forward pass that begins with @from: how many layers have values read behind them. They are added where asked. */
static enum ap_status go_over_reads(struct ap_habit_rows *rows, size_t from, bool adds, size_t *ret_end, size_t *ret_count,
                                    struct ap_error *reterr)
{
    size_t at = from, end;
    for (*ret_count = 0; ap_habit_is_of_step(rows, from, at); at = end) {
        end = at + 1;
        if (!ap_habit_makes_node(rows, at) || !(ap_item_words(rows, &rows->items[at]) & (AP_BIT(HEAVY) | AP_BIT(FORWARD))))
            continue;
        size_t last = last_read(rows, at, &end);
        *ret_count += last > at;
        if (adds && last > at)
            AP_TRY(ap_habit_add_stretch(rows, AP_HABIT_scalar_loop, at + 1, last, 0, reterr));
    }
    *ret_end = at;
    return AP_OK;
}

enum ap_status ap_habit_find_reads(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    size_t end, count;
    for (size_t at = 0; at < rows->item_count; at = end) {
        end = at + 1;
        if (!ap_habit_is_call(rows, &rows->items[at]))
            continue;
        AP_TRY(go_over_reads(rows, at, false, &end, &count, reterr));
        if (count >= LEAST_READ)
            AP_TRY(go_over_reads(rows, at, true, &end, &count, reterr));
    }
    return AP_OK;
}
