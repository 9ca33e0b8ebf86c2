/* SPDX-License-Identifier: MIT
 * gpu_cover.h - how much of a span of time a set of GPU rows covers on one device, in logarithmic time. */
#ifndef AP_GPU_COVER_H
#define AP_GPU_COVER_H

#include "links.h"

struct ap_gpu_cover {
    struct ap_gate *gate;
    struct ap_covered {
        int64_t start_ns;
        int64_t before_ns; /* length of the ones before it on its device; with that of the next one its own is told */
    } * spans;             /* merged, by device, then start */
    size_t count, capacity;
    struct ap_covered_device {
        int64_t device;
        size_t first, end; /* in spans */
        int64_t total_ns;  /* length of all of them */
    } * devices;
    size_t device_count, device_capacity;
};

/** Is the row at this place of links->row in the set? */
typedef bool ap_in_cover(const void *context, size_t place);

/** Merges the rows of @links that are in the set. @context is handed to @in_cover. @cover may be released after a failure
 *  too. */
AP_MUST_CHECK enum ap_status ap_gpu_cover_init(struct ap_gpu_cover *cover, const struct ap_trace *trace,
                                               const struct ap_links *links, ap_in_cover *in_cover, const void *context,
                                               struct ap_gate *gate, struct ap_error *reterr);
/** Time in which a row runs on any device, as that of a device 0. @joined may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_gpu_cover_join(struct ap_gpu_cover *joined, const struct ap_gpu_cover *cover,
                                               struct ap_error *reterr);
void ap_gpu_cover_release(struct ap_gpu_cover *cover);

/** Time between @start_ns and @end_ns in which at least one row of the set runs on @device. */
int64_t ap_gpu_covered_ns(const struct ap_gpu_cover *cover, int64_t device, int64_t start_ns, int64_t end_ns);

#endif
