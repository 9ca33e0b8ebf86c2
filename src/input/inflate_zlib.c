/* SPDX-License-Identifier: MIT */
#define ZLIB_CONST
#include "inflate.h"

#include <stdio.h>
#include <zlib.h>

#include "poison.h"

struct ap_inflater {
    struct ap_gate *gate;
    z_stream stream;
};

/* zlib's zfree does not say how many bytes it gives back, the gate wants to know: they stand in front of the memory. */
union memory_head {
    size_t bytes;
    max_align_t align;
};

static void *take_memory(void *opaque, uInt items, uInt size)
{
    if (size && items > (SIZE_MAX - sizeof(union memory_head)) / size)
        return Z_NULL;
    size_t bytes = sizeof(union memory_head) + (size_t)items * size;
    union memory_head *head = ap_mem_resize(opaque, NULL, 0, bytes);
    if (!head)
        return Z_NULL;
    head->bytes = bytes;
    return head + 1;
}

static void give_memory(void *opaque, void *memory)
{
    union memory_head *head = (union memory_head *)memory - 1;
    ap_mem_free(opaque, head, head->bytes);
}

struct ap_inflater *ap_inflater_new(struct ap_gate *gate)
{
    struct ap_inflater *inflater = ap_mem_resize(gate, NULL, 0, sizeof(*inflater));
    if (!inflater)
        return NULL;
    *inflater = (struct ap_inflater){ .gate = gate };
    inflater->stream.zalloc = take_memory;
    inflater->stream.zfree = give_memory;
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
    return (uint32_t)crc32_z(crc, data, bytes);
}

const char *ap_inflate_name(void)
{
    return "zlib " ZLIB_VERSION;
}
