/* SPDX-License-Identifier: MIT
 * rows_of.h - the rows of some kinds, in file order, also those that are not placed in time. Many passes are about one kind
 * in a few: 64 rows are looked at together, so that what is of no such kind costs next to nothing. */
#ifndef AP_ROWS_OF_H
#define AP_ROWS_OF_H

#include "trace.h"

#define AP_ROWS_OF_LOOK 64

struct ap_rows_of {
    const struct ap_events *events;
    size_t next;   /* the first row that was not looked at */
    uint64_t left; /* of those that were looked at last, the ones that are still to come */
    uint32_t kinds, row;
};

/** For loops: for (struct ap_rows_of at = ap_rows_of(trace, kinds); ap_rows_of_next(&at);), in which at.row is the row.
 *  @kinds: bit 1 << kind. */
static inline struct ap_rows_of ap_rows_of(const struct ap_trace *trace, uint32_t kinds)
{
    return (struct ap_rows_of){ .events = &trace->events, .kinds = kinds };
}

/** Which of the first 64 of @count rows with these tags are of the kinds: one bit each. */
uint64_t ap_rows_of_look(const uint8_t *tags, size_t count, uint32_t kinds);

static inline bool ap_rows_of_next(struct ap_rows_of *at)
{
    while (!at->left) {
        if (at->next >= at->events->count)
            return false;
        at->left = ap_rows_of_look(at->events->tag + at->next, at->events->count - at->next, at->kinds);
        at->next += AP_ROWS_OF_LOOK;
    }
    at->row = (uint32_t)(at->next - AP_ROWS_OF_LOOK) + (uint32_t)__builtin_ctzll(at->left);
    at->left &= at->left - 1;
    return true;
}

/** Is there any? */
static inline bool ap_has_rows_of(const struct ap_trace *trace, uint32_t kinds)
{
    struct ap_rows_of at = ap_rows_of(trace, kinds);
    return ap_rows_of_next(&at);
}

#endif
