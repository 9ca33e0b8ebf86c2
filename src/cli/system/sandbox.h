/* SPDX-License-Identifier: MIT
 * sandbox.h - what the process may still ask of the kernel once its files are open and before a byte of them is parsed. A
 * mistake in a parser, in whoever's code, then reaches no file, no network and no other program. */
#ifndef AP_CLI_SANDBOX_H
#define AP_CLI_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

struct ap_cli_sandbox {
    /* Without: nothing can be opened any more. A run of many ranks is found and read by its folders, on threads of its own
     * (src/cluster), and a server opens files when it is asked to: these may open for reading, below these paths alone where
     * the kernel has Landlock. */
    bool may_read;
    /* Pictures get their names when they are drawn: files that are not there yet may be made. */
    bool may_make_files;
    const char *const *readable; /* files and folders; for may_read */
    size_t readable_count;
    const char *const *written; /* files, which are put in place and removed, or folders */
    size_t written_count;
};

/** From here on, for good, for all threads. False where the kernel cannot: nothing is forbidden then. */
bool ap_cli_sandbox_enter(const struct ap_cli_sandbox *sandbox);
/** What there is, in words: "seccomp and Landlock", "seccomp", or "none". */
const char *ap_cli_sandbox_state(void);

#endif
