/* SPDX-License-Identifier: MIT */
#include "part_snapshot.h"

#include <stdio.h>

#include "snapshot_part.h"
#include "snapshot_facts.h"
#include "sort.h"

#include "poison.h"

#define TOP_ANNOTATION_NAMES 10

static enum ap_status no_memory(const struct ap_snapshot_part *pass, struct ap_error *reterr)
{
    return ap_fail_memory(pass->scratch.gate, reterr);
}

/* ------------------------------------------------------------------------------------------------------------- sums */

static void sum_all(struct ap_snapshot_part *pass, struct ap_memory_state *ret_state)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    const struct ap_segment *without_blocks = NULL;
    uint64_t without_blocks_count = 0;
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct ap_segment *segment = &snapshot->segments[i];
        struct ap_block_sums sums;
        ap_block_sums(snapshot, segment, &sums, &pass->overflowed);
        ap_memory_state_add(ret_state, segment, &sums, &pass->overflowed);
        if (ap_segment_contradicts(segment, &sums))
            ap_note(pass->notes, AP_COUNTER_segment_sums, segment->offset_bytes);
        if (segment->has & AP_SEGMENT_HAS_BLOCKS)
            continue;
        without_blocks = without_blocks ? without_blocks : segment;
        without_blocks_count++;
    }
    if (!without_blocks_count || !ret_state->with_blocks)
        return; /* none is odd: all have blocks, or this writer wrote none */
    ap_note(pass->notes, AP_COUNTER_blocks_missing, without_blocks->offset_bytes);
    ap_note_many(pass->notes, AP_COUNTER_blocks_missing, without_blocks_count - 1);
}

/* ------------------------------------------------------------------------------------- summary, types, largest ones */

static void put_quotient(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known, int64_t over,
                         int64_t under)
{
    ap_add_quotient(pass->model, to, key, (double)over, known ? (double)under : 0);
}

static void put_fields(struct ap_snapshot_part *pass, struct ap_value *to, bool known, const struct ap_field_sums *sums)
{
    ap_put_count(pass, to, "segments", known, sums->segments);
    ap_put_bytes(pass, to, "reserved_bytes", known, sums->reserved_bytes);
    ap_put_bytes(pass, to, "allocated_bytes", known, sums->allocated_bytes);
    ap_put_bytes(pass, to, "active_bytes", known, sums->active_bytes);
    ap_put_bytes(pass, to, "requested_bytes", known, sums->requested_bytes);
}

static void put_summary(struct ap_snapshot_part *pass, struct ap_value *to, bool known, const struct ap_field_sums *sums)
{
    put_fields(pass, to, known, sums);
    put_quotient(pass, to, "reserved_vs_allocated_ratio", known, sums->reserved_bytes, sums->allocated_bytes);
    put_quotient(pass, to, "allocated_vs_requested_ratio", known, sums->allocated_bytes, sums->requested_bytes);
}

struct type_group {
    struct ap_text name;
    struct ap_field_sums sums;
};

static int by_reserved_then_name(const void *left, const void *right)
{
    const struct type_group *a = left, *b = right;
    AP_BY_LARGER(a->sums.reserved_bytes, b->sums.reserved_bytes);
    return ap_text_compare(a->name, b->name);
}

static enum ap_status put_types(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    const struct ap_strpool *strings = &snapshot->strings;
    struct ap_value *types = ap_add_object(pass->model, memory, "segment_types");
    uint32_t *group_of, group_count = 0; /* by the type's id: index + 1 */
    struct type_group *groups;
    group_of = ap_memory_scratch(pass, (size_t)ap_strpool_count(strings) + 1, sizeof(*group_of));
    if (!group_of)
        return no_memory(pass, reterr);
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (!group_of[snapshot->segments[i].type.id])
            group_of[snapshot->segments[i].type.id] = ++group_count;
    groups = ap_memory_scratch(pass, group_count, sizeof(*groups));
    if (!groups)
        return no_memory(pass, reterr);
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct ap_segment *segment = &snapshot->segments[i];
        struct type_group *group = &groups[group_of[segment->type.id] - 1];
        group->name = ap_strpool_text(strings, segment->type);
        ap_field_sums_add(&group->sums, segment, &pass->overflowed);
    }
    ap_sort(groups, group_count, sizeof(*groups), by_reserved_then_name);
    for (uint32_t i = 0; i < group_count; i++)
        put_summary(pass, ap_add_object_named(pass->model, types, groups[i].name), true, &groups[i].sums);
    return AP_OK;
}

struct segment_rank {
    int64_t reserved_bytes, slack_bytes;
    uint64_t address;
    uint32_t index;
};

static int by_reserved_slack_address(const void *left, const void *right)
{
    const struct segment_rank *a = left, *b = right;
    AP_BY_LARGER(a->reserved_bytes, b->reserved_bytes);
    AP_BY_LARGER(a->slack_bytes, b->slack_bytes);
    AP_BY_SMALLER(a->address, b->address);
    return a->index > b->index ? 1 : -1;
}

static void put_place(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known, uint64_t number,
                      struct ap_str odd)
{
    char digits[24];
    if (known && number <= INT64_MAX) {
        ap_add_count(pass->model, to, key, (int64_t)number);
    } else if (known) {
        int bytes = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
        ap_add_literal(pass->model, to, key, (struct ap_text){ digits, (size_t)bytes });
    } else if (odd.id) {
        ap_add_text(pass->model, to, key, ap_strpool_text(&pass->snapshot->strings, odd));
    } else {
        ap_add_null(pass->model, to, key);
    }
}

static void put_segment(struct ap_snapshot_part *pass, struct ap_value *list, const struct segment_rank *rank)
{
    const struct ap_segment *segment = &pass->snapshot->segments[rank->index];
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    if (segment->has & AP_SEGMENT_HAS_DEVICE)
        ap_add_count(pass->model, row, "device", segment->device);
    else
        put_place(pass, row, "device", false, 0, segment->odd_device);
    ap_add_text(pass->model, row, "segment_type", ap_strpool_text(&pass->snapshot->strings, segment->type));
    ap_add_bytes(pass->model, row, "reserved", segment->total_bytes);
    ap_add_bytes(pass->model, row, "allocated", segment->allocated_bytes);
    ap_add_bytes(pass->model, row, "active", segment->active_bytes);
    ap_add_bytes(pass->model, row, "requested", segment->requested_bytes);
    ap_add_bytes(pass->model, row, "slack", rank->slack_bytes);
    put_place(pass, row, "address", segment->has & AP_SEGMENT_HAS_ADDRESS, segment->address, segment->odd_address);
}

/* Where a segment stands among others of its size: an address that is not told is that of its first block. */
static uint64_t place_of(const struct ap_snapshot *snapshot, const struct ap_segment *segment)
{
    if (segment->has & AP_SEGMENT_HAS_ADDRESS)
        return segment->address;
    const struct ap_block *block = segment->block_count ? &snapshot->blocks[segment->first_block] : NULL;
    return block && (block->has & AP_BLOCK_HAS_ADDRESS) ? block->address : UINT64_MAX;
}

static enum ap_status put_largest(struct ap_snapshot_part *pass, struct ap_value *memory, uint64_t top_n,
                                  struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct ap_value *list = ap_add_list(pass->model, memory, "largest_segments");
    uint32_t count = snapshot->segment_count;
    struct segment_rank *ranks = ap_memory_scratch(pass, count, sizeof(*ranks));
    if (!ranks)
        return no_memory(pass, reterr);
    for (uint32_t i = 0; i < count; i++) {
        const struct ap_segment *segment = &snapshot->segments[i];
        int64_t slack_bytes = ap_subtract_sat(segment->total_bytes, segment->allocated_bytes, &pass->overflowed);
        ranks[i] =
            (struct segment_rank){ segment->total_bytes, slack_bytes > 0 ? slack_bytes : 0, place_of(snapshot, segment), i };
    }
    ap_sort(ranks, count, sizeof(*ranks), by_reserved_slack_address);
    for (uint32_t i = 0; i < count && (!top_n || i < top_n); i++)
        put_segment(pass, list, &ranks[i]);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ names */

struct name_count {
    struct ap_text name;
    uint64_t count;
};

static int by_count_then_name(const void *left, const void *right)
{
    const struct name_count *a = left, *b = right;
    AP_BY_LARGER(a->count, b->count);
    return ap_text_compare(a->name, b->name);
}

/* The names counted by @count_all, most frequent first. */
static enum ap_status rank_names(struct ap_snapshot_part *pass, void (*count_all)(const struct ap_snapshot *, uint64_t *),
                                 struct name_count **ret_names, size_t *ret_count, struct ap_error *reterr)
{
    const struct ap_strpool *strings = &pass->snapshot->strings;
    uint32_t ids = ap_strpool_count(strings);
    uint64_t *counts = ap_memory_scratch(pass, (size_t)ids + 1, sizeof(*counts));
    size_t count = 0;
    if (!counts)
        return no_memory(pass, reterr);
    count_all(pass->snapshot, counts);
    for (uint32_t id = 1; id <= ids; id++)
        count += counts[id] > 0;
    struct name_count *names = ap_memory_scratch(pass, count, sizeof(*names));
    if (!names)
        return no_memory(pass, reterr);
    count = 0;
    for (uint32_t id = 1; id <= ids; id++)
        if (counts[id])
            names[count++] = (struct name_count){ ap_strpool_text(strings, (struct ap_str){ id }), counts[id] };
    ap_sort(names, count, sizeof(*names), by_count_then_name);
    *ret_names = names;
    *ret_count = count;
    return AP_OK;
}

static void put_names(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, const struct name_count *names,
                      size_t count)
{
    struct ap_value *object = ap_add_object(pass->model, to, key);
    for (size_t i = 0; i < count; i++)
        ap_add_count_named(pass->model, object, names[i].name, (int64_t)names[i].count);
}

static void put_times(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_history_facts *facts)
{
    static const char *const keys[] = { "first_time_us", "last_time_us", "span_us" };
    const int64_t times_ns[] = { facts->first_ns, facts->last_ns, facts->last_ns - facts->first_ns };
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        ap_add_known_time(pass->model, to, keys[i], facts->has_times, times_ns[i]);
}

static enum ap_status put_annotations(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct ap_value *annotations = ap_add_object(pass->model, memory, "annotations");
    struct name_count *names;
    size_t count;
    AP_TRY(rank_names(pass, ap_count_annotations, &names, &count, reterr));
    ap_add_count(pass->model, annotations, "count", (int64_t)(snapshot->annotation_count + snapshot->odd_annotations));
    put_names(pass, annotations, "top_names", names, count < TOP_ANNOTATION_NAMES ? count : TOP_ANNOTATION_NAMES);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ state */

static void put_state_of_blocks(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_memory_state *state,
                                bool known)
{
    ap_put_bytes(pass, to, "inactive_bytes", known, state->inactive_bytes);
    ap_put_bytes(pass, to, "inactive_split_bytes", known, state->inactive_split_bytes);
    put_quotient(pass, to, "inactive_split_ratio", known, state->inactive_split_bytes, state->fields.reserved_bytes);
    ap_put_bytes(pass, to, "wholly_free_segment_bytes", known, state->wholly_free_bytes);
    ap_put_bytes(pass, to, "pending_free_bytes", known, state->pending_bytes);
    put_quotient(pass, to, "pending_free_ratio", known && !state->use_unknown, state->pending_bytes, state->active_bytes);
    ap_put_bytes(pass, to, "largest_inactive_block_bytes", known, state->largest_inactive_bytes);
    ap_add_known_ratio(pass->model, to, "external_fragmentation_ratio", known, ap_memory_state_fragmentation(state));
}

/* Segments that are cached whole were made for requests that were rounded, too: by as much, as far as anybody knows. */
static int64_t rounding_reserved_bytes(const struct ap_memory_state *state, bool *overflowed)
{
    int64_t cached_bytes = ap_memory_state_has_blocks(state) ? state->wholly_free_bytes : 0;
    if (cached_bytes <= 0 || state->rounding_bytes <= 0 || state->rounded_allocated_bytes <= 0)
        return state->rounding_bytes;
    double share = (double)state->rounding_bytes / (double)state->rounded_allocated_bytes;
    return ap_add_sat(state->rounding_bytes, ap_share_of(cached_bytes, share), overflowed);
}

static void put_state(struct ap_snapshot_part *pass, struct ap_value *memory, const struct ap_memory_state *state,
                      uint32_t devices)
{
    struct ap_value *to = ap_add_object(pass->model, memory, "state");
    bool segments = pass->snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS, used = segments && !state->use_unknown;
    bool rounded = segments && (state->requested_known || !state->fields.segments);
    int64_t reserved_bytes = state->fields.reserved_bytes;
    int64_t slack_bytes = ap_subtract_sat(reserved_bytes, state->allocated_bytes, &pass->overflowed);
    ap_put_bytes(pass, to, "slack_bytes", used, slack_bytes);
    put_quotient(pass, to, "slack_ratio", used, slack_bytes, reserved_bytes);
    ap_put_bytes(pass, to, "rounding_bytes", rounded, state->rounding_bytes);
    put_quotient(pass, to, "rounding_ratio", rounded, state->rounding_bytes, state->rounded_allocated_bytes);
    ap_put_bytes(pass, to, "rounding_reserved_bytes", rounded, rounding_reserved_bytes(state, &pass->overflowed));
    put_state_of_blocks(pass, to, state, segments && ap_memory_state_has_blocks(state));
    put_quotient(pass, to, "small_segment_ratio", state->with_type, state->small_bytes, reserved_bytes);
    ap_put_bytes(pass, to, "private_pool_bytes", state->with_pool, state->private_bytes);
    put_quotient(pass, to, "private_pool_ratio", state->with_pool, state->private_bytes, reserved_bytes);
    ap_put_count(pass, to, "devices", segments, devices);
}

struct device_key {
    int64_t device; /* INT64_MAX = not told: these come last */
    uint32_t index;
};

static int by_device_then_index(const void *left, const void *right)
{
    const struct device_key *a = left, *b = right;
    AP_BY_SMALLER(a->device, b->device);
    return a->index > b->index ? 1 : -1;
}

static enum ap_status sort_by_device(struct ap_snapshot_part *pass, struct device_key **ret_keys, uint32_t *ret_devices,
                                     struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    uint32_t count = snapshot->segment_count, devices = 0;
    struct device_key *keys = ap_memory_scratch(pass, count, sizeof(*keys));
    if (!keys)
        return no_memory(pass, reterr);
    for (uint32_t i = 0; i < count; i++) {
        const struct ap_segment *segment = &snapshot->segments[i];
        keys[i] = (struct device_key){ segment->has & AP_SEGMENT_HAS_DEVICE ? segment->device : INT64_MAX, i };
    }
    ap_sort(keys, count, sizeof(*keys), by_device_then_index);
    for (uint32_t i = 0; i < count; i++)
        devices += i == 0 || keys[i].device != keys[i - 1].device;
    *ret_keys = keys;
    *ret_devices = devices;
    return AP_OK;
}

static void put_device(struct ap_snapshot_part *pass, struct ap_value *list, int64_t device,
                       const struct ap_memory_state *state)
{
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    bool known = ap_memory_state_has_blocks(state), used = known && !state->use_unknown;
    bool rounded = !state->use_unknown && state->requested_known == state->fields.segments;
    int64_t parts_bytes = ap_add_sat(ap_add_sat(state->allocated_bytes, state->pending_bytes, &pass->overflowed),
                                     state->inactive_bytes, &pass->overflowed);
    ap_put_count(pass, row, "device", device != INT64_MAX, (uint64_t)device);
    put_fields(pass, row, true, &state->fields);
    ap_put_bytes(pass, row, "inactive_bytes", known, state->inactive_bytes);
    ap_put_bytes(pass, row, "inactive_split_bytes", known, state->inactive_split_bytes);
    ap_put_bytes(pass, row, "wholly_free_segment_bytes", known, state->wholly_free_bytes);
    ap_put_bytes(pass, row, "pending_free_bytes", known, state->pending_bytes);
    ap_put_bytes(pass, row, "rounding_bytes", rounded, state->rounding_bytes);
    ap_put_bytes(pass, row, "largest_free_block_bytes", known, state->largest_inactive_bytes);
    ap_put_bytes(pass, row, "unexplained_bytes", used,
                 ap_subtract_sat(state->fields.reserved_bytes, parts_bytes, &pass->overflowed));
}

static void put_devices(struct ap_snapshot_part *pass, struct ap_value *memory, const struct device_key *keys)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct ap_value *list = ap_add_list(pass->model, memory, "by_device");
    struct ap_memory_state state = { .use_unknown = 0 };
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct ap_segment *segment = &snapshot->segments[keys[i].index];
        struct ap_block_sums sums;
        ap_block_sums(snapshot, segment, &sums, &pass->overflowed);
        ap_memory_state_add(&state, segment, &sums, &pass->overflowed);
        if (i + 1 < snapshot->segment_count && keys[i + 1].device == keys[i].device)
            continue;
        put_device(pass, list, keys[i].device, &state);
        state = (struct ap_memory_state){ .use_unknown = 0 };
    }
}

/* ---------------------------------------------------------------------------------------------------------- history */

static double span_s(const struct ap_history_facts *facts)
{
    return facts->has_times ? (double)(facts->last_ns - facts->first_ns) / 1e9 : 0;
}

/* Entries a second, by action; empty where there is no span. */
static void put_rates(struct ap_snapshot_part *pass, struct ap_value *to, const struct name_count *names, size_t count,
                      double seconds)
{
    struct ap_value *rates = ap_add_object(pass->model, to, "rates");
    for (size_t i = 0; i < count && seconds > 0; i++)
        ap_add_number_named(pass->model, rates, names[i].name, (double)names[i].count / seconds);
}

static void put_ooms(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_history_facts *facts)
{
    bool fits = facts->oom_device_free_bytes <= INT64_MAX;
    ap_put_count(pass, to, "oom_count", facts->recorded || facts->oom_count, facts->oom_count);
    ap_put_bytes(pass, to, "oom_request_bytes", facts->has_oom_request, facts->oom_request_bytes);
    ap_put_bytes(pass, to, "oom_device_free_bytes", facts->has_oom_device_free && fits,
                 (int64_t)facts->oom_device_free_bytes);
}

static void put_history(struct ap_snapshot_part *pass, struct ap_value *memory, const struct ap_history_facts *facts,
                        const struct name_count *names, size_t name_count)
{
    struct ap_value *to = ap_add_object(pass->model, memory, "history");
    bool known = facts->recorded;
    double seconds = known ? span_s(facts) : 0;
    uint64_t segment_ops = facts->segment_alloc_count + facts->segment_free_count;
    ap_put_count(pass, to, "entries", pass->snapshot->has & AP_SNAPSHOT_HAS_HISTORY, facts->entries);
    ap_add_known_time(pass->model, to, "span_us", known && facts->has_times, facts->last_ns - facts->first_ns);
    ap_put_count(pass, to, "alloc_count", known, facts->alloc_count);
    ap_put_count(pass, to, "free_count", known, facts->free_count);
    ap_put_count(pass, to, "segment_alloc_count", known, facts->segment_alloc_count);
    ap_put_count(pass, to, "segment_free_count", known, facts->segment_free_count);
    ap_put_count(pass, to, "steady_segment_alloc_count", known, facts->steady_segment_alloc_count);
    ap_put_count(pass, to, "steady_segment_free_count", known, facts->steady_segment_free_count);
    ap_put_count(pass, to, "retry_count", known, facts->retry_count);
    put_ooms(pass, to, facts);
    ap_add_number_per(pass->model, to, "allocs_per_s", (double)facts->alloc_count, seconds);
    ap_add_number_per(pass->model, to, "segment_ops_per_s", (double)segment_ops, seconds);
    ap_put_bytes(pass, to, "allocated_bytes_sum", known, facts->allocated_bytes_sum);
    put_rates(pass, to, names, name_count, seconds);
}

/* -------------------------------------------------------------------------------------- what was recorded, settings */

/* A file that Python would name; a frame without one may be anything. C++ frames are of "??" where no symbols are. */
static bool may_be_python(struct ap_text filename)
{
    return !filename.bytes || ap_text_ends_with(filename, ".py") || filename.data[0] == '<';
}

static bool has_python_stacks(const struct ap_snapshot *snapshot)
{
    for (uint32_t stack = 1; stack <= snapshot->stacks.stack_count; stack++) {
        uint32_t count;
        const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
        for (uint32_t i = 0; i < count; i++)
            if (may_be_python(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].filename)))
                return true;
    }
    return false;
}

static void put_recorded(struct ap_snapshot_part *pass, struct ap_value *memory, const struct ap_memory_state *state,
                         bool history)
{
    uint32_t has = pass->snapshot->has;
    struct ap_value *to = ap_add_object(pass->model, memory, "recorded");
    bool segments = has & AP_SNAPSHOT_HAS_SEGMENTS;
    ap_add_bool(pass->model, to, "history", history);
    ap_add_bool(pass->model, to, "stacks", has & AP_SNAPSHOT_HAS_STACKS);
    ap_add_known_bool(pass->model, to, "python_stacks", has & AP_SNAPSHOT_HAS_STACKS, has_python_stacks(pass->snapshot));
    ap_add_bool(pass->model, to, "requested_sizes", segments && state->requested_known == state->fields.segments);
    ap_add_bool(pass->model, to, "settings", has & AP_SNAPSHOT_HAS_SETTINGS);
    ap_add_bool(pass->model, to, "annotations", has & AP_SNAPSHOT_HAS_ANNOTATIONS);
    ap_add_bool(pass->model, to, "blocks", segments && ap_memory_state_has_blocks(state));
}

static void put_settings(struct ap_snapshot_part *pass, struct ap_value *memory)
{
    const struct ap_allocator_settings *settings = &pass->snapshot->settings;
    if (!(pass->snapshot->has & AP_SNAPSHOT_HAS_SETTINGS)) {
        ap_add_null(pass->model, memory, "settings");
        return;
    }
    struct ap_value *to = ap_add_object(pass->model, memory, "settings");
    bool has_split = settings->has & AP_SETTING_HAS_MAX_SPLIT, limited = settings->max_split_bytes >= 0;
    ap_put_bool(pass, to, "expandable_segments", settings->has & AP_SETTING_HAS_EXPANDABLE, settings->expandable_segments);
    ap_put_bool(pass, to, "max_split_size_set", has_split, limited);
    ap_add_known_text(pass->model, to, "conf", settings->conf.id, ap_strpool_text(&pass->snapshot->strings, settings->conf));
    ap_put_bytes(pass, to, "max_split_size_bytes", has_split && limited, settings->max_split_bytes);
    ap_add_known_ratio(pass->model, to, "garbage_collection_threshold", settings->has & AP_SETTING_HAS_GC,
                       settings->gc_threshold_ratio);
}

/* --------------------------------------------------------------------------------------------------------- the pass */

static void put_file(struct ap_snapshot_part *pass, struct ap_value *memory)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    bool list = snapshot->format == AP_SNAPSHOT_SEGMENT_LIST;
    ap_add_string(pass->model, memory, "format", list ? "segment list" : "snapshot");
    ap_add_bool(pass->model, memory, "complete", snapshot->complete);
    ap_add_bytes(pass->model, memory, "bytes_read", (int64_t)snapshot->bytes_read);
}

static enum ap_status put_parts(struct ap_snapshot_part *pass, struct ap_value *memory, const struct ap_memory_state *state,
                                struct ap_error *reterr)
{
    ap_memory_put_parts(pass, ap_add_object(pass->model, memory, "totals"), state);
    AP_TRY(ap_memory_put_pools(pass, memory, reterr));
    AP_TRY(ap_memory_put_segments(pass, memory, reterr));
    AP_TRY(ap_memory_put_map(pass, memory, reterr));
    ap_memory_put_replay(pass, memory);
    AP_TRY(ap_memory_put_ooms(pass, memory, reterr));
    AP_TRY(ap_memory_put_owners(pass, memory, reterr));
    AP_TRY(ap_memory_put_leaks(pass, memory, reterr));
    AP_TRY(ap_memory_put_churn(pass, memory, reterr));
    AP_TRY(ap_memory_put_fragmentation(pass, memory, reterr));
    ap_memory_put_settings_notes(pass, memory);
    return AP_OK;
}

static enum ap_status fill(struct ap_snapshot_part *pass, const char *path, uint64_t top_n, struct ap_error *reterr)
{
    struct ap_value *memory = ap_add_object(pass->model, &pass->model->root, "memory");
    struct ap_memory_state state = { .use_unknown = 0 };
    struct ap_history_facts facts;
    struct name_count *actions = NULL;
    struct device_key *keys = NULL;
    size_t action_names = 0;
    uint32_t devices = 0;
    sum_all(pass, &state);
    AP_TRY(ap_history_facts(pass->snapshot, &facts, &pass->overflowed, reterr));
    AP_TRY(rank_names(pass, ap_count_actions, &actions, &action_names, reterr));
    AP_TRY(sort_by_device(pass, &keys, &devices, reterr));
    ap_add_string(pass->model, memory, "path", path);
    put_summary(pass, ap_add_object(pass->model, memory, "summary"), pass->snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS,
                &state.fields);
    AP_TRY(put_types(pass, memory, reterr));
    AP_TRY(put_largest(pass, memory, top_n, reterr));
    struct ap_value *trace_actions = ap_add_object(pass->model, memory, "trace_actions");
    put_names(pass, trace_actions, "counts", actions, action_names);
    put_times(pass, trace_actions, &facts);
    AP_TRY(put_annotations(pass, memory, reterr));
    put_file(pass, memory);
    put_state(pass, memory, &state, devices);
    put_devices(pass, memory, keys);
    put_history(pass, memory, &facts, actions, action_names);
    put_recorded(pass, memory, &state, facts.recorded);
    put_settings(pass, memory);
    AP_TRY(put_parts(pass, memory, &state, reterr));
    if (pass->overflowed)
        ap_note_many(pass->notes, AP_COUNTER_size_overflow, 1);
    return ap_model_status(pass->model, reterr);
}

enum ap_status ap_part_snapshot(const struct ap_snapshot *snapshot, const struct ap_replay *replay, bool overflowed,
                                const struct ap_snapshot_part_options *options, struct ap_notes *notes,
                                struct ap_model *model, struct ap_error *reterr)
{
    struct ap_snapshot_part pass = { .snapshot = snapshot,
                                     .replay = replay,
                                     .options = options,
                                     .notes = notes,
                                     .model = model,
                                     .top_n = options->top_n,
                                     .overflowed = overflowed };
    ap_arena_init(&pass.scratch, snapshot->gate);
    struct ap_owners owners;
    enum ap_status status = ap_owners_init(&owners, replay, snapshot->gate, reterr);
    pass.owners = &owners;
    if (status == AP_OK) {
        status = fill(&pass, options->path, options->top_n, reterr);
        ap_owners_release(&owners);
    }
    ap_arena_release(&pass.scratch);
    return status;
}
