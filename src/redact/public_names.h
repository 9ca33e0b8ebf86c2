/* SPDX-License-Identifier: MIT
 * public_names.h - the text of public_names.txt: names of PyTorch itself, one a line, in order of bytes. */
#ifndef AP_PUBLIC_NAMES_H
#define AP_PUBLIC_NAMES_H

#include <stddef.h>

extern const unsigned char ap_public_names[];
extern const size_t ap_public_names_bytes;

#endif
