/* SPDX-License-Identifier: MIT
 * uncategorized.c - kinds of rows without category, as XLA's profiler (JAX, TensorFlow) writes them: told by the names of
 * their process and thread. A process "/device:GPU:0" has a thread for each stream ("Stream #14(Compute)"), whose rows are
 * the work; its other threads ("XLA Modules", "XLA Ops", "Steps") show the same time again, by what it was for. A TPU has no
 * streams: there "XLA Ops" is the work. On "/host:CPU" names tell calls of the driver, Python and operations of XLA apart.
 * In the trace of a job on several machines the name of one stands before each of these names, "host:1 /device:GPU:0".
 * Names of processes may stand behind the rows, so this is done when all is read. */
#include <string.h>

#include "decimal.h"
#include "id_map.h"
#include "trace_internal.h"

#include "poison.h"

/* XLA writes no more into one JSON file (tsl/profiler/convert/trace_events_to_json). */
#define XLA_EVENTS_MAX 1000000
#define HOST_NAME_MAX_ 300 /* bytes, with the space behind it */

enum role { ROLE_UNKNOWN, ROLE_HOST, ROLE_OTHER_HOST, ROLE_STREAM, ROLE_ACCELERATOR, ROLE_STEPS, ROLE_PROJECTION };

struct process {
    struct ap_text host; /* that the name begins with, where there are several */
    bool is_other_host, is_device, is_gpu, has_streams;
    int64_t device;
};

struct settling {
    struct ap_trace_reading *reading;
    struct ap_trace *trace;
    struct process *processes; /* by place in reading->process_names */
    struct ap_id_map by_pid;
    uint8_t *roles;       /* of tracks */
    bool has_steps;       /* some row of the host has a step number */
    uint32_t steps_track; /* else: the steps of one device stand for all */
    bool hip;             /* calls of HIP stand on the host */
    uint64_t settled;
};

/* ---- processes and threads ---- */

struct ap_text ap_xla_process_words(struct ap_text name)
{
    static const char *const words[] = { "/device:", "/host:", "\\/device:", "\\/host:" };
    bool in_job = ap_text_starts_with(name, "/job:"); /* "/job:worker/replica:0/task:1/device:GPU:0" */
    for (size_t at = 0; at < name.bytes && at < HOST_NAME_MAX_; at++) {
        struct ap_text rest = { name.data + at, name.bytes - at };
        for (size_t i = 0; (!at || name.data[at - 1] == ' ' || in_job) && i < AP_COUNT_OF(words); i++)
            if (ap_text_starts_with(rest, words[i]))
                return rest;
    }
    return AP_TEXT("");
}

/* "/device:GPU:0", "/device:TPU:1 (pid 7)", "/host:CPU"; what stands behind the number may be a model and its bus. */
static struct process read_process(struct ap_text named)
{
    struct ap_text name = ap_xla_process_words(named);
    struct process process = { .host = { named.data, named.bytes - name.bytes },
                               .is_device = ap_text_starts_with(name, "/device:"),
                               .is_gpu = ap_text_starts_with(name, "/device:GPU:") };
    struct ap_text rest = name, number = AP_TEXT("");
    for (int part = 0; part < 3; part++) /* "/device", "GPU", "0" */
        if (!ap_text_next_part(&rest, ':', &number))
            number.bytes = 0;
    size_t digits = 0;
    while (digits < number.bytes && digits < 9 && ap_is_digit(number.data[digits]))
        digits++;
    if (!process.is_device || !ap_decimal_to_integer(number.data, digits, &process.device))
        process.device = 0;
    return process;
}

/* Each host counts its devices from 0: with several, devices have numbers in the order of the file. What is a step is
 * told by the first host, whose program all of them run. */
static void tell_hosts_apart(struct settling *settling)
{
    size_t count = settling->reading->process_name_count;
    bool several = false;
    for (size_t i = 0; i < count; i++) {
        struct process *process = &settling->processes[i];
        process->is_other_host = !ap_text_equal(process->host, settling->processes[0].host);
        several |= process->is_other_host;
    }
    for (size_t i = 0, device = 0; several && i < count; i++) {
        uint32_t *counts = ap_id_map_find(&settling->by_pid, settling->reading->process_names[i].pid.id);
        if (settling->processes[i].is_device && counts && *counts == i)
            settling->processes[i].device = (int64_t)device++;
    }
}

static enum ap_status read_processes(struct settling *settling, struct ap_error *reterr)
{
    struct ap_trace_reading *reading = settling->reading;
    size_t count = reading->process_name_count;
    AP_TRY(ap_id_map_init(&settling->by_pid, reading->gate, count, reterr));
    AP_TRY(AP_ALLOC(reading->gate, settling->processes, count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_process_name *named = &reading->process_names[i];
        settling->processes[i] = read_process(ap_strpool_text(&settling->trace->strings, named->name));
        if (named->pid.id)
            *ap_id_map_add(&settling->by_pid, named->pid.id) = (uint32_t)i; /* the last name counts */
    }
    tell_hosts_apart(settling);
    return AP_OK;
}

static struct process *process_of(const struct settling *settling, const struct ap_track *track)
{
    uint32_t *found = track->pid.id ? ap_id_map_find(&settling->by_pid, track->pid.id) : NULL;
    return found ? &settling->processes[*found] : NULL;
}

static bool is_stream(struct ap_text label)
{
    return ap_text_starts_with(label, "Stream #") || ap_text_starts_with(label, "stream:");
}

static enum role role_of(const struct process *process, struct ap_text label)
{
    if (!process)
        return ROLE_UNKNOWN;
    if (!process->is_device)
        return process->is_other_host ? ROLE_OTHER_HOST : ROLE_HOST;
    if (ap_text_is(label, "Steps"))
        return ROLE_STEPS;
    if (process->is_gpu)
        return is_stream(label) ? ROLE_STREAM : ROLE_PROJECTION;
    bool works = process->has_streams ? is_stream(label) : ap_text_is(label, "XLA Ops") || !label.bytes;
    return works ? ROLE_ACCELERATOR : ROLE_PROJECTION;
}

static enum ap_status find_roles(struct settling *settling, struct ap_error *reterr)
{
    struct ap_trace *trace = settling->trace;
    AP_TRY(AP_ALLOC_CLEARED(trace->gate, settling->roles, trace->track_count, reterr));
    for (size_t i = 0; i < trace->track_count; i++) {
        struct process *process = process_of(settling, &trace->tracks[i]);
        if (process && is_stream(ap_strpool_text(&trace->strings, ap_track_name(trace, &trace->tracks[i]))))
            process->has_streams = true;
    }
    for (size_t i = 0; i < trace->track_count; i++) {
        struct ap_track *track = &trace->tracks[i];
        const struct process *process = process_of(settling, track);
        settling->roles[i] = (uint8_t)role_of(process, ap_strpool_text(&trace->strings, ap_track_name(trace, track)));
        if (process && process->is_gpu && ap_track_device(trace, track) < 0)
            AP_TRY(ap_trace_set_device(trace, (uint32_t)i, process->device, reterr));
    }
    return AP_OK;
}

/* ---- rows ---- */

static struct ap_work_detail *detail_of(const struct settling *settling, uint32_t row)
{
    uint32_t detail = ap_row_detail(settling->trace, row);
    return detail ? &settling->trace->work_details[detail - 1] : NULL;
}

static enum ap_uncategorized_mark mark_of(const struct settling *settling, uint32_t row)
{
    const struct ap_work_detail *detail = detail_of(settling, row);
    return detail ? (enum ap_uncategorized_mark)(detail->external_id & ((1u << AP_MARK_BITS) - 1)) : AP_MARK_NONE;
}

/* What CUPTI says of itself, on threads that have no name of their own. */
static bool is_of_profiler(const struct settling *settling, uint32_t row, struct ap_text name)
{
    static const char *const names[] = { "<UNKNOWN>", "BUFFER_FLUSH", "DRIVER_COMPILER", "INSTRUMENTATION", "RESOURCE" };
    const struct ap_trace *trace = settling->trace;
    const struct ap_track *track = &trace->tracks[trace->events.track[row]];
    if (!ap_text_starts_with(ap_strpool_text(&trace->strings, ap_track_name(trace, track)), "Host Threads/"))
        return false;
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

static enum ap_event_kind kind_on_host(const struct settling *settling, uint32_t row)
{
    struct ap_text name = ap_row_name(settling->trace, row);
    const struct ap_work_detail *detail = detail_of(settling, row);
    if (mark_of(settling, row) == AP_MARK_STEP && settling->roles[settling->trace->events.track[row]] == ROLE_HOST)
        return AP_KIND_annotation;
    if (detail && detail->correlation)
        return AP_KIND_runtime; /* named by what it launches, or by its own name */
    if (is_of_profiler(settling, row, name))
        return AP_KIND_overhead;
    if (ap_text_starts_with(name, "ThreadpoolListener::")) /* a thread of the pool has work: what it is stands inside */
        return AP_KIND_none;
    return ap_text_starts_with(name, "$") ? AP_KIND_python : AP_KIND_operator;
}

static enum ap_event_kind kind_of(const struct settling *settling, uint32_t row)
{
    struct ap_text name = ap_row_name(settling->trace, row);
    switch ((enum role)settling->roles[settling->trace->events.track[row]]) {
    case ROLE_HOST:
    case ROLE_OTHER_HOST: return kind_on_host(settling, row);
    case ROLE_STREAM:
        return ap_text_starts_with(name, "Memcpy")   ? AP_KIND_memcpy
               : ap_text_starts_with(name, "Memset") ? AP_KIND_memset
                                                     : AP_KIND_kernel;
    case ROLE_ACCELERATOR: return AP_KIND_accelerator;
    case ROLE_STEPS:
        return settling->has_steps || settling->trace->events.track[row] != settling->steps_track ? AP_KIND_gpu_annotation
                                                                                                  : AP_KIND_annotation;
    case ROLE_PROJECTION: return AP_KIND_gpu_annotation;
    case ROLE_UNKNOWN: break;
    }
    return AP_KIND_none;
}

/* The detail that rows of this kind have, in place of the one that told the kind. */
static enum ap_status give_detail(struct settling *settling, uint32_t row, enum ap_event_kind kind, struct ap_error *reterr)
{
    struct ap_trace *trace = settling->trace;
    const struct ap_work_detail *known = detail_of(settling, row);
    struct ap_work_detail work = { .correlation = known ? known->correlation : 0, .as.bytes = known ? known->as.bytes : -1 };
    AP_TRY(ap_trace_need_details(trace, reterr));
    trace->events.detail[row] = 0;
    if (kind == AP_KIND_runtime) {
        struct ap_call_detail call = { .correlation = work.correlation };
        AP_TRY_ADD(trace->gate, trace->call_details, trace->call_detail_count, trace->call_detail_capacity, reterr, call);
        trace->events.detail[row] = (uint32_t)trace->call_detail_count;
    }
    if (!ap_event_kind_is_gpu_work(kind) && kind != AP_KIND_accelerator)
        return AP_OK;
    if (kind == AP_KIND_kernel)
        work.as.grid.blocks_per_sm = work.as.grid.occupancy_ratio = -1;
    AP_TRY_ADD(trace->gate, trace->work_details, trace->work_detail_count, trace->work_detail_capacity, reterr, work);
    trace->events.detail[row] = (uint32_t)trace->work_detail_count;
    return AP_OK;
}

static enum ap_status rename_row(struct settling *settling, uint32_t row, struct ap_xla_naming naming,
                                 struct ap_error *reterr)
{
    struct ap_str name = { settling->trace->events.name[row] };
    AP_TRY(ap_xla_name(settling->trace, &naming, &name, reterr));
    settling->trace->events.name[row] = name.id;
    return AP_OK;
}

/* ---- what is counted ---- */

/* Rows are counted by category: those without get one that says what they were taken as. */
static enum ap_status recount(struct settling *settling, uint32_t row, enum ap_event_kind kind, struct ap_error *reterr)
{
    static const char *const names[AP_KIND_COUNT_] = {
        [AP_KIND_operator] = "(none: host)",
        [AP_KIND_annotation] = "(none: step)",
        [AP_KIND_python] = "(none: Python)",
        [AP_KIND_runtime] = "(none: call)",
        [AP_KIND_overhead] = "(none: profiler)",
        [AP_KIND_kernel] = "(none: kernel)",
        [AP_KIND_memcpy] = "(none: copy)",
        [AP_KIND_memset] = "(none: memset)",
        [AP_KIND_accelerator] = "(none: accelerator)",
        [AP_KIND_gpu_annotation] = "(none: projection)",
    };
    struct ap_trace *trace = settling->trace;
    int64_t dur_ns = trace->events.dur_ns[row];
    uint32_t index;
    bool overflowed = false;
    AP_TRY(ap_trace_category(trace, ap_text_of(names[kind]), &index, reterr));
    trace->categories[index].kind = kind;
    for (int i = 0; i < 2; i++) {
        struct ap_category *category = &trace->categories[i ? index : 0];
        category->event_count += i ? 1 : UINT64_MAX; /* one less */
        category->row_count += i ? 1 : UINT64_MAX;
        category->total_dur_ns =
            ap_add_sat(category->total_dur_ns, i || dur_ns == INT64_MIN ? dur_ns : -dur_ns, &overflowed);
    }
    settling->settled++;
    return AP_OK;
}

static void forget_notes(struct settling *settling)
{
    struct ap_note *note = &settling->reading->notes->notes[AP_COUNTER_category_missing];
    if (note->count <= settling->settled)
        *note = (struct ap_note){ .count = 0 };
    else
        note->count -= settling->settled;
}

/* ---- all of it ---- */

static enum ap_status settle_rows(struct settling *settling, struct ap_error *reterr)
{
    struct ap_events *events = &settling->trace->events;
    settling->steps_track = UINT32_MAX;
    for (size_t row = 0; row < events->count; row++) {
        if (ap_row_kind(events->tag[row]) != AP_KIND_none)
            continue;
        settling->has_steps |= mark_of(settling, (uint32_t)row) == AP_MARK_STEP;
        struct ap_text name = ap_row_name(settling->trace, (uint32_t)row);
        settling->hip |= ap_text_starts_with(name, "hip") && ap_xla_is_call(name);
        if (settling->roles[events->track[row]] == ROLE_STEPS && events->track[row] < settling->steps_track)
            settling->steps_track = events->track[row];
    }
    for (size_t row = 0; row < events->count; row++) {
        if (ap_row_kind(events->tag[row]) != AP_KIND_none)
            continue;
        enum ap_event_kind kind = kind_of(settling, (uint32_t)row);
        if (kind == AP_KIND_none)
            continue;
        const struct ap_work_detail *detail = detail_of(settling, (uint32_t)row);
        struct ap_xla_naming naming = { kind, detail ? detail->external_id : 0, settling->hip };
        AP_TRY(give_detail(settling, (uint32_t)row, kind, reterr));
        AP_TRY(rename_row(settling, (uint32_t)row, naming, reterr));
        AP_TRY(recount(settling, (uint32_t)row, kind, reterr));
        events->tag[row] = (uint8_t)((events->tag[row] & ~AP_ROW_KIND_MASK) | (unsigned)kind);
    }
    return AP_OK;
}

enum ap_status ap_trace_settle_kinds(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    struct settling settling = { .reading = reading, .trace = trace, .by_pid = { .gate = reading->gate } };
    if (!reading->process_name_count || !trace->category_count || !trace->categories[0].row_count)
        return AP_OK;
    enum ap_status status = read_processes(&settling, reterr);
    AP_AND_THEN(status, find_roles(&settling, reterr));
    AP_AND_THEN(status, settle_rows(&settling, reterr));
    ap_id_map_release(&settling.by_pid);
    AP_FREE(reading->gate, settling.processes, reading->process_name_count);
    AP_FREE(reading->gate, settling.roles, trace->track_count);
    if (!settling.settled)
        return status;
    trace->writer = "XLA";
    forget_notes(&settling);
    if (reading->notes->notes[AP_COUNTER_phase_missing].count == 1) /* "{}" ends its list */
        reading->notes->notes[AP_COUNTER_phase_missing] = (struct ap_note){ .count = 0 };
    if (trace->event_count >= XLA_EVENTS_MAX)
        ap_note_many(reading->notes, AP_COUNTER_events_capped, 1);
    return status;
}
