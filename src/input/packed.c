/* SPDX-License-Identifier: MIT */
#include "packed.h"

#include "poison.h"

extern const struct ap_codec ap_codec_zstd, ap_codec_xz;

const struct ap_codec *const ap_codecs[] = {
#ifdef AP_HAS_ZSTD
    &ap_codec_zstd,
#endif
#ifdef AP_HAS_XZ
    &ap_codec_xz,
#endif
    NULL,
};

const struct ap_codec *ap_codec_of(const struct ap_container_head *head)
{
    for (const struct ap_codec *const *codec = ap_codecs; *codec; codec++)
        if ((*codec)->is_beginning(head->data, head->bytes))
            return *codec;
    return NULL;
}

enum ap_status ap_packed_init(struct ap_packed *packed, struct ap_gate *gate, struct ap_raw_source *raw,
                              const struct ap_codec *codec, bool salvage, struct ap_error *reterr)
{
    *packed = (struct ap_packed){ .gate = gate, .raw = raw, .codec = codec, .salvage = salvage };
    packed->decoder = codec->begin(gate);
    if (packed->decoder)
        return AP_OK;
    packed->codec = NULL;
    return ap_fail_memory(gate, reterr);
}

void ap_packed_release(struct ap_packed *packed)
{
    if (packed->codec)
        packed->codec->release(packed->decoder);
    packed->codec = NULL;
}

static enum ap_status fail_cut(const struct ap_packed *packed, struct ap_error *reterr)
{
    return ap_fail_at(
        reterr, AP_ERROR_CUT, packed->made_bytes,
        "the %s file ends within the compressed data, after %llu bytes of content: it was cut (a killed job, a "
        "full disk, a broken transfer)",
        packed->codec->name, (unsigned long long)packed->made_bytes);
}

static enum ap_status fail_broken(struct ap_packed *packed, struct ap_error *reterr)
{
    if (packed->salvage) {
        packed->salvaged = true;
        return ap_fail_at(reterr, AP_ERROR_CUT, packed->made_bytes, "the %s file is broken after %llu bytes of content",
                          packed->codec->name, (unsigned long long)packed->made_bytes);
    }
    return ap_advise(reterr, AP_ADVICE_SALVAGE,
                     ap_fail_at(reterr, AP_ERROR_INPUT, packed->made_bytes,
                                "the %s file is broken after %llu bytes of content: copy it again from where it came",
                                packed->codec->name, (unsigned long long)packed->made_bytes));
}

/* One step of the decoder. AP_END where all was read and is whole. */
static enum ap_status read_some(struct ap_packed *packed, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                struct ap_error *reterr)
{
    if (packed->in_bytes == 0 && !packed->ended) {
        enum ap_status status = ap_raw_source_next(packed->raw, &packed->in, &packed->in_bytes, reterr);
        packed->ended = status == AP_END;
        if (!packed->ended)
            AP_TRY(status);
    }
    struct ap_inflate_io io = { packed->in, packed->in_bytes, to, cap_bytes };
    enum ap_inflate_result result = packed->codec->step(packed->decoder, &io, packed->ended);
    bool stuck = io.out_bytes == cap_bytes && io.in_bytes == packed->in_bytes;
    *ret_bytes = cap_bytes - io.out_bytes;
    packed->in = io.in;
    packed->in_bytes = io.in_bytes;
    packed->made_bytes += *ret_bytes;
    if (result == AP_INFLATE_NO_MEMORY)
        return ap_fail_memory(packed->gate, reterr);
    if (result == AP_INFLATE_TOO_LARGE)
        return ap_fail_at(reterr, AP_ERROR_INPUT, packed->made_bytes,
                          "the %s file needs more memory to be unpacked than is usual: unpack it, and give what comes out",
                          packed->codec->name);
    if (result == AP_INFLATE_CORRUPT)
        return fail_broken(packed, reterr);
    if (result == AP_INFLATE_DONE)
        packed->whole = true;
    else if (!stuck)
        packed->whole = false;
    if (!stuck)
        return AP_OK;
    if (!packed->ended)
        return fail_broken(packed, reterr);
    return packed->whole ? AP_END : fail_cut(packed, reterr);
}

enum ap_status ap_packed_read(struct ap_packed *packed, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                              struct ap_error *reterr)
{
    size_t bytes = 0;
    while (packed->status == AP_OK && bytes == 0)
        packed->status = read_some(packed, to, cap_bytes, &bytes, &packed->error);
    if (bytes > 0 && packed->status != AP_END) {
        *ret_bytes = bytes; /* bytes made before a broken place count; the failure shows in the next call */
        return AP_OK;
    }
    if (packed->status != AP_END)
        *reterr = packed->error;
    return packed->status;
}
