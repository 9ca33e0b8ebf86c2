/* SPDX-License-Identifier: MIT
 * What checkpointing takes beside the recomputation, where stacks were recorded: it keeps the state of random numbers, and
 * looks at each tensor that would be saved, and that is asked for. Of its frames that is the time in which neither an
 * operator, a module nor the program runs. */
#include "habit_items.h"

#include "poison.h"

#define MOST_OPEN 64

enum frame_kind { KIND_not_asked, KIND_checkpoint, KIND_program, KIND_other };

/* A row that is open: of checkpointing, or of what runs in it. */
struct open_row {
    int64_t end_ns;
    bool counts;
};

struct walk {
    struct ap_habit_rows *rows;
    uint8_t *kinds; /* by name id */
    struct open_row open[MOST_OPEN];
    size_t depth;
    int64_t now_ns;
    struct ap_stretches time;
};

static enum frame_kind kind_of(struct walk *walk, uint32_t row)
{
    uint32_t name = walk->rows->trace->events.name[row];
    struct ap_text text = ap_row_name(walk->rows->trace, row);
    if (!ap_row_is_of(walk->rows->trace, row, 1u << AP_KIND_python))
        return ap_habit_is_operator(walk->rows, row) ? KIND_program : KIND_other;
    if (walk->kinds[name] == KIND_not_asked)
        walk->kinds[name] =
            ap_text_starts_with(text, "torch/utils/checkpoint.py(") ||
                    ap_text_contains(text, AP_TEXT("/torch/utils/checkpoint.py("))
                ? KIND_checkpoint
            : ap_text_starts_with(text, "nn.Module: ") || ap_is_user_frame(&walk->rows->habits->chains.frames, name)
                ? KIND_program
                : KIND_other;
    return (enum frame_kind)walk->kinds[name];
}

static void count_to(struct walk *walk, int64_t to_ns)
{
    if (walk->open[walk->depth - 1].counts)
        ap_stretches_add(&walk->time, walk->rows->habits->gate, walk->now_ns, to_ns);
    walk->now_ns = to_ns;
}

static void close_rows(struct walk *walk, int64_t to_ns)
{
    for (; walk->depth && walk->open[walk->depth - 1].end_ns <= to_ns; walk->depth--)
        count_to(walk, walk->open[walk->depth - 1].end_ns);
}

static void follow(struct walk *walk, uint32_t row)
{
    int64_t start_ns = walk->rows->trace->events.start_ns[row];
    enum frame_kind kind = kind_of(walk, row);
    bool is_open = walk->depth && walk->open[walk->depth - 1].counts;
    if (walk->depth == MOST_OPEN || kind == KIND_other || (kind == KIND_checkpoint) == is_open)
        return;
    if (walk->depth)
        count_to(walk, start_ns);
    walk->now_ns = start_ns;
    walk->open[walk->depth++] = (struct open_row){ ap_row_end_ns(walk->rows->trace, row), kind == KIND_checkpoint };
}

static void follow_tracks(struct walk *walk)
{
    const struct ap_habit_rows *rows = walk->rows;
    const struct ap_row_order *order = &rows->facts->order;
    for (size_t track = 0; track < order->track_count; track++) {
        for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
            uint32_t row = order->rows[at];
            int64_t start_ns = rows->trace->events.start_ns[row];
            close_rows(walk, start_ns);
            if (start_ns >= rows->loop_start_ns && start_ns < rows->loop_end_ns &&
                ap_row_is_of(rows->trace, row, AP_HOST_KINDS))
                follow(walk, row);
        }
        close_rows(walk, INT64_MAX);
    }
}

/* What lies in the recomputation itself counts already. */
static void add_time(struct ap_habits *habits, struct ap_stretches *time)
{
    struct ap_habit *habit = &habits->of[AP_HABIT_recompute];
    int64_t more_ns = -ap_stretches_length_ns(&habit->time);
    if (time->unknown || habit->time.unknown || habit->time.count + time->count > AP_STRETCHES_MOST)
        return;
    ap_stretches_add_all(&habit->time, habits->gate, time);
    more_ns += ap_stretches_length_ns(&habit->time);
    habit->total_ns = ap_add_sat(habit->total_ns, more_ns, &habits->overflowed);
    habit->saves_ns = ap_add_sat(habit->saves_ns, more_ns, &habits->overflowed);
}

enum ap_status ap_habit_add_checkpointing(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    struct ap_gate *gate = rows->habits->gate;
    struct walk walk = { .rows = rows };
    size_t names = ap_trace_id_count(rows->trace);
    if (!rows->habits->of[AP_HABIT_recompute].count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(gate, walk.kinds, names, reterr));
    follow_tracks(&walk);
    add_time(rows->habits, &walk.time);
    bool failed = walk.time.failed;
    ap_stretches_release(&walk.time, gate);
    AP_FREE(gate, walk.kinds, names);
    return failed ? ap_fail_memory(gate, reterr) : AP_OK;
}
