/* SPDX-License-Identifier: MIT
 * Work on more elements than the result needs: all pairs of rows in one tensor, and sorts of which a part is used. */
#include <string.h>

#include "habit_items.h"
#include "tensor_dims.h"

#include "poison.h"

#define LEAST_PAIRS (64 * 1024)         /* elements of all pairs: less costs nothing */
#define LEAST_GROWTH 8                  /* so many times more than the larger of the two has */
#define PAIR_ITEMS 16                   /* operators until the pairs are summed up, with those that make other factors */
#define CAT_ITEMS 8                     /* operators that spread tensors out before they are put side by side */
#define LEAST_PAIRS_NS INT64_C(1000000) /* where sizes are not known */
#define OTHERS_BEFORE 6                 /* operators before, likewise, which take an eighth of the time or less */
#define LAYER_KEEPS 0.2                 /* of a layer of all pairs: the sum, and its gradients; our choice */
#define CUT_ITEMS 8                     /* operators behind an order of no known sizes that may use the rest of it */
#define LOOKED_UP_WITHIN 3              /* operators behind a draw */
#define SORT_ITEMS 48                   /* operators behind a sort that may use what it made */
#define LEAST_CACHE (1 << 20)           /* elements: to put fewer in order costs little */
#define MOST_BETWEEN_TWO 4              /* operators from keys to values */
#define LEAST_POSITIONS 2
#define AT_ONCE_NS INT64_C(30000) /* from a choice to the next request that waits: no player acts in it */
#define LEAST_REQUESTS 16         /* calls of one layer */
#define NAMED_ITEMS 16            /* of the first request: operators that are named */
#define SORT_KEEPS 0.05           /* likewise topk */
#define LEAST_DRAWN 4096          /* elements: sorting fewer costs nothing */

bool ap_habit_read_tensors(const struct ap_habit_rows *rows, size_t at, struct ap_tensor_list *ret_list)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, rows->items[at].row);
    struct ap_text dims, types;
    if (!ap_habit_is_operator(rows, rows->items[at].row) || !op || !op->signature.id)
        return false;
    ap_trace_signature(rows->trace, op->signature, &dims, &types);
    ap_tensor_list_read(ret_list, dims, types);
    return ret_list->count != 0;
}

enum ap_status ap_habit_add_stretch(struct ap_habit_rows *rows, enum ap_habit_id id, size_t first, size_t last, double keeps,
                                    struct ap_error *reterr)
{
    struct ap_habit_loop *loop;
    size_t graded = first;
    while (graded < last && !ap_habit_makes_node(rows, graded))
        graded++;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){
        .id = id,
        .row = rows->items[first].row,
        .end_ns = ap_item_end_ns(rows, &rows->items[last]),
        .total_ns = ap_item_end_ns(rows, &rows->items[last]) - ap_item_start_ns(rows, &rows->items[first]),
        .first = ap_habit_makes_node(rows, graded) ? ap_item_sequence(rows, &rows->items[graded]) : 0,
        .last = ap_habit_last_sequence(rows, last),
        .keeps = keeps
    };
    ap_habit_take_names(rows, rows->items + first, last + 1 - first, loop->names);
    return AP_OK;
}

bool ap_habit_has_tensor(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *tensor)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list))
        return false;
    for (int i = 0; i < list.count; i++)
        if (ap_tensor_equal(&list.tensors[i], tensor))
            return true;
    return false;
}

bool ap_habit_is_of_step(const struct ap_habit_rows *rows, size_t at, size_t other)
{
    return other < rows->item_count && rows->items[at].step == rows->items[other].step &&
           ap_habit_is_call(rows, &rows->items[other]);
}

/* The size along a dimension of @count, counted from the last one as in broadcasting. */
static int64_t size_along(const struct ap_tensor_dims *tensor, int dim, int count)
{
    int missing = count - tensor->count;
    return dim < missing ? 1 : tensor->dims[dim - missing];
}

/* Each of the two is repeated along a dimension that the other one has. */
static bool read_pairs(const struct ap_tensor_list *list, struct ap_tensor_dims *ret_pairs)
{
    const struct ap_tensor_dims *a = &list->tensors[0], *b = &list->tensors[1];
    bool of_a = false, of_b = false;
    if (list->count != 2)
        return false;
    *ret_pairs = a->count > b->count ? *a : *b;
    for (int i = 0; i < ret_pairs->count; i++) {
        int64_t along_a = size_along(a, i, ret_pairs->count), along_b = size_along(b, i, ret_pairs->count);
        of_a |= along_a > 1 && along_b == 1;
        of_b |= along_b > 1 && along_a == 1;
        ret_pairs->dims[i] = along_a > along_b ? along_a : along_b;
    }
    double larger = ap_tensor_elements(a, 0, a->count), other = ap_tensor_elements(b, 0, b->count);
    double all = ap_tensor_elements(ret_pairs, 0, ret_pairs->count);
    larger = other > larger ? other : larger;
    return of_a && of_b && all >= LEAST_PAIRS && all >= LEAST_GROWTH * larger;
}

/* The last of the next operators that looks at the pairs once more, as one that counts them does. */
static size_t last_of_pairs(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *pairs)
{
    size_t last = at;
    for (size_t next = at + 1; next < at + PAIR_ITEMS && ap_habit_is_of_step(rows, at, next) &&
                               !(ap_item_words(rows, &rows->items[next]) & (AP_BIT(HEAVY) | AP_BIT(MODEL)));
         next++)
        last = ap_habit_has_tensor(rows, next, pairs) ? next : last;
    return last;
}

/* Where sizes are not told: the backward pass sums up the gradients of both tensors, each of which was spread out. */
static bool was_spread(const struct ap_habit_rows *rows, size_t at)
{
    ap_link_key first = ap_item_sequence(rows, &rows->items[at]), last = ap_habit_last_sequence(rows, at);
    int spread = 0;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), PAIRED_SUM))
        return first && ap_pair_map_find(&rows->summed, first, 2) != AP_PAIR_NONE;
    for (ap_link_key node = first; node && node <= last && node < first + 2; node++) /* those that spread out come first */
        spread += ap_pair_map_find(&rows->summed, node, 1) != AP_PAIR_NONE;
    return spread == 2;
}

static int64_t time_of(const struct ap_habit_rows *rows, size_t at)
{
    return ap_item_end_ns(rows, &rows->items[at]) - ap_item_start_ns(rows, &rows->items[at]);
}

/* Views of both got a dimension more, and it takes far longer than what was called before: what it makes is far larger than
 * what goes in. */
static bool is_enlarged(const struct ap_habit_rows *rows, size_t at)
{
    size_t added = 0, others = 0;
    if (time_of(rows, at) < LEAST_PAIRS_NS)
        return false;
    for (size_t back = at; back-- > 0 && others < OTHERS_BEFORE;) {
        uint64_t words = ap_item_words(rows, &rows->items[back]);
        added += !others && ap_habit_is_named(rows, back, AP_TEXT("aten::unsqueeze"));
        if (words & (AP_BIT(TOP) | AP_BIT(SORT) | AP_BIT(CHOSEN)))
            break;
        if (words & (AP_BIT(VIEW) | AP_BIT(PIECE)) && !AP_HAS(words, HEAVY) &&
            !ap_habit_is_named(rows, back, AP_TEXT("aten::index")))
            continue;
        others++;
        if (time_of(rows, at) < LEAST_GROWTH * time_of(rows, back))
            return false;
    }
    return added >= 2;
}

/* Behind their sum the differences themselves are scaled or put beside something, as forces and directions are: what is made
 * of the sums alone has fewer elements, and takes far less. @pairs: their sizes, or NULL. */
static bool are_differences_used(const struct ap_habit_rows *rows, size_t at, size_t end, const struct ap_tensor_dims *pairs)
{
    static const char *const uses[] = { "aten::mul", "aten::div", "aten::where", "aten::einsum", "aten::cat" };
    if (!ap_habit_is_named(rows, at, AP_TEXT("aten::sub")))
        return false;
    for (size_t next = end + 1; next < end + PAIR_ITEMS && ap_habit_is_of_step(rows, at, next); next++) {
        bool is_large =
            pairs ? ap_habit_has_tensor(rows, next, pairs) : time_of(rows, next) >= time_of(rows, at) / LEAST_GROWTH;
        if (ap_habit_is_named(rows, next, AP_TEXT("aten::sub")) &&
            (pairs ? ap_habit_is_same(rows, at, next) : time_of(rows, next) >= LEAST_PAIRS_NS))
            return false; /* the next pairs */
        for (size_t i = 0; i < AP_COUNT_OF(uses) && is_large; i++)
            if (ap_text_is(ap_row_name(rows->trace, rows->items[next].row), uses[i]))
                return true;
    }
    return false;
}

/* Where nothing is trained: norms of all pairs' differences, or these squared or without their sign, and summed up; or
 * products that are. @at where they are not. */
static size_t end_of_enlarged(const struct ap_habit_rows *rows, size_t at)
{
    bool is_product = ap_habit_is_named(rows, at, AP_TEXT("aten::mul"));
    if (rows->facts->phases.has_backward || !(is_product || ap_habit_is_named(rows, at, AP_TEXT("aten::sub"))) ||
        !ap_habit_is_of_step(rows, at, at + 1) || !is_enlarged(rows, at))
        return at;
    uint64_t then = ap_item_words(rows, &rows->items[at + 1]);
    if (is_product ? ap_habit_is_named(rows, at + 1, AP_TEXT("aten::sum")) : AP_HAS(then, NORM))
        return at + 1;
    bool is_magnitude = AP_HAS(then, MAGNITUDE) || ap_habit_is_named(rows, at + 1, AP_TEXT("aten::mul"));
    bool sums = ap_habit_is_of_step(rows, at, at + 2) && ap_habit_is_named(rows, at + 2, AP_TEXT("aten::sum"));
    return !is_product && is_magnitude && sums ? at + 2 : at;
}

static enum ap_status look_at_pairs_of_no_size(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    bool sums_itself = AP_HAS(ap_item_words(rows, &rows->items[at]), PAIRED_SUM);
    size_t enlarged = end_of_enlarged(rows, at);
    if (enlarged > at && are_differences_used(rows, at, enlarged, NULL))
        return AP_OK;
    if (enlarged > at)
        return ap_habit_add_stretch(rows, AP_HABIT_all_pairs, at, enlarged, 0, reterr);
    if (!was_spread(rows, at))
        return AP_OK;
    for (size_t end = at; end < at + PAIR_ITEMS && ap_habit_is_of_step(rows, at, end); end++) {
        uint64_t words = ap_item_words(rows, &rows->items[end]);
        if (sums_itself || (end > at && AP_HAS(words, REDUCTION)))
            return ap_habit_add_stretch(rows, AP_HABIT_all_pairs, at, end, 0, reterr);
        if ((words & (AP_BIT(HEAVY) | AP_BIT(MODEL))) ||
            (end > at && ap_habit_name_at(rows, end) == ap_habit_name_at(rows, at)))
            break;
    }
    return AP_OK;
}

/* A layer of all pairs, [a; b] for each a and b: the first one before it that spreads a tensor out, which the backward pass
 * sums up again, where there are two of them; @cat where not. */
static size_t first_spread(const struct ap_habit_rows *rows, size_t cat)
{
    int spread = 0;
    for (size_t back = cat; back-- > 0 && cat - back <= CAT_ITEMS && ap_habit_is_of_step(rows, cat, back);) {
        bool spreads = ap_habit_is_named(rows, back, AP_TEXT("aten::expand")) ||
                       ap_habit_is_named(rows, back, AP_TEXT("aten::expand_as")) ||
                       ap_habit_is_named(rows, back, AP_TEXT("aten::repeat"));
        if (spreads)
            spread += ap_pair_map_find(&rows->summed, ap_habit_node_of(rows, back), 1) != AP_PAIR_NONE;
        else if (!(ap_item_words(rows, &rows->items[back]) & (AP_BIT(VIEW) | AP_BIT(PIECE))))
            break;
        if (spread == 2)
            return back;
    }
    return cat;
}

/* W [a; b] is W1 a + W2 b: two layers of few rows, and a sum. */
static enum ap_status look_at_layer_of_pairs(struct ap_habit_rows *rows, size_t layer, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    size_t cat = layer ? layer - 1 : 0;
    if (!ap_habit_is_of_step(rows, layer, cat) || !ap_habit_is_named(rows, cat, AP_TEXT("aten::cat")) ||
        (ap_habit_read_tensors(rows, cat, &list) && list.count != 2))
        return AP_OK;
    size_t first = first_spread(rows, cat);
    return first < cat ? ap_habit_add_stretch(rows, AP_HABIT_all_pairs, first, layer, LAYER_KEEPS, reterr) : AP_OK;
}

/* From the operator that makes the pairs to the one that sums them up. Between them other factors may be made. */
static enum ap_status look_at_pairs(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    struct ap_tensor_dims pairs;
    bool sums_itself = AP_HAS(ap_item_words(rows, &rows->items[at]), PAIRED_SUM);
    if (!ap_habit_read_tensors(rows, at, &list))
        return look_at_pairs_of_no_size(rows, at, reterr);
    if (!read_pairs(&list, &pairs))
        return AP_OK;
    for (size_t end = at; end < at + PAIR_ITEMS && ap_habit_is_of_step(rows, at, end); end++) {
        uint64_t words = ap_item_words(rows, &rows->items[end]);
        bool sums = end > at && AP_HAS(words, REDUCTION) && ap_habit_has_tensor(rows, end, &pairs);
        if (sums && are_differences_used(rows, at, end, &pairs))
            return AP_OK;
        if (sums_itself || sums)
            return ap_habit_add_stretch(rows, AP_HABIT_all_pairs, at, last_of_pairs(rows, end, &pairs), 0, reterr);
        if (words & (AP_BIT(HEAVY) | AP_BIT(MODEL)) || (end > at && ap_habit_is_same(rows, at, end)))
            break;
    }
    return AP_OK;
}

/* What becomes of a sorted tensor. */
struct sorted_use {
    bool takes_part, sums_up, draws, other;
    int64_t behind_ns; /* work on as many elements behind the sort */
};

/* Of as many rows, and fewer in each: one is drawn from the head of what was sorted. */
static bool draws_from_part(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *all)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), DRAW) || !ap_habit_read_tensors(rows, at, &list))
        return false;
    const struct ap_tensor_dims *part = &list.tensors[0];
    return part->count == all->count && part->dims[part->count - 1] < all->dims[all->count - 1] &&
           ap_tensor_elements(part, 0, part->count - 1) == ap_tensor_elements(all, 0, all->count - 1);
}

static struct sorted_use use_of_sorted(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *all)
{
    struct sorted_use use = { .takes_part = false };
    for (size_t next = at + 1; next < at + SORT_ITEMS && ap_habit_is_of_step(rows, at, next) && !use.draws; next++) {
        const struct ap_habit_item *item = &rows->items[next];
        if (use.takes_part && ap_habit_is_same(rows, at, next))
            break; /* the next request: what it sorts was made anew */
        use.draws = use.takes_part && draws_from_part(rows, next, all);
        if (!ap_habit_has_tensor(rows, next, all))
            continue;
        use.behind_ns += ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item);
        use.sums_up |= AP_HAS(ap_item_words(rows, item), RUNNING_SUM);
        use.draws = AP_HAS(ap_item_words(rows, item), DRAW);
        if (!AP_HAS(ap_item_words(rows, item), PIECE) || AP_HAS(ap_item_words(rows, item), SORT))
            use.other = true;
        else
            use.takes_part = true;
    }
    return use;
}

/* Where sizes are not known: the order is cut as soon as it is there, and no other piece is taken soon. Beside another sort
 * it may be one of ranks, or turned round. */
static bool is_order_cut(const struct ap_habit_rows *rows, size_t at)
{
    uint64_t others = AP_BIT(PIECE) | AP_BIT(SORT);
    if (!ap_habit_is_named(rows, at, AP_TEXT("aten::argsort")) || !ap_habit_is_of_step(rows, at, at + 1) ||
        (at && AP_HAS(ap_item_words(rows, &rows->items[at - 1]), SORT)))
        return false;
    struct ap_text next = ap_row_name(rows->trace, rows->items[at + 1].row);
    for (size_t i = at + 2; i < at + CUT_ITEMS && ap_habit_is_of_step(rows, at, i); i++)
        if (ap_item_words(rows, &rows->items[i]) & others)
            return false;
    return ap_text_is(next, "aten::slice") || ap_text_is(next, "aten::narrow");
}

/* What was drawn is a place in the order. */
static bool is_looked_up(const struct ap_habit_rows *rows, size_t draw)
{
    for (size_t next = draw + 1; next <= draw + LOOKED_UP_WITHIN && ap_habit_is_of_step(rows, draw, next); next++)
        if (AP_HAS(ap_item_words(rows, &rows->items[next]), TAKES))
            return true;
    return false;
}

/* Likewise: probabilities are summed up in their order, and one of them is drawn, with nothing between but work on each
 * element; what was drawn is looked up in the order, or what the order masks is put back before. The last item, the draw;
 * @at where it is not so. */
static size_t draw_behind(const struct ap_habit_rows *rows, size_t at)
{
    bool sums_up = false, is_back = false;
    for (size_t next = at + 1; next < at + SORT_ITEMS && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (words & (AP_BIT(HEAVY) | AP_BIT(SORT) | AP_BIT(TOP)))
            return at;
        sums_up |= AP_HAS(words, RUNNING_SUM);
        is_back |= sums_up && (ap_habit_is_named(rows, next, AP_TEXT("aten::scatter")) ||
                               ap_habit_is_named(rows, next, AP_TEXT("aten::scatter_")));
        if (AP_HAS(words, DRAW))
            return sums_up && (is_back || is_looked_up(rows, next)) ? next : at;
    }
    return at;
}

static void add_sort(struct ap_habit_rows *rows, size_t at, int64_t dur_ns)
{
    struct ap_habit *habit =
        ap_habit_add(rows->habits, AP_HABIT_whole_sort, rows->items[at].row, dur_ns, ap_share_of(dur_ns, 1 - SORT_KEEPS));
    const struct ap_op_detail *op = ap_row_op(rows->trace, rows->items[at].row);
    if (habit && op)
        habit->signature = op->signature.id;
}

/* A part of what was sorted is taken, and nothing else looks at as many elements; or one is drawn from the head of it, which
 * a running sum of the probabilities ends or a number: the rest is sorted, summed up and masked for nothing. */
static void look_at_sort(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    int64_t dur_ns = time_of(rows, at);
    if (!ap_habit_read_tensors(rows, at, &list)) {
        size_t draw = draw_behind(rows, at);
        for (size_t next = at + 1; next <= draw; next++)
            dur_ns += time_of(rows, next);
        if (draw > at || is_order_cut(rows, at))
            add_sort(rows, at, dur_ns);
        return;
    }
    struct sorted_use use = use_of_sorted(rows, at, &list.tensors[0]);
    bool is_draw = use.draws && (use.sums_up || use.takes_part) &&
                   ap_tensor_elements(&list.tensors[0], 0, list.tensors[0].count) >= LEAST_DRAWN;
    if (!is_draw && (use.other || !use.takes_part))
        return;
    add_sort(rows, at, dur_ns + (is_draw ? use.behind_ns : 0));
}

/* What a layer of the shapes x, weight makes: the last size of x becomes the first one of the weight. */
static bool read_result(const struct ap_tensor_list *list, struct ap_tensor_dims *ret_result)
{
    const struct ap_tensor_dims *x = &list->tensors[0], *weight = &list->tensors[1];
    if (list->count < 2 || x->count < 3 || weight->count != 2 || weight->dims[1] != x->dims[x->count - 1])
        return false;
    *ret_result = *x;
    ret_result->dims[x->count - 1] = weight->dims[0];
    return x->dims[x->count - 2] >= LEAST_POSITIONS;
}

/* The result without its positions: what a choice of one of them leaves. */
static struct ap_tensor_dims without_positions(const struct ap_tensor_dims *result)
{
    struct ap_tensor_dims one = *result;
    one.dims[one.count - 2] = one.dims[one.count - 1];
    one.count--;
    return one;
}

bool ap_habit_is_same(const struct ap_habit_rows *rows, size_t at, size_t other)
{
    const struct ap_op_detail *a = ap_row_op(rows->trace, rows->items[at].row);
    const struct ap_op_detail *b = ap_row_op(rows->trace, rows->items[other].row);
    return ap_habit_name_at(rows, at) == ap_habit_name_at(rows, other) && a && b && a->signature.id == b->signature.id;
}

/* What works on all positions of a layer's result. */
struct all_positions {
    struct ap_tensor_dims result;
    int64_t total_ns;
    size_t last; /* item */
};

/* All that is done with the result, or with what is made of each position alone, is to choose one of its positions. */
static bool is_one_chosen(struct ap_habit_rows *rows, size_t at, struct all_positions *all)
{
    const struct ap_tensor_dims one = without_positions(&all->result);
    bool chosen = false, used = false;
    for (size_t next = at + 1;
         next < at + SORT_ITEMS && ap_habit_is_of_step(rows, at, next) && !ap_habit_is_same(rows, at, next); next++) {
        const struct ap_habit_item *item = &rows->items[next];
        struct ap_text name = ap_trace_text(rows->trace, ap_habit_name_of(rows, item));
        if (!ap_habit_has_tensor(rows, next, &all->result)) {
            used |= chosen && ap_habit_has_tensor(rows, next, &one);
        } else if (!chosen && AP_HAS(ap_item_words(rows, item), BY_POSITION)) {
            all->total_ns += ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item);
            all->last = next;
        } else {
            bool is_choice = ap_text_is(name, "aten::select");
            if (used)
                return !is_choice; /* the next position, as a loop over them takes it; or another tensor of these sizes */
            if (chosen || (!is_choice && !ap_text_is(name, "aten::slice")))
                return false;
            chosen = is_choice;
        }
    }
    return chosen && used;
}

static enum ap_status look_at_positions(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    const struct ap_habit_item *item = &rows->items[at];
    struct all_positions all = { .total_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item), .last = at };
    struct ap_tensor_list list;
    struct ap_habit_loop *loop;
    if (!ap_habit_read_tensors(rows, at, &list) || !read_result(&list, &all.result) || !is_one_chosen(rows, at, &all))
        return AP_OK;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){ .id = AP_HABIT_unused_rows,
                                    .row = item->row,
                                    .end_ns = ap_item_end_ns(rows, &rows->items[all.last]),
                                    .total_ns = all.total_ns,
                                    .first = ap_item_sequence(rows, item),
                                    .last = ap_habit_last_sequence(rows, all.last),
                                    .keeps = 1 / (double)all.result.dims[all.result.count - 2],
                                    .names = { ap_habit_name_of(rows, item) } };
    if (all.last > at)
        loop->names[1] = ap_habit_name_at(rows, all.last);
    return AP_OK;
}

/* Keys come with values of the same sizes; images that are put in another order stand alone. */
static bool is_one_of_two(const struct ap_habit_rows *rows, size_t at)
{
    for (size_t next = at + 1; next <= at + MOST_BETWEEN_TWO; next++)
        if (ap_habit_is_of_step(rows, at, next) && ap_habit_is_same(rows, at, next))
            return true;
    for (size_t back = at; back-- > 0 && at - back <= MOST_BETWEEN_TWO;)
        if (ap_habit_is_of_step(rows, at, back) && ap_habit_is_same(rows, at, back))
            return true;
    return false;
}

/* A cache of keys or values is put in another order: as many rows are chosen of a large tensor as it has. */
static void look_at_order(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    if (!ap_habit_is_named(rows, at, AP_TEXT("aten::index_select")) || !ap_habit_read_tensors(rows, at, &list) ||
        list.count < 2)
        return;
    const struct ap_tensor_dims *cache = &list.tensors[0], *index = &list.tensors[1];
    if (cache->count != 4 || index->count != 1 || cache->dims[0] != index->dims[0] ||
        ap_tensor_elements(cache, 0, cache->count) < LEAST_CACHE || !is_one_of_two(rows, at))
        return;
    int64_t dur_ns = ap_item_end_ns(rows, &rows->items[at]) - ap_item_start_ns(rows, &rows->items[at]);
    struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_cache_order, rows->items[at].row, dur_ns, dur_ns);
    if (habit)
        habit->signature = ap_row_op(rows->trace, rows->items[at].row)->signature.id;
}

/* Of a layer: its input has a batch, of one. */
static bool is_of_one(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    return ap_habit_read_tensors(rows, at, &list) && list.tensors[0].count >= 2 && list.tensors[0].dims[0] == 1;
}

/* The next request, of several in one tensor. */
static bool takes_a_row(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    return at < rows->item_count && AP_HAS(ap_item_words(rows, &rows->items[at]), PIECE) &&
           ap_habit_read_tensors(rows, at, &list) && list.tensors[0].dims[0] > 1;
}

/* Right behind the choice a layer is called with numbers of its own: nothing looks at what was chosen, and there was no time
 * for a player to act upon it. */
static bool is_not_used(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    for (size_t next = at + 1; ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (ap_habit_gap_before(rows, next) > AT_ONCE_NS || !ap_habit_read_tensors(rows, next, &list))
            return false;
        for (int i = 0; i < list.count; i++)
            if (list.tensors[i].element != AP_ELEMENT_fp32)
                return false;
        if (AP_HAS(words, HEAVY))
            return list.tensors[0].dims[0] == 1;
        if (!AP_HAS(words, VIEW))
            return false;
    }
    return false;
}

/* Choices at several places at once, and an image behind: texts are read off. What is generated goes on with its choice,
 * and a player sees what came of it. */
static bool is_read_off(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), CHOSEN) || !ap_habit_read_tensors(rows, at, &list))
        return false;
    const struct ap_tensor_dims *scores = &list.tensors[0];
    if (ap_tensor_elements(scores, 0, scores->count - 1) < 2)
        return false;
    for (size_t next = at + 1; next < rows->item_count; next++)
        if (AP_HAS(ap_item_words(rows, &rows->items[next]), HEAVY))
            return ap_text_starts_with(ap_row_name(rows->trace, rows->items[next].row), "aten::conv");
        else if (ap_item_words(rows, &rows->items[next]) & (AP_BIT(SCALAR) | AP_BIT(GATHER) | AP_BIT(CHOICE)))
            return false;
    return false;
}

void ap_habit_find_single_requests(struct ap_habit_rows *rows)
{
    uint64_t calls = 0, layers = 0, choices = 0, answers = 0;
    int64_t of_one_ns = 0, of_more_ns = 0, short_ns = 0;
    uint32_t first = AP_NO_ROW;
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        int64_t dur_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item), gap_ns = ap_habit_gap_before(rows, i);
        bool is_layer = AP_HAS(ap_item_words(rows, item), HEAVY), of_one = is_layer && is_of_one(rows, i);
        choices += AP_HAS(ap_item_words(rows, item), CHOICE);
        answers += AP_HAS(ap_item_words(rows, item), CHOICE) &&
                   (takes_a_row(rows, i + 1) || is_read_off(rows, i) || is_not_used(rows, i));
        of_one_ns += of_one ? dur_ns : 0;
        of_more_ns += is_layer && !of_one ? dur_ns : 0;
        calls += of_one;
        if (of_one && first == AP_NO_ROW)
            first = item->row;
        layers += of_one && ap_habit_name_of(rows, item) == rows->trace->events.name[first] &&
                  ap_row_op(rows->trace, item->row)->signature.id == ap_row_op(rows->trace, first)->signature.id;
        short_ns += ap_item_dispatch_ns(rows, item) + (gap_ns > 0 && gap_ns < AP_HABIT_GAP_NS ? gap_ns : 0);
    }
    if (choices > answers + answers / 9)
        return; /* what it goes on with depends on what it has chosen */
    if (layers < LEAST_REQUESTS || of_more_ns > of_one_ns / 9)
        return;
    struct ap_habit *habit = ap_habit_add_in_pieces(rows->habits, AP_HABIT_single_request, first, short_ns, short_ns);
    if (habit)
        ap_habit_take_names(rows, rows->items, rows->item_count < NAMED_ITEMS ? rows->item_count : NAMED_ITEMS,
                            habit->names);
    rows->habits->of[AP_HABIT_single_request].count = calls;
}

enum ap_status ap_habit_find_sizes(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    for (size_t at = 0; at < rows->item_count; at++) {
        if (ap_item_words(rows, &rows->items[at]) & (AP_BIT(PAIRED) | AP_BIT(PAIRED_SUM)))
            AP_TRY(look_at_pairs(rows, at, reterr));
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY))
            AP_TRY(look_at_layer_of_pairs(rows, at, reterr));
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), SORT))
            look_at_sort(rows, at);
        look_at_order(rows, at);
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) && AP_HAS(ap_item_words(rows, &rows->items[at]), FORWARD))
            AP_TRY(look_at_positions(rows, at, reterr));
    }
    return AP_OK;
}
