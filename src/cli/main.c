/* SPDX-License-Identifier: MIT
 * main.c - the program: the only place that prints, and decides the exit code. */
#define _XOPEN_SOURCE 700
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "answers.h"
#include "base.h"
#include "cleanup.h"
#include "confine.h"
#include "options.h"
#include "opened.h"
#include "places.h"
#include "program.h"
#include "progress.h"
#include "sandbox.h"
#include "say.h"
#include "serve.h"
#include "stdin_head.h"
#include "team.h"
#include "thread.h"
#include "wrap.h"
#include "written.h"

#if defined(__GLIBC__)
#define C_LIBRARY "glibc"
#elif defined(__linux__)
#define C_LIBRARY "musl"
#else
#define C_LIBRARY "the system's"
#endif

enum exit_code { EXIT_WRITTEN, EXIT_FOUND, EXIT_USAGE, EXIT_INPUT, EXIT_OUTPUT, EXIT_LIMIT };

static enum exit_code exit_code_of(enum ap_status status)
{
    switch (status) {
    case AP_OK:
    case AP_END: return EXIT_WRITTEN;
    case AP_ERROR_USAGE: return EXIT_USAGE;
    case AP_ERROR_INPUT:
    case AP_ERROR_CUT: return EXIT_INPUT;
    case AP_ERROR_OUTPUT: return EXIT_OUTPUT;
    case AP_ERROR_LIMIT:
    case AP_ERROR_MEMORY: return EXIT_LIMIT;
    }
    return EXIT_INPUT;
}

/* With --redact no path stands on standard error: that is copied into reports of bugs first of all. */
static bool paths_are_hidden;

static enum exit_code complain(enum ap_status status, const char *path, const struct ap_error *error)
{
    char text[AP_ERROR_TEXT_BYTES];
    ap_say_string("analyze_profile: ");
    if (path) {
        ap_say_inert(strcmp(path, "-") == 0 ? "standard input" : paths_are_hidden ? "an input" : path);
        ap_say_string(": ");
    }
    ap_say_text(ap_error_text(error, AP_WORDS_PROGRAM, text, sizeof(text)), error->has_lines);
    if (error->has_offset)
        ap_say(text, (size_t)snprintf(text, sizeof(text), " (at byte %llu)", (unsigned long long)error->offset_bytes));
    ap_say_string("\n");
    return exit_code_of(status);
}

static enum exit_code usage(const char *mistake)
{
    ap_say_string("analyze_profile: ");
    ap_say_inert(mistake);
    ap_say_string("\nTry 'analyze_profile --help'.\n");
    return EXIT_USAGE;
}

/* ------------------------------------------------------------------------------------------------------- inputs */

static bool is_stdin_or_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Where a path is all that there is of its kind, the report is about one trace, one snapshot or both. */
static enum exit_code take_file(struct ap_cli_options *options, const char *path, bool *ret_of_run)
{
    enum ap_artifact artifact;
    struct ap_error error = { .status = AP_OK };
    bool is_stdin = is_stdin_or_stdout(path);
    enum ap_status status = is_stdin ? ap_cli_recognize_stdin(&options->request, &artifact, &error)
                                     : ap_recognize_opened(path, options->request.opener, &artifact, &error);
    if (status != AP_OK)
        return complain(status, path, &error);
    if (artifact == AP_ARTIFACT_UNKNOWN)
        return complain(
            ap_fail(&error, AP_ERROR_INPUT,
                    "neither a PyTorch trace (traceEvents) nor a CUDA memory snapshot (segments) by its content; "
                    "--cpu-trace or --memory-json says why"),
            path, &error);
    if (artifact == AP_ARTIFACT_REPORT)
        return complain(
            ap_fail(&error, AP_ERROR_USAGE,
                    "a report of this program: give it as --baseline FILE, beside a trace or snapshot to compare with it"),
            path, &error);
    if (is_stdin && artifact != AP_ARTIFACT_TRACE && artifact != AP_ARTIFACT_SNAPSHOT)
        return usage("standard input can be one trace or one snapshot: give the files of a run by name");
    if (artifact == AP_ARTIFACT_TRACE)
        options->traces[options->trace_count++] = path;
    else if (artifact == AP_ARTIFACT_SNAPSHOT)
        options->snapshots[options->snapshot_count++] = path;
    else
        *ret_of_run = true;
    return EXIT_WRITTEN;
}

/* Everything that was given, in one list: files without an option first. */
static enum exit_code take_run_of_ranks(struct ap_cli_options *options, int trace_count, int snapshot_count)
{
    size_t count = (size_t)options->file_count;
    for (int i = 0; i < trace_count; i++)
        options->files[count++] = options->traces[i];
    for (int i = 0; i < snapshot_count; i++)
        options->files[count++] = options->snapshots[i];
    for (size_t i = 0; i < count; i++)
        if (strcmp(options->files[i], "-") == 0)
            return usage("the files of a run of many ranks are read as files: standard input can be one trace alone");
    options->request.run_paths = options->files;
    options->request.run_path_count = count;
    return EXIT_WRITTEN;
}

/* Where files are to be merged, another one among them is a mistake and nothing to be listed. */
static enum exit_code take_merged(struct ap_cli_options *options, int of_options)
{
    struct ap_error error = { .status = AP_OK };
    if (of_options || !options->file_count)
        return usage("--merge takes files that --summary-out wrote, without an option before each");
    for (int i = 0; i < options->file_count; i++) {
        enum ap_artifact artifact = AP_ARTIFACT_UNKNOWN;
        enum ap_status status = ap_recognize(options->files[i], &artifact, &error);
        if (status == AP_OK && artifact != AP_ARTIFACT_SUMMARY && artifact != AP_ARTIFACT_FOLDER)
            status = ap_fail(&error, AP_ERROR_INPUT, "not a file that --summary-out wrote");
        if (status != AP_OK)
            return complain(status, options->files[i], &error);
    }
    return take_run_of_ranks(options, 0, 0);
}

static enum exit_code take_inputs(struct ap_cli_options *options)
{
    int trace_count = options->trace_count, snapshot_count = options->snapshot_count; /* of options */
    bool of_run =
        options->file_count > AP_CLI_FEW_FILES || options->merge || options->summary_out || options->request.has_rank;
    if (options->merge)
        return take_merged(options, trace_count + snapshot_count);
    if (options->summary_out && snapshot_count)
        return usage("--summary-out keeps what traces tell: give no snapshots with it");
    if (options->summary_out && options->request.slice)
        return usage("--summary-out takes even one trace for a rank of a run, and --slice cuts a single trace: "
                     "give them one after the other");
    for (int i = 0; i < 2 * options->file_count && options->file_count <= AP_CLI_FEW_FILES; i++) {
        const char *path = options->files[i % options->file_count];
        bool last = i >= options->file_count; /* standard input, which cannot be one of many, and is waited for */
        if (is_stdin_or_stdout(path) != last || (last && of_run))
            continue;
        enum exit_code code = take_file(options, path, &of_run);
        if (code != EXIT_WRITTEN)
            return code;
    }
    if (of_run || options->trace_count > 1 || options->snapshot_count > 1)
        return take_run_of_ranks(options, trace_count, snapshot_count);
    options->request.cpu_trace_path = options->trace_count ? options->traces[0] : NULL;
    options->request.memory_json_path = options->snapshot_count ? options->snapshots[0] : NULL;
    options->request.recognized_path = trace_count ? NULL : options->request.cpu_trace_path;
    return EXIT_WRITTEN;
}

/* [BATCH=]FILE: digits before the first "=" are a batch size. A name that looks so is written ./8=FILE. */
static enum exit_code take_run(struct ap_cli_options *options, const char *argument)
{
    struct ap_series_entry *entry = &options->series[options->request.series_count];
    size_t digits = strspn(argument, "0123456789");
    bool labeled = digits > 0 && argument[digits] == '=';
    entry->path = labeled ? argument + digits + 1 : argument;
    entry->batch = labeled && digits < 13 ? strtoull(argument, NULL, 10) : 0;
    if (labeled && !entry->batch)
        return usage("--series takes BATCH=FILE with a batch of 1 to 999999999999 samples");
    if (strcmp(entry->path, "-") == 0)
        return usage("--series takes files, not standard input");
    options->request.series = options->series;
    options->request.series_count++;
    return EXIT_WRITTEN;
}

static enum exit_code take_files(struct ap_cli_options *options)
{
    enum exit_code code = EXIT_WRITTEN;
    if (!options->is_series)
        return take_inputs(options);
    for (int i = 0; i < options->file_count && code == EXIT_WRITTEN; i++)
        code = take_run(options, options->files[i]);
    options->request.cpu_trace_path = options->trace_count ? options->traces[0] : NULL;
    options->request.memory_json_path = options->snapshot_count ? options->snapshots[0] : NULL;
    if (code == EXIT_WRITTEN && options->request.series_count < 2)
        return usage("--series takes two traces or more: 8=FILE 16=FILE ...");
    return code;
}

static enum exit_code check_outputs(const struct ap_cli_options *options)
{
    char mistake[120];
    return ap_cli_check_places(options, mistake, sizeof(mistake)) ? EXIT_WRITTEN : usage(mistake);
}

static enum exit_code check_paths(const struct ap_cli_options *options)
{
    if (options->trace_out && !options->request.cpu_trace_path && !options->request.run_path_count)
        return usage("--trace-out needs a trace: give --cpu-trace FILE");
    if (options->request.trace_all && !options->trace_out)
        return usage("--trace-all says what --trace-out FILE writes: give that as well");
    if (!options->slice_out != !options->request.slice)
        return usage("--slice WHAT and --slice-out FILE go together");
    if (options->folded_out && !options->request.memory_json_path && !options->request.run_path_count)
        return usage("--folded-out needs a memory snapshot: give --memory-json FILE");
    if (options->step_summary && !getenv(AP_CLI_STEP_SUMMARY))
        return usage("--step-summary: " AP_CLI_STEP_SUMMARY " names no file, as it does in a step of GitHub Actions");
    if (options->junit_out && !options->request.fail_on_count)
        return usage("--junit-out writes what --fail-on names: give that as well");
    if (is_stdin_or_stdout(options->request.cpu_trace_path) && is_stdin_or_stdout(options->request.memory_json_path))
        return usage("standard input can be the trace or the snapshot, not both");
    return EXIT_WRITTEN;
}

/* ----------------------------------------------------------------------------------------------------------- run */

static enum ap_status print(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)reterr;
    return fwrite(data, 1, bytes, self) == bytes ? AP_OK : AP_ERROR_OUTPUT;
}

/* What holds, and what cannot be judged. */
static void print_conditions(const struct ap_report *report)
{
    const struct ap_value *row = ap_value_first(ap_value_at(ap_report_root(report), "conditions"));
    for (; row; row = row->next) {
        if (!ap_value_integer(ap_value_member(row, "held"), 1))
            continue;
        ap_say_string("analyze_profile: --fail-on: ");
        ap_say_inert(ap_value_text(ap_value_member(row, "text")).data);
        ap_say_string("\n");
    }
}

static enum exit_code judge(const struct ap_cli_options *options, const struct ap_report *report)
{
    struct ap_error error = { .status = AP_OK };
    if (!options->github_annotations)
        print_conditions(report);
    else if (ap_report_write_annotations(report, print, stderr, &error) != AP_OK)
        return EXIT_OUTPUT;
    return ap_report_failed_conditions(report) ? EXIT_FOUND : EXIT_WRITTEN;
}

static enum exit_code write_reports(struct ap_cli_written *written, const struct ap_cli_options *options,
                                    struct ap_report *report)
{
    struct ap_error error = { .status = AP_OK };
    if (options->trace_out && is_stdin_or_stdout(options->request.cpu_trace_path))
        (void)fputs("analyze_profile: standard input cannot be read again: --trace-out holds the tracks alone, without the "
                    "events of the trace; give the trace as a file to have both\n",
                    stderr);
    enum ap_status status = ap_cli_written_write(written, options, report, &error);
    if (status != AP_OK)
        return complain(status, NULL, &error);
    if (options->pictures_out && !written->pictures.first)
        ap_say_string("analyze_profile: there is no picture in this report: --pictures-out writes nothing\n");
    return EXIT_WRITTEN;
}

static enum exit_code analyze(struct ap_cli_options *options, struct ap_cli_written *written)
{
    struct ap_progress progress;
    struct ap_report *report = NULL;
    struct ap_error error = { .status = AP_OK };
    const char *path = NULL;
    ap_progress_init(&progress, options->quiet);
    options->request.progress = ap_progress_update;
    options->request.progress_self = &progress;
    enum ap_status status = ap_report_new(&options->request, &report, &path, &error);
    ap_progress_end(&progress);
    if (status != AP_OK)
        return complain(status, path, &error);
    enum exit_code code = write_reports(written, options, report);
    ap_progress_end(&progress); /* --trace-out reads again */
    if (code == EXIT_WRITTEN)
        code = judge(options, report);
    ap_report_free(report);
    return code;
}

static enum exit_code refuse_pickle(const struct ap_cli_options *options)
{
    ap_say_string("analyze_profile: ");
    ap_say_inert(paths_are_hidden ? "an input" : options->memory_pickle);
    ap_say_string(": ");
    ap_say_string(ap_pickle_advice());
    ap_say_string("\n");
    return EXIT_INPUT;
}

/* Of a pipe: who reads has seen enough, as of a report (ap_output_write). */
static bool is_read_no_more(int descriptor)
{
    struct pollfd end = { .fd = descriptor };
    return poll(&end, 1, 0) == 1 && end.revents & POLLERR;
}

/* What did not fit into the buffer went out before, and may have failed then. */
static enum exit_code finish_stdout(void)
{
    struct ap_error error = { .status = AP_ERROR_OUTPUT };
    if ((fflush(stdout) == 0 && !ferror(stdout)) || is_read_no_more(STDOUT_FILENO))
        return EXIT_WRITTEN;
    return complain(ap_fail(&error, AP_ERROR_OUTPUT, "standard output cannot be written"), NULL, &error);
}

static enum exit_code print_version(const struct ap_cli_options *options)
{
    const struct ap_cli_sandbox sandbox = { .may_read = false };
    (void)printf("analyze_profile %s\ngzip: %s\n", ap_version(), ap_inflater_name());
    for (size_t i = 0; ap_codec_name(i); i++)
        (void)printf("%s%s", i ? ", " : "also reads: ", ap_codec_name(i));
    (void)fputs(ap_codec_name(0) ? "\n" : "", stdout);
    if (!options->verbose)
        return finish_stdout();
    (void)printf("C library: %s\n", C_LIBRARY);
    if (!options->no_sandbox)
        (void)ap_cli_sandbox_enter(&sandbox);
    (void)printf("sandbox: %s%s\n", ap_cli_sandbox_state(), options->no_sandbox ? " (--no-sandbox)" : "");
    return finish_stdout();
}

static enum exit_code print_completion(const char *shell)
{
    if (!ap_cli_print_completion(stdout, shell))
        return usage("--completion takes bash, zsh or fish");
    return finish_stdout();
}

static enum exit_code print_capture(void)
{
    (void)fputs(ap_capture_snippet(), stdout);
    return finish_stdout();
}

static enum exit_code serve(int argc, char **argv, struct ap_cli_options *options)
{
    struct ap_error error = { .status = AP_OK };
    const char *path = NULL;
    enum ap_status status = ap_serve(argc, argv, options, &path, &error);
    return status == AP_OK ? EXIT_WRITTEN : complain(status, path, &error);
}

static enum exit_code answer_alone(const struct ap_cli_options *options, bool *ret_answered)
{
    struct ap_error error = { .status = AP_OK };
    struct ap_output output;
    enum ap_status status = ap_output_open(&output, "-", &error);
    *ret_answered = status == AP_OK && ap_cli_answer_alone(options, ap_output_write, &output, &status, &error);
    return *ret_answered && status != AP_OK ? complain(status, NULL, &error) : EXIT_WRITTEN;
}

/* A mistake in the question is told before an input of gigabytes is read. */
static enum exit_code check_table(const struct ap_cli_options *options)
{
    struct ap_error error = { .status = AP_OK };
    enum ap_status status = options->table.name ? ap_table_query_check(&options->table, &error) : AP_OK;
    return status == AP_OK ? EXIT_WRITTEN : complain(status, NULL, &error);
}

static enum exit_code take_redact_key(struct ap_cli_options *options)
{
    static char key[4096];
    struct ap_error error = { .status = AP_OK };
    if (!options->redact_key)
        return EXIT_WRITTEN;
    FILE *file = fopen(options->redact_key, "rb");
    size_t bytes = file ? fread(key, 1, sizeof(key), file) : 0;
    if (file)
        (void)fclose(file);
    if (bytes < AP_MIN_REDACT_KEY_BYTES)
        return complain(ap_fail(&error, AP_ERROR_USAGE, "the key of --redact-key cannot be read, or has fewer than %d bytes",
                                AP_MIN_REDACT_KEY_BYTES),
                        NULL, &error);
    options->request.redact_key = key;
    options->request.redact_key_bytes = bytes;
    return EXIT_WRITTEN;
}

static void begin_time(const struct ap_cli_options *options)
{
    static char message[128];
    (void)snprintf(message, sizeof(message),
                   "analyze_profile: given up: %u seconds are over, which is what --max-seconds "
                   "allows\n",
                   (unsigned)options->max_seconds);
    if (options->max_seconds)
        ap_cli_cleanup_after(options->max_seconds, message, EXIT_LIMIT);
}

/* Nothing is parsed, not even to tell what a file is, before the outputs are open. */
static enum exit_code read_and_write(struct ap_cli_options *options, const struct ap_program_team *team)
{
    static struct ap_cli_written written;
    struct ap_cli_opened opened;
    struct ap_error error = { .status = AP_OK };
    begin_time(options);
    ap_cli_opened_begin(&opened);
    ap_cli_written_begin(&written, options);
    enum exit_code code = check_outputs(options);
    if (code == EXIT_WRITTEN && ap_cli_written_open(&written, &error) != AP_OK)
        code = complain(AP_ERROR_OUTPUT, NULL, &error);
    ap_cli_limit_memory(options);
    if (team)
        ap_cli_join_team(options, team);
    if (code == EXIT_WRITTEN) {
        ap_cli_confine(options, &opened, &written);
        options->request.sandbox = ap_cli_sandbox_state();
        code = take_files(options);
    }
    if (code == EXIT_WRITTEN)
        code = check_paths(options);
    ap_cli_prepare_questions(options);
    if (code == EXIT_WRITTEN)
        code = analyze(options, &written);
    ap_cli_written_release(&written);
    ap_cli_opened_release(&opened);
    return code;
}

static enum exit_code ask_for_input(void)
{
    (void)fputs("analyze_profile: nothing to analyze: give a trace, a memory snapshot, or the folder of all ranks:\n"
                "    analyze_profile trace.json.gz -o report.html\n"
                "'analyze_profile --capture-snippet' shows how to record them, -h the options.\n",
                stderr);
    return EXIT_USAGE;
}

/* The part of a helper prints nothing: who reports tells what it could not do. */
static enum exit_code help(struct ap_cli_options *options, const struct ap_program_team *team)
{
    enum ap_status status = ap_cli_help_team(options, team);
    return status == AP_OK ? EXIT_WRITTEN : exit_code_of(status);
}

static bool tells_of_itself(const struct ap_cli_options *options)
{
    return options->help || options->brief_help || options->version || options->completion || options->capture_snippet;
}

static enum exit_code tell_of_itself(const struct ap_cli_options *options)
{
    if (options->help || options->brief_help) {
        ap_wrap_print(stdout, options->help ? ap_cli_print_help : ap_cli_print_brief_help);
        return finish_stdout();
    }
    if (options->version)
        return print_version(options);
    return options->completion ? print_completion(options->completion) : print_capture();
}

static enum exit_code run(int argc, char **argv, struct ap_cli_options *options, const struct ap_program_team *team)
{
    enum exit_code code;
    char mistake[512];
    if (!ap_cli_parse(argc, argv, options, mistake, sizeof(mistake)))
        return usage(mistake);
    if (team && !team->helpers)
        return help(options, team);
    paths_are_hidden = options->request.redact;
    if (paths_are_hidden)
        ap_output_hide_paths();
    if (options->redact_key && !options->request.redact)
        return usage("--redact-key is the key of --redact: give that as well");
    if (tells_of_itself(options))
        return tell_of_itself(options);
    code = take_redact_key(options);
    if (code != EXIT_WRITTEN)
        return code;
    if (ap_serve_is_asked(argc, argv))
        return serve(argc, argv, options);
    if (options->root_count)
        return usage("--root says what the server may read: analyze_profile mcp --root DIR");
    if (options->memory_pickle)
        return refuse_pickle(options);
    if (ap_cli_check_questions(options))
        return usage(ap_cli_check_questions(options));
    bool answered;
    code = answer_alone(options, &answered);
    if (answered)
        return code;
    if (!options->file_count && !options->trace_count && !options->snapshot_count)
        return ask_for_input();
    code = check_table(options);
    return code == EXIT_WRITTEN ? read_and_write(options, team) : code;
}

/* Blocks of this size go back to the system when they are freed. By itself glibc raises the size with each such block, up
 * to 32 MB, and then the columns that passes are done with stay. */
#define LARGE_BLOCK_BYTES (512 * 1024)
/* Or glibc asks the system for the number of processors, when threads meet, by opening a file. */
#define MOST_ARENAS 16

static void return_large_blocks(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    (void)mallopt(M_ARENA_MAX, MOST_ARENAS);
#endif
}

struct call {
    int argc;
    char **argv;
    struct ap_cli_options *options;
    const struct ap_program_team *team;
    enum exit_code code;
};

static void *run_call(void *self)
{
    struct call *call = self;
    call->code = run(call->argc, call->argv, call->options, call->team);
    return NULL;
}

/* Where the stack is small (ulimit -s), one as large as helpers have is had in a thread. */
static enum exit_code run_with_stack(int argc, char **argv, struct ap_cli_options *options,
                                     const struct ap_program_team *team)
{
    struct call call = { argc, argv, options, team, EXIT_LIMIT };
    struct rlimit stack;
    pthread_t thread;
    bool small = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < AP_THREAD_STACK_BYTES;
    if (small && ap_thread_start(&thread, run_call, &call))
        (void)pthread_join(thread, NULL);
    else
        (void)run_call(&call);
    return call.code;
}

int ap_program(int argc, char **argv, const struct ap_program_team *team)
{
    struct ap_cli_options options = { .file_count = 0 };
    ap_cli_cleanup_begin();
    return_large_blocks();
    const char ***const lists[] = { &options.files,   &options.traces,    &options.snapshots,
                                    &options.context, &options.fail_on,   &options.what_if,
                                    &options.roots,   &options.baselines, &options.runs };
    options.series = calloc((size_t)argc + 1, sizeof(options.series[0]));
    bool has_room = options.series;
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++) {
        *lists[i] = calloc((size_t)argc + 1, sizeof(**lists[i]));
        has_room = has_room && *lists[i];
    }
    enum exit_code code = has_room ? run_with_stack(argc, argv, &options, team) : EXIT_LIMIT;
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++)
        free(*lists[i]);
    free(options.series);
    return (int)code;
}
