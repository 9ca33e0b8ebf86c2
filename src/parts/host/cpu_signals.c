/* SPDX-License-Identifier: MIT
 * part_signals.c - how often and how long the patterns of signals.def were seen. */
#include <stdio.h>

#include "cover.h"
#include "name_pattern.h"
#include "cpu_part.h"
#include "per_step.h"

#include "poison.h"

enum {
    WHERE_op = 1,
    WHERE_annotation = 2,
    WHERE_runtime = 4,
    WHERE_host = 7,
    WHERE_python = 8,
    WHERE_overhead = 16,
    WHERE_loop = 32
};

#define AP_SIGNAL(id, where, patterns, sentence) { #id, WHERE_##where },
static const struct {
    const char *id;
    unsigned where;
} signals[] = {
#include "signals.def"
};
#undef AP_SIGNAL
#define AP_SIGNAL(id, where, patterns, sentence) SIGNAL_##id,
enum {
#include "signals.def"
    SIGNAL_COUNT
};
#undef AP_SIGNAL
/* Behind the signals: operators that work by copying, as products with a bias and powers do, which is no copy that a program
 * asks for; and those that copy because it asked for another shape or type. */
#define AP_SIGNAL(id, where, patterns, sentence) patterns,
static const char *const signal_patterns[] = {
#include "signals.def"
    "aten::*",
    "aten::reshape|aten::flatten|aten::type_as|aten::_reshape_copy|aten::_pin_memory|aten::resolve_conj",
};
#undef AP_SIGNAL
#define IS_ATEN (UINT64_C(1) << SIGNAL_COUNT)
#define ASKS_FOR_COPY (UINT64_C(2) << SIGNAL_COUNT)
#define PLAN_NS 1000000 /* a plan takes milliseconds to build; to find one that is there takes tens to hundreds of us */
#define COPY_DEPTH 4    /* to, _to_copy, copy_ and one more stand in each other */
_Static_assert(AP_COUNT_OF(signals) == SIGNAL_COUNT, "one line each");
_Static_assert(SIGNAL_COUNT <= 61, "a name's signals are bits of a word; one bit says that it was looked at");
#define LOOKED_AT (UINT64_C(1) << 63)

struct signal_totals {
    uint64_t count, step_count; /* of them in the steps that count */
    int64_t union_ns;
    int64_t covered_to_ns; /* on the thread being read */
    uint32_t longest;      /* row; AP_NO_ROW = none yet */
    bool several_names;
    struct ap_stretches stretches;
};

static unsigned where_of(enum ap_event_kind kind)
{
    switch (kind) {
    case AP_KIND_operator: return WHERE_op;
    case AP_KIND_annotation: return WHERE_annotation;
    case AP_KIND_runtime: return WHERE_runtime;
    case AP_KIND_python: return WHERE_python | WHERE_loop;
    case AP_KIND_overhead: return WHERE_overhead;
    default: return 0;
    }
}

/* The signals that rows of each kind can be. */
static void fill_bits_of_kind(uint64_t bits_of_kind[AP_ROW_KIND_MASK + 1])
{
    for (unsigned kind = 0; kind <= AP_ROW_KIND_MASK; kind++) {
        bits_of_kind[kind] = 0;
        for (size_t i = 0; i < SIGNAL_COUNT; i++)
            if (signals[i].where & where_of((enum ap_event_kind)kind))
                bits_of_kind[kind] |= UINT64_C(1) << i;
    }
}

/* The signals that rows of the track can be. */
static uint64_t bits_of_track(const struct ap_facts *facts, size_t track)
{
    uint64_t bits = ~UINT64_C(0);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (signals[i].where == WHERE_loop && facts->main_track != AP_NO_ROW && track != facts->main_track)
            bits &= ~(UINT64_C(1) << i);
    return bits;
}

/* Of equally long ones the earlier in the file. */
static bool is_longer(const struct ap_trace *trace, uint32_t row, uint32_t than)
{
    if (than == AP_NO_ROW || trace->events.dur_ns[row] != trace->events.dur_ns[than])
        return than == AP_NO_ROW || trace->events.dur_ns[row] > trace->events.dur_ns[than];
    return row < than;
}

static void add_longest(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *signal)
{
    if (row == AP_NO_ROW) {
        ap_add_null(model, signal, "longest");
        return;
    }
    struct ap_value *longest = ap_add_object(model, signal, "longest");
    ap_add_text(model, longest, "name", ap_row_name(trace, row));
    ap_add_place(trace, row, model, longest);
}

/* @counted: in a step that counts. */
static void take_row(struct ap_gate *gate, const struct ap_trace *trace, uint32_t row, uint64_t bits, bool counted,
                     struct signal_totals *totals, bool *overflowed)
{
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    for (; bits; bits &= bits - 1) {
        struct signal_totals *total = &totals[__builtin_ctzll(bits)];
        total->count++;
        total->step_count += counted;
        if (total->longest != AP_NO_ROW)
            total->several_names |= trace->events.name[row] != trace->events.name[total->longest];
        if (is_longer(trace, row, total->longest))
            total->longest = row;
        ap_stretches_add(&total->stretches, gate, start_ns, end_ns);
        total->union_ns = ap_add_sat(total->union_ns, ap_cover_extend(&total->covered_to_ns, start_ns, end_ns), overflowed);
    }
}

/* Which signals were seen beginning in each step, as bits. */
struct seen {
    struct ap_per_step per_step;
    uint64_t *of_step; /* the last entry: outside of the steps */
};

static void add_steps_ratio(const struct seen *seen, size_t signal, struct ap_model *model, struct ap_value *to)
{
    const struct ap_steps *steps = seen->per_step.steps;
    uint64_t with = 0;
    for (size_t i = 0; i < steps->count; i++)
        with += (seen->per_step.every || ap_step_is_steady(&steps->steps[i])) && (seen->of_step[i] >> signal & 1);
    ap_add_quotient(model, to, "steps_ratio", (double)with, (double)seen->per_step.count);
}

/* An optimizer that calls others, one for each kind of parameter, makes one step. */
static bool is_part_of_update(const struct ap_part_context *context, const uint64_t *bits_of_name, uint32_t row)
{
    uint32_t around = ap_host_around(&context->facts->tree, context->trace, row, 1u << AP_KIND_annotation);
    return around != AP_NO_ROW && bits_of_name[context->trace->events.name[around]] >> SIGNAL_optimizer_step & 1;
}

/* Is the copy how the operator around it works? Names around a row stand before it, so that they were looked at. */
static bool is_part_of_operator(const struct ap_part_context *context, const uint64_t *bits_of_name, uint32_t row)
{
    for (int depth = 0; depth < COPY_DEPTH; depth++) {
        row = ap_host_around(&context->facts->tree, context->trace, row, 1u << AP_KIND_operator);
        uint64_t bits = row == AP_NO_ROW ? 0 : bits_of_name[context->trace->events.name[row]];
        if (!(bits >> SIGNAL_copy & 1))
            return bits & IS_ATEN && !(bits & ASKS_FOR_COPY);
    }
    return false;
}

/* Is the tensor taken apart by an operator that works so, as a dilated convolution does? A loop of the program's that goes
 * over a tensor calls unbind. */
static bool is_taken_within(const struct ap_part_context *context, const uint64_t *bits_of_name, uint32_t row)
{
    const struct ap_trace *trace = context->trace;
    row = ap_host_around(&context->facts->tree, trace, row, 1u << AP_KIND_operator);
    if (row != AP_NO_ROW && ap_text_is(ap_row_name(trace, row), "aten::unbind"))
        row = ap_host_around(&context->facts->tree, trace, row, 1u << AP_KIND_operator);
    return row != AP_NO_ROW && bits_of_name[trace->events.name[row]] & IS_ATEN;
}

/* Backends that pass an operator on under its own name write a row within a row for one call. */
static bool is_passed_on(const struct ap_part_context *context, uint32_t row)
{
    const struct ap_trace *trace = context->trace;
    if (ap_row_kind(trace->events.tag[row]) != AP_KIND_operator)
        return false;
    uint32_t around = ap_host_around(&context->facts->tree, trace, row, 1u << AP_KIND_operator);
    return around != AP_NO_ROW && trace->events.name[around] == trace->events.name[row];
}

/* The signals of a row: those of its name, less what is the work of the operator around it. */
static uint64_t signals_of(const struct ap_part_context *context, const uint64_t *bits_of_name, uint32_t row)
{
    uint64_t bits = bits_of_name[context->trace->events.name[row]] & ~(LOOKED_AT | IS_ATEN | ASKS_FOR_COPY);
    if (bits >> SIGNAL_optimizer_step & 1 && is_part_of_update(context, bits_of_name, row))
        bits &= ~(UINT64_C(1) << SIGNAL_optimizer_step);
    if (bits >> SIGNAL_copy & 1 && is_part_of_operator(context, bits_of_name, row))
        bits &= ~(UINT64_C(1) << SIGNAL_copy);
    if (bits >> SIGNAL_select & 1 && is_taken_within(context, bits_of_name, row))
        bits &= ~(UINT64_C(1) << SIGNAL_select);
    if (bits >> SIGNAL_per_tensor_update & 1 && ap_phase_of_row(&context->facts->phases, row) != AP_PHASE_optimizer)
        bits &= ~(UINT64_C(1) << SIGNAL_per_tensor_update);
    if (context->trace->events.dur_ns[row] < PLAN_NS)
        bits &= ~(UINT64_C(1) << SIGNAL_library_plan);
    return bits && is_passed_on(context, row) ? 0 : bits;
}

static void take_rows(struct ap_part_context *context, const struct ap_name_patterns *patterns, uint64_t *bits_of_name,
                      struct signal_totals *totals, const struct seen *seen)
{
    const struct ap_trace *trace = context->trace;
    const struct ap_row_order *order = &context->facts->order;
    struct ap_step_cursor step = { &context->facts->steps, 0 };
    uint64_t bits_of_kind[AP_ROW_KIND_MASK + 1];
    fill_bits_of_kind(bits_of_kind);
    for (size_t track = 0; track < order->track_count; track++) {
        uint64_t of_track = bits_of_track(context->facts, track);
        if (!ap_track_may_hold(order, track, AP_HOST_KINDS | 1u << AP_KIND_overhead))
            continue;
        for (size_t i = 0; i < SIGNAL_COUNT; i++)
            totals[i].covered_to_ns = INT64_MIN;
        for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
            uint32_t row = order->rows[at], name = trace->events.name[row];
            uint64_t possible = bits_of_kind[ap_row_kind(trace->events.tag[row])] & of_track;
            if (!possible)
                continue;
            if (!bits_of_name[name])
                bits_of_name[name] = LOOKED_AT | ap_name_patterns_all(patterns, ap_row_name(trace, row));
            if (!(bits_of_name[name] & possible))
                continue;
            uint64_t bits = signals_of(context, bits_of_name, row) & possible;
            size_t at_step = ap_step_cursor_at(&step, trace->events.start_ns[row]);
            take_row(context->gate, trace, row, bits, ap_per_step_counts(&seen->per_step, at_step), totals,
                     &context->overflowed);
            seen->of_step[at_step] |= bits;
        }
    }
}

static void keep_time(struct ap_model *model, size_t signal, struct ap_stretches *stretches)
{
    char path[96];
    (void)snprintf(path, sizeof(path), "cpu.signals.%s", signals[signal].id);
    ap_model_keep_time(model, path, stretches);
}

static void add_signals(const struct ap_part_context *context, struct signal_totals *totals, const struct seen *seen,
                        struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *object = ap_add_object(model, parent, "signals");
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        struct ap_value *signal = ap_add_object(model, object, signals[i].id);
        ap_add_count(model, signal, "count", (int64_t)totals[i].count);
        ap_add_time(model, signal, "total_dur_us", totals[i].union_ns);
        ap_add_quotient(model, signal, "window_share_ratio", (double)totals[i].union_ns,
                        context->facts->window_ns > 0 ? (double)context->facts->window_ns : 0);
        ap_add_number_per(model, signal, "per_step", (double)totals[i].step_count, (double)seen->per_step.count);
        add_steps_ratio(seen, i, model, signal);
        ap_add_known_bool(model, signal, "one_name", totals[i].count, !totals[i].several_names);
        add_longest(context->trace, totals[i].longest, model, signal);
        keep_time(model, i, &totals[i].stretches);
    }
}

enum ap_status ap_cpu_add_signals(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                  struct ap_error *reterr)
{
    struct signal_totals totals[SIGNAL_COUNT];
    size_t name_count = ap_trace_id_count(context->trace);
    struct ap_name_patterns patterns;
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        totals[i] = (struct signal_totals){ .longest = AP_NO_ROW };
    enum ap_status status =
        ap_name_patterns_init(&patterns, context->gate, signal_patterns, AP_COUNT_OF(signal_patterns), reterr);
    uint64_t *bits_of_name = ap_mem_cleared(context->gate, name_count * sizeof(bits_of_name[0]));
    size_t seen_bytes = (context->facts->steps.count + 1) * sizeof(uint64_t);
    struct seen seen = { ap_per_step_of(&context->facts->steps), ap_mem_cleared(context->gate, seen_bytes) };
    if ((!bits_of_name || !seen.of_step) && status == AP_OK)
        status = ap_fail_memory(context->gate, reterr);
    if (status == AP_OK)
        take_rows(context, &patterns, bits_of_name, totals, &seen);
    ap_name_patterns_release(&patterns);
    AP_FREE(context->gate, bits_of_name, name_count);
    if (status == AP_OK)
        add_signals(context, totals, &seen, model, parent);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        ap_stretches_release(&totals[i].stretches, context->gate);
    ap_mem_free(context->gate, seen.of_step, seen_bytes);
    return status;
}
