/* SPDX-License-Identifier: MIT
 * lone_groups.h - which collectives are of a group of one, where nobody is there to talk to: by what they say of themselves,
 * by the list of groups in the header, or by the operator that launched them. */
#ifndef AP_LONE_GROUPS_H
#define AP_LONE_GROUPS_H

#include "id_map.h"
#include "trace.h"

struct ap_lone_groups {
    struct ap_gate *gate;
    uint8_t *of_collective; /* by number in trace->collectives: it is of such a group */
    size_t count;
    struct ap_id_map operators; /* by external id: operators that are collectives of such a group. 1 = the last with it is */
};

/** @groups may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_lone_groups_init(struct ap_lone_groups *groups, const struct ap_trace *trace,
                                                 struct ap_gate *gate, struct ap_error *reterr);
void ap_lone_groups_release(struct ap_lone_groups *groups);

/** Of a kernel that says nothing of itself. */
bool ap_is_launched_alone(const struct ap_lone_groups *groups, const struct ap_trace *trace, uint32_t kernel);

#endif
