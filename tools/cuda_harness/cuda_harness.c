/* SPDX-License-Identifier: MIT
 * cuda_harness.c - the program: runs each job with its cause and without, in processes of their own, so that each begins
 * with a fresh device and none harms another; writes what was recorded and what the cause cost. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "snapshot_writer.h"
#include "trace_writer.h"
#include "truth_writer.h"

typedef void harness_job(struct harness_run *run);

static harness_job *const jobs[HARNESS_SCENARIO_COUNT_] = {
#define HARNESS_SCENARIO(identifier, name, cost, ranks, accept, planted, healthy) job_##identifier,
#include "scenario.def"
#undef HARNESS_SCENARIO
};

/** One job, with its cause or without. */
struct task {
    const struct harness_options *options;
    enum harness_scenario_id id;
    bool planted;
    const char *folder; /* NULL = time it only */
};

/* ---------------------------------------------------------------------------------------------------------- in a process */

static enum ap_status write_recording(struct harness_run *run, const char *folder, struct ap_error *reterr)
{
    char path[4096];
    AP_TRY(harness_recording_link(run->recording, reterr));
    if (run->rank == 0)
        (void)snprintf(path, sizeof(path), "%s/trace.json.gz", folder);
    else
        (void)snprintf(path, sizeof(path), "%s/trace.rank%u.json.gz", folder, (unsigned)run->rank);
    AP_TRY(harness_trace_write(run->recording, path, reterr));
    if (run->rank)
        return AP_OK;
    (void)snprintf(path, sizeof(path), "%s/snapshot.json.gz", folder);
    return harness_snapshot_write(run->allocator, path, reterr);
}

static void make_recording(struct harness_run *run)
{
    run->status = harness_recording_new(&run->recording, &run->error);
    if (run->status != AP_OK || run->rank_count == 1)
        return;
    run->recording->run.rank = run->rank;
    run->recording->run.world_size = run->rank_count;
    run->recording->run.backend = "host memory";
}

static void run_job(const struct task *task, struct harness_meeting *meeting, uint32_t rank)
{
    const struct harness_scenario *scenario = &harness_scenarios[task->id];
    struct harness_run run = {
        .options = task->options, .planted = task->planted, .rank = rank, .rank_count = scenario->ranks, .meeting = meeting
    };
    struct harness_result *result = &meeting->results[rank];
    run.device_bytes = scenario->cost == HARNESS_COST_time ? 0 : task->options->device_bytes;
    (void)setenv("CUDA_MODULE_LOADING", "LAZY", 1); /* the default of late; one job depends on it */
    if (task->folder)
        make_recording(&run);
    if (run.status == AP_OK)
        harness_run_init(&run);
    if (run.status == AP_OK)
        jobs[task->id](&run);
    if (run.status == AP_OK && task->folder)
        run.status = write_recording(&run, task->folder, &run.error);
    result->status = run.status;
    result->window_ns = run.window_ns;
    result->held_bytes = run.held_bytes;
    result->error = run.error;
    result->done = true;
    harness_run_release(&run);
    harness_recording_free(run.recording);
}

/* ------------------------------------------------------------------------------------------------------- from outside of it
 */

static enum ap_status judge(const struct task *task, const struct harness_meeting *meeting,
                            struct harness_result *ret_result, struct ap_error *reterr)
{
    const struct harness_scenario *scenario = &harness_scenarios[task->id];
    for (uint32_t rank = 0; rank < scenario->ranks; rank++) {
        const struct harness_result *result = &meeting->results[rank];
        if (!result->done)
            return ap_fail(reterr, AP_ERROR_USAGE, "%s: the process of rank %u ended early", scenario->name, (unsigned)rank);
        if (result->status != AP_OK)
            return ap_fail(reterr, result->status, "%s: %.600s", scenario->name, result->error.message);
    }
    *ret_result = meeting->results[0];
    return AP_OK;
}

/** A process for each rank; CUDA is used in these only, for it does not survive a fork. */
static enum ap_status run_task(const struct task *task, struct harness_result *ret_result, struct ap_error *reterr)
{
    const struct harness_scenario *scenario = &harness_scenarios[task->id];
    pid_t children[HARNESS_MOST_RANKS];
    uint32_t count = 0;
    struct harness_meeting *meeting = harness_meeting_new(scenario->ranks);
    if (!meeting)
        return ap_fail(reterr, AP_ERROR_MEMORY, "no memory for the ranks to share");
    (void)fflush(stdout);
    for (; count < scenario->ranks; count++) {
        children[count] = fork();
        if (children[count] < 0)
            break;
        if (children[count] == 0) {
            run_job(task, meeting, count);
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        (void)waitpid(children[i], NULL, 0);
    enum ap_status status = judge(task, meeting, ret_result, reterr);
    harness_meeting_free(meeting, scenario->ranks);
    return status;
}

static int compare_times(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

struct timing {
    int64_t planted_ns, healthy_ns; /* medians */
};

/** With the cause and without by turns, so that a change of clock rates hits both. */
static enum ap_status measure(const struct task *task, struct timing *ret_timing, struct ap_error *reterr)
{
    int64_t times[2][99];
    const uint32_t repeat = task->options->repeat;
    for (uint32_t i = 0; i < 2 * repeat; i++) {
        struct task timed = *task;
        struct harness_result result;
        timed.folder = NULL;
        timed.planted = i % 2;
        AP_TRY(run_task(&timed, &result, reterr));
        times[i % 2][i / 2] = result.window_ns;
    }
    for (int i = 0; i < 2; i++)
        qsort(times[i], repeat, sizeof(times[i][0]), compare_times);
    ret_timing->healthy_ns = times[0][repeat / 2];
    ret_timing->planted_ns = times[1][repeat / 2];
    return AP_OK;
}

static enum ap_status make_folder(const struct harness_options *options, const char *name, bool planted, char *path,
                                  size_t path_bytes, struct ap_error *reterr)
{
    int bytes = snprintf(path, path_bytes, "%s/%s%s", options->out, name, planted ? "" : "-healthy");
    if (bytes < 0 || (size_t)bytes + 64 >= path_bytes) /* the names of the files come behind it */
        return ap_fail(reterr, AP_ERROR_OUTPUT, "the path of the folder is too long");
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return ap_fail(reterr, AP_ERROR_OUTPUT, "cannot create %.150s: %s", path, strerror(errno));
    return AP_OK;
}

static enum ap_status write_truth(const struct task *task, const struct timing *timing,
                                  const struct harness_result results[2], struct ap_error *reterr)
{
    const struct harness_scenario *scenario = &harness_scenarios[task->id];
    char twin[64], made_by[100], note[600], path[4096];
    struct harness_rules rules;
    harness_scenario_rules(scenario, &rules);
    (void)snprintf(twin, sizeof(twin), "%s%s", scenario->name, task->planted ? "-healthy" : "");
    (void)snprintf(made_by, sizeof(made_by), "tools/cuda_harness --scenario %s", scenario->name);
    int bytes = snprintf(note, sizeof(note), "%s%s",
                         task->planted ? "" : "the healthy twin: ", task->planted ? scenario->planted : scenario->healthy);
    if (task->planted && scenario->cost == HARNESS_COST_time && bytes > 0)
        (void)snprintf(note + bytes, sizeof(note) - (size_t)bytes,
                       "; cost: a window of %u steps took %.3f ms with the cause and "
                       "%.3f ms without, medians of %u runs each without a profiler",
                       (unsigned)task->options->steps, (double)timing->planted_ns / 1e6, (double)timing->healthy_ns / 1e6,
                       (unsigned)task->options->repeat);
    if (task->planted && scenario->cost == HARNESS_COST_bytes && bytes > 0)
        (void)snprintf(note + bytes, sizeof(note) - (size_t)bytes,
                       "; cost: bytes in use at the end, %" PRIu64 " with the cause and %" PRIu64 " without",
                       results[1].held_bytes, results[0].held_bytes);
    const struct harness_truth truth = {
        .cause = scenario->name,
        .planted = task->planted,
        .twin = twin,
        .recording = "gpu",
        .made_by = made_by,
        .accept = rules.list,
        .unit = scenario->cost == HARNESS_COST_time ? "us" : "bytes",
        .cost_known = task->planted && scenario->cost != HARNESS_COST_none,
        .planted_cost = scenario->cost == HARNESS_COST_time ? (timing->planted_ns - timing->healthy_ns) / 1000
                                                            : (int64_t)(results[1].held_bytes - results[0].held_bytes),
        .note = note,
    };
    (void)snprintf(path, sizeof(path), "%s/truth.json", task->folder);
    return harness_truth_write(&truth, path, reterr);
}

static enum ap_status run_scenario(const struct harness_options *options, enum harness_scenario_id id,
                                   struct ap_error *reterr)
{
    const struct harness_scenario *scenario = &harness_scenarios[id];
    struct timing timing = { 0, 0 };
    struct harness_result results[2];
    char folders[2][4096];
    struct task tasks[2];
    for (int i = 0; i < 2; i++) {
        tasks[i] = (struct task){ .options = options, .id = id, .planted = i, .folder = folders[i] };
        AP_TRY(make_folder(options, scenario->name, i, folders[i], sizeof(folders[i]), reterr));
    }
    if (scenario->cost == HARNESS_COST_time)
        AP_TRY(measure(&tasks[0], &timing, reterr));
    for (int i = 0; i < 2; i++)
        AP_TRY(run_task(&tasks[i], &results[i], reterr));
    for (int i = 0; i < 2; i++)
        AP_TRY(write_truth(&tasks[i], &timing, results, reterr));
    printf("%-18s planted %10.3f ms, healthy %10.3f ms; recorded %10.3f ms, %10.3f ms\n", scenario->name,
           (double)timing.planted_ns / 1e6, (double)timing.healthy_ns / 1e6, (double)results[1].window_ns / 1e6,
           (double)results[0].window_ns / 1e6);
    return AP_OK;
}

int main(int argc, char **argv)
{
    struct harness_options options;
    char mistake[300];
    int failed = 0;
    if (!harness_options_parse(argc, argv, &options, mistake, sizeof(mistake))) {
        (void)fprintf(stderr, "cuda_harness: %s\n", mistake);
        return 2;
    }
    if (options.help || options.list) {
        (options.help ? harness_options_print_help : harness_options_print_list)(stdout);
        return 0;
    }
    for (int id = 0; id < HARNESS_SCENARIO_COUNT_; id++) {
        struct ap_error error = { .status = AP_OK };
        if (!options.chosen[id] || run_scenario(&options, (enum harness_scenario_id)id, &error) == AP_OK)
            continue;
        (void)fprintf(stderr, "cuda_harness: %s\n", error.message); /* the others are worth having all the same */
        failed++;
    }
    return failed ? 1 : 0;
}
