/* SPDX-License-Identifier: MIT
 * flight_names.h - what the name of an operation alone tells: its library, its peers, which of its sizes are the same on all
 * ranks. */
#ifndef AP_FLIGHT_NAMES_H
#define AP_FLIGHT_NAMES_H

#include "base.h"

struct ap_operation_name {
    struct ap_text library, operation; /* "nccl", "all_reduce"; an empty library where it is not told */
    bool is_send, is_receive;
    uint32_t from, to; /* ranks within the group; UINT32_MAX = not told */
};

/** "nccl:all_reduce", "nccl:send 0->1", "nccl:recv 1<-0". */
struct ap_operation_name ap_operation_name_of(struct ap_text profiling_name);

enum ap_equal_sizes { AP_SIZES_DIFFER, AP_SIZES_OF_INPUTS, AP_SIZES_OF_OUTPUTS };

/** Which sizes all ranks have alike. A root's own ones, and those of operations that allow other sizes on other ranks, are
 *  not compared. */
enum ap_equal_sizes ap_operation_sizes(struct ap_text operation);

/** What the Inspector calls "AllReduce" is all_reduce in the recorder. Writes at most @capacity bytes. */
size_t ap_operation_of_inspector(struct ap_text name, char *to, size_t capacity);

#endif
