/* SPDX-License-Identifier: MIT
 * read_alone - reads one trace into its columns and analyses nothing: what reading alone costs.
 *     read_alone FILE [THREADS [ROUNDS]]
 * A line a round: wall time, processor time, rows. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "input.h"
#include "json_reader.h"
#include "trace.h"

static double seconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static enum ap_status read_open(struct ap_input *input, struct ap_gate *gate, struct ap_notes *notes, unsigned threads,
                                size_t *ret_rows, struct ap_error *reterr)
{
    struct ap_json_limits limits = { .skipped_depth = 0 };
    struct ap_trace_options options = { .two_threads = threads > 1 };
    struct ap_json_reader *json;
    struct ap_trace *trace;
    AP_TRY(ap_input_probe(input, reterr));
    AP_TRY(ap_json_reader_new(gate, ap_input_source(input), notes, &limits, &json, reterr));
    enum ap_status status = ap_trace_read(json, gate, notes, &options, &trace, reterr);
    ap_json_reader_free(json);
    if (status != AP_OK)
        return status;
    *ret_rows = trace->events.count;
    ap_trace_free(trace);
    return AP_OK;
}

static enum ap_status read_once(const char *path, unsigned threads, size_t *ret_rows, struct ap_error *reterr)
{
    static struct ap_gate gate;
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input_options options = { .role = AP_ROLE_TRACE, .threads = threads > 1 };
    struct ap_input *input;
    ap_gate_init(&gate, 0);
    AP_TRY(ap_input_open(&gate, path, &options, &notes, &input, reterr));
    enum ap_status status = read_open(input, &gate, &notes, threads, ret_rows, reterr);
    ap_input_free(input);
    return status;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2;
    unsigned long rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: read_alone FILE [THREADS [ROUNDS]]\n");
        return 2;
    }
    for (unsigned long i = 0; i < rounds; i++) {
        struct ap_error error;
        size_t rows = 0;
        double wall_s = seconds(CLOCK_MONOTONIC), cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (read_once(argv[1], threads, &rows, &error) != AP_OK) {
            (void)fprintf(stderr, "read_alone: %s\n", error.message);
            return 1;
        }
        (void)printf("wall %.3f s, processor %.3f s, %zu rows\n", seconds(CLOCK_MONOTONIC) - wall_s,
                     seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s, rows);
    }
    return 0;
}
