/* SPDX-License-Identifier: MIT */
#include "kernel_name.h"

#include <string.h>

#include "poison.h"

/* In whatever case it is written. */
static bool follows(struct ap_text name, size_t at, struct ap_text lower)
{
    if (name.bytes - at < lower.bytes)
        return false;
    for (size_t i = 0; i < lower.bytes; i++)
        if (ap_folded(name.data[at + i]) != lower.data[i])
            return false;
    return true;
}

static struct ap_text after(struct ap_text name, size_t bytes)
{
    return (struct ap_text){ name.data + bytes, name.bytes - bytes };
}

/* Templates over result types are written with them: std::enable_if<..., void>::type kernel<...>(...) */
struct ap_text ap_kernel_without_result(struct ap_text name)
{
    const struct ap_text end = AP_TEXT("::type ");
    if (follows(name, 0, AP_TEXT("void ")))
        name = after(name, 5);
    if (!follows(name, 0, AP_TEXT("std::enable_if")))
        return name;
    for (size_t at = 0; at + end.bytes <= name.bytes; at++)
        if (follows(name, at, end))
            return after(name, at + end.bytes);
    return name;
}

size_t ap_kernel_unnamed_bytes(struct ap_text name, size_t at)
{
    static const char *const spellings[] = { "(anonymous namespace)::", "<unnamed>::" };
    for (size_t i = 0; i < AP_COUNT_OF(spellings); i++)
        if (follows(name, at, ap_text_of(spellings[i])))
            return strlen(spellings[i]);
    return 0;
}

static bool is_of_identifier(char c)
{
    return ap_is_digit(c) || (ap_folded(c) >= 'a' && ap_folded(c) <= 'z') || c == '_' || c == '~';
}

static bool begins_arguments(struct ap_text name, size_t at)
{
    return at < name.bytes && (name.data[at] == '<' || name.data[at] == '(');
}

struct ap_text ap_kernel_short_name(struct ap_text name)
{
    struct ap_text whole = ap_kernel_without_result(name);
    size_t begin = 0, at = 0;
    for (size_t step = 1; step && at < whole.bytes; at += step) {
        size_t unnamed = ap_kernel_unnamed_bytes(whole, at);
        bool is_scope = whole.data[at] == ':' && at + 1 < whole.bytes && whole.data[at + 1] == ':';
        step = unnamed ? unnamed : is_scope ? 2 : is_of_identifier(whole.data[at]) ? 1 : 0;
        if (unnamed || is_scope)
            begin = at + step;
    }
    bool has_result = whole.bytes < name.bytes, has_arguments = begins_arguments(whole, at);
    bool is_call = has_arguments && whole.data[whole.bytes - 1] == ')';
    bool is_kernel = begin < at && (is_call || (has_result && (has_arguments || at == whole.bytes)));
    return is_kernel ? (struct ap_text){ whole.data + begin, at - begin } : name;
}

int ap_kernel_element_bytes(struct ap_text kernel)
{
    static const char word[] = "OpaqueType<";
    for (size_t at = 0; at + sizeof(word) <= kernel.bytes; at++) {
        char digit = kernel.data[at + sizeof(word) - 1];
        if (memcmp(kernel.data + at, word, sizeof(word) - 1) == 0)
            return digit > '0' && digit <= '8' ? digit - '0' : 0;
    }
    return 0;
}
