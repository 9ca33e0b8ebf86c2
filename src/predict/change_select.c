/* SPDX-License-Identifier: MIT */
#include "change_select.h"

#include "autograd.h"
#include "sort.h"
#include "waits.h"

#include "poison.h"

#define NAMED(column) (UINT32_C(1) << AP_CHANGE_COLUMN_##column)

struct selector {
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    const struct ap_replay_graph *graph;
    const struct ap_change *change;
    struct ap_made_nodes *nodes;
    struct ap_selection *selection;
    uint8_t *wait_of_row; /* category + 1; 0 = no wait. NULL where nobody asks */
    uint32_t *told;       /* by name: what was last asked about it, and the answer. NULL = the condition asks for times */
    uint32_t host_kinds;  /* of rows of the host that the condition may fit */
    uint8_t *backward;    /* by row: it is the backward pass of what is taken away. NULL = nothing is */
};

/* Columns that rows of devices have, and those that no row has: a condition that names no other fits no row of the host. */
#define OF_DEVICES \
    (NAMED(kernel) | NAMED(family) | NAMED(subfamily) | NAMED(collective) | NAMED(copy) | NAMED(memset) | NAMED(dur_us))
#define OF_NO_ROW (NAMED(gap) | NAMED(thread))

/* ---- one row as conditions see it ---- */

/* Only what the condition asks for: it is evaluated for each row. */
struct row {
    struct ap_value object, members[AP_CHANGE_COLUMN_COUNT_];
    size_t count;
    uint32_t columns;
};

static void row_begin(struct row *row, const struct ap_change *change)
{
    row->object = (struct ap_value){ .type = AP_VALUE_OBJECT };
    row->count = 0;
    row->columns = change->columns;
}

static void row_add(struct row *row, enum ap_change_column column, struct ap_value value)
{
    struct ap_value *member = &row->members[row->count++];
    *member = value;
    member->key = ap_text_of(ap_change_column_name(column));
    if (row->object.as.children.last)
        row->object.as.children.last->next = member;
    else
        row->object.as.children.first = member;
    row->object.as.children.last = member;
}

static bool asks_for(const struct row *row, enum ap_change_column column)
{
    return row->columns & UINT32_C(1) << column;
}

static void row_add_text(struct row *row, enum ap_change_column column, struct ap_text text)
{
    if (asks_for(row, column))
        row_add(row, column, (struct ap_value){ .type = AP_VALUE_TEXT, .as.text = text });
}

static void row_add_dur(const struct selector *selector, struct row *row, uint32_t at)
{
    if (asks_for(row, AP_CHANGE_COLUMN_dur_us))
        row_add(row, AP_CHANGE_COLUMN_dur_us,
                (struct ap_value){ .type = AP_VALUE_TIME_NS, .as.integer = selector->trace->events.dur_ns[at] });
}

static bool is_chosen(const struct selector *selector, const struct row *row)
{
    return ap_expr_evaluate(&selector->change->expr, &row->object) == AP_TRUE;
}

typedef void fill_row(const struct selector *selector, struct row *row, uint32_t at);

static __attribute__((noinline)) bool evaluate(const struct selector *selector, uint32_t at, fill_row *fill)
{
    struct row row;
    fill(selector, &row, at);
    return is_chosen(selector, &row);
}

/* Rows of one name and one @kind, which is all else that conditions without times see of them, fare alike: the condition is
 * evaluated where one follows that differs from the last of its name. */
static inline bool is_row_chosen(const struct selector *selector, uint32_t at, uint32_t kind, fill_row *fill)
{
    if (!selector->told)
        return evaluate(selector, at, fill);
    uint32_t *told = &selector->told[selector->trace->events.name[at]];
    if (*told >> 1 != kind + 1)
        *told = (kind + 1) << 1 | evaluate(selector, at, fill);
    return *told & 1;
}

/* ---- devices ---- */

static void fill_kernel(const struct selector *selector, struct row *row, uint32_t at)
{
    const struct ap_kernel_families *families = &selector->facts->families;
    uint32_t name = selector->trace->events.name[at];
    unsigned subfamily = ap_kernel_subfamily_of(families, name);
    row_add_text(row, AP_CHANGE_COLUMN_kernel, ap_trace_text(selector->trace, name));
    row_add_text(row, AP_CHANGE_COLUMN_family, ap_text_of(ap_kernel_family_name(ap_kernel_family_of(subfamily))));
    row_add_text(row, AP_CHANGE_COLUMN_subfamily, ap_text_of(ap_kernel_subfamily_name(subfamily)));
    if (ap_kernel_is_communication(families, selector->trace, at))
        row_add_text(row, AP_CHANGE_COLUMN_collective, ap_trace_text(selector->trace, name));
}

static void fill_device(const struct selector *selector, struct row *row, uint32_t at)
{
    row_begin(row, selector->change);
    row_add_dur(selector, row, at);
    switch (ap_row_kind(selector->trace->events.tag[at])) {
    case AP_KIND_memcpy: row_add_text(row, AP_CHANGE_COLUMN_copy, ap_row_name(selector->trace, at)); break;
    case AP_KIND_memset: row_add_text(row, AP_CHANGE_COLUMN_memset, ap_row_name(selector->trace, at)); break;
    default: fill_kernel(selector, row, at); break;
    }
}

static uint32_t kind_of_device(const struct selector *selector, uint32_t at)
{
    return ap_row_kind(selector->trace->events.tag[at]) << 1 |
           ap_kernel_is_communication(&selector->facts->families, selector->trace, at);
}

static void select_device(struct selector *selector)
{
    struct ap_selection *selection = selector->selection;
    bool of_devices = selector->change->columns & OF_DEVICES;
    for (uint32_t i = 0; i < selector->graph->count; i++) {
        const struct ap_task *task = &selector->graph->tasks[i];
        if (!task->is_device)
            continue;
        if (of_devices && is_row_chosen(selector, task->row, kind_of_device(selector, task->row), fill_device)) {
            selection->chosen[i] |= AP_CHOSEN;
            selection->row_count++;
            selection->device_ns += ap_task_work_ns(selector->graph, task);
        }
        uint32_t launch = ap_task_launch(selector->graph, task);
        if (launch != AP_NO_TASK && selection->chosen[launch] & AP_CHOSEN_START)
            selection->chosen[i] |= AP_CHOSEN_CAUSE;
    }
}

enum ap_status ap_change_device_time(const struct ap_facts *facts, const struct ap_change *change, enum ap_phase phase,
                                     int64_t *ret_all_ns, int64_t *ret_phase_ns, struct ap_error *reterr)
{
    struct selector selector = { .facts = facts, .trace = facts->trace, .change = change };
    const struct ap_links *links = &facts->links;
    size_t names = facts->trace->strings.count + 1;
    bool overflowed = false;
    *ret_all_ns = *ret_phase_ns = 0;
    if (change->columns & ~OF_DEVICES)
        return AP_OK;
    if (!(change->columns & NAMED(dur_us)))
        AP_TRY(AP_ALLOC_CLEARED(facts->gate, selector.told, names, reterr));
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        int64_t dur_ns = facts->trace->events.dur_ns[row];
        if (dur_ns <= 0 || !is_row_chosen(&selector, row, kind_of_device(&selector, row), fill_device))
            continue;
        *ret_all_ns = ap_add_sat(*ret_all_ns, dur_ns, &overflowed);
        if (ap_phase_of_work(&facts->phases, facts->trace, ap_device_row_at(links, i)) == phase)
            *ret_phase_ns = ap_add_sat(*ret_phase_ns, dur_ns, &overflowed);
    }
    AP_FREE(facts->gate, selector.told, names);
    return AP_OK;
}

/* ---- host rows ---- */

static void fill_wait(const struct selector *selector, struct row *row, uint32_t at)
{
    static const char *const categories[] = {
#define AP_SYNC_CATEGORY(category) #category,
#include "sync_category.def"
    };
    if (selector->wait_of_row && selector->wait_of_row[at])
        row_add_text(row, AP_CHANGE_COLUMN_wait, ap_text_of(categories[selector->wait_of_row[at] - 1]));
}

static void fill_host(const struct selector *selector, struct row *row, uint32_t at)
{
    struct ap_text name = ap_row_name(selector->trace, at);
    row_begin(row, selector->change);
    row_add_dur(selector, row, at);
    row_add_text(row, AP_CHANGE_COLUMN_phase, ap_text_of(ap_phase_name(ap_phase_of_row(&selector->facts->phases, at))));
    switch (ap_row_kind(selector->trace->events.tag[at])) {
    case AP_KIND_runtime: row_add_text(row, AP_CHANGE_COLUMN_call, name); break;
    case AP_KIND_python: row_add_text(row, AP_CHANGE_COLUMN_frame, name); break;
    case AP_KIND_annotation: row_add_text(row, AP_CHANGE_COLUMN_range, name); break;
    default: row_add_text(row, AP_CHANGE_COLUMN_op, name); break;
    }
    fill_wait(selector, row, at);
    if (ap_text_starts_with(name, "enumerate(DataLoader)"))
        row_add_text(row, AP_CHANGE_COLUMN_loader, name);
}

static uint32_t kind_of_host(const struct selector *selector, uint32_t at)
{
    uint32_t wait = selector->wait_of_row ? selector->wait_of_row[at] : 0;
    uint32_t phase = selector->change->columns & NAMED(phase) ? ap_phase_of_row(&selector->facts->phases, at) : 0;
    return (wait << 8 | phase) << 8 | ap_row_kind(selector->trace->events.tag[at]);
}

/* Along the tasks of one thread. */
struct cover {
    size_t at, end; /* into thread_tasks */
    int64_t to_ns;  /* covered up to here */
};

/* Spans come in order of their starts: what lies before to_ns is covered already. */
static void cover(struct selector *selector, struct cover *cover, int64_t start_ns, int64_t end_ns)
{
    const struct ap_replay_graph *graph = selector->graph;
    int64_t from_ns = start_ns > cover->to_ns ? start_ns : cover->to_ns;
    if (end_ns <= from_ns)
        return;
    cover->to_ns = end_ns;
    while (cover->at < cover->end && ap_task_end_ns(graph, &graph->tasks[graph->thread_tasks[cover->at]]) < from_ns)
        cover->at++;
    for (size_t i = cover->at; i < cover->end; i++) {
        uint32_t task = graph->thread_tasks[i];
        int64_t task_start_ns = graph->tasks[task].start_ns, task_end_ns = ap_task_end_ns(graph, &graph->tasks[task]);
        if (task_start_ns >= end_ns)
            break;
        cover->at = i;
        if (task_start_ns >= from_ns)
            selector->selection->chosen[task] |= AP_CHOSEN_START;
        int64_t common_ns =
            (task_end_ns < end_ns ? task_end_ns : end_ns) - (task_start_ns > from_ns ? task_start_ns : from_ns);
        if (common_ns > 0)
            selector->selection->covered_ns[task] += common_ns;
    }
}

/* How long processes take for a batch is not recorded where they make it already: the loop only waits for them. */
static bool is_wait_for_workers(const struct selector *selector, uint32_t at)
{
    return (selector->change->verb == AP_CHANGE_workers || selector->change->verb == AP_CHANGE_times) &&
           ap_text_contains(ap_row_name(selector->trace, at), AP_TEXT("MultiProcessing"));
}

static struct cover cover_of(const struct selector *selector, uint32_t track)
{
    return (struct cover){ selector->graph->first_of_thread[track], selector->graph->first_of_thread[track + 1], INT64_MIN };
}

/* Measured: small loops of operators and functions with and without the profiler. */
#define OPERATOR_NS 300
#define SHAPES_NS 250 /* on top, where these are recorded */
#define FRAME_NS 180
#define BUILT_IN_NS 80

int64_t ap_profiler_row_ns(const struct ap_trace *trace, uint32_t row)
{
    switch (ap_row_kind(trace->events.tag[row])) {
    case AP_KIND_operator: return OPERATOR_NS + (trace->record_shapes ? SHAPES_NS : 0);
    case AP_KIND_python: return ap_text_starts_with(ap_row_name(trace, row), "<") ? BUILT_IN_NS : FRAME_NS;
    default: return 0;
    }
}

static void fill_nothing(const struct selector *selector, struct row *row, uint32_t at)
{
    (void)at;
    row_begin(row, selector->change);
}

/* What has none of the columns that the condition names fares as what has none at all, and need not be asked row by row. */
static uint32_t kinds_of_host(const struct selector *selector)
{
    const uint32_t named = selector->change->columns, call = 1u << AP_KIND_runtime, frame = 1u << AP_KIND_python,
                   range = 1u << AP_KIND_annotation;
    if (named & (NAMED(dur_us) | NAMED(phase) | NAMED(wait) | NAMED(loader)) || evaluate(selector, AP_NO_ROW, fill_nothing))
        return AP_HOST_KINDS;
    return (named & NAMED(call) ? call : 0) | (named & NAMED(frame) ? frame : 0) | (named & NAMED(range) ? range : 0) |
           (named & NAMED(op) ? AP_HOST_KINDS & ~(call | frame | range) : 0);
}

static bool is_host_chosen(const struct selector *selector, uint32_t at)
{
    if (selector->backward && selector->backward[at])
        return true;
    return ap_row_is_of(selector->trace, at, selector->host_kinds) &&
           is_row_chosen(selector, at, kind_of_host(selector, at), fill_host) && !is_wait_for_workers(selector, at);
}

static void select_thread(struct selector *selector, uint32_t track)
{
    const struct ap_row_order *order = &selector->facts->order;
    struct cover along = cover_of(selector, track);
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t at = order->rows[i];
        if (!ap_row_is_of(selector->trace, at, AP_HOST_KINDS) || selector->trace->events.dur_ns[at] < 0)
            continue;
        if (is_host_chosen(selector, at)) {
            selector->selection->row_count++;
            cover(selector, &along, selector->trace->events.start_ns[at], ap_row_end_ns(selector->trace, at));
        }
        if (selector->trace->events.start_ns[at] < along.to_ns)
            selector->selection->profiler_ns += ap_profiler_row_ns(selector->trace, at);
    }
}

/* Time of the main thread between operators and calls that have no other one around. */
static void select_gaps(struct selector *selector, uint32_t track)
{
    const struct ap_row_order *order = &selector->facts->order;
    const struct ap_trace *trace = selector->trace;
    struct cover along = cover_of(selector, track);
    int64_t to_ns = INT64_MIN;
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t at = order->rows[i];
        if (!ap_row_is_of(trace, at, 1u << AP_KIND_operator | 1u << AP_KIND_runtime) || trace->events.dur_ns[at] < 0)
            continue;
        if (to_ns != INT64_MIN && trace->events.start_ns[at] > to_ns) {
            selector->selection->row_count++;
            cover(selector, &along, to_ns, trace->events.start_ns[at]);
        }
        to_ns = ap_row_end_ns(trace, at) > to_ns ? ap_row_end_ns(trace, at) : to_ns;
    }
}

static bool fits(const struct selector *selector, enum ap_change_column column, struct ap_text text)
{
    struct row row;
    row_begin(&row, selector->change);
    row_add_text(&row, column, text);
    return is_chosen(selector, &row);
}

static void select_main(struct selector *selector, uint32_t track)
{
    const struct ap_row_order *order = &selector->facts->order;
    struct cover along = cover_of(selector, track);
    selector->selection->row_count++;
    cover(selector, &along, INT64_MIN, INT64_MAX);
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++)
        selector->selection->profiler_ns += ap_profiler_row_ns(selector->trace, order->rows[i]);
}

static void select_host(struct selector *selector)
{
    uint32_t main_track = selector->facts->main_track, named = selector->change->columns;
    bool any = named == NAMED(dur_us) || named & ~(OF_DEVICES | OF_NO_ROW);
    for (uint32_t track = 0; track < selector->graph->track_count && any; track++)
        select_thread(selector, track);
    if (main_track == AP_NO_ROW)
        return;
    if (named & NAMED(gap) && fits(selector, AP_CHANGE_COLUMN_gap, AP_TEXT("host")))
        select_gaps(selector, main_track);
    if (named & NAMED(thread) && fits(selector, AP_CHANGE_COLUMN_thread, AP_TEXT("main")))
        select_main(selector, main_track);
}

/* ---- whole ---- */

/* Of a copy and the call that waits for it, in one operator, one stands for both among the waits: here both are told. */
static void mark_siblings(const struct selector *selector, const struct ap_waits *waits, uint8_t *category_of_parent)
{
    const struct ap_facts *facts = selector->facts;
    const struct ap_host_tree *tree = &facts->tree;
    for (size_t i = 0; i < waits->count; i++)
        if (waits->waits[i].chain.leaf != AP_NO_ROW && ap_host_parent(tree, waits->waits[i].row) != AP_NO_ROW)
            category_of_parent[ap_host_parent(tree, waits->waits[i].row)] = (uint8_t)(waits->waits[i].category + 1);
    for (uint32_t row = 0; row < facts->trace->events.count; row++) {
        if (ap_row_kind(facts->trace->events.tag[row]) != AP_KIND_runtime || selector->wait_of_row[row] ||
            ap_host_parent(tree, row) == AP_NO_ROW)
            continue;
        enum ap_call_kind kind = ap_call_kind_of(&facts->calls, facts->trace, row);
        if (kind == AP_CALL_wait || kind == AP_CALL_copy || kind == AP_CALL_blocking_copy)
            selector->wait_of_row[row] = category_of_parent[ap_host_parent(tree, row)];
    }
}

/* The operators that do nothing but read the number go with the wait. */
static void mark_read(const struct selector *selector, const struct ap_wait *wait)
{
    const struct ap_host_tree *tree = &selector->facts->tree;
    uint32_t row = wait->chain.leaf;
    for (int i = 0; i < 2 && row != AP_NO_ROW && wait->category == AP_SYNC_scalar_read;
         i++, row = ap_host_parent(tree, row)) {
        struct ap_text name = ap_row_name(selector->trace, row);
        if (ap_text_is(name, "aten::_local_scalar_dense") || ap_text_is(name, "aten::item"))
            selector->wait_of_row[row] = (uint8_t)(wait->category + 1);
    }
}

/* So do all that write a tensor as text, with what they launch, from the wait before on. */
static void mark_written(const struct selector *selector, const struct ap_wait *wait)
{
    const struct ap_row_order *order = &selector->facts->order;
    const struct ap_trace *trace = selector->trace;
    uint32_t track = trace->events.track[wait->row];
    size_t from = order->track_start[track], to = order->track_start[track + 1];
    int64_t start_ns = wait->end_ns - wait->written_ns;
    AP_BISECT(from, to, at, trace->events.start_ns[order->rows[at]] < start_ns);
    for (; from < to && trace->events.start_ns[order->rows[from]] < wait->end_ns; from++) {
        uint32_t row = order->rows[from];
        if (ap_row_is_of(trace, row, AP_HOST_KINDS) && ap_row_end_ns(trace, row) <= wait->end_ns &&
            !selector->wait_of_row[row])
            selector->wait_of_row[row] = (uint8_t)(wait->category + 1);
    }
}

static enum ap_status mark_waits(struct selector *selector, const struct ap_waits *waits, struct ap_error *reterr)
{
    size_t rows = selector->trace->events.count;
    uint8_t *category_of_parent;
    AP_TRY(AP_ALLOC_CLEARED(selector->facts->gate, category_of_parent, rows, reterr));
    for (size_t i = 0; i < waits->count; i++)
        selector->wait_of_row[waits->waits[i].row] = (uint8_t)(waits->waits[i].category + 1);
    for (size_t i = 0; i < waits->count; i++) {
        mark_read(selector, &waits->waits[i]);
        if (waits->waits[i].category == AP_SYNC_formatting)
            mark_written(selector, &waits->waits[i]);
    }
    mark_siblings(selector, waits, category_of_parent);
    AP_FREE(selector->facts->gate, category_of_parent, rows);
    return AP_OK;
}

static enum ap_status find_waits(struct selector *selector, struct ap_error *reterr)
{
    const struct ap_facts *facts = selector->facts;
    struct ap_waits waits;
    if (!(selector->change->columns & NAMED(wait)) || !selector->trace->events.count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(facts->gate, selector->wait_of_row, selector->trace->events.count, reterr));
    enum ap_status status =
        ap_waits_init(&waits, facts->trace, &facts->order, &facts->tree, &facts->links, &facts->calls, facts->gate, reterr);
    AP_AND_THEN(status, mark_waits(selector, &waits, reterr));
    ap_waits_release(&waits);
    return status;
}

/* Which rows lie in chosen ones. */
static void mark_inside(const struct selector *selector, uint8_t *inside)
{
    const struct ap_row_order *order = &selector->facts->order;
    for (uint32_t track = 0; track < selector->graph->track_count; track++) {
        int64_t to_ns = INT64_MIN;
        for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
            uint32_t at = order->rows[i];
            if (!ap_row_is_of(selector->trace, at, AP_HOST_KINDS) || selector->trace->events.dur_ns[at] < 0)
                continue;
            if (ap_row_end_ns(selector->trace, at) > to_ns && is_host_chosen(selector, at))
                to_ns = ap_row_end_ns(selector->trace, at);
            inside[at] = selector->trace->events.start_ns[at] < to_ns;
        }
    }
}

static enum ap_status keep_nodes(struct ap_made_nodes *nodes, const struct ap_autograd *autograd, struct ap_error *reterr)
{
    for (size_t i = 0; i < autograd->node_count; i++)
        if (autograd->nodes[i].producer != AP_NO_ROW)
            AP_TRY_ADD(autograd->gate, nodes->list, nodes->count, nodes->capacity, reterr,
                       (struct ap_made_node){ autograd->nodes[i].producer, autograd->nodes[i].row });
    nodes->are_found = true;
    return AP_OK;
}

static enum ap_status find_nodes(const struct selector *selector, struct ap_error *reterr)
{
    struct ap_autograd autograd;
    const struct ap_facts *facts = selector->facts;
    if (selector->nodes->are_found)
        return AP_OK;
    selector->nodes->count = 0;
    enum ap_status status = ap_autograd_init(&autograd, facts->trace, &facts->order, &facts->tree, facts->gate, reterr);
    AP_AND_THEN(status, keep_nodes(selector->nodes, &autograd, reterr));
    ap_autograd_release(&autograd);
    return status;
}

/* What is not done forward has no backward pass. @inside becomes the rows of that. */
static enum ap_status turn_to_backward(struct selector *selector, uint8_t *inside, struct ap_error *reterr)
{
    const struct ap_made_nodes *nodes = selector->nodes;
    AP_TRY(find_nodes(selector, reterr));
    for (size_t i = 0; i < nodes->count; i++)
        if (inside[nodes->list[i].producer] & 1u)
            inside[nodes->list[i].row] |= 2u;
    for (size_t row = 0; row < selector->trace->events.count; row++)
        inside[row] >>= 1;
    return AP_OK;
}

static enum ap_status find_backward(struct selector *selector, struct ap_error *reterr)
{
    uint8_t *inside;
    if (selector->change->verb != AP_CHANGE_gone || !(selector->change->columns & (NAMED(op) | NAMED(range) | NAMED(frame))))
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(selector->facts->gate, inside, selector->trace->events.count, reterr));
    mark_inside(selector, inside);
    enum ap_status status = turn_to_backward(selector, inside, reterr);
    selector->backward = inside;
    return status;
}

static void sum_host(struct ap_selection *selection, const struct ap_replay_graph *graph)
{
    for (uint32_t i = 0; i < graph->count; i++)
        selection->host_ns += graph->tasks[i].is_device ? 0 : ap_selection_work_ns(selection, graph, i);
}

enum ap_status ap_selection_find(struct ap_selection *selection, const struct ap_facts *facts,
                                 const struct ap_replay_graph *graph, struct ap_made_nodes *nodes,
                                 const struct ap_change *change, struct ap_error *reterr)
{
    struct selector selector = {
        .facts = facts, .trace = facts->trace, .graph = graph, .change = change, .nodes = nodes, .selection = selection
    };
    *selection = (struct ap_selection){ .gate = graph->gate, .count = graph->count };
    if (!graph->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(selection->gate, selection->covered_ns, selection->count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(selection->gate, selection->chosen, selection->count, reterr));
    size_t names = facts->trace->strings.count + 1;
    if (!(change->columns & NAMED(dur_us)))
        AP_TRY(AP_ALLOC_CLEARED(facts->gate, selector.told, names, reterr));
    selector.host_kinds = kinds_of_host(&selector);
    enum ap_status status = find_waits(&selector, reterr);
    AP_AND_THEN(status, find_backward(&selector, reterr));
    if (status == AP_OK) {
        select_host(&selector);
        if (selection->row_count)
            sum_host(selection, graph);
        select_device(&selector);
    }
    AP_FREE(facts->gate, selector.wait_of_row, selector.trace->events.count);
    AP_FREE(facts->gate, selector.told, names);
    AP_FREE(facts->gate, selector.backward, selector.trace->events.count);
    return status;
}

void ap_selection_release(struct ap_selection *selection)
{
    AP_FREE(selection->gate, selection->covered_ns, selection->count);
    AP_FREE(selection->gate, selection->chosen, selection->count);
    *selection = (struct ap_selection){ .gate = selection->gate };
}
