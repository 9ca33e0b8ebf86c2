/* SPDX-License-Identifier: MIT
 * section_memory.c - the snapshot: totals, pools, replay, post-mortem, leaks, segments, blocks. */
#include "sections.h"

#include "poison.h"

/* ---- use ---- */

#define PART_COLUMNS                                                                                                  \
    NUMBER("reserved_bytes", "Reserved (B)"), NUMBER("allocated_bytes", "Allocated (B)"),                             \
        NUMBER("requested_bytes", "Requested (B)"), NUMBER("pending_free_bytes", "Pending free (B)"),                 \
        NUMBER("inactive_split_bytes", "Inactive split (B)"), NUMBER("wholly_free_segment_bytes", "Wholly free (B)"), \
        NUMBER("largest_free_block_bytes", "Largest free (B)")

static const struct doc_figure state[] = {
    FIGURE("memory.summary.reserved_vs_allocated_ratio"),
    FIGURE("memory.summary.allocated_vs_requested_ratio"),
    FIGURE("memory.state.rounding_bytes"),
    FIGURE("memory.state.rounding_ratio"),
    FIGURE("memory.state.inactive_bytes"),
    { "memory.state.inactive_split_bytes", "Inactive split" },
    FIGURE("memory.state.inactive_split_ratio"),
    FIGURE("memory.state.wholly_free_segment_bytes"),
    FIGURE("memory.state.pending_free_bytes"),
    FIGURE("memory.state.pending_free_ratio"),
    FIGURE("memory.state.largest_inactive_block_bytes"),
    FIGURE("memory.state.external_fragmentation_ratio"),
    FIGURE("memory.state.small_segment_ratio"),
    FIGURE("memory.state.private_pool_bytes"),
    FIGURE("memory.state.private_pool_ratio"),
    FIGURE("memory.state.devices"),
};

static const struct doc_figure history[] = {
    { "memory.history.entries", "Entries" },
    FIGURE("memory.history.span_us"),
    FIGURE("memory.history.alloc_count"),
    FIGURE("memory.history.free_count"),
    FIGURE("memory.history.allocs_per_s"),
    FIGURE("memory.history.allocated_bytes_sum"),
    FIGURE("memory.history.segment_alloc_count"),
    FIGURE("memory.history.segment_free_count"),
    FIGURE("memory.history.segment_ops_per_s"),
    FIGURE("memory.history.steady_segment_alloc_count"),
    FIGURE("memory.history.steady_segment_free_count"),
    FIGURE("memory.history.retry_count"),
    { "memory.history.oom_count", "Out of memory" },
    FIGURE("memory.history.oom_request_bytes"),
    FIGURE("memory.history.oom_device_free_bytes"),
};

static const struct doc_figure totals[] = {
    FIGURE("memory.totals.reserved_bytes"),
    FIGURE("memory.totals.allocated_bytes"),
    FIGURE("memory.totals.requested_bytes"),
    FIGURE("memory.totals.rounding_bytes"),
    FIGURE("memory.totals.pending_free_bytes"),
    FIGURE("memory.totals.inactive_split_bytes"),
    FIGURE("memory.totals.wholly_free_segment_bytes"),
    FIGURE("memory.totals.unexplained_bytes"),
    FIGURE("memory.totals.largest_free_block_bytes"),
};

/* "`train.py:3 step` 25 MiB, ..." */
static void write_holders(struct doc *doc, const struct ap_value *rows)
{
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        ap_doc_say(doc, row == ap_value_first(rows) ? " " : ", ");
        ap_doc_tell(doc, row,
                    ap_text_member(row, "frame").bytes ? "{n frame} {r requested_bytes}"
                                                       : "without a stack {r requested_bytes}");
    }
}

static void write_oom(struct doc *doc, const struct ap_value *oom)
{
    const struct ap_value *release = ap_value_member(oom, "release");
    int64_t released = ap_integer_member(release, "allocations", 0); /* none: what was free would have done */
    bool hole = ap_text_is(ap_text_member(release, "way"), "one hole");
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_tell(doc, oom, "Device {f device}, entry {f entry}: most was held by");
    write_holders(doc, ap_value_member(oom, "filled_by"));
    if (released && (hole || ap_text_is(ap_text_member(release, "way"), "whole segments"))) {
        ap_doc_tell(doc, release,
                    released == 1 ? ". It would have passed with one allocation released before ("
                                  : ". It would have passed with {f allocations} allocations released before (");
        ap_doc_say(doc, hole ? "neighbors in one segment):" : "whole segments):");
        write_holders(doc, ap_value_member(release, "largest"));
    }
    ap_doc_say(doc, ".");
    ap_doc_end(doc, DOC_ITEM);
}

static void write_ooms(struct doc *doc)
{
    const struct ap_value *oom = ap_value_first(ap_doc_at(doc, "memory.oom"));
    if (!oom)
        return;
    ap_doc_begin(doc, DOC_LIST);
    for (; oom; oom = oom->next)
        if (ap_value_first(ap_value_member(oom, "filled_by")))
            write_oom(doc, oom);
    ap_doc_end(doc, DOC_LIST);
}

static void write_no_history(struct doc *doc)
{
    if (!ap_doc_false(doc, "memory.recorded.history"))
        return;
    ap_doc_heading(doc, "History");
    ap_doc_paragraph(doc, NULL, "Allocator history was not recorded.");
}

static void write_history(struct doc *doc)
{
    if (!ap_doc_false(doc, "memory.recorded.history"))
        (void)ap_doc_figures(doc, "History", COUNTED(history), false);
}

/* ---- leaks, churn, fragmentation ---- */

static const struct doc_figure growth[] = {
    { "memory.leaks.verdict", "Verdict" },
    { "memory.leaks.confidence", "Confidence" },
    FIGURE("memory.leaks.device"),
    FIGURE("memory.leaks.periods"),
    { "memory.leaks.period_source", "Periods found by" },
    FIGURE("memory.leaks.net_growth_bytes"),
    { "memory.leaks.growth_bytes_per_period", "Growth a period (B)" },
    FIGURE("memory.leaks.leaking_bytes"),
    FIGURE("memory.leaks.leaking_bytes_per_period"),
    FIGURE("memory.leaks.held_bytes"),
    FIGURE("memory.leaks.periods_until_full"),
    FIGURE("memory.spike.usual_peak_bytes"),
    FIGURE("memory.spike.above_usual_bytes"),
};

static const struct doc_figure churn[] = {
    FIGURE("memory.churn.allocations_per_s"),
    FIGURE("memory.churn.allocations_per_period"),
    FIGURE("memory.churn.bytes_allocated_per_period"),
    { "memory.churn.steady_is", "Steady state" },
    FIGURE("memory.churn.segment_alloc_steady_count"),
    FIGURE("memory.churn.segment_free_steady_count"),
    FIGURE("memory.churn.segment_ops_steady_per_period"),
    { "memory.churn.retry_bursts", "Cache given up because the device was full" },
    FIGURE("memory.churn.empty_cache_calls"),
    { "memory.churn.empty_cache_frame", "By" },
    FIGURE("memory.churn.pending_free_peak_bytes"),
};

static const struct doc_figure stranded[] = {
    FIGURE("memory.fragmentation.stranded_bytes"),
    FIGURE("memory.fragmentation.stranded_ratio"),
    FIGURE("memory.fragmentation.stranded_segments"),
};

static void write_simulation(struct doc *doc)
{
    if (ap_value_first(ap_doc_at(doc, "memory.fragmentation.whatif")))
        ap_doc_paragraph(doc, NULL,
                         ap_doc_false(doc, "memory.fragmentation.simulation_reproduces")
                             ? "The model of the allocator does not come to the recorded peak: no figures."
                         : ap_doc_false(doc, "memory.replay.starts_live")
                             ? "The history played with a model of the allocator."
                             : "The history played with a model of the allocator. A hypothesis: it begins in mid-run, and "
                               "what was live then is taken to lie packed.");
}

/* ---- the allocator ---- */

#define SIZE_COLUMNS                                                                      \
    NUMBER("reserved_bytes", "Reserved (B)"), NUMBER("allocated_bytes", "Allocated (B)"), \
        NUMBER("active_bytes", "Active (B)"), NUMBER("requested_bytes", "Requested (B)")

static void write_no_settings(struct doc *doc)
{
    if (ap_value_first(ap_doc_at(doc, "memory.settings")))
        return;
    ap_doc_heading(doc, "Allocator settings");
    ap_doc_paragraph(doc, NULL, "Not recorded.");
}

static const struct doc_part parts[] = {
    FIGURES("State", state),
    CALL(write_history),
    CALL(write_no_history),
    FIGURES("What reserved memory consists of", totals),
    ROWS("Pools", .path = "memory.pools", .limit = 100,
         COLUMNS(ID("device", "Device"), NAME("pool", "Pool"), NAME("segment_type", "Type"), NUMBER("segments", "Segments"),
                 PART_COLUMNS)),
    ROWS("Streams", .path = "memory.streams", .limit = 100,
         COLUMNS(ID("device", "Device"), ID("stream", "Stream"), NUMBER("segments", "Segments"), PART_COLUMNS)),
    { .title = "Replay of the history",
      .rows = { .path = "memory.replay.devices",
                .limit = 100,
                .nonzero = "entries",
                COLUMNS(ID("device", "Device"), NUMBER("entries", "Entries"), NAME("begins", "Begins"),
                        NUMBER("start_requested_bytes", "Requested at the start (B)"),
                        NUMBER("peak_requested_bytes", "Peak (B)"), NUMBER("peak_entry", "At entry"),
                        ID("peak_time_us", "At (us)"), NUMBER("end_requested_bytes", "At the end (B)"),
                        NUMBER("peak_reserved_bytes", "Peak reserved (B)"), NUMBER("inconsistencies", "Inconsistencies"),
                        NAME("confidence", "Confidence")) },
      .behind = "Requested bytes in use: before rounding, until the free is requested. A history that begins in mid-run "
                "tells nothing of what was allocated before it; what of that was live is counted." },
    ROWS("Out of memory", .path = "memory.oom",
         COLUMNS(ID("device", "Device"), NUMBER("entry", "Entry"), NAME("verdict", "Verdict"),
                 NUMBER("requested_bytes", "Requested (B)"), NUMBER("device_free_bytes", "Device free (B)"),
                 NUMBER("reserved_bytes", "Reserved (B)"), NUMBER("active_bytes", "Active (B)"),
                 NUMBER("usable_inactive_bytes", "Inactive, usable (B)"),
                 NUMBER("other_pool_inactive_bytes", "Inactive, other pools (B)"),
                 NUMBER("largest_free_block_bytes", "Largest free (B)"), NAME("frame", "Asked by"))),
    CALL(write_ooms),
    ROWS("Partly used segments", .path = "memory.segments", .remark = ", most inactive split first",
         .nonzero = "inactive_split_bytes",
         COLUMNS(ID("device", "Device"), ID("address", "Address"), NAME("segment_type", "Type"), PART_COLUMNS,
                 NUMBER("used_blocks", "Blocks in use"), NUMBER("free_blocks", "Free blocks"))),
    ROWS("Largest blocks", .path = "memory.blocks", .remark = ", largest first",
         COLUMNS(ID("address", "Address"), NUMBER("size_bytes", "Size (B)"), NUMBER("requested_bytes", "Requested (B)"),
                 NAME("state", "State"), NUMBER("age_entries", "Age (entries)"), NAME("frame", "Allocated by"))),
    ROWS("Block sizes", .path = "memory.block_sizes",
         COLUMNS(NUMBER("from_bytes", "From (B)"), NUMBER("below_bytes", "Below (B)"), NUMBER("allocated_count", "In use"),
                 NUMBER("allocated_bytes", "In use (B)"), NUMBER("pending_free_count", "Pending free"),
                 NUMBER("pending_free_bytes", "Pending free (B)"), NUMBER("inactive_count", "Free"),
                 NUMBER("inactive_bytes", "Free (B)"))),
    { .only_if = "memory.leaks.net_growth_bytes", .title = "Growth from period to period", .figures = COUNTED(growth) },
    { .only_if = "memory.leaks.net_growth_bytes",
      .title = "Stacks that go on growing",
      .rows = { .path = "memory.leaks.stacks",
                .remark = ", most grown first",
                COLUMNS(NAME("frame", "Allocated by"), NAME("caller", "Called at"), NUMBER("size_bytes", "Each (B)"),
                        NUMBER("growth_bytes", "Growth (B)"), NUMBER("count_growth", "Growth (allocations)"),
                        NUMBER("bytes_per_period", "A period (B)"), NUMBER("live_bytes", "Live at last (B)"),
                        ID("first_seen_us", "First seen (us)"), ID("last_seen_us", "Last seen (us)"),
                        NUMBER("fit_ratio", "Fit")) } },
    { .only_if = "memory.churn.allocations", .title = "Allocator churn", .figures = COUNTED(churn) },
    FIGURES("Fragmentation", stranded),
    ROWS("Who pins partly used segments", .path = "memory.fragmentation.pinned_by",
         .remark = ", a segment's stranded bytes divided among its live blocks",
         COLUMNS(NAME("frame", "Allocated by"), NUMBER("pinned_bytes", "Pins (B)"), NUMBER("live_bytes", "With (B)"),
                 NUMBER("blocks", "Blocks"))),
    ROWS("Other settings, simulated", .path = "memory.fragmentation.whatif",
         COLUMNS(NAME("setting", "Setting"), NAME("method", "Method"), NUMBER("peak_reserved_bytes", "Peak reserved (B)"),
                 NUMBER("saved_bytes", "Saved (B)"), NUMBER("failed_allocations", "Failed allocations"),
                 NUMBER("oom_avoided", "Failures avoided"))),
    CALL(write_simulation),
    ROWS("Allocator settings to look at", .path = "memory.settings_notes",
         COLUMNS(NAME("setting", "Setting"), PROSE("problem", "Problem"))),
    CALL(ap_part_memory_owners),
    ROWS("Segment types", .path = "memory.segment_types", .limit = 100,
         COLUMNS(NAME("*", "Type"), NUMBER("segments", "Segments"), SIZE_COLUMNS,
                 NUMBER("reserved_vs_allocated_ratio", "Reserved / allocated"),
                 NUMBER("allocated_vs_requested_ratio", "Allocated / requested"))),
    ROWS("Devices", .path = "memory.by_device", .limit = 100,
         COLUMNS(ID("device", "Device"), NUMBER("segments", "Segments"), SIZE_COLUMNS,
                 NUMBER("inactive_bytes", "Inactive (B)"), NUMBER("inactive_split_bytes", "Inactive split (B)"),
                 NUMBER("wholly_free_segment_bytes", "Wholly free segments (B)"))),
    ROWS("Largest segments", .path = "memory.largest_segments", .remark = ", largest first",
         COLUMNS(ID("device", "Device"), NAME("segment_type", "Type"), NUMBER("reserved", "Reserved (B)"),
                 NUMBER("allocated", "Allocated (B)"), NUMBER("active", "Active (B)"), NUMBER("requested", "Requested (B)"),
                 NUMBER("slack", "Slack (B)"), ID("address", "Address"))),
    ROWS("Allocator actions", .path = "memory.trace_actions.counts", .remark = " and `memory.history.rates`", .limit = 100,
         COLUMNS(NAME("*", "Action"), NUMBER(NULL, "Entries"),
                 { .title = "Per second", .form = FORM_NUMBER, .from = "memory.history.rates" })),
    ROWS("Annotations", .path = "memory.annotations.top_names", .remark = ", the most frequent",
         COLUMNS(NAME("*", "Annotation"), NUMBER(NULL, "Entries"))),
    ROWS("Allocator settings", .path = "memory.settings", COLUMNS(NAME("*", "Setting"), FULL(NULL, "Value"))),
    CALL(write_no_settings),
};

const struct doc_section ap_section_memory = { .title = "Memory",
                                               .if_any = { "memory", "cpu" }, /* a hang is of neither */
                                               .needs = "memory",
                                               .otherwise = "No memory snapshot was given.",
                                               .parts = COUNTED(parts) };
