/* SPDX-License-Identifier: MIT
 * avoidable.h - what is in use at the peak of a device and need not be: how far the peak would fall without it. */
#ifndef AP_AVOIDABLE_H
#define AP_AVOIDABLE_H

#include "allocation_owner.h"

enum ap_avoidable_kind {
    AP_AVOIDABLE_OLD_GRADIENTS,    /* of the pass before; freed behind the peak, before the next backward pass */
    AP_AVOIDABLE_PREVIOUS_OUTPUTS, /* of the forward before, still there beside those of this one, freed within it */
    AP_AVOIDABLE_BATCHES_AHEAD,    /* made alike outside of modules and freed in that order, more than two at a time */
    AP_AVOIDABLE_UNUSED_GRAPHS,    /* of forward passes; kept and freed together, or of several, with no backward pass */
    AP_AVOIDABLE_FAILED_STEP,      /* made by a step that found no room, and there still while it is tried again */
    AP_AVOIDABLE_REGROWN,          /* made anew by the same stack, a little longer, while the one before is there */
    AP_AVOIDABLE_OLD_STATE,        /* of an optimizer for all weights, made again by the same stack in a later step */
    AP_AVOIDABLE_ACTIVATIONS,      /* all that forward passes made: what checkpointing could save is at most this */
    AP_AVOIDABLE_UNCHECKED,        /* activations outside of checkpoints, of lines that elsewhere run under one */
    AP_AVOIDABLE_LOGITS, /* over all words, with their logarithms and gradients: a loss in pieces needs none whole */
    AP_AVOIDABLE_SCORES, /* of attention, of all positions with all */
    AP_AVOIDABLE_LARGE,  /* of over a twentieth of the peak each, that come and go or that nothing tells */
    AP_AVOIDABLE_STEP_TEMPORARIES, /* made and freed in the optimizer's step that is the peak */
    AP_AVOIDABLE_KIND_COUNT_
};

#define AP_AVOIDABLE_TOP 5u

/** What one stack holds of it at the peak. */
struct ap_avoidable_stack {
    int64_t bytes;
    uint32_t stack, count;
};

/** What the user's line to look at stands for: the one that called the outermost module; of old gradients the one that gave
 *  them back. */
struct ap_avoidable_line {
    int64_t bytes;
    uint32_t frame, count;
};

struct ap_avoidable {
    int64_t held_bytes;  /* of it, in use at the peak */
    int64_t saved_bytes; /* by so much the highest point of the curve falls without it */
    uint32_t count;      /* allocations, at the peak */
    uint32_t stack_count;
    struct ap_avoidable_stack stacks[AP_AVOIDABLE_TOP]; /* largest first */
    uint32_t call_count; /* of activations: calls of the first line whose results are there, others' work between them */
    uint32_t line_count;
    struct ap_avoidable_line lines[AP_AVOIDABLE_TOP]; /* largest first */
};

/** Of what @owned holds at its peak; all is 0 where it is not known at a peak. Sorts @owned by its allocs. */
AP_MUST_CHECK enum ap_status ap_avoidable_find(const struct ap_owners *owners, struct ap_owned_device *owned,
                                               struct ap_avoidable ret_kinds[AP_AVOIDABLE_KIND_COUNT_],
                                               struct ap_error *reterr);

#endif
