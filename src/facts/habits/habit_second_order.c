/* SPDX-License-Identifier: MIT
 * Gradients of gradients. */
#include "habit_items.h"

#include "poison.h"

/* An outermost node of the backward pass, and what it is the end of. */
struct recording_node {
    int64_t end_ns;
    uint32_t row;  /* AP_NO_ROW = none */
    uint64_t made; /* nodes, for another backward pass */
    bool again;    /* it was made in a backward pass itself */
    bool forward;  /* forward work is done again in it: that makes nodes too, as it did the first time */
};

struct second_order {
    struct recording_node node;
    int64_t last_ns;    /* end of the last outermost operator; INT64_MIN = none yet */
    int64_t between_ns; /* since the last node that counts: what is made of the gradient, and the nodes of that */
    int64_t counted_ns; /* end of that node */
    bool adds;          /* else the numbers are collected only */
    bool goes_on;       /* nothing of a model ran since that node */
};

static void add_between(struct ap_habit_rows *rows, struct second_order *pass, int64_t dur_ns)
{
    pass->between_ns = ap_add_sat(pass->between_ns, dur_ns, &rows->habits->overflowed);
}

static void end_node(struct ap_habit_rows *rows, struct second_order *pass)
{
    const struct recording_node *node = &pass->node;
    if (node->row == AP_NO_ROW)
        return;
    int64_t dur_ns = rows->trace->events.dur_ns[node->row];
    if (node->forward || (!node->made && !node->again)) {
        add_between(rows, pass, dur_ns);
    } else if (pass->adds) {
        int64_t from_ns = pass->goes_on ? pass->counted_ns : rows->trace->events.start_ns[node->row];
        add_between(rows, pass, dur_ns);
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_second_order, node->row, pass->between_ns, pass->between_ns);
        ap_habit_add_time(rows->habits, AP_HABIT_second_order, from_ns, node->end_ns);
        pass->between_ns = 0;
        pass->counted_ns = node->end_ns;
        pass->goes_on = true;
    }
    pass->node = (struct recording_node){ .end_ns = INT64_MIN, .row = AP_NO_ROW };
}

/* What runs in a node makes nodes only with create_graph=True: the number of the operator tells that it may. */
static enum ap_status look_at_inner(struct ap_habit_rows *rows, struct recording_node *node, uint32_t row,
                                    struct ap_error *reterr)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    uint32_t number;
    node->forward |= AP_HAS(ap_habit_words_of(rows, row), FORWARD);
    if (!op || !op->sequence || ap_op_forward_thread(rows->trace, op) || AP_HAS(ap_habit_words_of(rows, row), NODE))
        return AP_OK;
    node->made++;
    return ap_pair_map_add(&rows->made_again, op->sequence, 0, &number, reterr);
}

static void begin_outermost(struct ap_habit_rows *rows, struct second_order *pass, uint32_t row)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    uint64_t words = ap_habit_words_of(rows, row);
    int64_t gap_ns = pass->last_ns == INT64_MIN ? 0 : start_ns - pass->last_ns;
    add_between(rows, pass, gap_ns > 0 && gap_ns <= AP_HABIT_GAP_NS ? gap_ns : 0);
    pass->last_ns = end_ns;
    if (AP_HAS(words, NODE)) {
        const struct ap_op_detail *op = ap_row_op(rows->trace, row);
        pass->node = (struct recording_node){ .end_ns = end_ns, .row = row };
        pass->node.again = op && op->sequence && ap_pair_map_find(&rows->made_again, op->sequence, 0) != AP_PAIR_NONE;
        rows->goes_again |= pass->node.again;
    } else if (words & (AP_BIT(HEAVY) | AP_BIT(FORWARD))) {
        pass->goes_on = false;
    } else {
        add_between(rows, pass, rows->trace->events.dur_ns[row]);
    }
    if (!pass->goes_on)
        pass->between_ns = 0;
}

static enum ap_status go_over_nodes(struct ap_habit_rows *rows, size_t track, bool adds, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct second_order pass = { .node = { .end_ns = INT64_MIN, .row = AP_NO_ROW }, .last_ns = INT64_MIN, .adds = adds };
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (!ap_habit_is_operator(rows, row))
            continue;
        if (rows->trace->events.start_ns[row] < pass.node.end_ns) {
            AP_TRY(look_at_inner(rows, &pass.node, row, reterr));
        } else if (rows->trace->events.start_ns[row] >= pass.last_ns) {
            end_node(rows, &pass);
            begin_outermost(rows, &pass, row);
        }
    }
    end_node(rows, &pass);
    return AP_OK;
}

enum ap_status ap_habit_find_second_order(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    AP_TRY(go_over_nodes(rows, track, false, reterr));
    return rows->goes_again ? go_over_nodes(rows, track, true, reterr) : AP_OK;
}
