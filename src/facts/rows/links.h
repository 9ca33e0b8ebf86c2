/* SPDX-License-Identifier: MIT
 * links.h - what caused each row of GPU work: the call that launched it, by correlation, else by an External id that no
 * other call has, whatever the call's name; the operator that made the call, by External id where that names operators, else
 * by containment in time on the calling thread. */
#ifndef AP_LINKS_H
#define AP_LINKS_H

#include "host_tree.h"

struct ap_device_row {
    uint32_t row;
    uint32_t launch; /* as ap_launch_at() */
    uint32_t op;     /* as ap_op_at() */
};

struct ap_links {
    struct ap_gate *gate;
    uint32_t *row;         /* all GPU work that is placed in time, by device, then start */
    uint32_t *launch, *op; /* see below; NULL = of no row */
    size_t count;
    uint64_t linked_count;                            /* with a launch */
    bool external_id_is_of_call;                      /* rows of work name their call by External id, not an operator */
    uint64_t early_count;                             /* of them, which start before that */
    uint64_t by_external_id_count, by_time_count;     /* how operators and annotations were found */
    uint64_t op_count;                                /* with an operator, no annotation alone */
    int64_t total_dur_ns, launched_dur_ns, op_dur_ns; /* of all rows; of those with a launch; with an operator */
};

/** What launched the row at this place: the first runtime or driver row with its key; AP_NO_ROW = not in the trace. */
static inline uint32_t ap_launch_at(const struct ap_links *links, size_t place)
{
    return links->launch ? links->launch[place] : AP_NO_ROW;
}

/** The innermost operator (an annotation where there is none) that launched it; AP_NO_ROW = unknown. */
static inline uint32_t ap_op_at(const struct ap_links *links, size_t place)
{
    return links->op ? links->op[place] : AP_NO_ROW;
}

/** All of that together; @place is below links->count. */
static inline struct ap_device_row ap_device_row_at(const struct ap_links *links, size_t place)
{
    return (struct ap_device_row){ links->row[place], ap_launch_at(links, place), ap_op_at(links, place) };
}

/** Lists the GPU work and links each row to its call and operator. @links may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_links_init(struct ap_links *links, const struct ap_trace *trace,
                                           const struct ap_row_order *order, const struct ap_host_tree *tree,
                                           struct ap_gate *gate, struct ap_error *reterr);
void ap_links_release(struct ap_links *links);

/** Do rows tell by which calls, or in which operators, work was launched? Of fewer than one in twenty they do not: then
 * nobody knows whether an idle device waited for the host, or for what stood before in a queue. */
static inline bool ap_links_tell_launches(const struct ap_links *links)
{
    return (links->linked_count + links->by_external_id_count) * 20 > links->count;
}

/** Does most work start before the call that launched it? Then the clocks of host and device differ, and nobody knows what
 * the host did while a device was idle. */
static inline bool ap_links_clocks_differ(const struct ap_links *links)
{
    return links->early_count * 2 > links->linked_count;
}

/** First start to last end of each device, summed. */
int64_t ap_links_window_ns(const struct ap_links *links, const struct ap_trace *trace);

#endif
