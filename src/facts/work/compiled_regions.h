/* SPDX-License-Identifier: MIT
 * compiled_regions.h - what torch.compile did while the trace was recorded: frames that ran compiled, what stood between
 * them, what was compiled on the way. */
#ifndef AP_COMPILED_REGIONS_H
#define AP_COMPILED_REGIONS_H

#include "links.h"

struct ap_compiled_region {
    uint32_t row;
    uint32_t frame, version; /* of "Torch-Compiled Region: FRAME/VERSION" */
    bool has_number;         /* else frame and version mean nothing */
    bool goes_on;            /* behind an operator which was not compiled */
    int64_t device_ns;       /* GPU work launched in it, but not in a region inside it */
    int64_t left_ns;         /* end of its last graph or of the last region inside it; AP_START_UNKNOWN = none yet */
};

struct ap_compiled {
    struct ap_gate *gate;
    struct ap_compiled_region *regions; /* track by track, in order of time */
    size_t count, capacity;
    uint64_t graph_count, distinct_graph_count;
    uint64_t guard_count, build_count;
    uint64_t jit_again_count; /* compilations of XLA, of functions that had been compiled in the window already */
    int64_t guard_ns, build_ns;
    uint64_t break_count; /* regions that go on after an operator which was not compiled */
    int64_t eager_ns;     /* from the end of compiled code to the region that goes on */
    int64_t outside_ns;   /* in regions, but in no graph; at such breaks between regions, and into the graph behind */
    uint64_t kernel_count, triton_count;
    int64_t kernel_ns, triton_ns;
    bool overflowed;
};

/** Goes over the host rows once, and over the GPU work that they launched. @compiled may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_compiled_init(struct ap_compiled *compiled, const struct ap_trace *trace,
                                              const struct ap_row_order *order, const struct ap_host_tree *tree,
                                              const struct ap_links *links, struct ap_gate *gate, struct ap_error *reterr);
void ap_compiled_release(struct ap_compiled *compiled);

#endif
