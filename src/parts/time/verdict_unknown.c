/* SPDX-License-Identifier: MIT */
#include "verdict_unknown.h"

#include "rows_of.h"

#include "poison.h"

/* Our choices. */
#define CAPTURED_RATIO 0.5 /* of the launches have no work in the file: those of a capture */
#define WORKS_RATIO 0.5    /* of the recording the devices work: that is no capture alone */
#define CLOCKS_RATIO 0.8   /* of the judged time is to be known where clocks differ */
#define GLIMPSES 100       /* as long as the devices' window, or longer, is the recording */

static bool is_true(const struct ap_value *root, const char *path)
{
    return ap_value_integer(ap_value_at(root, path), 0) > 0;
}

bool ap_is_capture(const struct ap_value *root)
{
    double idle_launches = 0, works = (double)ap_value_integer(ap_value_at(root, "gpu.busy_us"), 0);
    (void)ap_value_number(ap_value_at(root, "compile.launches_without_work_ratio"), &idle_launches);
    return is_true(root, "compile.graph_captures") && idle_launches > CAPTURED_RATIO &&
           works < WORKS_RATIO * (double)ap_value_integer(ap_value_at(root, "trace.window_us"), 0);
}

/* In one call for most of the recording, be it a wait or a copy: what it waited for is not among the few rows of work. */
static bool waits_long(const struct ap_part_context *context)
{
    const struct ap_facts *facts = context->facts;
    for (struct ap_rows_of at = ap_rows_of(context->trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        enum ap_call_kind kind = ap_call_kind_of(&facts->calls, context->trace, at.row);
        if ((kind == AP_CALL_wait || kind == AP_CALL_copy || kind == AP_CALL_blocking_copy) &&
            context->trace->events.dur_ns[at.row] > facts->window_ns / 2)
            return true;
    }
    return false;
}

bool ap_is_glimpse(const struct ap_part_context *context, const struct ap_split_part *judged)
{
    const struct ap_facts *facts = context->facts;
    return facts->split.has_gpu && judged == &facts->split.window && judged->dur_ns < facts->window_ns / GLIMPSES &&
           waits_long(context);
}

/* Ranges of a profiler that counts stand on rows of the GPU without being work. Unlike waits they belong to no call. */
static bool has_counters(const struct ap_trace *trace)
{
    for (size_t i = 0; i < trace->sync_detail_count; i++)
        if (trace->sync_details[i].correlation)
            return false;
    return trace->sync_detail_count > 0;
}

static const char *why_no_gpu(const struct ap_part_context *context, const struct ap_value *root)
{
    bool listed = is_true(root, "trace.recorded.gpu_listed") && !is_true(root, "trace.gpu_unused");
    if (!listed && !is_true(root, "trace.recorded.runtime") && !is_true(root, "cpu.signals.gpu_use.count"))
        return ap_lacks_host(context) ? "no row is of a kind that is known here" : NULL;
    if (!is_true(root, "trace.complete"))
        return "the file is cut, and holds no row of a GPU: such rows often stand at its end";
    if (!is_true(root, "trace.by_pytorch"))
        return "the file tells of a GPU, of whose work no row was recorded";
    return has_counters(context->trace)
               ? "only counters of the GPU were recorded, which tell no times: record once without them, with "
                 "ProfilerActivity.CUDA"
               : "the file tells of a GPU, of whose work no row was recorded: record with ProfilerActivity.CUDA";
}

const char *ap_why_unknown(const struct ap_part_context *context, const struct ap_split_part *judged,
                           const struct ap_value *root)
{
    if (!ap_known_ns(judged))
        return "no row of work in the file was waited for there";
    if (ap_is_capture(root))
        return "graphs are captured here, and what is captured does not run: record their replay";
    if (ap_is_glimpse(context, judged))
        return "the host waits for most of the recording for work of the device that is not in it";
    if (ap_links_clocks_differ(&context->facts->links) && ap_known_ns(judged) < ap_share_of(judged->dur_ns, CLOCKS_RATIO))
        return "GPU work starts before its launch, so the clocks of host and device differ: record again";
    return context->facts->split.has_gpu ? NULL : why_no_gpu(context, root);
}
