/* SPDX-License-Identifier: MIT */
#include "fine.h"

#include <string.h>

#include "rule.h"

#include "poison.h"

static const struct fine {
    const char *id;
    enum ap_domain domain;
    const char *title, *when, *says, *bottlenecks;
} fines[] = {
#define AP_FINE(id, domain, title, when, says, bottlenecks) { #id, AP_DOMAIN_##domain, title, when, says, bottlenecks },
#include "fine.def"
#undef AP_FINE
};

static bool names_word(const char *words, struct ap_text word)
{
    struct ap_text rest = ap_text_of(words), one;
    while (ap_text_next_part(&rest, ' ', &one))
        if (one.bytes && ap_text_equal(one, word))
            return true;
    return false;
}

/* Does a finding say otherwise? One about the recording as a whole does of all that the trace tells. */
static bool is_contradicted(const struct fine *fine, const struct ap_value *root)
{
    const struct ap_value *finding = ap_value_first(ap_value_member(root, "findings"));
    for (; finding; finding = finding->next) {
        struct ap_text bottleneck = ap_value_text(ap_value_member(finding, "bottleneck"));
        bool remark = ap_severity_rank(ap_value_text(ap_value_member(finding, "severity"))) <= AP_SEVERITY_info;
        if (!remark && (names_word(fine->bottlenecks, bottleneck) ||
                        (ap_text_is(bottleneck, "trace-quality") && fine->domain != AP_DOMAIN_memory)))
            return true;
    }
    return false;
}

static enum ap_status add_line(const struct fine *fine, const struct ap_rule *rule, struct ap_model *model,
                               struct ap_value *list, struct ap_error *reterr)
{
    struct ap_text_buffer text = { .gate = model->arena.gate };
    enum ap_status status = ap_rule_text_fill(rule, ap_text_of(fine->says), &model->root, &text, reterr);
    if (status == AP_OK) {
        const struct ap_figure_info *figure = rule->when.comparisons[rule->when.comparison_count - 1].figure;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "id", fine->id);
        ap_add_string(model, row, "domain", ap_domain_names[fine->domain]);
        ap_add_string(model, row, "title", fine->title);
        ap_add_text(model, row, "text", (struct ap_text){ text.data, text.used });
        ap_add_string(model, row, "metric", ap_figure_text(figure->path));
        ap_add_figure(model, row, "value", ap_figure_value(&model->root, figure));
    }
    ap_text_buffer_release(&text);
    return status;
}

/* A share of the judged time says nothing where the verdict is unsure of what the devices waited for. */
static bool is_in_doubt(const struct ap_rule *rule, const struct ap_value *root)
{
    bool of_judged = false;
    for (size_t i = 0; i < rule->when.comparison_count; i++) {
        const char *path = ap_figure_text(rule->when.comparisons[i].figure->path);
        of_judged |= strncmp(path, "split.judged.", 13) == 0 || strncmp(path, "verdict.", 8) == 0;
    }
    return of_judged && ap_text_is(ap_value_text(ap_value_at(root, "verdict.confidence")), "low");
}

enum ap_status ap_fine_add(const struct ap_judge_options *options, struct ap_model *model, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, &model->root, "fine");
    for (size_t i = 0; i < AP_COUNT_OF(fines); i++) {
        struct ap_rule rule = { .domain = fines[i].domain };
        AP_TRY(
            ap_when_parse(ap_text_of(fines[i].when), (struct ap_place){ "fine.def", 1 }, &model->arena, &rule.when, reterr));
        if (ap_rule_is_wanted(&rule, options) && !is_contradicted(&fines[i], &model->root) &&
            !is_in_doubt(&rule, &model->root) && ap_expr_evaluate(&rule.when, &model->root) == AP_TRUE)
            AP_TRY(add_line(&fines[i], &rule, model, list, reterr));
    }
    return ap_model_status(model, reterr);
}
