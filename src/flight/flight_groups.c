/* SPDX-License-Identifier: MIT */
#include "flight_groups.h"

#include "collective.h"
#include "flight_members.h"
#include "id_map.h"
#include "sort.h"

#include "poison.h"

/* A name of a group as one dump uses it. */
struct use {
    uint32_t dump, name, config, group;
};

struct finding {
    struct ap_flight_groups *groups;
    struct ap_pair_map config_map; /* (dump, name) to a number, with the configuration it stands for */
    uint32_t *configs;
    struct ap_pair_map use_map; /* (dump, number of the name) */
    struct use *uses;
    uint32_t *entry_uses;
    struct ap_pair_map group_map; /* (name, members as written; 0 = not told) */
    struct ap_str *group_ranks;
    struct ap_id_map named; /* a name to its one group with members; AP_FLIGHT_NONE - 1 = there are several */
    uint32_t config_count, use_count;
    size_t config_capacity, use_capacity, rank_capacity;
};

static void release(struct finding *finding)
{
    struct ap_gate *gate = finding->groups->gate;
    ap_pair_map_release(&finding->config_map);
    ap_pair_map_release(&finding->use_map);
    ap_pair_map_release(&finding->group_map);
    ap_id_map_release(&finding->named);
    AP_FREE(gate, finding->configs, finding->config_capacity);
    AP_FREE(gate, finding->uses, finding->use_capacity);
    AP_FREE(gate, finding->entry_uses, finding->groups->flight->entries.count);
    AP_FREE(gate, finding->group_ranks, finding->rank_capacity);
}

/* ------------------------------------------------------------------------------------------------ groups of the entries */

static enum ap_status map_configs(struct finding *finding, struct ap_error *reterr)
{
    const struct ap_flight *flight = finding->groups->flight;
    for (uint32_t dump = 0; dump < flight->dump_count; dump++)
        for (uint32_t i = 0; i < flight->dumps[dump].config_count; i++) {
            uint32_t number, config = flight->dumps[dump].first_config + i;
            AP_TRY(AP_RESERVE(finding->groups->gate, finding->configs, finding->config_capacity,
                              (size_t)finding->config_count + 1, reterr));
            AP_TRY(ap_pair_map_add(&finding->config_map, dump, flight->configs[config].name.id, &number, reterr));
            if (number == finding->config_count)
                finding->config_count++;
            finding->configs[number] = config; /* of two the last one counts */
        }
    return AP_OK;
}

static enum ap_status find_uses(struct finding *finding, struct ap_error *reterr)
{
    const struct ap_flight *flight = finding->groups->flight;
    const struct ap_flight_entries *entries = &flight->entries;
    for (uint32_t i = 0; i < entries->count; i++) {
        uint32_t dump = entries->dump[i], name = entries->group[i], number;
        AP_TRY(
            AP_RESERVE(finding->groups->gate, finding->uses, finding->use_capacity, (size_t)finding->use_count + 1, reterr));
        AP_TRY(ap_pair_map_add(&finding->use_map, dump, name, &number, reterr));
        finding->entry_uses[i] = number;
        if (number < finding->use_count)
            continue;
        uint32_t config = ap_pair_map_find(&finding->config_map, dump, flight->names[name].name.id);
        finding->uses[finding->use_count++] =
            (struct use){ dump, name, config == AP_PAIR_NONE ? AP_FLIGHT_NONE : finding->configs[config], AP_FLIGHT_NONE };
    }
    return AP_OK;
}

static enum ap_status find_group(struct finding *finding, struct use *use, struct ap_str ranks, struct ap_error *reterr)
{
    struct ap_flight_groups *groups = finding->groups;
    const struct ap_flight_group_name *name = &groups->flight->names[use->name];
    struct ap_flight_group group = { .name = name->name, .description = name->description, .size = name->size };
    AP_TRY(AP_RESERVE(groups->gate, groups->groups, groups->group_capacity, (size_t)groups->group_count + 1, reterr));
    AP_TRY(AP_RESERVE(groups->gate, finding->group_ranks, finding->rank_capacity, (size_t)groups->group_count + 1, reterr));
    AP_TRY(ap_pair_map_add(&finding->group_map, name->name.id, ranks.id, &use->group, reterr));
    if (use->group < groups->group_count)
        return AP_OK;
    finding->group_ranks[groups->group_count] = ranks;
    groups->groups[groups->group_count++] = group;
    if (ranks.id) {
        uint32_t *named = ap_id_map_add(&finding->named, name->name.id + 1);
        *named = *named == AP_ID_NONE ? use->group : AP_FLIGHT_NONE - 1;
    }
    return AP_OK;
}

/* Where a dump does not tell the members of a group, the others do, if they agree. */
static enum ap_status find_groups(struct finding *finding, struct ap_error *reterr)
{
    const struct ap_flight *flight = finding->groups->flight;
    AP_TRY(ap_id_map_init(&finding->named, finding->groups->gate, (size_t)flight->name_count + 1, reterr));
    for (uint32_t i = 0; i < finding->use_count; i++)
        if (finding->uses[i].config != AP_FLIGHT_NONE)
            AP_TRY(find_group(finding, &finding->uses[i], flight->configs[finding->uses[i].config].ranks, reterr));
    for (uint32_t i = 0; i < finding->use_count; i++) {
        struct use *use = &finding->uses[i];
        if (use->config != AP_FLIGHT_NONE)
            continue;
        const uint32_t *named = ap_id_map_find(&finding->named, flight->names[use->name].name.id + 1);
        if (named && *named < AP_FLIGHT_NONE - 1)
            use->group = *named;
        else
            AP_TRY(find_group(finding, use, (struct ap_str){ 0 }, reterr));
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- done */

/* Of a batch of sends and receives one entry behind them tells the end: it stands for them too. */
static void end_batch(struct ap_flight_groups *groups, uint32_t end)
{
    const struct ap_flight *flight = groups->flight;
    const struct ap_flight_entries *entries = &flight->entries;
    const uint8_t peer = AP_FLIGHT_IS_SEND | AP_FLIGHT_IS_RECEIVE;
    bool ends = !(entries->flags[end] & peer) && (entries->flags[end] & AP_FLIGHT_IS_P2P ||
                                                  ap_text_is(ap_flight_text(flight, entries->operation[end]), "coalesced"));
    for (uint32_t i = end; ends && i-- > 0 && entries->flags[i] & peer && entries->dump[i] == entries->dump[end] &&
                           entries->group[i] == entries->group[end] && entries->sequence[i] == entries->sequence[end - 1];)
        groups->done[i] = groups->done[end];
}

/* gloo tells an end, or an error, by retiring alone. What retires at once and never completes (recorders that are told of
 * the start alone) does not tell. */
static enum ap_status find_done(struct ap_flight_groups *groups, struct ap_error *reterr)
{
    const struct ap_flight *flight = groups->flight;
    const struct ap_flight_entries *entries = &flight->entries;
    struct ap_pair_map completing = { .gate = groups->gate }; /* (dump, library) in which something completed */
    enum ap_status status = AP_OK;
    uint32_t number;
    for (uint32_t i = 0; i < entries->count && status == AP_OK; i++)
        if (entries->state[i] == AP_FLIGHT_COMPLETED || entries->completed_ns[i])
            status = ap_pair_map_add(&completing, entries->dump[i], entries->library[i].id, &number, reterr);
    for (uint32_t i = 0; i < entries->count && status == AP_OK; i++) {
        struct ap_text library = ap_flight_text(flight, entries->library[i]);
        bool retired = entries->flags[i] & AP_FLIGHT_IS_RETIRED;
        if (entries->state[i] == AP_FLIGHT_COMPLETED || entries->completed_ns[i])
            groups->done[i] = AP_FLIGHT_DONE;
        else if (ap_text_is(library, "gloo"))
            groups->done[i] = retired ? AP_FLIGHT_DONE : AP_FLIGHT_PENDING;
        else if (!retired || ap_text_is(library, "nccl") ||
                 ap_pair_map_find(&completing, entries->dump[i], entries->library[i].id) != AP_PAIR_NONE)
            groups->done[i] = AP_FLIGHT_PENDING; /* retired without an end: it ran out of time */
        else
            groups->done[i] = AP_FLIGHT_DONE_UNKNOWN;
        end_batch(groups, i);
    }
    ap_pair_map_release(&completing);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ seats */

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct use *uses = context;
    AP_SMALLER_FIRST(uses[a].group, uses[b].group);
    AP_SMALLER_FIRST(uses[a].dump, uses[b].dump);
    return a < b;
}

/* Two names of one dump may be the same group: they share a seat. */
static void make_seats(struct finding *finding, const uint32_t *order, uint32_t *use_seats)
{
    struct ap_flight_groups *groups = finding->groups;
    for (uint32_t i = 0; i < finding->use_count; i++) {
        const struct use *use = &finding->uses[order[i]];
        struct ap_flight_seat *last = groups->seat_count ? &groups->seats[groups->seat_count - 1] : NULL;
        if (!last || last->group != use->group || last->dump != use->dump) {
            if (!last || last->group != use->group)
                groups->groups[use->group].first_seat = groups->seat_count;
            groups->groups[use->group].seat_count++;
            groups->seats[groups->seat_count++] = (struct ap_flight_seat){ .dump = use->dump,
                                                                           .group = use->group,
                                                                           .last_entry = AP_FLIGHT_NONE,
                                                                           .pending_entry = AP_FLIGHT_NONE,
                                                                           .first_sequence = -1,
                                                                           .last_sequence = -1,
                                                                           .pending_sequence = -1,
                                                                           .done_sequence = -1,
                                                                           .met_sequence = -1 };
        }
        use_seats[order[i]] = groups->seat_count - 1;
    }
}

static enum ap_status find_seats(struct finding *finding, struct ap_error *reterr)
{
    struct ap_flight_groups *groups = finding->groups;
    uint32_t entries = groups->flight->entries.count, *order, *use_seats;
    size_t count;
    if (!finding->use_count)
        return AP_OK;
    AP_TRY(AP_RESERVE(groups->gate, groups->seats, groups->seat_capacity, (size_t)finding->use_count, reterr));
    AP_TRY(ap_top_indices(groups->gate, finding->use_count, 0, comes_before, finding->uses, &order, &count, reterr));
    enum ap_status status = AP_ALLOC(groups->gate, use_seats, count, reterr);
    if (status == AP_OK)
        make_seats(finding, order, use_seats);
    for (uint32_t i = 0; i < entries && status == AP_OK; i++)
        groups->entry_seats[i] = use_seats[finding->entry_uses[i]];
    AP_FREE(groups->gate, use_seats, count);
    AP_FREE(groups->gate, order, count);
    return status;
}

/* Sequence numbers that begin again are of another group of the same name: what came before it is past. */
static void begin_again(struct ap_flight_groups *groups, struct ap_flight_seat *seat, uint32_t entry)
{
    groups->restarted_count++;
    seat->first_entry = entry;
    seat->first_sequence = seat->last_sequence = seat->pending_sequence = seat->done_sequence = seat->met_sequence = -1;
    seat->pending_count = 0;
    seat->pending_entry = AP_FLIGHT_NONE;
    seat->is_open = false;
}

/* What gloo tells of an end may be an error; an exchange in which a rank gets nothing from another one ends without it. */
static bool has_met_all(const struct ap_flight_groups *groups, uint32_t entry)
{
    const struct ap_flight *flight = groups->flight;
    struct ap_text library = ap_flight_text(flight, flight->entries.library[entry]);
    enum ap_collective_operation operation =
        ap_collective_operation_of(ap_flight_text(flight, flight->entries.operation[entry]));
    return groups->done[entry] == AP_FLIGHT_DONE && !ap_text_is(library, "gloo") && operation != AP_COLLECTIVE_alltoall &&
           ap_collective_ends_together(operation);
}

static void take_entry(struct ap_flight_groups *groups, struct ap_flight_seat *seat, uint32_t entry)
{
    const struct ap_flight *flight = groups->flight;
    int64_t sequence = flight->entries.sequence[entry];
    if (flight->dumps[seat->dump].kind == AP_FLIGHT_RECORDER && sequence < seat->last_sequence)
        begin_again(groups, seat, entry);
    if (seat->first_sequence < 0 || sequence < seat->first_sequence)
        seat->first_sequence = sequence;
    if (sequence >= seat->last_sequence) {
        seat->last_sequence = sequence;
        seat->last_entry = entry;
    }
    seat->is_open = seat->is_open || groups->done[entry] == AP_FLIGHT_DONE_UNKNOWN;
    if (groups->done[entry] == AP_FLIGHT_DONE && sequence > seat->done_sequence)
        seat->done_sequence = sequence;
    if (sequence > seat->met_sequence && has_met_all(groups, entry))
        seat->met_sequence = sequence;
}

/* Collectives of a group end in order, so one that is behind in its notes is done where a later one is; but for gloo, whose
 * threads overtake each other. */
static void take_pending(struct ap_flight_groups *groups, struct ap_flight_seat *seat, uint32_t entry)
{
    const struct ap_flight *flight = groups->flight;
    int64_t sequence = flight->entries.sequence[entry];
    bool overtaken =
        sequence <= seat->done_sequence && !ap_text_is(ap_flight_text(flight, flight->entries.library[entry]), "gloo");
    if (groups->done[entry] != AP_FLIGHT_PENDING || entry < seat->first_entry)
        return;
    if (overtaken) {
        groups->done[entry] = AP_FLIGHT_DONE;
        return;
    }
    seat->pending_count++;
    if (seat->pending_sequence < 0 || sequence < seat->pending_sequence) {
        seat->pending_sequence = sequence;
        seat->pending_entry = entry;
    }
}

static void fill_seats(struct ap_flight_groups *groups)
{
    const struct ap_flight_entries *entries = &groups->flight->entries;
    for (uint32_t i = 0; i < entries->count; i++)
        if (!(entries->flags[i] & AP_FLIGHT_IS_P2P))
            take_entry(groups, &groups->seats[groups->entry_seats[i]], i);
    for (uint32_t i = 0; i < entries->count; i++)
        if (!(entries->flags[i] & AP_FLIGHT_IS_P2P))
            take_pending(groups, &groups->seats[groups->entry_seats[i]], i);
}

static void list_seats_of_dumps(struct ap_flight_groups *groups)
{
    uint32_t dumps = groups->flight->dump_count, *starts = groups->dump_seat_starts;
    for (uint32_t i = 0; i < groups->seat_count; i++)
        starts[groups->seats[i].dump + 1]++;
    for (uint32_t i = 0; i < dumps; i++)
        starts[i + 1] += starts[i];
    for (uint32_t i = groups->seat_count; i-- > 0;)
        groups->dump_seats[--starts[groups->seats[i].dump + 1]] = i;
    for (uint32_t i = 0; i < dumps; i++) /* each now stands at its own beginning, one place late */
        starts[i] = starts[i + 1];
    starts[dumps] = groups->seat_count;
}

/* ---------------------------------------------------------------------------------------------------------- members */

static enum ap_status find_members(struct finding *finding, struct ap_error *reterr)
{
    struct ap_flight_groups *groups = finding->groups;
    const struct ap_flight *flight = groups->flight;
    uint32_t highest = flight->dump_count ? flight->dumps[flight->dump_count - 1].rank : 0;
    uint32_t hidden_count = ap_flight_hidden_ranks(groups);
    for (uint32_t i = 0; i < groups->group_count; i++) {
        struct ap_flight_group *group = &groups->groups[i];
        if (finding->group_ranks[i].id)
            AP_TRY(ap_flight_members_listed(groups, group, ap_flight_text(flight, finding->group_ranks[i]), reterr));
        if (!group->is_recorded)
            AP_TRY(ap_flight_members_inferred(groups, group, hidden_count, reterr));
        if (group->size < group->member_count)
            group->size = group->member_count;
        uint32_t last = group->member_count ? groups->members[groups->member_count - 1].rank : 0;
        highest = last > highest ? last : highest;
    }
    groups->world_size = highest + 1;
    return AP_OK;
}

static enum ap_status find_all(struct finding *finding, struct ap_error *reterr)
{
    struct ap_flight_groups *groups = finding->groups;
    const struct ap_flight *flight = groups->flight;
    AP_TRY(map_configs(finding, reterr));
    if (flight->entries.count) {
        AP_TRY(AP_ALLOC(groups->gate, finding->entry_uses, flight->entries.count, reterr));
        AP_TRY(AP_ALLOC(groups->gate, groups->entry_seats, flight->entries.count, reterr));
        AP_TRY(AP_ALLOC(groups->gate, groups->done, flight->entries.count, reterr));
    }
    AP_TRY(find_uses(finding, reterr));
    AP_TRY(find_groups(finding, reterr));
    AP_TRY(find_done(groups, reterr));
    AP_TRY(find_seats(finding, reterr));
    fill_seats(groups);
    AP_TRY(AP_ALLOC_CLEARED(groups->gate, groups->dump_seat_starts, (size_t)flight->dump_count + 1, reterr));
    AP_TRY(AP_ALLOC(groups->gate, groups->dump_seats, (size_t)groups->seat_count + 1, reterr));
    list_seats_of_dumps(groups);
    return find_members(finding, reterr);
}

enum ap_status ap_flight_groups_init(struct ap_flight_groups *groups, const struct ap_flight *flight,
                                     struct ap_error *reterr)
{
    struct ap_gate *gate = flight->gate;
    *groups = (struct ap_flight_groups){ .gate = gate, .flight = flight };
    struct finding finding = {
        .groups = groups, .config_map = { .gate = gate }, .use_map = { .gate = gate }, .group_map = { .gate = gate }
    };
    enum ap_status status = find_all(&finding, reterr);
    release(&finding);
    return status;
}

void ap_flight_groups_release(struct ap_flight_groups *groups)
{
    if (!groups->gate)
        return;
    const struct ap_flight *flight = groups->flight;
    AP_FREE(groups->gate, groups->groups, groups->group_capacity);
    AP_FREE(groups->gate, groups->members, groups->member_capacity);
    AP_FREE(groups->gate, groups->seats, groups->seat_capacity);
    AP_FREE(groups->gate, groups->entry_seats, flight->entries.count);
    AP_FREE(groups->gate, groups->done, flight->entries.count);
    AP_FREE(groups->gate, groups->dump_seats, (size_t)groups->seat_count + 1);
    AP_FREE(groups->gate, groups->dump_seat_starts, (size_t)flight->dump_count + 1);
}

uint32_t ap_flight_find_seat(const struct ap_flight_groups *groups, uint32_t group, uint32_t dump)
{
    const struct ap_flight_group *it = &groups->groups[group];
    size_t at = it->first_seat, end = (size_t)it->first_seat + it->seat_count;
    AP_BISECT(at, end, i, groups->seats[i].dump < dump);
    return at < end && groups->seats[at].dump == dump ? (uint32_t)at : AP_FLIGHT_NONE;
}
