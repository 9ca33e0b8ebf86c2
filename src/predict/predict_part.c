/* SPDX-License-Identifier: MIT */
#include "predict_part.h"

#include "sort.h"

#include "poison.h"

/* Findings whose changes are predicted together: savings do not add up. */
#define TOGETHER_COUNT 3

/* ------------------------------------------------------------------------------------------------- one prediction */

static void add_members(const struct ap_prediction *prediction, struct ap_model *model, struct ap_value *to)
{
    ap_add_count(model, to, "rows", (int64_t)prediction->rows);
    ap_add_time(model, to, "before_us", prediction->before_ns);
    ap_add_time(model, to, "after_us", prediction->after_ns);
    ap_add_time(model, to, "after_low_us", prediction->low_ns);
    ap_add_time(model, to, "after_high_us", prediction->high_ns);
    ap_add_time(model, to, "gain_us", prediction->before_ns - prediction->after_ns);
    ap_add_quotient(model, to, "gain_ratio", (double)(prediction->before_ns - prediction->after_ns),
                    (double)prediction->before_ns);
    ap_add_time(model, to, "window_gain_us", prediction->saves_ns);
    ap_add_known_string(model, to, "limit", prediction->limit, prediction->limit);
}

static void add_prediction(const struct ap_prediction *prediction, const char *key, struct ap_model *model,
                           struct ap_value *parent)
{
    if (prediction->rows)
        add_members(prediction, model, ap_add_object(model, parent, key));
    else
        ap_add_null(model, parent, key);
}

/* ------------------------------------------------------------------------------------------------- what was asked */

static enum ap_status parse_all(const struct ap_what_if *what_if, struct ap_change *changes, struct ap_error *reterr)
{
    struct ap_expr_mistake mistake;
    for (size_t i = 0; i < what_if->count; i++)
        if (!ap_change_parse(ap_text_of(what_if->changes[i]), &changes[i], &mistake))
            return ap_refuse(reterr, AP_SETTING_WHAT_IF, "'%.200s', character %zu: %s", what_if->changes[i], mistake.at + 1,
                             mistake.message);
    return AP_OK;
}

enum ap_status ap_what_if_check(const struct ap_what_if *what_if, struct ap_error *reterr)
{
    struct ap_change change;
    if (what_if->count > AP_CHANGES_MAX)
        return ap_refuse(reterr, AP_SETTING_WHAT_IF, "at most %d changes were expected", AP_CHANGES_MAX);
    for (size_t i = 0; i < what_if->count; i++) {
        const struct ap_what_if one = { &what_if->changes[i], 1 };
        AP_TRY(parse_all(&one, &change, reterr));
    }
    return AP_OK;
}

static enum ap_status add_asked(struct ap_predictor *predictor, const struct ap_change *changes, size_t count,
                                struct ap_model *model, struct ap_value *list, struct ap_prediction *ret_together,
                                struct ap_error *reterr)
{
    const struct ap_change *all[AP_CHANGES_MAX];
    for (size_t i = 0; i < count; i++) {
        struct ap_prediction prediction = { .rows = 0 };
        all[i] = &changes[i];
        if (predictor->exact)
            AP_TRY(ap_predict(predictor, &all[i], 1, &prediction, reterr));
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "change", changes[i].text);
        add_prediction(&prediction, "prediction", model, row);
    }
    return predictor->exact && count > 1 ? ap_predict(predictor, all, count, ret_together, reterr) : AP_OK;
}

static enum ap_status add_what_if(struct ap_predictor *predictor, const struct ap_what_if *what_if, struct ap_model *model,
                                  struct ap_value *to, struct ap_error *reterr)
{
    struct ap_change *changes;
    struct ap_prediction together = { .rows = 0 };
    size_t count = what_if->count;
    struct ap_value *list = ap_add_list(model, to, "what_if");
    enum ap_status status = AP_ALLOC(predictor->facts->gate, changes, count + 1, reterr);
    if (status == AP_OK) {
        status = parse_all(what_if, changes, reterr);
        AP_AND_THEN(status, add_asked(predictor, changes, count, model, list, &together, reterr));
        AP_FREE(predictor->facts->gate, changes, count + 1);
    }
    add_prediction(&together, "what_if_together", model, to);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- findings */

struct finding {
    const struct ap_value *value;
    const struct ap_told_change *told;
};

struct findings {
    struct finding list[AP_TOLD_MAX];
    size_t count;
};

/* The tree is ours: what was added to it is changed through the same pointers that made it. */
static struct ap_value *first_of(struct ap_value *parent, const char *key)
{
    struct ap_value *value = parent->as.children.first;
    while (value && !ap_text_is(value->key, key))
        value = value->next;
    return value && value->type == AP_VALUE_LIST ? value->as.children.first : NULL;
}

/* A replay that gains twice what the cause could save changes more than the cause: that is no prediction of it. Where hosts
 * and devices are late in turn a bound counts the one and the replay both: so much is not told apart. */
static bool is_above_bound(const struct ap_value *finding, const struct ap_prediction *prediction)
{
    int64_t saves_ns = ap_value_integer(ap_value_member(finding, "saves_us"), -1);
    return saves_ns >= 0 && prediction->saves_ns - saves_ns > saves_ns;
}

static enum ap_status predict_findings(struct ap_predictor *predictor, struct ap_model *model, struct findings *findings,
                                       struct ap_error *reterr)
{
    static const struct ap_prediction nothing = { .rows = 0 };
    for (struct ap_value *value = first_of(&model->root, "findings"); value; value = value->next) {
        const struct ap_told_change *told;
        AP_TRY(ap_predict_text(predictor, ap_value_text(ap_value_member(value, "change")), &told, reterr));
        if (told && is_above_bound(value, &told->prediction))
            told = NULL;
        add_prediction(told ? &told->prediction : &nothing, "prediction", model, value);
        if (told && findings->count < AP_TOLD_MAX)
            findings->list[findings->count++] = (struct finding){ value, told };
    }
    return AP_OK;
}

/* What other ranks would do is in no replay: the bound stands. */
static bool is_of_ranks(struct ap_text change)
{
    struct ap_change parsed;
    struct ap_expr_mistake mistake;
    return ap_change_parse(change, &parsed, &mistake) && parsed.columns & UINT32_C(1) << AP_CHANGE_COLUMN_collective;
}

enum ap_status ap_prediction_gain(void *predictor, struct ap_text changes, bool *ret_known, double *ret_step_ratio,
                                  int64_t *ret_window_ns, struct ap_error *reterr)
{
    const struct ap_told_change *told;
    AP_TRY(ap_predict_text(predictor, changes, &told, reterr));
    *ret_known = told && told->prediction.before_ns > 0 && !is_of_ranks(told->part);
    if (!*ret_known)
        return AP_OK;
    *ret_step_ratio = 1 - (double)told->prediction.after_ns / (double)told->prediction.before_ns;
    *ret_window_ns = told->prediction.saves_ns;
    return AP_OK;
}

enum ap_status ap_prediction_phase_share(void *facts, struct ap_text changes, struct ap_text phase, bool *ret_known,
                                         double *ret_ratio, struct ap_error *reterr)
{
    struct ap_change change;
    struct ap_expr_mistake mistake;
    struct ap_text part;
    int number = 0;
    while (number < AP_PHASE_COUNT_ && !ap_text_is(phase, ap_phase_name((enum ap_phase)number)))
        number++;
    *ret_known = false;
    while (number < AP_PHASE_COUNT_ && !*ret_known && ap_text_next_part(&changes, ';', &part)) {
        int64_t all_ns = 0, phase_ns = 0;
        /* all kernels stand for some that the change cannot name */
        if (ap_change_parse(part, &change, &mistake) && !ap_text_starts_with(part, "kernel like *"))
            AP_TRY(ap_change_device_time(facts, &change, (enum ap_phase)number, &all_ns, &phase_ns, reterr));
        *ret_known = all_ns > 0;
        *ret_ratio = all_ns > 0 ? (double)phase_ns / (double)all_ns : 0;
    }
    return AP_OK;
}

static bool gains_more(const void *context, uint32_t a, uint32_t b)
{
    const struct finding *x = (const struct finding *)context + a, *y = (const struct finding *)context + b;
    AP_LARGER_FIRST(x->told->prediction.steps_save_ns, y->told->prediction.steps_save_ns);
    return a < b;
}

static void add_finding_rows(const struct findings *findings, const uint32_t *order, size_t count, struct ap_model *model,
                             struct ap_value *list)
{
    for (size_t i = 0; i < count; i++) {
        const struct finding *finding = &findings->list[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "rule_id", ap_value_text(ap_value_member(finding->value, "rule_id")));
        ap_add_text(model, row, "title", ap_value_text(ap_value_member(finding->value, "title")));
        ap_add_text(model, row, "change", finding->told->part);
        add_prediction(&finding->told->prediction, "prediction", model, row);
    }
}

static enum ap_status predict_together(struct ap_predictor *predictor, const struct findings *findings,
                                       const uint32_t *order, size_t count, struct ap_prediction *ret_prediction,
                                       struct ap_error *reterr)
{
    struct ap_change changes[TOGETHER_COUNT];
    const struct ap_change *list[TOGETHER_COUNT];
    struct ap_expr_mistake mistake;
    size_t used = 0;
    for (size_t i = 0; i < count && used < TOGETHER_COUNT; i++)
        if (ap_change_parse(findings->list[order[i]].told->part, &changes[used], &mistake)) {
            list[used] = &changes[used];
            used++;
        }
    return used > 1 ? ap_predict(predictor, list, used, ret_prediction, reterr) : AP_OK;
}

static enum ap_status add_findings(struct ap_predictor *predictor, struct ap_model *model, struct ap_value *to,
                                   struct ap_error *reterr)
{
    struct findings findings = { .count = 0 };
    struct ap_prediction together = { .rows = 0 };
    uint32_t *order;
    size_t ordered;
    struct ap_value *list = ap_add_list(model, to, "findings");
    AP_TRY(predict_findings(predictor, model, &findings, reterr));
    AP_TRY(
        ap_top_indices(model->arena.gate, (uint32_t)findings.count, 0, gains_more, findings.list, &order, &ordered, reterr));
    add_finding_rows(&findings, order, ordered, model, list);
    enum ap_status status = predict_together(predictor, &findings, order, ordered, &together, reterr);
    AP_FREE(model->arena.gate, order, ordered);
    add_prediction(&together, "findings_together", model, to);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- whole */

static void add_edges(const struct ap_predictor *predictor, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *edges = ap_add_object(model, to, "edges");
    for (int i = 0; i < AP_REPLAY_EDGE_COUNT_; i++)
        ap_add_count(model, edges, ap_replay_edge_name((enum ap_replay_edge_type)i),
                     (int64_t)predictor->graph.edges_by_type[i]);
}

static void add_replay(const struct ap_predictor *predictor, struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *to = ap_add_object(model, parent, "replay");
    bool has_steps = predictor->steady_count;
    int64_t step_ns = has_steps ? predictor->worst_step_ns : 0;
    ap_add_bool(model, to, "exact", predictor->exact);
    ap_add_known_string(model, to, "why_not", predictor->why_not, predictor->why_not);
    ap_add_quotient(model, to, "window_share_ratio", (double)predictor->graph.stretch_ns, (double)predictor->graph.whole_ns);
    ap_add_count(model, to, "pieces", (int64_t)predictor->graph.count);
    add_edges(predictor, model, to);
    ap_add_count(model, to, "left_out_edges", (int64_t)predictor->graph.backward_edge_count);
    ap_add_time(model, to, "unexplained_us", predictor->graph.unexplained_ns);
    ap_add_time(model, to, "recorded_us", predictor->recorded.window_ns);
    ap_add_time(model, to, "replayed_us", predictor->unchanged.window_ns);
    ap_add_quotient(model, to, "window_error_ratio", (double)predictor->window_error_ns,
                    (double)predictor->recorded.window_ns);
    ap_add_count(model, to, "steps", (int64_t)predictor->steady_count);
    ap_add_quotient(model, to, "step_error_ratio", (double)predictor->step_error_ns, (double)step_ns);
}

/* What no replay of a recording can say. */
static void add_limits(const struct ap_facts *facts, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "not_said");
    ap_add_string(model, list, NULL,
                  "What the change itself costs: the better form takes time as well, and is not in the recording.");
    ap_add_string(model, list, NULL,
                  "How work that then runs beside other work slows it down, by shared bandwidth, caches, clocks or cores.");
    ap_add_string(model, list, NULL, "How much of the time is the profiler's own.");
    if (facts->trace->world_size > 1)
        ap_add_string(model, list, NULL, "What other ranks would do: their part of collectives stays as recorded.");
}

static enum ap_status add_all(struct ap_predictor *predictor, const struct ap_what_if *what_if, struct ap_model *model,
                              struct ap_value *to, struct ap_error *reterr)
{
    add_replay(predictor, model, to);
    AP_TRY(add_what_if(predictor, what_if, model, to, reterr));
    AP_TRY(add_findings(predictor, model, to, reterr));
    add_limits(predictor->facts, model, to);
    return ap_model_status(model, reterr);
}

static void add_nulls(struct ap_model *model)
{
    for (struct ap_value *value = first_of(&model->root, "findings"); value; value = value->next)
        ap_add_null(model, value, "prediction");
    ap_add_null(model, &model->root, "prediction");
}

enum ap_status ap_prediction_add(struct ap_predictor *predictor, const struct ap_what_if *what_if, struct ap_model *model,
                                 struct ap_error *reterr)
{
    if (predictor->facts)
        return add_all(predictor, what_if, model, ap_add_object(model, &model->root, "prediction"), reterr);
    add_nulls(model);
    return ap_model_status(model, reterr);
}
