/* SPDX-License-Identifier: MIT */
#include "host_work.h"

#include <string.h>

#include "near_pairs.h"
#include "nest.h"
#include "rows_of.h"

#include "poison.h"

/* ------------------------------------------------------------------------------------------ GPU work by its cause */

/* The GPU work of each host row that launched some. */
struct launched {
    struct ap_gate *gate;
    struct ap_row_set causes;
    struct launched_work {
        int64_t device_ns;
        uint32_t rows;
    } * work; /* by number of the cause */
};

static void launched_release(struct launched *launched)
{
    AP_FREE(launched->gate, launched->work, launched->causes.count);
    ap_row_set_release(&launched->causes);
}

static void sum_launched(struct launched *launched, struct ap_host_work *work, const struct ap_host_work_input *input)
{
    const struct ap_trace *trace = input->trace;
    for (size_t i = 0; i < input->links->count; i++) {
        uint32_t cause = ap_work_cause(trace, ap_device_row_at(input->links, i));
        int64_t dur_ns = trace->events.dur_ns[input->links->row[i]];
        if (cause == AP_NO_ROW) {
            work->unlinked_device_ns = ap_add_sat(work->unlinked_device_ns, dur_ns, &work->overflowed);
            continue;
        }
        struct launched_work *launch = &launched->work[ap_row_set_number(&launched->causes, cause)];
        launch->device_ns = ap_add_sat(launch->device_ns, dur_ns, &work->overflowed);
        launch->rows++;
    }
}

static enum ap_status launched_init(struct launched *launched, struct ap_host_work *work,
                                    const struct ap_host_work_input *input, struct ap_error *reterr)
{
    *launched = (struct launched){ .gate = work->gate, .causes = { .gate = work->gate } };
    if (!input->links->count)
        return AP_OK;
    AP_TRY(ap_row_set_init(&launched->causes, work->gate, input->trace->events.count, reterr));
    for (size_t i = 0; i < input->links->count; i++) {
        uint32_t cause = ap_work_cause(input->trace, ap_device_row_at(input->links, i));
        if (cause != AP_NO_ROW)
            (void)ap_row_set_add(&launched->causes, cause);
    }
    ap_row_set_finish(&launched->causes);
    if (launched->causes.count) {
        launched->work = ap_mem_cleared(work->gate, launched->causes.count * sizeof(launched->work[0]));
        if (!launched->work)
            return ap_fail_memory(work->gate, reterr);
    }
    sum_launched(launched, work, input);
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- costs */

struct sweep {
    struct ap_host_work *work;
    const struct ap_host_work_input *input;
    const struct ap_trace *trace;
    struct launched launched;
    struct ap_user_frames lines;
    struct ap_nest ops, modules, frames;
    struct ap_step_cursor step;           /* of the row that was closed last */
    struct ap_near_pairs shapes;          /* operators and their signatures */
    uint32_t *op_of_name, *frame_of_name; /* by name id: number, AP_PAIR_NONE = not met yet */
    int64_t *caller_lead_ns;              /* by number of the sum: of the caller with most votes, see vote_for_caller() */
    uint32_t *open_rows;                  /* likewise: of the operator */
    size_t caller_lead_capacity, open_row_capacity;
    size_t name_count;
    bool has_shapes, has_python, has_slots;
};

static inline void add_to(struct ap_host_work *work, int64_t *sum_ns, int64_t ns)
{
    *sum_ns = ap_add_sat(*sum_ns, ns, &work->overflowed);
}

static enum ap_status need_device_cost(struct ap_host_work *work, struct ap_work_cost *cost, struct ap_error *reterr)
{
    if (cost->device)
        return AP_OK;
    AP_TRY_ADD(work->gate, work->device_costs, work->device_cost_count, work->device_cost_capacity, reterr,
               (struct ap_device_cost){ .rows = 0 });
    cost->device = (uint32_t)work->device_cost_count;
    return AP_OK;
}

static void note_slowest(const struct sweep *sweep, struct ap_work_cost *cost, const struct ap_nest_row *closed)
{
    const int64_t *dur_ns = sweep->trace->events.dur_ns;
    int64_t slowest_ns = ap_device_cost(sweep->work, cost)->slowest_ns;
    if (cost->calls && (closed->device_total_ns < slowest_ns ||
                        (closed->device_total_ns == slowest_ns && dur_ns[closed->row] <= dur_ns[cost->slowest_row])))
        return;
    cost->slowest_row = closed->row;
    if (cost->device)
        sweep->work->device_costs[cost->device - 1].slowest_ns = closed->device_total_ns;
}

/* All but the GPU total, which a name within itself must not have twice. */
static enum ap_status add_cost(struct sweep *sweep, struct ap_work_cost *cost, const struct ap_nest_row *closed,
                               struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    if (closed->device_rows)
        AP_TRY(need_device_cost(work, cost, reterr));
    note_slowest(sweep, cost, closed);
    cost->calls++;
    add_to(work, &cost->host_total_ns, closed->end_ns - closed->start_ns);
    add_to(work, &cost->host_self_ns, closed->host_self_ns);
    if (closed->device_rows)
        add_to(work, &work->device_costs[cost->device - 1].self_ns, closed->device_self_ns);
    return AP_OK;
}

static void add_device_total(struct ap_host_work *work, const struct ap_work_cost *cost, const struct ap_nest_row *closed)
{
    if (!closed->device_rows)
        return;
    add_to(work, &work->device_costs[cost->device - 1].total_ns, closed->device_total_ns);
    work->device_costs[cost->device - 1].rows += closed->device_rows;
}

/* The number of a pair, whose entry in the array is made where it is new. */
static enum ap_status number_of(struct ap_host_work *work, struct ap_pair_map *map, uint32_t a, uint32_t b, void **array,
                                size_t *capacity, size_t element_bytes, uint32_t *ret_number, bool *ret_is_new,
                                struct ap_error *reterr)
{
    uint32_t before = map->count;
    AP_TRY(ap_pair_map_add(map, a, b, ret_number, reterr));
    *ret_is_new = *ret_number == before;
    if (*ret_is_new) {
        AP_TRY(ap_mem_reserve(work->gate, array, capacity, (size_t)before + 1, element_bytes, reterr));
        memset((char *)*array + before * element_bytes, 0, element_bytes);
    }
    return AP_OK;
}

#define NUMBER_OF(work, which, a, b, ret_number, ret_is_new, reterr)                                         \
    number_of((work), &(work)->which##_map, (a), (b), (void **)&(work)->which##s, &(work)->which##_capacity, \
              sizeof((work)->which##s[0]), (ret_number), (ret_is_new), (reterr))

static enum ap_status add_op_frame(struct sweep *sweep, const struct ap_nest_row *closed, uint32_t frame,
                                   struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    uint32_t number;
    bool is_new;
    AP_TRY(NUMBER_OF(work, op_frame, closed->id, frame, &number, &is_new, reterr));
    struct ap_op_frame_cost *cost = &work->op_frames[number];
    cost->op = closed->id;
    cost->frame = frame;
    add_to(work, &cost->host_self_ns, closed->host_self_ns);
    add_to(work, &cost->device_self_ns, closed->device_self_ns);
    return AP_OK;
}

_Static_assert((int)AP_STEP_CLASS_COUNT_ *(int)AP_PHASE_COUNT_ < AP_SLOT_NONE, "a slot is kept in a byte");

static enum ap_status add_slot(struct sweep *sweep, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    enum ap_step_class step_class = ap_step_class_at(&sweep->step, sweep->trace->events.start_ns[closed->row]);
    uint32_t slot = AP_SLOT(step_class, ap_phase_of_row(sweep->input->phases, closed->row)), number;
    bool is_new;
    if (work->first_slots[closed->id] == AP_SLOT_NONE)
        work->first_slots[closed->id] = (uint8_t)slot;
    if (work->first_slots[closed->id] == slot)
        return AP_OK;
    AP_TRY(NUMBER_OF(work, slot, slot, closed->id, &number, &is_new, reterr));
    work->slots[number].slot = slot;
    work->slots[number].op = closed->id;
    add_to(work, &work->slots[number].host_self_ns, closed->host_self_ns);
    return AP_OK;
}

static struct ap_text strides_of(const struct ap_trace *trace, struct ap_str arguments)
{
    struct ap_text strides, concrete;
    ap_trace_signature(trace, arguments, &strides, &concrete);
    return strides;
}

/* Where tensors of equal shapes lie now in one way, now in another, none of both tells of all calls. */
static void note_strides(const struct ap_trace *trace, struct ap_shape_cost *shape, struct ap_str arguments)
{
    if (!shape->arguments)
        shape->arguments = arguments.id & INT32_MAX;
    if (arguments.id && !shape->lies_differently && arguments.id != shape->arguments)
        shape->lies_differently =
            !ap_text_equal(strides_of(trace, arguments), strides_of(trace, (struct ap_str){ shape->arguments }));
}

/* Does the row tell all that it costs? */
static bool tells_all(const struct ap_nest_row *closed)
{
    return !closed->device_rows && closed->host_self_ns == closed->end_ns - closed->start_ns;
}

/* Of what its only row tells, where there is one so far. */
static enum ap_status sum_shape(struct ap_host_work *work, uint32_t shape, struct ap_shape_cost cost,
                                struct ap_error *reterr)
{
    AP_TRY_ADD(work->gate, work->shape_sums, work->shape_sum_count, work->shape_sum_capacity, reterr, cost);
    work->shapes[shape] = (struct ap_shape_at){ (uint32_t)(work->shape_sum_count - 1) & INT32_MAX, true };
    return AP_OK;
}

/* False where the row tells it all. */
static enum ap_status begin_shape(struct ap_host_work *work, const struct ap_nest_row *closed, uint32_t signature,
                                  bool *ret_sums, struct ap_error *reterr)
{
    uint32_t name = work->trace->events.name[closed->row];
    *ret_sums = !tells_all(closed) || closed->row > INT32_MAX;
    AP_TRY_ADD(work->gate, work->shapes, work->shape_count, work->shape_capacity, reterr,
               (struct ap_shape_at){ closed->row & INT32_MAX, false });
    return *ret_sums ? sum_shape(work, work->shape_count - 1,
                                 (struct ap_shape_cost){ .cost.name = name, .signature = signature }, reterr)
                     : AP_OK;
}

static enum ap_status add_shape(struct sweep *sweep, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    const struct ap_op_detail *op = ap_row_op(sweep->trace, closed->row);
    uint32_t name = sweep->trace->events.name[closed->row], signature = op ? op->signature.id : 0, number;
    bool sums = true;
    if (!signature)
        return AP_OK;
    AP_TRY(ap_near_pairs_add(&sweep->shapes, name, signature, &number, reterr));
    if (number == work->shape_count)
        AP_TRY(begin_shape(work, closed, signature, &sums, reterr));
    else if (!work->shapes[number].is_summed)
        AP_TRY(sum_shape(work, number, ap_host_shape_cost(work, number), reterr));
    if (!sums)
        return AP_OK;
    struct ap_shape_cost *sum = &work->shape_sums[work->shapes[number].at];
    note_strides(sweep->trace, sum, ap_op_arguments(sweep->trace, op));
    return add_cost(sweep, &sum->cost, closed, reterr);
}

static void note_chosen(struct sweep *sweep, const struct ap_nest_row *closed)
{
    struct ap_chosen_rows *chosen = sweep->input->chosen;
    uint32_t number = chosen ? ap_row_set_number(&chosen->rows, closed->row) : AP_ROW_SET_NONE;
    if (number != AP_ROW_SET_NONE)
        chosen->device_total_ns[number] = closed->device_total_ns;
}

/* The vote of Boyer and Moore, by time: what has the majority is left at the end. */
static void vote_for_caller(struct sweep *sweep, struct ap_op_cost *op, int64_t *lead_ns, const struct ap_nest_row *closed)
{
    const struct ap_nest_row *outermost = &sweep->ops.open[0];
    uint32_t caller = outermost == closed ? 0 : sweep->trace->events.name[outermost->row];
    int64_t self_ns = ap_add_sat(closed->host_self_ns, closed->device_self_ns, &sweep->work->overflowed);
    if (*lead_ns < self_ns && op->caller != caller) {
        *lead_ns = self_ns - *lead_ns;
        op->caller = caller;
    } else if (op->caller == caller) {
        add_to(sweep->work, lead_ns, self_ns);
    } else {
        *lead_ns -= self_ns;
    }
}

/* With what is known of its only row so far. */
static enum ap_status begin_sum(struct sweep *sweep, uint32_t number, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    size_t sum = work->summed_count;
    AP_TRY(AP_RESERVE(work->gate, work->ops, work->op_capacity, sum + 1, reterr));
    AP_TRY(AP_RESERVE(work->gate, sweep->caller_lead_ns, sweep->caller_lead_capacity, sum + 1, reterr));
    AP_TRY(AP_RESERVE(work->gate, sweep->open_rows, sweep->open_row_capacity, sum + 1, reterr));
    work->ops[sum] = ap_host_op_cost(work, number);
    sweep->caller_lead_ns[sum] = work->ops[sum].cost.host_self_ns;
    sweep->open_rows[sum] = !work->ops[sum].cost.calls;
    work->op_states[number] = AP_OP_SUMMED;
    work->op_at[number] = (uint32_t)work->summed_count++;
    return AP_OK;
}

static bool is_alone(const struct sweep *sweep, const struct ap_nest_row *closed)
{
    return sweep->work->op_states[closed->id] == AP_OP_OPEN && closed == &sweep->ops.open[0] && tells_all(closed);
}

static enum ap_status add_op(struct sweep *sweep, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    if (is_alone(sweep, closed)) {
        work->op_states[closed->id] = AP_OP_ALONE;
        return AP_OK;
    }
    if (work->op_states[closed->id] != AP_OP_SUMMED)
        AP_TRY(begin_sum(sweep, closed->id, reterr));
    struct ap_op_cost *op = &work->ops[work->op_at[closed->id]];
    AP_TRY(add_cost(sweep, &op->cost, closed, reterr));
    vote_for_caller(sweep, op, &sweep->caller_lead_ns[op - work->ops], closed);
    if (--sweep->open_rows[op - work->ops] == 0)
        add_device_total(work, &op->cost, closed);
    return AP_OK;
}

static enum ap_status close_op(void *context, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct sweep *sweep = context;
    struct ap_host_work *work = sweep->work;
    AP_TRY(add_op(sweep, closed, reterr));
    add_to(work, &work->host_self_ns, closed->host_self_ns);
    add_to(work, &work->in_ops_device_ns, closed->device_self_ns);
    if (closed->device_total_ns)
        note_chosen(sweep, closed);
    if (closed->group != AP_PAIR_NONE)
        AP_TRY(add_op_frame(sweep, closed, closed->group, reterr));
    if (sweep->has_slots)
        AP_TRY(add_slot(sweep, closed, reterr));
    return sweep->has_shapes ? add_shape(sweep, closed, reterr) : AP_OK;
}

static enum ap_status close_module(void *context, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct sweep *sweep = context;
    return add_cost(sweep, &sweep->work->modules[closed->id].cost, closed, reterr);
}

static enum ap_status close_frame(void *context, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct sweep *sweep = context;
    return add_cost(sweep, &sweep->work->frames[closed->id], closed, reterr);
}

/* ---------------------------------------------------------------------------------------------------------- sweep */

static enum ap_status begin_op(struct sweep *sweep, uint32_t row, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    AP_TRY(AP_RESERVE(work->gate, work->op_at, work->op_at_capacity, (size_t)work->op_count + 1, reterr));
    AP_TRY(AP_RESERVE(work->gate, work->op_states, work->op_state_capacity, (size_t)work->op_count + 1, reterr));
    if (sweep->has_slots) {
        AP_TRY(AP_RESERVE(work->gate, work->first_slots, work->first_slot_capacity, (size_t)work->op_count + 1, reterr));
        work->first_slots[work->op_count] = AP_SLOT_NONE;
    }
    work->op_at[work->op_count] = row;
    work->op_states[work->op_count] = AP_OP_OPEN;
    sweep->op_of_name[sweep->trace->events.name[row]] = work->op_count++;
    return AP_OK;
}

static enum ap_status open_op(struct sweep *sweep, uint32_t row, struct ap_error *reterr)
{
    uint32_t name = sweep->trace->events.name[row], frame = AP_PAIR_NONE;
    int64_t start_ns = sweep->trace->events.start_ns[row];
    AP_TRY(ap_nest_advance(&sweep->ops, start_ns, close_op, sweep, reterr));
    uint32_t number = sweep->op_of_name[name];
    if (number == AP_PAIR_NONE) {
        number = sweep->work->op_count;
        AP_TRY(begin_op(sweep, row, reterr));
    } else {
        if (sweep->work->op_states[number] != AP_OP_SUMMED)
            AP_TRY(begin_sum(sweep, number, reterr));
        sweep->open_rows[sweep->work->op_at[number]]++;
    }
    if (sweep->has_python) {
        AP_TRY(ap_nest_advance(&sweep->frames, start_ns, close_frame, sweep, reterr));
        frame = sweep->frames.depth ? ap_nest_top(&sweep->frames)->id : AP_PAIR_NONE;
    }
    return ap_nest_push(&sweep->ops, sweep->trace, row, number, frame, reterr);
}

static enum ap_status find_class(struct sweep *sweep, uint32_t name, uint32_t *ret_class, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    uint32_t number;
    bool is_new;
    AP_TRY(NUMBER_OF(work, class_id, name, 0, &number, &is_new, reterr));
    if (is_new) {
        struct ap_text text = ap_module_class(ap_trace_text(sweep->trace, name));
        struct ap_str class_name;
        AP_TRY(ap_strpool_intern(&work->classes, text.data, text.bytes, &class_name, reterr));
        work->class_ids[number] = class_name.id;
    }
    *ret_class = work->class_ids[number];
    return AP_OK;
}

/* What is deeper than any model is counted to what it is in: each level of it would be a path of its own. */
#define MODULES_DEEP_MAX 1000

static enum ap_status open_module(struct sweep *sweep, uint32_t row, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    uint32_t name = sweep->trace->events.name[row], class_id, number, instance, before = work->instance_map.count;
    bool is_new;
    AP_TRY(ap_nest_advance(&sweep->modules, sweep->trace->events.start_ns[row], close_module, sweep, reterr));
    if (sweep->modules.depth == MODULES_DEEP_MAX) {
        work->deep_modules++;
        return AP_OK;
    }
    uint32_t parent = sweep->modules.depth ? ap_nest_top(&sweep->modules)->id : AP_PAIR_NONE;
    AP_TRY(find_class(sweep, name, &class_id, reterr));
    AP_TRY(NUMBER_OF(work, module, class_id, parent, &number, &is_new, reterr));
    AP_TRY(ap_pair_map_add(&work->instance_map, number, name, &instance, reterr));
    work->modules[number].cost.name = class_id;
    work->modules[number].parent = parent;
    work->modules[number].instances += instance == before;
    return ap_nest_push(&sweep->modules, sweep->trace, row, number, 0, reterr);
}

static enum ap_status find_frame(struct sweep *sweep, uint32_t name, struct ap_error *reterr)
{
    struct ap_host_work *work = sweep->work;
    AP_TRY(AP_RESERVE(work->gate, work->frames, work->frame_capacity, (size_t)work->frame_count + 1, reterr));
    work->frames[work->frame_count] = (struct ap_work_cost){ .name = name };
    sweep->frame_of_name[name] = work->frame_count++;
    return AP_OK;
}

static enum ap_status open_frame(struct sweep *sweep, uint32_t row, struct ap_error *reterr)
{
    uint32_t name = sweep->trace->events.name[row];
    AP_TRY(ap_nest_advance(&sweep->frames, sweep->trace->events.start_ns[row], close_frame, sweep, reterr));
    if (sweep->frame_of_name[name] == AP_PAIR_NONE)
        AP_TRY(find_frame(sweep, name, reterr));
    return ap_nest_push(&sweep->frames, sweep->trace, row, sweep->frame_of_name[name], 0, reterr);
}

/* PyTorch Lightning annotates modules. */
static bool is_module_annotation(const struct ap_trace *trace, uint32_t row)
{
    struct ap_str name = { trace->events.name[row] };
    return ap_text_starts_with(ap_strpool_text(&trace->strings, name), "[pl][module]");
}

/* Work whose cause begins now belongs to what is open. */
static enum ap_status launch(struct sweep *sweep, uint32_t row, struct ap_error *reterr)
{
    const struct launched_work *work = &sweep->launched.work[ap_row_set_number(&sweep->launched.causes, row)];
    int64_t now_ns = sweep->trace->events.start_ns[row];
    AP_TRY(ap_nest_advance(&sweep->modules, now_ns, close_module, sweep, reterr));
    AP_TRY(ap_nest_advance(&sweep->frames, now_ns, close_frame, sweep, reterr));
    ap_nest_launch(&sweep->modules, work->device_ns, work->rows);
    ap_nest_launch(&sweep->frames, work->device_ns, work->rows);
    if (!ap_row_is_of(sweep->trace, row, 1u << AP_KIND_operator))
        AP_TRY(ap_nest_advance(&sweep->ops, now_ns, close_op, sweep, reterr));
    if (sweep->ops.depth)
        ap_nest_launch(&sweep->ops, work->device_ns, work->rows);
    else
        add_to(sweep->work, &sweep->work->outside_ops_device_ns, work->device_ns);
    return AP_OK;
}

static enum ap_status open_row(struct sweep *sweep, uint32_t row, struct ap_error *reterr)
{
    switch (ap_row_kind(sweep->trace->events.tag[row])) {
    case AP_KIND_operator: AP_TRY(open_op(sweep, row, reterr)); break;
    case AP_KIND_annotation:
        if (is_module_annotation(sweep->trace, row))
            AP_TRY(open_module(sweep, row, reterr));
        break;
    case AP_KIND_python:
        if (ap_is_user_frame(&sweep->lines, sweep->trace->events.name[row]))
            return open_frame(sweep, row, reterr);
        return ap_is_module_frame(&sweep->lines, sweep->trace->events.name[row]) ? open_module(sweep, row, reterr) : AP_OK;
    default: break;
    }
    return ap_row_set_has(&sweep->launched.causes, row) ? launch(sweep, row, reterr) : AP_OK;
}

static void begin(struct ap_nest *nest)
{
    nest->depth = 0;
    nest->now_ns = INT64_MIN;
}

static enum ap_status go_over_track(struct sweep *sweep, const uint32_t *rows, size_t count, struct ap_error *reterr)
{
    begin(&sweep->ops);
    begin(&sweep->modules);
    begin(&sweep->frames);
    for (size_t i = 0; i < count; i++)
        AP_TRY(open_row(sweep, rows[i], reterr));
    AP_TRY(ap_nest_advance(&sweep->ops, INT64_MAX, close_op, sweep, reterr));
    AP_TRY(ap_nest_advance(&sweep->modules, INT64_MAX, close_module, sweep, reterr));
    return ap_nest_advance(&sweep->frames, INT64_MAX, close_frame, sweep, reterr);
}

static enum ap_status go_over(struct sweep *sweep, struct ap_error *reterr)
{
    const struct ap_row_order *order = sweep->input->order;
    for (size_t track = 0; track < order->track_count; track++)
        if (ap_track_may_hold(order, track, AP_HOST_KINDS))
            AP_TRY(go_over_track(sweep, order->rows + order->track_start[track],
                                 order->track_start[track + 1] - order->track_start[track], reterr));
    return AP_OK;
}

/* The time of a module is its own and that of all below it. */
static enum ap_status add_up_modules(struct ap_host_work *work, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < work->module_map.count; i++) {
        const struct ap_work_cost *cost = &work->modules[i].cost;
        work->modules[i].cost.host_total_ns = cost->host_self_ns;
        if (cost->device)
            work->device_costs[cost->device - 1].total_ns = work->device_costs[cost->device - 1].self_ns;
    }
    for (uint32_t i = work->module_map.count; i-- > 0;) {
        const struct ap_module_cost *module = &work->modules[i];
        if (module->parent == AP_PAIR_NONE)
            continue;
        struct ap_work_cost *parent = &work->modules[module->parent].cost;
        add_to(work, &parent->host_total_ns, module->cost.host_total_ns);
        if (!module->cost.device)
            continue;
        AP_TRY(need_device_cost(work, parent, reterr));
        add_to(work, &work->device_costs[parent->device - 1].total_ns, ap_device_cost(work, &module->cost)->total_ns);
    }
    return AP_OK;
}

static enum ap_status new_column(struct sweep *sweep, uint32_t **column, struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC(sweep->work->gate, *column, sweep->name_count, reterr));
    memset(*column, 0xff, sweep->name_count * sizeof(uint32_t));
    return AP_OK;
}

/* What is open, and what names stand for, while rows are gone over. */
static enum ap_status sweep_init(struct sweep *sweep, struct ap_error *reterr)
{
    struct ap_gate *gate = sweep->work->gate;
    sweep->ops.gate = sweep->modules.gate = sweep->frames.gate = sweep->lines.gate = sweep->lines.library.gate = gate;
    sweep->launched.gate = sweep->launched.causes.gate = gate;
    uint32_t signatures = ap_strpool_count(&sweep->trace->signatures);
    sweep->has_shapes = signatures != 0;
    sweep->has_python = ap_has_rows_of(sweep->trace, 1u << AP_KIND_python);
    sweep->has_slots = !sweep->input->links->linked_count;
    sweep->name_count = ap_trace_id_count(sweep->trace);
    AP_TRY(launched_init(&sweep->launched, sweep->work, sweep->input, reterr));
    if (sweep->has_shapes)
        AP_TRY(ap_near_pairs_init(&sweep->shapes, gate, (size_t)signatures + 1, reterr));
    AP_TRY(new_column(sweep, &sweep->op_of_name, reterr));
    if (!sweep->has_python)
        return AP_OK;
    AP_TRY(new_column(sweep, &sweep->frame_of_name, reterr));
    return ap_user_frames_init(&sweep->lines, sweep->trace, gate, reterr);
}

static void sweep_release(struct sweep *sweep)
{
    struct ap_gate *gate = sweep->work->gate;
    launched_release(&sweep->launched);
    ap_near_pairs_release(&sweep->shapes);
    ap_user_frames_release(&sweep->lines);
    ap_nest_release(&sweep->ops);
    ap_nest_release(&sweep->modules);
    ap_nest_release(&sweep->frames);
    ap_mem_free(gate, sweep->op_of_name, sweep->name_count * sizeof(uint32_t));
    ap_mem_free(gate, sweep->frame_of_name, sweep->name_count * sizeof(uint32_t));
    AP_FREE(gate, sweep->caller_lead_ns, sweep->caller_lead_capacity);
    AP_FREE(gate, sweep->open_rows, sweep->open_row_capacity);
}

enum ap_status ap_host_work_init(struct ap_host_work *work, const struct ap_host_work_input *input, struct ap_gate *gate,
                                 struct ap_error *reterr)
{
    *work = (struct ap_host_work){ .gate = gate, .trace = input->trace };
    work->module_map.gate = work->op_frame_map.gate = work->slot_map.gate = gate;
    work->instance_map.gate = work->class_id_map.gate = gate;
    ap_strpool_init(&work->classes, gate);
    struct sweep sweep = { .work = work, .input = input, .trace = input->trace, .step = { input->steps, 0 } };
    enum ap_status status = sweep_init(&sweep, reterr);
    AP_AND_THEN(status, go_over(&sweep, reterr));
    AP_AND_THEN(status, add_up_modules(work, reterr));
    work->overflowed |= sweep.ops.overflowed || sweep.modules.overflowed || sweep.frames.overflowed;
    sweep_release(&sweep);
    ap_pair_map_keep_count(&work->module_map);
    ap_pair_map_keep_count(&work->op_frame_map);
    ap_pair_map_keep_count(&work->slot_map);
    ap_pair_map_keep_count(&work->instance_map);
    ap_pair_map_keep_count(&work->class_id_map);
    return status;
}
