/* SPDX-License-Identifier: MIT */
#include "table_cell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "code_point.h"
#include "report.h"
#include "value_text.h"
#include "visible_text.h"

#include "poison.h"

/* ---- text ---- */

static bool is_start(const struct ap_value *value)
{
    return value->type == AP_VALUE_TIME_NS && ap_text_is(value->key, "start_us");
}

/* All but texts. */
static struct ap_text short_text(const struct ap_value *value, char to[AP_VALUE_TEXT_BYTES])
{
    if (value && value->type == AP_VALUE_LIST) {
        size_t count = ap_value_count(value);
        (void)snprintf(to, AP_VALUE_TEXT_BYTES, "%zu row%s", count, count == 1 ? "" : "s");
    } else if (!value || value->type == AP_VALUE_NULL || value->type == AP_VALUE_OBJECT) {
        (void)snprintf(to, AP_VALUE_TEXT_BYTES, "-");
    } else if (is_start(value)) {
        int64_t ns = value->as.integer, us = ns / 1000, rest = ns % 1000;
        (void)snprintf(to, AP_VALUE_TEXT_BYTES, "%s%" PRId64 ".%03" PRId64, ns < 0 ? "-" : "", us < 0 ? -us : us,
                       rest < 0 ? -rest : rest);
    } else {
        (void)ap_format_value(value, to, AP_VALUE_TEXT_BYTES);
    }
    return ap_text_of(to);
}

static bool is_text(const struct ap_value *value)
{
    return value && (value->type == AP_VALUE_TEXT || value->type == AP_VALUE_LITERAL);
}

/* A list of texts is shown whole. */
static bool is_list_of_texts(const struct ap_value *value)
{
    return value && value->type == AP_VALUE_LIST && is_text(ap_value_first(value));
}

size_t ap_cell_columns(const struct ap_value *value)
{
    char text[AP_VALUE_TEXT_BYTES];
    size_t columns = 0;
    if (is_text(value))
        return ap_visible_columns(value->as.text);
    if (!is_list_of_texts(value))
        return ap_visible_columns(short_text(value, text));
    for (const struct ap_value *element = ap_value_first(value); element; element = element->next)
        columns += ap_visible_columns(ap_value_text(element)) + (element->next ? 2 : 0);
    return columns;
}

static void write_list(struct ap_out *out, const struct ap_value *list, size_t max_columns)
{
    size_t used = 0;
    for (const struct ap_value *element = ap_value_first(list); element; element = element->next) {
        size_t more = element->next ? 5 : 0; /* room for ", ..." */
        if (max_columns && used + more >= max_columns) {
            ap_out_string(out, "...");
            return;
        }
        used += ap_out_visible(out, ap_value_text(element), max_columns ? max_columns - used - more : 0);
        ap_out_string(out, element->next ? ", " : "");
        used += 2;
    }
}

void ap_cell_write_text(struct ap_out *out, const struct ap_value *value, size_t max_columns)
{
    char text[AP_VALUE_TEXT_BYTES];
    if (is_text(value))
        (void)ap_out_visible(out, value->as.text, max_columns);
    else if (is_list_of_texts(value))
        write_list(out, value, max_columns);
    else
        (void)ap_out_visible(out, short_text(value, text), max_columns);
}

/* ---- CSV ---- */

/* Spreadsheets compute what begins so, the wide forms of East Asian scripts too. */
static bool begins_formula(struct ap_text text)
{
    size_t at = 0;
    while (at < text.bytes && text.data[at] == ' ')
        at++;
    if (at == text.bytes)
        return false;
    uint32_t c = ap_code_point_next(text, &at);
    return c == '=' || c == '+' || c == '-' || c == '@' || c == 0xFF1D || c == 0xFF0B || c == 0xFF0D || c == 0xFF20;
}

static void write_quoted(struct ap_out *out, struct ap_text text)
{
    ap_out_string(out, begins_formula(text) ? "\"'" : "\"");
    for (size_t at = 0; at < text.bytes;) {
        const char *quote = memchr(text.data + at, '"', text.bytes - at);
        size_t end = quote ? (size_t)(quote - text.data) : text.bytes;
        (void)ap_out_visible(out, (struct ap_text){ text.data + at, end - at }, 0);
        ap_out_string(out, quote ? "\"\"" : "");
        at = end + (quote != NULL);
    }
    ap_out_char(out, '"');
}

/* Collects JSON to be quoted. */
struct cell_text {
    struct ap_out *out;
};

static enum ap_status write_json_quoted(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct cell_text *cell = self;
    (void)reterr;
    for (size_t at = 0; at < bytes; at++) {
        if (data[at] == '"')
            ap_out_char(cell->out, '"');
        ap_out_char(cell->out, data[at]);
    }
    return AP_OK;
}

static bool is_plain_number(struct ap_text text)
{
    size_t at = text.bytes && text.data[0] == '-';
    for (size_t i = at; i < text.bytes; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.bytes > at;
}

enum ap_status ap_cell_write_csv(struct ap_out *out, const struct ap_value *value, struct ap_error *reterr)
{
    if (!value || value->type == AP_VALUE_NULL)
        return AP_OK;
    if (value->type == AP_VALUE_TEXT || (value->type == AP_VALUE_LITERAL && !is_plain_number(value->as.text))) {
        write_quoted(out, value->as.text);
        return AP_OK;
    }
    if (value->type != AP_VALUE_LIST && value->type != AP_VALUE_OBJECT)
        return ap_json_write_value(out, value, true, reterr);
    struct ap_out json;
    struct cell_text cell = { out };
    ap_out_init(&json, (struct ap_sink){ write_json_quoted, &cell });
    ap_out_char(out, '"');
    AP_TRY(ap_json_write_value(&json, value, true, reterr));
    AP_TRY(ap_out_finish(&json, reterr));
    ap_out_char(out, '"');
    return AP_OK;
}
