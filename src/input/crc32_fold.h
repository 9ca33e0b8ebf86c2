/* SPDX-License-Identifier: MIT
 * crc32_fold.h - gzip's checksum, at the processor's best, where zlib is what inflates. */
#ifndef AP_CRC32_FOLD_H
#define AP_CRC32_FOLD_H

#include <stddef.h>
#include <stdint.h>

/** As zlib's crc32_z(): begin with 0. */
uint32_t ap_crc32(uint32_t crc, const uint8_t *data, size_t bytes);

#endif
