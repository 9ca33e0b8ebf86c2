/* SPDX-License-Identifier: MIT
 * record_stats.c - statistics by name, category and device, summed from the events when they are asked for. */
#include <string.h>

#include "pair_map.h"
#include "quantile.h"
#include "recorder.h"
#include "sort.h"

#include "poison.h"

#define CACHE_SLOTS 256 /* a power of two */

struct sums {
    struct ap_gate *gate;
    struct ap_strpool names;
    struct ap_pair_map map; /* (name, category and device) -> place in spots */
    struct ap_hotspot *spots;
    size_t spot_capacity;
    struct {
        const char *name;
        uint32_t id;
    } cache[CACHE_SLOTS]; /* most names are few literals: their texts are looked up once */
};

static void sums_release(struct sums *sums)
{
    ap_strpool_release(&sums->names);
    ap_pair_map_release(&sums->map);
    AP_FREE(sums->gate, sums->spots, sums->spot_capacity);
}

static enum ap_status name_id(struct sums *sums, const char *name, uint32_t *ret_id, struct ap_error *reterr)
{
    size_t slot = ((uintptr_t)name >> 3 ^ (uintptr_t)name >> 11) & (CACHE_SLOTS - 1);
    if (!name || sums->cache[slot].name != name) {
        struct ap_text text = ap_record_name(name);
        struct ap_str str;
        AP_TRY(ap_strpool_intern(&sums->names, text.data, text.bytes, &str, reterr));
        sums->cache[slot].name = name;
        sums->cache[slot].id = str.id;
    }
    *ret_id = sums->cache[slot].id;
    return AP_OK;
}

static enum ap_status spot_of(struct sums *sums, const struct ap_record_event *event, struct ap_hotspot **ret_spot,
                              struct ap_error *reterr)
{
    uint32_t id, number, known = sums->map.count;
    AP_TRY(name_id(sums, event->name, &id, reterr));
    AP_TRY(AP_RESERVE(sums->gate, sums->spots, sums->spot_capacity, (size_t)known + 1, reterr));
    AP_TRY(ap_pair_map_add(&sums->map, id, (uint32_t)(uint16_t)event->device << 8 | event->category, &number, reterr));
    if (number == known)
        sums->spots[number] = (struct ap_hotspot){ .name = ap_record_name(event->name).data,
                                                   .category = (enum ap_record_category)event->category,
                                                   .device = event->device,
                                                   .min_ns = INT64_MAX };
    *ret_spot = &sums->spots[number];
    return AP_OK;
}

static enum ap_status add_event(struct sums *sums, const struct ap_record_event *event, const struct ap_record_scale *scale,
                                struct ap_error *reterr)
{
    struct ap_hotspot *spot;
    bool overflowed = false;
    AP_TRY(spot_of(sums, event, &spot, reterr));
    int64_t dur_ns = ap_record_span_of(event, scale).dur_ns;
    spot->count++;
    spot->total_ns = ap_add_sat(spot->total_ns, dur_ns, &overflowed);
    spot->min_ns = dur_ns < spot->min_ns ? dur_ns : spot->min_ns;
    spot->max_ns = dur_ns > spot->max_ns ? dur_ns : spot->max_ns;
    spot->memory_bytes = ap_add_sat(spot->memory_bytes, event->memory_bytes, &overflowed);
    spot->flops += event->flops;
    return AP_OK;
}

static int longer_total(const void *a_self, const void *b_self)
{
    const struct ap_hotspot *a = a_self, *b = b_self;
    AP_BY_LARGER(a->total_ns, b->total_ns);
    int by_name = strcmp(a->name, b->name);
    if (by_name)
        return by_name;
    return a->category != b->category ? (a->category > b->category) - (a->category < b->category)
                                      : (a->device > b->device) - (a->device < b->device);
}

/* @only: events of this name; NULL = all. */
static enum ap_status sum_up(struct ap_recorder *recorder, const char *only, struct sums *sums, struct ap_error *reterr)
{
    struct ap_record_scale scale = ap_record_scale_now(recorder);
    struct ap_record_walk walk = ap_record_walk_begin(recorder);
    const struct ap_record_event *event;
    while ((event = ap_record_walk_next(&walk))) {
        if (event->kind != AP_RECORD_SCOPE && event->kind != AP_RECORD_OPERATION)
            continue;
        if (only && !ap_text_is(ap_record_name(event->name), only))
            continue;
        AP_TRY(add_event(sums, event, &scale, reterr));
    }
    for (uint32_t i = 0; i < sums->map.count; i++)
        sums->spots[i].mean_ns = ap_mean(sums->spots[i].total_ns, sums->spots[i].count);
    ap_sort(sums->spots, sums->map.count, sizeof(sums->spots[0]), longer_total);
    return AP_OK;
}

static void sums_init(struct sums *sums, struct ap_gate *gate)
{
    *sums = (struct sums){ .gate = gate, .map.gate = gate };
    ap_strpool_init(&sums->names, gate);
}

enum ap_status ap_recorder_hotspots(struct ap_recorder *recorder, struct ap_hotspot *hotspots, size_t capacity,
                                    size_t *ret_count, struct ap_error *reterr)
{
    struct sums sums;
    sums_init(&sums, &recorder->gate);
    enum ap_status status = sum_up(recorder, NULL, &sums, reterr);
    if (status == AP_OK) {
        size_t taken = sums.map.count < capacity ? sums.map.count : capacity;
        if (taken)
            memcpy(hotspots, sums.spots, taken * sizeof(hotspots[0]));
        *ret_count = sums.map.count;
    }
    sums_release(&sums);
    return status;
}

enum ap_status ap_recorder_statistics(struct ap_recorder *recorder, const char *name, struct ap_hotspot *ret_hotspot,
                                      struct ap_error *reterr)
{
    struct sums sums;
    sums_init(&sums, &recorder->gate);
    enum ap_status status = sum_up(recorder, name, &sums, reterr);
    if (status == AP_OK && sums.map.count)
        *ret_hotspot = sums.spots[0];
    else if (status == AP_OK)
        status = AP_END;
    sums_release(&sums);
    return status;
}
