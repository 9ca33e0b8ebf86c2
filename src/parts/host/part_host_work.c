/* SPDX-License-Identifier: MIT
 * part_host_work.c - who caused host time and GPU work: operators, shapes, modules, lines, forward and backward; and the
 * narrowing from the whole run to one operation. */
#include "host_part.h"

#include "sort.h"

#include "poison.h"

bool ap_cost_before(const struct ap_trace *trace, const struct ap_host_work *work, const struct ap_work_cost *a,
                    const struct ap_work_cost *b, bool *ret_is_equal)
{
    *ret_is_equal = false;
    AP_LARGER_FIRST(ap_device_cost(work, a)->self_ns, ap_device_cost(work, b)->self_ns);
    AP_LARGER_FIRST(a->host_self_ns, b->host_self_ns);
    int order = ap_trace_compare_texts(trace, a->name, b->name);
    *ret_is_equal = order == 0;
    return order < 0;
}

void ap_add_device_time(const struct ap_part_context *context, struct ap_model *model, struct ap_value *to, const char *key,
                        int64_t ns)
{
    ap_add_known_time(model, to, key, context->facts->links.count, ns);
}

void ap_add_device_share(const struct ap_part_context *context, struct ap_model *model, struct ap_value *to, int64_t ns)
{
    ap_add_quotient(model, to, "device_share_ratio", (double)ns, (double)context->facts->links.total_dur_ns);
}

void ap_add_slowest(const struct ap_part_context *context, const struct ap_work_cost *cost, struct ap_model *model,
                    struct ap_value *to)
{
    ap_add_place(context->trace, cost->slowest_row, model, ap_add_object(model, to, "slowest"));
}

static enum ap_status report(struct ap_part_context *context, struct ap_habits *habits, const struct ap_host_work *work,
                             const struct ap_autograd *autograd, struct ap_model *model, struct ap_value *root,
                             struct ap_error *reterr)
{
    AP_TRY(ap_part_operators(context, work, model, root, reterr));
    AP_TRY(ap_part_modules(context, work, model, root, reterr));
    AP_TRY(ap_part_frames(context, work, model, root, reterr));
    AP_TRY(ap_part_autograd(context, autograd, model, root, reterr));
    AP_TRY(ap_part_drilldown(context, work, model, root, reterr));
    return ap_part_habits(context, habits, work, model, root, reterr);
}

static enum ap_status find_work(struct ap_part_context *context, struct ap_habits *habits, struct ap_model *model,
                                struct ap_value *root, struct ap_error *reterr)
{
    struct ap_host_work work = { .gate = context->gate };
    struct ap_autograd autograd;
    enum ap_status status =
        ap_autograd_init(&autograd, context->trace, &context->facts->order, &context->facts->tree, context->gate, reterr);
    struct ap_host_work_input input = { context->trace,          &context->facts->order, &context->facts->links,
                                        &context->facts->phases, &context->facts->steps, &autograd.chosen };
    if (status == AP_OK) {
        status = ap_host_work_init(&work, &input, context->gate, reterr);
        AP_AND_THEN(status, report(context, habits, &work, &autograd, model, root, reterr));
        ap_note_overflow(context, work.overflowed);
        ap_note_many(context->notes, AP_COUNTER_deep_modules, work.deep_modules);
        ap_host_work_release(&work);
    }
    ap_autograd_release(&autograd);
    return status;
}

enum ap_status ap_part_host_work(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                 struct ap_error *reterr)
{
    struct ap_habits habits;
    enum ap_status status = ap_habits_init(&habits, context->facts, context->gate, reterr);
    AP_AND_THEN(status, find_work(context, &habits, model, root, reterr));
    ap_habits_release(&habits);
    return status;
}
