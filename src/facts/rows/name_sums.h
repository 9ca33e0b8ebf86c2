/* SPDX-License-Identifier: MIT
 * name_sums.h - rows summed up by name. */
#ifndef AP_NAME_SUMS_H
#define AP_NAME_SUMS_H

#include "trace.h"

/* There may be as many as rows, so they are small. */
struct ap_name_sum {
    int64_t total_ns;
    uint32_t count;
    uint32_t longest; /* row, which has the name as well */
};

struct ap_name_sums {
    struct ap_gate *gate;
    uint32_t *number_of; /* by name id: number in sums + 1; 0 = no row has it */
    size_t name_count;
    struct ap_name_sum *sums; /* in order of first sight */
    size_t count, capacity;
    bool overflowed;
};

/** No rows yet. @sums may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_name_sums_init(struct ap_name_sums *sums, const struct ap_trace *trace, struct ap_gate *gate,
                                               struct ap_error *reterr);
/** One more row; a negative duration is summed as written. */
AP_MUST_CHECK enum ap_status ap_name_sums_add(struct ap_name_sums *sums, const struct ap_trace *trace, uint32_t row,
                                              struct ap_error *reterr);
/** Every row of the kind, placed in time or not. */
AP_MUST_CHECK enum ap_status ap_name_sums_add_all(struct ap_name_sums *sums, const struct ap_trace *trace,
                                                  enum ap_event_kind kind, struct ap_error *reterr);
void ap_name_sums_release(struct ap_name_sums *sums);

/** Id of the name that it is the sum of. */
static inline uint32_t ap_name_sum_name(const struct ap_trace *trace, const struct ap_name_sum *sum)
{
    return trace->events.name[sum->longest];
}

/** Number in sums of a name that some row had. */
static inline uint32_t ap_name_sums_number(const struct ap_name_sums *sums, uint32_t name)
{
    return sums->number_of[name] - 1;
}

/** The first @top_n names (0 = all), largest sum first; free as ap_top_indices says. */
AP_MUST_CHECK enum ap_status ap_name_sums_top(const struct ap_name_sums *sums, const struct ap_trace *trace, uint64_t top_n,
                                              uint32_t **ret_list, size_t *ret_count, struct ap_error *reterr);

#endif
