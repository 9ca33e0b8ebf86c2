/* SPDX-License-Identifier: MIT
 * trace_join.h - adds the events of one part of a file to those of the parts before it.
 *
 * The part was read into a trace of its own, whose texts, tracks and categories have numbers of their own. What is new in
 * it is added in its order of first sight, so that the whole is the same as if it had been read in one go. Only for parts
 * without B, E and M events. */
#ifndef AP_TRACE_JOIN_H
#define AP_TRACE_JOIN_H

#include "trace_internal.h"

/** From the numbers of one pool or table of the part to those of the whole. */
struct ap_numbers {
    uint32_t *to;
    size_t count, capacity;
};

/** What is known of a part from one piece of it to the next. */
struct ap_trace_join {
    struct ap_gate *gate;
    struct ap_numbers strings, signatures, odd_keys, tracks, categories;
};

/** Forget the part's numbers. */
void ap_trace_join_reset(struct ap_trace_join *join);
void ap_trace_join_release(struct ap_trace_join *join);

/** *@ret_fits is false where the whole would be another one than if read in one go: then the part's events must be read
 *  again. Where this or the next function fails, the whole is of no use. */
AP_MUST_CHECK enum ap_status ap_trace_join_fits(struct ap_trace_join *join, struct ap_trace *whole,
                                                const struct ap_trace *part, bool *ret_fits, struct ap_error *reterr);
/** When it fits: adds the part's events, which are then to be forgotten. */
AP_MUST_CHECK enum ap_status ap_trace_join_add(struct ap_trace_join *join, struct ap_trace *whole,
                                               const struct ap_trace *part, struct ap_error *reterr);

#endif
