/* SPDX-License-Identifier: MIT
 * section_compile_log.c - what torch.compile logged: why graphs break, why functions are compiled again. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    FIGURE("compile_log.compilations.count"),    FIGURE("compile_log.compilations.functions"),
    FIGURE("compile_log.compilations.total_us"), FIGURE("compile_log.compilations.again_count"),
    FIGURE("compile_log.compilations.again_us"), FIGURE("compile_log.breaks.count"),
    FIGURE("compile_log.recompiles.count"),      FIGURE("compile_log.compilations.limit_count"),
};

static const struct doc_part parts[] = {
    FIGURES(NULL, figures),
    ROWS("Graph breaks", .path = "compile_log.break_rows", .limit = 40, .remark = ", by line and kind",
         COLUMNS(NAME("place", "Line"), NUMBER("count", "Count"), PROSE("what", "What"), NAME("reason", "Reason"))),
    ROWS("Recompilations", .path = "compile_log.recompile_rows", .limit = 40, .remark = ", by function and kind",
         COLUMNS(NAME("function", "Function"), NAME("place", "Line"), NUMBER("count", "Count"), PROSE("what", "What"),
                 NAME("reason", "First reason"))),
    ROWS("Compiled functions", .path = "compile_log.functions", .limit = 40, .remark = ", the longest first",
         COLUMNS(NAME("function", "Function"), NAME("place", "Line"), NUMBER("count", "Compilations"),
                 NUMBER("total_us", "Total (us)"), NUMBER("max_us", "Max (us)"), NUMBER("failed_count", "Failed"))),
};

const struct doc_section ap_section_compile_log = { .title = "Log of torch.compile",
                                                    .if_any = { "compile_log" },
                                                    .parts = COUNTED(parts) };
