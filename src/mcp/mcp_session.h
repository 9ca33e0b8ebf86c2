/* SPDX-License-Identifier: MIT
 * mcp_session.h - the lines of a client, answered as they come: calls of tools that read one after another on a thread of
 * their own, questions to reports that are kept on another, so that neither waits for the other, all else is answered at
 * once, and a call can be canceled while it is worked on. */
#ifndef AP_MCP_SESSION_H
#define AP_MCP_SESSION_H

#include "mcp_answer.h"

/** Calls that wait; where there are more, the next line is read when one of them is done. */
enum { AP_MCP_MOST_WAITING = 64 };

struct ap_mcp_worker {
    struct ap_mcp_session *session;
    struct ap_mcp_stop stop;           /* of what it works on */
    struct ap_mcp_line *first, **last; /* that wait for it */
    const struct ap_mcp_line *current; /* that it works on; NULL = none */
    bool is_there, ended;              /* ended: no more lines come */
    pthread_t thread;
};

/** Each call is looked at by the first, and handed on where no report is kept that answers it. */
enum ap_mcp_duty { AP_MCP_FROM_KEPT, AP_MCP_FROM_FILES, AP_MCP_DUTIES };

struct ap_mcp_session {
    struct ap_mcp_server *server;
    struct ap_mcp_sink sink;
    pthread_mutex_t writing; /* of the sink */
    pthread_mutex_t lock;    /* of all that follows */
    pthread_cond_t changed;
    struct ap_mcp_worker workers[AP_MCP_DUTIES];
    size_t waiting_count;  /* for any of them */
    enum ap_status status; /* the first failure to write */
    struct ap_error error;
};

/** Where no thread can be had, or none is allowed, calls are answered as they come, too. */
void ap_mcp_session_begin(struct ap_mcp_session *session, struct ap_mcp_server *server, struct ap_sink sink);
/** Answer a line now, or have it answered. */
AP_MUST_CHECK enum ap_status ap_mcp_session_take(struct ap_mcp_session *session, const char *line, size_t bytes,
                                                 struct ap_error *reterr);
/** Wait for what is still to be answered; @drop: give it up instead. */
AP_MUST_CHECK enum ap_status ap_mcp_session_end(struct ap_mcp_session *session, bool drop, struct ap_error *reterr);

#endif
