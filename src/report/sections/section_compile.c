/* SPDX-License-Identifier: MIT
 * section_compile.c - what the compiler did, and what other accelerators did. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure compile_figures[] = {
    FIGURE("compile.regions"),
    FIGURE("compile.regions_per_step"),
    FIGURE("compile.distinct_frames"),
    FIGURE("compile.recompiled_frames"),
    { "compile.recompiles_in_window", "Compiled again while recording" },
    FIGURE("compile.graph_breaks"),
    { "compile.graph_breaks_per_step", "Graph breaks per step" },
    FIGURE("compile.eager_between_us"),
    FIGURE("compile.fx_graph_calls"),
    FIGURE("compile.distinct_fx_graphs"),
    FIGURE("compile.triton_kernels"),
    FIGURE("compile.triton_time_ratio"),
    FIGURE("compile.compile_us"),
    FIGURE("compile.compile_share_ratio"),
    FIGURE("compile.guard_us"),
    FIGURE("compile.guard_share_ratio"),
    FIGURE("compile.graph_captures"),
    FIGURE("compile.graph_capture_us"),
};

static const struct doc_part compile_parts[] = {
    FIGURES(NULL, compile_figures),
    ROWS("Compiled regions", .path = "compile.top_regions", .remark = ", longest first",
         COLUMNS(NAME("name", "Region"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)"),
                 NUMBER("device_us", "GPU work launched (us)"), NUMBER("dur_us", "Longest (us)"),
                 NUMBER("start_us", "Longest at (us)"), ID("pid", "pid"), ID("tid", "tid"))),
};

/* Where nothing was compiled the section would be zeros. */
void ap_section_compile(struct doc *doc)
{
    static const struct doc_section section = { .title = "Compilation", .parts = COUNTED(compile_parts) };
    static const char *const paths[] = { "compile.regions", "compile.fx_graph_calls", "compile.triton_kernels",
                                         "compile.compile_rows", "compile.graph_captures" };
    for (size_t i = 0; i < AP_COUNT_OF(paths); i++)
        if (ap_value_integer(ap_doc_at(doc, paths[i]), 0)) {
            ap_doc_section(doc, &section);
            return;
        }
}

/* ---- other accelerators ---- */

static const struct doc_figure accelerator_figures[] = {
    FIGURE("accelerator.rows"),          FIGURE("accelerator.window_us"),         FIGURE("accelerator.busy_us"),
    FIGURE("accelerator.idle_us"),       FIGURE("accelerator.utilization_ratio"), FIGURE("accelerator.working_us"),
    FIGURE("accelerator.working_ratio"), FIGURE("accelerator.linked_ratio"),
};

static const struct doc_part accelerator_parts[] = {
    SAYS("Rows of an accelerator other than CUDA or ROCm, as its own profiler wrote them. They may stand for requests and "
         "waits as well as for work, so these figures compare with no GPU's."),
    FIGURES(NULL, accelerator_figures),
    ROWS("Names", .path = "accelerator.names", .remark = ", longest total first",
         COLUMNS(NAME("name", "Name"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)"),
                 NUMBER("share_ratio", "Share"), NUMBER("waits", "A wait"))),
    ROWS("Tracks", .path = "accelerator.tracks", .remark = ", busiest first",
         COLUMNS(NAME("label", "Track"), ID("pid", "pid"), ID("tid", "tid"), NUMBER("rows", "Rows"),
                 NUMBER("window_us", "Window (us)"), NUMBER("busy_us", "Busy (us)"), NUMBER("busy_ratio", "Busy, share"),
                 NAME("longest_name", "Longest row"), NUMBER("dur_us", "It takes (us)"),
                 NUMBER("start_us", "It starts at (us)"))),
    ROWS("Categories", .path = "accelerator.categories", .limit = 50,
         COLUMNS(NAME("category", "Category"), NUMBER("rows", "Rows"), NUMBER("total_dur_us", "Total (us)"))),
};

const struct doc_section ap_section_accelerator = { .title = "Accelerator",
                                                    .if_any = { "accelerator" },
                                                    .parts = COUNTED(accelerator_parts) };
