/* SPDX-License-Identifier: MIT
 * periods.h - where the steps of a history begin, so that equal moments of a loop can be compared. Knows nothing of the
 * report. */
#ifndef AP_PERIODS_H
#define AP_PERIODS_H

#include "address_map.h"
#include "replay.h"

/** In the order in which they are tried. */
enum ap_period_source {
    AP_PERIODS_NONE,         /* too short a history */
    AP_PERIODS_ANNOTATIONS,  /* external annotations: ProfilerStep#N, Optimizer.step..., or another name with "step" or
                               "iteration" in it, of several the one that occurs least. Where each ProfilerStep holds as
                               many beginnings of Optimizer.step..., these, which reach further */
    AP_PERIODS_REPETITION,   /* a stack (without stacks: a size) that allocates again and again at even distances, or at
                               distances that are even but for a few; of several the one with the longest. Where there is
                               none, a line of the user's code: warm-up and loop may call the same */
    AP_PERIODS_EQUAL_PARTS,  /* as many allocations in each */
    AP_PERIODS_PASSES,       /* a forward and its backward pass: for who knows them */
    AP_PERIODS_LONGER_ROUNDS /* without stacks, a size that comes at distances which grow: for who asks for them */
};

#define AP_LEAST_PERIODS 4u

struct ap_periods {
    struct ap_gate *gate;
    enum ap_period_source source;
    uint32_t *bounds;     /* positions of the device, ascending; period i lies between bounds[i] and bounds[i + 1] */
    uint32_t bound_count; /* periods + 1; 0 where there are none */
    size_t capacity;
    struct ap_str name; /* the annotation; of ProfilerStep#N one of them */
    uint32_t stack;     /* the stack that repeats; 0 where it is a size */
    bool uneven;        /* it repeats at distances that are even but for a few */
};

static inline uint32_t ap_period_count(const struct ap_periods *periods)
{
    return periods->bound_count ? periods->bound_count - 1 : 0;
}

/** Whole periods only: what is before the first bound and behind the last is none. */
AP_MUST_CHECK enum ap_status ap_periods_find(const struct ap_replay *replay, uint32_t device, struct ap_periods *ret_periods,
                                             struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_periods_add(struct ap_periods *periods, uint32_t position, struct ap_error *reterr);
void ap_periods_release(struct ap_periods *periods);

/** What allocations are told apart by: the stack, or its line of the user's code; or without one the requested size. */
struct ap_origin_groups {
    struct ap_gate *gate;
    struct ap_address_map by_size;
    int64_t *sizes; /* group stack_count + 1 + i is of this size */
    size_t size_capacity;
    uint32_t size_count, stack_count;
    uint32_t *lines; /* by stack, the first that is as one with it; NULL = each stack for itself */
};

/** Groups count up from 0 to stack_count + size_count, which grows; group i <= stack_count is stack i. */
void ap_origin_groups_init(struct ap_origin_groups *groups, const struct ap_snapshot *snapshot);
void ap_origin_groups_release(struct ap_origin_groups *groups);
/** From now on stacks are one that have the same frames of Python up to the innermost line of the user's: the group of the
 *  first of them. What one line calls in different ways stays apart. */
AP_MUST_CHECK enum ap_status ap_origin_groups_by_line(struct ap_origin_groups *groups, const struct ap_snapshot *snapshot,
                                                      struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_origin_group(struct ap_origin_groups *groups, uint32_t stack, int64_t size_bytes,
                                             uint32_t *ret_group, struct ap_error *reterr);

#endif
