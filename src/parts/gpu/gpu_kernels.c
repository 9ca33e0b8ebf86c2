/* SPDX-License-Identifier: MIT
 * gpu_kernels.c - kernels by name, by family and by subfamily: plain sums of every kernel row. */
#include <string.h>

#include "gpu_work.h"
#include "name_spreads.h"
#include "quantile.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

/* ---- by name ---- */

/* Of the kernels of one shown name. */
struct grid {
    double blocks_ns, occupancy_ns;
    int64_t blocks_known_ns, occupancy_known_ns;
};

struct shown {
    uint32_t *list; /* numbers in names */
    size_t count;
    uint32_t *of; /* by number in names: place in list + 1 */
    struct grid *grids;
};

static void add_mean(double *sum, int64_t *known_ns, double value, int64_t dur_ns, bool *overflowed)
{
    if (value < 0 || dur_ns < 0)
        return;
    *sum += value * (double)dur_ns;
    *known_ns = ap_add_sat(*known_ns, dur_ns, overflowed);
}

static enum ap_status measure_grids(struct ap_gpu_work *work, const struct ap_name_sums *names, struct shown *shown,
                                    struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    struct ap_gate *gate = names->gate;
    shown->of = ap_mem_cleared(gate, names->count * sizeof(shown->of[0]));
    shown->grids = ap_mem_cleared(gate, shown->count * sizeof(shown->grids[0]));
    if (!shown->of || !shown->grids)
        return ap_fail_memory(gate, reterr);
    for (size_t i = 0; i < shown->count; i++)
        shown->of[shown->list[i]] = (uint32_t)i + 1;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_kernel); ap_rows_of_next(&at);) {
        uint32_t place = shown->of[ap_name_sums_number(names, trace->events.name[at.row])];
        const struct ap_work_detail *detail = place ? ap_row_work(trace, at.row) : NULL;
        if (!detail)
            continue;
        struct grid *grid = &shown->grids[place - 1];
        int64_t dur_ns = trace->events.dur_ns[at.row];
        add_mean(&grid->blocks_ns, &grid->blocks_known_ns, ap_plain_figure(detail->as.grid.blocks_per_sm), dur_ns,
                 &work->totals.overflowed);
        add_mean(&grid->occupancy_ns, &grid->occupancy_known_ns, ap_plain_figure(detail->as.grid.occupancy_ratio), dur_ns,
                 &work->totals.overflowed);
    }
    return AP_OK;
}

static void add_kernel(struct ap_gpu_work *work, const struct ap_name_sum *name, const struct grid *grid,
                       const struct ap_name_spreads *spreads, struct ap_model *model, struct ap_value *list)
{
    const struct ap_trace *trace = work->context->trace;
    uint32_t id = ap_name_sum_name(trace, name);
    unsigned told = work->context->facts->families.of_name[id];
    unsigned subfamily = told & AP_KERNEL_SUBFAMILY_MASK;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_trace_text(trace, id));
    ap_add_string(model, row, "family", ap_kernel_family_name(ap_kernel_family_of(subfamily)));
    ap_add_string(model, row, "subfamily", ap_kernel_subfamily_name(subfamily));
    ap_add_bool(model, row, "communication", told & (AP_KERNEL_COMMUNICATION | AP_KERNEL_COLLECTIVE));
    bool is_told = !(told & AP_KERNEL_ELIGIBLE) || (told & (AP_KERNEL_TENSOR_CORE | AP_KERNEL_PLAIN));
    ap_add_known_bool(model, row, "tensor_core", is_told, told & AP_KERNEL_TENSOR_CORE);
    ap_add_count(model, row, "count", name->count);
    ap_add_time(model, row, "total_dur_us", name->total_ns);
    ap_add_quotient(model, row, "share_ratio", (double)name->total_ns, (double)work->totals.kernel_ns);
    ap_add_time(model, row, "mean_dur_us", ap_mean(name->total_ns, name->count));
    ap_name_spreads_add(spreads, id, model, row);
    ap_add_number_per(model, row, "mean_blocks_per_sm", grid->blocks_ns, (double)grid->blocks_known_ns);
    ap_add_quotient(model, row, "occupancy_ratio", grid->occupancy_ns, (double)grid->occupancy_known_ns);
    ap_add_place(trace, name->longest, model, ap_add_object(model, row, "longest"));
}

static enum ap_status add_shown(struct ap_gpu_work *work, const struct ap_name_sums *names, struct shown *shown,
                                struct ap_model *model, struct ap_value *gpu, struct ap_error *reterr)
{
    struct ap_name_spreads spreads = { .gate = names->gate };
    struct ap_value *list = ap_add_list(model, gpu, "kernels");
    if (!shown->count)
        return AP_OK;
    enum ap_status status = measure_grids(work, names, shown, reterr);
    AP_FREE(names->gate, shown->of, names->count);
    AP_TRY(status);
    struct ap_name_rows *ids;
    AP_TRY(AP_ALLOC(names->gate, ids, shown->count, reterr));
    for (size_t i = 0; i < shown->count; i++)
        ids[i] = (struct ap_name_rows){ ap_name_sum_name(work->context->trace, &names->sums[shown->list[i]]),
                                        names->sums[shown->list[i]].count };
    status = ap_name_spreads_init(&spreads, work->context->trace, names->gate, ids, shown->count, 1u << AP_KIND_kernel, 0,
                                  reterr);
    for (size_t i = 0; i < shown->count && status == AP_OK; i++)
        add_kernel(work, &names->sums[shown->list[i]], &shown->grids[i], &spreads, model, list);
    ap_name_spreads_release(&spreads);
    AP_FREE(names->gate, ids, shown->count);
    return status;
}

static enum ap_status add_by_name(struct ap_gpu_work *work, const struct ap_name_sums *names, int64_t *ret_top_ns,
                                  struct ap_model *model, struct ap_value *gpu, struct ap_error *reterr)
{
    struct shown shown = { .list = NULL };
    AP_TRY(ap_name_sums_top(names, work->context->trace, work->context->options->top_n, &shown.list, &shown.count, reterr));
    *ret_top_ns = shown.count ? names->sums[shown.list[0]].total_ns : 0;
    enum ap_status status = add_shown(work, names, &shown, model, gpu, reterr);
    AP_FREE(names->gate, shown.grids, shown.count);
    AP_FREE(names->gate, shown.list, shown.count);
    return status;
}

/* ---- by family and subfamily ---- */

struct sums {
    int64_t kernels, count, total_ns; /* kernels: distinct names */
};

struct family_sums {
    struct sums families[AP_KERNEL_FAMILY_COUNT_], subfamilies[AP_KERNEL_SUBFAMILY_MASK + 1];
    struct sums dequantizing; /* turn packed weights back to floats */
};

static void sums_add(struct ap_gpu_work *work, struct sums *sums, const struct ap_name_sum *name)
{
    sums->kernels++;
    sums->count += name->count;
    sums->total_ns = ap_gpu_add_ns(work, sums->total_ns, name->total_ns);
}

static void sum_families(struct ap_gpu_work *work, const struct ap_name_sums *names, struct family_sums *sums)
{
    const struct ap_kernel_families *families = &work->context->facts->families;
    for (size_t i = 0; i < names->count; i++) {
        uint32_t name = ap_name_sum_name(work->context->trace, &names->sums[i]);
        unsigned subfamily = ap_kernel_subfamily_of(families, name);
        if (families->of_name[name] & AP_KERNEL_DEQUANTIZES)
            sums_add(work, &sums->dequantizing, &names->sums[i]);
        sums_add(work, &sums->subfamilies[subfamily], &names->sums[i]);
        sums_add(work, &sums->families[ap_kernel_family_of(subfamily)], &names->sums[i]);
    }
}

static bool sums_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sums *sums = context;
    AP_LARGER_FIRST(sums[a].total_ns, sums[b].total_ns);
    return a < b;
}

static void add_sums(const struct ap_gpu_work *work, const struct sums *sums, struct ap_model *model, struct ap_value *row)
{
    ap_add_count(model, row, "kernels", sums->kernels);
    ap_add_count(model, row, "count", sums->count);
    ap_add_time(model, row, "total_dur_us", sums->total_ns);
    ap_add_quotient(model, row, "share_ratio", (double)sums->total_ns, (double)work->totals.kernel_ns);
}

static size_t order_sums(const struct sums *sums, size_t count, uint32_t *order)
{
    uint32_t spare[AP_KERNEL_SUBFAMILY_MASK + 1];
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (sums[i].kernels)
            order[used++] = (uint32_t)i;
    ap_sort_indices(order, used, spare, sums_before, sums);
    return used;
}

static void add_families(const struct ap_gpu_work *work, const struct family_sums *sums, struct ap_model *model,
                         struct ap_value *gpu)
{
    uint32_t order[AP_KERNEL_SUBFAMILY_MASK + 1];
    struct ap_value *list = ap_add_list(model, gpu, "families");
    size_t count = order_sums(sums->families, AP_KERNEL_FAMILY_COUNT_, order);
    for (size_t i = 0; i < count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "family", ap_kernel_family_name((enum ap_kernel_family)order[i]));
        add_sums(work, &sums->families[order[i]], model, row);
    }
}

static void add_subfamilies(const struct ap_gpu_work *work, const struct family_sums *sums, struct ap_model *model,
                            struct ap_value *gpu)
{
    uint32_t order[AP_KERNEL_SUBFAMILY_MASK + 1];
    struct ap_value *list = ap_add_list(model, gpu, "subfamilies");
    size_t count = order_sums(sums->subfamilies, AP_COUNT_OF(sums->subfamilies), order);
    for (size_t i = 0; i < count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "subfamily", ap_kernel_subfamily_name(order[i]));
        ap_add_string(model, row, "family", ap_kernel_family_name(ap_kernel_family_of(order[i])));
        add_sums(work, &sums->subfamilies[order[i]], model, row);
    }
}

static int64_t subfamily_ns(const struct family_sums *sums, const char *name)
{
    unsigned subfamily = 1;
    while (strcmp(ap_kernel_subfamily_name(subfamily), name) != 0)
        subfamily++;
    return sums->subfamilies[subfamily].total_ns;
}

/* Libraries run some convolutions as plain matrix multiplications: only the operator that launched them tells. */
static enum ap_status sum_gemm_in_convolution(struct ap_gpu_work *work, int64_t *ret_ns, struct ap_error *reterr)
{
    enum { not_asked, no, yes };
    const struct ap_trace *trace = work->context->trace;
    const struct ap_links *links = &work->context->facts->links;
    size_t name_count = ap_trace_id_count(trace);
    uint8_t *is_convolution; /* by name id of operators */
    AP_TRY(AP_ALLOC_CLEARED(work->context->gate, is_convolution, name_count, reterr));
    *ret_ns = 0;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i], op = ap_op_at(links, i);
        if (op == AP_NO_ROW || ap_row_kind(trace->events.tag[row]) != AP_KIND_kernel ||
            ap_kernel_family_of(ap_kernel_subfamily_of(&work->context->facts->families, trace->events.name[row])) !=
                AP_KERNEL_FAMILY_gemm)
            continue;
        uint8_t *answer = &is_convolution[trace->events.name[op]];
        if (*answer == not_asked)
            *answer = ap_text_contains_folded(ap_row_name(trace, op), "conv") ? yes : no;
        if (*answer == yes)
            *ret_ns = ap_gpu_add_ns(work, *ret_ns, trace->events.dur_ns[row]);
    }
    AP_FREE(work->context->gate, is_convolution, name_count);
    return AP_OK;
}

/* Kernels on a stream, one behind the other, that a compiler makes one of: what they take but for the longest of them. */
struct chain {
    int64_t pointwise_ns, longest_ns;
    bool has_other; /* a reduction or norm, into which the others go */
    uint32_t op;    /* of the last kernel: what it runs besides, no neighbor could do; AP_NO_ROW = not known */
};

/* A graph, and an annotation that the launch lies in, run the kernels of many operators. */
static uint32_t operator_of(const struct ap_gpu_work *work, struct ap_device_row link)
{
    const struct ap_trace *trace = work->context->trace;
    bool of_graph = link.launch != AP_NO_ROW &&
                    ap_call_kind_of(&work->context->facts->calls, trace, link.launch) == AP_CALL_graph_launch;
    bool of_operator = link.op != AP_NO_ROW && ap_row_is_of(trace, link.op, 1u << AP_KIND_operator);
    return of_operator && !of_graph ? link.op : AP_NO_ROW;
}

static int64_t chain_end(struct ap_gpu_work *work, struct chain *chain, int64_t chained_ns)
{
    int64_t spared_ns = chain->has_other ? chain->pointwise_ns : chain->pointwise_ns - chain->longest_ns;
    *chain = (struct chain){ .op = AP_NO_ROW };
    return ap_gpu_add_ns(work, chained_ns, spared_ns);
}

static int64_t chain_add(struct ap_gpu_work *work, struct chain *chain, struct ap_device_row link, int64_t chained_ns)
{
    const struct ap_trace *trace = work->context->trace;
    unsigned subfamily = ap_kernel_subfamily_of(&work->context->facts->families, trace->events.name[link.row]);
    enum ap_kernel_family family = ap_kernel_family_of(subfamily);
    bool other = family == AP_KERNEL_FAMILY_reduction || family == AP_KERNEL_FAMILY_normalisation ||
                 family == AP_KERNEL_FAMILY_softmax;
    bool pointwise = family == AP_KERNEL_FAMILY_elementwise && strcmp(ap_kernel_subfamily_name(subfamily), "optimizer") != 0;
    int64_t dur_ns = pointwise ? trace->events.dur_ns[link.row] : 0;
    uint32_t op = operator_of(work, link);
    if (!other && !pointwise)
        chained_ns = chain_end(work, chain, chained_ns);
    else if (op != AP_NO_ROW && op == chain->op)
        return chained_ns;
    chain->op = op;
    chain->has_other |= other;
    chain->pointwise_ns = ap_gpu_add_ns(work, chain->pointwise_ns, dur_ns);
    chain->longest_ns = dur_ns > chain->longest_ns ? dur_ns : chain->longest_ns;
    return chained_ns;
}

/* The numbers of links, stream by stream, in order of time. There may be a stream for each: it takes as little as that. */
static enum ap_status list_by_stream(const struct ap_links *links, const struct ap_trace *trace, uint32_t **ret_list,
                                     struct ap_error *reterr)
{
    const uint32_t *track = trace->events.track;
    uint32_t *list, *place; /* by track */
    AP_TRY(AP_ALLOC_CLEARED(links->gate, place, trace->track_count + 1, reterr));
    enum ap_status status = AP_ALLOC(links->gate, list, links->count, reterr);
    if (status == AP_OK) {
        for (size_t i = 0; i < links->count; i++)
            place[track[links->row[i]] + 1]++;
        for (size_t i = 0; i < trace->track_count; i++)
            place[i + 1] += place[i];
        for (size_t i = 0; i < links->count; i++)
            list[place[track[links->row[i]]]++] = (uint32_t)i;
        *ret_list = list;
    }
    AP_FREE(links->gate, place, trace->track_count + 1);
    return status;
}

static enum ap_status sum_chained(struct ap_gpu_work *work, int64_t *ret_ns, struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    const struct ap_links *links = &work->context->facts->links;
    struct chain chain = { .op = AP_NO_ROW };
    uint32_t *by_stream, stream = AP_NO_ROW;
    *ret_ns = 0;
    if (!links->count)
        return AP_OK;
    AP_TRY(list_by_stream(links, trace, &by_stream, reterr));
    for (size_t i = 0; i < links->count; i++) {
        struct ap_device_row link = ap_device_row_at(links, by_stream[i]);
        if (trace->events.track[link.row] != stream)
            *ret_ns = chain_end(work, &chain, *ret_ns);
        stream = trace->events.track[link.row];
        if (ap_row_is_of(trace, link.row, 1u << AP_KIND_kernel) && trace->events.dur_ns[link.row] >= 0)
            *ret_ns = chain_add(work, &chain, link, *ret_ns);
    }
    *ret_ns = chain_end(work, &chain, *ret_ns);
    AP_FREE(links->gate, by_stream, links->count);
    return AP_OK;
}

/* PyTorch turns an image around by itself where a convolution asks for it: contiguous, clone and copy_ within it. */
static bool is_layout_of_convolution(const struct ap_gpu_work *work, uint32_t op)
{
    static const char *const names[] = { "aten::copy_", "aten::clone", "aten::contiguous" };
    const struct ap_trace *trace = work->context->trace;
    for (size_t i = 0; i < AP_COUNT_OF(names) && op != AP_NO_ROW; i++) {
        if (!ap_text_is(ap_row_name(trace, op), names[i]))
            return false;
        op = ap_host_parent(&work->context->facts->tree, op);
    }
    return op != AP_NO_ROW && ap_text_contains_folded(ap_row_name(trace, op), "conv");
}

static int64_t layout_copies_ns(struct ap_gpu_work *work)
{
    const struct ap_trace *trace = work->context->trace;
    const struct ap_links *links = &work->context->facts->links;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < links->count; i++)
        if (ap_row_kind(trace->events.tag[links->row[i]]) == AP_KIND_kernel &&
            is_layout_of_convolution(work, ap_op_at(links, i)))
            sum_ns = ap_gpu_add_ns(work, sum_ns, trace->events.dur_ns[links->row[i]]);
    return sum_ns;
}

/* "NAME_us" and "NAME_ratio", which the report keeps as they are. */
struct share_keys {
    const char *time, *ratio;
};

#define SHARE_KEYS(name) ((struct share_keys){ name "_us", name "_ratio" })

static const struct share_keys family_keys[AP_KERNEL_FAMILY_COUNT_] = {
#define AP_KERNEL_FAMILY(family, word) { #family "_us", #family "_ratio" },
#include "kernel_family.def"
};

static void add_share(const struct ap_gpu_work *work, struct share_keys keys, int64_t total_ns, struct ap_model *model,
                      struct ap_value *shares)
{
    ap_add_time(model, shares, keys.time, total_ns);
    ap_add_quotient(model, shares, keys.ratio, (double)total_ns, (double)work->totals.busy_ns);
}

static void add_family_shares(struct ap_gpu_work *work, const struct family_sums *sums, int64_t gemm_in_convolution_ns,
                              int64_t chained_ns, struct ap_model *model, struct ap_value *gpu)
{
    struct ap_value *shares = ap_add_object(model, gpu, "family_share");
    for (int i = 0; i < AP_KERNEL_FAMILY_COUNT_; i++)
        add_share(work, family_keys[i], sums->families[i].total_ns, model, shares);
    add_share(work, SHARE_KEYS("pointwise"),
              sums->families[AP_KERNEL_FAMILY_elementwise].total_ns - subfamily_ns(sums, "optimizer"), model, shares);
    add_share(work, SHARE_KEYS("chained"), chained_ns, model, shares);
    add_share(work, SHARE_KEYS("convolution_layout"),
              ap_gpu_add_ns(work, subfamily_ns(sums, "convolution layout"), layout_copies_ns(work)), model, shares);
    add_share(work, SHARE_KEYS("naive_convolution"), subfamily_ns(sums, "naive convolution"), model, shares);
    add_share(work, SHARE_KEYS("gemm_in_convolution"), gemm_in_convolution_ns, model, shares);
    add_share(work, SHARE_KEYS("index_backward"), subfamily_ns(sums, "index backward"), model, shares);
    add_share(work, SHARE_KEYS("concatenation"), subfamily_ns(sums, "concatenation"), model, shares);
    add_share(work, SHARE_KEYS("copy_kernel"), subfamily_ns(sums, "copy and fill"), model, shares);
    add_share(work, SHARE_KEYS("dequantizing"), sums->dequantizing.total_ns, model, shares);
}

/* ---- lists of names ---- */

static void add_name_row(const struct ap_gpu_work *work, uint32_t name, int64_t count, int64_t total_ns,
                         struct ap_model *model, struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_trace_text(work->context->trace, name));
    ap_add_count(model, row, "count", count);
    ap_add_time(model, row, "total_dur_us", total_ns);
}

/* The kernels of each name that @is_wanted, and only they. */
static enum ap_status sum_rows(struct ap_gpu_work *work, bool (*is_wanted)(const struct ap_gpu_work *, uint32_t),
                               struct ap_name_sums *wanted, struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_kernel); ap_rows_of_next(&at);)
        if (is_wanted(work, at.row))
            AP_TRY(ap_name_sums_add(wanted, trace, at.row, reterr));
    return AP_OK;
}

static bool is_communication(const struct ap_gpu_work *work, uint32_t row)
{
    return ap_kernel_is_communication(&work->context->facts->families, work->context->trace, row);
}

static bool has_no_family(const struct ap_gpu_work *work, uint32_t row)
{
    return ap_kernel_subfamily_of(&work->context->facts->families, work->context->trace->events.name[row]) ==
           ap_kernel_subfamily_count();
}

/* As the reader of Nsight Systems names a launch of a graph whose kernels were not recorded one by one. */
static bool is_whole_graph(const struct ap_gpu_work *work, uint32_t row)
{
    return has_no_family(work, row) && ap_text_ends_with(ap_row_name(work->context->trace, row), "(recorded whole)");
}

static bool is_unnamed(const struct ap_gpu_work *work, uint32_t row)
{
    return has_no_family(work, row) && !is_whole_graph(work, row);
}

static enum ap_status add_names(struct ap_gpu_work *work, const struct ap_name_sums *names, struct sums *ret_sums,
                                struct ap_model *model, struct ap_value *list, struct ap_error *reterr)
{
    uint32_t *top;
    size_t count;
    *ret_sums = (struct sums){ 0, 0, 0 };
    for (size_t i = 0; i < names->count; i++)
        sums_add(work, ret_sums, &names->sums[i]);
    AP_TRY(ap_name_sums_top(names, work->context->trace, work->context->options->top_n, &top, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_name_row(work, ap_name_sum_name(work->context->trace, &names->sums[top[i]]), names->sums[top[i]].count,
                     names->sums[top[i]].total_ns, model, list);
    AP_FREE(names->gate, top, count);
    return AP_OK;
}

static enum ap_status add_names_of(struct ap_gpu_work *work, bool (*is_wanted)(const struct ap_gpu_work *, uint32_t),
                                   struct sums *ret_sums, struct ap_model *model, struct ap_value *list,
                                   struct ap_error *reterr)
{
    struct ap_name_sums names;
    enum ap_status status = ap_name_sums_init(&names, work->context->trace, work->context->gate, reterr);
    AP_AND_THEN(status, sum_rows(work, is_wanted, &names, reterr));
    AP_AND_THEN(status, add_names(work, &names, ret_sums, model, list, reterr));
    work->totals.overflowed |= names.overflowed;
    ap_name_sums_release(&names);
    return status;
}

static enum ap_status add_unnamed(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                  struct ap_error *reterr)
{
    struct sums sums;
    struct ap_value *unnamed = ap_add_object(model, gpu, "unnamed_family");
    AP_TRY(add_names_of(work, is_unnamed, &sums, model, ap_add_list(model, unnamed, "names"), reterr));
    add_sums(work, &sums, model, unnamed);
    struct ap_value *whole = ap_add_object(model, gpu, "whole_graphs");
    AP_TRY(add_names_of(work, is_whole_graph, &sums, model, ap_add_list(model, whole, "names"), reterr));
    add_sums(work, &sums, model, whole);
    return AP_OK;
}

static enum ap_status add_communication(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                        struct ap_error *reterr)
{
    struct ap_gpu_totals *totals = &work->totals;
    struct ap_value *communication = ap_add_object(model, gpu, "communication");
    struct sums sums;
    AP_TRY(add_names_of(work, is_communication, &sums, model, ap_add_list(model, communication, "names"), reterr));
    ap_add_count(model, communication, "count", sums.count);
    ap_add_time(model, communication, "total_dur_us", sums.total_ns);
    ap_add_time(model, communication, "busy_us", totals->communication_ns);
    ap_add_time(model, communication, "exposed_us", totals->exposed_communication_ns);
    ap_add_quotient(model, communication, "exposed_ratio", (double)totals->exposed_communication_ns,
                    (double)totals->window_ns);
    ap_add_time(model, communication, "overlap_us", totals->communication_overlap_ns);
    ap_add_quotient(model, communication, "overlap_ratio", (double)totals->communication_overlap_ns,
                    (double)totals->communication_ns);
    return AP_OK;
}

/* ---- totals ---- */

static void add_totals(struct ap_gpu_work *work, int64_t top_ns, struct ap_model *model, struct ap_value *gpu)
{
    int64_t short_count = 0, short_ns = 0;
    for (struct ap_rows_of at = ap_rows_of(work->context->trace, 1u << AP_KIND_kernel); ap_rows_of_next(&at);) {
        int64_t dur_ns = work->context->trace->events.dur_ns[at.row];
        if (dur_ns >= AP_GPU_SHORT_KERNEL_NS)
            continue;
        short_count++;
        short_ns = ap_gpu_add_ns(work, short_ns, dur_ns);
    }
    struct ap_value *kernel = ap_add_object(model, gpu, "kernel");
    double count = (double)work->totals.kernel_count, kernel_ns = (double)work->totals.kernel_ns;
    ap_add_count(model, kernel, "count", work->totals.kernel_count);
    ap_add_time(model, kernel, "total_dur_us", work->totals.kernel_ns);
    ap_add_count(model, kernel, "short_count", short_count);
    ap_add_quotient(model, kernel, "short_ratio", (double)short_count, count);
    ap_add_time(model, kernel, "top_total_dur_us", top_ns);
    ap_add_quotient(model, kernel, "top_share_ratio", (double)top_ns, kernel_ns);
    struct ap_value *brief = ap_add_object(model, gpu, "short_kernels");
    ap_add_count(model, brief, "count", short_count);
    ap_add_quotient(model, brief, "ratio", (double)short_count, count);
    ap_add_time(model, brief, "total_dur_us", short_ns);
    ap_add_quotient(model, brief, "share_ratio", (double)short_ns, kernel_ns);
}

static enum ap_status add_kernels(struct ap_gpu_work *work, const struct ap_name_sums *names, struct ap_model *model,
                                  struct ap_value *gpu, struct ap_error *reterr)
{
    struct family_sums sums;
    int64_t top_ns, gemm_in_convolution_ns = 0, chained_ns = 0;
    memset(&sums, 0, sizeof(sums));
    sum_families(work, names, &sums);
    AP_TRY(add_by_name(work, names, &top_ns, model, gpu, reterr));
    AP_TRY(sum_gemm_in_convolution(work, &gemm_in_convolution_ns, reterr));
    AP_TRY(sum_chained(work, &chained_ns, reterr));
    add_totals(work, top_ns, model, gpu);
    add_families(work, &sums, model, gpu);
    add_subfamilies(work, &sums, model, gpu);
    add_family_shares(work, &sums, gemm_in_convolution_ns, chained_ns, model, gpu);
    return AP_OK;
}

enum ap_status ap_gpu_add_kernels(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                  struct ap_error *reterr)
{
    struct ap_name_sums names;
    enum ap_status status = ap_name_sums_init(&names, work->context->trace, work->context->gate, reterr);
    AP_AND_THEN(status, ap_name_sums_add_all(&names, work->context->trace, AP_KIND_kernel, reterr));
    AP_AND_THEN(status, add_kernels(work, &names, model, gpu, reterr));
    work->totals.overflowed |= names.overflowed;
    ap_name_sums_release(&names);
    AP_TRY(status);
    AP_TRY(add_unnamed(work, model, gpu, reterr));
    return add_communication(work, model, gpu, reterr);
}
