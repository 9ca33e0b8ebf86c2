/* SPDX-License-Identifier: MIT
 * Gradients that nobody needs: of weights that no optimizer works on, of inputs that nothing looks at. The sizes tell: those
 * of a weight are those of its gradient, and of what the optimizer's operators are called with. And gradients of
 * gradients. */
#include <string.h>

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

struct ap_text ap_habit_dims_of(const struct ap_habit_rows *rows, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    struct ap_text dims = { NULL, 0 }, types;
    if (op && op->signature.id)
        ap_trace_signature(rows->trace, op->signature, &dims, &types);
    return dims;
}

static enum ap_status note_sizes(struct ap_pair_map *map, struct ap_text dims, struct ap_error *reterr)
{
    uint32_t key[2], number;
    for (size_t at = 0; next_tensor(dims, &at, key); at++)
        AP_TRY(ap_pair_map_add(map, key[0], key[1], &number, reterr));
    return AP_OK;
}

enum ap_status ap_habit_note_sizes(struct ap_habit_rows *rows, uint32_t row, struct ap_error *reterr)
{
    return note_sizes(&rows->updated, ap_habit_dims_of(rows, row), reterr);
}

/* Where a thread is: in an optimizer's step, in an operator that was looked at, behind a backward pass that no forward pass
 * followed yet. */
struct reading {
    int64_t updates_until_ns, covered_ns;
    bool is_behind;
};

/* Which sizes the row tells of; NULL = of none. */
static struct ap_pair_map *told_by(struct ap_habit_rows *rows, struct reading *reading, uint32_t row)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
    rows->has_collective |= AP_HAS(words, COLLECTIVE);
    if (AP_HAS(words, OPTIMIZER) && end_ns > reading->updates_until_ns)
        reading->updates_until_ns = end_ns;
    if (AP_HAS(words, OPTIMIZER))
        return NULL;
    if (start_ns < reading->updates_until_ns)
        return &rows->updated;
    if (start_ns < reading->covered_ns || (!ap_habit_is_operator(rows, row) && !AP_HAS(words, LOADER)))
        return NULL;
    reading->covered_ns = end_ns;
    reading->is_behind =
        AP_HAS(words, NODE) || (reading->is_behind && !(words & (AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(LOADER))));
    return reading->is_behind && !AP_HAS(words, NODE) ? &rows->looked_at : NULL;
}

/* @noted: by signature, a bit for each map. */
static enum ap_status read_updates(struct ap_habit_rows *rows, uint8_t *noted, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    for (size_t track = 0; track < order->track_count; track++) {
        struct reading reading = { INT64_MIN, INT64_MIN, false };
        for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
            uint32_t row = order->rows[at];
            struct ap_pair_map *map = told_by(rows, &reading, row);
            const struct ap_op_detail *op = map && ap_habit_is_operator(rows, row) ? ap_row_op(rows->trace, row) : NULL;
            uint8_t bit = map == &rows->updated ? 1 : 2;
            if (!op || noted[op->signature.id] & bit)
                continue;
            noted[op->signature.id] |= bit;
            AP_TRY(note_sizes(map, ap_habit_dims_of(rows, row), reterr));
        }
    }
    return AP_OK;
}

bool ap_habit_is_trained(const struct ap_habit_rows *rows, size_t at, uint32_t number)
{
    uint32_t key[2];
    for (size_t from = 0; next_tensor(ap_habit_dims_of(rows, rows->items[at].row), &from, key); from++)
        if (!number--)
            return ap_pair_map_find(&rows->updated, key[0], key[1]) != AP_PAIR_NONE;
    return false;
}

/* ---- gradients that are cleared before an optimizer works on them ---- */

/* A turn: backward passes and the steps of optimizers behind them. They are read from the last one to the first. */
struct turn {
    uint32_t steps, clears; /* behind its passes; between the steps of the turn before and them */
    bool is_made;           /* its passes are read */
    bool has_untold;        /* a step does not tell what it works on: that may be all */
};

/* Of a size: the last turns, read so far, that made a gradient of it and that updated it; 0 = none. */
struct made {
    uint32_t made_in, updated_in;
    bool is_updated, is_dropped; /* in the turn that made it; before any turn did */
};

struct clearing {
    struct made *made; /* by number of the size */
    struct turn turn, next;
    uint32_t number;       /* of the turn */
    bool is_told;          /* the step that is read tells what it works on */
    const uint32_t *steps; /* rows of optimizers' steps in order of time; the last of them is read first */
    size_t step_count;
};

static void note_update(const struct ap_habit_rows *rows, struct clearing *clearing, uint32_t row)
{
    uint32_t key[2];
    struct ap_text dims = ap_habit_dims_of(rows, row);
    for (size_t at = 0; next_tensor(dims, &at, key); at++) {
        uint32_t number = ap_pair_map_find(&rows->updated, key[0], key[1]);
        if (number == AP_PAIR_NONE)
            continue;
        clearing->made[number].updated_in = clearing->number;
        clearing->is_told = true;
    }
}

/* The next turn makes and updates it, and all that steps then is cleared before; or that turn leaves it out as well, and
 * what becomes of the one gradient becomes of the other. */
static bool is_dropped(const struct clearing *clearing, const struct made *made, bool is_updated)
{
    if (is_updated || clearing->turn.has_untold || !made->made_in || made->made_in + 1 != clearing->number)
        return false;
    return made->is_updated ? clearing->next.steps && clearing->next.clears >= clearing->next.steps : made->is_dropped;
}

static void note_made(struct ap_habit_rows *rows, struct clearing *clearing, uint32_t row)
{
    uint32_t key[2], number;
    size_t at = 0;
    clearing->turn.is_made = true;
    if (!next_tensor(ap_habit_dims_of(rows, row), &at, key) ||
        (number = ap_pair_map_find(&rows->updated, key[0], key[1])) == AP_PAIR_NONE)
        return;
    struct made *made = &clearing->made[number];
    if (made->made_in != clearing->number) {
        bool is_updated = made->updated_in == clearing->number;
        made->is_dropped = is_dropped(clearing, made, is_updated);
        made->is_updated = is_updated;
        made->made_in = clearing->number;
    }
    rows->dropped[row] = made->is_dropped;
}

/* Its operators were read before it. */
static void note_step(struct clearing *clearing)
{
    clearing->turn.steps++;
    clearing->turn.has_untold |= !clearing->is_told;
    clearing->is_told = false;
    clearing->step_count--;
}

/* The end of a step, whose operators come now. */
static void end_turn(struct clearing *clearing)
{
    if (!clearing->turn.is_made)
        return;
    clearing->next = clearing->turn;
    clearing->turn = (struct turn){ .steps = 0 };
    clearing->number++;
}

static void read_backwards(struct ap_habit_rows *rows, struct clearing *clearing)
{
    const struct ap_row_order *order = &rows->facts->order;
    size_t track = rows->facts->main_track;
    for (size_t at = order->track_start[track + 1]; at > order->track_start[track]; at--) {
        uint32_t row = order->rows[at - 1];
        uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
        uint32_t step = clearing->step_count ? clearing->steps[clearing->step_count - 1] : AP_NO_ROW;
        bool is_of_step = step != AP_NO_ROW && rows->trace->events.start_ns[row] < ap_row_end_ns(rows->trace, step);
        if (is_of_step)
            end_turn(clearing);
        if (row == step)
            note_step(clearing);
        else if (is_of_step && ap_habit_is_operator(rows, row))
            note_update(rows, clearing, row);
        else if (AP_HAS(words, ACCUMULATE))
            note_made(rows, clearing, row);
        else if (AP_HAS(words, CLEARS))
            clearing->turn.clears += clearing->turn.is_made;
    }
}

/* The rows of steps. Where the recording begins with a clear, gradients are cleared before they are made, not behind the
 * step that used them: those of other models live on there. Else nobody asks for the steps. */
static enum ap_status find_steps(struct ap_habit_rows *rows, uint32_t **ret_steps, size_t *ret_count, size_t *ret_capacity,
                                 bool *ret_clears_first, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    const size_t *bounds = &order->track_start[rows->facts->main_track];
    bool is_first = true;
    for (size_t at = bounds[0]; at < bounds[1] && (is_first || *ret_clears_first); at++) {
        uint32_t row = order->rows[at];
        uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
        *ret_clears_first |= is_first && AP_HAS(words, CLEARS);
        is_first &= !(words & (AP_BIT(ACCUMULATE) | AP_BIT(OPTIMIZER)));
        if (AP_HAS(words, OPTIMIZER))
            AP_TRY_ADD(rows->habits->gate, *ret_steps, *ret_count, *ret_capacity, reterr, row);
    }
    return AP_OK;
}

static enum ap_status find_dropped(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    struct clearing clearing = { .number = 1 };
    uint32_t *steps = NULL;
    size_t count = 0, capacity = 0;
    bool clears_first = false;
    if (rows->facts->main_track == AP_NO_ROW || !rows->updated.count)
        return AP_OK;
    enum ap_status status = find_steps(rows, &steps, &count, &capacity, &clears_first, reterr);
    if (clears_first) {
        AP_AND_THEN(status, AP_ALLOC_CLEARED(rows->habits->gate, clearing.made, rows->updated.count, reterr));
        AP_AND_THEN(status, AP_ALLOC_CLEARED(rows->habits->gate, rows->dropped, rows->trace->events.count, reterr));
    }
    clearing.steps = steps;
    clearing.step_count = count;
    if (clears_first && status == AP_OK)
        read_backwards(rows, &clearing);
    AP_FREE(rows->habits->gate, clearing.made, rows->updated.count);
    AP_FREE(rows->habits->gate, steps, capacity);
    return status;
}

enum ap_status ap_habit_read_updates(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    size_t count = (size_t)ap_strpool_count(&rows->trace->signatures) + 1;
    uint8_t *noted;
    if (!rows->has_optimizer)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(rows->habits->gate, noted, count, reterr));
    enum ap_status status = read_updates(rows, noted, reterr);
    AP_FREE(rows->habits->gate, noted, count);
    AP_AND_THEN(status, ap_habit_read_taken(rows, reterr));
    return status == AP_OK ? find_dropped(rows, reterr) : status;
}

/* An outermost node that makes gradients by products, of which some are needed by none. */
struct maker {
    uint32_t row;
    uint32_t products, unneeded; /* a convolution's backward makes two at once */
    int64_t product_ns;
    uint32_t last;   /* the last product: of two, that of the weight comes behind that of the input */
    uint32_t adding; /* the last gradient of it that is accumulated and that none needs; AP_NO_ROW = none */
    bool is_kept;    /* a gradient of its own is needed */
    bool is_open;    /* nothing but its gradients followed it so far */
    bool has_vector; /* one of these may be needed, by its size */
};

static const struct maker no_maker = { .row = AP_NO_ROW, .last = AP_NO_ROW, .adding = AP_NO_ROW };

/* A backward pass, what of it comes behind the last gradient that is needed, and what is made for none before that. */
struct backward {
    int64_t covered_ns, tail_ns, product_end_ns;
    int64_t feeding_ns;  /* in the node before the tail, what makes the gradient that the tail begins with */
    uint32_t node, tail; /* the outermost node that runs; the first one of the tail; AP_NO_ROW = none */
    uint64_t unneeded;   /* gradients in the tail */
    ap_link_key highest; /* number of a node that ran: numbers fall in a pass */
    bool has_needed, has_needed_matrix;
    struct maker maker;
    struct maker *waiting; /* of the tail, until a gradient that is needed ends it */
    size_t waiting_count, waiting_capacity;
    int64_t within_ns, longest_ns; /* in the nodes before the tail */
    uint32_t longest;
};

/* An optimizer that works on matrices is one that this trace tells of; of several ranks each may update weights of its
 * own. */
static void add_maker(struct ap_habit_rows *rows, struct backward *pass, const struct maker *maker)
{
    uint32_t spared = maker->unneeded < maker->products ? maker->unneeded : maker->products;
    if (!spared || !pass->has_needed_matrix || rows->has_collective)
        return;
    uint32_t first = spared == 1 && maker->last != AP_NO_ROW ? maker->last : maker->row;
    int64_t start_ns = rows->trace->events.start_ns[first];
    int64_t saves_ns = ap_share_of(maker->product_ns, (double)spared / maker->products);
    ap_habit_add_time(rows->habits, AP_HABIT_unneeded_gradient, start_ns,
                      first == maker->last ? ap_row_end_ns(rows->trace, first)
                                           : ap_add_sat(start_ns, saves_ns, &rows->habits->overflowed));
    bool is_in_tail = pass->tail != AP_NO_ROW && maker->adding != AP_NO_ROW &&
                      rows->trace->events.start_ns[maker->adding] >= rows->trace->events.start_ns[pass->tail];
    if (maker->adding != AP_NO_ROW && !is_in_tail) {
        ap_habit_add_time(rows->habits, AP_HABIT_unneeded_gradient, rows->trace->events.start_ns[maker->adding],
                          ap_row_end_ns(rows->trace, maker->adding));
        saves_ns = ap_add_sat(saves_ns, rows->trace->events.dur_ns[maker->adding], &rows->habits->overflowed);
    }
    pass->within_ns = ap_add_sat(pass->within_ns, saves_ns, &rows->habits->overflowed);
    if (saves_ns > pass->longest_ns) {
        pass->longest_ns = saves_ns;
        pass->longest = maker->row;
    }
}

static void keep_gradient(struct ap_habit_rows *rows, struct backward *pass, bool is_matrix)
{
    pass->has_needed = true;
    pass->has_needed_matrix |= is_matrix;
    pass->maker.is_kept = true;
    pass->unneeded = 0;
    pass->tail = AP_NO_ROW;
    pass->tail_ns = 0;
    for (size_t i = 0; i < pass->waiting_count; i++)
        add_maker(rows, pass, &pass->waiting[i]);
    pass->waiting_count = 0;
}

static enum ap_status end_maker(struct ap_habit_rows *rows, struct backward *pass, struct ap_error *reterr)
{
    if (pass->maker.has_vector && !pass->maker.unneeded && !pass->maker.is_kept)
        keep_gradient(rows, pass, false);
    struct maker maker = pass->maker;
    pass->maker = no_maker;
    if (maker.is_kept && !maker.unneeded && maker.products > 1)
        pass->feeding_ns = maker.product_ns / maker.products;
    if (maker.row == AP_NO_ROW || !maker.unneeded)
        return AP_OK;
    if (maker.is_kept) {
        add_maker(rows, pass, &maker);
        return AP_OK;
    }
    AP_TRY(ap_mem_reserve(rows->habits->gate, (void **)&pass->waiting, &pass->waiting_capacity, pass->waiting_count + 1,
                          sizeof(pass->waiting[0]), reterr));
    pass->waiting[pass->waiting_count++] = maker;
    return AP_OK;
}

static enum ap_status end_backward(struct ap_habit_rows *rows, struct backward *pass, struct ap_error *reterr)
{
    AP_TRY(end_maker(rows, pass, reterr));
    int64_t tail_ns = pass->has_needed && pass->unneeded ? pass->tail_ns : 0;
    int64_t total_ns = ap_add_sat(tail_ns, pass->within_ns, &rows->habits->overflowed);
    total_ns = ap_add_sat(total_ns, tail_ns ? pass->feeding_ns : 0, &rows->habits->overflowed);
    if (tail_ns) {
        int64_t start_ns = rows->trace->events.start_ns[pass->tail];
        ap_habit_add_time(rows->habits, AP_HABIT_unneeded_gradient, start_ns,
                          ap_add_sat(start_ns, tail_ns, &rows->habits->overflowed));
    }
    if (total_ns)
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_unneeded_gradient,
                                     tail_ns >= pass->longest_ns ? pass->tail : pass->longest, total_ns, total_ns);
    *pass = (struct backward){ .covered_ns = pass->covered_ns,
                               .product_end_ns = pass->product_end_ns,
                               .highest = pass->highest,
                               .node = AP_NO_ROW,
                               .tail = AP_NO_ROW,
                               .maker = no_maker,
                               .waiting = pass->waiting,
                               .waiting_capacity = pass->waiting_capacity };
    return AP_OK;
}

static bool is_needed(const struct ap_habit_rows *rows, const uint32_t key[2], uint32_t row)
{
    return !(rows->dropped && rows->dropped[row]) && ap_pair_map_find(&rows->updated, key[0], key[1]) != AP_PAIR_NONE;
}

/* The vector of a layer has a size that other layers' vectors may have too: it goes with the layer's matrix. */
static void note_gradient(struct ap_habit_rows *rows, struct backward *pass, uint32_t row)
{
    size_t at = 0;
    uint32_t key[2];
    struct ap_text dims = ap_habit_dims_of(rows, row);
    bool has_size = next_tensor(dims, &at, key);
    bool is_matrix = has_size && memchr(dims.data, ',', at);
    if (has_size && !is_needed(rows, key, row)) {
        bool is_looked_at = ap_pair_map_find(&rows->looked_at, key[0], key[1]) != AP_PAIR_NONE;
        pass->unneeded++;
        pass->maker.unneeded += is_matrix && !is_looked_at;
        pass->maker.adding = is_matrix && !is_looked_at ? row : pass->maker.adding;
        return;
    }
    if (!is_matrix && pass->maker.is_open && !pass->maker.is_kept) {
        pass->maker.has_vector = true;
        return;
    }
    keep_gradient(rows, pass, is_matrix);
}

/* Threads of devices have nodes alone: a higher number is one of the next forward pass. */
static bool begins_pass(const struct ap_habit_rows *rows, struct backward *pass, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    if (!op || op->sequence <= pass->highest)
        return false;
    pass->highest = op->sequence;
    return true;
}

/* With the way from the node before. */
static void note_node(struct ap_habit_rows *rows, struct backward *pass, uint32_t row)
{
    bool *overflowed = &rows->habits->overflowed;
    struct ap_text name = ap_row_name(rows->trace, row);
    int64_t start_ns = rows->trace->events.start_ns[row];
    uint64_t gap_ns = (uint64_t)start_ns - (uint64_t)pass->covered_ns;
    if (pass->node != AP_NO_ROW && start_ns > pass->covered_ns && gap_ns <= AP_HABIT_GAP_NS)
        pass->tail_ns = ap_add_sat(pass->tail_ns, (int64_t)gap_ns, overflowed);
    pass->maker.is_open &= ap_text_ends_with(name, "AccumulateGrad") || ap_text_ends_with(name, ": TBackward0");
    pass->covered_ns = ap_row_end_ns(rows->trace, row);
    pass->tail_ns = ap_add_sat(pass->tail_ns, rows->trace->events.dur_ns[row], overflowed);
    pass->tail = pass->tail == AP_NO_ROW ? row : pass->tail;
    pass->node = row;
}

/* In the node that runs; what follows in others before the next product belongs to its gradients. */
static enum ap_status note_product(struct ap_habit_rows *rows, struct backward *pass, uint32_t row, uint32_t products,
                                   struct ap_error *reterr)
{
    if (rows->trace->events.start_ns[row] < pass->product_end_ns)
        return AP_OK; /* a part of one that counts */
    pass->product_end_ns = ap_row_end_ns(rows->trace, row);
    if (pass->maker.row != pass->node)
        AP_TRY(end_maker(rows, pass, reterr));
    pass->maker.row = pass->node;
    pass->maker.is_open = true;
    pass->maker.last = products == 1 ? row : AP_NO_ROW;
    pass->maker.products += products;
    pass->maker.product_ns = ap_add_sat(pass->maker.product_ns, rows->trace->events.dur_ns[row], &rows->habits->overflowed);
    return AP_OK;
}

static enum ap_status note_row(struct ap_habit_rows *rows, struct backward *pass, uint32_t row, struct ap_error *reterr)
{
    uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
    bool is_within = rows->trace->events.start_ns[row] < pass->covered_ns;
    if (AP_HAS(words, ACCUMULATE))
        note_gradient(rows, pass, row);
    if (is_within && (words & (AP_BIT(PRODUCT) | AP_BIT(TWO_PRODUCTS))))
        return note_product(rows, pass, row, AP_HAS(words, PRODUCT) ? 1 : 2, reterr);
    if (is_within)
        return AP_OK;
    if (AP_HAS(words, NODE) && begins_pass(rows, pass, row))
        AP_TRY(end_backward(rows, pass, reterr));
    if (AP_HAS(words, NODE))
        note_node(rows, pass, row);
    else if (words & (AP_BIT(HEAVY) | AP_BIT(FORWARD) | AP_BIT(OPTIMIZER) | AP_BIT(LOADER)))
        return end_backward(rows, pass, reterr);
    return AP_OK;
}

enum ap_status ap_habit_find_gradients(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct backward pass = {
        .covered_ns = INT64_MIN, .product_end_ns = INT64_MIN, .node = AP_NO_ROW, .tail = AP_NO_ROW, .maker = no_maker
    };
    enum ap_status status = AP_OK;
    for (size_t at = order->track_start[track]; rows->updated.count && at < order->track_start[track + 1] && status == AP_OK;
         at++)
        status = note_row(rows, &pass, order->rows[at], reterr);
    if (status == AP_OK)
        status = end_backward(rows, &pass, reterr);
    AP_FREE(rows->habits->gate, pass.waiting, pass.waiting_capacity);
    return status;
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
