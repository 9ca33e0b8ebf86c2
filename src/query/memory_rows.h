/* SPDX-License-Identifier: MIT
 * memory_rows.h - the allocations of a snapshot's history as a table, and what stands around one of them. */
#ifndef AP_MEMORY_ROWS_H
#define AP_MEMORY_ROWS_H

#include "replay.h"
#include "row_source.h"

/** A snapshot that was kept, with its replay. */
struct ap_memory_view {
    struct ap_gate *gate;
    const struct ap_snapshot *snapshot; /* NULL = there is no view yet */
    struct ap_replay *replay;
    uint32_t *order; /* of lifetimes: by device, then the time of the allocation, older ones first */
    size_t count;
};

/** Replays the snapshot, which is borrowed, and sorts its allocations. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_memory_view_init(struct ap_memory_view *view, const struct ap_snapshot *snapshot,
                                                 struct ap_gate *gate, struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_memory_view_release(struct ap_memory_view *view);

/** Each row has an id: "alloc:17" by the entry of the history that made it; where it lived before the history, "block:4" by
 * its place among the blocks, or "free:9" by the entry that freed it. */
struct ap_row_source ap_memory_view_source(struct ap_memory_view *view);

/** Place in the table of the allocation with this id; SIZE_MAX = there is none. */
size_t ap_memory_row_find(const struct ap_memory_view *view, const char *id);
/** Append to @to: "allocation" (the row), "frames" from the innermost out, "live" (bytes and count that were in use at that
 *  moment, with the largest), "neighbours" (what was allocated just before and after). Lists have at most @limit rows. */
AP_MUST_CHECK enum ap_status ap_memory_add_around(struct ap_memory_view *view, size_t index, uint64_t limit,
                                                  struct ap_model *model, struct ap_value *to, struct ap_error *reterr);

#endif
