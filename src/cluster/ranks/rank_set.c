/* SPDX-License-Identifier: MIT */
#include "rank_set.h"

#include <string.h>

#include "sort.h"

#include "poison.h"

void ap_rank_set_init(struct ap_rank_set *set, struct ap_gate *gate)
{
    *set = (struct ap_rank_set){ .gate = gate };
    ap_strpool_init(&set->names, gate);
    ap_memory_set_init(&set->memory, gate);
}

void ap_rank_summary_release(struct ap_rank_summary *summary, struct ap_gate *gate)
{
    AP_FREE(gate, summary->steps, summary->step_capacity);
    AP_FREE(gate, summary->collectives, summary->collective_capacity);
    AP_FREE(gate, summary->calls, summary->call_capacity);
    *summary = (struct ap_rank_summary){ .rank = -1 };
}

void ap_rank_set_release(struct ap_rank_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        ap_rank_summary_release(&set->ranks[i], set->gate);
    AP_FREE(set->gate, set->ranks, set->capacity);
    ap_strpool_release(&set->names);
    ap_memory_set_release(&set->memory);
    *set = (struct ap_rank_set){ .gate = set->gate };
}

struct ap_str *ap_rank_name(struct ap_rank_summary *summary, size_t index)
{
    struct ap_str *const own[] = { &summary->path, &summary->host, &summary->device, &summary->backend,
                                   &summary->last_frame };
    if (index < AP_COUNT_OF(own))
        return own[index];
    size_t of_collectives = index - AP_COUNT_OF(own), of_calls = of_collectives - 2 * summary->collective_count;
    if (of_collectives < 2 * summary->collective_count) {
        struct ap_rank_collective *collective = &summary->collectives[of_collectives / 2];
        return of_collectives % 2 ? &collective->frame : &collective->group;
    }
    return of_calls < summary->call_count ? &summary->calls[of_calls].name : NULL;
}

/* --------------------------------------------------------------------------------------------------------- joining */

/* Ids of one pool in another. */
struct moving {
    struct ap_rank_set *to;
    const struct ap_rank_set *from;
    struct ap_str *ids; /* by id of from */
    size_t id_count;
};

static enum ap_status move_names(struct moving *moving, struct ap_error *reterr)
{
    moving->id_count = (size_t)ap_strpool_count(&moving->from->names) + 1;
    AP_TRY(AP_ALLOC_CLEARED(moving->to->gate, moving->ids, moving->id_count, reterr));
    for (uint32_t id = 1; id < moving->id_count; id++) {
        struct ap_text text = ap_strpool_text(&moving->from->names, (struct ap_str){ id });
        AP_TRY(ap_strpool_intern(&moving->to->names, text.data, text.bytes, &moving->ids[id], reterr));
    }
    return AP_OK;
}

static void rename_all(const struct moving *moving, struct ap_rank_summary *summary)
{
    struct ap_str *name;
    for (size_t i = 0; (name = ap_rank_name(summary, i)) != NULL; i++)
        *name = moving->ids[name->id];
}

static enum ap_status mention(struct moving *moving, struct ap_str name, struct ap_error *reterr)
{
    if (!name.id || moving->ids[name.id].id)
        return AP_OK;
    struct ap_text text = ap_strpool_text(&moving->from->names, name);
    return ap_strpool_intern(&moving->to->names, text.data, text.bytes, &moving->ids[name.id], reterr);
}

static enum ap_status mention_rank(struct moving *moving, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    const struct ap_str *name;
    for (size_t i = 0; (name = ap_rank_name(rank, i)) != NULL; i++)
        AP_TRY(mention(moving, *name, reterr));
    return AP_OK;
}

enum ap_status ap_rank_set_join(struct ap_rank_set *set, struct ap_rank_set *from, struct ap_error *reterr)
{
    struct moving moving = { .to = set, .from = from };
    enum ap_status status = move_names(&moving, reterr);
    AP_AND_THEN(status, AP_RESERVE(set->gate, set->ranks, set->capacity, set->count + from->count, reterr));
    for (size_t i = 0; i < from->count && status == AP_OK; i++) {
        rename_all(&moving, &from->ranks[i]);
        set->ranks[set->count++] = from->ranks[i];
    }
    from->count = status == AP_OK ? 0 : from->count;
    set->duplicate_count += from->duplicate_count;
    AP_FREE(set->gate, moving.ids, moving.id_count);
    AP_AND_THEN(status, ap_memory_set_join(&set->memory, &from->memory, reterr));
    return status;
}

/* ------------------------------------------------------------------------------------------------------- one order */

static int by_place(const void *left, const void *right)
{
    const struct ap_rank_summary *a = left, *b = right;
    AP_BY_SMALLER(a->rank, b->rank);
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->end_ns, b->end_ns);
    AP_BY_SMALLER(a->rows, b->rows);
    AP_BY_SMALLER(a->world_size, b->world_size);
    AP_BY_SMALLER(a->collective_count, b->collective_count);
    return 0;
}

/* Two windows of one rank cannot agree in all of this and be two. */
static bool say_the_same(const struct ap_rank_summary *a, const struct ap_rank_summary *b)
{
    return by_place(a, b) == 0 && a->step_count == b->step_count &&
           memcmp(a->spent_ns, b->spent_ns, sizeof(a->spent_ns)) == 0;
}

/* Of equals the one with the first path stays: which one that is does not depend on the order. */
static bool has_earlier_path(const struct ap_rank_set *set, const struct ap_rank_summary *a, const struct ap_rank_summary *b)
{
    return ap_text_compare(ap_rank_text(set, a->path), ap_rank_text(set, b->path)) < 0;
}

static void drop(struct ap_rank_set *set, struct ap_rank_summary *kept, struct ap_rank_summary *other)
{
    if (has_earlier_path(set, other, kept)) {
        struct ap_rank_summary better = *other;
        *other = *kept;
        *kept = better;
    }
    ap_rank_summary_release(other, set->gate);
    set->duplicate_count++;
}

/* Names in the order in which the ranks mention them: nothing that is found later depends on who was joined first. */
static enum ap_status renumber(struct ap_rank_set *set, struct ap_error *reterr)
{
    struct ap_rank_set sorted;
    struct moving moving = { .to = &sorted, .from = set, .id_count = (size_t)ap_strpool_count(&set->names) + 1 };
    ap_rank_set_init(&sorted, set->gate);
    AP_TRY(AP_ALLOC_CLEARED(set->gate, moving.ids, moving.id_count, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < set->count && status == AP_OK; i++)
        status = mention_rank(&moving, &set->ranks[i], reterr);
    for (size_t i = 0; i < set->count && status == AP_OK; i++)
        rename_all(&moving, &set->ranks[i]);
    if (status == AP_OK) {
        struct ap_strpool names = set->names;
        set->names = sorted.names;
        sorted.names = names;
    }
    AP_FREE(set->gate, moving.ids, moving.id_count);
    ap_rank_set_release(&sorted);
    return status;
}

enum ap_status ap_rank_set_finish(struct ap_rank_set *set, struct ap_error *reterr)
{
    size_t kept = 0;
    ap_sort(set->ranks, set->count, sizeof(set->ranks[0]), by_place);
    for (size_t i = 0; i < set->count; i++) {
        if (kept && say_the_same(&set->ranks[kept - 1], &set->ranks[i]))
            drop(set, &set->ranks[kept - 1], &set->ranks[i]);
        else
            set->ranks[kept++] = set->ranks[i];
    }
    set->count = kept;
    AP_TRY(ap_memory_set_finish(&set->memory, reterr));
    return renumber(set, reterr);
}
