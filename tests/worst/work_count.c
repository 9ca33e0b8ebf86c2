/* SPDX-License-Identifier: MIT
 * work_count.c - counts the work of a program that was compiled with -fsanitize-coverage=trace-pc: each basic block that
 * runs is one, each CHUNK bytes that the C library touches for it another. Linked with --wrap of those functions. Where
 * the program ends, lines "OFFSET COUNT" go to the file that AP_WORK_OUT names: how much was done at each address, from
 * the start of the text on. For programs of one thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 32

extern const char __executable_start[], etext[];
static uint64_t *counts; /* by offset; NULL = nobody asks */

void __sanitizer_cov_trace_pc(void);
void *__real_calloc(size_t count, size_t bytes);

static void add(const void *at, size_t work)
{
    size_t offset = (size_t)((const char *)at - __executable_start);
    if (counts && offset < (size_t)(etext - __executable_start))
        counts[offset] += work;
}

void __sanitizer_cov_trace_pc(void)
{
    add(__builtin_return_address(0), 1);
}

__attribute__((constructor)) static void begin(void)
{
    if (getenv("AP_WORK_OUT"))
        counts = __real_calloc((size_t)(etext - __executable_start), sizeof(*counts));
}

__attribute__((destructor)) static void write_counts(void)
{
    FILE *out = counts ? fopen(getenv("AP_WORK_OUT"), "w") : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < (size_t)(etext - __executable_start); i++)
        if (counts[i])
            (void)fprintf(out, "%zu %llu\n", i, (unsigned long long)counts[i]);
    (void)fclose(out);
}

/* ---- what the C library does for the program */

#define WRAP(type, name, arguments, passed, bytes)                 \
    type __real_##name arguments;                                  \
    type __wrap_##name arguments;                                  \
    type __wrap_##name arguments                                   \
    {                                                              \
        add(__builtin_return_address(0), (size_t)(bytes) / CHUNK); \
        return __real_##name passed;                               \
    }

void *__real_memchr(const void *in, int c, size_t n);

static size_t looked_through(const char *in, int c, size_t n)
{
    const char *found = __real_memchr(in, c, n);
    return found ? (size_t)(found - in) : n;
}

WRAP(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memmove, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memset, (void *to, int c, size_t n), (to, c, n), n)
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), n)
WRAP(void *, memchr, (const void *in, int c, size_t n), (in, c, n), looked_through(in, c, n))
WRAP(size_t, strlen, (const char *text), (text), __real_strlen(text))
WRAP(void *, calloc, (size_t count, size_t n), (count, n), count *n)
WRAP(void *, realloc, (void *old, size_t n), (old, n), n)
