/* SPDX-License-Identifier: MIT */
#include "trace_ranks.h"

#include "sort.h"
#include "trace_internal.h"

#include "poison.h"

#define NO_NUMBER UINT32_MAX
#define RANK_LARGEST 99999999
#define UNKNOWN (-1)
#define AMBIGUOUS (-2) /* told as two */

/* ------------------------------------------------------------------------------------------------- what names tell */

/* Digits at @at, and none before them; -1 where there are none or too many. */
static int64_t number_at(struct ap_text text, size_t at)
{
    int64_t number = 0;
    size_t begin = at;
    for (; at < text.bytes && ap_is_digit(text.data[at]) && number <= RANK_LARGEST; at++)
        number = number * 10 + (text.data[at] - '0');
    return at > begin && number <= RANK_LARGEST ? number : UNKNOWN;
}

int64_t ap_rank_in_name(struct ap_text name)
{
    static const char word[] = "rank";
    for (size_t at = 0; at + sizeof(word) <= name.bytes; at++) {
        size_t same = 0;
        while (same < sizeof(word) - 1 && ap_folded(name.data[at + same]) == word[same])
            same++;
        if (same < sizeof(word) - 1 || (at > 0 && ap_is_letter(name.data[at - 1])))
            continue;
        size_t digits = at + same;
        while (digits < name.bytes && digits < at + same + 2 && strchr(" _:#=-", name.data[digits]))
            digits++;
        if (number_at(name, digits) >= 0)
            return number_at(name, digits);
    }
    return UNKNOWN;
}

/* "[TP-3] 1234", "[TP-3-EP-3] 1234": places along several axes are a rank where all of them are the same number. */
static int64_t rank_in_brackets(struct ap_text pid)
{
    int64_t rank = UNKNOWN;
    if (!pid.bytes || pid.data[0] != '[')
        return UNKNOWN;
    for (size_t at = 1; at < pid.bytes && pid.data[at] != ']'; at++) {
        if (pid.data[at] != '-' || !ap_is_letter(pid.data[at - 1]))
            continue;
        int64_t number = number_at(pid, at + 1);
        if (number < 0 || (rank >= 0 && rank != number))
            return UNKNOWN;
        rank = number;
    }
    return rank;
}

enum ap_status ap_trace_note_rank(struct ap_trace *trace, struct ap_text pid, int64_t rank, struct ap_error *reterr)
{
    struct ap_process_rank told = { .rank = rank };
    AP_TRY(ap_strpool_intern(&trace->track_ids, pid.data, pid.bytes, &told.pid, reterr));
    size_t count = trace->process_rank_count;
    if (count && trace->process_ranks[count - 1].pid.id == told.pid.id && trace->process_ranks[count - 1].rank == rank)
        return AP_OK;
    AP_TRY_ADD(trace->gate, trace->process_ranks, trace->process_rank_count, trace->process_rank_capacity, reterr, told);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------- which rank is whose */

/* By the number of the id. */
static enum ap_status ranks_of_processes(const struct ap_trace *trace, struct ap_gate *gate, int64_t **ret_ranks,
                                         struct ap_error *reterr)
{
    int64_t *ranks;
    size_t count = (size_t)ap_strpool_count(&trace->track_ids) + 1;
    AP_TRY(AP_ALLOC(gate, ranks, count, reterr));
    for (size_t i = 0; i < count; i++)
        ranks[i] = UNKNOWN;
    for (size_t i = 0; i < trace->process_rank_count; i++) {
        const struct ap_process_rank *told = &trace->process_ranks[i];
        int64_t *rank = &ranks[told->pid.id];
        *rank = *rank == UNKNOWN || *rank == told->rank ? told->rank : AMBIGUOUS;
    }
    *ret_ranks = ranks;
    return AP_OK;
}

/* @ranks: by track, of those that have rows. Two processes of which one is [TP-0] and one rank 0 would be one rank: so be
 * it. */
static enum ap_status ranks_of_tracks(struct ap_trace_ranks *ranks, int64_t *of_track, struct ap_error *reterr)
{
    const struct ap_trace *trace = ranks->trace;
    int64_t *of_process;
    AP_TRY(ranks_of_processes(trace, ranks->gate, &of_process, reterr));
    for (size_t i = 0; i < trace->track_count; i++)
        of_track[i] = AMBIGUOUS;
    for (size_t row = 0; row < trace->events.count; row++)
        of_track[trace->events.track[row]] = UNKNOWN;
    for (size_t i = 0; i < trace->track_count; i++) {
        struct ap_text pid = ap_trace_id_text(trace, trace->tracks[i].pid);
        if (of_track[i] == AMBIGUOUS)
            continue;
        of_track[i] = of_process[trace->tracks[i].pid.id];
        if (of_track[i] == UNKNOWN && trace->tracks[i].pid_is_text)
            of_track[i] = ap_rank_in_name(pid) >= 0 ? ap_rank_in_name(pid) : rank_in_brackets(pid);
    }
    AP_FREE(ranks->gate, of_process, (size_t)ap_strpool_count(&trace->track_ids) + 1);
    return AP_OK;
}

static enum ap_status list_ranks(struct ap_trace_ranks *ranks, const int64_t *of_track, struct ap_error *reterr)
{
    const struct ap_trace *trace = ranks->trace;
    size_t told = 0;
    AP_TRY(AP_ALLOC(ranks->gate, ranks->ranks, trace->track_count + 1, reterr));
    for (size_t i = 0; i < trace->track_count; i++)
        if (of_track[i] >= 0)
            ranks->ranks[told++] = of_track[i];
    ap_sort(ranks->ranks, told, sizeof(ranks->ranks[0]), ap_by_int64);
    for (size_t i = 0; i < told; i++)
        if (!i || ranks->ranks[i] != ranks->ranks[ranks->count - 1])
            ranks->ranks[ranks->count++] = ranks->ranks[i];
    for (size_t i = 0; i < trace->track_count; i++) {
        size_t number = 0;
        AP_BISECT(number, ranks->count, at, ranks->ranks[at] < of_track[i]);
        ranks->of_track[i] = of_track[i] >= 0 ? (uint32_t)number : NO_NUMBER;
    }
    return AP_OK;
}

/* @track_of(context, i) is the track that the entry @i of the table is on. */
static enum ap_status fill_buckets(struct ap_trace_ranks *ranks, struct ap_rank_buckets *buckets, size_t count,
                                   uint32_t (*track_of)(const struct ap_trace *trace, size_t i), struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC_CLEARED(ranks->gate, buckets->starts, ranks->count + 2, reterr));
    AP_TRY(AP_ALLOC(ranks->gate, buckets->indices, count + 1, reterr));
    buckets->count = count + 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = ranks->of_track[track_of(ranks->trace, i)];
        if (number != NO_NUMBER)
            buckets->starts[number + 2]++;
    }
    for (size_t i = 2; i < ranks->count + 2; i++)
        buckets->starts[i] += buckets->starts[i - 1];
    for (size_t i = 0; i < count; i++) {
        uint32_t number = ranks->of_track[track_of(ranks->trace, i)];
        if (number != NO_NUMBER)
            buckets->indices[buckets->starts[number + 1]++] = (uint32_t)i;
    }
    return AP_OK;
}

static uint32_t track_of_row(const struct ap_trace *trace, size_t row)
{
    return trace->events.track[row];
}

static uint32_t track_of_instant(const struct ap_trace *trace, size_t instant)
{
    return trace->memory_instants[instant].track;
}

static enum ap_status take_apart(struct ap_trace_ranks *ranks, struct ap_error *reterr)
{
    const struct ap_trace *trace = ranks->trace;
    ranks->string_count = ap_trace_id_count(trace);
    ranks->track_id_count = (size_t)ap_strpool_count(&trace->track_ids) + 1;
    ranks->signature_count = (size_t)ap_strpool_count(&trace->signatures) + 1;
    AP_TRY(fill_buckets(ranks, &ranks->rows, trace->events.count, track_of_row, reterr));
    AP_TRY(fill_buckets(ranks, &ranks->memory_instants, trace->memory_instant_count, track_of_instant, reterr));
    AP_TRY(AP_ALLOC_CLEARED(ranks->gate, ranks->strings, ranks->string_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(ranks->gate, ranks->track_ids, ranks->track_id_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(ranks->gate, ranks->signatures, ranks->signature_count, reterr));
    return AP_ALLOC_CLEARED(ranks->gate, ranks->tracks, trace->track_count, reterr);
}

static bool may_be_of_many(const struct ap_trace *trace)
{
    bool told = trace->process_rank_count > 0;
    for (size_t i = 0; i < trace->track_count && !told; i++)
        told = trace->tracks[i].pid_is_text;
    return told && trace->track_count > 1;
}

enum ap_status ap_trace_ranks_init(struct ap_trace_ranks *ranks, const struct ap_trace *trace, struct ap_error *reterr)
{
    int64_t *of_track;
    *ranks = (struct ap_trace_ranks){ .gate = trace->gate, .trace = trace };
    if (!may_be_of_many(trace))
        return AP_OK;
    AP_TRY(AP_ALLOC(ranks->gate, of_track, trace->track_count, reterr));
    enum ap_status status = AP_ALLOC(ranks->gate, ranks->of_track, trace->track_count, reterr);
    AP_AND_THEN(status, ranks_of_tracks(ranks, of_track, reterr));
    AP_AND_THEN(status, list_ranks(ranks, of_track, reterr));
    AP_FREE(ranks->gate, of_track, trace->track_count);
    ranks->count = ranks->count < 2 ? 0 : ranks->count;
    return status == AP_OK && ranks->count ? take_apart(ranks, reterr) : status;
}

static void release_buckets(struct ap_trace_ranks *ranks, struct ap_rank_buckets *buckets)
{
    AP_FREE(ranks->gate, buckets->indices, buckets->count);
    AP_FREE(ranks->gate, buckets->starts, ranks->count + 2);
}

void ap_trace_ranks_release(struct ap_trace_ranks *ranks)
{
    release_buckets(ranks, &ranks->rows);
    release_buckets(ranks, &ranks->memory_instants);
    AP_FREE(ranks->gate, ranks->strings, ranks->string_count);
    AP_FREE(ranks->gate, ranks->track_ids, ranks->track_id_count);
    AP_FREE(ranks->gate, ranks->signatures, ranks->signature_count);
    AP_FREE(ranks->gate, ranks->tracks, ranks->trace->track_count);
    AP_FREE(ranks->gate, ranks->of_track, ranks->trace->track_count);
    AP_FREE(ranks->gate, ranks->ranks, ranks->trace->track_count + 1);
    ranks->count = 0;
}

/* --------------------------------------------------------------------------------------------------- one rank's part */

struct part {
    struct ap_trace_ranks *ranks;
    const struct ap_trace *from;
    struct ap_trace *to;
    uint32_t number; /* of the rank, from 1: what is known of another part is unknown here */
};

static enum ap_status carry(struct part *part, struct ap_part_id *known, const struct ap_strpool *from,
                            struct ap_strpool *to, uint32_t id, struct ap_str *ret_str, struct ap_error *reterr)
{
    if (id && known[id].part != part->number) {
        struct ap_text text = ap_strpool_text(from, (struct ap_str){ id });
        struct ap_str str;
        AP_TRY(ap_strpool_intern(to, text.data, text.bytes, &str, reterr));
        known[id] = (struct ap_part_id){ part->number, str.id };
    }
    ret_str->id = id ? known[id].id : 0;
    return AP_OK;
}

static enum ap_status carry_string(struct part *part, struct ap_str *str, struct ap_error *reterr)
{
    return carry(part, part->ranks->strings, &part->from->strings, &part->to->strings, str->id, str, reterr);
}

static enum ap_status carry_track_id(struct part *part, struct ap_str *str, struct ap_error *reterr)
{
    return carry(part, part->ranks->track_ids, &part->from->track_ids, &part->to->track_ids, str->id, str, reterr);
}

static enum ap_status carry_signature(struct part *part, struct ap_str *str, struct ap_error *reterr)
{
    return carry(part, part->ranks->signatures, &part->from->signatures, &part->to->signatures, str->id, str, reterr);
}

/* Odd keys are few: they are looked up each time. */
static enum ap_status carry_key(struct part *part, ap_link_key *key, struct ap_error *reterr)
{
    struct ap_str str;
    if (!(*key & AP_ODD_KEY))
        return AP_OK;
    struct ap_text text = ap_strpool_text(&part->from->odd_keys, (struct ap_str){ ap_odd_key_text(*key) });
    AP_TRY(ap_strpool_intern(&part->to->odd_keys, text.data, text.bytes, &str, reterr));
    *key = ap_odd_key(str.id, ap_odd_key_digit(*key));
    return AP_OK;
}

static enum ap_status carry_label(struct part *part, const struct ap_track *from, uint32_t to, struct ap_error *reterr)
{
    const struct ap_track_label *label = ap_track_label(part->from, from);
    if (!label)
        return AP_OK;
    struct ap_track_label copy = *label;
    AP_TRY(carry_string(part, &copy.name, reterr));
    return ap_trace_set_label(part->to, to, copy, reterr);
}

/* Tracks of two devices may have the same ids: they are told apart by their numbers alone. */
static enum ap_status carry_track(struct part *part, uint32_t *track, struct ap_error *reterr)
{
    struct ap_part_id *known = &part->ranks->tracks[*track];
    if (known->part != part->number) {
        const struct ap_track *from = &part->from->tracks[*track];
        struct ap_track copy = *from;
        uint32_t to = (uint32_t)part->to->track_count;
        copy.device = -1;
        AP_TRY(carry_track_id(part, &copy.pid, reterr));
        AP_TRY(carry_track_id(part, &copy.tid, reterr));
        AP_TRY_ADD(part->to->gate, part->to->tracks, part->to->track_count, part->to->track_capacity, reterr, copy);
        AP_TRY(ap_trace_set_device(part->to, to, ap_track_device(part->from, from), reterr));
        AP_TRY(carry_label(part, from, to, reterr));
        *known = (struct ap_part_id){ part->number, to };
    }
    *track = known->id;
    return AP_OK;
}

static enum ap_status carry_op(struct part *part, uint32_t row, struct ap_error *reterr)
{
    struct ap_op_told detail = ap_trace_op_told(part->from, ap_row_detail(part->from, row) - 1);
    AP_TRY(carry_key(part, &detail.external_id, reterr));
    AP_TRY(carry_key(part, &detail.sequence, reterr));
    AP_TRY(carry_signature(part, &detail.signature, reterr));
    AP_TRY(carry_signature(part, &detail.arguments, reterr));
    return ap_trace_add_op_detail(part->to, detail, reterr);
}

static enum ap_status carry_detail(struct part *part, uint32_t row, struct ap_error *reterr)
{
    switch (ap_row_kind(part->from->events.tag[row])) {
    case AP_KIND_operator:
    case AP_KIND_annotation: return carry_op(part, row, reterr);
    case AP_KIND_runtime: {
        struct ap_call_detail detail = *ap_row_call(part->from, row);
        AP_TRY(carry_key(part, &detail.correlation, reterr));
        AP_TRY(carry_key(part, &detail.external_id, reterr));
        return ap_trace_add_call_detail(part->to, detail, reterr);
    }
    case AP_KIND_gpu_sync: {
        struct ap_sync_detail detail = *ap_row_sync(part->from, row);
        AP_TRY(carry_key(part, &detail.correlation, reterr));
        AP_TRY(carry_key(part, &detail.record_correlation, reterr));
        return ap_trace_add_sync_detail(part->to, detail, reterr);
    }
    default: {
        struct ap_work_detail detail = *ap_row_work(part->from, row);
        AP_TRY(carry_key(part, &detail.correlation, reterr));
        AP_TRY(carry_key(part, &detail.external_id, reterr));
        return ap_trace_add_work_detail(part->to, detail, reterr);
    }
    }
}

static enum ap_status carry_collective(struct part *part, uint32_t row, struct ap_error *reterr)
{
    uint32_t number = ap_row_collective_number(part->from, row);
    if (number == AP_NO_ROW)
        return AP_OK;
    struct ap_collective copy = *ap_trace_collective(part->from, number);
    struct ap_str *const strings[] = { &copy.name, &copy.dtype, &copy.group_name, &copy.group_description,
                                       &copy.group_ranks };
    for (size_t i = 0; i < AP_COUNT_OF(strings); i++)
        AP_TRY(carry_string(part, strings[i], reterr));
    return ap_trace_add_collective(part->to, (uint32_t)(part->to->events.count - 1), copy,
                                   ap_trace_collective_sequence(part->from, number), reterr);
}

static enum ap_status carry_row(struct part *part, uint32_t row, struct ap_error *reterr)
{
    const struct ap_events *events = &part->from->events;
    int64_t start_ns = events->start_ns[row], dur_ns = events->dur_ns[row];
    struct ap_str name = { events->name[row] };
    uint32_t track = events->track[row];
    AP_TRY(carry_string(part, &name, reterr));
    AP_TRY(carry_track(part, &track, reterr));
    AP_TRY(ap_trace_add_row(part->to, start_ns, dur_ns, name, track, events->tag[row], reterr));
    if (ap_row_detail(part->from, row))
        AP_TRY(carry_detail(part, row, reterr));
    if (start_ns != AP_START_UNKNOWN && dur_ns >= 0 && ap_row_kind(events->tag[row]) != AP_KIND_span)
        ap_trace_widen(&part->to->has_window, &part->to->window_start_ns, &part->to->window_end_ns, start_ns,
                       start_ns + dur_ns);
    return carry_collective(part, row, reterr);
}

static enum ap_status carry_instants(struct part *part, size_t number, struct ap_error *reterr)
{
    const struct ap_rank_buckets *instants = &part->ranks->memory_instants;
    for (size_t i = instants->starts[number]; i < instants->starts[number + 1]; i++) {
        struct ap_memory_event event = part->from->memory_instants[instants->indices[i]];
        AP_TRY(carry_track(part, &event.track, reterr));
        AP_TRY(ap_trace_add_memory_event(part->to, event, reterr));
        part->to->out_of_memory_count += event.out_of_memory;
    }
    return AP_OK;
}

/* What holds for all ranks alike. */
static enum ap_status carry_head(struct part *part, struct ap_error *reterr)
{
    const struct ap_trace *from = part->from;
    struct ap_trace *to = part->to;
    to->complete = from->complete;
    to->has_schema_version = from->has_schema_version;
    to->world_size = from->world_size;
    to->calls_with_external_id = from->calls_with_external_id;
    to->calls_named_by_correlation = from->calls_named_by_correlation;
    to->record_shapes = from->record_shapes;
    to->with_stack = from->with_stack;
    to->base_time_ns = from->base_time_ns;
    to->backend = from->backend;
    AP_TRY(carry_string(part, &to->base_time_ns, reterr));
    return carry_string(part, &to->backend, reterr);
}

enum ap_status ap_trace_of_rank(struct ap_trace_ranks *ranks, size_t number, struct ap_trace **ret_part,
                                struct ap_error *reterr)
{
    struct part part = { .ranks = ranks, .from = ranks->trace, .number = (uint32_t)number + 1 };
    AP_TRY(ap_trace_new(ranks->gate, &part.to, reterr));
    part.to->rank = ranks->ranks[number];
    enum ap_status status = carry_head(&part, reterr);
    for (size_t i = ranks->rows.starts[number]; i < ranks->rows.starts[number + 1] && status == AP_OK; i++)
        status = carry_row(&part, ranks->rows.indices[i], reterr);
    AP_AND_THEN(status, carry_instants(&part, number, reterr));
    if (status == AP_OK)
        *ret_part = part.to;
    else
        ap_trace_free(part.to);
    return status;
}
