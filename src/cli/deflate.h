/* SPDX-License-Identifier: MIT
 * deflate.h - gzip on the way to an output. */
#ifndef AP_DEFLATE_H
#define AP_DEFLATE_H

#include <zlib.h>

#include "analyze_profile/analyze_profile.h"

struct ap_deflate {
    ap_write_fn *write; /* takes what is compressed */
    void *write_self;
    z_stream stream;
    char buffer[65536];
};

/** Writes compressed bytes to @write; release it when this succeeded. */
enum ap_status ap_deflate_init(struct ap_deflate *gzip, ap_write_fn *write, void *write_self, struct ap_error *reterr);
/** An ap_write_fn. */
enum ap_status ap_deflate_write(void *deflate, const char *data, size_t bytes, struct ap_error *reterr);
/** What is left, and the checksum. */
enum ap_status ap_deflate_finish(struct ap_deflate *gzip, struct ap_error *reterr);
void ap_deflate_release(struct ap_deflate *gzip);

#endif
