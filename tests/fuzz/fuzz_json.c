/* SPDX-License-Identifier: MIT
 * Any bytes as JSON, in a chosen window and instruction set against the whole text read by plain C: the same tokens, the
 * same end, the same oddities. A skipped value is accepted exactly where a read one is. An array read as records gives
 * what its tokens give. These three checks take turns.
 * First byte: bits 0-2 window, bit 3 lent blocks, bits 4-5 instruction set. The rest is the text. */
#include "element_log.h"
#include "turn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition, const char *what, const struct text_log *want, const struct text_log *got)
{
    if (condition)
        return;
    printf("%s\n", what);
    log_show_difference(want, got);
    (void)fflush(stdout);
    abort();
}

static struct reading chosen_reading(uint8_t choice)
{
    static const size_t windows[8] = { 1, 2, 3, 7, 16, 64, 1000, 10000 };
    size_t window = windows[choice & 7];
    return (struct reading){ .window_bytes = window,
                             .piece_bytes = window,
                             .lend = choice >> 3 & 1,
                             .scan_set = 1 + (choice >> 4 & 3) % ap_scan_count() };
}

/* The same limits for both kinds of value, so that depth makes no difference. */
static const struct ap_json_limits limits = { .kept_depth = 200, .skipped_depth = 200 };

static struct text_log want, got; /* kept, as they take longer to get than to fill */

static void check_tokens(const uint8_t *text, size_t bytes, struct reading reading)
{
    reading.limits = limits;
    const struct reading whole = { .window_bytes = bytes + 64, .scan_set = 1, .limits = limits };
    (void)log_tokens(&want, text, bytes, &whole);
    (void)log_tokens(&got, text, bytes, &reading);
    require(log_same(&want, &got), "tokens depend on window or instruction set", &want, &got);
}

static enum ap_status read_status(const uint8_t *text, size_t bytes)
{
    struct json_run run;
    struct ap_json_token token;
    enum ap_status status;
    const struct reading whole = { .window_bytes = bytes + 64, .scan_set = 1, .limits = limits };
    (void)json_run_open(&run, text, bytes, &whole);
    while ((status = ap_json_next(run.json, &token, &run.error)) == AP_OK)
        continue;
    require(json_run_close(&run, NULL), "reading keeps memory", &want, &got);
    return status;
}

static void check_skipping(const uint8_t *text, size_t bytes, struct reading reading)
{
    struct json_run run;
    struct ap_json_token token;
    reading.limits = limits;
    struct lender *lender = json_run_open(&run, text, bytes, &reading);
    enum ap_status status = ap_json_next(run.json, &token, &run.error);
    if (status == AP_OK)
        status = ap_json_skip_rest(run.json, &token, &run.error);
    if (status == AP_OK)
        status = ap_json_next(run.json, &token, &run.error);
    require(status == read_status(text, bytes), "skipping and reading end differently", &want, &got);
    require(json_run_close(&run, lender), "skipping keeps memory", &want, &got);
}

static void check_records(const uint8_t *text, size_t bytes, struct reading reading)
{
    (void)log_elements_slowly(&want, text, bytes);
    (void)log_elements(&got, text, bytes, &reading);
    /* Of more names than it remembers the record reader counts no duplicates. */
    bool forgiven = log_tells_of_forgiving(&got);
    /* A quotation mark that may be one of these is looked behind, up to the end: then the text is cut, not broken. */
    forgiven |= log_find(&want, "status 3 ") && log_find(&got, "status 4 ");
    const char *counted = log_find(&want, "duplicate-key"), *also = log_find(&got, "duplicate-key");
    if (counted)
        want.bytes = (size_t)(counted - want.data);
    if (also)
        got.bytes = (size_t)(also - got.data);
    require(forgiven || log_same(&want, &got), "records differ from tokens", &want, &got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct reading reading = chosen_reading(data[0]);
    const uint8_t *text = data + 1;
    size_t bytes = size - 1;
    void (*const checks[])(const uint8_t *, size_t, struct reading) = { check_tokens, check_skipping, check_records };
    for (unsigned i = 0; i < AP_COUNT_OF(checks); i++) {
        log_clear(&want);
        log_clear(&got);
        if (is_turn(data, size, i, AP_COUNT_OF(checks)))
            checks[i](text, bytes, reading);
    }
    return 0;
}
