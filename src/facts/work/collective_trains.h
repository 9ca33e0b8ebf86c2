/* SPDX-License-Identifier: MIT
 * collective_trains.h - collectives of one operation that follow each other with hardly a kernel in between: gradients that
 * are reduced one by one. From the first to the last of them nothing else goes on. */
#ifndef AP_COLLECTIVE_TRAINS_H
#define AP_COLLECTIVE_TRAINS_H

#include "collective_rows.h"

struct ap_collective_trains {
    uint64_t count, collectives; /* trains, and collectives in them */
    int64_t dur_ns;              /* from the start of the first to the end of the last of each, summed */
    int64_t idle_ns;             /* of it, without any work on the device */
    bool overflowed;
};

/** Goes over the rows of the devices once; collectives of the host are in no train. */
struct ap_collective_trains ap_collective_trains_of(const struct ap_collective_rows *collectives,
                                                    const struct ap_trace *trace, const struct ap_links *links);

#endif
