/* SPDX-License-Identifier: MIT
 * mcp_what_if.c - the tool that predicts what changes would gain. */
#include "mcp_report.h"
#include "model_build.h"
#include "value_text.h"

#include "poison.h"

static void write_prediction(struct ap_out *out, struct ap_text change, const struct ap_value *prediction)
{
    static const char *const times[][2] = { { ": a step of ", "before_us" },
                                            { " takes ", "after_us" },
                                            { ", from ", "after_low_us" },
                                            { " to ", "after_high_us" } };
    char text[AP_VALUE_TEXT_BYTES];
    ap_out_text(out, change);
    if (!prediction || prediction->type != AP_VALUE_OBJECT) {
        ap_out_string(out, ": nothing is predicted, as no row fits or the replay does not\n");
        return;
    }
    for (size_t i = 0; i < AP_COUNT_OF(times); i++) {
        ap_out_string(out, times[i][0]);
        (void)ap_format_value(ap_value_member(prediction, times[i][1]), text, sizeof(text));
        ap_out_string(out, text);
    }
    ap_out_char(out, '\n');
}

static void write_text(struct ap_out *out, const struct ap_value *prediction)
{
    const struct ap_value *together = ap_value_member(prediction, "what_if_together");
    struct ap_text why_not = ap_text_at(prediction, "replay.why_not");
    const struct ap_value *row = ap_value_first(ap_value_member(prediction, "what_if"));
    if (why_not.bytes) {
        ap_out_string(out, "Nothing is predicted: ");
        ap_out_text(out, why_not);
        ap_out_char(out, '\n');
    }
    for (; row && !why_not.bytes; row = row->next)
        write_prediction(out, ap_text_member(row, "change"), ap_value_member(row, "prediction"));
    if (together && together->type == AP_VALUE_OBJECT)
        write_prediction(out, AP_TEXT("All together"), together);
}

static enum ap_status predicted(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    struct ap_out out;
    struct ap_mcp_object object = { .call = call };
    const struct ap_value *prediction = ap_value_member(ap_report_root(report), "prediction");
    ap_out_init(&out, (struct ap_sink){ ap_mcp_text_write, &call->text });
    write_text(&out, prediction);
    AP_TRY(ap_out_finish(&out, reterr));
    for (const struct ap_value *member = ap_value_first(prediction); member; member = member->next)
        if (!ap_text_is(member->key, "findings"))
            AP_TRY(ap_mcp_object_add(&object, member->key.data, member, NULL, reterr));
    return ap_mcp_object_end(&object, reterr);
}

enum ap_status ap_mcp_what_if(struct ap_mcp_call *call, struct ap_error *reterr)
{
    return ap_mcp_with_report(call, predicted, reterr);
}
