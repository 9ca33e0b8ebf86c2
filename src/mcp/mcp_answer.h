/* SPDX-License-Identifier: MIT
 * mcp_answer.h - a line of the client as it was read, and the answer to it; for those that decide when and on which thread
 * it is written. */
#ifndef AP_MCP_ANSWER_H
#define AP_MCP_ANSWER_H

#include <pthread.h>

#include "mcp.h"
#include "mcp_stop.h"
#include "out.h"

struct ap_mcp_line {
    struct ap_model model; /* its memory is the server's */
    enum ap_status status; /* of reading it */
    struct ap_error error;
    const struct ap_value *message; /* NULL = blank, or not read */
    bool initialized;               /* what held for the server when it came */
    size_t version;
    struct ap_mcp_line *next; /* of those that wait */
};

/** Where answers go. */
struct ap_mcp_sink {
    struct ap_sink to;
    pthread_mutex_t *lock; /* held while a line is written; NULL = nobody else writes */
};

/** Whether it can be read or not, release it. */
void ap_mcp_line_read(struct ap_mcp_server *server, const char *text, size_t bytes, struct ap_mcp_line *line);
void ap_mcp_line_release(struct ap_mcp_line *line);
/** Does it call a tool that reads, so that the answer may take long? */
bool ap_mcp_line_is_work(const struct ap_mcp_line *line);
/** The id of the one request that it is; NULL where it is a list or something else. */
const struct ap_value *ap_mcp_line_id(const struct ap_mcp_line *line);
/** The id of the request that it cancels, NULL where it is none that cancels. */
const struct ap_value *ap_mcp_line_cancels(const struct ap_mcp_line *line);
/** Write what is due; @stop is used where it is work. Lines that are work are answered one at a time; beside one of them
 * others may be. Fails only as the sink does. */
AP_MUST_CHECK enum ap_status ap_mcp_line_answer(struct ap_mcp_server *server, const struct ap_mcp_line *line,
                                                struct ap_mcp_stop *stop, struct ap_mcp_sink sink, struct ap_error *reterr);
/** Answer work from a report that is kept; *@ret_answered false: there is none, and nothing was written. One at a time, also
 * beside one that is worked on by ap_mcp_line_answer. */
AP_MUST_CHECK enum ap_status ap_mcp_line_answer_from_kept(struct ap_mcp_server *server, const struct ap_mcp_line *line,
                                                          struct ap_mcp_stop *stop, struct ap_mcp_sink sink,
                                                          bool *ret_answered, struct ap_error *reterr);

/* What the session has to know of the server. */
struct ap_gate *ap_mcp_server_gate(struct ap_mcp_server *server);
uint32_t ap_mcp_server_max_seconds(const struct ap_mcp_server *server);
bool ap_mcp_server_has_one_thread(const struct ap_mcp_server *server);

#endif
