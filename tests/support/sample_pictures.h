/* SPDX-License-Identifier: MIT
 * sample_pictures.h - what pictures are drawn from, added to the tree of sample_report.h: some of each, or as much as is
 * ever drawn and more. */
#ifndef AP_SAMPLE_PICTURES_H
#define AP_SAMPLE_PICTURES_H

#include "sample_report.h"
#include "tree.h"

static void sample_flame(struct sample *sample, const char *path, const char *key, enum ap_value_type type, int count)
{
    struct ap_model *model = sample->model;
    char at[64];
    (void)snprintf(at, sizeof(at), "%s.names", path);
    struct ap_value *names = put_list(model, at);
    (void)snprintf(at, sizeof(at), "%s.nodes", path);
    struct ap_value *nodes = put_list(model, at);
    for (int i = 0; i < count; i++) {
        ap_add_text(model, names, NULL, sample_name(sample));
        struct ap_value *node = ap_add_object(model, nodes, NULL);
        ap_add_known_count(model, node, "parent", i > 0, (i - 1) / 8);
        ap_add_count(model, node, "name", i);
        struct ap_value *amount = ap_add_object(model, node, key);
        amount->type = type;
        amount->as.integer = INT64_C(1) << (40 - (i > 0) * 4 - (i > 8) * 4 - (i > 72) * 4 - (i > 584) * 4);
        ap_add_count(model, node, "count", 3);
        ap_add_count(model, node, "allocations", 3);
    }
}

static void sample_strip(struct sample *sample, int count)
{
    static const char *const columns[] = { "compute",        "memset",       "exposed_communication",
                                           "exposed_memcpy", "data_loading", "host_python" };
    struct ap_model *model = sample->model;
    put_time(model, "pictures.utilization.start_us", 1);
    put_time(model, "pictures.utilization.bin_us", 6000);
    struct ap_value *names = put_list(model, "pictures.utilization.columns"),
                    *bins = put_list(model, "pictures.utilization.bins");
    for (size_t i = 0; i < AP_COUNT_OF(columns); i++)
        ap_add_string(model, names, NULL, columns[i]);
    ap_add_text(model, names, NULL, sample_name(sample));
    for (int i = 0; i < count; i++) {
        struct ap_value *bin = ap_add_list(model, bins, NULL);
        for (int j = 0; j < 7; j++)
            ap_add_time(model, bin, NULL, 1000);
    }
}

static void sample_timeline(struct sample *sample, int count)
{
    struct ap_model *model = sample->model;
    put_time(model, "pictures.timeline.start_us", 1623142624148124125);
    put_time(model, "pictures.timeline.dur_us", 1000000);
    ap_add_text(model, tree_place(model, "pictures.timeline"), "about", sample_name(sample));
    ap_add_text(model, tree_place(model, "pictures.timeline.finding"), "rule_id", sample_name(sample));
    put_time(model, "pictures.timeline.finding.start_us", 1623142624148124125 + 100000);
    put_time(model, "pictures.timeline.finding.dur_us", 200000);
    put_time(model, "pictures.timeline.gap.start_us", 1623142624148124125 + 300000);
    put_time(model, "pictures.timeline.gap.dur_us", 300000);
    ap_add_string(model, tree_place(model, "pictures.timeline.gap"), "cause", "host_python");
    struct ap_value *lanes = put_list(model, "pictures.timeline.lanes"), *bars = put_list(model, "pictures.timeline.bars");
    for (int i = 0; i < 2; i++) {
        struct ap_value *lane = ap_add_object(model, lanes, NULL);
        sample_named_text(sample, lane, "name");
        sample_named_text(sample, lane, "tid");
        ap_add_string(model, lane, "side", i ? "gpu" : "host");
        ap_add_count(model, lane, "depth", 4);
    }
    for (int i = 0; i < count; i++) {
        struct ap_value *bar = ap_add_object(model, bars, NULL);
        sample_named_text(sample, bar, "name");
        ap_add_string(model, bar, "kind", i % 2 ? "kernel" : "operator");
        ap_add_count(model, bar, "lane", i % 3); /* one that does not exist, too */
        ap_add_count(model, bar, "depth", i % 5);
        ap_add_time(model, bar, "start_us", 1623142624148124125 + i * 1000);
        ap_add_time(model, bar, "dur_us", 400000);
    }
}

static void sample_steps(struct sample *sample, int count)
{
    struct ap_model *model = sample->model;
    struct ap_value *steps = put_list(model, "pictures.steps"), *split = put_list(model, "split.steps");
    for (int i = 0; i < count; i++) {
        struct ap_value *step = ap_add_object(model, steps, NULL);
        sample_named_text(sample, step, "name");
        ap_add_time(model, step, "dur_us", 1000000 + i);
        ap_add_bool(model, step, "cold", i == 0);
        ap_add_bool(model, step, "cut", i == 1);
        sample_named_text(sample, sample_part(sample, ap_add_object(model, split, NULL)), "name");
    }
    put_time(model, "steps.steady.p50_us", 1000000);
    put_time(model, "steps.steady.p90_us", 1000001);
    ap_add_string(model, tree_place(model, "split"), "basis", "gpu");
}

static void sample_kernels(struct sample *sample, int count)
{
    struct ap_model *model = sample->model;
    struct ap_value *families = put_list(model, "gpu.families"), *kernels = put_list(model, "gpu.kernels");
    struct ap_value *operations = put_list(model, "communication.by_operation");
    for (int i = 0; i < count; i++) {
        struct ap_value *family = ap_add_object(model, families, NULL), *kernel = ap_add_object(model, kernels, NULL);
        struct ap_value *operation = ap_add_object(model, operations, NULL);
        struct ap_text name = sample_name(sample);
        ap_add_text(model, family, "family", name);
        ap_add_time(model, family, "total_dur_us", 3000000);
        ap_add_text(model, kernel, "family", name);
        sample_named_text(sample, kernel, "name");
        ap_add_time(model, kernel, "total_dur_us", 2000000);
        ap_add_count(model, kernel, "count", 3);
        sample_named_text(sample, operation, "operation");
        ap_add_time(model, operation, "total_dur_us", 2000000);
        ap_add_time(model, operation, "exposed_us", 1000000);
        ap_add_count(model, operation, "count", 7);
    }
}

/* One before the history, one of several lines, one that is a stranger. */
static void sample_bands(struct sample *sample, struct ap_value *device, int count)
{
    static const char *const categories[] = { "parameters", "activations", "temporaries", "no such category" };
    struct ap_model *model = sample->model;
    struct ap_value *bands = ap_add_list(model, device, "bands");
    for (size_t i = 0; i < AP_COUNT_OF(categories); i++) {
        struct ap_value *band = ap_add_object(model, bands, NULL);
        ap_add_string(model, band, "category", categories[i]);
        ap_add_bool(model, band, "before", i == 0);
        ap_add_bool(model, band, "rest", i == 2);
        ap_add_count(model, band, "allocations", 3);
        ap_add_bytes(model, band, "largest_bytes", 1048576);
        ap_add_time(model, band, "longest_us", 1000000);
        struct ap_value *frames = ap_add_list(model, band, "frames"), *levels = ap_add_list(model, band, "levels");
        for (int frame = 0; frame < 8; frame++)
            ap_add_text(model, frames, NULL, sample_name(sample));
        for (int point = 0; point < count; point++)
            ap_add_bytes(model, levels, NULL, (point + (int)i) % 3 * 1048576);
    }
}

static void sample_curves(struct sample *sample, int count)
{
    struct ap_model *model = sample->model;
    struct ap_value *device = ap_add_object(model, put_list(model, "memory.timeline.devices"), NULL);
    struct ap_value *traced = ap_add_object(model, put_list(model, "trace_memory.devices"), NULL);
    ap_add_count(model, device, "device", 0);
    sample_named_text(sample, traced, "device_type");
    struct ap_value *points = ap_add_list(model, device, "points"), *timeline = ap_add_list(model, traced, "timeline");
    for (int i = 0; i < count; i++) {
        struct ap_value *point = ap_add_object(model, points, NULL), *moment = ap_add_object(model, timeline, NULL);
        ap_add_time(model, point, "time_us", i * 1000);
        ap_add_bytes(model, point, "requested_bytes", (i % 7) * 1048576);
        ap_add_bytes(model, point, "reserved_bytes", 20971520);
        ap_add_time(model, moment, "at_us", i * 1000);
        ap_add_bytes(model, moment, "allocated_bytes", (i % 7) * 1048576);
    }
    sample_bands(sample, device, count);
}

static void sample_owners(struct sample *sample, int count)
{
    struct ap_model *model = sample->model;
    struct ap_value *device = ap_add_object(model, put_list(model, "memory.peak.devices"), NULL);
    ap_add_count(model, device, "device", 0);
    ap_add_count(model, device, "live_count", 3);
    ap_add_string(model, device, "at", "peak");
    ap_add_bytes(model, device, "requested_bytes", 10485760);
    struct ap_value *categories = ap_add_list(model, device, "by_category"),
                    *frames = ap_add_list(model, device, "by_frame");
    for (int i = 0; i < count; i++) {
        struct ap_value *category = ap_add_object(model, categories, NULL), *frame = ap_add_object(model, frames, NULL);
        sample_named_text(sample, category, "category");
        ap_add_bytes(model, category, "requested_bytes", 1048576);
        sample_named_text(sample, frame, "frame");
        ap_add_bytes(model, frame, "requested_bytes", 1048576);
        ap_add_ratio(model, frame, "share_ratio", 0.1);
        ap_add_count(model, frame, "allocations", 2);
    }
}

static void sample_segments(struct sample *sample, int count)
{
    struct ap_model *model = sample->model;
    struct ap_value *segments = put_list(model, "memory.segment_map.segments");
    for (int i = 0; i < count; i++) {
        struct ap_value *segment = ap_add_object(model, segments, NULL);
        sample_named_text(sample, segment, "segment_type");
        ap_add_bytes(model, segment, "reserved_bytes", 20971520);
        struct ap_value *runs = ap_add_list(model, segment, "runs");
        for (int j = 0; j < 64; j++) {
            struct ap_value *run = ap_add_object(model, runs, NULL);
            ap_add_bytes(model, run, "bytes", 327680);
            ap_add_bytes(model, run, "allocated_bytes", 131072);
            ap_add_bytes(model, run, "pending_free_bytes", 65536);
        }
    }
}

/** @count: of steps, bars, nodes and so on, each; more than can be drawn is fine. */
static inline void sample_pictures_fill(struct ap_model *model, const struct ap_text *names, size_t name_count, int count)
{
    struct sample sample = { .model = model, .names = names, .name_count = name_count };
    sample_flame(&sample, "pictures.host_flame", "dur_us", AP_VALUE_TIME_NS, count * 10);
    sample_flame(&sample, "memory.flame", "requested_bytes", AP_VALUE_BYTES, count * 10);
    sample_strip(&sample, count);
    sample_timeline(&sample, count);
    sample_steps(&sample, count);
    sample_kernels(&sample, count);
    sample_curves(&sample, count);
    sample_owners(&sample, count);
    sample_segments(&sample, count);
}

#endif
