/* SPDX-License-Identifier: MIT */
#include "flight_waits.h"

#include "wait_graph.h"

#include "poison.h"

/* Nodes of the graph: the dumps, then the groups. */
struct search {
    struct ap_flight_waits *waits;
    const struct ap_flight_order *order;
    const struct ap_flight_pairs *pairs;
    struct ap_wait_graph graph;
    uint32_t *circles, *queue;
};

static uint32_t node_of_group(const struct search *search, uint32_t group)
{
    return search->waits->groups->flight->dump_count + group;
}

static uint32_t node_count(const struct search *search)
{
    return node_of_group(search, search->waits->groups->group_count);
}

/* ---------------------------------------------------------------------------------------- where the members stand */

static bool is_recorder(const struct ap_flight_groups *groups, const struct ap_flight_seat *seat)
{
    return groups->flight->dumps[seat->dump].kind == AP_FLIGHT_RECORDER;
}

/* The first collective that is pending on any rank. */
static void find_pending(const struct ap_flight_groups *groups, const struct ap_flight_group *group,
                         struct ap_flight_wait *wait)
{
    for (uint32_t i = 0; i < group->seat_count; i++) {
        const struct ap_flight_seat *seat = &groups->seats[group->first_seat + i];
        if (seat->pending_sequence < 0 || (wait->sequence >= 0 && seat->pending_sequence >= wait->sequence))
            continue;
        wait->sequence = seat->pending_sequence;
        wait->entry = seat->pending_entry;
    }
}

/* Where nothing says what ended: the ranks that are ahead are waited with for those that are behind. */
static void assume_pending(const struct ap_flight_groups *groups, const struct ap_flight_group *group,
                           struct ap_flight_wait *wait)
{
    int64_t least = INT64_MAX, most = -1;
    uint32_t ahead = AP_FLIGHT_NONE;
    bool is_open = false;
    for (uint32_t i = 0; i < group->seat_count; i++) {
        const struct ap_flight_seat *seat = &groups->seats[group->first_seat + i];
        if (!is_recorder(groups, seat) || seat->last_sequence < 0)
            continue;
        is_open = is_open || seat->is_open;
        least = seat->last_sequence < least ? seat->last_sequence : least;
        if (seat->last_sequence > most) {
            most = seat->last_sequence;
            ahead = seat->last_entry;
        }
    }
    if (!is_open || least >= most)
        return;
    wait->sequence = least + 1;
    wait->entry = ahead;
    wait->is_assumed = true;
}

/* A dump without entries that never enqueued anything is as good as one that lacks them. */
static bool may_lack_entries(const struct ap_flight_dump *dump)
{
    if (dump->kind == AP_FLIGHT_INSPECTOR || dump->wrapped || dump->cut)
        return true;
    return !dump->entry_count && (!dump->has_status || dump->has_enqueued);
}

/* What ends on nobody before all members have entered it ended on one, and another one's dump does not have it yet: that
 * one was written earlier, and the job went on. */
static void find_older(struct ap_flight_waits *waits)
{
    const struct ap_flight_groups *groups = waits->groups;
    for (uint32_t i = 0; i < groups->group_count; i++) {
        const struct ap_flight_seat *seats = groups->seats + groups->groups[i].first_seat;
        int64_t met = -1;
        for (uint32_t k = 0; k < groups->groups[i].seat_count; k++)
            met = seats[k].met_sequence > met ? seats[k].met_sequence : met;
        for (uint32_t k = 0; k < groups->groups[i].seat_count; k++)
            if (is_recorder(groups, &seats[k]) && seats[k].last_sequence >= 0 && seats[k].last_sequence < met &&
                !groups->flight->dumps[seats[k].dump].cut)
                waits->is_older[seats[k].dump] = 1;
    }
}

static enum ap_flight_place place_of(const struct ap_flight_waits *waits, uint32_t group, uint32_t dump,
                                     const struct ap_flight_wait *wait)
{
    const struct ap_flight_groups *groups = waits->groups;
    if (dump == AP_FLIGHT_NONE)
        return AP_PLACE_ABSENT;
    uint32_t number = ap_flight_find_seat(groups, group, dump);
    const struct ap_flight_seat *seat = number == AP_FLIGHT_NONE ? NULL : &groups->seats[number];
    const struct ap_flight_dump *it = &groups->flight->dumps[dump];
    if (it->kind == AP_FLIGHT_INSPECTOR)
        return AP_PLACE_UNKNOWN;
    if (!seat || seat->last_sequence < 0)
        return may_lack_entries(it) ? AP_PLACE_UNKNOWN : waits->is_older[dump] ? AP_PLACE_EARLIER : AP_PLACE_MISSING;
    if (seat->last_sequence < wait->sequence)
        return it->cut ? AP_PLACE_UNKNOWN : waits->is_older[dump] ? AP_PLACE_EARLIER : AP_PLACE_MISSING;
    if (wait->is_assumed || seat->pending_sequence == wait->sequence)
        return AP_PLACE_PENDING;
    return it->wrapped && seat->first_sequence > wait->sequence ? AP_PLACE_UNKNOWN : AP_PLACE_DONE;
}

static void place_members(struct search *search, uint32_t number)
{
    struct ap_flight_waits *waits = search->waits;
    const struct ap_flight_groups *groups = waits->groups;
    const struct ap_flight_group *group = &groups->groups[number];
    struct ap_flight_wait *wait = &waits->list[number];
    *wait = (struct ap_flight_wait){ .sequence = -1,
                                     .entry = AP_FLIGHT_NONE,
                                     .level = AP_FLIGHT_NONE,
                                     .through = AP_FLIGHT_NONE,
                                     .behind = AP_FLIGHT_NONE,
                                     .circle = AP_FLIGHT_NONE };
    find_pending(groups, group, wait);
    if (wait->sequence < 0)
        assume_pending(groups, group, wait);
    if (wait->sequence < 0)
        return;
    waits->pending_groups++;
    for (uint32_t i = 0; i < group->member_count; i++) {
        uint32_t member = group->first_member + i;
        enum ap_flight_place place = place_of(waits, number, groups->members[member].dump, wait);
        waits->places[member] = (uint8_t)place;
        wait->counts[place]++;
    }
    wait->counts[AP_PLACE_ABSENT] += group->size - group->member_count;
}

/* ------------------------------------------------------------------------------------------------------ the arrows */

static bool waits_in(const struct ap_flight_groups *groups, const struct ap_flight_wait *wait,
                     const struct ap_flight_seat *seat)
{
    if (wait->is_assumed)
        return is_recorder(groups, seat) && seat->last_sequence >= wait->sequence;
    return seat->pending_sequence >= 0;
}

static bool is_waiting(const struct ap_flight_waits *waits, const struct ap_flight_seat *seat)
{
    const struct ap_flight_wait *wait = &waits->list[seat->group];
    return wait->sequence >= 0 && waits_in(waits->groups, wait, seat);
}

/* A rank's entries are in the order in which it made them. */
static void wait_in_pair(struct ap_flight_waits *waits, uint32_t dump, uint32_t entry, uint32_t pair)
{
    struct ap_flight_rank_wait *rank = &waits->ranks[dump];
    if (entry < rank->entry)
        *rank = (struct ap_flight_rank_wait){
            .seat = AP_FLIGHT_NONE, .entry = entry, .pair = pair, .peer = AP_FLIGHT_NONE, .circle = AP_FLIGHT_NONE
        };
}

/* Of all that a rank waits in, what it entered first: the rest waits for that. */
static void find_first_waits(struct search *search)
{
    struct ap_flight_waits *waits = search->waits;
    const struct ap_flight_groups *groups = waits->groups;
    for (uint32_t i = 0; i < groups->flight->dump_count; i++)
        waits->ranks[i] = (struct ap_flight_rank_wait){ .seat = AP_FLIGHT_NONE,
                                                        .entry = AP_FLIGHT_NONE,
                                                        .pair = AP_FLIGHT_NONE,
                                                        .peer = AP_FLIGHT_NONE,
                                                        .circle = AP_FLIGHT_NONE };
    for (uint32_t i = 0; i < groups->seat_count; i++) {
        const struct ap_flight_seat *seat = &groups->seats[i];
        struct ap_flight_rank_wait *rank = &waits->ranks[seat->dump];
        uint32_t entry = waits->list[seat->group].is_assumed ? seat->last_entry : seat->pending_entry;
        if (!is_waiting(waits, seat) || entry >= rank->entry)
            continue;
        rank->seat = i;
        rank->entry = entry;
    }
    for (uint32_t i = 0; i < search->pairs->count; i++) {
        const struct ap_flight_pair *pair = &search->pairs->list[i];
        const struct ap_flight_side *waiter = ap_flight_pair_waiter(pair), *awaited = ap_flight_pair_awaited(pair);
        if (pair->kind != AP_PAIR_EVEN)
            wait_in_pair(waits, waiter->dump, waiter->first_open, i);
        if (pair->kind == AP_PAIR_INSIDE)
            wait_in_pair(waits, awaited->dump, awaited->first_open, i);
    }
    for (uint32_t i = 0; i < groups->flight->dump_count; i++)
        wait_in_pair(waits, i, search->pairs->unclear[i], AP_FLIGHT_NONE);
}

/* Whom those wait for that wait in a transfer first: a side that has not called, or waits in something else first. */
static void find_peers(struct search *search)
{
    struct ap_flight_waits *waits = search->waits;
    for (uint32_t i = 0; i < waits->groups->flight->dump_count; i++) {
        struct ap_flight_rank_wait *rank = &waits->ranks[i];
        if (rank->pair == AP_FLIGHT_NONE || search->pairs->list[rank->pair].kind == AP_PAIR_ABSENT)
            continue;
        const struct ap_flight_pair *pair = &search->pairs->list[rank->pair];
        const struct ap_flight_side *other = pair->send.dump == i ? &pair->receive : &pair->send;
        if (pair->kind == AP_PAIR_LACKS || waits->ranks[other->dump].entry < other->first_open)
            rank->peer = other->dump;
    }
}

/* The member has entered, but waits in something that it entered before. */
static bool is_held_up(const struct ap_flight_waits *waits, uint32_t group, uint32_t dump)
{
    const struct ap_flight_groups *groups = waits->groups;
    uint32_t number = ap_flight_find_seat(groups, group, dump);
    return number != AP_FLIGHT_NONE && waits->ranks[dump].seat != number &&
           waits->ranks[dump].entry < groups->seats[number].pending_entry;
}

static enum ap_status add_arrows(struct search *search, struct ap_error *reterr)
{
    struct ap_flight_waits *waits = search->waits;
    const struct ap_flight_groups *groups = waits->groups;
    for (uint32_t group = 0; group < groups->group_count; group++) {
        const struct ap_flight_group *it = &groups->groups[group];
        for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++) {
            uint32_t dump = groups->members[i].dump;
            bool waits_for_it = waits->list[group].sequence >= 0 &&
                                (waits->places[i] == AP_PLACE_MISSING ||
                                 (waits->places[i] == AP_PLACE_PENDING && is_held_up(waits, group, dump)));
            if (waits_for_it)
                AP_TRY(ap_wait_graph_add(&search->graph, node_of_group(search, group), dump, reterr));
        }
    }
    for (uint32_t i = 0; i < groups->flight->dump_count; i++) {
        const struct ap_flight_rank_wait *rank = &waits->ranks[i];
        if (rank->seat != AP_FLIGHT_NONE)
            AP_TRY(ap_wait_graph_add(&search->graph, i, node_of_group(search, groups->seats[rank->seat].group), reterr));
        else if (rank->peer != AP_FLIGHT_NONE)
            AP_TRY(ap_wait_graph_add(&search->graph, i, rank->peer, reterr));
    }
    return AP_OK;
}

static void judge_ranks(struct search *search)
{
    struct ap_flight_waits *waits = search->waits;
    uint32_t dumps = waits->groups->flight->dump_count;
    for (uint32_t i = 0; i < search->graph.arrow_count; i++)
        if (search->graph.arrows[i].to < dumps)
            waits->ranks[search->graph.arrows[i].to].is_awaited = true;
    for (uint32_t i = 0; i < dumps; i++) {
        waits->ranks[i].circle = search->circles[i];
        waits->ranks[i].is_root = waits->ranks[i].is_awaited && waits->ranks[i].entry == AP_FLIGHT_NONE;
    }
    for (uint32_t i = 0; i < search->graph.arrow_count; i++) {
        const struct ap_arrow *arrow = &search->graph.arrows[i];
        if (arrow->from >= dumps && !waits->ranks[arrow->to].is_root)
            waits->list[arrow->from - dumps].has_through = true;
    }
}

/* ------------------------------------------------------------------------------------- how far from what began it */

static bool begins(const struct search *search, uint32_t node)
{
    const struct ap_flight_waits *waits = search->waits;
    uint32_t dumps = waits->groups->flight->dump_count;
    if (search->circles[node] != AP_NODE_NONE)
        return true;
    if (node < dumps)
        return waits->ranks[node].is_root;
    const struct ap_flight_wait *wait = &waits->list[node - dumps];
    return wait->sequence >= 0 && !wait->counts[AP_PLACE_MISSING] && !wait->has_through;
}

/* A group that waits for roots and for others as well follows from what the others wait in. */
static bool is_behind(const struct search *search, uint32_t from, uint32_t to)
{
    const struct ap_flight_waits *waits = search->waits;
    uint32_t dumps = waits->groups->flight->dump_count;
    return !(from < dumps && to >= dumps && waits->ranks[from].is_root && waits->list[to - dumps].has_through);
}

/* A group is a level above the group in which a rank waits that it waits for. */
static void reach(struct search *search, uint32_t from, uint32_t to)
{
    struct ap_flight_wait *list = search->waits->list;
    uint32_t dumps = search->waits->groups->flight->dump_count;
    if (to < dumps)
        return;
    struct ap_flight_wait *wait = &list[to - dumps];
    bool through = from < dumps && !search->waits->ranks[from].is_root;
    wait->level = 0;
    if (!through)
        return;
    wait->through = from;
    wait->level = 1;
    uint32_t seat = search->waits->ranks[from].seat;
    if (seat == AP_FLIGHT_NONE)
        return;
    wait->behind = search->waits->groups->seats[seat].group;
    uint32_t below = list[wait->behind].level;
    wait->level = below == AP_FLIGHT_NONE ? 1 : below + 1;
}

/* From what began it backwards along the arrows; breadth first. */
static void find_levels(struct search *search, uint8_t *met)
{
    uint32_t head = 0, tail = 0, dumps = search->waits->groups->flight->dump_count;
    for (uint32_t node = 0; node < node_count(search); node++) {
        if (!begins(search, node))
            continue;
        met[node] = 1;
        search->queue[tail++] = node;
        if (node >= dumps)
            search->waits->list[node - dumps].level = 0;
    }
    while (head < tail) {
        uint32_t node = search->queue[head++];
        for (uint32_t i = search->graph.starts[node]; i < search->graph.starts[node + 1]; i++) {
            uint32_t next = search->graph.targets[i];
            if (met[next] || !is_behind(search, node, next))
                continue;
            met[next] = 1;
            reach(search, node, next);
            search->queue[tail++] = next;
        }
    }
}

static enum ap_status walk(struct search *search, struct ap_error *reterr)
{
    struct ap_flight_waits *waits = search->waits;
    uint32_t dumps = waits->groups->flight->dump_count;
    uint8_t *met;
    find_first_waits(search);
    find_peers(search);
    AP_TRY(add_arrows(search, reterr));
    AP_TRY(ap_wait_graph_index(&search->graph, false, reterr));
    AP_TRY(ap_wait_graph_circles(&search->graph, search->circles, &waits->circle_count, reterr));
    judge_ranks(search);
    for (uint32_t i = 0; i < waits->groups->group_count; i++)
        waits->list[i].circle = search->circles[dumps + i];
    AP_TRY(ap_wait_graph_index(&search->graph, true, reterr));
    AP_TRY(AP_ALLOC_CLEARED(waits->gate, met, (size_t)node_count(search) + 1, reterr));
    find_levels(search, met);
    AP_FREE(waits->gate, met, (size_t)node_count(search) + 1);
    return AP_OK;
}

enum ap_status ap_flight_waits_init(struct ap_flight_waits *waits, const struct ap_flight_order *order,
                                    const struct ap_flight_pairs *pairs, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = order->groups;
    struct search search = { .waits = waits, .order = order, .pairs = pairs };
    *waits = (struct ap_flight_waits){ .gate = order->gate, .groups = groups };
    AP_TRY(AP_ALLOC(waits->gate, waits->list, (size_t)groups->group_count + 1, reterr));
    AP_TRY(AP_ALLOC_CLEARED(waits->gate, waits->places, (size_t)groups->member_count + 1, reterr));
    AP_TRY(AP_ALLOC(waits->gate, waits->ranks, (size_t)groups->flight->dump_count + 1, reterr));
    AP_TRY(AP_ALLOC_CLEARED(waits->gate, waits->is_older, (size_t)groups->flight->dump_count + 1, reterr));
    find_older(waits);
    for (uint32_t group = 0; group < groups->group_count; group++)
        place_members(&search, group);
    size_t nodes = (size_t)node_count(&search) + 1;
    ap_wait_graph_init(&search.graph, waits->gate, node_count(&search));
    enum ap_status status = AP_ALLOC(waits->gate, search.circles, nodes, reterr);
    AP_AND_THEN(status, AP_ALLOC(waits->gate, search.queue, nodes, reterr));
    AP_AND_THEN(status, walk(&search, reterr));
    AP_FREE(waits->gate, search.queue, nodes);
    AP_FREE(waits->gate, search.circles, nodes);
    ap_wait_graph_release(&search.graph);
    return status;
}

void ap_flight_waits_release(struct ap_flight_waits *waits)
{
    if (!waits->gate)
        return;
    AP_FREE(waits->gate, waits->list, (size_t)waits->groups->group_count + 1);
    AP_FREE(waits->gate, waits->places, (size_t)waits->groups->member_count + 1);
    AP_FREE(waits->gate, waits->ranks, (size_t)waits->groups->flight->dump_count + 1);
    AP_FREE(waits->gate, waits->is_older, (size_t)waits->groups->flight->dump_count + 1);
}
