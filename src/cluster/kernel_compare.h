/* SPDX-License-Identifier: MIT
 * kernel_compare.h - do the same kernels take longer on one rank than on another, or has it other ones to run? */
#ifndef AP_KERNEL_COMPARE_H
#define AP_KERNEL_COMPARE_H

#include "run_view.h"

/** Are kernels of the same name and shapes the reason why @rank computes longer than @other? False where it does not. */
bool ap_same_work_takes_longer(const struct ap_rank_summary *rank, const struct ap_rank_summary *other,
                               const struct ap_run_view *view);

#endif
