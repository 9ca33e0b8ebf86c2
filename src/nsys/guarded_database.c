/* SPDX-License-Identifier: MIT
 * guarded_database.c - what SQLite is forbidden before it reads the first page (https://sqlite.org/security.html), and the
 * bounds that it does not keep by itself: a tree of pages that holds itself has rows without end. */
#include "guarded_database.h"

#include <stdio.h>
#include <string.h>

#include "database_pages.h"

#include "poison.h"

/* A row of a table takes at least this much of a file: 2 bytes of its page's list, length, row number, and a header of 2. */
#define ROW_LEAST_BYTES 6
/* One row with all its columns, and one text. */
#define ROW_MOST_BYTES (4 << 20)
/* Steps of SQLite's machine while it reads which tables there are, some six for each: an export has about 200 of them. */
#define SCHEMA_STEPS_MOST 20000
#define STEPS_AT_A_TIME 1000

/* ---- what is allowed ---- */

/* Reading of columns and the two questions below. What a view, a trigger or a computed column would do has the name of its
 * view or trigger in @within, or calls a function: both are refused. */
static int authorize(void *self, int action, const char *what, const char *more, const char *database, const char *within)
{
    (void)self;
    (void)more;
    (void)database;
    if (within)
        return SQLITE_DENY;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ: return SQLITE_OK;
    case SQLITE_PRAGMA: return strcmp(what, "table_list") == 0 || strcmp(what, "table_xinfo") == 0 ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static int count_steps(void *self)
{
    struct ap_guarded_database *database = self;
    if (database->steps_left < STEPS_AT_A_TIME)
        return 1;
    database->steps_left -= STEPS_AT_A_TIME;
    return 0;
}

static void set_limits(sqlite3 *handle)
{
    static const int limits[][2] = {
        { SQLITE_LIMIT_LENGTH, ROW_MOST_BYTES },
        { SQLITE_LIMIT_SQL_LENGTH, 100000 },
        { SQLITE_LIMIT_COLUMN, 200 },
        { SQLITE_LIMIT_EXPR_DEPTH, 20 },
        { SQLITE_LIMIT_COMPOUND_SELECT, 3 },
        { SQLITE_LIMIT_VDBE_OP, 25000 },
        { SQLITE_LIMIT_FUNCTION_ARG, 8 },
        { SQLITE_LIMIT_ATTACHED, 0 },
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50 },
        { SQLITE_LIMIT_VARIABLE_NUMBER, 10 },
        { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
        { SQLITE_LIMIT_WORKER_THREADS, 0 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(limits); i++)
        (void)sqlite3_limit(handle, limits[i][0], limits[i][1]);
    static const int off[] = { SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_TRUSTED_SCHEMA,
                               SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, SQLITE_DBCONFIG_WRITABLE_SCHEMA };
    for (size_t i = 0; i < AP_COUNT_OF(off); i++)
        (void)sqlite3_db_config(handle, off[i], 0, NULL);
    (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
}

/* ---- opening ---- */

static enum ap_status fail(const struct ap_guarded_database *database, int code, struct ap_error *reterr)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM: return ap_fail(reterr, AP_ERROR_MEMORY, "out of memory while the database is read");
    case SQLITE_INTERRUPT:
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "this SQLite database has far more tables than Nsight Systems exports: give the file that nsys "
                       "export -t sqlite wrote");
    default:
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "this SQLite database is damaged or cut off (%s): export the report again, nsys export -t sqlite "
                       "-f true FILE.nsys-rep",
                       database->handle ? sqlite3_errstr(code) : "it cannot be opened");
    }
}

static bool is_single(struct ap_guarded_database *database, const char *sql, int *ret_code)
{
    sqlite3_stmt *statement = NULL;
    *ret_code = sqlite3_prepare_v3(database->handle, sql, -1, 0, &statement, NULL);
    bool has_row = false;
    if (*ret_code == SQLITE_OK) {
        *ret_code = sqlite3_step(statement);
        has_row = *ret_code == SQLITE_ROW;
        if (*ret_code == SQLITE_ROW || *ret_code == SQLITE_DONE)
            *ret_code = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    return has_row;
}

static void ask_for_little(struct ap_guarded_database *database)
{
    static const char *const settings[] = { "PRAGMA cell_size_check = 1", "PRAGMA cache_size = -2000",
                                            "PRAGMA temp_store = 2" };
    int ignored;
    for (size_t i = 0; i < AP_COUNT_OF(settings); i++)
        (void)is_single(database, settings[i], &ignored);
}

/* The first question makes SQLite read which tables there are. Its list of them has a hash that can be guessed: few enough
 * are let in that this does not matter. */
static enum ap_status read_schema(struct ap_guarded_database *database, struct ap_error *reterr)
{
    int code;
    database->steps_left = SCHEMA_STEPS_MOST;
    sqlite3_progress_handler(database->handle, STEPS_AT_A_TIME, count_steps, database);
    ask_for_little(database);
    (void)sqlite3_set_authorizer(database->handle, authorize, database);
    (void)is_single(database, "SELECT 1 FROM sqlite_master", &code);
    sqlite3_progress_handler(database->handle, 0, NULL, NULL);
    return code == SQLITE_OK ? AP_OK : fail(database, code, reterr);
}

enum ap_status ap_guarded_open(struct ap_guarded_database *database, const struct ap_nsys_pages *pages,
                               struct ap_error *reterr)
{
    static const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    *database = (struct ap_guarded_database){ .pages = *pages,
                                              .rows_left = pages->size_bytes / ROW_LEAST_BYTES,
                                              .text_left_bytes = 2 * pages->size_bytes }; /* UTF-16 grows */
    if (sqlite3_initialize() != SQLITE_OK || !ap_database_pages_register(database))
        return ap_fail(reterr, AP_ERROR_MEMORY, "SQLite cannot be started");
    int code = sqlite3_open_v2("export", &database->handle, flags, database->vfs_name);
    if (code != SQLITE_OK)
        return fail(database, code, reterr);
    set_limits(database->handle);
    return read_schema(database, reterr);
}

void ap_guarded_release(struct ap_guarded_database *database)
{
    (void)sqlite3_close(database->handle);
    database->handle = NULL;
    if (database->vfs.zName)
        ap_database_pages_unregister(database);
}

/* ---- tables ---- */

static bool text_is(sqlite3_stmt *statement, int column, const char *text)
{
    const unsigned char *value = sqlite3_column_text(statement, column);
    return value && strcmp((const char *)value, text) == 0;
}

/* Names of tables and columns are from our own source, without quotation marks. */
static sqlite3_stmt *ask(struct ap_guarded_database *database, const char *question, const char *table)
{
    char sql[160];
    sqlite3_stmt *statement = NULL;
    (void)snprintf(sql, sizeof(sql), "PRAGMA main.%s(\"%s\")", question, table);
    return sqlite3_prepare_v3(database->handle, sql, -1, 0, &statement, NULL) == SQLITE_OK ? statement : NULL;
}

bool ap_guarded_has_table(struct ap_guarded_database *database, const char *table)
{
    enum { SCHEMA, NAME, TYPE };
    sqlite3_stmt *statement = ask(database, "table_list", table);
    bool has = false;
    while (statement && !has && sqlite3_step(statement) == SQLITE_ROW)
        has = text_is(statement, SCHEMA, "main") && text_is(statement, TYPE, "table");
    (void)sqlite3_finalize(statement);
    return has;
}

/* Bit i: column i is stored. */
static uint32_t stored_columns(struct ap_guarded_database *database, const char *table, const char *const *columns,
                               size_t column_count)
{
    enum { NAME = 1, HIDDEN = 6 };
    sqlite3_stmt *statement = ask(database, "table_xinfo", table);
    uint32_t present = 0;
    while (statement && sqlite3_step(statement) == SQLITE_ROW)
        for (size_t i = 0; i < column_count; i++)
            if (sqlite3_column_int(statement, HIDDEN) == 0 && text_is(statement, NAME, columns[i]))
                present |= UINT32_C(1) << i;
    (void)sqlite3_finalize(statement);
    return present;
}

bool ap_guarded_rows_begin(struct ap_guarded_database *database, const char *table, const char *const *columns,
                           size_t column_count, struct ap_guarded_rows *ret_rows)
{
    char sql[1200] = "SELECT ";
    size_t used = strlen(sql);
    if (!ap_guarded_has_table(database, table))
        return false;
    struct ap_guarded_rows rows = { .database = database };
    rows.present = stored_columns(database, table, columns, column_count);
    for (size_t i = 0; i < column_count; i++) {
        const char *separator = i ? "," : "";
        int written = rows.present >> i & 1 ? snprintf(sql + used, sizeof(sql) - used, "%s\"%s\"", separator, columns[i])
                                            : snprintf(sql + used, sizeof(sql) - used, "%sNULL", separator);
        used += (size_t)written;
    }
    (void)snprintf(sql + used, sizeof(sql) - used, " FROM main.\"%s\" NOT INDEXED", table);
    if (sqlite3_prepare_v3(database->handle, sql, -1, 0, &rows.statement, NULL) != SQLITE_OK)
        return false;
    *ret_rows = rows;
    return true;
}

enum ap_status ap_guarded_rows_next(struct ap_guarded_rows *rows)
{
    int code = sqlite3_step(rows->statement);
    if (code == SQLITE_DONE)
        return AP_END;
    if (code != SQLITE_ROW || rows->database->rows_left == 0)
        return AP_ERROR_CUT;
    rows->database->rows_left--;
    return AP_OK;
}

void ap_guarded_rows_end(struct ap_guarded_rows *rows)
{
    (void)sqlite3_finalize(rows->statement);
    rows->statement = NULL;
}

bool ap_guarded_integer(const struct ap_guarded_rows *rows, unsigned column, int64_t *ret_integer)
{
    if (sqlite3_column_type(rows->statement, (int)column) != SQLITE_INTEGER)
        return false;
    *ret_integer = sqlite3_column_int64(rows->statement, (int)column);
    return true;
}

/* Texts of many rows may claim the same bytes of a damaged file. */
bool ap_guarded_text(struct ap_guarded_rows *rows, unsigned column, struct ap_text *ret_text)
{
    if (sqlite3_column_type(rows->statement, (int)column) != SQLITE_TEXT)
        return false;
    const char *data = (const char *)sqlite3_column_text(rows->statement, (int)column);
    size_t bytes = (size_t)sqlite3_column_bytes(rows->statement, (int)column);
    if (!data || bytes > rows->database->text_left_bytes)
        return false;
    rows->database->text_left_bytes -= bytes;
    *ret_text = (struct ap_text){ data, bytes };
    return true;
}

bool ap_guarded_is_set(const struct ap_guarded_rows *rows, unsigned column)
{
    return sqlite3_column_type(rows->statement, (int)column) != SQLITE_NULL;
}
