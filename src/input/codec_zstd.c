/* SPDX-License-Identifier: MIT */
#define ZSTD_STATIC_LINKING_ONLY /* memory from the gate, so that its limit holds */
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "packed.h"

#include "poison.h"

/* What the zstd program itself accepts without being asked: a window of 128 MiB. */
#define LARGEST_WINDOW_LOG 27

struct decoder {
    struct ap_gate *gate;
    ZSTD_DCtx *zstd;
    bool is_whole; /* a frame ended, and none has begun */
    bool is_full;  /* the room was too small for all that was decoded, or just enough */
    size_t wanted_bytes;
};

/* Of a frame before it is known. */
#define FIRST_WANTED_BYTES 5
#define BLOCK_HEADER_BYTES 3

static void release(void *self)
{
    struct decoder *decoder = self;
    (void)ZSTD_freeDCtx(decoder->zstd);
    AP_FREE(decoder->gate, decoder, 1);
}

static void *begin(struct ap_gate *gate)
{
    struct decoder *decoder = ap_mem_resize(gate, NULL, 0, sizeof(*decoder));
    if (!decoder)
        return NULL;
    *decoder = (struct decoder){ .gate = gate, .wanted_bytes = FIRST_WANTED_BYTES };
    decoder->zstd = ZSTD_createDCtx_advanced((ZSTD_customMem){ ap_mem_take_sized, ap_mem_give_sized, gate });
    if (decoder->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(decoder->zstd, ZSTD_d_windowLogMax, LARGEST_WINDOW_LOG)))
        return decoder;
    release(decoder);
    return NULL;
}

/* Never more than one block, without the header of the next one, which the library asks for along with it; and nothing while
 * it has something to hand out: when it meets a broken place it forgets what it has decoded in the same call. The last byte
 * of a block comes by itself, as what is wrong with the frame is found with it. So all before that place comes out, whatever
 * the steps. */
static size_t step_once(struct decoder *decoder, struct ap_inflate_io *io)
{
    size_t given = io->in_bytes < decoder->wanted_bytes ? io->in_bytes : decoder->wanted_bytes;
    given -= given == decoder->wanted_bytes && given > 1;
    ZSTD_inBuffer in = { io->in, decoder->is_full ? 0 : given, 0 };
    ZSTD_outBuffer out = { io->out, io->out_bytes, 0 };
    size_t hint = ZSTD_decompressStream(decoder->zstd, &out, &in);
    io->in += in.pos;
    io->in_bytes -= in.pos;
    io->out += out.pos;
    io->out_bytes -= out.pos;
    decoder->is_full = io->out_bytes == 0;
    decoder->wanted_bytes = hint > BLOCK_HEADER_BYTES ? hint - BLOCK_HEADER_BYTES : hint ? hint : FIRST_WANTED_BYTES;
    return hint;
}

static enum ap_inflate_result result_of(ZSTD_ErrorCode error)
{
    switch (error) {
    case ZSTD_error_memory_allocation: return AP_INFLATE_NO_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge: return AP_INFLATE_TOO_LARGE;
    default: return AP_INFLATE_CORRUPT;
    }
}

static enum ap_inflate_result step(void *self, struct ap_inflate_io *io, bool ended)
{
    struct decoder *decoder = self;
    bool was_full = decoder->is_full;
    size_t room_bytes = io->out_bytes;
    if (ended && decoder->is_whole)
        return AP_INFLATE_DONE; /* or the next frame would be begun */
    size_t hint = step_once(decoder, io);
    if (was_full && io->out_bytes == room_bytes && !ZSTD_isError(hint) && hint) /* nothing was left to hand out */
        hint = step_once(decoder, io);
    if (ZSTD_isError(hint))
        return result_of(ZSTD_getErrorCode(hint));
    decoder->is_whole = hint == 0;
    return decoder->is_whole ? AP_INFLATE_DONE : AP_INFLATE_MORE;
}

/* pzstd puts a frame that is to be skipped in front of each. */
static bool is_beginning(const uint8_t *data, size_t bytes)
{
    static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd }, skipped[] = { 0x50, 0x2a, 0x4d, 0x18 };
    return bytes >= sizeof(frame) &&
           (memcmp(data, frame, sizeof(frame)) == 0 || memcmp(data, skipped, sizeof(skipped)) == 0);
}

extern const struct ap_codec ap_codec_zstd;
const struct ap_codec ap_codec_zstd = { "zstd", is_beginning, begin, release, step };
