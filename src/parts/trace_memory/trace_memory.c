/* SPDX-License-Identifier: MIT
 * trace_memory.c - the devices, how much each held after every instant, and which allocations were held when. */
#include "trace_memory.h"

#include "address_map.h"
#include "sort.h"

#include "poison.h"

#define SUM_LIMIT (INT64_C(1) << 61)

static const char *const type_names[] = { "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
                                          "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
                                          "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone" };

const char *ap_memory_device_type_name(int type)
{
    return type >= 0 && (size_t)type < AP_COUNT_OF(type_names) ? type_names[type] : "unknown";
}

int64_t ap_add_memory(int64_t a, int64_t b)
{
    int64_t sum = a + b; /* both within the limit */
    return sum > SUM_LIMIT ? SUM_LIMIT : sum < -SUM_LIMIT ? -SUM_LIMIT : sum;
}

/* --------------------------------------------------------------------------------------------------------- orders */

static const struct ap_memory_event *instant_at(const struct ap_trace_memory *memory, uint32_t instant)
{
    return &memory->trace->memory_instants[instant];
}

static bool earlier(const struct ap_trace_memory *memory, uint32_t a, uint32_t b)
{
    int64_t x = instant_at(memory, a)->start_ns, y = instant_at(memory, b)->start_ns;
    return x != y ? x < y : a < b;
}

static bool device_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ap_trace_memory *memory = data;
    AP_SMALLER_FIRST(memory->device_of[a], memory->device_of[b]);
    return earlier(memory, a, b);
}

static bool track_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ap_trace_memory *memory = data;
    uint32_t x = instant_at(memory, a)->track, y = instant_at(memory, b)->track;
    return x != y ? x < y : earlier(memory, a, b);
}

struct column {
    void **column;
    size_t bytes;
    int fill;
};

static enum ap_status new_columns(struct ap_trace_memory *memory, const struct column *columns, size_t count,
                                  struct ap_error *reterr)
{
    for (size_t i = 0; i < count; i++) {
        *columns[i].column = ap_mem_resize(memory->gate, NULL, 0, memory->count * columns[i].bytes);
        if (!*columns[i].column)
            return ap_fail_memory(memory->gate, reterr);
        memset(*columns[i].column, columns[i].fill, memory->count * columns[i].bytes);
    }
    return AP_OK;
}

static enum ap_status new_curve_columns(struct ap_trace_memory *memory, struct ap_error *reterr)
{
    const struct column columns[] = {
        { (void **)&memory->by_device, sizeof(memory->by_device[0]), 0 },
        { (void **)&memory->device_of, sizeof(memory->device_of[0]), 0 },
        { (void **)&memory->alive, sizeof(memory->alive[0]), 0 },
    };
    return new_columns(memory, columns, AP_COUNT_OF(columns), reterr);
}

/* What does not tell what is held after it leaves that to the instants before it. */
static enum ap_status new_totals(struct ap_trace_memory *memory, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < memory->count; i++) {
        const struct ap_memory_event *event = instant_at(memory, i);
        if (memory->devices[memory->device_of[i]].relative || event->out_of_memory || event->total_allocated_bytes < 0)
            return AP_ALLOC(memory->gate, memory->allocated_bytes, memory->count, reterr);
    }
    return AP_OK;
}

static enum ap_status new_owner_columns(struct ap_trace_memory *memory, struct ap_error *reterr)
{
    const struct column columns[] = {
        { (void **)&memory->owner_row, sizeof(memory->owner_row[0]), 0xff },
        { (void **)&memory->caller_row, sizeof(memory->caller_row[0]), 0xff },
        { (void **)&memory->module_of, sizeof(memory->module_of[0]), 0xff },
        { (void **)&memory->part_of, sizeof(memory->part_of[0]), AP_MEMORY_other },
    };
    return new_columns(memory, columns, AP_COUNT_OF(columns), reterr);
}

static enum ap_status find_devices(struct ap_trace_memory *memory, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < memory->count; i++) {
        const struct ap_memory_event *event = instant_at(memory, i);
        uint32_t number, before = memory->device_map.count;
        AP_TRY(ap_pair_map_add(&memory->device_map, (uint32_t)(event->device_type + 1), (uint32_t)(event->device_id + 1),
                               &number, reterr));
        if (number == before) {
            AP_TRY(AP_RESERVE(memory->gate, memory->devices, memory->device_capacity, (size_t)number + 1, reterr));
            memory->devices[number] = (struct ap_memory_device){ .type = event->device_type,
                                                                 .id = event->device_id,
                                                                 .relative = true,
                                                                 .peak = AP_NO_INSTANT,
                                                                 .peak_reserved_bytes = -1 };
        }
        memory->device_of[i] = number;
        memory->by_device[i] = i;
    }
    return AP_OK;
}

static void find_slices(struct ap_trace_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++) {
        struct ap_memory_device *device = &memory->devices[memory->device_of[memory->by_device[i]]];
        if (!device->count++)
            device->first = i;
    }
}

/* --------------------------------------------------------------------------------------------------------- curves */

/* Before the first total that is told, sizes count; so it tells where the curve begins. Totals that are all 0 are none. */
static void find_start(struct ap_trace_memory *memory, struct ap_memory_device *device)
{
    int64_t sum = 0;
    for (size_t i = 0; i < device->count; i++) {
        const struct ap_memory_event *event = instant_at(memory, memory->by_device[device->first + i]);
        if (event->total_allocated_bytes > 0)
            device->relative = false;
        if (event->total_reserved_bytes > 0)
            device->peak_reserved_bytes = 0;
    }
    if (device->relative)
        return;
    for (size_t i = 0; i < device->count; i++) {
        const struct ap_memory_event *event = instant_at(memory, memory->by_device[device->first + i]);
        sum = event->out_of_memory ? sum : ap_add_memory(sum, event->bytes);
        if (event->total_allocated_bytes >= 0) {
            device->start_bytes = ap_add_memory(event->total_allocated_bytes, -sum);
            return;
        }
    }
}

static void count_event(struct ap_memory_device *device, const struct ap_memory_event *event)
{
    if (event->bytes > 0) {
        device->allocations++;
        device->allocated_sum_bytes = ap_add_memory(device->allocated_sum_bytes, event->bytes);
    } else if (event->bytes < 0) {
        device->frees++;
        device->freed_sum_bytes = ap_add_memory(device->freed_sum_bytes, -event->bytes);
    }
    device->has_addresses |= event->address != 0;
}

static int64_t next_value(struct ap_memory_device *device, const struct ap_memory_event *event, int64_t value)
{
    int64_t expected = ap_add_memory(value, event->bytes);
    if (device->relative || event->total_allocated_bytes < 0)
        return expected;
    device->unexplained += event->total_allocated_bytes != expected;
    return event->total_allocated_bytes;
}

static void draw_curve(struct ap_trace_memory *memory, struct ap_memory_device *device)
{
    int64_t value = device->peak_bytes = device->floor_bytes = device->start_bytes;
    for (size_t i = 0; i < device->count; i++) {
        uint32_t instant = memory->by_device[device->first + i];
        const struct ap_memory_event *event = instant_at(memory, instant);
        if (event->out_of_memory) {
            device->out_of_memory++;
        } else {
            value = next_value(device, event, value);
            count_event(device, event);
        }
        if (memory->allocated_bytes)
            memory->allocated_bytes[instant] = value;
        if (value > device->peak_bytes) {
            device->peak_bytes = value;
            device->peak = instant;
        }
        device->floor_bytes = value < device->floor_bytes ? value : device->floor_bytes;
        if (device->peak_reserved_bytes >= 0 && event->total_reserved_bytes > device->peak_reserved_bytes)
            device->peak_reserved_bytes = event->total_reserved_bytes;
    }
    device->end_bytes = value;
}

static bool is_before_as_main(const struct ap_memory_device *a, const struct ap_memory_device *b)
{
    bool is_cpu = a->type <= 0, other_is_cpu = b->type <= 0;
    if (is_cpu != other_is_cpu)
        return other_is_cpu;
    return ap_memory_peak_at_least(a) > ap_memory_peak_at_least(b);
}

/* ---------------------------------------------------------------------------------------------------------- alive */

/* An allocation ends at the next instant of its address, which is its release. @held: by address, the instant of the
 * allocation that it holds. */
static enum ap_status follow_address(struct ap_trace_memory *memory, struct ap_address_map *held, uint32_t instant,
                                     bool is_after_peak, struct ap_error *reterr)
{
    const struct ap_memory_event *event = instant_at(memory, instant);
    if (!event->address || !event->bytes)
        return AP_OK;
    uint32_t before = ap_address_map_take(held, event->address);
    if (before != AP_NOT_MAPPED)
        memory->alive[before] = (uint8_t)(is_after_peak ? memory->alive[before] & AP_ALIVE_AT_PEAK : 0);
    if (event->bytes < 0)
        return AP_OK;
    memory->alive[instant] = is_after_peak ? AP_ALIVE_AT_END : AP_ALIVE_AT_END | AP_ALIVE_AT_PEAK;
    return ap_address_map_set(held, event->address, instant, reterr);
}

static enum ap_status follow_addresses(struct ap_trace_memory *memory, const struct ap_memory_device *device,
                                       struct ap_error *reterr)
{
    struct ap_address_map held;
    bool is_after_peak = device->peak == AP_NO_INSTANT;
    enum ap_status status = AP_OK;
    ap_address_map_init(&held, memory->gate);
    for (size_t i = 0; i < device->count && status == AP_OK; i++) {
        uint32_t instant = memory->by_device[device->first + i];
        status = follow_address(memory, &held, instant, is_after_peak, reterr);
        is_after_peak |= instant == device->peak;
    }
    ap_address_map_release(&held);
    return status;
}

static enum ap_status draw_curves(struct ap_trace_memory *memory, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < memory->device_map.count; i++)
        find_start(memory, &memory->devices[i]);
    AP_TRY(new_totals(memory, reterr));
    for (uint32_t i = 0; i < memory->device_map.count; i++) {
        draw_curve(memory, &memory->devices[i]);
        if (is_before_as_main(&memory->devices[i], &memory->devices[memory->main_device]))
            memory->main_device = i;
        if (memory->devices[i].has_addresses)
            AP_TRY(follow_addresses(memory, &memory->devices[i], reterr));
    }
    return AP_OK;
}

static enum ap_status order_by_track(struct ap_trace_memory *memory, struct ap_error *reterr)
{
    size_t in_order = 1;
    while (in_order < memory->count && track_before(memory, memory->by_device[in_order - 1], memory->by_device[in_order]))
        in_order++;
    if (in_order >= memory->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(memory->gate, memory->by_track, memory->count, reterr));
    for (uint32_t i = 0; i < memory->count; i++)
        memory->by_track[i] = i;
    return ap_sort_list(memory->gate, memory->by_track, memory->count, track_before, memory, reterr);
}

/* The columns of owners are made when the tables of addresses are gone, and what sorting takes. */
enum ap_status ap_trace_memory_init(struct ap_trace_memory *memory, const struct ap_trace *trace, struct ap_gate *gate,
                                    struct ap_error *reterr)
{
    *memory = (struct ap_trace_memory){ .gate = gate, .trace = trace, .count = trace->memory_instant_count };
    memory->device_map.gate = memory->module_map.gate = gate;
    ap_strpool_init(&memory->classes, gate);
    AP_TRY(new_curve_columns(memory, reterr));
    AP_TRY(find_devices(memory, reterr));
    AP_TRY(ap_sort_list(gate, memory->by_device, memory->count, device_before, memory, reterr));
    find_slices(memory);
    AP_TRY(draw_curves(memory, reterr));
    AP_TRY(order_by_track(memory, reterr));
    return new_owner_columns(memory, reterr);
}

static void free_column(struct ap_trace_memory *memory, void *column, size_t element_bytes)
{
    ap_mem_free(memory->gate, column, memory->count * element_bytes);
}

void ap_trace_memory_release(struct ap_trace_memory *memory)
{
    free_column(memory, memory->by_device, sizeof(memory->by_device[0]));
    free_column(memory, memory->by_track, sizeof(memory->by_track[0]));
    free_column(memory, memory->device_of, sizeof(memory->device_of[0]));
    free_column(memory, memory->owner_row, sizeof(memory->owner_row[0]));
    free_column(memory, memory->caller_row, sizeof(memory->caller_row[0]));
    free_column(memory, memory->module_of, sizeof(memory->module_of[0]));
    free_column(memory, memory->part_of, sizeof(memory->part_of[0]));
    free_column(memory, memory->alive, sizeof(memory->alive[0]));
    free_column(memory, memory->allocated_bytes, sizeof(memory->allocated_bytes[0]));
    ap_pair_map_release(&memory->device_map);
    ap_pair_map_release(&memory->module_map);
    ap_strpool_release(&memory->classes);
    AP_FREE(memory->gate, memory->devices, memory->device_capacity);
    AP_FREE(memory->gate, memory->modules, memory->module_capacity);
    AP_FREE(memory->gate, memory->steps, memory->step_count);
    *memory = (struct ap_trace_memory){ .gate = memory->gate };
}
