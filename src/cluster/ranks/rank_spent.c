/* SPDX-License-Identifier: MIT */
#include "rank_spent.h"

#include "name_pattern.h"
#include "sort.h"

#include "poison.h"

#define CLASS_UNKNOWN 0
#define CLASS_NONE 1
#define CLASS_GARBAGE 2
#define CLASS_COMPILE 3

static const char *const class_patterns[] = {
    "<built-in function collect>|*gc.collect*|*gc.py*collect*|Garbage collection*",
    "*(dynamo_timed)*|_compile.*|compile_inner*|*inductor_compile*|compile_fx*|*triton_compile*|*async_compile*",
};

/* ----------------------------------------------------------------------------------------------------------- spans */

static enum ap_status add_span(struct ap_spans *spans, struct ap_gate *gate, int64_t start_ns, int64_t end_ns,
                               struct ap_error *reterr)
{
    struct ap_span *last = spans->count ? &spans->list[spans->count - 1] : NULL;
    if (last && start_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return AP_OK;
    }
    if (end_ns <= start_ns)
        return AP_OK;
    int64_t before_ns = last ? last->before_ns + (last->end_ns - last->start_ns) : 0;
    AP_TRY_ADD(gate, spans->list, spans->count, spans->capacity, reterr, (struct ap_span){ start_ns, end_ns, before_ns });
    return AP_OK;
}

/* Time in the spans before @at_ns. */
static int64_t covered_before(const struct ap_spans *spans, int64_t at_ns)
{
    size_t low = 0;
    AP_BISECT(low, spans->count, at, spans->list[at].start_ns < at_ns);
    if (!low)
        return 0;
    const struct ap_span *span = &spans->list[low - 1];
    int64_t end_ns = span->end_ns < at_ns ? span->end_ns : at_ns;
    return span->before_ns + (end_ns - span->start_ns);
}

static int64_t covered(const struct ap_spans *spans, int64_t start_ns, int64_t end_ns)
{
    return covered_before(spans, end_ns) - covered_before(spans, start_ns);
}

/* ---------------------------------------------------------------------------------------------------------- device */

/* Rows are sorted by device. */
static int64_t busiest_device(const struct ap_facts *facts)
{
    int64_t busiest = -1;
    size_t most = 0, count = 0;
    for (size_t i = 0; i < facts->links.count; i++) {
        int64_t device = ap_row_device(facts->trace, facts->links.row[i]);
        bool same = i && device == ap_row_device(facts->trace, facts->links.row[i - 1]);
        count = same ? count + 1 : 1;
        if (count > most) {
            most = count;
            busiest = device;
        }
    }
    return busiest;
}

static enum ap_status add_device_row(struct ap_rank_timeline *timeline, uint32_t row, struct ap_error *reterr)
{
    const struct ap_trace *trace = timeline->facts->trace;
    bool kernel = ap_row_is_of(trace, row, 1u << AP_KIND_kernel);
    bool communicates = kernel && ap_kernel_is_communication(&timeline->facts->families, trace, row);
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    if (kernel && !communicates)
        AP_TRY(add_span(&timeline->compute, timeline->gate, start_ns, end_ns, reterr));
    if (!communicates)
        AP_TRY(add_span(&timeline->compute_or_copy, timeline->gate, start_ns, end_ns, reterr));
    return add_span(&timeline->busy, timeline->gate, start_ns, end_ns, reterr);
}

static enum ap_status add_device(struct ap_rank_timeline *timeline, struct ap_error *reterr)
{
    const struct ap_links *links = &timeline->facts->links;
    timeline->device = busiest_device(timeline->facts);
    for (size_t i = 0; i < links->count; i++)
        if (ap_row_device(timeline->facts->trace, links->row[i]) == timeline->device)
            AP_TRY(add_device_row(timeline, links->row[i], reterr));
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ host */

static enum ap_status class_names(struct ap_rank_timeline *timeline, struct ap_error *reterr)
{
    const struct ap_trace *trace = timeline->facts->trace;
    struct ap_name_patterns patterns;
    timeline->name_count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC_CLEARED(timeline->gate, timeline->name_classes, timeline->name_count, reterr));
    AP_TRY(ap_name_patterns_init(&patterns, timeline->gate, class_patterns, AP_COUNT_OF(class_patterns), reterr));
    for (uint32_t row = 0; row < trace->events.count; row++) {
        uint8_t *class = &timeline->name_classes[trace->events.name[row]];
        if (*class != CLASS_UNKNOWN || !ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        size_t entry = ap_name_patterns_first(&patterns, ap_row_name(trace, row), AP_COUNT_OF(class_patterns));
        *class = entry == AP_COUNT_OF(class_patterns) ? CLASS_NONE : (uint8_t)(CLASS_GARBAGE + entry);
    }
    ap_name_patterns_release(&patterns);
    return AP_OK;
}

static enum ap_spent spent_of_cause(uint8_t cause)
{
    static const uint8_t classes[AP_IDLE_CAUSE_COUNT_] = {
        [AP_IDLE_data_loading] = AP_SPENT_data_loading,
        [AP_IDLE_synchronization] = AP_SPENT_synchronization,
        [AP_IDLE_communication_wait] = AP_SPENT_communication,
        [AP_IDLE_allocation] = AP_SPENT_allocation,
        [AP_IDLE_driver_call] = AP_SPENT_driver_call,
        [AP_IDLE_launch_overhead] = AP_SPENT_launch,
        [AP_IDLE_queue_wait] = AP_SPENT_queue,
        [AP_IDLE_not_recorded] = AP_SPENT_queue,
        [AP_IDLE_host_python] = AP_SPENT_python,
        [AP_IDLE_host_autograd] = AP_SPENT_operators,
        [AP_IDLE_host_optimizer] = AP_SPENT_operators,
        [AP_IDLE_host_operator] = AP_SPENT_operators,
        [AP_IDLE_untraced] = AP_SPENT_untraced,
    };
    return (enum ap_spent)classes[cause];
}

/* Ranges of the main thread that tell what all within them is for, whatever rows they hold. */
static enum ap_status add_ranges(struct ap_rank_timeline *timeline, struct ap_error *reterr)
{
    const struct ap_facts *facts = timeline->facts;
    const struct ap_trace *trace = facts->trace;
    uint32_t track = facts->main_track;
    if (track == AP_NO_ROW)
        return AP_OK;
    for (size_t i = facts->order.track_start[track]; i < facts->order.track_start[track + 1]; i++) {
        uint32_t row = facts->order.rows[i];
        uint8_t class = timeline->name_classes[trace->events.name[row]];
        if (class < CLASS_GARBAGE || !ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        struct ap_spans *to = class == CLASS_GARBAGE ? &timeline->garbage : &timeline->compiling;
        AP_TRY(add_span(to, timeline->gate, trace->events.start_ns[row], ap_row_end_ns(trace, row), reterr));
    }
    return AP_OK;
}

/* Behind a wait the device has run dry, and stays so for a moment whatever the host does. Where it goes on to do something
 * else for long, that is why. */
#define DRY_NS 200000

static uint8_t cause_of_piece(const struct ap_idle_piece *piece)
{
    bool dry = piece->cause == AP_IDLE_synchronization && piece->end_ns - piece->start_ns < DRY_NS;
    return piece->cause != AP_IDLE_synchronization || dry ? piece->cause : piece->host;
}

static enum ap_spent class_of_piece(const struct ap_rank_timeline *timeline, const struct ap_idle_piece *piece)
{
    int64_t half_ns = (piece->end_ns - piece->start_ns) / 2;
    if (timeline->garbage.count && covered(&timeline->garbage, piece->start_ns, piece->end_ns) > half_ns)
        return AP_SPENT_garbage_collection;
    if (timeline->compiling.count && covered(&timeline->compiling, piece->start_ns, piece->end_ns) > half_ns)
        return AP_SPENT_compilation;
    return spent_of_cause(cause_of_piece(piece));
}

static int by_start(const void *left, const void *right)
{
    const struct ap_idle_piece *a = left, *b = right;
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->end_ns, b->end_ns);
    AP_BY_SMALLER(a->cause, b->cause);
    AP_BY_SMALLER(a->row, b->row);
    return 0;
}

static enum ap_status add_pieces(struct ap_rank_timeline *timeline, struct ap_error *reterr)
{
    struct ap_idle_pieces *pieces = timeline->pieces;
    ap_sort(pieces->list, pieces->count, sizeof(pieces->list[0]), by_start);
    for (size_t i = 0; i < pieces->count; i++) {
        const struct ap_idle_piece *piece = &pieces->list[i];
        enum ap_spent class = class_of_piece(timeline, piece);
        AP_TRY(add_span(&timeline->idle[class], timeline->gate, piece->start_ns, piece->end_ns, reterr));
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- all */

enum ap_status ap_rank_timeline_init(struct ap_rank_timeline *timeline, const struct ap_facts *facts,
                                     struct ap_idle_pieces *pieces, struct ap_error *reterr)
{
    *timeline = (struct ap_rank_timeline){ .gate = facts->gate, .facts = facts, .pieces = pieces };
    AP_TRY(add_device(timeline, reterr));
    AP_TRY(class_names(timeline, reterr));
    AP_TRY(add_ranges(timeline, reterr));
    return add_pieces(timeline, reterr);
}

static void release_spans(struct ap_spans *spans, struct ap_gate *gate)
{
    AP_FREE(gate, spans->list, spans->capacity);
}

void ap_rank_timeline_release(struct ap_rank_timeline *timeline)
{
    release_spans(&timeline->compute, timeline->gate);
    release_spans(&timeline->compute_or_copy, timeline->gate);
    release_spans(&timeline->busy, timeline->gate);
    release_spans(&timeline->garbage, timeline->gate);
    release_spans(&timeline->compiling, timeline->gate);
    for (int i = 0; i < AP_SPENT_COUNT_; i++)
        release_spans(&timeline->idle[i], timeline->gate);
    AP_FREE(timeline->gate, timeline->name_classes, timeline->name_count);
    *timeline = (struct ap_rank_timeline){ .gate = timeline->gate };
}

void ap_rank_timeline_spent(const struct ap_rank_timeline *timeline, int64_t start_ns, int64_t end_ns,
                            int64_t ret_spent_ns[AP_SPENT_COUNT_])
{
    int64_t rest_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    for (int i = 0; i < AP_SPENT_COUNT_; i++)
        ret_spent_ns[i] = rest_ns ? covered(&timeline->idle[i], start_ns, end_ns) : 0;
    if (!rest_ns)
        return;
    int64_t compute_ns = covered(&timeline->compute, start_ns, end_ns);
    int64_t with_copies_ns = covered(&timeline->compute_or_copy, start_ns, end_ns);
    ret_spent_ns[AP_SPENT_compute] += compute_ns;
    ret_spent_ns[AP_SPENT_copy] += with_copies_ns - compute_ns;
    ret_spent_ns[AP_SPENT_communication] += covered(&timeline->busy, start_ns, end_ns) - with_copies_ns;
    for (int i = 0; i < AP_SPENT_COUNT_; i++)
        rest_ns -= ret_spent_ns[i];
    ret_spent_ns[AP_SPENT_untraced] += rest_ns > 0 ? rest_ns : 0;
}

int64_t ap_rank_timeline_idle_before(const struct ap_rank_timeline *timeline, int64_t start_ns, int64_t end_ns)
{
    const struct ap_spans *spans = &timeline->compute;
    size_t low = 0;
    int64_t before_ns = end_ns - start_ns > 2 * AP_RANK_QUEUED_NS ? end_ns - AP_RANK_QUEUED_NS : end_ns;
    AP_BISECT(low, spans->count, at, spans->list[at].start_ns < before_ns); /* what follows at once may begin too early */
    int64_t since_ns = low && spans->list[low - 1].end_ns > start_ns ? spans->list[low - 1].end_ns : start_ns;
    return since_ns < end_ns ? end_ns - since_ns : 0;
}

uint32_t ap_rank_timeline_host_row(const struct ap_rank_timeline *timeline, int64_t start_ns, int64_t end_ns)
{
    const struct ap_idle_pieces *pieces = timeline->pieces;
    uint32_t row = AP_NO_ROW;
    int64_t longest_ns = 0;
    size_t low = 0;
    AP_BISECT(low, pieces->count, at, pieces->list[at].start_ns < start_ns);
    for (size_t i = low ? low - 1 : 0; i < pieces->count && pieces->list[i].start_ns < end_ns; i++) {
        const struct ap_idle_piece *piece = &pieces->list[i];
        int64_t from_ns = piece->start_ns > start_ns ? piece->start_ns : start_ns;
        int64_t to_ns = piece->end_ns < end_ns ? piece->end_ns : end_ns;
        if (to_ns - from_ns <= longest_ns)
            continue;
        longest_ns = to_ns - from_ns;
        row = piece->row;
    }
    return row;
}
