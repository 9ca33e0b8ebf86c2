/* SPDX-License-Identifier: MIT
 * scaling.h - one program with several batch sizes: time and memory against the size, by straight lines. Knows the model
 * alone. */
#ifndef AP_SCALING_H
#define AP_SCALING_H

#include "mem.h"
#include "model_build.h"

#define AP_SCALING_MAX_POINTS 64
/* What memory can be taken from, the best first; each must be known for all points to be used. */
#define AP_SCALING_PEAKS 3

/** One run; -1 = not known. */
struct ap_scaling_point {
    const char *path; /* borrowed */
    uint64_t batch;
    bool guessed; /* the batch, from shapes */
    bool cut;     /* the trace */
    int64_t step_ns, peak_bytes[AP_SCALING_PEAKS], capacity_bytes;
};

/** Take time, memory and device from a report. */
void ap_scaling_take(struct ap_scaling_point *point, const struct ap_value *root);

/** The batch size as recorded shapes show it: the leading dimension of the inputs of layers, where more than half of their
 * time agrees in it. False where shapes were not recorded or do not agree. */
bool ap_scaling_guess(const struct ap_value *root, uint64_t *ret_batch);

/** What a step of @batch samples costs by a line through the points: whatever the batch, and in proportion to it. False
 *  where no such line makes sense. */
bool ap_scaling_latency(const struct ap_scaling_point *points, size_t count, uint64_t batch, int64_t *ret_fixed_ns,
                        int64_t *ret_grows_ns);

/** Append "series" to the root of @model. The points are brought in order of their batch. */
void ap_scaling_add(struct ap_scaling_point *points, size_t count, struct ap_model *model);

#endif
