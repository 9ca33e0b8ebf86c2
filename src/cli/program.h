/* SPDX-License-Identifier: MIT
 * program.h - the program but for its main(). */
#ifndef AP_PROGRAM_H
#define AP_PROGRAM_H

#include "analyze_profile/analyze_profile.h"

/** What a process is among several that were started with one command line: one reports, the others help it. */
struct ap_program_team {
    const struct ap_helpers *helpers; /* of the one that reports; NULL = this process is a helper: */
    enum ap_status (*receive)(void *self, const char **ret_share, size_t *ret_bytes, struct ap_error *reterr);
    ap_write_fn *write; /* of what is made of the share */
    void *self;         /* of both */
    unsigned per_host;  /* processes of the team on this host, which divide processors and memory */
};

/** Runs the command line and returns the exit code. @team NULL = alone. */
int ap_program(int argc, char **argv, const struct ap_program_team *team);

#endif
