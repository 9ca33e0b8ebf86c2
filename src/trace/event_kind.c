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

static const struct {
    const char *name, *meaning;
} kinds[AP_KIND_COUNT_] = {
#define AP_KIND(kind, sentence) [AP_KIND_##kind] = { #kind, sentence },
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

enum ap_event_kind ap_event_kind_of(struct ap_text category)
{
    for (size_t i = 0; i < AP_COUNT_OF(categories); i++)
        if (equal_folded(category, categories[i].spelling))
            return categories[i].kind;
    if (ends_folded(category, "_runtime") || ends_folded(category, "_driver"))
        return AP_KIND_runtime;
    return AP_KIND_unknown;
}

const char *ap_event_kind_name(enum ap_event_kind kind)
{
    return kinds[kind].name;
}

const char *ap_event_kind_meaning(enum ap_event_kind kind)
{
    return kinds[kind].meaning;
}
