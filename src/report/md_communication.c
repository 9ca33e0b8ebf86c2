/* SPDX-License-Identifier: MIT
 * What moves between ranks, what the compiler did, what other accelerators did. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)
#define RATE_COLUMN(its_key, its_title) { .key = its_key, .title = its_title, .form = MD_FIGURE, .unit = "rate" }

/* ---- communication ---- */

static void write_collectives(struct md *md)
{
    static const struct md_column kinds[] = {
        MD_COLUMN("operation", "Operation", MD_NAME),
        MD_COLUMN("name", "Kernel or call", MD_NAME),
        MD_COLUMN("group", "Group", MD_NAME),
        MD_COLUMN("group_size", "Ranks", MD_FIGURE),
        MD_COLUMN("dtype", "Type", MD_NAME),
        MD_COLUMN("bytes", "Bytes", MD_FIGURE),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("p50_us", "p50 (us)", MD_FIGURE),
        MD_COLUMN("min_dur_us", "Min (us)", MD_FIGURE),
        MD_COLUMN("max_dur_us", "Max (us)", MD_FIGURE),
        RATE_COLUMN("algbw_gigabytes_per_s", "Algorithm (GB/s)"),
        RATE_COLUMN("busbw_gigabytes_per_s", "Bus (GB/s)"),
        MD_COLUMN("exposed_us", "Not hidden (us)", MD_FIGURE),
        MD_COLUMN("start_us", "Longest at (us)", MD_FIGURE),
    };
    static const struct md_column operations[] = {
        MD_COLUMN("operation", "Operation", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("bytes", "Bytes", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("exposed_us", "Not hidden (us)", MD_FIGURE),
        RATE_COLUMN("algbw_gigabytes_per_s", "Algorithm (GB/s)"),
        RATE_COLUMN("busbw_gigabytes_per_s", "Bus (GB/s)"),
    };
    static const struct md_column groups[] = {
        MD_COLUMN("name", "Group", MD_NAME),
        MD_COLUMN("description", "Description", MD_NAME),
        MD_COLUMN("size", "Ranks", MD_FIGURE),
        MD_COLUMN("ranks", "Which", MD_NAME),
        MD_COLUMN("count", "Collectives", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
    };
    static const struct md_table operation_table = {
        .path = "communication.by_operation",
        .remark = ", longest first; bandwidths are bytes over time of all rows whose size is known",
        MD_COLUMNS(operations),
    };
    static const struct md_table kind_table = {
        .path = "communication.collectives",
        .remark = ", longest total first. Bytes and bandwidths are those of nccl-tests, in decimal GB/s at the median duration, "
                  "which includes waiting for other ranks; not hidden: covered by no other kernel and no memset",
        MD_COLUMNS(kinds),
    };
    static const struct md_table group_table = { .path = "communication.groups", MD_COLUMNS(groups) };
    ap_md_table(md, "By operation", &operation_table);
    ap_md_table(md, "Collectives", &kind_table);
    ap_md_table(md, "Process groups", &group_table);
}

void ap_md_communication(struct md *md)
{
    static const struct md_figure figures[] = {
        { "communication.count", "Communication kernels" },
        { "communication.busy_us", "Communication, union per device" },
        { "communication.exposed_us", "Not hidden by other kernels or memsets" },
        { "communication.exposed_ratio", "Not hidden, share of communication" },
        { "communication.overlap_ratio", "Beside other kernels, share of communication" },
        { "communication.host_collectives.count", "Collectives of host backends" },
        { "communication.host_collectives.total_dur_us", "Their time" },
        { "communication.missing_details_count", "Calls without size or group" },
        { "communication.allreduces_per_step", "All-reduces per step" },
        { "communication.median_allreduce_bytes", "Median all-reduce" },
        { "communication.small_allreduce_count", "All-reduces under 1 MiB" },
        { "communication.broadcasts_per_step", "Broadcasts per step" },
        { "communication.barriers_per_step", "Barriers per step" },
        { "communication.alltoall_dur_us", "All-to-all, dispatch and combine" },
        { "communication.dtype_fp32_bytes_ratio", "Bytes in 32-bit floats or wider" },
        { "communication.slow_count", "At least twice as long as others let expect" },
        { "communication.slow_excess_us", "Time of those beyond that" },
    };
    if (!ap_md_known(md, "communication"))
        return;
    ap_md_string(md, "\n## Communication\n\nSeen from this rank alone: a collective lasts until the slowest rank has come, so "
                     "durations include waiting and bandwidths are lower bounds.\n");
    ap_md_figures(md, NULL, FIGURES(figures));
    write_collectives(md);
}

/* ---- compilation ---- */

static bool is_zero(const struct md *md, const char *path)
{
    return ap_value_integer(ap_md_at(md, path), 0) == 0;
}

void ap_md_compile(struct md *md)
{
    static const struct md_figure figures[] = {
        { "compile.regions", "Compiled regions" },
        { "compile.regions_per_step", "Compiled regions per step" },
        { "compile.distinct_frames", "Compiled frames" },
        { "compile.recompiled_frames", "Frames in a second or later version" },
        { "compile.recompiles_in_window", "Compiled again while recording" },
        { "compile.graph_breaks", "Graph breaks" },
        { "compile.graph_breaks_per_step", "Graph breaks per step" },
        { "compile.eager_between_us", "Between compiled code at graph breaks" },
        { "compile.fx_graph_calls", "Calls of compiled graphs" },
        { "compile.distinct_fx_graphs", "Compiled graphs" },
        { "compile.triton_kernels", "Generated Triton kernels" },
        { "compile.triton_time_ratio", "Those, share of kernel time" },
        { "compile.compile_us", "Compiling while recording" },
        { "compile.compile_share_ratio", "Compiling, share of the window" },
        { "compile.guard_us", "Guard checks" },
        { "compile.guard_share_ratio", "Guard checks, share of the window" },
        { "compile.graph_captures", "Captures of GPU graphs" },
        { "compile.graph_capture_us", "Time of captures" },
    };
    static const struct md_column regions[] = {
        MD_COLUMN("name", "Region", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("device_us", "GPU work launched (us)", MD_FIGURE),
        MD_COLUMN("dur_us", "Longest (us)", MD_FIGURE),
        MD_COLUMN("start_us", "Longest at (us)", MD_FIGURE),
        MD_COLUMN("pid", "pid", MD_ID),
        MD_COLUMN("tid", "tid", MD_ID),
    };
    static const struct md_table region_table = { .path = "compile.top_regions", .remark = ", longest first", MD_COLUMNS(regions) };
    if (!ap_md_known(md, "compile"))
        return;
    if (is_zero(md, "compile.regions") && is_zero(md, "compile.fx_graph_calls") && is_zero(md, "compile.triton_kernels") &&
        is_zero(md, "compile.compile_rows") && is_zero(md, "compile.graph_captures"))
        return;
    ap_md_string(md, "\n## Compilation\n");
    ap_md_figures(md, NULL, FIGURES(figures));
    ap_md_table(md, "Compiled regions", &region_table);
}

/* ---- other accelerators ---- */

void ap_md_accelerator(struct md *md)
{
    static const struct md_figure figures[] = {
        { "accelerator.rows", "Rows" },
        { "accelerator.window_us", "Window" },
        { "accelerator.busy_us", "Some row open" },
        { "accelerator.idle_us", "No row open" },
        { "accelerator.utilization_ratio", "Some row open, share of the window" },
        { "accelerator.working_us", "Some row open that is no wait" },
        { "accelerator.working_ratio", "That, share of the window" },
        { "accelerator.linked_ratio", "Rows linked to their runtime call" },
    };
    static const struct md_column categories[] = {
        MD_COLUMN("category", "Category", MD_NAME),
        MD_COLUMN("rows", "Rows", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
    };
    static const struct md_column names[] = {
        MD_COLUMN("name", "Name", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("share_ratio", "Share", MD_FIGURE),
        MD_COLUMN("waits", "A wait", MD_FIGURE),
    };
    static const struct md_column tracks[] = {
        MD_COLUMN("label", "Track", MD_NAME),
        MD_COLUMN("pid", "pid", MD_ID),
        MD_COLUMN("tid", "tid", MD_ID),
        MD_COLUMN("rows", "Rows", MD_FIGURE),
        MD_COLUMN("window_us", "Window (us)", MD_FIGURE),
        MD_COLUMN("busy_us", "Busy (us)", MD_FIGURE),
        MD_COLUMN("busy_ratio", "Busy, share", MD_FIGURE),
        MD_COLUMN("longest_name", "Longest row", MD_NAME),
        MD_COLUMN("dur_us", "It takes (us)", MD_FIGURE),
        MD_COLUMN("start_us", "It starts at (us)", MD_FIGURE),
    };
    static const struct md_table category_table = { .path = "accelerator.categories", .limit = 50, MD_COLUMNS(categories) };
    static const struct md_table name_table = { .path = "accelerator.names", .remark = ", longest total first", MD_COLUMNS(names) };
    static const struct md_table track_table = { .path = "accelerator.tracks", .remark = ", busiest first", MD_COLUMNS(tracks) };
    if (!ap_md_known(md, "accelerator"))
        return;
    ap_md_string(md, "\n## Accelerator\n\nRows of an accelerator other than CUDA or ROCm, as its own profiler wrote them. They may "
                     "stand for requests and waits as well as for work, so these figures compare with no GPU's.\n");
    ap_md_figures(md, NULL, FIGURES(figures));
    ap_md_table(md, "Names", &name_table);
    ap_md_table(md, "Tracks", &track_table);
    ap_md_table(md, "Categories", &category_table);
}
