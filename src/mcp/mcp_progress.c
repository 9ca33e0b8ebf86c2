/* SPDX-License-Identifier: MIT */
#include "mcp_progress.h"

#include <inttypes.h>

#include "json_text.h"
#include "mcp_stop.h"

#include "poison.h"

#define EVERY_NS INT64_C(250000000)
#define MAX_TOKEN_BYTES 256

const struct ap_value *ap_mcp_progress_token(const struct ap_value *params)
{
    const struct ap_value *token = ap_value_member(ap_value_member(params, "_meta"), "progressToken");
    bool fits = token && (token->type == AP_VALUE_TEXT || token->type == AP_VALUE_LITERAL) &&
                token->as.text.bytes <= MAX_TOKEN_BYTES;
    return fits ? token : NULL;
}

/* A line of its own, at once: the answer is not begun yet. */
static void tell(struct ap_mcp_progress *progress, uint64_t done_bytes)
{
    struct ap_out out;
    ap_out_init(&out, progress->sink);
    ap_out_string(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":");
    if (progress->token->type == AP_VALUE_TEXT)
        ap_json_write_text(&out, progress->token->as.text);
    else
        ap_json_write_literal(&out, progress->token->as.text);
    ap_out_format(&out, ",\"progress\":%" PRIu64, done_bytes);
    if (progress->total_bytes)
        ap_out_format(&out, ",\"total\":%" PRIu64, progress->total_bytes);
    ap_out_string(&out, "}}\n");
    (void)!ap_out_finish(&out, NULL);
    progress->told_bytes = done_bytes;
    progress->told_at_ns = ap_mcp_now_ns();
}

void ap_mcp_progress_update(void *self, const char *path, uint64_t done_bytes, uint64_t total_bytes)
{
    struct ap_mcp_progress *progress = self;
    (void)total_bytes; /* of this input alone */
    if (path != progress->path) {
        progress->before_bytes += progress->done_bytes;
        progress->path = path;
    }
    progress->done_bytes = done_bytes;
    uint64_t all_bytes = progress->before_bytes + done_bytes;
    if (progress->total_bytes && all_bytes > progress->total_bytes) /* a file that grows meanwhile */
        all_bytes = progress->total_bytes;
    if (all_bytes <= progress->told_bytes || (progress->told_bytes && ap_mcp_now_ns() - progress->told_at_ns < EVERY_NS))
        return;
    tell(progress, all_bytes);
}

void ap_mcp_progress_end(struct ap_mcp_progress *progress)
{
    uint64_t all_bytes = progress->total_bytes ? progress->total_bytes : progress->before_bytes + progress->done_bytes;
    if (all_bytes > progress->told_bytes)
        tell(progress, all_bytes);
}
