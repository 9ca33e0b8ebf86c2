/* SPDX-License-Identifier: MIT */
#include "byte_source.h"

#include <string.h>

#include "poison.h"

static enum ap_status read_text(void *self, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct ap_text *rest = self;
    size_t bytes = rest->bytes < cap_bytes ? rest->bytes : cap_bytes;
    (void)reterr;
    if (bytes)
        memcpy(to, rest->data, bytes);
    *rest = (struct ap_text){ rest->data + bytes, rest->bytes - bytes };
    *ret_bytes = bytes;
    return AP_OK;
}

struct ap_byte_source ap_text_source(struct ap_text *rest)
{
    return (struct ap_byte_source){ .read = read_text, .self = rest };
}
