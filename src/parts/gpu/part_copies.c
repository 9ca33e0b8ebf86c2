/* SPDX-License-Identifier: MIT
 * part_copies.c - an operator that copies is a symptom: what it launched, who asked for it, what of it nothing else hid. */
#include "causes.h"
#include "copies.h"
#include "gpu_cover.h"
#include "host_chain.h"
#include "part.h"
#include "per_step.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

struct copy_sum {
    int64_t count, bytes, time_ns, host_ns, exposed_ns;
    int64_t step_bytes; /* in the steps that count, by the start of the call */
    bool bytes_known;
};

struct copy_work {
    struct ap_part_context *context;
    struct ap_copies copies;
    struct ap_host_chains chains;
    struct ap_gpu_cover others;    /* kernels and memsets that are no copies */
    struct ap_row_set op_counted;  /* operators whose time is in a sum already */
    struct ap_row_set waiting_ops; /* rows with a synchronization directly in them */
    struct ap_per_step per_step;
    int64_t window_ns; /* of the devices */
    struct ap_cause_sums causes;
    struct copy_sum sums[AP_COPY_CAUSE_COUNT], blocking;
    bool overflowed;
};

static bool covers(const void *context, size_t place)
{
    const struct copy_work *work = context;
    return work->copies.cause[place] == AP_COPY_CAUSE_COUNT;
}

/* ---------------------------------------------------------------------------------------------------------- costs */

/* Host time of a copy: of its operator, once for all that it launched; where the operator does more, of the call. */
static int64_t host_ns(struct copy_work *work, struct ap_device_row linked)
{
    const struct ap_trace *trace = work->context->trace;
    if (linked.op != AP_NO_ROW && ap_row_is_of(trace, linked.op, 1u << AP_KIND_operator) &&
        ap_is_copy_op(ap_row_name(trace, linked.op)))
        return ap_row_set_add(&work->op_counted, linked.op) ? trace->events.dur_ns[linked.op] : 0;
    return linked.launch == AP_NO_ROW ? 0 : trace->events.dur_ns[linked.launch];
}

static void name_cause(struct copy_work *work, struct ap_cause *cause, uint32_t from)
{
    const uint32_t *names = work->context->trace->events.name;
    if (from == AP_NO_ROW)
        return;
    struct ap_host_chain chain = ap_host_chain_of(&work->chains, from);
    cause->op = chain.op == AP_NO_ROW ? 0 : names[chain.op];
    cause->leaf = chain.leaf == AP_NO_ROW ? 0 : names[chain.leaf];
    cause->line = chain.line == AP_NO_ROW ? 0 : names[chain.line];
}

static enum ap_status take(struct copy_work *work, const struct ap_cause *cause, int64_t exposed_ns, struct ap_error *reterr)
{
    AP_TRY(ap_causes_add(&work->causes, cause, work->context->gate, &work->overflowed, reterr));
    struct copy_sum *sum = &work->sums[cause->kind];
    sum->bytes_known = cause->bytes_known && (sum->bytes_known || !sum->count);
    sum->count++;
    sum->bytes = ap_add_sat(sum->bytes, cause->bytes, &work->overflowed);
    sum->time_ns = ap_add_sat(sum->time_ns, cause->time_ns, &work->overflowed);
    sum->host_ns = ap_add_sat(sum->host_ns, cause->host_ns, &work->overflowed);
    sum->exposed_ns = ap_add_sat(sum->exposed_ns, exposed_ns, &work->overflowed);
    return AP_OK;
}

/* The call lasts as long as its copy, or its operator waits for it. */
static bool holds_host(const struct copy_work *work, struct ap_device_row linked)
{
    const struct ap_trace *trace = work->context->trace;
    if (linked.launch == AP_NO_ROW)
        return false;
    uint32_t parent = ap_host_parent(&work->context->facts->tree, linked.launch);
    return ap_row_end_ns(trace, linked.launch) >= ap_row_end_ns(trace, linked.row) ||
           (parent != AP_NO_ROW && ap_row_set_has(&work->waiting_ops, parent));
}

static enum ap_status take_device_row(struct copy_work *work, size_t place, struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    struct ap_device_row linked = ap_device_row_at(&work->context->facts->links, place);
    int64_t dur_ns = trace->events.dur_ns[linked.row], start_ns = trace->events.start_ns[linked.row];
    int64_t bytes = ap_row_is_of(trace, linked.row, 1u << AP_KIND_memcpy) ? ap_row_bytes(trace, linked.row) : -1;
    int64_t exposed_ns =
        dur_ns - ap_gpu_covered_ns(&work->others, ap_row_device(trace, linked.row), start_ns, start_ns + dur_ns);
    struct ap_cause cause = { .kind = work->copies.cause[place],
                              .row = linked.row,
                              .count = 1,
                              .row_weight_ns = dur_ns,
                              .weight_ns = exposed_ns,
                              .time_ns = dur_ns,
                              .host_ns = host_ns(work, linked),
                              .bytes = bytes > 0 ? bytes : 0,
                              .bytes_known = bytes >= 0 };
    name_cause(work, &cause, linked.op != AP_NO_ROW ? linked.op : linked.launch);
    if (cause.kind == AP_COPY_htod_pinned && holds_host(work, linked)) {
        work->blocking.count++;
        work->blocking.time_ns = ap_add_sat(work->blocking.time_ns, dur_ns, &work->overflowed);
    }
    if (linked.launch != AP_NO_ROW && ap_per_step_has(&work->per_step, trace->events.start_ns[linked.launch]))
        work->sums[cause.kind].step_bytes = ap_add_sat(work->sums[cause.kind].step_bytes, cause.bytes, &work->overflowed);
    return take(work, &cause, exposed_ns, reterr);
}

static enum ap_status take_host_row(struct copy_work *work, uint32_t row, struct ap_error *reterr)
{
    int64_t dur_ns = work->context->trace->events.dur_ns[row];
    struct ap_cause cause = { .kind = AP_COPY_cpu_only, .row = row, .count = 1, .row_weight_ns = dur_ns, .host_ns = dur_ns };
    name_cause(work, &cause, row);
    return take(work, &cause, 0, reterr);
}

static void find_waiting_ops(struct copy_work *work)
{
    const struct ap_trace *trace = work->context->trace;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        uint32_t parent = ap_host_parent(&work->context->facts->tree, at.row);
        if (parent != AP_NO_ROW && ap_call_kind_of(&work->context->facts->calls, trace, at.row) == AP_CALL_wait &&
            ap_row_is_of(trace, parent, 1u << AP_KIND_operator))
            (void)ap_row_set_add(&work->waiting_ops, parent);
    }
}

static enum ap_status gather(struct copy_work *work, struct ap_error *reterr)
{
    const struct ap_part_context *context = work->context;
    find_waiting_ops(work);
    for (size_t i = 0; i < context->facts->links.count; i++)
        if (work->copies.cause[i] != AP_COPY_CAUSE_COUNT)
            AP_TRY(take_device_row(work, i, reterr));
    if (!work->copies.copy_name || !context->facts->links.linked_count)
        return AP_OK;
    for (struct ap_rows_of at = ap_rows_of(context->trace, 1u << AP_KIND_operator); ap_rows_of_next(&at);)
        if (context->trace->events.name[at.row] == work->copies.copy_name &&
            ap_is_host_copy(&work->copies, context->trace, &context->facts->tree, at.row))
            AP_TRY(take_host_row(work, at.row, reterr));
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- report */

static void add_sum(const struct copy_work *work, const char *key, const struct copy_sum *sum, struct ap_model *model,
                    struct ap_value *copies)
{
    struct ap_value *to = ap_add_object(model, copies, key);
    bool known = sum->bytes_known || !sum->count;
    ap_add_count(model, to, "count", sum->count);
    ap_add_known_bytes(model, to, "bytes", known, sum->bytes);
    ap_add_time(model, to, "dur_us", sum->time_ns);
    ap_add_time(model, to, "host_dur_us", sum->host_ns);
    ap_add_time(model, to, "exposed_us", sum->exposed_ns);
    ap_add_quotient(model, to, "exposed_ratio", (double)sum->exposed_ns, (double)sum->time_ns);
    ap_add_quotient(model, to, "window_share_ratio", (double)sum->exposed_ns, (double)work->window_ns);
    ap_add_number_per(model, to, "gigabytes_per_s", (double)sum->bytes, known ? (double)sum->time_ns : 0);
    ap_add_number_per(model, to, "bytes_per_step", (double)sum->step_bytes, known ? (double)work->per_step.count : 0);
}

static struct copy_sum sum_of(const struct copy_work *work, const uint8_t *causes, size_t count)
{
    struct copy_sum all = { .bytes_known = true };
    bool overflowed = false;
    for (size_t i = 0; i < count; i++) {
        const struct copy_sum *sum = &work->sums[causes[i]];
        all.count += sum->count;
        all.bytes = ap_add_sat(all.bytes, sum->bytes, &overflowed);
        all.step_bytes = ap_add_sat(all.step_bytes, sum->step_bytes, &overflowed);
        all.time_ns = ap_add_sat(all.time_ns, sum->time_ns, &overflowed);
        all.host_ns = ap_add_sat(all.host_ns, sum->host_ns, &overflowed);
        all.exposed_ns = ap_add_sat(all.exposed_ns, sum->exposed_ns, &overflowed);
        all.bytes_known = all.bytes_known && (sum->bytes_known || !sum->count);
    }
    return all;
}

static void add_sums(const struct copy_work *work, struct ap_model *model, struct ap_value *copies)
{
    static const uint8_t to_device[] = { AP_COPY_htod_pageable, AP_COPY_htod_pinned, AP_COPY_htod_host };
    static const uint8_t to_host[] = { AP_COPY_dtoh_pageable, AP_COPY_dtoh_pinned, AP_COPY_dtoh_host };
    static const uint8_t kernels[] = { AP_COPY_cast, AP_COPY_layout };
    struct copy_sum htod = sum_of(work, to_device, AP_COUNT_OF(to_device));
    struct copy_sum dtoh = sum_of(work, to_host, AP_COUNT_OF(to_host));
    struct copy_sum churn = sum_of(work, kernels, AP_COUNT_OF(kernels));
    for (size_t i = 0; i < AP_COPY_CAUSE_COUNT; i++)
        add_sum(work, ap_copy_cause_word((enum ap_copy_cause)i), &work->sums[i], model, copies);
    add_sum(work, "htod", &htod, model, copies);
    add_sum(work, "dtoh", &dtoh, model, copies);
    ap_add_quotient(model, copies, "cast_layout_ratio", (double)churn.time_ns,
                    (double)work->context->facts->links.total_dur_ns);
    struct ap_value *blocking = ap_add_object(model, copies, "blocking_pinned");
    ap_add_count(model, blocking, "count", work->blocking.count);
    ap_add_time(model, blocking, "dur_us", work->blocking.time_ns);
}

static void add_cause(const struct copy_work *work, const struct ap_cause *cause, struct ap_model *model,
                      struct ap_value *list)
{
    const struct ap_trace *trace = work->context->trace;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "what", ap_copy_cause_word((enum ap_copy_cause)cause->kind));
    ap_add_name(trace, model, row, "operator", cause->op);
    ap_add_name(trace, model, row, "leaf_operator", cause->leaf);
    ap_add_name(trace, model, row, "line", cause->line);
    ap_add_count(model, row, "count", cause->count);
    ap_add_known_bytes(model, row, "bytes", cause->bytes_known, cause->bytes);
    ap_add_time(model, row, "device_dur_us", cause->time_ns);
    ap_add_time(model, row, "host_dur_us", cause->host_ns);
    ap_add_number_per(model, row, "gigabytes_per_s", (double)cause->bytes, cause->bytes_known ? (double)cause->time_ns : 0);
    ap_add_time(model, row, "exposed_us", cause->weight_ns);
    ap_add_place(trace, cause->row, model, ap_add_object(model, row, "longest"));
    ap_add_string(model, row, "advice", ap_copy_cause_advice((enum ap_copy_cause)cause->kind));
}

static enum ap_status add_copies(struct copy_work *work, struct ap_model *model, struct ap_value *root,
                                 struct ap_error *reterr)
{
    struct ap_part_context *context = work->context;
    struct ap_value *copies = ap_add_object(model, root, "copies");
    struct ap_cause_sums *causes = &work->causes;
    size_t count;
    uint32_t *order;
    add_sums(work, model, copies);
    struct ap_value *list = ap_add_list(model, copies, "by_cause");
    AP_TRY(ap_causes_sum(causes->list, &causes->count, context->gate, &work->overflowed, reterr));
    AP_TRY(ap_causes_rank(causes->list, causes->count, context->options->top_n, context->gate, &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_cause(work, &causes->list[order[i]], model, list);
    AP_FREE(context->gate, order, count);
    ap_note_overflow(context, work->overflowed);
    return AP_OK;
}

static bool has_copies(const struct copy_work *work)
{
    for (size_t i = 0; i < work->copies.count; i++)
        if (work->copies.cause[i] != AP_COPY_CAUSE_COUNT)
            return true;
    return false;
}

static enum ap_status begin(struct copy_work *work, struct ap_error *reterr)
{
    const struct ap_part_context *context = work->context;
    const struct ap_trace *trace = context->trace;
    struct ap_gate *gate = context->gate;
    work->per_step = ap_per_step_of(&context->facts->steps);
    work->window_ns = ap_links_window_ns(&context->facts->links, trace);
    AP_TRY(ap_copies_init(&work->copies, trace, &context->facts->tree, &context->facts->links, &context->facts->calls, gate,
                          reterr));
    AP_TRY(ap_host_chains_init(&work->chains, trace, &context->facts->tree, gate, reterr));
    if (has_copies(work)) /* else nobody asks what the others cover */
        AP_TRY(ap_gpu_cover_init(&work->others, trace, &context->facts->links, covers, work, gate, reterr));
    AP_TRY(ap_row_set_init(&work->op_counted, gate, trace->events.count, reterr));
    return ap_row_set_init(&work->waiting_ops, gate, trace->events.count, reterr);
}

enum ap_status ap_part_copies(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                              struct ap_error *reterr)
{
    struct ap_gate *gate = context->gate;
    struct copy_work work = { .context = context,
                              .copies.gate = gate,
                              .copies.on_device.gate = gate,
                              .chains.frames.gate = gate,
                              .others.gate = gate,
                              .op_counted.gate = gate,
                              .waiting_ops.gate = gate };
    if (!context->facts->links.count) {
        ap_add_null(model, root, "copies");
        return AP_OK;
    }
    enum ap_status status = begin(&work, reterr);
    AP_AND_THEN(status, gather(&work, reterr));
    AP_AND_THEN(status, add_copies(&work, model, root, reterr));
    ap_causes_release(&work.causes, gate);
    ap_row_set_release(&work.waiting_ops);
    ap_row_set_release(&work.op_counted);
    ap_gpu_cover_release(&work.others);
    ap_host_chains_release(&work.chains);
    ap_copies_release(&work.copies);
    return status;
}
