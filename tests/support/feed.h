/* SPDX-License-Identifier: MIT
 * feed.h - a byte source over a memory block that hands out pieces of a chosen size, so that every reader can be
 * tested at every chunk edge: whole, byte by byte, in 7-byte pieces.
 *
 *     struct feed feed = feed_of(text, strlen(text), 7);
 *     struct ap_byte_source source = feed_source(&feed);
 */
#ifndef AP_FEED_H
#define AP_FEED_H

#include <string.h>

#include "base.h"
#include "byte_source.h"

struct feed {
    const uint8_t *data;
    size_t bytes, at;
    size_t piece_bytes;    /* most that one read hands out; 0 = as much as is asked for */
    enum ap_status at_end; /* AP_OK: a true end. Else every read at the end fails so, e.g. AP_ERROR_CUT */
};

/** Borrows @data; @piece_bytes 0 means in one piece. */
static inline struct feed feed_of(const void *data, size_t bytes, size_t piece_bytes)
{
    return (struct feed){ .data = data, .bytes = bytes, .piece_bytes = piece_bytes, .at_end = AP_OK };
}

static inline enum ap_status feed_read(void *self, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct feed *feed = self;
    size_t take = feed->bytes - feed->at;
    if (take == 0 && feed->at_end != AP_OK)
        return ap_fail(reterr, feed->at_end, "the fed block ends here");
    if (take > cap_bytes)
        take = cap_bytes;
    if (feed->piece_bytes && take > feed->piece_bytes)
        take = feed->piece_bytes;
    if (take)
        memcpy(to, feed->data + feed->at, take);
    feed->at += take;
    *ret_bytes = take;
    return AP_OK;
}

/** @feed must live as long as the source is read. */
static inline struct ap_byte_source feed_source(struct feed *feed)
{
    return (struct ap_byte_source){ .read = feed_read, .self = feed };
}

#endif
