/* SPDX-License-Identifier: MIT
 * graph_mapping.c - calls that tell what they launch are believed; where none does, a call launched what its correlation
 * links it to. While a graph is captured nothing runs, so there is nothing to link then. */
#include "graph_mapping.h"

#include "host_chain.h"
#include "op_formula.h"

#include "poison.h"

#define LEVELS_MAX 16 /* operators between a kernel and the call whose work it does */

struct building {
    struct ap_graph_mapping *mapping;
    struct ap_trace *whole;
    const struct ap_trace *from;
    const struct ap_row_order *order;
    const struct ap_host_tree *tree;
    const struct ap_links *links;
    const struct ap_call_kinds *calls;
    struct ap_host_chains chains;
    uint32_t *names;        /* of from, in whole; 0 = not yet */
    uint32_t *signatures;   /* likewise */
    uint32_t *kernel_of;    /* by row of a call: name of its kernel; NULL where calls tell it */
    uint32_t last_op, call; /* row of the operator of the kernel before; number of its call */
};

/* ---- from one trace to the other ---- */

static enum ap_status name_in_whole(struct building *building, uint32_t id, uint32_t *ret_id, struct ap_error *reterr)
{
    *ret_id = 0;
    if (!id)
        return AP_OK;
    if (!building->names[id]) {
        struct ap_text text = ap_trace_text(building->from, id);
        struct ap_str whole;
        AP_TRY(ap_strpool_intern(&building->whole->strings, text.data, text.bytes, &whole, reterr));
        building->names[id] = whole.id;
    }
    *ret_id = building->names[id];
    return AP_OK;
}

static enum ap_status signature_in_whole(struct building *building, struct ap_str signature, struct ap_str *ret_signature,
                                         struct ap_error *reterr)
{
    *ret_signature = (struct ap_str){ 0 };
    if (!signature.id)
        return AP_OK;
    if (!building->signatures[signature.id]) {
        struct ap_text text = ap_strpool_text(&building->from->signatures, signature);
        struct ap_str whole;
        AP_TRY(ap_strpool_intern(&building->whole->signatures, text.data, text.bytes, &whole, reterr));
        building->signatures[signature.id] = whole.id;
    }
    ret_signature->id = building->signatures[signature.id];
    return AP_OK;
}

/* ---- one kernel ---- */

static bool counts(const struct building *building, uint32_t op)
{
    const struct ap_op_detail *detail = ap_row_op(building->from, op);
    return detail && detail->signature.id && ap_op_formula_of(ap_row_name(building->from, op)) != AP_FORMULA_none;
}

/* The innermost operator whose work can be counted, else the innermost one. */
static uint32_t op_of(const struct building *building, uint32_t call)
{
    uint32_t innermost = ap_host_around(building->tree, building->from, call, 1u << AP_KIND_operator), op = innermost;
    for (int level = 0; op != AP_NO_ROW && level < LEVELS_MAX; level++) {
        if (counts(building, op))
            return op;
        op = ap_host_around(building->tree, building->from, op, 1u << AP_KIND_operator);
    }
    return innermost;
}

static enum ap_status add_kernel(struct building *building, uint32_t call, uint32_t kernel, struct ap_error *reterr)
{
    struct ap_graph_mapping *mapping = building->mapping;
    struct ap_mapped_kernel mapped = { .kernel = 0 };
    uint32_t op = op_of(building, call);
    const struct ap_op_detail *detail = op == AP_NO_ROW ? NULL : ap_row_op(building->from, op);
    AP_TRY(name_in_whole(building, kernel, &mapped.kernel, reterr));
    AP_TRY(name_in_whole(building, ap_row_name_id(building->from, op), &mapped.op, reterr));
    AP_TRY(name_in_whole(building, ap_row_name_id(building->from, ap_host_chain_of(&building->chains, call).line),
                         &mapped.line, reterr));
    if (detail) {
        AP_TRY(signature_in_whole(building, detail->signature, &mapped.signature, reterr));
        AP_TRY(signature_in_whole(building, ap_op_arguments(building->from, detail), &mapped.arguments, reterr));
    }
    building->call += op != building->last_op;
    building->last_op = op;
    mapped.call = op == AP_NO_ROW ? 0 : building->call;
    AP_TRY_ADD(mapping->gate, mapping->kernels, mapping->count, mapping->capacity, reterr, mapped);
    mapping->sequences[mapping->sequence_count - 1].count++;
    return AP_OK;
}

/* ---- all of them ---- */

static enum ap_status begin_sequence(struct building *building, bool is_capture, struct ap_error *reterr)
{
    struct ap_graph_mapping *mapping = building->mapping;
    struct ap_mapped_sequence sequence = { .first = mapping->count, .is_capture = is_capture };
    AP_TRY_ADD(mapping->gate, mapping->sequences, mapping->sequence_count, mapping->sequence_capacity, reterr, sequence);
    return AP_OK;
}

static uint32_t kernel_of(const struct building *building, uint32_t call)
{
    return building->kernel_of ? building->kernel_of[call] : ap_row_launched_name(building->from, call).id;
}

static enum ap_status take_track(struct building *building, size_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = building->order;
    AP_TRY(begin_sequence(building, false, reterr));
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = order->rows[i];
        if (ap_row_kind(building->from->events.tag[row]) != AP_KIND_runtime)
            continue;
        if (ap_call_kind_of(building->calls, building->from, row) == AP_CALL_graph) {
            struct ap_text name = ap_row_name(building->from, row);
            bool begins = ap_text_contains_folded(name, "begincapture");
            if (begins || ap_text_contains_folded(name, "endcapture"))
                AP_TRY(begin_sequence(building, begins, reterr));
            continue;
        }
        uint32_t kernel = kernel_of(building, row);
        if (kernel)
            AP_TRY(add_kernel(building, row, kernel, reterr));
    }
    return AP_OK;
}

static void link_kernels(struct building *building)
{
    const struct ap_links *links = building->links;
    for (size_t i = 0; i < links->count; i++) {
        struct ap_device_row linked = ap_device_row_at(links, i);
        if (linked.launch != AP_NO_ROW && ap_row_kind(building->from->events.tag[linked.row]) == AP_KIND_kernel &&
            ap_call_kind_of(building->calls, building->from, linked.launch) != AP_CALL_graph_launch)
            building->kernel_of[linked.launch] = building->from->events.name[linked.row];
    }
}

static enum ap_status build(struct building *building, struct ap_error *reterr)
{
    const struct ap_trace *from = building->from;
    struct ap_gate *gate = building->mapping->gate;
    AP_TRY(ap_host_chains_init(&building->chains, from, building->tree, gate, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, building->names, ap_trace_id_count(from), reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, building->signatures, (size_t)ap_strpool_count(&from->signatures) + 1, reterr));
    if (!from->launched_name_count && from->events.count) {
        AP_TRY(AP_ALLOC_CLEARED(gate, building->kernel_of, from->events.count, reterr));
        link_kernels(building);
    }
    for (size_t track = 0; track < building->order->track_count; track++)
        AP_TRY(take_track(building, track, reterr));
    return AP_OK;
}

enum ap_status ap_graph_mapping_init(struct ap_graph_mapping *mapping, struct ap_trace *whole, const struct ap_trace *from,
                                     const struct ap_row_order *order, const struct ap_host_tree *tree,
                                     const struct ap_links *links, const struct ap_call_kinds *calls, struct ap_gate *gate,
                                     struct ap_error *reterr)
{
    struct building building = { .mapping = mapping,
                                 .whole = whole,
                                 .from = from,
                                 .order = order,
                                 .tree = tree,
                                 .links = links,
                                 .calls = calls,
                                 .last_op = AP_NO_ROW };
    *mapping = (struct ap_graph_mapping){ .gate = gate };
    enum ap_status status = build(&building, reterr);
    ap_host_chains_release(&building.chains);
    AP_FREE(gate, building.names, ap_trace_id_count(from));
    AP_FREE(gate, building.signatures, (size_t)ap_strpool_count(&from->signatures) + 1);
    AP_FREE(gate, building.kernel_of, from->events.count);
    return status;
}

void ap_graph_mapping_release(struct ap_graph_mapping *mapping)
{
    AP_FREE(mapping->gate, mapping->kernels, mapping->capacity);
    AP_FREE(mapping->gate, mapping->sequences, mapping->sequence_capacity);
    *mapping = (struct ap_graph_mapping){ .gate = mapping->gate };
}
