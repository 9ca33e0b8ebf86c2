/* SPDX-License-Identifier: MIT
 * options.h - the command line as a struct. */
#ifndef AP_OPTIONS_H
#define AP_OPTIONS_H

#include <stdio.h>

#include "analyze_profile/analyze_profile.h"

struct ap_cli_options {
    struct ap_request request;
    const char *md_out, *json_out, *trace_out, *folded_out, *junit_out, *html_out;
    const char *memory_pickle;
    const char **files;   /* given without an option; room for argc of them */
    const char **context; /* likewise */
    const char **fail_on; /* likewise */
    struct ap_series_entry *series; /* room for argc of them */
    int file_count;
    bool is_series, github_annotations, quiet, help, version;
};

/** False after a mistake in the command line, which @mistake (of @mistake_bytes) then tells. */
bool ap_cli_parse(int argc, char **argv, struct ap_cli_options *options, char *mistake, size_t mistake_bytes);

void ap_cli_print_help(FILE *to);

#endif
