/* SPDX-License-Identifier: MIT */
#include "host_state.h"

#include <string.h>

#include "loading.h"
#include "name_pattern.h"

#include "poison.h"

static const struct {
    const char *name, *meaning;
} causes[AP_IDLE_CAUSE_COUNT_] = {
#define AP_IDLE_CAUSE(id, sentence) { #id, sentence },
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
};

const char *ap_idle_cause_name(enum ap_idle_cause cause)
{
    return causes[cause].name;
}

const char *ap_idle_cause_meaning(enum ap_idle_cause cause)
{
    return causes[cause].meaning;
}

/* What a name says of its row, by kind of row; the first line that matches decides. */
struct name_rule {
    uint32_t kinds;
    const char *patterns;
    enum ap_idle_cause cause;
};
#define RANGES (1u << AP_KIND_operator | 1u << AP_KIND_annotation)
#define CALLS (1u << AP_KIND_runtime)
static const struct name_rule rules[] = {
    { RANGES, "enumerate(DataLoader)*|*DataLoaderIter*", AP_IDLE_data_loading },
    /* whose range may be cut */
    /* the range may have begun before the recording */
    { 1u << AP_KIND_python, "*torch/utils/data/dataloader.py(*): __next__", AP_IDLE_data_loading },
    { RANGES, "Optimizer.*", AP_IDLE_host_optimizer },
    { RANGES, "ProfilerStep*", AP_IDLE_untraced }, /* until 2021-06 an operator */
    { RANGES, "gloo:*|mpi:*|ucc:*|*barrier*|c10d::*wait*", AP_IDLE_communication_wait },
    { RANGES, "autograd::engine::*", AP_IDLE_host_autograd },
    { 1u << AP_KIND_python, "<built-in method run_backward*", AP_IDLE_host_autograd }, /* which waits for the engine */
    { CALLS,
      "*Synchronize|*synchronizeStream|*synchronize|cudaMemcpy|hipMemcpy|hipMemcpyWithStream|hipMemcpyDtoH|cuMemcpyDtoH_v2",
      AP_IDLE_synchronization },
    { CALLS, "*Malloc*|*Free*|*HostAlloc*|*MemAlloc*|*HostRegister*|*HostUnregister*", AP_IDLE_allocation },
    { CALLS, "*GraphLaunch*|*MemcpyAsync*|*MemsetAsync*|*Memcpy*Async*|*Memset*", AP_IDLE_launch_overhead },
    { 1u << AP_KIND_operator, "aten::copy_|aten::_local_scalar_dense|aten::nonzero|aten::masked_select|aten::_unique2",
      AP_IDLE_synchronization },
    { CALLS, "*Launch*", AP_IDLE_launch_overhead },
};
#define LAUNCH_RULE (AP_COUNT_OF(rules) - 1)
/* Operators in which the host may wait for the device. Where calls are not recorded, their length is all that tells. */
#define WAIT_RULE (AP_COUNT_OF(rules) - 2)
#define LONG_WAIT_NS 1000000
/* On an idle device a launch takes some 10 us: one that takes this long loads the kernel's module first, whether rows tell
 * or not. */
#define LOADING_LAUNCH_NS 1000000
#define SHORT_LAUNCH_NS 20000 /* loads nothing */
#define NO_RULE AP_COUNT_OF(rules)

static enum ap_status class_names(uint8_t **ret_classes, size_t name_count, const struct ap_trace *trace,
                                  struct ap_gate *gate, struct ap_error *reterr)
{
    const char *entries[NO_RULE];
    struct ap_name_patterns patterns;
    for (size_t i = 0; i < NO_RULE; i++)
        entries[i] = rules[i].patterns;
    enum ap_status status = ap_name_patterns_init(&patterns, gate, entries, NO_RULE, reterr);
    uint8_t *classes = NULL;
    AP_AND_THEN(status, AP_ALLOC(gate, classes, name_count, reterr));
    if (status == AP_OK) {
        classes[0] = NO_RULE;
        for (uint32_t id = 1; id < name_count; id++)
            classes[id] = (uint8_t)ap_name_patterns_first(&patterns, ap_trace_text(trace, id), NO_RULE);
        *ret_classes = classes;
    }
    ap_name_patterns_release(&patterns);
    return status;
}

/* Does what is open around a row also say what the time within it is for? */
static bool is_inherited(enum ap_idle_cause cause)
{
    return cause == AP_IDLE_data_loading || cause == AP_IDLE_communication_wait || cause == AP_IDLE_host_autograd ||
           cause == AP_IDLE_host_optimizer;
}

/* Where no row of the engine is around it, as in traces of 2021. */
static bool is_backward(const struct ap_trace *trace, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(trace, row);
    return op && ap_op_forward_thread(trace, op);
}

static enum ap_idle_cause own_cause(const struct ap_trace *trace, uint32_t row)
{
    switch (ap_row_kind(trace->events.tag[row])) {
    case AP_KIND_operator: return is_backward(trace, row) ? AP_IDLE_host_autograd : AP_IDLE_host_operator;
    case AP_KIND_engine: return AP_IDLE_host_operator;
    case AP_KIND_python: return AP_IDLE_host_python;
    case AP_KIND_runtime: return AP_IDLE_driver_call;
    default: return AP_IDLE_untraced; /* an annotation says where the host is, not what it does there */
    }
}

static bool is_loading(const struct ap_trace *trace, const struct ap_loading *loading, uint32_t row)
{
    int64_t dur_ns = trace->events.dur_ns[row];
    return dur_ns >= LOADING_LAUNCH_NS || (dur_ns > SHORT_LAUNCH_NS && ap_loading_fills(loading, trace, row));
}

/* What the states of a trace's rows follow from. */
struct signs {
    const struct ap_trace *trace;
    struct ap_loading loading;
    uint8_t *classes; /* by name */
    bool lacks_calls; /* work of devices without any call that made it */
};

static bool lacks_calls(const struct ap_trace *trace)
{
    bool works = false;
    for (uint32_t row = 0; row < trace->events.count; row++) {
        if (ap_row_is_of(trace, row, CALLS))
            return false;
        works = works || ap_row_is_of(trace, row, AP_GPU_KINDS);
    }
    return works;
}

static enum ap_idle_cause state_of(const struct signs *signs, uint32_t row, enum ap_idle_cause around)
{
    const struct ap_trace *trace = signs->trace;
    size_t rule = signs->classes[trace->events.name[row]];
    if (around == AP_IDLE_data_loading)
        return around;
    if (rule == WAIT_RULE && (!signs->lacks_calls || is_inherited(around) || trace->events.dur_ns[row] < LONG_WAIT_NS))
        rule = NO_RULE;
    if (rule == LAUNCH_RULE && is_loading(trace, &signs->loading, row))
        return AP_IDLE_driver_call;
    if (rule != NO_RULE && ap_row_is_of(trace, row, rules[rule].kinds))
        return rules[rule].cause;
    return is_inherited(around) ? around : own_cause(trace, row);
}

enum ap_status ap_host_states_init(struct ap_host_states *states, const struct ap_trace *trace,
                                   const struct ap_row_order *order, const struct ap_host_tree *tree, struct ap_gate *gate,
                                   struct ap_error *reterr)
{
    size_t name_count = ap_trace_id_count(trace);
    struct signs signs = { .trace = trace, .lacks_calls = lacks_calls(trace) };
    *states = (struct ap_host_states){ .gate = gate };
    if (!trace->events.count)
        return AP_OK;
    enum ap_status status = ap_loading_init(&signs.loading, trace, AP_LOADING_NAMES, gate, reterr);
    AP_AND_THEN(status, class_names(&signs.classes, name_count, trace, gate, reterr));
    if (status == AP_OK)
        states->state = ap_mem_resize(gate, NULL, 0, trace->events.count);
    if (states->state) {
        states->count = trace->events.count;
        memset(states->state, AP_IDLE_untraced, states->count);
        for (struct ap_placed_rows at = ap_placed_rows(order, trace, AP_HOST_KINDS); ap_placed_rows_next(&at);) {
            uint32_t parent = ap_host_parent(tree, at.row);
            states->state[at.row] = (uint8_t)state_of(
                &signs, at.row, parent == AP_NO_ROW ? AP_IDLE_untraced : (enum ap_idle_cause)states->state[parent]);
        }
    }
    if (signs.classes)
        ap_mem_free(gate, signs.classes, name_count);
    ap_loading_release(&signs.loading);
    return status == AP_OK && !states->state ? ap_fail_memory(gate, reterr) : status;
}

void ap_host_states_release(struct ap_host_states *states)
{
    ap_mem_free(states->gate, states->state, states->count);
    *states = (struct ap_host_states){ .gate = states->gate };
}
