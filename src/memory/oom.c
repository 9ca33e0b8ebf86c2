/* SPDX-License-Identifier: MIT */
#include "oom.h"

#include "sort.h"

#include "poison.h"

#define MIB ((int64_t)1 << 20)
#define SMALL_REQUEST_BYTES MIB /* up to here the small pool serves */
#define SMALL_SEGMENT_BYTES (2 * MIB)
#define MEDIUM_REQUEST_BYTES (10 * MIB) /* below, a segment of the large pool is 20 MiB */
#define MEDIUM_SEGMENT_BYTES (20 * MIB)
#define SEGMENT_STEP_BYTES (2 * MIB)
#define HUGE_REQUEST_RATIO 0.5
#define FULL_RATIO 0.9
#define OURS_RATIO 0.8
#define OTHERS_RATIO 0.5 /* below it others have most: what is left comes in pieces soon */

const char *ap_oom_verdict_name(enum ap_oom_verdict verdict)
{
    static const char *const names[] = {
        [AP_OOM_ONE_HUGE_REQUEST] = "one_huge_request",
        [AP_OOM_EXTERNAL_FRAGMENTATION] = "external_fragmentation",
        [AP_OOM_PRIVATE_POOLS] = "private_pools",
        [AP_OOM_OTHER_USERS] = "other_users",
        [AP_OOM_TRULY_FULL] = "truly_full",
        [AP_OOM_UNKNOWN] = "unknown",
    };
    return names[verdict];
}

/* What the allocator asks the device for to serve a request. */
static int64_t segment_bytes(int64_t request_bytes)
{
    if (request_bytes <= SMALL_REQUEST_BYTES)
        return SMALL_SEGMENT_BYTES;
    if (request_bytes < MEDIUM_REQUEST_BYTES)
        return MEDIUM_SEGMENT_BYTES;
    if (request_bytes > INT64_MAX - SEGMENT_STEP_BYTES)
        return INT64_MAX;
    return (request_bytes + SEGMENT_STEP_BYTES - 1) / SEGMENT_STEP_BYTES * SEGMENT_STEP_BYTES;
}

int64_t ap_room_at_oom(int64_t request_bytes, int64_t device_free_bytes)
{
    return device_free_bytes >= segment_bytes(request_bytes) ? 0 : device_free_bytes;
}

static int64_t as_bytes(uint64_t bytes)
{
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

static void add(int64_t *sum, int64_t bytes)
{
    bool overflowed = false;
    *sum = ap_add_sat(*sum, bytes, &overflowed);
}

static int64_t together(int64_t a, int64_t b)
{
    add(&a, b);
    return a;
}

/* ----------------------------------------------------------------------------------------------------------- figures */

/* At the failure, and the most before it. */
static void take_reserved(struct ap_oom *oom, const struct ap_replay *replay, const struct ap_replay_device *device)
{
    struct ap_replay_step step;
    oom->reserved_bytes = device->reserved.end_bytes;
    for (uint32_t entry = oom->entry + 1; entry < device->first_entry + device->entry_count; entry++) {
        ap_replay_step(replay, entry, &step);
        add(&oom->reserved_bytes, step.reserved_bytes == INT64_MIN ? INT64_MAX : -step.reserved_bytes);
    }
    int64_t before_bytes = oom->once_reserved_bytes = oom->reserved_bytes;
    for (uint32_t entry = oom->entry; entry-- > device->first_entry && device->reserved.known;) {
        ap_replay_step(replay, entry, &step);
        add(&before_bytes, step.reserved_bytes == INT64_MIN ? INT64_MAX : -step.reserved_bytes);
        if (before_bytes > oom->once_reserved_bytes)
            oom->once_reserved_bytes = before_bytes;
    }
}

static void take_entry(struct ap_oom *oom, const struct ap_replay *replay, int64_t total_bytes)
{
    const struct ap_actions *actions = &replay->snapshot->actions;
    const struct ap_replay_device *device = &replay->devices[oom->device];
    oom->has_request = actions->has[oom->entry] & AP_ACTION_HAS_SIZE;
    oom->request_bytes = actions->size_bytes[oom->entry];
    oom->has_device_free = (actions->has[oom->entry] & AP_ACTION_HAS_ADDRESS) && actions->address[oom->entry] <= INT64_MAX;
    if (oom->has_device_free)
        oom->device_free_bytes = (int64_t)actions->address[oom->entry];
    oom->room_bytes = oom->has_request ? ap_room_at_oom(oom->request_bytes, oom->device_free_bytes) : oom->device_free_bytes;
    oom->limited = oom->has_device_free && oom->room_bytes < oom->device_free_bytes;
    take_reserved(oom, replay, device);
    oom->capacity_is_total = total_bytes > 0;
    oom->has_capacity = oom->capacity_is_total || (oom->has_device_free && device->reserved.known);
    oom->capacity_bytes = oom->capacity_is_total ? total_bytes : together(oom->reserved_bytes, oom->room_bytes);
}

/* Would the allocator look into this segment? Stream and pool must be the request's, where they are known. */
static bool is_usable(const struct ap_oom *oom, const struct ap_replay *replay, const struct ap_space_segment *segment)
{
    const struct ap_origin *origin = &replay->snapshot->origins[replay->snapshot->actions.origin[oom->entry]];
    if ((origin->has & AP_ORIGIN_HAS_STREAM) && segment->stream != origin->stream)
        return false;
    return segment->pool[0] == origin->pool[0] && segment->pool[1] == origin->pool[1];
}

static bool right_size(const struct ap_oom *oom, const struct ap_space_segment *segment)
{
    return segment->small == (oom->request_bytes <= SMALL_REQUEST_BYTES);
}

static void add_segment(struct ap_oom *oom, const struct ap_space_segment *segment, bool usable)
{
    for (int64_t i = -1; i < (int64_t)segment->used_count; i++) {
        int64_t hole = as_bytes(ap_space_hole(&oom->space, segment, i));
        if (i >= 0) {
            const struct ap_space_block *block = &oom->space.used[segment->first_used + i];
            add(&oom->active_bytes, as_bytes(block->end - block->address));
        }
        add(&oom->inactive_bytes, hole);
        add(usable ? &oom->usable_bytes : &oom->elsewhere_bytes, hole);
        if (usable && right_size(oom, segment) && hole > oom->largest_hole_bytes)
            oom->largest_hole_bytes = hole;
    }
}

static void take_space(struct ap_oom *oom, const struct ap_replay *replay)
{
    for (uint32_t i = 0; i < oom->space.segment_count; i++)
        add_segment(oom, &oom->space.segments[i], is_usable(oom, replay, &oom->space.segments[i]));
    oom->has_space = oom->space.segment_count && oom->space.used_count;
    oom->consistent = oom->has_space && !oom->space.stray_count && !replay->devices[oom->device].inconsistencies &&
                      together(oom->active_bytes, oom->inactive_bytes) == oom->reserved_bytes;
}

/* ----------------------------------------------------------------------------------------------------------- verdict */

/* With the request more would have been in use than ever before, of a history that is whole. Then no earlier step had room
 * for what this one wants, however it lay. */
static bool is_most_ever(const struct ap_oom *oom, const struct ap_replay *replay)
{
    const struct ap_replay_device *device = &replay->devices[oom->device];
    int64_t most_bytes = 0, bytes = 0; /* beside what is in use at the failure */
    for (uint32_t entry = oom->entry; entry-- > device->first_entry;) {
        struct ap_replay_step step;
        ap_replay_step(replay, entry, &step);
        add(&bytes, step.requested_bytes == INT64_MIN ? INT64_MAX : -step.requested_bytes);
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    return device->begin == AP_BEGIN_EMPTY && device->requested.known && most_bytes < oom->request_bytes;
}

static void judge(struct ap_oom *oom, const struct ap_replay *replay)
{
    /* Under a limit that is not told: what it had before at least. */
    int64_t spare = oom->limited ? oom->once_reserved_bytes - oom->reserved_bytes : 0;
    int64_t room = spare > oom->room_bytes ? spare : oom->room_bytes;
    double request = (double)oom->request_bytes, all = (double)together(oom->reserved_bytes, oom->device_free_bytes);
    double ours = (double)together(oom->reserved_bytes, room);
    double capacity = oom->limited ? ours + request : (double)oom->capacity_bytes; /* the limit is not told: at most this */
    bool space = oom->has_request && oom->has_space, free_known = oom->has_device_free;
    bool no_room = segment_bytes(oom->request_bytes) > oom->room_bytes || !free_known;
    bool in_pieces = space && no_room && oom->request_bytes > oom->largest_hole_bytes;
    int64_t everywhere = together(oom->inactive_bytes, room);
    bool full = oom->has_space && free_known && (double)oom->active_bytes >= FULL_RATIO * ours;
    /* The pieces together would have held this request and no second one, and what is in use has yet to fall. */
    bool fills = space && free_known && (double)oom->active_bytes + request >= FULL_RATIO * ours &&
                 everywhere - oom->request_bytes < oom->request_bytes && is_most_ever(oom, replay);
    full = full || fills;
    bool *signs = oom->signs;
    signs[AP_OOM_ONE_HUGE_REQUEST] = oom->has_request && oom->has_capacity && request >= HUGE_REQUEST_RATIO * capacity;
    signs[AP_OOM_EXTERNAL_FRAGMENTATION] = in_pieces && oom->request_bytes <= oom->usable_bytes;
    signs[AP_OOM_PRIVATE_POOLS] =
        in_pieces && oom->request_bytes > oom->usable_bytes && oom->request_bytes <= oom->inactive_bytes;
    double least = (double)(oom->capacity_is_total ? oom->capacity_bytes : oom->once_reserved_bytes); /* of the device */
    signs[AP_OOM_OTHER_USERS] = free_known && all < OURS_RATIO * least;
    signs[AP_OOM_TRULY_FULL] = full;
    if (space && free_known && !full && oom->request_bytes > everywhere)
        signs[AP_OOM_TRULY_FULL] = true;
    else if (in_pieces && free_known && !full && !signs[AP_OOM_PRIVATE_POOLS])
        signs[AP_OOM_EXTERNAL_FRAGMENTATION] = true;
    /* However large the request: in one piece what is free would have done. */
    oom->verdict = signs[AP_OOM_EXTERNAL_FRAGMENTATION] ? AP_OOM_TRULY_FULL : AP_OOM_ONE_HUGE_REQUEST;
    while (oom->verdict < AP_OOM_UNKNOWN && !signs[oom->verdict])
        oom->verdict++;
    /* What the allocator had in this history and has no longer is a change, whatever pieces it has left. */
    bool mostly_others = signs[AP_OOM_OTHER_USERS] && (!oom->capacity_is_total || all < OTHERS_RATIO * least);
    if (oom->verdict != AP_OOM_ONE_HUGE_REQUEST &&
        (mostly_others || (signs[AP_OOM_OTHER_USERS] && signs[AP_OOM_TRULY_FULL])))
        oom->verdict = AP_OOM_OTHER_USERS;
}

/* ----------------------------------------------------------------------------------------------- what to give back */

struct release {
    struct ap_gate *gate;
    const struct ap_replay *replay;
    uint32_t *list;
    size_t capacity;
    uint32_t count;
    int64_t bytes;
};

static enum ap_status add_released(struct release *release, uint32_t lifetime, struct ap_error *reterr)
{
    AP_TRY_ADD(release->gate, release->list, release->count, release->capacity, reterr, lifetime);
    add(&release->bytes, ap_replay_lifetime_bytes(release->replay, lifetime));
    return AP_OK;
}

static void drop(struct release *release)
{
    AP_FREE(release->gate, release->list, release->capacity);
}

/* Neighbors in one segment: from block @first on, @count of them. */
struct window {
    const struct ap_space_segment *segment;
    uint32_t first, count;
    int64_t bytes;
};

static uint64_t window_span(const struct ap_space *space, const struct ap_space_segment *segment, uint32_t first,
                            uint32_t end)
{
    const struct ap_space_block *used = space->used + segment->first_used;
    uint64_t from = first ? used[first - 1].end : segment->address;
    uint64_t to = end < segment->used_count ? used[end].address : segment->end;
    return to > from ? to - from : 0;
}

static void search_segment(const struct ap_oom *oom, const struct ap_space_segment *segment, struct window *best)
{
    const struct ap_space_block *used = oom->space.used + segment->first_used;
    int64_t bytes = 0;
    for (uint32_t first = 0, end = 0; first < segment->used_count; first++) {
        while (end < segment->used_count &&
               (end <= first || as_bytes(window_span(&oom->space, segment, first, end)) < oom->request_bytes)) {
            add(&bytes, as_bytes(used[end].end - used[end].address));
            end++;
        }
        if (as_bytes(window_span(&oom->space, segment, first, end)) < oom->request_bytes)
            return; /* nor will any later window reach so far */
        if (!best->segment || end - first < best->count || (end - first == best->count && bytes < best->bytes))
            *best = (struct window){ segment, first, end - first, bytes };
        bytes -= as_bytes(used[first].end - used[first].address);
    }
}

static enum ap_status release_one_hole(const struct ap_oom *oom, struct release *release, bool *ret_found,
                                       struct ap_error *reterr)
{
    struct window best = { .segment = NULL };
    for (uint32_t i = 0; i < oom->space.segment_count; i++) {
        const struct ap_space_segment *segment = &oom->space.segments[i];
        if (is_usable(oom, release->replay, segment) && right_size(oom, segment))
            search_segment(oom, segment, &best);
    }
    *ret_found = best.segment;
    for (uint32_t i = 0; i < best.count; i++)
        AP_TRY(add_released(release, oom->space.used[best.segment->first_used + best.first + i].lifetime, reterr));
    return AP_OK;
}

/* Something that goes back to the device once its blocks are released. */
struct returnable {
    int64_t bytes;
    uint32_t first_used, count;
};

static int most_bytes_a_block_first(const void *left, const void *right)
{
    const struct returnable *a = left, *b = right;
    double a_value = (double)a->bytes * b->count, b_value = (double)b->bytes * a->count;
    if (a_value < b_value || a_value > b_value)
        return a_value > b_value ? -1 : 1;
    AP_BY_LARGER(a->bytes, b->bytes);
    return a->first_used < b->first_used ? -1 : a->first_used > b->first_used;
}

/* A segment goes back whole; of an expandable one the pages that lie within the block. A private pool keeps what it has. */
static uint32_t list_returnables(const struct ap_space *space, struct returnable *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->segment_count; i++) {
        const struct ap_space_segment *segment = &space->segments[i];
        if (segment->pool[0] || segment->pool[1])
            continue;
        if (!segment->expandable) {
            list[count++] =
                (struct returnable){ as_bytes(segment->end - segment->address), segment->first_used, segment->used_count };
            continue;
        }
        for (uint32_t j = 0; j < segment->used_count; j++) {
            const struct ap_space_block *block = &space->used[segment->first_used + j];
            int64_t page_bytes = segment->small ? SMALL_SEGMENT_BYTES : MEDIUM_SEGMENT_BYTES;
            int64_t bytes = as_bytes(block->end - block->address) / page_bytes * page_bytes;
            list[count++] = (struct returnable){ bytes, segment->first_used + j, 1 };
        }
    }
    return count;
}

static enum ap_status take_returnables(const struct ap_oom *oom, struct release *release, struct returnable *list,
                                       bool *ret_found, struct ap_error *reterr)
{
    uint32_t count = list_returnables(&oom->space, list);
    int64_t missing = segment_bytes(oom->request_bytes) - oom->room_bytes;
    ap_sort(list, count, sizeof(*list), most_bytes_a_block_first);
    for (uint32_t i = 0; i < count && missing > 0; i++) {
        for (uint32_t j = 0; j < list[i].count; j++)
            AP_TRY(add_released(release, oom->space.used[list[i].first_used + j].lifetime, reterr));
        missing -= list[i].bytes < missing ? list[i].bytes : missing;
    }
    *ret_found = missing <= 0;
    return AP_OK;
}

static enum ap_status release_segments(const struct ap_oom *oom, struct release *release, bool *ret_found,
                                       struct ap_error *reterr)
{
    size_t count = (size_t)oom->space.segment_count + oom->space.used_count;
    struct returnable *list;
    *ret_found = false;
    if (!oom->has_device_free || !count)
        return AP_OK;
    AP_TRY(AP_ALLOC(release->gate, list, count, reterr));
    enum ap_status status = take_returnables(oom, release, list, ret_found, reterr);
    AP_FREE(release->gate, list, count);
    return status;
}

struct ranked {
    int64_t bytes;
    uint32_t lifetime;
};

static int largest_first(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    AP_BY_LARGER(a->bytes, b->bytes);
    return a->lifetime < b->lifetime ? -1 : a->lifetime > b->lifetime;
}

/* The list is handed to the oom, in order of size and without spare room. */
static enum ap_status keep(struct ap_oom *oom, const struct release *release, enum ap_oom_release how,
                           struct ap_error *reterr)
{
    size_t count = release->count, bytes = count * sizeof(struct ranked);
    oom->release = how;
    if (!count)
        return AP_OK;
    struct ranked *ranked = ap_mem_resize(release->gate, NULL, 0, bytes);
    uint32_t *list = ap_mem_resize(release->gate, NULL, 0, count * sizeof(*list));
    if (ranked && list) {
        for (uint32_t i = 0; i < count; i++)
            ranked[i] = (struct ranked){ ap_replay_lifetime_bytes(release->replay, release->list[i]), release->list[i] };
        ap_sort(ranked, count, sizeof(*ranked), largest_first);
        for (uint32_t i = 0; i < count; i++)
            list[i] = ranked[i].lifetime;
        oom->released = list;
        oom->released_count = release->count;
        oom->released_bytes = release->bytes;
    } else {
        AP_FREE(release->gate, list, count);
    }
    ap_mem_free(release->gate, ranked, bytes);
    return oom->released ? AP_OK : ap_fail_memory(release->gate, reterr);
}

static enum ap_status choose(struct ap_oom *oom, struct release *hole, struct release *segments, struct ap_error *reterr)
{
    bool has_hole, has_segments;
    AP_TRY(release_one_hole(oom, hole, &has_hole, reterr));
    AP_TRY(release_segments(oom, segments, &has_segments, reterr));
    bool fewer = hole->count < segments->count || (hole->count == segments->count && hole->bytes <= segments->bytes);
    if (has_hole && (!has_segments || fewer))
        return keep(oom, hole, AP_RELEASE_ONE_HOLE, reterr);
    return has_segments ? keep(oom, segments, AP_RELEASE_SEGMENTS, reterr) : AP_OK;
}

static enum ap_status find_release(struct ap_oom *oom, const struct ap_replay *replay, struct ap_error *reterr)
{
    struct release hole = { .gate = replay->gate, .replay = replay }, segments = hole;
    if (!oom->has_request || !oom->has_space || oom->request_bytes <= 0)
        return AP_OK;
    if (oom->largest_hole_bytes >= oom->request_bytes) {
        oom->release = AP_RELEASE_NOTHING;
        return AP_OK;
    }
    enum ap_status status = choose(oom, &hole, &segments, reterr);
    drop(&hole);
    drop(&segments);
    return status;
}

enum ap_status ap_oom_examine(const struct ap_replay *replay, uint32_t device, uint32_t entry, int64_t total_bytes,
                              struct ap_oom *ret_oom, struct ap_error *reterr)
{
    struct ap_oom oom = { .device = device, .entry = entry, .release = AP_RELEASE_UNKNOWN };
    take_entry(&oom, replay, total_bytes);
    AP_TRY(ap_space_at(replay, device, entry - replay->devices[device].first_entry + 1, &oom.space, reterr));
    take_space(&oom, replay);
    judge(&oom, replay);
    enum ap_status status = find_release(&oom, replay, reterr);
    if (status != AP_OK) {
        ap_oom_release(&oom);
        return status;
    }
    *ret_oom = oom;
    return AP_OK;
}

void ap_oom_release(struct ap_oom *oom)
{
    struct ap_gate *gate = oom->space.gate;
    AP_FREE(gate, oom->released, oom->released_count);
    ap_space_release(&oom->space);
    oom->released = NULL;
    oom->released_count = 0;
}
