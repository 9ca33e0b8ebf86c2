/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "confine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory_limit.h"
#include "places.h"
#include "sandbox.h"

void ap_cli_limit_memory(struct ap_cli_options *options)
{
    struct ap_memory_limit limit = ap_cli_memory_limit();
    if (options->request.max_memory_bytes || limit.bytes < AP_MIN_MAX_MEMORY_BYTES)
        return;
    options->request.max_memory_bytes = limit.bytes;
    options->request.max_memory_why = limit.why;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Does the library open files by itself? Runs of many ranks are found in folders and read on several threads. */
static bool opens_by_itself(const struct ap_cli_options *options)
{
    bool many = options->is_series || options->merge || options->file_count > AP_CLI_FEW_FILES || options->trace_count > 1 ||
                options->snapshot_count > 1 || options->request.rubric_path || options->request.peaks_path ||
                options->request.more_baseline_count || options->request.more_run_count;
    const char *path;
    for (size_t at = 0; !many && ap_cli_next_input(options, &at, &path);)
        many = strcmp(path, "-") == 0 || is_folder(path);
    return many;
}

static size_t count_inputs(const struct ap_cli_options *options)
{
    const char *path;
    size_t count = 0;
    for (size_t at = 0; ap_cli_next_input(options, &at, &path);)
        count++;
    return count;
}

void ap_cli_confine(struct ap_cli_options *options, struct ap_cli_opened *opened, const struct ap_cli_written *written)
{
    size_t count = count_inputs(options), next = 0;
    const char **inputs = calloc(count + 1, sizeof(*inputs));
    const char *outputs[AP_CLI_MAX_WRITINGS + 1];
    struct ap_cli_sandbox sandbox = {
        .may_read = opens_by_itself(options), .may_make_files = options->pictures_out, .readable = inputs, .written = outputs
    };
    for (size_t at = 0; inputs && next < count && ap_cli_next_input(options, &at, &inputs[next]);)
        next++;
    /* What is read from standard input is open, and nothing else is to be. */
    bool is_open = next == 1 && strcmp(inputs[0], "-") == 0;
    sandbox.may_read &= !is_open;
    sandbox.readable_count = sandbox.may_read ? next : 0;
    if (!sandbox.may_read && !is_open) {
        for (size_t i = 0; i < next; i++)
            (void)ap_cli_opened_add(opened, inputs[i]);
        options->request.opener = &opened->opener;
    }
    for (size_t i = 0; i < written->count; i++)
        if (written->writings[i].output.temporary[0])
            outputs[sandbox.written_count++] = written->writings[i].output.target;
    if (options->pictures_out)
        outputs[sandbox.written_count++] = options->pictures_out;
    if (!options->no_sandbox)
        (void)ap_cli_sandbox_enter(&sandbox);
    free(inputs);
}
