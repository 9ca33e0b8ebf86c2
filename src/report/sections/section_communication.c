/* SPDX-License-Identifier: MIT
 * section_communication.c - what moves between ranks. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    FIGURE("communication.count"),
    FIGURE("communication.busy_us"),
    FIGURE("communication.exposed_us"),
    { "communication.exposed_ratio", "Not hidden, share of communication" },
    FIGURE("communication.overlap_ratio"),
    FIGURE("communication.host_collectives.count"),
    FIGURE("communication.host_collectives.total_dur_us"),
    FIGURE("communication.missing_details_count"),
    FIGURE("communication.allreduces_per_step"),
    FIGURE("communication.median_allreduce_bytes"),
    FIGURE("communication.small_allreduce_count"),
    FIGURE("communication.broadcasts_per_step"),
    FIGURE("communication.barriers_per_step"),
    FIGURE("communication.alltoall_dur_us"),
    FIGURE("communication.dtype_fp32_bytes_ratio"),
    FIGURE("communication.slow_count"),
    FIGURE("communication.slow_excess_us"),
};

static const struct doc_part parts[] = {
    SAYS("Seen from this rank alone: a collective lasts until the slowest rank has come, so durations include waiting and "
         "bandwidths are lower bounds."),
    FIGURES(NULL, figures),
    ROWS("By operation", .path = "communication.by_operation",
         .remark = ", longest first; bandwidths are bytes over time of all rows whose size is known",
         COLUMNS(NAME("operation", "Operation"), NUMBER("count", "Count"), NUMBER("bytes", "Bytes"),
                 NUMBER("total_dur_us", "Total (us)"), NUMBER("exposed_us", "Not hidden (us)"),
                 NUMBER("algbw_gigabytes_per_s", "Algorithm (GB/s)"), NUMBER("busbw_gigabytes_per_s", "Bus (GB/s)"))),
    ROWS("Collectives", .path = "communication.collectives",
         .remark = ", longest total first. Bytes and bandwidths are those of nccl-tests, in decimal GB/s at the median "
                   "duration, which includes waiting for other ranks; not hidden: covered by no other kernel and no memset",
         COLUMNS(NAME("operation", "Operation"), NAME("name", "Kernel or call"), NAME("group", "Group"),
                 NUMBER("group_size", "Ranks"), NAME("dtype", "Type"), NUMBER("bytes", "Bytes"), NUMBER("count", "Count"),
                 NUMBER("total_dur_us", "Total (us)"), NUMBER("p50_us", "p50 (us)"), NUMBER("min_dur_us", "Min (us)"),
                 NUMBER("max_dur_us", "Max (us)"), NUMBER("algbw_gigabytes_per_s", "Algorithm (GB/s)"),
                 NUMBER("busbw_gigabytes_per_s", "Bus (GB/s)"), NUMBER("exposed_us", "Not hidden (us)"),
                 NUMBER("start_us", "Longest at (us)"))),
    ROWS("Process groups", .path = "communication.groups",
         COLUMNS(NAME("name", "Group"), NAME("description", "Description"), NUMBER("size", "Ranks"), NAME("ranks", "Which"),
                 NUMBER("count", "Collectives"), NUMBER("total_dur_us", "Total (us)"))),
};

const struct doc_section ap_section_communication = { .title = "Communication",
                                                      .if_any = { "communication" },
                                                      .parts = COUNTED(parts) };
