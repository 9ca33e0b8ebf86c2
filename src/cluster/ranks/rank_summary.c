/* SPDX-License-Identifier: MIT */
#include "rank_summary.h"

#include "collective_rows.h"
#include "decimal.h"
#include "rank_group.h"
#include "rank_calls.h"
#include "rank_spent.h"
#include "sort.h"
#include "user_frame.h"

#include "poison.h"

/* More than this of one rank are no few steps any more: the first ones are kept. */
#define COLLECTIVES_MAX 65536
#define STEPS_MAX 4096
#define MAX_LEVELS_UP 64

struct summary {
    struct ap_rank_set *set;
    struct ap_rank_summary *to;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_rank_timeline timeline;
    struct ap_rank_groups groups;
    struct ap_user_frames frames;
    struct ap_collective_rows rows;
    int64_t base_ns;
};

/* ----------------------------------------------------------------------------------------------------------- facts */

static enum ap_status find_facts(struct ap_facts *facts, struct ap_error *reterr)
{
    static const enum ap_fact wanted[] = { AP_FACT_order,      AP_FACT_names, AP_FACT_tree,       AP_FACT_links,
                                           AP_FACT_self_times, AP_FACT_steps, AP_FACT_main_track, AP_FACT_split };
    for (size_t i = 0; i < AP_COUNT_OF(wanted); i++)
        AP_TRY(ap_fact_entries[wanted[i]].find(facts, reterr));
    return AP_OK;
}

/* Sums stay within int64 whatever the file says. */
static int64_t absolute_ns(const struct summary *summary, int64_t at_ns)
{
    bool overflowed = false;
    return ap_add_sat(summary->base_ns, at_ns, &overflowed);
}

static int64_t base_time_ns(const struct ap_trace *trace)
{
    struct ap_text digits = ap_strpool_text(&trace->strings, trace->base_time_ns);
    uint64_t base;
    return digits.bytes && ap_decimal_to_u64(digits.data, digits.bytes, &base) && base <= INT64_MAX / 2 ? (int64_t)base : 0;
}

/* ----------------------------------------------------------------------------------------------------------- steps */

/* "ProfilerStep#12" tells its number. */
static int64_t number_of_step(const struct summary *summary, size_t index)
{
    struct ap_text name = ap_row_name(summary->trace, summary->facts->steps.steps[index].row);
    int64_t number = 0, unit = 1;
    size_t at = name.bytes;
    for (; at > 0 && ap_is_digit(name.data[at - 1]) && unit <= 1000000000; unit *= 10)
        number += (name.data[--at] - '0') * unit;
    return at > 0 && at < name.bytes && name.data[at - 1] == '#' ? number : (int64_t)index;
}

static enum ap_status add_steps(struct summary *summary, struct ap_error *reterr)
{
    const struct ap_steps *steps = &summary->facts->steps;
    struct ap_rank_summary *to = summary->to;
    for (size_t i = 0; i < steps->count && i < STEPS_MAX; i++) {
        const struct ap_step *step = &steps->steps[i];
        struct ap_rank_step added = { .number = number_of_step(summary, i),
                                      .start_ns = absolute_ns(summary, step->start_ns),
                                      .end_ns = absolute_ns(summary, step->end_ns),
                                      .is_partial = step->cut };
        ap_rank_timeline_spent(&summary->timeline, step->start_ns, step->end_ns, added.spent_ns);
        AP_TRY_ADD(summary->set->gate, to->steps, to->step_count, to->step_capacity, reterr, added);
    }
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------- collectives */

static uint32_t launch_of(const struct summary *summary, const struct ap_collective_row *row, size_t *link)
{
    const struct ap_links *links = &summary->facts->links;
    while (*link < links->count && links->row[*link] != row->row)
        (*link)++;
    return *link < links->count ? ap_launch_at(links, *link) : AP_NO_ROW;
}

static int64_t step_at(const struct summary *summary, uint32_t row)
{
    size_t step = ap_step_at(&summary->facts->steps, summary->trace->events.start_ns[row]);
    return step < summary->to->step_count ? summary->to->steps[step].number : -1;
}

/* In order of the file; times are those of the trace until segments are found. */
static enum ap_status list_collectives(struct summary *summary, struct ap_error *reterr)
{
    const struct ap_trace *trace = summary->trace;
    struct ap_rank_summary *to = summary->to;
    size_t link = 0;
    for (size_t i = 0; i < summary->rows.count && i < COLLECTIVES_MAX; i++) {
        const struct ap_collective_row *row = &summary->rows.rows[i];
        const struct ap_collective_kind *kind = ap_collective_kind(&summary->rows, row);
        const struct ap_collective *told = ap_trace_collective_of(trace, kind->what);
        uint32_t launch = kind->on_host ? AP_NO_ROW : launch_of(summary, row, &link);
        int64_t dur_ns = trace->events.dur_ns[row->row];
        struct ap_rank_collective added = {
            .start_ns = trace->events.start_ns[row->row],
            .dur_ns = dur_ns,
            .exposed_ns = dur_ns,
            .sequence = told ? ap_trace_collective_sequence(trace, summary->rows.own[i].details) : -1,
            .peer = told ? told->peer : -1,
            .bytes = kind->bytes,
            .step = step_at(summary, launch == AP_NO_ROW ? row->row : launch),
            .operation = kind->operation,
            .on_host = kind->on_host
        };
        if (dur_ns < 0)
            continue;
        if (told)
            added.group = ap_rank_group_of(&summary->groups, told);
        AP_TRY_ADD(summary->set->gate, to->collectives, to->collective_count, to->collective_capacity, reterr, added);
    }
    return AP_OK;
}

static int by_start(const void *left, const void *right)
{
    const struct ap_rank_collective *a = left, *b = right;
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->dur_ns, b->dur_ns);
    AP_BY_SMALLER(a->sequence, b->sequence);
    AP_BY_SMALLER(a->operation, b->operation);
    AP_BY_SMALLER(a->bytes, b->bytes);
    return 0;
}

/* The line of the user's around what the host did, else the outermost range below the step, else the row itself. */
static enum ap_status name_frame(struct summary *summary, uint32_t row, struct ap_str *ret_frame, struct ap_error *reterr)
{
    const struct ap_trace *trace = summary->trace;
    uint32_t named = row;
    for (int level = 0; row != AP_NO_ROW && level < MAX_LEVELS_UP; level++, row = ap_host_parent(&summary->facts->tree, row))
        if (ap_row_is_of(trace, row, 1u << AP_KIND_python) && ap_is_user_frame(&summary->frames, trace->events.name[row])) {
            named = row;
            break;
        }
    if (named == AP_NO_ROW)
        return AP_OK;
    struct ap_text name = ap_row_name(trace, named);
    return ap_strpool_intern(&summary->set->names, name.data, name.bytes, ret_frame, reterr);
}

static void keep_largest(struct ap_rank_collective *to, const int64_t spent_ns[AP_SPENT_COUNT_])
{
    bool taken[AP_SPENT_COUNT_] = { false };
    for (int i = 0; i < AP_RANK_BEFORE; i++) {
        int largest = -1;
        for (int j = 0; j < AP_SPENT_COUNT_; j++)
            if (!taken[j] && spent_ns[j] >= 1000 && (largest < 0 || spent_ns[j] > spent_ns[largest]))
                largest = j;
        if (largest < 0)
            return;
        taken[largest] = true;
        int64_t us = spent_ns[largest] / 1000;
        to->before[i] = (uint8_t)largest;
        to->before_us[i] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
    }
}

/* Of those that follow each other at once the last one has it all. */
static void add_exposed(struct summary *summary)
{
    struct ap_rank_summary *to = summary->to;
    int64_t first_ns = 0;
    for (size_t i = 0; i < to->collective_count; i++) {
        struct ap_rank_collective *it = &to->collectives[i];
        first_ns = ap_rank_is_queued(to, i) ? first_ns : it->start_ns;
        bool followed = i + 1 < to->collective_count && ap_rank_is_queued(to, i + 1);
        it->exposed_ns =
            followed ? 0 : ap_rank_timeline_idle_before(&summary->timeline, first_ns, it->start_ns + it->dur_ns);
    }
}

static bool is_step_mark(const struct ap_steps *steps, const struct ap_trace *trace, uint32_t row)
{
    size_t low = 0;
    AP_BISECT(low, steps->count, at, steps->steps[at].start_ns < trace->events.start_ns[row]);
    return low < steps->count && steps->steps[low].row == row;
}

/* Where nothing was recorded but ranges of the user: the one that begins in the stretch and covers most of it. Stretches
 * come in order of time, and @at, a place among the rows of the main thread, goes along. */
static uint32_t range_in(const struct summary *summary, size_t *at, int64_t start_ns, int64_t end_ns)
{
    const struct ap_trace *trace = summary->trace;
    const struct ap_row_order *order = &summary->facts->order;
    uint32_t track = summary->facts->main_track, best = AP_NO_ROW;
    int64_t longest_ns = 0;
    if (track >= order->track_count)
        return AP_NO_ROW;
    for (*at = *at < order->track_start[track] ? order->track_start[track] : *at; *at < order->track_start[track + 1];
         ++*at) {
        uint32_t row = order->rows[*at];
        int64_t from_ns = trace->events.start_ns[row], to_ns = ap_row_end_ns(trace, row);
        if (from_ns >= end_ns)
            break;
        to_ns = to_ns < end_ns ? to_ns : end_ns;
        if (!ap_row_is_of(trace, row, 1u << AP_KIND_annotation) || from_ns < start_ns || to_ns - from_ns <= longest_ns ||
            is_step_mark(&summary->facts->steps, trace, row))
            continue;
        longest_ns = to_ns - from_ns;
        best = row;
    }
    return longest_ns >= (end_ns - start_ns) / 2 ? best : AP_NO_ROW;
}

/* Was nothing recorded of the host for longer than it did anything while the device was idle? */
static bool is_mostly_untraced(const int64_t spent_ns[AP_SPENT_COUNT_])
{
    int64_t done_ns = 0;
    bool overflowed = false;
    for (int class = AP_SPENT_data_loading; class < AP_SPENT_untraced; class ++)
        done_ns = ap_add_sat(done_ns, spent_ns[class], &overflowed);
    return spent_ns[AP_SPENT_untraced] > done_ns;
}

/* What the rank did since the collective before. These stretches do not overlap, so going through them is linear. */
static enum ap_status add_befores(struct summary *summary, struct ap_error *reterr)
{
    struct ap_rank_summary *to = summary->to;
    int64_t since_ns = summary->trace->has_window ? summary->trace->window_start_ns : INT64_MAX;
    size_t range_at = 0;
    add_exposed(summary);
    for (size_t i = 0; i < to->collective_count; i++) {
        struct ap_rank_collective *collective = &to->collectives[i];
        int64_t end_ns = collective->start_ns + collective->dur_ns, spent_ns[AP_SPENT_COUNT_];
        if (collective->start_ns > since_ns) {
            ap_rank_timeline_spent(&summary->timeline, since_ns, collective->start_ns, spent_ns);
            keep_largest(collective, spent_ns);
            uint32_t row = is_mostly_untraced(spent_ns)
                               ? AP_NO_ROW
                               : ap_rank_timeline_host_row(&summary->timeline, since_ns, collective->start_ns);
            if (row == AP_NO_ROW)
                row = range_in(summary, &range_at, since_ns, collective->start_ns);
            AP_TRY(name_frame(summary, row, &collective->frame, reterr));
        }
        since_ns = end_ns > since_ns || i == 0 ? end_ns : since_ns;
        collective->start_ns = absolute_ns(summary, collective->start_ns);
    }
    if (!to->collective_count)
        return AP_OK;
    uint32_t row = ap_rank_timeline_host_row(&summary->timeline, since_ns, summary->trace->window_end_ns);
    return name_frame(summary, row, &to->last_frame, reterr);
}

static enum ap_status add_collectives(struct summary *summary, struct ap_error *reterr)
{
    const struct ap_facts *facts = summary->facts;
    struct ap_rank_summary *to = summary->to;
    AP_TRY(ap_collective_rows_init(&summary->rows, summary->trace, &facts->tree, &facts->links, &facts->families, true,
                                   facts->gate, reterr));
    AP_TRY(list_collectives(summary, reterr));
    ap_sort(to->collectives, to->collective_count, sizeof(to->collectives[0]), by_start);
    return add_befores(summary, reterr);
}

/* ---------------------------------------------------------------------------------------------------------- memory */

static void add_memory(struct summary *summary)
{
    const struct ap_trace *trace = summary->trace;
    struct ap_rank_summary *to = summary->to;
    for (size_t i = 0; i < trace->memory_instant_count; i++) {
        const struct ap_memory_event *event = &trace->memory_instants[i];
        bool of_device = event->device_type > 0;
        if (of_device && !event->out_of_memory && event->total_allocated_bytes > to->peak_allocated_bytes)
            to->peak_allocated_bytes = event->total_allocated_bytes;
        if (of_device && !event->out_of_memory && event->total_reserved_bytes > to->peak_reserved_bytes)
            to->peak_reserved_bytes = event->total_reserved_bytes;
    }
    to->out_of_memory_count = (int64_t)trace->out_of_memory_count;
}

/* ----------------------------------------------------------------------------------------------------------- whole */

static enum ap_status intern(struct summary *summary, struct ap_text text, struct ap_str *ret_str, struct ap_error *reterr)
{
    return text.bytes ? ap_strpool_intern(&summary->set->names, text.data, text.bytes, ret_str, reterr) : AP_OK;
}

static enum ap_status add_names(struct summary *summary, struct ap_text path, struct ap_text host, struct ap_error *reterr)
{
    const struct ap_trace *trace = summary->trace;
    struct ap_text own_host = ap_strpool_text(&trace->strings, trace->host_name);
    int64_t device = summary->timeline.device;
    AP_TRY(intern(summary, path, &summary->to->path, reterr));
    AP_TRY(intern(summary, own_host.bytes ? own_host : host, &summary->to->host, reterr));
    AP_TRY(intern(summary, ap_strpool_text(&trace->strings, trace->backend), &summary->to->backend, reterr));
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == device || (trace->device_count == 1 && device >= 0)) {
            summary->to->capacity_bytes = trace->devices[i].memory_bytes;
            return intern(summary, ap_strpool_text(&trace->strings, trace->devices[i].name), &summary->to->device, reterr);
        }
    return AP_OK;
}

static void add_totals(struct summary *summary)
{
    const struct ap_trace *trace = summary->trace;
    struct ap_rank_summary *to = summary->to;
    to->world_size = trace->world_size;
    to->rows = (int64_t)trace->events.count;
    to->is_cut = !trace->complete;
    to->has_device = summary->facts->links.count > 0;
    if (!trace->has_window)
        return;
    to->start_ns = absolute_ns(summary, trace->window_start_ns);
    to->end_ns = absolute_ns(summary, trace->window_end_ns);
    ap_rank_timeline_spent(&summary->timeline, trace->window_start_ns, trace->window_end_ns, to->spent_ns);
}

static enum ap_status fill(struct summary *summary, struct ap_idle_pieces *pieces, struct ap_text path, struct ap_text host,
                           struct ap_error *reterr)
{
    struct ap_gate *gate = summary->facts->gate;
    AP_TRY(ap_rank_timeline_init(&summary->timeline, summary->facts, pieces, reterr));
    AP_TRY(ap_rank_groups_init(&summary->groups, summary->trace, summary->set, reterr));
    AP_TRY(ap_user_frames_init(&summary->frames, summary->trace, gate, reterr));
    add_totals(summary);
    AP_TRY(add_names(summary, path, host, reterr));
    AP_TRY(add_steps(summary, reterr));
    AP_TRY(add_collectives(summary, reterr));
    AP_TRY(ap_rank_calls_add(summary->set, summary->to, summary->facts, summary->timeline.device, reterr));
    add_memory(summary);
    return AP_OK;
}

static void release(struct summary *summary)
{
    ap_rank_timeline_release(&summary->timeline);
    ap_rank_groups_release(&summary->groups);
    ap_user_frames_release(&summary->frames);
    ap_collective_rows_release(&summary->rows);
}

enum ap_status ap_rank_summarize(struct ap_rank_set *set, struct ap_facts *facts, int64_t rank, struct ap_text path,
                                 struct ap_text host, struct ap_error *reterr)
{
    struct ap_idle_pieces pieces = { .gate = facts->gate };
    struct ap_rank_summary to = {
        .rank = rank, .world_size = -1, .peak_allocated_bytes = -1, .peak_reserved_bytes = -1, .capacity_bytes = -1
    };
    struct summary summary = { .set = set,
                               .to = &to,
                               .facts = facts,
                               .trace = facts->trace,
                               .timeline = { .gate = facts->gate },
                               .groups = { .set = set, .seen = { .gate = set->gate }, .by_name = { .gate = set->gate } },
                               .frames = { .gate = facts->gate, .library = { .gate = facts->gate } },
                               .rows = { .gate = facts->gate },
                               .base_ns = base_time_ns(facts->trace) };
    facts->idle_pieces = &pieces;
    enum ap_status status = find_facts(facts, reterr);
    AP_AND_THEN(status, fill(&summary, &pieces, path, host, reterr));
    AP_AND_THEN(status, AP_RESERVE(set->gate, set->ranks, set->capacity, set->count + 1, reterr));
    if (status == AP_OK)
        set->ranks[set->count++] = to;
    else
        ap_rank_summary_release(&to, set->gate);
    release(&summary);
    AP_FREE(facts->gate, pieces.list, pieces.capacity);
    facts->idle_pieces = NULL;
    return status;
}
