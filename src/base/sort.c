/* SPDX-License-Identifier: MIT */
#include "sort.h"

#include "poison.h"

int ap_by_int64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* A heap whose root is the last of those kept. */
static void sift_down(uint32_t *heap, size_t count, size_t at, ap_before *before, const void *context)
{
    for (;;) {
        size_t last = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < count; child++)
            if (before(context, heap[last], heap[child]))
                last = child;
        if (last == at)
            return;
        uint32_t swapped = heap[at];
        heap[at] = heap[last];
        heap[last] = swapped;
        at = last;
    }
}

/* The first @kept of them, which are fewer than all. */
static void find_top(uint32_t *heap, size_t kept, uint32_t count, ap_before *before, const void *context)
{
    for (size_t at = kept / 2; at-- > 0;)
        sift_down(heap, kept, at, before, context);
    for (uint32_t i = (uint32_t)kept; i < count; i++) {
        if (!before(context, i, heap[0]))
            continue;
        heap[0] = i;
        sift_down(heap, kept, 0, before, context);
    }
    for (size_t left = kept; left > 1; left--) {
        uint32_t swapped = heap[0];
        heap[0] = heap[left - 1];
        heap[left - 1] = swapped;
        sift_down(heap, left - 1, 0, before, context);
    }
}

enum ap_status ap_top_indices(struct ap_gate *gate, uint32_t count, uint64_t limit, ap_before *before, const void *context,
                              uint32_t **ret_list, size_t *ret_count, struct ap_error *reterr)
{
    size_t kept = limit && limit < count ? (size_t)limit : count;
    enum ap_status status = AP_OK;
    *ret_list = NULL;
    *ret_count = kept;
    if (!kept)
        return AP_OK;
    uint32_t *list;
    AP_TRY(AP_ALLOC(gate, list, kept, reterr));
    for (uint32_t i = 0; i < kept; i++)
        list[i] = i;
    if (kept < count)
        find_top(list, kept, count, before, context);
    else
        status = ap_sort_list(gate, list, count, before, context, reterr);
    if (status == AP_OK)
        *ret_list = list;
    else
        AP_FREE(gate, list, kept);
    return status;
}
