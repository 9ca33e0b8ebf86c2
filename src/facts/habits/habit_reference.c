/* SPDX-License-Identifier: MIT
 * A second model like the trained one - a reference, a teacher, an average of the weights - that runs with gradients: its
 * sizes are those of the weights, but nothing clears its gradients, so that each backward pass adds to them, while those of
 * the trained model are made anew. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_PASSES 2
#define LEAST_WEIGHTS 2

/* A backward pass: how many gradients are added to what is there, how many are made anew, and the sums of their keys. */
struct pass {
    uint32_t row; /* the first node; AP_NO_ROW = none yet */
    int64_t end_ns, accumulate_end_ns;
    uint32_t accumulate; /* the gradient that is accumulated; AP_NO_ROW = none */
    bool adds;           /* to what is there */
    uint64_t added, made, added_keys, made_keys;
};

static const struct pass no_pass = {
    .row = AP_NO_ROW, .end_ns = INT64_MIN, .accumulate_end_ns = INT64_MIN, .accumulate = AP_NO_ROW
};

struct reference {
    struct pass pass;
    uint64_t passes, alike; /* with gradients; of which as many, of the same sizes, were added as made */
    bool differ, counts;    /* a pass behind the first one is not alike; the passes are added */
};

static uint64_t key_of(const struct ap_habit_rows *rows, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    return op && op->signature.id ? (op->signature.id + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15) : 0;
}

static void end_gradient(const struct ap_habit_rows *rows, struct pass *pass)
{
    if (pass->accumulate == AP_NO_ROW)
        return;
    *(pass->adds ? &pass->added : &pass->made) += 1;
    *(pass->adds ? &pass->added_keys : &pass->made_keys) += key_of(rows, pass->accumulate);
    pass->accumulate = AP_NO_ROW;
    pass->adds = false;
}

static void end_pass(struct ap_habit_rows *rows, struct reference *reference)
{
    struct pass *pass = &reference->pass;
    end_gradient(rows, pass);
    bool alike =
        pass->made >= LEAST_WEIGHTS && pass->added == pass->made && pass->added_keys && pass->added_keys == pass->made_keys;
    if (pass->made || pass->added) {
        reference->differ |= reference->passes && !alike;
        reference->passes++;
        reference->alike += alike;
    }
    if (alike && reference->counts) {
        int64_t half_ns = (pass->end_ns - rows->trace->events.start_ns[pass->row]) / 2;
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_unneeded_gradient, pass->row, half_ns, half_ns);
    }
    *pass = no_pass;
}

static void note_row(struct ap_habit_rows *rows, struct reference *reference, uint32_t row)
{
    struct pass *pass = &reference->pass;
    uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    if (start_ns >= pass->accumulate_end_ns)
        end_gradient(rows, pass);
    if (AP_HAS(words, ACCUMULATE)) {
        pass->accumulate = row;
        pass->accumulate_end_ns = end_ns;
    } else if (pass->accumulate != AP_NO_ROW && AP_HAS(words, ADDS)) {
        pass->adds = true;
    }
    if (start_ns < pass->end_ns)
        return;
    if (AP_HAS(words, NODE)) {
        pass->row = pass->row == AP_NO_ROW ? row : pass->row;
        pass->end_ns = end_ns;
    } else if (words & (AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(OPTIMIZER) | AP_BIT(LOADER))) {
        end_pass(rows, reference);
    }
}

static void go_over(struct ap_habit_rows *rows, size_t track, struct reference *reference)
{
    const struct ap_row_order *order = &rows->facts->order;
    reference->pass = no_pass;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++)
        note_row(rows, reference, order->rows[at]);
    end_pass(rows, reference);
}

void ap_habit_find_reference(struct ap_habit_rows *rows, size_t track)
{
    struct reference reference = { .counts = false };
    if (!rows->has_optimizer || rows->has_collective)
        return;
    go_over(rows, track, &reference);
    if (reference.alike < LEAST_PASSES || reference.differ)
        return;
    reference.counts = true;
    go_over(rows, track, &reference);
}
