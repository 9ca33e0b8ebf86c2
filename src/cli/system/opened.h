/* SPDX-License-Identifier: MIT
 * opened.h - inputs that are opened before anything is parsed, for a library that opens nothing itself. */
#ifndef AP_CLI_OPENED_H
#define AP_CLI_OPENED_H

#include "analyze_profile/analyze_profile.h"

#define AP_CLI_MOST_OPENED 8

struct ap_cli_opened {
    struct {
        const char *path;
        int file, why; /* file -1: not opened, errno then */
    } files[AP_CLI_MOST_OPENED];
    size_t count;
    struct ap_opener opener;
};

/** Nothing opened. */
void ap_cli_opened_begin(struct ap_cli_opened *opened);
/** Open one more; what cannot be opened is told when somebody asks for it. False where there is no room. */
bool ap_cli_opened_add(struct ap_cli_opened *opened, const char *path);
void ap_cli_opened_release(struct ap_cli_opened *opened);

#endif
