/* SPDX-License-Identifier: MIT
 * collective.h - what is known of collectives in general: operations, element sizes, the size that bandwidths are counted
 * by. Sizes and factors are those of nccl-tests. Knows nothing of rows. */
#ifndef AP_COLLECTIVE_H
#define AP_COLLECTIVE_H

#include "base.h"

enum ap_collective_operation {
#define AP_COLLECTIVE(id) AP_COLLECTIVE_##id,
#include "collective.def"
    AP_COLLECTIVE_COUNT_
};

/** Told by the first part in collective_name.def that the name holds, whatever its case and
 *  underscores; of a kernel or of a call. */
enum ap_collective_operation ap_collective_operation_of(struct ap_text name);
/** As nccl-tests call it: "allreduce". */
const char *ap_collective_operation_name(enum ap_collective_operation operation);
struct ap_collective_time {
    int64_t bytes; /* moved; not above 0 = not known */
    int64_t dur_ns;
    int64_t bound_ns; /* what of it can be transfer */
};
/** Finds the bounds of collectives of one group and operation, by bytes: a transfer takes no longer than one of more bytes,
 *  and no longer for a byte than one of fewer; of what is not known nothing is said. What goes beyond is waiting for
 *  others. */
void ap_collective_find_bounds(struct ap_collective_time *times, size_t count);

/** Does it end on nobody before all have come to it? */
bool ap_collective_ends_together(enum ap_collective_operation operation);

/** Element types, 0 = unknown: by the name in args ("BFloat16") or in operator signatures ("c10::BFloat16"). */
unsigned ap_collective_dtype_of(struct ap_text name);
/** As the profiler writes it; "unknown" for 0. */
const char *ap_collective_dtype_name(unsigned dtype);
/** Of one element; 0 where the type is not known. */
int64_t ap_collective_dtype_bytes(unsigned dtype);
/** 32 bits or more for each real number. */
bool ap_collective_dtype_is_wide_float(unsigned dtype);

/** Bytes that algorithm bandwidth is counted by, of elements in and out of this rank (-1 = not told) and the group's size
 *  (< 1 = not told); -1 where they do not tell. */
int64_t ap_collective_bytes(enum ap_collective_operation operation, int64_t in_elements, int64_t out_elements,
                            int64_t group_size, unsigned dtype);
/** Bus over algorithm bandwidth; 0 where it has no meaning: groups of one or of unknown size, unknown operations. */
double ap_collective_bus_factor(enum ap_collective_operation operation, int64_t group_size);

/** Elements and type of the first input in an operator's signature: a tensor, or the tensors of a list together. False,
 *  and nothing is written, where there is none. */
bool ap_collective_first_input(struct ap_text dims, struct ap_text types, int64_t *ret_elements, unsigned *ret_dtype);

#endif
