/* SPDX-License-Identifier: MIT
 * compute_modes.c - work that the way brings in which a program calls it: algorithms that are tried out, norms that learn
 * while nothing is trained, one matrix that is read for vector after vector. */
#include <math.h>

#include "compute_part.h"

#include "poison.h"

#define LEAST_VECTORS 16
#define VECTORS_A_KERNEL 4 /* of other work, at least, where layers are not told by their calls */
#define TRIED_KERNELS 3    /* that a call which tries algorithms launches beyond those of the others, at least */

/* The first call took far longer than the others, and launched several kernels more: a library tried its algorithms. */
static bool tries_algorithms(const struct ap_compute_group *group)
{
    uint64_t others = group->timed_count - 1, of_others = group->kernel_count - group->first_kernel_count;
    return group->cost.kind == AP_WORK_convolution && group->cold_count &&
           group->first_kernel_count * others >= of_others + TRIED_KERNELS * others;
}

static void add_searched(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    double kept_ns = 0;
    for (uint32_t index = 0; index < work->compute.group_count && !work->compute.is_host; index++) {
        const struct ap_compute_group *group = AP_COMPUTE_CALLS(&work->compute, index);
        if (!tries_algorithms(group))
            continue;
        ap_compute_sum_add(work, &sum, index);
        kept_ns += (double)group->total_ns - (double)group->cold_ns;
    }
    ap_compute_add_pattern(work, &sum, kept_ns, "searched", model, to);
}

/* In a run without backward pass: a norm in eval mode reads and writes once. */
static void add_trained_norms(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    double kept_ns = 0;
    bool trains = work->context->facts->phases.has_backward;
    for (uint32_t index = 0; index < work->compute.group_count && !trains; index++) {
        const struct ap_compute_group *group = AP_COMPUTE_CALLS(&work->compute, index);
        if (!ap_compute_is(&work->compute, index, AP_COST_is_training))
            continue;
        ap_compute_sum_add(work, &sum, index);
        double good_ns = ap_compute_roofline(work, index)->good_ns;
        kept_ns += good_ns < 0 ? (double)group->total_ns : fmin(good_ns * group->timed_count, (double)group->total_ns);
    }
    ap_compute_add_pattern(work, &sum, kept_ns, "trained_norms", model, to);
}

/* ---- a matrix and vector after vector ---- */

static bool is_of_vector(const struct ap_compute_work *work, uint32_t index)
{
    struct ap_call_cost cost = ap_compute_cost(&work->compute, AP_COMPUTE_CALLS(&work->compute, index));
    return cost.kind == AP_WORK_gemm && cost.batch <= 1 && fmin(cost.m, cost.n) <= 1 && cost.experts <= 0 &&
           ap_compute_roofline(work, index)->is_memory_bound;
}

/* Of @calls alike, right one after the other: a product of the matrix with all vectors reads it once. */
static double saved_of_run(const struct ap_compute *compute, uint32_t end, uint32_t calls)
{
    double ns = 0;
    for (uint32_t call = end - calls; call < end; call++)
        ns += (double)compute->call_ns[call];
    return ns * (1 - 1 / (double)calls);
}

/* Kernels of no call of known cost, as a compiler or an extension launches them, may run between: layers of a model. */
static bool may_lie_between(const struct ap_compute *compute, uint64_t vectors)
{
    return compute->other_count > vectors / VECTORS_A_KERNEL;
}

/* Runs long enough, by group, in one pass over all calls. */
static void add_vector_runs(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_compute *compute = &work->compute;
    struct ap_compute_sum sum = { .count = 0 };
    double saved_ns = 0;
    uint32_t run = 0, of = AP_NO_ROW, last = AP_NO_ROW;
    size_t calls = compute->is_host || !compute->group_of ? 0 : compute->counted.count;
    for (uint32_t call = 0; call <= calls; call++) {
        uint32_t group = call < calls ? compute->group_of[call] : AP_NO_ROW;
        if (group != of && run >= LEAST_VECTORS && is_of_vector(work, of)) {
            saved_ns += saved_of_run(compute, call, run);
            if (of != last) /* runs of one group mostly follow each other */
                ap_compute_sum_add(work, &sum, of);
            last = of;
        }
        run = group == of ? run + 1 : 1;
        of = group;
    }
    if (may_lie_between(compute, sum.count)) {
        sum = (struct ap_compute_sum){ .count = 0 };
        saved_ns = 0;
    }
    ap_compute_add_pattern(work, &sum, (double)sum.total_ns - saved_ns, "vector_runs", model, to);
}

void ap_compute_add_modes(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    add_searched(work, model, to);
    add_trained_norms(work, model, to);
    add_vector_runs(work, model, to);
}
