/* SPDX-License-Identifier: MIT */
#include "kernel_compare.h"

#include "poison.h"

/* Together these kernels take so much of the time that is compared. */
#define COMMON_SHARE 0.5

/* A recording may hold some more of one than of the other; times are compared for one kernel. */
static void compare_common(const struct ap_rank_summary *rank, const struct ap_rank_summary *other, double *ret_here_ns,
                           double *ret_there_ns, double *ret_share)
{
    double here_ns = 0, there_ns = 0, all_ns = 0;
    size_t at = 0;
    for (size_t i = 0; i < rank->kernel_count; i++) {
        const struct ap_rank_kernel *kernel = &rank->kernels[i];
        all_ns += (double)kernel->total_ns;
        while (at < other->kernel_count && other->kernels[at].key < kernel->key)
            at++;
        if (at == other->kernel_count || other->kernels[at].key != kernel->key || !other->kernels[at].count)
            continue;
        here_ns += (double)kernel->total_ns;
        there_ns += (double)other->kernels[at].total_ns * (double)kernel->count / (double)other->kernels[at].count;
    }
    *ret_here_ns = here_ns;
    *ret_there_ns = there_ns;
    *ret_share = all_ns > 0 ? here_ns / all_ns : 0;
}

static double compute_ns(const struct ap_rank_summary *rank, const struct ap_run_view *view)
{
    double sum_ns = 0;
    for (size_t i = 0; i < rank->step_count; i++)
        if (ap_view_has_step(view, rank->steps[i].number))
            sum_ns += (double)rank->steps[i].kernel_ns;
    return view->has_steps ? sum_ns : (double)rank->spent_ns[AP_SPENT_compute];
}

bool ap_same_work_takes_longer(const struct ap_rank_summary *rank, const struct ap_rank_summary *other,
                               const struct ap_run_view *view)
{
    double here_ns, there_ns, share, mine_ns = compute_ns(rank, view), theirs_ns = compute_ns(other, view);
    compare_common(rank, other, &here_ns, &there_ns, &share);
    if (share < COMMON_SHARE || there_ns <= 0 || theirs_ns <= 0)
        return false;
    return here_ns / there_ns - 1 >= (mine_ns / theirs_ns - 1) / 2;
}
