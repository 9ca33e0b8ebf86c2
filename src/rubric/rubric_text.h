/* SPDX-License-Identifier: MIT
 * rubric_text.h - the bytes of references/interpretation.md, put there by tools/embed_text.py at build time. */
#ifndef AP_RUBRIC_TEXT_H
#define AP_RUBRIC_TEXT_H

#include <stddef.h>

extern const unsigned char ap_rubric_text[];
extern const size_t ap_rubric_text_bytes;

#endif
