/* SPDX-License-Identifier: MIT */
#include "code_point.h"
#include "report.h"

#include "poison.h"

/* The model is about six levels deep; a tree beyond this is a bug of ours, reported rather than overrun. */
#define MAX_DEPTH 64

static void write_unit(struct ap_out *out, uint32_t utf16_unit)
{
    ap_out_format(out, "\\u%04x", (unsigned)utf16_unit);
}

static void write_escape(struct ap_out *out, uint32_t code_point)
{
    switch (code_point) {
    case '"': ap_out_string(out, "\\\""); return;
    case '\\': ap_out_string(out, "\\\\"); return;
    case '\b': ap_out_string(out, "\\b"); return;
    case '\f': ap_out_string(out, "\\f"); return;
    case '\n': ap_out_string(out, "\\n"); return;
    case '\r': ap_out_string(out, "\\r"); return;
    case '\t': ap_out_string(out, "\\t"); return;
    default: break;
    }
    if (code_point < 0x10000) {
        write_unit(out, code_point);
    } else {
        write_unit(out, 0xD800 + ((code_point - 0x10000) >> 10));
        write_unit(out, 0xDC00 + ((code_point - 0x10000) & 0x3FF));
    }
}

/* The one place where text becomes JSON. What a terminal or an editor would not show is escaped, nothing is lost. */
static void write_text(struct ap_out *out, struct ap_text text)
{
    ap_out_char(out, '"');
    size_t plain = 0; /* start of what needs no change */
    for (size_t at = 0; at < text.bytes;) {
        size_t start = at;
        uint32_t code_point = ap_code_point_next(text, &at);
        bool broken = code_point == AP_CODE_POINT_REPLACEMENT && at - start == 1;
        if (!broken && code_point != '"' && code_point != '\\' && !ap_code_point_is_hidden(code_point))
            continue;
        ap_out_text(out, (struct ap_text){ text.data + plain, start - plain });
        if (broken)
            ap_out_string(out, "\xEF\xBF\xBD");
        else
            write_escape(out, code_point);
        plain = at;
    }
    if (plain < text.bytes)
        ap_out_text(out, (struct ap_text){ text.data + plain, text.bytes - plain });
    ap_out_char(out, '"');
}

static size_t skip_digits(struct ap_text text, size_t at)
{
    while (at < text.bytes && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at;
}

static bool is_json_number(struct ap_text text)
{
    size_t at = text.bytes && text.data[0] == '-' ? 1 : 0;
    size_t digits = at;
    at = skip_digits(text, at);
    if (at == digits || (text.data[digits] == '0' && at > digits + 1))
        return false;
    if (at < text.bytes && text.data[at] == '.') {
        digits = at + 1;
        at = skip_digits(text, digits);
        if (at == digits)
            return false;
    }
    if (at < text.bytes && (text.data[at] == 'e' || text.data[at] == 'E')) {
        at++;
        if (at < text.bytes && (text.data[at] == '+' || text.data[at] == '-'))
            at++;
        digits = at;
        at = skip_digits(text, digits);
        if (at == digits)
            return false;
    }
    return at == text.bytes;
}

/* A literal comes from the input: what is not a JSON scalar after all becomes a string. */
static void write_literal(struct ap_out *out, struct ap_text text)
{
    if (is_json_number(text) || ap_text_is(text, "true") || ap_text_is(text, "false") || ap_text_is(text, "null"))
        ap_out_text(out, text);
    else
        write_text(out, text);
}

static void write_scalar(struct ap_out *out, const struct ap_value *value)
{
    switch (value->type) {
    case AP_VALUE_NULL: ap_out_string(out, "null"); break;
    case AP_VALUE_BOOL: ap_out_string(out, value->as.integer ? "true" : "false"); break;
    case AP_VALUE_COUNT:
    case AP_VALUE_BYTES: ap_out_format(out, "%lld", (long long)value->as.integer); break;
    case AP_VALUE_TIME_NS: ap_out_microseconds(out, value->as.integer); break;
    case AP_VALUE_RATIO:
    case AP_VALUE_NUMBER: ap_out_number(out, value->as.number); break;
    case AP_VALUE_TEXT: write_text(out, value->as.text); break;
    case AP_VALUE_LITERAL: write_literal(out, value->as.text); break;
    case AP_VALUE_LIST: ap_out_string(out, "[]"); break; /* only empty ones come here */
    case AP_VALUE_OBJECT: ap_out_string(out, "{}"); break;
    }
}

/* New line, indentation, and the key where the parent has keys. */
static void begin_member(struct ap_out *out, const struct ap_value *parent, const struct ap_value *member, size_t depth)
{
    ap_out_char(out, '\n');
    for (size_t i = 0; i < depth; i++)
        ap_out_string(out, "  ");
    if (parent->type == AP_VALUE_OBJECT) {
        write_text(out, member->key);
        ap_out_string(out, ": ");
    }
}

static void end_container(struct ap_out *out, const struct ap_value *container, size_t depth)
{
    ap_out_char(out, '\n');
    for (size_t i = 0; i < depth; i++)
        ap_out_string(out, "  ");
    ap_out_char(out, container->type == AP_VALUE_OBJECT ? '}' : ']');
}

static enum ap_status write_tree(struct ap_out *out, const struct ap_value *root, struct ap_error *reterr)
{
    const struct ap_value *open[MAX_DEPTH];
    size_t depth = 0;
    const struct ap_value *value = root;
    for (;;) {
        const struct ap_value *first = ap_value_first(value);
        if (first) {
            if (depth == MAX_DEPTH)
                return ap_fail(reterr, AP_ERROR_LIMIT, "the report is nested deeper than %d levels", MAX_DEPTH);
            ap_out_char(out, value->type == AP_VALUE_OBJECT ? '{' : '[');
            open[depth++] = value;
            value = first;
        } else {
            write_scalar(out, value);
            while (depth && !value->next) {
                value = open[--depth];
                end_container(out, value, depth);
            }
            if (depth == 0)
                return AP_OK;
            ap_out_char(out, ',');
            value = value->next;
        }
        begin_member(out, open[depth - 1], value, depth);
    }
}

enum ap_status ap_write_json(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_out out;
    ap_out_init(&out, sink);
    AP_TRY(write_tree(&out, &model->root, reterr));
    ap_out_char(&out, '\n');
    return ap_out_finish(&out, reterr);
}
