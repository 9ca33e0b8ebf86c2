/* SPDX-License-Identifier: MIT
 * What the order of a thread's rows tells: each thread is a list of items - operators that the program called, nodes of the
 * backward pass, optimizer steps, waits for a batch - and habits are patterns in it. */
#include <string.h>

#include "habits.h"
#include "sort.h"
#include "tensor_dims.h"

#include "poison.h"

/* What names stand for; one bit each. */
enum word {
    NODE,
    HEAVY,
    FORWARD,
    MODEL,
    CONSTANT,
    OF_CONSTANT,
    OF_CONSTANT_ALONE,
    COLLECTIVE,
    NORM,
    SCALAR,
    COPY,
    NO_WORK,
    VIEW,
    PRODUCT,
    DROPOUT,
    OPTIMIZER,
    LOADER,
    WORKERS,
    WORD_COUNT
};
static const char *const words[WORD_COUNT] = {
    [NODE] = "autograd::engine::evaluate_function*",
    [HEAVY] = "aten::linear|aten::conv1d|aten::conv2d|aten::conv3d|aten::matmul|aten::mm|aten::bmm|aten::addmm|aten::einsum|"
              "aten::scaled_dot_product_attention|aten::lstm|aten::gru|aten::_native_multi_head_attention|"
              "aten::_transformer_encoder_layer_fwd",
    /* that no formula of a backward node calls */
    [FORWARD] = "aten::linear|aten::conv1d|aten::conv2d|aten::conv3d|aten::layer_norm|aten::batch_norm|aten::group_norm|"
                "aten::rms_norm|aten::gelu|aten::silu|aten::relu|aten::relu_|aten::dropout|aten::embedding|"
                "aten::scaled_dot_product_attention",
    /* of layers: a model repeats these by design */
    [MODEL] = "aten::linear|aten::conv1d|aten::conv2d|aten::conv3d|aten::layer_norm|aten::batch_norm|aten::group_norm|"
              "aten::rms_norm|aten::embedding|aten::scaled_dot_product_attention|aten::lstm|aten::gru|"
              "aten::_transformer_encoder_layer_fwd|aten::_native_multi_head_attention",
    [CONSTANT] = "aten::ones|aten::zeros|aten::full|aten::arange|aten::triu|aten::tril|aten::eye|aten::linspace|"
                 "aten::triu_indices|aten::tril_indices",
    [OF_CONSTANT] = "aten::to|aten::masked_fill|aten::masked_fill_|aten::expand|aten::repeat|aten::unsqueeze|aten::view|"
                    "aten::reshape|aten::logical_not|aten::bitwise_not|aten::lt|aten::gt|aten::le|aten::ge|aten::eq|"
                    "aten::where|aten::outer|aten::cos|aten::sin|aten::pow|aten::reciprocal|aten::contiguous|aten::fill_|"
                    "aten::zero_|aten::transpose|aten::t|aten::permute|aten::sub|aten::rsub|aten::abs|aten::neg|aten::mul|"
                    "aten::div|aten::cat|aten::slice|aten::lift_fresh|aten::detach_|aten::add|aten::empty",
    /* that computing with data seldom follows, where nothing tells whether a node was made */
    [OF_CONSTANT_ALONE] =
        "aten::to|aten::expand|aten::repeat|aten::unsqueeze|aten::view|aten::logical_not|aten::bitwise_not|"
        "aten::lt|aten::gt|aten::le|aten::ge|aten::eq|aten::outer|aten::cos|aten::sin|aten::pow|"
        "aten::reciprocal|aten::fill_|aten::zero_|aten::lift_fresh|aten::detach_|aten::empty",
    [COLLECTIVE] = "c10d::*|gloo:*|nccl:*|_c10d_functional::*",
    [NORM] = "aten::linalg_vector_norm|aten::norm|aten::_foreach_norm",
    [SCALAR] = "aten::item|aten::is_nonzero|aten::_local_scalar_dense",
    [COPY] = "aten::clone|aten::copy_|aten::_to_copy|aten::contiguous",
    [NO_WORK] = "aten::detach|aten::detach_|detach|aten::to|aten::empty|aten::empty_like|aten::empty_strided|aten::set_|"
                "aten::alias|aten::result_type|aten::resize_|aten::new_empty|aten::new_empty_strided|aten::is_pinned|aten::"
                "requires_grad_",
    [VIEW] = "aten::view|aten::reshape|aten::permute|aten::transpose|aten::t|aten::expand|aten::unsqueeze|aten::squeeze|"
             "aten::as_strided|aten::_unsafe_view|aten::resolve_conj|aten::resolve_neg|aten::matmul|aten::einsum|"
             "aten::linear|aten::_reshape_alias|aten::broadcast_tensors|aten::alias|aten::detach",
    [PRODUCT] = "aten::mm|aten::bmm",
    [DROPOUT] = "aten::dropout|aten::dropout_|aten::native_dropout|aten::feature_dropout|aten::alpha_dropout",
    [OPTIMIZER] = "Optimizer.step#*",
    [LOADER] = "enumerate(DataLoader)*",
    [WORKERS] = "enumerate(DataLoader)#_MultiProcessing*",
};
#define IS(bits, word) ((bits) >> (word)&1)
#define LOOKED_AT (1u << 31)

#define PERIOD_MAX 16
#define LEAST_PASSES 16
#define MOST_NODES_OPEN 32
#define MOST_BETWEEN_EPOCHS 8    /* operators between the end of one epoch and the start of the next one */
#define MICRO_PASSES 4           /* backward passes a step: so many are small batches by intent */
#define NODE_NS INT64_C(2000)    /* that making a node takes on the host, measured with small Linear layers */
#define SHORT_NS INT64_C(100000) /* an operator with its children in which dispatch weighs */
#define GAP_NS INT64_C(500000)   /* between operators: longer ones have another cause */
#define FUSED_NEEDS (7.0 / 19)   /* tensors that Adam reads and writes when fused, and one operator after the other */
#define CONSTANT_GROUPS 64
#define ORDER_GAIN 4.0 /* so many times less arithmetic in another order */

struct item {
    int64_t start_ns, end_ns;
    uint32_t row, name, words;
    ap_link_key sequence;
    uint32_t step;
};

struct loop {
    enum ap_habit_id id;
    int64_t total_ns;
    ap_link_key first, last; /* sequence numbers; 0 = none */
    uint32_t row, period, names[AP_HABIT_NAMES];
};

/* Constants that are made by the same operators. */
struct constants {
    uint64_t key, count;
    int64_t total_ns, longest_ns;
    uint32_t row, names[AP_HABIT_NAMES];
};

struct product {
    double batch, rows, inner, columns; /* of the last product; batch 0 = none */
    int64_t dur_ns;
    uint32_t row;
};

struct rows {
    struct ap_habits *habits;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_name_patterns patterns;
    uint32_t *words_of; /* by name id */
    struct ap_pair_map node_sequences;
    int64_t last_node_ns;
    bool has_sequences, has_optimizer;
    struct item *items; /* of the thread */
    size_t item_count, item_capacity;
    struct loop *loops;
    size_t loop_count, loop_capacity;
    struct constants constants[CONSTANT_GROUPS];
    size_t constant_count;
};

static uint32_t words_of(struct rows *rows, uint32_t row)
{
    uint32_t name = rows->trace->events.name[row];
    if (!rows->words_of[name])
        rows->words_of[name] = LOOKED_AT | (uint32_t)ap_name_patterns_all(&rows->patterns, ap_trace_text(rows->trace, name));
    return rows->words_of[name];
}

static bool is_operator(const struct rows *rows, uint32_t row)
{
    return ap_row_is_of(rows->trace, row, 1u << AP_KIND_operator);
}

static ap_link_key sequence_of(const struct rows *rows, uint32_t row)
{
    const struct ap_op_detail *op = is_operator(rows, row) ? ap_row_op(rows->trace, row) : NULL;
    return op && !op->forward_thread ? op->sequence : 0;
}

/* ---- the nodes of the backward pass ---- */

static enum ap_status find_nodes(struct rows *rows, struct ap_error *reterr)
{
    const struct ap_events *events = &rows->trace->events;
    rows->last_node_ns = INT64_MIN;
    for (uint32_t row = 0; row < events->count; row++) {
        uint32_t name_words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? words_of(rows, row) : 0, number;
        rows->has_optimizer |= IS(name_words, OPTIMIZER);
        if (!is_operator(rows, row))
            continue;
        const struct ap_op_detail *op = ap_row_op(rows->trace, row);
        rows->has_sequences |= op && op->sequence && !IS(name_words, NODE);
        if (!IS(name_words, NODE))
            continue;
        if (events->start_ns[row] > rows->last_node_ns)
            rows->last_node_ns = events->start_ns[row];
        if (op && op->sequence)
            AP_TRY(ap_pair_map_add(&rows->node_sequences, op->sequence, 0, &number, reterr));
    }
    return AP_OK;
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
    int64_t update_ns, long_ns; /* end of the optimizer step that is read, and the sum of its longer operators */
    int64_t update_covered_ns;  /* by one of its operators */
    uint32_t update;            /* AP_NO_ROW = none */
    struct ap_step_cursor step;
    struct product product;
};

static void close_nodes(struct rows *rows, struct reading *reading, int64_t to_ns)
{
    while (reading->depth && reading->nodes[reading->depth - 1].end_ns <= to_ns) {
        const struct open_node *node = &reading->nodes[--reading->depth];
        if (node->last_ns == INT64_MIN)
            continue;
        int64_t dur_ns = node->last_ns - node->start_ns; /* what brings it back comes first in a node */
        (void)ap_habit_add(rows->habits, AP_HABIT_recompute, node->row, dur_ns, dur_ns);
    }
}

static void look_into_node(struct rows *rows, struct reading *reading, uint32_t row, uint32_t name_words)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    if (IS(name_words, NODE) && reading->depth < MOST_NODES_OPEN)
        reading->nodes[reading->depth++] = (struct open_node){ start_ns, end_ns, INT64_MIN, row };
    if (!IS(name_words, FORWARD) || !reading->depth)
        return;
    struct open_node *node = &reading->nodes[reading->depth - 1];
    if (node->last_ns == INT64_MIN)
        node->row = row;
    node->last_ns = end_ns > node->last_ns ? end_ns : node->last_ns;
}

static enum ap_status add_item(struct rows *rows, struct reading *reading, uint32_t row, uint32_t name_words,
                               struct ap_error *reterr)
{
    const struct ap_events *events = &rows->trace->events;
    int64_t start_ns = events->start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    AP_TRY(ap_mem_reserve(rows->habits->gate, (void **)&rows->items, &rows->item_capacity, rows->item_count + 1,
                          sizeof(rows->items[0]), reterr));
    rows->items[rows->item_count++] = (struct item){ start_ns,
                                                     end_ns,
                                                     row,
                                                     events->name[row],
                                                     name_words,
                                                     sequence_of(rows, row),
                                                     (uint32_t)ap_step_cursor_at(&reading->step, start_ns) };
    reading->covered_ns = end_ns;
    return AP_OK;
}

/* ---- products in a costly order ---- */

static bool read_product(const struct rows *rows, uint32_t row, struct product *ret_product)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    struct ap_tensor_list list;
    struct ap_text dims, types;
    if (!op || !op->signature.id)
        return false;
    ap_trace_signature(rows->trace, op->signature, &dims, &types);
    ap_tensor_list_read(&list, dims, types);
    const struct ap_tensor_dims *a = &list.tensors[0], *b = &list.tensors[1];
    if (list.count != 2 || a->count != b->count || a->count < 2 || a->dims[a->count - 1] != b->dims[b->count - 2])
        return false;
    *ret_product = (struct product){ ap_tensor_elements(a, 0, a->count - 2), (double)a->dims[a->count - 2],
                                     (double)a->dims[a->count - 1],          (double)b->dims[b->count - 1],
                                     rows->trace->events.dur_ns[row],        row };
    return true;
}

/* (A B) C and A (B C) are the same; which one was taken, and what does the other one cost? */
static void judge_order(struct rows *rows, const struct product *first, const struct product *second)
{
    double taken = first->rows * first->inner * first->columns + second->rows * second->inner * second->columns, other = 0;
    if (first->batch <= 0 || first->batch != second->batch)
        return;
    if (second->rows == first->rows && second->inner == first->columns) /* (A B) C */
        other = first->inner * first->columns * second->columns + first->rows * first->inner * second->columns;
    if (second->inner == first->rows && second->columns == first->columns) { /* A (B C) */
        double left = second->rows * second->inner * first->inner + second->rows * first->inner * first->columns;
        other = other > 0 && other < left ? other : left;
    }
    if (other <= 0 || taken < ORDER_GAIN * other)
        return;
    int64_t dur_ns = ap_add_sat(first->dur_ns, second->dur_ns, &rows->habits->overflowed);
    struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_product_order, first->row, dur_ns,
                                          (int64_t)((double)dur_ns * (1 - other / taken)));
    if (!habit)
        return;
    habit->names[1] = rows->trace->events.name[second->row];
    habit->signature = ap_row_op(rows->trace, first->row)->signature.id;
}

static void follow_products(struct rows *rows, struct reading *reading, uint32_t row, uint32_t name_words)
{
    struct product next = { .batch = 0 };
    if (IS(name_words, VIEW))
        return;
    if (IS(name_words, PRODUCT) && !reading->depth && read_product(rows, row, &next))
        judge_order(rows, &reading->product, &next);
    reading->product = next;
}

/* A fused optimizer goes once over the tensors, and calls nothing small. */
static void end_update(struct rows *rows, struct reading *reading)
{
    if (reading->update == AP_NO_ROW)
        return;
    int64_t dur_ns = rows->trace->events.dur_ns[reading->update];
    int64_t kept_ns = (int64_t)((double)reading->long_ns * FUSED_NEEDS);
    (void)ap_habit_add(rows->habits, AP_HABIT_optimizer_step, reading->update, dur_ns,
                       dur_ns > kept_ns ? dur_ns - kept_ns : 0);
    reading->update = AP_NO_ROW;
}

static void follow_update(struct rows *rows, struct reading *reading, uint32_t row, uint32_t name_words)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    if (start_ns >= reading->update_ns)
        end_update(rows, reading);
    if (reading->update == AP_NO_ROW && IS(name_words, OPTIMIZER)) {
        reading->update = row;
        reading->update_ns = end_ns;
        reading->long_ns = 0;
        reading->update_covered_ns = start_ns;
    } else if (reading->update != AP_NO_ROW && is_operator(rows, row) && start_ns >= reading->update_covered_ns) {
        reading->long_ns += end_ns - start_ns >= SHORT_NS ? end_ns - start_ns : 0;
        reading->update_covered_ns = end_ns;
    }
}

static enum ap_status read_items(struct rows *rows, size_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct reading reading = { .covered_ns = INT64_MIN, .update = AP_NO_ROW, .step = { &rows->facts->steps, 0 } };
    rows->item_count = 0;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at], kinds = 1u << AP_KIND_operator | 1u << AP_KIND_annotation;
        if (!ap_row_is_of(rows->trace, row, kinds))
            continue;
        uint32_t name_words = words_of(rows, row);
        int64_t start_ns = rows->trace->events.start_ns[row];
        close_nodes(rows, &reading, start_ns);
        follow_update(rows, &reading, row, name_words);
        if (is_operator(rows, row)) {
            look_into_node(rows, &reading, row, name_words);
            follow_products(rows, &reading, row, name_words);
        }
        if (start_ns >= reading.covered_ns && (is_operator(rows, row) || name_words & (1u << OPTIMIZER | 1u << LOADER)))
            AP_TRY(add_item(rows, &reading, row, name_words, reterr));
    }
    close_nodes(rows, &reading, INT64_MAX);
    end_update(rows, &reading);
    return AP_OK;
}

static bool is_call(const struct item *item)
{
    return !(item->words & (1u << NODE | 1u << OPTIMIZER | 1u << LOADER));
}

/* ---- loops ---- */

static enum ap_habit_id kind_of(uint32_t any, bool only_copies)
{
    return IS(any, COLLECTIVE) ? AP_HABIT_collective_loop
           : IS(any, NORM)     ? AP_HABIT_norm_loop
           : IS(any, SCALAR)   ? AP_HABIT_scalar_loop
           : only_copies       ? AP_HABIT_copy_loop
                               : AP_HABIT_operator_loop;
}

static void take_names(const struct item *items, size_t count, uint32_t names[AP_HABIT_NAMES])
{
    size_t taken = 0;
    memset(names, 0, AP_HABIT_NAMES * sizeof(names[0]));
    for (size_t i = 0; i < count && taken < AP_HABIT_NAMES; i++) {
        bool is_new = true;
        for (size_t j = 0; j < taken; j++)
            is_new &= names[j] != items[i].name;
        if (is_new)
            names[taken++] = items[i].name;
    }
}

/* Its span; long gaps have another cause, but behind a collective they are the wait for it. */
static int64_t loop_time(const struct rows *rows, enum ap_habit_id id, size_t start, size_t end)
{
    int64_t total_ns = rows->items[end - 1].end_ns - rows->items[start].start_ns;
    for (size_t i = start + 1; i < end && id != AP_HABIT_collective_loop; i++) {
        int64_t gap_ns = rows->items[i].start_ns - rows->items[i - 1].end_ns;
        total_ns -= gap_ns > GAP_NS ? gap_ns : 0;
    }
    return total_ns;
}

/* The items from @start to before @end are passes of @period items. */
static enum ap_status add_loop(struct rows *rows, size_t start, size_t end, size_t period, struct ap_error *reterr)
{
    const struct item *items = rows->items + start;
    uint32_t any = 0;
    bool only_copies = true, has_copy = false, only_views = true;
    for (size_t i = 0; i < period; i++) {
        uint32_t item_words = items[i].words;
        any |= item_words;
        has_copy |= IS(item_words, COPY);
        only_copies &= IS(item_words, COPY) || IS(item_words, NO_WORK) || IS(item_words, VIEW);
        only_views &= IS(item_words, NO_WORK) || IS(item_words, VIEW);
    }
    if (IS(any, MODEL) || only_views)
        return AP_OK;
    AP_TRY(ap_mem_reserve(rows->habits->gate, (void **)&rows->loops, &rows->loop_capacity, rows->loop_count + 1,
                          sizeof(rows->loops[0]), reterr));
    struct loop *loop = &rows->loops[rows->loop_count++];
    *loop = (struct loop){ .id = kind_of(any, only_copies && has_copy), .row = items[0].row, .period = (uint32_t)period };
    loop->total_ns = loop_time(rows, loop->id, start, end);
    if (loop->id == AP_HABIT_operator_loop && loop->total_ns / (int64_t)(end - start) > SHORT_NS) {
        rows->loop_count--; /* what is called is no small operator: a model's own layers */
        return AP_OK;
    }
    loop->first = items[0].sequence;
    loop->last = rows->items[end - 1].sequence;
    take_names(items, period, loop->names);
    return AP_OK;
}

struct runs {
    size_t equal[PERIOD_MAX + 1]; /* by period: items up to here that equal the one a period before */
    size_t start, taken;          /* of the stretch of calls; items before @taken are of a loop already */
};

static enum ap_status end_run(struct rows *rows, struct runs *runs, size_t period, size_t end, struct ap_error *reterr)
{
    size_t count = runs->equal[period] ? runs->equal[period] + period : 0, start = end - count;
    runs->equal[period] = 0;
    if (start < runs->taken)
        start = runs->taken;
    if (!count || start >= end || (end - start) / period < LEAST_PASSES)
        return AP_OK;
    runs->taken = end;
    return add_loop(rows, start, end, period, reterr);
}

static enum ap_status end_runs(struct rows *rows, struct runs *runs, size_t end, struct ap_error *reterr)
{
    for (size_t period = 1; period <= PERIOD_MAX; period++)
        AP_TRY(end_run(rows, runs, period, end, reterr));
    runs->start = end + 1;
    return AP_OK;
}

static enum ap_status find_loops(struct rows *rows, struct ap_error *reterr)
{
    struct runs runs = { .start = 0 };
    for (size_t i = 0; i < rows->item_count; i++) {
        if (!is_call(&rows->items[i])) {
            AP_TRY(end_runs(rows, &runs, i, reterr));
            continue;
        }
        for (size_t period = 1; period <= PERIOD_MAX && period <= i - runs.start; period++)
            if (rows->items[i].name == rows->items[i - period].name)
                runs.equal[period]++;
            else
                AP_TRY(end_run(rows, &runs, period, i, reterr));
    }
    return end_runs(rows, &runs, rows->item_count, reterr);
}

static int by_sequence(const void *left, const void *right)
{
    const struct loop *a = left, *b = right;
    return a->first != b->first ? (a->first < b->first ? -1 : 1) : (a->row < b->row ? -1 : 1);
}

/* The loop that made the node: the last one that begins at or before its number. */
static struct loop *maker_of(struct rows *rows, ap_link_key sequence)
{
    size_t low = 0, high = rows->loop_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->loops[middle].first <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    struct loop *loop = low ? &rows->loops[low - 1] : NULL;
    return loop && loop->first && sequence <= loop->last ? loop : NULL;
}

static void add_loops(struct rows *rows)
{
    const struct ap_events *events = &rows->trace->events;
    ap_sort(rows->loops, rows->loop_count, sizeof(rows->loops[0]), by_sequence);
    for (uint32_t row = 0; rows->loop_count && row < events->count; row++) {
        const struct ap_op_detail *op =
            is_operator(rows, row) && IS(words_of(rows, row), NODE) ? ap_row_op(rows->trace, row) : NULL;
        struct loop *loop = op && op->sequence ? maker_of(rows, op->sequence) : NULL;
        if (loop)
            loop->total_ns = ap_add_sat(loop->total_ns, events->dur_ns[row], &rows->habits->overflowed);
    }
    for (size_t i = 0; i < rows->loop_count; i++) {
        const struct loop *loop = &rows->loops[i];
        struct ap_habit *habit = ap_habit_add(rows->habits, loop->id, loop->row, loop->total_ns, loop->total_ns);
        if (habit)
            memcpy(habit->names, loop->names, sizeof(habit->names));
    }
}

/* ---- passes that no backward pass goes through ---- */

enum event { NOTHING, OF_TRAINING, OF_OPTIMIZER };

struct pass {
    enum ap_habit_id id;
    bool open;
    int64_t start_ns, end_ns;
    uint32_t row;
};

static void end_pass(struct rows *rows, struct pass *pass)
{
    int64_t dur_ns = pass->end_ns - pass->start_ns;
    if (pass->open)
        (void)ap_habit_add(rows->habits, pass->id, pass->row, dur_ns, dur_ns);
    pass->open = false;
}

/* The number of the next call that has one: this one made the nodes from its own number to before that. */
static ap_link_key sequence_after(const struct rows *rows, size_t at)
{
    for (size_t i = at + 1; i < rows->item_count && i < at + 64; i++)
        if (is_call(&rows->items[i]) && rows->items[i].sequence)
            return rows->items[i].sequence;
    return 0;
}

/* Made nodes, and none of them ran later in the recording. */
static bool is_unused(const struct rows *rows, size_t at)
{
    const struct item *item = &rows->items[at];
    ap_link_key next = sequence_after(rows, at);
    if (!item->sequence || next <= item->sequence || next - item->sequence > 64 || item->end_ns > rows->last_node_ns)
        return false;
    for (ap_link_key sequence = item->sequence; sequence < next; sequence++)
        if (ap_pair_map_find(&rows->node_sequences, sequence, 0) != AP_PAIR_NONE)
            return false;
    return true;
}

static void go_on(struct rows *rows, struct pass *pass, const struct item *item, enum ap_habit_id id)
{
    bool heavy = IS(item->words, HEAVY);
    if (pass->open && pass->id != id)
        end_pass(rows, pass);
    if (!pass->open && heavy)
        *pass = (struct pass){ id, true, item->start_ns, item->end_ns, item->row };
    if (pass->open)
        pass->end_ns = item->end_ns;
}

static void find_passes(struct rows *rows)
{
    struct pass pass = { .open = false };
    enum event last = NOTHING;
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct item *item = &rows->items[i];
        if (i && item->step != rows->items[i - 1].step) {
            end_pass(rows, &pass);
            last = NOTHING;
        }
        if (!is_call(item)) {
            end_pass(rows, &pass);
            last = IS(item->words, OPTIMIZER) ? OF_OPTIMIZER : IS(item->words, LOADER) ? last : OF_TRAINING;
        } else if (!item->sequence) {
            if (IS(item->words, HEAVY) || pass.open)
                go_on(rows, &pass, item,
                      pass.open                                          ? pass.id
                      : last == OF_OPTIMIZER && rows->facts->steps.count ? AP_HABIT_evaluation
                                                                         : AP_HABIT_gradless_pass);
        } else if (is_unused(rows, i)) {
            go_on(rows, &pass, item, AP_HABIT_unused_graph);
        } else if (sequence_after(rows, i) > item->sequence) {
            end_pass(rows, &pass);
            last = OF_TRAINING;
        }
    }
    end_pass(rows, &pass);
}

/* ---- a run without backward that is recorded for one ---- */

static void find_graphs(struct rows *rows)
{
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct item *item = &rows->items[i];
        int64_t dur_ns = item->end_ns - item->start_ns;
        if (!is_call(item))
            continue;
        bool drops = IS(item->words, DROPOUT);
        if (drops)
            (void)ap_habit_add(rows->habits, AP_HABIT_inference_dropout, item->row, dur_ns, dur_ns);
        if (item->sequence && sequence_after(rows, i) > item->sequence)
            (void)ap_habit_add(rows->habits, AP_HABIT_inference_graph, item->row, dur_ns,
                               drops || dur_ns < NODE_NS ? dur_ns : NODE_NS);
    }
}

/* ---- constants ---- */

/* Goes on with a constant: an operator of such work that makes no node (where nodes are counted). */
static bool is_of_constant(const struct rows *rows, size_t at)
{
    const struct item *item = &rows->items[at];
    if (IS(item->words, CONSTANT))
        return true;
    if (!is_call(item))
        return false;
    return item->sequence ? IS(item->words, OF_CONSTANT) && sequence_after(rows, at) == item->sequence
                          : IS(item->words, OF_CONSTANT_ALONE);
}

static void note_constant(struct rows *rows, size_t start, size_t end)
{
    uint64_t key = 0;
    int64_t dur_ns = rows->items[end - 1].end_ns - rows->items[start].start_ns;
    for (size_t i = start; i < end; i++)
        key = key * UINT64_C(0x9E3779B97F4A7C15) + rows->items[i].name;
    size_t group = 0;
    while (group < rows->constant_count && rows->constants[group].key != key)
        group++;
    if (group == CONSTANT_GROUPS)
        return;
    struct constants *constants = &rows->constants[group];
    if (group == rows->constant_count) {
        *constants = (struct constants){ .key = key, .row = rows->items[start].row };
        rows->constant_count++;
    }
    constants->count++;
    constants->total_ns = ap_add_sat(constants->total_ns, dur_ns, &rows->habits->overflowed);
    if (dur_ns <= constants->longest_ns && constants->count > 1)
        return;
    constants->longest_ns = dur_ns;
    constants->row = rows->items[start].row;
    take_names(rows->items + start, end - start, constants->names);
}

static void find_constants(struct rows *rows)
{
    for (size_t i = 0; i < rows->item_count; i++) {
        size_t start = i;
        if (!IS(rows->items[i].words, CONSTANT))
            continue;
        while (i + 1 < rows->item_count && rows->items[i + 1].step == rows->items[start].step && is_of_constant(rows, i + 1))
            i++;
        note_constant(rows, start, i + 1);
    }
}

/* Several times a step, one of which is needed. */
static void add_constants(struct rows *rows)
{
    uint64_t steps = rows->facts->steps.count ? rows->facts->steps.count : 1;
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_constants];
    for (size_t i = 0; i < rows->constant_count; i++) {
        const struct constants *group = &rows->constants[i];
        if (group->count < 2 * steps)
            continue;
        double share = 1 - (double)steps / (double)group->count;
        habit->count += group->count;
        habit->total_ns = ap_add_sat(habit->total_ns, group->total_ns, &rows->habits->overflowed);
        habit->saves_ns = ap_add_sat(habit->saves_ns, (int64_t)((double)group->total_ns * share), &rows->habits->overflowed);
        if (habit->row != AP_NO_ROW && habit->longest_ns >= group->total_ns)
            continue;
        habit->longest_ns = group->total_ns;
        habit->row = group->row;
        memcpy(habit->names, group->names, sizeof(habit->names));
    }
}

/* ---- small batches; starts of epochs ---- */

static void find_micro_batches(struct rows *rows)
{
    uint64_t passes = 0, updates = 0;
    int64_t short_ns = 0;
    uint32_t row = AP_NO_ROW;
    bool in_forward = false;
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct item *item = &rows->items[i];
        int64_t dur_ns = item->end_ns - item->start_ns, gap_ns = i ? item->start_ns - rows->items[i - 1].end_ns : 0;
        updates += IS(item->words, OPTIMIZER);
        passes += in_forward && IS(item->words, NODE);
        in_forward = (in_forward && !IS(item->words, NODE)) || IS(item->words, HEAVY);
        if (item->words & (1u << OPTIMIZER | 1u << LOADER))
            continue;
        row = row == AP_NO_ROW && IS(item->words, NODE) ? item->row : row;
        short_ns += (dur_ns < SHORT_NS ? dur_ns : 0) + (gap_ns > 0 && gap_ns < GAP_NS ? gap_ns : 0);
    }
    if (!updates || passes < MICRO_PASSES * updates || row == AP_NO_ROW)
        return;
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_micro_batch];
    (void)ap_habit_add(rows->habits, AP_HABIT_micro_batch, row, short_ns,
                       (int64_t)((double)short_ns * (1 - (double)updates / (double)passes)));
    habit->count = passes;
    habit->step_count = passes / updates * rows->habits->per_step.count;
}

static void find_epochs(struct rows *rows)
{
    const struct item *last = NULL;
    size_t between = 0;
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct item *item = &rows->items[i];
        if (!IS(item->words, WORKERS)) {
            between = item->words & (1u << NODE | 1u << OPTIMIZER | 1u << HEAVY) ? MOST_BETWEEN_EPOCHS : between + 1;
            continue;
        }
        if (last && between < MOST_BETWEEN_EPOCHS)
            (void)ap_habit_add(rows->habits, AP_HABIT_epoch_start, last->row, item->end_ns - last->start_ns,
                               item->end_ns - last->start_ns);
        last = item;
        between = 0;
    }
}

/* ---- all ---- */

static enum ap_status look_at_track(struct rows *rows, size_t track, struct ap_error *reterr)
{
    bool trains = rows->node_sequences.count != 0;
    AP_TRY(read_items(rows, track, reterr));
    AP_TRY(find_loops(rows, reterr));
    if (trains && rows->has_sequences)
        find_passes(rows);
    if (rows->last_node_ns == INT64_MIN && !rows->has_optimizer)
        find_graphs(rows);
    find_constants(rows);
    if (track == rows->facts->main_track)
        find_micro_batches(rows);
    find_epochs(rows);
    return AP_OK;
}

static enum ap_status look_at_rows(struct rows *rows, struct ap_error *reterr)
{
    struct ap_gate *gate = rows->habits->gate;
    AP_TRY(ap_name_patterns_init(&rows->patterns, gate, words, WORD_COUNT, reterr));
    rows->words_of = ap_mem_cleared(gate, ap_trace_id_count(rows->trace) * sizeof(rows->words_of[0]));
    if (!rows->words_of)
        return ap_fail_memory(gate, reterr);
    AP_TRY(find_nodes(rows, reterr));
    for (size_t track = 0; track < rows->facts->order.track_count; track++)
        AP_TRY(look_at_track(rows, track, reterr));
    add_loops(rows);
    add_constants(rows);
    return AP_OK;
}

enum ap_status ap_habits_of_rows(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct ap_gate *gate = habits->gate;
    struct rows rows = { .habits = habits,
                         .facts = facts,
                         .trace = facts->trace,
                         .patterns = { .gate = gate },
                         .node_sequences = { .gate = gate } };
    enum ap_status status = look_at_rows(&rows, reterr);
    ap_name_patterns_release(&rows.patterns);
    ap_pair_map_release(&rows.node_sequences);
    ap_mem_free(gate, rows.words_of, ap_trace_id_count(facts->trace) * sizeof(rows.words_of[0]));
    ap_mem_free(gate, rows.items, rows.item_capacity * sizeof(rows.items[0]));
    ap_mem_free(gate, rows.loops, rows.loop_capacity * sizeof(rows.loops[0]));
    return status;
}
