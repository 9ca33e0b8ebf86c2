/* SPDX-License-Identifier: MIT */
#include "json_text.h"
#include "report.h"

#include "poison.h"

/* The model is about six levels deep; a tree beyond this is a bug of ours, reported rather than overrun. */
#define MAX_DEPTH 64

static void write_scalar(struct ap_out *out, const struct ap_value *value)
{
    switch (value->type) {
    case AP_VALUE_NULL: ap_out_string(out, "null"); break;
    case AP_VALUE_BOOL: ap_out_string(out, value->as.integer ? "true" : "false"); break;
    case AP_VALUE_COUNT:
    case AP_VALUE_BYTES: ap_out_integer(out, value->as.integer); break;
    case AP_VALUE_TIME_NS: ap_out_microseconds(out, value->as.integer); break;
    case AP_VALUE_RATIO:
    case AP_VALUE_NUMBER: ap_out_number(out, value->as.number); break;
    case AP_VALUE_TEXT: ap_json_write_text(out, value->as.text); break;
    case AP_VALUE_LITERAL: ap_json_write_literal(out, value->as.text); break;
    case AP_VALUE_LIST: ap_out_string(out, "[]"); break; /* only empty ones come here */
    case AP_VALUE_OBJECT: ap_out_string(out, "{}"); break;
    }
}

static void new_line(struct ap_out *out, size_t depth)
{
    static const char line[] = "\n"
                               "                                                                "
                               "                                                                ";
    _Static_assert(sizeof(line) > 1 + 2 * MAX_DEPTH, "a level is indented by two spaces");
    ap_out_text(out, (struct ap_text){ line, 1 + 2 * depth });
}

/* New line, indentation, and the key where the parent has keys. */
static void begin_member(struct ap_out *out, const struct ap_value *parent, const struct ap_value *member, size_t depth,
                         bool one_line)
{
    if (!one_line)
        new_line(out, depth);
    else if (member != ap_value_first(parent))
        ap_out_char(out, ' ');
    if (parent->type == AP_VALUE_OBJECT) {
        ap_json_write_text(out, member->key);
        ap_out_string(out, ": ");
    }
}

static void end_container(struct ap_out *out, const struct ap_value *container, size_t depth, bool one_line)
{
    if (!one_line)
        new_line(out, depth);
    ap_out_char(out, container->type == AP_VALUE_OBJECT ? '}' : ']');
}

enum ap_status ap_json_write_value(struct ap_out *out, const struct ap_value *root, bool one_line, struct ap_error *reterr)
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
                end_container(out, value, depth, one_line);
            }
            if (depth == 0)
                return AP_OK;
            ap_out_char(out, ',');
            value = value->next;
        }
        begin_member(out, open[depth - 1], value, depth, one_line);
    }
}

enum ap_status ap_write_json(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_out out;
    ap_out_init(&out, sink);
    AP_TRY(ap_json_write_value(&out, &model->root, false, reterr));
    ap_out_char(&out, '\n');
    return ap_out_finish(&out, reterr);
}
