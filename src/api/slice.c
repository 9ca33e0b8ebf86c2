/* SPDX-License-Identifier: MIT */
#include "slice.h"

#include <string.h>

#include "decimal.h"
#include "finding_id.h"
#include "model_build.h"

#include "poison.h"

/* "12.5", "12.5us", "3ms", "1.2s"; empty = @otherwise. */
static bool read_time(struct ap_text text, int64_t otherwise, int64_t *ret_ns)
{
    static const struct {
        const char *unit;
        int64_t us;
    } units[] = { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { "", 1 } };
    int64_t ns;
    *ret_ns = otherwise;
    if (!text.bytes)
        return true;
    size_t digits = 0;
    while (digits < text.bytes && strchr("0123456789.", text.data[digits]))
        digits++;
    struct ap_text unit = { text.data + digits, text.bytes - digits };
    bool zeros = digits > 1 && text.data[0] == '0' && text.data[1] != '.';
    if (!digits || zeros || text.data[0] == '.' || text.data[digits - 1] == '.')
        return false;
    for (size_t i = 0, dots = 0; i < digits; i++) {
        dots += text.data[i] == '.';
        if (dots > 1)
            return false;
    }
    for (size_t i = 0; i < AP_COUNT_OF(units); i++) {
        if (!ap_text_is(unit, units[i].unit))
            continue;
        if (ap_decimal_us_to_ns(text.data, digits, &ns) == AP_DECIMAL_OUT_OF_RANGE || ns > AP_MAX_TIME_NS / units[i].us)
            return false;
        *ret_ns = ns * units[i].us;
        return true;
    }
    return false;
}

static bool read_times(const char *text, int64_t last_ns, struct ap_copy_slice *ret_times)
{
    const char *colon = strchr(text, ':');
    if (!colon || (colon == text && !colon[1]))
        return false;
    return read_time((struct ap_text){ text, (size_t)(colon - text) }, 0, &ret_times->start_ns) &&
           read_time(ap_text_of(colon + 1), last_ns, &ret_times->end_ns) && ret_times->start_ns < ret_times->end_ns;
}

enum ap_status ap_slice_check(const char *text, struct ap_error *reterr)
{
    struct ap_copy_slice times;
    if (ap_finding_is_name(text) || read_times(text, AP_MAX_TIME_NS, &times))
        return AP_OK;
    return ap_refuse(reterr, AP_SETTING_SLICE,
                     "START:END with START below END was expected, such as 100ms:250ms, or a finding (finding:1, "
                     "finding:ID), not '%.80s'",
                     text);
}

/* Around its first place: those that follow may be anywhere in the recording. */
static enum ap_status around_finding(const char *id, const struct ap_value *root, struct ap_copy_slice *ret_slice,
                                     struct ap_error *reterr)
{
    const struct ap_value *finding = ap_finding_named(root, id);
    if (!finding)
        return ap_refuse(reterr, AP_SETTING_SLICE, "the report has no such finding as '%.80s'", id);
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    int64_t start_ns = ap_integer_member(place, "start_us", INT64_MIN);
    int64_t dur_ns = ap_integer_member(place, "dur_us", -1);
    if (start_ns == INT64_MIN || dur_ns < 0)
        return ap_refuse(reterr, AP_SETTING_SLICE, "'%.80s' is about no place in the trace: give START:END", id);
    *ret_slice = (struct ap_copy_slice){ start_ns, start_ns + dur_ns };
    ap_copy_slice_widen(ret_slice);
    return AP_OK;
}

enum ap_status ap_slice_resolve(const char *text, const struct ap_copy_slice *window, const struct ap_value *root,
                                struct ap_copy_slice *ret_slice, struct ap_error *reterr)
{
    struct ap_copy_slice times;
    AP_TRY(ap_slice_check(text, reterr));
    if (ap_finding_is_name(text))
        return around_finding(text, root, ret_slice, reterr);
    if (!read_times(text, AP_MAX_TIME_NS, &times))
        return ap_slice_check(text, reterr);
    bool as_written = times.start_ns >= window->start_ns && window->start_ns > 0;
    if (!as_written) {
        times.start_ns += window->start_ns;
        times.end_ns = times.end_ns > AP_MAX_TIME_NS - window->start_ns ? AP_MAX_TIME_NS : times.end_ns + window->start_ns;
    }
    if (times.start_ns > window->end_ns)
        return ap_refuse(reterr, AP_SETTING_SLICE, "the recording ends before '%.80s'", text);
    *ret_slice = times;
    return AP_OK;
}
