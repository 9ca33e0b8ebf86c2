/* SPDX-License-Identifier: MIT
 * section_cluster.c - a run of many ranks: who waits for whom, what is odd, and what was compared. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure waiting[] = {
    { "cluster.steps.p50_us", "Median step" },
    { "cluster.rank_time_us", "Time of all ranks" },
    { "cluster.waiting.total_us", "Waiting of all ranks for others" },
    { "cluster.waiting.total_ratio", "Share of their time" },
    { "cluster.waiting.absent_us", "Collectives went on after all given ranks had come" },
    { "cluster.pipeline.exposed_us", "In sends and receives, with nothing else to do" },
    { "cluster.pipeline.exposed_ratio", "Share of their time in those" },
    { "cluster.time.host_bound_ratio", "Devices waited for their hosts" },
};

static const struct doc_figure compared[] = {
    { "cluster.rank_count", "Ranks compared" },
    { "cluster.world_size", "Ranks of the run" },
    { "cluster.absent_count", "Ranks that are not given" },
    { "cluster.host_count", "Hosts" },
    { "cluster.steps.count", "Steps that all have recorded" },
    { "cluster.steps.torn_count", "Ranks that recorded other steps too" },
    { "cluster.matching.recorded_count", "Recorded collectives" },
    { "cluster.matching.collective_count", "Matched collectives" },
    { "cluster.matching.matched_ratio", "Matched, of those recorded" },
    { "cluster.matching.by_number_ratio", "Of those by their number" },
    { "cluster.matching.unmatched.transfers", "Sends and receives" },
    { "cluster.matching.unmatched.alone", "On one rank alone" },
    { "cluster.matching.unmatched.counts", "Without numbers, in different counts" },
    { "cluster.matching.unmatched.differ", "Of one number, but different" },
    { "cluster.matching.unmatched.steps", "Outside of the common steps" },
    { "cluster.matching.unmatched.groups", "Of groups that no trace tells" },
    { "cluster.clocks.clock_count", "Clocks" },
    { "cluster.clocks.component_count", "Sets of clocks that were compared" },
    { "cluster.clocks.largest_offset_us", "Largest offset of a clock" },
    { "cluster.clocks.largest_error_us", "Its error at most" },
    { "cluster.duplicate_count", "Files that say the same twice" },
    { "cluster.other_window_count", "Further recordings of a rank" },
    { "cluster.other_run_count", "Recordings of another run" },
    { "cluster.unread_count", "Files that could not be read" },
};

static void write_absent(struct doc *doc)
{
    if (ap_doc_known(doc, "cluster.absent"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "cluster"), "Ranks that are not given: {p absent}.");
}

static void write_left_out(struct doc *doc)
{
    if (ap_doc_true(doc, "cluster.ranks_left_out"))
        ap_doc_paragraph(doc, NULL, "{f cluster.ranks_left_out} more ranks are less odd than these and left out.");
    if (ap_doc_true(doc, "cluster.files_left_out"))
        ap_doc_paragraph(doc, NULL, "{f cluster.files_left_out} more files are left out of the list.");
}

static const struct doc_part parts[] = {
    FIGURES("Waiting", waiting),
    ROWS("Ranks", .path = "cluster.ranks",
         .remark =
             ", what is odd first; times in the steps that are compared. What others waited for in the first collective "
             "is of before the recording, and counts for nobody",
         COLUMNS(NUMBER("rank", "Rank"), NAME("host", "Host"), PROSE("late_kind", "Late by"),
                 NUMBER("before_us", "Late at the first (us)"), NUMBER("late_us", "Own lateness (us)"),
                 NUMBER("inherited_us", "Inherited (us)"), NUMBER("waited_us", "Waited (us)"),
                 NUMBER("caused_us", "Others waited for it (us)"), NUMBER("last_count", "Came last"),
                 NUMBER("collective_count", "Of"), NUMBER("compute_us", "Compute (us)"),
                 NUMBER("communication_us", "Collectives alone (us)"), NUMBER("data_loading_us", "Data loading (us)"),
                 NUMBER("synchronization_us", "Ran dry (us)"), NUMBER("python_us", "Python (us)"),
                 NUMBER("peak_allocated_bytes", "Peak memory (B)"))),
    ROWS("Collectives with most waiting", .path = "cluster.worst",
         COLUMNS(NAME("operation", "Operation"), NAME("group", "Ranks"), ID("step", "Step"), NUMBER("bytes", "Bytes"),
                 NUMBER("rank_count", "Took part"), NUMBER("waited_us", "Waiting (us)"), ID("last_rank", "Came last"))),
    ROWS("Groups with slow transfers", .path = "cluster.links",
         .remark = ", the worst first; times when all had come, against groups alike",
         COLUMNS(NAME("group", "Ranks"), NAME("operation", "Operation"), NUMBER("bytes", "Bytes"),
                 NUMBER("dur_us", "Takes (us)"), NUMBER("usual_us", "Usual (us)"),
                 NUMBER("excess_us", "Beyond that in all (us)"))),
    ROWS("A late step beside another rank's", .path = "cluster.step.pieces",
         .remark = ", in order, first of the late rank, then of one in the middle; times since the step began on each",
         .limit = 60,
         COLUMNS(NUMBER("rank", "Rank"), NAME("spent", "Spent on"), NAME("operation", "Collective"),
                 NUMBER("start_us", "From (us)"), NUMBER("dur_us", "For (us)"))),
    FIGURES("What was compared", compared),
    CALL(write_absent),
    ROWS("Files", .path = "cluster.files", .remark = ", first those that are not compared", .limit = 20,
         COLUMNS(NAME("path", "File"), PROSE("kind", "Kind"), ID("rank", "Rank"), PROSE("rank_source", "Told by"),
                 PROSE("why_not", "Not compared"))),
    CALL(write_left_out),
};

const struct doc_section ap_section_cluster = { .title = "Ranks of the run",
                                                .if_any = { "cluster.verdict" },
                                                .parts = COUNTED(parts) };
