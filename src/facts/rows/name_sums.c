/* SPDX-License-Identifier: MIT */
#include "name_sums.h"

#include "rows_of.h"
#include "sort.h"

#include "poison.h"

enum ap_status ap_name_sums_init(struct ap_name_sums *sums, const struct ap_trace *trace, struct ap_gate *gate,
                                 struct ap_error *reterr)
{
    size_t name_count = ap_trace_id_count(trace);
    *sums = (struct ap_name_sums){ .gate = gate };
    AP_TRY(AP_ALLOC_CLEARED(gate, sums->number_of, name_count, reterr));
    sums->name_count = name_count;
    return AP_OK;
}

enum ap_status ap_name_sums_add(struct ap_name_sums *sums, const struct ap_trace *trace, uint32_t row,
                                struct ap_error *reterr)
{
    const struct ap_events *events = &trace->events;
    uint32_t *number = &sums->number_of[events->name[row]];
    if (!*number) {
        AP_TRY(AP_RESERVE(sums->gate, sums->sums, sums->capacity, sums->count + 1, reterr));
        sums->sums[sums->count] = (struct ap_name_sum){ .longest = row };
        *number = (uint32_t)++sums->count;
    }
    struct ap_name_sum *sum = &sums->sums[*number - 1];
    sum->total_ns = ap_add_sat(sum->total_ns, events->dur_ns[row], &sums->overflowed);
    sum->count++;
    if (events->dur_ns[row] > events->dur_ns[sum->longest])
        sum->longest = row;
    return AP_OK;
}

enum ap_status ap_name_sums_add_all(struct ap_name_sums *sums, const struct ap_trace *trace, enum ap_event_kind kind,
                                    struct ap_error *reterr)
{
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << kind); ap_rows_of_next(&at);)
        AP_TRY(ap_name_sums_add(sums, trace, at.row, reterr));
    return AP_OK;
}

void ap_name_sums_release(struct ap_name_sums *sums)
{
    AP_FREE(sums->gate, sums->number_of, sums->name_count);
    AP_FREE(sums->gate, sums->sums, sums->capacity);
    *sums = (struct ap_name_sums){ .gate = sums->gate };
}

struct ranking {
    const struct ap_trace *trace;
    const struct ap_name_sum *sums;
};

static bool larger_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = context;
    const struct ap_name_sum *x = &ranking->sums[a], *y = &ranking->sums[b];
    AP_LARGER_FIRST(x->total_ns, y->total_ns);
    return ap_trace_compare_texts(ranking->trace, ap_name_sum_name(ranking->trace, x), ap_name_sum_name(ranking->trace, y)) <
           0;
}

enum ap_status ap_name_sums_top(const struct ap_name_sums *sums, const struct ap_trace *trace, uint64_t top_n,
                                uint32_t **ret_list, size_t *ret_count, struct ap_error *reterr)
{
    struct ranking ranking = { trace, sums->sums };
    return ap_top_indices(sums->gate, (uint32_t)sums->count, top_n, larger_before, &ranking, ret_list, ret_count, reterr);
}
