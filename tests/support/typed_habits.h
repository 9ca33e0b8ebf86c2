/* SPDX-License-Identifier: MIT
 * typed_habits.h - traces of operators typed by hand, and what the report says of habits in them. */
#ifndef AP_TYPED_HABITS_H
#define AP_TYPED_HABITS_H

#include <stdio.h>

#include "typed_trace.h"

/** With its "Input Dims" and "Input type"; NULL where they were not recorded. */
static inline void op_with(struct run *run, const char *name, int64_t start_us, int64_t dur_us, uint32_t sequence,
                           const char *dims, const char *types)
{
    struct ap_op_told detail = { .sequence = sequence };
    row(run, "1", name, OPERATOR, start_us, dur_us);
    if (dims && types &&
        ap_trace_join_signature(run->trace, ap_text_of(dims), ap_text_of(types), &detail.signature, NULL) != AP_OK)
        abort();
    if ((sequence || dims) && ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

/** @sequence: 0 = makes no node. */
static inline void op(struct run *run, const char *name, int64_t start_us, int64_t dur_us, uint32_t sequence)
{
    op_with(run, name, start_us, dur_us, sequence, NULL, NULL);
}

/** Of the backward pass. */
static inline void node(struct run *run, int64_t start_us, int64_t dur_us, uint32_t sequence)
{
    row(run, "1", "autograd::engine::evaluate_function: AddmmBackward0", OPERATOR, start_us, dur_us);
    struct ap_op_told detail = { .sequence = sequence, .forward_thread = 1 };
    if (ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

/** habits.ID.MEMBER; times in microseconds. */
static inline int64_t habit(const struct run *run, const char *id, const char *member)
{
    char path[100];
    (void)snprintf(path, sizeof(path), "habits.%s.%s", id, member);
    int64_t value = ap_value_integer(at(run, path), -1);
    size_t bytes = strlen(member);
    return bytes > 3 && strcmp(member + bytes - 3, "_us") == 0 ? value / 1000 : value;
}

#endif
