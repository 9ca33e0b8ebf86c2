/* SPDX-License-Identifier: MIT
 * What has an operator of its own and is written out: norms, activations, losses; and checks of all values. */
#include <string.h>

#include "habit_items.h"

#include "poison.h"

/* What names stand for in the patterns below; the first entry that matches. */
enum sign { POWER, MEAN, VARIANCE, ROOT, TANH, ERF, SOFTMAX, SIGMOID, LOGARITHM, CHECK, OF_CHECK, POINTWISE, SIGN_COUNT };
static const char *const signs[SIGN_COUNT] = {
    [POWER] = "aten::pow|aten::square",
    [MEAN] = "aten::mean",
    [VARIANCE] = "aten::var|aten::std",
    [ROOT] = "aten::sqrt|aten::rsqrt",
    [TANH] = "aten::tanh",
    [ERF] = "aten::erf",
    [SOFTMAX] = "aten::softmax",
    [SIGMOID] = "aten::sigmoid",
    [LOGARITHM] = "aten::log",
    [CHECK] = "aten::isnan|aten::isinf|aten::isfinite",
    [OF_CHECK] = "aten::any|aten::all|aten::is_nonzero|aten::logical_not|aten::bitwise_not|aten::logical_or|"
                 "aten::bitwise_or|aten::item|aten::eq|aten::ne",
    [POINTWISE] = "aten::add|aten::sub|aten::rsub|aten::mul|aten::div|aten::neg|aten::reciprocal|aten::sum|aten::to|"
                  "aten::one_hot|aten::clamp|aten::clamp_min|aten::unsqueeze|aten::expand|aten::gather|aten::view",
};

#define STAGES_MAX 3
/* Signs that follow each other with at most @between pointwise operators in each gap; of those around it belong to the form
 * as many as stand before and behind. @keeps: the share that its own operator takes too. */
struct form {
    int stages[STAGES_MAX], stage_count;
    size_t between, before, behind;
    double keeps;
};
/* Shares: of so many passes over the tensor one or two are left, measured with small layers on the CPU. */
static const struct form forms[] = {
    { { POWER, MEAN, ROOT }, 3, 3, 2, 3, 0.3 },
    { { VARIANCE, ROOT }, 2, 3, 2, 3, 0.3 },
    { { POWER, TANH }, 2, 3, 1, 2, 0.3 },
    { { ERF }, 1, 0, 1, 2, 0.3 },
    { { SOFTMAX, LOGARITHM }, 2, 4, 0, 4, 0.3 },
    /* y log p + (1 - y) log(1 - p); a focal loss has more between both, and little that an operator saves */
    { { SIGMOID, LOGARITHM, LOGARITHM }, 3, 4, 0, 4, 0.45 },
};

static int sign_of(struct ap_habit_rows *rows, size_t at)
{
    const struct ap_habit_item *item = &rows->items[at];
    uint8_t *sign = &rows->sign_of[ap_habit_name_of(rows, item)];
    if (!*sign)
        *sign = (uint8_t)(1 + ap_name_patterns_first(&rows->signs, ap_trace_text(rows->trace, ap_habit_name_of(rows, item)),
                                                     SIGN_COUNT));
    return ap_habit_is_call(rows, item) ? *sign - 1 : SIGN_COUNT;
}

static bool is_pointwise(struct ap_habit_rows *rows, size_t at)
{
    int sign = at < rows->item_count ? sign_of(rows, at) : SIGN_COUNT;
    return sign == POINTWISE || sign == MEAN || sign == POWER;
}

/* No form begins with one: it is the branch that is added before a norm. */
static bool is_sum(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_named(rows, at, AP_TEXT("aten::add"));
}

/* Where the form that begins with @at ends; @at where it is none. */
static size_t end_of_form(struct ap_habit_rows *rows, const struct form *form, size_t at)
{
    size_t end = at + 1;
    if (sign_of(rows, at) != form->stages[0])
        return at;
    for (int stage = 1; stage < form->stage_count; stage++) {
        size_t gap = 0;
        while (end < rows->item_count && sign_of(rows, end) != form->stages[stage]) {
            if (gap++ == form->between || !is_pointwise(rows, end))
                return at;
            end++;
        }
        if (end == rows->item_count)
            return at;
        end++;
    }
    return end;
}

static int64_t time_of(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    int64_t total_ns = 0;
    bool overflowed = false;
    for (size_t i = start; i < end; i++)
        total_ns = ap_add_sat(total_ns, ap_item_end_ns(rows, &rows->items[i]) - ap_item_start_ns(rows, &rows->items[i]),
                              &overflowed);
    return total_ns;
}

/* Returns behind it; @at where none of the forms begins there. Nothing before @taken is looked at again. */
static enum ap_status look_at_form(struct ap_habit_rows *rows, size_t at, size_t taken, size_t *ret_end,
                                   struct ap_error *reterr)
{
    struct ap_habit_loop *loop;
    *ret_end = at;
    for (size_t i = 0; i < AP_COUNT_OF(forms); i++) {
        size_t start = at, end = end_of_form(rows, &forms[i], at);
        if (end == at)
            continue;
        while (start > taken && at - start < forms[i].before && is_pointwise(rows, start - 1) && !is_sum(rows, start - 1))
            start--;
        for (size_t behind = 0; behind < forms[i].behind && is_pointwise(rows, end); behind++)
            end++;
        AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
        *loop = (struct ap_habit_loop){ .id = AP_HABIT_written_out,
                                        .row = rows->items[start].row,
                                        .end_ns = ap_item_end_ns(rows, &rows->items[end - 1]),
                                        .total_ns = time_of(rows, start, end),
                                        .first = ap_item_sequence(rows, &rows->items[start]),
                                        .last = ap_habit_last_sequence(rows, end - 1),
                                        .keeps = forms[i].keeps };
        ap_habit_take_names(rows, rows->items + start, end - start, loop->names);
        *ret_end = end;
        return AP_OK;
    }
    return AP_OK;
}

/* isnan(x).any() and what is made of it. */
static size_t look_at_check(struct ap_habit_rows *rows, size_t at)
{
    size_t end = at + 1;
    if (sign_of(rows, at) != CHECK)
        return at;
    while (end < rows->item_count && sign_of(rows, end) == OF_CHECK)
        end++;
    int64_t dur_ns =
        ap_item_end_ns(rows, &rows->items[end - 1]) - ap_item_start_ns(rows, &rows->items[at]) + ap_habit_lead_ns(rows, at);
    struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_value_check, rows->items[at].row, dur_ns, dur_ns);
    if (habit)
        ap_habit_take_names(rows, rows->items + at, end - at, habit->names);
    return end;
}

enum ap_status ap_habit_find_forms(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    for (size_t at = 0, taken = 0, end; at<rows->item_count; at = end> at ? end : at + 1) {
        end = at;
        if (sign_of(rows, at) == SIGN_COUNT) /* as most are: nothing begins with it */
            continue;
        end = look_at_check(rows, at);
        if (end == at)
            AP_TRY(look_at_form(rows, at, taken, &end, reterr));
        taken = end > at ? end : taken;
    }
    return AP_OK;
}

enum ap_status ap_habit_signs_init(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    struct ap_gate *gate = rows->habits->gate;
    AP_TRY(ap_name_patterns_init(&rows->signs, gate, signs, SIGN_COUNT, reterr));
    rows->sign_of = ap_mem_cleared(gate, ap_trace_id_count(rows->trace));
    return rows->sign_of ? AP_OK : ap_fail_memory(gate, reterr);
}
