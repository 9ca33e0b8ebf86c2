/* SPDX-License-Identifier: MIT
 * json_string.c - the parts of strings and literals that are rare enough not to need wide instructions. */
#include <string.h>

#include "json_scan.h"

#include "poison.h"

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits at @p, -1 where they are not hexadecimal digits. */
static int32_t hex4(const uint8_t *p)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static bool is_high_surrogate(int32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low_surrogate(int32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

static bool is_letter(uint8_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_of_name(uint8_t c)
{
    switch (c) {
    case '_':
    case '-':
    case '+':
    case '.':
    case '~':
    case '/': return true;
    default: return (c >= '0' && c <= '9') || is_letter(c);
    }
}

static bool is_quote_or_colon(uint8_t c)
{
    return c == '"' || c == ':';
}

static bool is_not_of_path(uint8_t c)
{
    return !is_of_name(c) && c != '\\';
}

#define LOOK_BACK_MAX_BYTES (AP_SCAN_LOOK_BACK_BYTES - 2)

/* Behind the nearest byte before @from that @stops, or as far back as one looks. A path has many backslashes: each looks
 * back to the one before it, and sees then what that one saw. */
static const uint8_t *look_back(struct ap_look *last, const uint8_t *from, bool (*stops)(uint8_t))
{
    const uint8_t *least = from - LOOK_BACK_MAX_BYTES, *at = from;
    while (at > least && at != last->from && !stops(at[-1]))
        at--;
    if (at > least && at == last->from)
        at = last->to > least ? last->to : least;
    *last = (struct ap_look){ from, at };
    return at;
}

/* The backslash of "C:\" where that stands before, in the same string and with no other colon between; else NULL. Only
 * there, and in what is_path() knows, is a backslash that escapes nothing taken for one: all else stays refused. */
static const uint8_t *drive_before(struct ap_scan *scan, const uint8_t *backslash)
{
    const uint8_t *at = look_back(&scan->to_colon, backslash, is_quote_or_colon);
    bool is_drive = backslash - at < LOOK_BACK_MAX_BYTES && at[-1] == ':' && is_letter(at[-2]) && at[0] == '\\';
    return is_drive ? at : NULL;
}

/* Has one of the names behind the backslash an ending? MORE where that is not to be seen yet. */
static enum ap_scan_result find_ending(struct ap_scan *scan, const uint8_t *backslash, bool *ret_is_there)
{
    const uint8_t *end = backslash + 1, *most = backslash + AP_SCAN_LOOK_BACK_BYTES;
    *ret_is_there = scan->to_ending.from < backslash && backslash < scan->to_ending.to;
    for (; !*ret_is_there && end < most && !is_not_of_path(*end); end++)
        if (*end == '.' && is_letter(end[1])) {
            scan->to_ending = (struct ap_look){ backslash, end };
            *ret_is_there = true;
        }
    return *ret_is_there || end < scan->end ? AP_SCAN_OK : ap_scan_bad(scan, scan->end, "the rest of a string");
}

/* Where nothing but a path stands between the quote and the backslash: "C:/log\x", ".\log\x", "\\host\x", and names one of
 * which has an ending, "log\x.json". MORE where that is not to be seen yet. */
static enum ap_scan_result is_path(struct ap_scan *scan, const uint8_t *backslash, bool *ret_is_path)
{
    const uint8_t *start = look_back(&scan->to_start, backslash, is_not_of_path);
    *ret_is_path = false;
    bool of_host = start[0] == '\\' && start[1] == '\\' && is_of_name(start[2]) && start + 2 < backslash;
    bool of_drive = start[-1] == ':' && is_letter(start[-2]) && start[-3] == '"';
    if (!of_drive && (start[-1] != '"' || !(of_host || is_of_name(start[0]))))
        return AP_SCAN_OK;
    *ret_is_path = of_drive || of_host || start[0] == '.' || start[0] == '~';
    return *ret_is_path ? AP_SCAN_OK : find_ending(scan, backslash, ret_is_path);
}

/* The backslash at *p, whose escape is broken at @broken. */
static enum ap_scan_result take_bare_backslash(struct ap_scan *scan, const uint8_t **p, const uint8_t *broken,
                                               const char *expected)
{
    bool is_one = broken < scan->end && drive_before(scan, *p);
    if (broken < scan->end && !is_one && is_path(scan, *p, &is_one) == AP_SCAN_MORE)
        return AP_SCAN_MORE;
    if (!is_one)
        return ap_scan_bad(scan, broken, expected);
    ap_scan_odd(scan, AP_ODD_BACKSLASH, *p);
    ++*p;
    return AP_SCAN_OK;
}

static enum ap_scan_result scan_unicode_escape(struct ap_scan *scan, const uint8_t **p)
{
    const uint8_t *at = *p;
    for (int i = 2; i < 6; i++)
        if (hex_digit(at[i]) < 0)
            return take_bare_backslash(scan, p, at + i, "four hexadecimal digits after \\u");
    int32_t unit = hex4(at + 2);
    if (is_high_surrogate(unit)) {
        /* The second half may still be on its way. */
        if (!scan->at_eof && scan->end - at < 12)
            return ap_scan_bad(scan, scan->end, "the rest of a string");
        if (at[6] == '\\' && at[7] == 'u' && is_low_surrogate(hex4(at + 8))) {
            *p = at + 12;
            return AP_SCAN_OK;
        }
    }
    if (is_high_surrogate(unit) || is_low_surrogate(unit))
        ap_scan_odd(scan, AP_ODD_BAD_UTF8, at);
    *p = at + 6;
    return AP_SCAN_OK;
}

/* "C:\dir\" with the end of an array or object behind it, or a comma and a quote; who escapes the first backslash escapes
 * the last one, too. */
static enum ap_scan_result scan_escaped_quote(struct ap_scan *scan, const uint8_t **p)
{
    const uint8_t *backslash = *p, *drive = scan->paths_end ? drive_before(scan, backslash) : NULL;
    *p = backslash + 2;
    if (AP_LIKELY(!drive) || drive[1] == '\\')
        return AP_SCAN_OK;
    const uint8_t *next = scan->ops->space(backslash + 2);
    bool ends = *next == '}' || *next == ']';
    if (next < scan->end && *next == ',') {
        next = scan->ops->space(next + 1);
        ends = *next == '"';
    }
    if (next >= scan->end && !scan->at_eof)
        return ap_scan_bad(scan, scan->end, "the rest of a string");
    if (!ends)
        return AP_SCAN_OK;
    ap_scan_odd(scan, AP_ODD_PATH_END, backslash);
    *p = backslash + 1;
    return AP_SCAN_OK;
}

static enum ap_scan_result scan_escape(struct ap_scan *scan, const uint8_t **p)
{
    const uint8_t *at = *p;
    switch (at[1]) {
    case '"': return scan_escaped_quote(scan, p);
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': *p = at + 2; return AP_SCAN_OK;
    case 'u': return scan_unicode_escape(scan, p);
    default: return take_bare_backslash(scan, p, at + 1, "one of \"\\/bfnrtu after a backslash");
    }
}

/* Bytes of the well-formed UTF-8 sequence at @p (Unicode table 3-7); 0 where it is broken, with *ret_broken_bytes the
 * bytes that one U+FFFD stands for; -1 where the text ends within it. */
static int utf8_sequence(const uint8_t *p, const uint8_t *end, int *ret_broken_bytes)
{
    uint8_t lead = p[0], low = 0x80, high = 0xbf;
    int bytes;
    *ret_broken_bytes = 1;
    if (lead >= 0xc2 && lead <= 0xdf) {
        bytes = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        bytes = 3;
        low = lead == 0xe0 ? 0xa0 : 0x80;
        high = lead == 0xed ? 0x9f : 0xbf;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        bytes = 4;
        low = lead == 0xf0 ? 0x90 : 0x80;
        high = lead == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    for (int i = 1; i < bytes; i++) {
        if (p + i >= end)
            return -1;
        if (p[i] < low || p[i] > high) {
            *ret_broken_bytes = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return bytes;
}

static enum ap_scan_result scan_utf8(struct ap_scan *scan, const uint8_t **p, unsigned *flags)
{
    int broken_bytes, bytes = utf8_sequence(*p, scan->end, &broken_bytes);
    if (bytes < 0 && !scan->at_eof)
        return ap_scan_bad(scan, scan->end, "the rest of a UTF-8 sequence");
    if (bytes <= 0) {
        ap_scan_odd(scan, AP_ODD_BAD_UTF8, *p);
        *flags |= AP_STRING_DECODE;
        bytes = broken_bytes;
    }
    *p += bytes;
    return AP_SCAN_OK;
}

enum ap_scan_result ap_scan_string_special(struct ap_scan *scan, const uint8_t **p, unsigned *flags, bool *done)
{
    for (;;) {
        uint8_t c = **p;
        enum ap_scan_result result = AP_SCAN_OK;
        if (c == '"') {
            *done = true;
            return AP_SCAN_OK;
        }
        if (c == '\\') {
            *flags |= AP_STRING_DECODE;
            result = scan_escape(scan, p);
        } else if (c >= 0x80) {
            result = scan_utf8(scan, p, flags);
        } else if (c < 0x20) {
            if (*p >= scan->end)
                return ap_scan_bad(scan, scan->end, "the rest of a string");
            ap_scan_odd(scan, AP_ODD_RAW_CONTROL, *p);
            ++*p;
        } else {
            *done = false;
            return AP_SCAN_OK;
        }
        if (result != AP_SCAN_OK)
            return result;
    }
}

static enum ap_scan_result expect_word(struct ap_scan *scan, const uint8_t **p, const char *word)
{
    const uint8_t *at = *p;
    for (; *word; word++, at++)
        if (*at != (uint8_t)*word)
            return ap_scan_bad(scan, at, "a value");
    *p = at;
    return AP_SCAN_OK;
}

/* What is no JSON, and is written by C's printf (on Windows in words of its own), by Python's json and by its str(). Of two
 * that begin alike the longer one comes first. */
static const struct odd_word {
    const char *word;
    enum ap_json_kind kind;
    enum ap_scan_odd odd;
} odd_words[] = {
    { "NaN", AP_JSON_NONFINITE, AP_ODD_NONFINITE },       { "nan(ind)", AP_JSON_NONFINITE, AP_ODD_NONFINITE },
    { "nan(snan)", AP_JSON_NONFINITE, AP_ODD_NONFINITE }, { "nan", AP_JSON_NONFINITE, AP_ODD_NONFINITE },
    { "Infinity", AP_JSON_NONFINITE, AP_ODD_NONFINITE },  { "inf", AP_JSON_NONFINITE, AP_ODD_NONFINITE },
    { "1.#INF", AP_JSON_NONFINITE, AP_ODD_NONFINITE },    { "1.#IND", AP_JSON_NONFINITE, AP_ODD_NONFINITE },
    { "1.#QNAN", AP_JSON_NONFINITE, AP_ODD_NONFINITE },   { "1.#SNAN", AP_JSON_NONFINITE, AP_ODD_NONFINITE },
    { "N/A", AP_JSON_NONFINITE, AP_ODD_NOT_AVAILABLE },   { "None", AP_JSON_NULL, AP_ODD_PYTHON_WORD },
    { "True", AP_JSON_TRUE, AP_ODD_PYTHON_WORD },         { "False", AP_JSON_FALSE, AP_ODD_PYTHON_WORD },
};

/* Of C's words and Infinity, but not NaN: Python and JavaScript write no sign before that. */
static bool may_have_sign(const struct odd_word *odd)
{
    return odd->odd == AP_ODD_NONFINITE && odd->word[0] != 'N';
}

static size_t equal_bytes(const uint8_t *at, const char *word)
{
    size_t bytes = 0;
    while (word[bytes] && at[bytes] == (uint8_t)word[bytes])
        bytes++;
    return bytes;
}

/* Counted only once it is complete: after MORE the same word comes again. */
static enum ap_scan_result expect_odd_word(struct ap_scan *scan, const uint8_t **p, enum ap_json_kind *ret_kind)
{
    const uint8_t *start = *p, *unsigned_start = start + (*start == '-'), *furthest = unsigned_start;
    for (size_t i = 0; i < sizeof(odd_words) / sizeof(*odd_words); i++) {
        const struct odd_word *odd = &odd_words[i];
        if (unsigned_start > start && !may_have_sign(odd))
            continue;
        const uint8_t *at = unsigned_start + equal_bytes(unsigned_start, odd->word);
        bool whole = !odd->word[at - unsigned_start];
        if (whole && odd->word[0] == '1') /* as many digits as the format asks for */
            while (*at == '0')
                at++;
        furthest = at > furthest ? at : furthest;
        if (at >= scan->end && !scan->at_eof)
            break;
        if (!whole)
            continue;
        ap_scan_odd(scan, odd->odd, start);
        *ret_kind = odd->kind;
        *p = at;
        return AP_SCAN_OK;
    }
    return ap_scan_bad(scan, furthest, "a value");
}

enum ap_scan_result ap_scan_literal(struct ap_scan *scan, const uint8_t **p, enum ap_json_kind *ret_kind)
{
    const uint8_t *at = *p;
    switch (*at) {
    case 't': *ret_kind = AP_JSON_TRUE; return expect_word(scan, p, "true");
    case 'f': *ret_kind = AP_JSON_FALSE; return expect_word(scan, p, "false");
    case 'n':
        *ret_kind = AP_JSON_NULL;
        return at[1] == 'a' ? expect_odd_word(scan, p, ret_kind) : expect_word(scan, p, "null");
    default: return expect_odd_word(scan, p, ret_kind);
    }
}

static size_t put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* The escape at @p, which was validated before. Returns its length. */
static size_t decode_escape(const uint8_t *p, const uint8_t *end, uint32_t *ret_code)
{
    static const char letters[] = "bfnrt", values[] = "\b\f\n\r\t";
    if (p[1] != 'u') {
        const char *letter = memchr(letters, p[1], sizeof(letters) - 1);
        *ret_code = letter ? (uint8_t)values[letter - letters] : p[1];
        return 2;
    }
    int32_t unit = hex4(p + 2);
    if (is_high_surrogate(unit) && end - p >= 12 && p[6] == '\\' && p[7] == 'u' && is_low_surrogate(hex4(p + 8))) {
        *ret_code = 0x10000u + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(hex4(p + 8) - 0xdc00);
        return 12;
    }
    *ret_code = is_high_surrogate(unit) || is_low_surrogate(unit) || unit < 0 ? 0xfffd : (uint32_t)unit;
    return 6;
}

/* A backslash that stands for itself: once one does, those before letters do too, though "\\t" could be a tab. */
static bool holds_bare_backslash(const uint8_t *p, const uint8_t *end)
{
    while (end - p >= 2) {
        if (*p != '\\') {
            p++;
        } else if (!strchr("\"\\/bfnrtu", p[1]) || !p[1]) {
            return true;
        } else if (p[1] == 'u' && end - p >= 6 && hex4(p + 2) < 0) {
            return true;
        } else {
            p += 2;
        }
    }
    return end - p == 1 && *p == '\\'; /* before a quote that ends a path */
}

size_t ap_json_decode(const char *text, size_t bytes, char *to)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + bytes;
    bool bare = holds_bare_backslash(p, end);
    size_t written = 0;
    while (p < end) {
        uint32_t code = *p;
        int taken = 1, broken_bytes;
        bool of_host = p == (const uint8_t *)text && end - p >= 2 && p[1] == '\\';
        if (code == '\\' && bare && (end - p == 1 || of_host || (p[1] != '\\' && p[1] != '"'))) {
            to[written++] = '\\';
            p++;
            continue;
        }
        if (code == '\\' && end - p >= 2 && (p[1] != 'u' || end - p >= 6)) {
            p += decode_escape(p, end, &code);
            written += put_utf8(to + written, code);
            continue;
        }
        if (code >= 0x80) {
            taken = utf8_sequence(p, end, &broken_bytes);
            if (taken <= 0) {
                written += put_utf8(to + written, 0xfffd);
                p += taken < 0 ? end - p : broken_bytes;
                continue;
            }
        }
        memcpy(to + written, p, (size_t)taken);
        written += (size_t)taken;
        p += taken;
    }
    return written;
}
