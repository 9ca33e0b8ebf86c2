/* SPDX-License-Identifier: MIT */
#include "flight_order.h"

#include "flight_names.h"
#include "sort.h"

#include "poison.h"

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_flight_groups *groups = context;
    const struct ap_flight_entries *entries = &groups->flight->entries;
    AP_SMALLER_FIRST(groups->seats[groups->entry_seats[a]].group, groups->seats[groups->entry_seats[b]].group);
    AP_SMALLER_FIRST(entries->sequence[a], entries->sequence[b]);
    AP_SMALLER_FIRST(entries->dump[a], entries->dump[b]);
    return a < b;
}

static bool counts(const struct ap_flight_groups *groups, uint32_t entry)
{
    return !(groups->flight->entries.flags[entry] & AP_FLIGHT_IS_P2P) &&
           entry >= groups->seats[groups->entry_seats[entry]].first_entry;
}

static uint32_t group_of(const struct ap_flight_order *order, uint32_t at)
{
    return order->groups->seats[order->groups->entry_seats[order->entries[at]]].group;
}

static void find_starts(struct ap_flight_order *order)
{
    uint32_t at = 0;
    for (uint32_t group = 0; group < order->groups->group_count; group++) {
        order->group_starts[group] = at;
        while (at < order->count && group_of(order, at) == group)
            at++;
    }
    order->group_starts[order->groups->group_count] = at;
}

enum ap_status ap_flight_order_init(struct ap_flight_order *order, const struct ap_flight_groups *groups,
                                    struct ap_error *reterr)
{
    uint32_t entries = groups->flight->entries.count;
    *order = (struct ap_flight_order){ .gate = groups->gate, .groups = groups };
    AP_TRY(AP_ALLOC(order->gate, order->entries, (size_t)entries + 1, reterr));
    AP_TRY(AP_ALLOC(order->gate, order->group_starts, (size_t)groups->group_count + 1, reterr));
    for (uint32_t i = 0; i < entries; i++)
        if (counts(groups, i))
            order->entries[order->count++] = i;
    AP_TRY(ap_sort_list(order->gate, order->entries, order->count, comes_before, groups, reterr));
    find_starts(order);
    return AP_OK;
}

void ap_flight_order_release(struct ap_flight_order *order)
{
    if (!order->gate)
        return;
    AP_FREE(order->gate, order->entries, (size_t)order->groups->flight->entries.count + 1);
    AP_FREE(order->gate, order->group_starts, (size_t)order->groups->group_count + 1);
}

static int64_t sequence_at(const struct ap_flight_order *order, uint32_t at)
{
    return order->groups->flight->entries.sequence[order->entries[at]];
}

static uint32_t dump_at(const struct ap_flight_order *order, uint32_t at)
{
    return order->groups->flight->entries.dump[order->entries[at]];
}

bool ap_flight_next_run(const struct ap_flight_order *order, uint32_t group, uint32_t *at, struct ap_flight_run *ret_run)
{
    uint32_t end = order->group_starts[group + 1];
    if (*at >= end)
        return false;
    *ret_run = (struct ap_flight_run){ group, *at, *at, sequence_at(order, *at) };
    while (*at < end && sequence_at(order, *at) == ret_run->sequence)
        ++*at;
    ret_run->end = *at;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ slots */

static uint64_t mixed(uint64_t number)
{
    number *= UINT64_C(0x9e3779b97f4a7c15);
    return (number ^ number >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

/* What was coalesced counts as one, in any order. */
static void add_entry(const struct ap_flight_groups *groups, uint32_t entry, struct ap_flight_slot *slot)
{
    const struct ap_flight_entries *entries = &groups->flight->entries;
    enum ap_equal_sizes sizes = ap_operation_sizes(ap_flight_text(groups->flight, entries->operation[entry]));
    bool outputs = sizes == AP_SIZES_OF_OUTPUTS, overflowed = false;
    struct ap_str type = outputs ? entries->output_types[entry] : entries->input_types[entry];
    int64_t size = outputs ? entries->output_count[entry] : entries->input_count[entry];
    slot->operation += mixed(entries->operation[entry].id + UINT64_C(1));
    slot->type += type.id && sizes != AP_SIZES_DIFFER ? mixed(type.id) : 0;
    if (sizes == AP_SIZES_DIFFER || size < 0 || slot->size < 0)
        slot->size = -1;
    else
        slot->size = ap_add_sat(slot->size, size, &overflowed);
    if (groups->done[entry] == AP_FLIGHT_PENDING || slot->done == AP_FLIGHT_PENDING)
        slot->done = AP_FLIGHT_PENDING;
    else if (groups->done[entry] == AP_FLIGHT_DONE_UNKNOWN)
        slot->done = AP_FLIGHT_DONE_UNKNOWN;
}

bool ap_flight_next_slot(const struct ap_flight_order *order, const struct ap_flight_run *run, uint32_t *at,
                         struct ap_flight_slot *ret_slot)
{
    const struct ap_flight_groups *groups = order->groups;
    if (*at >= run->end)
        return false;
    uint32_t dump = dump_at(order, *at);
    *ret_slot = (struct ap_flight_slot){ .dump = dump, .first = *at, .done = AP_FLIGHT_DONE };
    for (; *at < run->end && dump_at(order, *at) == dump; ++*at) {
        add_entry(groups, order->entries[*at], ret_slot);
        ret_slot->count++;
    }
    return true;
}

/* Does the entry at @at stand before (sequence, dump) of its group? */
static bool is_before(const struct ap_flight_order *order, size_t at, int64_t sequence, uint32_t dump)
{
    const struct ap_flight_entries *entries = &order->groups->flight->entries;
    uint32_t entry = order->entries[at];
    return entries->sequence[entry] < sequence || (entries->sequence[entry] == sequence && entries->dump[entry] < dump);
}

bool ap_flight_find_slot(const struct ap_flight_order *order, uint32_t group, int64_t sequence, uint32_t dump,
                         struct ap_flight_slot *ret_slot)
{
    size_t at = order->group_starts[group], end = order->group_starts[group + 1];
    AP_BISECT(at, end, i, is_before(order, i, sequence, dump));
    if (at >= end || sequence_at(order, (uint32_t)at) != sequence)
        return false;
    uint32_t first = (uint32_t)at;
    while (at < end && sequence_at(order, (uint32_t)at) == sequence && dump_at(order, (uint32_t)at) == dump)
        at++;
    struct ap_flight_run slot_alone = { group, first, (uint32_t)at, sequence };
    return ap_flight_next_slot(order, &slot_alone, &first, ret_slot);
}
