/* SPDX-License-Identifier: MIT
 * period_work.h - are the periods of a history steps of a loop, or only the layers of one step? */
#ifndef AP_PERIOD_WORK_H
#define AP_PERIOD_WORK_H

#include "allocation_owner.h"
#include "periods.h"

enum ap_period_proof {
    AP_PERIODS_NO_STEPS, /* parts of one: nodes of a backward pass, parameters of an optimizer's step, parts of a set-up */
    AP_PERIODS_UNSURE,   /* layers of one call, or calls of a model */
    AP_PERIODS_STEPS,
    AP_PERIODS_TRAINING /* steps, and nine of ten have backward or optimizer work beside other work */
};

/** Steps: annotations told the periods; or nine of ten hold backward or optimizer work beside other work; or, where hardly
 *  any does, a loop calls modules again and again, more often than the model has layers, or most of what is allocated in the
 *  periods is freed in them and the level does not fall through all of them, unless weights repeat as often as the periods
 *  do. Equal parts are steps by the first two signs
 *  alone. */
AP_MUST_CHECK enum ap_status ap_periods_prove(const struct ap_owners *owners, uint32_t device,
                                              const struct ap_periods *periods, enum ap_period_proof *ret_proof,
                                              struct ap_error *reterr);

/** A forward pass and what follows until the next one behind backward or optimizer work; fewer than AP_LEAST_PERIODS are
 *  none. Release with ap_periods_release. */
AP_MUST_CHECK enum ap_status ap_periods_of_passes(const struct ap_owners *owners, uint32_t device,
                                                  struct ap_periods *ret_periods, struct ap_error *reterr);

/** Without stacks: from one allocation of a size to the next, where these lie ever further apart over most of the history,
 *  as in a loop that goes through all again that the rounds before kept. None where no size does. Release likewise. */
AP_MUST_CHECK enum ap_status ap_periods_that_lengthen(const struct ap_owners *owners, uint32_t device,
                                                      struct ap_periods *ret_periods, struct ap_error *reterr);

#endif
