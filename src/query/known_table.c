/* SPDX-License-Identifier: MIT */
#include "known_table.h"

#include <stdio.h>
#include <string.h>

#include "metric_names.h"
#include "row_filter.h"
#include "row_pick.h"

#include "poison.h"

#define CAUSE "operator operator_id leaf_operator line"

/* Rows of the inputs, as trace_tables.c and memory_rows.c make them; the tests hold this against what they make. */
static const struct ap_known_table row_tables[] = {
    { "operators", "row_id name start_us dur_us pid tid step phase parent_id dims" },
    { "kernels", "row_id name family start_us dur_us pid tid device queue_delay_us launch_id " CAUSE
                 " step phase blocks_per_sm occupancy_ratio" },
    { "launches", "row_id call start_us dur_us pid tid kernel kernel_id kernel_dur_us device queue_delay_us launch_delay_us " CAUSE
                  " step phase" },
    { "copies", "row_id name what bytes start_us dur_us pid tid gigabytes_per_s device queue_delay_us launch_id " CAUSE " step phase" },
    { "synchronisations", "row_id call category start_us dur_us pid tid blocked_us idle_us at_end " CAUSE " step phase" },
    { "collectives", "row_id operation name on_host bytes dtype group_size group start_us dur_us pid tid exposed_us overlap_us "
                     "algbw_gigabytes_per_s step" },
    { "steps", "row_id name step start_us dur_us pid tid cold cut steady marker_id" },
    { "allocations", "row_id device bytes block_bytes start_us lifetime_us before_history live_at_end line address stream" },
    { "tables", "row_id table rows what" },
};

const struct ap_known_table *ap_known_table_find(const char *name)
{
    for (size_t i = 0; i < AP_COUNT_OF(row_tables); i++)
        if (strcmp(row_tables[i].name, name) == 0)
            return &row_tables[i];
    for (size_t i = 0; i < ap_report_table_count; i++)
        if (ap_metric_name_matches(ap_text_of(name), ap_report_tables[i].name))
            return &ap_report_tables[i];
    return NULL;
}

bool ap_known_column_next(const char **rest, const char *between, struct ap_text *ret_column)
{
    const char *at = *rest;
    if (!at)
        return false;
    size_t bytes = strcspn(at, between);
    *ret_column = (struct ap_text){ at, bytes };
    *rest = at[bytes] ? at + bytes + 1 : NULL;
    return true;
}

static bool begins_at_key(struct ap_text text, struct ap_text beginning)
{
    return text.bytes > beginning.bytes && text.data[beginning.bytes] == '.' &&
           memcmp(text.data, beginning.data, beginning.bytes) == 0;
}

enum has { HAS_NOT, MAY_HAVE, HAS };

/* A column, an object that is written as several, or what an open one may have below it. */
static enum has has_column(const struct ap_known_table *table, struct ap_text field)
{
    enum has has = HAS_NOT;
    struct ap_text column;
    for (const char *rest = table->columns; ap_known_column_next(&rest, " ", &column);) {
        if (ap_text_is(column, "*")) {
            has = MAY_HAVE;
            continue;
        }
        bool is_open = column.data[column.bytes - 1] == '*';
        struct ap_text known = { column.data, column.bytes - (is_open ? 2 : 0) };
        if (ap_text_equal(known, field) || begins_at_key(known, field))
            return HAS;
        if (is_open && begins_at_key(field, known))
            has = MAY_HAVE;
    }
    return has;
}

bool ap_known_table_has(const char *table, const char *column)
{
    const struct ap_known_table *known = ap_known_table_find(table);
    return known && has_column(known, ap_text_of(column)) == HAS;
}

static enum ap_status check_column(const struct ap_known_table *table, const char *option, struct ap_text field, struct ap_error *reterr)
{
    if (has_column(table, field) != HAS_NOT)
        return AP_OK;
    char known[400] = "";
    size_t used = 0;
    struct ap_text column;
    for (const char *rest = table->columns; ap_known_column_next(&rest, " ", &column) && used + column.bytes + 3 < sizeof(known);) {
        int bytes = snprintf(known + used, sizeof(known) - used, "%s%.*s", used ? ", " : "", (int)column.bytes, column.data);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    bool is_tid = ap_text_is(field, "stream") && has_column(table, AP_TEXT("tid")) == HAS;
    return ap_fail(reterr, AP_ERROR_USAGE, "%s: the table %.60s has no column '%.*s'; it has %s%s", option, table->name,
                   (int)(field.bytes < 60 ? field.bytes : 60), field.data, known, is_tid ? "; tid of work on a GPU is its stream" : "");
}

static enum ap_status check_columns(const struct ap_known_table *table, const struct ap_table_query *query,
                                    const struct ap_row_filter *filter, struct ap_error *reterr)
{
    struct ap_text column;
    for (size_t i = 0; i < filter->count; i++)
        AP_TRY(check_column(table, "--where", ap_text_of(filter->terms[i].field), reterr));
    if (query->sort)
        AP_TRY(check_column(table, "--sort", (struct ap_text){ query->sort, strcspn(query->sort, ":") }, reterr));
    for (const char *rest = query->columns; ap_known_column_next(&rest, ",", &column);)
        AP_TRY(check_column(table, "--columns", column, reterr));
    return AP_OK;
}

enum ap_status ap_known_table_check(const struct ap_table_query *query, struct ap_error *reterr)
{
    struct ap_row_filter filter;
    const struct ap_known_table *table = ap_known_table_find(query->name);
    AP_TRY(ap_row_filter_parse(query->where, &filter, reterr));
    AP_TRY(ap_row_sort_check(query->sort, reterr));
    if (!table)
        return ap_fail(reterr, AP_ERROR_USAGE,
                       "--table: no report has a list or object at '%.120s'; --table tables names all tables, of the report and of rows",
                       query->name);
    return check_columns(table, query, &filter, reterr);
}
