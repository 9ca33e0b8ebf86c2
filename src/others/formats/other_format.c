/* SPDX-License-Identifier: MIT */
#include "other_format.h"

#include "poison.h"

static const struct {
    const char *name, *key, *advice;
} formats[AP_OTHER_COUNT_] = {
    [AP_OTHER_none] = { NULL, NULL, NULL },
#define AP_OTHER(id, its_key, its_name) [AP_OTHER_##id] = { its_name, its_key, NULL },
#define AP_OTHER_NAMED(id, its_name, its_advice) [AP_OTHER_##id] = { its_name, NULL, its_advice },
#define AP_OTHER_SIGN(where, key, id)
#include "other_format.def"
#undef AP_OTHER
#undef AP_OTHER_NAMED
#undef AP_OTHER_SIGN
};

const char *ap_other_name(enum ap_other_format format)
{
    return formats[format].name;
}

const char *ap_other_key(enum ap_other_format format)
{
    return formats[format].key;
}

const char *ap_other_advice(enum ap_other_format format)
{
    return formats[format].advice;
}

static enum ap_other_format sign_of(enum ap_other_where where, struct ap_text key)
{
    static const struct {
        enum ap_other_where where;
        const char *key;
        enum ap_other_format format;
    } signs[] = {
#define AP_OTHER(id, key, name)
#define AP_OTHER_NAMED(id, name, advice)
#define AP_OTHER_SIGN(its_where, its_key, id) { AP_OTHER_##its_where, its_key, AP_OTHER_##id },
#include "other_format.def"
#undef AP_OTHER
#undef AP_OTHER_NAMED
#undef AP_OTHER_SIGN
    };
    for (size_t i = 0; i < AP_COUNT_OF(signs); i++)
        if (signs[i].where == where && ap_text_is(key, signs[i].key))
            return signs[i].format;
    return AP_OTHER_none;
}

/* ---------------------------------------------------------------------------------------------------- ONNX Runtime */

/* onnxruntime: core/common/profiler_common.h has the categories, the session and its executors name the stages. Others
 * write events of a category "Node" or "Session" too, so that alone tells nothing. */
static void look_at_category(struct ap_text category, struct ap_other_seen *seen)
{
    seen->has_category = ap_text_is(category, "Session") || ap_text_is(category, "Node") || ap_text_is(category, "Kernel") ||
                         ap_text_is(category, "Api");
}

static void look_at_name(struct ap_text name, struct ap_other_seen *seen)
{
    static const char *const stages[] = { "session_initialization", "model_run", "SequentialExecutor::Execute",
                                          "ParallelExecutor::Execute" };
    seen->is_node = ap_text_ends_with(name, "_kernel_time") || ap_text_ends_with(name, "_fence_before") ||
                    ap_text_ends_with(name, "_fence_after") || ap_text_starts_with(name, "model_loading_");
    for (size_t i = 0; i < AP_COUNT_OF(stages); i++)
        seen->is_node = seen->is_node || ap_text_is(name, stages[i]);
}

/* ------------------------------------------------------------------------------------------------------------- all */

static enum ap_other_format judge_document(const struct ap_other_seen *seen)
{
    return seen->schema && seen->nodes ? AP_OTHER_execution_trace : AP_OTHER_none;
}

static enum ap_other_format judge_element(const struct ap_other_seen *seen)
{
    if (seen->dimensions && seen->values)
        return AP_OTHER_tensorrt_output;
    return seen->is_event && seen->has_category && seen->is_node ? AP_OTHER_onnxruntime : AP_OTHER_none;
}

static enum ap_status look_at_text(struct ap_json_reader *json, void (*look)(struct ap_text, struct ap_other_seen *),
                                   struct ap_other_seen *seen, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind != AP_JSON_STRING)
        return ap_json_skip_rest(json, &token, reterr);
    look((struct ap_text){ token.text, token.text_bytes }, seen);
    return AP_OK;
}

enum ap_status ap_other_look(struct ap_json_reader *json, enum ap_other_where where, struct ap_text key,
                             struct ap_other_seen *seen, enum ap_other_format *ret_format, struct ap_error *reterr)
{
    enum ap_other_format sign = sign_of(where, key);
    bool element = where == AP_OTHER_ELEMENT;
    seen->schema = seen->schema || (!element && ap_text_is(key, "schema"));
    seen->nodes = seen->nodes || (!element && ap_text_is(key, "nodes"));
    seen->dimensions = seen->dimensions || (element && ap_text_is(key, "dimensions"));
    seen->values = seen->values || (element && ap_text_is(key, "values"));
    seen->is_event = seen->is_event || (element && ap_text_is(key, "ph"));
    *ret_format = sign ? sign : element ? judge_element(seen) : judge_document(seen);
    if (*ret_format)
        return AP_OK;
    if (element && ap_text_is(key, "cat"))
        AP_TRY(look_at_text(json, look_at_category, seen, reterr));
    else if (element && ap_text_is(key, "name"))
        AP_TRY(look_at_text(json, look_at_name, seen, reterr));
    else
        return ap_json_skip_value(json, reterr);
    *ret_format = judge_element(seen);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------- memory timeline */

/* Numbers up to the ']'; -1 where anything else is among them. */
static enum ap_status count_numbers(struct ap_json_reader *json, int64_t *ret_count, struct ap_error *reterr)
{
    struct ap_json_token token;
    *ret_count = 0;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(json, &token, reterr));
        if (token.kind != AP_JSON_NUMBER || *ret_count < 0)
            *ret_count = -1;
        else
            ++*ret_count;
        AP_TRY(ap_json_skip_rest(json, &token, reterr));
    }
}

enum ap_status ap_other_look_at_rows(struct ap_json_reader *json, enum ap_other_format *ret_format, struct ap_error *reterr)
{
    struct ap_json_token token;
    int64_t first, second;
    *ret_format = AP_OTHER_none;
    AP_TRY(count_numbers(json, &first, reterr));
    if (first < 0)
        return AP_OK;
    AP_TRY_UNTIL_END(ap_json_next_element(json, &token, reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return ap_json_skip_rest(json, &token, reterr);
    AP_TRY_UNTIL_END(ap_json_next_element(json, &token, reterr));
    if (token.kind == AP_JSON_ARRAY_BEGIN) { /* times, and for each of them its sizes */
        AP_TRY(count_numbers(json, &second, reterr));
        *ret_format = first > 0 && second > 0 ? AP_OTHER_memory_timeline : AP_OTHER_none;
        return AP_OK;
    }
    if (token.kind != AP_JSON_NUMBER)
        return ap_json_skip_rest(json, &token, reterr);
    AP_TRY(count_numbers(json, &second, reterr));
    *ret_format = first == 4 && second == 3 ? AP_OTHER_memory_timeline : AP_OTHER_none;
    return AP_OK;
}
