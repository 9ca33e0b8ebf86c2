/* SPDX-License-Identifier: MIT
 * mcp_progress.h - notifications while a call is worked on, for clients that gave a token for them: how many bytes of the
 * inputs are read, of how many. They grow, and come a few times a second at most. */
#ifndef AP_MCP_PROGRESS_H
#define AP_MCP_PROGRESS_H

#include "analyze_profile/analyze_profile.h"
#include "out.h"

struct ap_mcp_progress {
    struct ap_sink sink;
    const struct ap_value *token; /* as the client wrote it */
    uint64_t total_bytes;         /* of all inputs; 0 = not known */
    const char *path;             /* that is read now */
    uint64_t before_bytes;        /* of inputs that were read before it */
    uint64_t done_bytes;          /* of it */
    uint64_t told_bytes;
    int64_t told_at_ns;
};

/** The token in the parameters of a request; NULL = the client wants no notifications. */
const struct ap_value *ap_mcp_progress_token(const struct ap_value *params);
/** As ap_request.progress. A failure to write shows when the answer is written. */
void ap_mcp_progress_update(void *progress, const char *path, uint64_t done_bytes, uint64_t total_bytes);
/** All is read. */
void ap_mcp_progress_end(struct ap_mcp_progress *progress);

#endif
