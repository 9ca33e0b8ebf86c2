/* SPDX-License-Identifier: MIT
 * report_memory_owners.c - the operators and modules that allocated most, of each device. */
#include "sort.h"
#include "trace_memory.h"

#include "poison.h"

struct owner {
    uint32_t key; /* name of an operator, number of a module */
    uint32_t device;
    uint64_t allocations, frees;
    int64_t allocated_bytes, freed_bytes, largest_bytes;
    int64_t alive_at_peak_bytes, alive_at_end_bytes;
    uint32_t largest; /* instant; AP_NO_INSTANT = it only freed */
    uint32_t row;     /* one of that name; AP_NO_ROW = outside all */
};

enum owner_kind { BY_OPERATOR, BY_CALLER, BY_MODULE };

static const char *const list_keys[] = { [BY_OPERATOR] = "operators", [BY_CALLER] = "callers", [BY_MODULE] = "modules" };

struct owners {
    enum owner_kind kind;
    const struct ap_trace_memory *memory;
    struct ap_pair_map map;
    struct owner *owners;
    size_t capacity;
};

static void owners_release(struct owners *owners)
{
    AP_FREE(owners->map.gate, owners->owners, owners->capacity);
    ap_pair_map_release(&owners->map);
}

static void add_instant(struct owners *owners, struct owner *owner, uint32_t instant)
{
    const struct ap_memory_event *event = &owners->memory->trace->memory_instants[instant];
    if (event->bytes <= 0) {
        owner->frees += event->bytes < 0;
        owner->freed_bytes = ap_add_memory(owner->freed_bytes, -event->bytes);
        return;
    }
    owner->allocations++;
    owner->allocated_bytes = ap_add_memory(owner->allocated_bytes, event->bytes);
    if (owners->memory->alive[instant] & AP_ALIVE_AT_PEAK)
        owner->alive_at_peak_bytes = ap_add_memory(owner->alive_at_peak_bytes, event->bytes);
    if (owners->memory->alive[instant] & AP_ALIVE_AT_END)
        owner->alive_at_end_bytes = ap_add_memory(owner->alive_at_end_bytes, event->bytes);
    if (event->bytes > owner->largest_bytes) {
        owner->largest_bytes = event->bytes;
        owner->largest = instant;
    }
}

static uint32_t row_of(const struct owners *owners, uint32_t instant)
{
    return owners->kind == BY_CALLER ? owners->memory->caller_row[instant] : owners->memory->owner_row[instant];
}

static uint32_t key_of(const struct owners *owners, uint32_t instant)
{
    uint32_t row = row_of(owners, instant);
    if (owners->kind == BY_MODULE)
        return owners->memory->module_of[instant];
    return row == AP_NO_ROW ? 0 : owners->memory->trace->events.name[row];
}

static enum ap_status count_instant(struct owners *owners, uint32_t instant, struct ap_error *reterr)
{
    const struct ap_trace_memory *memory = owners->memory;
    uint32_t key = key_of(owners, instant);
    uint32_t number, device = memory->device_of[instant], before = owners->map.count;
    AP_TRY(ap_pair_map_add(&owners->map, key, device, &number, reterr));
    if (number == before) {
        AP_TRY(AP_RESERVE(memory->gate, owners->owners, owners->capacity, (size_t)number + 1, reterr));
        owners->owners[number] =
            (struct owner){ .key = key, .device = device, .largest = AP_NO_INSTANT, .row = row_of(owners, instant) };
    }
    add_instant(owners, &owners->owners[number], instant);
    return AP_OK;
}

static enum ap_status count_owners(struct owners *owners, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < owners->memory->count; i++)
        if (!owners->memory->trace->memory_instants[i].out_of_memory)
            AP_TRY(count_instant(owners, i, reterr));
    return AP_OK;
}

/* The main device first; the largest first. */
static bool owner_before(const void *data, uint32_t a, uint32_t b)
{
    const struct owners *owners = data;
    const struct owner *x = &owners->owners[a], *y = &owners->owners[b];
    uint32_t main_device = owners->memory->main_device;
    if (x->device != y->device)
        return x->device == main_device || (y->device != main_device && x->device < y->device);
    AP_LARGER_FIRST(x->allocated_bytes, y->allocated_bytes);
    return x->freed_bytes != y->freed_bytes ? x->freed_bytes > y->freed_bytes : x->key < y->key;
}

/* ---------------------------------------------------------------------------------------------------------- output */

static void add_largest(const struct owners *owners, const struct owner *owner, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_memory *memory = owners->memory;
    if (owner->largest == AP_NO_INSTANT) {
        ap_add_null(model, to, "largest");
        return;
    }
    const struct ap_memory_event *event = &memory->trace->memory_instants[owner->largest];
    struct ap_value *largest = ap_add_object(model, to, "largest");
    ap_add_bytes(model, largest, "bytes", owner->largest_bytes);
    ap_add_time(model, largest, "at_us", event->start_ns);
    if (row_of(owners, owner->largest) != AP_NO_ROW) {
        ap_add_place(memory->trace, row_of(owners, owner->largest), model, largest);
        return;
    }
    ap_add_time(model, largest, "start_us", event->start_ns);
    ap_add_time(model, largest, "dur_us", 0);
    ap_add_track(memory->trace, event->track, model, largest);
}

static void add_figures(const struct owners *owners, const struct owner *owner, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_memory *memory = owners->memory;
    const struct ap_memory_device *device = &memory->devices[owner->device];
    ap_add_string(model, to, "device_type", ap_memory_device_type_name(device->type));
    ap_add_known_count(model, to, "device_id", device->id >= 0, device->id);
    ap_add_count(model, to, "allocations", (int64_t)owner->allocations);
    ap_add_count(model, to, "frees", (int64_t)owner->frees);
    ap_add_bytes(model, to, "allocated_bytes", owner->allocated_bytes);
    ap_add_bytes(model, to, "freed_bytes", owner->freed_bytes);
    ap_add_bytes(model, to, "net_bytes", owner->allocated_bytes - owner->freed_bytes);
    ap_add_quotient(model, to, "allocated_share_ratio", (double)owner->allocated_bytes, (double)device->allocated_sum_bytes);
    if (device->has_addresses) {
        ap_add_bytes(model, to, "alive_at_peak_bytes", owner->alive_at_peak_bytes);
        ap_add_bytes(model, to, "alive_at_end_bytes", owner->alive_at_end_bytes);
    } else {
        ap_add_null(model, to, "alive_at_peak_bytes");
        ap_add_null(model, to, "alive_at_end_bytes");
    }
    add_largest(owners, owner, model, to);
}

static void add_operator(const struct owners *owners, const struct owner *owner, struct ap_model *model,
                         struct ap_value *list)
{
    const struct ap_trace_memory *memory = owners->memory;
    struct ap_value *row = ap_add_object(model, list, NULL);
    if (owner->row == AP_NO_ROW) {
        ap_add_null(model, row, "name");
        ap_add_null(model, row, "kind");
    } else {
        ap_add_text(model, row, "name", ap_row_name(memory->trace, owner->row));
        ap_add_string(model, row, "kind", ap_event_kind_name(ap_row_kind(memory->trace->events.tag[owner->row])));
    }
    add_figures(owners, owner, model, row);
}

/* Whole names only, so that it is text. */
struct ap_text ap_memory_module_path(const struct ap_trace_memory *memory, uint32_t module, char *buffer, size_t bytes)
{
    size_t from = bytes;
    struct ap_text innermost = ap_strpool_text(&memory->classes, (struct ap_str){ memory->modules[module].class_id });
    for (; module != AP_PAIR_NONE; module = memory->modules[module].parent) {
        struct ap_text name = ap_strpool_text(&memory->classes, (struct ap_str){ memory->modules[module].class_id });
        size_t needed = name.bytes + (from < bytes);
        if (needed > from)
            break;
        if (from < bytes)
            buffer[--from] = '/';
        from -= name.bytes;
        if (name.bytes)
            memcpy(buffer + from, name.data, name.bytes);
    }
    return from < bytes ? (struct ap_text){ buffer + from, bytes - from } : innermost;
}

static void add_module(const struct owners *owners, const struct owner *owner, struct ap_model *model, struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    char buffer[AP_MEMORY_PATH_BYTES];
    if (owner->key == AP_PAIR_NONE)
        ap_add_null(model, row, "path");
    else
        ap_add_text(model, row, "path", ap_memory_module_path(owners->memory, owner->key, buffer, sizeof(buffer)));
    add_figures(owners, owner, model, row);
}

static enum ap_status show_list(const struct owners *owners, uint64_t top_n, struct ap_model *model, struct ap_value *list,
                                struct ap_error *reterr)
{
    uint32_t *order, device = UINT32_MAX;
    size_t count;
    uint64_t shown = 0;
    AP_TRY(ap_top_indices(owners->map.gate, owners->map.count, 0, owner_before, owners, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct owner *owner = &owners->owners[order[i]];
        shown = owner->device == device ? shown + 1 : 1;
        device = owner->device;
        if (top_n && shown > top_n)
            continue;
        if (owners->kind == BY_MODULE)
            add_module(owners, owner, model, list);
        else
            add_operator(owners, owner, model, list);
    }
    AP_FREE(owners->map.gate, order, count);
    return AP_OK;
}

static enum ap_status report_list(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                                  enum owner_kind kind, struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    struct owners owners = { .kind = kind, .memory = memory, .map = { .gate = memory->gate } };
    struct ap_value *list = ap_add_list(model, to, list_keys[kind]);
    enum ap_status status = count_owners(&owners, reterr);
    AP_AND_THEN(status, show_list(&owners, context->options->top_n, model, list, reterr));
    owners_release(&owners);
    return status;
}

enum ap_status ap_trace_memory_add_owners(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                                          struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    AP_TRY(report_list(memory, context, BY_OPERATOR, model, to, reterr));
    AP_TRY(report_list(memory, context, BY_CALLER, model, to, reterr));
    if (memory->module_map.count)
        return report_list(memory, context, BY_MODULE, model, to, reterr);
    ap_add_null(model, to, "modules");
    return AP_OK;
}
