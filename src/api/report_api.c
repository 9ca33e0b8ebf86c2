/* SPDX-License-Identifier: MIT
 * report_api.c - the stages in order: input, json, trace or memory, analyze, rubric. */
#include <stdio.h>
#include <string.h>

#include "analyze.h"
#include "analyze_profile/analyze_profile.h"
#include "capture.h"
#include "cluster.h"
#include "compare.h"
#include "compared_runs.h"
#include "condition.h"
#include "hang_dumps.h"
#include "hang_last.h"
#include "mapping_file.h"
#include "memory_join.h"
#include "other_profiles.h"
#include "overlay_spans.h"
#include "predict_part.h"
#include "model_redact.h"
#include "opened_input.h"
#include "siphash.h"
#include "report.h"
#include "report_state.h"
#include "rubric.h"
#include "request_check.h"
#include "run_request.h"
#include "text_file.h"
#include "series.h"
#include "shared_findings.h"
#include "shell_options.h"
#include "snapshot.h"
#include "trace_ranks.h"
#include "track_findings.h"

#include "poison.h"

#define SCHEMA_VERSION "1.0"
/* What a run needs beside the gate: program, libraries, stacks, libcmark's trees of the rubric. */
#define RESERVE_BYTES UINT64_C(16777216)

/* ------------------------------------------------------------------------------------------------------- reading */

/* What counters tell beside their sentence may be words of the input. */
static void forget_details(struct ap_notes *notes)
{
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        notes->notes[i].detail[0] = '\0';
}

/* What an input gave of names below @below; NULL = the paths of files alone, wherever they stand. */
static enum ap_status redact(struct ap_report *report, const struct ap_value *below, struct ap_error *reterr)
{
    struct ap_redaction redaction;
    if (!report->redact)
        return AP_OK;
    AP_TRY(ap_model_status(&report->model, reterr));
    ap_redaction_init(&redaction, &report->gate);
    enum ap_status status = below ? ap_model_redact(&report->model, below, &redaction, reterr)
                                  : ap_model_redact_paths(&report->model, &redaction, reterr);
    ap_redaction_release(&redaction);
    forget_details(&report->trace_notes);
    forget_details(&report->memory_notes);
    forget_details(&report->hang_notes);
    forget_details(&report->profile_notes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ analyzing */

/* One run of the stages over the inputs of a request. */
struct run {
    struct ap_report *report;
    const struct ap_request *request;
    const struct ap_rubric *rubric;
    const struct ap_compared_runs *compared;
    const char **path; /* of the file that is at work, for messages */
    uint64_t bytes_read;
    bool compressed;
    struct ap_memory_join join;
    struct ap_predictor predictor;
};

static enum ap_status read_trace(struct run *run, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    struct ap_notes *notes = &report->trace_notes;
    struct ap_trace_options trace_options = { .salvage = run->request->salvage,
                                              .threads = ap_request_threads(run->request) };
    struct ap_opened_input opened;
    *run->path = report->trace_path = run->request->cpu_trace_path;
    AP_TRY(ap_opened_input_open(report, run->request, *run->path, AP_ROLE_TRACE, notes, &opened, reterr));
    enum ap_status status = ap_trace_read(opened.json, &report->gate, notes, &trace_options, &report->trace, reterr);
    ap_opened_input_tell_place(&opened, status, reterr);
    run->bytes_read = status == AP_OK ? ap_json_offset(opened.json) : 0;
    run->compressed = ap_input_is_compressed(opened.input);
    ap_opened_input_close(&opened); /* before the analysis: its buffers count */
    AP_TRY(status);
    if (report->trace->has_window)
        report->window = (struct ap_copy_slice){ report->trace->window_start_ns, report->trace->window_end_ns };
    return ap_request_check_strict(run->request, notes, reterr);
}

static struct ap_part_options part_options(const struct run *run)
{
    return (struct ap_part_options){
        .path = run->request->cpu_trace_path,
        .top_n = run->request->top_n,
        .bytes_read = run->bytes_read,
        .compressed = run->compressed,
        .phase = run->request->phase,
        .join = run->request->memory_json_path ? &run->join : NULL,
        .peaks = &run->report->peaks.peaks,
    };
}

static enum ap_status analyze_trace(struct run *run, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    const struct ap_part_options options = part_options(run);
    if (run->request->mapping_trace_path) {
        *run->path = run->request->mapping_trace_path;
        AP_TRY(ap_mapping_read(&report->mapping, run->request, report->trace, &report->gate, reterr));
    }
    *run->path = run->request->cpu_trace_path;
    AP_TRY(ap_facts_init(&report->facts, report->trace, run->request->with_pictures, reterr));
    report->facts.mapping = run->request->mapping_trace_path ? &report->mapping : NULL;
    report->facts.keeps_path = report->has_overlay;
    AP_TRY(ap_analyze_trace(&report->facts, &options, ap_request_threads(run->request) > 1, &report->trace_notes,
                            &report->model, reterr));
    ap_request_note_cut(&report->model, &report->trace_notes);
    if (!report->has_overlay)
        return AP_OK;
    AP_TRY(ap_overlay_add_facts(&report->overlay, &report->facts, reterr));
    ap_facts_forget_path(&report->facts);
    return AP_OK;
}

static enum ap_status add_snapshot(struct run *run, struct ap_memory_join *join, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    const struct ap_request *request = run->request;
    struct ap_notes *notes = &report->memory_notes;
    struct ap_snapshot_options snapshot_options = { .salvage = request->salvage };
    struct ap_opened_input opened;
    struct ap_snapshot *snapshot;
    *run->path = request->memory_json_path;
    AP_TRY(ap_opened_input_open(report, request, *run->path, AP_ROLE_SNAPSHOT, notes, &opened, reterr));
    enum ap_status status = ap_snapshot_read(opened.json, &report->gate, notes, &snapshot_options, &snapshot, reterr);
    ap_opened_input_tell_place(&opened, status, reterr);
    ap_opened_input_close(&opened);
    if (status != AP_OK)
        return status;
    status = ap_request_check_strict(request, notes, reterr);
    if (status == AP_OK)
        status = ap_join_part_snapshot(snapshot, *run->path, request->top_n, request->with_pictures, join, notes,
                                       &report->model, reterr);
    ap_request_note_cut(&report->model, notes);
    if (status == AP_OK && (request->with_folded || request->with_rows)) {
        report->snapshot = snapshot; /* freed with the report */
        report->has_peak_stacks = request->with_folded;
        return request->with_folded ? ap_peak_stacks_init(&report->peak_stacks, snapshot, reterr) : AP_OK;
    }
    ap_snapshot_free(snapshot);
    return status;
}

/* @merged: see struct ap_cluster_options. */
static enum ap_status analyze_run(struct run *run, struct ap_trace *merged, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    const struct ap_request *request = run->request;
    const struct ap_cluster_options options = { .opener = request->opener,
                                                .helpers = request->helpers,
                                                .merged = merged,
                                                .jobs = request->jobs,
                                                .top_n = request->top_n,
                                                .max_depth = request->max_depth,
                                                .salvage = request->salvage };
    struct ap_model hang;
    ap_model_init(&hang, &report->gate);
    enum ap_status status =
        ap_hang_dumps_add(request, &report->run_files, &report->gate, &report->hang_notes, &hang, run->path, reterr);
    AP_AND_THEN(status, ap_cluster_analyze(&report->run_files, &options, &report->rank_set, &report->model, reterr));
    AP_AND_THEN(status, ap_hang_add_last(&report->rank_set, &hang, reterr));
    ap_request_note_cut(&hang, &report->hang_notes);
    ap_request_note_cut(&report->model, &report->trace_notes);
    ap_model_adopt(&report->model, &hang);
    ap_model_release(&hang);
    AP_TRY(status);
    if (!merged) /* its notes are those of the trace */
        ap_run_request_note_losses(&report->rank_set, &report->trace_notes, &report->memory_notes);
    ap_note_many(&report->trace_notes, AP_COUNTER_rank_unread,
                 (uint64_t)ap_integer_at(&report->model.root, "cluster.unread_count", 0));
    ap_add_null(&report->model, &report->model.root, "memory");
    ap_analyze_no_trace(&report->model);
    return AP_OK;
}

static void forget_trace(struct ap_report *report)
{
    ap_facts_release(&report->facts);
    if (report->mapping.gate)
        ap_graph_mapping_release(&report->mapping);
    ap_trace_free(report->trace);
    report->trace = NULL;
}

static enum ap_status find_merged(struct run *run, bool *ret_is_merged, struct ap_error *reterr)
{
    struct ap_trace_ranks ranks;
    enum ap_status status = ap_trace_ranks_init(&ranks, run->report->trace, reterr);
    *ret_is_merged = ranks.count > 0;
    ap_trace_ranks_release(&ranks);
    return status;
}

/* A file into which the traces of several ranks were merged is a run, with the one file. */
static enum ap_status analyze_merged(struct run *run, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    const struct ap_run_files_options options = { .opener = run->request->opener };
    const char *path = run->request->cpu_trace_path, *missing;
    if (!report->run_files.count)
        AP_TRY(ap_run_files_find(&report->run_files, &report->gate, &path, 1, &options, &missing, reterr));
    report->is_run = true;
    report->has_overlay = false;
    enum ap_status status = analyze_run(run, report->trace, reterr);
    forget_trace(report);
    return status;
}

static enum ap_status add_profiles(struct run *run, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    AP_TRY(ap_other_profiles_add(run->request, &report->run_files, &report->gate, &report->profile_notes, &report->model,
                                 run->path, reterr));
    ap_request_note_cut(&run->report->model, &run->report->profile_notes);
    return ap_request_check_strict(run->request, &report->profile_notes, reterr);
}

/* Of two inputs the trace is read first, but analyzed last: the snapshot is gone by then. */
static enum ap_status analyze(struct run *run, struct ap_error *reterr)
{
    struct ap_model *model = &run->report->model;
    bool has_trace = run->request->cpu_trace_path, has_snapshot = run->request->memory_json_path, is_merged = false;
    if (run->report->is_run)
        return analyze_run(run, NULL, reterr);
    if (run->report->has_profiles)
        AP_TRY(add_profiles(run, reterr));
    if (has_trace)
        AP_TRY(read_trace(run, reterr));
    if (has_trace && !has_snapshot && strcmp(run->request->cpu_trace_path, "-") != 0)
        AP_TRY(find_merged(run, &is_merged, reterr));
    if (is_merged)
        return analyze_merged(run, reterr);
    if (has_trace && has_snapshot)
        ap_memory_join_init(&run->join, run->report->trace, &run->report->gate);
    if (has_snapshot)
        AP_TRY(add_snapshot(run, has_trace ? &run->join : NULL, reterr));
    else
        ap_add_null(model, &model->root, "memory");
    if (has_trace)
        return analyze_trace(run, reterr);
    ap_analyze_no_trace(model);
    return AP_OK;
}

/* @compared: by the rules about what changed, once that is known. */
static enum ap_status judge(struct run *run, bool compared, struct ap_error *reterr)
{
    struct ap_model *model = &run->report->model;
    struct ap_judge_options options = { .focus = run->request->focus, .phase = run->request->phase, .compared = compared };
    if (run->predictor.exact) {
        options.gain = ap_prediction_gain;
        options.gain_context = &run->predictor;
    }
    if (run->report->trace) {
        options.phase_share = ap_prediction_phase_share;
        options.phase_context = &run->report->facts;
    }
    AP_TRY(ap_shell_options(run->request, &model->arena, &options.more_options, reterr));
    return ap_rubric_apply(run->rubric, &options, model, reterr);
}

/* What changes would gain: those that were asked for, and those of the findings, which rank by it. */
static enum ap_status judge_and_predict(struct run *run, struct ap_error *reterr)
{
    const struct ap_what_if what_if = { run->request->what_if, run->request->what_if_count };
    const struct ap_trace *trace = run->report->trace;
    enum ap_status status = AP_OK;
    if (trace && trace->has_window)
        status = ap_predictor_init(&run->predictor, &run->report->facts, what_if.count > 0, reterr);
    if (!ap_series_cost(&run->report->series, &run->predictor.batch.fixed_ns, &run->predictor.batch.grows_ns))
        run->predictor.batch = (struct ap_batch_cost){ 0, 0 };
    AP_AND_THEN(status, judge(run, false, reterr));
    AP_AND_THEN(status, ap_prediction_add(&run->predictor, &what_if, &run->report->model, reterr));
    ap_predictor_release(&run->predictor);
    return status;
}

static enum ap_status draw(const struct run *run, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    const struct ap_part_options options = part_options(run);
    if (!report->facts.bins)
        return AP_OK;
    AP_TRY(ap_analyze_pictures(&report->facts, &options, &report->trace_notes, &report->model, reterr));
    return redact(report, ap_value_member(&report->model.root, "pictures"), reterr);
}

/* ----------------------------------------------------------------------------------------------------- comparing */

static enum ap_status compare(struct run *run, struct ap_error *reterr)
{
    struct ap_model *model = &run->report->model;
    const struct ap_request *request = run->request;
    const struct ap_compared_runs *runs = run->compared;
    struct ap_compare_options options = {
        .before = runs->runs,
        .before_count = runs->before_count,
        .more = runs->runs ? runs->runs + runs->before_count : NULL,
        .more_count = runs->more_count,
        .after_path = request->cpu_trace_path ? request->cpu_trace_path : request->memory_json_path,
        .top_n = request->top_n,
    };
    if (!runs->before_count) {
        ap_add_null(model, &model->root, "comparison");
        return AP_OK;
    }
    AP_TRY(ap_compare(model, &options, reterr));
    return judge(run, true, reterr);
}

/* Two inputs of two runs are read side by side, which has to be said first of all. */
static void note_belonging(struct ap_report *report)
{
    const struct ap_value *joined = ap_value_member(&report->model.root, "joined");
    struct ap_text reason = ap_text_member(joined, "reason");
    if (ap_integer_member(joined, "belong", 1))
        return;
    ap_note_many(&report->memory_notes, AP_COUNTER_inputs_apart, 1);
    ap_note_detail(&report->memory_notes, AP_COUNTER_inputs_apart, "%.*s", (int)reason.bytes, reason.data);
}

/* What follows from the findings. */
static enum ap_status conclude(struct run *run, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    ap_capture_add(&report->model);
    AP_TRY(compare(run, reterr));
    if (report->series.count)
        ap_scaling_add(report->series.points, report->series.count, &report->model);
    else
        ap_add_null(&report->model, &report->model.root, "series");
    ap_conditions_judge(&report->conditions, &report->model, ap_compared_runs_root(run->compared));
    note_belonging(report);
    ap_request_note_cut(&report->model, run->request->cpu_trace_path ? &report->trace_notes : &report->memory_notes);
    AP_TRY(ap_request_check_report(run->request, report, run->path, reterr));
    struct ap_value *warnings = ap_add_list(&report->model, &report->model.root, "warnings");
    ap_add_warnings(&report->model, warnings, "cpu-trace", &report->trace_notes);
    ap_add_warnings(&report->model, warnings, "memory-json", &report->memory_notes);
    ap_add_warnings(&report->model, warnings, "flight-recorder", &report->hang_notes);
    ap_add_warnings(&report->model, warnings, "profile", &report->profile_notes);
    return ap_model_status(&report->model, reterr);
}

static void add_optional(struct ap_model *model, const char *key, const char *text)
{
    if (text)
        ap_add_string(model, &model->root, key, text);
    else
        ap_add_null(model, &model->root, key);
}

/* What the user said of the report: what it is about, and labels. */
static void add_topic(struct ap_model *model, const struct ap_request *request)
{
    add_optional(model, "focus", request->focus);
    add_optional(model, "phase", request->phase);
    struct ap_value *context = ap_add_object(model, &model->root, "context");
    for (size_t i = 0; i < request->context_count; i++) {
        struct ap_text key, value;
        ap_context_split(request->context[i], &key, &value);
        ap_add_text_named(model, context, key, value);
    }
}

static enum ap_status fill_run(struct run *run, struct ap_error *reterr)
{
    struct ap_report *report = run->report;
    AP_TRY(analyze(run, reterr));
    *run->path = NULL;
    /* Behind the analysis, which goes by names, and before all that makes sentences of them: those are ours. */
    AP_TRY(redact(report, &report->model.root, reterr));
    AP_TRY(judge_and_predict(run, reterr));
    AP_TRY(ap_shared_findings_add(report, run->request, run->rubric, reterr));
    AP_TRY(draw(run, reterr));
    if (!run->request->with_rows)
        forget_trace(report);
    AP_TRY(conclude(run, reterr));
    AP_TRY(redact(report, NULL, reterr)); /* that of the baseline came since */
    return ap_track_findings(report->has_overlay ? &report->overlay : NULL, &report->model.root, reterr);
}

static enum ap_status fill(struct ap_report *report, const struct ap_request *request, const struct ap_rubric *rubric,
                           const struct ap_compared_runs *compared, const char **path, struct ap_error *reterr)
{
    struct run run = { report, request, rubric, compared, path, 0, false, { .gate = &report->gate }, { .facts = NULL } };
    struct ap_model *model = &report->model;
    ap_add_string(model, &model->root, "schema_version", SCHEMA_VERSION);
    struct ap_value *generator = ap_add_object(model, &model->root, "generator");
    ap_add_string(model, generator, "name", "analyze_profile");
    ap_add_string(model, generator, "version", ap_version());
    ap_add_known_string(model, generator, "sandbox", request->sandbox, request->sandbox);
    add_topic(model, request);
    enum ap_status status = fill_run(&run, reterr);
    ap_memory_join_release(&run.join);
    return status;
}

/* What is compared with is read first: by then its traces are gone. What is left counts against the bound of the run. */
static enum ap_status fill_compared(struct ap_report *report, const struct ap_request *request,
                                    const struct ap_rubric *rubric, const char **path, struct ap_error *reterr)
{
    struct ap_compared_runs compared;
    uint64_t held_bytes;
    enum ap_status status = ap_compared_runs_open(&compared, request, &report->gate, path, &held_bytes, reterr);
    if (report->gate.limit_bytes)
        report->gate.limit_bytes -= held_bytes < report->gate.limit_bytes ? held_bytes : report->gate.limit_bytes - 1;
    AP_AND_THEN(status, fill(report, request, rubric, &compared, path, reterr));
    ap_compared_runs_release(&compared);
    return status;
}

static enum ap_status fill_series(struct ap_report *report, const struct ap_request *request, const struct ap_rubric *rubric,
                                  const char **path, struct ap_error *reterr)
{
    if (!request->series_count)
        return fill_compared(report, request, rubric, path, reterr);
    struct ap_request largest = *request;
    AP_TRY(ap_series_read(request, &report->series, path, reterr));
    largest.cpu_trace_path = ap_series_largest(&report->series);
    return fill_compared(report, &largest, rubric, path, reterr);
}

/* The paths of files that were found live no longer than the report: the message names the file instead. */
static enum ap_status tell_found_path(const struct ap_request *request, const char **path, enum ap_status status,
                                      struct ap_error *reterr)
{
    char message[sizeof(reterr->message)];
    for (size_t i = 0; i < request->run_path_count; i++)
        if (*path == request->run_paths[i])
            return status;
    if (status == AP_OK || !*path || *path == request->rubric_path || *path == request->baseline_path ||
        *path == request->mapping_trace_path)
        return status;
    (void)snprintf(message, sizeof(message), "%.300s: %.440s", request->redact ? "an input" : *path, reterr->message);
    memcpy(reterr->message, message, sizeof(message));
    *path = NULL;
    return status;
}

/* Is there among the files of a run what is asked about? */
static enum ap_status check_found(const struct ap_report *report, const struct ap_request *one, struct ap_error *reterr)
{
    AP_TRY(ap_request_check_trace(one, reterr));
    if (one->with_tracks && !one->cpu_trace_path && !report->is_run)
        return ap_advise(reterr, AP_ADVICE_GIVE_TRACE,
                         ap_fail(reterr, AP_ERROR_USAGE, "a trace is to be written again, and none is among the files"));
    if (one->with_folded && !one->memory_json_path)
        return ap_advise(
            reterr, AP_ADVICE_GIVE_SNAPSHOT,
            ap_fail(reterr, AP_ERROR_USAGE, "stacks of a snapshot are to be written, and no single one is among the files"));
    return AP_OK;
}

/* The files of a run; those of one rank are what a report of one trace is made from. */
static enum ap_status fill_found(struct ap_report *report, const struct ap_request *request, const struct ap_rubric *rubric,
                                 const char **path, struct ap_error *reterr)
{
    struct ap_request one = *request;
    if (ap_run_request_is_no_trace(request)) {
        one.cpu_trace_path = NULL;
        one.run_paths = &request->cpu_trace_path;
        one.run_path_count = 1;
        report->has_overlay = false;
        return fill_found(report, &one, rubric, path, reterr);
    }
    if (!request->run_path_count)
        return fill_series(report, request, rubric, path, reterr);
    enum ap_status status = ap_run_request_find(request, &report->gate, &report->run_files, &one, path, reterr);
    report->has_profiles = ap_run_request_has_profiles(&report->run_files);
    report->is_run = !one.cpu_trace_path && !one.memory_json_path && !report->has_profiles;
    report->has_overlay = one.with_tracks && one.cpu_trace_path;
    if (status == AP_OK)
        ap_run_request_note_rest(&report->run_files, one.cpu_trace_path || report->is_run ? &report->trace_notes
                                                     : one.memory_json_path               ? &report->memory_notes
                                                                                          : &report->profile_notes);
    AP_AND_THEN(status, check_found(report, &one, reterr));
    AP_AND_THEN(status, fill_compared(report, &one, rubric, path, reterr));
    return tell_found_path(request, path, status, reterr);
}

uint64_t ap_report_held_bytes(const struct ap_report *report)
{
    return atomic_load(&report->gate.used_bytes);
}

static void begin(struct ap_report *report, const struct ap_request *request, uint64_t limit_bytes)
{
    ap_gate_init(&report->gate, limit_bytes);
    report->gate.reserve_bytes = RESERVE_BYTES;
    report->gate.limit_why = request->max_memory_why;
    report->gate.stop = request->stop;
    report->gate.stop_self = request->stop_self;
    if (request->redact_key)
        ap_siphash_key((struct ap_text){ request->redact_key, request->redact_key_bytes }, report->gate.redact_key);
    if (request->fail_after > 0)
        atomic_store(&report->gate.fail_after, request->fail_after - 1);
    report->strict = request->strict;
    report->keeps_rows = request->with_rows;
    report->redact = request->redact;
    report->words = request->words;
    ap_model_init(&report->model, &report->gate);
    ap_overlay_init(&report->overlay, &report->gate);
    ap_rank_set_init(&report->rank_set, &report->gate);
    report->has_overlay = request->with_tracks && request->cpu_trace_path;
}

static enum ap_status report_new(const struct ap_request *request, struct ap_report **ret_report, const char **ret_path,
                                 struct ap_error *reterr)
{
    const char *path = NULL;
    struct ap_rubric *rubric = NULL;
    struct ap_gate gate;
    struct ap_report *report;
    struct ap_error error = { .status = AP_OK };
    struct ap_conditions conditions;
    AP_TRY(ap_request_check(request, reterr));
    AP_TRY(
        ap_conditions_parse(request->fail_on, request->fail_on_count, request->baseline_path != NULL, &conditions, reterr));
    ap_gate_init(&gate, request->max_memory_bytes ? request->max_memory_bytes - RESERVE_BYTES : 0);
    report = ap_mem_cleared(&gate, sizeof(*report));
    if (!report)
        return ap_fail_memory(&gate, reterr);
    begin(report, request, gate.limit_bytes);
    report->conditions = conditions;
    enum ap_status status = ap_rubric_read(&report->gate, request->rubric_path, &rubric, &error);
    if (status != AP_OK)
        path = request->rubric_path;
    else if ((status = ap_peaks_file_read(&report->peaks, request->peaks_path, &report->gate, &error)) != AP_OK)
        path = request->peaks_path;
    else
        status = fill_found(report, request, rubric, &path, &error);
    ap_rubric_free(rubric);
    if (status == AP_OK) {
        *ret_report = report;
        return AP_OK;
    }
    ap_report_free(report);
    if (ret_path)
        *ret_path = path;
    if (reterr)
        *reterr = error;
    return status;
}

/* One key for all that is read for a report, a baseline and single ranks too: a name has one hash in it. */
enum ap_status ap_report_new(const struct ap_request *request, struct ap_report **ret_report, const char **ret_path,
                             struct ap_error *reterr)
{
    struct ap_hash_key drawn;
    struct ap_request keyed = *request;
    ap_hash_key_draw(&drawn);
    keyed.redact_key = request->redact_key ? request->redact_key : &drawn;
    keyed.redact_key_bytes = request->redact_key ? request->redact_key_bytes : sizeof(drawn);
    return report_new(&keyed, ret_report, ret_path, reterr);
}

void ap_report_free(struct ap_report *report)
{
    if (!report)
        return;
    struct ap_gate gate;
    ap_overlay_release(&report->overlay);
    ap_model_release(&report->model);
    ap_query_release(&report->query);
    if (report->has_peak_stacks)
        ap_peak_stacks_release(&report->peak_stacks);
    ap_snapshot_free(report->snapshot);
    ap_run_files_release(&report->run_files);
    ap_rank_set_release(&report->rank_set);
    forget_trace(report);
    ap_peaks_file_release(&report->peaks);
    ap_gate_init(&gate, 0);
    ap_mem_free(&gate, report, sizeof(*report));
}
