/* SPDX-License-Identifier: MIT
 * What the text of an NVTX range says, and an export that is read in pieces of any size, damaged, and with no memory. */
#include <stdlib.h>

#include "nsys_internal.h"
#include "tap.h"

static bool equal(struct ap_text text, const char *want)
{
    return text.bytes == strlen(want) && memcmp(text.data, want, text.bytes) == 0;
}

static void range(const char *text, enum ap_nsys_range_kind kind, const char *name, const char *sequence, const char *shapes)
{
    struct ap_nsys_range got;
    char claim[160];
    ap_nsys_range_read((struct ap_text){ text, strlen(text) }, &got);
    (void)snprintf(claim, sizeof(claim), "range: %s", text);
    ok(got.kind == kind && equal(got.name, name) && equal(got.sequence, sequence) && equal(got.shapes, shapes), claim);
}

static void ranges_tell_operators_modules_and_words(void)
{
    range("aten::addmm, seq = 5, op_id = 12, sizes = [[4], [2, 3], []]", AP_NSYS_OPERATOR, "aten::addmm", "5",
          "[[4], [2, 3], []]");
    range("aten::addmm, op_id = 12", AP_NSYS_OPERATOR, "aten::addmm", "", "");
    range("AddmmBackward0, seq = 7", AP_NSYS_OPERATOR, "AddmmBackward0", "7", "");
    range("aten::mm", AP_NSYS_OPERATOR, "aten::mm", "", "");
    range("x, sizes = [[1, ]], y", AP_NSYS_OPERATOR, "x", "", "");
    range("x, sizes = [[1 2]]", AP_NSYS_OPERATOR, "x", "", "");
    range("x, sizes = [[[1]]]", AP_NSYS_OPERATOR, "x", "", "");
    range("x, sizes = [1]", AP_NSYS_OPERATOR, "x", "", "");
    range("x, sizes = [[1], \"", AP_NSYS_OPERATOR, "x", "", "");
    range("x, sizes = []", AP_NSYS_OPERATOR, "x", "", "[]");
    range(", seq = 5", AP_NSYS_ANNOTATION, ", seq = 5", "", "");
    range("step 3", AP_NSYS_ANNOTATION, "step 3", "", "");
    range("train.step.3", AP_NSYS_ANNOTATION, "train.step.3", "", "");
    range("model.layers.3.mlp", AP_NSYS_MODULE, "model.layers.3.mlp", "", "");
    range("model.layers.3.mlp with words", AP_NSYS_ANNOTATION, "model.layers.3.mlp with words", "", "");
    range("{'Module': 'model.layers.0', 'in': [1]}", AP_NSYS_MODULE, "model.layers.0", "", "");
    range("{'Module': '", AP_NSYS_ANNOTATION, "{'Module': '", "", "");
    range("", AP_NSYS_ANNOTATION, "", "", "");
}

/* ---- an export of our own making ---- */

struct memory_file {
    unsigned char *data;
    size_t bytes;
};

static bool read_at(void *self, uint64_t offset_bytes, uint8_t *to, size_t bytes)
{
    const struct memory_file *file = self;
    size_t there = offset_bytes < file->bytes ? file->bytes - (size_t)offset_bytes : 0;
    size_t copied = bytes < there ? bytes : there;
    memset(to, 0, bytes);
    if (copied)
        memcpy(to, file->data + offset_bytes, copied);
    return true;
}

static const char script[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'a_kernel'), (2, 'cudaLaunchKernel_v7000');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, "
    "demangledName INT);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2500, 0, 7, 9, 1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 200, 16777218, 9, 2);";
static const char want[] =
    "{\"analyze_profile\":{\"made_from\":\"Nsight Systems\"},\n\"schemaVersion\":1,\n\"deviceProperties\":[],\n"
    "\"traceEvents\":[\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a_kernel\",\"ts\":1,\"dur\":1.5,\"pid\":0,\"tid\":7,\"args\":{\"device\":0,"
    "\"stream\":7,\"correlation\":9}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"ts\":0.1,\"dur\":0.1,\"pid\":1,\"tid\":2,"
    "\"args\":{"
    "\"correlation\":9}}\n]}\n";

static struct memory_file make_export(void)
{
    sqlite3 *handle = NULL;
    sqlite3_int64 bytes = 0;
    struct memory_file file = { NULL, 0 };
    if (sqlite3_open(":memory:", &handle) == SQLITE_OK && sqlite3_exec(handle, script, NULL, NULL, NULL) == SQLITE_OK)
        file.data = sqlite3_serialize(handle, "main", &bytes, 0);
    file.bytes = (size_t)bytes;
    (void)sqlite3_close(handle);
    return file;
}

static enum ap_status read_all(struct ap_gate *gate, struct memory_file *file, size_t piece_bytes, char *to,
                               size_t cap_bytes, size_t *ret_bytes)
{
    struct ap_error error = { .status = AP_OK };
    struct ap_nsys *nsys = NULL;
    const struct ap_nsys_pages pages = { read_at, file, file->bytes };
    *ret_bytes = 0;
    enum ap_status status = ap_nsys_open(gate, &pages, &nsys, &error);
    while (status == AP_OK) {
        size_t got = 0, room = cap_bytes - *ret_bytes;
        status = ap_nsys_read(nsys, (uint8_t *)to + *ret_bytes, piece_bytes < room ? piece_bytes : room, &got, &error);
        *ret_bytes += status == AP_OK ? got : 0;
        if (*ret_bytes == cap_bytes)
            break;
    }
    ap_nsys_free(nsys);
    return status;
}

static void an_export_is_the_same_text_in_any_pieces(struct memory_file *file)
{
    static const size_t pieces[] = { 1, 7, 100000 };
    char text[4096];
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct ap_gate gate;
        size_t bytes;
        ap_gate_init(&gate, 0);
        enum ap_status status = read_all(&gate, file, pieces[i], text, sizeof(text), &bytes);
        ok(status == AP_END && bytes == strlen(want) && memcmp(text, want, bytes) == 0, "the text of a small export");
        if (bytes != strlen(want))
            tap_show("got", text, bytes);
        ok(atomic_load(&gate.used_bytes) == 0, "all memory is given back");
    }
}

static void memory_may_fail_anywhere(struct memory_file *file)
{
    char text[4096];
    bool clean = true, ended = false;
    for (int64_t after = 0; after < 200 && !ended; after++) {
        struct ap_gate gate;
        size_t bytes;
        ap_gate_init(&gate, 0);
        atomic_store(&gate.fail_after, after);
        enum ap_status status = read_all(&gate, file, sizeof(text), text, sizeof(text), &bytes);
        ended = status == AP_END;
        clean = clean && (ended || status == AP_ERROR_MEMORY) && atomic_load(&gate.used_bytes) == 0;
    }
    ok(clean && ended, "each request for memory may fail");
}

/* Every byte changed once: what comes is text, or a failure with a message. */
static void damage_ends_cleanly(struct memory_file *file)
{
    char text[65536];
    bool clean = true;
    for (size_t at = 0; at < file->bytes; at++) {
        struct ap_gate gate;
        size_t bytes;
        unsigned char before = file->data[at];
        file->data[at] = (unsigned char)(before ^ (1u << at % 8));
        ap_gate_init(&gate, 0);
        enum ap_status status = read_all(&gate, file, sizeof(text), text, sizeof(text), &bytes);
        clean = clean && (status == AP_END || status == AP_ERROR_INPUT || status == AP_ERROR_MEMORY || status == AP_OK) &&
                atomic_load(&gate.used_bytes) == 0;
        file->data[at] = before;
    }
    ok(clean, "an export with any byte changed");
}

int main(void)
{
    ranges_tell_operators_modules_and_words();
    struct memory_file file = make_export();
    if (ok(file.data != NULL, "an export is made")) {
        an_export_is_the_same_text_in_any_pieces(&file);
        memory_may_fail_anywhere(&file);
        damage_ends_cleanly(&file);
    }
    sqlite3_free(file.data);
    return done();
}
