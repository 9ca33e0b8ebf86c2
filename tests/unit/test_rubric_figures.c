/* SPDX-License-Identifier: MIT
 * Every rule that ships has figures that fire it and near misses, each one value away, that do not:
 * fixtures/rules/figures.txt. A rule without them, or figures without a rule, fail here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_list.h"
#include "rule_model.h"
#include "tap.h"

#include "poison.h"

#define MAX_FIGURES 24

static struct ap_gate gate;
static struct ap_rubric *rubric;

/* A rule whose blocks were met, and a bit for each of its comparisons whose figure has a near miss. */
struct seen {
    const struct ap_rule *rule;
    uint32_t tried;
};
_Static_assert(AP_EXPR_MAX <= 32, "a bit for each comparison");

/* "FIGURE = VALUE" or "FIGURE = VALUE | NEAR MISS" */
struct written {
    const struct ap_figure_info *figure;
    char value[32], near_miss[32]; /* as written; an empty near miss is none */
};

struct block {
    const struct ap_rule *rule;
    struct written figures[MAX_FIGURES];
    size_t count;
};

static void claim(bool holds, const struct block *block, const char *what)
{
    char text[300];
    (void)snprintf(text, sizeof(text), "%s: %s", block->rule ? block->rule->id.data : "figures.txt", what);
    ok(holds, text);
}

/* ---- the file ---- */

static void mistake(int line, const char *what, const char *text)
{
    char message[300];
    (void)snprintf(message, sizeof(message), "figures.txt:%d: %s: \"%.200s\"", line, what, text);
    ok(false, message);
}

static void read_rule(struct block *block, const char *id, int line)
{
    *block = (struct block){ .rule = ap_rubric_find(rubric, ap_text_of(id)) };
    if (!block->rule)
        mistake(line, "no such rule", id);
}

static void read_figure(struct block *block, const char *text, int line)
{
    char path[128];
    struct written *written = &block->figures[block->count];
    written->near_miss[0] = '\0';
    int fields = sscanf(text, "%127s = %31s | %31s", path, written->value, written->near_miss);
    written->figure = fields >= 2 ? ap_figure_find(ap_text_of(path)) : NULL;
    if (!written->figure || block->count + 1 == MAX_FIGURES)
        mistake(line, "no \"FIGURE = VALUE\" or \"FIGURE = VALUE | NEAR MISS\"", text);
    else
        block->count++;
}

/* ---- figures to a report ---- */

static void put_written(struct ap_model *model, const struct ap_figure_info *figure, const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (strcmp(text, "null") == 0)
        put_null(model, ap_figure_text(figure->path));
    else if (figure->unit == AP_UNIT_bool)
        put_bool(model, ap_figure_text(figure->path), strcmp(text, "true") == 0);
    else if (*end != '\0')
        mistake(0, "no number", text);
    else
        put_figure(model, figure, figure->unit == AP_UNIT_time ? number * 1000 : number);
}

/* With the near miss of figure number @other in place of its value; none where that is -1. */
static bool block_fires(const struct block *block, int other, bool *ret_evaluated)
{
    struct ap_model model;
    ap_model_init(&model, &gate);
    put_artifacts(&model);
    for (size_t i = 0; i < block->count; i++)
        put_written(&model, block->figures[i].figure,
                    (int)i == other ? block->figures[i].near_miss : block->figures[i].value);
    *ret_evaluated = false;
    bool fired = fires(&model, block->rule, ret_evaluated);
    ap_model_release(&model);
    return fired;
}

static void a_rule_fires_and_its_near_misses_do_not(const struct block *block)
{
    bool evaluated;
    int near_misses = 0;
    claim(block_fires(block, -1, &evaluated), block, "fires on its figures");
    for (size_t i = 0; i < block->count; i++) {
        if (!block->figures[i].near_miss[0])
            continue;
        char what[200];
        (void)snprintf(what, sizeof(what), "is judged and silent where only %s is %s",
                       ap_figure_text(block->figures[i].figure->path), block->figures[i].near_miss);
        bool fired = block_fires(block, (int)i, &evaluated);
        claim(!fired && evaluated, block, what);
        near_misses++;
    }
    claim(near_misses > 0, block, "has a near miss");
}

/* ---- all of them ---- */

static uint32_t comparisons_tried(const struct block *block)
{
    uint32_t tried = 0;
    const struct ap_expr *when = &block->rule->when;
    for (size_t i = 0; i < block->count; i++)
        for (size_t c = 0; block->figures[i].near_miss[0] && c < when->comparison_count; c++)
            if (when->comparisons[c].figure == block->figures[i].figure)
                tried |= UINT32_C(1) << c;
    return tried;
}

static void end_block(const struct block *block, struct seen *seen, size_t *seen_count)
{
    if (!block->rule)
        return;
    size_t place = 0;
    while (place < *seen_count && seen[place].rule != block->rule)
        place++;
    if (place == *seen_count)
        seen[(*seen_count)++] = (struct seen){ .rule = block->rule };
    seen[place].tried |= comparisons_tried(block);
    a_rule_fires_and_its_near_misses_do_not(block);
}

static size_t read_figures(char *text, struct seen *seen)
{
    struct block block = { .rule = NULL };
    size_t seen_count = 0;
    int number = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        number++;
        if (strncmp(line, "rule ", 5) == 0) {
            end_block(&block, seen, &seen_count);
            read_rule(&block, line + 5, number);
        } else if (line[0] != '\0' && line[0] != '#') {
            read_figure(&block, line, number);
        }
    }
    end_block(&block, seen, &seen_count);
    return seen_count;
}

/* What is recorded says for which recordings a rule is: no limit to miss by little. */
static bool wants_near_miss(const struct ap_comparison *comparison)
{
    return !ap_text_starts_with(comparison->path, "trace.recorded.");
}

static void each_comparison_is_tried(const struct ap_rule *rule, uint32_t tried)
{
    for (size_t c = 0; c < rule->when.comparison_count; c++) {
        const struct ap_comparison *comparison = &rule->when.comparisons[c];
        char what[200];
        (void)snprintf(what, sizeof(what), "has a near miss of %.*s", (int)comparison->path.bytes, comparison->path.data);
        if (wants_near_miss(comparison))
            claim(tried >> c & 1, &(struct block){ .rule = rule }, what);
    }
}

static void every_rule_has_figures(const struct seen *seen, size_t seen_count)
{
    for (const struct ap_rule *rule = rubric->first; rule; rule = rule->next) {
        const struct seen *met = NULL;
        for (size_t i = 0; i < seen_count; i++)
            met = seen[i].rule == rule ? &seen[i] : met;
        claim(met, &(struct block){ .rule = rule }, "has figures in fixtures/rules/figures.txt");
        if (met)
            each_comparison_is_tried(rule, met->tried);
    }
}

int main(int argc, char **argv)
{
    struct ap_error error;
    struct ap_text builtin = ap_rubric_builtin();
    char path[1024];
    ap_gate_init(&gate, 0);
    if (ap_rubric_parse(&gate, builtin.data, builtin.bytes, "references/interpretation.md", &rubric, &error) != AP_OK) {
        note(error.message);
        ok(false, "the document that ships is read");
        return done();
    }
    (void)snprintf(path, sizeof(path), "%s/rules/figures.txt", fixtures_folder(argc, argv));
    struct file_list files = list_files(path);
    size_t bytes = files.files[0].bytes, rules = ap_rubric_rule_count(rubric);
    char *text = ap_mem_resize(&gate, NULL, 0, bytes + 1);
    struct seen *seen = ap_mem_resize(&gate, NULL, 0, rules * sizeof(seen[0]));
    if (!text || !seen)
        abort();
    memcpy(text, files.files[0].data, bytes);
    text[bytes] = '\0';
    every_rule_has_figures(seen, read_figures(text, seen));
    release_files(&files);
    ap_mem_free(&gate, text, bytes + 1);
    ap_mem_free(&gate, seen, rules * sizeof(seen[0]));
    ap_rubric_free(rubric);
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory went back");
    return done();
}
