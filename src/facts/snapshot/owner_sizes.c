/* SPDX-License-Identifier: MIT
 * owner_sizes.c - weights from before the history have no stack: they are told by having the sizes of the gradients, or of
 * the optimizer's state, one by one. */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

#define SHARE_MATCHED 0.9

struct sized {
    int64_t bytes;
    uint32_t index; /* in the list */
    uint8_t kind;   /* enum sized_kind */
};

enum sized_kind { SIZED_GRADIENT, SIZED_STATE, SIZED_OPEN };

static int by_bytes(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static uint32_t list_sizes(const struct ap_owned *list, uint32_t count, struct sized *to)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum ap_owner_evidence evidence = (enum ap_owner_evidence)list[i].evidence;
        enum ap_owner_category category = ap_owner_evidence_category(evidence);
        if (evidence == AP_EVIDENCE_BEFORE_KEPT)
            to[found++] = (struct sized){ list[i].bytes, i, SIZED_OPEN };
        else if (category == AP_OWNER_GRADIENTS ||
                 (category == AP_OWNER_OPTIMIZER_STATE && list[i].alloc == AP_NO_ENTRY)) /* a new one replaces an old one */
            to[found++] = (struct sized){ list[i].bytes, i, category == AP_OWNER_GRADIENTS ? SIZED_GRADIENT : SIZED_STATE };
    }
    return found;
}

/* One run of equal sizes: how many weights of it the reference asks for, how many are open. */
struct run {
    uint32_t end, wanted, open;
};

static struct run run_at(const struct sized *sizes, uint32_t count, uint32_t from, enum sized_kind reference,
                         uint32_t copies)
{
    struct run run = { .end = from };
    for (; run.end < count && sizes[run.end].bytes == sizes[from].bytes; run.end++) {
        run.wanted += sizes[run.end].kind == reference;
        run.open += sizes[run.end].kind == SIZED_OPEN;
    }
    run.wanted /= copies;
    return run;
}

/* Do nearly all sizes of the reference stand among the open ones, and nearly all of it divide into so many copies? */
static bool fits(const struct sized *sizes, uint32_t count, enum sized_kind reference, uint32_t copies)
{
    double all = 0, matched = 0;
    struct run run;
    for (uint32_t i = 0; i < count; i = run.end) {
        run = run_at(sizes, count, i, reference, 1);
        uint32_t wanted = run.wanted / copies, found = run.open < wanted ? run.open : wanted;
        all += (double)sizes[i].bytes * run.wanted;
        matched += (double)sizes[i].bytes * found * copies;
    }
    return all > 0 && matched >= SHARE_MATCHED * all;
}

static void settle(struct ap_owned *list, const struct sized *sizes, uint32_t count, enum sized_kind reference,
                   uint32_t copies)
{
    struct run run;
    for (uint32_t i = 0; i < count; i = run.end) {
        run = run_at(sizes, count, i, reference, copies);
        for (uint32_t j = i; j < run.end && run.wanted; j++) {
            if (sizes[j].kind != SIZED_OPEN)
                continue;
            list[sizes[j].index].evidence = AP_EVIDENCE_SIZES_OF_WEIGHTS;
            run.wanted--;
        }
    }
}

enum ap_status ap_owned_settle_sizes(const struct ap_owners *owners, struct ap_owned *list, uint32_t count,
                                     struct ap_error *reterr)
{
    static const struct {
        enum sized_kind reference;
        uint32_t copies;
    } ways[] = { { SIZED_GRADIENT, 1 }, { SIZED_STATE, 2 }, { SIZED_STATE, 1 } };
    size_t bytes = (size_t)count * sizeof(struct sized);
    if (!count)
        return AP_OK;
    struct sized *sizes = ap_mem_resize(owners->gate, NULL, 0, bytes);
    if (!sizes)
        return ap_fail_memory(owners->gate, reterr);
    uint32_t found = list_sizes(list, count, sizes);
    ap_sort(sizes, found, sizeof(*sizes), by_bytes);
    for (size_t i = 0; i < AP_COUNT_OF(ways); i++) {
        if (!fits(sizes, found, ways[i].reference, ways[i].copies))
            continue;
        settle(list, sizes, found, ways[i].reference, ways[i].copies);
        break;
    }
    ap_mem_free(owners->gate, sizes, bytes);
    return AP_OK;
}
