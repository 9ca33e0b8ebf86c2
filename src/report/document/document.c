/* SPDX-License-Identifier: MIT */
#include "document.h"

#include <stdio.h>
#include <string.h>

#include "code_point.h"
#include "decimal.h"
#include "figure_text.h"
#include "value_text.h"

#include "poison.h"

#define NAME_LIMIT 100 /* code points */

/* ---- the model ---- */

const struct ap_value *ap_doc_at(const struct doc *doc, const char *path)
{
    const char *dot = strchr(path, '.');
    struct ap_text key = { path, dot ? (size_t)(dot - path) : strlen(path) };
    if (!*path)
        return &doc->model->root;
    if (!*doc->top || !ap_text_equal((*doc->top)->key, key))
        *doc->top = ap_value_member_of(&doc->model->root, key);
    return dot ? ap_value_at(*doc->top, dot + 1) : *doc->top;
}

static bool is_known(const struct ap_value *value)
{
    return value && value->type != AP_VALUE_NULL;
}

bool ap_doc_known(const struct doc *doc, const char *path)
{
    return is_known(ap_doc_at(doc, path));
}

bool ap_doc_is_of_profile(const struct doc *doc)
{
    return ap_doc_known(doc, "profile") && !ap_doc_known(doc, "trace") && !ap_doc_known(doc, "memory");
}

bool ap_doc_false(const struct doc *doc, const char *path)
{
    const struct ap_value *value = ap_doc_at(doc, path);
    return value && value->type == AP_VALUE_BOOL && !value->as.integer;
}

bool ap_doc_true(const struct doc *doc, const char *path)
{
    return ap_value_integer(ap_doc_at(doc, path), 0) > 0;
}

struct ap_text ap_doc_text_at(const struct doc *doc, const char *path)
{
    return ap_value_text(ap_doc_at(doc, path));
}

/* ---- within a block ---- */

static bool is_unread(struct doc *doc)
{
    return doc->backend->is_unread && doc->backend->is_unread(doc);
}

void ap_doc_say(struct doc *doc, const char *literal)
{
    doc->backend->say(doc, ap_text_of(literal));
}

void ap_doc_text(struct doc *doc, enum doc_text kind, struct ap_text text)
{
    size_t at = 0;
    if (is_unread(doc))
        return;
    switch (kind) {
    case DOC_NAME:
        for (int shown = 0; at < text.bytes && shown < NAME_LIMIT; shown++)
            (void)ap_code_point_next(text, &at);
        doc->backend->name(doc, (struct ap_text){ text.data, at }, at < text.bytes);
        break;
    case DOC_WHOLE_NAME: doc->backend->name(doc, text, false); break;
    case DOC_PROSE: doc->backend->prose(doc, text); break;
    case DOC_FIGURE: doc->backend->figure(doc, text); break;
    }
}

void ap_doc_rounded(struct doc *doc, const struct ap_value *value)
{
    char text[AP_VALUE_TEXT_BYTES] = "–";
    if (value && (value->type == AP_VALUE_TIME_NS || value->type == AP_VALUE_BYTES))
        (void)ap_format_value(value, text, sizeof(text));
    ap_doc_text(doc, DOC_FIGURE, ap_text_of(text));
}

void ap_doc_integer(struct doc *doc, int64_t number)
{
    struct ap_value value = { .type = AP_VALUE_COUNT, .as = { .integer = number } };
    ap_doc_value(doc, &value, AP_TEXT(""), FORM_NUMBER);
}

void ap_doc_value(struct doc *doc, const struct ap_value *value, struct ap_text name, enum doc_form form)
{
    char text[AP_FIGURE_BYTES];
    enum ap_value_type type = value ? value->type : AP_VALUE_NULL;
    if (is_unread(doc))
        return;
    if (type == AP_VALUE_TEXT || type == AP_VALUE_LITERAL) {
        ap_doc_text(doc, form == FORM_PROSE && type == AP_VALUE_TEXT ? DOC_PROSE : DOC_NAME, value->as.text);
    } else if (form == FORM_ID && (type == AP_VALUE_COUNT || type == AP_VALUE_BYTES)) {
        (void)snprintf(text, sizeof(text), "%lld", (long long)value->as.integer);
        ap_doc_text(doc, DOC_NAME, ap_text_of(text));
    } else {
        size_t bytes = ap_figure_format(value, name, form == FORM_FULL, text);
        ap_doc_text(doc, DOC_FIGURE, (struct ap_text){ text, bytes });
    }
}

/* ---- templates ---- */

const char *ap_template_path(const char *placeholder, char path[DOC_PATH_BYTES])
{
    const char *end = strchr(placeholder, '}');
    size_t bytes = (size_t)(end - placeholder - 3);
    bytes = bytes < DOC_PATH_BYTES ? bytes : DOC_PATH_BYTES - 1;
    memcpy(path, placeholder + 3, bytes);
    path[bytes] = '\0';
    return end + 1;
}

static void tell_value(struct doc *doc, const struct ap_value *value, char letter, const char *path)
{
    static const char forms[] = "npifF"; /* in the order of enum doc_form */
    char text[AP_DECIMAL_BYTES];
    const char *form = strchr(forms, letter);
    if (form) {
        ap_doc_value(doc, value, ap_text_of(path), (enum doc_form)(form - forms));
    } else if (letter == 'r') {
        ap_doc_rounded(doc, value);
    } else if (letter == 'w') {
        ap_doc_text(doc, DOC_WHOLE_NAME, ap_value_text(value));
    } else if (letter == 't') {
        ap_doc_text(doc, DOC_NAME, ap_decimal_of_ns_in_us(ap_value_integer(value, 0), text));
    } else {
        ap_doc_text(doc, DOC_FIGURE, ap_decimal_of(ap_value_integer(value, 0), text));
    }
}

static const char *skip_unknown(const struct ap_value *of, const char *group)
{
    const char *end = strchr(group, ']');
    for (const char *at = group; at < end; at++) {
        char path[DOC_PATH_BYTES];
        if (*at != '{')
            continue;
        (void)ap_template_path(at, path);
        if (!is_known(ap_value_at(of, path)))
            return end;
    }
    return group + 1;
}

void ap_doc_tell(struct doc *doc, const struct ap_value *of, const char *template)
{
    of = of ? of : &doc->model->root;
    while (*template) {
        size_t bytes = strcspn(template, "[]{");
        if (bytes)
            doc->backend->say(doc, (struct ap_text){ template, bytes });
        template += bytes;
        if (is_unread(doc))
            return;
        if (*template == '{') {
            char path[DOC_PATH_BYTES], letter = template[1];
            template = ap_template_path(template, path);
            tell_value(doc, ap_value_at(of, path), letter, path);
        } else if (*template == '[') {
            template = skip_unknown(of, template);
        } else if (*template) {
            template ++;
        }
    }
}

/* ---- blocks ---- */

void ap_doc_begin(struct doc *doc, enum doc_block block)
{
    doc->backend->begin(doc, block, 0);
}

void ap_doc_begin_at(struct doc *doc, enum doc_block block, int64_t number)
{
    doc->backend->begin(doc, block, number);
}

void ap_doc_end(struct doc *doc, enum doc_block block)
{
    doc->backend->end(doc, block);
}

static void write_block(struct doc *doc, enum doc_block block, const struct ap_value *of, const char *template)
{
    ap_doc_begin(doc, block);
    ap_doc_tell(doc, of, template);
    ap_doc_end(doc, block);
}

void ap_doc_heading(struct doc *doc, const char *literal)
{
    write_block(doc, DOC_HEADING, NULL, literal);
}

void ap_doc_paragraph(struct doc *doc, const struct ap_value *of, const char *template)
{
    write_block(doc, DOC_PARAGRAPH, of, template);
}

void ap_doc_item(struct doc *doc, const struct ap_value *of, const char *template)
{
    write_block(doc, DOC_ITEM, of, template);
}

void ap_doc_prose_item(struct doc *doc, struct ap_text text)
{
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_text(doc, DOC_PROSE, text);
    ap_doc_end(doc, DOC_ITEM);
}

void ap_doc_cell(struct doc *doc, const struct ap_value *of, const char *template)
{
    write_block(doc, DOC_CELL, of, template);
}

/* ---- sections ---- */

static bool write_part(struct doc *doc, const struct doc_part *part)
{
    bool any = false;
    if (part->only_if && !ap_doc_known(doc, part->only_if))
        return false;
    if (part->says)
        ap_doc_paragraph(doc, NULL, part->says);
    if (part->figures)
        any = ap_doc_figures(doc, part->title, part->figures, part->figure_count, part->skips_nothing);
    if (part->rows.path && ap_doc_rows(doc, part->title, &part->rows)) {
        any = true;
        if (part->behind)
            ap_doc_paragraph(doc, NULL, part->behind);
    }
    if (part->write)
        part->write(doc);
    return any;
}

bool ap_doc_parts(struct doc *doc, const struct doc_part *parts, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= write_part(doc, &parts[i]);
    return any;
}

void ap_doc_section(struct doc *doc, const struct doc_section *section)
{
    bool wanted = !section->if_any[0];
    for (size_t i = 0; i < AP_COUNT_OF(section->if_any) && section->if_any[i]; i++)
        wanted |= ap_doc_known(doc, section->if_any[i]);
    if (!wanted)
        return;
    doc->backend->section(doc, section->title);
    if (section->needs && !ap_doc_known(doc, section->needs))
        ap_doc_paragraph(doc, NULL, section->otherwise);
    else
        (void)ap_doc_parts(doc, section->parts, section->part_count);
}
