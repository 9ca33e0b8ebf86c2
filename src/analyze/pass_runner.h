/* SPDX-License-Identifier: MIT
 * pass_runner.h - runs passes as soon as what they need is there, on two threads where allowed. A pass finds a fact or
 * writes a part. Each part is written to a model of its own; these are put together in the order of the list, so that the
 * report does not depend on who was first. */
#ifndef AP_PASS_RUNNER_H
#define AP_PASS_RUNNER_H

#include "part.h"

/** More than any part adds. */
#define AP_PART_KEYS_MAX 6

struct ap_part_entry {
    ap_part *part;
    unsigned cost;                          /* of a large trace, in ms for a million rows */
    unsigned needs;                         /* set of facts */
    const char *keys[AP_PART_KEYS_MAX + 1]; /* of the report that it adds, in order, ended by NULL */
    void (*behind)(struct ap_facts *facts); /* gives back what nobody else reads; NULL = nothing */
};

/** Facts and parts together. */
#define AP_PASS_MAX 48

struct ap_passes {
    const struct ap_fact_entry *facts; /* in the order of their bits in sets */
    size_t fact_count;
    const struct ap_part_entry *parts; /* in the order of the report */
    size_t part_count;
};

/** Of the passes that can begin, those go first that most work waits for, theirs and that of the longest chain behind them.
 *  After a failure all that does not need its result still runs; the first failure of the lists, facts first, is the one
 *  told. @context: what each part is handed a copy of. *ret_overflowed: some part had a sum beyond the ends of int64. */
AP_MUST_CHECK enum ap_status ap_run_passes(const struct ap_passes *passes, struct ap_facts *facts,
                                           const struct ap_part_context *context, bool two_threads, struct ap_model *model,
                                           bool *ret_overflowed, struct ap_error *reterr);

#endif
