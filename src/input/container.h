/* SPDX-License-Identifier: MIT
 * container.h - says by its first bytes what an input is. Knows foreign formats well enough to name them, no further. */
#ifndef AP_CONTAINER_H
#define AP_CONTAINER_H

#include "input.h"

/** The first bytes of an input, or all of it. */
struct ap_container_head {
    const uint8_t *data;
    size_t bytes;
    bool whole; /* nothing comes after them */
};

/** Does it begin like gzip? A single first byte of its magic counts: that is a gzip file cut there. */
bool ap_container_is_gzip(const struct ap_container_head *head);

/** AP_OK where the content is, or may still turn out to be, a JSON object or array; else AP_ERROR_INPUT with what it is
 *  and what to do. @is_inside a compressed file: for the wording. */
AP_MUST_CHECK enum ap_status ap_container_check(const struct ap_container_head *head, enum ap_input_role role,
                                                bool is_inside, struct ap_error *reterr);

/** The refusal of an input without content. */
enum ap_status ap_container_refuse_blank(bool empty, bool is_inside, struct ap_error *reterr);

/** The refusal of content that comes only behind much white space, and begins with @byte. */
enum ap_status ap_container_refuse_late(uint64_t blank_bytes, uint8_t byte, bool is_inside, struct ap_error *reterr);

/** Bytes of byte order mark and white space at the start. */
size_t ap_container_blank_bytes(const struct ap_container_head *head);

#endif
