/* SPDX-License-Identifier: MIT
 * terminal.h - is standard output a terminal, how large is it, does it want color? */
#ifndef AP_TERMINAL_H
#define AP_TERMINAL_H

#include <stdbool.h>

struct ap_terminal {
    bool is_terminal;
    bool color;            /* allowed: NO_COLOR is not set, TERM tells no dumb one */
    unsigned width, lines; /* 0 = not known */
};

/** Asks the system and the environment (NO_COLOR, TERM); 0 columns and lines = not known. */
struct ap_terminal ap_terminal_of_stdout(void);

#endif
