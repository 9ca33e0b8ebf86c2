/* SPDX-License-Identifier: MIT
 * memory_limit.h - how much memory an analysis may take where nobody says it. */
#ifndef AP_CLI_MEMORY_LIMIT_H
#define AP_CLI_MEMORY_LIMIT_H

#include <stdint.h>

struct ap_memory_limit {
    uint64_t bytes;  /* 0 = not known: no limit */
    const char *why; /* as words in a sentence; NULL = not known */
};

/** Half of the machine's memory, or what the cgroup of this process allows where that is less. */
struct ap_memory_limit ap_cli_memory_limit(void);

#endif
