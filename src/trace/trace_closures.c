/* SPDX-License-Identifier: MIT
 * trace_closures.c - an optimizer that is handed a closure (Lightning's loop, LBFGS) calls the whole training step within
 * its own: what its row has to the end of the last layer, node of the backward pass, clearing or clipping of gradients is
 * not the optimizer's. The row then begins there, so that all who read it find the update alone. */
#include "name_pattern.h"
#include "sort.h"
#include "trace_internal.h"

#include "poison.h"

#define MOST_NESTED 4 /* optimizers that call others */

enum { OPTIMIZER, TRAINING, CLIPPING, PATTERN_COUNT };
static const char *const patterns[PATTERN_COUNT] = {
    [OPTIMIZER] = "Optimizer.step#*",
    [TRAINING] = ("autograd::engine::evaluate_function*|Optimizer.zero_grad#*|aten::linear|aten::conv1d|aten::conv2d|"
                  "aten::conv3d|aten::embedding|aten::layer_norm|aten::batch_norm"),
    [CLIPPING] = "aten::linalg_vector_norm|aten::norm|aten::_foreach_norm", /* of a closure where there is one */
};
#define WORD(pattern) (1u << (pattern))

struct update {
    uint32_t row, track;
    int64_t start_ns, end_ns, closure_end_ns, clipping_end_ns;
};

struct updates {
    struct update *of;
    size_t count, capacity;
};

static int by_track_and_start(const void *left, const void *right)
{
    const struct update *a = left, *b = right;
    AP_BY_SMALLER(a->track, b->track);
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(b->end_ns, a->end_ns);
    return 0;
}

static bool is_placed(const struct ap_trace *trace, uint32_t row)
{
    return ap_row_is_of(trace, row, 1u << AP_KIND_operator | 1u << AP_KIND_annotation) && trace->events.dur_ns[row] >= 0 &&
           trace->events.start_ns[row] != AP_START_UNKNOWN;
}

static enum ap_status find_updates(const struct ap_trace *trace, const uint8_t *words, struct updates *updates,
                                   struct ap_error *reterr)
{
    for (uint32_t row = 0; row < trace->events.count; row++) {
        if (!(words[trace->events.name[row]] & WORD(OPTIMIZER)) || !is_placed(trace, row))
            continue;
        struct update update = { .row = row, .track = trace->events.track[row] };
        update.start_ns = update.closure_end_ns = update.clipping_end_ns = trace->events.start_ns[row];
        update.end_ns = ap_row_end_ns(trace, row);
        AP_TRY_ADD(trace->gate, updates->of, updates->count, updates->capacity, reterr, update);
    }
    ap_sort(updates->of, updates->count, sizeof(updates->of[0]), by_track_and_start);
    return AP_OK;
}

static bool begins_by(const struct update *update, uint32_t track, int64_t start_ns)
{
    return update->track < track || (update->track == track && update->start_ns <= start_ns);
}

static void note_row(struct updates *updates, unsigned words, uint32_t track, int64_t start_ns, int64_t end_ns)
{
    size_t behind = 0;
    AP_BISECT(behind, updates->count, at, begins_by(&updates->of[at], track, start_ns));
    for (size_t at = behind; at-- > 0 && behind - at <= MOST_NESTED && updates->of[at].track == track;) {
        struct update *update = &updates->of[at];
        if (end_ns <= update->end_ns && words & WORD(TRAINING) && end_ns > update->closure_end_ns)
            update->closure_end_ns = end_ns;
        if (end_ns <= update->end_ns && words & WORD(CLIPPING) && end_ns > update->clipping_end_ns)
            update->clipping_end_ns = end_ns;
    }
}

/* True: there is one. */
static bool begin_behind_closure(struct ap_trace *trace, const struct update *update)
{
    int64_t start_ns = update->closure_end_ns;
    if (start_ns == update->start_ns)
        return false;
    if (update->clipping_end_ns > start_ns)
        start_ns = update->clipping_end_ns;
    trace->events.start_ns[update->row] = start_ns;
    trace->events.dur_ns[update->row] = update->end_ns - start_ns;
    return true;
}

static bool has_optimizer(const struct ap_trace *trace)
{
    for (uint32_t name = 1; name < ap_trace_id_count(trace); name++)
        if (ap_text_starts_with(ap_trace_text(trace, name), "Optimizer.step#"))
            return true;
    return false;
}

static void note_rows(const struct ap_trace *trace, const uint8_t *words, struct updates *updates)
{
    for (uint32_t row = 0; updates->count && row < trace->events.count; row++) {
        unsigned found = words[trace->events.name[row]];
        if (found & (WORD(TRAINING) | WORD(CLIPPING)) && is_placed(trace, row))
            note_row(updates, found, trace->events.track[row], trace->events.start_ns[row], ap_row_end_ns(trace, row));
    }
}

enum ap_status ap_trace_leave_closures(struct ap_trace *trace, struct ap_notes *notes, struct ap_error *reterr)
{
    struct ap_name_patterns set = { .gate = trace->gate };
    struct updates updates = { .count = 0 };
    uint64_t count = 0;
    uint8_t *words;
    if (!has_optimizer(trace))
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(trace->gate, words, ap_trace_id_count(trace), reterr));
    enum ap_status status = ap_name_patterns_init(&set, trace->gate, patterns, PATTERN_COUNT, reterr);
    for (uint32_t name = 1; status == AP_OK && name < ap_trace_id_count(trace); name++)
        words[name] = (uint8_t)ap_name_patterns_all(&set, ap_trace_text(trace, name));
    AP_AND_THEN(status, find_updates(trace, words, &updates, reterr));
    if (status == AP_OK)
        note_rows(trace, words, &updates);
    for (size_t i = 0; status == AP_OK && i < updates.count; i++)
        count += begin_behind_closure(trace, &updates.of[i]);
    if (count)
        ap_note_many(notes, AP_COUNTER_closure, count);
    ap_name_patterns_release(&set);
    AP_FREE(trace->gate, updates.of, updates.capacity);
    AP_FREE(trace->gate, words, ap_trace_id_count(trace));
    return status;
}
