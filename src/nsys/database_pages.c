/* SPDX-License-Identifier: MIT
 * database_pages.c - the methods that SQLite asks for of a file system, for one file that never changes. Journals and
 * temporary files do not exist here: whoever asks for one is told that it cannot be opened. */
#include "database_pages.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

struct page_file {
    sqlite3_file base;
    const struct ap_nsys_pages *pages;
};

static int close_file(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

static int read_file(sqlite3_file *file, void *to, int bytes, sqlite3_int64 offset_bytes)
{
    const struct ap_nsys_pages *pages = ((struct page_file *)file)->pages;
    uint64_t at = (uint64_t)offset_bytes, there = at < pages->size_bytes ? pages->size_bytes - at : 0;
    if (!pages->read_at(pages->self, at, to, (size_t)bytes))
        return SQLITE_IOERR_READ;
    return there < (uint64_t)bytes ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int write_file(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 offset_bytes)
{
    (void)file;
    (void)from;
    (void)bytes;
    (void)offset_bytes;
    return SQLITE_READONLY;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 bytes)
{
    (void)file;
    (void)bytes;
    return SQLITE_READONLY;
}

static int tell_size(sqlite3_file *file, sqlite3_int64 *ret_bytes)
{
    *ret_bytes = (sqlite3_int64)((struct page_file *)file)->pages->size_bytes;
    return SQLITE_OK;
}

static int do_nothing(sqlite3_file *file, int how)
{
    (void)file;
    (void)how;
    return SQLITE_OK;
}

static int is_reserved(sqlite3_file *file, int *ret_is)
{
    (void)file;
    *ret_is = 0;
    return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int operation, void *argument)
{
    (void)file;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector_bytes(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

/* Nobody changes the file: then SQLite looks for no journal and takes no lock, whatever the header says. */
static int characteristics(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = do_nothing,
    .xFileSize = tell_size,
    .xLock = do_nothing,
    .xUnlock = do_nothing,
    .xCheckReservedLock = is_reserved,
    .xFileControl = control_file,
    .xSectorSize = sector_bytes,
    .xDeviceCharacteristics = characteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    const struct ap_guarded_database *database = vfs->pAppData;
    (void)name;
    file->pMethods = NULL;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    ((struct page_file *)file)->pages = &database->pages;
    file->pMethods = &methods;
    if (ret_flags)
        *ret_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    (void)name;
    (void)sync;
    return SQLITE_READONLY;
}

static int has_file(sqlite3_vfs *vfs, const char *name, int flags, int *ret_has)
{
    (void)vfs;
    (void)name;
    (void)flags;
    *ret_has = 0;
    return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int bytes, char *to)
{
    (void)vfs;
    return snprintf(to, (size_t)bytes, "%s", name) < bytes ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* Nothing here is random or told by a clock: what is read depends on the file alone. */
static int no_randomness(sqlite3_vfs *vfs, int bytes, char *to)
{
    (void)vfs;
    memset(to, 0, (size_t)bytes);
    return bytes;
}

static int no_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds;
}

static int no_time(sqlite3_vfs *vfs, double *ret_days)
{
    (void)vfs;
    *ret_days = 0;
    return SQLITE_OK;
}

static int no_last_error(sqlite3_vfs *vfs, int bytes, char *to)
{
    (void)vfs;
    (void)bytes;
    (void)to;
    return 0;
}

bool ap_database_pages_register(struct ap_guarded_database *database)
{
    (void)snprintf(database->vfs_name, sizeof(database->vfs_name), "ap-pages-%p", (void *)database);
    database->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = (int)sizeof(struct page_file),
        .mxPathname = 64,
        .zName = database->vfs_name,
        .pAppData = database,
        .xOpen = open_file,
        .xDelete = delete_file,
        .xAccess = has_file,
        .xFullPathname = full_name,
        .xRandomness = no_randomness,
        .xSleep = no_sleep,
        .xCurrentTime = no_time,
        .xGetLastError = no_last_error,
    };
    return sqlite3_vfs_register(&database->vfs, 0) == SQLITE_OK;
}

void ap_database_pages_unregister(struct ap_guarded_database *database)
{
    (void)sqlite3_vfs_unregister(&database->vfs);
}
