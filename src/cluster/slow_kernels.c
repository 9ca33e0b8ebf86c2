/* SPDX-License-Identifier: MIT */
#include "slow_kernels.h"

#include "sort.h"

#include "poison.h"

#define COMMON_SHARE 0.5  /* of a rank's kernels must run on others too */
#define LEAST_RANKS 3     /* that run a kernel, for its usual time to be known; of two ranks both */
#define CALLS_MAX 1000000 /* of a kernel, so that sums stay exact */

/* A kernel of one rank: how long one call of it takes. */
struct call_time {
    int64_t key, mean_ns, total_ns, count;
    uint32_t rank;
};

struct comparing {
    const struct ap_run_view *view;
    struct call_time *list;
    size_t count;
    double *here_ns, *usual_ns; /* by rank, of kernels that others run too */
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
        for (size_t j = 0; j < rank->kernel_count; j++) {
            const struct ap_rank_kernel *kernel = &rank->kernels[j];
            if (kernel->count > 0 && kernel->count <= CALLS_MAX)
                comparing->list[comparing->count++] =
                    (struct call_time){ kernel->key, kernel->total_ns / kernel->count, kernel->total_ns, kernel->count, i };
        }
    }
    ap_sort(comparing->list, comparing->count, sizeof(comparing->list[0]), by_key);
}

static void compare(struct comparing *comparing)
{
    for (size_t at = 0, end; at < comparing->count; at = end) {
        const struct call_time *first = &comparing->list[at];
        for (end = at; end < comparing->count && comparing->list[end].key == first->key;)
            end++;
        int64_t usual_ns = comparing->list[at + (end - at - 1) / 2].mean_ns;
        for (size_t i = at; i < end && (end - at >= LEAST_RANKS || end - at == comparing->view->count); i++) {
            const struct call_time *it = &comparing->list[i];
            comparing->here_ns[it->rank] += (double)it->total_ns;
            comparing->usual_ns[it->rank] += (double)usual_ns * (double)it->count;
        }
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
    return view->has_steps ? sum_ns / (double)view->step_count : (double)rank->spent_ns[AP_SPENT_compute];
}

static double all_kernels_ns(const struct ap_rank_summary *rank)
{
    double sum_ns = 0;
    for (size_t i = 0; i < rank->kernel_count; i++)
        sum_ns += (double)rank->kernels[i].total_ns;
    return sum_ns;
}

static double times_as_long(const struct comparing *comparing, uint32_t rank)
{
    double here_ns = comparing->here_ns[rank], usual_ns = comparing->usual_ns[rank];
    bool told = usual_ns > 0 && here_ns >= COMMON_SHARE * all_kernels_ns(ap_view_rank(comparing->view, rank));
    return told ? here_ns / usual_ns : 0;
}

static void tell(const struct comparing *comparing, struct ap_rank_times *to)
{
    double others_ns = 0;
    for (uint32_t i = 0; i < comparing->view->count; i++) {
        to[i] = (struct ap_rank_times){ compute_in_step(comparing->view, i), times_as_long(comparing, i), 0 };
        if (to[i].as_usual < AP_SLOW_TIMES && to[i].compute_ns > others_ns)
            others_ns = to[i].compute_ns;
    }
    for (uint32_t i = 0; i < comparing->view->count; i++) {
        double excess_ns = to[i].as_usual < AP_SLOW_TIMES ? 0 : to[i].compute_ns * (1 - 1 / to[i].as_usual);
        if (excess_ns > to[i].compute_ns - others_ns)
            excess_ns = to[i].compute_ns - others_ns;
        to[i].excess_ns = excess_ns > 0 && excess_ns < 9e18 ? (int64_t)excess_ns : 0;
    }
}

enum ap_status ap_slow_kernels_find(const struct ap_run_view *view, struct ap_rank_times *ret_ranks, struct ap_error *reterr)
{
    struct comparing comparing = { .view = view };
    size_t capacity = 0;
    for (size_t i = 0; i < view->count; i++)
        capacity += ap_view_rank(view, i)->kernel_count;
    enum ap_status status = capacity ? AP_ALLOC(view->gate, comparing.list, capacity, reterr) : AP_OK;
    AP_AND_THEN(status, AP_ALLOC_CLEARED(view->gate, comparing.here_ns, view->count, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(view->gate, comparing.usual_ns, view->count, reterr));
    if (status == AP_OK) {
        list_calls(&comparing);
        compare(&comparing);
        tell(&comparing, ret_ranks);
    }
    AP_FREE(view->gate, comparing.list, capacity);
    AP_FREE(view->gate, comparing.here_ns, view->count);
    AP_FREE(view->gate, comparing.usual_ns, view->count);
    return status;
}
