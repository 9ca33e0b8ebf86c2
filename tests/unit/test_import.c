/* SPDX-License-Identifier: MIT
 * A report that is read back is the report that was written; anything else is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "report_import.h"
#include "tap.h"
#include "tree.h"

#include "poison.h"

#define HEAD "{\"schema_version\": \"1.0\", \"generator\": {\"name\": \"analyze_profile\"}"

static struct ap_gate gate;

static enum ap_status import(const char *text, size_t bytes, struct ap_model *model, struct ap_error *error)
{
    struct ap_text source = { text, bytes };
    struct ap_json_limits limits = { .kept_depth = AP_IMPORT_MAX_DEPTH };
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_json_reader *json;
    *error = (struct ap_error){ .message = "" };
    ap_model_init(model, &gate);
    enum ap_status status = ap_json_reader_new(&gate, ap_text_source(&source), &notes, &limits, &json, error);
    if (status != AP_OK)
        return status;
    status = ap_report_import(json, model, error);
    ap_json_reader_free(json);
    return status;
}

struct buffer {
    char data[65536];
    size_t used;
};

static enum ap_status keep(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct buffer *buffer = self;
    (void)reterr;
    if (buffer->used + bytes > sizeof(buffer->data))
        return AP_ERROR_OUTPUT;
    memcpy(buffer->data + buffer->used, data, bytes);
    buffer->used += bytes;
    return AP_OK;
}

static void write(const struct ap_model *model, struct buffer *buffer)
{
    struct ap_error error;
    buffer->used = 0;
    ok(ap_write_json(model, (struct ap_sink){ keep, buffer }, &error) == AP_OK, "written");
}

static void what_is_written_is_read(void)
{
    static struct buffer first, second;
    struct ap_model model, back;
    struct ap_error error;
    ap_model_init(&model, &gate);
    ap_add_string(&model, &model.root, "schema_version", "1.3");
    ap_add_string(&model, ap_add_object(&model, &model.root, "generator"), "name", "analyze_profile");
    put_time(&model, "steps.p50_us", 1234567);
    put_time(&model, "trace.start_us", INT64_C(1623142623460172001));
    put_time(&model, "launches.queue_delay_us.p50", 1500);
    put_bytes(&model, "memory.peak_bytes", INT64_C(1) << 50);
    put_count(&model, "count", -3);
    put_ratio(&model, "share_ratio", 1);
    put_ratio(&model, "exposed_ratio", 0.123456789);
    put_number(&model, "per_step", 2.5);
    put_bool(&model, "yes", true);
    put_null(&model, "unknown");
    struct ap_value *list = put_list(&model, "names");
    ap_add_string(&model, list, NULL, "a\"\\\n\xc3\xa9");
    ap_add_string(&model, list, NULL, "");
    (void)put_list(&model, "none");
    struct ap_value *times = put_list(&model, "median_steps_us");
    ap_add_time(&model, times, NULL, 7);
    struct ap_value *rows = put_list(&model, "rows");
    ap_add_time(&model, ap_add_object(&model, rows, NULL), "dur_us", 99);
    ap_add_count(&model, ap_add_object(&model, rows, NULL), "", 5);
    write(&model, &first);
    is_int(import(first.data, first.used, &back, &error), AP_OK, "read back");
    write(&back, &second);
    ok(first.used == second.used && memcmp(first.data, second.data, first.used) == 0, "and written again it is the same");
    static const struct {
        const char *path;
        enum ap_value_type type;
    } types[] = { { "steps.p50_us", AP_VALUE_TIME_NS },
                  { "launches.queue_delay_us.p50", AP_VALUE_TIME_NS },
                  { "memory.peak_bytes", AP_VALUE_BYTES },
                  { "share_ratio", AP_VALUE_RATIO },
                  { "per_step", AP_VALUE_NUMBER },
                  { "count", AP_VALUE_COUNT },
                  { "unknown", AP_VALUE_NULL } };
    for (size_t i = 0; i < AP_COUNT_OF(types); i++)
        is_int(ap_value_at(&back.root, types[i].path)->type, types[i].type, types[i].path);
    is_int(ap_value_integer(ap_value_at(&back.root, "trace.start_us"), 0), INT64_C(1623142623460172001),
           "no digit of a time is lost");
    ap_model_release(&model);
    ap_model_release(&back);
}

static void what_is_no_report_is_refused(void)
{
    static const struct {
        const char *text, *told;
        enum ap_status status;
    } bad[] = {
        { "[]", "object", AP_ERROR_INPUT },
        { "5", "object", AP_ERROR_INPUT },
        { "{}", "no report", AP_ERROR_INPUT },
        { "{\"schema_version\": \"1.0\"}", "no report", AP_ERROR_INPUT },
        { "{\"schema_version\": 1.0, \"generator\": {\"name\": \"analyze_profile\"}}", "no report", AP_ERROR_INPUT },
        { "{\"schema_version\": \"2.0\", \"generator\": {\"name\": \"analyze_profile\"}}", "format 2.0", AP_ERROR_INPUT },
        { "{\"schema_version\": \"10\", \"generator\": {\"name\": \"analyze_profile\"}}", "format 10", AP_ERROR_INPUT },
        { HEAD, "cut", AP_ERROR_CUT },
        { "", "cut", AP_ERROR_CUT },
        { HEAD "} x", "", AP_ERROR_INPUT },
        { HEAD ", }", "", AP_ERROR_INPUT }
    };
    struct ap_model model;
    struct ap_error error;
    for (size_t i = 0; i < AP_COUNT_OF(bad); i++) {
        is_int(import(bad[i].text, strlen(bad[i].text), &model, &error), bad[i].status, bad[i].text);
        ok(strstr(error.message, bad[i].told) != NULL, "and why");
        ap_model_release(&model);
    }
}

static void depth_is_bounded(void)
{
    static char text[4096];
    struct ap_model model;
    struct ap_error error;
    for (size_t depth = 60; depth <= 200; depth += 70) {
        size_t used = (size_t)snprintf(text, sizeof(text), "%s, \"x\": ", HEAD);
        memset(text + used, '[', depth);
        memset(text + used + depth, ']', depth);
        text[used + 2 * depth] = '}';
        is_int(import(text, used + 2 * depth + 1, &model, &error), depth == 60 ? AP_OK : AP_ERROR_LIMIT, "nesting");
        ap_model_release(&model);
    }
}

static void odd_numbers_are_not_known_or_kept(void)
{
    static const char text[] =
        HEAD ", \"start_us\": 1e99, \"b\": 1e999, \"c\": 18446744073709551616, \"peak_bytes\": 1.5, \"e\": NaN, "
             "\"dur_us\": \"text\", \"g\": 1e2, \"p50_us\": -0.0005}";
    struct ap_model model;
    struct ap_error error;
    is_int(import(text, sizeof(text) - 1, &model, &error), AP_OK, "read");
    is_int(ap_value_member(&model.root, "start_us")->type, AP_VALUE_NULL, "a time beyond all");
    is_int(ap_value_member(&model.root, "b")->type, AP_VALUE_NULL, "an infinite number");
    is_int(ap_value_member(&model.root, "c")->type, AP_VALUE_NUMBER, "a large one");
    is_int(ap_value_member(&model.root, "peak_bytes")->type, AP_VALUE_NUMBER, "half a byte");
    is_int(ap_value_member(&model.root, "e")->type, AP_VALUE_NULL, "NaN");
    is_int(ap_value_member(&model.root, "dur_us")->type, AP_VALUE_TEXT, "a text stays one");
    is_int(ap_value_integer(ap_value_member(&model.root, "p50_us"), 0), -1, "rounded");
    ap_model_release(&model);
}

int main(void)
{
    ap_gate_init(&gate, 0);
    what_is_written_is_read();
    what_is_no_report_is_refused();
    depth_is_bounded();
    odd_numbers_are_not_known_or_kept();
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory was given back");
    return done();
}
