/* SPDX-License-Identifier: MIT
 * Gradients that nobody needs: of weights that no optimizer works on. The sizes tell: those of a weight are those of its
 * gradient, and of what the optimizer's operators are called with. And gradients of gradients. */
#include "habit_items.h"

#include "poison.h"

/* The sizes of one tensor as they are written, as a key of two numbers: what collides is taken for trained. */
static void mix(uint32_t key[2], char letter)
{
    key[0] = (key[0] ^ (uint8_t)letter) * UINT32_C(16777619);
    key[1] = key[1] * UINT32_C(31) + (uint8_t)letter;
}

/* The next tensor of a list, or of a list in it: its key; false where there is none. One without sizes is passed over. */
static bool next_tensor(struct ap_text dims, size_t *at, uint32_t ret_key[2])
{
    bool is_open = false, has_size = false;
    ret_key[0] = ret_key[1] = 0;
    for (; *at < dims.bytes; ++*at) {
        char letter = dims.data[*at];
        if (letter == '[') {
            is_open = true;
            has_size = false;
            ret_key[0] = UINT32_C(2166136261);
            ret_key[1] = 1;
        } else if (letter == ']' && is_open && has_size) {
            return true;
        } else if (letter == ']') {
            is_open = false;
        } else if (is_open && letter != ' ') {
            mix(ret_key, letter);
            has_size |= letter >= '0' && letter <= '9';
        }
    }
    return false;
}

static struct ap_text dims_of(const struct ap_habit_rows *rows, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    struct ap_text dims = { NULL, 0 }, types;
    if (op && op->signature.id)
        ap_trace_signature(rows->trace, op->signature, &dims, &types);
    return dims;
}

static enum ap_status note_sizes(struct ap_habit_rows *rows, struct ap_text dims, struct ap_error *reterr)
{
    uint32_t key[2], number;
    for (size_t at = 0; next_tensor(dims, &at, key); at++)
        AP_TRY(ap_pair_map_add(&rows->updated, key[0], key[1], &number, reterr));
    return AP_OK;
}

/* @noted: by signature. */
static enum ap_status read_updates(struct ap_habit_rows *rows, bool *noted, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    for (size_t track = 0; track < order->track_count; track++) {
        int64_t until_ns = INT64_MIN;
        for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
            uint32_t row = order->rows[at];
            const struct ap_op_detail *op;
            if (ap_row_is_of(rows->trace, row, AP_HOST_KINDS) && AP_HAS(ap_habit_words_of(rows, row), OPTIMIZER))
                until_ns = ap_row_end_ns(rows->trace, row) > until_ns ? ap_row_end_ns(rows->trace, row) : until_ns;
            else if (rows->trace->events.start_ns[row] < until_ns && ap_habit_is_operator(rows, row) &&
                     (op = ap_row_op(rows->trace, row)) && !noted[op->signature.id]) {
                noted[op->signature.id] = true;
                AP_TRY(note_sizes(rows, dims_of(rows, row), reterr));
            }
        }
    }
    return AP_OK;
}

enum ap_status ap_habit_read_updates(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    size_t count = (size_t)ap_strpool_count(&rows->trace->signatures) + 1;
    bool *noted;
    if (!rows->has_optimizer)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(rows->habits->gate, noted, count, reterr));
    enum ap_status status = read_updates(rows, noted, reterr);
    AP_FREE(rows->habits->gate, noted, count);
    return status;
}

/* A backward pass, and what of it comes behind the last gradient that is needed. */
struct backward {
    int64_t covered_ns, tail_ns;
    uint32_t tail;     /* its first node; AP_NO_ROW = none */
    uint64_t unneeded; /* gradients in it */
    bool has_needed;
};

static void end_backward(struct ap_habit_rows *rows, struct backward *pass)
{
    if (pass->has_needed && pass->unneeded)
        (void)ap_habit_add(rows->habits, AP_HABIT_unneeded_gradient, pass->tail, pass->tail_ns, pass->tail_ns);
    *pass = (struct backward){ .covered_ns = pass->covered_ns, .tail = AP_NO_ROW };
}

static void note_gradient(const struct ap_habit_rows *rows, struct backward *pass, uint32_t row)
{
    size_t at = 0;
    uint32_t key[2];
    if (next_tensor(dims_of(rows, row), &at, key) && ap_pair_map_find(&rows->updated, key[0], key[1]) == AP_PAIR_NONE) {
        pass->unneeded++;
        return;
    }
    pass->has_needed = true;
    pass->unneeded = 0;
    pass->tail = AP_NO_ROW;
    pass->tail_ns = 0;
}

static void note_node(struct ap_habit_rows *rows, struct backward *pass, uint32_t row)
{
    pass->covered_ns = ap_row_end_ns(rows->trace, row);
    pass->tail_ns = ap_add_sat(pass->tail_ns, rows->trace->events.dur_ns[row], &rows->habits->overflowed);
    pass->tail = pass->tail == AP_NO_ROW ? row : pass->tail;
}

void ap_habit_find_gradients(struct ap_habit_rows *rows, size_t track)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct backward pass = { .covered_ns = INT64_MIN, .tail = AP_NO_ROW };
    for (size_t at = order->track_start[track]; rows->updated.count && at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
        if (AP_HAS(words, ACCUMULATE))
            note_gradient(rows, &pass, row);
        if (rows->trace->events.start_ns[row] < pass.covered_ns)
            continue;
        if (AP_HAS(words, NODE))
            note_node(rows, &pass, row);
        else if (words & (AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(OPTIMIZER) | AP_BIT(LOADER)))
            end_backward(rows, &pass);
    }
    end_backward(rows, &pass);
}

/* ---- gradients of gradients ---- */

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
    if (!op || !op->sequence || op->forward_thread || AP_HAS(ap_habit_words_of(rows, row), NODE))
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
