/* SPDX-License-Identifier: MIT
 * part_cluster_memory.c - the memory of the ranks: who ran out first, who holds more than the others, and what of. */
#include <stdio.h>

#include "cluster_parts.h"
#include "memory_compare.h"
#include "sort.h"
#include "value_text.h"

#include "poison.h"

static const char *const metric_keys[AP_MEMORY_METRIC_COUNT_] = { [AP_MEMORY_PEAK] = "peak",
                                                                  [AP_MEMORY_RESERVED] = "reserved",
                                                                  [AP_MEMORY_SPLIT] = "split",
                                                                  [AP_MEMORY_RETRIES] = "retries" };

static const char *const owner_keys[] = {
#define AP_OWNER_CATEGORY(id, key, word) key "_bytes",
#include "owner_category.def"
};

/* ---------------------------------------------------------------------------------------------- one row of each rank */

/* Number in the view; SIZE_MAX = no trace of the rank is compared. */
static size_t view_index(const struct ap_run_view *view, int64_t rank)
{
    size_t low = 0;
    AP_BISECT(low, view->count, at, ap_view_rank(view, at)->rank < rank);
    return low < view->count && ap_view_rank(view, low)->rank == rank ? low : SIZE_MAX;
}

static struct ap_rank_memory of_trace(const struct ap_rank_summary *rank)
{
    return (struct ap_rank_memory){ .rank = rank->rank,
                                    .at_peak = -1,
                                    .peak_bytes = rank->peak_allocated_bytes,
                                    .peak_reserved_bytes = rank->peak_reserved_bytes,
                                    .reserved_bytes = -1,
                                    .split_bytes = -1,
                                    .retries = -1,
                                    .failures = rank->out_of_memory_count,
                                    .first_failure_ns = -1,
                                    .failed_bytes = -1 };
}

/* Curves of traces are of rounded sizes, those of snapshots of requested ones: where there are snapshots, they alone. */
static enum ap_status add_rows(const struct ap_run_found *found, struct ap_memory_run *run, struct ap_error *reterr)
{
    const struct ap_memory_set *set = run->set;
    for (size_t i = 0, end; i < set->count; i = end) {
        const struct ap_rank_memory *best = &set->rows[i];
        for (end = i + 1; end < set->count && set->rows[end].rank == best->rank; end++)
            best = ap_memory_is_told_rather(&set->rows[end], best) ? &set->rows[end] : best;
        size_t at = view_index(found->view, best->rank);
        AP_TRY(ap_memory_run_add(run, best, at == SIZE_MAX ? UINT32_MAX : found->delays->role[at], reterr));
    }
    for (size_t i = 0; i < found->view->count && !set->count; i++) {
        const struct ap_rank_summary *rank = ap_view_rank(found->view, i);
        struct ap_rank_memory row = of_trace(rank);
        if (rank->peak_allocated_bytes >= 0 || rank->out_of_memory_count > 0)
            AP_TRY(ap_memory_run_add(run, &row, found->delays->role[i], reterr));
    }
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- figures */

struct telling {
    const struct ap_run_found *found;
    const struct ap_memory_run *run;
    struct ap_model *model;
};

static void add_host(const struct telling *telling, struct ap_value *to, int64_t rank)
{
    const struct ap_run_view *view = telling->found->view;
    size_t at = view_index(view, rank);
    struct ap_str host = at == SIZE_MAX ? (struct ap_str){ 0 } : ap_view_rank(view, at)->host;
    ap_add_known_text(telling->model, to, "host", host.id, ap_rank_text(view->set, host));
}

static void add_failed(const struct telling *telling, struct ap_value *to)
{
    const struct ap_memory_run *run = telling->run;
    struct ap_model *model = telling->model;
    bool any = run->failed_count > 0;
    static const struct ap_rank_memory none = { .failed_bytes = -1 };
    const struct ap_rank_memory *first = any ? &run->rows[run->first_failed] : &none;
    struct ap_value *of = ap_add_object(model, to, "out_of_memory");
    ap_add_count(model, of, "rank_count", (int64_t)run->failed_count);
    ap_add_known_count(model, of, "rank", any, first->rank);
    ap_add_known_bool(model, of, "first_by_clock", any && run->failed_count > 1, run->failed_in_time);
    ap_add_known_bytes(model, of, "requested_bytes", first->failed_bytes >= 0, first->failed_bytes);
    ap_add_known_text(model, of, "line", first->failed_line.id, ap_memory_text(run->set, first->failed_line));
    ap_add_known_bytes(model, of, "peak_bytes", any && first->peak_bytes >= 0, first->peak_bytes);
}

static void add_odd(const struct telling *telling, struct ap_value *to, enum ap_memory_metric metric)
{
    const struct ap_memory_odd *odd = &telling->run->odd[metric];
    struct ap_model *model = telling->model;
    struct ap_value *of = ap_add_object(model, to, metric_keys[metric]);
    int64_t rank = odd->known ? telling->run->rows[odd->index].rank : 0;
    ap_add_known_count(model, of, "odd_count", odd->known, (int64_t)odd->count);
    ap_add_known_count(model, of, "rank", odd->known, rank);
    if (metric == AP_MEMORY_RETRIES) {
        ap_add_known_count(model, of, "most_count", odd->known, odd->value);
        ap_add_known_count(model, of, "usual_count", odd->known, odd->usual);
        return;
    }
    ap_add_known_bytes(model, of, "most_bytes", odd->known, odd->value);
    ap_add_known_bytes(model, of, "usual_bytes", odd->known, odd->usual);
    ap_add_known_bytes(model, of, "more_bytes", odd->known, odd->value - odd->usual);
}

/* The part of which the suspect has most more than the others; SIZE_MAX = of none. */
static size_t largest_more(const struct ap_memory_difference *parts, size_t count)
{
    size_t best = SIZE_MAX;
    int64_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (parts[i].bytes - parts[i].usual_bytes > most) {
            most = parts[i].bytes - parts[i].usual_bytes;
            best = i;
        }
    return best;
}

static void add_part(struct ap_model *model, struct ap_value *to, const struct ap_memory_difference *part)
{
    bool known = part != NULL;
    ap_add_known_bytes(model, to, "bytes", known, known ? part->bytes : 0);
    ap_add_known_bytes(model, to, "usual_bytes", known, known ? part->usual_bytes : 0);
    ap_add_known_bytes(model, to, "more_bytes", known, known ? part->bytes - part->usual_bytes : 0);
}

static void add_lists(const struct telling *telling, struct ap_value *to, bool known)
{
    const struct ap_memory_run *run = telling->run;
    struct ap_value *owners = ap_add_list(telling->model, to, "owners");
    for (size_t i = 0; i < AP_OWNER_CATEGORY_COUNT_ && known; i++) {
        struct ap_value *row = ap_add_object(telling->model, owners, NULL);
        ap_add_string(telling->model, row, "category", ap_owner_category_name((enum ap_owner_category)i));
        add_part(telling->model, row, &run->owners[i]);
    }
    struct ap_value *lines = ap_add_list(telling->model, to, "lines");
    for (size_t i = 0; i < AP_MEMORY_LINES && known; i++) {
        struct ap_str name = run->rows[run->suspect].lines[i].name;
        if (!name.id)
            break;
        struct ap_value *row = ap_add_object(telling->model, lines, NULL);
        ap_add_text(telling->model, row, "line", ap_memory_text(run->set, name));
        add_part(telling->model, row, &run->lines[i]);
    }
}

static void add_difference(const struct telling *telling, struct ap_value *to)
{
    const struct ap_memory_run *run = telling->run;
    struct ap_model *model = telling->model;
    bool known = run->has_suspect && run->like_count;
    size_t owner = known ? largest_more(run->owners, AP_OWNER_CATEGORY_COUNT_) : SIZE_MAX;
    size_t line = known ? largest_more(run->lines, AP_MEMORY_LINES) : SIZE_MAX;
    struct ap_value *of = ap_add_object(model, to, "differs");
    ap_add_known_count(model, of, "rank", known, known ? run->rows[run->suspect].rank : 0);
    ap_add_known_count(model, of, "like_count", known, (int64_t)run->like_count);
    struct ap_value *most = ap_add_object(model, of, "owner");
    ap_add_known_string(model, most, "category", owner != SIZE_MAX,
                        ap_owner_category_name(owner != SIZE_MAX ? (enum ap_owner_category)owner : AP_OWNER_UNKNOWN));
    add_part(model, most, owner != SIZE_MAX ? &run->owners[owner] : NULL);
    most = ap_add_object(model, of, "line");
    struct ap_str name = line != SIZE_MAX ? run->rows[run->suspect].lines[line].name : (struct ap_str){ 0 };
    ap_add_known_text(model, most, "line", name.id, ap_memory_text(run->set, name));
    add_part(model, most, line != SIZE_MAX ? &run->lines[line] : NULL);
    add_lists(telling, of, known);
}

/* ------------------------------------------------------------------------------------------------------------ table */

static bool is_odder(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_memory_run *run = context;
    AP_LARGER_FIRST(run->rows[a].failures > 0, run->rows[b].failures > 0);
    AP_LARGER_FIRST(ap_memory_metric_of(&run->rows[a], AP_MEMORY_PEAK), ap_memory_metric_of(&run->rows[b], AP_MEMORY_PEAK));
    return a < b;
}

static void add_row(const struct telling *telling, const struct ap_rank_memory *rank, struct ap_value *list)
{
    struct ap_model *model = telling->model;
    struct ap_value *row = ap_add_object(model, list, NULL);
    bool owned = ap_memory_has_owners(rank);
    ap_add_count(model, row, "rank", rank->rank);
    add_host(telling, row, rank->rank);
    ap_add_string(model, row, "told_by", owned ? "snapshot" : "trace");
    ap_add_known_bytes(model, row, "peak_bytes", rank->peak_bytes >= 0, rank->peak_bytes);
    ap_add_known_bytes(model, row, "peak_reserved_bytes", rank->peak_reserved_bytes >= 0, rank->peak_reserved_bytes);
    ap_add_known_bytes(model, row, "split_bytes", rank->split_bytes >= 0, rank->split_bytes);
    ap_add_known_count(model, row, "retries", rank->retries >= 0, rank->retries);
    ap_add_known_count(model, row, "failures", rank->failures >= 0, rank->failures);
    for (size_t i = 0; i < AP_OWNER_CATEGORY_COUNT_; i++)
        ap_add_known_bytes(model, row, owner_keys[i], owned, rank->owners_bytes[i]);
}

static enum ap_status add_ranks(const struct telling *telling, struct ap_value *to, struct ap_error *reterr)
{
    const struct ap_memory_run *run = telling->run;
    uint32_t *order = NULL;
    size_t count = 0;
    AP_TRY(ap_top_indices(run->gate, (uint32_t)run->count, telling->found->options->top_n, is_odder, run, &order, &count,
                          reterr));
    struct ap_value *list = ap_add_list(telling->model, to, "ranks");
    for (size_t i = 0; i < count; i++)
        add_row(telling, &run->rows[order[i]], list);
    AP_FREE(run->gate, order, count);
    ap_add_count(telling->model, to, "ranks_left_out", (int64_t)(run->count - count));
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- sentence */

static const char *bytes_text(int64_t bytes, char to[AP_VALUE_TEXT_BYTES])
{
    struct ap_value value = { .type = AP_VALUE_BYTES, .as.integer = bytes };
    (void)ap_format_value(&value, to, AP_VALUE_TEXT_BYTES);
    return to;
}

/* Names ranks by number alone: names of hosts and lines are words of the input and stand in keys of their own. */
static void say(const struct ap_memory_run *run, char *to, size_t bytes)
{
    const struct ap_memory_odd *peak = &run->odd[AP_MEMORY_PEAK];
    char most[AP_VALUE_TEXT_BYTES], usual[AP_VALUE_TEXT_BYTES];
    (void)bytes_text(peak->value, most);
    (void)bytes_text(peak->usual, usual);
    if (run->failed_count)
        (void)snprintf(to, bytes,
                       "%zu of %zu ranks ran out of memory, rank %lld %s; the highest peak is %s, of rank %lld, "
                       "where %s are usual",
                       run->failed_count, run->count, (long long)run->rows[run->first_failed].rank,
                       run->failed_count == 1 ? "alone"
                       : run->failed_in_time  ? "first"
                                              : "with the highest peak",
                       most, (long long)run->rows[peak->index].rank, usual);
    else if (peak->count)
        (void)snprintf(to, bytes,
                       "rank %lld holds %s at its peak, where %s are usual; ranks that stand apart so: %zu of %zu",
                       (long long)run->rows[peak->index].rank, most, usual, peak->count, run->count);
    else
        (void)snprintf(to, bytes,
                       "no peak of the %zu ranks stands apart; the highest is %s, of rank %lld, where %s are usual",
                       run->count, most, (long long)run->rows[peak->index].rank, usual);
}

static void add_sentence(const struct telling *telling, struct ap_value *to)
{
    char sentence[400];
    bool known = telling->run->odd[AP_MEMORY_PEAK].known;
    if (known)
        say(telling->run, sentence, sizeof(sentence));
    ap_add_known_string(telling->model, to, "sentence", known, known ? sentence : "");
}

/* ------------------------------------------------------------------------------------------------------------- all */

static enum ap_status add_all(const struct telling *telling, struct ap_value *to, struct ap_error *reterr)
{
    const struct ap_memory_set *set = telling->run->set;
    add_sentence(telling, to);
    ap_add_count(telling->model, to, "rank_count", (int64_t)telling->run->count);
    ap_add_count(telling->model, to, "other_count", set->count ? (int64_t)(set->count - telling->run->count) : 0);
    add_failed(telling, to);
    for (int i = 0; i < AP_MEMORY_METRIC_COUNT_; i++)
        add_odd(telling, to, (enum ap_memory_metric)i);
    add_difference(telling, to);
    return add_ranks(telling, to, reterr);
}

enum ap_status ap_cluster_add_memory(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to,
                                     struct ap_error *reterr)
{
    struct ap_memory_run run;
    const struct telling telling = { found, &run, model };
    ap_memory_run_init(&run, &found->view->set->memory);
    enum ap_status status = add_rows(found, &run, reterr);
    AP_AND_THEN(status, ap_memory_run_compare(&run, reterr));
    AP_AND_THEN(status, add_all(&telling, ap_add_object(model, to, "memory"), reterr));
    ap_memory_run_release(&run);
    return status;
}
