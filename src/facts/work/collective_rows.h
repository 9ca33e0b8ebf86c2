/* SPDX-License-Identifier: MIT
 * collective_rows.h - the collectives of a trace: one row for each communication kernel, and for each collective of a host
 * backend (gloo, mpi, ucc), with what is known of its size and group and how much of it other work covers. */
#ifndef AP_COLLECTIVE_ROWS_H
#define AP_COLLECTIVE_ROWS_H

#include "collective.h"
#include "kernel_family.h"
#include "links.h"

/** What many rows have in common. */
struct ap_collective_kind {
    int64_t bytes;      /* ap_collective_bytes; -1 = unknown */
    int32_t group_size; /* 0 = unknown */
    uint32_t name;      /* of the rows */
    struct ap_str what; /* of trace->collective_kinds: what tells of it; absent = nothing does */
    uint8_t operation, dtype;
    bool on_host;
    uint8_t zero; /* where padding would be: kinds are compared as bytes */
};

struct ap_collective_row {
    uint32_t row;
    struct ap_str kind; /* of kinds */
};

/** How much of device rows other work covers. */
struct ap_collective_cover {
    int64_t exposed_ns; /* not covered by compute kernels or memsets of the device */
    int64_t overlap_ns; /* covered by compute kernels */
};

/** What a row has for itself. */
struct ap_collective_own {
    struct ap_collective_cover cover;
    uint32_t details; /* index into trace->collectives; AP_NO_ROW = none tell of it */
};

struct ap_collective_rows {
    struct ap_gate *gate;
    struct ap_collective_row *rows; /* of devices in the order of links, then of the host in the order of the file */
    size_t count, capacity;
    size_t device_count;
    struct ap_collective_own *own; /* by row; NULL unless asked for: there may be millions of rows, and most ask for sums */
    size_t own_count, own_capacity;
    struct ap_strpool kinds;            /* each a struct ap_collective_kind, in order of their first rows */
    struct ap_collective_cover *covers; /* by id of the kind, less 1: sums over its rows */
    /* of devices, unions: */
    int64_t busy_ns, exposed_ns, overlap_ns;
    /* of what the host called, done by devices or not: */
    uint64_t call_count;            /* rows record_param_comms but waits */
    uint64_t missing_details_count; /* those that lack name, type, element counts or group size */
    uint64_t barrier_call_count;
    bool overflowed;
};

/** What the row is: borrowed from @collectives. */
static inline const struct ap_collective_kind *ap_collective_kind(const struct ap_collective_rows *collectives,
                                                                  const struct ap_collective_row *row)
{
    const void *kind = ap_strpool_text(&collectives->kinds, row->kind).data;
    return kind;
}

/** Lists and measures the collectives, each row for itself too @with_own. @collectives may be released after a failure. */
AP_MUST_CHECK enum ap_status ap_collective_rows_init(struct ap_collective_rows *collectives, const struct ap_trace *trace,
                                                     const struct ap_host_tree *tree, const struct ap_links *links,
                                                     const struct ap_kernel_families *families, bool with_own,
                                                     struct ap_gate *gate, struct ap_error *reterr);
void ap_collective_rows_release(struct ap_collective_rows *collectives);

#endif
