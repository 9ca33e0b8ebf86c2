/* SPDX-License-Identifier: MIT
 * section_gpu.c - devices and streams, kernels by family, subfamily and name, copies, sequences. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure time[] = {
    FIGURE("gpu.rows"),
    FIGURE("gpu.window_us"),
    FIGURE("gpu.busy_us"),
    FIGURE("gpu.idle_us"),
    { "gpu.utilization_ratio", "Utilization" },
    FIGURE("gpu.compute_us"),
    FIGURE("gpu.launched_before_recording_count"),
    FIGURE("gpu.launched_before_recording_ratio"),
    FIGURE("gpu.recorded_window_us"),
    FIGURE("gpu.communication.count"),
    FIGURE("gpu.communication.busy_us"),
    FIGURE("gpu.communication.exposed_us"),
    FIGURE("gpu.communication.exposed_ratio"),
    FIGURE("gpu.communication.overlap_ratio"),
    FIGURE("gpu.memcpy.count"),
    FIGURE("gpu.memcpy.total_dur_us"),
    FIGURE("gpu.memcpy.exposed_us"),
    FIGURE("gpu.memcpy.bytes"),
    FIGURE("gpu.memcpy.pageable_bytes"),
    FIGURE("gpu.memcpy.pageable_dur_us"),
    FIGURE("gpu.memcpy.device_dur_us"),
    FIGURE("gpu.memset.count"),
    FIGURE("gpu.memset.total_dur_us"),
};

static const struct doc_figure kernel_figures[] = {
    FIGURE("gpu.kernel.count"),
    FIGURE("gpu.kernel.total_dur_us"),
    FIGURE("gpu.kernel.top_share_ratio"),
    FIGURE("gpu.short_kernels.count"),
    FIGURE("gpu.short_kernels.ratio"),
    FIGURE("gpu.short_kernels.share_ratio"),
    FIGURE("gpu.unnamed_family.share_ratio"),
    FIGURE("gpu.family_share.gemm_in_convolution_ratio"),
    FIGURE("gpu.sm.tensor_core_ratio"),
    FIGURE("gpu.sm.tensor_core_of_eligible_ratio"),
    FIGURE("gpu.sm.mean_blocks_per_sm"),
    FIGURE("gpu.sm.occupancy_ratio"),
    FIGURE("gpu.sm.estimated_efficiency_ratio"),
    FIGURE("gpu.sm.small_grid_us"),
    FIGURE("gpu.fill.empty_sm_us"),
    FIGURE("gpu.fill.overlap_us"),
};

#define UNION_COLUMNS                                                                                   \
    NUMBER("window_us", "Window (us)"), NUMBER("busy_us", "Busy (us)"), NUMBER("idle_us", "Idle (us)"), \
        NUMBER("utilization_ratio", "Utilization"), NUMBER("compute_us", "Compute (us)"),               \
        NUMBER("communication_us", "Communication (us)"), NUMBER("memcpy_us", "Copies (us)"),           \
        NUMBER("memset_us", "Memsets (us)")

#define SUM_COLUMNS                                                                             \
    NUMBER("kernels", "Names"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)"), \
        NUMBER("share_ratio", "Share of kernel time")

/* Rows that the reader would skip are left to the JSON. */
#define MAX_SEQUENCES 5

static void write_sequence(struct doc *doc, const struct ap_value *row)
{
    const struct ap_value *first = ap_value_first(ap_value_member(row, "names"));
    ap_doc_begin_at(doc, DOC_NUMBERED_ITEM, 1);
    ap_doc_tell(doc, row, "{F occurrences} times, {F total_dur_us} and {F gap_us} between them: ");
    for (const struct ap_value *name = first; name; name = name->next) {
        ap_doc_say(doc, name == first ? "" : ", ");
        ap_doc_text(doc, DOC_NAME, ap_value_text(name));
    }
    ap_doc_end(doc, DOC_NUMBERED_ITEM);
}

static void write_sequences(struct doc *doc)
{
    const struct ap_value *row = ap_value_first(ap_doc_at(doc, "gpu.sequences"));
    if (!row)
        return;
    ap_doc_heading(doc, "Repeated sequences of short kernels");
    ap_doc_paragraph(doc, NULL,
                     "Kernels that follow each other on a stream again and again, each under 10 us with less than 10 us "
                     "between them: a compiler or a fused kernel could do each in one. The first of `gpu.sequences`.");
    ap_doc_begin(doc, DOC_NUMBERED_LIST);
    for (int i = 0; row && i < MAX_SEQUENCES; i++, row = row->next)
        write_sequence(doc, row);
    ap_doc_end(doc, DOC_NUMBERED_LIST);
}

#define NAMES_COLUMNS NAME("name", "Kernel"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)")

static const struct doc_part parts[] = {
    FIGURES(NULL, time),
    FIGURES("Kernels", kernel_figures),
    ROWS("Devices", .path = "gpu.devices",
         .remark = ". Times are unions of intervals, over the whole file; communication counts as hidden beside compute "
                   "kernels and memsets, a copy also beside communication",
         .limit = 100,
         COLUMNS(ID("device", "Device"), NUMBER("rows", "Rows"), UNION_COLUMNS,
                 NUMBER("exposed_communication_us", "Communication not hidden (us)"),
                 NUMBER("exposed_memcpy_us", "Copies not hidden (us)"),
                 NUMBER("launched_before_recording_count", "Launched before recording"))),
    ROWS("Streams", .path = "gpu.streams",
         .remark = ", busiest first; streams run side by side, so they add up to more than their device",
         COLUMNS(ID("device", "Device"), ID("tid", "Stream"), NUMBER("rows", "Rows"), UNION_COLUMNS)),
    ROWS("Kernel families", .path = "gpu.families", COLUMNS(NAME("family", "Family"), SUM_COLUMNS)),
    ROWS("Kernel subfamilies", .path = "gpu.subfamilies",
         .remark = ", told by the kernels' names; a convolution may run as a plain matrix multiplication",
         COLUMNS(NAME("subfamily", "Subfamily"), NAME("family", "Family"), SUM_COLUMNS)),
    ROWS("Communication kernels", .path = "gpu.communication.names", .remark = ": what counted as communication",
         COLUMNS(NAMES_COLUMNS)),
    ROWS("Kernels without a family", .path = "gpu.unnamed_family.names", .remark = ": kernels whose name tells no family",
         COLUMNS(NAMES_COLUMNS)),
    ROWS("Kernels by total time", .path = "gpu.kernels", .remark = ", largest total first",
         COLUMNS(NAME("name", "Kernel"), NAME("subfamily", "Subfamily"), NUMBER("count", "Count"),
                 NUMBER("total_dur_us", "Total (us)"), NUMBER("share_ratio", "Share"), NUMBER("mean_dur_us", "Mean (us)"),
                 NUMBER("min_dur_us", "Min (us)"), NUMBER("max_dur_us", "Max (us)"), NAME("tensor_core", "Tensor cores"),
                 NUMBER("mean_blocks_per_sm", "Blocks per SM"), NUMBER("occupancy_ratio", "Occupancy"))),
    ROWS("Unaligned matrix multiplications", .path = "gpu.unaligned_gemm.top",
         .remark = ", largest total first; rows of these matrices do not begin at multiples of 16 bytes",
         COLUMNS(NAME("operator", "Operator"), NAME("dims", "Shapes"), NAME("kernel", "Kernel"), NAME("told_by", "Told by"),
                 NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)"))),
    ROWS("Copies by kind", .path = "gpu.copies",
         .remark = ", largest total first; GB/s is bytes over time, of small copies it tells only what starting one costs",
         COLUMNS(NAME("kind", "Kind"), NAME("direction", "Direction"), NAME("memory", "Memory"), NUMBER("count", "Count"),
                 NUMBER("large_count", "64 KiB or more"), NUMBER("bytes", "Bytes (B)"), NUMBER("total_dur_us", "Total (us)"),
                 NUMBER("exposed_us", "Not hidden (us)"), NUMBER("gigabytes_per_s", "GB/s"))),
    CALL(write_sequences),
};

const struct doc_section ap_section_gpu = {
    .title = "GPU",
    .if_any = { "cpu", "gpu" },
    .needs = "gpu",
    .otherwise = "No GPU work was recorded.",
    .parts = COUNTED(parts),
};
