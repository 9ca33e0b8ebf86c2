/* SPDX-License-Identifier: MIT
 * trace_memory.h - what the allocators' instants in a trace tell: how much each device held at any time, who allocated it,
 * in which part of which step. Knows no snapshots. */
#ifndef AP_TRACE_MEMORY_H
#define AP_TRACE_MEMORY_H

#include "part.h"
#include "pair_map.h"

#define AP_NO_INSTANT UINT32_MAX

/** Parts of a step as memory is looked at: the phases, but the loss apart from forward, and apart from both what copies or
 *  makes the input on the device: that comes before the first other operator. */
enum ap_memory_part {
    AP_MEMORY_data,
    AP_MEMORY_forward,
    AP_MEMORY_loss,
    AP_MEMORY_backward,
    AP_MEMORY_optimizer,
    AP_MEMORY_zero_grad,
    AP_MEMORY_SPAN_COUNT_, /* those before it have a begin and an end in a step */
    AP_MEMORY_communication = AP_MEMORY_SPAN_COUNT_,
    AP_MEMORY_other,
    AP_MEMORY_PART_COUNT_
};

struct ap_memory_level {
    int64_t allocated_bytes;
    int64_t reserved_bytes; /* -1 = not told */
};

struct ap_memory_device {
    int8_t type;
    int16_t id;
    bool relative; /* no totals are told: the curve begins with 0, what was held before is not known */
    bool has_addresses;
    size_t first, count; /* its instants: by_device[first ..] */
    int64_t start_bytes, end_bytes;
    int64_t peak_bytes, floor_bytes; /* the start included */
    uint32_t peak;                   /* instant; AP_NO_INSTANT = the start is the peak */
    int64_t peak_reserved_bytes;     /* -1 = not told */
    int64_t allocated_sum_bytes, freed_sum_bytes;
    uint64_t allocations, frees, out_of_memory;
    uint64_t unexplained; /* totals that differ from the one before by another size than was allocated or freed */
};

/** nn.Modules by class: many equal layers are one. */
struct ap_memory_module {
    uint32_t class_id, parent; /* of classes; number of the one around it, AP_PAIR_NONE = outermost */
};

/* Still held */
#define AP_ALIVE_AT_PEAK 1u
#define AP_ALIVE_AT_END 2u

/** How far per-step figures look: profiles hold tens of steps. */
#define AP_MEMORY_STEPS 4096

struct ap_memory_span {
    bool is_seen;
    int64_t start_ns, end_ns;
    struct ap_memory_level start, end;
    int64_t peak_bytes;
};

/** Of the main device; without steps there is one for the whole trace. */
struct ap_memory_step {
    bool counts; /* in figures per step */
    int64_t start_ns, end_ns;
    struct ap_memory_level start, end;
    int64_t floor_bytes, peak_bytes;
    uint32_t peak; /* AP_NO_INSTANT = at its start */
    int64_t churn_bytes, freed_bytes;
    uint64_t allocations, frees;
    struct ap_memory_span spans[AP_MEMORY_SPAN_COUNT_];
};

struct ap_trace_memory {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    size_t count;
    struct ap_pair_map device_map, module_map;
    struct ap_memory_device *devices;
    size_t device_capacity;
    uint32_t main_device; /* the accelerator with the highest peak, else the CPU */
    uint32_t *by_device;  /* instants by device, then time, then file order */
    uint32_t *by_track;   /* by track, then time, then file order; NULL where by_device is in that order, too */
    uint32_t *device_of;  /* by instant */
    uint32_t *owner_row;  /* by instant: innermost operator, else annotation, else line of the user's; AP_NO_ROW = none */
    uint32_t *caller_row; /* by instant: the outermost operator of aten around it, else its owner */
    uint32_t *module_of;  /* by instant: innermost module; AP_PAIR_NONE = none */
    uint8_t *part_of;     /* by instant */
    uint8_t *alive;       /* by instant: of allocations whose addresses are told */
    int64_t *allocated_bytes; /* by instant: of its device, after it; NULL where each tells its total */
    struct ap_strpool classes;
    struct ap_memory_module *modules;
    size_t module_capacity;
    struct ap_memory_step *steps;
    size_t step_count;
};

/** Sums of sizes stop at limits whose differences still fit. */
int64_t ap_add_memory(int64_t a, int64_t b);

/** Finds the devices and their curves. @memory may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_trace_memory_init(struct ap_trace_memory *memory, const struct ap_trace *trace,
                                                  struct ap_gate *gate, struct ap_error *reterr);
void ap_trace_memory_release(struct ap_trace_memory *memory);

/** Fills owner_row, caller_row, module_of, part_of, and where the parts of each step begin and end. */
AP_MUST_CHECK enum ap_status ap_trace_memory_attribute(struct ap_trace_memory *memory, const struct ap_part_context *context,
                                                       struct ap_error *reterr);
/** Fills the rest of steps. */
void ap_trace_memory_measure_steps(struct ap_trace_memory *memory);

/** What its device held after the instant. */
static inline int64_t ap_memory_after(const struct ap_trace_memory *memory, uint32_t instant)
{
    return memory->allocated_bytes ? memory->allocated_bytes[instant]
                                   : memory->trace->memory_instants[instant].total_allocated_bytes;
}

static inline struct ap_memory_level ap_memory_level_after(const struct ap_trace_memory *memory,
                                                           const struct ap_memory_device *device, uint32_t instant)
{
    if (instant == AP_NO_INSTANT)
        return (struct ap_memory_level){ device->start_bytes, -1 };
    return (struct ap_memory_level){ ap_memory_after(memory, instant),
                                     device->peak_reserved_bytes < 0
                                         ? -1
                                         : memory->trace->memory_instants[instant].total_reserved_bytes };
}

/** What the device held at its peak, at least: without totals, what was freed more than allocated was there from the start.
 */
static inline int64_t ap_memory_peak_at_least(const struct ap_memory_device *device)
{
    return device->relative ? device->peak_bytes - device->floor_bytes : device->peak_bytes;
}

/** "cpu", "cuda", ... */
const char *ap_memory_device_type_name(int type);

/* What the pass adds: each file of the report one. */
void ap_trace_memory_add_steps(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                               struct ap_model *model, struct ap_value *to);
/** The figures of the main device that are found from the steps. */
void ap_trace_memory_add_step_figures(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                                      struct ap_model *model, struct ap_value *to);
/** Adds the lists of allocations by operator, by caller and by module; null for modules where none was recorded. */
AP_MUST_CHECK enum ap_status ap_trace_memory_add_owners(const struct ap_trace_memory *memory,
                                                        const struct ap_part_context *context, struct ap_model *model,
                                                        struct ap_value *to, struct ap_error *reterr);
#define AP_MEMORY_PATH_BYTES 400

/** The classes of a module and those around it, outermost first; where they do not fit in the buffer, only the inner ones.
 */
struct ap_text ap_memory_module_path(const struct ap_trace_memory *memory, uint32_t module, char *buffer, size_t bytes);
/** As the report names it; the words depend on whether the trace has a backward pass. */
const char *ap_memory_part_name(const struct ap_part_context *context, enum ap_memory_part part);

#endif
