/* SPDX-License-Identifier: MIT
 * element_log.h - everything that the element reader says of an array of objects, as one text; and the same said by the
 * pull reader, member by member, without anything learned: the two must be equal. */
#ifndef AP_ELEMENT_LOG_H
#define AP_ELEMENT_LOG_H

#include "json_log.h"
#include "json_element.h"

static const struct ap_json_field element_log_fields[] = {
    { NULL, "ph", AP_STRINGS_REPEAT },    { NULL, "cat", AP_STRINGS_REPEAT },   { NULL, "name", AP_STRINGS_WITH_QUOTES },
    { NULL, "pid", AP_STRINGS_ANY },      { NULL, "ts", AP_STRINGS_ANY },       { NULL, "dur", AP_STRINGS_ANY },
    { "args", "bytes", AP_STRINGS_ANY },  { "args", "device", AP_STRINGS_ANY }, { "args", "name", AP_STRINGS_ANY },
    { "other", "bytes", AP_STRINGS_ANY }, { NULL, "id", AP_STRINGS_ANY },
};
#define RECORD_LOG_FIELDS ((unsigned)AP_COUNT_OF(element_log_fields))

static inline void log_field(struct text_log *log, unsigned index, int kind, const char *text, size_t bytes)
{
    log_format(log, "  %u kind %d ", index, kind);
    log_bytes(log, text, bytes);
    log_bytes(log, "\n", 1);
}

/* ---- by the element reader */

static inline void log_spans(struct text_log *log, struct ap_element_reader *element, const struct ap_json_span *spans)
{
    struct ap_error error;
    for (unsigned i = 0; i < RECORD_LOG_FIELDS; i++) {
        struct ap_text text;
        if (spans[i].kind == AP_SPAN_ABSENT)
            continue;
        if (ap_element_text(element, &spans[i], &text, &error) != AP_OK)
            abort();
        log_field(log, i, spans[i].kind, text.data, text.bytes);
    }
}

/* Duplicates are compared by their number alone: the two notice them at different bytes. What was odd in an object that
 * turns out broken is counted by the one and not by the other, so notes are compared where all is well. */
static inline void log_element_end(struct text_log *log, enum ap_status status, struct json_run *run)
{
    run->notes.notes[AP_COUNTER_duplicate_key].first_offset_bytes = 0;
    log_format(log, "status %d", (int)status);
    if (status != AP_OK && status != AP_END)
        log_format(log, " at %llu", (unsigned long long)run->error.offset_bytes);
    log_bytes(log, "\n", 1);
    if (status == AP_END)
        log_notes(log, &run->notes);
    else if (run->notes.notes[AP_COUNTER_unescaped_quote].count || run->notes.notes[AP_COUNTER_trailing_comma].count ||
             run->notes.notes[AP_COUNTER_path_end].count || run->json->scan.odds.count[AP_ODD_QUOTE] ||
             run->json->scan.odds.count[AP_ODD_PATH_END])
        log_format(log, "having forgiven something\n");
}

/** Did the element reader accept what the pull reader refuses? Then the two may differ. */
static inline bool log_tells_of_forgiving(const struct text_log *log)
{
    return log_find(log, "having forgiven") || log_find(log, "unescaped-quote") || log_find(log, "unescaped-path-end") ||
           log_find(log, "trailing-comma");
}

/** Reads @text, an array, and what stands behind it. Returns the last status: AP_END where all is well. */
static inline enum ap_status log_elements(struct text_log *log, const void *text, size_t bytes,
                                          const struct reading *reading)
{
    struct json_run run;
    struct lender *lender = json_run_open(&run, text, bytes, reading);
    struct ap_json_span spans[RECORD_LOG_FIELDS + 1];
    struct ap_json_token token;
    struct ap_element_reader *element;
    enum ap_status status = ap_json_next(run.json, &token, &run.error);
    if (ap_element_reader_new(run.json, element_log_fields, RECORD_LOG_FIELDS, &element, NULL) != AP_OK)
        abort();
    if (status == AP_OK && token.kind != AP_JSON_ARRAY_BEGIN)
        status = AP_ERROR_USAGE;
    while (status == AP_OK) {
        enum ap_element_outcome outcome;
        uint64_t offset_bytes;
        status = ap_element_next(element, spans, &outcome, &offset_bytes, &run.error);
        if (status != AP_OK)
            break;
        log_format(log, "outcome %d at %llu\n", (int)outcome, (unsigned long long)offset_bytes);
        log_spans(log, element, spans);
    }
    if (status == AP_END)
        status = ap_json_next(run.json, &token, &run.error);
    log_element_end(log, status, &run);
    ap_element_reader_free(element);
    if (!json_run_close(&run, lender))
        log_format(log, "memory was kept\n");
    return status;
}

/* ---- by the pull reader */

struct slow_value {
    int kind; /* -1: absent */
    struct text_log text;
};

struct slow_keys {
    struct text_log keys[256];
    unsigned count;
};

/* Has @key stood in this object before? */
static inline bool slow_key_seen(struct slow_keys *keys, const struct ap_json_token *key)
{
    for (unsigned i = 0; i < keys->count; i++)
        if (keys->keys[i].bytes == key->text_bytes && memcmp(keys->keys[i].data, key->text, key->text_bytes) == 0)
            return true;
    if (keys->count < AP_COUNT_OF(keys->keys)) {
        log_clear(&keys->keys[keys->count]);
        log_bytes(&keys->keys[keys->count++], key->text, key->text_bytes);
    }
    return false;
}

struct slow_element {
    struct json_run *run;
    const char *input;
    struct slow_value values[RECORD_LOG_FIELDS];
    struct slow_keys keys[2];
};

/* Keep the value whose first token is @token: text decoded, containers as they are written. */
static inline enum ap_status slow_take(struct slow_element *slow, struct slow_value *value, struct ap_json_token *token)
{
    int kind = (int)token->kind;
    uint64_t start = token->offset_bytes;
    bool container = kind == AP_JSON_OBJECT_BEGIN || kind == AP_JSON_ARRAY_BEGIN;
    if (value) {
        value->kind = kind;
        log_clear(&value->text);
        log_bytes(&value->text, token->text, token->text_bytes);
    }
    unsigned depth = container;
    while (depth) {
        enum ap_status status = ap_json_next(slow->run->json, token, &slow->run->error);
        if (status != AP_OK)
            return status;
        depth += token->kind == AP_JSON_OBJECT_BEGIN || token->kind == AP_JSON_ARRAY_BEGIN;
        depth -= token->kind == AP_JSON_OBJECT_END || token->kind == AP_JSON_ARRAY_END;
    }
    if (value && (container || kind == AP_JSON_TRUE || kind == AP_JSON_FALSE || kind == AP_JSON_NULL)) {
        log_clear(&value->text);
        log_bytes(&value->text, slow->input + start, (size_t)(ap_json_offset(slow->run->json) - start));
    }
    return AP_OK;
}

static inline struct slow_value *slow_field(struct slow_element *slow, const char *parent, const struct ap_json_token *key)
{
    for (unsigned i = 0; i < RECORD_LOG_FIELDS; i++) {
        const struct ap_json_field *field = &element_log_fields[i];
        bool same_parent = parent ? field->parent && strcmp(field->parent, parent) == 0 : !field->parent;
        if (same_parent && ap_text_is((struct ap_text){ key->text, key->text_bytes }, field->key))
            return &slow->values[i];
    }
    return NULL;
}

/* The name of the member object that this key is, or NULL; what an earlier one of that name gave is forgotten. */
static inline const char *slow_parent(struct slow_element *slow, const struct ap_json_token *key)
{
    const char *parent = NULL;
    for (unsigned i = 0; i < RECORD_LOG_FIELDS; i++)
        if (element_log_fields[i].parent &&
            ap_text_is((struct ap_text){ key->text, key->text_bytes }, element_log_fields[i].parent)) {
            parent = element_log_fields[i].parent;
            slow->values[i].kind = -1;
        }
    return parent;
}

/* The members of an object whose brace was read; @parent NULL for the element itself. */
static inline enum ap_status slow_members(struct slow_element *slow, const char *parent)
{
    struct slow_keys *keys = &slow->keys[parent != NULL];
    keys->count = 0;
    for (;;) {
        struct ap_json_token token;
        enum ap_status status = ap_json_next_key(slow->run->json, &token, &slow->run->error);
        if (status != AP_OK)
            return status == AP_END ? AP_OK : status;
        if (slow_key_seen(keys, &token))
            ap_note(&slow->run->notes, AP_COUNTER_duplicate_key, 0);
        struct slow_value *value = slow_field(slow, parent, &token);
        const char *entered = parent ? NULL : slow_parent(slow, &token);
        status = ap_json_next(slow->run->json, &token, &slow->run->error);
        if (status == AP_OK && entered && token.kind == AP_JSON_OBJECT_BEGIN)
            status = slow_members(slow, entered); /* one level: @parent is set then */
        else if (status == AP_OK) {
            if (entered && token.kind != AP_JSON_NULL && !(token.kind == AP_JSON_NONFINITE && token.text[0] == 'n'))
                ap_note(&slow->run->notes, AP_COUNTER_member_type, token.offset_bytes);
            status = slow_take(slow, value, &token);
        }
        if (status != AP_OK)
            return status;
    }
}

static inline void slow_log(struct slow_element *slow, struct text_log *log)
{
    for (unsigned i = 0; i < RECORD_LOG_FIELDS; i++)
        if (slow->values[i].kind >= 0)
            log_field(log, i, slow->values[i].kind, slow->values[i].text.data, slow->values[i].text.bytes);
}

/** The log that log_elements must give; unescaped quotes and a comma before the bracket are errors here. */
static inline enum ap_status log_elements_slowly(struct text_log *log, const void *text, size_t bytes)
{
    struct json_run run;
    struct ap_json_token token;
    struct slow_element *slow = calloc(1, sizeof(*slow));
    if (!slow)
        abort();
    const struct reading whole = { .window_bytes = bytes + 64, .scan_set = 1, .limits = { .kept_depth = 10000 } };
    struct lender *lender = json_run_open(&run, text, bytes, &whole);
    slow->run = &run;
    slow->input = text;
    enum ap_status status = ap_json_next(run.json, &token, &run.error);
    if (status == AP_OK && token.kind != AP_JSON_ARRAY_BEGIN)
        status = AP_ERROR_USAGE;
    while (status == AP_OK && (status = ap_json_next_element(run.json, &token, &run.error)) == AP_OK) {
        uint64_t offset_bytes = token.offset_bytes;
        bool object = token.kind == AP_JSON_OBJECT_BEGIN;
        for (unsigned i = 0; i < RECORD_LOG_FIELDS; i++)
            slow->values[i].kind = -1;
        status = object ? slow_members(slow, NULL) : slow_take(slow, NULL, &token);
        if (status != AP_OK)
            break;
        log_format(log, "outcome %d at %llu\n", object ? AP_ELEMENT_READ : AP_ELEMENT_NOT_OBJECT,
                   (unsigned long long)offset_bytes);
        slow_log(slow, log);
    }
    if (status == AP_END)
        status = ap_json_next(run.json, &token, &run.error);
    log_element_end(log, status, &run);
    for (unsigned i = 0; i < RECORD_LOG_FIELDS; i++)
        log_release(&slow->values[i].text);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < AP_COUNT_OF(slow->keys[k].keys); i++)
            log_release(&slow->keys[k].keys[i]);
    free(slow);
    (void)json_run_close(&run, lender);
    return status;
}

#endif
