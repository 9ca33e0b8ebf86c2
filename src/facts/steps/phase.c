/* SPDX-License-Identifier: MIT */
#include "phase.h"

#include <string.h>

#include "name_pattern.h"

#include "poison.h"

/* Phases of names in the tables, one more than the enum's so that 0 can say "not looked at yet". */
enum { NOT_ASKED, NO_MARK = AP_PHASE_COUNT_ + 1 };

static const char *const phase_names[] = {
#define AP_STEP_PHASE(name) #name,
#define AP_STEP_PHASE_NAMED(name)
#define AP_STEP_PHASE_FOUND(name) #name,
#include "step_phase.def"
#undef AP_STEP_PHASE
#undef AP_STEP_PHASE_NAMED
#undef AP_STEP_PHASE_FOUND
};

#define AP_PHASE_OF_OPS(phase, patterns) patterns,
#define AP_PHASE_OF_FRAMES(phase, patterns)
static const char *const op_patterns[] = {
#include "phase_names.def"
};
#undef AP_PHASE_OF_OPS
#undef AP_PHASE_OF_FRAMES
#define AP_PHASE_OF_OPS(phase, patterns) AP_PHASE_##phase,
#define AP_PHASE_OF_FRAMES(phase, patterns)
static const uint8_t op_phases[] = {
#include "phase_names.def"
};
#undef AP_PHASE_OF_OPS
#undef AP_PHASE_OF_FRAMES
#define AP_PHASE_OF_OPS(phase, patterns)
#define AP_PHASE_OF_FRAMES(phase, patterns) patterns,
static const char *const frame_patterns[] = {
#include "phase_names.def"
};
#undef AP_PHASE_OF_OPS
#undef AP_PHASE_OF_FRAMES
#define AP_PHASE_OF_OPS(phase, patterns)
#define AP_PHASE_OF_FRAMES(phase, patterns) AP_PHASE_##phase,
static const uint8_t frame_phases[] = {
#include "phase_names.def"
};
#undef AP_PHASE_OF_OPS
#undef AP_PHASE_OF_FRAMES

const char *ap_phase_name(enum ap_phase phase)
{
    return phase_names[phase];
}

/* ---------------------------------------------------------------------------------------------------------- marks */

/* What the names say; each is looked at once. The same text may be a frame and an operator: low and high half. */
struct marks {
    struct ap_gate *gate;
    struct ap_name_patterns ops, frames;
    uint8_t *of_name;
    size_t name_count;
};

static enum ap_status marks_init(struct marks *marks, const struct ap_trace *trace, struct ap_gate *gate,
                                 struct ap_error *reterr)
{
    *marks = (struct marks){ .gate = gate, .ops = { .gate = gate }, .frames = { .gate = gate } };
    size_t count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC(gate, marks->of_name, count, reterr));
    marks->name_count = count;
    memset(marks->of_name, NOT_ASKED, count);
    AP_TRY(ap_name_patterns_init(&marks->ops, gate, op_patterns, AP_COUNT_OF(op_patterns), reterr));
    return ap_name_patterns_init(&marks->frames, gate, frame_patterns, AP_COUNT_OF(frame_patterns), reterr);
}

static void marks_release(struct marks *marks)
{
    ap_name_patterns_release(&marks->ops);
    ap_name_patterns_release(&marks->frames);
    ap_mem_free(marks->gate, marks->of_name, marks->name_count);
}

static unsigned ask(const struct marks *marks, const struct ap_trace *trace, uint32_t name, bool is_frame)
{
    struct ap_text text = ap_trace_text(trace, name);
    size_t count = is_frame ? AP_COUNT_OF(frame_patterns) : AP_COUNT_OF(op_patterns);
    size_t entry = ap_name_patterns_first(is_frame ? &marks->frames : &marks->ops, text, count);
    if (entry == count)
        return NO_MARK;
    return (is_frame ? frame_phases : op_phases)[entry] + 1u;
}

/* A phase + 1, or NO_MARK. */
static inline unsigned mark_of(struct marks *marks, const struct ap_trace *trace, uint32_t row)
{
    uint32_t name = trace->events.name[row];
    bool is_frame = ap_row_kind(trace->events.tag[row]) == AP_KIND_python;
    unsigned shift = is_frame ? 4 : 0, mark = marks->of_name[name] >> shift & 0xfu;
    if (mark == NOT_ASKED) {
        mark = ask(marks, trace, name, is_frame);
        if (mark == AP_PHASE_communication + 1 && trace->world_size == 1) /* with nobody */
            mark = NO_MARK;
        marks->of_name[name] = (uint8_t)(marks->of_name[name] | mark << shift);
    }
    return mark;
}

/* -------------------------------------------------------------------------------------------------------- phases */

struct finding {
    struct ap_phases *phases;
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    const struct ap_host_tree *tree;
    const struct ap_steps *steps;
    struct ap_step_cursor step;
    struct marks marks;
    int64_t *last_backward_ns; /* by step; the last entry: without steps, of the whole trace */
    struct ap_row_set step_tracks;
};

static void note_backward(struct finding *finding, uint32_t row)
{
    int64_t start_ns = finding->trace->events.start_ns[row];
    size_t step = ap_step_cursor_at(&finding->step, start_ns);
    finding->phases->has_backward = true;
    ap_row_set_add(&finding->phases->backward_tracks, finding->trace->events.track[row]);
    if (finding->last_backward_ns[step] < start_ns)
        finding->last_backward_ns[step] = start_ns;
}

/* A collective that runs beside other work is written as one row from its start to its wait, and an optimizer that is handed
 * a closure calls the training step. Where the model runs within such rows, they do not tell what part it is of. */
static void open_around_model(struct finding *finding, uint32_t row)
{
    uint8_t *of_row = finding->phases->of_row;
    for (; row != AP_NO_ROW && (of_row[row] == AP_PHASE_communication || of_row[row] == AP_PHASE_optimizer);
         row = ap_host_parent(finding->tree, row))
        of_row[row] = AP_PHASE_unknown;
}

/* What the row itself or a row around it is marked as; AP_PHASE_unknown = neither. */
static uint8_t strong_phase(struct finding *finding, uint32_t row, unsigned mark)
{
    if (mark == AP_PHASE_forward + 1)
        open_around_model(finding, ap_host_parent(finding->tree, row));
    const struct ap_phases *phases = finding->phases;
    uint32_t parent = ap_host_parent(finding->tree, row);
    uint8_t around = parent == AP_NO_ROW ? AP_PHASE_unknown : phases->of_row[parent];
    if (mark != NO_MARK && mark != AP_PHASE_forward + 1 && mark != AP_PHASE_other + 1)
        return (uint8_t)(mark - 1);
    const struct ap_op_detail *op =
        ap_row_kind(finding->trace->events.tag[row]) == AP_KIND_operator ? ap_row_op(finding->trace, row) : NULL;
    if (op && around == AP_PHASE_unknown && ap_op_forward_thread(finding->trace, op))
        return AP_PHASE_backward;
    return around;
}

/* Parents come before their children in the order of a track. */
static void find_marked(struct finding *finding)
{
    uint8_t *of_row = finding->phases->of_row;
    for (struct ap_placed_rows at = ap_placed_rows(finding->order, finding->trace, AP_HOST_KINDS);
         ap_placed_rows_next(&at);) {
        uint32_t row = at.row;
        of_row[row] = strong_phase(finding, row, mark_of(&finding->marks, finding->trace, row));
        if (of_row[row] == AP_PHASE_backward)
            note_backward(finding, row);
    }
}

static uint8_t weak_phase(struct finding *finding, uint32_t row)
{
    const struct ap_phases *phases = finding->phases;
    unsigned mark = mark_of(&finding->marks, finding->trace, row);
    uint8_t forward = phases->has_backward ? AP_PHASE_forward : AP_PHASE_inference;
    uint32_t track = finding->trace->events.track[row];
    if (mark == AP_PHASE_forward + 1)
        return forward;
    if (mark == AP_PHASE_other + 1 || ap_row_is_of(finding->trace, row, 1u << AP_KIND_annotation | 1u << AP_KIND_python))
        return AP_PHASE_other;
    if (!phases->has_backward)
        return forward;
    if (finding->steps->count && ap_row_set_has(&phases->backward_tracks, track) &&
        !ap_row_set_has(&finding->step_tracks, track))
        return AP_PHASE_backward;
    int64_t start_ns = finding->trace->events.start_ns[row];
    return start_ns < finding->last_backward_ns[ap_step_cursor_at(&finding->step, start_ns)] ? AP_PHASE_forward
                                                                                             : AP_PHASE_other;
}

/* Rows that nothing around them decides: from the outside to the inside once more. */
static void find_unmarked(struct finding *finding)
{
    uint8_t *of_row = finding->phases->of_row;
    for (struct ap_placed_rows at = ap_placed_rows(finding->order, finding->trace, AP_HOST_KINDS);
         ap_placed_rows_next(&at);) {
        uint32_t row = at.row;
        if (of_row[row] != AP_PHASE_unknown)
            continue;
        uint32_t parent = ap_host_parent(finding->tree, row);
        uint8_t around = parent == AP_NO_ROW ? AP_PHASE_other : of_row[parent];
        of_row[row] = around != AP_PHASE_other ? around : weak_phase(finding, row);
    }
}

static enum ap_status find(struct finding *finding, struct ap_error *reterr)
{
    struct ap_phases *phases = finding->phases;
    const struct ap_trace *trace = finding->trace;
    enum ap_status status = AP_ALLOC(phases->gate, finding->last_backward_ns, finding->steps->count + 1, reterr);
    AP_AND_THEN(status, ap_row_set_init(&finding->step_tracks, phases->gate, trace->track_count, reterr));
    if (status == AP_OK) {
        for (size_t i = 0; i <= finding->steps->count; i++)
            finding->last_backward_ns[i] = INT64_MIN;
        for (size_t i = 0; i < finding->steps->count; i++)
            ap_row_set_add(&finding->step_tracks, trace->events.track[finding->steps->steps[i].row]);
        status = marks_init(&finding->marks, trace, phases->gate, reterr);
        if (status == AP_OK) {
            find_marked(finding);
            find_unmarked(finding);
        }
        marks_release(&finding->marks);
    }
    AP_FREE(phases->gate, finding->last_backward_ns, finding->steps->count + 1);
    ap_row_set_release(&finding->step_tracks);
    return status;
}

enum ap_status ap_phases_init(struct ap_phases *phases, const struct ap_trace *trace, const struct ap_row_order *order,
                              const struct ap_host_tree *tree, const struct ap_steps *steps,
                              const struct ap_kernel_families *families, struct ap_gate *gate, struct ap_error *reterr)
{
    *phases = (struct ap_phases){ .gate = gate, .backward_tracks.gate = gate, .families = families };
    if (!trace->events.count || !trace->track_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, phases->of_row, trace->events.count, reterr));
    phases->count = trace->events.count;
    memset(phases->of_row, AP_PHASE_unknown, phases->count);
    AP_TRY(ap_row_set_init(&phases->backward_tracks, gate, trace->track_count, reterr));
    struct finding finding = { .phases = phases,
                               .trace = trace,
                               .order = order,
                               .tree = tree,
                               .steps = steps,
                               .step = { steps, 0 },
                               .step_tracks.gate = gate,
                               .marks.gate = gate };
    return find(&finding, reterr);
}

void ap_phases_release(struct ap_phases *phases)
{
    ap_mem_free(phases->gate, phases->of_row, phases->count);
    ap_row_set_release(&phases->backward_tracks);
    *phases = (struct ap_phases){ .gate = phases->gate };
}

/* ----------------------------------------------------------------------------------------------------------- work */

uint32_t ap_work_cause(const struct ap_trace *trace, struct ap_device_row linked)
{
    const struct ap_events *events = &trace->events;
    if (linked.launch == AP_NO_ROW || linked.op == AP_NO_ROW)
        return linked.launch == AP_NO_ROW ? linked.op : linked.launch;
    int64_t at_ns = events->start_ns[linked.launch];
    bool within = events->track[linked.launch] == events->track[linked.op] && events->start_ns[linked.op] <= at_ns &&
                  at_ns <= ap_row_end_ns(trace, linked.op);
    return within ? linked.launch : linked.op;
}

enum ap_phase ap_phase_of_work(const struct ap_phases *phases, const struct ap_trace *trace, struct ap_device_row linked)
{
    if (ap_row_kind(trace->events.tag[linked.row]) == AP_KIND_kernel &&
        ap_kernel_is_communication(phases->families, trace, linked.row))
        return AP_PHASE_communication;
    uint32_t cause = ap_work_cause(trace, linked);
    return cause == AP_NO_ROW ? AP_PHASE_unknown : ap_phase_of_row(phases, cause);
}
