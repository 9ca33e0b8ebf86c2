/* SPDX-License-Identifier: MIT
 * part_trace_memory.c - the allocators' instants of a trace: each device's curve and peak, the requests that failed. Who
 * allocated, and the parts of the steps, stand in files of their own. */
#include "sort.h"
#include "trace_memory.h"

#include "poison.h"

/* A curve is shown by so many runs of instants, of each of which the extremes and the end are kept. */
#define RUNS 49
#define POINTS_OF_RUN 4

static const struct ap_memory_event *instant_at(const struct ap_trace_memory *memory, uint32_t instant)
{
    return &memory->trace->memory_instants[instant];
}

static void add_instant_time(const struct ap_trace_memory *memory, uint32_t instant, const char *key, struct ap_model *model,
                             struct ap_value *to)
{
    if (instant == AP_NO_INSTANT)
        ap_add_null(model, to, key);
    else
        ap_add_time(model, to, key, instant_at(memory, instant)->start_ns);
}

/* Of a GPU as the header describes it; -1 = not told. */
static int64_t capacity_of(const struct ap_trace *trace, const struct ap_memory_device *device)
{
    const char *type = ap_memory_device_type_name(device->type);
    if (!ap_text_is(AP_TEXT("cuda"), type) && !ap_text_is(AP_TEXT("hip"), type))
        return -1;
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == device->id && trace->devices[i].memory_bytes > 0)
            return trace->devices[i].memory_bytes;
    return -1;
}

/* What counts against the capacity: reserved, else allocated. */
static int64_t peak_held(const struct ap_memory_device *device)
{
    return device->peak_reserved_bytes >= 0 ? device->peak_reserved_bytes : device->relative ? -1 : device->peak_bytes;
}

static void add_device_id(const struct ap_memory_device *device, struct ap_model *model, struct ap_value *to)
{
    ap_add_string(model, to, "device_type", ap_memory_device_type_name(device->type));
    ap_add_known_count(model, to, "device_id", device->id >= 0, device->id);
}

static void add_peak_figures(const struct ap_trace_memory *memory, const struct ap_memory_device *device,
                             struct ap_model *model, struct ap_value *to)
{
    int64_t capacity = capacity_of(memory->trace, device), held = peak_held(device);
    int64_t reserved = ap_memory_level_after(memory, device, device->peak).reserved_bytes;
    bool has_slack = !device->relative && reserved >= 0;
    ap_add_known_bytes(model, to, "peak_allocated_bytes", !device->relative, device->peak_bytes);
    ap_add_bytes(model, to, "peak_at_least_bytes", ap_memory_peak_at_least(device));
    ap_add_bytes(model, to, "peak_over_start_bytes", device->peak_bytes - device->start_bytes);
    add_instant_time(memory, device->peak, "peak_allocated_at_us", model, to);
    ap_add_known_bytes(model, to, "peak_reserved_bytes", device->peak_reserved_bytes >= 0, device->peak_reserved_bytes);
    ap_add_known_bytes(model, to, "slack_at_peak_bytes", has_slack, reserved - device->peak_bytes);
    ap_add_quotient(model, to, "slack_at_peak_ratio", (double)(reserved - device->peak_bytes),
                    has_slack ? (double)reserved : 0);
    ap_add_known_bytes(model, to, "capacity_bytes", capacity >= 0, capacity);
    ap_add_quotient(model, to, "peak_capacity_ratio", (double)held, held >= 0 && capacity > 0 ? (double)capacity : 0);
}

/* ------------------------------------------------------------------------------------------------------- timeline */

static void add_point(const struct ap_trace_memory *memory, const struct ap_memory_device *device, uint32_t instant,
                      struct ap_model *model, struct ap_value *list)
{
    struct ap_value *point = ap_add_object(model, list, NULL);
    struct ap_memory_level level = ap_memory_level_after(memory, device, instant);
    add_instant_time(memory, instant, "at_us", model, point);
    ap_add_bytes(model, point, "allocated_bytes", level.allocated_bytes);
    ap_add_known_bytes(model, point, "reserved_bytes", level.reserved_bytes >= 0, level.reserved_bytes);
}

/* The places of the least and the most allocated, the most reserved, and the last; each once, in order. */
static size_t choose_points(const struct ap_trace_memory *memory, const uint32_t *instants, size_t count,
                            size_t places[POINTS_OF_RUN])
{
    size_t least = 0, most = 0, most_reserved = 0, chosen = 0;
    for (size_t i = 1; i < count; i++) {
        least = ap_memory_after(memory, instants[i]) < ap_memory_after(memory, instants[least]) ? i : least;
        most = ap_memory_after(memory, instants[i]) > ap_memory_after(memory, instants[most]) ? i : most;
        most_reserved = instant_at(memory, instants[i])->total_reserved_bytes >
                                instant_at(memory, instants[most_reserved])->total_reserved_bytes
                            ? i
                            : most_reserved;
    }
    size_t wanted[POINTS_OF_RUN] = { least, most, most_reserved, count - 1 };
    for (size_t at = 0; at < POINTS_OF_RUN; at++) {
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < POINTS_OF_RUN; i++)
            if ((!chosen || wanted[i] > places[chosen - 1]) && wanted[i] < next)
                next = wanted[i];
        if (next == SIZE_MAX)
            break;
        places[chosen++] = next;
    }
    return chosen;
}

static void add_timeline(const struct ap_trace_memory *memory, const struct ap_memory_device *device, struct ap_model *model,
                         struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "timeline");
    const uint32_t *instants = memory->by_device + device->first;
    if (device->count <= (size_t)RUNS * POINTS_OF_RUN) {
        for (size_t i = 0; i < device->count; i++)
            add_point(memory, device, instants[i], model, list);
        return;
    }
    for (size_t run = 0; run < RUNS; run++) {
        size_t from = device->count / RUNS * run + device->count % RUNS * run / RUNS, places[POINTS_OF_RUN];
        size_t to_place = device->count / RUNS * (run + 1) + device->count % RUNS * (run + 1) / RUNS;
        size_t count = choose_points(memory, instants + from, to_place - from, places);
        for (size_t i = 0; i < count; i++)
            add_point(memory, device, instants[from + places[i]], model, list);
    }
}

/* -------------------------------------------------------------------------------------------------------- devices */

static void add_name_of_row(const struct ap_trace *trace, uint32_t row, const char *key, struct ap_model *model,
                            struct ap_value *to)
{
    if (row == AP_NO_ROW)
        ap_add_null(model, to, key);
    else
        ap_add_text(model, to, key, ap_row_name(trace, row));
}

/* What ran when the instant came. */
static void add_moment(const struct ap_trace_memory *memory, const struct ap_part_context *context, uint32_t instant,
                       struct ap_model *model, struct ap_value *to)
{
    const struct ap_memory_event *event = instant_at(memory, instant);
    size_t step = ap_step_at(&context->facts->steps, event->start_ns);
    uint32_t module = memory->module_of[instant];
    char path[AP_MEMORY_PATH_BYTES];
    ap_add_known_count(model, to, "step", step < context->facts->steps.count, (int64_t)step);
    ap_add_string(model, to, "phase", ap_memory_part_name(context, (enum ap_memory_part)memory->part_of[instant]));
    add_name_of_row(memory->trace, memory->owner_row[instant], "operator", model, to);
    if (module == AP_PAIR_NONE)
        ap_add_null(model, to, "module");
    else
        ap_add_text(model, to, "module", ap_memory_module_path(memory, module, path, sizeof(path)));
    ap_add_time(model, to, "start_us", event->start_ns);
    ap_add_time(model, to, "dur_us", 0);
    ap_add_track(memory->trace, event->track, model, to);
}

static void add_device(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                       const struct ap_memory_device *device, struct ap_model *model, struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    add_device_id(device, model, row);
    ap_add_bool(model, row, "relative", device->relative);
    ap_add_count(model, row, "events", (int64_t)device->count);
    add_peak_figures(memory, device, model, row);
    ap_add_bytes(model, row, "start_allocated_bytes", device->start_bytes);
    ap_add_bytes(model, row, "end_allocated_bytes", device->end_bytes);
    ap_add_count(model, row, "allocations", (int64_t)device->allocations);
    ap_add_count(model, row, "frees", (int64_t)device->frees);
    ap_add_bytes(model, row, "allocated_sum_bytes", device->allocated_sum_bytes);
    ap_add_bytes(model, row, "freed_sum_bytes", device->freed_sum_bytes);
    ap_add_count(model, row, "unexplained_changes", (int64_t)device->unexplained);
    if (device->peak == AP_NO_INSTANT)
        ap_add_null(model, row, "peak");
    else
        add_moment(memory, context, device->peak, model, ap_add_object(model, row, "peak"));
    add_timeline(memory, device, model, row);
}

/* The main one first, then by size. */
static bool shown_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ap_trace_memory *memory = data;
    if ((a == memory->main_device) != (b == memory->main_device))
        return a == memory->main_device;
    int64_t x = ap_memory_peak_at_least(&memory->devices[a]), y = ap_memory_peak_at_least(&memory->devices[b]);
    return x != y ? x > y : a < b;
}

static enum ap_status add_devices(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                                  struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "devices");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, memory->device_map.count, context->options->top_n, shown_before, memory, &order,
                          &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_device(memory, context, &memory->devices[order[i]], model, list);
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

/* The figures that rules name. */
static void add_gpu(const struct ap_trace_memory *memory, const struct ap_part_context *context, struct ap_model *model,
                    struct ap_value *to)
{
    const struct ap_memory_device *device = &memory->devices[memory->main_device];
    if (device->type <= 0) {
        ap_add_null(model, to, "gpu");
        return;
    }
    struct ap_value *gpu = ap_add_object(model, to, "gpu");
    add_device_id(device, model, gpu);
    add_peak_figures(memory, device, model, gpu);
    ap_trace_memory_add_step_figures(memory, context, model, gpu);
}

/* -------------------------------------------------------------------------------------------------- out of memory */

static void add_out_of_memory(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                              struct ap_model *model, struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "out_of_memory");
    uint64_t shown = 0;
    for (uint32_t i = 0; i < memory->count && (!context->options->top_n || shown < context->options->top_n); i++) {
        const struct ap_memory_event *event = instant_at(memory, i);
        const struct ap_memory_device *device = &memory->devices[memory->device_of[i]];
        if (!event->out_of_memory)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        add_device_id(device, model, row);
        ap_add_known_bytes(model, row, "requested_bytes", event->bytes >= 0, event->bytes);
        ap_add_known_bytes(model, row, "allocated_bytes", event->total_allocated_bytes >= 0, event->total_allocated_bytes);
        ap_add_known_bytes(model, row, "reserved_bytes", event->total_reserved_bytes >= 0, event->total_reserved_bytes);
        int64_t capacity = capacity_of(memory->trace, device);
        ap_add_known_bytes(model, row, "capacity_bytes", capacity >= 0, capacity);
        add_moment(memory, context, i, model, row);
        shown++;
    }
}

static enum ap_status report(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                             struct ap_model *model, struct ap_value *root, struct ap_error *reterr)
{
    struct ap_value *to = ap_add_object(model, root, "trace_memory");
    ap_add_count(model, to, "events", (int64_t)memory->count);
    add_gpu(memory, context, model, to);
    AP_TRY(add_devices(memory, context, model, to, reterr));
    add_device_id(&memory->devices[memory->main_device], model, ap_add_object(model, to, "main_device"));
    ap_trace_memory_add_steps(memory, context, model, to);
    AP_TRY(ap_trace_memory_add_owners(memory, context, model, to, reterr));
    add_out_of_memory(memory, context, model, to);
    return AP_OK;
}

enum ap_status ap_part_trace_memory(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                    struct ap_error *reterr)
{
    struct ap_trace_memory memory = { .gate = context->gate };
    if (!context->trace->memory_instant_count) {
        ap_add_null(model, root, "trace_memory");
        return AP_OK;
    }
    enum ap_status status = ap_trace_memory_init(&memory, context->trace, context->gate, reterr);
    AP_AND_THEN(status, ap_trace_memory_attribute(&memory, context, reterr));
    if (status == AP_OK) {
        ap_trace_memory_measure_steps(&memory);
        status = report(&memory, context, model, root, reterr);
    }
    ap_trace_memory_release(&memory);
    return status;
}
