/* SPDX-License-Identifier: MIT
 * avoidable_search.h - what the searches for avoidable memory share, within this folder: the passes of a device's history,
 * and what its curve would lose. */
#ifndef AP_AVOIDABLE_SEARCH_H
#define AP_AVOIDABLE_SEARCH_H

#include "avoidable.h"

/* Bytes that would not be there from one position to another. */
struct ap_cut {
    uint32_t from, to; /* positions; both included */
    int64_t bytes;
};

/* One allocation of the history. */
struct ap_stay {
    int64_t bytes;
    uint32_t stack, alloc, end;
};

/* A forward and what follows until the next one. */
struct ap_pass {
    uint32_t start, forward; /* entries: the first; the first of its forward */
    uint32_t use;            /* the first backward or optimizer work, or the end of the history */
    uint32_t done;           /* the last entry that allocates for its backward; AP_NO_ENTRY = none */
    uint32_t count;          /* allocations of its forward */
    uint32_t
        cut; /* of those at the peak, its forward's that were there when a request failed; while graphs are looked for */
    bool outgrown; /* and they are more than a forward makes */
};

struct ap_avoidable_search {
    const struct ap_owners *owners;
    const struct ap_replay_device *of;
    struct ap_owned_device *owned;
    struct ap_cut *cuts;
    size_t capacity, count;
    struct ap_pass *passes; /* in order */
    size_t pass_capacity;
    uint32_t pass_count;
    uint32_t last_alloc;          /* the last entry that allocates */
    uint32_t peak;                /* the entry that reaches it */
    bool keeps_graphs;            /* at the end of the history there is more of its last forwards than one of them makes */
    uint32_t *allocations_before; /* by entry, from the device's first one on; while graphs are looked for */
    uint32_t *failures_before;    /* the same of requests that failed */
    uint32_t *callers;            /* by stack: the frame that called the outermost module and one; 0 = not looked for */
    uint8_t *results;             /* by stack: enum result, in whole_results.c */
    struct ap_stay *stays;
    size_t stay_count;
};

static inline uint32_t ap_search_end(const struct ap_avoidable_search *search)
{
    return search->of->first_entry + search->of->entry_count;
}

static inline bool ap_search_allocates(const struct ap_avoidable_search *search, uint32_t entry)
{
    return search->owners->replay->snapshot->actions.name[entry].id == AP_ACTION_ALLOC;
}

static inline enum ap_work ap_search_work(const struct ap_avoidable_search *search, uint32_t entry)
{
    return (enum ap_work)search->owners->work[entry];
}

static inline bool ap_search_is_forward(const struct ap_avoidable_search *search, uint32_t entry)
{
    return ap_search_allocates(search, entry) && ap_search_work(search, entry) == AP_WORK_FORWARD;
}

static inline uint32_t ap_search_life_end(const struct ap_lifetime *life)
{
    return life->free_requested != AP_NO_ENTRY ? life->free_requested : life->free_completed;
}

/** The last pass that begins at or before an entry; NULL where none does. */
const struct ap_pass *ap_search_pass(const struct ap_avoidable_search *search, uint32_t entry);
/** Bytes that were not there from one entry, AP_NO_ENTRY = from before the history, to another, AP_NO_ENTRY = none. */
AP_MUST_CHECK enum ap_status ap_search_cut(struct ap_avoidable_search *search, uint32_t from_entry, uint32_t end_entry,
                                           int64_t bytes, struct ap_error *reterr);
/** All allocations of the history that are like this one, in order; they stay the search's. */
AP_MUST_CHECK enum ap_status ap_search_alike(struct ap_avoidable_search *search, const struct ap_owned *like,
                                             const struct ap_stay **ret_list, uint32_t *ret_count, struct ap_error *reterr);
/** For ap_sort() of what is owned. */
int ap_owned_by_stack_size_alloc(const void *left, const void *right);
/** One allocation more, held by its stack, and by the line that called for it. */
void ap_avoidable_add(const struct ap_avoidable_search *search, struct ap_avoidable *to, const struct ap_owned *owned);
/** The same of a gradient, by the line that gave it back. */
void ap_avoidable_add_freed(const struct ap_avoidable_search *search, struct ap_avoidable *to, const struct ap_owned *owned);
/** How often the line with most called for what is there. */
AP_MUST_CHECK enum ap_status ap_avoidable_count_calls(const struct ap_avoidable_search *search, struct ap_avoidable *to,
                                                      struct ap_error *reterr);
/** Of forward passes, kept for a backward pass that does not come, or does not take it. */
AP_MUST_CHECK enum ap_status ap_search_unused_graphs(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                                     struct ap_error *reterr);
/** What a line makes anew, each time by a piece longer, outside of a model. */
AP_MUST_CHECK enum ap_status ap_search_regrown(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                               struct ap_error *reterr);
/** Of an optimizer that was made before another one of the same weights. */
AP_MUST_CHECK enum ap_status ap_search_old_state(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                                 struct ap_error *reterr);
/** Of a step that found no room, while it is tried again. */
AP_MUST_CHECK enum ap_status ap_search_failed_step(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                                   struct ap_error *reterr);
/** Activations outside of checkpoints, of lines that elsewhere run under one. */
AP_MUST_CHECK enum ap_status ap_search_unchecked(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                                 struct ap_error *reterr);
/** What (log-)softmax over all words or positions makes, and what is as large. */
AP_MUST_CHECK enum ap_status ap_search_logits(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                              struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_search_scores(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                              struct ap_error *reterr);
/** Of over a twentieth of the peak each, that come and go or that nothing tells. */
AP_MUST_CHECK enum ap_status ap_search_large(struct ap_avoidable_search *search, struct ap_avoidable *to,
                                             struct ap_error *reterr);

#endif
