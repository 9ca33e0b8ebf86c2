/* SPDX-License-Identifier: MIT
 * compute_longest.c - the calls that take longest, all with the same shapes: what they reach, what limits them, and what
 * their shapes say of it. */
#include "compute_part.h"

#include "poison.h"

static const char *const sentences[AP_CAUSE_COUNT_] = {
#define AP_COMPUTE_CAUSE(id, sentence) [AP_CAUSE_##id] = sentence,
#include "compute_cause.def"
#undef AP_COMPUTE_CAUSE
};

static uint32_t longest_group(const struct ap_compute_work *work)
{
    uint32_t longest = AP_COMPUTE_NO_GROUP;
    for (uint32_t index = 0; index < work->compute.group_count; index++) {
        const struct ap_compute_group *group = AP_COMPUTE_CALLS(&work->compute, index);
        bool is_known = group->timed_count && ap_compute_roofline(work, index)->bound_ns >= 0;
        if (is_known &&
            (longest == AP_COMPUTE_NO_GROUP || group->total_ns > AP_COMPUTE_CALLS(&work->compute, longest)->total_ns))
            longest = index;
    }
    return longest;
}

void ap_compute_add_longest(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    uint32_t index = work->compute.is_host ? AP_COMPUTE_NO_GROUP : longest_group(work);
    if (index == AP_COMPUTE_NO_GROUP) {
        ap_add_null(model, to, "longest");
        return;
    }
    const struct ap_compute_group *group = AP_COMPUTE_GROUP(&work->compute, index);
    const struct ap_roofline *roofline = ap_compute_roofline(work, index);
    double ratio = ap_roofline_ratio(roofline, group);
    enum ap_compute_cause said = roofline->shape_cause;
    bool says = said != AP_CAUSE_none && ap_compute_cause_is_of_shape(said);
    struct ap_value *row = ap_add_object(model, to, "longest");
    ap_add_text(model, row, "operator", ap_trace_text(work->context->trace, group->name));
    ap_add_string(model, row, "kind", ap_work_kind_name(group->cost.kind));
    ap_add_time(model, row, "total_dur_us", group->total_ns);
    ap_add_quotient(model, row, "kernel_ratio", (double)group->total_ns, (double)work->compute.kernel_ns);
    ap_compute_add_achieved(model, row, group);
    ap_add_string(model, row, "bound", roofline->is_memory_bound ? "memory" : "arithmetic");
    ap_add_known_ratio(model, row, "roofline_ratio", ratio >= 0, ratio);
    ap_add_known_string(model, row, "shapes_say", says, says ? sentences[said] : NULL);
}
