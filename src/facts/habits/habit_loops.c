/* SPDX-License-Identifier: MIT
 * The same few operators again and again: loops in Python, with what the backward pass does for them. */
#include <string.h>

#include "habit_items.h"
#include "sort.h"

#include "poison.h"

#define PERIOD_MAX 64   /* bits of a set */
#define SHORT_PERIOD 16 /* longer ones may be layers of a model: they have to take pieces, or read values */
#define RARE_GAPS 20    /* one long gap in so many is a hiccup, and goes with the loop */
#define LEAST_PASSES 16
#define LEAST_ROWS 4     /* passes of a model over all rows of a tensor */
#define LEAST_EXPERTS 4  /* passes that choose rows, multiply them and add them back */
#define EXPERTS_KEEP 0.3 /* of such a loop, for the products of all experts in one call: our choice */
#define HEADS_KEEP 0.35  /* of heads of attention one by one, for all of them at once: measured, 0.35 to 0.65 */
#define LONG_PASSES 4    /* one in so many may be long: a thread that stood still in it */
#define LEAST_VARIED 64  /* calls right in one run of a function whose passes differ */
#define VARIED_NAMES 12  /* of operators in them */
#define UNFRAMED 256     /* calls likewise, where no frame of the user's is recorded */
#define UNFRAMED_NAMES 6
#define KINDS_MAX 64     /* of loops, by their operators */
#define CELL_KEEPS 0.6   /* of a loop over such cells: measured with small ones, 0.55 to 1 */
#define LSTM_KEEPS 0.5   /* of the arithmetic of LSTM cells: products with the input join over time, the others do not */
#define MODULE_DEPTH 100 /* rows around an operator in which its module is looked for */

/* Finds rows of a kind, takes them, multiplies them, puts the results back. Layers of a graph network take all neighbors. */
static bool is_of_experts(uint64_t any)
{
    return AP_HAS(any, FINDS_ROWS) && AP_HAS(any, TAKES) && AP_HAS(any, ROWS_BACK) &&
           (AP_HAS(any, HEAVY) || AP_HAS(any, PRODUCT));
}

/* Compares all rows in each pass, takes those of one group and sums them up: all rows once for each group, however long that
 * takes. */
static bool is_of_groups(uint64_t any)
{
    return AP_HAS(any, FINDS_ROWS) && AP_HAS(any, TAKES) && AP_HAS(any, REDUCTION) && !AP_HAS(any, HEAVY);
}

static enum ap_habit_id kind_of(uint64_t any, bool only_copies)
{
    /* a method that goes round, as power iteration, has norms too */
    uint64_t computes = AP_BIT(HEAVY) | AP_BIT(PRODUCT) | AP_BIT(VECTOR_PRODUCT);
    return AP_HAS(any, COLLECTIVE)                    ? AP_HABIT_collective_loop
           : is_of_experts(any)                       ? AP_HABIT_expert_loop
           : AP_HAS(any, NORM) && !(any & computes)   ? AP_HABIT_norm_loop
           : AP_HAS(any, MODEL)                       ? AP_HABIT_module_loop
           : AP_HAS(any, SCALAR) && !(any & computes) ? AP_HABIT_scalar_loop
           : only_copies                              ? AP_HABIT_copy_loop
                                                      : AP_HABIT_operator_loop;
}

int64_t ap_habit_gap_before(const struct ap_habit_rows *rows, size_t at)
{
    return at ? ap_item_start_ns(rows, &rows->items[at]) - ap_item_end_ns(rows, &rows->items[at - 1]) : INT64_MAX;
}

int64_t ap_habit_lead_ns(const struct ap_habit_rows *rows, size_t at)
{
    int64_t gap_ns = ap_habit_gap_before(rows, at);
    return gap_ns > 0 && gap_ns <= AP_HABIT_GAP_NS ? gap_ns : 0;
}

int64_t ap_habit_given_back_ns(const struct ap_habit_rows *rows, size_t at, int64_t made_ns)
{
    int64_t behind_ns = at + 1 < rows->item_count ? ap_habit_gap_before(rows, at + 1) : 0;
    return behind_ns > made_ns ? made_ns : behind_ns > 0 ? behind_ns : 0;
}

/* Long gaps have another cause unless they are rare, but behind a collective they are the wait for it. */
static int64_t pauses_in(const struct ap_habit_rows *rows, enum ap_habit_id id, size_t start, size_t end)
{
    int64_t long_ns = 0;
    size_t long_count = 0;
    for (size_t i = start + 1; i < end && id != AP_HABIT_collective_loop; i++) {
        bool is_long = ap_habit_gap_before(rows, i) > AP_HABIT_GAP_NS;
        long_ns += is_long ? ap_habit_gap_before(rows, i) : 0;
        long_count += is_long;
    }
    return long_count < (end - start) / RARE_GAPS ? 0 : long_ns;
}

/* Its span, with what Python takes to begin it. */
static int64_t loop_time(const struct ap_habit_rows *rows, size_t start, size_t end, int64_t paused_ns)
{
    int64_t span_ns = ap_item_end_ns(rows, &rows->items[end - 1]) - ap_item_start_ns(rows, &rows->items[start]);
    return span_ns - paused_ns + ap_habit_lead_ns(rows, start);
}

enum ap_status ap_habit_new_loop(struct ap_habit_rows *rows, struct ap_habit_loop **ret_loop, struct ap_error *reterr)
{
    AP_TRY(ap_mem_reserve(rows->habits->gate, (void **)&rows->loops, &rows->loop_capacity, rows->loop_count + 1,
                          sizeof(rows->loops[0]), reterr));
    *ret_loop = &rows->loops[rows->loop_count++];
    **ret_loop = (struct ap_habit_loop){ .row = AP_NO_ROW };
    return AP_OK;
}

/* The module that the row runs in, as its name with its number; 0 = not told. */
static uint32_t module_of(const struct ap_habit_rows *rows, uint32_t row)
{
    for (int depth = 0; row != AP_NO_ROW && depth < MODULE_DEPTH; depth++) {
        if (ap_row_is_of(rows->trace, row, 1u << AP_KIND_python) &&
            ap_text_starts_with(ap_row_name(rows->trace, row), "nn.Module: "))
            return rows->trace->events.name[row];
        row = ap_host_parent(&rows->facts->tree, row);
    }
    return 0;
}

/* Takes a piece of a tensor to work with; what follows does not fill it, as a loop that keeps its results does. */
static bool takes_piece(const struct ap_habit_rows *rows, size_t at)
{
    return AP_HAS(ap_item_words(rows, &rows->items[at]), PIECE) &&
           (at + 1 >= rows->item_count || !AP_HAS(ap_item_words(rows, &rows->items[at + 1]), FILLS));
}

static bool has_piece(const struct ap_habit_rows *rows, size_t start, size_t period)
{
    for (size_t i = start; i < start + period; i++)
        if (takes_piece(rows, i))
            return true;
    return false;
}

/* `for row in tensor`: one call before the first pass takes all rows apart, and there are as many passes. */
static bool is_over_unbound(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period)
{
    struct ap_tensor_list list;
    return start && ap_habit_is_named(rows, start - 1, AP_TEXT("aten::unbind")) &&
           rows->items[start - 1].step == rows->items[start].step && ap_habit_read_tensors(rows, start - 1, &list) &&
           (uint64_t)list.tensors[0].dims[0] == (end - start) / period;
}

/* Each pass takes a piece of the same tensor, as many as that has rows: they do not depend on each other. */
static bool is_over_all_rows(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period)
{
    struct ap_tensor_list first, last;
    if (is_over_unbound(rows, start, end, period))
        return true;
    for (size_t i = start, back = (end - start) / period * period - period; i < start + period; i++)
        if (takes_piece(rows, i) && ap_habit_read_tensors(rows, i, &first) && ap_habit_read_tensors(rows, i + back, &last) &&
            ap_tensor_equal(&first.tensors[0], &last.tensors[0]) &&
            (uint64_t)first.tensors[0].dims[0] == (end - start) / period)
            return true;
    return false;
}

static bool is_recurrent(const struct ap_habit_rows *rows, size_t at)
{
    static const char *const names[] = { "aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(ap_row_name(rows->trace, rows->items[at].row), names[i]))
            return true;
    return false;
}

/* A layer that goes over a sequence by itself is handed a piece of it, and the state: time step after time step. Two passes
 * tell, as the first of them may begin anywhere. */
static bool is_step_by_step(const struct ap_habit_rows *rows, size_t start, size_t period)
{
    bool is_piece = false;
    for (size_t i = start; i < start + 2 * period; i++) {
        if (is_piece && is_recurrent(rows, i))
            return true;
        is_piece = takes_piece(rows, i) || (is_piece && AP_HAS(ap_item_words(rows, &rows->items[i]), VIEW));
    }
    return false;
}

/* Layers of a model are modules of their own; a loop calls one module for piece after piece, and chooses nothing in between
 * that the next one begins with. */
static bool is_one_module(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period, uint64_t any)
{
    bool takes_pieces = has_piece(rows, start, period) || is_over_unbound(rows, start, end, period);
    if (!takes_pieces || (AP_HAS(any, CHOICE) && !is_over_all_rows(rows, start, end, period)))
        return false;
    if (is_step_by_step(rows, start, period))
        return true;
    for (size_t i = start; i < start + period; i++) {
        uint32_t module = AP_HAS(ap_item_words(rows, &rows->items[i]), MODEL) ? module_of(rows, rows->items[i].row) : 0;
        if (AP_HAS(ap_item_words(rows, &rows->items[i]), MODEL) &&
            (!module || module != module_of(rows, rows->items[i + period].row)))
            return false;
    }
    return true;
}

/* What the passes are made of. */
struct pass_words {
    uint64_t any;
    bool copies, views; /* nothing else */
};

static struct pass_words words_of_pass(const struct ap_habit_rows *rows, size_t start, size_t period)
{
    struct pass_words pass = { .copies = true, .views = true };
    bool has_copy = false, attends = true; /* and nothing else: layers have products beside */
    for (size_t i = 0; i < period; i++) {
        uint64_t words = ap_item_words(rows, &rows->items[start + i]);
        bool is_view = AP_HAS(words, NO_WORK) || AP_HAS(words, VIEW);
        pass.any |= words;
        attends &= AP_HAS(words, ATTENTION) || (is_view && !AP_HAS(words, HEAVY));
        has_copy |= AP_HAS(words, COPY);
        pass.copies &= AP_HAS(words, COPY) || is_view;
        pass.views &= is_view;
    }
    pass.copies &= has_copy;
    pass.any &= attends ? ~AP_BIT(MODEL) : pass.any;
    return pass;
}

/* Cells of recurrent layers and the like are one call that makes many. */
static bool is_short_for(const struct ap_habit_rows *rows, size_t start, size_t end, int64_t total_ns)
{
    uint64_t calls = end - start;
    if (total_ns / (int64_t)calls <= AP_HABIT_SHORT_NS)
        return true;
    for (size_t i = start; i < end; i++)
        calls += rows->items[i].inner;
    return total_ns / (int64_t)calls <= AP_HABIT_CALL_NS;
}

/* Is it dispatch that takes the time? Else the loop is of a model's own layers. Where a device computes, it is dispatch
 * however long it takes; where others use the core meanwhile, some passes take long, and most tell. */
static bool is_of_short_calls(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period, int64_t total_ns)
{
    size_t passes = (end - start) / period, short_passes = 0;
    if (rows->facts->links.count || is_short_for(rows, start, end, total_ns))
        return true;
    for (size_t i = start; i + period <= end; i += period)
        short_passes += is_short_for(rows, i, i + period, loop_time(rows, i, i + period, 0));
    return short_passes >= passes - passes / LONG_PASSES;
}

/* The share of a loop that the better form takes too: a layer of cells computes what they do. Of LSTM cells, which are one
 * operator then, and of layers that are called for a time step, that is what is beyond twice the dispatch of their parts. */
static double kept_by_cells(const struct ap_habit_rows *rows, size_t start, size_t end, uint64_t any, int64_t total_ns)
{
    int64_t computes_ns = 0;
    if (AP_HAS(any, CELL))
        return CELL_KEEPS;
    for (size_t i = start; any & (AP_BIT(LSTM_CELL) | AP_BIT(FORWARD)) && i < end; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        int64_t dispatch_ns = 2 * AP_HABIT_CALL_NS * ((int64_t)item->inner + 1);
        int64_t dur_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item);
        bool is_cell = AP_HAS(ap_item_words(rows, item), LSTM_CELL) || is_recurrent(rows, i);
        computes_ns += is_cell && dur_ns > dispatch_ns ? dur_ns - dispatch_ns : 0;
    }
    return total_ns > 0 ? LSTM_KEEPS * (double)computes_ns / (double)total_ns : 0;
}

/* Where a device computes, loops of other programs than PyTorch's are runtimes at work, which hold no operators. */
static bool is_of_program(const struct ap_habit_rows *rows, size_t start, size_t period)
{
    bool is_told = !rows->facts->links.count;
    for (size_t i = 0; i < period && !is_told; i++)
        is_told = ap_text_starts_with(ap_trace_text(rows->trace, ap_habit_name_at(rows, start + i)), "aten::");
    return is_told;
}

/* The items from @start to before @end are passes of @period items. */
static enum ap_status add_loop(struct ap_habit_rows *rows, size_t start, size_t end, size_t period, struct ap_error *reterr)
{
    struct pass_words pass = words_of_pass(rows, start, period);
    size_t passes_end = end;
    bool one_module =
        !AP_HAS(pass.any, MODEL) || is_of_experts(pass.any) || is_one_module(rows, start, end, period, pass.any);
    bool side_by_side = !one_module && ap_habit_are_side_by_side(rows, start, end, period);
    bool step_by_step = one_module && is_step_by_step(rows, start, period);
    if (end < rows->item_count && AP_HAS(ap_item_words(rows, &rows->items[end]), GATHER) &&
        rows->items[end].step == rows->items[start].step)
        end++; /* what is put together would be in one piece */
    enum ap_habit_id id = side_by_side || step_by_step ? AP_HABIT_operator_loop : kind_of(pass.any, pass.copies);
    int64_t paused_ns = pauses_in(rows, id, start, end), total_ns = loop_time(rows, start, end, paused_ns);
    bool is_short = is_of_groups(pass.any) || step_by_step || is_of_short_calls(rows, start, passes_end, period, total_ns);
    bool are_heads = !is_short && side_by_side && ap_habit_attends(rows, start, period);
    struct ap_habit_loop *loop;
    bool may_be_layers = period > SHORT_PERIOD && !(pass.any & (AP_BIT(PIECE) | AP_BIT(SCALAR))) && !side_by_side &&
                         !is_over_unbound(rows, start, passes_end, period);
    if (pass.views || may_be_layers || (!one_module && !side_by_side) || !is_of_program(rows, start, period) ||
        ap_habit_make_no_batch(rows, start, passes_end, period, one_module && id == AP_HABIT_operator_loop && !step_by_step))
        return AP_OK;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){
        .id = id,
        .row = rows->items[start].row,
        .period = (uint32_t)period,
        .end_ns = ap_item_end_ns(rows, &rows->items[end - 1]),
        .paused_ns = paused_ns,
        .total_ns = total_ns,
        .first = ap_item_sequence(rows, &rows->items[start]),
        .last = ap_habit_last_sequence(rows, end - 1),
        .keeps = are_heads                    ? HEADS_KEEP
                 : id == AP_HABIT_expert_loop ? EXPERTS_KEEP
                                              : kept_by_cells(rows, start, end, pass.any, total_ns),
        .is_slow = !is_short && !are_heads &&
                   (id == AP_HABIT_operator_loop || id == AP_HABIT_module_loop || id == AP_HABIT_expert_loop)
    };
    ap_habit_take_names(rows, rows->items + start, period, loop->names);
    return AP_OK;
}

/* Sets of periods: bit 0 is 1. */
struct runs {
    uint64_t open;                /* by which the last item equals the one a period before */
    size_t begin[PERIOD_MAX + 1]; /* by period that is open: the first item of which that is so */
    size_t start, taken;          /* of the stretch of calls; items before @taken are of a loop already */
    uint64_t same[PERIOD_MAX];    /* of the last items, in turn: those before with the same name */
};

static enum ap_status end_run(struct ap_habit_rows *rows, struct runs *runs, size_t period, size_t end,
                              struct ap_error *reterr)
{
    size_t start = runs->begin[period] - period;
    if (start < runs->taken)
        start = runs->taken;
    size_t passes = start < end ? (end - start) / period : 0;
    bool experts = passes >= LEAST_EXPERTS && is_of_experts(words_of_pass(rows, start, period).any);
    if (passes < LEAST_ROWS ||
        (passes < LEAST_PASSES && !experts && !is_over_unbound(rows, start, end, period) &&
         (!AP_HAS(words_of_pass(rows, start, period).any, MODEL) ||
          (!is_over_all_rows(rows, start, end, period) && !ap_habit_are_side_by_side(rows, start, end, period)))))
        return AP_OK;
    runs->taken = end;
    return add_loop(rows, start, end, period, reterr);
}

static enum ap_status end_runs(struct ap_habit_rows *rows, struct runs *runs, uint64_t periods, size_t end,
                               struct ap_error *reterr)
{
    for (; periods; periods &= periods - 1)
        AP_TRY(end_run(rows, runs, (size_t)__builtin_ctzll(periods) + 1, end, reterr));
    return AP_OK;
}

/* The periods at which the call has the name of one before: those of the last one of that name, as far on as this is behind
 * it. What a thread before left in @last_of is told by the name that stands there. */
static uint64_t same_before(struct ap_habit_rows *rows, struct runs *runs, size_t i)
{
    uint32_t name = ap_habit_name_at(rows, i);
    size_t last = rows->last_of[name], back = i - last;
    uint64_t same = 0;
    if (last < i && back <= PERIOD_MAX && ap_habit_name_at(rows, last) == name)
        same = UINT64_C(1) << (back - 1) | (back < PERIOD_MAX ? runs->same[last % PERIOD_MAX] << back : 0);
    rows->last_of[name] = (uint32_t)i;
    runs->same[i % PERIOD_MAX] = same;
    size_t most = i - runs->start;
    return most < PERIOD_MAX ? same & ((UINT64_C(1) << most) - 1) : same;
}

/* A step is a pass of the program's own loop, however few operators it calls: no other loop goes on in the next one. */
static bool begins_step(const struct ap_habit_rows *rows, size_t at)
{
    return at && rows->items[at].step != rows->items[at - 1].step;
}

/* ---- loops whose passes differ, as those with an if in them do ---- */

#define OF_MODEL (AP_BIT(HEAVY) | AP_BIT(MODEL) | AP_BIT(PRODUCT) | AP_BIT(COLLECTIVE))

/* Calls one after the other right in one run of a function of the user's. */
struct frame_run {
    size_t start;
    uint32_t frame; /* row; AP_NO_ROW = none */
    uint32_t names[VARIED_NAMES], name_count;
    uint64_t any;
    size_t next_loop; /* the first one that does not end before */
};

static uint32_t frame_of(const struct ap_habit_rows *rows, uint32_t row)
{
    for (int depth = 0; row != AP_NO_ROW && depth < MODULE_DEPTH; depth++) {
        if (ap_row_is_of(rows->trace, row, 1u << AP_KIND_python) &&
            ap_is_user_frame(&rows->habits->chains.frames, rows->trace->events.name[row]))
            return row;
        row = ap_host_parent(&rows->facts->tree, row);
    }
    return AP_NO_ROW;
}

/* Of the items from @start on: these never go back. */
static bool has_loop(const struct ap_habit_rows *rows, struct frame_run *run, size_t start, size_t end)
{
    int64_t start_ns = ap_item_start_ns(rows, &rows->items[start]), end_ns = ap_item_end_ns(rows, &rows->items[end - 1]);
    while (run->next_loop < rows->loop_count && rows->loops[run->next_loop].end_ns <= start_ns)
        run->next_loop++;
    return run->next_loop < rows->loop_count && rows->trace->events.start_ns[rows->loops[run->next_loop].row] < end_ns;
}

/* Many calls of few operators, which take pieces or read values, and no layers: passes of a loop, whatever their order. */
static enum ap_status end_frame_run(struct ap_habit_rows *rows, struct frame_run *run, size_t end, struct ap_error *reterr)
{
    size_t calls = end - run->start;
    struct ap_habit_loop *loop;
    if (calls < (run->frame == AP_NO_ROW ? UNFRAMED : LEAST_VARIED) || run->name_count > VARIED_NAMES ||
        calls < run->name_count * LEAST_PASSES || !(run->any & (AP_BIT(PIECE) | AP_BIT(SCALAR))) || (run->any & OF_MODEL) ||
        (run->frame != AP_NO_ROW && has_loop(rows, run, run->start, end)))
        return AP_OK;
    enum ap_habit_id id = kind_of(run->any, false);
    int64_t paused_ns = pauses_in(rows, id, run->start, end), total_ns = loop_time(rows, run->start, end, paused_ns);
    if (!is_of_short_calls(rows, run->start, end, end - run->start, total_ns))
        return AP_OK;
    AP_TRY(ap_habit_new_loop(rows, &loop, reterr));
    *loop = (struct ap_habit_loop){ .id = id,
                                    .row = rows->items[run->start].row,
                                    .period = run->name_count,
                                    .end_ns = ap_item_end_ns(rows, &rows->items[end - 1]),
                                    .paused_ns = paused_ns,
                                    .total_ns = total_ns,
                                    .first = ap_item_sequence(rows, &rows->items[run->start]),
                                    .last = ap_habit_last_sequence(rows, end - 1) };
    ap_habit_take_names(rows, rows->items + run->start, calls, loop->names);
    return AP_OK;
}

static uint32_t number_of_name(const struct frame_run *run, uint32_t name)
{
    uint32_t known = 0;
    while (known < run->name_count && known < VARIED_NAMES && run->names[known] != name)
        known++;
    return known;
}

static void add_to_run(const struct ap_habit_rows *rows, struct frame_run *run, const struct ap_habit_item *item)
{
    uint32_t known = number_of_name(run, ap_habit_name_of(rows, item));
    run->any |= ap_item_words(rows, item);
    if (known == run->name_count && known < VARIED_NAMES)
        run->names[run->name_count++] = ap_habit_name_of(rows, item);
    else if (known == VARIED_NAMES)
        run->name_count = VARIED_NAMES + 1;
}

static enum ap_status find_varied_loops(struct ap_habit_rows *rows, size_t first_loop, struct ap_error *reterr)
{
    struct frame_run run = { .frame = AP_NO_ROW, .next_loop = first_loop };
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        bool is_call = ap_habit_is_call(rows, item);
        uint32_t frame = is_call ? frame_of(rows, item->row) : AP_NO_ROW;
        /* without a frame names alone tell where it may begin and end, and loops with passes that are alike */
        bool may_be =
            is_call && (frame != AP_NO_ROW || (!(ap_item_words(rows, item) & OF_MODEL) && !has_loop(rows, &run, i, i + 1)));
        bool is_new = frame == AP_NO_ROW && run.name_count == UNFRAMED_NAMES &&
                      number_of_name(&run, ap_habit_name_of(rows, item)) == UNFRAMED_NAMES;
        if (!may_be || is_new || frame != run.frame || begins_step(rows, i)) {
            AP_TRY(end_frame_run(rows, &run, i, reterr));
            run = (struct frame_run){ .start = i + !may_be, .frame = frame, .next_loop = run.next_loop };
        }
        if (may_be)
            add_to_run(rows, &run, item);
    }
    return end_frame_run(rows, &run, rows->item_count, reterr);
}

enum ap_status ap_habit_find_loops(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    struct runs runs = { .start = 0 };
    size_t first_loop = rows->loop_count;
    for (size_t i = 0; i < rows->item_count; i++) {
        bool is_call = ap_habit_is_call(rows, &rows->items[i]);
        runs.start = begins_step(rows, i) ? i : runs.start;
        uint64_t same = is_call ? same_before(rows, &runs, i) : 0;
        AP_TRY(end_runs(rows, &runs, runs.open & ~same, i, reterr));
        for (uint64_t begun = same & ~runs.open; begun; begun &= begun - 1)
            runs.begin[__builtin_ctzll(begun) + 1] = i;
        runs.open = same;
        runs.start = is_call ? runs.start : i + 1;
    }
    AP_TRY(end_runs(rows, &runs, runs.open, rows->item_count, reterr));
    return find_varied_loops(rows, first_loop, reterr);
}

/* A whole forward pass, with other loops in it: their nodes are its own, too. */
static bool is_pass(const struct ap_habit_loop *loop)
{
    return loop->id == AP_HABIT_padded_sample || loop->id == AP_HABIT_enlarged_image;
}

static int by_sequence(const void *left, const void *right)
{
    const struct ap_habit_loop *a = left, *b = right;
    AP_BY_SMALLER(!is_pass(a), !is_pass(b));
    AP_BY_SMALLER(a->first, b->first);
    AP_BY_SMALLER(a->row, b->row);
    AP_BY_SMALLER(a->end_ns, b->end_ns);
    return 0;
}

/* The loop that made the node: of so many the last one that begins at or before its number. */
static struct ap_habit_loop *maker_of(struct ap_habit_loop *loops, size_t count, ap_link_key sequence)
{
    size_t behind = 0;
    AP_BISECT(behind, count, at, loops[at].first <= sequence);
    struct ap_habit_loop *loop = behind ? &loops[behind - 1] : NULL;
    return loop && loop->first && sequence <= loop->last ? loop : NULL;
}

/* @loop may be NULL. */
static void add_time(struct ap_habit_rows *rows, struct ap_habit_loop *loop, int64_t start_ns, int64_t end_ns)
{
    if (!loop)
        return;
    loop->total_ns = ap_add_sat(loop->total_ns, end_ns - start_ns, &rows->habits->overflowed);
    ap_habit_add_time(rows->habits, loop->id, start_ns, end_ns);
}

/* With each node, the way to it from the one before. @passes: so many of the loops, the first ones, are whole passes. */
static void add_nodes(struct ap_habit_rows *rows, size_t passes, size_t track)
{
    const struct ap_row_order *order = &rows->facts->order;
    int64_t last_end_ns = 0;
    bool is_behind_node = false;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (!ap_habit_is_operator(rows, row))
            continue;
        int64_t start_ns = rows->trace->events.start_ns[row], gap_ns = start_ns - last_end_ns;
        if (!AP_HAS(ap_habit_words_of(rows, row), NODE)) {
            is_behind_node &= gap_ns < 0;
            continue;
        }
        const struct ap_op_detail *op = ap_row_op(rows->trace, row);
        int64_t from_ns = is_behind_node && gap_ns > 0 && gap_ns <= AP_HABIT_GAP_NS ? last_end_ns : start_ns;
        is_behind_node = true;
        last_end_ns = ap_row_end_ns(rows->trace, row);
        if (!op || !op->sequence)
            continue;
        add_time(rows, maker_of(rows->loops, passes, op->sequence), from_ns, last_end_ns);
        add_time(rows, maker_of(rows->loops + passes, rows->loop_count - passes, op->sequence), from_ns, last_end_ns);
    }
}

static bool are_alike(const struct ap_habit_loop *one, const struct ap_habit_loop *other)
{
    return one->id == other->id && one->period == other->period && !memcmp(one->names, other->names, sizeof(one->names));
}

/* A machine that is busy with something else makes one round of a loop slow: the same loop is short in another step. */
static void drop_slow_loops(struct ap_habit_rows *rows)
{
    struct ap_habit_loop short_ones[KINDS_MAX];
    size_t kinds = 0, kept = 0;
    for (size_t i = 0; i < rows->loop_count && kinds < KINDS_MAX; i++) {
        size_t kind = 0;
        while (kind < kinds && !are_alike(&short_ones[kind], &rows->loops[i]))
            kind++;
        if (kind == kinds && !rows->loops[i].is_slow)
            short_ones[kinds++] = rows->loops[i];
    }
    for (size_t i = 0; i < rows->loop_count; i++) {
        size_t kind = 0;
        while (kind < kinds && !are_alike(&short_ones[kind], &rows->loops[i]))
            kind++;
        if (!rows->loops[i].is_slow || kind < kinds)
            rows->loops[kept++] = rows->loops[i];
    }
    rows->loop_count = kept;
}

static void add_part(struct ap_habits *habits, const struct ap_habit_loop *loop)
{
    struct ap_habit *habit = &habits->of[loop->id];
    int64_t saves_ns = ap_share_of(loop->total_ns, 1 - loop->keeps);
    habit->total_ns = ap_add_sat(habit->total_ns, loop->total_ns, &habits->overflowed);
    habit->saves_ns = ap_add_sat(habit->saves_ns, saves_ns, &habits->overflowed);
}

void ap_habit_add_loops(struct ap_habit_rows *rows)
{
    const struct ap_events *events = &rows->trace->events;
    drop_slow_loops(rows);
    ap_sort(rows->loops, rows->loop_count, sizeof(rows->loops[0]), by_sequence);
    size_t passes = 0;
    AP_BISECT(passes, rows->loop_count, at, is_pass(&rows->loops[at]));
    for (size_t track = 0; rows->loop_count && track < rows->facts->order.track_count; track++)
        if (ap_track_may_hold(&rows->facts->order, track, 1u << AP_KIND_operator))
            add_nodes(rows, passes, track);
    for (size_t i = 0; i < rows->loop_count; i++) {
        const struct ap_habit_loop *loop = &rows->loops[i];
        if (loop->is_part) {
            add_part(rows->habits, loop);
            continue;
        }
        ap_habit_add_time(rows->habits, loop->id, events->start_ns[loop->row], loop->end_ns - loop->paused_ns);
        struct ap_habit *habit = ap_habit_add_in_pieces(rows->habits, loop->id, loop->row, loop->total_ns,
                                                        ap_share_of(loop->total_ns, 1 - loop->keeps));
        if (!habit)
            continue;
        memcpy(habit->names, loop->names, sizeof(habit->names));
        habit->signature = loop->signature;
    }
}
