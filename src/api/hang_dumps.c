/* SPDX-License-Identifier: MIT */
#include "hang_dumps.h"

#include "input.h"
#include "part_hang.h"
#include "thread.h"

#include "poison.h"

/* What a file held, until all before it were joined. */
struct held {
    struct ap_flight flight;
    struct ap_notes notes;
    struct ap_error error;
    enum ap_status status;
};

struct reading {
    const struct ap_request *request;
    struct ap_run_files *files;
    struct ap_gate *gate;
    struct ap_notes *notes;
    struct ap_flight flight;
    struct dump {
        struct ap_run_file *file;
        struct held *held; /* NULL = not read yet, or joined */
    } * dumps;
    size_t count, joined, read_count;
    pthread_mutex_t lock;
    enum ap_status status; /* of what ends it all */
    struct ap_error error; /* the last one */
};

/* Inspectors write a document a line. */
static enum ap_status read_documents(const struct reading *reading, const struct ap_run_file *file, struct ap_input *input,
                                     struct held *held)
{
    struct ap_json_limits limits = { .skipped_depth = reading->request->max_depth, .several = true };
    struct ap_flight_source source = { .path = file->path, .rank = file->head.rank, .written_ns = file->written_ns };
    struct ap_json_reader *json;
    AP_TRY(ap_json_reader_new(reading->gate, ap_input_source(input), &held->notes, &limits, &json, &held->error));
    enum ap_status status = ap_flight_read(&held->flight, json, &source, &held->notes, &held->error);
    ap_json_reader_free(json);
    return status;
}

static enum ap_status read_file(const struct reading *reading, const struct ap_run_file *file, struct held *held)
{
    struct ap_input_options options = { .salvage = reading->request->salvage, .opener = reading->request->opener };
    struct ap_input *input;
    AP_TRY(ap_input_open(reading->gate, file->path, &options, &held->notes, &input, &held->error));
    enum ap_status status = ap_input_probe(input, &held->error);
    AP_AND_THEN(status, read_documents(reading, file, input, held));
    ap_input_free(input);
    return status;
}

/* Others may tell enough: a rank whose dump broke off with it is waited for. */
static enum ap_status forgive(struct reading *reading, struct ap_run_file *file)
{
    struct ap_text text = ap_arena_text(&reading->files->arena, ap_text_of(reading->error.message));
    if (!text.data)
        return ap_fail_memory(reading->gate, &reading->error);
    file->why_not = text.data;
    ap_note_many(reading->notes, AP_COUNTER_flight_unreadable, 1);
    return AP_OK;
}

static void release_held(struct reading *reading, struct dump *dump)
{
    if (!dump->held)
        return;
    ap_flight_release(&dump->held->flight);
    AP_FREE(reading->gate, dump->held, 1);
    dump->held = NULL;
}

static enum ap_status join(struct reading *reading, const struct dump *dump)
{
    enum ap_status status = dump->held->status;
    ap_notes_add(reading->notes, &dump->held->notes);
    if (status != AP_OK)
        reading->error = dump->held->error;
    AP_AND_THEN(status, ap_flight_join(&reading->flight, &dump->held->flight, &reading->error));
    reading->read_count += status == AP_OK;
    return status == AP_OK || ap_gate_ends_all(reading->gate, status) ? status : forgive(reading, dump->file);
}

/* In the order of the files, whichever is read first. Under the lock. */
static void join_those_read(struct reading *reading)
{
    while (reading->status == AP_OK && reading->joined < reading->count && reading->dumps[reading->joined].held) {
        struct dump *dump = &reading->dumps[reading->joined];
        reading->status = join(reading, dump);
        release_held(reading, dump);
        reading->joined += reading->status == AP_OK;
    }
}

static bool read_dump(void *self, size_t number)
{
    struct reading *reading = self;
    struct ap_error error;
    struct held *held;
    enum ap_status status = AP_ALLOC_CLEARED(reading->gate, held, 1, &error);
    if (status == AP_OK) {
        ap_flight_init(&held->flight, reading->gate);
        held->status = read_file(reading, reading->dumps[number].file, held);
    }
    (void)pthread_mutex_lock(&reading->lock);
    reading->dumps[number].held = held;
    if (status == AP_OK) {
        join_those_read(reading);
    } else {
        reading->status = status;
        reading->error = error;
    }
    bool goes_on = reading->status == AP_OK;
    (void)pthread_mutex_unlock(&reading->lock);
    return goes_on;
}

/* An opener of a caller is called on the caller's thread alone. */
static enum ap_status read_all(struct reading *reading, const char **ret_path, struct ap_error *reterr)
{
    struct ap_run_files *files = reading->files;
    for (size_t i = 0; (i = ap_run_files_next(files, AP_FILE_flight, i)) < files->count; i++)
        reading->dumps[reading->count++].file = &files->files[i];
    ap_thread_share(reading->count, reading->request->opener ? 1 : reading->request->jobs, read_dump, reading);
    enum ap_status status = reading->status;
    size_t last = reading->joined < reading->count ? reading->joined : reading->count - 1;
    *ret_path = reading->dumps[last].file->path;
    for (size_t i = 0; i < reading->count; i++)
        release_held(reading, &reading->dumps[i]);
    if (status == AP_OK && !reading->read_count)
        status = reading->error.status;
    if (status != AP_OK && reterr)
        *reterr = reading->error;
    return status;
}

enum ap_status ap_hang_dumps_add(const struct ap_request *request, struct ap_run_files *files, struct ap_gate *gate,
                                 struct ap_notes *notes, struct ap_model *model, const char **ret_path,
                                 struct ap_error *reterr)
{
    struct reading reading = {
        .request = request, .files = files, .gate = gate, .notes = notes, .lock = PTHREAD_MUTEX_INITIALIZER
    };
    size_t count = files->kind_counts[AP_FILE_flight];
    if (!count)
        return AP_OK;
    ap_flight_init(&reading.flight, gate);
    enum ap_status status = AP_ALLOC_CLEARED(gate, reading.dumps, count, reterr);
    AP_AND_THEN(status, read_all(&reading, ret_path, reterr));
    AP_FREE(gate, reading.dumps, count);
    AP_AND_THEN(status, ap_flight_finish(&reading.flight, notes, reterr));
    if (status == AP_OK)
        *ret_path = NULL;
    AP_AND_THEN(status, ap_part_hang(&reading.flight, request->top_n, notes, model, reterr));
    ap_flight_release(&reading.flight);
    return status;
}
