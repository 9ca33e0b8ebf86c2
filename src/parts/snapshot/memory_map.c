/* SPDX-License-Identifier: MIT
 * memory.segment_map: what a picture of the segments is drawn from. Each segment is a row of runs from its start to its end;
 * a run is made of neighboring blocks of one state or, where a segment has too many of those, of neighbors of any state.
 */
#include "snapshot_part.h"
#include "sort.h"

#include "poison.h"

#define MOST_SEGMENTS 128u
#define MOST_RUNS 2048u /* of all segments, about */
#define FEWEST_RUNS 16u /* that any segment may have */
#define MOST_RUNS_OF_ONE 512u

struct sized {
    int64_t bytes;
    uint32_t index;
};

struct run {
    int64_t bytes, allocated_bytes, pending_bytes;
    uint32_t blocks;
};

static int by_bytes_then_index(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    AP_BY_LARGER(a->bytes, b->bytes);
    return a->index < b->index ? -1 : a->index > b->index;
}

/* How often the state changes from block to block, and the bytes of all. */
static uint32_t count_runs(struct ap_snapshot_part *pass, const struct ap_segment *segment, int64_t *ret_bytes)
{
    const struct ap_block *blocks = pass->snapshot->blocks + segment->first_block;
    uint32_t runs = 0;
    *ret_bytes = 0;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        runs += i == 0 || blocks[i].state != blocks[i - 1].state;
        *ret_bytes = ap_add_sat(*ret_bytes, blocks[i].size_bytes, &pass->overflowed);
    }
    return runs;
}

static void put_run(struct ap_snapshot_part *pass, struct ap_value *list, const struct run *run)
{
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    ap_add_bytes(pass->model, row, "bytes", run->bytes);
    ap_add_bytes(pass->model, row, "allocated_bytes", run->allocated_bytes);
    ap_add_bytes(pass->model, row, "pending_free_bytes", run->pending_bytes);
    ap_add_count(pass->model, row, "blocks", run->blocks);
}

static void add_block(struct ap_snapshot_part *pass, struct run *run, const struct ap_block *block)
{
    int64_t none = 0;
    int64_t *part = block->state == AP_BLOCK_ALLOCATED ? &run->allocated_bytes
                    : block->state == AP_BLOCK_PENDING ? &run->pending_bytes
                                                       : &none;
    run->bytes = ap_add_sat(run->bytes, block->size_bytes, &pass->overflowed);
    *part = ap_add_sat(*part, block->size_bytes, &pass->overflowed);
    run->blocks++;
}

static void put_runs(struct ap_snapshot_part *pass, struct ap_value *list, const struct ap_segment *segment, uint32_t most)
{
    const struct ap_block *blocks = pass->snapshot->blocks + segment->first_block;
    int64_t bytes;
    uint32_t runs = count_runs(pass, segment, &bytes);
    int64_t least_bytes = runs > most ? bytes / most + 1 : 0;
    struct run run = { .blocks = 0 };
    for (uint32_t i = 0; i < segment->block_count; i++) {
        if (run.blocks && blocks[i].state != blocks[i - 1].state && run.bytes >= least_bytes) {
            put_run(pass, list, &run);
            run = (struct run){ .blocks = 0 };
        }
        add_block(pass, &run, &blocks[i]);
    }
    if (run.blocks)
        put_run(pass, list, &run);
}

static void put_segment(struct ap_snapshot_part *pass, struct ap_value *list, uint32_t index, uint32_t most_runs)
{
    const struct ap_segment *segment = &pass->snapshot->segments[index];
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    ap_memory_put_segment_head(pass, row, segment);
    ap_add_bytes(pass->model, row, "reserved_bytes", segment->total_bytes);
    struct ap_value *runs = ap_add_list(pass->model, row, "runs");
    if (segment->block_count) /* without any there may be no table of them */
        put_runs(pass, runs, segment, most_runs);
}

enum ap_status ap_memory_put_map(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    uint32_t count = pass->snapshot->segment_count, shown = count < MOST_SEGMENTS ? count : MOST_SEGMENTS;
    uint32_t most_runs = shown ? MOST_RUNS / shown : 0;
    int64_t left_out_bytes = 0;
    struct ap_value *to = ap_add_object(pass->model, memory, "segment_map"),
                    *list = ap_add_list(pass->model, to, "segments");
    struct sized *ranks = ap_memory_scratch(pass, count, sizeof(*ranks));
    if (!ranks)
        return ap_fail_memory(pass->scratch.gate, reterr);
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = (struct sized){ pass->snapshot->segments[i].total_bytes, i };
    ap_sort(ranks, count, sizeof(*ranks), by_bytes_then_index);
    most_runs = most_runs < FEWEST_RUNS ? FEWEST_RUNS : most_runs > MOST_RUNS_OF_ONE ? MOST_RUNS_OF_ONE : most_runs;
    for (uint32_t i = 0; i < shown; i++)
        put_segment(pass, list, ranks[i].index, most_runs);
    for (uint32_t i = shown; i < count; i++)
        left_out_bytes = ap_add_sat(left_out_bytes, ranks[i].bytes, &pass->overflowed);
    ap_add_count(pass->model, to, "left_out_segments", count - shown);
    ap_add_bytes(pass->model, to, "left_out_bytes", left_out_bytes);
    return AP_OK;
}
