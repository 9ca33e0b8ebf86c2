/* SPDX-License-Identifier: MIT */
#include "gzip.h"

#include "poison.h"

/* Name and comment have no length limit in the format; nothing believable comes near this one. */
#define HEADER_MAX_BYTES ((uint64_t)1 << 20)

enum { MAGIC_1 = 0x1f, MAGIC_2 = 0x8b, METHOD_DEFLATE = 8 };
enum { FLAG_HEADER_CRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAGS_RESERVED = 0xe0 };

enum ap_status ap_gzip_init(struct ap_gzip *gzip, struct ap_gate *gate, struct ap_raw_source *raw, bool salvage,
                            struct ap_error *reterr)
{
    *gzip = (struct ap_gzip){ .gate = gate, .raw = raw, .salvage = salvage };
    gzip->inflater = ap_inflater_new(gate);
    return gzip->inflater ? AP_OK : ap_fail_memory(gate, reterr);
}

void ap_gzip_release(struct ap_gzip *gzip)
{
    ap_inflater_free(gzip->inflater);
}

static enum ap_status fail_cut(const struct ap_gzip *gzip, const char *where, struct ap_error *reterr)
{
    return ap_fail_at(reterr, AP_ERROR_CUT, gzip->made_bytes,
                      "the gzip file ends within %s, after %llu bytes of content: it was cut (a killed job, a full disk, "
                      "a broken transfer)",
                      where, (unsigned long long)gzip->made_bytes);
}

static enum ap_status fail_broken(struct ap_gzip *gzip, const char *what, struct ap_error *reterr)
{
    if (gzip->salvage) {
        gzip->odd.salvaged = true;
        gzip->odd.salvaged_offset = gzip->made_bytes;
        return ap_fail_at(reterr, AP_ERROR_CUT, gzip->made_bytes, "the gzip file is broken (%s) after %llu bytes of content",
                          what, (unsigned long long)gzip->made_bytes);
    }
    return ap_advise(reterr, AP_ADVICE_SALVAGE,
                     ap_fail_at(reterr, AP_ERROR_INPUT, gzip->made_bytes,
                                "the gzip file is broken (%s) after %llu bytes of content: copy it again from where it came",
                                what, (unsigned long long)gzip->made_bytes));
}

static enum ap_status refill(struct ap_gzip *gzip, struct ap_error *reterr)
{
    AP_TRY(ap_raw_source_next(gzip->raw, &gzip->in, &gzip->in_bytes, reterr));
    gzip->raw_taken_bytes += gzip->in_bytes;
    return AP_OK;
}

/* AP_END where the file ends. */
static enum ap_status next_byte(struct ap_gzip *gzip, uint8_t *ret_byte, struct ap_error *reterr)
{
    if (gzip->unread_at < gzip->unread_end) {
        *ret_byte = gzip->unread[gzip->unread_at++];
        return AP_OK;
    }
    if (gzip->in_bytes == 0)
        AP_TRY(refill(gzip, reterr));
    *ret_byte = *gzip->in++;
    gzip->in_bytes--;
    return AP_OK;
}

static enum ap_status header_byte(struct ap_gzip *gzip, uint8_t *ret_byte, struct ap_error *reterr)
{
    enum ap_status status = next_byte(gzip, ret_byte, reterr);
    if (status == AP_END)
        return fail_cut(gzip, "the header of a member", reterr);
    AP_TRY(status);
    if (++gzip->header_bytes > HEADER_MAX_BYTES)
        return fail_broken(gzip, "the header of a member has no end", reterr);
    gzip->header_crc = ap_inflate_crc32(gzip->header_crc, ret_byte, 1);
    return AP_OK;
}

static enum ap_status skip_header_bytes(struct ap_gzip *gzip, size_t bytes, struct ap_error *reterr)
{
    uint8_t byte;
    while (bytes--)
        AP_TRY(header_byte(gzip, &byte, reterr));
    return AP_OK;
}

static enum ap_status skip_header_text(struct ap_gzip *gzip, struct ap_error *reterr)
{
    uint8_t byte;
    do
        AP_TRY(header_byte(gzip, &byte, reterr));
    while (byte != 0);
    return AP_OK;
}

static enum ap_status checksum_differs(struct ap_gzip *gzip, const char *what, struct ap_error *reterr)
{
    if (gzip->salvage) {
        if (gzip->odd.checksum_count++ == 0)
            gzip->odd.checksum_offset = gzip->made_bytes;
        return AP_OK;
    }
    return ap_advise(reterr, AP_ADVICE_SALVAGE,
                     ap_fail_at(reterr, AP_ERROR_INPUT, gzip->made_bytes,
                                "the %s in the gzip file does not fit its content: the file was damaged and its content "
                                "cannot be relied on; copy it again from where it came",
                                what));
}

static enum ap_status check_header_crc(struct ap_gzip *gzip, struct ap_error *reterr)
{
    uint32_t crc = gzip->header_crc & 0xffff;
    uint8_t low, high;
    AP_TRY(header_byte(gzip, &low, reterr));
    AP_TRY(header_byte(gzip, &high, reterr));
    if (crc != (uint32_t)(low | high << 8))
        return checksum_differs(gzip, "header checksum", reterr);
    return AP_OK;
}

/* The two magic bytes were read by the stage before, which had to look at them. */
static enum ap_status read_header(struct ap_gzip *gzip, struct ap_error *reterr)
{
    static const uint8_t magic[2] = { MAGIC_1, MAGIC_2 };
    gzip->header_crc = ap_inflate_crc32(0, magic, sizeof(magic));
    gzip->header_bytes = sizeof(magic);
    uint8_t method, flags;
    AP_TRY(header_byte(gzip, &method, reterr));
    if (method != METHOD_DEFLATE)
        return fail_broken(gzip, "unknown compression method", reterr);
    AP_TRY(header_byte(gzip, &flags, reterr));
    if (flags & FLAGS_RESERVED)
        return fail_broken(gzip, "unknown header flags", reterr);
    AP_TRY(skip_header_bytes(gzip, 6, reterr)); /* time, compression level, system */
    if (flags & FLAG_EXTRA) {
        uint8_t low, high;
        AP_TRY(header_byte(gzip, &low, reterr));
        AP_TRY(header_byte(gzip, &high, reterr));
        AP_TRY(skip_header_bytes(gzip, (size_t)(low | high << 8), reterr));
    }
    if (flags & FLAG_NAME)
        AP_TRY(skip_header_text(gzip, reterr));
    if (flags & FLAG_COMMENT)
        AP_TRY(skip_header_text(gzip, reterr));
    if (flags & FLAG_HEADER_CRC)
        AP_TRY(check_header_crc(gzip, reterr));
    gzip->member_bytes = 0;
    gzip->member_crc = 0;
    ap_inflater_reset(gzip->inflater);
    gzip->stage = AP_GZIP_BODY;
    return AP_OK;
}

/* One step of the inflater; unread bytes come before the rest of the input, but only headers and trailers meet them. */
static enum ap_status read_body(struct ap_gzip *gzip, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                struct ap_error *reterr)
{
    bool ended = false;
    if (gzip->in_bytes == 0) {
        enum ap_status status = refill(gzip, reterr);
        ended = status == AP_END;
        if (!ended)
            AP_TRY(status);
    }
    struct ap_inflate_io io = { gzip->in, gzip->in_bytes, to, cap_bytes };
    enum ap_inflate_result result = ap_inflater_step(gzip->inflater, &io);
    size_t made = cap_bytes - io.out_bytes;
    bool stuck = made == 0 && io.in_bytes == gzip->in_bytes;
    gzip->in = io.in;
    gzip->in_bytes = io.in_bytes;
    gzip->member_crc = ap_inflate_crc32(gzip->member_crc, to, made);
    gzip->member_bytes += (uint32_t)made; /* modulo 2^32, as in the trailer */
    gzip->made_bytes += made;
    *ret_bytes = made;
    switch (result) {
    case AP_INFLATE_DONE:
        gzip->unread_at = 0;
        gzip->unread_end = ap_inflater_unread(gzip->inflater, gzip->unread);
        gzip->stage = AP_GZIP_TRAILER;
        return AP_OK;
    case AP_INFLATE_MORE:
        if (!stuck)
            return AP_OK;
        return ended ? fail_cut(gzip, "the compressed data", reterr) : fail_broken(gzip, "no way on", reterr);
    case AP_INFLATE_NO_MEMORY: return ap_fail_memory(gzip->gate, reterr);
    case AP_INFLATE_TOO_LARGE: /* never of gzip */
    case AP_INFLATE_CORRUPT: break;
    }
    return fail_broken(gzip, "invalid compressed data", reterr);
}

static enum ap_status read_trailer(struct ap_gzip *gzip, struct ap_error *reterr)
{
    uint32_t words[2] = { 0, 0 };
    for (unsigned i = 0; i < 8; i++) {
        uint8_t byte;
        enum ap_status status = next_byte(gzip, &byte, reterr);
        if (status == AP_END)
            return fail_cut(gzip, "the checksum", reterr);
        AP_TRY(status);
        words[i / 4] |= (uint32_t)byte << 8 * (i % 4);
    }
    gzip->stage = AP_GZIP_BETWEEN;
    if (words[0] != gzip->member_crc)
        return checksum_differs(gzip, "checksum", reterr);
    if (words[1] != gzip->member_bytes)
        return checksum_differs(gzip, "length", reterr);
    return AP_OK;
}

static void leave_out_rest(struct ap_gzip *gzip, unsigned bytes_seen)
{
    gzip->odd.trailing_data = true;
    gzip->odd.trailing_offset = gzip->made_bytes;
    gzip->odd.trailing_raw_offset =
        gzip->raw_taken_bytes - gzip->in_bytes - (gzip->unread_end - gzip->unread_at) - bytes_seen;
    gzip->stage = AP_GZIP_ENDED;
}

/* Behind a member: the end, zero bytes, another member, or what gzip calls trailing garbage. Members behind zero bytes
 * are read, which gzip does not do and Python's gzip does: nothing is lost that way. */
static enum ap_status read_between(struct ap_gzip *gzip, struct ap_error *reterr)
{
    uint8_t byte;
    for (;;) {
        enum ap_status status = next_byte(gzip, &byte, reterr);
        if (status == AP_END) {
            gzip->stage = AP_GZIP_ENDED;
            return AP_OK;
        }
        AP_TRY(status);
        if (byte != 0)
            break;
        if (gzip->odd.padding_bytes++ == 0)
            gzip->odd.padding_offset = gzip->made_bytes;
    }
    if (byte != MAGIC_1) {
        leave_out_rest(gzip, 1);
        return AP_OK;
    }
    enum ap_status status = next_byte(gzip, &byte, reterr);
    if (status == AP_END)
        return fail_cut(gzip, "the header of a member", reterr);
    AP_TRY(status);
    if (byte != MAGIC_2)
        leave_out_rest(gzip, 2);
    else
        gzip->stage = AP_GZIP_HEADER;
    return AP_OK;
}

/* The caller has seen the magic bytes of the first member, or as much of them as there is. */
static enum ap_status read_first_magic(struct ap_gzip *gzip, struct ap_error *reterr)
{
    uint8_t byte;
    for (int i = 0; i < 2; i++)
        AP_TRY(header_byte(gzip, &byte, reterr));
    return AP_OK;
}

static enum ap_status read_some(struct ap_gzip *gzip, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                struct ap_error *reterr)
{
    *ret_bytes = 0;
    if (gzip->raw_taken_bytes == 0)
        AP_TRY(read_first_magic(gzip, reterr));
    while (*ret_bytes == 0) {
        switch (gzip->stage) {
        case AP_GZIP_HEADER: AP_TRY(read_header(gzip, reterr)); break;
        case AP_GZIP_BODY: AP_TRY(read_body(gzip, to, cap_bytes, ret_bytes, reterr)); break;
        case AP_GZIP_TRAILER: AP_TRY(read_trailer(gzip, reterr)); break;
        case AP_GZIP_BETWEEN: AP_TRY(read_between(gzip, reterr)); break;
        case AP_GZIP_ENDED: return AP_END;
        }
    }
    return AP_OK;
}

enum ap_status ap_gzip_read(struct ap_gzip *gzip, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    size_t bytes = 0;
    if (gzip->status == AP_OK)
        gzip->status = read_some(gzip, to, cap_bytes, &bytes, &gzip->error);
    if (gzip->status == AP_OK || (bytes > 0 && gzip->status != AP_END)) {
        *ret_bytes = bytes; /* bytes made before a broken place count; the failure shows in the next call */
        return AP_OK;
    }
    if (gzip->status != AP_END)
        *reterr = gzip->error;
    return gzip->status;
}
