/* SPDX-License-Identifier: MIT
 * Any bytes as a trace that is written again: what comes out is one whole JSON document, whatever went in, in which the
 * reader finds nothing that strict JSON does not have, and all memory comes back.
 * First byte: bits 0-2 window, bit 3 all events, bit 4 lent blocks, bit 5 a small limit. The rest is the file. */
#include "fuzz_target.h"
#include "json_log.h"
#include "text_sink.h"
#include "trace_copy.h"

/* As in a copy: none of what strict JSON or sound events do not have. */
static void check_notes(const struct ap_notes *notes)
{
    static const enum ap_counter never[] = {
        AP_COUNTER_cut, AP_COUNTER_nonfinite,      AP_COUNTER_bad_utf8,       AP_COUNTER_raw_control,
        AP_COUNTER_bom, AP_COUNTER_trailing_comma, AP_COUNTER_unescaped_quote
    };
    for (size_t i = 0; i < AP_COUNT_OF(never); i++)
        require(!notes->notes[never[i]].count, "what is written is strict");
}

static enum ap_status copy(const uint8_t *text, size_t bytes, const struct reading *reading,
                           const struct ap_trace_copy_options *options, struct text_sink *to, struct ap_notes *ret_notes)
{
    struct json_run run;
    struct lender *lender = json_run_open(&run, text, bytes, reading);
    enum ap_status status = ap_trace_copy_write(options, run.json, &run.notes, text_sink_of(to), &run.error);
    *ret_notes = run.notes;
    require(status == AP_OK || status == run.error.status, "a failure says what it is");
    require(json_run_close(&run, lender), "the reader gives all memory back");
    return status;
}

static void run_text(const uint8_t *text, size_t bytes, uint8_t choice)
{
    static const size_t windows[8] = { 4096, 1, 2, 3, 7, 64, 1000, 10000 };
    const struct reading reading = { .window_bytes = windows[choice & 7],
                                     .piece_bytes = windows[choice & 7],
                                     .lend = choice & 16,
                                     .limits = { .token_bytes = 1 << 16 } };
    struct ap_gate gate;
    struct ap_overlay overlay;
    struct ap_notes notes, again;
    struct text_sink first = { .data = NULL }, second = { .data = NULL };
    ap_gate_init(&gate, 0);
    ap_overlay_init(&overlay, &gate);
    struct ap_trace_copy_options options = {
        .gate = &gate, .overlay = &overlay, .version = "1", .all = choice & 8, .limit_bytes = choice & 32 ? 300 : 0
    };
    require(ap_overlay_add(&overlay, AP_OVERLAY_findings, 0, 1000000000, AP_TEXT("finding"), NULL, 0, -1, NULL) == AP_OK,
            "a span is added");
    if (copy(text, bytes, &reading, &options, &first, &notes) == AP_OK) {
        const struct reading whole = { .limits = reading.limits };
        require(copy((const uint8_t *)first.data, first.bytes, &whole, &options, &second, &again) == AP_OK,
                "it can be copied");
        check_notes(&again);
        require(strstr(second.data, "\"input_read_to_its_end\": true") != NULL, "it is a whole document");
    }
    text_sink_release(&first);
    text_sink_release(&second);
    ap_overlay_release(&overlay);
    require(gate.used_bytes == 0, "all memory comes back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    run_text(data + 1, size - 1, data[0]);
    return 0;
}
