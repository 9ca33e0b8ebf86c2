/* SPDX-License-Identifier: MIT
 * md_comparison.c - what changed since the baseline, and what is no more than noise. */
#include "md.h"

#include "poison.h"

static struct ap_text text_at(const struct md *md, const char *path)
{
    return ap_value_text(ap_md_at(md, path));
}

static void write_pair(struct md *md, const char *label, const char *before, const char *after)
{
    if (!ap_md_known(md, before) || !ap_md_known(md, after) || ap_text_equal(text_at(md, before), text_at(md, after)))
        return;
    ap_md_string(md, label);
    ap_md_name(md, text_at(md, before));
    ap_md_string(md, " before, ");
    ap_md_name(md, text_at(md, after));
    ap_md_string(md, " now\n");
}

static void write_labels(struct md *md)
{
    const struct ap_value *label = ap_value_first(ap_md_at(md, "comparison.baseline.context"));
    for (; label; label = label->next) {
        ap_md_string(md, ", ");
        ap_md_name(md, label->key);
        ap_out_char(&md->out, ' ');
        ap_md_whole_name(md, ap_value_text(label));
    }
}

static void write_counts(struct md *md)
{
    static const char *const paths[] = { "comparison.verdict.new_count", "comparison.verdict.worse_count",
                                         "comparison.verdict.better_count", "comparison.verdict.gone_count",
                                         "comparison.findings.same_count" };
    static const char *const words[] = { " new, ", " worse, ", " better, ", " gone, ", " as before\n" };
    ap_md_string(md, "- Findings: ");
    for (size_t i = 0; i < AP_COUNT_OF(paths); i++) {
        ap_md_integer(md, ap_value_integer(ap_md_at(md, paths[i]), 0));
        ap_md_string(md, words[i]);
    }
    int64_t changed = ap_value_integer(ap_md_at(md, "comparison.verdict.changed_count"), 0);
    if (!changed)
        return;
    ap_md_string(md, "- Findings that are neither worse nor better: ");
    ap_md_integer(md, changed);
    ap_md_string(md, "; how long the device waits moved with what kernels take, and steps did not follow\n");
}

static void write_noise(struct md *md)
{
    ap_md_string(md, "- Noise: what no test decides counts as a change from ");
    ap_md_value(md, ap_md_at(md, "comparison.noise.ratio"), AP_TEXT("ratio"), MD_FIGURE);
    ap_md_string(md, " on (");
    ap_md_prose(md, text_at(md, "comparison.noise.of"));
    ap_md_string(md, "), and from 1 % of the step\n");
}

static void write_head(struct md *md)
{
    ap_md_string(md, "\n**");
    ap_md_prose(md, text_at(md, "comparison.verdict.sentence"));
    ap_md_string(md, ".**\n\n- Baseline: ");
    ap_md_whole_name(md, text_at(md, "comparison.baseline.path"));
    ap_md_string(md, ", a ");
    ap_md_prose(md, text_at(md, "comparison.baseline.kind"));
    write_labels(md);
    ap_out_char(&md->out, '\n');
    write_pair(md, "- What bounds the run: ", "comparison.verdict.before_bound", "comparison.verdict.after_bound");
    write_counts(md);
    if (ap_value_first(ap_md_at(md, "trace")))
        write_noise(md);
    if (ap_md_known(md, "comparison.steps.note")) {
        ap_md_string(md, "- Steps: ");
        ap_md_prose(md, text_at(md, "comparison.steps.note"));
        ap_out_char(&md->out, '\n');
    }
    const struct ap_value *note = ap_value_first(ap_md_at(md, "comparison.notes"));
    for (; note; note = note->next) {
        ap_md_string(md, "- Not alike: ");
        ap_md_prose(md, ap_value_text(note));
        ap_out_char(&md->out, '\n');
    }
}

static void write_findings(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("change", "Change", MD_PROSE),
        MD_COLUMN("title", "Finding", MD_PROSE),
        MD_COLUMN("before_severity", "Before", MD_PROSE),
        MD_COLUMN("after_severity", "Now", MD_PROSE),
        MD_COLUMN("before_saves_us", "Saved at most before (us)", MD_FIGURE),
        MD_COLUMN("after_saves_us", "Now (us)", MD_FIGURE),
        MD_COLUMN("before_saves_bytes", "Saved at most before (B)", MD_FIGURE),
        MD_COLUMN("after_saves_bytes", "Now (B)", MD_FIGURE),
    };
    static const struct md_table table = {
        .path = "comparison.findings.rows",
        .remark = ", times for each step where both sides have steps",
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "Findings that changed", &table);
}

static void write_steps(struct md *md)
{
    static const struct md_figure figures[] = {
        { "comparison.steps.before_p50_us", "Median steady step before" },
        { "comparison.steps.after_p50_us", "Median steady step now" },
        { "comparison.steps.delta_us", "Difference" },
        { "comparison.steps.shift_us", "Shift (median of all differences)" },
    };
    static const struct md_column columns[] = {
        MD_COLUMN("part", "Part of the step", MD_NAME),
        MD_COLUMN("before_us", "Before (us)", MD_FIGURE),
        MD_COLUMN("after_us", "Now (us)", MD_FIGURE),
        MD_COLUMN("delta_us", "Difference (us)", MD_FIGURE),
        MD_COLUMN("step_share_ratio", "Of the step", MD_FIGURE),
        MD_COLUMN("p_value", "p", MD_FIGURE),
        MD_COLUMN("change", "Change", MD_PROSE),
    };
    static const struct md_table parts = {
        .path = "comparison.split.parts",
        .remark = ", means of the steady steps; a change from p = 0.01 down and from 2 % of the step on",
        MD_COLUMNS(columns),
    };
    if (ap_value_first(ap_md_at(md, "comparison.steps")))
        ap_md_figures(md, "Steps", figures, AP_COUNT_OF(figures));
    ap_md_table(md, "Where the step changed", &parts);
}

#define ROW_COLUMNS(title)                                                                                                   \
    MD_COLUMN("name", title, MD_NAME), MD_COLUMN("before_us", "Before (us)", MD_FIGURE),                                     \
        MD_COLUMN("after_us", "Now (us)", MD_FIGURE), MD_COLUMN("delta_us", "Difference (us)", MD_FIGURE),                   \
        MD_COLUMN("before_count", "Calls before", MD_FIGURE), MD_COLUMN("after_count", "Now", MD_FIGURE),                    \
        MD_COLUMN("change", "Change", MD_PROSE)

/* A dash where a name is not in a list that is cut. */
static void write_rows(struct md *md)
{
    static const char remark[] = ", for each step where both sides have steps; a dash: below the end of that side's list, so "
                                 "the difference is at least that";
    static const struct md_column operators[] = { ROW_COLUMNS("Operator") };
    static const struct md_column kernels[] = { ROW_COLUMNS("Kernel") };
    static const struct {
        const char *title;
        struct md_table table;
    } tables[] = {
        { "Operators that changed on the device", { .path = "comparison.device_operators.rows", .remark = remark, MD_COLUMNS(operators) } },
        { "Operators that changed on the host", { .path = "comparison.host_operators.rows", .remark = remark, MD_COLUMNS(operators) } },
        { "Kernels that changed", { .path = "comparison.kernels.rows", .remark = remark, MD_COLUMNS(kernels) } },
    };
    for (size_t i = 0; i < AP_COUNT_OF(tables); i++)
        ap_md_table(md, tables[i].title, &tables[i].table);
}

static void write_owners(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("name", "Allocated by", MD_NAME),
        MD_COLUMN("before_bytes", "Before (B)", MD_FIGURE),
        MD_COLUMN("after_bytes", "Now (B)", MD_FIGURE),
        MD_COLUMN("delta_bytes", "Difference (B)", MD_FIGURE),
        MD_COLUMN("before_count", "Allocations before", MD_FIGURE),
        MD_COLUMN("after_count", "Now", MD_FIGURE),
        MD_COLUMN("change", "Change", MD_PROSE),
    };
    static const struct md_table table = {
        .path = "comparison.memory_owners.rows",
        .remark = ", requested bytes in use at the peak; a dash: below the end of that side's list",
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "Who holds more or less memory", &table);
}

static void write_value(struct md *md, const struct ap_value *row, const char *key)
{
    ap_md_string(md, " | ");
    ap_md_value(md, ap_value_member(row, key), ap_value_text(ap_value_member(row, "metric")), MD_FULL);
}

/* Each row has a unit of its own. */
static void write_figures(struct md *md, const char *title, const char *path)
{
    const struct ap_value *row = ap_value_first(ap_md_at(md, path));
    if (!row)
        return;
    ap_md_string(md, "\n### ");
    ap_md_string(md, title);
    ap_md_string(md, "\n\nRows of `");
    ap_md_string(md, path);
    ap_md_string(md, "`, lists folded by maximum.\n\n| Figure | Before | Now | Difference | Change | Compared metric |\n| :--- | ---: | ---: | ---: | :--- | :--- |\n");
    for (; row; row = row->next) {
        ap_md_string(md, "| ");
        ap_md_prose(md, ap_value_text(ap_value_member(row, "title")));
        write_value(md, row, "before");
        write_value(md, row, "after");
        write_value(md, row, "delta");
        ap_md_string(md, " | ");
        ap_md_prose(md, ap_value_text(ap_value_member(row, "change")));
        ap_md_string(md, " | ");
        ap_md_name(md, ap_value_text(ap_value_member(row, "metric")));
        ap_md_string(md, " |\n");
    }
}

void ap_md_comparison(struct md *md)
{
    if (!ap_value_first(ap_md_at(md, "comparison")))
        return;
    ap_md_string(md, "\n## Compared with the baseline\n");
    write_head(md);
    write_findings(md);
    write_steps(md);
    write_rows(md);
    write_figures(md, "Single figures", "comparison.figures");
    write_figures(md, "Memory figures", "comparison.memory");
    write_owners(md);
}
