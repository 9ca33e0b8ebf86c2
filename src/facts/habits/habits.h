/* SPDX-License-Identifier: MIT
 * habits.h - what a program does in its loop though another way of writing would save it, each with what it takes and could
 * save at most: the table of habits.def. Times are of the threads that do the work: host rows, but where devices are
 * named. */
#ifndef AP_HABITS_H
#define AP_HABITS_H

#include "facts.h"
#include "host_chain.h"
#include "host_work.h"
#include "per_step.h"
#include "stretches.h"

enum ap_habit_id {
#define AP_HABIT(id, sentence) AP_HABIT_##id,
#include "habits.def"
#undef AP_HABIT
    AP_HABIT_COUNT_
};

#define AP_HABIT_NAMES 4

struct ap_habit {
    uint64_t count, step_count; /* of them in steps that count */
    int64_t total_ns, saves_ns; /* what it takes; what would not be needed */
    int64_t longest_ns;
    uint32_t row;                   /* the first of the longest one; AP_NO_ROW = none, or told by the line alone */
    uint32_t names[AP_HABIT_NAMES]; /* of the longest one: its first operators, or what the line calls; 0 = no more */
    uint32_t line;                  /* name of the user's frame around it or its model; 0 = not known */
    uint32_t signature;             /* of trace->signatures: shapes of the longest one; 0 = not told */
    bool has_time;                  /* it is known where all of it lies */
    struct ap_stretches time;
    int64_t work_ns, work_saves_ns;     /* work of devices that was launched in its time; of it, what would not be needed */
    bool has_device;                    /* the next two are known */
    int64_t device_ns, device_saves_ns; /* what was launched in it, and how long devices stood still meanwhile; of it, what
                                         * would not be needed */
};

struct ap_habits {
    struct ap_gate *gate;
    struct ap_habit of[AP_HABIT_COUNT_];
    struct ap_per_step per_step;
    struct ap_host_chains chains;
    bool overflowed;
};

/** Those that rows, frames and waits tell. The facts must hold order, tree, steps, phases and the main track. @habits may be
 *  released after a failure too. */
AP_MUST_CHECK enum ap_status ap_habits_init(struct ap_habits *habits, const struct ap_facts *facts, struct ap_gate *gate,
                                            struct ap_error *reterr);
/** Then those that operators tell by what they cost, and what all of them take of devices. Apart from the first, so that the
 *  lists which these need do not stand beside @work. */
AP_MUST_CHECK enum ap_status ap_habits_finish(struct ap_habits *habits, const struct ap_facts *facts,
                                              const struct ap_host_work *work, struct ap_error *reterr);
void ap_habits_release(struct ap_habits *habits);

/** One more occurrence, which begins with @row and lasts @total_ns, of which @saves_ns could go. Returns the habit where
 *  it is the longest so far, whose names may be filled in then, else NULL. */
struct ap_habit *ap_habit_add(struct ap_habits *habits, enum ap_habit_id id, uint32_t row, int64_t total_ns,
                              int64_t saves_ns);

/** The same, of what does not lie in one piece behind @row: where it does is for the caller to add, or not known. */
struct ap_habit *ap_habit_add_in_pieces(struct ap_habits *habits, enum ap_habit_id id, uint32_t row, int64_t total_ns,
                                        int64_t saves_ns);
/** Of the loop are the times from @ret_start_ns to before @ret_end_ns: where annotations mark most of the recording as
 *  steps, what is before the first one and behind the last one prepares the loop, or reports on it. Else all times. */
void ap_habits_loop_span(const struct ap_facts *facts, int64_t *ret_start_ns, int64_t *ret_end_ns);
/** Of the habit is the time from @start_ns to @end_ns. */
void ap_habit_add_time(struct ap_habits *habits, enum ap_habit_id id, int64_t start_ns, int64_t end_ns);

/* The parts: each fills its habits. */
/** By rows: loops, recomputation, passes without backward, constants, order of products, starts of epochs. */
AP_MUST_CHECK enum ap_status ap_habits_of_rows(struct ap_habits *habits, const struct ap_facts *facts,
                                               struct ap_error *reterr);
/** By Python frames: Python outside of operators, hooks. */
AP_MUST_CHECK enum ap_status ap_habits_of_lines(struct ap_habits *habits, const struct ap_facts *facts,
                                                struct ap_error *reterr);
/** By what the thread of the loop waits for beside operators: the interpreter, held by another thread. */
AP_MUST_CHECK enum ap_status ap_habits_of_interpreter(struct ap_habits *habits, const struct ap_facts *facts,
                                                      struct ap_error *reterr);
/** By shapes and types: 64-bit floats, embedding tables, one-hot matrices, growing concatenations. */
void ap_habits_of_shapes(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work);
/** By shapes too: gradients of what a mask took. */
void ap_habits_of_masks(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work);
/** By single calls: products of integers, dispatch modes. */
void ap_habits_of_calls(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work);
/** By shapes and types: weights that are cast to 16 bits more often than a pass needs it. Behind those by rows. */
void ap_habits_of_casts(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work);
/** Behind all of them: what each takes of devices. */
AP_MUST_CHECK enum ap_status ap_habits_of_devices(struct ap_habits *habits, const struct ap_facts *facts,
                                                  struct ap_error *reterr);

#endif
