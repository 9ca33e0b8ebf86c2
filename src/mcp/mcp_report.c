/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "mcp_report.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model_build.h"

#include "poison.h"

enum { MAX_CONDITIONS = 16, MAX_RUNS = 15 };

/* ---- the report ---- */

/* What paths name. */
struct named {
    const char *paths[AP_MCP_MOST_PATHS];
    size_t count;
    bool of_run; /* folders, and what only runs of many ranks have */
};

static enum ap_status take_path(struct ap_mcp_call *call, struct ap_request *request, const char *path, struct named *named,
                                struct ap_error *reterr)
{
    enum ap_artifact artifact;
    call->path = path;
    AP_TRY(ap_recognize_opened(path, request->opener, &artifact, reterr));
    if (artifact == AP_ARTIFACT_REPORT)
        return ap_fail(reterr, AP_ERROR_USAGE, "a report of this program: give it to compare as the baseline");
    if (artifact == AP_ARTIFACT_UNKNOWN)
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "neither a PyTorch trace (traceEvents) nor a CUDA memory snapshot (segments) by its content");
    if (named->count < AP_MCP_MOST_PATHS)
        named->paths[named->count++] = path;
    const char **slot = artifact == AP_ARTIFACT_TRACE ? &request->cpu_trace_path : &request->memory_json_path;
    if (artifact != AP_ARTIFACT_TRACE && artifact != AP_ARTIFACT_SNAPSHOT)
        named->of_run = true;
    else if (*slot)
        named->of_run = true;
    else
        *slot = path;
    return AP_OK;
}

/* Several traces, and folders, are a run of many ranks. */
static enum ap_status take_paths(struct ap_mcp_call *call, struct ap_request *request, struct named *named,
                                 struct ap_error *reterr)
{
    const struct ap_value *text = ap_value_first(ap_value_member(call->arguments, "paths"));
    for (; text; text = text->next)
        AP_TRY(take_path(call, request, ap_value_text(text).data, named, reterr));
    if (!named->of_run)
        return AP_OK;
    request->cpu_trace_path = request->memory_json_path = NULL;
    request->run_paths = named->paths;
    request->run_path_count = named->count;
    return AP_OK;
}

/* False where it cannot be told, or is none of a file: of a folder it would say nothing of what lies in it. */
static bool look_at_file(const struct ap_opener *opener, const char *path, struct stat *ret_status)
{
    struct ap_error ignored;
    int fd;
    if (!path || opener->open(opener->opener_self, path, &fd, &ignored) != AP_OK)
        return false;
    bool regular = fstat(fd, ret_status) == 0 && S_ISREG(ret_status->st_mode);
    (void)close(fd);
    return regular;
}

/* 0 where it cannot be told, which reading will say. */
static uint64_t bytes_of(const struct ap_opener *opener, const char *path)
{
    struct stat status;
    return look_at_file(opener, path, &status) ? (uint64_t)status.st_size : 0;
}

static void begin_progress(struct ap_mcp_progress *progress, struct ap_request *request)
{
    const char *paths[] = { request->cpu_trace_path, request->memory_json_path, request->baseline_path,
                            request->mapping_trace_path };
    for (size_t i = 0; i < AP_COUNT_OF(paths); i++)
        progress->total_bytes += bytes_of(request->opener, paths[i]);
    for (size_t i = 0; i < request->more_baseline_count; i++)
        progress->total_bytes += bytes_of(request->opener, request->more_baselines[i]);
    for (size_t i = 0; i < request->more_run_count; i++)
        progress->total_bytes += bytes_of(request->opener, request->more_runs[i]);
    request->progress = ap_mcp_progress_update;
    request->progress_self = progress;
}

static size_t texts_argument(const struct ap_mcp_call *call, const char *name, const char **texts, size_t most)
{
    size_t count = 0;
    const struct ap_value *text = ap_value_first(ap_value_member(call->arguments, name));
    for (; text && count < most; text = text->next)
        texts[count++] = ap_value_text(text).data;
    return count;
}

/* ---- what is kept ---- */

/* What decides a file's content, without reading it: which it is, how large, changed when. */
struct identity {
    uint64_t device, inode, bytes;
    int64_t modified_s, modified_ns, changed_s, changed_ns;
};

static enum ap_status add_to_key(struct ap_mcp_text *key, const void *data, size_t bytes, struct ap_error *reterr)
{
    AP_TRY(ap_mcp_text_write(key, (const char *)&bytes, sizeof(bytes), reterr));
    return ap_mcp_text_write(key, data, bytes, reterr);
}

/* Clocks of files tick in steps of some milliseconds: what changes within the step in which it is read looks unchanged. */
#define STEP_NS INT64_C(50000000)

static bool is_settled(const struct identity *identity, const struct timespec *now)
{
    int64_t age_s = (int64_t)now->tv_sec - identity->changed_s;
    return age_s > 1 || (age_s >= 0 && age_s * 1000000000 + now->tv_nsec - identity->changed_ns > STEP_NS);
}

/* AP_END where no report on it can be kept. */
static enum ap_status add_file_to_key(struct ap_mcp_text *key, const struct ap_opener *opener, const char *path,
                                      struct ap_error *reterr)
{
    struct stat status;
    struct timespec now;
    if (!look_at_file(opener, path, &status))
        return AP_END;
    const struct identity identity = { (uint64_t)status.st_dev,         (uint64_t)status.st_ino,
                                       (uint64_t)status.st_size,        (int64_t)status.st_mtim.tv_sec,
                                       (int64_t)status.st_mtim.tv_nsec, (int64_t)status.st_ctim.tv_sec,
                                       (int64_t)status.st_ctim.tv_nsec };
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || !is_settled(&identity, &now))
        return AP_END;
    AP_TRY(add_to_key(key, path, strlen(path), reterr));
    return add_to_key(key, &identity, sizeof(identity), reterr);
}

static enum ap_status add_texts_to_key(struct ap_mcp_text *key, const struct ap_mcp_call *call, const char *name, bool files,
                                       struct ap_error *reterr)
{
    const struct ap_value *value = ap_value_member(call->arguments, name);
    const struct ap_value *text = value && value->type == AP_VALUE_LIST ? ap_value_first(value) : value;
    bool one = text == value;
    for (; text; text = one ? NULL : text->next) {
        struct ap_text words = ap_value_text(text);
        AP_TRY(files ? add_file_to_key(key, call->common->opener, words.data, reterr)
                     : add_to_key(key, words.data, words.bytes, reterr));
    }
    return add_to_key(key, name, strlen(name), reterr);
}

/* Of all arguments that a report depends on; empty where none can be kept. */
static enum ap_status make_key(const struct ap_mcp_call *call, struct ap_mcp_text *key, struct ap_error *reterr)
{
    static const struct {
        const char *name;
        bool files;
    } arguments[] = { { "paths", true },     { "baseline", true },    { "more_baselines", true },
                      { "more_runs", true }, { "conditions", false }, { "focus", false },
                      { "phase", false },    { "changes", false },    { "mapping_trace", true } };
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < AP_COUNT_OF(arguments); i++)
        AP_AND_THEN(status, add_texts_to_key(key, call, arguments[i].name, arguments[i].files, reterr));
    if (status != AP_OK)
        key->bytes = 0;
    return status == AP_END ? AP_OK : status;
}

/* What was read is what the key tells of only where the files did not change meanwhile. */
static enum ap_status keep(struct ap_mcp_call *call, struct ap_mcp_text *key, struct ap_report *report, bool *ret_kept,
                           struct ap_error *reterr)
{
    struct ap_mcp_text now = ap_mcp_kept_key(call->kept);
    enum ap_status status = make_key(call, &now, reterr);
    if (status == AP_OK && now.bytes == key->bytes && now.bytes && memcmp(now.data, key->data, now.bytes) == 0)
        *ret_kept = ap_mcp_kept_add(call->kept, key, report);
    ap_mcp_text_release(&now);
    return status;
}

/* Of one more analysis, which may be tried with less kept. */
static uint64_t kept_bytes(struct ap_mcp_kept *kept)
{
    (void)pthread_mutex_lock(&kept->lock);
    uint64_t bytes = kept->bytes;
    (void)pthread_mutex_unlock(&kept->lock);
    return bytes;
}

static void clear(struct ap_mcp_kept *kept)
{
    (void)pthread_mutex_lock(&kept->lock);
    ap_mcp_kept_clear(kept);
    (void)pthread_mutex_unlock(&kept->lock);
}

/* The memory of those that are kept is part of what an analysis may take; where that is too little, they go. */
static enum ap_status make(struct ap_mcp_call *call, struct ap_request *request, struct ap_report **ret_report,
                           struct ap_error *reterr)
{
    uint64_t most_bytes = request->max_memory_bytes, held_bytes = kept_bytes(call->kept);
    if (most_bytes)
        request->max_memory_bytes -= held_bytes;
    enum ap_status status = ap_report_new(request, ret_report, &call->path, reterr);
    if (status != AP_ERROR_LIMIT || reterr->advice != AP_ADVICE_MORE_MEMORY || !held_bytes)
        return status;
    clear(call->kept);
    request->max_memory_bytes = most_bytes;
    return ap_report_new(request, ret_report, &call->path, reterr);
}

static enum ap_status read_report(struct ap_mcp_call *call, struct ap_report **ret_report, struct ap_error *reterr)
{
    const char *conditions[MAX_CONDITIONS], *baselines[MAX_RUNS], *runs[MAX_RUNS], *changes[AP_MCP_MOST_CHANGES];
    struct named named = { .count = 0 };
    struct ap_request request = *call->common;
    request.stop = ap_mcp_stop_why;
    request.stop_self = call->stop;
    request.with_rows = true; /* for questions that may follow */
    request.focus = ap_mcp_text_argument(call, "focus");
    request.phase = ap_mcp_text_argument(call, "phase");
    request.baseline_path = ap_mcp_text_argument(call, "baseline");
    request.mapping_trace_path = ap_mcp_text_argument(call, "mapping_trace");
    request.fail_on = conditions;
    request.fail_on_count = texts_argument(call, "conditions", conditions, MAX_CONDITIONS);
    request.more_baselines = baselines;
    request.more_baseline_count = texts_argument(call, "more_baselines", baselines, MAX_RUNS);
    request.more_runs = runs;
    request.more_run_count = texts_argument(call, "more_runs", runs, MAX_RUNS);
    request.what_if = changes;
    request.what_if_count = texts_argument(call, "changes", changes, AP_MCP_MOST_CHANGES);
    AP_TRY(take_paths(call, &request, &named, reterr));
    if (call->progress)
        begin_progress(call->progress, &request);
    call->path = NULL; /* what is refused before an input is read is about none */
    AP_TRY(make(call, &request, ret_report, reterr));
    if (call->progress)
        ap_mcp_progress_end(call->progress);
    call->path = NULL; /* what goes wrong from here on is about the question */
    return AP_OK;
}

/* AP_END where none is kept. */
static enum ap_status answer_from_kept(struct ap_mcp_call *call, const struct ap_mcp_text *key, ap_mcp_answer *answer,
                                       struct ap_error *reterr)
{
    enum ap_status status = AP_END;
    (void)pthread_mutex_lock(&call->kept->lock);
    struct ap_report *report = key->bytes ? ap_mcp_kept_find(call->kept, key) : NULL;
    if (report) {
        ap_report_set_stop(report, ap_mcp_stop_why, call->stop);
        status = answer(call, report, reterr);
    }
    (void)pthread_mutex_unlock(&call->kept->lock);
    return status;
}

static enum ap_status answer_from_files(struct ap_mcp_call *call, struct ap_mcp_text *key, ap_mcp_answer *answer,
                                        struct ap_error *reterr)
{
    struct ap_report *report;
    bool is_kept = false;
    AP_TRY(read_report(call, &report, reterr));
    (void)pthread_mutex_lock(&call->kept->lock);
    enum ap_status status = keep(call, key, report, &is_kept, reterr);
    AP_AND_THEN(status, answer(call, report, reterr));
    (void)pthread_mutex_unlock(&call->kept->lock);
    if (!is_kept)
        ap_report_free(report);
    return status;
}

enum ap_status ap_mcp_with_report(struct ap_mcp_call *call, ap_mcp_answer *answer, struct ap_error *reterr)
{
    struct ap_mcp_text key = ap_mcp_kept_key(call->kept);
    enum ap_status status = make_key(call, &key, reterr);
    AP_AND_THEN(status, answer_from_kept(call, &key, answer, reterr));
    if (status == AP_END && !call->of_kept)
        status = answer_from_files(call, &key, answer, reterr);
    ap_mcp_text_release(&key);
    return status;
}

/* ---- the object ---- */

#define END_BYTES 32u /* ,"left_out_count":NUMBER} */

/* So many bytes fit, and what has to follow. */
static bool fits(const struct ap_mcp_text *text, size_t bytes)
{
    return bytes + END_BYTES <= text->max_bytes && text->bytes <= text->max_bytes - bytes - END_BYTES;
}

static enum ap_status add_key(struct ap_mcp_text *text, const char *key, struct ap_error *reterr)
{
    AP_TRY(ap_mcp_text_add(text, "\"", reterr));
    AP_TRY(ap_mcp_text_add(text, key, reterr));
    return ap_mcp_text_add(text, "\":", reterr);
}

static enum ap_status add_piece(struct ap_mcp_object *object, const struct ap_mcp_text *piece, struct ap_error *reterr)
{
    struct ap_mcp_text *to = &object->call->object;
    if (piece->cut || !fits(to, piece->bytes + 1)) {
        object->left_out_count++;
        return AP_OK;
    }
    AP_TRY(ap_mcp_text_add(to, object->count++ ? "," : "{", reterr));
    return ap_mcp_text_write(to, piece->data, piece->bytes, reterr);
}

static enum ap_status add_members(struct ap_mcp_text *text, const struct ap_value *value, const char *const *members,
                                  struct ap_error *reterr)
{
    const char *before = "{";
    if (!members || !value || value->type != AP_VALUE_OBJECT)
        return value ? ap_value_write_json(value, ap_mcp_text_write_json, text, reterr)
                     : ap_mcp_text_add(text, "null", reterr);
    for (; *members; members++) {
        const struct ap_value *member = ap_value_member(value, *members);
        if (!member)
            continue;
        AP_TRY(ap_mcp_text_add(text, before, reterr));
        AP_TRY(add_key(text, *members, reterr));
        AP_TRY(ap_value_write_json(member, ap_mcp_text_write_json, text, reterr));
        before = ",";
    }
    return ap_mcp_text_add(text, *before == '{' ? "{}" : "}", reterr);
}

enum ap_status ap_mcp_object_add(struct ap_mcp_object *object, const char *key, const struct ap_value *value,
                                 const char *const *members, struct ap_error *reterr)
{
    struct ap_mcp_text piece;
    ap_mcp_text_init(&piece, object->call->gate, object->call->object.max_bytes);
    enum ap_status status = add_key(&piece, key, reterr);
    AP_AND_THEN(status, add_members(&piece, value, members, reterr));
    AP_AND_THEN(status, add_piece(object, &piece, reterr));
    ap_mcp_text_release(&piece);
    return status;
}

static bool is_change(const struct ap_value *row)
{
    struct ap_text change = ap_text_member(row, "change");
    return ap_text_is(change, "worse") || ap_text_is(change, "better") || ap_text_is(change, "changed") ||
           ap_text_is(change, "differs") || ap_text_is(change, "new") || ap_text_is(change, "gone");
}

static enum ap_status add_rows(struct ap_mcp_object *object, struct ap_mcp_text *text, const char *key,
                               const struct ap_value *rows, const char *const *members, bool changed,
                               struct ap_error *reterr)
{
    const struct ap_mcp_text *to = &object->call->object;
    const char *before = "[";
    AP_TRY(add_key(text, key, reterr));
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        size_t end = text->bytes;
        if (changed && !is_change(row))
            continue;
        AP_TRY(ap_mcp_text_add(text, before, reterr));
        AP_TRY(add_members(text, row, members, reterr));
        if (text->cut || !fits(to, text->bytes + 2)) { /* without this one and those after it */
            text->bytes = end;
            text->cut = false;
            object->left_out_count++;
            break;
        }
        before = ",";
    }
    return ap_mcp_text_add(text, *before == '[' ? "[]" : "]", reterr);
}

enum ap_status ap_mcp_object_add_rows(struct ap_mcp_object *object, const char *key, const struct ap_value *rows,
                                      const char *const *members, bool changed, struct ap_error *reterr)
{
    struct ap_mcp_text piece;
    ap_mcp_text_init(&piece, object->call->gate, object->call->object.max_bytes);
    enum ap_status status = add_rows(object, &piece, key, rows, members, changed, reterr);
    AP_AND_THEN(status, add_piece(object, &piece, reterr));
    ap_mcp_text_release(&piece);
    return status;
}

enum ap_status ap_mcp_object_end(struct ap_mcp_object *object, struct ap_error *reterr)
{
    struct ap_mcp_text *to = &object->call->object;
    char text[64];
    (void)snprintf(text, sizeof(text), "%s\"left_out_count\":%zu}", object->count ? "," : "{", object->left_out_count);
    return ap_mcp_text_add(to, text, reterr);
}
