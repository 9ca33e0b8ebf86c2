/* SPDX-License-Identifier: MIT
 * Files of a run: told apart by content, ranks by content and by name. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank_name.h"
#include "run_files.h"
#include "tap.h"

/* Of a fixed name within the made one: a folder's name can tell ranks ("r5"), and chance must not. */
#define LONGEST_NAME 256
#define FIXED "/files"
static char made[] = "/tmp/ap-run-files-XXXXXX", folder[sizeof(made) + sizeof(FIXED)];

static void write_file(const char *name, const char *text)
{
    char path[200];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file) {
        (void)fputs(text, file);
        (void)fclose(file);
    }
}

static void remove_file(const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    (void)remove(path);
}

static const struct {
    const char *name, *text, *why;
    enum ap_file_kind kind;
    int64_t rank;
    enum ap_rank_source source;
} files[] = {
    { ".hidden.json", "{\"traceEvents\":[]}", "hidden", AP_FILE_other, -1, AP_RANK_unknown },
    { "fr_rank_5.json", "{\"version\":\"2.4\",\"pg_config\":{},\"entries\":[]}", "a dump", AP_FILE_flight, 5,
      AP_RANK_by_name },
    { "notes.txt", "no json", "words", AP_FILE_other, -1, AP_RANK_unknown },
    { "old.json", "{\"schema_version\":\"1.0\"}", "a report", AP_FILE_report, -1, AP_RANK_unknown },
    { "rank7.json",
      "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"host_name\":\"a\",\"traceEvents\":[]}",
      "content before name", AP_FILE_trace, 3, AP_RANK_by_content },
    { "snapshot_2.json", "{\"segments\":[],\"device_traces\":[]}", "a snapshot", AP_FILE_snapshot, 2, AP_RANK_by_name },
    { "worker4.json", "[{\"ph\":\"X\"", "a cut array", AP_FILE_trace, 4, AP_RANK_by_name },
};
enum { FILE_COUNT = sizeof(files) / sizeof(files[0]) };

static void finds_files(void)
{
    struct ap_gate gate;
    struct ap_run_files found;
    struct ap_error error = { .status = AP_OK };
    const struct ap_run_files_options options = { .jobs = 3 };
    const char *paths[] = { folder }, *path = NULL;
    ap_gate_init(&gate, 0);
    for (size_t i = 0; i < FILE_COUNT; i++)
        write_file(files[i].name, files[i].text);
    enum ap_status status = ap_run_files_find(&found, &gate, paths, 1, &options, &path, &error);
    ok(status == AP_OK && found.count == FILE_COUNT - 1, "all files but the hidden one are listed");
    for (size_t i = 1; i < FILE_COUNT && found.count == FILE_COUNT - 1; i++) {
        const struct ap_run_file *file = &found.files[i - 1];
        ok(file->head.kind == files[i].kind && file->head.rank == files[i].rank && file->rank_source == files[i].source,
           files[i].why);
    }
    ok(found.count > 1 && found.files[1].why_not, "what is no JSON has a reason");
    ok(found.count > 3 && strcmp(found.files[3].head.host, "a") == 0 && found.files[3].head.world_size == 8,
       "host and world");
    ok(found.kind_counts[AP_FILE_trace] == 2 && found.kind_counts[AP_FILE_flight] == 1, "kinds are counted");
    ap_run_files_release(&found);
    const char *twice[] = { folder, folder };
    status = ap_run_files_find(&found, &gate, twice, 2, &options, &path, &error);
    ok(status == AP_OK && found.count == FILE_COUNT - 1, "what is named twice is there once");
    ap_run_files_release(&found);
    const char *nowhere[] = { "/nonexistent/folder" };
    status = ap_run_files_find(&found, &gate, nowhere, 1, &options, &path, &error);
    ok(status == AP_ERROR_INPUT && path == nowhere[0], "a path that is not there fails");
    ap_run_files_release(&found);
    ok(gate.used_bytes == 0, "nothing is left");
    for (size_t i = 0; i < FILE_COUNT; i++)
        remove_file(files[i].name);
}

static void names_tell_ranks(void)
{
    static const struct {
        const char *path;
        int64_t rank;
    } names[] = {
        { "x/rank3.pt.trace.json.gz", 3 },
        { "x/trace_rank_12.json", 12 },
        { "Rank-07.json", 7 },
        { "x/worker5_step_12.json", 5 },
        { "node_r9.json", 9 },
        { "trace_3.json", 3 },
        { "nccl_trace_rank_4", 4 },
        { "11.json", 11 },
        { "rank2/trace.json", 2 },
        { "rank_2/trace_0.json", 2 },
        { "run_r5/trace_3.json", 3 },
        { "run_r5/trace.json", 5 },
        { "tmp-r5cKqB/trace.json", -1 },
        { "host_1234.169412820154.pt.trace.json", -1 },
        { "2026_11_27_15_09_07/host.trace.json.gz", -1 },
        { "2026-11-27_3.json", 3 },
        { "trace.json", -1 },
        { "h100.json", -1 },
        { "server9.json", -1 },
        { "rank99999999.json", -1 },
    };
    struct ap_rank_pattern *pattern;
    struct ap_error error = { .status = AP_OK };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ok(ap_rank_of_path(NULL, names[i].path) == names[i].rank, names[i].path);
    ok(ap_rank_pattern_new("node-([0-9]+)", &pattern, &error) == AP_OK &&
           ap_rank_of_path(pattern, "a/node-17-x.json") == 17 && ap_rank_of_path(pattern, "rank3.json") == -1,
       "an expression of the user is the only one");
    ap_rank_pattern_free(pattern);
    ok(ap_rank_pattern_new("(", &pattern, &error) == AP_ERROR_USAGE && error.setting == AP_SETTING_RANK_REGEX,
       "no expression");
    ok(ap_rank_pattern_new("rank", &pattern, &error) == AP_ERROR_USAGE, "no group");
}

/* What the C library would write out until memory ends, or try until the end of days. */
static void costly_patterns_are_refused(void)
{
    static const struct {
        const char *expression;
        const char *why; /* NULL = it is taken */
    } patterns[] = {
        { "(([0-9]{1,200}){1,200}){1,200}", "255" },
        { "((a{2,}){99}){9}", "255" },
        { "([0-9]{1,32767})", "255" },
        { "(((((((((a+)+)+)+)+)+)+)+)+)", "255" },
        { "([]{a-z]{99}[^]x[:digit:]]{99}\\{9}[[.].]]{99})", "255" },
        { "(.*)(.*)\\1\\2x", "back" },
        { "([0-9]{1,255})", NULL },
        { "x[}\\]{9}\\{9\\}\\(([0-9]+)", NULL },
        { "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_20[0-9]{2}-[01][0-9].*[^0-9]([0-9]{1,5})(\\.json)+$", NULL },
    };
    struct ap_rank_pattern *pattern = NULL;
    char longest[LONGEST_NAME + 1];
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct ap_error error = { .status = AP_OK };
        enum ap_status status = ap_rank_pattern_new(patterns[i].expression, &pattern, &error);
        ok(patterns[i].why ? status == AP_ERROR_USAGE && strstr(error.message, patterns[i].why) : status == AP_OK,
           patterns[i].expression);
        ap_rank_pattern_free(pattern);
    }
    memset(longest, '(', LONGEST_NAME);
    longest[LONGEST_NAME] = '\0';
    ok(ap_rank_pattern_new(longest, &pattern, NULL) == AP_ERROR_USAGE, "an expression that is longer than any name");
}

#define LOGGED "V1123 10:09:24.548000 14867 torch/_dynamo/guards.py:637] "

/* kind; format of another profile; what the failure says. */
static const struct {
    const char *text, *says;
    enum ap_file_kind kind;
    enum ap_other_format format;
} others[] = {
    { "[\n{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :1,\"dur\" :5,\"ts\" :2,\"ph\" : \"X\",\"name\" "
      ":\"model_loading_uri\"}]",
      NULL, AP_FILE_profile, AP_OTHER_onnxruntime },
    { "[{\"name\":\"a_kernel_time\",\"args\":{\"x\":[1]},\"ph\":\"X\",\"cat\":\"Node\"", NULL, AP_FILE_profile,
      AP_OTHER_onnxruntime },
    { "[{\"cat\":\"Kernel\",\"ph\":\"X\",\"name\":\"k\"},{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"m_fence_after\"}]", NULL,
      AP_FILE_profile, AP_OTHER_onnxruntime },
    { "[{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"render\"}]", NULL, AP_FILE_trace, AP_OTHER_none },
    { "[{\"cat\":\"cpu_op\",\"ph\":\"X\",\"name\":\"a_kernel_time\"}]", NULL, AP_FILE_trace, AP_OTHER_none },
    { "{\"traceEvents\":[{\"cat\":\"Session\",\"ph\":\"X\",\"name\":\"model_run\"}]}", NULL, AP_FILE_profile,
      AP_OTHER_onnxruntime },
    { "{\"traceEvents\":[{\"cat\":\"Node\",\"ph\":\"X\",\"averageMs\":1}]}", NULL, AP_FILE_trace, AP_OTHER_none },
    { "[ { \"count\" : 1 }, { \"name\" : \"c\", \"timeMs\" : 1, \"averageMs\" : 1 }]", NULL, AP_FILE_profile,
      AP_OTHER_tensorrt_profile },
    { "[ { \"startEnqMs\" : 1", NULL, AP_FILE_profile, AP_OTHER_tensorrt_times },
    { "{\"Layers\": [\"a\"], \"Bindings\": []}", NULL, AP_FILE_profile, AP_OTHER_tensorrt_layers },
    { "[{\"name\":\"o\",\"dimensions\":\"1x2\",\"values\":[1,2]}]", "engine computed", AP_FILE_other,
      AP_OTHER_tensorrt_output },
    { "{\"schema\":\"1.0.1\",\"pid\":1,\"nodes\":[]}", "execution trace", AP_FILE_other, AP_OTHER_execution_trace },
    { "{\"meta\":{\"version\":27},\"libs\":[],\"threads\":[]}", "another profiler sampled", AP_FILE_other,
      AP_OTHER_sampled_stacks },
    { "{\"nodes\":[{\"id\":1}],\"startTime\":1,\"samples\":[1],\"timeDeltas\":[5]}", "another profiler sampled",
      AP_FILE_other, AP_OTHER_sampled_stacks },
    { "{\"schema\":\"1.0.1\",\"pid\":1}", NULL, AP_FILE_other, AP_OTHER_none },
    { "[[17,0,512,3],[18,1,512,3]]", "memory timeline", AP_FILE_other, AP_OTHER_memory_timeline },
    { "[[17,18],[[1,2,3],[4,5,6]]]", "memory timeline", AP_FILE_other, AP_OTHER_memory_timeline },
    { "[[1,2,3],[4,5,6]]", NULL, AP_FILE_other, AP_OTHER_none },
    { "[[\"a\"],[1]]", NULL, AP_FILE_other, AP_OTHER_none },
    { LOGGED "[0/1] [__recompiles] Recompiling function f", NULL, AP_FILE_profile, AP_OTHER_compile_log },
    { "Epoch 1\n[default0]:[rank0]: " LOGGED "{\"dynamo_start\": {}}\n\tpayload", NULL, AP_FILE_profile,
      AP_OTHER_compile_log },
    { "V1123 10:09:24.548000 14867 server.cc:637] [0/1] ready", "plain text", AP_FILE_other, AP_OTHER_none },
};

static enum ap_status look_at(const char *text, struct ap_file_head *head, struct ap_error *error)
{
    struct ap_gate gate;
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input_options options = { .accepts_logs = true };
    struct ap_input *input;
    char path[200];
    ap_gate_init(&gate, 0);
    *head = (struct ap_file_head){ .kind = AP_FILE_other };
    write_file("other", text);
    (void)snprintf(path, sizeof(path), "%s/other", folder);
    enum ap_status status = ap_input_open(&gate, path, &options, &notes, &input, error);
    if (status == AP_OK) {
        status = ap_input_probe(input, error);
        if (status == AP_OK)
            status = ap_file_look_at_input(&gate, input, 0, &notes, head, error);
        ap_input_free(input);
    }
    remove_file("other");
    ok(gate.used_bytes == 0, "nothing is left");
    return status;
}

static void content_tells_other_profiles(void)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct ap_file_head head;
        struct ap_error error = { .status = AP_OK };
        enum ap_status status = look_at(others[i].text, &head, &error);
        ok(head.kind == others[i].kind && (status != AP_OK) == (others[i].says != NULL) &&
               (others[i].says || head.format == others[i].format) &&
               (!others[i].says || strstr(error.message, others[i].says)),
           others[i].text);
    }
}

int main(void)
{
    if (!mkdtemp(made))
        return 1;
    (void)snprintf(folder, sizeof(folder), "%s" FIXED, made);
    if (mkdir(folder, 0700) != 0)
        return 1;
    finds_files();
    names_tell_ranks();
    costly_patterns_are_refused();
    content_tells_other_profiles();
    (void)rmdir(folder);
    (void)rmdir(made);
    return done();
}
