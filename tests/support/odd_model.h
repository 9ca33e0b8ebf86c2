/* SPDX-License-Identifier: MIT
 * odd_model.h - models that no run would make, from any bytes. First byte: even = the part of the sample report that the
 * bits above choose, with the rest as its names (separated by line feeds), odd = a tree of known and unknown keys with
 * values of any type, one byte for each decision. */
#ifndef AP_ODD_MODEL_H
#define AP_ODD_MODEL_H

#include "sample_report.h"

struct odd_input {
    const uint8_t *data;
    size_t bytes, at;
};

static uint8_t next_byte(struct odd_input *in)
{
    return in->at < in->bytes ? in->data[in->at++] : 0;
}

static struct ap_text next_text(struct odd_input *in)
{
    size_t length = next_byte(in);
    if (length > in->bytes - in->at)
        length = in->bytes - in->at;
    struct ap_text text = { (const char *)in->data + in->at, length };
    in->at += length;
    return text;
}

static int64_t next_integer(struct odd_input *in)
{
    uint64_t bits = 0;
    for (uint8_t count = next_byte(in) % 9; count > 0; count--)
        bits = bits << 8 | next_byte(in);
    return (int64_t)bits;
}

static double next_number(struct odd_input *in)
{
    int64_t bits = next_integer(in);
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* Keys that the Markdown writer looks for, and a free one. */
static struct ap_text next_key(struct odd_input *in)
{
    static const char *const keys[] = {
        "memory",
        "cpu",
        "trace",
        "steps",
        "gpu",
        "findings",
        "not_evaluated",
        "warnings",
        "path",
        "summary",
        "state",
        "operators",
        "operators_by_self",
        "top_ops",
        "threads",
        "top_threads",
        "families",
        "signals",
        "rows",
        "source",
        "devices",
        "kernels",
        "kernel",
        "categories",
        "events",
        "by_phase",
        "recorded",
        "complete",
        "segment_types",
        "largest_segments",
        "by_device",
        "trace_actions",
        "counts",
        "history",
        "rates",
        "settings",
        "annotations",
        "top_names",
        "name",
        "count",
        "total_dur_us",
        "self_dur_us",
        "busy_us",
        "window_share_ratio",
        "rule_id",
        "severity",
        "confidence",
        "title",
        "observation",
        "action",
        "saves_us",
        "saves_bytes",
        "evidence",
        "metric",
        "value",
        "threshold",
        "missing",
        "code",
        "message",
        "input",
        "first_byte_offset",
        "reserved_bytes",
        "rank",
        "allocs_per_s",
        "reserved_vs_allocated_ratio",
        "utilization_ratio",
        "per_step",
        "sequences",
        "names",
        "copies",
        "focus",
        "phase",
        "context",
        "findings_left_out",
        "gain",
        "whole",
        "share_ratio",
        "speedup_bound_ratio",
        "places",
        "start_us",
        "dur_us",
        "tid",
        "verify_command",
        "peak",
        "device",
        "requested_bytes",
        "by_category",
        "category",
        "by_frame",
        "frame",
        "at",
        "position",
        "live_count",
        "affected",
        "bytes",
        "leaks",
        "stacks",
        "churn",
        "fragmentation",
        "pinned_by",
        "oom",
        "replay",
        "joined",
        "method",
        "trace_memory",
        "operator",
        "module",
        "step",
        "us",
        "trade_off",
        "bottleneck",
        "hardware",
        "pictures",
        "utilization",
        "bin_us",
        "columns",
        "bins",
        "timeline",
        "lanes",
        "bars",
        "lane",
        "depth",
        "gap",
        "host_flame",
        "names",
        "nodes",
        "parent",
        "flame",
        "segment_map",
        "segments",
        "runs",
        "allocated_bytes",
        "points",
        "time_us",
        "at_us",
        "families",
        "family",
        "communication",
        "by_operation",
        "operation",
        "split",
        "judged",
        "basis",
        "idle_causes",
    };
    size_t choice = next_byte(in);
    return choice < AP_COUNT_OF(keys) ? ap_text_of(keys[choice]) : next_text(in);
}

/* A value with a key in an object, without in a list; the builder offers the named form for objects alone. */
static struct ap_value *add_value(struct ap_model *model, struct ap_value *parent, struct odd_input *in)
{
    struct ap_value *value = parent->type == AP_VALUE_OBJECT ? ap_add_object_named(model, parent, next_key(in))
                                                             : ap_add_object(model, parent, NULL);
    value->type = (enum ap_value_type)(next_byte(in) % (AP_VALUE_OBJECT + 1));
    if (value->type == AP_VALUE_RATIO || value->type == AP_VALUE_NUMBER)
        value->as.number = next_number(in);
    else if (value->type == AP_VALUE_TEXT || value->type == AP_VALUE_LITERAL)
        value->as.text = next_text(in); /* the input outlives the model */
    else if (value->type != AP_VALUE_LIST && value->type != AP_VALUE_OBJECT)
        value->as.integer = next_integer(in);
    return value;
}

static void build_tree(struct ap_model *model, struct odd_input *in)
{
    struct ap_value *open[80] = { &model->root };
    size_t depth = 0;
    while (in->at < in->bytes) {
        uint8_t step = next_byte(in);
        for (uint8_t closed = step % 4 == 3 ? step / 4 : 0; closed > 0 && depth > 0; closed--)
            depth--;
        struct ap_value *value = add_value(model, open[depth], in);
        bool container = value->type == AP_VALUE_LIST || value->type == AP_VALUE_OBJECT;
        if (container && depth + 1 < AP_COUNT_OF(open))
            open[++depth] = value;
    }
}

/* Each part alone is written a thousand times a second, all of them together a hundred times. */
static void fill_sample(struct ap_model *model, const char *data, size_t bytes, unsigned choice)
{
    struct ap_text names[64];
    size_t count = 0;
    for (size_t at = 0; at <= bytes && count < AP_COUNT_OF(names); count++) {
        const char *end = bytes > at ? memchr(data + at, '\n', bytes - at) : NULL;
        size_t length = end ? (size_t)(end - data) - at : bytes - at;
        names[count] = (struct ap_text){ data + at, length };
        at += length + 1;
    }
    sample_fill_parts(model, names, count, 1u << choice % SAMPLE_PART_COUNT);
}

/** @data outlives the model. */
static inline void odd_model_fill(struct ap_model *model, const uint8_t *data, size_t bytes)
{
    if (bytes && data[0] % 2 == 0) {
        fill_sample(model, (const char *)data + 1, bytes - 1, data[0] >> 1);
    } else if (bytes) {
        struct odd_input in = { data, bytes, 1 };
        build_tree(model, &in);
    }
}

#endif
