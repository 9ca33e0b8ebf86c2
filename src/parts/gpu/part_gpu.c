/* SPDX-License-Identifier: MIT
 * part_gpu.c - how busy the devices were, and with what: runs the parts in gpu_*.c and writes the totals of all devices. */
#include "gpu_work.h"
#include "rows_of.h"

#include "poison.h"

static void count_rows(struct ap_gpu_work *work)
{
    const struct ap_events *events = &work->context->trace->events;
    for (struct ap_rows_of at = ap_rows_of(work->context->trace, AP_GPU_KINDS); ap_rows_of_next(&at);) {
        work->totals.rows++;
        if (ap_row_kind(events->tag[at.row]) != AP_KIND_kernel)
            continue;
        work->totals.kernel_count++;
        work->totals.kernel_ns = ap_gpu_add_ns(work, work->totals.kernel_ns, events->dur_ns[at.row]);
    }
}

static void add_totals(const struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu)
{
    const struct ap_gpu_totals *totals = &work->totals;
    ap_add_count(model, gpu, "rows", totals->rows);
    ap_add_time(model, gpu, "window_us", totals->window_ns);
    ap_add_time(model, gpu, "busy_us", totals->busy_ns);
    int64_t idle_ns = totals->window_ns - totals->busy_ns, outside_ns = work->context->facts->window_ns - totals->window_ns;
    ap_add_time(model, gpu, "idle_us", idle_ns);
    ap_add_time(model, gpu, "idle_in_trace_us", idle_ns + (outside_ns > 0 ? outside_ns : 0));
    ap_add_quotient(model, gpu, "utilization_ratio", (double)totals->busy_ns, (double)totals->window_ns);
    ap_add_time(model, gpu, "compute_us", totals->compute_ns);
    bool launches_known = work->context->facts->links.linked_count != 0;
    ap_add_known_count(model, gpu, "launched_before_recording_count", launches_known, totals->unlaunched_count);
    ap_add_known_time(model, gpu, "launched_before_recording_us", launches_known, totals->unlaunched_ns);
    ap_add_known_time(model, gpu, "recorded_window_us", launches_known, totals->recorded_window_ns);
    ap_add_quotient(model, gpu, "launched_before_recording_ratio", (double)totals->unlaunched_ns,
                    launches_known ? (double)totals->busy_ns : 0);
}

static enum ap_status add_gpu(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                              struct ap_error *reterr)
{
    AP_TRY(ap_gpu_add_devices(work, model, gpu, reterr));
    add_totals(work, model, gpu);
    AP_TRY(ap_gpu_add_streams(work, model, gpu, reterr));
    AP_TRY(ap_gpu_add_kernels(work, model, gpu, reterr));
    AP_TRY(ap_gpu_add_attention(work, model, gpu, reterr));
    AP_TRY(ap_gpu_add_alignment(work, model, gpu, reterr));
    AP_TRY(ap_gpu_add_sm(work, model, gpu, reterr));
    AP_TRY(ap_gpu_add_fill(work, model, gpu, reterr));
    ap_gpu_add_turns(work, model, gpu);
    AP_TRY(ap_gpu_add_drift(work, model, gpu, reterr));
    AP_TRY(ap_gpu_add_copies(work, model, gpu, reterr));
    return ap_gpu_add_sequences(work, model, gpu, reterr);
}

enum ap_status ap_part_gpu(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                           struct ap_error *reterr)
{
    struct ap_gpu_work work = { .context = context };
    count_rows(&work);
    if (!work.totals.rows) {
        ap_add_null(model, root, "gpu");
        return AP_OK;
    }
    enum ap_status status = add_gpu(&work, model, ap_add_object(model, root, "gpu"), reterr);
    ap_note_overflow(context, work.totals.overflowed);
    return status;
}
