/* SPDX-License-Identifier: MIT */
#include "model_build.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

void ap_model_init(struct ap_model *model, struct ap_gate *gate)
{
    memset(model, 0, sizeof(*model));
    ap_arena_init(&model->arena, gate);
    model->root.type = AP_VALUE_OBJECT;
}

void ap_model_release(struct ap_model *model)
{
    for (struct ap_model_time *time = model->times; time; time = time->next)
        ap_stretches_release(&time->stretches, model->arena.gate);
    model->times = NULL;
    ap_arena_release(&model->arena);
}

static void adopt_times(struct ap_model *model, struct ap_model *from)
{
    struct ap_model_time **end = &model->times;
    while (*end)
        end = &(*end)->next;
    *end = from->times;
    from->times = NULL;
}

void ap_model_adopt(struct ap_model *model, struct ap_model *from)
{
    struct ap_value *first = from->root.as.children.first;
    if (first) {
        if (model->root.as.children.last)
            model->root.as.children.last->next = first;
        else
            model->root.as.children.first = first;
        model->root.as.children.last = from->root.as.children.last;
    }
    model->failed |= from->failed;
    model->cut_texts += from->cut_texts;
    from->cut_texts = 0;
    adopt_times(model, from);
    ap_arena_adopt(&model->arena, &from->arena);
    from->root.as.children.first = from->root.as.children.last = NULL;
}

enum ap_status ap_model_status(const struct ap_model *model, struct ap_error *reterr)
{
    return model->failed ? ap_fail_memory(model->arena.gate, reterr) : AP_OK;
}

void ap_model_keep_time(struct ap_model *model, const char *path, struct ap_stretches *stretches)
{
    struct ap_model_time *time = model->failed ? NULL : ap_arena_alloc(&model->arena, sizeof(*time));
    struct ap_text text = time ? ap_arena_text(&model->arena, ap_text_of(path)) : (struct ap_text){ NULL, 0 };
    model->failed |= stretches->failed || !text.data;
    if (model->failed || stretches->unknown) {
        ap_stretches_release(stretches, model->arena.gate);
        return;
    }
    *time = (struct ap_model_time){ model->times, text.data, *stretches };
    model->times = time;
    *stretches = (struct ap_stretches){ .list = NULL };
}

struct ap_stretches *ap_model_time_of(const struct ap_model *model, const char *path)
{
    for (struct ap_model_time *time = model->times; time; time = time->next) {
        size_t bytes = strlen(time->path);
        if (strncmp(path, time->path, bytes) == 0 && (!path[bytes] || path[bytes] == '.'))
            return &time->stretches;
    }
    return NULL;
}

static struct ap_value *spare(struct ap_model *model, enum ap_value_type type)
{
    model->failed = true;
    model->spare = (struct ap_value){ .type = type };
    return &model->spare;
}

/* @key is kept as it is: those of ours are literals. */
static struct ap_value *add(struct ap_model *model, struct ap_value *parent, struct ap_text key, enum ap_value_type type)
{
    struct ap_value *value = model->failed ? NULL : ap_arena_alloc(&model->arena, sizeof(*value));
    if (!value)
        return spare(model, type);
    value->type = type;
    value->key = key;
    if (parent->as.children.last)
        parent->as.children.last->next = value;
    else
        parent->as.children.first = value;
    parent->as.children.last = value;
    return value;
}

static struct ap_text literal_key(const char *key)
{
    return key ? ap_text_of(key) : (struct ap_text){ NULL, 0 };
}

static void add_integer(struct ap_model *model, struct ap_value *parent, struct ap_text key, enum ap_value_type type,
                        int64_t integer)
{
    add(model, parent, key, type)->as.integer = integer;
}

static void add_copied_text(struct ap_model *model, struct ap_value *parent, struct ap_text key, enum ap_value_type type,
                            struct ap_text text, bool from_input)
{
    struct ap_value *value = add(model, parent, key, type);
    value->from_input = from_input;
    if (!model->failed)
        value->as.text = ap_arena_text(&model->arena, text);
    if (!model->failed && !value->as.text.data)
        model->failed = true;
}

struct ap_value *ap_add_object(struct ap_model *model, struct ap_value *parent, const char *key)
{
    return add(model, parent, literal_key(key), AP_VALUE_OBJECT);
}

static struct ap_text copied(struct ap_model *model, struct ap_text key)
{
    struct ap_text copy = key.data ? ap_arena_text(&model->arena, key) : key;
    model->failed |= key.data && !copy.data;
    return copy;
}

/* With a key that stood in an input. */
static struct ap_value *add_named(struct ap_model *model, struct ap_value *parent, struct ap_text key,
                                  enum ap_value_type type)
{
    struct ap_value *value = add(model, parent, copied(model, key), type);
    value->from_input = true;
    return value;
}

struct ap_value *ap_add_object_named(struct ap_model *model, struct ap_value *parent, struct ap_text key)
{
    return add_named(model, parent, key, AP_VALUE_OBJECT);
}

struct ap_value *ap_add_list(struct ap_model *model, struct ap_value *parent, const char *key)
{
    return add(model, parent, literal_key(key), AP_VALUE_LIST);
}

void ap_add_null(struct ap_model *model, struct ap_value *parent, const char *key)
{
    (void)add(model, parent, literal_key(key), AP_VALUE_NULL);
}

void ap_add_bool(struct ap_model *model, struct ap_value *parent, const char *key, bool value)
{
    add_integer(model, parent, literal_key(key), AP_VALUE_BOOL, value);
}

void ap_add_count(struct ap_model *model, struct ap_value *parent, const char *key, int64_t count)
{
    add_integer(model, parent, literal_key(key), AP_VALUE_COUNT, count);
}

void ap_add_count_named(struct ap_model *model, struct ap_value *parent, struct ap_text key, int64_t count)
{
    add_named(model, parent, key, AP_VALUE_COUNT)->as.integer = count;
}

void ap_add_bytes(struct ap_model *model, struct ap_value *parent, const char *key, int64_t bytes)
{
    add_integer(model, parent, literal_key(key), AP_VALUE_BYTES, bytes);
}

void ap_add_time(struct ap_model *model, struct ap_value *parent, const char *key, int64_t ns)
{
    add_integer(model, parent, literal_key(key), AP_VALUE_TIME_NS, ns);
}

void ap_add_ratio(struct ap_model *model, struct ap_value *parent, const char *key, double ratio)
{
    add(model, parent, literal_key(key), AP_VALUE_RATIO)->as.number = ratio;
}

void ap_add_quotient(struct ap_model *model, struct ap_value *parent, const char *key, double over, double under)
{
    ap_add_known_ratio(model, parent, key, under != 0, over / under);
}

void ap_add_number(struct ap_model *model, struct ap_value *parent, const char *key, double number)
{
    add(model, parent, literal_key(key), AP_VALUE_NUMBER)->as.number = number;
}

void ap_add_number_per(struct ap_model *model, struct ap_value *parent, const char *key, double over, double under)
{
    ap_add_known_number(model, parent, key, under > 0, over / under);
}

void ap_add_figure(struct ap_model *model, struct ap_value *parent, const char *key, const struct ap_value *figure)
{
    switch (figure ? figure->type : AP_VALUE_NULL) {
    case AP_VALUE_BOOL: ap_add_bool(model, parent, key, figure->as.integer != 0); break;
    case AP_VALUE_COUNT: ap_add_count(model, parent, key, figure->as.integer); break;
    case AP_VALUE_BYTES: ap_add_bytes(model, parent, key, figure->as.integer); break;
    case AP_VALUE_TIME_NS: ap_add_time(model, parent, key, figure->as.integer); break;
    case AP_VALUE_RATIO: ap_add_ratio(model, parent, key, figure->as.number); break;
    case AP_VALUE_NUMBER: ap_add_number(model, parent, key, figure->as.number); break;
    default: ap_add_null(model, parent, key); break;
    }
}

/* Without its children. */
static struct ap_value *add_one(struct ap_model *model, struct ap_value *parent, const struct ap_value *value)
{
    struct ap_value *copy = add(model, parent, copied(model, value->key), value->type);
    copy->from_input = value->from_input;
    if (value->type == AP_VALUE_OBJECT || value->type == AP_VALUE_LIST)
        return copy;
    copy->as = value->as;
    if (value->type == AP_VALUE_TEXT || value->type == AP_VALUE_LITERAL)
        copy->as.text = copied(model, value->as.text);
    return copy;
}

void ap_add_copy(struct ap_model *model, struct ap_value *parent, const struct ap_value *value)
{
    struct ap_value *copy = add_one(model, parent, value);
    for (const struct ap_value *child = ap_value_first(value); child && !model->failed; child = child->next)
        ap_add_copy(model, copy, child);
}

#define DEFINE_ADD_KNOWN(kind, type)                                                                                      \
    void ap_add_known_##kind(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, type value) \
    {                                                                                                                     \
        if (is_known)                                                                                                     \
            ap_add_##kind(model, parent, key, value);                                                                     \
        else                                                                                                              \
            ap_add_null(model, parent, key);                                                                              \
    }
DEFINE_ADD_KNOWN(bool, bool)
DEFINE_ADD_KNOWN(count, int64_t)
DEFINE_ADD_KNOWN(bytes, int64_t)
DEFINE_ADD_KNOWN(time, int64_t)
DEFINE_ADD_KNOWN(ratio, double)
DEFINE_ADD_KNOWN(number, double)
DEFINE_ADD_KNOWN(text, struct ap_text)
DEFINE_ADD_KNOWN(string, const char *)
DEFINE_ADD_KNOWN(literal, struct ap_text)

void ap_add_number_named(struct ap_model *model, struct ap_value *parent, struct ap_text key, double number)
{
    add_named(model, parent, key, AP_VALUE_NUMBER)->as.number = number;
}

void ap_add_text_named(struct ap_model *model, struct ap_value *parent, struct ap_text key, struct ap_text text)
{
    add_copied_text(model, parent, copied(model, key), AP_VALUE_TEXT, text, true);
}

/* One name may stand in each row that there is: a longer one is cut, or a report would grow with the square of its input. */
#define MOST_TEXT_BYTES 8192

void ap_add_text(struct ap_model *model, struct ap_value *parent, const char *key, struct ap_text text)
{
    char cut[MOST_TEXT_BYTES];
    if (text.bytes > MOST_TEXT_BYTES) {
        model->cut_texts++;
        text = ap_text_cut(text, MOST_TEXT_BYTES - 3);
        memcpy(cut, text.data, text.bytes);
        memcpy(cut + text.bytes, "...", 3);
        text = (struct ap_text){ cut, text.bytes + 3 };
    }
    add_copied_text(model, parent, literal_key(key), AP_VALUE_TEXT, text, true);
}

void ap_add_string(struct ap_model *model, struct ap_value *parent, const char *key, const char *text)
{
    add_copied_text(model, parent, literal_key(key), AP_VALUE_TEXT, ap_text_of(text), false);
}

void ap_add_literal(struct ap_model *model, struct ap_value *parent, const char *key, struct ap_text json_literal)
{
    add_copied_text(model, parent, literal_key(key), AP_VALUE_LITERAL, json_literal, true);
}

void ap_add_warnings(struct ap_model *model, struct ap_value *warnings, const char *input, const struct ap_notes *notes)
{
    for (int i = 0; i < AP_COUNTER_COUNT_; i++) {
        const struct ap_note *note = &notes->notes[i];
        if (!note->count)
            continue;
        const struct ap_counter_info *info = ap_counter_info((enum ap_counter)i);
        char message[512];
        (void)snprintf(message, sizeof(message), "%s%s%s", info->sentence, note->detail[0] ? ": " : "", note->detail);
        struct ap_value *warning = ap_add_object(model, warnings, NULL);
        ap_add_string(model, warning, "code", info->code);
        ap_add_string(model, warning, "severity", ap_note_severity_name(info->severity));
        ap_add_string(model, warning, "input", input);
        ap_add_string(model, warning, "message", message);
        ap_add_count(model, warning, "count", (int64_t)note->count);
        ap_add_known_count(model, warning, "first_byte_offset", note->has_offset, (int64_t)note->first_offset_bytes);
    }
}
