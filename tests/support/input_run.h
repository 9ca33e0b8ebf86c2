/* SPDX-License-Identifier: MIT
 * input_run.h - reads one input to its end from a heap block of exactly its size, and keeps what came of it.
 *
 *     struct input_run run = run_input(data, bytes, &(struct ap_input_options){ .threads = 1 });
 *     is_int(run.status, AP_OK, "...");
 *     input_run_release(&run); */
#ifndef AP_INPUT_RUN_H
#define AP_INPUT_RUN_H

#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "input.h"

struct input_run {
    enum ap_status status; /* AP_OK: read to the true end */
    uint8_t *content;
    size_t bytes, capacity;
    bool compressed, is_log;
    uint64_t raw_bytes, leaked_bytes;
    struct ap_error error;
    struct ap_notes notes;
};

static inline void input_run_keep(struct input_run *run, const uint8_t *data, size_t bytes)
{
    if (run->bytes + bytes > run->capacity) {
        run->capacity = 2 * (run->bytes + bytes);
        uint8_t *grown = realloc(run->content, run->capacity);
        if (!grown)
            abort();
        run->content = grown;
    }
    memcpy(run->content + run->bytes, data, bytes);
    run->bytes += bytes;
}

/** Read an open input to its end in steps of at most 1000 bytes, and free it. */
static inline void input_run_read(struct input_run *run, struct ap_input *input)
{
    struct ap_byte_source source = ap_input_source(input);
    for (;;) {
        uint8_t piece[1000];
        size_t got = 0;
        run->status = source.read(source.self, piece, sizeof(piece), &got, &run->error);
        if (run->status != AP_OK || got == 0)
            break;
        input_run_keep(run, piece, got);
    }
    run->compressed = ap_input_is_compressed(input);
    run->is_log = ap_input_is_log(input);
    run->raw_bytes = ap_input_raw_bytes(input);
    ap_input_free(input);
}

static inline struct input_run run_input_in(struct ap_gate *gate, const void *data, size_t bytes,
                                            const struct ap_input_options *options)
{
    struct input_run run = { .status = AP_OK };
    uint8_t *exact = malloc(bytes ? bytes : 1);
    if (!exact)
        abort();
    if (bytes)
        memcpy(exact, data, bytes);
    struct feed feed = feed_of(exact, bytes, options->block_bytes);
    struct ap_input *input;
    run.status = ap_input_open_source(gate, feed_source(&feed), options, &run.notes, &input, &run.error);
    if (run.status == AP_OK)
        input_run_read(&run, input);
    run.leaked_bytes = gate->used_bytes;
    free(exact);
    return run;
}

static inline struct input_run run_input_failing(const void *data, size_t bytes, const struct ap_input_options *options,
                                                 int64_t fail_after)
{
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    gate.fail_after = fail_after;
    return run_input_in(&gate, data, bytes, options);
}

/** @limit_bytes: of memory; 0 = none. */
static inline struct input_run run_input_within(const void *data, size_t bytes, const struct ap_input_options *options,
                                                uint64_t limit_bytes)
{
    struct ap_gate gate;
    ap_gate_init(&gate, limit_bytes);
    return run_input_in(&gate, data, bytes, options);
}

static inline struct input_run run_input(const void *data, size_t bytes, const struct ap_input_options *options)
{
    return run_input_failing(data, bytes, options, -1);
}

static inline void input_run_release(struct input_run *run)
{
    free(run->content);
    run->content = NULL;
}

/** Did the run deliver exactly these bytes? */
static inline bool input_run_gave(const struct input_run *run, const void *data, size_t bytes)
{
    return run->bytes == bytes && (bytes == 0 || memcmp(run->content, data, bytes) == 0);
}

#endif
