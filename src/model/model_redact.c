/* SPDX-License-Identifier: MIT */
#include "model_redact.h"

#include "poison.h"

/* As deep as the writers go. */
#define MAX_DEPTH 64

enum reach { REACH_PATHS, REACH_NAMES, REACH_ALL };

struct walk {
    struct ap_model *model;
    struct ap_redaction *redaction;
    enum reach reach;
    struct ap_error *reterr;
};

static bool is_one_of(struct ap_text key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_is(key, keys[i]))
            return true;
    return false;
}

static bool is_path(struct ap_text key)
{
    static const char *const keys[] = { "path", "trace_path", "memory_path" };
    return is_one_of(key, keys, AP_COUNT_OF(keys));
}

static bool is_name(struct ap_text key)
{
    static const char *const keys[] = { "name", "frame",  "operator", "kernel", "module",
                                        "line", "source", "types",    "caller", "top_frame" };
    return is_one_of(key, keys, AP_COUNT_OF(keys));
}

static bool is_number(struct ap_text text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if ((text.data[i] < '0' || text.data[i] > '9') && text.data[i] != '-' && text.data[i] != '+' &&
            text.data[i] != '.' && text.data[i] != 'e' && text.data[i] != 'E')
            return false;
    return true;
}

/* @list: what holds the object that has the value. */
static bool is_device_name(const struct ap_value *object, const struct ap_value *list, const struct ap_value *value)
{
    bool of_device = (object && ap_text_is(object->key, "main_device")) || (list && ap_text_is(list->key, "devices"));
    return of_device && ap_text_is(value->key, "name") && ap_redact_is_device_name(value->as.text);
}

static bool holds_a_name(const struct walk *walk, const struct ap_value *value)
{
    if (value->type == AP_VALUE_LITERAL)
        return walk->reach == REACH_ALL && !is_number(value->as.text);
    if (value->type != AP_VALUE_TEXT)
        return false;
    if (is_path(value->key))
        return true;
    return walk->reach == REACH_ALL ? value->from_input : walk->reach == REACH_NAMES && is_name(value->key);
}

static enum ap_status redact_text(const struct walk *walk, struct ap_text *text)
{
    struct ap_text redacted;
    AP_TRY(ap_redact(walk->redaction, *text, &redacted, walk->reterr));
    if (ap_text_equal(redacted, *text))
        return AP_OK;
    *text = ap_arena_text(&walk->model->arena, redacted);
    return text->data ? AP_OK : ap_fail_memory(walk->model->arena.gate, walk->reterr);
}

static enum ap_status visit(const struct walk *walk, struct ap_value *value)
{
    if (walk->reach == REACH_ALL && value->from_input && value->key.bytes && value->type != AP_VALUE_TEXT &&
        value->type != AP_VALUE_LITERAL)
        AP_TRY(redact_text(walk, &value->key));
    return holds_a_name(walk, value) ? redact_text(walk, &value->as.text) : AP_OK;
}

static struct ap_value *first_of(const struct ap_value *value)
{
    bool holds = value->type == AP_VALUE_OBJECT || value->type == AP_VALUE_LIST;
    return holds && !ap_text_is(value->key, "context") ? value->as.children.first : NULL;
}

static enum ap_status walk_tree(const struct walk *walk, const struct ap_value *below)
{
    struct ap_value *open[MAX_DEPTH];
    size_t depth = 0;
    for (struct ap_value *value = first_of(below); value;) {
        struct ap_value *inner = first_of(value);
        if (!is_device_name(depth ? open[depth - 1] : NULL, depth > 1 ? open[depth - 2] : NULL, value))
            AP_TRY(visit(walk, value));
        if (inner) {
            if (depth == MAX_DEPTH)
                return ap_fail(walk->reterr, AP_ERROR_LIMIT, "the report is nested deeper than %d levels", MAX_DEPTH);
            open[depth++] = value;
            value = inner;
            continue;
        }
        while (value && !value->next)
            value = depth ? open[--depth] : NULL;
        value = value ? value->next : NULL;
    }
    return AP_OK;
}

static enum ap_status redact(struct ap_model *model, const struct ap_value *below, struct ap_redaction *redaction,
                             enum reach reach, struct ap_error *reterr)
{
    struct walk walk = { .model = model, .redaction = redaction, .reach = reach, .reterr = reterr };
    return walk_tree(&walk, below);
}

enum ap_status ap_model_redact(struct ap_model *model, const struct ap_value *below, struct ap_redaction *redaction,
                               struct ap_error *reterr)
{
    return redact(model, below, redaction, REACH_ALL, reterr);
}

enum ap_status ap_model_redact_names(struct ap_model *model, struct ap_redaction *redaction, struct ap_error *reterr)
{
    return redact(model, &model->root, redaction, REACH_NAMES, reterr);
}

enum ap_status ap_model_redact_paths(struct ap_model *model, struct ap_redaction *redaction, struct ap_error *reterr)
{
    return redact(model, &model->root, redaction, REACH_PATHS, reterr);
}
