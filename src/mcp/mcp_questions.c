/* SPDX-License-Identifier: MIT
 * mcp_questions.c - the tools that look closer: at a rule or figure, at a table, at what is around a row. Each answers in
 * text and as an object; the object is left out where it does not fit. */
#include <string.h>

#include "mcp_report.h"
#include "model_build.h"

#include "poison.h"

/* ---- explain ---- */

static enum ap_status explained(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    const char *id = ap_mcp_text_argument(call, "id");
    AP_TRY(ap_write_explanation(id, report, NULL, AP_FORMAT_TEXT, ap_mcp_text_write, &call->text, reterr));
    return ap_write_explanation(id, report, NULL, AP_FORMAT_JSON, ap_mcp_text_write_json, &call->object, reterr);
}

enum ap_status ap_mcp_explain(struct ap_mcp_call *call, struct ap_error *reterr)
{
    return ap_value_member(call->arguments, "paths") ? ap_mcp_with_report(call, explained, reterr)
                                                     : explained(call, NULL, reterr);
}

/* ---- capture ---- */

static void write_advice(struct ap_out *out, const struct ap_value *capture)
{
    static const char *const codes[] = { "trace_snippet", "snapshot_snippet" };
    const struct ap_value *reason = ap_value_first(ap_value_member(capture, "reasons"));
    if (!reason)
        ap_out_string(out, "Nothing that could be judged is missing.\n");
    for (; reason; reason = reason->next) {
        ap_out_text(out, ap_text_member(reason, "option"));
        ap_out_string(out, ": ");
        ap_out_text(out, ap_text_member(reason, "text"));
        ap_out_char(out, '\n');
    }
    for (size_t i = 0; i < AP_COUNT_OF(codes); i++) {
        struct ap_text code = ap_text_member(capture, codes[i]);
        ap_out_string(out, code.bytes ? "\n" : "");
        ap_out_text(out, code);
    }
}

/* What a report says of the next recording. */
static enum ap_status advised(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    struct ap_out out;
    struct ap_mcp_object object = { .call = call };
    const struct ap_value *capture = ap_value_member(ap_report_root(report), "capture");
    ap_out_init(&out, (struct ap_sink){ ap_mcp_text_write, &call->text });
    write_advice(&out, capture);
    AP_TRY(ap_out_finish(&out, reterr));
    for (const struct ap_value *member = ap_value_first(capture); member; member = member->next)
        AP_TRY(ap_mcp_object_add(&object, member->key.data, member, NULL, reterr));
    return ap_mcp_object_end(&object, reterr);
}

enum ap_status ap_mcp_capture(struct ap_mcp_call *call, struct ap_error *reterr)
{
    struct ap_mcp_object object = { .call = call };
    struct ap_value code = { .type = AP_VALUE_TEXT, .as.text = ap_text_of(ap_capture_snippet()) };
    if (ap_value_member(call->arguments, "paths"))
        return ap_mcp_with_report(call, advised, reterr);
    AP_TRY(ap_mcp_text_add(&call->text, ap_capture_snippet(), reterr));
    AP_TRY(ap_mcp_object_add(&object, "code", &code, NULL, reterr));
    return ap_mcp_object_end(&object, reterr);
}

/* ---- list_metrics ---- */

#define NEEDLE_BYTES 128

static enum ap_status lower_needle(const struct ap_mcp_call *call, char needle[NEEDLE_BYTES], struct ap_error *reterr)
{
    const char *text = ap_mcp_text_argument(call, "contains");
    size_t bytes = text ? strlen(text) : 0;
    if (bytes >= NEEDLE_BYTES)
        return ap_fail(reterr, AP_ERROR_USAGE, "contains takes at most %d bytes", NEEDLE_BYTES - 1);
    for (size_t i = 0; i < bytes; i++)
        needle[i] = ap_folded(text[i]);
    needle[bytes] = '\0';
    return AP_OK;
}

static bool any_text_contains(const struct ap_value *row, const char *needle)
{
    for (const struct ap_value *member = ap_value_first(row); member; member = member->next)
        if (ap_text_contains_folded(ap_value_text(member), needle))
            return true;
    return !*needle;
}

/* The first rows that have the text in one of their members, as a list whose rows are lent; returns how many have it. */
static int64_t pick_rows(const struct ap_value *rows, const char *needle, int64_t limit, struct ap_model *model)
{
    int64_t count = 0;
    struct ap_value *list = ap_add_list(model, &model->root, "rows");
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next)
        if (any_text_contains(row, needle) && count++ < limit)
            ap_add_object(model, list, NULL)->as = row->as;
    return count;
}

static void write_row(struct ap_out *out, const struct ap_value *row)
{
    const char *before = "";
    for (const struct ap_value *member = ap_value_first(row); member; member = member->next) {
        struct ap_text part = ap_value_text(member);
        if (!part.bytes)
            continue;
        ap_out_string(out, before);
        ap_out_text(out, part);
        before = " | ";
    }
    ap_out_char(out, '\n');
}

static enum ap_status write_list(struct ap_mcp_call *call, const struct ap_value *picked, int64_t total_count,
                                 int64_t matched_count, struct ap_error *reterr)
{
    struct ap_mcp_object object = { .call = call };
    struct ap_value total = { .type = AP_VALUE_COUNT, .as.integer = total_count };
    struct ap_value matched = { .type = AP_VALUE_COUNT, .as.integer = matched_count };
    struct ap_out out;
    ap_out_init(&out, (struct ap_sink){ ap_mcp_text_write, &call->text });
    for (const struct ap_value *row = ap_value_first(picked); row; row = row->next)
        write_row(&out, row);
    ap_out_string(&out, matched_count ? "" : "none\n");
    AP_TRY(ap_out_finish(&out, reterr));
    AP_TRY(ap_mcp_object_add(&object, "total_count", &total, NULL, reterr));
    AP_TRY(ap_mcp_object_add(&object, "matched_count", &matched, NULL, reterr));
    AP_TRY(ap_mcp_object_add_rows(&object, "rows", picked, NULL, false, reterr));
    return ap_mcp_object_end(&object, reterr);
}

static enum ap_status list_from(struct ap_mcp_call *call, const struct ap_value *rows, struct ap_error *reterr)
{
    char needle[NEEDLE_BYTES];
    struct ap_model model;
    AP_TRY(lower_needle(call, needle, reterr));
    ap_model_init(&model, call->gate);
    int64_t matched = pick_rows(rows, needle, ap_mcp_whole_argument(call, "limit", AP_MCP_DEFAULT_LIST), &model);
    enum ap_status status = ap_model_status(&model, reterr);
    if (status == AP_OK)
        status = write_list(call, ap_value_first(&model.root), (int64_t)ap_value_count(rows), matched, reterr);
    ap_model_release(&model);
    return status;
}

enum ap_status ap_mcp_list_metrics(struct ap_mcp_call *call, struct ap_error *reterr)
{
    const char *of = ap_mcp_text_argument(call, "of");
    struct ap_listing *listing;
    AP_TRY(of && strcmp(of, "rules") == 0 ? ap_rules_list(NULL, &listing, reterr) : ap_figures_list(&listing, reterr));
    enum ap_status status = list_from(call, ap_listing_rows(listing), reterr);
    ap_listing_free(listing);
    return status;
}

/* ---- table and around ---- */

/* The list of tables is whole: it is where a client learns what there is. */
static struct ap_table_query table_query(const struct ap_mcp_call *call)
{
    const char *name = ap_mcp_text_argument(call, "name");
    int64_t otherwise = name && strcmp(name, "tables") == 0 ? 0 : AP_MCP_DEFAULT_ROWS;
    return (struct ap_table_query){ .name = name,
                                    .where = ap_mcp_text_argument(call, "where"),
                                    .sort = ap_mcp_text_argument(call, "sort"),
                                    .columns = ap_mcp_text_argument(call, "columns"),
                                    .limit = (uint64_t)ap_mcp_whole_argument(call, "limit", otherwise),
                                    .format = AP_FORMAT_TEXT };
}

/* Text and object are the same JSON. */
static enum ap_status tabulated_short(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    struct ap_table_query query = table_query(call);
    query.format = AP_FORMAT_COMPACT;
    AP_TRY(ap_report_write_table(report, &query, ap_mcp_text_write, &call->text, reterr));
    return ap_report_write_table(report, &query, ap_mcp_text_write_json, &call->object, reterr);
}

static enum ap_status tabulated(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    struct ap_table_query query = table_query(call);
    const char *form = ap_mcp_text_argument(call, "form");
    if (form && strcmp(form, "compact") == 0)
        return tabulated_short(call, report, reterr);
    AP_TRY(ap_report_write_table(report, &query, ap_mcp_text_write, &call->text, reterr));
    query.format = AP_FORMAT_JSON;
    return ap_report_write_table(report, &query, ap_mcp_text_write_json, &call->object, reterr);
}

static enum ap_status surrounded(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr)
{
    struct ap_around_query query = { .id = ap_mcp_text_argument(call, "id"),
                                     .limit = (uint64_t)ap_mcp_whole_argument(call, "limit", AP_MCP_DEFAULT_AROUND),
                                     .format = AP_FORMAT_TEXT };
    AP_TRY(ap_report_write_around(report, &query, ap_mcp_text_write, &call->text, reterr));
    query.format = AP_FORMAT_JSON;
    return ap_report_write_around(report, &query, ap_mcp_text_write_json, &call->object, reterr);
}

enum ap_status ap_mcp_table(struct ap_mcp_call *call, struct ap_error *reterr)
{
    struct ap_table_query query = table_query(call);
    AP_TRY(ap_table_query_check(&query, reterr));
    return ap_mcp_with_report(call, tabulated, reterr);
}

enum ap_status ap_mcp_around(struct ap_mcp_call *call, struct ap_error *reterr)
{
    return ap_mcp_with_report(call, surrounded, reterr);
}
