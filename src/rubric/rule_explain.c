/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "rule.h"
#include "rule_figures.h"

#include "poison.h"

/* ---- the document as text ---- */

static struct ap_text line_at(struct ap_text text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.bytes - at);
    return (struct ap_text){ text.data + at, end ? (size_t)(end - text.data) - at : text.bytes - at };
}

/* From the heading of the rule to the next heading. */
static struct ap_text section_of(struct ap_text document, struct ap_text id)
{
    static const char mark[] = "### ";
    size_t start = document.bytes, end = document.bytes;
    for (size_t at = 0; at < document.bytes;) {
        struct ap_text line = line_at(document, at);
        bool heading = ap_text_starts_with(line, "## ") || ap_text_starts_with(line, mark);
        if (heading && start < document.bytes) {
            end = at;
            break;
        }
        size_t skip = sizeof(mark) - 1;
        if (ap_text_starts_with(line, mark) && line.bytes > skip + id.bytes &&
            memcmp(line.data + skip, id.data, id.bytes) == 0 && line.data[skip + id.bytes] == ':')
            start = at;
        at += line.bytes + 1;
    }
    return ap_text_trim((struct ap_text){ document.data + start, end - start });
}

/* What stands behind "KEY:" in the block of the rule, on one line. */
static void add_entry(struct ap_text section, const char *key, struct ap_model *model, struct ap_value *to)
{
    char joined[2000];
    size_t used = 0, key_bytes = strlen(key);
    bool in_entry = false;
    for (size_t at = 0; at < section.bytes;) {
        struct ap_text line = line_at(section, at), part = line;
        at += line.bytes + 1;
        bool begins = ap_text_starts_with(line, key) && line.bytes > key_bytes && line.data[key_bytes] == ':';
        if (begins)
            part = (struct ap_text){ line.data + key_bytes + 1, line.bytes - key_bytes - 1 };
        else if (in_entry && !ap_text_starts_with(line, " "))
            break;
        in_entry |= begins;
        part = ap_text_trim(part);
        if (!in_entry || used + part.bytes + 1 >= sizeof(joined))
            continue;
        if (used)
            joined[used++] = ' ';
        memcpy(joined + used, part.data, part.bytes);
        used += part.bytes;
    }
    ap_add_known_text(model, to, key, used, (struct ap_text){ joined, used });
}

/* ---- rules ---- */

static void add_head(struct ap_text section, const struct ap_rule *rule, struct ap_model *model, struct ap_value *to)
{
    ap_add_text(model, to, "id", rule->id);
    ap_add_text(model, to, "title", rule->title);
    ap_add_string(model, to, "severity", ap_severity_names[rule->severity]);
    ap_add_string(model, to, "confidence", ap_confidence_names[rule->confidence]);
    ap_add_string(model, to, "domain", ap_domain_names[rule->domain]);
    ap_add_known_string(model, to, "bottleneck", rule->bottleneck != NULL, rule->bottleneck);
    ap_add_known_string(model, to, "hardware", rule->hardware.name != NULL, rule->hardware.name);
    add_entry(section, "when", model, to);
}

enum ap_status ap_rubric_list(const struct ap_rubric *rubric, struct ap_model *model, struct ap_value *list,
                              struct ap_error *reterr)
{
    struct ap_text rest = rubric->document; /* the rules stand there in this order */
    for (const struct ap_rule *rule = rubric->first; rule; rule = rule->next) {
        struct ap_text section = section_of(rest, rule->id);
        add_head(section, rule, model, ap_add_object(model, list, NULL));
        rest.bytes -= (size_t)(section.data + section.bytes - rest.data);
        rest.data = section.data + section.bytes;
    }
    return ap_model_status(model, reterr);
}

static void add_input(const struct ap_comparison *comparison, const struct ap_value *root, struct ap_model *model,
                      struct ap_value *list)
{
    struct ap_value limit, *to = ap_add_object(model, list, NULL);
    bool known = (!comparison->other || root) && ap_comparison_limit(comparison, root, &limit);
    ap_add_string(model, to, "metric", ap_figure_text(comparison->figure->path));
    ap_add_string(model, to, "unit", ap_unit_name(comparison->figure->unit));
    ap_add_string(model, to, "test", ap_test_name(comparison->test));
    ap_add_figure(model, to, "threshold", known ? &limit : NULL);
    ap_add_known_string(model, to, "threshold_times", comparison->other != NULL,
                        comparison->other ? ap_figure_text(comparison->other->path) : "");
    ap_add_quotient(model, to, "threshold_factor", comparison->limit, comparison->other ? 1 : 0);
    if (root)
        ap_add_figure(model, to, "value", ap_figure_value(root, comparison->figure));
    ap_add_string(model, to, "meaning", ap_figure_text(comparison->figure->words));
}

static void add_artifacts(uint32_t artifacts, const char *key, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, key);
    for (size_t i = 0; i < ap_artifact_count(); i++)
        if (artifacts >> i & 1)
            ap_add_string(model, list, NULL, ap_artifact_request(i));
}

/* "FIGURE = VALUE | NEAR MISS" of the file of examples. */
static void add_example_line(struct ap_text line, struct ap_model *model, struct ap_value *list)
{
    const char *equals = memchr(line.data, '=', line.bytes), *bar = memchr(line.data, '|', line.bytes);
    if (!equals)
        return;
    size_t name_bytes = (size_t)(equals - line.data), end = bar ? (size_t)(bar - line.data) : line.bytes;
    struct ap_value *to = ap_add_object(model, list, NULL);
    ap_add_text(model, to, "metric", ap_text_trim((struct ap_text){ line.data, name_bytes }));
    ap_add_literal(model, to, "fires_with", ap_text_trim((struct ap_text){ equals + 1, end - name_bytes - 1 }));
    if (bar)
        ap_add_literal(model, to, "silent_with", ap_text_trim((struct ap_text){ bar + 1, line.bytes - end - 1 }));
    else
        ap_add_null(model, to, "silent_with");
}

static void add_example(const struct ap_rule *rule, struct ap_model *model, struct ap_value *to)
{
    struct ap_text text = { (const char *)ap_rule_figures, ap_rule_figures_bytes };
    struct ap_value *list = ap_add_list(model, to, "example");
    bool in_rule = false;
    for (size_t at = 0; at < text.bytes;) {
        struct ap_text line = line_at(text, at);
        at += line.bytes + 1;
        if (ap_text_starts_with(line, "rule "))
            in_rule = ap_text_equal(ap_text_trim((struct ap_text){ line.data + 5, line.bytes - 5 }), rule->id);
        else if (in_rule && line.bytes && line.data[0] != '#')
            add_example_line(line, model, list);
    }
}

enum ap_status ap_rubric_explain(const struct ap_rubric *rubric, struct ap_text id, const struct ap_value *root,
                                 struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    const struct ap_rule *rule = ap_rubric_find(rubric, id);
    if (!rule)
        return AP_END;
    struct ap_text section = section_of(rubric->document, rule->id);
    ap_add_string(model, to, "kind", "rule");
    add_head(section, rule, model, to);
    for (size_t i = 0; i < AP_TEXT_COUNT_; i++)
        ap_add_text(model, to, ap_rule_text_keys[i], rule->texts[i]);
    ap_add_text(model, to, "threshold_source", rule->source);
    struct ap_value *inputs = ap_add_list(model, to, "inputs");
    for (size_t i = 0; i < rule->when.comparison_count; i++)
        add_input(&rule->when.comparisons[i], root, model, inputs);
    add_artifacts(rule->needs, "needs", model, to);
    add_artifacts(rule->missing, "surer_with", model, to);
    struct ap_value *ranks = ap_add_list(model, to, "gain_bounded_by");
    for (size_t i = 0; i < rule->rank_by_count; i++)
        ap_add_string(model, ranks, NULL, ap_figure_text(rule->rank_by[i]->path));
    struct ap_value *suppressors = ap_add_list(model, to, "explained_away_by");
    for (size_t i = 0; i < rule->suppressed_by_count; i++)
        ap_add_text(model, suppressors, NULL, rule->suppressed_by[i]->id);
    add_example(rule, model, to);
    ap_add_text_named(model, to, AP_TEXT("text"), section); /* whole, however long */
    return ap_model_status(model, reterr);
}

/* ---- figures ---- */

void ap_rubric_add_users(const struct ap_rubric *rubric, struct ap_text figure, struct ap_model *model,
                         struct ap_value *list)
{
    for (const struct ap_rule *rule = rubric->first; rule; rule = rule->next)
        for (size_t i = 0; i < rule->when.comparison_count; i++) {
            const struct ap_comparison *comparison = &rule->when.comparisons[i];
            if (!ap_text_is(figure, ap_figure_text(comparison->figure->path)) &&
                !(comparison->other && ap_text_is(figure, ap_figure_text(comparison->other->path))))
                continue;
            ap_add_text(model, list, NULL, rule->id);
            break;
        }
}
