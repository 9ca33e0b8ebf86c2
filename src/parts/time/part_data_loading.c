/* SPDX-License-Identifier: MIT
 * part_data_loading.c - the waits of the training loop for batches, and what of them left the device idle. Only the waiting
 * side is in a trace: worker processes are not recorded. */
#include "part.h"
#include "quantile.h"
#include "sort.h"

#include "poison.h"

#define SLOW_OVER_MEDIAN 5           /* the first batch of an epoch, where workers are started anew */
#define TAKE_NS INT64_C(150000)      /* to take a batch that a worker made */
#define HOST_TAKE_NS INT64_C(500000) /* likewise where no thread beside the loop unpacks it, and all share the cores */
#define RANGES (1u << AP_KIND_operator | 1u << AP_KIND_annotation)

struct waits {
    uint32_t *rows; /* waits that are not inside another one, in order of tracks, then time */
    int64_t *dur_ns;
    size_t count, row_capacity, dur_capacity;
    int64_t total_ns;
    uint64_t single_count, multi_count;
    uint64_t start_count;
    int64_t start_ns;  /* in which iterators are made, and end their workers */
    int64_t firsts_ns; /* the first wait behind each of those that were made */
    uint64_t first_count;
    bool starts; /* such a wait is due */
    bool overflowed;
};

/* What a name says of its rows. */
#define IS_WAIT 1u
#define SINGLE_PROCESS 2u
#define MULTI_PROCESS 4u
#define IS_START 8u
#define IS_END 16u

static uint8_t told_by(struct ap_text name)
{
    if (ap_text_contains(name, ap_text_of("torch/utils/data/dataloader.py")))
        return ap_text_ends_with(name, ": _get_iterator")       ? IS_START
               : ap_text_ends_with(name, ": _shutdown_workers") ? IS_END
                                                                : 0;
    if (!ap_text_starts_with(name, "enumerate(DataLoader)") && !ap_text_contains_folded(name, "dataloaderiter"))
        return 0;
    return (uint8_t)(IS_WAIT | (ap_text_contains_folded(name, "singleprocess") ? SINGLE_PROCESS : 0) |
                     (ap_text_contains_folded(name, "multiprocess") ? MULTI_PROCESS : 0));
}

/* *ret_any: most traces have no such name, then no row need be looked at. */
static void tell_names(uint8_t *told, const struct ap_trace *trace, bool *ret_any)
{
    *ret_any = false;
    told[0] = 0;
    for (uint32_t id = 1; id <= ap_strpool_count(&trace->strings); id++) {
        told[id] = told_by(ap_trace_text(trace, id));
        *ret_any |= told[id] != 0;
    }
}

/* Frames, where they are recorded: what it takes to make an iterator with its workers, and to end them. */
static void see_frame(const struct ap_trace *trace, uint32_t row, uint8_t told, struct waits *waits)
{
    if (!ap_row_is_of(trace, row, 1u << AP_KIND_python))
        return;
    waits->start_count += told == IS_START;
    waits->starts |= told == IS_START;
    waits->start_ns = ap_add_sat(waits->start_ns, trace->events.dur_ns[row], &waits->overflowed);
}

static void see_first(int64_t dur_ns, struct waits *waits)
{
    waits->firsts_ns = ap_add_sat(waits->firsts_ns, waits->starts ? dur_ns : 0, &waits->overflowed);
    waits->first_count += waits->starts;
    waits->starts = false;
}

static enum ap_status collect(struct ap_part_context *context, const uint8_t *told, struct waits *waits,
                              struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    int64_t covered_to_ns = INT64_MIN;
    uint32_t track = AP_NO_ROW;
    for (size_t i = 0; i < context->facts->order.count; i++) {
        uint32_t row = context->facts->order.rows[i];
        if (trace->events.track[row] != track) {
            track = trace->events.track[row];
            covered_to_ns = INT64_MIN;
            waits->starts = false;
        }
        uint8_t of_name = told[trace->events.name[row]];
        if (of_name & (IS_START | IS_END))
            see_frame(trace, row, of_name, waits);
        if (!(of_name & IS_WAIT) || !ap_row_is_of(trace, row, RANGES) || trace->events.start_ns[row] < covered_to_ns)
            continue;
        covered_to_ns = ap_row_end_ns(trace, row);
        see_first(trace->events.dur_ns[row], waits);
        AP_TRY(AP_RESERVE(context->gate, waits->rows, waits->row_capacity, waits->count + 1, reterr));
        AP_TRY(AP_RESERVE(context->gate, waits->dur_ns, waits->dur_capacity, waits->count + 1, reterr));
        waits->rows[waits->count] = row;
        waits->dur_ns[waits->count++] = trace->events.dur_ns[row];
        waits->total_ns = ap_add_sat(waits->total_ns, trace->events.dur_ns[row], &waits->overflowed);
        waits->single_count += (of_name & SINGLE_PROCESS) != 0;
        waits->multi_count += (of_name & MULTI_PROCESS) != 0;
    }
    return AP_OK;
}

static enum ap_status find_waits(struct ap_part_context *context, struct waits *waits, struct ap_error *reterr)
{
    size_t name_count = ap_trace_id_count(context->trace);
    uint8_t *told;
    bool any;
    AP_TRY(AP_ALLOC(context->gate, told, name_count, reterr));
    tell_names(told, context->trace, &any);
    enum ap_status status = any ? collect(context, told, waits, reterr) : AP_OK;
    AP_FREE(context->gate, told, name_count);
    return status;
}

struct longest {
    const struct ap_trace *trace;
    const struct waits *waits;
};

static bool longer_wait(const void *context, uint32_t a, uint32_t b)
{
    const struct longest *longest = context;
    int64_t a_ns = longest->trace->events.dur_ns[longest->waits->rows[a]];
    int64_t b_ns = longest->trace->events.dur_ns[longest->waits->rows[b]];
    return a_ns != b_ns ? a_ns > b_ns : a < b;
}

static enum ap_status add_longest(struct ap_part_context *context, const struct waits *waits, struct ap_model *model,
                                  struct ap_value *to, struct ap_error *reterr)
{
    struct longest longest = { context->trace, waits };
    struct ap_value *list = ap_add_list(model, to, "waits");
    uint32_t *numbers;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)waits->count, context->options->top_n, longer_wait, &longest, &numbers,
                          &count, reterr));
    for (size_t i = 0; i < count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", ap_row_name(context->trace, waits->rows[numbers[i]]));
        ap_add_place(context->trace, waits->rows[numbers[i]], model, row);
    }
    AP_FREE(context->gate, numbers, count);
    return AP_OK;
}

/* By workers, of batches that the loop makes itself: what takes no longer to make than to take from one gains nothing. A
 * wait far beyond the others had another cause, as a thread that lost its core. */
static int64_t spared_ns(const struct ap_part_context *context, struct waits *waits, int64_t median_ns)
{
    const struct ap_trace *trace = context->trace;
    int64_t sum_ns = 0, take_ns = context->facts->split.has_gpu ? TAKE_NS : HOST_TAKE_NS;
    for (size_t i = 0; i < waits->count; i++) {
        uint32_t row = waits->rows[i];
        int64_t dur_ns = trace->events.dur_ns[row];
        if (!(told_by(ap_row_name(trace, row)) & SINGLE_PROCESS))
            continue;
        dur_ns = dur_ns / SLOW_OVER_MEDIAN > median_ns ? median_ns : dur_ns;
        sum_ns = ap_add_sat(sum_ns, dur_ns > take_ns ? dur_ns - take_ns : 0, &waits->overflowed);
    }
    return sum_ns;
}

/* Percentiles put the durations out of order: they come last. */
static void add_spread(const struct ap_part_context *context, struct waits *waits, struct ap_model *model,
                       struct ap_value *to)
{
    int64_t max_ns = 0, slow = 0, slow_ns = 0, first_ns = waits->dur_ns[0];
    for (size_t i = 0; i < waits->count; i++)
        max_ns = waits->dur_ns[i] > max_ns ? waits->dur_ns[i] : max_ns;
    int64_t median_ns = ap_quantile(waits->dur_ns, waits->count, 50);
    for (size_t i = 0; i < waits->count; i++)
        if (waits->count >= 3 && waits->dur_ns[i] / SLOW_OVER_MEDIAN > median_ns) {
            slow++;
            slow_ns = ap_add_sat(slow_ns, waits->dur_ns[i] - median_ns, &waits->overflowed);
        }
    ap_add_time(model, to, "spared_us", spared_ns(context, waits, median_ns));
    ap_add_time(model, to, "first_us", first_ns);
    ap_add_time(model, to, "p50_us", median_ns);
    ap_add_time(model, to, "max_us", max_ns);
    ap_add_count(model, to, "slow_count", slow);
    ap_add_time(model, to, "slow_excess_us", slow_ns);
    int64_t usual_ns = median_ns * (int64_t)waits->first_count;
    ap_add_count(model, to, "start_count", (int64_t)waits->start_count);
    ap_add_time(
        model, to, "start_us",
        ap_add_sat(waits->start_ns, waits->firsts_ns > usual_ns ? waits->firsts_ns - usual_ns : 0, &waits->overflowed));
}

static enum ap_status add_data_loading(struct ap_part_context *context, struct waits *waits, struct ap_model *model,
                                       struct ap_value *root, struct ap_error *reterr)
{
    const struct ap_split_part *judged = ap_split_judged(&context->facts->split);
    struct ap_value *to = ap_add_object(model, root, "data_loading");
    ap_add_count(model, to, "count", (int64_t)waits->count);
    ap_add_time(model, to, "total_dur_us", waits->total_ns);
    ap_add_quotient(model, to, "window_ratio", (double)waits->total_ns, (double)context->facts->window_ns);
    ap_add_known_time(model, to, "idle_us", context->facts->split.has_gpu, judged->cause_ns[AP_IDLE_data_loading]);
    ap_add_quotient(model, to, "idle_ratio", (double)judged->cause_ns[AP_IDLE_data_loading],
                    context->facts->split.has_gpu ? (double)judged->dur_ns : 0);
    ap_add_count(model, to, "single_process_count", (int64_t)waits->single_count);
    ap_add_count(model, to, "multi_process_count", (int64_t)waits->multi_count);
    AP_TRY(add_longest(context, waits, model, to, reterr));
    add_spread(context, waits, model, to);
    ap_note_overflow(context, waits->overflowed);
    return AP_OK;
}

enum ap_status ap_part_data_loading(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                    struct ap_error *reterr)
{
    struct waits waits = { .count = 0 };
    enum ap_status status = find_waits(context, &waits, reterr);
    if (status == AP_OK && waits.count)
        status = add_data_loading(context, &waits, model, root, reterr);
    else
        ap_add_null(model, root, "data_loading");
    AP_FREE(context->gate, waits.rows, waits.row_capacity);
    AP_FREE(context->gate, waits.dur_ns, waits.dur_capacity);
    return status;
}
