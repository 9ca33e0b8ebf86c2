/* SPDX-License-Identifier: MIT
 * rank_spread.h - who of several readers reads which files: the largest first, each to the one that has the fewest bytes so
 * far. No reader then has more than a third above what the best division would give it. */
#ifndef AP_RANK_SPREAD_H
#define AP_RANK_SPREAD_H

#include "mem.h"
#include "run_files.h"

/** Files of one reader by their numbers in the list, the largest first. */
struct ap_share {
    const uint32_t *files;
    size_t count;
};

struct ap_rank_spread {
    struct ap_gate *gate;
    uint32_t *files; /* of the first reader, then of the next */
    size_t *starts;  /* by reader, and the end */
    size_t file_count, reader_count;
};

/** @order: @count files, the largest first. At least one reader; of those that have as few bytes the first takes the file.
 *  Release @spread after a success. */
AP_MUST_CHECK enum ap_status ap_rank_spread_init(struct ap_rank_spread *spread, struct ap_gate *gate,
                                                 const struct ap_run_files *files, const uint32_t *order, size_t count,
                                                 size_t reader_count, struct ap_error *reterr);
void ap_rank_spread_release(struct ap_rank_spread *spread);

static inline struct ap_share ap_rank_spread_of(const struct ap_rank_spread *spread, size_t reader)
{
    size_t start = spread->starts[reader];
    return (struct ap_share){ spread->files + start, spread->starts[reader + 1] - start };
}

#endif
