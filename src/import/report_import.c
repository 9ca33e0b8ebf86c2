/* SPDX-License-Identifier: MIT */
#include "report_import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "decimal.h"

#include "poison.h"

#define FORMAT_MAJOR "1."
#define NUMBER_MAX_BYTES 64

struct importing {
    struct ap_json_reader *json;
    struct ap_model *model;
    uint64_t values;
    /* objects and lists that are open, the root first, and the key that tells the unit of what is in them */
    struct ap_value *open[AP_IMPORT_MAX_DEPTH];
    struct ap_text keys[AP_IMPORT_MAX_DEPTH];
    size_t depth;
    char *key; /* of the member that is about to be read: its token is gone by then */
    size_t key_bytes, key_capacity;
};

/* ---- scalars ---- */

static bool is_whole(struct ap_text number)
{
    return !memchr(number.data, '.', number.bytes) && !memchr(number.data, 'e', number.bytes) &&
           !memchr(number.data, 'E', number.bytes);
}

/* The decimal point of strtod is the locale's; this program sets none, so it is a point. */
static bool to_double(struct ap_text text, double *ret_number)
{
    char copy[NUMBER_MAX_BYTES];
    if (text.bytes >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    *ret_number = strtod(copy, NULL);
    return isfinite(*ret_number);
}

static void set_integer(struct ap_value *value, enum ap_value_type type, int64_t integer)
{
    value->type = type;
    value->as.integer = integer;
}

/* The catalogue tells by the key what a number is; of one that it lacks, which stands in a list or under a key of the input,
 * by the key @around it. What cannot be kept is not known. */
static void set_number(struct ap_value *value, struct ap_text key, struct ap_text around, struct ap_text text)
{
    const struct ap_key_info *info = ap_catalogue_key(key);
    info = info ? info : ap_catalogue_key(around);
    enum ap_unit unit = info ? info->unit : AP_UNIT_count;
    int64_t integer;
    double number;
    if (unit == AP_UNIT_time) {
        if (ap_decimal_us_to_ns(text.data, text.bytes, &integer) != AP_DECIMAL_OUT_OF_RANGE)
            set_integer(value, AP_VALUE_TIME_NS, integer);
    } else if ((unit == AP_UNIT_count || unit == AP_UNIT_bytes) && is_whole(text) &&
               ap_decimal_to_integer(text.data, text.bytes, &integer)) {
        set_integer(value, unit == AP_UNIT_bytes ? AP_VALUE_BYTES : AP_VALUE_COUNT, integer);
    } else if (to_double(text, &number)) {
        value->type = unit == AP_UNIT_ratio ? AP_VALUE_RATIO : AP_VALUE_NUMBER;
        value->as.number = number;
    }
}

static enum ap_status fail_too_large(struct ap_error *reterr)
{
    return ap_advise(
        reterr, AP_ADVICE_SMALLER_REPORT,
        ap_fail(reterr, AP_ERROR_LIMIT, "the report has more than %llu values", (unsigned long long)AP_IMPORT_MAX_VALUES));
}

/* One value in the innermost open object (@key) or list (@key empty); containers are opened. */
static enum ap_status add_value(struct importing *importing, struct ap_text key, const struct ap_json_token *token,
                                struct ap_error *reterr)
{
    struct ap_model *model = importing->model;
    struct ap_value *parent = importing->open[importing->depth - 1];
    struct ap_text named = parent->type == AP_VALUE_LIST ? (struct ap_text){ NULL, 0 } : key;
    struct ap_text around = importing->keys[importing->depth - 1], unit = named.data ? key : around;
    struct ap_text text = { token->text, token->text_bytes };
    struct ap_value *value;
    if (++importing->values > AP_IMPORT_MAX_VALUES)
        return fail_too_large(reterr);
    if (token->kind == AP_JSON_STRING) {
        ap_add_text_named(model, parent, named, text);
        return ap_model_status(model, reterr);
    }
    value = ap_add_object_named(model, parent, named);
    AP_TRY(ap_model_status(model, reterr));
    value->type = AP_VALUE_NULL;
    switch (token->kind) {
    case AP_JSON_OBJECT_BEGIN:
    case AP_JSON_ARRAY_BEGIN:
        if (importing->depth == AP_IMPORT_MAX_DEPTH)
            return ap_fail_at(reterr, AP_ERROR_LIMIT, token->offset_bytes, "nested deeper than %d levels, as no report is",
                              AP_IMPORT_MAX_DEPTH);
        value->type = token->kind == AP_JSON_OBJECT_BEGIN ? AP_VALUE_OBJECT : AP_VALUE_LIST;
        value->as.children.first = value->as.children.last = NULL;
        importing->open[importing->depth] = value;
        importing->keys[importing->depth++] = named.data ? value->key : unit;
        break;
    case AP_JSON_NUMBER: set_number(value, unit, around, text); break;
    case AP_JSON_TRUE: set_integer(value, AP_VALUE_BOOL, 1); break;
    case AP_JSON_FALSE: set_integer(value, AP_VALUE_BOOL, 0); break;
    default: break; /* null, NaN: not known */
    }
    return AP_OK;
}

/* ---- the tree ---- */

static enum ap_status keep_key(struct importing *importing, const struct ap_json_token *token, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(importing->model->arena.gate, importing->key, importing->key_capacity, token->text_bytes + 1, reterr));
    importing->key_bytes = token->text_bytes;
    if (token->text_bytes)
        memcpy(importing->key, token->text, token->text_bytes);
    return AP_OK;
}

static enum ap_status import_members(struct importing *importing, struct ap_error *reterr)
{
    while (importing->depth) {
        struct ap_json_token token;
        AP_TRY(ap_json_next(importing->json, &token, reterr));
        if (token.kind == AP_JSON_OBJECT_END || token.kind == AP_JSON_ARRAY_END)
            importing->depth--;
        else if (token.kind == AP_JSON_KEY)
            AP_TRY(keep_key(importing, &token, reterr));
        else
            AP_TRY(add_value(importing, (struct ap_text){ importing->key, importing->key_bytes }, &token, reterr));
    }
    return AP_OK;
}

static enum ap_status check_format(const struct ap_value *root, struct ap_error *reterr)
{
    struct ap_text version = ap_text_member(root, "schema_version");
    struct ap_text name = ap_text_at(root, "generator.name");
    if (!ap_text_is(name, "analyze_profile") || !version.bytes)
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "no report of this program: its JSON report was expected, or a trace or snapshot");
    if (!ap_text_starts_with(version, FORMAT_MAJOR))
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "a report of format %.*s, and this version reads 1.x: analyze the trace that it was made from again",
                       (int)(version.bytes > 20 ? 20 : version.bytes), version.data);
    return AP_OK;
}

enum ap_status ap_report_import(struct ap_json_reader *json, struct ap_model *model, struct ap_error *reterr)
{
    struct importing importing = { .json = json, .model = model, .open = { &model->root }, .depth = 1 };
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind != AP_JSON_OBJECT_BEGIN)
        return ap_fail(reterr, AP_ERROR_INPUT, "no report of this program: it does not begin with an object");
    enum ap_status status = import_members(&importing, reterr);
    ap_mem_free(model->arena.gate, importing.key, importing.key_capacity);
    if (status != AP_OK)
        return status;
    status = ap_json_next(json, &token, reterr); /* nothing may follow */
    if (status != AP_END)
        return status;
    return check_format(&model->root, reterr);
}
