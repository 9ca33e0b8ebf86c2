/* SPDX-License-Identifier: MIT
 * rank_tracks.h - the ranks of a run as a Chrome trace for viewers: a process for each rank with its steps and
 * collectives, all
 * on one axis, clocks set right as far as collectives tell. */
#ifndef AP_RANK_TRACKS_H
#define AP_RANK_TRACKS_H

#include "out.h"
#include "rank_set.h"
#include "redact.h"

/** Write the tracks of a set that is finished. @redaction NULL: names stay. */
AP_MUST_CHECK enum ap_status ap_rank_tracks_write(const struct ap_rank_set *set, const char *version,
                                                  struct ap_redaction *redaction, struct ap_sink sink,
                                                  struct ap_error *reterr);

#endif
