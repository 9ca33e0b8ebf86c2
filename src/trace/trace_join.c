/* SPDX-License-Identifier: MIT */
#include "trace_join.h"

#include <string.h>

#include "poison.h"

/* -------------------------------------------------------------------------------------------------------- numbers */

static void release_numbers(struct ap_gate *gate, struct ap_numbers *numbers)
{
    AP_FREE(gate, numbers->to, numbers->capacity);
    *numbers = (struct ap_numbers){ .to = NULL };
}

void ap_trace_join_reset(struct ap_trace_join *join)
{
    join->strings.count = join->signatures.count = join->odd_keys.count = 0;
    join->tracks.count = join->categories.count = 0;
}

void ap_trace_join_release(struct ap_trace_join *join)
{
    release_numbers(join->gate, &join->strings);
    release_numbers(join->gate, &join->signatures);
    release_numbers(join->gate, &join->odd_keys);
    release_numbers(join->gate, &join->tracks);
    release_numbers(join->gate, &join->categories);
}

static enum ap_status add_number(struct ap_trace_join *join, struct ap_numbers *numbers, uint32_t to,
                                 struct ap_error *reterr)
{
    AP_TRY_ADD(join->gate, numbers->to, numbers->count, numbers->capacity, reterr, to);
    return AP_OK;
}

/* Number 0, "absent", is itself. */
static enum ap_status learn_texts(struct ap_trace_join *join, struct ap_numbers *numbers, struct ap_strpool *whole,
                                  const struct ap_strpool *part, struct ap_error *reterr)
{
    if (!numbers->count)
        AP_TRY(add_number(join, numbers, 0, reterr));
    for (uint32_t id = (uint32_t)numbers->count; id <= ap_strpool_count(part); id++) {
        struct ap_text text = ap_strpool_text(part, (struct ap_str){ id });
        struct ap_str known;
        AP_TRY(ap_strpool_intern(whole, text.data, text.bytes, &known, reterr));
        AP_TRY(add_number(join, numbers, known.id, reterr));
    }
    return AP_OK;
}

static enum ap_status learn_categories(struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                       struct ap_error *reterr)
{
    for (size_t i = join->categories.count; i < part->category_count; i++) {
        uint32_t index;
        AP_TRY(ap_trace_category(whole, ap_strpool_text(&part->category_names, (struct ap_str){ (uint32_t)i }), &index,
                                 reterr));
        AP_TRY(add_number(join, &join->categories, index, reterr));
    }
    return AP_OK;
}

static struct ap_text id_text(const struct ap_trace *part, struct ap_str id)
{
    return id.id ? ap_trace_id_text(part, id) : (struct ap_text){ NULL, 0 };
}

static enum ap_status learn_tracks(struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                   struct ap_error *reterr)
{
    for (size_t i = join->tracks.count; i < part->track_count; i++) {
        const struct ap_track *track = &part->tracks[i];
        uint32_t index;
        AP_TRY(ap_trace_track(whole, id_text(part, track->pid), track->pid_is_text, id_text(part, track->tid),
                              track->tid_is_text, &index, reterr));
        AP_TRY(add_number(join, &join->tracks, index, reterr));
    }
    for (size_t i = 0; i < part->track_count; i++) {
        int64_t device = ap_track_device(part, &part->tracks[i]);
        if (device >= 0)
            AP_TRY(ap_trace_set_device(whole, join->tracks.to[i], device, reterr));
    }
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- fits */

#define TRACKS_SEARCHED_MAX 4096

/* The track in the whole, where it has it already. */
static const struct ap_track *track_in_whole(const struct ap_trace_join *join, const struct ap_trace *whole,
                                             const struct ap_trace *part, size_t index)
{
    if (index < join->tracks.count)
        return &whole->tracks[join->tracks.to[index]];
    struct ap_text pid = id_text(part, part->tracks[index].pid), tid = id_text(part, part->tracks[index].tid);
    for (size_t i = 0; i < whole->track_count; i++)
        if (ap_text_equal(id_text(whole, whole->tracks[i].pid), pid) &&
            ap_text_equal(id_text(whole, whole->tracks[i].tid), tid))
            return &whole->tracks[i];
    return NULL;
}

/* Rows of another device than the track's get a track of their own, whose name depends on what was read before. */
static bool devices_fit(const struct ap_trace_join *join, const struct ap_trace *whole, const struct ap_trace *part)
{
    if (whole->tracks_split || part->tracks_split)
        return false;
    for (size_t i = 0; i < part->track_count; i++) {
        int64_t device = ap_track_device(part, &part->tracks[i]);
        if (device < 0)
            continue;
        if (i >= join->tracks.count && whole->track_count > TRACKS_SEARCHED_MAX)
            return false;
        const struct ap_track *track = track_in_whole(join, whole, part, i);
        int64_t before = track ? ap_track_device(whole, track) : -1;
        if (before >= 0 && before != device)
            return false;
    }
    return true;
}

/* Sums that do not fit are counted row by row. */
static bool sums_fit(const struct ap_trace_join *join, const struct ap_trace *whole, const struct ap_trace *part)
{
    for (size_t i = 0; i < part->category_count; i++) {
        int64_t more_ns = part->categories[i].total_dur_ns;
        bool overflowed = more_ns == INT64_MAX || more_ns == INT64_MIN;
        (void)ap_add_sat(whole->categories[join->categories.to[i]].total_dur_ns, more_ns, &overflowed);
        if (overflowed)
            return false;
    }
    return true;
}

/* What is new in the part stays known in any case: whoever reads it again comes to it in the same order. */
enum ap_status ap_trace_join_fits(struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                  bool *ret_fits, struct ap_error *reterr)
{
    AP_TRY(learn_categories(join, whole, part, reterr));
    *ret_fits = sums_fit(join, whole, part) && devices_fit(join, whole, part);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ the events */

static ap_link_key key_in_whole(const struct ap_trace_join *join, ap_link_key key)
{
    return key & AP_ODD_KEY ? ap_odd_key(join->odd_keys.to[ap_odd_key_text(key)], ap_odd_key_digit(key)) : key;
}

static struct ap_str str_in_whole(const struct ap_trace_join *join, struct ap_str str)
{
    return (struct ap_str){ join->strings.to[str.id] };
}

/* Details are numbered by the table of the row's kind: how many of each the whole has already. */
static size_t details_before(const struct ap_trace *whole, uint8_t tag)
{
    switch (ap_row_kind(tag)) {
    case AP_KIND_operator:
    case AP_KIND_annotation: return whole->op_detail_count;
    case AP_KIND_runtime: return whole->call_detail_count;
    case AP_KIND_gpu_sync: return whole->sync_detail_count;
    default: return whole->work_detail_count;
    }
}

static enum ap_status add_rows(const struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                               struct ap_error *reterr)
{
    const struct ap_events *from = &part->events;
    struct ap_events *to = &whole->events;
    size_t first = to->count, before[AP_ROW_KIND_MASK + 1];
    if (!from->count)
        return AP_OK;
    AP_TRY(ap_trace_ready_rows(whole, from->count, reterr));
    if (from->detail)
        AP_TRY(ap_trace_need_details(whole, reterr));
    for (uint8_t kind = 0; kind <= AP_ROW_KIND_MASK; kind++)
        before[kind] = details_before(whole, kind);
    memcpy(to->start_ns + first, from->start_ns, from->count * sizeof(to->start_ns[0]));
    memcpy(to->dur_ns + first, from->dur_ns, from->count * sizeof(to->dur_ns[0]));
    memcpy(to->tag + first, from->tag, from->count * sizeof(to->tag[0]));
    for (size_t i = 0; i < from->count; i++) {
        to->name[first + i] = join->strings.to[from->name[i]];
        to->track[first + i] = join->tracks.to[from->track[i]];
    }
    for (size_t i = 0; i < from->count && to->detail; i++) {
        uint32_t detail = ap_row_detail(part, (uint32_t)i);
        to->detail[first + i] = detail ? detail + (uint32_t)before[from->tag[i] & AP_ROW_KIND_MASK] : 0;
    }
    to->count += from->count;
    return AP_OK;
}

#define RESERVE(table, count) \
    AP_RESERVE(whole->gate, whole->table##s, whole->table##_capacity, whole->table##_count + (count), reterr)

static enum ap_status add_op_details(const struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                     struct ap_error *reterr)
{
    AP_TRY(RESERVE(op_detail, part->op_detail_count));
    for (size_t i = 0; i < part->op_detail_count; i++) {
        struct ap_op_told detail = ap_trace_op_told(part, i);
        detail.external_id = key_in_whole(join, detail.external_id);
        detail.sequence = key_in_whole(join, detail.sequence);
        detail.signature.id = join->signatures.to[detail.signature.id];
        detail.arguments.id = join->signatures.to[detail.arguments.id];
        AP_TRY(ap_trace_put_op_told(whole, &detail, reterr));
    }
    return AP_OK;
}

static enum ap_status add_call_details(const struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                       struct ap_error *reterr)
{
    AP_TRY(RESERVE(call_detail, part->call_detail_count));
    for (size_t i = 0; i < part->call_detail_count; i++) {
        struct ap_call_detail detail = part->call_details[i];
        detail.correlation = key_in_whole(join, detail.correlation);
        detail.external_id = key_in_whole(join, detail.external_id);
        whole->call_details[whole->call_detail_count++] = detail;
    }
    return AP_OK;
}

static enum ap_status add_work_details(const struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                       struct ap_error *reterr)
{
    AP_TRY(RESERVE(work_detail, part->work_detail_count));
    for (size_t i = 0; i < part->work_detail_count; i++) {
        struct ap_work_detail detail = part->work_details[i];
        detail.correlation = key_in_whole(join, detail.correlation);
        detail.external_id = key_in_whole(join, detail.external_id);
        whole->work_details[whole->work_detail_count++] = detail;
    }
    return AP_OK;
}

static enum ap_status add_sync_details(const struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                       struct ap_error *reterr)
{
    AP_TRY(RESERVE(sync_detail, part->sync_detail_count));
    for (size_t i = 0; i < part->sync_detail_count; i++) {
        struct ap_sync_detail detail = part->sync_details[i];
        detail.correlation = key_in_whole(join, detail.correlation);
        detail.record_correlation = key_in_whole(join, detail.record_correlation);
        whole->sync_details[whole->sync_detail_count++] = detail;
    }
    return AP_OK;
}

static enum ap_status add_collectives(const struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                      size_t rows_before, struct ap_error *reterr)
{
    for (size_t i = 0; i < part->collective_count; i++) {
        uint32_t row = part->collectives[i].row + (uint32_t)rows_before;
        struct ap_collective collective = *ap_trace_collective(part, i);
        collective.name = str_in_whole(join, collective.name);
        collective.dtype = str_in_whole(join, collective.dtype);
        collective.group_name = str_in_whole(join, collective.group_name);
        collective.group_description = str_in_whole(join, collective.group_description);
        collective.group_ranks = str_in_whole(join, collective.group_ranks);
        AP_TRY(ap_trace_add_collective(whole, row, collective, ap_trace_collective_sequence(part, i), reterr));
    }
    return AP_OK;
}

static enum ap_status add_launched_names(const struct ap_trace_join *join, struct ap_trace *whole,
                                         const struct ap_trace *part, size_t rows_before, struct ap_error *reterr)
{
    AP_TRY(RESERVE(launched_name, part->launched_name_count));
    for (size_t i = 0; i < part->launched_name_count; i++) {
        struct ap_launched_name name = part->launched_names[i];
        name.row += (uint32_t)rows_before;
        name.kernel = str_in_whole(join, name.kernel);
        whole->launched_names[whole->launched_name_count++] = name;
    }
    return AP_OK;
}

static enum ap_status add_memory_events(const struct ap_trace_join *join, struct ap_trace *whole,
                                        const struct ap_trace *part, struct ap_error *reterr)
{
    for (size_t i = 0; i < part->memory_instant_count; i++) {
        struct ap_memory_event event = part->memory_instants[i];
        event.track = join->tracks.to[event.track];
        AP_TRY(ap_trace_add_memory_event(whole, event, reterr));
    }
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- counts */

static void add_counts(const struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part)
{
    bool overflowed = false; /* ap_trace_join_fits */
    for (size_t i = 0; i < part->category_count; i++) {
        struct ap_category *category = &whole->categories[join->categories.to[i]];
        category->event_count += part->categories[i].event_count;
        category->row_count += part->categories[i].row_count;
        category->total_dur_ns = ap_add_sat(category->total_dur_ns, part->categories[i].total_dur_ns, &overflowed);
    }
    for (size_t i = 0; i < AP_COUNT_OF(whole->ph_counts); i++)
        whole->ph_counts[i] += part->ph_counts[i];
    whole->event_count += part->event_count;
    whole->object_count += part->object_count;
    whole->memory_event_count += part->memory_event_count;
    whole->out_of_memory_count += part->out_of_memory_count;
    whole->shape_row_count += part->shape_row_count;
    whole->calls_with_external_id += part->calls_with_external_id;
    whole->calls_named_by_correlation += part->calls_named_by_correlation;
    whole->legacy_autograd |= part->legacy_autograd;
    if (part->has_window_all)
        ap_trace_widen(&whole->has_window_all, &whole->window_all_start_ns, &whole->window_all_end_ns,
                       part->window_all_start_ns, part->window_all_end_ns);
    if (part->has_window)
        ap_trace_widen(&whole->has_window, &whole->window_start_ns, &whole->window_end_ns, part->window_start_ns,
                       part->window_end_ns);
}

enum ap_status ap_trace_join_add(struct ap_trace_join *join, struct ap_trace *whole, const struct ap_trace *part,
                                 struct ap_error *reterr)
{
    size_t rows_before = whole->events.count;
    AP_TRY(learn_texts(join, &join->strings, &whole->strings, &part->strings, reterr));
    AP_TRY(learn_texts(join, &join->signatures, &whole->signatures, &part->signatures, reterr));
    AP_TRY(learn_texts(join, &join->odd_keys, &whole->odd_keys, &part->odd_keys, reterr));
    AP_TRY(learn_tracks(join, whole, part, reterr));
    AP_TRY(add_rows(join, whole, part, reterr));
    AP_TRY(add_op_details(join, whole, part, reterr));
    AP_TRY(add_call_details(join, whole, part, reterr));
    AP_TRY(add_work_details(join, whole, part, reterr));
    AP_TRY(add_sync_details(join, whole, part, reterr));
    AP_TRY(add_collectives(join, whole, part, rows_before, reterr));
    AP_TRY(add_launched_names(join, whole, part, rows_before, reterr));
    AP_TRY(add_memory_events(join, whole, part, reterr));
    add_counts(join, whole, part);
    return AP_OK;
}
