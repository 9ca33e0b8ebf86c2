/* SPDX-License-Identifier: MIT */
#include "flight_members.h"

#include "json_cursor.h"
#include "sort.h"

#include "poison.h"

uint32_t ap_flight_dump_of_rank(const struct ap_flight *flight, uint32_t rank)
{
    size_t at = 0;
    AP_BISECT(at, flight->dump_count, i, flight->dumps[i].rank < rank);
    return at < flight->dump_count && flight->dumps[at].rank == rank ? (uint32_t)at : AP_FLIGHT_NONE;
}

static enum ap_status add_member(struct ap_flight_groups *groups, uint32_t rank, struct ap_error *reterr)
{
    struct ap_flight_member member = { rank, ap_flight_dump_of_rank(groups->flight, rank) };
    AP_TRY_ADD(groups->gate, groups->members, groups->member_count, groups->member_capacity, reterr, member);
    return AP_OK;
}

static int by_rank(const void *left, const void *right)
{
    const struct ap_flight_member *a = left, *b = right;
    AP_BY_SMALLER(a->rank, b->rank);
    return 0;
}

/* Lists that writers make are in order already, which is that of the ranks within the group. */
static void drop_repeated(struct ap_flight_groups *groups, struct ap_flight_group *group)
{
    uint32_t count = groups->member_count - group->first_member, kept = 0;
    if (!count)
        return;
    struct ap_flight_member *members = groups->members + group->first_member;
    bool in_order = true;
    for (uint32_t i = 1; i < count; i++)
        in_order = in_order && members[i - 1].rank < members[i].rank;
    if (!in_order)
        ap_sort(members, count, sizeof(members[0]), by_rank);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || members[kept - 1].rank != members[i].rank)
            members[kept++] = members[i];
    group->member_count = kept;
    groups->member_count = group->first_member + kept;
}

enum ap_status ap_flight_members_listed(struct ap_flight_groups *groups, struct ap_flight_group *group, struct ap_text ranks,
                                        struct ap_error *reterr)
{
    struct ap_json_cursor cursor = { ranks.data, ranks.data + ranks.bytes };
    int64_t rank;
    group->first_member = groups->member_count;
    if (ap_cursor_take(&cursor, '['))
        do {
            char c = ap_cursor_peek(&cursor);
            if (!ap_is_digit(c) || !ap_cursor_whole(&cursor, &rank) || rank < 0 || rank > INT32_MAX)
                break;
            AP_TRY(add_member(groups, (uint32_t)rank, reterr));
        } while (ap_cursor_take(&cursor, ','));
    drop_repeated(groups, group);
    group->is_recorded = group->member_count > 0;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------- what gloo gives away */

/* Numbers in "[0, 1, 3]". */
static uint32_t count_of(struct ap_text ranks)
{
    uint32_t count = 0;
    for (size_t i = 0; i < ranks.bytes; i++)
        count += ap_is_digit(ranks.data[i]) && (i == 0 || !ap_is_digit(ranks.data[i - 1]));
    return count;
}

/* How many members the last group of a dump has, where it is gloo's one without a name; 0 = not told. */
static uint32_t last_size(const struct ap_flight *flight, const struct ap_flight_dump *dump)
{
    if (dump->config_count != 1)
        return 0;
    const struct ap_flight_config *config = &flight->configs[dump->first_config];
    bool is_nameless = !ap_flight_text(flight, config->name).bytes;
    return is_nameless ? count_of(ap_flight_text(flight, config->ranks)) : 0;
}

/* Names of gloo's groups count up: longer ones, and of these the later ones, were made later. */
static bool is_later(const struct ap_flight_groups *groups, uint32_t group, uint32_t than)
{
    struct ap_text a = ap_flight_text(groups->flight, groups->groups[group].name);
    struct ap_text b = ap_flight_text(groups->flight, groups->groups[than].name);
    return a.bytes != b.bytes ? a.bytes > b.bytes : ap_text_compare(a, b) > 0;
}

static uint32_t last_group(const struct ap_flight_groups *groups, uint32_t dump)
{
    uint32_t last = AP_FLIGHT_NONE;
    for (uint32_t i = groups->dump_seat_starts[dump]; i < groups->dump_seat_starts[dump + 1]; i++) {
        uint32_t group = groups->seats[groups->dump_seats[i]].group;
        if (last == AP_FLIGHT_NONE || is_later(groups, group, last))
            last = group;
    }
    return last;
}

/* Groups of one description divide the ranks: whoever is in one of them is in no other. Without one, or of several, a member
 * that has not used a group yet may be any rank. */
static bool divide_ranks(const struct ap_flight_groups *groups, uint32_t group, uint32_t other)
{
    struct ap_str description = groups->groups[group].description;
    struct ap_text text = ap_flight_text(groups->flight, description);
    return description.id == groups->groups[other].description.id && text.bytes && !ap_text_is(text, "undefined");
}

uint32_t ap_flight_hidden_ranks(const struct ap_flight_groups *groups)
{
    const struct ap_flight *flight = groups->flight;
    uint32_t hidden = 0, right = 0, first = AP_FLIGHT_NONE;
    if (!flight->dump_count || flight->dumps[flight->dump_count - 1].rank != flight->dump_count - 1)
        return 0; /* who is missing may be in a gap */
    for (uint32_t dump = 0; dump < flight->dump_count; dump++) {
        uint32_t size = last_size(flight, &flight->dumps[dump]), group = size ? last_group(groups, dump) : AP_FLIGHT_NONE;
        first = first == AP_FLIGHT_NONE ? group : first;
        if (group == AP_FLIGHT_NONE || !divide_ranks(groups, group, first))
            return 0;
        uint32_t used = groups->groups[group].seat_count;
        if (used > size)
            return 0;
        right += used == size;
        hidden = size - used > hidden ? size - used : hidden;
    }
    return right ? hidden : 0;
}

/* ---------------------------------------------------------------------------------------------------------- inferring */

/* How many ranks there are, as the highest one tells: not where the dumps are a few of very many, or a number is none. */
static uint32_t ranks_to_expect(const struct ap_flight *flight)
{
    uint64_t highest = flight->dumps[flight->dump_count - 1].rank;
    return highest < (uint64_t)flight->dump_count * 16 + 1024 ? (uint32_t)highest + 1 : 0;
}

enum ap_status ap_flight_members_inferred(struct ap_flight_groups *groups, struct ap_flight_group *group,
                                          uint32_t hidden_count, struct ap_error *reterr)
{
    const struct ap_flight *flight = groups->flight;
    bool is_default = ap_text_is(ap_flight_text(flight, group->description), "default_pg");
    uint32_t all = is_default ? ranks_to_expect(flight) : 0;
    group->first_member = groups->member_count;
    for (uint32_t rank = 0; rank < all + (all ? hidden_count : 0); rank++)
        AP_TRY(add_member(groups, rank, reterr));
    for (uint32_t i = 0; i < group->seat_count && !all; i++)
        AP_TRY(add_member(groups, flight->dumps[groups->seats[group->first_seat + i].dump].rank, reterr));
    drop_repeated(groups, group);
    return AP_OK;
}
