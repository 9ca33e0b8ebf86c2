/* SPDX-License-Identifier: MIT
 * section_comparison.c - what changed since the baseline, and what is no more than noise. */
#include "sections.h"

#include "poison.h"

/* ---- what changed, in a few lines ---- */

static void write_baseline(struct doc *doc)
{
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_tell(doc, NULL, "Baseline: {w comparison.baseline.path}, a {p comparison.baseline.kind}");
    const struct ap_value *label = ap_value_first(ap_doc_at(doc, "comparison.baseline.context"));
    for (; label; label = label->next) {
        ap_doc_say(doc, ", ");
        ap_doc_text(doc, DOC_NAME, label->key);
        ap_doc_say(doc, " ");
        ap_doc_text(doc, DOC_WHOLE_NAME, ap_value_text(label));
    }
    ap_doc_end(doc, DOC_ITEM);
}

/* Only where there is more to say than that there is one a side. */
static void write_runs(struct doc *doc)
{
    if (ap_text_is(ap_doc_text_at(doc, "comparison.runs.tested"), "runs"))
        ap_doc_item(doc, NULL,
                    "Runs: {f comparison.runs.after_count} now, {f comparison.runs.before_count} before; the test is "
                    "between runs, and the middle one stands for the baseline where one has to");
}

static void write_bounds(struct doc *doc)
{
    static const char before[] = "comparison.verdict.before_bound", after[] = "comparison.verdict.after_bound";
    if (ap_doc_known(doc, before) && ap_doc_known(doc, after) &&
        !ap_text_equal(ap_doc_text_at(doc, before), ap_doc_text_at(doc, after)))
        ap_doc_item(doc, NULL,
                    "What bounds the run: {n comparison.verdict.before_bound} before, {n comparison.verdict.after_bound} "
                    "now");
}

static void write_counts(struct doc *doc)
{
    ap_doc_item(doc, NULL,
                "Findings: {f comparison.verdict.new_count} new, {f comparison.verdict.worse_count} worse, "
                "{f comparison.verdict.better_count} better, {f comparison.verdict.differs_count} different, "
                "{f comparison.verdict.gone_count} gone, {f comparison.findings.same_count} as before");
    if (ap_value_integer(ap_doc_at(doc, "comparison.verdict.changed_count"), 0))
        ap_doc_item(doc, NULL,
                    "Findings that are neither worse nor better: {f comparison.verdict.changed_count}; how long the device "
                    "waits moved with what kernels take, and steps did not follow");
}

static void write_head(struct doc *doc)
{
    ap_doc_paragraph(doc, NULL, "**{p comparison.verdict.sentence}.**");
    ap_doc_begin(doc, DOC_LIST);
    write_baseline(doc);
    write_runs(doc);
    write_bounds(doc);
    write_counts(doc);
    if (ap_value_first(ap_doc_at(doc, "trace")))
        ap_doc_item(doc, NULL,
                    "Noise: what no test decides counts as a change from {f comparison.noise.ratio} on "
                    "({p comparison.noise.of}), and from 1 % of the step");
    if (ap_doc_known(doc, "comparison.steps.note"))
        ap_doc_item(doc, NULL, "Steps: {p comparison.steps.note}");
    for (const struct ap_value *note = ap_value_first(ap_doc_at(doc, "comparison.notes")); note; note = note->next) {
        ap_doc_begin(doc, DOC_ITEM);
        ap_doc_say(doc, "Not alike: ");
        ap_doc_text(doc, DOC_PROSE, ap_value_text(note));
        ap_doc_end(doc, DOC_ITEM);
    }
    ap_doc_end(doc, DOC_LIST);
}

/* ---- tables of several units ---- */

static void write_unit_cell(struct doc *doc, const struct ap_value *row, const char *key)
{
    ap_doc_begin(doc, DOC_CELL);
    ap_doc_value(doc, ap_value_member(row, key), ap_text_member(row, "metric"), FORM_FULL);
    ap_doc_end(doc, DOC_CELL);
}

/* Each row has a unit of its own. */
static void write_figures(struct doc *doc, const char *title, const char *path, const char *caption)
{
    static const struct doc_column columns[] = { NAME(NULL, "Figure"), NUMBER(NULL, "Before"),
                                                 NUMBER(NULL, "Now"),  NUMBER(NULL, "Difference"),
                                                 NAME(NULL, "Change"), NAME(NULL, "Compared figure") };
    const struct ap_value *row = ap_value_first(ap_doc_at(doc, path));
    if (!row)
        return;
    ap_doc_heading(doc, title);
    ap_doc_paragraph(doc, NULL, caption);
    doc->backend->grid(doc, COUNTED(columns));
    for (; row; row = row->next) {
        ap_doc_begin(doc, DOC_ROW);
        ap_doc_cell(doc, row, "{p title}");
        write_unit_cell(doc, row, "before");
        write_unit_cell(doc, row, "after");
        write_unit_cell(doc, row, "delta");
        ap_doc_cell(doc, row, "{p change}");
        ap_doc_cell(doc, row, "{n metric}");
        ap_doc_end(doc, DOC_ROW);
    }
    doc->backend->grid_end(doc);
}

static void write_single_figures(struct doc *doc)
{
    write_figures(doc, "Single figures", "comparison.figures", "Rows of `comparison.figures`, lists folded by maximum.");
    write_figures(doc, "Memory figures", "comparison.memory", "Rows of `comparison.memory`, lists folded by maximum.");
}

static void write_names(struct doc *doc, const struct ap_value *names)
{
    ap_doc_begin(doc, DOC_CELL);
    for (const struct ap_value *name = ap_value_first(names); name; name = name->next) {
        ap_doc_text(doc, DOC_NAME, ap_value_text(name));
        ap_doc_say(doc, name->next ? ", " : "");
    }
    ap_doc_end(doc, DOC_CELL);
}

static void write_replaced(struct doc *doc)
{
    static const struct doc_column columns[] = {
        NAME(NULL, "Under"),         NAME(NULL, "Before"),     NAME(NULL, "Now"),
        NUMBER(NULL, "Time before"), NUMBER(NULL, "Time now"), NAME(NULL, "Change")
    };
    static const char *const times[] = { "before_us", "after_us" };
    const struct ap_value *row = ap_value_first(ap_doc_at(doc, "comparison.replaced"));
    if (!row)
        return;
    ap_doc_heading(doc, "Work that took another's place");
    ap_doc_paragraph(doc, NULL, "Rows of `comparison.replaced`, for each step where both sides have steps.");
    doc->backend->grid(doc, COUNTED(columns));
    for (; row; row = row->next) {
        ap_doc_begin(doc, DOC_ROW);
        ap_doc_cell(doc, row, "{n under} ({p by})");
        write_names(doc, ap_value_member(row, "before"));
        write_names(doc, ap_value_member(row, "after"));
        for (size_t i = 0; i < AP_COUNT_OF(times); i++) {
            ap_doc_begin(doc, DOC_CELL);
            ap_doc_value(doc, ap_value_member(row, times[i]), AP_TEXT("us"), FORM_FULL);
            ap_doc_end(doc, DOC_CELL);
        }
        ap_doc_cell(doc, row, "{p change}");
        ap_doc_end(doc, DOC_ROW);
    }
    doc->backend->grid_end(doc);
}

/* ---- the section ---- */

static const struct doc_figure steps[] = {
    FIGURE("comparison.steps.before_p50_us"),
    FIGURE("comparison.steps.after_p50_us"),
    FIGURE("comparison.steps.delta_us"),
    FIGURE("comparison.steps.shift_us"),
};

#define ROW_COLUMNS(title)                                                                                           \
    NAME("name", title), NUMBER("before_us", "Before (us)"), NUMBER("after_us", "Now (us)"),                         \
        NUMBER("delta_us", "Difference (us)"), NUMBER("before_count", "Calls before"), NUMBER("after_count", "Now"), \
        PROSE("change", "Change")

/* A dash where a name is not in a list that is cut. */
#define ROW_REMARK                                                                                    \
    ", for each step where both sides have steps; a dash: below the end of that side's list, so the " \
    "difference is at least that"

static const struct doc_part parts[] = {
    CALL(write_head),
    ROWS("Findings that changed", .path = "comparison.findings.rows",
         .remark = ", times for each step where both sides have steps",
         COLUMNS(PROSE("change", "Change"), PROSE("title", "Finding"), PROSE("before_severity", "Before"),
                 PROSE("after_severity", "Now"), NUMBER("before_saves_us", "Time saved at most before (us)"),
                 NUMBER("after_saves_us", "Time saved at most now (us)"),
                 NUMBER("before_saves_bytes", "Bytes saved at most before (B)"),
                 NUMBER("after_saves_bytes", "Bytes saved at most now (B)"))),
    FIGURES("Steps", steps),
    CALL(write_replaced),
    ROWS("Operators of another element type", .path = "comparison.types",
         .remark = ", for each step where both sides have steps",
         COLUMNS(NAME("name", "Operator"), NAME("before", "Before"), NAME("after", "Now"),
                 NUMBER("before_us", "Before (us)"), NUMBER("after_us", "Now (us)"))),
    ROWS("Operators that work on other shapes", .path = "comparison.shapes",
         .remark = ", for each step where both sides have steps",
         COLUMNS(NAME("name", "Operator"), NAME("before", "Before"), NAME("after", "Now"),
                 NUMBER("before_us", "Before (us)"), NUMBER("after_us", "Now (us)"))),
    ROWS("Operators whose tensors lie otherwise in memory", .path = "comparison.layouts",
         .remark = ", for each step where both sides have steps",
         COLUMNS(NAME("name", "Operator"), NAME("dims", "Shapes"), NAME("before", "Before"), NAME("after", "Now"),
                 NUMBER("before_us", "Before (us)"), NUMBER("after_us", "Now (us)"))),
    ROWS("Where the step changed", .path = "comparison.split.parts",
         .remark = ", means of the steady steps; a change from p = 0.01 down and from 2 % of the step on",
         COLUMNS(NAME("part", "Part of the step"), NUMBER("before_us", "Before (us)"), NUMBER("after_us", "Now (us)"),
                 NUMBER("delta_us", "Difference (us)"), NUMBER("step_share_ratio", "Of the step"), NUMBER("p_value", "p"),
                 PROSE("change", "Change"))),
    ROWS("Operators that changed on the device", .path = "comparison.device_operators.rows", .remark = ROW_REMARK,
         COLUMNS(ROW_COLUMNS("Operator"))),
    ROWS("Operators that changed on the host", .path = "comparison.host_operators.rows", .remark = ROW_REMARK,
         COLUMNS(ROW_COLUMNS("Operator"))),
    ROWS("Kernels that changed", .path = "comparison.kernels.rows", .remark = ROW_REMARK, COLUMNS(ROW_COLUMNS("Kernel"))),
    ROWS("Collectives that changed", .path = "comparison.collectives.rows", .remark = ROW_REMARK,
         COLUMNS(ROW_COLUMNS("Operation"))),
    ROWS("Collectives that run beside less or more", .path = "comparison.bare_collectives.rows",
         .remark = ", time in which no other kernel ran" ROW_REMARK, COLUMNS(ROW_COLUMNS("Operation"))),
    CALL(write_single_figures),
    ROWS("Who holds more or less memory", .path = "comparison.memory_owners.rows",
         .remark = ", requested bytes in use at the peak; a dash: below the end of that side's list",
         COLUMNS(NAME("name", "Allocated by"), NUMBER("before_bytes", "Before (B)"), NUMBER("after_bytes", "Now (B)"),
                 NUMBER("delta_bytes", "Difference (B)"), NUMBER("before_count", "Allocations before"),
                 NUMBER("after_count", "Now"), PROSE("change", "Change"))),
};

void ap_section_comparison(struct doc *doc)
{
    static const struct doc_section section = { .title = "Compared with the baseline", .parts = COUNTED(parts) };
    if (ap_value_first(ap_doc_at(doc, "comparison")))
        ap_doc_section(doc, &section);
}
