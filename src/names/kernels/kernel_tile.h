/* SPDX-License-Identifier: MIT
 * kernel_tile.h - the tile of a matrix kernel, where its name tells it. */
#ifndef AP_KERNEL_TILE_H
#define AP_KERNEL_TILE_H

#include "base.h"

struct ap_kernel_tile {
    unsigned rows, columns; /* in the order of the name: which of them lies along which side differs by library */
    bool splits_inner;      /* several tiles share an output and add up */
};

/** "MT256x192x64", "tilesize128x128x64", "nvjet_tst_144x128_64x6", "s16816gemm_f16_128x256_32x3", "bt128x128x8". False where
 *  the name tells none. */
bool ap_kernel_tile_of(struct ap_text name, struct ap_kernel_tile *ret_tile);
/** Does the name say that operands of tensor cores are loaded by one or two elements ("align1", "align2"), as sizes that are
 *  no multiple of 16 bytes make it? Without tensor cores, and for numbers of 64 bits, such kernels are the usual ones. */
bool ap_kernel_loads_narrowly(struct ap_text name);
/** Does the name say that several groups share the inner size: "splitK", "split_k", Tensile's "GSU4"? */
bool ap_kernel_splits_inner(struct ap_text name);
/** The major compute capability of the NVIDIA device that the name was made for: 8 of "sm80", "ampere_". 0 where it does not
 *  tell. "nvjet" is of all from 9 on. */
int ap_kernel_generation(struct ap_text name);

#endif
