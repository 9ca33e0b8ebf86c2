/* SPDX-License-Identifier: MIT
 * op_family.h - the family of each operator name (op_family.def), told once for all names of a trace. */
#ifndef AP_OP_FAMILY_H
#define AP_OP_FAMILY_H

#include "trace.h"

struct ap_op_families {
    struct ap_gate *gate;
    uint8_t *of_name; /* by name id; of names without operators: "other" */
    size_t name_count;
};

/** @counts: operator rows by name id, of ids below @counted; others have none. */
AP_MUST_CHECK enum ap_status ap_op_families_init(struct ap_op_families *families, const struct ap_trace *trace,
                                                 struct ap_gate *gate, const uint32_t *counts, size_t counted,
                                                 struct ap_error *reterr);
void ap_op_families_release(struct ap_op_families *families);

/** At most this many; the last one that is in use, ap_op_family_count() - 1, is "other". */
#define AP_OP_FAMILY_MAX 32
/** Families in op_family.def; the numbers of families are 0 .. count - 1. */
unsigned ap_op_family_count(void);
/** Its name in op_family.def. */
const char *ap_op_family_name(unsigned family);

#endif
