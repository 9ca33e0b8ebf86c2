/* SPDX-License-Identifier: MIT
 * section_compile.c - what the compiler did, and what other accelerators did. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure compile_figures[] = {
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
    { "accelerator.rows", "Rows" },
    { "accelerator.window_us", "Window" },
    { "accelerator.busy_us", "Some row open" },
    { "accelerator.idle_us", "No row open" },
    { "accelerator.utilization_ratio", "Some row open, share of the window" },
    { "accelerator.working_us", "Some row open that is no wait" },
    { "accelerator.working_ratio", "That, share of the window" },
    { "accelerator.linked_ratio", "Rows linked to their runtime call" },
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
