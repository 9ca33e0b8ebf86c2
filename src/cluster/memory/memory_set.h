/* SPDX-License-Identifier: MIT
 * memory_set.h - what stays of the snapshots of ranks: whole numbers and names. A finished set is in one order without
 * equals, so that the union of sets does not depend on the order in which they were joined. */
#ifndef AP_MEMORY_SET_H
#define AP_MEMORY_SET_H

#include "allocation_owner.h"
#include "strpool.h"

/** Lines of code that are kept of a rank: those that hold most at its peak. */
#define AP_MEMORY_LINES 16

struct ap_memory_line {
    struct ap_str name; /* "file:line name", "" where no stack was recorded; absent = no more lines */
    int64_t bytes;
};

/** One snapshot of one rank, of the device with the highest peak. Bytes and counts are -1 where they are not known. */
struct ap_rank_memory {
    int64_t rank;
    struct ap_str path;
    int64_t at_peak;             /* 1 = all of the following is of the peak, 0 = of the end */
    int64_t peak_bytes;          /* requested and in use */
    int64_t peak_reserved_bytes; /* most that the allocator held; without a history what it holds */
    int64_t reserved_bytes;      /* at the snapshot */
    int64_t split_bytes;         /* of it free beside what is in use, in the same segments */
    int64_t retries;             /* times that the whole cache was given up for a request */
    int64_t failures;            /* requests that failed */
    int64_t first_failure_ns;    /* when the first did */
    int64_t failed_bytes;        /* what that asked for */
    int64_t lost_count;          /* of what the file has and the figures lack */
    struct ap_str failed_line;   /* and who */
    int64_t owners_bytes[AP_OWNER_CATEGORY_COUNT_];
    struct ap_memory_line lines[AP_MEMORY_LINES]; /* largest first */
};

struct ap_memory_set {
    struct ap_gate *gate;
    struct ap_strpool names;
    struct ap_rank_memory *rows; /* in order once ap_memory_set_finish() has run, by rank first */
    size_t count, capacity;
};

/** An empty set; memory is taken when something is added. */
void ap_memory_set_init(struct ap_memory_set *set, struct ap_gate *gate);
void ap_memory_set_release(struct ap_memory_set *set);
/** Moves the rows of @from, which is empty afterwards, to @set. */
AP_MUST_CHECK enum ap_status ap_memory_set_join(struct ap_memory_set *set, struct ap_memory_set *from,
                                                struct ap_error *reterr);
/** Puts the rows in order and drops those that say the same as another, whatever their paths. */
AP_MUST_CHECK enum ap_status ap_memory_set_finish(struct ap_memory_set *set, struct ap_error *reterr);

/** A name of the set; "" for an absent one. */
static inline struct ap_text ap_memory_text(const struct ap_memory_set *set, struct ap_str name)
{
    return ap_strpool_text(&set->names, name);
}

#define AP_MEMORY_ROW_NUMBERS (11 + AP_OWNER_CATEGORY_COUNT_ + AP_MEMORY_LINES)
#define AP_MEMORY_ROW_NAMES (2 + AP_MEMORY_LINES)
/** The numbers and names of a row one after the other, for whoever copies, compares or writes rows. */
void ap_memory_row_members(struct ap_rank_memory *row, int64_t *ret_numbers[AP_MEMORY_ROW_NUMBERS],
                           struct ap_str *ret_names[AP_MEMORY_ROW_NAMES]);

#endif
