/* SPDX-License-Identifier: MIT
 * read_alone - reads one trace into its columns and analyses nothing: what reading alone costs.
 *     read_alone FILE [THREADS [ROUNDS]]     a line a round: wall time, processor time, rows
 *     read_alone --blocks FILE THREADS       a line a block: microseconds of processor time in which it was fetched, and in
 *                                            which the first thread then dealt with it; for simulate_threads.py
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "input.h"
#include "json_reader.h"
#include "trace.h"

#define SHARED_BLOCK_BYTES ((size_t)256 << 10) /* as input.c hands on to many threads */

static double seconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A source that notes when it is asked. */
struct watched {
    struct ap_byte_source source;
    bool prints;
    double left_s, fetched_s;
};

static enum ap_status borrow(void *self, struct ap_block_view *ret_block, struct ap_error *reterr)
{
    struct watched *watched = self;
    double came_s = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (watched->prints && watched->left_s > 0)
        (void)printf("%.1f %.1f\n", watched->fetched_s * 1e6, (came_s - watched->left_s) * 1e6);
    enum ap_status status = watched->source.borrow(watched->source.self, ret_block, reterr);
    watched->left_s = seconds(CLOCK_THREAD_CPUTIME_ID);
    watched->fetched_s = watched->left_s - came_s;
    return status;
}

static bool peek(void *self, unsigned ahead, struct ap_block_view *ret_block)
{
    const struct watched *watched = self;
    return watched->source.peek(watched->source.self, ahead, ret_block);
}

struct job {
    const char *path;
    unsigned threads;
    bool blocks;
    size_t rows;
    struct ap_gate gate;
};

static enum ap_status read_open(struct job *job, struct ap_input *input, struct ap_notes *notes, struct ap_error *reterr)
{
    struct ap_json_limits limits = { .skipped_depth = 0 };
    struct ap_trace_options options = { .threads = job->threads, .always_wait = job->blocks };
    struct watched watched = { .source = ap_input_source(input), .prints = job->blocks };
    struct ap_byte_source source = { .borrow = borrow, .peek = peek, .self = &watched };
    struct ap_json_reader *json;
    struct ap_trace *trace;
    AP_TRY(ap_input_probe(input, reterr));
    AP_TRY(ap_json_reader_new(&job->gate, source, notes, &limits, &json, reterr));
    enum ap_status status = ap_trace_read(json, &job->gate, notes, &options, &trace, reterr);
    ap_json_reader_free(json);
    if (status != AP_OK)
        return status;
    job->rows = trace->events.count;
    ap_trace_free(trace);
    return AP_OK;
}

static enum ap_status read_once(struct job *job, struct ap_error *reterr)
{
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input_options options = { .role = AP_ROLE_TRACE,
                                        .threads = job->threads > 1 ? job->threads : 0,
                                        .block_bytes = job->blocks ? SHARED_BLOCK_BYTES : 0 };
    struct ap_input *input;
    ap_gate_init(&job->gate, 0);
    AP_TRY(ap_input_open(&job->gate, job->path, &options, &notes, &input, reterr));
    enum ap_status status = read_open(job, input, &notes, reterr);
    ap_input_free(input);
    return status;
}

int main(int argc, char **argv)
{
    static struct job job;
    struct ap_error error;
    job.blocks = argc > 1 && strcmp(argv[1], "--blocks") == 0;
    argc -= job.blocks;
    argv += job.blocks;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: read_alone [--blocks] FILE [THREADS [ROUNDS]]\n");
        return 2;
    }
    job.path = argv[1];
    job.threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2;
    unsigned long rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    for (unsigned long i = 0; i < rounds; i++) {
        double wall_s = seconds(CLOCK_MONOTONIC), cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (read_once(&job, &error) != AP_OK) {
            (void)fprintf(stderr, "read_alone: %s\n", error.message);
            return 1;
        }
        if (!job.blocks)
            (void)printf("wall %.3f s, processor %.3f s, %zu rows\n", seconds(CLOCK_MONOTONIC) - wall_s,
                         seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s, job.rows);
    }
    return 0;
}
