/* SPDX-License-Identifier: MIT
 * The Markdown report from top to bottom: what matters first, how to read it last. */
#include "finding_level.h"
#include "md_document.h"
#include "report.h"
#include "sections.h"

#include "poison.h"

static void write_input(struct doc *doc, const char *label, const char *path, const char *format, const char *complete)
{
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_say(doc, label);
    if (!ap_doc_known(doc, path)) {
        ap_doc_say(doc, ": not given");
    } else {
        ap_doc_say(doc, ": ");
        ap_doc_text(doc, DOC_WHOLE_NAME, ap_doc_text_at(doc, path));
        if (ap_doc_known(doc, format)) {
            ap_doc_say(doc, ", ");
            ap_doc_text(doc, DOC_NAME, ap_doc_text_at(doc, format));
        }
        ap_doc_say(doc, ap_doc_false(doc, complete) ? ", **incomplete**" : "");
    }
    ap_doc_end(doc, DOC_ITEM);
}

/* What the user said the report is about, and labels. */
static void write_topic(struct doc *doc)
{
    if (ap_doc_known(doc, "focus"))
        ap_doc_item(doc, NULL, "Focus: {n focus}");
    if (ap_doc_known(doc, "phase"))
        ap_doc_item(doc, NULL, "Phase: {n phase}");
    for (const struct ap_value *label = ap_value_first(ap_doc_at(doc, "context")); label; label = label->next) {
        ap_doc_begin(doc, DOC_ITEM);
        ap_doc_text(doc, DOC_NAME, label->key);
        ap_doc_say(doc, ": ");
        ap_doc_text(doc, DOC_WHOLE_NAME, ap_value_text(label));
        ap_doc_end(doc, DOC_ITEM);
    }
}

static void write_generator(struct doc *doc)
{
    ap_doc_item(doc, NULL, "Written by {n generator.name} {n generator.version}, report format {n schema_version}");
}

/* Files of other profilers. */
static void write_profiles(struct doc *doc)
{
    for (const struct ap_value *file = ap_value_first(ap_doc_at(doc, "profile.files")); file; file = file->next)
        ap_doc_item(doc, file, "{p kind}: {n path}");
}

/* Who gives a file twice, or of another moment, looks for it among the ranks. */
static void write_files_left_out(struct doc *doc)
{
    if (ap_doc_true(doc, "cluster.duplicate_count"))
        ap_doc_item(doc, NULL, "Files that say the same as another, left out: {f cluster.duplicate_count}");
    if (ap_doc_true(doc, "cluster.other_window_count"))
        ap_doc_item(doc, NULL, "Further recordings of a rank, left out: {f cluster.other_window_count}");
    if (ap_doc_true(doc, "cluster.unread_count"))
        ap_doc_item(doc, NULL, "Files that could not be read: {f cluster.unread_count}");
}

static void write_head(struct doc *doc)
{
    ap_doc_say(doc, "# Profile report\n");
    ap_doc_begin(doc, DOC_LIST);
    if (ap_doc_known(doc, "hang") && !ap_doc_known(doc, "cluster.verdict")) {
        ap_doc_item(doc, NULL, "Flight-recorder dumps: {f hang.dumps.count}");
        write_generator(doc);
        ap_doc_end(doc, DOC_LIST);
        return;
    }
    if (ap_doc_known(doc, "cluster")) {
        ap_doc_item(doc, NULL, "Run of many ranks: {f cluster.rank_count} compared[, world size {i cluster.world_size}]");
        write_files_left_out(doc);
        write_topic(doc);
        write_generator(doc);
        ap_doc_end(doc, DOC_LIST);
        return;
    }
    write_profiles(doc);
    if (ap_doc_is_of_profile(doc)) {
        write_topic(doc);
        write_generator(doc);
        ap_doc_end(doc, DOC_LIST);
        return;
    }
    write_input(doc, "Trace", ap_doc_known(doc, "trace.path") ? "trace.path" : "cpu.path", "trace.format", "trace.complete");
    if (ap_doc_known(doc, "trace.slice.start_us"))
        ap_doc_item(doc, NULL, "A stretch of a longer recording: {t trace.slice.start_us} to {t trace.slice.end_us} us");
    write_input(doc, "Memory snapshot", "memory.path", "memory.format", "memory.complete");
    if (ap_doc_known(doc, "trace.rank"))
        ap_doc_item(doc, NULL, "Rank: {i trace.rank}[, world size {i trace.world_size}]");
    write_topic(doc);
    write_generator(doc);
    ap_doc_end(doc, DOC_LIST);
}

/* @ret_lines: NULL = they are not asked for, but written to @sink. */
static enum ap_status write_form(const struct ap_model *model, const struct ap_md_form *form, struct ap_sink sink,
                                 uint64_t *ret_lines, struct ap_error *reterr)
{
    struct md md;
    ap_md_init(&md, model, form, ret_lines ? (struct ap_sink){ ap_md_count_lines, ret_lines } : sink);
    md.only_lines = ret_lines;
    write_head(&md.doc);
    ap_part_alerts(&md.doc);
    ap_section_verdict(&md.doc);
    ap_section_conditions(&md.doc);
    ap_section_comparison(&md.doc);
    ap_section_series(&md.doc);
    ap_section_findings(&md.doc);
    ap_all_sections(&md.doc);
    return ap_md_finish(&md, reterr);
}

static size_t count_of_findings(const struct ap_model *model)
{
    size_t count = 0;
    for (const struct ap_value *finding = ap_value_first(ap_value_at(&model->root, "findings")); finding;
         finding = finding->next)
        count += !ap_finding_is_remark(finding);
    return count;
}

/* Where both tell all findings whole, and as many rows, they are as long. */
static bool is_as_long(const struct ap_md_form *form, const struct ap_md_form *next, size_t findings)
{
    return form && form->percent == next->percent && form->weight == next->weight && findings <= form->findings &&
           findings <= next->findings;
}

/* How many lines the forms have is told by going through them: what a section says depends on all of the model. */
enum ap_status ap_write_markdown(const struct ap_model *model, enum ap_extent extent, struct ap_sink sink,
                                 struct ap_error *reterr)
{
    const struct ap_md_form *form = NULL, *next = ap_md_form(0);
    size_t findings = count_of_findings(model);
    uint64_t lines = UINT64_MAX;
    for (size_t i = 0; extent == AP_EXTENT_SHORT && lines > AP_MD_BRIEF_LINES && next; next = ap_md_form(++i)) {
        bool is_told = is_as_long(form, next, findings);
        form = next;
        if (is_told)
            continue;
        lines = 0;
        AP_TRY(write_form(model, form, sink, &lines, reterr));
    }
    return write_form(model, form, sink, NULL, reterr);
}
