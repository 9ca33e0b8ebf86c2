/* SPDX-License-Identifier: MIT */
#include "hang_dumps.h"

#include "input.h"
#include "part_hang.h"

#include "poison.h"

struct reading {
    const struct ap_request *request;
    struct ap_run_files *files;
    struct ap_gate *gate;
    struct ap_notes *notes;
    struct ap_flight flight;
};

/* Inspectors write a document a line. */
static enum ap_status read_documents(struct reading *reading, const struct ap_run_file *file, struct ap_input *input,
                                     struct ap_error *reterr)
{
    struct ap_json_limits limits = { .skipped_depth = reading->request->max_depth, .several = true };
    struct ap_flight_source source = { .path = file->path, .rank = file->head.rank };
    struct ap_json_reader *json;
    AP_TRY(ap_json_reader_new(reading->gate, ap_input_source(input), reading->notes, &limits, &json, reterr));
    enum ap_status status = ap_flight_read(&reading->flight, json, &source, reading->notes, reterr);
    ap_json_reader_free(json);
    return status;
}

static enum ap_status read_file(struct reading *reading, const struct ap_run_file *file, struct ap_error *reterr)
{
    const struct ap_request *request = reading->request;
    struct ap_input_options options = { .salvage = request->salvage, .opener = request->opener };
    struct ap_input *input;
    if (request->progress)
        request->progress(request->progress_self, file->path, 0, file->size_bytes);
    AP_TRY(ap_input_open(reading->gate, file->path, &options, reading->notes, &input, reterr));
    enum ap_status status = ap_input_probe(input, reterr);
    AP_AND_THEN(status, read_documents(reading, file, input, reterr));
    ap_input_free(input);
    return status;
}

/* Others may tell enough: a rank whose dump broke off with it is waited for. */
static enum ap_status forgive(struct reading *reading, struct ap_run_file *file, const struct ap_error *why,
                              struct ap_error *reterr)
{
    struct ap_text text = ap_arena_text(&reading->files->arena, ap_text_of(why->message));
    if (!text.data)
        return ap_fail_memory(reading->gate, reterr);
    file->why_not = text.data;
    ap_note_many(reading->notes, AP_COUNTER_flight_unreadable, 1);
    return AP_OK;
}

static enum ap_status read_all(struct reading *reading, const char **ret_path, struct ap_error *reterr)
{
    struct ap_run_files *files = reading->files;
    uint32_t read = 0;
    struct ap_error why = { .status = AP_OK };
    for (size_t i = 0; (i = ap_run_files_next(files, AP_FILE_flight, i)) < files->count; i++) {
        *ret_path = files->files[i].path;
        enum ap_status status = read_file(reading, &files->files[i], &why);
        read += status == AP_OK;
        if (status == AP_ERROR_INPUT || status == AP_ERROR_CUT)
            status = forgive(reading, &files->files[i], &why, &why);
        if (status != AP_OK) {
            *reterr = why;
            return status;
        }
    }
    if (read)
        return ap_flight_finish(&reading->flight, reading->notes, reterr);
    *reterr = why;
    return why.status;
}

enum ap_status ap_hang_dumps_add(const struct ap_request *request, struct ap_run_files *files, struct ap_gate *gate,
                                 struct ap_notes *notes, struct ap_model *model, const char **ret_path,
                                 struct ap_error *reterr)
{
    struct reading reading = { .request = request, .files = files, .gate = gate, .notes = notes };
    if (!files->kind_counts[AP_FILE_flight])
        return AP_OK;
    ap_flight_init(&reading.flight, gate);
    enum ap_status status = read_all(&reading, ret_path, reterr);
    if (status == AP_OK)
        *ret_path = NULL;
    AP_AND_THEN(status, ap_part_hang(&reading.flight, request->top_n, notes, model, reterr));
    ap_flight_release(&reading.flight);
    return status;
}
