/* SPDX-License-Identifier: MIT
 * planted_work.c - planted_work N: functions of which worst.py knows how their work grows with N. */
#include <stdlib.h>
#include <string.h>

#define BOUND 2000

static volatile unsigned sum;

static __attribute__((noinline)) void add_one(void)
{
    sum = sum + 1;
}

static __attribute__((noinline)) void linear(size_t n)
{
    for (size_t i = 0; i < 50 * n; i++)
        add_one();
}

static __attribute__((noinline)) void n_log_n(size_t n)
{
    for (size_t i = 0; i < 10 * n; i++)
        for (size_t k = n; k; k /= 2)
            sum = sum + 1;
}

/* A walk of at most BOUND steps for each row: quadratic at first. */
static __attribute__((noinline)) void bounded(size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i && k < BOUND; k++)
            sum = sum + 1;
}

static __attribute__((noinline)) void quadratic(size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            sum = sum + 1;
}

/* Each row is put before all others. */
static __attribute__((noinline)) void quadratic_in_memmove(size_t n)
{
    unsigned *rows = calloc(n + 1, sizeof(*rows));
    for (size_t i = 0; rows && i < n; i++)
        memmove(rows + 1, rows, i * sizeof(*rows));
    sum = rows ? rows[n] : 0;
    free(rows);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    linear(n);
    n_log_n(n);
    bounded(n);
    quadratic(n);
    quadratic_in_memmove(n);
    return 0;
}
