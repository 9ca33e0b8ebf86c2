/* SPDX-License-Identifier: MIT */
#include "device_gaps.h"

#include "sort.h"

#include "poison.h"

/* ----------------------------------------------------------------------------------------------- devices together */

static inline bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_merged_work *merged = context;
    const int64_t *start_ns = merged->trace->events.start_ns;
    int64_t start_a_ns = start_ns[merged->links->row[a]], start_b_ns = start_ns[merged->links->row[b]];
    return start_a_ns != start_b_ns ? start_a_ns < start_b_ns : a < b;
}

enum ap_status ap_merged_work_init(struct ap_merged_work *merged, const struct ap_trace *trace, const struct ap_links *links,
                                   struct ap_gate *gate, struct ap_error *reterr)
{
    size_t count = links->count;
    *merged = (struct ap_merged_work){ .gate = gate, .trace = trace, .links = links };
    if (!count || ap_row_device(trace, links->row[0]) == ap_row_device(trace, links->row[count - 1]))
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, merged->order, count, reterr));
    for (size_t i = 0; i < count; i++)
        merged->order[i] = (uint32_t)i;
    return ap_sort_list(gate, merged->order, count, starts_before, merged, reterr);
}

void ap_merged_work_release(struct ap_merged_work *merged)
{
    AP_FREE(merged->gate, merged->order, merged->links->count);
}

/* ---------------------------------------------------------------------------------------------------------- gaps */

bool ap_gap_next(struct ap_gap_walk *walk, struct ap_gap *ret_gap)
{
    const struct ap_merged_work *merged = walk->merged;
    const struct ap_trace *trace = merged->trace;
    while (walk->at <= merged->links->count) {
        uint32_t work = walk->at < merged->links->count ? ap_merged_work_at(merged, walk->at) : AP_NO_ROW;
        uint32_t row = work == AP_NO_ROW ? AP_NO_ROW : merged->links->row[work];
        int64_t start_ns = row == AP_NO_ROW ? walk->end_ns : trace->events.start_ns[row];
        int64_t end_ns = row == AP_NO_ROW ? walk->end_ns : ap_row_end_ns(trace, row), from_ns = walk->busy_to_ns;
        walk->at++;
        walk->busy_to_ns = end_ns > from_ns ? end_ns : from_ns;
        if (start_ns <= from_ns)
            continue;
        *ret_gap = (struct ap_gap){ from_ns, start_ns, work, walk->count++ };
        return true;
    }
    return false;
}

static bool is_longer(const struct ap_gap *a, const struct ap_gap *b)
{
    int64_t a_ns = a->end_ns - a->start_ns, b_ns = b->end_ns - b->start_ns;
    return a_ns != b_ns ? a_ns > b_ns : a->number < b->number;
}

/* Down from the top of a heap whose top is the shortest. */
static void sift(struct ap_long_gap *heap, size_t count)
{
    struct ap_long_gap moved = heap[0];
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_longer(&heap[child].gap, &heap[child + 1].gap))
            child++;
        if (!is_longer(&moved.gap, &heap[child].gap))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void push(struct ap_long_gap *heap, size_t count, const struct ap_gap *gap)
{
    size_t at = count;
    for (; at && is_longer(&heap[(at - 1) / 2].gap, gap); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at].gap = *gap;
}

static bool rank_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_long_gap *list = context;
    return is_longer(&list[a].gap, &list[b].gap);
}

static int by_number(const void *left, const void *right)
{
    const struct ap_long_gap *a = left, *b = right;
    AP_BY_SMALLER(a->gap.number, b->gap.number);
    return 0;
}

enum ap_status ap_longest_gaps(struct ap_gap_walk walk, size_t most, struct ap_gate *gate, struct ap_long_gap **ret_list,
                               size_t *ret_count, struct ap_error *reterr)
{
    struct ap_long_gap *list;
    struct ap_gap gap;
    uint32_t *order;
    size_t count = 0;
    AP_TRY(AP_ALLOC(gate, list, most, reterr));
    while (ap_gap_next(&walk, &gap)) {
        if (count < most) {
            push(list, count++, &gap);
        } else if (is_longer(&gap, &list[0].gap)) {
            list[0].gap = gap;
            sift(list, count);
        }
    }
    enum ap_status status = ap_top_indices(gate, (uint32_t)count, 0, rank_before, list, &order, &count, reterr);
    if (status != AP_OK) {
        AP_FREE(gate, list, most);
        return status;
    }
    for (uint32_t i = 0; i < count; i++)
        list[order[i]].rank = i;
    AP_FREE(gate, order, count);
    ap_sort(list, count, sizeof(list[0]), by_number);
    *ret_list = list;
    *ret_count = count;
    return AP_OK;
}
