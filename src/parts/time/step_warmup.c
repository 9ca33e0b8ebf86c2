/* SPDX-License-Identifier: MIT */
#include "step_warmup.h"

#include "name_pattern.h"
#include "name_spreads.h"
#include "sort.h"

#include "poison.h"

#define AP_WARMUP(kind, whole, unusual) #kind,
static const char *const kind_names[] = {
#include "warmup.def"
};
#undef AP_WARMUP
/* Two entries a kind: rows that count whole, rows that count where they are unusually long. */
#define AP_WARMUP(kind, whole, unusual) whole, unusual,
static const char *const patterns_of_kinds[] = {
#include "warmup.def"
};
#undef AP_WARMUP
#define KIND_COUNT AP_COUNT_OF(kind_names)
_Static_assert(KIND_COUNT < 16, "a name's entry is kept in a byte");

/* A call that usually takes 5 us takes milliseconds where it loads code first; an operator that tries algorithms takes
 * several times as long. Our choice. */
#define UNUSUAL_MORE_NS 100000
#define UNUSUAL_TIMES 5

/* What is covered by the rows of the kinds up to one. */
struct level {
    int64_t covered_to_ns;
    size_t step;                /* of those before it nothing is left to cover */
    int64_t cold_ns, steady_ns; /* covered time of the cold and of the steady steps */
};

struct warmup {
    struct ap_part_context *context;
    uint8_t *entry_of; /* by name id: 1 + index into patterns_of_kinds, 0 = none */
    size_t name_count;
    uint32_t *rows; /* that count, in order of start */
    size_t row_count, row_capacity;
    struct ap_name_spreads spreads; /* of the names that count where their rows are unusually long */
    struct level levels[KIND_COUNT];
};

/* ---- names ---- */

static bool is_unusual_entry(uint8_t entry)
{
    return entry && (entry - 1) % 2 == 1;
}

static void classify_names(struct warmup *warmup, const struct ap_name_patterns *patterns)
{
    const struct ap_strpool *strings = &warmup->context->trace->strings;
    for (uint32_t id = 1; id < warmup->name_count; id++) {
        size_t entry = ap_name_patterns_first(patterns, ap_strpool_text(strings, (struct ap_str){ id }), 2 * KIND_COUNT);
        warmup->entry_of[id] = entry < 2 * KIND_COUNT ? (uint8_t)(entry + 1) : 0;
    }
}

/* Of each name, of all kinds of rows. */
static void count_rows(const struct warmup *warmup, uint32_t *counts)
{
    const struct ap_events *events = &warmup->context->trace->events;
    for (size_t row = 0; row < events->count; row++)
        counts[events->name[row]]++;
}

static enum ap_status spread_counted(struct warmup *warmup, const uint32_t *counts, size_t count, struct ap_error *reterr)
{
    struct ap_name_rows *names;
    size_t at = 0;
    AP_TRY(AP_ALLOC(warmup->context->gate, names, count, reterr));
    for (uint32_t id = 1; id < warmup->name_count; id++)
        if (is_unusual_entry(warmup->entry_of[id]))
            names[at++] = (struct ap_name_rows){ id, counts[id] };
    enum ap_status status = ap_name_spreads_init(&warmup->spreads, warmup->context->trace, warmup->context->gate, names,
                                                 count, AP_ALL_KINDS, 0, reterr);
    AP_FREE(warmup->context->gate, names, count);
    return status;
}

static enum ap_status spread_unusual(struct warmup *warmup, struct ap_error *reterr)
{
    size_t count = 0;
    for (size_t id = 1; id < warmup->name_count; id++)
        count += is_unusual_entry(warmup->entry_of[id]);
    if (!count)
        return AP_OK;
    uint32_t *counts;
    AP_TRY(AP_ALLOC_CLEARED(warmup->context->gate, counts, warmup->name_count, reterr));
    count_rows(warmup, counts);
    enum ap_status status = spread_counted(warmup, counts, count, reterr);
    AP_FREE(warmup->context->gate, counts, warmup->name_count);
    return status;
}

static enum ap_status look_at_names(struct warmup *warmup, struct ap_error *reterr)
{
    struct ap_name_patterns patterns;
    AP_TRY(AP_ALLOC(warmup->context->gate, warmup->entry_of, warmup->name_count, reterr));
    warmup->entry_of[0] = 0;
    enum ap_status status =
        ap_name_patterns_init(&patterns, warmup->context->gate, patterns_of_kinds, AP_COUNT_OF(patterns_of_kinds), reterr);
    if (status == AP_OK) {
        classify_names(warmup, &patterns);
        status = spread_unusual(warmup, reterr);
    }
    ap_name_patterns_release(&patterns);
    return status;
}

/* ---- rows ---- */

static bool is_unusual(const struct warmup *warmup, uint32_t name, int64_t dur_ns, uint8_t entry)
{
    int64_t p50_ns = ap_name_spreads_find(&warmup->spreads, name)->p50_ns;
    if (entry - 1 == 1) /* calls, of the first kind */
        return dur_ns > p50_ns && dur_ns - p50_ns > UNUSUAL_MORE_NS;
    return dur_ns / UNUSUAL_TIMES > p50_ns;
}

static bool counts(const struct warmup *warmup, size_t row)
{
    const struct ap_events *events = &warmup->context->trace->events;
    const struct ap_steps *steps = &warmup->context->facts->steps;
    uint8_t entry = warmup->entry_of[events->name[row]];
    if (!entry || events->start_ns[row] == AP_START_UNKNOWN || events->dur_ns[row] < 0 ||
        events->start_ns[row] >= steps->steps[steps->count - 1].end_ns ||
        ap_row_end_ns(warmup->context->trace, (uint32_t)row) <= steps->steps[0].start_ns)
        return false;
    switch (ap_row_kind(events->tag[row])) {
    case AP_KIND_operator:
    case AP_KIND_annotation:
    case AP_KIND_runtime:
        return !is_unusual_entry(entry) || is_unusual(warmup, events->name[row], events->dur_ns[row], entry);
    default: return false;
    }
}

static bool row_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    return events->start_ns[a] != events->start_ns[b] ? events->start_ns[a] < events->start_ns[b] : a < b;
}

static enum ap_status take_rows(struct warmup *warmup, struct ap_error *reterr)
{
    struct ap_gate *gate = warmup->context->gate;
    const struct ap_events *events = &warmup->context->trace->events;
    for (size_t row = 0; row < events->count; row++) {
        if (!counts(warmup, row))
            continue;
        AP_TRY_ADD(gate, warmup->rows, warmup->row_count, warmup->row_capacity, reterr, (uint32_t)row);
    }
    return ap_sort_list(gate, warmup->rows, warmup->row_count, row_before, events, reterr);
}

/* ---- times ---- */

/* Rows come in order of start, so that a level's covered end and its step only move on. */
static void cover(struct level *level, const struct ap_steps *steps, int64_t start_ns, int64_t end_ns)
{
    start_ns = start_ns > level->covered_to_ns ? start_ns : level->covered_to_ns;
    if (end_ns <= start_ns)
        return;
    while (level->step < steps->count && steps->steps[level->step].start_ns < end_ns) {
        const struct ap_step *step = &steps->steps[level->step];
        int64_t from_ns = step->start_ns > start_ns ? step->start_ns : start_ns;
        int64_t to_ns = step->end_ns < end_ns ? step->end_ns : end_ns;
        if (to_ns > from_ns && step->cold)
            level->cold_ns += to_ns - from_ns;
        else if (to_ns > from_ns && ap_step_is_steady(step))
            level->steady_ns += to_ns - from_ns;
        if (step->end_ns > end_ns)
            break;
        level->step++;
    }
    level->covered_to_ns = end_ns;
}

static void cover_all(struct warmup *warmup)
{
    const struct ap_events *events = &warmup->context->trace->events;
    for (size_t i = 0; i < KIND_COUNT; i++)
        warmup->levels[i].covered_to_ns = INT64_MIN;
    for (size_t i = 0; i < warmup->row_count; i++) {
        uint32_t row = warmup->rows[i];
        for (size_t kind = (size_t)(warmup->entry_of[events->name[row]] - 1) / 2; kind < KIND_COUNT; kind++)
            cover(&warmup->levels[kind], &warmup->context->facts->steps, events->start_ns[row],
                  ap_row_end_ns(warmup->context->trace, row));
    }
}

/* ---- report ---- */

static void add_part(struct ap_model *model, struct ap_value *parts, const char *kind, int64_t dur_ns)
{
    struct ap_value *part = ap_add_object(model, parts, NULL);
    ap_add_string(model, part, "kind", kind);
    ap_add_time(model, part, "dur_us", dur_ns);
}

/* A kind's time in the cold steps beyond what as many steady steps spend on it; never more than is left of the excess. */
static void add_parts(const struct warmup *warmup, int64_t excess_ns, uint64_t cold_count, uint64_t steady_count,
                      struct ap_model *model, struct ap_value *parts)
{
    int64_t left_ns = excess_ns, cold_before_ns = 0, steady_before_ns = 0;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const struct level *level = &warmup->levels[i];
        double usual_ns = (double)(level->steady_ns - steady_before_ns) / (double)steady_count * (double)cold_count;
        double more_ns = (double)(level->cold_ns - cold_before_ns) - usual_ns;
        int64_t part_ns = more_ns <= 0 ? 0 : more_ns >= (double)left_ns ? left_ns : (int64_t)more_ns;
        add_part(model, parts, kind_names[i], part_ns);
        left_ns -= part_ns;
        cold_before_ns = level->cold_ns;
        steady_before_ns = level->steady_ns;
    }
    add_part(model, parts, "other", left_ns);
}

static enum ap_status find_parts(struct warmup *warmup, int64_t excess_ns, uint64_t cold_count, uint64_t steady_count,
                                 struct ap_model *model, struct ap_value *parts, struct ap_error *reterr)
{
    enum ap_status status = look_at_names(warmup, reterr);
    AP_AND_THEN(status, take_rows(warmup, reterr));
    if (status == AP_OK) {
        cover_all(warmup);
        add_parts(warmup, excess_ns, cold_count, steady_count, model, parts);
    }
    ap_name_spreads_release(&warmup->spreads);
    AP_FREE(warmup->context->gate, warmup->rows, warmup->row_capacity);
    ap_mem_free(warmup->context->gate, warmup->entry_of, warmup->name_count);
    return status;
}

enum ap_status ap_step_warmup_add(struct ap_part_context *context, int64_t median_ns, struct ap_model *model,
                                  struct ap_value *parent, struct ap_error *reterr)
{
    const struct ap_steps *steps = &context->facts->steps;
    uint64_t cold_count = 0, steady_count = 0;
    int64_t excess_ns = 0;
    bool overflowed = false;
    for (size_t i = 0; i < steps->count; i++) {
        int64_t dur_ns = ap_step_dur_ns(steps, context->trace, i);
        steady_count += ap_step_is_steady(&steps->steps[i]);
        cold_count += steps->steps[i].cold;
        if (steps->steps[i].cold && median_ns >= 0 && dur_ns > median_ns)
            excess_ns = ap_add_sat(excess_ns, dur_ns - median_ns, &overflowed);
    }
    ap_note_overflow(context, overflowed);
    struct ap_value *warmup = ap_add_object(model, parent, "warmup");
    ap_add_known_count(model, warmup, "cold_count", steps->count >= 3, (int64_t)cold_count);
    ap_add_known_time(model, warmup, "excess_us", steps->count >= 3 && median_ns >= 0, excess_ns);
    struct ap_value *parts = ap_add_list(model, warmup, "parts");
    if (!cold_count || median_ns < 0)
        return AP_OK;
    struct warmup found = { .context = context, .spreads = { .gate = context->gate } };
    found.name_count = ap_trace_id_count(context->trace);
    return find_parts(&found, excess_ns, cold_count, steady_count, model, parts, reterr);
}
