/* SPDX-License-Identifier: MIT
 * Like layers side by side: heads; a mixture of experts that runs each of them on all tokens, though a few were chosen for
 * each token; adapters beside the layers that they could be merged into. */
#include "habit_items.h"
#include "rows_of.h"

#include "poison.h"

#define LEAST_HEADS 4  /* of attention */
#define WIDEST_HEAD 64 /* values: the products of wider ones are as quick one by one */
#define LEAST_LAYERS 8 /* of other passes whose results are put together */
#define LEAST_EXPERTS 4
#define MOST_EXPERTS 1024
#define CHOSEN_ITEMS 24  /* operators behind the choice, one of which is called with what was chosen */
#define EXPERT_ITEMS 64  /* operators of one expert */
#define WEIGHED_ITEMS 6  /* operators behind the experts, in which their results are weighed */
#define LEAST_NARROW 4   /* so many times narrower is an adapter than its layer, within */
#define LEAST_OF_STATE 5 /* operators of a pass that goes on from the one before: fewer are a map over rows */
#define RESULT_ITEMS 4   /* operators behind a loop, one of which puts together what its passes made */
#define ASIDE_ITEMS 8    /* operators from one layer to the next of an adapter, or to the sum */
#define LEAST_ADAPTERS 4 /* one may be a shortcut of the model */

/* ---- heads ---- */

/* Scores, their softmax, and what it weighs; a pass may begin anywhere. */
bool ap_habit_attends(const struct ap_habit_rows *rows, size_t start, size_t period)
{
    size_t products = 0, weighs = 0;
    for (size_t i = start; i < start + period; i++) {
        uint64_t words = ap_item_words(rows, &rows->items[i]);
        products += AP_HAS(words, HEAVY) && !AP_HAS(words, FORWARD);
        weighs += ap_habit_is_named(rows, i, AP_TEXT("aten::softmax"));
    }
    return weighs == 1 && products == 2;
}

/* The last size of what the operator makes; 0 = not known. */
static int64_t width_made(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (!AP_HAS(words, HEAVY) || !ap_habit_read_tensors(rows, at, &list) || list.count < 2)
        return 0;
    const struct ap_tensor_dims *second = &list.tensors[1];
    return AP_HAS(words, WEIGHTED) ? second->count == 2 ? second->dims[0] : 0 : second->dims[second->count - 1];
}

/* Of the last pass before @end: the first layer of it. */
static size_t first_layer(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    while (start < end && !AP_HAS(ap_item_words(rows, &rows->items[start]), MODEL))
        start++;
    return start;
}

/* Heads, experts, rows: each pass begins with a tensor of the same sizes and makes one of another width, so none goes on
 * with what the one before has made; right behind the last one all results are put together. */
bool ap_habit_are_side_by_side(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period)
{
    struct ap_tensor_list one, other;
    size_t least = ap_habit_attends(rows, start, period) ? LEAST_HEADS : LEAST_LAYERS;
    size_t layer = first_layer(rows, end - period, end), before = layer - period, last = end;
    if (end >= rows->item_count || (end - start) / period < least || layer == end || before < start ||
        !AP_HAS(ap_item_words(rows, &rows->items[end]), GATHER) || rows->items[end].step != rows->items[start].step ||
        !ap_habit_is_same(rows, layer, before) || !ap_habit_read_tensors(rows, layer, &one) ||
        !ap_habit_read_tensors(rows, layer - (end - start) / period * period + period, &other) ||
        !ap_tensor_equal(&one.tensors[0], &other.tensors[0]))
        return false;
    while (last > layer && !AP_HAS(ap_item_words(rows, &rows->items[last - 1]), HEAVY))
        last--;
    int64_t width = last > layer ? width_made(rows, last - 1) : 0;
    if (least == LEAST_HEADS && width > WIDEST_HEAD)
        return false;
    return width && one.tensors[0].count && width != one.tensors[0].dims[one.tensors[0].count - 1];
}

/* Is it a product of two tensors that both have other sizes than those of the pass before? Rows of any number that meet the
 * same weight can be put together. */
static bool are_both_others(const struct ap_habit_rows *rows, size_t at, size_t before)
{
    struct ap_tensor_list one, other;
    return ap_habit_read_tensors(rows, at, &one) && ap_habit_read_tensors(rows, before, &other) && one.count >= 2 &&
           other.count >= 2 && !ap_tensor_equal(&one.tensors[0], &other.tensors[0]) &&
           !ap_tensor_equal(&one.tensors[1], &other.tensors[1]);
}

static bool are_ragged(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period)
{
    size_t products = 0, others = 0;
    if (ap_habit_attends(rows, start, period))
        return false;
    for (size_t i = start + period; i < end; i++) {
        uint64_t words = ap_item_words(rows, &rows->items[i]);
        if (!(words & (AP_BIT(HEAVY) | AP_BIT(PRODUCT))) || AP_HAS(words, FORWARD))
            continue;
        products++;
        others += are_both_others(rows, i, i - period);
    }
    return others > products / 2;
}

/* Adds to, or compares with, what all passes before have made: that needs none of them one by one. */
static bool joins(const struct ap_habit_rows *rows, size_t at)
{
    static const char *const names[] = { "aten::maximum", "aten::minimum",    "aten::logical_or", "aten::logical_and",
                                         "aten::__or__",  "aten::bitwise_or", "aten::__and__",    "aten::bitwise_and" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(ap_row_name(rows->trace, rows->items[at].row), names[i]))
            return true;
    return ap_item_words(rows, &rows->items[at]) & (AP_BIT(ADDS) | AP_BIT(GATHER));
}

/* A result is kept, or an answer read, or the rows of one kind are looked for; or a method goes round for long, or cells do,
 * which one layer can take the place of. */
static bool keeps_result(const struct ap_habit_rows *rows, size_t start, size_t period)
{
    uint64_t any = 0;
    for (size_t i = start; i < start + period; i++) {
        any |= ap_item_words(rows, &rows->items[i]);
        if (ap_text_ends_with(ap_row_name(rows->trace, rows->items[i].row), "_")) /* within what is there */
            return true;
    }
    uint64_t keeps = AP_BIT(FILLS) | AP_BIT(ROWS_BACK) | AP_BIT(SCALAR) | AP_BIT(GATHER);
    uint64_t others = AP_BIT(NORM) | AP_BIT(ATTENTION) | AP_BIT(CELL) | AP_BIT(LSTM_CELL);
    return any & (keeps | others) || (AP_HAS(any, FINDS_ROWS) && AP_HAS(any, TAKES));
}

static bool go_on(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period)
{
    size_t last = start + (end - start) / period * period - 1;
    if (period < LEAST_OF_STATE || keeps_result(rows, start, period))
        return false;
    while (last > start && AP_HAS(ap_item_words(rows, &rows->items[last]), VIEW) &&
           !AP_HAS(ap_item_words(rows, &rows->items[last]), HEAVY))
        last--;
    for (size_t i = end; i < end + RESULT_ITEMS && ap_habit_is_of_step(rows, start, i); i++)
        if (joins(rows, i))
            return false;
    return !joins(rows, last);
}

bool ap_habit_make_no_batch(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period, bool may_go_on)
{
    return are_ragged(rows, start, end, period) || (may_go_on && go_on(rows, start, end, period));
}

/* ---- experts ---- */

struct choice {
    double tokens;
    int64_t experts, chosen; /* how many there are; how many of them are chosen for each token */
    bool is_best;            /* of the one of the largest score: other programs than mixtures ask for it too */
};

/* Of the best one alone: by its score, or by the place of it. */
static bool is_best(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_named(rows, at, AP_TEXT("aten::max")) || ap_habit_is_named(rows, at, AP_TEXT("aten::argmax"));
}

static bool is_choice(const struct ap_habit_rows *rows, size_t at)
{
    return AP_HAS(ap_item_words(rows, &rows->items[at]), TOP) || is_best(rows, at);
}

static bool read_scores(struct ap_habit_rows *rows, size_t at, struct choice *ret_choice)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list) || list.tensors[0].count < 2)
        return false;
    const struct ap_tensor_dims scores = list.tensors[0];
    *ret_choice = (struct choice){ .tokens = ap_tensor_elements(&scores, 0, scores.count - 1),
                                   .experts = scores.dims[scores.count - 1],
                                   .chosen = 1,
                                   .is_best = is_best(rows, at) };
    return ret_choice->experts >= LEAST_EXPERTS && ret_choice->experts <= MOST_EXPERTS && ret_choice->tokens >= 2;
}

/* What was chosen is told by the first operator that is called with its numbers. */
static bool read_choice(struct ap_habit_rows *rows, size_t at, struct choice *ret_choice)
{
    struct ap_tensor_list list;
    if (!read_scores(rows, at, ret_choice))
        return false;
    if (ret_choice->is_best)
        return true;
    size_t most = (size_t)ret_choice->experts * EXPERT_ITEMS;
    for (size_t next = at + 1; next <= at + most && ap_habit_is_of_step(rows, at, next); next++) {
        bool has_sizes = ap_habit_read_tensors(rows, next, &list);
        if (AP_HAS(ap_item_words(rows, &rows->items[next]), TOP))
            return false;
        for (int i = 0; has_sizes && i < list.count; i++) {
            const struct ap_tensor_dims *tensor = &list.tensors[i];
            ret_choice->chosen = tensor->dims[tensor->count - 1];
            if (tensor->element == AP_ELEMENT_int64 && ret_choice->chosen < ret_choice->experts &&
                ap_tensor_elements(tensor, 0, tensor->count - 1) == ret_choice->tokens)
                return true;
        }
    }
    return false;
}

/* A layer that is called with all tokens. */
static bool is_of_all(struct ap_habit_rows *rows, size_t at, const struct choice *choice)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) || !ap_habit_read_tensors(rows, at, &list) || list.count < 2)
        return false;
    const struct ap_tensor_dims *x = &list.tensors[0];
    return x->count >= 2 && ap_tensor_elements(x, 0, x->count - 1) == choice->tokens;
}

/* The numbers of the best ones, without a dimension of their own. */
static bool has_numbers(const struct ap_tensor_list *list, const struct choice *choice)
{
    const struct ap_tensor_dims *tensor = &list->tensors[0];
    return tensor->element == AP_ELEMENT_int64 && ap_tensor_elements(tensor, 0, tensor->count) == choice->tokens;
}

/* A mean of them is how often each expert is chosen, which a loss or a log asks for. */
static bool is_reduced(const struct ap_habit_rows *rows, size_t at)
{
    size_t next = at + 1;
    while (ap_habit_is_of_step(rows, at, next) && ap_item_words(rows, &rows->items[next]) & (AP_BIT(NO_WORK) | AP_BIT(VIEW)))
        next++;
    return !ap_habit_is_of_step(rows, at, next) || AP_HAS(ap_item_words(rows, &rows->items[next]), REDUCTION);
}

/* How many results for all tokens are weighed: one with a column that is zero where another expert is the best, or all that
 * were put together, with all columns. */
static int64_t weighed_by(const struct ap_habit_rows *rows, size_t at, const struct choice *choice)
{
    struct ap_tensor_list list;
    double weights = 0, widest = 0, all = choice->tokens * (double)choice->experts;
    if (!(ap_habit_is_named(rows, at, AP_TEXT("aten::mul")) || ap_habit_is_named(rows, at, AP_TEXT("aten::where")) ||
          ap_habit_is_named(rows, at, AP_TEXT("aten::einsum"))) ||
        !ap_habit_read_tensors(rows, at, &list))
        return 0;
    for (int i = 0; i < list.count; i++) {
        const struct ap_tensor_dims *tensor = &list.tensors[i];
        int64_t last = tensor->dims[tensor->count - 1];
        double elements = ap_tensor_elements(tensor, 0, tensor->count);
        bool is_column = tensor->count >= 2 && last == 1 && elements == choice->tokens;
        if (is_column || (elements == all && (last == 1 || last == choice->experts)))
            weights = elements > weights ? elements : weights;
        widest = elements > widest ? elements : widest;
    }
    return widest <= weights || weights <= 0 ? 0 : weights < all ? 1 : choice->experts;
}

/* The best one's number is made a row of zeros and a one, or compared with that of each expert; then each result of all
 * tokens is weighed with its column of that, or all of them with all columns. */
static bool is_one_of(const struct ap_habit_rows *rows, size_t at, size_t end, const struct choice *choice)
{
    struct ap_tensor_list list;
    int64_t compared = 0, weighed = 0;
    bool is_spread = false;
    for (size_t next = at + 1; next <= end + WEIGHED_ITEMS && ap_habit_is_of_step(rows, at, next); next++) {
        weighed += weighed_by(rows, next, choice);
        bool is_row = ap_habit_is_named(rows, next, AP_TEXT("aten::one_hot"));
        if ((!is_row && !ap_habit_is_named(rows, next, AP_TEXT("aten::eq"))) || !ap_habit_read_tensors(rows, next, &list) ||
            !has_numbers(&list, choice))
            continue;
        compared += !is_row;
        is_spread |= is_row && !is_reduced(rows, next);
    }
    return weighed >= choice->experts && (is_spread || compared >= choice->experts);
}

/* The same layer as often as there are experts, each time with all tokens: what was not chosen is multiplied by zero. */
static enum ap_status look_at_choice(struct ap_habit_rows *rows, size_t at, size_t *ret_behind, struct ap_error *reterr)
{
    struct choice choice;
    size_t first = 0, last = 0, count = 0;
    if (!read_choice(rows, at, &choice))
        return AP_OK;
    size_t most = (size_t)choice.experts * EXPERT_ITEMS;
    for (size_t next = at + 1; next <= at + most && ap_habit_is_of_step(rows, at, next); next++) {
        if (AP_HAS(ap_item_words(rows, &rows->items[next]), TOP) || (choice.is_best && is_best(rows, next)))
            break; /* the choice of the next layer */
        if (count ? !ap_habit_is_same(rows, first, next) : !is_of_all(rows, next, &choice))
            continue;
        first = count ? first : next;
        last = next;
        count++;
    }
    *ret_behind = last > at ? last : at + 1;
    if (count < (size_t)choice.experts || count % (size_t)choice.experts)
        return AP_OK;
    size_t end = last;
    for (size_t next = last + 1; next < last + (last - first) / (count - 1) && ap_habit_is_of_step(rows, at, next); next++)
        end = is_of_all(rows, next, &choice) ? next : end;
    if (choice.is_best && !is_one_of(rows, at, end, &choice))
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_unused_expert, first, end, (double)choice.chosen / (double)choice.experts,
                                reterr);
}

/* Layers and activations: nothing that takes rows, finds them or puts them together. */
static bool is_of_expert(const struct ap_habit_rows *rows, size_t at)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    return words & (AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(BY_ELEMENT)) && !(words & (AP_BIT(PIECE) | AP_BIT(TAKES)));
}

/* The fewest operators that the stretch is made of again and again; 0 = it is not. */
static size_t round_of(const struct ap_habit_rows *rows, size_t first, size_t end)
{
    for (size_t period = 1; period <= EXPERT_ITEMS && period * LEAST_EXPERTS <= end - first; period++) {
        size_t at = first + period;
        while (at < end && ap_habit_name_at(rows, at) == ap_habit_name_at(rows, at - period))
            at++;
        if (at == end && !((end - first) % period))
            return period;
    }
    return 0;
}

/* All results are put together, and summed up with weights, of which most are zero. */
static bool is_weighed(const struct ap_habit_rows *rows, size_t gather)
{
    bool is_scaled = false;
    if (!AP_HAS(ap_item_words(rows, &rows->items[gather]), GATHER))
        return false;
    for (size_t at = gather + 1; at <= gather + WEIGHED_ITEMS && ap_habit_is_of_step(rows, gather, at); at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        if (AP_HAS(words, HEAVY))
            return !AP_HAS(words, WEIGHTED);
        if (is_scaled && AP_HAS(words, REDUCTION))
            return true;
        is_scaled |= ap_habit_is_named(rows, at, AP_TEXT("aten::mul"));
    }
    return false;
}

/* Without sizes: what was chosen is written among zeros, then the same layers follow each other, one expert behind the
 * other, and rows are taken for none of them. How many are chosen is not known: one is needed in any case. */
static enum ap_status look_at_choice_alone(struct ap_habit_rows *rows, size_t at, size_t *ret_behind,
                                           struct ap_error *reterr)
{
    bool is_spread = false;
    size_t first = at + 1;
    for (; first <= at + CHOSEN_ITEMS && ap_habit_is_of_step(rows, at, first); first++) {
        if (AP_HAS(ap_item_words(rows, &rows->items[first]), HEAVY))
            break;
        is_spread |= ap_text_starts_with(ap_row_name(rows->trace, rows->items[first].row), "aten::scatter");
    }
    size_t end = first;
    while (is_spread && ap_habit_is_of_step(rows, at, end) && is_of_expert(rows, end))
        end++;
    *ret_behind = end;
    size_t period =
        end > first && ap_habit_is_of_step(rows, at, end) && is_weighed(rows, end) ? round_of(rows, first, end) : 0;
    if (!period)
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_unused_expert, first, end - 1, (double)period / (double)(end - first),
                                reterr);
}

/* ---- adapters ---- */

/* x (…, in) times a weight: so many rows, how wide what goes in and comes out is. */
struct product {
    double rows;
    int64_t in, out;
};

/* A weight of aten::linear has its output first; aten::addmm has the bias before its input. */
static bool read_product(struct ap_habit_rows *rows, size_t at, struct product *ret_product)
{
    struct ap_tensor_list list;
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    int first = ap_text_is(name, "aten::addmm");
    const struct ap_tensor_dims *x = &list.tensors[first], *weight = &list.tensors[first + 1];
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) || !ap_habit_read_tensors(rows, at, &list) ||
        list.count < first + 2 || x->count < 2 || weight->count != 2)
        return false;
    bool is_linear = ap_text_is(name, "aten::linear");
    *ret_product =
        (struct product){ ap_tensor_elements(x, 0, x->count - 1), weight->dims[is_linear], weight->dims[!is_linear] };
    return ret_product->in == x->dims[x->count - 1];
}

/* Leaves what goes through it as it is, or scales it. */
static bool goes_through(const struct ap_habit_rows *rows, size_t at)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return !AP_HAS(words, HEAVY) && (words & (AP_BIT(NO_WORK) | AP_BIT(COPY) | AP_BIT(DROPOUT) | AP_BIT(VIEW)) ||
                                     ap_text_is(name, "aten::mul") || ap_text_is(name, "aten::mul_"));
}

/* The next item that is more, within a few of the same step; @at where there is none. */
static size_t next_work(const struct ap_habit_rows *rows, size_t at)
{
    size_t next = at + 1;
    while (next <= at + ASIDE_ITEMS && ap_habit_is_of_step(rows, at, next) && goes_through(rows, next))
        next++;
    return next <= at + ASIDE_ITEMS && ap_habit_is_of_step(rows, at, next) ? next : at;
}

static bool is_result(const struct ap_tensor_dims *tensor, const struct product *of)
{
    return tensor->dims[tensor->count - 1] == of->out && ap_tensor_elements(tensor, 0, tensor->count - 1) == of->rows;
}

/* Both tensors that are added are what the layers made: a bias has other sizes. */
static bool adds_results(struct ap_habit_rows *rows, size_t at, const struct product *of)
{
    struct ap_tensor_list list;
    return AP_HAS(ap_item_words(rows, &rows->items[at]), ADDS) && ap_habit_read_tensors(rows, at, &list) &&
           list.count >= 2 && is_result(&list.tensors[0], of) && is_result(&list.tensors[1], of);
}

/* A narrow one that a program trains beside a layer has no bias. */
static bool read_narrow(struct ap_habit_rows *rows, size_t at, struct product *ret_product)
{
    struct ap_tensor_list list;
    return read_product(rows, at, ret_product) && ap_habit_read_tensors(rows, at, &list) && list.count == 2;
}

/* Unpacked for this call, of few bits say: what is added to it would be lost. */
static bool has_made_weight(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    if (!at || !ap_habit_is_of_step(rows, at, at - 1) || AP_HAS(ap_item_words(rows, &rows->items[at - 1]), VIEW) ||
        !ap_habit_read_tensors(rows, at, &list))
        return false;
    int first = ap_habit_is_named(rows, at, AP_TEXT("aten::addmm"));
    return !ap_tensor_equal(&list.tensors[first], &list.tensors[first + 1]) &&
           ap_habit_has_tensor(rows, at - 1, &list.tensors[first + 1]);
}

/* From the item behind a layer: down to few values, up to as many as the layer makes of the same input, and their sum. The
 * number of that; @base where it is none. */
static size_t end_of_adapter(struct ap_habit_rows *rows, size_t base)
{
    struct product of_layer, down, up;
    if (!read_product(rows, base, &of_layer) || has_made_weight(rows, base))
        return base;
    size_t first = next_work(rows, base), second = first > base ? next_work(rows, first) : base;
    size_t sum = second > base && second > first ? next_work(rows, second) : base;
    if (sum == base || sum == second || !read_narrow(rows, first, &down) || !read_narrow(rows, second, &up) ||
        down.rows != of_layer.rows || down.in != of_layer.in || up.in != down.out || up.out != of_layer.out)
        return base;
    return down.out * LEAST_NARROW <= of_layer.in && down.out * LEAST_NARROW <= of_layer.out &&
                   adds_results(rows, sum, &of_layer)
               ? sum
               : base;
}

/* Between the two items requests name the adapter that answers them: as PEFT and diffusers call that. */
static bool are_chosen(const struct ap_habit_rows *rows, size_t first, size_t last)
{
    int64_t first_ns = ap_item_start_ns(rows, &rows->items[first]), last_ns = ap_item_start_ns(rows, &rows->items[last]);
    for (struct ap_rows_of at = ap_rows_of(rows->trace, 1u << AP_KIND_python); ap_rows_of_next(&at);) {
        int64_t start_ns = rows->trace->events.start_ns[at.row];
        struct ap_text name = ap_row_name(rows->trace, at.row);
        if (start_ns > first_ns && start_ns < last_ns &&
            (ap_text_ends_with(name, "): set_adapter") || ap_text_ends_with(name, "): set_adapters")))
            return true;
    }
    return false;
}

/* An adapter that is trained has to stay aside; where nothing is, one that serves each call could be merged. */
static enum ap_status find_adapters(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    size_t count = 0, first = 0, last = 0;
    for (int pass = 0; pass < 2 && (!pass || (count >= LEAST_ADAPTERS && !are_chosen(rows, first, last))); pass++)
        for (size_t at = 0; at < rows->item_count; at++) {
            size_t sum = end_of_adapter(rows, at);
            if (sum == at)
                continue;
            first = count ? first : at;
            last = at;
            count += pass == 0;
            if (pass)
                AP_TRY(ap_habit_add_stretch(rows, AP_HABIT_adapter_aside, at + 1, sum, 0, reterr));
        }
    return AP_OK;
}

enum ap_status ap_habit_find_experts(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    for (size_t at = 0, behind = 0; at < rows->item_count; at++)
        if (at >= behind && is_choice(rows, at)) {
            bool has_sizes = ap_habit_dims_of(rows, rows->items[at].row).bytes;
            if (has_sizes)
                AP_TRY(look_at_choice(rows, at, &behind, reterr));
            else if (!is_best(rows, at))
                AP_TRY(look_at_choice_alone(rows, at, &behind, reterr));
        }
    return rows->node_sequences.count || rows->has_optimizer ? AP_OK : find_adapters(rows, reterr);
}
