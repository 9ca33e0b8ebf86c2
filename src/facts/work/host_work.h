/* SPDX-License-Identifier: MIT
 * host_work.h - what host rows cost: own and total time on the host and of the GPU work that they launched, by operator, by
 * operator and input shapes, by nn.Module path, by the user's Python line. Found in one go over the threads. */
#ifndef AP_HOST_WORK_H
#define AP_HOST_WORK_H

#include "links.h"
#include "pair_map.h"
#include "phase.h"
#include "row_set.h"
#include "user_frame.h"

/* There may be as many as rows, so they are small. */
struct ap_work_cost {
    int64_t host_total_ns, host_self_ns; /* of rows placed in time: self = innermost open one of its kind on the thread */
    uint32_t calls;
    uint32_t slowest_row; /* the one with the most GPU work, then the longest one */
    uint32_t name;        /* whose cost it is: an operator's, a frame's; of a module: its class, of classes */
    uint32_t device; /* number + 1 of its GPU work in device_costs, which ap_device_cost() tells; 0 = it launched none */
};

/* GPU work of what has some. */
struct ap_device_cost {
    int64_t self_ns;    /* launched while it was the innermost open one of its kind */
    int64_t total_ns;   /* launched in it or in what it called; a name within itself counts once */
    int64_t slowest_ns; /* of the slowest row */
    uint32_t rows;      /* in all; there are no more rows than that */
};

struct ap_op_cost {
    struct ap_work_cost cost;
    uint32_t caller; /* name of the outermost operator around it that has more than half of its own time, if any has;
                        0 = it is outermost itself */
};

struct ap_shape_cost {
    struct ap_work_cost cost;
    uint32_t signature;
    uint32_t arguments : 31;       /* of its first call that has some, whose strides all others share; 0 = none. There is no
                                      room in a pool for more ids */
    uint32_t lies_differently : 1; /* they do not */
};

/* Where the cost of a shape is. Most of many are those of one call, whose row tells all that a sum would. */
struct ap_shape_at {
    uint32_t at : 31; /* the row of its only call, of which all time is its own and which launched nothing; else its sum */
    uint32_t is_summed : 1;
};

/* A path of nn.Modules by class: the many equal layers of a model are one path. Paths come before those below them. Totals
 * are the own times of the path and all below. */
struct ap_module_cost {
    struct ap_work_cost cost; /* its name: "Linear" for nn.Module: Linear_0 */
    uint32_t parent;          /* AP_PAIR_NONE = outermost */
    uint32_t instances;       /* different names */
};

/* Own times of an operator under a user's line. */
struct ap_op_frame_cost {
    uint32_t op, frame; /* numbers of an operator and a frame */
    int64_t host_self_ns, device_self_ns;
};

/* Own host time of an operator in another part of the run than its first row is in. */
struct ap_op_slot {
    uint32_t op, slot; /* number of the operator; see AP_SLOT */
    int64_t host_self_ns;
};
#define AP_SLOT_NONE UINT8_MAX

struct ap_host_work {
    struct ap_gate *gate;
    struct ap_pair_map module_map, op_frame_map, slot_map; /* behind the sweep their counts only */
    struct ap_pair_map instance_map, class_id_map;         /* (path, name); (name, 0) */
    struct ap_strpool classes;
    uint32_t *class_ids;
    size_t class_id_capacity;
    struct ap_device_cost *device_costs;
    size_t device_cost_count, device_cost_capacity;
    uint32_t op_count, frame_count;
    const struct ap_trace *trace;
    uint8_t *op_states; /* by operator: enum ap_op_state */
    uint32_t *op_at;    /* likewise: the number in ops of one that is summed, else its only row */
    size_t op_state_capacity, op_at_capacity;
    struct ap_op_cost *ops; /* as ap_host_op_cost() reads them */
    size_t summed_count, op_capacity;
    uint8_t *first_slots; /* by operator: where its first row is, and all of its own time that none of the slots tells. Most
                             are in one place. NULL where GPU work tells what the report narrows down to */
    size_t first_slot_capacity;
    struct ap_shape_at *shapes; /* by shape, as ap_host_shape_cost() reads them */
    uint32_t shape_count;
    size_t shape_capacity;
    struct ap_shape_cost *shape_sums;
    size_t shape_sum_count, shape_sum_capacity;
    struct ap_module_cost *modules;
    size_t module_capacity;
    struct ap_work_cost *frames;
    size_t frame_capacity;
    struct ap_op_frame_cost *op_frames;
    size_t op_frame_capacity;
    struct ap_op_slot *slots;
    size_t slot_capacity;
    int64_t host_self_ns;          /* of all operators */
    int64_t in_ops_device_ns;      /* launched within operators */
    int64_t outside_ops_device_ns; /* launched, but not within operators */
    int64_t unlinked_device_ns;    /* no launch or operator in the trace */
    uint64_t deep_modules;         /* rows of modules that lie too deep in others to be told apart */
    bool overflowed;
};

/* A name may be that of one row, in which nothing else is: then the row tells all that a sum would. */
enum ap_op_state {
    AP_OP_OPEN, /* has one row so far, which is not over */
    AP_OP_ALONE,
    AP_OP_SUMMED
};

/** @op: below op_count. */
static inline struct ap_op_cost ap_host_op_cost(const struct ap_host_work *work, uint32_t op)
{
    uint32_t at = work->op_at[op];
    if (work->op_states[op] == AP_OP_SUMMED)
        return work->ops[at];
    bool is_over = work->op_states[op] == AP_OP_ALONE;
    int64_t ns = is_over ? work->trace->events.dur_ns[at] : 0;
    return (struct ap_op_cost){ .cost = { ns, ns, is_over, at, work->trace->events.name[at], 0 } };
}

/** @shape: below shape_count. */
static inline struct ap_shape_cost ap_host_shape_cost(const struct ap_host_work *work, uint32_t shape)
{
    uint32_t at = work->shapes[shape].at;
    if (work->shapes[shape].is_summed)
        return work->shape_sums[at];
    const struct ap_op_detail *op = ap_row_op(work->trace, at);
    int64_t ns = work->trace->events.dur_ns[at];
    return (struct ap_shape_cost){ .cost = { ns, ns, 1, at, work->trace->events.name[at], 0 },
                                   .signature = op->signature.id,
                                   .arguments = ap_op_arguments(work->trace, op).id & INT32_MAX };
}

/** Zeros where it launched none. */
static inline const struct ap_device_cost *ap_device_cost(const struct ap_host_work *work, const struct ap_work_cost *cost)
{
    static const struct ap_device_cost none = { .rows = 0 };
    return cost->device ? &work->device_costs[cost->device - 1] : &none;
}

/** GPU work of chosen rows with all that they called. */
struct ap_chosen_rows {
    struct ap_row_set rows;
    int64_t *device_total_ns; /* by number */
};

struct ap_host_work_input {
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    const struct ap_links *links;
    const struct ap_phases *phases;
    const struct ap_steps *steps;
    struct ap_chosen_rows *chosen; /* filled; may be NULL */
};

enum ap_step_class { AP_STEP_whole, AP_STEP_steady, AP_STEP_cold, AP_STEP_cut, AP_STEP_outside, AP_STEP_CLASS_COUNT_ };
/** The class of the step that holds the time: AP_STEP_whole in a trace without steps, AP_STEP_outside between them. */
enum ap_step_class ap_step_class_at(struct ap_step_cursor *cursor, int64_t at_ns);
/** Which part of the run a row belongs to: the class of its step, and its phase. */
#define AP_SLOT(step_class, phase) ((uint32_t)(step_class)*AP_PHASE_COUNT_ + (uint32_t)(phase))

/** @work may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_host_work_init(struct ap_host_work *work, const struct ap_host_work_input *input,
                                               struct ap_gate *gate, struct ap_error *reterr);
void ap_host_work_release(struct ap_host_work *work);

#endif
