/* SPDX-License-Identifier: MIT */
#include "rank_calls.h"

#include "pair_map.h"
#include "sort.h"

#include "poison.h"

/* Of one kind. */
struct calls {
    struct ap_gate *gate;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_rank_summary *to;
    enum ap_rank_call_kind kind;
    struct ap_pair_map by_name; /* by name, and signature of the operator or size of the copy */
    struct call {
        uint64_t key;
        int64_t count, total_ns, least_ns;
        uint32_t name;
        bool is_shaped;
    } * list;
    size_t capacity;
};

/* ------------------------------------------------------------------------------------------------------------ keys */

/* Told by bytes alone, so that all ranks come to the same; nothing is looked up by it. */
static uint64_t hash_text(uint64_t hash, struct ap_text text)
{
    for (size_t i = 0; i < text.bytes; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct calls *calls, uint32_t name, struct ap_str signature, uint32_t size)
{
    uint64_t hash =
        hash_text(UINT64_C(0xcbf29ce484222325) + (uint64_t)calls->kind + size, ap_trace_text(calls->trace, name));
    return signature.id ? hash_text(hash, ap_strpool_text(&calls->trace->signatures, signature)) : hash;
}

static struct ap_str signature_of(const struct ap_trace *trace, uint32_t op)
{
    const struct ap_op_detail *detail =
        op != AP_NO_ROW && ap_row_is_of(trace, op, 1u << AP_KIND_operator | 1u << AP_KIND_annotation) ? ap_row_op(trace, op)
                                                                                                      : NULL;
    return detail ? detail->signature : (struct ap_str){ 0 };
}

/* ---------------------------------------------------------------------------------------------------------- counts */

/* @size: of a copy, else 0. */
static enum ap_status count_call(struct calls *calls, uint32_t row, int64_t dur_ns, struct ap_str signature, uint32_t size,
                                 uint64_t *ret_key, struct ap_error *reterr)
{
    uint32_t name = calls->trace->events.name[row], number, before = calls->by_name.count;
    AP_TRY(ap_pair_map_add(&calls->by_name, name, signature.id ^ size, &number, reterr));
    if (number == before) {
        AP_TRY(AP_RESERVE(calls->gate, calls->list, calls->capacity, (size_t)number + 1, reterr));
        calls->list[number] = (struct call){
            .key = hash_of(calls, name, signature, size), .least_ns = dur_ns, .name = name, .is_shaped = signature.id || size
        };
    }
    struct call *call = &calls->list[number];
    bool overflowed = false;
    call->count++;
    call->total_ns = ap_add_sat(call->total_ns, dur_ns, &overflowed);
    call->least_ns = dur_ns < call->least_ns ? dur_ns : call->least_ns;
    *ret_key = call->key;
    return AP_OK;
}

/* By when they were launched: the host's step is the same for all ranks, when the device comes to it is not. */
static void count_in_step(struct calls *calls, uint32_t row, uint32_t launch, int64_t dur_ns, uint64_t key)
{
    const struct ap_trace *trace = calls->trace;
    size_t step = ap_step_at(&calls->facts->steps, trace->events.start_ns[launch == AP_NO_ROW ? row : launch]);
    bool overflowed = false;
    if (step >= calls->to->step_count)
        return;
    struct ap_rank_step *to = &calls->to->steps[step];
    to->kernel_count++;
    to->kernel_ns = ap_add_sat(to->kernel_ns, dur_ns, &overflowed);
    to->work = (int64_t)((uint64_t)to->work + key);
}

/* Kernels of the device, or its copies. */
static enum ap_status count_work(struct calls *calls, int64_t device, struct ap_error *reterr)
{
    const struct ap_trace *trace = calls->trace;
    bool kernels = calls->kind == AP_RANK_CALL_kernel;
    for (size_t i = 0; i < calls->facts->links.count; i++) {
        struct ap_device_row row = ap_device_row_at(&calls->facts->links, i);
        uint64_t key;
        if (!ap_row_is_of(trace, row.row, 1u << (kernels ? AP_KIND_kernel : AP_KIND_memcpy)) ||
            ap_row_device(trace, row.row) != device ||
            (kernels && ap_kernel_is_communication(&calls->facts->families, trace, row.row)))
            continue;
        int64_t bytes = kernels ? 0 : ap_row_bytes(trace, row.row);
        uint32_t size = bytes > 0 ? (uint32_t)(bytes ^ bytes >> 32) : 0;
        struct ap_str signature = kernels ? signature_of(trace, row.op) : (struct ap_str){ 0 };
        int64_t dur_ns = trace->events.dur_ns[row.row];
        AP_TRY(count_call(calls, row.row, dur_ns, signature, size, &key, reterr));
        if (kernels)
            count_in_step(calls, row.row, row.launch, dur_ns, key);
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------- operators */

static unsigned family_of(const char *name)
{
    unsigned family = 0;
    while (family + 1 < ap_op_family_count() && !ap_text_is(ap_text_of(ap_op_family_name(family)), name))
        family++;
    return family;
}

/* Operators do the work, or launch it, beside the calls of others that they make: what is their own counts, so that no
 * time counts twice, whoever calls whom. What communicates, loads or copies waits, too. */
static enum ap_status count_own(struct calls *calls, const int64_t *own_ns, struct ap_error *reterr)
{
    const struct ap_trace *trace = calls->trace;
    const unsigned waiting[] = { family_of("communication"), family_of("data loading"), family_of("copy, cast and layout") };
    for (uint32_t row = 0; row < trace->events.count; row++) {
        uint64_t key;
        if (!ap_row_is_of(trace, row, 1u << AP_KIND_operator) || trace->events.dur_ns[row] < 0)
            continue;
        unsigned family = calls->facts->op_families.of_name[trace->events.name[row]];
        if (family == waiting[0] || family == waiting[1] || (calls->to->has_device && family == waiting[2]))
            continue;
        AP_TRY(count_call(calls, row, own_ns[row], signature_of(trace, row), 0, &key, reterr));
        if (!calls->to->has_device)
            count_in_step(calls, row, AP_NO_ROW, own_ns[row], key);
    }
    return AP_OK;
}

/* By row: its time without that of the operators that it calls; as the file's digits are rounded, a row may seem to begin
 * within the one before it. */
static void find_own(const struct calls *calls, int64_t *own_ns)
{
    const struct ap_trace *trace = calls->trace;
    const struct ap_host_tree *tree = &calls->facts->tree;
    for (uint32_t row = 0; row < trace->events.count; row++)
        own_ns[row] = trace->events.dur_ns[row];
    for (uint32_t row = 0; row < trace->events.count && row < tree->count; row++) {
        if (!ap_row_is_of(trace, row, 1u << AP_KIND_operator) || trace->events.dur_ns[row] < 0)
            continue;
        uint32_t caller = ap_host_around(tree, trace, row, 1u << AP_KIND_operator);
        if (caller == AP_NO_ROW)
            continue;
        int64_t end_ns = ap_row_end_ns(trace, row), caller_end_ns = ap_row_end_ns(trace, caller);
        int64_t within_ns = (end_ns < caller_end_ns ? end_ns : caller_end_ns) - trace->events.start_ns[row];
        own_ns[caller] = own_ns[caller] > within_ns ? own_ns[caller] - within_ns : 0;
    }
}

static enum ap_status count_operators(struct calls *calls, struct ap_error *reterr)
{
    int64_t *own_ns;
    AP_TRY(AP_ALLOC(calls->gate, own_ns, calls->trace->events.count, reterr));
    find_own(calls, own_ns);
    enum ap_status status = count_own(calls, own_ns, reterr);
    AP_FREE(calls->gate, own_ns, calls->trace->events.count);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- top */

static bool takes_more(const void *context, uint32_t a, uint32_t b)
{
    const struct call *list = context;
    AP_LARGER_FIRST(list[a].total_ns, list[b].total_ns);
    AP_SMALLER_FIRST(list[a].key, list[b].key);
    return a < b;
}

static int by_key(const void *left, const void *right)
{
    const struct ap_rank_call *a = left, *b = right;
    AP_BY_SMALLER(a->key, b->key);
    AP_BY_SMALLER(a->total_ns, b->total_ns);
    return 0;
}

static enum ap_status keep_top(struct calls *calls, struct ap_rank_set *set, struct ap_error *reterr)
{
    struct ap_rank_summary *to = calls->to;
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(calls->gate, calls->by_name.count, AP_RANK_CALLS, takes_more, calls->list, &top, &count, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        const struct call *call = &calls->list[top[i]];
        struct ap_rank_call kept = { .key = (int64_t)call->key,
                                     .count = call->count,
                                     .total_ns = call->total_ns,
                                     .least_ns = call->least_ns,
                                     .kind = (uint8_t)calls->kind,
                                     .is_shaped = call->is_shaped };
        struct ap_text name = ap_trace_text(calls->trace, call->name);
        status = ap_strpool_intern(&set->names, name.data, name.bytes, &kept.name, reterr);
        AP_AND_THEN(status, AP_RESERVE(set->gate, to->calls, to->call_capacity, to->call_count + 1, reterr));
        if (status == AP_OK)
            to->calls[to->call_count++] = kept;
    }
    AP_FREE(calls->gate, top, count);
    return status;
}

enum ap_status ap_rank_calls_add(struct ap_rank_set *set, struct ap_rank_summary *to, const struct ap_facts *facts,
                                 int64_t device, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    for (int kind = 0; kind < AP_RANK_CALL_COUNT_ && status == AP_OK; kind++) {
        struct calls calls = { .gate = facts->gate,
                               .facts = facts,
                               .trace = facts->trace,
                               .to = to,
                               .kind = (enum ap_rank_call_kind)kind,
                               .by_name = { .gate = facts->gate } };
        status = kind == AP_RANK_CALL_operator ? count_operators(&calls, reterr) : count_work(&calls, device, reterr);
        AP_AND_THEN(status, keep_top(&calls, set, reterr));
        AP_FREE(facts->gate, calls.list, calls.capacity);
        ap_pair_map_release(&calls.by_name);
    }
    ap_sort(to->calls, to->call_count, sizeof(to->calls[0]), by_key);
    return status;
}
