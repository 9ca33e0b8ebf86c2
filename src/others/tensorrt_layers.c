/* SPDX-License-Identifier: MIT
 * tensorrt_layers.c - layers by time, type and precision; what only changes layouts. */
#include <stdio.h>

#include "sort.h"
#include "tensorrt.h"

#include "poison.h"

/* ------------------------------------------------------------------------------------------------------------- join */

/* Which of its name each row is, from 0 on. */
static uint32_t next_of_name(uint32_t *counts, struct ap_str name)
{
    return counts[name.id]++;
}

static enum ap_status join(struct ap_trt *trt, uint32_t *counts, struct ap_pair_map *map, struct ap_error *reterr)
{
    size_t names = (size_t)ap_strpool_count(&trt->strings) + 1;
    for (size_t i = 0; i < trt->description_count; i++) {
        struct ap_str name = trt->descriptions[i].name;
        uint32_t number;
        AP_TRY(ap_pair_map_add(map, name.id, next_of_name(counts, name), &number, reterr)); /* the number is i */
    }
    for (size_t i = 0; i < names; i++)
        counts[i] = 0;
    for (size_t i = 0; i < trt->layer_count; i++) {
        struct ap_trt_layer *layer = &trt->layers[i];
        layer->described =
            layer->name.id ? ap_pair_map_find(map, layer->name.id, next_of_name(counts, layer->name)) : AP_PAIR_NONE;
    }
    return AP_OK;
}

enum ap_status ap_trt_join(struct ap_trt *trt, struct ap_error *reterr)
{
    struct ap_pair_map map = { .gate = trt->gate };
    size_t names = (size_t)ap_strpool_count(&trt->strings) + 1;
    uint32_t *counts;
    if (!trt->description_count || !trt->layer_count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(trt->gate, counts, names, reterr));
    enum ap_status status = join(trt, counts, &map, reterr);
    ap_pair_map_release(&map);
    AP_FREE(trt->gate, counts, names);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- sums */

static struct ap_text text_of(const struct ap_trt *trt, struct ap_str text)
{
    return ap_strpool_text(&trt->strings, text);
}

static struct ap_trt_description describe(const struct ap_trt *trt, const struct ap_trt_layer *layer)
{
    if (layer->described == AP_PAIR_NONE)
        return (struct ap_trt_description){ .name = layer->name };
    return trt->descriptions[layer->described];
}

/* By its type, else by the name that TensorRT gives such layers. */
static bool is_described_reformat(const struct ap_trt *trt, const struct ap_trt_description *description)
{
    struct ap_text type = text_of(trt, description->type);
    if (type.bytes)
        return ap_text_is(type, "Reformat");
    return ap_text_starts_with(text_of(trt, description->name), "Reformatting CopyNode");
}

static bool is_reformat(const struct ap_trt *trt, const struct ap_trt_layer *layer)
{
    struct ap_trt_description description = describe(trt, layer);
    return is_described_reformat(trt, &description);
}

static bool is_in_few_bits(struct ap_text precision)
{
    return precision.bytes && !ap_text_is(precision, "FP32") && !ap_text_starts_with(precision, "INT32") &&
           !ap_text_starts_with(precision, "INT64") && !ap_text_is(precision, "BOOL");
}

struct sum {
    uint64_t count;
    int64_t total_ns;
};

struct sums {
    struct sum all, reformats, fp32, low, described;
};

static void add_to(struct ap_trt *trt, struct sum *sum, const struct ap_trt_layer *layer)
{
    sum->count++;
    sum->total_ns = ap_add_sat(sum->total_ns, layer->mean_ns, &trt->overflowed);
}

static void sum_layers(struct ap_trt *trt, struct sums *sums)
{
    for (size_t i = 0; i < trt->layer_count; i++) {
        const struct ap_trt_layer *layer = &trt->layers[i];
        struct ap_text precision = text_of(trt, describe(trt, layer).precision);
        bool reformat = is_reformat(trt, layer);
        add_to(trt, &sums->all, layer);
        if (reformat)
            add_to(trt, &sums->reformats, layer);
        if (!precision.bytes)
            continue;
        add_to(trt, &sums->described, layer);
        if (!reformat && ap_text_is(precision, "FP32"))
            add_to(trt, &sums->fp32, layer);
        else if (!reformat && is_in_few_bits(precision))
            add_to(trt, &sums->low, layer);
    }
}

static void add_sum(const struct sums *sums, const struct sum *sum, bool known, const char *key, struct ap_model *model,
                    struct ap_value *parent)
{
    struct ap_value *to = ap_add_object(model, parent, key);
    ap_add_known_count(model, to, "count", known, (int64_t)sum->count);
    ap_add_known_time(model, to, "total_us", known, sum->total_ns);
    ap_add_quotient(model, to, "share_ratio", (double)sum->total_ns, known ? (double)sums->all.total_ns : 0);
}

/* ------------------------------------------------------------------------------------------------------------- rows */

static bool is_larger(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_trt_layer *layers = context;
    AP_LARGER_FIRST(layers[a].mean_ns, layers[b].mean_ns);
    return a < b;
}

static void add_name(const struct ap_trt *trt, struct ap_model *model, struct ap_value *to, const char *key,
                     struct ap_str name)
{
    ap_add_known_text(model, to, key, name.id && text_of(trt, name).bytes, text_of(trt, name));
}

static void add_layer(const struct ap_trt *trt, const struct ap_trt_layer *layer, int64_t whole_ns, struct ap_model *model,
                      struct ap_value *list)
{
    struct ap_trt_description described = describe(trt, layer);
    struct ap_value *row = ap_add_object(model, list, NULL);
    add_name(trt, model, row, "name", layer->name);
    add_name(trt, model, row, "type", described.type);
    add_name(trt, model, row, "precision", described.precision);
    ap_add_bool(model, row, "is_reformat", is_reformat(trt, layer));
    ap_add_time(model, row, "mean_us", layer->mean_ns);
    ap_add_known_time(model, row, "p50_us", layer->median_ns >= 0, layer->median_ns);
    ap_add_quotient(model, row, "share_ratio", (double)layer->mean_ns, (double)whole_ns);
    add_name(trt, model, row, "tactic", described.tactic);
}

static enum ap_status add_rows(const struct ap_trt *trt, int64_t whole_ns, uint64_t top_n, struct ap_model *model,
                               struct ap_value *parent, struct ap_error *reterr)
{
    uint32_t *order = NULL;
    size_t count = 0;
    struct ap_value *list = ap_add_list(model, parent, "rows");
    AP_TRY(ap_top_indices(trt->gate, (uint32_t)trt->layer_count, top_n, is_larger, trt->layers, &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_layer(trt, &trt->layers[order[i]], whole_ns, model, list);
    AP_FREE(trt->gate, order, count);
    return AP_OK;
}

struct kinds {
    struct ap_pair_map map;
    struct kind {
        struct ap_str type, precision;
        struct sum sum;
    } * list;
    size_t capacity;
};

static enum ap_status sum_kinds(struct ap_trt *trt, struct kinds *kinds, struct ap_error *reterr)
{
    for (size_t i = 0; i < trt->layer_count; i++) {
        struct ap_trt_description described = describe(trt, &trt->layers[i]);
        uint32_t number, before = kinds->map.count;
        AP_TRY(ap_pair_map_add(&kinds->map, described.type.id, described.precision.id, &number, reterr));
        AP_TRY(AP_RESERVE(trt->gate, kinds->list, kinds->capacity, kinds->map.count, reterr));
        if (kinds->map.count > before)
            kinds->list[number] = (struct kind){ .type = described.type, .precision = described.precision };
        add_to(trt, &kinds->list[number].sum, &trt->layers[i]);
    }
    return AP_OK;
}

static bool is_larger_kind(const void *context, uint32_t a, uint32_t b)
{
    const struct kind *kinds = context;
    AP_LARGER_FIRST(kinds[a].sum.total_ns, kinds[b].sum.total_ns);
    return a < b;
}

static enum ap_status add_kinds(struct ap_trt *trt, const struct sums *sums, uint64_t top_n, struct ap_model *model,
                                struct ap_value *parent, struct ap_error *reterr)
{
    struct kinds kinds = { .map.gate = trt->gate };
    uint32_t *order = NULL;
    size_t count = 0;
    struct ap_value *list = ap_add_list(model, parent, "kinds");
    enum ap_status status = trt->description_count ? sum_kinds(trt, &kinds, reterr) : AP_OK;
    AP_AND_THEN(status,
                ap_top_indices(trt->gate, kinds.map.count, top_n, is_larger_kind, kinds.list, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct kind *kind = &kinds.list[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        add_name(trt, model, row, "type", kind->type);
        add_name(trt, model, row, "precision", kind->precision);
        ap_add_count(model, row, "count", (int64_t)kind->sum.count);
        ap_add_time(model, row, "total_us", kind->sum.total_ns);
        ap_add_quotient(model, row, "share_ratio", (double)kind->sum.total_ns, (double)sums->all.total_ns);
    }
    AP_FREE(trt->gate, order, count);
    AP_FREE(trt->gate, kinds.list, kinds.capacity);
    ap_pair_map_release(&kinds.map);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- all */

/* Layers that nothing timed: what they are, and what is missing. */
static void judge_untimed(const struct ap_trt *trt, struct ap_other_verdict *ret_verdict)
{
    size_t reformats = 0, fp32 = 0, few_bits = 0;
    for (size_t i = 0; i < trt->description_count; i++) {
        const struct ap_trt_description *description = &trt->descriptions[i];
        struct ap_text precision = text_of(trt, description->precision);
        bool reformat = is_described_reformat(trt, description);
        reformats += reformat;
        fp32 += !reformat && ap_text_is(precision, "FP32");
        few_bits += !reformat && is_in_few_bits(precision);
    }
    ret_verdict->verdict = AP_OTHER_UNKNOWN;
    ret_verdict->confidence = "low";
    char types[80] = "";
    if (fp32 + few_bits)
        (void)snprintf(types, sizeof(types), ", of the others %zu compute in FP32 and %zu in 16 bit or less", fp32,
                       few_bits);
    if (!trt->description_count)
        (void)snprintf(ret_verdict->sentence, sizeof(ret_verdict->sentence), "no layer of the profile has a time");
    else
        (void)snprintf(
            ret_verdict->sentence, sizeof(ret_verdict->sentence),
            "%zu layers are described and none is timed: %zu only change layouts%s; which take the time is told by a "
            "file of exportProfile",
            trt->description_count, reformats, types);
}

static void judge(const struct ap_trt *trt, const struct sums *sums, struct ap_other_verdict *ret_verdict)
{
    if (ret_verdict->window_ns < 0 && trt->layer_count)
        ret_verdict->window_ns = sums->all.total_ns;
    if (ret_verdict->verdict)
        return;
    if (!trt->layer_count || sums->all.total_ns <= 0) {
        judge_untimed(trt, ret_verdict);
        return;
    }
    ret_verdict->verdict = "GPU-bound";
    ret_verdict->confidence = "low";
    (void)snprintf(
        ret_verdict->sentence, sizeof(ret_verdict->sentence),
        "%llu layers take %.3f ms, %.1f %% of it only to change layouts; how long a query takes is told by a file "
        "of exportTimes",
        (unsigned long long)sums->all.count, (double)sums->all.total_ns / 1e6,
        100 * (double)sums->reformats.total_ns / (double)sums->all.total_ns);
}

/* Layers are timed one by one, which costs, and those of side streams count beside the others. */
static void add_against_queries(const struct ap_model *model, const struct sums *sums, struct ap_model *to_model,
                                struct ap_value *to)
{
    int64_t compute_ns = ap_value_integer(ap_value_at(&model->root, "tensorrt.times.parts.compute.p50_us"), 0);
    ap_add_known_number(to_model, to, "query_times", compute_ns > 0 && sums->all.total_ns > 0,
                        compute_ns > 0 ? (double)sums->all.total_ns / (double)compute_ns : 0);
}

enum ap_status ap_trt_add_layers(struct ap_trt *trt, uint64_t top_n, struct ap_model *model, struct ap_value *parent,
                                 struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    struct sums sums = { .all = { 0 } };
    if (!trt->layer_count && !trt->description_count) {
        if (trt->profile_files)
            judge(trt, &sums, ret_verdict);
        ap_add_null(model, parent, "layers");
        return AP_OK;
    }
    struct ap_value *to = ap_add_object(model, parent, "layers");
    bool timed = trt->layer_count;
    sum_layers(trt, &sums);
    bool described = sums.described.count;
    ap_add_known_count(model, to, "count", timed, (int64_t)sums.all.count);
    ap_add_known_count(model, to, "described_count", trt->layer_files, (int64_t)trt->description_count);
    ap_add_known_count(model, to, "iterations", trt->iterations > 0, trt->iterations);
    ap_add_known_time(model, to, "total_us", timed, sums.all.total_ns);
    add_against_queries(model, &sums, model, to);
    add_sum(&sums, &sums.reformats, timed, "reformats", model, to);
    add_sum(&sums, &sums.fp32, timed && described, "fp32", model, to);
    add_sum(&sums, &sums.low, timed && described, "low_precision", model, to);
    AP_TRY(add_kinds(trt, &sums, top_n, model, to, reterr));
    judge(trt, &sums, ret_verdict);
    return add_rows(trt, sums.all.total_ns, top_n, model, to, reterr);
}
