/* SPDX-License-Identifier: MIT */
#include "event_kind.h"

#include <string.h>

#include "poison.h"

static const struct {
    const char *spelling;
    enum ap_event_kind kind;
} categories[] = {
#define AP_CATEGORY(spelling, kind) { spelling, AP_KIND_##kind },
#include "event_kind.def"
};

/* As members of a list: "toplevel,viz", "disabled-by-default-devtools.timeline". */
static const struct {
    const char *part;
    enum ap_event_kind kind;
} category_parts[] = {
#define AP_CATEGORY_PART(part, kind) { part, AP_KIND_##kind },
#include "event_kind.def"
};

static const char *const names[AP_KIND_COUNT_] = {
#define AP_KIND(kind) [AP_KIND_##kind] = #kind,
#include "event_kind.def"
};

static bool equal_folded(struct ap_text text, const char *lower)
{
    return text.bytes == strlen(lower) && ap_text_contains_folded(text, lower);
}

static bool ends_folded(struct ap_text text, const char *lower)
{
    size_t bytes = strlen(lower);
    return text.bytes > bytes && ap_text_contains_folded((struct ap_text){ text.data + text.bytes - bytes, bytes }, lower);
}

/* Is one of the list, up to a full stop behind it or a prefix of "disabled-by-default-", @part? */
static bool has_member(struct ap_text list, const char *part)
{
    static const char off[] = "disabled-by-default-";
    struct ap_text rest = list, member;
    size_t bytes = strlen(part);
    while (ap_text_next_part(&rest, ',', &member)) {
        if (ap_text_starts_with(member, off))
            member = (struct ap_text){ member.data + sizeof(off) - 1, member.bytes - (sizeof(off) - 1) };
        if (ap_text_starts_with(member, part) && (member.bytes == bytes || member.data[bytes] == '.'))
            return true;
    }
    return false;
}

enum ap_event_kind ap_event_kind_of(struct ap_text category)
{
    for (size_t i = 0; i < AP_COUNT_OF(categories); i++)
        if (equal_folded(category, categories[i].spelling))
            return categories[i].kind;
    for (size_t i = 0; i < AP_COUNT_OF(category_parts); i++)
        if (has_member(category, category_parts[i].part))
            return category_parts[i].kind;
    if (ends_folded(category, "_runtime") || ends_folded(category, "_driver"))
        return AP_KIND_runtime;
    return AP_KIND_unknown;
}

const char *ap_event_kind_name(enum ap_event_kind kind)
{
    return names[kind];
}
