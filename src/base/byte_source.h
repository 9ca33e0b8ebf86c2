/* SPDX-License-Identifier: MIT
 * byte_source.h - where bytes come from: the seam between input and json. */
#ifndef AP_BYTE_SOURCE_H
#define AP_BYTE_SOURCE_H

#include "base.h"

/** Bytes that may be used in place. At least AP_BLOCK_ROOM_BEFORE bytes before data may be overwritten (the unfinished end
 *  of the last block is put there), and AP_BLOCK_ROOM_AFTER zero bytes stand behind it. */
struct ap_block_view {
    uint8_t *data;
    size_t bytes; /* 0 = the true end */
};
#ifndef AP_BLOCK_ROOM_BEFORE /* less for fuzzers, whose sanitizer marks it byte by byte for each block */
#define AP_BLOCK_ROOM_BEFORE ((size_t)64 << 10)
#endif
#define AP_BLOCK_ROOM_AFTER ((size_t)64)

/** read() stores 1..cap bytes and returns AP_OK, or stores 0 bytes and returns AP_OK at the true end.
 *  borrow(), NULL where there is none, gives the next block without a copy instead; the two are not mixed. A block stays
 *  valid until the call after the next one.
 *  peek(), NULL where there is none, shows the block that is @ahead blocks behind the one that borrow() gives next, if it is
 *  there already: it does not move or change until it was borrowed, but for the room before it.
 *  AP_ERROR_CUT: the container (gzip) ended before its end; all bytes before that were delivered by earlier calls.
 *  After a failure every further call fails in the same way. */
struct ap_byte_source {
    enum ap_status (*read)(void *self, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr);
    enum ap_status (*borrow)(void *self, struct ap_block_view *ret_block, struct ap_error *reterr);
    bool (*peek)(void *self, unsigned ahead, struct ap_block_view *ret_block);
    void *self;
};

/** The bytes of @rest, which is what is left of them and has to stay where it is. */
struct ap_byte_source ap_text_source(struct ap_text *rest);

#endif
