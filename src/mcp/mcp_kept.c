/* SPDX-License-Identifier: MIT */
#include "mcp_kept.h"

#include <string.h>

#include "poison.h"

#define KEY_MAX_BYTES ((size_t)512 << 10)

void ap_mcp_kept_init(struct ap_mcp_kept *kept, uint64_t max_bytes)
{
    *kept = (struct ap_mcp_kept){ .max_bytes = max_bytes };
    ap_gate_init(&kept->gate, AP_MCP_MOST_KEPT * 2 * (uint64_t)KEY_MAX_BYTES);
    (void)pthread_mutex_init(&kept->lock, NULL);
}

static void forget(struct ap_mcp_kept *kept, size_t index)
{
    struct ap_mcp_kept_report *gone = &kept->reports[index];
    kept->bytes -= gone->bytes;
    ap_mcp_text_release(&gone->key);
    ap_report_free(gone->report);
    *gone = kept->reports[--kept->count];
}

void ap_mcp_kept_clear(struct ap_mcp_kept *kept)
{
    while (kept->count)
        forget(kept, kept->count - 1);
}

void ap_mcp_kept_release(struct ap_mcp_kept *kept)
{
    ap_mcp_kept_clear(kept);
    (void)pthread_mutex_destroy(&kept->lock);
}

struct ap_mcp_text ap_mcp_kept_key(struct ap_mcp_kept *kept)
{
    struct ap_mcp_text key;
    ap_mcp_text_init(&key, &kept->gate, KEY_MAX_BYTES);
    return key;
}

struct ap_report *ap_mcp_kept_find(struct ap_mcp_kept *kept, const struct ap_mcp_text *key)
{
    for (size_t i = 0; i < kept->count; i++) {
        struct ap_mcp_kept_report *report = &kept->reports[i];
        if (report->key.bytes != key->bytes || memcmp(report->key.data, key->data, key->bytes) != 0)
            continue;
        report->asked = ++kept->turn;
        return report->report;
    }
    return NULL;
}

static size_t asked_least_lately(const struct ap_mcp_kept *kept)
{
    size_t found = 0;
    for (size_t i = 1; i < kept->count; i++)
        if (kept->reports[i].asked < kept->reports[found].asked)
            found = i;
    return found;
}

bool ap_mcp_kept_add(struct ap_mcp_kept *kept, struct ap_mcp_text *key, struct ap_report *report)
{
    uint64_t bytes = ap_report_held_bytes(report);
    if (!key->bytes || key->cut || bytes > kept->max_bytes)
        return false;
    while (kept->count == AP_MCP_MOST_KEPT || kept->bytes > kept->max_bytes - bytes)
        forget(kept, asked_least_lately(kept));
    kept->reports[kept->count++] = (struct ap_mcp_kept_report){ *key, report, bytes, ++kept->turn };
    kept->bytes += bytes;
    *key = ap_mcp_kept_key(kept);
    return true;
}
