/* SPDX-License-Identifier: MIT */
#include "mcp_message.h"

#include "json_reader.h"

#include "poison.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define TOKEN_MAX_BYTES ((size_t)2 << 20) /* more than a message may have */

struct reading {
    struct ap_json_reader *json;
    struct ap_model *model;
    size_t values, depth;
    struct ap_value *open[AP_MCP_MAX_DEPTH + 1]; /* objects and lists that are open, the root first */
    struct ap_text key;                          /* of the member that is about to be read; dies with the model */
};

static enum ap_status add_container(struct reading *reading, struct ap_text key, enum ap_value_type type,
                                    uint64_t offset_bytes, struct ap_error *reterr)
{
    if (reading->depth > AP_MCP_MAX_DEPTH)
        return ap_fail_at(reterr, AP_ERROR_LIMIT, offset_bytes, "nested deeper than %d levels", AP_MCP_MAX_DEPTH);
    struct ap_value *value = ap_add_object_named(reading->model, reading->open[reading->depth - 1], key);
    value->type = type;
    reading->open[reading->depth++] = value;
    return AP_OK;
}

static void add_scalar(struct reading *reading, struct ap_text key, enum ap_value_type type, int64_t integer)
{
    struct ap_value *value = ap_add_object_named(reading->model, reading->open[reading->depth - 1], key);
    value->type = type;
    value->as.integer = integer;
}

static enum ap_status add_value(struct reading *reading, const struct ap_json_token *token, struct ap_error *reterr)
{
    struct ap_value *parent = reading->open[reading->depth - 1];
    struct ap_text key = parent->type == AP_VALUE_LIST ? (struct ap_text){ NULL, 0 } : reading->key;
    struct ap_text text = { token->text, token->text_bytes };
    if (++reading->values > AP_MCP_MAX_VALUES)
        return ap_fail_at(reterr, AP_ERROR_LIMIT, token->offset_bytes, "more than %d values", AP_MCP_MAX_VALUES);
    switch (token->kind) {
    case AP_JSON_OBJECT_BEGIN: return add_container(reading, key, AP_VALUE_OBJECT, token->offset_bytes, reterr);
    case AP_JSON_ARRAY_BEGIN: return add_container(reading, key, AP_VALUE_LIST, token->offset_bytes, reterr);
    case AP_JSON_STRING: ap_add_text_named(reading->model, parent, key, text); break;
    case AP_JSON_NUMBER:
        ap_add_text_named(reading->model, parent, key, text);
        if (!reading->model->failed)
            parent->as.children.last->type = AP_VALUE_LITERAL;
        break;
    case AP_JSON_TRUE: add_scalar(reading, key, AP_VALUE_BOOL, 1); break;
    case AP_JSON_FALSE: add_scalar(reading, key, AP_VALUE_BOOL, 0); break;
    default: add_scalar(reading, key, AP_VALUE_NULL, 0); break;
    }
    return ap_model_status(reading->model, reterr);
}

static enum ap_status keep_key(struct reading *reading, const struct ap_json_token *token, struct ap_error *reterr)
{
    reading->key = ap_arena_text(&reading->model->arena, (struct ap_text){ token->text, token->text_bytes });
    return reading->key.data ? AP_OK : ap_fail_memory(reading->model->arena.gate, reterr);
}

static enum ap_status read_all(struct reading *reading, struct ap_error *reterr)
{
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next(reading->json, &token, reterr));
        if (token.kind == AP_JSON_OBJECT_END || token.kind == AP_JSON_ARRAY_END)
            reading->depth--;
        else if (token.kind == AP_JSON_KEY)
            AP_TRY(keep_key(reading, &token, reterr));
        else
            AP_TRY(add_value(reading, &token, reterr));
    }
}

/* The reader takes more than JSON, and counts it. */
static enum ap_status check_strict(const struct ap_notes *notes, struct ap_error *reterr)
{
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        if (notes->notes[i].count)
            return ap_fail_at(reterr, AP_ERROR_INPUT, notes->notes[i].first_offset_bytes, "no strict JSON: %s",
                              ap_counter_info((enum ap_counter)i)->code);
    return AP_OK;
}

enum ap_status ap_mcp_message_read(const char *line, size_t bytes, struct ap_model *model, struct ap_error *reterr)
{
    struct ap_text text = { line, bytes };
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_json_limits limits = { .kept_depth = AP_MCP_MAX_DEPTH + 2,
                                     .window_bytes = WINDOW_BYTES,
                                     .token_bytes = TOKEN_MAX_BYTES };
    struct reading reading = { .model = model, .open = { &model->root }, .depth = 1, .key = AP_TEXT("message") };
    AP_TRY(ap_json_reader_new(model->arena.gate, ap_text_source(&text), &notes, &limits, &reading.json, reterr));
    enum ap_status status = read_all(&reading, reterr);
    ap_json_reader_free(reading.json);
    return status == AP_OK ? check_strict(&notes, reterr) : status;
}
