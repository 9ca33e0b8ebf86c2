/* SPDX-License-Identifier: MIT */
#include "compared_runs.h"

#include "input.h"
#include "json_reader.h"
#include "model_redact.h"
#include "report_import.h"

#include "poison.h"

/* A report that is read back, or a trace or snapshot that is analyzed too. */
struct opened_run {
    const char *kind;         /* "report", "trace", "snapshot" */
    struct ap_model model;    /* of a report that was read back */
    struct ap_report *report; /* else the analysis */
};

static enum ap_status redact_names(struct ap_model *model, struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_redaction redaction;
    ap_redaction_init(&redaction, gate);
    enum ap_status status = ap_model_redact_names(model, &redaction, reterr);
    ap_redaction_release(&redaction);
    return status;
}

static enum ap_status import(struct opened_run *baseline, const struct ap_request *request, const char *path,
                             struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_input_options options = { .opener = request->opener };
    struct ap_json_limits limits = { .kept_depth = AP_IMPORT_MAX_DEPTH };
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input *input;
    struct ap_json_reader *json = NULL;
    AP_TRY(ap_input_open(gate, path, &options, &notes, &input, reterr));
    enum ap_status status = ap_input_probe(input, reterr);
    AP_AND_THEN(status, ap_json_reader_new(gate, ap_input_source(input), &notes, &limits, &json, reterr));
    if (status == AP_OK) {
        ap_model_init(&baseline->model, gate);
        status = ap_report_import(json, &baseline->model, reterr);
        if (status == AP_OK && request->redact)
            status = redact_names(&baseline->model, gate, reterr);
        if (status != AP_OK)
            ap_model_release(&baseline->model);
    }
    ap_json_reader_free(json);
    ap_input_free(input);
    return status;
}

/* As the run itself reads its inputs, but for what is written from them. */
static enum ap_status analyze(struct opened_run *baseline, const struct ap_request *request, const char *path, bool trace,
                              uint64_t *ret_held_bytes, struct ap_error *reterr)
{
    struct ap_request other = *request;
    other.baseline_path = NULL;
    other.more_baseline_count = other.more_run_count = 0;
    other.fail_on_count = other.what_if_count = other.series_count = 0;
    other.with_tracks = other.with_folded = other.with_rows = false;
    other.slice = NULL;
    other.mapping_trace_path = trace ? request->mapping_trace_path : NULL;
    other.helpers = NULL; /* they read the run that is reported on */
    other.cpu_trace_path = trace ? path : NULL;
    other.memory_json_path = trace ? NULL : path;
    AP_TRY(ap_report_new(&other, &baseline->report, NULL, reterr));
    *ret_held_bytes = ap_report_held_bytes(baseline->report);
    return AP_OK;
}

/* A run of either side. Memory of a report that is read back comes from @gate; an analysis has the same bound of its own,
 * and *ret_held_bytes of it stay in use. Nothing is left behind on failure. */
static enum ap_status open_run(struct opened_run *baseline, const struct ap_request *request, const char *path,
                               struct ap_gate *gate, uint64_t *ret_held_bytes, struct ap_error *reterr)
{
    enum ap_artifact artifact;
    *ret_held_bytes = 0;
    AP_TRY(ap_recognize_opened(path, request->opener, &artifact, reterr));
    switch (artifact) {
    case AP_ARTIFACT_REPORT: baseline->kind = "report"; return import(baseline, request, path, gate, reterr);
    case AP_ARTIFACT_TRACE: baseline->kind = "trace"; return analyze(baseline, request, path, true, ret_held_bytes, reterr);
    case AP_ARTIFACT_SNAPSHOT:
        baseline->kind = "snapshot";
        return analyze(baseline, request, path, false, ret_held_bytes, reterr);
    case AP_ARTIFACT_FOLDER:
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "a folder is no baseline: write the report of its run as JSON, and give that");
    case AP_ARTIFACT_FLIGHT_RECORDER:
    case AP_ARTIFACT_PROFILE:
    case AP_ARTIFACT_SUMMARY:
    case AP_ARTIFACT_UNKNOWN: break;
    }
    return ap_fail(reterr, AP_ERROR_INPUT,
                   "a JSON report of this program, a trace or a memory snapshot was expected as the baseline; this is none "
                   "of them by its content");
}

static const struct ap_value *root_of(const struct opened_run *baseline)
{
    return baseline->report ? ap_report_root(baseline->report) : &baseline->model.root;
}

static void close_run(struct opened_run *baseline)
{
    if (baseline->model.arena.gate)
        ap_model_release(&baseline->model);
    ap_report_free(baseline->report);
    *baseline = (struct opened_run){ .kind = NULL };
}

static const char *path_of(const struct ap_request *request, size_t index)
{
    if (index == 0)
        return request->baseline_path;
    return index <= request->more_baseline_count ? request->more_baselines[index - 1]
                                                 : request->more_runs[index - 1 - request->more_baseline_count];
}

enum ap_status ap_compared_runs_open(struct ap_compared_runs *runs, const struct ap_request *request, struct ap_gate *gate,
                                     const char **path, uint64_t *ret_held_bytes, struct ap_error *reterr)
{
    *ret_held_bytes = 0;
    *runs = (struct ap_compared_runs){ .gate = gate };
    if (!request->baseline_path)
        return AP_OK;
    runs->room = 1 + request->more_baseline_count + request->more_run_count;
    AP_TRY(AP_ALLOC_CLEARED(gate, runs->opened, runs->room, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, runs->runs, runs->room, reterr));
    for (size_t i = 0; i < runs->room; i++) {
        uint64_t held_bytes;
        *path = path_of(request, i);
        AP_TRY(open_run(&runs->opened[i], request, *path, gate, &held_bytes, reterr));
        *ret_held_bytes += held_bytes;
        runs->runs[i] = (struct ap_compare_run){ *path, runs->opened[i].kind, root_of(&runs->opened[i]) };
        *(i <= request->more_baseline_count ? &runs->before_count : &runs->more_count) += 1;
    }
    return AP_OK;
}

const struct ap_value *ap_compared_runs_root(const struct ap_compared_runs *runs)
{
    return runs->before_count ? runs->runs[ap_compare_middle(runs->runs, runs->before_count)].root : NULL;
}

void ap_compared_runs_release(struct ap_compared_runs *runs)
{
    for (size_t i = 0; runs->opened && i < runs->room; i++)
        close_run(&runs->opened[i]);
    AP_FREE(runs->gate, runs->opened, runs->room);
    AP_FREE(runs->gate, runs->runs, runs->room);
    *runs = (struct ap_compared_runs){ .gate = runs->gate };
}
