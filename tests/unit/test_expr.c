/* SPDX-License-Identifier: MIT
 * Conditions: numbers with units, what each language takes, what a mistake is told as, and random ones, which mean the same
 * when they are printed and read again, and what a naive reading of them says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "random.h"
#include "tap.h"
#include "tree.h"

static struct ap_gate gate;

/* ---- two languages ---- */

static const struct {
    const char *path;
    enum ap_unit unit;
} figures[] = { { "a.wait_us", AP_UNIT_time },      { "a.busy_us", AP_UNIT_time }, { "a.size_bytes", AP_UNIT_bytes },
                { "a.share_ratio", AP_UNIT_ratio }, { "a.rows", AP_UNIT_count },   { "a.complete", AP_UNIT_bool },
                { "a.missing", AP_UNIT_number },    { "a.level", AP_UNIT_number } };

static bool find_figure(struct ap_text path, struct ap_expr_name *ret_name)
{
    for (size_t i = 0; i < AP_COUNT_OF(figures); i++)
        if (ap_text_is(path, figures[i].path)) {
            ret_name->unit = figures[i].unit;
            return true;
        }
    return false;
}

static void offer_figures(struct ap_text wanted, struct ap_near_names *near)
{
    for (size_t i = 0; i < AP_COUNT_OF(figures); i++)
        ap_near_names_offer(near, wanted, ap_text_of(figures[i].path));
}

static bool find_column(struct ap_text path, struct ap_expr_name *ret_name)
{
    ret_name->unit = ap_text_ends_with(path, "_us")      ? AP_UNIT_time
                     : ap_text_ends_with(path, "_bytes") ? AP_UNIT_bytes
                     : ap_text_ends_with(path, "_ratio") ? AP_UNIT_ratio
                                                         : AP_UNIT_number;
    return true;
}

static const struct ap_expr_language of_figures = { .noun = "figure",
                                                    .unknown = " of mine",
                                                    .features = AP_EXPR_AND | AP_EXPR_OR | AP_EXPR_FIGURES,
                                                    .with_unit = AP_UNIT_BIT(time) | AP_UNIT_BIT(bytes),
                                                    .tests = AP_TESTS_OF_ORDER | AP_TESTS_OF_EQUALITY | AP_TESTS_OF_STATE,
                                                    .most = AP_EXPR_MAX,
                                                    .find = find_figure,
                                                    .offer = offer_figures },
                                     of_columns = { .noun = "column",
                                                    .unknown = "",
                                                    .features = AP_EXPR_AND | AP_EXPR_OR | AP_EXPR_TEXTS,
                                                    .tests = AP_TESTS_OF_ORDER | AP_TESTS_OF_EQUALITY |
                                                             AP_TEST_BIT(contains) | AP_TEST_BIT(like),
                                                    .most = 4,
                                                    .find = find_column },
                                     of_choices = { .noun = "key",
                                                    .unknown = "",
                                                    .features = AP_EXPR_AND,
                                                    .tests = AP_TEST_BIT(is_one_of) | AP_TEST_BIT(less),
                                                    .most = 2,
                                                    .find = find_column },
                                     of_changes = { .noun = "figure",
                                                    .unknown = "",
                                                    .features = AP_EXPR_CHANGES,
                                                    .with_unit = AP_UNIT_BIT(time),
                                                    .tests = AP_TESTS_OF_ORDER,
                                                    .most = 1,
                                                    .find = find_figure };

static void fill(struct ap_model *model)
{
    ap_model_init(model, &gate);
    put_time(model, "a.wait_us", 10 * 1000000);
    put_time(model, "a.busy_us", 40 * 1000000);
    put_bytes(model, "a.size_bytes", 65536);
    put_ratio(model, "a.share_ratio", 0.3);
    put_count(model, "a.rows", 5000);
    put_bool(model, "a.complete", true);
    put_null(model, "a.missing");
    put_number(model, "a.level", 8.6);
    put_text(model, "name", "Dynamo Cache Lookup (1)");
    ap_add_string(model, put_list(model, "kinds"), NULL, "copy");
}

/* ---- units ---- */

static void numbers_have_units(void)
{
    static const struct {
        enum ap_unit unit;
        const char *text;
        double number; /* -1 = it is none */
    } cases[] = {
        { AP_UNIT_time, "7ns", 7 },
        { AP_UNIT_time, "1.5us", 1500 },
        { AP_UNIT_time, "2ms", 2e6 },
        { AP_UNIT_time, "0.25s", 0.25e9 },
        { AP_UNIT_time, "2K", -1 },
        { AP_UNIT_time, "5%", -1 },
        { AP_UNIT_bytes, "7", 7 },
        { AP_UNIT_bytes, "7B", 7 },
        { AP_UNIT_bytes, "3kB", 3000 },
        { AP_UNIT_bytes, "3KB", 3000 },
        { AP_UNIT_bytes, "3K", 3000 },
        { AP_UNIT_bytes, "4KiB", 4096 },
        { AP_UNIT_bytes, "2Ti", 0x1p41 },
        { AP_UNIT_bytes, "3k", -1 },
        { AP_UNIT_bytes, "5BB", -1 },
        { AP_UNIT_bytes, "5s", -1 },
        { AP_UNIT_bytes, "5%", -1 },
        { AP_UNIT_ratio, "30%", 0.3 },
        { AP_UNIT_ratio, "0.3", 0.3 },
        { AP_UNIT_ratio, "3K", -1 },
        { AP_UNIT_count, "3K", 3000 },
        { AP_UNIT_count, "3KB", -1 },
        { AP_UNIT_count, "3B", -1 },
        { AP_UNIT_number, "8.6", 8.6 },
        { AP_UNIT_number, "2Mi", 0x1p21 },
        { AP_UNIT_bool, "1", -1 },
        { AP_UNIT_count, "", -1 },
        { AP_UNIT_count, ".5", -1 },
        { AP_UNIT_count, "5.", -1 },
        { AP_UNIT_count, "123456789012345", 123456789012345.0 },
        { AP_UNIT_count, "1234567890123456", -1 },
        { AP_UNIT_count, "1.2.3", -1 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_text rest = ap_text_of(cases[i].text);
        double number = 0;
        bool is_one = ap_unit_take_number(&rest, &number) && ap_unit_apply(cases[i].unit, rest, &number);
        ok(is_one ? number == cases[i].number : cases[i].number == -1, cases[i].text);
    }
    ok(ap_unit_is_name(AP_TEXT("GiB")) && ap_unit_is_name(AP_TEXT("%")) && !ap_unit_is_name(AP_TEXT("and")) &&
           !ap_unit_is_name(AP_TEXT("")) && !ap_unit_is_name(AP_TEXT("sB")),
       "units are known by their names");
}

/* ---- languages ---- */

static const char truths[] = { [AP_FALSE] = 'f', [AP_UNKNOWN] = '?', [AP_TRUE] = 't' };

/* 't', 'f', '?', or '!' for a mistake. */
static char judge(const struct ap_expr_language *language, const char *text, const struct ap_model *model)
{
    struct ap_expr expr;
    struct ap_expr_room room;
    struct ap_expr_mistake mistake;
    if (!ap_expr_parse(ap_text_of(text), language, &room, &expr, &mistake)) {
        note(mistake.message);
        return '!';
    }
    return truths[ap_expr_evaluate(&expr, &model->root)];
}

static void conditions_hold(void)
{
    static const struct {
        const struct ap_expr_language *language;
        const char *text;
        char want;
    } cases[] = {
        { &of_figures, "a.wait_us = 10ms", 't' },
        { &of_figures, "a.wait_us==10 ms", 't' },
        { &of_figures, "a.wait_us > 10 ms", 'f' },
        { &of_figures, "a.rows > -1", 't' },
        { &of_figures, "a.rows >= 5K and a.size_bytes<=64 KiB", 't' },
        { &of_figures, "a.share_ratio = 30 %", 't' },
        { &of_figures, "a.busy_us > a.wait_us * 3.9", 't' },
        { &of_figures, "a.busy_us > a.wait_us*4", 'f' },
        { &of_figures, "a.rows > a.level", 't' },
        { &of_figures, "a.complete is true", 't' },
        { &of_figures, "a.complete  is \n false", 'f' },
        { &of_figures, "a.missing > 1", '?' },
        { &of_figures, "a.missing is unknown", 't' },
        { &of_figures, "a.missing is known", 'f' },
        { &of_figures, "a.level > a.missing", '?' },
        { &of_figures, "a.missing > 1 or a.rows > 1", 't' },
        { &of_figures, "a.missing > 1 and a.rows > 1", '?' },
        { &of_figures, "a.missing > 1 and a.rows < 1", 'f' },
        { &of_figures, "a.rows < 1 and a.rows < 1 or a.rows > 1", 't' },
        { &of_figures, "a.rows > 1 or a.rows < 1 and a.rows < 1", 't' },
        { &of_figures, "(a.rows > 1 or a.rows < 1)and(a.rows < 1)", 'f' },
        { &of_figures, "((a.complete is true)or(a.rows>a.level*2))", 't' },
        { &of_columns, "a.wait_us = 10000", 't' },
        { &of_columns, "a.complete = true and a.missing = null", 't' },
        { &of_columns, "a.complete > 0", 'f' },
        { &of_columns, "name = 'Dynamo Cache Lookup (1)'", 't' },
        { &of_columns, "name contains cache", 't' },
        { &of_columns, "name~LOOKUP", 't' },
        { &of_columns, "(name like *(1))", 't' },
        { &of_columns, "name like '*(2)'", 'f' },
        { &of_columns, "kinds = copy and kinds != null", 't' },
        { &of_columns, "kinds = wait", 'f' },
        { &of_columns, "a.rows = x", 'f' },
        { &of_columns, "a.rows != x", 't' },
        { &of_columns, "a = null", 'f' }, /* an object is there */
        { &of_columns, "a = x or b = x", '?' },
        { &of_columns, "name = \"\"", 'f' },
        { &of_choices, "name is Dynamo Cache Lookup (1)|x", 't' },
        { &of_choices, "name is x | Dynamo Cache* and a.wait_us < 11000", 't' },
        { &of_choices, "name is Dynamo", 'f' },
        { &of_choices, "a.complete is true", 't' },
        { &of_choices, "a.complete is known", 'f' },
        { &of_choices, "nothing is x", '?' },
    };
    struct ap_model model;
    fill(&model);
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++)
        is_int(judge(cases[i].language, cases[i].text, &model), cases[i].want, cases[i].text);
    struct ap_expr nothing = { .step_count = 0 };
    is_int(ap_expr_evaluate(&nothing, &model.root), AP_TRUE, "no condition holds for everything");
    ap_model_release(&model);
}

static void changes_have_a_sign(void)
{
    struct ap_expr expr;
    struct ap_expr_room room;
    struct ap_expr_mistake mistake;
    const struct ap_comparison *comparison = room.comparisons;
    ok(ap_expr_parse(AP_TEXT("a.wait_us > - 5 %"), &of_changes, &room, &expr, &mistake) && comparison->is_change &&
           comparison->in_percent && comparison->limit == -0.05,
       "in per cent");
    ok(ap_expr_parse(AP_TEXT("a.wait_us<+5us"), &of_changes, &room, &expr, &mistake) && comparison->is_change &&
           !comparison->in_percent && comparison->limit == 5000,
       "or in the unit");
    ok(ap_expr_parse(AP_TEXT("a.share_ratio < 5%"), &of_changes, &room, &expr, &mistake) && !comparison->is_change,
       "without one it is none");
}

/* ---- mistakes ---- */

static void mistakes_are_told_with_their_place(void)
{
    static const struct {
        const struct ap_expr_language *language;
        const char *text;
        size_t at;
        const char *message;
    } cases[] = {
        { &of_figures, "", 0, "the condition ends where a figure was expected" },
        { &of_figures, "> 1", 0, "met \">\" where a figure was expected" },
        { &of_figures, "a.rows > 1 and  ", 14, "the condition ends where a figure was expected" },
        { &of_figures, "a.rows > 1 and row > 1", 15, "no figure is called \"row\" of mine; did you mean a.rows?" },
        { &of_figures, "a.rows  is nice", 8,
          "met \"is\" where <, <=, >, >=, =, !=, is known, is unknown, is true or is false was expected" },
        { &of_figures, "a.rows > 1 a.rows", 11,
          "met \"a.rows\" where \"and\", \"or\" or the end of the condition was expected" },
        { &of_figures, "(a.rows > 1", 11, "the condition ends where \"and\", \"or\" or \")\" was expected" },
        { &of_figures, "a.rows > 1)", 10, "met \")\" where \"and\", \"or\" or the end of the condition was expected" },
        { &of_figures, "a.rows >", 8, "the condition ends where a number without unit was expected" },
        { &of_figures, "a.rows > .5", 9, "met \".5\" where a number of at most 15 digits was expected" },
        { &of_figures, "a.wait_us > 5", 12,
          "a.wait_us is a time, so a time such as 10 us, 1.5 ms or 2 s was expected, not \"5\"" },
        { &of_figures, "a.size_bytes > 5 ms", 17,
          "a.size_bytes is a size, so a size such as 64 KiB or 1 GiB was expected, not \"ms\"" },
        { &of_figures, "a.share_ratio > 5ms", 17,
          "a.share_ratio is a ratio, so a share such as 30 % or 0.3 was expected, not \"ms\"" },
        { &of_figures, "a.complete > 1", 11,
          "a.complete is a yes or no, so \"is true\" or \"is false\" was expected, not \">\"" },
        { &of_figures, "a.rows is true", 7, "a.rows is a count, so a number without unit was expected, not \"is true\"" },
        { &of_figures, "a.rows > a.wait_us", 18, "a.rows is a count and a.wait_us is a time: they cannot be compared" },
        { &of_figures, "a.rows > a.levels", 9, "no figure is called \"a.levels\" of mine; did you mean a.level?" },
        { &of_figures, "a.rows > a.level * x", 19, "met \"x\" where a factor such as 0.5 was expected" },
        { &of_columns, "a = 'x", 4, "the quotation mark is never closed" },
        { &of_columns, "a > 'x'", 4, "met \"'x'\" where a number of at most 15 digits was expected" },
        { &of_columns, "a = b c", 6, "met \"c\" where \"and\", \"or\" or the end of the condition was expected" },
        { &of_columns, "a is b", 2, "met \"is\" where <, <=, >, >=, =, !=, contains or like was expected" },
        { &of_columns, "a =", 3, "the condition ends where a value (one with spaces in quotation marks) was expected" },
        { &of_columns, "a_us > 5GiB", 8,
          "a_us is a time, so a time such as 10 us, 1.5 ms or 2 s was expected, not \"GiB\"" },
        { &of_columns, "a=1 or a=1 or a=1 or a=1 or a=1", 28, "more than 4 comparisons in one condition" },
        { &of_columns, "(((((a=1", 4, "more than 4 parentheses in each other" },
        { &of_choices, "a is b||c", 7, "met \"|c\" where a text was expected" },
        { &of_choices, "a is", 4, "the condition ends where a text was expected" },
        { &of_choices, "a < 1 or a < 2", 6, "met \"or\" where \"and\" or the end of the condition was expected" },
        { &of_choices, "(a < 1)", 6, "met \")\" where \"and\" or the end of the condition was expected" },
        { &of_changes, "a.wait_us > 5", 12,
          "a.wait_us is a time, so a time such as 10 us, 1.5 ms or 2 s was expected, not \"5\"" },
        { &of_changes, "a.rows > +-5", 10, "met \"-5\" where a number of at most 15 digits was expected" },
        { &of_changes, "a.rows > 5 and a.rows > 6", 11, "met \"and\" where the end of the condition was expected" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_expr expr;
        struct ap_expr_room room;
        struct ap_expr_mistake mistake = { .message = "" };
        ok(!ap_expr_parse(ap_text_of(cases[i].text), cases[i].language, &room, &expr, &mistake), cases[i].text);
        is_str(mistake.message, cases[i].message, "the message");
        is_int(mistake.at, cases[i].at, "and the place");
    }
}

static void what_is_too_long_is_cut(void)
{
    static char longest[20000];
    struct ap_expr expr;
    struct ap_expr_room room;
    struct ap_expr_mistake mistake = { .message = "" };
    memset(longest, 'x', sizeof(longest));
    ok(!ap_expr_parse((struct ap_text){ longest, sizeof(longest) }, &of_figures, &room, &expr, &mistake) &&
           strlen(mistake.message) < 200,
       "a long name is cut in the message");
    memset(longest, '(', sizeof(longest));
    ok(!ap_expr_parse((struct ap_text){ longest, sizeof(longest) }, &of_figures, &room, &expr, &mistake), "parentheses");
}

/* As many of all as there may be. */
static void the_most_is_taken(void)
{
    char text[4000];
    size_t used = 0;
    struct ap_expr expr;
    struct ap_expr_room room;
    struct ap_expr_mistake mistake = { .message = "" };
    for (int i = 0; i < AP_EXPR_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s(a.rows > %d", i ? i % 2 ? " or " : " and " : "", i);
    for (int i = 0; i < AP_EXPR_MAX; i++)
        text[used++] = ')';
    ok(ap_expr_parse((struct ap_text){ text, used }, &of_figures, &room, &expr, &mistake) &&
           expr.comparison_count == AP_EXPR_MAX && expr.step_count == 2 * AP_EXPR_MAX - 1,
       "32 comparisons in 32 parentheses");
    struct ap_arena arena;
    struct ap_model model;
    fill(&model);
    ap_arena_init(&arena, &gate);
    enum ap_truth before = ap_expr_evaluate(&expr, &model.root);
    ok(ap_expr_keep(&arena, &expr), "what was read is kept");
    memset(&room, 0, sizeof(room));
    is_int(ap_expr_evaluate(&expr, &model.root), before, "without its room");
    ap_arena_release(&arena);
    ap_model_release(&model);
}

/* ---- random conditions ---- */

enum { MOST_NODES = 63, FIGURES = 5 };

struct node {
    enum { LEAF, BOTH, EITHER } kind;
    int left, right;
    int figure, test, limit, other; /* other: -1 = the limit */
};

struct sample {
    struct random random;
    struct node nodes[MOST_NODES];
    int count;
    int values[FIGURES]; /* -1 = not known */
    char text[20000];
    size_t used;
};

static int below(struct sample *sample, size_t count)
{
    return (int)random_below(&sample->random, count);
}

static int grow(struct sample *sample, int leaves)
{
    int at = sample->count++;
    if (leaves == 1) {
        int other = below(sample, 3) ? -1 : below(sample, FIGURES);
        sample->nodes[at] = (struct node){ LEAF, 0, 0, below(sample, FIGURES), below(sample, 8), below(sample, 4), other };
        return at;
    }
    int left = 1 + below(sample, (size_t)leaves - 1);
    struct node node = { .kind = below(sample, 2) ? BOTH : EITHER };
    node.left = grow(sample, left);
    node.right = grow(sample, leaves - left);
    sample->nodes[at] = node;
    return at;
}

static void print(struct sample *sample, const char *text)
{
    static const char *const spaces[] = { "", " ", "  ", "\n" };
    bool word = (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= '0' && text[0] <= '9');
    const char *before = spaces[word ? 1 + below(sample, 3) : below(sample, 4)];
    sample->used += (size_t)snprintf(sample->text + sample->used, sizeof(sample->text) - sample->used, "%s%s", before, text);
}

static void print_leaf(struct sample *sample, const struct node *leaf)
{
    static const char *const tests[] = { "<", "<=", ">", ">=", "=", "!=", "is known", "is unknown" };
    char word[40];
    (void)snprintf(word, sizeof(word), "f%d", leaf->figure);
    print(sample, word);
    print(sample, leaf->test < 6 ? tests[leaf->test] : "is");
    if (leaf->test >= 6) {
        print(sample, tests[leaf->test] + 3);
        return;
    }
    (void)snprintf(word, sizeof(word), leaf->other < 0 ? "%d" : "f%d", leaf->other < 0 ? leaf->limit : leaf->other);
    print(sample, word);
    if (leaf->other >= 0) {
        print(sample, "*");
        (void)snprintf(word, sizeof(word), "%d.5", leaf->limit);
        print(sample, word);
    }
}

/* With the parentheses that it needs, and some more. */
static void print_node(struct sample *sample, int at, bool within_both, int depth)
{
    const struct node *node = &sample->nodes[at];
    bool open = depth < AP_EXPR_MAX && ((node->kind == EITHER && within_both) || !below(sample, 4));
    if (open)
        print(sample, "(");
    if (node->kind == LEAF) {
        print_leaf(sample, node);
    } else {
        print_node(sample, node->left, node->kind == BOTH, depth + open);
        print(sample, node->kind == BOTH ? "and" : "or");
        print_node(sample, node->right, node->kind == BOTH, depth + open);
    }
    if (open)
        print(sample, ")");
}

static int naive_leaf(const struct sample *sample, const struct node *leaf)
{
    int value = sample->values[leaf->figure];
    double limit = leaf->limit;
    if (leaf->test >= 6)
        return (value >= 0) == (leaf->test == 6) ? 1 : 0;
    if (value < 0 || (leaf->other >= 0 && sample->values[leaf->other] < 0))
        return -1;
    if (leaf->other >= 0)
        limit = sample->values[leaf->other] * (leaf->limit + 0.5);
    bool holds[] = { value<limit, value <= limit, value> limit, value >= limit, value == limit, value != limit };
    return holds[leaf->test];
}

/* 1, 0, or -1 where it is not known. */
static int naive(const struct sample *sample, int at)
{
    const struct node *node = &sample->nodes[at];
    if (node->kind == LEAF)
        return naive_leaf(sample, node);
    int left = naive(sample, node->left), right = naive(sample, node->right), decides = node->kind == EITHER;
    if (left == decides || right == decides)
        return decides;
    return left < 0 || right < 0 ? -1 : !decides;
}

static bool find_f(struct ap_text path, struct ap_expr_name *ret_name)
{
    ret_name->unit = AP_UNIT_number;
    return path.bytes == 2 && path.data[0] == 'f' && path.data[1] >= '0' && path.data[1] < '0' + FIGURES;
}

/* What was read, printed with all parentheses. */
static void print_again(const struct ap_expr *expr, char *to, size_t capacity)
{
    static char texts[AP_EXPR_MAX + 1][20000], joined[20000];
    size_t used = 0, next = 0;
    for (size_t i = 0; i < expr->step_count; i++) {
        if (expr->steps[i] != AP_STEP_compare) {
            used--;
            (void)snprintf(joined, sizeof(joined), "(%.9000s %s %.9000s)", texts[used - 1],
                           expr->steps[i] == AP_STEP_and ? "and" : "or", texts[used]);
            memcpy(texts[used - 1], joined, sizeof(joined));
            continue;
        }
        const struct ap_comparison *one = &expr->comparisons[next++];
        size_t bytes =
            (size_t)snprintf(texts[used], 20000, "%.*s %s", (int)one->path.bytes, one->path.data, ap_test_name(one->test));
        if (one->other_path.data)
            (void)snprintf(texts[used] + bytes, 100, " %.*s * %g", (int)one->other_path.bytes, one->other_path.data,
                           one->limit);
        else if (one->has_limit)
            (void)snprintf(texts[used] + bytes, 100, " %g", one->limit);
        used++;
    }
    (void)snprintf(to, capacity, "%s", texts[0]);
}

static bool same_comparison(const struct ap_comparison *a, const struct ap_comparison *b)
{
    return ap_text_equal(a->path, b->path) && a->test == b->test && a->has_limit == b->has_limit && a->limit == b->limit &&
           !a->other_path.data == !b->other_path.data &&
           (!a->other_path.data || ap_text_equal(a->other_path, b->other_path));
}

static bool same(const struct ap_expr *a, const struct ap_expr *b)
{
    bool same = a->step_count == b->step_count && a->comparison_count == b->comparison_count &&
                memcmp(a->steps, b->steps, a->step_count) == 0;
    for (size_t i = 0; same && i < a->comparison_count; i++)
        same = same_comparison(&a->comparisons[i], &b->comparisons[i]);
    return same;
}

static const struct ap_expr_language of_f = { .noun = "figure",
                                              .unknown = "",
                                              .features = AP_EXPR_AND | AP_EXPR_OR | AP_EXPR_FIGURES,
                                              .tests = AP_TESTS_OF_ORDER | AP_TESTS_OF_EQUALITY | AP_TESTS_OF_STATE,
                                              .most = AP_EXPR_MAX,
                                              .find = find_f };

static void draw(struct sample *sample, struct ap_model *model)
{
    sample->count = 0;
    sample->used = 0;
    print_node(sample, grow(sample, 1 + below(sample, 20)), false, 0);
    ap_model_init(model, &gate);
    for (int i = 0; i < FIGURES; i++) {
        char path[3] = { 'f', (char)('0' + i), '\0' };
        sample->values[i] = below(sample, 5) - 1;
        if (sample->values[i] >= 0)
            put_count(model, path, sample->values[i]);
    }
}

static void random_conditions_mean_what_they_say(void)
{
    static struct sample sample;
    static char again[20000];
    static const enum ap_truth want[] = { AP_UNKNOWN, AP_FALSE, AP_TRUE };
    int refused = 0, wrong = 0, changed = 0;
    sample.random.state = 11;
    for (int i = 0; i < 20000; i++) {
        struct ap_model model;
        struct ap_expr expr, second;
        struct ap_expr_room room, second_room;
        struct ap_expr_mistake mistake = { .message = "" };
        draw(&sample, &model);
        if (!ap_expr_parse((struct ap_text){ sample.text, sample.used }, &of_f, &room, &expr, &mistake)) {
            if (!refused++)
                note(sample.text), note(mistake.message);
            ap_model_release(&model);
            continue;
        }
        wrong += ap_expr_evaluate(&expr, &model.root) != want[naive(&sample, 0) + 1];
        print_again(&expr, again, sizeof(again));
        changed += !ap_expr_parse(ap_text_of(again), &of_f, &second_room, &second, &mistake) || !same(&expr, &second);
        ap_model_release(&model);
    }
    is_int(refused, 0, "random conditions are taken");
    is_int(wrong, 0, "and judged as a naive reading does");
    is_int(changed, 0, "and are the same when printed and read again");
}

int main(void)
{
    ap_gate_init(&gate, 0);
    numbers_have_units();
    conditions_hold();
    changes_have_a_sign();
    mistakes_are_told_with_their_place();
    what_is_too_long_is_cut();
    the_most_is_taken();
    random_conditions_mean_what_they_say();
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory goes back");
    return done();
}
