/* SPDX-License-Identifier: MIT */
#include "memory_compare.h"

#include "quantile.h"
#include "sort.h"

#include "poison.h"

#define LEAST_BYTES ((double)((int64_t)256 << 20))
#define LEAST_SHARE 0.1 /* of what is usual */
#define LEAST_RETRIES 2.0
#define SPREADS 2.0
#define LEAST_GROUP 3u
#define ODD_PART 8u                   /* one in so many may be odd together */
#define MOST_VALUE ((int64_t)1 << 60) /* what files say may be anything */

void ap_memory_run_init(struct ap_memory_run *run, const struct ap_memory_set *set)
{
    *run = (struct ap_memory_run){ .gate = set->gate, .set = set };
}

void ap_memory_run_release(struct ap_memory_run *run)
{
    AP_FREE(run->gate, run->rows, run->row_capacity);
    AP_FREE(run->gate, run->roles, run->role_capacity);
    run->rows = NULL;
    run->roles = NULL;
}

static int64_t bounded(int64_t value)
{
    return value < -1 ? -1 : value > MOST_VALUE ? MOST_VALUE : value;
}

int64_t ap_memory_metric_of(const struct ap_rank_memory *row, enum ap_memory_metric metric)
{
    switch (metric) {
    case AP_MEMORY_PEAK: return bounded(row->peak_bytes);
    case AP_MEMORY_RESERVED: return bounded(row->peak_reserved_bytes);
    case AP_MEMORY_SPLIT: return bounded(row->split_bytes);
    case AP_MEMORY_RETRIES: return bounded(row->retries);
    case AP_MEMORY_METRIC_COUNT_: break;
    }
    return -1;
}

bool ap_memory_is_told_rather(const struct ap_rank_memory *a, const struct ap_rank_memory *b)
{
    if ((a->failures > 0) != (b->failures > 0))
        return a->failures > 0;
    return a->peak_bytes > b->peak_bytes;
}

enum ap_status ap_memory_run_add(struct ap_memory_run *run, const struct ap_rank_memory *row, uint32_t role,
                                 struct ap_error *reterr)
{
    size_t roles = run->count;
    AP_TRY_ADD(run->gate, run->roles, roles, run->role_capacity, reterr, role);
    AP_TRY_ADD(run->gate, run->rows, run->count, run->row_capacity, reterr, *row);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- odd */

struct sorting {
    const struct ap_memory_run *run;
    enum ap_memory_metric metric;
};

static int64_t value_at(const struct sorting *by, uint32_t row)
{
    return ap_memory_metric_of(&by->run->rows[row], by->metric);
}

/* Roles one after the other, each from its largest value down; those that are not known are the last. */
static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sorting *by = context;
    AP_SMALLER_FIRST(by->run->roles[a], by->run->roles[b]);
    AP_LARGER_FIRST(value_at(by, a), value_at(by, b));
    return a < b;
}

static double least_gap(enum ap_memory_metric metric, double usual, double spread)
{
    double least = metric == AP_MEMORY_RETRIES ? LEAST_RETRIES : LEAST_BYTES;
    least = LEAST_SHARE * usual > least ? LEAST_SHARE * usual : least;
    return SPREADS * spread > least ? SPREADS * spread : least;
}

/* Of the falling values from @from on: the one in the middle. */
static int64_t middle(const struct sorting *by, const uint32_t *rows, size_t from, size_t count)
{
    return value_at(by, rows[from + (count - from) / 2]);
}

/* How many of a role stand apart from the rest: behind the widest gap. */
static size_t count_odd(const struct sorting *by, const uint32_t *rows, size_t count)
{
    size_t most = count / ODD_PART ? count / ODD_PART : 1, best = 0;
    double widest = 0;
    for (size_t i = 1; i <= most && count >= LEAST_GROUP; i++) {
        double gap = (double)(value_at(by, rows[i - 1]) - value_at(by, rows[i]));
        double spread = (double)(value_at(by, rows[i]) - value_at(by, rows[count - 1]));
        if (gap <= widest || gap <= least_gap(by->metric, (double)middle(by, rows, i, count), spread))
            continue;
        widest = gap;
        best = i;
    }
    return best;
}

/* One role: @count rows whose value is known. Where it is odder than what was found before, or nothing was, it is kept. */
static void judge_role(const struct sorting *by, const uint32_t *rows, size_t count, struct ap_memory_odd *odd)
{
    if (count < 2)
        return;
    size_t apart = count_odd(by, rows, count), from = apart ? apart : 1;
    struct ap_memory_odd found = { apart, rows[0], value_at(by, rows[0]), middle(by, rows, from, count), true };
    bool better = !odd->known || (apart && !odd->count) ||
                  ((apart > 0) == (odd->count > 0) && found.value - found.usual > odd->value - odd->usual);
    *odd = better ? found : *odd;
}

static enum ap_status find_odd(struct ap_memory_run *run, enum ap_memory_metric metric, struct ap_error *reterr)
{
    const struct sorting by = { run, metric };
    uint32_t *rows;
    size_t count;
    AP_TRY(ap_top_indices(run->gate, (uint32_t)run->count, 0, is_before, &by, &rows, &count, reterr));
    for (size_t i = 0, end; i < count; i = end) {
        size_t known = 0;
        for (end = i; end < count && run->roles[rows[end]] == run->roles[rows[i]]; end++)
            known += value_at(&by, rows[end]) >= 0;
        judge_role(&by, rows + i, known, &run->odd[metric]);
    }
    AP_FREE(run->gate, rows, count);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------------- who failed */

static void find_failed(struct ap_memory_run *run)
{
    run->failed_in_time = true;
    for (size_t i = 0; i < run->count; i++)
        if (run->rows[i].failures > 0) {
            run->failed_in_time = run->failed_in_time && run->rows[i].first_failure_ns >= 0;
            run->first_failed = run->failed_count++ ? run->first_failed : i;
        }
    for (size_t i = run->first_failed + 1; i < run->count && run->failed_count; i++) {
        const struct ap_rank_memory *first = &run->rows[run->first_failed], *row = &run->rows[i];
        bool earlier =
            run->failed_in_time ? row->first_failure_ns < first->first_failure_ns : row->peak_bytes > first->peak_bytes;
        run->first_failed = row->failures > 0 && earlier ? i : run->first_failed;
    }
}

/* ------------------------------------------------------------------------------------------------------ what differs */

static bool is_like(const struct ap_memory_run *run, size_t row, bool same_role)
{
    return row != run->suspect && ap_memory_has_owners(&run->rows[row]) &&
           (!same_role || run->roles[row] == run->roles[run->suspect]);
}

static size_t count_like(const struct ap_memory_run *run, bool same_role)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += is_like(run, i, same_role);
    return count;
}

/* Of a line that is not among those that were kept: at most as much as the least of them. */
static int64_t bytes_of_line(const struct ap_rank_memory *row, struct ap_str name)
{
    for (size_t i = 0; i < AP_MEMORY_LINES; i++)
        if (row->lines[i].name.id == name.id)
            return row->lines[i].bytes;
    return row->lines[AP_MEMORY_LINES - 1].name.id ? row->lines[AP_MEMORY_LINES - 1].bytes : 0;
}

/* @which: an owner, or behind those a line of the suspect. */
static int64_t part_of(const struct ap_memory_run *run, size_t row, size_t which)
{
    const struct ap_rank_memory *of = &run->rows[row];
    if (which < AP_OWNER_CATEGORY_COUNT_)
        return bounded(of->owners_bytes[which]);
    return bounded(bytes_of_line(of, run->rows[run->suspect].lines[which - AP_OWNER_CATEGORY_COUNT_].name));
}

static void compare_part(struct ap_memory_run *run, bool same_role, size_t which, int64_t *spare)
{
    struct ap_memory_difference *to =
        which < AP_OWNER_CATEGORY_COUNT_ ? &run->owners[which] : &run->lines[which - AP_OWNER_CATEGORY_COUNT_];
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        if (is_like(run, i, same_role))
            spare[count++] = part_of(run, i, which);
    to->bytes = part_of(run, run->suspect, which);
    to->usual_bytes = ap_quantile(spare, count, 50);
}

static enum ap_status find_difference(struct ap_memory_run *run, struct ap_error *reterr)
{
    const struct ap_rank_memory *of = &run->rows[run->suspect];
    bool same_role = count_like(run, true) > 0;
    int64_t *spare;
    run->like_count = ap_memory_has_owners(of) ? count_like(run, same_role) : 0;
    if (!run->like_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(run->gate, spare, run->like_count, reterr));
    for (size_t i = 0; i < AP_OWNER_CATEGORY_COUNT_ + AP_MEMORY_LINES; i++)
        if (i < AP_OWNER_CATEGORY_COUNT_ || of->lines[i - AP_OWNER_CATEGORY_COUNT_].name.id)
            compare_part(run, same_role, i, spare);
    AP_FREE(run->gate, spare, run->like_count);
    return AP_OK;
}

enum ap_status ap_memory_run_compare(struct ap_memory_run *run, struct ap_error *reterr)
{
    if (!run->count)
        return AP_OK;
    for (int i = 0; i < AP_MEMORY_METRIC_COUNT_; i++)
        AP_TRY(find_odd(run, (enum ap_memory_metric)i, reterr));
    find_failed(run);
    run->has_suspect = run->failed_count || run->odd[AP_MEMORY_PEAK].count;
    run->suspect = run->failed_count ? run->first_failed : run->odd[AP_MEMORY_PEAK].index;
    return run->has_suspect ? find_difference(run, reterr) : AP_OK;
}
