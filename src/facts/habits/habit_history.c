/* SPDX-License-Identifier: MIT
 * What each step adds to all that is there. A metric that is computed of all results so far: what it sorts and sums up has
 * more rows from step to step, each time by as many. A queue, and a series that a recurrent layer goes over again, where
 * no sizes are told. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_HISTORY 16384.0 /* elements: a metric of fewer costs nothing */
#define LEAST_RISES 2         /* from step to step, each by as much */
#define NAMES_MAX 64          /* of operators that metrics are made of */
#define LEAST_RERUNS 4        /* calls of a recurrent layer, each on one value more than the last one */
#define RERUNS_MAX 256        /* that are compared with each other */
#define LEAST_RERUN_PAIRS 8   /* of one of the first half and one of the second one */
#define LEAST_LONGER 0.8      /* of them: chance makes it half */
#define BEFORE_RECURRENT 12   /* operators: what it is fed, and the zeros that it begins with */
#define LEAST_MOVES 3         /* of a queue, one a step */
#define LAYER_WITHIN 6        /* operators behind a slice that bring it into its form for a layer, with noise */

/* An operator by its name, and the most rows that it was called with in a step. */
struct growing {
    uint32_t name, step, rises;
    double rows, before, added;
};

/* Results are counted by the first size: one more text in a batch is none, and a longer text grows by another size. */
static double rows_of(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list) || list.tensors[0].count > 2 ||
        ap_tensor_elements(&list.tensors[0], 0, list.tensors[0].count) < LEAST_HISTORY)
        return 0;
    return (double)list.tensors[0].dims[0];
}

/* Without gradients: a loss of all results would have some. */
static bool makes_a_node(const struct ap_habit_rows *rows, size_t at)
{
    ap_link_key own = ap_item_sequence(rows, &rows->items[at]);
    return own && ap_habit_sequence_after(rows, at) > own;
}

static void end_step(struct growing *growing)
{
    double added = growing->rows - growing->before;
    if (growing->before > 0)
        growing->rises = added > 0 && (!growing->rises || added == growing->added) ? growing->rises + 1 : 0;
    growing->added = growing->before > 0 ? added : 0;
    growing->before = growing->rows;
    growing->rows = 0;
}

static void note_rows(struct growing *names, size_t *count, uint32_t name, uint32_t step, double results)
{
    size_t i = 0;
    while (i < *count && names[i].name != name)
        i++;
    if (i == NAMES_MAX)
        return;
    if (i == *count)
        names[(*count)++] = (struct growing){ .name = name, .step = step };
    if (names[i].step != step)
        end_step(&names[i]);
    names[i].step = step;
    names[i].rows = results > names[i].rows ? results : names[i].rows;
}

/* What adds the step's results to the others, and all that is done with as many. */
static void add_metric(struct ap_habit_rows *rows, const struct growing *growing)
{
    for (size_t at = rows->item_count; at-- > 0;) {
        const struct ap_habit_item *item = &rows->items[at];
        double results = growing->before - growing->added * (double)(growing->step - item->step), of_row;
        struct ap_tensor_list list;
        if (item->step > growing->step || results <= growing->added || !ap_habit_is_call(rows, item) ||
            makes_a_node(rows, at) || !ap_habit_read_tensors(rows, at, &list))
            continue;
        of_row = (double)list.tensors[0].dims[0];
        bool gathers =
            AP_HAS(ap_item_words(rows, item), GATHER) && at + 1 < rows->item_count && rows_of(rows, at + 1) == results;
        if (of_row != results && !gathers)
            continue;
        int64_t dur_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item);
        struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_whole_history, item->row, dur_ns,
                                              ap_share_of(dur_ns, 1 - growing->added / results));
        if (habit)
            habit->signature = ap_row_op(rows->trace, item->row)->signature.id;
    }
}

void ap_habit_find_history(struct ap_habit_rows *rows)
{
    struct growing names[NAMES_MAX];
    const struct growing *best = NULL;
    size_t count = 0;
    for (size_t at = 0; at < rows->item_count; at++) {
        const struct ap_habit_item *item = &rows->items[at];
        bool is_of_metric = AP_HAS(ap_item_words(rows, item), OF_METRIC) && !makes_a_node(rows, at);
        double results = is_of_metric ? rows_of(rows, at) : 0;
        if (results > 0)
            note_rows(names, &count, ap_habit_name_of(rows, item), item->step, results);
    }
    for (size_t i = 0; i < count; i++) {
        end_step(&names[i]);
        if (names[i].rises >= LEAST_RISES && (!best || names[i].before > best->before))
            best = &names[i];
    }
    if (best)
        add_metric(rows, best);
}

/* ---- a queue, without sizes ---- */

/* The slice is what a layer works on: it was put together for this step, as a signal that is rolled or padded at random. */
static bool goes_into_layer(const struct ap_habit_rows *rows, size_t slice)
{
    for (size_t at = slice + 1; at <= slice + LAYER_WITHIN && ap_habit_is_of_step(rows, slice, at); at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
        if (AP_HAS(words, HEAVY))
            return makes_a_node(rows, at);
        if (!(words & (AP_BIT(VIEW) | AP_BIT(BY_ELEMENT))) && !ap_text_is(name, "aten::flatten") &&
            !ap_text_ends_with(name, "_like"))
            return false;
    }
    return false;
}

/* Puts tensors together, and all that is done with the result is to take one slice of it: what is cut off moves out. */
static bool moves_queue(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_named(rows, at, AP_TEXT("aten::cat")) && !ap_habit_dims_of(rows, rows->items[at].row).bytes &&
           !makes_a_node(rows, at) && ap_habit_is_of_step(rows, at, at + 1) &&
           ap_habit_is_named(rows, at + 1, AP_TEXT("aten::slice")) && !makes_a_node(rows, at + 1) &&
           !(ap_habit_is_of_step(rows, at, at + 2) && AP_HAS(ap_item_words(rows, &rows->items[at + 2]), PIECE)) &&
           !goes_into_layer(rows, at + 1);
}

/* One in each step of a run that trains: keys to compare with, a buffer of samples. */
void ap_habit_find_queue(struct ap_habit_rows *rows)
{
    uint64_t moves = 0, steps = 0;
    uint32_t step = UINT32_MAX;
    for (size_t at = 0; at < rows->item_count; at++) {
        if (!moves_queue(rows, at))
            continue;
        moves++;
        steps += rows->items[at].step != step;
        step = rows->items[at].step;
    }
    if (!rows->has_optimizer || steps < LEAST_MOVES || moves != steps || steps + 1 < rows->facts->steps.count)
        return;
    for (size_t at = 0; at < rows->item_count; at++) {
        if (!moves_queue(rows, at))
            continue;
        int64_t dur_ns = rows->trace->events.dur_ns[rows->items[at].row];
        int64_t total_ns = dur_ns + ap_habit_given_back_ns(rows, at + 1, dur_ns); /* what it replaces */
        (void)ap_habit_add(rows->habits, AP_HABIT_growing_cat, rows->items[at].row, total_ns, total_ns);
    }
}

/* ---- all values of a series again: a recurrent layer, from zeros on, each time a value is put behind the last ones ---- */

/* Calls one behind the other; of all of them, how many are slower than one half of theirs before, and by how much. */
struct reruns {
    size_t calls[RERUNS_MAX], count;
    size_t compared, slower;
    int64_t apart, longer_ns;
    bool adds;
};

static int64_t dur_of(const struct ap_habit_rows *rows, size_t at)
{
    return rows->trace->events.dur_ns[rows->items[at].row];
}

static bool is_recurrent(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_named(rows, at, AP_TEXT("aten::lstm")) || ap_habit_is_named(rows, at, AP_TEXT("aten::gru")) ||
           ap_habit_is_named(rows, at, AP_TEXT("aten::rnn_tanh")) || ap_habit_is_named(rows, at, AP_TEXT("aten::rnn_relu"));
}

/* Zeros right before it, and before them what a layer has just said is put behind something: nothing is cut off from that,
 * as a window would be. */
static bool is_fed_longer(const struct ap_habit_rows *rows, size_t at)
{
    bool from_zeros = false, is_joined = false;
    for (size_t back = at; back-- > 0 && at - back <= BEFORE_RECURRENT && ap_habit_is_of_step(rows, at, back);) {
        uint64_t words = ap_item_words(rows, &rows->items[back]);
        if (is_joined && AP_HAS(words, WEIGHTED))
            return true;
        if (AP_HAS(words, HEAVY) || AP_HAS(words, PIECE))
            return false;
        if (!is_joined && ap_habit_is_named(rows, back, AP_TEXT("aten::zeros")))
            from_zeros = true;
        else if (from_zeros && !is_joined && ap_habit_is_named(rows, back, AP_TEXT("aten::cat")))
            is_joined = true;
        else if (!AP_HAS(words, VIEW))
            return false;
    }
    return false;
}

/* The longer the series, the longer it takes: of a call as many values as its time has of those that one value takes. */
static void add_rerun(struct ap_habit_rows *rows, const struct reruns *reruns, size_t at)
{
    double each_ns = (double)reruns->longer_ns / (double)reruns->apart, dur_ns = (double)dur_of(rows, at);
    (void)ap_habit_add(rows->habits, AP_HABIT_growing_prefix, rows->items[at].row, dur_of(rows, at),
                       ap_share_of(dur_of(rows, at), each_ns < dur_ns ? 1 - each_ns / dur_ns : 0));
}

static void end_reruns(struct ap_habit_rows *rows, struct reruns *reruns)
{
    size_t half = reruns->count / 2;
    for (size_t i = 0; i < reruns->count && reruns->count >= LEAST_RERUNS; i++) {
        if (reruns->adds && i)
            add_rerun(rows, reruns, reruns->calls[i]);
        if (reruns->adds || i + half >= reruns->count)
            continue;
        int64_t longer_ns = dur_of(rows, reruns->calls[i + half]) - dur_of(rows, reruns->calls[i]);
        reruns->compared++;
        reruns->slower += longer_ns > 0;
        reruns->apart += (int64_t)half;
        reruns->longer_ns += longer_ns;
    }
    reruns->count = 0;
}

static void go_over_reruns(struct ap_habit_rows *rows, struct reruns *reruns)
{
    for (size_t at = 0; at < rows->item_count; at++) {
        if (!is_recurrent(rows, at))
            continue;
        bool goes_on = reruns->count && reruns->count < RERUNS_MAX &&
                       ap_habit_is_of_step(rows, reruns->calls[reruns->count - 1], at) && is_fed_longer(rows, at);
        if (!goes_on)
            end_reruns(rows, reruns);
        reruns->calls[reruns->count++] = at;
    }
    end_reruns(rows, reruns);
}

void ap_habit_find_reruns(struct ap_habit_rows *rows)
{
    struct reruns reruns = { .adds = false };
    for (size_t at = 0; at < rows->item_count; at++)
        if (is_recurrent(rows, at) && ap_habit_dims_of(rows, rows->items[at].row).bytes)
            return; /* which tell it better */
    go_over_reruns(rows, &reruns);
    if (reruns.compared < LEAST_RERUN_PAIRS || (double)reruns.slower < LEAST_LONGER * (double)reruns.compared ||
        reruns.longer_ns <= 0)
        return;
    reruns.adds = true;
    go_over_reruns(rows, &reruns);
}
