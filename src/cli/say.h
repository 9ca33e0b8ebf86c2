/* SPDX-License-Identifier: MIT
 * say.h - what the program says on standard error, as wide as the terminal that it may be. */
#ifndef AP_SAY_H
#define AP_SAY_H

#include <stdbool.h>
#include <stddef.h>

/** Text of ours. Each message ends its last line. */
void ap_say(const char *data, size_t bytes);
/** Likewise. */
void ap_say_string(const char *text);

/** Paths and messages may hold bytes of an input or a hostile file name: nothing that moves the cursor, hides, reorders or
 *  begins a line of its own reaches a terminal or a log. @has_lines: no name stands in it, its lines are ours. */
void ap_say_text(const char *text, bool has_lines);
/** Likewise, on one line. */
void ap_say_inert(const char *text);

#endif
