/* SPDX-License-Identifier: MIT
 * cover.h - length of the union of spans of time that come in order of their starts. */
#ifndef AP_COVER_H
#define AP_COVER_H

#include <stdint.h>

/** @to_ns is the end of what is covered, INT64_MIN to begin with. What the span adds to it; moves it on. */
static inline int64_t ap_cover_extend(int64_t *to_ns, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= *to_ns)
        return 0;
    int64_t added_ns = end_ns - (start_ns > *to_ns ? start_ns : *to_ns);
    *to_ns = end_ns;
    return added_ns;
}

struct ap_cover {
    int64_t to_ns, sum_ns;
};

#define AP_COVER_EMPTY ((struct ap_cover){ .to_ns = INT64_MIN })

static inline void ap_cover_add(struct ap_cover *cover, int64_t start_ns, int64_t end_ns)
{
    cover->sum_ns += ap_cover_extend(&cover->to_ns, start_ns, end_ns);
}

/** How much is covered before @at_ns, when all spans that start before it were added and none that starts later. */
static inline int64_t ap_cover_before(const struct ap_cover *cover, int64_t at_ns)
{
    return cover->sum_ns - (cover->to_ns > at_ns ? cover->to_ns - at_ns : 0);
}

#endif
