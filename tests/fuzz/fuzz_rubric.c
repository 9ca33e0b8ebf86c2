/* SPDX-License-Identifier: MIT
 * Any text as a rubric, applied to a tree whose figures the input chooses. Claims: a refused document has a message with
 * file and line; an accepted one gives complete findings in order of rank, savings within the whole, and says the same
 * when it is read and applied again.
 * First byte: number of figures; then eight bytes a figure (figure, how, value); the rest is the document. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "rule.h"
#include "tree.h"

/* ---- the tree ---- */

static int64_t read_integer(const uint8_t *from)
{
    int64_t number = 0;
    for (int i = 0; i < 4; i++)
        number = number << 8 | from[i];
    return number;
}

static void put_figure(struct ap_model *model, const uint8_t bytes[8])
{
    size_t at = ((size_t)bytes[0] << 8 | bytes[1]) % ap_figure_count;
    while (!ap_figures[at].words)
        at = (at + 1) % ap_figure_count;
    const struct ap_figure_info *figure = &ap_figures[at];
    int64_t size = read_integer(bytes + 4) << (bytes[3] & 31);
    switch (bytes[2] % 8) {
    case 0: put_null(model, ap_figure_text(figure->path)); break;
    case 1: put_bool(model, ap_figure_text(figure->path), size & 1); break;
    case 2: put_count(model, ap_figure_text(figure->path), -size); break;
    case 3: put_bytes(model, ap_figure_text(figure->path), size); break;
    case 4: put_time(model, ap_figure_text(figure->path), size); break;
    case 5: put_ratio(model, ap_figure_text(figure->path), (double)size / 1e9); break;
    case 6: put_number(model, ap_figure_text(figure->path), (double)size / (double)(bytes[3] - 100)); break;
    default: put_count(model, ap_figure_text(figure->path), size); break;
    }
}

static void put_kernel(struct ap_model *model, struct ap_value *list, const char *name, int64_t amount, bool tensor_core)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "name", name);
    ap_add_time(model, row, "total_dur_us", amount);
    ap_add_number(model, row, "mean_dur_us", (double)amount / 3);
    ap_add_bool(model, row, "tensor_core", tensor_core);
    if (tensor_core)
        ap_add_bytes(model, row, "count", amount);
    else
        ap_add_count(model, row, "count", amount);
}

static void build_tree(struct ap_model *model, struct ap_gate *gate, const uint8_t *figures, size_t count)
{
    ap_model_init(model, gate);
    put_bool(model, "trace.complete", true);
    put_time(model, "trace.window_us", 1000000000);
    put_bytes(model, "memory.summary.reserved_bytes", INT64_C(1) << 33);
    struct ap_value *kernels = put_list(model, "gpu.kernels");
    put_kernel(model, kernels, "k`e\nrnel<{gpu.rows}>", 1000, true);
    put_kernel(model, kernels, "k", INT64_MAX, false);
    put_kernel(model, kernels, "k", INT64_MAX - 1, false);
    put_kernel(model, kernels, "l", -5, true);
    put_kernel(model, kernels, "", 7, false);
    ap_add_null(model, kernels, NULL);
    for (size_t i = 0; i < count; i++)
        put_figure(model, figures + i * 8);
}

/* ---- claims ---- */

static void check_refusal(const struct ap_error *error)
{
    int line = 0;
    require(error->status == AP_ERROR_USAGE, "a mistake is a mistake in the document");
    require(sscanf(error->message, "fuzz.md:%d: ", &line) == 1 && line >= 1, "the message names file and line");
}

static int rank_of(const struct ap_value *finding)
{
    return ap_severity_rank(ap_value_text(ap_value_member(finding, "severity")));
}

static void check_saving(const struct ap_value *finding, const char *key, const struct ap_value *root, const char *whole)
{
    const struct ap_value *saving = ap_value_member(finding, key);
    require(saving != NULL, "both savings are there");
    int64_t most = ap_value_integer(ap_value_at(root, whole), INT64_MAX);
    require(saving->type == AP_VALUE_NULL || (saving->as.integer >= 0 && (most < 0 || saving->as.integer <= most)),
            "a saving is at most the whole");
}

static void check_affected(const struct ap_value *list)
{
    require(list->type == AP_VALUE_LIST && ap_value_count(list) <= AP_FINDING_MAX_CAUSES, "a few are affected");
    for (const struct ap_value *it = ap_value_first(list); it; it = it->next) {
        int known = 0;
        for (int i = 0; i < 3; i++) {
            static const char *const keys[] = { "us", "bytes", "count" };
            const struct ap_value *amount = ap_value_member(it, keys[i]);
            require(amount != NULL, "all three are there");
            known += amount->type != AP_VALUE_NULL;
            require(amount->type == AP_VALUE_NULL || amount->as.integer > 0, "an amount is above zero");
        }
        require(known == 1 && ap_value_text(ap_value_member(it, "name")).bytes > 0, "each has a name and one amount");
    }
}

static void check_finding(const struct ap_value *finding, const struct ap_value *root)
{
    static const char *const texts[] = { "rule_id",     "title",      "confidence", "bottleneck", "hardware",
                                         "observation", "hypothesis", "action",     "trade_off",  "validation" };
    for (size_t i = 0; i < AP_COUNT_OF(texts); i++)
        require(ap_value_text(ap_value_member(finding, texts[i])).bytes > 0, "each text is there");
    require(rank_of(finding) >= 0, "the severity is one of five");
    check_saving(finding, "saves_us", root, "trace.window_us");
    check_saving(finding, "saves_bytes", root, "memory.summary.reserved_bytes");
    require(ap_value_first(ap_value_member(finding, "evidence")) != NULL, "there is evidence");
    check_affected(ap_value_member(finding, "affected"));
}

static size_t check_verdict(const struct ap_value *root)
{
    size_t sum = 0;
    bool remarks = false;
    const struct ap_value *it = ap_value_first(ap_value_at(root, "findings"));
    for (; it; it = it->next) {
        check_finding(it, root);
        require(!remarks || rank_of(it) == 0, "remarks come last");
        remarks = rank_of(it) == 0;
        sum = sum * 31 + ap_value_text(ap_value_member(it, "observation")).bytes +
              ap_value_text(ap_value_member(it, "rule_id")).bytes;
    }
    for (it = ap_value_first(ap_value_at(root, "not_evaluated")); it; it = it->next) {
        require(ap_value_first(ap_value_member(it, "missing")) != NULL, "what is not evaluated says what is missing");
        sum = sum * 31 + 1;
    }
    return sum;
}

static size_t apply_once(struct ap_gate *gate, const uint8_t *figures, size_t count, const char *text, size_t bytes)
{
    struct ap_rubric *rubric;
    struct ap_error error = { .status = AP_OK };
    if (ap_rubric_parse(gate, text, bytes, "fuzz.md", &rubric, &error) != AP_OK) {
        check_refusal(&error);
        return 0;
    }
    struct ap_model model;
    build_tree(&model, gate, figures, count);
    require(ap_rubric_apply(rubric, NULL, &model, &error) == AP_OK, "an accepted document can be applied");
    size_t sum = check_verdict(&model.root);
    ap_model_release(&model);
    ap_rubric_free(rubric);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ap_gate gate;
    if (bytes == 0)
        return 0;
    size_t count = data[0] % 64;
    if (count > (bytes - 1) / 8)
        count = (bytes - 1) / 8;
    const uint8_t *figures = data + 1;
    const char *text = (const char *)figures + count * 8;
    size_t text_bytes = bytes - 1 - count * 8;
    ap_gate_init(&gate, 0);
    size_t first = apply_once(&gate, figures, count, text, text_bytes);
    if (first) /* something was judged */
        require(first == apply_once(&gate, figures, count, text, text_bytes), "the same verdict twice");
    require(atomic_load(&gate.used_bytes) == 0, "all memory goes back");
    return 0;
}
