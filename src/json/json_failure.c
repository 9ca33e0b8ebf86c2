/* SPDX-License-Identifier: MIT */
#include "json_internal.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

enum ap_status ap_json_keep_failure(struct ap_json_reader *reader, enum ap_status status, struct ap_error *reterr)
{
    if (reterr)
        reader->error = *reterr;
    reader->failed = status;
    return status;
}

static void describe_byte(const struct ap_json_reader *reader, const uint8_t *at, char *to, size_t to_bytes)
{
    if (at >= reader->scan.end)
        (void)snprintf(to, to_bytes, "the end of the input");
    else if (*at > 0x20 && *at < 0x7f)
        (void)snprintf(to, to_bytes, "'%c'", *at);
    else
        (void)snprintf(to, to_bytes, "byte 0x%02x", *at);
}

struct last_text {
    const uint8_t *start, *end; /* its quotation marks; NULL = there is no text, or none that is closed */
    uint32_t open;              /* containers that are open around it */
};

/* The last text that begins between @from and @to; @from stands outside of texts. */
static struct last_text last_text(const uint8_t *from, const uint8_t *to)
{
    struct last_text last = { .open = 0 };
    for (const uint8_t *at = from; at < to; at++) {
        last.open += *at == '{' || *at == '[';
        last.open -= last.open && (*at == '}' || *at == ']');
        if (*at != '"')
            continue;
        last.start = at++;
        while (at < to && *at != '"')
            at += *at == '\\' ? 2 : 1;
        last.end = at < to ? at : NULL;
    }
    return last;
}

static const uint8_t *without_space_before(const uint8_t *from, const uint8_t *at)
{
    while (at > from && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r' || at[-1] == '\t'))
        at--;
    return at;
}

/* Was a quotation mark forgotten, so that a text went on up to the one that opens the next? Then it ends as what stands
 * before a text does, and a word follows it at once. */
static const uint8_t *unclosed_before(const uint8_t *from, const uint8_t *bad)
{
    const struct last_text text = last_text(from, bad);
    if (!text.end || text.end + 1 != bad)
        return NULL;
    const uint8_t *last = without_space_before(text.start + 1, text.end);
    bool word = (*bad | 0x20) >= 'a' && (*bad | 0x20) <= 'z';
    return word && last > text.start + 1 && memchr(",{[:", last[-1], 4) ? text.start : NULL;
}

/* The input ended within a text: not by a cut where it ends as the whole document would, all that is open closed. */
static const uint8_t *unclosed_at_end(const struct ap_json_reader *reader)
{
    const struct last_text text = last_text(reader->at, reader->scan.end);
    if (!text.start || text.end || reader->end_status != AP_OK || !reader->depth)
        return NULL;
    const uint8_t *at = reader->scan.end;
    for (uint32_t level = 0; level < reader->depth + text.open; level++) {
        bool known = level < reader->depth, object = known && reader->is_object[level / 8] >> (level % 8) & 1;
        at = without_space_before(text.start, at);
        uint8_t closing = at > text.start ? *--at : 0;
        if (known ? closing != (object ? '}' : ']') : closing != '}' && closing != ']')
            return NULL;
    }
    return text.start;
}

/* An end within a text all the same, as who passes over values sees it too; the advice tells the two apart. */
static enum ap_status fail_unclosed(struct ap_json_reader *reader, const uint8_t *start, struct ap_error *reterr)
{
    struct ap_error error;
    ap_fail_at(&error, AP_ERROR_CUT, ap_json_offset_of(reader, reader->scan.end),
               "not valid JSON: the text that begins at byte %llu is never closed, a quotation mark is missing, though the "
               "file goes on to its end",
               (unsigned long long)ap_json_offset_of(reader, start));
    error.advice = AP_ADVICE_SALVAGE;
    if (reterr)
        *reterr = error;
    return ap_json_keep_failure(reader, AP_ERROR_CUT, &error);
}

static enum ap_status fail_bad(struct ap_json_reader *reader, struct ap_error *reterr)
{
    const uint8_t *at = reader->scan.at, *unclosed = unclosed_before(reader->at, at);
    struct ap_error error;
    char found[32], why[80] = "";
    describe_byte(reader, at, found, sizeof(found));
    if (unclosed)
        (void)snprintf(why, sizeof(why), ": the text that begins at byte %llu is never closed",
                       (unsigned long long)ap_json_offset_of(reader, unclosed));
    ap_fail_at(&error, AP_ERROR_INPUT, ap_json_offset_of(reader, at), "not valid JSON: expected %s, found %s%s",
               reader->scan.expected, found, why);
    error.advice = AP_ADVICE_SALVAGE;
    if (reterr)
        *reterr = error;
    return ap_json_keep_failure(reader, AP_ERROR_INPUT, &error);
}

enum ap_status ap_json_fail_scan(struct ap_json_reader *reader, enum ap_scan_result result, struct ap_error *reterr)
{
    const uint8_t *unclosed = result == AP_SCAN_BAD ? NULL : unclosed_at_end(reader);
    struct ap_error error;
    if (result == AP_SCAN_BAD)
        return fail_bad(reader, reterr);
    if (unclosed)
        return fail_unclosed(reader, unclosed, reterr);
    ap_fail_at(&error, AP_ERROR_CUT, ap_json_offset_of(reader, reader->scan.end),
               "the input ends where %s was expected: it is cut or incomplete", reader->scan.expected);
    if (reterr)
        *reterr = error;
    return ap_json_keep_failure(reader, AP_ERROR_CUT, &error);
}

enum ap_status ap_json_fail_depth(struct ap_json_reader *reader, const uint8_t *at, uint32_t limit, struct ap_error *reterr)
{
    struct ap_error error;
    ap_fail_at(&error, AP_ERROR_LIMIT, ap_json_offset_of(reader, at), "values nest deeper than %u levels", limit);
    error.advice = AP_ADVICE_MORE_DEPTH;
    if (reterr)
        *reterr = error;
    return ap_json_keep_failure(reader, AP_ERROR_LIMIT, &error);
}
