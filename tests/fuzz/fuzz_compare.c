/* SPDX-License-Identifier: MIT
 * Any text as a report that is read back, compared with another one and with itself. Claims: what is refused says why; a
 * report that is read, written and read again is the same; nothing differs from itself; what is worse one way is better the
 * other; the result can be written in all forms. First byte: where the text is cut in two, in 256ths; both parts get the
 * head of a report. The claims take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "condition.h"
#include "fuzz_target.h"
#include "report.h"
#include "report_import.h"
#include "scaling.h"
#include "turn.h"

#define HEAD "{\"schema_version\": \"1.0\", \"generator\": {\"name\": \"analyze_profile\"}, "

struct text {
    const char *data[2];
    size_t bytes[2], at;
};

static enum ap_status read_text(void *self, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct text *text = self;
    (void)reterr;
    while (text->at < 2 && !text->bytes[text->at])
        text->at++;
    *ret_bytes = 0;
    if (text->at == 2)
        return AP_OK;
    size_t count = text->bytes[text->at] < cap_bytes ? text->bytes[text->at] : cap_bytes;
    memcpy(to, text->data[text->at], count);
    text->data[text->at] += count;
    text->bytes[text->at] -= count;
    *ret_bytes = count;
    return AP_OK;
}

static bool import(struct ap_gate *gate, const char *head, const char *data, size_t bytes, struct ap_model *model)
{
    struct text text = { { head, data }, { strlen(head), bytes }, 0 };
    struct ap_byte_source source = { .read = read_text, .self = &text };
    struct ap_json_limits limits = { .kept_depth = AP_IMPORT_MAX_DEPTH, .window_bytes = bytes + 256 }; /* no megabyte */
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_error error = { .message = "" };
    struct ap_json_reader *json;
    ap_model_init(model, gate);
    require(ap_json_reader_new(gate, source, &notes, &limits, &json, &error) == AP_OK, "there is a reader");
    enum ap_status status = ap_report_import(json, model, &error);
    ap_json_reader_free(json);
    require(status == AP_OK || error.message[0], "a refusal says why");
    return status == AP_OK;
}

struct buffer {
    char *data;
    size_t used, room;
};

static enum ap_status keep(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct buffer *buffer = self;
    (void)reterr;
    if (buffer->used + bytes > buffer->room) {
        buffer->room = 2 * (buffer->used + bytes);
        buffer->data = realloc(buffer->data, buffer->room);
        require(buffer->data != NULL, "memory");
    }
    memcpy(buffer->data + buffer->used, data, bytes);
    buffer->used += bytes;
    return AP_OK;
}

static void write_json(const struct ap_model *model, struct buffer *buffer)
{
    struct ap_error error;
    require(ap_write_json(model, (struct ap_sink){ keep, buffer }, &error) == AP_OK, "the tree can be written");
}

static void check_again(struct ap_gate *gate, struct ap_text text)
{
    struct buffer first = { NULL, 0, 0 }, second = { NULL, 0, 0 };
    struct ap_model model, back;
    if (import(gate, HEAD, text.data, text.bytes, &model)) {
        write_json(&model, &first);
        require(import(gate, "", first.data, first.used, &back), "what was written is read");
        write_json(&back, &second);
        require(first.used == second.used && memcmp(first.data, second.data, first.used) == 0, "and is the same");
        ap_model_release(&back);
    }
    ap_model_release(&model);
    free(first.data);
    free(second.data);
}

static const char *const lists[] = {
    "split.parts", "device_operators.rows", "host_operators.rows", "kernels.rows", "figures", "memory", "findings.rows"
};

static size_t count(const struct ap_value *comparison, const char *list, const char *change)
{
    size_t found = 0;
    for (const struct ap_value *row = ap_value_first(ap_value_at(comparison, list)); row; row = row->next)
        found += ap_text_is(ap_value_text(ap_value_member(row, "change")), change);
    return found;
}

static const struct ap_value *compare(struct ap_model *model, const struct ap_model *before)
{
    struct ap_compare_run run = { "old.json", "report", &before->root };
    struct ap_compare_options options = { .before = &run, .before_count = 1, .after_path = "new.json" };
    struct ap_error error;
    require(ap_compare(model, &options, &error) == AP_OK, "reports can be compared");
    const struct ap_value *last = model->root.as.children.last;
    require(ap_text_is(last->key, "comparison"), "the comparison is the last member");
    return last;
}

static void write_all(struct ap_model *model)
{
    static const char *const texts[] = { "high", "steps.p50_us > 1ms,steps.p50_us > +5%", "findings.saves_us >= +1s" };
    struct buffer buffer = { NULL, 0, 0 };
    struct ap_conditions conditions;
    struct ap_error error;
    struct ap_sink sink = { keep, &buffer };
    require(ap_conditions_parse(texts, AP_COUNT_OF(texts), true, &conditions, &error) == AP_OK, "conditions");
    ap_conditions_judge(&conditions, model, &model->root);
    require(ap_write_markdown(model, AP_EXTENT_WHOLE, sink, &error) == AP_OK &&
                ap_write_junit(model, sink, &error) == AP_OK && ap_write_annotations(model, sink, &error) == AP_OK,
            "all forms can be written");
    free(buffer.data);
}

static void check_self(struct ap_gate *gate, struct ap_text text)
{
    struct ap_model x, y;
    bool can = import(gate, HEAD, text.data, text.bytes, &x) && import(gate, HEAD, text.data, text.bytes, &y);
    if (can) {
        const struct ap_value *self = compare(&y, &x);
        for (size_t i = 0; i < AP_COUNT_OF(lists); i++)
            require(!count(self, lists[i], "worse") && !count(self, lists[i], "better"), "nothing differs from itself");
        ap_model_release(&y);
    }
    ap_model_release(&x);
}

static void check_both_ways(struct ap_gate *gate, struct ap_text one, struct ap_text other)
{
    struct ap_model x, y, z;
    uint64_t batch;
    bool can = import(gate, HEAD, one.data, one.bytes, &x);
    if (can && import(gate, HEAD, other.data, other.bytes, &y)) {
        require(import(gate, HEAD, one.data, one.bytes, &z), "what was read once is read again");
        const struct ap_value *there = compare(&y, &x);
        (void)ap_scaling_guess(&x.root, &batch);
        y.root.as.children.last->key = (struct ap_text){ "x", 1 }; /* as if it were not there */
        const struct ap_value *here = compare(&z, &y);
        for (size_t i = 0; i < 6; i++)
            require(count(there, lists[i], "worse") == count(here, lists[i], "better") &&
                        count(there, lists[i], "better") == count(here, lists[i], "worse"),
                    "what is worse one way is better the other");
        write_all(&z);
        ap_model_release(&z);
    }
    if (can)
        ap_model_release(&y);
    ap_model_release(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ap_gate gate;
    if (bytes == 0)
        return 0;
    ap_gate_init(&gate, 0);
    const char *text = (const char *)data + 1;
    size_t cut = (bytes - 1) * data[0] / 256;
    const struct ap_text one = { text, cut }, other = { text + cut, bytes - 1 - cut };
    if (is_turn(data, bytes, 0, 3))
        check_again(&gate, one);
    if (is_turn(data, bytes, 1, 3))
        check_self(&gate, other);
    if (is_turn(data, bytes, 2, 3))
        check_both_ways(&gate, one, other);
    require(atomic_load(&gate.used_bytes) == 0, "all memory goes back");
    return 0;
}
