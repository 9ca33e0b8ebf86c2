/* SPDX-License-Identifier: MIT
 * trace_writer.h - a recording as a Chrome trace in the dialect of PyTorch's profiler. */
#ifndef HARNESS_TRACE_WRITER_H
#define HARNESS_TRACE_WRITER_H

#include "recording.h"

/** The recording is linked. Times are written relative to baseTimeNanoseconds, a full hour of the Unix epoch. */
AP_MUST_CHECK enum ap_status harness_trace_write(const struct harness_recording *recording, const char *path,
                                                 struct ap_error *reterr);

#endif
