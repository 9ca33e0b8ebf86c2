/* SPDX-License-Identifier: MIT
 * mcp_roots.h - opens what lies below given directories and nothing else, links included. */
#ifndef AP_MCP_ROOTS_H
#define AP_MCP_ROOTS_H

#include "analyze_profile/opener.h"
#include "mem.h"

struct ap_mcp_root {
    char *path; /* without links; NUL-terminated, allocated with path_bytes */
    size_t path_bytes;
    int fd;
};

struct ap_mcp_roots {
    struct ap_gate *gate;
    struct ap_mcp_root *roots;
    size_t count;
};

/** Resolve and open the directories; *@ret_path is the one that the failure is about. Nothing is left after a failure. */
AP_MUST_CHECK enum ap_status ap_mcp_roots_init(struct ap_mcp_roots *roots, struct ap_gate *gate, const char *const *paths,
                                               size_t count, const char **ret_path, struct ap_error *reterr);
void ap_mcp_roots_release(struct ap_mcp_roots *roots);

/** An opener's open, @self being the roots. A relative path is looked for below each root in turn. What lies elsewhere and
 *  what does not exist are told in the same words. Between the look at the path and the opening nothing can be exchanged
 *  for a link: the path without links is walked from the root's descriptor, and a link in it is refused. */
AP_MUST_CHECK enum ap_status ap_mcp_roots_open(void *self, const char *path, int *ret_fd, struct ap_error *reterr);

/** Takes a regular file: its path as ap_mcp_roots_open takes it, and its size. Any status but AP_OK ends the listing. */
typedef enum ap_status ap_mcp_visit(void *self, const char *path, uint64_t bytes, struct ap_error *reterr);

/** The regular files below the roots, or below the folder @under, in the order of the file system; links, what begins with a
 *  dot and what lies deeper than 8 folders are left out. *@ret_left_out: not all were seen, as there are more than
 *  @most entries. */
AP_MUST_CHECK enum ap_status ap_mcp_roots_list(const struct ap_mcp_roots *roots, const char *under, size_t most,
                                               ap_mcp_visit *visit, void *self, bool *ret_left_out, struct ap_error *reterr);

#endif
