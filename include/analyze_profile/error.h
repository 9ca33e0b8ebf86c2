/* SPDX-License-Identifier: MIT
 * error.h - how calls fail. Knows nothing of inputs, traces or reports. */
#ifndef ANALYZE_PROFILE_ERROR_H
#define ANALYZE_PROFILE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/** Marks what the shared library shows. */
#define AP_API __attribute__((visibility("default")))

enum ap_status {
    AP_OK = 0,
    AP_END,          /* nothing more of what was asked for; not a failure */
    AP_ERROR_USAGE,  /* the caller asked for something that cannot be */
    AP_ERROR_INPUT,  /* the artifact is refused, unreadable or broken */
    AP_ERROR_CUT,    /* the artifact ends before it is complete */
    AP_ERROR_OUTPUT, /* a report could not be written */
    AP_ERROR_LIMIT,  /* a stated limit was reached (depth, token, memory) */
    AP_ERROR_MEMORY  /* the machine has no more memory */
};

/** Why a call failed. Written only on failure; the caller owns the storage. */
struct ap_error {
    enum ap_status status;
    bool has_offset;
    uint64_t offset_bytes; /* into the decompressed input; valid where has_offset */
    char message[768];     /* what was expected, what was met, what to do; no final newline */
};

#endif
