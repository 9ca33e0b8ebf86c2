/* SPDX-License-Identifier: MIT
 * compute_layers.c - the model's layers, those first that keep the device busy longest. Each has its own work only, so that
 * listed ones, the rest and what is outside add up to the whole. */
#include "compute_part.h"
#include "layers.h"
#include "pair_map.h"
#include "sort.h"

#include "poison.h"

#define PATH_BYTES 240
#define DEPTH_MAX 32 /* classes of a path that are shown, from the inside */

static int64_t device_ns(const struct ap_layer *layer)
{
    return layer->forward_device_ns + layer->backward_device_ns;
}

static bool layer_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_layers *layers = context;
    const struct ap_layer *x = &layers->layers[a], *y = &layers->layers[b];
    AP_LARGER_FIRST(device_ns(x), device_ns(y));
    AP_LARGER_FIRST(x->forward_flops + x->backward_flops, y->forward_flops + y->backward_flops);
    AP_LARGER_FIRST(x->host_ns, y->host_ns);
    return a < b;
}

/* "GPT > Block > Linear", from the inside as far as there is room. */
static void add_path(const struct ap_layers *layers, uint32_t index, struct ap_model *model, struct ap_value *row)
{
    char path[PATH_BYTES];
    size_t start = sizeof(path), depth = 0;
    for (; index != AP_PAIR_NONE && depth < DEPTH_MAX; index = layers->layers[index].parent, depth++) {
        struct ap_text name = ap_strpool_text(&layers->classes, (struct ap_str){ layers->layers[index].class_id });
        size_t needed = name.bytes + (depth ? 3 : 0);
        if (needed > start)
            break;
        start -= depth ? 3 : 0;
        memcpy(path + start, " > ", depth ? 3 : 0);
        start -= name.bytes;
        memcpy(path + start, name.data, name.bytes);
    }
    ap_add_known_text(model, row, "path", start < sizeof(path), (struct ap_text){ path + start, sizeof(path) - start });
}

static void add_work(const struct ap_compute_work *work, const struct ap_layers *layers, const struct ap_layer *layer,
                     struct ap_model *model, struct ap_value *row)
{
    bool on_device = !work->compute.is_host;
    ap_add_known_time(model, row, "device_us", on_device, device_ns(layer));
    ap_add_known_time(model, row, "forward_device_us", on_device, layer->forward_device_ns);
    ap_add_known_time(model, row, "backward_device_us", on_device, layer->backward_device_ns);
    ap_compute_add_flops(model, row, "flops", layer->forward_flops + layer->backward_flops);
    ap_compute_add_flops(model, row, "backward_flops", layer->backward_flops);
    ap_add_known_time(model, row, "lost_us", on_device && work->has_device, ap_compute_ns(layer->lost_ns));
    ap_add_known_bytes(model, row, "allocated_bytes", layers->knows_memory, ap_compute_ns(layer->allocated_bytes));
}

static void add_layer(const struct ap_compute_work *work, const struct ap_layers *layers, uint32_t index,
                      struct ap_model *model, struct ap_value *list)
{
    const struct ap_layer *layer = &layers->layers[index];
    struct ap_value *row = ap_add_object(model, list, NULL);
    add_path(layers, index, model, row);
    ap_add_count(model, row, "instances", layer->instances);
    ap_add_count(model, row, "calls", layer->calls);
    ap_add_time(model, row, "host_us", layer->host_ns);
    add_work(work, layers, layer, model, row);
    ap_add_count(model, row, "parameters", ap_compute_ns(ap_layer_parameters(layer)));
}

static void sum_layer(const struct ap_compute_work *work, struct ap_layer *sum, const struct ap_layer *layer)
{
    bool *overflowed = &work->context->overflowed;
    sum->host_ns = ap_add_sat(sum->host_ns, layer->host_ns, overflowed);
    sum->forward_device_ns = ap_add_sat(sum->forward_device_ns, layer->forward_device_ns, overflowed);
    sum->backward_device_ns = ap_add_sat(sum->backward_device_ns, layer->backward_device_ns, overflowed);
    sum->forward_flops += layer->forward_flops;
    sum->backward_flops += layer->backward_flops;
    sum->lost_ns += layer->lost_ns;
    sum->allocated_bytes += layer->allocated_bytes;
}

static void add_sum(const struct ap_compute_work *work, const struct ap_layers *layers, const char *key,
                    const struct ap_layer *sum, struct ap_model *model, struct ap_value *to)
{
    add_work(work, layers, sum, model, ap_add_object(model, to, key));
}

static enum ap_status add_all(const struct ap_compute_work *work, const struct ap_layers *layers, struct ap_model *model,
                              struct ap_value *to, struct ap_error *reterr)
{
    struct ap_layer all = layers->outside, other = { .parent = AP_PAIR_NONE };
    double parameters = 0;
    uint32_t *top;
    size_t count, listed = 0;
    AP_TRY(ap_top_indices(work->context->gate, layers->count, 0, layer_before, layers, &top, &count, reterr));
    listed = work->context->options->top_n && work->context->options->top_n < count ? work->context->options->top_n : count;
    for (size_t i = 0; i < count; i++) {
        sum_layer(work, &all, &layers->layers[top[i]]);
        parameters += ap_layer_parameters(&layers->layers[top[i]]);
        if (i >= listed)
            sum_layer(work, &other, &layers->layers[top[i]]);
    }
    struct ap_value *object = ap_add_object(model, to, "layers");
    ap_add_count(model, object, "count", layers->count);
    ap_add_known_count(model, object, "parameters", parameters > 0, ap_compute_ns(parameters));
    add_sum(work, layers, "total", &all, model, object);
    struct ap_value *list = ap_add_list(model, object, "items");
    for (size_t i = 0; i < listed; i++)
        add_layer(work, layers, top[i], model, list);
    add_sum(work, layers, "other", &other, model, object);
    add_sum(work, layers, "outside", &layers->outside, model, object);
    AP_FREE(work->context->gate, top, count);
    return AP_OK;
}

enum ap_status ap_compute_add_layers(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to,
                                     struct ap_error *reterr)
{
    struct ap_layers layers;
    enum ap_status status = ap_layers_init(&layers, work->context->facts, &work->compute,
                                           work->is_rated ? work->rooflines : NULL, work->context->gate, reterr);
    ap_note_overflow(work->context, layers.overflowed);
    if (status == AP_OK && !layers.count)
        ap_add_null(model, to, "layers");
    else
        AP_AND_THEN(status, add_all(work, &layers, model, to, reterr));
    ap_layers_release(&layers);
    return status;
}
