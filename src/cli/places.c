/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder of a path, and its name in there. */
static bool folder_of(const char *path, struct stat *ret_folder, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    bool known = folder && stat(folder, ret_folder) == 0;
    free(folder);
    *ret_name = slash ? slash + 1 : path;
    return known;
}

static bool same_status(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* One and the same file under whatever spelling. What takes everything and keeps nothing, as /dev/null, is none. */
static bool is_same_place(const char *a, const char *b)
{
    struct stat x, y;
    const char *name_of_a, *name_of_b;
    if (!a || !b)
        return false;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
        return strcmp(a, b) == 0;
    bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
    if (has_a || has_b)
        return has_a && has_b && same_status(&x, &y) && !S_ISCHR(x.st_mode);
    return folder_of(a, &x, &name_of_a) && folder_of(b, &y, &name_of_b) && same_status(&x, &y) &&
           strcmp(name_of_a, name_of_b) == 0;
}

/* Standard input is no file that something could be written over. */
static bool is_file_at(const char *input, const char *path)
{
    return input && strcmp(input, "-") != 0 && is_same_place(input, path);
}

/* 8=FILE of a series. */
static const char *named_file(const struct ap_cli_options *options, const char *argument)
{
    size_t digits = strspn(argument, "0123456789");
    return options->is_series && digits && argument[digits] == '=' ? argument + digits + 1 : argument;
}

bool ap_cli_is_input(const struct ap_cli_options *options, const char *path)
{
    const struct ap_request *request = &options->request;
    const char *inputs[] = { request->cpu_trace_path, request->memory_json_path, request->rubric_path,
                             request->baseline_path,  request->peaks_path,       request->mapping_trace_path };
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        if (is_file_at(inputs[i], path))
            return true;
    for (size_t i = 0; i < request->more_baseline_count; i++)
        if (is_file_at(options->baselines[i], path))
            return true;
    for (size_t i = 0; i < request->more_run_count; i++)
        if (is_file_at(options->runs[i], path))
            return true;
    for (int i = 0; i < options->file_count; i++)
        if (is_file_at(named_file(options, options->files[i]), path))
            return true;
    for (int i = 0; i < options->trace_count; i++)
        if (is_file_at(options->traces[i], path))
            return true;
    for (int i = 0; i < options->snapshot_count; i++)
        if (is_file_at(options->snapshots[i], path))
            return true;
    return false;
}

void ap_cli_list_outputs(const struct ap_cli_options *options, const char *to[AP_CLI_OUTPUTS])
{
    const char *outputs[AP_CLI_OUTPUTS] = { options->md_out,     options->json_out,    options->trace_out,
                                            options->folded_out, options->junit_out,   options->html_out,
                                            options->slice_out,  options->summary_out, options->svg_out };
    memcpy(to, outputs, sizeof(outputs));
}

bool ap_cli_is_output(const struct ap_cli_options *options, const char *path)
{
    const char *outputs[AP_CLI_OUTPUTS];
    ap_cli_list_outputs(options, outputs);
    for (size_t i = 0; i < AP_CLI_OUTPUTS; i++)
        if (is_same_place(outputs[i], path))
            return true;
    return false;
}

bool ap_cli_check_places(const struct ap_cli_options *options, char *text, size_t text_bytes)
{
    static const char *const names[AP_CLI_OUTPUTS] = { "--md-out",     "--json-out",    "--trace-out",
                                                       "--folded-out", "--junit-out",   "--html-out",
                                                       "--slice-out",  "--summary-out", "--output" };
    const char *outputs[AP_CLI_OUTPUTS];
    ap_cli_list_outputs(options, outputs);
    for (size_t j = 0; j < AP_CLI_OUTPUTS; j++) {
        if (outputs[j] && ap_cli_is_input(options, outputs[j])) {
            (void)snprintf(text, text_bytes, "an output would overwrite an input");
            return false;
        }
        for (size_t i = 0; i < j; i++)
            if (is_same_place(outputs[i], outputs[j])) {
                (void)snprintf(text, text_bytes, "%s and %s are the same file", names[i], names[j]);
                return false;
            }
    }
    return true;
}
