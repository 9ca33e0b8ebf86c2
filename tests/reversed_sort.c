/* SPDX-License-Identifier: MIT
 * reversed_sort.c - another qsort: preloaded, it leaves what compares equal in the reverse of the order in which it came, as
 * a C library is free to. Where a comparison leaves two different things equal, the report shows it. Says once that it is
 * in use. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reverse(char *list, const char *from, size_t count, size_t element_bytes)
{
    for (size_t i = 0; i < count; i++)
        memcpy(list + i * element_bytes, from + (count - 1 - i) * element_bytes, element_bytes);
}

/* Two neighboring runs in order. */
static void merge(char *to, const char *left, size_t left_count, const char *right, size_t right_count, size_t element_bytes,
                  int (*compare)(const void *, const void *))
{
    while (left_count || right_count) {
        bool is_left = !right_count || (left_count && compare(left, right) <= 0);
        memcpy(to, is_left ? left : right, element_bytes);
        to += element_bytes;
        left += is_left ? element_bytes : 0;
        right += is_left ? 0 : element_bytes;
        left_count -= is_left;
        right_count -= !is_left;
    }
}

static void sort(char *list, char *spare, size_t count, size_t element_bytes, int (*compare)(const void *, const void *))
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t left = count - start < width ? count - start : width, rest = count - start - left,
                   right = rest < width ? rest : width;
            const char *from = list + start * element_bytes;
            merge(spare + start * element_bytes, from, left, from + left * element_bytes, right, element_bytes, compare);
        }
        memcpy(list, spare, count * element_bytes);
    }
}

__attribute__((visibility("default"))) void qsort(void *list, size_t count, size_t element_bytes,
                                                  int (*compare)(const void *, const void *))
{
    static const char words[] = "reversed_sort\n";
    static int said;
    char *spare = malloc(count * element_bytes + 1);
    if (!spare)
        abort();
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) && write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
        abort();
    reverse(spare, list, count, element_bytes);
    memcpy(list, spare, count * element_bytes);
    sort(list, spare, count, element_bytes, compare);
    free(spare);
}
