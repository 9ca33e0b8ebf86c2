/* SPDX-License-Identifier: MIT
 * written.h - all that a run writes: opened before anything is parsed, put in place once all of it is complete. */
#ifndef AP_CLI_WRITTEN_H
#define AP_CLI_WRITTEN_H

#include "picture_files.h"

/** What the environment of a step of GitHub Actions calls the file of its summary. */
#define AP_CLI_STEP_SUMMARY "GITHUB_STEP_SUMMARY"
#define AP_CLI_MAX_WRITINGS 11

struct ap_cli_writing {
    struct ap_output output;
    const char *path;
    unsigned form; /* see written.c */
};

struct ap_cli_written {
    struct ap_cli_writing writings[AP_CLI_MAX_WRITINGS]; /* those wanted */
    size_t count;
    struct ap_cli_pictures pictures;
};

/** What the options ask for; nothing is opened. */
void ap_cli_written_begin(struct ap_cli_written *written, const struct ap_cli_options *options);
/** Open all but the pictures, whose folder is made. */
enum ap_status ap_cli_written_open(struct ap_cli_written *written, struct ap_error *reterr);
/** All are complete before the first is put in place. */
enum ap_status ap_cli_written_write(struct ap_cli_written *written, const struct ap_cli_options *options,
                                    struct ap_report *report, struct ap_error *reterr);
/** Remove what is not in place. */
void ap_cli_written_release(struct ap_cli_written *written);

#endif
