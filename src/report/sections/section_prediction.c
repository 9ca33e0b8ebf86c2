/* SPDX-License-Identifier: MIT
 * section_prediction.c - what changes would gain, by a replay of the recording with them. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    FIGURE("prediction.replay.window_share_ratio"), FIGURE("prediction.replay.pieces"),
    FIGURE("prediction.replay.window_error_ratio"), FIGURE("prediction.replay.step_error_ratio"),
    FIGURE("prediction.replay.unexplained_us"),
};

/* Its row would be empty without a word. */
static void write_unmatched(struct doc *doc)
{
    const struct ap_value *row = ap_value_first(ap_doc_at(doc, "prediction.what_if"));
    for (; row && !ap_doc_known(doc, "prediction.replay.why_not"); row = row->next) {
        const struct ap_value *prediction = ap_value_member(row, "prediction");
        if (!prediction || prediction->type == AP_VALUE_NULL)
            ap_doc_paragraph(doc, row,
                             ap_text_starts_with(ap_text_member(row, "change"), "batch ")
                                 ? "{n change} takes recordings with several batch sizes."
                                 : "No row of the recording fits {n change}.");
    }
}

static void write_together(struct doc *doc)
{
    if (ap_doc_known(doc, "prediction.what_if_together"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "prediction.what_if_together"),
                         "All that was asked for together: {r before_us} to {r after_us} "
                         "({r after_low_us} to {r after_high_us}).");
    if (ap_doc_known(doc, "prediction.findings_together"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "prediction.findings_together"),
                         "The first findings together, three at most: {r before_us} to {r after_us} "
                         "({r after_low_us} to {r after_high_us}). Savings do not add up.");
}

static void write_limits(struct doc *doc)
{
    ap_doc_paragraph(doc, NULL, "A replay does not say:");
    ap_doc_begin(doc, DOC_LIST);
    for (const struct ap_value *line = ap_value_first(ap_doc_at(doc, "prediction.not_said")); line; line = line->next)
        ap_doc_prose_item(doc, ap_value_text(line));
    ap_doc_end(doc, DOC_LIST);
}

#define PREDICTED                                                                                      \
    NUMBER("prediction.before_us", "Now (us)"), NUMBER("prediction.after_us", "Then (us)"),            \
        NUMBER("prediction.after_low_us", "From (us)"), NUMBER("prediction.after_high_us", "To (us)"), \
        NUMBER("prediction.gain_ratio", "Gain")

static const struct doc_part parts[] = {
    { .only_if = "prediction.replay.why_not", .says = "Nothing is predicted: {p prediction.replay.why_not}." },
    SAYS("The recorded window as a graph of work and of what it waits for, replayed with one thing changed. A step lasts "
         "until all is done that it launched; without steps, or where they leave time out, the window takes its place."),
    FIGURES(NULL, figures),
    CALL(write_limits),
    ROWS("What was asked for", .path = "prediction.what_if", COLUMNS(NAME("change", "Change"), PREDICTED)),
    CALL(write_unmatched),
    ROWS("Findings with their cause taken away", .path = "prediction.findings", .remark = ", largest gain first",
         COLUMNS(NAME("rule_id", "Finding"), NAME("change", "Change"), PREDICTED)),
    CALL(write_together),
};

/* Where there is nothing to tell of, the replay alone interests nobody. */
void ap_section_prediction(struct doc *doc)
{
    static const struct doc_section section = { .title = "What changes would gain", .parts = COUNTED(parts) };
    if (ap_value_first(ap_doc_at(doc, "prediction.findings")) || ap_value_first(ap_doc_at(doc, "prediction.what_if")))
        ap_doc_section(doc, &section);
}
