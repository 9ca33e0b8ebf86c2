/* SPDX-License-Identifier: MIT
 * What single calls tell by their name and types: matrix products of integers, and dispatch modes. */
#include "habits.h"
#include "tensor_dims.h"

#include "poison.h"

#define INTEGER_SAVES 0.75  /* measured from 128 to 1000 rows: 0.42 to 0.71 with the way to floats and back */
#define LEAST_INTEGERS 1024 /* elements: less is counting that costs nothing */

/* ---- integers ---- */

static bool is_product(struct ap_text name)
{
    static const char *const names[] = { "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

static bool is_integer(enum ap_element element)
{
    return element == AP_ELEMENT_int64 || element == AP_ELEMENT_int32 || element == AP_ELEMENT_int16 ||
           element == AP_ELEMENT_int8 || element == AP_ELEMENT_uint8;
}

static bool has_integers_alone(const struct ap_facts *facts, uint32_t signature)
{
    struct ap_tensor_list list;
    struct ap_text dims, types;
    ap_trace_signature(facts->trace, (struct ap_str){ signature }, &dims, &types);
    ap_tensor_list_read(&list, dims, types);
    for (int i = 0; i < list.count; i++)
        if (!is_integer(list.tensors[i].element) ||
            ap_tensor_elements(&list.tensors[i], 0, list.tensors[i].count) < LEAST_INTEGERS)
            return false;
    return list.count >= 2;
}

static void find_integers(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct ap_habit *habit = &habits->of[AP_HABIT_integer_product];
    for (uint32_t i = 0; i < work->shape_map.count; i++) {
        const struct ap_work_cost *cost = &work->shapes[i].cost;
        if (!is_product(ap_trace_text(facts->trace, cost->name)) || !has_integers_alone(facts, work->shapes[i].signature))
            continue;
        habit->count += cost->calls;
        habit->total_ns = ap_add_sat(habit->total_ns, cost->host_self_ns, &habits->overflowed);
        if (habit->row != AP_NO_ROW && habit->longest_ns >= cost->host_self_ns)
            continue;
        habit->longest_ns = cost->host_self_ns;
        habit->row = cost->slowest_row;
        habit->names[0] = cost->name;
        habit->signature = work->shapes[i].signature;
    }
    habit->saves_ns = ap_share_of(habit->total_ns, INTEGER_SAVES);
}

/* ---- dispatch modes ---- */

static bool is_dispatched(const struct ap_trace *trace, uint32_t row)
{
    return ap_row_is_of(trace, row, 1u << AP_KIND_python) &&
           ap_text_ends_with(ap_row_name(trace, row), ": __torch_dispatch__");
}

/* Its own time is that of the mode: operators that it goes on to are rows within. */
static void find_modes(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct ap_habit *habit = &habits->of[AP_HABIT_dispatch_mode];
    for (uint32_t i = 0; i < work->op_count; i++) {
        const struct ap_work_cost *cost = &work->ops[i].cost;
        if (!ap_text_is(ap_trace_text(facts->trace, cost->name), "PythonDispatchMode"))
            continue;
        habit->count = cost->calls;
        habit->total_ns = habit->saves_ns = cost->host_self_ns;
        habit->row = cost->slowest_row;
        habit->names[0] = cost->name;
    }
    for (uint32_t row = 0; habit->count && !habit->line && row < facts->trace->events.count; row++)
        if (is_dispatched(facts->trace, row))
            habit->line = facts->trace->events.name[row];
}

void ap_habits_of_calls(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    find_integers(habits, facts, work);
    find_modes(habits, facts, work);
}
