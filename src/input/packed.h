/* SPDX-License-Identifier: MIT
 * packed.h - what zstd or xz packed, undone as it is read. Which of them are built in is settled at configure time. One more
 * format: a file with its struct ap_codec, and a line in packed.c and meson.build. */
#ifndef AP_PACKED_H
#define AP_PACKED_H

#include "container.h"
#include "inflate.h"
#include "raw_source.h"

/** One format of compressed files, by the library that knows it. */
struct ap_codec {
    const char *name;
    bool (*is_beginning)(const uint8_t *data, size_t bytes);
    void *(*begin)(struct ap_gate *gate); /* NULL when the gate refuses */
    void (*release)(void *decoder);
    /** One step, as ap_inflater_step; @ended: no input follows @io. AP_INFLATE_DONE: what was taken is whole, and more may
     *  follow. */
    enum ap_inflate_result (*step)(void *decoder, struct ap_inflate_io *io, bool ended);
};

/** Those whose library was there, NULL behind the last. */
extern const struct ap_codec *const ap_codecs[];

/** Which of them packed what begins so, or NULL. */
const struct ap_codec *ap_codec_of(const struct ap_container_head *head);

struct ap_packed {
    struct ap_gate *gate;
    struct ap_raw_source *raw;
    const struct ap_codec *codec;
    void *decoder;
    bool salvage, ended, whole;
    const uint8_t *in; /* borrowed from raw */
    size_t in_bytes;
    uint64_t made_bytes;
    enum ap_status status; /* the failure that every further call repeats */
    struct ap_error error;
    bool salvaged; /* the rest behind made_bytes is broken and was left out */
};

/** Borrows @raw. @salvage: broken data ends the input as if the file were cut there. Nothing to release after a failure. */
AP_MUST_CHECK enum ap_status ap_packed_init(struct ap_packed *packed, struct ap_gate *gate, struct ap_raw_source *raw,
                                            const struct ap_codec *codec, bool salvage, struct ap_error *reterr);
/** Fine for one that was cleared and never begun. */
void ap_packed_release(struct ap_packed *packed);

/** As ap_gzip_read. */
AP_MUST_CHECK enum ap_status ap_packed_read(struct ap_packed *packed, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                            struct ap_error *reterr);

#endif
