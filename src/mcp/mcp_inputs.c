/* SPDX-License-Identifier: MIT
 * mcp_inputs.c - the tool that lists what can be analyzed: files below the roots, told apart by their content. */
#include <string.h>

#include "mcp_report.h"
#include "mcp_roots.h"
#include "model_build.h"
#include "sort.h"
#include "visible_text.h"

#include "poison.h"

#define MOST_ENTRIES 5000 /* of folders that are looked through */
#define MOST_OPENED 2000  /* files whose beginning is read */

struct input_file {
    char *path; /* allocated with path_bytes */
    size_t path_bytes;
    uint64_t bytes;
};

struct inputs {
    struct ap_gate *gate;
    struct input_file *files;
    size_t count, capacity;
};

static enum ap_status take_file(void *self, const char *path, uint64_t bytes, struct ap_error *reterr)
{
    struct inputs *inputs = self;
    struct input_file file = { .path_bytes = strlen(path) + 1, .bytes = bytes };
    if (!bytes)
        return AP_OK;
    AP_TRY(AP_RESERVE(inputs->gate, inputs->files, inputs->capacity, inputs->count + 1, reterr));
    file.path = ap_mem_resize(inputs->gate, NULL, 0, file.path_bytes);
    if (!file.path)
        return ap_fail_memory(inputs->gate, reterr);
    memcpy(file.path, path, file.path_bytes);
    inputs->files[inputs->count++] = file;
    return AP_OK;
}

static void release(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        ap_mem_free(inputs->gate, inputs->files[i].path, inputs->files[i].path_bytes);
    AP_FREE(inputs->gate, inputs->files, inputs->capacity);
}

static int by_path(const void *a, const void *b)
{
    const struct input_file *one = a, *other = b;
    return strcmp(one->path, other->path);
}

/* NULL: nothing that this program reads. */
static const char *kind_of(const char *path, const struct ap_opener *opener)
{
    static const char *const kinds[] = {
        [AP_ARTIFACT_TRACE] = "trace",
        [AP_ARTIFACT_SNAPSHOT] = "snapshot",
        [AP_ARTIFACT_REPORT] = "report",
        [AP_ARTIFACT_FLIGHT_RECORDER] = "flight-recorder dump",
        [AP_ARTIFACT_SUMMARY] = "summary of ranks",
        [AP_ARTIFACT_PROFILE] = "other profile",
    };
    enum ap_artifact artifact;
    struct ap_error ignored;
    if (ap_recognize_opened(path, opener, &artifact, &ignored) != AP_OK || artifact >= AP_COUNT_OF(kinds))
        return NULL;
    return kinds[artifact];
}

/* Adds what is an input, and counts what is none. */
static void look(const struct ap_mcp_call *call, const struct inputs *inputs, size_t limit, struct ap_model *model,
                 size_t *ret_seen, int64_t *ret_other_count)
{
    struct ap_value *list = ap_add_list(model, &model->root, "inputs");
    size_t shown = 0, i = 0;
    *ret_other_count = 0;
    for (; i < inputs->count && i < MOST_OPENED && shown < limit; i++) {
        const struct input_file *file = &inputs->files[i];
        if (ap_mcp_stop_why(call->stop))
            break;
        const char *kind = kind_of(file->path, call->common->opener);
        if (!kind) {
            ++*ret_other_count;
            continue;
        }
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "kind", kind);
        ap_add_bytes(model, row, "bytes", (int64_t)file->bytes);
        ap_add_string(model, row, "path", file->path);
        shown++;
    }
    *ret_seen = i;
}

static void write_text(struct ap_out *out, const struct ap_value *rows, int64_t other_count, bool complete)
{
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        ap_out_text(out, ap_text_member(row, "kind"));
        ap_out_format(out, ", %lld bytes: ", (long long)ap_integer_member(row, "bytes", 0));
        (void)ap_out_visible(out, ap_text_member(row, "path"), 0); /* as it is, it stands in the object */
        ap_out_char(out, '\n');
    }
    ap_out_format(out, "%lld other files%s. Traces of the ranks of one run: give their folder.\n", (long long)other_count,
                  complete ? "" : "; there is more: ask again with under, or a larger limit");
}

static enum ap_status write_inputs(struct ap_mcp_call *call, const struct ap_value *rows, int64_t other_count, bool complete,
                                   struct ap_error *reterr)
{
    struct ap_out out;
    struct ap_mcp_object object = { .call = call };
    struct ap_value others = { .type = AP_VALUE_COUNT, .as.integer = other_count };
    struct ap_value all = { .type = AP_VALUE_BOOL, .as.integer = complete };
    ap_out_init(&out, (struct ap_sink){ ap_mcp_text_write, &call->text });
    write_text(&out, rows, other_count, complete);
    AP_TRY(ap_out_finish(&out, reterr));
    AP_TRY(ap_mcp_object_add(&object, "other_count", &others, NULL, reterr));
    AP_TRY(ap_mcp_object_add(&object, "complete", &all, NULL, reterr));
    AP_TRY(ap_mcp_object_add_rows(&object, "inputs", rows, NULL, false, reterr));
    return ap_mcp_object_end(&object, reterr);
}

static enum ap_status answer(struct ap_mcp_call *call, struct inputs *inputs, bool left_out, struct ap_error *reterr)
{
    struct ap_model model;
    size_t seen;
    int64_t other_count;
    ap_sort(inputs->files, inputs->count, sizeof(*inputs->files), by_path);
    ap_model_init(&model, call->gate);
    look(call, inputs, (size_t)ap_mcp_whole_argument(call, "limit", AP_MCP_DEFAULT_LIST), &model, &seen, &other_count);
    enum ap_status status = ap_model_status(&model, reterr);
    AP_AND_THEN(status,
                write_inputs(call, ap_value_first(&model.root), other_count, !left_out && seen == inputs->count, reterr));
    ap_model_release(&model);
    return status;
}

enum ap_status ap_mcp_list_inputs(struct ap_mcp_call *call, struct ap_error *reterr)
{
    struct inputs inputs = { .gate = call->gate };
    bool left_out = false;
    if (call->common->redact)
        return ap_fail(reterr, AP_ERROR_USAGE,
                       "this server hides names, and those of files are among them: ask the user for the path");
    enum ap_status status = ap_mcp_roots_list(call->common->opener->opener_self, ap_mcp_text_argument(call, "under"),
                                              MOST_ENTRIES, take_file, &inputs, &left_out, reterr);
    AP_AND_THEN(status, answer(call, &inputs, left_out, reterr));
    release(&inputs);
    return status;
}
