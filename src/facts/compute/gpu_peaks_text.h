/* SPDX-License-Identifier: MIT
 * gpu_peaks_text.h - the bytes of references/gpu-peaks.md, put there by tools/embed_text.py at build time. */
#ifndef AP_GPU_PEAKS_TEXT_H
#define AP_GPU_PEAKS_TEXT_H

#include <stddef.h>

extern const unsigned char ap_gpu_peaks_text[];
extern const size_t ap_gpu_peaks_text_bytes;

#endif
