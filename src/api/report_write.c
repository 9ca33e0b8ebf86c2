/* SPDX-License-Identifier: MIT
 * report_write.c - a report's tree, the forms that it is written in, and what the library says of itself. */
#include <string.h>

#include "capture.h"
#include "folded.h"
#include "model_redact.h"
#include "opened_input.h"
#include "rank_json.h"
#include "rank_tracks.h"
#include "report.h"
#include "rubric.h"
#include "slice.h"
#include "trace_copy.h"

#include "poison.h"

const struct ap_value *ap_report_root(const struct ap_report *report)
{
    return &report->model.root;
}

bool ap_report_has_read(const struct ap_report *report, uint64_t device, uint64_t inode)
{
    for (size_t i = 0; i < report->run_files.count; i++) {
        const struct ap_run_file *file = &report->run_files.files[i];
        bool is_read = !file->why_not && file->head.kind != AP_FILE_other && file->head.kind != AP_FILE_report;
        if (is_read && file->inode == inode && file->device == device)
            return true;
    }
    return false;
}

int ap_report_failed_conditions(const struct ap_report *report)
{
    int failed = 0;
    const struct ap_value *condition = ap_value_first(ap_value_member(&report->model.root, "conditions"));
    for (; condition; condition = condition->next)
        failed += ap_integer_member(condition, "held", report->strict) == 1;
    return failed;
}

enum ap_status ap_report_write_junit(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                     struct ap_error *reterr)
{
    return ap_write_junit(&report->model, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_annotations(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                           struct ap_error *reterr)
{
    return ap_write_annotations(&report->model, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_json(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                    struct ap_error *reterr)
{
    return ap_write_json(&report->model, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_value_write_json(const struct ap_value *value, ap_write_fn *write, void *write_self,
                                   struct ap_error *reterr)
{
    struct ap_out out;
    ap_out_init(&out, (struct ap_sink){ write, write_self });
    AP_TRY(ap_json_write_value(&out, value, true, reterr));
    return ap_out_finish(&out, reterr);
}

enum ap_status ap_report_write_markdown(const struct ap_report *report, enum ap_extent extent, ap_write_fn *write,
                                        void *write_self, struct ap_error *reterr)
{
    return ap_write_markdown(&report->model, extent, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_html(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                    struct ap_error *reterr)
{
    return ap_write_html(&report->model, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_pictures(const struct ap_report *report, const struct ap_picture_taker *taker,
                                        struct ap_error *reterr)
{
    return ap_write_pictures(&report->model, taker, reterr);
}

/* @slice NULL: with the tracks of the overlay. */
static enum ap_status copy_trace(struct ap_report *report, const struct ap_request *request,
                                 const struct ap_copy_slice *slice, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_redaction redaction;
    struct ap_trace_copy_options options = {
        .gate = &report->gate,
        .overlay = &report->overlay,
        .version = ap_version(),
        .all = request->trace_all && !slice,
        .arrays_before = report->trace_notes.notes[AP_COUNTER_two_event_arrays].count,
        .slice = slice,
        .redaction = report->redact ? &redaction : NULL,
    };
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_opened_input opened = { .request = request };
    bool again = strcmp(report->trace_path, "-") != 0;
    if (again)
        AP_TRY(ap_opened_input_open(report, request, report->trace_path, AP_ROLE_TRACE, &notes, &opened, reterr));
    ap_redaction_init(&redaction, &report->gate);
    enum ap_status status = ap_trace_copy_write(&options, opened.json, again ? &notes : NULL, sink, reterr);
    ap_redaction_release(&redaction);
    if (again)
        ap_opened_input_close(&opened);
    return status;
}

static enum ap_status write_run_tracks(struct ap_report *report, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_redaction redaction;
    ap_redaction_init(&redaction, &report->gate);
    enum ap_status status =
        ap_rank_tracks_write(&report->rank_set, ap_version(), report->redact ? &redaction : NULL, sink, reterr);
    ap_redaction_release(&redaction);
    return status;
}

enum ap_status ap_report_write_trace(struct ap_report *report, const struct ap_request *request, ap_write_fn *write,
                                     void *write_self, struct ap_error *reterr)
{
    if (report->is_run)
        return write_run_tracks(report, (struct ap_sink){ write, write_self }, reterr);
    if (!report->has_overlay)
        return ap_fail(reterr, AP_ERROR_USAGE, "a trace can only be written where one was read, and with_tracks was set");
    return copy_trace(report, request, NULL, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_ranks(struct ap_report *report, ap_write_fn *write, void *write_self, struct ap_error *reterr)
{
    if (!report->is_run)
        return ap_fail(reterr, AP_ERROR_USAGE, "the report is not about a run of many ranks, so nothing was kept of ranks");
    if (report->redact)
        return ap_fail(reterr, AP_ERROR_USAGE, "what is kept of ranks holds names as they are: it is not written redacted");
    return ap_rank_json_write(&report->rank_set, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_slice(struct ap_report *report, const struct ap_request *request, ap_write_fn *write,
                                     void *write_self, struct ap_error *reterr)
{
    struct ap_copy_slice slice;
    if (!request->slice || !report->trace_path || strcmp(report->trace_path, "-") == 0)
        return ap_fail(reterr, AP_ERROR_USAGE, "a slice can only be written of a trace in a file, and where slice was set");
    AP_TRY(ap_slice_resolve(request->slice, &report->window, &report->model.root, &slice, reterr));
    return copy_trace(report, request, &slice, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_folded(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                      struct ap_error *reterr)
{
    if (!report->has_peak_stacks)
        return ap_fail(reterr, AP_ERROR_USAGE,
                       "the report keeps no stacks: it was made without a snapshot or without "
                       "with_folded");
    struct ap_redaction redaction;
    ap_redaction_init(&redaction, report->snapshot->gate);
    enum ap_status status = ap_write_folded(report->snapshot, &report->peak_stacks, report->redact ? &redaction : NULL,
                                            (struct ap_sink){ write, write_self }, reterr);
    ap_redaction_release(&redaction);
    return status;
}

const char *ap_version(void)
{
    return AP_VERSION;
}

const char *ap_phase_names(void)
{
    return ap_rubric_phase_names();
}

const char *ap_codec_name(size_t i)
{
    return ap_input_codec_name(i);
}

const char *ap_inflater_name(void)
{
    return ap_input_inflate_name();
}

const char *ap_capture_snippet(void)
{
    return ap_capture_all();
}

const char *ap_pickle_advice(void)
{
    return ap_input_pickle_advice();
}
