/* SPDX-License-Identifier: MIT
 * trace_copy.h - writes a Chrome trace: events of an input as they stand there, with the spans of an overlay as tracks of
 * one more process. What is written is strict JSON and a trace without oddities, whatever the input was. */
#ifndef AP_TRACE_COPY_H
#define AP_TRACE_COPY_H

#include "json_reader.h"
#include "out.h"
#include "overlay.h"
#include "redact.h"

/** Bytes of events that are copied unless all are wanted, so that viewers open the file at once. */
#define AP_TRACE_COPY_LIMIT_BYTES UINT64_C(50000000)

/** A stretch of time as the trace writes it. */
struct ap_copy_slice {
    int64_t start_ns, end_ns;
};

struct ap_trace_copy_options {
    struct ap_gate *gate;
    const struct ap_overlay *overlay;
    const char *version;    /* of the program */
    bool all;               /* copy every event, not only those around the findings */
    uint64_t limit_bytes;   /* where not all are wanted; 0 = AP_TRACE_COPY_LIMIT_BYTES */
    uint64_t arrays_before; /* traceEvents members before the one that counts */
    /** What meets this stretch, and nothing of the overlay: a small trace that tells which stretch it is of. NULL = as
     *  above. */
    const struct ap_copy_slice *slice;
    struct ap_redaction *redaction; /* names become hashes; NULL = they stay */
};

/** Some time more on both sides, so that what led to it and what followed can be seen. */
void ap_copy_slice_widen(struct ap_copy_slice *slice);

/** @json NULL: the input cannot be read again, so the tracks are all there is, and the file says so. @notes is what @json
 *  counts in. An input that is cut or broken is copied up to there. */
AP_MUST_CHECK enum ap_status ap_trace_copy_write(const struct ap_trace_copy_options *options, struct ap_json_reader *json,
                                                 struct ap_notes *notes, struct ap_sink sink, struct ap_error *reterr);

#endif
