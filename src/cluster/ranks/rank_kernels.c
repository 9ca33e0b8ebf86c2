/* SPDX-License-Identifier: MIT */
#include "rank_kernels.h"

#include "pair_map.h"
#include "sort.h"

#include "poison.h"

struct kernels {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    struct ap_pair_map by_name; /* by name and signature of the operator */
    struct kernel {
        uint64_t key;
        int64_t count, total_ns;
        uint32_t name;
    } * list;
    size_t capacity;
};

/* Told by bytes alone, so that all ranks come to the same; nothing is looked up by it. */
static uint64_t hash_text(uint64_t hash, struct ap_text text)
{
    for (size_t i = 0; i < text.bytes; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct ap_trace *trace, uint32_t name, struct ap_str signature)
{
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), ap_trace_text(trace, name));
    return signature.id ? hash_text(hash, ap_strpool_text(&trace->signatures, signature)) : hash;
}

static struct ap_str signature_of(const struct ap_trace *trace, uint32_t op)
{
    const struct ap_op_detail *detail =
        op != AP_NO_ROW && ap_row_is_of(trace, op, 1u << AP_KIND_operator | 1u << AP_KIND_annotation) ? ap_row_op(trace, op)
                                                                                                      : NULL;
    return detail ? detail->signature : (struct ap_str){ 0 };
}

static enum ap_status count_kernel(struct kernels *kernels, const struct ap_device_row *row, uint64_t *ret_key,
                                   struct ap_error *reterr)
{
    const struct ap_trace *trace = kernels->trace;
    uint32_t name = trace->events.name[row->row], number, before = kernels->by_name.count;
    struct ap_str signature = signature_of(trace, row->op);
    AP_TRY(ap_pair_map_add(&kernels->by_name, name, signature.id, &number, reterr));
    if (number == before) {
        AP_TRY(AP_RESERVE(kernels->gate, kernels->list, kernels->capacity, (size_t)number + 1, reterr));
        kernels->list[number] = (struct kernel){ .key = hash_of(trace, name, signature), .name = name };
    }
    kernels->list[number].count++;
    bool overflowed = false;
    kernels->list[number].total_ns = ap_add_sat(kernels->list[number].total_ns, trace->events.dur_ns[row->row], &overflowed);
    *ret_key = kernels->list[number].key;
    return AP_OK;
}

/* By when they were launched: the host's step is the same for all ranks, when the device comes to it is not. */
static void count_in_step(struct ap_rank_summary *to, const struct ap_facts *facts, const struct ap_device_row *row,
                          uint64_t key)
{
    const struct ap_trace *trace = facts->trace;
    uint32_t at = row->launch == AP_NO_ROW ? row->row : row->launch;
    size_t step = ap_step_at(&facts->steps, trace->events.start_ns[at]);
    bool overflowed = false;
    if (step >= to->step_count)
        return;
    to->steps[step].kernel_count++;
    to->steps[step].kernel_ns = ap_add_sat(to->steps[step].kernel_ns, trace->events.dur_ns[row->row], &overflowed);
    to->steps[step].work = (int64_t)((uint64_t)to->steps[step].work + key);
}

static enum ap_status count_all(struct kernels *kernels, struct ap_rank_summary *to, const struct ap_facts *facts,
                                int64_t device, struct ap_error *reterr)
{
    const struct ap_trace *trace = facts->trace;
    for (size_t i = 0; i < facts->links.count; i++) {
        const struct ap_device_row *row = &facts->links.rows[i];
        uint64_t key;
        if (!ap_row_is_of(trace, row->row, 1u << AP_KIND_kernel) || ap_row_device(trace, row->row) != device ||
            ap_kernel_is_communication(&facts->families, trace, row->row))
            continue;
        AP_TRY(count_kernel(kernels, row, &key, reterr));
        count_in_step(to, facts, row, key);
    }
    return AP_OK;
}

static bool takes_more(const void *context, uint32_t a, uint32_t b)
{
    const struct kernel *list = context;
    AP_LARGER_FIRST(list[a].total_ns, list[b].total_ns);
    AP_SMALLER_FIRST(list[a].key, list[b].key);
    return a < b;
}

static int by_key(const void *left, const void *right)
{
    const struct ap_rank_kernel *a = left, *b = right;
    AP_BY_SMALLER(a->key, b->key);
    AP_BY_SMALLER(a->total_ns, b->total_ns);
    return 0;
}

static enum ap_status keep_top(struct kernels *kernels, struct ap_rank_set *set, struct ap_rank_summary *to,
                               struct ap_error *reterr)
{
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(kernels->gate, kernels->by_name.count, AP_RANK_KERNELS, takes_more, kernels->list, &top, &count,
                          reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        const struct kernel *kernel = &kernels->list[top[i]];
        struct ap_rank_kernel kept = { .key = (int64_t)kernel->key, .count = kernel->count, .total_ns = kernel->total_ns };
        struct ap_text name = ap_trace_text(kernels->trace, kernel->name);
        status = ap_strpool_intern(&set->names, name.data, name.bytes, &kept.name, reterr);
        AP_AND_THEN(status, AP_RESERVE(set->gate, to->kernels, to->kernel_capacity, to->kernel_count + 1, reterr));
        if (status == AP_OK)
            to->kernels[to->kernel_count++] = kept;
    }
    ap_sort(to->kernels, to->kernel_count, sizeof(to->kernels[0]), by_key);
    AP_FREE(kernels->gate, top, count);
    return status;
}

enum ap_status ap_rank_kernels_add(struct ap_rank_set *set, struct ap_rank_summary *to, const struct ap_facts *facts,
                                   int64_t device, struct ap_error *reterr)
{
    struct kernels kernels = { .gate = facts->gate, .trace = facts->trace, .by_name = { .gate = facts->gate } };
    enum ap_status status = count_all(&kernels, to, facts, device, reterr);
    AP_AND_THEN(status, keep_top(&kernels, set, to, reterr));
    AP_FREE(facts->gate, kernels.list, kernels.capacity);
    ap_pair_map_release(&kernels.by_name);
    return status;
}
