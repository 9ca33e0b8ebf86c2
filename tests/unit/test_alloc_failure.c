/* SPDX-License-Identifier: MIT
 * test_alloc_failure.c - every allocation of a small run made to fail in turn, each value of the report among them: each run
 * ends with a clean error, nothing crashes and nothing is lost.
 *     test_alloc_failure PART [STEP [SEED]]: each STEP-th alone, where sanitizers make all of them a matter of an hour; from
 *     which on tells the seed, which is drawn where it is not given, and printed.
 * What is written and asked is tried on a report that is kept, each for itself: to read it again for each of its allocations
 * took most of the time. */
#define _POSIX_C_SOURCE 200809L
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze_profile/analyze_profile.h"
#include "report_state.h"
#include "tap.h"

#define LIMIT 200000 /* no run here needs so many */

static int64_t every = 1;
static uint64_t seed;

static enum ap_status drop(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)data, (void)reterr;
    *(size_t *)self += bytes;
    return AP_OK;
}

/* What the report does not have is no failure. */
static enum ap_status unless_lacking(enum ap_status status)
{
    return status == AP_ERROR_USAGE ? AP_OK : status;
}

static enum ap_status begin_picture(void *self, const char *name, struct ap_error *reterr)
{
    (void)self;
    (void)name;
    (void)reterr;
    return AP_OK;
}

static enum ap_status end_picture(void *self, struct ap_error *reterr)
{
    (void)self;
    (void)reterr;
    return AP_OK;
}

enum output {
    JSON,
    MARKDOWN_SHORT,
    MARKDOWN,
    JUNIT,
    ANNOTATIONS,
    SUMMARY,
    DIGEST,
    HTML,
    PICTURES,
    TRACE,
    FOLDED,
    SLICE,
    RANKS,
    FIRST_TABLE
};

static const char *const tables[] = { "operators",        "kernels", "launches", "copies",      "synchronisations",
                                      "collectives",      "steps",   "tables",   "allocations", "cpu.operators",
                                      "findings.evidence" };
static const char *const ids[] = { "row:0", "row:9", "alloc:3", "cpu.operators[0]" };
enum { FIRST_ID = FIRST_TABLE + AP_COUNT_OF(tables), OUTPUT_COUNT = FIRST_ID + AP_COUNT_OF(ids) };

static bool is_wanted(int output, const struct ap_request *request)
{
    switch (output) {
    case HTML:
    case PICTURES: return request->with_pictures;
    case TRACE: return request->with_tracks;
    case FOLDED: return request->with_folded;
    case SLICE: return request->slice != NULL;
    case RANKS: return request->with_ranks;
    default: return output < FIRST_TABLE || request->with_rows;
    }
}

static enum ap_status ask(struct ap_report *report, int output, size_t *ret_bytes, struct ap_error *reterr)
{
    if (output >= FIRST_ID) {
        struct ap_around_query around = { .id = ids[output - FIRST_ID], .format = AP_FORMAT_JSON };
        return unless_lacking(ap_report_write_around(report, &around, drop, ret_bytes, reterr));
    }
    struct ap_table_query query = {
        .name = tables[output - FIRST_TABLE], .where = "row_id != x", .sort = "row_id", .limit = 5
    };
    return unless_lacking(ap_report_write_table(report, &query, drop, ret_bytes, reterr));
}

static enum ap_status write_output(struct ap_report *report, int output, const struct ap_request *request, size_t *ret_bytes,
                                   struct ap_error *reterr)
{
    const struct ap_summary_options screen = { .width = 0 };
    const struct ap_picture_taker taker = { begin_picture, drop, end_picture, ret_bytes };
    switch (output) {
    case JSON: return ap_report_write_json(report, drop, ret_bytes, reterr);
    case MARKDOWN_SHORT: return ap_report_write_markdown(report, AP_EXTENT_SHORT, drop, ret_bytes, reterr);
    case MARKDOWN: return ap_report_write_markdown(report, AP_EXTENT_WHOLE, drop, ret_bytes, reterr);
    case JUNIT: return ap_report_write_junit(report, drop, ret_bytes, reterr);
    case ANNOTATIONS: return ap_report_write_annotations(report, drop, ret_bytes, reterr);
    case SUMMARY: return ap_report_write_summary(report, &screen, drop, ret_bytes, reterr);
    case DIGEST: return ap_report_write_digest(report, 400, drop, ret_bytes, reterr);
    case HTML: return ap_report_write_html(report, drop, ret_bytes, reterr);
    case PICTURES: return ap_report_write_pictures(report, &taker, reterr);
    case TRACE: return ap_report_write_trace(report, request, drop, ret_bytes, reterr);
    case FOLDED: return ap_report_write_folded(report, drop, ret_bytes, reterr);
    case SLICE: return ap_report_write_slice(report, request, drop, ret_bytes, reterr);
    case RANKS: return ap_report_write_ranks(report, drop, ret_bytes, reterr);
    default: return ask(report, output, ret_bytes, reterr);
    }
}

/* Bytes that the C library has handed out: exact without caches of threads (GLIBC_TUNABLES), 0 where it does not say. */
static size_t handed_out(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

/* What was met, over all allocations that failed. */
struct met {
    int64_t failures, odd, lost;
};

/* The first to fail, of each @step. */
static int64_t first_of(int64_t step)
{
    return 1 + (int64_t)(seed % (uint64_t)step);
}

/* The report, once memory suffices. */
static struct ap_report *fail_reading(struct ap_request request, int64_t step, struct met *met)
{
    size_t held = 0;
    for (int64_t fail_after = first_of(step); fail_after < LIMIT; fail_after += step) {
        struct ap_report *report = NULL;
        struct ap_error error = { .status = AP_OK };
        request.fail_after = fail_after;
        enum ap_status status = ap_report_new(&request, &report, NULL, &error);
        if (status == AP_OK)
            return report;
        met->odd += status != AP_ERROR_MEMORY || report || !strstr(error.message, "memory");
        /* The first run takes what the C library keeps, and threads come and go with memory of theirs. */
        met->lost += request.threads == 1 && met->failures && handed_out() != held;
        met->failures++;
        held = handed_out();
    }
    return NULL;
}

static size_t fail_output(struct ap_report *report, int output, const struct ap_request *request, int64_t step,
                          struct met *met)
{
    struct ap_gate *gate = &report->gate;
    uint64_t held = atomic_load(&gate->used_bytes);
    for (int64_t fail_after = first_of(step); fail_after < LIMIT; fail_after += step) {
        struct ap_error error = { .status = AP_OK };
        size_t bytes = 0;
        atomic_store(&gate->fail_after, fail_after - 1);
        enum ap_status status = write_output(report, output, request, &bytes, &error);
        atomic_store(&gate->fail_after, -1);
        ap_query_release(&report->query); /* what questions keep for the next one */
        if (status == AP_OK)
            return bytes;
        met->failures++;
        met->odd += status != AP_ERROR_MEMORY;
        met->lost += atomic_load(&gate->used_bytes) != held;
    }
    met->odd++;
    return 0;
}

static void fail_each_of(const char *claim, struct ap_request request, int64_t step)
{
    struct met met = { 0 };
    size_t bytes = 0;
    struct ap_report *report = fail_reading(request, step, &met);
    for (int output = 0; report && output < (int)OUTPUT_COUNT; output++)
        if (is_wanted(output, &request))
            bytes += fail_output(report, output, &request, step, &met);
    ap_report_free(report);
    is_int(met.odd, 0, claim);
    is_int(met.lost, 0, "and gives back what it took");
    ok(bytes > 1000, "and once memory suffices, everything is written");
    ok(met.failures * step > 20, "there were allocations to fail");
    printf("# %" PRId64 " of them\n", met.failures);
}

static void fail_each(const char *claim, struct ap_request request)
{
    fail_each_of(claim, request, every);
}

/* For what differs from a run that was gone through in little. */
static void fail_some(const char *claim, struct ap_request request)
{
    fail_each_of(claim, request, 7 * every);
}

#define PATH_BYTES 1024

static char trace[PATH_BYTES], snapshot[PATH_BYTES], baseline[PATH_BYTES];

static void name_file(char *path, const char *folder, const char *name)
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static void of_a_trace_and_a_snapshot(const char *root, const char *corpus)
{
    (void)corpus;
    struct ap_request request = {
        .cpu_trace_path = trace, .memory_json_path = snapshot, .top_n = 3, .threads = 1, .with_folded = true
    };
    name_file(trace, root, "traces/begin_end_pairs.json");
    name_file(snapshot, root, "snapshots/history_2023.json");
    fail_each("each failed allocation of a run on one thread is a clean error", request);
    request.threads = 2;
    request.with_pictures = true;
    fail_some("and with the reading thread, and pictures", request);
    request.with_pictures = false;
    name_file(trace, root, "traces/one_run.json.gz");
    name_file(snapshot, root, "snapshots/one_run.json");
    request.with_rows = true;
    fail_each("and on a trace and a snapshot of one run, whose rows are asked for", request);
}

static void of_traces_that_are_written(const char *root, const char *corpus)
{
    (void)corpus;
    struct ap_request request = { .cpu_trace_path = trace, .top_n = 3 };
    name_file(trace, root, "traces/odd_values.json");
    fail_each("each failed allocation on a trace full of oddities is a clean error", request);
    name_file(trace, root, "traces/kineto_2021.json"); /* has findings with places, gaps and steps */
    request.with_tracks = true;
    fail_each("and where the trace is written again, with tracks", request);
    request.with_pictures = request.redact = true;
    request.slice = "0:1s";
    fail_some("and without names, with pictures, and a slice of it", request);
}

static void of_comparisons(const char *root, const char *corpus)
{
    static const char *const conditions[] = { "high", "steps.p50_us > +5%" };
    struct ap_request request = { .cpu_trace_path = trace,
                                  .baseline_path = trace,
                                  .top_n = 3,
                                  .with_pictures = true,
                                  .fail_on = conditions,
                                  .fail_on_count = 2 };
    struct ap_series_entry series[] = { { trace, 8 }, { trace, 16 } };
    name_file(trace, root, "traces/kineto_2021.json");
    fail_some("each failed allocation of a comparison with a trace is a clean error", request);
    name_file(baseline, corpus, "baseline/report.json");
    request.baseline_path = baseline;
    request.with_pictures = false;
    fail_each("and with a report", request);
    request.baseline_path = request.cpu_trace_path = NULL;
    request.fail_on_count = 1;
    request.series = series;
    request.series_count = 2;
    fail_some("and as one of two batch sizes", request);
}

static void of_every_pass(const char *root, const char *corpus)
{
    (void)root;
    struct ap_request request = { .cpu_trace_path = trace, .top_n = 3, .with_tracks = true };
    name_file(trace, corpus, "trace/all_kinds"); /* rows of all kinds: no pass has nothing to do */
    request.with_rows = true;
    fail_each("each failed allocation on a trace that gives every pass and table its work is a clean error", request);
    request.with_pictures = true;
    fail_some("and pictures", request);
}

static void of_devices(const char *root, const char *corpus)
{
    static const char *const changes[] = { "op ~ aten gone" };
    struct ap_request request = { .cpu_trace_path = trace, .top_n = 3, .with_tracks = true };
    (void)corpus;
    name_file(trace, root, "traces/copy_heavy.json");
    fail_each("each failed allocation on a trace of copies is a clean error", request);
    request.what_if = changes;
    request.what_if_count = 1;
    name_file(trace, root, "traces/sync_heavy.json");
    fail_some("and on one of waits, of which something is left out", request);
}

static void of_runs(const char *root, const char *corpus)
{
    static const char *const folders[] = { "cluster/late-pair", "cluster/out-of-memory", "flight/stuck", "flight/swapped" };
    const char *path = trace;
    struct ap_request request = { .run_paths = &path,
                                  .run_path_count = 1,
                                  .top_n = 3,
                                  .threads = 1,
                                  .jobs = 1,
                                  .with_pictures = true,
                                  .with_ranks = true };
    (void)corpus;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        name_file(trace, root, folders[i]);
        fail_each(folders[i], request);
    }
}

static void of_snapshots_and_other_profiles(const char *root, const char *corpus)
{
    static const char *const snapshots[] = { "snapshots/churn.json", "snapshots/expandable_multi_device.json",
                                             "snapshots/modern.json.gz" };
    static const char *const others[] = { "others/onnx_unfused.json", "others/trt_reformats_profile.json",
                                          "others/log_text.txt" };
    const char *path = trace;
    struct ap_request alone = { .memory_json_path = trace, .top_n = 3, .with_folded = true };
    struct ap_request request = { .run_paths = &path, .run_path_count = 1, .top_n = 3 };
    (void)corpus;
    for (size_t i = 0; i < sizeof(snapshots) / sizeof(snapshots[0]); i++) {
        name_file(trace, root, snapshots[i]);
        alone.with_pictures = i == 0;
        fail_each(snapshots[i], alone);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        name_file(trace, root, others[i]);
        fail_each(others[i], request);
    }
}

static void of_replayed_graphs(const char *root, const char *corpus)
{
    struct ap_request request = { .cpu_trace_path = trace, .mapping_trace_path = snapshot, .top_n = 3 };
    (void)corpus;
    name_file(trace, root, "replay/run.json.gz");
    name_file(snapshot, root, "replay/capture.json.gz");
    name_file(baseline, root, "../references/gpu-peaks.md");
    request.peaks_path = baseline;
    fail_each("each failed allocation on graphs with their capture is a clean error", request);
}

/* The part that the argument names, so that they can run side by side. */
int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(const char *root, const char *corpus);
    } parts[] = {
        { "inputs", of_a_trace_and_a_snapshot },
        { "traces", of_traces_that_are_written },
        { "comparisons", of_comparisons },
        { "passes", of_every_pass },
        { "graphs", of_replayed_graphs },
        { "devices", of_devices },
        { "runs", of_runs },
        { "snapshots", of_snapshots_and_other_profiles },
    };
    const char *root = getenv("AP_FIXTURES"), *corpus = getenv("AP_CORPUS");
    if (!root || !corpus) {
        skip("AP_FIXTURES and AP_CORPUS are not set");
        return done();
    }
    if (argc > 2 && atoi(argv[2]) > 0)
        every = atoi(argv[2]);
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL);
    printf("# seed %" PRIu64 "\n", seed);
    size_t wanted = 0;
    while (wanted < sizeof(parts) / sizeof(parts[0]) && (argc < 2 || strcmp(argv[1], parts[wanted].name) != 0))
        wanted++;
    if (ok(wanted < sizeof(parts) / sizeof(parts[0]), "there is such a part"))
        parts[wanted].run(root, corpus);
    return done();
}
