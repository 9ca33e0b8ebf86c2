/* SPDX-License-Identifier: MIT
 * The GPU's part of the report: devices and streams, kernels by family, subfamily and name, copies, sequences. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)

static void write_figures(struct md *md)
{
    static const struct md_figure time[] = {
        { "gpu.rows", "Rows of GPU work" },
        { "gpu.window_us", "Window" },
        { "gpu.busy_us", "Busy" },
        { "gpu.idle_us", "Idle" },
        { "gpu.utilization_ratio", "Utilization" },
        { "gpu.compute_us", "Compute kernels" },
        { "gpu.launched_before_recording_count", "Launched before recording began" },
        { "gpu.launched_before_recording_ratio", "Launched before recording began, share of busy" },
        { "gpu.recorded_window_us", "Window without those" },
        { "gpu.communication.count", "Communication kernels" },
        { "gpu.communication.busy_us", "Communication" },
        { "gpu.communication.exposed_us", "Communication not hidden" },
        { "gpu.communication.exposed_ratio", "Communication not hidden, share of the window" },
        { "gpu.communication.overlap_ratio", "Communication beside compute kernels, share of it" },
        { "gpu.memcpy.count", "Copies" },
        { "gpu.memcpy.total_dur_us", "Copy time" },
        { "gpu.memcpy.exposed_us", "Copies not hidden" },
        { "gpu.memcpy.bytes", "Copied" },
        { "gpu.memcpy.pageable_bytes", "Copied from or to pageable memory" },
        { "gpu.memcpy.pageable_dur_us", "Time of pageable copies" },
        { "gpu.memcpy.device_dur_us", "Time of copies within a device" },
        { "gpu.memset.count", "Memsets" },
        { "gpu.memset.total_dur_us", "Memset time" },
    };
    static const struct md_figure kernels[] = {
        { "gpu.kernel.count", "Kernels" },
        { "gpu.kernel.total_dur_us", "Kernel time" },
        { "gpu.kernel.top_share_ratio", "Largest kernel, share of kernel time" },
        { "gpu.short_kernels.count", "Kernels under 10 us" },
        { "gpu.short_kernels.ratio", "Kernels under 10 us, share of kernels" },
        { "gpu.short_kernels.share_ratio", "Kernels under 10 us, share of kernel time" },
        { "gpu.unnamed_family.share_ratio", "Kernels without a family, share of kernel time" },
        { "gpu.family_share.gemm_in_convolution_ratio", "Matrix multiplications that convolutions launched, share of busy" },
        { "gpu.sm.tensor_core_ratio", "Kernels on tensor cores, share of kernel time" },
        { "gpu.sm.tensor_core_of_eligible_ratio", "Kernels on tensor cores, share of those that could be" },
        { "gpu.sm.mean_blocks_per_sm", "Blocks per multiprocessor" },
        { "gpu.sm.occupancy_ratio", "Estimated occupancy" },
        { "gpu.sm.estimated_efficiency_ratio", "Estimated SM efficiency" },
        { "gpu.sm.small_grid_us", "Kernels with fewer blocks than multiprocessors" },
        { "gpu.fill.empty_sm_us", "Multiprocessors without a block while kernels run" },
        { "gpu.fill.overlap_us", "Kernels run side by side" },
    };
    ap_md_figures(md, NULL, FIGURES(time));
    ap_md_figures(md, "Kernels", FIGURES(kernels));
}

static void write_devices(struct md *md)
{
#define UNION_COLUMNS                                      \
    MD_COLUMN("window_us", "Window (us)", MD_FIGURE),              \
    MD_COLUMN("busy_us", "Busy (us)", MD_FIGURE),                  \
    MD_COLUMN("idle_us", "Idle (us)", MD_FIGURE),                  \
    MD_COLUMN("utilization_ratio", "Utilization", MD_FIGURE),      \
    MD_COLUMN("compute_us", "Compute (us)", MD_FIGURE),            \
    MD_COLUMN("communication_us", "Communication (us)", MD_FIGURE), \
    MD_COLUMN("memcpy_us", "Copies (us)", MD_FIGURE),              \
    MD_COLUMN("memset_us", "Memsets (us)", MD_FIGURE)
    static const struct md_column devices[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("rows", "Rows", MD_FIGURE),
        UNION_COLUMNS,
        MD_COLUMN("exposed_communication_us", "Communication not hidden (us)", MD_FIGURE),
        MD_COLUMN("exposed_memcpy_us", "Copies not hidden (us)", MD_FIGURE),
        MD_COLUMN("launched_before_recording_count", "Launched before recording", MD_FIGURE),
    };
    static const struct md_column streams[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("tid", "Stream", MD_ID),
        MD_COLUMN("rows", "Rows", MD_FIGURE),
        UNION_COLUMNS,
    };
    static const struct md_table device_table = {
        .path = "gpu.devices",
        .remark = ". Times are unions of intervals, over the whole file; communication counts as hidden beside compute "
                  "kernels and memsets, a copy also beside communication",
        .limit = 100,
        MD_COLUMNS(devices),
    };
    static const struct md_table stream_table = {
        .path = "gpu.streams",
        .remark = ", busiest first; streams run side by side, so they add up to more than their device",
        MD_COLUMNS(streams),
    };
    ap_md_table(md, "Devices", &device_table);
    ap_md_table(md, "Streams", &stream_table);
}

static void write_families(struct md *md)
{
#define SUM_COLUMNS                                    \
    MD_COLUMN("kernels", "Names", MD_FIGURE),          \
    MD_COLUMN("count", "Count", MD_FIGURE),            \
    MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE), \
    MD_COLUMN("share_ratio", "Share of kernel time", MD_FIGURE)
    static const struct md_column families[] = { MD_COLUMN("family", "Family", MD_NAME), SUM_COLUMNS };
    static const struct md_column subfamilies[] = {
        MD_COLUMN("subfamily", "Subfamily", MD_NAME),
        MD_COLUMN("family", "Family", MD_NAME),
        SUM_COLUMNS,
    };
    static const struct md_column names[] = {
        MD_COLUMN("name", "Kernel", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
    };
    static const struct md_table family_table = { .path = "gpu.families", MD_COLUMNS(families) };
    static const struct md_table subfamily_table = {
        .path = "gpu.subfamilies",
        .remark = ", told by the kernels' names; a convolution may run as a plain matrix multiplication",
        MD_COLUMNS(subfamilies),
    };
    static const struct md_table communication_table = {
        .path = "gpu.communication.names",
        .remark = ": what counted as communication",
        MD_COLUMNS(names),
    };
    static const struct md_table unnamed_table = {
        .path = "gpu.unnamed_family.names",
        .remark = ": kernels whose name tells no family",
        MD_COLUMNS(names),
    };
    ap_md_table(md, "Kernel families", &family_table);
    ap_md_table(md, "Kernel subfamilies", &subfamily_table);
    ap_md_table(md, "Communication kernels", &communication_table);
    ap_md_table(md, "Kernels without a family", &unnamed_table);
}

static void write_kernels(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("name", "Kernel", MD_NAME),
        MD_COLUMN("subfamily", "Subfamily", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("share_ratio", "Share", MD_FIGURE),
        MD_COLUMN("mean_dur_us", "Mean (us)", MD_FIGURE),
        MD_COLUMN("min_dur_us", "Min (us)", MD_FIGURE),
        MD_COLUMN("max_dur_us", "Max (us)", MD_FIGURE),
        MD_COLUMN("tensor_core", "Tensor cores", MD_NAME),
        MD_COLUMN("mean_blocks_per_sm", "Blocks per SM", MD_FIGURE),
        MD_COLUMN("occupancy_ratio", "Occupancy", MD_FIGURE),
    };
    static const struct md_table table = {
        .path = "gpu.kernels",
        .remark = ", largest total first",
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "Kernels by total time", &table);
}

static void write_copies(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("kind", "Kind", MD_NAME),
        MD_COLUMN("direction", "Direction", MD_NAME),
        MD_COLUMN("memory", "Memory", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("large_count", "64 KiB or more", MD_FIGURE),
        MD_COLUMN("bytes", "Bytes (B)", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("exposed_us", "Not hidden (us)", MD_FIGURE),
        { .key = "gigabytes_per_s", .title = "GB/s", .form = MD_FIGURE, .unit = "rate" },
    };
    static const struct md_table table = {
        .path = "gpu.copies",
        .remark = ", largest total first; GB/s is bytes over time, of small copies it tells only what starting one costs",
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "Copies by kind", &table);
}

static void write_unaligned(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("operator", "Operator", MD_NAME),
        MD_COLUMN("dims", "Shapes", MD_NAME),
        MD_COLUMN("kernel", "Kernel", MD_NAME),
        MD_COLUMN("told_by", "Told by", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
    };
    static const struct md_table table = {
        .path = "gpu.unaligned_gemm.top",
        .remark = ", largest total first; rows of these matrices do not begin at multiples of 16 bytes",
        MD_COLUMNS(columns),
    };
    if (ap_value_first(ap_md_at(md, "gpu.unaligned_gemm.top")))
        ap_md_table(md, "Unaligned matrix multiplications", &table);
}

static void write_names(struct md *md, const struct ap_value *names)
{
    for (const struct ap_value *name = ap_value_first(names); name; name = name->next) {
        ap_md_string(md, name == ap_value_first(names) ? "" : ", ");
        ap_md_name(md, ap_value_text(name));
    }
}

/* Rows that the reader would skip are left to the JSON. */
#define MAX_SEQUENCES 5

static void write_sequences(struct md *md)
{
    const struct ap_value *row = ap_value_first(ap_md_at(md, "gpu.sequences"));
    if (!row)
        return;
    ap_md_string(md, "\n### Repeated sequences of short kernels\n\nKernels that follow each other on a stream again and again, "
                     "each under 10 us with less than 10 us between them: a compiler or a fused kernel could do each in one. "
                     "The first of `gpu.sequences`.\n");
    for (int i = 0; row && i < MAX_SEQUENCES; i++, row = row->next) {
        ap_md_string(md, "\n1. ");
        ap_md_value(md, ap_value_member(row, "occurrences"), AP_TEXT("occurrences"), MD_FULL);
        ap_md_string(md, " times, ");
        ap_md_value(md, ap_value_member(row, "total_dur_us"), AP_TEXT("total_dur_us"), MD_FULL);
        ap_md_string(md, " and ");
        ap_md_value(md, ap_value_member(row, "gap_us"), AP_TEXT("gap_us"), MD_FULL);
        ap_md_string(md, " between them: ");
        write_names(md, ap_value_member(row, "names"));
    }
    ap_md_string(md, "\n");
}

void ap_md_gpu(struct md *md)
{
    if (!ap_md_known(md, "cpu") && !ap_md_known(md, "gpu"))
        return;
    ap_md_string(md, "\n## GPU\n");
    if (!ap_md_known(md, "gpu")) {
        ap_md_string(md, "\nNo GPU work was recorded.\n");
        return;
    }
    write_figures(md);
    write_devices(md);
    write_families(md);
    write_kernels(md);
    write_unaligned(md);
    write_copies(md);
    write_sequences(md);
}
