/* SPDX-License-Identifier: MIT
 * Snapshot and trace of one run on one axis of time. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)

static void write_word(struct md *md, const char *path, const char *before)
{
    if (!ap_md_known(md, path))
        return;
    ap_md_string(md, before);
    ap_md_name(md, ap_value_text(ap_md_at(md, path)));
}

/* "The peak falls in step 7, backward of layer X." */
static void write_peak(struct md *md)
{
    if (!ap_md_known(md, "joined.peak.requested_bytes"))
        return;
    ap_md_string(md, "\nThe peak of ");
    ap_md_rounded(md, ap_md_at(md, "joined.peak.requested_bytes"));
    if (ap_md_false(md, "joined.peak.in_trace")) {
        ap_md_string(md, " does not fall into the trace.\n");
        return;
    }
    ap_md_string(md, " falls in ");
    if (ap_md_known(md, "joined.peak.step")) {
        ap_md_string(md, "step ");
        ap_md_integer(md, ap_value_integer(ap_md_at(md, "joined.peak.step"), 0));
    } else {
        ap_md_string(md, "no step");
    }
    write_word(md, "joined.peak.phase", ", ");
    write_word(md, "joined.peak.module", " of ");
    write_word(md, "joined.peak.operator", ", in ");
    write_word(md, "joined.peak.forward_operator", ", made by ");
    write_word(md, "joined.peak.user_line", ", called from ");
    ap_md_string(md, ".\n");
}

static void write_moments(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("requested_bytes", "Asked for (B)", MD_FIGURE),
        MD_COLUMN("at_us", "At (us)", MD_FIGURE),
        MD_COLUMN("step", "Step", MD_FIGURE),
        MD_COLUMN("phase", "Phase", MD_NAME),
        MD_COLUMN("module", "Module", MD_NAME),
        MD_COLUMN("operator", "Operator", MD_NAME),
        MD_COLUMN("user_line", "Line", MD_NAME),
    };
    static const struct md_table table = { .path = "joined.oom", MD_COLUMNS(columns) };
    ap_md_table(md, "Requests that failed, in the trace", &table);
}

static void write_cuts(struct md *md)
{
    static const struct md_column phases[] = {
        MD_COLUMN("phase", "Phase", MD_NAME),
        MD_COLUMN("count", "Times", MD_FIGURE),
        MD_COLUMN("peak_requested_bytes", "Peak requested (B)", MD_FIGURE),
        MD_COLUMN("peak_at_us", "At (us)", MD_FIGURE),
        MD_COLUMN("delta_bytes", "Change, all times (B)", MD_FIGURE),
    };
    static const struct md_column steps[] = {
        MD_COLUMN("step", "Step", MD_FIGURE),
        MD_COLUMN("whole", "Whole", MD_FIGURE),
        MD_COLUMN("start_requested_bytes", "At its start (B)", MD_FIGURE),
        MD_COLUMN("peak_requested_bytes", "Peak (B)", MD_FIGURE),
        MD_COLUMN("peak_phase", "In", MD_NAME),
        MD_COLUMN("peak_at_us", "At (us)", MD_FIGURE),
        MD_COLUMN("end_requested_bytes", "At its end (B)", MD_FIGURE),
    };
    static const struct md_table phase_table = {
        .path = "joined.phases", .remark = ", the replayed curve cut by the trace's phases", MD_COLUMNS(phases)
    };
    static const struct md_table step_table = { .path = "joined.steps", .remark = ", the same by steps", MD_COLUMNS(steps) };
    ap_md_table(md, "Memory of the snapshot by phase of the trace", &phase_table);
    ap_md_table(md, "Memory of the snapshot by step of the trace", &step_table);
}

void ap_md_joined(struct md *md)
{
    static const struct md_figure figures[] = {
        { "joined.overlap_us", "Time that both cover" },
        { "joined.offset_us", "The trace's clock less the snapshot's" },
        { "joined.matched_allocations", "Allocations that both have" },
        { "joined.compared_allocations", "Of allocations in the history" },
        { "joined.peak_in_trace.requested_bytes", "Peak requested while both recorded" },
        { "joined.capacity_bytes", "Memory of the device" },
        { "joined.peak_capacity_ratio", "Peak reserved, share of the device" },
    };
    if (!ap_md_known(md, "joined"))
        return;
    ap_md_string(md, "\n## Trace and snapshot together\n\nPut on one axis of time by: ");
    ap_md_prose(md, ap_value_text(ap_md_at(md, "joined.method")));
    ap_md_string(md, "; confidence ");
    ap_md_prose(md, ap_value_text(ap_md_at(md, "joined.confidence")));
    ap_md_string(md, ": ");
    ap_md_prose(md, ap_value_text(ap_md_at(md, "joined.reason")));
    ap_md_string(md, ".\n");
    write_peak(md);
    ap_md_figures(md, NULL, FIGURES(figures));
    write_moments(md);
    write_cuts(md);
}
