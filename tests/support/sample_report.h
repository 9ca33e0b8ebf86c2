/* SPDX-License-Identifier: MIT
 * sample_report.h - a model with every part of the tree filled, for the writers' tests. Each text that would come from
 * an input takes the next of the given names, so that one hostile name reaches every place where names are printed. */
#ifndef AP_SAMPLE_REPORT_H
#define AP_SAMPLE_REPORT_H

#include "model_build.h"

struct sample {
    struct ap_model *model;
    const struct ap_text *names;
    size_t name_count, next;
};

static struct ap_text sample_name(struct sample *sample)
{
    return sample->name_count ? sample->names[sample->next++ % sample->name_count] : AP_TEXT("aten::mm");
}

static void sample_named_text(struct sample *sample, struct ap_value *to, const char *key)
{
    ap_add_text(sample->model, to, key, sample_name(sample));
}

static void sample_times(struct sample *sample, struct ap_value *to, const char *const *keys, size_t count, int64_t ns)
{
    for (size_t i = 0; i < count; i++)
        ap_add_time(sample->model, to, keys[i], ns + (int64_t)i * 1501);
}

static void sample_operator(struct sample *sample, struct ap_value *list, int64_t count, int64_t total_ns)
{
    static const char *const times[] = { "total_dur_us", "avg_dur_us", "max_dur_us", "min_dur_us", "p50_us", "p99_us" };
    struct ap_value *row = ap_add_object(sample->model, list, NULL);
    sample_named_text(sample, row, "name");
    ap_add_count(sample->model, row, "count", count);
    sample_times(sample, row, times, AP_COUNT_OF(times), total_ns);
    ap_add_time(sample->model, row, "self_dur_us", 5000000000 - total_ns);
    ap_add_null(sample->model, row, "self_excl_runtime_dur_us");
}

static void sample_threads(struct sample *sample, struct ap_value *cpu)
{
    struct ap_model *model = sample->model;
    struct ap_value *row = ap_add_object(model, ap_add_list(model, cpu, "threads"), NULL);
    ap_add_literal(model, row, "pid", AP_TEXT("18446744073709551615"));
    ap_add_text(model, row, "tid", sample_name(sample));
    sample_named_text(sample, row, "name");
    ap_add_count(model, row, "operator_events", 1234);
    ap_add_time(model, row, "total_dur_us", 1234567891);
    ap_add_time(model, row, "busy_us", 1000000000);
    ap_add_ratio(model, row, "window_share_ratio", 0.966603);
}

static void sample_cpu(struct sample *sample)
{
    struct ap_model *model = sample->model;
    struct ap_value *cpu = ap_add_object(model, &model->root, "cpu");
    sample_named_text(sample, cpu, "path");
    struct ap_value *summary = ap_add_object(model, cpu, "summary");
    ap_add_count(model, summary, "events_total", 123456789);
    ap_add_count(model, summary, "x_events_total", 1000);
    ap_add_time(model, summary, "time_window_us", 1034551204);
    for (int by_self = 0; by_self < 2; by_self++) {
        struct ap_value *operators = ap_add_list(model, cpu, by_self ? "operators_by_self" : "operators");
        for (int i = 0; i < 4; i++)
            sample_operator(sample, operators, 10 - i, 4000000000 - i * 1000000007LL);
    }
    struct ap_value *family = ap_add_object(model, ap_add_list(model, cpu, "families"), NULL);
    sample_named_text(sample, family, "family");
    ap_add_time(model, family, "self_dur_us", 999);
    ap_add_ratio(model, family, "self_share_ratio", 0.3961);
    sample_threads(sample, cpu);
    struct ap_value *signals = ap_add_object(model, cpu, "signals");
    for (int i = 0; i < 2; i++) {
        struct ap_value *signal = ap_add_object(model, signals, i ? "never_met" : "dataloader");
        ap_add_count(model, signal, "count", i ? 0 : 7);
        ap_add_time(model, signal, "total_dur_us", i ? 0 : 1250000);
        ap_add_ratio(model, signal, "window_share_ratio", 0.000001);
        ap_add_number(model, signal, "per_step", 3.5);
    }
}

static void sample_trace(struct sample *sample)
{
    struct ap_model *model = sample->model;
    struct ap_value *trace = ap_add_object(model, &model->root, "trace");
    sample_named_text(sample, trace, "path");
    ap_add_string(model, trace, "format", "kineto");
    ap_add_bool(model, trace, "complete", false);
    ap_add_bytes(model, trace, "bytes_read", 1073741825);
    struct ap_value *phases = ap_add_object(model, ap_add_object(model, trace, "events"), "by_phase");
    ap_add_count_named(model, phases, sample_name(sample), 3);
    struct ap_value *category = ap_add_object(model, ap_add_list(model, trace, "categories"), NULL);
    sample_named_text(sample, category, "category");
    ap_add_string(model, category, "kind", "unknown");
    ap_add_count(model, category, "events", 12);
    ap_add_time(model, trace, "window_us", 1034551204);
    struct ap_value *device = ap_add_object(model, ap_add_list(model, trace, "devices"), NULL);
    ap_add_count(model, device, "id", 0);
    sample_named_text(sample, device, "name");
    ap_add_bytes(model, device, "memory_bytes", 85899345920);
    struct ap_value *recorded = ap_add_object(model, trace, "recorded");
    ap_add_bool(model, recorded, "shapes", true);
    ap_add_bool(model, recorded, "stacks", false);
}

static void sample_memory(struct sample *sample)
{
    struct ap_model *model = sample->model;
    struct ap_value *memory = ap_add_object(model, &model->root, "memory");
    sample_named_text(sample, memory, "path");
    struct ap_value *summary = ap_add_object(model, memory, "summary");
    ap_add_bytes(model, summary, "reserved_bytes", 20971520);
    ap_add_null(model, summary, "requested_bytes");
    ap_add_ratio(model, summary, "reserved_vs_allocated_ratio", 1.5239985);
    struct ap_value *types = ap_add_object(model, memory, "segment_types");
    for (int i = 0; i < 2; i++)
        ap_add_bytes(model, ap_add_object_named(model, types, sample_name(sample)), "reserved_bytes", 20971520 >> i);
    struct ap_value *segment = ap_add_object(model, ap_add_list(model, memory, "largest_segments"), NULL);
    ap_add_count(model, segment, "device", 0);
    sample_named_text(sample, segment, "segment_type");
    ap_add_bytes(model, segment, "reserved", 20971520);
    ap_add_literal(model, segment, "address", AP_TEXT("139818761715712"));
    struct ap_value *counts = ap_add_object(model, ap_add_object(model, memory, "trace_actions"), "counts");
    struct ap_text action = sample_name(sample);
    ap_add_count_named(model, counts, action, 41);
    ap_add_count_named(model, counts, AP_TEXT("free"), 2);
    struct ap_value *annotations = ap_add_object(model, memory, "annotations");
    ap_add_count_named(model, ap_add_object(model, annotations, "top_names"), sample_name(sample), 5);
    struct ap_value *history = ap_add_object(model, memory, "history");
    ap_add_number(model, history, "allocs_per_s", 3105.25);
    struct ap_value *rates = ap_add_object(model, history, "rates");
    ap_add_object_named(model, rates, action)->type = AP_VALUE_NULL;
    struct ap_value *settings = ap_add_object(model, memory, "settings");
    sample_named_text(sample, settings, "conf");
}

/* Two operators under the roofline, one in a family of its own, and one that is above it. */
static void sample_compute(struct sample *sample)
{
    static const char *const kinds[] = { "GEMM", "softmax", "convolution" };
    struct ap_model *model = sample->model;
    struct ap_value *compute = ap_add_object(model, &model->root, "compute");
    struct ap_value *device = ap_add_object(model, compute, "device");
    ap_add_number(model, device, "gb_s", 3350);
    struct ap_value *rate = ap_add_object(model, ap_add_list(model, device, "rates"), NULL);
    ap_add_string(model, rate, "type", "16 bit");
    ap_add_number(model, rate, "tflop_s", 989.4);
    ap_add_ratio(model, ap_add_object(model, compute, "coverage"), "known_ratio", 0.5);
    struct ap_value *list = ap_add_list(model, compute, "operators");
    for (int i = 0; i < 3; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        sample_named_text(sample, row, "operator");
        ap_add_string(model, row, "dims", "[[8,8],[8,8]]");
        ap_add_string(model, row, "kind", kinds[i]);
        ap_add_time(model, row, "total_dur_us", 1000 * (i + 1));
        ap_add_number(model, row, "flops_per_byte", 0.5 + 400 * i);
        ap_add_number(model, row, "tflop_s", 1 + 100 * i);
        ap_add_ratio(model, row, "roofline_ratio", 0.1 + 0.6 * i);
    }
}

static void sample_steps_and_gpu(struct sample *sample)
{
    struct ap_model *model = sample->model;
    struct ap_value *steps = ap_add_object(model, &model->root, "steps");
    ap_add_string(model, steps, "source", "ProfilerStep");
    ap_add_count(model, steps, "count", 1);
    ap_add_null(model, steps, "p50_us");
    struct ap_value *step = ap_add_object(model, ap_add_list(model, steps, "rows"), NULL);
    sample_named_text(sample, step, "name");
    ap_add_time(model, step, "dur_us", 1500);
    struct ap_value *gpu = ap_add_object(model, &model->root, "gpu");
    ap_add_count(model, gpu, "rows", 7);
    ap_add_ratio(model, gpu, "utilization_ratio", 0.5);
    struct ap_value *kernel = ap_add_object(model, ap_add_list(model, gpu, "kernels"), NULL);
    sample_named_text(sample, kernel, "name");
    ap_add_count(model, kernel, "count", 1000000);
    ap_add_time(model, kernel, "total_dur_us", -1500);
    struct ap_value *copies = ap_add_object(model, ap_add_list(model, gpu, "copies"), NULL);
    sample_named_text(sample, copies, "kind");
    ap_add_number(model, copies, "gigabytes_per_s", 32.818);
    struct ap_value *sequence = ap_add_object(model, ap_add_list(model, gpu, "sequences"), NULL);
    struct ap_value *names = ap_add_list(model, sequence, "names");
    for (int i = 0; i < 2; i++)
        ap_add_text(model, names, NULL, sample_name(sample));
    ap_add_count(model, sequence, "occurrences", 12);
    ap_add_time(model, sequence, "total_dur_us", 72000);
    ap_add_null(model, sequence, "gap_us");
}

static struct ap_value *sample_part(struct sample *sample, struct ap_value *to)
{
    static const char *const times[] = {
        "dur_us", "compute_us", "memset_us", "exposed_communication_us", "exposed_memcpy_us", "idle_us"
    };
    sample_times(sample, to, times, AP_COUNT_OF(times), 1234567);
    ap_add_ratio(sample->model, to, "compute_ratio", 0.25);
    struct ap_value *causes = ap_add_object(sample->model, to, "idle_causes");
    ap_add_time(sample->model, causes, "data_loading_us", 1000);
    ap_add_ratio(sample->model, causes, "data_loading_ratio", 0.125);
    ap_add_time(sample->model, causes, "host_python_us", 5000);
    return to;
}

static void sample_split(struct sample *sample)
{
    struct ap_model *model = sample->model;
    struct ap_value *split = ap_add_object(model, &model->root, "split");
    sample_part(sample, ap_add_object(model, split, "window"));
    sample_part(sample, ap_add_object(model, split, "steady"));
    ap_add_string(model, sample_part(sample, ap_add_object(model, split, "judged")), "part", "steady steps");
    sample_named_text(sample, sample_part(sample, ap_add_object(model, ap_add_list(model, split, "steps"), NULL)), "name");
    struct ap_value *idle = ap_add_object(model, &model->root, "idle");
    ap_add_count(model, idle, "gap_count", 12);
    struct ap_value *gap = ap_add_object(model, ap_add_list(model, idle, "gaps"), NULL);
    ap_add_time(model, gap, "dur_us", 77);
    sample_named_text(sample, gap, "tid");
    sample_named_text(sample, gap, "host_row");
    sample_named_text(sample, gap, "next");
    struct ap_value *loading = ap_add_object(model, &model->root, "data_loading");
    ap_add_count(model, loading, "count", 3);
    sample_named_text(sample, ap_add_object(model, ap_add_list(model, loading, "waits"), NULL), "name");
}

static void sample_verdict(struct sample *sample)
{
    struct ap_model *model = sample->model;
    struct ap_value *verdict = ap_add_object(model, &model->root, "verdict");
    ap_add_string(model, verdict, "bound", "CPU-bound");
    ap_add_string(model, verdict, "sentence", "the device waits for the host to launch work: 1 ms of 2 ms (50.0 %)");
    ap_add_string(model, verdict, "confidence", "high");
    struct ap_value *symptoms = ap_add_list(model, &model->root, "symptoms");
    for (int i = 0; i < 3; i++) {
        struct ap_value *symptom = ap_add_object(model, symptoms, NULL);
        ap_add_string(model, symptom, "title", "GPU utilization below 80 %");
        ap_add_string(model, symptom, "metric", "gpu.utilization_ratio");
        ap_add_ratio(model, symptom, "threshold", 0.8);
        if (i < 2) {
            ap_add_ratio(model, symptom, "value", i ? 0.9 : 0.396);
            ap_add_bool(model, symptom, "present", i == 0);
        } else {
            ap_add_null(model, symptom, "value");
            ap_add_null(model, symptom, "present");
        }
    }
}

static void sample_affected(struct sample *sample, struct ap_value *list, enum ap_value_type unit, int64_t amount)
{
    struct ap_model *model = sample->model;
    struct ap_value *row = ap_add_object(model, list, NULL);
    sample_named_text(sample, row, "name");
    if (unit == AP_VALUE_TIME_NS)
        ap_add_time(model, row, "us", amount);
    else
        ap_add_null(model, row, "us");
    ap_add_known_bytes(model, row, "bytes", unit == AP_VALUE_BYTES, amount);
    ap_add_known_count(model, row, "count", unit == AP_VALUE_COUNT, amount);
}

static void sample_finding(struct sample *sample, struct ap_value *findings, const char *severity)
{
    struct ap_model *model = sample->model;
    struct ap_value *finding = ap_add_object(model, findings, NULL);
    ap_add_string(model, finding, "rule_id", "dataloader-wait");
    ap_add_string(model, finding, "title", "The training loop waits for data");
    ap_add_string(model, finding, "severity", severity);
    ap_add_string(model, finding, "confidence", "medium");
    ap_add_string(model, finding, "bottleneck", "data-load-bound");
    ap_add_string(model, finding, "hardware", "any");
    sample_named_text(sample, finding, "observation");
    ap_add_string(model, finding, "hypothesis", "Workers are too few (num_workers=0) and 3 < 5.");
    ap_add_string(model, finding, "action", "Set `num_workers=4`, then torch.cuda.empty_cache() once.");
    ap_add_string(model, finding, "trade_off", "Workers take host memory.");
    ap_add_string(model, finding, "validation", "cpu.signals.dataloader.count falls.");
    ap_add_time(model, finding, "saves_us", 1034551204);
    ap_add_null(model, finding, "saves_bytes");
    struct ap_value *gain = ap_add_object(model, finding, "gain");
    sample_named_text(sample, gain, "whole");
    ap_add_ratio(model, gain, "share_ratio", 0.3333);
    ap_add_ratio(model, gain, "speedup_bound_ratio", 1.5);
    struct ap_value *place = ap_add_object(model, ap_add_list(model, finding, "places"), NULL);
    sample_named_text(sample, place, "name");
    ap_add_time(model, place, "start_us", 1623142624148124125);
    ap_add_time(model, place, "dur_us", 20491000);
    ap_add_null(model, place, "pid");
    ap_add_text(model, place, "tid", sample_name(sample));
    struct ap_value *affected = ap_add_list(model, finding, "affected");
    sample_affected(sample, affected, AP_VALUE_TIME_NS, 20500000);
    sample_affected(sample, affected, AP_VALUE_BYTES, 2048);
    sample_affected(sample, affected, AP_VALUE_COUNT, 12);
    sample_affected(sample, affected, AP_VALUE_COUNT, 1);
    sample_named_text(sample, finding, "verify_command");
    struct ap_value *evidence = ap_add_object(model, ap_add_list(model, finding, "evidence"), NULL);
    ap_add_string(model, evidence, "metric", "cpu.signals.dataloader.window_share_ratio");
    ap_add_string(model, evidence, "op", ">");
    ap_add_ratio(model, evidence, "value", 0.3961);
    ap_add_ratio(model, evidence, "threshold", 0.05);
    ap_add_text(model, ap_add_list(model, finding, "missing"), NULL, sample_name(sample));
}

static void sample_rest(struct sample *sample)
{
    struct ap_model *model = sample->model;
    ap_add_string(model, &model->root, "phase", "backward");
    struct ap_value *context = ap_add_object(model, &model->root, "context");
    ap_add_text_named(model, context, AP_TEXT("commit"), sample_name(sample));
    ap_add_count(model, &model->root, "findings_left_out", 3);
    struct ap_value *findings = ap_add_list(model, &model->root, "findings");
    sample_finding(sample, findings, "high");
    sample_finding(sample, findings, "info");
    struct ap_value *rules = ap_add_list(model, &model->root, "not_evaluated");
    for (int i = 0; i < 2; i++) {
        struct ap_value *rule = ap_add_object(model, rules, NULL);
        ap_add_string(model, rule, "rule_id", i ? "slack" : "fragmentation");
        ap_add_string(model, ap_add_list(model, rule, "missing"), NULL, "a memory snapshot (--memory-json)");
    }
    struct ap_value *warnings = ap_add_list(model, &model->root, "warnings");
    static const char *const codes[] = { "input-cut", "dur-missing" };
    for (size_t i = 0; i < AP_COUNT_OF(codes); i++) {
        struct ap_value *warning = ap_add_object(model, warnings, NULL);
        ap_add_string(model, warning, "code", codes[i]);
        ap_add_string(model, warning, "severity", "loss");
        sample_named_text(sample, warning, "input");
        sample_named_text(sample, warning, "message");
        ap_add_count(model, warning, "count", 1);
        ap_add_count(model, warning, "first_byte_offset", 1048577);
    }
}

#define SAMPLE_PART_COUNT 8

/** @wanted: a bit for each part that it has. */
static inline void sample_fill_parts(struct ap_model *model, const struct ap_text *names, size_t name_count, unsigned wanted)
{
    static void (*const parts[SAMPLE_PART_COUNT])(struct sample *) = { sample_memory,        sample_cpu,     sample_trace,
                                                                       sample_steps_and_gpu, sample_compute, sample_split,
                                                                       sample_rest,          sample_verdict };
    struct sample sample = { .model = model, .names = names, .name_count = name_count };
    ap_add_string(model, &model->root, "schema_version", "1.0");
    struct ap_value *generator = ap_add_object(model, &model->root, "generator");
    ap_add_string(model, generator, "name", "analyze_profile");
    ap_add_string(model, generator, "version", "0.1.0");
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        if (wanted >> i & 1)
            parts[i](&sample);
}

/** Fill @model, which is fresh. The names are read in turn, over and over; none = a harmless one. */
static inline void sample_fill(struct ap_model *model, const struct ap_text *names, size_t name_count)
{
    sample_fill_parts(model, names, name_count, ~0u);
}

#endif
