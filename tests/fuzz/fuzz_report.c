/* SPDX-License-Identifier: MIT
 * The writers of JSON and Markdown over models that no run would make (odd_model.h): whatever the tree, the JSON is valid
 * and the Markdown inert. The highest bit of the first byte says which of them is written. */
#include <stdio.h>
#include <stdlib.h>

#include "json_check.h"
#include "md_check.h"
#include "odd_model.h"
#include "report.h"
#include "text_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool condition, const char *claim, const char *why)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz_report: not so: %s: %s\n", claim, why);
    abort();
}

static void check_json(struct ap_model *model)
{
    static struct text_sink text; /* kept, as its pages take longer than what is written on them */
    struct ap_error error;
    enum ap_status status = ap_write_json(model, text_sink_of(&text), &error);
    require(status == AP_OK || status == AP_ERROR_LIMIT, "JSON is written, or the tree is too deep", error.message);
    if (status == AP_OK)
        require(json_is_valid(text.data, text.bytes) && text_is_clean(text.data, text.bytes), "the JSON is valid",
                text.data);
    text.bytes = 0;
}

static void check_markdown(struct ap_model *model)
{
    static struct text_sink text; /* kept, as its pages take longer than what is written on them */
    struct ap_error error;
    struct md_counts counts;
    char why[400];
    enum ap_status status = ap_write_markdown(model, AP_EXTENT_WHOLE, text_sink_of(&text), &error);
    require(status == AP_OK, "Markdown is written", error.message);
    require(text_is_clean(text.data, text.bytes), "the Markdown is clean", text.data);
    require(md_is_inert(text.data, text.bytes, &counts, why, sizeof(why)), "the Markdown is inert", why);
    text.bytes = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ap_gate gate;
    struct ap_model model;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    odd_model_fill(&model, data, bytes);
    if (bytes && data[0] & 0x80)
        check_markdown(&model);
    else
        check_json(&model);
    ap_model_release(&model);
    return 0;
}
