/* SPDX-License-Identifier: MIT */
#include "reduced_passes.h"

#include "sort.h"

#include "poison.h"

/* Its forward passes, and behind which of them gradients are reduced before the next one. */
struct passes {
    uint32_t *forward;
    size_t count, capacity;
    bool *is_reduced;
    int64_t reduced_count, update_count;
    int64_t exposed_ns; /* of these all-reduces, on the host all of their time */
    bool overflowed;
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
static void note_reduced(const struct ap_trace *trace, struct passes *passes, uint32_t launch, int64_t exposed_ns)
{
    const struct ap_events *events = &trace->events;
    size_t low = 0;
    if (launch == AP_NO_ROW)
        return;
    AP_BISECT(low, passes->count, at, events->start_ns[passes->forward[at]] <= events->start_ns[launch]);
    passes->exposed_ns = ap_add_sat(passes->exposed_ns, low ? exposed_ns : 0, &passes->overflowed);
    if (!low || passes->is_reduced[low - 1])
        return;
    passes->is_reduced[low - 1] = true;
    passes->reduced_count++;
}

static void count_updates(const struct ap_trace *trace, struct passes *passes)
{
    for (uint32_t row = 0; row < trace->events.count; row++)
        passes->update_count +=
            ap_row_is_of(trace, row, AP_HOST_KINDS) && ap_text_starts_with(ap_row_name(trace, row), "Optimizer.step#");
}

/* Collectives of devices come in the order of links; those of the host are launched where they run. */
static enum ap_status find_reduced(const struct ap_part_context *context, const struct ap_collective_rows *collectives,
                                   int64_t least_bytes, struct passes *passes, struct ap_error *reterr)
{
    const struct ap_links *links = &context->facts->links;
    AP_TRY(list_forwards(context, passes, reterr));
    if (!passes->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(context->gate, passes->is_reduced, passes->count, reterr));
    count_updates(context->trace, passes);
    for (size_t i = 0, at = 0; i < collectives->count; i++) {
        const struct ap_collective_row *row = &collectives->rows[i];
        while (!row->on_host && at < links->count && links->rows[at].row != row->row)
            at++;
        if ((!row->on_host && at == links->count) || row->operation != AP_COLLECTIVE_allreduce || row->bytes < least_bytes)
            continue;
        note_reduced(context->trace, passes, row->on_host ? row->row : links->rows[at].launch,
                     row->on_host ? context->trace->events.dur_ns[row->row] : row->exposed_ns);
    }
    return AP_OK;
}

enum ap_status ap_find_ddp_passes(const struct ap_part_context *context, const struct ap_collective_rows *collectives,
                                  int64_t least_bytes, struct ap_ddp_passes *ret_passes, struct ap_error *reterr)
{
    struct passes passes = { .forward = NULL };
    enum ap_status status = find_reduced(context, collectives, least_bytes, &passes, reterr);
    int64_t surplus = passes.reduced_count - passes.update_count;
    *ret_passes = (struct ap_ddp_passes){ (int64_t)passes.count, passes.reduced_count, 0 };
    if (surplus > 0)
        ret_passes->surplus_ns = ap_share_of(passes.exposed_ns, (double)surplus / (double)passes.reduced_count);
    AP_FREE(context->gate, passes.is_reduced, passes.count);
    AP_FREE(context->gate, passes.forward, passes.capacity);
    return status;
}
