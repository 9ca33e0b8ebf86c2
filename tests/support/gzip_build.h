/* SPDX-License-Identifier: MIT
 * gzip_build.h - gzip members made by hand, so that every field can be wrong. Needs zlib. */
#ifndef AP_GZIP_BUILD_H
#define AP_GZIP_BUILD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { GZ_HCRC = 2, GZ_EXTRA = 4, GZ_NAME = 8, GZ_COMMENT = 16 };

struct gz {
    uint8_t data[1 << 17];
    size_t bytes;
};

static inline void gz_put(struct gz *gz, const void *data, size_t bytes)
{
    if (gz->bytes + bytes > sizeof(gz->data))
        abort();
    memcpy(gz->data + gz->bytes, data, bytes);
    gz->bytes += bytes;
}

static inline void gz_put_u32(struct gz *gz, uint32_t word)
{
    const uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24) };
    gz_put(gz, bytes, 4);
}

static inline void gz_put_header(struct gz *gz, unsigned flags)
{
    size_t begin = gz->bytes;
    const uint8_t fixed[10] = { 0x1f, 0x8b, 8, (uint8_t)flags, 1, 2, 3, 4, 0, 3 };
    gz_put(gz, fixed, 10);
    if (flags & GZ_EXTRA)
        gz_put(gz,
               "\x05\x00"
               "extra",
               7);
    if (flags & GZ_NAME)
        gz_put(gz, "trace.json", 11);
    if (flags & GZ_COMMENT)
        gz_put(gz, "of a test", 10);
    if (flags & GZ_HCRC) {
        unsigned long crc = crc32(0, gz->data + begin, (uInt)(gz->bytes - begin));
        const uint8_t low[2] = { (uint8_t)crc, (uint8_t)(crc >> 8) };
        gz_put(gz, low, 2);
    }
}

static inline void gz_put_deflate(struct gz *gz, const void *content, size_t bytes, int level)
{
    z_stream stream = { 0 };
    if (deflateInit2(&stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    stream.next_in = (Bytef *)(uintptr_t)content;
    stream.avail_in = (uInt)bytes;
    stream.next_out = gz->data + gz->bytes;
    stream.avail_out = (uInt)(sizeof(gz->data) - gz->bytes);
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    gz->bytes += stream.total_out;
    deflateEnd(&stream);
}

/** @crc_xor and @size_add falsify the trailer. */
static inline void gz_put_member(struct gz *gz, unsigned flags, const void *content, size_t bytes, int level,
                                 uint32_t crc_xor, uint32_t size_add)
{
    gz_put_header(gz, flags);
    gz_put_deflate(gz, content, bytes, level);
    gz_put_u32(gz, (uint32_t)crc32(0, content, (uInt)bytes) ^ crc_xor);
    gz_put_u32(gz, (uint32_t)bytes + size_add);
}

/** One sound member. */
static inline void gz_of(struct gz *gz, const void *content, size_t bytes)
{
    gz->bytes = 0;
    gz_put_member(gz, GZ_NAME, content, bytes, 6, 0, 0);
}

#endif
