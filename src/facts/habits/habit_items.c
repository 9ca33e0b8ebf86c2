/* SPDX-License-Identifier: MIT
 * The items of a thread: see habit_items.h. What lies within an item is looked at on the way. */
#include <string.h>

#include "habit_items.h"
#include "rows_of.h"
#include "sort.h"
#include "tensor_dims.h"

#include "poison.h"

static const char *const words[] = {
#define AP_HABIT_WORD(word, patterns) patterns,
#include "habit_words.def"
#undef AP_HABIT_WORD
};
#define LOOKED_AT (UINT64_C(1) << 63)
_Static_assert(AP_WORD_COUNT <= 63, "habit_words.def: no bit is left for one more, the last says that a name was looked at");

#define MOST_NODES_OPEN 32
#define MOST_STEPS ((1u << 30) - 1)
#define MOST_NODES_OF_ONE 64 /* more would be of calls that were not recorded */
#define MOST_PARAMETERS 2    /* of a node, that are told apart */
#define LEAST_ZEROS 2        /* Adam has two for each tensor */
#define FUSED_NEEDS 0.11     /* of longer operators of Adam's, where it is fused: the least that was measured */
#define FUSED_SGD_NEEDS 0.35 /* likewise of SGD's, with weight decay or Nesterov's momentum, which make tensors; */
#define FUSED_MOMENTUM 0.6   /* with momentum alone, which is kept in place; */
#define FUSED_PLAIN 0.84     /* without: the one sum reads and writes as much as when it is fused */
#define ORDER_GAIN 4.0       /* so many times less arithmetic in another order */
#define MOST_TO_USER 24      /* operators behind both products that may use the first one */
#define MOST_CALLERS 3       /* operators around a product: linear, matmul */

struct product {
    double batch, rows, inner, columns; /* of the last product; batch 0 = none */
    int64_t dur_ns;
    ap_link_key sequence;
    uint32_t row;
};

uint64_t ap_habit_find_words(struct ap_habit_rows *rows, uint32_t name)
{
    rows->words_of[name] = LOOKED_AT | ap_name_patterns_all(&rows->patterns, ap_trace_text(rows->trace, name));
    return rows->words_of[name];
}

static inline ap_link_key sequence_of(const struct ap_habit_rows *rows, uint32_t row)
{
    const struct ap_op_detail *op = ap_habit_is_operator(rows, row) ? ap_row_op(rows->trace, row) : NULL;
    return op && op->sequence && !ap_op_forward_thread(rows->trace, op) ? op->sequence : 0;
}

ap_link_key ap_item_sequence(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return sequence_of(rows, item->row);
}

/* ---- the nodes of the backward pass ---- */

static enum ap_status find_nodes(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    const struct ap_events *events = &rows->trace->events;
    uint64_t all_words = 0;
    rows->last_node_ns = INT64_MIN;
    for (struct ap_rows_of at = ap_rows_of(rows->trace, AP_HOST_KINDS); ap_rows_of_next(&at);) {
        uint64_t name_words = ap_habit_words_of(rows, at.row);
        uint32_t row = at.row, number;
        all_words |= name_words;
        bool is_node = AP_HAS(name_words, NODE);
        if (!ap_habit_is_operator(rows, row) || (!is_node && rows->has_sequences))
            continue;
        const struct ap_op_detail *op = ap_row_op(rows->trace, row);
        rows->has_sequences |= op && op->sequence && !is_node;
        if (!is_node)
            continue;
        if (events->start_ns[row] > rows->last_node_ns)
            rows->last_node_ns = events->start_ns[row];
        if (op && op->sequence)
            AP_TRY(ap_pair_map_add(&rows->node_sequences, op->sequence, 0, &number, reterr));
    }
    rows->has_optimizer = AP_HAS(all_words, OPTIMIZER);
    rows->has_collective = AP_HAS(all_words, COLLECTIVE);
    rows->has_loader = AP_HAS(all_words, LOADER);
    return AP_OK;
}

enum ap_status ap_habit_rows_init(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    struct ap_gate *gate = rows->habits->gate;
    AP_TRY(ap_name_patterns_init(&rows->patterns, gate, words, AP_WORD_COUNT, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, rows->words_of, ap_trace_id_count(rows->trace), reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, rows->last_of, ap_trace_id_count(rows->trace), reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, rows->differs_of, ap_trace_id_count(rows->trace), reterr));
    ap_habits_loop_span(rows->facts, &rows->loop_start_ns, &rows->loop_end_ns);
    return find_nodes(rows, reterr);
}

/* ---- items of a thread; recomputation within its nodes ---- */

struct open_node {
    int64_t start_ns, end_ns, last_ns; /* the last forward work in it; INT64_MIN = none */
    uint32_t row;                      /* the first of it */
};

struct reading {
    struct open_node nodes[MOST_NODES_OPEN];
    int depth;
    int64_t covered_ns;         /* by an item */
    int64_t copied_ns;          /* end of what brings an operand into order */
    int64_t accumulating_ns;    /* end of the last accumulation of a gradient */
    int64_t update_ns, long_ns; /* end of the optimizer step that is read, and the sum of its longer operators */
    int64_t lists_ns;           /* sum of its operators on lists of tensors */
    int64_t update_covered_ns;  /* by one of its operators */
    bool keeps_momentum;        /* one of them scales in place */
    bool makes_sums;            /* one of them adds, not in place */
    int64_t summed_ns;          /* end of the last sum in a node */
    uint32_t sums;              /* in the node that is the last item */
    int64_t zeros_ns;           /* until the zeros for the optimizer's state are there */
    size_t update_item;         /* that the optimizer step is, or is within */
    uint32_t zeros_count;
    uint32_t update; /* AP_NO_ROW = none */
    struct ap_step_cursor step;
    struct product product;
};

static void close_nodes(struct ap_habit_rows *rows, struct reading *reading, int64_t to_ns)
{
    while (reading->depth && reading->nodes[reading->depth - 1].end_ns <= to_ns) {
        const struct open_node *node = &reading->nodes[--reading->depth];
        if (node->last_ns == INT64_MIN)
            continue;
        int64_t dur_ns = node->last_ns - node->start_ns; /* what brings it back comes first in a node */
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_recompute, node->row, dur_ns, dur_ns);
        ap_habit_add_time(rows->habits, AP_HABIT_recompute, node->start_ns, node->last_ns);
    }
}

/* A node that is written in Python computes its gradients in the same frame. */
static bool is_own_backward(const struct ap_habit_rows *rows, uint32_t row)
{
    return ap_text_ends_with(ap_row_name(rows->trace, row), ": backward");
}

/* The end of the Python that brings the forward work back, with its hooks and checks, where stacks were recorded. */
static int64_t end_with_python(const struct ap_habit_rows *rows, const struct open_node *node, uint32_t row)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    int left = AP_NESTING_MAX;
    for (;;) {
        row = ap_host_next_around(&rows->facts->tree, rows->trace, row, start_ns, &left);
        if (row == AP_NO_ROW || rows->trace->events.start_ns[row] <= node->start_ns)
            return end_ns < node->end_ns ? end_ns : node->end_ns;
        if (!ap_row_is_of(rows->trace, row, 1u << AP_KIND_python))
            continue;
        if (is_own_backward(rows, row))
            return end_ns;
        end_ns = ap_row_end_ns(rows->trace, row) > end_ns ? ap_row_end_ns(rows->trace, row) : end_ns;
    }
}

/* With create_graph=True what a node calls makes nodes itself, and gradients are copied where they are accumulated: that is
 * the sign, as forward work that comes back in a node makes nodes too. */
static void look_at_graph(struct ap_habit_rows *rows, struct reading *reading, uint32_t row, uint64_t name_words)
{
    int64_t dur_ns = rows->trace->events.dur_ns[row], start_ns = rows->trace->events.start_ns[row];
    ap_link_key sequence = sequence_of(rows, row);
    if (AP_HAS(name_words, ACCUMULATE))
        reading->accumulating_ns = ap_row_end_ns(rows->trace, row);
    if (!sequence)
        return;
    if (ap_pair_map_find(&rows->node_sequences, sequence, 0) != AP_PAIR_NONE)
        rows->uses_backward_graph = true;
    if (ap_row_end_ns(rows->trace, row) > rows->last_node_ns)
        return;
    bool copies = start_ns < reading->accumulating_ns;
    rows->has_backward_graph |= copies;
    (void)ap_habit_add(rows->habits, AP_HABIT_backward_graph, row, dur_ns,
                       copies || dur_ns < AP_HABIT_NODE_NS ? dur_ns : AP_HABIT_NODE_NS);
}

void ap_habit_judge_backward_graphs(struct ap_habit_rows *rows)
{
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_backward_graph];
    if (rows->has_backward_graph && !rows->uses_backward_graph)
        return;
    ap_stretches_release(&habit->time, rows->habits->gate);
    *habit = (struct ap_habit){ .row = AP_NO_ROW };
}

static void look_into_node(struct ap_habit_rows *rows, struct reading *reading, uint32_t row, uint64_t name_words)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    if (AP_HAS(name_words, NODE) && reading->depth < MOST_NODES_OPEN)
        reading->nodes[reading->depth++] = (struct open_node){ start_ns, end_ns, INT64_MIN, row };
    else if (reading->depth)
        look_at_graph(rows, reading, row, name_words);
    if (!AP_HAS(name_words, FORWARD) || !reading->depth)
        return;
    struct open_node *node = &reading->nodes[reading->depth - 1];
    if (node->last_ns == INT64_MIN)
        node->row = row;
    if (end_ns > node->last_ns)
        node->last_ns = end_with_python(rows, node, row);
}

static enum ap_status add_item(struct ap_habit_rows *rows, struct reading *reading, uint32_t row, struct ap_error *reterr)
{
    const struct ap_events *events = &rows->trace->events;
    size_t step = ap_step_cursor_at(&reading->step, events->start_ns[row]);
    struct ap_habit_item item = { .row = row };
    item.step = (step < MOST_STEPS ? step : MOST_STEPS) & MOST_STEPS;
    AP_TRY_ADD(rows->habits->gate, rows->items, rows->item_count, rows->item_capacity, reterr, item);
    reading->covered_ns = ap_row_end_ns(rows->trace, row);
    reading->sums = 0;
    return AP_OK;
}

/* A node sums up the gradient of what was spread out: of two tensors, where each of them was. */
static enum ap_status note_sum(struct ap_habit_rows *rows, struct reading *reading, uint32_t row, struct ap_error *reterr)
{
    const struct ap_habit_item *item = &rows->items[rows->item_count - 1];
    const struct ap_op_detail *op = ap_row_op(rows->trace, item->row);
    uint32_t number;
    if (!AP_HAS(ap_item_words(rows, item), NODE) || rows->trace->events.start_ns[row] < reading->summed_ns ||
        !ap_text_is(ap_row_name(rows->trace, row), "aten::sum"))
        return AP_OK;
    reading->summed_ns = ap_row_end_ns(rows->trace, row);
    return op && op->sequence && reading->sums < 2
               ? ap_pair_map_add(&rows->summed, op->sequence, ++reading->sums, &number, reterr)
               : AP_OK;
}

/* ---- products in a costly order ---- */

/* Of an operator of two tensors. */
static bool read_two(const struct ap_habit_rows *rows, uint32_t row, struct ap_tensor_list *ret_list)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    struct ap_text dims, types;
    if (!op || !op->signature.id)
        return false;
    ap_trace_signature(rows->trace, op->signature, &dims, &types);
    ap_tensor_list_read(ret_list, dims, types);
    return ret_list->count == 2;
}

static bool read_product(const struct ap_habit_rows *rows, uint32_t row, struct product *ret_product)
{
    struct ap_tensor_list list;
    if (!read_two(rows, row, &list))
        return false;
    const struct ap_tensor_dims *a = &list.tensors[0], *b = &list.tensors[1];
    if (a->count != b->count || a->count < 2 || a->dims[a->count - 1] != b->dims[b->count - 2])
        return false;
    *ret_product = (struct product){ .batch = ap_tensor_elements(a, 0, a->count - 2),
                                     .rows = (double)a->dims[a->count - 2],
                                     .inner = (double)a->dims[a->count - 1],
                                     .columns = (double)b->dims[b->count - 1],
                                     .dur_ns = rows->trace->events.dur_ns[row],
                                     .sequence = sequence_of(rows, row),
                                     .row = row };
    return true;
}

static bool has_unlike_ranks(const struct ap_habit_rows *rows, uint32_t row)
{
    struct ap_tensor_list list;
    return read_two(rows, row, &list) && list.tensors[0].count != list.tensors[1].count;
}

/* Is one operand the weights of a layer, as of nn.Linear or in x @ weight? */
static bool is_of_layer(struct ap_habit_rows *rows, uint32_t row)
{
    for (int up = 0; up < MOST_CALLERS; up++) {
        row = ap_host_parent(&rows->facts->tree, row);
        if (row == AP_NO_ROW || !ap_habit_is_operator(rows, row))
            return false;
        if (AP_HAS(ap_habit_words_of(rows, row), WEIGHTED) || has_unlike_ranks(rows, row))
            return true;
    }
    return false;
}

/* (A B) C and A (B C) are the same; which one was taken, and what does the other one cost? The products of the backward pass
 * are of the same sizes. Where B is square, sizes do not tell (A B) C from A B and A C: an input that goes into a layer
 * often goes into another one as well (adapters, queries and keys). */
static enum ap_status judge_order(struct ap_habit_rows *rows, const struct product *first, const struct product *second,
                                  struct ap_error *reterr)
{
    double taken = first->rows * first->inner * first->columns + second->rows * second->inner * second->columns, other = 0;
    struct ap_habit_loop *loop;
    if (first->batch <= 0 || first->batch != second->batch)
        return AP_OK;
    bool of_layer = is_of_layer(rows, first->row);
    if (second->rows == first->rows && second->inner == first->columns &&
        !(of_layer && first->inner == first->columns)) /* (A B) C */
        other = first->inner * first->columns * second->columns + first->rows * first->inner * second->columns;
    if (second->inner == first->rows && second->columns == first->columns &&
        !(of_layer && first->inner == first->rows)) { /* A (B C) */
        double left = second->rows * second->inner * first->inner + second->rows * first->inner * first->columns;
        other = other > 0 && other < left ? other : left;
    }
    if (other <= 0 || taken < ORDER_GAIN * other)
        return AP_OK;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){ .id = AP_HABIT_product_order,
                                    .row = first->row,
                                    .end_ns = ap_row_end_ns(rows->trace, second->row),
                                    .total_ns = ap_add_sat(first->dur_ns, second->dur_ns, &rows->habits->overflowed),
                                    .first = first->sequence,
                                    .last = second->sequence,
                                    .keeps = other / taken,
                                    .names = { rows->trace->events.name[first->row], rows->trace->events.name[second->row] },
                                    .signature = ap_row_op(rows->trace, first->row)->signature.id };
    return AP_OK;
}

static enum ap_status follow_products(struct ap_habit_rows *rows, struct reading *reading, uint32_t row, uint64_t name_words,
                                      struct ap_error *reterr)
{
    struct product next;
    struct ap_text name = ap_row_name(rows->trace, row);
    if (rows->trace->events.start_ns[row] < reading->copied_ns)
        return AP_OK;
    if (ap_text_equal(name, AP_TEXT("aten::reshape")) || ap_text_equal(name, AP_TEXT("aten::contiguous")))
        reading->copied_ns = ap_row_end_ns(rows->trace, row);
    if (AP_HAS(name_words, VIEW) || reading->copied_ns > rows->trace->events.start_ns[row])
        return AP_OK;
    if (!AP_HAS(name_words, PRODUCT) || reading->depth || !read_product(rows, row, &next)) {
        reading->product.batch = 0; /* none */
        return AP_OK;
    }
    AP_TRY(judge_order(rows, &reading->product, &next, reterr));
    reading->product = next;
    return AP_OK;
}

/* What the first of two products has made: a view may have other dimensions before the last. */
static bool reads_product(const struct ap_habit_rows *rows, size_t at, const struct product *product)
{
    struct ap_tensor_list list;
    double elements = product->batch * product->rows * product->columns;
    bool reads = ap_habit_read_tensors(rows, at, &list);
    for (int i = 0; reads && i < list.count; i++) {
        const struct ap_tensor_dims *tensor = &list.tensors[i];
        if ((double)tensor->dims[tensor->count - 1] >= product->columns &&
            (double)tensor->dims[tensor->count - 1] <= product->columns &&
            ap_tensor_elements(tensor, 0, tensor->count) >= elements &&
            ap_tensor_elements(tensor, 0, tensor->count) <= elements)
            return true;
    }
    return false;
}

/* The other order has no such product: where something else uses it as well, it has to be made. Not the next round's. */
static bool is_product_used_behind(const struct ap_habit_rows *rows, const struct ap_habit_loop *loop)
{
    struct product product;
    size_t first = 0, at = 0;
    if (!read_product(rows, loop->row, &product))
        return false;
    int64_t start_ns = rows->trace->events.start_ns[loop->row];
    AP_BISECT(first, rows->item_count, i, ap_item_start_ns(rows, &rows->items[i]) <= start_ns);
    AP_BISECT(at, rows->item_count, i, ap_item_start_ns(rows, &rows->items[i]) < loop->end_ns);
    if (!first || !at)
        return false;
    for (size_t end = at + MOST_TO_USER; at < end && ap_habit_is_of_step(rows, first - 1, at); at++)
        if (ap_habit_is_same(rows, first - 1, at))
            return false;
        else if (reads_product(rows, at, &product))
            return true;
    return false;
}

/* Of the loops from @first on. */
static void keep_unused_products(struct ap_habit_rows *rows, size_t first)
{
    size_t kept = first;
    for (size_t i = first; i < rows->loop_count; i++)
        if (rows->loops[i].id != AP_HABIT_product_order || !is_product_used_behind(rows, &rows->loops[i]))
            rows->loops[kept++] = rows->loops[i];
    rows->loop_count = kept;
}

/* Of its longer operators, which go over memory. */
static double share_when_fused(const struct ap_habit_rows *rows, const struct reading *reading)
{
    if (!ap_text_is(ap_row_name(rows->trace, reading->update), "Optimizer.step#SGD.step"))
        return FUSED_NEEDS;
    if (reading->makes_sums)
        return FUSED_SGD_NEEDS;
    return reading->keeps_momentum ? FUSED_MOMENTUM : FUSED_PLAIN;
}

/* A fused optimizer goes once over the tensors, and calls nothing small. On the host longer lists are gone over as short
 * ones are: what they save is the way to the calls. */
static void end_update(struct ap_habit_rows *rows, struct reading *reading)
{
    if (reading->update == AP_NO_ROW)
        return;
    int64_t dur_ns = rows->trace->events.dur_ns[reading->update];
    double share = share_when_fused(rows, reading);
    int64_t kept_ns = reading->lists_ns ? reading->lists_ns : ap_share_of(reading->long_ns, share);
    (void)ap_habit_add(rows->habits, AP_HABIT_optimizer_step, reading->update, dur_ns,
                       dur_ns > kept_ns ? dur_ns - kept_ns : 0);
    if (reading->zeros_count >= LEAST_ZEROS) {
        (void)ap_habit_add(rows->habits, AP_HABIT_state_anew, reading->update, reading->zeros_ns, reading->zeros_ns);
        if (reading->update_item < rows->item_count)
            rows->items[reading->update_item].begins = true;
    }
    reading->update = AP_NO_ROW;
}

static void follow_zeros(struct ap_habit_rows *rows, struct reading *reading, uint32_t row, uint64_t name_words)
{
    if (!AP_HAS(name_words, ZEROS) || !AP_HAS(ap_habit_words_of(rows, reading->update), ADAPTIVE))
        return;
    reading->zeros_count++;
    reading->zeros_ns = ap_row_end_ns(rows->trace, row) - rows->trace->events.start_ns[reading->update];
}

static void follow_update(struct ap_habit_rows *rows, struct reading *reading, uint32_t row, uint64_t name_words)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    if (reading->update != AP_NO_ROW && start_ns >= reading->update_ns)
        end_update(rows, reading);
    if (reading->update == AP_NO_ROW && AP_HAS(name_words, OPTIMIZER)) {
        reading->update = row;
        reading->update_item = start_ns >= reading->covered_ns ? rows->item_count : rows->item_count - 1;
        reading->update_ns = end_ns;
        reading->long_ns = reading->zeros_ns = reading->lists_ns = 0;
        reading->zeros_count = 0;
        reading->keeps_momentum = reading->makes_sums = false;
        reading->update_covered_ns = start_ns;
    } else if (reading->update != AP_NO_ROW && ap_habit_is_operator(rows, row) && start_ns >= reading->update_covered_ns) {
        reading->long_ns += end_ns - start_ns >= AP_HABIT_SHORT_NS ? end_ns - start_ns : 0;
        struct ap_text name = ap_row_name(rows->trace, row);
        bool takes_list = ap_text_starts_with(name, "aten::_foreach_");
        reading->keeps_momentum |= ap_text_is(name, "aten::mul_");
        reading->makes_sums |= ap_text_is(name, "aten::add");
        reading->lists_ns += takes_list && !rows->facts->links.count ? end_ns - start_ns : 0;
        reading->update_covered_ns = end_ns;
        follow_zeros(rows, reading, row, name_words);
    }
}

enum ap_status ap_habit_read_items(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct reading reading = { .covered_ns = INT64_MIN,
                               .accumulating_ns = INT64_MIN,
                               .summed_ns = INT64_MIN,
                               .update = AP_NO_ROW,
                               .step = { &rows->facts->steps, 0 } };
    size_t first_loop = rows->loop_count;
    rows->item_count = 0;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at], kinds = 1u << AP_KIND_operator | 1u << AP_KIND_annotation;
        if (!ap_row_is_of(rows->trace, row, kinds))
            continue;
        uint64_t name_words = ap_habit_words_of(rows, row);
        int64_t start_ns = rows->trace->events.start_ns[row];
        if (start_ns < rows->loop_start_ns || start_ns >= rows->loop_end_ns)
            continue;
        close_nodes(rows, &reading, start_ns);
        follow_update(rows, &reading, row, name_words);
        if (ap_habit_is_operator(rows, row)) {
            look_into_node(rows, &reading, row, name_words);
            AP_TRY(follow_products(rows, &reading, row, name_words, reterr));
        }
        if (start_ns < reading.covered_ns && rows->item_count) {
            rows->items[rows->item_count - 1].drops |= AP_HAS(name_words, DROPOUT);
            rows->items[rows->item_count - 1].inner += ap_habit_is_operator(rows, row);
            AP_TRY(note_sum(rows, &reading, row, reterr));
        }
        if (start_ns >= reading.covered_ns &&
            (ap_habit_is_operator(rows, row) || name_words & (AP_BIT(OPTIMIZER) | AP_BIT(LOADER))))
            AP_TRY(add_item(rows, &reading, row, reterr));
    }
    close_nodes(rows, &reading, INT64_MAX);
    end_update(rows, &reading);
    keep_unused_products(rows, first_loop);
    return AP_OK;
}

enum ap_status ap_habit_read_loading(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct reading reading = { .covered_ns = INT64_MIN, .step = { &rows->facts->steps, 0 } };
    int64_t loading_ns = INT64_MIN;
    rows->item_count = 0;
    if (!rows->has_loader)
        return AP_OK;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        bool is_annotation = ap_row_is_of(rows->trace, row, 1u << AP_KIND_annotation);
        if (loading_ns == INT64_MIN && !is_annotation)
            continue;
        int64_t start_ns = rows->trace->events.start_ns[row];
        if (start_ns < rows->loop_start_ns || start_ns >= rows->loop_end_ns)
            continue;
        if (is_annotation && AP_HAS(ap_habit_words_of(rows, row), LOADER))
            loading_ns = ap_row_end_ns(rows->trace, row);
        else if (start_ns < loading_ns && start_ns >= reading.covered_ns && ap_habit_is_operator(rows, row)) {
            (void)ap_habit_words_of(rows, row);
            AP_TRY(add_item(rows, &reading, row, reterr));
        }
    }
    return AP_OK;
}

enum ap_status ap_habit_find_parameters(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    uint32_t number, taken = 0;
    ap_link_key node = 0;
    for (size_t at = 0; at < rows->item_count; at++) {
        const struct ap_op_detail *op = ap_row_op(rows->trace, rows->items[at].row);
        struct ap_text name = ap_trace_text(rows->trace, ap_habit_name_at(rows, at));
        if (!AP_HAS(ap_item_words(rows, &rows->items[at]), NODE)) {
            node = 0;
        } else if (ap_text_ends_with(name, "AccumulateGrad")) {
            if (node && taken < MOST_PARAMETERS)
                AP_TRY(ap_pair_map_add(&rows->of_parameters, node, ++taken, &number, reterr));
        } else if (!ap_text_ends_with(name, ": TBackward0")) {
            node = op ? op->sequence : 0;
            taken = 0;
        }
    }
    return AP_OK;
}

bool ap_habit_is_call(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return !(ap_item_words(rows, item) & (AP_BIT(NODE) | AP_BIT(OPTIMIZER) | AP_BIT(LOADER)));
}

ap_link_key ap_habit_sequence_after(const struct ap_habit_rows *rows, size_t at)
{
    for (size_t i = at + 1; i < rows->item_count && i < at + 64; i++)
        if (ap_habit_is_call(rows, &rows->items[i]) && ap_item_sequence(rows, &rows->items[i]))
            return ap_item_sequence(rows, &rows->items[i]);
    return 0;
}

bool ap_habit_makes_node(const struct ap_habit_rows *rows, size_t at)
{
    ap_link_key own = ap_item_sequence(rows, &rows->items[at]);
    return own && ap_habit_sequence_after(rows, at) != own;
}

ap_link_key ap_habit_last_sequence(const struct ap_habit_rows *rows, size_t at)
{
    ap_link_key own = ap_item_sequence(rows, &rows->items[at]), next = ap_habit_sequence_after(rows, at);
    return own && next >= own && next - own <= MOST_NODES_OF_ONE ? next - 1 : own;
}

ap_link_key ap_habit_node_of(const struct ap_habit_rows *rows, size_t at)
{
    ap_link_key last = ap_habit_last_sequence(rows, at);
    return last >= ap_item_sequence(rows, &rows->items[at]) ? last : 0;
}

void ap_habit_take_names(const struct ap_habit_rows *rows, const struct ap_habit_item *items, size_t count,
                         uint32_t names[AP_HABIT_NAMES])
{
    size_t taken = 0;
    memset(names, 0, AP_HABIT_NAMES * sizeof(names[0]));
    for (size_t i = 0; i < count && taken < AP_HABIT_NAMES; i++) {
        uint32_t name = ap_habit_name_of(rows, &items[i]);
        bool is_new = true;
        for (size_t j = 0; j < taken; j++)
            is_new &= names[j] != name;
        if (is_new)
            names[taken++] = name;
    }
}
