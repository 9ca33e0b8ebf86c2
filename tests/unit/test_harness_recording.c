/* SPDX-License-Identifier: MIT
 * The recordings of the CUDA harness before our own analyzer; its table of scenarios, its command line and truth.json. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include "harness_options.h"
#include "harness_report.h"
#include "meeting.h"
#include "recording.h"
#include "trace_writer.h"
#include "truth_writer.h"

#include <sys/wait.h>

#define US INT64_C(1000)
#define START_NS INT64_C(1753000000123456789)

static struct ap_error error;

static const struct harness_device_properties h100 = {
    .name = "NVIDIA H100",
    .total_bytes = UINT64_C(85018279936),
    .compute_major = 9,
    .sm_count = 132,
    .warp_size = 32,
    .threads_per_block = 1024,
    .threads_per_sm = 2048,
    .blocks_per_sm = 32,
    .registers_per_block = 65536,
    .registers_per_sm = 65536,
    .shared_per_block = 49152,
    .shared_per_block_optin = 232448,
    .shared_per_sm = 233472,
    .shared_reserved_per_block = 1024,
};

static struct harness_recording *recording_of(int64_t dur_us)
{
    struct harness_recording *recording = NULL;
    if (!ok(harness_recording_new(&recording, &error) == AP_OK, "a recording"))
        return NULL;
    recording->device = h100;
    recording->run = (struct harness_run_facts){ .process_id = 4711,
                                                 .start_ns = START_NS,
                                                 .end_ns = START_NS + dur_us * US,
                                                 .runtime_version = 13000,
                                                 .driver_version = 13000,
                                                 .cupti_version = 130001,
                                                 .rank = 1,
                                                 .world_size = 2,
                                                 .backend = "shm" };
    return recording;
}

static struct harness_row *put(struct harness_recording *recording, enum harness_row_kind kind, const char *name,
                               int64_t start_us, int64_t dur_us, uint64_t correlation)
{
    const struct harness_row row = { .kind = kind,
                                     .name = name,
                                     .start_ns = START_NS + start_us * US,
                                     .dur_ns = dur_us * US,
                                     .thread = 4711,
                                     .context = 1,
                                     .stream = 7,
                                     .correlation = correlation };
    harness_recording_add(recording, &row);
    return &recording->rows[recording->row_count - 1];
}

/** A step of 1000 us from @at_us: an operator launches a kernel; a copy; a wait. Out of order on purpose. */
static void put_step(struct harness_recording *recording, int64_t at_us, uint64_t correlation)
{
    struct harness_row *kernel =
        put(recording, HARNESS_KERNEL, "gemm_f16_wmma_tensorop_kernel", at_us + 30, 500, correlation);
    kernel->as.kernel =
        (struct harness_kernel_facts){ .grid = { 264, 1, 1 }, .block = { 256, 1, 1 }, .registers_per_thread = 64 };
    put(recording, HARNESS_OP, "aten::mm", at_us + 10, 20, 0);
    put(recording, HARNESS_RUNTIME, "cudaLaunchKernel", at_us + 15, 5, correlation)->as.call_id = 211;
    put(recording, HARNESS_DRIVER, "cuLaunchKernel", at_us + 16, 3, correlation);
    put(recording, HARNESS_RUNTIME, "cudaMemcpyAsync", at_us + 40, 5, correlation + 1);
    put(recording, HARNESS_COPY, "Memcpy HtoD (Pinned -> Device)", at_us + 540, 100, correlation + 1)->as.bytes = 1 << 20;
    put(recording, HARNESS_SET, "Memset (Device)", at_us + 650, 5, correlation + 3)->as.bytes = 4096;
    put(recording, HARNESS_RUNTIME, "cudaMemsetAsync", at_us + 46, 4, correlation + 3);
    put(recording, HARNESS_RUNTIME, "cudaStreamSynchronize", at_us + 50, 610, correlation + 2);
    struct harness_row *sync = put(recording, HARNESS_SYNC, "Stream Sync", at_us + 52, 605, correlation + 2);
    sync->as.sync.wait_stream = -1;
    put(recording, HARNESS_RANGE, harness_recording_text(recording, at_us < 1000 ? "ProfilerStep#1" : "ProfilerStep#2"),
        at_us, 1000, 0);
    struct harness_row *memory = put(recording, HARNESS_MEMORY, "[memory]", at_us + 12, 0, 0);
    memory->as.memory.address = UINT64_C(0x7f0000000000);
    memory->as.memory.bytes = 4096;
    memory->as.memory.allocated_bytes = 4096;
    memory->as.memory.reserved_bytes = 2 << 20;
}

static void put_all(struct harness_recording *recording)
{
    put_step(recording, 1000, 11);
    put_step(recording, 0, 1);
    put(recording, HARNESS_OVERHEAD, "Activity Buffer Request", 2100, 50, 0);
    put(recording, HARNESS_KERNEL, "before_kernel", -100, 50, 99);
    put(recording, HARNESS_OP, "after \"the\" window", 9000, 10, 0);
    struct harness_row *wait = put(recording, HARNESS_SYNC, "Stream Wait Event", 2200, 10, 0);
    wait->as.sync.wait_stream = 13;
    wait->as.sync.record_correlation = 11;
}

static const struct harness_row *find(const struct harness_recording *recording, const char *name, size_t nth)
{
    for (size_t i = 0; i < recording->row_count; i++)
        if (strcmp(recording->rows[i].name, name) == 0 && nth-- == 0)
            return &recording->rows[i];
    return NULL;
}

static void linking(void)
{
    struct harness_recording *recording = recording_of(2500);
    if (!recording)
        return;
    put_all(recording);
    ok(harness_recording_link(recording, &error) == AP_OK, "rows are linked");
    const struct harness_row *op = find(recording, "aten::mm", 1), *call = find(recording, "cudaLaunchKernel", 1);
    const struct harness_row *kernel = find(recording, "gemm_f16_wmma_tensorop_kernel", 1);
    const struct harness_row *copy = find(recording, "Memcpy HtoD (Pinned -> Device)", 0);
    const struct harness_row *step = find(recording, "ProfilerStep#1", 0);
    if (ok(op && call && kernel && copy && step, "nothing of the window is lost")) {
        ok(op->external_id && op->external_id == call->external_id && op->external_id == kernel->external_id,
           "an operator, its call and its kernel have one External id");
        ok(copy->external_id == step->external_id, "a call outside of operators belongs to the range around it");
        ok(call->makes_work && !find(recording, "cudaStreamSynchronize", 0)->makes_work, "calls that make work are told");
    }
    ok(!find(recording, "cuLaunchKernel", 0), "a driver call within a runtime call is left out");
    ok(!find(recording, "before_kernel", 0) && !find(recording, "after \"the\" window", 0),
       "so is what lies outside the window");
    bool ordered = true;
    for (size_t i = 1; i < recording->row_count; i++)
        ordered = ordered && recording->rows[i - 1].start_ns <= recording->rows[i].start_ns;
    ok(ordered, "rows are in order of their start");
    harness_recording_free(recording);
}

static void check_trace(const struct harness_folder *folder)
{
    struct ap_report *report = harness_report(folder->trace, NULL);
    if (!report)
        return;
    harness_no_warnings(report);
    is_int(harness_figure(report, "steps.count"), 2, "two steps");
    is_int(harness_figure(report, "gpu.kernel.count"), 2, "two kernels");
    is_int(harness_figure(report, "gpu.kernel.total_dur_us"), 1000 * US, "of 500 us");
    is_int(harness_figure(report, "gpu.memcpy.htod_dur_us"), 200 * US, "two copies");
    is_int(harness_figure(report, "trace.world_size"), 2, "the number of ranks");
    double share = 0;
    ok(ap_value_number(ap_value_at(ap_report_root(report), "gpu.sm.tensor_core_of_eligible_ratio"), &share) && share > 0.99,
       "the kernel is known for one of tensor cores");
    ap_report_free(report);
}

static void trace(void)
{
    struct harness_recording *recording = recording_of(2500);
    struct harness_folder folder;
    if (!recording || !harness_folder_open(&folder))
        return;
    put_all(recording);
    if (ok(harness_recording_link(recording, &error) == AP_OK &&
               harness_trace_write(recording, folder.trace, &error) == AP_OK,
           "a trace is written"))
        check_trace(&folder);
    harness_folder_close(&folder);
    harness_recording_free(recording);
}

static void empty_trace(void)
{
    struct harness_recording *recording = recording_of(10);
    struct harness_folder folder;
    if (!recording || !harness_folder_open(&folder))
        return;
    recording->device = (struct harness_device_properties){ .name = "" };
    recording->run.world_size = 0;
    if (ok(harness_recording_link(recording, &error) == AP_OK &&
               harness_trace_write(recording, folder.trace, &error) == AP_OK,
           "a trace of nothing is written")) {
        struct ap_report *report = harness_report(folder.trace, NULL);
        if (report)
            harness_no_warnings(report);
        ap_report_free(report);
    }
    harness_folder_close(&folder);
    is_int(harness_trace_write(recording, folder.trace, &error), AP_ERROR_OUTPUT, "a folder that is not there is an error");
    harness_recording_free(recording);
}

static void short_of_memory(void)
{
    bool said = true;
    for (int64_t after = 0; after < 20; after++) {
        struct harness_recording *recording = NULL;
        if (harness_recording_new(&recording, &error) != AP_OK)
            continue;
        recording->run = (struct harness_run_facts){ .start_ns = START_NS, .end_ns = START_NS + 5000 * US };
        atomic_store(&recording->gate.fail_after, after);
        const struct harness_row row = {
            .kind = HARNESS_RUNTIME, .name = "cudaLaunchKernel", .start_ns = START_NS + US, .correlation = 1, .dur_ns = US
        };
        for (int i = 0; i < 100; i++)
            harness_recording_add(recording, &row);
        said = said && (harness_recording_link(recording, &error) != AP_OK || recording->row_count == 100);
        harness_recording_free(recording);
    }
    ok(said, "a row that could not be kept is no secret");
}

static void call_names(void)
{
    static const char *const names[][2] = {
        { "cudaLaunchKernel_v7000", "cudaLaunchKernel" },
        { "cudaMemcpyAsync_v3020", "cudaMemcpyAsync" },
        { "cudaStreamSynchronize_ptsz_v7000", "cudaStreamSynchronize" },
        { "cudaGraphLaunch_v10000", "cudaGraphLaunch" },
        { "cuMemAlloc_v2", "cuMemAlloc_v2" },
        { "cuLaunchKernel", "cuLaunchKernel" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%s", names[i][0]);
        harness_call_name(name);
        is_str(name, names[i][1], names[i][0]);
    }
}

static uint32_t resident(uint32_t threads, uint32_t registers, uint64_t shared)
{
    const struct harness_kernel_facts kernel = {
        .grid = { 1, 1, 1 }, .block = { threads, 1, 1 }, .registers_per_thread = registers, .shared_bytes = shared
    };
    return harness_resident_blocks(&h100, &kernel);
}

static void occupancy(void)
{
    is_int(resident(256, 16, 0), 8, "threads bound what is resident");
    is_int(resident(32, 16, 0), 32, "so does the number of blocks");
    is_int(resident(256, 128, 0), 2, "so do registers");
    is_int(resident(256, 16, 48 * 1024), 4, "so does shared memory, with what the system keeps of it");
    is_int(resident(2000, 16, 0), 0, "a block that is too large never runs");
    const struct harness_kernel_facts few = { .grid = { 66, 1, 1 }, .block = { 1024, 1, 1 } };
    is_int(harness_occupancy_percent(&h100, &few), 25, "a small grid leaves multiprocessors empty");
    const struct harness_kernel_facts many = { .grid = { 1, 100000, 1 },
                                               .block = { 256, 1, 1 },
                                               .registers_per_thread = 128 };
    is_int(harness_occupancy_percent(&h100, &many), 25, "a large one fills what is resident");
}

static void scenarios(void)
{
    bool sound = true;
    for (int id = 0; id < HARNESS_SCENARIO_COUNT_; id++) {
        struct harness_rules rules;
        harness_scenario_rules(&harness_scenarios[id], &rules);
        sound = sound && harness_scenario_find(harness_scenarios[id].name) == (enum harness_scenario_id)id &&
                rules.list[0] && rules.list[0][0] && harness_scenarios[id].ranks >= 1;
    }
    ok(sound, "each scenario has a name of its own and rules that name it");
    is_int(harness_scenario_find("no such"), HARNESS_SCENARIO_COUNT_, "an unknown name is told");
    struct harness_rules rules;
    harness_scenario_rules(&(struct harness_scenario){ .accept = "one|two" }, &rules);
    ok(strcmp(rules.list[0], "one") == 0 && strcmp(rules.list[1], "two") == 0 && !rules.list[2], "rules come as a list");
}

static bool parse(struct harness_options *options, char *mistake, size_t mistake_bytes, const char *a, const char *b,
                  const char *c, const char *d)
{
    char *arguments[] = { (char[]){ "cuda_harness" }, (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                          (char *)(uintptr_t)c,       (char *)(uintptr_t)d, NULL };
    int count = 0;
    while (arguments[count])
        count++;
    return harness_options_parse(count, arguments, options, mistake, mistake_bytes);
}

static void command_line(void)
{
    struct harness_options options;
    char mistake[200] = "";
    ok(parse(&options, mistake, sizeof(mistake), "--scenario", "cuda-leak", "--out", "x") &&
           options.chosen[HARNESS_SCENARIO_leak] && !options.chosen[HARNESS_SCENARIO_device_full] &&
           strcmp(options.out, "x") == 0,
       "one scenario");
    ok(parse(&options, mistake, sizeof(mistake), "--all", "--out", "x", NULL) && options.chosen[HARNESS_SCENARIO_slow_rank],
       "all");
    ok(parse(&options, mistake, sizeof(mistake), "--list", NULL, NULL, NULL) && options.list, "a list");
    ok(parse(&options, mistake, sizeof(mistake), "--help", NULL, NULL, NULL) && options.help, "help");
    ok(parse(&options, mistake, sizeof(mistake), "--help", "--device-mib", "512", NULL) && options.device_bytes == 512u
                                                                                                                       << 20,
       "a size");
    ok(!parse(&options, mistake, sizeof(mistake), "--steps", "2", NULL, NULL), "a number out of its range");
    is_str(mistake, "--steps 2: expected a whole number from 3 to 1000", "is named with its range");
    ok(!parse(&options, mistake, sizeof(mistake), "--steps", "7x", NULL, NULL), "no number");
    ok(!parse(&options, mistake, sizeof(mistake), "--scenario", "leek", NULL, NULL), "no such scenario");
    is_str(mistake, "no scenario is called leek: --list shows all", "is named");
    ok(!parse(&options, mistake, sizeof(mistake), "--out", NULL, NULL, NULL), "an option without its value");
    ok(!parse(&options, mistake, sizeof(mistake), "--all", NULL, NULL, NULL), "no folder");
    ok(!parse(&options, mistake, sizeof(mistake), NULL, NULL, NULL, NULL), "nothing to do");
    ok(!parse(&options, mistake, sizeof(mistake), "--quick", NULL, NULL, NULL), "an unknown option");
}

static void truth(void)
{
    struct harness_folder folder;
    if (!harness_folder_open(&folder))
        return;
    static const char *const accept[] = { "a-rule", "b-rule", NULL };
    struct harness_truth facts = { .cause = "leak",
                                   .planted = true,
                                   .twin = "leak-healthy",
                                   .recording = "gpu",
                                   .made_by = "cuda_harness --scenario leak",
                                   .accept = accept,
                                   .unit = "bytes",
                                   .cost_known = true,
                                   .planted_cost = 123,
                                   .note = "a \"note\"" };
    char text[1000] = "";
    ok(harness_truth_write(&facts, folder.truth, &error) == AP_OK, "truth.json is written");
    FILE *file = fopen(folder.truth, "rb");
    if (file) {
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        (void)fclose(file);
    }
    is_str(
        text,
        "{\n  \"cause\": \"leak\",\n  \"planted\": true,\n  \"twin\": \"leak-healthy\",\n  \"recording\": \"gpu\",\n"
        "  \"made_by\": \"cuda_harness --scenario leak\",\n  \"accept\": [\"a-rule\", \"b-rule\"],\n  \"unit\": \"bytes\",\n"
        "  \"planted_cost\": 123,\n  \"note\": \"a \\\"note\\\"\"\n}\n",
        "as it should be");
    facts.planted = false;
    facts.cost_known = false;
    ok(harness_truth_write(&facts, folder.truth, &error) == AP_OK, "and that of a twin");
    file = fopen(folder.truth, "rb");
    if (file) {
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        (void)fclose(file);
    }
    ok(strstr(text, "\"accept\": []") && strstr(text, "\"planted_cost\": null"), "which accepts no rule and costs nothing");
    harness_folder_close(&folder);
}

/** Three processes that each count the others at two barriers. */
static void meeting(void)
{
    enum { RANKS = 3 };
    pid_t children[RANKS];
    struct harness_meeting *shared = harness_meeting_new(RANKS);
    if (!ok(shared != NULL, "memory that processes share"))
        return;
    (void)fflush(stdout);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        children[rank] = fork();
        if (children[rank] != 0)
            continue;
        struct harness_result *result = &shared->results[rank];
        shared->slots[rank] = 1;
        result->done = harness_meeting_wait(shared, RANKS, 1);
        result->window_ns = (int64_t)(shared->slots[0] + shared->slots[1] + shared->slots[2]);
        result->done = harness_meeting_wait(shared, RANKS, 2) && result->done;
        _exit(0);
    }
    bool met = true;
    for (int rank = 0; rank < RANKS; rank++) {
        (void)waitpid(children[rank], NULL, 0);
        met = met && shared->results[rank].done && shared->results[rank].window_ns == RANKS;
    }
    ok(met, "ranks wait for each other and see what the others wrote");
    harness_meeting_free(shared, RANKS);
}

int main(void)
{
    meeting();
    linking();
    trace();
    empty_trace();
    short_of_memory();
    call_names();
    occupancy();
    scenarios();
    command_line();
    truth();
    return done();
}
