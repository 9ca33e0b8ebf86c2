/* SPDX-License-Identifier: MIT
 * section_host_alone.c - where the time of the host goes, for traces of tracers that know no device. */
#include "sections.h"

#include "poison.h"

static const struct doc_part parts[] = {
    ROWS("Python lines", .path = "frames.items",
         .remark = ": the innermost Python line outside the standard library and PyTorch, with what it calls",
         COLUMNS(NAME("name", "Line"), NUMBER("count", "Calls"), NUMBER("host_self_us", "Host self (us)"))),
};

const struct doc_section ap_section_host_alone = { .title = "Where the time goes",
                                                   .if_any = { "frames" },
                                                   .parts = COUNTED(parts) };
