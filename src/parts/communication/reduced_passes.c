/* SPDX-License-Identifier: MIT */
#include "reduced_passes.h"

#include "sort.h"

#include "poison.h"

/* Its forward passes, and behind which of them gradients are reduced before the next one. */
struct passes {
    uint32_t *forward;
    size_t count, capacity;
    bool *is_reduced, *has_buckets;
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

#define FORWARD "DistributedDataParallel.forward"

bool ap_has_ddp_passes(const struct ap_trace *trace)
{
    return ap_trace_find_text(trace, FORWARD) != 0;
}

static enum ap_status list_forwards(const struct ap_part_context *context, struct passes *passes, struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    uint32_t name = ap_trace_find_text(trace, FORWARD);
    for (uint32_t row = 0; row < trace->events.count && name; row++)
        if (trace->events.name[row] == name && ap_row_is_of(trace, row, AP_HOST_KINDS))
            AP_TRY_ADD(context->gate, passes->forward, passes->count, passes->capacity, reterr, row);
    return ap_sort_list(context->gate, passes->forward, passes->count, earlier_pass, &trace->events, reterr);
}

/* The pass that the row lies behind; SIZE_MAX = none. */
static size_t pass_before(const struct ap_trace *trace, const struct passes *passes, uint32_t row)
{
    const struct ap_events *events = &trace->events;
    size_t behind = 0;
    AP_BISECT(behind, passes->count, at, events->start_ns[passes->forward[at]] <= events->start_ns[row]);
    return behind ? behind - 1 : SIZE_MAX;
}

/* Sizes do not tell how often a bucket is reduced: layers that are alike have buckets that are alike. */
static void note_reduced(struct passes *passes, size_t pass, int64_t exposed_ns)
{
    passes->exposed_ns = ap_add_sat(passes->exposed_ns, exposed_ns, &passes->overflowed);
    passes->reduced_count += !passes->is_reduced[pass];
    passes->is_reduced[pass] = true;
}

/* What names of host rows tell. */
enum { OTHER, UPDATES, FILLS_BUCKETS };

static uint8_t meaning_of(struct ap_text name)
{
    if (ap_text_starts_with(name, "Optimizer.step#"))
        return UPDATES;
    bool fills = ap_text_is(name, "torch::distributed::reducer::mul_out") ||
                 ap_text_is(name, "torch.distributed.ddp.reducer::copy_bucket_to_grad");
    return fills ? FILLS_BUCKETS : OTHER;
}

/* Steps of optimizers, and the passes behind which gradients go into buckets, or out of them. */
static enum ap_status note_rows(const struct ap_part_context *context, struct passes *passes, struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    size_t names = ap_trace_id_count(trace);
    uint8_t *meanings;
    AP_TRY(AP_ALLOC_CLEARED(context->gate, meanings, names, reterr));
    for (uint32_t name = 1; name < names; name++)
        meanings[name] = meaning_of(ap_trace_text(trace, name));
    for (uint32_t row = 0; row < trace->events.count; row++) {
        uint8_t meaning = meanings[trace->events.name[row]];
        if (meaning == OTHER || !ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        size_t pass = meaning == FILLS_BUCKETS ? pass_before(trace, passes, row) : SIZE_MAX;
        passes->update_count += meaning == UPDATES;
        if (pass != SIZE_MAX)
            passes->has_buckets[pass] = true;
    }
    AP_FREE(context->gate, meanings, names);
    return AP_OK;
}

/* Is it of gradients? What is as large, or, of unknown size, behind a pass that fills buckets. */
static bool is_of_gradients(const struct passes *passes, const struct ap_collective_kind *kind, int64_t least_bytes,
                            size_t pass)
{
    return kind->operation == AP_COLLECTIVE_allreduce && pass != SIZE_MAX &&
           (kind->bytes >= least_bytes || (kind->bytes < 0 && kind->on_host && passes->has_buckets[pass]));
}

/* Collectives of devices come in the order of links; those of the host are launched where they run. */
static enum ap_status find_reduced(const struct ap_part_context *context, const struct ap_collective_rows *collectives,
                                   int64_t least_bytes, struct passes *passes, struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    const struct ap_links *links = &context->facts->links;
    AP_TRY(list_forwards(context, passes, reterr));
    if (!passes->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(context->gate, passes->is_reduced, passes->count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(context->gate, passes->has_buckets, passes->count, reterr));
    AP_TRY(note_rows(context, passes, reterr));
    for (size_t i = 0, at = 0; i < collectives->count; i++) {
        uint32_t row = collectives->rows[i].row;
        const struct ap_collective_kind *kind = ap_collective_kind(collectives, &collectives->rows[i]);
        while (!kind->on_host && at < links->count && links->row[at] != row)
            at++;
        uint32_t launch = kind->on_host ? row : at < links->count ? ap_launch_at(links, at) : AP_NO_ROW;
        size_t pass = launch == AP_NO_ROW ? SIZE_MAX : pass_before(trace, passes, launch);
        if (is_of_gradients(passes, kind, least_bytes, pass))
            note_reduced(passes, pass, kind->on_host ? trace->events.dur_ns[row] : collectives->own[i].cover.exposed_ns);
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
    AP_FREE(context->gate, passes.has_buckets, passes.count);
    AP_FREE(context->gate, passes.forward, passes.capacity);
    return status;
}
