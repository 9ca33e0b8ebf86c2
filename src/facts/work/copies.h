/* SPDX-License-Identifier: MIT
 * copies.h - what each copy turned out to be: rows of copies, kernels that a copying operator launched, and copies on the
 * host. */
#ifndef AP_COPIES_H
#define AP_COPIES_H

#include "call_kind.h"
#include "links.h"
#include "row_set.h"

enum ap_copy_cause {
#define AP_COPY_CAUSE(cause, advice) AP_COPY_##cause,
#include "copy_cause.def"
    AP_COPY_CAUSE_COUNT, /* no copy */
};

/** The cause as the report names it; not for AP_COPY_CAUSE_COUNT. */
const char *ap_copy_cause_word(enum ap_copy_cause cause);
/** What helps against it: the text of copy_cause.def. */
const char *ap_copy_cause_advice(enum ap_copy_cause cause);

struct ap_copies {
    struct ap_gate *gate;
    uint8_t *cause; /* by place in links->row; AP_COPY_CAUSE_COUNT = no copy */
    size_t count;
    struct ap_row_set on_device; /* rows of aten::copy_ below which something was launched */
    uint32_t copy_name;          /* name id of aten::copy_; 0 = the trace has none */
};

/** Finds the cause of each copy among the rows of @links. @copies may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_copies_init(struct ap_copies *copies, const struct ap_trace *trace,
                                            const struct ap_host_tree *tree, const struct ap_links *links,
                                            const struct ap_call_kinds *kinds, struct ap_gate *gate,
                                            struct ap_error *reterr);
void ap_copies_release(struct ap_copies *copies);

/** A row of aten::copy_ that is placed in time, launched nothing and is part of no other such row. */
bool ap_is_host_copy(const struct ap_copies *copies, const struct ap_trace *trace, const struct ap_host_tree *tree,
                     uint32_t row);
/** An operator whose kernels are copies. */
bool ap_is_copy_op(struct ap_text name);

#endif
