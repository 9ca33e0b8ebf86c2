/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "rank_name.h"

#include <regex.h>
#include <string.h>

#include "mem.h"

#include "poison.h"

#define MAX_DIGITS 7     /* more is a time or a process, not a rank */
#define MAX_END_DIGITS 5 /* likewise, where no word stands before it */
#define NAME_BYTES 256

struct ap_rank_pattern {
    regex_t regex;
};

/* C libraries write repetitions out, one within the other: forty bytes can take all memory, and what refers back takes
 * forever on a name. A name has less than NAME_BYTES, so an expression needs no more, written out, either. */
struct written_out {
    size_t symbols[NAME_BYTES]; /* of each group that is open, and of what stands outside of all */
    size_t depth;
    size_t last; /* of what a repetition would repeat */
};

static void add_symbols(struct written_out *out, size_t symbols)
{
    out->last = symbols;
    out->symbols[out->depth] += symbols;
}

static void repeat_last(struct written_out *out, size_t times)
{
    out->symbols[out->depth] += out->last * (times - 1);
    out->last *= times;
}

/* "{2,5}": the larger number. */
static const char *read_count(struct written_out *out, const char *at)
{
    size_t most = 1, number = 0;
    for (at++; ap_is_digit(*at) || *at == ','; at++) {
        number = *at == ',' ? 0 : number < NAME_BYTES ? number * 10 + (size_t)(*at - '0') : number;
        most = number > most ? number : most;
    }
    repeat_last(out, most);
    return at;
}

/* "[]a-z[:digit:]]": its last byte, or the end of the expression. */
static const char *skip_bracket(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    at += *at == ']';
    while (*at && *at != ']') {
        const char *kind = *at == '[' && at[1] && strchr(":.=", at[1]) ? at + 1 : NULL;
        const char *end = kind ? strchr(kind + 1, *kind) : NULL;
        at = end ? end + 1 : at + 1;
        at += end && *at == ']';
    }
    return *at ? at : at - 1;
}

/* NULL = it is short enough. */
static const char *too_much(const char *expression)
{
    static const char *const long_one = "written out, with each repetition, it has more than 255 characters";
    struct written_out out = { .depth = 0 };
    if (strlen(expression) >= NAME_BYTES)
        return long_one;
    for (const char *at = expression; *at; at++) {
        if (*at == '\\' && ap_is_digit(at[1]))
            return "it refers back to a group";
        if (*at == '(') {
            out.symbols[++out.depth] = 0;
        } else if (*at == ')' && out.depth) {
            out.depth--;
            add_symbols(&out, out.symbols[out.depth + 1]);
        } else if (*at == '{') {
            at = read_count(&out, at);
            at -= *at != '}';
        } else if (*at == '+') {
            repeat_last(&out, 2); /* one, and any number */
        } else if (!strchr("*?|^$", *at)) {
            at = *at == '[' ? skip_bracket(at) : at + (*at == '\\' && at[1]);
            add_symbols(&out, 1);
        }
        if (out.symbols[out.depth] >= NAME_BYTES)
            return long_one;
    }
    return NULL;
}

static enum ap_status refuse(const char *why, struct ap_error *reterr)
{
    return ap_refuse(reterr, AP_SETTING_RANK_REGEX,
                     "a regular expression with a group, as in 'node-([0-9]+)', was expected: %s", why);
}

enum ap_status ap_rank_pattern_new(const char *expression, struct ap_rank_pattern **ret_pattern, struct ap_error *reterr)
{
    char message[200];
    struct ap_gate gate;
    *ret_pattern = NULL;
    if (!expression)
        return AP_OK;
    const char *why = too_much(expression);
    if (why)
        return refuse(why, reterr);
    ap_gate_init(&gate, 0);
    struct ap_rank_pattern *pattern = ap_mem_cleared(&gate, sizeof(*pattern));
    if (!pattern)
        return ap_fail_memory(&gate, reterr);
    int code = regcomp(&pattern->regex, expression, REG_EXTENDED);
    if (code == 0 && pattern->regex.re_nsub > 0) {
        *ret_pattern = pattern;
        return AP_OK;
    }
    (void)regerror(code, &pattern->regex, message, sizeof(message));
    if (code == 0)
        regfree(&pattern->regex);
    ap_mem_free(&gate, pattern, sizeof(*pattern));
    return refuse(code == 0 ? "it has no group" : message, reterr);
}

void ap_rank_pattern_free(struct ap_rank_pattern *pattern)
{
    struct ap_gate gate;
    if (!pattern)
        return;
    regfree(&pattern->regex);
    ap_gate_init(&gate, 0);
    ap_mem_free(&gate, pattern, sizeof(*pattern));
}

/* The number of @bytes digits; -1 where there are none or too many. */
static int64_t number_of(const char *digits, size_t bytes, size_t most)
{
    int64_t number = 0;
    if (!bytes || bytes > most)
        return -1;
    for (size_t i = 0; i < bytes; i++) {
        if (!ap_is_digit(digits[i]))
            return -1;
        number = number * 10 + (digits[i] - '0');
    }
    return number;
}

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

/* Behind @word, perhaps with one sign between; the last such place counts. @alone: no letter may stand on either side, as in
 * the names that chance gives to temporary folders. */
static int64_t number_behind(const char *name, const char *word, bool alone)
{
    size_t bytes = strlen(word);
    int64_t found = -1;
    for (size_t i = 0; name[i]; i++) {
        size_t same = 0;
        while (same < bytes && ap_folded(name[i + same]) == word[same])
            same++;
        if (same < bytes || (alone && i > 0 && ap_is_letter(name[i - 1])))
            continue;
        const char *at = name + i + bytes;
        at += *at && strchr("_-=.", *at) ? 1 : 0;
        size_t digits = digits_at(at);
        if (alone && ap_is_letter(at[digits]))
            continue;
        int64_t number = number_of(at, digits, MAX_DIGITS);
        found = number >= 0 ? number : found;
    }
    return found;
}

/* "2026_11_27_15_09_07": seconds, since four numbers stand before them. */
static bool is_behind_time(const char *name, size_t at)
{
    size_t numbers = 0;
    while (at > 1 && strchr("_-", name[at - 1]) && ap_is_digit(name[at - 2])) {
        at--;
        while (at > 0 && ap_is_digit(name[at - 1]))
            at--;
        numbers++;
    }
    return numbers >= 4;
}

/* "trace_3.json", "3.pt.trace.json": the digits before the first dot behind which no digit stands. */
static int64_t number_at_end(const char *name)
{
    size_t end = 0;
    while (name[end] && !(name[end] == '.' && !ap_is_digit(name[end + 1])))
        end++;
    size_t start = end;
    while (start > 0 && ap_is_digit(name[start - 1]))
        start--;
    if ((start > 0 && !strchr("_-", name[start - 1])) || is_behind_time(name, start))
        return -1;
    return number_of(name + start, end - start, MAX_END_DIGITS);
}

static int64_t number_behind_words(const char *name)
{
    int64_t rank = number_behind(name, "rank", false);
    rank = rank >= 0 ? rank : number_behind(name, "worker", false);
    return rank >= 0 ? rank : number_behind(name, "r", true);
}

/* A folder that says "rank" counts before a bare number: rank_3/trace_0.json. */
static int64_t usual_rank(const char *name, const char *folder)
{
    int64_t rank = number_behind_words(name);
    rank = rank >= 0 ? rank : number_behind(folder, "rank", false);
    rank = rank >= 0 ? rank : number_at_end(name);
    rank = rank >= 0 ? rank : number_behind_words(folder);
    return rank >= 0 ? rank : number_at_end(folder);
}

static int64_t rank_by_pattern(const struct ap_rank_pattern *pattern, const char *name)
{
    regmatch_t found[2];
    if (regexec(&pattern->regex, name, 2, found, 0) != 0 || found[1].rm_so < 0)
        return -1;
    return number_of(name + found[1].rm_so, (size_t)(found[1].rm_eo - found[1].rm_so), MAX_DIGITS);
}

/* The part of a path that ends at @end; empty where there is none, or it is longer than names are. */
static void last_part(const char *path, size_t *end, char name[NAME_BYTES])
{
    size_t start = *end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    size_t bytes = *end - start;
    *end = start ? start - 1 : 0;
    bytes = bytes < NAME_BYTES ? bytes : 0;
    memcpy(name, path + start, bytes);
    name[bytes] = '\0';
}

int64_t ap_rank_of_path(const struct ap_rank_pattern *pattern, const char *path)
{
    char name[NAME_BYTES], folder[NAME_BYTES];
    size_t end = strlen(path);
    last_part(path, &end, name);
    last_part(path, &end, folder);
    if (!pattern)
        return usual_rank(name, folder);
    int64_t rank = rank_by_pattern(pattern, name);
    return rank >= 0 ? rank : rank_by_pattern(pattern, folder);
}
