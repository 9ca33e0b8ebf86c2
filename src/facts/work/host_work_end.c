/* SPDX-License-Identifier: MIT
 * host_work_end.c - gives host work back; which class of steps a time is in. */
#include "host_work.h"

#include "poison.h"

void ap_host_work_release(struct ap_host_work *work)
{
    ap_pair_map_release(&work->module_map);
    ap_pair_map_release(&work->op_frame_map);
    ap_pair_map_release(&work->slot_map);
    ap_pair_map_release(&work->instance_map);
    ap_pair_map_release(&work->class_id_map);
    ap_strpool_release(&work->classes);
    AP_FREE(work->gate, work->class_ids, work->class_id_capacity);
    AP_FREE(work->gate, work->device_costs, work->device_cost_capacity);
    AP_FREE(work->gate, work->op_states, work->op_state_capacity);
    AP_FREE(work->gate, work->op_at, work->op_at_capacity);
    AP_FREE(work->gate, work->ops, work->op_capacity);
    AP_FREE(work->gate, work->first_slots, work->first_slot_capacity);
    AP_FREE(work->gate, work->shapes, work->shape_capacity);
    AP_FREE(work->gate, work->shape_sums, work->shape_sum_capacity);
    AP_FREE(work->gate, work->modules, work->module_capacity);
    AP_FREE(work->gate, work->frames, work->frame_capacity);
    AP_FREE(work->gate, work->op_frames, work->op_frame_capacity);
    AP_FREE(work->gate, work->slots, work->slot_capacity);
    *work = (struct ap_host_work){ .gate = work->gate };
}

enum ap_step_class ap_step_class_at(struct ap_step_cursor *cursor, int64_t at_ns)
{
    const struct ap_steps *steps = cursor->steps;
    if (!steps->count)
        return AP_STEP_whole;
    size_t step = ap_step_cursor_at(cursor, at_ns);
    if (step == steps->count)
        return AP_STEP_outside;
    return steps->steps[step].cold ? AP_STEP_cold : steps->steps[step].cut ? AP_STEP_cut : AP_STEP_steady;
}
