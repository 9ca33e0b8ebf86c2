/* SPDX-License-Identifier: MIT
 * snapshot_bench.h - a snapshot built by hand, analyzed, and what the report says.
 *
 *     struct bench bench;
 *     begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
 *     keep(&bench, ap_snapshot_add_segment(bench.snapshot, &made, &bench.error));
 *     pass(&bench, 0);        ... whole(&bench, "memory.summary.reserved_bytes") ...
 *     end(&bench);
 *
 * A file that keeps more beside the snapshot says so before it includes this: #define BENCH_MORE int64_t time_us; */
#ifndef AP_SNAPSHOT_BENCH_H
#define AP_SNAPSHOT_BENCH_H

#include <string.h>

#include "memory_join.h"
#include "tap.h"

#ifndef BENCH_MORE
#define BENCH_MORE
#endif

struct bench {
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_error error;
    struct ap_snapshot *snapshot;
    struct ap_model model;
    enum ap_status status; /* of the pass, or of the first call that failed before it */
    BENCH_MORE
};

TAP_UNUSED static void keep(struct bench *bench, enum ap_status status)
{
    if (bench->status == AP_OK)
        bench->status = status;
}

/** @has: AP_SNAPSHOT_HAS_... */
TAP_UNUSED static void begin_with(struct bench *bench, uint32_t has)
{
    memset(bench, 0, sizeof(*bench));
    ap_gate_init(&bench->gate, 0);
    keep(bench, ap_snapshot_new(&bench->gate, &bench->snapshot, &bench->error));
    bench->snapshot->has = has;
}

TAP_UNUSED static void pass(struct bench *bench, uint64_t top_n)
{
    ap_model_init(&bench->model, &bench->gate);
    if (bench->status == AP_OK)
        keep(bench, ap_join_part_snapshot(bench->snapshot, "dir/s.json", top_n, true, NULL, &bench->notes, &bench->model,
                                          &bench->error));
}

/** False where something was not given back. */
TAP_UNUSED static bool release(struct bench *bench)
{
    ap_model_release(&bench->model);
    ap_snapshot_free(bench->snapshot);
    return atomic_load(&bench->gate.used_bytes) == 0;
}

TAP_UNUSED static void end(struct bench *bench)
{
    ok(release(bench), "all memory is given back");
}

TAP_UNUSED static const struct ap_value *at(const struct bench *bench, const char *path)
{
    return ap_value_at(&bench->model.root, path);
}

/** INT64_MIN where there is no such whole number. */
TAP_UNUSED static int64_t whole(const struct bench *bench, const char *path)
{
    return ap_value_integer(at(bench, path), INT64_MIN);
}

/** False where there is no such key. */
TAP_UNUSED static bool is_null(const struct bench *bench, const char *path)
{
    const struct ap_value *value = at(bench, path);
    return value && value->type == AP_VALUE_NULL;
}

#endif
