/* SPDX-License-Identifier: MIT
 * write_junit.c - the conditions as JUnit XML, the form in which build servers read test results: each is a test case that
 * passes, fails, or is skipped where its figure is not known. No clock and no host name: the same bytes for the same tree.
 */
#include "code_point.h"
#include "document.h"
#include "report.h"

#include "poison.h"

/* For attributes and for text alike. */
static void write_escaped(struct ap_out *out, struct ap_text text)
{
    char bytes[4];
    for (size_t at = 0; at < text.bytes;) {
        uint32_t point = ap_code_point_next(text, &at);
        switch (point) {
        case '&': ap_out_string(out, "&amp;"); break;
        case '<': ap_out_string(out, "&lt;"); break;
        case '>': ap_out_string(out, "&gt;"); break;
        case '"': ap_out_string(out, "&quot;"); break;
        case '\t':
        case '\n':
        case '\r': ap_out_format(out, "&#%u;", (unsigned)point); break;
        default:
            point = !ap_code_point_is_hidden(point) ? point : AP_CODE_POINT_REPLACEMENT;
            ap_out_text(out, (struct ap_text){ bytes, ap_code_point_encode(point, bytes) });
        }
    }
}

static bool is_known(const struct ap_value *condition)
{
    const struct ap_value *held = ap_value_member(condition, "held");
    return held && held->type == AP_VALUE_BOOL;
}

static bool is_held(const struct ap_value *condition)
{
    return is_known(condition) && ap_integer_member(condition, "held", 0) == 1;
}

static void write_outcome(struct ap_out *out, const char *element, const struct ap_value *condition)
{
    ap_out_format(out, "      <%s message=\"", element);
    write_escaped(out, ap_text_member(condition, "text"));
    ap_out_string(out, "\"/>\n");
}

static void write_case(struct ap_out *out, const struct ap_value *condition)
{
    ap_out_string(out, "    <testcase classname=\"analyze_profile.");
    write_escaped(out, ap_text_member(condition, "kind"));
    ap_out_string(out, "\" name=\"");
    write_escaped(out, ap_text_member(condition, "condition"));
    ap_out_string(out, "\" time=\"0\">\n");
    if (!is_known(condition))
        write_outcome(out, "skipped", condition);
    else if (is_held(condition))
        write_outcome(out, "failure", condition);
    ap_out_string(out, "      <system-out>");
    write_escaped(out, ap_text_member(condition, "text"));
    ap_out_string(out, "</system-out>\n    </testcase>\n");
}

enum ap_status ap_write_junit(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_out out;
    const struct ap_value *conditions = ap_value_member(&model->root, "conditions"), *first = ap_value_first(conditions);
    unsigned count = 0, failed = 0, skipped = 0;
    for (const struct ap_value *condition = first; condition; condition = condition->next) {
        count++;
        failed += is_held(condition);
        skipped += !is_known(condition);
    }
    ap_out_init(&out, sink);
    ap_out_string(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    ap_out_format(
        &out, "  <testsuite name=\"analyze_profile\" tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"0\">\n",
        count, failed, skipped);
    for (const struct ap_value *condition = first; condition; condition = condition->next)
        write_case(&out, condition);
    ap_out_string(&out, "  </testsuite>\n</testsuites>\n");
    return ap_out_finish(&out, reterr);
}
