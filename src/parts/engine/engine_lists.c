/* SPDX-License-Identifier: MIT
 * engine_lists.c - steps by the size of their batch, and the slowest of them. */
#include "engine_part.h"
#include "quantile.h"
#include "sort.h"

#include "poison.h"

/* ---- batches ---- */

struct batches {
    struct batch {
        size_t first, count; /* in the list of steps by batch */
        int64_t total_ns;
    } * list;
    size_t count, capacity;
};

static bool by_batch(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_engine_step *steps = context;
    AP_SMALLER_FIRST(steps[a].told.phase, steps[b].told.phase);
    AP_SMALLER_FIRST(steps[a].told.requests, steps[b].told.requests);
    return a < b;
}

static bool batch_before(const void *context, uint32_t a, uint32_t b)
{
    const struct batches *batches = context;
    AP_LARGER_FIRST(batches->list[a].total_ns, batches->list[b].total_ns);
    return a < b;
}

static bool is_same_batch(const struct ap_engine_step *a, const struct ap_engine_step *b)
{
    return a->told.phase == b->told.phase && a->told.requests == b->told.requests;
}

static enum ap_status find_batches(struct ap_engine_work *work, const uint32_t *order, struct batches *batches,
                                   struct ap_error *reterr)
{
    const struct ap_engine_step *steps = work->steps.steps;
    for (size_t i = 0; i < work->steps.count; i++) {
        if (!i || !is_same_batch(&steps[order[i]], &steps[order[i - 1]]))
            AP_TRY_ADD(work->context->gate, batches->list, batches->count, batches->capacity, reterr,
                       ((struct batch){ .first = i }));
        struct batch *batch = &batches->list[batches->count - 1];
        batch->count++;
        batch->total_ns = ap_add_sat(batch->total_ns, steps[order[i]].step_ns, &work->context->overflowed);
    }
    return AP_OK;
}

static void add_batch(struct ap_engine_work *work, const struct batch *batch, const uint32_t *order, int64_t *times_ns,
                      struct ap_model *model, struct ap_value *list)
{
    const struct ap_engine_step *steps = work->steps.steps, *first = &steps[order[batch->first]];
    struct ap_value *row = ap_add_object(model, list, NULL);
    int64_t tokens = 0, device_ns = 0;
    bool knows_tokens = true;
    for (size_t i = 0; i < batch->count; i++) {
        const struct ap_engine_step *step = &steps[order[batch->first + i]];
        times_ns[i] = step->step_ns;
        device_ns = ap_add_sat(device_ns, step->device_ns, &work->context->overflowed);
        knows_tokens = knows_tokens && step->told.tokens >= 0;
        tokens = knows_tokens ? ap_add_sat(tokens, step->told.tokens, &work->context->overflowed) : 0;
    }
    ap_add_string(model, row, "phase", ap_engine_phase_name(first->told.phase));
    ap_add_known_count(model, row, "requests", first->told.requests >= 0, first->told.requests);
    ap_add_count(model, row, "count", (int64_t)batch->count);
    ap_add_known_count(model, row, "tokens", knows_tokens, tokens);
    ap_add_time(model, row, "total_us", batch->total_ns);
    ap_add_time(model, row, "median_us", ap_quantile(times_ns, batch->count, 50));
    ap_add_known_time(model, row, "token_us", tokens, tokens ? batch->total_ns / tokens : 0);
    ap_add_quotient(model, row, "device_ratio", (double)device_ns, (double)batch->total_ns);
}

static enum ap_status list_batches(struct ap_engine_work *work, struct batches *batches, const uint32_t *order,
                                   struct ap_model *model, struct ap_value *list, struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    uint32_t *top;
    size_t count;
    int64_t *times_ns;
    AP_TRY(find_batches(work, order, batches, reterr));
    AP_TRY(AP_ALLOC(gate, times_ns, work->steps.count, reterr));
    enum ap_status status = ap_top_indices(gate, (uint32_t)batches->count, work->context->options->top_n, batch_before,
                                           batches, &top, &count, reterr);
    if (status == AP_OK) {
        for (size_t i = 0; i < count; i++)
            add_batch(work, &batches->list[top[i]], order, times_ns, model, list);
        AP_FREE(gate, top, count);
    }
    AP_FREE(gate, times_ns, work->steps.count);
    return status;
}

enum ap_status ap_engine_add_batches(struct ap_engine_work *work, struct ap_model *model, struct ap_value *to,
                                     struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    struct batches batches = { 0 };
    struct ap_value *list = ap_add_list(model, to, "batches");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(gate, (uint32_t)work->steps.count, 0, by_batch, work->steps.steps, &order, &count, reterr));
    enum ap_status status = list_batches(work, &batches, order, model, list, reterr);
    AP_FREE(gate, batches.list, batches.capacity);
    AP_FREE(gate, order, count);
    return status;
}

/* ---- slowest steps ---- */

static bool step_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_engine_step *steps = context;
    AP_LARGER_FIRST(steps[a].step_ns, steps[b].step_ns);
    return a < b;
}

static void add_step(const struct ap_engine_work *work, uint32_t index, struct ap_model *model, struct ap_value *list)
{
    const struct ap_engine_step *step = &work->steps.steps[index];
    const struct ap_trace *trace = work->context->trace;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "step", index);
    ap_add_text(model, row, "name", ap_row_name(trace, step->row));
    ap_add_string(model, row, "phase", ap_engine_phase_name(step->told.phase));
    ap_add_known_count(model, row, "requests", step->told.requests >= 0, step->told.requests);
    ap_add_known_count(model, row, "tokens", step->told.tokens >= 0, step->told.tokens);
    ap_add_time(model, row, "step_us", step->step_ns);
    ap_add_time(model, row, "device_us", step->device_ns);
    ap_add_time(model, row, "gap_us", step->gap_ns);
    ap_add_quotient(model, row, "graph_ratio", (double)step->graph_ns, (double)step->work_ns);
    ap_add_place(trace, step->row, model, row);
}

enum ap_status ap_engine_add_slowest(struct ap_engine_work *work, struct ap_model *model, struct ap_value *to,
                                     struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    struct ap_value *list = ap_add_list(model, to, "slowest");
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(gate, (uint32_t)work->steps.count, work->context->options->top_n, step_before, work->steps.steps,
                          &top, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_step(work, top[i], model, list);
    AP_FREE(gate, top, count);
    return AP_OK;
}
