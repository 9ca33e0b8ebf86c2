/* SPDX-License-Identifier: MIT */
#include "deflate.h"

#include <string.h>

#include "base.h"

#define LEVEL 4               /* half the time of the default for some per cent more bytes */
#define WINDOW_BITS (15 + 16) /* the largest, with a gzip header that holds no time */
#define PIECE_BYTES ((size_t)1 << 20)

enum ap_status ap_deflate_init(struct ap_deflate *gzip, ap_write_fn *write, void *write_self, struct ap_error *reterr)
{
    memset(gzip, 0, sizeof(*gzip));
    gzip->write = write;
    gzip->write_self = write_self;
    if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return AP_OK;
    return ap_fail(reterr, AP_ERROR_MEMORY, "out of memory for compressing");
}

/* All that is in next_in, and with Z_FINISH all that zlib still holds. */
static enum ap_status drive(struct ap_deflate *gzip, int flush, struct ap_error *reterr)
{
    z_stream *stream = &gzip->stream;
    do {
        stream->next_out = (Bytef *)gzip->buffer;
        stream->avail_out = sizeof(gzip->buffer);
        (void)deflate(stream, flush);
        size_t bytes = sizeof(gzip->buffer) - stream->avail_out;
        if (bytes)
            AP_TRY(gzip->write(gzip->write_self, gzip->buffer, bytes, reterr));
    } while (stream->avail_out == 0);
    return AP_OK;
}

enum ap_status ap_deflate_write(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct ap_deflate *gzip = self;
    while (bytes) {
        size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        gzip->stream.next_in = (z_const Bytef *)data;
        gzip->stream.avail_in = (uInt)piece;
        AP_TRY(drive(gzip, Z_NO_FLUSH, reterr));
        data += piece;
        bytes -= piece;
    }
    return AP_OK;
}

enum ap_status ap_deflate_finish(struct ap_deflate *gzip, struct ap_error *reterr)
{
    return drive(gzip, Z_FINISH, reterr);
}

void ap_deflate_release(struct ap_deflate *gzip)
{
    (void)deflateEnd(&gzip->stream);
}
