/* SPDX-License-Identifier: MIT
 * compare_figures.c - single figures, and those of memory. */
#include "comparing.h"
#include "figure_path.h"

#include "poison.h"

const char *ap_change_name(enum ap_change change)
{
    static const char *const names[] = {
        "no change", "worse", "better", "changed", "differs", "too few values", "not known on one side"
    };
    return names[change];
}

enum ap_change ap_change_of(double delta, enum ap_better better)
{
    if (delta == 0)
        return AP_CHANGE_none;
    if (better == AP_BETTER_neither)
        return AP_CHANGE_other;
    return (delta < 0) == (better == AP_BETTER_lower) ? AP_CHANGE_better : AP_CHANGE_worse;
}

static double number_of(const struct ap_value *value)
{
    double number = 0;
    (void)ap_value_number(value, &number);
    return number;
}

/* Sizes and counts repeat from run to run, other figures move with the steps. */
static bool is_change(const struct ap_comparing *comparing, const struct ap_value *value, double before, double after)
{
    double size = before > after ? before - after : after - before, share = ap_relative_difference(before, after);
    switch (value->type) {
    case AP_VALUE_BYTES: return share >= AP_SIZE_LEAST_RATIO && size >= AP_SIZE_LEAST_BYTES;
    case AP_VALUE_COUNT: return share >= AP_SIZE_LEAST_RATIO;
    case AP_VALUE_RATIO: return size >= AP_RATIO_LEAST_POINTS && share >= comparing->noise_ratio;
    default: return share >= comparing->noise_ratio;
    }
}

/* Steps that vary hide it: that is not that nothing changed. */
static bool is_hidden_by_noise(const struct ap_comparing *comparing, const struct ap_value *value, double before,
                               double after)
{
    double size = before > after ? before - after : after - before, share = ap_relative_difference(before, after);
    bool moves = value->type == AP_VALUE_RATIO ? size >= AP_RATIO_LEAST_POINTS
                                               : value->type != AP_VALUE_BYTES && value->type != AP_VALUE_COUNT;
    return moves && share >= AP_NOISE_LEAST_RATIO && share < comparing->noise_ratio;
}

/* A difference in the unit of the figure. */
static struct ap_value difference(const struct ap_value *value, double delta)
{
    struct ap_value result = { .type = value->type };
    if (value->type == AP_VALUE_RATIO || value->type == AP_VALUE_NUMBER)
        result.as.number = delta;
    else
        result.as.integer = (int64_t)delta;
    return result;
}

/* One unit for both: a ratio of 1 is read back as one, a number of 1 as a count. */
static struct ap_value in_unit_of(const struct ap_value *value, const struct ap_value *model)
{
    return difference(model, number_of(value));
}

static bool is_float(const struct ap_value *value)
{
    return value->type == AP_VALUE_RATIO || value->type == AP_VALUE_NUMBER;
}

static void add_figure(struct ap_comparing *comparing, struct ap_value *list, const struct ap_figure_info *figure)
{
    struct ap_model *model = comparing->model;
    const struct ap_value *before = ap_figure_fold(comparing->before, ap_text_of(ap_figure_text(figure->path)));
    const struct ap_value *after = ap_figure_fold(comparing->after, ap_text_of(ap_figure_text(figure->path)));
    if ((!before && !after) || (before && after && number_of(before) == 0 && number_of(after) == 0))
        return;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "metric", ap_figure_text(figure->path));
    ap_add_string(model, row, "title", ap_figure_text(figure->title));
    if (!before || !after) {
        ap_add_figure(model, row, "before", before);
        ap_add_figure(model, row, "after", after);
        ap_add_null(model, row, "delta");
        ap_add_null(model, row, "delta_ratio");
        ap_add_string(model, row, "change", ap_change_name(AP_CHANGE_unknown));
        return;
    }
    double from = number_of(before), to = number_of(after);
    const struct ap_value *unit = is_float(before) ? before : after;
    if (is_float(unit) && ap_relative_difference(from, to) < AP_WRITTEN_PRECISION)
        to = from; /* one of them went through a file */
    struct ap_value delta = difference(unit, to - from), left = in_unit_of(before, unit), right = in_unit_of(after, unit);
    ap_add_figure(model, row, "before", &left);
    ap_add_figure(model, row, "after", &right);
    ap_add_figure(model, row, "delta", &delta);
    ap_add_quotient(model, row, "delta_ratio", to - from, from);
    enum ap_change change = is_change(comparing, unit, from, to)            ? ap_change_of(to - from, figure->better)
                            : is_hidden_by_noise(comparing, unit, from, to) ? AP_CHANGE_unclear
                                                                            : AP_CHANGE_none;
    bool is_share = unit->type == AP_VALUE_RATIO;
    change = is_share ? ap_change_of_share(comparing, change) : change;
    bool repeats = unit->type == AP_VALUE_BYTES || unit->type == AP_VALUE_COUNT;
    ap_add_string(model, row, "change", ap_change_name(repeats ? change : ap_change_said(comparing, change)));
}

void ap_compare_figures(struct ap_comparing *comparing)
{
    static const struct {
        enum ap_compared list;
        const char *key;
    } lists[] = { { AP_COMPARED_figures, "figures" }, { AP_COMPARED_memory, "memory" } };
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++) {
        struct ap_value *to = ap_add_list(comparing->model, comparing->comparison, lists[i].key);
        for (size_t k = 0; k < ap_compared_figure_count; k++)
            if (ap_compared_figures[k]->compared == lists[i].list)
                add_figure(comparing, to, ap_compared_figures[k]);
    }
}
