/* SPDX-License-Identifier: MIT
 * compute_calls.c - an operator that calls another one of the same class is not counted: aten::linear calls aten::addmm. A
 * kernel belongs to the innermost call that counts. */
#include "compute_calls.h"

#include <string.h>

#include "compute_times.h"
#include "engine_steps.h"
#include "kernel_name.h"
#include "kept_cost.h"
#include "near_pairs.h"
#include "pair_map.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

#define LEVELS_MAX 16 /* operators between a kernel and the call that it is of */

struct finding {
    struct ap_compute *compute;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_row_set above[2];            /* rows around a call that multiplies; around another one */
    struct ap_near_pairs plain;            /* (name, signature) of calls that tell no arguments; counts all shapes */
    struct ap_pair_map signatures, shapes; /* of those that do: the same; (number of that, arguments) */
    uint32_t *with_arguments;              /* by number in shapes: that of all shapes */
    size_t with_arguments_capacity;
    struct ap_pair_map groups; /* (number of that, name of the engine's step where lengths are of it, or 0) */
    uint8_t *by_step;          /* by number of shapes: 1 = of packed sequences, 2 = not */
    size_t by_step_capacity;
    struct ap_engine_steps steps;
    int64_t *longest_ns;                    /* by number of the full group: of a call */
    uint32_t *kernel_of;                    /* by call: its longest kernel; NULL on the host */
    const struct ap_mapped_kernel **mapped; /* by row of a kernel in a graph: what the mapping tells; NULL = there is none */
    uint32_t *replayed;                     /* likewise: the first kernel of its call */
};

/* What was called: an operator of the trace or, of a kernel in a graph, that of the mapping. */
struct called {
    uint32_t name;
    struct ap_str signature, arguments;
};

/* 0 = the row calls nothing. */
static uint32_t name_called(const struct finding *finding, uint32_t row)
{
    if (finding->mapped && finding->mapped[row])
        return finding->mapped[row]->op;
    bool is_operator = ap_row_kind(finding->trace->events.tag[row]) == AP_KIND_operator;
    return is_operator ? finding->trace->events.name[row] : 0;
}

static struct called called_at(const struct finding *finding, uint32_t row)
{
    struct called called = { .name = name_called(finding, row) };
    if (finding->mapped && finding->mapped[row])
        return (struct called){ called.name, finding->mapped[row]->signature, finding->mapped[row]->arguments };
    const struct ap_op_detail *op = called.name ? ap_row_op(finding->trace, row) : NULL;
    if (op) {
        called.signature = op->signature;
        called.arguments = ap_op_arguments(finding->trace, op);
    }
    return called;
}

static enum ap_op_formula formula_of(const struct finding *finding, uint32_t row)
{
    uint32_t name = name_called(finding, row);
    return name ? (enum ap_op_formula)(finding->compute->formulas[name] - 1) : AP_FORMULA_none;
}

static bool has_shapes(const struct finding *finding, uint32_t row)
{
    return called_at(finding, row).signature.id != 0;
}

static int class_of(enum ap_op_formula formula)
{
    return ap_work_kind_multiplies(ap_op_formula_kind(formula)) ? 0 : 1;
}

static void find_formula(struct finding *finding, const struct ap_name_patterns *table, uint32_t name)
{
    uint8_t *formula = &finding->compute->formulas[name];
    if (!*formula)
        *formula = (uint8_t)(ap_op_formulas_find(table, ap_trace_text(finding->trace, name)) + 1);
}

static enum ap_status find_formulas(struct finding *finding, struct ap_error *reterr)
{
    const struct ap_graph_runs *graphs = &finding->facts->graphs;
    const struct ap_trace *trace = finding->trace;
    struct ap_name_patterns table;
    AP_TRY(AP_ALLOC_CLEARED(finding->compute->gate, finding->compute->formulas, ap_trace_id_count(trace), reterr));
    enum ap_status status = ap_op_formulas_init(&table, finding->compute->gate, reterr);
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_operator); status == AP_OK && ap_rows_of_next(&at);)
        find_formula(finding, &table, trace->events.name[at.row]);
    for (size_t i = 0; status == AP_OK && i < graphs->mapped_count; i++)
        if (graphs->mapped[i].op)
            find_formula(finding, &table, graphs->mapped[i].op);
    ap_name_patterns_release(&table);
    return status;
}

/* Only attention asks for the lengths that an engine's steps tell. */
static enum ap_status find_steps(struct finding *finding, struct ap_error *reterr)
{
    for (uint32_t name = 0; name < ap_trace_id_count(finding->trace); name++)
        if (finding->compute->formulas[name] > 1 &&
            ap_op_formula_kind((enum ap_op_formula)(finding->compute->formulas[name] - 1)) == AP_WORK_attention)
            return ap_engine_steps_told(&finding->steps, finding->facts, finding->compute->gate, reterr);
    return AP_OK;
}

/* ---- kernels of graphs ---- */

static void take_launch(struct finding *finding, const struct ap_graph_launch *launch)
{
    const struct ap_graph_runs *graphs = &finding->facts->graphs;
    const struct ap_mapped_kernel *before = NULL;
    uint32_t first = AP_NO_ROW;
    for (uint32_t i = 0; i < launch->count; i++) {
        const struct ap_mapped_kernel *mapped = ap_graph_mapped(graphs, launch, i);
        uint32_t row = finding->facts->links.row[graphs->places[launch->first + i]];
        if (!mapped || !mapped->op)
            continue;
        if (!before || before->call != mapped->call || first == AP_NO_ROW)
            first = row;
        finding->mapped[row] = mapped;
        finding->replayed[row] = first;
        before = mapped;
    }
}

static enum ap_status take_graphs(struct finding *finding, struct ap_error *reterr)
{
    const struct ap_graph_runs *graphs = &finding->facts->graphs;
    size_t count = finding->trace->events.count;
    if (!graphs->mapped_count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(finding->compute->gate, finding->mapped, count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(finding->compute->gate, finding->replayed, count, reterr));
    for (size_t i = 0; i < graphs->launch_count; i++)
        take_launch(finding, &graphs->launches[i]);
    return AP_OK;
}

/* Up to the first row that is known to be around one: each row is met once. */
static void mark_above(struct finding *finding, struct ap_row_set *above, uint32_t row)
{
    const struct ap_host_tree *tree = &finding->facts->tree;
    for (uint32_t at = ap_host_parent(tree, row); at != AP_NO_ROW && ap_row_set_add(above, at);)
        at = ap_host_parent(tree, at);
}

/* Of a row that may count: is it around no other one, and the first kernel of its call? What adds values up at places works
 * out the places by operators, and has kernels of its own behind them. */
static bool is_counted(const struct finding *finding, uint32_t row)
{
    enum ap_op_formula formula = formula_of(finding, row);
    bool works_itself = formula == AP_FORMULA_index_put && !finding->compute->is_host;
    return finding->trace->events.dur_ns[row] >= 0 &&
           (works_itself || !ap_row_set_has(&finding->above[class_of(formula)], row)) &&
           !(finding->mapped && finding->mapped[row] && finding->replayed[row] != row);
}

/* Rows whose work the shapes tell. What clears its result first, to add up into it, does its own work after that. */
static void find_candidates(struct finding *finding)
{
    uint32_t kinds = 1u << AP_KIND_operator | (finding->mapped ? AP_GPU_KINDS : 0); /* those that name_called() knows */
    for (struct ap_rows_of at = ap_rows_of(finding->trace, kinds); ap_rows_of_next(&at);) {
        enum ap_op_formula formula = formula_of(finding, at.row);
        if (formula == AP_FORMULA_none || !has_shapes(finding, at.row))
            continue;
        (void)ap_row_set_add(&finding->compute->counted, at.row);
        if (formula != AP_FORMULA_fill && ap_row_kind(finding->trace->events.tag[at.row]) == AP_KIND_operator)
            mark_above(finding, &finding->above[class_of(formula)], at.row);
    }
}

static enum ap_status find_counted(struct finding *finding, struct ap_error *reterr)
{
    struct ap_row_set *counted = &finding->compute->counted;
    size_t count = finding->trace->events.count;
    AP_TRY(ap_row_set_init(counted, finding->compute->gate, count, reterr));
    for (int i = 0; i < 2; i++)
        AP_TRY(ap_row_set_init(&finding->above[i], finding->compute->gate, count, reterr));
    find_candidates(finding);
    for (uint32_t row = ap_row_set_next(counted, 0); row != AP_ROW_SET_NONE; row = ap_row_set_next(counted, row + 1))
        if (!is_counted(finding, row))
            ap_row_set_remove(counted, row);
    ap_row_set_finish(counted);
    return AP_OK;
}

/* ---- groups ---- */

static void cost_of_called(const struct ap_trace *trace, enum ap_op_formula formula, const struct called *called,
                           struct ap_call_cost *ret_cost)
{
    struct ap_text dims, types, strides = AP_TEXT(""), concrete = AP_TEXT("");
    struct ap_op_inputs inputs;
    ap_trace_signature(trace, called->signature, &dims, &types);
    if (called->arguments.id)
        ap_trace_signature(trace, called->arguments, &strides, &concrete);
    ap_op_inputs_read(&inputs, dims, types, strides, concrete);
    ap_op_cost_of(formula, &inputs, ret_cost);
}

static void cost_of(const struct finding *finding, uint32_t row, struct ap_call_cost *ret_cost)
{
    struct called called = called_at(finding, row);
    cost_of_called(finding->trace, formula_of(finding, row), &called, ret_cost);
}

/* Of the row that was asked for last, of those that share a place: where calls are compared, a few are asked for over and
 * over. */
#define RECENT_COUNT 64
struct ap_known_cost {
    struct ap_call_cost cost;
    uint32_t row;
};

const struct ap_call_cost *ap_compute_cost_of_row(const struct ap_compute *compute, uint32_t row)
{
    struct ap_known_cost *known = &compute->recent[row % RECENT_COUNT];
    const struct ap_trace *trace = compute->trace;
    if (known->row == row)
        return &known->cost;
    const struct ap_op_detail *op = ap_row_op(trace, row);
    struct called called = { trace->events.name[row], op->signature, ap_op_arguments(trace, op) };
    cost_of_called(trace, (enum ap_op_formula)(compute->formulas[called.name] - 1), &called, &known->cost);
    known->row = row;
    return &known->cost;
}

/* The engine's step that a call is in, where its name tells the lengths of its sequences. */
static const struct ap_engine_step *step_of(const struct finding *finding, uint32_t row)
{
    size_t step = ap_engine_step_at(&finding->steps, finding->trace->events.start_ns[row]);
    return step < finding->steps.count && finding->steps.steps[step].told.attention_pairs >= 0 ? &finding->steps.steps[step]
                                                                                               : NULL;
}

/* Does the call need a step to know its lengths? Each kind of call is looked at once. */
static enum ap_status needs_step(struct finding *finding, uint32_t row, uint32_t shape, bool *ret_needs,
                                 struct ap_error *reterr)
{
    struct ap_call_cost cost;
    *ret_needs = false;
    if (!finding->steps.count || ap_op_formula_kind(formula_of(finding, row)) != AP_WORK_attention)
        return AP_OK;
    size_t had = finding->by_step_capacity;
    AP_TRY(AP_RESERVE(finding->compute->gate, finding->by_step, finding->by_step_capacity, (size_t)shape + 1, reterr));
    memset(finding->by_step + had, 0, finding->by_step_capacity - had);
    if (!finding->by_step[shape]) {
        cost_of(finding, row, &cost);
        finding->by_step[shape] = cost.pair_flops > 0 && cost.flops < 0 ? 1 : 2;
    }
    *ret_needs = finding->by_step[shape] == 1;
    return AP_OK;
}

/* By what the engine says of all sequences of the step; calls on other tokens than the step's are not of it. */
static void take_lengths(struct ap_call_cost *cost, const struct ap_engine_step_name *told)
{
    if (cost->tokens > 0 && told->tokens >= 0 && (double)told->tokens > cost->tokens)
        return;
    cost->flops = cost->pair_flops * told->attention_pairs;
    cost->flops_least = cost->flops_most = 0;
    if (cost->key_bytes > 0 && told->attention_keys >= 0)
        cost->bytes = cost->query_bytes + cost->key_bytes * told->attention_keys;
    if (told->requests <= 0 || told->tokens < 0 || told->attention_keys < 0)
        return;
    cost->queries = (double)told->tokens / (double)told->requests; /* of each in the mean */
    cost->keys = told->attention_keys / (double)told->requests;
}

/* The number of what was called with which shapes and arguments. Most calls tell no arguments. */
static enum ap_status number_shape(struct finding *finding, const struct called *called, uint32_t *ret_shape,
                                   struct ap_error *reterr)
{
    uint32_t number, known = finding->shapes.count;
    if (!called->arguments.id)
        return ap_near_pairs_add(&finding->plain, called->name, called->signature.id, ret_shape, reterr);
    AP_TRY(ap_pair_map_add(&finding->signatures, called->name, called->signature.id, &number, reterr));
    AP_TRY(ap_pair_map_add(&finding->shapes, number, called->arguments.id, &number, reterr));
    if (number == known) {
        AP_TRY(AP_RESERVE(finding->compute->gate, finding->with_arguments, finding->with_arguments_capacity,
                          (size_t)number + 1, reterr));
        finding->with_arguments[number] = finding->plain.count++;
    }
    *ret_shape = finding->with_arguments[number];
    return AP_OK;
}

/* Of the calls that the place is of so far, which is one. */
static enum ap_status add_full(struct finding *finding, struct ap_compute_place *place, const struct ap_call_cost *cost,
                               struct ap_error *reterr)
{
    struct ap_compute *compute = finding->compute;
    struct called called = called_at(finding, place->at);
    struct ap_compute_group group = { .name = called.name,
                                      .signature = called.signature.id,
                                      .longest_row = place->at,
                                      .count = 1,
                                      .first_call = ap_row_set_number(&compute->counted, place->at) };
    AP_TRY(ap_keep_cost(compute, cost, &group.cost, reterr));
    AP_TRY_ADD(compute->gate, compute->full, compute->full_count, compute->full_capacity, reterr, group);
    place->is_alone = false;
    place->at = (uint32_t)compute->full_count - 1;
    return AP_OK;
}

/* The full group of that number, which it becomes where it was alone. */
static enum ap_status fill_group(struct finding *finding, uint32_t number, struct ap_compute_group **ret_group,
                                 struct ap_error *reterr)
{
    struct ap_compute *compute = finding->compute;
    struct ap_compute_place *place = &compute->groups[number];
    if (place->is_alone)
        AP_TRY(add_full(finding, place, ap_compute_cost_of_row(compute, place->at), reterr));
    *ret_group = &compute->full[place->at];
    return AP_OK;
}

static enum ap_status add_group(struct finding *finding, uint32_t row, const struct ap_engine_step *step,
                                struct ap_error *reterr)
{
    struct ap_compute *compute = finding->compute;
    struct ap_call_cost cost;
    cost_of(finding, row, &cost);
    if (step)
        take_lengths(&cost, &step->told);
    AP_TRY_ADD(compute->gate, compute->groups, compute->group_count, compute->group_capacity, reterr,
               (struct ap_compute_place){ .kind = cost.kind,
                                          .element = cost.element,
                                          .flags = ap_cost_flags(&cost) & INT16_MAX,
                                          .is_alone = true,
                                          .at = row });
    bool is_of_row = !step && ap_row_kind(finding->trace->events.tag[row]) == AP_KIND_operator;
    return is_of_row ? AP_OK : add_full(finding, &compute->groups[compute->group_count - 1], &cost, reterr);
}

static enum ap_status group_of(struct finding *finding, uint32_t row, uint32_t *ret_group, struct ap_error *reterr)
{
    struct called called = called_at(finding, row);
    struct ap_compute_group *group;
    uint32_t shape;
    bool needs;
    AP_TRY(number_shape(finding, &called, &shape, reterr));
    AP_TRY(needs_step(finding, row, shape, &needs, reterr));
    const struct ap_engine_step *step = needs ? step_of(finding, row) : NULL;
    uint32_t step_name = step ? finding->trace->events.name[step->row] : 0;
    *ret_group = shape; /* where no step of an engine tells lengths */
    if (finding->steps.count)
        AP_TRY(ap_pair_map_add(&finding->groups, shape, step_name, ret_group, reterr));
    if (*ret_group == finding->compute->group_count)
        return add_group(finding, row, step, reterr);
    AP_TRY(fill_group(finding, *ret_group, &group, reterr));
    group->count++;
    return AP_OK;
}

static enum ap_status group_calls(struct finding *finding, struct ap_error *reterr)
{
    struct ap_compute *compute = finding->compute;
    if (!compute->counted.count)
        return AP_OK;
    AP_TRY(ap_near_pairs_init(&finding->plain, compute->gate, (size_t)ap_strpool_count(&finding->trace->signatures) + 1,
                              reterr));
    AP_TRY(AP_ALLOC(compute->gate, compute->group_of, compute->counted.count, reterr));
    for (uint32_t row = 0, call = 0; call < compute->counted.count; row++, call++) {
        row = ap_row_set_next(&compute->counted, row);
        AP_TRY(group_of(finding, row, &compute->group_of[call], reterr));
    }
    return AP_OK;
}

/* ---- kernels ---- */

static uint32_t counted_around(const struct finding *finding, uint32_t row)
{
    for (int level = 0; row != AP_NO_ROW && level < LEVELS_MAX; level++) {
        if (ap_row_set_has(&finding->compute->counted, row))
            return row;
        row = ap_host_parent(&finding->facts->tree, row);
        while (row != AP_NO_ROW && level < LEVELS_MAX && ap_row_kind(finding->trace->events.tag[row]) != AP_KIND_operator) {
            row = ap_host_parent(&finding->facts->tree, row);
            level++;
        }
    }
    return AP_NO_ROW;
}

static void add_ns(struct ap_compute *compute, int64_t *sum_ns, int64_t ns)
{
    *sum_ns = ap_add_sat(*sum_ns, ns, &compute->overflowed);
}

/* The number of the call that a kernel is of, or AP_ROW_SET_NONE. */
static uint32_t call_of(const struct finding *finding, struct ap_device_row linked)
{
    bool is_mapped = finding->mapped && finding->mapped[linked.row];
    uint32_t row = is_mapped ? finding->replayed[linked.row] : counted_around(finding, linked.op);
    return row == AP_NO_ROW ? AP_ROW_SET_NONE : ap_row_set_number(&finding->compute->counted, row);
}

/* Of a call. */
static enum ap_status take_call_kernel(struct finding *finding, uint32_t call, uint32_t kernel, struct ap_error *reterr)
{
    struct ap_compute *compute = finding->compute;
    const struct ap_trace *trace = finding->trace;
    int64_t ns = trace->events.dur_ns[kernel];
    unsigned told = finding->facts->families.of_name[trace->events.name[kernel]];
    uint32_t *longest = &finding->kernel_of[call];
    struct ap_compute_group *group;
    AP_TRY(fill_group(finding, compute->group_of[call], &group, reterr));
    add_ns(compute, &compute->call_ns[call], ns);
    group->kernel_count++;
    group->first_kernel_count += call == group->first_call;
    double moved = group->cost.bytes < 0 ? ap_compute_cost(compute, group).moved_elements : 0;
    if (moved > 0) {
        int bytes = ap_kernel_element_bytes(ap_trace_text(trace, trace->events.name[kernel]));
        group->cost.bytes = bytes ? moved * bytes : -1;
    }
    if (told & AP_KERNEL_UNFOLDS)
        group->cost.is_unfolded = true;
    if (told & AP_KERNEL_SPARSE)
        group->cost = (struct ap_kept_cost){ .kind = group->cost.kind,
                                             .element = group->cost.element,
                                             .is_unfolded = group->cost.is_unfolded,
                                             .flops = -1,
                                             .bytes = -1 };
    if (*longest == AP_NO_ROW || ns > trace->events.dur_ns[*longest])
        *longest = kernel;
    return AP_OK;
}

static enum ap_status take_kernel(struct finding *finding, struct ap_device_row linked, struct ap_error *reterr)
{
    struct ap_compute *compute = finding->compute;
    const struct ap_trace *trace = finding->trace;
    int64_t ns = trace->events.dur_ns[linked.row];
    unsigned told = finding->facts->families.of_name[trace->events.name[linked.row]];
    add_ns(compute, &compute->kernel_ns, ns);
    if (told & AP_KERNEL_DEQUANTIZES) {
        add_ns(compute, &compute->dequantize_ns, ns);
        compute->dequantize_count++;
    }
    if (told & AP_KERNEL_TURNS)
        add_ns(compute, &compute->turn_ns, ns);
    uint32_t call = call_of(finding, linked);
    compute->other_count += call == AP_ROW_SET_NONE;
    return call == AP_ROW_SET_NONE ? AP_OK : take_call_kernel(finding, call, linked.row, reterr);
}

static enum ap_status take_kernels(struct finding *finding, struct ap_error *reterr)
{
    const struct ap_links *links = &finding->facts->links;
    size_t calls = finding->compute->counted.count;
    AP_TRY(AP_ALLOC_CLEARED(finding->compute->gate, finding->compute->call_ns, calls, reterr));
    AP_TRY(AP_ALLOC(finding->compute->gate, finding->kernel_of, calls, reterr));
    memset(finding->kernel_of, 0xff, calls * sizeof(finding->kernel_of[0])); /* AP_NO_ROW */
    for (size_t i = 0; i < links->count; i++)
        if (ap_row_kind(finding->trace->events.tag[links->row[i]]) == AP_KIND_kernel &&
            !ap_kernel_is_communication(&finding->facts->families, finding->trace, links->row[i]))
            AP_TRY(take_kernel(finding, ap_device_row_at(links, i), reterr));
    return AP_OK;
}

static bool is_waited_for(const struct ap_trace *trace, uint32_t call, uint32_t kernel)
{
    return ap_row_kind(trace->events.tag[call]) == AP_KIND_operator &&
           trace->events.start_ns[kernel] >= trace->events.start_ns[call] &&
           ap_row_end_ns(trace, kernel) <= ap_row_end_ns(trace, call) &&
           trace->events.dur_ns[kernel] >= trace->events.dur_ns[call] / 2;
}

/* ---- sums ---- */

static void add_work(struct ap_compute *compute, const struct ap_kept_cost *cost, bool timed)
{
    double flops = ap_compute_matrix_flops(cost), bytes = cost->bytes > 0 ? cost->bytes : 0;
    compute->flops += flops;
    compute->bytes += bytes;
    compute->timed_flops += timed ? flops : 0;
    compute->timed_bytes += timed ? bytes : 0;
}

static void note_longest(struct finding *finding, uint32_t at, uint32_t row, uint32_t kernel, int64_t ns)
{
    struct ap_compute_group *group = &finding->compute->full[at];
    group->timed_count++;
    add_ns(finding->compute, &group->total_ns, ns);
    if (ns <= finding->longest_ns[at])
        return;
    finding->longest_ns[at] = ns;
    group->longest_row = kernel == AP_NO_ROW ? row : kernel;
    group->kernel = kernel == AP_NO_ROW ? 0 : finding->trace->events.name[kernel];
}

static void sum_calls(struct finding *finding)
{
    struct ap_compute *compute = finding->compute;
    for (uint32_t row = 0, call = 0; call < compute->counted.count; row++) {
        row = ap_row_set_next(&compute->counted, row);
        uint32_t number = compute->group_of[call];
        const struct ap_kept_cost *cost = &AP_COMPUTE_GROUP(compute, number)->cost;
        uint32_t kernel = compute->is_host ? AP_NO_ROW : finding->kernel_of[call];
        int64_t ns = ap_compute_call_ns(compute, finding->trace, row, call++);
        bool timed = compute->is_host || kernel != AP_NO_ROW;
        add_work(compute, cost, timed);
        if (!timed)
            continue;
        if (kernel != AP_NO_ROW && is_waited_for(finding->trace, row, kernel))
            add_ns(compute, &compute->waited_ns, finding->trace->events.dur_ns[kernel]);
        if (cost->flops >= 0 || cost->bytes >= 0)
            add_ns(compute, &compute->known_ns, ns);
        if (ap_compute_matrix_flops(cost) > 0)
            add_ns(compute, &compute->product_ns, ns);
        if (!compute->groups[number].is_alone)
            note_longest(finding, compute->groups[number].at, row, kernel, ns);
    }
}

/* What only grouping asks for. */
static void forget_pairs(struct finding *finding)
{
    ap_pair_map_release(&finding->signatures);
    ap_pair_map_release(&finding->shapes);
    ap_pair_map_release(&finding->groups);
    ap_near_pairs_release(&finding->plain);
    AP_FREE(finding->compute->gate, finding->with_arguments, finding->with_arguments_capacity);
    finding->with_arguments = NULL;
    finding->with_arguments_capacity = 0;
}

static enum ap_status find_all(struct finding *finding, struct ap_error *reterr)
{
    struct ap_compute *compute = finding->compute;
    AP_TRY(AP_ALLOC(compute->gate, compute->recent, RECENT_COUNT, reterr));
    for (int i = 0; i < RECENT_COUNT; i++)
        compute->recent[i].row = AP_NO_ROW;
    AP_TRY(find_formulas(finding, reterr));
    AP_TRY(find_steps(finding, reterr));
    AP_TRY(take_graphs(finding, reterr));
    AP_TRY(find_counted(finding, reterr));
    compute->is_host = !finding->facts->links.count;
    AP_TRY(group_calls(finding, reterr));
    forget_pairs(finding);
    if (!compute->counted.count) {
        for (size_t i = 0; i < finding->facts->links.count; i++)
            if (ap_row_kind(finding->trace->events.tag[finding->facts->links.row[i]]) == AP_KIND_kernel)
                add_ns(compute, &compute->kernel_ns, finding->trace->events.dur_ns[finding->facts->links.row[i]]);
        return AP_OK;
    }
    if (!compute->is_host)
        AP_TRY(take_kernels(finding, reterr));
    if (compute->full_count)
        AP_TRY(AP_ALLOC_CLEARED(compute->gate, finding->longest_ns, compute->full_count, reterr));
    sum_calls(finding);
    return ap_compute_find_times(compute, finding->trace, finding->kernel_of, reterr);
}

enum ap_status ap_compute_init(struct ap_compute *compute, const struct ap_facts *facts, struct ap_gate *gate,
                               struct ap_error *reterr)
{
    struct finding finding = { .compute = compute, .facts = facts, .trace = facts->trace };
    *compute = (struct ap_compute){ .gate = gate, .trace = facts->trace };
    finding.plain.gate = finding.plain.others.gate = gate;
    finding.signatures.gate = finding.shapes.gate = finding.groups.gate = gate;
    finding.steps.gate = gate;
    enum ap_status status = find_all(&finding, reterr);
    ap_engine_steps_release(&finding.steps);
    AP_FREE(gate, finding.by_step, finding.by_step_capacity);
    AP_FREE(gate, finding.kernel_of, compute->counted.count);
    AP_FREE(gate, finding.longest_ns, compute->full_count);
    AP_FREE(gate, finding.mapped, facts->trace->events.count);
    AP_FREE(gate, finding.replayed, facts->trace->events.count);
    for (int i = 0; i < 2; i++)
        ap_row_set_release(&finding.above[i]);
    forget_pairs(&finding);
    return status;
}

void ap_compute_release(struct ap_compute *compute)
{
    AP_FREE(compute->gate, compute->group_of, compute->counted.count);
    AP_FREE(compute->gate, compute->call_ns, compute->counted.count);
    AP_FREE(compute->gate, compute->groups, compute->group_capacity);
    AP_FREE(compute->gate, compute->formulas, compute->formulas ? ap_trace_id_count(compute->trace) : 0);
    AP_FREE(compute->gate, compute->recent, RECENT_COUNT);
    AP_FREE(compute->gate, compute->full, compute->full_capacity);
    AP_FREE(compute->gate, compute->numbers, compute->number_capacity);
    ap_row_set_release(&compute->counted);
    *compute = (struct ap_compute){ .gate = compute->gate };
}
