/* SPDX-License-Identifier: MIT */
#include "lone_groups.h"

#include "poison.h"

/* "[0]", or the same in quotes. */
static bool lists_one(struct ap_text ranks)
{
    bool has_digit = false;
    for (size_t i = 0; i < ranks.bytes; i++) {
        if (ranks.data[i] == ',' || ranks.data[i] == '.') /* a list that is shortened is one of many */
            return false;
        has_digit |= ranks.data[i] >= '0' && ranks.data[i] <= '9';
    }
    return has_digit;
}

/* A size that is told counts, else the ranks. */
static bool is_alone(const struct ap_trace *trace, const struct ap_id_map *by_name, const struct ap_collective *told)
{
    const uint32_t *listed = told->group_name.id ? ap_id_map_find(by_name, told->group_name.id) : NULL;
    const struct ap_trace_group *group = listed ? &trace->groups[*listed] : NULL;
    if (told->group_size > 0)
        return told->group_size == 1;
    if (group && group->size > 0)
        return group->size == 1;
    return lists_one(ap_strpool_text(&trace->strings, group && group->ranks.id ? group->ranks : told->group_ranks));
}

/* External id of the operator that is the collective; 0 = it is none, or has none. */
static ap_link_key operator_of(const struct ap_trace *trace, size_t number)
{
    uint32_t row = trace->collectives[number].row;
    const struct ap_op_detail *op = ap_row_is_of(trace, row, 1u << AP_KIND_operator) ? ap_row_op(trace, row) : NULL;
    return op ? op->external_id : 0;
}

/* Few are of a group of one, in most recordings none: the others have no place in the map. */
static enum ap_status list_operators(struct ap_lone_groups *groups, const struct ap_trace *trace, struct ap_error *reterr)
{
    size_t lone = 0;
    for (size_t i = 0; i < groups->count; i++)
        lone += groups->of_collective[i] && operator_of(trace, i);
    if (!lone)
        return AP_OK;
    AP_TRY(ap_id_map_init(&groups->operators, groups->gate, lone, reterr));
    for (size_t i = 0; i < groups->count; i++) {
        ap_link_key id = operator_of(trace, i);
        uint32_t *other = id && !groups->of_collective[i] ? ap_id_map_find(&groups->operators, id) : NULL;
        if (other)
            *other = 0; /* of two with one number the last one counts */
        else if (id && groups->of_collective[i])
            *ap_id_map_add(&groups->operators, id) = 1;
    }
    return AP_OK;
}

static void judge(struct ap_lone_groups *groups, const struct ap_trace *trace, const struct ap_id_map *by_name)
{
    for (size_t i = 0; i < groups->count; i++)
        groups->of_collective[i] = is_alone(trace, by_name, ap_trace_collective(trace, i));
}

enum ap_status ap_lone_groups_init(struct ap_lone_groups *groups, const struct ap_trace *trace, struct ap_gate *gate,
                                   struct ap_error *reterr)
{
    struct ap_id_map by_name;
    *groups = (struct ap_lone_groups){ .gate = gate, .count = trace->collective_count, .operators = { .gate = gate } };
    if (!groups->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(gate, groups->of_collective, groups->count, reterr));
    enum ap_status status = ap_id_map_init(&by_name, gate, trace->group_count + 1, reterr);
    for (uint32_t i = 0; i < trace->group_count && status == AP_OK; i++)
        if (trace->groups[i].name.id)
            *ap_id_map_add(&by_name, trace->groups[i].name.id) = i;
    if (status == AP_OK)
        judge(groups, trace, &by_name);
    ap_id_map_release(&by_name);
    return status == AP_OK ? list_operators(groups, trace, reterr) : status;
}

void ap_lone_groups_release(struct ap_lone_groups *groups)
{
    AP_FREE(groups->gate, groups->of_collective, groups->count);
    ap_id_map_release(&groups->operators);
    *groups = (struct ap_lone_groups){ .gate = groups->gate, .operators = { .gate = groups->gate } };
}

bool ap_is_launched_alone(const struct ap_lone_groups *groups, const struct ap_trace *trace, uint32_t kernel)
{
    const struct ap_work_detail *work = groups->operators.slots ? ap_row_work(trace, kernel) : NULL;
    const uint32_t *told = work && work->external_id ? ap_id_map_find(&groups->operators, work->external_id) : NULL;
    return told && *told == 1;
}
