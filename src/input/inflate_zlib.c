/* SPDX-License-Identifier: MIT */
#define ZLIB_CONST
#include "inflate.h"

#include <stdio.h>
#include <zlib.h>

#include "crc32_fold.h"

#include "poison.h"

struct ap_inflater {
    struct ap_gate *gate;
    z_stream stream;
};

static void *take_memory(void *gate, uInt items, uInt size)
{
    return size && items > SIZE_MAX / size ? Z_NULL : ap_mem_take_sized(gate, (size_t)items * size);
}

struct ap_inflater *ap_inflater_new(struct ap_gate *gate)
{
    struct ap_inflater *inflater = ap_mem_resize(gate, NULL, 0, sizeof(*inflater));
    if (!inflater)
        return NULL;
    *inflater = (struct ap_inflater){ .gate = gate };
    inflater->stream.zalloc = take_memory;
    inflater->stream.zfree = ap_mem_give_sized;
    inflater->stream.opaque = gate;
    if (inflateInit2(&inflater->stream, -MAX_WBITS) != Z_OK) {
        AP_FREE(gate, inflater, 1);
        return NULL;
    }
    return inflater;
}

void ap_inflater_free(struct ap_inflater *inflater)
{
    if (!inflater)
        return;
    (void)inflateEnd(&inflater->stream);
    AP_FREE(inflater->gate, inflater, 1);
}

void ap_inflater_reset(struct ap_inflater *inflater)
{
    (void)inflateReset(&inflater->stream); /* fails only for a stream that was never set up */
}

enum ap_inflate_result ap_inflater_step(struct ap_inflater *inflater, struct ap_inflate_io *io)
{
    z_stream *stream = &inflater->stream;
    stream->next_in = io->in;
    stream->avail_in = (uInt)io->in_bytes;
    stream->next_out = io->out;
    stream->avail_out = (uInt)io->out_bytes;
    int result = inflate(stream, Z_NO_FLUSH);
    io->in = stream->next_in;
    io->in_bytes = stream->avail_in;
    io->out = stream->next_out;
    io->out_bytes = stream->avail_out;
    switch (result) {
    case Z_OK:
    case Z_BUF_ERROR: /* no progress was possible, which is no fault */ return AP_INFLATE_MORE;
    case Z_STREAM_END: return AP_INFLATE_DONE;
    case Z_MEM_ERROR: return AP_INFLATE_NO_MEMORY;
    default: return AP_INFLATE_CORRUPT;
    }
}

size_t ap_inflater_unread(const struct ap_inflater *inflater, uint8_t to[AP_INFLATE_UNREAD_MAX])
{
    (void)inflater;
    (void)to;
    return 0; /* zlib gives back whole bytes by itself */
}

uint32_t ap_inflate_crc32(uint32_t crc, const uint8_t *data, size_t bytes)
{
    return ap_crc32(crc, data, bytes);
}

const char *ap_inflate_name(void)
{
    return "zlib " ZLIB_VERSION;
}
