/* SPDX-License-Identifier: MIT
 * section_critical_path.c - the chain of work that the end of the window waited for. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    FIGURE("critical_path.length_us"),
    FIGURE("critical_path.segments"),
};

static const struct doc_part parts[] = {
    SAYS("The chain of host time, GPU work and gaps that the end of the window waited for: what is not on it can be made "
         "faster without any gain."),
    { .only_if = "critical_path.approximate_because", .says = "Approximate: {p critical_path.approximate_because}." },
    FIGURES(NULL, figures),
    ROWS("What it is made of", .path = "critical_path.classes", .nonzero = "segments",
         COLUMNS(NAME("class", "Class"), NUMBER("dur_us", "Time (us)"), NUMBER("share_ratio", "Share of the path"),
                 NUMBER("segments", "Segments"))),
    ROWS("Longest on the path", .path = "critical_path.operators", .remark = ", largest first",
         COLUMNS(NAME("name", "Operator, kernel or what a gap precedes"), NAME("kind", "Side"),
                 NUMBER("total_dur_us", "Time (us)"), NUMBER("share_ratio", "Share of the path"),
                 NUMBER("segments", "Segments"), NUMBER("start_us", "Longest at (us)"), NUMBER("dur_us", "Longest (us)"),
                 ID("pid", "pid"), ID("tid", "tid"))),
};

const struct doc_section ap_section_critical_path = { .title = "Critical path",
                                                      .if_any = { "critical_path" },
                                                      .parts = COUNTED(parts) };
