/* SPDX-License-Identifier: MIT */
#include "other_profiles.h"

#include <string.h>

#include "input.h"
#include "opened_input.h"
#include "other_reader.h"

#include "poison.h"

struct reading {
    const struct ap_request *request;
    const struct ap_run_files *files;
    struct ap_gate *gate;
    struct ap_notes *notes;
    const char **path;
};

static bool is_for(const struct ap_run_file *file, const struct ap_other_reader *reader)
{
    return strcmp(ap_other_key(file->head.format), reader->key) == 0;
}

static enum ap_status read_file(const struct reading *reading, const struct ap_run_file *file,
                                const struct ap_other_reader *reader, void *self, struct ap_error *reterr)
{
    const struct ap_request *request = reading->request;
    struct ap_input_options options = { .salvage = request->salvage,
                                        .opener = request->opener,
                                        .threads = ap_request_threads(request) > 1,
                                        .accepts_logs = true };
    struct ap_other_input other = { .format = file->head.format,
                                    .limits = { .skipped_depth = request->max_depth },
                                    .salvage = request->salvage,
                                    .path = file->path };
    struct ap_input *input;
    *reading->path = file->path;
    if (request->progress)
        request->progress(request->progress_self, file->path, 0, file->size_bytes);
    AP_TRY(ap_input_open(reading->gate, file->path, &options, reading->notes, &input, reterr));
    enum ap_status status = ap_input_probe(input, reterr);
    other.source = ap_input_source(input);
    AP_AND_THEN(status, reader->read(self, &other, reading->notes, reterr));
    ap_input_free(input);
    return status;
}

static enum ap_status read_files(const struct reading *reading, const struct ap_other_reader *reader, void *self,
                                 struct ap_error *reterr)
{
    const struct ap_run_files *files = reading->files;
    for (size_t i = 0; (i = ap_run_files_next(files, AP_FILE_profile, i)) < files->count; i++)
        if (is_for(&files->files[i], reader))
            AP_TRY(read_file(reading, &files->files[i], reader, self, reterr));
    *reading->path = NULL;
    return AP_OK;
}

static enum ap_status add_reader(const struct reading *reading, const struct ap_other_reader *reader, struct ap_model *model,
                                 struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    void *self;
    AP_TRY(reader->open(reading->gate, &self, reterr));
    enum ap_status status = read_files(reading, reader, self, reterr);
    AP_AND_THEN(status, reader->add(self, reading->request->top_n, reading->notes, model, ret_verdict, reterr));
    reader->close(self);
    return status;
}

static bool has_files(const struct ap_run_files *files, const struct ap_other_reader *reader)
{
    for (size_t i = 0; (i = ap_run_files_next(files, AP_FILE_profile, i)) < files->count; i++)
        if (is_for(&files->files[i], reader))
            return true;
    return false;
}

static void add_files(const struct ap_run_files *files, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "files");
    for (size_t i = 0; (i = ap_run_files_next(files, AP_FILE_profile, i)) < files->count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "path", ap_text_of(files->files[i].path));
        ap_add_string(model, row, "kind", ap_other_name(files->files[i].head.format));
    }
}

static bool is_unknown(const struct ap_other_verdict *verdict)
{
    return verdict->verdict && strcmp(verdict->verdict, AP_OTHER_UNKNOWN) == 0;
}

/* The verdict is that of the first reader that has one. */
static void add_verdict(const struct ap_run_files *files, const struct ap_other_verdict *verdict, struct ap_model *model,
                        struct ap_value *to)
{
    bool known = verdict->verdict;
    ap_add_known_string(model, to, "verdict", known, verdict->verdict);
    ap_add_known_string(model, to, "confidence", known, verdict->confidence);
    ap_add_known_string(model, to, "sentence", known, verdict->sentence);
    ap_add_known_time(model, to, "window_us", verdict->window_ns >= 0, verdict->window_ns);
    add_files(files, model, to);
}

enum ap_status ap_other_profiles_add(const struct ap_request *request, const struct ap_run_files *files,
                                     struct ap_gate *gate, struct ap_notes *notes, struct ap_model *model,
                                     const char **ret_path, struct ap_error *reterr)
{
    const struct reading reading = { request, files, gate, notes, ret_path };
    struct ap_other_verdict first = { .window_ns = -1 };
    bool is_told = false;
    if (!files->kind_counts[AP_FILE_profile])
        return AP_OK;
    struct ap_value *to = ap_add_object(model, &model->root, "profile");
    for (size_t i = 0; i < ap_other_reader_count; i++) {
        struct ap_other_verdict verdict = { .window_ns = -1 };
        if (!has_files(files, ap_other_readers[i]))
            continue;
        AP_TRY(add_reader(&reading, ap_other_readers[i], model, &verdict, reterr));
        if (!is_told && (verdict.verdict || !first.verdict))
            first = verdict;
        is_told = is_told || (verdict.verdict && !is_unknown(&verdict));
    }
    add_verdict(files, &first, model, to);
    return AP_OK;
}
