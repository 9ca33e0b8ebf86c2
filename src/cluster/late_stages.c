/* SPDX-License-Identifier: MIT
 * late_stages.c - stages of a pipeline that the others wait for. In sends and receives who waits for whom is a matter of the
 * schedule, and a stage of one rank is late against nobody: what it computes tells. */
#include "run_judging.h"

#include "sort.h"

#include "poison.h"

#define HEAVY_TIMES 1.25 /* the work of the middle rank: first and last stages have a little more by design */
#define HEAVY_PART 10    /* of a step, that it could be shorter */
#define WAITING_PART 2   /* of what the others could wait for it, that they do wait in transfers */

/* Marks a rank with which all steps could be shorter by @excess_ns. @count: ranks like it. */
static void mark(struct ap_judging *judging, uint32_t rank, enum ap_late_kind kind, int64_t excess_ns, int64_t count)
{
    struct ap_run_verdict *verdict = judging->verdict;
    int64_t all = (int64_t)judging->delays->rank_count, most_ns = judging->delays->matching->transfer_exposed_ns / count;
    double waited_ns = (double)excess_ns * (double)(all - count) / (double)count * (double)ap_judged_end(judging);
    judging->by_kernels = true;
    verdict->kinds[rank] = (uint8_t)kind;
    verdict->typical_late_ns[rank] = excess_ns;
    verdict->caused_ns[rank] = waited_ns < (double)most_ns ? (int64_t)waited_ns : most_ns;
}

/* ------------------------------------------------------------------------------------------------------------ slow */

/* All ranks of a stage may be slow alike, so that none of them is late against another. */
static bool find_slow(struct ap_judging *judging)
{
    int64_t all = (int64_t)judging->delays->rank_count, slow = 0;
    for (uint32_t i = 0; i < all; i++)
        slow += judging->kernels[i].excess_ns >= judging->verdict->floor_ns;
    if (!slow || 2 * slow > all)
        return false;
    for (uint32_t i = 0; i < all; i++)
        if (judging->kernels[i].excess_ns >= judging->verdict->floor_ns)
            mark(judging, i, AP_LATE_slow_device, judging->kernels[i].excess_ns, slow);
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- heavy */

/* Times of processes that share cores vary: there only more calls, or other shapes, are more work. */
static bool is_more(const struct ap_judging *judging, uint32_t rank, double usual_ns)
{
    if (judging->kernels[rank].compute_ns < HEAVY_TIMES * usual_ns)
        return false;
    if (ap_view_rank(judging->view, rank)->has_device)
        return true;
    const struct ap_work_apart apart = ap_work_apart_of(judging->delays, judging->kernels, rank, true, judging->values);
    return ap_has_more_work(&apart);
}

static double middle_work(const struct ap_judging *judging)
{
    size_t count = judging->delays->rank_count;
    for (size_t i = 0; i < count; i++)
        judging->values[i] = (int64_t)judging->kernels[i].compute_ns;
    ap_sort(judging->values, count, sizeof(judging->values[0]), ap_by_int64);
    return (double)judging->values[(count - 1) / 2];
}

/* The work of a stage bounds that of the whole pipeline. What could be gained is what it has more than the next one. */
static void find_heavy(struct ap_judging *judging)
{
    const struct ap_delays *delays = judging->delays;
    double usual_ns = middle_work(judging), next_ns = 0, most_ns = 0, steps = (double)ap_judged_end(judging);
    int64_t heavy = 0, all = (int64_t)delays->rank_count;
    for (uint32_t i = 0; i < all; i++) {
        bool more = is_more(judging, i, usual_ns);
        double *to = more ? &most_ns : &next_ns;
        *to = judging->kernels[i].compute_ns > *to ? judging->kernels[i].compute_ns : *to;
        heavy += more;
    }
    double excess_ns = most_ns - next_ns, exposed_ns = (double)delays->matching->transfer_exposed_ns;
    if (!heavy || 2 * heavy > all || usual_ns <= 0 || excess_ns < (double)judging->verdict->floor_ns ||
        excess_ns < (double)judging->view->step_ns / HEAVY_PART ||
        exposed_ns < excess_ns * (double)(all - heavy) * steps / WAITING_PART)
        return;
    for (uint32_t i = 0; i < all; i++)
        if (is_more(judging, i, usual_ns) && judging->kernels[i].compute_ns > next_ns)
            mark(judging, i, AP_LATE_heavy_stage, (int64_t)(judging->kernels[i].compute_ns - next_ns), heavy);
}

void ap_find_stages(struct ap_judging *judging)
{
    if (!find_slow(judging) && judging->delays->rank_count <= AP_RANKS_COMPARED)
        find_heavy(judging);
}
