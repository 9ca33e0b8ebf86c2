/* SPDX-License-Identifier: MIT
 * mcp.h - the Model Context Protocol: requests as lines of JSON-RPC in, answers as lines out.
 * Uses the library as any program does, and reads no file but regular ones below the roots. Every request is hostile: its
 * size, depth and number of values are bounded, and so is each answer. */
#ifndef AP_MCP_H
#define AP_MCP_H

#include "analyze_profile/analyze_profile.h"
#include "mem.h"

struct ap_mcp_options {
    const char *const *roots; /* at least one directory */
    size_t root_count;
    uint64_t max_memory_bytes; /* of one analysis; 0 = no bound */
    uint32_t max_depth;        /* as in struct ap_request */
    uint32_t max_seconds;      /* that a call may take; 0 = no bound */
    unsigned threads;          /* as in struct ap_request; 1 = calls are worked on by the thread that reads them, too */
    bool redact;            /* names in all answers are hashes; for whoever starts the server to say, not for the client */
    const void *redact_key; /* of at least AP_MIN_REDACT_KEY_BYTES, borrowed; NULL = drawn when the server begins */
    size_t redact_key_bytes;
    const char *(*sandbox)(void); /* what the process is confined by, asked when a client initializes; NULL = not said */
    int64_t fail_after;           /* tests: number of allocations of the server itself that succeed; 0 = all */
};

#define AP_MCP_MAX_ROOTS 64
#define AP_MCP_MAX_MESSAGE_BYTES ((size_t)1 << 20)

struct ap_mcp_server;

/** Opens the roots; *@ret_path is the one that the failure is about, or NULL. */
AP_MUST_CHECK enum ap_status ap_mcp_server_new(const struct ap_mcp_options *options, struct ap_mcp_server **ret_server,
                                               const char **ret_path, struct ap_error *reterr);
void ap_mcp_server_free(struct ap_mcp_server *server);

/** Answer one line: nothing is written where no answer is due, else one line, and before it lines that tell of progress
 * where the client asks for them. Fails only as @write does. */
AP_MUST_CHECK enum ap_status ap_mcp_server_answer(struct ap_mcp_server *server, const char *line, size_t bytes,
                                                  ap_write_fn *write, void *write_self, struct ap_error *reterr);

/** Bytes that the server itself holds now, but for the reports that it keeps: the same after each answer. */
uint64_t ap_mcp_server_held_bytes(const struct ap_mcp_server *server);

/** Answer the lines from @in_fd until it ends, and then what is still to be answered. Calls of tools that read
 * are worked on one after another on a thread of their own: other requests, also what reads no file, are answered meanwhile,
 * and notifications/cancelled is heeded. */
AP_MUST_CHECK enum ap_status ap_mcp_server_run(struct ap_mcp_server *server, int in_fd, int out_fd, struct ap_error *reterr);

#endif
