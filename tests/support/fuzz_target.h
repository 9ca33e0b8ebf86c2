/* SPDX-License-Identifier: MIT
 * fuzz_target.h - a fuzz target, and the promises that it holds the code to. Whoever calls it hands a heap block of exactly
 * @size bytes, so that a sanitizer sees a read beyond it. */
#ifndef AP_FUZZ_TARGET_H
#define AP_FUZZ_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool promise, const char *what)
{
    if (promise)
        return;
    (void)fflush(stdout);
    fprintf(stderr, "%s\n", what);
    abort();
}

#endif
