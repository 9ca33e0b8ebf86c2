/* SPDX-License-Identifier: MIT
 * slice.h - which stretch of a trace is to be copied, as the user says it: START:END, finding:ID, finding:N. */
#ifndef AP_SLICE_H
#define AP_SLICE_H

#include "trace_copy.h"

/** Is @text one that can be understood? */
AP_MUST_CHECK enum ap_status ap_slice_check(const char *text, struct ap_error *reterr);

/** The stretch that @text names in the trace whose window this is, of whose report @root is; AP_ERROR_USAGE where there is
 * no such finding, or where it has no place in time. */
AP_MUST_CHECK enum ap_status ap_slice_resolve(const char *text, const struct ap_copy_slice *window,
                                              const struct ap_value *root, struct ap_copy_slice *ret_slice,
                                              struct ap_error *reterr);

#endif
