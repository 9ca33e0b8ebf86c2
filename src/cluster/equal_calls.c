/* SPDX-License-Identifier: MIT */
#include "equal_calls.h"

#include "sort.h"

#include "poison.h"

#define COMMON_SHARE 0.5  /* of a rank's calls must be made by others too */
#define LEAST_RANKS 3     /* that make a call, for its usual time to be known; of two ranks both */
#define CALLS_MAX 1000000 /* of one name and shape, so that sums stay exact */
#define LONGER_TIMES 1.15 /* as long as usual: of operators of a microsecond less is nothing */
#define MOST_TIMES 8.0    /* of one operator: it may wait for something */

/* Calls of one rank that are equal: how long one of them takes. */
struct call_time {
    int64_t key, mean_ns, total_ns, least_ns, count;
    uint32_t rank;
    uint8_t kind;
};

/* Of one rank, over the calls that others make too. */
struct sums {
    double here_ns[AP_RANK_CALL_COUNT_], usual_ns[AP_RANK_CALL_COUNT_];
    double least_here_ns[AP_RANK_CALL_COUNT_], least_usual_ns[AP_RANK_CALL_COUNT_];
    double operators, longer_operators, operator_times;
};

struct comparing {
    const struct ap_run_view *view;
    struct call_time *list;
    size_t count;
    int64_t *values;   /* scratch, one for each of the list */
    struct sums *sums; /* by rank */
};

static int by_key(const void *left, const void *right)
{
    const struct call_time *a = left, *b = right;
    AP_BY_SMALLER(a->key, b->key);
    AP_BY_SMALLER(a->mean_ns, b->mean_ns);
    AP_BY_SMALLER(a->rank, b->rank);
    return 0;
}

static void list_calls(struct comparing *comparing)
{
    for (uint32_t i = 0; i < comparing->view->count; i++) {
        const struct ap_rank_summary *rank = ap_view_rank(comparing->view, i);
        for (size_t j = 0; j < rank->call_count; j++) {
            const struct ap_rank_call *call = &rank->calls[j];
            if (call->count > 0 && call->count <= CALLS_MAX)
                comparing->list[comparing->count++] = (struct call_time){
                    call->key, call->total_ns / call->count, call->total_ns, call->least_ns, call->count, i, call->kind
                };
        }
    }
    ap_sort(comparing->list, comparing->count, sizeof(comparing->list[0]), by_key);
}

static void add_operator(struct sums *to, const struct call_time *it, int64_t least_ns)
{
    double times = least_ns ? (double)it->least_ns / (double)least_ns : 1;
    to->operators += (double)it->count;
    to->longer_operators += times >= LONGER_TIMES ? (double)it->count : 0;
    to->operator_times += (double)it->count * (times < MOST_TIMES ? times : MOST_TIMES);
}

/* Of one key. */
static void compare_equals(struct comparing *comparing, const struct call_time *equals, size_t count)
{
    int64_t usual_ns = equals[(count - 1) / 2].mean_ns;
    for (size_t i = 0; i < count; i++)
        comparing->values[i] = equals[i].least_ns;
    ap_sort(comparing->values, count, sizeof(comparing->values[0]), ap_by_int64);
    int64_t least_ns = comparing->values[(count - 1) / 2];
    for (size_t i = 0; i < count; i++) {
        const struct call_time *it = &equals[i];
        struct sums *to = &comparing->sums[it->rank];
        to->here_ns[it->kind] += (double)it->total_ns;
        to->usual_ns[it->kind] += (double)usual_ns * (double)it->count;
        to->least_here_ns[it->kind] += (double)it->least_ns * (double)it->count;
        to->least_usual_ns[it->kind] += (double)least_ns * (double)it->count;
        if (it->kind == AP_RANK_CALL_operator)
            add_operator(to, it, least_ns);
    }
}

static void compare(struct comparing *comparing)
{
    for (size_t at = 0, end; at < comparing->count; at = end) {
        const struct call_time *first = &comparing->list[at];
        for (end = at; end < comparing->count && comparing->list[end].key == first->key;)
            end++;
        if (end - at >= LEAST_RANKS || end - at == comparing->view->count)
            compare_equals(comparing, first, end - at);
    }
}

/* Of the steps that are compared, in each. */
static double compute_in_step(const struct ap_run_view *view, uint32_t index)
{
    const struct ap_rank_summary *rank = ap_view_rank(view, index);
    double sum_ns = 0;
    for (size_t i = 0; i < rank->step_count; i++)
        if (ap_view_has_step(view, rank->steps[i].number))
            sum_ns += (double)rank->steps[i].kernel_ns;
    return view->has_steps ? sum_ns / (double)view->step_count
                           : (double)rank->spent_ns[rank->has_device ? AP_SPENT_compute : AP_SPENT_operators];
}

static enum ap_rank_call_kind work_of(const struct ap_rank_summary *rank)
{
    return rank->has_device ? AP_RANK_CALL_kernel : AP_RANK_CALL_operator;
}

/* Are enough calls of the kind common to several ranks? */
static bool are_common(const struct comparing *comparing, uint32_t index, enum ap_rank_call_kind kind)
{
    const struct ap_rank_summary *rank = ap_view_rank(comparing->view, index);
    double all_ns = 0;
    for (size_t i = 0; i < rank->call_count; i++)
        all_ns += rank->calls[i].kind == kind ? (double)rank->calls[i].total_ns : 0;
    return comparing->sums[index].usual_ns[kind] > 0 && comparing->sums[index].here_ns[kind] >= COMMON_SHARE * all_ns;
}

static bool is_shaped(const struct ap_rank_summary *rank)
{
    double all_ns = 0, shaped_ns = 0;
    for (size_t i = 0; i < rank->call_count; i++) {
        if (rank->calls[i].kind != work_of(rank))
            continue;
        all_ns += (double)rank->calls[i].total_ns;
        shaped_ns += rank->calls[i].is_shaped ? (double)rank->calls[i].total_ns : 0;
    }
    return shaped_ns > COMMON_SHARE * all_ns;
}

static double over(double value, double by)
{
    return by > 0 ? value / by : 0;
}

static struct ap_rank_times times_of(const struct comparing *comparing, uint32_t index)
{
    const struct ap_rank_summary *rank = ap_view_rank(comparing->view, index);
    const struct sums *sums = &comparing->sums[index];
    enum ap_rank_call_kind work = work_of(rank);
    struct ap_rank_times times = { .compute_ns = compute_in_step(comparing->view, index), .is_shaped = is_shaped(rank) };
    if (are_common(comparing, index, work)) {
        times.as_usual = over(sums->here_ns[work], sums->usual_ns[work]);
        times.at_least = over(sums->least_here_ns[work], sums->least_usual_ns[work]);
    }
    if (are_common(comparing, index, AP_RANK_CALL_copy))
        times.copy_times = over(sums->here_ns[AP_RANK_CALL_copy], sums->usual_ns[AP_RANK_CALL_copy]);
    if (are_common(comparing, index, AP_RANK_CALL_operator)) {
        times.operator_times = over(sums->operator_times, sums->operators);
        times.longer_share = over(sums->longer_operators, sums->operators);
    }
    return times;
}

static void tell(const struct comparing *comparing, struct ap_rank_times *to)
{
    double others_ns = 0;
    for (uint32_t i = 0; i < comparing->view->count; i++) {
        to[i] = times_of(comparing, i);
        if (to[i].as_usual < AP_SLOW_TIMES && to[i].compute_ns > others_ns)
            others_ns = to[i].compute_ns;
    }
    for (uint32_t i = 0; i < comparing->view->count; i++) {
        double excess_ns = to[i].as_usual < AP_SLOW_TIMES ? 0 : to[i].compute_ns * (1 - 1 / to[i].as_usual);
        if (excess_ns > to[i].compute_ns - others_ns)
            excess_ns = to[i].compute_ns - others_ns;
        bool told = ap_view_rank(comparing->view, i)->has_device && excess_ns > 0 && excess_ns < 9e18;
        to[i].excess_ns = told ? (int64_t)excess_ns : 0;
    }
}

enum ap_status ap_equal_calls_find(const struct ap_run_view *view, struct ap_rank_times *ret_ranks, struct ap_error *reterr)
{
    struct comparing comparing = { .view = view };
    size_t capacity = 0;
    for (size_t i = 0; i < view->count; i++)
        capacity += ap_view_rank(view, i)->call_count;
    enum ap_status status = capacity ? AP_ALLOC(view->gate, comparing.list, capacity, reterr) : AP_OK;
    if (capacity)
        AP_AND_THEN(status, AP_ALLOC(view->gate, comparing.values, capacity, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(view->gate, comparing.sums, view->count, reterr));
    if (status == AP_OK) {
        list_calls(&comparing);
        compare(&comparing);
        tell(&comparing, ret_ranks);
    }
    AP_FREE(view->gate, comparing.list, capacity);
    AP_FREE(view->gate, comparing.values, capacity);
    AP_FREE(view->gate, comparing.sums, view->count);
    return status;
}
