/* SPDX-License-Identifier: MIT
 * hang_last.h - of a run that hangs, and whose ranks have traces too: what those that others wait for did last. */
#ifndef AP_HANG_LAST_H
#define AP_HANG_LAST_H

#include "model_build.h"
#include "rank_set.h"

/** Adds "last" to the key "hang", the only one of @model: of the ranks that the surest cause names, those of which there is
 *  a trace in @set, which is finished. Nothing where no trace was read, or there is no cause. */
AP_MUST_CHECK enum ap_status ap_hang_add_last(const struct ap_rank_set *set, struct ap_model *model,
                                              struct ap_error *reterr);

#endif
