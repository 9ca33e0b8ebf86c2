/* SPDX-License-Identifier: MIT
 * Passes through the model: without backward, for one that never comes, too small. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_TURNS 4
#define LEAST_LAYERS 2
#define LEAST_ITEMS 8      /* of a pass */
#define LEAST_OPERATORS 17 /* likewise, with those that they call: shorter ones are loops over operators */
#define MOST_WITHIN 256    /* operators within a layer: more are those of rows that it takes apart, a batch of them */
#define MOST_TO_DIVISION 4 /* from a norm on */
#define MOST_OPERATORS 4096
#define MOST_TO_RESULT 3 /* views of a result before it is kept */
#define LONGEST_CONSTRUCTION_NS INT64_C(5000000)
#define MICRO_PASSES 4       /* backward passes a step: so many are small batches by intent */
#define MOST_TO_DETACH 512   /* items of a step in which a result is taken out of its graph */
#define MOST_TO_SPREAD 6     /* operators from answers that are put together to their spread */
#define MOST_OF_ENCODER 40   /* operators of an encoder's layer from its projection on */
#define LEAST_OF_LAYERS 0.25 /* of a pass without gradients: with less, what acts upon single answers has the time */

/* ---- passes that no backward pass goes through ---- */

enum event { NOTHING, OF_TRAINING, OF_OPTIMIZER };

struct pass {
    enum ap_habit_id id;
    bool open;
    int64_t start_ns, end_ns, lead_ns, layers_ns;
    int64_t graph_ns; /* of it, that making nodes takes */
    uint32_t row;
    size_t first;               /* item */
    bool may_be_needed;         /* without its graph */
    bool has_layers, by_layers; /* it should, as what is trained has */
};

/* Of the program's thread that trains: are there layers? One that writes them out as products has none. */
static bool trains_layers(const struct ap_habit_rows *rows)
{
    for (size_t i = 0; i < rows->item_count; i++)
        if (ap_item_words(rows, &rows->items[i]) & (AP_BIT(FORWARD) | AP_BIT(MODEL)) && ap_habit_makes_node(rows, i))
            return true;
    return false;
}

/* An agent that plays, or a search: layers are asked little, again and again, and what is done with the answers is neither
 * an evaluation nor a teacher. Products alone, where layers are trained, are of weights: an optimizer that makes an update
 * orthogonal or takes roots of what it has summed up; or of results, as distances are. */
static bool is_a_pass(const struct pass *pass, int64_t dur_ns)
{
    if (pass->id == AP_HABIT_unused_graph)
        return true;
    return (pass->has_layers || !pass->by_layers) &&
           (pass->id != AP_HABIT_gradless_pass || (double)pass->layers_ns >= LEAST_OF_LAYERS * (double)dur_ns);
}

static void end_pass(struct ap_habit_rows *rows, struct pass *pass)
{
    int64_t dur_ns = pass->end_ns - pass->start_ns, with_lead_ns = dur_ns + pass->lead_ns;
    if (pass->open && is_a_pass(pass, dur_ns)) {
        (void)ap_habit_add_in_pieces(rows->habits, pass->id, pass->row, with_lead_ns,
                                     pass->may_be_needed && pass->graph_ns < dur_ns ? pass->graph_ns : with_lead_ns);
        ap_habit_add_time(rows->habits, pass->id, pass->start_ns - pass->lead_ns, pass->end_ns);
    }
    pass->open = false;
}

static bool is_node(const struct ap_habit_rows *rows, size_t at)
{
    return AP_HAS(ap_item_words(rows, &rows->items[at]), NODE);
}

/* How many items come before the last forward pass where the recording ends within the backward pass behind it: which of its
 * nodes would have run still is unknown. */
static size_t count_settled(const struct ap_habit_rows *rows)
{
    size_t count = rows->item_count;
    if (!count || !is_node(rows, count - 1))
        return count;
    while (count && is_node(rows, count - 1))
        count--;
    while (count && ap_habit_is_call(rows, &rows->items[count - 1]))
        count--;
    return count;
}

/* Behind the last node of the recording, whose nodes may run in a step that was not recorded. Not where its own step was
 * recorded to the end, had a backward pass before it, and the same was unused in the steps before. */
static bool may_be_used_later(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    const struct ap_steps *steps = &rows->facts->steps;
    if (ap_item_end_ns(rows, item) <= rows->last_node_ns)
        return false;
    return steps->periods || item->step >= steps->count || rows->habits->of[AP_HABIT_unused_graph].count < item->step ||
           !item->step || rows->last_node_ns < steps->steps[item->step].start_ns ||
           ap_item_end_ns(rows, item) > steps->steps[item->step].end_ns;
}

/* Made nodes, and none of them ran later in the recording. */
static bool is_unused(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_habit_item *item = &rows->items[at];
    ap_link_key next = ap_habit_sequence_after(rows, at);
    if (!ap_item_sequence(rows, item) || next <= ap_item_sequence(rows, item) || next - ap_item_sequence(rows, item) > 64 ||
        may_be_used_later(rows, item))
        return false;
    for (ap_link_key sequence = ap_item_sequence(rows, item); sequence < next; sequence++)
        if (ap_pair_map_find(&rows->node_sequences, sequence, 0) != AP_PAIR_NONE)
            return false;
    return true;
}

static void go_on(struct ap_habit_rows *rows, struct pass *pass, size_t at, enum ap_habit_id id)
{
    const struct ap_habit_item *item = &rows->items[at];
    bool heavy = AP_HAS(ap_item_words(rows, item), HEAVY);
    if (pass->open && pass->id != id)
        end_pass(rows, pass);
    if (!pass->open && heavy)
        *pass = (struct pass){ .id = id,
                               .open = true,
                               .start_ns = ap_item_start_ns(rows, item),
                               .lead_ns = ap_habit_lead_ns(rows, at),
                               .row = item->row,
                               .first = at,
                               .by_layers = pass->by_layers };
    if (!pass->open)
        return;
    pass->end_ns = ap_item_end_ns(rows, item);
    pass->has_layers |= (ap_item_words(rows, item) & (AP_BIT(FORWARD) | AP_BIT(MODEL))) != 0;
    pass->layers_ns += heavy ? pass->end_ns - ap_item_start_ns(rows, item) : 0;
    if (ap_item_sequence(rows, item))
        pass->graph_ns += (int64_t)(ap_habit_sequence_after(rows, at) - ap_item_sequence(rows, item)) * AP_HABIT_NODE_NS;
}

/* A result is taken out of its graph; what is written to a log is one element. */
static bool is_detach(const struct ap_habit_rows *rows, size_t at, bool *ret_has_sizes)
{
    struct ap_tensor_list list;
    if (!ap_habit_is_named(rows, at, AP_TEXT("aten::detach")))
        return false;
    *ret_has_sizes = ap_habit_read_tensors(rows, at, &list);
    return !*ret_has_sizes || ap_tensor_elements(&list.tensors[0], 0, list.tensors[0].count) > 1;
}

/* The program takes a result out of its graph, and trains with it in the same forward pass: a discriminator that is shown
 * what the generator made, a target. The pass is needed then; without the graph it would take nearly as long. Where no sizes
 * are told, it is so perhaps. */
static void leave_out_trained_with(const struct ap_habit_rows *rows, struct pass *pass)
{
    bool has_sizes = false;
    if (!pass->open || pass->id != AP_HABIT_unused_graph)
        return;
    for (size_t at = pass->first; at < pass->first + MOST_TO_DETACH && ap_habit_is_of_step(rows, pass->first, at); at++) {
        if (!is_detach(rows, at, &has_sizes))
            continue;
        pass->may_be_needed = true;
        if (has_sizes) {
            pass->open = false;
            return;
        }
    }
}

/* Of the items of one step that begin with @first: the last node of a backward pass; 0 = none. */
static size_t last_node_of_step(const struct ap_habit_rows *rows, size_t first)
{
    size_t last = 0;
    for (size_t at = first; at < rows->item_count && rows->items[at].step == rows->items[first].step; at++)
        last = is_node(rows, at) ? at : last;
    return last;
}

/* Steps that marks tell end behind what follows the optimizer: not what is drawn for the next update of the same step, or
 * targets for it. Where the optimizer's rows stand in for marks, what follows may as well begin the next step: a target
 * network, a teacher. */
void ap_habit_find_passes(struct ap_habit_rows *rows)
{
    struct pass pass = { .by_layers = trains_layers(rows) };
    enum event last = NOTHING;
    size_t settled = count_settled(rows), last_node = 0;
    bool has_marks = rows->facts->steps.count && !rows->facts->steps.periods;
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        if (!i || item->step != rows->items[i - 1].step) {
            end_pass(rows, &pass);
            last = NOTHING;
            last_node = last_node_of_step(rows, i);
        }
        if (!ap_habit_is_call(rows, item)) {
            if (is_node(rows, i))
                leave_out_trained_with(rows, &pass);
            end_pass(rows, &pass);
            last = AP_HAS(ap_item_words(rows, item), OPTIMIZER) ? OF_OPTIMIZER
                   : AP_HAS(ap_item_words(rows, item), LOADER)  ? last
                                                                : OF_TRAINING;
        } else if (!ap_item_sequence(rows, item)) {
            if (AP_HAS(ap_item_words(rows, item), HEAVY) || pass.open)
                go_on(rows, &pass, i,
                      pass.open                                            ? pass.id
                      : last == OF_OPTIMIZER && has_marks && i > last_node ? AP_HABIT_evaluation
                                                                           : AP_HABIT_gradless_pass);
        } else if (i < settled && is_unused(rows, i)) {
            go_on(rows, &pass, i, AP_HABIT_unused_graph);
        } else if (ap_habit_sequence_after(rows, i) > ap_item_sequence(rows, item)) {
            leave_out_trained_with(rows, &pass);
            end_pass(rows, &pass);
            last = OF_TRAINING;
        }
    }
    end_pass(rows, &pass);
}

/* ---- a run without backward that is recorded for one ---- */

static bool is_spread(struct ap_text name)
{
    return ap_text_is(name, "aten::var") || ap_text_is(name, "aten::std") || ap_text_is(name, "aten::var_mean") ||
           ap_text_is(name, "aten::std_mean");
}

/* Of answers for a batch, one set a pass; not of losses. */
static bool is_mean_of_answers(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    return ap_habit_is_named(rows, at, AP_TEXT("aten::mean")) && ap_habit_read_tensors(rows, at, &list) &&
           list.tensors[0].count >= 3;
}

/* The batch holds each input several times. */
static bool is_repeated(struct ap_text name)
{
    return ap_text_is(name, "aten::repeat") || ap_text_is(name, "aten::repeat_interleave") || ap_text_is(name, "aten::tile");
}

/* Answers of several passes are put together, or those of one pass for each input several times, and their spread or their
 * mean is asked: Monte Carlo dropout, which has to be on. */
static bool wants_noise(const struct ap_habit_rows *rows)
{
    size_t behind = MOST_TO_SPREAD + 1;
    bool is_stack = false, of_repeated = false;
    for (size_t i = 0; i < rows->item_count; i++) {
        struct ap_text name = ap_row_name(rows->trace, rows->items[i].row);
        uint64_t words = ap_item_words(rows, &rows->items[i]);
        bool gathers = AP_HAS(words, GATHER);
        of_repeated |= is_repeated(name);
        behind = gathers || (of_repeated && AP_HAS(words, HEAVY)) ? 0 : behind + 1;
        is_stack = gathers ? ap_text_is(name, "aten::stack") : is_stack;
        if (behind <= MOST_TO_SPREAD && (is_spread(name) || (is_stack && is_mean_of_answers(rows, i))))
            return true;
    }
    return false;
}

/* The projection of nn.MultiheadAttention: queries, keys and values in one product, which is then brought into order. */
static bool is_packed_projection(const struct ap_habit_rows *rows, size_t at)
{
    static const char *const parts[] = { "aten::unflatten", "aten::unsqueeze", "aten::transpose", "aten::squeeze",
                                         "aten::contiguous" };
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        if (at + i >= rows->item_count || !ap_text_is(ap_row_name(rows->trace, rows->items[at + i].row), parts[i]))
            return false;
    return true;
}

/* Of attention or a layer of an encoder from its projection on: what the fused form of PyTorch does without, which gradients
 * keep it from. It brings nothing into order, and its activation is a part of the product before. */
static bool is_fused_away(const struct ap_habit_rows *rows, size_t at)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return (words & (AP_BIT(VIEW) | AP_BIT(PIECE) | AP_BIT(COPY)) && !AP_HAS(words, HEAVY)) ||
           ap_text_is(name, "aten::unflatten") || ap_text_is(name, "aten::relu") || ap_text_is(name, "aten::gelu");
}

/* Draws random numbers, by what it calls: out of training it hands on what it got. */
static bool drops_out(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return AP_HAS(ap_item_words(rows, item), DROPOUT) &&
           (item->inner || ap_text_is(ap_row_name(rows->trace, item->row), "aten::native_dropout"));
}

void ap_habit_find_graphs(struct ap_habit_rows *rows)
{
    bool noise = wants_noise(rows);
    size_t encoder_end = 0; /* behind the items of the last such layer */
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        int64_t dur_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item);
        if (!ap_habit_is_call(rows, item))
            continue;
        bool drops = drops_out(rows, item);
        encoder_end = is_packed_projection(rows, i) ? i + MOST_OF_ENCODER : encoder_end;
        bool goes = drops || item->drops || (i < encoder_end && is_fused_away(rows, i));
        if (drops && !noise)
            (void)ap_habit_add(rows->habits, AP_HABIT_inference_dropout, item->row, dur_ns, dur_ns);
        if (ap_item_sequence(rows, item) && ap_habit_sequence_after(rows, i) > ap_item_sequence(rows, item)) {
            ap_link_key nodes = ap_habit_last_sequence(rows, i) - ap_item_sequence(rows, item) + 1;
            int64_t nodes_ns = (int64_t)nodes * AP_HABIT_NODE_NS;
            (void)ap_habit_add(rows->habits, AP_HABIT_inference_graph, item->row, dur_ns,
                               goes || dur_ns < nodes_ns ? dur_ns : nodes_ns);
        }
    }
}

/* ---- one part of a graph, several times ---- */

enum ap_status ap_habit_find_nodes_again(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    int64_t end_ns = INT64_MIN;
    bool again = false;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at], number;
        int64_t start_ns = rows->trace->events.start_ns[row];
        if (start_ns < end_ns || !ap_habit_is_operator(rows, row))
            continue;
        const struct ap_op_detail *op = ap_row_op(rows->trace, row);
        bool is_node = AP_HAS(ap_habit_words_of(rows, row), NODE);
        int64_t from_ns = again && start_ns - end_ns <= AP_HABIT_CALL_NS ? end_ns : start_ns;
        end_ns = ap_row_end_ns(rows->trace, row);
        if (is_node && op && op->sequence) {
            uint32_t before = rows->nodes_run.count;
            AP_TRY(ap_pair_map_add(&rows->nodes_run, op->sequence, ap_op_forward_thread(rows->trace, op), &number, reterr));
            again = number < before;
        }
        again &= is_node; /* adding to a gradient has no number: it goes with the node before it */
        if (!again)
            continue;
        (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_node_again, row, end_ns - from_ns, end_ns - from_ns);
        ap_habit_add_time(rows->habits, AP_HABIT_node_again, from_ns, end_ns);
    }
    return AP_OK;
}

/* ---- small batches ---- */

/* Of parameters: where gradients are asked for as values, as a solver or an inner loop of learning does, the node is there
 * and does nothing. */
static bool adds_gradients(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return item->inner && ap_text_ends_with(ap_trace_text(rows->trace, ap_habit_name_of(rows, item)), "AccumulateGrad");
}

void ap_habit_find_micro_batches(struct ap_habit_rows *rows)
{
    uint64_t passes = 0, updates = 0;
    int64_t short_ns = 0;
    uint32_t row = AP_NO_ROW;
    bool in_forward = false, in_backward = false;
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        uint64_t words = ap_item_words(rows, item);
        int64_t gap_ns = i ? ap_habit_gap_before(rows, i) : 0;
        updates += AP_HAS(words, OPTIMIZER);
        in_backward = AP_HAS(words, NODE) && (in_forward || in_backward);
        in_forward = (in_forward && !AP_HAS(words, NODE)) || AP_HAS(words, HEAVY);
        if (in_backward && adds_gradients(rows, item)) {
            passes++;
            in_backward = false;
        }
        if (words & (AP_BIT(OPTIMIZER) | AP_BIT(LOADER)))
            continue;
        row = row == AP_NO_ROW && AP_HAS(words, NODE) ? item->row : row;
        short_ns += ap_item_dispatch_ns(rows, item) + (gap_ns > 0 && gap_ns < AP_HABIT_GAP_NS ? gap_ns : 0);
    }
    if (!updates || passes < MICRO_PASSES * updates || row == AP_NO_ROW)
        return;
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_micro_batch];
    (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_micro_batch, row, short_ns,
                                 ap_share_of(short_ns, 1 - (double)updates / (double)passes));
    habit->count = passes;
    habit->step_count = passes / updates * rows->habits->per_step.count;
}

void ap_habit_find_construction(struct ap_habit_rows *rows)
{
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_state_anew];
    int64_t after_ns = 0; /* the last step, to the first item behind it */
    for (size_t i = 0; i < rows->item_count; i++) {
        if (i && AP_HAS(ap_item_words(rows, &rows->items[i - 1]), OPTIMIZER))
            after_ns = ap_habit_gap_before(rows, i);
        if (!rows->items[i].begins || after_ns <= 0 || after_ns > LONGEST_CONSTRUCTION_NS)
            continue;
        habit->total_ns = ap_add_sat(habit->total_ns, after_ns, &rows->habits->overflowed);
        habit->saves_ns = ap_add_sat(habit->saves_ns, after_ns, &rows->habits->overflowed);
    }
}

/* ---- passes of one model in turn, whose results are then put together, or whose inputs were taken apart ----
 * Names alone tell them, so they are looked for where texts go in, which only the beginning of a model looks up, or where a
 * batch of one is made of each row. */

static bool is_alike(const struct ap_habit_rows *rows, size_t at, size_t other)
{
    return ap_habit_name_at(rows, at) == ap_habit_name_at(rows, other) &&
           (ap_habit_is_of_step(rows, at, other) ||
            (is_node(rows, other) && rows->items[at].step == rows->items[other].step));
}

/* Of a vector of length 1. */
static bool is_division_by_norm(const struct ap_habit_rows *rows, size_t last)
{
    for (size_t at = last; at-- > 0 && last - at <= MOST_TO_DIVISION;)
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), NORM))
            return ap_habit_is_named(rows, last, AP_TEXT("aten::div"));
    return false;
}

/* An answer, with which no further pass goes on: probabilities, a position, a mean or a direction of what it has made. */
static bool is_answer(const struct ap_habit_rows *rows, size_t last)
{
    if (is_division_by_norm(rows, last))
        return true;
    for (size_t at = last; at + MOST_TO_RESULT > last; at--) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
        if (words & (AP_BIT(PIECE) | AP_BIT(REDUCTION)) || ap_text_ends_with(name, "softmax"))
            return true;
        if (!AP_HAS(words, VIEW) || AP_HAS(words, HEAVY) || !at)
            return false;
    }
    return false;
}

static bool are_scores(const struct ap_habit_rows *rows, size_t last)
{
    return ap_habit_is_named(rows, last, AP_TEXT("aten::linear"));
}

/* Looks texts up and has layers, and chooses nothing: what is asked before the first layer is of its input, as whether a
 * mask hides anything. Where its scores are put together, it puts something to what it keeps: one token of a text follows
 * another one, and all of them were known. */
static bool is_whole_pass(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    uint64_t layers = 0, operators = end - start;
    bool looks_up = false, keeps = is_answer(rows, end - 1);
    for (size_t at = start; at < end; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        looks_up |= ap_habit_is_named(rows, at, AP_TEXT("aten::embedding"));
        layers += AP_HAS(words, HEAVY);
        operators += rows->items[at].inner;
        keeps |= AP_HAS(words, GATHER);
        if (AP_HAS(words, HEAVY) && rows->items[at].inner > MOST_WITHIN)
            return false;
        if (words & (AP_BIT(CHOSEN) | AP_BIT(TOP)) || (layers && AP_HAS(words, SCALAR)))
            return false;
    }
    return looks_up && keeps && layers >= LEAST_LAYERS && operators >= LEAST_OPERATORS;
}

/* Items before @end that have the names of those @period before them. */
static size_t count_alike(struct ap_habit_rows *rows, size_t end, size_t period)
{
    size_t count = 0;
    while (count + period < end && rows->looks_left && is_alike(rows, end - 1 - count, end - 1 - count - period)) {
        rows->looks_left--;
        count++;
    }
    return count;
}

static void add_turns(struct ap_habit_rows *rows, enum ap_habit_id id, size_t start, size_t end, size_t turns)
{
    int64_t short_ns = 0;
    for (size_t at = start; at < end; at++)
        short_ns += ap_item_dispatch_ns(rows, &rows->items[at]) + (at > start ? ap_habit_lead_ns(rows, at) : 0);
    struct ap_habit *habit = ap_habit_add_in_pieces(rows->habits, id, rows->items[start].row, short_ns,
                                                    ap_share_of(short_ns, 1 - 1 / (double)turns));
    if (habit)
        ap_habit_take_names(rows, rows->items + start, (end - start) / turns, habit->names);
    ap_habit_add_time(rows->habits, id, ap_item_start_ns(rows, &rows->items[start]),
                      ap_item_end_ns(rows, &rows->items[end - 1]));
}

/* Of a picture or a signal, of which the batch has one: a dimension more, and a convolution. What is handed on from pass to
 * pass, as a recurrent layer does, is put beside the input, or added to it, where convolutions alone make a picture of a
 * picture; and which piece of a picture goes in may be what the pass before found, as in tracking. */
static bool is_pass_of_one(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    uint64_t layers = 0, operators = end - start;
    bool has_batch = false, is_first = true, mixes = false, is_filter = true;
    for (size_t at = start; at < end; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
        operators += rows->items[at].inner;
        if (words & (AP_BIT(GATHER) | AP_BIT(CELL) | AP_BIT(LSTM_CELL)) || ap_text_is(name, "aten::tanh"))
            return false;
        if (is_first && (AP_HAS(words, PIECE) || ap_text_starts_with(name, "aten::lerp")))
            return false;
        mixes |= is_first && (ap_text_is(name, "aten::add") || ap_text_is(name, "aten::sub"));
        has_batch |= is_first && ap_text_is(name, "aten::unsqueeze");
        if (!AP_HAS(words, HEAVY))
            continue;
        if (is_first && !ap_text_starts_with(name, "aten::conv"))
            return false;
        is_first = false;
        is_filter &= ap_text_starts_with(name, "aten::conv");
        layers++;
    }
    return !(mixes && is_filter) && has_batch && layers >= LEAST_LAYERS && operators >= LEAST_OPERATORS;
}

/* @rows_apart: where all rows of a tensor are taken apart, which one pass after the other then goes over: whatever it makes
 * of one, the next one is there. */
static void look_behind(struct ap_habit_rows *rows, size_t rows_apart)
{
    size_t start = rows_apart + 1;
    for (size_t period = LEAST_ITEMS; start + period < rows->item_count && period <= MOST_OPERATORS && rows->looks_left;
         period++) {
        size_t alike = 0;
        rows->looks_left--;
        while (start + period + alike < rows->item_count && rows->looks_left &&
               is_alike(rows, start + alike, start + alike + period)) {
            rows->looks_left--;
            alike++;
        }
        size_t turns = alike / period + 1;
        if (turns < LEAST_TURNS || !is_pass_of_one(rows, start, start + period))
            continue;
        add_turns(rows, AP_HABIT_pass_in_turn, start, start + turns * period, turns);
        return;
    }
}

/* Takes a piece of what is there and goes through layers and back, and reads and writes nothing that another one could see:
 * weights that are changed, gradients that are added up, or the piece that the next one takes. */
static bool is_pass_with_gradient(const struct ap_habit_rows *rows, size_t start, size_t end)
{
    uint64_t layers = 0, nodes = 0, gradients = 0;
    for (size_t at = start; at < end; at++) {
        const struct ap_habit_item *item = &rows->items[at];
        uint64_t words = ap_item_words(rows, item);
        struct ap_text name = ap_row_name(rows->trace, item->row);
        bool in_place =
            ap_text_ends_with(name, "_") && !ap_text_is(name, "aten::requires_grad_") && !ap_text_is(name, "aten::detach_");
        if (words & (AP_BIT(GATHER) | AP_BIT(SCALAR) | AP_BIT(LOADER) | AP_BIT(COLLECTIVE)) || (nodes && in_place))
            return false;
        gradients += ap_text_ends_with(name, "AccumulateGrad");
        layers += AP_HAS(words, HEAVY);
        nodes += AP_HAS(words, NODE);
    }
    return AP_HAS(ap_item_words(rows, &rows->items[start]), PIECE) && layers >= LEAST_LAYERS && nodes >= LEAST_LAYERS &&
           gradients <= 1; /* of the input */
}

/* @end: where results are put together; @is_one: what a pass has to be. */
static void look_before(struct ap_habit_rows *rows, enum ap_habit_id id, size_t end,
                        bool (*is_one)(const struct ap_habit_rows *, size_t, size_t))
{
    for (size_t period = LEAST_ITEMS; period < end && period <= MOST_OPERATORS && rows->looks_left; period++) {
        rows->looks_left--;
        if (!is_alike(rows, end - 1, end - 1 - period))
            continue;
        size_t turns = count_alike(rows, end, period) / period + 1;
        if (turns < LEAST_TURNS || !is_one(rows, end - period, end))
            continue; /* layers that are alike follow each other within a pass */
        add_turns(rows, id, end - turns * period, end, turns);
        return;
    }
}

void ap_habit_find_turns(struct ap_habit_rows *rows)
{
    ap_habit_begin_search(rows);
    for (size_t at = 1; at < rows->item_count; at++)
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), GATHER) && ap_habit_is_of_step(rows, at, at - 1) &&
            (is_answer(rows, at - 1) || are_scores(rows, at - 1)))
            look_before(rows, AP_HABIT_pass_in_turn, at, is_whole_pass);
        else if (ap_habit_is_named(rows, at - 1, AP_TEXT("aten::unbind")))
            look_behind(rows, at - 1);
}

void ap_habit_find_gradient_turns(struct ap_habit_rows *rows)
{
    ap_habit_begin_search(rows);
    for (size_t at = 1; at < rows->item_count; at++)
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), GATHER) && rows->items[at].step == rows->items[at - 1].step)
            look_before(rows, AP_HABIT_gradient_in_turn, at, is_pass_with_gradient);
}
