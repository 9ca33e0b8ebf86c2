/* SPDX-License-Identifier: MIT
 * What the reader makes of documents, for json_differential.py: each comes on standard input behind its length (4 bytes, the
 * lowest first), and is answered by a line: "refused", or "read" with the tokens, as the letter of their kind and their text
 * in hexadecimal digits, and the number of oddities. A document that is read otherwise in pieces, or with another window,
 * is answered by "differs". */
#include <stdio.h>

#include "json_log.h"

static const char kinds[] = {
    [AP_JSON_OBJECT_BEGIN] = '{', [AP_JSON_OBJECT_END] = '}', [AP_JSON_ARRAY_BEGIN] = '[', [AP_JSON_ARRAY_END] = ']',
    [AP_JSON_KEY] = 'k',          [AP_JSON_STRING] = 's',     [AP_JSON_NUMBER] = 'n',      [AP_JSON_NONFINITE] = 'c',
    [AP_JSON_TRUE] = 'T',         [AP_JSON_FALSE] = 'F',      [AP_JSON_NULL] = 'N',
};

static void print_token(const struct ap_json_token *token)
{
    bool has_text = token->kind == AP_JSON_KEY || token->kind == AP_JSON_STRING || token->kind == AP_JSON_NUMBER ||
                    token->kind == AP_JSON_NONFINITE;
    printf(" %c", kinds[token->kind]);
    for (size_t i = 0; has_text && i < token->text_bytes; i++)
        printf("%02x", (unsigned char)token->text[i]);
}

static uint64_t oddities(const struct ap_notes *notes)
{
    uint64_t count = 0;
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        count += notes->notes[i].count;
    return count;
}

/* Twice: whether it is refused is only known at its end. */
static void print_reading(const uint8_t *text, size_t bytes)
{
    struct json_run run;
    struct ap_json_token token;
    enum ap_status status;
    const struct reading whole = { 0 };
    for (int print = 0; print < 2; print++) {
        struct lender *lender = json_run_open(&run, text, bytes, &whole);
        if (print)
            printf("read");
        while ((status = ap_json_next(run.json, &token, &run.error)) == AP_OK)
            if (print)
                print_token(&token);
        if (print)
            printf(" %llu\n", (unsigned long long)oddities(&run.notes));
        (void)json_run_close(&run, lender);
        if (status != AP_END) {
            printf("refused\n");
            return;
        }
    }
}

/* In pieces and windows of each size, up to the first that holds the document whole: beyond it nothing differs. */
static bool is_read_alike(const uint8_t *text, size_t bytes)
{
    static const size_t sizes[] = { 1, 2, 3, 7, 64, 4096, 65536, 65537 };
    struct text_log whole = { 0 }, other = { 0 };
    const struct reading at_once = { 0 };
    bool alike = true;
    (void)log_tokens(&whole, text, bytes, &at_once);
    for (size_t i = 0; i < 2 * AP_COUNT_OF(sizes) && alike && (i < 2 || sizes[i / 2 - 1] <= bytes); i++) {
        struct reading reading = { .piece_bytes = sizes[i / 2], .lend = i % 2 };
        if (!reading.lend)
            reading.window_bytes = sizes[i / 2];
        log_clear(&other);
        (void)log_tokens(&other, text, bytes, &reading);
        alike = log_same(&whole, &other);
    }
    log_release(&whole);
    log_release(&other);
    return alike;
}

int main(void)
{
    static uint8_t text[1 << 20];
    uint8_t length[4];
    while (fread(length, 1, sizeof(length), stdin) == sizeof(length)) {
        size_t bytes = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
        if (bytes > sizeof(text) || fread(text, 1, bytes, stdin) != bytes)
            return 1;
        if (is_read_alike(text, bytes))
            print_reading(text, bytes);
        else
            printf("differs\n");
    }
    return 0;
}
