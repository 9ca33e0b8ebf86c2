/* SPDX-License-Identifier: MIT
 * What a snapshot holds beside its segments: histories, annotations, settings. */
#include "json_cursor.h"
#include "quantile.h"
#include "snapshot_reading.h"

#include "poison.h"

#define MONTH_NS INT64_C(2592000000000000) /* longer than a run */
#define SOME 10                            /* at most one entry in so many, and one, is a stray */

#define ENTRY_FIELDS(FIELD)                                    \
    FIELD(ENTRY_ACTION, NULL, "action", ANY)                   \
    FIELD(ENTRY_ADDRESS, NULL, "addr", ANY)                    \
    FIELD(ENTRY_SIZE, NULL, "size", ANY)                       \
    FIELD(ENTRY_TIME, NULL, "time_us", ANY)                    \
    FIELD(ENTRY_FRAMES, NULL, "frames", ANY)                   \
    FIELD(ENTRY_DEVICE_FREE, NULL, "device_free", ANY)         \
    FIELD(ENTRY_STREAM, NULL, "stream", ANY)                   \
    FIELD(ENTRY_POOL, NULL, "pool_id", ANY)                    \
    FIELD(ENTRY_COMPILE_CONTEXT, NULL, "compile_context", ANY) \
    FIELD(ENTRY_USER_METADATA, NULL, "user_metadata", ANY)
enum entry_field { ENTRY_FIELDS(AP_JSON_FIELD_ID) ENTRY_FIELD_COUNT_ };
static const struct ap_json_field entry_fields[ENTRY_FIELD_COUNT_] = { ENTRY_FIELDS(AP_JSON_FIELD) };

/* One entry's members as they stand in the input. */
struct entry {
    struct ap_reading *reading;
    struct ap_json_span spans[ENTRY_FIELD_COUNT_ + 1];
    uint64_t offset_bytes;
};

static bool has(const struct entry *entry, enum entry_field field)
{
    return entry->spans[field].kind != AP_SPAN_ABSENT;
}

static struct ap_json_token token_of(const struct entry *entry, enum entry_field field)
{
    const struct ap_json_span *span = &entry->spans[field];
    return (struct ap_json_token){ (enum ap_json_kind)span->kind, span->text, span->bytes, entry->offset_bytes };
}

static enum ap_status take_action(const struct entry *entry, struct ap_str *ret_name, struct ap_error *reterr)
{
    const struct ap_json_span *span = &entry->spans[ENTRY_ACTION];
    struct ap_reading *reading = entry->reading;
    if (!has(entry, ENTRY_ACTION)) {
        ap_note(reading->notes, AP_COUNTER_action_missing, entry->offset_bytes);
        ret_name->id = AP_NAME_UNKNOWN;
        return AP_OK;
    }
    struct ap_json_token token = token_of(entry, ENTRY_ACTION);
    if (span->kind == AP_JSON_STRING) {
        struct ap_text text;
        AP_TRY(ap_element_text(reading->entries, span, &text, reterr));
        token.text = text.data;
        token.text_bytes = text.bytes;
    }
    AP_TRY(ap_taken_name(reading, &token, ret_name, reterr));
    if (ret_name->id > AP_NAME_UNKNOWN)
        ap_note(reading->notes, AP_COUNTER_action_unknown, entry->offset_bytes);
    return AP_OK;
}

static void note(const struct entry *entry, enum ap_counter counter)
{
    ap_note(entry->reading->notes, counter, entry->offset_bytes);
}

/* Of an oom the address column holds what the device reported free. */
static void take_address(const struct entry *entry, struct ap_action *action)
{
    enum entry_field field = has(entry, ENTRY_DEVICE_FREE) ? ENTRY_DEVICE_FREE : ENTRY_ADDRESS;
    if (!has(entry, field))
        return;
    struct ap_json_token token = token_of(entry, field);
    if (!ap_reading_whole(&token, &action->address)) {
        note(entry, AP_COUNTER_member_type);
        return;
    }
    action->has |= AP_ACTION_HAS_ADDRESS;
    if (!ap_is_address(action->address))
        note(entry, AP_COUNTER_address_range);
}

static void take_size(const struct entry *entry, struct ap_action *action)
{
    if (has(entry, ENTRY_SIZE)) {
        struct ap_json_token token = token_of(entry, ENTRY_SIZE);
        if (ap_taken_size(entry->reading, &token, &action->size_bytes))
            action->has |= AP_ACTION_HAS_SIZE;
    } else if (action->name.id <= AP_ACTION_OOM) {
        ap_note(entry->reading->notes, AP_COUNTER_entry_size_missing, entry->offset_bytes);
    }
}

static void take_time(const struct entry *entry, struct ap_action *action)
{
    struct ap_json_token token = token_of(entry, ENTRY_TIME);
    if (has(entry, ENTRY_TIME) && ap_taken_time(entry->reading, &token, &action->time_ns))
        action->has |= AP_ACTION_HAS_TIME;
}

/* A string as it reads; another value but null as its JSON text. */
static enum ap_status take_label(const struct entry *entry, enum entry_field field, struct ap_str *ret_label,
                                 struct ap_error *reterr)
{
    const struct ap_json_span *span = &entry->spans[field];
    struct ap_text text = { span->text, span->bytes };
    if (!has(entry, field) || span->kind == AP_JSON_NULL)
        return AP_OK;
    if (span->kind == AP_JSON_STRING)
        AP_TRY(ap_element_text(entry->reading->entries, span, &text, reterr));
    return ap_strpool_intern(&entry->reading->to->strings, text.data, text.bytes, ret_label, reterr);
}

/* A list of two numbers. */
static bool pool_of(const struct ap_json_span *span, int64_t *pool)
{
    struct ap_json_cursor cursor = { span->text, span->text + span->bytes };
    return ap_cursor_take(&cursor, '[') && ap_cursor_whole(&cursor, &pool[0]) && ap_cursor_take(&cursor, ',') &&
           ap_cursor_whole(&cursor, &pool[1]) && ap_cursor_take(&cursor, ']');
}

static void forget_pool(const struct entry *entry, int64_t *pool)
{
    pool[0] = pool[1] = 0;
    if (entry->spans[ENTRY_POOL].kind != AP_JSON_NULL)
        note(entry, AP_COUNTER_member_type);
}

static enum ap_status take_origin(const struct entry *entry, struct ap_action *action, struct ap_error *reterr)
{
    struct ap_snapshot *to = entry->reading->to;
    struct ap_origin origin = { .has = 0 };
    if (has(entry, ENTRY_STREAM)) {
        struct ap_json_token token = token_of(entry, ENTRY_STREAM);
        if (ap_reading_whole(&token, &origin.stream))
            origin.has = AP_ORIGIN_HAS_STREAM;
        else if (token.kind != AP_JSON_NULL)
            note(entry, AP_COUNTER_member_type);
    }
    if (has(entry, ENTRY_POOL)) {
        if (pool_of(&entry->spans[ENTRY_POOL], origin.pool))
            origin.has |= AP_ORIGIN_HAS_POOL;
        else
            forget_pool(entry, origin.pool);
    }
    AP_TRY(take_label(entry, ENTRY_COMPILE_CONTEXT, &origin.compile_context, reterr));
    AP_TRY(take_label(entry, ENTRY_USER_METADATA, &origin.user_metadata, reterr));
    return ap_snapshot_intern_origin(to, &origin, &action->origin, reterr);
}

static enum ap_status take_frames(const struct entry *entry, struct ap_action *action, struct ap_error *reterr)
{
    const struct ap_json_span *frames = &entry->spans[ENTRY_FRAMES];
    if (frames->kind != AP_JSON_ARRAY_BEGIN) {
        if (has(entry, ENTRY_FRAMES) && frames->kind != AP_JSON_NULL)
            note(entry, AP_COUNTER_member_type);
        return AP_OK;
    }
    return ap_taken_frames(entry->reading, (struct ap_text){ frames->text, frames->bytes }, &action->stack, reterr);
}

static enum ap_status take_entry(const struct entry *entry, struct ap_error *reterr)
{
    struct ap_action action = { .has = 0 };
    AP_TRY(take_action(entry, &action.name, reterr));
    take_address(entry, &action);
    take_size(entry, &action);
    take_time(entry, &action);
    AP_TRY(take_frames(entry, &action, reterr));
    AP_TRY(take_origin(entry, &action, reterr));
    return ap_snapshot_add_action(entry->reading->to, &action, reterr);
}

/* Behind the '[' of one device's list. */
static enum ap_status read_history(struct ap_reading *reading, struct ap_error *reterr)
{
    struct entry entry = { .reading = reading };
    enum ap_element_outcome outcome;
    if (!reading->entries)
        AP_TRY(ap_element_reader_new(reading->json, entry_fields, ENTRY_FIELD_COUNT_, &reading->entries, reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_element_next(reading->entries, entry.spans, &outcome, &entry.offset_bytes, reterr));
        if (AP_LIKELY(outcome == AP_ELEMENT_READ))
            AP_TRY(take_entry(&entry, reterr));
        else
            ap_note(reading->notes,
                    outcome == AP_ELEMENT_NOT_OBJECT ? AP_COUNTER_entry_not_object : AP_COUNTER_event_too_large,
                    entry.offset_bytes);
    }
}

enum ap_status ap_reading_histories(struct ap_reading *reading, struct ap_error *reterr)
{
    struct ap_snapshot *to = reading->to;
    struct ap_json_token token;
    to->actions.count = 0; /* of two members the last one counts */
    to->history_count = 0;
    to->has &= ~AP_SNAPSHOT_HAS_HISTORY;
    AP_TRY_UNTIL_END(ap_reading_enter(reading, AP_JSON_ARRAY_BEGIN, reterr));
    to->has |= AP_SNAPSHOT_HAS_HISTORY;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(reading->json, &token, reterr));
        AP_TRY(ap_snapshot_add_history(to, reterr)); /* whatever it is, it takes a device's place */
        if (token.kind == AP_JSON_ARRAY_BEGIN) {
            AP_TRY(read_history(reading, reterr));
        } else {
            ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
            AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
        }
    }
}

static bool is_timed(const struct ap_actions *actions, uint32_t at)
{
    return actions->has[at] & AP_ACTION_HAS_TIME;
}

static bool lasts_a_month(const struct ap_actions *actions)
{
    int64_t least_ns = INT64_MAX, most_ns = INT64_MIN;
    for (uint32_t i = 0; i < actions->count; i++) {
        if (!is_timed(actions, i))
            continue;
        least_ns = actions->time_ns[i] < least_ns ? actions->time_ns[i] : least_ns;
        most_ns = actions->time_ns[i] > most_ns ? actions->time_ns[i] : most_ns;
    }
    return most_ns > least_ns && most_ns - least_ns > MONTH_NS;
}

static bool is_stray(const struct ap_actions *actions, uint32_t at, int64_t middle_ns)
{
    return is_timed(actions, at) &&
           (actions->time_ns[at] > middle_ns + MONTH_NS || actions->time_ns[at] < middle_ns - MONTH_NS);
}

/* Entries of another clock than most: rates and curves over time would be theirs. */
static uint32_t leave_strays(struct ap_actions *actions, int64_t middle_ns, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < actions->count; i++)
        count += is_stray(actions, i, middle_ns);
    for (uint32_t i = 0; i < actions->count && count <= most; i++) {
        if (is_stray(actions, i, middle_ns)) {
            actions->has[i] &= (uint8_t)~AP_ACTION_HAS_TIME;
            actions->time_ns[i] = 0;
        }
    }
    return count <= most ? count : 0;
}

enum ap_status ap_reading_leave_strays(const struct ap_reading *reading, struct ap_error *reterr)
{
    struct ap_actions *actions = &reading->to->actions;
    int64_t *times_ns;
    uint32_t count = 0;
    if (!lasts_a_month(actions))
        return AP_OK;
    AP_TRY(AP_ALLOC(reading->to->gate, times_ns, actions->count, reterr));
    for (uint32_t i = 0; i < actions->count; i++)
        if (is_timed(actions, i))
            times_ns[count++] = actions->time_ns[i];
    int64_t middle_ns = ap_quantile(times_ns, count, 50);
    AP_FREE(reading->to->gate, times_ns, actions->count);
    uint32_t strays = count > 2 ? leave_strays(actions, middle_ns, count / SOME + 1) : 0;
    if (strays)
        ap_note_many(reading->notes, AP_COUNTER_stray_entry, strays);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ annotations */

static enum ap_status read_annotation_member(struct ap_reading *reading, unsigned key, struct ap_annotation *annotation,
                                             struct ap_error *reterr)
{
    struct ap_json_token token;
    uint64_t number;
    bool known;
    switch (key) {
    case 0: return ap_reading_name(reading, &annotation->name, &known, reterr);
    case 1: return ap_reading_name(reading, &annotation->stage, &known, reterr);
    case 2:
        AP_TRY(ap_reading_id(reading, &number, &known, &token, reterr));
        annotation->device = known && number <= INT32_MAX ? (int32_t)number : -1;
        return AP_OK;
    case 3: return ap_reading_time(reading, &annotation->time_ns, &annotation->has_time, reterr);
    default: return ap_json_skip_value(reading->json, reterr);
    }
}

static enum ap_status read_annotation(struct ap_reading *reading, unsigned *next, struct ap_error *reterr)
{
    static const char *const keys[] = { "name", "stage", "device", "time_us" };
    struct ap_annotation annotation = { .name = { AP_NAME_UNKNOWN }, .device = -1 };
    struct ap_json_token key;
    uint64_t seen = 0;
    for (;;) {
        enum ap_status status = ap_json_next_key(reading->json, &key, reterr);
        if (status == AP_END)
            return ap_snapshot_add_annotation(reading->to, &annotation, reterr);
        if (status != AP_OK)
            return status;
        unsigned index = ap_reading_key(&key, keys, AP_COUNT_OF(keys), next);
        if (index < AP_COUNT_OF(keys))
            ap_json_seen(reading->json, &seen, index, key.offset_bytes);
        AP_TRY(read_annotation_member(reading, index, &annotation, reterr));
    }
}

enum ap_status ap_reading_annotations(struct ap_reading *reading, struct ap_error *reterr)
{
    struct ap_snapshot *to = reading->to;
    struct ap_json_token token;
    unsigned next = 0;
    to->annotation_count = 0; /* of two members the last one counts */
    to->odd_annotations = 0;
    to->has &= ~AP_SNAPSHOT_HAS_ANNOTATIONS;
    AP_TRY_UNTIL_END(ap_reading_enter(reading, AP_JSON_ARRAY_BEGIN, reterr));
    to->has |= AP_SNAPSHOT_HAS_ANNOTATIONS;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(reading->json, &token, reterr));
        if (token.kind == AP_JSON_OBJECT_BEGIN) {
            AP_TRY(read_annotation(reading, &next, reterr));
        } else {
            to->odd_annotations++;
            ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
            AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
        }
    }
}

/* --------------------------------------------------------------------------------------------------------- settings */

/* A decimal fraction of a few digits. strtod would ask the locale for its decimal point. */
static double small_decimal(const struct ap_json_token *token)
{
    double value = 0, scale = 1;
    bool fraction = false;
    for (size_t i = 0; i < token->text_bytes && value < 1e15; i++) {
        char c = token->text[i];
        if (c == '.') {
            fraction = true;
        } else if (ap_is_digit(c)) {
            value = value * 10 + (c - '0');
            scale = fraction ? scale * 10 : scale;
        } else {
            break; /* a share of 0..1 needs no exponent */
        }
    }
    return value / scale;
}

static enum ap_status read_setting(struct ap_reading *reading, unsigned key, struct ap_allocator_settings *settings,
                                   struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_reading_scalar(reading, &token, reterr));
    uint64_t number = 0;
    bool as_expected = false;
    switch (key) {
    case 0: /* PYTORCH_CUDA_ALLOC_CONF */
    case 1: /* PYTORCH_ALLOC_CONF, the new name: an empty one says nothing beside the other */
        as_expected = token.kind == AP_JSON_STRING;
        if (as_expected && (token.text_bytes || !settings->conf.id) &&
            (key == 0 || !ap_strpool_text(&reading->to->strings, settings->conf).bytes))
            AP_TRY(ap_reading_intern(reading, &token, &settings->conf, reterr));
        break;
    case 2: /* without limit: SIZE_MAX, as int64 -1 */
        as_expected = ap_reading_whole(&token, &number);
        settings->max_split_bytes = number <= INT64_MAX ? (int64_t)number : -1;
        settings->has |= as_expected ? AP_SETTING_HAS_MAX_SPLIT : 0;
        break;
    case 3:
        as_expected = token.kind == AP_JSON_NUMBER && *token.text != '-';
        settings->gc_threshold_ratio = as_expected ? small_decimal(&token) : 0;
        settings->has |= as_expected ? AP_SETTING_HAS_GC : 0;
        break;
    default:
        as_expected = token.kind == AP_JSON_TRUE || token.kind == AP_JSON_FALSE;
        settings->expandable_segments = token.kind == AP_JSON_TRUE;
        settings->has |= as_expected ? AP_SETTING_HAS_EXPANDABLE : 0;
        break;
    }
    if (!as_expected)
        ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
    return AP_OK;
}

enum ap_status ap_reading_settings(struct ap_reading *reading, struct ap_error *reterr)
{
    static const char *const keys[] = { "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "max_split_size",
                                        "garbage_collection_threshold", "expandable_segments" };
    struct ap_snapshot *to = reading->to;
    struct ap_json_token key;
    uint64_t seen = 0;
    unsigned next = 0;
    to->settings = (struct ap_allocator_settings){ .max_split_bytes = -1 };
    to->has &= ~AP_SNAPSHOT_HAS_SETTINGS;
    AP_TRY_UNTIL_END(ap_reading_enter(reading, AP_JSON_OBJECT_BEGIN, reterr));
    to->has |= AP_SNAPSHOT_HAS_SETTINGS;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        unsigned index = ap_reading_key(&key, keys, AP_COUNT_OF(keys), &next);
        if (index == AP_COUNT_OF(keys)) {
            AP_TRY(ap_json_skip_value(reading->json, reterr));
            continue;
        }
        ap_json_seen(reading->json, &seen, index, key.offset_bytes);
        AP_TRY(read_setting(reading, index, &to->settings, reterr));
    }
}
