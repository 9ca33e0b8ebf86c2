/* SPDX-License-Identifier: MIT */
#include "replay.h"

#include "address_map.h"
#include "sort.h"

#include "poison.h"

/* ---------------------------------------------------------------------------------------------- backwards: lifetimes */

/* One device while it is walked back. */
struct walk {
    struct ap_replay *replay;
    struct ap_replay_device *device;
    struct ap_address_map live; /* the lifetime at each address, behind the entry that comes next */
};

static enum ap_status add_lifetime(struct ap_replay *replay, struct ap_lifetime lifetime, uint32_t *ret_index,
                                   struct ap_error *reterr)
{
    if (replay->lifetime_count >= UINT32_MAX - 1)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4 billion allocations: record a shorter history");
    AP_TRY(
        AP_RESERVE(replay->gate, replay->lifetimes, replay->lifetime_capacity, (size_t)replay->lifetime_count + 1, reterr));
    replay->lifetimes[replay->lifetime_count] = lifetime;
    *ret_index = replay->lifetime_count++;
    return AP_OK;
}

static bool is_pending(const struct ap_replay *replay, const struct ap_lifetime *lifetime)
{
    return lifetime->block != AP_NO_ENTRY && replay->snapshot->blocks[lifetime->block].state == AP_BLOCK_PENDING;
}

/* Every block in use at the end is a lifetime whose beginning is not known yet. */
static enum ap_status begin_with_segment(struct walk *walk, const struct ap_segment *segment, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct ap_block *block = &walk->replay->snapshot->blocks[segment->first_block + i];
        struct ap_lifetime lifetime = { AP_NO_ENTRY, AP_NO_ENTRY, AP_NO_ENTRY, segment->first_block + i };
        uint32_t index = AP_NO_LIFETIME;
        if (block->state != AP_BLOCK_ALLOCATED && block->state != AP_BLOCK_PENDING)
            continue;
        AP_TRY(add_lifetime(walk->replay, lifetime, &index, reterr));
        if (block->has & AP_BLOCK_HAS_ADDRESS)
            AP_TRY(ap_address_map_set(&walk->live, block->address, index, reterr));
    }
    return AP_OK;
}

static enum ap_status begin_with_blocks(struct walk *walk, struct ap_error *reterr)
{
    const struct ap_replay *replay = walk->replay;
    for (uint32_t i = walk->device->first_segment; i != AP_NO_ENTRY; i = replay->next_segment[i])
        AP_TRY(begin_with_segment(walk, &replay->snapshot->segments[i], reterr));
    return AP_OK;
}

/* What the end of the lifetime says was requested; false where it says nothing. */
static bool bytes_at_end(const struct ap_replay *replay, const struct ap_lifetime *lifetime, int64_t *ret_bytes)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    uint32_t entry = lifetime->free_requested != AP_NO_ENTRY ? lifetime->free_requested : lifetime->free_completed;
    if (entry != AP_NO_ENTRY) {
        *ret_bytes = snapshot->actions.size_bytes[entry];
        return snapshot->actions.has[entry] & AP_ACTION_HAS_SIZE;
    }
    if (lifetime->block == AP_NO_ENTRY || !(snapshot->blocks[lifetime->block].has & AP_BLOCK_HAS_REQUESTED))
        return false;
    *ret_bytes = snapshot->blocks[lifetime->block].requested_bytes;
    return true;
}

static void check_size(struct walk *walk, const struct ap_lifetime *lifetime, uint32_t entry)
{
    const struct ap_actions *actions = &walk->replay->snapshot->actions;
    int64_t bytes;
    if ((actions->has[entry] & AP_ACTION_HAS_SIZE) && bytes_at_end(walk->replay, lifetime, &bytes) &&
        bytes != actions->size_bytes[entry])
        walk->device->odd[AP_REPLAY_SIZE_DIFFERS]++;
}

static enum ap_status undo_alloc(struct walk *walk, uint32_t entry, uint32_t *ret_lifetime, struct ap_error *reterr)
{
    struct ap_replay *replay = walk->replay;
    uint32_t index = ap_address_map_take(&walk->live, replay->snapshot->actions.address[entry]);
    if (index == AP_NOT_MAPPED) {
        walk->device->odd[AP_REPLAY_ALLOC_LOST]++;
        return add_lifetime(replay, (struct ap_lifetime){ entry, AP_NO_ENTRY, AP_NO_ENTRY, AP_NO_ENTRY }, ret_lifetime,
                            reterr);
    }
    check_size(walk, &replay->lifetimes[index], entry);
    replay->lifetimes[index].alloc = entry;
    *ret_lifetime = index;
    return AP_OK;
}

/* A free whose address is live behind it: two allocations cannot be at one address. The later one keeps its entries and
 * seems to have lived before the history. */
static enum ap_status undo_free(struct walk *walk, uint32_t entry, bool completed, uint32_t *ret_lifetime,
                                struct ap_error *reterr)
{
    struct ap_replay *replay = walk->replay;
    uint64_t address = replay->snapshot->actions.address[entry];
    uint32_t index = ap_address_map_find(&walk->live, address);
    if (index != AP_NOT_MAPPED) {
        struct ap_lifetime *lifetime = &replay->lifetimes[index];
        bool waits = lifetime->free_completed != AP_NO_ENTRY || is_pending(replay, lifetime);
        if (!completed && waits && lifetime->free_requested == AP_NO_ENTRY) {
            check_size(walk, lifetime, entry);
            lifetime->free_requested = entry;
            *ret_lifetime = index;
            return AP_OK;
        }
        walk->device->odd[AP_REPLAY_FREE_OF_LIVE]++;
    }
    struct ap_lifetime fresh = { AP_NO_ENTRY, completed ? AP_NO_ENTRY : entry, completed ? entry : AP_NO_ENTRY,
                                 AP_NO_ENTRY };
    AP_TRY(add_lifetime(replay, fresh, ret_lifetime, reterr));
    return ap_address_map_set(&walk->live, address, *ret_lifetime, reterr);
}

static bool is_use(uint32_t name)
{
    return name == AP_ACTION_ALLOC || name == AP_ACTION_FREE_REQUESTED || name == AP_ACTION_FREE_COMPLETED;
}

static enum ap_status undo(struct walk *walk, uint32_t entry, struct ap_error *reterr)
{
    const struct ap_actions *actions = &walk->replay->snapshot->actions;
    uint32_t name = actions->name[entry].id, *lifetime = &walk->replay->lifetime_of[entry];
    *lifetime = AP_NO_LIFETIME;
    if (!is_use(name))
        return AP_OK;
    if (!(actions->has[entry] & AP_ACTION_HAS_ADDRESS)) {
        walk->device->odd[AP_REPLAY_NO_ADDRESS]++;
        return AP_OK;
    }
    walk->device->frees_in_two = walk->device->frees_in_two || name == AP_ACTION_FREE_REQUESTED;
    if (name == AP_ACTION_ALLOC)
        return undo_alloc(walk, entry, lifetime, reterr);
    return undo_free(walk, entry, name == AP_ACTION_FREE_COMPLETED, lifetime, reterr);
}

static enum ap_status walk_back(struct ap_replay *replay, uint32_t ordinal, struct ap_error *reterr)
{
    struct ap_replay_device *device = &replay->devices[ordinal];
    struct walk walk = { .replay = replay, .device = device };
    device->first_lifetime = replay->lifetime_count;
    if (!device->entry_count)
        return AP_OK;
    ap_address_map_init(&walk.live, replay->gate);
    enum ap_status status = begin_with_blocks(&walk, reterr);
    for (uint32_t i = device->entry_count; i > 0 && status == AP_OK; i--)
        status = undo(&walk, device->first_entry + i - 1, reterr);
    ap_address_map_release(&walk.live);
    device->lifetime_count = replay->lifetime_count - device->first_lifetime;
    return status;
}

/* -------------------------------------------------------------------------------------------------- forwards: curves */

static bool was_lost(const struct ap_lifetime *lifetime)
{
    return lifetime->free_requested == AP_NO_ENTRY && lifetime->free_completed == AP_NO_ENTRY &&
           lifetime->block == AP_NO_ENTRY;
}

static int64_t negative(int64_t bytes)
{
    return bytes == INT64_MIN ? INT64_MAX : -bytes;
}

static void step_of(const struct ap_replay *replay, const struct ap_replay_device *device, uint32_t entry,
                    struct ap_replay_step *ret_step)
{
    const struct ap_actions *actions = &replay->snapshot->actions;
    uint32_t index = replay->lifetime_of[entry];
    const struct ap_lifetime *lifetime = index == AP_NO_LIFETIME ? NULL : &replay->lifetimes[index];
    int64_t bytes = actions->size_bytes[entry];
    *ret_step = (struct ap_replay_step){ .requested_bytes = 0 };
    switch (actions->name[entry].id) {
    case AP_ACTION_ALLOC: ret_step->requested_bytes = ret_step->active_bytes = bytes; break;
    case AP_ACTION_FREE_REQUESTED:
        ret_step->requested_bytes = negative(bytes);
        if (lifetime && lifetime->free_completed == AP_NO_ENTRY && !is_pending(replay, lifetime))
            ret_step->active_bytes = negative(bytes); /* this writer tells of requests only */
        break;
    case AP_ACTION_FREE_COMPLETED:
        ret_step->active_bytes = negative(bytes);
        if (lifetime ? lifetime->free_requested == AP_NO_ENTRY : !device->frees_in_two)
            ret_step->requested_bytes = negative(bytes);
        break;
    case AP_ACTION_SEGMENT_ALLOC:
    case AP_ACTION_SEGMENT_MAP: ret_step->reserved_bytes = bytes; break;
    case AP_ACTION_SEGMENT_FREE:
    case AP_ACTION_SEGMENT_UNMAP: ret_step->reserved_bytes = negative(bytes); break;
    default: break;
    }
}

/* A curve while its start is not known: all is counted from 0. */
struct rising {
    int64_t now_bytes, most_bytes, least_bytes;
    uint32_t most_position;
};

static void rise(struct rising *rising, int64_t bytes, uint32_t position, bool *overflowed)
{
    rising->now_bytes = ap_add_sat(rising->now_bytes, bytes, overflowed);
    if (rising->now_bytes > rising->most_bytes) {
        rising->most_bytes = rising->now_bytes;
        rising->most_position = position;
    }
    if (rising->now_bytes < rising->least_bytes)
        rising->least_bytes = rising->now_bytes;
}

static void anchor(struct ap_curve *curve, const struct rising *rising, bool *overflowed)
{
    curve->start_bytes = ap_add_sat(curve->end_bytes, negative(rising->now_bytes), overflowed);
    curve->peak_bytes = ap_add_sat(curve->start_bytes, rising->most_bytes, overflowed);
    curve->peak_position = rising->most_position;
}

static void take_times(struct ap_replay_device *device, const struct ap_actions *actions, uint32_t entry)
{
    bool timed = actions->has[entry] & AP_ACTION_HAS_TIME;
    device->has_times = device->has_times && timed;
    if (timed && entry > device->first_entry && (actions->has[entry - 1] & AP_ACTION_HAS_TIME) &&
        actions->time_ns[entry] < actions->time_ns[entry - 1])
        device->times_backwards++;
}

static int64_t in_use_at_start(const struct ap_replay_device *device, bool *overflowed)
{
    return ap_add_sat(device->requested.start_bytes, negative(device->offset_bytes), overflowed);
}

static void play(struct ap_replay *replay, struct ap_replay_device *device, bool *overflowed)
{
    struct rising requested = { .now_bytes = 0 }, active = requested, reserved = requested, over = requested;
    device->has_times = device->entry_count > 0;
    for (uint32_t i = 0; i < device->entry_count; i++) {
        struct ap_replay_step step;
        step_of(replay, device, device->first_entry + i, &step);
        rise(&requested, step.requested_bytes, i + 1, overflowed);
        rise(&active, step.active_bytes, i + 1, overflowed);
        rise(&reserved, step.reserved_bytes, i + 1, overflowed);
        rise(&over, ap_add_sat(step.requested_bytes, negative(step.reserved_bytes), overflowed), i + 1, overflowed);
        take_times(device, &replay->snapshot->actions, device->first_entry + i);
    }
    anchor(&device->requested, &requested, overflowed);
    anchor(&device->active, &active, overflowed);
    anchor(&device->reserved, &reserved, overflowed);
    int64_t start_bytes = in_use_at_start(device, overflowed);
    int64_t start_over = ap_add_sat(start_bytes, negative(device->reserved.start_bytes), overflowed);
    device->below_zero = ap_add_sat(start_bytes, requested.least_bytes, overflowed) < 0;
    device->above_reserved = ap_add_sat(start_over, over.most_bytes, overflowed) > 0;
}

/* ---------------------------------------------------------------------------------------------------- what it starts from
 */

static void add(int64_t *sum, int64_t bytes, bool *overflowed)
{
    *sum = ap_add_sat(*sum, bytes, overflowed);
}

/* Requested bytes of the segment's blocks: those in use, and of these the ones that wait. False where one does not say. */
static bool sum_blocks(const struct ap_snapshot *snapshot, const struct ap_segment *segment, int64_t *ret_active,
                       int64_t *ret_live, bool *overflowed)
{
    bool known = segment->has & AP_SEGMENT_HAS_BLOCKS;
    *ret_active = *ret_live = 0;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct ap_block *block = &snapshot->blocks[segment->first_block + i];
        if (block->state == AP_BLOCK_INACTIVE)
            continue;
        known = known && block->state != AP_BLOCK_UNKNOWN && (block->has & AP_BLOCK_HAS_REQUESTED);
        add(ret_active, block->requested_bytes, overflowed);
        if (block->state == AP_BLOCK_ALLOCATED)
            add(ret_live, block->requested_bytes, overflowed);
    }
    return known;
}

/* The segments of each device, and what its curves come to at the end. */
static void take_segments(struct ap_replay *replay, bool *overflowed)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    for (uint32_t i = 0; i < replay->device_count; i++)
        replay->devices[i].requested.known = replay->devices[i].reserved.known = replay->devices[i].live_end_known =
            snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS;
    for (uint32_t i = snapshot->segment_count; i-- > 0;) { /* so that the lists are in the order of the file */
        const struct ap_segment *segment = &snapshot->segments[i];
        replay->next_segment[i] = AP_NO_ENTRY;
        if (!(segment->has & AP_SEGMENT_HAS_DEVICE) || segment->device < 0 ||
            (uint32_t)segment->device >= replay->device_count)
            continue;
        struct ap_replay_device *device = &replay->devices[segment->device];
        replay->next_segment[i] = device->first_segment;
        device->first_segment = i;
        int64_t active_bytes, live_bytes;
        bool from_blocks = sum_blocks(snapshot, segment, &active_bytes, &live_bytes, overflowed);
        bool from_field = segment->has & AP_SEGMENT_HAS_REQUESTED;
        add(&device->requested.end_bytes, from_field ? segment->requested_bytes : active_bytes, overflowed);
        add(&device->reserved.end_bytes, segment->total_bytes, overflowed);
        add(&device->live_end_bytes, live_bytes, overflowed);
        device->live_end_known = device->live_end_known && from_blocks;
        device->requested.known = device->requested.known && (from_field || from_blocks);
        device->reserved.known = device->reserved.known && (segment->has & AP_SEGMENT_HAS_TOTAL);
    }
    for (uint32_t i = 0; i < replay->device_count; i++) {
        struct ap_replay_device *device = &replay->devices[i];
        device->active = device->requested;
        if (device->live_end_known && device->requested.known)
            device->offset_bytes = ap_add_sat(device->requested.end_bytes, negative(device->live_end_bytes), overflowed);
    }
}

/* A power of two or of ten, or one of these times 2 or 5, from 1,000 on. */
static bool is_usual_ring(uint32_t entries)
{
    if (entries < 1000)
        return false;
    if ((entries & (entries - 1)) == 0)
        return true;
    while (entries % 10 == 0)
        entries /= 10;
    return entries == 1 || entries == 2 || entries == 5;
}

static void judge_begin(const struct ap_replay *replay, struct ap_replay_device *device, bool *overflowed)
{
    for (unsigned i = 0; i < AP_REPLAY_ODD_COUNT_; i++)
        device->inconsistencies += device->odd[i];
    for (uint32_t i = 0; i < device->lifetime_count; i++)
        device->lived_before += replay->lifetimes[device->first_lifetime + i].alloc == AP_NO_ENTRY;
    device->starts_live = device->lived_before || (device->requested.known && in_use_at_start(device, overflowed) != 0);
    if (device->entry_count < 2) {
        device->begin = device->entry_count ? AP_BEGIN_SINGLE : AP_BEGIN_NOTHING;
        return;
    }
    bool live = device->starts_live;
    device->begin = live ? AP_BEGIN_MID_RUN : AP_BEGIN_EMPTY;
    uint32_t first = replay->lifetime_of[device->first_entry];
    bool frees_first = first != AP_NO_LIFETIME && replay->lifetimes[first].alloc == AP_NO_ENTRY;
    device->ring_was_full = live && (frees_first || is_usual_ring(device->entry_count));
}

static enum ap_status allocate(struct ap_replay *replay, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    size_t devices = snapshot->history_count, entries = snapshot->actions.count, blocks = snapshot->block_count;
    size_t segments = snapshot->segment_count;
    if (devices)
        replay->devices = ap_mem_resize(replay->gate, NULL, 0, devices * sizeof(*replay->devices));
    if (entries)
        replay->lifetime_of = ap_mem_resize(replay->gate, NULL, 0, entries * sizeof(*replay->lifetime_of));
    if (blocks)
        replay->block_segment = ap_mem_resize(replay->gate, NULL, 0, blocks * sizeof(*replay->block_segment));
    if (segments)
        replay->next_segment = ap_mem_resize(replay->gate, NULL, 0, segments * sizeof(*replay->next_segment));
    if ((devices && !replay->devices) || (entries && !replay->lifetime_of) || (blocks && !replay->block_segment) ||
        (segments && !replay->next_segment))
        return ap_fail_memory(replay->gate, reterr);
    replay->device_count = snapshot->history_count;
    for (uint32_t i = 0; i < replay->device_count; i++)
        replay->devices[i] = (struct ap_replay_device){ .first_entry = snapshot->histories[i].first_action,
                                                        .entry_count = snapshot->histories[i].action_count,
                                                        .first_segment = AP_NO_ENTRY };
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        for (uint32_t j = 0; j < snapshot->segments[i].block_count; j++)
            replay->block_segment[snapshot->segments[i].first_block + j] = i;
    return AP_OK;
}

static enum ap_status fill(struct ap_replay *replay, bool *overflowed, struct ap_error *reterr)
{
    AP_TRY(allocate(replay, reterr));
    take_segments(replay, overflowed);
    for (uint32_t i = 0; i < replay->device_count; i++) {
        AP_TRY(walk_back(replay, i, reterr));
        play(replay, &replay->devices[i], overflowed);
        judge_begin(replay, &replay->devices[i], overflowed);
    }
    return AP_OK;
}

enum ap_status ap_replay_new(const struct ap_snapshot *snapshot, struct ap_gate *gate, bool *overflowed,
                             struct ap_replay **ret_replay, struct ap_error *reterr)
{
    struct ap_replay *replay;
    AP_TRY(AP_ALLOC(gate, replay, 1, reterr));
    *replay = (struct ap_replay){ .gate = gate, .snapshot = snapshot };
    enum ap_status status = fill(replay, overflowed, reterr);
    if (status != AP_OK) {
        ap_replay_free(replay);
        return status;
    }
    *ret_replay = replay;
    return AP_OK;
}

void ap_replay_free(struct ap_replay *replay)
{
    if (!replay)
        return;
    const struct ap_snapshot *snapshot = replay->snapshot;
    AP_FREE(replay->gate, replay->devices, snapshot->history_count);
    AP_FREE(replay->gate, replay->lifetime_of, snapshot->actions.count);
    AP_FREE(replay->gate, replay->block_segment, snapshot->block_count);
    AP_FREE(replay->gate, replay->next_segment, snapshot->segment_count);
    AP_FREE(replay->gate, replay->lifetimes, replay->lifetime_capacity);
    AP_FREE(replay->gate, replay, 1);
}

/* -------------------------------------------------------------------------------------------------------- questions */

/* Of the devices with entries or lifetimes, the last that begins at or before. */
static uint32_t search_device(const struct ap_replay *replay, uint32_t index, bool by_entry)
{
    const struct ap_replay_device *devices = replay->devices;
    size_t behind = 1;
    AP_BISECT(behind, replay->device_count, at, (by_entry ? devices[at].first_entry : devices[at].first_lifetime) <= index);
    return (uint32_t)behind - 1;
}

uint32_t ap_replay_device_of(const struct ap_replay *replay, uint32_t lifetime)
{
    return search_device(replay, lifetime, false);
}

void ap_replay_step(const struct ap_replay *replay, uint32_t entry, struct ap_replay_step *ret_step)
{
    step_of(replay, &replay->devices[search_device(replay, entry, true)], entry, ret_step);
}

int64_t ap_replay_lifetime_bytes(const struct ap_replay *replay, uint32_t lifetime)
{
    const struct ap_lifetime *of = &replay->lifetimes[lifetime];
    const struct ap_actions *actions = &replay->snapshot->actions;
    int64_t bytes = 0;
    if (of->alloc != AP_NO_ENTRY && (actions->has[of->alloc] & AP_ACTION_HAS_SIZE))
        return actions->size_bytes[of->alloc];
    return bytes_at_end(replay, of, &bytes) ? bytes : 0;
}

static void allocation_of_block(const struct ap_replay *replay, uint32_t block_index, struct ap_allocation *to)
{
    const struct ap_block *block = &replay->snapshot->blocks[block_index];
    const struct ap_segment *segment = &replay->snapshot->segments[replay->block_segment[block_index]];
    to->address = block->address;
    to->has_address = block->has & AP_BLOCK_HAS_ADDRESS;
    to->block_bytes = block->size_bytes;
    to->stack = block->stack;
    to->stream = segment->stream;
    to->has_stream = segment->has & AP_SEGMENT_HAS_STREAM;
    to->pool[0] = segment->pool[0];
    to->pool[1] = segment->pool[1];
    to->has_pool = segment->has & AP_SEGMENT_HAS_POOL;
}

static void allocation_of_entry(const struct ap_snapshot *snapshot, uint32_t entry, struct ap_allocation *to)
{
    const struct ap_origin *origin = &snapshot->origins[snapshot->actions.origin[entry]];
    if (!to->has_address) {
        to->address = snapshot->actions.address[entry];
        to->has_address = snapshot->actions.has[entry] & AP_ACTION_HAS_ADDRESS;
    }
    if (!to->has_stream) {
        to->stream = origin->stream;
        to->has_stream = origin->has & AP_ORIGIN_HAS_STREAM;
    }
    if (!to->has_pool && (origin->has & AP_ORIGIN_HAS_POOL)) {
        to->pool[0] = origin->pool[0];
        to->pool[1] = origin->pool[1];
        to->has_pool = true;
    }
}

void ap_replay_allocation(const struct ap_replay *replay, uint32_t lifetime, struct ap_allocation *ret_allocation)
{
    const struct ap_snapshot *snapshot = replay->snapshot;
    const struct ap_lifetime *of = &replay->lifetimes[lifetime];
    struct ap_allocation to = { .device = ap_replay_device_of(replay, lifetime),
                                .alloc = of->alloc,
                                .free_requested = of->free_requested,
                                .free_completed = of->free_completed };
    uint32_t last = of->free_requested != AP_NO_ENTRY ? of->free_requested : of->free_completed;
    int64_t bytes;
    if (of->block != AP_NO_ENTRY)
        allocation_of_block(replay, of->block, &to);
    if (of->alloc != AP_NO_ENTRY) {
        allocation_of_entry(snapshot, of->alloc, &to);
        to.stack = snapshot->actions.stack[of->alloc] ? snapshot->actions.stack[of->alloc] : to.stack;
        to.has_requested = snapshot->actions.has[of->alloc] & AP_ACTION_HAS_SIZE;
    }
    if (last != AP_NO_ENTRY)
        allocation_of_entry(snapshot, last, &to);
    to.requested_bytes = ap_replay_lifetime_bytes(replay, lifetime);
    to.has_requested = to.has_requested || bytes_at_end(replay, of, &bytes);
    *ret_allocation = to;
}

bool ap_replay_is_live(const struct ap_replay *replay, uint32_t device, uint32_t lifetime, uint32_t position,
                       enum ap_live which)
{
    const struct ap_lifetime *of = &replay->lifetimes[lifetime];
    uint32_t first_entry = replay->devices[device].first_entry;
    uint32_t requested = of->free_requested, completed = of->free_completed, end;
    bool pending = is_pending(replay, of);
    if (was_lost(of) || (of->alloc != AP_NO_ENTRY && of->alloc - first_entry >= position))
        return false;
    if (which == AP_LIVE_REQUESTED) {
        if (pending && requested == AP_NO_ENTRY)
            return false; /* it was given back before the history began */
        end = requested != AP_NO_ENTRY ? requested : completed;
    } else {
        end = completed != AP_NO_ENTRY || pending ? completed : requested;
    }
    return end == AP_NO_ENTRY || end - first_entry >= position;
}

enum ap_status ap_replay_live_at(const struct ap_replay *replay, uint32_t device, uint32_t position, enum ap_live which,
                                 uint32_t **ret_list, uint32_t *ret_count, struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    uint32_t count = 0, *list;
    for (uint32_t i = 0; i < of->lifetime_count; i++)
        count += ap_replay_is_live(replay, device, of->first_lifetime + i, position, which);
    *ret_list = NULL;
    *ret_count = count;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(replay->gate, list, count, reterr));
    *ret_list = list;
    for (uint32_t i = 0; i < of->lifetime_count; i++)
        if (ap_replay_is_live(replay, device, of->first_lifetime + i, position, which))
            *list++ = of->first_lifetime + i;
    return AP_OK;
}
