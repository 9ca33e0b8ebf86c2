/* SPDX-License-Identifier: MIT
 * helpers.h - other processes that read files of a run for one that reports on it. How bytes get from one to the other is
 * the caller's affair: pipes, MPI, sockets. */
#ifndef ANALYZE_PROFILE_HELPERS_H
#define ANALYZE_PROFILE_HELPERS_H

#include <stddef.h>

#include "analyze_profile/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Called on the thread that makes the report. All helpers are given their shares, which may be empty, before the first is
 *  asked for what it made of it; a run that turns out to be one trace asks none of them. */
struct ap_helpers {
    size_t count;
    /** Bring @data, whole, to a helper (from 0), which hands it to ap_share_read. */
    enum ap_status (*give)(void *self, size_t helper, const char *data, size_t bytes, struct ap_error *reterr);
    /** More of what the helper's ap_share_read wrote: 1 to @cap_bytes bytes, or 0 at its true end. Fails where the helper
     *  ended before: its files are then named in the report as not read. */
    enum ap_status (*take)(void *self, size_t helper, void *to, size_t cap_bytes, size_t *ret_bytes,
                           struct ap_error *reterr);
    void *self;
};

#ifdef __cplusplus
}
#endif

#endif
