/* SPDX-License-Identifier: MIT */
#include "log_line.h"

#include <string.h>

#include "poison.h"

/* What stands where: d is a digit, L the letter of a level, all else is itself. */
static const char stamp[] = "Ldddd dd:dd:dd.dddddd ";
static const char older_stamp[] = "[dddd-dd-dd dd:dd:dd,ddd] ";

static bool fits(char pattern, char c)
{
    switch (pattern) {
    case 'd': return ap_is_digit(c);
    case 'L': return c && strchr("VDIWEC", c);
    default: return c == pattern;
    }
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

static bool begins_as(struct ap_text line, const char *pattern)
{
    size_t bytes = strlen(pattern);
    if (line.bytes < bytes + 1)
        return false;
    for (size_t at = 0; at < bytes; at++)
        if (!fits(pattern[at], line.data[at]))
            return false;
    return true;
}

static struct ap_text behind(struct ap_text text, size_t bytes)
{
    return (struct ap_text){ text.data + bytes, text.bytes - bytes };
}

static bool is_level(struct ap_text text)
{
    static const char *const levels[] = { "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL" };
    for (size_t i = 0; i < AP_COUNT_OF(levels); i++)
        if (ap_text_is(text, levels[i]))
            return true;
    return false;
}

/* Behind the stamp: "[0/1] torch._dynamo.guards.__recompiles: [DEBUG] text", without the number where there is none. */
static bool parse_older(struct ap_text line, struct ap_log_line *ret_line)
{
    static const char colon[] = ": [";
    struct ap_text rest = behind(line, sizeof(older_stamp) - 1);
    const char *close;
    if (rest.bytes && rest.data[0] == '[' && (close = memchr(rest.data, ' ', rest.bytes)) != NULL)
        rest = behind(rest, (size_t)(close - rest.data) + 1);
    const char *mark = memchr(rest.data, ':', rest.bytes);
    size_t source_bytes = mark ? (size_t)(mark - rest.data) : rest.bytes;
    if (rest.bytes < source_bytes + sizeof(colon) || memcmp(rest.data + source_bytes, colon, sizeof(colon) - 1) != 0)
        return false;
    struct ap_text source = { rest.data, source_bytes }, artifact = source;
    rest = behind(rest, source_bytes + sizeof(colon) - 1);
    close = memchr(rest.data, ']', rest.bytes);
    if (!close || !is_level((struct ap_text){ rest.data, (size_t)(close - rest.data) }))
        return false;
    rest = behind(rest, (size_t)(close - rest.data) + 1);
    rest = behind(rest, rest.bytes && rest.data[0] == ' ');
    for (const char *dot; (dot = memchr(artifact.data, '.', artifact.bytes)) != NULL;)
        artifact = behind(artifact, (size_t)(dot - artifact.data) + 1);
    *ret_line = (struct ap_log_line){ .source = source, .artifact = artifact, .message = rest };
    return true;
}

bool ap_log_line_parse(struct ap_text line, struct ap_log_line *ret_line)
{
    size_t at = sizeof(stamp) - 1;
    line = without_ranks(line);
    if (begins_as(line, older_stamp))
        return parse_older(line, ret_line);
    if (!begins_as(line, stamp))
        return false;
    while (at < line.bytes && (ap_is_digit(line.data[at]) || line.data[at] == ' '))
        at++; /* process or thread */
    const char *close = memchr(line.data + at, ']', line.bytes - at);
    if (!close || line.bytes == at)
        return false;
    size_t end = (size_t)(close - line.data), behind = end + 1;
    behind += behind < line.bytes && line.data[behind] == ' ';
    *ret_line = (struct ap_log_line){
        .source = { line.data + at, end - at },
        .message = { line.data + behind, line.bytes - behind },
    };
    return true;
}

static bool is_of_compiler(const struct ap_log_line *line)
{
    char first = line->message.bytes ? line->message.data[0] : '\0';
    if (line->artifact.bytes)
        return ap_text_starts_with(line->source, "torch._dynamo") || ap_text_starts_with(line->source, "torch._inductor");
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
