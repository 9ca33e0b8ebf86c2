/* SPDX-License-Identifier: MIT
 * Work on all scores, or on all rows, for a choice that needs less of it. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_ELEMENTS (16 * 1024) /* fewer cost nothing */
#define LEAST_WEIGHTS (64 * 1024)  /* likewise, of sums that are made of them */
#define LEAST_EACH 8               /* so many weights for each draw, or it is the draws that take the time */
#define MOST_INNER 8               /* operators within a draw with replacement: without it, there is no sum of weights */
#define DRAW_KEEPS 0.1             /* to find the place of each draw in the sums */
#define MOST_OF_ONE_HOT 64         /* operators that make the rows of one product */
#define MOST_TO_MADE 16            /* times as long as making the rows: the product of them */
#define MOST_TURNS 4               /* casts and views from the ones to the product with scores */
#define OVERLAP_ITEMS 8            /* operators behind the sum of a product with ones */
#define PICK_KEEPS 0.25            /* to gather the scores, and to put their gradients back into zeros */
#define LEAST_CLASSES 4            /* of a loop over all of them */
#define LOOKS_EACH 4               /* operators that are looked at before draws, for each operator of the thread */
#define LEAST_UNSIZED_NS INT64_C(500000)
#define HANDED_ITEMS 32   /* operators behind the largest, in which results are handed on */
#define DIAGONAL_KEEPS 16 /* rows of the product: each pair takes two passes over memory in place of arithmetic in caches */

static inline bool is_named(const struct ap_habit_rows *rows, size_t at, const struct ap_text *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ap_habit_is_named(rows, at, names[i]))
            return true;
    return false;
}

/* Where no sizes are told: what comes behind, up to a comparison or the next layer, has nothing to do; and no two results
 * are handed to numpy, one of which may be the probabilities. */
static bool may_be_read_behind(const struct ap_habit_rows *rows, size_t at)
{
    bool compares = false;
    int handed = 0;
    for (size_t next = at + 1; next <= at + HANDED_ITEMS && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (words & (AP_BIT(HEAVY) | AP_BIT(MODEL)))
            break;
        handed += ap_habit_is_named(rows, next, AP_TEXT("aten::resolve_neg"));
        compares |= ap_habit_is_named(rows, next, AP_TEXT("aten::eq"));
        if (!(words & (AP_BIT(NO_WORK) | AP_BIT(VIEW))) && !compares)
            return true;
    }
    return handed > 1;
}

/* So long that no reply is made of the probabilities: these are of each place of an image, or of each word. */
static enum ap_status look_at_argmax_of_no_size(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    int64_t dur_ns = ap_item_end_ns(rows, &rows->items[at - 1]) - ap_item_start_ns(rows, &rows->items[at - 1]);
    if (rows->facts->phases.has_backward || dur_ns < LEAST_UNSIZED_NS || may_be_read_behind(rows, at))
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_order_only, at - 1, at - 1, 0, reterr);
}

/* The largest has the same place before it: of probabilities that nothing else reads only the order is asked. */
static enum ap_status look_at_argmax(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    const struct ap_text keep_order[] = { AP_TEXT("aten::softmax"), AP_TEXT("aten::log_softmax"), AP_TEXT("aten::sigmoid") };
    struct ap_tensor_list list, before;
    if (!at || !ap_habit_is_of_step(rows, at, at - 1) || !ap_habit_is_named(rows, at, AP_TEXT("aten::argmax")) ||
        !is_named(rows, at - 1, keep_order, AP_COUNT_OF(keep_order)))
        return AP_OK;
    if (!ap_habit_read_tensors(rows, at, &list) || !ap_habit_read_tensors(rows, at - 1, &before))
        return look_at_argmax_of_no_size(rows, at, reterr);
    const struct ap_tensor_dims *scores = &list.tensors[0];
    if (ap_tensor_elements(scores, 0, scores->count) < LEAST_ELEMENTS || !ap_tensor_equal(scores, &before.tensors[0]) ||
        ap_habit_is_used_behind(rows, at - 1, at, scores))
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_order_only, at - 1, at - 1, 0, reterr);
}

/* Probabilities of which a piece is taken right behind. */
static bool is_taken_of(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_of_step(rows, at, at + 1) && AP_HAS(ap_item_words(rows, &rows->items[at + 1]), PIECE);
}

/* Works on as many elements, so that these may be others then. */
static bool may_change(const struct ap_habit_rows *rows, size_t at, double elements)
{
    struct ap_tensor_list list;
    if (ap_item_words(rows, &rows->items[at]) & (AP_BIT(PIECE) | AP_BIT(VIEW)))
        return false;
    bool reads = ap_habit_read_tensors(rows, at, &list);
    for (int i = 0; reads && i < list.count; i++)
        if (ap_tensor_elements(&list.tensors[i], 0, list.tensors[i].count) >= elements)
            return true;
    return !ap_habit_is_call(rows, &rows->items[at]);
}

/* A loop over classes has as many passes, or one less without the background, and works on one of them. */
static bool is_of_classes(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *scores, int64_t count)
{
    struct ap_tensor_list list;
    double elements = ap_tensor_elements(scores, 0, scores->count);
    size_t user = at + 1;
    while (ap_habit_is_of_step(rows, at, user) && ap_item_words(rows, &rows->items[user]) & (AP_BIT(PIECE) | AP_BIT(VIEW)))
        user++;
    if (count < LEAST_CLASSES || !ap_habit_is_of_step(rows, at, user) || !ap_habit_read_tensors(rows, user, &list))
        return false;
    double of_one = ap_tensor_elements(&list.tensors[0], 0, list.tensors[0].count);
    for (int i = 0; i < scores->count; i++)
        if ((scores->dims[i] == count || scores->dims[i] == count + 1) && of_one * (double)scores->dims[i] == elements)
            return true;
    return false;
}

/* The layer before ran as often: each of the probabilities may be of its own scores, as those of several heads are. */
static bool are_scores_made(struct ap_habit_rows *rows, size_t at, int64_t count)
{
    size_t layer = at;
    int64_t made = 0;
    for (size_t back = at; back-- > 0 && ap_habit_is_of_step(rows, at, back) && made < count; rows->looks_left--) {
        if (!rows->looks_left)
            return true;
        if (ap_habit_is_same(rows, at, back))
            return false; /* another loop */
        if (layer == at && AP_HAS(ap_item_words(rows, &rows->items[back]), HEAVY))
            layer = back;
        made += layer < at && ap_habit_is_same(rows, layer, back);
    }
    return made >= count;
}

/* The same sizes again and again, with nothing of as many elements between, so that the scores did not change; a class is
 * taken of each. */
static enum ap_status look_at_softmax(struct ap_habit_rows *rows, size_t at, size_t *ret_behind, struct ap_error *reterr)
{
    const struct ap_text makers[] = { AP_TEXT("aten::softmax"), AP_TEXT("aten::log_softmax") };
    struct ap_tensor_list list;
    int64_t count = 1;
    if (!is_named(rows, at, makers, AP_COUNT_OF(makers)) || !ap_habit_read_tensors(rows, at, &list) ||
        !is_taken_of(rows, at))
        return AP_OK;
    const struct ap_tensor_dims scores = list.tensors[0];
    double elements = ap_tensor_elements(&scores, 0, scores.count);
    size_t end = at + 1;
    for (; ap_habit_is_of_step(rows, at, end); end++)
        if (ap_habit_is_same(rows, at, end) && is_taken_of(rows, end))
            count++;
        else if (may_change(rows, end, elements))
            break;
    *ret_behind = end;
    if (elements < LEAST_ELEMENTS || !is_of_classes(rows, at, &scores, count) || are_scores_made(rows, at, count))
        return AP_OK;
    for (size_t again = at + 1; again < end; again++)
        if (ap_habit_is_same(rows, at, again))
            AP_TRY(ap_habit_add_stretch(rows, AP_HABIT_softmax_again, again, again, 0, reterr));
    return AP_OK;
}

/* Of all pairs of rows that a product makes, the diagonal or its sum is taken: pairs of rows with the same number. */
static enum ap_status look_at_diagonal(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    const struct ap_text takes[] = { AP_TEXT("aten::diagonal"), AP_TEXT("aten::diag"), AP_TEXT("aten::trace") };
    struct ap_tensor_list list, factors;
    if (!at || !ap_habit_is_of_step(rows, at, at - 1) || !is_named(rows, at, takes, AP_COUNT_OF(takes)) ||
        !AP_HAS(ap_item_words(rows, &rows->items[at - 1]), HEAVY) || !ap_habit_read_tensors(rows, at, &list) ||
        !ap_habit_read_tensors(rows, at - 1, &factors) || factors.count != 2)
        return AP_OK;
    const struct ap_tensor_dims *pairs = &list.tensors[0], *a = &factors.tensors[0], *b = &factors.tensors[1];
    if (pairs->count < 2 || a->count != pairs->count || b->count != pairs->count)
        return AP_OK;
    int row = pairs->count - 2, column = pairs->count - 1;
    double places = ap_tensor_elements(pairs, 0, pairs->count), rows_kept = DIAGONAL_KEEPS / (double)pairs->dims[row];
    if (places < LEAST_ELEMENTS || pairs->dims[row] != pairs->dims[column] || a->dims[row] != pairs->dims[row] ||
        b->dims[column] != pairs->dims[column] || ap_habit_is_used_behind(rows, at - 1, at, pairs))
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_diagonal_only, at - 1, at, rows_kept < 1 ? rows_kept : 1, reterr);
}

/* Weights of which these may be all, or a row: what a model says of the next token is made for a batch. */
static bool has_weights(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *weights)
{
    struct ap_tensor_list list;
    bool reads = ap_habit_read_tensors(rows, at, &list);
    for (int i = 0; reads && i < list.count; i++)
        if (list.tensors[i].dims[list.tensors[i].count - 1] == weights->dims[0])
            return true;
    return false;
}

/* Nothing between two draws has to do with as many elements as there are weights, so they did not change. */
static enum ap_status look_at_draw(struct ap_habit_rows *rows, size_t at, size_t *looks, struct ap_error *reterr)
{
    struct ap_tensor_list list, drawn;
    if (!ap_habit_read_tensors(rows, at, &list) || at + 1 == rows->item_count ||
        !ap_habit_read_tensors(rows, at + 1, &drawn))
        return AP_OK;
    const struct ap_tensor_dims *weights = &list.tensors[0], *one = &drawn.tensors[0];
    double of_all = ap_tensor_elements(weights, 0, weights->count);
    if (weights->count != 1 || of_all < LEAST_WEIGHTS || of_all < LEAST_EACH * ap_tensor_elements(one, 0, one->count) ||
        rows->items[at].inner > MOST_INNER)
        return AP_OK;
    for (size_t back = at; back-- > 0 && !ap_habit_is_same(rows, at, back); (*looks)--)
        if (!*looks || has_weights(rows, back, weights))
            return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_table_draw, at, at, DRAW_KEEPS, reterr);
}

/* Items that make one-hot rows of which a product behind them is taken. */
struct one_hot {
    size_t first, rows, joined;
};

static struct one_hot one_hot_before(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_text between[] = { AP_TEXT("aten::to"), AP_TEXT("aten::select"), AP_TEXT("aten::slice"),
                                       AP_TEXT("aten::view"), AP_TEXT("aten::reshape") };
    struct one_hot found = { .first = at };
    for (size_t back = at; back-- > 0 && at - back < MOST_OF_ONE_HOT && ap_habit_is_of_step(rows, at, back);) {
        if (ap_habit_is_named(rows, back, AP_TEXT("aten::one_hot"))) {
            found.rows++;
            found.first = back;
        } else if (ap_habit_is_named(rows, back, AP_TEXT("aten::cat"))) {
            found.joined++;
        } else if (!is_named(rows, back, between, AP_COUNT_OF(between))) {
            break;
        }
    }
    return found;
}

/* Where sizes tell nothing: a product that a program writes behind one-hot rows, with nothing between. What is joined with
 * other data is not known, nor what a layer is given. Labels may be made so before an unlike product: rows that take long to
 * make, beside the product, are many. */
static enum ap_status look_at_product(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    const struct ap_text products[] = { AP_TEXT("aten::matmul"), AP_TEXT("aten::mm") };
    struct ap_tensor_list list;
    if (!is_named(rows, at, products, AP_COUNT_OF(products)) || ap_habit_read_tensors(rows, at, &list))
        return AP_OK;
    struct one_hot made = one_hot_before(rows, at);
    int64_t start_ns = ap_item_start_ns(rows, &rows->items[at]);
    int64_t made_ns = start_ns - ap_item_start_ns(rows, &rows->items[made.first]);
    if (made.joined > 1 || made.rows < made.joined + 1 || (!made.joined && made.rows > 1) ||
        made_ns < (int64_t)made.rows * AP_HABIT_SHORT_NS ||
        made_ns < (ap_item_end_ns(rows, &rows->items[at]) - start_ns) / MOST_TO_MADE)
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_one_hot_product, made.first, at, 0, reterr);
}

/* The zeros that the item writes to, past what makes the places; @at where there are none. */
static size_t zeros_before(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_text zeros[] = { AP_TEXT("aten::zeros"), AP_TEXT("aten::zeros_like"), AP_TEXT("aten::new_zeros") };
    for (size_t back = at; back-- > 0 && at - back <= MOST_TURNS && ap_habit_is_of_step(rows, at, back);)
        if (is_named(rows, back, zeros, AP_COUNT_OF(zeros)))
            return back;
        else if (!(ap_item_words(rows, &rows->items[back]) & (AP_BIT(VIEW) | AP_BIT(PIECE) | AP_BIT(NO_WORK))))
            break;
    return at;
}

/* A one is put into each row of zeros: what is put there has no gradient. */
static bool makes_ones(const struct ap_habit_rows *rows, size_t at, size_t *ret_first)
{
    ap_link_key sequence = ap_item_sequence(rows, &rows->items[at]);
    *ret_first = at;
    if (ap_habit_is_named(rows, at, AP_TEXT("aten::one_hot")))
        return true;
    if (!ap_habit_is_named(rows, at, AP_TEXT("aten::scatter_")) || !sequence ||
        ap_habit_sequence_after(rows, at) != sequence)
        return false;
    *ret_first = zeros_before(rows, at);
    return *ret_first < at;
}

/* Two more sums behind: how much scores and ones overlap is compared with both of them, as dice losses do. Nothing is
 * picked. */
static bool is_overlap(const struct ap_habit_rows *rows, size_t sum)
{
    int others = 0;
    for (size_t next = sum + 1; next <= sum + OVERLAP_ITEMS && ap_habit_is_of_step(rows, sum, next); next++)
        others += ap_habit_is_named(rows, next, AP_TEXT("aten::sum"));
    return others >= 2;
}

/* (scores * one_hot).sum(): scores and ones are multiplied as they are, and then summed up. What one_hot makes is found by
 * its sizes where these are known. */
static enum ap_status look_at_ones(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    const struct ap_text turns[] = { AP_TEXT("aten::to"), AP_TEXT("aten::permute"), AP_TEXT("aten::movedim"),
                                     AP_TEXT("aten::transpose") };
    struct ap_tensor_list list;
    size_t first, next = at + 1;
    if (!makes_ones(rows, at, &first))
        return AP_OK;
    while (next < at + MOST_TURNS && ap_habit_is_of_step(rows, at, next) && is_named(rows, next, turns, AP_COUNT_OF(turns)))
        next++;
    if (!ap_habit_is_of_step(rows, at, next) || !ap_habit_is_named(rows, next, AP_TEXT("aten::mul")) ||
        !ap_habit_is_of_step(rows, at, next + 1) || !ap_habit_is_named(rows, next + 1, AP_TEXT("aten::sum")) ||
        (first == at && ap_habit_read_tensors(rows, next, &list)) || is_overlap(rows, next + 1))
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_one_hot_product, first, next + 1, PICK_KEEPS, reterr);
}

enum ap_status ap_habit_find_choices(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    size_t looks = LOOKS_EACH * rows->item_count, behind = 0;
    ap_habit_begin_search(rows);
    for (size_t at = 0; at < rows->item_count; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        if (at >= behind)
            AP_TRY(look_at_softmax(rows, at, &behind, reterr));
        if (AP_HAS(words, CHOSEN))
            AP_TRY(look_at_argmax(rows, at, reterr));
        if (AP_HAS(words, DRAW))
            AP_TRY(look_at_draw(rows, at, &looks, reterr));
        AP_TRY(look_at_diagonal(rows, at, reterr));
        if (AP_HAS(words, HEAVY))
            AP_TRY(look_at_product(rows, at, reterr));
        else
            AP_TRY(look_at_ones(rows, at, reterr));
    }
    return AP_OK;
}
