/* SPDX-License-Identifier: MIT */
#include "run_request.h"

#include <stdio.h>
#include <string.h>

#include "thread.h"

#include "poison.h"

static const char *path_of_first(const struct ap_run_files *files, enum ap_file_kind kind)
{
    size_t first = ap_run_files_next(files, kind, 0);
    return first < files->count ? files->files[first].path : NULL;
}

/* Snapshots of two ranks or more: their memory is compared, with traces of the run or without. */
static bool are_of_ranks(const struct ap_run_files *files, enum ap_file_kind kind)
{
    int64_t rank = -1;
    for (size_t i = 0; (i = ap_run_files_next(files, kind, i)) < files->count; i++) {
        if (rank >= 0 && files->files[i].head.rank >= 0 && files->files[i].head.rank != rank)
            return true;
        rank = files->files[i].head.rank >= 0 ? files->files[i].head.rank : rank;
    }
    return false;
}

/* Two traces of one rank, or of nobody knows which, are two runs or two windows: which one is meant cannot be guessed. */
static enum ap_status check_ranks(const struct ap_run_files *files, const char **ret_path, struct ap_error *reterr)
{
    int64_t rank = -1;
    if (files->kind_counts[AP_FILE_summary] || files->kind_counts[AP_FILE_flight])
        return AP_OK;
    for (size_t i = 0; (i = ap_run_files_next(files, AP_FILE_trace, i)) < files->count; i++) {
        const struct ap_run_file *file = &files->files[i];
        if (file->head.rank >= 0 && rank >= 0 && file->head.rank != rank)
            return AP_OK;
        rank = file->head.rank >= 0 ? file->head.rank : rank;
        *ret_path = file->path;
    }
    return ap_advise(reterr, AP_ADVICE_TELL_RANKS,
                     ap_fail(reterr, AP_ERROR_USAGE,
                             rank >= 0 ? "more than one trace is given, and all are of rank %lld"
                                       : "more than one trace is given, and none tells its rank, by content or by name",
                             (long long)rank));
}

/* Of what is named one by one, nothing is left out in silence. */
static enum ap_status check_named(const struct ap_run_files *files, const char **ret_path, struct ap_error *reterr)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct ap_run_file *file = &files->files[i];
        *ret_path = file->path;
        if (file->is_named && file->why_not)
            return ap_fail(reterr, AP_ERROR_INPUT, "%.500s", file->why_not);
        if (file->is_named && file->head.kind != AP_FILE_trace && file->head.kind != AP_FILE_snapshot &&
            file->head.kind != AP_FILE_profile)
            return ap_fail(reterr, AP_ERROR_INPUT, "neither a trace nor a snapshot by its content: %s",
                           ap_file_kind_name(file->head.kind));
    }
    return AP_OK;
}

/* The one file of a kind that the rank has; NULL where it has none. */
static enum ap_status find_of_rank(const struct ap_run_files *files, enum ap_file_kind kind, int64_t rank,
                                   const char **ret_found, struct ap_error *reterr)
{
    *ret_found = NULL;
    for (size_t i = 0; (i = ap_run_files_next(files, kind, i)) < files->count; i++) {
        if (files->files[i].head.rank != rank)
            continue;
        if (*ret_found)
            return ap_refuse(reterr, AP_SETTING_RANK,
                             "rank %lld has more than one file of a kind, such as '%.200s' and '%.200s'", (long long)rank,
                             *ret_found, files->files[i].path);
        *ret_found = files->files[i].path;
    }
    return AP_OK;
}

static enum ap_status choose_rank(const struct ap_run_files *files, struct ap_request *one, struct ap_error *reterr)
{
    int64_t rank = (int64_t)one->rank;
    AP_TRY(find_of_rank(files, AP_FILE_trace, rank, &one->cpu_trace_path, reterr));
    AP_TRY(find_of_rank(files, AP_FILE_snapshot, rank, &one->memory_json_path, reterr));
    if (one->cpu_trace_path || one->memory_json_path)
        return AP_OK;
    return ap_refuse(reterr, AP_SETTING_RANK, "no trace and no snapshot among the %zu files is of rank %lld", files->count,
                     (long long)rank);
}

/* A trace, which tells its rank or is refused, or a snapshot whose name does: what stays of it can be kept. */
static bool has_one_rank(const struct ap_run_files *files)
{
    size_t snapshot = ap_run_files_next(files, AP_FILE_snapshot, 0);
    bool told = files->kind_counts[AP_FILE_snapshot] == 1 && files->files[snapshot].head.rank >= 0;
    return files->kind_counts[AP_FILE_trace] == 1 || (!files->kind_counts[AP_FILE_trace] && told);
}

bool ap_run_request_has_profiles(const struct ap_run_files *files)
{
    const size_t *counts = files->kind_counts;
    return counts[AP_FILE_profile] && !counts[AP_FILE_flight] && !counts[AP_FILE_summary] && counts[AP_FILE_trace] <= 1 &&
           counts[AP_FILE_snapshot] <= 1;
}

/* Why the first file is not read that is told by name: where nothing else is there, that is the answer. */
static const char *first_reason(const struct ap_run_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *why = files->files[i].why_not;
        if (why && ap_text_starts_with(ap_text_of(why), "this is "))
            return why;
    }
    return NULL;
}

static enum ap_status refuse_all(const struct ap_run_files *files, struct ap_error *reterr)
{
    const char *why = first_reason(files);
    if (why) {
        enum ap_status status =
            ap_fail(reterr, AP_ERROR_INPUT, "none of the %zu files can be read; of the first: %s", files->count, why);
        reterr->has_lines = true; /* the reason is the library's own text, and quotes nothing */
        return status;
    }
    size_t shut = 0;
    for (size_t i = 0; i < files->count; i++)
        shut += files->files[i].is_shut;
    char unknown[60] = "";
    if (shut)
        (void)snprintf(unknown, sizeof(unknown), ", %zu of which cannot be opened", shut);
    return ap_fail(
        reterr, AP_ERROR_INPUT,
        "no trace, snapshot, flight recorder dump, summary or profile of another program is among the %zu files%s",
        files->count, unknown);
}

static enum ap_status judge(const struct ap_run_files *files, struct ap_request *one, const char **ret_path,
                            struct ap_error *reterr)
{
    const size_t *counts = files->kind_counts;
    if (one->has_rank)
        return choose_rank(files, one, reterr);
    if (counts[AP_FILE_flight] || counts[AP_FILE_summary] || (one->with_ranks && has_one_rank(files)))
        return AP_OK;
    if (!counts[AP_FILE_trace] && !counts[AP_FILE_snapshot] && !counts[AP_FILE_profile])
        return refuse_all(files, reterr);
    if (counts[AP_FILE_trace] <= 1 && counts[AP_FILE_snapshot] <= 1) {
        AP_TRY(check_named(files, ret_path, reterr));
        one->cpu_trace_path = path_of_first(files, AP_FILE_trace);
        one->memory_json_path = path_of_first(files, AP_FILE_snapshot);
        return AP_OK;
    }
    if (are_of_ranks(files, AP_FILE_snapshot))
        return AP_OK;
    if (!counts[AP_FILE_trace])
        return ap_advise(reterr, AP_ADVICE_GIVE_TRACE,
                         ap_fail(reterr, AP_ERROR_USAGE,
                                 "more than one snapshot is given, and neither a trace nor the names of two ranks"));
    return check_ranks(files, ret_path, reterr);
}

/* Nobody knows of what cannot be opened that it is no input. */
static bool is_rest(const struct ap_run_file *file, enum ap_counter counter)
{
    bool is_none = file->head.kind == AP_FILE_other || file->head.kind == AP_FILE_report;
    return !file->is_named && is_none && file->is_shut == (counter == AP_COUNTER_not_opened);
}

static void note_names(const struct ap_run_files *files, enum ap_counter counter, struct ap_notes *notes)
{
    char names[200] = "";
    for (size_t i = 0; i < files->count; i++) {
        const struct ap_run_file *file = &files->files[i];
        if (!is_rest(file, counter))
            continue;
        const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
        size_t used = strlen(names), bytes = strlen(name) + (used ? strlen(", ") : 0);
        if (used + bytes < sizeof(names)) /* the count tells that there are more */
            (void)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", name);
        ap_note_many(notes, counter, 1);
    }
    if (names[0])
        ap_note_detail(notes, counter, "%s", names);
}

void ap_run_request_note_rest(const struct ap_run_files *files, struct ap_notes *notes)
{
    note_names(files, AP_COUNTER_not_read, notes);
    note_names(files, AP_COUNTER_not_opened, notes);
}

/* In @first_rank the first of them; ranks are in order. */
static void note_rank(struct ap_notes *notes, enum ap_counter counter, uint64_t count, int64_t rank, int64_t *first_rank)
{
    if (!count)
        return;
    *first_rank = *first_rank < 0 ? rank : *first_rank;
    ap_note_many(notes, counter, count);
    ap_note_detail(notes, counter, rank == *first_rank ? "rank %lld" : "rank %lld and others", (long long)*first_rank);
}

void ap_run_request_note_losses(const struct ap_rank_set *set, struct ap_notes *of_traces, struct ap_notes *of_snapshots)
{
    int64_t first_cut = -1, first_lossy = -1, first_snapshot = -1;
    for (size_t i = 0; i < set->count; i++) {
        const struct ap_rank_summary *rank = &set->ranks[i];
        note_rank(of_traces, AP_COUNTER_cut, rank->is_cut, rank->rank, &first_cut);
        note_rank(of_traces, AP_COUNTER_rank_losses, (uint64_t)rank->lost_count, rank->rank, &first_lossy);
    }
    for (size_t i = 0; i < set->memory.count; i++) {
        const struct ap_rank_memory *memory = &set->memory.rows[i];
        note_rank(of_snapshots, AP_COUNTER_rank_losses, (uint64_t)memory->lost_count, memory->rank, &first_snapshot);
    }
}

enum ap_status ap_run_request_find(const struct ap_request *request, struct ap_gate *gate, struct ap_run_files *files,
                                   struct ap_request *one, const char **ret_path, struct ap_error *reterr)
{
    const struct ap_run_files_options options = { .rank_regex = request->rank_regex,
                                                  .opener = request->opener,
                                                  .jobs = request->jobs ? request->jobs : ap_processor_count() };
    AP_TRY(ap_run_files_find(files, gate, request->run_paths, request->run_path_count, &options, ret_path, reterr));
    if (!files->count) {
        *ret_path = request->run_paths[0];
        return ap_fail(reterr, AP_ERROR_INPUT, "no file is in it");
    }
    AP_TRY(judge(files, one, ret_path, reterr));
    *ret_path = NULL;
    return AP_OK;
}

bool ap_run_request_is_no_trace(const struct ap_request *request)
{
    enum ap_artifact artifact;
    struct ap_error ignored;
    bool is_file = request->cpu_trace_path && strcmp(request->cpu_trace_path, "-") != 0;
    bool is_known = is_file && request->recognized_path == request->cpu_trace_path;
    return is_file && !is_known && !request->memory_json_path && !request->series_count &&
           ap_recognize_opened(request->cpu_trace_path, request->opener, &artifact, &ignored) == AP_OK &&
           (artifact == AP_ARTIFACT_FLIGHT_RECORDER || artifact == AP_ARTIFACT_PROFILE);
}
