/* SPDX-License-Identifier: MIT
 * html_table.c - rows and figures of the model as tables, with figures that read well; the exact ones stand beside them for
 * sorting, and in the JSON. */
#include <string.h>

#include "html.h"
#include "kernel_name.h"

#include "poison.h"

#define MOST_OF_TITLE 300 /* code points */
#define ROW_BYTES 24000   /* of a row of long names that are all signs to be written out */

/* Points in time are looked up in a viewer: they stand as in the trace. */
static bool is_point_in_time(const struct doc_column *column)
{
    struct ap_text key = ap_text_of(column->key ? column->key : "");
    return ap_text_ends_with(key, "start_us") || ap_text_ends_with(key, "at_us") || ap_text_ends_with(key, "time_us");
}

/* The unit stands beside each figure. */
static void write_title(struct html *html, const struct doc_column *column)
{
    static const char *const units[] = { " (us)", " (B)" };
    struct ap_text title = ap_text_of(column->title);
    for (size_t i = 0; i < AP_COUNT_OF(units) && !is_point_in_time(column); i++)
        if (ap_text_ends_with(ap_text_of(column->title), units[i]))
            title.bytes -= strlen(units[i]);
    ap_html_text(html, title, SIZE_MAX);
}

static void write_head(struct html *html, const struct doc_rows *table, const bool *used)
{
    ap_html_string(html, "<div class=\"t\" tabindex=\"0\"><table class=\"sort\">\n<thead><tr>");
    for (size_t i = 0; i < table->column_count; i++) {
        if (!used[i])
            continue;
        ap_html_string(html, ap_doc_is_text(&table->columns[i]) ? "<th scope=\"col\">" : "<th scope=\"col\" class=\"r\">");
        write_title(html, &table->columns[i]);
        ap_html_string(html, "</th>");
    }
    ap_html_string(html, "</tr></thead>\n<tbody>\n");
}

static void write_sort_key(struct html *html, const struct ap_value *value)
{
    if (value && (value->type == AP_VALUE_TIME_NS || value->type == AP_VALUE_BYTES))
        ap_html_format(html, " data-v=\"%lld\"", (long long)value->as.integer);
}

/* Of a kernel its short name, and where that is not all the whole one under the pointer. */
static void write_kernel(struct html *html, struct ap_text name)
{
    struct ap_text label = ap_kernel_short_name(name);
    if (label.bytes >= name.bytes) {
        ap_html_name(html, name);
        return;
    }
    ap_html_string(html, "<code title=\"");
    ap_html_text(html, name, MOST_OF_TITLE);
    ap_html_string(html, "\">");
    ap_html_text(html, label, SIZE_MAX);
    ap_html_string(html, "&lt;…&gt;</code>");
}

static bool is_of_kernels(const struct doc_rows *table, const struct doc_column *column)
{
    return strncmp(table->path, "gpu.", 4) == 0 && column->key && strcmp(column->key, "name") == 0;
}

static void write_text(struct html *html, const struct doc_column *column, struct ap_text text)
{
    if (column->form == FORM_PROSE)
        ap_html_prose(html, text);
    else
        ap_html_name(html, text);
}

static void write_number(struct html *html, const struct doc_column *column, const struct ap_value *value)
{
    if (value && value->type == AP_VALUE_TIME_NS && is_point_in_time(column))
        ap_out_microseconds(&html->out, value->as.integer);
    else if (value && column->form == FORM_ID && (value->type == AP_VALUE_COUNT || value->type == AP_VALUE_BYTES))
        ap_html_format(html, "%lld", (long long)value->as.integer);
    else
        ap_html_value(html, value);
}

static void write_cell(struct html *html, const struct doc_rows *table, const struct doc_column *column,
                       const struct ap_value *row, bool first)
{
    const struct ap_value *value = ap_doc_is_row_key(column) ? NULL : ap_doc_row_value(&html->doc, column, row);
    bool is_text = ap_doc_is_row_key(column) || (value && value->type == AP_VALUE_TEXT);
    ap_html_string(html, first ? "<th scope=\"row\"" : "<td");
    if (!ap_doc_is_text(column))
        ap_html_string(html, " class=\"r\"");
    write_sort_key(html, value);
    ap_out_char(&html->out, '>');
    if (is_text && value && is_of_kernels(table, column))
        write_kernel(html, value->as.text);
    else if (is_text)
        write_text(html, column, value ? value->as.text : row->key);
    else
        write_number(html, column, value);
    ap_html_string(html, first ? "</th>" : "</td>");
}

bool ap_html_has_room_for_row(struct doc *doc)
{
    return ap_html_has_room((struct html *)doc, ROW_BYTES);
}

void ap_html_rows(struct doc *doc, const struct doc_rows *table, const bool *used, size_t shown)
{
    (void)shown;
    write_head((struct html *)doc, table, used);
}

void ap_html_row(struct doc *doc, const struct doc_rows *table, const bool *used, const struct ap_value *row)
{
    struct html *html = (struct html *)doc;
    bool first = true;
    ap_html_string(html, "<tr>");
    for (size_t i = 0; i < table->column_count; i++) {
        if (!used[i])
            continue;
        write_cell(html, table, &table->columns[i], row, first);
        first = false;
    }
    ap_html_string(html, "</tr>\n");
}

void ap_html_rows_end(struct doc *doc, const struct doc_rows *table, size_t written, size_t shown)
{
    struct html *html = (struct html *)doc;
    ap_html_format(html, "</tbody></table></div>\n<p class=\"src\"><code>%s</code>", table->path);
    if (table->remark)
        ap_doc_say(doc, table->remark);
    if (written < shown) {
        ap_html_string(html, "; the first ");
        ap_html_count(html, (int64_t)written);
        ap_html_string(html, " of ");
        ap_html_count(html, (int64_t)shown);
    }
    ap_html_string(html, ".</p>\n");
}

void ap_html_figures(struct doc *doc)
{
    struct html *html = (struct html *)doc;
    ap_html_string(html,
                   "<div class=\"t\" tabindex=\"0\"><table class=\"figures\">\n<thead><tr><th scope=\"col\">Figure</th>"
                   "<th scope=\"col\" class=\"r\">Value</th><th scope=\"col\">Path</th></tr></thead>\n<tbody>\n");
}

void ap_html_figure_row(struct doc *doc, const char *title, const char *path, const struct ap_value *value)
{
    struct html *html = (struct html *)doc;
    ap_html_string(html, "<tr><th scope=\"row\">");
    ap_html_text(html, ap_text_of(title), SIZE_MAX);
    ap_html_string(html, "</th><td class=\"r\">");
    if (value->type == AP_VALUE_NULL)
        ap_html_string(html, "not recorded");
    else
        ap_html_value(html, value);
    ap_html_format(html, "</td><td><code>%s</code></td></tr>\n", path);
}
