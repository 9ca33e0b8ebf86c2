/* SPDX-License-Identifier: MIT
 * large.h - memory in large blocks, where the system can keep it in huge pages: a page of 4 KiB takes a quarter of a
 * microsecond when it is first touched, and of the columns of a trace there are tens of thousands. For mem.c alone. */
#ifndef AP_LARGE_H
#define AP_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/** Does a block of that size belong here? */
bool ap_is_large(size_t bytes);
/** Cleared; NULL = there is none left. @is_all_used: its pages are taken at once, and not as each is first touched. */
void *ap_large_new(size_t bytes, bool is_all_used);
/** To another large size; NULL = refused, and @memory is as it was. */
void *ap_large_resize(void *memory, size_t old_bytes, size_t new_bytes);
/** Of a block, all bytes from @from to @to are about to be written. */
void ap_large_take(void *memory, size_t from, size_t to);
void ap_large_free(void *memory, size_t bytes);

#endif
