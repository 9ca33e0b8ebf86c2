/* SPDX-License-Identifier: MIT
 * The writer of HTML over models that no run would make (odd_model.h): whatever the tree, the page is strict, and its only
 * script and style are ours. */
#include <stdio.h>
#include <stdlib.h>

#include "html_check.h"
#include "json_check.h"
#include "odd_model.h"
#include "report.h"
#include "text_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool condition, const char *claim, const char *why)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz_page: not so: %s: %s\n", claim, why);
    abort();
}

static void check_html(struct ap_model *model)
{
    static struct text_sink text; /* kept, as its pages take longer than what is written on them */
    struct ap_error error;
    struct html_counts counts;
    char why[200];
    enum ap_status status = ap_write_html(model, text_sink_of(&text), &error);
    require(status == AP_OK, "HTML is written", error.message);
    require(text_is_clean(text.data, text.bytes), "the HTML is clean", text.data);
    require(html_is_strict(text.data, text.bytes, &counts, why, sizeof(why)), "the HTML is strict", why);
    require(counts.scripts == 1 && counts.styles == 1, "the HTML has one script", text.data);
    text.bytes = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ap_gate gate;
    struct ap_model model;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    odd_model_fill(&model, data, bytes);
    check_html(&model);
    ap_model_release(&model);
    return 0;
}
