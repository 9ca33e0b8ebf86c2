/* SPDX-License-Identifier: MIT
 * transfer_times.h - how long collectives went on after the last of the given ranks had come: the transfer, and the
 * waiting for
 * ranks that are absent. */
#ifndef AP_TRANSFER_TIMES_H
#define AP_TRANSFER_TIMES_H

#include "run_verdict.h"

/** Fills what the verdict says of transfers: its link, and of absent ranks. */
AP_MUST_CHECK enum ap_status ap_transfers_judge(struct ap_run_verdict *verdict, struct ap_error *reterr);

#endif
