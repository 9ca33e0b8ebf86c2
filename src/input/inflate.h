/* SPDX-License-Identifier: MIT
 * inflate.h - raw deflate and its checksum, by whichever library was chosen at configure time.
 * Exactly one of inflate_zlib.c and inflate_isal.c is built in. Neither sees gzip headers or trailers: those are read
 * and verified in gzip.c, so that both libraries accept, refuse and deliver the same. */
#ifndef AP_INFLATE_H
#define AP_INFLATE_H

#include "mem.h"

struct ap_inflater;

/** What is left to read and to fill; a step moves all four on. */
struct ap_inflate_io {
    const uint8_t *in;
    size_t in_bytes;
    uint8_t *out;
    size_t out_bytes;
};

enum ap_inflate_result {
    AP_INFLATE_MORE,    /* goes on: with more input or more room */
    AP_INFLATE_DONE,    /* the deflate stream has ended; io->in stands behind it, but for the unread bytes */
    AP_INFLATE_CORRUPT, /* not deflate; what was made before the broken place is in io->out */
    AP_INFLATE_NO_MEMORY,
    AP_INFLATE_TOO_LARGE /* it needs more memory than files of that kind are given */
};

/** NULL when the gate refuses. */
AP_MUST_CHECK struct ap_inflater *ap_inflater_new(struct ap_gate *gate);
void ap_inflater_free(struct ap_inflater *inflater); /* NULL is fine */
/** Ready for another stream. */
void ap_inflater_reset(struct ap_inflater *inflater);
/** Both sizes at most 1 GiB. Without input it still hands out what it has decoded. */
AP_MUST_CHECK enum ap_inflate_result ap_inflater_step(struct ap_inflater *inflater, struct ap_inflate_io *io);

enum { AP_INFLATE_UNREAD_MAX = 8 };
/** After AP_INFLATE_DONE: the bytes behind the stream that the library had already taken out of the input. */
size_t ap_inflater_unread(const struct ap_inflater *inflater, uint8_t to[AP_INFLATE_UNREAD_MAX]);

/** CRC-32 as in gzip; begin with 0. */
uint32_t ap_inflate_crc32(uint32_t crc, const uint8_t *data, size_t bytes);
/** Of the library, for --version. */
const char *ap_inflate_name(void);

#endif
