/* SPDX-License-Identifier: MIT
 * process_pipe.h - frames between the two processes that analyze_profile-mpi is on each place: one that speaks MPI and
 * parses nothing, one that parses, is confined as the program alone is, and speaks to nobody else. */
#ifndef AP_PROCESS_PIPE_H
#define AP_PROCESS_PIPE_H

#include <stddef.h>
#include <stdint.h>

#include "base.h"

enum ap_frame_kind {
    AP_FRAME_hello, /* to the program: helper is its place, bytes how many places there are, per_host on this host */
    AP_FRAME_share, /* to a helper, the one with this number where the program reports: bytes of a share follow */
    AP_FRAME_take,  /* from the program that reports: more of this helper's answer is wanted */
    AP_FRAME_data,  /* bytes of an answer follow */
    AP_FRAME_end,   /* of an answer */
    AP_FRAME_lost   /* the helper ended before that */
};

struct ap_frame {
    uint32_t kind, helper;
    uint64_t bytes;
    uint64_t per_host;
};

/** Bytes of an answer that travel at a time, at most. */
#define AP_FRAME_DATA_BYTES ((size_t)256 << 10)

/** One end of two pipes. */
struct ap_process_pipe {
    int in, out;
};

/** False where the other end is gone. */
AP_MUST_CHECK bool ap_pipe_read(const struct ap_process_pipe *pipe, void *to, size_t bytes);
/** A frame, and its @data of frame->bytes bytes where that is not NULL. */
AP_MUST_CHECK bool ap_pipe_send(const struct ap_process_pipe *pipe, const struct ap_frame *frame, const void *data);

#endif
