/* SPDX-License-Identifier: MIT
 * The jobs of the CUDA harness on a CUDA that only pretends (tests/pretend_cuda): each runs with its cause and without,
 * costs what it should and is recorded so that the analyzer has nothing to complain of. What the analyzer finds in real
 * recordings is for the scorecard to say. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include <sys/stat.h>

#include "harness_report.h"
#include "job.h"
#include "pretend_cuda.h"
#include "snapshot_writer.h"
#include "trace_writer.h"

#define MOST_FILE_BYTES (160 * 1024) /* as recorded; fixtures are trimmed */

static void (*const jobs[HARNESS_SCENARIO_COUNT_])(struct harness_run *run) = {
#define HARNESS_SCENARIO(identifier, name, cost, ranks, accept, planted, healthy) job_##identifier,
#include "scenario.def"
#undef HARNESS_SCENARIO
};

enum recorded { TIMED_ONLY, RECORDED };

static struct harness_options options;

/** Of the one rank: time and bytes. */
static struct harness_result run_job(enum harness_scenario_id id, bool planted, enum recorded recorded,
                                     const struct harness_folder *folder)
{
    const struct harness_scenario *scenario = &harness_scenarios[id];
    struct harness_run run = { .options = &options, .planted = planted, .rank_count = 1 };
    pretend_cuda_reset();
    run.device_bytes = scenario->cost == HARNESS_COST_time ? 0 : options.device_bytes;
    if (recorded == RECORDED)
        run.status = harness_recording_new(&run.recording, &run.error);
    if (run.status == AP_OK)
        harness_run_init(&run);
    if (run.status == AP_OK)
        jobs[id](&run);
    if (!ok(run.status == AP_OK, scenario->name))
        note(run.error.message);
    else if (recorded == RECORDED)
        ok(harness_recording_link(run.recording, &run.error) == AP_OK &&
               harness_trace_write(run.recording, folder->trace, &run.error) == AP_OK &&
               harness_snapshot_write(run.allocator, folder->snapshot, &run.error) == AP_OK,
           "it is written");
    const struct harness_result result = { .window_ns = run.window_ns, .held_bytes = run.held_bytes };
    harness_run_release(&run);
    harness_recording_free(run.recording);
    return result;
}

static int64_t file_bytes(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? (int64_t)facts.st_size : 0;
}

static void check_recording(enum harness_scenario_id id, bool planted, const struct harness_folder *folder)
{
    struct ap_report *report = harness_report(folder->trace, folder->snapshot);
    if (!report)
        return;
    bool fails = planted && harness_scenarios[id].cost == HARNESS_COST_none;
    harness_no_warnings(report);
    is_int(harness_figure(report, "steps.count"), options.steps, "it has its steps");
    is_int(harness_figure(report, "memory.replay.inconsistencies"), 0, "its history is sound");
    is_int(harness_figure(report, "memory.history.oom_count"), fails, "a request fails where it should, and only there");
    ok(harness_figure(report, "gpu.kernel.count") > 0, "it has kernels");
    ok(file_bytes(folder->trace) + file_bytes(folder->snapshot) < MOST_FILE_BYTES, "it is small");
    ap_report_free(report);
}

static void scenario(enum harness_scenario_id id)
{
    struct harness_folder folder;
    if (!harness_folder_open(&folder))
        return;
    struct harness_result timed[2], recorded[2];
    for (int planted = 0; planted < 2; planted++) {
        timed[planted] = run_job(id, planted, TIMED_ONLY, NULL);
        recorded[planted] = run_job(id, planted, RECORDED, &folder);
        check_recording(id, planted, &folder);
    }
    if (harness_scenarios[id].cost == HARNESS_COST_time)
        ok(timed[1].window_ns > timed[0].window_ns + timed[0].window_ns / 20, "the cause costs time");
    if (harness_scenarios[id].cost == HARNESS_COST_bytes)
        ok(timed[1].held_bytes > timed[0].held_bytes && recorded[1].held_bytes == timed[1].held_bytes,
           "the cause costs bytes");
    harness_folder_close(&folder);
}

int main(void)
{
    char *arguments[] = { (char[]){ "cuda_harness" }, (char[]){ "--list" }, NULL };
    char mistake[200];
    ok(harness_options_parse(2, arguments, &options, mistake, sizeof(mistake)), "options as they are by default");
    for (int id = 0; id < HARNESS_SCENARIO_COUNT_; id++)
        if (id != HARNESS_SCENARIO_slow_input && id != HARNESS_SCENARIO_slow_rank) /* need true threads and processes */
            scenario((enum harness_scenario_id)id);
    return done();
}
