/* SPDX-License-Identifier: MIT
 * The writers, tested from models built by hand. */
#include <math.h>

#include "hostile_names.h"
#include "json_check.h"
#include "md_check.h"
#include "report.h"
#include "sample_report.h"
#include "tap.h"
#include "text_sink.h"

static struct ap_gate gate;

static void start(struct ap_model *model)
{
    ap_gate_init(&gate, 0);
    ap_model_init(model, &gate);
}

static struct text_sink json_of(struct ap_model *model)
{
    struct text_sink to = { .data = NULL };
    struct ap_error error;
    if (ap_write_json(model, text_sink_of(&to), &error) != AP_OK)
        ok(false, error.message);
    return to;
}

static struct text_sink markdown_of(struct ap_model *model)
{
    struct text_sink to = { .data = NULL };
    struct ap_error error;
    if (ap_write_markdown(model, AP_EXTENT_WHOLE, text_sink_of(&to), &error) != AP_OK)
        ok(false, error.message);
    return to;
}

/* ---- JSON ---- */

static void json_prints_the_tree_as_it_is(void)
{
    struct ap_model model;
    start(&model);
    ap_add_string(&model, &model.root, "schema_version", "1.0");
    ap_add_null(&model, &model.root, "gpu");
    struct ap_value *cpu = ap_add_object(&model, &model.root, "cpu");
    ap_add_object(&model, cpu, "signals");
    struct ap_value *list = ap_add_list(&model, cpu, "top_ops");
    ap_add_time(&model, ap_add_object(&model, list, NULL), "total_dur_us", 1500);
    ap_add_count(&model, list, NULL, -7);
    ap_add_list(&model, &model.root, "warnings");
    struct text_sink text = json_of(&model);
    is_str(text.data,
           "{\n  \"schema_version\": \"1.0\",\n  \"gpu\": null,\n  \"cpu\": {\n    \"signals\": {},\n"
           "    \"top_ops\": [\n      {\n        \"total_dur_us\": 1.5\n      },\n      -7\n    ]\n  },\n"
           "  \"warnings\": []\n}\n",
           "keys in tree order, two spaces, empty containers on one line, a final newline");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* The only value of a list, as JSON writes it. */
static void is_json(struct ap_model *model, const char *want, const char *claim)
{
    struct text_sink text = json_of(model);
    char whole[600];
    (void)snprintf(whole, sizeof(whole), "{\n  \"v\": %s\n}\n", want);
    is_str(text.data, whole, claim);
    ok(json_is_valid(text.data, text.bytes), "and it is valid JSON");
    text_sink_release(&text);
    ap_model_release(model);
}

static void json_numbers(void)
{
    static const struct {
        enum ap_value_type type;
        int64_t integer;
        double number;
        const char *want, *claim;
    } cases[] = {
        { AP_VALUE_TIME_NS, 0, 0, "0", "no time" },
        { AP_VALUE_TIME_NS, 1, 0, "0.001", "a nanosecond" },
        { AP_VALUE_TIME_NS, -1500, 0, "-1.5", "a negative time" },
        { AP_VALUE_TIME_NS, INT64_MAX, 0, "9223372036854775.807", "the longest time" },
        { AP_VALUE_TIME_NS, INT64_MIN, 0, "-9223372036854775.808", "the most negative time" },
        { AP_VALUE_BYTES, INT64_MAX, 0, "9223372036854775807", "all digits of a size" },
        { AP_VALUE_COUNT, INT64_MIN, 0, "-9223372036854775808", "all digits of a count" },
        { AP_VALUE_BOOL, 1, 0, "true", "true" },
        { AP_VALUE_BOOL, 0, 0, "false", "false" },
        { AP_VALUE_RATIO, 0, 1.0 / 3, "0.333333333", "nine digits of a ratio" },
        { AP_VALUE_RATIO, 0, -0.0, "0", "no negative zero" },
        { AP_VALUE_NUMBER, 0, NAN, "null", "what is not a number is null" },
        { AP_VALUE_NUMBER, 0, -INFINITY, "null", "what is not finite is null" },
        { AP_VALUE_NUMBER, 0, 1e300, "1e+300", "a huge number" },
        { AP_VALUE_NULL, 0, 0, "null", "null" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model model;
        start(&model);
        struct ap_value *value = ap_add_object(&model, &model.root, "v");
        value->type = cases[i].type;
        if (cases[i].type == AP_VALUE_RATIO || cases[i].type == AP_VALUE_NUMBER)
            value->as.number = cases[i].number;
        else
            value->as.integer = cases[i].integer;
        is_json(&model, cases[i].want, cases[i].claim);
    }
}

static void json_texts(void)
{
    static const struct {
        struct ap_text text;
        const char *want, *claim;
    } cases[] = {
        { { "", 0 }, "\"\"", "empty text" },
        { { "a\0b", 3 }, "\"a\\u0000b\"", "NUL is data" },
        { { "\"\\/", 3 }, "\"\\\"\\\\/\"", "quote and backslash" },
        { { "\b\f\n\r\t\v\x1b", 7 }, "\"\\b\\f\\n\\r\\t\\u000b\\u001b\"", "control characters" },
        { { "\x7f\xC2\x85", 3 }, "\"\\u007f\\u0085\"", "DEL and C1 controls" },
        { { "\xE2\x80\xA8\xE2\x80\xA9", 6 }, "\"\\u2028\\u2029\"", "line separators" },
        { { "\xE2\x80\xAEgnp", 6 }, "\"\\u202egnp\"", "right-to-left override" },
        { { "\xF3\xA0\x80\x81", 4 }, "\"\\udb40\\udc01\"", "an invisible tag as a surrogate pair" },
        { { "\xF0\x9F\x94\xA5 \xC3\xA4", 7 }, "\"\xF0\x9F\x94\xA5 \xC3\xA4\"", "what is visible stays" },
        { { "a\xFF\xC3(\xED\xA0\x80", 7 },
          "\"a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"",
          "each byte that is not UTF-8 becomes U+FFFD" },
        { { "\xEF\xBF\xBD", 3 }, "\"\xEF\xBF\xBD\"", "U+FFFD itself stays" },
        { { "\xC0\x80\xF4\x90\x80\x80\xE2\x82", 8 },
          "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"",
          "overlong, too large and cut sequences" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model model;
        start(&model);
        ap_add_text(&model, &model.root, "v", cases[i].text);
        is_json(&model, cases[i].want, cases[i].claim);
    }
}

static void json_literals(void)
{
    static const struct {
        const char *literal, *want;
    } cases[] = {
        { "18446744073709551615", "18446744073709551615" },
        { "-0.50e+7", "-0.50e+7" },
        { "0", "0" },
        { "true", "true" },
        { "null", "null" },
        { "", "\"\"" },
        { "-", "\"-\"" },
        { "01", "\"01\"" },
        { "1.", "\"1.\"" },
        { ".5", "\".5\"" },
        { "1e", "\"1e\"" },
        { "NaN", "\"NaN\"" },
        { "1, \"x\": 2", "\"1, \\\"x\\\": 2\"" },
        { "1 ", "\"1 \"" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model model;
        start(&model);
        ap_add_literal(&model, &model.root, "v", ap_text_of(cases[i].literal));
        is_json(&model, cases[i].want, "a literal stays if JSON allows it, else it becomes a string");
    }
}

static void json_depth_is_bounded(void)
{
    struct ap_model model;
    start(&model);
    struct ap_value *value = &model.root;
    for (int i = 0; i < 62; i++)
        value = ap_add_list(&model, value, i ? NULL : "deep");
    struct text_sink text = json_of(&model);
    ok(json_is_valid(text.data, text.bytes), "a deep tree is written");
    text_sink_release(&text);
    for (int i = 0; i < 100; i++)
        value = ap_add_list(&model, value, NULL);
    struct ap_error error;
    is_int(ap_write_json(&model, text_sink_of(&text), &error), AP_ERROR_LIMIT, "a tree beyond all reason is refused");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* ---- Markdown: figures ---- */

static bool holds(const struct text_sink *text, const char *part, const char *claim)
{
    bool found = strstr(text->data, part) != NULL;
    if (!ok(found, claim))
        printf("#   nowhere: %s\n", part);
    return found;
}

static bool holds_not(const struct text_sink *text, const char *part, const char *claim)
{
    return ok(strstr(text->data, part) == NULL, claim);
}

static void markdown_figures(void)
{
    struct ap_model model;
    start(&model);
    sample_fill(&model, NULL, 0);
    struct text_sink text = markdown_of(&model);
    holds(&text, "| Trace window | 1,034,551.204 us (1.03 s) | `trace.window_us` |", "a time, exact and rounded");
    holds(&text, "| Reserved | 20,971,520 B (20 MiB) | `memory.summary.reserved_bytes` |", "a size, exact and rounded");
    holds(&text, "| Requested | not recorded | `memory.summary.requested_bytes` |", "null is not 0");
    holds(&text, "| Reserved over allocated | 1.524 x |", "a quotient of sizes is a factor");
    holds(&text, "| GPU utilization | 50.0 % |", "a share is a percentage");
    holds(&text, "| Allocations per second | 3,105.2 /s |", "a rate has its unit");
    holds(&text, "| 1,250 | &lt;0.001 % | 3.500 /step |", "a tiny share is not 0, a number per step says so");
    holds(&text, "| `18446744073709551615` |", "an id keeps all digits and no separators");
    holds(&text, "| `139818761715712` |", "so does an address");
    holds(&text, "| -1.5 |", "a negative time");
    holds(&text, "| `free` | 2 |\n", "no rate in any row, no column of rates");
    holds(&text, "### 1. The training loop waits for data", "findings are ranked");
    holds(&text,
          "**High** severity, medium confidence, data-load-bound, saves at most 1.03 s. Rule `dataloader-wait`, holds for "
          "any hardware.",
          "how much it matters, how sure it is, of what kind, what it saves and where it holds");
    holds(&text, "- **Trade-off:** Workers take host memory.\n- **Validation:**", "what the action costs");
    holds(&text, "- **Affected:** `aten::mm` 20.5 ms, `aten::mm` 2 KiB, `aten::mm` 12 times, `aten::mm` 1 time\n",
          "who is concerned");
    holds(&text, "| `cpu.signals.dataloader.window_share_ratio` | 39.6 % | 5.00 % |", "evidence in one unit");
    holds(&text, "- **Gain:** at most 33.3 % of `aten::mm`: the run becomes at most 1.500 x as fast\n",
          "the bound of the gain");
    holds(&text, "- **In the trace:** `aten::mm` at `1623142624148124.125` us for 20.5 ms, tid `aten::mm`\n",
          "where to look, in the digits of the trace");
    holds(&text, "\n**Verify:** `aten::mm`\n", "a finding ends with the command that verifies it");
    holds(&text, "- Phase: `backward`\n- `commit`: `aten::mm`\n", "what the report is about, and its labels");
    holds(&text, "3 more findings are left out: of another domain", "what --focus left out is told");
    holds(&text, "(`num_workers=0`) and 3 &#60; 5.", "prose: identifiers are code, signs are text");
    holds(&text, "Set `num_workers=4`, then `torch.cuda.empty_cache()` once.", "prose: code stays code");
    holds(&text, "- For `fragmentation`, `slack`: a memory snapshot (--memory-json).", "rules by missing artifact");
    holds(&text, "> **WARNING:** `aten::mm`: `aten::mm`.", "a cut input is told loudly");
    holds(&text, "- Not recorded: `stacks`.", "what was not recorded");
    holds_not(&text, "never_met", "patterns that do not occur are left out");
    text_sink_release(&text);
    ap_model_release(&model);
}

static void markdown_of_time(void)
{
    struct ap_model model;
    start(&model);
    sample_fill(&model, NULL, 0);
    struct text_sink text = markdown_of(&model);
    holds(&text, "**CPU-bound**: the device waits for the host to launch work: 1 ms of 2 ms (50.0 %) (confidence high).",
          "the bound");
    holds(&text, ": **yes**, 39.6 % (threshold 80.0 %)\n", "a symptom that is there");
    holds(&text, ": no, 90.0 % (threshold 80.0 %)", "one that is not");
    holds_not(&text, ": not evaluated", "one that could not be looked for is not told");
    holds(&text, "| Compute kernels | 1,236.068 | 25.0 % | 1,236.068 | 25.0 % | `split.*.compute_*` |",
          "a part: time and share");
    holds(&text, "| Idle | 1,242.072 | – | 1,242.072 | – | `split.*.idle_*` |", "a share that is not known");
    holds(&text,
          "| `host_python` | 5 | – | the host ran Python, between operators or within one that is written in it | "
          "`split.judged.idle_causes.host_python_*` |\n"
          "| `data_loading` | 1 | 12.5 % |",
          "causes, the largest first");
    holds_not(&text, "`queue_wait`", "those without time are left out");
    holds(&text, "Rows of `idle.gaps`, longest first", "gaps");
    holds(&text, "Rows of `data_loading.waits`", "waits for data");
    text_sink_release(&text);
    ap_model_release(&model);
}

static void markdown_of_nothing(void)
{
    struct ap_model model;
    start(&model);
    struct text_sink text = markdown_of(&model);
    holds(&text, "# Profile report", "an empty tree gives a report");
    holds_not(&text, "Verdict", "without findings that were never sought");
    text_sink_release(&text);
    ap_add_null(&model, &model.root, "memory");
    ap_add_null(&model, &model.root, "cpu");
    ap_add_list(&model, &model.root, "findings");
    ap_add_list(&model, &model.root, "warnings");
    text = markdown_of(&model);
    holds(&text, "Nothing above threshold.", "no findings: it says so");
    holds_not(&text, "## CPU", "no trace: no section of it");
    holds_not(&text, "## Memory", "neither trace nor snapshot: none of memory");
    holds(&text, "Nothing odd was met in what the input holds.", "no warnings: it says so");
    text_sink_release(&text);
    ap_model_release(&model);
}

static void markdown_lists_operators_twice(void)
{
    static const char *const lists[] = { "operators", "operators_by_self" };
    struct ap_model model;
    start(&model);
    struct ap_value *cpu = ap_add_object(&model, &model.root, "cpu");
    for (int i = 0; i < 2; i++) {
        struct ap_value *list = ap_add_list(&model, cpu, lists[i]), *row = ap_add_object(&model, list, NULL);
        ap_add_string(&model, row, "name", i ? "leaf" : "root");
        ap_add_time(&model, row, "total_dur_us", 9000);
        ap_add_null(&model, row, "self_dur_us");
        if (i)
            ap_add_time(&model, ap_add_object(&model, list, NULL), "self_dur_us", 1000);
    }
    struct text_sink text = markdown_of(&model);
    holds(&text, "| `root` | 9 |\n", "by total; a column that no row knows is left out");
    holds(&text, "| `leaf` | 9 | – |\n", "by self time; what one row does not know is a dash");
    holds_not(&text, "p99", "columns that no row has are left out");
    text_sink_release(&text);
    ap_model_release(&model);
}

static void long_lists_say_what_they_leave_out(void)
{
    struct ap_model model;
    start(&model);
    ap_add_object(&model, &model.root, "cpu");
    struct ap_value *list = ap_add_list(&model, ap_add_object(&model, &model.root, "steps"), "rows");
    for (int i = 0; i < 1234; i++)
        ap_add_time(&model, ap_add_object(&model, list, NULL), "dur_us", i * 1000);
    struct text_sink text = markdown_of(&model);
    holds(&text, "Rows of `steps.rows`, in order of time; the first 100 of 1,234.", "how many of how many");
    holds(&text, "| 99 |\n", "the last one shown");
    holds_not(&text, "| 100 |\n", "the first one left out");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* ---- Markdown: hostile names ---- */

/* Headings and lists are the same for all names: what a name adds would be one too many. */
static void one_hostile_name(const struct ap_text *name, const struct md_counts *want)
{
    struct ap_model model;
    start(&model);
    sample_fill(&model, name, 1);
    struct text_sink text = markdown_of(&model);
    struct md_counts counts;
    char why[400];
    bool inert = md_is_inert(text.data, text.bytes, &counts, why, sizeof(why));
    if (!ok(inert, "inert in CommonMark and in GitHub's dialect"))
        printf("#   %s\n", why);
    /* an observation of no text is left out */
    bool same = counts.headings == want->headings && counts.lists == want->lists && counts.quotes == want->quotes &&
                counts.items + (name->bytes == 0) == want->items;
    ok(same, "it begins no heading, list or quote");
    ok(text_is_clean(text.data, text.bytes), "no control character and no broken UTF-8 in the Markdown");
    text_sink_release(&text);
    text = json_of(&model);
    ok(json_is_valid(text.data, text.bytes) && text_is_clean(text.data, text.bytes), "and the JSON is valid");
    text_sink_release(&text);
    ap_model_release(&model);
}

static void hostile_names_are_inert(void)
{
    struct ap_model model;
    start(&model);
    sample_fill(&model, NULL, 0);
    struct text_sink text = markdown_of(&model);
    struct md_counts want;
    char why[400];
    ok(md_is_inert(text.data, text.bytes, &want, why, sizeof(why)), "the sample with a harmless name");
    ok(want.headings > 10 && want.codes > 50, "the sample is a whole report");
    text_sink_release(&text);
    ap_model_release(&model);
    for (size_t i = 0; i < AP_COUNT_OF(hostile); i++) {
        printf("# hostile name %zu\n", i);
        one_hostile_name(&hostile[i], &want);
    }
}

/* The name as a reader sees it: text of the code spans and of the references between them. */
static void is_shown(struct ap_text name, const char *want, const char *claim)
{
    struct ap_model model;
    start(&model);
    ap_add_text(&model, ap_add_object(&model, &model.root, "memory"), "path", name);
    struct text_sink text = markdown_of(&model);
    cmark_node *document = cmark_parse_document(text.data, text.bytes, CMARK_OPT_DEFAULT);
    cmark_node *item = cmark_node_next(cmark_node_first_child(cmark_node_next(cmark_node_first_child(document))));
    struct text_sink shown = { .data = NULL };
    cmark_node *part = cmark_node_first_child(cmark_node_first_child(item));
    for (; part; part = cmark_node_next(part))
        if (cmark_node_get_literal(part))
            (void)text_sink_write(&shown, cmark_node_get_literal(part), strlen(cmark_node_get_literal(part)), NULL);
    is_str(shown.data + strlen("Memory snapshot: "), want, claim);
    text_sink_release(&shown);
    cmark_node_free(document);
    text_sink_release(&text);
    ap_model_release(&model);
}

/* What one row says of another is as long as that one's name, and there may be many rows. */
static void names_without_end_are_cut(void)
{
    static char long_name[9000];
    memset(long_name, 'x', sizeof(long_name));
    memcpy(long_name + 8187, "\xe2\x82\xac", 3);
    for (size_t bytes = 8191; bytes <= sizeof(long_name); bytes += sizeof(long_name) - 8191) {
        struct ap_model model;
        start(&model);
        ap_add_text(&model, &model.root, "v", (struct ap_text){ long_name, bytes });
        struct ap_text kept = ap_value_text(ap_value_at(&model.root, "v"));
        is_int((int64_t)kept.bytes, bytes == 8191 ? 8191 : 8190, "a long name is cut");
        ok(ap_text_ends_with(kept, bytes == 8191 ? "x" : "x..."), "where a character ends");
        is_int((int64_t)model.cut_texts, bytes != 8191, "and counted");
        ap_add_text(&model, &model.root, "again", kept);
        is_int((int64_t)model.cut_texts, bytes != 8191, "not again where it is shown again");
        ap_model_release(&model);
    }
}

static void names_are_shown_whole(void)
{
    is_shown(AP_TEXT("aten::mm"), "aten::mm", "a plain name");
    is_shown(AP_TEXT("a|b`c``|"), "a|b`c``|", "bars and back-ticks");
    is_shown(AP_TEXT(" a "), " a ", "spaces at both ends");
    is_shown(AP_TEXT("` x"), "` x", "a back-tick and a space");
    is_shown(AP_TEXT("\\|&amp;<b>"), "\\|&amp;<b>", "escapes of others are text");
    is_shown(AP_TEXT("a\nb\x1b"), "a\\u{a}b\\u{1b}", "control characters are visible");
    is_shown(AP_TEXT("\xE2\x80\xAEx"), "\\u{202e}x", "so are direction marks");
    is_shown(AP_TEXT(""), "(empty)", "nothing is said to be nothing");
}

static void long_names_are_cut(void)
{
    char name[401];
    memset(name, 'x', 400);
    name[400] = '\0';
    struct ap_model model;
    start(&model);
    struct ap_text text_of_name = { name, 400 };
    sample_fill(&model, &text_of_name, 1);
    struct text_sink text = markdown_of(&model);
    char want[110];
    (void)snprintf(want, sizeof(want), "| `%.100s…` |", name);
    holds(&text, want, "a long name is cut at 100 characters");
    memset(name + 90, '|', 20);
    text_sink_release(&text);
    ap_model_release(&model);
    start(&model);
    sample_fill(&model, &text_of_name, 1);
    text = markdown_of(&model);
    holds(&text, "&#124;… |", "also where it is cut at a bar");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* ---- failures ---- */

static void a_full_sink_is_told(void)
{
    struct ap_model model;
    start(&model);
    sample_fill(&model, NULL, 0);
    struct ap_error error = { .status = AP_OK };
    struct text_sink full = { .limit_bytes = 100 };
    is_int(ap_write_json(&model, text_sink_of(&full), &error), AP_ERROR_OUTPUT, "JSON to a full sink");
    is_str(error.message, "the sink is full", "with the sink's message");
    is_int(ap_write_markdown(&model, AP_EXTENT_WHOLE, text_sink_of(&full), &error), AP_ERROR_OUTPUT,
           "Markdown to a full sink");
    text_sink_release(&full);
    ap_model_release(&model);
}

static void output_is_stable(void)
{
    struct ap_model model;
    start(&model);
    sample_fill(&model, hostile, AP_COUNT_OF(hostile));
    struct text_sink first = markdown_of(&model), second = markdown_of(&model);
    ok(first.bytes == second.bytes && memcmp(first.data, second.data, first.bytes) == 0, "the same Markdown twice");
    text_sink_release(&first);
    text_sink_release(&second);
    ap_model_release(&model);
}

int main(void)
{
    json_prints_the_tree_as_it_is();
    json_numbers();
    json_texts();
    json_literals();
    json_depth_is_bounded();
    markdown_figures();
    markdown_of_time();
    markdown_of_nothing();
    markdown_lists_operators_twice();
    long_lists_say_what_they_leave_out();
    hostile_names_are_inert();
    names_are_shown_whole();
    names_without_end_are_cut();
    long_names_are_cut();
    a_full_sink_is_told();
    output_is_stable();
    return done();
}
