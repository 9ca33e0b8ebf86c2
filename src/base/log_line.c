/* SPDX-License-Identifier: MIT */
#include "log_line.h"

#include <string.h>

#include "poison.h"

/* What stands where: d is a digit, L the letter of a level, all else is itself. */
static const char stamp[] = "Ldddd dd:dd:dd.dddddd ";

static bool fits(char pattern, char c)
{
    switch (pattern) {
    case 'd': return ap_is_digit(c);
    case 'L': return c && strchr("VDIWEC", c);
    default: return c == pattern;
    }
}

static int64_t two_digits(const char *at)
{
    return (at[0] - '0') * 10 + (at[1] - '0');
}

static int64_t time_of(const char *at)
{
    int64_t seconds =
        ((((two_digits(at + 1) * 31 + two_digits(at + 3)) * 24 + two_digits(at + 6)) * 60 + two_digits(at + 9)) * 60 +
         two_digits(at + 12));
    int64_t us = two_digits(at + 15) * 10000 + two_digits(at + 17) * 100 + two_digits(at + 19);
    return seconds * INT64_C(1000000000) + us * 1000;
}

/* "[rank0]:" and the like, any number of them. */
static struct ap_text without_ranks(struct ap_text line)
{
    while (line.bytes && line.data[0] == '[') {
        const char *close = memchr(line.data, ']', line.bytes);
        size_t bytes = close ? (size_t)(close - line.data) + 1 : line.bytes;
        if (bytes == line.bytes || line.data[bytes] != ':')
            break;
        bytes++;
        bytes += bytes < line.bytes && line.data[bytes] == ' ';
        line = (struct ap_text){ line.data + bytes, line.bytes - bytes };
    }
    return line;
}

bool ap_log_line_parse(struct ap_text line, struct ap_log_line *ret_line)
{
    size_t at = 0;
    line = without_ranks(line);
    if (line.bytes < sizeof(stamp))
        return false;
    for (; at + 1 < sizeof(stamp); at++)
        if (!fits(stamp[at], line.data[at]))
            return false;
    while (at < line.bytes && (ap_is_digit(line.data[at]) || line.data[at] == ' '))
        at++; /* process or thread */
    const char *close = memchr(line.data + at, ']', line.bytes - at);
    if (!close || line.bytes == at)
        return false;
    size_t end = (size_t)(close - line.data), behind = end + 1;
    behind += behind < line.bytes && line.data[behind] == ' ';
    *ret_line = (struct ap_log_line){
        .level = line.data[0],
        .time_ns = time_of(line.data),
        .source = { line.data + at, end - at },
        .message = { line.data + behind, line.bytes - behind },
    };
    return true;
}

static bool is_of_compiler(const struct ap_log_line *line)
{
    char first = line->message.bytes ? line->message.data[0] : '\0';
    return ap_text_contains(line->source, AP_TEXT("torch/")) && (first == '{' || first == '[');
}

bool ap_is_compile_log(const void *data, size_t bytes)
{
    struct ap_text rest = { data, bytes };
    while (rest.bytes) {
        const char *end = memchr(rest.data, '\n', rest.bytes);
        size_t line_bytes = end ? (size_t)(end - rest.data) : rest.bytes;
        struct ap_log_line line;
        if (ap_log_line_parse((struct ap_text){ rest.data, line_bytes }, &line) && is_of_compiler(&line))
            return true;
        size_t used = line_bytes + (end != NULL);
        rest = (struct ap_text){ rest.data + used, rest.bytes - used };
    }
    return false;
}
