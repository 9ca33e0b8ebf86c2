/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include "key_table.h"
#include "sort.h"

#include "poison.h"

#define NUMBER_BYTES 8

static const char *const operator_patterns[] = {
#define AP_SYNC_OPERATOR(category, patterns) patterns,
#include "sync_category.def"
};

/* Tensors are written as text by many small operators, of which most read a value: one print, many waits. The first of them
 * tell it, the last pattern what may follow. */
static const char *const format_patterns[] = {
#define AP_FORMAT_BEGINS(name) name,
#include "sync_category.def"
#define AP_FORMAT_GOES_ON(patterns) patterns,
#include "sync_category.def"
};
#define LOOKED_AT 0x80
#define FORMAT_BEGUN (AP_COUNT_OF(format_patterns) - 1)

/* A metric of a batch, as its accuracy: classes are chosen behind the loss, compared with the labels and summed up. */
static const char *const metric_patterns[] = {
#define AP_METRIC_AFTER(patterns) patterns,
#include "sync_category.def"
#define AP_METRIC_GOES_ON(patterns) patterns,
#include "sync_category.def"
#define AP_METRIC_FORGETS(patterns) patterns,
#include "sync_category.def"
};
enum metric_stage {
    METRIC_NONE,
    METRIC_LOSS,
    METRIC_CHOICE,
    METRIC_COMPARED,
    METRIC_SUMMED,
    METRIC_GOES_ON = AP_COUNT_OF(metric_patterns) - 2, /* bits of the other patterns */
    METRIC_FORGETS,
};

static const uint8_t category_of_entry[] = {
#define AP_SYNC_OPERATOR(category, patterns) AP_SYNC_##category,
#include "sync_category.def"
};

struct search {
    const struct ap_trace *trace;
    const struct ap_host_tree *tree;
    const struct ap_links *links;
    const struct ap_call_kinds *kinds;
    struct ap_host_chains chains;
    struct ap_name_patterns operators, formats, metrics;
    uint8_t *category_of_name; /* 0 = not looked at, AP_SYNC_CATEGORY_COUNT + 1 = none, else the category + 1 */
    uint8_t *formats_of_name;  /* likewise: bits of format_patterns, and LOOKED_AT */
    uint8_t *metrics_of_name;  /* likewise: bits of metric_patterns, and LOOKED_AT */
    size_t name_count;
    struct ap_key_table launched; /* call + 1 to its place in links: copies; all where there are several devices */
};

/* What the thread did last. */
struct thread_state {
    int64_t device;
    uint32_t copy;     /* place in links of the copy launched last; AP_ID_NONE */
    size_t last_wait;  /* number + 1 of its last wait */
    size_t format;     /* so many of the operators that begin to write a tensor as text came last; from FORMAT_BEGUN on it is
                       * being written */
    int64_t format_ns; /* when that began */
    enum metric_stage metric;
    uint32_t metric_ops[AP_METRIC_OPS]; /* names of what came behind the loss, up to its stage */
};

/* ------------------------------------------------------------------------------------------------------ category */

static uint8_t category_of_op(struct search *search, uint32_t row)
{
    uint32_t name = search->trace->events.name[row];
    uint8_t *known = &search->category_of_name[name];
    if (!*known) {
        struct ap_text text = ap_trace_text(search->trace, name);
        size_t entry = ap_name_patterns_first(&search->operators, text, AP_COUNT_OF(operator_patterns));
        *known =
            entry < AP_COUNT_OF(operator_patterns) ? (uint8_t)(category_of_entry[entry] + 1) : AP_SYNC_CATEGORY_COUNT + 1;
    }
    return (uint8_t)(*known - 1);
}

static bool copy_name_has(const struct search *search, uint32_t place, const char *direction, const char *long_direction)
{
    struct ap_text name = ap_row_name(search->trace, search->links->row[place]);
    return ap_text_contains_folded(name, direction) || ap_text_contains_folded(name, long_direction);
}

/* One number, whichever operator asked for it, or none that was recorded. */
static bool is_one_number(const struct search *search, uint32_t place)
{
    int64_t bytes = ap_row_bytes(search->trace, search->links->row[place]);
    return bytes > 0 && bytes <= NUMBER_BYTES;
}

/* @copy: the copy that is waited for, or AP_ID_NONE. */
static enum ap_sync_category category_of(struct search *search, const struct ap_host_chain *chain, uint32_t call,
                                         uint32_t copy)
{
    int64_t start_ns = search->trace->events.start_ns[call];
    uint32_t row = chain->leaf;
    for (int left = AP_NESTING_MAX; row != AP_NO_ROW;) {
        uint8_t category =
            ap_row_is_of(search->trace, row, 1u << AP_KIND_operator) ? category_of_op(search, row) : AP_SYNC_CATEGORY_COUNT;
        if (category < AP_SYNC_CATEGORY_COUNT)
            return (enum ap_sync_category)category;
        row = row == chain->op ? AP_NO_ROW : ap_host_next_around(search->tree, search->trace, row, start_ns, &left);
    }
    if (copy != AP_ID_NONE && copy_name_has(search, copy, "dtoh", "devicetohost"))
        return is_one_number(search, copy) ? AP_SYNC_scalar_read : AP_SYNC_to_host;
    if (copy != AP_ID_NONE && copy_name_has(search, copy, "htod", "hosttodevice"))
        return AP_SYNC_to_device;
    return chain->leaf == AP_NO_ROW ? AP_SYNC_explicit : AP_SYNC_other;
}

/* --------------------------------------------------------------------------------------------------------- search */

/* An asynchronous copy from or to memory that is not page-locked holds the host as long as it runs, unless it is so small
 * that the call returns at once. */
static bool blocks(const struct search *search, uint32_t call, uint32_t own)
{
    if (own == AP_ID_NONE)
        return false;
    uint32_t row = search->links->row[own];
    return ap_row_is_of(search->trace, row, 1u << AP_KIND_memcpy) && copy_name_has(search, own, "pageable", "pageable") &&
           ap_row_end_ns(search->trace, call) >= search->trace->events.start_ns[row] + search->trace->events.dur_ns[row] / 2;
}

static bool is_wait(const struct search *search, uint32_t call, enum ap_call_kind kind, uint32_t own)
{
    switch (kind) {
    case AP_CALL_wait:
    case AP_CALL_blocking_copy:
    case AP_CALL_allocate:
    case AP_CALL_release:
    case AP_CALL_pinned_allocate:
    case AP_CALL_pinned_release: return true;
    case AP_CALL_copy: return blocks(search, call, own);
    default: return false;
    }
}

static uint8_t patterns_of(const struct search *search, const struct ap_name_patterns *patterns, uint8_t *of_name,
                           uint32_t row)
{
    uint8_t *known = &of_name[search->trace->events.name[row]];
    if (!*known)
        *known = (uint8_t)(ap_name_patterns_all(patterns, ap_row_name(search->trace, row)) | LOOKED_AT);
    return *known;
}

static void take_format(struct search *search, struct thread_state *thread, uint32_t row)
{
    uint8_t formats = patterns_of(search, &search->formats, search->formats_of_name, row);
    if (thread->format < FORMAT_BEGUN)
        thread->format = formats >> thread->format & 1 ? thread->format + 1 : formats & 1;
    else if (!(formats >> FORMAT_BEGUN & 1))
        thread->format = formats & 1;
    if (thread->format == 1)
        thread->format_ns = search->trace->events.start_ns[row];
}

/* What follows the loss goes with it until a layer runs: an optimizer's step may stand between. */
static void take_metric(struct search *search, struct thread_state *thread, uint32_t row)
{
    uint8_t metrics = patterns_of(search, &search->metrics, search->metrics_of_name, row);
    bool is_loss = metrics & 1, is_next = metrics >> thread->metric & 1, is_choice = metrics >> METRIC_LOSS & 1;
    bool stays = metrics >> METRIC_GOES_ON & 1 || (thread->metric >= METRIC_COMPARED && metrics >> METRIC_CHOICE & 1) ||
                 (thread->metric == METRIC_SUMMED && metrics >> METRIC_COMPARED & 1); /* of one more class */
    if (is_loss || metrics >> METRIC_FORGETS & 1)
        thread->metric = is_loss ? METRIC_LOSS : METRIC_NONE;
    else if (thread->metric == METRIC_NONE)
        return;
    else if (is_choice || (is_next && thread->metric < METRIC_SUMMED)) {
        thread->metric = is_choice ? METRIC_CHOICE : thread->metric + 1;
        thread->metric_ops[thread->metric - METRIC_CHOICE] = search->trace->events.name[row];
    } else if (!stays)
        thread->metric = METRIC_LOSS;
}

/* An operator that no other one calls. */
static void take_operator(struct search *search, struct thread_state *thread, uint32_t row)
{
    uint32_t around = ap_host_parent(search->tree, row);
    if (around != AP_NO_ROW && ap_row_is_of(search->trace, around, 1u << AP_KIND_operator))
        return;
    take_format(search, thread, row);
    take_metric(search, thread, row);
}

static void note_metric(struct ap_waits *waits, const struct thread_state *thread, struct ap_wait *wait)
{
    wait->of_metric = wait->category == AP_SYNC_scalar_read && thread->metric == METRIC_SUMMED;
    if (wait->of_metric && !waits->metric_ops[0])
        memcpy(waits->metric_ops, thread->metric_ops, sizeof(waits->metric_ops));
}

/* All that it takes to write a tensor as text goes with it: each wait has what came since the one before. */
static void note_formatting(const struct ap_waits *waits, const struct thread_state *thread, struct ap_wait *wait)
{
    if (thread->format < FORMAT_BEGUN || (wait->category != AP_SYNC_scalar_read && wait->category != AP_SYNC_data_dependent))
        return;
    const struct ap_wait *last = thread->last_wait ? &waits->waits[thread->last_wait - 1] : NULL;
    wait->category = AP_SYNC_formatting;
    wait->written_ns = wait->end_ns - (last && last->end_ns > thread->format_ns ? last->end_ns : thread->format_ns);
}

static uint8_t category_of_call(struct search *search, enum ap_call_kind kind, const struct ap_host_chain *chain,
                                uint32_t call, uint32_t copy)
{
    if (kind == AP_CALL_allocate || kind == AP_CALL_release)
        return AP_SYNC_allocation;
    if (kind == AP_CALL_pinned_allocate || kind == AP_CALL_pinned_release)
        return AP_SYNC_pinned_allocation;
    return (uint8_t)category_of(search, chain, call, copy);
}

/* A copy that blocks and the synchronization behind it, in one operator, are one wait. */
static bool join(struct search *search, struct ap_wait *last, uint32_t call, enum ap_call_kind kind)
{
    enum ap_call_kind last_kind = ap_call_kind_of(search->kinds, search->trace, last->row);
    if (kind != AP_CALL_wait || (last_kind != AP_CALL_copy && last_kind != AP_CALL_blocking_copy) ||
        ap_host_parent(search->tree, last->row) != ap_host_parent(search->tree, call) ||
        ap_host_parent(search->tree, call) == AP_NO_ROW)
        return false;
    int64_t dur_ns = search->trace->events.dur_ns[call], end_ns = ap_row_end_ns(search->trace, call);
    bool overflowed = false; /* the sum of all rows was checked when they were read */
    last->row = dur_ns > last->blocked_ns ? call : last->row;
    last->blocked_ns = ap_add_sat(last->blocked_ns, dur_ns, &overflowed);
    last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
    return true;
}

static enum ap_status take_call(struct ap_waits *waits, struct search *search, struct thread_state *thread, uint32_t call,
                                struct ap_error *reterr)
{
    const struct ap_trace *trace = search->trace;
    enum ap_call_kind kind = ap_call_kind_of(search->kinds, trace, call);
    const uint32_t *found = search->links->count ? ap_key_table_find(&search->launched, call + 1) : NULL;
    uint32_t own = found ? *found : AP_ID_NONE, copy = own;
    if (own != AP_ID_NONE) {
        thread->device = ap_row_device(trace, search->links->row[own]);
        thread->copy = ap_row_is_of(trace, search->links->row[own], 1u << AP_KIND_memcpy) ? own : AP_ID_NONE;
    }
    if (kind == AP_CALL_launch || kind == AP_CALL_graph_launch)
        thread->copy = AP_ID_NONE; /* a wait behind this is for more than the copy */
    if (!is_wait(search, call, kind, own))
        return AP_OK;
    if (thread->last_wait && join(search, &waits->waits[thread->last_wait - 1], call, kind))
        return AP_OK;
    if (copy == AP_ID_NONE && thread->copy != AP_ID_NONE &&
        ap_host_parent(search->tree, ap_launch_at(search->links, thread->copy)) == ap_host_parent(search->tree, call))
        copy = thread->copy;
    AP_TRY(AP_RESERVE(waits->gate, waits->waits, waits->capacity, waits->count + 1, reterr));
    struct ap_wait *wait = &waits->waits[waits->count++];
    *wait = (struct ap_wait){ .row = call, .device = thread->device, .start_ns = trace->events.start_ns[call] };
    wait->blocked_ns = trace->events.dur_ns[call];
    wait->end_ns = ap_row_end_ns(trace, call);
    wait->chain = ap_host_chain_of(&search->chains, call);
    wait->category = category_of_call(search, kind, &wait->chain, call, copy);
    note_formatting(waits, thread, wait);
    note_metric(waits, thread, wait);
    thread->last_wait = waits->count;
    return AP_OK;
}

static enum ap_status take_threads(struct ap_waits *waits, struct search *search, const struct ap_row_order *order,
                                   struct ap_error *reterr)
{
    int64_t first_device = search->links->count ? ap_row_device(search->trace, search->links->row[0]) : -1;
    for (size_t track = 0; track < order->track_count; track++) {
        struct thread_state thread = { .device = first_device, .copy = AP_ID_NONE };
        if (!ap_track_may_hold(order, track, AP_HOST_KINDS))
            continue;
        for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
            uint32_t row = order->rows[i];
            if (ap_row_kind(search->trace->events.tag[row]) == AP_KIND_operator)
                take_operator(search, &thread, row);
            else if (ap_row_kind(search->trace->events.tag[row]) == AP_KIND_runtime)
                AP_TRY(take_call(waits, search, &thread, row, reterr));
        }
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ inner calls */

struct numbered {
    const struct ap_waits *waits;
    const struct ap_trace *trace;
};

/* Of the call; 0 = it has none. */
static ap_link_key correlation_of(const struct numbered *numbered, uint32_t wait)
{
    const struct ap_call_detail *call = ap_row_call(numbered->trace, numbered->waits->waits[wait].row);
    return call ? call->correlation : 0;
}

static bool by_correlation(const void *context, uint32_t a, uint32_t b)
{
    ap_link_key of_a = correlation_of(context, a), of_b = correlation_of(context, b);
    return of_a != of_b ? of_a < of_b : a < b;
}

static bool is_within(const struct ap_wait *inner, const struct ap_wait *outer)
{
    return inner->start_ns >= outer->start_ns && inner->end_ns <= outer->end_ns;
}

/* Of two of one number, of which the one lies within the other, only the outer one is a wait of the program: the inner one
 * is what a driver does for it, on a track of its own. */
static void mark_inner(const struct numbered *numbered, const uint32_t *order, size_t count, bool *inner)
{
    const struct ap_wait *waits = numbered->waits->waits;
    for (size_t i = 1; i < count; i++) {
        uint32_t a = order[i - 1], b = order[i];
        if (correlation_of(numbered, a) != correlation_of(numbered, b))
            continue;
        if (is_within(&waits[b], &waits[a]))
            inner[b] = true;
        else if (is_within(&waits[a], &waits[b]))
            inner[a] = true;
    }
}

static enum ap_status drop_inner(struct ap_waits *waits, const struct ap_trace *trace, struct ap_error *reterr)
{
    const struct numbered numbered = { waits, trace };
    uint32_t *order = NULL;
    bool *inner = NULL;
    size_t had = waits->count, count = 0, kept = 0;
    enum ap_status status = AP_ALLOC(waits->gate, order, had, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(waits->gate, inner, had, reterr));
    for (uint32_t i = 0; status == AP_OK && i < had; i++)
        if (correlation_of(&numbered, i))
            order[count++] = i;
    AP_AND_THEN(status, ap_sort_list(waits->gate, order, count, by_correlation, &numbered, reterr));
    if (status == AP_OK) {
        mark_inner(&numbered, order, count, inner);
        for (size_t i = 0; i < had; i++)
            if (!inner[i])
                waits->waits[kept++] = waits->waits[i];
        waits->count = kept;
    }
    AP_FREE(waits->gate, order, had);
    AP_FREE(waits->gate, inner, had);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- set up */

static bool is_mapped(const struct search *search, size_t place, uint32_t kinds)
{
    struct ap_device_row linked = ap_device_row_at(search->links, place);
    return linked.launch != AP_NO_ROW && ap_row_is_of(search->trace, linked.row, kinds);
}

static enum ap_status map_launches(struct search *search, struct ap_gate *gate, struct ap_error *reterr)
{
    const struct ap_links *links = search->links;
    if (!links->count)
        return AP_OK;
    bool several = ap_row_device(search->trace, links->row[0]) != ap_row_device(search->trace, links->row[links->count - 1]);
    uint32_t kinds = several ? AP_GPU_KINDS : 1u << AP_KIND_memcpy;
    size_t count = 0;
    for (size_t i = 0; i < links->count; i++)
        count += is_mapped(search, i, kinds);
    AP_TRY(ap_key_table_init(&search->launched, gate, count, 1, (uint32_t)search->trace->events.count, reterr));
    for (size_t i = 0; i < links->count; i++)
        if (is_mapped(search, i, kinds))
            ap_key_table_add(&search->launched, ap_launch_at(links, i) + 1);
    AP_TRY(ap_key_table_finish(&search->launched, reterr));
    for (uint32_t i = 0; i < links->count; i++) {
        uint32_t *place =
            is_mapped(search, i, kinds) ? ap_key_table_find(&search->launched, ap_launch_at(links, i) + 1) : NULL;
        if (place && *place == AP_ID_NONE)
            *place = i;
    }
    return AP_OK;
}

static enum ap_status begin_search(struct search *search, struct ap_gate *gate, struct ap_error *reterr)
{
    size_t count = ap_trace_id_count(search->trace);
    AP_TRY(ap_host_chains_init(&search->chains, search->trace, search->tree, gate, reterr));
    AP_TRY(ap_name_patterns_init(&search->operators, gate, operator_patterns, AP_COUNT_OF(operator_patterns), reterr));
    AP_TRY(ap_name_patterns_init(&search->formats, gate, format_patterns, AP_COUNT_OF(format_patterns), reterr));
    AP_TRY(ap_name_patterns_init(&search->metrics, gate, metric_patterns, AP_COUNT_OF(metric_patterns), reterr));
    search->name_count = count;
    AP_TRY(AP_ALLOC_CLEARED(gate, search->category_of_name, count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, search->formats_of_name, count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, search->metrics_of_name, count, reterr));
    return map_launches(search, gate, reterr);
}

enum ap_status ap_waits_init(struct ap_waits *waits, const struct ap_trace *trace, const struct ap_row_order *order,
                             const struct ap_host_tree *tree, const struct ap_links *links,
                             const struct ap_call_kinds *kinds, struct ap_gate *gate, struct ap_error *reterr)
{
    struct search search = { .trace = trace,
                             .tree = tree,
                             .links = links,
                             .kinds = kinds,
                             .chains.frames.gate = gate,
                             .operators.gate = gate,
                             .formats.gate = gate,
                             .metrics.gate = gate,
                             .launched = { .gate = gate, .keys.gate = gate, .map.gate = gate } };
    *waits = (struct ap_waits){ .gate = gate };
    enum ap_status status = begin_search(&search, gate, reterr);
    AP_AND_THEN(status, take_threads(waits, &search, order, reterr));
    if (status == AP_OK && waits->count > 1)
        status = drop_inner(waits, trace, reterr);
    AP_FREE(gate, search.category_of_name, search.name_count);
    AP_FREE(gate, search.formats_of_name, search.name_count);
    AP_FREE(gate, search.metrics_of_name, search.name_count);
    ap_key_table_release(&search.launched);
    ap_name_patterns_release(&search.operators);
    ap_name_patterns_release(&search.formats);
    ap_name_patterns_release(&search.metrics);
    ap_host_chains_release(&search.chains);
    return status;
}

void ap_waits_release(struct ap_waits *waits)
{
    AP_FREE(waits->gate, waits->waits, waits->capacity);
    *waits = (struct ap_waits){ .gate = waits->gate };
}
