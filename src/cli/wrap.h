/* SPDX-License-Identifier: MIT
 * wrap.h - text for a terminal: no word is cut in the middle where the screen ends. */
#ifndef AP_WRAP_H
#define AP_WRAP_H

#include <stdio.h>

#include "analyze_profile/analyze_profile.h"

#define AP_WRAP_LINE 4096

/** What is written through ap_wrap_write; lines that are wider than @width go on below, indented as far as the text of
 *  their beginning. */
struct ap_wrap {
    ap_write_fn *write;
    void *self;
    unsigned width; /* columns; 0 = all lines stay as they are */
    size_t bytes;
    char line[AP_WRAP_LINE];
};

/** @write and @self take what is written; the struct is the caller's, and holds nothing to be released. */
void ap_wrap_init(struct ap_wrap *wrap, unsigned width, ap_write_fn *write, void *self);
/** An ap_write_fn; @self: the struct ap_wrap. */
enum ap_status ap_wrap_write(void *self, const char *data, size_t bytes, struct ap_error *reterr);
/** What stands behind the last newline. */
enum ap_status ap_wrap_end(struct ap_wrap *wrap, struct ap_error *reterr);
/** For what is printed on @to: as wide as the terminal that it is, as it stands where it is none. */
void ap_wrap_init_for(struct ap_wrap *wrap, FILE *to);
/** What @print prints, on @to, likewise. */
void ap_wrap_print(FILE *to, void (*print)(FILE *to));

#endif
