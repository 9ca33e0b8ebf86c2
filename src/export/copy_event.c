/* SPDX-License-Identifier: MIT
 * copy_event.c - one event of the input: wanted or not, and written as it stands or, where that would not be strict JSON or
 * not a sound event, from what could be read of it. */
#include <string.h>

#include "copying.h"
#include "decimal.h"
#include "json_text.h"

#include "poison.h"

/* Viewers and readers with a stack of their own take no deep nesting. */
#define MOST_NESTING 64
/* Names of threads are wanted even where the events are cut off. */
#define MORE_FOR_METADATA_BYTES UINT64_C(10000000)
#define TRACK_KEY_BYTES 256

const struct ap_json_field ap_copy_fields[AP_COPY_FIELD_COUNT_] = { AP_COPY_FIELDS(AP_JSON_FIELD) };

/** What the event is, as far as it matters here. */
struct event {
    char ph;    /* 0 = not usable */
    bool clean; /* may be copied byte by byte */
    bool has_start;
    int64_t start_ns, dur_ns;
    struct ap_text raw;
};

/* ---- looking ---- */

static bool read_time(const struct ap_json_span *span, int64_t *ret_ns, bool *clean)
{
    if (span->kind != AP_JSON_NUMBER)
        return false;
    enum ap_decimal_result result = ap_decimal_us_to_ns(span->text, span->bytes, ret_ns);
    *clean = *clean && result == AP_DECIMAL_EXACT;
    return result != AP_DECIMAL_OUT_OF_RANGE;
}

static char ph_of(const struct ap_json_span *span)
{
    static const char defined_letters[] = "XBEiIMCstfPbenNODSTpFRcv(),";
    bool known = span->kind == AP_JSON_STRING && span->bytes == 1 && span->text[0] && strchr(defined_letters, span->text[0]);
    return known ? span->text[0] : '\0';
}

static bool is_nested_deep(struct ap_text raw)
{
    int depth = 0;
    for (size_t i = 0; i < raw.bytes; i++) {
        depth += (raw.data[i] == '{' || raw.data[i] == '[') - (raw.data[i] == '}' || raw.data[i] == ']');
        if (depth > MOST_NESTING)
            return true;
    }
    return false;
}

/* False where it is not sound. */
static bool look_at(const struct ap_copying *copying, struct event *event)
{
    const struct ap_json_span *spans = copying->spans;
    event->ph = ph_of(&spans[AP_COPY_PH]);
    event->has_start = read_time(&spans[AP_COPY_TS], &event->start_ns, &event->clean);
    if (spans[AP_COPY_CAT].kind != AP_JSON_STRING && spans[AP_COPY_CAT].kind != AP_SPAN_ABSENT)
        event->clean = false;
    switch (event->ph) {
    case '\0': return false;
    case 'X':
        event->clean = event->clean && spans[AP_COPY_NAME].kind == AP_JSON_STRING;
        return event->has_start && read_time(&spans[AP_COPY_DUR], &event->dur_ns, &event->clean) && event->dur_ns >= 0 &&
               event->start_ns + event->dur_ns <= AP_MAX_TIME_NS;
    case 'B': event->clean = event->clean && spans[AP_COPY_NAME].kind == AP_JSON_STRING; return event->has_start;
    case 'E': return event->has_start;
    default: return true;
    }
}

static bool is_wanted(const struct ap_copying *copying, const struct event *event)
{
    bool is_half = event->ph == 'B' || event->ph == 'E';
    if (copying->options->all || event->ph == 'M' || (is_half && !copying->options->slice))
        return true;
    return event->has_start && ap_copy_windows_meet(&copying->windows, event->start_ns, event->start_ns + event->dur_ns);
}

static bool is_over_limit(struct ap_copying *copying, const struct event *event)
{
    uint64_t limit_bytes = copying->options->limit_bytes ? copying->options->limit_bytes : AP_TRACE_COPY_LIMIT_BYTES;
    if (copying->options->all || copying->options->slice)
        return false;
    if (event->ph == 'M')
        return copying->copied_bytes > limit_bytes + MORE_FOR_METADATA_BYTES;
    return copying->over_limit_count || copying->copied_bytes + event->raw.bytes > limit_bytes;
}

/* ---- B and E ---- */

static bool append_id(char *key, size_t *used, const struct ap_json_span *span)
{
    bool has_text = span->kind == AP_JSON_STRING || span->kind == AP_JSON_NUMBER;
    size_t bytes = has_text ? span->bytes : 0;
    if (*used + bytes + 2 > TRACK_KEY_BYTES)
        return false;
    key[(*used)++] = span->kind == AP_JSON_STRING ? '"' : span->kind == AP_JSON_NUMBER ? '0' : '-';
    if (bytes)
        memcpy(key + *used, span->text, bytes);
    *used += bytes;
    return true;
}

/* The number of the event's track; false where its ids are of no reasonable length. */
static enum ap_status find_track(struct ap_copying *copying, bool *ret_found, uint32_t *ret_id, struct ap_error *reterr)
{
    struct ap_copy_open *open = &copying->open;
    char key[TRACK_KEY_BYTES];
    size_t used = 0;
    struct ap_str name;
    *ret_found = append_id(key, &used, &copying->spans[AP_COPY_PID]);
    key[used++] = '\0';
    *ret_found = *ret_found && append_id(key, &used, &copying->spans[AP_COPY_TID]);
    if (!*ret_found)
        return AP_OK;
    AP_TRY(ap_strpool_intern(&open->names, key, used, &name, reterr));
    AP_TRY(AP_RESERVE(open->gate, open->depths, open->capacity, (size_t)name.id + 1, reterr));
    while (open->count <= name.id)
        open->depths[open->count++] = 0;
    *ret_id = name.id;
    return AP_OK;
}

/* False for an E that ends nothing. */
static enum ap_status pair(struct ap_copying *copying, const struct event *event, bool *ret_sound, struct ap_error *reterr)
{
    uint32_t id;
    if (event->ph != 'B' && event->ph != 'E')
        return AP_OK;
    AP_TRY(find_track(copying, ret_sound, &id, reterr));
    if (!*ret_sound)
        return AP_OK;
    uint64_t *depth = &copying->open.depths[id];
    *ret_sound = event->ph == 'B' || *depth > 0;
    if (*ret_sound)
        *depth += event->ph == 'B' ? 1 : UINT64_MAX;
    return AP_OK;
}

static enum ap_status write_id(struct ap_copying *copying, const char *key, struct ap_text id, struct ap_error *reterr)
{
    if (id.bytes && id.data[0] == '-')
        return AP_OK;
    ap_out_format(&copying->out, ",\"%s\":", key);
    struct ap_text text = { id.data + 1, id.bytes ? id.bytes - 1 : 0 };
    if (!id.bytes || id.data[0] != '0')
        return ap_copy_text(copying, text, reterr);
    ap_json_write_literal(&copying->out, text);
    return AP_OK;
}

enum ap_status ap_copy_close_open(struct ap_copying *copying, struct ap_error *reterr)
{
    const struct ap_copy_open *open = &copying->open;
    for (uint32_t id = 1; id < open->count; id++) {
        struct ap_text key = ap_strpool_text(&open->names, (struct ap_str){ id });
        const char *end = memchr(key.data, '\0', key.bytes);
        size_t bytes = end ? (size_t)(end - key.data) : key.bytes;
        for (uint64_t i = 0; i < open->depths[id]; i++) {
            ap_copying_element(copying);
            ap_out_string(&copying->out, "{\"ph\":\"E\"");
            AP_TRY(write_id(copying, "pid", (struct ap_text){ key.data, bytes }, reterr));
            if (end)
                AP_TRY(write_id(copying, "tid", (struct ap_text){ end + 1, key.bytes - bytes - 1 }, reterr));
            ap_out_string(&copying->out, ",\"ts\":");
            ap_out_microseconds(&copying->out, open->last_ns);
            ap_out_char(&copying->out, '}');
        }
    }
    return AP_OK;
}

/* ---- writing ---- */

static enum ap_status write_value(struct ap_copying *copying, const struct ap_json_span *span, struct ap_error *reterr)
{
    struct ap_text text;
    AP_TRY(ap_element_text(copying->elements, span, &text, reterr));
    if (span->kind == AP_JSON_STRING)
        return ap_copy_text(copying, text, reterr);
    if (span->kind == AP_JSON_NONFINITE || span->kind == AP_JSON_NULL)
        ap_out_string(&copying->out, "null");
    else if (span->kind == AP_JSON_TRUE || span->kind == AP_JSON_FALSE)
        ap_out_string(&copying->out, span->kind == AP_JSON_TRUE ? "true" : "false");
    else
        ap_json_write_literal(&copying->out, text);
    return AP_OK;
}

static bool is_scalar(const struct ap_json_span *span)
{
    return span->kind != AP_SPAN_ABSENT && span->kind != AP_JSON_OBJECT_BEGIN && span->kind != AP_JSON_ARRAY_BEGIN;
}

static enum ap_status write_member(struct ap_copying *copying, enum ap_copy_field field, bool *first,
                                   struct ap_error *reterr)
{
    const struct ap_json_span *span = &copying->spans[field];
    if (!is_scalar(span) || (field == AP_COPY_CAT && span->kind != AP_JSON_STRING))
        return AP_OK;
    ap_out_format(&copying->out, "%s\"%s\":", *first ? "" : ",", ap_copy_fields[field].key);
    *first = false;
    if (field == AP_COPY_NAME && span->kind != AP_JSON_STRING)
        return ap_copy_text(copying, (struct ap_text){ span->text, span->bytes }, reterr);
    return write_value(copying, span, reterr);
}

/* From what is known of it. */
static enum ap_status rewrite(struct ap_copying *copying, const struct event *event, struct ap_error *reterr)
{
    bool first = true, has_args = false;
    ap_out_char(&copying->out, '{');
    for (int i = 0; i < AP_COPY_ARGS_FIRST_; i++)
        if (i != AP_COPY_TS && i != AP_COPY_DUR)
            AP_TRY(write_member(copying, (enum ap_copy_field)i, &first, reterr));
    if ((event->ph == 'X' || event->ph == 'B') && !is_scalar(&copying->spans[AP_COPY_NAME]))
        ap_out_string(&copying->out, ",\"name\":\"unknown\"");
    if (event->has_start) {
        ap_out_string(&copying->out, ",\"ts\":");
        ap_out_microseconds(&copying->out, event->start_ns);
    }
    if (event->ph == 'X') {
        ap_out_string(&copying->out, ",\"dur\":");
        ap_out_microseconds(&copying->out, event->dur_ns);
    }
    for (int i = AP_COPY_ARGS_FIRST_; i < AP_COPY_FIELD_COUNT_; i++)
        has_args |= is_scalar(&copying->spans[i]);
    if (has_args) {
        first = true;
        ap_out_string(&copying->out, ",\"args\":{");
        for (int i = AP_COPY_ARGS_FIRST_; i < AP_COPY_FIELD_COUNT_; i++)
            AP_TRY(write_member(copying, (enum ap_copy_field)i, &first, reterr));
        ap_out_char(&copying->out, '}');
    }
    ap_out_char(&copying->out, '}');
    copying->rewritten_count++;
    return AP_OK;
}

enum ap_status ap_copy_event(struct ap_copying *copying, uint64_t offset_bytes, bool clean, struct ap_error *reterr)
{
    struct event event = { .clean = clean, .raw = ap_element_raw(copying->elements, offset_bytes) };
    bool sound = look_at(copying, &event);
    if (sound && !is_wanted(copying, &event))
        return AP_OK;
    if (sound && is_over_limit(copying, &event)) {
        copying->over_limit_count++;
        return AP_OK;
    }
    if (sound)
        AP_TRY(pair(copying, &event, &sound, reterr));
    if (!sound) {
        copying->broken_count++;
        return AP_OK;
    }
    if (event.has_start && event.start_ns > copying->open.last_ns)
        copying->open.last_ns = event.start_ns;
    copying->copied_count++;
    copying->copied_bytes += event.raw.bytes;
    ap_copying_element(copying);
    if (!event.clean || is_nested_deep(event.raw))
        return rewrite(copying, &event, reterr);
    if (copying->options->redaction)
        return ap_copy_redacted(copying, event.raw, reterr);
    ap_out_text(&copying->out, event.raw);
    return AP_OK;
}
