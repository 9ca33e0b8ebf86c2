/* SPDX-License-Identifier: MIT */
#include "rank_spread.h"

#include "poison.h"

/* Readers as a heap: the one with the fewest bytes stands first. */
struct load {
    uint64_t bytes;
    size_t reader;
};

static bool is_less(const struct load *a, const struct load *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->reader < b->reader;
}

/* The first has become heavier. */
static void sink_first(struct load *loads, size_t count)
{
    for (size_t at = 0, least;; at = least) {
        least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            least = is_less(&loads[child], &loads[least]) ? child : least;
        if (least == at)
            return;
        struct load moved = loads[at];
        loads[at] = loads[least];
        loads[least] = moved;
    }
}

/* @readers: by place in the order. A file without bytes is work too. */
static void choose_readers(struct load *loads, const struct ap_rank_spread *spread, const struct ap_run_files *files,
                           const uint32_t *order, uint32_t *readers)
{
    for (size_t i = 0; i < spread->reader_count; i++)
        loads[i] = (struct load){ 0, i };
    for (size_t i = 0; i < spread->file_count; i++) {
        readers[i] = (uint32_t)loads[0].reader;
        spread->starts[loads[0].reader + 1]++;
        loads[0].bytes += files->files[order[i]].size_bytes + 1;
        sink_first(loads, spread->reader_count);
    }
}

/* From how many each has to where those of each begin, and each file to its place. */
static void put_in_place(struct ap_rank_spread *spread, const uint32_t *order, const uint32_t *readers, size_t *next)
{
    for (size_t i = 0; i < spread->reader_count; i++) {
        spread->starts[i + 1] += spread->starts[i];
        next[i] = spread->starts[i];
    }
    for (size_t i = 0; i < spread->file_count; i++)
        spread->files[next[readers[i]]++] = order[i];
}

enum ap_status ap_rank_spread_init(struct ap_rank_spread *spread, struct ap_gate *gate, const struct ap_run_files *files,
                                   const uint32_t *order, size_t count, size_t reader_count, struct ap_error *reterr)
{
    struct load *loads = NULL;
    size_t *next = NULL;
    uint32_t *readers = NULL;
    *spread = (struct ap_rank_spread){ .gate = gate, .file_count = count, .reader_count = reader_count };
    enum ap_status status = AP_ALLOC_CLEARED(gate, spread->starts, reader_count + 1, reterr);
    AP_AND_THEN(status, AP_ALLOC(gate, spread->files, count + 1, reterr));
    AP_AND_THEN(status, AP_ALLOC(gate, loads, reader_count, reterr));
    AP_AND_THEN(status, AP_ALLOC(gate, next, reader_count, reterr));
    AP_AND_THEN(status, AP_ALLOC(gate, readers, count + 1, reterr));
    if (status == AP_OK) {
        choose_readers(loads, spread, files, order, readers);
        put_in_place(spread, order, readers, next);
    }
    AP_FREE(gate, readers, count + 1);
    AP_FREE(gate, next, reader_count);
    AP_FREE(gate, loads, reader_count);
    if (status != AP_OK)
        ap_rank_spread_release(spread);
    return status;
}

void ap_rank_spread_release(struct ap_rank_spread *spread)
{
    AP_FREE(spread->gate, spread->files, spread->file_count + 1);
    AP_FREE(spread->gate, spread->starts, spread->reader_count + 1);
    *spread = (struct ap_rank_spread){ .gate = spread->gate };
}
