/* SPDX-License-Identifier: MIT
 * trace_memory_walk.c - which operator, module and part of a step each instant belongs to: one go over the rows of each
 * thread together with its instants. */
#include <string.h>

#include "trace_memory.h"

#include "per_step.h"
#include "user_frame.h"

#include "poison.h"

/* What brings input to the device or makes it there, as long as nothing else was computed since the step began or data was
 * loaded. Old profilers write a step's first aten::empty and aten::zeros themselves. */
#define INPUT_NAMES                                                                                                   \
    "aten::to|aten::_to_copy|aten::copy_|aten::pin_memory|aten::_pin_memory|aten::is_pinned|aten::empty|aten::zeros|" \
    "aten::ones|aten::full|aten::rand|aten::randn|aten::randint"
#define LOSS_NAMES "*loss*|*Loss*|*cross_entropy*|*CrossEntropy*|aten::kl_div*"

enum { NAME_ASKED = 1, NAME_INPUT = 2, NAME_LOSS = 4, NAME_ATEN = 8 };

static const char *const name_patterns[] = { INPUT_NAMES, LOSS_NAMES, "aten::*" };

struct open_row {
    int64_t end_ns;
    uint32_t row;
    uint32_t op, annotation, line; /* innermost ones, itself included; AP_NO_ROW = none */
    uint32_t caller;               /* outermost operator of aten that calls op, or op */
    uint32_t module;               /* AP_PAIR_NONE = none */
    uint8_t part;
};

struct walk {
    struct ap_trace_memory *memory;
    const struct ap_part_context *context;
    const struct ap_trace *trace;
    struct ap_user_frames frames;
    struct ap_name_patterns patterns;
    uint8_t *names; /* by name id */
    size_t name_count;
    struct open_row *open;
    size_t depth, capacity;
    /* of the thread: */
    size_t step;         /* the one that the last row began in or before */
    bool of_autograd;    /* it runs backward, and another one the steps */
    size_t computing_in; /* the step in which something else than input was seen; SIZE_MAX = none since data was loaded */
};

/* ---------------------------------------------------------------------------------------------------------- names */

static uint8_t name_flags(struct walk *walk, uint32_t row)
{
    uint32_t name = walk->trace->events.name[row];
    if (!(walk->names[name] & NAME_ASKED)) {
        uint64_t found = ap_name_patterns_all(&walk->patterns, ap_row_name(walk->trace, row));
        walk->names[name] =
            (uint8_t)(NAME_ASKED | (found & 1 ? NAME_INPUT : 0) | (found & 2 ? NAME_LOSS : 0) | (found & 4 ? NAME_ATEN : 0));
    }
    return walk->names[name];
}

static bool is_module(struct walk *walk, uint32_t row)
{
    if (ap_row_is_of(walk->trace, row, 1u << AP_KIND_python))
        return ap_is_module_frame(&walk->frames, walk->trace->events.name[row]);
    return ap_row_is_of(walk->trace, row, 1u << AP_KIND_annotation) &&
           ap_text_starts_with(ap_row_name(walk->trace, row), "[pl][module]");
}

static enum ap_status find_module(struct walk *walk, uint32_t row, uint32_t parent, uint32_t *ret_module,
                                  struct ap_error *reterr)
{
    struct ap_trace_memory *memory = walk->memory;
    struct ap_text text = ap_module_class(ap_row_name(walk->trace, row));
    struct ap_str class_name;
    uint32_t number, before = memory->module_map.count;
    AP_TRY(ap_strpool_intern(&memory->classes, text.data, text.bytes, &class_name, reterr));
    AP_TRY(ap_pair_map_add(&memory->module_map, class_name.id, parent, &number, reterr));
    if (number == before) {
        AP_TRY(AP_RESERVE(memory->gate, memory->modules, memory->module_capacity, (size_t)number + 1, reterr));
        memory->modules[number] = (struct ap_memory_module){ class_name.id, parent };
    }
    *ret_module = number;
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- parts */

static enum ap_memory_part part_of_phase(enum ap_phase phase)
{
    switch (phase) {
    case AP_PHASE_forward:
    case AP_PHASE_inference: return AP_MEMORY_forward;
    case AP_PHASE_backward: return AP_MEMORY_backward;
    case AP_PHASE_optimizer: return AP_MEMORY_optimizer;
    case AP_PHASE_zero_grad: return AP_MEMORY_zero_grad;
    case AP_PHASE_data_loading: return AP_MEMORY_data;
    case AP_PHASE_communication: return AP_MEMORY_communication;
    default: return AP_MEMORY_other;
    }
}

/* @around: the row around it, NULL = none. */
static enum ap_memory_part find_part(struct walk *walk, uint32_t row, const struct open_row *around, bool in_module)
{
    enum ap_memory_part part = part_of_phase(ap_phase_of_row(&walk->context->facts->phases, row));
    bool is_op = ap_row_is_of(walk->trace, row, 1u << AP_KIND_operator);
    if (part == AP_MEMORY_data)
        walk->computing_in = SIZE_MAX;
    if (part != AP_MEMORY_forward && part != AP_MEMORY_other)
        return part;
    if (around && (around->part == AP_MEMORY_loss || around->part == AP_MEMORY_data))
        return (enum ap_memory_part)around->part;
    if ((is_op || in_module || ap_row_is_of(walk->trace, row, 1u << AP_KIND_annotation)) &&
        name_flags(walk, row) & NAME_LOSS)
        return AP_MEMORY_loss;
    if (part != AP_MEMORY_forward || walk->computing_in == walk->step)
        return part;
    if (is_op && name_flags(walk, row) & NAME_INPUT)
        return AP_MEMORY_data;
    if (is_op || in_module)
        walk->computing_in = walk->step;
    return part;
}

static void widen_span(struct ap_memory_span *span, int64_t start_ns, int64_t end_ns)
{
    if (!span->is_seen || start_ns < span->start_ns)
        span->start_ns = start_ns;
    if (!span->is_seen || end_ns > span->end_ns)
        span->end_ns = end_ns;
    span->is_seen = true;
}

/* A part that began before its step or goes on behind it counts up to there. */
static void note_span(struct walk *walk, int64_t start_ns, const struct open_row *row, const struct open_row *around)
{
    struct ap_trace_memory *memory = walk->memory;
    if (row->part >= AP_MEMORY_SPAN_COUNT_ || walk->step >= memory->step_count)
        return;
    if (around && around->part == row->part && around->end_ns >= row->end_ns)
        return;
    struct ap_memory_step *step = &memory->steps[walk->step];
    if (start_ns < step->start_ns)
        return;
    widen_span(&step->spans[row->part], start_ns, row->end_ns < step->end_ns ? row->end_ns : step->end_ns);
}

/* ------------------------------------------------------------------------------------------------------------ walk */

static struct open_row *top(struct walk *walk)
{
    return walk->depth ? &walk->open[walk->depth - 1] : NULL;
}

static void open_operator(struct walk *walk, struct open_row *opened)
{
    bool called_by_aten = opened->op != AP_NO_ROW && name_flags(walk, opened->op) & NAME_ATEN;
    if (!called_by_aten || !(name_flags(walk, opened->row) & NAME_ATEN))
        opened->caller = opened->row;
    opened->op = opened->row;
}

static enum ap_status open_row(struct walk *walk, uint32_t row, struct ap_error *reterr)
{
    const struct ap_trace *trace = walk->trace;
    const struct ap_steps *steps = &walk->context->facts->steps;
    int64_t start_ns = trace->events.start_ns[row];
    while (walk->depth && top(walk)->end_ns <= start_ns)
        walk->depth--;
    while (walk->step < steps->count && steps->steps[walk->step].end_ns <= start_ns)
        walk->step++;
    AP_TRY(AP_RESERVE(walk->memory->gate, walk->open, walk->capacity, walk->depth + 1, reterr));
    const struct open_row *around = top(walk);
    struct open_row opened = { 0, AP_NO_ROW, AP_NO_ROW, AP_NO_ROW, AP_NO_ROW, AP_NO_ROW, AP_PAIR_NONE, AP_MEMORY_other };
    opened = around ? *around : opened;
    opened.end_ns = ap_row_end_ns(trace, row);
    opened.row = row;
    bool in_module = is_module(walk, row);
    if (in_module)
        AP_TRY(find_module(walk, row, opened.module, &opened.module, reterr));
    opened.part = (uint8_t)find_part(walk, row, around, in_module);
    enum ap_event_kind kind = ap_row_kind(trace->events.tag[row]);
    if (kind == AP_KIND_operator)
        open_operator(walk, &opened);
    else if (kind == AP_KIND_annotation)
        opened.annotation = row;
    else if (kind == AP_KIND_python && ap_is_user_frame(&walk->frames, trace->events.name[row]))
        opened.line = row;
    note_span(walk, start_ns, &opened, around);
    walk->open[walk->depth++] = opened;
    return AP_OK;
}

/* In traces of whole microseconds an instant may stand at the end of its operator. */
static void place_instant(struct walk *walk, uint32_t instant)
{
    struct ap_trace_memory *memory = walk->memory;
    int64_t at_ns = walk->trace->memory_instants[instant].start_ns;
    while (walk->depth && top(walk)->end_ns < at_ns)
        walk->depth--;
    const struct open_row *around = top(walk);
    if ((!around || around->part == AP_MEMORY_other) && walk->of_autograd)
        memory->part_of[instant] = AP_MEMORY_backward; /* saved tensors go between two nodes */
    else if (around)
        memory->part_of[instant] = around->part;
    if (!around)
        return;
    memory->module_of[instant] = around->module;
    memory->owner_row[instant] = around->op != AP_NO_ROW           ? around->op
                                 : around->annotation != AP_NO_ROW ? around->annotation
                                                                   : around->line;
    memory->caller_row[instant] = around->op != AP_NO_ROW ? around->caller : memory->owner_row[instant];
}

static enum ap_status walk_track(struct walk *walk, uint32_t track, const uint32_t *instants, size_t count,
                                 struct ap_error *reterr)
{
    const struct ap_row_order *order = &walk->context->facts->order;
    const struct ap_trace *trace = walk->trace;
    size_t at = 0;
    walk->depth = walk->step = 0;
    walk->computing_in = SIZE_MAX;
    walk->of_autograd =
        track != walk->context->facts->main_track && ap_row_set_has(&walk->context->facts->phases.backward_tracks, track);
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = order->rows[i];
        if (!ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        for (; at < count && trace->memory_instants[instants[at]].start_ns < trace->events.start_ns[row]; at++)
            place_instant(walk, instants[at]);
        AP_TRY(open_row(walk, row, reterr));
    }
    for (; at < count; at++)
        place_instant(walk, instants[at]);
    return AP_OK;
}

static enum ap_status walk_all(struct walk *walk, struct ap_error *reterr)
{
    const struct ap_trace_memory *memory = walk->memory;
    const uint32_t *by_track = memory->by_track ? memory->by_track : memory->by_device;
    size_t at = 0;
    for (uint32_t track = 0; track < walk->context->facts->order.track_count; track++) {
        size_t first = at;
        while (at < memory->count && walk->trace->memory_instants[by_track[at]].track == track)
            at++;
        AP_TRY(walk_track(walk, track, by_track + first, at - first, reterr));
    }
    return AP_OK;
}

static enum ap_status new_steps(struct ap_trace_memory *memory, const struct ap_part_context *context,
                                struct ap_error *reterr)
{
    const struct ap_per_step per_step = ap_per_step_of(&context->facts->steps);
    size_t count = context->facts->steps.count ? context->facts->steps.count : 1;
    count = count < AP_MEMORY_STEPS ? count : AP_MEMORY_STEPS;
    AP_TRY(AP_ALLOC(memory->gate, memory->steps, count, reterr));
    memory->step_count = count;
    for (size_t i = 0; i < count; i++) {
        struct ap_memory_step step = { .counts = true, .start_ns = INT64_MIN, .end_ns = INT64_MAX };
        if (context->facts->steps.count) {
            step.counts = per_step.every || ap_step_is_steady(&context->facts->steps.steps[i]);
            step.start_ns = context->facts->steps.steps[i].start_ns;
            step.end_ns = context->facts->steps.steps[i].end_ns;
        }
        memory->steps[i] = step;
    }
    return AP_OK;
}

enum ap_status ap_trace_memory_attribute(struct ap_trace_memory *memory, const struct ap_part_context *context,
                                         struct ap_error *reterr)
{
    struct ap_gate *gate = memory->gate;
    struct walk walk = { .memory = memory, .context = context, .trace = context->trace };
    walk.frames.gate = walk.frames.library.gate = walk.patterns.gate = gate;
    walk.name_count = (size_t)ap_strpool_count(&context->trace->strings) + 1;
    AP_TRY(new_steps(memory, context, reterr));
    AP_TRY(AP_ALLOC(gate, walk.names, walk.name_count, reterr));
    memset(walk.names, 0, walk.name_count);
    enum ap_status status = ap_user_frames_init(&walk.frames, context->trace, gate, reterr);
    AP_AND_THEN(status, ap_name_patterns_init(&walk.patterns, gate, name_patterns, AP_COUNT_OF(name_patterns), reterr));
    AP_AND_THEN(status, walk_all(&walk, reterr));
    AP_FREE(gate, walk.open, walk.capacity);
    ap_name_patterns_release(&walk.patterns);
    ap_user_frames_release(&walk.frames);
    ap_mem_free(gate, walk.names, walk.name_count);
    return status;
}
