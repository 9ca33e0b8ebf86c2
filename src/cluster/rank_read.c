/* SPDX-License-Identifier: MIT */
#include "rank_read.h"

#include <string.h>

#include "input.h"
#include "memory_summary.h"
#include "rank_json.h"
#include "rank_share.h"
#include "rank_spread.h"
#include "rank_summary.h"
#include "sort.h"
#include "thread.h"
#include "trace_ranks.h"

#include "poison.h"

struct reading {
    const struct ap_run_files *files;
    const struct ap_cluster_options *options;
    struct ap_gate *gate;
    struct ap_rank_set *set;
    struct ap_rank_failures *failures;
    pthread_mutex_t lock;
    uint32_t *order; /* files to read, the largest first: the last ones end at about the same time */
    size_t count;
    enum ap_status status;
    struct ap_error error;
};

/* -------------------------------------------------------------------------------------------------------- one file */

/* @rank < 0 where the trace itself tells it, or its file. */
static enum ap_status summarize_rank(const struct ap_run_file *file, struct ap_trace *trace, struct ap_rank_set *set,
                                     struct ap_error *reterr)
{
    struct ap_facts facts;
    enum ap_status status = ap_facts_init(&facts, trace, false, reterr);
    int64_t rank = trace->rank >= 0 ? trace->rank : file->head.rank;
    if (status == AP_OK && rank < 0)
        status = ap_fail(reterr, AP_ERROR_INPUT, "neither its content nor its name tells the rank");
    AP_AND_THEN(status, ap_rank_summarize(set, &facts, rank, ap_text_of(file->path), ap_text_of(file->head.host), reterr));
    ap_facts_release(&facts);
    return status;
}

/* One after the other: no more than the file and one of its ranks is in memory. */
static enum ap_status summarize_merged(const struct ap_run_file *file, struct ap_trace_ranks *ranks, struct ap_rank_set *set,
                                       struct ap_error *reterr)
{
    struct ap_run_file of_all = *file;
    of_all.head.host[0] = '\0'; /* that of one of them */
    for (size_t i = 0; i < ranks->count; i++) {
        struct ap_trace *part;
        AP_TRY(ap_trace_of_rank(ranks, i, &part, reterr));
        enum ap_status status = summarize_rank(&of_all, part, set, reterr);
        ap_trace_free(part);
        AP_TRY(status);
    }
    return AP_OK;
}

static enum ap_status summarize(const struct ap_run_file *file, struct ap_trace *trace, struct ap_rank_set *set,
                                struct ap_error *reterr)
{
    struct ap_trace_ranks ranks;
    enum ap_status status = ap_trace_ranks_init(&ranks, trace, reterr);
    AP_AND_THEN(status,
                ranks.count ? summarize_merged(file, &ranks, set, reterr) : summarize_rank(file, trace, set, reterr));
    ap_trace_ranks_release(&ranks);
    return status;
}

static int64_t losses(const struct ap_notes *notes)
{
    int64_t count = 0;
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        if (ap_counter_info((enum ap_counter)i)->severity >= AP_NOTE_loss)
            count += (int64_t)notes->notes[i].count;
    return count;
}

static enum ap_status summarize_trace(struct reading *reading, const struct ap_run_file *file, struct ap_json_reader *json,
                                      struct ap_notes *notes, struct ap_rank_set *set, struct ap_error *reterr)
{
    struct ap_trace_options options = { .salvage = reading->options->salvage };
    struct ap_trace *trace;
    AP_TRY(ap_trace_read(json, reading->gate, notes, &options, &trace, reterr));
    enum ap_status status = summarize(file, trace, set, reterr);
    ap_trace_free(trace);
    int64_t lost_count = losses(notes) - (int64_t)notes->notes[AP_COUNTER_cut].count; /* of that the summary tells */
    for (size_t i = 0; i < set->count; i++)
        set->ranks[i].lost_count = lost_count;
    return status;
}

static enum ap_status summarize_snapshot(struct reading *reading, const struct ap_run_file *file,
                                         struct ap_json_reader *json, struct ap_notes *notes, struct ap_rank_set *set,
                                         struct ap_error *reterr)
{
    struct ap_snapshot_options options = { .salvage = reading->options->salvage };
    if (file->head.rank < 0)
        return ap_fail(reterr, AP_ERROR_INPUT, "a snapshot does not tell its rank, and neither does its name");
    AP_TRY(ap_memory_summarize(&set->memory, json, notes, &options, file->head.rank, ap_text_of(file->path), reterr));
    for (size_t i = 0; i < set->memory.count; i++)
        set->memory.rows[i].lost_count = losses(notes);
    return AP_OK;
}

static enum ap_status read_file(struct reading *reading, const struct ap_run_file *file, struct ap_rank_set *set,
                                struct ap_error *reterr)
{
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_json_limits limits = { .skipped_depth = reading->options->max_depth };
    struct ap_input_options options = { .salvage = reading->options->salvage, .opener = reading->options->opener };
    struct ap_input *input;
    struct ap_json_reader *json = NULL;
    AP_TRY(ap_input_open(reading->gate, file->path, &options, &notes, &input, reterr));
    enum ap_status status = ap_input_probe(input, reterr);
    AP_AND_THEN(status, ap_json_reader_new(reading->gate, ap_input_source(input), &notes, &limits, &json, reterr));
    if (status == AP_OK && file->head.kind == AP_FILE_summary)
        status = ap_rank_json_read(json, set, reterr);
    else if (status == AP_OK && file->head.kind == AP_FILE_snapshot)
        status = summarize_snapshot(reading, file, json, &notes, set, reterr);
    else
        AP_AND_THEN(status, summarize_trace(reading, file, json, &notes, set, reterr));
    ap_json_reader_free(json);
    ap_input_free(input);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- all */

/* Under the lock. */
static void note_failure(struct reading *reading, uint32_t file, enum ap_status status, const struct ap_error *error)
{
    struct ap_rank_failures *failures = reading->failures;
    if (ap_gate_ends_all(reading->gate, status)) {
        reading->status = status;
        reading->error = *error;
    }
    failures->why[file] = ap_arena_text(&failures->arena, ap_text_of(error->message)).data;
    if (!failures->why[file])
        failures->why[file] = "cannot be read";
}

static bool give(struct reading *reading, uint32_t file, struct ap_rank_set *set, enum ap_status status,
                 struct ap_error *error)
{
    (void)pthread_mutex_lock(&reading->lock);
    AP_AND_THEN(status, ap_rank_set_join(reading->set, set, error));
    if (status != AP_OK)
        note_failure(reading, file, status, error);
    bool goes_on = reading->status == AP_OK;
    (void)pthread_mutex_unlock(&reading->lock);
    return goes_on;
}

static bool read_and_give(void *self, size_t number)
{
    struct reading *reading = self;
    uint32_t file = reading->order[number];
    struct ap_error error = { .status = AP_OK };
    struct ap_rank_set set;
    ap_rank_set_init(&set, reading->gate);
    enum ap_status status = read_file(reading, &reading->files->files[file], &set, &error);
    bool goes_on = give(reading, file, &set, status, &error);
    ap_rank_set_release(&set);
    return goes_on;
}

static bool is_wanted(const struct ap_run_file *file)
{
    enum ap_file_kind kind = file->head.kind;
    return !file->why_not && (kind == AP_FILE_trace || kind == AP_FILE_snapshot || kind == AP_FILE_summary);
}

static bool is_larger(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_run_file *files = context;
    AP_LARGER_FIRST(files[a].size_bytes, files[b].size_bytes);
    return a < b;
}

static enum ap_status list_files(struct reading *reading, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < reading->files->count; i++)
        if (is_wanted(&reading->files->files[i]))
            reading->order[reading->count++] = i;
    return ap_sort_list(reading->gate, reading->order, reading->count, is_larger, reading->files->files, reterr);
}

/* An opener of a caller is called on the caller's thread alone. */
static enum ap_status read_own(struct reading *reading, struct ap_error *reterr)
{
    ap_thread_share(reading->count, reading->options->opener ? 1 : reading->options->jobs, read_and_give, reading);
    if (reading->status != AP_OK && reterr)
        *reterr = reading->error;
    return reading->status;
}

/* Helpers read while this process reads its own share. */
static enum ap_status read_together(struct reading *reading, struct ap_error *reterr)
{
    const struct ap_helpers *helpers = reading->options->helpers;
    struct ap_rank_spread spread;
    AP_TRY(ap_rank_spread_init(&spread, reading->gate, reading->files, reading->order, reading->count, helpers->count + 1,
                               reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < helpers->count && status == AP_OK; i++)
        status = ap_share_give(helpers, i, reading->files, ap_rank_spread_of(&spread, i + 1), reading->gate, reterr);
    struct ap_share own = ap_rank_spread_of(&spread, 0);
    memcpy(reading->order, own.files, own.count * sizeof(own.files[0]));
    reading->count = own.count;
    AP_AND_THEN(status, read_own(reading, reterr));
    for (size_t i = 0; i < helpers->count && status == AP_OK; i++)
        status = ap_share_take(helpers, i, ap_rank_spread_of(&spread, i + 1), reading->set, reading->failures, reterr);
    ap_rank_spread_release(&spread);
    return status;
}

/* The one trace of the run was read already. */
static enum ap_status read_merged(struct ap_trace *trace, const struct ap_run_files *files, struct ap_rank_set *set,
                                  struct ap_error *reterr)
{
    size_t file = ap_run_files_next(files, AP_FILE_trace, 0); /* its head may tell less than its events */
    AP_TRY(summarize(&files->files[file < files->count ? file : 0], trace, set, reterr));
    return ap_rank_set_finish(set, reterr);
}

enum ap_status ap_rank_read_all(struct ap_rank_set *set, struct ap_rank_failures *failures, const struct ap_run_files *files,
                                const struct ap_cluster_options *options, struct ap_error *reterr)
{
    struct ap_gate *gate = set->gate;
    struct reading reading = {
        .files = files, .options = options, .gate = gate, .set = set, .failures = failures, .lock = PTHREAD_MUTEX_INITIALIZER
    };
    *failures = (struct ap_rank_failures){ .count = files->count };
    ap_arena_init(&failures->arena, gate);
    if (!files->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(gate, failures->why, files->count, reterr));
    if (options->merged)
        return read_merged(options->merged, files, set, reterr);
    AP_TRY(AP_ALLOC(gate, reading.order, files->count, reterr));
    enum ap_status status = list_files(&reading, reterr);
    AP_AND_THEN(status, options->helpers ? read_together(&reading, reterr) : read_own(&reading, reterr));
    AP_FREE(gate, reading.order, files->count);
    AP_AND_THEN(status, ap_rank_set_finish(set, reterr));
    return status;
}

void ap_rank_failures_release(struct ap_rank_failures *failures)
{
    AP_FREE(failures->arena.gate, failures->why, failures->count);
    ap_arena_release(&failures->arena);
}
