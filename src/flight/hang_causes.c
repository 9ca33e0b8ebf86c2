/* SPDX-License-Identifier: MIT */
#include "hang_search.h"

#include "sort.h"

#include "poison.h"

const struct ap_hang_info ap_hang_infos[AP_HANG_COUNT_] = {
#define AP_HANG(id, key, counted, what, action) [AP_HANG_##id] = { #id, what, action },
#include "hang_verdict.def"
#undef AP_HANG
};

enum { COMPARISONS = 64, LONE_PART = 3 };

/* Where the ranks of a group stand. */
static const struct ap_flight_wait *wait_of(const struct ap_hang_search *search, uint32_t group)
{
    return &search->findings->waits->list[group];
}

static bool is_gloo(const struct ap_hang_search *search, uint32_t entry)
{
    const struct ap_flight *flight = search->findings->flight;
    return entry != AP_FLIGHT_NONE && ap_text_is(ap_flight_text(flight, flight->entries.library[entry]), "gloo");
}

/* --------------------------------------------------------------------------------------------------------- building */

struct ap_hang_cause ap_hang_cause_of(const struct ap_hang_search *search, enum ap_hang verdict,
                                      enum ap_confidence confidence)
{
    return (struct ap_hang_cause){ .verdict = verdict,
                                   .confidence = confidence,
                                   .group = AP_FLIGHT_NONE,
                                   .sequence = -1,
                                   .entry = AP_FLIGHT_NONE,
                                   .other_entry = AP_FLIGHT_NONE,
                                   .first_rank = search->to->rank_count };
}

/* About the collective that a group waits in. */
struct ap_hang_cause ap_hang_cause_in_group(const struct ap_hang_search *search, enum ap_hang verdict,
                                            enum ap_confidence confidence, uint32_t group)
{
    const struct ap_flight_wait *wait = wait_of(search, group);
    struct ap_hang_cause cause = ap_hang_cause_of(search, verdict, wait->is_assumed ? AP_CONFIDENCE_low : confidence);
    cause.group = group;
    cause.sequence = wait->sequence;
    cause.entry = wait->entry;
    cause.waiting_count = wait->counts[AP_PLACE_PENDING];
    return cause;
}

enum ap_status ap_hang_add_rank(struct ap_hang_search *search, uint32_t rank, struct ap_error *reterr)
{
    struct ap_hang_causes *to = search->to;
    AP_TRY_ADD(to->gate, to->ranks, to->rank_count, to->rank_capacity, reterr, rank);
    return AP_OK;
}

static int by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    AP_BY_SMALLER(*a, *b);
    return 0;
}

/* With the ranks that were added since. */
enum ap_status ap_hang_add_cause(struct ap_hang_search *search, struct ap_hang_cause cause, struct ap_error *reterr)
{
    struct ap_hang_causes *to = search->to;
    uint32_t kept = cause.first_rank;
    ap_sort(to->ranks + cause.first_rank, to->rank_count - cause.first_rank, sizeof(to->ranks[0]), by_number);
    for (uint32_t i = cause.first_rank; i < to->rank_count; i++)
        if (kept == cause.first_rank || to->ranks[kept - 1] != to->ranks[i])
            to->ranks[kept++] = to->ranks[i];
    to->rank_count = kept;
    cause.rank_count = kept - cause.first_rank;
    bool of_ranks = cause.verdict == AP_HANG_stuck_outside || cause.verdict == AP_HANG_dump_missing;
    to->counts[cause.verdict] += of_ranks ? cause.rank_count : 1;
    AP_TRY_ADD(to->gate, to->list, to->count, to->capacity, reterr, cause);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------- mismatches */

static enum ap_hang verdict_of(enum ap_mismatch_kind kind)
{
    switch (kind) {
    case AP_MISMATCH_SKIPPED: return AP_HANG_call_skipped;
    case AP_MISMATCH_ADDED: return AP_HANG_call_added;
    case AP_MISMATCH_SWAPPED: return AP_HANG_order_swapped;
    case AP_MISMATCH_SIZE: return AP_HANG_size_mismatch;
    case AP_MISMATCH_TYPE: return AP_HANG_type_mismatch;
    case AP_MISMATCH_OPERATION: break;
    }
    return AP_HANG_desync;
}

static enum ap_status add_mismatches(struct ap_hang_search *search, struct ap_error *reterr)
{
    const struct ap_flight_mismatches *mismatches = search->findings->mismatches;
    const struct ap_flight *flight = search->findings->flight;
    for (uint32_t i = 0; i < mismatches->count; i++) {
        const struct ap_flight_mismatch *mismatch = &mismatches->list[i];
        struct ap_hang_cause cause = ap_hang_cause_of(search, verdict_of(mismatch->kind),
                                                      mismatch->is_decided ? AP_CONFIDENCE_high : AP_CONFIDENCE_medium);
        cause.group = mismatch->group;
        cause.sequence = mismatch->sequence;
        cause.entry = mismatch->usual_entry;
        cause.other_entry = mismatch->odd_entry;
        cause.names_all = !mismatch->is_decided;
        cause.waiting_count = mismatch->slot_count;
        for (uint32_t k = 0; k < mismatch->odd_count; k++)
            AP_TRY(ap_hang_add_rank(search, flight->dumps[mismatches->odd[mismatch->first_odd + k]].rank, reterr));
        AP_TRY(ap_hang_add_cause(search, cause, reterr));
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ roots */

/* A rank that one peer alone waits for did not call what that one waits with; it may wait in another transfer, for which the
 * peer is missing. One that more wait for is stuck somewhere; where groups are on the circle too, the order is wrong. */
static bool lacks_a_call(const struct ap_hang_search *search, const struct ap_flight_pair *pair, const uint8_t *peers)
{
    uint32_t dump = ap_flight_pair_awaited(pair)->dump;
    const struct ap_flight_rank_wait *awaited = &search->findings->waits->ranks[dump];
    const struct ap_flight_rank_wait *waiter = &search->findings->waits->ranks[ap_flight_pair_waiter(pair)->dump];
    if (awaited->is_root)
        return peers[dump] == 1;
    return awaited->circle != AP_FLIGHT_NONE && awaited->circle == waiter->circle && !search->mixed[awaited->circle];
}

/* About the rank that is waited for; of a transfer that both entered, both. */
static enum ap_status add_pair(struct ap_hang_search *search, const struct ap_flight_pair *pair, enum ap_hang verdict,
                               struct ap_error *reterr)
{
    const struct ap_flight_side *awaited = ap_flight_pair_awaited(pair), *waiter = ap_flight_pair_waiter(pair);
    const struct ap_flight_dump *dumps = search->findings->flight->dumps;
    struct ap_hang_cause cause = ap_hang_cause_of(search, verdict, AP_CONFIDENCE_medium);
    cause.group = pair->group;
    cause.entry = waiter->first_open;
    cause.sequence = search->findings->flight->entries.sequence[cause.entry];
    cause.waiting_count = 1;
    if (pair->kind == AP_PAIR_INSIDE)
        AP_TRY(ap_hang_add_rank(search, dumps[waiter->dump].rank, reterr));
    search->taken[awaited->dump] = 1;
    AP_TRY(ap_hang_add_rank(search, dumps[awaited->dump].rank, reterr));
    return ap_hang_add_cause(search, cause, reterr);
}

/* How many wait for each rank, by a send or receive or in a group: none, one, more. */
static void count_waiters(const struct ap_hang_search *search, uint8_t *peers)
{
    const struct ap_flight_findings *findings = search->findings;
    for (uint32_t i = 0; i < findings->pairs->count; i++) {
        const struct ap_flight_pair *pair = &findings->pairs->list[i];
        if (pair->kind == AP_PAIR_LACKS && peers[ap_flight_pair_awaited(pair)->dump] < 2)
            peers[ap_flight_pair_awaited(pair)->dump]++;
    }
    for (uint32_t k = 0; k < search->group_count; k++) {
        const struct ap_flight_group *it = &findings->groups->groups[search->groups[k]];
        for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++)
            if (findings->waits->places[i] == AP_PLACE_MISSING && !wait_of(search, search->groups[k])->has_through)
                peers[findings->groups->members[i].dump] = 2;
    }
}

static void find_mixed(const struct ap_hang_search *search)
{
    const struct ap_flight_waits *waits = search->findings->waits;
    for (uint32_t i = 0; i < search->findings->groups->group_count; i++)
        if (waits->list[i].circle != AP_FLIGHT_NONE)
            search->mixed[waits->list[i].circle] = 1;
}

static enum ap_status add_pairs(struct ap_hang_search *search, struct ap_error *reterr)
{
    const struct ap_flight_pairs *pairs = search->findings->pairs;
    uint8_t *peers;
    size_t room = (size_t)search->findings->flight->dump_count + 1;
    if (!pairs->waiting_count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(search->to->gate, peers, room, reterr));
    count_waiters(search, peers);
    find_mixed(search);
    enum ap_status status = AP_OK;
    for (uint32_t i = 0; i < pairs->count && status == AP_OK; i++)
        if (pairs->list[i].kind == AP_PAIR_LACKS && lacks_a_call(search, &pairs->list[i], peers))
            status = add_pair(search, &pairs->list[i], AP_HANG_p2p_partner_missing, reterr);
    AP_FREE(search->to->gate, peers, room);
    return status;
}

/* Roots that are waited for by peers alone. */
static enum ap_status add_stuck_peers(struct ap_hang_search *search, struct ap_error *reterr)
{
    const struct ap_flight_pairs *pairs = search->findings->pairs;
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct ap_flight_pair *pair = &pairs->list[i];
        if (pair->kind != AP_PAIR_LACKS || search->taken[ap_flight_pair_awaited(pair)->dump] ||
            !search->findings->waits->ranks[ap_flight_pair_awaited(pair)->dump].is_root)
            continue;
        AP_TRY(add_pair(search, pair, AP_HANG_stuck_outside, reterr));
    }
    return AP_OK;
}

/* A job that may still have run may just have been between two calls, or in one. */
static void doubt(struct ap_hang_cause *cause)
{
    if (cause->may_run && cause->confidence != AP_CONFIDENCE_low)
        cause->confidence = cause->confidence == AP_CONFIDENCE_high ? AP_CONFIDENCE_medium : AP_CONFIDENCE_low;
}

/* Members of a group that no dump lists are those that used it. Whoever has not used it yet may be one, too: so it must be
 * where one rank is in it alone, and may be where others wait in another group. */
static bool hides_members(const struct ap_hang_search *search, uint32_t group)
{
    const struct ap_flight_group *it = &search->findings->groups->groups[group];
    bool may_have_more = it->member_count < search->findings->flight->dump_count;
    return !it->is_recorded && (it->member_count < 2 || (may_have_more && search->group_count > 1));
}

/* Do a few ranks wait in it for all the others, and these for nobody? Then rather those made a call that is none of the
 * program's than that all the others are stuck. */
static bool is_lone(const struct ap_hang_search *search, uint32_t group)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    const struct ap_flight_waits *waits = search->findings->waits;
    const struct ap_flight_wait *wait = wait_of(search, group);
    const struct ap_flight_group *it = &groups->groups[group];
    uint64_t pending = wait->counts[AP_PLACE_PENDING], missing = wait->counts[AP_PLACE_MISSING];
    if (pending + missing < it->size || missing < LONE_PART * pending || hides_members(search, group))
        return false;
    for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++)
        if (waits->places[i] == AP_PLACE_MISSING && !waits->ranks[groups->members[i].dump].is_root)
            return false;
    return true;
}

static enum ap_status add_lone(struct ap_hang_search *search, uint32_t group, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    const struct ap_flight_group *it = &groups->groups[group];
    struct ap_hang_cause cause = ap_hang_cause_in_group(search, AP_HANG_lone_call, AP_CONFIDENCE_medium, group);
    for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++) {
        uint32_t dump = groups->members[i].dump;
        if (search->findings->waits->places[i] == AP_PLACE_PENDING) {
            AP_TRY(ap_hang_add_rank(search, groups->members[i].rank, reterr));
            continue;
        }
        search->taken[dump] = 1;
        cause.may_run = cause.may_run || search->findings->timing->may_run[dump];
    }
    doubt(&cause);
    return ap_hang_add_cause(search, cause, reterr);
}

static enum ap_status add_stuck(struct ap_hang_search *search, uint32_t group, struct ap_error *reterr)
{
    if (is_lone(search, group))
        return add_lone(search, group, reterr);
    const struct ap_flight_groups *groups = search->findings->groups;
    const struct ap_flight_waits *waits = search->findings->waits;
    const struct ap_flight_wait *wait = wait_of(search, group);
    const struct ap_flight_group *it = &groups->groups[group];
    bool unsure = is_gloo(search, wait->entry) || wait->counts[AP_PLACE_ABSENT] || wait->counts[AP_PLACE_UNKNOWN] ||
                  wait->counts[AP_PLACE_EARLIER];
    struct ap_hang_cause cause =
        ap_hang_cause_in_group(search, AP_HANG_stuck_outside, unsure ? AP_CONFIDENCE_medium : AP_CONFIDENCE_high, group);
    for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++) {
        uint32_t dump = groups->members[i].dump;
        if (waits->places[i] != AP_PLACE_MISSING || !waits->ranks[dump].is_root || search->taken[dump])
            continue;
        search->taken[dump] = 1;
        cause.may_run = cause.may_run || search->findings->timing->may_run[dump];
        AP_TRY(ap_hang_add_rank(search, groups->members[i].rank, reterr));
    }
    doubt(&cause);
    return search->to->rank_count > cause.first_rank ? ap_hang_add_cause(search, cause, reterr) : AP_OK;
}

/* A transfer that both sides are in first, and in which it hangs by itself. */
static enum ap_status add_stalled_pairs(struct ap_hang_search *search, struct ap_error *reterr)
{
    const struct ap_flight_pairs *pairs = search->findings->pairs;
    const struct ap_flight_rank_wait *ranks = search->findings->waits->ranks;
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct ap_flight_pair *pair = &pairs->list[i];
        if (pair->kind == AP_PAIR_INSIDE && ranks[pair->send.dump].pair == i && ranks[pair->receive.dump].pair == i &&
            (pair->send.has_done || pair->receive.has_done))
            AP_TRY(add_pair(search, pair, AP_HANG_collective_stalled, reterr));
    }
    return AP_OK;
}

/* Of a transfer the rank that is absent. */
static enum ap_status add_absent_peers(struct ap_hang_search *search, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    for (uint32_t i = 0; i < search->findings->pairs->count; i++) {
        const struct ap_flight_pair *pair = &search->findings->pairs->list[i];
        uint32_t first = groups->groups[pair->group].first_member;
        if (pair->kind == AP_PAIR_ABSENT)
            AP_TRY(ap_hang_add_rank(search, groups->members[first + (pair->receiver_waits ? pair->from : pair->to)].rank,
                                    reterr));
    }
    return AP_OK;
}

/* Each absent rank once, wherever it is waited for. */
static enum ap_status add_absent(struct ap_hang_search *search, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    const struct ap_flight_waits *waits = search->findings->waits;
    uint32_t first_rank = search->to->rank_count, first_group = AP_FLIGHT_NONE;
    for (uint32_t k = 0; k < search->group_count; k++) {
        uint32_t group = search->groups[k];
        const struct ap_flight_group *it = &groups->groups[group];
        for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++)
            if (waits->places[i] == AP_PLACE_ABSENT)
                AP_TRY(ap_hang_add_rank(search, groups->members[i].rank, reterr));
        if (first_group == AP_FLIGHT_NONE && search->to->rank_count > first_rank)
            first_group = group;
    }
    AP_TRY(add_absent_peers(search, reterr));
    if (search->to->rank_count == first_rank)
        return AP_OK;
    struct ap_hang_cause cause =
        first_group == AP_FLIGHT_NONE
            ? ap_hang_cause_of(search, AP_HANG_dump_missing, AP_CONFIDENCE_medium)
            : ap_hang_cause_in_group(search, AP_HANG_dump_missing, AP_CONFIDENCE_medium, first_group);
    cause.first_rank = first_rank;
    return ap_hang_add_cause(search, cause, reterr);
}

/* Did a member of the group begin a send or receive before, of which the end is not recorded? That is no sign of a fault,
 * but reason enough. */
static bool may_wait_for_peers(const struct ap_hang_search *search, uint32_t group)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    const struct ap_flight_group *it = &groups->groups[group];
    for (uint32_t i = it->first_seat; i < it->first_seat + it->seat_count; i++) {
        const struct ap_flight_seat *seat = &groups->seats[i];
        if (seat->pending_entry != AP_FLIGHT_NONE && search->first_sends[seat->dump] < seat->pending_entry)
            return true;
    }
    return false;
}

static void find_first_sends(const struct ap_hang_search *search)
{
    const struct ap_flight_findings *findings = search->findings;
    const struct ap_flight_entries *entries = &findings->flight->entries;
    for (uint32_t i = 0; i < findings->flight->dump_count; i++)
        search->first_sends[i] = AP_FLIGHT_NONE;
    for (uint32_t i = 0; i < entries->count; i++) {
        uint32_t *first = &search->first_sends[entries->dump[i]];
        if (entries->flags[i] & AP_FLIGHT_IS_P2P && findings->groups->done[i] == AP_FLIGHT_PENDING && i < *first)
            *first = i;
    }
}

static bool waits_for_nobody(const struct ap_hang_search *search, uint32_t group)
{
    const struct ap_flight_wait *wait = wait_of(search, group);
    return !wait->counts[AP_PLACE_MISSING] && !wait->counts[AP_PLACE_ABSENT] && !wait->has_through &&
           !ap_flight_mismatch_of(search->findings->mismatches, group);
}

/* Does a rank of another group wait for this one? */
static bool is_awaited(const struct ap_hang_search *search, uint32_t rank)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    for (uint32_t k = 0; k < search->group_count; k++) {
        const struct ap_flight_group *it = &groups->groups[search->groups[k]];
        for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++)
            if (groups->members[i].rank == rank && search->findings->waits->places[i] == AP_PLACE_MISSING)
                return true;
    }
    return false;
}

/* Where nothing else is known: the ranks that wait in groups of which no dump tells the members. */
static enum ap_status add_unknown(struct ap_hang_search *search, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    bool lacks_dumps = groups->world_size > search->findings->flight->dump_count;
    struct ap_hang_cause cause = ap_hang_cause_of(search, AP_HANG_members_unknown, AP_CONFIDENCE_low);
    uint32_t found = 0;
    for (uint32_t k = 0; k < search->group_count && !search->to->count && !lacks_dumps; k++) {
        const struct ap_flight_group *it = &groups->groups[search->groups[k]];
        if (!waits_for_nobody(search, search->groups[k]) || !hides_members(search, search->groups[k]))
            continue;
        cause =
            found++ ? cause : ap_hang_cause_in_group(search, AP_HANG_members_unknown, AP_CONFIDENCE_low, search->groups[k]);
        for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++)
            if (search->findings->waits->places[i] == AP_PLACE_PENDING)
                AP_TRY(ap_hang_add_rank(search, groups->members[i].rank, reterr));
    }
    cause.first_rank = search->to->count ? cause.first_rank : 0;
    cause.waiting_count = found;
    if (search->to->rank_count == 1 && found == 1 && is_awaited(search, search->to->ranks[0]))
        cause.confidence = AP_CONFIDENCE_medium;
    return found ? ap_hang_add_cause(search, cause, reterr) : AP_OK;
}

/* A group that waits for nobody. */
static enum ap_status add_terminal(struct ap_hang_search *search, uint32_t group, struct ap_error *reterr)
{
    const struct ap_flight_groups *groups = search->findings->groups;
    const struct ap_flight_wait *wait = wait_of(search, group);
    const struct ap_flight_group *it = &groups->groups[group];
    bool lacks_dumps = groups->world_size > search->findings->flight->dump_count;
    if (!waits_for_nobody(search, group) || hides_members(search, group) || (!it->is_recorded && lacks_dumps))
        return AP_OK;
    bool uncovered = wait->counts[AP_PLACE_UNKNOWN], older = wait->counts[AP_PLACE_EARLIER];
    bool some_done = wait->counts[AP_PLACE_DONE] || older;
    bool unsure = may_wait_for_peers(search, group);
    if (unsure && search->to->count)
        return AP_OK;
    enum ap_hang verdict = uncovered ? AP_HANG_ring_too_small : some_done ? AP_HANG_dump_skew : AP_HANG_collective_stalled;
    struct ap_hang_cause cause = ap_hang_cause_in_group(
        search, verdict, uncovered || some_done || unsure ? AP_CONFIDENCE_low : AP_CONFIDENCE_medium, group);
    enum ap_flight_place place = uncovered ? AP_PLACE_UNKNOWN : older ? AP_PLACE_EARLIER : AP_PLACE_PENDING;
    cause.is_older = !uncovered && older;
    cause.may_lack_members = !it->is_recorded && it->member_count < search->findings->flight->dump_count;
    for (uint32_t i = it->first_member; i < it->first_member + it->member_count; i++) {
        if (search->findings->waits->places[i] != place)
            continue;
        cause.may_run = cause.may_run || (verdict == AP_HANG_collective_stalled &&
                                          search->findings->timing->may_run[groups->members[i].dump]);
        AP_TRY(ap_hang_add_rank(search, groups->members[i].rank, reterr));
    }
    cause.confidence = cause.may_lack_members ? AP_CONFIDENCE_low : cause.confidence;
    doubt(&cause);
    return ap_hang_add_cause(search, cause, reterr);
}

/* ------------------------------------------------------------------------------------------------------------- order */

static bool waits_more(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_flight_wait *waits = context;
    AP_SMALLER_FIRST(waits[a].level, waits[b].level);
    AP_LARGER_FIRST(waits[a].counts[AP_PLACE_PENDING], waits[b].counts[AP_PLACE_PENDING]);
    return a < b;
}

static enum ap_status list_groups(struct ap_hang_search *search, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < search->findings->groups->group_count; i++)
        if (wait_of(search, i)->sequence >= 0)
            search->groups[search->group_count++] = i;
    return ap_sort_list(search->to->gate, search->groups, search->group_count, waits_more, search->findings->waits->list,
                        reterr);
}

/* The surest first; what stands first in hang_verdict.def where that is the same. */
static int by_confidence(const void *left, const void *right)
{
    const struct ap_hang_cause *a = left, *b = right;
    bool a_is_odd = a->verdict <= AP_HANG_type_mismatch, b_is_odd = b->verdict <= AP_HANG_type_mismatch;
    AP_BY_LARGER(a_is_odd, b_is_odd);
    AP_BY_LARGER(a->confidence, b->confidence);
    AP_BY_SMALLER(a->verdict, b->verdict);
    AP_BY_LARGER(a->waiting_count, b->waiting_count);
    AP_BY_SMALLER(a->first_rank, b->first_rank);
    return 0;
}

static enum ap_status add_all(struct ap_hang_search *search, struct ap_error *reterr)
{
    find_first_sends(search);
    AP_TRY(list_groups(search, reterr));
    AP_TRY(add_mismatches(search, reterr));
    AP_TRY(add_pairs(search, reterr));
    AP_TRY(ap_hang_add_circles(search, reterr));
    for (uint32_t i = 0; i < search->group_count; i++)
        AP_TRY(add_stuck(search, search->groups[i], reterr));
    AP_TRY(add_stuck_peers(search, reterr));
    AP_TRY(add_absent(search, reterr));
    AP_TRY(add_stalled_pairs(search, reterr));
    for (uint32_t i = 0; i < search->group_count; i++)
        AP_TRY(add_terminal(search, search->groups[i], reterr));
    AP_TRY(add_unknown(search, reterr));
    ap_sort(search->to->list, search->to->count, sizeof(search->to->list[0]), by_confidence);
    return AP_OK;
}

enum ap_status ap_hang_causes_init(struct ap_hang_causes *causes, const struct ap_flight_findings *findings,
                                   struct ap_error *reterr)
{
    struct ap_hang_search search = { .findings = findings, .to = causes, .comparisons = COMPARISONS };
    size_t groups = (size_t)findings->groups->group_count + 1, dumps = (size_t)findings->flight->dump_count + 1;
    size_t circles = (size_t)findings->waits->circle_count + 1;
    *causes = (struct ap_hang_causes){ .gate = findings->flight->gate };
    AP_TRY(AP_ALLOC(causes->gate, search.groups, groups, reterr));
    enum ap_status status = AP_ALLOC_CLEARED(causes->gate, search.taken, dumps, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(causes->gate, search.mixed, circles, reterr));
    AP_AND_THEN(status, AP_ALLOC(causes->gate, search.first_sends, dumps, reterr));
    AP_AND_THEN(status, add_all(&search, reterr));
    AP_FREE(causes->gate, search.first_sends, dumps);
    AP_FREE(causes->gate, search.mixed, circles);
    AP_FREE(causes->gate, search.taken, dumps);
    AP_FREE(causes->gate, search.groups, groups);
    return status;
}

void ap_hang_causes_release(struct ap_hang_causes *causes)
{
    AP_FREE(causes->gate, causes->list, causes->capacity);
    AP_FREE(causes->gate, causes->ranks, causes->rank_capacity);
}
