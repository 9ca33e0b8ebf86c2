/* SPDX-License-Identifier: MIT
 * out.h - text on its way out: buffered, with a sticky failure, so that writers append freely and check once. */
#ifndef AP_OUT_H
#define AP_OUT_H

#include "base.h"

/** Takes finished bytes. */
struct ap_sink {
    enum ap_status (*write)(void *self, const char *data, size_t bytes, struct ap_error *reterr);
    void *self;
};

struct ap_out {
    struct ap_sink sink;
    enum ap_status status;
    struct ap_error error;
    size_t used_bytes;
    char buffer[16384];
};

/** Empty, and without a failure. */
void ap_out_init(struct ap_out *out, struct ap_sink sink);
/** Append. After a failure of the sink nothing is written any more. */
void ap_out_text(struct ap_out *out, struct ap_text text);
static inline void ap_out_string(struct ap_out *out, const char *nul_terminated)
{
    ap_out_text(out, ap_text_of(nul_terminated));
}
static inline void ap_out_char(struct ap_out *out, char c)
{
    if (AP_LIKELY(out->used_bytes < sizeof(out->buffer)))
        out->buffer[out->used_bytes++] = c;
    else
        ap_out_text(out, (struct ap_text){ &c, 1 });
}
/** All its digits. */
void ap_out_integer(struct ap_out *out, int64_t number);
/** Append formatted text of at most 1023 bytes; what is longer is cut. */
void ap_out_format(struct ap_out *out, const char *format, ...) AP_PRINTF(2, 3);
/** @ns as microseconds with up to three exact decimals: 1500 -> 1.5, 2000 -> 2. */
void ap_out_microseconds(struct ap_out *out, int64_t ns);
/** Shortest form with at most nine significant digits that every machine prints alike; "null" where not finite. */
void ap_out_number(struct ap_out *out, double number);
/** Flush; the first failure of any append shows here. */
AP_MUST_CHECK enum ap_status ap_out_finish(struct ap_out *out, struct ap_error *reterr);

#endif
