/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <string.h>

#include "block_ring.h"
#include "container.h"
#include "gzip.h"
#include "log_line.h"
#include "nsys.h"
#include "packed.h"

#include "poison.h"

#define BLOCK_DEFAULT_BYTES ((size_t)1 << 20)
#define BLOCK_SHARED_BYTES ((size_t)256 << 10) /* where there are many of them */
#define BLOCK_MAX_BYTES ((size_t)64 << 20)
#define BLOCK_LEAST_BYTES ((size_t)64 << 10)
#define BLOCKS_OF_A_FILE 8                      /* at least, down to the least size: a small file needs no large ring */
#define THREADS_A_FETCHER 6                     /* copying a file takes about a sixth of the time of reading it */
#define RAW_PIECE_MAX_BYTES ((size_t)256 << 10) /* compressed bytes stay in the cache beside what becomes of them */
#define SMALL_FILE_BYTES ((uint64_t)64 << 10)   /* read in less time than it takes to start a thread for it */
#define FIRST_BLOCK_MIN_BYTES ((size_t)4096)    /* what the content is judged by: of these, never of more */

struct ap_input {
    struct ap_gate *gate;
    struct ap_notes *notes;
    struct ap_input_options options;

    /* Belongs to the filling side from the start of the ring to its end. */
    struct ap_raw_source raw;
    struct ap_gzip gzip;
    struct ap_packed packed; /* codec NULL: it is not */
    struct ap_nsys *nsys;    /* an export of Nsight Systems, which is handed on as text */
    bool begun, compressed, content_seen, is_log;
    bool by_place; /* blocks are read wherever they stand, on several threads */
    uint64_t filled_bytes;

    struct ap_block_ring ring;

    /* Belongs to the caller's side. */
    struct ap_block_view block; /* the one being read */
    bool has_block, oddities_noted;
    size_t block_at;
};

/* --- filling side -------------------------------------------------------------------------------------------------- */

static bool read_page(void *self, uint64_t offset_bytes, uint8_t *to, size_t bytes)
{
    return ap_raw_source_read_at(self, offset_bytes, to, bytes);
}

static enum ap_status open_export(struct ap_input *input, struct ap_error *reterr)
{
    struct ap_nsys_pages pages = { .read_at = read_page, .self = &input->raw };
    if (input->options.role == AP_ROLE_SNAPSHOT)
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "this is an SQLite database, perhaps an export of Nsight Systems: expected a CUDA memory snapshot as "
                       "JSON");
    if (!ap_raw_source_has_pages(&input->raw, &pages.size_bytes))
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "this is an SQLite database, which cannot be read from a pipe: give the file itself, not compressed");
    return ap_nsys_open(input->gate, &pages, &input->nsys, reterr);
}

static enum ap_status begin(struct ap_input *input, struct ap_error *reterr)
{
    struct ap_container_head head = { 0 };
    ap_raw_source_peek(&input->raw, &head.data, &head.bytes);
    head.whole = input->raw.ended;
    const struct ap_codec *codec = ap_codec_of(&head);
    input->compressed = codec || ap_container_is_gzip(&head);
    input->begun = true;
    if (codec)
        return ap_packed_init(&input->packed, input->gate, &input->raw, codec, input->options.salvage, reterr);
    if (input->compressed)
        return ap_gzip_init(&input->gzip, input->gate, &input->raw, input->options.salvage, reterr);
    return ap_nsys_begins(head.data, head.bytes) ? open_export(input, reterr) : AP_OK;
}

/* Of whatever the file is, text. */
static enum ap_status read_text(struct ap_input *input, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                struct ap_error *reterr)
{
    if (input->nsys)
        return ap_nsys_read(input->nsys, to, cap_bytes, ret_bytes, reterr);
    if (input->packed.codec)
        return ap_packed_read(&input->packed, to, cap_bytes, ret_bytes, reterr);
    return input->compressed ? ap_gzip_read(&input->gzip, to, cap_bytes, ret_bytes, reterr)
                             : ap_raw_source_read(&input->raw, to, cap_bytes, ret_bytes, reterr);
}

/* The content is judged by the first bytes; where all of these are white space, by the first character behind it. What
 * comes of it does not depend on the size of blocks. */
static enum ap_status judge(struct ap_input *input, const uint8_t *data, size_t bytes, bool ended, struct ap_error *reterr)
{
    size_t at = 0;
    if (input->filled_bytes == 0) {
        size_t head_bytes = bytes < FIRST_BLOCK_MIN_BYTES ? bytes : FIRST_BLOCK_MIN_BYTES;
        struct ap_container_head head = { data, head_bytes, ended && head_bytes == bytes };
        input->is_log = input->options.accepts_logs && ap_is_compile_log(data, head_bytes);
        input->content_seen = input->is_log;
        if (input->is_log)
            return AP_OK;
        AP_TRY(ap_container_check(&head, input->options.role, input->compressed, reterr));
        at = ap_container_blank_bytes(&head);
    }
    while (at < bytes && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r'))
        at++;
    input->content_seen = at < bytes;
    if (input->content_seen && data[at] != '{' && data[at] != '[')
        return ap_container_refuse_late(input->filled_bytes + at, data[at], input->compressed, reterr);
    if (!input->content_seen && ended)
        return ap_container_refuse_blank(false, input->compressed, reterr);
    return AP_OK;
}

static enum ap_status fill(void *self, uint64_t number, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                           struct ap_error *reterr)
{
    struct ap_input *input = self;
    if (input->by_place) {
        AP_TRY(ap_raw_source_fetch(&input->raw, number * cap_bytes, to, cap_bytes, ret_bytes, reterr));
        return *ret_bytes ? AP_OK : AP_END;
    }
    if (!input->begun)
        AP_TRY(begin(input, reterr));
    /* The first block is at least large enough to judge the content by, but is fetched in no larger pieces either. */
    size_t target = input->filled_bytes == 0 ? cap_bytes : input->options.block_bytes, filled = 0;
    enum ap_status status = AP_OK;
    while (status == AP_OK && filled < target) {
        size_t want = target - filled, got = 0;
        if (want > input->options.block_bytes)
            want = input->options.block_bytes;
        status = read_text(input, to + filled, want, &got, reterr);
        filled += got;
        if (input->nsys && input->filled_bytes == 0) /* its header alone: who asks what a file is reads no further */
            break;
    }
    if (!input->content_seen && (filled > 0 || status == AP_END))
        AP_TRY(judge(input, to, filled, status == AP_END, reterr));
    input->filled_bytes += filled;
    *ret_bytes = filled;
    return filled > 0 ? AP_OK : status; /* gzip and raw repeat a failure that came behind these bytes */
}

/* The text of a plain file, from the second block on, can be read by several: copying it would else be what all wait for. */
static unsigned fetchers(void *self)
{
    struct ap_input *input = self;
    uint64_t size_bytes;
    bool plain = !input->compressed && !input->nsys && !input->options.head_bytes && input->content_seen;
    if (plain && input->options.threads >= THREADS_A_FETCHER && ap_raw_source_has_pages(&input->raw, &size_bytes) &&
        input->filled_bytes == input->options.block_bytes) {
        unsigned wanted = 1 + input->options.threads / THREADS_A_FETCHER;
        input->by_place = true;
        return wanted < AP_BLOCK_FETCHERS ? wanted : AP_BLOCK_FETCHERS;
    }
    return 1;
}

/* --- caller's side ------------------------------------------------------------------------------------------------- */

static size_t block_bytes_of(const struct ap_input_options *options)
{
    if (options->block_bytes == 0)
        return options->threads > 2 ? BLOCK_SHARED_BYTES : BLOCK_DEFAULT_BYTES;
    return options->block_bytes < BLOCK_MAX_BYTES ? options->block_bytes : BLOCK_MAX_BYTES;
}

static unsigned ring_count_of(const struct ap_input_options *options)
{
    unsigned helpers = options->threads > 2 ? options->threads - 1 : 1;
    return helpers < AP_BLOCK_RING_HELPERS ? AP_BLOCK_RING_COUNT(helpers) : AP_BLOCK_RING_MOST;
}

static size_t fitting_block_bytes(size_t block_bytes, uint64_t size_bytes)
{
    uint64_t share = size_bytes / BLOCKS_OF_A_FILE / BLOCK_LEAST_BYTES * BLOCK_LEAST_BYTES + BLOCK_LEAST_BYTES;
    return size_bytes && share < block_bytes ? (size_t)share : block_bytes;
}

/* Exactly one of @path and @from is given. @is_chosen: the size of blocks is the caller's. */
static enum ap_status init(struct ap_input *input, const char *path, const struct ap_byte_source *from, bool is_chosen,
                           struct ap_error *reterr)
{
    size_t block_bytes = input->options.block_bytes;
    size_t piece_bytes = block_bytes < RAW_PIECE_MAX_BYTES ? block_bytes : RAW_PIECE_MAX_BYTES;
    if (from)
        AP_TRY(ap_raw_source_init(&input->raw, input->gate, *from, piece_bytes, reterr));
    else
        AP_TRY(ap_raw_source_init_path(&input->raw, input->gate, path, input->options.opener, piece_bytes,
                                       input->options.threads > 0, reterr));
    if (path && !input->options.opener && strcmp(path, "-") == 0)
        ap_raw_source_put_back(&input->raw, input->options.head, input->options.head_bytes);
    if (!is_chosen)
        input->options.block_bytes = block_bytes = fitting_block_bytes(block_bytes, input->raw.size_bytes);
    size_t cap_bytes = block_bytes > FIRST_BLOCK_MIN_BYTES ? block_bytes : FIRST_BLOCK_MIN_BYTES;
    enum ap_status status = ap_block_ring_init(&input->ring, input->gate, ring_count_of(&input->options),
                                               AP_BLOCK_ROOM_BEFORE, cap_bytes, AP_BLOCK_ROOM_AFTER, reterr);
    if (status != AP_OK)
        ap_raw_source_release(&input->raw);
    return status;
}

static enum ap_status open_input(struct ap_gate *gate, const char *path, const struct ap_byte_source *from,
                                 const struct ap_input_options *options, struct ap_notes *notes, struct ap_input **ret_input,
                                 struct ap_error *reterr)
{
    struct ap_input *input;
    AP_TRY(AP_ALLOC_CLEARED(gate, input, 1, reterr));
    input->gate = gate;
    input->notes = notes;
    input->options = *options;
    input->options.block_bytes = block_bytes_of(options);
    enum ap_status status = init(input, path, from, options->block_bytes != 0, reterr);
    if (status != AP_OK) {
        AP_FREE(gate, input, 1);
        return status;
    }
    bool is_small = input->raw.size_bytes && input->raw.size_bytes <= SMALL_FILE_BYTES;
    ap_block_ring_start(&input->ring, (struct ap_block_filler){ fill, fetchers, input }, options->threads > 0 && !is_small);
    *ret_input = input;
    return AP_OK;
}

enum ap_status ap_input_open(struct ap_gate *gate, const char *path, const struct ap_input_options *options,
                             struct ap_notes *notes, struct ap_input **ret_input, struct ap_error *reterr)
{
    return open_input(gate, path, NULL, options, notes, ret_input, reterr);
}

enum ap_status ap_input_open_source(struct ap_gate *gate, struct ap_byte_source raw, const struct ap_input_options *options,
                                    struct ap_notes *notes, struct ap_input **ret_input, struct ap_error *reterr)
{
    return open_input(gate, NULL, &raw, options, notes, ret_input, reterr);
}

void ap_input_free(struct ap_input *input)
{
    if (!input)
        return;
    ap_block_ring_stop(&input->ring);
    ap_raw_source_wake(&input->raw);
    ap_block_ring_release(&input->ring);
    ap_packed_release(&input->packed);
    ap_nsys_free(input->nsys);
    ap_gzip_release(&input->gzip);
    ap_raw_source_release(&input->raw);
    AP_FREE(input->gate, input, 1);
}

static void note_oddities(struct ap_input *input)
{
    const struct ap_gzip_oddities *odd = &input->gzip.odd;
    if (input->oddities_noted)
        return;
    input->oddities_noted = true;
    if (odd->padding_bytes) {
        ap_note(input->notes, AP_COUNTER_trailing_padding, odd->padding_offset);
        ap_note_detail(input->notes, AP_COUNTER_trailing_padding, "%llu zero bytes", (unsigned long long)odd->padding_bytes);
    }
    if (odd->trailing_data) {
        ap_note(input->notes, AP_COUNTER_trailing_data, odd->trailing_offset);
        ap_note_detail(input->notes, AP_COUNTER_trailing_data, "from byte %llu of the compressed file on",
                       (unsigned long long)odd->trailing_raw_offset);
    }
    if (odd->checksum_count) {
        ap_note(input->notes, AP_COUNTER_checksum, odd->checksum_offset);
        ap_note_many(input->notes, AP_COUNTER_checksum, odd->checksum_count - 1);
    }
    if (odd->salvaged)
        ap_note(input->notes, AP_COUNTER_salvaged, odd->salvaged_offset);
    if (input->packed.salvaged)
        ap_note(input->notes, AP_COUNTER_salvaged, input->packed.made_bytes);
    if (input->nsys)
        ap_nsys_note(input->nsys, input->notes);
}

static enum ap_status next_block(struct ap_input *input, bool keep_last, struct ap_error *reterr)
{
    struct ap_block_view block = { NULL, 0 };
    AP_TRY(ap_gate_go_on(input->gate, reterr));
    enum ap_status status = ap_block_ring_next(&input->ring, keep_last, &block.data, &block.bytes, reterr);
    if (status == AP_OK) {
        input->block = block;
        input->block_at = 0;
        input->has_block = true;
    } else {
        note_oddities(input); /* the filling side is done: what it wrote down can be looked at */
    }
    return status;
}

enum ap_status ap_input_probe(struct ap_input *input, struct ap_error *reterr)
{
    if (input->ring.taken > 0)
        return AP_OK;
    struct ap_error error;
    enum ap_status status = next_block(input, false, &error);
    if (status == AP_OK || status == AP_ERROR_CUT)
        return AP_OK;
    *reterr = error;
    return status;
}

static enum ap_status read_source(void *self, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct ap_input *input = self;
    if (!input->has_block) {
        enum ap_status status = next_block(input, false, reterr);
        if (status == AP_END) {
            *ret_bytes = 0;
            return AP_OK;
        }
        AP_TRY(status);
    }
    size_t bytes = input->block.bytes - input->block_at;
    if (bytes > cap_bytes)
        bytes = cap_bytes;
    memcpy(to, input->block.data + input->block_at, bytes);
    input->block_at += bytes;
    input->has_block = input->block_at < input->block.bytes;
    *ret_bytes = bytes;
    return AP_OK;
}

static enum ap_status borrow_source(void *self, struct ap_block_view *ret_block, struct ap_error *reterr)
{
    struct ap_input *input = self;
    *ret_block = (struct ap_block_view){ NULL, 0 };
    if (!input->has_block) {
        enum ap_status status = next_block(input, true, reterr);
        if (status == AP_END)
            return AP_OK;
        AP_TRY(status);
    }
    input->has_block = false;
    *ret_block = input->block;
    return AP_OK;
}

static bool peek_source(void *self, unsigned ahead, struct ap_block_view *ret_block)
{
    struct ap_input *input = self;
    /* A block that was looked at but not borrowed is the next one: not worth a case of its own. */
    return !input->has_block && ap_block_ring_peek(&input->ring, ahead, &ret_block->data, &ret_block->bytes);
}

struct ap_byte_source ap_input_source(struct ap_input *input)
{
    return (struct ap_byte_source){ .read = read_source, .borrow = borrow_source, .peek = peek_source, .self = input };
}

bool ap_input_is_compressed(const struct ap_input *input)
{
    return input->compressed;
}

bool ap_input_is_log(const struct ap_input *input)
{
    return input->is_log;
}

uint64_t ap_input_raw_bytes(const struct ap_input *input)
{
    uint64_t taken_bytes = atomic_load_explicit(&input->raw.taken_bytes, memory_order_relaxed);
    /* Pages of an export are read as often as they are asked for. */
    return input->raw.size_bytes && taken_bytes > input->raw.size_bytes ? input->raw.size_bytes : taken_bytes;
}

uint64_t ap_input_size_bytes(const struct ap_input *input)
{
    return input->raw.size_bytes;
}

const char *ap_input_inflate_name(void)
{
    return ap_inflate_name();
}

const char *ap_input_codec_name(size_t i)
{
    return ap_codecs[i] ? ap_codecs[i]->name : NULL;
}
