/* SPDX-License-Identifier: MIT
 * report_modules.c - the costliest nn.Modules as a tree; the user's lines that cost most. */
#include "host_part.h"
#include "sort.h"

#include "poison.h"

struct ranking {
    const struct ap_trace *trace;
    const struct ap_host_work *work;
};

/* -------------------------------------------------------------------------------------------------------- modules */

/* A parent is never smaller than what is below it, and comes first where it is equal. */
static bool module_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = data;
    const struct ap_work_cost *x = &ranking->work->modules[a].cost, *y = &ranking->work->modules[b].cost;
    AP_LARGER_FIRST(ap_device_cost(ranking->work, x)->total_ns, ap_device_cost(ranking->work, y)->total_ns);
    return x->host_total_ns != y->host_total_ns ? x->host_total_ns > y->host_total_ns : a < b;
}

/* Those that are listed, linked as a tree. */
struct listed {
    uint32_t module, depth;
    uint32_t first_child, next;               /* numbers of listed ones */
    int64_t hidden_host_ns, hidden_device_ns; /* of modules below that are not listed */
};

struct listing {
    struct listed *modules; /* largest first */
    size_t count;
    uint32_t first;                           /* outermost */
    int64_t host_ns;                          /* of all modules */
    int64_t hidden_host_ns, hidden_device_ns; /* outermost ones that are not listed */
};

static uint32_t listed_parent(const struct ap_host_work *work, const uint32_t *number_of, uint32_t module)
{
    uint32_t parent = work->modules[module].parent;
    return parent == AP_PAIR_NONE ? AP_PAIR_NONE : number_of[parent];
}

static void link_listed(const struct ap_host_work *work, const uint32_t *number_of, struct listing *listing)
{
    for (size_t i = listing->count; i-- > 0;) {
        struct listed *listed = &listing->modules[i];
        uint32_t parent = listed_parent(work, number_of, listed->module);
        uint32_t *first = parent == AP_PAIR_NONE ? &listing->first : &listing->modules[parent].first_child;
        listed->next = *first;
        *first = (uint32_t)i;
    }
    for (size_t i = 0; i < listing->count; i++) {
        uint32_t parent = listed_parent(work, number_of, listing->modules[i].module);
        listing->modules[i].depth = parent == AP_PAIR_NONE ? 0 : listing->modules[parent].depth + 1;
    }
}

/* What the listed ones leave of their parents. */
static void sum_hidden(const struct ap_host_work *work, const uint32_t *number_of, struct listing *listing, bool *overflowed)
{
    for (uint32_t i = 0; i < work->module_map.count; i++) {
        uint32_t parent = work->modules[i].parent;
        if (number_of[i] != AP_PAIR_NONE || (parent != AP_PAIR_NONE && number_of[parent] == AP_PAIR_NONE))
            continue;
        struct listed *listed = parent == AP_PAIR_NONE ? NULL : &listing->modules[number_of[parent]];
        int64_t *host_ns = listed ? &listed->hidden_host_ns : &listing->hidden_host_ns;
        int64_t *device_ns = listed ? &listed->hidden_device_ns : &listing->hidden_device_ns;
        *host_ns = ap_add_sat(*host_ns, work->modules[i].cost.host_total_ns, overflowed);
        *device_ns = ap_add_sat(*device_ns, ap_device_cost(work, &work->modules[i].cost)->total_ns, overflowed);
    }
}

static void add_module(struct ap_part_context *context, const struct ap_host_work *work, const struct listing *listing,
                       const struct listed *listed, struct ap_model *model, struct ap_value *list)
{
    const struct ap_module_cost *module = &work->modules[listed->module];
    const struct ap_device_cost *device = ap_device_cost(work, &module->cost);
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "depth", listed->depth);
    ap_add_text(model, row, "name", ap_strpool_text(&work->classes, (struct ap_str){ module->cost.name }));
    ap_add_count(model, row, "instances", module->instances);
    ap_add_count(model, row, "count", (int64_t)module->cost.calls);
    ap_add_time(model, row, "host_total_us", module->cost.host_total_ns);
    ap_add_time(model, row, "host_self_us", module->cost.host_self_ns);
    ap_add_quotient(model, row, "host_share_ratio", (double)module->cost.host_total_ns, (double)listing->host_ns);
    ap_add_device_time(context, model, row, "device_us", device->total_ns);
    ap_add_device_time(context, model, row, "device_self_us", device->self_ns);
    ap_add_device_share(context, model, row, device->total_ns);
    struct ap_value *slowest = ap_add_object(model, row, "slowest");
    ap_add_text(model, slowest, "name", ap_row_name(context->trace, module->cost.slowest_row));
    ap_add_place(context->trace, module->cost.slowest_row, model, slowest);
}

static void add_other(struct ap_part_context *context, const struct listing *listing, uint32_t depth, int64_t host_ns,
                      int64_t device_ns, struct ap_model *model, struct ap_value *list)
{
    if (!host_ns && !device_ns)
        return;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "depth", depth);
    ap_add_string(model, row, "name", "other");
    ap_add_null(model, row, "instances");
    ap_add_null(model, row, "count");
    ap_add_time(model, row, "host_total_us", host_ns);
    ap_add_null(model, row, "host_self_us");
    ap_add_quotient(model, row, "host_share_ratio", (double)host_ns, (double)listing->host_ns);
    ap_add_device_time(context, model, row, "device_us", device_ns);
    ap_add_null(model, row, "device_self_us");
    ap_add_device_share(context, model, row, device_ns);
    ap_add_null(model, row, "slowest");
}

static void add_hidden(struct ap_part_context *context, const struct listing *listing, const struct listed *listed,
                       struct ap_model *model, struct ap_value *list)
{
    add_other(context, listing, listed->depth + 1, listed->hidden_host_ns, listed->hidden_device_ns, model, list);
}

/* Depth first; back over the parents instead of recursion. What is not listed of a module follows its last
 * listed child. */
static void add_tree(struct ap_part_context *context, const struct ap_host_work *work, const uint32_t *number_of,
                     const struct listing *listing, struct ap_model *model, struct ap_value *list)
{
    uint32_t at = listing->first;
    while (at != AP_PAIR_NONE) {
        const struct listed *listed = &listing->modules[at];
        add_module(context, work, listing, listed, model, list);
        if (listed->first_child != AP_PAIR_NONE) {
            at = listed->first_child;
            continue;
        }
        while (at != AP_PAIR_NONE && listing->modules[at].next == AP_PAIR_NONE) {
            at = listed_parent(work, number_of, listing->modules[at].module);
            if (at != AP_PAIR_NONE)
                add_hidden(context, listing, &listing->modules[at], model, list);
        }
        at = at == AP_PAIR_NONE ? at : listing->modules[at].next;
    }
    add_other(context, listing, 0, listing->hidden_host_ns, listing->hidden_device_ns, model, list);
}

static enum ap_status list_modules(struct ap_part_context *context, const struct ap_host_work *work, int64_t host_ns,
                                   const uint32_t *order, size_t count, struct ap_model *model, struct ap_value *list,
                                   struct ap_error *reterr)
{
    size_t module_count = work->module_map.count;
    struct listing listing = { .count = count, .first = AP_PAIR_NONE, .host_ns = host_ns };
    uint32_t *number_of;
    enum ap_status status = AP_ALLOC(context->gate, number_of, module_count, reterr);
    AP_AND_THEN(status, AP_ALLOC(context->gate, listing.modules, count, reterr));
    if (status == AP_OK) {
        memset(number_of, 0xff, module_count * sizeof(number_of[0]));
        for (uint32_t i = 0; i < count; i++) {
            number_of[order[i]] = i;
            listing.modules[i] = (struct listed){ order[i], 0, AP_PAIR_NONE, AP_PAIR_NONE, 0, 0 };
        }
        link_listed(work, number_of, &listing);
        sum_hidden(work, number_of, &listing, &context->overflowed);
        add_tree(context, work, number_of, &listing, model, list);
    }
    AP_FREE(context->gate, number_of, module_count);
    AP_FREE(context->gate, listing.modules, count);
    return status;
}

enum ap_status ap_part_modules(struct ap_part_context *context, const struct ap_host_work *work, struct ap_model *model,
                               struct ap_value *root, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, work };
    int64_t host_ns = 0, device_ns = 0;
    uint32_t *order;
    size_t count;
    if (!work->module_map.count) {
        ap_add_null(model, root, "modules");
        return AP_OK;
    }
    for (uint32_t i = 0; i < work->module_map.count; i++) {
        host_ns = ap_add_sat(host_ns, work->modules[i].cost.host_self_ns, &context->overflowed);
        device_ns = ap_add_sat(device_ns, ap_device_cost(work, &work->modules[i].cost)->self_ns, &context->overflowed);
    }
    struct ap_value *modules = ap_add_object(model, root, "modules");
    ap_add_count(model, modules, "paths", work->module_map.count);
    ap_add_time(model, modules, "host_us", host_ns);
    ap_add_device_time(context, model, modules, "device_us", device_ns);
    ap_add_device_time(context, model, modules, "outside_modules_device_us", context->facts->links.total_dur_ns - device_ns);
    struct ap_value *list = ap_add_list(model, modules, "items");
    AP_TRY(ap_top_indices(context->gate, work->module_map.count, context->options->top_n, module_before, &ranking, &order,
                          &count, reterr));
    enum ap_status status = list_modules(context, work, host_ns, order, count, model, list, reterr);
    AP_FREE(context->gate, order, count);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- frames */

static bool frame_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = data;
    const struct ap_work_cost *x = &ranking->work->frames[a], *y = &ranking->work->frames[b];
    bool is_equal, before = ap_cost_before(ranking->trace, ranking->work, x, y, &is_equal);
    return is_equal ? a < b : before;
}

struct frame_sums {
    int64_t host_ns, device_ns;
};

static void add_frame_cost(struct ap_part_context *context, const struct ap_host_work *work, struct frame_sums *sums,
                           const struct ap_work_cost *cost)
{
    sums->host_ns = ap_add_sat(sums->host_ns, cost->host_self_ns, &context->overflowed);
    sums->device_ns = ap_add_sat(sums->device_ns, ap_device_cost(work, cost)->self_ns, &context->overflowed);
}

static void add_frame(struct ap_part_context *context, const struct ap_host_work *work, const struct ap_work_cost *frame,
                      struct ap_model *model, struct ap_value *list)
{
    int64_t device_ns = ap_device_cost(work, frame)->self_ns;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_trace_text(context->trace, frame->name));
    ap_add_count(model, row, "count", (int64_t)frame->calls);
    ap_add_time(model, row, "host_self_us", frame->host_self_ns);
    ap_add_device_time(context, model, row, "device_self_us", device_ns);
    ap_add_device_share(context, model, row, device_ns);
    ap_add_slowest(context, frame, model, row);
}

enum ap_status ap_part_frames(struct ap_part_context *context, const struct ap_host_work *work, struct ap_model *model,
                              struct ap_value *root, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, work };
    struct frame_sums all = { 0, 0 }, listed = { 0, 0 };
    uint32_t *order;
    size_t count;
    if (!work->frame_count) {
        ap_add_null(model, root, "frames");
        return AP_OK;
    }
    for (uint32_t i = 0; i < work->frame_count; i++)
        add_frame_cost(context, work, &all, &work->frames[i]);
    AP_TRY(ap_top_indices(context->gate, work->frame_count, context->options->top_n, frame_before, &ranking, &order, &count,
                          reterr));
    int64_t top_ns = 0;
    for (uint32_t i = 0; i < work->frame_count; i++)
        top_ns = work->frames[i].host_self_ns > top_ns ? work->frames[i].host_self_ns : top_ns;
    struct ap_value *frames = ap_add_object(model, root, "frames");
    ap_add_count(model, frames, "names", work->frame_count);
    ap_add_time(model, frames, "host_us", all.host_ns);
    ap_add_time(model, frames, "top_self_us", top_ns);
    ap_add_quotient(model, frames, "top_self_ratio", (double)top_ns, (double)all.host_ns);
    ap_add_device_time(context, model, frames, "device_us", all.device_ns);
    ap_add_device_time(context, model, frames, "outside_frames_device_us",
                       context->facts->links.total_dur_ns - all.device_ns);
    struct ap_value *list = ap_add_list(model, frames, "items");
    for (size_t i = 0; i < count; i++) {
        add_frame(context, work, &work->frames[order[i]], model, list);
        add_frame_cost(context, work, &listed, &work->frames[order[i]]);
    }
    ap_add_time(model, frames, "other_frames_host_us", all.host_ns - listed.host_ns);
    ap_add_device_time(context, model, frames, "other_frames_device_us", all.device_ns - listed.device_ns);
    AP_FREE(context->gate, order, count);
    return AP_OK;
}
