/* SPDX-License-Identifier: MIT
 * tensorrt_part.c - the key "tensorrt": times of queries. */
#include <stdio.h>

#include "quantile.h"
#include "sort.h"
#include "tensorrt.h"

#include "poison.h"

/* As trtexec itself warns: samples/common/sampleReporting.cpp. */
#define ENQUEUE_BOUND 0.8

/* ------------------------------------------------------------------------------------------------------------ times */

enum part { PART_latency, PART_compute, PART_h2d, PART_d2h, PART_enqueue, PART_COUNT_ };

static int64_t part_of(const struct ap_trt_query *query, enum part part)
{
    switch (part) {
    case PART_latency: return query->latency_ns;
    case PART_compute: return query->compute_ns;
    case PART_h2d: return query->h2d_ns;
    case PART_d2h: return query->d2h_ns;
    case PART_enqueue: return query->enqueue_ns;
    case PART_COUNT_: break;
    }
    return -1;
}

/* Of the queries from @first to @end that tell it. */
static struct ap_time_spread spread_of(const struct ap_trt *trt, enum part part, size_t first, size_t end,
                                       int64_t *values_ns)
{
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        int64_t ns = part_of(&trt->queries[i], part);
        if (ns >= 0)
            values_ns[count++] = ns;
    }
    return ap_time_spread_of(values_ns, count);
}

static void add_share(struct ap_model *model, struct ap_value *to, const char *key, const struct ap_time_spread *part,
                      const struct ap_time_spread *compute)
{
    bool known = part->count && compute->count && compute->p50_ns > 0;
    ap_add_known_number(model, to, key, known, known ? (double)part->p50_ns / (double)compute->p50_ns : 0);
}

static int by_compute_start(const void *left, const void *right)
{
    const struct ap_trt_query *a = left, *b = right;
    AP_BY_SMALLER(a->compute_start_ns, b->compute_start_ns);
    AP_BY_SMALLER(a->compute_end_ns, b->compute_end_ns);
    return 0;
}

/* Between the first and the last computation: how long none ran. Puts the queries in the order in which they computed. */
static bool find_idle(struct ap_trt *trt, int64_t *ret_idle_ns, int64_t *ret_window_ns)
{
    int64_t end_ns = -1, start_ns = -1;
    *ret_idle_ns = 0;
    ap_sort(trt->queries, trt->query_count, sizeof(trt->queries[0]), by_compute_start);
    for (size_t i = 0; i < trt->query_count; i++) {
        const struct ap_trt_query *query = &trt->queries[i];
        if (query->compute_start_ns < 0 || query->compute_end_ns < query->compute_start_ns)
            return false;
        if (end_ns >= 0 && query->compute_start_ns > end_ns)
            *ret_idle_ns += query->compute_start_ns - end_ns;
        start_ns = start_ns < 0 ? query->compute_start_ns : start_ns;
        end_ns = query->compute_end_ns > end_ns ? query->compute_end_ns : end_ns;
    }
    *ret_window_ns = end_ns - start_ns;
    return trt->query_count > 1;
}

static int64_t window_of(const struct ap_trt *trt)
{
    int64_t start_ns = INT64_MAX, end_ns = -1;
    for (size_t i = 0; i < trt->query_count; i++) {
        const struct ap_trt_query *query = &trt->queries[i];
        if (query->start_ns >= 0 && query->start_ns < start_ns)
            start_ns = query->start_ns;
        end_ns = query->end_ns > end_ns ? query->end_ns : end_ns;
    }
    return end_ns >= start_ns ? end_ns - start_ns : -1;
}

static void add_first(const struct ap_trt_query *first, const struct ap_time_spread *latency, struct ap_model *model,
                      struct ap_value *to)
{
    bool known = first->latency_ns >= 0 && latency->count > 1;
    int64_t excess_ns = first->latency_ns - latency->p50_ns;
    ap_add_known_time(model, to, "first_us", first->latency_ns >= 0, first->latency_ns);
    ap_add_known_time(model, to, "first_excess_us", known, excess_ns > 0 ? excess_ns : 0);
    ap_add_known_number(model, to, "first_times", known && latency->p50_ns > 0,
                        latency->p50_ns > 0 ? (double)first->latency_ns / (double)latency->p50_ns : 0);
}

/* Clocks fall when a device grows hot: later queries against earlier ones. */
static void add_drift(const struct ap_trt *trt, int64_t *values_ns, struct ap_model *model, struct ap_value *to)
{
    size_t tenth = trt->query_count / 10;
    struct ap_time_spread early = { .count = 0 }, late = { .count = 0 };
    if (tenth >= 10) {
        early = spread_of(trt, PART_compute, tenth, 2 * tenth, values_ns);
        late = spread_of(trt, PART_compute, trt->query_count - tenth, trt->query_count, values_ns);
    }
    bool known = early.count && late.count && early.p50_ns > 0;
    ap_add_known_number(model, to, "drift_times", known, known ? (double)late.p50_ns / (double)early.p50_ns : 0);
}

/* Findings are shares of one query: from one to the next, or its latency where that is longer. */
static void judge(const struct ap_time_spread *spreads, int64_t window_ns, struct ap_other_verdict *ret_verdict)
{
    const struct ap_time_spread *latency = &spreads[PART_latency], *compute = &spreads[PART_compute];
    double compute_ns = (double)compute->p50_ns;
    ret_verdict->window_ns = latency->count ? latency->p50_ns : compute->p50_ns;
    if (compute->count && window_ns / (int64_t)compute->count > ret_verdict->window_ns)
        ret_verdict->window_ns = window_ns / (int64_t)compute->count;
    if (!compute->count || compute->p50_ns <= 0)
        return;
    bool enqueue = spreads[PART_enqueue].count && (double)spreads[PART_enqueue].p50_ns > ENQUEUE_BOUND * compute_ns;
    bool transfer = spreads[PART_h2d].p50_ns >= compute->p50_ns || spreads[PART_d2h].p50_ns >= compute->p50_ns;
    ret_verdict->verdict = enqueue ? "enqueue-bound" : transfer ? "transfer-bound" : "GPU-bound";
    ret_verdict->confidence = compute->count < 10 ? "low" : "high";
    char enqueued[40] = "";
    if (spreads[PART_enqueue].count)
        (void)snprintf(enqueued, sizeof(enqueued), ", is enqueued in %.3f ms", (double)spreads[PART_enqueue].p50_ns / 1e6);
    (void)snprintf(
        ret_verdict->sentence, sizeof(ret_verdict->sentence),
        "of %llu quer%s the median computes for %.3f ms%s, copies for %.3f ms in and %.3f ms out; latency p50 %.3f "
        "ms, p99 %.3f ms",
        (unsigned long long)compute->count, compute->count == 1 ? "y" : "ies", compute_ns / 1e6, enqueued,
        (double)spreads[PART_h2d].p50_ns / 1e6, (double)spreads[PART_d2h].p50_ns / 1e6, (double)latency->p50_ns / 1e6,
        (double)latency->p99_ns / 1e6);
}

/* The member "times", null where no file tells of them. */
static enum ap_status add_times(struct ap_trt *trt, struct ap_model *model, struct ap_value *parent,
                                struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    static const char *const keys[PART_COUNT_] = { "latency", "compute", "h2d", "d2h", "enqueue" };
    struct ap_time_spread spreads[PART_COUNT_];
    int64_t *values_ns, idle_ns, window_ns, computing_ns = 0;
    if (!trt->query_count) {
        ap_add_null(model, parent, "times");
        return AP_OK;
    }
    AP_TRY(AP_ALLOC(trt->gate, values_ns, trt->query_count, reterr));
    struct ap_value *to = ap_add_object(model, parent, "times");
    struct ap_value *parts = ap_add_object(model, to, "parts");
    for (int i = 0; i < PART_COUNT_; i++) {
        spreads[i] = spread_of(trt, (enum part)i, 0, trt->query_count, values_ns);
        ap_time_spread_add(&spreads[i], model, parts, keys[i]);
    }
    add_first(&trt->queries[0], &spreads[PART_latency], model, to);
    struct ap_time_spread later = spread_of(trt, PART_compute, 1, trt->query_count, values_ns);
    ap_add_known_ratio(model, to, "later_cv_ratio", later.count && later.cv_ratio >= 0, later.cv_ratio);
    add_drift(trt, values_ns, model, to);
    AP_FREE(trt->gate, values_ns, trt->query_count);
    window_ns = window_of(trt);
    ap_add_known_time(model, to, "window_us", window_ns >= 0, window_ns);
    ap_add_number_per(model, to, "per_s", (double)trt->query_count, window_ns > 0 ? (double)window_ns / 1e9 : 0);
    add_share(model, to, "enqueue_times", &spreads[PART_enqueue], &spreads[PART_compute]);
    add_share(model, to, "h2d_times", &spreads[PART_h2d], &spreads[PART_compute]);
    add_share(model, to, "d2h_times", &spreads[PART_d2h], &spreads[PART_compute]);
    bool known = find_idle(trt, &idle_ns, &computing_ns);
    ap_add_known_time(model, to, "idle_us", known, idle_ns);
    ap_add_known_time(model, to, "idle_per_query_us", known, idle_ns / (int64_t)trt->query_count);
    ap_add_quotient(model, to, "idle_ratio", (double)idle_ns, known ? (double)computing_ns : 0);
    judge(spreads, window_ns, ret_verdict);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- reader */

static enum ap_status open_reader(struct ap_gate *gate, void **ret_self, struct ap_error *reterr)
{
    struct ap_trt *trt;
    AP_TRY(AP_ALLOC_CLEARED(gate, trt, 1, reterr));
    trt->gate = gate;
    trt->iterations = -1;
    ap_strpool_init(&trt->strings, gate);
    *ret_self = trt;
    return AP_OK;
}

static enum ap_status read_file(void *self, const struct ap_other_input *input, struct ap_notes *notes,
                                struct ap_error *reterr)
{
    struct ap_trt *trt = self;
    struct ap_json_reader *json;
    unsigned *files = input->format == AP_OTHER_tensorrt_times     ? &trt->times_files
                      : input->format == AP_OTHER_tensorrt_profile ? &trt->profile_files
                                                                   : &trt->layer_files;
    if ((*files)++)
        return ap_fail(reterr, AP_ERROR_USAGE, "a second %s: a report is about one engine, give one of each kind",
                       ap_other_name(input->format));
    AP_TRY(ap_json_reader_new(trt->gate, input->source, notes, &input->limits, &json, reterr));
    enum ap_status status = ap_trt_read(trt, json, input, notes, reterr);
    ap_json_reader_free(json);
    return status;
}

static enum ap_status add(void *self, uint64_t top_n, struct ap_notes *notes, struct ap_model *model,
                          struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    struct ap_trt *trt = self;
    struct ap_value *to = ap_add_object(model, &model->root, "tensorrt");
    AP_TRY(ap_trt_join(trt, reterr));
    AP_TRY(add_times(trt, model, to, ret_verdict, reterr));
    AP_TRY(ap_trt_add_layers(trt, top_n, model, to, ret_verdict, reterr));
    ap_note_many(notes, AP_COUNTER_time_overflow, trt->overflowed);
    return AP_OK;
}

static void close_reader(void *self)
{
    struct ap_trt *trt = self;
    struct ap_gate *gate = trt->gate;
    AP_FREE(gate, trt->queries, trt->query_capacity);
    AP_FREE(gate, trt->layers, trt->layer_capacity);
    AP_FREE(gate, trt->descriptions, trt->description_capacity);
    ap_strpool_release(&trt->strings);
    AP_FREE(gate, trt, 1);
}

const struct ap_other_reader ap_tensorrt_reader = { "tensorrt", open_reader, read_file, add, close_reader };
