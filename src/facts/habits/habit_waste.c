/* SPDX-License-Identifier: MIT
 * Work whose result nobody needs, or that was there already: copies that repeat a tensor, weights and sparse matrices that
 * are made anew, and sums over all weights. */
#include <math.h>

#include "habit_items.h"

#include "poison.h"

#define LEAST_ELEMENTS (16 * 1024) /* fewer cost nothing */
#define MOST_BEFORE 12             /* operators that made what is used */
#define USER_ITEMS 8               /* operators until what was repeated is used */
#define MOST_PACKED 8              /* small integers in one number */
#define LEAST_TABLE_ROWS 1024      /* that are searched */
#define LEAST_SEARCHED 8           /* so many times more than what is looked for */
#define LOOKS_EACH 4               /* operators that are looked at before searches, for each operator of the thread */
#define LOW_RANK 4                 /* so many times smaller than the weight's sides */
#define LOW_RANK_KEEPS 0.05        /* of a weight of low rank: two small products */
#define BEHIND_DIAGONAL 4          /* operators until what was made of the diagonal is multiplied */
#define COPIED_ITEMS 64            /* layers behind a copy of rows */
#define BEHIND_DENSE 128           /* likewise of a sparse matrix: layers of a graph network */
#define SPARSE_KEEPS 0.1           /* the product with the sparse one, where a hundredth or less of it is not zero */
#define DIAGONAL_KEEPS 0.02        /* scaling reads and writes the other matrix once: the least that was measured */
#define BEHIND_SPARSE 4            /* operators until a sparse matrix that was put together is sorted */
#define LEAST_ENTRIES 4096         /* fewer cost nothing */
#define MOST_OF_STEP 512           /* operators before it: of a longer step it is not known where its entries come from */
#define PENALIZED 2                /* weights, one after the other */

static double elements_of(const struct ap_tensor_dims *tensor)
{
    return ap_tensor_elements(tensor, 0, tensor->count);
}

/* ---- checks of arguments ---- */

/* torch.distributions asks of each tensor that it is handed whether all its values are allowed. */
void ap_habit_find_argument_checks(struct ap_habit_rows *rows)
{
    for (size_t i = 1; i + 1 < rows->item_count; i++) {
        if (!AP_HAS(ap_item_words(rows, &rows->items[i + 1]), SCALAR) ||
            !ap_text_equal(ap_row_name(rows->trace, rows->items[i].row), ap_text_of("aten::_is_all_true")))
            continue;
        /* with Python of the check before and behind */
        int64_t from_ns = ap_item_start_ns(rows, &rows->items[i - 1]) - ap_habit_lead_ns(rows, i - 1);
        int64_t to_ns = ap_item_end_ns(rows, &rows->items[i + 1]);
        to_ns += i + 2 < rows->item_count ? ap_habit_lead_ns(rows, i + 2) : 0;
        struct ap_habit *habit = ap_habit_add_in_pieces(rows->habits, AP_HABIT_argument_check, rows->items[i - 1].row,
                                                        to_ns - from_ns, to_ns - from_ns);
        ap_habit_add_time(rows->habits, AP_HABIT_argument_check, from_ns, to_ns);
        if (habit)
            ap_habit_take_names(rows, &rows->items[i - 1], 3, habit->names);
    }
}

/* ---- copies that repeat a tensor ---- */

/* As many dimensions, one of which is a multiple, the others equal. */
static bool repeats(const struct ap_tensor_dims *many, const struct ap_tensor_dims *one)
{
    int longer = 0;
    for (int i = 0; i < one->count && many->count == one->count; i++) {
        if (one->dims[i] <= 0 || many->dims[i] % one->dims[i])
            return false;
        longer += many->dims[i] > one->dims[i];
    }
    return longer == 1 && elements_of(many) >= LEAST_ELEMENTS;
}

/* Of a layer behind: its input, as rows of one width; else 0. */
static double rows_of_layer(const struct ap_tensor_list *list)
{
    const struct ap_tensor_dims *x = &list->tensors[0];
    bool is_layer = x->count && list->count > 1 && list->tensors[1].count == 2;
    return is_layer && x->dims[x->count - 1] == list->tensors[1].dims[1] ? elements_of(x) / (double)x->dims[x->count - 1]
                                                                         : 0;
}

/* Layers and activations, which treat each row alone, do the same for each copy of a row. @ret_times: as often as that. */
static size_t last_of_copied_rows(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *one, double *ret_times)
{
    double own = elements_of(one) / (double)one->dims[one->count - 1], many = 0;
    struct ap_tensor_list list;
    size_t last = at;
    for (size_t next = at + 1; next <= at + COPIED_ITEMS && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (!ap_habit_read_tensors(rows, next, &list) || (AP_HAS(words, VIEW) && !AP_HAS(words, WEIGHTED)))
            break;
        const struct ap_tensor_dims *x = &list.tensors[0];
        double layer = AP_HAS(words, WEIGHTED) ? rows_of_layer(&list) : 0;
        bool is_next = many > 0 ? layer == many || (AP_HAS(words, BY_ELEMENT) && list.count == 1)
                                : layer >= 2 * own && x->dims[x->count - 1] == one->dims[one->count - 1];
        if (!is_next)
            break;
        many = many > 0 ? many : layer;
        last = next;
    }
    *ret_times = many / own;
    return last;
}

/* By a number, not by a list of how often each row is wanted: that is a second tensor. */
static enum ap_status look_at_repeat(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list one, used;
    double times;
    if (!ap_habit_read_tensors(rows, at, &one) || one.count != 1 || elements_of(&one.tensors[0]) < 1)
        return AP_OK;
    size_t last = last_of_copied_rows(rows, at, &one.tensors[0], &times);
    if (last > at && times * elements_of(&one.tensors[0]) >= LEAST_ELEMENTS)
        return ap_habit_add_stretch(rows, AP_HABIT_repeated_copy, at, last, 1 / times, reterr);
    for (size_t next = at + 1; next <= at + USER_ITEMS && ap_habit_is_of_step(rows, at, next); next++) {
        if (!AP_HAS(ap_item_words(rows, &rows->items[next]), REPEAT_USER) || !ap_habit_read_tensors(rows, next, &used))
            continue;
        for (int i = 0; i < used.count; i++)
            if (repeats(&used.tensors[i], &one.tensors[0]))
                return ap_habit_add_stretch(rows, AP_HABIT_repeated_copy, at, at, 0, reterr);
    }
    return AP_OK;
}

/* ---- weights that are made for one call ---- */

/* A (rows, rank) times B (rank, columns), of the weight's size and of low rank. */
static bool is_low_rank(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *weight)
{
    struct ap_tensor_list list;
    const struct ap_tensor_dims *a = &list.tensors[0], *b = &list.tensors[1];
    return weight->count == 2 && AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) &&
           ap_habit_read_tensors(rows, at, &list) && list.count == 2 && a->count == 2 && b->count == 2 &&
           a->dims[1] == b->dims[0] && a->dims[0] == weight->dims[0] && b->dims[1] == weight->dims[1] &&
           a->dims[1] * LOW_RANK <= weight->dims[0] && a->dims[1] * LOW_RANK <= weight->dims[1];
}

/* Of a weight's elements, or of the numbers that several of them are packed in. */
static bool is_unpacking(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *weight)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), UNPACKS) || !ap_habit_read_tensors(rows, at, &list))
        return false;
    double packed = elements_of(weight) / elements_of(&list.tensors[0]);
    return packed >= 1 && packed <= MOST_PACKED && floor(packed) >= packed;
}

/* Of a layer whose weight is W + B @ A the backward pass makes the gradient of all of it, which A and B alone do not need:
 * half of its work, beside the gradient of its input. */
static enum ap_status add_whole_gradient(struct ap_habit_rows *rows, size_t layer, struct ap_error *reterr)
{
    struct ap_habit_loop *loop;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){ .id = AP_HABIT_weight_made,
                                    .row = rows->items[layer].row,
                                    .end_ns = ap_item_start_ns(rows, &rows->items[layer]),
                                    .first = ap_item_sequence(rows, &rows->items[layer]),
                                    .last = ap_habit_last_sequence(rows, layer),
                                    .keeps = 0.5,
                                    .is_part = true };
    return AP_OK;
}

static enum ap_status add_weight_made(struct ap_habit_rows *rows, size_t first, size_t layer, bool low_rank,
                                      struct ap_error *reterr)
{
    if (low_rank)
        AP_TRY(add_whole_gradient(rows, layer, reterr));
    return ap_habit_add_stretch(rows, AP_HABIT_weight_made, first, layer - 1, low_rank ? LOW_RANK_KEEPS : 0, reterr);
}

/* W + B @ A where sizes are not told: both factors are parameters, and a layer right behind takes the sum. Of a layer before
 * a sum, weight and bias are parameters as well. */
static enum ap_status look_at_weight_of_no_size(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    static const char *const adds = "aten::add", *const scales = "aten::mul";
    size_t product = at >= 2 ? at - 2 : at;
    if (product == at || !ap_text_is(ap_trace_text(rows->trace, ap_habit_name_at(rows, at - 1)), adds))
        return AP_OK;
    if (product && ap_text_is(ap_trace_text(rows->trace, ap_habit_name_at(rows, product)), scales))
        product--;
    uint64_t words = ap_item_words(rows, &rows->items[product]);
    return ap_habit_is_of_step(rows, at, product) && AP_HAS(words, HEAVY) && !AP_HAS(words, FORWARD) &&
                   ap_pair_map_find(&rows->of_parameters, ap_habit_node_of(rows, product), 2) != AP_PAIR_NONE
               ? add_weight_made(rows, product, at, true, reterr)
               : AP_OK;
}

/* Random numbers as many as the weight has, a little before it is made: another weight for each call, as Bayesian layers
 * have. */
static bool is_drawn_anew(const struct ap_habit_rows *rows, size_t first, const struct ap_tensor_dims *weight)
{
    static const char *const draws[] = { "aten::normal_",  "aten::randn_like", "aten::normal",
                                         "aten::uniform_", "aten::rand_like",  "aten::bernoulli_" };
    for (size_t back = first; back-- > 0 && first - back <= MOST_BEFORE && ap_habit_is_of_step(rows, first, back);)
        for (size_t i = 0; i < AP_COUNT_OF(draws); i++)
            if (ap_text_is(ap_row_name(rows->trace, rows->items[back].row), draws[i]) &&
                ap_habit_has_tensor(rows, back, weight))
                return true;
    return false;
}

/* Where nothing is trained weights do not change: what is made for a second call of the layer was there. Where something is,
 * a weight of low rank needs not be made at all. */
static enum ap_status look_at_weight(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    bool trains = rows->node_sequences.count || rows->has_optimizer, low_rank = false;
    struct ap_tensor_list list;
    uint32_t number, before = rows->weights_made.count;
    size_t first = at;
    if (!ap_habit_read_tensors(rows, at, &list))
        return look_at_weight_of_no_size(rows, at, reterr);
    if (list.count < 2)
        return AP_OK;
    const struct ap_tensor_dims *weight = &list.tensors[1];
    if (weight->count < 2 || elements_of(weight) < LEAST_ELEMENTS || ap_tensor_equal(&list.tensors[0], weight))
        return AP_OK;
    while (first && at - first < MOST_BEFORE && ap_habit_is_of_step(rows, at, first - 1) && !low_rank) {
        low_rank = is_low_rank(rows, first - 1, weight);
        if (!low_rank && (!AP_HAS(ap_item_words(rows, &rows->items[first - 1]), BY_ELEMENT) ||
                          !ap_habit_has_tensor(rows, first - 1, weight)))
            break;
        first--;
    }
    while (first && first < at && !trains && at - first < MOST_BEFORE && ap_habit_is_of_step(rows, at, first - 1) &&
           is_unpacking(rows, first - 1, weight))
        first--;
    if (first == at || (trains ? !low_rank : is_drawn_anew(rows, first, weight)))
        return AP_OK;
    AP_TRY(ap_pair_map_add(&rows->weights_made, ap_row_op(rows->trace, rows->items[at].row)->signature.id,
                           ap_habit_name_at(rows, first), &number, reterr));
    if (!trains && number == before)
        return AP_OK;
    return add_weight_made(rows, first, at, low_rank, reterr);
}

/* The length of each filter taken out and put back in, as weight_norm does until it is removed. What it makes is a weight,
 * whatever the sizes. */
static enum ap_status look_at_normed_weight(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    bool trains = rows->node_sequences.count || rows->has_optimizer;
    return !trains && ap_habit_is_named(rows, at, AP_TEXT("aten::_weight_norm"))
               ? ap_habit_add_stretch(rows, AP_HABIT_weight_made, at, at, 0, reterr)
               : AP_OK;
}

/* A table that is searched: so many rows, of so many values. */
struct searched {
    int64_t rows, width;
};

static bool has_rows_of(struct ap_habit_rows *rows, size_t at, const struct searched *table)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list))
        return false;
    for (int i = 0; i < list.count; i++)
        if (list.tensors[i].dims[0] == table->rows ||
            elements_of(&list.tensors[i]) == (double)table->rows * (double)table->width)
            return true;
    return false;
}

/* May the rows be new ones: put together, drawn, loaded? */
static bool may_make_rows(struct ap_habit_rows *rows, size_t at, const struct searched *table)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return (words & (AP_BIT(LOADER) | AP_BIT(GATHER))) || has_rows_of(rows, at, table) || ap_text_is(name, "aten::randn") ||
           ap_text_is(name, "aten::rand");
}

/* x @ table.T, of far more rows than are looked for. */
static bool is_search(struct ap_habit_rows *rows, size_t at, struct searched *ret_table)
{
    struct ap_tensor_list list;
    const struct ap_tensor_dims *x = &list.tensors[0], *table = &list.tensors[1];
    if (!ap_habit_read_tensors(rows, at, &list) || list.count < 2 || x->count < 1 || table->count != 2 ||
        x->dims[x->count - 1] != table->dims[0] || elements_of(table) < LEAST_SEARCHED * elements_of(x))
        return false;
    *ret_table = (struct searched){ table->dims[1], table->dims[0] };
    return ret_table->rows >= LEAST_TABLE_ROWS && elements_of(table) >= LEAST_ELEMENTS;
}

/* Computes with all of the table, each element alone, or with its norms? */
static bool prepares(struct ap_habit_rows *rows, size_t at, const struct searched *table)
{
    struct ap_tensor_list list;
    return (ap_item_words(rows, &rows->items[at]) & (AP_BIT(BY_ELEMENT) | AP_BIT(NORM))) &&
           ap_habit_read_tensors(rows, at, &list) &&
           elements_of(&list.tensors[0]) == (double)table->rows * (double)table->width;
}

/* What is computed of the table alone before it is searched, from *ret_first to before *ret_last: what is looked for may be
 * made in between. */
static bool is_prepared(struct ap_habit_rows *rows, size_t at, const struct searched *table, size_t *looks,
                        size_t *ret_first, size_t *ret_last)
{
    bool computes = false;
    size_t last = at, first;
    for (; last && *looks && at - last < MOST_OF_STEP && ap_habit_is_of_step(rows, at, last - 1) &&
           !prepares(rows, last - 1, table) && !ap_habit_is_same(rows, at, last - 1);
         --*looks)
        last--;
    for (first = last; first && last - first < MOST_BEFORE && ap_habit_is_of_step(rows, at, first - 1) &&
                       has_rows_of(rows, first - 1, table);
         computes |= prepares(rows, first, table))
        first--;
    *ret_first = first;
    *ret_last = last;
    return computes;
}

/* The first search of several: what came before the recording went the same way, as far as is known. */
static enum ap_status look_at_first_search(struct ap_habit_rows *rows, size_t at, const struct searched *table,
                                           size_t *looks, struct ap_error *reterr)
{
    uint32_t number, before = rows->weights_made.count;
    size_t first, last;
    AP_TRY(ap_pair_map_add(&rows->weights_made, ap_row_op(rows->trace, rows->items[at].row)->signature.id,
                           ap_habit_name_at(rows, at), &number, reterr));
    return number == before && is_prepared(rows, at, table, looks, &first, &last)
               ? ap_habit_add_stretch(rows, AP_HABIT_weight_made, first, last - 1, 0, reterr)
               : AP_OK;
}

/* Where nothing is trained, a table of which no other operator since the last search has made a row is the same one: what is
 * computed of it alone before it is searched (norms, casts, scales) was there.
 * @looks: how many operators may be looked at yet; the same search comes again within a step, so few are needed. */
static enum ap_status look_at_search(struct ap_habit_rows *rows, size_t at, size_t *looks, struct ap_error *reterr)
{
    struct searched table;
    size_t first, last;
    if (rows->node_sequences.count || rows->has_optimizer || !is_search(rows, at, &table) ||
        !is_prepared(rows, at, &table, looks, &first, &last))
        return AP_OK;
    for (size_t back = first; back-- > 0 && at - back < MOST_OF_STEP && *looks; --*looks) {
        if (ap_habit_is_same(rows, at, back)) {
            AP_TRY(look_at_first_search(rows, back, &table, looks, reterr));
            return ap_habit_add_stretch(rows, AP_HABIT_weight_made, first, last - 1, 0, reterr);
        }
        if (may_make_rows(rows, back, &table))
            break;
    }
    return AP_OK;
}

/* ---- diagonal matrices ---- */

static bool is_square(const struct ap_tensor_dims *tensor, int64_t size)
{
    return tensor->count >= 2 && tensor->dims[tensor->count - 1] == size && tensor->dims[tensor->count - 2] == size;
}

/* diag(v) @ A scales the rows of A, A @ diag(v) its columns. */
static enum ap_status look_at_diagonal(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list))
        return AP_OK;
    const struct ap_tensor_dims *vector = &list.tensors[0];
    bool is_embed = ap_habit_is_named(rows, at, AP_TEXT("aten::diag_embed"));
    int64_t size = vector->count == 1 || (is_embed && vector->count) ? vector->dims[vector->count - 1] : 0;
    if ((double)size * (double)size < LEAST_ELEMENTS)
        return AP_OK;
    for (size_t next = at + 1; next <= at + BEHIND_DIAGONAL && ap_habit_is_of_step(rows, at, next); next++) {
        if (!AP_HAS(ap_item_words(rows, &rows->items[next]), HEAVY) || !ap_habit_read_tensors(rows, next, &list))
            continue;
        bool takes = is_square(&list.tensors[0], size) || (list.count > 1 && is_square(&list.tensors[1], size));
        return takes ? ap_habit_add_stretch(rows, AP_HABIT_diagonal_product, at, next, DIAGONAL_KEEPS, reterr) : AP_OK;
    }
    return AP_OK;
}

/* ---- sparse matrices ---- */

/* Where no sizes are told: right behind it a product that is none of a layer takes what it made. */
static enum ap_status look_at_dense_alone(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    if (!rows->items[at].inner || !ap_habit_is_of_step(rows, at, at + 1))
        return AP_OK;
    uint64_t then = ap_item_words(rows, &rows->items[at + 1]);
    bool takes =
        then & (AP_BIT(PRODUCT) | AP_BIT(VECTOR_PRODUCT)) || ap_habit_is_named(rows, at + 1, AP_TEXT("aten::matmul"));
    return takes ? ap_habit_add_stretch(rows, AP_HABIT_diagonal_product, at, at + 1, SPARSE_KEEPS, reterr) : AP_OK;
}

/* A sparse matrix is made dense, and the products behind take it whole. */
static enum ap_status look_at_dense(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    bool takes = false;
    if (!ap_habit_read_tensors(rows, at, &list))
        return look_at_dense_alone(rows, at, reterr);
    if (list.tensors[0].count != 2)
        return AP_OK;
    const struct ap_tensor_dims matrix = list.tensors[0];
    if (ap_tensor_elements(&matrix, 0, matrix.count) < LEAST_ELEMENTS)
        return AP_OK;
    for (size_t next = at + 1;
         next <= at + BEHIND_DENSE && ap_habit_is_of_step(rows, at, next) && !ap_habit_is_same(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (!AP_HAS(words, HEAVY) || AP_HAS(words, WEIGHTED) || !ap_habit_has_tensor(rows, next, &matrix))
            continue;
        AP_TRY(ap_habit_add_stretch(rows, AP_HABIT_diagonal_product, next, next, SPARSE_KEEPS, reterr));
        takes = true;
    }
    return takes ? ap_habit_add_stretch(rows, AP_HABIT_diagonal_product, at, at, 0, reterr) : AP_OK;
}

/* May it make the places of so many entries? One that draws, chooses, finds or takes them, or puts their rows together. */
static bool may_make_entries(struct ap_habit_rows *rows, size_t at, int64_t entries)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct ap_tensor_list list;
    if ((words & (AP_BIT(TOP) | AP_BIT(SORT) | AP_BIT(DRAW) | AP_BIT(FINDS_ROWS) | AP_BIT(LOADER))) ||
        ap_text_starts_with(ap_row_name(rows->trace, rows->items[at].row), "aten::rand"))
        return true;
    if (!(words & (AP_BIT(TAKES) | AP_BIT(GATHER))) || !ap_habit_read_tensors(rows, at, &list))
        return false;
    const struct ap_tensor_dims *from = &list.tensors[0];
    bool is_pairs = from->count == 2 && (from->dims[0] == 2 || from->dims[1] == 2);
    return is_pairs || (AP_HAS(words, GATHER) && from->count == 1 && from->dims[0] == entries);
}

/* The first one before @maker, in the same forward pass, that is put together of the same sizes, and how many there are;
 * none where an operator of the step may make the entries, or where steps are not known. */
static size_t count_alike(struct ap_habit_rows *rows, size_t maker, int64_t entries, size_t *ret_first)
{
    size_t count = 0;
    bool is_other_pass = false;
    for (size_t at = maker; at-- > 0 && rows->facts->steps.count && rows->items[at].step == rows->items[maker].step;) {
        if (maker - at > MOST_OF_STEP || may_make_entries(rows, at, entries))
            return 0;
        is_other_pass |= !ap_habit_is_call(rows, &rows->items[at]);
        if (!is_other_pass && ap_habit_is_same(rows, maker, at)) {
            *ret_first = at;
            count++;
        }
    }
    return count;
}

static bool is_sorted_behind(struct ap_habit_rows *rows, size_t maker, size_t *ret_at)
{
    for (*ret_at = maker + 1; *ret_at <= maker + BEHIND_SPARSE && ap_habit_is_of_step(rows, maker, *ret_at); ++*ret_at)
        if (ap_item_words(rows, &rows->items[*ret_at]) & (AP_BIT(SPARSE) | AP_BIT(COALESCES)))
            return AP_HAS(ap_item_words(rows, &rows->items[*ret_at]), COALESCES);
    return false;
}

static int64_t sparse_ns(const struct ap_habit_rows *rows, size_t maker, size_t sorted)
{
    return ap_item_end_ns(rows, &rows->items[sorted]) - ap_item_start_ns(rows, &rows->items[maker]);
}

/* How many are put together before the activation that is before @maker, in the same forward pass; one of them takes about
 * as long. None where an operator of the step may make the entries. */
static size_t count_alike_alone(struct ap_habit_rows *rows, size_t maker, int64_t total_ns, size_t *ret_first)
{
    size_t count = 0, sorted;
    bool is_other_pass = false, is_other_layer = false, is_alike = false;
    for (size_t at = maker; at-- > 0 && rows->facts->steps.count && rows->items[at].step == rows->items[maker].step;) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        if (maker - at > MOST_OF_STEP || words & (AP_BIT(TAKES) | AP_BIT(GATHER)) || may_make_entries(rows, at, 0))
            return 0;
        is_other_pass |= !ap_habit_is_call(rows, &rows->items[at]);
        is_other_layer |= ap_text_ends_with(ap_row_name(rows->trace, rows->items[at].row), "relu");
        if (is_other_pass || !is_other_layer || !AP_HAS(words, SPARSE) || !is_sorted_behind(rows, at, &sorted))
            continue;
        int64_t other_ns = sparse_ns(rows, at, sorted);
        is_alike |= other_ns / 2 <= total_ns && total_ns / 2 <= other_ns;
        *ret_first = at;
        count++;
    }
    return is_alike ? count : 0;
}

/* Without sizes: one for each layer, which take about as long. Those of one layer may be of several kinds of edges, and
 * where each layer has samples of its own there are fewer from layer to layer. */
static enum ap_status look_at_sparse_alone(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    size_t first, last, sorted;
    if (!is_sorted_behind(rows, at, &sorted))
        return AP_OK;
    size_t count = count_alike_alone(rows, at, sparse_ns(rows, at, sorted), &first);
    if (count == 1 && is_sorted_behind(rows, first, &last))
        AP_TRY(ap_habit_add_stretch(rows, AP_HABIT_sorted_again, first, last, 0, reterr));
    return count ? ap_habit_add_stretch(rows, AP_HABIT_sorted_again, at, sorted, 0, reterr) : AP_OK;
}

/* A step that puts a matrix of the same sizes together more than once does not know that it has it. Of one a step, each may
 * be of another graph. */
static enum ap_status look_at_sparse(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    size_t first, last, sorted;
    if (!ap_habit_read_tensors(rows, at, &list) || list.tensors[0].count != 2 || list.tensors[0].dims[1] < LEAST_ENTRIES ||
        !is_sorted_behind(rows, at, &sorted))
        return AP_OK;
    size_t count = count_alike(rows, at, list.tensors[0].dims[1], &first);
    if (count == 1 && is_sorted_behind(rows, first, &last))
        AP_TRY(ap_habit_add_stretch(rows, AP_HABIT_sorted_again, first, last, 0, reterr));
    return count ? ap_habit_add_stretch(rows, AP_HABIT_sorted_again, at, sorted, 0, reterr) : AP_OK;
}

/* ---- penalties on weights ---- */

/* abs(W).sum() + ...: of one weight after the other, each with a node. Gradients of the same sizes make none, and what is
 * read value by value is for a log. */
static enum ap_status look_at_penalty(struct ap_habit_rows *rows, size_t at, size_t *ret_end, struct ap_error *reterr)
{
    size_t end = at, count = 0, last = at;
    struct ap_tensor_list first, list;
    bool differ = false;
    for (; ap_habit_is_of_step(rows, at, end); end++) {
        uint64_t words = ap_item_words(rows, &rows->items[end]);
        bool has_sizes = ap_habit_read_tensors(rows, end, &list);
        if (has_sizes && AP_HAS(words, MAGNITUDE)) {
            if (!ap_habit_makes_node(rows, end) || !ap_habit_is_trained(rows, end, 0))
                break;
            if (!count)
                first = list;
            differ |= !ap_tensor_equal(&first.tensors[0], &list.tensors[0]);
            count++;
        } else if (AP_HAS(words, SCALAR) || (has_sizes && !AP_HAS(words, REDUCTION))) {
            break; /* of numbers alone: the sum of the sums */
        }
        if (ap_item_sequence(rows, &rows->items[end]))
            last = end; /* with the node of the sum */
    }
    *ret_end = end > at ? end : at + 1;
    return count >= PENALIZED && differ ? ap_habit_add_stretch(rows, AP_HABIT_weight_penalty, at, last, 0, reterr) : AP_OK;
}

enum ap_status ap_habit_find_waste(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    size_t looks = LOOKS_EACH * rows->item_count + MOST_OF_STEP;
    ap_habit_begin_search(rows);
    for (size_t at = 0, behind = 0, padded = 0; at < rows->item_count; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        if (!ap_habit_is_call(rows, &rows->items[at]))
            continue;
        AP_TRY(ap_habit_look_at_images(rows, at, reterr));
        if (at >= padded)
            AP_TRY(ap_habit_look_at_padding(rows, at, &padded, reterr));
        if (AP_HAS(words, REPEAT))
            AP_TRY(look_at_repeat(rows, at, reterr));
        if (AP_HAS(words, DIAGONAL))
            AP_TRY(ap_habit_is_named(rows, at, AP_TEXT("aten::to_dense")) ? look_at_dense(rows, at, reterr)
                                                                          : look_at_diagonal(rows, at, reterr));
        if (AP_HAS(words, SPARSE))
            AP_TRY(ap_habit_dims_of(rows, rows->items[at].row).bytes ? look_at_sparse(rows, at, reterr)
                                                                     : look_at_sparse_alone(rows, at, reterr));
        AP_TRY(look_at_normed_weight(rows, at, reterr));
        if (AP_HAS(words, HEAVY) && !AP_HAS(words, MODEL))
            AP_TRY(look_at_search(rows, at, &looks, reterr));
        if (AP_HAS(words, WEIGHTED))
            AP_TRY(look_at_weight(rows, at, reterr));
        if (AP_HAS(words, MAGNITUDE) && at >= behind)
            AP_TRY(look_at_penalty(rows, at, &behind, reterr));
    }
    return AP_OK;
}
