/* SPDX-License-Identifier: MIT */
#include "opened_input.h"

#include "thread.h"

#include "poison.h"

#define MOST_THREADS 16
#define THREAD_BYTES ((uint64_t)32 << 20) /* of the limit for memory, more than one takes */

unsigned ap_request_threads(const struct ap_request *request)
{
    unsigned threads = request->threads ? request->threads : ap_processor_count();
    uint64_t most = request->max_memory_bytes ? request->max_memory_bytes / THREAD_BYTES + 1 : MOST_THREADS;
    most = most < MOST_THREADS ? most : MOST_THREADS;
    return threads < most ? threads : (unsigned)most;
}

/* A snapshot is read by one thread, from bytes that another one fetches. */
static unsigned input_threads(const struct ap_request *request, enum ap_input_role role)
{
    unsigned threads = ap_request_threads(request);
    if (threads == 1)
        return 0;
    return role == AP_ROLE_TRACE ? threads : 1;
}

static void tell(const struct ap_opened_input *opened)
{
    if (opened->request->progress)
        opened->request->progress(opened->request->progress_self, opened->path, ap_input_raw_bytes(opened->input),
                                  ap_input_size_bytes(opened->input));
}

static enum ap_status read_and_tell(void *self, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct ap_opened_input *opened = self;
    tell(opened);
    return opened->source.read(opened->source.self, to, cap_bytes, ret_bytes, reterr);
}

static enum ap_status borrow_and_tell(void *self, struct ap_block_view *ret_block, struct ap_error *reterr)
{
    struct ap_opened_input *opened = self;
    tell(opened);
    return opened->source.borrow(opened->source.self, ret_block, reterr);
}

static bool peek_source(void *self, unsigned ahead, struct ap_block_view *ret_block)
{
    const struct ap_opened_input *opened = self;
    return opened->source.peek(opened->source.self, ahead, ret_block);
}

void ap_opened_input_tell_place(const struct ap_opened_input *opened, enum ap_status status, struct ap_error *reterr)
{
    if (status != AP_ERROR_LIMIT || !reterr || reterr->has_offset)
        return;
    reterr->has_offset = true;
    reterr->offset_bytes = ap_json_offset(opened->json);
}

void ap_opened_input_close(struct ap_opened_input *opened)
{
    ap_json_reader_free(opened->json);
    ap_input_free(opened->input);
}

enum ap_status ap_opened_input_open(struct ap_report *report, const struct ap_request *request, const char *path,
                                    enum ap_input_role role, struct ap_notes *notes, struct ap_opened_input *opened,
                                    struct ap_error *reterr)
{
    struct ap_input_options options = {
        .salvage = request->salvage,
        .role = role,
        .opener = request->opener,
        .threads = input_threads(request, role),
        .head = request->standard_input_head,
        .head_bytes = request->standard_input_head_bytes,
    };
    struct ap_json_limits limits = { .skipped_depth = request->max_depth };
    *opened = (struct ap_opened_input){ .request = request, .path = path };
    AP_TRY(ap_input_open(&report->gate, path, &options, notes, &opened->input, reterr));
    enum ap_status status = ap_input_probe(opened->input, reterr);
    if (status == AP_OK) {
        struct ap_byte_source told = {
            .read = read_and_tell, .borrow = borrow_and_tell, .peek = peek_source, .self = opened
        };
        opened->source = ap_input_source(opened->input);
        status = ap_json_reader_new(&report->gate, told, notes, &limits, &opened->json, reterr);
    }
    if (status != AP_OK)
        ap_opened_input_close(opened);
    return status;
}
