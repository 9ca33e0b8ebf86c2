/* SPDX-License-Identifier: MIT
 * nsys.h - an export of Nsight Systems (nsys export --type sqlite) as the text of a trace in Chrome's form, a piece at a
 * time. What reads traces reads such a file then like any other. Knows the tables of the export, and nothing of what a trace
 * is for.
 *
 * The database is hostile: it is read through pages that the caller hands on, never by a name; only real tables are read,
 * row by row, without views, triggers, generated columns, functions or indexes; and no more rows and text are taken than a
 * file of its size can hold. */
#ifndef AP_NSYS_H
#define AP_NSYS_H

#include "mem.h"
#include "notes.h"

/** Bytes of a file at any place. read_at() fills all of @to with what stands there and returns true; zeros stand behind the
 *  end. One thread at a time calls it. */
struct ap_nsys_pages {
    bool (*read_at)(void *self, uint64_t offset_bytes, uint8_t *to, size_t bytes);
    void *self;
    uint64_t size_bytes;
};

struct ap_nsys;

/** Do these first bytes of a file begin an SQLite database? */
bool ap_nsys_begins(const uint8_t *head, size_t bytes);

/** Open the database. AP_ERROR_INPUT, with what to do, where it is none, is damaged, is no export of Nsight Systems, or
 *  where the program was built without SQLite. @pages is copied; what it points to is borrowed until ap_nsys_free. */
AP_MUST_CHECK enum ap_status ap_nsys_open(struct ap_gate *gate, const struct ap_nsys_pages *pages, struct ap_nsys **ret_nsys,
                                          struct ap_error *reterr);
/** NULL is fine. */
void ap_nsys_free(struct ap_nsys *nsys);

/** The next 1..cap bytes of the text; AP_END behind the last one. */
AP_MUST_CHECK enum ap_status ap_nsys_read(struct ap_nsys *nsys, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                          struct ap_error *reterr);

/** Count what was odd in what was read so far. */
void ap_nsys_note(const struct ap_nsys *nsys, struct ap_notes *notes);

#endif
