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

/* The keys of a rule one after the other: each returns from it unless both are equal. For qsort ... */
#define AP_BY_SMALLER(a, b)            \
    do {                               \
        if ((a) != (b))                \
            return (a) < (b) ? -1 : 1; \
    } while (0)
#define AP_BY_LARGER(a, b) AP_BY_SMALLER(b, a)
/* ... and for an ap_before. */
#define AP_SMALLER_FIRST(a, b) \
    do {                       \
        if ((a) != (b))        \
            return (a) < (b);  \
    } while (0)
#define AP_LARGER_FIRST(a, b) AP_SMALLER_FIRST(b, a)

/** For qsort of int64_t. */
int ap_by_int64(const void *left, const void *right);

/** Does the row @a come before the row @b? Must be a strict order that leaves no two different rows equal. */
typedef bool ap_before(const void *context, uint32_t a, uint32_t b);

/** The first @limit (0 = all) of the indices 0..count-1 by the rule, in order. The list is the caller's: free it with
 *  ap_mem_free(gate, list, *ret_count * sizeof(uint32_t)); NULL where *ret_count is 0. */
AP_MUST_CHECK enum ap_status ap_top_indices(struct ap_gate *gate, uint32_t count, uint64_t limit, ap_before *before,
                                            const void *context, uint32_t **ret_list, size_t *ret_count,
                                            struct ap_error *reterr);

/** Move the index @low to the first of low .. @high - 1, or else to @high, for which @before does not hold: an expression of
 *  @at, the index that it is about, which holds for none behind one for which it does not. */
#define AP_BISECT(low, high, at, before)                      \
    do {                                                      \
        for (size_t ap_high_ = (high); (low) < ap_high_;) {   \
            const size_t at = (low) + (ap_high_ - (low)) / 2; \
            if (before)                                       \
                (low) = at + 1;                               \
            else                                              \
                ap_high_ = at;                                \
        }                                                     \
    } while (0)

/** The same among 0 .. @count - 1, sought from where @low stands, which is the answer to a question much like this one: the
 *  farther off the answer is, the longer that takes, but never longer than twice AP_BISECT. */
#define AP_SEEK(low, count, at, before)                                                  \
    do {                                                                                 \
        size_t ap_first_ = (low), ap_end_ = (low);                                       \
        for (size_t ap_step_ = 1; ap_end_ < (count); ap_step_ *= 2) {                    \
            const size_t at = ap_end_;                                                   \
            if (!(before))                                                               \
                break;                                                                   \
            ap_first_ = at + 1;                                                          \
            ap_end_ = (count)-ap_first_ < ap_step_ ? (count) : ap_first_ + ap_step_ - 1; \
        }                                                                                \
        if (ap_first_ == (low)) {                                                        \
            ap_first_ = 0;                                                               \
            for (size_t ap_step_ = 1; ap_step_ <= ap_end_; ap_step_ *= 2) {              \
                const size_t at = ap_end_ - ap_step_;                                    \
                if (before) {                                                            \
                    ap_first_ = at + 1;                                                  \
                    break;                                                               \
                }                                                                        \
                ap_end_ = at;                                                            \
            }                                                                            \
        }                                                                                \
        (low) = ap_first_;                                                               \
        AP_BISECT(low, ap_end_, at, before);                                             \
    } while (0)

/* End of the run that is in order from @start on. */
static inline size_t ap_sort_run_end(const uint32_t *indices, size_t start, size_t count, ap_before *before,
                                     const void *context)
{
    size_t end = start + 1;
    while (end < count && !before(context, indices[end], indices[end - 1]))
        end++;
    return end;
}

/* The first of [low, high), which is in order, that @pivot comes before: likely near the end, so it is sought from there. */
static inline size_t ap_sort_first_behind(const uint32_t *indices, size_t low, size_t high, uint32_t pivot,
                                          ap_before *before, const void *context)
{
    for (size_t step = 1; high - low > step; step *= 2) {
        if (!before(context, pivot, indices[high - step])) {
            low = high - step + 1;
            break;
        }
        high -= step;
    }
    AP_BISECT(low, high, at, !before(context, pivot, indices[at]));
    return low;
}

/* The first of them that does not come before @pivot: likely near the beginning. */
static inline size_t ap_sort_first_not_before(const uint32_t *indices, size_t low, size_t high, uint32_t pivot,
                                              ap_before *before, const void *context)
{
    for (size_t step = 1; high - low > step; step *= 2) {
        if (!before(context, indices[low + step - 1], pivot)) {
            high = low + step - 1;
            break;
        }
        low += step;
    }
    AP_BISECT(low, high, at, before(context, indices[at], pivot));
    return low;
}

/* Neighboring runs, of which only the parts are moved that do not stand where they belong. */
static inline void ap_sort_merge(uint32_t *indices, size_t start, size_t middle, size_t end, uint32_t *spare,
                                 ap_before *before, const void *context)
{
    start = ap_sort_first_behind(indices, start, middle, indices[middle], before, context);
    if (start == middle)
        return;
    end = ap_sort_first_not_before(indices, middle, end, indices[middle - 1], before, context);
    size_t left_count = middle - start, left = 0, right = middle, to = start;
    memcpy(spare, indices + start, left_count * sizeof(spare[0]));
    while (left < left_count && right < end) { /* which side is next cannot be guessed: no branch on it */
        uint32_t from_left = spare[left], from_right = indices[right];
        bool is_right = before(context, from_right, from_left);
        indices[to++] = is_right ? from_right : from_left;
        right += is_right;
        left += !is_right;
    }
    memcpy(indices + to, spare + left, (left_count - left) * sizeof(spare[0]));
}

/** Sort in place, merging the runs that are in order already: linear for sorted input. @spare has room for @count. In the
 *  header so that the rule can be compiled into the loops. Of the runs that are not merged yet each is more than twice as
 * long as the next. */
static inline void ap_sort_indices(uint32_t *indices, size_t count, uint32_t *spare, ap_before *before, const void *context)
{
    size_t starts[sizeof(size_t) * 8 + 1], open = 0;
    for (size_t end = 0; end < count;) {
        starts[open++] = end;
        end = ap_sort_run_end(indices, end, count, before, context);
        for (; open > 1; open--) {
            size_t start = starts[open - 2], middle = starts[open - 1];
            if (end < count && middle - start > 2 * (end - middle))
                break;
            ap_sort_merge(indices, start, middle, end, spare, before, context);
        }
    }
}

/** The same with a spare of its own, which lists in order need none of. */
AP_MUST_CHECK static inline enum ap_status ap_sort_list(struct ap_gate *gate, uint32_t *indices, size_t count,
                                                        ap_before *before, const void *context, struct ap_error *reterr)
{
    uint32_t *spare;
    if (!count || ap_sort_run_end(indices, 0, count, before, context) == count)
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, spare, count, reterr));
    ap_sort_indices(indices, count, spare, before, context);
    AP_FREE(gate, spare, count);
    return AP_OK;
}

#endif
