/* SPDX-License-Identifier: MIT
 * mcp_calls.c - the tools about a run as a whole. */
#include <string.h>

#include "mcp_report.h"

#include "poison.h"

/* ---- analyze ---- */

static enum ap_status analyzed(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    static const char *const members[] = { "id",         "rule_id",    "title",    "severity",    "confidence",
                                           "bottleneck", "domain",     "saves_us", "saves_bytes", "gain",
                                           "action",     "validation", NULL };
    static const char *const verdict[] = { "bound", "sentence", "confidence", "dur_us", "judged_ratio", NULL };
    const struct ap_value *root = ap_report_root(report);
    struct ap_mcp_object object = { .call = call };
    uint64_t tokens = (call->text.max_bytes - call->text.bytes) / AP_BYTES_PER_TOKEN;
    AP_TRY(ap_report_write_digest(report, tokens, ap_mcp_text_write, &call->text, reterr));
    AP_TRY(ap_mcp_object_add(&object, "verdict", ap_value_member(root, "verdict"), verdict, reterr));
    if (ap_value_member(root, "cluster")) {
        static const char *const of_run[] = { "kind", "sentence", NULL };
        AP_TRY(ap_mcp_object_add(&object, "run_verdict", ap_value_at(root, "cluster.verdict"), of_run, reterr));
    }
    AP_TRY(ap_mcp_object_add_rows(&object, "findings", ap_value_member(root, "findings"), members, false, reterr));
    AP_TRY(ap_mcp_object_add(&object, "warnings", ap_value_member(root, "warnings"), NULL, reterr));
    return ap_mcp_object_end(&object, reterr);
}

enum ap_status ap_mcp_analyze(struct ap_mcp_call *call, struct ap_error *reterr)
{
    return ap_mcp_with_report(call, analyzed, reterr);
}

/* ---- compare ---- */

/* The part of a report in Markdown that begins with @heading. Names of an input never begin a line with "## ". */
static struct ap_text section_of(struct ap_text markdown, const char *heading)
{
    size_t begin = 0, length = strlen(heading);
    for (size_t at = 0; at < markdown.bytes; at++) {
        if (at && markdown.data[at - 1] != '\n')
            continue;
        if (markdown.bytes - at > length && memcmp(markdown.data + at, heading, length) == 0)
            begin = at + 1;
        else if (begin && markdown.bytes - at > 3 && memcmp(markdown.data + at, "## ", 3) == 0)
            return (struct ap_text){ markdown.data + begin - 1, at - begin + 1 };
    }
    return begin ? (struct ap_text){ markdown.data + begin - 1, markdown.bytes - begin + 1 } : (struct ap_text){ "", 0 };
}

#define MARKDOWN_MAX_BYTES ((size_t)8 << 20)

static enum ap_status write_section(struct ap_mcp_call *call, const struct ap_report *report, const char *heading,
                                    struct ap_error *reterr)
{
    struct ap_mcp_text markdown;
    ap_mcp_text_init(&markdown, call->gate, MARKDOWN_MAX_BYTES);
    enum ap_status status = ap_report_write_markdown(report, AP_EXTENT_WHOLE, ap_mcp_text_write, &markdown, reterr);
    if (status == AP_OK) {
        struct ap_text section = section_of((struct ap_text){ markdown.data, markdown.bytes }, heading);
        status = ap_mcp_text_write(&call->text, section.data, section.bytes, reterr);
    }
    ap_mcp_text_release(&markdown);
    return status;
}

static enum ap_status compared(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    static const char *const lists[][2] = { { "split", "split.parts" },
                                            { "device_operators", "device_operators.rows" },
                                            { "host_operators", "host_operators.rows" },
                                            { "kernels", "kernels.rows" },
                                            { "figures", "figures" },
                                            { "memory", "memory" } };
    static const char *const whole[] = { "verdict", "baseline", "runs",  "largest",  "steps",
                                         "noise",   "notes",    "types", "replaced", "layout" };
    const struct ap_value *root = ap_report_root(report), *comparison = ap_value_member(root, "comparison");
    struct ap_mcp_object object = { .call = call };
    AP_TRY(write_section(call, report, "## Compared with the baseline\n", reterr));
    for (size_t i = 0; i < AP_COUNT_OF(whole); i++)
        AP_TRY(ap_mcp_object_add(&object, whole[i], ap_value_member(comparison, whole[i]), NULL, reterr));
    if (ap_value_member(call->arguments, "conditions"))
        AP_TRY(ap_mcp_object_add(&object, "conditions", ap_value_member(root, "conditions"), NULL, reterr));
    AP_TRY(ap_mcp_object_add_rows(&object, "findings", ap_value_at(comparison, "findings.rows"), NULL, true, reterr));
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++)
        AP_TRY(ap_mcp_object_add_rows(&object, lists[i][0], ap_value_at(comparison, lists[i][1]), NULL, true, reterr));
    return ap_mcp_object_end(&object, reterr);
}

enum ap_status ap_mcp_compare(struct ap_mcp_call *call, struct ap_error *reterr)
{
    return ap_mcp_with_report(call, compared, reterr);
}
