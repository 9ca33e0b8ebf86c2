/* SPDX-License-Identifier: MIT */
#include "hang_alike.h"

#include "poison.h"

enum { MAJORITY = 3 };

/* Do all of its ranks stand at one place? A dump that is cut does not tell. */
static enum ap_alike made_by(const struct ap_flight_groups *groups, const struct ap_flight_group *it, int64_t sequence)
{
    bool made = true, not_made = true;
    for (uint32_t i = it->first_seat; i < it->first_seat + it->seat_count; i++) {
        const struct ap_flight_seat *seat = &groups->seats[i];
        if (groups->flight->dumps[seat->dump].cut || groups->flight->dumps[seat->dump].kind != AP_FLIGHT_RECORDER)
            return AP_ALIKE_UNKNOWN;
        made = made && seat->last_sequence >= sequence;
        not_made = not_made && seat->last_sequence == sequence - 1 && seat->pending_sequence < 0;
    }
    return made ? AP_ALIKE_MADE : not_made ? AP_ALIKE_NOT_MADE : AP_ALIKE_UNKNOWN;
}

static bool are_alike(const struct ap_flight_groups *groups, uint32_t group, uint32_t other)
{
    const struct ap_flight_group *a = &groups->groups[group], *b = &groups->groups[other];
    if (group == other || a->description.id != b->description.id || a->size != b->size || !b->is_recorded)
        return false;
    for (uint32_t i = b->first_seat; i < b->first_seat + b->seat_count; i++)
        if (ap_flight_find_seat(groups, group, groups->seats[i].dump) != AP_FLIGHT_NONE)
            return false;
    return true;
}

enum ap_alike ap_hang_alike(const struct ap_flight_findings *findings, uint32_t group)
{
    const struct ap_flight_groups *groups = findings->groups;
    const struct ap_flight_wait *wait = &findings->waits->list[group];
    uint64_t pending = wait->counts[AP_PLACE_PENDING], missing = wait->counts[AP_PLACE_MISSING], others = 0;
    enum ap_alike found = AP_ALIKE_UNKNOWN;
    if (wait->sequence < 0 || wait->is_assumed || !groups->groups[group].is_recorded ||
        pending + missing < groups->groups[group].size)
        return AP_ALIKE_UNKNOWN;
    for (uint32_t i = 0; i < groups->group_count; i++) {
        const struct ap_flight_group *it = &groups->groups[i];
        if (!are_alike(groups, group, i))
            continue;
        enum ap_alike its = it->seat_count == it->size ? made_by(groups, it, wait->sequence) : AP_ALIKE_UNKNOWN;
        if (its == AP_ALIKE_UNKNOWN || (found != AP_ALIKE_UNKNOWN && its != found))
            return AP_ALIKE_UNKNOWN;
        found = its;
        others += it->size;
    }
    uint64_t odd = found == AP_ALIKE_MADE ? missing : pending;
    uint64_t usual = others + (found == AP_ALIKE_MADE ? pending : missing);
    return usual >= MAJORITY * odd ? found : AP_ALIKE_UNKNOWN;
}
