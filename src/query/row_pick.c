/* SPDX-License-Identifier: MIT */
#include "row_pick.h"

#include <stdio.h>
#include <string.h>

#include "known_table.h"
#include "sort.h"

#include "poison.h"

#define MAX_COLUMN_BYTES 96

/* What a row is ordered by. */
struct sort_key {
    uint32_t row;
    bool has_number;
    double number;
    struct ap_text text; /* data NULL = the row has no such value */
};

struct picking {
    const struct ap_row_source *source;
    const struct ap_row_filter *filter;
    struct ap_picked_rows *rows;
    char sort[MAX_COLUMN_BYTES]; /* "" = by place */
    enum { BY_TYPE, ASCENDING, DESCENDING } direction;
    struct ap_arena texts; /* of the keys */
    struct sort_key *keys;
    size_t key_count, key_capacity;
    bool seen_fields[AP_EXPR_MAX], seen_sort;
};

static enum ap_status read_sort(struct picking *picking, const char *sort, struct ap_error *reterr)
{
    size_t bytes = sort ? strcspn(sort, ":") : 0;
    const char *direction = sort ? sort + bytes : "";
    if (bytes >= sizeof(picking->sort) || (sort && !bytes))
        return ap_refuse(reterr, AP_SETTING_SORT, "the name of a column was expected, not '%.80s'", sort);
    if (bytes)
        memcpy(picking->sort, sort, bytes);
    if (strcmp(direction, ":asc") == 0)
        picking->direction = ASCENDING;
    else if (strcmp(direction, ":desc") == 0)
        picking->direction = DESCENDING;
    else if (*direction)
        return ap_refuse(reterr, AP_SETTING_SORT, "'%.80s': \":asc\" or \":desc\" was expected behind the column", sort);
    return AP_OK;
}

enum ap_status ap_row_sort_check(const char *sort, struct ap_error *reterr)
{
    struct picking picking = { .source = NULL };
    return read_sort(&picking, sort, reterr);
}

/* ---- columns that do not exist ---- */

static void note_fields(struct picking *picking, const struct ap_value *row)
{
    const struct ap_expr *expr = &picking->filter->expr;
    for (size_t i = 0; i < expr->comparison_count; i++)
        picking->seen_fields[i] = picking->seen_fields[i] || ap_value_below(row, expr->comparisons[i].path);
    picking->seen_sort = picking->seen_sort || !picking->sort[0] || ap_value_at(row, picking->sort);
}

static enum ap_status fail_unknown(const struct picking *picking, enum ap_setting setting, struct ap_text field,
                                   const struct ap_value *row, struct ap_error *reterr)
{
    char known[600] = "";
    size_t used = 0;
    for (const struct ap_value *member = ap_value_first(row); member && used + 80 < sizeof(known); member = member->next) {
        int bytes = snprintf(known + used, sizeof(known) - used, "%s%.*s", used ? ", " : "",
                             (int)(member->key.bytes > 60 ? 60 : member->key.bytes), member->key.data);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return ap_refuse(reterr, setting, "the table %.60s has no column '%.*s'; it has %s", picking->source->name,
                     (int)(field.bytes > 60 ? 60 : field.bytes), field.data, known);
}

static enum ap_status check_fields(const struct picking *picking, const struct ap_value *row, struct ap_error *reterr)
{
    const struct ap_expr *expr = &picking->filter->expr;
    for (size_t i = 0; i < expr->comparison_count; i++)
        if (!picking->seen_fields[i])
            return fail_unknown(picking, AP_SETTING_WHERE, expr->comparisons[i].path, row, reterr);
    return picking->seen_sort ? AP_OK : fail_unknown(picking, AP_SETTING_SORT, ap_text_of(picking->sort), row, reterr);
}

/* ---- rows ---- */

static enum ap_status keep_key(struct picking *picking, uint32_t index, const struct ap_value *row, struct ap_error *reterr)
{
    struct sort_key key = { .row = index };
    const struct ap_value *value = ap_value_at(row, picking->sort);
    key.has_number = ap_value_number(value, &key.number) && key.number == key.number;
    if (value && (value->type == AP_VALUE_TEXT || value->type == AP_VALUE_LITERAL)) {
        key.text = ap_arena_text(&picking->texts, value->as.text);
        if (!key.text.data)
            return ap_fail_memory(picking->source->gate, reterr);
    }
    AP_TRY_ADD(picking->source->gate, picking->keys, picking->key_count, picking->key_capacity, reterr, key);
    return AP_OK;
}

static enum ap_status keep_row(struct ap_picked_rows *rows, uint32_t index, struct ap_error *reterr)
{
    AP_TRY_ADD(rows->gate, rows->rows, rows->count, rows->capacity, reterr, index);
    return AP_OK;
}

static enum ap_status take_row(struct picking *picking, uint32_t index, const struct ap_value *row, uint64_t limit,
                               struct ap_error *reterr)
{
    note_fields(picking, row);
    if (!ap_row_filter_keeps(picking->filter, row))
        return AP_OK;
    picking->rows->matched++;
    if (picking->sort[0])
        return keep_key(picking, index, row, reterr);
    return limit && picking->rows->count >= limit ? AP_OK : keep_row(picking->rows, index, reterr);
}

static enum ap_status take_some(struct picking *picking, size_t first, size_t end, uint64_t limit, struct ap_error *reterr)
{
    struct ap_model model;
    enum ap_status status = AP_OK;
    ap_model_init(&model, picking->source->gate);
    struct ap_value *row = NULL;
    for (size_t i = first; i < end && status == AP_OK; i++) {
        row = ap_add_object(&model, &model.root, NULL);
        status = ap_source_fill(picking->source, i, &model, row, reterr);
        AP_AND_THEN(status, take_row(picking, (uint32_t)i, row, limit, reterr));
    }
    if (status == AP_OK && first == 0 && row)
        status = check_fields(picking, row, reterr);
    ap_model_release(&model);
    return status;
}

/* Nothing has to be looked at. */
static enum ap_status take_first(struct picking *picking, uint64_t limit, struct ap_error *reterr)
{
    size_t count = picking->source->count;
    picking->rows->matched = count;
    if (limit && limit < count)
        count = (size_t)limit;
    for (size_t i = 0; i < count; i++)
        AP_TRY(keep_row(picking->rows, (uint32_t)i, reterr));
    return AP_OK;
}

/* ---- order ---- */

static int compare_texts(struct ap_text a, struct ap_text b)
{
    return !a.data || !b.data ? (b.data != NULL) - (a.data != NULL) : ap_text_compare(a, b);
}

/* Numbers from the largest down, then texts from a to z, then what is not known. */
static bool key_before(const void *context, uint32_t a, uint32_t b)
{
    const struct picking *picking = context;
    const struct sort_key *x = &picking->keys[a], *y = &picking->keys[b];
    int order;
    if (x->has_number != y->has_number)
        return x->has_number;
    if (x->has_number) {
        order = (x->number < y->number) - (x->number > y->number);
        order = picking->direction == ASCENDING ? -order : order;
    } else {
        order = compare_texts(x->text, y->text);
        order = picking->direction == DESCENDING && x->text.data && y->text.data ? -order : order;
    }
    return order ? order < 0 : a < b;
}

static enum ap_status sort_rows(struct picking *picking, uint64_t limit, struct ap_error *reterr)
{
    uint32_t *order = NULL;
    size_t count = 0;
    AP_TRY(ap_top_indices(picking->source->gate, (uint32_t)picking->key_count, limit, key_before, picking, &order, &count,
                          reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < count && status == AP_OK; i++)
        status = keep_row(picking->rows, picking->keys[order[i]].row, reterr);
    AP_FREE(picking->source->gate, order, count);
    return status;
}

enum ap_status ap_rows_pick(const struct ap_row_source *source, const struct ap_row_filter *filter, const char *sort,
                            uint64_t limit, struct ap_picked_rows *rows, struct ap_error *reterr)
{
    struct picking picking = { .source = source, .filter = filter, .rows = rows };
    *rows = (struct ap_picked_rows){ .gate = source->gate };
    AP_TRY(read_sort(&picking, sort, reterr));
    if (!picking.sort[0] && !filter->expr.comparison_count)
        return take_first(&picking, limit, reterr);
    for (size_t i = 0; i < filter->expr.comparison_count; i++)
        picking.seen_fields[i] = ap_known_table_has(source->name, filter->expr.comparisons[i].path);
    picking.seen_sort = ap_known_table_has(source->name, ap_text_of(picking.sort));
    ap_arena_init(&picking.texts, source->gate);
    enum ap_status status = AP_OK;
    for (size_t first = 0; first < source->count && status == AP_OK; first += AP_ROWS_AT_ONCE)
        status = take_some(&picking, first,
                           source->count - first < AP_ROWS_AT_ONCE ? source->count : first + AP_ROWS_AT_ONCE, limit, reterr);
    if (status == AP_OK && picking.sort[0])
        status = sort_rows(&picking, limit, reterr);
    AP_FREE(source->gate, picking.keys, picking.key_capacity);
    ap_arena_release(&picking.texts);
    return status;
}

void ap_picked_rows_release(struct ap_picked_rows *rows)
{
    AP_FREE(rows->gate, rows->rows, rows->capacity);
    *rows = (struct ap_picked_rows){ .gate = rows->gate };
}

static enum ap_status see_some(const struct ap_row_source *source, const uint32_t *rows, size_t count, ap_see_row *see,
                               void *self, struct ap_error *reterr)
{
    struct ap_model model;
    enum ap_status status = AP_OK;
    ap_model_init(&model, source->gate);
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        struct ap_value *row = ap_add_object(&model, &model.root, NULL);
        status = ap_source_fill(source, rows[i], &model, row, reterr);
        AP_AND_THEN(status, see(self, row, reterr));
    }
    ap_model_release(&model);
    return status;
}

enum ap_status ap_rows_see(const struct ap_row_source *source, const struct ap_picked_rows *rows, ap_see_row *see,
                           void *self, struct ap_error *reterr)
{
    for (size_t first = 0; first < rows->count; first += AP_ROWS_AT_ONCE) {
        size_t count = rows->count - first < AP_ROWS_AT_ONCE ? rows->count - first : AP_ROWS_AT_ONCE;
        AP_TRY(see_some(source, rows->rows + first, count, see, self, reterr));
    }
    return AP_OK;
}

/* Which columns there are is known with the rows. */
static bool find_column(struct ap_text path, struct ap_expr_name *ret_name)
{
    enum ap_unit unit = ap_catalogue_key_unit(path);
    ret_name->unit = unit == AP_UNIT_bool ? AP_UNIT_number : unit; /* a yes or no is compared as the text that it is */
    return true;
}

static const struct ap_expr_language language = {
    .noun = "column",
    .features = AP_EXPR_AND | AP_EXPR_OR | AP_EXPR_TEXTS,
    .tests = AP_TESTS_OF_ORDER | AP_TESTS_OF_EQUALITY | AP_TEST_BIT(contains) | AP_TEST_BIT(like),
    .most = AP_EXPR_MAX,
    .find = find_column,
};

enum ap_status ap_row_filter_parse(const char *where, struct ap_row_filter *ret_filter, struct ap_error *reterr)
{
    struct ap_expr_mistake mistake;
    ret_filter->expr = (struct ap_expr){ .comparison_count = 0 };
    if (!where || ap_expr_parse(ap_text_of(where), &language, &ret_filter->room, &ret_filter->expr, &mistake))
        return AP_OK;
    return ap_refuse(reterr, AP_SETTING_WHERE, "'%.200s', character %zu: %s", where, mistake.at + 1, mistake.message);
}

bool ap_row_filter_keeps(const struct ap_row_filter *filter, const struct ap_value *row)
{
    return ap_expr_evaluate(&filter->expr, row) == AP_TRUE;
}
