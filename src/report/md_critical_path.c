/* SPDX-License-Identifier: MIT */
#include "md.h"

#include "poison.h"

static void write_tables(struct md *md)
{
    static const struct md_column classes[] = {
        MD_COLUMN("class", "Class", MD_NAME),
        MD_COLUMN("dur_us", "Time (us)", MD_FIGURE),
        MD_COLUMN("share_ratio", "Share of the path", MD_FIGURE),
        MD_COLUMN("segments", "Segments", MD_FIGURE),
    };
    static const struct md_column operators[] = {
        MD_COLUMN("name", "Operator, kernel or what a gap precedes", MD_NAME),
        MD_COLUMN("kind", "Side", MD_NAME),
        MD_COLUMN("total_dur_us", "Time (us)", MD_FIGURE),
        MD_COLUMN("share_ratio", "Share of the path", MD_FIGURE),
        MD_COLUMN("segments", "Segments", MD_FIGURE),
        MD_COLUMN("start_us", "Longest at (us)", MD_FIGURE),
        MD_COLUMN("dur_us", "Longest (us)", MD_FIGURE),
        MD_COLUMN("pid", "pid", MD_ID),
        MD_COLUMN("tid", "tid", MD_ID),
    };
    static const struct md_table class_table = {
        .path = "critical_path.classes",
        .nonzero = "segments",
        MD_COLUMNS(classes),
    };
    static const struct md_table operator_table = {
        .path = "critical_path.operators",
        .remark = ", largest first",
        MD_COLUMNS(operators),
    };
    ap_md_table(md, "What it is made of", &class_table);
    ap_md_table(md, "Longest on the path", &operator_table);
}

void ap_md_critical_path(struct md *md)
{
    static const struct md_figure figures[] = {
        { "critical_path.length_us", "Length, equal to the window" },
        { "critical_path.segments", "Segments" },
    };
    if (!ap_md_known(md, "critical_path"))
        return;
    ap_md_string(md, "\n## Critical path\n\nThe chain of host time, GPU work and gaps that the end of the window waited for: "
                     "what is not on it can be made faster without any gain.\n");
    if (ap_md_known(md, "critical_path.approximate_because")) {
        ap_md_string(md, "\nApproximate: ");
        ap_md_prose(md, ap_value_text(ap_md_at(md, "critical_path.approximate_because")));
        ap_md_string(md, ".\n");
    }
    ap_md_figures(md, NULL, figures, AP_COUNT_OF(figures));
    write_tables(md);
}
