/* SPDX-License-Identifier: MIT
 * Weights that no optimizer works on, though they get gradients: nothing clears those, so that each backward pass adds to
 * them, while those of the trained weights are made anew. Where sizes are told, of a second model like the trained one
 * alone - a reference, a teacher, an average of the weights - as sizes tell the others. Where they are not, of any: a frozen
 * backbone, too. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_PASSES 2
#define LEAST_WEIGHTS 2

/* The last node with products. */
struct maker {
    uint32_t row, products; /* AP_NO_ROW = none, or a gradient behind it was seen */
    int64_t product_ns, product_end_ns;
};

/* Gradients that are added, with none between that is made anew. */
struct run {
    uint32_t row;               /* where the first one is made; AP_NO_ROW = no such gradient yet */
    int64_t end_ns, weights_ns; /* that the last one is added at; the products' part that is of weights, and adding */
    bool is_leaf;               /* nothing before the last layer has a gradient */
};

/* A backward pass: how many gradients are added to what is there, how many are made anew, and the sums of their keys. */
struct pass {
    uint32_t row; /* the first node; AP_NO_ROW = none yet */
    int64_t end_ns, accumulate_end_ns;
    uint32_t accumulate; /* the gradient that is accumulated; AP_NO_ROW = none */
    bool adds;           /* to what is there */
    uint64_t added, made, added_keys, made_keys;
    uint32_t node, behind; /* that is no gradient: the last one; the first one behind the last gradient that is made anew */
    ap_link_key lowest;    /* number of a node; 0 = none yet */
    struct maker maker;
    struct run run;
};

static const struct pass no_pass = { .row = AP_NO_ROW,
                                     .end_ns = INT64_MIN,
                                     .accumulate_end_ns = INT64_MIN,
                                     .accumulate = AP_NO_ROW,
                                     .node = AP_NO_ROW,
                                     .behind = AP_NO_ROW,
                                     .maker = { .row = AP_NO_ROW },
                                     .run = { .row = AP_NO_ROW } };

struct reference {
    struct pass pass;
    uint64_t passes, alike; /* with gradients; of which as many, of the same sizes, were added as made */
    bool differ;            /* a pass behind the first one is not alike */
    bool counts_alike, counts_uncleared;
    uint64_t added, made;    /* in the last one */
    bool has_sizes, differs; /* sizes are told; a pass does not add or make as many as the one before */
    uint64_t steps, clears;  /* of optimizers */
    bool zeroes;             /* something is filled with zeros, which may be a gradient */
    int64_t covered_ns;
};

static uint64_t key_of(const struct ap_habit_rows *rows, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    return op && op->signature.id ? (op->signature.id + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15) : 0;
}

/* All of it goes where none of what comes behind it is trained; else a layer has to hand on the gradient of its input, and
 * only that of its weights goes. */
static void end_run(struct ap_habit_rows *rows, struct reference *reference, bool is_last)
{
    struct pass *pass = &reference->pass;
    struct run run = pass->run;
    pass->run = (struct run){ .row = AP_NO_ROW };
    if (run.row == AP_NO_ROW || !reference->counts_uncleared)
        return;
    uint32_t row = is_last ? pass->behind : run.row;
    int64_t start_ns = rows->trace->events.start_ns[row];
    int64_t saves_ns = is_last ? pass->end_ns - start_ns : run.is_leaf ? run.end_ns - start_ns : run.weights_ns;
    (void)ap_habit_add(rows->habits, AP_HABIT_unneeded_gradient, row, saves_ns, saves_ns);
}

/* A product alone makes the gradient of the weight; two also that of the input. */
static void go_on_with_run(const struct ap_habit_rows *rows, struct pass *pass)
{
    struct run *run = &pass->run;
    struct maker *maker = &pass->maker;
    uint32_t first = maker->row != AP_NO_ROW ? maker->row : pass->node != AP_NO_ROW ? pass->node : pass->accumulate;
    run->row = run->row == AP_NO_ROW ? first : run->row;
    run->end_ns = pass->accumulate_end_ns;
    run->weights_ns += rows->trace->events.dur_ns[pass->accumulate];
    if (maker->row == AP_NO_ROW)
        return;
    run->weights_ns += maker->products > 1 ? maker->product_ns / 2 : maker->product_ns;
    run->is_leaf = maker->products == 1;
    maker->row = AP_NO_ROW;
}

static void end_gradient(struct ap_habit_rows *rows, struct reference *reference)
{
    struct pass *pass = &reference->pass;
    if (pass->accumulate == AP_NO_ROW)
        return;
    *(pass->adds ? &pass->added : &pass->made) += 1;
    *(pass->adds ? &pass->added_keys : &pass->made_keys) += key_of(rows, pass->accumulate);
    if (pass->adds) {
        go_on_with_run(rows, pass);
    } else {
        end_run(rows, reference, false);
        pass->maker.row = pass->behind = AP_NO_ROW;
    }
    pass->accumulate = AP_NO_ROW;
    pass->adds = false;
}

static void note_pass(struct reference *reference, bool alike)
{
    const struct pass *pass = &reference->pass;
    reference->differ |= reference->passes && !alike;
    reference->differs |= reference->passes && (pass->added != reference->added || pass->made != reference->made);
    reference->added = pass->added;
    reference->made = pass->made;
    reference->passes++;
    reference->alike += alike;
}

static void end_pass(struct ap_habit_rows *rows, struct reference *reference)
{
    struct pass *pass = &reference->pass;
    end_gradient(rows, reference);
    end_run(rows, reference, pass->made);
    bool alike =
        pass->made >= LEAST_WEIGHTS && pass->added == pass->made && pass->added_keys && pass->added_keys == pass->made_keys;
    if (pass->made || pass->added)
        note_pass(reference, alike);
    if (alike && reference->counts_alike) {
        int64_t half_ns = (pass->end_ns - rows->trace->events.start_ns[pass->row]) / 2;
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_unneeded_gradient, pass->row, half_ns, half_ns);
    }
    *pass = no_pass;
}

/* Numbers of nodes fall in a pass: else another loss goes back. */
static void begin_node(struct ap_habit_rows *rows, struct reference *reference, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    if (!op || !op->sequence)
        return;
    if (reference->pass.lowest && op->sequence >= reference->pass.lowest)
        end_pass(rows, reference);
    reference->pass.lowest = op->sequence;
}

/* A row of a node, or within it. */
static void note_node(struct ap_habit_rows *rows, struct reference *reference, uint32_t row, uint64_t words)
{
    struct pass *pass = &reference->pass;
    int64_t start_ns = rows->trace->events.start_ns[row];
    struct maker *maker = &pass->maker;
    if (start_ns >= pass->end_ns) {
        begin_node(rows, reference, row);
        pass->row = pass->row == AP_NO_ROW ? row : pass->row;
        pass->end_ns = ap_row_end_ns(rows->trace, row);
        if (ap_text_ends_with(ap_row_name(rows->trace, row), "AccumulateGrad"))
            return;
        pass->node = row;
        pass->behind = pass->behind == AP_NO_ROW ? row : pass->behind;
    } else if (words & (AP_BIT(PRODUCT) | AP_BIT(TWO_PRODUCTS)) && start_ns >= maker->product_end_ns) {
        if (maker->row != pass->node)
            *maker = (struct maker){ .row = pass->node };
        maker->products += AP_HAS(words, PRODUCT) ? 1 : 2;
        maker->product_ns += rows->trace->events.dur_ns[row];
        maker->product_end_ns = ap_row_end_ns(rows->trace, row);
    }
}

static void note_call(struct ap_habit_rows *rows, struct reference *reference, uint32_t row, uint64_t words)
{
    struct ap_text name = ap_row_name(rows->trace, row);
    if (words & (AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(OPTIMIZER) | AP_BIT(LOADER)))
        end_pass(rows, reference);
    reference->steps += AP_HAS(words, OPTIMIZER);
    reference->clears += AP_HAS(words, CLEARS);
    if (!ap_habit_is_operator(rows, row) || rows->trace->events.start_ns[row] < reference->covered_ns)
        return;
    reference->covered_ns = ap_row_end_ns(rows->trace, row);
    reference->zeroes |= ap_text_is(name, "aten::zero_") || ap_text_is(name, "aten::_foreach_zero_");
}

static void note_row(struct ap_habit_rows *rows, struct reference *reference, uint32_t row)
{
    struct pass *pass = &reference->pass;
    uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
    if (rows->trace->events.start_ns[row] >= pass->accumulate_end_ns)
        end_gradient(rows, reference);
    if (AP_HAS(words, ACCUMULATE)) {
        pass->accumulate = row;
        pass->accumulate_end_ns = ap_row_end_ns(rows->trace, row);
    } else if (pass->accumulate != AP_NO_ROW && AP_HAS(words, ADDS)) {
        pass->adds = true;
    }
    if (AP_HAS(words, NODE) || rows->trace->events.start_ns[row] < pass->end_ns)
        note_node(rows, reference, row, words);
    else
        note_call(rows, reference, row, words);
}

static void go_over(struct ap_habit_rows *rows, size_t track, struct reference *reference)
{
    const struct ap_row_order *order = &rows->facts->order;
    reference->pass = no_pass;
    reference->covered_ns = INT64_MIN;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++)
        note_row(rows, reference, order->rows[at]);
    end_pass(rows, reference);
}

/* Weights that each pass adds to, beside others: an optimizer that clears those of its own would make them anew. */
static bool has_uncleared(const struct reference *reference)
{
    return !reference->has_sizes && reference->passes >= LEAST_PASSES && !reference->differs &&
           reference->added >= LEAST_WEIGHTS && reference->made >= LEAST_WEIGHTS && reference->clears >= reference->steps &&
           !reference->zeroes;
}

void ap_habit_find_reference(struct ap_habit_rows *rows, size_t track)
{
    struct reference reference = { .has_sizes = rows->updated.count };
    if (!rows->has_optimizer || rows->has_collective)
        return;
    go_over(rows, track, &reference);
    reference.counts_uncleared = has_uncleared(&reference);
    reference.counts_alike = !reference.counts_uncleared && reference.alike >= LEAST_PASSES && !reference.differ;
    if (reference.counts_uncleared || reference.counts_alike)
        go_over(rows, track, &reference);
}
