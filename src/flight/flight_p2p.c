/* SPDX-License-Identifier: MIT */
#include "flight_p2p.h"

#include "poison.h"

struct search {
    const struct ap_flight_groups *groups;
    struct ap_flight_pairs *to;
    struct ap_pair_map peers; /* (from, to) to a number */
    struct ap_pair_map pairs; /* (group, that number) */
};

static bool is_between_known(const struct ap_flight_group *group, const struct ap_flight_entries *entries, uint32_t entry)
{
    return entries->flags[entry] & (AP_FLIGHT_IS_SEND | AP_FLIGHT_IS_RECEIVE) && group->is_recorded &&
           entries->peer_from[entry] < group->member_count && entries->peer_to[entry] < group->member_count;
}

static enum ap_status take_entry(struct search *search, uint32_t entry, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = search->groups;
    const struct ap_flight_entries *entries = &groups->flight->entries;
    uint32_t group = groups->seats[groups->entry_seats[entry]].group, peers, number;
    const struct ap_flight_group *it = &groups->groups[group];
    struct ap_flight_pairs *to = search->to;
    if (!is_between_known(it, entries, entry))
        return AP_OK;
    uint32_t from = entries->peer_from[entry], other = entries->peer_to[entry];
    const struct ap_flight_member *members = groups->members + it->first_member;
    AP_TRY(AP_RESERVE(to->gate, to->list, to->capacity, (size_t)to->count + 1, reterr));
    AP_TRY(ap_pair_map_add(&search->peers, from, other, &peers, reterr));
    AP_TRY(ap_pair_map_add(&search->pairs, group, peers, &number, reterr));
    if (number == to->count)
        to->list[to->count++] = (struct ap_flight_pair){ .group = group,
                                                         .from = from,
                                                         .to = other,
                                                         .from_dump = members[from].dump,
                                                         .to_dump = members[other].dump,
                                                         .pending_send = AP_FLIGHT_NONE,
                                                         .pending_receive = AP_FLIGHT_NONE };
    struct ap_flight_pair *pair = &to->list[number];
    bool is_send = entries->flags[entry] & AP_FLIGHT_IS_SEND;
    if (entries->dump[entry] != (is_send ? pair->from_dump : pair->to_dump))
        return AP_OK; /* a name that tells of another rank than the dump's */
    *(is_send ? &pair->sends : &pair->receives) += 1;
    uint32_t *pending = is_send ? &pair->pending_send : &pair->pending_receive;
    if (groups->done[entry] != AP_FLIGHT_PENDING)
        *pending = AP_FLIGHT_NONE;
    else if (*pending == AP_FLIGHT_NONE)
        *pending = entry;
    return AP_OK;
}

static bool is_whole(const struct ap_flight *flight, uint32_t dump)
{
    return dump != AP_FLIGHT_NONE && !flight->dumps[dump].wrapped && !flight->dumps[dump].cut;
}

uint32_t ap_flight_pair_entry(const struct ap_flight_pair *pair)
{
    return pair->sends > pair->receives ? pair->pending_send : pair->pending_receive;
}

static bool is_unmatched(const struct ap_flight_groups *groups, const struct ap_flight_pair *pair)
{
    if (pair->sends == pair->receives || !is_whole(groups->flight, pair->from_dump) ||
        !is_whole(groups->flight, pair->to_dump))
        return false;
    return ap_flight_pair_entry(pair) != AP_FLIGHT_NONE;
}

enum ap_status ap_flight_pairs_init(struct ap_flight_pairs *pairs, const struct ap_flight_groups *groups,
                                    struct ap_error *reterr)
{
    struct ap_gate *gate = groups->gate;
    struct search search = { .groups = groups, .to = pairs, .peers = { .gate = gate }, .pairs = { .gate = gate } };
    const struct ap_flight_entries *entries = &groups->flight->entries;
    enum ap_status status = AP_OK;
    *pairs = (struct ap_flight_pairs){ .gate = gate };
    for (uint32_t i = 0; i < entries->count && status == AP_OK; i++)
        if (entries->flags[i] & AP_FLIGHT_IS_P2P)
            status = take_entry(&search, i, reterr);
    for (uint32_t i = 0; i < pairs->count; i++) {
        pairs->list[i].is_unmatched = is_unmatched(groups, &pairs->list[i]);
        pairs->unmatched_count += pairs->list[i].is_unmatched;
    }
    ap_pair_map_release(&search.peers);
    ap_pair_map_release(&search.pairs);
    return status;
}

void ap_flight_pairs_release(struct ap_flight_pairs *pairs)
{
    AP_FREE(pairs->gate, pairs->list, pairs->capacity);
}

uint32_t ap_flight_pair_waiter(const struct ap_flight_pair *pair)
{
    return pair->sends > pair->receives ? pair->from_dump : pair->to_dump;
}

uint32_t ap_flight_pair_awaited(const struct ap_flight_pair *pair)
{
    return pair->sends > pair->receives ? pair->to_dump : pair->from_dump;
}
