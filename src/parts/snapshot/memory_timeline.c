/* SPDX-License-Identifier: MIT
 * Memory over the history: by annotated phase, and as curves for a chart. */
#include "peak_part.h"
#include "sort.h"

#include "poison.h"

#define CURVE_POINTS 297 /* two more may be added: 300 at most */

/* ------------------------------------------------------------------------------------------------------------- phases */

/* The occurrences of one name on one device. */
struct named_phase {
    const struct ap_memory_phase *highest; /* the first of equal ones */
    uint64_t count;
    int64_t grown_bytes; /* end less start, over all */
};

static int by_peak(const void *left, const void *right)
{
    const struct named_phase *a = left, *b = right;
    AP_BY_LARGER(a->highest->peak_bytes, b->highest->peak_bytes);
    AP_BY_SMALLER(a->highest->device, b->highest->device);
    AP_BY_SMALLER(a->highest->start_ns, b->highest->start_ns);
    return a->highest->name < b->highest->name ? -1 : a->highest->name > b->highest->name;
}

static int64_t growth(const struct ap_memory_phase *phase, bool *overflowed)
{
    return ap_subtract_sat(phase->end_bytes, phase->start_bytes, overflowed);
}

/* Phases of one name and device stand together. */
static size_t merge_phases(const struct ap_memory_phases *phases, struct named_phase *named, bool *overflowed)
{
    size_t count = 0;
    for (size_t i = 0; i < phases->count; i++) {
        const struct ap_memory_phase *phase = &phases->list[i];
        if (!i || phase->name != phase[-1].name || phase->device != phase[-1].device)
            named[count++] = (struct named_phase){ phase, 0, 0 };
        struct named_phase *to = &named[count - 1];
        to->highest = phase->peak_bytes > to->highest->peak_bytes ? phase : to->highest;
        to->count++;
        to->grown_bytes = ap_add_sat(to->grown_bytes, growth(phase, overflowed), overflowed);
    }
    return count;
}

static void put_phase(struct ap_snapshot_part *pass, struct ap_value *list, const struct named_phase *named)
{
    const struct ap_memory_phase *phase = named->highest;
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    ap_add_text(pass->model, row, "name", ap_strpool_text(&pass->snapshot->strings, (struct ap_str){ phase->name }));
    ap_add_count(pass->model, row, "device", phase->device);
    ap_add_count(pass->model, row, "count", (int64_t)named->count);
    ap_add_time(pass->model, row, "start_us", phase->start_ns);
    ap_add_time(pass->model, row, "dur_us", ap_subtract_sat(phase->end_ns, phase->start_ns, &pass->overflowed));
    ap_add_bytes(pass->model, row, "peak_requested_bytes", phase->peak_bytes);
    ap_add_bytes(pass->model, row, "delta_bytes", growth(phase, &pass->overflowed));
    ap_add_bytes(pass->model, row, "delta_bytes_sum", named->grown_bytes);
}

enum ap_status ap_own_put_phases(struct ap_peak_part *own, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    struct ap_value *list = ap_add_list(pass->model, own->memory, "phases");
    struct named_phase *named;
    AP_TRY(AP_ALLOC(own->gate, named, own->phases.count + 1, reterr));
    size_t count = merge_phases(&own->phases, named, &pass->overflowed);
    ap_sort(named, count, sizeof(*named), by_peak);
    for (size_t i = 0; i < count && (!pass->top_n || i < pass->top_n); i++)
        put_phase(pass, list, &named[i]);
    AP_FREE(own->gate, named, own->phases.count + 1);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- curves */

static enum ap_status put_curve(struct ap_peak_part *own, struct ap_value *list, uint32_t device, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    const struct ap_replay_device *of = &pass->replay->devices[device];
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    struct ap_curve_point *points;
    uint32_t count, capacity;
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
    AP_FREE(own->gate, points, capacity);
    return AP_OK;
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
