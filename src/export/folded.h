/* SPDX-License-Identifier: MIT
 * folded.h - stacks and their bytes as text, one line each, as flame graph tools read them. */
#ifndef AP_FOLDED_H
#define AP_FOLDED_H

#include "out.h"
#include "peak_stacks.h"
#include "redact.h"

/** "outermost;...;innermost BYTES" for each stack with at least one byte. A frame is "file:line name". Where several
 *  devices have memory in use, the outermost is "device N". What would break a line or hide text is replaced: a semicolon
 *  by a comma, characters that are not seen by \u{...}. With @redaction names become hashes; NULL = they stay. */
AP_MUST_CHECK enum ap_status ap_write_folded(const struct ap_snapshot *snapshot, const struct ap_peak_stacks *stacks,
                                             struct ap_redaction *redaction, struct ap_sink sink, struct ap_error *reterr);

#endif
