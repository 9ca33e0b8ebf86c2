/* SPDX-License-Identifier: MIT
 * test_query.c - which rows are asked for, in which order, how they are written, and the short forms of a report. */
#include <stdlib.h>
#include <string.h>

#include "finding_id.h"
#include "headline.h"
#include "model_table.h"
#include "near_name.h"
#include "report.h"
#include "row_pick.h"
#include "table.h"
#include "table_cell.h"
#include "tap.h"
#include "text_sink.h"
#include "tree.h"
#include "visible_text.h"

#include "poison.h"

static struct ap_gate gate;

/* A row of every type. */
static void fill_row(struct ap_model *model)
{
    put_text(model, "name", "ampere_bf16_GEMM");
    put_time(model, "dur_us", 1500000);
    put_bytes(model, "size_bytes", 4096);
    put_ratio(model, "share_ratio", 0.25);
    put_count(model, "step", 3);
    put_bool(model, "cold", true);
    put_null(model, "line");
    put_time(model, "longest.start_us", 12345);
    struct ap_value *list = put_list(model, "phases");
    ap_add_string(model, list, NULL, "forward");
    ap_add_string(model, list, NULL, "communication");
    struct ap_value *literal = tree_place(model, "tid");
    literal->type = AP_VALUE_LITERAL;
    literal->as.text = AP_TEXT("7");
}

static bool keeps(const struct ap_model *model, const char *where)
{
    struct ap_row_filter filter;
    struct ap_error error = { .status = AP_OK };
    if (ap_row_filter_parse(where, &filter, &error) != AP_OK) {
        printf("# %s\n", error.message);
        return false;
    }
    return ap_row_filter_keeps(&filter, &model->root);
}

static void conditions_are_judged(void)
{
    static const char *const kept[] = {
        "name = ampere_bf16_GEMM",
        "name contains gemm",
        "name ~ GEMM",
        "name like amp*GEMM",
        "name like '*_bf16_?E?M'",
        "name != x",
        "dur_us > 1ms",
        "dur_us = 1500",
        "dur_us >= 1.5ms",
        "dur_us<2000us",
        "dur_us > -1",
        "size_bytes = 4KiB",
        "size_bytes > 4K",
        "share_ratio = 25%",
        "share_ratio < 0.3",
        "step = 3",
        "step == 3",
        "cold = true",
        "line = null",
        "name != null",
        "tid = 7",
        "longest.start_us > 12us",
        "phases contains comm",
        "phases = forward",
        "name = x or step = 3",
        "step = 3 or name = x",
        "name = x and step = 4 or step = 3",
        "step = 3 and cold = true and dur_us > 1us",
        " step=3 ",
        "name like '*'",
        "line like * or step = 3",
        "(step = 3)",
        "((step = 3))",
        "( step = 3 )",
        "step = 3 and (name = x or cold = true)",
        "(name = x or step = 3) and (dur_us > 1ms)",
        "(name = x and step = 3) or(cold = true)",
        "(name = 'x') or step=3",
        "step = 3 or (name = x and (cold = true or line = null))",
        "name != foo(int) and (name != foo(int))",
        "(size_bytes = 4KiB and(cold=true))",
        "name != x)",
    };
    static const char *const left_out[] = {
        "name = ampere",
        "name like gemm",
        "dur_us > 2ms",
        "line = x",
        "line != x",
        "line like *",
        "step = 3 and name = x",
        "cold = false",
        "name = 'null'",
        "name = null",
        "phases = backward",
        "missing = 1",
        "name = x or step = 4",
        "step > 3",
        "share_ratio > 25%",
        "(step = 3 or name = x) and cold = false",
        "cold = false and (step = 3 or name = x)",
        "(name = x)",
        "(name = foo(int))",
        "(step = 3 or name = x) and (cold = false or line = x)",
    };
    struct ap_model model;
    ap_model_init(&model, &gate);
    fill_row(&model);
    for (size_t i = 0; i < AP_COUNT_OF(kept); i++)
        ok(keeps(&model, kept[i]), kept[i]);
    for (size_t i = 0; i < AP_COUNT_OF(left_out); i++)
        ok(!keeps(&model, left_out[i]), left_out[i]);
    ok(keeps(&model, NULL), "no condition keeps every row");
    ap_model_release(&model);
}

static void mistakes_are_told(void)
{
    static const char *const wrong[] = { "",
                                         "name",
                                         "name =",
                                         "= x",
                                         "name = 'x",
                                         "name = a b",
                                         "name = a and",
                                         "name = a xor b = c",
                                         "dur_us > gemm",
                                         "dur_us > 5GiB",
                                         "size_bytes > 5ms",
                                         "step > 1ms",
                                         "dur_us > 1234567890123456",
                                         "(name = a",
                                         "(name = a))",
                                         "()",
                                         "( )",
                                         "(",
                                         ")",
                                         "name = a (and b = c)",
                                         "(name = a or) b = c",
                                         "(name) = a",
                                         "name = a and (",
                                         "((name = a) and b = c" };
    struct ap_row_filter filter;
    char many[2000] = "a = 1";
    for (size_t i = 0; i < AP_COUNT_OF(wrong); i++) {
        struct ap_error error = { .status = AP_OK };
        ok(ap_row_filter_parse(wrong[i], &filter, &error) == AP_ERROR_USAGE && error.setting == AP_SETTING_WHERE, wrong[i]);
    }
    for (size_t used = 5; used + 20 < sizeof(many); used += 10)
        memcpy(many + used, " or a = 22", 11);
    ok(ap_row_filter_parse(many, &filter, NULL) == AP_ERROR_USAGE, "too many comparisons");
    memset(many, '(', sizeof(many) - 1);
    ok(ap_row_filter_parse(many, &filter, NULL) == AP_ERROR_USAGE, "too many parentheses");
}

/* ---- names ---- */

static void findings_have_names(void)
{
    static const struct {
        const char *id;
        const char *title; /* NULL = there is none */
        bool is_name, numbered;
    } ids[] = {
        { "finding:1", "first", true, true },
        { "findings[0]", "first", true, true },
        { "rule-a", "first", true, false },
        { "finding:rule-b", "second", true, false },
        { "finding:2", "second", true, true },
        { "findings[1]", "second", true, true },
        { "finding:3", NULL, true, true },
        { "findings[2]", NULL, true, true },
        { "finding:0", NULL, true, false },
        { "finding:", NULL, false, false },
        { "", NULL, false, false },
        { "findings[", NULL, false, false },
        { "findings[]", NULL, false, false },
        { "findings[1", NULL, false, false },
        { "findings[-1]", NULL, false, false },
        { "1:2", NULL, false, false },
        { "findings[99999999999999999999]", NULL, false, false },
        { "finding:99999999999999999999", NULL, true, false },
    };
    struct ap_model model;
    ap_model_init(&model, &gate);
    struct ap_value *list = put_list(&model, "findings");
    for (size_t i = 0; i < 2; i++) {
        struct ap_value *finding = ap_add_object(&model, list, NULL);
        ap_add_string(&model, finding, "rule_id", i ? "rule-b" : "rule-a");
        ap_add_string(&model, finding, "title", i ? "second" : "first");
    }
    for (size_t i = 0; i < AP_COUNT_OF(ids); i++) {
        const struct ap_value *finding = ap_finding_named(&model.root, ids[i].id);
        bool same = ids[i].title ? ap_text_is(ap_value_text(ap_value_member(finding, "title")), ids[i].title) : !finding;
        ok(same && ap_finding_is_name(ids[i].id) == ids[i].is_name && ap_finding_is_numbered(ids[i].id) == ids[i].numbered,
           ids[i].id);
    }
    ok(!ap_finding_named(NULL, "finding:1"), "without a report there is no finding");
    ap_model_release(&model);
}

static void names_are_near(void)
{
    static const char *const names[] = { "host-bound",   "host-bound-small-ops",
                                         "steps.p50_us", "gpu.utilization_ratio",
                                         "memory-leak",  "kernels" };
    static const struct {
        const char *wanted, *told;
    } cases[] = {
        { "host", "; did you mean host-bound or host-bound-small-ops?" },
        { "HOST_BOUND", "; did you mean host-bound or host-bound-small-ops?" },
        { "bound", "; did you mean host-bound or host-bound-small-ops?" },
        { "p50_us", "; did you mean steps.p50_us?" },
        { "gpu.utilisation_ratio", "; did you mean gpu.utilization_ratio?" },
        { "utilisation_ratio", "; did you mean gpu.utilization_ratio?" },
        { "e", "" },
        { "nope", "" },
        { "", "" },
        { "kernles-of-the-device", "" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_near_names near = { .count = 0 };
        char told[200];
        for (size_t j = 0; j < AP_COUNT_OF(names); j++)
            ap_near_names_offer(&near, ap_text_of(cases[i].wanted), ap_text_of(names[j]));
        ap_near_names_write(&near, told, sizeof(told));
        is_str(told, cases[i].told, cases[i].wanted);
    }
}

/* ---- tables ---- */

static void fill_report(struct ap_model *model)
{
    static const char *const names[] = { "beta", "=cmd|' /C calc'!A0", "alpha\033[31m\n\"x\"", "\xe2\x80\xae_evil" };
    struct ap_value *list = put_list(model, "gpu.kernels");
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "name", names[i]);
        if (i == 3)
            ap_add_null(model, row, "dur_us");
        else
            ap_add_time(model, row, "dur_us", (int64_t)(i + 1) * 1000);
        struct ap_value *inner = ap_add_list(model, row, "places");
        ap_add_count(model, ap_add_object(model, inner, NULL), "tid", (int64_t)i);
    }
    put_null(model, "memory");
    put_list(model, "findings");
}

static struct text_sink table_of(struct ap_model *model, const char *name, const char *where, const char *sort,
                                 uint64_t limit, enum ap_format format, enum ap_status *ret_status, struct ap_error *error)
{
    struct ap_model_table table;
    struct text_sink text = { .data = NULL };
    struct ap_table_query query = { .name = name, .where = where, .sort = sort, .limit = limit, .format = format };
    *ret_status = ap_model_table_init(&table, &gate, &model->root, name, error);
    if (*ret_status == AP_OK) {
        struct ap_row_source source = ap_model_table_source(&table);
        *ret_status = ap_table_write(&source, &query, AP_WORDS_PROGRAM, (struct ap_sink){ text_sink_write, &text }, error);
    }
    ap_model_table_release(&table);
    return text;
}

static void writes(struct ap_model *model, const char *name, const char *where, const char *sort, uint64_t limit,
                   enum ap_format format, const char *want, const char *claim)
{
    enum ap_status status;
    struct ap_error error = { .status = AP_OK };
    struct text_sink got = table_of(model, name, where, sort, limit, format, &status, &error);
    is_str(got.data ? got.data : error.message, want, claim);
    text_sink_release(&got);
}

/* Keys of an input become columns: their text is shown, and each stands over its own cells. */
static void columns_named_by_an_input_are_inert(void)
{
    const struct ap_text keys[] = { AP_TEXT("a.b"),          AP_TEXT("a\0b"),         AP_TEXT("a"),
                                    AP_TEXT("\033]0;x\007"), AP_TEXT("\n::error::x"), AP_TEXT("\xc2\x9b\xe2\x80\xae") };
    struct ap_model model;
    ap_model_init(&model, &gate);
    struct ap_value *row = ap_add_object(&model, put_list(&model, "gpu.kernels"), NULL);
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        ap_add_count_named(&model, row, keys[i], (int64_t)i + 10);
    ap_add_count(&model, ap_add_object(&model, row, "in"), "n", 7);
    writes(&model, "gpu.kernels", NULL, NULL, 0, AP_FORMAT_TEXT,
           "row_id          a.b  a\\u{0}b   a  \\u{1b}]0;x\\u{7}  \\u{a}::error::x  \\u{9b}\\u{202e}  in.n\n"
           "gpu.kernels[0]   10       11  12               13               14              15     7\n\n1 of 1 row\n",
           "in a table for a terminal");
    writes(
        &model, "gpu.kernels", NULL, NULL, 0, AP_FORMAT_CSV,
        "\"row_id\",\"a.b\",\"a\\u{0}b\",\"a\",\"\\u{1b}]0;x\\u{7}\",\"\\u{a}::error::x\",\"\\u{9b}\\u{202e}\",\"in.n\"\r\n"
        "\"gpu.kernels[0]\",10,11,12,13,14,15,7\r\n",
        "and in one for other programs");
    ap_model_release(&model);
}

static void tables_are_written(void)
{
    struct ap_model model;
    ap_model_init(&model, &gate);
    fill_report(&model);
    writes(&model, "gpu.kernels", NULL, NULL, 0, AP_FORMAT_CSV,
           "\"row_id\",\"name\",\"dur_us\",\"places\"\r\n"
           "\"gpu.kernels[0]\",\"beta\",1,\"[{\"\"tid\"\": 0}]\"\r\n"
           "\"gpu.kernels[1]\",\"'=cmd|' /C calc'!A0\",2,\"[{\"\"tid\"\": 1}]\"\r\n"
           "\"gpu.kernels[2]\",\"alpha\\u{1b}[31m\\u{a}\"\"x\"\"\",3,\"[{\"\"tid\"\": 2}]\"\r\n"
           "\"gpu.kernels[3]\",\"\\u{202e}_evil\",,\"[{\"\"tid\"\": 3}]\"\r\n",
           "CSV: quoted, no formula, nothing that moves the cursor");
    writes(&model, "gpu.kernels", "dur_us > 1us", "dur_us", 1, AP_FORMAT_JSON,
           "{\n  \"schema_version\": \"1.0\",\n  \"table\": \"gpu.kernels\",\n  \"rows_total\": 4,\n  \"rows_matched\": 2,\n"
           "  \"rows_shown\": 1,\n  \"columns\": null,\n  \"rows\": [\n"
           "    {\"row_id\": \"gpu.kernels[2]\", \"name\": \"alpha\\u001b[31m\\n\\\"x\\\"\", \"dur_us\": 3, \"places\": "
           "[{\"tid\": 2}]}\n"
           "  ]\n}\n",
           "JSON: filtered, sorted from the largest down, cut");
    writes(&model, "gpu.kernels", NULL, "dur_us:asc", 0, AP_FORMAT_TEXT,
           "row_id          name                     dur_us  places\n"
           "gpu.kernels[0]  beta                       1 us  1 row\n"
           "gpu.kernels[1]  =cmd|' /C calc'!A0         2 us  1 row\n"
           "gpu.kernels[2]  alpha\\u{1b}[31m\\u{a}\"x\"    3 us  1 row\n"
           "gpu.kernels[3]  \\u{202e}_evil                 -  1 row\n"
           "\n4 of 4 rows\n",
           "text: what is not known comes last whichever the direction");
    writes(
        &model, "gpu.kernels", "name = beta", NULL, 0, AP_FORMAT_TEXT,
        "row_id          name  dur_us  places\ngpu.kernels[0]  beta    1 us  1 row\n\n1 of 1 row that --where keeps of 4\n",
        "what is kept is told");
    writes(&model, "gpu.kernels.places", "tid > 1", "tid", 0, AP_FORMAT_CSV,
           "\"row_id\",\"tid\"\r\n\"gpu.kernels[3].places[0]\",3\r\n\"gpu.kernels[2].places[0]\",2\r\n",
           "lists on the way are entered");
    writes(&model, "findings", NULL, NULL, 0, AP_FORMAT_TEXT, "0 rows: none were recorded.\n", "an empty list");
    writes(&model, "memory", NULL, NULL, 0, AP_FORMAT_TEXT, "0 rows: none were recorded.\n",
           "and what the report does not have");
    ap_model_release(&model);
}

/* The id of a row is what it is found by, however long the way to it. */
static void long_ids_stay_whole(void)
{
    char path[400], id[420], want[500];
    (void)snprintf(path, sizeof(path), "%0120d.%0120d.%0120d", 1, 2, 3);
    (void)snprintf(id, sizeof(id), "%s[1]", path);
    (void)snprintf(want, sizeof(want), "\"row_id\",\"n\"\r\n\"%s\",1\r\n", id);
    struct ap_model model;
    ap_model_init(&model, &gate);
    struct ap_value *list = put_list(&model, path);
    for (int i = 0; i < 2; i++)
        ap_add_count(&model, ap_add_object(&model, list, NULL), "n", i);
    writes(&model, path, "n = 1", NULL, 0, AP_FORMAT_CSV, want, "the id of a row far down is shown whole");
    const struct ap_value *row = ap_model_row_find(&model.root, id);
    ok(row && ap_value_member(row, "n")->as.integer == 1, "and finds it");
    ap_model_release(&model);
}

static void unknown_things_are_told(void)
{
    static const struct {
        const char *name, *where, *sort, *told;
        enum ap_setting setting;
        enum ap_advice advice;
    } wrong[] = { { "gpu.nothing", NULL, NULL, "'gpu.nothing'", AP_SETTING_TABLE, AP_ADVICE_LIST_TABLES },
                  { "gpu.kernels.name", NULL, NULL, "has no table", AP_SETTING_TABLE, AP_ADVICE_LIST_TABLES },
                  { "gpu.kernels", "x = 1", NULL, "name, dur_us", AP_SETTING_WHERE, AP_ADVICE_NONE },
                  { "gpu.kernels", NULL, "x", "name, dur_us", AP_SETTING_SORT, AP_ADVICE_NONE },
                  { "gpu.kernels", NULL, "dur_us:up", ":desc", AP_SETTING_SORT, AP_ADVICE_NONE },
                  { "", NULL, NULL, "has no table", AP_SETTING_TABLE, AP_ADVICE_LIST_TABLES } };
    struct ap_model model;
    ap_model_init(&model, &gate);
    fill_report(&model);
    for (size_t i = 0; i < AP_COUNT_OF(wrong); i++) {
        enum ap_status status;
        struct ap_error error = { .status = AP_OK };
        struct text_sink text =
            table_of(&model, wrong[i].name, wrong[i].where, wrong[i].sort, 0, AP_FORMAT_TEXT, &status, &error);
        text_sink_release(&text);
        ok(status == AP_ERROR_USAGE && strstr(error.message, wrong[i].told) && error.setting == wrong[i].setting &&
               error.advice == wrong[i].advice,
           error.message);
    }
    ok(ap_model_row_find(&model.root, "gpu.kernels[2].places[0]") != NULL, "a row is found by its id");
    ok(!ap_model_row_find(&model.root, "gpu.kernels[9]") && !ap_model_row_find(&model.root, "gpu.kernels[x]") &&
           !ap_model_row_find(&model.root, "gpu.kernels[99999999999999999999]"),
       "and others are not");
    ap_model_release(&model);
}

/* Text is cut to what it may take, and hidden characters count as what they are written as. */
static void text_is_made_visible(void)
{
    static const struct {
        const char *text, *want;
        size_t most;
    } cases[] = { { "abc", "abc", 3 },
                  { "abcdef", "ab...", 5 },
                  { "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4", "\xc3\xa4...", 4 },
                  { "a\x1b"
                    "b",
                    "a...", 4 },
                  { "a\x1b"
                    "b",
                    "a\\u{1b}b", 0 },
                  { "abcdef", "..", 2 } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct text_sink text = { .data = NULL };
        struct ap_out out;
        ap_out_init(&out, (struct ap_sink){ text_sink_write, &text });
        size_t most = cases[i].most, columns = ap_out_visible(&out, ap_text_of(cases[i].text), most);
        ok(ap_out_finish(&out, NULL) == AP_OK && (!most || columns <= most), "it fits");
        is_str(text.data, cases[i].want, cases[i].want);
        text_sink_release(&text);
    }
}

/* ---- short forms ---- */

static void fill_findings(struct ap_model *model)
{
    put_text(model, "verdict.bound", "CPU-bound");
    put_text(model, "verdict.sentence", "the device waits for the host");
    struct ap_value *list = put_list(model, "findings");
    for (int i = 0; i < 12; i++) {
        struct ap_value *finding = ap_add_object(model, list, NULL);
        ap_add_string(model, finding, "rule_id", "some-rule");
        ap_add_string(model, finding, "title", "Names such as \033]0;x\a and \xe2\x80\xae are shown");
        ap_add_string(model, finding, "severity", i ? "high" : "critical");
        ap_add_time(model, finding, "saves_us", 1000000);
        ap_add_string(model, finding, "action",
                      "call less often; see https://example.invalid for \xc3\xa4 longer text that goes on and on and on");
        ap_add_string(model, finding, "observation", "it was called 12 times");
    }
}

static void digests_keep_to_their_size(void)
{
    struct ap_model model;
    size_t last = 0;
    int64_t odd = 0;
    ap_model_init(&model, &gate);
    fill_findings(&model);
    for (uint64_t tokens = 0; tokens < 1500; tokens++) {
        struct text_sink text = { .data = NULL };
        odd += ap_write_digest(&model, tokens, AP_WORDS_PROGRAM, (struct ap_sink){ text_sink_write, &text }, NULL) != AP_OK;
        odd += text.bytes > tokens * AP_BYTES_PER_TOKEN || text.bytes + 8 < last || (text.data && strchr(text.data, '\033'));
        last = text.bytes;
        text_sink_release(&text);
    }
    is_int(odd, 0, "a digest is never longer than it may be, and grows with that");
    ok(last > 1000, "and in the end says all");
    ap_model_release(&model);
}

/* Links are none, whoever shows it as Markdown. */
static void digests_are_inert(void)
{
    struct ap_model model;
    struct text_sink text = { .data = NULL };
    ap_model_init(&model, &gate);
    fill_findings(&model);
    ok(ap_write_digest(&model, 5000, AP_WORDS_PROGRAM, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK,
       "written");
    ok(strstr(text.data, "see `https://example.invalid` for"), "an address is code");
    ok(strstr(text.data, "Names such as `\\u{1b}]0;x\\u{7}`"), "and so is what hides");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* Those of build servers. */
static void names_are_inert_in_forms_of_others(void)
{
    struct ap_model model;
    struct text_sink text = { .data = NULL };
    ap_model_init(&model, &gate);
    fill_findings(&model);
    struct ap_value *condition = ap_add_object(&model, put_list(&model, "conditions"), NULL);
    ap_add_string(&model, condition, "kind", "severity");
    ap_add_string(&model, condition, "condition", "low");
    ap_add_bool(&model, condition, "held", true);
    ap_add_string(&model, condition, "text",
                  "12 findings: \xc2\x9b"
                  "31m \xe2\x80\xae \033 \xe2\x80\x8b, \xc3\xa4");
    ok(ap_write_annotations(&model, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK, "written");
    ok(strstr(text.data, "12 findings: ?31m ? ? ?, \xc3\xa4\n") && strstr(text.data, "Names such as ?]0;x? and ? are"),
       "what hides or turns is replaced in annotations");
    text_sink_release(&text);
    ok(ap_write_junit(&model, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK, "written");
    ok(!strstr(text.data, "\xc2\x9b") && !strstr(text.data, "\xe2\x80\xae") && strstr(text.data, "\xc3\xa4"),
       "and in JUnit");
    text_sink_release(&text);
    ap_model_release(&model);
}

static size_t longest_line(const char *text, size_t *ret_lines)
{
    size_t longest = 0;
    *ret_lines = 0;
    for (const char *at = text; *at; ++*ret_lines) {
        size_t bytes = strcspn(at, "\n");
        longest = bytes > longest ? bytes : longest;
        at += bytes + (at[bytes] == '\n');
    }
    return longest;
}

/* What was asked for leads, in both short forms. */
static void a_series_leads(void)
{
    static const char first[] = "Batch sizes: the knee is 16, with 95 % of the best throughput: 8,000 samples a second\n";
    struct ap_model model;
    ap_model_init(&model, &gate);
    fill_findings(&model);
    put_count(&model, "series.knee.batch", 16);
    put_ratio(&model, "series.knee.share_of_best_ratio", 0.95);
    put_count(&model, "series.knee.samples_per_s", 8000);
    put_bytes(&model, "series.memory.capacity_bytes", 1 << 30);
    put_count(&model, "series.memory.largest_batch", 100);
    struct ap_value *points = put_list(&model, "series.points");
    struct ap_value *notes = put_list(&model, "series.notes");
    ap_add_string(&model, notes, NULL, "Assumed: something.");
    ap_add_string(&model, notes, NULL, "A remark.");
    struct text_sink text = { .data = NULL };
    struct ap_summary_options options = { .width = 100, .lines = 24 };
    for (int i = 0; i < 20; i++) {
        ap_add_count(&model, ap_add_object(&model, points, NULL), "batch", i + 1);
        if (i != 1)
            continue;
        ok(ap_write_summary(&model, &options, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK, "written");
        ok(strstr(text.data, "\n  2\nA remark.\nWhat follows"), "where there is room, remarks");
        text_sink_release(&text);
    }
    ok(ap_write_summary(&model, &options, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK, "written");
    size_t lines;
    (void)longest_line(text.data, &lines);
    ok(strstr(text.data, first) == text.data && lines < 24, "the knee is the first line of the screen");
    ok(strstr(text.data, "Memory: a batch of 100 would still fit into the 1 GiB of the device\n"), "then what would fit");
    ok(strstr(text.data, "\n  1\n  2\n") && strstr(text.data, "More: --table series.points."), "then as many sizes as fit");
    text_sink_release(&text);
    ok(ap_write_digest(&model, 200, AP_WORDS_PROGRAM, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK, "written");
    ok(strstr(text.data, first) == text.data + 2, "the knee is the first line of the digest");
    ok(strstr(text.data, "Of the largest batch: CPU-bound"), "then the verdict");
    text_sink_release(&text);
    ap_model_release(&model);
}

static void summaries_fit_the_screen(void)
{
    static const unsigned sizes[][2] = { { 80, 24 }, { 0, 0 }, { 40, 12 }, { 200, 60 }, { 60, 24 } };
    struct ap_model model;
    ap_model_init(&model, &gate);
    fill_findings(&model);
    for (size_t i = 0; i < AP_COUNT_OF(sizes); i++) {
        struct ap_summary_options options = { .width = sizes[i][0], .lines = sizes[i][1] };
        struct text_sink text = { .data = NULL };
        size_t lines;
        ok(ap_write_summary(&model, &options, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK, "written");
        size_t longest = longest_line(text.data, &lines);
        ok(longest <= (sizes[i][0] ? sizes[i][0] : 80), "no line is wider than the terminal");
        ok(lines < (sizes[i][1] ? sizes[i][1] : 24), "it is one screen");
        ok(!strchr(text.data, '\033'), "without color there is no escape sequence, whatever names say");
        text_sink_release(&text);
    }
    struct ap_summary_options color = { .color = true };
    struct text_sink text = { .data = NULL };
    ok(ap_write_summary(&model, &color, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK &&
           strstr(text.data, "\033[1;31mcritical\033[0m"),
       "severities have colors where that is allowed");
    text_sink_release(&text);
    ap_model_release(&model);
}

static void add_finding(struct ap_model *model, struct ap_value *list, const char *severity, const char *title,
                        const char *name)
{
    struct ap_value *finding = ap_add_object(model, list, NULL);
    ap_add_string(model, finding, "severity", severity);
    ap_add_string(model, finding, "title", title);
    ap_add_string(model, finding, "action", "do something about it");
    struct ap_value *causes = ap_add_list(model, finding, "affected");
    for (int i = 0; i < 3; i++)
        ap_add_string(model, ap_add_object(model, causes, NULL), "name", name);
}

static void a_screen_says_where(void)
{
    struct ap_model model;
    struct text_sink text = { .data = NULL };
    struct ap_summary_options options = { .width = 60, .lines = 24 };
    ap_model_init(&model, &gate);
    struct ap_value *list = put_list(&model, "findings");
    add_finding(&model, list, "high", "A kernel of which the title does not fit into the line at all",
                "void (anonymous namespace)::deep::short_kernel<a::b<4>>(float*)");
    add_finding(&model, list, "info", "Good to know", "a");
    add_finding(&model, list, "low", "An operator", "aten::add_");
    add_finding(&model, list, "info", "Also good", "b");
    ok(ap_write_summary(&model, &options, (struct ap_sink){ text_sink_write, &text }, NULL) == AP_OK, "written");
    ok(strstr(text.data, "\n              in short_kernel and 2 more\n"), "a kernel by its short name, and how many more");
    ok(strstr(text.data, "\n              in aten::add_ and 2 more\n"), "an operator by its name");
    ok(strstr(text.data, "A kernel of which the title does not fit ...\n"), "no word is cut in its middle");
    ok(strstr(text.data, "\n     info     Good to know; Also good\n"), "remarks share a line");
    ok(strstr(text.data, "--html-out report.html"), "the foot offers the page");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* Utilization is of the device's own window: beside a verdict on other time it says so, and what that one has. */
static void utilization_says_of_what(void)
{
    struct ap_model model;
    char fact[AP_FACT_BYTES];
    ap_model_init(&model, &gate);
    put_time(&model, "split.judged.dur_us", 382535558);
    put_ratio(&model, "split.judged.idle_ratio", 0.25);
    ok(!ap_headline_fact(&model.root, 0, fact), "without a GPU idle time is the host's");
    put_ratio(&model, "gpu.utilization_ratio", 0.99);
    put_time(&model, "gpu.window_us", 160000000);
    ok(ap_headline_fact(&model.root, 0, fact), "a fact");
    is_str(fact, "GPU: busy 99 % of 160 ms from first to last work and idle 25 % of the judged 383 ms", "busy and idle");
    ap_model_release(&model);
}

static void a_missing_verdict_says_why(void)
{
    struct ap_model model;
    char fact[AP_FACT_BYTES];
    ap_model_init(&model, &gate);
    ap_headline_verdict(&model.root, fact);
    is_str(fact, "No verdict on time: no trace was given.", "a snapshot alone");
    put_text(&model, "trace.path", "a.json");
    ap_headline_verdict(&model.root, fact);
    is_str(fact, "No verdict on time: nothing in the trace could be judged.", "an empty trace");
    put_bool(&model, "trace.recorded.accelerator", true);
    ap_headline_verdict(&model.root, fact);
    ok(strstr(fact, "accelerator"), "another device");
    put_text(&model, "trace.main_device.name", "A1");
    put_bool(&model, "trace.recorded.gpu", false);
    ok(ap_headline_fact(&model.root, 0, fact) && strcmp(fact, "accelerator: A1") == 0, "which is no GPU");
    ap_model_release(&model);
}

static void a_gain_of_nothing_is_not_told(void)
{
    struct ap_model model;
    char gain[AP_FACT_BYTES];
    ap_model_init(&model, &gate);
    put_time(&model, "none.saves_us", 0);
    put_time(&model, "some.saves_us", 2000000);
    ap_headline_gain(ap_value_at(&model.root, "none"), gain);
    is_str(gain, "", "nothing to save");
    ap_headline_gain(ap_value_at(&model.root, "some"), gain);
    is_str(gain, "saves at most 2 ms", "something to save");
    ap_model_release(&model);
}

int main(void)
{
    ap_gate_init(&gate, 0);
    conditions_are_judged();
    mistakes_are_told();
    findings_have_names();
    names_are_near();
    tables_are_written();
    long_ids_stay_whole();
    columns_named_by_an_input_are_inert();
    unknown_things_are_told();
    text_is_made_visible();
    digests_keep_to_their_size();
    digests_are_inert();
    names_are_inert_in_forms_of_others();
    summaries_fit_the_screen();
    a_screen_says_where();
    a_series_leads();
    utilization_says_of_what();
    a_missing_verdict_says_why();
    a_gain_of_nothing_is_not_told();
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory was given back");
    return done();
}
