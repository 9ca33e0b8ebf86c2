/* SPDX-License-Identifier: MIT
 * hang_circles.c - ranks and groups that wait for each other in a circle, and who of them is the odd one. */
#include "hang_alike.h"
#include "hang_search.h"
#include "sort.h"

#include "poison.h"

struct in_circle {
    uint32_t circle, group, rank; /* one of the two is AP_FLIGHT_NONE */
};

static int by_circle(const void *left, const void *right)
{
    const struct in_circle *a = left, *b = right;
    AP_BY_SMALLER(a->circle, b->circle);
    AP_BY_SMALLER(a->group, b->group);
    AP_BY_SMALLER(a->rank, b->rank);
    return 0;
}

static uint32_t list_circles(const struct ap_hang_search *search, struct in_circle *list)
{
    const struct ap_flight_waits *waits = search->findings->waits;
    uint32_t count = 0;
    for (uint32_t i = 0; i < search->findings->groups->group_count; i++)
        if (waits->list[i].circle != AP_FLIGHT_NONE)
            list[count++] = (struct in_circle){ waits->list[i].circle, i, AP_FLIGHT_NONE };
    for (uint32_t i = 0; i < search->findings->flight->dump_count; i++)
        if (waits->ranks[i].circle != AP_FLIGHT_NONE)
            list[count++] =
                (struct in_circle){ waits->ranks[i].circle, AP_FLIGHT_NONE, search->findings->flight->dumps[i].rank };
    ap_sort(list, count, sizeof(list[0]), by_circle);
    return count;
}

/* The only group on the circle of which groups alike tell who is odd; AP_FLIGHT_NONE = none does. */
static uint32_t find_odd_group(struct ap_hang_search *search, const struct in_circle *list, uint32_t count,
                               enum ap_alike *ret_alike)
{
    uint32_t found = AP_FLIGHT_NONE;
    for (uint32_t i = 0; i < count && list[i].group != AP_FLIGHT_NONE; i++) {
        if (!search->comparisons)
            return AP_FLIGHT_NONE;
        search->comparisons--;
        enum ap_alike alike = ap_hang_alike(search->findings, list[i].group);
        if (alike == AP_ALIKE_UNKNOWN)
            continue;
        if (found != AP_FLIGHT_NONE)
            return AP_FLIGHT_NONE;
        found = list[i].group;
        *ret_alike = alike;
    }
    return found;
}

/* In place of all that are on the circle. */
static enum ap_status name_odd(struct ap_hang_search *search, uint32_t group, enum ap_alike alike,
                               struct ap_hang_cause *cause, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    const struct ap_flight_group *it = &groups->groups[group];
    uint32_t first_rank = cause->first_rank;
    search->to->rank_count = first_rank;
    *cause = ap_hang_cause_in_group(search, AP_HANG_group_order, AP_CONFIDENCE_medium, group);
    cause->alike = (uint8_t)alike;
    for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++)
        if (search->findings->waits->places[i] == (alike == AP_ALIKE_MADE ? AP_PLACE_MISSING : AP_PLACE_PENDING))
            AP_TRY(ap_hang_add_rank(search, groups->members[i].rank, reterr));
    return AP_OK;
}

static enum ap_status add_circle(struct ap_hang_search *search, const struct in_circle *list, uint32_t count,
                                 struct ap_error *reterr)
{
    enum ap_alike alike = AP_ALIKE_UNKNOWN;
    struct ap_hang_cause cause =
        list[0].group == AP_FLIGHT_NONE
            ? ap_hang_cause_of(search, AP_HANG_group_order, AP_CONFIDENCE_high)
            : ap_hang_cause_in_group(search, AP_HANG_group_order, AP_CONFIDENCE_high, list[0].group);
    bool told = false;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].rank != AP_FLIGHT_NONE) {
            AP_TRY(ap_hang_add_rank(search, list[i].rank, reterr));
            told = told || search->taken[ap_flight_dump_of_rank(search->findings->flight, list[i].rank)];
        } else
            told = told || ap_flight_mismatch_of(search->findings->mismatches, list[i].group);
    }
    uint32_t odd = told ? AP_FLIGHT_NONE : find_odd_group(search, list, count, &alike);
    if (odd != AP_FLIGHT_NONE)
        AP_TRY(name_odd(search, odd, alike, &cause, reterr));
    if (!told)
        return ap_hang_add_cause(search, cause, reterr);
    search->to->rank_count = cause.first_rank; /* what is told already is the reason for it */
    return AP_OK;
}

enum ap_status ap_hang_add_circles(struct ap_hang_search *search, struct ap_error *reterr)
{
    size_t room = (size_t)search->findings->groups->group_count + search->findings->flight->dump_count + 1;
    struct in_circle *list;
    enum ap_status status = AP_OK;
    if (!search->findings->waits->circle_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(search->to->gate, list, room, reterr));
    uint32_t count = list_circles(search, list);
    for (uint32_t start = 0, end; start < count && status == AP_OK; start = end) {
        for (end = start; end < count && list[end].circle == list[start].circle;)
            end++;
        status = add_circle(search, list + start, end - start, reterr);
    }
    AP_FREE(search->to->gate, list, room);
    return status;
}
