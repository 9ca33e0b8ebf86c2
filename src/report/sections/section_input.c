/* SPDX-License-Identifier: MIT
 * section_input.c - what the input holds, and what was odd in it. */
#include "sections.h"

#include "poison.h"

/* ---- the files ---- */

static void write_names(struct doc *doc, const struct ap_value *first, bool wanted)
{
    bool any = false;
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_say(doc, wanted ? "Recorded: " : "Not recorded: ");
    for (const struct ap_value *part = first; part; part = part->next) {
        if (part->type != AP_VALUE_BOOL || (part->as.integer != 0) != wanted)
            continue;
        ap_doc_say(doc, any ? ", " : "");
        ap_doc_text(doc, DOC_NAME, part->key);
        any = true;
    }
    ap_doc_say(doc, any ? "." : "nothing.");
    ap_doc_end(doc, DOC_ITEM);
}

static void write_recorded(struct doc *doc)
{
    static const char *const of[][2] = { { "trace.recorded", "In the trace" }, { "memory.recorded", "In the snapshot" } };
    for (size_t i = 0; i < AP_COUNT_OF(of); i++) {
        const struct ap_value *first = ap_value_first(ap_doc_at(doc, of[i][0]));
        if (!first)
            continue;
        ap_doc_heading(doc, of[i][1]);
        ap_doc_begin(doc, DOC_LIST);
        write_names(doc, first, true);
        write_names(doc, first, false);
        ap_doc_end(doc, DOC_LIST);
    }
}

static const struct doc_figure figures[] = {
    FIGURE("trace.events.total"), FIGURE("trace.events.duration"), FIGURE("trace.unknown_category_events"),
    FIGURE("trace.bytes_read"),   FIGURE("memory.bytes_read"),
};

static const struct doc_part input_parts[] = {
    FIGURES(NULL, figures),
    ROWS("Event categories", .path = "trace.categories", .limit = 100,
         COLUMNS(NAME("category", "Category"), NAME("kind", "Taken as"), NUMBER("events", "Events"),
                 NUMBER("total_dur_us", "Sum of durations (us)"))),
    ROWS("Event phases", .path = "trace.events.by_phase", .limit = 50, COLUMNS(NAME("*", "ph"), NUMBER(NULL, "Events"))),
    ROWS("GPU devices", .path = "trace.devices", .limit = 100,
         COLUMNS(ID("id", "Device"), NAME("name", "Name"), NUMBER("memory_bytes", "Memory (B)"),
                 NUMBER("sm_count", "Multiprocessors"), NUMBER("compute_capability", "Compute capability"))),
    CALL(write_recorded),
};

const struct doc_section ap_section_input = { .title = "What the input holds",
                                              .if_any = { "trace", "memory" },
                                              .parts = COUNTED(input_parts) };

/* ---- what was odd ---- */

static const struct doc_part warning_table[] = {
    ROWS(NULL, .path = "warnings", .remark = ": everything odd that reading survived",
         COLUMNS(NAME("code", "Code"), NAME("severity", "Severity"), NUMBER("count", "Count"),
                 NUMBER("first_byte_offset", "First at byte"), NAME("input", "Input"), PROSE("message", "Meaning"))),
};

static void write_warnings(struct doc *doc)
{
    if (!ap_doc_parts(doc, COUNTED(warning_table)))
        ap_doc_paragraph(doc, NULL, "Nothing odd was met in what the input holds.");
    if (ap_text_is(ap_doc_text_at(doc, "generator.sandbox"), "none"))
        ap_doc_paragraph(doc, NULL, "Read without a sandbox.");
    else if (ap_doc_known(doc, "generator.sandbox"))
        ap_doc_paragraph(doc, NULL, "Read in a sandbox of {p generator.sandbox}.");
}

static const struct doc_part warning_parts[] = { CALL(write_warnings) };

const struct doc_section ap_section_warnings = { .title = "Data quality", .parts = COUNTED(warning_parts) };

static void write_alert(struct doc *doc, const struct ap_value *of, const char *template)
{
    ap_doc_begin(doc, DOC_ALERT);
    ap_doc_tell(doc, of, template);
    ap_doc_end(doc, DOC_ALERT);
}

void ap_part_alerts(struct doc *doc)
{
    size_t loss = 0;
    bool cut_told = false;
    const struct ap_value *warning = ap_value_first(ap_doc_at(doc, "warnings"));
    for (; warning; warning = warning->next) {
        if (ap_warning_is_alert(warning)) {
            write_alert(doc, warning, "**WARNING:** {w input}: {p message}.");
            cut_told = true;
        } else {
            loss += ap_text_is(ap_text_member(warning, "severity"), "loss");
        }
    }
    if (!cut_told && ap_doc_false(doc, "trace.complete"))
        write_alert(doc, NULL, "**WARNING:** the trace ends before it is complete. All totals are lower bounds.");
    if (!cut_told && ap_doc_false(doc, "memory.complete"))
        write_alert(doc, NULL, "**WARNING:** the memory snapshot is not complete. All totals are lower bounds.");
    if (!loss)
        return;
    ap_doc_begin(doc, DOC_ALERT);
    ap_doc_say(doc, "Some records of the input could not be used: see [Data quality](#data-quality).");
    ap_doc_end(doc, DOC_ALERT);
}
