/* SPDX-License-Identifier: MIT */
#include <lzma.h>
#include <string.h>

#include "packed.h"

#include "poison.h"

/* xz -9 needs 65 MiB; the format allows 4 GiB. */
#define LARGEST_MEMORY_BYTES (UINT64_C(512) << 20)

/* Steps are of the same size whatever is asked for: how much comes out before a broken place depends on them. */
#define IN_BYTES ((size_t)16 << 10)
#define OUT_BYTES ((size_t)32 << 10)

struct decoder {
    struct ap_gate *gate;
    lzma_allocator allocator;
    lzma_stream stream;
    enum ap_inflate_result ended_by; /* AP_INFLATE_MORE while it goes on */
    size_t in_bytes, in_at, out_bytes, out_at;
    uint8_t in[IN_BYTES], out[OUT_BYTES];
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
    decoder->gate = gate;
    decoder->allocator = (lzma_allocator){ take_memory, ap_mem_give_sized, gate };
    decoder->stream = (lzma_stream)LZMA_STREAM_INIT;
    decoder->ended_by = AP_INFLATE_MORE;
    decoder->in_bytes = decoder->in_at = decoder->out_bytes = decoder->out_at = 0;
    decoder->stream.allocator = &decoder->allocator;
    if (lzma_stream_decoder(&decoder->stream, LARGEST_MEMORY_BYTES, LZMA_CONCATENATED) == LZMA_OK)
        return decoder;
    release(decoder);
    return NULL;
}

static enum ap_inflate_result result_of(lzma_ret done)
{
    switch (done) {
    case LZMA_STREAM_END: return AP_INFLATE_DONE;
    case LZMA_OK:
    case LZMA_BUF_ERROR: return AP_INFLATE_MORE;
    case LZMA_MEM_ERROR: return AP_INFLATE_NO_MEMORY;
    case LZMA_MEMLIMIT_ERROR: return AP_INFLATE_TOO_LARGE;
    default: return AP_INFLATE_CORRUPT;
    }
}

/* False where there is no way on without more input. */
static bool decode(struct decoder *decoder, bool ended)
{
    lzma_stream *stream = &decoder->stream;
    stream->next_in = decoder->in + decoder->in_at;
    stream->avail_in = decoder->in_bytes - decoder->in_at;
    stream->next_out = decoder->out;
    stream->avail_out = OUT_BYTES;
    lzma_ret done = lzma_code(stream, ended ? LZMA_FINISH : LZMA_RUN);
    decoder->ended_by = result_of(done);
    decoder->in_at = decoder->in_bytes - stream->avail_in;
    decoder->out_at = 0;
    decoder->out_bytes = OUT_BYTES - stream->avail_out;
    return done == LZMA_OK || decoder->ended_by != AP_INFLATE_MORE;
}

static void gather(struct decoder *decoder, struct ap_inflate_io *io)
{
    if (decoder->in_at == decoder->in_bytes)
        decoder->in_at = decoder->in_bytes = 0;
    size_t bytes = IN_BYTES - decoder->in_bytes < io->in_bytes ? IN_BYTES - decoder->in_bytes : io->in_bytes;
    if (bytes)
        memcpy(decoder->in + decoder->in_bytes, io->in, bytes);
    decoder->in_bytes += bytes;
    io->in += bytes;
    io->in_bytes -= bytes;
}

static void hand_out(struct decoder *decoder, struct ap_inflate_io *io)
{
    size_t bytes = decoder->out_bytes - decoder->out_at;
    bytes = bytes < io->out_bytes ? bytes : io->out_bytes;
    memcpy(io->out, decoder->out + decoder->out_at, bytes);
    decoder->out_at += bytes;
    io->out += bytes;
    io->out_bytes -= bytes;
}

static enum ap_inflate_result step(void *self, struct ap_inflate_io *io, bool ended)
{
    struct decoder *decoder = self;
    for (;;) {
        hand_out(decoder, io);
        if (decoder->out_at < decoder->out_bytes)
            return AP_INFLATE_MORE;
        if (decoder->ended_by != AP_INFLATE_MORE)
            return decoder->ended_by;
        if (decoder->in_at == 0 || decoder->in_at == decoder->in_bytes)
            gather(decoder, io);
        bool is_last = ended && !io->in_bytes;
        if (decoder->in_at == 0 && decoder->in_bytes < IN_BYTES && !is_last)
            return AP_INFLATE_MORE;
        if (!decode(decoder, is_last))
            return AP_INFLATE_MORE;
    }
}

static bool is_beginning(const uint8_t *data, size_t bytes)
{
    static const uint8_t stream[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };
    return bytes >= sizeof(stream) && memcmp(data, stream, sizeof(stream)) == 0;
}

extern const struct ap_codec ap_codec_xz;
const struct ap_codec ap_codec_xz = { "xz", is_beginning, begin, release, step };
