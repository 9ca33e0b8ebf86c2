/* SPDX-License-Identifier: MIT
 * nest.h - the open rows of one kind of a thread, innermost last: host time goes to the innermost open one (so self times
 * add up to the union, also where rows cross), GPU work to the innermost one that is open at its launch. */
#ifndef AP_NEST_H
#define AP_NEST_H

#include "trace.h"

struct ap_nest_row {
    int64_t start_ns, end_ns;
    int64_t host_self_ns;
    int64_t device_self_ns, device_total_ns; /* the total is whole when the row is closed */
    uint32_t device_rows;                    /* in all */
    uint32_t row, id, group;                 /* what the user of the nest makes of them */
};

struct ap_nest {
    struct ap_gate *gate;
    struct ap_nest_row *open;
    size_t depth, capacity;
    int64_t now_ns;
    bool overflowed; /* GPU time that was launched does not fit */
};

typedef enum ap_status ap_nest_close(void *context, const struct ap_nest_row *closed, struct ap_error *reterr);

static inline void ap_nest_release(struct ap_nest *nest)
{
    AP_FREE(nest->gate, nest->open, nest->capacity);
    *nest = (struct ap_nest){ .gate = nest->gate };
}

/** Time passes: rows that end until then are closed. To begin with a thread: depth = 0, now_ns = INT64_MIN; to end with it:
 *  INT64_MAX. */
AP_MUST_CHECK static inline enum ap_status ap_nest_advance(struct ap_nest *nest, int64_t to_ns, ap_nest_close *close,
                                                           void *context, struct ap_error *reterr)
{
    while (nest->depth) {
        struct ap_nest_row *top = &nest->open[nest->depth - 1];
        int64_t until_ns = top->end_ns < to_ns ? top->end_ns : to_ns;
        if (until_ns > nest->now_ns) {
            top->host_self_ns += until_ns - nest->now_ns;
            nest->now_ns = until_ns;
        }
        if (top->end_ns > to_ns)
            break;
        AP_TRY(close(context, top, reterr));
        nest->depth--;
        if (nest->depth) {
            top[-1].device_total_ns = ap_add_sat(top[-1].device_total_ns, top->device_total_ns, &nest->overflowed);
            top[-1].device_rows += top->device_rows;
        }
    }
    nest->now_ns = to_ns;
    return AP_OK;
}

/** Call ap_nest_advance to its start before. Filled in where it stands: what is put together elsewhere and then copied has
 *  to be waited for. */
AP_MUST_CHECK static inline enum ap_status ap_nest_push(struct ap_nest *nest, const struct ap_trace *trace, uint32_t row,
                                                        uint32_t id, uint32_t group, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(nest->gate, nest->open, nest->capacity, nest->depth + 1, reterr));
    struct ap_nest_row *open = &nest->open[nest->depth++];
    open->start_ns = trace->events.start_ns[row];
    open->end_ns = ap_row_end_ns(trace, row);
    open->host_self_ns = open->device_self_ns = open->device_total_ns = 0;
    open->device_rows = 0;
    open->row = row;
    open->id = id;
    open->group = group;
    return AP_OK;
}

/** NULL where nothing is open. */
static inline struct ap_nest_row *ap_nest_top(struct ap_nest *nest)
{
    return nest->depth ? &nest->open[nest->depth - 1] : NULL;
}

/** Work launched now. */
static inline void ap_nest_launch(struct ap_nest *nest, int64_t device_ns, uint32_t rows)
{
    struct ap_nest_row *top = ap_nest_top(nest);
    if (top) {
        top->device_self_ns = ap_add_sat(top->device_self_ns, device_ns, &nest->overflowed);
        top->device_total_ns = ap_add_sat(top->device_total_ns, device_ns, &nest->overflowed);
        top->device_rows += rows;
    }
}

#endif
