/* SPDX-License-Identifier: MIT
 * section_steps.c - the baseline: the steps, which of them count, and how far that can be trusted. */
#include "sections.h"

#include "poison.h"

static void write_notes(struct doc *doc)
{
    const struct ap_value *note = ap_value_first(ap_doc_at(doc, "steps.quality.notes"));
    if (!note)
        return;
    ap_doc_begin(doc, DOC_LIST);
    for (; note; note = note->next)
        ap_doc_prose_item(doc, ap_value_text(note));
    ap_doc_end(doc, DOC_LIST);
}

#define TIMES(of)                                                                                                     \
    FIGURE(of ".count"), FIGURE(of ".total_us"), FIGURE(of ".mean_us"), FIGURE(of ".std_us"), FIGURE(of ".cv_ratio"), \
        FIGURE(of ".min_us"), FIGURE(of ".p50_us"), FIGURE(of ".p90_us"), FIGURE(of ".p95_us"), FIGURE(of ".p99_us"), \
        FIGURE(of ".max_us")

static const struct doc_figure all[] = {
    TIMES("steps"),
    FIGURE("steps.cold_start_ratio"),
    FIGURE("steps.first_excess_us"),
};

static const struct doc_figure steady[] = { TIMES("steps.steady") };

/* Percentiles that are not given are named in the note behind the table. */
static void write_known(struct doc *doc, const char *title, const struct doc_figure *figures, size_t count)
{
    struct doc_figure known[16];
    size_t known_count = 0;
    for (size_t i = 0; i < count && known_count < AP_COUNT_OF(known); i++)
        if (ap_doc_known(doc, figures[i].path))
            known[known_count++] = figures[i];
    (void)ap_doc_figures(doc, title, known, known_count, false);
}

static void write_all(struct doc *doc)
{
    write_known(doc, "All recorded steps", COUNTED(all));
    if (ap_doc_known(doc, "steps.percentile_note"))
        ap_doc_paragraph(doc, NULL, "Percentiles that are not given: {p steps.percentile_note}.");
}

static void write_steady(struct doc *doc)
{
    const struct ap_value *count = ap_doc_at(doc, "steps.steady.count");
    if (!ap_doc_known(doc, "steps.steady")) {
        ap_doc_paragraph(doc, NULL, "No step is steady: all are cold or cut.");
    } else if (ap_value_integer(count, 0) == ap_value_integer(ap_doc_at(doc, "steps.count"), 0)) {
        ap_doc_paragraph(doc, NULL, "No step is cold or cut: `steps.steady` has the same figures.");
    } else {
        write_known(doc, "Steady steps (neither cold nor cut)", COUNTED(steady));
        if (ap_doc_known(doc, "steps.steady.percentile_note"))
            ap_doc_paragraph(doc, NULL, "Percentiles that are not given: {p steps.steady.percentile_note}.");
    }
}

static const struct doc_figure warmup_figures[] = {
    FIGURE("steps.warmup.cold_count"),
    FIGURE("steps.warmup.excess_us"),
};

static const struct doc_part warmup[] = {
    FIGURES("Warm-up", warmup_figures),
    ROWS("What the warm-up is made of", .path = "steps.warmup.parts",
         COLUMNS(PROSE("kind", "Spent on"), NUMBER("dur_us", "Time (us)"))),
};

static void write_warmup(struct doc *doc)
{
    if (ap_value_first(ap_doc_at(doc, "steps.warmup.parts")))
        (void)ap_doc_parts(doc, COUNTED(warmup));
}

static const struct doc_part parts[] = {
    SAYS("Taken from {n steps.source}."),
    CALL(write_notes),
    CALL(write_all),
    CALL(write_steady),
    CALL(write_warmup),
    ROWS("Each step", .path = "steps.rows", .remark = ", in order of time", .limit = 100,
         COLUMNS(NAME("name", "Step"), NUMBER("start_us", "Start (us)"), NUMBER("dur_us", "Duration (us)"), ID("pid", "pid"),
                 ID("tid", "tid"), NUMBER("cold", "Cold"), NUMBER("cut", "Cut"))),
};

const struct doc_section ap_section_steps = {
    .title = "Steps",
    .if_any = { "cpu" },
    .needs = "steps",
    .otherwise = "No steps of a loop were recorded.",
    .parts = COUNTED(parts),
};
