/* SPDX-License-Identifier: MIT */
#include "memory_summary.h"

#include "churn.h"
#include "frame_kind.h"
#include "snapshot_state.h"
#include "sort.h"
#include "stack_frames.h"

#include "poison.h"

#define NO_FRAME UINT32_MAX

struct summary {
    struct ap_memory_set *set;
    const struct ap_snapshot *snapshot;
    const struct ap_replay *replay;
    struct ap_owners owners;
    struct ap_arena scratch; /* of names */
    struct ap_owned_device owned;
    struct ap_rank_memory row;
};

static bool is_of(const struct summary *summary, const struct ap_segment *segment)
{
    return summary->owned.device < 0 || !(segment->has & AP_SEGMENT_HAS_DEVICE) || segment->device == summary->owned.device;
}

/* ----------------------------------------------------------------------------------------------------------- names */

static enum ap_status name_frame(struct summary *summary, uint32_t frame, struct ap_str *ret_name, struct ap_error *reterr)
{
    struct ap_text text = AP_TEXT("no stack recorded");
    if (frame != NO_FRAME)
        AP_TRY(ap_memory_frame_text(summary->snapshot, &summary->scratch, frame, &text, reterr));
    return ap_strpool_intern(&summary->set->names, text.data, text.bytes, ret_name, reterr);
}

static uint32_t frame_of_stack(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    return count ? frames[ap_stack_main_frame(snapshot, stack)] : NO_FRAME;
}

/* ----------------------------------------------------------------------------------------------------------- lines */

struct line {
    int64_t bytes;
    uint32_t frame;
};

static int by_frame(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    AP_BY_SMALLER(a->frame, b->frame);
    return 0;
}

static int largest_first(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    AP_BY_LARGER(a->bytes, b->bytes);
    return by_frame(left, right);
}

static enum ap_status keep_lines(struct summary *summary, struct line *lines, uint32_t count, struct ap_error *reterr)
{
    uint32_t merged = 0;
    bool overflowed = false;
    ap_sort(lines, count, sizeof(*lines), by_frame);
    for (uint32_t i = 0; i < count; i++) {
        if (merged && lines[merged - 1].frame == lines[i].frame)
            lines[merged - 1].bytes = ap_add_sat(lines[merged - 1].bytes, lines[i].bytes, &overflowed);
        else
            lines[merged++] = lines[i];
    }
    ap_sort(lines, merged, sizeof(*lines), largest_first);
    for (uint32_t i = 0; i < merged && i < AP_MEMORY_LINES; i++) {
        AP_TRY(name_frame(summary, lines[i].frame, &summary->row.lines[i].name, reterr));
        summary->row.lines[i].bytes = lines[i].bytes;
    }
    return AP_OK;
}

static enum ap_status add_lines(struct summary *summary, struct ap_error *reterr)
{
    struct ap_gate *gate = summary->set->gate;
    struct ap_owned_group *groups;
    struct line *lines;
    uint32_t count;
    AP_TRY(ap_owned_by_stack(&summary->owners, &summary->owned, &groups, &count, reterr));
    if (!count)
        return AP_OK;
    enum ap_status status = AP_ALLOC(gate, lines, count, reterr);
    if (status == AP_OK) {
        for (uint32_t i = 0; i < count; i++)
            lines[i] = (struct line){ groups[i].bytes, frame_of_stack(summary->snapshot, groups[i].stack) };
        status = keep_lines(summary, lines, count, reterr);
        AP_FREE(gate, lines, count);
    }
    AP_FREE(gate, groups, count);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- figures */

static void add_owners(struct summary *summary)
{
    bool overflowed = false;
    for (uint32_t i = 0; i < summary->owned.count; i++) {
        const struct ap_owned *owned = &summary->owned.list[i];
        int64_t *sum = &summary->row.owners_bytes[ap_owned_category(owned)];
        *sum = ap_add_sat(*sum, owned->bytes, &overflowed);
    }
    summary->row.at_peak = summary->owned.at_peak;
    summary->row.peak_bytes = summary->owned.total_bytes;
}

static void add_state(struct summary *summary)
{
    struct ap_memory_state state = { .use_unknown = 0 };
    bool overflowed = false;
    for (uint32_t i = 0; i < summary->snapshot->segment_count; i++) {
        const struct ap_segment *segment = &summary->snapshot->segments[i];
        struct ap_block_sums sums;
        if (!is_of(summary, segment))
            continue;
        ap_block_sums(summary->snapshot, segment, &sums, &overflowed);
        ap_memory_state_add(&state, segment, &sums, &overflowed);
    }
    if (!(summary->snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS))
        return;
    summary->row.reserved_bytes = summary->row.peak_reserved_bytes = state.fields.reserved_bytes;
    if (ap_memory_state_has_blocks(&state))
        summary->row.split_bytes = state.inactive_split_bytes;
}

static enum ap_status add_failures(struct summary *summary, const struct ap_replay_device *of, struct ap_error *reterr)
{
    const struct ap_actions *actions = &summary->snapshot->actions;
    struct ap_rank_memory *row = &summary->row;
    row->failures = 0;
    for (uint32_t i = of->first_entry; i < of->first_entry + of->entry_count; i++) {
        if (actions->name[i].id != AP_ACTION_OOM || row->failures++)
            continue;
        row->first_failure_ns = actions->has[i] & AP_ACTION_HAS_TIME ? actions->time_ns[i] : -1;
        row->failed_bytes = actions->has[i] & AP_ACTION_HAS_SIZE ? actions->size_bytes[i] : -1;
        AP_TRY(name_frame(summary, frame_of_stack(summary->snapshot, actions->stack[i]), &row->failed_line, reterr));
    }
    return AP_OK;
}

static enum ap_status add_retries(struct summary *summary, uint32_t device, struct ap_error *reterr)
{
    struct ap_bursts bursts;
    struct ap_burst burst;
    AP_TRY(ap_bursts_init(&bursts, summary->replay, device, reterr));
    summary->row.retries = 0;
    while (ap_bursts_next(&bursts, &burst))
        summary->row.retries += burst.cause == AP_BURST_RETRY;
    ap_bursts_release(&bursts);
    return AP_OK;
}

static enum ap_status add_history(struct summary *summary, struct ap_error *reterr)
{
    int64_t device = summary->owned.device;
    if (!summary->owned.has_history)
        return AP_OK;
    const struct ap_replay_device *of = &summary->replay->devices[device];
    if (of->reserved.known && of->begin != AP_BEGIN_SINGLE)
        summary->row.peak_reserved_bytes = of->reserved.peak_bytes;
    AP_TRY(add_failures(summary, of, reterr));
    return add_retries(summary, (uint32_t)device, reterr);
}

/* ------------------------------------------------------------------------------------------------------------ whole */

/* The device that held most; a rank has one, as a rule. */
static enum ap_status choose_device(struct summary *summary, struct ap_error *reterr)
{
    int64_t *devices;
    uint32_t count, more;
    AP_TRY(ap_owned_devices(&summary->owners, &devices, &count, &more, reterr));
    enum ap_status status =
        count ? AP_OK : ap_fail(reterr, AP_ERROR_INPUT, "the snapshot has neither segments nor a history");
    for (uint32_t i = 0; i < count && status == AP_OK; i++) {
        struct ap_owned_device owned;
        status = ap_owned_take(&summary->owners, devices[i], &owned, reterr);
        if (status != AP_OK)
            break;
        bool larger = i == 0 || owned.total_bytes > summary->owned.total_bytes;
        ap_owned_release(&summary->owners, larger ? &summary->owned : &owned);
        summary->owned = larger ? owned : summary->owned;
    }
    AP_FREE(summary->set->gate, devices, count);
    return status;
}

static enum ap_status fill(struct summary *summary, struct ap_text path, struct ap_error *reterr)
{
    AP_TRY(choose_device(summary, reterr));
    add_owners(summary);
    add_state(summary);
    AP_TRY(add_history(summary, reterr));
    AP_TRY(ap_strpool_intern(&summary->set->names, path.data, path.bytes, &summary->row.path, reterr));
    AP_TRY(add_lines(summary, reterr));
    AP_TRY_ADD(summary->set->gate, summary->set->rows, summary->set->count, summary->set->capacity, reterr, summary->row);
    return AP_OK;
}

static enum ap_status summarize(struct ap_memory_set *set, const struct ap_snapshot *snapshot,
                                const struct ap_replay *replay, int64_t rank, struct ap_text path, struct ap_error *reterr)
{
    struct summary summary = { .set = set,
                               .snapshot = snapshot,
                               .replay = replay,
                               .row = { .rank = rank,
                                        .reserved_bytes = -1,
                                        .peak_reserved_bytes = -1,
                                        .split_bytes = -1,
                                        .retries = -1,
                                        .failures = -1,
                                        .first_failure_ns = -1,
                                        .failed_bytes = -1 } };
    AP_TRY(ap_owners_init(&summary.owners, replay, set->gate, reterr));
    ap_arena_init(&summary.scratch, set->gate);
    enum ap_status status = fill(&summary, path, reterr);
    ap_owned_release(&summary.owners, &summary.owned);
    ap_arena_release(&summary.scratch);
    ap_owners_release(&summary.owners);
    return status;
}

enum ap_status ap_memory_summarize(struct ap_memory_set *set, struct ap_json_reader *json, struct ap_notes *notes,
                                   const struct ap_snapshot_options *options, int64_t rank, struct ap_text path,
                                   struct ap_error *reterr)
{
    struct ap_snapshot *snapshot;
    struct ap_replay *replay;
    bool overflowed = false;
    AP_TRY(ap_snapshot_read(json, set->gate, notes, options, &snapshot, reterr));
    enum ap_status status = ap_replay_new(snapshot, set->gate, &overflowed, &replay, reterr);
    if (status == AP_OK) {
        status = summarize(set, snapshot, replay, rank, path, reterr);
        ap_replay_free(replay);
    }
    ap_snapshot_free(snapshot);
    return status;
}
