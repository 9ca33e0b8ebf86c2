/* SPDX-License-Identifier: MIT */
#include "request_check.h"

#include <string.h>

#include "compare.h"
#include "predict_part.h"
#include "report_state.h"
#include "rubric.h"
#include "scaling.h"
#include "slice.h"

#include "poison.h"

#define KEY_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

void ap_context_split(const char *entry, struct ap_text *ret_key, struct ap_text *ret_value)
{
    size_t bytes = strcspn(entry, "=");
    *ret_key = (struct ap_text){ entry, bytes };
    *ret_value = ap_text_of(entry[bytes] ? entry + bytes + 1 : entry + bytes);
}

static enum ap_status check_context(const struct ap_request *request, struct ap_error *reterr)
{
    if (request->context_count > AP_CONTEXT_MAX_COUNT)
        return ap_refuse(reterr, AP_SETTING_CONTEXT, "at most %d labels were expected", AP_CONTEXT_MAX_COUNT);
    for (size_t i = 0; i < request->context_count; i++) {
        struct ap_text key, value, other;
        ap_context_split(request->context[i], &key, &value);
        if (!request->context[i][key.bytes] || !key.bytes || key.bytes > AP_CONTEXT_MAX_KEY_BYTES ||
            strspn(request->context[i], KEY_CHARACTERS) < key.bytes)
            return ap_refuse(reterr, AP_SETTING_CONTEXT,
                             "KEY=VALUE was expected, the key up to %d letters, digits, \"_\", \".\" and \"-\", not '%.80s'",
                             AP_CONTEXT_MAX_KEY_BYTES, request->context[i]);
        for (size_t j = 0; j < i; j++) {
            ap_context_split(request->context[j], &other, &value);
            if (ap_text_equal(key, other))
                return ap_refuse(reterr, AP_SETTING_CONTEXT, "%.*s= is given twice", (int)key.bytes, key.data);
        }
    }
    return AP_OK;
}

enum ap_status ap_request_check_trace(const struct ap_request *request, struct ap_error *reterr)
{
    const struct {
        bool given;
        enum ap_setting setting;
        const char *why;
    } needs[] = { { request->mapping_trace_path, AP_SETTING_MAPPING_TRACE, "it explains the graphs of a trace" },
                  { request->slice, AP_SETTING_SLICE, "a slice is cut from a trace" },
                  { request->what_if_count, AP_SETTING_WHAT_IF, "a trace is replayed for it" } };
    for (size_t i = 0; i < AP_COUNT_OF(needs) && !request->cpu_trace_path && !request->series_count; i++)
        if (needs[i].given)
            return ap_advise(reterr, AP_ADVICE_GIVE_TRACE,
                             ap_refuse(reterr, needs[i].setting, "%s, and %s", needs[i].why,
                                       request->run_path_count ? "no single one is among the files" : "none is given"));
    return AP_OK;
}

enum ap_status ap_request_check(const struct ap_request *request, struct ap_error *reterr)
{
    if (request->series_count > AP_SCALING_MAX_POINTS)
        return ap_refuse(reterr, AP_SETTING_SERIES, "at most %d traces were expected", AP_SCALING_MAX_POINTS);
    if (request->series_count && (request->cpu_trace_path || request->memory_json_path))
        return ap_refuse(reterr, AP_SETTING_SERIES,
                         "the traces of a series stand alone: no other trace and no memory snapshot beside them");
    if (request->run_path_count && (request->cpu_trace_path || request->memory_json_path || request->series_count))
        return ap_fail(reterr, AP_ERROR_USAGE, "the files of a run stand alone: no other trace and no series beside them");
    if (!request->cpu_trace_path && !request->memory_json_path && !request->series_count && !request->run_path_count)
        return ap_advise(reterr, AP_ADVICE_GIVE_INPUT, ap_fail(reterr, AP_ERROR_USAGE, "nothing to analyze"));
    if (request->max_memory_bytes && request->max_memory_bytes < AP_MIN_MAX_MEMORY_BYTES)
        return ap_refuse(reterr, AP_SETTING_MAX_MEMORY, "too small: the program itself needs 32 MiB");
    if (request->focus && !ap_is_focus(ap_text_of(request->focus)))
        return ap_refuse(reterr, AP_SETTING_FOCUS, "cpu, gpu, memory or io was expected, not '%.80s'", request->focus);
    if (request->phase && !ap_is_phase(ap_text_of(request->phase)))
        return ap_refuse(reterr, AP_SETTING_PHASE, "one of %s was expected, not '%.80s'", ap_rubric_phase_names(),
                         request->phase);
    if (request->baseline_path && strcmp(request->baseline_path, "-") == 0)
        return ap_refuse(reterr, AP_SETTING_BASELINE, "a file was expected, not standard input");
    if (request->more_baseline_count >= AP_COMPARE_MAX_RUNS || request->more_run_count >= AP_COMPARE_MAX_RUNS)
        return ap_refuse(reterr, AP_SETTING_BASELINE, "at most %d runs of a side were expected", AP_COMPARE_MAX_RUNS);
    if ((request->more_baseline_count || request->more_run_count) && !request->baseline_path)
        return ap_advise(reterr, AP_ADVICE_GIVE_BASELINE,
                         ap_refuse(reterr, AP_SETTING_RERUN, "more runs are there to be compared with a baseline"));
    if (request->mapping_trace_path && strcmp(request->mapping_trace_path, "-") == 0)
        return ap_refuse(reterr, AP_SETTING_MAPPING_TRACE, "a file was expected, not standard input");
    if (request->slice && request->cpu_trace_path && strcmp(request->cpu_trace_path, "-") == 0)
        return ap_refuse(reterr, AP_SETTING_SLICE,
                         "the trace is read twice for it, which standard input does not allow: give a file");
    if (request->slice)
        AP_TRY(ap_slice_check(request->slice, reterr));
    const struct ap_what_if what_if = { request->what_if, request->what_if_count };
    AP_TRY(ap_what_if_check(&what_if, reterr));
    if (!request->run_path_count)
        AP_TRY(ap_request_check_trace(request, reterr));
    return check_context(request, reterr);
}

enum ap_status ap_request_check_strict(const struct ap_request *request, const struct ap_notes *notes,
                                       struct ap_error *reterr)
{
    for (int i = 0; i < AP_COUNTER_COUNT_ && request->strict; i++) {
        const struct ap_note *note = &notes->notes[i];
        const struct ap_counter_info *info = ap_counter_info((enum ap_counter)i);
        if (!note->count || info->severity < AP_NOTE_loss)
            continue;
        ap_fail_at(reterr, AP_ERROR_INPUT, note->first_offset_bytes, "%s (%s, %llu times)%s%s", info->sentence, info->code,
                   (unsigned long long)note->count, note->detail[0] ? ": " : "", note->detail);
        if (reterr) {
            reterr->has_offset = note->has_offset;
            reterr->setting = AP_SETTING_STRICT;
        }
        return ap_advise(reterr, AP_ADVICE_NOT_STRICT, AP_ERROR_INPUT);
    }
    return AP_OK;
}

void ap_request_note_cut(struct ap_model *model, struct ap_notes *notes)
{
    ap_note_many(notes, AP_COUNTER_text_cut, model->cut_texts);
    model->cut_texts = 0;
}

enum ap_status ap_request_check_report(const struct ap_request *request, const struct ap_report *report,
                                       const char **ret_path, struct ap_error *reterr)
{
    *ret_path = request->cpu_trace_path;
    AP_TRY(ap_request_check_strict(request, &report->trace_notes, reterr));
    *ret_path = request->memory_json_path;
    AP_TRY(ap_request_check_strict(request, &report->memory_notes, reterr));
    *ret_path = NULL;
    AP_TRY(ap_request_check_strict(request, &report->hang_notes, reterr));
    return ap_request_check_strict(request, &report->profile_notes, reterr);
}
