/* SPDX-License-Identifier: MIT
 * guarded_database.h - reads columns of real tables of a database that nobody trusts. Knows SQLite and nothing of what the
 * tables hold. */
#ifndef AP_GUARDED_DATABASE_H
#define AP_GUARDED_DATABASE_H

#include <sqlite3.h>

#include "nsys.h"

/** Names of columns in one table; a table with more is read without the rest. */
#define AP_GUARDED_COLUMNS_MAX 24

struct ap_guarded_database {
    struct ap_nsys_pages pages;
    sqlite3_vfs vfs; /* registered under a name of its own while the database is open */
    char vfs_name[32];
    sqlite3 *handle;
    uint64_t steps_left; /* while the schema is read: see keep_schema_small() */
    uint64_t rows_left;  /* no more rows than a file of this size can hold, over all tables */
    uint64_t text_left_bytes;
};

/** One table that is being read. */
struct ap_guarded_rows {
    struct ap_guarded_database *database;
    sqlite3_stmt *statement;
    uint32_t present; /* bit i: column i is there */
};

/** @database may be moved no more. Release it after a failure, too. */
AP_MUST_CHECK enum ap_status ap_guarded_open(struct ap_guarded_database *database, const struct ap_nsys_pages *pages,
                                             struct ap_error *reterr);
void ap_guarded_release(struct ap_guarded_database *database);

/** Is there a real table of this name (no view, nothing virtual)? */
bool ap_guarded_has_table(struct ap_guarded_database *database, const char *table);

/** Begin to read these columns of a real table, in order of its rows; those that it lacks or computes read as NULL.
 *  False, and nothing to release, where there is no such table or it cannot be read. */
bool ap_guarded_rows_begin(struct ap_guarded_database *database, const char *table, const char *const *columns,
                           size_t column_count, struct ap_guarded_rows *ret_rows);
/** AP_END behind the last row; AP_ERROR_CUT where the table is damaged, or has more rows or text than the file can hold. */
AP_MUST_CHECK enum ap_status ap_guarded_rows_next(struct ap_guarded_rows *rows);
void ap_guarded_rows_end(struct ap_guarded_rows *rows);

/** A whole number; false where the value is anything else. */
bool ap_guarded_integer(const struct ap_guarded_rows *rows, unsigned column, int64_t *ret_integer);
/** A text as it is stored, borrowed until the next row; false where the value is anything else. */
bool ap_guarded_text(struct ap_guarded_rows *rows, unsigned column, struct ap_text *ret_text);
/** Neither NULL nor missing. */
bool ap_guarded_is_set(const struct ap_guarded_rows *rows, unsigned column);

#endif
