/* SPDX-License-Identifier: MIT */
#include "part_hang.h"

#include <stdio.h>

#include "poison.h"

/* ------------------------------------------------------------------------------------------------------------ texts */

/* More ranges than that are counted, not told. */
enum { RANGES = 24 };

const char *ap_rank_text(const uint32_t *ranks, size_t count, char text[AP_RANK_TEXT_BYTES])
{
    size_t used = 0, at = 0;
    text[0] = '\0';
    for (int range = 0; at < count && range < RANGES; range++) {
        size_t end = at + 1;
        while (end < count && ranks[end] == ranks[end - 1] + 1)
            end++;
        int bytes = end - at > 1 ? snprintf(text + used, AP_RANK_TEXT_BYTES - used, "%s%u-%u", at ? ", " : "", ranks[at],
                                            ranks[end - 1])
                                 : snprintf(text + used, AP_RANK_TEXT_BYTES - used, "%s%u", at ? ", " : "", ranks[at]);
        used += (size_t)bytes;
        at = end;
        if (used > AP_RANK_TEXT_BYTES - 60)
            break;
    }
    if (at < count)
        (void)snprintf(text + used, AP_RANK_TEXT_BYTES - used, " and %zu more", count - at);
    return text;
}

static struct ap_text text_of(const struct ap_hang_report *report, struct ap_str str)
{
    return ap_flight_text(report->findings.flight, str);
}

void ap_hang_add_group_name(const struct ap_hang_report *report, uint32_t group, struct ap_model *model, struct ap_value *to)
{
    const struct ap_flight_group *it = group == AP_FLIGHT_NONE ? NULL : &report->groups.groups[group];
    struct ap_str name = it ? it->name : (struct ap_str){ 0 }, description = it ? it->description : (struct ap_str){ 0 };
    ap_add_known_text(model, to, "group", name.id, text_of(report, name));
    ap_add_known_text(model, to, "description", text_of(report, description).bytes, text_of(report, description));
}

static void add_text(const struct ap_hang_report *report, const char *key, struct ap_str str, struct ap_model *model,
                     struct ap_value *to)
{
    ap_add_known_text(model, to, key, str.id && text_of(report, str).bytes, text_of(report, str));
}

void ap_hang_add_operation(const struct ap_hang_report *report, uint32_t entry, bool is_other, struct ap_model *model,
                           struct ap_value *to)
{
    const struct ap_flight_entries *entries = &report->findings.flight->entries;
    struct ap_str none = { 0 };
    bool known = entry != AP_FLIGHT_NONE;
    add_text(report, is_other ? "other_operation" : "operation", known ? entries->operation[entry] : none, model, to);
    add_text(report, is_other ? "other_sizes" : "sizes", known ? entries->input_sizes[entry] : none, model, to);
    add_text(report, is_other ? "other_types" : "types", known ? entries->input_types[entry] : none, model, to);
}

/* ------------------------------------------------------------------------------------------------------------ dumps */

static enum ap_status add_missing(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *to,
                                  struct ap_error *reterr)
{
    const struct ap_flight *flight = report->findings.flight;
    uint32_t world = report->groups.world_size, dump = 0, count = 0, *missing;
    char text[AP_RANK_TEXT_BYTES];
    /* A number in a name that is no rank would make a run of millions. */
    if ((uint64_t)world > (uint64_t)report->groups.member_count + (uint64_t)flight->dump_count * 16 + 1024)
        world = 0;
    AP_TRY(AP_ALLOC(flight->gate, missing, (size_t)world + 1, reterr));
    for (uint32_t rank = 0; rank < world; rank++) {
        while (dump < flight->dump_count && flight->dumps[dump].rank < rank)
            dump++;
        if (dump == flight->dump_count || flight->dumps[dump].rank != rank)
            missing[count++] = rank;
    }
    ap_add_known_count(model, to, "world_size", world, world);
    ap_add_known_count(model, to, "missing_count", world, count);
    ap_add_known_string(model, to, "missing", count, ap_rank_text(missing, count, text));
    AP_FREE(flight->gate, missing, (size_t)world + 1);
    return AP_OK;
}

static enum ap_status add_dumps(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang,
                                struct ap_error *reterr)
{
    const struct ap_flight *flight = report->findings.flight;
    struct ap_value *to = ap_add_object(model, hang, "dumps");
    int64_t wrapped = 0, cut = 0, empty = 0, inspector = 0;
    for (uint32_t i = 0; i < flight->dump_count; i++) {
        const struct ap_flight_dump *dump = &flight->dumps[i];
        inspector += dump->kind == AP_FLIGHT_INSPECTOR;
        wrapped += dump->wrapped && dump->kind == AP_FLIGHT_RECORDER;
        cut += dump->cut;
        empty += !dump->entry_count;
    }
    ap_add_count(model, to, "count", flight->dump_count);
    ap_add_count(model, to, "entries", flight->entries.count);
    ap_add_count(model, to, "inspector_count", inspector);
    ap_add_count(model, to, "wrapped_count", wrapped);
    ap_add_count(model, to, "cut_count", cut);
    ap_add_count(model, to, "empty_count", empty);
    return add_missing(report, model, to, reterr);
}

/* ----------------------------------------------------------------------------------------------------------- figures */

/* Of NCCL and RCCL, of whatever generation: nccl, nccl2, ncclx, rccl. */
static int64_t count_nccl(const struct ap_flight *flight)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < flight->entries.count; i++) {
        struct ap_text library = ap_flight_text(flight, flight->entries.library[i]);
        count += ap_text_starts_with(library, "nccl") || ap_text_starts_with(library, "rccl");
    }
    return count;
}

static void add_recorded(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang)
{
    struct ap_value *to = ap_add_object(model, hang, "recorded");
    bool members = report->groups.group_count > 0;
    for (uint32_t i = 0; i < report->groups.group_count; i++)
        members = members && report->groups.groups[i].is_recorded;
    for (uint32_t i = 0; i < report->groups.member_count; i++)
        members = members && report->groups.members[i].dump != AP_FLIGHT_NONE;
    ap_add_bool(model, to, "members", members);
    ap_add_bool(model, to, "ends", ap_hang_tells_ends(report));
    ap_add_bool(model, to, "durations", report->timing.timed_count > 0);
    bool standstill = true;
    for (uint32_t i = 0; i < report->causes.count; i++)
        standstill = standstill && !report->causes.list[i].may_run && !report->causes.list[i].is_older;
    ap_add_bool(model, to, "standstill", standstill);
    int64_t nccl = count_nccl(report->findings.flight);
    ap_add_known_count(model, to, "nccl_count", nccl > 0, nccl);
}

static void add_counts(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang)
{
    struct ap_value *to = ap_add_object(model, hang, "counts");
    ap_add_count(model, to, "groups", report->groups.group_count);
    ap_add_count(model, to, "waiting_groups", report->waits.pending_groups);
#define AP_HANG(id, key, counted, what, action) ap_add_count(model, to, #key, (int64_t)report->causes.counts[AP_HANG_##id]);
#include "hang_verdict.def"
#undef AP_HANG
    ap_add_known_count(model, to, "slow_operations", report->timing.timed_count, (int64_t)report->timing.outlier_count);
}

static int64_t rank_or(const struct ap_hang_report *report, uint32_t dump, int64_t otherwise)
{
    return dump == AP_FLIGHT_NONE ? otherwise : report->findings.flight->dumps[dump].rank;
}

static void add_duration(const struct ap_hang_report *report, const struct ap_flight_duration *duration,
                         struct ap_model *model, struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_hang_add_group_name(report, duration->group, model, row);
    ap_hang_add_operation(report, duration->entry, false, model, row);
    ap_add_count(model, row, "count", (int64_t)duration->count);
    ap_add_time(model, row, "p50_us", duration->median_ns);
    ap_add_time(model, row, "max_us", duration->max_ns);
    ap_add_count(model, row, "sequence", duration->max_sequence);
    ap_add_count(model, row, "rank", report->findings.flight->dumps[duration->max_dump].rank);
    ap_add_count(model, row, "slow_count", (int64_t)duration->outlier_count);
    ap_add_known_count(model, row, "last_rank", duration->last_dump != AP_FLIGHT_NONE,
                       rank_or(report, duration->last_dump, 0));
}

static void add_durations(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang)
{
    struct ap_value *list = ap_add_list(model, hang, "durations");
    for (uint32_t i = 0; i < report->timing.duration_count && (!report->top_n || i < report->top_n); i++)
        add_duration(report, &report->timing.durations[i], model, list);
}

static void add_pairs(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang)
{
    struct ap_value *list = ap_add_list(model, hang, "pairs");
    uint64_t left = report->top_n ? report->top_n : UINT64_MAX;
    for (uint32_t i = 0; i < report->pairs.count && left; i++) {
        const struct ap_flight_pair *pair = &report->pairs.list[i];
        if (pair->kind != AP_PAIR_LACKS)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_hang_add_group_name(report, pair->group, model, row);
        ap_add_count(model, row, "from_rank", rank_or(report, pair->send.dump, 0));
        ap_add_count(model, row, "to_rank", rank_or(report, pair->receive.dump, 0));
        ap_add_count(model, row, "sends", pair->send.count);
        ap_add_count(model, row, "receives", pair->receive.count);
        left--;
    }
}

/* -------------------------------------------------------------------------------------------------------------- all */

static enum ap_status write_all(struct ap_hang_report *report, struct ap_model *model, struct ap_error *reterr)
{
    struct ap_value *hang = ap_add_object(model, &model->root, "hang");
    AP_TRY(ap_hang_add_causes(report, model, hang, reterr));
    AP_TRY(add_dumps(report, model, hang, reterr));
    add_recorded(report, model, hang);
    add_counts(report, model, hang);
    AP_TRY(ap_hang_add_groups(report, model, hang, reterr));
    AP_TRY(ap_hang_add_ranks(report, model, hang, reterr));
    add_pairs(report, model, hang);
    add_durations(report, model, hang);
    return ap_model_status(model, reterr);
}

static enum ap_status find_all(struct ap_hang_report *report, const struct ap_flight *flight, struct ap_error *reterr)
{
    AP_TRY(ap_flight_groups_init(&report->groups, flight, reterr));
    AP_TRY(ap_flight_order_init(&report->order, &report->groups, reterr));
    AP_TRY(ap_flight_mismatches_init(&report->mismatches, &report->order, reterr));
    AP_TRY(ap_flight_pairs_init(&report->pairs, &report->groups, reterr));
    AP_TRY(ap_flight_waits_init(&report->waits, &report->order, &report->pairs, reterr));
    AP_TRY(ap_flight_timing_init(&report->timing, &report->order, reterr));
    report->findings = (struct ap_flight_findings){ flight,         &report->groups, &report->mismatches,
                                                    &report->pairs, &report->waits,  &report->timing };
    return ap_hang_causes_init(&report->causes, &report->findings, reterr);
}

static void release(struct ap_hang_report *report)
{
    ap_hang_causes_release(&report->causes);
    ap_flight_timing_release(&report->timing);
    ap_flight_waits_release(&report->waits);
    ap_flight_pairs_release(&report->pairs);
    ap_flight_mismatches_release(&report->mismatches);
    ap_flight_order_release(&report->order);
    ap_flight_groups_release(&report->groups);
}

enum ap_status ap_part_hang(const struct ap_flight *flight, uint64_t top_n, struct ap_notes *notes, struct ap_model *model,
                            struct ap_error *reterr)
{
    struct ap_hang_report report = { .groups = { .gate = NULL }, .top_n = top_n };
    report.mismatches.gate = report.pairs.gate = report.timing.gate = report.causes.gate = flight->gate;
    enum ap_status status = find_all(&report, flight, reterr);
    if (status == AP_OK)
        ap_note_many(notes, AP_COUNTER_flight_restarted, report.groups.restarted_count);
    AP_AND_THEN(status, write_all(&report, model, reterr));
    release(&report);
    return status;
}
