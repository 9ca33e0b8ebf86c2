/* SPDX-License-Identifier: MIT
 * name_spreads.h - how the durations of some names are spread, found for all of them in one go over the rows. */
#ifndef AP_NAME_SPREADS_H
#define AP_NAME_SPREADS_H

#include "model_build.h"
#include "trace.h"

#define AP_ALL_KINDS ((1u << AP_KIND_COUNT_) - 1)

struct ap_name_spreads {
    struct ap_gate *gate;
    size_t count, capacity;
    struct ap_name_spread {
        uint32_t name;
        int64_t min_ns, max_ns, p50_ns, p99_ns;
    } * spreads; /* by name id */
};

/** A name, and how many rows of those that are chosen have it: whoever asks knows, and need not have them counted again. */
struct ap_name_rows {
    uint32_t name, count;
};

/** @names: in any order, also twice; are sorted. Rows are chosen by their kinds (bit 1 << kind) and by @flag of
 *  their tags: 0 = none is asked for. */
AP_MUST_CHECK enum ap_status ap_name_spreads_init(struct ap_name_spreads *spreads, const struct ap_trace *trace,
                                                  struct ap_gate *gate, struct ap_name_rows *names, size_t name_count,
                                                  uint32_t kinds, uint8_t flag, struct ap_error *reterr);
void ap_name_spreads_release(struct ap_name_spreads *spreads);
/** That of a name which was among those given. */
const struct ap_name_spread *ap_name_spreads_find(const struct ap_name_spreads *spreads, uint32_t name);
/** Adds max_dur_us (0 at least, as the original script starts there), min_dur_us, p50_us and p99_us of the name to @row. */
void ap_name_spreads_add(const struct ap_name_spreads *spreads, uint32_t name, struct ap_model *model, struct ap_value *row);

#endif
