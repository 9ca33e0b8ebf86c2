/* SPDX-License-Identifier: MIT
 * Any bytes as the file of another profiler: reader, sums, the key of the report. First byte: bits 0-2 how much is read at a
 * time, bits 3-5 which format, bit 6: the file is read twice, as two would be. */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "other_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const struct ap_other_reader *reader;
    enum ap_other_format format;
} kinds[] = {
    { &ap_onnx_reader, AP_OTHER_onnxruntime },          { &ap_tensorrt_reader, AP_OTHER_tensorrt_times },
    { &ap_tensorrt_reader, AP_OTHER_tensorrt_profile }, { &ap_tensorrt_reader, AP_OTHER_tensorrt_layers },
    { &ap_compile_log_reader, AP_OTHER_compile_log },
};

static void check(bool promise)
{
    if (!promise)
        abort();
}

static void run(const uint8_t *text, size_t bytes, uint8_t choice)
{
    static const size_t pieces[] = { 4096, 1, 2, 3, 7, 16, 64, 1000 };
    const struct ap_other_reader *reader = kinds[(choice >> 3 & 7) % AP_COUNT_OF(kinds)].reader;
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_model model;
    struct ap_error error;
    struct ap_other_verdict verdict = { .window_ns = -1 };
    void *self;
    memset(&notes, 0, sizeof(notes));
    ap_gate_init(&gate, (uint64_t)64 << 20);
    ap_model_init(&model, &gate);
    enum ap_status status = reader->open(&gate, &self, &error);
    check(status == AP_OK);
    for (int i = 0; status == AP_OK && i <= (choice >> 6 & 1); i++) {
        struct feed feed = feed_of(text, bytes, pieces[choice & 7]);
        struct ap_other_input input = { .format = kinds[(choice >> 3 & 7) % AP_COUNT_OF(kinds)].format,
                                        .source = feed_source(&feed),
                                        .limits = { .window_bytes = pieces[choice & 7], .token_bytes = 1 << 16 },
                                        .salvage = choice >> 7 };
        status = reader->read(self, &input, &notes, &error);
    }
    AP_AND_THEN(status, reader->add(self, 0, &notes, &model, &verdict, &error));
    check(status != AP_OK || verdict.window_ns >= -1);
    reader->close(self);
    ap_model_release(&model);
    check(atomic_load(&gate.used_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    run(data + 1, size - 1, data[0]);
    return 0;
}
