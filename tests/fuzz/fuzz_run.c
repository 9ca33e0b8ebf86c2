/* SPDX-License-Identifier: MIT
 * Any bytes as a trace and a snapshot of one run: both readers, the joined analysis, the JSON, the Markdown and the HTML
 * report. First byte: bit 0 salvage. The rest is the trace, a NUL byte and the snapshot. */
#include <stdlib.h>
#include <string.h>

#include "analyzed.h"
#include "fuzz_target.h"
#include "html_check.h"
#include "json_check.h"
#include "json_log.h"
#include "md_check.h"
#include "memory_join.h"
#include "report.h"
#include "text_sink.h"

struct inputs {
    struct json_run trace_run, snapshot_run;
    struct ap_trace *trace;
    struct ap_snapshot *snapshot;
};

/* Pictures are taken one after the other: none begins within another, and each is one element. */
struct picture {
    bool is_open;
    size_t bytes;
    char end[8];
};

static enum ap_status begin_picture(void *self, const char *name, struct ap_error *reterr)
{
    struct picture *picture = self;
    (void)reterr;
    require(!picture->is_open && *name, "a picture begins behind the one before");
    *picture = (struct picture){ .is_open = true };
    return AP_OK;
}

static enum ap_status write_picture(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct picture *picture = self;
    (void)reterr;
    for (size_t i = 0; i < bytes; i++) {
        memmove(picture->end, picture->end + 1, sizeof(picture->end) - 1);
        picture->end[sizeof(picture->end) - 1] = data[i];
    }
    picture->bytes += bytes;
    return AP_OK;
}

static enum ap_status end_picture(void *self, struct ap_error *reterr)
{
    struct picture *picture = self;
    (void)reterr;
    require(memcmp(picture->end + 1, "</svg>\n", 7) == 0, "a picture is complete");
    picture->is_open = false;
    return AP_OK;
}

static void write_reports(struct ap_model *model, struct ap_error *error)
{
    struct text_sink json = { .data = NULL }, markdown = { .data = NULL }, html = { .data = NULL };
    struct md_counts counts;
    struct html_counts elements;
    char why[400] = "";
    if (ap_write_json(model, text_sink_of(&json), error) == AP_OK)
        require(json_is_valid(json.data, json.bytes), "the JSON is valid");
    if (ap_write_markdown(model, AP_EXTENT_WHOLE, text_sink_of(&markdown), error) == AP_OK)
        require(md_is_inert(markdown.data, markdown.bytes, &counts, why, sizeof(why)), why);
    if (ap_write_html(model, text_sink_of(&html), error) == AP_OK)
        require(html_is_strict(html.data, html.bytes, &elements, why, sizeof(why)), why);
    struct picture picture = { .is_open = false };
    const struct ap_picture_taker taker = { begin_picture, write_picture, end_picture, &picture };
    (void)!ap_write_pictures(model, &taker, error);
    text_sink_release(&json);
    text_sink_release(&markdown);
    text_sink_release(&html);
}

static void analyze(struct inputs *inputs)
{
    struct ap_model model;
    struct ap_memory_join join;
    struct ap_gate *gate = &inputs->trace_run.gate;
    struct ap_error *error = &inputs->trace_run.error;
    ap_model_init(&model, gate);
    ap_memory_join_init(&join, inputs->trace, gate);
    const struct ap_part_options options = { .path = "fuzz", .join = &join };
    if (ap_join_part_snapshot(inputs->snapshot, "fuzz", 0, true, &join, &inputs->snapshot_run.notes, &model, error) ==
            AP_OK &&
        analyze_and_draw(inputs->trace, &options, NULL, NULL, &inputs->trace_run.notes, &model, error) == AP_OK)
        write_reports(&model, error);
    ap_memory_join_release(&join);
    ap_model_release(&model);
}

static void run(const uint8_t *text, size_t bytes, bool salvage)
{
    struct inputs inputs = { .trace = NULL };
    const struct reading reading = { .window_bytes = 4096, .limits = { .token_bytes = 1 << 16 } };
    const uint8_t *end = memchr(text, '\0', bytes), *second = end ? end + 1 : text + bytes;
    struct json_run *first_run = &inputs.trace_run, *second_run = &inputs.snapshot_run;
    struct lender *trace_lender = json_run_open(first_run, text, end ? (size_t)(end - text) : bytes, &reading);
    struct lender *snapshot_lender = json_run_open(second_run, second, bytes - (size_t)(second - text), &reading);
    const struct ap_trace_options trace_options = { .salvage = salvage };
    const struct ap_snapshot_options snapshot_options = { .salvage = salvage };
    if (ap_trace_read(first_run->json, &first_run->gate, &first_run->notes, &trace_options, &inputs.trace,
                      &first_run->error) == AP_OK &&
        ap_snapshot_read(second_run->json, &second_run->gate, &second_run->notes, &snapshot_options, &inputs.snapshot,
                         &second_run->error) == AP_OK)
        analyze(&inputs);
    ap_snapshot_free(inputs.snapshot);
    ap_trace_free(inputs.trace);
    bool back = json_run_close(second_run, snapshot_lender);
    require(json_run_close(first_run, trace_lender) && back, "all memory comes back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size)
        run(data + 1, size - 1, data[0] & 1);
    return 0;
}
