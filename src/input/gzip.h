/* SPDX-License-Identifier: MIT
 * gzip.h - the members of a gzip file one after the other (RFC 1952): headers, checksums, what follows the last one. */
#ifndef AP_GZIP_H
#define AP_GZIP_H

#include "inflate.h"
#include "raw_source.h"

/** What was odd and survived. Filled where the bytes are read, told to the notes where they are used. */
struct ap_gzip_oddities {
    uint64_t padding_bytes, padding_offset;
    bool trailing_data;
    uint64_t trailing_raw_offset, trailing_offset;
    uint64_t checksum_count, checksum_offset;
    bool salvaged;
    uint64_t salvaged_offset;
};

enum ap_gzip_stage { AP_GZIP_HEADER, AP_GZIP_BODY, AP_GZIP_TRAILER, AP_GZIP_BETWEEN, AP_GZIP_ENDED };

struct ap_gzip {
    struct ap_gate *gate;
    struct ap_raw_source *raw;
    struct ap_inflater *inflater;
    bool salvage;
    enum ap_gzip_stage stage;
    const uint8_t *in; /* borrowed from raw */
    size_t in_bytes;
    uint8_t unread[AP_INFLATE_UNREAD_MAX]; /* stands before `in` */
    size_t unread_at, unread_end;
    uint64_t raw_taken_bytes; /* handed out by raw, `in` included */
    uint64_t made_bytes;      /* of all members: the offset in the decompressed input */
    uint32_t member_bytes, member_crc, header_crc;
    uint64_t header_bytes;
    enum ap_status status; /* the failure that every further call repeats */
    struct ap_error error;
    struct ap_gzip_oddities odd;
};

/** Borrows @raw. @salvage: a wrong checksum is noted, and broken data ends the input, instead of failing. */
AP_MUST_CHECK enum ap_status ap_gzip_init(struct ap_gzip *gzip, struct ap_gate *gate, struct ap_raw_source *raw,
                                          bool salvage, struct ap_error *reterr);
void ap_gzip_release(struct ap_gzip *gzip);

/** Store 1..cap bytes; AP_END after the last member. AP_ERROR_CUT where the file ends within a member, AP_ERROR_INPUT
 *  where it is broken (AP_ERROR_CUT with salvage): all bytes before that were stored by earlier calls. */
AP_MUST_CHECK enum ap_status ap_gzip_read(struct ap_gzip *gzip, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                          struct ap_error *reterr);

#endif
