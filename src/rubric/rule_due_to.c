/* SPDX-License-Identifier: MIT
 * What a finding is due to: the rows of the report that hold or take most of what it is about, as the source lines that own
 * memory, the operators that wait, the kernels that move data. */
#include <string.h>

#include "rule.h"
#include "sort.h"

#include "poison.h"

/* ---- "PATH(NAME|NAME: AMOUNT where KEY is VALUE|VALUE and KEY < NUMBER); PATH(...)" ---- */

/* The text up to @word; all of it where that is missing, and *rest is empty then. */
static struct ap_text take_until(struct ap_text *rest, const char *word)
{
    size_t bytes = strlen(word);
    struct ap_text all = *rest;
    for (size_t at = 0; at + bytes <= all.bytes; at++)
        if (memcmp(all.data + at, word, bytes) == 0) {
            *rest = (struct ap_text){ all.data + at + bytes, all.bytes - at - bytes };
            return ap_text_trim((struct ap_text){ all.data, at });
        }
    *rest = (struct ap_text){ all.data + all.bytes, 0 };
    return ap_text_trim(all);
}

static bool parse_list(struct ap_text text, struct ap_cause_list *list, struct ap_text *ret_where)
{
    struct ap_text names, name;
    if (!text.bytes || text.data[text.bytes - 1] != ')')
        return false;
    text.bytes--;
    if (!ap_text_next_part(&text, '(', &list->path) || !text.data || !ap_text_next_part(&text, ':', &names) || !text.data)
        return false;
    while (ap_text_next_part(&names, '|', &name)) {
        if (!ap_text_is_path(name) || list->name_count == AP_CAUSE_MAX_NAMES)
            return false;
        list->names[list->name_count++] = name;
    }
    list->amount = take_until(&text, " where ");
    *ret_where = text;
    return ap_text_is_path(list->path) && ap_text_is_path(list->amount);
}

/* The first one that has rows tells what a finding is due to. */
struct cause_lists {
    struct ap_cause_list lists[AP_RULE_MAX_CAUSE_LISTS];
    size_t count;
};

static enum ap_status parse_lists(struct ap_text text, struct ap_place place, struct ap_arena *arena,
                                  struct cause_lists *ret_lists, struct ap_error *reterr)
{
    struct ap_text rest = text, part, where;
    ret_lists->count = 0;
    while (ap_text_next_part(&rest, ';', &part)) {
        struct ap_cause_list list = { .name_count = 0 };
        if (ret_lists->count == AP_RULE_MAX_CAUSE_LISTS || !parse_list(part, &list, &where))
            return ap_fail_in_rubric(reterr, place,
                                     "met \"%.*s\" where PATH(NAME: AMOUNT) was expected: a list of the report and the "
                                     "members of its rows that name and weigh them, behind these \"where KEY is VALUE\" or "
                                     "\"where KEY < NUMBER\"",
                                     (int)(text.bytes > 80 ? 80 : text.bytes), text.data);
        if (where.bytes)
            AP_TRY(ap_where_parse(where, place, arena, &list.where, reterr));
        ret_lists->lists[ret_lists->count++] = list;
    }
    return AP_OK;
}

enum ap_status ap_cause_lists_check(struct ap_text text, struct ap_place place, struct ap_arena *arena,
                                    struct ap_error *reterr)
{
    struct cause_lists lists;
    return parse_lists(text, place, arena, &lists, reterr);
}

/* ---- rows of the report ---- */

struct cause {
    struct ap_text name;
    int64_t amount;
    size_t index; /* of the first row with this name */
};

struct causes {
    const struct ap_cause_list *of;
    struct ap_gate *gate;
    struct ap_error *reterr;
    enum ap_value_type unit; /* of the first amount: others do not add up with it */
    struct cause *rows;
    size_t count, capacity;
};

static struct ap_text name_of(const struct ap_value *row, const struct ap_cause_list *of)
{
    struct ap_text name = { .bytes = 0 };
    for (size_t i = 0; i < of->name_count && !name.bytes; i++)
        name = ap_value_text(ap_value_below(row, of->names[i]));
    return name;
}

static bool is_amount(const struct ap_value *value)
{
    return value && (value->type == AP_VALUE_TIME_NS || value->type == AP_VALUE_BYTES || value->type == AP_VALUE_COUNT) &&
           value->as.integer > 0;
}

static enum ap_status take_row(struct causes *causes, const struct ap_value *row)
{
    const struct ap_value *amount = ap_value_member_of(row, causes->of->amount);
    struct ap_text name = name_of(row, causes->of);
    if (!name.bytes || !is_amount(amount) || (causes->count && amount->type != causes->unit) ||
        ap_expr_evaluate(&causes->of->where, row) != AP_TRUE)
        return AP_OK;
    void *array = causes->rows;
    AP_TRY(
        ap_mem_reserve(causes->gate, &array, &causes->capacity, causes->count + 1, sizeof(*causes->rows), causes->reterr));
    causes->rows = array;
    causes->rows[causes->count] = (struct cause){ name, amount->as.integer, causes->count };
    causes->unit = amount->type;
    causes->count++;
    return AP_OK;
}

/* Rows of the list at a path, or the one row there; on the way through a list, of each of its elements. The path bounds the
 * depth. */
static enum ap_status take_rows(struct causes *causes, const struct ap_value *from, struct ap_text path)
{
    if (from->type == AP_VALUE_LIST) {
        for (const struct ap_value *row = ap_value_first(from); row; row = row->next)
            AP_TRY(path.bytes ? row->type == AP_VALUE_OBJECT ? take_rows(causes, row, path) : AP_OK : take_row(causes, row));
        return AP_OK;
    }
    struct ap_text key;
    if (!path.bytes)
        return from->type == AP_VALUE_OBJECT ? take_row(causes, from) : AP_OK;
    if (!ap_text_next_part(&path, '.', &key))
        return AP_OK;
    const struct ap_value *child = ap_value_member_of(from, key);
    return child ? take_rows(causes, child, path) : AP_OK;
}

static int by_name(const void *left, const void *right)
{
    const struct cause *a = left, *b = right;
    int order = ap_text_compare(a->name, b->name);
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

static int by_amount(const void *left, const void *right)
{
    const struct cause *a = left, *b = right;
    if (a->amount != b->amount)
        return a->amount < b->amount ? 1 : -1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void sum_up(struct causes *causes)
{
    size_t kept = 0;
    bool full = false; /* then the sum stays at the largest number */
    ap_sort(causes->rows, causes->count, sizeof(*causes->rows), by_name);
    for (size_t i = 0; i < causes->count; i++)
        if (kept && ap_text_equal(causes->rows[kept - 1].name, causes->rows[i].name))
            causes->rows[kept - 1].amount = ap_add_sat(causes->rows[kept - 1].amount, causes->rows[i].amount, &full);
        else
            causes->rows[kept++] = causes->rows[i];
    causes->count = kept;
    ap_sort(causes->rows, causes->count, sizeof(*causes->rows), by_amount);
}

/* What has less than a hundredth of the first one's amount is beside the point. */
static void tell(const struct causes *causes, struct ap_model *model, struct ap_value *list)
{
    for (size_t i = 0; i < causes->count && i < AP_FINDING_MAX_CAUSES; i++) {
        int64_t amount = causes->rows[i].amount;
        if (amount < causes->rows[0].amount / 100)
            break;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", causes->rows[i].name);
        if (causes->unit == AP_VALUE_TIME_NS)
            ap_add_time(model, row, "us", amount);
        else
            ap_add_null(model, row, "us");
        ap_add_known_bytes(model, row, "bytes", causes->unit == AP_VALUE_BYTES, amount);
        ap_add_known_count(model, row, "count", causes->unit == AP_VALUE_COUNT, amount);
    }
}

enum ap_status ap_rule_add_causes(const struct ap_rule *rule, struct ap_model *model, struct ap_value *finding,
                                  struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, finding, "affected");
    struct causes causes = { .gate = model->arena.gate, .reterr = reterr };
    struct cause_lists lists = { .count = 0 };
    enum ap_status status = AP_OK;
    if (rule->due_to.bytes)
        status = parse_lists(rule->due_to, (struct ap_place){ "the rubric", rule->line }, &model->arena, &lists, reterr);
    for (size_t i = 0; i < lists.count && !causes.count && status == AP_OK; i++) {
        causes.of = &lists.lists[i];
        status = take_rows(&causes, &model->root, causes.of->path);
    }
    sum_up(&causes);
    tell(&causes, model, list);
    ap_mem_free(causes.gate, causes.rows, causes.capacity * sizeof(*causes.rows));
    return status;
}
