/* SPDX-License-Identifier: MIT
 * copy_header.c - what the input says of itself beside its events, as far as times and figures need it. Values of another
 * type than the format says are left out. */
#include "copying.h"
#include "decimal.h"
#include "json_text.h"

#include "poison.h"

enum form { FORM_FLAG, FORM_INTEGER, FORM_NUMBER, FORM_TEXT, FORM_OBJECT, FORM_OBJECTS };

static const struct {
    const char *key;
    enum form form;
} members[] = {
    { "schemaVersion", FORM_NUMBER },     { "baseTimeNanoseconds", FORM_INTEGER }, { "displayTimeUnit", FORM_TEXT },
    { "deviceProperties", FORM_OBJECTS }, { "distributedInfo", FORM_OBJECT },      { "record_shapes", FORM_FLAG },
    { "with_stack", FORM_FLAG },          { "with_modules", FORM_FLAG },           { "with_flops", FORM_FLAG },
    { "profile_memory", FORM_FLAG },
};

/* Members of the objects that readers take as whole numbers, or as text. */
static bool fits(struct ap_text key, const struct ap_json_token *token)
{
    static const char *const integers[] = { "id",           "totalGlobalMem", "numSms",    "computeMajor",
                                            "computeMinor", "rank",           "world_size" };
    static const char *const texts[] = { "name", "backend" };
    int64_t integer;
    for (size_t i = 0; i < AP_COUNT_OF(integers); i++)
        if (ap_text_is(key, integers[i]))
            return token->kind == AP_JSON_NUMBER && ap_decimal_to_integer(token->text, token->text_bytes, &integer);
    for (size_t i = 0; i < AP_COUNT_OF(texts); i++)
        if (ap_text_is(key, texts[i]))
            return token->kind == AP_JSON_STRING;
    return true;
}

static enum ap_status write_scalar(struct ap_copying *copying, const struct ap_json_token *token, struct ap_error *reterr)
{
    struct ap_out *out = &copying->out;
    struct ap_text text = { token->text, token->text_bytes };
    switch (token->kind) {
    case AP_JSON_STRING: return ap_copy_text(copying, text, reterr);
    case AP_JSON_NUMBER: ap_json_write_literal(out, text); break;
    case AP_JSON_TRUE: ap_out_string(out, "true"); break;
    case AP_JSON_FALSE: ap_out_string(out, "false"); break;
    default: ap_out_string(out, "null"); break;
    }
    return AP_OK;
}

#define MOST_NESTING 16

/* Where the writing of one value stands. */
struct nesting {
    char closers[MOST_NESTING]; /* of the containers that are open */
    size_t depth;
    bool comma, after_key;
};

static enum ap_status write_token(struct ap_copying *copying, struct nesting *nesting, const struct ap_json_token *token,
                                  struct ap_error *reterr)
{
    struct ap_out *out = &copying->out;
    bool ends = token->kind == AP_JSON_OBJECT_END || token->kind == AP_JSON_ARRAY_END;
    if (nesting->comma && !nesting->after_key && !ends)
        ap_out_char(out, ',');
    nesting->comma = true;
    nesting->after_key = token->kind == AP_JSON_KEY;
    if (ends) {
        ap_out_char(out, nesting->closers[--nesting->depth]);
    } else if (token->kind == AP_JSON_KEY) {
        AP_TRY(ap_copy_text(copying, (struct ap_text){ token->text, token->text_bytes }, reterr));
        ap_out_char(out, ':');
    } else if (token->kind == AP_JSON_OBJECT_BEGIN || token->kind == AP_JSON_ARRAY_BEGIN) {
        ap_out_char(out, token->kind == AP_JSON_OBJECT_BEGIN ? '{' : '[');
        nesting->closers[nesting->depth++] = token->kind == AP_JSON_OBJECT_BEGIN ? '}' : ']';
        nesting->comma = false;
    } else {
        return write_scalar(copying, token, reterr);
    }
    return AP_OK;
}

/* A value whose first token was read, with what it holds; what is nested too deep becomes null. The text is whole even where
 * the input is cut. */
static enum ap_status copy_value(struct ap_copying *copying, struct ap_json_token token, struct ap_error *reterr)
{
    struct nesting nesting = { .depth = 0 };
    enum ap_status status = AP_OK;
    for (;;) {
        if (nesting.depth == MOST_NESTING && (token.kind == AP_JSON_OBJECT_BEGIN || token.kind == AP_JSON_ARRAY_BEGIN)) {
            status = ap_json_skip_rest(copying->json, &token, reterr);
            token.kind = AP_JSON_NULL;
        }
        AP_TRY(write_token(copying, &nesting, &token, reterr));
        if (!nesting.depth || status != AP_OK)
            break;
        status = ap_json_next(copying->json, &token, reterr);
        if (status != AP_OK)
            break;
    }
    if (nesting.after_key)
        ap_out_string(&copying->out, "null");
    while (nesting.depth)
        ap_out_char(&copying->out, nesting.closers[--nesting.depth]);
    return status;
}

/* A member that readers of traces know: its value of the kind that they take. */
static enum ap_status copy_known(struct ap_copying *copying, struct ap_text key, bool *first, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(copying->json, &token, reterr));
    if (!fits(key, &token))
        return ap_json_skip_rest(copying->json, &token, reterr);
    ap_out_string(&copying->out, *first ? "" : ",");
    AP_TRY(ap_copy_text(copying, key, reterr));
    ap_out_char(&copying->out, ':');
    *first = false;
    return copy_value(copying, token, reterr);
}

/* The rest of an object whose brace was read. */
static enum ap_status copy_object(struct ap_copying *copying, struct ap_error *reterr)
{
    char kept[64];
    bool first = true;
    enum ap_status status;
    ap_out_char(&copying->out, '{');
    for (;;) {
        struct ap_json_token token;
        status = ap_json_next_key(copying->json, &token, reterr);
        if (status != AP_OK)
            break;
        if (token.text_bytes > sizeof(kept)) {
            status = ap_json_skip_value(copying->json, reterr);
        } else {
            for (size_t i = 0; i < token.text_bytes; i++)
                kept[i] = token.text[i];
            status = copy_known(copying, (struct ap_text){ kept, token.text_bytes }, &first, reterr);
        }
        if (status != AP_OK)
            break;
    }
    ap_out_char(&copying->out, '}');
    return status == AP_END ? AP_OK : status;
}

static enum ap_status copy_objects(struct ap_copying *copying, struct ap_error *reterr)
{
    enum ap_status status;
    bool first = true;
    ap_out_char(&copying->out, '[');
    for (;;) {
        struct ap_json_token token;
        status = ap_json_next_element(copying->json, &token, reterr);
        if (status != AP_OK)
            break;
        if (token.kind == AP_JSON_OBJECT_BEGIN) {
            ap_out_string(&copying->out, first ? "" : ",");
            first = false;
            status = copy_object(copying, reterr);
        } else {
            status = ap_json_skip_rest(copying->json, &token, reterr);
        }
        if (status != AP_OK)
            break;
    }
    ap_out_char(&copying->out, ']');
    return status == AP_END ? AP_OK : status;
}

static bool is_of_form(const struct ap_json_token *token, enum form form)
{
    int64_t integer;
    switch (form) {
    case FORM_FLAG: return token->kind == AP_JSON_NUMBER || token->kind == AP_JSON_TRUE || token->kind == AP_JSON_FALSE;
    case FORM_INTEGER:
        return token->kind == AP_JSON_NUMBER && ap_decimal_to_integer(token->text, token->text_bytes, &integer);
    case FORM_NUMBER: return token->kind == AP_JSON_NUMBER;
    case FORM_TEXT: return token->kind == AP_JSON_STRING;
    case FORM_OBJECT: return token->kind == AP_JSON_OBJECT_BEGIN;
    case FORM_OBJECTS: return token->kind == AP_JSON_ARRAY_BEGIN;
    }
    return false;
}

enum ap_status ap_copy_header_member(struct ap_copying *copying, struct ap_text key, struct ap_error *reterr)
{
    struct ap_json_token token;
    size_t i = 0;
    while (i < AP_COUNT_OF(members) && !ap_text_is(key, members[i].key))
        i++;
    if (i == AP_COUNT_OF(members) || copying->header_seen >> i & 1)
        return ap_json_skip_value(copying->json, reterr);
    AP_TRY(ap_json_next(copying->json, &token, reterr));
    if (!is_of_form(&token, members[i].form))
        return ap_json_skip_rest(copying->json, &token, reterr);
    copying->header_seen |= UINT64_C(1) << i;
    ap_copying_member(copying, members[i].key);
    if (token.kind == AP_JSON_OBJECT_BEGIN)
        return copy_object(copying, reterr);
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return write_scalar(copying, &token, reterr);
    copying->of_devices = members[i].form == FORM_OBJECTS;
    enum ap_status status = copy_objects(copying, reterr);
    copying->of_devices = false;
    return status;
}
