/* SPDX-License-Identifier: MIT
 * log_line.h - a line of a text log as PyTorch's loggers write it:
 *     [rank0]:V1123 10:09:24.548000 14867 torch/_dynamo/guards.py:637] [0/1] [__recompiles] Recompiling function f
 * with what torchrun and others put before it; before PyTorch 2.3 as Python's logging writes it:
 *     [2024-01-10 12:11:29,121] [0/1] torch._dynamo.guards.__recompiles: [DEBUG] Recompiling function f */
#ifndef AP_LOG_LINE_H
#define AP_LOG_LINE_H

#include "base.h"

struct ap_log_line {
    struct ap_text source;   /* torch/_dynamo/guards.py:637; of the older form torch._dynamo.guards.__recompiles */
    struct ap_text artifact; /* of the older form, "__recompiles"; else empty, and "[__recompiles]" stands in the message */
    struct ap_text message;  /* behind the bracket and a blank */
};

/** False where @line does not begin so. The texts are parts of @line. */
bool ap_log_line_parse(struct ap_text line, struct ap_log_line *ret_line);

/** Do the first bytes of a text hold a line that the compiler of PyTorch wrote, or its structured log? */
bool ap_is_compile_log(const void *data, size_t bytes);

#endif
