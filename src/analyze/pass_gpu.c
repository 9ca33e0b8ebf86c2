/* SPDX-License-Identifier: MIT
 * pass_gpu.c - how busy the devices were, and with what. GPU work is what has the category kernel, gpu_memcpy or
 * gpu_memset; a row is told by its category alone. */
#include <string.h>

#include "passes.h"
#include "sort.h"

#include "poison.h"

#define SHORT_KERNEL_NS 10000

/* --------------------------------------------------------------------------------------------------- collectives */

static bool is_communication(struct ap_text name)
{
    enum { in_whole, in_head };
    static const struct {
        const char *part;
        int in;
    } parts[] = {
#define AP_COMM_NAME(part, in) { part, in_##in },
#include "comm_names.def"
#undef AP_COMM_NAME
    };
    struct ap_text head = name;
    if (ap_text_starts_with(head, "void ")) {
        head.data += 5;
        head.bytes -= 5;
    }
    size_t bytes = 0;
    while (bytes < head.bytes && head.data[bytes] != '<' && head.data[bytes] != '(')
        bytes++;
    head.bytes = bytes;
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        if (ap_text_contains_folded(parts[i].in == in_head ? head : name, parts[i].part))
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------------- unions */

/* Length of the union of intervals that come in order of their starts. */
struct cover {
    int64_t to_ns, sum_ns;
};

static void cover_add(struct cover *cover, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= cover->to_ns)
        return;
    cover->sum_ns += end_ns - (start_ns > cover->to_ns ? start_ns : cover->to_ns);
    cover->to_ns = end_ns;
}

struct device_totals {
    int64_t device, rows, start_ns, end_ns;
    struct cover busy, communication, compute, compute_or_communication; /* compute: other kernels and memsets */
};

struct gpu_totals {
    int64_t rows, window_ns, busy_ns, communication_ns, exposed_communication_ns;
    int64_t kernel_count, kernel_ns, short_kernel_count, communication_count;
    int64_t copy_count, copy_ns, copy_bytes, pageable_bytes, pageable_ns, within_device_ns;
    int64_t memset_count, memset_ns;
    bool overflowed;
};

static void close_device(struct gpu_totals *totals, const struct device_totals *device, struct ap_model *model,
                         struct ap_value *list)
{
    int64_t window_ns = device->end_ns - device->start_ns;
    totals->window_ns = ap_add_sat(totals->window_ns, window_ns, &totals->overflowed);
    totals->busy_ns = ap_add_sat(totals->busy_ns, device->busy.sum_ns, &totals->overflowed);
    totals->communication_ns = ap_add_sat(totals->communication_ns, device->communication.sum_ns, &totals->overflowed);
    totals->exposed_communication_ns =
        ap_add_sat(totals->exposed_communication_ns, device->compute_or_communication.sum_ns - device->compute.sum_ns,
                   &totals->overflowed);
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "device", device->device);
    ap_add_count(model, row, "rows", device->rows);
    ap_add_time(model, row, "window_us", window_ns);
    ap_add_time(model, row, "busy_us", device->busy.sum_ns);
    ap_add_time(model, row, "idle_us", window_ns - device->busy.sum_ns);
    ap_add_quotient(model, row, "utilization_ratio", (double)device->busy.sum_ns, (double)window_ns);
}

static void take_row(struct device_totals *device, enum ap_event_kind kind, bool communication, int64_t start_ns,
                     int64_t end_ns)
{
    if (!device->rows++)
        device->start_ns = start_ns;
    device->end_ns = end_ns > device->end_ns ? end_ns : device->end_ns;
    cover_add(&device->busy, start_ns, end_ns);
    if (communication)
        cover_add(&device->communication, start_ns, end_ns);
    else if (kind != AP_KIND_memcpy)
        cover_add(&device->compute, start_ns, end_ns);
    if (kind != AP_KIND_memcpy)
        cover_add(&device->compute_or_communication, start_ns, end_ns);
}

/* Rows in order of device, then start. */
static void sweep(struct ap_pass_context *context, const uint32_t *rows, size_t count, const uint8_t *is_comm_name,
                  struct gpu_totals *totals, struct ap_model *model, struct ap_value *list)
{
    static const struct device_totals fresh = {
        .end_ns = INT64_MIN, .busy.to_ns = INT64_MIN, .communication.to_ns = INT64_MIN,
        .compute.to_ns = INT64_MIN, .compute_or_communication.to_ns = INT64_MIN,
    };
    const struct ap_trace *trace = context->trace;
    struct device_totals device = fresh;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        int64_t start_ns = trace->events.start_ns[row], number = trace->tracks[trace->events.track[row]].device;
        if (device.rows && number != device.device) {
            close_device(totals, &device, model, list);
            device = fresh;
        }
        device.device = number;
        take_row(&device, ap_row_kind(trace->events.tag[row]), is_comm_name[trace->events.name[row]] & 1, start_ns,
                 start_ns + trace->events.dur_ns[row]);
    }
    if (device.rows)
        close_device(totals, &device, model, list);
}

/* --------------------------------------------------------------------------------------------------- plain sums */

struct name_sums {
    uint32_t *count;
    int64_t *total_ns;
    uint8_t *flags; /* 1 = communication, 2 = looked at */
};

static void add_kernel(struct gpu_totals *totals, struct name_sums *sums, uint32_t name, struct ap_text text, int64_t dur_ns)
{
    if (!sums->flags[name])
        sums->flags[name] = (uint8_t)(2 | is_communication(text));
    totals->kernel_count++;
    totals->kernel_ns = ap_add_sat(totals->kernel_ns, dur_ns, &totals->overflowed);
    totals->short_kernel_count += dur_ns < SHORT_KERNEL_NS;
    totals->communication_count += sums->flags[name] & 1;
    sums->count[name]++;
    sums->total_ns[name] = ap_add_sat(sums->total_ns[name], dur_ns, &totals->overflowed);
}

static void add_copy(struct gpu_totals *totals, struct ap_text name, int64_t dur_ns, int64_t bytes)
{
    totals->copy_count++;
    totals->copy_ns = ap_add_sat(totals->copy_ns, dur_ns, &totals->overflowed);
    bytes = bytes > 0 ? bytes : 0;
    totals->copy_bytes = ap_add_sat(totals->copy_bytes, bytes, &totals->overflowed);
    if (ap_text_contains_folded(name, "pageable")) {
        totals->pageable_bytes = ap_add_sat(totals->pageable_bytes, bytes, &totals->overflowed);
        totals->pageable_ns = ap_add_sat(totals->pageable_ns, dur_ns, &totals->overflowed);
    }
    if (ap_text_contains_folded(name, "dtod") || ap_text_contains_folded(name, "devicetodevice"))
        totals->within_device_ns = ap_add_sat(totals->within_device_ns, dur_ns, &totals->overflowed);
}

/* Every row of GPU work, placed in time or not; a negative duration is summed as written. */
static void add_plain_sums(const struct ap_trace *trace, struct gpu_totals *totals, struct name_sums *sums)
{
    for (size_t row = 0; row < trace->events.count; row++) {
        int64_t dur_ns = trace->events.dur_ns[row];
        switch (ap_row_kind(trace->events.tag[row])) {
        case AP_KIND_kernel:
            add_kernel(totals, sums, trace->events.name[row], ap_row_name(trace, (uint32_t)row), dur_ns);
            break;
        case AP_KIND_memcpy:
            add_copy(totals, ap_row_name(trace, (uint32_t)row), dur_ns, ap_row_bytes(trace, (uint32_t)row));
            break;
        case AP_KIND_memset:
            totals->memset_count++;
            totals->memset_ns = ap_add_sat(totals->memset_ns, dur_ns, &totals->overflowed);
            break;
        default:
            continue;
        }
        totals->rows++;
    }
}

/* ------------------------------------------------------------------------------------------------------- kernels */

struct ranking {
    const struct ap_trace *trace;
    const struct name_sums *sums;
};

static bool kernel_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = context;
    const struct name_sums *sums = ranking->sums;
    if (!sums->count[a] != !sums->count[b])
        return sums->count[a];
    if (sums->total_ns[a] != sums->total_ns[b])
        return sums->total_ns[a] > sums->total_ns[b];
    int order = ap_text_compare(ap_strpool_text(&ranking->trace->strings, (struct ap_str){ a }),
                                ap_strpool_text(&ranking->trace->strings, (struct ap_str){ b }));
    return order ? order < 0 : a < b;
}

static void add_kernel_row(struct ap_pass_context *context, const struct name_sums *sums, const struct gpu_totals *totals,
                           uint32_t name, const struct ap_name_spreads *spreads, struct ap_model *model,
                           struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_strpool_text(&context->trace->strings, (struct ap_str){ name }));
    ap_add_bool(model, row, "communication", sums->flags[name] & 1);
    ap_add_count(model, row, "count", sums->count[name]);
    ap_add_time(model, row, "total_dur_us", sums->total_ns[name]);
    ap_add_time(model, row, "avg_dur_us", ap_mean_ns(sums->total_ns[name], sums->count[name]));
    ap_name_spreads_add(spreads, name, model, row);
    ap_add_quotient(model, row, "share_ratio", (double)sums->total_ns[name], (double)totals->kernel_ns);
}

static enum ap_status add_top_kernels(struct ap_pass_context *context, const struct name_sums *sums,
                                      const struct gpu_totals *totals, int64_t *ret_top_ns, struct ap_model *model,
                                      struct ap_value *gpu, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, sums };
    struct ap_name_spreads spreads = { .gate = context->gate };
    struct ap_value *list = ap_add_list(model, gpu, "top_kernels");
    uint32_t *names;
    size_t ranked, count = 0;
    AP_TRY(ap_top_indices(context->gate, ap_strpool_count(&context->trace->strings) + 1, context->options->top_n,
                          kernel_before, &ranking, &names, &ranked, reterr));
    while (count < ranked && sums->count[names[count]])
        count++;
    *ret_top_ns = count ? sums->total_ns[names[0]] : 0;
    enum ap_status status = ap_name_spreads_init(&spreads, context->trace, context->gate, names, count, AP_ROW_KIND_MASK,
                                                 AP_KIND_kernel, reterr);
    for (size_t i = 0; i < count && status == AP_OK; i++)
        add_kernel_row(context, sums, totals, names[i], &spreads, model, list);
    ap_name_spreads_release(&spreads);
    ap_mem_free(context->gate, names, ranked * sizeof(names[0]));
    return status;
}

/* -------------------------------------------------------------------------------------------------------- report */

static void add_totals(const struct gpu_totals *totals, int64_t top_kernel_ns, struct ap_model *model,
                       struct ap_value *gpu)
{
    ap_add_count(model, gpu, "rows", totals->rows);
    ap_add_time(model, gpu, "window_us", totals->window_ns);
    ap_add_time(model, gpu, "busy_us", totals->busy_ns);
    ap_add_time(model, gpu, "idle_us", totals->window_ns - totals->busy_ns);
    ap_add_quotient(model, gpu, "utilization_ratio", (double)totals->busy_ns, (double)totals->window_ns);
    struct ap_value *kernel = ap_add_object(model, gpu, "kernel");
    ap_add_count(model, kernel, "count", totals->kernel_count);
    ap_add_time(model, kernel, "total_dur_us", totals->kernel_ns);
    ap_add_count(model, kernel, "short_count", totals->short_kernel_count);
    ap_add_quotient(model, kernel, "short_ratio", (double)totals->short_kernel_count, (double)totals->kernel_count);
    ap_add_time(model, kernel, "top_total_dur_us", top_kernel_ns);
    ap_add_quotient(model, kernel, "top_share_ratio", (double)top_kernel_ns, (double)totals->kernel_ns);
    struct ap_value *communication = ap_add_object(model, gpu, "communication");
    ap_add_count(model, communication, "count", totals->communication_count);
    ap_add_time(model, communication, "busy_us", totals->communication_ns);
    ap_add_time(model, communication, "exposed_us", totals->exposed_communication_ns);
    ap_add_quotient(model, communication, "exposed_ratio", (double)totals->exposed_communication_ns,
                    (double)totals->window_ns);
    struct ap_value *copies = ap_add_object(model, gpu, "memcpy");
    ap_add_count(model, copies, "count", totals->copy_count);
    ap_add_time(model, copies, "total_dur_us", totals->copy_ns);
    ap_add_bytes(model, copies, "bytes", totals->copy_bytes);
    ap_add_bytes(model, copies, "pageable_bytes", totals->pageable_bytes);
    ap_add_time(model, copies, "pageable_dur_us", totals->pageable_ns);
    ap_add_time(model, copies, "device_dur_us", totals->within_device_ns);
    ap_add_quotient(model, copies, "device_ratio", (double)totals->within_device_ns, (double)totals->busy_ns);
    struct ap_value *memsets = ap_add_object(model, gpu, "memset");
    ap_add_count(model, memsets, "count", totals->memset_count);
    ap_add_time(model, memsets, "total_dur_us", totals->memset_ns);
}

static enum ap_status add_gpu(struct ap_pass_context *context, struct name_sums *sums, struct ap_model *model,
                              struct ap_value *root, struct ap_error *reterr)
{
    static const uint32_t gpu_kinds = 1u << AP_KIND_kernel | 1u << AP_KIND_memcpy | 1u << AP_KIND_memset;
    struct gpu_totals totals = { .rows = 0 };
    uint32_t *rows;
    size_t count;
    int64_t top_kernel_ns;
    add_plain_sums(context->trace, &totals, sums);
    if (!totals.rows) {
        ap_add_null(model, root, "gpu");
        return AP_OK;
    }
    AP_TRY(ap_rows_by_start(&context->order, context->trace, gpu_kinds, true, &rows, &count, reterr));
    struct ap_value *gpu = ap_add_object(model, root, "gpu");
    struct ap_value *devices = ap_add_list(model, gpu, "devices");
    sweep(context, rows, count, sums->flags, &totals, model, devices);
    ap_mem_free(context->gate, rows, count * sizeof(rows[0]));
    AP_TRY(add_top_kernels(context, sums, &totals, &top_kernel_ns, model, gpu, reterr));
    add_totals(&totals, top_kernel_ns, model, gpu);
    context->ops.overflowed |= totals.overflowed;
    return AP_OK;
}

enum ap_status ap_pass_gpu(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                           struct ap_error *reterr)
{
    size_t name_count = (size_t)ap_strpool_count(&context->trace->strings) + 1;
    size_t bytes = name_count * (sizeof(int64_t) + sizeof(uint32_t) + sizeof(uint8_t));
    char *memory = ap_mem_resize(context->gate, NULL, 0, bytes);
    if (!memory)
        return ap_fail_memory(context->gate, reterr);
    memset(memory, 0, bytes);
    struct name_sums sums;
    sums.total_ns = (int64_t *)(void *)memory;
    sums.count = (uint32_t *)(void *)(memory + name_count * sizeof(int64_t));
    sums.flags = (uint8_t *)memory + name_count * (sizeof(int64_t) + sizeof(uint32_t));
    enum ap_status status = add_gpu(context, &sums, model, root, reterr);
    ap_mem_free(context->gate, memory, bytes);
    return status;
}
