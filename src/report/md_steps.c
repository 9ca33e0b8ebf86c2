/* SPDX-License-Identifier: MIT
 * md_steps.c - the baseline: the steps, which of them count, and how far that can be trusted. */
#include "md.h"

#include "poison.h"

static int64_t count_of(const struct md *md, const char *path)
{
    return ap_value_integer(ap_md_at(md, path), 0);
}

static void write_percentile_note(struct md *md, const char *path)
{
    if (!ap_md_known(md, path))
        return;
    ap_md_string(md, "\nPercentiles that are not given: ");
    ap_md_prose(md, ap_value_text(ap_md_at(md, path)));
    ap_md_string(md, ".\n");
}

/* Those that are not given are named in the note behind the table. */
static void write_known(struct md *md, const char *title, const struct md_figure *figures, size_t count)
{
    struct md_figure known[16];
    size_t known_count = 0;
    for (size_t i = 0; i < count && known_count < AP_COUNT_OF(known); i++)
        if (ap_md_known(md, figures[i].path))
            known[known_count++] = figures[i];
    ap_md_figures(md, title, known, known_count);
}

static void write_steps(struct md *md)
{
    static const struct md_figure figures[] = {
        { "steps.count", "Steps" },
        { "steps.total_us", "Sum" },
        { "steps.mean_us", "Mean" },
        { "steps.std_us", "Standard deviation" },
        { "steps.cv_ratio", "Standard deviation over mean" },
        { "steps.min_us", "Min" },
        { "steps.p50_us", "p50" },
        { "steps.p90_us", "p90" },
        { "steps.p95_us", "p95" },
        { "steps.p99_us", "p99" },
        { "steps.max_us", "Max" },
        { "steps.cold_start_ratio", "First step over the median of the others" },
        { "steps.first_excess_us", "First step less that median" },
    };
    write_known(md, "All recorded steps", figures, AP_COUNT_OF(figures));
    write_percentile_note(md, "steps.percentile_note");
}

static void write_steady(struct md *md)
{
    static const struct md_figure figures[] = {
        { "steps.steady.count", "Steps" },
        { "steps.steady.total_us", "Sum" },
        { "steps.steady.mean_us", "Mean" },
        { "steps.steady.std_us", "Standard deviation" },
        { "steps.steady.cv_ratio", "Standard deviation over mean" },
        { "steps.steady.min_us", "Min" },
        { "steps.steady.p50_us", "p50" },
        { "steps.steady.p90_us", "p90" },
        { "steps.steady.p95_us", "p95" },
        { "steps.steady.p99_us", "p99" },
        { "steps.steady.max_us", "Max" },
    };
    if (!ap_md_known(md, "steps.steady")) {
        ap_md_string(md, "\nNo step is steady: all are cold or cut.\n");
        return;
    }
    if (count_of(md, "steps.steady.count") == count_of(md, "steps.count")) {
        ap_md_string(md, "\nAll of them are steady, neither cold nor cut: `steps.steady` has the same figures.\n");
        return;
    }
    write_known(md, "Steady steps (neither cold nor cut)", figures, AP_COUNT_OF(figures));
    write_percentile_note(md, "steps.steady.percentile_note");
}

static void write_warmup(struct md *md)
{
    static const struct md_figure figures[] = {
        { "steps.warmup.cold_count", "Cold steps at the start" },
        { "steps.warmup.excess_us", "Their time beyond the median steady step" },
    };
    static const struct md_column columns[] = {
        MD_COLUMN("kind", "Spent on", MD_PROSE),
        MD_COLUMN("dur_us", "Time (us)", MD_FIGURE),
    };
    static const struct md_table parts = { .path = "steps.warmup.parts", MD_COLUMNS(columns) };
    if (!ap_value_first(ap_md_at(md, "steps.warmup.parts")))
        return;
    ap_md_figures(md, "Warm-up", figures, AP_COUNT_OF(figures));
    ap_md_table(md, "What the warm-up is made of", &parts);
}

static void write_notes(struct md *md)
{
    const struct ap_value *note = ap_value_first(ap_md_at(md, "steps.quality.notes"));
    if (note)
        ap_md_string(md, "\n");
    for (; note; note = note->next) {
        ap_md_string(md, "- ");
        ap_md_prose(md, ap_value_text(note));
        ap_md_string(md, "\n");
    }
}

void ap_md_steps(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("name", "Step", MD_NAME),
        MD_COLUMN("start_us", "Start (us)", MD_FIGURE),
        MD_COLUMN("dur_us", "Duration (us)", MD_FIGURE),
        MD_COLUMN("pid", "pid", MD_ID),
        MD_COLUMN("tid", "tid", MD_ID),
        MD_COLUMN("cold", "Cold", MD_FIGURE),
        MD_COLUMN("cut", "Cut", MD_FIGURE),
    };
    static const struct md_table rows = {
        .path = "steps.rows",
        .remark = ", in order of time",
        .limit = 100,
        MD_COLUMNS(columns),
    };
    if (!ap_md_known(md, "cpu"))
        return;
    ap_md_string(md, "\n## Steps\n");
    if (!ap_md_known(md, "steps")) {
        ap_md_string(md, "\nNo steps were recorded.\n");
        return;
    }
    ap_md_string(md, "\nTaken from ");
    ap_md_name(md, ap_value_text(ap_md_at(md, "steps.source")));
    ap_md_string(md, ".\n");
    write_notes(md);
    write_steps(md);
    write_steady(md);
    write_warmup(md);
    ap_md_table(md, "Each step", &rows);
}
