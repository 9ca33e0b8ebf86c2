/* SPDX-License-Identifier: MIT
 * Weights that no optimizer works on, though they get gradients: nothing clears those, so that each backward pass adds to
 * them, while those of the trained weights are made anew. Where sizes are told, of a second model like the trained one
 * alone - a reference, a teacher, an average of the weights - as sizes tell the others. Where they are not, of any: a frozen
 * backbone, too; and of two models that are trained in turn, as a generator and what judges it, those of the one that the
 * loss of the other passes through: they are added to what its own turn left, and made anew in its next one. */
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

/* Backward passes up to a step of an optimizer, told by the first of them. */
struct turn {
    uint64_t added, made;
    bool drops; /* what is added is cleared before the step that would use it */
};

struct reference {
    struct pass pass;
    struct turn *turns;
    size_t turn_count, turn_capacity;
    size_t turn; /* the next one, once they are known */
    bool knows_turns, is_behind_step;
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

/* Passes behind the last turn have no gradients. */
static bool is_dropped(const struct reference *reference)
{
    return reference->knows_turns && reference->is_behind_step && reference->turn < reference->turn_count &&
           reference->turns[reference->turn].drops;
}

/* All of it goes where none of what comes behind it is trained; else a layer has to hand on the gradient of its input, and
 * only that of its weights goes. */
static void end_run(struct ap_habit_rows *rows, struct reference *reference, bool is_last)
{
    struct pass *pass = &reference->pass;
    struct run run = pass->run;
    pass->run = (struct run){ .row = AP_NO_ROW };
    if (run.row == AP_NO_ROW || !(reference->counts_uncleared || is_dropped(reference)))
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

static enum ap_status note_turn(struct ap_habit_rows *rows, struct reference *reference, struct ap_error *reterr)
{
    const struct pass *pass = &reference->pass;
    if (!reference->is_behind_step)
        return AP_OK;
    reference->is_behind_step = false;
    if (reference->knows_turns) {
        reference->turn++;
        return AP_OK;
    }
    struct turn turn = { pass->added, pass->made, false };
    AP_TRY_ADD(rows->habits->gate, reference->turns, reference->turn_count, reference->turn_capacity, reterr, turn);
    return AP_OK;
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

static enum ap_status end_pass(struct ap_habit_rows *rows, struct reference *reference, struct ap_error *reterr)
{
    struct pass *pass = &reference->pass;
    end_gradient(rows, reference);
    end_run(rows, reference, pass->made);
    bool alike =
        pass->made >= LEAST_WEIGHTS && pass->added == pass->made && pass->added_keys && pass->added_keys == pass->made_keys;
    if (pass->made || pass->added) {
        AP_TRY(note_turn(rows, reference, reterr));
        note_pass(reference, alike);
    }
    if (alike && reference->counts_alike) {
        int64_t half_ns = (pass->end_ns - rows->trace->events.start_ns[pass->row]) / 2;
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_unneeded_gradient, pass->row, half_ns, half_ns);
    }
    *pass = no_pass;
    return AP_OK;
}

/* Numbers of nodes fall in a pass: else another loss goes back. */
static enum ap_status begin_node(struct ap_habit_rows *rows, struct reference *reference, uint32_t row,
                                 struct ap_error *reterr)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    if (!op || !op->sequence)
        return AP_OK;
    if (reference->pass.lowest && op->sequence >= reference->pass.lowest)
        AP_TRY(end_pass(rows, reference, reterr));
    reference->pass.lowest = op->sequence;
    return AP_OK;
}

/* A row of a node, or within it. */
static enum ap_status note_node(struct ap_habit_rows *rows, struct reference *reference, uint32_t row, uint64_t words,
                                struct ap_error *reterr)
{
    struct pass *pass = &reference->pass;
    int64_t start_ns = rows->trace->events.start_ns[row];
    struct maker *maker = &pass->maker;
    if (start_ns >= pass->end_ns) {
        AP_TRY(begin_node(rows, reference, row, reterr));
        pass->row = pass->row == AP_NO_ROW ? row : pass->row;
        pass->end_ns = ap_row_end_ns(rows->trace, row);
        if (ap_text_ends_with(ap_row_name(rows->trace, row), "AccumulateGrad"))
            return AP_OK;
        pass->node = row;
        pass->behind = pass->behind == AP_NO_ROW ? row : pass->behind;
    } else if (words & (AP_BIT(PRODUCT) | AP_BIT(TWO_PRODUCTS)) && start_ns >= maker->product_end_ns) {
        if (maker->row != pass->node)
            *maker = (struct maker){ .row = pass->node };
        maker->products += AP_HAS(words, PRODUCT) ? 1 : 2;
        maker->product_ns += rows->trace->events.dur_ns[row];
        maker->product_end_ns = ap_row_end_ns(rows->trace, row);
    }
    return AP_OK;
}

static enum ap_status note_call(struct ap_habit_rows *rows, struct reference *reference, uint32_t row, uint64_t words,
                                struct ap_error *reterr)
{
    struct ap_text name = ap_row_name(rows->trace, row);
    if (words & (AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(OPTIMIZER) | AP_BIT(LOADER)))
        AP_TRY(end_pass(rows, reference, reterr));
    reference->is_behind_step |= AP_HAS(words, OPTIMIZER);
    reference->steps += AP_HAS(words, OPTIMIZER);
    reference->clears += AP_HAS(words, CLEARS);
    if (!ap_habit_is_operator(rows, row) || rows->trace->events.start_ns[row] < reference->covered_ns)
        return AP_OK;
    reference->covered_ns = ap_row_end_ns(rows->trace, row);
    reference->zeroes |= ap_text_is(name, "aten::zero_") || ap_text_is(name, "aten::_foreach_zero_");
    return AP_OK;
}

static enum ap_status note_row(struct ap_habit_rows *rows, struct reference *reference, uint32_t row,
                               struct ap_error *reterr)
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
    return AP_HAS(words, NODE) || rows->trace->events.start_ns[row] < pass->end_ns
               ? note_node(rows, reference, row, words, reterr)
               : note_call(rows, reference, row, words, reterr);
}

static enum ap_status go_over(struct ap_habit_rows *rows, size_t track, struct reference *reference, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    reference->pass = no_pass;
    reference->covered_ns = INT64_MIN;
    reference->is_behind_step = true;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++)
        AP_TRY(note_row(rows, reference, order->rows[at], reterr));
    return end_pass(rows, reference, reterr);
}

/* Weights that each pass adds to, beside others: an optimizer that clears those of its own would make them anew. */
static bool has_uncleared(const struct reference *reference)
{
    return !reference->has_sizes && reference->passes >= LEAST_PASSES && !reference->differs &&
           reference->added >= LEAST_WEIGHTS && reference->made >= LEAST_WEIGHTS && reference->clears >= reference->steps &&
           !reference->zeroes;
}

/* Turns of one kind, from @first to before @end, add to as many gradients as the turn before them made and the turn behind
 * them makes anew: no step between is of an optimizer of theirs, which would have cleared them before its pass. */
static bool drops_between(const struct reference *reference, size_t first, size_t end)
{
    const struct turn *turns = reference->turns, *turn = &turns[first];
    return first && end < reference->turn_count && turn->added >= LEAST_WEIGHTS && turn->made >= LEAST_WEIGHTS &&
           turns[first - 1].made == turn->added && turns[end].made == turn->added;
}

/* The first turns and the last ones have others on one side alone: of a kind that was told elsewhere they are told, too. */
static void tell_like(struct reference *reference, size_t at)
{
    struct turn *turns = reference->turns, turn = turns[at];
    bool drops = false;
    for (size_t i = 0; i < reference->turn_count; i++)
        drops |= turns[i].drops && turns[i].added == turn.added && turns[i].made == turn.made;
    for (size_t i = 0; drops && i < reference->turn_count; i++)
        turns[i].drops |= turns[i].added == turn.added && turns[i].made == turn.made;
}

/* Only where each step's gradients are cleared: by calls that are recorded, or by a module's that are not. */
static bool find_turns(struct reference *reference)
{
    struct turn *turns = reference->turns;
    bool drops = false;
    if (reference->has_sizes || reference->zeroes || (reference->clears && reference->clears < reference->steps))
        return false;
    for (size_t first = 0, end; first < reference->turn_count; first = end) {
        for (end = first + 1;
             end < reference->turn_count && turns[end].added == turns[first].added && turns[end].made == turns[first].made;)
            end++;
        for (size_t i = first; drops_between(reference, first, end) && i < end; i++)
            turns[i].drops = drops = true;
    }
    if (drops) {
        tell_like(reference, 0);
        tell_like(reference, reference->turn_count - 1);
    }
    return drops;
}

enum ap_status ap_habit_find_reference(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    struct reference reference = { .has_sizes = rows->updated.count };
    if (!rows->has_optimizer || rows->has_collective)
        return AP_OK;
    enum ap_status status = go_over(rows, track, &reference, reterr);
    reference.counts_uncleared = has_uncleared(&reference);
    reference.counts_alike = !reference.counts_uncleared && reference.alike >= LEAST_PASSES && !reference.differ;
    reference.knows_turns = find_turns(&reference);
    if (reference.counts_uncleared || reference.counts_alike || reference.knows_turns)
        AP_AND_THEN(status, go_over(rows, track, &reference, reterr));
    AP_FREE(rows->habits->gate, reference.turns, reference.turn_capacity);
    return status;
}
