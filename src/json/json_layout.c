/* SPDX-License-Identifier: MIT */
#include "json_layout.h"

#include <string.h>

#include "json_internal.h"

#include "poison.h"

/* How far behind the start of a string its true end is looked for. */
#define RECOVER_MAX_BYTES ((ptrdiff_t)16 << 10)

static void forget_followers(struct ap_element_reader *element, struct ap_gap *gap)
{
    for (unsigned i = 0; i < AP_GAP_FOLLOWERS; i++)
        gap->followers[i] = &element->never;
}

static struct ap_text key_text(struct ap_element_reader *element, const uint8_t *start, const uint8_t *end, unsigned flags,
                               bool *ret_known)
{
    struct ap_text raw = { (const char *)start, (size_t)(end - start) };
    *ret_known = true;
    if (!(flags & AP_STRING_DECODE))
        return raw;
    /* A key with escapes: decode it; keys of more than a few dozen bytes are none of ours. */
    if (raw.bytes * 3 > element->key_capacity) {
        *ret_known = false;
        return raw;
    }
    raw.bytes = ap_json_decode(raw.data, raw.bytes, element->key);
    raw.data = element->key;
    return raw;
}

/* Mostly there is little: then without a call. */
static inline const uint8_t *skip_space(const struct ap_scan *scan, const uint8_t *at)
{
    at += *at == ' ';
    return AP_LIKELY(*at > ' ') ? at : scan->ops->space(at);
}

/* Here or in Python; "nan" begins likewise. */
static bool is_null(const struct ap_scan *scan, const uint8_t *at)
{
    return scan->end - at >= 2 && ((at[0] == 'n' && at[1] == 'u') || (at[0] == 'N' && at[1] == 'o'));
}

/* Key, colon and white space up to the value. */
static enum ap_scan_result parse_key(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p,
                                     struct ap_gap *gap, struct ap_text *ret_key, bool *ret_known)
{
    const uint8_t *at = *p;
    unsigned flags = 0;
    if (*at != '"')
        return ap_scan_bad(scan, at, "a key in quotation marks");
    const uint8_t *start = ++at;
    uint32_t controls = scan->odds.count[AP_ODD_RAW_CONTROL];
    enum ap_scan_result result = scan->ops->string(scan, &at, &flags);
    if (result != AP_SCAN_OK)
        return result;
    *ret_key = key_text(element, start, at, flags, ret_known);
    if (flags || controls != scan->odds.count[AP_ODD_RAW_CONTROL])
        gap->learnable = false;
    at = skip_space(scan, at + 1);
    if (*at != ':')
        return ap_scan_bad(scan, at, "a colon");
    *p = skip_space(scan, at + 1);
    return AP_SCAN_OK;
}

static void mark_key(struct ap_scan *scan, struct ap_gap *gap, const struct ap_name *name, const uint8_t *at)
{
    uint64_t bit = name ? name->bit : 0;
    if (gap->seen & bit) {
        ap_scan_odd(scan, AP_ODD_DUPLICATE, at);
        gap->learnable = false;
    }
    gap->seen |= bit;
}

#define KEYS_OF_ELEMENT (((uint64_t)1 << AP_ELEMENT_KEYS) - 1)

/* So far the gap has seen its own keys alone. */
static void see_keys_before(struct ap_gap *gap, uint64_t before)
{
    gap->repeated = gap->seen & before & (gap->enters ? KEYS_OF_ELEMENT : UINT64_MAX);
    gap->seen |= gap->enters ? before & KEYS_OF_ELEMENT : before;
}

/* To be parsed into: another one than @before. What it says is set at the end. */
static struct ap_gap *blank_gap(struct ap_element_reader *element, const struct ap_gap *before)
{
    struct ap_gap *gap = &element->parsed_gaps[before == &element->parsed_gaps[0]];
    gap->guess.shape[0] = AP_NO_SHAPE;
    gap->guess.upto = 1;
    gap->guess.bytes = AP_NO_GUESS;
    gap->field = (uint8_t)element->field_count;
    gap->enters = false;
    gap->learnable = true;
    gap->seen = 0;
    return gap;
}

enum ap_scan_result ap_layout_parse_gap(struct ap_scan *scan, struct ap_element_reader *element, const struct ap_gap *before,
                                        const uint8_t **p)
{
    const uint8_t *at = *p;
    uint8_t level = before->level, parent = before->parent;
    bool opened = before == element->gaps;
    struct ap_gap *gap = blank_gap(element, before);
    for (;;) {
        at = skip_space(scan, at);
        if (*at == '}') {
            at++;
            if (level == 0) {
                gap->action = AP_GAP_END;
                break;
            }
            level = 0;
            opened = false;
            continue;
        }
        if (!opened) {
            if (*at != ',')
                return ap_scan_bad(scan, at, "a comma or a closing brace");
            at = skip_space(scan, at + 1);
        }
        struct ap_text key;
        bool known;
        const uint8_t *key_at = at;
        enum ap_scan_result result = parse_key(scan, element, &at, gap, &key, &known);
        if (result != AP_SCAN_OK)
            return result;
        const struct ap_name *name = known ? ap_names_meet(&element->names, level, key) : NULL;
        mark_key(scan, gap, name, key_at);
        uint8_t wanted = level == 0 && name ? name->parent : AP_NO_FIELD;
        if (wanted != AP_NO_FIELD && *at == '{') {
            at++;
            level = 1;
            opened = true;
            gap->enters = true;
            parent = wanted;
            gap->seen &= KEYS_OF_ELEMENT;
            continue;
        }
        gap->field = ap_names_field(&element->names, name, parent);
        if (wanted != AP_NO_FIELD && !is_null(scan, at)) /* which says that there is none */
            ap_scan_odd(scan, AP_ODD_MEMBER_TYPE, at);
        /* A member object that is none here: learned, its gap would also fit where it is one and must be entered. */
        if (level == 0 && (!known || wanted != AP_NO_FIELD))
            gap->learnable = false;
        gap->action = *at == '"' ? AP_GAP_STRING : AP_GAP_OTHER;
        at += *at == '"';
        break;
    }
    if (at >= scan->end && gap->action == AP_GAP_OTHER)
        return ap_scan_bad(scan, scan->end, "a value");
    gap->level = level;
    gap->parent = level ? parent : AP_NO_FIELD;
    see_keys_before(gap, before->seen);
    gap->fields_end = before->fields_end;
    if (gap->field != element->field_count && gap->field >= gap->fields_end)
        gap->fields_end = (uint8_t)(gap->field + 1);
    gap->way = gap->repeated ? AP_GAP_END : gap->action;
    element->parsed = gap;
    *p = at;
    return AP_SCAN_OK;
}

static bool same_gap(const struct ap_gap *a, const struct ap_gap *b, const struct ap_gap *before, const uint8_t *text,
                     size_t bytes)
{
    return a->before == before && a->bytes == bytes && a->level == b->level && a->field == b->field &&
           a->action == b->action && a->enters == b->enters && a->parent == b->parent && a->seen == b->seen &&
           a->repeated == b->repeated && memcmp(a->text, text, bytes) == 0;
}

static void forget_starts(struct ap_element_reader *element)
{
    for (unsigned i = 0; i < AP_STARTS_KNOWN; i++)
        element->starts[i].gap = NULL;
}

void ap_layout_init(struct ap_element_reader *element)
{
    forget_starts(element);
    element->never = (struct ap_gap){ .action = AP_GAP_NEVER };
    element->gaps[0] = (struct ap_gap){ .bytes = 0 };
    forget_followers(element, &element->never);
    forget_followers(element, &element->gaps[0]);
    for (unsigned i = 0; i < AP_COUNT_OF(element->parsed_gaps); i++)
        forget_followers(element, &element->parsed_gaps[i]);
    element->gap_count = 1;
}

static struct ap_gap *add_gap(struct ap_element_reader *element, const struct ap_gap *gap, const struct ap_gap *before,
                              const uint8_t *text, size_t bytes)
{
    if (element->gap_count == AP_GAP_MAX_COUNT)
        return NULL;
    struct ap_gap *added = &element->gaps[element->gap_count++];
    *added = *gap;
    memcpy(added->text, text, bytes);
    added->bytes = (uint8_t)bytes;
    added->before = before;
    added->needed = bytes == 64 ? UINT64_MAX : ((uint64_t)1 << bytes) - 1;
    forget_followers(element, added);
    return added;
}

/* When the table is full the layout has changed for good, or has no pattern at all: begin anew a few times, then leave
 * the rest of the file to the grammar. */
static void begin_anew(struct ap_element_reader *element)
{
    if (element->resets < 64) {
        element->resets++;
        element->gap_count = 1;
        memset(element->gap_slots, 0, sizeof(element->gap_slots));
        forget_followers(element, &element->gaps[0]);
        forget_starts(element);
    }
}

/* The gap behind @before that says what element->parsed does, found or added; NULL where there is no room. */
static struct ap_gap *learned_gap(struct ap_element_reader *element, const struct ap_gap *before, const uint8_t *text,
                                  size_t bytes)
{
    const struct ap_hash_key *key = element->names.hash_key;
    uint64_t hash = ap_hash_pair(key, ap_hash_bytes(key, text, bytes), (uint64_t)(before - element->gaps));
    uint16_t *slot = &element->gap_slots[hash % AP_GAP_SLOTS];
    for (; *slot; slot = slot + 1 < element->gap_slots + AP_GAP_SLOTS ? slot + 1 : element->gap_slots)
        if (same_gap(&element->gaps[*slot], element->parsed, before, text, bytes))
            return &element->gaps[*slot];
    struct ap_gap *added = add_gap(element, element->parsed, before, text, bytes);
    if (added)
        *slot = (uint16_t)(added - element->gaps);
    return added;
}

struct ap_gap *ap_layout_learn(struct ap_element_reader *element, struct ap_gap *before, const uint8_t *text, size_t bytes)
{
    if (!element->parsed->learnable || bytes > AP_GAP_MAX_BYTES || element->resets == 64)
        return NULL;
    struct ap_gap *gap = learned_gap(element, before, text, bytes);
    if (!gap) {
        begin_anew(element);
        return NULL;
    }
    memmove(before->followers + 1, before->followers, (AP_GAP_FOLLOWERS - 1) * sizeof(before->followers[0]));
    before->followers[0] = gap;
    return gap;
}

/* The gap at @at of those that follow @before. NULL: none, or one that says more than which value comes next. */
static const struct ap_gap *plain_follower(const struct ap_element_reader *element, const struct ap_gap *before,
                                           const uint8_t *at)
{
    for (unsigned i = 0; i < AP_GAP_FOLLOWERS && before->followers[i] != &element->never; i++) {
        const struct ap_gap *gap = before->followers[i];
        if (memcmp(gap->text, at, gap->bytes) == 0)
            return gap->enters || gap->action == AP_GAP_END ? NULL : gap;
    }
    return NULL;
}

/* Bytes of a string of few characters that stand for themselves; 0 where it is another one. */
static unsigned short_string_bytes(const uint8_t *at)
{
    unsigned bytes = 0;
    while (bytes < AP_GAP_MAX_BYTES && at[bytes] >= 0x20 && at[bytes] < 0x7f && at[bytes] != '"' && at[bytes] != '\\')
        bytes++;
    return at[bytes] == '"' ? bytes : 0;
}

/* Into *start; returns the gap behind its last value and the bytes up to there, NULL where nothing repeats. */
static const struct ap_gap *walk_start(const struct ap_element_reader *element, const uint8_t *at,
                                       struct ap_known_start *start, unsigned *ret_bytes)
{
    const struct ap_gap *gap = plain_follower(element, element->gaps, at);
    unsigned bytes = 0;
    for (; gap && !gap->repeated; gap = plain_follower(element, gap, at + bytes)) {
        bytes += gap->bytes;
        bool repeats = gap->action == AP_GAP_STRING && gap->field < element->field_count &&
                       element->fields[gap->field].strings == AP_STRINGS_REPEAT &&
                       start->value_count < AP_COUNT_OF(start->values);
        unsigned value_bytes = repeats && bytes < AP_GAP_MAX_BYTES ? short_string_bytes(at + bytes) : 0;
        *ret_bytes = bytes;
        if (!value_bytes)
            return start->value_count ? gap : NULL;
        start->values[start->value_count++] = (struct ap_start_value){ gap->field, (uint8_t)bytes, (uint8_t)value_bytes };
        bytes += value_bytes + 1;
        if (bytes >= AP_GAP_MAX_BYTES)
            return NULL;
    }
    return NULL;
}

void ap_layout_learn_start(struct ap_element_reader *element, const uint8_t *at)
{
    struct ap_known_start start = { .value_count = 0 };
    unsigned bytes;
    if (element->start_tries == AP_START_TRIES || element->resets == 64)
        return;
    element->start_tries++;
    const struct ap_gap *gap = walk_start(element, at, &start, &bytes);
    if (!gap || bytes > AP_GAP_MAX_BYTES)
        return;
    unsigned first_at = start.values[0].at, last_at = start.values[start.value_count - 1].at;
    if (!element->start_first_at) {
        element->start_first_at = (uint8_t)first_at;
        element->start_last_at = (uint8_t)(last_at + sizeof(uint64_t) <= bytes ? last_at : 0);
    }
    /* Places are told by bytes that are part of the start. */
    if (element->start_first_at >= bytes || element->start_last_at + sizeof(uint64_t) > bytes)
        return;
    struct ap_known_start *place = ap_layout_start(element, at);
    if (place->gap)
        return;
    start.gap = add_gap(element, gap, element->gaps, at, bytes);
    if (start.gap)
        *place = start;
}

void ap_layout_forget_members(struct ap_element_reader *element, uint64_t keys)
{
    const struct ap_names *names = &element->names;
    for (unsigned i = 0; i < element->field_count && keys & names->any_parent; i++)
        if (keys & names->parent_bits[i])
            element->spans[i].kind = AP_SPAN_ABSENT;
}

/* Is @at a quote that ends a string, seen from what follows: , "known key" : */
static bool ends_string(const struct ap_scan *scan, const struct ap_element_reader *element, const uint8_t *at)
{
    at = scan->ops->space(at + 1);
    if (*at != ',')
        return false;
    at = scan->ops->space(at + 1);
    if (*at != '"')
        return false;
    const uint8_t *key = ++at;
    while (at < scan->end && *at != '"' && at - key < 64)
        at++;
    if (at >= scan->end || *at != '"' || *scan->ops->space(at + 1) != ':')
        return false;
    struct ap_text text = { (const char *)key, (size_t)(at - key) };
    const struct ap_name *name = ap_names_find(&element->names, 0, text);
    return name && (name->field != element->field_count || name->parent != AP_NO_FIELD);
}

enum ap_scan_result ap_layout_recover_quote(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t *start,
                                            const uint8_t **p)
{
    const uint8_t *bad_at = scan->at;
    const char *bad_expected = scan->expected;
    for (const uint8_t *at = *p; at - start < RECOVER_MAX_BYTES && *at != '\n'; at++) {
        if (at >= scan->end)
            return ap_scan_bad(scan, scan->end, "the rest of an event");
        if (*at == '"' && ends_string(scan, element, at)) {
            ap_scan_odd(scan, AP_ODD_QUOTE, start);
            *p = at + 1;
            return AP_SCAN_OK;
        }
    }
    scan->at = bad_at;
    scan->expected = bad_expected;
    return AP_SCAN_BAD;
}
