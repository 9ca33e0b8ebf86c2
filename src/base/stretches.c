/* SPDX-License-Identifier: MIT */
#include "stretches.h"

#include "sort.h"

#include "poison.h"

void ap_stretches_release(struct ap_stretches *set, struct ap_gate *gate)
{
    AP_FREE(gate, set->list, set->capacity);
    *set = (struct ap_stretches){ .list = NULL };
}

/* Too many: it is not known any more. */
static void forget(struct ap_stretches *set, struct ap_gate *gate)
{
    AP_FREE(gate, set->list, set->capacity);
    *set = (struct ap_stretches){ .unknown = true, .failed = set->failed };
}

void ap_stretches_add(struct ap_stretches *set, struct ap_gate *gate, int64_t start_ns, int64_t end_ns)
{
    struct ap_stretch *last = set->count ? &set->list[set->count - 1] : NULL;
    if (end_ns <= start_ns || set->unknown || set->failed)
        return;
    if (last && start_ns >= last->start_ns && start_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return;
    }
    set->in_order = !last || (set->in_order && start_ns > last->end_ns);
    if (set->count == AP_STRETCHES_MOST) {
        forget(set, gate);
        return;
    }
    set->failed |= AP_RESERVE(gate, set->list, set->capacity, set->count + 1, NULL) != AP_OK;
    if (!set->failed)
        set->list[set->count++] = (struct ap_stretch){ start_ns, end_ns };
}

void ap_stretches_add_all(struct ap_stretches *set, struct ap_gate *gate, const struct ap_stretches *more)
{
    for (size_t i = 0; i < more->count; i++)
        ap_stretches_add(set, gate, more->list[i].start_ns, more->list[i].end_ns);
    if (more->unknown)
        forget(set, gate);
    set->failed |= more->failed;
}

static int by_start(const void *left, const void *right)
{
    const struct ap_stretch *a = left, *b = right;
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->end_ns, b->end_ns);
    return 0;
}

static void put_in_order(struct ap_stretches *set)
{
    size_t count = 0;
    if (set->in_order || !set->count)
        return;
    ap_sort(set->list, set->count, sizeof(set->list[0]), by_start);
    for (size_t i = 1; i < set->count; i++) {
        struct ap_stretch *last = &set->list[count];
        if (set->list[i].start_ns > last->end_ns)
            set->list[++count] = set->list[i];
        else if (set->list[i].end_ns > last->end_ns)
            last->end_ns = set->list[i].end_ns;
    }
    set->count = count + 1;
    set->in_order = true;
}

int64_t ap_stretches_length_ns(struct ap_stretches *set)
{
    int64_t sum_ns = 0;
    bool overflowed = false;
    put_in_order(set);
    for (size_t i = 0; i < set->count; i++)
        sum_ns = ap_add_sat(sum_ns, set->list[i].end_ns - set->list[i].start_ns, &overflowed);
    return sum_ns;
}

int64_t ap_stretches_overlap_ns(struct ap_stretches *a, struct ap_stretches *b)
{
    int64_t sum_ns = 0;
    bool overflowed = false;
    put_in_order(a);
    put_in_order(b);
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct ap_stretch *x = &a->list[i], *y = &b->list[j];
        int64_t from_ns = x->start_ns > y->start_ns ? x->start_ns : y->start_ns;
        int64_t to_ns = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;
        if (to_ns > from_ns)
            sum_ns = ap_add_sat(sum_ns, to_ns - from_ns, &overflowed);
        if (x->end_ns < y->end_ns)
            i++;
        else
            j++;
    }
    return sum_ns;
}
