/* SPDX-License-Identifier: MIT */
#include "collective_rows.h"

#include <string.h>

#include "cover.h"
#include "rows_of.h"

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

/* A collective that is being described. */
struct described {
    uint32_t row;
    uint32_t details; /* as in struct ap_collective_own */
    struct ap_collective_kind kind;
};

/* A wait moves nothing. */
static uint32_t told_by(const struct ap_trace *trace, uint32_t row)
{
    uint32_t number = ap_row_collective_number(trace, row);
    const struct ap_str *name = number == AP_NO_ROW ? NULL : &ap_trace_collective(trace, number)->name;
    return name && !ap_text_is(ap_strpool_text(&trace->strings, *name), "wait") ? number : AP_NO_ROW;
}

static void take_told(const struct finder *finder, struct described *to, uint32_t number)
{
    const struct ap_strpool *strings = &finder->trace->strings;
    const struct ap_collective *told = ap_trace_collective(finder->trace, number);
    to->details = number;
    to->kind.what = finder->trace->collectives[number].what;
    enum ap_collective_operation operation = ap_collective_operation_of(ap_strpool_text(strings, told->name));
    if (operation != AP_COLLECTIVE_unknown)
        to->kind.operation = (uint8_t)operation;
    to->kind.dtype = (uint8_t)ap_collective_dtype_of(ap_strpool_text(strings, told->dtype));
    to->kind.group_size = told->group_size > 0 && told->group_size <= INT32_MAX ? (int32_t)told->group_size : 0;
    to->kind.bytes =
        ap_collective_bytes(to->kind.operation, told->in_elements, told->out_elements, to->kind.group_size, to->kind.dtype);
}

/* Calls with recorded shapes tell their size where no args do. */
static void take_call(const struct finder *finder, struct described *to, uint32_t row)
{
    uint8_t call = call_of_row(finder, row);
    if (!(call & (CALL_OF_DEVICE | CALL_OF_HOST)))
        return;
    if (to->kind.operation == AP_COLLECTIVE_unknown || to->kind.operation == AP_COLLECTIVE_sendrecv)
        to->kind.operation = call & CALL_OPERATION_MASK;
    const struct ap_op_detail *op = ap_row_op(finder->trace, row);
    struct ap_text dims, types;
    int64_t elements;
    unsigned dtype;
    if (to->kind.dtype || !op || !op->signature.id)
        return;
    ap_trace_signature(finder->trace, op->signature, &dims, &types);
    if (!ap_collective_first_input(dims, types, &elements, &dtype))
        return;
    to->kind.dtype = (uint8_t)dtype;
    to->kind.bytes = ap_collective_bytes(to->kind.operation, elements, -1, to->kind.group_size, dtype);
}

/* From @row upwards: the args of the nearest row that has them, else what the names and shapes of the calls tell. */
static void look_up(const struct finder *finder, struct described *to, uint32_t row)
{
    const uint32_t kinds = 1u << AP_KIND_operator | 1u << AP_KIND_annotation;
    for (int level = 0; row != AP_NO_ROW && level < MAX_LEVELS_UP; level++, row = ap_host_parent(finder->tree, row)) {
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

static struct described unknown_row(const struct ap_trace *trace, uint32_t row, bool on_host)
{
    return (struct described){
        .row = row,
        .details = AP_NO_ROW,
        .kind = { .bytes = -1, .name = trace->events.name[row], .operation = AP_COLLECTIVE_unknown, .on_host = on_host }
    };
}

/* Rows one behind the other are mostly of one kind. */
static bool is_as_before(const struct ap_collective_rows *collectives, const struct ap_collective_kind *kind)
{
    return collectives->count &&
           memcmp(ap_collective_kind(collectives, &collectives->rows[collectives->count - 1]), kind, sizeof(*kind)) == 0;
}

static enum ap_status add_row(struct ap_collective_rows *collectives, bool with_own, const struct described *described,
                              struct ap_error *reterr)
{
    struct ap_collective_row row = { .row = described->row };
    if (is_as_before(collectives, &described->kind))
        row.kind = collectives->rows[collectives->count - 1].kind;
    else
        AP_TRY(ap_strpool_intern(&collectives->kinds, (const char *)&described->kind, sizeof(described->kind), &row.kind,
                                 reterr));
    if (with_own)
        AP_TRY_ADD(collectives->gate, collectives->own, collectives->own_count, collectives->own_capacity, reterr,
                   (struct ap_collective_own){ .details = described->details });
    AP_TRY_ADD(collectives->gate, collectives->rows, collectives->count, collectives->capacity, reterr, row);
    return AP_OK;
}

static uint8_t operation_of_kernel(const struct finder *finder, uint32_t row)
{
    uint8_t *operation = &finder->kernels[finder->trace->events.name[row]];
    if (!*operation)
        *operation = (uint8_t)(ap_collective_operation_of(ap_row_name(finder->trace, row)) + 1);
    return (uint8_t)(*operation - 1);
}

static struct described device_row(const struct finder *finder, struct ap_device_row linked)
{
    const struct ap_trace *trace = finder->trace;
    struct described to = unknown_row(trace, linked.row, false);
    uint32_t told = told_by(trace, linked.row);
    to.kind.operation = operation_of_kernel(finder, linked.row);
    if (told != AP_NO_ROW) {
        take_told(finder, &to, told);
        return to;
    }
    if (linked.launch != AP_NO_ROW)
        look_up(finder, &to, ap_host_parent(finder->tree, linked.launch));
    if (to.details == AP_NO_ROW && !to.kind.dtype)
        look_up(finder, &to, linked.op);
    return to;
}

static enum ap_status add_device_rows(struct ap_collective_rows *collectives, const struct finder *finder,
                                      const struct ap_links *links, const struct ap_kernel_families *families, bool with_own,
                                      struct ap_error *reterr)
{
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        if (!ap_row_is_of(finder->trace, row, 1u << AP_KIND_kernel) ||
            !ap_kernel_is_communication(families, finder->trace, row))
            continue;
        struct described described = device_row(finder, ap_device_row_at(links, i));
        AP_TRY(add_row(collectives, with_own, &described, reterr));
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
                                    uint32_t record_name, bool with_own, struct ap_error *reterr)
{
    const struct ap_trace *trace = finder->trace;
    uint64_t operators = 0, recorded = 0;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_operator | 1u << AP_KIND_annotation);
         ap_rows_of_next(&at);) {
        uint32_t row = at.row;
        if (record_name && trace->events.name[row] == record_name) {
            count_call(collectives, trace, row, &recorded);
            continue;
        }
        uint8_t call = call_of_row(finder, row);
        operators += (call & CALL_OF_DEVICE) && (call & CALL_OPERATION_MASK) == AP_COLLECTIVE_barrier &&
                     ap_row_is_of(trace, row, 1u << AP_KIND_operator);
        if (!(call & CALL_OF_HOST) || trace->events.start_ns[row] == AP_START_UNKNOWN || trace->events.dur_ns[row] < 0)
            continue;
        struct described to = unknown_row(trace, row, true);
        look_up(finder, &to, row);
        AP_TRY(add_row(collectives, with_own, &to, reterr));
    }
    collectives->barrier_call_count = operators > recorded ? operators : recorded;
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------- what covers it */

struct covers {
    struct ap_cover compute, compute_or_memset, communication, compute_or_communication, all_three;
};

/* Collectives of one device: those that have started and not ended yet, the one that ends first on top of a heap. */
struct queries {
    struct ap_collective_rows *collectives;
    const struct ap_trace *trace;
    size_t next, end; /* rows that have not started */
    struct open {
        int64_t end_ns;
        struct ap_collective_cover before; /* what was covered before it started: as exposed_ns, by all that can hide it */
        uint32_t index;
    } * open;
    size_t open_count, open_capacity;
};

static enum ap_status push(struct queries *queries, struct open added, struct ap_error *reterr)
{
    AP_TRY_ADD(queries->collectives->gate, queries->open, queries->open_count, queries->open_capacity, reterr, added);
    size_t at = queries->open_count - 1;
    for (; at && queries->open[(at - 1) / 2].end_ns > added.end_ns; at = (at - 1) / 2)
        queries->open[at] = queries->open[(at - 1) / 2];
    queries->open[at] = added;
    return AP_OK;
}

static struct open pop(struct queries *queries)
{
    struct open *open = queries->open, top = open[0], last = open[--queries->open_count];
    size_t at = 0, count = queries->open_count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && open[child + 1].end_ns < open[child].end_ns;
        if (open[child].end_ns >= last.end_ns)
            break;
        open[at] = open[child];
        at = child;
    }
    open[at] = last;
    return top;
}

static void answer(struct queries *queries, const struct covers *covers, const struct open *open)
{
    struct ap_collective_rows *collectives = queries->collectives;
    const struct ap_collective_row *row = &collectives->rows[open->index];
    struct ap_collective_cover *sum = &collectives->covers[row->kind.id - 1];
    int64_t hidden_ns = ap_cover_before(&covers->compute_or_memset, open->end_ns) - open->before.exposed_ns;
    struct ap_collective_cover cover = { queries->trace->events.dur_ns[row->row] - hidden_ns,
                                         ap_cover_before(&covers->compute, open->end_ns) - open->before.overlap_ns };
    sum->exposed_ns = ap_add_sat(sum->exposed_ns, cover.exposed_ns, &collectives->overflowed);
    sum->overlap_ns = ap_add_sat(sum->overlap_ns, cover.overlap_ns, &collectives->overflowed);
    if (collectives->own)
        collectives->own[open->index].cover = cover;
}

/* At its start a row notes how much was covered before, at its end what was since. */
static enum ap_status answer_until(struct queries *queries, const struct covers *covers, int64_t until_ns,
                                   struct ap_error *reterr)
{
    for (; queries->next < queries->end; queries->next++) {
        uint32_t row = queries->collectives->rows[queries->next].row;
        int64_t start_ns = queries->trace->events.start_ns[row];
        if (start_ns > until_ns)
            break;
        struct open open = { .end_ns = ap_row_end_ns(queries->trace, row),
                             .before = { ap_cover_before(&covers->compute_or_memset, start_ns),
                                         ap_cover_before(&covers->compute, start_ns) },
                             .index = (uint32_t)queries->next };
        AP_TRY(push(queries, open, reterr));
    }
    while (queries->open_count && queries->open[0].end_ns <= until_ns) {
        struct open open = pop(queries);
        answer(queries, covers, &open);
    }
    return AP_OK;
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

/* From the link @at on, the rows of one device; moves @at on to the next. */
static enum ap_status measure_device(struct queries *queries, const struct ap_links *links,
                                     const struct ap_kernel_families *families, size_t *at, struct ap_error *reterr)
{
    struct ap_collective_rows *collectives = queries->collectives;
    const struct ap_trace *trace = queries->trace;
    struct covers covers = { AP_COVER_EMPTY, AP_COVER_EMPTY, AP_COVER_EMPTY, AP_COVER_EMPTY, AP_COVER_EMPTY };
    int64_t device = ap_row_device(trace, links->row[*at]);
    while (queries->end < collectives->device_count && ap_row_device(trace, collectives->rows[queries->end].row) == device)
        queries->end++;
    for (; *at < links->count && ap_row_device(trace, links->row[*at]) == device; (*at)++) {
        uint32_t row = links->row[*at];
        enum ap_event_kind kind = ap_row_kind(trace->events.tag[row]);
        AP_TRY(answer_until(queries, &covers, trace->events.start_ns[row], reterr));
        cover_row(&covers, kind, kind == AP_KIND_kernel && ap_kernel_is_communication(families, trace, row),
                  trace->events.start_ns[row], ap_row_end_ns(trace, row));
    }
    AP_TRY(answer_until(queries, &covers, INT64_MAX, reterr));
    sum_device(collectives, &covers);
    return AP_OK;
}

static enum ap_status measure(struct ap_collective_rows *collectives, const struct ap_trace *trace,
                              const struct ap_links *links, const struct ap_kernel_families *families,
                              struct ap_error *reterr)
{
    struct queries queries = { .collectives = collectives, .trace = trace };
    size_t kind_count = ap_strpool_count(&collectives->kinds), at = 0;
    if (!collectives->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(collectives->gate, collectives->covers, kind_count, reterr));
    enum ap_status status = AP_OK;
    while (status == AP_OK && at < links->count && queries.end < collectives->device_count)
        status = measure_device(&queries, links, families, &at, reterr);
    AP_FREE(collectives->gate, queries.open, queries.open_capacity);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- all */

enum ap_status ap_collective_rows_init(struct ap_collective_rows *collectives, const struct ap_trace *trace,
                                       const struct ap_host_tree *tree, const struct ap_links *links,
                                       const struct ap_kernel_families *families, bool with_own, struct ap_gate *gate,
                                       struct ap_error *reterr)
{
    *collectives = (struct ap_collective_rows){ .gate = gate };
    ap_strpool_init(&collectives->kinds, gate);
    size_t name_count = ap_trace_id_count(trace);
    struct finder finder = { .trace = trace, .tree = tree };
    AP_TRY(AP_ALLOC_CLEARED(gate, finder.calls, 2 * name_count, reterr));
    finder.kernels = finder.calls + name_count;
    enum ap_status status = add_device_rows(collectives, &finder, links, families, with_own, reterr);
    uint32_t record_name = ap_trace_find_text(trace, "record_param_comms");
    AP_AND_THEN(status, add_host_rows(collectives, &finder, record_name, with_own, reterr));
    AP_FREE(gate, finder.calls, 2 * name_count);
    AP_AND_THEN(status, measure(collectives, trace, links, families, reterr));
    return status;
}

void ap_collective_rows_release(struct ap_collective_rows *collectives)
{
    AP_FREE(collectives->gate, collectives->rows, collectives->capacity);
    AP_FREE(collectives->gate, collectives->own, collectives->own_capacity);
    AP_FREE(collectives->gate, collectives->covers, ap_strpool_count(&collectives->kinds));
    ap_strpool_release(&collectives->kinds);
    *collectives = (struct ap_collective_rows){ .gate = collectives->gate };
}
