/* SPDX-License-Identifier: MIT
 * The pictures in order, and the room that each has. */
#include "html_pictures.h"

#include <string.h>

#include "poison.h"

static const struct {
    void (*write)(struct html *html);
    uint64_t bytes;
} pictures[] = {
    { ap_html_cluster_ranks, 120000 }, { ap_html_cluster_steps, 120000 },  { ap_html_cluster_arrivals, 60000 },
    { ap_html_cluster_step, 90000 },   { ap_html_cluster_memory, 120000 }, { ap_html_prediction, 40000 },
    { ap_html_split, 30000 },          { ap_html_utilization, 90000 },     { ap_html_steps, 60000 },
    { ap_html_step_parts, 60000 },     { ap_html_timeline, 420000 },       { ap_html_kernels, 40000 },
    { ap_html_host_flame, 200000 },    { ap_html_memory_owners, 30000 },   { ap_html_memory, 400000 },
    { ap_html_memory_flame, 200000 },  { ap_html_roofline, 60000 },        { ap_html_efficiency, 60000 },
    { ap_html_segments, 150000 },      { ap_html_trace_memory, 60000 },    { ap_html_profile, 60000 },
};

void ap_html_picture(struct html *html, size_t index)
{
    ap_html_limit(html, pictures[index].bytes);
    pictures[index].write(html);
}

const size_t ap_html_picture_count = AP_COUNT_OF(pictures);

bool ap_html_owners_lead(const struct html *html)
{
    return !ap_html_known(html, "verdict.bound");
}

/* One of the bars, of time or of memory, stands under the verdict. */
static bool leads(const struct html *html, void (*write)(struct html *html))
{
    return write == ap_html_split || (write == ap_html_memory_owners && ap_html_owners_lead(html));
}

bool ap_html_has_pictures(const struct html *html)
{
    const struct html_contents *in = html->contents;
    bool any = !in;
    for (size_t i = 0; in && i < in->count; i++)
        any = any || (in->parts[i].id[0] && strcmp(in->parts[i].id, "split") != 0 &&
                      (strcmp(in->parts[i].id, "memory-owners") != 0 || !ap_html_owners_lead(html)));
    return any;
}

void ap_html_pictures(struct html *html)
{
    if (!ap_html_has_pictures(html))
        return;
    ap_html_string(html,
                   "<section id=\"pictures\" aria-labelledby=\"pictures-title\"><h2 id=\"pictures-title\">Pictures</h2>\n");
    for (size_t i = 0; i < ap_html_picture_count; i++)
        if (!leads(html, pictures[i].write))
            ap_html_picture(html, i);
    ap_html_string(html, "</section>\n");
}
