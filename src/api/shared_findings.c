/* SPDX-License-Identifier: MIT
 * shared_findings.c - no rank lags: then the weightiest is what all of them do alike. Two ranks stand for all. */
#include "shared_findings.h"

#include <stdio.h>

#include "rule.h"

#include "poison.h"

/* A reader wants the weightiest; the report on one rank has them all. */
#define SHARED_MAX 3
#define OBSERVATION_BYTES 4096
#define TOLD_BYTES 3900 /* of it, behind the names of two ranks */

static struct ap_value *findings_of(struct ap_report *report)
{
    struct ap_value *value = report->model.root.as.children.first;
    while (value && !ap_text_is(value->key, "findings"))
        value = value->next;
    return value;
}

static bool is_remark(const struct ap_value *finding)
{
    return ap_text_is(ap_text_member(finding, "severity"), "info");
}

static const struct ap_rule *rule_of(const struct ap_rubric *rubric, const struct ap_value *finding)
{
    return ap_rubric_find(rubric, ap_text_member(finding, "rule_id"));
}

/* Without its rule, none: another rubric was written in place of the one that was read. */
static bool is_own(const struct ap_rubric *rubric, const struct ap_value *finding)
{
    const struct ap_rule *rule = rule_of(rubric, finding);
    return rule && !rule->not_among_ranks && !is_remark(finding) && ap_integer_member(finding, "saves_us", 0) > 0;
}

static void add_severity(struct ap_model *model, struct ap_value *to, const struct ap_rule *rule, struct ap_text severity)
{
    bool is_above = ap_severity_rank(severity) > (int)rule->among_ranks;
    ap_add_text(model, to, "severity", is_above ? ap_text_of(ap_severity_names[rule->among_ranks]) : severity);
}

/* The traces of all ranks are there. */
static void add_missing(struct ap_model *model, struct ap_value *to, const struct ap_value *missing)
{
    size_t ranks;
    struct ap_value *list = ap_add_list(model, to, "missing");
    (void)ap_artifact_find(ap_text_of("other-ranks"), &ranks);
    for (const struct ap_value *what = ap_value_first(missing); what; what = what->next)
        if (!ap_text_is(ap_value_text(what), ap_artifact_request(ranks)))
            ap_add_copy(model, list, what);
}

static const struct ap_value *same_of(const struct ap_rubric *rubric, const struct ap_value *findings,
                                      const struct ap_value *finding)
{
    struct ap_text id = ap_text_member(finding, "rule_id");
    const struct ap_value *other = ap_value_first(findings);
    while (other && !(ap_text_equal(ap_text_member(other, "rule_id"), id) && is_own(rubric, other)))
        other = other->next;
    return other;
}

/* ------------------------------------------------------------------------------------------------------- two ranks */

struct pair {
    const struct ap_run_file *files[2];
    struct ap_report *reports[2];
};

/* The first trace whose rank is known, and the last one of another rank. */
static bool find_pair(const struct ap_run_files *files, struct pair *pair)
{
    for (size_t at = 0; (at = ap_run_files_next(files, AP_FILE_trace, at)) < files->count; at++) {
        const struct ap_run_file *file = &files->files[at];
        if (file->head.rank >= 0 && !pair->files[0])
            pair->files[0] = file;
        else if (file->head.rank >= 0 && file->head.rank != pair->files[0]->head.rank)
            pair->files[1] = file;
    }
    return pair->files[1];
}

/* @most_bytes: what is left of the run's bound; 0 = it has none. */
static enum ap_status analyze(const struct ap_run_file *file, const struct ap_request *request, uint64_t most_bytes,
                              struct ap_report **ret_report)
{
    struct ap_error ignored;
    struct ap_request one = *request;
    one.cpu_trace_path = file->path;
    one.run_paths = NULL;
    one.baseline_path = NULL;
    one.run_path_count = one.more_baseline_count = one.more_run_count = 0;
    one.fail_on_count = one.what_if_count = 0;
    one.with_ranks = one.with_tracks = one.with_folded = one.with_rows = one.with_pictures = one.has_rank = false;
    one.slice = NULL;
    one.helpers = NULL;
    one.max_memory_bytes = most_bytes;
    return ap_report_new(&one, ret_report, NULL, &ignored);
}

/* ------------------------------------------------------------------------------------------------------------ copying */

static void add_observation(struct ap_model *model, struct ap_value *to, struct ap_text told, const struct pair *pair)
{
    char text[OBSERVATION_BYTES];
    struct ap_text shown = ap_text_cut(told, TOLD_BYTES);
    (void)snprintf(text, sizeof(text), "on rank %lld, and on rank %lld likewise: %.*s%s",
                   (long long)pair->files[0]->head.rank, (long long)pair->files[1]->head.rank, (int)shown.bytes, shown.data,
                   shown.bytes < told.bytes ? "..." : "");
    ap_add_string(model, to, "observation", text);
}

static void add_shared(const struct pair *pair, const struct ap_rubric *rubric, struct ap_model *model, struct ap_value *to)
{
    const struct ap_value *findings[2];
    size_t count = 0;
    for (int i = 0; i < 2; i++)
        findings[i] = ap_value_member(ap_report_root(pair->reports[i]), "findings");
    for (const struct ap_value *finding = ap_value_first(findings[0]); finding; finding = finding->next) {
        const struct ap_value *other = is_own(rubric, finding) ? same_of(rubric, findings[1], finding) : NULL;
        if (!other || count++ >= SHARED_MAX)
            continue;
        bool less = ap_integer_member(other, "saves_us", 0) < ap_integer_member(finding, "saves_us", 0);
        const struct ap_value *member = ap_value_first(less ? other : finding);
        struct ap_value *copy = ap_add_object(model, to, NULL);
        for (; member; member = member->next)
            if (ap_text_is(member->key, "observation"))
                add_observation(model, copy, member->as.text, pair);
            else if (ap_text_is(member->key, "severity"))
                add_severity(model, copy, rule_of(rubric, finding), member->as.text);
            else if (ap_text_is(member->key, "missing"))
                add_missing(model, copy, member);
            else
                ap_add_copy(model, copy, member);
    }
}

/* Remarks stand behind what can be acted upon. */
static void put_first(const struct pair *pair, const struct ap_rubric *rubric, struct ap_model *model,
                      struct ap_value *findings)
{
    struct ap_value *first = findings->as.children.first, *last = findings->as.children.last;
    findings->as.children.first = findings->as.children.last = NULL;
    add_shared(pair, rubric, model, findings);
    if (!first)
        return;
    if (findings->as.children.last)
        findings->as.children.last->next = first;
    else
        findings->as.children.first = first;
    findings->as.children.last = last;
}

enum ap_status ap_shared_findings_add(struct ap_report *report, const struct ap_request *request,
                                      const struct ap_rubric *rubric, struct ap_error *reterr)
{
    struct pair pair = { .files = { NULL } };
    struct ap_value *findings = report->is_run ? findings_of(report) : NULL;
    const struct ap_value *finding = ap_value_first(findings);
    while (finding && is_remark(finding))
        finding = finding->next;
    if (!findings || finding || !find_pair(&report->run_files, &pair))
        return AP_OK;
    enum ap_status status = AP_OK;
    uint64_t held_bytes = ap_report_held_bytes(report);
    for (int i = 0; i < 2 && status == AP_OK; i++) {
        uint64_t limit_bytes = report->gate.limit_bytes; /* what a baseline holds is no longer in it */
        if (limit_bytes && limit_bytes < held_bytes + AP_MIN_MAX_MEMORY_BYTES)
            status = AP_ERROR_LIMIT;
        AP_AND_THEN(status, analyze(pair.files[i], request, limit_bytes ? limit_bytes - held_bytes : 0, &pair.reports[i]));
        held_bytes += status == AP_OK ? ap_report_held_bytes(pair.reports[i]) : 0;
    }
    if (status == AP_OK)
        put_first(&pair, rubric, &report->model, findings);
    for (int i = 0; i < 2; i++)
        ap_report_free(pair.reports[i]);
    return ap_model_status(&report->model, reterr);
}
