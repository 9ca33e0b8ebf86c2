/* SPDX-License-Identifier: MIT */
#include "copies.h"

#include <string.h>

#include "host_chain.h"
#include "rows_of.h"

#include "poison.h"

/* Copies call each other some levels deep, not more. */
#define COPY_DEPTH 8

static const struct cause_names {
    const char *patterns;
    uint8_t cause;
} row_names[] = {
#define AP_COPY_NAME(cause, patterns) { patterns, AP_COPY_##cause },
#include "copy_cause.def"
}, kernel_names[] = {
#define AP_COPY_KERNEL(cause, patterns) { patterns, AP_COPY_##cause },
#include "copy_cause.def"
};

const char *ap_copy_cause_word(enum ap_copy_cause cause)
{
    static const char *const words[] = {
#define AP_COPY_CAUSE(cause, advice) #cause,
#include "copy_cause.def"
    };
    return words[cause];
}

const char *ap_copy_cause_advice(enum ap_copy_cause cause)
{
    static const char *const advices[] = {
#define AP_COPY_CAUSE(cause, advice) advice,
#include "copy_cause.def"
    };
    return advices[cause];
}

bool ap_is_copy_op(struct ap_text name)
{
    static const char *const names[] = { "aten::copy_",      "aten::_to_copy",       "aten::to",  "aten::clone",
                                         "aten::contiguous", "aten::_foreach_copy_", "aten::copy" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- by name */

struct naming {
    const struct ap_trace *trace;
    struct ap_name_patterns rows, kernels;
    uint8_t *op_of_name;    /* 0 = not looked at, 1 = other, 2 = copying operator */
    uint8_t *cause_of_name; /* of copies and kernels: cause + 1; 0 = not looked at */
    size_t name_count;
};

static uint8_t cause_of_row_name(struct naming *naming, uint32_t row)
{
    char lower[64];
    struct ap_text name = ap_row_name(naming->trace, row);
    size_t bytes = name.bytes < sizeof(lower) ? name.bytes : sizeof(lower);
    for (size_t i = 0; i < bytes; i++)
        lower[i] = ap_folded(name.data[i]);
    size_t entry = ap_name_patterns_first(&naming->rows, (struct ap_text){ lower, bytes }, AP_COUNT_OF(row_names));
    return entry < AP_COUNT_OF(row_names) ? row_names[entry].cause : AP_COPY_unknown;
}

static uint8_t cause_of_kernel_name(struct naming *naming, uint32_t row)
{
    size_t entry = ap_name_patterns_first(&naming->kernels, ap_row_name(naming->trace, row), AP_COUNT_OF(kernel_names));
    return entry < AP_COUNT_OF(kernel_names) ? kernel_names[entry].cause : AP_COPY_unknown;
}

static enum ap_copy_cause cause_by_name(struct naming *naming, uint32_t row)
{
    uint8_t *known = &naming->cause_of_name[naming->trace->events.name[row]];
    if (!*known)
        *known = (uint8_t)(1 + (ap_row_is_of(naming->trace, row, 1u << AP_KIND_memcpy) ? cause_of_row_name(naming, row)
                                                                                       : cause_of_kernel_name(naming, row)));
    return (enum ap_copy_cause)(*known - 1);
}

static bool is_copy_op_row(struct naming *naming, uint32_t row)
{
    uint8_t *known = &naming->op_of_name[naming->trace->events.name[row]];
    if (!*known)
        *known = ap_is_copy_op(ap_row_name(naming->trace, row)) ? 2 : 1;
    return *known == 2;
}

/* The next text in quotation marks of a list; empty where there is none. */
static struct ap_text next_quoted(struct ap_text *list)
{
    const char *open = list->bytes ? memchr(list->data, '"', list->bytes) : NULL;
    if (!open)
        return (struct ap_text){ "", 0 };
    const char *begin = open + 1, *end = list->data + list->bytes;
    const char *close = begin < end ? memchr(begin, '"', (size_t)(end - begin)) : NULL;
    close = close ? close : end;
    const char *rest = close < end ? close + 1 : end;
    *list = (struct ap_text){ rest, (size_t)(end - rest) };
    return (struct ap_text){ begin, (size_t)(close - begin) };
}

/* copy_(self, source): other types are a cast, equal ones another layout, since an equal one is copied without a kernel. */
static enum ap_copy_cause cause_of_kernel(struct naming *naming, uint32_t row, uint32_t op)
{
    const struct ap_op_detail *detail = ap_row_op(naming->trace, op);
    if (detail && detail->signature.id && ap_text_is(ap_row_name(naming->trace, op), "aten::copy_")) {
        struct ap_text dims, types;
        ap_trace_signature(naming->trace, detail->signature, &dims, &types);
        struct ap_text to = next_quoted(&types), from = next_quoted(&types);
        if (to.bytes && from.bytes)
            return ap_text_equal(to, from) ? AP_COPY_layout : AP_COPY_cast;
    }
    return cause_by_name(naming, row);
}

static enum ap_copy_cause cause_of(struct naming *naming, struct ap_device_row linked)
{
    if (ap_row_is_of(naming->trace, linked.row, 1u << AP_KIND_memcpy))
        return cause_by_name(naming, linked.row);
    if (ap_row_is_of(naming->trace, linked.row, 1u << AP_KIND_kernel) && linked.op != AP_NO_ROW &&
        ap_row_is_of(naming->trace, linked.op, 1u << AP_KIND_operator) && is_copy_op_row(naming, linked.op))
        return cause_of_kernel(naming, linked.row, linked.op);
    return AP_COPY_CAUSE_COUNT;
}

static enum ap_status name_patterns(struct ap_name_patterns *set, const struct cause_names *names, size_t count,
                                    struct ap_gate *gate, struct ap_error *reterr)
{
    const char *patterns[AP_COUNT_OF(row_names) + AP_COUNT_OF(kernel_names)];
    for (size_t i = 0; i < count; i++)
        patterns[i] = names[i].patterns;
    return ap_name_patterns_init(set, gate, patterns, count, reterr);
}

static enum ap_status find_causes(struct ap_copies *copies, const struct ap_trace *trace, const struct ap_links *links,
                                  struct ap_error *reterr)
{
    struct naming naming = { .trace = trace, .rows.gate = copies->gate, .kernels.gate = copies->gate };
    naming.name_count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC_CLEARED(copies->gate, naming.op_of_name, 2 * naming.name_count, reterr));
    naming.cause_of_name = naming.op_of_name + naming.name_count;
    enum ap_status status = name_patterns(&naming.rows, row_names, AP_COUNT_OF(row_names), copies->gate, reterr);
    AP_AND_THEN(status, name_patterns(&naming.kernels, kernel_names, AP_COUNT_OF(kernel_names), copies->gate, reterr));
    for (size_t i = 0; i < links->count && status == AP_OK; i++)
        copies->cause[i] = (uint8_t)cause_of(&naming, ap_device_row_at(links, i));
    ap_name_patterns_release(&naming.kernels);
    ap_name_patterns_release(&naming.rows);
    ap_mem_free(copies->gate, naming.op_of_name, 2 * naming.name_count);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ on the host */

static bool is_copy(const struct ap_copies *copies, const struct ap_trace *trace, uint32_t row)
{
    return trace->events.name[row] == copies->copy_name && ap_row_is_of(trace, row, 1u << AP_KIND_operator);
}

/* Something was launched in @row, if that is one. */
static void mark(struct ap_copies *copies, const struct ap_trace *trace, const struct ap_host_tree *tree, uint32_t row)
{
    if (row == AP_NO_ROW)
        return;
    int64_t start_ns = trace->events.start_ns[row];
    int left = AP_NESTING_MAX;
    for (int depth = 0; row != AP_NO_ROW && depth < COPY_DEPTH; depth++) {
        if (is_copy(copies, trace, row))
            (void)ap_row_set_add(&copies->on_device, row);
        row = ap_host_next_around(tree, trace, row, start_ns, &left);
    }
}

static bool is_launching(enum ap_call_kind kind)
{
    return kind == AP_CALL_launch || kind == AP_CALL_graph_launch || kind == AP_CALL_copy || kind == AP_CALL_blocking_copy ||
           kind == AP_CALL_set;
}

static void find_launching(struct ap_copies *copies, const struct ap_trace *trace, const struct ap_host_tree *tree,
                           const struct ap_links *links, const struct ap_call_kinds *kinds)
{
    uint32_t last = AP_NO_ROW; /* marked: many calls that follow one another have the same parent */
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        if (ap_host_parent(tree, at.row) == last || !is_launching(ap_call_kind_of(kinds, trace, at.row)))
            continue;
        last = ap_host_parent(tree, at.row);
        mark(copies, trace, tree, last);
    }
    for (size_t i = 0; i < links->count; i++) {
        if (ap_op_at(links, i) == last)
            continue;
        last = ap_op_at(links, i);
        mark(copies, trace, tree, last);
    }
}

bool ap_is_host_copy(const struct ap_copies *copies, const struct ap_trace *trace, const struct ap_host_tree *tree,
                     uint32_t row)
{
    if (!is_copy(copies, trace, row) || trace->events.start_ns[row] == AP_START_UNKNOWN || trace->events.dur_ns[row] < 0 ||
        ap_row_set_has(&copies->on_device, row))
        return false;
    uint32_t around = ap_host_around(tree, trace, row, 1u << AP_KIND_operator);
    return around == AP_NO_ROW || !is_copy(copies, trace, around);
}

/* ---------------------------------------------------------------------------------------------------------- set up */

enum ap_status ap_copies_init(struct ap_copies *copies, const struct ap_trace *trace, const struct ap_host_tree *tree,
                              const struct ap_links *links, const struct ap_call_kinds *kinds, struct ap_gate *gate,
                              struct ap_error *reterr)
{
    *copies = (struct ap_copies){ .gate = gate, .on_device.gate = gate };
    AP_TRY(AP_ALLOC(gate, copies->cause, links->count + 1, reterr));
    copies->count = links->count;
    AP_TRY(find_causes(copies, trace, links, reterr));
    AP_TRY(ap_row_set_init(&copies->on_device, gate, trace->events.count, reterr));
    copies->copy_name = ap_trace_find_text(trace, "aten::copy_");
    if (copies->copy_name)
        find_launching(copies, trace, tree, links, kinds);
    return AP_OK;
}

void ap_copies_release(struct ap_copies *copies)
{
    ap_row_set_release(&copies->on_device);
    ap_mem_free(copies->gate, copies->cause, copies->count + 1);
    *copies = (struct ap_copies){ .gate = copies->gate, .on_device.gate = copies->gate };
}
