/* SPDX-License-Identifier: MIT
 * sort.h - ordering, without global state. */
#ifndef AP_SORT_H
#define AP_SORT_H

#include <stdlib.h>
#include <string.h>

#include "mem.h"

/** qsort for a list that may be NULL where it is empty, which qsort does not allow. */
static inline void ap_sort(void *list, size_t count, size_t element_bytes, int (*compare)(const void *, const void *))
{
    if (count)
        qsort(list, count, element_bytes, compare);
}

/** Does the row @a come before the row @b? Must be a strict order that leaves no two different rows equal. */
typedef bool ap_before(const void *context, uint32_t a, uint32_t b);

/** The first @limit (0 = all) of the indices 0..count-1 by the rule, in order. The list is the caller's: free it with
 *  ap_mem_free(gate, list, *ret_count * sizeof(uint32_t)); NULL where *ret_count is 0. */
AP_MUST_CHECK enum ap_status ap_top_indices(struct ap_gate *gate, uint32_t count, uint64_t limit, ap_before *before,
                                            const void *context, uint32_t **ret_list, size_t *ret_count,
                                            struct ap_error *reterr);

/* End of the run that is in order from @start on. */
static inline size_t ap_sort_run_end(const uint32_t *indices, size_t start, size_t count, ap_before *before, const void *context)
{
    size_t end = start + 1;
    while (end < count && !before(context, indices[end], indices[end - 1]))
        end++;
    return end;
}

static inline void ap_sort_merge(uint32_t *indices, size_t start, size_t middle, size_t end, uint32_t *spare, ap_before *before,
                  const void *context)
{
    size_t left_count = middle - start, left = 0, right = middle, to = start;
    memcpy(spare, indices + start, left_count * sizeof(spare[0]));
    while (left < left_count && right < end)
        indices[to++] = before(context, indices[right], spare[left]) ? indices[right++] : spare[left++];
    memcpy(indices + to, spare + left, (left_count - left) * sizeof(spare[0]));
}

/** Sort in place, merging the runs that are in order already: linear for sorted input. @spare has room for @count. In the
 * header so that the rule can be compiled into the loops.
 * Neighbouring runs are merged pass by pass; runs are found again each pass, which costs one comparison an element. */
static inline void ap_sort_indices(uint32_t *indices, size_t count, uint32_t *spare, ap_before *before, const void *context)
{
    for (bool sorted = false; !sorted;) {
        sorted = true;
        for (size_t start = 0; start < count;) {
            size_t middle = ap_sort_run_end(indices, start, count, before, context);
            if (middle == count)
                break;
            size_t end = ap_sort_run_end(indices, middle, count, before, context);
            ap_sort_merge(indices, start, middle, end, spare, before, context);
            sorted = sorted && start == 0 && end == count;
            start = end;
        }
    }
}

#endif
