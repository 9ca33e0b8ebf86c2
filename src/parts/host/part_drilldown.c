/* SPDX-License-Identifier: MIT
 * report_drilldown.c - from the whole run to single operations: kind of step, phase, component, operation. Each level is
 * short and adds up to the row above it. */
#include "host_part.h"
#include "sort.h"

#include "poison.h"

/* Rows of a level beside what is not listed; rows below this share of the whole are not divided further. */
#define LEVEL_ROWS 7
#define DIVIDED_PERCENT 1

enum level { LEVEL_STEP, LEVEL_PHASE, LEVEL_COMPONENT, LEVEL_OPERATION, LEVEL_COUNT };

static const char *const level_names[] = { "step", "phase", "component", "operation" };
static const char *const step_names[] = { "whole trace", "steady steps", "cold step", "cut steps", "outside steps" };
_Static_assert(AP_COUNT_OF(step_names) == AP_STEP_CLASS_COUNT_, "one name for each");

/* Components: families of operators, then subfamilies of kernels for work that no operator launched. */
#define KERNEL_COMPONENT 64u

/* One operation of one component in one phase of one kind of step. With millions of distinct names there are as many. */
struct leaf {
    uint32_t name;
    uint8_t step, phase, component;
    int64_t ns;
};

/* Of all leaves with the same keys up to a level. */
struct level_sums {
    int64_t steps_ns[AP_STEP_CLASS_COUNT_], phases_ns[AP_STEP_CLASS_COUNT_ * AP_PHASE_COUNT_];
    int64_t components_ns[AP_STEP_CLASS_COUNT_ * AP_PHASE_COUNT_][2 * KERNEL_COMPONENT];
};
_Static_assert(2 * KERNEL_COMPONENT <= UINT8_MAX + 1, "a component is kept in a byte");

struct leaves {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    struct ap_pair_map map; /* (step and phase and component, name) */
    struct ap_step_cursor step;
    struct leaf *leaves;
    uint32_t count;
    size_t capacity;
    struct level_sums sums;
    int64_t total_ns;
    uint32_t phase; /* the only one that is wanted; AP_PHASE_COUNT_ = all are */
    bool overflowed;
};

/* @number: of the leaf, whose turn it is where it is new. */
static enum ap_status add_to_leaf(struct leaves *leaves, uint32_t number, uint32_t slot, uint32_t component, uint32_t name,
                                  int64_t ns, struct ap_error *reterr)
{
    if (number == leaves->count)
        AP_TRY_ADD(leaves->gate, leaves->leaves, leaves->count, leaves->capacity, reterr,
                   (struct leaf){ name, (uint8_t)(slot / AP_PHASE_COUNT_), (uint8_t)(slot % AP_PHASE_COUNT_),
                                  (uint8_t)component, 0 });
    struct leaf *leaf = &leaves->leaves[number];
    leaf->ns = ap_add_sat(leaf->ns, ns, &leaves->overflowed);
    leaves->total_ns = ap_add_sat(leaves->total_ns, ns, &leaves->overflowed);
    return AP_OK;
}

static bool is_wanted(const struct leaves *leaves, uint32_t slot)
{
    return leaves->phase == AP_PHASE_COUNT_ || leaves->phase == slot % AP_PHASE_COUNT_;
}

/* ----------------------------------------------------------------------------------------------------- collecting */

static enum ap_status add_device_leaf(struct ap_part_context *context, struct leaves *leaves, struct ap_device_row linked,
                                      struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    uint32_t cause = ap_work_cause(trace, linked), name = trace->events.name[linked.row];
    enum ap_step_class step =
        context->facts->steps.count ? AP_STEP_outside : AP_STEP_whole; /* the GPU runs behind the host */
    if (cause != AP_NO_ROW)
        step = ap_step_class_at(&leaves->step, trace->events.start_ns[cause]);
    enum ap_phase phase = ap_phase_of_work(&context->facts->phases, trace, linked);
    unsigned component = KERNEL_COMPONENT + ap_kernel_subfamily_of(context->facts->phases.families, name);
    bool is_collective = phase == AP_PHASE_communication && ap_row_is_of(trace, linked.row, 1u << AP_KIND_kernel) &&
                         ap_kernel_is_communication(context->facts->phases.families, trace, linked.row);
    if (!is_collective && linked.op != AP_NO_ROW && ap_row_is_of(trace, linked.op, 1u << AP_KIND_operator)) {
        name = trace->events.name[linked.op];
        component = context->facts->op_families.of_name[name];
    }
    uint32_t slot = AP_SLOT(step, phase), number;
    if (!is_wanted(leaves, slot))
        return AP_OK;
    AP_TRY(ap_pair_map_add(&leaves->map, slot << 8 | component, name, &number, reterr));
    return add_to_leaf(leaves, number, slot, component, name, trace->events.dur_ns[linked.row], reterr);
}

/* The name of an operator tells the component. */
static void add_host_leaf(const struct ap_part_context *context, struct leaves *leaves, uint32_t name, uint32_t slot,
                          int64_t ns)
{
    leaves->leaves[leaves->count++] =
        (struct leaf){ name, (uint8_t)(slot / AP_PHASE_COUNT_), (uint8_t)(slot % AP_PHASE_COUNT_),
                       context->facts->op_families.of_name[name], ns };
}

static void keep_wanted(struct leaves *leaves)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->leaves[i];
        if (!is_wanted(leaves, AP_SLOT(leaf->step, leaf->phase)))
            continue;
        leaves->total_ns = ap_add_sat(leaves->total_ns, leaf->ns, &leaves->overflowed);
        leaves->leaves[kept++] = *leaf;
    }
    leaves->count = kept;
}

/* The first leaves are the operators, in their first place, without what they took in others. */
static enum ap_status add_host_leaves(const struct ap_part_context *context, const struct ap_host_work *work,
                                      struct leaves *leaves, struct ap_error *reterr)
{
    size_t count = (size_t)work->op_count + work->slot_map.count;
    AP_TRY(AP_RESERVE(leaves->gate, leaves->leaves, leaves->capacity, count, reterr));
    for (uint32_t op = 0; op < work->op_count; op++) {
        const struct ap_op_cost cost = ap_host_op_cost(work, op);
        add_host_leaf(context, leaves, cost.cost.name, work->first_slots[op], cost.cost.host_self_ns);
    }
    for (uint32_t i = 0; i < work->slot_map.count; i++) {
        const struct ap_op_slot *slot = &work->slots[i];
        leaves->leaves[slot->op].ns -= slot->host_self_ns;
        add_host_leaf(context, leaves, ap_host_op_cost(work, slot->op).cost.name, slot->slot, slot->host_self_ns);
    }
    keep_wanted(leaves);
    return AP_OK;
}

static enum ap_status collect(struct ap_part_context *context, const struct ap_host_work *work, struct leaves *leaves,
                              struct ap_error *reterr)
{
    if (!context->facts->links.linked_count)
        return work->op_count ? add_host_leaves(context, work, leaves, reterr) : AP_OK;
    for (size_t i = 0; i < context->facts->links.count; i++)
        AP_TRY(add_device_leaf(context, leaves, ap_device_row_at(&context->facts->links, i), reterr));
    return AP_OK;
}

/* The sums of each step, phase and component. */
static void sum_levels(struct leaves *leaves)
{
    struct level_sums *sums = &leaves->sums;
    for (uint32_t i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->leaves[i];
        uint32_t slot = AP_SLOT(leaf->step, leaf->phase);
        int64_t *component = &sums->components_ns[slot][leaf->component];
        sums->steps_ns[leaf->step] = ap_add_sat(sums->steps_ns[leaf->step], leaf->ns, &leaves->overflowed);
        sums->phases_ns[slot] = ap_add_sat(sums->phases_ns[slot], leaf->ns, &leaves->overflowed);
        *component = ap_add_sat(*component, leaf->ns, &leaves->overflowed);
    }
}

static uint32_t key_of(const struct leaf *leaf, size_t level)
{
    switch (level) {
    case LEVEL_STEP: return leaf->step;
    case LEVEL_PHASE: return leaf->phase;
    case LEVEL_COMPONENT: return leaf->component;
    default: return leaf->name;
    }
}

static int64_t ns_of(const struct leaves *leaves, const struct leaf *leaf, size_t level)
{
    switch (level) {
    case LEVEL_STEP: return leaves->sums.steps_ns[leaf->step];
    case LEVEL_PHASE: return leaves->sums.phases_ns[AP_SLOT(leaf->step, leaf->phase)];
    case LEVEL_COMPONENT: return leaves->sums.components_ns[AP_SLOT(leaf->step, leaf->phase)][leaf->component];
    default: return leaf->ns;
    }
}

/* Depth first, the larger first on each level. */
static bool leaf_before(const void *data, uint32_t a, uint32_t b)
{
    const struct leaves *leaves = data;
    const struct leaf *x = &leaves->leaves[a], *y = &leaves->leaves[b];
    for (size_t level = 0; level < LEVEL_COUNT; level++) {
        AP_LARGER_FIRST(ns_of(leaves, x, level), ns_of(leaves, y, level));
        AP_SMALLER_FIRST(key_of(x, level), key_of(y, level));
    }
    return a < b;
}

/* @largest: numbers of the largest leaves of one component, plus one, the first one first; 0 = there are no more. */
static void keep_if_large(const struct leaves *leaves, uint32_t *largest, uint32_t number)
{
    size_t at = LEVEL_ROWS;
    while (at && (!largest[at - 1] || leaf_before(leaves, number, largest[at - 1] - 1)))
        at--;
    if (at == LEVEL_ROWS)
        return;
    memmove(largest + at + 1, largest + at, (LEVEL_ROWS - 1 - at) * sizeof(largest[0]));
    largest[at] = number + 1;
}

#define LISTED_MAX ((size_t)AP_STEP_CLASS_COUNT_ * AP_PHASE_COUNT_ * 2 * KERNEL_COMPONENT * LEVEL_ROWS)

/* The leaves that may have rows, in order: the largest of each component. Of millions of names all others need no order. The
 * list has room for LISTED_MAX. */
static enum ap_status list_largest(const struct leaves *leaves, uint32_t **ret_list, size_t *ret_count,
                                   struct ap_error *reterr)
{
    uint32_t *list;
    size_t count = 0;
    AP_TRY(AP_ALLOC_CLEARED(leaves->gate, list, LISTED_MAX, reterr));
    for (uint32_t i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->leaves[i];
        size_t component = AP_SLOT(leaf->step, leaf->phase) * 2 * KERNEL_COMPONENT + leaf->component;
        keep_if_large(leaves, &list[component * LEVEL_ROWS], i);
    }
    for (size_t i = 0; i < LISTED_MAX; i++)
        if (list[i])
            list[count++] = list[i] - 1;
    enum ap_status status = ap_sort_list(leaves->gate, list, count, leaf_before, leaves, reterr);
    if (status != AP_OK)
        AP_FREE(leaves->gate, list, LISTED_MAX);
    *ret_list = list;
    *ret_count = count;
    return status;
}

/* --------------------------------------------------------------------------------------------------------- output */

static struct ap_text key_text(const struct leaves *leaves, enum level level, uint32_t key)
{
    switch (level) {
    case LEVEL_STEP: return ap_text_of(step_names[key]);
    case LEVEL_PHASE: return ap_text_of(ap_phase_name((enum ap_phase)key));
    case LEVEL_COMPONENT:
        if (key < KERNEL_COMPONENT)
            return ap_text_of(ap_op_family_name(key));
        return ap_text_of(key == KERNEL_COMPONENT ? "copy or memset" : ap_kernel_subfamily_name(key - KERNEL_COMPONENT));
    default: return ap_trace_text(leaves->trace, key);
    }
}

/* The open row of each level while the leaves go by in order. */
struct writing {
    const struct leaves *leaves;
    struct ap_model *model;
    struct ap_value *list;
    struct open_level {
        uint32_t key;
        int64_t ns, shown_ns; /* of the row; of the rows below it that were written */
        unsigned rows;        /* of them */
        bool is_open, is_divided;
    } open[LEVEL_COUNT];
    unsigned rows; /* of the first level */
};

/* Only operations are called by names of the input; those of the other levels are literals of ours. */
static void add_level_name(struct ap_model *model, struct ap_value *to, const char *key, size_t level, struct ap_text name)
{
    if (level < LEVEL_OPERATION)
        ap_add_string(model, to, key, name.data);
    else
        ap_add_text(model, to, key, name);
}

static void add_row(struct writing *writing, size_t level, struct ap_text name, int64_t ns)
{
    struct ap_value *row = ap_add_object(writing->model, writing->list, NULL);
    ap_add_count(writing->model, row, "depth", (int64_t)level);
    ap_add_string(writing->model, row, "level", level_names[level]);
    add_level_name(writing->model, row, "name", level, name);
    ap_add_time(writing->model, row, "time_us", ns);
    ap_add_quotient(writing->model, row, "share_ratio", (double)ns, (double)writing->leaves->total_ns);
}

/* Ends rows from the innermost level up to @level: what was not written of them is "not listed", since
 * "other" is a phase and a family. */
static void close_levels(struct writing *writing, size_t level)
{
    for (size_t i = LEVEL_COUNT; i-- > level;) {
        struct open_level *open = &writing->open[i];
        if (open->is_open && open->is_divided && open->ns != open->shown_ns)
            add_row(writing, i + 1, AP_TEXT("not listed"), open->ns - open->shown_ns);
        open->is_open = false;
    }
}

/* False where the row is one of those that are not listed. */
static bool open_level(struct writing *writing, const struct leaf *leaf, size_t level)
{
    struct open_level *above = level ? &writing->open[level - 1] : NULL;
    unsigned *rows = above ? &above->rows : &writing->rows;
    if (above && (!above->is_divided || *rows >= LEVEL_ROWS))
        return false;
    int64_t ns = ns_of(writing->leaves, leaf, level);
    uint32_t key = key_of(leaf, level);
    ++*rows;
    bool overflowed = false; /* then the sum above it was, too, and that is told */
    if (above)
        above->shown_ns = ap_add_sat(above->shown_ns, ns, &overflowed);
    bool is_divided = level + 1 < LEVEL_COUNT && (double)ns * 100 >= (double)writing->leaves->total_ns * DIVIDED_PERCENT;
    writing->open[level] = (struct open_level){ key, ns, 0, 0, true, is_divided };
    add_row(writing, level, key_text(writing->leaves, (enum level)level, key), ns);
    return true;
}

static void write_leaf(struct writing *writing, const struct leaf *leaf)
{
    size_t level = 0;
    while (level < LEVEL_COUNT && writing->open[level].is_open && writing->open[level].key == key_of(leaf, level))
        level++;
    close_levels(writing, level);
    while (level < LEVEL_COUNT && open_level(writing, leaf, level))
        level++;
}

/* The largest row of each level within the largest row above. */
static void add_narrowed(const struct leaves *leaves, const struct leaf *largest, struct ap_model *model,
                         struct ap_value *drilldown)
{
    struct ap_value *narrowed = ap_add_object(model, drilldown, "narrowed");
    for (size_t level = 0; level < LEVEL_COUNT; level++)
        add_level_name(model, narrowed, level_names[level], level,
                       key_text(leaves, (enum level)level, key_of(largest, level)));
    ap_add_time(model, narrowed, "time_us", largest->ns);
    ap_add_quotient(model, narrowed, "share_ratio", (double)largest->ns, (double)leaves->total_ns);
}

static enum ap_status report(struct ap_part_context *context, struct leaves *leaves, struct ap_model *model,
                             struct ap_value *root, struct ap_error *reterr)
{
    struct writing writing = { .leaves = leaves, .model = model };
    uint32_t *order;
    size_t count;
    sum_levels(leaves);
    ap_pair_map_release(&leaves->map);
    AP_TRY(list_largest(leaves, &order, &count, reterr));
    struct ap_value *drilldown = ap_add_object(model, root, "drilldown");
    ap_add_string(model, drilldown, "basis", context->facts->links.linked_count ? "GPU time" : "host self time");
    if (leaves->phase == AP_PHASE_COUNT_)
        ap_add_null(model, drilldown, "phase");
    else
        ap_add_string(model, drilldown, "phase", ap_phase_name((enum ap_phase)leaves->phase));
    ap_add_time(model, drilldown, "total_us", leaves->total_ns);
    add_narrowed(leaves, &leaves->leaves[order[0]], model, drilldown);
    writing.list = ap_add_list(model, drilldown, "rows");
    for (size_t i = 0; i < count; i++)
        write_leaf(&writing, &leaves->leaves[order[i]]);
    close_levels(&writing, 0);
    AP_FREE(leaves->gate, order, LISTED_MAX);
    return AP_OK;
}

/* Phases of other kinds (compilation) are no part of the drill-down: then it stays whole. */
static uint32_t wanted_phase(const struct ap_part_context *context)
{
    uint32_t phase = 0;
    while (phase < AP_PHASE_COUNT_ && !(context->options->phase && ap_text_is(ap_text_of(context->options->phase),
                                                                              ap_phase_name((enum ap_phase)phase))))
        phase++;
    return phase;
}

enum ap_status ap_part_drilldown(struct ap_part_context *context, const struct ap_host_work *work, struct ap_model *model,
                                 struct ap_value *root, struct ap_error *reterr)
{
    struct leaves leaves = { .gate = context->gate,
                             .trace = context->trace,
                             .map = { .gate = context->gate },
                             .step = { &context->facts->steps, 0 },
                             .phase = wanted_phase(context) };
    enum ap_status status = collect(context, work, &leaves, reterr);
    if (status == AP_OK && leaves.count)
        status = report(context, &leaves, model, root, reterr);
    else if (status == AP_OK)
        ap_add_null(model, root, "drilldown");
    ap_note_overflow(context, leaves.overflowed);
    ap_pair_map_release(&leaves.map);
    AP_FREE(context->gate, leaves.leaves, leaves.capacity);
    return status;
}
