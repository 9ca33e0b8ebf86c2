/* SPDX-License-Identifier: MIT
 * pretend_cuda.h - what the pretended CUDA has beside CUDA's own calls. */
#ifndef PRETEND_CUDA_H
#define PRETEND_CUDA_H

/** As in a new process: nothing loaded, nothing allocated, the clock at its beginning. */
void pretend_cuda_reset(void);

#endif
