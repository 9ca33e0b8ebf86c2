/* SPDX-License-Identifier: MIT
 * Any text as a condition, in any language, judged against a tree of every type. Claims: a refusal says why and where; what
 * is accepted keeps to its room, names only what its language has, is judged the same once it is kept elsewhere, and, joined
 * with itself, still holds where it held. First byte: features, second: tests, third: most comparisons; the rest is the
 * text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "fuzz_target.h"
#include "tree.h"

/* ---- names: one for each unit; all others are columns where values are texts ---- */

static const char *const names[] = { "rows", "bytes", "wait_us", "share_ratio", "level", "complete" };

static bool find_figure(struct ap_text path, struct ap_expr_name *ret_name)
{
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(path, names[i])) {
            ret_name->unit = (enum ap_unit)i;
            return true;
        }
    return false;
}

static bool find_column(struct ap_text path, struct ap_expr_name *ret_name)
{
    ret_name->unit = ap_text_ends_with(path, "_us")      ? AP_UNIT_time
                     : ap_text_ends_with(path, "_bytes") ? AP_UNIT_bytes
                     : ap_text_ends_with(path, "_ratio") ? AP_UNIT_ratio
                                                         : AP_UNIT_number;
    return true;
}

static void offer(struct ap_text wanted, struct ap_near_names *near)
{
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        ap_near_names_offer(near, wanted, ap_text_of(names[i]));
}

static void build_tree(struct ap_model *model, struct ap_gate *gate)
{
    ap_model_init(model, gate);
    put_count(model, "rows", 5);
    put_bytes(model, "bytes", 4096);
    put_time(model, "wait_us", 1500);
    put_ratio(model, "share_ratio", 0.5);
    put_null(model, "level");
    put_bool(model, "complete", true);
    put_text(model, "name", "aten::add(int) b");
    struct ap_value *list = put_list(model, "kinds");
    ap_add_string(model, list, NULL, "");
    ap_add_null(model, list, NULL);
    ap_add_number(model, list, NULL, -7);
    ap_add_object(model, list, NULL);
}

/* ---- claims ---- */

static void check_refusal(const struct ap_expr_mistake *mistake, size_t bytes)
{
    require(mistake->message[0] && memchr(mistake->message, '\0', sizeof(mistake->message)), "a refusal says why");
    require(mistake->at <= bytes, "and where");
}

static void check_comparison(const struct ap_comparison *comparison, const struct ap_expr_language *language,
                             struct ap_text text)
{
    bool null = language->features & AP_EXPR_TEXTS && comparison->test <= AP_TEST_is_unknown;
    require(language->tests >> comparison->test & 1 || null, "only tests of the language are used");
    require(comparison->path.bytes > 0 && comparison->path.data >= text.data &&
                comparison->path.data + comparison->path.bytes <= text.data + text.bytes,
            "a name is a piece of the text");
    require(comparison->limit == comparison->limit, "a limit is a number");
    require(!comparison->is_change || language->features & AP_EXPR_CHANGES, "a change where there are such");
    require(!comparison->other_path.data || language->features & AP_EXPR_FIGURES, "two figures where there are such");
}

static void check_expr(struct ap_expr *expr, const struct ap_expr_language *language, struct ap_text text,
                       struct ap_gate *gate)
{
    struct ap_model model;
    struct ap_arena arena;
    require(expr->comparison_count >= 1 && expr->comparison_count <= language->most &&
                expr->step_count == 2 * expr->comparison_count - 1,
            "each comparison but the first has one joint");
    for (size_t i = 0; i < expr->comparison_count; i++)
        check_comparison(&expr->comparisons[i], language, text);
    build_tree(&model, gate);
    enum ap_truth truth = ap_expr_evaluate(expr, &model.root);
    ap_arena_init(&arena, gate);
    require(ap_expr_keep(&arena, expr), "memory");
    require(ap_expr_evaluate(expr, &model.root) == truth, "it is judged the same elsewhere");
    ap_arena_release(&arena);
    ap_model_release(&model);
}

/* A word of a text that closes more than it opens is one only where nothing else is open. */
static bool closes_too_many(const struct ap_expr *expr)
{
    for (size_t i = 0; i < expr->comparison_count; i++) {
        struct ap_text text = expr->comparisons[i].text;
        for (size_t at = 0, open = 0; at < text.bytes; at++) {
            if (text.data[at] == ')' && !open)
                return true;
            open = ap_is_space(text.data[at]) ? 0 : open + (text.data[at] == '(') - (text.data[at] == ')');
        }
    }
    return false;
}

static enum ap_truth judge(const char *text, size_t bytes, const struct ap_expr_language *language, bool *ret_taken,
                           struct ap_gate *gate)
{
    struct ap_expr expr;
    struct ap_expr_room room;
    struct ap_expr_mistake mistake;
    struct ap_model model;
    *ret_taken = ap_expr_parse((struct ap_text){ text, bytes }, language, &room, &expr, &mistake) && !closes_too_many(&expr);
    if (!*ret_taken)
        return AP_UNKNOWN;
    build_tree(&model, gate);
    enum ap_truth truth = ap_expr_evaluate(&expr, &model.root);
    ap_model_release(&model);
    return truth;
}

/* "(X) or (X)" is what X is, where that much may be written; the same with "and". */
static void check_doubled(const char *text, size_t bytes, struct ap_expr_language language, struct ap_gate *gate)
{
    size_t capacity = 2 * bytes + 20;
    char *doubled = malloc(capacity);
    bool taken;
    require(doubled != NULL, "memory");
    language.most /= 2;
    enum ap_truth once = judge(text, bytes, &language, &taken, gate);
    language.most = AP_EXPR_MAX;
    for (int i = 0; i < 2 && taken; i++) {
        const char *joint = i ? " ) and (" : " ) or ( ";
        doubled[0] = '(';
        memcpy(doubled + 1, text, bytes);
        memcpy(doubled + 1 + bytes, joint, 8);
        memcpy(doubled + 9 + bytes, text, bytes);
        memcpy(doubled + 9 + 2 * bytes, " )", 2);
        bool again;
        enum ap_truth twice = judge(doubled, 2 * bytes + 11, &language, &again, gate);
        require(!again || twice == once, "what is joined with itself is the same");
    }
    free(doubled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ap_gate gate;
    struct ap_expr expr;
    struct ap_expr_room room;
    struct ap_expr_mistake mistake = { .message = "" };
    if (bytes < 3)
        return 0;
    bool texts = data[0] & AP_EXPR_TEXTS;
    struct ap_expr_language language = { .noun = "name",
                                         .unknown = "",
                                         .features = data[0],
                                         .tests = (uint32_t)data[1] * 257 & ((UINT32_C(1) << AP_TEST_COUNT_) - 1),
                                         .with_unit = data[0] >> 5,
                                         .most = data[2] % AP_EXPR_MAX + 1,
                                         .find = texts ? find_column : find_figure,
                                         .offer = texts ? NULL : offer };
    const char *text = (const char *)data + 3;
    bytes -= 3;
    ap_gate_init(&gate, 0);
    if (!ap_expr_parse((struct ap_text){ text, bytes }, &language, &room, &expr, &mistake))
        check_refusal(&mistake, bytes);
    else
        check_expr(&expr, &language, (struct ap_text){ text, bytes }, &gate);
    if (language.features & AP_EXPR_OR && language.features & AP_EXPR_AND && !texts)
        check_doubled(text, bytes, language, &gate);
    require(atomic_load(&gate.used_bytes) == 0, "all memory goes back");
    return 0;
}
