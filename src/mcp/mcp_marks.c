/* SPDX-License-Identifier: MIT */
#include "mcp_marks.h"

#include <inttypes.h>
#include <stdio.h>

#include "hash.h"

#include "poison.h"

void ap_mcp_marks_draw(struct ap_mcp_marks *marks)
{
    struct ap_hash_key drawn;
    ap_hash_key_draw(&drawn);
    (void)snprintf(marks->begin, sizeof(marks->begin), "<data %016" PRIx64 ">\n", drawn.words[0]);
    (void)snprintf(marks->end, sizeof(marks->end), "\n</data %016" PRIx64 ">\n", drawn.words[0]);
}
