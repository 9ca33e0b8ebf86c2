/* SPDX-License-Identifier: MIT */
#include <lzma.h>

#include "packed.h"

#include "poison.h"

/* xz -9 needs 65 MiB; the format allows 4 GiB. */
#define LARGEST_MEMORY_BYTES (UINT64_C(512) << 20)

struct decoder {
    struct ap_gate *gate;
    lzma_allocator allocator;
    lzma_stream stream;
    bool is_whole;
};

static void *take_memory(void *gate, size_t count, size_t size)
{
    return size && count > SIZE_MAX / size ? NULL : ap_mem_take_sized(gate, count * size);
}

static void release(void *self)
{
    struct decoder *decoder = self;
    lzma_end(&decoder->stream);
    AP_FREE(decoder->gate, decoder, 1);
}

static void *begin(struct ap_gate *gate)
{
    struct decoder *decoder = ap_mem_resize(gate, NULL, 0, sizeof(*decoder));
    if (!decoder)
        return NULL;
    *decoder = (struct decoder){ .gate = gate, .allocator = { take_memory, ap_mem_give_sized, gate } };
    decoder->stream = (lzma_stream)LZMA_STREAM_INIT;
    decoder->stream.allocator = &decoder->allocator;
    if (lzma_stream_decoder(&decoder->stream, LARGEST_MEMORY_BYTES, LZMA_CONCATENATED) == LZMA_OK)
        return decoder;
    release(decoder);
    return NULL;
}

static enum ap_inflate_result step(void *self, struct ap_inflate_io *io, bool ended)
{
    struct decoder *decoder = self;
    lzma_stream *stream = &decoder->stream;
    if (decoder->is_whole)
        return AP_INFLATE_DONE;
    stream->next_in = io->in;
    stream->avail_in = io->in_bytes;
    stream->next_out = io->out;
    stream->avail_out = io->out_bytes;
    lzma_ret done = lzma_code(stream, ended ? LZMA_FINISH : LZMA_RUN);
    io->in = stream->next_in;
    io->in_bytes = stream->avail_in;
    io->out = stream->next_out;
    io->out_bytes = stream->avail_out;
    decoder->is_whole = done == LZMA_STREAM_END;
    switch (done) {
    case LZMA_STREAM_END: return AP_INFLATE_DONE;
    case LZMA_OK:
    case LZMA_BUF_ERROR: return AP_INFLATE_MORE;
    case LZMA_MEM_ERROR: return AP_INFLATE_NO_MEMORY;
    default: return AP_INFLATE_CORRUPT;
    }
}

#define XZ_STREAM_MAGIC "\xfd\x37\x7a\x58\x5a\x00"

extern const struct ap_codec ap_codec_xz;
const struct ap_codec ap_codec_xz = { "xz", XZ_STREAM_MAGIC, sizeof(XZ_STREAM_MAGIC) - 1, begin, release, step };
