/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "team.h"

#include <unistd.h>

#include "confine.h"
#include "thread.h"

/* Processes of one host that all took what there is would have it several times. */
static void divide_host(struct ap_cli_options *options, unsigned per_host)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned own = ap_processor_count(), part = online > per_host && per_host ? (unsigned)online / per_host : 1;
    if (!options->request.jobs)
        options->request.jobs = own < part ? own : part;
    if (options->request.max_memory_why && per_host > 1 &&
        options->request.max_memory_bytes / per_host >= AP_MIN_MAX_MEMORY_BYTES)
        options->request.max_memory_bytes /= per_host;
}

void ap_cli_join_team(struct ap_cli_options *options, const struct ap_program_team *team)
{
    options->request.helpers = team->helpers;
    divide_host(options, team->per_host);
}

enum ap_status ap_cli_help_team(struct ap_cli_options *options, const struct ap_program_team *team)
{
    static struct ap_cli_written nothing;
    struct ap_cli_opened opened;
    struct ap_error error = { .status = AP_OK };
    const char *share = NULL;
    size_t bytes = 0;
    ap_cli_opened_begin(&opened);
    ap_cli_limit_memory(options);
    divide_host(options, team->per_host);
    ap_cli_confine(options, &opened, &nothing);
    enum ap_status status = team->receive(team->self, &share, &bytes, &error);
    if (status == AP_OK)
        status = ap_share_read(&options->request, share, bytes, team->write, team->self, &error);
    ap_cli_opened_release(&opened);
    return status == AP_END ? AP_OK : status;
}
