/* SPDX-License-Identifier: MIT
 * trace_run.h - a trace read from a text, with all that came of it.
 *
 *     struct trace_run run;
 *     trace_run_text(&run, "[{...}]");      ... run.status, run.trace, run.json.notes ...
 *     trace_run_release(&run); */
#ifndef AP_TRACE_RUN_H
#define AP_TRACE_RUN_H

#include "json_log.h"
#include "trace.h"

struct trace_run {
    struct json_run json;
    struct lender *lender;
    struct ap_trace *trace; /* NULL where status is a failure */
    enum ap_status status;
};

static inline void trace_run_read(struct trace_run *run, const void *text, size_t bytes, const struct reading *reading,
                                  bool salvage, enum ap_status at_end)
{
    const struct ap_trace_options options = { .salvage = salvage,
                                              .threads = reading->ahead + 1,
                                              .always_wait = reading->ahead };
    run->trace = NULL;
    run->lender = json_run_open(&run->json, text, bytes, reading);
    run->json.feed.at_end = at_end;
    if (run->lender)
        run->lender->feed.at_end = at_end;
    run->status = ap_trace_read(run->json.json, &run->json.gate, &run->json.notes, &options, &run->trace, &run->json.error);
}

static inline void trace_run_text(struct trace_run *run, const char *text)
{
    trace_run_read(run, text, strlen(text), &(struct reading){ .lend = false }, false, AP_OK);
}

/** True where all memory came back. */
static inline bool trace_run_release(struct trace_run *run)
{
    ap_trace_free(run->trace);
    run->trace = NULL;
    return json_run_close(&run->json, run->lender);
}

static inline uint64_t trace_run_count(const struct trace_run *run, enum ap_counter counter)
{
    return run->json.notes.notes[counter].count;
}

static inline struct ap_text trace_run_name(const struct trace_run *run, size_t row)
{
    return ap_strpool_text(&run->trace->strings, (struct ap_str){ run->trace->events.name[row] });
}

static inline void log_str(struct text_log *log, const struct ap_strpool *pool, struct ap_str str)
{
    struct ap_text text = ap_strpool_text(pool, str);
    log_format(log, str.id ? " '" : " none'");
    log_bytes(log, text.data, text.bytes);
    log_bytes(log, "'", 1);
}

static inline void log_trace_rows(struct text_log *log, const struct ap_trace *trace)
{
    for (size_t i = 0; i < trace->events.count; i++) {
        log_format(log, "row %lld %lld track %u tag %u", (long long)trace->events.start_ns[i],
                   (long long)trace->events.dur_ns[i], trace->events.track[i], trace->events.tag[i]);
        log_str(log, &trace->strings, (struct ap_str){ trace->events.name[i] });
        log_bytes(log, "\n", 1);
    }
    for (size_t i = 0; i < trace->track_count; i++) {
        const struct ap_track *track = &trace->tracks[i];
        log_format(log, "track %d %d device %lld", track->pid_is_text, track->tid_is_text,
                   (long long)ap_track_device(trace, track));
        log_str(log, &trace->track_ids, track->pid);
        log_str(log, &trace->track_ids, track->tid);
        log_str(log, &trace->strings, ap_track_name(trace, track));
        log_bytes(log, "\n", 1);
    }
    for (size_t i = 0; i < trace->category_count; i++) {
        const struct ap_category *category = &trace->categories[i];
        log_format(log, "category %d %d %llu %llu %lld", (int)category->kind, category->has_cpu,
                   (unsigned long long)category->event_count, (unsigned long long)category->row_count,
                   (long long)category->total_dur_ns);
        log_str(log, &trace->category_names, (struct ap_str){ (uint32_t)i });
        log_bytes(log, "\n", 1);
    }
}

static inline void log_details(struct text_log *log, const struct ap_trace *trace)
{
    const uint32_t with_own =
        1u << AP_KIND_operator | 1u << AP_KIND_annotation | 1u << AP_KIND_runtime | 1u << AP_KIND_gpu_sync;
    for (uint32_t row = 0; row < trace->events.count; row++) /* others may share theirs, but not where blocks meet */
        log_format(log, " %u",
                   ap_row_is_of(trace, row, with_own) ? ap_row_detail(trace, row) : ap_row_detail(trace, row) > 0);
    for (size_t i = 0; i < trace->op_detail_count; i++) {
        const struct ap_op_detail *op = &trace->op_details[i];
        log_format(log, "\nop %u %u %u", op->external_id, op->sequence, ap_op_forward_thread(trace, op));
        log_str(log, &trace->signatures, op->signature);
    }
    for (size_t i = 0; i < trace->call_detail_count; i++)
        log_format(log, "\ncall %u %u", trace->call_details[i].correlation, trace->call_details[i].external_id);
    for (uint32_t row = 0; row < trace->events.count; row++) {
        enum ap_event_kind kind = ap_row_kind(trace->events.tag[row]);
        if (!ap_event_kind_is_gpu_work(kind))
            continue;
        const struct ap_work_detail *work = ap_row_work(trace, row);
        if (!work)
            continue;
        log_format(log, "\nwork %u %u ", work->correlation, work->external_id);
        if (kind == AP_KIND_kernel)
            log_format(log, "%g %g", (double)work->as.grid.blocks_per_sm, (double)work->as.grid.occupancy_ratio);
        else
            log_format(log, "%lld", (long long)work->as.bytes);
    }
    for (size_t i = 0; i < trace->sync_detail_count; i++)
        log_format(log, "\nsync %u %u %lld %lld", trace->sync_details[i].correlation,
                   trace->sync_details[i].record_correlation, (long long)trace->sync_details[i].stream,
                   (long long)trace->sync_details[i].wait_on_stream);
    for (size_t i = 0; i < trace->launched_name_count; i++) {
        log_format(log, "\nlaunches %u", trace->launched_names[i].row);
        log_str(log, &trace->strings, trace->launched_names[i].kernel);
    }
    for (size_t i = 0; i < trace->collective_count; i++) {
        const struct ap_collective *collective = ap_trace_collective(trace, i);
        log_format(log, "\ncollective %u %lld %lld %lld %lld", trace->collectives[i].row, (long long)collective->in_elements,
                   (long long)collective->out_elements, (long long)collective->group_size,
                   (long long)ap_trace_collective_sequence(trace, i));
        log_str(log, &trace->strings, collective->name);
        log_str(log, &trace->strings, collective->dtype);
        log_str(log, &trace->strings, collective->group_ranks);
    }
    for (size_t i = 0; i < trace->memory_instant_count; i++) {
        const struct ap_memory_event *event = &trace->memory_instants[i];
        log_format(log, "\nmemory %lld %lld %lld %lld %llu track %u device %d %d oom %d", (long long)event->start_ns,
                   (long long)event->bytes, (long long)event->total_allocated_bytes, (long long)event->total_reserved_bytes,
                   (unsigned long long)event->address, event->track, event->device_type, event->device_id,
                   event->out_of_memory);
    }
    log_bytes(log, "\n", 1);
}

/** All that a trace holds, as text. */
static inline void log_trace(struct text_log *log, const struct ap_trace *trace)
{
    log_format(log, "form %d complete %d legacy %d events %llu objects %llu\n", (int)trace->form, trace->complete,
               trace->legacy_autograd, (unsigned long long)trace->event_count, (unsigned long long)trace->object_count);
    log_format(log, "window %d %lld %lld, %d %lld %lld\n", trace->has_window_all,
               trace->has_window_all ? (long long)trace->window_all_start_ns : 0,
               trace->has_window_all ? (long long)trace->window_all_end_ns : 0, trace->has_window,
               trace->has_window ? (long long)trace->window_start_ns : 0,
               trace->has_window ? (long long)trace->window_end_ns : 0);
    log_format(log, "memory %llu %llu shapes %llu rank %lld of %lld flags %d%d%d%d%d",
               (unsigned long long)trace->memory_event_count, (unsigned long long)trace->out_of_memory_count,
               (unsigned long long)trace->shape_row_count, (long long)trace->rank, (long long)trace->world_size,
               trace->record_shapes, trace->with_stack, trace->with_modules, trace->with_flops, trace->profile_memory);
    log_str(log, &trace->strings, trace->backend);
    log_str(log, &trace->strings, trace->base_time_ns);
    log_bytes(log, "\n", 1);
    for (size_t i = 0; i < AP_COUNT_OF(trace->ph_counts); i++)
        if (trace->ph_counts[i])
            log_format(log, "ph %c %llu\n", (char)i, (unsigned long long)trace->ph_counts[i]);
    log_details(log, trace);
    for (size_t i = 0; i < trace->device_count; i++) {
        const struct ap_device_properties *device = &trace->devices[i];
        log_format(log, "device %lld %lld %lld %lld.%lld", (long long)device->id, (long long)device->memory_bytes,
                   (long long)device->sm_count, (long long)device->compute_major, (long long)device->compute_minor);
        log_str(log, &trace->strings, device->name);
        log_bytes(log, "\n", 1);
    }
    log_trace_rows(log, trace);
}

#endif
