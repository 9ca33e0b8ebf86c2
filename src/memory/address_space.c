/* SPDX-License-Identifier: MIT */
#include "address_space.h"

#include <string.h>

#include "sort.h"

#include "poison.h"

#define MIB ((uint64_t)1 << 20)
#define NOT_SPLIT_BYTES MIB /* a remainder up to this stays with a block of the large pool */
#define ROUNDING_BYTES 512u

/* A range that an entry behind the position, or the final state, says something about. The earlier one decides: the first
 * entry behind the position tells what was before it. */
struct claim {
    uint64_t address, end;
    uint64_t stream;
    int64_t pool[2];
    bool held; /* it was the allocator's at the position */
    bool expandable, small;
};

struct claims {
    struct ap_gate *gate;
    struct claim *list;
    size_t capacity;
    uint32_t count;
};

static enum ap_status add_claim(struct claims *claims, const struct claim *claim, struct ap_error *reterr)
{
    if (claim->end <= claim->address)
        return AP_OK;
    AP_TRY_ADD(claims->gate, claims->list, claims->count, claims->capacity, reterr, *claim);
    return AP_OK;
}

static uint64_t end_of(uint64_t address, int64_t bytes)
{
    uint64_t size = bytes > 0 ? (uint64_t)bytes : 0;
    return size > UINT64_MAX - address ? UINT64_MAX : address + size;
}

static enum ap_status claim_of_entry(struct claims *claims, const struct ap_snapshot *snapshot, uint32_t entry,
                                     struct ap_error *reterr)
{
    const struct ap_actions *actions = &snapshot->actions;
    const struct ap_origin *origin = &snapshot->origins[actions->origin[entry]];
    uint32_t name = actions->name[entry].id;
    if (name < AP_ACTION_SEGMENT_ALLOC || name > AP_ACTION_SEGMENT_UNMAP || !(actions->has[entry] & AP_ACTION_HAS_ADDRESS))
        return AP_OK;
    struct claim claim = {
        .address = actions->address[entry],
        .end = end_of(actions->address[entry], actions->size_bytes[entry]),
        .stream = origin->stream,
        .pool = { origin->pool[0], origin->pool[1] },
        .held = name == AP_ACTION_SEGMENT_FREE || name == AP_ACTION_SEGMENT_UNMAP,
        .expandable = name == AP_ACTION_SEGMENT_MAP || name == AP_ACTION_SEGMENT_UNMAP,
        .small = actions->size_bytes[entry] == (int64_t)(2 * MIB), /* no segment of the large pool is so small */
    };
    return add_claim(claims, &claim, reterr);
}

static enum ap_status claim_of_segment(struct claims *claims, const struct ap_segment *segment, struct ap_error *reterr)
{
    if (!(segment->has & AP_SEGMENT_HAS_ADDRESS))
        return AP_OK;
    struct claim claim = {
        .address = segment->address,
        .end = end_of(segment->address, segment->total_bytes),
        .stream = segment->stream,
        .pool = { segment->pool[0], segment->pool[1] },
        .held = true,
        .expandable = segment->expandable,
        .small = segment->type.id == AP_TYPE_SMALL,
    };
    return add_claim(claims, &claim, reterr);
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Cells between neighboring ends of claims. Each is painted by the first claim that covers it. */
struct cells {
    uint64_t *bounds;
    uint32_t *next;  /* the first cell from here on that is not painted, by path compression */
    uint32_t *owner; /* claim, or UINT32_MAX */
    uint32_t count;
};

static uint32_t unpainted(struct cells *cells, uint32_t cell)
{
    uint32_t root = cell;
    while (cells->next[root] != root)
        root = cells->next[root];
    while (cells->next[cell] != root) {
        uint32_t following = cells->next[cell];
        cells->next[cell] = root;
        cell = following;
    }
    return root;
}

static uint32_t cell_of(const struct cells *cells, uint64_t address)
{
    size_t low = 0;
    AP_BISECT(low, cells->count, at, cells->bounds[at] < address);
    return (uint32_t)low;
}

static void paint(struct cells *cells, const struct claims *claims)
{
    uint64_t *to = cells->bounds;
    for (uint32_t i = 0; i < claims->count; i++) {
        *to++ = claims->list[i].address;
        *to++ = claims->list[i].end;
    }
    ap_sort(cells->bounds, (size_t)claims->count * 2, sizeof(*cells->bounds), by_number);
    cells->count = 0;
    for (uint32_t i = 0; i < claims->count * 2; i++)
        if (!cells->count || cells->bounds[cells->count - 1] != cells->bounds[i])
            cells->bounds[cells->count++] = cells->bounds[i];
    for (uint32_t i = 0; i < cells->count; i++) {
        cells->next[i] = i;
        cells->owner[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < claims->count; i++) {
        uint32_t end = cell_of(cells, claims->list[i].end);
        for (uint32_t cell = unpainted(cells, cell_of(cells, claims->list[i].address)); cell < end;
             cell = unpainted(cells, cell)) {
            cells->owner[cell] = i;
            cells->next[cell] = cell + 1; /* the last cell is the end of a claim: never painted */
        }
    }
}

/* Parts of an expandable segment that were mapped one after the other are one; cudaMalloc regions stay apart. */
static bool goes_on(const struct ap_space_segment *segment, const struct claim *claim, bool same_claim, uint64_t address)
{
    if (segment->end != address)
        return false;
    return same_claim ||
           (segment->expandable && claim->expandable && segment->stream == claim->stream && segment->small == claim->small);
}

static enum ap_status take_segments(struct ap_space *space, const struct claims *claims, const struct cells *cells,
                                    struct ap_error *reterr)
{
    uint32_t last_owner = UINT32_MAX;
    for (uint32_t cell = 0; cell + 1 < cells->count; cell++) {
        uint32_t owner = cells->owner[cell];
        if (owner == UINT32_MAX || !claims->list[owner].held)
            continue;
        const struct claim *claim = &claims->list[owner];
        struct ap_space_segment *last = space->segment_count ? &space->segments[space->segment_count - 1] : NULL;
        if (last && goes_on(last, claim, owner == last_owner, cells->bounds[cell])) {
            last->end = cells->bounds[cell + 1];
        } else {
            AP_TRY_ADD(space->gate, space->segments, space->segment_count, space->segment_capacity, reterr,
                       (struct ap_space_segment){
                           .address = cells->bounds[cell],
                           .end = cells->bounds[cell + 1],
                           .stream = claim->stream,
                           .pool = { claim->pool[0], claim->pool[1] },
                           .expandable = claim->expandable,
                           .small = claim->small,
                       });
        }
        last_owner = owner;
    }
    return AP_OK;
}

static enum ap_status find_segments(struct ap_space *space, const struct claims *claims, struct ap_error *reterr)
{
    size_t ends = (size_t)claims->count * 2, bytes = ends * (sizeof(uint64_t) + 2 * sizeof(uint32_t));
    if (!claims->count)
        return AP_OK;
    if (claims->count > UINT32_MAX / 4)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than a billion segment entries: record a shorter history");
    void *memory = ap_mem_resize(space->gate, NULL, 0, bytes);
    if (!memory)
        return ap_fail_memory(space->gate, reterr);
    struct cells cells = { .bounds = memory };
    cells.next = (uint32_t *)(void *)(cells.bounds + ends);
    cells.owner = cells.next + ends;
    paint(&cells, claims);
    enum ap_status status = take_segments(space, claims, &cells, reterr);
    ap_mem_free(space->gate, memory, bytes);
    return status;
}

static enum ap_status collect_claims(const struct ap_replay *replay, uint32_t device, uint32_t position,
                                     struct claims *claims, struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    for (uint32_t i = position; i < of->entry_count; i++)
        AP_TRY(claim_of_entry(claims, replay->snapshot, of->first_entry + i, reterr));
    for (uint32_t i = of->first_segment; i != AP_NO_ENTRY; i = replay->next_segment[i])
        AP_TRY(claim_of_segment(claims, &replay->snapshot->segments[i], reterr));
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- blocks */

static uint64_t rounded(int64_t bytes)
{
    uint64_t size = bytes > 0 ? (uint64_t)bytes : 1;
    return (size + ROUNDING_BYTES - 1) / ROUNDING_BYTES * ROUNDING_BYTES;
}

static enum ap_status add_used(struct ap_space *space, const struct ap_replay *replay, uint32_t lifetime,
                               struct ap_error *reterr)
{
    struct ap_allocation allocation;
    ap_replay_allocation(replay, lifetime, &allocation);
    if (!allocation.has_address) {
        space->stray_count++;
        return AP_OK;
    }
    uint64_t bytes = allocation.block_bytes > 0 ? (uint64_t)allocation.block_bytes : rounded(allocation.requested_bytes);
    AP_TRY(AP_RESERVE(space->gate, space->used, space->used_capacity, (size_t)space->used_count + 1, reterr));
    space->used[space->used_count++] =
        (struct ap_space_block){ allocation.address,
                                 end_of(allocation.address, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes), lifetime };
    return AP_OK;
}

static int by_address(const void *left, const void *right)
{
    const struct ap_space_block *a = left, *b = right;
    AP_BY_SMALLER(a->address, b->address);
    return a->lifetime < b->lifetime ? -1 : a->lifetime > b->lifetime;
}

/* Give each segment its blocks; those that fit nowhere are dropped. */
static void assign(struct ap_space *space)
{
    uint32_t kept = 0, at = 0;
    for (uint32_t i = 0; i < space->segment_count; i++) {
        struct ap_space_segment *segment = &space->segments[i];
        uint64_t free_from = segment->address;
        segment->first_used = kept;
        for (; at < space->used_count && space->used[at].address < segment->end; at++) {
            if (space->used[at].address < free_from) {
                space->stray_count++;
                continue;
            }
            space->used[kept] = space->used[at];
            if (space->used[kept].end > segment->end)
                space->used[kept].end = segment->end;
            free_from = space->used[kept++].end;
        }
        segment->used_count = kept - segment->first_used;
    }
    space->stray_count += space->used_count - at;
    space->used_count = kept;
}

/* What the allocator would not have split off belongs to the block. */
static void stretch_blocks(struct ap_space *space, const struct ap_replay *replay)
{
    for (uint32_t i = 0; i < space->segment_count; i++) {
        const struct ap_space_segment *segment = &space->segments[i];
        for (uint32_t j = 0; j < segment->used_count; j++) {
            struct ap_space_block *block = &space->used[segment->first_used + j];
            uint64_t hole = ap_space_hole(space, segment, j);
            bool gone = replay->lifetimes[block->lifetime].block == AP_NO_ENTRY;
            if (gone && !segment->small && !segment->expandable && hole <= NOT_SPLIT_BYTES)
                block->end += hole;
        }
    }
}

uint64_t ap_space_hole(const struct ap_space *space, const struct ap_space_segment *segment, int64_t index)
{
    const struct ap_space_block *used = segment->used_count ? space->used + segment->first_used : NULL;
    uint64_t from = index < 0 ? segment->address : used[index].end;
    uint64_t to = index + 1 < (int64_t)segment->used_count ? used[index + 1].address : segment->end;
    return to > from ? to - from : 0;
}

static enum ap_status fill(struct ap_space *space, const struct ap_replay *replay, uint32_t device, uint32_t position,
                           struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    struct claims claims = { .gate = space->gate };
    enum ap_status status = collect_claims(replay, device, position, &claims, reterr);
    AP_AND_THEN(status, find_segments(space, &claims, reterr));
    AP_FREE(space->gate, claims.list, claims.capacity);
    AP_TRY(status);
    for (uint32_t i = 0; i < of->lifetime_count; i++)
        if (ap_replay_is_live(replay, device, of->first_lifetime + i, position, AP_LIVE_ACTIVE))
            AP_TRY(add_used(space, replay, of->first_lifetime + i, reterr));
    ap_sort(space->used, space->used_count, sizeof(*space->used), by_address);
    assign(space);
    stretch_blocks(space, replay);
    return AP_OK;
}

enum ap_status ap_space_at(const struct ap_replay *replay, uint32_t device, uint32_t position, struct ap_space *ret_space,
                           struct ap_error *reterr)
{
    struct ap_space space = { .gate = replay->gate };
    enum ap_status status = fill(&space, replay, device, position, reterr);
    if (status != AP_OK) {
        ap_space_release(&space);
        return status;
    }
    *ret_space = space;
    return AP_OK;
}

void ap_space_release(struct ap_space *space)
{
    AP_FREE(space->gate, space->segments, space->segment_capacity);
    AP_FREE(space->gate, space->used, space->used_capacity);
    *space = (struct ap_space){ .gate = space->gate };
}
