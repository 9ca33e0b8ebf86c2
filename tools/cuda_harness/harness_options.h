/* SPDX-License-Identifier: MIT
 * harness_options.h - the command line of the harness. */
#ifndef HARNESS_OPTIONS_H
#define HARNESS_OPTIONS_H

#include <stdio.h>

#include "scenario.h"

struct harness_options {
    bool chosen[HARNESS_SCENARIO_COUNT_];
    const char *out;
    uint32_t steps, warm_up_steps, repeat;
    uint64_t device_bytes; /* what the allocator of a memory scenario may take */
    bool help, list;
};

/** False after a mistake, which @mistake (of @mistake_bytes) then tells. */
bool harness_options_parse(int argc, char **argv, struct harness_options *options, char *mistake, size_t mistake_bytes);

void harness_options_print_help(FILE *to);
void harness_options_print_list(FILE *to);

#endif
