/* SPDX-License-Identifier: MIT
 * compile_kinds.c - what the words of a reason mean. */
#include "compile_log.h"

#include <string.h>

#include "poison.h"

struct kind {
    const char *name, *words, *what;
};

static const struct kind breaks[AP_BREAK_COUNT_] = {
#define AP_BREAK(id, words, what) { #id, words, what },
#include "break_kind.def"
#undef AP_BREAK
    { "other", "", "something else" },
};

static const struct kind recompiles[AP_RECOMPILE_COUNT_] = {
#define AP_RECOMPILE(id, words, what) { #id, words, what },
#include "recompile_kind.def"
#undef AP_RECOMPILE
    { "other", "", "something else" },
};

static bool has_any(struct ap_text text, const char *words)
{
    char word[64];
    for (size_t bytes; (bytes = strcspn(words, "|")) > 0; words += bytes + (words[bytes] == '|')) {
        if (bytes >= sizeof(word))
            continue;
        memcpy(word, words, bytes);
        word[bytes] = '\0';
        if (ap_text_contains_folded(text, word))
            return true;
    }
    return false;
}

static size_t find_kind(const struct kind *kinds, size_t count, struct ap_text reason)
{
    size_t i = 0;
    while (i + 1 < count && !has_any(reason, kinds[i].words))
        i++;
    return i;
}

enum ap_break_kind ap_break_kind_of(struct ap_text reason)
{
    return (enum ap_break_kind)find_kind(breaks, AP_BREAK_COUNT_, reason);
}

enum ap_recompile_kind ap_recompile_kind_of(struct ap_text reason)
{
    return (enum ap_recompile_kind)find_kind(recompiles, AP_RECOMPILE_COUNT_, reason);
}

const char *ap_break_kind_name(enum ap_break_kind kind)
{
    return breaks[kind].name;
}

const char *ap_recompile_kind_name(enum ap_recompile_kind kind)
{
    return recompiles[kind].name;
}

const char *ap_break_kind_what(enum ap_break_kind kind)
{
    return breaks[kind].what;
}

const char *ap_recompile_kind_what(enum ap_recompile_kind kind)
{
    return recompiles[kind].what;
}
