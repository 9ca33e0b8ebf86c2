/* SPDX-License-Identifier: MIT
 * change_apply.h - puts a change into the tasks of a replay. */
#ifndef AP_CHANGE_APPLY_H
#define AP_CHANGE_APPLY_H

#include "change_select.h"

/** What a step of the recorded batch costs, by runs with several sizes: whatever the size, and in proportion to it. 0 and
 *  0 = not known. */
struct ap_batch_cost {
    int64_t fixed_ns, grows_ns;
};

/** What the functions of the verbs work on. */
struct ap_applying {
    const struct ap_facts *facts;
    const struct ap_replay_graph *graph;
    const struct ap_change *change;
    struct ap_selection *selection;
    struct ap_replay_edit *edit;
    const struct ap_batch_cost *batch;
};

/** Changes @edit, on top of what was changed before. *ret_rows: rows that were selected and can change so; 0 = nothing was
 *  done. */
AP_MUST_CHECK enum ap_status ap_change_apply(const struct ap_facts *facts, const struct ap_replay_graph *graph,
                                             const struct ap_batch_cost *batch, struct ap_made_nodes *nodes,
                                             const struct ap_change *change, struct ap_replay_edit *edit, uint64_t *ret_rows,
                                             struct ap_error *reterr);

/** A function for each verb. */
typedef enum ap_status ap_change_verb_fn(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr);
#define AP_CHANGE_VERB(id, number, limit) ap_change_verb_fn ap_change_##id;
#include "change_verb.def"
#undef AP_CHANGE_VERB

/** @part of @whole of what is chosen goes: from the host, from the rows of devices, from what the host rows launched. */
void ap_change_shrink(struct ap_applying *applying, int64_t part, int64_t whole, unsigned of_devices, bool of_host);

/** All steps of a replay together; without steps, its window. */
int64_t ap_change_steps_ns(const struct ap_replay_times *times);

/** ns * part / whole, without overflow; 0 <= part <= whole. */
static inline int64_t ap_part_of(int64_t ns, int64_t part, int64_t whole)
{
    __extension__ __int128 product = (__int128)ns * part;
    return whole > 0 ? (int64_t)(product / whole) : 0;
}

#endif
