/* SPDX-License-Identifier: MIT
 * rocprof.c - the JSON of rocprofv3 (rocprofv3 --runtime-trace --output-format json): kernels, copies and calls of HIP, in
 * nanoseconds of one clock. Names stand apart from what they name, kernels by kernel_id in kernel_symbols, calls by kind and
 * operation in strings, before or behind the records: rows get theirs when all is read. */
#include <inttypes.h>
#include <stdio.h>

#include "decimal.h"
#include "sort.h"
#include "trace_internal.h"

#include "poison.h"

#define OF_KERNELS INT64_C(-1) /* in place of the kind of a call */

struct named {
    int64_t kind, number;
    struct ap_str name;
};

struct waiting {
    int64_t kind, number;
    uint32_t row;
};

struct rocprof {
    struct ap_trace_reading *reading;
    struct ap_trace *trace;
    struct named *names;
    size_t name_count, name_capacity;
    struct waiting *rows;
    size_t row_count, row_capacity;
    struct ap_strpool agents; /* handles of devices, in order of appearance */
    int64_t pid, process;     /* by the system, and in the order of the file */
};

/* What is read of a record, whatever it is about; INT64_MIN = not told. */
struct record {
    int64_t start_ns, end_ns, thread, correlation, kernel, agent, target, queue, stream, kind, operation, bytes;
};

typedef enum ap_status take_record(struct rocprof *rocprof, const struct record *record, struct ap_error *reterr);

/* ---- values ---- */

/* A whole number, or that in a member of an object; anything else is skipped and changes nothing. */
static enum ap_status read_number(struct rocprof *rocprof, const char *inner, int64_t *ret_number, struct ap_error *reterr)
{
    struct ap_json_reader *json = rocprof->reading->json;
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind == AP_JSON_NUMBER)
        (void)ap_decimal_to_integer(token.text, token.text_bytes, ret_number);
    if (token.kind != AP_JSON_OBJECT_BEGIN || !inner)
        return ap_json_skip_rest(json, &token, reterr);
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(json, &token, reterr));
        bool wanted = ap_text_is((struct ap_text){ token.text, token.text_bytes }, inner);
        AP_TRY(wanted ? read_number(rocprof, NULL, ret_number, reterr) : ap_json_skip_value(json, reterr));
    }
}

static enum ap_status read_text(struct rocprof *rocprof, struct ap_str *ret_text, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(rocprof->reading->json, &token, reterr));
    if (token.kind == AP_JSON_STRING && token.text_bytes)
        return ap_strpool_intern(&rocprof->trace->strings, token.text, token.text_bytes, ret_text, reterr);
    return ap_json_skip_rest(rocprof->reading->json, &token, reterr);
}

/* *@ret_is: an object, or array, was begun; else what stands there is skipped. */
static enum ap_status begin(struct rocprof *rocprof, enum ap_json_kind kind, bool *ret_is, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(rocprof->reading->json, &token, reterr));
    *ret_is = token.kind == kind;
    return *ret_is ? AP_OK : ap_json_skip_rest(rocprof->reading->json, &token, reterr);
}

/* AP_OK with the next element that is an object, which was begun; AP_END. */
static enum ap_status next_object(struct rocprof *rocprof, struct ap_error *reterr)
{
    struct ap_json_token token;
    for (;;) {
        AP_TRY(ap_json_next_element(rocprof->reading->json, &token, reterr));
        if (token.kind == AP_JSON_OBJECT_BEGIN)
            return AP_OK;
        AP_TRY(ap_json_skip_rest(rocprof->reading->json, &token, reterr));
    }
}

/* ---- names ---- */

static enum ap_status add_name(struct rocprof *rocprof, struct named named, struct ap_error *reterr)
{
    if (!named.name.id)
        return AP_OK;
    AP_TRY_ADD(rocprof->trace->gate, rocprof->names, rocprof->name_count, rocprof->name_capacity, reterr, named);
    return AP_OK;
}

static enum ap_status read_symbol(struct rocprof *rocprof, struct ap_error *reterr)
{
    struct ap_json_reader *json = rocprof->reading->json;
    struct named named = { .kind = OF_KERNELS, .number = INT64_MIN };
    struct ap_str plain = { 0 };
    struct ap_json_token key;
    enum ap_status status;
    while ((status = ap_json_next_key(json, &key, reterr)) == AP_OK) {
        struct ap_text text = { key.text, key.text_bytes };
        if (ap_text_is(text, "kernel_id"))
            AP_TRY(read_number(rocprof, NULL, &named.number, reterr));
        else if (ap_text_is(text, "formatted_kernel_name"))
            AP_TRY(read_text(rocprof, &named.name, reterr));
        else if (ap_text_is(text, "kernel_name"))
            AP_TRY(read_text(rocprof, &plain, reterr));
        else
            AP_TRY(ap_json_skip_value(json, reterr));
    }
    if (status != AP_END)
        return status;
    named.name = named.name.id ? named.name : plain;
    return add_name(rocprof, named, reterr);
}

static enum ap_status read_symbols(struct rocprof *rocprof, struct ap_error *reterr)
{
    bool is;
    AP_TRY(begin(rocprof, AP_JSON_ARRAY_BEGIN, &is, reterr));
    while (is) {
        AP_TRY_UNTIL_END(next_object(rocprof, reterr));
        AP_TRY(read_symbol(rocprof, reterr));
    }
    return AP_OK;
}

static enum ap_status read_operations(struct rocprof *rocprof, int64_t kind, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool is;
    AP_TRY(begin(rocprof, AP_JSON_ARRAY_BEGIN, &is, reterr));
    for (int64_t operation = 0; is; operation++) {
        struct named named = { .kind = kind, .number = operation };
        AP_TRY_UNTIL_END(ap_json_next_element(rocprof->reading->json, &token, reterr));
        if (token.kind == AP_JSON_STRING)
            AP_TRY(ap_strpool_intern(&rocprof->trace->strings, token.text, token.text_bytes, &named.name, reterr));
        else
            AP_TRY(ap_json_skip_rest(rocprof->reading->json, &token, reterr));
        AP_TRY(add_name(rocprof, named, reterr));
    }
    return AP_OK;
}

/* {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": [names]}, ...]}: kinds are numbered by their place. */
static enum ap_status read_kinds(struct rocprof *rocprof, struct ap_error *reterr)
{
    struct ap_json_reader *json = rocprof->reading->json;
    struct ap_json_token key;
    bool is;
    AP_TRY(begin(rocprof, AP_JSON_ARRAY_BEGIN, &is, reterr));
    for (int64_t kind = 0; is; kind++) {
        enum ap_status status;
        AP_TRY_UNTIL_END(next_object(rocprof, reterr));
        while ((status = ap_json_next_key(json, &key, reterr)) == AP_OK) {
            bool wanted = ap_text_is((struct ap_text){ key.text, key.text_bytes }, "operations");
            AP_TRY(wanted ? read_operations(rocprof, kind, reterr) : ap_json_skip_value(json, reterr));
        }
        if (status != AP_END)
            return status;
    }
    return AP_OK;
}

/* ---- rows ---- */

/* Devices are numbered as they appear. */
static enum ap_status device_of(struct rocprof *rocprof, int64_t agent, int64_t *ret_device, struct ap_error *reterr)
{
    struct ap_str id;
    AP_TRY(ap_strpool_intern(&rocprof->agents, (const char *)&agent, sizeof(agent), &id, reterr));
    *ret_device = (int64_t)id.id - 1;
    return AP_OK;
}

static enum ap_status find_track(struct rocprof *rocprof, int64_t pid, int64_t tid, uint32_t *ret_track,
                                 struct ap_error *reterr)
{
    char of_process[24], of_thread[24];
    int pid_bytes = snprintf(of_process, sizeof(of_process), "%" PRId64, pid);
    int tid_bytes = snprintf(of_thread, sizeof(of_thread), "%" PRId64, tid);
    return ap_trace_track(rocprof->trace, (struct ap_text){ of_process, (size_t)pid_bytes }, false,
                          (struct ap_text){ of_thread, (size_t)tid_bytes }, false, ret_track, reterr);
}

static bool is_time(int64_t ns)
{
    return ns >= -AP_MAX_TIME_NS && ns <= AP_MAX_TIME_NS;
}

static enum ap_status add_row(struct rocprof *rocprof, const struct record *record, struct ap_text category, uint32_t track,
                              struct ap_str name, struct ap_error *reterr)
{
    struct ap_trace *trace = rocprof->trace;
    bool known = is_time(record->start_ns) && is_time(record->end_ns), overflowed = false;
    int64_t start_ns = known ? record->start_ns : AP_START_UNKNOWN, dur_ns = known ? record->end_ns - record->start_ns : 0;
    uint32_t index;
    AP_TRY(ap_trace_category(trace, category, &index, reterr));
    struct ap_category *of = &trace->categories[index];
    of->event_count++, of->row_count++;
    of->total_dur_ns = ap_add_sat(of->total_dur_ns, dur_ns, &overflowed);
    trace->event_count++, trace->object_count++, trace->ph_counts['X']++;
    if (!known)
        ap_note(rocprof->reading->notes, AP_COUNTER_ts_not_number, ap_json_offset(rocprof->reading->json));
    if (dur_ns < 0)
        ap_note(rocprof->reading->notes, AP_COUNTER_dur_negative, ap_json_offset(rocprof->reading->json));
    if (known)
        ap_trace_widen(&trace->has_window_all, &trace->window_all_start_ns, &trace->window_all_end_ns, start_ns,
                       start_ns + dur_ns);
    if (known && dur_ns >= 0)
        ap_trace_widen(&trace->has_window, &trace->window_start_ns, &trace->window_end_ns, start_ns, start_ns + dur_ns);
    return ap_trace_add_row(trace, start_ns, dur_ns, name, track, (uint8_t)((unsigned)of->kind | AP_ROW_X), reterr);
}

static enum ap_status wait_for_name(struct rocprof *rocprof, int64_t kind, int64_t number, struct ap_error *reterr)
{
    struct waiting row = { kind, number, (uint32_t)(rocprof->trace->events.count - 1) };
    AP_TRY_ADD(rocprof->trace->gate, rocprof->rows, rocprof->row_count, rocprof->row_capacity, reterr, row);
    return AP_OK;
}

/* The key of the number that links calls and work of one process: each counts from 1. */
static enum ap_status link_of(struct rocprof *rocprof, int64_t correlation, ap_link_key *ret_key, struct ap_error *reterr)
{
    char digits[24];
    *ret_key = 0;
    if (correlation == INT64_MIN)
        return AP_OK;
    if (correlation > 0 && correlation <= UINT32_MAX && rocprof->process <= INT32_MAX)
        correlation += rocprof->process << 32;
    int bytes = snprintf(digits, sizeof(digits), "%" PRId64, correlation);
    return ap_trace_link_key(rocprof->trace, (struct ap_text){ digits, (size_t)bytes }, ret_key, reterr);
}

static enum ap_status add_work(struct rocprof *rocprof, const struct record *record, int64_t agent, struct ap_text category,
                               struct ap_text name, struct ap_work_detail detail, struct ap_error *reterr)
{
    struct ap_str text;
    int64_t device;
    uint32_t track;
    AP_TRY(device_of(rocprof, agent, &device, reterr));
    int64_t stream = record->stream != INT64_MIN ? record->stream : record->queue;
    AP_TRY(find_track(rocprof, device, stream != INT64_MIN ? stream : 0, &track, reterr));
    AP_TRY(ap_trace_device_track(rocprof->trace, device, &track, reterr));
    AP_TRY(ap_strpool_intern(&rocprof->trace->strings, name.data, name.bytes, &text, reterr));
    AP_TRY(add_row(rocprof, record, category, track, text, reterr));
    AP_TRY(link_of(rocprof, record->correlation, &detail.correlation, reterr));
    return ap_trace_add_work_detail(rocprof->trace, detail, reterr);
}

static enum ap_status take_kernel(struct rocprof *rocprof, const struct record *record, struct ap_error *reterr)
{
    struct ap_work_detail detail = { .as.grid = { -1, -1 } };
    AP_TRY(add_work(rocprof, record, record->agent, AP_TEXT("kernel"), AP_TEXT("unknown"), detail, reterr));
    return wait_for_name(rocprof, OF_KERNELS, record->kernel, reterr);
}

/* rocprofiler_memory_copy_operation_t */
static enum ap_status take_copy(struct rocprof *rocprof, const struct record *record, struct ap_error *reterr)
{
    enum { HOST_TO_DEVICE = 2 };
    static const char *const names[] = { "Memcpy", "Memcpy HtoH", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD" };
    bool known = record->operation >= 0 && record->operation < (int64_t)AP_COUNT_OF(names);
    struct ap_work_detail detail = { .as.bytes = record->bytes >= 0 ? record->bytes : -1 };
    return add_work(rocprof, record, record->operation == HOST_TO_DEVICE ? record->target : record->agent,
                    AP_TEXT("gpu_memcpy"), ap_text_of(names[known ? record->operation : 0]), detail, reterr);
}

static enum ap_status take_call(struct rocprof *rocprof, const struct record *record, struct ap_error *reterr)
{
    struct ap_call_detail detail = { 0 };
    struct ap_str name;
    uint32_t track;
    AP_TRY(find_track(rocprof, rocprof->pid, record->thread != INT64_MIN ? record->thread : 0, &track, reterr));
    AP_TRY(ap_strpool_intern(&rocprof->trace->strings, "unknown", 7, &name, reterr));
    AP_TRY(add_row(rocprof, record, AP_TEXT("hip_runtime"), track, name, reterr));
    AP_TRY(link_of(rocprof, record->correlation, &detail.correlation, reterr));
    AP_TRY(ap_trace_add_call_detail(rocprof->trace, detail, reterr));
    return wait_for_name(rocprof, record->kind, record->operation, reterr);
}

/* ---- records ---- */

/* Members of a record and of the object dispatch_info in it. */
static enum ap_status read_members(struct rocprof *rocprof, struct record *record, bool outer, struct ap_error *reterr)
{
    const struct {
        const char *key, *inner;
        int64_t *number;
    } members[] = {
        { "start_timestamp", NULL, &record->start_ns },
        { "end_timestamp", NULL, &record->end_ns },
        { "thread_id", NULL, &record->thread },
        { "correlation_id", "internal", &record->correlation },
        { "kernel_id", NULL, &record->kernel },
        { "agent_id", "handle", &record->agent },
        { "src_agent_id", "handle", &record->agent },
        { "dst_agent_id", "handle", &record->target },
        { "queue_id", "handle", &record->queue },
        { "stream_id", "handle", &record->stream },
        { "kind", NULL, &record->kind },
        { "operation", NULL, &record->operation },
        { "bytes", NULL, &record->bytes },
    };
    struct ap_json_reader *json = rocprof->reading->json;
    struct ap_json_token key;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(json, &key, reterr));
        struct ap_text text = { key.text, key.text_bytes };
        size_t i = 0;
        bool is = false;
        while (i < AP_COUNT_OF(members) && !ap_text_is(text, members[i].key))
            i++;
        if (i < AP_COUNT_OF(members)) {
            AP_TRY(read_number(rocprof, members[i].inner, members[i].number, reterr));
        } else if (outer && ap_text_is(text, "dispatch_info")) {
            AP_TRY(begin(rocprof, AP_JSON_OBJECT_BEGIN, &is, reterr));
            if (is)
                AP_TRY(read_members(rocprof, record, false, reterr));
        } else {
            AP_TRY(ap_json_skip_value(json, reterr));
        }
    }
}

static enum ap_status read_records(struct rocprof *rocprof, take_record *take, struct ap_error *reterr)
{
    const int64_t none = INT64_MIN;
    bool is;
    AP_TRY(begin(rocprof, AP_JSON_ARRAY_BEGIN, &is, reterr));
    while (is) {
        struct record record = { none, none, none, none, none, none, none, none, none, none, none, none };
        AP_TRY_UNTIL_END(next_object(rocprof, reterr));
        AP_TRY(read_members(rocprof, &record, true, reterr));
        AP_TRY(take(rocprof, &record, reterr));
    }
    return AP_OK;
}

/* ---- the document ---- */

typedef enum ap_status read_value(struct rocprof *rocprof, struct ap_error *reterr);

/* The members of an object, each by its function; others are skipped. */
struct member {
    const char *key;
    read_value *read;
    take_record *take; /* a list of records */
};

static enum ap_status read_object(struct rocprof *rocprof, const struct member *members, struct ap_error *reterr)
{
    struct ap_json_reader *json = rocprof->reading->json;
    struct ap_json_token key;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(json, &key, reterr));
        const struct member *member = members;
        while (member->key && !ap_text_is((struct ap_text){ key.text, key.text_bytes }, member->key))
            member++;
        if (member->take)
            AP_TRY(read_records(rocprof, member->take, reterr));
        else
            AP_TRY(member->read ? member->read(rocprof, reterr) : ap_json_skip_value(json, reterr));
    }
}

static enum ap_status read_if_object(struct rocprof *rocprof, const struct member *members, struct ap_error *reterr)
{
    bool is;
    AP_TRY(begin(rocprof, AP_JSON_OBJECT_BEGIN, &is, reterr));
    return is ? read_object(rocprof, members, reterr) : AP_OK;
}

static enum ap_status read_pid(struct rocprof *rocprof, struct ap_error *reterr)
{
    return read_number(rocprof, NULL, &rocprof->pid, reterr);
}

static enum ap_status read_metadata(struct rocprof *rocprof, struct ap_error *reterr)
{
    static const struct member members[] = { { "pid", read_pid, NULL }, { NULL, NULL, NULL } };
    return read_if_object(rocprof, members, reterr);
}

static enum ap_status read_strings(struct rocprof *rocprof, struct ap_error *reterr)
{
    static const struct member members[] = { { "buffer_records", read_kinds, NULL }, { NULL, NULL, NULL } };
    return read_if_object(rocprof, members, reterr);
}

static enum ap_status read_buffers(struct rocprof *rocprof, struct ap_error *reterr)
{
    static const struct member members[] = { { "kernel_dispatch", NULL, take_kernel },
                                             { "memory_copy", NULL, take_copy },
                                             { "hip_api", NULL, take_call },
                                             { NULL, NULL, NULL } };
    return read_if_object(rocprof, members, reterr);
}

static const struct member tool_members[] = { { "metadata", read_metadata, NULL },
                                              { "kernel_symbols", read_symbols, NULL },
                                              { "strings", read_strings, NULL },
                                              { "buffer_records", read_buffers, NULL },
                                              { NULL, NULL, NULL } };

static int by_number(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    AP_BY_SMALLER(a->kind, b->kind);
    AP_BY_SMALLER(a->number, b->number);
    AP_BY_SMALLER(a->name.id, b->name.id);
    return 0;
}

static void name_rows(struct rocprof *rocprof)
{
    ap_sort(rocprof->names, rocprof->name_count, sizeof(rocprof->names[0]), by_number);
    for (size_t i = 0; i < rocprof->row_count; i++) {
        const struct waiting *row = &rocprof->rows[i];
        const struct named wanted = { row->kind, row->number, { 0 } };
        size_t low = 0;
        AP_BISECT(low, rocprof->name_count, at, by_number(&rocprof->names[at], &wanted) < 0);
        if (low < rocprof->name_count && rocprof->names[low].kind == row->kind && rocprof->names[low].number == row->number)
            rocprof->trace->events.name[row->row] = rocprof->names[low].name.id;
        else
            ap_note(rocprof->reading->notes, AP_COUNTER_name_missing, 0);
    }
    rocprof->row_count = rocprof->name_count = 0;
}

/* A list of one tool for each process; the first version wrote the object alone. */
static enum ap_status read_tools(struct rocprof *rocprof, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(rocprof->reading->json, &token, reterr));
    if (token.kind == AP_JSON_OBJECT_BEGIN)
        return read_object(rocprof, tool_members, reterr);
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return ap_json_skip_rest(rocprof->reading->json, &token, reterr);
    for (;;) {
        AP_TRY_UNTIL_END(next_object(rocprof, reterr));
        AP_TRY(read_object(rocprof, tool_members, reterr));
        name_rows(rocprof); /* numbers are those of one process */
        rocprof->process++;
    }
}

enum ap_status ap_trace_read_rocprof(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    struct ap_gate *gate = trace->gate;
    struct rocprof rocprof = { .reading = reading, .trace = trace };
    ap_strpool_init(&rocprof.agents, gate);
    trace->writer = "rocprofv3";
    reading->arrays += !reading->arrays;
    enum ap_status status = read_tools(&rocprof, reterr);
    if (status == AP_OK || status == AP_ERROR_CUT)
        name_rows(&rocprof);
    ap_strpool_release(&rocprof.agents);
    AP_FREE(gate, rocprof.names, rocprof.name_capacity);
    AP_FREE(gate, rocprof.rows, rocprof.row_capacity);
    return status;
}
