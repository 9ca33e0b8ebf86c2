/* SPDX-License-Identifier: MIT
 * Memory over the history: by annotated range, and as curves for a chart. */
#include "peak_part.h"
#include "sort.h"

#include "poison.h"

#define MOST_BANDED_DEVICES 8
#define CURVE_POINTS 297 /* two more may be added: 300 at most */

/* ------------------------------------------------------------------------------------------------------------- ranges */

/* The occurrences of one name on one device. */
struct named_range {
    const struct ap_memory_range *highest; /* the first of equal ones */
    uint64_t count;
    int64_t grown_bytes; /* end less start, over all */
};

static int by_peak(const void *left, const void *right)
{
    const struct named_range *a = left, *b = right;
    AP_BY_LARGER(a->highest->peak_bytes, b->highest->peak_bytes);
    AP_BY_SMALLER(a->highest->device, b->highest->device);
    AP_BY_SMALLER(a->highest->start_ns, b->highest->start_ns);
    return a->highest->name < b->highest->name ? -1 : a->highest->name > b->highest->name;
}

static int64_t growth(const struct ap_memory_range *range, bool *overflowed)
{
    return ap_subtract_sat(range->end_bytes, range->start_bytes, overflowed);
}

/* Ranges of one name and device stand together. */
static size_t merge_ranges(const struct ap_memory_ranges *ranges, struct named_range *named, bool *overflowed)
{
    size_t count = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct ap_memory_range *range = &ranges->list[i];
        if (!i || range->name != range[-1].name || range->device != range[-1].device)
            named[count++] = (struct named_range){ range, 0, 0 };
        struct named_range *to = &named[count - 1];
        to->highest = range->peak_bytes > to->highest->peak_bytes ? range : to->highest;
        to->count++;
        to->grown_bytes = ap_add_sat(to->grown_bytes, growth(range, overflowed), overflowed);
    }
    return count;
}

static void put_range(struct ap_snapshot_part *pass, struct ap_value *list, const struct named_range *named)
{
    const struct ap_memory_range *range = named->highest;
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    ap_add_text(pass->model, row, "name", ap_strpool_text(&pass->snapshot->strings, (struct ap_str){ range->name }));
    ap_add_count(pass->model, row, "device", range->device);
    ap_add_count(pass->model, row, "count", (int64_t)named->count);
    ap_add_time(pass->model, row, "start_us", range->start_ns);
    ap_add_time(pass->model, row, "dur_us", ap_subtract_sat(range->end_ns, range->start_ns, &pass->overflowed));
    ap_add_bytes(pass->model, row, "peak_requested_bytes", range->peak_bytes);
    ap_add_bytes(pass->model, row, "delta_bytes", growth(range, &pass->overflowed));
    ap_add_bytes(pass->model, row, "delta_bytes_sum", named->grown_bytes);
}

enum ap_status ap_own_put_ranges(struct ap_peak_part *own, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    struct ap_value *list = ap_add_list(pass->model, own->memory, "phases");
    struct named_range *named;
    AP_TRY(AP_ALLOC(own->gate, named, own->ranges.count + 1, reterr));
    size_t count = merge_ranges(&own->ranges, named, &pass->overflowed);
    ap_sort(named, count, sizeof(*named), by_peak);
    for (size_t i = 0; i < count && (!pass->top_n || i < pass->top_n); i++)
        put_range(pass, list, &named[i]);
    AP_FREE(own->gate, named, own->ranges.count + 1);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- curves */

static enum ap_status put_curve(struct ap_peak_part *own, struct ap_value *list, uint32_t device, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    const struct ap_replay_device *of = &pass->replay->devices[device];
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    struct ap_curve_point *points;
    uint32_t count, capacity, shown = 0;
    for (const struct ap_value *before = ap_value_first(list); before; before = before->next)
        shown++;
    ap_add_count(pass->model, row, "device", device);
    struct ap_value *to = ap_add_list(pass->model, row, "points");
    AP_TRY(ap_replay_curve(pass->replay, device, CURVE_POINTS, &points, &count, &capacity, reterr));
    for (uint32_t i = 0; i < count; i++) {
        struct ap_value *point = ap_add_object(pass->model, to, NULL);
        ap_add_count(pass->model, point, "position", points[i].position);
        ap_put_time(pass, point, "time_us", points[i].has_time, points[i].time_ns);
        ap_put_bytes(pass, point, "requested_bytes", of->requested.known, points[i].requested_bytes);
        ap_put_bytes(pass, point, "active_bytes", of->active.known, points[i].active_bytes);
        ap_put_bytes(pass, point, "reserved_bytes", of->reserved.known, points[i].reserved_bytes);
    }
    enum ap_status status = AP_OK;
    if (shown <= MOST_BANDED_DEVICES)
        status = ap_own_put_bands(own, row, device, points, count, reterr);
    else
        ap_add_null(pass->model, row, "bands");
    AP_FREE(own->gate, points, capacity);
    return status;
}

enum ap_status ap_own_put_timeline(struct ap_peak_part *own, struct ap_error *reterr)
{
    struct ap_value *to = ap_add_object(own->pass->model, own->memory, "timeline");
    struct ap_value *list = ap_add_list(own->pass->model, to, "devices");
    uint32_t shown = 0;
    for (uint32_t i = 0; i < own->pass->replay->device_count && shown < AP_MOST_OWNED_DEVICES; i++) {
        if (own->pass->replay->devices[i].entry_count < 2)
            continue;
        shown++;
        AP_TRY(put_curve(own, list, i, reterr));
    }
    return AP_OK;
}
