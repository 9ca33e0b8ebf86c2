/* SPDX-License-Identifier: MIT
 * Any bytes as an input file: recognizing, refusing, inflating. Beside "no crash" it claims that the sizes of blocks
 * and pieces change nothing: neither the bytes that are delivered nor how it ends. What its head says a file needs in memory
 * (xz and zstd: many megabytes) a fuzzer grants one in sixteen.
 * First byte: bits 0-2 block size, bit 3 salvage, bits 4-5 role, bits 6-7 nothing. The rest is the file. */
#include <stdio.h>

#include "input_run.h"
#include "turn.h"

#define MOST_BLOCKS 1000
#define LITTLE_BYTES ((uint64_t)1 << 20) /* enough for all blocks and for gzip */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition, const char *what, const struct input_run *small, const struct input_run *large)
{
    if (condition)
        return;
    fprintf(stderr, "%s\n%d, %zu bytes: %s\n%d, %zu bytes: %s\n", what, (int)small->status, small->bytes,
            small->error.message, (int)large->status, large->bytes, large->error.message);
    abort();
}

static void compare(const struct input_run *small, const struct input_run *large)
{
    require(small->status == large->status, "how it ends depends on the block size", small, large);
    /* Of what is refused, white space may have been handed on and more of the file looked at before. */
    bool refused = large->status == AP_ERROR_INPUT && !large->error.has_offset;
    require(refused || input_run_gave(small, large->content, large->bytes), "content depends on the block size", small,
            large);
    require(strcmp(small->error.message, large->error.message) == 0, "the message depends on the block size", small, large);
    require(refused || memcmp(&small->notes, &large->notes, sizeof(small->notes)) == 0, "notes depend on it", small, large);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t block_sizes[8] = { 1, 2, 3, 7, 64, 1000, 4096, 12000 };
    if (size == 0)
        return 0;
    struct ap_input_options options = {
        .salvage = data[0] >> 3 & 1,
        .role = (enum ap_input_role)((data[0] >> 4 & 3) % 3),
        .block_bytes = block_sizes[data[0] & 7],
    };
    size_t block_bytes = options.block_bytes;
    uint64_t limit_bytes = is_turn(data, size, 0, 16) ? 0 : LITTLE_BYTES;
    options.block_bytes = 5000;
    struct input_run large = run_input_within(data + 1, size - 1, &options, limit_bytes);
    /* A few bytes can stand for megabytes: then small blocks would take seconds. */
    options.block_bytes = block_bytes < large.bytes / MOST_BLOCKS ? large.bytes / MOST_BLOCKS : block_bytes;
    struct input_run small = run_input_within(data + 1, size - 1, &options, limit_bytes);
    require(small.leaked_bytes == 0 && large.leaked_bytes == 0, "memory is not given back", &small, &large);
    if (!limit_bytes || (small.status != AP_ERROR_LIMIT && large.status != AP_ERROR_LIMIT))
        compare(&small, &large);
    input_run_release(&small);
    input_run_release(&large);
    return 0;
}
