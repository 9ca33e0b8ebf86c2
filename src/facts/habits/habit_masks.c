/* SPDX-License-Identifier: MIT
 * Gradients of what a mask or indices took: where most elements of a tensor were taken, keeping its shape takes less. */
#include "habits.h"
#include "tensor_dims.h"

#include "poison.h"

#define LEAST_ELEMENTS (64 * 1024) /* fewer cost nothing */
#define MOST_LEFT_OUT 0.5          /* where fewer are taken, taking them saves work behind it */

static bool is_put(const struct ap_facts *facts, uint32_t name)
{
    return ap_text_equal(ap_trace_text(facts->trace, name), ap_text_of("aten::_index_put_impl_"));
}

static double elements_of_input(const struct ap_tensor_list *list, int number)
{
    for (int i = 0; i < list->count; i++)
        if (list->tensors[i].input == number)
            return ap_tensor_elements(&list->tensors[i], 0, list->tensors[i].count);
    return 0;
}

static bool takes_most(const struct ap_facts *facts, uint32_t signature)
{
    struct ap_tensor_list list;
    struct ap_text dims, types;
    ap_trace_signature(facts->trace, (struct ap_str){ signature }, &dims, &types);
    ap_tensor_list_read(&list, dims, types);
    double whole = elements_of_input(&list, 0);
    return whole >= LEAST_ELEMENTS && elements_of_input(&list, 2) >= whole * (1 - MOST_LEFT_OUT);
}

/* What is put in place for its own sake gives no gradient back. */
static bool has_backward_of_index(const struct ap_facts *facts, const struct ap_host_work *work)
{
    bool has = false;
    for (uint32_t i = 0; i < work->op_count && !has; i++)
        has = ap_text_equal(ap_trace_text(facts->trace, work->ops[i].cost.name), ap_text_of("IndexBackward0"));
    return has;
}

/* Work launched by what the operator calls, a sort of all indices, over its own. */
static double called_ratio(const struct ap_facts *facts, const struct ap_host_work *work)
{
    double own_ns = 0, all_ns = 0;
    for (uint32_t i = 0; i < work->op_count; i++)
        if (is_put(facts, work->ops[i].cost.name)) {
            own_ns = (double)work->ops[i].cost.device_self_ns;
            all_ns = (double)work->ops[i].cost.device_total_ns;
        }
    return own_ns > 0 && all_ns > own_ns ? (all_ns - own_ns) / own_ns : 0;
}

void ap_habits_of_masks(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct ap_habit *habit = &habits->of[AP_HABIT_mask_gradient];
    double called = called_ratio(facts, work);
    uint32_t count = has_backward_of_index(facts, work) ? work->shape_map.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ap_shape_cost *shape = &work->shapes[i];
        if (!is_put(facts, shape->cost.name) || !takes_most(facts, shape->signature))
            continue;
        int64_t device_ns = shape->cost.device_self_ns;
        device_ns = ap_add_sat(device_ns, ap_share_of(device_ns, called), &habits->overflowed);
        habit->count += shape->cost.calls;
        habit->total_ns = ap_add_sat(habit->total_ns, shape->cost.host_total_ns, &habits->overflowed);
        habit->device_ns = ap_add_sat(habit->device_ns, device_ns, &habits->overflowed);
        if (habit->row != AP_NO_ROW && habit->longest_ns >= device_ns)
            continue;
        habit->longest_ns = device_ns;
        habit->row = shape->cost.slowest_row;
        habit->names[0] = shape->cost.name;
        habit->signature = shape->signature;
    }
    habit->saves_ns = habit->total_ns;
    habit->device_saves_ns = habit->device_ns;
    habit->has_device = facts->links.count > 0;
}
