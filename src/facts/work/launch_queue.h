/* SPDX-License-Identifier: MIT
 * launch_queue.h - how much launched work waits for its start, stream by stream: one more at the start of the call, one
 * less at the start on the device. A graph launch is one entry, which leaves with its first row. */
#ifndef AP_LAUNCH_QUEUE_H
#define AP_LAUNCH_QUEUE_H

#include "links.h"

#define AP_QUEUE_LIMIT 1024 /* launches that a CUDA stream takes before the host blocks */
#define AP_QUEUE_POINTS 100

struct ap_stream_queue {
    uint32_t track;
    uint64_t launches;
    int64_t max_length;
    int64_t start_ns, end_ns; /* first call to last start on the device */
    double length_ns;         /* integral of the length over that time */
    int64_t at_limit_ns, empty_ns;
};

struct ap_launch_queues {
    struct ap_gate *gate;
    struct ap_stream_queue *streams; /* those with launches, by track */
    size_t count, capacity;
    size_t busiest;                  /* with the most launches */
    int64_t points[AP_QUEUE_POINTS]; /* of the busiest: largest length in each part of its time */
    int64_t point_ns;                /* length of such a part */
    size_t point_count;
};

/** Follows each stream from its first launch to its last start. @queues may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_launch_queues_init(struct ap_launch_queues *queues, const struct ap_trace *trace,
                                                   const struct ap_links *links, struct ap_gate *gate,
                                                   struct ap_error *reterr);
void ap_launch_queues_release(struct ap_launch_queues *queues);

#endif
