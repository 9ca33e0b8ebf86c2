/* SPDX-License-Identifier: MIT */
#include "query.h"

#include <string.h>

#include "around.h"
#include "finding_id.h"
#include "model_table.h"
#include "report.h"
#include "table.h"
#include "trace_tables.h"

#include "poison.h"

#define DEFAULT_LIST 10

void ap_query_release(struct ap_query *query)
{
    ap_trace_rows_release(&query->rows);
    ap_memory_view_release(&query->memory_view);
}

/* Of a run of many ranks no rows are kept, whatever the files are. */
static enum ap_status fail_without(const struct ap_query *query, enum ap_advice advice, const char *what,
                                   const char *artifact, struct ap_error *reterr)
{
    const struct ap_value *ranks = ap_value_member(query->root, "cluster");
    if (ranks && ranks->type == AP_VALUE_OBJECT)
        return ap_advise(
            reterr, AP_ADVICE_ONE_RANK,
            ap_fail(reterr, AP_ERROR_USAGE, "'%.80s' is about rows of one rank, and this is a run of many", what));
    return ap_advise(reterr, advice,
                     ap_fail(reterr, AP_ERROR_USAGE, "'%.80s' is about rows of a %s, and there is none", what, artifact));
}

static enum ap_status view_trace(struct ap_query *query, const char *what, struct ap_error *reterr)
{
    if (query->rows.facts)
        return AP_OK;
    if (!query->facts)
        return fail_without(query, AP_ADVICE_GIVE_TRACE, what, "trace", reterr);
    return ap_trace_rows_init(&query->rows, query->facts, reterr);
}

static enum ap_status view_memory(struct ap_query *query, const char *what, struct ap_error *reterr)
{
    if (query->memory_view.snapshot)
        return AP_OK;
    if (!query->snapshot)
        return fail_without(query, AP_ADVICE_GIVE_SNAPSHOT, what, "memory snapshot", reterr);
    return ap_memory_view_init(&query->memory_view, query->snapshot, query->gate, reterr);
}

/* ---- tables ---- */

static enum ap_status rows_of_trace(struct ap_query *query, const struct ap_table_query *table, struct ap_sink sink,
                                    struct ap_error *reterr)
{
    struct ap_trace_table rows;
    struct ap_row_source source;
    AP_TRY(view_trace(query, table->name, reterr));
    enum ap_status status = ap_trace_table_init(&rows, &query->rows, table->name, &source, reterr);
    source.redaction = query->redaction;
    if (status == AP_OK)
        status = ap_table_write(&source, table, query->words, sink, reterr);
    ap_trace_table_release(&rows);
    return status;
}

static enum ap_status rows_of_memory(struct ap_query *query, const struct ap_table_query *table, struct ap_sink sink,
                                     struct ap_error *reterr)
{
    AP_TRY(view_memory(query, table->name, reterr));
    struct ap_row_source source = ap_memory_view_source(&query->memory_view);
    source.redaction = query->redaction;
    return ap_table_write(&source, table, query->words, sink, reterr);
}

static enum ap_status rows_of_report(struct ap_query *query, const struct ap_table_query *table, struct ap_sink sink,
                                     struct ap_error *reterr)
{
    struct ap_model_table rows;
    const char *row_tables[16] = { NULL };
    size_t count = 0;
    enum ap_status status;
    if (query->snapshot)
        row_tables[count++] = "allocations";
    for (size_t i = 0; query->facts && ap_trace_table_names[i] && count + 1 < AP_COUNT_OF(row_tables); i++)
        row_tables[count++] = ap_trace_table_names[i];
    if (strcmp(table->name, "tables") == 0)
        status = ap_model_tables_list(&rows, query->gate, query->root, row_tables, reterr);
    else
        status = ap_model_table_init(&rows, query->gate, query->root, table->name, reterr);
    if (status == AP_OK) {
        struct ap_row_source source = ap_model_table_source(&rows);
        status = ap_table_write(&source, table, query->words, sink, reterr);
    }
    ap_model_table_release(&rows);
    return status;
}

enum ap_status ap_query_table(struct ap_query *query, const struct ap_table_query *table, struct ap_sink sink,
                              struct ap_error *reterr)
{
    if (ap_is_trace_table(table->name))
        return rows_of_trace(query, table, sink, reterr);
    if (strcmp(table->name, "allocations") == 0)
        return rows_of_memory(query, table, sink, reterr);
    return rows_of_report(query, table, sink, reterr);
}

/* ---- around ---- */

/* "PREFIX123" */
static bool numbered(const char *id, const char *prefix, size_t *ret_number)
{
    size_t bytes = strlen(prefix), digits;
    if (strncmp(id, prefix, bytes) != 0)
        return false;
    digits = strspn(id + bytes, "0123456789");
    if (!digits || digits > 10 || id[bytes + digits])
        return false;
    *ret_number = 0;
    for (size_t i = 0; i < digits; i++)
        *ret_number = *ret_number * 10 + (size_t)(id[bytes + i] - '0');
    return true;
}

static bool is_memory_id(const char *id)
{
    size_t number;
    return numbered(id, "alloc:", &number) || numbered(id, "block:", &number) || numbered(id, "free:", &number);
}

static enum ap_status fail_unknown(const char *id, struct ap_error *reterr)
{
    return ap_refuse(
        reterr, AP_SETTING_AROUND,
        "there is no row '%.80s'; an id is what tables show as row_id (row:1234, step:3, alloc:17, gpu.kernels[3]), or a "
        "finding of this report by its rank or rule (finding:1, findings[0], host-bound)",
        id);
}

static enum ap_status around_trace(struct ap_query *query, const char *id, size_t number, bool step, uint64_t limit,
                                   struct ap_model *model, struct ap_error *reterr)
{
    AP_TRY(view_trace(query, id, reterr));
    if (number >= (step ? query->facts->steps.count : query->facts->trace->events.count))
        return fail_unknown(id, reterr);
    uint32_t row = step ? query->facts->steps.steps[number].row : (uint32_t)number;
    return ap_around_row(&query->rows, row, limit, model, &model->root, reterr);
}

static enum ap_status around_memory(struct ap_query *query, const char *id, uint64_t limit, struct ap_model *model,
                                    struct ap_error *reterr)
{
    AP_TRY(view_memory(query, id, reterr));
    size_t index = ap_memory_row_find(&query->memory_view, id);
    if (index == SIZE_MAX)
        return fail_unknown(id, reterr);
    return ap_memory_add_around(&query->memory_view, index, limit, model, &model->root, reterr);
}

/* What stands in the report, with the values of its scalars, and what is around the place that it names. */
static enum ap_status around_report(struct ap_query *query, const char *id, uint64_t limit, struct ap_model *model,
                                    struct ap_value **ret_lent, struct ap_error *reterr)
{
    const struct ap_value *value = ap_model_row_find(query->root, id),
                          *finding = value ? NULL : ap_finding_named(query->root, id);
    value = finding ? finding : value;
    if (!value || value == query->root || value->type != AP_VALUE_OBJECT)
        return fail_unknown(id, reterr);
    struct ap_value *object = ap_add_object(model, &model->root, finding ? "finding" : "of_report");
    object->as.children = value->as.children; /* the report's own, read only */
    *ret_lent = object;
    const struct ap_value *place = ap_place_in(value);
    if (!place || !query->facts)
        return ap_model_status(model, reterr);
    AP_TRY(view_trace(query, id, reterr));
    uint32_t row = ap_row_at_place(query->facts->trace, place);
    const struct ap_value *start = ap_value_member(place, "start_us"), *dur = ap_value_member(place, "dur_us");
    if (row != AP_NO_ROW)
        return ap_around_row(&query->rows, row, limit, model, &model->root, reterr);
    if (start->type != AP_VALUE_TIME_NS || dur->type != AP_VALUE_TIME_NS || dur->as.integer < 0)
        return ap_model_status(model, reterr);
    return ap_around_span(&query->rows, start->as.integer, dur->as.integer, limit, model, &model->root, reterr);
}

static enum ap_status answer(struct ap_query *query, const struct ap_around_query *around, struct ap_model *model,
                             struct ap_value **ret_lent, struct ap_error *reterr)
{
    uint64_t limit = around->limit ? around->limit : DEFAULT_LIST;
    size_t number;
    if (around->format == AP_FORMAT_JSON)
        ap_add_string(model, &model->root, "schema_version", AP_ANSWER_VERSION);
    ap_add_string(model, &model->root, "id", around->id);
    if (numbered(around->id, "row:", &number))
        return around_trace(query, around->id, number, false, limit, model, reterr);
    if (numbered(around->id, "step:", &number))
        return around_trace(query, around->id, number, true, limit, model, reterr);
    if (is_memory_id(around->id))
        return around_memory(query, around->id, limit, model, reterr);
    return around_report(query, around->id, limit, model, ret_lent, reterr);
}

/* What stands in the report was redacted with it, and is only lent. */
static enum ap_status redact_answer(const struct ap_query *query, struct ap_model *model, struct ap_value *lent,
                                    struct ap_error *reterr)
{
    if (!query->redaction)
        return AP_OK;
    struct ap_value empty = { .type = AP_VALUE_OBJECT }, whole = lent ? *lent : empty;
    if (lent)
        lent->as = empty.as;
    enum ap_status status = ap_model_redact(model, &model->root, query->redaction, reterr);
    if (lent)
        lent->as = whole.as;
    return status;
}

static enum ap_status write_answer(const struct ap_model *model, const struct ap_around_query *around, struct ap_sink sink,
                                   struct ap_error *reterr)
{
    struct ap_out out;
    if (around->format == AP_FORMAT_JSON)
        return ap_write_json(model, sink, reterr);
    ap_out_init(&out, sink);
    ap_around_write_text(&out, &model->root, around->width);
    return ap_out_finish(&out, reterr);
}

enum ap_status ap_query_around(struct ap_query *query, const struct ap_around_query *around, struct ap_sink sink,
                               struct ap_error *reterr)
{
    struct ap_model model;
    if (around->format == AP_FORMAT_CSV || around->format == AP_FORMAT_COMPACT)
        return ap_refuse(reterr, AP_SETTING_AROUND, "the answer is no table: text or json was expected, not csv");
    ap_model_init(&model, query->gate);
    struct ap_value *lent = NULL;
    enum ap_status status = answer(query, around, &model, &lent, reterr);
    AP_AND_THEN(status, redact_answer(query, &model, lent, reterr));
    AP_AND_THEN(status, write_answer(&model, around, sink, reterr));
    ap_model_release(&model);
    return status;
}
