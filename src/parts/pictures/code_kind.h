/* SPDX-License-Identifier: MIT
 * code_kind.h - whose code a row of the host is: code_kind.def, and what user_frame.h says. */
#ifndef AP_CODE_KIND_H
#define AP_CODE_KIND_H

#include "user_frame.h"

enum ap_code_kind { AP_CODE_none, AP_CODE_user, AP_CODE_torch, AP_CODE_library, AP_CODE_runtime, AP_CODE_waiting };

/** Distinct names are looked at once, when they are first asked for. */
struct ap_code_kinds {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    struct ap_user_frames frames;
    struct ap_name_patterns patterns;
    uint8_t *kinds; /* by name id: what its first row is */
    size_t count;
};

/** @codes may be released after a failure too. No name may be interned while it is in use. */
AP_MUST_CHECK enum ap_status ap_code_kinds_init(struct ap_code_kinds *codes, const struct ap_trace *trace,
                                                struct ap_gate *gate, struct ap_error *reterr);
void ap_code_kinds_release(struct ap_code_kinds *codes);
/** Of a row of the host. */
enum ap_code_kind ap_code_kind_of(struct ap_code_kinds *codes, uint32_t row);
/** "user", as the report has it; "none" of what is no code: a thread, the whole. */
const char *ap_code_kind_name(enum ap_code_kind kind);

#endif
