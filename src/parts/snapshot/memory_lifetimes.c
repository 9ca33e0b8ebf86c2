/* SPDX-License-Identifier: MIT
 * What all allocations of the history come to by stack: short-lived ones, bytes times lifetime, number. */
#include "peak_part.h"
#include "sort.h"

#include "poison.h"

/* Lifetimes in order of their stack: those of stack i are order[starts[i]] up to order[starts[i + 1]]. */
struct by_stack {
    uint32_t *starts, *order;
    double *keys;  /* by stack; negative = not in the list */
    size_t stacks; /* with stack 0 */
    uint32_t lifetimes;
};

static uint32_t stack_of(const struct ap_replay *replay, uint32_t index)
{
    const struct ap_lifetime *of = &replay->lifetimes[index];
    uint32_t stack = of->alloc != AP_NO_ENTRY ? replay->snapshot->actions.stack[of->alloc] : 0;
    return stack || of->block == AP_NO_ENTRY ? stack : replay->snapshot->blocks[of->block].stack;
}

static void release(struct ap_peak_part *own, struct by_stack *by)
{
    AP_FREE(own->gate, by->starts, by->stacks + 1);
    AP_FREE(own->gate, by->order, (size_t)by->lifetimes + 1);
    AP_FREE(own->gate, by->keys, by->stacks);
}

static enum ap_status sort_lifetimes(struct ap_peak_part *own, struct by_stack *by, struct ap_error *reterr)
{
    const struct ap_replay *replay = own->pass->replay;
    *by = (struct by_stack){ .stacks = (size_t)own->pass->snapshot->stacks.stack_count + 1,
                             .lifetimes = replay->lifetime_count };
    by->starts = ap_mem_resize(own->gate, NULL, 0, (by->stacks + 1) * sizeof(*by->starts));
    by->order = ap_mem_resize(own->gate, NULL, 0, ((size_t)by->lifetimes + 1) * sizeof(*by->order));
    by->keys = ap_mem_resize(own->gate, NULL, 0, by->stacks * sizeof(*by->keys));
    if (!by->starts || !by->order || !by->keys) {
        release(own, by);
        return ap_fail_memory(own->gate, reterr);
    }
    memset(by->starts, 0, (by->stacks + 1) * sizeof(*by->starts));
    for (uint32_t i = 0; i < by->lifetimes; i++)
        by->starts[stack_of(replay, i) + 1]++;
    for (size_t i = 1; i <= by->stacks; i++)
        by->starts[i] += by->starts[i - 1];
    for (uint32_t i = 0; i < by->lifetimes; i++)
        by->order[by->starts[stack_of(replay, i)]++] = i;
    for (size_t i = by->stacks; i > 0; i--) /* each has moved on to the next one's start */
        by->starts[i] = by->starts[i - 1];
    by->starts[0] = 0;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------- one lifetime */

struct span {
    uint32_t entries;
    int64_t ns;
    bool timed, freed, begun;
};

/* Within the history; false for one whose end was lost. */
static bool span_of(const struct ap_replay *replay, uint32_t device_index, uint32_t index, struct span *ret_span)
{
    const struct ap_lifetime *of = &replay->lifetimes[index];
    const struct ap_replay_device *device = &replay->devices[device_index];
    const struct ap_actions *actions = &replay->snapshot->actions;
    uint32_t end = of->free_requested != AP_NO_ENTRY ? of->free_requested : of->free_completed;
    struct span span = { .freed = end != AP_NO_ENTRY, .begun = of->alloc != AP_NO_ENTRY, .timed = device->has_times };
    if (!device->entry_count || (!span.freed && of->block == AP_NO_ENTRY))
        return false;
    uint32_t last = device->first_entry + device->entry_count - 1;
    uint32_t from = span.begun ? of->alloc : device->first_entry, to = span.freed ? end : last;
    span.entries = to >= from ? to - from : 0;
    if (span.timed && actions->time_ns[to] > actions->time_ns[from]) {
        bool overflowed = false;
        span.ns = ap_subtract_sat(actions->time_ns[to], actions->time_ns[from], &overflowed);
    }
    *ret_span = span;
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- one stack */

struct stack_sums {
    uint64_t allocs, short_count, count;
    int64_t alloc_bytes, short_bytes, short_largest_bytes, bytes;
    double short_entries, short_ns, byte_entries, byte_ns;
    bool timed;
};

static void add_short(struct stack_sums *sums, const struct span *span, int64_t bytes, bool *overflowed)
{
    if (!span->begun || !span->freed || span->entries > AP_SHORT_LIFE_ENTRIES)
        return;
    sums->short_count++;
    sums->short_bytes = ap_add_sat(sums->short_bytes, bytes, overflowed);
    sums->short_largest_bytes = bytes > sums->short_largest_bytes ? bytes : sums->short_largest_bytes;
    sums->short_entries += span->entries;
    sums->short_ns += (double)span->ns;
}

static struct stack_sums sum_stack(struct ap_peak_part *own, const struct by_stack *by, uint32_t stack)
{
    const struct ap_replay *replay = own->pass->replay;
    struct stack_sums sums = { .timed = true };
    for (uint32_t i = by->starts[stack]; i < by->starts[stack + 1]; i++) {
        uint32_t index = by->order[i];
        int64_t bytes = ap_replay_lifetime_bytes(replay, index);
        struct span span;
        if (replay->lifetimes[index].alloc != AP_NO_ENTRY) {
            sums.allocs++;
            sums.alloc_bytes = ap_add_sat(sums.alloc_bytes, bytes, &own->pass->overflowed);
        }
        if (!span_of(replay, ap_replay_device_of(replay, index), index, &span))
            continue;
        add_short(&sums, &span, bytes, &own->pass->overflowed);
        sums.count++;
        sums.bytes = ap_add_sat(sums.bytes, bytes, &own->pass->overflowed);
        sums.byte_entries += (double)bytes * span.entries;
        sums.byte_ns += (double)bytes * (double)span.ns;
        sums.timed = sums.timed && span.timed;
    }
    return sums;
}

/* ---------------------------------------------------------------------------------------------------------- the lists */

typedef double key_of(const struct stack_sums *sums, bool timed);
typedef void put_sums(struct ap_snapshot_part *pass, struct ap_value *row, const struct stack_sums *sums, double total);

static double short_key(const struct stack_sums *sums, bool timed)
{
    (void)timed;
    return sums->short_count ? (double)sums->short_largest_bytes : -1;
}

static double byte_time_key(const struct stack_sums *sums, bool timed)
{
    double key = timed ? sums->byte_ns : sums->byte_entries;
    return sums->count && key > 0 ? key : -1;
}

static double count_key(const struct stack_sums *sums, bool timed)
{
    (void)timed;
    return sums->allocs ? (double)sums->allocs : -1;
}

static void put_mean(struct ap_snapshot_part *pass, struct ap_value *row, const char *key, bool known, double sum,
                     uint64_t count)
{
    ap_add_known_number(pass->model, row, key, known, sum / (double)count);
}

static void put_short(struct ap_snapshot_part *pass, struct ap_value *row, const struct stack_sums *sums, double total)
{
    (void)total;
    ap_add_count(pass->model, row, "allocations", (int64_t)sums->short_count);
    ap_add_bytes(pass->model, row, "requested_bytes", sums->short_bytes);
    ap_add_bytes(pass->model, row, "largest_bytes", sums->short_largest_bytes);
    put_mean(pass, row, "mean_life_entries", true, sums->short_entries, sums->short_count);
    put_mean(pass, row, "mean_life_us", sums->timed, sums->short_ns / 1e3, sums->short_count);
}

static void put_byte_time(struct ap_snapshot_part *pass, struct ap_value *row, const struct stack_sums *sums, double total)
{
    ap_add_count(pass->model, row, "allocations", (int64_t)sums->count);
    ap_add_bytes(pass->model, row, "requested_bytes", sums->bytes);
    put_mean(pass, row, "gigabyte_seconds", sums->timed, sums->byte_ns / 1e18, 1);
    put_mean(pass, row, "gigabyte_entries", true, sums->byte_entries / 1e9, 1);
    ap_add_quotient(pass->model, row, "share_ratio", sums->timed ? sums->byte_ns : sums->byte_entries, total);
}

static void put_count(struct ap_snapshot_part *pass, struct ap_value *row, const struct stack_sums *sums, double total)
{
    ap_add_count(pass->model, row, "allocations", (int64_t)sums->allocs);
    ap_add_bytes(pass->model, row, "requested_bytes", sums->alloc_bytes);
    ap_add_quotient(pass->model, row, "share_ratio", (double)sums->allocs, total);
}

static bool larger_key(const void *context, uint32_t a, uint32_t b)
{
    const double *keys = context;
    return keys[a] > keys[b] || (!(keys[a] < keys[b]) && a < b);
}

struct list {
    const char *name;
    key_of *key;
    put_sums *put;
};

static enum ap_status put_list(struct ap_peak_part *own, const struct by_stack *by, const struct list *list, bool timed,
                               struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    struct ap_value *to = ap_add_list(pass->model, own->memory, list->name);
    uint32_t *top;
    size_t count;
    double total = 0;
    for (uint32_t i = 0; i < by->stacks; i++) {
        struct stack_sums sums = sum_stack(own, by, i);
        by->keys[i] = list->key(&sums, timed);
        total += by->keys[i] > 0 ? by->keys[i] : 0;
    }
    AP_TRY(ap_top_indices(own->gate, (uint32_t)by->stacks, pass->top_n, larger_key, by->keys, &top, &count, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < count && by->keys[top[i]] >= 0 && status == AP_OK; i++) {
        struct ap_value *row = ap_add_object(pass->model, to, NULL);
        struct stack_sums sums = sum_stack(own, by, top[i]);
        ap_put_count(pass, row, "stack", top[i] != 0, top[i]);
        status = ap_memory_put_frame(pass, row, "frame", top[i], reterr);
        list->put(pass, row, &sums, total);
    }
    AP_FREE(own->gate, top, count);
    return status;
}

/* Times count where every history with entries has them. */
static bool all_timed(const struct ap_replay *replay)
{
    for (uint32_t i = 0; i < replay->device_count; i++)
        if (replay->devices[i].entry_count && !replay->devices[i].has_times)
            return false;
    return true;
}

enum ap_status ap_own_put_lifetimes(struct ap_peak_part *own, struct ap_error *reterr)
{
    static const struct list lists[] = { { "temporaries", short_key, put_short },
                                         { "byte_time", byte_time_key, put_byte_time },
                                         { "allocation_counts", count_key, put_count } };
    struct by_stack by;
    AP_TRY(sort_lifetimes(own, &by, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < AP_COUNT_OF(lists) && status == AP_OK; i++)
        status = put_list(own, &by, &lists[i], all_timed(own->pass->replay), reterr);
    release(own, &by);
    return status;
}
