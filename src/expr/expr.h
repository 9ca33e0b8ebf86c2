/* SPDX-License-Identifier: MIT
 * expr.h - conditions on figures and columns, as rules and users write them:
 *
 *     gpu.idle_us > 10 ms and (gpu.rows >= 5K or trace.complete is false)      name contains gemm and dur_us > 1ms
 *
 * One lexer, one table of units, one evaluator and one set of messages; a language tells which names there are and how much
 * of this may be written. "and" binds closer than "or", parentheses closer than both. Kept in postfix order, so that neither
 * reading nor judging recurses; what a text is called, and by whom it was given, is known to the caller alone. */
#ifndef AP_EXPR_H
#define AP_EXPR_H

#include "model_build.h"
#include "near_name.h"
#include "unit.h"

/** Most comparisons of one condition, and parentheses in each other. */
#define AP_EXPR_MAX 32

enum ap_test {
#define AP_TEST(id, text) AP_TEST_##id,
#define AP_TEST_ALSO(id, text)
#include "test.def"
#undef AP_TEST
#undef AP_TEST_ALSO
    AP_TEST_COUNT_
};

/** "<", "is known" */
const char *ap_test_name(enum ap_test test);
/** Whether numbers compare so; false for tests that are not about numbers. */
bool ap_test_holds(enum ap_test test, double value, double limit);

/** Sets of tests. */
#define AP_TEST_BIT(id) (UINT32_C(1) << AP_TEST_##id)
#define AP_TESTS_OF_ORDER (AP_TEST_BIT(less) | AP_TEST_BIT(less_equal) | AP_TEST_BIT(greater) | AP_TEST_BIT(greater_equal))
#define AP_TESTS_OF_EQUALITY (AP_TEST_BIT(equal) | AP_TEST_BIT(not_equal))
#define AP_TESTS_OF_STATE (AP_TEST_BIT(is_known) | AP_TEST_BIT(is_unknown) | AP_TEST_BIT(is_true) | AP_TEST_BIT(is_false))

#define AP_UNIT_BIT(id) (UINT32_C(1) << AP_UNIT_##id)

/** What stands at the left of a comparison, or at the right of one of two figures. */
struct ap_expr_name {
    struct ap_text path; /* by which it is found in the tree that is judged */
    enum ap_unit unit;
    const struct ap_figure_info *figure; /* NULL, or it is a figure: it is known where it is a number */
};

struct ap_comparison {
    struct ap_text path, other_path; /* other: data NULL = compare with the limit */
    const struct ap_figure_info *figure, *other;
    enum ap_test test;
    bool has_limit, is_change, in_percent; /* change: the limit stands behind a sign; per cent: of what it was */
    double limit;                          /* in the unit of the model; a factor where there is another figure */
    struct ap_text text;                   /* what a text is compared with; data NULL = none is */
};

enum ap_expr_step { AP_STEP_compare /* the next comparison */, AP_STEP_and, AP_STEP_or };

/** In postfix order. {0} holds for everything. */
struct ap_expr {
    const struct ap_comparison *comparisons;
    const uint8_t *steps;
    size_t comparison_count, step_count;
};

struct ap_expr_room {
    struct ap_comparison comparisons[AP_EXPR_MAX];
    uint8_t steps[2 * AP_EXPR_MAX];
};

enum {
    AP_EXPR_AND = 1,     /* several comparisons */
    AP_EXPR_OR = 2,      /* "or" and parentheses, too */
    AP_EXPR_TEXTS = 4,   /* values are texts, with or without quotation marks, and null */
    AP_EXPR_FIGURES = 8, /* another figure as limit, times a factor */
    AP_EXPR_CHANGES = 16 /* a sign before the number: a change, in per cent as well */
};

struct ap_expr_language {
    const char *noun;    /* what a name stands for: "figure" */
    const char *unknown; /* what a message says behind one that there is not: where they are listed */
    unsigned features;
    uint32_t tests;     /* that may be written */
    uint32_t with_unit; /* units of figures that are never compared with a plain number; else a time is in microseconds */
    size_t most;        /* comparisons; up to AP_EXPR_MAX */
    /** Is there such a name? *ret_name has the path as it is written. */
    bool (*find)(struct ap_text path, struct ap_expr_name *ret_name);
    /** Offers all names to @near; NULL: none is offered. */
    void (*offer)(struct ap_text wanted, struct ap_near_names *near);
};

/** What is wrong with a text, and where. */
struct ap_expr_mistake {
    size_t at; /* bytes into the text */
    char message[500];
};

/** Read all of @text, of which *ret_expr keeps pieces; the rest of it lies in @room. False: *ret_mistake says why. */
AP_MUST_CHECK bool ap_expr_parse(struct ap_text text, const struct ap_expr_language *language, struct ap_expr_room *room,
                                 struct ap_expr *ret_expr, struct ap_expr_mistake *ret_mistake);
/** Copy what @expr has in its room into @arena; its texts stay where they are. */
AP_MUST_CHECK bool ap_expr_keep(struct ap_arena *arena, struct ap_expr *expr);
/** Says that there is no such name, and which are near. */
void ap_expr_tell_unknown(const struct ap_expr_language *language, struct ap_text name, char *to, size_t capacity);

/** What is known of a condition. AND and OR take the smaller and the larger one. */
enum ap_truth { AP_FALSE, AP_UNKNOWN, AP_TRUE };

/** Of a tree: a report, or one row. A list fits where one of its elements does. */
enum ap_truth ap_comparison_test(const struct ap_comparison *comparison, const struct ap_value *root);
enum ap_truth ap_expr_evaluate(const struct ap_expr *expr, const struct ap_value *root);
/** The number that a figure is compared with; false where it is not known. */
bool ap_comparison_number(const struct ap_comparison *comparison, const struct ap_value *root, double *ret_number);

#endif
