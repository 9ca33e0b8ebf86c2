/* SPDX-License-Identifier: MIT
 * How the loop takes batches from a DataLoader with workers: the starts of its passes over the data, and samples that it
 * takes one by one. */
#include "habit_items.h"

#include "poison.h"

#define WAITS_WITHOUT_LEAD 8   /* behind a start: the workers are not ahead of the loop yet */
#define MOST_BETWEEN_EPOCHS 12 /* operators from one epoch to the next one: two seeds and an order that is read make nine */
#define MOST_WITH_SAMPLE 4     /* operators on each sample: out of the memory that is shared, a cast */
#define LEAST_SAMPLES 8        /* that are put together: fewer are batches of as many sources */
#define LONGEST_HAND_OVER_NS INT64_C(1000000) /* a mean wait that is longer is one for what the worker makes */

/* ---- starts of epochs ---- */

/* Does it train, or run a model? Between two epochs nothing does. */
static bool works(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return ap_item_words(rows, item) & (AP_BIT(NODE) | AP_BIT(OPTIMIZER) | AP_BIT(HEAVY));
}

/* Waits of one step are no start of an epoch: those for the samples of a batch, or for a batch of each of two loaders. Where
 * an epoch ends two follow each other, and elsewhere one. */
static bool takes_several(const struct ap_habit_rows *rows)
{
    size_t in_row = 0, between = MOST_BETWEEN_EPOCHS, alone = 0, pairs = 0, more = 0;
    for (size_t i = 0; i <= rows->item_count; i++) {
        bool is_end = i == rows->item_count, is_wait = !is_end && AP_HAS(ap_item_words(rows, &rows->items[i]), WORKERS);
        if (!is_wait && !is_end) {
            between = works(rows, &rows->items[i]) ? MOST_BETWEEN_EPOCHS : between + 1;
            continue;
        }
        if (is_end || between >= MOST_BETWEEN_EPOCHS) {
            alone += in_row == 1;
            pairs += in_row == 2;
            more += in_row > 2;
            in_row = 0;
        }
        in_row++;
        between = 0;
    }
    return !alone || more >= pairs;
}

static void add_epoch(struct ap_habit_rows *rows, const struct ap_habit_item *from, const struct ap_habit_item *to)
{
    int64_t dur_ns = ap_item_end_ns(rows, to) - ap_item_start_ns(rows, from);
    (void)ap_habit_add(rows->habits, AP_HABIT_epoch_start, from->row, dur_ns, dur_ns);
}

/* Of the same start: no start of its own. */
static void add_wait(struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_epoch_start];
    int64_t dur_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item);
    habit->total_ns = ap_add_sat(habit->total_ns, dur_ns, &rows->habits->overflowed);
    habit->saves_ns = ap_add_sat(habit->saves_ns, dur_ns, &rows->habits->overflowed);
    ap_habit_add_time(rows->habits, AP_HABIT_epoch_start, ap_item_start_ns(rows, item), ap_item_end_ns(rows, item));
}

/* Where one ends and the next begins there are two waits with nothing between. The first wait of a recording that begins
 * with an epoch is such a start too, where there are others. */
static void find_epochs(struct ap_habit_rows *rows)
{
    const struct ap_habit_item *last = NULL, *first = NULL, *behind_start = NULL; /* not added yet: the end of one? */
    size_t between = 0, found = 0, behind = WAITS_WITHOUT_LEAD;
    bool has_worked = false;
    if (takes_several(rows))
        return;
    for (size_t i = 0; i < rows->item_count; i++) {
        const struct ap_habit_item *item = &rows->items[i];
        if (!AP_HAS(ap_item_words(rows, item), WORKERS)) {
            between = works(rows, item) ? MOST_BETWEEN_EPOCHS : between + 1;
            has_worked |= works(rows, item);
            continue;
        }
        if (last && between < MOST_BETWEEN_EPOCHS) {
            add_epoch(rows, last, item);
            first = first == last ? NULL : first;
            found++;
            behind = 0;
            behind_start = NULL;
        } else {
            if (behind_start)
                add_wait(rows, behind_start);
            behind_start = behind < WAITS_WITHOUT_LEAD ? item : NULL;
            behind++;
        }
        first = !last && !has_worked ? item : first;
        last = item;
        between = 0;
    }
    if (behind_start)
        add_wait(rows, behind_start);
    if (found && first)
        add_epoch(rows, first, first);
}

/* ---- samples one by one ---- */

/* The next wait behind @last, with little between them; else @last. */
static size_t next_wait(const struct ap_habit_rows *rows, size_t last)
{
    for (size_t next = last + 1; next <= last + MOST_WITH_SAMPLE && next < rows->item_count; next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (rows->items[next].step != rows->items[last].step || works(rows, &rows->items[next]) || AP_HAS(words, GATHER))
            break;
        if (AP_HAS(words, WORKERS))
            return next;
    }
    return last;
}

static bool is_stacked_behind(const struct ap_habit_rows *rows, size_t last)
{
    for (size_t next = last + 1; next <= last + MOST_WITH_SAMPLE && ap_habit_is_of_step(rows, last, next); next++)
        if (ap_habit_is_named(rows, next, AP_TEXT("aten::stack")))
            return true;
    return false;
}

/* Samples that the loop puts together itself: each is handed over by the workers alone. Where workers are slow to make them,
 * a batch would take as long. */
static void find_samples(struct ap_habit_rows *rows)
{
    uint64_t count = 0;
    int64_t waited_ns = 0;
    size_t first = 0;
    for (size_t at = 0; at < rows->item_count; at++) {
        const struct ap_habit_item *item = &rows->items[at];
        if (!AP_HAS(ap_item_words(rows, item), WORKERS))
            continue;
        first = count ? first : at;
        count++;
        waited_ns =
            ap_add_sat(waited_ns, ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item), &rows->habits->overflowed);
        if (next_wait(rows, at) > at)
            continue;
        bool is_hand_over = waited_ns / (int64_t)count <= LONGEST_HAND_OVER_NS;
        if (count >= LEAST_SAMPLES && is_hand_over && is_stacked_behind(rows, at)) {
            (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_loose_sample, rows->items[first].row, waited_ns,
                                         ap_share_of(waited_ns, 1 - 1 / (double)count));
            rows->habits->of[AP_HABIT_loose_sample].count += count - 1;
        }
        count = 0;
        waited_ns = 0;
    }
}

void ap_habit_find_waits(struct ap_habit_rows *rows)
{
    find_epochs(rows);
    find_samples(rows);
}
