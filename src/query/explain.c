/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <string.h>

#include "around.h"
#include "expr.h"
#include "catalogue.h"
#include "finding_id.h"
#include "figure_path.h"
#include "near_name.h"
#include "report.h"
#include "table.h"
#include "table_cell.h"
#include "visible_text.h"

#include "poison.h"

/* ---- lists: tables whose rows are made before ---- */

struct list {
    struct ap_value **rows;
    size_t count;
};

static void fill(void *self, size_t index, struct ap_model *model, struct ap_value *row)
{
    const struct list *list = self;
    (void)model;
    row->as.children = list->rows[index]->as.children;
}

enum ap_status ap_list_write(const struct ap_value *rows, struct ap_gate *gate, enum ap_format format, struct ap_sink sink,
                             struct ap_error *reterr)
{
    struct list list = { .count = ap_value_count(rows) };
    struct ap_table_query query = { .name = rows->key.data, .format = format };
    size_t i = 0;
    AP_TRY(AP_ALLOC(gate, list.rows, list.count + 1, reterr));
    for (struct ap_value *row = rows->as.children.first; row; row = row->next)
        list.rows[i++] = row;
    struct ap_row_source source = { gate, query.name, list.count, fill, &list, NULL };
    enum ap_status status = ap_table_write(&source, &query, AP_WORDS_LIBRARY, sink, reterr);
    AP_FREE(gate, list.rows, list.count + 1);
    return status;
}

/* What lists tell: numbers that a condition can name, those of a map under "*". */
static bool is_listed(const struct ap_figure_info *figure)
{
    return figure->is_number && !figure->is_member;
}

static const char *unit_of(const struct ap_figure_info *figure)
{
    static const char *const units[] = {
        [AP_UNIT_count] = "number", [AP_UNIT_bytes] = "bytes",   [AP_UNIT_time] = "microseconds",
        [AP_UNIT_ratio] = "ratio",  [AP_UNIT_number] = "number", [AP_UNIT_bool] = "yes or no"
    };
    return units[figure->unit];
}

static void add_figure(const struct ap_figure_info *figure, struct ap_model *model, struct ap_value *to)
{
    ap_add_string(model, to, "name", ap_figure_text(figure->path));
    ap_add_string(model, to, "unit", unit_of(figure));
    ap_add_string(model, to, "meaning", ap_figure_text(figure->meaning));
}

enum ap_status ap_list_fill(const struct ap_rubric *rubric, struct ap_model *model, const struct ap_value **ret_rows,
                            struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, &model->root, rubric ? "rules" : "metrics");
    *ret_rows = list;
    if (rubric)
        return ap_rubric_list(rubric, model, list, reterr);
    for (size_t i = 0; i < ap_figure_count; i++)
        if (is_listed(&ap_figures[i]))
            add_figure(&ap_figures[i], model, ap_add_object(model, list, NULL));
    return ap_model_status(model, reterr);
}

/* ---- one of them ---- */

/* By its own name: a pattern explains itself, not all that it stands for. */
static const struct ap_figure_info *find_figure(const char *name)
{
    const struct ap_figure_info *figure = ap_catalogue_find(ap_text_of(name));
    return figure && is_listed(figure) && strcmp(ap_figure_text(figure->path), name) == 0 ? figure : NULL;
}

static void add_value(struct ap_model *model, struct ap_value *to, const struct ap_value *value)
{
    ap_add_null(model, to, "value");
    if (!value || !to->as.children.last || model->failed)
        return;
    to->as.children.last->type = value->type;
    to->as.children.last->as = value->as;
}

static void explain_figure(const struct ap_rubric *rubric, const struct ap_figure_info *figure, const struct ap_value *root,
                           struct ap_model *model)
{
    struct ap_value *to = &model->root;
    ap_add_string(model, to, "kind", "metric");
    add_figure(figure, model, to);
    if (root)
        add_value(model, to, ap_figure_fold(root, ap_text_of(ap_figure_text(figure->path))));
    ap_rubric_add_users(rubric, ap_text_of(ap_figure_text(figure->path)), model, ap_add_list(model, to, "used_by_rules"));
}

static enum ap_status fail_unnumbered(const char *id, const struct ap_value *root, struct ap_error *reterr)
{
    if (!root)
        return ap_advise(reterr, AP_ADVICE_GIVE_REPORT,
                         ap_refuse(reterr, AP_SETTING_EXPLAIN, "the number of a finding, '%.80s', is that in a report", id));
    return ap_refuse(reterr, AP_SETTING_EXPLAIN,
                     "there is no '%.80s': the report has %zu findings, the first is finding:1 or findings[0]", id,
                     ap_value_count(ap_value_member(root, "findings")));
}

/* A rule and a figure that are equally near: the rule. */
static enum ap_status fail_unknown(const struct ap_rubric *rubric, const char *id, struct ap_model *model,
                                   struct ap_error *reterr)
{
    struct ap_near_names near = { .count = 0 };
    struct ap_text wanted = ap_text_of(ap_finding_rule(id));
    struct ap_value *rules = ap_add_list(model, &model->root, "rules");
    char told[300];
    AP_TRY(ap_rubric_list(rubric, model, rules, reterr));
    for (const struct ap_value *rule = ap_value_first(rules); rule; rule = rule->next)
        ap_near_names_offer(&near, wanted, ap_text_member(rule, "id"));
    for (size_t i = 0; i < ap_figure_count; i++)
        if (is_listed(&ap_figures[i]))
            ap_near_names_offer(&near, wanted, ap_text_of(ap_figure_text(ap_figures[i].path)));
    ap_near_names_write(&near, told, sizeof(told));
    return ap_advise(reterr, AP_ADVICE_LIST_EVERYTHING,
                     ap_refuse(reterr, AP_SETTING_EXPLAIN, "no rule, finding or figure is called '%.80s'%s", id, told));
}

static enum ap_status fill_answer(const struct ap_rubric *rubric, const char *id, const struct ap_value *root,
                                  struct ap_model *model, struct ap_error *reterr)
{
    const struct ap_figure_info *figure = find_figure(id);
    if (figure) {
        explain_figure(rubric, figure, root, model);
        return ap_model_status(model, reterr);
    }
    const struct ap_value *finding = ap_finding_named(root, id);
    if (!finding && ap_finding_is_numbered(id))
        return fail_unnumbered(id, root, reterr);
    struct ap_text rule = finding ? ap_text_member(finding, "rule_id") : ap_text_of(ap_finding_rule(id));
    enum ap_status status = ap_rubric_explain(rubric, rule, root, model, &model->root, reterr);
    if (status == AP_END)
        return fail_unknown(rubric, id, model, reterr);
    if (status != AP_OK || !root)
        return status;
    if (finding) {
        struct ap_value *object = ap_add_object(model, &model->root, "finding");
        object->as.children = finding->as.children; /* the report's own, read only */
    } else {
        ap_add_null(model, &model->root, "finding");
    }
    return ap_model_status(model, reterr);
}

/* ---- text ---- */

/* What the figure at @path is compared with first. */
static void write_limit(struct ap_out *out, const struct ap_value *answer, struct ap_text path)
{
    const struct ap_value *input = ap_value_first(ap_value_member(answer, "inputs"));
    for (; input; input = input->next) {
        const struct ap_value *threshold = ap_value_member(input, "threshold");
        if (!ap_text_equal(ap_value_text(ap_value_first(input)), path) || !threshold || threshold->type == AP_VALUE_NULL)
            continue;
        ap_cell_write_text(out, threshold, 0);
        return;
    }
    ap_out_string(out, "the limit");
}

static struct ap_text without(struct ap_text text, size_t bytes)
{
    return (struct ap_text){ text.data + bytes, text.bytes - bytes };
}

/* Of a figure the last part of its path. */
static void write_figure(struct ap_out *out, struct ap_text path)
{
    size_t at = path.bytes;
    while (at && path.data[at - 1] != '.')
        at--;
    ap_out_char(out, '<');
    (void)ap_out_visible(out, without(path, at), 0);
    ap_out_char(out, '>');
}

/* What the words are bound to, "training:PyTorch:", is taken off; false where it is the other case: of two words for the
 * same, "{device: a}{host: b}", those for one alone are told. */
static bool take_conditions(struct ap_text *inner)
{
    static const struct {
        const char *word;
        bool told;
    } conditions[] = {
#define AP_STATE_WORD(word, told) { word, told },
#include "state_words.def"
#undef AP_STATE_WORD
    };
    for (size_t i = 0; i < AP_COUNT_OF(conditions); i++) {
        if (!ap_text_starts_with(*inner, conditions[i].word))
            continue;
        if (!conditions[i].told)
            return false;
        *inner = without(*inner, strlen(conditions[i].word));
        i = SIZE_MAX; /* from the first one again */
    }
    return true;
}

/* Words that are told where a figure is known stand in brackets. */
static void write_clause(struct ap_out *out, struct ap_text inner)
{
    if (!take_conditions(&inner))
        return;
    const char *colon = memchr(inner.data, ':', inner.bytes);
    bool of_figure = colon && (ap_text_starts_with(inner, "known ") || ap_text_starts_with(inner, "some ") ||
                               ap_text_starts_with(inner, "no "));
    if (!of_figure) {
        (void)ap_out_visible(out, inner, 0);
        return;
    }
    const char *space = memchr(inner.data, ' ', inner.bytes);
    struct ap_text path = { space + 1, (size_t)(colon - space) - 1 };
    struct ap_text words = without(inner, (size_t)(colon + 1 - inner.data));
    const char *mark = memchr(words.data, '#', words.bytes);
    size_t before = mark ? (size_t)(mark - words.data) : words.bytes;
    ap_out_char(out, '[');
    (void)ap_out_visible(out, (struct ap_text){ words.data, before }, 0);
    if (mark) {
        write_figure(out, path);
        (void)ap_out_visible(out, without(words, before + 1), 0);
    }
    ap_out_char(out, ']');
}

/* What a placeholder of a rule stands for, where no report fills it in. */
static void write_placeholder(struct ap_out *out, const struct ap_value *answer, struct ap_text inner)
{
    if (memchr(inner.data, ':', inner.bytes))
        write_clause(out, inner);
    else if (ap_text_starts_with(inner, "limit "))
        write_limit(out, answer, without(inner, strlen("limit ")));
    else
        write_figure(out, inner);
}

static void write_words(struct ap_out *out, const struct ap_value *answer, struct ap_text text)
{
    for (size_t at = 0; at < text.bytes;) {
        const char *brace = memchr(text.data + at, '{', text.bytes - at);
        const char *end = brace ? memchr(brace, '}', text.bytes - (size_t)(brace - text.data)) : NULL;
        size_t plain = end ? (size_t)(brace - text.data) - at : text.bytes - at;
        (void)ap_out_visible(out, (struct ap_text){ text.data + at, plain }, 0);
        if (end)
            write_placeholder(out, answer, (struct ap_text){ brace + 1, (size_t)(end - brace) - 1 });
        at = end ? (size_t)(end - text.data) + 1 : text.bytes;
    }
}

/* Each element on a line, its members behind each other. */
static void write_objects(struct ap_out *out, const struct ap_value *list)
{
    ap_out_char(out, '\n');
    for (const struct ap_value *object = ap_value_first(list); object; object = object->next) {
        bool first = true;
        ap_out_string(out, "    ");
        for (const struct ap_value *member = ap_value_first(object); member; member = member->next) {
            if (member->type == AP_VALUE_NULL)
                continue;
            ap_out_string(out, first ? "" : ", ");
            if (!first) {
                ap_title_write(out, member->key);
                ap_out_char(out, ' ');
            }
            ap_cell_write_text(out, member, 0);
            first = false;
        }
        ap_out_char(out, '\n');
    }
}

/* The section of the rubric says the same again, and what its tests try is of use to who edits it. */
static bool is_for_programs(const struct ap_value *member)
{
    return ap_text_is(member->key, "text") || ap_text_is(member->key, "example");
}

static void write_text(struct ap_out *out, const struct ap_value *answer)
{
    for (const struct ap_value *member = ap_value_first(answer); member; member = member->next) {
        const struct ap_value *first = ap_value_first(member);
        if (member->type == AP_VALUE_NULL || (member->type >= AP_VALUE_LIST && !first) || is_for_programs(member))
            continue;
        ap_title_write(out, member->key);
        if (member->type == AP_VALUE_OBJECT) {
            ap_facts_write_text(out, member);
        } else if (first && first->type == AP_VALUE_OBJECT) {
            write_objects(out, member);
        } else if (member->type == AP_VALUE_TEXT) {
            ap_out_char(out, ' ');
            write_words(out, answer, member->as.text);
            ap_out_char(out, '\n');
        } else {
            ap_out_char(out, ' ');
            ap_cell_write_text(out, member, 0);
            ap_out_char(out, '\n');
        }
    }
}

enum ap_status ap_explain(const struct ap_rubric *rubric, const char *id, const struct ap_value *root, struct ap_gate *gate,
                          enum ap_format format, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_model model;
    struct ap_out out;
    if (format == AP_FORMAT_CSV || format == AP_FORMAT_COMPACT)
        return ap_refuse(reterr, AP_SETTING_EXPLAIN, "the answer is no table: text or json was expected, not csv");
    ap_model_init(&model, gate);
    if (format == AP_FORMAT_JSON)
        ap_add_string(&model, &model.root, "schema_version", AP_ANSWER_VERSION);
    enum ap_status status = fill_answer(rubric, id, root, &model, reterr);
    if (status == AP_OK && format == AP_FORMAT_JSON)
        status = ap_write_json(&model, sink, reterr);
    else if (status == AP_OK) {
        ap_out_init(&out, sink);
        write_text(&out, &model.root);
        status = ap_out_finish(&out, reterr);
    }
    ap_model_release(&model);
    return status;
}
