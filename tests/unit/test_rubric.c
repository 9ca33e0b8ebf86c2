/* SPDX-License-Identifier: MIT
 * The rule language, from documents typed here, on trees typed here. The rules that ship are in test_rubric_rules.c. */
#include <stdio.h>
#include <string.h>

#include "rubric.h"
#include "tap.h"
#include "tree.h"

#include "poison.h"

#define MS INT64_C(1000000)
#define GIB ((int64_t)1 << 30)

#define BLOCK(id, lines) "### " id ": Title of " id "\n\n```rule\n" lines "\n```\n\n"
#define TEXTS "- Observation: seen\n- Hypothesis: guess\n- Action: do\n- Trade-off: pay\n- Validation: check\n\n"
#define KIND "bottleneck: sync-bound\nhardware: any"
#define MIDDLE "severity: medium\nconfidence: medium\nsource: ours"
#define RULE(id, when, more) BLOCK(id, "when: " when "\n" more "\n" KIND) TEXTS

static struct ap_gate gate;

/* ---- mistakes ---- */

static void mistake(const char *document, const char *want)
{
    struct ap_rubric *rubric = NULL;
    struct ap_error error = { .status = AP_OK };
    enum ap_status status = ap_rubric_parse(&gate, document, strlen(document), "r.md", &rubric, &error);
    is_int(status, AP_ERROR_USAGE, want);
    is_str(error.message, want, "with file and line");
    ap_rubric_free(status == AP_OK ? rubric : NULL);
}

#define IN_CONDITION(when) "# Rules\n\n" RULE("a", when, MIDDLE)

static void mistakes_in_conditions_name_their_line(void)
{
    mistake(IN_CONDITION("gpu.utilisation < 3"),
            "r.md:6: no figure is called \"gpu.utilisation\": expected a path that src/catalogue lets rules name");
    mistake(IN_CONDITION("gpu.rows > 1 and\n  gpu.idle_us > 1 GiB"),
            "r.md:7: gpu.idle_us is a time, so a time such as 10 us, 1.5 ms or 2 s was expected, not \"GiB\"");
    mistake(IN_CONDITION("gpu.idle_us > 5"),
            "r.md:6: gpu.idle_us is a time, so a time such as 10 us, 1.5 ms or 2 s was expected, not \"5\"");
    mistake(IN_CONDITION("gpu.memcpy.bytes > 5 ms"),
            "r.md:6: gpu.memcpy.bytes is a size, so a size such as 64 KiB or 1 GiB was expected, not \"ms\"");
    mistake(IN_CONDITION("gpu.rows > 5 %"), "r.md:6: gpu.rows is a count, so a number without unit was expected, not \"%\"");
    mistake(IN_CONDITION("gpu.rows > 5parsec"),
            "r.md:6: gpu.rows is a count, so a number without unit was expected, not \"parsec\"");
    mistake(IN_CONDITION("gpu.rows > 5 parsec"),
            "r.md:6: met \"parsec\" where \"and\", \"or\" or the end of the condition was expected");
    mistake(IN_CONDITION("gpu.rows > 1.2.3"),
            "r.md:6: gpu.rows is a count, so a number without unit was expected, not \".3\"");
    mistake(IN_CONDITION("gpu.rows > 1."), "r.md:6: met \"1.\" where a number of at most 15 digits was expected");
    mistake(IN_CONDITION("gpu.rows > 1234567890123456"),
            "r.md:6: met \"1234567890123456\" where a number of at most 15 digits was expected");
    mistake(IN_CONDITION("gpu.rows >"), "r.md:6: the condition ends where a number without unit was expected");
    mistake(IN_CONDITION("gpu.rows 3"),
            "r.md:6: met \"3\" where <, <=, >, >=, =, !=, is known, is unknown, is true or is false was expected");
    mistake(IN_CONDITION("gpu.rows is true"),
            "r.md:6: gpu.rows is a count, so a number without unit was expected, not \"is true\"");
    mistake(IN_CONDITION("gpu.rows is nice"),
            "r.md:6: met \"is\" where <, <=, >, >=, =, !=, is known, is unknown, is true or is false was expected");
    mistake(IN_CONDITION("trace.complete > 1"),
            "r.md:6: trace.complete is a yes or no, so \"is true\" or \"is false\" was expected, not \">\"");
    mistake(IN_CONDITION("gpu.idle_us > gpu.memcpy.bytes"),
            "r.md:6: gpu.idle_us is a time and gpu.memcpy.bytes is a size: they cannot be compared");
    mistake(IN_CONDITION("gpu.idle_us > gpu.busy_us * x"), "r.md:6: met \"x\" where a factor such as 0.5 was expected");
    mistake(IN_CONDITION("(gpu.rows > 1"), "r.md:6: the condition ends where \"and\", \"or\" or \")\" was expected");
    mistake(IN_CONDITION("gpu.rows > 1)"),
            "r.md:6: met \")\" where \"and\", \"or\" or the end of the condition was expected");
    mistake(IN_CONDITION("gpu.rows > 1 and"), "r.md:6: the condition ends where a figure was expected");
    mistake(IN_CONDITION("and gpu.rows > 1"), "r.md:6: met \"and\" where a figure was expected");
    mistake(
        IN_CONDITION("gpu.utilisation_ratio < 3"),
        "r.md:6: no figure is called \"gpu.utilisation_ratio\": expected a path that src/catalogue lets rules name; did you "
        "mean gpu.utilization_ratio?");
    mistake(IN_CONDITION("((((((((((((((((( gpu.rows > 1"), "r.md:6: more than 16 parentheses in each other");
    mistake(
        IN_CONDITION("gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or\n gpu.rows>1 or "
                     "gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or gpu.rows>1 or\n gpu.rows>1 or "
                     "gpu.rows>1 or gpu.rows>1 or gpu.rows>1"),
        "r.md:8: more than 16 comparisons in one condition");
}

#define IN_BLOCK(lines) BLOCK("a", lines) TEXTS
#define DUE_TO                                                                                                            \
    "PATH(NAME: AMOUNT) was expected: a list of the report and the members of its rows that name and weigh them, behind " \
    "these \"where KEY is VALUE\" or \"where KEY < NUMBER\""

static void mistakes_in_the_machine_part_name_their_line(void)
{
    mistake(IN_BLOCK("when: gpu.rows > 1\nconfidence: low\nsource: x"), "r.md:4: rule a has no line \"severity: ...\"");
    mistake(IN_BLOCK("severity: low\nconfidence: low\nsource: x"), "r.md:4: rule a has no line \"when: ...\"");
    mistake(IN_BLOCK("when: gpu.rows > 1\nseverity: info; low when gpu.rows > 2\nconfidence: low"),
            "r.md:4: rule a has no line \"source: ...\"");
    mistake(IN_BLOCK("when: gpu.rows > 1\n" MIDDLE "\nhardware: any"), "r.md:4: rule a has no line \"bottleneck: ...\"");
    mistake(IN_BLOCK("when: gpu.rows > 1\n" MIDDLE "\nbottleneck: leak"), "r.md:4: rule a has no line \"hardware: ...\"");
    mistake(IN_BLOCK("when: gpu.rows > 1\nbottleneck: slow"),
            "r.md:5: \"slow\" is no bottleneck: expected one of memory-bound, compute-bound, data-load-bound, sync-bound, "
            "small-batches, fragmented-memory, unoptimized-op, communication, straggler, launch-bound, leak, out-of-memory, "
            "hang, trace-quality");
    mistake(
        IN_BLOCK("hardware: CUDA, compute capability 6.6 and later"),
        "r.md:4: \"CUDA, compute capability 6.6 and later\" is no hardware: expected one of any, CPU, CUDA and ROCm, CUDA, "
        "ROCm, or CUDA, compute capability N and later, with 7.0, 7.5, 8.0, 8.9, 9.0 or 10.0");
    mistake(IN_BLOCK("when: gpu.rows > 1\nseverity: huge"),
            "r.md:5: \"huge\" is no severity: expected one of info, low, medium, high, critical");
    mistake(IN_BLOCK("when: gpu.rows > 1\nseverity: low; high if gpu.rows > 2"),
            "r.md:5: met \"if\" where \"when CONDITION\" was expected");
    mistake(IN_BLOCK("severity: low; high when gpu.rows > 1 s"),
            "r.md:4: gpu.rows is a count, so a number without unit was expected, not \"s\"");
    mistake(IN_BLOCK("confidence: sure"), "r.md:4: \"sure\" is no confidence: expected low, medium or high");
    mistake(IN_BLOCK("confidence: low; high while steps"),
            "r.md:4: met \"while\" where \"with ARTIFACT\" or \"without ARTIFACT\" was expected");
    mistake(
        IN_BLOCK("needs: trace, moon"),
        "r.md:4: no artifact is called \"moon\": expected trace, snapshot, gpu-rows, steps, stacks or another one of those "
        "that the document lists");
    mistake(IN_BLOCK("rank_by: gpu.rows"),
            "r.md:4: gpu.rows is a count: findings are ranked by a time or a size that they could save");
    mistake(IN_BLOCK("rank_by: gpu.idle_us, memory.state.slack_bytes"),
            "r.md:4: gpu.idle_us is a time and memory.state.slack_bytes is a size: they cannot be compared");
    mistake(IN_BLOCK("suppressed_by: a"),
            "r.md:4: no rule above is called \"a\": a rule is suppressed by rules that stand before it");
    mistake(IN_BLOCK("when: gpu.rows > 1\nwhen: gpu.rows > 1"), "r.md:5: when stands twice in this rule");
    mistake(IN_BLOCK("when:"), "r.md:4: when has no value");
    mistake(IN_BLOCK("domain: disk"), "r.md:4: \"disk\" is no domain: expected cpu, gpu, memory, io or quality");
    mistake(
        IN_BLOCK("phase: forward, middle"),
        "r.md:4: \"middle\" is no phase: expected one of forward, inference, backward, optimizer, zero_grad, data_loading, "
        "communication, compilation, other");
    mistake(IN_BLOCK("places: gpu rows"),
            "r.md:4: met \"gpu rows\" where the path of a list or object of the report was expected");
    mistake(IN_BLOCK("places: gpu.kernels(family)"),
            "r.md:4: met \"gpu.kernels(family)\" where the path of a list or object of the report was expected");
    mistake(IN_BLOCK("places: a, b, c, d, e"), "r.md:4: more than 4 paths");
    mistake(IN_BLOCK("due_to: memory.leaks.stacks"), "r.md:4: met \"memory.leaks.stacks\" where " DUE_TO);
    mistake(IN_BLOCK("due_to: a(b: c where d)"), "r.md:4: the condition ends where <, > or is was expected");
    mistake(IN_BLOCK("due_to: a(b: c where d is )"), "r.md:4: the condition ends where a text was expected");
    mistake(IN_BLOCK("due_to: a(b: c where d < x)"), "r.md:4: met \"x\" where a number of at most 15 digits was expected");
    mistake(IN_BLOCK("due_to: a(b: c where d < 1.)"), "r.md:4: met \"1.\" where a number of at most 15 digits was expected");
    mistake(IN_BLOCK("due_to: a(b|B: c)"), "r.md:4: met \"a(b|B: c)\" where " DUE_TO);
    mistake(IN_BLOCK("due_to: a(b|c|d|e|f: g)"), "r.md:4: met \"a(b|c|d|e|f: g)\" where " DUE_TO);
    mistake(IN_BLOCK("due_to: a(b: c); a(b: c); a(b: c); a(b: c)"),
            "r.md:4: met \"a(b: c); a(b: c); a(b: c); a(b: c)\" where " DUE_TO);
    mistake(IN_BLOCK("among_ranks: always"), "r.md:4: met \"always\" where never or a severity was expected");
    mistake(IN_BLOCK("why: not"),
            "r.md:4: met \"why\" where one of when, needs, severity, confidence, rests_on, rank_by, missing, "
            "suppressed_by, suppresses, among_ranks, source, domain, phase, places, due_to, change, bottleneck or hardware "
            "and a colon was expected");
    mistake(IN_BLOCK("when gpu.rows > 1"),
            "r.md:4: met \"when gpu.rows > 1\" where one of when, needs, severity, confidence, rests_on, rank_by, missing, "
            "suppressed_by, suppresses, among_ranks, source, domain, phase, places, due_to, change, bottleneck or hardware "
            "and a colon was expected");
}

#define ASIDE(list) BLOCK("a", "when: gpu.rows > 1\n" MIDDLE "\n" KIND) list

static void mistakes_in_the_document_name_their_line(void)
{
    mistake("# Nothing\n", "r.md:1: no rule in this document: expected \"### id: title\" with a fenced block \"rule\"");
    mistake("# Title\n\n```rule\nwhen: x\n```\n",
            "r.md:3: expected a heading \"### id: title\" right before the block of a rule");
    mistake("\n### a: b\n\ntext\n", "r.md:2: expected a fenced block with the word rule right behind the heading of rule a");
    mistake("### A rule\n\n```rule\n```\n",
            "r.md:1: met \"A rule\" where \"### id: title\" was expected, the id in small letters, digits and hyphens");
    mistake("### a:\n\n```rule\n```\n", "r.md:1: rule a has no title");
    mistake(RULE("a", "gpu.rows > 1", MIDDLE) RULE("a", "gpu.rows > 1", MIDDLE), "r.md:18: rule a stands already in line 1");
    mistake(
        ASIDE("text\n"),
        "r.md:10: expected the list of Observation, Hypothesis, Action, Trade-off and Validation right behind the block of "
        "rule a");
    mistake(ASIDE("- Observation: a\n- Action: b\n"), "r.md:13: met \"Action: b\" where \"Hypothesis:\" was expected");
    mistake(ASIDE("- Observation: a\n- Hypothesis: b\n- Action: c\n"), "r.md:12: rule a has no text \"Trade-off:\"");
    mistake(ASIDE("- Observation: a\n- Hypothesis: b\n- Action: c\n- Validation: d\n"),
            "r.md:15: met \"Validation: d\" where \"Trade-off:\" was expected");
    mistake(ASIDE("- Observation: a\n- Hypothesis: b\n- Action: c\n- Trade-off: d\n"),
            "r.md:12: rule a has no text \"Validation:\"");
    mistake(ASIDE("- Observation: a\n- Hypothesis:\n"), "r.md:13: \"Hypothesis:\" has no text");
    mistake(ASIDE("- Observation: a\n- Hypothesis: b\n- Action: c\n- Trade-off: t\n- Validation: d\n- More: e\n"),
            "r.md:17: rule a has more than five texts");
    mistake(ASIDE("- Observation: a\n\n  b\n"), "r.md:12: expected \"Observation:\" and its text in one paragraph");
    mistake(ASIDE("- Observation: a <b>c</b>\n"),
            "r.md:12: only words, emphasis, links and `code` are expected here, no HTML and no pictures");
    mistake(ASIDE("- Observation: a\n  {gpu.rows} {gpu.moon}\n"),
            "r.md:13: nothing can be filled in for {gpu.moon}: expected a figure, \"limit\" and a figure that this rule's "
            "condition "
            "compares, or \"name\" and one of the document's list; {{ writes a brace");
    mistake(ASIDE("- Observation: {limit gpu.idle_us}\n"),
            "r.md:12: nothing can be filled in for {limit gpu.idle_us}: expected a figure, \"limit\" and a figure that this "
            "rule's "
            "condition compares, or \"name\" and one of the document's list; {{ writes a brace");
    mistake(ASIDE("- Observation: a {gpu.rows\n"), "r.md:12: a brace is never closed; {{ writes one as text");
    mistake(ASIDE("- Observation: {device: rows}\n"),
            "r.md:12: all of this text depends on the report: begin it with words that always hold");
}

static void what_is_too_large_is_refused_before_it_is_read(void)
{
    static char document[AP_RUBRIC_MAX_BYTES + 2];
    struct ap_rubric *rubric;
    struct ap_error error;
    memset(document, 'a', sizeof(document));
    is_int(ap_rubric_parse(&gate, document, AP_RUBRIC_MAX_BYTES + 1, "r.md", &rubric, &error), AP_ERROR_USAGE, "too long");
    is_str(error.message, "r.md:1: the document has 1048577 bytes: at most 1048576 are read", "with both sizes");
    document[3] = '\n';
    is_int(ap_rubric_parse(&gate, document, 9000, "r.md", &rubric, &error), AP_ERROR_USAGE, "a line too long");
    is_str(error.message, "r.md:2: the line has 8996 bytes: at most 4096 are read", "with its number");
    is_int(ap_rubric_parse(&gate, "\n\0", 2, "r.md", &rubric, &error), AP_ERROR_USAGE, "NUL");
    is_str(error.message, "r.md:2: a NUL byte: expected a text in UTF-8", "with its line");
}

/* ---- judging ---- */

/** The verdict of one document on one tree: model.root then has findings and not_evaluated. */
static bool judge(struct ap_model *model, const char *document)
{
    struct ap_rubric *rubric;
    struct ap_error error = { .message = "" };
    if (ap_rubric_parse(&gate, document, strlen(document), "r.md", &rubric, &error) != AP_OK) {
        note(error.message);
        ok(false, "the document is read");
        return false;
    }
    enum ap_status status = ap_rubric_apply(rubric, NULL, model, &error);
    ap_rubric_free(rubric);
    return ok(status == AP_OK, "the document is applied");
}

static const struct ap_value *finding(const struct ap_model *model, size_t index)
{
    return list_item(ap_value_at(&model->root, "findings"), index);
}

static void says(const struct ap_value *object, const char *key, const char *want)
{
    is_text(ap_value_text(ap_value_member(object, key)), want, want);
}

static void a_base_tree(struct ap_model *model)
{
    ap_model_init(model, &gate);
    put_bool(model, "trace.complete", true);
    put_time(model, "trace.window_us", 1000 * MS);
    put_bool(model, "trace.recorded.gpu", true);
    put_count(model, "gpu.rows", 10);
    put_time(model, "gpu.idle_us", 100 * MS);
    put_time(model, "gpu.busy_us", 400 * MS);
    put_ratio(model, "gpu.utilization_ratio", 0.8);
    put_count(model, "steps.count", 3);
    put_bytes(model, "memory.summary.reserved_bytes", 8 * GIB);
    put_bytes(model, "memory.state.slack_bytes", 2 * GIB);
    put_ratio(model, "memory.state.slack_ratio", 0.25);
    put_bool(model, "memory.settings.expandable_segments", false);
    put_null(model, "gpu.memcpy.bytes");
}

static void condition_is(const char *when, const char *want)
{
    char document[2000];
    struct ap_model model;
    (void)snprintf(document, sizeof(document), RULE("a", "%s", MIDDLE), when);
    a_base_tree(&model);
    if (judge(&model, document)) {
        const char *got = finding(&model, 0)                                        ? "true"
                          : list_item(ap_value_at(&model.root, "not_evaluated"), 0) ? "unknown"
                                                                                    : "false";
        char text[600];
        (void)snprintf(text, sizeof(text), "%.500s is %s", when, want);
        is_str(got, want, text);
    }
    ap_model_release(&model);
}

static void operators_compare(void)
{
    static const struct {
        const char *operator, * below, *equal, *above;
    } rows[] = {
        { "<", "true", "false", "false" }, { "<=", "true", "true", "false" }, { ">", "false", "false", "true" },
        { ">=", "false", "true", "true" }, { "=", "false", "true", "false" }, { "!=", "true", "false", "true" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        char when[100];
        (void)snprintf(when, sizeof(when), "gpu.rows %s 11", rows[i].operator);
        condition_is(when, rows[i].below);
        (void)snprintf(when, sizeof(when), "gpu.rows%s10", rows[i].operator);
        condition_is(when, rows[i].equal);
        (void)snprintf(when, sizeof(when), "gpu.rows %s 9.5", rows[i].operator);
        condition_is(when, rows[i].above);
    }
}

static void units_are_exact(void)
{
    condition_is("gpu.idle_us = 100 ms", "true");
    condition_is("gpu.idle_us = 0.1s", "true");
    condition_is("gpu.idle_us = 100000us", "true");
    condition_is("gpu.idle_us = 100000000 ns", "true");
    condition_is("memory.state.slack_bytes = 2 GiB", "true");
    condition_is("memory.state.slack_bytes = 2048 MiB", "true");
    condition_is("memory.state.slack_bytes = 2097152 KiB", "true");
    condition_is("memory.state.slack_bytes = 2147483648 B", "true");
    condition_is("memory.state.slack_bytes > 2 GB", "true");
    condition_is("gpu.utilization_ratio = 80 %", "true");
    condition_is("gpu.utilization_ratio = 80%", "true");
    condition_is("gpu.utilization_ratio = 0.8", "true");
    condition_is("gpu.utilization_ratio = 0.80", "true");
}

static void figures_compare_with_figures(void)
{
    condition_is("gpu.idle_us < gpu.busy_us", "true");
    condition_is("gpu.idle_us < gpu.busy_us * 0.25", "false");
    condition_is("gpu.idle_us >= gpu.busy_us * 0.25", "true");
    condition_is("gpu.rows > steps.count * 3", "true");
    condition_is("gpu.rows > cpu.signals.copy.count", "unknown");
}

static void and_binds_more_tightly_than_or(void)
{
    condition_is("gpu.rows = 10 or gpu.rows = 1 and gpu.rows = 2", "true");
    condition_is("(gpu.rows = 10 or gpu.rows = 1) and gpu.rows = 2", "false");
    condition_is("gpu.rows = 2 and gpu.rows = 1 or gpu.rows = 10", "true");
    condition_is("gpu.rows = 2 and (gpu.rows = 1 or gpu.rows = 10)", "false");
    condition_is("((gpu.rows = 10)) and ((gpu.rows > 1 and (gpu.rows < 20)) or gpu.rows = 0)", "true");
}

static void what_is_null_is_unknown_and_decides_only_where_it_matters(void)
{
    condition_is("gpu.memcpy.bytes > 1 B", "unknown");
    condition_is("gpu.memcpy.bytes is known", "false");
    condition_is("gpu.memcpy.bytes is unknown", "true");
    condition_is("steps.cv_ratio is unknown and gpu.rows is known", "true");
    condition_is("gpu.memcpy.bytes > 1 B and gpu.rows = 1", "false");
    condition_is("gpu.memcpy.bytes > 1 B and gpu.rows = 10", "unknown");
    condition_is("gpu.memcpy.bytes > 1 B or gpu.rows = 10", "true");
    condition_is("gpu.memcpy.bytes > 1 B or gpu.rows = 1", "unknown");
    condition_is("trace.complete is true", "true");
    condition_is("memory.settings.expandable_segments is false", "true");
    condition_is("memory.settings.max_split_size_set is false", "unknown");
}

static void a_finding_tells_everything(void)
{
    struct ap_model model;
    a_base_tree(&model);
    struct ap_value *row = ap_add_object(&model, put_list(&model, "cpu.families"), NULL);
    ap_add_string(&model, row, "family", "a`b\n\x7f");
    ap_add_time(&model, row, "self_dur_us", 5);
    judge(&model,
          BLOCK("a",
                "when: gpu.utilization_ratio < 90 % and gpu.idle_us > gpu.busy_us * 0.1 and trace.complete is true\n"
                "severity: high\nconfidence: medium\nrank_by: gpu.idle_us\nmissing: stacks, other-ranks, trace\n"
                "bottleneck: launch-bound\nhardware: CUDA, compute capability 8.0 and later\n"
                "source: {limit gpu.utilization_ratio}, \n  ours") "- **Observation:** busy {gpu.utilization_ratio} of\n  "
                                                                   "all, `{gpu.idle_us}` over {limit gpu.idle_us}\n"
                                                                   "- Hypothesis: {name top-family} {name top-kernel} {{x} "
                                                                   "{gpu.memcpy.bytes}\n"
                                                                   "- Action: see [there](https://example.org)\n- "
                                                                   "Trade-off: costs {gpu.busy_us}\n"
                                                                   "- Validation: `a_b` *c*\n");
    const struct ap_value *it = finding(&model, 0);
    says(it, "rule_id", "a");
    says(it, "title", "Title of a");
    says(it, "severity", "high");
    says(it, "confidence", "medium");
    says(it, "observation", "busy 80 % of all, `100 ms` over 40 ms Threshold: 90 %, ours.");
    says(it, "hypothesis", "`a'b  ` one kernel {x} n/a");
    says(it, "action", "see there (https://example.org)");
    says(it, "trade_off", "costs 400 ms");
    says(it, "validation", "`a_b` c");
    says(it, "bottleneck", "launch-bound");
    says(it, "hardware", "CUDA, compute capability 8.0 and later");
    is_int(ap_value_integer(ap_value_member(it, "saves_us"), -1), 100 * MS, "saves the idle time");
    is_int(ap_value_member(it, "saves_bytes")->type, AP_VALUE_NULL, "and no bytes");
    const struct ap_value *evidence = ap_value_member(it, "evidence");
    is_int(ap_value_count(evidence), 3, "each comparison is evidence");
    says(list_item(evidence, 1), "metric", "gpu.idle_us");
    is_int(ap_value_integer(ap_value_member(list_item(evidence, 1), "value"), -1), 100 * MS, "with its value");
    is_int(ap_value_integer(ap_value_member(list_item(evidence, 1), "threshold"), -1), 40 * MS, "and its threshold");
    is_int(ap_value_member(list_item(evidence, 2), "threshold")->type, AP_VALUE_BOOL, "of the figure's type");
    is_int(ap_value_count(ap_value_member(it, "missing")), 2, "what the run has is not asked for");
    ap_model_release(&model);
}

static void of_two_limits_the_farther_one_is_told(void)
{
    struct ap_model model;
    a_base_tree(&model);
    judge(&model, RULE("a", "gpu.idle_us > 1 us and gpu.idle_us > gpu.busy_us * 0.1 and gpu.idle_us < 1 s", MIDDLE));
    const struct ap_value *evidence = ap_value_member(finding(&model, 0), "evidence");
    is_int(ap_value_count(evidence), 2, "one of those to the same side");
    is_int(ap_value_integer(ap_value_member(list_item(evidence, 0), "threshold"), -1), 40 * MS, "the larger one");
    says(list_item(evidence, 1), "op", "<");
    ap_model_release(&model);
}

static void one_of_a_thing_is_singular(void)
{
    struct ap_model model;
    a_base_tree(&model);
    put_count(&model, "gpu.kernel.count", 1);
    judge(&model,
          BLOCK("a", "when: gpu.kernel.count = 1\n" MIDDLE
                     "\n" KIND) "- Observation: {gpu.kernel.count} kernels, {gpu.kernel.count} copies. {gpu.rows} rows\n"
                                "- Hypothesis: {gpu.kernel.count} rowsome rows\n- Action: in {gpu.kernel.count} calls\n- "
                                "Trade-off: t\n"
                                "- Validation: v\n");
    const struct ap_value *it = finding(&model, 0);
    says(it, "observation", "1 kernel, 1 copy. 10 rows Threshold: ours.");
    says(it, "hypothesis", "1 rowsome rows");
    says(it, "action", "in 1 call");
    ap_model_release(&model);
}

static void needs_that_are_not_met_ask_for_the_artifact(void)
{
    struct ap_model model;
    a_base_tree(&model);
    judge(&model,
          RULE("a", "gpu.rows > 1", "needs: trace, stacks, history\n" MIDDLE) RULE("b", "steps.cv_ratio > 1", MIDDLE)
              RULE("c", "cpu.signals.copy.per_step > 1", MIDDLE) RULE("d", "gpu.rows = 0", "needs: gpu-rows\n" MIDDLE));
    is_int(ap_value_count(ap_value_at(&model.root, "findings")), 0, "nothing is found");
    const struct ap_value *list = ap_value_at(&model.root, "not_evaluated");
    is_int(ap_value_count(list), 3, "three rules ask, one is judged");
    says(list_item(list, 0), "rule_id", "a");
    const struct ap_value *missing = ap_value_member(list_item(list, 0), "missing");
    is_int(ap_value_count(missing), 2, "for two artifacts");
    ok(ap_text_contains_folded(ap_value_text(list_item(missing, 0)), "with_stack=true"), "in words that say how");
    ok(ap_text_contains_folded(ap_value_text(list_item(missing, 1)), "_record_memory_history"), "and how");
    missing = ap_value_member(list_item(list, 1), "missing");
    is_text(ap_value_text(ap_value_first(missing)),
            "a value of `steps.cv_ratio` (standard deviation over mean, divisor n), which this input does not give",
            "a figure without an artifact behind it is named");
    ap_model_release(&model);
}

static void of_what_is_not_there_at_all_the_whole_is_asked_for(void)
{
    struct ap_model model;
    ap_model_init(&model, &gate);
    put_bool(&model, "trace.complete", true);
    judge(&model, RULE("a", "gpu.rows > 1", "needs: history, snapshot-stacks, blocks, settings\n" MIDDLE));
    const struct ap_value *missing = ap_value_member(list_item(ap_value_at(&model.root, "not_evaluated"), 0), "missing");
    is_int(ap_value_count(missing), 1, "one snapshot has them all");
    ok(ap_text_contains_folded(ap_value_text(list_item(missing, 0)), "a cuda memory snapshot"), "which is asked for");
    ap_model_release(&model);
}

static void severity_follows_clauses_and_shares(void)
{
    static const struct {
        double idle_ms;
        const char *line, *want;
    } rows[] = {
        { 100, "high", "high" },
        { 300, "high", "critical" },
        { 99, "high", "medium" },
        { 200, "critical", "critical" },
        { 199, "critical", "high" },
        { 300, "low", "medium" },
        { 299, "low", "low" },
        { 20, "critical", "medium" },
        { 19, "critical", "low" },
        { 1, "low", "low" },
        { 0.999, "low", "info" }, /* true, but beside the point */
        { 0.999, "critical", "info" },
        { 900, "info", "info" },
        { 1, "info", "info" },
        { 100, "low; high when gpu.rows > 5", "high" },
        { 100, "low; high when gpu.rows > 5; medium when gpu.rows = 10", "medium" },
        { 100, "low; high when gpu.rows > 50", "low" },
        { 100, "low; high when steps.cv_ratio > 50 %", "low" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        char document[1000];
        struct ap_model model;
        (void)snprintf(document, sizeof(document),
                       RULE("a", "gpu.rows > 1", "severity: %s\nconfidence: low\nsource: x\nrank_by: gpu.idle_us"),
                       rows[i].line);
        a_base_tree(&model);
        put_time(&model, "gpu.idle_us", (int64_t)(rows[i].idle_ms * MS));
        judge(&model, document);
        says(finding(&model, 0), "severity", rows[i].want);
        ap_model_release(&model);
    }
}

static void confidence_follows_artifacts(void)
{
    static const struct {
        const char *line;
        bool cut;
        const char *want;
    } rows[] = {
        { "high", false, "high" },
        { "high", true, "medium" },
        { "low", true, "low" },
        { "high; lower with gpu-rows", false, "medium" },
        { "high; lower with stacks", false, "high" },
        { "high; low without stacks", false, "low" },
        { "low; high with steps; lower without stacks", false, "medium" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        char document[1000];
        struct ap_model model;
        (void)snprintf(document, sizeof(document), RULE("a", "gpu.rows > 1", "severity: low\nconfidence: %s\nsource: x"),
                       rows[i].line);
        a_base_tree(&model);
        put_bool(&model, "trace.complete", !rows[i].cut);
        judge(&model, document);
        says(finding(&model, 0), "confidence", rows[i].want);
        ap_model_release(&model);
    }
}

/* A figure of low confidence makes no sure finding, and no severe one of its share. */
static void confidence_follows_what_it_rests_on(void)
{
    static const struct {
        const char *facts, *confidence, *severity;
    } rows[] = {
        { "high", "high", "high" }, { "medium", "medium", "high" }, { "low", "low", "medium" }, { NULL, "high", "high" }
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_model model;
        a_base_tree(&model);
        if (rows[i].facts)
            put_text(&model, "memory.leaks.confidence", rows[i].facts);
        judge(&model, RULE("a", "gpu.rows > 1",
                           "severity: medium\nconfidence: high\nrests_on: memory.leaks.confidence\n"
                           "rank_by: gpu.busy_us\nsource: x"));
        says(finding(&model, 0), "confidence", rows[i].confidence);
        says(finding(&model, 0), "severity", rows[i].severity);
        ap_model_release(&model);
    }
}

/* Advice fits the program: a server of models has no loop to mark. */
static void advice_fits_the_program(void)
{
    static const struct {
        const char *program, *want;
    } rows[] = { { NULL, "call `prof.step()` once" },
                 { "vLLM", "let vLLM record" },
                 { "TensorRT-LLM", "let TensorRT-LLM record" },
                 { "ONNX Runtime", "run the session" },
                 { "JAX", "wrap each iteration in `jax.profiler" },
                 { "of tomorrow", "call `prof.step()` once" } };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_model model;
        a_base_tree(&model);
        if (rows[i].program)
            put_text(&model, "trace.program", rows[i].program);
        judge(&model, BLOCK("a", "when: gpu.rows > 1\n" MIDDLE
                                 "\n" KIND) "- Observation: seen\n- Hypothesis: guess\n- Action: {how to mark steps}\n- "
                                            "Trade-off: pay\n- Validation: check\n\n");
        struct ap_text action = ap_value_text(ap_value_member(finding(&model, 0), "action"));
        ok(ap_text_starts_with(action, rows[i].want), rows[i].want);
        ap_model_release(&model);
    }
}

/* Words in braces are told where a figure is known, where the program serves requests or does not, and where PyTorch's
 * means help it: whatever a trace of PyTorch's profiler holds of others. */
static void words_are_told_where_they_fit(void)
{
    static const struct {
        bool serves, by_pytorch;
        const char *program, *want;
    } rows[] = { { false, true, NULL, "ran 10 rows, train all with torch, DDP." },
                 { true, true, "vLLM", "ran 10 rows, serve all with torch." },
                 { false, true, "TensorFlow", "ran 10 rows, train all with torch, DDP." },
                 { false, false, "JAX", "ran 10 rows, train all with jit." },
                 { false, false, "Nsight Systems", "ran 10 rows, train all with torch, DDP." } };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_model model;
        a_base_tree(&model);
        put_bool(&model, "trace.serves", rows[i].serves);
        put_bool(&model, "trace.by_pytorch", rows[i].by_pytorch);
        put_count(&model, "gpu.memset.count", 0);
        if (rows[i].program)
            put_text(&model, "trace.program", rows[i].program);
        judge(
            &model,
            BLOCK("a",
                  "when: gpu.rows > 1\n" MIDDLE
                  "\n" KIND) "- Observation: ran{known gpu.rows: # rows}{some gpu.memset.count:, # fills}{no gpu.rows: none}"
                             "{some gpu.rows:,}{known gpu.kernel.count:, # kernels} "
                             "{training:train}{serving:serve} all with {PyTorch:torch}{elsewhere:jit}"
                             "{training:PyTorch:, DDP}.\n- Hypothesis: guess\n- Action: act\n- "
                             "Trade-off: pay\n- Validation: check\n\n");
        ok(ap_text_starts_with(ap_value_text(ap_value_member(finding(&model, 0), "observation")), rows[i].want),
           rows[i].want);
        ap_model_release(&model);
    }
    mistake(ASIDE("- Observation: a {known gpu.moon: b}\n"),
            "r.md:12: nothing can be filled in for {known gpu.moon: b}: expected a figure, \"limit\" and a figure that this "
            "rule's condition compares, or \"name\" and one of the document's list; {{ writes a brace");
}

/* By what computes, and by whether anything goes backward. */
static void words_are_told_for_the_device_and_the_work(void)
{
    static const struct {
        bool serves, gpu, runtime;
        const char *phase;
        double capability;
        const char *device, *want;
    } rows[] = { { false, true, true, "backward", 7.5, NULL, "trains by itself on a device, an old one." },
                 { false, true, true, "backward", 8.0, "NVIDIA A100", "trains by itself on a device, a new one." },
                 { false, false, true, "inference", 0, NULL, "infers by itself on a device, a new one." },
                 { true, true, true, "inference", 9.4, "AMD Instinct MI300X",
                   "infers and serves on a device, a new one of AMD." },
                 { false, false, false, "forward", 0, NULL, "trains by itself on the host, a new one." } };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_model model;
        a_base_tree(&model);
        put_bool(&model, "trace.serves", rows[i].serves);
        put_bool(&model, "trace.by_pytorch", true);
        put_bool(&model, "trace.recorded.gpu", rows[i].gpu);
        put_bool(&model, "trace.recorded.runtime", rows[i].runtime);
        if (rows[i].capability > 0)
            put_number(&model, "trace.main_device.compute_capability", rows[i].capability);
        if (rows[i].device)
            put_text(&model, "trace.main_device.name", rows[i].device);
        struct ap_value *items = ap_add_list(&model, ap_add_object(&model, &model.root, "phases"), "items");
        ap_add_string(&model, ap_add_object(&model, items, NULL), "phase", rows[i].phase);
        judge(&model,
              BLOCK("a", "when: gpu.rows > 1\n" MIDDLE
                         "\n" KIND) "- Observation: {training:trains}{inference:infers}{serving: and serves}{own loop: by "
                                    "itself} on {device:a device}{host:the host}, {before capability 8:an old one}"
                                    "{capability 8:a new one}{ROCm: of AMD}.\n- Hypothesis: guess\n- Action: act\n- "
                                    "Trade-off: pay\n- Validation: check\n\n");
        ok(ap_text_starts_with(ap_value_text(ap_value_member(finding(&model, 0), "observation")), rows[i].want),
           rows[i].want);
        ap_model_release(&model);
    }
}

static const struct ap_value *fine(const struct ap_model *model, const char *id)
{
    const struct ap_value *line = ap_value_first(ap_value_at(&model->root, "fine"));
    while (line && !ap_text_is(ap_value_text(ap_value_member(line, "id")), id))
        line = line->next;
    return line;
}

static void what_is_fine_is_told_unless_a_finding_says_otherwise(void)
{
    struct ap_model model;
    a_base_tree(&model);
    put_ratio(&model, "split.judged.idle_causes.synchronization_ratio", 0.004);
    put_ratio(&model, "split.judged.idle_causes.not_recorded_ratio", 0.1);
    put_ratio(&model, "split.judged.idle_ratio", 0.3);
    put_ratio(&model, "gpu.sm.eligible_ratio", 0.5);
    put_ratio(&model, "gpu.sm.tensor_core_of_eligible_ratio", 0.95);
    judge(&model, RULE("a", "gpu.rows > 100", MIDDLE));
    says(fine(&model, "waits"), "text", "the devices run dry after waits of the host for 0.4 % of the judged time");
    says(fine(&model, "waits"), "metric", "split.judged.idle_causes.synchronization_ratio");
    says(fine(&model, "tensor_cores"), "metric", "gpu.sm.tensor_core_of_eligible_ratio");
    ok(!fine(&model, "device"), "what is not fine is not told");
    ok(!fine(&model, "input"), "nor what is not known");
    ap_model_release(&model);
    for (int waits = 0; waits < 2; waits++) {
        a_base_tree(&model);
        put_ratio(&model, "split.judged.idle_ratio", 0.03);
        judge(&model, waits ? BLOCK("a", "when: gpu.rows > 1\n" MIDDLE "\nbottleneck: communication\nhardware: any") TEXTS
                            : RULE("a", "gpu.rows > 100", MIDDLE));
        ok((fine(&model, "device") == NULL) == (waits != 0), "a device that waits in collectives is not fine");
        ap_model_release(&model);
    }
    a_base_tree(&model);
    put_ratio(&model, "split.judged.idle_causes.synchronization_ratio", 0.004);
    put_ratio(&model, "split.judged.idle_causes.not_recorded_ratio", 0.1);
    judge(&model, RULE("a", "gpu.rows > 1", MIDDLE));
    ok(!fine(&model, "waits"), "nor what a finding of that kind contradicts");
    ap_model_release(&model);
    a_base_tree(&model);
    put_ratio(&model, "split.judged.idle_causes.synchronization_ratio", 0.004);
    put_ratio(&model, "split.judged.idle_causes.not_recorded_ratio", 0.9);
    judge(&model, RULE("a", "gpu.rows > 100", MIDDLE));
    ok(!fine(&model, "waits"), "nor a share of time of which little is known");
    ap_model_release(&model);
    a_base_tree(&model);
    put_ratio(&model, "split.judged.idle_causes.synchronization_ratio", 0.004);
    put_ratio(&model, "split.judged.idle_causes.not_recorded_ratio", 0.1);
    put_text(&model, "verdict.confidence", "low");
    judge(&model, RULE("a", "gpu.rows > 100", MIDDLE));
    ok(!fine(&model, "waits"), "nor one that the verdict is unsure of");
    ap_model_release(&model);
}

static void growth_is_not_fine(void)
{
    static const double slopes[] = { 0, 5e6 };
    for (size_t i = 0; i < AP_COUNT_OF(slopes); i++) {
        struct ap_model model;
        a_base_tree(&model);
        put_bool(&model, "memory.leaks.leaking", false);
        put_bool(&model, "memory.leaks.sure", true);
        put_number(&model, "memory.leaks.growth_bytes_per_period", slopes[i]);
        put_count(&model, "memory.leaks.periods", 9);
        judge(&model, RULE("a", "gpu.rows > 100", MIDDLE));
        ok(!fine(&model, "leaks") == (slopes[i] > 0), slopes[i] > 0 ? "no leak, but it grows" : "nothing grows");
        ap_model_release(&model);
    }
}

/* A device whose rows are behind the cut, or missing as far as the verdict can tell, looks idle. */
static void idle_time_of_a_cut_trace_is_doubtful(void)
{
    static const struct {
        const char *when;
        bool cut, unsure, unlinked;
        const char *severity, *confidence;
    } rows[] = {
        { "gpu.idle_us > 0 us", false, false, false, "critical", "high" },
        { "gpu.idle_us > 0 us", true, false, false, "medium", "low" },
        { "verdict.host.judged_ratio > 20 %", true, false, false, "medium", "low" },
        { "gpu.utilization_ratio < 80 %", true, false, false, "medium", "low" },
        { "gpu.utilization_ratio > 30 %", true, false, false, "critical", "medium" },
        { "gpu.rows > 1", true, false, false, "critical", "medium" },
        { "gpu.idle_us > 0 us", false, true, false, "medium", "medium" },
        { "gpu.rows > 1", false, true, false, "critical", "high" },
        { "gpu.idle_us > 0 us", false, false, true, "medium", "medium" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        char document[1000];
        struct ap_model model;
        (void)snprintf(document, sizeof(document), RULE("a", "%s", "severity: critical\nconfidence: high\nsource: x"),
                       rows[i].when);
        a_base_tree(&model);
        put_ratio(&model, "verdict.host.judged_ratio", 0.5);
        put_ratio(&model, "gpu.utilization_ratio", 0.5);
        put_bool(&model, "trace.complete", !rows[i].cut);
        put_count(&model, "links.device_rows", 7);
        put_count(&model, "links.launched_count", rows[i].unlinked ? 0 : 6);
        put_text(&model, "verdict.confidence", rows[i].unsure ? "low" : "high");
        judge(&model, document);
        says(finding(&model, 0), "severity", rows[i].severity);
        says(finding(&model, 0), "confidence", rows[i].confidence);
        ap_model_release(&model);
    }
}

static void order_is(struct ap_model *model, const char *want)
{
    char got[200] = "";
    const struct ap_value *it = ap_value_first(ap_value_at(&model->root, "findings"));
    for (; it; it = it->next) {
        struct ap_text id = ap_value_text(ap_value_member(it, "rule_id"));
        size_t used = strlen(got);
        (void)snprintf(got + used, sizeof(got) - used, "%.*s ", (int)id.bytes, id.data);
    }
    is_str(got, want, "in this order");
    ap_model_release(model);
}

#define RANKED(id, severity, by) RULE(id, "gpu.rows > 1", "severity: " severity "\nconfidence: low\nsource: x" by)

static void findings_are_ranked_by_what_they_save(void)
{
    struct ap_model model;
    a_base_tree(&model); /* idle 10 %, busy 40 %, slack 25 % and a fifth of that as weight, within the severity's bounds */
    judge(&model,
          RANKED("note", "info", "\nrank_by: gpu.busy_us") RANKED("a-idle", "low", "\nrank_by: gpu.idle_us")
              RANKED("busy", "low", "\nrank_by: gpu.busy_us") RANKED("slack", "low", "\nrank_by: memory.state.slack_bytes")
                  RANKED("kept", "medium", "\nrank_by: memory.state.slack_bytes")
                      RANKED("leak", "high", "\nrank_by: memory.state.slack_bytes") RANKED("oom", "critical", "")
                          RANKED("b-high", "high", "") RANKED("a-high", "high", "") RANKED("medium", "medium", "")
                              RANKED("low", "low", "") RANKED("unknown", "low", "\nrank_by: steps.mean_us"));
    order_is(&model, "oom busy a-high b-high leak a-idle kept medium slack low unknown note ");
}

/* What saves more bytes weighs no more within a severity's bounds, and stands first all the same; what is held is not
 * saved. */
static void bytes_of_one_severity_are_in_order(void)
{
    struct ap_model model;
    a_base_tree(&model);
    put_bytes(&model, "memory.avoidable.logits.saved_bytes", 2 * GIB);
    put_bytes(&model, "memory.avoidable.scores.saved_bytes", 4 * GIB);
    put_bytes(&model, "memory.peak.optimizer_state_bytes", 6 * GIB);
    judge(&model, RANKED("a-held", "low", "\nrank_by: memory.peak.optimizer_state_bytes")
                      RANKED("b-less", "low", "\nrank_by: memory.avoidable.logits.saved_bytes")
                          RANKED("c-more", "low", "\nrank_by: memory.avoidable.scores.saved_bytes"));
    order_is(&model, "c-more b-less a-held ");
}

/* As if a replay said it: 4 % of a step for what waits, 15 % for gaps, nothing of the rest. */
static enum ap_status tell_gain(void *context, struct ap_text change, bool *ret_known, double *ret_step_ratio,
                                int64_t *ret_window_ns, struct ap_error *reterr)
{
    (void)context;
    (void)reterr;
    *ret_known = !ap_text_starts_with(change, "loader");
    *ret_step_ratio = ap_text_starts_with(change, "wait") ? 0.04 : ap_text_starts_with(change, "gap") ? 0.15 : -0.5;
    *ret_window_ns = (int64_t)(*ret_step_ratio * (double)(1000 * MS));
    return AP_OK;
}

/* Busy is a bound of 40 %, idle of 10 %. What a replay gains little by is of medium severity, and no lower. */
static void a_bound_weighs_no_more_than_twice_what_is_predicted(void)
{
    static const char document[] = RANKED("waits", "high", "\nrank_by: gpu.busy_us\nchange: wait = explicit gone")
        RANKED("worse", "high", "\nrank_by: gpu.busy_us\nchange: kernel like * gone")
            RANKED("bound", "high", "\nrank_by: gpu.idle_us")
                RANKED("loads", "high", "\nrank_by: gpu.busy_us\nchange: loader like * gone");
    const struct ap_judge_options options = { .gain = tell_gain };
    struct ap_rubric *rubric;
    struct ap_model model;
    struct ap_error error;
    a_base_tree(&model);
    ok(ap_rubric_parse(&gate, document, strlen(document), "r.md", &rubric, &error) == AP_OK, "read");
    ok(ap_rubric_apply(rubric, &options, &model, &error) == AP_OK, "applied");
    ap_rubric_free(rubric);
    static const char *const severities[] = { "critical", "high", "medium", "medium" };
    for (size_t i = 0; i < AP_COUNT_OF(severities); i++)
        says(finding(&model, i), "severity", severities[i]);
    order_is(&model, "loads bound waits worse ");
}

/* "worse" gains nothing by the replay; of a host that recording slows this is not held against kernels. */
static void kernels_keep_their_weight_behind_a_host_that_recording_slows(void)
{
    static const struct {
        const char *bound;
        int64_t own_ns;
        const char *order;
    } rows[] = {
        { "CPU-bound", 40 * MS, "kernels idle worse " },
        { "CPU-bound", 60 * MS, "idle kernels worse " },
        { "data-loading-bound", 40 * MS, "idle kernels worse " },
    };
    static const char document[] = RANKED("worse", "high", "\ndomain: cpu\nrank_by: gpu.busy_us\nchange: kernel like * gone")
        RANKED("kernels", "high", "\ndomain: gpu\nrank_by: gpu.busy_us\nchange: kernel like * gone")
            RANKED("idle", "high", "\nrank_by: gpu.idle_us");
    const struct ap_judge_options options = { .gain = tell_gain };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_rubric *rubric;
        struct ap_model model;
        struct ap_error error;
        a_base_tree(&model);
        put_text(&model, "verdict.bound", rows[i].bound);
        put_time(&model, "verdict.host.dur_us", 100 * MS);
        put_time(&model, "verdict.host.own_us", rows[i].own_ns);
        ok(ap_rubric_parse(&gate, document, strlen(document), "r.md", &rubric, &error) == AP_OK, "read");
        ok(ap_rubric_apply(rubric, &options, &model, &error) == AP_OK, "applied");
        ap_rubric_free(rubric);
        order_is(&model, rows[i].order);
    }
}

/* The host is waited for 30 % of the time, its cause takes 10 %; what else there is takes 20 %, or 5 %. */
static void waiting_for_the_host_stands_behind_its_cause(void)
{
    static const struct {
        int64_t other_ns;
        const char *order;
    } rows[] = { { 200 * MS, "host other cause " }, { 50 * MS, "cause host other " } };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_model model;
        a_base_tree(&model);
        put_time(&model, "verdict.host.dur_us", 300 * MS);
        put_time(&model, "steps.mean_us", rows[i].other_ns);
        judge(&model, RANKED("cause", "medium", "\nrank_by: gpu.idle_us")
                          RANKED("host", "high", "\nrank_by: verdict.host.dur_us\nsuppressed_by: cause")
                              RANKED("other", "high", "\nrank_by: steps.mean_us"));
        order_is(&model, rows[i].order);
    }
}

/* Outside of operators are 30 % of the time, of which a line is known to take 10 %, or 4 %. */
static void time_outside_of_operators_stands_behind_its_cause(void)
{
    static const struct {
        int64_t line_ns;
        const char *severity, *order;
    } rows[] = { { 100 * MS, "low", "line outside " },
                 { 40 * MS, "low", "outside line " },
                 { 100 * MS, "info", "outside line " } };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_model model;
        char document[2000];
        (void)snprintf(document, sizeof(document),
                       RANKED("line", "%s", "\nrank_by: gpu.idle_us")
                           RANKED("outside", "low", "\nrank_by: cpu.thread_summary.long_gaps_us\nsuppressed_by: line"),
                       rows[i].severity);
        a_base_tree(&model);
        put_time(&model, "cpu.thread_summary.long_gaps_us", 300 * MS);
        put_time(&model, "gpu.idle_us", rows[i].line_ns);
        judge(&model, document);
        order_is(&model, rows[i].order);
    }
}

/* Idle time is a bound of 10 %, the other one of 5 %: of that 15 % are more than twice. */
static void a_bound_is_no_less_than_what_is_predicted(void)
{
    static const char document[] = RANKED("a", "high", "\nrank_by: gpu.idle_us\nchange: gap = host hostfree")
        RANKED("b", "high", "\nrank_by: steps.mean_us\nchange: gap = host hostfree");
    const struct ap_judge_options options = { .gain = tell_gain };
    struct ap_rubric *rubric;
    struct ap_model model;
    struct ap_error error;
    a_base_tree(&model);
    put_time(&model, "steps.mean_us", 50 * MS);
    ok(ap_rubric_parse(&gate, document, strlen(document), "r.md", &rubric, &error) == AP_OK, "read");
    ok(ap_rubric_apply(rubric, &options, &model, &error) == AP_OK, "applied");
    ap_rubric_free(rubric);
    is_int(ap_value_integer(ap_value_member(finding(&model, 0), "saves_us"), 0), 150 * MS, "what a host ahead spares later");
    is_int(ap_value_integer(ap_value_member(finding(&model, 1), "saves_us"), 0), 50 * MS, "but not another cause");
    is_int(ap_value_integer(ap_value_at(finding(&model, 0), "gain.by_replay"), -1), 1, "which is said");
    is_int(ap_value_integer(ap_value_at(finding(&model, 1), "gain.by_replay"), -1), 0, "where it is so");
    ap_model_release(&model);
}

static void savings_are_the_smallest_bound_and_never_more_than_the_whole(void)
{
    struct ap_model model;
    a_base_tree(&model);
    put_time(&model, "gpu.window_us", 5000 * MS);
    put_bytes(&model, "memory.state.slack_bytes", 20 * GIB);
    judge(&model, RANKED("a", "low", "\nrank_by: gpu.busy_us, steps.mean_us, gpu.idle_us") RANKED(
                      "b", "low", "\nrank_by: gpu.window_us") RANKED("c", "low", "\nrank_by: memory.state.slack_bytes"));
    const struct ap_value *b = finding(&model, 0), *a = finding(&model, 1), *c = finding(&model, 2);
    is_int(ap_value_integer(ap_value_member(a, "saves_us"), -1), 100 * MS, "the smallest of those known");
    is_int(ap_value_integer(ap_value_member(b, "saves_us"), -1), 1000 * MS, "not more than the window");
    is_int(ap_value_integer(ap_value_member(c, "saves_bytes"), -1), 8 * GIB, "not more than is reserved");
    ap_model_release(&model);
}

static void another_recording_makes_no_run_faster(void)
{
    static const char *const domains[] = { "quality", "gpu" };
    for (size_t i = 0; i < AP_COUNT_OF(domains); i++) {
        struct ap_model model;
        char document[2000];
        (void)snprintf(document, sizeof(document), RANKED("a", "high", "\nrank_by: gpu.idle_us\ndomain: %s"), domains[i]);
        a_base_tree(&model);
        judge(&model, document);
        const struct ap_value *gain = ap_value_member(finding(&model, 0), "gain");
        const struct ap_value *bound = ap_value_member(gain, "speedup_bound_ratio");
        ok(bound && (bound->type == AP_VALUE_NULL) == (i == 0), domains[i]);
        ap_model_release(&model);
    }
}

/* A report about a phase promises no more than that phase takes; of kernels what devices work for it. */
static void savings_are_of_the_phase_that_was_asked_for(void)
{
    static const char document[] = RANKED("host", "high", "\nrank_by: gpu.busy_us\ndomain: cpu")
        RANKED("kernels", "high", "\nrank_by: gpu.busy_us\ndomain: gpu");
    const struct ap_judge_options options = { .phase = "backward" };
    struct ap_rubric *rubric;
    struct ap_model model;
    struct ap_error error;
    a_base_tree(&model);
    put_time(&model, "phases.backward.longer_us", 50 * MS);
    put_time(&model, "phases.backward.device_busy_us", 20 * MS);
    ok(ap_rubric_parse(&gate, document, strlen(document), "r.md", &rubric, &error) == AP_OK, "read");
    ok(ap_rubric_apply(rubric, &options, &model, &error) == AP_OK, "applied");
    is_int(ap_value_integer(ap_value_member(finding(&model, 0), "saves_us"), 0), 50 * MS, "what the phase takes");
    is_int(ap_value_integer(ap_value_member(finding(&model, 1), "saves_us"), 0), 20 * MS, "what devices do in it");
    says(finding(&model, 1), "observation",
         "seen These figures, and what is predicted, are of the whole run; devices work for the phase backward for 20 ms of "
         "it. "
         "Threshold: x.");
    ap_rubric_free(rubric);
    ap_model_release(&model);
}

static void a_place_is_called_by_what_it_is(void)
{
    struct ap_model model;
    a_base_tree(&model);
    struct ap_value *idle = ap_add_object(&model, &model.root, "idle");
    struct ap_value *gap = ap_add_object(&model, ap_add_list(&model, idle, "gaps"), NULL);
    ap_add_time(&model, gap, "start_us", 0);
    ap_add_time(&model, gap, "dur_us", MS);
    ap_add_string(&model, gap, "pid", "25738");
    ap_add_string(&model, gap, "tid", "25738");
    ap_add_string(&model, gap, "cause", "host_python");
    judge(&model, RULE("a", "gpu.rows > 1", MIDDLE "\nplaces: idle.gaps, idle.gaps"));
    const struct ap_value *places = ap_value_member(finding(&model, 0), "places");
    says(ap_value_first(places), "name", "host_python");
    is_u64(ap_value_count(places), 1, "once, though it was asked for twice");
    ap_model_release(&model);
}

static void symptoms_hide_behind_their_causes(void)
{
    struct ap_model model;
    a_base_tree(&model);
    judge(&model,
          RANKED("idle", "low", "\nrank_by: gpu.idle_us") RANKED("plain", "low", "") RULE("off", "gpu.rows = 0", MIDDLE)
              RANKED("a", "low", "\nrank_by: gpu.busy_us\nsuppressed_by: idle, off") /* idle is a quarter of busy */
          RANKED("b", "low", "\nrank_by: gpu.idle_us\nsuppressed_by: a")
              RANKED("c", "low", "\nrank_by: gpu.busy_us\nsuppressed_by: plain"));
    order_is(&model, "a idle plain ");
    a_base_tree(&model);
    put_time(&model, "gpu.idle_us", 200 * MS);
    judge(&model,
          RANKED("idle", "low", "\nrank_by: gpu.idle_us") RANKED("a", "low", "\nrank_by: gpu.busy_us\nsuppressed_by: idle"));
    order_is(&model, "idle ");
}

static void put_stretch(struct ap_model *model, const char *path, int64_t start_ns, int64_t end_ns)
{
    struct ap_stretches stretches = { .list = NULL };
    ap_stretches_add(&stretches, &gate, start_ns, end_ns);
    ap_model_keep_time(model, path, &stretches);
}

/* The idle time is from 0 to 100, the busy time beside or within it. */
static void judge_in_time(struct ap_model *model, int64_t start_ns, int64_t end_ns, const char *more)
{
    char document[8000];
    a_base_tree(model);
    put_stretch(model, "gpu.idle_us", 0, 100);
    put_stretch(model, "gpu.busy_us", start_ns, end_ns);
    put_stretch(model, "gpu.window_us", 45, 75);
    (void)snprintf(document, sizeof(document), "%s%s", more,
                   RANKED("idle", "low", "\nrank_by: gpu.idle_us\nsuppressed_by: busy, window"));
    judge(model, document);
}

/* A rule that ranks by nothing has the time of the first figure that it looks at. */
static void what_saves_nothing_hides_by_its_time_too(void)
{
    static const int64_t starts[] = { 51, 50 };
    for (size_t i = 0; i < AP_COUNT_OF(starts); i++) {
        struct ap_model model;
        a_base_tree(&model);
        put_stretch(&model, "gpu", 0, 100);
        put_stretch(&model, "steps.mean_us", starts[i], 300);
        put_time(&model, "steps.mean_us", 1 * MS);
        judge(&model, RANKED("long", "low", "\nrank_by: steps.mean_us")
                          BLOCK("idle", "when: gpu.rows > 1\n" MIDDLE "\nsuppressed_by: long\n" KIND) TEXTS);
        order_is(&model, i == 0 ? "idle long " : "long ");
    }
}

static void causes_that_lie_elsewhere_hide_nothing(void)
{
    static const char larger[] = RANKED("busy", "low", "\nrank_by: gpu.busy_us") RULE("window", "gpu.rows = 0", MIDDLE);
    static const char both[] =
        RANKED("busy", "low", "\nrank_by: gpu.busy_us") RANKED("window", "low", "\nrank_by: gpu.window_us");
    static const char remark[] = RANKED("busy", "info", "\nrank_by: gpu.busy_us") RULE("window", "gpu.rows = 0", MIDDLE);
    struct ap_model model;
    judge_in_time(&model, 100, 500, larger);
    order_is(&model, "busy idle ");
    judge_in_time(&model, 50, 450, larger);
    order_is(&model, "busy ");
    judge_in_time(&model, 51, 450, larger);
    order_is(&model, "busy idle ");
    judge_in_time(&model, 0, 25, both); /* a quarter and 30 of 100, which together are more than half */
    order_is(&model, "busy window ");
    judge_in_time(&model, 100, 500, remark);
    order_is(&model, "busy ");
}

/* ---- memory ---- */

static enum ap_status whole_run(void)
{
    struct ap_model model;
    struct ap_rubric *rubric = NULL;
    struct ap_error error;
    struct ap_text builtin = ap_rubric_builtin();
    a_base_tree(&model);
    put_ratio(&model, "gpu.utilization_ratio", 0.1);
    put_ratio(&model, "memory.state.slack_ratio", 0.5);
    struct ap_value *gap = ap_add_object(&model, put_list(&model, "idle.gaps"), NULL);
    ap_add_string(&model, gap, "host_row", "aten::mm");
    ap_add_time(&model, gap, "cause_us", 5);
    enum ap_status status = ap_rubric_parse(&gate, builtin.data, builtin.bytes, "r.md", &rubric, &error);
    if (status == AP_OK)
        status = ap_rubric_apply(rubric, NULL, &model, &error);
    ap_rubric_free(rubric);
    ap_model_release(&model);
    return status;
}

/* Of the thousands of pieces that the rules' texts are made of some. */
static void refused_requests_are_survived(void)
{
    int64_t n = 0;
    bool clean = true;
    enum ap_status status;
    do {
        atomic_store(&gate.fail_after, n);
        status = whole_run();
        atomic_store(&gate.fail_after, -1);
        clean = clean && (status == AP_OK || status == AP_ERROR_MEMORY) && atomic_load(&gate.used_bytes) == 0;
        n += n < 300 ? 1 : 19;
    } while (status != AP_OK && n < 100000);
    ok(status == AP_OK && clean, "each failing request ends the run cleanly, and the last run passes");
}

int main(void)
{
    ap_gate_init(&gate, 0);
    mistakes_in_conditions_name_their_line();
    mistakes_in_the_machine_part_name_their_line();
    mistakes_in_the_document_name_their_line();
    what_is_too_large_is_refused_before_it_is_read();
    operators_compare();
    units_are_exact();
    figures_compare_with_figures();
    and_binds_more_tightly_than_or();
    what_is_null_is_unknown_and_decides_only_where_it_matters();
    a_finding_tells_everything();
    of_two_limits_the_farther_one_is_told();
    one_of_a_thing_is_singular();
    needs_that_are_not_met_ask_for_the_artifact();
    of_what_is_not_there_at_all_the_whole_is_asked_for();
    severity_follows_clauses_and_shares();
    confidence_follows_artifacts();
    confidence_follows_what_it_rests_on();
    advice_fits_the_program();
    words_are_told_where_they_fit();
    words_are_told_for_the_device_and_the_work();
    what_is_fine_is_told_unless_a_finding_says_otherwise();
    growth_is_not_fine();
    idle_time_of_a_cut_trace_is_doubtful();
    findings_are_ranked_by_what_they_save();
    bytes_of_one_severity_are_in_order();
    a_bound_is_no_less_than_what_is_predicted();
    a_bound_weighs_no_more_than_twice_what_is_predicted();
    kernels_keep_their_weight_behind_a_host_that_recording_slows();
    waiting_for_the_host_stands_behind_its_cause();
    time_outside_of_operators_stands_behind_its_cause();
    savings_are_the_smallest_bound_and_never_more_than_the_whole();
    another_recording_makes_no_run_faster();
    savings_are_of_the_phase_that_was_asked_for();
    a_place_is_called_by_what_it_is();
    symptoms_hide_behind_their_causes();
    causes_that_lie_elsewhere_hide_nothing();
    what_saves_nothing_hides_by_its_time_too();
    refused_requests_are_survived();
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory went back");
    return done();
}
