/* SPDX-License-Identifier: MIT */
#include "prose_words.h"

#include <string.h>

#include "code_point.h"

#include "poison.h"

struct taker {
    void (*take)(void *self, bool is_code, struct ap_text part);
    void *self;
};

static void put_text(const struct taker *to, struct ap_text text)
{
    if (text.bytes)
        to->take(to->self, false, text);
}

bool ap_code_is_padded(struct ap_text code)
{
    if (code.bytes < 3 || code.data[0] != ' ' || code.data[code.bytes - 1] != ' ')
        return false;
    for (size_t i = 1; i < code.bytes; i++)
        if (code.data[i] != ' ')
            return true;
    return false;
}

/* GitHub links what may be a commit. */
static bool looks_like_hash(struct ap_text word)
{
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < word.bytes; i++) {
        char c = word.data[i];
        digits += ap_is_digit(c);
        letters += (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    }
    return digits && letters && digits + letters >= 7 && digits + letters == word.bytes;
}

/* Would some dialect make more of this word than text, after parsing? Then it has to be code. */
static bool needs_code(struct ap_text word)
{
    size_t colons = 0;
    bool has_w = false, has_dash = false;
    for (size_t at = 0; at < word.bytes;) {
        size_t start = at;
        uint32_t code_point = ap_code_point_next(word, &at);
        if (ap_code_point_is_hidden(code_point) || (at == start + 1 && memchr("@#$_\\", word.data[start], 5)))
            return true;
        colons += code_point == ':';
        has_w |= code_point == 'w' || code_point == 'W';
        has_dash |= code_point == '-';
    }
    return colons > 1 || looks_like_hash(word) || (colons && ap_text_contains(word, AP_TEXT("://"))) ||
           (has_w && ap_text_contains_folded(word, "www")) /* a full stop may follow */ ||
           (has_dash && ap_text_contains_folded(word, "gh-"));
}

static bool has_open_parenthesis(struct ap_text word, size_t first, size_t last)
{
    size_t open = 0;
    for (size_t i = first; i < last; i++) {
        open += word.data[i] == '(';
        open -= open && word.data[i] == ')';
    }
    return open > 0;
}

/* (some_name), becomes (`some_name`), */
static void take_word(const struct taker *to, struct ap_text word)
{
    if (!needs_code(word)) {
        put_text(to, word);
        return;
    }
    size_t first = 0, last = word.bytes;
    while (first < last && memchr("(\"'", word.data[first], 3))
        first++;
    while (last > first && memchr(".,;:?)\"'", word.data[last - 1], 8))
        last--;
    /* calls keep their parentheses: torch.cuda.empty_cache() */
    while (last < word.bytes && word.data[last] == ')' && has_open_parenthesis(word, first, last))
        last++;
    if (last == first) {
        first = 0;
        last = word.bytes;
    }
    put_text(to, (struct ap_text){ word.data, first });
    to->take(to->self, true, (struct ap_text){ word.data + first, last - first });
    put_text(to, (struct ap_text){ word.data + last, word.bytes - last });
}

static size_t run_of_backticks(struct ap_text text, size_t at)
{
    size_t end = at;
    while (end < text.bytes && text.data[end] == '`')
        end++;
    return end - at;
}

/* Start of the fence that closes one of @fence back-ticks opened before @at; text.bytes where there is none. */
static size_t closing_fence(struct ap_text text, size_t at, size_t fence)
{
    while (at < text.bytes) {
        size_t run = run_of_backticks(text, at);
        if (run == fence)
            return at;
        at += run ? run : 1;
    }
    return text.bytes;
}

/* A span or, where nothing closes it, back-ticks as text. Returns where to go on. */
static size_t take_backticks(const struct taker *to, struct ap_text text, size_t at)
{
    size_t fence = run_of_backticks(text, at);
    size_t inner = at + fence, end = closing_fence(text, inner, fence);
    if (end == text.bytes || end == inner) {
        put_text(to, (struct ap_text){ text.data + at, fence });
        return inner;
    }
    struct ap_text code = { text.data + inner, end - inner };
    if (ap_code_is_padded(code))
        code = (struct ap_text){ code.data + 1, code.bytes - 2 };
    to->take(to->self, true, code);
    return end + fence;
}

void ap_prose_words(struct ap_text text, void (*take)(void *self, bool is_code, struct ap_text part), void *self)
{
    struct taker to = { take, self };
    for (size_t at = 0; at < text.bytes;) {
        if (text.data[at] == '`') {
            at = take_backticks(&to, text, at);
            continue;
        }
        size_t end = at;
        bool space = ap_is_space(text.data[at]);
        while (end < text.bytes && text.data[end] != '`' && ap_is_space(text.data[end]) == space)
            end++;
        if (space)
            put_text(&to, AP_TEXT(" "));
        else
            take_word(&to, (struct ap_text){ text.data + at, end - at });
        at = end;
    }
}
