/* SPDX-License-Identifier: MIT
 * row_twice.h - GPU work that a file lists twice, as merged files do. */
#ifndef AP_ROW_TWICE_H
#define AP_ROW_TWICE_H

#include "row_order.h"

/** Rows of GPU work that equal another of their track in name, start, duration and correlation, which is told. */
uint64_t ap_gpu_rows_twice(const struct ap_row_order *order, const struct ap_trace *trace);

#endif
