/* SPDX-License-Identifier: MIT */
#include "mcp_tools.h"

#include <stdio.h>
#include <string.h>

#include "decimal.h"
#include "json_text.h"
#include "model_build.h"
#include "near_name.h"

#include "poison.h"

#define PATHS PATHS_THAT(true)
#define OPTIONAL_PATHS PATHS_THAT(false)
#define PATHS_THAT(are_required)                                                                                           \
    {                                                                                                                      \
        .name = "paths", .kind = AP_MCP_TEXTS, .required = are_required, .least = 1, .most = AP_MCP_MOST_PATHS,            \
        .about =                                                                                                           \
            "a PyTorch profiler trace (.json, .json.gz), a CUDA memory snapshot as JSON, or one of each of the same run; " \
            "told apart by their content; or the traces of the ranks of one run, or the folder that holds them. Relative " \
            "to a directory that the server was started with, or absolute below one"                                       \
    }
#define MAX_TOKENS                                                                                                   \
    {                                                                                                                \
        .name = "max_tokens", .kind = AP_MCP_WHOLE, .least = 200, .most = 50000, .otherwise = AP_MCP_DEFAULT_TOKENS, \
        .about = "how long the answer may be, at about 3 bytes a token; text and structured content each"            \
    }
#define LIMIT(most_rows, default_rows)                                                                   \
    {                                                                                                    \
        .name = "limit", .kind = AP_MCP_WHOLE, .least = 1, .most = most_rows, .otherwise = default_rows, \
        .about = "rows at most"                                                                          \
    }
#define FOCUS                                                                                                          \
    {                                                                                                                  \
        .name = "focus", .kind = AP_MCP_TEXT, .choices = "cpu gpu memory io", .about = "findings of this domain alone" \
    }
#define PHASE                                                                                                     \
    {                                                                                                             \
        .name = "phase", .kind = AP_MCP_TEXT,                                                                     \
        .choices = "forward inference backward optimizer zero_grad data_loading communication compilation other", \
        .about = "findings about this part of the step alone"                                                     \
    }

static const struct ap_mcp_tool tools[] = {
    { .name = "list_inputs",
      .title = "List what can be analyzed",
      .about =
          "The recordings below the directories of the server, told apart by their content: kind, size and the path that "
          "the other tools take. For a user who names no file.",
      .arguments = { { .name = "under",
                       .kind = AP_MCP_TEXT,
                       .about = "a folder below one of the directories; where it is not said all of them" },
                     LIMIT(AP_MCP_MOST_INPUTS, AP_MCP_DEFAULT_LIST),
                     MAX_TOKENS },
      .call = ap_mcp_list_inputs,
      .names_files = true },
    { .name = "analyze",
      .title = "Analyze a profile",
      .about = "Start here. What bounds the run, and the findings, the most promising first: evidence with "
               "thresholds, likely "
               "cause, action, and the figure that has to move. The figures were computed from the file; saved times are "
               "upper bounds "
               "and overlap.",
      .arguments = { PATHS,
                     { .name = "mapping_trace",
                       .kind = AP_MCP_TEXT,
                       .about = "for a trace that replays GPU graphs: a trace of their capture, or of a run without graphs, "
                                "by which kernels of graphs get their operators and shapes" },
                     FOCUS,
                     PHASE,
                     MAX_TOKENS },
      .call = ap_mcp_analyze },
    { .name = "compare",
      .title = "Compare with a baseline",
      .about = "What changed from an older run to this one: steps (by a rank test, which is named), parts of the step, "
               "operators, kernels, what took whose place, "
               "memory, findings new, gone, worse and better. A difference within the noise is not called a change.",
      .arguments = { PATHS,
                     { .name = "baseline",
                       .kind = AP_MCP_TEXT,
                       .required = true,
                       .about = "the older run: a JSON report of this program, a trace or a snapshot" },
                     { .name = "more_baselines",
                       .kind = AP_MCP_TEXTS,
                       .least = 1,
                       .most = 15,
                       .about = "more runs of the older program: from three a side on the comparison may call a time better "
                                "or worse, of fewer it differs at most" },
                     { .name = "more_runs",
                       .kind = AP_MCP_TEXTS,
                       .least = 1,
                       .most = 15,
                       .about = "more runs of the new program" },
                     { .name = "conditions",
                       .kind = AP_MCP_TEXTS,
                       .least = 1,
                       .most = 16,
                       .about = "what to judge, such as \"steps.p50_us > +5%\" (against the baseline), "
                                "\"memory.replay.devices.peak_reserved_bytes > 40GiB\" or a severity, \"high\"" },
                     MAX_TOKENS },
      .call = ap_mcp_compare },
    { .name = "explain",
      .title = "Explain a rule, finding or figure",
      .about = "The text behind an id of analyze: a rule's condition, inputs, thresholds with their source, hardware and "
               "trade-off; or, for the "
               "name of a figure, its unit, meaning and the rules that use it. With paths also what they came to there.",
      .arguments = { { .name = "id",
                       .kind = AP_MCP_TEXT,
                       .required = true,
                       .about = "a rule_id, or the name of a figure; with paths also finding:1, the first finding" },
                     OPTIONAL_PATHS,
                     MAX_TOKENS },
      .call = ap_mcp_explain },
    { .name = "list_metrics",
      .title = "List figures or rules",
      .about = "The names of all figures that a report can have, with unit and meaning; or all rules. For explain and for "
               "conditions of compare.",
      .arguments = { { .name = "of",
                       .kind = AP_MCP_TEXT,
                       .choices = "metrics rules",
                       .about = "what to list; figures where it is not said" },
                     { .name = "contains",
                       .kind = AP_MCP_TEXT,
                       .about = "only those with this text in name or meaning; case does not matter" },
                     LIMIT(1000, AP_MCP_DEFAULT_LIST),
                     MAX_TOKENS },
      .call = ap_mcp_list_metrics },
    { .name = "table",
      .title = "Rows of a table",
      .about = "Rows behind the report: operators, kernels, launches, copies, synchronisations, collectives, allocations, "
               "steps, findings; or a "
               "list of the report by its path, such as gpu.kernels; \"tables\" lists all that there are, whole without a "
               "limit. Each row has a row_id for around.",
      .arguments = { PATHS,
                     { .name = "name", .kind = AP_MCP_TEXT, .required = true, .about = "the table, such as kernels" },
                     { .name = "where",
                       .kind = AP_MCP_TEXT,
                       .about = "which rows, such as \"name contains gemm and (dur_us > 1ms or tid = 7)\"; tid of GPU work "
                                "is its stream" },
                     { .name = "sort",
                       .kind = AP_MCP_TEXT,
                       .about = "a column, largest first; \"dur_us:asc\" for smallest first" },
                     { .name = "columns",
                       .kind = AP_MCP_TEXT,
                       .about = "these alone, in this order: \"row_id,name,dur_us\"" },
                     { .name = "form",
                       .kind = AP_MCP_TEXT,
                       .choices = "rows compact",
                       .about = "compact: names of columns once, each row a list, kernels by short names; a third of the "
                                "tokens. Where it is not said rows with all names in full" },
                     LIMIT(1000, AP_MCP_DEFAULT_ROWS),
                     MAX_TOKENS },
      .call = ap_mcp_table },
    { .name = "around",
      .title = "What is around a row",
      .about = "What launched a row, what it launched, what ran beside it, its source lines and its step.",
      .arguments = { PATHS,
                     { .name = "id",
                       .kind = AP_MCP_TEXT,
                       .required = true,
                       .about = "a row_id of table, such as row:1234, step:3, alloc:17 or gpu.kernels[3]; or a finding: "
                                "finding:1 is the first one, or its rule_id" },
                     LIMIT(100, AP_MCP_DEFAULT_AROUND),
                     MAX_TOKENS },
      .call = ap_mcp_around },
    { .name = "what_if",
      .title = "What a change would gain",
      .about = "Predicts the time of a step with changes, by a replay of the recorded window with them: each alone, and all "
               "together. A change is a condition on rows and what becomes of them: 'kernel ~ gemm speedup 2', "
               "'wait = explicit gone', 'collective like * overlapped', 'loader like * workers 4', "
               "'op is aten::item|aten::nonzero gone'. Says so where the recording does not allow a prediction.",
      .arguments = { PATHS,
                     { .name = "changes",
                       .about =
                           "columns: kernel, family, subfamily, collective, copy, memset, op, call, wait, range, frame, "
                           "phase, loader, gap, thread, dur_us; then one of: speedup K, gone, hostfree, less TIME, "
                           "async, pinned, overlapped, nowait, bandwidth K, fused N, graph, workers N",
                       .kind = AP_MCP_TEXTS,
                       .required = true,
                       .least = 1,
                       .most = AP_MCP_MOST_CHANGES },
                     MAX_TOKENS },
      .call = ap_mcp_what_if },
    { .name = "capture",
      .title = "How to record",
      .about = "Python code that records a trace and a memory snapshot with all that can be judged, to paste into the "
               "program of the user. "
               "With paths: what those lack, why that matters, and the code for it.",
      .arguments = { OPTIONAL_PATHS, MAX_TOKENS },
      .call = ap_mcp_capture },
};

const struct ap_mcp_tool *ap_mcp_tool_named(struct ap_text name)
{
    for (size_t i = 0; i < AP_COUNT_OF(tools); i++)
        if (ap_text_is(name, tools[i].name))
            return &tools[i];
    return NULL;
}

/* ---- the list for the client ---- */

static void write_string(struct ap_out *out, const char *key, const char *text)
{
    ap_out_format(out, "\"%s\":", key);
    ap_json_write_text(out, ap_text_of(text));
}

static void write_choices(struct ap_out *out, const char *choices)
{
    ap_out_string(out, "\"type\":\"string\",\"enum\":[");
    for (const char *at = choices; *at;) {
        size_t bytes = strcspn(at, " ");
        ap_json_write_text(out, (struct ap_text){ at, bytes });
        at += bytes;
        if (*at++)
            ap_out_char(out, ',');
        else
            break;
    }
    ap_out_string(out, "],");
}

static void write_argument(struct ap_out *out, const struct ap_mcp_argument *argument)
{
    ap_out_format(out, "\"%s\":{", argument->name);
    if (argument->kind == AP_MCP_WHOLE)
        ap_out_format(out, "\"type\":\"integer\",\"minimum\":%lld,\"maximum\":%lld,\"default\":%lld,",
                      (long long)argument->least, (long long)argument->most, (long long)argument->otherwise);
    else if (argument->kind == AP_MCP_TEXTS)
        ap_out_format(
            out, "\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":%d},\"minItems\":%lld,\"maxItems\":%lld,",
            AP_MCP_MAX_TEXT_BYTES, (long long)argument->least, (long long)argument->most);
    else if (argument->choices)
        write_choices(out, argument->choices);
    else
        ap_out_format(out, "\"type\":\"string\",\"maxLength\":%d,", AP_MCP_MAX_TEXT_BYTES);
    write_string(out, "description", argument->about);
    ap_out_char(out, '}');
}

static void write_schema(struct ap_out *out, const struct ap_mcp_argument *arguments)
{
    const char *comma = "";
    ap_out_string(out, "{\"type\":\"object\",\"properties\":{");
    for (const struct ap_mcp_argument *argument = arguments; argument->name; argument++) {
        ap_out_string(out, argument == arguments ? "" : ",");
        write_argument(out, argument);
    }
    ap_out_string(out, "},\"required\":[");
    for (const struct ap_mcp_argument *argument = arguments; argument->name; argument++) {
        if (!argument->required)
            continue;
        ap_out_format(out, "%s\"%s\"", comma, argument->name);
        comma = ",";
    }
    ap_out_string(out, "],\"additionalProperties\":false}");
}

static bool reads_files(const struct ap_mcp_tool *tool)
{
    for (const struct ap_mcp_argument *argument = tool->arguments; argument->name; argument++)
        if (strcmp(argument->name, "paths") == 0)
            return true;
    return tool->names_files;
}

static void write_about(struct ap_out *out, const struct ap_mcp_tool *tool)
{
    char about[1024];
    (void)snprintf(about, sizeof(about), "%s%s", tool->about, reads_files(tool) ? " " AP_MCP_MARKS_MEAN : "");
    write_string(out, "description", about);
}

void ap_mcp_tools_write(struct ap_out *out)
{
    ap_out_char(out, '[');
    for (size_t i = 0; i < AP_COUNT_OF(tools); i++) {
        ap_out_string(out, i ? ",{" : "{");
        write_string(out, "name", tools[i].name);
        ap_out_char(out, ',');
        write_string(out, "title", tools[i].title);
        ap_out_char(out, ',');
        write_about(out, &tools[i]);
        ap_out_string(out, ",\"inputSchema\":");
        write_schema(out, tools[i].arguments);
        ap_out_string(out, ",\"annotations\":{");
        write_string(out, "title", tools[i].title);
        ap_out_string(out,
                      ",\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}}");
    }
    ap_out_char(out, ']');
}

/* ---- what the client sends ---- */

static bool is_choice(const char *choices, struct ap_text text)
{
    for (const char *at = choices; *at;) {
        size_t bytes = strcspn(at, " ");
        if (ap_text_equal(text, (struct ap_text){ at, bytes }))
            return true;
        at += bytes + (at[bytes] != '\0');
    }
    return false;
}

static enum ap_status check_text(const struct ap_mcp_argument *argument, const struct ap_value *value,
                                 struct ap_error *reterr)
{
    struct ap_text text = ap_value_text(value);
    if (value->type != AP_VALUE_TEXT)
        return ap_fail(reterr, AP_ERROR_USAGE, "%s takes %s", argument->name,
                       argument->kind == AP_MCP_TEXTS ? "a list of strings" : "a string");
    if (!text.bytes || text.bytes > AP_MCP_MAX_TEXT_BYTES || memchr(text.data, '\0', text.bytes))
        return ap_fail(reterr, AP_ERROR_USAGE, "%s takes 1 to %d bytes, none of them 0", argument->name,
                       AP_MCP_MAX_TEXT_BYTES);
    if (argument->choices && !is_choice(argument->choices, text))
        return ap_fail(reterr, AP_ERROR_USAGE, "%s takes one of: %s", argument->name, argument->choices);
    return AP_OK;
}

static enum ap_status check_texts(const struct ap_mcp_argument *argument, const struct ap_value *value,
                                  struct ap_error *reterr)
{
    int64_t count = 0;
    const struct ap_value *item = value->type == AP_VALUE_LIST ? ap_value_first(value) : NULL;
    for (; item; item = item->next, count++)
        AP_TRY(check_text(argument, item, reterr));
    if (count < argument->least || count > argument->most)
        return ap_fail(reterr, AP_ERROR_USAGE, "%s takes a list of %lld to %lld strings, such as [\"...\"]", argument->name,
                       (long long)argument->least, (long long)argument->most);
    return AP_OK;
}

static enum ap_status check_whole(const struct ap_mcp_argument *argument, const struct ap_value *value,
                                  struct ap_error *reterr)
{
    struct ap_text text = ap_value_text(value);
    int64_t number;
    if (value->type != AP_VALUE_LITERAL || !ap_decimal_to_integer(text.data, text.bytes, &number) ||
        number < argument->least || number > argument->most)
        return ap_fail(reterr, AP_ERROR_USAGE, "%s takes a whole number from %lld to %lld", argument->name,
                       (long long)argument->least, (long long)argument->most);
    return AP_OK;
}

static enum ap_status check_argument(const struct ap_mcp_argument *argument, const struct ap_value *value,
                                     struct ap_error *reterr)
{
    switch (argument->kind) {
    case AP_MCP_TEXT: return check_text(argument, value, reterr);
    case AP_MCP_TEXTS: return check_texts(argument, value, reterr);
    case AP_MCP_WHOLE: return check_whole(argument, value, reterr);
    }
    return AP_OK;
}

/* ---- what would have been right ---- */

static void append(char *to, size_t bytes, const char *text)
{
    size_t used = strlen(to);
    (void)snprintf(to + used, bytes - used, "%s", text);
}

/* "; did you mean paths? It takes paths, name, where" */
static void tell_arguments(const struct ap_mcp_tool *tool, struct ap_text wanted, char *to, size_t bytes)
{
    struct ap_near_names near = { .count = 0 };
    for (const struct ap_mcp_argument *argument = tool->arguments; argument->name; argument++)
        ap_near_names_offer(&near, wanted, ap_text_of(argument->name));
    ap_near_names_write(&near, to, bytes);
    append(to, bytes, near.count ? " It takes " : "; it takes ");
    for (const struct ap_mcp_argument *argument = tool->arguments; argument->name; argument++) {
        append(to, bytes, argument == tool->arguments ? "" : ", ");
        append(to, bytes, argument->name);
        append(to, bytes, argument->required ? " (required)" : "");
    }
}

void ap_mcp_tools_name(struct ap_text wanted, char *to, size_t bytes)
{
    struct ap_near_names near = { .count = 0 };
    for (size_t i = 0; i < AP_COUNT_OF(tools); i++)
        ap_near_names_offer(&near, wanted, ap_text_of(tools[i].name));
    ap_near_names_write(&near, to, bytes);
    append(to, bytes, near.count ? " There are " : "; there are ");
    for (size_t i = 0; i < AP_COUNT_OF(tools); i++) {
        append(to, bytes, i ? ", " : "");
        append(to, bytes, tools[i].name);
    }
}

#define TOLD_BYTES 400

static const struct ap_mcp_argument *argument_named(const struct ap_mcp_tool *tool, struct ap_text name)
{
    for (const struct ap_mcp_argument *argument = tool->arguments; argument->name; argument++)
        if (ap_text_is(name, argument->name))
            return argument;
    return NULL;
}

enum ap_status ap_mcp_tool_check(const struct ap_mcp_tool *tool, const struct ap_value *arguments, struct ap_error *reterr)
{
    for (const struct ap_value *value = ap_value_first(arguments); value; value = value->next) {
        const struct ap_mcp_argument *argument = argument_named(tool, value->key);
        char told[TOLD_BYTES];
        if (!argument) {
            tell_arguments(tool, value->key, told, sizeof(told));
            return ap_fail(reterr, AP_ERROR_USAGE, "%s has no argument '%.*s'%s", tool->name,
                           (int)(value->key.bytes < 80 ? value->key.bytes : 80), value->key.data, told);
        }
        AP_TRY(check_argument(argument, value, reterr));
    }
    for (const struct ap_mcp_argument *argument = tool->arguments; argument->name; argument++)
        if (argument->required && !ap_value_member(arguments, argument->name))
            return ap_fail(reterr, AP_ERROR_USAGE, "%s needs the argument %s: %s", tool->name, argument->name,
                           argument->about);
    return AP_OK;
}

bool ap_mcp_tool_reads(const struct ap_mcp_tool *tool, const struct ap_value *arguments)
{
    return tool->names_files || ap_value_member(arguments, "paths");
}

const char *ap_mcp_text_argument(const struct ap_mcp_call *call, const char *name)
{
    const struct ap_value *value = ap_value_member(call->arguments, name);
    return value ? ap_value_text(value).data : NULL;
}

int64_t ap_mcp_whole_argument(const struct ap_mcp_call *call, const char *name, int64_t otherwise)
{
    struct ap_text text = ap_text_member(call->arguments, name);
    int64_t number;
    return text.bytes && ap_decimal_to_integer(text.data, text.bytes, &number) ? number : otherwise;
}
