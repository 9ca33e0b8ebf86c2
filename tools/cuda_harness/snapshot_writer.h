/* SPDX-License-Identifier: MIT
 * snapshot_writer.h - the state and the history of an allocator as torch.cuda.memory._snapshot() and json.dump write them.
 */
#ifndef HARNESS_SNAPSHOT_WRITER_H
#define HARNESS_SNAPSHOT_WRITER_H

#include "allocator.h"

/** Puts the allocator's segments in order. */
AP_MUST_CHECK enum ap_status harness_snapshot_write(struct harness_allocator *allocator, const char *path,
                                                    struct ap_error *reterr);

#endif
