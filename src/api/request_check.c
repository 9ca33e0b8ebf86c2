/* SPDX-License-Identifier: MIT */
#include "request_check.h"

#include <string.h>

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
        return ap_fail(reterr, AP_ERROR_USAGE, "--context is given more than %d times", AP_CONTEXT_MAX_COUNT);
    for (size_t i = 0; i < request->context_count; i++) {
        struct ap_text key, value, other;
        ap_context_split(request->context[i], &key, &value);
        if (!request->context[i][key.bytes] || !key.bytes || key.bytes > AP_CONTEXT_MAX_KEY_BYTES ||
            strspn(request->context[i], KEY_CHARACTERS) < key.bytes)
            return ap_fail(reterr, AP_ERROR_USAGE,
                           "--context takes KEY=VALUE, the key up to %d letters, digits, \"_\", \".\" and \"-\", not '%.80s'",
                           AP_CONTEXT_MAX_KEY_BYTES, request->context[i]);
        for (size_t j = 0; j < i; j++) {
            ap_context_split(request->context[j], &other, &value);
            if (ap_text_equal(key, other))
                return ap_fail(reterr, AP_ERROR_USAGE, "--context %.*s= is given twice", (int)key.bytes, key.data);
        }
    }
    return AP_OK;
}

enum ap_status ap_request_check(const struct ap_request *request, struct ap_error *reterr)
{
    if (request->series_count > AP_SCALING_MAX_POINTS)
        return ap_fail(reterr, AP_ERROR_USAGE, "--series takes at most %d traces", AP_SCALING_MAX_POINTS);
    if (request->series_count && (request->cpu_trace_path || request->memory_json_path))
        return ap_fail(reterr, AP_ERROR_USAGE, "--series takes traces alone: BATCH=FILE each, without --cpu-trace and --memory-json");
    if (!request->cpu_trace_path && !request->memory_json_path && !request->series_count)
        return ap_fail(reterr, AP_ERROR_USAGE, "nothing to analyze: give --cpu-trace FILE, --memory-json FILE, or both");
    if (request->max_memory_bytes && request->max_memory_bytes < AP_MIN_MAX_MEMORY_BYTES)
        return ap_fail(reterr, AP_ERROR_USAGE, "--max-memory is too small: the program itself needs 32 MiB");
    if (request->focus && !ap_is_focus(ap_text_of(request->focus)))
        return ap_fail(reterr, AP_ERROR_USAGE, "--focus takes cpu, gpu, memory or io, not '%.80s'", request->focus);
    if (request->phase && !ap_is_phase(ap_text_of(request->phase)))
        return ap_fail(reterr, AP_ERROR_USAGE, "--phase takes one of %s, not '%.80s'", ap_rubric_phase_names(), request->phase);
    if (request->baseline_path && strcmp(request->baseline_path, "-") == 0)
        return ap_fail(reterr, AP_ERROR_USAGE, "--baseline takes a file, not standard input");
    if (request->slice && !request->cpu_trace_path)
        return ap_fail(reterr, AP_ERROR_USAGE, "--slice needs a trace: give --cpu-trace FILE");
    if (request->slice && strcmp(request->cpu_trace_path, "-") == 0)
        return ap_fail(reterr, AP_ERROR_USAGE, "--slice reads the trace twice, which standard input does not allow: give a file");
    if (request->slice)
        AP_TRY(ap_slice_check(request->slice, reterr));
    return check_context(request, reterr);
}
