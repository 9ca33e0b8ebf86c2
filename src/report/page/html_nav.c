/* SPDX-License-Identifier: MIT
 * The contents of the page, which stay in view: on a narrow screen the three parts alone, on a wide one all pictures and
 * sections. */
#include "html_nav.h"

#include "html_pictures.h"

#include "poison.h"

static void write_parts(struct html *html, bool of_pictures)
{
    const struct html_contents *in = html->contents;
    bool any = false;
    for (size_t i = 0; in && i < in->count; i++) {
        const struct html_part *part = &in->parts[i];
        if ((part->id[0] != '\0') != of_pictures)
            continue;
        ap_html_string(html, any ? "<li><a href=\"#" : "<ul class=\"parts\">\n<li><a href=\"#");
        if (of_pictures)
            ap_html_string(html, part->id);
        else
            ap_html_slug(html, ap_text_of(part->title));
        ap_html_format(html, "\">%s</a></li>\n", part->title);
        any = true;
    }
    if (any)
        ap_html_string(html, "</ul>\n");
}

void ap_html_nav(struct html *html)
{
    ap_html_string(html, "<nav aria-label=\"Parts of the report\">\n<a href=\"#findings\">Findings</a>\n");
    if (ap_html_has_pictures(html)) {
        ap_html_string(html, "<a href=\"#pictures\">Pictures</a>\n");
        write_parts(html, true);
    }
    ap_html_string(html, "<a href=\"#details\">Details</a>\n");
    write_parts(html, false);
    ap_html_string(html, "</nav>\n");
}
