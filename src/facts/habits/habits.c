/* SPDX-License-Identifier: MIT */
#include "habits.h"

#include "poison.h"

#define LEAST_STEPS 3
#define LEAST_OF_RECORDING 0.5 /* that the steps span, if the rest is no part of the loop */

struct ap_habit *ap_habit_add_in_pieces(struct ap_habits *habits, enum ap_habit_id id, uint32_t row, int64_t total_ns,
                                        int64_t saves_ns)
{
    struct ap_habit *habit = &habits->of[id];
    habit->count++;
    habit->step_count += ap_per_step_has(&habits->per_step, habits->chains.trace->events.start_ns[row]);
    habit->total_ns = ap_add_sat(habit->total_ns, total_ns, &habits->overflowed);
    habit->saves_ns = ap_add_sat(habit->saves_ns, saves_ns, &habits->overflowed);
    if (habit->row != AP_NO_ROW && habit->longest_ns >= total_ns)
        return NULL;
    habit->longest_ns = total_ns;
    habit->row = row;
    habit->names[0] = habits->chains.trace->events.name[row];
    return habit;
}

void ap_habit_add_time(struct ap_habits *habits, enum ap_habit_id id, int64_t start_ns, int64_t end_ns)
{
    habits->of[id].has_time = true;
    ap_stretches_add(&habits->of[id].time, habits->gate, start_ns, end_ns);
}

struct ap_habit *ap_habit_add(struct ap_habits *habits, enum ap_habit_id id, uint32_t row, int64_t total_ns,
                              int64_t saves_ns)
{
    int64_t start_ns = habits->chains.trace->events.start_ns[row];
    ap_habit_add_time(habits, id, start_ns, ap_add_sat(start_ns, total_ns, &habits->overflowed));
    return ap_habit_add_in_pieces(habits, id, row, total_ns, saves_ns);
}

void ap_habits_loop_span(const struct ap_facts *facts, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    const struct ap_steps *steps = &facts->steps;
    *ret_start_ns = INT64_MIN;
    *ret_end_ns = INT64_MAX;
    if (steps->count < LEAST_STEPS || steps->periods || facts->window_ns < 0)
        return;
    int64_t start_ns = steps->steps[0].start_ns, end_ns = steps->steps[steps->count - 1].end_ns;
    if ((double)end_ns - (double)start_ns < LEAST_OF_RECORDING * (double)facts->window_ns)
        return;
    *ret_start_ns = start_ns;
    *ret_end_ns = end_ns;
}

/* Whether a pass builds a graph, when it runs and on how much is the choice of who calls the model, not of its forward. */
static bool is_up_to_the_caller(enum ap_habit_id id)
{
    switch (id) {
    case AP_HABIT_evaluation:
    case AP_HABIT_gradless_pass:
    case AP_HABIT_unused_graph:
    case AP_HABIT_inference_graph:
    case AP_HABIT_inference_dropout:
    case AP_HABIT_single_request:
    case AP_HABIT_micro_batch:
    case AP_HABIT_growing_prefix: return true;
    default: return false;
    }
}

static uint32_t line_of(struct ap_habits *habits, enum ap_habit_id id)
{
    uint32_t row = habits->of[id].row;
    uint32_t caller = is_up_to_the_caller(id) ? ap_host_caller_of_model(&habits->chains, row) : AP_NO_ROW;
    return caller == AP_NO_ROW ? ap_host_chain_of(&habits->chains, row).line : caller;
}

static void name_lines(struct ap_habits *habits)
{
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++) {
        struct ap_habit *habit = &habits->of[i];
        if (habit->row == AP_NO_ROW || habit->line)
            continue;
        uint32_t line = line_of(habits, (enum ap_habit_id)i);
        habit->line = line == AP_NO_ROW ? 0 : habits->chains.trace->events.name[line];
    }
}

enum ap_status ap_habits_init(struct ap_habits *habits, const struct ap_facts *facts, struct ap_gate *gate,
                              struct ap_error *reterr)
{
    *habits = (struct ap_habits){ .gate = gate, .per_step = ap_per_step_of(&facts->steps) };
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++)
        habits->of[i].row = AP_NO_ROW;
    AP_TRY(ap_host_chains_init(&habits->chains, facts->trace, &facts->tree, gate, reterr));
    AP_TRY(ap_habits_of_rows(habits, facts, reterr));
    AP_TRY(ap_habits_of_lines(habits, facts, reterr));
    return ap_habits_of_interpreter(habits, facts, reterr);
}

enum ap_status ap_habits_finish(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work,
                                struct ap_error *reterr)
{
    ap_habits_of_shapes(habits, facts, work);
    ap_habits_of_masks(habits, facts, work);
    ap_habits_of_calls(habits, facts, work);
    ap_habits_of_casts(habits, facts, work);
    name_lines(habits);
    AP_TRY(ap_habits_of_devices(habits, facts, reterr));
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++)
        if (habits->of[i].time.failed)
            return ap_fail_memory(habits->gate, reterr);
    return AP_OK;
}

void ap_habits_release(struct ap_habits *habits)
{
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++)
        ap_stretches_release(&habits->of[i].time, habits->gate);
    ap_host_chains_release(&habits->chains);
}
