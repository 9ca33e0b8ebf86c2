/* SPDX-License-Identifier: MIT
 * questions.c - questions to a report, and to the program about its rules and figures. */
#include "analyze_profile/analyze_profile.h"
#include "explain.h"
#include "known_table.h"
#include "report.h"
#include "report_state.h"
#include "text_file.h"

#include "poison.h"

void ap_report_set_stop(struct ap_report *report, const char *(*stop)(void *stop_self), void *stop_self)
{
    report->gate.stop = stop;
    report->gate.stop_self = stop_self;
}

static enum ap_status check_query(struct ap_report *report, const struct ap_value *root, struct ap_error *reterr)
{
    if (!report->keeps_rows)
        return ap_fail(reterr, AP_ERROR_USAGE, "the report keeps no rows: it was made without with_rows");
    report->query.gate = &report->gate;
    report->query.root = root;
    report->query.words = report->words;
    report->query.facts = report->facts.trace ? &report->facts : NULL;
    report->query.snapshot = report->snapshot;
    return AP_OK;
}

enum ap_status ap_table_query_check(const struct ap_table_query *query, struct ap_error *reterr)
{
    return ap_known_table_check(query, reterr);
}

static void begin_redaction(struct ap_report *report, struct ap_redaction *redaction)
{
    ap_redaction_init(redaction, &report->gate);
    report->query.redaction = report->redact ? redaction : NULL;
}

enum ap_status ap_report_write_table(struct ap_report *report, const struct ap_table_query *query, ap_write_fn *write,
                                     void *write_self, struct ap_error *reterr)
{
    AP_TRY(check_query(report, &report->model.root, reterr));
    struct ap_redaction redaction;
    begin_redaction(report, &redaction);
    enum ap_status status = ap_query_table(&report->query, query, (struct ap_sink){ write, write_self }, reterr);
    ap_redaction_release(&redaction);
    return status;
}

enum ap_status ap_report_write_around(struct ap_report *report, const struct ap_around_query *query, ap_write_fn *write,
                                      void *write_self, struct ap_error *reterr)
{
    AP_TRY(check_query(report, &report->model.root, reterr));
    struct ap_redaction redaction;
    begin_redaction(report, &redaction);
    enum ap_status status = ap_query_around(&report->query, query, (struct ap_sink){ write, write_self }, reterr);
    ap_redaction_release(&redaction);
    return status;
}

enum ap_status ap_report_write_summary(const struct ap_report *report, const struct ap_summary_options *options,
                                       ap_write_fn *write, void *write_self, struct ap_error *reterr)
{
    return ap_write_summary(&report->model, options, (struct ap_sink){ write, write_self }, reterr);
}

enum ap_status ap_report_write_digest(const struct ap_report *report, uint64_t tokens, ap_write_fn *write, void *write_self,
                                      struct ap_error *reterr)
{
    return ap_write_digest(&report->model, tokens, report->words, (struct ap_sink){ write, write_self }, reterr);
}

struct ap_listing {
    struct ap_gate gate;
    struct ap_model model;
    const struct ap_value *rows;
};

static enum ap_status new_listing(const struct ap_rubric *rubric, struct ap_listing **ret_listing, struct ap_error *reterr)
{
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    struct ap_listing *listing = ap_mem_cleared(&gate, sizeof(*listing));
    if (!listing)
        return ap_fail_memory(&gate, reterr);
    ap_gate_init(&listing->gate, 0);
    ap_model_init(&listing->model, &listing->gate);
    enum ap_status status = ap_list_fill(rubric, &listing->model, &listing->rows, reterr);
    if (status == AP_OK)
        *ret_listing = listing;
    else
        ap_listing_free(listing);
    return status;
}

enum ap_status ap_rules_list(const char *rubric_path, struct ap_listing **ret_listing, struct ap_error *reterr)
{
    struct ap_gate gate;
    struct ap_rubric *rubric;
    ap_gate_init(&gate, 0);
    AP_TRY(ap_rubric_read(&gate, rubric_path, &rubric, reterr));
    enum ap_status status = new_listing(rubric, ret_listing, reterr);
    ap_rubric_free(rubric);
    return status;
}

enum ap_status ap_figures_list(struct ap_listing **ret_listing, struct ap_error *reterr)
{
    return new_listing(NULL, ret_listing, reterr);
}

const struct ap_value *ap_listing_rows(const struct ap_listing *listing)
{
    return listing->rows;
}

enum ap_status ap_listing_write(struct ap_listing *listing, enum ap_format format, ap_write_fn *write, void *write_self,
                                struct ap_error *reterr)
{
    return ap_list_write(listing->rows, &listing->gate, format, (struct ap_sink){ write, write_self }, reterr);
}

void ap_listing_free(struct ap_listing *listing)
{
    struct ap_gate gate;
    if (!listing)
        return;
    ap_model_release(&listing->model);
    ap_gate_init(&gate, 0);
    ap_mem_free(&gate, listing, sizeof(*listing));
}

enum ap_status ap_write_explanation(const char *id, const struct ap_report *report, const char *rubric_path,
                                    enum ap_format format, ap_write_fn *write, void *write_self, struct ap_error *reterr)
{
    struct ap_gate gate;
    struct ap_rubric *rubric;
    ap_gate_init(&gate, 0);
    AP_TRY(ap_rubric_read(&gate, rubric_path, &rubric, reterr));
    enum ap_status status = ap_explain(rubric, id, report ? &report->model.root : NULL, &gate, format,
                                       (struct ap_sink){ write, write_self }, reterr);
    ap_rubric_free(rubric);
    return status;
}
