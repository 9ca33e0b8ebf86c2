/* SPDX-License-Identifier: MIT */
#include "reduced_passes.h"

#include "sort.h"

#include "poison.h"

/* Its forward passes, and behind which of them gradients are reduced before the next one. */
struct passes {
    uint32_t *forward;
    size_t count, capacity;
    bool *is_reduced;
    int64_t reduced_count;
};

static bool earlier_pass(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    AP_SMALLER_FIRST(events->start_ns[a], events->start_ns[b]);
    return a < b;
}

static enum ap_status list_forwards(const struct ap_part_context *context, struct passes *passes, struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    uint32_t name = ap_trace_find_text(trace, "DistributedDataParallel.forward");
    for (uint32_t row = 0; row < trace->events.count && name; row++)
        if (trace->events.name[row] == name && ap_row_is_of(trace, row, AP_HOST_KINDS))
            AP_TRY_ADD(context->gate, passes->forward, passes->count, passes->capacity, reterr, row);
    return ap_sort_list(context->gate, passes->forward, passes->count, earlier_pass, &trace->events, reterr);
}

/* Sizes do not tell how often a bucket is reduced: layers that are alike have buckets that are alike. */
static void note_reduced(const struct ap_trace *trace, struct passes *passes, uint32_t launch)
{
    const struct ap_events *events = &trace->events;
    size_t low = 0;
    if (launch == AP_NO_ROW)
        return;
    AP_BISECT(low, passes->count, at, events->start_ns[passes->forward[at]] <= events->start_ns[launch]);
    if (!low || passes->is_reduced[low - 1])
        return;
    passes->is_reduced[low - 1] = true;
    passes->reduced_count++;
}

/* Collectives of devices come in the order of links. */
static enum ap_status find_reduced(const struct ap_part_context *context, const struct ap_collective_rows *collectives,
                                   int64_t least_bytes, struct passes *passes, struct ap_error *reterr)
{
    const struct ap_links *links = &context->facts->links;
    AP_TRY(list_forwards(context, passes, reterr));
    if (!passes->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(context->gate, passes->is_reduced, passes->count, reterr));
    for (size_t i = 0, at = 0; i < collectives->device_count; i++) {
        const struct ap_collective_row *row = &collectives->rows[i];
        while (at < links->count && links->rows[at].row != row->row)
            at++;
        if (at < links->count && row->operation == AP_COLLECTIVE_allreduce && row->bytes >= least_bytes)
            note_reduced(context->trace, passes, links->rows[at].launch);
    }
    return AP_OK;
}

enum ap_status ap_find_ddp_passes(const struct ap_part_context *context, const struct ap_collective_rows *collectives,
                                  int64_t least_bytes, struct ap_ddp_passes *ret_passes, struct ap_error *reterr)
{
    struct passes passes = { .forward = NULL };
    enum ap_status status = find_reduced(context, collectives, least_bytes, &passes, reterr);
    *ret_passes = (struct ap_ddp_passes){ (int64_t)passes.count, passes.reduced_count };
    AP_FREE(context->gate, passes.is_reduced, passes.count);
    AP_FREE(context->gate, passes.forward, passes.capacity);
    return status;
}
