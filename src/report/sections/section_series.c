/* SPDX-License-Identifier: MIT
 * section_series.c - throughput, latency and memory against the batch size, and what would still fit. */
#include "sections.h"

#include "poison.h"

static void write_knee(struct doc *doc)
{
    if (ap_doc_known(doc, "series.knee.batch"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "series.knee"),
                         ap_doc_true(doc, "series.knee.is_largest")
                             ? "**No knee was found: the largest batch, {f batch}, has the best throughput measured "
                               "({f samples_per_s}).**"
                             : "**The knee is at a batch of {f batch}, the smallest that comes near the best throughput "
                               "measured: it has {f share_of_best_ratio} of it ({f samples_per_s}).**");
}

static void write_lines(struct doc *doc)
{
    ap_doc_begin(doc, DOC_LIST);
    if (ap_doc_known(doc, "series.latency.fixed_us"))
        ap_doc_item(doc, ap_doc_at(doc, "series.latency"),
                    "Time of a batch: about {r fixed_us} and {r per_sample_us} for each sample"
                    "[, so never more than {f limit_samples_per_s}]");
    if (ap_doc_known(doc, "series.memory.fixed_bytes"))
        ap_doc_item(doc, ap_doc_at(doc, "series.memory"),
                    ap_doc_known(doc, "series.memory.largest_batch")
                        ? "Memory: about {r fixed_bytes} and {r per_sample_bytes} for each sample, so of the "
                          "{r capacity_bytes} of the device a batch of {f largest_batch} would still fit"
                        : "Memory: about {r fixed_bytes} and {r per_sample_bytes} for each sample");
    for (const struct ap_value *note = ap_value_first(ap_doc_at(doc, "series.notes")); note; note = note->next)
        ap_doc_prose_item(doc, ap_value_text(note));
    ap_doc_end(doc, DOC_LIST);
}

static bool sizes_differ(const struct doc *doc)
{
    const struct ap_value *first = ap_value_first(ap_doc_at(doc, "series.points"));
    for (const struct ap_value *point = first; point; point = point->next)
        if (ap_integer_member(point, "batch", 0) != ap_integer_member(first, "batch", 0))
            return true;
    return false;
}

static void write_rest(struct doc *doc)
{
    ap_doc_paragraph(doc, NULL,
                     sizes_differ(doc) ? "The rest of this report is about the run with the largest batch."
                                       : "The rest of this report is about one of them.");
}

static const struct doc_part parts[] = {
    CALL(write_knee),
    CALL(write_lines),
    ROWS("Runs", .path = "series.points", .remark = ", medians of the steady steps",
         COLUMNS(NUMBER("batch", "Batch"), NAME("path", "Trace"), NUMBER("step_us", "Time of a batch (us)"),
                 NUMBER("samples_per_s", "Samples"), NUMBER("per_sample_us", "Time of a sample (us)"),
                 NUMBER("share_of_best_ratio", "Of the best"), NUMBER("peak_bytes", "Peak memory (B)"),
                 NUMBER("per_sample_bytes", "Of a sample (B)"))),
    CALL(write_rest),
};

void ap_section_series(struct doc *doc)
{
    static const struct doc_section section = { .title = "Batch sizes", .parts = COUNTED(parts) };
    if (ap_value_first(ap_doc_at(doc, "series")))
        ap_doc_section(doc, &section);
}
