/* SPDX-License-Identifier: MIT */
#include "compiled_regions.h"

#include "name_pattern.h"
#include "rows_of.h"

#include "poison.h"

enum role { ROLE_region, ROLE_guards, ROLE_graph, ROLE_wrapper, ROLE_jit, ROLE_build, ROLE_triton, ROLE_eager, ROLE_none };

/* What a name says, one byte for each name id. */
#define ROLE_MASK 0x1fu
#define LOOKED_AT 0x20u
#define SEEN 0x40u /* graphs and functions of XLA: counted as a distinct one */

/* What a host row is in: the number + 1 of the innermost region in the high bits, and these. */
#define IN_MACHINERY 1u /* a graph or the code around it */
#define IN_EAGER 2u     /* an operator that was not compiled */
#define IN_BUILD 4u
#define IN_GRAPH 8u
#define REGION_SHIFT 4
#define MAX_REGIONS (UINT32_MAX >> REGION_SHIFT)

struct reader {
    struct ap_compiled *compiled;
    const struct ap_trace *trace;
    const struct ap_host_tree *tree;
    const struct ap_name_patterns *patterns;
    uint8_t *roles;  /* by name id */
    uint32_t *marks; /* by row */
};

static const char *const role_patterns[] = {
#define AP_COMPILE_NAME(role, patterns) [ROLE_##role] = patterns,
#include "compile_name.def"
#undef AP_COMPILE_NAME
};

_Static_assert(AP_COUNT_OF(role_patterns) == ROLE_eager, "each role of the table has its line");

/* ---------------------------------------------------------------------------------------------------------- names */

/* Operators of any library have a namespace; what autograd records of itself is none. */
static bool is_eager_operator(struct ap_text name)
{
    if (ap_text_starts_with(name, "autograd::"))
        return false;
    for (size_t i = 1; i + 2 < name.bytes; i++)
        if (name.data[i] == ':' && name.data[i + 1] == ':')
            return true;
    return false;
}

static enum role role_of(const struct reader *reader, uint32_t row)
{
    uint32_t name = reader->trace->events.name[row];
    if (!reader->roles[name]) {
        struct ap_text text = ap_trace_text(reader->trace, name);
        size_t role = ap_name_patterns_first(reader->patterns, text, AP_COUNT_OF(role_patterns));
        if (role == AP_COUNT_OF(role_patterns))
            role = is_eager_operator(text) ? ROLE_eager : ROLE_none;
        reader->roles[name] = (uint8_t)(LOOKED_AT | role);
    }
    return reader->roles[name] & ROLE_MASK;
}

static void sum(struct ap_compiled *compiled, int64_t *total, int64_t ns)
{
    *total = ap_add_sat(*total, ns, &compiled->overflowed);
}

static void sum_kernels(const struct reader *reader)
{
    struct ap_compiled *compiled = reader->compiled;
    for (struct ap_rows_of at = ap_rows_of(reader->trace, 1u << AP_KIND_kernel); ap_rows_of_next(&at);) {
        int64_t dur_ns = reader->trace->events.dur_ns[at.row];
        compiled->kernel_count++;
        sum(compiled, &compiled->kernel_ns, dur_ns);
        if (role_of(reader, at.row) != ROLE_triton)
            continue;
        compiled->triton_count++;
        sum(compiled, &compiled->triton_ns, dur_ns);
    }
}

/* Is there anything but eager operators on the host? */
static bool has_roles(const struct reader *reader)
{
    const uint32_t kinds = 1u << AP_KIND_operator | 1u << AP_KIND_annotation | 1u << AP_KIND_runtime;
    for (struct ap_rows_of at = ap_rows_of(reader->trace, kinds); ap_rows_of_next(&at);)
        if (role_of(reader, at.row) < ROLE_triton)
            return true;
    return false;
}

static size_t read_digits(struct ap_text text, size_t at, uint32_t *ret_number)
{
    uint32_t number = 0;
    size_t start = at;
    for (; at < text.bytes && at - start < 9 && ap_is_digit(text.data[at]); at++)
        number = number * 10 + (uint32_t)(text.data[at] - '0');
    *ret_number = number;
    return at - start;
}

static void read_number(struct ap_text name, struct ap_compiled_region *region)
{
    size_t at = 0, digits;
    while (at < name.bytes && name.data[at] != ':')
        at++;
    while (at < name.bytes && (name.data[at] == ':' || name.data[at] == ' '))
        at++;
    digits = read_digits(name, at, &region->frame);
    at += digits;
    region->has_number = digits && at < name.bytes && name.data[at] == '/' && read_digits(name, at + 1, &region->version);
}

/* ------------------------------------------------------------------------------------------------------- one track */

struct track_state {
    bool has_region;
    bool eager;         /* an operator has run since */
    uint32_t frame;     /* of the last region that stands in no other */
    int64_t left_ns;    /* its end */
    int64_t entered_ns; /* start of a graph behind a break, until its first row has come; AP_START_UNKNOWN = none */
};

static void add_gap(struct ap_compiled *compiled, int64_t *total_ns, int64_t left_ns, int64_t start_ns)
{
    if (left_ns != AP_START_UNKNOWN && start_ns != AP_START_UNKNOWN && start_ns > left_ns)
        sum(compiled, total_ns, start_ns - left_ns);
}

/* A frame that is left at an operator which was not compiled goes on in another frame: inside the first one, or behind
 * it under a higher number; the same frames in the next step begin with the lowest. */
static void judge_break(const struct reader *reader, struct track_state *state, struct ap_compiled_region *region,
                        uint32_t mark)
{
    struct ap_compiled *compiled = reader->compiled;
    int64_t start_ns = reader->trace->events.start_ns[region->row], end_ns = ap_row_end_ns(reader->trace, region->row);
    if (mark >> REGION_SHIFT) {
        struct ap_compiled_region *outer = &compiled->regions[(mark >> REGION_SHIFT) - 1];
        if (mark & IN_MACHINERY)
            return;
        compiled->break_count++;
        region->goes_on = true;
        add_gap(compiled, &compiled->eager_ns, outer->left_ns, start_ns);
        outer->left_ns = end_ns;
        return;
    }
    if (state->has_region && state->eager && region->has_number && region->frame > state->frame) {
        compiled->break_count++;
        region->goes_on = true;
        add_gap(compiled, &compiled->eager_ns, state->left_ns, start_ns);
        add_gap(compiled, &compiled->outside_ns, state->left_ns, start_ns);
    }
    state->has_region = region->has_number;
    state->frame = region->frame;
    state->left_ns = end_ns;
    state->eager = false;
}

static enum ap_status take_region(struct reader *reader, struct track_state *state, uint32_t row, uint32_t *mark,
                                  struct ap_error *reterr)
{
    struct ap_compiled *compiled = reader->compiled;
    struct ap_compiled_region region = { .row = row, .left_ns = AP_START_UNKNOWN };
    struct ap_str name = { reader->trace->events.name[row] };
    read_number(ap_strpool_text(&reader->trace->strings, name), &region);
    judge_break(reader, state, &region, *mark);
    if (!(*mark >> REGION_SHIFT))
        sum(compiled, &compiled->outside_ns, reader->trace->events.dur_ns[row]);
    if (compiled->count >= MAX_REGIONS)
        return AP_OK;
    AP_TRY_ADD(compiled->gate, compiled->regions, compiled->count, compiled->capacity, reterr, region);
    *mark = (uint32_t)compiled->count << REGION_SHIFT;
    return AP_OK;
}

static void take_graph(struct reader *reader, struct track_state *state, uint32_t row, uint32_t mark)
{
    uint8_t *role = &reader->roles[reader->trace->events.name[row]];
    reader->compiled->graph_count++;
    reader->compiled->distinct_graph_count += !(*role & SEEN);
    *role |= SEEN;
    if (!(mark >> REGION_SHIFT))
        return;
    struct ap_compiled_region *region = &reader->compiled->regions[(mark >> REGION_SHIFT) - 1];
    region->left_ns = ap_row_end_ns(reader->trace, row);
    if (mark & IN_GRAPH)
        return;
    sum(reader->compiled, &reader->compiled->outside_ns, -reader->trace->events.dur_ns[row]);
    state->entered_ns = region->goes_on ? reader->trace->events.start_ns[row] : AP_START_UNKNOWN;
}

static void take_jit(struct reader *reader, uint32_t row)
{
    uint8_t *role = &reader->roles[reader->trace->events.name[row]];
    if (*role & SEEN)
        reader->compiled->jit_again_count++;
    *role |= SEEN;
}

static enum ap_status take_row(struct reader *reader, struct track_state *state, uint32_t row, uint32_t *mark,
                               struct ap_error *reterr)
{
    struct ap_compiled *compiled = reader->compiled;
    int64_t dur_ns = reader->trace->events.dur_ns[row];
    switch (role_of(reader, row)) {
    case ROLE_region: return take_region(reader, state, row, mark, reterr);
    case ROLE_guards:
        compiled->guard_count++;
        sum(compiled, &compiled->guard_ns, dur_ns);
        *mark |= IN_MACHINERY;
        break;
    case ROLE_graph:
        take_graph(reader, state, row, *mark);
        *mark |= IN_GRAPH | IN_MACHINERY;
        break;
    case ROLE_jit:
    case ROLE_build:
        if (role_of(reader, row) == ROLE_jit)
            take_jit(reader, row);
        if (!(*mark & IN_BUILD)) {
            compiled->build_count++;
            sum(compiled, &compiled->build_ns, dur_ns);
        }
        *mark |= IN_BUILD | IN_MACHINERY;
        break;
    case ROLE_wrapper: *mark |= IN_MACHINERY; break;
    case ROLE_eager:
        if (ap_row_is_of(reader->trace, row, 1u << AP_KIND_operator) && !(*mark & (IN_MACHINERY | IN_EAGER))) {
            state->eager |= !(*mark >> REGION_SHIFT);
            *mark |= IN_EAGER;
        }
        break;
    case ROLE_triton:
    case ROLE_none: break;
    }
    return AP_OK;
}

/* In order of time a row comes behind all rows that it is in. */
static enum ap_status read_track(struct reader *reader, const uint32_t *rows, size_t count, struct ap_error *reterr)
{
    struct track_state state = { .entered_ns = AP_START_UNKNOWN };
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        if (!ap_row_is_of(reader->trace, row, AP_HOST_KINDS))
            continue;
        uint32_t parent = ap_host_parent(reader->tree, row), mark = parent == AP_NO_ROW ? 0 : reader->marks[parent];
        if (mark & IN_GRAPH)
            add_gap(reader->compiled, &reader->compiled->outside_ns, state.entered_ns, reader->trace->events.start_ns[row]);
        state.entered_ns = AP_START_UNKNOWN;
        if (!ap_row_is_of(reader->trace, row, 1u << AP_KIND_python))
            AP_TRY(take_row(reader, &state, row, &mark, reterr));
        reader->marks[row] = mark;
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- all */

static void sum_device_time(struct reader *reader, const struct ap_links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        uint32_t region = ap_launch_at(links, i) == AP_NO_ROW ? 0 : reader->marks[ap_launch_at(links, i)] >> REGION_SHIFT;
        if (region)
            sum(reader->compiled, &reader->compiled->regions[region - 1].device_ns,
                reader->trace->events.dur_ns[links->row[i]]);
    }
}

static enum ap_status read_tracks(struct reader *reader, const struct ap_row_order *order, const struct ap_links *links,
                                  struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(reader->compiled->gate, reader->marks, reader->trace->events.count, reterr));
    for (size_t track = 0; track < order->track_count && status == AP_OK; track++)
        if (ap_track_may_hold(order, track, AP_HOST_KINDS))
            status = read_track(reader, order->rows + order->track_start[track],
                                order->track_start[track + 1] - order->track_start[track], reterr);
    if (status == AP_OK)
        sum_device_time(reader, links);
    AP_FREE(reader->compiled->gate, reader->marks, reader->trace->events.count);
    return status;
}

static enum ap_status read_all(struct reader *reader, const struct ap_row_order *order, const struct ap_links *links,
                               struct ap_error *reterr)
{
    struct ap_gate *gate = reader->compiled->gate;
    size_t name_count = ap_trace_id_count(reader->trace);
    AP_TRY(AP_ALLOC_CLEARED(gate, reader->roles, name_count, reterr));
    sum_kernels(reader);
    enum ap_status status = has_roles(reader) ? read_tracks(reader, order, links, reterr) : AP_OK;
    ap_mem_free(gate, reader->roles, name_count);
    return status;
}

enum ap_status ap_compiled_init(struct ap_compiled *compiled, const struct ap_trace *trace, const struct ap_row_order *order,
                                const struct ap_host_tree *tree, const struct ap_links *links, struct ap_gate *gate,
                                struct ap_error *reterr)
{
    struct ap_name_patterns patterns;
    struct reader reader = { .compiled = compiled, .trace = trace, .tree = tree, .patterns = &patterns };
    *compiled = (struct ap_compiled){ .gate = gate };
    enum ap_status status = ap_name_patterns_init(&patterns, gate, role_patterns, AP_COUNT_OF(role_patterns), reterr);
    AP_AND_THEN(status, read_all(&reader, order, links, reterr));
    ap_name_patterns_release(&patterns);
    return status;
}

void ap_compiled_release(struct ap_compiled *compiled)
{
    AP_FREE(compiled->gate, compiled->regions, compiled->capacity);
    *compiled = (struct ap_compiled){ .gate = compiled->gate };
}
