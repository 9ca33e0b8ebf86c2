/* SPDX-License-Identifier: MIT */
#include "collective_rows.h"

#include <string.h>

#include "cover.h"
#include "sort.h"

#include "poison.h"

/* What a host row's name says, one byte for each name id: the operation in the low bits, and these. */
#define CALL_OPERATION_MASK 0x1fu
#define CALL_LOOKED_AT 0x20u
#define CALL_OF_DEVICE 0x40u /* "nccl:all_reduce", "c10d::allreduce_": asks a device for a collective */
#define CALL_OF_HOST 0x80u   /* "gloo:all_reduce": the collective itself */

_Static_assert(AP_COLLECTIVE_COUNT_ <= CALL_OPERATION_MASK, "one byte holds the operation and what else a name tells");

/* A call stands close above its launch; what is farther up is somebody else's. */
#define MAX_LEVELS_UP 24

struct finder {
    const struct ap_trace *trace;
    const struct ap_host_tree *tree;
    uint8_t *calls;   /* by name id */
    uint8_t *kernels; /* by name id of a kernel: its operation, plus one; 0 = not looked at. Their names are long */
};

/* ---------------------------------------------------------------------------------------------------------- names */

static uint8_t call_of(struct ap_text name)
{
    static const struct {
        const char *prefix;
        uint8_t kind;
    } prefixes[] = {
        { "gloo:", CALL_OF_HOST },        { "mpi:", CALL_OF_HOST },     { "ucc:", CALL_OF_HOST },
        { "nccl:", CALL_OF_DEVICE },      { "rccl:", CALL_OF_DEVICE },  { "hccl:", CALL_OF_DEVICE },
        { "xccl:", CALL_OF_DEVICE },      { "c10d::", CALL_OF_DEVICE }, { "_c10d_functional::", CALL_OF_DEVICE },
        { "symm_mem::", CALL_OF_DEVICE },
    };
    for (size_t i = 0; i < AP_COUNT_OF(prefixes); i++) {
        size_t bytes = strlen(prefixes[i].prefix);
        if (!ap_text_starts_with(name, prefixes[i].prefix))
            continue;
        enum ap_collective_operation operation =
            ap_collective_operation_of((struct ap_text){ name.data + bytes, name.bytes - bytes });
        return (uint8_t)(CALL_LOOKED_AT | (operation == AP_COLLECTIVE_unknown ? 0 : prefixes[i].kind) | operation);
    }
    return CALL_LOOKED_AT | AP_COLLECTIVE_unknown;
}

static uint8_t call_of_row(const struct finder *finder, uint32_t row)
{
    uint32_t name = finder->trace->events.name[row];
    if (!finder->calls[name])
        finder->calls[name] = call_of(ap_trace_text(finder->trace, name));
    return finder->calls[name];
}

/* ---------------------------------------------------------------------------------------------------------- sizes */

/* A wait moves nothing. */
static uint32_t told_by(const struct ap_trace *trace, uint32_t row)
{
    uint32_t number = ap_row_collective_number(trace, row);
    const struct ap_str *name = number == AP_NO_ROW ? NULL : &ap_trace_collective(trace, number)->name;
    return name && !ap_text_is(ap_strpool_text(&trace->strings, *name), "wait") ? number : AP_NO_ROW;
}

static void take_told(const struct finder *finder, struct ap_collective_row *to, uint32_t number)
{
    const struct ap_strpool *strings = &finder->trace->strings;
    const struct ap_collective *told = ap_trace_collective(finder->trace, number);
    to->details = number;
    enum ap_collective_operation operation = ap_collective_operation_of(ap_strpool_text(strings, told->name));
    if (operation != AP_COLLECTIVE_unknown)
        to->operation = (uint8_t)operation;
    to->dtype = (uint8_t)ap_collective_dtype_of(ap_strpool_text(strings, told->dtype));
    to->group_size = told->group_size > 0 && told->group_size <= INT32_MAX ? (int32_t)told->group_size : 0;
    to->bytes = ap_collective_bytes(to->operation, told->in_elements, told->out_elements, to->group_size, to->dtype);
}

/* Calls with recorded shapes tell their size where no args do. */
static void take_call(const struct finder *finder, struct ap_collective_row *to, uint32_t row)
{
    uint8_t call = call_of_row(finder, row);
    if (!(call & (CALL_OF_DEVICE | CALL_OF_HOST)))
        return;
    if (to->operation == AP_COLLECTIVE_unknown || to->operation == AP_COLLECTIVE_sendrecv)
        to->operation = call & CALL_OPERATION_MASK;
    const struct ap_op_detail *op = ap_row_op(finder->trace, row);
    struct ap_text dims, types;
    int64_t elements;
    unsigned dtype;
    if (to->dtype || !op || !op->signature.id)
        return;
    ap_trace_signature(finder->trace, op->signature, &dims, &types);
    if (!ap_collective_first_input(dims, types, &elements, &dtype))
        return;
    to->dtype = (uint8_t)dtype;
    to->bytes = ap_collective_bytes(to->operation, elements, -1, to->group_size, dtype);
}

/* From @row upwards: the args of the nearest row that has them, else what the names and shapes of the calls tell. */
static void look_up(const struct finder *finder, struct ap_collective_row *to, uint32_t row)
{
    const uint32_t kinds = 1u << AP_KIND_operator | 1u << AP_KIND_annotation;
    for (int level = 0; row != AP_NO_ROW && level < MAX_LEVELS_UP; level++, row = finder->tree->parent[row]) {
        if (!ap_row_is_of(finder->trace, row, kinds))
            continue;
        uint32_t told = told_by(finder->trace, row);
        if (told != AP_NO_ROW) {
            take_told(finder, to, told);
            return;
        }
        take_call(finder, to, row);
    }
}

/* ------------------------------------------------------------------------------------------------------------ rows */

static struct ap_collective_row unknown_row(uint32_t row, bool on_host)
{
    return (struct ap_collective_row){
        .row = row, .details = AP_NO_ROW, .bytes = -1, .operation = AP_COLLECTIVE_unknown, .on_host = on_host
    };
}

static uint8_t operation_of_kernel(const struct finder *finder, uint32_t row)
{
    uint8_t *operation = &finder->kernels[finder->trace->events.name[row]];
    if (!*operation)
        *operation = (uint8_t)(ap_collective_operation_of(ap_row_name(finder->trace, row)) + 1);
    return (uint8_t)(*operation - 1);
}

static struct ap_collective_row device_row(const struct finder *finder, const struct ap_device_row *linked)
{
    const struct ap_trace *trace = finder->trace;
    struct ap_collective_row to = unknown_row(linked->row, false);
    uint32_t told = told_by(trace, linked->row);
    to.operation = operation_of_kernel(finder, linked->row);
    if (told != AP_NO_ROW) {
        take_told(finder, &to, told);
        return to;
    }
    if (linked->launch != AP_NO_ROW)
        look_up(finder, &to, finder->tree->parent[linked->launch]);
    if (to.details == AP_NO_ROW && !to.dtype)
        look_up(finder, &to, linked->op);
    return to;
}

static enum ap_status add_device_rows(struct ap_collective_rows *collectives, const struct finder *finder,
                                      const struct ap_links *links, const struct ap_kernel_families *families,
                                      struct ap_error *reterr)
{
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->rows[i].row;
        if (ap_row_is_of(finder->trace, row, 1u << AP_KIND_kernel) &&
            ap_kernel_is_communication(families, finder->trace, row))
            AP_TRY_ADD(collectives->gate, collectives->rows, collectives->count, collectives->capacity, reterr,
                       device_row(finder, &links->rows[i]));
    }
    collectives->device_count = collectives->count;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ host */

static bool lacks_a_detail(const struct ap_collective *told)
{
    return !told || !told->name.id || !told->dtype.id || told->in_elements < 0 || told->out_elements < 0 ||
           told->group_size < 0;
}

/* As waits are recorded by a PyTorch that does not name calls. */
static bool has_no_tensor(const struct ap_trace *trace, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(trace, row);
    struct ap_text dims, types;
    int64_t elements;
    unsigned dtype;
    if (!op || !op->signature.id)
        return false;
    ap_trace_signature(trace, op->signature, &dims, &types);
    return !ap_text_contains(types, AP_TEXT("TensorList")) && !ap_collective_first_input(dims, types, &elements, &dtype);
}

static void count_call(struct ap_collective_rows *collectives, const struct ap_trace *trace, uint32_t row,
                       uint64_t *barriers)
{
    const struct ap_collective *told = ap_row_collective(trace, row);
    if (told ? ap_text_is(ap_strpool_text(&trace->strings, told->name), "wait") : has_no_tensor(trace, row))
        return;
    collectives->call_count++;
    collectives->missing_details_count += lacks_a_detail(told);
    *barriers += told && ap_collective_operation_of(ap_strpool_text(&trace->strings, told->name)) == AP_COLLECTIVE_barrier;
}

/* A barrier is recorded by its operator, by its args, or both. */
static enum ap_status add_host_rows(struct ap_collective_rows *collectives, const struct finder *finder,
                                    uint32_t record_name, struct ap_error *reterr)
{
    const struct ap_trace *trace = finder->trace;
    uint64_t operators = 0, recorded = 0;
    for (uint32_t row = 0; row < trace->events.count; row++) {
        if (!ap_row_is_of(trace, row, 1u << AP_KIND_operator | 1u << AP_KIND_annotation))
            continue;
        if (record_name && trace->events.name[row] == record_name) {
            count_call(collectives, trace, row, &recorded);
            continue;
        }
        uint8_t call = call_of_row(finder, row);
        operators += (call & CALL_OF_DEVICE) && (call & CALL_OPERATION_MASK) == AP_COLLECTIVE_barrier &&
                     ap_row_is_of(trace, row, 1u << AP_KIND_operator);
        if (!(call & CALL_OF_HOST) || trace->events.start_ns[row] == AP_START_UNKNOWN || trace->events.dur_ns[row] < 0)
            continue;
        struct ap_collective_row to = unknown_row(row, true);
        look_up(finder, &to, row);
        AP_TRY_ADD(collectives->gate, collectives->rows, collectives->count, collectives->capacity, reterr, to);
    }
    collectives->barrier_call_count = operators > recorded ? operators : recorded;
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------- what covers it */

struct covers {
    struct ap_cover compute, compute_or_memset, communication, compute_or_communication, all_three;
};

/* Collectives of one device, by start and by end. */
struct queries {
    const struct ap_trace *trace;
    struct ap_collective_row *rows;
    const uint32_t *by_end;
    size_t count, started, ended;
};

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
    const struct queries *queries = context;
    int64_t x = ap_row_end_ns(queries->trace, queries->rows[a].row), y = ap_row_end_ns(queries->trace, queries->rows[b].row);
    return x != y ? x < y : a < b;
}

/* At its start a row notes how much was covered before, at its end what was since. */
static void answer_until(struct queries *queries, const struct covers *covers, int64_t until_ns)
{
    for (; queries->started < queries->count; queries->started++) {
        struct ap_collective_row *row = &queries->rows[queries->started];
        int64_t start_ns = queries->trace->events.start_ns[row->row];
        if (start_ns > until_ns)
            break;
        row->exposed_ns = ap_cover_before(&covers->compute_or_memset, start_ns);
        row->overlap_ns = ap_cover_before(&covers->compute, start_ns);
    }
    for (; queries->ended < queries->count; queries->ended++) {
        struct ap_collective_row *row = &queries->rows[queries->by_end[queries->ended]];
        int64_t end_ns = ap_row_end_ns(queries->trace, row->row);
        if (end_ns > until_ns)
            break;
        row->exposed_ns = queries->trace->events.dur_ns[row->row] -
                          (ap_cover_before(&covers->compute_or_memset, end_ns) - row->exposed_ns);
        row->overlap_ns = ap_cover_before(&covers->compute, end_ns) - row->overlap_ns;
    }
}

static void cover_row(struct covers *covers, enum ap_event_kind kind, bool communication, int64_t start_ns, int64_t end_ns)
{
    if (kind == AP_KIND_memcpy)
        return;
    ap_cover_add(&covers->all_three, start_ns, end_ns);
    if (communication)
        ap_cover_add(&covers->communication, start_ns, end_ns);
    else
        ap_cover_add(&covers->compute_or_memset, start_ns, end_ns);
    if (kind == AP_KIND_kernel)
        ap_cover_add(&covers->compute_or_communication, start_ns, end_ns);
    if (kind == AP_KIND_kernel && !communication)
        ap_cover_add(&covers->compute, start_ns, end_ns);
}

static void sum_device(struct ap_collective_rows *collectives, const struct covers *covers)
{
    int64_t busy_ns = covers->communication.sum_ns;
    collectives->busy_ns = ap_add_sat(collectives->busy_ns, busy_ns, &collectives->overflowed);
    collectives->exposed_ns = ap_add_sat(
        collectives->exposed_ns, covers->all_three.sum_ns - covers->compute_or_memset.sum_ns, &collectives->overflowed);
    collectives->overlap_ns =
        ap_add_sat(collectives->overlap_ns, busy_ns - (covers->compute_or_communication.sum_ns - covers->compute.sum_ns),
                   &collectives->overflowed);
}

/* Device by device: @order[i] and @spare have room for all rows of collectives. */
static void measure(struct ap_collective_rows *collectives, const struct ap_trace *trace, const struct ap_links *links,
                    const struct ap_kernel_families *families, uint32_t *order, uint32_t *spare)
{
    size_t done = 0;
    for (size_t i = 0; i < links->count && done < collectives->device_count;) {
        int64_t device = ap_row_device(trace, links->rows[i].row);
        struct queries queries = { .trace = trace, .rows = collectives->rows + done, .by_end = order };
        while (done + queries.count < collectives->device_count &&
               ap_row_device(trace, queries.rows[queries.count].row) == device) {
            order[queries.count] = (uint32_t)queries.count;
            queries.count++;
        }
        ap_sort_indices(order, queries.count, spare, ends_before, &queries);
        struct covers covers = { AP_COVER_EMPTY, AP_COVER_EMPTY, AP_COVER_EMPTY, AP_COVER_EMPTY, AP_COVER_EMPTY };
        for (; i < links->count && ap_row_device(trace, links->rows[i].row) == device; i++) {
            uint32_t row = links->rows[i].row;
            enum ap_event_kind kind = ap_row_kind(trace->events.tag[row]);
            answer_until(&queries, &covers, trace->events.start_ns[row]);
            cover_row(&covers, kind, kind == AP_KIND_kernel && ap_kernel_is_communication(families, trace, row),
                      trace->events.start_ns[row], ap_row_end_ns(trace, row));
        }
        answer_until(&queries, &covers, INT64_MAX);
        sum_device(collectives, &covers);
        done += queries.count;
    }
}

static enum ap_status measure_all(struct ap_collective_rows *collectives, const struct ap_trace *trace,
                                  const struct ap_links *links, const struct ap_kernel_families *families,
                                  struct ap_error *reterr)
{
    size_t bytes = collectives->device_count * 2 * sizeof(uint32_t);
    if (!bytes)
        return AP_OK;
    uint32_t *order = ap_mem_resize(collectives->gate, NULL, 0, bytes);
    if (!order)
        return ap_fail_memory(collectives->gate, reterr);
    measure(collectives, trace, links, families, order, order + collectives->device_count);
    ap_mem_free(collectives->gate, order, bytes);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- all */

enum ap_status ap_collective_rows_init(struct ap_collective_rows *collectives, const struct ap_trace *trace,
                                       const struct ap_host_tree *tree, const struct ap_links *links,
                                       const struct ap_kernel_families *families, struct ap_gate *gate,
                                       struct ap_error *reterr)
{
    *collectives = (struct ap_collective_rows){ .gate = gate };
    size_t name_count = ap_trace_id_count(trace);
    struct finder finder = { .trace = trace, .tree = tree };
    AP_TRY(AP_ALLOC_CLEARED(gate, finder.calls, 2 * name_count, reterr));
    finder.kernels = finder.calls + name_count;
    enum ap_status status = add_device_rows(collectives, &finder, links, families, reterr);
    AP_AND_THEN(status, add_host_rows(collectives, &finder, ap_trace_find_text(trace, "record_param_comms"), reterr));
    AP_AND_THEN(status, measure_all(collectives, trace, links, families, reterr));
    AP_FREE(gate, finder.calls, 2 * name_count);
    return status;
}

void ap_collective_rows_release(struct ap_collective_rows *collectives)
{
    AP_FREE(collectives->gate, collectives->rows, collectives->capacity);
    *collectives = (struct ap_collective_rows){ .gate = collectives->gate };
}
