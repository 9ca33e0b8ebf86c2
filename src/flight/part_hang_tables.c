/* SPDX-License-Identifier: MIT
 * Who is where: groups in the order in which waits follow from each other, ranks with those that others wait for first. */
#include "part_hang.h"

#include "sort.h"

#include "poison.h"

/* ----------------------------------------------------------------------------------------------------------- groups */

struct listing {
    const struct ap_hang_report *report;
    struct ap_model *model;
    struct ap_value *list;
    uint32_t *order, *first_child, *next_sibling, *open; /* by group */
    uint32_t *ranks;                                     /* room for the members of one */
    uint64_t left;
};

static bool waits(const struct ap_hang_report *report, uint32_t group)
{
    return report->waits.list[group].sequence >= 0;
}

static void add_members_at(const struct listing *listing, uint32_t group, enum ap_flight_place place, const char *key,
                           struct ap_value *row)
{
    const struct ap_flight_groups *groups = &listing->report->groups;
    const struct ap_flight_group *it = &groups->groups[group];
    uint32_t count = 0;
    char text[AP_RANK_TEXT_BYTES];
    for (uint32_t i = it->first_member; i < it->first_member + it->member_count && waits(listing->report, group); i++)
        if (listing->report->waits.places[i] == place)
            listing->ranks[count++] = groups->members[i].rank;
    ap_add_known_string(listing->model, row, key, count, ap_rank_text(listing->ranks, count, text));
}

static void add_members(const struct listing *listing, uint32_t group, struct ap_value *row)
{
    const struct ap_flight_groups *groups = &listing->report->groups;
    const struct ap_flight_group *it = &groups->groups[group];
    char text[AP_RANK_TEXT_BYTES];
    for (uint32_t i = 0; i < it->member_count; i++)
        listing->ranks[i] = groups->members[it->first_member + i].rank;
    ap_add_count(listing->model, row, "size", it->size);
    ap_add_known_string(listing->model, row, "members", it->member_count,
                        ap_rank_text(listing->ranks, it->member_count, text));
    ap_add_bool(listing->model, row, "members_recorded", it->is_recorded);
}

static int64_t last_sequence(const struct ap_hang_report *report, uint32_t group)
{
    const struct ap_flight_group *it = &report->groups.groups[group];
    int64_t last = -1;
    for (uint32_t i = it->first_seat; i < it->first_seat + it->seat_count; i++)
        if (report->groups.seats[i].last_sequence > last)
            last = report->groups.seats[i].last_sequence;
    return last;
}

static void add_group(struct listing *listing, uint32_t group, uint32_t depth)
{
    const struct ap_hang_report *report = listing->report;
    const struct ap_flight_wait *wait = &report->waits.list[group];
    struct ap_model *model = listing->model;
    bool is_waiting = waits(report, group), through = is_waiting && wait->through != AP_FLIGHT_NONE;
    if (!listing->left)
        return;
    listing->left--;
    struct ap_value *row = ap_add_object(model, listing->list, NULL);
    ap_hang_add_group_name(report, group, model, row);
    add_members(listing, group, row);
    ap_add_known_count(model, row, "last_sequence", last_sequence(report, group) >= 0, last_sequence(report, group));
    ap_add_known_count(model, row, "depth", is_waiting, depth);
    ap_add_known_count(model, row, "sequence", is_waiting, wait->sequence);
    ap_hang_add_operation(report, is_waiting ? wait->entry : AP_FLIGHT_NONE, false, model, row);
    ap_add_count(model, row, "waiting_count", wait->counts[AP_PLACE_PENDING]);
    add_members_at(listing, group, AP_PLACE_PENDING, "waiting", row);
    ap_add_count(model, row, "done_count", wait->counts[AP_PLACE_DONE]);
    ap_add_count(model, row, "missing_count", wait->counts[AP_PLACE_MISSING]);
    add_members_at(listing, group, AP_PLACE_MISSING, "missing", row);
    ap_add_count(model, row, "absent_count", wait->counts[AP_PLACE_ABSENT]);
    add_members_at(listing, group, AP_PLACE_ABSENT, "absent", row);
    ap_add_count(model, row, "unknown_count", wait->counts[AP_PLACE_UNKNOWN]);
    ap_add_known_count(model, row, "through_rank", through,
                       through ? report->findings.flight->dumps[wait->through].rank : 0);
    ap_add_known_bool(model, row, "in_circle", is_waiting, wait->circle != AP_FLIGHT_NONE);
}

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_flight_wait *list = context;
    AP_LARGER_FIRST(list[a].sequence >= 0, list[b].sequence >= 0);
    AP_SMALLER_FIRST(list[a].level, list[b].level);
    AP_LARGER_FIRST(list[a].counts[AP_PLACE_PENDING], list[b].counts[AP_PLACE_PENDING]);
    return a < b;
}

/* Which group a wait follows from: what has a smaller level, so that it is a tree. */
static uint32_t parent_of(const struct ap_hang_report *report, uint32_t group)
{
    const struct ap_flight_wait *wait = &report->waits.list[group];
    if (!waits(report, group) || wait->behind == AP_FLIGHT_NONE || report->waits.list[wait->behind].level >= wait->level)
        return AP_FLIGHT_NONE;
    return wait->behind;
}

static void link_children(struct listing *listing)
{
    uint32_t count = listing->report->groups.group_count;
    for (uint32_t i = 0; i < count; i++)
        listing->first_child[i] = AP_FLIGHT_NONE;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t group = listing->order[i], parent = parent_of(listing->report, group);
        if (parent == AP_FLIGHT_NONE)
            continue;
        listing->next_sibling[group] = listing->first_child[parent];
        listing->first_child[parent] = group;
    }
}

/* A group, then those that wait because of it, deeper. */
static void add_tree(struct listing *listing, uint32_t root)
{
    uint32_t depth = 0;
    add_group(listing, root, 0);
    listing->open[0] = listing->first_child[root];
    while (listing->left) {
        uint32_t group = listing->open[depth];
        if (group == AP_FLIGHT_NONE) {
            if (!depth--)
                return;
            continue;
        }
        listing->open[depth] = listing->next_sibling[group];
        add_group(listing, group, depth + 1);
        listing->open[++depth] = listing->first_child[group];
    }
}

static enum ap_status add_all_groups(struct listing *listing, struct ap_error *reterr)
{
    const struct ap_hang_report *report = listing->report;
    uint32_t count = report->groups.group_count;
    for (uint32_t i = 0; i < count; i++)
        listing->order[i] = i;
    AP_TRY(ap_sort_list(report->groups.gate, listing->order, count, comes_before, report->waits.list, reterr));
    link_children(listing);
    for (uint32_t i = 0; i < count && listing->left; i++)
        if (parent_of(report, listing->order[i]) == AP_FLIGHT_NONE)
            add_tree(listing, listing->order[i]);
    return AP_OK;
}

enum ap_status ap_hang_add_groups(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *to,
                                  struct ap_error *reterr)
{
    struct ap_gate *gate = report->groups.gate;
    size_t count = (size_t)report->groups.group_count + 1, ranks = (size_t)report->groups.member_count + 1;
    uint32_t *memory;
    AP_TRY(AP_ALLOC(gate, memory, count * 4 + ranks, reterr));
    struct listing listing = { .report = report,
                               .model = model,
                               .list = ap_add_list(model, to, "groups"),
                               .order = memory,
                               .first_child = memory + count,
                               .next_sibling = memory + count * 2,
                               .open = memory + count * 3,
                               .ranks = memory + count * 4,
                               .left = report->top_n ? report->top_n : UINT64_MAX };
    enum ap_status status = add_all_groups(&listing, reterr);
    AP_FREE(gate, memory, count * 4 + ranks);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ ranks */

enum role { ROLE_ROOT, ROLE_ODD, ROLE_CIRCLE, ROLE_WAITS, ROLE_NONE };

struct rank_listing {
    const struct ap_hang_report *report;
    uint8_t *roles;         /* by dump */
    uint32_t *last_entries; /* by dump: AP_FLIGHT_NONE = none */
    uint32_t *pending;      /* by dump: its entries that are not done */
};

static const char *role_name(enum role role)
{
    static const char *const names[] = { "awaited", "odd", "in a circle", "waits", "none" };
    return names[role];
}

static void find_roles(const struct rank_listing *listing)
{
    const struct ap_hang_report *report = listing->report;
    for (uint32_t i = 0; i < report->findings.flight->dump_count; i++) {
        const struct ap_flight_rank_wait *rank = &report->waits.ranks[i];
        bool is_waiting = rank->entry != AP_FLIGHT_NONE;
        listing->roles[i] = (uint8_t)(rank->is_root                    ? ROLE_ROOT
                                      : rank->circle != AP_FLIGHT_NONE ? ROLE_CIRCLE
                                      : is_waiting                     ? ROLE_WAITS
                                                                       : ROLE_NONE);
    }
    for (uint32_t i = 0; i < report->mismatches.odd_count; i++)
        if (listing->roles[report->mismatches.odd[i]] != ROLE_ROOT)
            listing->roles[report->mismatches.odd[i]] = ROLE_ODD;
}

static void find_last(const struct rank_listing *listing)
{
    const struct ap_flight_entries *entries = &listing->report->findings.flight->entries;
    for (uint32_t i = 0; i < listing->report->findings.flight->dump_count; i++)
        listing->last_entries[i] = AP_FLIGHT_NONE;
    for (uint32_t i = 0; i < entries->count; i++) {
        uint32_t dump = entries->dump[i];
        listing->last_entries[dump] = i;
        listing->pending[dump] += listing->report->groups.done[i] == AP_FLIGHT_PENDING;
    }
}

static const char *done_name(enum ap_flight_done done)
{
    static const char *const names[] = { "pending", "done", "not known" };
    return names[done];
}

/* What it waits in, else what it did last. */
static uint32_t entry_of(const struct rank_listing *listing, uint32_t dump)
{
    uint32_t pending = listing->report->waits.ranks[dump].entry;
    return pending != AP_FLIGHT_NONE ? pending : listing->last_entries[dump];
}

static void add_call(const struct rank_listing *listing, uint32_t dump, struct ap_model *model, struct ap_value *row)
{
    const struct ap_hang_report *report = listing->report;
    const struct ap_flight_entries *entries = &report->findings.flight->entries;
    uint32_t entry = entry_of(listing, dump);
    bool known = entry != AP_FLIGHT_NONE;
    uint32_t group = known ? report->groups.seats[report->groups.entry_seats[entry]].group : AP_FLIGHT_NONE;
    struct ap_str site = known ? entries->site[entry] : (struct ap_str){ 0 };
    ap_hang_add_group_name(report, group, model, row);
    ap_add_known_count(model, row, "sequence", known, known ? entries->sequence[entry] : 0);
    ap_hang_add_operation(report, entry, false, model, row);
    ap_add_known_string(model, row, "state", known, known ? done_name(report->groups.done[entry]) : NULL);
    ap_add_known_text(model, row, "site", site.id, ap_flight_text(report->findings.flight, site));
}

static void add_lag(const struct ap_flight_lag *lag, struct ap_model *model, struct ap_value *row)
{
    ap_add_count(model, row, "shared_count", (int64_t)lag->count);
    ap_add_known_time(model, row, "p50_lag_us", lag->count, lag->median_ns);
    ap_add_known_time(model, row, "max_lag_us", lag->count, lag->max_ns);
    ap_add_quotient(model, row, "last_ratio", (double)lag->last_count, (double)lag->count);
}

static void add_rank(const struct rank_listing *listing, uint32_t dump, struct ap_model *model, struct ap_value *list)
{
    const struct ap_hang_report *report = listing->report;
    const struct ap_flight_dump *it = &report->findings.flight->dumps[dump];
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "rank", it->rank);
    ap_add_string(model, row, "role", role_name((enum role)listing->roles[dump]));
    add_call(listing, dump, model, row);
    ap_add_count(model, row, "pending_count", listing->pending[dump]);
    ap_add_count(model, row, "entries", it->entry_count);
    ap_add_bool(model, row, "is_wrapped", it->wrapped);
    ap_add_bool(model, row, "is_cut", it->cut);
    add_lag(&report->timing.lags[dump], model, row);
    ap_add_text(model, row, "path", ap_text_of(it->path));
    ap_add_known_text(model, row, "host", it->host.id, ap_flight_text(report->findings.flight, it->host));
    ap_add_known_text(model, row, "version", it->version.id, ap_flight_text(report->findings.flight, it->version));
    ap_add_known_text(model, row, "library", ap_flight_text(report->findings.flight, it->library).bytes,
                      ap_flight_text(report->findings.flight, it->library));
}

static bool role_comes_before(const void *context, uint32_t a, uint32_t b)
{
    const uint8_t *roles = context;
    AP_SMALLER_FIRST(roles[a], roles[b]);
    return a < b;
}

static enum ap_status add_ranks(struct rank_listing *listing, struct ap_model *model, struct ap_value *list,
                                struct ap_error *reterr)
{
    const struct ap_flight *flight = listing->report->findings.flight;
    uint32_t *order;
    size_t count;
    find_roles(listing);
    find_last(listing);
    AP_TRY(ap_top_indices(flight->gate, flight->dump_count, listing->report->top_n, role_comes_before, listing->roles,
                          &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_rank(listing, order[i], model, list);
    ap_mem_free(flight->gate, order, count * sizeof(order[0]));
    return AP_OK;
}

enum ap_status ap_hang_add_ranks(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *to,
                                 struct ap_error *reterr)
{
    const struct ap_flight *flight = report->findings.flight;
    size_t count = (size_t)flight->dump_count + 1;
    struct rank_listing listing = { .report = report };
    AP_TRY(AP_ALLOC_CLEARED(flight->gate, listing.roles, count, reterr));
    enum ap_status status = AP_ALLOC_CLEARED(flight->gate, listing.pending, count, reterr);
    AP_AND_THEN(status, AP_ALLOC(flight->gate, listing.last_entries, count, reterr));
    AP_AND_THEN(status, add_ranks(&listing, model, ap_add_list(model, to, "ranks"), reterr));
    AP_FREE(flight->gate, listing.last_entries, count);
    AP_FREE(flight->gate, listing.pending, count);
    AP_FREE(flight->gate, listing.roles, count);
    return status;
}
