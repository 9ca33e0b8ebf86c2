/* SPDX-License-Identifier: MIT
 * nsys_rows.c - each table of an export that holds events, its columns, and the event that a row becomes. To read one more:
 * its row at the end, and a function that writes the event. */
#include <inttypes.h>
#include <string.h>

#include "json_text.h"
#include "nsys_internal.h"

#include "poison.h"

/* ---- values ---- */

static int64_t integer_or(const struct ap_nsys *nsys, unsigned column, int64_t otherwise)
{
    int64_t number;
    return ap_guarded_integer(&nsys->rows, column, &number) ? number : otherwise;
}

/* Number of the process in order of appearance, from 0, which is also that of rows that tell none. */
static enum ap_status process_number(struct ap_nsys *nsys, int64_t process, uint32_t *ret_number, struct ap_error *reterr)
{
    struct ap_str id;
    *ret_number = 0;
    if (!process)
        return AP_OK;
    AP_TRY(ap_strpool_intern(&nsys->processes, (const char *)&process, sizeof(process), &id, reterr));
    *ret_number = id.id - 1;
    return AP_OK;
}

/* ---- pieces of an event ---- */

static void begin_event(struct ap_nsys *nsys, const char *phase, const char *category)
{
    ap_out_string(&nsys->out, nsys->has_event ? ",\n" : "\n");
    ap_out_format(&nsys->out, "{\"ph\":\"%s\",\"cat\":\"%s\"", phase, category);
    nsys->has_event = true;
}

static void write_name(struct ap_nsys *nsys, struct ap_text name)
{
    ap_out_string(&nsys->out, ",\"name\":");
    ap_json_write_text(&nsys->out, name);
}

/* A name that is not there is left out, which the reader counts. */
static bool find_name(struct ap_nsys *nsys, unsigned column, struct ap_text *ret_name)
{
    int64_t id;
    return ap_guarded_integer(&nsys->rows, column, &id) && ap_nsys_name(nsys, id, ret_name);
}

static void write_start(struct ap_nsys *nsys, unsigned column)
{
    int64_t start_ns;
    if (ap_guarded_integer(&nsys->rows, column, &start_ns)) {
        ap_out_string(&nsys->out, ",\"ts\":");
        ap_out_microseconds(&nsys->out, start_ns);
    } else if (ap_guarded_is_set(&nsys->rows, column)) {
        ap_out_string(&nsys->out, ",\"ts\":\"\""); /* no whole number: the reader counts it */
    }
}

/* The columns of the times stand first in all tables. */
enum { START, END };

static void write_times(struct ap_nsys *nsys)
{
    int64_t start_ns, end_ns, dur_ns;
    bool known = ap_guarded_integer(&nsys->rows, START, &start_ns) && ap_guarded_integer(&nsys->rows, END, &end_ns);
    if (!(known && start_ns == 0 && end_ns == 0)) /* CUPTI's "could not be collected" */
        write_start(nsys, START);
    ap_out_string(&nsys->out, ",\"dur\":");
    if (!known)
        ap_out_string(&nsys->out, "\"\"");
    else if (__builtin_sub_overflow(end_ns, start_ns, &dur_ns))
        ap_out_string(&nsys->out, "1e30"); /* beyond all times */
    else
        ap_out_microseconds(&nsys->out, dur_ns);
}

static void begin_arguments(struct ap_nsys *nsys)
{
    ap_out_string(&nsys->out, ",\"args\":{");
    nsys->has_argument = false;
}

static void write_key(struct ap_nsys *nsys, const char *key)
{
    ap_out_format(&nsys->out, "%s\"%s\":", nsys->has_argument ? "," : "", key);
    nsys->has_argument = true;
}

static void write_integer(struct ap_nsys *nsys, const char *key, int64_t number)
{
    write_key(nsys, key);
    ap_out_format(&nsys->out, "%" PRId64, number);
}

/* Of another process a call may have the same number. */
static void write_link(struct ap_nsys *nsys, const char *key, uint32_t process, int64_t correlation)
{
    if (process && correlation > 0 && correlation <= UINT32_MAX)
        correlation += (int64_t)process << 32;
    write_integer(nsys, key, correlation);
}

static void write_correlation(struct ap_nsys *nsys, uint32_t process, unsigned column)
{
    int64_t correlation;
    if (ap_guarded_integer(&nsys->rows, column, &correlation) && correlation)
        write_link(nsys, "correlation", process, correlation);
}

static void end_event(struct ap_nsys *nsys)
{
    ap_out_string(&nsys->out, "}}");
}

/* ---- work of a device ---- */

/* The columns of all tables of device work. */
enum { DEVICE = 2, STREAM, CORRELATION, PROCESS, WORK_FIRST };
#define WORK_COLUMNS "start", "end", "deviceId", "streamId", "correlationId", "globalPid"

struct work {
    int64_t process, gpu, stream;
    uint32_t number; /* of the process */
};

static enum ap_status find_work(struct ap_nsys *nsys, struct work *ret_work, struct ap_error *reterr)
{
    ret_work->process = integer_or(nsys, PROCESS, 0);
    ret_work->gpu = ap_nsys_gpu_of(nsys, ret_work->process, integer_or(nsys, DEVICE, 0));
    ret_work->stream = integer_or(nsys, STREAM, -1);
    return process_number(nsys, ret_work->process, &ret_work->number, reterr);
}

/* Where it ran, as PyTorch's profiler writes it, and its arguments up to those of one kind. */
static void write_work(struct ap_nsys *nsys, const struct work *work)
{
    write_times(nsys);
    ap_out_format(&nsys->out, ",\"pid\":%" PRId64 ",\"tid\":", work->gpu);
    if (work->number)
        ap_out_format(&nsys->out, "\"%" PRId64 " of process %" PRId64 "\"", work->stream, ap_nsys_pid(work->process));
    else
        ap_out_format(&nsys->out, "%" PRId64, work->stream);
    begin_arguments(nsys);
    write_integer(nsys, "device", work->gpu);
    write_integer(nsys, "stream", work->stream);
    write_correlation(nsys, work->number, CORRELATION);
}

static void write_grid(struct ap_nsys *nsys, int64_t gpu, unsigned first)
{
    double blocks = 1;
    int64_t sm_count = ap_nsys_sm_count(nsys, gpu);
    for (unsigned i = first; i < first + 3; i++) {
        int64_t size = integer_or(nsys, i, 0);
        blocks *= size > 0 && size <= UINT32_MAX ? (double)size : 0;
    }
    if (blocks < 1 || sm_count < 1)
        return;
    write_key(nsys, "blocks per SM");
    ap_out_number(&nsys->out, blocks / (double)sm_count);
}

static enum ap_status emit_kernel(struct ap_nsys *nsys, struct ap_error *reterr)
{
    enum { DEMANGLED = WORK_FIRST, SHORT, GRID };
    struct work work;
    struct ap_text name;
    AP_TRY(find_work(nsys, &work, reterr));
    begin_event(nsys, "X", "kernel");
    if (find_name(nsys, DEMANGLED, &name) || find_name(nsys, SHORT, &name))
        write_name(nsys, name);
    write_work(nsys, &work);
    write_grid(nsys, work.gpu, GRID);
    end_event(nsys);
    return AP_OK;
}

/* A graph that was recorded as a whole (--cuda-graph-trace=graph, the default): one row of work without its kernels. */
static enum ap_status emit_graph(struct ap_nsys *nsys, struct ap_error *reterr)
{
    enum { GRAPH = WORK_FIRST };
    struct work work;
    AP_TRY(find_work(nsys, &work, reterr));
    begin_event(nsys, "X", "kernel");
    ap_out_format(&nsys->out, ",\"name\":\"CUDA graph %" PRId64 " (recorded whole)\"", integer_or(nsys, GRAPH, 0));
    write_work(nsys, &work);
    end_event(nsys);
    return AP_OK;
}

/* As PyTorch's profiler words them (kineto's CuptiActivity), by the numbers of ENUM_CUDA_MEMCPY_OPER and
 * ENUM_CUDA_MEM_KIND. */
static const char *copy_word(int64_t kind)
{
    static const char *const words[] = { "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                         "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD" };
    return kind >= 0 && (uint64_t)kind < AP_COUNT_OF(words) ? words[kind] : words[0];
}

static const char *memory_word(int64_t kind)
{
    static const char *const words[] = { "Pageable", "Pinned",        "Device",        "Array",
                                         "Managed",  "Device Static", "Managed Static" };
    return kind >= 0 && (uint64_t)kind < AP_COUNT_OF(words) ? words[kind] : "Unknown";
}

static void write_bytes(struct ap_nsys *nsys, unsigned column)
{
    int64_t bytes;
    if (ap_guarded_integer(&nsys->rows, column, &bytes))
        write_integer(nsys, "bytes", bytes);
}

static enum ap_status emit_copy(struct ap_nsys *nsys, struct ap_error *reterr)
{
    enum { BYTES = WORK_FIRST, KIND, FROM, TO };
    struct work work;
    AP_TRY(find_work(nsys, &work, reterr));
    begin_event(nsys, "X", "gpu_memcpy");
    ap_out_format(&nsys->out, ",\"name\":\"Memcpy %s (%s -> %s)\"", copy_word(integer_or(nsys, KIND, 0)),
                  memory_word(integer_or(nsys, FROM, -1)), memory_word(integer_or(nsys, TO, -1)));
    write_work(nsys, &work);
    write_bytes(nsys, BYTES);
    end_event(nsys);
    return AP_OK;
}

static enum ap_status emit_set(struct ap_nsys *nsys, struct ap_error *reterr)
{
    enum { BYTES = WORK_FIRST, KIND };
    struct work work;
    AP_TRY(find_work(nsys, &work, reterr));
    begin_event(nsys, "X", "gpu_memset");
    ap_out_format(&nsys->out, ",\"name\":\"Memset (%s)\"", memory_word(integer_or(nsys, KIND, -1)));
    write_work(nsys, &work);
    write_bytes(nsys, BYTES);
    end_event(nsys);
    return AP_OK;
}

static enum ap_status emit_sync(struct ap_nsys *nsys, struct ap_error *reterr)
{
    enum { TYPE = WORK_FIRST, EVENT };
    enum { EVENT_SYNC = 1, STREAM_WAIT = 2 };
    static const char *const words[] = { "Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync" };
    struct work work;
    int64_t type = integer_or(nsys, TYPE, 0), correlation;
    AP_TRY(find_work(nsys, &work, reterr));
    begin_event(nsys, "X", "cuda_sync");
    ap_out_format(&nsys->out, ",\"name\":\"%s\"", words[type > 0 && (uint64_t)type < AP_COUNT_OF(words) ? type : 0]);
    write_work(nsys, &work);
    const struct ap_nsys_event_record *record =
        (type == EVENT_SYNC || type == STREAM_WAIT) && ap_guarded_integer(&nsys->rows, CORRELATION, &correlation)
            ? ap_nsys_record_before(nsys, work.process, integer_or(nsys, EVENT, -1), correlation)
            : NULL;
    if (record) {
        write_integer(nsys, "wait_on_stream", record->stream);
        write_link(nsys, "wait_on_cuda_event_record_corr_id", work.number, record->correlation);
    }
    end_event(nsys);
    return AP_OK;
}

/* ---- the host ---- */

static void write_thread(struct ap_nsys *nsys, int64_t thread)
{
    ap_out_format(&nsys->out, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64, ap_nsys_pid(thread), ap_nsys_tid(thread));
}

/* The version of a call's arguments is a part of its name here: "cudaLaunchKernel_v7000". */
static struct ap_text without_version(struct ap_text name)
{
    size_t bytes = name.bytes;
    while (bytes && ap_is_digit(name.data[bytes - 1]))
        bytes--;
    bool has = ap_text_starts_with(name, "cuda") && name.bytes - bytes >= 4 && bytes > 2 && name.data[bytes - 1] == 'v' &&
               name.data[bytes - 2] == '_';
    return (struct ap_text){ name.data, has ? bytes - 2 : name.bytes };
}

enum { CALL_THREAD = 2, CALL_NAME, CALL_CORRELATION };
#define CALL_COLUMNS "start", "end", "globalTid", "nameId", "correlationId"

static enum ap_status emit_named_call(struct ap_nsys *nsys, const char *category, struct ap_error *reterr)
{
    struct ap_text name = AP_TEXT("");
    int64_t thread = integer_or(nsys, CALL_THREAD, 0);
    uint32_t process;
    AP_TRY(process_number(nsys, ap_nsys_process(thread), &process, reterr));
    bool has_name = find_name(nsys, CALL_NAME, &name);
    begin_event(nsys, "X", category ? category : ap_text_starts_with(name, "cuda") ? "cuda_runtime" : "cuda_driver");
    if (has_name)
        write_name(nsys, without_version(name));
    write_times(nsys);
    write_thread(nsys, thread);
    begin_arguments(nsys);
    write_correlation(nsys, process, CALL_CORRELATION);
    end_event(nsys);
    return AP_OK;
}

static enum ap_status emit_call(struct ap_nsys *nsys, struct ap_error *reterr)
{
    return emit_named_call(nsys, NULL, reterr);
}

static enum ap_status emit_system_call(struct ap_nsys *nsys, struct ap_error *reterr)
{
    return emit_named_call(nsys, "osrt", reterr);
}

static enum ap_status emit_overhead(struct ap_nsys *nsys, struct ap_error *reterr)
{
    return emit_named_call(nsys, "overhead", reterr);
}

static enum ap_status emit_library_call(struct ap_nsys *nsys, struct ap_error *reterr)
{
    return emit_named_call(nsys, "cpu_op", reterr);
}

/* ---- ranges ---- */

enum { RANGE_TYPE = 2, RANGE_TEXT, RANGE_TEXT_ID, RANGE_THREAD, RANGE_END_THREAD, RANGE_DOMAIN };
enum { NVTX_PUSH_POP = 59, NVTX_START_END = 60, NVTX_TEXT_PUSH_POP = 70, NVTX_TEXT_START_END = 71 };

static const char *category_of(const struct ap_nsys *nsys, const struct ap_nsys_range *range, int64_t thread)
{
    if (range->kind == AP_NSYS_OPERATOR)
        return "cpu_op";
    int64_t domain = integer_or(nsys, RANGE_DOMAIN, 0);
    return ap_nsys_is_of_library(nsys, ap_nsys_process(thread), domain) ? "cpu_op" : "user_annotation";
}

static void write_range_name(struct ap_nsys *nsys, const struct ap_nsys_range *range)
{
    ap_out_string(&nsys->out, ",\"name\":");
    if (range->kind != AP_NSYS_MODULE) {
        ap_json_write_text(&nsys->out, range->name);
        return;
    }
    ap_out_string(&nsys->out, "\"[pl][module]"); /* the mark of ranges that are modules */
    for (size_t i = 0; i < range->name.bytes; i++) {
        unsigned char c = (unsigned char)range->name.data[i];
        ap_out_char(&nsys->out, c > ' ' && c < 0x7f && c != '"' && c != '\\' ? (char)c : '_');
    }
    ap_out_char(&nsys->out, '"');
}

static void write_range_arguments(struct ap_nsys *nsys, const struct ap_nsys_range *range)
{
    begin_arguments(nsys);
    if (range->sequence.bytes) {
        write_key(nsys, "Sequence number");
        ap_json_write_literal(&nsys->out, range->sequence);
        if (range->backward)
            write_integer(nsys, "Fwd thread id", 1);
    }
    if (range->shapes.bytes) {
        write_key(nsys, "Input Dims");
        ap_out_text(&nsys->out, range->shapes);
    }
    end_event(nsys);
}

/* Ranges that are started and ended may cross others of their thread: they get a row of threads of their own. */
static void write_range_thread(struct ap_nsys *nsys, int64_t thread, bool nests)
{
    if (nests)
        write_thread(nsys, thread);
    else
        ap_out_format(&nsys->out, ",\"pid\":%" PRId64 ",\"tid\":\"ranges of thread %" PRId64 "\"", ap_nsys_pid(thread),
                      ap_nsys_tid(thread));
}

static bool is_open(const struct ap_nsys *nsys)
{
    int64_t start_ns, end_ns;
    if (!ap_guarded_is_set(&nsys->rows, END))
        return true;
    return ap_guarded_integer(&nsys->rows, START, &start_ns) && ap_guarded_integer(&nsys->rows, END, &end_ns) &&
           start_ns > 0 && (end_ns == 0 || end_ns == -1); /* as older versions say that there is none */
}

static enum ap_status emit_range(struct ap_nsys *nsys, struct ap_error *reterr)
{
    struct ap_text text;
    struct ap_nsys_range range;
    int64_t type = integer_or(nsys, RANGE_TYPE, NVTX_PUSH_POP), thread = integer_or(nsys, RANGE_THREAD, 0);
    (void)reterr;
    bool nests = type == NVTX_PUSH_POP || type == NVTX_TEXT_PUSH_POP;
    if (!nests && type != NVTX_START_END && type != NVTX_TEXT_START_END)
        return AP_OK;
    bool has_text = ap_guarded_text(&nsys->rows, RANGE_TEXT, &text) && text.bytes;
    if (!has_text && !find_name(nsys, RANGE_TEXT_ID, &text)) /* text of its own, or registered once */
        text = AP_TEXT("(no text)");
    ap_nsys_range_read(text, &range);
    begin_event(nsys, is_open(nsys) ? "B" : "X", category_of(nsys, &range, thread));
    write_range_name(nsys, &range);
    if (is_open(nsys))
        write_start(nsys, START);
    else
        write_times(nsys);
    write_range_thread(nsys, thread, nests);
    write_range_arguments(nsys, &range);
    return AP_OK;
}

/* ---- threads ---- */

static enum ap_status emit_thread_name(struct ap_nsys *nsys, struct ap_error *reterr)
{
    enum { NAME, THREAD };
    struct ap_text name;
    int64_t thread;
    (void)reterr;
    if (!find_name(nsys, NAME, &name) || !ap_guarded_integer(&nsys->rows, THREAD, &thread))
        return AP_OK;
    ap_out_string(&nsys->out, nsys->has_event ? ",\n" : "\n");
    nsys->has_event = true;
    ap_out_string(&nsys->out, "{\"ph\":\"M\",\"name\":\"thread_name\"");
    write_thread(nsys, thread);
    begin_arguments(nsys);
    write_key(nsys, "name");
    ap_json_write_text(&nsys->out, name);
    end_event(nsys);
    return AP_OK;
}

/* ---- the tables ---- */

const struct ap_nsys_table ap_nsys_tables[] = {
    { "ThreadNames", { "nameId", "globalTid" }, emit_thread_name },
    { "CUPTI_ACTIVITY_KIND_KERNEL", { WORK_COLUMNS, "demangledName", "shortName", "gridX", "gridY", "gridZ" }, emit_kernel },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", { WORK_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind" }, emit_copy },
    { "CUPTI_ACTIVITY_KIND_MEMSET", { WORK_COLUMNS, "bytes", "memKind" }, emit_set },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", { WORK_COLUMNS, "graphId" }, emit_graph },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", { WORK_COLUMNS, "syncType", "eventId" }, emit_sync },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", { CALL_COLUMNS }, emit_call },
    { "CUPTI_ACTIVITY_KIND_DRIVER", { CALL_COLUMNS }, emit_call },
    { "NVTX_EVENTS",
      { "start", "end", "eventType", "text", "textId", "globalTid", "endGlobalTid", "domainId" },
      emit_range },
    { "CUDNN_EVENTS", { CALL_COLUMNS }, emit_library_call },
    { "CUBLAS_EVENTS", { CALL_COLUMNS }, emit_library_call },
    { "OSRT_API", { CALL_COLUMNS }, emit_system_call },
    { "PROFILER_OVERHEAD", { CALL_COLUMNS }, emit_overhead },
    { NULL, { NULL }, NULL },
};

bool ap_nsys_is_export(struct ap_nsys *nsys)
{
    if (!ap_guarded_has_table(&nsys->database, "StringIds"))
        return false;
    if (ap_guarded_has_table(&nsys->database, "META_DATA_EXPORT") ||
        ap_guarded_has_table(&nsys->database, "EXPORT_META_DATA"))
        return true;
    for (const struct ap_nsys_table *table = ap_nsys_tables; table->name; table++)
        if (ap_guarded_has_table(&nsys->database, table->name))
            return true;
    return false;
}
