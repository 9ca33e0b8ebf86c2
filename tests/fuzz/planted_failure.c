/* SPDX-License-Identifier: MIT
 * A target that fails where it is told to, for replay_test.py: the first word of an input says how.
 *     abort   exit   behind: reads the byte behind the input   find: aborts where "boom" stands in it
 *     size N: aborts where the input has not N bytes */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool begins(const uint8_t *data, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(data, word, strlen(word)) == 0;
}

static size_t number_in(const uint8_t *data, size_t size)
{
    size_t number = 0;
    for (size_t i = 0; i < size && data[i] >= '0' && data[i] <= '9'; i++)
        number = number * 10 + (size_t)(data[i] - '0');
    return number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (begins(data, size, "abort") || (begins(data, size, "size ") && number_in(data + 5, size - 5) != size))
        abort();
    if (begins(data, size, "exit"))
        exit(1);
    if (begins(data, size, "behind") && *(const volatile uint8_t *)(data + size) == 0)
        return 0;
    for (size_t i = 0; begins(data, size, "find") && i + 4 <= size; i++)
        if (memcmp(data + i, "boom", 4) == 0)
            abort();
    return 0;
}
