/* SPDX-License-Identifier: MIT
 * What single calls tell by their name and types: products of integers and in half precision, autocast, dispatch modes. */
#include "habits.h"
#include "tensor_dims.h"

#include "poison.h"

#define LEAST_ELEMENTS 1024                  /* less is counting that costs nothing */
#define LONG_CONVOLUTION_NS INT64_C(5000000) /* so long are none of those in float32 that oneDNN leaves out */
#define MEAN_CONVOLUTION_NS INT64_C(500000)  /* others may have kept the CPU from one of them: their mean tells, too */
#define SLOW_SAVES 0.8                       /* at most, of the time of products: measured 0.6 in float64, 0.85 in fp16 */

/* ---- products in types that have no fast ones ---- */

struct slow_type {
    enum ap_habit_id id;
    enum ap_element elements[5];
    double saves; /* at most, of the time of products; with the way to floats and back */
};

static const struct slow_type slow_types[] = {
    /* measured from 128 to 1000 rows: 0.42 to 0.71 */
    { AP_HABIT_integer_product,
      { AP_ELEMENT_int64, AP_ELEMENT_int32, AP_ELEMENT_int16, AP_ELEMENT_int8, AP_ELEMENT_uint8 },
      0.75 },
    /* measured on a CPU without instructions for it: products 0.8, convolutions 0.96 */
    { AP_HABIT_half_product, { AP_ELEMENT_fp16, AP_ELEMENT_fp16, AP_ELEMENT_fp16, AP_ELEMENT_fp16, AP_ELEMENT_fp16 }, 0.95 },
};

static bool is_product(struct ap_text name)
{
    static const char *const names[] = { "aten::mm",
                                         "aten::addmm",
                                         "aten::bmm",
                                         "aten::baddbmm",
                                         "aten::_slow_conv2d_forward",
                                         "aten::_slow_conv2d_backward",
                                         "aten::mkldnn_convolution" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

static bool is_of_type(const struct slow_type *type, enum ap_element element)
{
    for (size_t i = 0; i < AP_COUNT_OF(type->elements); i++)
        if (type->elements[i] == element)
            return true;
    return false;
}

/* All of its matrices are; vectors are added. */
static bool has_matrices_of(const struct slow_type *type, const struct ap_facts *facts, uint32_t signature)
{
    struct ap_tensor_list list;
    struct ap_text dims, types;
    bool has_large = false;
    ap_trace_signature(facts->trace, (struct ap_str){ signature }, &dims, &types);
    ap_tensor_list_read(&list, dims, types);
    for (int i = 0; i < list.count; i++) {
        const struct ap_tensor_dims *tensor = &list.tensors[i];
        if (tensor->count < 2)
            continue;
        if (!is_of_type(type, tensor->element))
            return false;
        has_large |= ap_tensor_elements(tensor, 0, tensor->count) >= LEAST_ELEMENTS;
    }
    return has_large;
}

static void find_products(struct ap_habits *habits, const struct slow_type *type, const struct ap_facts *facts,
                          const struct ap_host_work *work)
{
    struct ap_habit *habit = &habits->of[type->id];
    for (uint32_t i = 0; i < work->shape_count; i++) {
        const struct ap_shape_cost shape = ap_host_shape_cost(work, i);
        const struct ap_work_cost *cost = &shape.cost;
        if (!is_product(ap_trace_text(facts->trace, cost->name)) || !has_matrices_of(type, facts, shape.signature))
            continue;
        habit->count += cost->calls;
        habit->total_ns = ap_add_sat(habit->total_ns, cost->host_self_ns, &habits->overflowed);
        if (habit->row != AP_NO_ROW && habit->longest_ns >= cost->host_self_ns)
            continue;
        habit->longest_ns = cost->host_self_ns;
        habit->row = cost->slowest_row;
        habit->names[0] = cost->name;
        habit->signature = shape.signature;
    }
    habit->saves_ns = ap_share_of(habit->total_ns, type->saves);
}

/* ---- convolutions that oneDNN does not take, where no types were recorded ---- */

static bool is_slow_convolution(const struct ap_trace *trace, const struct ap_work_cost *cost)
{
    return ap_text_is(ap_trace_text(trace, cost->name), "aten::_slow_conv2d_forward");
}

/* In float32 the CPU's convolutions go to oneDNN, but for small ones of one thread or one image. @ret_slow: the one that
 * takes longest; AP_NO_ROW = there is none, or the types were recorded, which tell more. */
static void find_slow_convolution(const struct ap_facts *facts, const struct ap_host_work *work, uint32_t *ret_slow)
{
    *ret_slow = AP_NO_ROW;
    bool has_fast = false;
    int64_t mean_ns = 0;
    for (uint32_t i = 0; i < work->op_count; i++) {
        const struct ap_op_cost op = ap_host_op_cost(work, i);
        const struct ap_work_cost *cost = &op.cost;
        has_fast |= ap_text_is(ap_trace_text(facts->trace, cost->name), "aten::mkldnn_convolution");
        if (is_slow_convolution(facts->trace, cost)) {
            *ret_slow = cost->slowest_row;
            mean_ns = cost->calls ? cost->host_total_ns / (int64_t)cost->calls : 0;
        }
    }
    const struct ap_op_detail *detail = *ret_slow == AP_NO_ROW ? NULL : ap_row_op(facts->trace, *ret_slow);
    if (has_fast || (detail && detail->signature.id) ||
        (*ret_slow != AP_NO_ROW &&
         (facts->trace->events.dur_ns[*ret_slow] < LONG_CONVOLUTION_NS || mean_ns < MEAN_CONVOLUTION_NS)))
        *ret_slow = AP_NO_ROW;
}

/* Products are in the same type as the convolutions of their model. */
static void find_slow_convolutions(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct ap_habit *habit = &habits->of[AP_HABIT_slow_convolution];
    uint32_t slow;
    find_slow_convolution(facts, work, &slow);
    for (uint32_t i = 0; slow != AP_NO_ROW && i < work->op_count; i++) {
        const struct ap_op_cost op = ap_host_op_cost(work, i);
        const struct ap_work_cost *cost = &op.cost;
        if (!is_product(ap_trace_text(facts->trace, cost->name)))
            continue;
        habit->count += is_slow_convolution(facts->trace, cost) ? cost->calls : 0;
        habit->total_ns = ap_add_sat(habit->total_ns, cost->host_self_ns, &habits->overflowed);
    }
    if (slow == AP_NO_ROW)
        return;
    habit->row = slow;
    habit->longest_ns = facts->trace->events.dur_ns[slow];
    habit->names[0] = facts->trace->events.name[slow];
    habit->saves_ns = ap_share_of(habit->total_ns, SLOW_SAVES);
}

/* ---- layers under autocast ---- */

/* Autocast is called in place of a layer, casts what it is handed, and calls the layer by the same name. */
static bool is_layer(struct ap_text name)
{
    static const char *const names[] = { "aten::linear", "aten::matmul", "aten::mm",     "aten::addmm",
                                         "aten::bmm",    "aten::conv1d", "aten::conv2d", "aten::conv3d" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

/* Types that were recorded tell of fp16 better. */
static bool may_be_bf16(const struct ap_facts *facts, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(facts->trace, row);
    struct ap_text dims, types;
    struct ap_tensor_list list;
    if (!op || !op->signature.id)
        return true;
    ap_trace_signature(facts->trace, op->signature, &dims, &types);
    ap_tensor_list_read(&list, dims, types);
    return list.count && list.tensors[0].element == AP_ELEMENT_bf16;
}

static void find_autocast(struct ap_habits *habits, const struct ap_facts *facts)
{
    uint32_t casts_in = AP_NO_ROW; /* what the last cast is a part of */
    uint32_t cast = ap_trace_find_text(facts->trace, "aten::to");
    if (!cast)
        return;
    for (struct ap_placed_rows at = ap_placed_rows(&facts->order, facts->trace, AP_HOST_KINDS); ap_placed_rows_next(&at);) {
        uint32_t row = at.row, caller = ap_host_parent(&facts->tree, row);
        if (caller == AP_NO_ROW)
            continue;
        if (facts->trace->events.name[row] == cast)
            casts_in = caller;
        if (caller != casts_in || facts->trace->events.name[caller] != facts->trace->events.name[row] ||
            !is_layer(ap_row_name(facts->trace, row)) || !may_be_bf16(facts, row))
            continue;
        int64_t dur_ns = facts->trace->events.dur_ns[caller];
        struct ap_habit *habit =
            ap_habit_add(habits, AP_HABIT_autocast_layer, caller, dur_ns, ap_share_of(dur_ns, SLOW_SAVES));
        if (habit)
            habit->names[0] = facts->trace->events.name[caller];
    }
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
        const struct ap_op_cost op = ap_host_op_cost(work, i);
        const struct ap_work_cost *cost = &op.cost;
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
    for (size_t i = 0; i < AP_COUNT_OF(slow_types); i++)
        find_products(habits, &slow_types[i], facts, work);
    find_slow_convolutions(habits, facts, work);
    find_autocast(habits, facts);
    find_modes(habits, facts, work);
}
