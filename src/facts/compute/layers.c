/* SPDX-License-Identifier: MIT
 * layers.c - each host row gets the layer that is open around it; rows of backward that of the operator that made their
 * node. */
#include "layers.h"

#include "pair_map.h"
#include "sort.h"
#include "user_frame.h"

#include "poison.h"

#define BACKWARD UINT32_C(0x80000000)
#define NO_LAYER UINT32_C(0x7fffffff)

struct finding {
    struct ap_layers *layers;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_user_frames frames;
    struct ap_pair_map paths;     /* (layer around it, class) */
    struct ap_pair_map instances; /* (layer, name) */
    uint32_t *of_row;             /* layer, or NO_LAYER; with BACKWARD where it is reached from there */
};

static bool is_module(struct finding *finding, uint32_t row)
{
    return ap_row_kind(finding->trace->events.tag[row]) == AP_KIND_python &&
           ap_is_module_frame(&finding->frames, finding->trace->events.name[row]);
}

static bool has_modules(struct finding *finding)
{
    for (size_t i = 0; i < finding->facts->order.count; i++)
        if (is_module(finding, finding->facts->order.rows[i]))
            return true;
    return false;
}

static void add_ns(struct finding *finding, int64_t *sum_ns, int64_t ns)
{
    *sum_ns = ap_add_sat(*sum_ns, ns, &finding->layers->overflowed);
}

/* ---- rows ---- */

static enum ap_status open_layer(struct finding *finding, uint32_t row, uint32_t around, uint32_t *ret_layer,
                                 struct ap_error *reterr)
{
    struct ap_layers *layers = finding->layers;
    struct ap_text text = ap_module_class(ap_row_name(finding->trace, row));
    struct ap_str class_name;
    uint32_t number, instance, paths = finding->paths.count, instances = finding->instances.count;
    AP_TRY(ap_strpool_intern(&layers->classes, text.data, text.bytes, &class_name, reterr));
    AP_TRY(ap_pair_map_add(&finding->paths, around, class_name.id, &number, reterr));
    if (number == paths) {
        AP_TRY(AP_RESERVE(layers->gate, layers->layers, layers->capacity, (size_t)number + 1, reterr));
        layers->layers[layers->count++] =
            (struct ap_layer){ .parent = around == NO_LAYER ? AP_PAIR_NONE : around, .class_id = class_name.id };
    }
    AP_TRY(ap_pair_map_add(&finding->instances, number, finding->trace->events.name[row], &instance, reterr));
    layers->layers[number].instances += instance == instances;
    layers->layers[number].calls++;
    add_ns(finding, &layers->layers[number].host_ns, finding->trace->events.dur_ns[row]);
    if (around != NO_LAYER)
        add_ns(finding, &layers->layers[around].host_ns, -finding->trace->events.dur_ns[row]);
    *ret_layer = number;
    return AP_OK;
}

/* Rows stand behind those around them. What a row has already, as a node of backward, stays. */
static enum ap_status go_over_rows(struct finding *finding, bool opens, struct ap_error *reterr)
{
    for (struct ap_placed_rows at = ap_placed_rows(&finding->facts->order, finding->trace, AP_HOST_KINDS);
         ap_placed_rows_next(&at);) {
        uint32_t row = at.row, parent = ap_host_parent(&finding->facts->tree, row), *layer = &finding->of_row[row];
        if (*layer != NO_LAYER)
            continue;
        *layer = parent == AP_NO_ROW ? NO_LAYER : finding->of_row[parent];
        if (opens && is_module(finding, row))
            AP_TRY(open_layer(finding, row, *layer, layer, reterr));
    }
    return AP_OK;
}

static enum ap_status go_over_backward(struct finding *finding, struct ap_error *reterr)
{
    const struct ap_facts *facts = finding->facts;
    struct ap_autograd autograd;
    enum ap_status status =
        ap_autograd_init(&autograd, finding->trace, &facts->order, &facts->tree, finding->layers->gate, reterr);
    bool any = false;
    for (size_t i = 0; status == AP_OK && i < autograd.node_count; i++) {
        const struct ap_autograd_node *node = &autograd.nodes[i];
        uint32_t layer = node->producer == AP_NO_ROW ? NO_LAYER : finding->of_row[node->producer];
        if (layer != NO_LAYER && finding->of_row[node->row] == NO_LAYER) {
            finding->of_row[node->row] = layer | BACKWARD;
            any = true;
        }
    }
    ap_autograd_release(&autograd);
    return status == AP_OK && any ? go_over_rows(finding, false, reterr) : status;
}

static struct ap_layer *layer_of(struct finding *finding, uint32_t row, bool *ret_backward)
{
    uint32_t layer = row == AP_NO_ROW ? NO_LAYER : finding->of_row[row];
    *ret_backward = layer != NO_LAYER && (layer & BACKWARD);
    return layer == NO_LAYER ? &finding->layers->outside : &finding->layers->layers[layer & ~BACKWARD];
}

/* ---- work ---- */

static void add_device_work(struct finding *finding)
{
    const struct ap_links *links = &finding->facts->links;
    for (size_t i = 0; i < links->count; i++) {
        bool backward;
        struct ap_layer *layer = layer_of(finding, ap_work_cause(finding->trace, ap_device_row_at(links, i)), &backward);
        add_ns(finding, backward ? &layer->backward_device_ns : &layer->forward_device_ns,
               finding->trace->events.dur_ns[links->row[i]]);
    }
}

static void add_calls(struct finding *finding, const struct ap_compute *compute, const struct ap_roofline *rooflines)
{
    struct ap_compute_group room;
    for (uint32_t row = 0, call = 0; call < compute->counted.count; row++) {
        bool backward;
        row = ap_row_set_next(&compute->counted, row);
        uint32_t number = compute->group_of[call++];
        const struct ap_compute_group *group = ap_compute_group_at(compute, number, &room);
        struct ap_layer *layer = layer_of(finding, row, &backward);
        *(backward ? &layer->backward_flops : &layer->forward_flops) += ap_compute_matrix_flops(&group->cost);
        if (rooflines && group->timed_count)
            layer->lost_ns += rooflines[number].lost_ns / group->timed_count;
        if (!backward)
            layer->weights += ap_compute_parameters(compute, group);
    }
}

/* The innermost host row that was open on the thread. */
static uint32_t open_row(const struct finding *finding, uint32_t track, int64_t at_ns)
{
    const struct ap_row_order *order = &finding->facts->order;
    size_t first = order->track_start[track], low = first, depth = 0;
    AP_BISECT(low, order->track_start[track + 1], at, finding->trace->events.start_ns[order->rows[at]] <= at_ns);
    uint32_t row = low > first ? order->rows[low - 1] : AP_NO_ROW;
    while (row != AP_NO_ROW && ap_row_end_ns(finding->trace, row) < at_ns && depth++ < AP_NESTING_MAX)
        row = ap_host_parent(&finding->facts->tree, row);
    return depth > AP_NESTING_MAX ? AP_NO_ROW : row;
}

static void add_allocations(struct finding *finding)
{
    const struct ap_trace *trace = finding->trace;
    for (size_t i = 0; i < trace->memory_instant_count; i++) {
        const struct ap_memory_event *event = &trace->memory_instants[i];
        bool backward;
        if (event->bytes <= 0 || event->out_of_memory || event->track >= finding->facts->order.track_count ||
            (finding->facts->links.count && event->device_id < 0))
            continue;
        layer_of(finding, open_row(finding, event->track, event->start_ns), &backward)->allocated_bytes +=
            (double)event->bytes;
        finding->layers->knows_memory = true;
    }
}

static enum ap_status find_all(struct finding *finding, const struct ap_compute *compute,
                               const struct ap_roofline *rooflines, struct ap_error *reterr)
{
    size_t count = finding->trace->events.count;
    AP_TRY(ap_user_frames_init(&finding->frames, finding->trace, finding->layers->gate, reterr));
    if (!has_modules(finding))
        return AP_OK;
    AP_TRY(AP_ALLOC(finding->layers->gate, finding->of_row, count, reterr));
    for (size_t row = 0; row < count; row++)
        finding->of_row[row] = NO_LAYER;
    AP_TRY(go_over_rows(finding, true, reterr));
    AP_TRY(go_over_backward(finding, reterr));
    add_device_work(finding);
    add_calls(finding, compute, rooflines);
    add_allocations(finding);
    return AP_OK;
}

enum ap_status ap_layers_init(struct ap_layers *layers, const struct ap_facts *facts, const struct ap_compute *compute,
                              const struct ap_roofline *rooflines, struct ap_gate *gate, struct ap_error *reterr)
{
    struct finding finding = { .layers = layers, .facts = facts, .trace = facts->trace };
    *layers = (struct ap_layers){ .gate = gate };
    finding.paths.gate = finding.instances.gate = gate;
    ap_strpool_init(&layers->classes, gate);
    enum ap_status status = find_all(&finding, compute, rooflines, reterr);
    AP_FREE(gate, finding.of_row, facts->trace->events.count);
    ap_pair_map_release(&finding.paths);
    ap_pair_map_release(&finding.instances);
    ap_user_frames_release(&finding.frames);
    return status;
}

void ap_layers_release(struct ap_layers *layers)
{
    AP_FREE(layers->gate, layers->layers, layers->capacity);
    ap_strpool_release(&layers->classes);
    *layers = (struct ap_layers){ .gate = layers->gate };
}

double ap_layer_parameters(const struct ap_layer *layer)
{
    return layer->calls ? layer->weights / layer->calls * layer->instances : 0;
}
