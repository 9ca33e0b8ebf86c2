/* SPDX-License-Identifier: MIT
 * The headline of a snapshot: how full, and what would still fit. Of what it is full is told by the paragraph behind it. */
#include "html_memory_verdict.h"

#include "poison.h"

static int64_t bytes_at(const struct html *html, const char *path)
{
    return ap_value_integer(ap_html_at(html, path), 0);
}

static void write_share(struct html *html, int64_t used_bytes, int64_t reserved_bytes)
{
    int64_t failed = bytes_at(html, "memory.history.oom_count");
    ap_html_string(html, "<p class=\"verdict\"><strong>");
    if (failed > 0)
        ap_html_string(html, "Out of memory");
    else
        ap_html_share(html, (double)used_bytes / (double)reserved_bytes);
    ap_html_string(html, failed > 0 ? "</strong> " : " full</strong> ");
    ap_html_bytes(html, used_bytes);
    ap_html_string(html, " of ");
    ap_html_bytes(html, reserved_bytes);
    ap_html_string(html, " that the allocator reserved are in use in this snapshot");
    if (failed > 0) {
        ap_html_string(html, " (");
        ap_html_share(html, (double)used_bytes / (double)reserved_bytes);
        ap_html_string(html, ")");
    }
}

/* "; the device has 24 GiB" where that is known. */
static void write_capacity(struct html *html, int64_t reserved_bytes)
{
    int64_t capacity_bytes = bytes_at(html, "memory.oom_summary.capacity_bytes");
    if (capacity_bytes < reserved_bytes)
        return;
    ap_html_string(html, "; the device has ");
    ap_html_bytes(html, capacity_bytes);
}

/* What would still fit; where a request failed, beside what it was for. */
static void write_what_fits(struct html *html)
{
    bool failed =
        bytes_at(html, "memory.history.oom_count") > 0 && ap_html_known(html, "memory.oom_summary.requested_bytes");
    if (failed)
        ap_html_tell(html, ap_html_at(html, "memory.oom_summary"),
                     ". The last request that failed was for {v requested_bytes}");
    if (ap_html_known(html, "memory.totals.largest_free_block_bytes"))
        ap_html_tell(html, ap_html_at(html, "memory.totals"),
                     failed ? "; the largest free piece has {v largest_free_block_bytes}"
                            : ". The largest free piece has {v largest_free_block_bytes}: a larger request needs more from "
                              "the driver");
}

void ap_html_memory_verdict(struct html *html)
{
    int64_t used_bytes = bytes_at(html, "memory.totals.allocated_bytes"),
            reserved_bytes = bytes_at(html, "memory.totals.reserved_bytes");
    if (!ap_html_known(html, "memory.totals.allocated_bytes") || reserved_bytes <= 0 || used_bytes > reserved_bytes ||
        ap_html_known(html, "verdict.bound"))
        return;
    write_share(html, used_bytes, reserved_bytes);
    write_capacity(html, reserved_bytes);
    write_what_fits(html);
    ap_html_string(html, ".</p>\n");
}
