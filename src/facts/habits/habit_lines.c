/* SPDX-License-Identifier: MIT
 * Whose Python keeps the run busy outside of operators: the user's line, with what the libraries do below it. */
#include <string.h>

#include "habits.h"
#include "nest.h"
#include "rows_of.h"

#include "poison.h"

enum { COVERS, OF_STATE, OF_TRAINING, OF_OTHERS, ENTRY_COUNT }; /* entries of the table below */
/* Frames that wait for work which other rows tell of, or that are the profiler's; and those of PyTorch's own Python around
 * operators, which no line of the program can move out of the step: clipping, walks over the parameters, an optimizer. Not
 * the walk that lists all weights by name: whoever asks for it again and again can keep the list. */
static const char *const entries[] = {
    "torch/autograd/graph.py*_engine_run_backward|*run_backward*|torch/profiler/*|*torch/autograd/profiler.py*",
    "*: state_dict",
    "torch/nn/*|*/torch/nn/*|torch/optim/*|*/torch/optim/*|torch/amp/*|*/torch/amp/*|torch/_tensor.py*|nn.Module: *",
    /* libraries whose calls a line can do without in the loop, whatever else it does there */
    "numpy/*|*/numpy/*|PIL/*|*/PIL/*|scipy/*|*/scipy/*|pandas/*|*/pandas/*|sklearn/*|*/sklearn/*|json/*|*/json/*|csv.py*|"
    "re.py*|re/*|*/re/__init__.py*|pickle.py*|gzip.py*|*/gzip.py*|logging/*|*/logging/*|*/csv.py*|*/pickle.py*|random.py*|"
    "tqdm/*|*/tqdm/*",
};

/* A line is told where this share of its time is Python outside of operators. */
#define LEAST_PYTHON_SHARE 0.6
#define LEAST_CALLS 3 /* of a line, so that one of them can be unlike the others */
#define HICCUP 4      /* times as long as these together */

enum frame { FRAME_NOT_ASKED, FRAME_OTHER, FRAME_LIBRARY, FRAME_COVERS, FRAME_LINE };

struct lines {
    struct ap_habits *habits;
    const struct ap_trace *trace;
    const struct ap_facts *facts;
    struct ap_name_patterns patterns;
    struct ap_nest nest;
    int64_t *self_ns, *total_ns, *longest_ns; /* by name id; the longest of one call */
    uint8_t *calls;                           /* up to LEAST_CALLS */
    uint8_t *frames;                          /* by name id: an enum frame */
    size_t name_count;
};

static void add_call(struct lines *lines, uint32_t name, int64_t self_ns, int64_t total_ns)
{
    bool *overflowed = &lines->habits->overflowed;
    lines->self_ns[name] = ap_add_sat(lines->self_ns[name], self_ns, overflowed);
    lines->total_ns[name] = ap_add_sat(lines->total_ns[name], total_ns, overflowed);
    if (lines->calls[name] < LEAST_CALLS)
        lines->calls[name]++;
    if (self_ns > lines->longest_ns[name])
        lines->longest_ns[name] = self_ns;
}

static void clear_sums(struct lines *lines)
{
    memset(lines->self_ns, 0, lines->name_count * sizeof(lines->self_ns[0]));
    memset(lines->total_ns, 0, lines->name_count * sizeof(lines->total_ns[0]));
    memset(lines->longest_ns, 0, lines->name_count * sizeof(lines->longest_ns[0]));
    memset(lines->calls, 0, lines->name_count);
}

static enum ap_status close_row(void *context, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct lines *lines = context;
    (void)reterr;
    if (closed->id)
        add_call(lines, closed->id, closed->host_self_ns, closed->end_ns - closed->start_ns);
    return AP_OK;
}

/* "<listcomp>", "<genexpr>", "<lambda>": of the function around it. */
static bool is_part_of_line(const struct lines *lines, uint32_t name)
{
    struct ap_text text = ap_trace_text(lines->trace, name);
    return text.bytes && text.data[text.bytes - 1] == '>';
}

static size_t entry_of(const struct lines *lines, uint32_t name)
{
    return ap_name_patterns_first(&lines->patterns, ap_trace_text(lines->trace, name), ENTRY_COUNT);
}

/* Names that nobody asked for yet are looked at once. */
static enum frame frame_of(struct lines *lines, uint32_t name)
{
    if (lines->frames[name] == FRAME_NOT_ASKED) {
        size_t entry = entry_of(lines, name);
        bool line = ap_is_user_frame(&lines->habits->chains.frames, name) && !is_part_of_line(lines, name);
        lines->frames[name] = line                 ? FRAME_LINE
                              : entry == COVERS    ? FRAME_COVERS
                              : entry == OF_OTHERS ? FRAME_LIBRARY
                                                   : FRAME_OTHER;
    }
    return (enum frame)lines->frames[name];
}

/* Does it end time that is the line's own? Lines are told by their name, all else by 0. */
static inline bool is_wanted(struct lines *lines, uint32_t row, uint32_t *ret_id)
{
    enum ap_event_kind kind = ap_row_kind(lines->trace->events.tag[row]);
    *ret_id = 0;
    if (kind != AP_KIND_python)
        return kind == AP_KIND_operator || kind == AP_KIND_runtime;
    enum frame frame = frame_of(lines, lines->trace->events.name[row]);
    if (frame == FRAME_LINE)
        *ret_id = lines->trace->events.name[row];
    return frame >= FRAME_COVERS;
}

static enum ap_status go_over(struct lines *lines, uint32_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = &lines->facts->order;
    int64_t from_ns, to_ns;
    ap_habits_loop_span(lines->facts, &from_ns, &to_ns);
    lines->nest.now_ns = INT64_MIN;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at], id;
        if (!is_wanted(lines, row, &id))
            continue;
        int64_t start_ns = lines->trace->events.start_ns[row];
        if (ap_row_end_ns(lines->trace, row) <= from_ns || start_ns >= to_ns)
            continue;
        AP_TRY(ap_nest_advance(&lines->nest, start_ns, close_row, lines, reterr));
        AP_TRY(ap_nest_push(&lines->nest, lines->trace, row, id, 0, reterr));
    }
    return ap_nest_advance(&lines->nest, INT64_MAX, close_row, lines, reterr);
}

/* One call of several that takes many times what all others take together was held up by something that comes once. */
static void leave_out_hiccup(struct lines *lines, uint32_t name)
{
    int64_t longest_ns = lines->longest_ns[name];
    if (lines->calls[name] < LEAST_CALLS || longest_ns / HICCUP <= lines->self_ns[name] - longest_ns)
        return;
    lines->self_ns[name] -= longest_ns;
    lines->total_ns[name] -= longest_ns;
}

static uint32_t top_line(struct lines *lines)
{
    uint32_t top = 0;
    for (uint32_t name = 1; name < lines->name_count; name++) {
        leave_out_hiccup(lines, name);
        if (lines->self_ns[name] > (top ? lines->self_ns[top] : 0) &&
            (double)lines->self_ns[name] >= LEAST_PYTHON_SHARE * (double)lines->total_ns[name])
            top = name;
    }
    return top;
}

static bool is_library_call(struct lines *lines, uint32_t row)
{
    uint32_t parent = ap_host_parent(&lines->facts->tree, row);
    return parent != AP_NO_ROW && ap_row_is_of(lines->trace, row, 1u << AP_KIND_python) &&
           ap_row_is_of(lines->trace, parent, 1u << AP_KIND_python) &&
           frame_of(lines, lines->trace->events.name[row]) == FRAME_LIBRARY &&
           frame_of(lines, lines->trace->events.name[parent]) == FRAME_LINE;
}

/* What the line calls, by the longest sum, of libraries alone where asked; the sums of lines are not needed any more. */
static uint32_t called_by(struct lines *lines, uint32_t line, bool of_library, struct ap_habit *habit)
{
    const struct ap_events *events = &lines->trace->events;
    uint32_t best = 0;
    memset(lines->total_ns, 0, lines->name_count * sizeof(lines->total_ns[0]));
    for (struct ap_rows_of at = ap_rows_of(lines->trace, 1u << AP_KIND_python); ap_rows_of_next(&at);) {
        uint32_t row = at.row, parent = ap_host_parent(&lines->facts->tree, row), name = events->name[row];
        if (name == line) {
            habit->count++;
            habit->step_count += ap_per_step_has(&lines->habits->per_step, events->start_ns[row]);
            if (habit->row == AP_NO_ROW || events->dur_ns[row] > events->dur_ns[habit->row])
                habit->row = row;
        }
        if (parent == AP_NO_ROW || events->name[parent] != line || (of_library && !is_library_call(lines, row)))
            continue;
        lines->total_ns[name] = ap_add_sat(lines->total_ns[name], events->dur_ns[row], &lines->habits->overflowed);
        if (!best || lines->total_ns[name] > lines->total_ns[best])
            best = name;
    }
    return best;
}

/* Where no line has most of its time in Python, as one that trains as well: what it calls of libraries that compute on the
 * host, text, images, numbers, and nothing of PyTorch. */
static void find_libraries(struct lines *lines)
{
    const struct ap_events *events = &lines->trace->events;
    struct ap_habit *habit = &lines->habits->of[AP_HABIT_python_line];
    int64_t from_ns, to_ns;
    uint32_t line = 0;
    ap_habits_loop_span(lines->facts, &from_ns, &to_ns);
    clear_sums(lines);
    for (struct ap_rows_of at = ap_rows_of(lines->trace, 1u << AP_KIND_python); ap_rows_of_next(&at);)
        if (is_library_call(lines, at.row) && events->start_ns[at.row] >= from_ns && events->start_ns[at.row] < to_ns)
            add_call(lines, events->name[ap_host_parent(&lines->facts->tree, at.row)], events->dur_ns[at.row],
                     events->dur_ns[at.row]);
    for (uint32_t name = 1; name < lines->name_count; name++) {
        leave_out_hiccup(lines, name);
        if (lines->calls[name] >= LEAST_CALLS && lines->self_ns[name] > lines->self_ns[line])
            line = name;
    }
    if (!line)
        return;
    habit->total_ns = habit->saves_ns = lines->self_ns[line];
    habit->line = line;
    habit->names[0] = called_by(lines, line, true, habit);
}

/* What names of frames say of modules. */
enum { SAYS_FORWARD = 1, SAYS_MODULE_CODE = 2, SAYS_MODULE = 4, SAYS_BACKWARD_HOOK = 8 };

struct hooks {
    struct lines *lines;
    const struct ap_trace *trace;
    uint8_t *says;             /* by name id */
    uint8_t *leads_to_forward; /* by row */
};

static bool find_says(struct hooks *hooks)
{
    unsigned any = 0;
    for (uint32_t name = 1; name < hooks->lines->name_count; name++) {
        struct ap_text text = ap_trace_text(hooks->trace, name);
        unsigned says = ap_text_ends_with(text, "forward") ? SAYS_FORWARD : 0;
        says |= ap_text_starts_with(text, "torch/nn/modules/module.py") ? SAYS_MODULE_CODE : 0;
        says |= ap_text_starts_with(text, "nn.Module: ") ? SAYS_MODULE : 0;
        says |= ap_text_starts_with(text, "torch/utils/hooks.py") ? SAYS_BACKWARD_HOOK : 0;
        hooks->says[name] = (uint8_t)says;
        any |= says;
    }
    return any & SAYS_FORWARD && any & SAYS_MODULE_CODE;
}

/* Of a frame of Python; of another row, nothing. */
static unsigned says_of(const struct hooks *hooks, uint32_t row)
{
    return ap_row_is_of(hooks->trace, row, 1u << AP_KIND_python) ? hooks->says[hooks->trace->events.name[row]] : 0;
}

/* The rows from each forward up to the code of modules that called it, and that row: decorators of forward, whatever they
 * are called, are no hooks. Each row is passed once. */
static void mark_forwards(const struct hooks *hooks)
{
    const struct ap_host_tree *tree = &hooks->lines->facts->tree;
    uint8_t *leads_to_forward = hooks->leads_to_forward;
    for (struct ap_rows_of at = ap_rows_of(hooks->trace, 1u << AP_KIND_python); ap_rows_of_next(&at);) {
        if (!(says_of(hooks, at.row) & SAYS_FORWARD))
            continue;
        for (uint32_t up = at.row; up != AP_NO_ROW && !leads_to_forward[up]; up = ap_host_parent(tree, up)) {
            if (!ap_row_is_of(hooks->trace, up, 1u << AP_KIND_python) || says_of(hooks, up) & SAYS_MODULE)
                break;
            leads_to_forward[up] = 1;
            if (says_of(hooks, up) & SAYS_MODULE_CODE)
                break;
        }
    }
}

/* Modules call forward and hooks alike: what runs beside a forward is a hook. Those of the backward pass have a caller of
 * their own. */
static bool is_hook(const struct hooks *hooks, uint32_t row)
{
    uint32_t parent = ap_host_parent(&hooks->lines->facts->tree, row);
    if (parent == AP_NO_ROW || !ap_row_is_of(hooks->trace, row, 1u << AP_KIND_python) ||
        !ap_is_user_frame(&hooks->lines->habits->chains.frames, hooks->trace->events.name[row]))
        return false;
    return says_of(hooks, parent) & SAYS_BACKWARD_HOOK ||
           (hooks->leads_to_forward[parent] && !hooks->leads_to_forward[row] && says_of(hooks, parent) & SAYS_MODULE_CODE);
}

static void add_hooks(const struct hooks *hooks)
{
    struct ap_habits *habits = hooks->lines->habits;
    const struct ap_events *events = &hooks->trace->events;
    mark_forwards(hooks);
    for (struct ap_rows_of at = ap_rows_of(hooks->trace, 1u << AP_KIND_python); ap_rows_of_next(&at);) {
        if (!is_hook(hooks, at.row))
            continue;
        int64_t dur_ns = events->dur_ns[at.row];
        struct ap_habit *habit = ap_habit_add(habits, AP_HABIT_module_hook, at.row, dur_ns, dur_ns);
        if (habit)
            habit->line = events->name[at.row];
    }
}

static enum ap_status find_hooks(struct lines *lines, struct ap_error *reterr)
{
    struct ap_gate *gate = lines->habits->gate;
    size_t rows = lines->trace->events.count;
    struct hooks hooks = { .lines = lines, .trace = lines->trace };
    AP_TRY(AP_ALLOC_CLEARED(gate, hooks.says, lines->name_count, reterr));
    enum ap_status status = AP_OK;
    if (find_says(&hooks)) {
        status = AP_ALLOC_CLEARED(gate, hooks.leads_to_forward, rows, reterr);
        if (status == AP_OK)
            add_hooks(&hooks);
        AP_FREE(gate, hooks.leads_to_forward, rows);
    }
    AP_FREE(gate, hooks.says, lines->name_count);
    return status;
}

static enum ap_status find_lines(struct lines *lines, struct ap_error *reterr)
{
    AP_TRY(ap_name_patterns_init(&lines->patterns, lines->habits->gate, entries, ENTRY_COUNT, reterr));
    size_t bytes = lines->name_count * sizeof(int64_t);
    lines->self_ns = ap_mem_cleared(lines->habits->gate, bytes);
    lines->total_ns = ap_mem_cleared(lines->habits->gate, bytes);
    lines->frames = ap_mem_cleared(lines->habits->gate, lines->name_count);
    lines->longest_ns = ap_mem_cleared(lines->habits->gate, bytes);
    lines->calls = ap_mem_cleared(lines->habits->gate, lines->name_count);
    if (!lines->self_ns || !lines->total_ns || !lines->longest_ns || !lines->calls || !lines->frames)
        return ap_fail_memory(lines->habits->gate, reterr);
    AP_TRY(go_over(lines, lines->facts->main_track, reterr));
    uint32_t line = top_line(lines);
    if (!line) {
        find_libraries(lines);
        return AP_OK;
    }
    struct ap_habit *habit = &lines->habits->of[AP_HABIT_python_line];
    int64_t of_line_ns = lines->total_ns[line];
    uint32_t called = called_by(lines, line, false, habit);
    if (called && lines->total_ns[called] > of_line_ns / 2 && entry_of(lines, called) == OF_TRAINING) {
        *habit = (struct ap_habit){ .row = AP_NO_ROW };
        return AP_OK;
    }
    habit->total_ns = habit->saves_ns = lines->self_ns[line];
    habit->line = line;
    habit->names[0] = called;
    return AP_OK;
}

enum ap_status ap_habits_of_lines(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct ap_gate *gate = habits->gate;
    struct lines lines = { .habits = habits,
                           .trace = facts->trace,
                           .facts = facts,
                           .patterns = { .gate = gate },
                           .nest = { .gate = gate },
                           .name_count = ap_trace_id_count(facts->trace) };
    if (facts->main_track == AP_NO_ROW || !ap_has_rows_of(facts->trace, 1u << AP_KIND_python))
        return AP_OK;
    enum ap_status status = find_hooks(&lines, reterr);
    AP_AND_THEN(status, find_lines(&lines, reterr));
    ap_name_patterns_release(&lines.patterns);
    ap_nest_release(&lines.nest);
    ap_mem_free(gate, lines.self_ns, lines.name_count * sizeof(int64_t));
    ap_mem_free(gate, lines.total_ns, lines.name_count * sizeof(int64_t));
    ap_mem_free(gate, lines.longest_ns, lines.name_count * sizeof(int64_t));
    ap_mem_free(gate, lines.calls, lines.name_count);
    ap_mem_free(gate, lines.frames, lines.name_count);
    return status;
}
