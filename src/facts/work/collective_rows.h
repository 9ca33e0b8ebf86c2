/* SPDX-License-Identifier: MIT
 * collective_rows.h - the collectives of a trace: one row for each communication kernel, and for each collective of a host
 * backend (gloo, mpi, ucc), with what is known of its size and group and how much of it other work covers. */
#ifndef AP_COLLECTIVE_ROWS_H
#define AP_COLLECTIVE_ROWS_H

#include "collective.h"
#include "kernel_family.h"
#include "links.h"

struct ap_collective_row {
    uint32_t row;
    uint32_t details;   /* index into trace->collectives; AP_NO_ROW = none tell of it */
    int64_t bytes;      /* ap_collective_bytes; -1 = unknown */
    int64_t exposed_ns; /* not covered by compute kernels or memsets of the device; of device rows */
    int64_t overlap_ns; /* covered by compute kernels; likewise */
    int32_t group_size; /* 0 = unknown */
    uint8_t operation, dtype;
    bool on_host;
};

struct ap_collective_rows {
    struct ap_gate *gate;
    struct ap_collective_row *rows; /* of devices in the order of links, then of the host in the order of the file */
    size_t count, capacity;
    size_t device_count;
    /* of devices, unions: */
    int64_t busy_ns, exposed_ns, overlap_ns;
    /* of what the host called, done by devices or not: */
    uint64_t call_count;            /* rows record_param_comms but waits */
    uint64_t missing_details_count; /* those that lack name, type, element counts or group size */
    uint64_t barrier_call_count;
    bool overflowed;
};

/** Lists and measures the collectives. @collectives may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_collective_rows_init(struct ap_collective_rows *collectives, const struct ap_trace *trace,
                                                     const struct ap_host_tree *tree, const struct ap_links *links,
                                                     const struct ap_kernel_families *families, struct ap_gate *gate,
                                                     struct ap_error *reterr);
void ap_collective_rows_release(struct ap_collective_rows *collectives);

#endif
