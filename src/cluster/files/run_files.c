/* SPDX-License-Identifier: MIT */
#include "run_files.h"

#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "rank_name.h"
#include "run_folders.h"
#include "sort.h"
#include "thread.h"

#include "poison.h"

/* Enough for what stands before the events; a file is looked at and not read. */
#define LOOK_BLOCK_BYTES 65536

/* --------------------------------------------------------------------------------------------------------- listing */

static int by_path(const void *left, const void *right)
{
    const struct ap_run_file *a = left, *b = right;
    return strcmp(a->path, b->path);
}

static int by_place(const void *left, const void *right)
{
    const struct ap_run_file *a = left, *b = right;
    AP_BY_SMALLER(a->device, b->device);
    AP_BY_SMALLER(a->inode, b->inode);
    return strcmp(a->path, b->path);
}

static bool same_place(const struct ap_run_file *a, const struct ap_run_file *b)
{
    return a->inode && a->inode == b->inode && a->device == b->device;
}

/* The order in which a folder lists its files is that of the disk. */
static void put_in_order(struct ap_run_files *files)
{
    size_t kept = 0;
    ap_sort(files->files, files->count, sizeof(files->files[0]), by_place);
    for (size_t i = 0; i < files->count; i++)
        if (!kept || !same_place(&files->files[kept - 1], &files->files[i]))
            files->files[kept++] = files->files[i];
    files->count = kept;
    ap_sort(files->files, files->count, sizeof(files->files[0]), by_path);
}

/* --------------------------------------------------------------------------------------------------------- looking */

struct looking {
    struct ap_run_files *files;
    const struct ap_opener *opener;
    pthread_mutex_t lock;
    const uint32_t *order; /* in which they are looked at */
    size_t begin;          /* where in it */
    bool any_input;        /* or a file that was named */
    enum ap_status status; /* of what ends it all: no memory */
    struct ap_error error;
};

static enum ap_status look_at(struct ap_gate *gate, const struct ap_opener *opener, const char *path,
                              struct ap_file_head *head, struct ap_error *reterr)
{
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input_options options = { .opener = opener, .block_bytes = LOOK_BLOCK_BYTES, .accepts_logs = true };
    struct ap_input *input;
    AP_TRY(ap_input_open(gate, path, &options, &notes, &input, reterr));
    enum ap_status status = ap_input_probe(input, reterr);
    AP_AND_THEN(status, ap_file_look_at_input(gate, input, LOOK_BLOCK_BYTES, &notes, head, reterr));
    ap_input_free(input);
    return status;
}

/* Under the lock, for the arena. */
static void note_failure(struct looking *looking, struct ap_run_file *file, enum ap_status status,
                         const struct ap_error *error)
{
    if (status == AP_OK)
        return;
    if (ap_gate_ends_all(looking->files->arena.gate, status)) {
        looking->status = status;
        looking->error = *error;
    }
    file->why_not = ap_arena_text(&looking->files->arena, ap_text_of(error->message)).data;
    if (!file->why_not)
        file->why_not = "cannot be read";
}

static bool look_at_file(void *self, size_t number)
{
    struct looking *looking = self;
    struct ap_run_file *file = &looking->files->files[looking->order[looking->begin + number]];
    struct ap_error error = { .status = AP_OK };
    enum ap_status status = AP_OK;
    if (!file->why_not)
        status = look_at(looking->files->arena.gate, looking->opener, file->path, &file->head, &error);
    (void)pthread_mutex_lock(&looking->lock);
    note_failure(looking, file, status, &error);
    looking->any_input |= file->is_named || (!file->why_not && file->head.kind != AP_FILE_other);
    bool goes_on = looking->status == AP_OK;
    (void)pthread_mutex_unlock(&looking->lock);
    return goes_on;
}

/* Files of one folder whose names end alike are alike, as a rule: the first of each, then the second of each. So whoever
 * gives the folder of a machine, or of a home, hears of it soon, and a log for each rank of a large run hides no trace. */
struct turn {
    struct ap_text folder, ending; /* of its path */
    uint32_t number, turn;
};

static int by_likeness(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    int order = ap_text_compare(a->folder, b->folder);
    order = order ? order : ap_text_compare(a->ending, b->ending);
    if (order)
        return order;
    AP_BY_SMALLER(a->number, b->number);
    return 0;
}

static int by_turn(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    AP_BY_SMALLER(a->turn, b->turn);
    AP_BY_SMALLER(a->number, b->number);
    return 0;
}

static enum ap_status order_turns(const struct ap_run_files *files, uint32_t *order, struct ap_error *reterr)
{
    struct turn *turns;
    AP_TRY(AP_ALLOC(files->arena.gate, turns, files->count, reterr));
    for (size_t i = 0; i < files->count; i++) {
        const char *path = files->files[i].path, *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
        turns[i] = (struct turn){ .folder = { path, slash ? (size_t)(slash - path) : 0 },
                                  .ending = ap_text_of(dot ? dot : ""),
                                  .number = (uint32_t)i };
    }
    ap_sort(turns, files->count, sizeof(turns[0]), by_likeness);
    for (size_t i = 1; i < files->count; i++)
        if (ap_text_equal(turns[i].folder, turns[i - 1].folder) && ap_text_equal(turns[i].ending, turns[i - 1].ending))
            turns[i].turn = turns[i - 1].turn + 1;
    ap_sort(turns, files->count, sizeof(turns[0]), by_turn);
    for (size_t i = 0; i < files->count; i++)
        order[i] = turns[i].number;
    AP_FREE(files->arena.gate, turns, files->count);
    return AP_OK;
}

/* An opener of a caller is called on the caller's thread alone. */
static enum ap_status look_at_all(struct ap_run_files *files, const struct ap_run_files_options *options,
                                  struct ap_error *reterr)
{
    uint32_t *order;
    if (!files->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(files->arena.gate, order, files->count, reterr));
    struct looking looking = {
        .files = files, .opener = options->opener, .lock = PTHREAD_MUTEX_INITIALIZER, .order = order
    };
    unsigned threads = options->opener || !options->jobs ? 1 : options->jobs;
    size_t first = files->count < AP_RUN_FILES_MAX_OTHER ? files->count : AP_RUN_FILES_MAX_OTHER;
    looking.status = order_turns(files, order, &looking.error);
    if (looking.status == AP_OK)
        ap_thread_share(first, threads, look_at_file, &looking);
    if (looking.status == AP_OK && first < files->count && !looking.any_input)
        looking.status =
            ap_fail(&looking.error, AP_ERROR_LIMIT, "no input of a report among %d of %zu files: give the folder of one run",
                    AP_RUN_FILES_MAX_OTHER, files->count);
    looking.begin = first;
    if (looking.status == AP_OK)
        ap_thread_share(files->count - first, threads, look_at_file, &looking);
    AP_FREE(files->arena.gate, order, files->count);
    if (looking.status != AP_OK && reterr)
        *reterr = looking.error;
    return looking.status;
}

/* ----------------------------------------------------------------------------------------------------------- ranks */

static void find_rank(struct ap_run_file *file, const struct ap_rank_pattern *pattern)
{
    if (file->head.rank >= 0) {
        file->rank_source = AP_RANK_by_content;
        return;
    }
    file->head.rank = ap_rank_of_path(pattern, file->path);
    file->rank_source = file->head.rank >= 0 ? AP_RANK_by_name : AP_RANK_unknown;
}

static size_t folder_bytes_of(const char *path)
{
    const char *name = strrchr(path, '/');
    return name ? (size_t)(name + 1 - path) : 0;
}

/* What analyze_profile.record() writes beside trace_rankN: the same run in later steps, slower for the stacks that it has.
 * Whoever gives the folder, or all that is in it, means the trace. */
static enum ap_status leave_out_details(struct ap_run_files *files, struct ap_run_file *file, struct ap_error *reterr)
{
    static const char details[] = "details_", trace[] = "trace_";
    size_t folder_bytes = folder_bytes_of(file->path), bytes = strlen(file->path) + 1;
    const char *name = file->path + folder_bytes;
    if (strncmp(name, details, sizeof(details) - 1) != 0 || file->head.kind != AP_FILE_trace || file->why_not)
        return AP_OK;
    char *path = ap_arena_alloc(&files->arena, bytes);
    if (!path)
        return ap_fail_memory(files->arena.gate, reterr);
    memcpy(path, file->path, folder_bytes);
    memcpy(path + folder_bytes, trace, sizeof(trace));
    memcpy(path + folder_bytes + sizeof(trace) - 1, name + sizeof(details) - 1, strlen(name) - (sizeof(details) - 1) + 1);
    const struct ap_run_file key = { .path = path };
    const struct ap_run_file *beside = bsearch(&key, files->files, files->count, sizeof(key), by_path);
    if (!beside || beside->head.kind != AP_FILE_trace || beside->why_not)
        return AP_OK;
    file->why_not = "the source lines of the trace beside it, which slow the run: to be read alone";
    file->is_named = false;
    return AP_OK;
}

/* What JAX writes for Perfetto beside HOST.trace.json.gz, with create_perfetto_trace=True: the same rows. */
static void leave_out_copy(struct ap_run_files *files, size_t number)
{
    struct ap_run_file *file = &files->files[number];
    size_t folder_bytes = folder_bytes_of(file->path);
    if (strcmp(file->path + folder_bytes, "perfetto_trace.json.gz") != 0 || file->head.kind != AP_FILE_trace ||
        file->why_not)
        return;
    size_t i = number;
    while (i > 0 && strncmp(files->files[i - 1].path, file->path, folder_bytes) == 0)
        i--;
    for (; i < files->count && strncmp(files->files[i].path, file->path, folder_bytes) == 0; i++) {
        const struct ap_run_file *beside = &files->files[i];
        if (folder_bytes_of(beside->path) != folder_bytes || beside->head.kind != AP_FILE_trace || beside->why_not ||
            !ap_text_ends_with(ap_text_of(beside->path), ".trace.json.gz"))
            continue;
        file->why_not = "the same rows as the trace beside it, written for Perfetto";
        file->is_named = false;
        return;
    }
}

static enum ap_status leave_out(struct ap_run_files *files, struct ap_error *reterr)
{
    for (size_t i = 0; i < files->count; i++) {
        AP_TRY(leave_out_details(files, &files->files[i], reterr));
        leave_out_copy(files, i);
    }
    return AP_OK;
}

static void find_ranks(struct ap_run_files *files, const struct ap_rank_pattern *pattern)
{
    for (size_t i = 0; i < files->count; i++) {
        find_rank(&files->files[i], pattern);
        if (!files->files[i].why_not)
            files->kind_counts[files->files[i].head.kind]++;
    }
}

/* ------------------------------------------------------------------------------------------------------------- all */

static enum ap_status list_all(struct ap_run_files *files, const char *const *paths, size_t path_count,
                               const struct ap_opener *opener, const char **ret_path, struct ap_error *reterr)
{
    for (size_t i = 0; i < path_count; i++) {
        *ret_path = paths[i];
        AP_TRY(ap_run_folders_list(files, paths[i], opener, reterr));
    }
    *ret_path = NULL;
    return AP_OK;
}

enum ap_status ap_run_files_find(struct ap_run_files *files, struct ap_gate *gate, const char *const *paths,
                                 size_t path_count, const struct ap_run_files_options *options, const char **ret_path,
                                 struct ap_error *reterr)
{
    struct ap_rank_pattern *pattern;
    *files = (struct ap_run_files){ .count = 0 };
    ap_arena_init(&files->arena, gate);
    AP_TRY(ap_rank_pattern_new(options->rank_regex, &pattern, reterr));
    enum ap_status status = list_all(files, paths, path_count, options->opener, ret_path, reterr);
    if (status == AP_OK) {
        put_in_order(files);
        status = look_at_all(files, options, reterr);
        *ret_path = status != AP_OK && path_count == 1 ? paths[0] : NULL;
    }
    AP_AND_THEN(status, leave_out(files, reterr));
    if (status == AP_OK)
        find_ranks(files, pattern);
    ap_rank_pattern_free(pattern);
    return status;
}

void ap_run_files_release(struct ap_run_files *files)
{
    AP_FREE(files->arena.gate, files->files, files->capacity);
    ap_arena_release(&files->arena);
    *files = (struct ap_run_files){ .count = 0 };
}

size_t ap_run_files_next(const struct ap_run_files *files, enum ap_file_kind kind, size_t after)
{
    while (after < files->count && (files->files[after].why_not || files->files[after].head.kind != kind))
        after++;
    return after;
}

const char *ap_rank_source_name(enum ap_rank_source source)
{
    static const char *const names[] = { NULL, "content", "name" };
    return names[source];
}
