/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* As https://no-color.org has it: set and not empty. */
static bool color_is_allowed(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}

struct ap_terminal ap_terminal_of_stdout(void)
{
    struct ap_terminal terminal = { .is_terminal = isatty(STDOUT_FILENO) };
    struct winsize size;
    if (!terminal.is_terminal)
        return terminal;
    terminal.color = color_is_allowed();
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        terminal.width = size.ws_col;
        terminal.lines = size.ws_row;
    }
    return terminal;
}
