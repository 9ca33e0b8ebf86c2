/* SPDX-License-Identifier: MIT
 * The pull reader: tokens, numbers, depth, what is odd; every instruction set and every chunk size say the same.
 *     test_json [FIXTURES] */
#include <stdio.h>

#include "decimal.h"
#include "file_list.h"
#include "json_log.h"
#include "random.h"
#include "tap.h"

static const size_t window_sizes[] = { 1, 2, 3, 7, 4096 };

/* ------------------------------------------------------------------------------------------------------- reading */

static struct text_log log_of(const void *text, size_t bytes, const struct reading *reading)
{
    struct text_log log = { .data = NULL };
    (void)log_tokens(&log, text, bytes, reading);
    return log;
}

/* All ways of reading this text; false and a remark where one says something else. */
static bool reads_alike(const void *text, size_t bytes, const char *name)
{
    const struct reading plainest = { .scan_set = 1 };
    struct text_log want = log_of(text, bytes, &plainest);
    bool same = true;
    for (unsigned set = 1; set <= ap_scan_count() && same; set++)
        for (size_t i = 0; i <= AP_COUNT_OF(window_sizes) * 2 && same; i++) {
            struct reading reading = { .scan_set = set, .lend = i & 1 };
            if (i < AP_COUNT_OF(window_sizes) * 2)
                reading.window_bytes = reading.piece_bytes = window_sizes[i / 2];
            struct text_log got = log_of(text, bytes, &reading);
            same = log_same(&want, &got);
            if (!same) {
                printf("#   %s, %s, pieces of %zu, %s\n", name, ap_scan_at(set - 1)->name, reading.piece_bytes,
                       reading.lend ? "lent" : "copied");
                log_show_difference(&want, &got);
            }
            log_release(&got);
        }
    log_release(&want);
    return same;
}

/* What comes of @text: "status at OFFSET" or the kinds of its tokens. */
static struct text_log verdict(const char *text)
{
    struct text_log log = { .data = NULL };
    struct json_run run;
    struct lender *lender = json_run_open(&run, text, strlen(text), &(struct reading){ .lend = false });
    struct ap_json_token token;
    enum ap_status status;
    while ((status = ap_json_next(run.json, &token, &run.error)) == AP_OK) {
        log_format(&log, "%c", "{}[]ksnitfz"[token.kind]);
        if (token.kind == AP_JSON_KEY || token.kind == AP_JSON_STRING || token.kind == AP_JSON_NUMBER ||
            token.kind == AP_JSON_NONFINITE)
            log_format(&log, "(%.*s)", (int)token.text_bytes, token.text);
    }
    if (status == AP_ERROR_CUT)
        log_format(&log, " cut at %llu", (unsigned long long)run.error.offset_bytes);
    else if (status != AP_END)
        log_format(&log, " refused at %llu", (unsigned long long)run.error.offset_bytes);
    (void)json_run_close(&run, lender);
    return log;
}

static void tokens_come_in_order(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "{\"a\": [1, -2.5e+3, \"x\\u00e9\\n\", true, false, null, {}], \"\": []}",
          "{k(a)[n(1)n(-2.5e+3)s(x\xc3\xa9\n)tfz{}]k()[]}" },
        { " 0 ", "n(0)" },
        { "\"\\ud83d\\ude00\"", "s(\xf0\x9f\x98\x80)" },
        { "\"\\ud800\\udc00\\udbff\\udfff\"", "s(\xf0\x90\x80\x80\xf4\x8f\xbf\xbf)" },
        { "[NaN,Infinity,-Infinity,nan,inf,-inf,-nan]", "[i(NaN)i(Infinity)i(-Infinity)i(nan)i(inf)i(-inf)i(-nan)]" },
        { "\xef\xbb\xbf[]", "[]" },
        { "\"\xff\xc3\xa9\"", "s(\xef\xbf\xbd\xc3\xa9)" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct text_log got = verdict(cases[i].text);
        is_str(got.data, cases[i].want, cases[i].text);
        log_release(&got);
    }
}

/* A caret stands under the byte that the error names. */
static void errors_name_their_byte(void)
{
    static const struct {
        const char *text, *caret, *verdict;
    } cases[] = {
        { "{\"a\": tru}", "         ^", "refused" },
        { "{\"a\" 1}", "     ^", "refused" },
        { "{a: 1}", " ^", "refused" },
        { "{\"a\": 1,}", "        ^", "refused" },
        { "[1,]", "   ^", "refused" },
        { "[1 2]", "   ^", "refused" },
        { "[01]", "  ^", "refused" },
        { "[1.]", "   ^", "refused" },
        { "[1e+]", "    ^", "refused" },
        { "[-]", "  ^", "refused" },
        { "[+1]", " ^", "refused" },
        { "[.5]", " ^", "refused" },
        { "[\"\\x\"]", "   ^", "refused" },
        { "[\"\\u12g4\"]", "      ^", "refused" },
        { "[1] 2", "    ^", "refused" },
        { "[1}", "  ^", "refused" },
        { "]", "^", "refused" },
        { "['a']", " ^", "refused" },
        { "[1, /* */ 2]", "    ^", "refused" },
        { "", "^", "cut" },
        { "{", " ^", "cut" },
        { "{\"a", "   ^", "cut" },
        { "[1, 2", "     ^", "cut" },
        { "[tru", "    ^", "cut" },
        { "-", " ^", "cut" },
        { "\"\\u00", "     ^", "cut" },
        { "[1, \"\\", "      ^", "cut" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        char want[80];
        struct text_log got = verdict(cases[i].text);
        const char *said = got.data ? strchr(got.data, ' ') : NULL;
        (void)snprintf(want, sizeof(want), " %s at %zu", cases[i].verdict, strlen(cases[i].caret) - 1);
        is_str(said, want, cases[i].text);
        log_release(&got);
    }
}

static void a_failed_reader_stays_failed(void)
{
    struct json_run run;
    struct ap_json_token token;
    struct lender *lender = json_run_open(&run, "[1 2]", 5, &(struct reading){ .lend = false });
    bool read = ap_json_next(run.json, &token, &run.error) == AP_OK && ap_json_next(run.json, &token, &run.error) == AP_OK;
    enum ap_status first = ap_json_next(run.json, &token, &run.error);
    struct ap_error again = { .status = AP_OK };
    enum ap_status second = ap_json_skip_value(run.json, &again), third = ap_json_next(run.json, &token, NULL);
    ok(read && first == AP_ERROR_INPUT && second == first && third == first, "a failed reader fails again in the same way");
    is_str(again.message, run.error.message, "with the same message");
    is_int(again.offset_bytes, 3, "and place");
    ok(json_run_close(&run, lender), "and gives all memory back");
}

static void odd_things_are_counted(void)
{
    static const char text[] = "\xef\xbb\xbf{\"a\": [NaN, -inf], \"b\x01\": \"\t\xff\xfe\", \"c\": \"\\ud800\"}";
    struct json_run run;
    struct ap_json_token token;
    struct lender *lender = json_run_open(&run, text, sizeof(text) - 1, &(struct reading){ .lend = false });
    while (ap_json_next(run.json, &token, &run.error) == AP_OK)
        continue;
    const struct ap_note *notes = run.notes.notes;
    is_u64(notes[AP_COUNTER_bom].count, 1, "a byte order mark is counted");
    is_u64(notes[AP_COUNTER_nonfinite].count, 2, "non-finite numbers are counted");
    is_u64(notes[AP_COUNTER_nonfinite].first_offset_bytes, 10, "with the first place");
    is_u64(notes[AP_COUNTER_raw_control].count, 2, "raw control characters are counted, in keys too");
    is_u64(notes[AP_COUNTER_bad_utf8].count, 3, "broken UTF-8 and half surrogate pairs are counted");
    (void)json_run_close(&run, lender);
}

/* By arithmetic: how many bytes at @text are one character, 0 where none is. @text ends with a quote. */
static size_t character_bytes(const uint8_t *text)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t bytes = text[0] < 0x80   ? 1
                   : text[0] < 0xc0 ? 0
                   : text[0] < 0xe0 ? 2
                   : text[0] < 0xf0 ? 3
                   : text[0] < 0xf8 ? 4
                                    : 0;
    uint32_t code_point = bytes > 1 ? text[0] & (0x7fu >> bytes) : text[0];
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code_point = code_point << 6 | (text[i] & 0x3f);
    }
    bool is_one = bytes && code_point >= least[bytes] && code_point <= 0x10ffff && code_point >> 11 != 0x1b;
    return is_one ? bytes : 0;
}

static bool are_characters(const uint8_t *text, size_t bytes)
{
    size_t at = 0, step = 1;
    for (; at < bytes && step; at += step)
        step = character_bytes(text + at);
    return step && at == bytes;
}

#define SEQUENCES ((size_t)64 * 128 * 9)

/* Every byte that could be a first one and every second byte, with ends of the range behind them and a byte that is none. */
static size_t write_sequences(char *to)
{
    static const uint8_t tails[3] = { 0x80, 0xbf, 'x' };
    size_t bytes = 0;
    for (size_t i = 0; i < SEQUENCES; i++, bytes += 7) {
        const uint8_t text[7] = {
            i ? ',' : '[',        '"', (uint8_t)(0xc0 | (i & 63)), (uint8_t)(0x80 | (i >> 6 & 127)), tails[(i >> 13) % 3],
            tails[(i >> 13) / 3], '"'
        };
        memcpy(to + bytes, text, sizeof(text));
    }
    to[bytes] = ']';
    return bytes + 1;
}

static void utf8_is_told_from_what_is_none(void)
{
    static char document[7 * SEQUENCES + 1];
    struct json_run run;
    struct ap_json_token token;
    size_t bytes = write_sequences(document), told = 0, wrong = 0;
    struct lender *lender = json_run_open(&run, document, bytes, &(struct reading){ .lend = false });
    const struct ap_note *note = &run.notes.notes[AP_COUNTER_bad_utf8];
    bool read = ap_json_next(run.json, &token, &run.error) == AP_OK;
    for (size_t i = 0; read && i < SEQUENCES; i++) {
        const char *written = document + 7 * i + 2;
        uint64_t before = note->count;
        read = ap_json_next(run.json, &token, &run.error) == AP_OK;
        bool is_text = are_characters((const uint8_t *)written, 4);
        bool as_written = read && token.text_bytes == 4 && memcmp(token.text, written, 4) == 0;
        told += is_text;
        wrong += as_written != is_text || (note->count == before) != is_text;
    }
    ok(read, "all are read");
    is_u64(told, 4864, "texts of characters are taken as they are");
    is_u64(wrong, 0, "and all others are counted");
    (void)json_run_close(&run, lender);
}

/* How a text ends, and what was odd in it; its first member skipped or read. */
static struct text_log oddities_of(const struct text_log *text, bool skips, const struct reading *reading)
{
    struct text_log log = { .data = NULL };
    struct json_run run;
    struct ap_json_token token;
    struct lender *lender = json_run_open(&run, text->data, text->bytes, reading);
    enum ap_status status = ap_json_next(run.json, &token, &run.error);
    if (status == AP_OK)
        status = ap_json_next_key(run.json, &token, &run.error);
    if (status == AP_OK && skips)
        status = ap_json_skip_value(run.json, &run.error);
    while (status == AP_OK)
        status = ap_json_next(run.json, &token, &run.error);
    log_end(&log, status, &run.error);
    log_notes(&log, &run.notes);
    (void)json_run_close(&run, lender);
    return log;
}

/* A string that is skipped is left and gone on with wherever a piece ends. */
static void what_is_skipped_is_as_odd_as_what_is_read(void)
{
    static const char *const values[] = {
        "\\ud83d\\ude00\\ud800\\udc00\\udbff\\udfff",
        "\\ud83d\\ud83d\\ude00\\ude00 \\ud83d",
        "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf",
        "\xc3 \xe2\x82 \xf0\x9f\x98 \xff",
        "C:\\a_folder_with_a_name_that_is_longer_than_a_few_words\\x",
        ".\\another_folder_of_this_kind_that_a_run_was_begun_in\\new\\x",
        "a line\nand\tmore",
    };
    for (size_t i = 0; i < AP_COUNT_OF(values); i++) {
        struct text_log text = { .data = NULL };
        log_format(&text, "{\"k\": \"%s\", \"z\": 1}", values[i]);
        struct text_log want = oddities_of(&text, false, &(struct reading){ .scan_set = 1 });
        size_t others = 0;
        for (unsigned set = 1; set <= ap_scan_count(); set++)
            for (size_t bytes = 1; bytes < text.bytes; bytes++) {
                struct reading reading = { bytes, bytes, .scan_set = set, .lend = bytes & 1 };
                struct text_log got = oddities_of(&text, true, &reading);
                others += !log_same(&want, &got);
                log_release(&got);
            }
        is_u64(others, 0, values[i]);
        log_release(&want);
        log_release(&text);
    }
}

static void windows_paths_are_told_from_broken_escapes(void)
{
    static const char *const cases[][2] = {
        { "[\"D:\\u\\x\"]", "[s(D:\\u\\x)]" },
        { "[\"D:/log\\x\"]", "[s(D:/log\\x)]" },
        { "[\".\\log\\new\"]", "[s(.\\log\\new)]" },
        { "[\"../log\\x\"]", "[s(../log\\x)]" },
        { "[\"\\\\host\\x\"]", "[s(\\\\host\\x)]" },
        { "[\"new\\nn\\mod\\u.py(3): f\"]", "[s(new\\nn\\mod\\u.py(3): f)]" },
        { "[\"log\\x\"]", "[ refused at 6" },
        { "[\"log\\x. y\"]", "[ refused at 6" },
        { "[\"\\x.py\"]", "[ refused at 3" },
        { "[\"\\\\\\x.py\"]", "[ refused at 5" },
        { "[\"a b\\x.py\"]", "[ refused at 6" },
        { "[\"file:/a\\x.py\"]", "[ refused at 10" },
        { "[\"log\\x.p", "[ cut at 9" },
        { "[\"log\\x", "[ cut at 7" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct text_log got = verdict(cases[i][0]);
        is_str(got.data, cases[i][1], cases[i][0]);
        ok(reads_alike(cases[i][0], strlen(cases[i][0]), cases[i][0]), "in pieces of any size");
        log_release(&got);
    }
}

/* ------------------------------------------------------------------------------------------------- same everywhere */

static void fixtures_read_alike(const char *fixtures)
{
    static const char *const folders[] = { "json/accept", "json/reject", "json/extension",
                                           "json/either", "traces",      "snapshots" };
    for (size_t f = 0; f < AP_COUNT_OF(folders); f++) {
        char folder[1100], claim[200];
        (void)snprintf(folder, sizeof(folder), "%s/%s", fixtures, folders[f]);
        struct file_list list = list_files(folder);
        bool alike = list.count > 0;
        for (size_t i = 0; i < list.count; i++) /* of large ones the beginning shows as much */
            alike &=
                reads_alike(list.files[i].data, list.files[i].bytes < 3000 ? list.files[i].bytes : 3000, list.files[i].name);
        (void)snprintf(claim, sizeof(claim), "all instruction sets and window sizes read %s alike", folders[f]);
        ok(alike, claim);
        release_files(&list);
    }
}

/* Text that is nearly JSON, dense in what is difficult. */
static size_t random_text(struct random *random, uint8_t *to, size_t capacity)
{
    static const char *const parts[] = { "{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\"",
                                         "\\",
                                         "\\u",
                                         "\\ud800",
                                         "\\udc00",
                                         "\\n",
                                         "\\\"",
                                         " ",
                                         "\n",
                                         "\t",
                                         "0",
                                         "-",
                                         "1234567890123456789",
                                         ".",
                                         "e",
                                         "E+",
                                         "true",
                                         "false",
                                         "null",
                                         "NaN",
                                         "-inf",
                                         "Infinity",
                                         "a",
                                         "name",
                                         "\xc3\xa9",
                                         "\xf0\x9f\x98\x80",
                                         "\xe2\x82",
                                         "\xed\xa0\x80",
                                         "\xff",
                                         "\x01",
                                         "\x7f",
                                         "\"key\": ",
                                         "\"text\"",
                                         ", ",
                                         "                                 ",
                                         "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
                                         "[[",
                                         "]]",
                                         "{\"a\":",
                                         "}}" };
    size_t bytes = 0, count = 1 + random_below(random, 30);
    for (size_t i = 0; i < count; i++) {
        const char *part = parts[random_below(random, AP_COUNT_OF(parts))];
        size_t part_bytes = strlen(part);
        if (bytes + part_bytes > capacity)
            break;
        memcpy(to + bytes, part, part_bytes);
        bytes += part_bytes;
    }
    return bytes;
}

/* A valid document of limited depth. */
static size_t random_document(struct random *random, char *to, size_t capacity, unsigned depth)
{
    static const char *const scalars[] = {
        "0",     "-1.25e-3", "12345678901234567890",    "true", "false",    "null", "\"\"",
        "\"a\"", "NaN",      "\"\\u0041\\\\\xc3\xa9\"", "1E5",  "\"\x01\"", "-0.5"
    };
    size_t bytes = 0;
    if (capacity < 200 || depth == 0 || random_once_in(random, 3)) {
        const char *scalar = scalars[random_below(random, AP_COUNT_OF(scalars))];
        return (size_t)snprintf(to, capacity, "%s", scalar);
    }
    bool object = random_once_in(random, 2);
    size_t count = random_below(random, 5);
    to[bytes++] = object ? '{' : '[';
    for (size_t i = 0; i < count && capacity - bytes > 200; i++) {
        bytes += (size_t)snprintf(to + bytes, capacity - bytes, "%s", i ? (random_once_in(random, 2) ? ",\n  " : ",") : "");
        if (object)
            bytes += (size_t)snprintf(to + bytes, capacity - bytes, "\"k%zu\"%s", random_below(random, 4),
                                      random_once_in(random, 2) ? ": " : ":");
        bytes += random_document(random, to + bytes, capacity - bytes - 8, depth - 1);
    }
    to[bytes++] = object ? '}' : ']';
    return bytes;
}

static void random_texts_read_alike(void)
{
    struct random random = { 1 };
    uint8_t text[2048];
    bool alike = true;
    for (int i = 0; i < 600 && alike; i++)
        alike = reads_alike(text, random_text(&random, text, sizeof(text)), "random text");
    ok(alike, "all instruction sets and window sizes read 600 random texts alike");
    for (int i = 0; i < 300 && alike; i++)
        alike = reads_alike(text, random_document(&random, (char *)text, sizeof(text), 6), "random document");
    ok(alike, "and 300 random documents");
}

/* ---------------------------------------------------------------------------------------------- the scanning calls */

/* A text behind a quote, as the contract wants it of strings, and before NUL and slack, in a block of exactly that size. */
struct padded {
    uint8_t *block, *text;
};

static struct padded padded_of(const void *text, size_t bytes, size_t offset)
{
    struct padded padded;
    padded.block = malloc(offset + 1 + bytes + AP_SCAN_SLACK_BYTES);
    if (!padded.block)
        abort();
    memset(padded.block, 'x', offset);
    padded.block[offset] = '"';
    padded.text = padded.block + offset + 1;
    if (bytes)
        memcpy(padded.text, text, bytes);
    memset(padded.text + bytes, 0, AP_SCAN_SLACK_BYTES);
    return padded;
}

enum call { CALL_SPACE, CALL_STRING, CALL_NUMBER, CALL_SKIP, CALL_COUNT_ };

/* What one call on one set answers, as text. */
static void log_call(struct text_log *log, const struct ap_scan_ops *ops, enum call call, const struct padded *padded,
                     size_t bytes, bool at_eof)
{
    uint8_t bits[64] = { 0 };
    struct ap_scan scan = { .ops = ops, .end = padded->text + bytes, .at_eof = at_eof };
    struct ap_skip skip = { .label = AP_SKIP_VALUE, .depth_limit = 500, .is_object = bits };
    const uint8_t *at = padded->text;
    unsigned flags = 0;
    enum ap_scan_result result = AP_SCAN_OK;
    switch (call) {
    case CALL_SPACE: at = ops->space(at); break;
    case CALL_STRING: result = ops->string(&scan, &at, &flags); break;
    case CALL_NUMBER: result = ops->number(&scan, &at); break;
    default: result = ops->skip(&scan, &skip, &at); break;
    }
    /* Where a call stands after BAD is no part of the contract: scan.at is. */
    log_format(log, "%d at %td flags %u odds", (int)result, result == AP_SCAN_BAD ? 0 : at - padded->text,
               result == AP_SCAN_OK ? flags : 0);
    if (result == AP_SCAN_BAD)
        log_format(log, " bad at %td for want of %s", scan.at - padded->text, scan.expected);
    for (int i = 0; i < AP_ODD_COUNT_; i++)
        log_format(log, " %u", scan.odds.count[i]);
}

static bool calls_agree(enum call call, const void *text, size_t bytes, size_t offset, bool at_eof)
{
    struct padded padded = padded_of(text, bytes, offset);
    struct text_log want = { .data = NULL }, got = { .data = NULL };
    bool same = true;
    log_call(&want, ap_scan_at(0), call, &padded, bytes, at_eof);
    for (unsigned set = 1; set < ap_scan_count() && same; set++) {
        log_clear(&got);
        log_call(&got, ap_scan_at(set), call, &padded, bytes, at_eof);
        same = log_same(&want, &got);
        if (!same) {
            printf("#   %s: call %d, %zu bytes, offset %zu\n", ap_scan_at(set)->name, (int)call, bytes, offset);
            log_show_difference(&want, &got);
        }
    }
    log_release(&want);
    log_release(&got);
    free(padded.block);
    return same;
}

/* Each byte value at each place of texts of each length, at each alignment: the byte alone decides, so not every
 * combination of length and place is needed for each value. */
static void sets_agree_on_every_byte(void)
{
    static const char fills[CALL_COUNT_] = {
        [CALL_SPACE] = ' ', [CALL_STRING] = 'a', [CALL_NUMBER] = '7', [CALL_SKIP] = '7'
    };
    uint8_t text[101];
    for (enum call call = CALL_SPACE; call < CALL_COUNT_; call++) {
        char claim[100];
        bool agree = true;
        for (size_t bytes = 0; bytes <= 100 && agree; bytes++)
            for (unsigned value = 0; value < 256 && agree; value++) {
                size_t place = bytes ? (value * 7 + bytes * 3) % bytes : 0;
                memset(text, fills[call], sizeof(text));
                if (bytes)
                    text[place] = (uint8_t)value;
                agree = calls_agree(call, text, bytes, (bytes + value) % 64, value & 1);
            }
        (void)snprintf(claim, sizeof(claim), "all sets agree on every byte value at lengths 0..100, call %d", (int)call);
        ok(agree, claim);
    }
}

static void sets_agree_at_every_place(void)
{
    static const char stops[] = { '"', '\\', '\0', '\x1f', '\x80', '.', 'e', ',', ']', ' ', '0' };
    static const char fills[CALL_COUNT_] = { ' ', 'a', '7', '7' };
    uint8_t text[101];
    bool agree = true;
    for (enum call call = CALL_SPACE; call < CALL_COUNT_; call++)
        for (size_t s = 0; s < sizeof(stops); s++)
            for (size_t place = 0; place < 100 && agree; place++) {
                memset(text, fills[call], sizeof(text));
                text[place] = (uint8_t)stops[s];
                agree = calls_agree(call, text, 100, place % 33, true);
            }
    ok(agree, "all sets agree on a stop at each of 100 places");
}

static void sets_agree_on_random_calls(void)
{
    struct random random = { 2 };
    uint8_t text[2048];
    bool agree = true;
    for (int i = 0; i < 20000 && agree; i++) {
        size_t bytes = random_text(&random, text, sizeof(text));
        agree = calls_agree((enum call)random_below(&random, CALL_COUNT_), text, bytes, random_below(&random, 64),
                            random_once_in(&random, 2));
    }
    ok(agree, "all sets agree on 20,000 random calls");
    for (int i = 0; i < 5000 && agree; i++) {
        char number[200];
        size_t bytes = (size_t)snprintf(number, sizeof(number), "%s%0*llu%s%0*llu%s", random_once_in(&random, 2) ? "-" : "",
                                        (int)random_below(&random, 40), (unsigned long long)random_next(&random),
                                        random_once_in(&random, 2) ? "." : "", (int)random_below(&random, 40),
                                        (unsigned long long)random_next(&random),
                                        random_once_in(&random, 3)   ? "e-12"
                                        : random_once_in(&random, 3) ? "]"
                                                                     : "");
        agree = calls_agree(CALL_NUMBER, number, bytes, random_below(&random, 64), random_once_in(&random, 2));
    }
    ok(agree, "and on 5,000 random numbers");
}

/* --------------------------------------------------------------------------------------------------------- depth */

enum manner { TOKENS, SKIP_VALUE, SKIP_REST };

/* @depth brackets, opened and closed, read in one manner; the status at the end. */
static enum ap_status read_nested(size_t depth, enum manner manner, bool objects, size_t window_bytes, uint64_t *ret_peak)
{
    struct text_log text = { .data = NULL };
    struct json_run run;
    struct ap_json_token token;
    enum ap_status status = AP_OK;
    if (manner == SKIP_VALUE)
        log_format(&text, "{\"a\":");
    for (size_t i = 0; i < depth; i++)
        log_format(&text, "%s", objects && i % 2 ? "{\"k\":" : "[");
    if (objects && depth % 2 == 0)
        log_format(&text, "1");
    for (size_t i = depth; i-- > 0;)
        log_format(&text, "%s", objects && i % 2 ? "}" : "]");
    if (manner == SKIP_VALUE)
        log_format(&text, "}");
    struct lender *lender = json_run_open(&run, text.data, text.bytes, &(struct reading){ .window_bytes = window_bytes });
    if (manner == SKIP_REST) {
        status = ap_json_next(run.json, &token, &run.error);
        if (status == AP_OK)
            status = ap_json_skip_rest(run.json, &token, &run.error);
    } else if (manner == SKIP_VALUE) {
        status = ap_json_next(run.json, &token, &run.error);
        if (status == AP_OK)
            status = ap_json_next_key(run.json, &token, &run.error);
        if (status == AP_OK)
            status = ap_json_skip_value(run.json, &run.error);
    }
    while (status == AP_OK)
        status = ap_json_next(run.json, &token, &run.error);
    *ret_peak = atomic_load(&run.gate.peak_bytes);
    if (!json_run_close(&run, lender))
        status = AP_ERROR_USAGE;
    log_release(&text);
    return status;
}

static void depth_is_limited(void)
{
    uint64_t peak;
    for (size_t depth = 511; depth <= 513; depth++) {
        char claim[80];
        (void)snprintf(claim, sizeof(claim), "%zu levels that are read: %s", depth, depth <= 512 ? "accepted" : "refused");
        enum ap_status want = depth <= 512 ? AP_END : AP_ERROR_LIMIT;
        is_int(read_nested(depth, TOKENS, false, 0, &peak), want, claim);
        is_int(read_nested(depth, TOKENS, true, 1, &peak), want, claim);
    }
    for (size_t depth = 9999; depth <= 10001; depth++) {
        char claim[80];
        (void)snprintf(claim, sizeof(claim), "%zu levels that are skipped: %s", depth,
                       depth <= 10000 ? "accepted" : "refused");
        enum ap_status want = depth <= 10000 ? AP_END : AP_ERROR_LIMIT;
        is_int(read_nested(depth, SKIP_REST, false, 0, &peak), want, claim);
        is_int(read_nested(depth, SKIP_REST, true, 3, &peak), want, claim);
        /* The limit counts from the root, so the object around the value is one of the levels. */
        is_int(read_nested(depth - 1, SKIP_VALUE, true, 4096, &peak), want, claim);
        is_int(read_nested(depth - 1, SKIP_VALUE, false, 1, &peak), want, claim);
    }
    is_int(read_nested(100000, SKIP_REST, false, 4096, &peak), AP_ERROR_LIMIT, "100,000 levels: refused");
    ok(peak < 64 << 10, "without growing memory");
}

/* --------------------------------------------------------------------------------------------------------- memory */

static void skipping_needs_no_memory(void)
{
    const size_t long_bytes = 300000;
    struct text_log text = { .data = NULL };
    log_format(&text, "{\"long\": \"");
    for (size_t i = 0; i < long_bytes; i += 10)
        log_format(&text, "\\u00e9abcd");
    log_format(&text, "\", \"short\": 1}");
    struct json_run run;
    struct ap_json_token token;
    struct lender *lender = json_run_open(&run, text.data, text.bytes, &(struct reading){ .window_bytes = 64 });
    bool read = ap_json_next(run.json, &token, &run.error) == AP_OK &&
                ap_json_next_key(run.json, &token, &run.error) == AP_OK &&
                ap_json_skip_value(run.json, &run.error) == AP_OK && ap_json_next_key(run.json, &token, &run.error) == AP_OK;
    ok(read && token.text_bytes == 5 && memcmp(token.text, "short", 5) == 0, "a skipped string of 300 KB is passed");
    ok(atomic_load(&run.gate.peak_bytes) < 8192, "in less than 8 KB of memory, window 64");
    ok(json_run_close(&run, lender), "which is given back");
    log_release(&text);
}

/* After {"a": the raw value; returns whether what follows is read as well. */
static bool read_raw(const char *text, const struct reading *reading, struct text_log *got, enum ap_status *ret_status)
{
    struct json_run run;
    struct ap_json_token token;
    struct ap_text raw = { NULL, 0 };
    struct lender *lender = json_run_open(&run, text, strlen(text), reading);
    bool read =
        ap_json_next(run.json, &token, &run.error) == AP_OK && ap_json_next_key(run.json, &token, &run.error) == AP_OK;
    *ret_status = ap_json_raw_value(run.json, &raw, &run.error);
    log_clear(got);
    if (raw.data)
        log_format(got, "%.*s", (int)raw.bytes, raw.data);
    else
        log_format(got, "nothing");
    read = read && ap_json_next_key(run.json, &token, &run.error) == AP_OK && token.text_bytes == 1 && *token.text == 'b';
    return json_run_close(&run, lender) && read;
}

static void raw_values_stand_as_written(void)
{
    static const char list[] = "[{\"x\": \"\\u0041]\"} , -1.5e3, [[]]]";
    static const size_t windows[] = { 1, 2, 3, 7, 64 };
    struct text_log text = { .data = NULL }, got = { .data = NULL };
    enum ap_status status;
    log_format(&text, "{\"a\" :\n %s , \"b\": 1}", list);
    for (size_t i = 0; i < AP_COUNT_OF(windows) * 2; i++) {
        struct reading reading = { .window_bytes = windows[i / 2], .piece_bytes = windows[i / 2], .lend = i % 2 };
        ok(read_raw(text.data, &reading, &got, &status) && got.bytes == strlen(list) &&
               memcmp(got.data, list, got.bytes) == 0,
           "a raw value is what the text has, in pieces of any size");
    }
    struct reading small = { .window_bytes = 8, .limits = { .token_bytes = 16 } };
    ok(read_raw(text.data, &small, &got, &status) && got.bytes == 7 && memcmp(got.data, "nothing", 7) == 0,
       "one beyond token_bytes is passed by");
    ok(!read_raw("{\"a\": [1, 2", &(struct reading){ .window_bytes = 4 }, &got, &status), "a cut one is not");
    is_int(status, AP_ERROR_CUT, "but told to be cut");
    ok(!read_raw("{\"a\": [1, }]}", &(struct reading){ .window_bytes = 4 }, &got, &status), "nor is a broken one");
    is_int(status, AP_ERROR_INPUT, "it is told to be broken");
    log_release(&got);
    log_release(&text);
}

static void long_tokens_are_bounded(void)
{
    const struct ap_json_limits limits = { .token_bytes = 1000 };
    struct text_log text = { .data = NULL };
    log_format(&text, "[\"");
    for (size_t i = 0; i < 100000; i++)
        log_format(&text, "a");
    log_format(&text, "\"]");
    struct text_log got = { .data = NULL };
    is_int(log_tokens(&got, text.data, text.bytes, &(struct reading){ .window_bytes = 64, .limits = limits }),
           AP_ERROR_LIMIT, "a kept string beyond token_bytes is refused");
    log_clear(&got);
    is_int(log_tokens(&got, text.data, text.bytes, &(struct reading){ .window_bytes = 64 }), AP_END,
           "and read where the limit allows");
    log_release(&got);
    log_release(&text);
}

static void an_early_end_of_the_source_is_a_cut(void)
{
    static const char text[] = "{\"a\": [1, 2, 3]}  ";
    bool all_cut = true;
    for (size_t bytes = 0; bytes < sizeof(text); bytes++) {
        struct json_run run;
        struct ap_json_token token;
        struct lender *lender = json_run_open(&run, text, bytes, &(struct reading){ .window_bytes = 3 });
        run.feed.at_end = AP_ERROR_CUT;
        enum ap_status status;
        while ((status = ap_json_next(run.json, &token, &run.error)) == AP_OK)
            continue;
        all_cut &= status == AP_ERROR_CUT && run.error.has_offset && run.error.offset_bytes == bytes;
        (void)json_run_close(&run, lender);
    }
    ok(all_cut, "a source that ends before its end is a cut, even behind a whole document");
}

static void a_failing_source_is_passed_on(void)
{
    static const enum ap_status failures[] = { AP_ERROR_INPUT, AP_ERROR_LIMIT, AP_ERROR_MEMORY };
    for (size_t i = 0; i < AP_COUNT_OF(failures); i++) {
        struct json_run run;
        struct ap_json_token token;
        struct lender *lender = json_run_open(&run, "[1, 2", 5, &(struct reading){ .window_bytes = 2 });
        run.feed.at_end = failures[i];
        enum ap_status status;
        while ((status = ap_json_next(run.json, &token, &run.error)) == AP_OK)
            continue;
        ok(status == failures[i] && strcmp(run.error.message, "the fed block ends here") == 0,
           "the source's own failure comes out as it is");
        (void)json_run_close(&run, lender);
    }
}

static void memory_may_fail_anywhere(void)
{
    static const char text[] = "{\"a\\n\": [\"a string of some length \\u00e9, longer than the window\", 12.5], \"b\": {}}";
    enum ap_status status = AP_ERROR_MEMORY;
    int64_t fails = 0;
    bool clean = true;
    for (; status == AP_ERROR_MEMORY && fails < 1000; fails++) {
        struct ap_gate gate;
        struct ap_notes notes = { .notes = { { .count = 0 } } };
        struct ap_error error;
        struct ap_json_token token;
        struct ap_json_reader *json = NULL;
        struct feed feed = feed_of(text, sizeof(text) - 1, 5);
        ap_gate_init(&gate, 0);
        atomic_store(&gate.fail_after, fails);
        status = ap_json_reader_new(&gate, feed_source(&feed), &notes, &(struct ap_json_limits){ .window_bytes = 5 }, &json,
                                    &error);
        while (status == AP_OK)
            status = ap_json_next(json, &token, &error);
        ap_json_reader_free(json);
        clean &= atomic_load(&gate.used_bytes) == 0;
    }
    ok(status == AP_END && fails > 3, "a refused allocation is an error of its own until all succeed");
    ok(clean, "and leaves nothing behind");
}

/* -------------------------------------------------------------------------------------------------------- numbers */

static void integers_keep_every_digit(void)
{
    static const struct {
        const char *text;
        bool is_integer;
        int64_t want;
    } cases[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "99999999999999999999", false, 0 },
        { "1.0", false, 0 },
        { "1e3", false, 0 },
        { "1719322847123456789", true, INT64_C(1719322847123456789) },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        int64_t got = 0;
        struct ap_json_token token = { AP_JSON_NUMBER, cases[i].text, strlen(cases[i].text), 0 };
        ok(ap_json_integer(&token, &got) == cases[i].is_integer && got == cases[i].want, cases[i].text);
    }
    int64_t got;
    ok(!ap_json_integer(&(struct ap_json_token){ AP_JSON_STRING, "1", 1, 0 }, &got), "a string is no integer");
}

static void seen_keys_are_counted(void)
{
    struct json_run run;
    uint64_t seen = 0;
    struct lender *lender = json_run_open(&run, "{}", 2, &(struct reading){ .lend = false });
    ap_json_seen(run.json, &seen, 3, 10);
    ap_json_seen(run.json, &seen, 4, 20);
    ap_json_seen(run.json, &seen, 3, 30);
    is_u64(run.notes.notes[AP_COUNTER_duplicate_key].count, 1, "a key that is met again is a duplicate");
    is_u64(run.notes.notes[AP_COUNTER_duplicate_key].first_offset_bytes, 30, "at its second place");
    (void)json_run_close(&run, lender);
}

int main(int argc, char **argv)
{
    const char *fixtures = fixtures_folder(argc, argv);
    tokens_come_in_order();
    errors_name_their_byte();
    a_failed_reader_stays_failed();
    odd_things_are_counted();
    utf8_is_told_from_what_is_none();
    what_is_skipped_is_as_odd_as_what_is_read();
    windows_paths_are_told_from_broken_escapes();
    fixtures_read_alike(fixtures);
    random_texts_read_alike();
    sets_agree_on_every_byte();
    sets_agree_at_every_place();
    sets_agree_on_random_calls();
    depth_is_limited();
    skipping_needs_no_memory();
    raw_values_stand_as_written();
    long_tokens_are_bounded();
    an_early_end_of_the_source_is_a_cut();
    a_failing_source_is_passed_on();
    memory_may_fail_anywhere();
    integers_keep_every_digit();
    seen_keys_are_counted();
    return done();
}
