/* SPDX-License-Identifier: MIT
 * pass_runner.h - runs passes as soon as what they need is there, on two threads where allowed. Each pass reads what is
 * shared, fills what it gives, and adds its values to a model of its own; these are put together in the order of the list,
 * so that the report does not depend on who was first. */
#ifndef AP_PASS_RUNNER_H
#define AP_PASS_RUNNER_H

#include "passes.h"

struct ap_pass_entry {
    ap_pass *pass;
    unsigned cost;  /* of a large trace, in ms for a million rows */
    unsigned needs; /* set of what others give: the pass begins once all of it is there */
    unsigned gives; /* set of what it fills; what gives stands before what needs in the list */
};

#define AP_PASS_ENTRY_MAX 32

/** Of the passes that can begin, those go first that most work waits for, theirs and that of the longest chain behind them.
 *  After a failure all that does not need its result still runs; the first failure of the list is the one told. */
AP_MUST_CHECK enum ap_status ap_run_passes(struct ap_pass_context *context, const struct ap_pass_entry *entries, size_t count,
                                           struct ap_model *model, struct ap_error *reterr);

#endif
