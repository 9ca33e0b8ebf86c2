/* SPDX-License-Identifier: MIT */
#include "model_table.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

#define MAX_LEVELS 16

/* ---- building ---- */

/* Whole, however long: a part of an id finds no row, and one of a path no table. */
static enum ap_status join(struct ap_arena *arena, struct ap_text path, struct ap_text step, struct ap_text *ret_path,
                           struct ap_error *reterr)
{
    char *text = ap_arena_alloc(arena, path.bytes + step.bytes + 1);
    if (!text)
        return ap_fail_memory(arena->gate, reterr);
    memcpy(text, path.data, path.bytes);
    memcpy(text + path.bytes, step.data, step.bytes);
    *ret_path = (struct ap_text){ text, path.bytes + step.bytes };
    return AP_OK;
}

static enum ap_status add_row(struct ap_model_table *table, const struct ap_value *value, struct ap_text parent_id,
                              struct ap_text step, struct ap_error *reterr)
{
    struct ap_text id;
    AP_TRY(join(&table->arena, parent_id, step, &id, reterr));
    AP_TRY_ADD(table->gate, table->rows, table->count, table->capacity, reterr, (struct ap_model_row){ value, id });
    return AP_OK;
}

/* Lists among the rows give way to their elements. */
static enum ap_status enter_lists(struct ap_model_table *table, struct ap_error *reterr)
{
    struct ap_model_row *old = table->rows;
    size_t old_count = table->count, old_capacity = table->capacity;
    enum ap_status status = AP_OK;
    bool any = false;
    for (size_t i = 0; i < old_count; i++)
        any = any || old[i].value->type == AP_VALUE_LIST;
    if (!any)
        return AP_OK;
    table->rows = NULL;
    table->count = table->capacity = 0;
    for (size_t i = 0; i < old_count && status == AP_OK; i++) {
        char number[24];
        size_t index = 0;
        if (old[i].value->type != AP_VALUE_LIST) {
            status = add_row(table, old[i].value, old[i].id, AP_TEXT(""), reterr);
            continue;
        }
        const struct ap_value *element = ap_value_first(old[i].value);
        for (; element && status == AP_OK; element = element->next) {
            (void)snprintf(number, sizeof(number), "[%zu]", index++);
            status = add_row(table, element, old[i].id, ap_text_of(number), reterr);
        }
    }
    AP_FREE(table->gate, old, old_capacity);
    return status;
}

/* Each row gives way to its member, whose key stands in the path, behind a dot if it is not the first; what is null ends. */
static enum ap_status enter_member(struct ap_model_table *table, struct ap_text key, bool *found, struct ap_error *reterr)
{
    size_t count = table->count;
    table->count = 0;    /* a row is put where one was taken */
    *found = count == 0; /* lists without elements tell no keys */
    for (size_t i = 0; i < count; i++) {
        struct ap_model_row row = table->rows[i];
        const struct ap_value *value = row.value->type == AP_VALUE_NULL ? row.value : ap_value_member_of(row.value, key);
        if (!value)
            continue;
        *found = true;
        struct ap_text step = { key.data - (row.id.bytes > 0), key.bytes + (row.id.bytes > 0) };
        AP_TRY(add_row(table, value, row.id, step, reterr));
    }
    return AP_OK;
}

static void drop_nulls(struct ap_model_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].value->type != AP_VALUE_NULL)
            table->rows[kept++] = table->rows[i];
    table->count = kept;
}

static enum ap_status fail_unknown(const char *path, struct ap_error *reterr)
{
    return ap_advise(reterr, AP_ADVICE_LIST_TABLES,
                     ap_refuse(reterr, AP_SETTING_TABLE, "the report has no table '%.120s'", path));
}

enum ap_status ap_model_table_init(struct ap_model_table *table, struct ap_gate *gate, const struct ap_value *root,
                                   const char *path, struct ap_error *reterr)
{
    *table = (struct ap_model_table){ .gate = gate, .path = path };
    ap_arena_init(&table->arena, gate);
    AP_TRY(add_row(table, root, AP_TEXT(""), AP_TEXT(""), reterr));
    const char *at = path;
    for (int level = 0; *at; level++) {
        size_t bytes = strcspn(at, ".");
        bool found;
        if (level == MAX_LEVELS)
            return fail_unknown(path, reterr);
        AP_TRY(enter_lists(table, reterr));
        AP_TRY(enter_member(table, (struct ap_text){ at, bytes }, &found, reterr));
        if (!found)
            return fail_unknown(path, reterr);
        at += bytes + (at[bytes] == '.');
    }
    AP_TRY(enter_lists(table, reterr));
    drop_nulls(table);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].id.bytes == 0 ||
            (table->rows[i].value->type != AP_VALUE_OBJECT && table->rows[i].id.data[table->rows[i].id.bytes - 1] != ']'))
            return fail_unknown(path, reterr);
    return AP_OK;
}

void ap_model_table_release(struct ap_model_table *table)
{
    AP_FREE(table->gate, table->rows, table->capacity);
    ap_arena_release(&table->arena);
    *table = (struct ap_model_table){ .gate = table->gate };
}

/* ---- as a source ---- */

static void fill(void *self, size_t index, struct ap_model *model, struct ap_value *row)
{
    const struct ap_model_table *table = self;
    const struct ap_value *value = table->rows[index].value;
    ap_add_text(model, row, "row_id", table->rows[index].id);
    struct ap_value *id = row->as.children.first;
    if (!id)
        return; /* no memory: the model knows */
    if (value->type == AP_VALUE_OBJECT) {
        id->next = value->as.children.first; /* the report's own, read only */
        row->as.children.last = value->as.children.first ? value->as.children.last : id;
        return;
    }
    ap_add_null(model, row, "value");
    struct ap_value *copy = id->next;
    if (copy) {
        copy->type = value->type;
        copy->as = value->as;
    }
}

struct ap_row_source ap_model_table_source(struct ap_model_table *table)
{
    return (struct ap_row_source){ table->gate, table->path, table->count, fill, table, NULL };
}

/* ---- all tables ---- */

struct open_value {
    const struct ap_value *next; /* member to go on with */
    struct ap_text path;         /* with a NUL behind it */
};

static enum ap_status list_table(struct ap_model_table *table, struct ap_model *model, const struct ap_value *root,
                                 const char *path, const char *what, struct ap_error *reterr)
{
    struct ap_value *row = ap_add_object(model, &model->root, NULL);
    ap_add_string(model, row, "table", path);
    if (root) {
        struct ap_model_table one;
        enum ap_status status = ap_model_table_init(&one, table->gate, root, path, reterr);
        ap_add_count(model, row, "rows", (int64_t)one.count);
        ap_model_table_release(&one);
        if (status != AP_OK)
            return status;
    } else {
        ap_add_null(model, row, "rows");
    }
    ap_add_string(model, row, "what", what);
    AP_TRY(ap_model_status(model, reterr));
    return add_row(table, row, ap_text_of(path), AP_TEXT(""), reterr);
}

/* One value below @from: a list is listed and entered by its first element, an object is entered. */
static const struct ap_value *look_into(const struct ap_value *value, bool *ret_list)
{
    *ret_list = false;
    if (value->type == AP_VALUE_OBJECT)
        return ap_value_first(value);
    const struct ap_value *first = value->type == AP_VALUE_LIST ? ap_value_first(value) : NULL;
    *ret_list = first && first->type == AP_VALUE_OBJECT;
    return *ret_list ? ap_value_first(first) : NULL;
}

static enum ap_status list_lists(struct ap_model_table *table, struct ap_model *model, const struct ap_value *root,
                                 struct open_value open[MAX_LEVELS], struct ap_error *reterr)
{
    size_t depth = 1;
    open[0] = (struct open_value){ ap_value_first(root), AP_TEXT("") };
    while (depth) {
        struct open_value *top = &open[depth - 1];
        const struct ap_value *value = top->next;
        bool list;
        if (!value) {
            depth--;
            continue;
        }
        top->next = value->next;
        const struct ap_value *below = look_into(value, &list);
        if (!below || depth == MAX_LEVELS)
            continue;
        struct open_value entered = { .next = below };
        AP_TRY(join(&table->arena, top->path, top->path.bytes ? AP_TEXT(".") : AP_TEXT(""), &entered.path, reterr));
        AP_TRY(join(&table->arena, entered.path, value->key, &entered.path, reterr));
        open[depth++] = entered;
        if (list)
            AP_TRY(list_table(table, model, root, entered.path.data, "list of the report", reterr));
    }
    return AP_OK;
}

enum ap_status ap_model_tables_list(struct ap_model_table *table, struct ap_gate *gate, const struct ap_value *root,
                                    const char *const *row_tables, struct ap_error *reterr)
{
    struct ap_model model;
    *table = (struct ap_model_table){ .gate = gate, .path = "tables" };
    ap_arena_init(&table->arena, gate);
    struct open_value *open = ap_arena_alloc(&table->arena, MAX_LEVELS * sizeof(open[0]));
    if (!open)
        return ap_fail_memory(gate, reterr);
    ap_model_init(&model, gate);
    enum ap_status status = AP_OK;
    for (size_t i = 0; row_tables[i] && status == AP_OK; i++)
        status = list_table(table, &model, NULL, row_tables[i], "rows of the recording", reterr);
    AP_AND_THEN(status, list_lists(table, &model, root, open, reterr));
    ap_arena_adopt(&table->arena, &model.arena);
    return status;
}

/* ---- by id ---- */

static const struct ap_value *element_at(const struct ap_value *list, size_t index)
{
    const struct ap_value *element = list && list->type == AP_VALUE_LIST ? ap_value_first(list) : NULL;
    while (element && index--)
        element = element->next;
    return element;
}

const struct ap_value *ap_model_row_find(const struct ap_value *root, const char *id)
{
    const struct ap_value *value = root;
    while (value && *id) {
        size_t bytes = strcspn(id, ".[");
        if (bytes)
            value = ap_value_member_of(value, (struct ap_text){ id, bytes });
        id += bytes;
        while (value && *id == '[') {
            size_t index = 0, digits = strspn(id + 1, "0123456789");
            if (!digits || digits > 9 || id[1 + digits] != ']')
                return NULL;
            for (size_t i = 1; i <= digits; i++)
                index = index * 10 + (size_t)(id[i] - '0');
            value = element_at(value, index);
            id += digits + 2;
        }
        id += *id == '.';
    }
    return value;
}
