/* SPDX-License-Identifier: MIT
 * memory_compare.h - of the memory of all ranks: who ran out first, who holds more than those that do the same, and what of.
 *
 * A rank is odd where it stands apart: what lies between it and the next one is more than a floor, than a share of what is
 * usual, and than twice the spread of all the others. So stages of a pipeline that hold less and less are no finding, and
 * neither are ranks whose batches differ. Up to an eighth of the ranks may be odd together, as those of one host. */
#ifndef AP_MEMORY_COMPARE_H
#define AP_MEMORY_COMPARE_H

#include "memory_set.h"

enum ap_memory_metric {
    AP_MEMORY_PEAK,
    AP_MEMORY_RESERVED, /* the peak of it */
    AP_MEMORY_SPLIT,
    AP_MEMORY_RETRIES,
    AP_MEMORY_METRIC_COUNT_
};

/** The value of a row; -1 = not known. */
int64_t ap_memory_metric_of(const struct ap_rank_memory *row, enum ap_memory_metric metric);

struct ap_memory_odd {
    size_t count;         /* rows that are odd together; 0 = none */
    size_t index;         /* the one with most; of none, that with most of all rows */
    int64_t value, usual; /* its value; median of the others of its role */
    bool known;           /* of two rows at least: index and both values are there */
};

struct ap_memory_difference {
    int64_t bytes, usual_bytes;
};

/** Input: one row of each rank, and the role of each: only rows of one role are compared. The names are those of @set. */
struct ap_memory_run {
    struct ap_gate *gate;
    const struct ap_memory_set *set;
    struct ap_rank_memory *rows;
    uint32_t *roles;
    size_t count, row_capacity, role_capacity;
    /* What is found: */
    struct ap_memory_odd odd[AP_MEMORY_METRIC_COUNT_];
    size_t failed_count, first_failed;
    bool failed_in_time; /* clocks tell who failed first; else it is the one with the highest peak */
    /* A rank to explain: the first that failed, else the one whose peak is odd; and what it has against others that tell
     * their owners, of its role where there are any. */
    bool has_suspect;
    size_t suspect, like_count;
    struct ap_memory_difference owners[AP_OWNER_CATEGORY_COUNT_], lines[AP_MEMORY_LINES];
};

/** An empty run, whose rows' names will be those of @set. */
void ap_memory_run_init(struct ap_memory_run *run, const struct ap_memory_set *set);
/** Of what was initialized. */
void ap_memory_run_release(struct ap_memory_run *run);
/** Of several rows of a rank the one to compare is one with a failure, else the highest peak: returns whether @a is. */
bool ap_memory_is_told_rather(const struct ap_rank_memory *a, const struct ap_rank_memory *b);
/** Copies a row; only rows of one @role are compared. */
AP_MUST_CHECK enum ap_status ap_memory_run_add(struct ap_memory_run *run, const struct ap_rank_memory *row, uint32_t role,
                                               struct ap_error *reterr);
/** Finds all of what is found. */
AP_MUST_CHECK enum ap_status ap_memory_run_compare(struct ap_memory_run *run, struct ap_error *reterr);

/** Does the row tell who owns its bytes? Those of traces do not. */
static inline bool ap_memory_has_owners(const struct ap_rank_memory *row)
{
    return row->at_peak >= 0;
}

#endif
