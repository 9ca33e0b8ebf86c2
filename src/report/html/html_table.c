/* SPDX-License-Identifier: MIT
 * html_table.c - rows and figures of the model as tables, with figures that read well; the exact ones stand beside them for
 * sorting, and in the JSON. */
#include <string.h>

#include "html.h"

#include "poison.h"

#define MOST_ROWS 200
#define ROW_BYTES 24000 /* of a row of long names that are all signs to be written out */

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), tail = strlen(end);
    return bytes >= tail && strcmp(text + bytes - tail, end) == 0;
}

/* Points in time are looked up in a viewer: they stand as in the trace. */
static bool is_point_in_time(const struct doc_column *column)
{
    return column->key &&
           (ends_with(column->key, "start_us") || ends_with(column->key, "at_us") || ends_with(column->key, "time_us"));
}

/* The unit stands beside each figure. */
static void write_title(struct html *html, const struct doc_column *column)
{
    static const char *const units[] = { " (us)", " (B)" };
    struct ap_text title = ap_text_of(column->title);
    for (size_t i = 0; i < AP_COUNT_OF(units) && !is_point_in_time(column); i++)
        if (ends_with(column->title, units[i]))
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

static void write_cell(struct html *html, const struct doc_column *column, const struct ap_value *row, bool first)
{
    const struct ap_value *value = ap_doc_is_row_key(column) ? NULL : ap_doc_row_value(&html->doc, column, row);
    bool is_text = ap_doc_is_row_key(column) || (value && value->type == AP_VALUE_TEXT);
    ap_html_string(html, first ? "<th scope=\"row\"" : "<td");
    if (!ap_doc_is_text(column))
        ap_html_string(html, " class=\"r\"");
    write_sort_key(html, value);
    ap_out_char(&html->out, '>');
    if (is_text)
        write_text(html, column, value ? value->as.text : row->key);
    else
        write_number(html, column, value);
    ap_html_string(html, first ? "</th>" : "</td>");
}

static void write_row(struct html *html, const struct doc_rows *table, const bool *used, const struct ap_value *row)
{
    bool first = true;
    ap_html_string(html, "<tr>");
    for (size_t i = 0; i < table->column_count; i++) {
        if (!used[i])
            continue;
        write_cell(html, &table->columns[i], row, first);
        first = false;
    }
    ap_html_string(html, "</tr>\n");
}

static size_t write_rows(struct html *html, const struct doc_rows *table, const bool *used, const struct ap_value *rows)
{
    size_t written = 0, limit = table->limit && table->limit < MOST_ROWS ? table->limit : MOST_ROWS;
    for (const struct ap_value *row = ap_value_first(rows); row && written < limit; row = row->next) {
        if (!ap_doc_row_is_shown(table, row))
            continue;
        if (!ap_html_has_room(html, ROW_BYTES))
            break;
        write_row(html, table, used, row);
        written++;
    }
    return written;
}

static void write_source(struct html *html, const struct doc_rows *table, size_t written, size_t shown)
{
    ap_html_string(html, "<p class=\"src\"><code>");
    ap_html_string(html, table->path);
    ap_html_string(html, "</code>");
    if (table->remark)
        ap_doc_say(&html->doc, table->remark);
    if (written < shown) {
        ap_html_string(html, "; the first ");
        ap_html_count(html, (int64_t)written);
        ap_html_string(html, " of ");
        ap_html_count(html, (int64_t)shown);
    }
    ap_html_string(html, ".</p>\n");
}

bool ap_html_rows(struct doc *doc, const char *title, const struct doc_rows *table)
{
    struct html *html = (struct html *)doc;
    const struct ap_value *rows = ap_doc_at(doc, table->path);
    bool used[DOC_MAX_COLUMNS];
    size_t shown = ap_doc_measure_rows(doc, table, used);
    if (!shown)
        return false;
    if (title)
        ap_html_format(html, "<h3>%s</h3>\n", title);
    write_head(html, table, used);
    size_t written = write_rows(html, table, used, rows);
    ap_html_string(html, "</tbody></table></div>\n");
    write_source(html, table, written, shown);
    return true;
}

bool ap_html_figures(struct doc *doc, const char *title, const struct doc_figure *figures, size_t count)
{
    struct html *html = (struct html *)doc;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct ap_value *value = ap_doc_at(doc, figures[i].path);
        if (!value || !ap_html_has_room(html, ROW_BYTES))
            continue;
        if (!any && title)
            ap_html_format(html, "<h3>%s</h3>\n", title);
        if (!any)
            ap_html_string(
                html, "<div class=\"t\" tabindex=\"0\"><table class=\"figures\">\n<thead><tr><th scope=\"col\">Figure</th>"
                      "<th scope=\"col\" class=\"r\">Value</th><th scope=\"col\">Path</th></tr></thead>\n<tbody>\n");
        any = true;
        ap_html_string(html, "<tr><th scope=\"row\">");
        ap_html_text(html, ap_text_of(figures[i].title), SIZE_MAX);
        ap_html_string(html, "</th><td class=\"r\">");
        if (value->type == AP_VALUE_NULL)
            ap_html_string(html, "not recorded");
        else
            ap_html_value(html, value);
        ap_html_format(html, "</td><td><code>%s</code></td></tr>\n", figures[i].path);
    }
    if (any)
        ap_html_string(html, "</tbody></table></div>\n");
    return any;
}
