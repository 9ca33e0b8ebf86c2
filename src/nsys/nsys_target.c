/* SPDX-License-Identifier: MIT
 * nsys_target.c - what rows refer to beside names: devices, domains of ranges, recorded events; and the header of it. */
#include <inttypes.h>
#include <stdio.h>

#include "json_text.h"
#include "nsys_internal.h"
#include "sort.h"

#include "poison.h"

typedef enum ap_status take_row(struct ap_nsys *nsys, struct ap_guarded_rows *rows, struct ap_error *reterr);

static enum ap_status read_table(struct ap_nsys *nsys, const char *table, const char *const *columns, size_t column_count,
                                 take_row *take, struct ap_error *reterr)
{
    struct ap_guarded_rows rows;
    enum ap_status status = AP_OK, next = AP_END;
    if (!ap_guarded_rows_begin(&nsys->database, table, columns, column_count, &rows))
        return AP_OK;
    while (status == AP_OK && (next = ap_guarded_rows_next(&rows)) == AP_OK)
        status = take(nsys, &rows, reterr);
    if (next == AP_ERROR_CUT)
        ap_nsys_count_damage(nsys, table);
    ap_guarded_rows_end(&rows);
    return status;
}

static int64_t integer_or(const struct ap_guarded_rows *rows, unsigned column, int64_t otherwise)
{
    int64_t number;
    return ap_guarded_integer(rows, column, &number) ? number : otherwise;
}

/* ---- devices ---- */

/* The members of a device in the header, by the column of the export: its name first. */
static const char *const gpu_columns[] = { "name",         "id",           "totalMemory",   "smCount",
                                           "computeMajor", "computeMinor", "threadsPerWarp" };
static const char *const gpu_members[] = { "name",         "id",           "totalGlobalMem", "numSms",
                                           "computeMajor", "computeMinor", "warpSize" };
enum { GPU_NAME, GPU_ID, GPU_SM = 3 };

static enum ap_status take_gpu(struct ap_nsys *nsys, struct ap_guarded_rows *rows, struct ap_error *reterr)
{
    struct ap_nsys_gpu gpu = { .sm_count = integer_or(rows, GPU_SM, -1) };
    struct ap_text name;
    (void)reterr;
    if (nsys->gpu_count == AP_NSYS_GPUS_MAX || !ap_guarded_integer(rows, GPU_ID, &gpu.id))
        return AP_OK;
    ap_out_string(&nsys->out, nsys->gpu_count ? ",\n{" : "\n{");
    ap_out_string(&nsys->out, "\"name\":");
    ap_json_write_text(&nsys->out, ap_guarded_text(rows, GPU_NAME, &name) ? name : AP_TEXT(""));
    for (unsigned i = GPU_ID; i < AP_COUNT_OF(gpu_columns); i++) {
        int64_t number;
        if (ap_guarded_integer(rows, i, &number))
            ap_out_format(&nsys->out, ",\"%s\":%" PRId64, gpu_members[i], number);
    }
    ap_out_char(&nsys->out, '}');
    nsys->gpus[nsys->gpu_count++] = gpu;
    return AP_OK;
}

static enum ap_status take_cuda_id(struct ap_nsys *nsys, struct ap_guarded_rows *rows, struct ap_error *reterr)
{
    struct ap_nsys_cuda_id id = { .pid = integer_or(rows, 2, -1) };
    (void)reterr;
    if (nsys->cuda_id_count < AP_NSYS_GPUS_MAX && ap_guarded_integer(rows, 0, &id.gpu_id) &&
        ap_guarded_integer(rows, 1, &id.cuda_id))
        nsys->cuda_ids[nsys->cuda_id_count++] = id;
    return AP_OK;
}

int64_t ap_nsys_gpu_of(const struct ap_nsys *nsys, int64_t process, int64_t cuda_id)
{
    for (size_t i = 0; i < nsys->cuda_id_count; i++) {
        const struct ap_nsys_cuda_id *known = &nsys->cuda_ids[i];
        if (known->cuda_id == cuda_id && (known->pid == -1 || known->pid == ap_nsys_pid(process)))
            return known->gpu_id;
    }
    return cuda_id;
}

int64_t ap_nsys_sm_count(const struct ap_nsys *nsys, int64_t gpu_id)
{
    for (size_t i = 0; i < nsys->gpu_count; i++)
        if (nsys->gpus[i].id == gpu_id)
            return nsys->gpus[i].sm_count;
    return -1;
}

/* ---- domains of ranges ---- */

/* Of libraries that mark their own calls: these are calls that happened, and no words of the user. */
static bool is_library(struct ap_text domain)
{
    static const char *const libraries[] = {
        "NCCL", "CCCL",     "CUB",  "Thrust",  "cuBLAS", "cuDNN", "NVSHMEM", "UCX",
        "MPI",  "TensorRT", "DALI", "libcudf", "raft",   "cuml",  "cugraph", "libkvikio"
    };
    for (size_t i = 0; i < AP_COUNT_OF(libraries); i++)
        if (ap_text_is(domain, libraries[i]))
            return true;
    return false;
}

static enum ap_status take_domain(struct ap_nsys *nsys, struct ap_guarded_rows *rows, struct ap_error *reterr)
{
    enum { TYPE, DOMAIN, TEXT, TEXT_ID, TID, NVTX_DOMAIN_CREATE = 75 };
    struct ap_nsys_domain domain;
    struct ap_text text;
    (void)reterr;
    if (integer_or(rows, TYPE, 0) != NVTX_DOMAIN_CREATE || nsys->domain_count == AP_NSYS_GPUS_MAX ||
        !ap_guarded_integer(rows, DOMAIN, &domain.id))
        return AP_OK;
    domain.process = ap_nsys_process(integer_or(rows, TID, 0));
    bool has_text = ap_guarded_text(rows, TEXT, &text) && text.bytes;
    if (!has_text && !ap_nsys_name(nsys, integer_or(rows, TEXT_ID, -1), &text))
        return AP_OK;
    domain.of_library = is_library(text);
    nsys->domains[nsys->domain_count++] = domain;
    return AP_OK;
}

bool ap_nsys_is_of_library(const struct ap_nsys *nsys, int64_t process, int64_t domain)
{
    for (size_t i = 0; i < nsys->domain_count; i++)
        if (nsys->domains[i].id == domain && nsys->domains[i].process == process)
            return nsys->domains[i].of_library;
    return false;
}

/* ---- recorded events ---- */

static enum ap_status take_record(struct ap_nsys *nsys, struct ap_guarded_rows *rows, struct ap_error *reterr)
{
    struct ap_nsys_event_record record = { .process = integer_or(rows, 3, 0) };
    if (!ap_guarded_integer(rows, 0, &record.event) || !ap_guarded_integer(rows, 1, &record.correlation) ||
        !ap_guarded_integer(rows, 2, &record.stream))
        return AP_OK;
    AP_TRY_ADD(nsys->gate, nsys->records, nsys->record_count, nsys->record_capacity, reterr, record);
    return AP_OK;
}

static int by_event(const void *left, const void *right)
{
    const struct ap_nsys_event_record *a = left, *b = right;
    AP_BY_SMALLER(a->process, b->process);
    AP_BY_SMALLER(a->event, b->event);
    AP_BY_SMALLER(a->correlation, b->correlation);
    AP_BY_SMALLER(a->stream, b->stream);
    return 0;
}

const struct ap_nsys_event_record *ap_nsys_record_before(const struct ap_nsys *nsys, int64_t process, int64_t event,
                                                         int64_t correlation)
{
    const struct ap_nsys_event_record wanted = { process, event, correlation, INT64_MIN };
    size_t low = 0;
    AP_BISECT(low, nsys->record_count, at, by_event(&nsys->records[at], &wanted) < 0);
    if (!low || nsys->records[low - 1].process != process || nsys->records[low - 1].event != event)
        return NULL;
    return &nsys->records[low - 1];
}

/* ---- all of it ---- */

enum ap_status ap_nsys_target_read(struct ap_nsys *nsys, struct ap_error *reterr)
{
    static const char *const domain_columns[] = { "eventType", "domainId", "text", "textId", "globalTid" };
    static const char *const record_columns[] = { "eventId", "correlationId", "streamId", "globalPid" };
    AP_TRY(read_table(nsys, "NVTX_EVENTS", domain_columns, AP_COUNT_OF(domain_columns), take_domain, reterr));
    AP_TRY(read_table(nsys, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", record_columns, AP_COUNT_OF(record_columns), take_record,
                      reterr));
    ap_sort(nsys->records, nsys->record_count, sizeof(nsys->records[0]), by_event);
    return AP_OK;
}

static enum ap_status take_start(struct ap_nsys *nsys, struct ap_guarded_rows *rows, struct ap_error *reterr)
{
    int64_t start_ns;
    (void)reterr;
    if (!nsys->has_event && ap_guarded_integer(rows, 0, &start_ns) && start_ns > 0)
        ap_out_format(&nsys->out, "\"baseTimeNanoseconds\":%" PRId64 ",\n", start_ns);
    nsys->has_event = true; /* one clock is enough */
    return AP_OK;
}

enum ap_status ap_nsys_header_write(struct ap_nsys *nsys, struct ap_error *reterr)
{
    static const char *const cuda_columns[] = { "gpuId", "cudaId", "pid" }, *const start_columns[] = { "utcEpochNs" };
    ap_out_string(&nsys->out, "{\"analyze_profile\":{\"made_from\":\"Nsight Systems\"},\n\"schemaVersion\":1,\n");
    AP_TRY(read_table(nsys, "TARGET_INFO_SESSION_START_TIME", start_columns, 1, take_start, reterr));
    nsys->has_event = false;
    AP_TRY(read_table(nsys, "TARGET_INFO_CUDA_DEVICE", cuda_columns, AP_COUNT_OF(cuda_columns), take_cuda_id, reterr));
    if (!nsys->cuda_id_count) /* as versions before 2021 call it */
        AP_TRY(read_table(nsys, "TARGET_INFO_CUDA_GPU", cuda_columns, AP_COUNT_OF(cuda_columns), take_cuda_id, reterr));
    ap_out_string(&nsys->out, "\"deviceProperties\":[");
    AP_TRY(read_table(nsys, "TARGET_INFO_GPU", gpu_columns, AP_COUNT_OF(gpu_columns), take_gpu, reterr));
    ap_out_string(&nsys->out, "],\n\"traceEvents\":[");
    return AP_OK;
}
