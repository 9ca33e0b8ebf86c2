/* SPDX-License-Identifier: MIT
 * compile_log_part.c - the key "compile_log": graph breaks and recompilations by place and kind, compilations by
 * function. */
#include <stdio.h>

#include "compile_log.h"
#include "sort.h"

#include "poison.h"

#define OFTEN 3 /* recompilations of one function, for one kind of reason: that of the rules */

/* Entries of one kind at one place, or compilations of one function. */
struct group {
    struct ap_str place, function, reason;
    uint64_t count, failed;
    int64_t total_ns, max_ns; /* total -1 = not told */
    int64_t again_ns;         /* of the place: of functions that had been compiled before */
    uint8_t kind;
};

struct groups {
    struct ap_pair_map map;
    struct group *list;
    size_t capacity;
};

/* Of one kind over all places. */
struct kind_sum {
    uint64_t count, places, most;
    double again_ns; /* its share of the compilations of its functions */
};

struct part {
    struct ap_compile_log *log;
    struct groups breaks, recompiles, functions;
    struct groups places; /* where functions begin: recompilations that were logged, and their time */
    struct kind_sum break_kinds[AP_BREAK_COUNT_], recompile_kinds[AP_RECOMPILE_COUNT_];
    uint64_t break_count, recompile_count, failed_count, limit_count, again_count;
    int64_t total_ns, again_ns;
};

static struct ap_text text_of(const struct ap_compile_log *log, struct ap_str text)
{
    return ap_strpool_text(&log->strings, text);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void add_name(const struct ap_compile_log *log, struct ap_model *model, struct ap_value *to, const char *key,
                     struct ap_str name)
{
    ap_add_known_text(model, to, key, name.id && text_of(log, name).bytes, text_of(log, name));
}

/* --------------------------------------------------------------------------------------------------------- grouping */

static enum ap_status group_of(struct ap_compile_log *log, struct groups *groups, uint32_t a, uint32_t b,
                               struct group **ret_group, struct ap_error *reterr)
{
    uint32_t number, before = groups->map.count;
    AP_TRY(ap_pair_map_add(&groups->map, a, b, &number, reterr));
    AP_TRY(AP_RESERVE(log->gate, groups->list, groups->capacity, groups->map.count, reterr));
    *ret_group = &groups->list[number];
    if (groups->map.count > before)
        **ret_group = (struct group){ .total_ns = -1 };
    return AP_OK;
}

/* The text log of a run says again what its structured one says: where there is one, it alone counts. */
static enum ap_status take_entries(struct part *part, struct ap_error *reterr)
{
    struct ap_compile_log *log = part->log;
    for (size_t i = 0; i < log->entry_count; i++) {
        const struct ap_log_entry *entry = &log->entries[i];
        bool is_break = entry->record == AP_LOG_BREAK;
        struct group *group;
        if (entry->structured != log->any_structured)
            continue;
        AP_TRY(group_of(log, is_break ? &part->breaks : &part->recompiles, entry->place.id, entry->kind, &group, reterr));
        if (!group->count)
            *group = (struct group){ .place = entry->place,
                                     .function = entry->function,
                                     .reason = entry->reason,
                                     .kind = entry->kind,
                                     .total_ns = -1 };
        struct kind_sum *kind = is_break ? &part->break_kinds[entry->kind] : &part->recompile_kinds[entry->kind];
        kind->places += !group->count++;
        kind->count++;
        kind->most = group->count > kind->most ? group->count : kind->most;
        part->break_count += is_break;
        part->recompile_count += !is_break;
    }
    return AP_OK;
}

static enum ap_status take_again(struct part *part, const struct ap_log_compilation *compilation, int64_t ns,
                                 struct ap_error *reterr)
{
    struct group *place;
    if (!compilation->again)
        return AP_OK;
    AP_TRY(group_of(part->log, &part->places, compilation->place.id, 0, &place, reterr));
    place->again_ns = ap_add_sat(place->again_ns, ns, &part->log->overflowed);
    return AP_OK;
}

/* The time of a place goes to its kinds by how often each was logged there. */
static enum ap_status share_again(struct part *part, struct ap_error *reterr)
{
    struct group *place;
    for (uint32_t i = 0; i < part->recompiles.map.count; i++) {
        AP_TRY(group_of(part->log, &part->places, part->recompiles.list[i].place.id, 0, &place, reterr));
        place->count += part->recompiles.list[i].count;
    }
    for (uint32_t i = 0; i < part->recompiles.map.count; i++) {
        const struct group *group = &part->recompiles.list[i];
        AP_TRY(group_of(part->log, &part->places, group->place.id, 0, &place, reterr));
        part->recompile_kinds[group->kind].again_ns += (double)place->again_ns * (double)group->count / (double)place->count;
    }
    return AP_OK;
}

static enum ap_status take_compilations(struct part *part, struct ap_error *reterr)
{
    struct ap_compile_log *log = part->log;
    for (size_t i = 0; i < log->compilation_count; i++) {
        const struct ap_log_compilation *compilation = &log->compilations[i];
        int64_t ns = compilation->dur_ns > 0 ? compilation->dur_ns : 0;
        struct group *group;
        AP_TRY(group_of(log, &part->functions, compilation->place.id, compilation->function.id, &group, reterr));
        if (!group->count)
            *group = (struct group){ .place = compilation->place, .function = compilation->function };
        group->count++;
        group->failed += compilation->failed;
        group->total_ns = ap_add_sat(group->total_ns, ns, &log->overflowed);
        group->max_ns = ns > group->max_ns ? ns : group->max_ns;
        part->total_ns = ap_add_sat(part->total_ns, ns, &log->overflowed);
        part->failed_count += compilation->failed;
        part->limit_count += compilation->at_limit;
        part->again_count += compilation->again;
        part->again_ns = ap_add_sat(part->again_ns, compilation->again ? ns : 0, &log->overflowed);
        AP_TRY(take_again(part, compilation, ns, reterr));
    }
    AP_TRY(share_again(part, reterr));
    part->limit_count = part->limit_count > log->limit_lines ? part->limit_count : log->limit_lines;
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- telling */

static bool is_more(const void *context, uint32_t a, uint32_t b)
{
    const struct group *groups = context;
    AP_LARGER_FIRST(groups[a].total_ns, groups[b].total_ns);
    AP_LARGER_FIRST(groups[a].count, groups[b].count);
    return a < b;
}

enum rows { ROWS_breaks, ROWS_recompiles, ROWS_functions };

static void add_row(const struct part *part, const struct group *group, enum rows rows, struct ap_model *model,
                    struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    add_name(part->log, model, row, "place", group->place);
    if (rows != ROWS_breaks)
        add_name(part->log, model, row, "function", group->function);
    ap_add_count(model, row, "count", (int64_t)group->count);
    if (rows == ROWS_functions) {
        ap_add_time(model, row, "total_us", group->total_ns);
        ap_add_time(model, row, "max_us", group->max_ns);
        ap_add_count(model, row, "failed_count", (int64_t)group->failed);
        return;
    }
    bool is_break = rows == ROWS_breaks;
    ap_add_string(model, row, "kind",
                  is_break ? ap_break_kind_name((enum ap_break_kind)group->kind)
                           : ap_recompile_kind_name((enum ap_recompile_kind)group->kind));
    ap_add_string(model, row, "what",
                  is_break ? ap_break_kind_what((enum ap_break_kind)group->kind)
                           : ap_recompile_kind_what((enum ap_recompile_kind)group->kind));
    add_name(part->log, model, row, "reason", group->reason);
}

static enum ap_status add_rows(const struct part *part, const struct groups *groups, enum rows rows, const char *key,
                               uint64_t top_n, struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    uint32_t *order = NULL;
    size_t count = 0;
    struct ap_value *list = ap_add_list(model, to, key);
    AP_TRY(ap_top_indices(part->log->gate, groups->map.count, top_n, is_more, groups->list, &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_row(part, &groups->list[order[i]], rows, model, list);
    AP_FREE(part->log->gate, order, count);
    return AP_OK;
}

static void add_kind(const struct kind_sum *kind, bool is_timed, const char *key, struct ap_model *model,
                     struct ap_value *to)
{
    struct ap_value *row = ap_add_object(model, to, key);
    ap_add_count(model, row, "count", (int64_t)kind->count);
    ap_add_count(model, row, "places", (int64_t)kind->places);
    ap_add_count(model, row, "most", (int64_t)kind->most);
    ap_add_known_time(model, row, "again_us", is_timed, (int64_t)kind->again_ns);
}

static void add_kinds(const struct part *part, bool breaks, struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *to = ap_add_object(model, parent, "kinds");
    for (int i = 0; breaks && i < AP_BREAK_COUNT_; i++)
        add_kind(&part->break_kinds[i], false, ap_break_kind_name((enum ap_break_kind)i), model, to);
    for (int i = 0; !breaks && i < AP_RECOMPILE_COUNT_; i++)
        add_kind(&part->recompile_kinds[i], part->log->any_structured, ap_recompile_kind_name((enum ap_recompile_kind)i),
                 model, to);
}

static void add_compilations(const struct part *part, struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *to = ap_add_object(model, parent, "compilations");
    bool known = part->log->any_structured;
    ap_add_known_count(model, to, "count", known, (int64_t)part->log->compilation_count);
    ap_add_known_count(model, to, "functions", known, part->functions.map.count);
    ap_add_known_time(model, to, "total_us", known, part->total_ns);
    ap_add_known_count(model, to, "again_count", known, (int64_t)part->again_count);
    ap_add_known_time(model, to, "again_us", known, part->again_ns);
    ap_add_known_count(model, to, "failed_count", known, (int64_t)part->failed_count);
    ap_add_count(model, to, "limit_count", (int64_t)part->limit_count);
}

/* Once or twice of one function is how compilation goes: another last batch, gradients on and off. */
static bool recompiles_often(const struct part *part)
{
    uint64_t most = 0;
    for (int i = 0; i < AP_RECOMPILE_COUNT_; i++)
        most = part->recompile_kinds[i].most > most ? part->recompile_kinds[i].most : most;
    return part->recompile_count > part->break_count && (most >= OFTEN || part->limit_count);
}

static void judge(const struct part *part, struct ap_other_verdict *ret_verdict)
{
    bool again = recompiles_often(part) || (part->recompile_count && !part->break_count);
    ret_verdict->window_ns = part->log->any_structured ? part->total_ns : -1;
    ret_verdict->verdict = again ? "recompiles" : part->break_count ? "graph-breaks" : "compiled-once";
    ret_verdict->confidence = "high";
    (void)snprintf(ret_verdict->sentence, sizeof(ret_verdict->sentence),
                   "graph breaks: %llu, at %u line%s; recompilations: %llu, of %u function%s and kind%s",
                   (unsigned long long)part->break_count, part->breaks.map.count, plural(part->breaks.map.count),
                   (unsigned long long)part->recompile_count, part->recompiles.map.count, plural(part->recompiles.map.count),
                   plural(part->recompiles.map.count));
}

static enum ap_status add_all(const struct part *part, uint64_t top_n, struct ap_model *model,
                              struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    const struct ap_compile_log *log = part->log;
    struct ap_value *to = ap_add_object(model, &model->root, "compile_log");
    ap_add_count(model, to, "files", (int64_t)log->files);
    ap_add_count(model, to, "lines", (int64_t)log->lines);
    ap_add_bool(model, to, "structured", log->any_structured);
    add_compilations(part, model, to);
    struct ap_value *of = ap_add_object(model, to, "breaks");
    ap_add_count(model, of, "count", (int64_t)part->break_count);
    ap_add_count(model, of, "places", part->breaks.map.count);
    add_kinds(part, true, model, of);
    of = ap_add_object(model, to, "recompiles");
    ap_add_count(model, of, "count", (int64_t)part->recompile_count);
    ap_add_count(model, of, "places", part->recompiles.map.count);
    add_kinds(part, false, model, of);
    AP_TRY(add_rows(part, &part->breaks, ROWS_breaks, "break_rows", top_n, model, to, reterr));
    AP_TRY(add_rows(part, &part->recompiles, ROWS_recompiles, "recompile_rows", top_n, model, to, reterr));
    AP_TRY(add_rows(part, &part->functions, ROWS_functions, "functions", top_n, model, to, reterr));
    judge(part, ret_verdict);
    return AP_OK;
}

static void release(struct part *part)
{
    struct groups *all[] = { &part->breaks, &part->recompiles, &part->functions, &part->places };
    for (size_t i = 0; i < AP_COUNT_OF(all); i++) {
        ap_pair_map_release(&all[i]->map);
        AP_FREE(part->log->gate, all[i]->list, all[i]->capacity);
    }
}

static enum ap_status add_part(struct ap_compile_log *log, uint64_t top_n, struct ap_model *model,
                               struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    struct part part = { .log = log };
    part.breaks.map.gate = part.recompiles.map.gate = part.functions.map.gate = part.places.map.gate = log->gate;
    enum ap_status status = take_entries(&part, reterr);
    AP_AND_THEN(status, take_compilations(&part, reterr));
    AP_AND_THEN(status, add_all(&part, top_n, model, ret_verdict, reterr));
    release(&part);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- reader */

static enum ap_status open_reader(struct ap_gate *gate, void **ret_self, struct ap_error *reterr)
{
    struct ap_compile_log *log;
    AP_TRY(AP_ALLOC_CLEARED(gate, log, 1, reterr));
    log->gate = gate;
    ap_strpool_init(&log->strings, gate);
    *ret_self = log;
    return AP_OK;
}

static enum ap_status read_file(void *self, const struct ap_other_input *input, struct ap_notes *notes,
                                struct ap_error *reterr)
{
    struct ap_compile_log *log = self;
    log->files++;
    return ap_compile_log_read(log, input->source, notes, reterr);
}

static enum ap_status add(void *self, uint64_t top_n, struct ap_notes *notes, struct ap_model *model,
                          struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    struct ap_compile_log *log = self;
    AP_TRY(add_part(log, top_n, model, ret_verdict, reterr));
    ap_note_many(notes, AP_COUNTER_time_overflow, log->overflowed);
    return AP_OK;
}

static void close_reader(void *self)
{
    struct ap_compile_log *log = self;
    struct ap_gate *gate = log->gate;
    AP_FREE(gate, log->entries, log->entry_capacity);
    AP_FREE(gate, log->compilations, log->compilation_capacity);
    ap_strpool_release(&log->strings);
    AP_FREE(gate, log, 1);
}

const struct ap_other_reader ap_compile_log_reader = { "compile_log", open_reader, read_file, add, close_reader };
