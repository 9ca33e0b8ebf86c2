/* SPDX-License-Identifier: MIT
 * step_source.h - which rows mark the steps: the first of several kinds of mark that a trace has. Private to the stage. */
#ifndef AP_STEP_SOURCE_H
#define AP_STEP_SOURCE_H

#include "steps.h"

/** Rows in order of start. */
struct ap_step_source {
    struct ap_gate *gate;
    const char *source; /* NULL = there are no marks */
    char family[AP_STEP_FAMILY_BYTES];
    bool periods;
    uint32_t *rows;
    size_t count, capacity;
};

/** Finds the first kind of mark that the trace has: the profiler's own steps, then those that repeat. @source may be
 *  released after a failure too. */
AP_MUST_CHECK enum ap_status ap_step_source_init(struct ap_step_source *source, const struct ap_trace *trace,
                                                 const struct ap_row_order *order, struct ap_gate *gate,
                                                 struct ap_error *reterr);
void ap_step_source_release(struct ap_step_source *source);

/** Names that differ in their numbers only are one family: several rows of it, one after the other on one thread, are
 *  steps. */
struct ap_step_families {
    struct ap_gate *gate;
    struct ap_strpool names; /* id - 1 = index into families */
    struct ap_step_family *families;
    size_t count, capacity;
    uint32_t *family_of; /* by name id: 0 = not an annotation, UINT32_MAX = of no family, else id in names */
    size_t name_count;
};

/** Puts the names of annotations into families; what repeats but is no step is in none. @families may be released after a
 *  failure too. */
AP_MUST_CHECK enum ap_status ap_step_families_init(struct ap_step_families *families, const struct ap_trace *trace,
                                                   const struct ap_row_order *order, struct ap_gate *gate,
                                                   struct ap_error *reterr);
void ap_step_families_release(struct ap_step_families *families);
/** Id of the family with the largest sum among those with at least three rows that cover at least @percent of the time
 *  from the first to the last; 0 = none. Unless @also_parts, names of parts of a step (forward, loss) are passed over. */
uint32_t ap_step_families_best(const struct ap_step_families *families, unsigned percent, bool also_parts);
/** Its name, cut where it is long: as it is where all rows have the same, else with "N" for the numbers. */
void ap_step_family_name(const struct ap_step_families *families, const struct ap_trace *trace, uint32_t id,
                         char ret_name[static AP_STEP_FAMILY_BYTES]);

#endif
