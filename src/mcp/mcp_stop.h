/* SPDX-License-Identifier: MIT
 * mcp_stop.h - when the work on a request is given up: its client cancels it, or it takes too long. */
#ifndef AP_MCP_STOP_H
#define AP_MCP_STOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "model_build.h"

/** Of the request that is worked on. One thread works; another may cancel. */
struct ap_mcp_stop {
    uint32_t max_seconds;      /* 0 = as long as it takes */
    pthread_mutex_t lock;      /* of the next one */
    const struct ap_value *id; /* NULL = nothing is worked on */
    int64_t deadline_ns;       /* of the clock; 0 = none */
    _Atomic bool canceled;
};

/** Nothing is worked on. @max_seconds 0 = as long as it takes. */
void ap_mcp_stop_init(struct ap_mcp_stop *stop, uint32_t max_seconds);
/** What _init took. */
void ap_mcp_stop_release(struct ap_mcp_stop *stop);

/** Nothing is canceled. */
void ap_mcp_stop_reset(struct ap_mcp_stop *stop);
/** The work on the request with this id begins now, though it may be canceled already; @id is borrowed until it ends. */
void ap_mcp_stop_begin(struct ap_mcp_stop *stop, const struct ap_value *id);
/** It has ended. True = it was canceled: its client expects no answer any more, even if there is one. */
bool ap_mcp_stop_end(struct ap_mcp_stop *stop);
/** Cancel the work if it is on this request. */
void ap_mcp_stop_cancel(struct ap_mcp_stop *stop, const struct ap_value *id);
/** Cancel whatever is worked on, or begins next. */
void ap_mcp_stop_cancel_any(struct ap_mcp_stop *stop);
/** As ap_request.stop. */
const char *ap_mcp_stop_why(void *stop);

/** Are these the same id? Texts and numbers differ. */
bool ap_mcp_same_id(const struct ap_value *a, const struct ap_value *b);
/** Nanoseconds of a clock that never goes back. */
int64_t ap_mcp_now_ns(void);

#endif
