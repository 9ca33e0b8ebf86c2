/* SPDX-License-Identifier: MIT
 * section_operators.c - where the time goes: from the whole run to one operation, phases, operators on host and device,
 * modules, lines, forward and backward. */
#include "sections.h"

#include "poison.h"

/* Levels that a list is indented by at most: deeper ones stand below each other. */
#define DEEPEST 10

static void write_tree(struct doc *doc, const char *path, const char *template, const char *count_key)
{
    ap_doc_begin(doc, DOC_LIST);
    for (const struct ap_value *row = ap_value_first(ap_doc_at(doc, path)); row; row = row->next) {
        int64_t depth = ap_integer_member(row, "depth", 0);
        bool counted = count_key && ap_integer_member(row, count_key, 0) > 1;
        ap_doc_begin_at(doc, DOC_ITEM, depth < 0 ? 0 : depth > DEEPEST ? DEEPEST : depth);
        ap_doc_tell(doc, row, count_key ? (counted ? "{n name} x {f instances}: " : "{n name}: ") : "{p level} {n name}: ");
        ap_doc_tell(doc, row, template);
        ap_doc_end(doc, DOC_ITEM);
    }
    ap_doc_end(doc, DOC_LIST);
}

static void write_drilldown(struct doc *doc)
{
    if (!ap_doc_known(doc, "drilldown"))
        return;
    ap_doc_heading(doc, "From the whole run to one operation");
    ap_doc_paragraph(doc, ap_doc_at(doc, "drilldown"),
                     "By {p basis}, {r total_us} in all. Each level adds up to the row above it; the largest of each: "
                     "{n narrowed.step} > {n narrowed.phase} > {n narrowed.component} > {n narrowed.operation}.");
    write_tree(doc, "drilldown.rows", "{r time_us}[, {F share_ratio}]", NULL);
}

static void write_modules(struct doc *doc)
{
    bool has_gpu = ap_doc_known(doc, "modules.device_us");
    if (!ap_doc_known(doc, "modules"))
        return;
    ap_doc_heading(doc, "Modules");
    ap_doc_paragraph(doc, NULL,
                     has_gpu
                         ? "Rows of `modules.items`: the costliest paths of modules by class, by the GPU work launched in "
                           "them."
                         : "Rows of `modules.items`: the costliest paths of modules by class, by host time.");
    write_tree(doc, "modules.items",
               has_gpu ? "{r device_us}[, {F device_share_ratio}]" : "{r host_total_us}[, {F host_share_ratio}]",
               "instances");
}

#define COST_COLUMNS                                                                                                \
    NUMBER("count", "Count"), NUMBER("host_total_us", "Host total (us)"), NUMBER("host_self_us", "Host self (us)"), \
        NUMBER("device_total_us", "GPU total (us)"), NUMBER("device_self_us", "GPU self (us)"),                     \
        NUMBER("device_share_ratio", "Share of GPU")

static const struct doc_figure work[] = {
    FIGURE("operators.device_us"),
    FIGURE("operators.in_operators_device_us"),
    FIGURE("operators.outside_operators_device_us"),
    FIGURE("operators.unlinked_device_us"),
};

static const struct doc_part parts[] = {
    CALL(write_drilldown),
    ROWS("Phases", .path = "phases.items", .remark = ": host time without overlap, GPU time by what launched it",
         COLUMNS(NAME("phase", "Phase"), NUMBER("host_us", "Host (us)"), NUMBER("host_share_ratio", "Share of host"),
                 NUMBER("host_per_steady_step_us", "Host per steady step (us)"), NUMBER("device_us", "GPU (us)"),
                 NUMBER("device_share_ratio", "Share of GPU"), NUMBER("device_busy_us", "GPU busy (us)"),
                 NUMBER("device_per_steady_step_us", "GPU per steady step (us)"))),
    { .only_if = "operators.device_us", .title = "GPU work by what launched it", .figures = COUNTED(work) },
    ROWS("Operators on host and device", .path = "operators.top", .remark = ", by own time",
         COLUMNS(NAME("name", "Operator"), NAME("family", "Family"), COST_COLUMNS, NAME("top_frame", "Line above it"))),
    ROWS("Operators by input shapes", .path = "operators.by_shape", .remark = ", by own time",
         COLUMNS(NAME("name", "Operator"), NAME("dims", "Input dims"), NAME("types", "Input types"), COST_COLUMNS)),
    ROWS("Operator families on host and device", .path = "operators.families", .remark = ", by own time",
         COLUMNS(NAME("family", "Family"), NUMBER("count", "Count"), NUMBER("host_self_us", "Host self (us)"),
                 NUMBER("host_share_ratio", "Share of host"), NUMBER("device_self_us", "GPU self (us)"),
                 NUMBER("device_share_ratio", "Share of GPU"))),
    CALL(write_modules),
    ROWS("Python lines", .path = "frames.items",
         .remark = ": the innermost Python line outside the standard library and PyTorch",
         COLUMNS(NAME("name", "Line"), NUMBER("count", "Calls"), NUMBER("host_self_us", "Host self (us)"),
                 NUMBER("device_self_us", "GPU self (us)"), NUMBER("device_share_ratio", "Share of GPU"))),
    ROWS("Forward operators and their backward", .path = "autograd.by_forward_op", .remark = ", linked by sequence number",
         COLUMNS(NAME("forward", "Forward"), NAME("backward", "Backward"), NUMBER("count", "Count"),
                 NUMBER("forward_host_us", "Forward host (us)"), NUMBER("backward_host_us", "Backward host (us)"),
                 NUMBER("forward_device_us", "Forward GPU (us)"), NUMBER("backward_device_us", "Backward GPU (us)"),
                 NUMBER("backward_over_forward_ratio", "Backward over forward"))),
};

const struct doc_section ap_section_operators = { .title = "Phases and operators",
                                                  .if_any = { "phases", "drilldown", "operators" },
                                                  .parts = COUNTED(parts) };
