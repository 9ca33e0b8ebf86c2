/* SPDX-License-Identifier: MIT
 * pass_runner.h - runs passes that do not need each other, on two threads where allowed. Each pass reads what is shared and
 * adds its values to a model of its own; these are put together in the order of the list, so that the report does not
 * depend on who was first. */
#ifndef AP_PASS_RUNNER_H
#define AP_PASS_RUNNER_H

#include "passes.h"

struct ap_pass_entry {
    ap_pass *pass;
    unsigned cost; /* of a large trace, in ms for a million rows: the dearest begin first */
};

#define AP_PASS_ENTRY_MAX 32

AP_MUST_CHECK enum ap_status ap_run_passes(struct ap_pass_context *context, const struct ap_pass_entry *entries, size_t count,
                                           struct ap_model *model, struct ap_error *reterr);

#endif
