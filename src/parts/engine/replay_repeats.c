/* SPDX-License-Identifier: MIT
 * replay_repeats.c - the layer that repeats, kernel by kernel, and what of it could be fused. */
#include "layer_repeats.h"
#include "quantile.h"
#include "replay_part.h"
#include "sort.h"

#include "poison.h"

struct adding {
    struct ap_part_context *context;
    struct ap_layer_repeats repeats;
    int64_t all_ns;
};

static uint32_t row_at(const struct adding *adding, size_t at)
{
    return adding->context->facts->links.row[adding->repeats.places[at]];
}

/* Of the kernel at this place of a repeat, in the longest run. */
static int64_t mean_ns(struct adding *adding, size_t position)
{
    const struct ap_kernel_period *period = &adding->repeats.period;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < period->repeats; i++)
        sum_ns = ap_add_sat(
            sum_ns, adding->context->trace->events.dur_ns[row_at(adding, period->first + position + i * period->length)],
            &adding->context->overflowed);
    return sum_ns / (int64_t)period->repeats;
}

static int64_t layer_ns(struct adding *adding)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < adding->repeats.period.length; i++)
        sum_ns = ap_add_sat(sum_ns, mean_ns(adding, i), &adding->context->overflowed);
    return sum_ns;
}

/* Of a whole repeat. */
static enum ap_status find_median(struct adding *adding, int64_t *ret_ns, struct ap_error *reterr)
{
    const struct ap_kernel_period *period = &adding->repeats.period;
    int64_t *sums_ns;
    AP_TRY(AP_ALLOC_CLEARED(adding->context->gate, sums_ns, period->repeats, reterr));
    for (size_t i = 0; i < period->repeats * period->length; i++)
        sums_ns[i / period->length] =
            ap_add_sat(sums_ns[i / period->length], adding->context->trace->events.dur_ns[row_at(adding, period->first + i)],
                       &adding->context->overflowed);
    *ret_ns = ap_quantile(sums_ns, period->repeats, 50);
    AP_FREE(adding->context->gate, sums_ns, period->repeats);
    return AP_OK;
}

/* ---- kernels ---- */

/* By the second repeat, as the first one may be joined to what comes before it in another way. */
static void add_operator(const struct adding *adding, size_t at, struct ap_model *model, struct ap_value *row)
{
    const struct ap_facts *facts = adding->context->facts;
    const struct ap_trace *trace = adding->context->trace;
    struct ap_device_row linked = ap_device_row_at(&facts->links, adding->repeats.places[at]);
    const struct ap_mapped_kernel *mapped = ap_replay_mapped(&facts->graphs, &facts->links, adding->repeats.places[at]);
    bool in_graph =
        linked.launch != AP_NO_ROW && ap_call_kind_of(&facts->calls, trace, linked.launch) == AP_CALL_graph_launch;
    uint32_t op = in_graph ? AP_NO_ROW : linked.op;
    const struct ap_op_detail *detail =
        op != AP_NO_ROW && ap_row_kind(trace->events.tag[op]) == AP_KIND_operator ? ap_row_op(trace, op) : NULL;
    ap_add_name(trace, model, row, "operator", mapped ? mapped->op : ap_row_name_id(trace, op));
    ap_replay_add_shapes(trace, mapped ? mapped->signature : detail ? detail->signature : (struct ap_str){ 0 }, model, row);
    ap_add_name(trace, model, row, "line", mapped ? mapped->line : 0);
}

static void add_kernels(struct adding *adding, struct ap_model *model, struct ap_value *to)
{
    const struct ap_kernel_period *period = &adding->repeats.period;
    const struct ap_trace *trace = adding->context->trace;
    uint64_t limit = adding->context->options->top_n ? adding->context->options->top_n : UINT64_MAX;
    struct ap_value *list = ap_add_list(model, to, "kernels");
    limit = limit < 40 ? 40 : limit;
    for (size_t i = 0; i < period->length && i < limit; i++) {
        size_t at = period->first + i + (period->repeats > 1 ? period->length : 0);
        uint32_t name = trace->events.name[row_at(adding, at)];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_name(trace, model, row, "name", name);
        ap_add_string(model, row, "subfamily",
                      ap_kernel_subfamily_name(ap_kernel_subfamily_of(&adding->context->facts->families, name)));
        ap_add_time(model, row, "mean_us", mean_ns(adding, i));
        add_operator(adding, at, model, row);
        ap_add_place(trace, row_at(adding, at), model, row);
    }
}

/* ---- fusions ---- */

static bool fusion_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_fusion_found *fusions = context;
    AP_LARGER_FIRST(fusions[a].saves_ns, fusions[b].saves_ns);
    return a < b;
}

static void add_fusion(const struct adding *adding, const struct ap_fusion_found *fusion, struct ap_model *model,
                       struct ap_value *list)
{
    const struct ap_trace *trace = adding->context->trace;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "fused", fusion->text);
    ap_add_text(model, row, "first", ap_row_name(trace, row_at(adding, fusion->at)));
    ap_add_text(model, row, "second", ap_row_name(trace, row_at(adding, fusion->at + 1)));
    ap_add_count(model, row, "count", fusion->count);
    ap_add_time(model, row, "total_us", fusion->total_ns);
    ap_add_time(model, row, "saves_us", fusion->saves_ns);
    ap_add_place(trace, row_at(adding, fusion->at), model, row);
}

static enum ap_status add_fusions(struct adding *adding, struct ap_model *model, struct ap_value *to,
                                  struct ap_error *reterr)
{
    const struct ap_layer_repeats *repeats = &adding->repeats;
    struct ap_gate *gate = adding->context->gate;
    int64_t saves_ns = 0;
    uint32_t *top;
    size_t count;
    for (size_t i = 0; i < repeats->fusion_count; i++)
        saves_ns = ap_add_sat(saves_ns, repeats->fusions[i].saves_ns, &adding->context->overflowed);
    ap_add_time(model, to, "fusion_saves_us", saves_ns);
    ap_add_quotient(model, to, "fusion_saves_ratio", (double)saves_ns, (double)adding->all_ns);
    struct ap_value *list = ap_add_list(model, to, "fusions");
    AP_TRY(ap_top_indices(gate, (uint32_t)repeats->fusion_count, adding->context->options->top_n, fusion_before,
                          repeats->fusions, &top, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_fusion(adding, &repeats->fusions[top[i]], model, list);
    AP_FREE(gate, top, count);
    return AP_OK;
}

static enum ap_status add_repeats(struct adding *adding, struct ap_model *model, struct ap_value *root,
                                  struct ap_error *reterr)
{
    struct ap_layer_repeats *repeats = &adding->repeats;
    AP_TRY(ap_layer_repeats_init(repeats, adding->context->facts, adding->context->gate, reterr));
    ap_note_overflow(adding->context, repeats->overflowed);
    if (!repeats->period.length) {
        ap_add_null(model, root, "repeats");
        return AP_OK;
    }
    int64_t median_ns;
    AP_TRY(find_median(adding, &median_ns, reterr));
    struct ap_value *to = ap_add_object(model, root, "repeats");
    ap_add_count(model, to, "length", (int64_t)repeats->period.length);
    ap_add_count(model, to, "in_a_row", (int64_t)repeats->period.repeats);
    ap_add_count(model, to, "count", (int64_t)(repeats->period.covered / repeats->period.length));
    ap_add_time(model, to, "mean_us", layer_ns(adding));
    ap_add_time(model, to, "median_us", median_ns);
    ap_add_time(model, to, "total_us", repeats->total_ns);
    ap_add_quotient(model, to, "kernel_ratio", (double)repeats->total_ns, (double)adding->all_ns);
    add_kernels(adding, model, to);
    return add_fusions(adding, model, to, reterr);
}

enum ap_status ap_replay_add_repeats(struct ap_part_context *context, int64_t all_ns, struct ap_model *model,
                                     struct ap_value *root, struct ap_error *reterr)
{
    struct adding adding = { .context = context, .repeats = { .gate = context->gate }, .all_ns = all_ns };
    enum ap_status status = add_repeats(&adding, model, root, reterr);
    ap_layer_repeats_release(&adding.repeats);
    return status;
}
