/* SPDX-License-Identifier: MIT
 * piped_team.h - the side of the program: its team behind a pipe. */
#ifndef AP_PIPED_TEAM_H
#define AP_PIPED_TEAM_H

#include "mem.h"
#include "process_pipe.h"
#include "program.h"

struct ap_piped_team {
    struct ap_process_pipe pipe;
    struct ap_gate gate;
    struct ap_helpers helpers;
    struct ap_program_team team;
    bool reports; /* else it is a helper */
    char *share;  /* of a helper */
    size_t share_bytes;
    uint64_t left_bytes; /* of the frame that is being taken */
    bool at_end;
    size_t taken_from; /* the helper whose answer is being taken */
};

/** Waits for the greeting, which tells what this process is. False where none comes. @team stays where it is until the
 *  program has run. */
AP_MUST_CHECK bool ap_piped_team_init(struct ap_piped_team *team, struct ap_process_pipe pipe);
/** A helper says that its answer is whole. */
void ap_piped_team_finish(struct ap_piped_team *team);

#endif
