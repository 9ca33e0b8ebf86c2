/* SPDX-License-Identifier: MIT
 * compute_groups.c - what is asked of a group of calls that are alike. */
#include "compute_calls.h"

#include "poison.h"

const struct ap_compute_group *ap_compute_calls_at(const struct ap_compute *compute, uint32_t number,
                                                   struct ap_compute_group *room)
{
    const struct ap_compute_place *place = &compute->groups[number];
    if (!place->is_alone)
        return &compute->full[place->at];
    int64_t ns = compute->is_host ? compute->trace->events.dur_ns[place->at] : 0;
    *room = (struct ap_compute_group){
        .cost = { .kind = place->kind, .element = place->element, .flags = place->flags, .is_of_row = true },
        .name = compute->trace->events.name[place->at],
        .signature = ap_row_op(compute->trace, place->at)->signature.id,
        .longest_row = place->at,
        .count = 1,
        .timed_count = compute->is_host,
        .total_ns = ns,
        .median_ns = ns
    };
    return room;
}

const struct ap_compute_group *ap_compute_group_at(const struct ap_compute *compute, uint32_t number,
                                                   struct ap_compute_group *room)
{
    const struct ap_compute_group *group = ap_compute_calls_at(compute, number, room);
    if (group != room)
        return group;
    const struct ap_call_cost *cost = ap_compute_cost_of_row(compute, room->longest_row);
    room->cost.flops = cost->flops;
    room->cost.bytes = cost->bytes;
    return room;
}

double ap_compute_matrix_flops(const struct ap_kept_cost *cost)
{
    return ap_work_kind_multiplies(cost->kind) && cost->flops > 0 ? cost->flops : 0;
}

double ap_compute_group_flops(const struct ap_compute *compute, uint32_t number)
{
    return ap_work_kind_multiplies(ap_compute_kind(compute, number))
               ? ap_compute_matrix_flops(&AP_COMPUTE_GROUP(compute, number)->cost)
               : 0;
}
