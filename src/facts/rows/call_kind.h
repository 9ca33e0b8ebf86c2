/* SPDX-License-Identifier: MIT
 * call_kind.h - what the runtime and driver calls of a trace do: launch, copy, wait, allocate ... Each name is looked at
 * once. */
#ifndef AP_CALL_KIND_H
#define AP_CALL_KIND_H

#include "trace.h"

enum ap_call_kind {
#define AP_CALL_KIND(kind, word) AP_CALL_##kind,
#include "call_kind.def"
};

struct ap_call_kinds {
    struct ap_gate *gate;
    uint8_t *by_name; /* AP_CALL_none for names that no call has */
    size_t count;
};

/** Looks at each name that runtime and driver rows of the trace have. @kinds may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_call_kinds_init(struct ap_call_kinds *kinds, const struct ap_trace *trace,
                                                struct ap_gate *gate, struct ap_error *reterr);
void ap_call_kinds_release(struct ap_call_kinds *kinds);

/** As reports and tables write it. */
const char *ap_call_kind_word(enum ap_call_kind kind);

/** Of a runtime or driver row. */
static inline enum ap_call_kind ap_call_kind_of(const struct ap_call_kinds *kinds, const struct ap_trace *trace,
                                                uint32_t row)
{
    return (enum ap_call_kind)kinds->by_name[trace->events.name[row]];
}

#endif
