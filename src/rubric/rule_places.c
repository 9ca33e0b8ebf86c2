/* SPDX-License-Identifier: MIT
 * Places in the trace that belong to a finding: objects of the report that carry start_us, dur_us, pid and tid. */
#include <string.h>

#include "rule.h"

#include "poison.h"

struct places {
    struct ap_model *model;
    struct ap_value *list;
    const struct ap_value *told[AP_FINDING_MAX_PLACES]; /* as the report has them: what is added may lack memory */
    size_t count;
};

static const struct ap_value *time_of(const struct ap_value *object, const char *key)
{
    const struct ap_value *value = ap_value_member(object, key);
    return value && value->type == AP_VALUE_TIME_NS ? value : NULL;
}

static bool is_place(const struct ap_value *value)
{
    return value->type == AP_VALUE_OBJECT && time_of(value, "start_us") && time_of(value, "dur_us") &&
           ap_value_member(value, "tid");
}

static void add_id(struct ap_model *model, struct ap_value *to, const struct ap_value *from, const char *key)
{
    const struct ap_value *id = ap_value_member(from, key);
    if (id && id->type == AP_VALUE_TEXT)
        ap_add_text(model, to, key, id->as.text);
    else if (id && id->type == AP_VALUE_LITERAL)
        ap_add_literal(model, to, key, id->as.text);
    else
        ap_add_null(model, to, key);
}

static struct ap_text id_text(const struct ap_value *object)
{
    const struct ap_value *id = ap_value_member(object, "tid");
    bool has_text = id && (id->type == AP_VALUE_TEXT || id->type == AP_VALUE_LITERAL);
    return has_text ? id->as.text : (struct ap_text){ NULL, 0 };
}

static bool is_told(const struct places *places, const struct ap_value *value)
{
    for (size_t i = 0; i < places->count; i++)
        if (time_of(places->told[i], "start_us")->as.integer == time_of(value, "start_us")->as.integer &&
            time_of(places->told[i], "dur_us")->as.integer == time_of(value, "dur_us")->as.integer &&
            ap_text_equal(id_text(places->told[i]), id_text(value)))
            return true;
    return false;
}

/* Once each: the longest of a list may stand beside the list. */
static void add_place(struct places *places, const struct ap_value *value, struct ap_text name)
{
    if (places->count == AP_FINDING_MAX_PLACES || is_told(places, value))
        return;
    places->told[places->count++] = value;
    struct ap_value *place = ap_add_object(places->model, places->list, NULL);
    ap_add_known_text(places->model, place, "name", name.bytes, name);
    ap_add_time(places->model, place, "start_us", time_of(value, "start_us")->as.integer);
    ap_add_time(places->model, place, "dur_us", time_of(value, "dur_us")->as.integer);
    add_id(places->model, place, value, "pid");
    add_id(places->model, place, value, "tid");
}

/* A row is called by its name, else by its first text: what it is, not where it ran, which old files tell as text. */
static struct ap_text name_of(const struct ap_value *row)
{
    struct ap_text name = ap_value_text(ap_value_member(row, "name"));
    for (const struct ap_value *value = ap_value_first(row); value && !name.bytes; value = value->next)
        if (value->type == AP_VALUE_TEXT && !ap_text_is(value->key, "pid") && !ap_text_is(value->key, "tid"))
            name = value->as.text;
    return name;
}

/* The row itself, or what it holds as its longest, worst or first. */
static const struct ap_value *place_in(const struct ap_value *row)
{
    if (is_place(row))
        return row;
    for (const struct ap_value *value = ap_value_first(row); value; value = value->next)
        if (is_place(value))
            return value;
    return NULL;
}

static bool is_asked_for(const struct ap_value *row, const struct ap_rule_place *of)
{
    return !of || !of->key.bytes || ap_text_equal(ap_value_text(ap_value_member_of(row, of->key)), of->value);
}

/* A place, or a list of places; @of which rows, NULL = all. */
static void add_from(struct places *places, const struct ap_value *value, const struct ap_rule_place *of)
{
    if (is_place(value)) {
        add_place(places, value, ap_value_text(ap_value_member(value, "name")));
        return;
    }
    if (value->type != AP_VALUE_LIST)
        return;
    for (const struct ap_value *row = ap_value_first(value); row && places->count < AP_FINDING_MAX_PLACES; row = row->next) {
        const struct ap_value *place = is_asked_for(row, of) ? place_in(row) : NULL;
        if (place)
            add_place(places, place, name_of(row));
    }
}

/* The object that holds the figure, and what stands beside the figure in it. */
static void add_beside(struct places *places, const struct ap_figure_info *figure, const struct ap_value **last)
{
    const char *start = ap_figure_text(figure->path), *end = strrchr(start, '.');
    if (!end)
        return;
    struct ap_text path = { start, (size_t)(end - start) };
    const struct ap_value *object = ap_value_below(&places->model->root, path);
    if (!object || object->type != AP_VALUE_OBJECT || object == *last)
        return;
    *last = object;
    if (is_place(object))
        add_place(places, object, ap_value_text(ap_value_member(object, "name")));
    for (const struct ap_value *value = ap_value_first(object); value; value = value->next)
        add_from(places, value, NULL);
}

void ap_rule_add_places(const struct ap_rule *rule, struct ap_model *model, struct ap_value *finding)
{
    struct places places = { .model = model, .list = ap_add_list(model, finding, "places") };
    for (size_t i = 0; i < rule->place_count; i++) {
        const struct ap_value *value = ap_value_below(&model->root, rule->places[i].path);
        if (value)
            add_from(&places, value, &rule->places[i]);
    }
    const struct ap_value *last = NULL;
    for (size_t i = 0; i < rule->when.comparison_count && !rule->place_count; i++)
        add_beside(&places, rule->when.comparisons[i].figure, &last);
    for (size_t i = 0; i < rule->rank_by_count && !rule->place_count && !places.count; i++)
        add_beside(&places, rule->rank_by[i], &last);
}
