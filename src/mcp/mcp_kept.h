/* SPDX-License-Identifier: MIT
 * mcp_kept.h - reports that are kept for the next question on the same files. Bounded in number and bytes: the one that was
 * asked least lately goes first. Two threads ask, so that a question to one that is kept does not wait for a file that is
 * read: who uses the reports, or changes which there are, holds the lock. */
#ifndef AP_MCP_KEPT_H
#define AP_MCP_KEPT_H

#include <pthread.h>

#include "mcp_text.h"

enum { AP_MCP_MOST_KEPT = 8 };

struct ap_mcp_kept {
    struct ap_gate gate;  /* of the keys, which stay as long as the reports do */
    pthread_mutex_t lock; /* of all that follows */
    struct ap_mcp_kept_report {
        struct ap_mcp_text key; /* files and arguments, as bytes */
        struct ap_report *report;
        uint64_t bytes, asked; /* on which turn it was asked last */
    } reports[AP_MCP_MOST_KEPT];
    size_t count;
    uint64_t bytes, max_bytes, turn;
};

/** Empty; reports that are larger than @max_bytes together are not kept. */
void ap_mcp_kept_init(struct ap_mcp_kept *kept, uint64_t max_bytes);
/** Forget all; it is empty then. */
void ap_mcp_kept_clear(struct ap_mcp_kept *kept);
/** Forget all; it is not used again. */
void ap_mcp_kept_release(struct ap_mcp_kept *kept);

/** An empty text for a key, which ap_mcp_kept_add or ap_mcp_text_release takes back. */
struct ap_mcp_text ap_mcp_kept_key(struct ap_mcp_kept *kept);
/** The report with this key, which stays where it is while the lock is held; NULL where there is none. */
struct ap_report *ap_mcp_kept_find(struct ap_mcp_kept *kept, const struct ap_mcp_text *key);
/** Keep @report under @key, and let others go for it. False where it is too large: both stay the caller's then. */
bool ap_mcp_kept_add(struct ap_mcp_kept *kept, struct ap_mcp_text *key, struct ap_report *report);

#endif
