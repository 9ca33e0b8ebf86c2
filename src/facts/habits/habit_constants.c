/* SPDX-License-Identifier: MIT
 * Masks, indices and other constants that are made anew. */
#include <string.h>

#include "habit_items.h"

#include "poison.h"

/* Goes on with a constant: an operator of such work that makes no node (where nodes are counted). */
static bool is_of_constant(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_habit_item *item = &rows->items[at];
    if (AP_HAS(item->words, CONSTANT))
        return true;
    if (!ap_habit_is_call(item))
        return false;
    return item->sequence ? AP_HAS(item->words, OF_CONSTANT) && ap_habit_sequence_after(rows, at) == item->sequence
                          : AP_HAS(item->words, OF_CONSTANT_ALONE);
}

static void note_constant(struct ap_habit_rows *rows, size_t start, size_t end)
{
    uint64_t key = 0;
    int64_t dur_ns = rows->items[end - 1].end_ns - rows->items[start].start_ns;
    for (size_t i = start; i < end; i++)
        key = key * UINT64_C(0x9E3779B97F4A7C15) + rows->items[i].name;
    size_t group = 0;
    while (group < rows->constant_count && rows->constants[group].key != key)
        group++;
    if (group == AP_HABIT_CONSTANTS_MAX)
        return;
    struct ap_habit_constants *constants = &rows->constants[group];
    if (group == rows->constant_count) {
        *constants = (struct ap_habit_constants){ .key = key, .row = rows->items[start].row };
        rows->constant_count++;
    }
    constants->count++;
    constants->total_ns = ap_add_sat(constants->total_ns, dur_ns, &rows->habits->overflowed);
    if (dur_ns <= constants->longest_ns && constants->count > 1)
        return;
    constants->longest_ns = dur_ns;
    constants->row = rows->items[start].row;
    ap_habit_take_names(rows->items + start, end - start, constants->names);
}

void ap_habit_find_constants(struct ap_habit_rows *rows)
{
    for (size_t i = 0; i < rows->item_count; i++) {
        size_t start = i;
        if (!AP_HAS(rows->items[i].words, CONSTANT))
            continue;
        while (i + 1 < rows->item_count && rows->items[i + 1].step == rows->items[start].step && is_of_constant(rows, i + 1))
            i++;
        note_constant(rows, start, i + 1);
    }
}

/* Several times a step, one of which is needed. */
void ap_habit_add_constants(struct ap_habit_rows *rows)
{
    uint64_t steps = rows->facts->steps.count ? rows->facts->steps.count : 1;
    struct ap_habit *habit = &rows->habits->of[AP_HABIT_constants];
    for (size_t i = 0; i < rows->constant_count; i++) {
        const struct ap_habit_constants *group = &rows->constants[i];
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
