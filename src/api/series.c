/* SPDX-License-Identifier: MIT */
#include "series.h"

#include "poison.h"

static enum ap_status take(const struct ap_series_entry *entry, const struct ap_report *report,
                           struct ap_scaling_point *point, struct ap_error *reterr)
{
    *point = (struct ap_scaling_point){ .path = entry->path, .batch = entry->batch };
    if (!point->batch) {
        point->guessed = true;
        if (!ap_scaling_guess(ap_report_root(report), &point->batch))
            return ap_advise(reterr, AP_ADVICE_SAY_BATCH,
                             ap_fail(reterr, AP_ERROR_USAGE, "the batch size is not to be seen in the trace"));
    }
    ap_scaling_take(point, ap_report_root(report));
    return AP_OK;
}

enum ap_status ap_series_read(const struct ap_request *request, struct ap_series *ret_series, const char **ret_path,
                              struct ap_error *reterr)
{
    struct ap_request one = *request;
    one.series = NULL;
    one.series_count = one.fail_on_count = one.what_if_count = 0;
    one.baseline_path = NULL;
    one.with_rows = false;
    ret_series->count = 0;
    for (size_t i = 0; i < request->series_count; i++) {
        struct ap_report *report;
        *ret_path = one.cpu_trace_path = request->series[i].path;
        AP_TRY(ap_report_new(&one, &report, NULL, reterr));
        enum ap_status status = take(&request->series[i], report, &ret_series->points[i], reterr);
        ap_report_free(report);
        if (status != AP_OK)
            return status;
        ret_series->count++;
    }
    return AP_OK;
}

static size_t largest_of(const struct ap_series *series)
{
    size_t largest = 0;
    for (size_t i = 1; i < series->count; i++)
        largest = series->points[i].batch > series->points[largest].batch ? i : largest;
    return largest;
}

const char *ap_series_largest(const struct ap_series *series)
{
    return series->points[largest_of(series)].path;
}

bool ap_series_cost(const struct ap_series *series, int64_t *ret_fixed_ns, int64_t *ret_grows_ns)
{
    return series->count && ap_scaling_latency(series->points, series->count, series->points[largest_of(series)].batch,
                                               ret_fixed_ns, ret_grows_ns);
}
