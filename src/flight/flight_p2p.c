/* SPDX-License-Identifier: MIT */
#include "flight_p2p.h"

#include "poison.h"

struct search {
    const struct ap_flight_groups *groups;
    struct ap_flight_pairs *to;
    struct ap_pair_map peers; /* (from, to) to a number */
    struct ap_pair_map pairs; /* (group, that number) */
    uint32_t *last_done;      /* by dump: its last entry that is done; AP_FLIGHT_NONE = none */
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
    if (!is_between_known(it, entries, entry)) {
        uint32_t *unclear = &to->unclear[entries->dump[entry]];
        *unclear = groups->done[entry] == AP_FLIGHT_PENDING && entry < *unclear ? entry : *unclear;
        return AP_OK;
    }
    uint32_t from = entries->peer_from[entry], other = entries->peer_to[entry];
    const struct ap_flight_member *members = groups->members + it->first_member;
    AP_TRY(AP_RESERVE(to->gate, to->list, to->capacity, (size_t)to->count + 1, reterr));
    AP_TRY(ap_pair_map_add(&search->peers, from, other, &peers, reterr));
    AP_TRY(ap_pair_map_add(&search->pairs, group, peers, &number, reterr));
    if (number == to->count)
        to->list[to->count++] =
            (struct ap_flight_pair){ .group = group,
                                     .from = from,
                                     .to = other,
                                     .send = { .dump = members[from].dump, .first_open = AP_FLIGHT_NONE },
                                     .receive = { .dump = members[other].dump, .first_open = AP_FLIGHT_NONE } };
    struct ap_flight_pair *pair = &to->list[number];
    struct ap_flight_side *side = entries->flags[entry] & AP_FLIGHT_IS_SEND ? &pair->send : &pair->receive;
    if (entries->dump[entry] != side->dump)
        return AP_OK; /* a name that tells of another rank than the dump's */
    bool is_done = groups->done[entry] != AP_FLIGHT_PENDING;
    side->count++;
    side->has_done = side->has_done || is_done;
    side->open_count = is_done ? 0 : side->open_count + 1;
    if (is_done)
        side->first_open = AP_FLIGHT_NONE;
    else if (side->first_open == AP_FLIGHT_NONE)
        side->first_open = entry;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------ what is told of a pair */

/* Has nothing ended that it called later? Then it is in them. */
static bool is_in_open(const struct search *search, const struct ap_flight_side *side)
{
    uint32_t last_done = search->last_done[side->dump];
    return last_done == AP_FLIGHT_NONE || side->first_open == AP_FLIGHT_NONE || last_done < side->first_open;
}

/* Can its open ones be counted? */
static bool tells_open(const struct search *search, const struct ap_flight_side *side)
{
    uint32_t last_done = search->last_done[side->dump];
    if (last_done == AP_FLIGHT_NONE && search->groups->flight->dumps[side->dump].wrapped)
        return false;
    return side->has_done || is_in_open(search, side);
}

static void judge_absent(const struct search *search, struct ap_flight_pair *pair)
{
    pair->receiver_waits = pair->send.dump == AP_FLIGHT_NONE;
    const struct ap_flight_side *waiter = ap_flight_pair_waiter(pair);
    if (waiter->dump != AP_FLIGHT_NONE && waiter->open_count && tells_open(search, waiter) && is_in_open(search, waiter))
        pair->kind = AP_PAIR_ABSENT;
}

static void judge_pair(const struct search *search, struct ap_flight_pair *pair)
{
    const struct ap_flight_side *send = &pair->send, *receive = &pair->receive;
    if (send->dump == AP_FLIGHT_NONE || receive->dump == AP_FLIGHT_NONE) {
        judge_absent(search, pair);
        return;
    }
    const struct ap_flight_dump *sender = &search->groups->flight->dumps[send->dump];
    const struct ap_flight_dump *receiver = &search->groups->flight->dumps[receive->dump];
    bool told = tells_open(search, send) && tells_open(search, receive);
    if (sender->cut || receiver->cut)
        return;
    if (!sender->wrapped && !receiver->wrapped && send->count != receive->count)
        pair->receiver_waits = receive->count > send->count;
    else if (told && send->open_count != receive->open_count)
        pair->receiver_waits = receive->open_count > send->open_count;
    else {
        if (told && send->open_count && is_in_open(search, send) && is_in_open(search, receive))
            pair->kind = AP_PAIR_INSIDE;
        return;
    }
    if (ap_flight_pair_waiter(pair)->first_open != AP_FLIGHT_NONE)
        pair->kind = AP_PAIR_LACKS;
}

static enum ap_status find_pairs(struct search *search, struct ap_error *reterr)
{
    const struct ap_flight *flight = search->groups->flight;
    struct ap_flight_pairs *pairs = search->to;
    for (uint32_t i = 0; i < flight->dump_count; i++)
        search->last_done[i] = pairs->unclear[i] = AP_FLIGHT_NONE;
    for (uint32_t i = 0; i < flight->entries.count; i++) {
        uint32_t dump = flight->entries.dump[i];
        if (search->groups->done[i] == AP_FLIGHT_DONE) {
            search->last_done[dump] = i;
            pairs->unclear[dump] = AP_FLIGHT_NONE;
        }
        if (flight->entries.flags[i] & AP_FLIGHT_IS_P2P)
            AP_TRY(take_entry(search, i, reterr));
    }
    for (uint32_t i = 0; i < pairs->count; i++) {
        judge_pair(search, &pairs->list[i]);
        pairs->waiting_count += pairs->list[i].kind != AP_PAIR_EVEN;
    }
    return AP_OK;
}

enum ap_status ap_flight_pairs_init(struct ap_flight_pairs *pairs, const struct ap_flight_groups *groups,
                                    struct ap_error *reterr)
{
    struct ap_gate *gate = groups->gate;
    struct search search = { .groups = groups, .to = pairs, .peers = { .gate = gate }, .pairs = { .gate = gate } };
    size_t dumps = (size_t)groups->flight->dump_count + 1;
    *pairs = (struct ap_flight_pairs){ .gate = gate, .dump_count = groups->flight->dump_count };
    AP_TRY(AP_ALLOC(gate, pairs->unclear, dumps, reterr));
    enum ap_status status = AP_ALLOC(gate, search.last_done, dumps, reterr);
    AP_AND_THEN(status, find_pairs(&search, reterr));
    AP_FREE(gate, search.last_done, dumps);
    ap_pair_map_release(&search.peers);
    ap_pair_map_release(&search.pairs);
    return status;
}

void ap_flight_pairs_release(struct ap_flight_pairs *pairs)
{
    if (!pairs->gate)
        return;
    AP_FREE(pairs->gate, pairs->list, pairs->capacity);
    AP_FREE(pairs->gate, pairs->unclear, (size_t)pairs->dump_count + 1);
}
