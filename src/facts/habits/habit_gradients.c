/* SPDX-License-Identifier: MIT
 * Gradients that nobody needs: of weights that no optimizer works on, of inputs that nothing looks at. The sizes tell: those
 * of a weight are those of its gradient, and of what the optimizer's operators are called with. */
#include <string.h>

#include "habit_items.h"

#include "poison.h"

#define LEAST_TABLE_NS INT64_C(100000) /* to fill a table: one that takes less costs little */
#define UPDATE_NAMES 16

/* The sizes of one tensor as they are written, as a key of two numbers: what collides is taken for trained. */
static void mix(uint32_t key[2], char letter)
{
    key[0] = (key[0] ^ (uint8_t)letter) * UINT32_C(16777619);
    key[1] = key[1] * UINT32_C(31) + (uint8_t)letter;
}

bool ap_habit_next_tensor(struct ap_text dims, size_t *at, uint32_t ret_key[2])
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
    for (size_t at = 0; ap_habit_next_tensor(dims, &at, key); at++)
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
        if (!ap_track_may_hold(order, track, AP_HOST_KINDS))
            continue;
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
    for (size_t from = 0; ap_habit_next_tensor(ap_habit_dims_of(rows, rows->items[at].row), &from, key); from++)
        if (!number--)
            return ap_pair_map_find(&rows->updated, key[0], key[1]) != AP_PAIR_NONE;
    return false;
}

enum ap_status ap_habit_read_updates(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    size_t count = (size_t)ap_strpool_count(&rows->trace->signatures) + 1;
    uint8_t *noted;
    if (!rows->has_optimizer || count == 1) /* no sizes are told */
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(rows->habits->gate, noted, count, reterr));
    enum ap_status status = read_updates(rows, noted, reterr);
    AP_FREE(rows->habits->gate, noted, count);
    AP_AND_THEN(status, ap_habit_read_taken(rows, reterr));
    return status == AP_OK ? ap_habit_find_dropped(rows, reterr) : status;
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
    int64_t
        behind_ns; /* from its end to what the program calls next: what is kept for it is given back; -1 = not there yet */
    int64_t feeding_ns;  /* in the node before the tail, what makes the gradient that the tail begins with */
    uint32_t node, tail; /* the outermost node that runs; the first one of the tail; AP_NO_ROW = none */
    uint32_t leaf;       /* the last gradient in the tail that is of an embedding, and not needed: no input has one */
    uint64_t unneeded;   /* gradients in the tail */
    ap_link_key highest; /* number of a node that ran: numbers fall in a pass */
    bool has_needed, has_needed_matrix, is_behind_embedding;
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

/* A branch that ends in embeddings none of which is needed, before the gradients that are: a teacher, another tower. All
 * of it goes from its first product on; what the branches share comes before. */
static void add_branch(struct ap_habit_rows *rows, struct backward *pass)
{
    const struct ap_events *events = &rows->trace->events;
    if (pass->leaf == AP_NO_ROW || !pass->waiting_count || rows->has_collective)
        return;
    uint32_t first = pass->waiting[0].row;
    int64_t start_ns = events->start_ns[first], end_ns = ap_row_end_ns(rows->trace, pass->leaf);
    if (end_ns <= start_ns || events->start_ns[pass->waiting[pass->waiting_count - 1].row] > end_ns)
        return;
    ap_habit_add_time(rows->habits, AP_HABIT_unneeded_gradient, start_ns, end_ns);
    pass->within_ns = ap_add_sat(pass->within_ns, end_ns - start_ns, &rows->habits->overflowed);
    pass->longest_ns = end_ns - start_ns > pass->longest_ns ? end_ns - start_ns : pass->longest_ns;
    pass->longest = first;
    pass->waiting_count = 0;
}

static void keep_gradient(struct ap_habit_rows *rows, struct backward *pass, bool is_matrix)
{
    pass->has_needed = true;
    pass->has_needed_matrix |= is_matrix;
    add_branch(rows, pass);
    pass->leaf = AP_NO_ROW;
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
    total_ns = ap_add_sat(total_ns, tail_ns && pass->behind_ns > 0 ? pass->behind_ns : 0, &rows->habits->overflowed);
    if (tail_ns) {
        int64_t start_ns = rows->trace->events.start_ns[pass->tail];
        ap_habit_add_time(rows->habits, AP_HABIT_unneeded_gradient, start_ns,
                          ap_add_sat(start_ns, tail_ns, &rows->habits->overflowed));
    }
    if (total_ns)
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_unneeded_gradient,
                                     tail_ns >= pass->longest_ns ? pass->tail : pass->longest, total_ns, total_ns);
    *pass = (struct backward){ .covered_ns = pass->covered_ns,
                               .behind_ns = pass->behind_ns,
                               .product_end_ns = pass->product_end_ns,
                               .highest = pass->highest,
                               .node = AP_NO_ROW,
                               .tail = AP_NO_ROW,
                               .leaf = AP_NO_ROW,
                               .maker = no_maker,
                               .waiting = pass->waiting,
                               .waiting_capacity = pass->waiting_capacity };
    return AP_OK;
}

static bool is_needed(const struct ap_habit_rows *rows, const uint32_t key[2], uint32_t row)
{
    return !(rows->dropped && rows->dropped[row]) && ap_pair_map_find(&rows->updated, key[0], key[1]) != AP_PAIR_NONE;
}

/* A node goes through a graph of its own, as checkpointing does: it hands on the gradient of what it begins with. */
static bool is_within_backward(const struct ap_habit_rows *rows, const struct backward *pass)
{
    return pass->node != AP_NO_ROW && !ap_text_ends_with(ap_row_name(rows->trace, pass->node), "AccumulateGrad");
}

/* The vector of a layer has a size that other layers' vectors may have too: it goes with the layer's matrix. */
static void note_gradient(struct ap_habit_rows *rows, struct backward *pass, uint32_t row)
{
    size_t at = 0;
    uint32_t key[2];
    struct ap_text dims = ap_habit_dims_of(rows, row);
    bool has_size = ap_habit_next_tensor(dims, &at, key);
    bool is_matrix = has_size && memchr(dims.data, ',', at);
    bool is_needed_here = !has_size || is_needed(rows, key, row);
    if (!is_needed_here && is_within_backward(rows, pass))
        return;
    if (!is_needed_here) {
        bool is_looked_at = ap_pair_map_find(&rows->looked_at, key[0], key[1]) != AP_PAIR_NONE;
        pass->unneeded++;
        pass->leaf = pass->is_behind_embedding ? row : pass->leaf;
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
    bool accumulates = ap_text_ends_with(name, "AccumulateGrad");
    pass->is_behind_embedding =
        (pass->is_behind_embedding && accumulates) || ap_text_ends_with(name, ": EmbeddingBackward0");
    pass->maker.is_open &= accumulates || ap_text_ends_with(name, ": TBackward0");
    pass->covered_ns = ap_row_end_ns(rows->trace, row);
    pass->behind_ns = -1;
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

/* At the first row behind the nodes so far. */
static void note_end(const struct ap_habit_rows *rows, struct backward *pass, uint32_t row)
{
    int64_t gap_ns = rows->trace->events.start_ns[row] - pass->covered_ns;
    pass->behind_ns = gap_ns <= AP_HABIT_GAP_NS ? gap_ns : 0;
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
    if (pass->behind_ns < 0 && pass->node != AP_NO_ROW && !AP_HAS(words, NODE) &&
        ap_row_is_of(rows->trace, row, 1u << AP_KIND_operator | 1u << AP_KIND_annotation))
        note_end(rows, pass, row);
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
    struct backward pass = { .covered_ns = INT64_MIN,
                             .behind_ns = -1,
                             .product_end_ns = INT64_MIN,
                             .node = AP_NO_ROW,
                             .tail = AP_NO_ROW,
                             .leaf = AP_NO_ROW,
                             .maker = no_maker };
    enum ap_status status = AP_OK;
    for (size_t at = order->track_start[track]; rows->updated.count && at < order->track_start[track + 1] && status == AP_OK;
         at++)
        status = note_row(rows, &pass, order->rows[at], reterr);
    if (status == AP_OK)
        status = end_backward(rows, &pass, reterr);
    AP_FREE(rows->habits->gate, pass.waiting, pass.waiting_capacity);
    return status;
}

/* ---- gradients of embedding tables, where sizes are not told ---- */

struct table_pass {
    int64_t node_end_ns, dense_end_ns;
    int64_t dense_ns, zeros_ns; /* of the node: its gradient, and of that the table of zeros that it begins as */
    uint32_t zeros;             /* row */
    bool has_sizes, is_summed;  /* of the node: the table has gradients of other uses too */
    int64_t least_ns;           /* to fill a table that is told */
    int64_t update_end_ns, covered_ns;
    uint64_t tables; /* that are told, in the last backward pass */
    uint64_t left;   /* operators of the update that may be on them */
    bool is_updated; /* an update began since */
};

/* Filling the table takes twice as long as adding the rows that were looked up, or longer: they are few, as a row that is
 * added takes longer than one that is filled. Of look-ups of a third of the rows both took about as long. */
static void end_table(struct ap_habit_rows *rows, struct table_pass *pass)
{
    bool is_told = pass->zeros_ns >= LEAST_TABLE_NS && pass->zeros_ns / 2 >= pass->dense_ns - pass->zeros_ns &&
                   !pass->has_sizes && !pass->is_summed;
    if (is_told) {
        pass->least_ns = pass->zeros_ns < pass->least_ns ? pass->zeros_ns : pass->least_ns;
        pass->tables = pass->is_updated ? 1 : pass->tables + 1;
        pass->is_updated = false;
        (void)ap_habit_add(rows->habits, AP_HABIT_embedding_gradient, pass->zeros, pass->zeros_ns, pass->zeros_ns);
    }
    pass->node_end_ns = INT64_MIN;
    pass->zeros_ns = pass->dense_ns = 0;
    pass->has_sizes = pass->is_summed = false;
}

static void note_in_table(struct ap_habit_rows *rows, struct table_pass *pass, uint32_t row, struct ap_text name)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    int64_t start_ns = rows->trace->events.start_ns[row], dur_ns = rows->trace->events.dur_ns[row];
    bool is_dense = ap_text_is(name, "aten::embedding_dense_backward");
    if (is_dense || ap_text_is(name, "aten::_embedding_bag_dense_backward")) {
        pass->dense_ns = dur_ns;
        pass->dense_end_ns = ap_row_end_ns(rows->trace, row);
        pass->has_sizes |= op && op->signature.id;
    } else if (ap_text_is(name, "aten::zeros") && start_ns < pass->dense_end_ns && !pass->zeros_ns) {
        pass->zeros = row;
        pass->zeros_ns = dur_ns;
    }
    pass->is_summed |= start_ns >= pass->dense_end_ns && AP_HAS(ap_habit_words_of(rows, row), ADDS);
}

/* The operators right in an update, by name. */
struct update_names {
    struct {
        uint32_t name;
        uint64_t count;
    } names[UPDATE_NAMES];
    size_t name_count;
    uint64_t operators;
};

static void count_name(struct update_names *update, uint32_t name)
{
    size_t i = 0;
    update->operators++;
    while (i < update->name_count && update->names[i].name != name)
        i++;
    if (i == UPDATE_NAMES)
        return;
    if (i == update->name_count) {
        update->names[i].name = name;
        update->names[i].count = 0;
        update->name_count++;
    }
    update->names[i].count++;
}

/* How many of them there are for each parameter: some are called twice for each, and the least frequent of those that are
 * called often is called once. */
static uint64_t operators_of_one(const struct update_names *update)
{
    uint64_t most = 1, parameters;
    for (size_t i = 0; i < update->name_count; i++)
        most = update->names[i].count > most ? update->names[i].count : most;
    parameters = most;
    for (size_t i = 0; i < update->name_count; i++)
        if (update->names[i].count >= (most + 1) / 2 && update->names[i].count < parameters)
            parameters = update->names[i].count;
    return (update->operators + parameters - 1) / parameters;
}

/* Of an update that goes from parameter to parameter: as many operators for each table as for any of them. One on a list of
 * tensors tells nothing of the tables in it. */
static void begin_update(const struct ap_habit_rows *rows, struct table_pass *pass, size_t at, size_t end)
{
    const struct ap_events *events = &rows->trace->events;
    struct update_names update = { .name_count = 0 };
    uint32_t row = rows->facts->order.rows[at];
    pass->update_end_ns = ap_row_end_ns(rows->trace, row);
    pass->covered_ns = events->start_ns[row];
    for (int64_t covered_ns = pass->covered_ns; at < end; at++) {
        row = rows->facts->order.rows[at];
        if (events->start_ns[row] >= pass->update_end_ns)
            break;
        if (!ap_habit_is_operator(rows, row) || events->start_ns[row] < covered_ns)
            continue;
        covered_ns = ap_row_end_ns(rows->trace, row);
        count_name(&update, events->name[row]);
    }
    pass->left = pass->tables * operators_of_one(&update);
    pass->is_updated = true;
}

/* Each operator of an update that goes over a table takes about as long as filling it, or longer. */
static void note_in_update(struct ap_habit_rows *rows, struct table_pass *pass, uint32_t row, struct ap_text name)
{
    int64_t dur_ns = rows->trace->events.dur_ns[row];
    pass->covered_ns = ap_row_end_ns(rows->trace, row);
    if (dur_ns < pass->least_ns / 2 || !pass->left || ap_text_starts_with(name, "aten::_foreach_") ||
        ap_text_starts_with(name, "aten::_fused_"))
        return;
    pass->left--;
    (void)ap_habit_add(rows->habits, AP_HABIT_embedding_gradient, row, dur_ns, dur_ns);
}

static bool is_node_of_table(struct ap_text name)
{
    return ap_text_ends_with(name, ": EmbeddingBackward0") || ap_text_ends_with(name, ": EmbeddingBagBackward0");
}

bool ap_habit_has_tables(const struct ap_trace *trace)
{
    for (uint32_t name = 1; name < ap_trace_id_count(trace); name++)
        if (is_node_of_table(ap_trace_text(trace, name)))
            return true;
    return false;
}

void ap_habit_find_tables(struct ap_habit_rows *rows, size_t track)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct table_pass pass = { .node_end_ns = INT64_MIN,
                               .dense_end_ns = INT64_MAX,
                               .least_ns = INT64_MAX,
                               .update_end_ns = INT64_MIN,
                               .covered_ns = INT64_MIN };
    for (size_t at = order->track_start[track], end = order->track_start[track + 1]; at < end; at++) {
        uint32_t row = order->rows[at];
        uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
        int64_t start_ns = rows->trace->events.start_ns[row];
        if (start_ns >= pass.node_end_ns)
            end_table(rows, &pass);
        if (AP_HAS(words, OPTIMIZER) && start_ns >= pass.update_end_ns) {
            begin_update(rows, &pass, at, end);
        } else if (!ap_habit_is_operator(rows, row)) {
            continue;
        } else if (AP_HAS(words, NODE) && is_node_of_table(ap_row_name(rows->trace, row))) {
            pass.node_end_ns = ap_row_end_ns(rows->trace, row);
            pass.dense_end_ns = INT64_MAX;
        } else if (start_ns < pass.node_end_ns) {
            note_in_table(rows, &pass, row, ap_row_name(rows->trace, row));
        } else if (start_ns < pass.update_end_ns && start_ns >= pass.covered_ns) {
            note_in_update(rows, &pass, row, ap_row_name(rows->trace, row));
        }
    }
    end_table(rows, &pass);
}
