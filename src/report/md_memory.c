/* SPDX-License-Identifier: MIT
 * The memory section's replay, post-mortem, pools, segments and blocks. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)

#define PART_COLUMNS                                            \
    MD_COLUMN("reserved_bytes", "Reserved (B)", MD_FIGURE),         \
    MD_COLUMN("allocated_bytes", "Allocated (B)", MD_FIGURE),       \
    MD_COLUMN("requested_bytes", "Requested (B)", MD_FIGURE),       \
    MD_COLUMN("pending_free_bytes", "Pending free (B)", MD_FIGURE), \
    MD_COLUMN("inactive_split_bytes", "Inactive split (B)", MD_FIGURE), \
    MD_COLUMN("wholly_free_segment_bytes", "Wholly free (B)", MD_FIGURE), \
    MD_COLUMN("largest_free_block_bytes", "Largest free (B)", MD_FIGURE)

static void write_replay(struct md *md)
{
    static const struct md_column curves[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("entries", "Entries", MD_FIGURE),
        MD_COLUMN("begins", "Begins", MD_NAME),
        MD_COLUMN("start_requested_bytes", "Requested at the start (B)", MD_FIGURE),
        MD_COLUMN("peak_requested_bytes", "Peak (B)", MD_FIGURE),
        MD_COLUMN("peak_entry", "At entry", MD_FIGURE),
        MD_COLUMN("peak_time_us", "At (us)", MD_ID),
        MD_COLUMN("end_requested_bytes", "At the end (B)", MD_FIGURE),
        MD_COLUMN("peak_reserved_bytes", "Peak reserved (B)", MD_FIGURE),
        MD_COLUMN("inconsistencies", "Inconsistencies", MD_FIGURE),
        MD_COLUMN("confidence", "Confidence", MD_NAME),
    };
    static const struct md_table table = { .path = "memory.replay.devices", .limit = 100, .nonzero = "entries",
                                           MD_COLUMNS(curves) };
    if (!ap_md_table(md, "Replay of the history", &table))
        return;
    ap_md_string(md, "\nRequested bytes in use: before rounding, until the free is requested. A history that begins in "
                     "mid-run tells nothing of what was allocated before it; what of that was live is counted.\n");
}

/* "`train.py:3 step` 25 MiB, ...", of rows with a frame and requested_bytes. */
static void write_owners(struct md *md, const struct ap_value *rows)
{
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        const struct ap_value *frame = ap_value_member(row, "frame");
        ap_md_string(md, row == ap_value_first(rows) ? " " : ", ");
        if (frame && frame->type == AP_VALUE_TEXT)
            ap_md_name(md, ap_value_text(frame));
        else
            ap_md_string(md, "without a stack");
        ap_out_char(&md->out, ' ');
        ap_md_rounded(md, ap_value_member(row, "requested_bytes"));
    }
}

static void write_oom_owners(struct md *md, const struct ap_value *oom)
{
    const struct ap_value *release = ap_value_member(oom, "release");
    struct ap_text way = ap_value_text(ap_value_member(release, "way"));
    ap_md_string(md, "\n- Device ");
    ap_md_integer(md, ap_value_integer(ap_value_member(oom, "device"), 0));
    ap_md_string(md, ", entry ");
    ap_md_integer(md, ap_value_integer(ap_value_member(oom, "entry"), 0));
    ap_md_string(md, ": most was held by");
    write_owners(md, ap_value_member(oom, "filled_by"));
    if (ap_text_is(way, "one hole") || ap_text_is(way, "whole segments")) {
        ap_md_string(md, ". It would have passed with ");
        ap_md_integer(md, ap_value_integer(ap_value_member(release, "allocations"), 0));
        ap_md_string(md, " allocations released before (");
        ap_md_string(md, ap_text_is(way, "one hole") ? "neighbours in one segment" : "whole segments");
        ap_md_string(md, "):");
        write_owners(md, ap_value_member(release, "largest"));
    }
    ap_out_char(&md->out, '.');
}

static void write_ooms(struct md *md)
{
    static const struct md_column ooms[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("entry", "Entry", MD_FIGURE),
        MD_COLUMN("verdict", "Verdict", MD_NAME),
        MD_COLUMN("requested_bytes", "Requested (B)", MD_FIGURE),
        MD_COLUMN("device_free_bytes", "Device free (B)", MD_FIGURE),
        MD_COLUMN("reserved_bytes", "Reserved (B)", MD_FIGURE),
        MD_COLUMN("active_bytes", "Active (B)", MD_FIGURE),
        MD_COLUMN("usable_inactive_bytes", "Inactive, usable (B)", MD_FIGURE),
        MD_COLUMN("other_pool_inactive_bytes", "Inactive, other pools (B)", MD_FIGURE),
        MD_COLUMN("largest_free_block_bytes", "Largest free (B)", MD_FIGURE),
        MD_COLUMN("frame", "Asked by", MD_NAME),
    };
    static const struct md_table table = { .path = "memory.oom", MD_COLUMNS(ooms) };
    if (!ap_md_table(md, "Out of memory", &table))
        return;
    for (const struct ap_value *oom = ap_value_first(ap_md_at(md, "memory.oom")); oom; oom = oom->next)
        if (ap_value_first(ap_value_member(oom, "filled_by")))
            write_oom_owners(md, oom);
    ap_out_char(&md->out, '\n');
}

static void write_pools(struct md *md)
{
    static const struct md_column pools[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("pool", "Pool", MD_NAME),
        MD_COLUMN("segment_type", "Type", MD_NAME),
        MD_COLUMN("segments", "Segments", MD_FIGURE),
        PART_COLUMNS,
    };
    static const struct md_column streams[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("stream", "Stream", MD_ID),
        MD_COLUMN("segments", "Segments", MD_FIGURE),
        PART_COLUMNS,
    };
    static const struct md_table pool_table = { .path = "memory.pools", .limit = 100, MD_COLUMNS(pools) };
    static const struct md_table stream_table = { .path = "memory.streams", .limit = 100, MD_COLUMNS(streams) };
    ap_md_table(md, "Pools", &pool_table);
    ap_md_table(md, "Streams", &stream_table);
}

static void write_segments(struct md *md)
{
    static const struct md_column segments[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("address", "Address", MD_ID),
        MD_COLUMN("segment_type", "Type", MD_NAME),
        PART_COLUMNS,
        MD_COLUMN("used_blocks", "Blocks in use", MD_FIGURE),
        MD_COLUMN("free_blocks", "Free blocks", MD_FIGURE),
    };
    static const struct md_column blocks[] = {
        MD_COLUMN("address", "Address", MD_ID),
        MD_COLUMN("size_bytes", "Size (B)", MD_FIGURE),
        MD_COLUMN("requested_bytes", "Requested (B)", MD_FIGURE),
        MD_COLUMN("state", "State", MD_NAME),
        MD_COLUMN("age_entries", "Age (entries)", MD_FIGURE),
        MD_COLUMN("frame", "Allocated by", MD_NAME),
    };
    static const struct md_table segment_table = { .path = "memory.segments", .remark = ", most inactive split first",
                                                   .nonzero = "inactive_split_bytes", MD_COLUMNS(segments) };
    static const struct md_table block_table = { .path = "memory.blocks", .remark = ", largest first",
                                                 MD_COLUMNS(blocks) };
    ap_md_table(md, "Partly used segments", &segment_table);
    ap_md_table(md, "Largest blocks", &block_table);
}

static void write_sizes(struct md *md)
{
    static const struct md_column sizes[] = {
        MD_COLUMN("from_bytes", "From (B)", MD_FIGURE),
        MD_COLUMN("below_bytes", "Below (B)", MD_FIGURE),
        MD_COLUMN("allocated_count", "In use", MD_FIGURE),
        MD_COLUMN("allocated_bytes", "In use (B)", MD_FIGURE),
        MD_COLUMN("pending_free_count", "Pending free", MD_FIGURE),
        MD_COLUMN("pending_free_bytes", "Pending free (B)", MD_FIGURE),
        MD_COLUMN("inactive_count", "Free", MD_FIGURE),
        MD_COLUMN("inactive_bytes", "Free (B)", MD_FIGURE),
    };
    static const struct md_table table = { .path = "memory.block_sizes", MD_COLUMNS(sizes) };
    ap_md_table(md, "Block sizes", &table);
}

void ap_md_memory_use(struct md *md)
{
    static const struct md_figure totals[] = {
        { "memory.totals.reserved_bytes", "Reserved" },
        { "memory.totals.allocated_bytes", "Allocated" },
        { "memory.totals.requested_bytes", "Of that, requested" },
        { "memory.totals.rounding_bytes", "Of that, rounding" },
        { "memory.totals.pending_free_bytes", "Pending free" },
        { "memory.totals.inactive_split_bytes", "Inactive, in partly used segments" },
        { "memory.totals.wholly_free_segment_bytes", "Inactive, in wholly free segments" },
        { "memory.totals.unexplained_bytes", "Not explained by blocks" },
        { "memory.totals.largest_free_block_bytes", "Largest free block" },
    };
    ap_md_figures(md, "What reserved memory consists of", FIGURES(totals));
    write_pools(md);
    write_replay(md);
    write_ooms(md);
    write_segments(md);
    write_sizes(md);
}
