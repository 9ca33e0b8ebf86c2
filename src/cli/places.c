/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers.h"
#include "base.h"
#include "written.h"

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

/* "-" is @standard, which counts as a place where it is a file of the disk. */
static bool status_of(const char *path, int standard, struct stat *ret_status)
{
    if (strcmp(path, "-") == 0)
        return fstat(standard, ret_status) == 0 && S_ISREG(ret_status->st_mode);
    return stat(path, ret_status) == 0;
}

/* One and the same file under whatever spelling, @b an output. What takes everything and keeps nothing, as /dev/null, is
 * none. */
static bool is_same_place(const char *a, int standard_of_a, const char *b)
{
    struct stat x, y;
    const char *name_of_a, *name_of_b;
    if (!a || !b)
        return false;
    bool stands = strcmp(a, "-") == 0 || strcmp(b, "-") == 0;
    if (stands && standard_of_a == STDOUT_FILENO && strcmp(a, b) == 0)
        return true;
    bool has_a = status_of(a, standard_of_a, &x), has_b = status_of(b, STDOUT_FILENO, &y);
    if (has_a || has_b || stands)
        return has_a && has_b && same_status(&x, &y) && !S_ISCHR(x.st_mode);
    return folder_of(a, &x, &name_of_a) && folder_of(b, &y, &name_of_b) && same_status(&x, &y) &&
           strcmp(name_of_a, name_of_b) == 0;
}

/* 8=FILE of a series. */
static const char *named_file(const struct ap_cli_options *options, const char *argument)
{
    size_t digits = strspn(argument, "0123456789");
    return options->is_series && digits && argument[digits] == '=' ? argument + digits + 1 : argument;
}

bool ap_cli_next_input(const struct ap_cli_options *options, size_t *at, const char **ret_path)
{
    const struct ap_request *request = &options->request;
    const char *one[] = { request->rubric_path, request->baseline_path, request->peaks_path, request->mapping_trace_path };
    const struct {
        const char *const *paths;
        size_t count;
    } lists[] = {
        { options->files, (size_t)options->file_count },         { options->traces, (size_t)options->trace_count },
        { options->snapshots, (size_t)options->snapshot_count }, { one, AP_COUNT_OF(one) },
        { options->baselines, request->more_baseline_count },    { options->runs, request->more_run_count },
    };
    size_t before = 0;
    for (size_t i = 0; i < AP_COUNT_OF(lists); before += lists[i++].count)
        while (*at - before < lists[i].count) {
            const char *path = lists[i].paths[(*at)++ - before];
            *ret_path = i == 0 ? named_file(options, path) : path;
            if (path)
                return true;
        }
    return false;
}

bool ap_cli_is_input(const struct ap_cli_options *options, const char *path)
{
    const char *input;
    for (size_t at = 0; ap_cli_next_input(options, &at, &input);)
        if (is_same_place(input, STDIN_FILENO, path))
            return true;
    return is_same_place(options->redact_key, STDIN_FILENO, path);
}

void ap_cli_list_outputs(const struct ap_cli_options *options, const char *to[AP_CLI_OUTPUTS])
{
    const char *outputs[AP_CLI_OUTPUTS] = { options->md_out,     options->json_out,    options->trace_out,
                                            options->folded_out, options->junit_out,   options->html_out,
                                            options->slice_out,  options->summary_out, options->svg_out };
    memcpy(to, outputs, sizeof(outputs));
}

/* These, and what is written besides. */
#define PLACES (AP_CLI_OUTPUTS + 2)
static const char *const names[PLACES] = { "--md-out",    "--json-out",     "--trace-out",    "--folded-out",
                                           "--junit-out", "--html-out",     "--slice-out",    "--summary-out",
                                           "--output",    "--step-summary", "standard output" };

static void list_places(const struct ap_cli_options *options, const char *to[PLACES])
{
    ap_cli_list_outputs(options, to);
    to[AP_CLI_OUTPUTS] = options->step_summary ? getenv(AP_CLI_STEP_SUMMARY) : NULL;
    to[AP_CLI_OUTPUTS + 1] = ap_cli_uses_stdout(options) ? "-" : NULL;
}

bool ap_cli_is_output(const struct ap_cli_options *options, const char *path)
{
    const char *outputs[PLACES];
    list_places(options, outputs);
    for (size_t i = 0; i < PLACES; i++)
        if (is_same_place(outputs[i], STDOUT_FILENO, path))
            return true;
    return false;
}

/* Also where slashes stand behind it. */
static bool is_folder_of_pictures(const struct ap_cli_options *options, const char *output)
{
    size_t bytes = options->pictures_out ? strlen(options->pictures_out) : 0;
    while (bytes > 1 && options->pictures_out[bytes - 1] == '/')
        bytes--;
    char *folder = bytes ? strndup(options->pictures_out, bytes) : NULL;
    bool same = is_same_place(output, STDOUT_FILENO, folder);
    free(folder);
    return same;
}

bool ap_cli_check_places(const struct ap_cli_options *options, char *text, size_t text_bytes)
{
    const char *outputs[PLACES];
    list_places(options, outputs);
    for (size_t i = 0; i < PLACES; i++)
        if (is_folder_of_pictures(options, outputs[i])) {
            (void)snprintf(text, text_bytes, "%s is a file and --pictures-out a folder: they cannot be the same", names[i]);
            return false;
        }
    for (size_t j = 0; j < PLACES; j++) {
        if (outputs[j] && ap_cli_is_input(options, outputs[j])) {
            (void)snprintf(text, text_bytes, AP_CLI_OVER_INPUT);
            return false;
        }
        for (size_t i = 0; i < j; i++) {
            if (!is_same_place(outputs[i], STDOUT_FILENO, outputs[j]))
                continue;
            if (j == PLACES - 1 && strcmp(outputs[i], "-") == 0)
                (void)snprintf(text, text_bytes,
                               "a report and what --format or a question asks for would both go to standard output");
            else
                (void)snprintf(text, text_bytes, "%s and %s are the same file", names[i], names[j]);
            return false;
        }
    }
    return true;
}
