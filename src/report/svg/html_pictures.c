/* SPDX-License-Identifier: MIT
 * The pictures in order, and the room that each has. */
#include "html_pictures.h"

#include "poison.h"

static const struct {
    void (*write)(struct html *html);
    uint64_t bytes;
} pictures[] = {
    { ap_html_cluster_ranks, 120000 }, { ap_html_cluster_steps, 120000 },  { ap_html_cluster_arrivals, 60000 },
    { ap_html_cluster_step, 90000 },   { ap_html_cluster_memory, 120000 }, { ap_html_prediction, 40000 },
    { ap_html_split, 30000 },          { ap_html_utilization, 90000 },     { ap_html_steps, 60000 },
    { ap_html_step_parts, 60000 },     { ap_html_timeline, 420000 },       { ap_html_kernels, 40000 },
    { ap_html_host_flame, 200000 },    { ap_html_memory, 400000 },         { ap_html_memory_flame, 200000 },
    { ap_html_roofline, 60000 },       { ap_html_efficiency, 60000 },      { ap_html_segments, 150000 },
    { ap_html_trace_memory, 60000 },   { ap_html_profile, 60000 },
};

void ap_html_picture(struct html *html, size_t index)
{
    ap_html_limit(html, pictures[index].bytes);
    pictures[index].write(html);
}

const size_t ap_html_picture_count = AP_COUNT_OF(pictures);

void ap_html_pictures(struct html *html)
{
    ap_html_string(html,
                   "<section id=\"pictures\" aria-labelledby=\"pictures-title\"><h2 id=\"pictures-title\">Pictures</h2>\n");
    uint64_t before = html->sunk_bytes + html->out.used_bytes;
    for (size_t i = 0; i < ap_html_picture_count; i++)
        if (pictures[i].write != ap_html_split) /* that stands under the verdict */
            ap_html_picture(html, i);
    if (html->sunk_bytes + html->out.used_bytes == before)
        ap_html_string(html, "<p class=\"say\">The input holds nothing to draw.</p>\n");
    ap_html_string(html, "</section>\n");
}
