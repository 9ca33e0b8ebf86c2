/* SPDX-License-Identifier: MIT
 * options.h - the command line as a struct. */
#ifndef AP_OPTIONS_H
#define AP_OPTIONS_H

#include <stdio.h>

#include "analyze_profile/analyze_profile.h"

/** A shell names the files of a folder one by one: more than these are a run, in which what is no input of it is listed. */
#define AP_CLI_FEW_FILES 2

/** What standard output is written in. */
enum ap_cli_format { AP_CLI_FORMAT_NONE, AP_CLI_FORMAT_MD, AP_CLI_FORMAT_JSON, AP_CLI_FORMAT_TEXT, AP_CLI_FORMAT_CSV };

struct ap_cli_options {
    struct ap_request request;
#define AP_SECTION(title)
#define AP_OPTION(id, name, argument, help)
#define AP_FLAG(id, name, argument, help) bool id;
#define AP_TEXT(id, name, argument, help) const char *id;
#include "options.def"
    const char *summary_out;
    const char *trace_out, *folded_out, *html_out, *pictures_out;
    const char *svg_out;            /* of --output FILE.svg */
    const char **files;             /* given without an option; room for argc of them */
    const char **traces;            /* of --cpu-trace; likewise */
    const char **snapshots;         /* of --memory-json; likewise */
    const char **context;           /* likewise */
    const char **fail_on;           /* likewise */
    const char **what_if;           /* likewise */
    const char **roots;             /* likewise */
    const char **baselines, **runs; /* likewise, behind the first baseline */
    struct ap_series_entry *series; /* room for argc of them */
    int file_count, trace_count, snapshot_count;
    size_t root_count;
    enum ap_cli_format format;
    struct ap_table_query table; /* name NULL = no table is asked for; limit is that of --around too */
    uint64_t summary_tokens;
    uint32_t max_seconds; /* 0 = no bound */
    bool has_limit, has_summary_tokens, is_series;
    bool has_output; /* --output was given */
    bool brief_help; /* -h */
};

/** False after a mistake in the command line, which @mistake (of @mistake_bytes) then tells. */
bool ap_cli_parse(int argc, char **argv, struct ap_cli_options *options, char *mistake, size_t mistake_bytes);

/** What --help says. */
void ap_cli_print_help(FILE *to);
/** What -h says: one screen. */
void ap_cli_print_brief_help(FILE *to);

/** The letter that stands for an option, 0 = none. */
char ap_cli_letter_of(const char *name);

/** The options as completions of "bash", "zsh" or "fish"; false where there is no such shell. */
bool ap_cli_print_completion(FILE *to, const char *shell);

#endif
