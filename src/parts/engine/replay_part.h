/* SPDX-License-Identifier: MIT
 * replay_part.h - inside the part of graphs and repeats: what its files share. */
#ifndef AP_REPLAY_PART_H
#define AP_REPLAY_PART_H

#include "part.h"

/** Kernels of graphs that are alike to the mapping: one operator, shape, line and name. */
struct ap_replay_group {
    const struct ap_mapped_kernel *mapped;
    uint32_t count;
    int64_t total_ns;
};

struct ap_replay_groups {
    struct ap_gate *gate;
    struct ap_replay_group *list;
    size_t count, capacity;
    bool overflowed;
};

/** Of all matched graphs. @groups may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_replay_groups_init(struct ap_replay_groups *groups, const struct ap_facts *facts,
                                                   struct ap_gate *gate, struct ap_error *reterr);
void ap_replay_groups_release(struct ap_replay_groups *groups);

/** What the mapping tells of the kernel at this place of links->row; NULL = it is of no graph, or nothing is known. */
const struct ap_mapped_kernel *ap_replay_mapped(const struct ap_graph_runs *graphs, const struct ap_links *links,
                                                size_t place);

/** Adds dims and types, null where they are not known. */
void ap_replay_add_shapes(const struct ap_trace *trace, struct ap_str signature, struct ap_model *model,
                          struct ap_value *row);

/** Adds "repeats". @all_ns: of all kernels. */
AP_MUST_CHECK enum ap_status ap_replay_add_repeats(struct ap_part_context *context, int64_t all_ns, struct ap_model *model,
                                                   struct ap_value *root, struct ap_error *reterr);

#endif
