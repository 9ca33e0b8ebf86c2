/* SPDX-License-Identifier: MIT
 * engine_steps.c - annotations are read once for each name; of the threads that have such rows the one with most is taken.
 * GPU work is of the step in which it was launched, whenever it ran: engines prepare a step while the one before runs. */
#include "engine_steps.h"

#include "quantile.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

#define QUEUED_NS 1000000 /* work that waits longer behind nothing of its step waits for what came before */
#define PAUSE_FACTOR 10   /* median steps: a longer way to the next step is the engine's rest, for want of requests */

#define NO_STEP UINT32_MAX

struct finding {
    struct ap_engine_steps *steps;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    uint32_t *told_of; /* by name id: number in told + 1; 0 = no annotation has the name; NO_STEP = it tells of none */
    struct ap_engine_step_name *told;
    size_t told_count, told_capacity;
};

static enum ap_status read_name(struct finding *finding, uint32_t id, struct ap_error *reterr)
{
    struct ap_engine_step_name told;
    if (!ap_engine_step_name_read(ap_trace_text(finding->trace, id), &told)) {
        finding->told_of[id] = NO_STEP;
        return AP_OK;
    }
    AP_TRY_ADD(finding->steps->gate, finding->told, finding->told_count, finding->told_capacity, reterr, told);
    finding->told_of[id] = (uint32_t)finding->told_count;
    return AP_OK;
}

static inline bool is_annotation(const uint8_t *tags, uint32_t row)
{
    return ap_row_kind(tags[row]) == AP_KIND_annotation;
}

/* Of an annotation whose name was read. */
static bool is_mark(const struct finding *finding, uint32_t row)
{
    return finding->told_of[finding->trace->events.name[row]] != NO_STEP;
}

/* The track with most marks, AP_NO_ROW = there is none; *ret_others: marks of the others. */
static enum ap_status busiest_track(struct finding *finding, uint32_t *ret_track, size_t *ret_others,
                                    struct ap_error *reterr)
{
    const struct ap_row_order *order = &finding->facts->order;
    const uint32_t *rows = order->rows;
    const uint8_t *tags = finding->trace->events.tag;
    size_t all = 0, most = 0;
    *ret_track = AP_NO_ROW;
    AP_TRY(AP_ALLOC_CLEARED(finding->steps->gate, finding->told_of, ap_trace_id_count(finding->trace), reterr));
    for (uint32_t track = 0; track < order->track_count; track++) {
        size_t count = 0;
        for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
            uint32_t row = rows[i];
            if (!is_annotation(tags, row))
                continue;
            if (!finding->told_of[finding->trace->events.name[row]])
                AP_TRY(read_name(finding, finding->trace->events.name[row], reterr));
            count += is_mark(finding, row);
        }
        all += count;
        if (count > most) {
            most = count;
            *ret_track = track;
        }
    }
    *ret_others = all - most;
    return AP_OK;
}

static void fill_in(int64_t *known, int64_t more)
{
    *known = *known >= 0 ? *known : more;
}

/* An engine that another one's annotations surround tells its steps twice; each knows what the other does not. */
static void merge(struct ap_engine_step_name *told, const struct ap_engine_step_name *inner)
{
    fill_in(&told->requests, inner->requests);
    fill_in(&told->context_requests, inner->context_requests);
    fill_in(&told->generation_requests, inner->generation_requests);
    fill_in(&told->tokens, inner->tokens);
    fill_in(&told->context_tokens, inner->context_tokens);
    fill_in(&told->generation_tokens, inner->generation_tokens);
    told->attention_pairs = told->attention_pairs >= 0 ? told->attention_pairs : inner->attention_pairs;
    told->attention_keys = told->attention_keys >= 0 ? told->attention_keys : inner->attention_keys;
    if (told->phase == AP_ENGINE_other)
        told->phase = inner->phase;
    if (!ap_text_is(ap_text_of(inner->engine), "vLLM")) /* whose form others use */
        told->engine = inner->engine;
}

/* By its middle: of steps that follow each other at once the next one may start a rounding before the end. */
static bool lies_within(int64_t start_ns, int64_t end_ns, const struct ap_engine_step *outer)
{
    return start_ns + (end_ns - start_ns) / 2 < outer->end_ns;
}

static enum ap_status take_marks(struct finding *finding, struct ap_error *reterr)
{
    struct ap_engine_steps *steps = finding->steps;
    const struct ap_row_order *order = &finding->facts->order;
    const uint32_t *rows = order->rows;
    const uint8_t *tags = finding->trace->events.tag;
    uint32_t track;
    AP_TRY(busiest_track(finding, &track, &steps->elsewhere, reterr));
    if (track == AP_NO_ROW)
        return AP_OK;
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = rows[i];
        if (!is_annotation(tags, row) || !is_mark(finding, row))
            continue;
        const struct ap_engine_step_name *told = &finding->told[finding->told_of[finding->trace->events.name[row]] - 1];
        int64_t start_ns = finding->trace->events.start_ns[row];
        if (steps->count && lies_within(start_ns, ap_row_end_ns(finding->trace, row), &steps->steps[steps->count - 1])) {
            merge(&steps->steps[steps->count - 1].told, told);
            continue;
        }
        struct ap_engine_step step = { .told = *told,
                                       .row = row,
                                       .start_ns = start_ns,
                                       .end_ns = ap_row_end_ns(finding->trace, row),
                                       .device_start_ns = AP_START_UNKNOWN,
                                       .device_end_ns = AP_START_UNKNOWN };
        AP_TRY_ADD(steps->gate, steps->steps, steps->count, steps->capacity, reterr, step);
    }
    return AP_OK;
}

/* ---- GPU work ---- */

/* @near: where the last one was found. */
static size_t step_near(const struct ap_engine_steps *steps, size_t *near, int64_t at_ns)
{
    AP_SEEK(*near, steps->count, at, steps->steps[at].end_ns <= at_ns);
    return *near < steps->count && steps->steps[*near].start_ns <= at_ns ? *near : steps->count;
}

size_t ap_engine_step_at(const struct ap_engine_steps *steps, int64_t at_ns)
{
    size_t near = steps->count / 2;
    return step_near(steps, &near, at_ns);
}

static void add_ns(struct ap_engine_steps *steps, int64_t *sum_ns, int64_t ns)
{
    *sum_ns = ap_add_sat(*sum_ns, ns, &steps->overflowed);
}

/* Up to where rows of a step were met on the device that is gone over: rows come device by device, in order of start. */
struct covered {
    int64_t device, until_ns;
    bool any;
};

static void take_busy(struct ap_engine_steps *steps, struct ap_engine_step *step, int64_t device, int64_t start_ns,
                      int64_t end_ns, struct covered *covered)
{
    if (!covered->any || covered->device != device)
        *covered = (struct covered){ device, start_ns, true };
    int64_t from_ns = start_ns > covered->until_ns ? start_ns : covered->until_ns;
    if (end_ns <= from_ns)
        return;
    add_ns(steps, &step->device_ns, end_ns - from_ns);
    covered->until_ns = end_ns;
}

/* From the call to the start, where nothing of the step ran meanwhile. */
static void take_queued(struct ap_engine_steps *steps, struct ap_engine_step *step, int64_t call_end_ns, int64_t start_ns,
                        const struct covered *covered, int64_t device)
{
    bool follows = covered->any && covered->device == device && covered->until_ns > call_end_ns;
    int64_t from_ns = follows ? covered->until_ns : call_end_ns;
    if (start_ns > from_ns && start_ns - from_ns > QUEUED_NS)
        add_ns(steps, &step->queued_ns, start_ns - from_ns);
}

static void take_row(struct finding *finding, struct ap_engine_step *step, struct ap_device_row linked,
                     struct covered *covered)
{
    const struct ap_trace *trace = finding->trace;
    int64_t start_ns = trace->events.start_ns[linked.row], end_ns = ap_row_end_ns(trace, linked.row);
    take_queued(finding->steps, step, ap_row_end_ns(trace, linked.launch), start_ns, covered,
                ap_row_device(trace, linked.row));
    take_busy(finding->steps, step, ap_row_device(trace, linked.row), start_ns, end_ns, covered);
    if (step->device_start_ns == AP_START_UNKNOWN || start_ns < step->device_start_ns)
        step->device_start_ns = start_ns;
    if (end_ns > step->device_end_ns)
        step->device_end_ns = end_ns;
    add_ns(finding->steps, &step->work_ns, end_ns - start_ns);
    if (ap_call_kind_of(&finding->facts->calls, trace, linked.launch) == AP_CALL_graph_launch)
        add_ns(finding->steps, &step->graph_ns, end_ns - start_ns);
    step->device_rows++;
}

static enum ap_status take_work(struct finding *finding, struct ap_error *reterr)
{
    struct ap_engine_steps *steps = finding->steps;
    const struct ap_links *links = &finding->facts->links;
    struct covered *covered; /* by step */
    AP_TRY(AP_ALLOC_CLEARED(steps->gate, covered, steps->count, reterr));
    for (size_t i = 0, near = 0; i < links->count; i++) {
        if (ap_launch_at(links, i) == AP_NO_ROW)
            continue;
        size_t step = step_near(steps, &near, finding->trace->events.start_ns[ap_launch_at(links, i)]);
        if (step < steps->count)
            take_row(finding, &steps->steps[step], ap_device_row_at(links, i), &covered[step]);
    }
    AP_FREE(steps->gate, covered, steps->count);
    return AP_OK;
}

static void count_graph_launches(struct finding *finding)
{
    const struct ap_trace *trace = finding->trace;
    const struct ap_call_kinds *calls = &finding->facts->calls;
    if (!calls->count || !memchr(calls->by_name, AP_CALL_graph_launch, calls->count))
        return;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        if (trace->events.start_ns[at.row] == AP_START_UNKNOWN ||
            ap_call_kind_of(calls, trace, at.row) != AP_CALL_graph_launch)
            continue;
        size_t step = ap_engine_step_at(finding->steps, trace->events.start_ns[at.row]);
        if (step < finding->steps->count)
            finding->steps->steps[step].graph_launches++;
    }
}

/* ---- from step to step ---- */

static int64_t last_ns(const struct ap_engine_step *step)
{
    return step->device_end_ns > step->end_ns ? step->device_end_ns : step->end_ns;
}

static enum ap_status find_median(const struct ap_engine_steps *steps, int64_t *ret_ns, struct ap_error *reterr)
{
    int64_t *lengths_ns;
    AP_TRY(AP_ALLOC(steps->gate, lengths_ns, steps->count, reterr));
    for (size_t i = 0; i < steps->count; i++)
        lengths_ns[i] = last_ns(&steps->steps[i]) - steps->steps[i].start_ns;
    *ret_ns = ap_quantile(lengths_ns, steps->count, 50);
    AP_FREE(steps->gate, lengths_ns, steps->count);
    return AP_OK;
}

/* When its tokens are there. */
static int64_t done_ns(const struct ap_engine_step *step)
{
    return step->device_end_ns == AP_START_UNKNOWN ? step->end_ns : step->device_end_ns;
}

/* On its own: from its start, less what its work was queued behind others. */
static int64_t alone_ns(const struct ap_engine_step *step)
{
    int64_t whole_ns = last_ns(step) - step->start_ns;
    return step->queued_ns < whole_ns ? whole_ns - step->queued_ns : whole_ns;
}

static enum ap_status find_periods(struct ap_engine_steps *steps, struct ap_error *reterr)
{
    int64_t median_ns;
    AP_TRY(find_median(steps, &median_ns, reterr));
    for (size_t i = 0; i < steps->count; i++) {
        struct ap_engine_step *step = &steps->steps[i], *before = i ? step - 1 : NULL;
        step->is_first = !before || (step->start_ns - last_ns(before)) / PAUSE_FACTOR > median_ns;
        if (step->is_first) {
            step->step_ns = alone_ns(step);
            continue;
        }
        step->step_ns = done_ns(step) > done_ns(before) ? done_ns(step) - done_ns(before) : 0;
        if (step->device_start_ns != AP_START_UNKNOWN && before->device_end_ns != AP_START_UNKNOWN &&
            step->device_start_ns > before->device_end_ns)
            step->gap_ns = step->device_start_ns - before->device_end_ns;
    }
    return AP_OK;
}

static void find_engine(struct ap_engine_steps *steps)
{
    steps->engine = steps->steps[0].told.engine;
    for (size_t i = 1; i < steps->count; i++)
        if (!ap_text_is(ap_text_of(steps->steps[i].told.engine), "vLLM"))
            steps->engine = steps->steps[i].told.engine;
}

static enum ap_status find_work(struct finding *finding, struct ap_error *reterr)
{
    find_engine(finding->steps);
    AP_TRY(take_work(finding, reterr));
    count_graph_launches(finding);
    return find_periods(finding->steps, reterr);
}

static enum ap_status find(struct ap_engine_steps *steps, const struct ap_facts *facts, bool with_work, struct ap_gate *gate,
                           struct ap_error *reterr)
{
    struct finding finding = { .steps = steps, .facts = facts, .trace = facts->trace };
    *steps = (struct ap_engine_steps){ .gate = gate };
    enum ap_status status = take_marks(&finding, reterr);
    if (status == AP_OK && steps->count && with_work)
        status = find_work(&finding, reterr);
    AP_FREE(gate, finding.told_of, ap_trace_id_count(facts->trace));
    AP_FREE(gate, finding.told, finding.told_capacity);
    return status;
}

enum ap_status ap_engine_steps_init(struct ap_engine_steps *steps, const struct ap_facts *facts, struct ap_gate *gate,
                                    struct ap_error *reterr)
{
    return find(steps, facts, true, gate, reterr);
}

enum ap_status ap_engine_steps_told(struct ap_engine_steps *steps, const struct ap_facts *facts, struct ap_gate *gate,
                                    struct ap_error *reterr)
{
    return find(steps, facts, false, gate, reterr);
}

void ap_engine_steps_release(struct ap_engine_steps *steps)
{
    AP_FREE(steps->gate, steps->steps, steps->capacity);
    *steps = (struct ap_engine_steps){ .gate = steps->gate };
}
