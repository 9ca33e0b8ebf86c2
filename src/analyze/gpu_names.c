/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "gpu_work.h"
#include "sort.h"

#include "poison.h"

enum ap_status ap_gpu_names_init(struct ap_gpu_names *names, const struct ap_gpu_work *work, struct ap_error *reterr)
{
    size_t slot_count = (size_t)ap_strpool_count(&work->context->trace->strings) + 1;
    *names = (struct ap_gpu_names){ .gate = work->context->gate };
    names->slot = ap_mem_resize(names->gate, NULL, 0, slot_count * sizeof(names->slot[0]));
    if (!names->slot)
        return ap_fail_memory(names->gate, reterr);
    names->slot_count = slot_count;
    memset(names->slot, 0, slot_count * sizeof(names->slot[0]));
    return AP_OK;
}

enum ap_status ap_gpu_names_add(struct ap_gpu_names *names, struct ap_gpu_work *work, uint32_t row, struct ap_error *reterr)
{
    const struct ap_events *events = &work->context->trace->events;
    uint32_t *slot = &names->slot[events->name[row]];
    if (!*slot) {
        AP_TRY(ap_mem_reserve(names->gate, (void **)&names->names, &names->capacity, names->count + 1,
                              sizeof(names->names[0]), reterr));
        names->names[names->count] = (struct ap_gpu_name){ .name = events->name[row], .longest = row };
        *slot = (uint32_t)++names->count;
    }
    struct ap_gpu_name *name = &names->names[*slot - 1];
    name->total_ns = ap_gpu_add_ns(work, name->total_ns, events->dur_ns[row]);
    name->count++;
    if (events->dur_ns[row] > events->dur_ns[name->longest])
        name->longest = row;
    return AP_OK;
}

enum ap_status ap_gpu_names_add_all(struct ap_gpu_names *names, struct ap_gpu_work *work, enum ap_event_kind kind,
                                    struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    for (size_t row = 0; row < trace->events.count; row++)
        if (ap_row_kind(trace->events.tag[row]) == kind)
            AP_TRY(ap_gpu_names_add(names, work, (uint32_t)row, reterr));
    return AP_OK;
}

void ap_gpu_names_release(struct ap_gpu_names *names)
{
    ap_mem_free(names->gate, names->slot, names->slot_count * sizeof(names->slot[0]));
    ap_mem_free(names->gate, names->names, names->capacity * sizeof(names->names[0]));
    *names = (struct ap_gpu_names){ .gate = names->gate };
}

struct ranking {
    const struct ap_trace *trace;
    const struct ap_gpu_name *names;
};

static bool name_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = context;
    const struct ap_gpu_name *x = &ranking->names[a], *y = &ranking->names[b];
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns;
    return ap_text_compare(ap_strpool_text(&ranking->trace->strings, (struct ap_str){ x->name }),
                           ap_strpool_text(&ranking->trace->strings, (struct ap_str){ y->name })) < 0;
}

enum ap_status ap_gpu_names_top(const struct ap_gpu_names *names, const struct ap_pass_context *context,
                                uint32_t **ret_list, size_t *ret_count, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, names->names };
    return ap_top_indices(names->gate, (uint32_t)names->count, context->options->top_n, name_before, &ranking, ret_list,
                          ret_count, reterr);
}
