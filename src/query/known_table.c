/* SPDX-License-Identifier: MIT */
#include "known_table.h"

#include <stdio.h>
#include <string.h>

#include "catalogue.h"
#include "near_name.h"
#include "row_pick.h"

#include "poison.h"

const struct ap_known_table *ap_known_table_find(const char *name)
{
    for (size_t i = 0; i < ap_row_table_count; i++)
        if (strcmp(ap_row_tables[i].name, name) == 0)
            return &ap_row_tables[i];
    for (size_t i = 0; i < ap_report_table_count; i++)
        if (ap_catalogue_matches(ap_text_of(name), ap_report_tables[i].name))
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

bool ap_known_table_has(const char *table, struct ap_text column)
{
    const struct ap_known_table *known = ap_known_table_find(table);
    return known && has_column(known, column) == HAS;
}

static enum ap_status check_column(const struct ap_known_table *table, enum ap_setting setting, struct ap_text field,
                                   struct ap_error *reterr)
{
    if (has_column(table, field) != HAS_NOT)
        return AP_OK;
    char known[400] = "";
    size_t used = 0;
    struct ap_text column;
    for (const char *rest = table->columns;
         ap_known_column_next(&rest, " ", &column) && used + column.bytes + 3 < sizeof(known);) {
        int bytes = snprintf(known + used, sizeof(known) - used, "%s%.*s", used ? ", " : "", (int)column.bytes, column.data);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    bool is_tid = ap_text_is(field, "stream") && has_column(table, AP_TEXT("tid")) == HAS;
    return ap_refuse(reterr, setting, "the table %.60s has no column '%.*s'; it has %s%s", table->name,
                     (int)(field.bytes < 60 ? field.bytes : 60), field.data, known,
                     is_tid ? "; tid of work on a GPU is its stream" : "");
}

static enum ap_status check_columns(const struct ap_known_table *table, const struct ap_table_query *query,
                                    const struct ap_row_filter *filter, struct ap_error *reterr)
{
    struct ap_text column;
    for (size_t i = 0; i < filter->expr.comparison_count; i++)
        AP_TRY(check_column(table, AP_SETTING_WHERE, filter->expr.comparisons[i].path, reterr));
    if (query->sort)
        AP_TRY(check_column(table, AP_SETTING_SORT, (struct ap_text){ query->sort, strcspn(query->sort, ":") }, reterr));
    for (const char *rest = query->columns; ap_known_column_next(&rest, ",", &column);)
        AP_TRY(check_column(table, AP_SETTING_COLUMNS, column, reterr));
    return AP_OK;
}

static enum ap_status refuse_name(const char *name, struct ap_error *reterr)
{
    struct ap_near_names near = { .count = 0 };
    char told[160];
    for (size_t i = 0; i < ap_row_table_count; i++)
        ap_near_names_offer(&near, ap_text_of(name), ap_text_of(ap_row_tables[i].name));
    for (size_t i = 0; i < ap_report_table_count; i++)
        if (!strchr(ap_report_tables[i].name, '*'))
            ap_near_names_offer(&near, ap_text_of(name), ap_text_of(ap_report_tables[i].name));
    ap_near_names_write(&near, told, sizeof(told));
    return ap_advise(reterr, AP_ADVICE_LIST_TABLES,
                     ap_refuse(reterr, AP_SETTING_TABLE, "there is no table '%.120s'%s", name, told));
}

enum ap_status ap_known_table_check(const struct ap_table_query *query, struct ap_error *reterr)
{
    struct ap_row_filter filter;
    const struct ap_known_table *table = ap_known_table_find(query->name);
    AP_TRY(ap_row_filter_parse(query->where, &filter, reterr));
    AP_TRY(ap_row_sort_check(query->sort, reterr));
    if (!table)
        return refuse_name(query->name, reterr);
    return check_columns(table, query, &filter, reterr);
}
