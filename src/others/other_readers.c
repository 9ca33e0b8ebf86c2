/* SPDX-License-Identifier: MIT */
#include "other_reader.h"

#include "poison.h"

const struct ap_other_reader *const ap_other_readers[] = { &ap_onnx_reader, &ap_tensorrt_reader, &ap_compile_log_reader };
const size_t ap_other_reader_count = AP_COUNT_OF(ap_other_readers);
