/* SPDX-License-Identifier: MIT
 * mcp_what_if.c - the tool that predicts what changes would gain. */
#include <stdio.h>

#include "mcp_report.h"
#include "model_build.h"
#include "value_text.h"

#include "poison.h"

static enum ap_status write_time(struct ap_mcp_call *call, const struct ap_value *of, const char *key, const char *before,
                                 struct ap_error *reterr)
{
    char text[AP_VALUE_TEXT_BYTES];
    const struct ap_value *value = ap_value_member(of, key);
    AP_TRY(ap_mcp_text_add(&call->text, before, reterr));
    (void)ap_format_value(value, text, sizeof(text));
    return ap_mcp_text_add(&call->text, text, reterr);
}

static enum ap_status write_prediction(struct ap_mcp_call *call, struct ap_text change, const struct ap_value *prediction,
                                       struct ap_error *reterr)
{
    AP_TRY(ap_mcp_text_write(&call->text, change.data, change.bytes, reterr));
    if (!prediction || prediction->type != AP_VALUE_OBJECT)
        return ap_mcp_text_add(&call->text, ": nothing is predicted, as no row fits or the replay does not\n", reterr);
    AP_TRY(write_time(call, prediction, "before_us", ": a step of ", reterr));
    AP_TRY(write_time(call, prediction, "after_us", " takes ", reterr));
    AP_TRY(write_time(call, prediction, "after_low_us", ", from ", reterr));
    AP_TRY(write_time(call, prediction, "after_high_us", " to ", reterr));
    return ap_mcp_text_add(&call->text, "\n", reterr);
}

static enum ap_status write_all(struct ap_mcp_call *call, const struct ap_value *prediction, struct ap_error *reterr)
{
    struct ap_mcp_object object = { .call = call };
    const struct ap_value *together = ap_value_member(prediction, "what_if_together");
    struct ap_text why_not = ap_text_at(prediction, "replay.why_not");
    const struct ap_value *row = ap_value_first(ap_value_member(prediction, "what_if"));
    if (why_not.bytes) {
        AP_TRY(ap_mcp_text_add(&call->text, "Nothing is predicted: ", reterr));
        AP_TRY(ap_mcp_text_write(&call->text, why_not.data, why_not.bytes, reterr));
        AP_TRY(ap_mcp_text_add(&call->text, "\n", reterr));
    }
    for (; row && !why_not.bytes; row = row->next)
        AP_TRY(write_prediction(call, ap_text_member(row, "change"), ap_value_member(row, "prediction"), reterr));
    if (together && together->type == AP_VALUE_OBJECT)
        AP_TRY(write_prediction(call, AP_TEXT("All together"), together, reterr));
    for (const struct ap_value *member = ap_value_first(prediction); member; member = member->next)
        if (!ap_text_is(member->key, "findings"))
            AP_TRY(ap_mcp_object_add(&object, member->key.data, member, NULL, reterr));
    return ap_mcp_object_end(&object, reterr);
}

enum ap_status ap_mcp_what_if(struct ap_mcp_call *call, struct ap_error *reterr)
{
    struct ap_report *report;
    AP_TRY(ap_mcp_report_get(call, &report, reterr));
    enum ap_status status = write_all(call, ap_value_member(ap_report_root(report), "prediction"), reterr);
    ap_mcp_report_put(call, report);
    return status;
}
