/* SPDX-License-Identifier: MIT
 * share_api.c - the part of a process that reads files of a run for another one. */
#include "analyze_profile/analyze_profile.h"
#include "rank_share.h"

#include "poison.h"

/* What the program needs beside the gate. */
#define RESERVE_BYTES UINT64_C(16777216)

enum ap_status ap_share_read(const struct ap_request *request, const char *share, size_t bytes, ap_write_fn *write,
                             void *write_self, struct ap_error *reterr)
{
    const struct ap_cluster_options options = {
        .opener = request->opener, .jobs = request->jobs, .max_depth = request->max_depth, .salvage = request->salvage
    };
    struct ap_gate gate;
    ap_gate_init(&gate, request->max_memory_bytes ? request->max_memory_bytes - RESERVE_BYTES : 0);
    gate.reserve_bytes = RESERVE_BYTES;
    gate.limit_why = request->max_memory_why;
    return ap_share_answer((struct ap_text){ share, bytes }, &options, &gate, (struct ap_sink){ write, write_self }, reterr);
}
