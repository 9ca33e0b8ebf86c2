/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include <string.h>

#include "places.h"
#include "wrap.h"

#define DEFAULT_ROWS 20

static enum ap_format format_of(const struct ap_cli_options *options)
{
    switch (options->format) {
    case AP_CLI_FORMAT_JSON: return AP_FORMAT_JSON;
    case AP_CLI_FORMAT_CSV: return AP_FORMAT_CSV;
    case AP_CLI_FORMAT_NONE:
    case AP_CLI_FORMAT_MD:
    case AP_CLI_FORMAT_TEXT: break;
    }
    return AP_FORMAT_TEXT;
}

static bool has_input(const struct ap_cli_options *options)
{
    return options->file_count || options->request.cpu_trace_path || options->request.memory_json_path;
}

/* Those that a report is needed for. */
static int count_questions(const struct ap_cli_options *options)
{
    return (options->table.name != NULL) + (options->around != NULL) + (options->explain != NULL) +
           options->has_summary_tokens;
}

/* Text is wrapped where it is read on a terminal; all else stays as it is. */
static void wrap_answer(struct ap_wrap *wrap, const struct ap_cli_options *options, ap_write_fn *write, void *write_self)
{
    bool is_text = format_of(options) == AP_FORMAT_TEXT;
    ap_wrap_init(wrap, is_text ? ap_terminal_of_stdout().width : 0, write, write_self);
}

static enum ap_status explain(const struct ap_cli_options *options, struct ap_report *report, ap_write_fn *write,
                              void *write_self, struct ap_error *reterr)
{
    struct ap_wrap wrap;
    wrap_answer(&wrap, options, write, write_self);
    enum ap_status status = ap_write_explanation(options->explain, report, options->request.rubric_path, format_of(options),
                                                 ap_wrap_write, &wrap, reterr);
    return status == AP_OK ? ap_wrap_end(&wrap, reterr) : status;
}

static enum ap_status write_around(const struct ap_cli_options *options, struct ap_report *report, ap_write_fn *write,
                                   void *write_self, struct ap_error *reterr)
{
    struct ap_wrap wrap;
    wrap_answer(&wrap, options, write, write_self);
    struct ap_around_query query = { options->around, options->has_limit ? options->table.limit : 0, format_of(options),
                                     wrap.width };
    enum ap_status status = ap_report_write_around(report, &query, ap_wrap_write, &wrap, reterr);
    return status == AP_OK ? ap_wrap_end(&wrap, reterr) : status;
}

static enum ap_status write_listing(const struct ap_cli_options *options, ap_write_fn *write, void *write_self,
                                    struct ap_error *reterr)
{
    struct ap_listing *listing = NULL;
    enum ap_status status = options->list_rules ? ap_rules_list(options->request.rubric_path, &listing, reterr)
                                                : ap_figures_list(&listing, reterr);
    if (status == AP_OK)
        status = ap_listing_write(listing, format_of(options), write, write_self, reterr);
    ap_listing_free(listing);
    return status;
}

bool ap_cli_answer_alone(const struct ap_cli_options *options, ap_write_fn *write, void *write_self,
                         enum ap_status *ret_status, struct ap_error *reterr)
{
    if (options->list_rules || options->list_metrics)
        *ret_status = write_listing(options, write, write_self, reterr);
    else if (options->explain && !has_input(options))
        *ret_status = explain(options, NULL, write, write_self, reterr);
    else
        return false;
    return true;
}

const char *ap_cli_check_questions(const struct ap_cli_options *options)
{
    bool lists = options->list_rules || options->list_metrics;
    if (count_questions(options) + options->list_rules + options->list_metrics > 1)
        return "one question at a time: --table, --around, --explain, --summary-tokens, --list-rules or --list-metrics";
    if ((options->table.where || options->table.sort || options->table.columns) && !options->table.name)
        return "--where, --sort and --columns are about a table: give --table NAME as well";
    if (options->has_limit && !options->table.name && !options->around)
        return "--limit is about rows: give --table NAME or --around ID as well";
    if (options->format == AP_CLI_FORMAT_CSV && !options->table.name && !lists)
        return "--format csv is for tables: give --table NAME, --list-rules or --list-metrics as well";
    if (options->format == AP_CLI_FORMAT_MD && (options->table.name || options->around || options->explain || lists))
        return "--format md is for the report; an answer is written as text or json";
    if (options->has_summary_tokens && options->format != AP_CLI_FORMAT_NONE && options->format != AP_CLI_FORMAT_MD)
        return "--summary-tokens writes Markdown: it takes no other --format";
    return NULL;
}

void ap_cli_prepare_questions(struct ap_cli_options *options)
{
    options->request.with_rows = options->table.name || options->around;
    if (!options->has_limit && !(options->table.name && strcmp(options->table.name, "tables") == 0))
        options->table.limit = DEFAULT_ROWS;
}

static bool an_output_is_stdout(const struct ap_cli_options *options)
{
    const char *outputs[AP_CLI_OUTPUTS];
    ap_cli_list_outputs(options, outputs);
    for (size_t i = 0; i < AP_CLI_OUTPUTS; i++)
        if (outputs[i] && strcmp(outputs[i], "-") == 0)
            return true;
    return false;
}

bool ap_cli_uses_stdout(const struct ap_cli_options *options)
{
    if (options->format != AP_CLI_FORMAT_NONE || count_questions(options))
        return true;
    if (an_output_is_stdout(options))
        return false;
    return !options->md_out || options->has_output || ap_terminal_of_stdout().is_terminal; /* a screen beside the files */
}

static enum ap_status write_summary(const struct ap_cli_options *options, const struct ap_report *report,
                                    const struct ap_terminal *terminal, ap_write_fn *write, void *write_self,
                                    struct ap_error *reterr)
{
    const char *outputs[AP_CLI_OUTPUTS], *files[AP_CLI_OUTPUTS + 1];
    struct ap_summary_options summary = {
        .width = terminal->width, .lines = terminal->lines, .color = terminal->color, .files = files
    };
    ap_cli_list_outputs(options, outputs);
    for (size_t i = 0; i < AP_CLI_OUTPUTS; i++)
        if (outputs[i] && strcmp(outputs[i], "-") != 0)
            files[summary.file_count++] = outputs[i];
    if (options->pictures_out)
        files[summary.file_count++] = options->pictures_out;
    return ap_report_write_summary(report, &summary, write, write_self, reterr);
}

static enum ap_status write_report(const struct ap_cli_options *options, const struct ap_report *report, ap_write_fn *write,
                                   void *write_self, struct ap_error *reterr)
{
    struct ap_terminal terminal = ap_terminal_of_stdout();
    if (options->format == AP_CLI_FORMAT_JSON)
        return ap_report_write_json(report, write, write_self, reterr);
    bool screen = terminal.is_terminal || options->has_output || options->html_out;
    if (options->format == AP_CLI_FORMAT_TEXT || (options->format == AP_CLI_FORMAT_NONE && screen))
        return write_summary(options, report, &terminal, write, write_self, reterr);
    return ap_report_write_markdown(report, options->full ? AP_EXTENT_WHOLE : AP_EXTENT_SHORT, write, write_self, reterr);
}

enum ap_status ap_cli_write_stdout(const struct ap_cli_options *options, struct ap_report *report, ap_write_fn *write,
                                   void *write_self, struct ap_error *reterr)
{
    struct ap_terminal terminal = ap_terminal_of_stdout();
    if (options->table.name) {
        struct ap_table_query query = options->table;
        query.format = format_of(options);
        query.width = terminal.width;
        return ap_report_write_table(report, &query, write, write_self, reterr);
    }
    if (options->around)
        return write_around(options, report, write, write_self, reterr);
    if (options->explain)
        return explain(options, report, write, write_self, reterr);
    if (options->has_summary_tokens)
        return ap_report_write_digest(report, options->summary_tokens, write, write_self, reterr);
    return write_report(options, report, write, write_self, reterr);
}
