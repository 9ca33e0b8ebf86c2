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

/* Elements of the whole tensor, of which most are put in place; 0 = it is another one. */
static double whole_of_most(const struct ap_facts *facts, uint32_t signature)
{
    struct ap_tensor_list list;
    struct ap_text dims, types;
    ap_trace_signature(facts->trace, (struct ap_str){ signature }, &dims, &types);
    ap_tensor_list_read(&list, dims, types);
    double whole = elements_of_input(&list, 0), put = elements_of_input(&list, 2);
    bool is_part = put >= whole * (1 - MOST_LEFT_OUT) && put <= whole; /* indices that take more take some again */
    return whole >= LEAST_ELEMENTS && is_part ? whole : 0;
}

/* Zeros where it was not called. */
static struct ap_work_cost cost_of(const struct ap_facts *facts, const struct ap_host_work *work, const char *name)
{
    for (uint32_t i = 0; i < work->op_count; i++) {
        struct ap_work_cost cost = ap_host_op_cost(work, i).cost;
        if (ap_text_is(ap_trace_text(facts->trace, cost.name), name))
            return cost;
    }
    return (struct ap_work_cost){ .calls = 0 };
}

/* The way there, which takes it from a tensor of the same size; unlike the backward pass it is at a line of the program. */
static int64_t taken_from(struct ap_habit *habit, const struct ap_facts *facts, const struct ap_host_work *work,
                          double whole)
{
    int64_t sum_ns = 0, longest_ns = -1;
    bool overflowed = false;
    for (uint32_t i = 0; i < work->shape_count; i++) {
        struct ap_tensor_list list;
        struct ap_text dims, types;
        const struct ap_shape_cost shape = ap_host_shape_cost(work, i);
        const struct ap_work_cost *cost = &shape.cost;
        if (!ap_text_is(ap_trace_text(facts->trace, cost->name), "aten::index"))
            continue;
        ap_trace_signature(facts->trace, (struct ap_str){ shape.signature }, &dims, &types);
        ap_tensor_list_read(&list, dims, types);
        if (elements_of_input(&list, 0) != whole)
            continue;
        sum_ns = ap_add_sat(sum_ns, cost->host_total_ns, &overflowed);
        if (cost->host_total_ns <= longest_ns)
            continue;
        longest_ns = cost->host_total_ns;
        habit->row = cost->slowest_row;
        habit->names[0] = cost->name;
        habit->signature = shape.signature;
    }
    return sum_ns;
}

/* The operator that takes elements by a mask makes it a list of indices first. */
static bool is_by_mask(const struct ap_facts *facts, const struct ap_host_work *work, uint64_t count)
{
    return count && cost_of(facts, work, "aten::nonzero").calls >= count;
}

/* On the host: the nodes with all that they call, which also make the tensor of zeros, and the way there. */
static void add_host_time(struct ap_habit *habit, const struct ap_facts *facts, const struct ap_host_work *work,
                          double whole)
{
    int64_t node_ns = cost_of(facts, work, "autograd::engine::evaluate_function: IndexBackward0").host_total_ns;
    int64_t put_ns = cost_of(facts, work, "aten::_index_put_impl_").host_total_ns;
    bool overflowed = false;
    if (put_ns > 0 && node_ns > put_ns)
        habit->total_ns = ap_share_of(node_ns, (double)habit->total_ns / (double)put_ns);
    habit->total_ns = ap_add_sat(habit->total_ns, taken_from(habit, facts, work, whole), &overflowed);
}

/* Work launched by what the operator calls, a sort of all indices, over its own. */
static double called_ratio(const struct ap_facts *facts, const struct ap_host_work *work)
{
    double own_ns = 0, all_ns = 0;
    for (uint32_t i = 0; i < work->op_count; i++)
        if (is_put(facts, ap_host_op_cost(work, i).cost.name)) {
            const struct ap_op_cost op = ap_host_op_cost(work, i);
            const struct ap_device_cost *cost = ap_device_cost(work, &op.cost);
            own_ns = (double)cost->self_ns;
            all_ns = (double)cost->total_ns;
        }
    return own_ns > 0 && all_ns > own_ns ? (all_ns - own_ns) / own_ns : 0;
}

void ap_habits_of_masks(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct ap_habit *habit = &habits->of[AP_HABIT_mask_gradient];
    double called = called_ratio(facts, work);
    /* what is put in place for its own sake gives no gradient back */
    uint32_t count = cost_of(facts, work, "IndexBackward0").calls ? work->shape_count : 0;
    double whole = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ap_shape_cost shape = ap_host_shape_cost(work, i);
        double of_shape = is_put(facts, shape.cost.name) ? whole_of_most(facts, shape.signature) : 0;
        if (of_shape <= 0)
            continue;
        int64_t device_ns = ap_device_cost(work, &shape.cost)->self_ns;
        device_ns = ap_add_sat(device_ns, ap_share_of(device_ns, called), &habits->overflowed);
        habit->count += shape.cost.calls;
        habit->total_ns = ap_add_sat(habit->total_ns, shape.cost.host_total_ns, &habits->overflowed);
        habit->device_ns = ap_add_sat(habit->device_ns, device_ns, &habits->overflowed);
        int64_t longest_ns = facts->links.count ? device_ns : shape.cost.host_total_ns;
        if (habit->row != AP_NO_ROW && habit->longest_ns >= longest_ns)
            continue;
        habit->longest_ns = longest_ns;
        whole = of_shape;
        habit->row = shape.cost.slowest_row;
        habit->names[0] = shape.cost.name;
        habit->signature = shape.signature;
    }
    if (!facts->links.count && is_by_mask(facts, work, habit->count))
        add_host_time(habit, facts, work, whole);
    else if (!facts->links.count)
        habit->total_ns = 0; /* without a mask other rows are wanted, and taking them is the way */
    habit->saves_ns = habit->total_ns;
    habit->device_saves_ns = habit->device_ns;
    habit->has_device = facts->links.count > 0;
}
