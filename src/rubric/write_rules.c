/* SPDX-License-Identifier: MIT
 * write_rules DOCUMENT OUT.c - the rules of a document as C, so that no run has to read them. Runs where the program is
 * built, and reads the document as the program itself does. */
#include <stdio.h>

#include "rule.h"

#include "poison.h"

#define LONGEST_LITERAL 4095 /* that C promises */

static const char *const test_ids[] = {
#define AP_TEST(id, text) #id,
#define AP_TEST_ALSO(id, text)
#include "test.def"
#undef AP_TEST
#undef AP_TEST_ALSO
};
static const char *const platform_ids[] = { "any", "cpu", "gpu", "cuda", "rocm" };

static bool is_too_long;

/* ---- parts ---- */

static void write_text(FILE *to, const char *member, struct ap_text text)
{
    if (!text.data)
        return;
    is_too_long |= text.bytes > LONGEST_LITERAL;
    fprintf(to, "%s = TEXT(\"", member);
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < ' ' || byte > '~')
            fprintf(to, "\\%03o", byte);
        else
            fprintf(to, byte == '"' || byte == '\\' || byte == '?' ? "\\%c" : "%c", byte);
    }
    fputs("\"), ", to);
}

static void write_number(FILE *to, const char *member, size_t number)
{
    if (number)
        fprintf(to, "%s = %zu, ", member, number);
}

static void write_flag(FILE *to, const char *member, bool flag)
{
    if (flag)
        fprintf(to, "%s = true, ", member);
}

static void write_figure(FILE *to, const char *member, const struct ap_figure_info *figure)
{
    if (figure)
        fprintf(to, "%s = &ap_figures[%zu], ", member, (size_t)(figure - ap_figures));
}

static void write_comparison(FILE *to, const struct ap_comparison *comparison)
{
    fputs("{ ", to);
    write_text(to, ".path", comparison->path);
    write_text(to, ".other_path", comparison->other_path);
    write_figure(to, ".figure", comparison->figure);
    write_figure(to, ".other", comparison->other);
    fprintf(to, ".test = AP_TEST_%s, ", test_ids[comparison->test]);
    write_flag(to, ".has_limit", comparison->has_limit);
    if (comparison->has_limit)
        fprintf(to, ".limit = %.17g, ", comparison->limit);
    write_text(to, ".text", comparison->text);
    fputs("},\n      ", to);
}

static void write_expr(FILE *to, const char *member, const struct ap_expr *expr)
{
    fprintf(to, "%s = { (const struct ap_comparison[]){ ", member);
    for (size_t i = 0; i < expr->comparison_count; i++)
        write_comparison(to, &expr->comparisons[i]);
    fputs("}, (const uint8_t[]){ ", to);
    for (size_t i = 0; i < expr->step_count; i++)
        fprintf(to, "%d, ", expr->steps[i]);
    fprintf(to, "}, %zu, %zu },\n      ", expr->comparison_count, expr->step_count);
}

static void write_texts(FILE *to, const char *member, const struct ap_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "%s[%zu]", member, i);
        write_text(to, name, texts[i]);
    }
}

/* ---- lists ---- */

static void write_severities(FILE *to, const struct ap_rule *rule)
{
    fprintf(to, ".severity = AP_SEVERITY_%s, ", ap_severity_names[rule->severity]);
    if (!rule->severity_clause_count)
        return;
    fprintf(to, ".severity_clause_count = %zu,\n      .severity_clauses = (const struct ap_severity_clause[]){ ",
            rule->severity_clause_count);
    for (size_t i = 0; i < rule->severity_clause_count; i++) {
        fprintf(to, "{ .severity = AP_SEVERITY_%s, ", ap_severity_names[rule->severity_clauses[i].severity]);
        write_expr(to, ".when", &rule->severity_clauses[i].when);
        fputs("}, ", to);
    }
    fputs("},\n      ", to);
}

static void write_confidences(FILE *to, const struct ap_rule *rule)
{
    fprintf(to, ".confidence = AP_CONFIDENCE_%s, ", ap_confidence_names[rule->confidence]);
    if (!rule->confidence_clause_count)
        return;
    fprintf(to, ".confidence_clause_count = %zu,\n      .confidence_clauses = (const struct ap_confidence_clause[]){ ",
            rule->confidence_clause_count);
    for (size_t i = 0; i < rule->confidence_clause_count; i++) {
        const struct ap_confidence_clause *clause = &rule->confidence_clauses[i];
        fprintf(to, "{ .confidence = AP_CONFIDENCE_%s, ", ap_confidence_names[clause->confidence]);
        write_flag(to, ".one_lower", clause->one_lower);
        write_flag(to, ".with", clause->with);
        fprintf(to, ".artifact = %zu }, ", clause->artifact);
    }
    fputs("},\n      ", to);
}

static void write_places(FILE *to, const struct ap_rule *rule)
{
    if (!rule->place_count)
        return;
    fprintf(to, ".place_count = %zu, .places = (const struct ap_rule_place[]){ ", rule->place_count);
    for (size_t i = 0; i < rule->place_count; i++) {
        fputs("{ ", to);
        write_text(to, ".path", rule->places[i].path);
        write_text(to, ".key", rule->places[i].key);
        write_text(to, ".value", rule->places[i].value);
        fputs("}, ", to);
    }
    fputs("},\n      ", to);
}

/* Its place among the rules of the document. */
static size_t number_of(const struct ap_rubric *rubric, const struct ap_rule *wanted)
{
    size_t number = 0;
    for (const struct ap_rule *rule = rubric->first; rule != wanted; rule = rule->next)
        number++;
    return number;
}

static void write_rule_at(FILE *to, const char *member, const struct ap_rubric *rubric, const struct ap_rule *rule)
{
    if (rule)
        fprintf(to, "%s&rules[%zu], ", member, number_of(rubric, rule));
}

static void write_suppressors(FILE *to, const struct ap_rubric *rubric, const struct ap_rule *rule)
{
    if (!rule->suppressed_by_count)
        return;
    fprintf(to, ".suppressed_by_count = %zu, .suppressed_by = (const struct ap_rule *const[]){ ", rule->suppressed_by_count);
    for (size_t i = 0; i < rule->suppressed_by_count; i++)
        write_rule_at(to, "", rubric, rule->suppressed_by[i]);
    fputs("},\n      ", to);
}

/* ---- rules ---- */

static void write_subject(FILE *to, const struct ap_rule *rule)
{
    write_number(to, ".needs", rule->needs);
    write_number(to, ".missing", rule->missing);
    write_number(to, ".phases", rule->phases);
    fprintf(to, ".domain = AP_DOMAIN_%s, ", ap_domain_names[rule->domain]);
    fprintf(to, ".bottleneck = \"%s\",\n      ", rule->bottleneck);
    fprintf(to, ".hardware = { \"%s\", AP_PLATFORM_%s, %.17g },\n      ", rule->hardware.name,
            platform_ids[rule->hardware.platform], rule->hardware.capability);
    write_flag(to, ".suppresses_all", rule->suppresses_all);
    write_flag(to, ".not_among_ranks", rule->not_among_ranks);
    fprintf(to, ".among_ranks = AP_SEVERITY_%s, ", ap_severity_names[rule->among_ranks]);
}

static void write_rule(FILE *to, const struct ap_rubric *rubric, const struct ap_rule *rule)
{
    fprintf(to, "    { .line = %d, ", rule->line);
    write_rule_at(to, ".next = ", rubric, rule->next);
    write_rule_at(to, ".older = ", rubric, rule->older);
    write_text(to, ".id", rule->id);
    write_text(to, ".title", rule->title);
    fputs("\n      ", to);
    write_expr(to, ".when", &rule->when);
    write_severities(to, rule);
    write_confidences(to, rule);
    write_subject(to, rule);
    write_number(to, ".rank_by_count", rule->rank_by_count);
    for (size_t i = 0; i < rule->rank_by_count; i++)
        write_figure(to, (const char *const[]){ ".rank_by[0]", ".rank_by[1]", ".rank_by[2]" }[i], rule->rank_by[i]);
    write_number(to, ".rests_on_count", rule->rests_on_count);
    write_texts(to, ".rests_on", rule->rests_on, rule->rests_on_count);
    write_places(to, rule);
    write_suppressors(to, rubric, rule);
    write_text(to, ".due_to", rule->due_to);
    write_text(to, ".change", rule->change);
    write_text(to, ".source", rule->source);
    write_texts(to, "\n      .texts", rule->texts, AP_TEXT_COUNT_);
    fputs("},\n", to);
}

static void write_rubric(FILE *to, const struct ap_rubric *rubric)
{
    fputs("/* SPDX-License-Identifier: MIT\n * Written by write_rules. */\n#include \"rule.h\"\n\n"
          "#define TEXT(literal) { literal, sizeof(literal) - 1 }\n\n",
          to);
    fprintf(to, "static const struct ap_rule rules[%zu] = {\n", rubric->rule_count);
    for (const struct ap_rule *rule = rubric->first; rule; rule = rule->next)
        write_rule(to, rubric, rule);
    fprintf(to, "};\n\nconst struct ap_rubric ap_rubric_made = { .first = &rules[0], .rule_count = %zu, .of_length = {\n",
            rubric->rule_count);
    for (size_t i = 0; i < AP_RULE_LENGTHS; i++)
        if (rubric->of_length[i])
            fprintf(to, "    [%zu] = &rules[%zu],\n", i, number_of(rubric, rubric->of_length[i]));
    fputs("} };\n", to);
}

static bool read_document(struct ap_gate *gate, const char *name, struct ap_rubric **ret_rubric)
{
    static char text[AP_RUBRIC_MAX_BYTES + 1]; /* one more than is read, to see that a file is too long */
    struct ap_error error = { .message = "cannot be read" };
    FILE *file = fopen(name, "rb");
    size_t bytes = file ? fread(text, 1, sizeof(text), file) : 0;
    bool is_read = file && !ferror(file) && ap_rubric_parse(gate, text, bytes, name, ret_rubric, &error) == AP_OK;
    if (file)
        (void)fclose(file);
    if (!is_read)
        fprintf(stderr, "%s: %s\n", name, error.message);
    return is_read;
}

int main(int argc, char **argv)
{
    struct ap_gate gate;
    struct ap_rubric *rubric;
    ap_gate_init(&gate, 0);
    if (argc != 3 || !read_document(&gate, argv[1], &rubric))
        return 1;
    FILE *to = fopen(argv[2], "wb");
    if (!to) {
        perror(argv[2]);
        return 1;
    }
    write_rubric(to, rubric);
    bool is_written = !ferror(to);
    is_written &= fclose(to) == 0;
    if (is_too_long)
        fprintf(stderr, "%s: a text is longer than a literal of C may be\n", argv[1]);
    ap_rubric_free(rubric);
    return is_written && !is_too_long ? 0 : 1;
}
