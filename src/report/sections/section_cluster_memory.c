/* SPDX-License-Identifier: MIT
 * section_cluster_memory.c - the memory of the ranks of a run: who ran out, who stands apart, and what of. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure compared[] = {
    FIGURE("cluster.memory.rank_count"),
    FIGURE("cluster.memory.out_of_memory.rank_count"),
    FIGURE("cluster.memory.other_count"),
    FIGURE("cluster.unread_count"),
};

static void write_difference(struct doc *doc)
{
    const struct ap_value *differs = ap_doc_at(doc, "cluster.memory.differs");
    if (ap_doc_known(doc, "cluster.memory.differs.rank"))
        ap_doc_paragraph(
            doc, differs,
            "Against {f like_count} others of its role, rank {f rank} holds most more[ of {p owner.category}: "
            "{r owner.bytes}, where {r owner.usual_bytes} are usual][; by line, of {n line.line}: {r line.bytes}, "
            "where {r line.usual_bytes} are usual].");
}

#define DIFFERENCE NUMBER("bytes", "This rank (B)"), NUMBER("usual_bytes", "Usual (B)"), NUMBER("more_bytes", "More (B)")

static const struct doc_part parts[] = {
    FIGURES("Memory compared", compared),
    CALL(write_difference),
    ROWS("What the rank holds", .path = "cluster.memory.differs.owners", COLUMNS(PROSE("category", "Category"), DIFFERENCE)),
    ROWS("By line", .path = "cluster.memory.differs.lines", COLUMNS(NAME("line", "Line"), DIFFERENCE)),
    ROWS("Memory by rank", .path = "cluster.memory.ranks", .remark = ", those that ran out first, then by their peaks",
         COLUMNS(NUMBER("rank", "Rank"), NAME("host", "Host"), PROSE("told_by", "Told by"),
                 NUMBER("peak_bytes", "Peak in use (B)"), NUMBER("peak_reserved_bytes", "Peak reserved (B)"),
                 NUMBER("split_bytes", "Free between blocks (B)"), NUMBER("retries", "Retries"),
                 NUMBER("failures", "Failed requests"), NUMBER("parameters_bytes", "Parameters (B)"),
                 NUMBER("gradients_bytes", "Gradients (B)"), NUMBER("optimizer_state_bytes", "Optimizer state (B)"),
                 NUMBER("activations_bytes", "Activations (B)"), NUMBER("temporaries_bytes", "Temporaries (B)"),
                 NUMBER("unknown_bytes", "Unknown (B)"))),
};

const struct doc_section ap_section_cluster_memory = { .title = "Memory of the ranks",
                                                       .if_any = { "cluster.memory.sentence" },
                                                       .parts = COUNTED(parts) };
