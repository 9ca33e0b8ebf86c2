/* SPDX-License-Identifier: MIT */
#include "name_pattern.h"

#include <string.h>

#include "poison.h"

struct ap_name_pattern {
    struct ap_text part;
    uint64_t pairs; /* one bit for each pair of neighboring letters, by a small hash */
    uint32_t entry;
    bool open_start, open_end, has_gaps; /* a '*' at an end; within */
};

static uint64_t pairs_of(struct ap_text text)
{
    uint64_t pairs = 0;
    for (size_t i = 1; i < text.bytes; i++) {
        unsigned pair = (unsigned)(uint8_t)text.data[i - 1] * 31 + (uint8_t)text.data[i];
        pairs |= (uint64_t)1 << (pair * 0x9e3779b1u >> 26);
    }
    return pairs;
}

/* Anything may stand where a '*' does, so that no pair with it is needed. */
static uint64_t pairs_of_pieces(struct ap_text rest)
{
    uint64_t pairs = 0;
    struct ap_text piece;
    while (ap_text_next_part(&rest, '*', &piece))
        pairs |= pairs_of(piece);
    return pairs;
}

static enum ap_status add(struct ap_name_patterns *set, struct ap_text text, uint32_t entry, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(set->gate, set->patterns, set->capacity, set->count + 1, reterr));
    struct ap_name_pattern *pattern = &set->patterns[set->count++];
    bool open_start = text.bytes && text.data[0] == '*';
    bool open_end = text.bytes > open_start && text.data[text.bytes - 1] == '*';
    *pattern = (struct ap_name_pattern){ .entry = entry, .open_start = open_start, .open_end = open_end };
    pattern->part = (struct ap_text){ text.data + open_start, text.bytes - open_start - open_end };
    pattern->has_gaps = pattern->part.bytes && memchr(pattern->part.data, '*', pattern->part.bytes);
    pattern->pairs = pattern->has_gaps ? pairs_of_pieces(pattern->part) : pairs_of(pattern->part);
    return AP_OK;
}

enum ap_status ap_name_patterns_init(struct ap_name_patterns *set, struct ap_gate *gate, const char *const *entries,
                                     size_t entry_count, struct ap_error *reterr)
{
    *set = (struct ap_name_patterns){ .gate = gate };
    for (size_t i = 0; i < entry_count; i++) {
        for (const char *at = entries[i], *end = at + strlen(at); at < end;) {
            const char *bar = memchr(at, '|', (size_t)(end - at));
            size_t bytes = (size_t)((bar ? bar : end) - at);
            AP_TRY(add(set, (struct ap_text){ at, bytes }, (uint32_t)i, reterr));
            at += bytes + 1;
        }
    }
    return AP_OK;
}

void ap_name_patterns_release(struct ap_name_patterns *set)
{
    AP_FREE(set->gate, set->patterns, set->capacity);
    *set = (struct ap_name_patterns){ .gate = set->gate };
}

/* Where the piece stands in the name, from its beginning on; bytes of the name where it does not. */
static size_t find(struct ap_text name, struct ap_text piece)
{
    for (size_t at = 0; at + piece.bytes <= name.bytes; at++)
        if (memcmp(name.data + at, piece.data, piece.bytes) == 0)
            return at;
    return name.bytes;
}

/* The pieces between the stars stand in the name one behind the other, each as early as it can. */
static bool matches_pieces(const struct ap_name_pattern *pattern, struct ap_text name)
{
    struct ap_text rest = pattern->part;
    for (bool is_first = true;; is_first = false) {
        const char *star = memchr(rest.data, '*', rest.bytes);
        struct ap_text piece = { rest.data, star ? (size_t)(star - rest.data) : rest.bytes };
        if (piece.bytes > name.bytes)
            return false;
        if (!star && !pattern->open_end)
            return memcmp(name.data + name.bytes - piece.bytes, piece.data, piece.bytes) == 0;
        size_t at = find(name, piece);
        if ((at == name.bytes && piece.bytes) || (is_first && !pattern->open_start && at))
            return false;
        if (!star)
            return true;
        name = (struct ap_text){ name.data + at + piece.bytes, name.bytes - at - piece.bytes };
        rest = (struct ap_text){ star + 1, rest.bytes - piece.bytes - 1 };
    }
}

static bool matches(const struct ap_name_pattern *pattern, struct ap_text name)
{
    struct ap_text part = pattern->part;
    if (pattern->has_gaps)
        return matches_pieces(pattern, name);
    if (name.bytes < part.bytes)
        return false;
    if (pattern->open_start && pattern->open_end)
        return ap_text_contains(name, part);
    if (!pattern->open_start && !pattern->open_end && name.bytes != part.bytes)
        return false;
    return memcmp(pattern->open_start ? name.data + name.bytes - part.bytes : name.data, part.data, part.bytes) == 0;
}

size_t ap_name_patterns_first(const struct ap_name_patterns *set, struct ap_text name, size_t entry_count)
{
    uint64_t pairs = pairs_of(name);
    for (size_t i = 0; i < set->count; i++)
        if ((set->patterns[i].pairs & ~pairs) == 0 && matches(&set->patterns[i], name))
            return set->patterns[i].entry;
    return entry_count;
}

uint64_t ap_name_patterns_all(const struct ap_name_patterns *set, struct ap_text name)
{
    uint64_t pairs = pairs_of(name);
    uint64_t entries = 0;
    for (size_t i = 0; i < set->count; i++)
        if ((set->patterns[i].pairs & ~pairs) == 0 && matches(&set->patterns[i], name))
            entries |= (uint64_t)1 << set->patterns[i].entry;
    return entries;
}
