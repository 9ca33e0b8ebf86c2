/* SPDX-License-Identifier: MIT
 * habit_shapes.h - what the parts of habits by shapes share: operators summed over calls of the same sizes and types. */
#ifndef AP_HABIT_SHAPES_H
#define AP_HABIT_SHAPES_H

#include "habits.h"
#include "tensor_dims.h"

struct ap_habit_shapes {
    struct ap_habits *habits;
    const struct ap_facts *facts;
    const struct ap_host_work *work;
    struct ap_tensor_list list; /* of the shape that is looked at */
    const struct growth *cats;  /* what concatenations are called with, by what grows; of those that do not as well */
    int cat_count;
};

/** The name of the operator that has the shape. */
static inline struct ap_text ap_habit_shape_name(const struct ap_habit_shapes *shapes, uint32_t index)
{
    return ap_trace_text(shapes->facts->trace, ap_host_shape_cost(shapes->work, index).cost.name);
}

/** Its tensors, into the list. */
static inline void ap_habit_read_shape(struct ap_habit_shapes *shapes, uint32_t index)
{
    struct ap_text dims, types;
    ap_trace_signature(shapes->facts->trace, (struct ap_str){ ap_host_shape_cost(shapes->work, index).signature }, &dims,
                       &types);
    ap_tensor_list_read(&shapes->list, dims, types);
}

/** The first tensor of the input of that number, from 0 on; NULL = none. */
static inline const struct ap_tensor_dims *ap_habit_shape_input(const struct ap_habit_shapes *shapes, int number)
{
    for (int i = 0; i < shapes->list.count; i++)
        if (shapes->list.tensors[i].input == number)
            return &shapes->list.tensors[i];
    return NULL;
}

/** All calls of the shape; @share of their own time could go. The habit shows the shape with most of it. */
void ap_habit_add_shape(struct ap_habit_shapes *shapes, enum ap_habit_id id, uint32_t index, double share);

/** Concatenations that grow, and then inputs that do. */
void ap_habit_find_grown_shapes(struct ap_habit_shapes *shapes);

#endif
