/* SPDX-License-Identifier: MIT
 * kernel_name.h - how the names of C++ kernels are built: a result type, namespaces, the name, what it is made for. */
#ifndef AP_KERNEL_NAME_H
#define AP_KERNEL_NAME_H

#include "base.h"

/** The name without "void " or a templated result type before it. */
struct ap_text ap_kernel_without_result(struct ap_text name);
/** Bytes of a namespace without a name that begins at @at, as compilers spell it; 0 = none does. */
size_t ap_kernel_unnamed_bytes(struct ap_text name, size_t at);
/** The last part of the name, without namespaces, template arguments and parameters: "dgrad_engine". What is
 *  no C++ kernel by its form, as "aten::add_" or "gemm_128x64", stays whole. */
struct ap_text ap_kernel_short_name(struct ap_text name);
/** "CatArrayBatchedCopy<OpaqueType<2u>, ...>": kernels that only move elements tell how long each is. 0 = not told. */
int ap_kernel_element_bytes(struct ap_text kernel);

#endif
