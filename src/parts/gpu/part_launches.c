/* SPDX-License-Identifier: MIT
 * part_launches.c - how the host hands its work to the devices: what could be linked, how long work waits between the call
 * and its start, what the calls themselves cost, and how far the host is ahead. */
#include "id_map.h"
#include "launch_queue.h"
#include "part.h"
#include "per_step.h"
#include "quantile.h"
#include "row_set.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

#define LONG_CALL_NS 50000 /* HTA's cut-offs: of the call, and from its end to the start on the device */
#define LONG_DELAY_NS 100000

/* --------------------------------------------------------------------------------------------------------- links */

static void find_record(struct ap_id_map *records, const struct ap_trace *trace, uint32_t row)
{
    const struct ap_call_detail *call = ap_row_call(trace, row);
    uint32_t *record = call && call->correlation && trace->events.start_ns[row] != AP_START_UNKNOWN
                           ? ap_id_map_find(records, call->correlation)
                           : NULL;
    if (record && *record == AP_ID_NONE)
        *record = row;
}

/* Waits of one stream for another that do not tell which event record they wait for, or one that the trace does not
 * have before them: across such an edge nothing can be said of causes. */
static enum ap_status count_syncs(struct ap_part_context *context, int64_t *ret_rows, int64_t *ret_without_record,
                                  struct ap_error *reterr)
{
    static const char stream_wait[] = "Stream Wait Event";
    const struct ap_trace *trace = context->trace;
    struct ap_id_map records;
    *ret_rows = *ret_without_record = 0;
    AP_TRY(ap_id_map_init(&records, context->gate, trace->sync_detail_count, reterr));
    for (size_t i = 0; i < trace->sync_detail_count; i++)
        if (trace->sync_details[i].record_correlation)
            (void)ap_id_map_add(&records, trace->sync_details[i].record_correlation);
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); trace->sync_detail_count && ap_rows_of_next(&at);)
        find_record(&records, trace, at.row);
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_gpu_sync); ap_rows_of_next(&at);) {
        ++*ret_rows;
        if (!ap_text_is(ap_row_name(trace, at.row), stream_wait))
            continue;
        const struct ap_sync_detail *sync = ap_row_sync(trace, at.row);
        const uint32_t *record =
            sync && sync->record_correlation ? ap_id_map_find(&records, sync->record_correlation) : NULL;
        *ret_without_record +=
            !record || *record == AP_ID_NONE || trace->events.start_ns[*record] > trace->events.start_ns[at.row];
    }
    ap_id_map_release(&records);
    return AP_OK;
}

static enum ap_status add_links(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                struct ap_error *reterr)
{
    const struct ap_links *links = &context->facts->links;
    int64_t sync_rows, without_record;
    AP_TRY(count_syncs(context, &sync_rows, &without_record, reterr));
    struct ap_value *to = ap_add_object(model, root, "links");
    ap_add_count(model, to, "device_rows", (int64_t)links->count);
    ap_add_count(model, to, "launched_count", (int64_t)links->linked_count);
    ap_add_quotient(model, to, "unlinked_ratio", (double)(links->count - links->linked_count), (double)links->count);
    ap_add_quotient(model, to, "launched_time_ratio", (double)links->launched_dur_ns, (double)links->total_dur_ns);
    ap_add_count(model, to, "operator_count", (int64_t)links->op_count);
    ap_add_quotient(model, to, "operator_time_ratio", (double)links->op_dur_ns, (double)links->total_dur_ns);
    ap_add_count(model, to, "by_external_id_count", (int64_t)links->by_external_id_count);
    ap_add_count(model, to, "by_time_count", (int64_t)links->by_time_count);
    ap_add_bool(model, to, "external_id_usable", links->by_external_id_count > 0);
    ap_add_count(model, to, "sync_rows", sync_rows);
    ap_add_count(model, to, "sync_without_record_count", without_record);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------------- delays */

struct launch_sums {
    int64_t calls, call_ns, long_calls, long_call_excess_ns;
    int64_t first_call_ns, last_call_ns; /* starts */
    int64_t graph_calls, graph_rows;
    int64_t step_calls, step_kernels; /* in the steps that count, by the start of the call */
    int64_t before_call, before_call_end;
    int64_t short_rows, late_rows, late_on_idle_stream;
    bool overflowed;
};

/* A call that copies may have waited for the copy: that says nothing of launching. */
static bool only_launches(enum ap_call_kind kind)
{
    return kind != AP_CALL_copy && kind != AP_CALL_blocking_copy;
}

static void take_call(struct launch_sums *sums, const struct ap_trace *trace, uint32_t call, enum ap_call_kind kind)
{
    int64_t dur_ns = trace->events.dur_ns[call], start_ns = trace->events.start_ns[call];
    if (!sums->calls++)
        sums->first_call_ns = sums->last_call_ns = start_ns;
    sums->first_call_ns = start_ns < sums->first_call_ns ? start_ns : sums->first_call_ns;
    sums->last_call_ns = start_ns > sums->last_call_ns ? start_ns : sums->last_call_ns;
    sums->call_ns = ap_add_sat(sums->call_ns, dur_ns, &sums->overflowed);
    sums->graph_calls += kind == AP_CALL_graph_launch;
    if (dur_ns > LONG_CALL_NS && only_launches(kind)) {
        sums->long_calls++;
        sums->long_call_excess_ns = ap_add_sat(sums->long_call_excess_ns, dur_ns - LONG_CALL_NS, &sums->overflowed);
    }
}

/* @stream_end_ns: end of what the stream did before this row. */
static void take_row(struct launch_sums *sums, const struct ap_trace *trace, struct ap_device_row linked, bool graph,
                     int64_t stream_end_ns)
{
    int64_t start_ns = trace->events.start_ns[linked.row], call_ns = trace->events.start_ns[linked.launch];
    int64_t call_end_ns = ap_row_end_ns(trace, linked.launch);
    sums->before_call += start_ns < call_ns;
    sums->before_call_end += start_ns < call_end_ns;
    sums->graph_rows += graph;
    sums->short_rows += !graph && trace->events.dur_ns[linked.row] < trace->events.dur_ns[linked.launch];
    if (start_ns > call_end_ns && start_ns - call_end_ns > LONG_DELAY_NS) {
        sums->late_rows++;
        sums->late_on_idle_stream += stream_end_ns <= call_end_ns;
    }
}

/* @stream_end_ns by track: so far. */
static void sum_launches(struct launch_sums *sums, const struct ap_part_context *context, struct ap_row_set *seen,
                         int64_t *stream_end_ns)
{
    const struct ap_trace *trace = context->trace;
    struct ap_per_step per_step = ap_per_step_of(&context->facts->steps);
    for (size_t i = 0; i < trace->track_count; i++)
        stream_end_ns[i] = INT64_MIN;
    for (size_t i = 0; i < context->facts->links.count; i++) {
        struct ap_device_row linked = ap_device_row_at(&context->facts->links, i);
        int64_t *end_ns = &stream_end_ns[trace->events.track[linked.row]];
        if (linked.launch != AP_NO_ROW) {
            enum ap_call_kind kind = ap_call_kind_of(&context->facts->calls, trace, linked.launch);
            bool in_step = ap_per_step_has(&per_step, trace->events.start_ns[linked.launch]);
            sums->step_kernels += in_step && ap_row_kind(trace->events.tag[linked.row]) == AP_KIND_kernel;
            if (ap_row_set_add(seen, linked.launch)) {
                take_call(sums, trace, linked.launch, kind);
                sums->step_calls += in_step;
            }
            take_row(sums, trace, linked, kind == AP_CALL_graph_launch, *end_ns);
        }
        int64_t row_end_ns = ap_row_end_ns(trace, linked.row);
        *end_ns = row_end_ns > *end_ns ? row_end_ns : *end_ns;
    }
}

enum delay_from { FROM_START, FROM_END };

/* Delays of the linked rows into @delays_ns; how many there are. */
static size_t gather_delays(const struct ap_part_context *context, enum delay_from from, bool graphs, int64_t *delays_ns)
{
    const struct ap_trace *trace = context->trace;
    size_t count = 0;
    for (size_t i = 0; i < context->facts->links.count; i++) {
        struct ap_device_row linked = ap_device_row_at(&context->facts->links, i);
        if (linked.launch == AP_NO_ROW ||
            (!graphs && ap_call_kind_of(&context->facts->calls, trace, linked.launch) == AP_CALL_graph_launch))
            continue;
        int64_t start_ns = trace->events.start_ns[linked.row], call_end_ns = ap_row_end_ns(trace, linked.launch);
        if (from == FROM_START)
            delays_ns[count++] = start_ns - trace->events.start_ns[linked.launch];
        else
            delays_ns[count++] = start_ns > call_end_ns ? start_ns - call_end_ns : 0;
    }
    return count;
}

static void add_delays(struct ap_part_context *context, int64_t *delays_ns, size_t count, struct ap_model *model,
                       struct ap_value *to)
{
    static const char *const keys[] = { "p50", "p90", "p99", "max" };
    static const unsigned percents[] = { 50, 90, 99, 100 };
    int64_t quantiles_ns[AP_COUNT_OF(keys)];
    struct ap_value *delay = ap_add_object(model, to, "queue_delay_us");
    int64_t total_ns = 0;
    for (size_t i = 0; i < count; i++)
        total_ns = ap_add_sat(total_ns, delays_ns[i], &context->overflowed);
    ap_add_known_time(model, delay, "mean", count, ap_mean(total_ns, count));
    if (count)
        ap_quantiles(delays_ns, count, percents, AP_COUNT_OF(percents), quantiles_ns);
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        ap_add_known_time(model, delay, keys[i], count, count ? quantiles_ns[i] : 0);
}

static void add_all_delays(struct ap_part_context *context, const struct launch_sums *sums, int64_t *delays_ns,
                           struct ap_model *model, struct ap_value *launches)
{
    size_t count = gather_delays(context, FROM_START, true, delays_ns);
    add_delays(context, delays_ns, count, model, launches);
    ap_add_count(model, launches, "started_before_call_end_count", sums->before_call_end);
    ap_add_count(model, launches, "started_before_call_count", sums->before_call);
    struct ap_value *plain = ap_add_object(model, launches, "without_graphs");
    count = gather_delays(context, FROM_START, false, delays_ns);
    ap_add_count(model, plain, "linked_count", (int64_t)count);
    add_delays(context, delays_ns, count, model, plain);
    struct ap_value *delay = ap_add_object(model, launches, "launch_delay");
    count = gather_delays(context, FROM_END, true, delays_ns);
    if (count)
        ap_add_time(model, delay, "p50_us", ap_quantile(delays_ns, count, 50));
    else
        ap_add_null(model, delay, "p50_us");
    ap_add_count(model, delay, "outlier_count", sums->late_rows);
    ap_add_count(model, delay, "outlier_idle_stream_count", sums->late_on_idle_stream);
}

/* --------------------------------------------------------------------------------------------------------- queue */

static bool stream_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_launch_queues *queues = context;
    uint64_t x = queues->streams[a].launches, y = queues->streams[b].launches;
    return x != y ? x > y : a < b;
}

static void add_length(const struct ap_stream_queue *stream, struct ap_model *model, struct ap_value *to)
{
    double span_ns = (double)(stream->end_ns - stream->start_ns);
    ap_add_count(model, to, "max_length", stream->max_length);
    ap_add_number_per(model, to, "mean_length", stream->length_ns, span_ns);
    ap_add_time(model, to, "at_limit_us", stream->at_limit_ns);
    ap_add_quotient(model, to, "empty_ratio", (double)stream->empty_ns, span_ns);
}

static enum ap_status add_streams(struct ap_part_context *context, const struct ap_launch_queues *queues,
                                  struct ap_model *model, struct ap_value *queue, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, queue, "streams");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)queues->count, context->options->top_n, stream_before, queues, &order,
                          &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_stream_queue *stream = &queues->streams[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_track(context->trace, stream->track, model, row);
        ap_add_count(model, row, "launches", (int64_t)stream->launches);
        add_length(stream, model, row);
    }
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

static void add_timeline(const struct ap_launch_queues *queues, struct ap_model *model, struct ap_value *queue)
{
    struct ap_value *list = ap_add_list(model, queue, "timeline");
    for (size_t i = 0; i < queues->point_count; i++) {
        struct ap_value *point = ap_add_object(model, list, NULL);
        ap_add_time(model, point, "start_us", queues->streams[queues->busiest].start_ns + (int64_t)i * queues->point_ns);
        ap_add_count(model, point, "length", queues->points[i]);
    }
}

static enum ap_status add_queue(struct ap_part_context *context, struct ap_model *model, struct ap_value *launches,
                                struct ap_error *reterr)
{
    struct ap_launch_queues queues;
    enum ap_status status = ap_launch_queues_init(&queues, context->trace, &context->facts->links, context->gate, reterr);
    if (status == AP_OK && !queues.count) {
        ap_add_null(model, launches, "queue");
    } else if (status == AP_OK) {
        struct ap_value *queue = ap_add_object(model, launches, "queue");
        struct ap_stream_queue all = queues.streams[queues.busiest];
        all.at_limit_ns = 0;
        for (size_t i = 0; i < queues.count; i++) {
            const struct ap_stream_queue *stream = &queues.streams[i];
            all.max_length = stream->max_length > all.max_length ? stream->max_length : all.max_length;
            all.at_limit_ns = ap_add_sat(all.at_limit_ns, stream->at_limit_ns, &context->overflowed);
        }
        add_length(&all, model, queue);
        status = add_streams(context, &queues, model, queue, reterr);
        add_timeline(&queues, model, queue);
    }
    ap_launch_queues_release(&queues);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- report */

static void add_calls(struct ap_part_context *context, const struct launch_sums *sums, struct ap_model *model,
                      struct ap_value *launches)
{
    int64_t linked = (int64_t)context->facts->links.linked_count;
    double calls = (double)sums->calls, steps = (double)ap_per_step_of(&context->facts->steps).count;
    ap_add_count(model, launches, "calls", sums->calls);
    ap_add_time(model, launches, "call_dur_us", sums->call_ns);
    ap_add_number_per(model, launches, "per_step", (double)sums->step_calls, steps);
    ap_add_number_per(model, launches, "kernels_per_step", (double)sums->step_kernels, steps);
    ap_add_number_per(model, launches, "calls_per_s", calls * 1e9,
                      sums->calls ? (double)(sums->last_call_ns - sums->first_call_ns) : 0);
    ap_add_count(model, launches, "call_outlier_count", sums->long_calls);
    ap_add_quotient(model, launches, "call_outlier_ratio", (double)sums->long_calls, calls);
    ap_add_time(model, launches, "call_outlier_excess_us", sums->long_call_excess_ns);
    ap_add_count(model, launches, "graph_launches", sums->graph_calls);
    ap_add_number_per(model, launches, "kernels_per_graph_launch", (double)sums->graph_rows, (double)sums->graph_calls);
    ap_add_count(model, launches, "short_kernel_count", sums->short_rows);
    ap_add_quotient(model, launches, "short_kernel_ratio", (double)sums->short_rows, (double)(linked - sums->graph_rows));
}

static enum ap_status sum_all_launches(struct launch_sums *sums, const struct ap_part_context *context,
                                       struct ap_error *reterr)
{
    struct ap_row_set seen;
    int64_t *stream_end_ns;
    AP_TRY(AP_ALLOC(context->gate, stream_end_ns, context->trace->track_count, reterr));
    enum ap_status status = ap_row_set_init(&seen, context->gate, context->trace->events.count, reterr);
    if (status == AP_OK)
        sum_launches(sums, context, &seen, stream_end_ns);
    ap_row_set_release(&seen);
    AP_FREE(context->gate, stream_end_ns, context->trace->track_count);
    return status;
}

static enum ap_status add_sums(struct ap_part_context *context, struct ap_model *model, struct ap_value *launches,
                               struct ap_error *reterr)
{
    struct launch_sums sums = { .calls = 0 };
    size_t linked_count = context->facts->links.linked_count;
    int64_t *delays_ns;
    if (linked_count)
        AP_TRY(sum_all_launches(&sums, context, reterr));
    AP_TRY(AP_ALLOC(context->gate, delays_ns, linked_count + 1, reterr));
    ap_add_count(model, launches, "linked_count", (int64_t)linked_count);
    ap_add_count(model, launches, "unlinked_device_count",
                 (int64_t)(context->facts->links.count - context->facts->links.linked_count));
    add_all_delays(context, &sums, delays_ns, model, launches);
    AP_FREE(context->gate, delays_ns, linked_count + 1);
    add_calls(context, &sums, model, launches);
    ap_note_overflow(context, sums.overflowed);
    return AP_OK;
}

enum ap_status ap_part_launches(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                struct ap_error *reterr)
{
    if (!context->facts->links.count) {
        ap_add_null(model, root, "links");
        ap_add_null(model, root, "launches");
        return AP_OK;
    }
    AP_TRY(add_links(context, model, root, reterr));
    struct ap_value *launches = ap_add_object(model, root, "launches");
    AP_TRY(add_sums(context, model, launches, reterr));
    return add_queue(context, model, launches, reterr);
}
