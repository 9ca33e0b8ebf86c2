/* SPDX-License-Identifier: MIT
 * memory_bands.c - what the curve of a device is made of: allocations of one purpose and one line of the program are a band.
 * The bands that cover most of the curve stand alone, the others are one for each purpose. */
#include <stdio.h>

#include "frame_kind.h"
#include "id_map.h"
#include "pair_map.h"
#include "peak_part.h"
#include "sort.h"

#include "poison.h"

#define MOST_BANDS 12 /* beside the rests */
#define MOST_GROUPS (1u << 16)
#define NO_BAND UINT32_MAX
#define NOT_ASKED UINT32_MAX
#define MOST_ALLOCATIONS 1500u
#define MOST_STACKS 200u /* of them */
#define PACKED_BYTES 120 /* of one at most */

struct band {
    double area;           /* bytes times points */
    int64_t largest_bytes; /* of one allocation */
    int64_t longest_ns;    /* from the first to the last that is known of one */
    uint64_t count;
    uint32_t stack; /* of the largest; 0 = not recorded */
    uint32_t band;  /* of a group: where it is shown */
    uint8_t category;
    bool before, is_rest; /* live before the history; of several lines */
};

struct bands {
    struct ap_peak_part *own;
    const struct ap_replay_device *of;
    const struct ap_curve_point *points;
    uint32_t point_count;
    struct ap_owned_device all;
    struct ap_pair_map map; /* of purpose and line */
    struct band *groups, *shown;
    uint32_t *group_of; /* by place in the list */
    uint32_t *lines;    /* by stack */
    int64_t *bytes;     /* of each shown band at each point, at first what it gains or loses there */
    size_t group_capacity, shown_count;
};

/* The sum of an allocation is in the curve behind its entry, and no more behind that of its end. */
static uint32_t first_point(const struct bands *bands, uint32_t entry)
{
    uint32_t position = entry - bands->of->first_entry + 1;
    size_t point = 0;
    AP_BISECT(point, bands->point_count, at, bands->points[at].position < position);
    return (uint32_t)point;
}

static void span_of(const struct bands *bands, const struct ap_owned *owned, uint32_t *from, uint32_t *to)
{
    *from = owned->alloc == AP_NO_ENTRY ? 0 : first_point(bands, owned->alloc);
    *to = owned->end == AP_NO_ENTRY ? bands->point_count : first_point(bands, owned->end);
}

static int64_t lived_ns(const struct bands *bands, const struct ap_owned *owned)
{
    const int64_t *time_ns = bands->own->pass->snapshot->actions.time_ns;
    uint32_t last = bands->of->first_entry + bands->of->entry_count - 1;
    uint32_t from = owned->alloc == AP_NO_ENTRY ? bands->of->first_entry : owned->alloc;
    uint32_t to = owned->end == AP_NO_ENTRY ? last : owned->end;
    bool overflowed = false;
    return bands->of->has_times && time_ns[to] > time_ns[from] ? ap_subtract_sat(time_ns[to], time_ns[from], &overflowed)
                                                               : 0;
}

/* The frame that stands for the stack + 1; 0 = none. Many allocations share a stack: each is looked at once. */
static uint32_t line_of(struct bands *bands, uint32_t stack)
{
    const struct ap_snapshot *snapshot = bands->own->pass->snapshot;
    uint32_t *line = &bands->lines[stack];
    if (*line == NOT_ASKED) {
        uint32_t count, shown = ap_stack_main_frame(snapshot, stack);
        const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
        *line = count ? frames[shown] + 1 : 0;
    }
    return *line;
}

/* What the sizes at the peak tell of allocations is known of them at any time. */
static enum ap_status settle(struct bands *bands, int64_t device, struct ap_error *reterr)
{
    const struct ap_owners *owners = bands->own->owners;
    struct ap_owned_device peak;
    uint8_t *evidence;
    AP_TRY(AP_ALLOC_CLEARED(bands->own->gate, evidence, (size_t)bands->of->lifetime_count + 1, reterr));
    enum ap_status status = ap_owned_take(owners, device, &peak, reterr);
    for (uint32_t i = 0; status == AP_OK && i < peak.count; i++)
        if (peak.list[i].lifetime != AP_NO_LIFETIME)
            evidence[peak.list[i].lifetime - bands->of->first_lifetime] = (uint8_t)(peak.list[i].evidence + 1);
    for (uint32_t i = 0; status == AP_OK && i < bands->all.count; i++) {
        struct ap_owned *owned = &bands->all.list[i];
        if (owned->lifetime != AP_NO_LIFETIME && evidence[owned->lifetime - bands->of->first_lifetime])
            owned->evidence = (uint8_t)(evidence[owned->lifetime - bands->of->first_lifetime] - 1);
    }
    if (status == AP_OK)
        ap_owned_release(owners, &peak);
    AP_FREE(bands->own->gate, evidence, (size_t)bands->of->lifetime_count + 1);
    return status;
}

static void add(struct band *to, const struct band *more)
{
    to->area += more->area;
    to->count += more->count;
    to->longest_ns = more->longest_ns > to->longest_ns ? more->longest_ns : to->longest_ns;
    if (more->largest_bytes > to->largest_bytes) {
        to->largest_bytes = more->largest_bytes;
        to->stack = more->stack;
    }
}

/* What is more than can be told apart counts without its line. */
static enum ap_status find_groups(struct bands *bands, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < bands->all.count; i++) {
        const struct ap_owned *owned = &bands->all.list[i];
        uint32_t from, to, group, known = bands->map.count;
        span_of(bands, owned, &from, &to);
        bands->group_of[i] = NO_BAND;
        if (owned->lifetime == AP_NO_LIFETIME || owned->bytes <= 0 || from >= to)
            continue; /* between two points */
        uint8_t category = (uint8_t)ap_owned_category(owned);
        bool before = owned->alloc == AP_NO_ENTRY;
        uint32_t line = before || known >= MOST_GROUPS ? 0 : line_of(bands, owned->stack);
        AP_TRY(ap_pair_map_add(&bands->map, (uint32_t)category * 2 + before, line, &group, reterr));
        AP_TRY(AP_RESERVE(bands->own->gate, bands->groups, bands->group_capacity, (size_t)group + 1, reterr));
        if (group == known)
            bands->groups[group] = (struct band){ .category = category, .before = before, .band = NO_BAND };
        const struct band one = { .area = (double)owned->bytes * (to - from),
                                  .largest_bytes = owned->bytes,
                                  .longest_ns = lived_ns(bands, owned),
                                  .count = 1,
                                  .stack = owned->stack };
        add(&bands->groups[group], &one);
        bands->group_of[i] = group;
    }
    return AP_OK;
}

static bool larger_area(const void *context, uint32_t a, uint32_t b)
{
    const struct band *groups = context;
    return groups[a].area != groups[b].area ? groups[a].area > groups[b].area : a < b;
}

static struct band *rest_of(struct bands *bands, const struct band *group)
{
    for (size_t i = 0; i < bands->shown_count; i++)
        if (bands->shown[i].is_rest && bands->shown[i].category == group->category)
            return &bands->shown[i];
    bands->shown[bands->shown_count] = (struct band){ .category = group->category, .is_rest = true };
    return &bands->shown[bands->shown_count++];
}

/* A rest of one group is that group. */
static enum ap_status choose(struct bands *bands, struct ap_error *reterr)
{
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(bands->own->gate, bands->map.count, 0, larger_area, bands->groups, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        struct band *group = &bands->groups[order[i]];
        if (i < MOST_BANDS) {
            bands->shown[bands->shown_count++] = *group;
            group->band = (uint32_t)bands->shown_count - 1;
            continue;
        }
        struct band *rest = rest_of(bands, group);
        add(rest, group);
        group->band = (uint32_t)(rest - bands->shown);
    }
    AP_FREE(bands->own->gate, order, count);
    return AP_OK;
}

static void sum_up(struct bands *bands)
{
    size_t width = bands->point_count;
    bool *overflowed = &bands->own->pass->overflowed;
    for (uint32_t i = 0; i < bands->all.count; i++) {
        if (bands->group_of[i] == NO_BAND)
            continue;
        int64_t *bytes = &bands->bytes[bands->groups[bands->group_of[i]].band * width];
        uint32_t from, to;
        span_of(bands, &bands->all.list[i], &from, &to);
        bytes[from] = ap_add_sat(bytes[from], bands->all.list[i].bytes, overflowed);
        if (to < bands->point_count)
            bytes[to] = ap_subtract_sat(bytes[to], bands->all.list[i].bytes, overflowed);
    }
    for (size_t band = 0; band < bands->shown_count; band++)
        for (size_t i = 1; i < width; i++)
            bands->bytes[band * width + i] =
                ap_add_sat(bands->bytes[band * width + i], bands->bytes[band * width + i - 1], overflowed);
}

static enum ap_status put(struct bands *bands, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = bands->own->pass;
    struct ap_value *list = ap_add_list(pass->model, to, "bands");
    for (size_t band = 0; band < bands->shown_count; band++) {
        const struct band *of = &bands->shown[band];
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        ap_add_string(pass->model, row, "category", ap_owner_category_name((enum ap_owner_category)of->category));
        ap_add_bool(pass->model, row, "before", of->before);
        ap_add_bool(pass->model, row, "rest", of->is_rest);
        ap_add_count(pass->model, row, "allocations", (int64_t)of->count);
        ap_add_bytes(pass->model, row, "largest_bytes", of->largest_bytes);
        ap_add_known_time(pass->model, row, "longest_us", bands->of->has_times, of->longest_ns);
        AP_TRY(ap_memory_put_frames(pass, row, of->before ? 0 : of->stack, reterr));
        struct ap_value *levels = ap_add_list(pass->model, row, "levels");
        for (uint32_t i = 0; i < bands->point_count; i++)
            ap_add_bytes(pass->model, levels, NULL, bands->bytes[band * bands->point_count + i]);
    }
    return AP_OK;
}

/* ---- single allocations, for readers who point at one ---- */

static double area_of(const struct bands *bands, uint32_t index)
{
    uint32_t from, to;
    if (bands->group_of[index] == NO_BAND)
        return 0;
    span_of(bands, &bands->all.list[index], &from, &to);
    return (double)bands->all.list[index].bytes * (to - from);
}

static bool covers_more(const void *context, uint32_t a, uint32_t b)
{
    double a_area = area_of(context, a), b_area = area_of(context, b);
    return a_area != b_area ? a_area > b_area : a < b;
}

/* -1 = not told: none was recorded, or there are too many. */
static enum ap_status number_stack(const struct bands *bands, struct ap_id_map *known, uint32_t *count, uint32_t stack,
                                   struct ap_value *stacks, int *ret_number, struct ap_error *reterr)
{
    uint32_t *number = stack ? ap_id_map_find(known, stack) : NULL;
    *ret_number = number ? (int)*number : -1;
    if (number || !stack || *count == MOST_STACKS)
        return AP_OK;
    *ret_number = (int)*count;
    *ap_id_map_add(known, stack) = (*count)++;
    return ap_memory_put_frames(bands->own->pass, ap_add_object(bands->own->pass->model, stacks, NULL), stack, reterr);
}

static size_t pack(const struct bands *bands, const struct ap_owned *owned, uint32_t band, int stack, char *to)
{
    uint32_t from, until;
    bool before = owned->alloc == AP_NO_ENTRY, stays = owned->end == AP_NO_ENTRY;
    span_of(bands, owned, &from, &until);
    int bytes = snprintf(to, PACKED_BYTES, "%u %u %u %lld %lld %d %d;", (unsigned)band, (unsigned)from, (unsigned)until,
                         (long long)owned->bytes, bands->of->has_times ? (long long)lived_ns(bands, owned) : -1LL,
                         before + 2 * stays, stack);
    return bytes > 0 && bytes < PACKED_BYTES ? (size_t)bytes : 0;
}

static enum ap_status pack_all(const struct bands *bands, const uint32_t *order, size_t count, char *text,
                               struct ap_id_map *known, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_model *model = bands->own->pass->model;
    struct ap_value *stacks = ap_add_list(model, to, "stacks");
    size_t bytes = 0;
    uint32_t stack_count = 0;
    for (size_t i = 0; i < count && bands->group_of[order[i]] != NO_BAND; i++) {
        const struct ap_owned *owned = &bands->all.list[order[i]];
        uint32_t band = bands->groups[bands->group_of[order[i]]].band;
        int stack = -1;
        AP_TRY(number_stack(bands, known, &stack_count, owned->alloc == AP_NO_ENTRY ? 0 : owned->stack, stacks, &stack,
                            reterr));
        bytes += pack(bands, owned, band, stack, text + bytes);
    }
    text[bytes] = '\0';
    ap_add_string(model, to, "rows", text);
    return AP_OK;
}

static enum ap_status put_allocations(const struct bands *bands, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_gate *gate = bands->own->gate;
    struct ap_id_map known = { .gate = gate };
    uint32_t *order = NULL;
    size_t count = 0;
    char *text;
    AP_TRY(AP_ALLOC(gate, text, MOST_ALLOCATIONS * PACKED_BYTES + 1, reterr));
    enum ap_status status = ap_id_map_init(&known, gate, MOST_STACKS, reterr);
    AP_AND_THEN(status,
                ap_top_indices(gate, bands->all.count, MOST_ALLOCATIONS, covers_more, bands, &order, &count, reterr));
    AP_AND_THEN(status, pack_all(bands, order, count, text, &known,
                                 ap_add_object(bands->own->pass->model, to, "allocations"), reterr));
    AP_FREE(gate, order, count);
    ap_id_map_release(&known);
    AP_FREE(gate, text, MOST_ALLOCATIONS * PACKED_BYTES + 1);
    return status;
}

static size_t stack_count(const struct bands *bands)
{
    return (size_t)bands->own->pass->snapshot->stacks.stack_count + 1; /* 0 = not recorded */
}

static enum ap_status find_bands(struct bands *bands, struct ap_value *to, int64_t device, struct ap_error *reterr)
{
    struct ap_gate *gate = bands->own->gate;
    AP_TRY(settle(bands, device, reterr));
    AP_TRY(AP_ALLOC(gate, bands->group_of, (size_t)bands->all.count + 1, reterr));
    AP_TRY(AP_ALLOC(gate, bands->lines, stack_count(bands), reterr));
    for (size_t i = 0; i < stack_count(bands); i++)
        bands->lines[i] = NOT_ASKED;
    AP_TRY(find_groups(bands, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, bands->shown, MOST_BANDS + AP_OWNER_CATEGORY_COUNT_, reterr));
    AP_TRY(choose(bands, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, bands->bytes, bands->shown_count * bands->point_count + 1, reterr));
    sum_up(bands);
    AP_TRY(put(bands, to, reterr));
    return bands->own->pass->options->for_pictures ? put_allocations(bands, to, reterr) : AP_OK;
}

enum ap_status ap_own_put_bands(struct ap_peak_part *own, struct ap_value *to, uint32_t device,
                                const struct ap_curve_point *points, uint32_t point_count, struct ap_error *reterr)
{
    struct bands bands = { .own = own,
                           .of = &own->pass->replay->devices[device],
                           .points = points,
                           .point_count = point_count,
                           .map = { .gate = own->gate } };
    AP_TRY(ap_owned_list_all(own->owners, device, &bands.all, reterr));
    enum ap_status status = find_bands(&bands, to, device, reterr);
    AP_FREE(own->gate, bands.bytes, bands.shown_count * point_count + 1);
    AP_FREE(own->gate, bands.shown, MOST_BANDS + AP_OWNER_CATEGORY_COUNT_);
    AP_FREE(own->gate, bands.lines, stack_count(&bands));
    AP_FREE(own->gate, bands.group_of, (size_t)bands.all.count + 1);
    AP_FREE(own->gate, bands.groups, bands.group_capacity);
    ap_pair_map_release(&bands.map);
    ap_owned_release(own->owners, &bands.all);
    return status;
}
