/* SPDX-License-Identifier: MIT */
#include "trace_tables.h"

#include <stdio.h>
#include <string.h>

#include "part.h"
#include "shape_text.h"
#include "sort.h"

#include "poison.h"

static enum ap_status keep(struct ap_trace_table *table, uint32_t number, struct ap_error *reterr)
{
    AP_TRY_ADD(table->view->facts->gate, table->rows, table->count, table->capacity, reterr, number);
    return AP_OK;
}

/* ---- members that several tables have ---- */

/* Who called: the operator that the program asked for, and the program's own line. */
static void add_cause(const struct ap_trace_rows *view, const struct ap_host_chain *chain, struct ap_model *model,
                      struct ap_value *to)
{
    ap_add_row_name(view, model, to, "operator", chain->op);
    ap_add_row_id(model, to, "operator_id", chain->op);
    ap_add_row_name(view, model, to, "leaf_operator", chain->leaf);
    ap_add_row_name(view, model, to, "line", chain->line);
}

static void add_cause_of(const struct ap_trace_rows *view, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    struct ap_host_chain chain = { AP_NO_ROW, AP_NO_ROW, AP_NO_ROW };
    struct ap_host_chains chains = view->chains; /* what it remembers of names it shares */
    if (row != AP_NO_ROW)
        chain = ap_host_chain_of(&chains, row);
    add_cause(view, &chain, model, to);
}

static void add_cause_of_work(const struct ap_trace_rows *view, struct ap_device_row linked, struct ap_model *model,
                              struct ap_value *to)
{
    add_cause_of(view, linked.op != AP_NO_ROW ? linked.op : linked.launch, model, to);
}

static void add_step_and_phase(const struct ap_trace_rows *view, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    ap_add_step_of(view, model, to, view->facts->trace->events.start_ns[row]);
    ap_add_string(model, to, "phase", ap_phase_name(ap_phase_of_row(&view->facts->phases, row)));
}

/* The step is that of the launch, where it is known: the device runs behind the host. */
static void add_step_and_phase_of_work(const struct ap_trace_rows *view, struct ap_device_row linked, struct ap_model *model,
                                       struct ap_value *to)
{
    uint32_t row = linked.launch == AP_NO_ROW ? linked.row : linked.launch;
    ap_add_step_of(view, model, to, view->facts->trace->events.start_ns[row]);
    ap_add_string(model, to, "phase", ap_phase_name(ap_phase_of_work(&view->facts->phases, view->facts->trace, linked)));
}

/* From the start of the call to the start of the work. */
static void add_delay(const struct ap_trace *trace, struct ap_device_row linked, struct ap_model *model, struct ap_value *to)
{
    bool known = linked.launch != AP_NO_ROW;
    ap_add_known_time(model, to, "queue_delay_us", known,
                      known ? trace->events.start_ns[linked.row] - trace->events.start_ns[linked.launch] : 0);
}

/* ---- operators ---- */

static enum ap_status open_operators(struct ap_trace_table *table, struct ap_error *reterr)
{
    const struct ap_trace *trace = table->view->facts->trace;
    for (uint32_t row = 0; row < trace->events.count; row++)
        if (ap_row_is_of(trace, row, 1u << AP_KIND_operator))
            AP_TRY(keep(table, row, reterr));
    return AP_OK;
}

static void add_shapes(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    const struct ap_op_detail *op = ap_row_op(trace, row);
    struct ap_text dims = { NULL, 0 }, types;
    if (op && op->signature.id)
        ap_trace_signature(trace, op->signature, &dims, &types);
    if (dims.bytes)
        ap_add_shape_text(model, to, "dims", dims);
    else
        ap_add_null(model, to, "dims");
}

static void fill_operator(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_table *table = self;
    const struct ap_trace_rows *view = table->view;
    uint32_t row = table->rows[index];
    bool placed = ap_row_is_placed(view->facts->trace, row);
    ap_add_row_id(model, to, "row_id", row);
    ap_add_row_name(view, model, to, "name", row);
    ap_add_place(view->facts->trace, row, model, to);
    add_step_and_phase(view, row, model, to);
    ap_add_row_id(model, to, "parent_id",
                  placed ? ap_host_around(&view->facts->tree, view->facts->trace, row, AP_HOST_KINDS) : AP_NO_ROW);
    add_shapes(view->facts->trace, row, model, to);
}

/* ---- kernels ---- */

static enum ap_status open_kernels(struct ap_trace_table *table, struct ap_error *reterr)
{
    const struct ap_links *links = &table->view->facts->links;
    for (size_t i = 0; i < links->count; i++)
        if (ap_row_is_of(table->view->facts->trace, links->row[i], 1u << AP_KIND_kernel))
            AP_TRY(keep(table, (uint32_t)i, reterr));
    return AP_OK;
}

static void fill_kernel(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_table *table = self;
    const struct ap_trace_rows *view = table->view;
    struct ap_device_row linked = ap_device_row_at(&view->facts->links, table->rows[index]);
    const struct ap_work_detail *work = ap_row_work(view->facts->trace, linked.row);
    unsigned subfamily = ap_kernel_subfamily_of(&view->facts->families, view->facts->trace->events.name[linked.row]);
    ap_add_row_id(model, to, "row_id", linked.row);
    ap_add_row_name(view, model, to, "name", linked.row);
    ap_add_string(model, to, "family", ap_kernel_family_name(ap_kernel_family_of(subfamily)));
    ap_add_place(view->facts->trace, linked.row, model, to);
    ap_add_count(model, to, "device", ap_row_device(view->facts->trace, linked.row));
    add_delay(view->facts->trace, linked, model, to);
    ap_add_row_id(model, to, "launch_id", linked.launch);
    add_cause_of_work(view, linked, model, to);
    add_step_and_phase_of_work(view, linked, model, to);
    if (work && work->as.grid.blocks_per_sm >= 0)
        ap_add_number(model, to, "blocks_per_sm", (double)work->as.grid.blocks_per_sm);
    else
        ap_add_null(model, to, "blocks_per_sm");
    ap_add_known_ratio(model, to, "occupancy_ratio", work && work->as.grid.occupancy_ratio >= 0,
                       work ? (double)work->as.grid.occupancy_ratio : 0);
}

/* ---- launches: a row for each call, with the first row of work that it made ---- */

static bool launch_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_trace_rows *view = context;
    struct ap_device_row x = ap_device_row_at(&view->facts->links, a), y = ap_device_row_at(&view->facts->links, b);
    const int64_t *start_ns = view->facts->trace->events.start_ns;
    AP_SMALLER_FIRST(x.launch, y.launch);
    return start_ns[x.row] != start_ns[y.row] ? start_ns[x.row] < start_ns[y.row] : a < b;
}

/* Places in links of the rows that have a launch, by launch; then only the first of each launch is kept. */
static enum ap_status open_launches(struct ap_trace_table *table, struct ap_error *reterr)
{
    const struct ap_links *links = &table->view->facts->links;
    for (size_t i = 0; i < links->count; i++)
        if (ap_launch_at(links, i) != AP_NO_ROW)
            AP_TRY(keep(table, (uint32_t)i, reterr));
    AP_TRY(ap_sort_list(table->view->facts->gate, table->rows, table->count, launch_before, table->view, reterr));
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (!kept || ap_launch_at(links, table->rows[kept - 1]) != ap_launch_at(links, table->rows[i]))
            table->rows[kept++] = table->rows[i];
    table->count = kept;
    return AP_OK;
}

static void fill_launch(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_table *table = self;
    const struct ap_trace_rows *view = table->view;
    const struct ap_trace *trace = view->facts->trace;
    struct ap_device_row linked = ap_device_row_at(&view->facts->links, table->rows[index]);
    int64_t gap_ns = trace->events.start_ns[linked.row] - ap_row_end_ns(trace, linked.launch);
    ap_add_row_id(model, to, "row_id", linked.launch);
    ap_add_row_name(view, model, to, "call", linked.launch);
    ap_add_place(trace, linked.launch, model, to);
    ap_add_row_name(view, model, to, "kernel", linked.row);
    ap_add_row_id(model, to, "kernel_id", linked.row);
    ap_add_time(model, to, "kernel_dur_us", trace->events.dur_ns[linked.row]);
    ap_add_count(model, to, "device", ap_row_device(trace, linked.row));
    add_delay(trace, linked, model, to);
    ap_add_time(model, to, "launch_delay_us", gap_ns > 0 ? gap_ns : 0);
    add_cause_of_work(view, linked, model, to);
    add_step_and_phase_of_work(view, linked, model, to);
}

/* ---- copies: of devices by their place in links, then those of the host ---- */

static enum ap_status open_copies(struct ap_trace_table *table, struct ap_error *reterr)
{
    const struct ap_trace_rows *view = table->view;
    AP_TRY(ap_copies_init(&table->copies, view->facts->trace, &view->facts->tree, &view->facts->links, &view->facts->calls,
                          view->facts->gate, reterr));
    for (size_t i = 0; i < view->facts->links.count; i++)
        if (table->copies.cause[i] != AP_COPY_CAUSE_COUNT)
            AP_TRY(keep(table, (uint32_t)i, reterr));
    table->device_count = table->count;
    for (uint32_t row = 0; row < view->facts->trace->events.count && view->facts->links.linked_count; row++)
        if (ap_is_host_copy(&table->copies, view->facts->trace, &view->facts->tree, row))
            AP_TRY(keep(table, row, reterr));
    return AP_OK;
}

static void fill_host_copy(const struct ap_trace_rows *view, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    static const char *const of_devices[] = { "gigabytes_per_s", "device", "queue_delay_us", "launch_id" };
    ap_add_row_id(model, to, "row_id", row);
    ap_add_row_name(view, model, to, "name", row);
    ap_add_string(model, to, "what", ap_copy_cause_word(AP_COPY_cpu_only));
    ap_add_null(model, to, "bytes");
    ap_add_place(view->facts->trace, row, model, to);
    for (size_t i = 0; i < AP_COUNT_OF(of_devices); i++)
        ap_add_null(model, to, of_devices[i]);
    add_cause_of(view, row, model, to);
    add_step_and_phase(view, row, model, to);
}

static void fill_copy(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_table *table = self;
    const struct ap_trace_rows *view = table->view;
    if (index >= table->device_count) {
        fill_host_copy(view, table->rows[index], model, to);
        return;
    }
    struct ap_device_row linked = ap_device_row_at(&view->facts->links, table->rows[index]);
    int64_t bytes = ap_row_is_of(view->facts->trace, linked.row, 1u << AP_KIND_memcpy)
                        ? ap_row_bytes(view->facts->trace, linked.row)
                        : -1;
    int64_t dur_ns = view->facts->trace->events.dur_ns[linked.row];
    ap_add_row_id(model, to, "row_id", linked.row);
    ap_add_row_name(view, model, to, "name", linked.row);
    ap_add_string(model, to, "what", ap_copy_cause_word((enum ap_copy_cause)table->copies.cause[table->rows[index]]));
    ap_add_known_bytes(model, to, "bytes", bytes >= 0, bytes);
    ap_add_place(view->facts->trace, linked.row, model, to);
    ap_add_number_per(model, to, "gigabytes_per_s", (double)bytes, bytes >= 0 ? (double)dur_ns : 0);
    ap_add_count(model, to, "device", ap_row_device(view->facts->trace, linked.row));
    add_delay(view->facts->trace, linked, model, to);
    ap_add_row_id(model, to, "launch_id", linked.launch);
    add_cause_of_work(view, linked, model, to);
    add_step_and_phase_of_work(view, linked, model, to);
}

/* ---- synchronisations ---- */

static enum ap_status open_synchronizations(struct ap_trace_table *table, struct ap_error *reterr)
{
    const struct ap_trace_rows *view = table->view;
    AP_TRY(ap_waits_init(&table->waits, view->facts->trace, &view->facts->order, &view->facts->tree, &view->facts->links,
                         &view->facts->calls, view->facts->gate, reterr));
    AP_TRY(ap_waits_find_cost(&table->waits, view->facts->trace, &view->facts->links, reterr));
    for (size_t i = 0; i < table->waits.count; i++)
        AP_TRY(keep(table, (uint32_t)i, reterr));
    return AP_OK;
}

static void fill_synchronization(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    static const char *const categories[] = {
#define AP_SYNC_CATEGORY(category) #category,
#include "sync_category.def"
    };
    const struct ap_trace_table *table = self;
    const struct ap_trace_rows *view = table->view;
    const struct ap_wait *wait = &table->waits.waits[table->rows[index]];
    ap_add_row_id(model, to, "row_id", wait->row);
    ap_add_row_name(view, model, to, "call", wait->row);
    ap_add_string(model, to, "category", categories[wait->category]);
    ap_add_place(view->facts->trace, wait->row, model, to);
    ap_add_time(model, to, "blocked_us", wait->blocked_ns);
    ap_add_known_time(model, to, "idle_us", view->facts->links.count, wait->idle_ns);
    ap_add_bool(model, to, "at_end", wait->at_end);
    add_cause(view, &wait->chain, model, to);
    add_step_and_phase(view, wait->row, model, to);
}

/* ---- collectives ---- */

static enum ap_status open_collectives(struct ap_trace_table *table, struct ap_error *reterr)
{
    const struct ap_trace_rows *view = table->view;
    AP_TRY(ap_collective_rows_init(&table->collectives, view->facts->trace, &view->facts->tree, &view->facts->links,
                                   &view->facts->families, true, view->facts->gate, reterr));
    for (size_t i = 0; i < table->collectives.count; i++)
        AP_TRY(keep(table, (uint32_t)i, reterr));
    return AP_OK;
}

static void fill_collective(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_table *table = self;
    const struct ap_trace_rows *view = table->view;
    const struct ap_collective_row *row = &table->collectives.rows[table->rows[index]];
    const struct ap_collective_kind *of = ap_collective_kind(&table->collectives, row);
    const struct ap_collective *told = ap_trace_collective_of(view->facts->trace, of->what);
    struct ap_collective_cover cover = table->collectives.own[table->rows[index]].cover;
    ap_add_row_id(model, to, "row_id", row->row);
    ap_add_string(model, to, "operation", ap_collective_operation_name((enum ap_collective_operation)of->operation));
    ap_add_row_name(view, model, to, "name", row->row);
    ap_add_bool(model, to, "on_host", of->on_host);
    ap_add_known_bytes(model, to, "bytes", of->bytes >= 0, of->bytes);
    ap_add_known_string(model, to, "dtype", of->dtype, ap_collective_dtype_name(of->dtype));
    ap_add_known_count(model, to, "group_size", of->group_size > 0, of->group_size);
    ap_add_name(view->facts->trace, model, to, "group", told ? told->group_name.id : 0);
    ap_add_place(view->facts->trace, row->row, model, to);
    ap_add_known_time(model, to, "exposed_us", !of->on_host, cover.exposed_ns);
    ap_add_known_time(model, to, "overlap_us", !of->on_host, cover.overlap_ns);
    ap_add_number_per(model, to, "algbw_gigabytes_per_s", (double)of->bytes,
                      of->bytes >= 0 ? (double)view->facts->trace->events.dur_ns[row->row] : 0);
    ap_add_step_of(view, model, to, view->facts->trace->events.start_ns[row->row]);
}

/* ---- steps ---- */

static enum ap_status open_steps(struct ap_trace_table *table, struct ap_error *reterr)
{
    for (size_t i = 0; i < table->view->facts->steps.count; i++)
        AP_TRY(keep(table, (uint32_t)i, reterr));
    return AP_OK;
}

static void fill_step(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace_table *table = self;
    const struct ap_trace_rows *view = table->view;
    const struct ap_step *step = &view->facts->steps.steps[index];
    char id[AP_ROW_ID_BYTES];
    (void)snprintf(id, sizeof(id), "step:%zu", index);
    ap_add_string(model, to, "row_id", id);
    ap_add_row_name(view, model, to, "name", step->row);
    ap_add_count(model, to, "step", (int64_t)index);
    ap_add_time(model, to, "start_us", step->start_ns);
    ap_add_time(model, to, "dur_us", ap_step_dur_ns(&view->facts->steps, view->facts->trace, index));
    ap_add_track(view->facts->trace, view->facts->trace->events.track[step->row], model, to);
    ap_add_bool(model, to, "cold", step->cold);
    ap_add_bool(model, to, "cut", step->cut);
    ap_add_bool(model, to, "steady", ap_step_is_steady(step));
    ap_add_row_id(model, to, "marker_id", step->row);
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    enum ap_status (*open)(struct ap_trace_table *table, struct ap_error *reterr);
    void (*fill)(void *self, size_t index, struct ap_model *model, struct ap_value *row);
} kinds[] = {
    { "operators", open_operators, fill_operator },
    { "kernels", open_kernels, fill_kernel },
    { "launches", open_launches, fill_launch },
    { "copies", open_copies, fill_copy },
    { "synchronisations", open_synchronizations, fill_synchronization },
    { "collectives", open_collectives, fill_collective },
    { "steps", open_steps, fill_step },
};

const char *const ap_trace_table_names[] = { "operators",        "kernels",     "launches", "copies",
                                             "synchronisations", "collectives", "steps",    NULL };

bool ap_is_trace_table(const char *name)
{
    for (size_t i = 0; ap_trace_table_names[i]; i++)
        if (strcmp(name, ap_trace_table_names[i]) == 0)
            return true;
    return false;
}

enum ap_status ap_trace_table_init(struct ap_trace_table *table, const struct ap_trace_rows *view, const char *name,
                                   struct ap_row_source *ret_source, struct ap_error *reterr)
{
    *table = (struct ap_trace_table){ .view = view,
                                      .copies.gate = view->facts->gate,
                                      .copies.on_device.gate = view->facts->gate,
                                      .waits.gate = view->facts->gate,
                                      .collectives.gate = view->facts->gate };
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        AP_TRY(kinds[i].open(table, reterr));
        *ret_source = (struct ap_row_source){ view->facts->gate, kinds[i].name, table->count, kinds[i].fill, table, NULL };
        return AP_OK;
    }
    return ap_refuse(reterr, AP_SETTING_TABLE, "there are no rows called '%.60s'", name);
}

void ap_trace_table_release(struct ap_trace_table *table)
{
    ap_collective_rows_release(&table->collectives);
    ap_waits_release(&table->waits);
    ap_copies_release(&table->copies);
    AP_FREE(table->view->facts->gate, table->rows, table->capacity);
}
