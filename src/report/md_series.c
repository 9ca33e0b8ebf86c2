/* SPDX-License-Identifier: MIT
 * md_series.c - throughput, latency and memory against the batch size, and what would still fit. */
#include "md.h"

#include "poison.h"

static void write_value(struct md *md, const char *before, const char *path, enum md_form form, const char *behind)
{
    ap_md_string(md, before);
    ap_md_value(md, ap_md_at(md, path), ap_text_of(path), form);
    ap_md_string(md, behind);
}

static void write_rounded(struct md *md, const char *before, const char *path, const char *behind)
{
    ap_md_string(md, before);
    ap_md_rounded(md, ap_md_at(md, path));
    ap_md_string(md, behind);
}

static void write_knee(struct md *md)
{
    const struct ap_value *is_largest = ap_md_at(md, "series.knee.is_largest");
    if (!ap_md_known(md, "series.knee.batch"))
        return;
    if (is_largest && ap_value_integer(is_largest, 0)) {
        write_value(md, "\n**No knee was found: the largest batch, ", "series.knee.batch", MD_FIGURE, ",");
        write_value(md, " has the best throughput measured (", "series.knee.samples_per_s", MD_FIGURE, ").**\n");
        return;
    }
    write_value(md, "\n**The knee is at a batch of ", "series.knee.batch", MD_FIGURE, "");
    write_value(md, ", the smallest that comes near the best throughput measured: it has ", "series.knee.share_of_best_ratio", MD_FIGURE,
                " of it");
    write_value(md, " (", "series.knee.samples_per_s", MD_FIGURE, ").**\n");
}

static void write_lines(struct md *md)
{
    ap_out_char(&md->out, '\n');
    if (ap_md_known(md, "series.latency.fixed_us")) {
        write_rounded(md, "- Time of a batch: about ", "series.latency.fixed_us", "");
        write_rounded(md, " and ", "series.latency.per_sample_us", " for each sample");
        if (ap_md_known(md, "series.latency.limit_samples_per_s"))
            write_value(md, ", so never more than ", "series.latency.limit_samples_per_s", MD_FIGURE, "");
        ap_out_char(&md->out, '\n');
    }
    if (!ap_md_known(md, "series.memory.fixed_bytes"))
        return;
    write_rounded(md, "- Memory: about ", "series.memory.fixed_bytes", "");
    write_rounded(md, " and ", "series.memory.per_sample_bytes", " for each sample");
    if (ap_md_known(md, "series.memory.largest_batch")) {
        write_rounded(md, ", so of the ", "series.memory.capacity_bytes", " of the device");
        write_value(md, " a batch of ", "series.memory.largest_batch", MD_FIGURE, " would still fit");
    }
    ap_out_char(&md->out, '\n');
}

static bool sizes_differ(const struct md *md)
{
    const struct ap_value *first = ap_value_first(ap_md_at(md, "series.points"));
    for (const struct ap_value *point = first; point; point = point->next)
        if (ap_value_integer(ap_value_member(point, "batch"), 0) != ap_value_integer(ap_value_member(first, "batch"), 0))
            return true;
    return false;
}

void ap_md_series(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("batch", "Batch", MD_FIGURE),
        MD_COLUMN("path", "Trace", MD_NAME),
        MD_COLUMN("step_us", "Time of a batch (us)", MD_FIGURE),
        MD_COLUMN("samples_per_s", "Samples", MD_FIGURE),
        MD_COLUMN("per_sample_us", "Time of a sample (us)", MD_FIGURE),
        MD_COLUMN("share_of_best_ratio", "Of the best", MD_FIGURE),
        MD_COLUMN("peak_bytes", "Peak memory (B)", MD_FIGURE),
        MD_COLUMN("per_sample_bytes", "Of a sample (B)", MD_FIGURE),
    };
    static const struct md_table table = { .path = "series.points", .remark = ", medians of the steady steps", MD_COLUMNS(columns) };
    if (!ap_value_first(ap_md_at(md, "series")))
        return;
    ap_md_string(md, "\n## Batch sizes\n");
    write_knee(md);
    write_lines(md);
    const struct ap_value *note = ap_value_first(ap_md_at(md, "series.notes"));
    for (; note; note = note->next) {
        ap_md_string(md, "- ");
        ap_md_prose(md, ap_value_text(note));
        ap_out_char(&md->out, '\n');
    }
    ap_md_table(md, "Runs", &table);
    ap_md_string(md, sizes_differ(md) ? "\nThe rest of this report is about the run with the largest batch.\n"
                                      : "\nThe rest of this report is about one of them.\n");
}
